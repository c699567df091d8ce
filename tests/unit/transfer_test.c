// SPDX-License-Identifier: MIT
/*
 * Against all orders in which the accesses of threads can follow each other, one by one; against the history of
 * a line by hand; with the engine's order of threads changed; with few cells, lines and pairs.
 */
#include "transfer/internal.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <cmocka.h>

#define LIMIT (UINT64_C(1) << 24)

static int64_t mapped;
static unsigned maps, refused; /* from this one on; 0: never */

static void *map(void *context, size_t bytes, bool reserve)
{
    (void)context, (void)reserve;
    if (++maps >= refused && refused)
        return NULL;
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    assert_true(memory != MAP_FAILED);
    mapped += (int64_t)bytes;
    return memory;
}

static void unmap(void *context, void *memory, size_t bytes)
{
    (void)context;
    assert_int_equal(munmap(memory, bytes), 0);
    mapped -= (int64_t)bytes;
}

static const struct transfer_memory memory = {map, unmap, NULL};
static const struct transfer_options enough = {
    .address_limit = LIMIT, .most_cells = 1 << 16, .most_lines = 1 << 10, .most_pairs = 1 << 12};

static struct transfer *begin(const struct transfer_options *options)
{
    struct transfer *transfer = aligned_alloc(64, (transfer_bytes() + 63) & ~(size_t)63);
    assert_int_equal(transfer_init(transfer, options, &memory), BASE_OK);
    return transfer;
}

static void end(struct transfer *transfer)
{
    assert_true(transfer_check(transfer));
    transfer_free(transfer);
    free(transfer);
    assert_int_equal(mapped, 0);
}

static struct transfer_totals totals_of(const struct transfer *transfer)
{
    struct transfer_totals totals;
    transfer_totals(transfer, &totals);
    return totals;
}

static void close_to(double found, double wanted)
{
    if (!(fabs(found - wanted) <= 1e-9 * (1 + fabs(wanted)))) /* nor NaN */
        fail_msg("%.12g instead of %.12g", found, wanted);
}

static const struct transfer_line *line_at(const struct transfer *transfer, uint64_t address)
{
    const struct transfer_line *line;
    for (uint32_t cursor = 0; (line = transfer_next_line(transfer, &cursor));)
        if (line->address == address)
            return line;
    return NULL;
}

/* ---- every order ------------------------------------------------------------------------------ */

enum { MOST = 9, THREADS = 3 };

struct event {
    uint32_t thread, id, kind;
    uint64_t mask;
};

/* Transfers in one order, and sums over all orders of a multiset that keeps no order within threads either. */
struct orders {
    struct event events[MOST];
    unsigned count;
    double orders, true_sum, false_sum, pair_sum;
    uint32_t first, second; /* pair whose transfers pair_sum counts */
};

static void count_order(struct orders *orders)
{
    orders->orders++;
    for (unsigned i = 0; i + 1 < orders->count; i++) {
        const struct event *a = &orders->events[i], *b = a + 1;
        if (a->thread == b->thread || !((a->kind | b->kind) & TRANSFER_WRITE))
            continue;
        *(a->mask & b->mask ? &orders->true_sum : &orders->false_sum) += 1;
        orders->pair_sum += a->id == orders->first && b->id == orders->second;
    }
}

static void permute(struct orders *orders, unsigned from)
{
    if (from + 1 >= orders->count) {
        count_order(orders);
        return;
    }
    for (unsigned i = from; i < orders->count; i++) {
        struct event kept = orders->events[from];
        orders->events[from] = orders->events[i];
        orders->events[i] = kept;
        permute(orders, from + 1);
        orders->events[i] = orders->events[from];
        orders->events[from] = kept;
    }
}

static void give(struct transfer *transfer, const struct event *event,
                 const struct transfer_clock *clock)
{
    unsigned low = (unsigned)__builtin_ctzll(event->mask);
    unsigned bytes = (unsigned)__builtin_popcountll(event->mask);
    transfer_access(transfer, event->thread, clock, 0x1000 + low, bytes, event->id,
                    (enum transfer_kind)event->kind);
}

