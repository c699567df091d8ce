// SPDX-License-Identifier: MIT
/* Against the definition in fold.h taken at its word: every rule looks through the whole list after
 * every change. */
#include "fold/fold.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

/* ---- the definition at its word ------------------------------------------------------------ */

struct plain_token {
    uint32_t symbol, count;
    uint64_t start, end;
    bool closed;
};

/* What has been recognised, in order. */
struct heard {
    uint64_t count, hash;
};

struct plain {
    struct plain_token list[FOLD_WINDOW];
    struct fold_sequence sequence[FOLD_SEQUENCES];
    uint32_t tokens, sequences;
    bool full;
    struct heard heard;
};

static void hear(void *context, uint32_t sequence, uint64_t start, uint64_t end)
{
    struct heard *heard = context;
    heard->count++;
    heard->hash = base_mix64(heard->hash ^ base_mix64(sequence + 1)) + base_mix64(start) * 3 + end;
}

static bool same_part(const struct fold_part *part, const struct plain_token *token)
{
    return part->symbol == token->symbol && part->class == fold_class(token->count);
}

static bool same_pair(const struct plain_token *one, const struct plain_token *other)
{
    return one[0].symbol == other[0].symbol && one[1].symbol == other[1].symbol &&
           fold_class(one[0].count) == fold_class(other[0].count) &&
           fold_class(one[1].count) == fold_class(other[1].count);
}

static void remove_token(struct plain *plain, uint32_t at)
{
    plain->tokens--;
    memmove(&plain->list[at], &plain->list[at + 1], (plain->tokens - at) * sizeof *plain->list);
}

static bool rule_1(struct plain *plain)
{
    for (uint32_t i = 0; i + 1 < plain->tokens; i++) {
        struct plain_token *token = &plain->list[i];
        if (token[0].symbol != token[1].symbol)
            continue;
        uint64_t count = (uint64_t)token[0].count + token[1].count;
        token[0].count = count > UINT32_MAX ? UINT32_MAX : (uint32_t)count;
        token[0].end = token[1].end;
        token[0].closed = false;
        remove_token(plain, i + 1);
        return true;
    }
    return false;
}

static void become(struct plain *plain, uint32_t at, uint32_t number)
{
    struct fold_sequence *sequence = &plain->sequence[number];
    struct plain_token *token = &plain->list[at];
    token[0].end = token[1].end;
    token[0].symbol = FOLD_FIRST + number;
    token[0].count = 1;
    token[0].closed = false;
    uint64_t time = token[0].end - token[0].start;
    sequence->min = sequence->count == 0 || time < sequence->min ? time : sequence->min;
    sequence->count++;
    sequence->sum += time;
    hear(&plain->heard, number, token[0].start, token[0].end);
    remove_token(plain, at + 1);
}

static bool closed(const struct plain_token *token)
{
    return token[0].closed && token[1].closed;
}

static bool rule_2(struct plain *plain)
{
    for (uint32_t i = 0; i + 1 < plain->tokens; i++) {
        for (uint32_t number = 0; number < plain->sequences; number++) {
            const struct fold_part *part = plain->sequence[number].part;
            if (closed(&plain->list[i]) && same_part(&part[0], &plain->list[i]) &&
                same_part(&part[1], &plain->list[i + 1])) {
                become(plain, i, number);
                return true;
            }
        }
    }
    return false;
}

static uint32_t length_of(const struct plain *plain, uint32_t symbol)
{
    return symbol < FOLD_FIRST ? 1 : plain->sequence[symbol - FOLD_FIRST].length;
}

static bool rule_3(struct plain *plain)
{
    for (uint32_t i = 0; i + 1 < plain->tokens; i++) {
        const struct plain_token *token = &plain->list[i];
        uint32_t length = length_of(plain, token[0].symbol) + length_of(plain, token[1].symbol);
        uint32_t other = i + 1;
        while (other + 1 < plain->tokens &&
               !(closed(&plain->list[other]) && same_pair(token, &plain->list[other])))
            other++;
        if (!closed(token) || other + 1 >= plain->tokens || length > FOLD_LONGEST)
            continue;
        if (plain->sequences == FOLD_SEQUENCES) {
            plain->full = true;
            return false;
        }
        uint32_t number = plain->sequences++;
        plain->sequence[number] =
            (struct fold_sequence){.part = {{token[0].symbol, fold_class(token[0].count)},
                                            {token[1].symbol, fold_class(token[1].count)}},
                                   .length = length};
        become(plain, i, number);
        become(plain, other - 1, number);
        return true;
    }
    return false;
}

