// SPDX-License-Identifier: MIT
/* The board against plain lists and enumeration: what is chosen and how often, what is watched, what two touches are to each other. */
#include "board/board.h"

#include <setjmp.h>
#include <stdarg.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

static struct board_access made(uint32_t thread, uint32_t serial, uint64_t at)
{
    return (struct board_access){.line = 64 * (uint64_t)serial,
                                 .mask = serial,
                                 .at = at,
                                 .thread = thread,
                                 .serial = serial,
                                 .weight = 1,
                                 .kind = BOARD_WRITES};
}

/* Another thread's than that; likely if it is of a line below this one. */
struct wish {
    uint32_t thread;
    uint64_t likely_below;
};

static enum board_fit fits(const void *context, const struct board_access *access)
{
    const struct wish *wish = context;
    return access->thread == wish->thread      ? BOARD_UNFIT
           : access->line < wish->likely_below ? BOARD_LIKELY
                                               : BOARD_FITS;
}

static double choose_by(const struct board *board, const struct wish *wish, uint64_t since,
                        struct base_random *random, struct board_access *chosen)
{
    struct board_choice choice = {0};
    bool aimed = false;
    board_look(board, since, fits, wish, random, &choice);
    double weight = board_choose(&choice, random, chosen, &aimed);
    assert_true(aimed ? choice.likely > 0 && chosen->line < wish->likely_below : true);
    return weight;
}

/* Among how many. */
static unsigned choose(const struct board *board, uint32_t thread, uint64_t since,
                       struct base_random *random, struct board_access *chosen)
{
    return (unsigned)choose_by(board, &(struct wish){thread, 0}, since, random, chosen);
}

static void an_empty_board_has_nothing(void **state)
{
    static struct board board;
    struct base_random random = {1};
    struct board_access chosen = {.serial = 7};
    assert_int_equal(choose(&board, 1, 0, &random, &chosen), 0);
    assert_int_equal(chosen.serial, 7);
}

static void own_and_old_entries_are_left_out(void **state)
{
    static struct board board;
    struct base_random random = {2};
    struct board_access chosen, entries[] = {made(1, 1, 100), made(2, 2, 200), made(3, 3, 300)};
    for (unsigned i = 0; i < BASE_COUNT(entries); i++)
        assert_true(board_publish(&board, &entries[i]));
    assert_int_equal(choose(&board, 2, 0, &random, &chosen), 2);
    assert_int_equal(choose(&board, 2, 101, &random, &chosen), 1);
    assert_int_equal(chosen.serial, 3);
    assert_int_equal(chosen.line, 192);
    assert_int_equal(choose(&board, 3, 300, &random, &chosen), 0);
    assert_int_equal(choose(&board, 2, 300, &random, &chosen), 1);
    board_clear(&board);
    assert_int_equal(choose(&board, 2, 0, &random, &chosen), 0);
}

/* Whatever was published: among as many as a list says, each as often. */
static void every_entry_is_as_likely(void **state)
{
    enum { PUBLISHED = 300, THREADS = 5, DRAWS = 40000, SINCE = 230 };
    static struct board board;
    static unsigned drawn[PUBLISHED + 1];
    struct base_random random = {3};
    unsigned wanted = 0;
    for (uint32_t i = 1; i <= PUBLISHED; i++) {
        struct board_access access = made(1 + i % THREADS, i, i);
        assert_true(board_publish(&board, &access));
        wanted += i >= SINCE && access.thread != 2;
    }
    for (unsigned i = 0; i < DRAWS; i++) {
        struct board_access chosen;
        assert_int_equal(choose(&board, 2, SINCE, &random, &chosen), wanted);
        drawn[chosen.serial]++;
    }
    double mean = (double)DRAWS / wanted, most = 6 * sqrt(mean);
    for (uint32_t i = 1; i <= PUBLISHED; i++) {
        bool possible = i >= SINCE && 1 + i % THREADS != 2;
        if (possible ? fabs(drawn[i] - mean) > most : drawn[i] != 0)
            fail_msg("entry %u was drawn %u times of %u", i, drawn[i], DRAWS);
    }
}