static struct event random_event(uint32_t thread)
{
    uint32_t id = 1 + thread * 4 + (uint32_t)rand() % 2;
    unsigned bytes = 1U << rand() % 4;
    return (struct event){.thread = thread,
                          .id = id,
                          .kind = 1 + (uint32_t)rand() % 3,
                          .mask = (~UINT64_C(0) >> (64 - bytes)) << (rand() % 3 * 8)};
}

static double pair_of(const struct transfer *transfer, uint32_t from, uint32_t to)
{
    double sum = 0;
    const struct transfer_line *line = line_at(transfer, 0x1000);
    const struct transfer_pair *pair;
    for (uint32_t cursor = 0; line && (pair = transfer_next_pair(transfer, line, &cursor));) {
        sum += pair->first == from && pair->second == to ? pair->forward : 0;
        sum += pair->second == from && pair->first == to ? pair->backward : 0;
    }
    return sum;
}

static void test_every_order(void **state)
{
    (void)state;
    srand(1);
    for (unsigned round = 0; round < 40; round++) {
        struct orders orders = {.count = 2 + (unsigned)rand() % 6};
        struct transfer *transfer = begin(&enough);
        struct transfer_clock clock = {.now = 5000};
        for (unsigned i = 0; i < orders.count; i++) {
            orders.events[i] = random_event((uint32_t)rand() % THREADS);
            give(transfer, &orders.events[i], &clock);
        }
        orders.first = orders.events[0].id;
        orders.second = orders.events[1].id;
        uint32_t first = orders.first, second = orders.second;
        permute(&orders, 0);
        transfer_settle(transfer);
        struct transfer_totals totals = totals_of(transfer);
        close_to(totals.true_transfers, orders.true_sum / orders.orders);
        close_to(totals.false_transfers, orders.false_sum / orders.orders);
        close_to(pair_of(transfer, first, second), orders.pair_sum / orders.orders);
        end(transfer);
    }
}

/* ---- known answers ---------------------------------------------------------------------------- */

/* `count` accesses from time `from` on, `step` apart. */
static void run(struct transfer *transfer, uint32_t thread, uint64_t from, uint64_t step,
                unsigned count, uint64_t address, enum transfer_kind kind)
{
    struct transfer_clock clock = {.now = from};
    for (unsigned i = 0; i < count; i++, clock.now += step)
        transfer_access(transfer, thread, &clock, address, 8, thread + 1, kind);
}

static void test_false_and_true(void **state)
{
    (void)state;
    struct transfer *transfer = begin(&enough);
    for (uint32_t thread = 0; thread < 2; thread++) {
        run(transfer, thread, 100, 10, 1000, 0x1000 + thread * 8, TRANSFER_WRITE);
        run(transfer, thread, 100, 10, 1000, 0x2000, TRANSFER_BOTH);
        run(transfer, thread, 100, 10, 1000, 0x3000 + thread * 64, TRANSFER_WRITE); /* padded */
        run(transfer, thread, 100, 10, 1000, 0x4000, TRANSFER_READ);
        run(transfer, thread, 100, 10, 1000, 0x5000, thread ? TRANSFER_READ : TRANSFER_WRITE);
    }
    transfer_settle(transfer);
    close_to(line_at(transfer, 0x1000)->false_transfers, 1000);
    close_to(line_at(transfer, 0x1000)->true_transfers, 0);
    close_to(line_at(transfer, 0x2000)->true_transfers, 1000);
    assert_null(line_at(transfer, 0x3000));
    assert_null(line_at(transfer, 0x3040));
    assert_null(line_at(transfer, 0x4000));
    close_to(line_at(transfer, 0x5000)->true_transfers, 1000);
    close_to(transfer_between(transfer, 0, 1), 1500);
    close_to(transfer_between(transfer, 1, 0), 1500);
    uint32_t cursor = 0;
    const struct transfer_pair *pair =
        transfer_next_pair(transfer, line_at(transfer, 0x5000), &cursor);
    assert_int_equal(pair->first, 1);
    assert_int_equal(pair->first_kind, TRANSFER_WRITE);
    assert_int_equal(pair->second_kind, TRANSFER_READ);
    close_to(pair->forward, 500);
    close_to(pair->backward, 500);
    end(transfer);
}