static bool begins_part(const struct plain *plain, const struct fold_part *part, uint32_t at);

/* The tokens from `at` on are a beginning of the symbol. */
static bool begins(const struct plain *plain, uint32_t symbol, uint32_t at)
{
    if (at == plain->tokens)
        return true;
    if (symbol < FOLD_FIRST)
        return false;
    const struct fold_part *part = plain->sequence[symbol - FOLD_FIRST].part;
    return begins_part(plain, &part[0], at) ||
           (same_part(&part[0], &plain->list[at]) && begins_part(plain, &part[1], at + 1));
}

static bool begins_part(const struct plain *plain, const struct fold_part *part, uint32_t at)
{
    const struct plain_token *token = &plain->list[at];
    return begins(plain, part->symbol, at) ||
           (token->symbol == part->symbol && fold_class(token->count) <= part->class &&
            begins(plain, part->symbol, at + 1));
}

static bool rule_4(struct plain *plain, bool ended)
{
    for (uint32_t i = plain->tokens; i-- > 0;) {
        struct plain_token *token = &plain->list[i];
        if (token->closed || (!ended && begins(plain, token->symbol, i + 1)))
            continue;
        token->closed = true;
        return true;
    }
    return false;
}

static void apply(struct plain *plain, bool ended)
{
    while (rule_1(plain) || rule_2(plain) || rule_3(plain) || rule_4(plain, ended))
        ;
}

static void plain_add(struct plain *plain, uint32_t symbol, uint64_t start, uint64_t end)
{
    bool joins = plain->tokens && plain->list[plain->tokens - 1].symbol == symbol;
    if (plain->tokens == FOLD_WINDOW && joins) { /* no room for the token that rule 1 would take */
        struct plain_token *last = &plain->list[FOLD_WINDOW - 1];
        *last = (struct plain_token){symbol, last->count + 1, last->start, end, false};
    } else {
        if (plain->tokens == FOLD_WINDOW)
            remove_token(plain, 0);
        plain->list[plain->tokens++] = (struct plain_token){symbol, 1, start, end, false};
    }
    apply(plain, false);
}

static void plain_end(struct plain *plain)
{
    apply(plain, true);
    plain->tokens = 0;
}

/* ---- both side by side --------------------------------------------------------------------- */

struct pair {
    struct fold *fold;
    struct plain plain;
    struct heard heard;
    uint64_t now;
    struct base_random random;
    uint32_t every; /* symbols, on the average, between comparisons */
};

static struct fold *fold_new(fold_occurrence *occurrence, void *context)
{
    struct fold *fold = calloc(1, fold_bytes());
    assert_non_null(fold);
    fold_init(fold, occurrence, context);
    assert_true(fold_check(fold));
    return fold;
}

static void start_pair(struct pair *pair, uint64_t seed)
{
    *pair = (struct pair){.random = {seed}, .every = 1 + (uint32_t)seed % 3 * 40};
    pair->fold = fold_new(hear, &pair->heard);
}

static bool same_lists(const struct pair *pair)
{
    struct fold_part parts[FOLD_WINDOW];
    uint32_t counts[FOLD_WINDOW];
    if (fold_list(pair->fold, parts, counts) != pair->plain.tokens)
        return false;
    for (uint32_t i = 0; i < pair->plain.tokens; i++)
        if (!same_part(&parts[i], &pair->plain.list[i]) || counts[i] != pair->plain.list[i].count)
            return false;
    return true;
}

static void compare(const struct pair *pair)
{
    const struct plain *plain = &pair->plain;
    assert_true(fold_check(pair->fold));
    assert_int_equal(fold_count(pair->fold), plain->sequences);
    for (uint32_t i = 0; i < plain->sequences; i++)
        assert_memory_equal(fold_get(pair->fold, i), &plain->sequence[i], sizeof *plain->sequence);
    assert_true(same_lists(pair));
    assert_int_equal(fold_full(pair->fold), plain->full);
    assert_int_equal(pair->heard.count, plain->heard.count);
    assert_int_equal(pair->heard.hash, plain->heard.hash);
}

static uint32_t any(struct pair *pair, uint32_t bound)
{
    return (uint32_t)base_random_below(&pair->random, bound);
}