/* Likely ones have half of the looks to themselves, and all that fit the other half; what is returned is 1 / the probability of each. */
static void likely_entries_are_chosen_more_often(void **state)
{
    enum { PUBLISHED = 20, LIKELY = 3, DRAWS = 60000 };
    static struct board board;
    static unsigned drawn[PUBLISHED + 1];
    struct base_random random = {9};
    const struct wish wish = {1, 64 * (LIKELY + 1)};
    double sum = 0;
    for (uint32_t i = 1; i <= PUBLISHED; i++) {
        struct board_access access = made(2, i, i);
        assert_true(board_publish(&board, &access));
    }
    for (unsigned i = 0; i < DRAWS; i++) {
        struct board_access chosen;
        double weight = choose_by(&board, &wish, 1, &random, &chosen);
        double wanted = 2 / (1.0 / PUBLISHED + (chosen.serial <= LIKELY ? 1.0 / LIKELY : 0));
        assert_true(fabs(weight - wanted) < 1e-9);
        drawn[chosen.serial]++;
        sum += weight;
    }
    for (uint32_t i = 1; i <= PUBLISHED; i++) {
        double mean = DRAWS * (1.0 / PUBLISHED + (i <= LIKELY ? 1.0 / LIKELY : 0)) / 2;
        if (fabs(drawn[i] - mean) > 6 * sqrt(mean))
            fail_msg("entry %u was drawn %u times, not %f", i, drawn[i], mean);
    }
    assert_true(fabs(sum / DRAWS - PUBLISHED) < 0.4); /* each entry stands for 1 a draw */
}

/* A ring: the oldest are overwritten, however new they are. */
static void the_latest_are_kept(void **state)
{
    static struct board board;
    struct base_random random = {4};
    struct board_access chosen;
    for (uint32_t i = 1; i <= 3 * BOARD_ENTRIES + 5; i++) {
        struct board_access access = made(1, i, 1);
        assert_true(board_publish(&board, &access));
    }
    for (unsigned i = 0; i < 1000; i++) {
        assert_int_equal(choose(&board, 2, 0, &random, &chosen), BOARD_ENTRIES);
        assert_true(chosen.serial > 2 * BOARD_ENTRIES + 5);
    }
}

static void a_place_that_is_being_written_is_left_alone(void **state)
{
    static struct board board;
    struct base_random random = {5};
    struct board_access chosen, access = made(1, 9, 1);
    atomic_store(&board.entries[1].number, BOARD_BUSY | 1);
    assert_false(board_publish(&board, &access));
    assert_int_equal(choose(&board, 2, 0, &random, &chosen), 0);
    assert_true(board_publish(&board, &access));
    assert_int_equal(choose(&board, 2, 0, &random, &chosen), 1);
}

/* A writer that was killed: its place is left alone for a while, then it is anybody's. */
static void a_dead_writers_place_is_used_again(void **state)
{
    static struct board board;
    struct base_random random = {7};
    struct board_access chosen, access = made(1, 9, 1);
    uint64_t published = 0;
    atomic_store(&board.entries[5].number, BOARD_BUSY | 5);
    atomic_store(&board.next, 5);
    for (unsigned i = 0; i < BOARD_STALE_ROUNDS * BOARD_ENTRIES; i++)
        published += board_publish(&board, &access);
    assert_int_equal(published, BOARD_STALE_ROUNDS * BOARD_ENTRIES - (BOARD_STALE_ROUNDS - 1));
    assert_int_equal(choose(&board, 2, 0, &random, &chosen), BOARD_ENTRIES);
}

/* As two writers leave it that were at it at a time: nobody takes it for an access. */
static void a_torn_entry_is_left_out(void **state)
{
    static struct board board;
    struct base_random random = {8};
    struct board_access chosen, access = made(1, 9, 1);
    assert_true(board_publish(&board, &access));
    assert_int_equal(choose(&board, 2, 0, &random, &chosen), 1);
    board.entries[1].access.line += 64;
    assert_int_equal(choose(&board, 2, 0, &random, &chosen), 0);
    board.entries[1].access.line -= 64;
    board.entries[1].access.pid++;
    assert_int_equal(choose(&board, 2, 0, &random, &chosen), 0);
}