static void test_users(void **state)
{
    (void)state;
    struct transfer *transfer = begin(&enough);
    run(transfer, 0, 0, 1, 30, 0x1000, TRANSFER_WRITE);
    run(transfer, 3, 0, 1, 20, 0x1008, TRANSFER_READ);
    transfer_settle(transfer);
    const struct transfer_line *line = line_at(transfer, 0x1000);
    const struct transfer_user *user;
    unsigned seen = 0;
    for (uint32_t cursor = 0; (user = transfer_next_user(transfer, line, &cursor)); seen++) {
        bool writer = user->thread == 0;
        assert_true(writer || user->thread == 3);
        assert_int_equal(user->writes, writer ? 30 : 0);
        assert_int_equal(user->reads, writer ? 0 : 20);
        assert_int_equal(user->write_mask, writer ? 0xff : 0);
        assert_int_equal(user->read_mask, writer ? 0 : 0xff00);
    }
    assert_int_equal(seen, 2);
    end(transfer);
}

/* Rates: 1000 accesses in [0, 10000), 500 of another thread in its second half alone. */
static void test_overlap(void **state)
{
    (void)state;
    struct transfer *transfer = begin(&enough);
    run(transfer, 0, 0, 10, 1000, 0x1000, TRANSFER_WRITE);
    run(transfer, 1, 5000, 10, 500, 0x1008, TRANSFER_WRITE);
    transfer_settle(transfer);
    double found = totals_of(transfer).false_transfers;
    assert_true(found > 495 && found < 502);
    end(transfer);
}

static void test_waits(void **state)
{
    (void)state;
    struct transfer *transfer = begin(&enough);
    struct transfer_clock clocks[2] = {{0, 0}, {0, 0}};
    for (unsigned phase = 0; phase < 200; phase++) {
        struct transfer_clock *clock = &clocks[phase % 2];
        for (unsigned i = 0; i < 100; i++, clock->now += 3)
            transfer_access(transfer, phase % 2, clock, 0x1000, 8, 1 + phase % 2, TRANSFER_BOTH);
        uint64_t then = clocks[0].now > clocks[1].now ? clocks[0].now : clocks[1].now;
        transfer_join(&clocks[0], then);
        transfer_join(&clocks[1], then);
        assert_int_equal(clocks[0].now, clocks[1].now);
        assert_true(clocks[0].now > then && clocks[0].now <= then + TRANSFER_NEAR);
        uint64_t now = clocks[0].now;
        transfer_join(&clocks[0], then); /* it has waited for that */
        assert_int_equal(clocks[0].now, now);
    }
    transfer_settle(transfer);
    close_to(totals_of(transfer).true_transfers, 0);
    end(transfer);
}

/* Who reads until it may go on takes the line from the other one; who has slept, too, does not. */
static void test_hand_overs(void **state)
{
    (void)state;
    struct transfer *transfer = begin(&enough);
    struct transfer_clock clocks[2] = {{0}, {0}};
    for (unsigned turn = 0; turn < 60; turn++) {
        struct transfer_clock *clock = &clocks[turn % 2];
        for (unsigned i = 0; i < 50; i++, clock->now += 3)
            transfer_access(transfer, turn % 2, clock, 0x1000, 8, 1, TRANSFER_WRITE);
        transfer_part(clock);
        if (turn % 10 == 9)
            transfer_join(&clocks[1 - turn % 2], clock->now);
        else
            transfer_go_on(&clocks[1 - turn % 2], clock->now);
        assert_true(clocks[1 - turn % 2].now >= clock->now);
    }
    transfer_settle(transfer);
    close_to(totals_of(transfer).true_transfers, 54);
    end(transfer);
}