static void add_both(struct pair *pair, uint32_t symbol)
{
    uint64_t start = pair->now + base_random_below(&pair->random, 3);
    uint64_t end = start + base_random_below(&pair->random, 100);
    fold_add(pair->fold, symbol, start, end);
    plain_add(&pair->plain, symbol, start, end);
    pair->now = end;
    if (any(pair,
            pair->every)) /* looking at the list brings it up to date, which is a way of its own */
        return;
    if (!same_lists(pair) || fold_count(pair->fold) != pair->plain.sequences)
        compare(pair); /* fails, and says where */
}

static void end_both(struct pair *pair)
{
    fold_end(pair->fold);
    plain_end(&pair->plain);
    compare(pair);
}

/* ---- what is known beforehand -------------------------------------------------------------- */

/* Letters; symbol i begins at 10 * i and takes 5 + i. */
static void add_text(struct fold *fold, const char *text)
{
    for (uint64_t i = 0; text[i]; i++)
        fold_add(fold, (uint32_t)text[i], 10 * i, 10 * i + 5 + i);
}

static const char *spelt(const struct fold *fold, uint32_t sequence)
{
    static char text[FOLD_LONGEST * 12];
    struct fold_part parts[FOLD_LONGEST];
    uint32_t count = fold_expand(fold, sequence, parts, FOLD_LONGEST);
    size_t length = 0;
    assert_int_equal(count, fold_get(fold, sequence)->length);
    for (uint32_t i = 0; i < count; i++) {
        length += (size_t)sprintf(text + length, "%c", (char)parts[i].symbol);
        if (parts[i].class > 1)
            length += (size_t)sprintf(text + length, "%u", parts[i].class);
    }
    text[length] = 0;
    return text;
}

static void expect(const struct fold *fold, const char *text, uint64_t count, uint64_t sum,
                   uint64_t min)
{
    for (uint32_t i = 0; i < fold_count(fold); i++) {
        const struct fold_sequence *sequence = fold_get(fold, i);
        if (strcmp(spelt(fold, i), text) != 0)
            continue;
        assert_int_equal(sequence->count, count);
        assert_int_equal(sequence->sum, sum);
        assert_int_equal(sequence->min, min);
        return;
    }
    fail_msg("%s was not found", text);
}

static void the_example_of_the_paper(void **state)
{
    struct fold *fold = fold_new(NULL, NULL);
    add_text(fold, "abcbdabeabc");
    fold_end(fold);
    /* a b at 0, 5, 8: 10 + 6, 10 + 11, 10 + 14; a b c at 0, 8: 20 + 7, 20 + 15 */
    expect(fold, "ab", 3, 16 + 21 + 24, 16);
    expect(fold, "abc", 2, 27 + 35, 27);
    assert_int_equal(fold_count(fold), 2);
    assert_true(fold_check(fold));
    free(fold);
}

static void without_the_end_the_last_does_not_count(void **state)
{
    struct fold *fold = fold_new(NULL, NULL);
    add_text(fold, "abcbdabeabc");
    expect(fold, "ab", 3, 16 + 21 + 24, 16);
    assert_int_equal(fold_count(fold), 1);
    free(fold);
}

static void loops_of_one(void **state)
{
    struct fold *fold = fold_new(NULL, NULL);
    add_text(fold, "aaab");
    fold_end(fold);
    add_text(fold, "aaabaab");
    fold_end(fold);
    assert_int_equal(fold_count(fold), 0); /* the end of the list is in between; a2 is not a3 */
    add_text(fold, "aaabxaaab");
    fold_end(fold);
    assert_int_equal(fold_count(fold), 1);
    expect(fold, "a3b", 2, 30 + 8 + 30 + 13, 38);
    free(fold);
}

static void loops_of_sequences(void **state)
{
    struct fold_part parts[FOLD_WINDOW];
    uint32_t counts[FOLD_WINDOW];
    struct fold *fold = fold_new(NULL, NULL);
    for (uint64_t i = 0; i < 1000; i++) {
        fold_add(fold, 'a', 100 * i, 100 * i + 10);
        fold_add(fold, 'b', 100 * i + 20, 100 * i + 30 + i % 7);
    }
    fold_add(fold, 'c', 100000, 100001);
    assert_int_equal(fold_count(fold), 1);
    expect(fold, "ab", 1000, 30 * 1000 + 142 * 21 + 0 + 1 + 2 + 3 + 4 + 5, 30);
    assert_int_equal(fold_list(fold, parts, counts), 2);
    assert_int_equal(parts[0].symbol, FOLD_FIRST);
    assert_int_equal(counts[0], 1000);
    assert_int_equal(parts[0].class, fold_class(1000));
    free(fold);
}