/* ---- threads ------------------------------------------------------------------------------------- */

enum { RACERS = 4, ROUNDS = 200000 };
static struct board raced;

/* All members of an entry say the same. */
static bool whole(const struct board_access *access)
{
    return access->line == 64 * (uint64_t)access->serial && access->mask == access->serial &&
           access->at == access->serial && access->generation == access->thread * access->serial;
}

static void *race(void *number)
{
    uint32_t thread = (uint32_t)(uintptr_t)number;
    struct base_random random = {thread};
    uintptr_t torn = 0;
    for (uint32_t i = 1; i <= ROUNDS; i++) {
        struct board_access access = made(thread, i, i), chosen;
        access.generation = thread * i;
        board_publish(&raced, &access);
        if (i % 8 == 0 && choose(&raced, thread, 0, &random, &chosen))
            torn += chosen.thread == thread || !whole(&chosen);
    }
    return (void *)torn;
}

static void nothing_is_read_while_it_is_written(void **state)
{
    pthread_t threads[RACERS];
    void *torn;
    for (uintptr_t i = 0; i < RACERS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, race, (void *)(i + 1)), 0);
    for (unsigned i = 0; i < RACERS; i++) {
        assert_int_equal(pthread_join(threads[i], &torn), 0);
        assert_null(torn);
    }
}

/* ---- words and bytes ------------------------------------------------------------------------------ */

static void every_set_of_words_is_as_likely(void **state)
{
    enum { DRAWS = 140000 };
    static const unsigned sets[] = {1, 8, 28, 56, 70, 56, 28, 8, 1};
    struct base_random random = {6};
    for (unsigned count = 0; count <= BOARD_WORDS; count++) {
        unsigned drawn[256] = {0};
        double mean = (double)DRAWS / sets[count], most = 6 * sqrt(mean);
        for (unsigned i = 0; i < DRAWS; i++)
            drawn[board_words(&random, count)]++;
        for (unsigned words = 0; words < 256; words++) {
            bool possible = (unsigned)__builtin_popcount(words) == count;
            if (possible ? fabs(drawn[words] - mean) > most : drawn[words] != 0)
                fail_msg("words %#x were drawn %u times of %u", words, drawn[words], DRAWS);
        }
    }
}

static void masks_are_the_bytes_on_the_line(void **state)
{
    for (uint64_t address = 900; address < 1100; address++)
        for (uint64_t bytes = 1; bytes <= 130; bytes++) {
            uint64_t wanted = 0;
            for (uint64_t byte = address; byte < address + bytes; byte++)
                if (byte / 64 == 1024 / 64)
                    wanted |= UINT64_C(1) << byte % 64;
            assert_int_equal(board_mask(1024, address, bytes), wanted);
        }
}

/* By counting all sets of words. */
static void chances_are_those_of_all_sets(void **state)
{
    struct base_random random = {7};
    for (unsigned round = 0; round < 3000; round++) {
        uint64_t mask = base_random_next(&random) & base_random_next(&random) &
                        base_random_next(&random) & base_random_next(&random);
        for (unsigned watched = 0; watched <= BOARD_WORDS; watched++) {
            unsigned sets = 0, hit = 0;
            for (unsigned words = 0; words < 256; words++) {
                uint64_t bytes = 0;
                if ((unsigned)__builtin_popcount(words) != watched)
                    continue;
                for (unsigned word = 0; word < BOARD_WORDS; word++)
                    bytes |= words >> word & 1 ? UINT64_C(0xff) << word * 8 : 0;
                sets++;
                hit += (mask & bytes) != 0;
            }
            assert_true(fabs(board_chance(mask, watched) - (double)hit / sets) < 1e-12);
        }
    }
}

static void what_touches_are_to_each_other(void **state)
{
    for (unsigned first = 1; first < 8; first++)
        for (unsigned second = 1; second < 8; second++)
            for (uint64_t a = 1; a < 16; a++)
                for (uint64_t b = 1; b < 16; b++) {
                    bool written = (first | second) & BOARD_WRITES;
                    enum board_relation wanted = !written  ? BOARD_NOTHING
                                                 : (a & b) ? BOARD_TRUE
                                                           : BOARD_FALSE;
                    assert_int_equal(board_relate((uint8_t)first, a, (uint8_t)second, b), wanted);
                }
}