/* Of a thread that reads until another one writes only what it read before counts: the line moves there and back. */
static void test_takes_back(void **state)
{
    (void)state;
    struct transfer *transfer = begin(&enough);
    struct transfer_clock reader = {0}, writer = {0};
    run(transfer, 1, 0, 3, 1000, 0x1000, TRANSFER_READ);
    run(transfer, 1, 100000, 3, 1000, 0x1000, TRANSFER_READ);
    writer.now = 301;
    transfer_access(transfer, 0, &writer, 0x1000, 8, 1, TRANSFER_WRITE);
    transfer_take_back(transfer, 1, 0x1000, 300);
    transfer_take_back(transfer, 2, 0x1000, 0);
    transfer_take_back(transfer, 1, 0x2000, 0);
    transfer_go_on(&reader, writer.now);
    transfer_access(transfer, 1, &reader, 0x1000, 8, 1, TRANSFER_READ);
    assert_true(transfer_check(transfer));
    transfer_settle(transfer);
    close_to(totals_of(transfer).true_transfers, 2);
    transfer_take_back(transfer, 1, 0x1000, 0);
    end(transfer);
}

static struct transfer_object lowest_byte(void *context, uint64_t address, uint64_t mask)
{
    (void)context;
    return (struct transfer_object){1 + (uint32_t)__builtin_ctzll(mask), (int64_t)address};
}

/* A line that is settled several times is one object, though other variables of it are written later. */
static void test_one_object(void **state)
{
    (void)state;
    struct transfer_options options = enough;
    options.identify = lowest_byte;
    struct transfer *transfer = begin(&options);
    struct transfer_clock clocks[2] = {{0}, {0}};
    for (unsigned turn = 0; turn < 1000; turn++) {
        struct transfer_clock *clock = &clocks[turn % 2];
        transfer_access(transfer, turn % 2, clock, turn < 500 ? 0x1008 : 0x1000, 4, 1,
                        TRANSFER_WRITE);
        transfer_part(clock);
        transfer_go_on(&clocks[1 - turn % 2], clock->now);
    }
    transfer_settle(transfer);
    uint32_t cursor = 0, lines = 0;
    while (transfer_next_line(transfer, &cursor))
        lines++;
    assert_int_equal(lines, 1);
    end(transfer);
}

/* Waits are known as far back as 16 bits reach: a thread that slept longer ago, or never, is the same. */
static void test_wait_long_ago(void **state)
{
    (void)state;
    struct transfer *transfer = begin(&enough);
    struct transfer_clock first = {0}, second = {0};
    transfer_join(&second, 5000);
    second.now = UINT64_C(3) << 28;
    first.now = second.now - 10000;
    transfer_access(transfer, 0, &first, 0x1000, 8, 1, TRANSFER_WRITE);
    transfer_access(transfer, 1, &second, 0x1000, 8, 1, TRANSFER_WRITE);
    transfer_settle(transfer);
    close_to(totals_of(transfer).true_transfers, 1);
    end(transfer);
}

/* Apart in time, not by a wait: the line moves each time, unless it is long ago. */
static void test_apart(void **state)
{
    (void)state;
    struct transfer *transfer = begin(&enough);
    for (uint64_t i = 0; i < 10; i++)
        run(transfer, i % 2, i * 10000, 1, 5, 0x1000, TRANSFER_WRITE);
    run(transfer, 0, 100000 + FAR, 1, 5, 0x1000, TRANSFER_WRITE);
    run(transfer, 0, 0, 1, 1, 0x2000, TRANSFER_READ);
    run(transfer, 1, 10000, 1, 1, 0x2000, TRANSFER_READ);
    transfer_settle(transfer);
    close_to(totals_of(transfer).true_transfers, 9);
    end(transfer);
}