/* (a b) so many times after each c, which is one thing however long the loop is. */
static void nested_loops(void **state)
{
    static const uint32_t times[] = {1, 2, 15, 16, 17, 20, 33, 50, 1000};
    for (uint32_t i = 0; i < BASE_COUNT(times); i++) {
        struct fold *fold = fold_new(NULL, NULL);
        uint64_t now = 0, loop = times[i];
        for (uint32_t j = 0; j < 100; j++) {
            fold_add(fold, 'c', now, now + 10);
            now += 10;
            for (uint64_t k = 0; k < loop; k++, now += 20) {
                fold_add(fold, 'a', now, now + 2);
                fold_add(fold, 'b', now + 10, now + 20);
            }
        }
        fold_end(fold);
        if (loop > 1) { /* else it is c a that occurs twice first */
            expect(fold, "ab", 100 * loop, 100 * loop * 20, 20);
            assert_int_equal(fold_count(fold), 2);
            assert_int_equal(fold_get(fold, 1)->part[1].class, fold_class((uint32_t)loop));
        }
        expect(fold, "cab", 100, 100 * (10 + loop * 20), 10 + loop * 20);
        free(fold);
    }
}

/* Twice and four times in turn: what begins like the shorter is not taken for it. */
static void loops_that_differ(void **state)
{
    struct fold *fold = fold_new(NULL, NULL);
    uint64_t now = 0;
    for (uint32_t i = 0; i < 100; i++)
        for (uint32_t j = 0; j < (i % 2 ? 9u : 5u); j++, now += 10)
            fold_add(fold, j == 0 ? 'c' : j % 2 ? 'a' : 'b', now, now + 10);
    fold_end(fold);
    expect(fold, "ab", 300, 300 * 20, 20);
    expect(fold, "cab", 50, 50 * 50, 50);
    expect(fold, "cabcab", 50, 50 * 140, 140); /* each inner one spelt once */
    free(fold);
}

static void classes_of_counts(void **state)
{
    assert_int_equal(fold_class(1), 1);
    assert_int_equal(fold_class(16), 16);
    assert_int_equal(fold_class(17), 16 + 4);
    assert_int_equal(fold_class(32), 16 + 4);
    assert_int_equal(fold_class(33), 16 + 5);
    assert_int_equal(fold_class(UINT32_MAX), 16 + 31);
}

static void expansion_stops_at_the_room(void **state)
{
    struct fold_part parts[4] = {[2] = {77, 77}};
    struct fold *fold = fold_new(NULL, NULL);
    add_text(fold, "abcdabcd");
    fold_end(fold);
    uint32_t longest = 0;
    for (uint32_t i = 0; i < fold_count(fold); i++)
        longest = fold_get(fold, i)->length == 4 ? i : longest;
    assert_string_equal(spelt(fold, longest), "abcd");
    assert_int_equal(fold_expand(fold, longest, parts, 2), 2);
    assert_int_equal(parts[1].symbol, 'b');
    assert_int_equal(parts[2].symbol, 77);
    free(fold);
}

/* ---- anything at all ----------------------------------------------------------------------- */

enum { SYMBOLS = 700 };

/* Phrases repeated within phrases, some of them with a mistake. */
static void add_phrase(struct pair *pair, const uint32_t *phrase, uint32_t length, uint32_t depth,
                       uint32_t alphabet)
{
    uint32_t times = 1 + any(pair, 5);
    for (uint32_t i = 0; i < times; i++) {
        for (uint32_t j = 0; j < length; j++) {
            if (depth > 0 && any(pair, 4) == 0)
                add_phrase(pair, phrase + j, length - j, depth - 1, alphabet);
            add_both(pair, any(pair, 40) ? phrase[j] : any(pair, alphabet));
        }
    }
}

static void structured(struct pair *pair, uint32_t alphabet)
{
    uint32_t phrase[4][8];
    for (uint32_t i = 0; i < 4; i++)
        for (uint32_t j = 0; j < 8; j++)
            phrase[i][j] = any(pair, alphabet);
    for (uint32_t i = 0; i < 12; i++)
        add_phrase(pair, phrase[any(pair, 4)], 1 + any(pair, 8), any(pair, 3), alphabet);
}