/* A lock that is waited for each time, or every other; a part of an array that changes hands, also if some turns end in between. */
static void turns_are_long_or_short(void **state)
{
    enum { MOST = BOARD_TURN_WAITS * BOARD_TURN_TOUCHES };
    assert_true(board_hands_on(MOST, MOST / 3));
    assert_true(board_hands_on(MOST, MOST / 6));
    assert_true(board_hands_on(MOST, BOARD_TURN_WAITS));
    assert_false(board_hands_on(MOST + 1, BOARD_TURN_WAITS));
    assert_false(board_hands_on(MOST, 8));
    assert_false(board_hands_on(MOST, 0));
    assert_false(board_hands_on(0, 2)); /* the next tick came at once */
}

/*
 * The estimator, against what it estimates: threads with lines of known shares, and entries of one weight. What a watching thread
 * finds, by 1 / (chance of the word) / (chance of the entry), is on each line in proportion to how often others use it there.
 */
static void weights_make_up_for_chances(void **state)
{
    enum { TURNS = 60000, WATCHED = 3, LINES = 3 };
    static const uint64_t masks[LINES] = {0xff, 0xffff00, 0xff00ff00ff00ff};
    static const double shares[LINES] = {0.5, 0.33, 0.17};
    static struct board board;
    struct base_random random = {8};
    double found[LINES] = {0}, sum = 0;
    for (uint64_t turn = 1; turn <= TURNS; turn++) {
        const struct wish wish = {1, turn % 2 * 64}; /* the first line is likely at times */
        for (uint32_t thread = 2; thread < 6; thread++) {
            double drawn = (double)base_random_below(&random, 1 << 20) / (1 << 20);
            unsigned line = drawn < shares[0] ? 0 : drawn < shares[0] + shares[1] ? 1 : 2;
            struct board_access access = made(thread, line, turn);
            access.weight = 2;
            if (base_random_below(&random, 4) >= thread - 2) /* some publish less often */
                board_publish(&board, &access);
        }
        struct board_access chosen;
        double among = choose_by(&board, &wish, turn, &random, &chosen);
        uint8_t words = board_words(&random, WATCHED);
        uint64_t watched = 0;
        for (unsigned word = 0; word < BOARD_WORDS; word++)
            watched |= words >> word & 1 ? UINT64_C(0xff) << word * 8 : 0;
        if (among > 0 && masks[chosen.serial] & watched)
            found[chosen.serial] +=
                (double)chosen.weight * among / board_chance(masks[chosen.serial], WATCHED);
    }
    for (unsigned line = 0; line < LINES; line++)
        sum += found[line];
    for (unsigned line = 0; line < LINES; line++)
        assert_true(fabs(found[line] / sum - shares[line]) < 0.015);
    /* 4 + 3 + 2 + 1 of four publish, of weight 2 */
    assert_true(fabs(sum / TURNS - 5) < 0.1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_empty_board_has_nothing),
        cmocka_unit_test(own_and_old_entries_are_left_out),
        cmocka_unit_test(every_entry_is_as_likely),
        cmocka_unit_test(likely_entries_are_chosen_more_often),
        cmocka_unit_test(the_latest_are_kept),
        cmocka_unit_test(a_place_that_is_being_written_is_left_alone),
        cmocka_unit_test(a_dead_writers_place_is_used_again),
        cmocka_unit_test(a_torn_entry_is_left_out),
        cmocka_unit_test(nothing_is_read_while_it_is_written),
        cmocka_unit_test(every_set_of_words_is_as_likely),
        cmocka_unit_test(masks_are_the_bytes_on_the_line),
        cmocka_unit_test(chances_are_those_of_all_sets),
        cmocka_unit_test(what_touches_are_to_each_other),
        cmocka_unit_test(turns_are_long_or_short),
        cmocka_unit_test(weights_make_up_for_chances),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