static void test_straddles(void **state)
{
    (void)state;
    struct transfer *transfer = begin(&enough);
    run(transfer, 0, 0, 1, 100, 0x103c, TRANSFER_WRITE);
    run(transfer, 1, 0, 1, 100, 0x103c, TRANSFER_WRITE);
    transfer_settle(transfer);
    close_to(line_at(transfer, 0x1000)->true_transfers, 100);
    close_to(line_at(transfer, 0x1040)->true_transfers, 100);
    uint32_t cursor = 0;
    const struct transfer_pair *pair =
        transfer_next_pair(transfer, line_at(transfer, 0x1040), &cursor);
    assert_int_equal(pair->first_mask, 0xf);
    end(transfer);
}

/* ---- the engine's order of threads --------------------------------------------------------------- */

struct script {
    struct transfer_clock clock;
    unsigned done;
    uint64_t random;
};

static void step(struct transfer *transfer, struct script *script, uint32_t thread)
{
    uint64_t random = script->random = base_mix64(script->random + 1);
    script->clock.now += 1 + random % 50;
    if (random % 97 == 0)
        transfer_wake(&script->clock);
    transfer_access(transfer, thread, &script->clock, 0x1000 + (random >> 8) % 3 * 64 + thread * 4,
                    4 + (random >> 16) % 5, 1 + thread * 4 + (random >> 24) % 2,
                    1 + (random >> 32) % 2);
    script->done++;
}

/* Runs of `slice` accesses of a thread at a time; 0: of random length. */
static void play(struct transfer *transfer, unsigned slice)
{
    enum { EACH = 3000 };
    struct script scripts[THREADS] = {{.done = 0}};
    for (uint32_t i = 0; i < THREADS; i++)
        scripts[i].random = i * 1000;
    for (bool more = true; more;) {
        more = false;
        for (uint32_t i = 0; i < THREADS; i++) {
            unsigned length = slice ? slice : 1 + (unsigned)rand() % 400;
            for (unsigned j = 0; j < length && scripts[i].done < EACH; j++)
                step(transfer, &scripts[i], i);
            more |= scripts[i].done < EACH;
        }
    }
    assert_true(transfer_check(transfer));
    transfer_settle(transfer);
}

static double sum_of_lines(const struct transfer *transfer)
{
    double sum = 0, pairs = 0, matrix = 0;
    const struct transfer_line *line;
    for (uint32_t cursor = 0; (line = transfer_next_line(transfer, &cursor));) {
        const struct transfer_pair *pair;
        sum += line->true_transfers + line->false_transfers;
        for (uint32_t at = 0; (pair = transfer_next_pair(transfer, line, &at));)
            pairs += pair->forward + pair->backward;
    }
    for (uint32_t i = 0; i < TRANSFER_MATRIX; i++)
        for (uint32_t j = 0; j < TRANSFER_MATRIX; j++)
            matrix += transfer_between(transfer, i, j);
    close_to(pairs, sum);
    close_to(matrix, sum + totals_of(transfer).unplaced);
    return sum;
}

static void test_order_of_threads(void **state)
{
    (void)state;
    double wanted = 0;
    static const unsigned slices[] = {1, 7, 500, 5000, 0};
    for (unsigned i = 0; i < BASE_COUNT(slices); i++) {
        struct transfer *transfer = begin(&enough);
        play(transfer, slices[i]);
        struct transfer_totals totals = totals_of(transfer);
        assert_true(!totals.evicted && !totals.merged && !totals.exhausted);
        double found = sum_of_lines(transfer);
        assert_true(found > 1000);
        wanted = wanted > 0 ? wanted : found;
        /* Coarser where a thread is far ahead. */
        assert_true(fabs(found - wanted) < 0.03 * wanted);
        end(transfer);
    }
}

/* ---- bounds ---------------------------------------------------------------------------------- */