static void noise(struct pair *pair, uint32_t alphabet)
{
    for (uint32_t i = 0; i < SYMBOLS; i++)
        add_both(pair, any(pair, alphabet));
}

/* Loops that differ in their counts, some beyond what is distinguished. */
static void counted(struct pair *pair, uint32_t alphabet)
{
    uint32_t bound = 2 + any(pair, 40);
    for (uint32_t i = 0; i < 60; i++) {
        uint32_t times = 1 + any(pair, bound), length = 1 + any(pair, alphabet);
        for (uint32_t j = 0; j < times * length; j++)
            add_both(pair, j % length);
    }
}

static void random_streams_fold_as_defined(void **state)
{
    void (*const kinds[])(struct pair *, uint32_t) = {structured, noise, counted};
    for (uint64_t seed = 0; seed < 150; seed++) {
        struct pair pair;
        start_pair(&pair, seed);
        uint32_t alphabet = 2 + any(&pair, 11);
        for (uint32_t part = 0; part < 1 + seed % 3; part++) {
            kinds[(seed + part) % BASE_COUNT(kinds)](&pair, alphabet);
            compare(&pair);
            if (any(&pair, 2))
                end_both(&pair);
        }
        end_both(&pair);
        free(pair.fold);
    }
}

/* Long phrases: sequences reach FOLD_LONGEST, and pairs are passed over. */
static void the_longest_fold_as_defined(void **state)
{
    bool reached = false;
    for (uint64_t seed = 0; seed < 8; seed++) {
        struct pair pair;
        start_pair(&pair, seed);
        uint32_t length = 40 + any(&pair, 60);
        for (uint32_t i = 0; i < 24 * length; i++)
            add_both(&pair, any(&pair, 2000) ? i % length : 7);
        end_both(&pair);
        for (uint32_t i = 0; i < fold_count(pair.fold); i++)
            reached |= fold_get(pair.fold, i)->length > FOLD_LONGEST / 2;
        free(pair.fold);
    }
    assert_true(reached);
}

static void short_lists_end_often(void **state)
{
    struct pair pair;
    start_pair(&pair, 5);
    for (uint32_t i = 0; i < 1000; i++) {
        for (uint32_t j = any(&pair, 12); j > 0; j--)
            add_both(&pair, any(&pair, 3));
        end_both(&pair);
    }
    free(pair.fold);
}

static void noise_stays_bounded(void **state)
{
    struct base_random random = {1};
    struct heard heard = {0};
    struct fold_part parts[FOLD_WINDOW];
    uint32_t counts[FOLD_WINDOW];
    size_t bytes = fold_bytes();
    unsigned char *memory = malloc(bytes + 4096);
    assert_non_null(memory);
    memset(memory, 0, bytes);
    memset(memory + bytes, 0x5a, 4096);
    struct fold *fold = (struct fold *)memory;
    fold_init(fold, hear, &heard);
    for (uint32_t i = 0; i < 1000000; i++) {
        uint32_t alphabet = i < 500000 ? 12 : FOLD_FIRST;
        fold_add(fold, (uint32_t)base_random_below(&random, alphabet), i, i + 1);
        if (i % 1000 == 0)
            assert_true(fold_check(fold));
    }
    assert_true(fold_check(fold));
    assert_true(fold_full(fold));
    assert_int_equal(fold_count(fold), FOLD_SEQUENCES);
    assert_int_equal(fold_list(fold, parts, counts), FOLD_WINDOW);
    uint64_t occurrences = 0;
    for (uint32_t i = 0; i < FOLD_SEQUENCES; i++)
        occurrences += fold_get(fold, i)->count;
    assert_int_equal(occurrences, heard.count);
    for (size_t i = 0; i < 4096; i++)
        assert_int_equal(memory[bytes + i], 0x5a);
    free(memory);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_example_of_the_paper),
        cmocka_unit_test(without_the_end_the_last_does_not_count),
        cmocka_unit_test(loops_of_one),
        cmocka_unit_test(loops_of_sequences),
        cmocka_unit_test(nested_loops),
        cmocka_unit_test(loops_that_differ),
        cmocka_unit_test(classes_of_counts),
        cmocka_unit_test(expansion_stops_at_the_room),
        cmocka_unit_test(random_streams_fold_as_defined),
        cmocka_unit_test(the_longest_fold_as_defined),
        cmocka_unit_test(short_lists_end_often),
        cmocka_unit_test(noise_stays_bounded),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("fold", tests, NULL, NULL);
}