static void test_few_cells(void **state)
{
    (void)state;
    struct transfer_options few = enough;
    few.most_cells = 200;
    struct transfer *transfer = begin(&few);
    for (unsigned i = 0; i < 5000; i++) {
        run(transfer, 0, i * 10, 1, 3, 0x10000 + i * 64ULL, TRANSFER_WRITE);
        if (i % 10 == 0)
            run(transfer, 1, i * 10, 1, 3, 0x10000 + i * 64ULL, TRANSFER_WRITE);
        assert_true(transfer_check(transfer));
    }
    transfer_settle(transfer);
    struct transfer_totals totals = totals_of(transfer);
    assert_true(totals.evicted > 4000);
    assert_false(totals.exhausted);
    close_to(totals.true_transfers, 500 * 3.);
    close_to(sum_of_lines(transfer), 500 * 3.);
    end(transfer);
}

static void test_many_places(void **state)
{
    (void)state;
    struct transfer *transfer = begin(&enough);
    struct transfer_clock clock = {.now = 1};
    for (uint32_t i = 0; i < 4000; i++)
        for (uint32_t thread = 0; thread < 2; thread++)
            transfer_access(transfer, thread, &clock, 0x1000 + thread * 32 + i % 8 * 4, 4,
                            1 + i * 2 + thread, TRANSFER_WRITE);
    transfer_settle(transfer);
    close_to(totals_of(transfer).false_transfers, 4000); /* never by bytes that were not touched */
    close_to(totals_of(transfer).true_transfers, 0);
    close_to(sum_of_lines(transfer), 4000);
    end(transfer);
}

/* Transfers between those two ids, in both directions. */
static double between_places(const struct transfer *transfer, uint32_t first, uint32_t second)
{
    uint32_t at = 0, pair_at = 0;
    double sum = 0;
    const struct transfer_line *line = transfer_next_line(transfer, &at);
    const struct transfer_pair *pair;
    while ((pair = transfer_next_pair(transfer, line, &pair_at)))
        if (pair->first == first && pair->second == second)
            sum += pair->forward + pair->backward;
    return sum;
}

/* First 800 pairs of places that meet once each, then one pair that meets thousands of times, beside forty rare places in the same interval. */
static void test_heavy_places_stay(void **state)
{
    (void)state;
    enum { FIRST = 90001, SECOND = 90002, TIMES = 3000 };
    struct transfer *transfer = begin(&enough);
    struct transfer_clock clock = {.now = 1};
    for (uint32_t i = 0; i < 800; i++, clock.now += 3 * TRANSFER_NEAR)
        for (uint32_t thread = 0; thread < 2; thread++)
            transfer_access(transfer, thread, &clock, 0x1000, 8, 1 + i * 2 + thread,
                            TRANSFER_WRITE);
    for (uint32_t i = 0; i < TIMES; i++, clock.now++)
        for (uint32_t thread = 0; thread < 2; thread++) {
            transfer_access(transfer, thread, &clock, 0x1000, 8, FIRST + thread, TRANSFER_WRITE);
            if (i % 75 == 0)
                transfer_access(transfer, thread, &clock, 0x1000, 8, 5000 + i + thread,
                                TRANSFER_WRITE);
        }
    transfer_settle(transfer);
    assert_true(totals_of(transfer).merged > 0);
    double heavy = between_places(transfer, FIRST, SECOND);
    assert_true(heavy > 0.7 * TIMES &&
                heavy < TIMES); /* all is one interval by then: 2 * 3000 * 3000 / (2 * 3840) */
    assert_true(transfer_check(transfer));
    end(transfer);
}

static void test_few_lines_and_pairs(void **state)
{
    (void)state;
    struct transfer_options few = enough;
    few.most_lines = 8;
    few.most_pairs = 80;
    struct transfer *transfer = begin(&few);
    for (uint32_t i = 0; i < 20; i++)
        for (uint32_t thread = 0; thread < 4; thread++) {
            struct transfer_clock clock = {.now = 1000 + i};
            for (unsigned j = 0; j < 10; j++)
                transfer_access(transfer, thread, &clock, 0x1000 + i * 64, 8,
                                1 + i * 100 + thread * 10 + j % 3, TRANSFER_WRITE);
        }
    transfer_settle(transfer);
    struct transfer_totals totals = totals_of(transfer);
    assert_true(totals.merged > 0);
    close_to(totals.true_transfers, 20 * 30.);
    close_to(totals.unplaced, 12 * 30.);
    close_to(sum_of_lines(transfer), 8 * 30.);
    end(transfer);
}

/* ---- objects --------------------------------------------------------------------------------- */

static struct transfer_object identify(void *context, uint64_t address, uint64_t mask)
{
    assert_int_equal(mask, 0xff);
    return (struct transfer_object){*(uint32_t *)context, (int64_t)(address & 0xfff)};
}

static void test_generations(void **state)
{
    (void)state;
    uint32_t object = 1;
    struct transfer_options options = enough;
    options.identify = identify;
    options.context = &object;
    struct transfer *transfer = begin(&options);
    for (unsigned i = 0; i < 4; i++) {
        run(transfer, i % 2, i * 1000, 1, 10, 0x1000, TRANSFER_WRITE);
        transfer_forget(transfer, 0x1010, 8); /* on the same line */
        object++;
    }
    transfer_settle(transfer);
    close_to(totals_of(transfer).true_transfers, 0);
    for (unsigned i = 0; i < 4; i++) { /* the same object at two addresses is one */
        object = 7;
        run(transfer, 0, 0, 1, 10, 0x1000 + (i & 1) * 0x1000, TRANSFER_WRITE);
        run(transfer, 1, 0, 1, 10, 0x1000 + (i & 1) * 0x1000, TRANSFER_WRITE);
        transfer_forget(transfer, 0, LIMIT);
    }
    uint32_t cursor = 0;
    const struct transfer_line *line = transfer_next_line(transfer, &cursor);
    assert_int_equal(line->object.number, 7);
    close_to(line->true_transfers, 40);
    assert_null(transfer_next_line(transfer, &cursor));
    run(transfer, 0, 0, 1, 10, 0x1000, TRANSFER_WRITE);
    run(transfer, 1, 0, 1, 10, 0x1000, TRANSFER_WRITE);
    transfer_reset(transfer); /* and what was not settled yet is no longer there */
    transfer_settle(transfer);
    cursor = 0;
    assert_null(transfer_next_line(transfer, &cursor));
    close_to(totals_of(transfer).true_transfers, 0);
    end(transfer);
}

static void test_no_memory(void **state)
{
    (void)state;
    struct transfer *transfer = aligned_alloc(64, (transfer_bytes() + 63) & ~(size_t)63);
    for (unsigned i = 1; i <= 6; i++) {
        maps = 0;
        refused = i;
        assert_int_equal(transfer_init(transfer, &enough, &memory), BASE_NO_MEMORY);
        assert_int_equal(mapped, 0);
    }
    refused = 0;
    free(transfer);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_order),
        cmocka_unit_test(test_false_and_true),
        cmocka_unit_test(test_users),
        cmocka_unit_test(test_overlap),
        cmocka_unit_test(test_waits),
        cmocka_unit_test(test_hand_overs),
        cmocka_unit_test(test_wait_long_ago),
        cmocka_unit_test(test_takes_back),
        cmocka_unit_test(test_one_object),
        cmocka_unit_test(test_apart),
        cmocka_unit_test(test_straddles),
        cmocka_unit_test(test_order_of_threads),
        cmocka_unit_test(test_few_cells),
        cmocka_unit_test(test_many_places),
        cmocka_unit_test(test_heavy_places_stay),
        cmocka_unit_test(test_few_lines_and_pairs),
        cmocka_unit_test(test_generations),
        cmocka_unit_test(test_no_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
