// SPDX-License-Identifier: MIT
/*
 * Against an LRU stack that is searched from the top, for many traces; with few slots, so
 * that they are compacted all the time; against a sum tree over time for large ones.
 */
#include "distance/internal.h"

#include "cache/cache.h"
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <cmocka.h>

#define LIMIT (UINT64_C(1) << 44)

/* ---- memory that can be refused ------------------------------------------------------------ */

struct supply {
    int64_t mapped;  /* bytes now */
    uint64_t maps;   /* asked for so far */
    uint64_t refuse; /* from this one on; 0: never */
    uint64_t most;   /* bytes of tables ever held together, reservations aside */
    int64_t tables;
};

static void *supply_map(void *context, size_t bytes, bool reserve)
{
    struct supply *supply = context;
    if (++supply->maps >= supply->refuse && supply->refuse)
        return NULL;
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    assert_true(memory != MAP_FAILED);
    supply->mapped += (int64_t)bytes;
    supply->tables += reserve ? 0 : (int64_t)bytes;
    if ((uint64_t)supply->tables > supply->most)
        supply->most = (uint64_t)supply->tables;
    return memory;
}

static void supply_unmap(void *context, void *memory, size_t bytes)
{
    struct supply *supply = context;
    assert_int_equal(munmap(memory, bytes), 0);
    supply->mapped -= (int64_t)bytes;
}

static struct distance_memory memory_of(struct supply *supply)
{
    return (struct distance_memory){supply_map, supply_unmap, supply};
}

static const struct distance_options all_lines = {
    .unit_shift = 6, .share = DISTANCE_ALL, .stack = true, .address_limit = LIMIT};

static struct distance *begin(const struct distance_options *options, struct supply *supply,
                              uint32_t least_slots)
{
    struct distance_memory memory = memory_of(supply);
    struct distance *distance = aligned_alloc(64, (distance_bytes() + 63) & ~(size_t)63);
    assert_non_null(distance);
    enum base_status status = distance_init_slots(distance, options, &memory, least_slots);
    if (status == BASE_OK)
        return distance;
    assert_int_equal(status, BASE_NO_MEMORY);
    free(distance);
    return NULL;
}

static void end(struct distance *distance, const struct supply *supply)
{
    distance_free(distance);
    free(distance);
    assert_int_equal(supply->mapped, 0);
}

/* ---- the oracle ---------------------------------------------------------------------------- */

enum { IDS = 80 }; /* more pairs than their table holds at first */

struct held {
    uint64_t location, time;
    uint32_t id;
    bool once;
};

struct oracle {
    struct distance_options options;
    uint64_t share;
    struct held *stack; /* most recent first */
    size_t count, capacity;
    double time[DISTANCE_BINS], stack_bins[DISTANCE_BINS];
    struct distance_totals totals;
    struct distance_pair pairs[IDS][IDS];
};

static struct oracle *oracle_new(const struct distance_options *options)
{
    struct oracle *oracle = calloc(1, sizeof *oracle);
    assert_non_null(oracle);
    oracle->options = *options;
    oracle->share = options->share;
    return oracle;
}

static void oracle_free(struct oracle *oracle)
{
    free(oracle->stack);
    free(oracle);
}

static double oracle_weight(const struct oracle *oracle)
{
    return (double)DISTANCE_ALL / (double)oracle->share;
}

static void oracle_pair(struct oracle *oracle, const struct held *use, uint32_t id, uint64_t time,
                        uint64_t between)
{
    assert_true(use->id < IDS && id < IDS);
    struct distance_pair *pair = &oracle->pairs[use->id][id];
    double weight = oracle_weight(oracle);
    pair->count++;
    pair->weight += weight;
    pair->time += weight * (double)time;
    pair->time_squares += weight * (double)time * (double)time;
    pair->stack += weight * (double)between;
    pair->stack_squares += weight * (double)between * (double)between;
}

static void oracle_remove(struct oracle *oracle, size_t index)
{
    oracle->count--;
    memmove(oracle->stack + index, oracle->stack + index + 1,
            (oracle->count - index) * sizeof *oracle->stack);
}

static void oracle_thin(struct oracle *oracle)
{
    while (oracle->options.most_locations && oracle->count >= oracle->options.most_locations) {
        oracle->share /= 2;
        for (size_t i = oracle->count; i-- > 0;)
            if (!distance_keeps(oracle->stack[i].location, oracle->share))
                oracle_remove(oracle, i);
    }
}

static void oracle_meet(struct oracle *oracle, struct held held)
{
    oracle_thin(oracle);
    if (!distance_keeps(held.location, oracle->share))
        return;
    if (oracle->count == oracle->capacity) {
        oracle->capacity = oracle->capacity ? 2 * oracle->capacity : 64;
        oracle->stack = realloc(oracle->stack, oracle->capacity * sizeof *oracle->stack);
        assert_non_null(oracle->stack);
    }
    memmove(oracle->stack + 1, oracle->stack, oracle->count++ * sizeof *oracle->stack);
    oracle->stack[0] = held;
    oracle->totals.kept_accesses++;
    oracle->totals.kept_locations++;
    oracle->totals.accesses += oracle_weight(oracle);
    oracle->totals.locations += oracle_weight(oracle);
}

static void oracle_touch(struct oracle *oracle, uint64_t location, uint32_t id, uint64_t now)
{
    struct held held = {location, now, id, true};
    if (!distance_keeps(location, oracle->share))
        return;
    size_t between = 0;
    while (between < oracle->count && oracle->stack[between].location != location)
        between++;
    if (between == oracle->count) {
        oracle_meet(oracle, held);
        return;
    }
    const struct held *use = &oracle->stack[between];
    uint64_t time = now - use->time;
    uint64_t stack = (uint64_t)llround((double)between * oracle_weight(oracle));
    oracle->time[distance_bin(time)] += oracle_weight(oracle);
    oracle->stack_bins[distance_bin(stack)] += oracle_weight(oracle);
    oracle->totals.kept_accesses++;
    oracle->totals.accesses += oracle_weight(oracle);
    oracle->totals.reuses += oracle_weight(oracle);
    oracle_pair(oracle, use, id, time, oracle->options.stack ? stack : 0);
    memmove(oracle->stack + 1, oracle->stack, between * sizeof *oracle->stack);
    held.once = false;
    oracle->stack[0] = held;
}

static void oracle_access(struct oracle *oracle, uint64_t address, uint32_t bytes, uint32_t id,
                          uint64_t now)
{
    unsigned shift = oracle->options.unit_shift;
    for (uint64_t i = address >> shift; i <= (address + bytes - 1) >> shift; i++)
        oracle_touch(oracle, i, id, now);
}

static void oracle_forget(struct oracle *oracle, uint64_t address, uint64_t bytes)
{
    unsigned shift = oracle->options.unit_shift;
    for (size_t i = oracle->count; i-- > 0;) {
        uint64_t location = oracle->stack[i].location;
        if (location < address >> shift || location > (address + bytes - 1) >> shift)
            continue;
        oracle->totals.never_reused += oracle->stack[i].once ? oracle_weight(oracle) : 0;
        oracle_remove(oracle, i);
    }
}

static void oracle_reset(struct oracle *oracle)
{
    memset(oracle->time, 0, sizeof oracle->time);
    memset(oracle->stack_bins, 0, sizeof oracle->stack_bins);
    memset(oracle->pairs, 0, sizeof oracle->pairs);
    oracle->totals = (struct distance_totals){0};
    for (size_t i = 0; i < oracle->count; i++)
        oracle->stack[i].once = false;
}

/* ---- comparing ----------------------------------------------------------------------------- */

/* Shares that are powers of two have weights that are whole: sums are then exact. Of others they
   are rounded in another order. */
static bool same(const struct oracle *oracle, double a, double b)
{
    if (!(oracle->options.share & (oracle->options.share - 1)))
        return a == b;
    return fabs(a - b) <= 1e-12 * fabs(a);
}

static bool same_pairs(const struct oracle *oracle, const struct distance *distance)
{
    uint64_t cursor = 0;
    unsigned seen = 0, expected = 0;
    static bool met[IDS][IDS];
    memset(met, 0, sizeof met);
    for (const struct distance_pair *pair; (pair = distance_next_pair(distance, &cursor)); seen++) {
        if (pair->use >= IDS || pair->reuse >= IDS || met[pair->use][pair->reuse])
            return false;
        met[pair->use][pair->reuse] = true;
        const struct distance_pair *right = &oracle->pairs[pair->use][pair->reuse];
        if (pair->count != right->count || !same(oracle, right->weight, pair->weight) ||
            !same(oracle, right->time, pair->time) ||
            !same(oracle, right->time_squares, pair->time_squares) ||
            !same(oracle, right->stack, pair->stack) ||
            !same(oracle, right->stack_squares, pair->stack_squares))
            return false;
    }
    for (unsigned i = 0; i < IDS * IDS; i++)
        expected += oracle->pairs[i / IDS][i % IDS].count != 0;
    return seen == expected;
}

static bool same_totals(const struct oracle *oracle, const struct distance *distance)
{
    struct distance_totals totals, right = oracle->totals;
    for (size_t i = 0; i < oracle->count; i++)
        right.never_reused += oracle->stack[i].once ? oracle_weight(oracle) : 0;
    distance_totals(distance, &totals);
    return same(oracle, right.accesses, totals.accesses) &&
           same(oracle, right.reuses, totals.reuses) &&
           same(oracle, right.locations, totals.locations) &&
           same(oracle, right.never_reused, totals.never_reused) &&
           right.kept_accesses == totals.kept_accesses &&
           right.kept_locations == totals.kept_locations &&
           totals.share == (double)oracle->share / (double)DISTANCE_ALL;
}

static bool same_histograms(const struct oracle *oracle, const struct distance *distance)
{
    double time[DISTANCE_BINS], stack[DISTANCE_BINS];
    stack[0] = -1;
    distance_histograms(distance, time, stack);
    if (!oracle->options.stack && stack[0] != -1)
        return false;
    for (unsigned bin = 0; bin < DISTANCE_BINS; bin++)
        if (!same(oracle, oracle->time[bin], time[bin]) ||
            (oracle->options.stack && !same(oracle, oracle->stack_bins[bin], stack[bin])))
            return false;
    return true;
}

static bool agrees(const struct oracle *oracle, const struct distance *distance)
{
    return same_totals(oracle, distance) && same_histograms(oracle, distance) &&
           same_pairs(oracle, distance) && distance_share(distance) == oracle->share &&
           !distance_exhausted(distance);
}

/* ---- traces -------------------------------------------------------------------------------- */

struct step {
    uint64_t address;
    uint32_t bytes, id;
    uint64_t forget; /* bytes from address instead of an access */
};

/* The i-th step; `units` of 1 << shift bytes are about what is touched. */
typedef struct step trace(uint64_t i, struct base_random *random, uint64_t units, unsigned shift);

static struct step at(uint64_t unit, unsigned shift, uint32_t id)
{
    return (struct step){.address = UINT64_C(0x7f0000) + (unit << shift), .bytes = 1, .id = id};
}

static struct step uniform(uint64_t i, struct base_random *random, uint64_t units, unsigned shift)
{
    return at(base_random_below(random, units), shift, 1 + (uint32_t)(i % 5));
}

/* Weight ∝ 1/rank, by inversion of the logarithm. */
static struct step zipf(uint64_t i, struct base_random *random, uint64_t units, unsigned shift)
{
    double u = (double)(base_random_next(random) >> 11) * 0x1p-53;
    uint64_t rank = (uint64_t)exp(u * log((double)units)) - 1;
    return at(rank * 7919 % units, shift, 1 + (uint32_t)(rank % 11));
}

static struct step sweep(uint64_t i, struct base_random *random, uint64_t units, unsigned shift)
{
    return at(i % units, shift, 1);
}

static struct step there_and_back(uint64_t i, struct base_random *random, uint64_t units,
                                  unsigned shift)
{
    uint64_t phase = i % (2 * units);
    return at(phase < units ? phase : 2 * units - 1 - phase, shift, phase < units ? 1 : 2);
}

static struct step strided(uint64_t i, struct base_random *random, uint64_t units, unsigned shift)
{
    return at(i % units * 64, shift, 1 + (uint32_t)(i % 3));
}

static struct step row_and_column(uint64_t i, struct base_random *random, uint64_t units,
                                  unsigned shift)
{
    uint64_t side = (uint64_t)sqrt((double)units), k = i / 2 % (side * side);
    return i % 2 ? at(k, shift, 1) : at(side * side + k % side * side + k / side, shift, 2);
}

static struct step phases(uint64_t i, struct base_random *random, uint64_t units, unsigned shift)
{
    uint64_t phase = i / 3000;
    uint64_t few = 4 + phase * 37 % units / 8;
    return at(phase * 131 % units + i % few, shift, 1 + (uint32_t)(phase % 13));
}

static struct step tiny(uint64_t i, struct base_random *random, uint64_t units, unsigned shift)
{
    return at(i % (1 + units % 18), shift, 1 + (uint32_t)(i % 2));
}

static struct step mostly_recent(uint64_t i, struct base_random *random, uint64_t units,
                                 unsigned shift)
{
    return base_random_below(random, 8) ? at(base_random_below(random, 20), shift, 1)
                                        : at(i % units, shift, 2);
}

static struct step growing(uint64_t i, struct base_random *random, uint64_t units, unsigned shift)
{
    return at(base_random_below(random, 1 + i * units / 40000), shift, 1 + (uint32_t)(i / 9999));
}

/* Several units an access, at any alignment. */
static struct step mixed(uint64_t i, struct base_random *random, uint64_t units, unsigned shift)
{
    static const uint32_t sizes[] = {1, 2, 4, 8, 16, 32, 64, 10, 100, 3};
    struct step step = at(0, shift, 1 + (uint32_t)base_random_below(random, IDS - 2));
    step.address += base_random_below(random, units << shift);
    step.bytes = sizes[base_random_below(random, BASE_COUNT(sizes))];
    return step;
}

static struct step spread(uint64_t i, struct base_random *random, uint64_t units, unsigned shift)
{
    uint64_t unit = base_random_below(random, units);
    return (struct step){.address = base_mix64(unit) % (LIMIT - 8), .bytes = 1, .id = 3};
}

/* Maps, uses and unmaps pieces; sometimes everything at once. */
static struct step unmapping(uint64_t i, struct base_random *random, uint64_t units, unsigned shift)
{
    struct step step = uniform(i, random, units, shift);
    if (i % 611 == 610)
        step.forget = base_random_below(random, (units << shift) / 4) + 1;
    if (i % 9001 == 9000)
        step = (struct step){.forget = LIMIT};
    return step;
}

static struct step unmapping_spread(uint64_t i, struct base_random *random, uint64_t units,
                                    unsigned shift)
{
    struct step step = spread(i, random, units, shift);
    if (i % 97 == 96)
        step.forget = base_random_below(random, LIMIT / 16) + 1;
    return step;
}

/* A frame a call: memory that is new again each time. */
static struct step fresh_each_time(uint64_t i, struct base_random *random, uint64_t units,
                                   unsigned shift)
{
    uint64_t call = i / 100, line = i % 100;
    struct step step = at((call << 16) + line % 40, shift, 1);
    if (line == 99)
        step.forget = UINT64_C(100) << shift;
    return step;
}

static const struct {
    const char *name;
    trace *trace;
    uint64_t units;
} traces[] = {
    {"uniform 10", uniform, 10},
    {"uniform 17", uniform, 17},
    {"uniform 100", uniform, 100},
    {"uniform 900", uniform, 900},
    {"zipf 50", zipf, 50},
    {"zipf 2000", zipf, 2000},
    {"sweep 16", sweep, 16},
    {"sweep 17", sweep, 17},
    {"sweep 18", sweep, 18},
    {"sweep 500", sweep, 500},
    {"there and back 15", there_and_back, 15},
    {"there and back 700", there_and_back, 700},
    {"strided 300", strided, 300},
    {"row and column", row_and_column, 400},
    {"phases", phases, 600},
    {"tiny 1", tiny, 18},
    {"tiny 2", tiny, 19},
    {"tiny 17", tiny, 16},
    {"mostly recent", mostly_recent, 800},
    {"growing", growing, 1000},
    {"mixed 60", mixed, 60},
    {"mixed 400", mixed, 400},
    {"spread", spread, 500},
    {"unmapping", unmapping, 500},
    {"unmapping spread", unmapping_spread, 300},
    {"fresh each time", fresh_each_time, 0},
};

static void feed(struct oracle *oracle, struct distance *distance, const struct step *step,
                 uint64_t now)
{
    if (step->forget) {
        if (oracle)
            oracle_forget(oracle, step->address, step->forget);
        if (distance)
            distance_forget(distance, step->address, step->forget);
        return;
    }
    if (oracle)
        oracle_access(oracle, step->address, step->bytes, step->id, now);
    if (distance)
        distance_access(distance, step->address, step->bytes, step->id, now);
}

/* now passes some numbers over: accesses to locations that are not kept count too. */
static void run(size_t which, const struct distance_options *options, uint32_t least_slots,
                uint64_t steps, uint64_t check_every)
{
    struct supply supply = {0};
    struct distance *distance = begin(options, &supply, least_slots);
    struct oracle *oracle = oracle_new(options);
    struct base_random random = {which};
    uint64_t now = 0;
    for (uint64_t i = 0; i < steps; i++) {
        struct step step =
            traces[which].trace(i, &random, traces[which].units, options->unit_shift);
        now += 1 + (i % 100 == 0);
        feed(oracle, distance, &step, now);
        if (i % check_every == 0 && !distance_check(distance))
            fail_msg("%s: inconsistent at %llu", traces[which].name, (unsigned long long)i);
    }
    if (!agrees(oracle, distance) || !distance_check(distance))
        fail_msg("%s, unit %u, share %llx, most %u, slots %u: differs", traces[which].name,
                 options->unit_shift, (unsigned long long)options->share, options->most_locations,
                 least_slots);
    oracle_free(oracle);
    end(distance, &supply);
}

/* ---- tests --------------------------------------------------------------------------------- */

static void bins_hold_what_they_say(void **state)
{
    for (unsigned bin = 0; bin < DISTANCE_BINS; bin++) {
        assert_int_equal(distance_bin(distance_bin_low(bin)), bin);
        if (bin)
            assert_int_equal(distance_bin(distance_bin_low(bin) - 1), bin - 1);
    }
    assert_int_equal(distance_bin(UINT64_MAX), DISTANCE_BINS - 1);
    for (unsigned power = 0; power < 64; power++)
        assert_true(distance_bin_low(distance_bin(UINT64_C(1) << power)) == UINT64_C(1) << power);
}

/* a b c b a d d a, and what is to be found by hand. */
static void a_b_c_b_a(void **state)
{
    static const char text[] = "abcbadda";
    struct supply supply = {0};
    struct distance *distance = begin(&all_lines, &supply, DISTANCE_LEAST_SLOTS);
    for (unsigned i = 0; text[i]; i++)
        distance_access(distance, (uint64_t)text[i] << 6, 4, i + 1, i + 1);
    double time[DISTANCE_BINS], stack[DISTANCE_BINS], times = 0, stacks = 0;
    distance_histograms(distance, time, stack);
    for (unsigned bin = 0; bin < DISTANCE_BINS; bin++)
        times += time[bin], stacks += stack[bin];
    /* b at 4: 2 and 1; a at 5: 4 and 2; d at 7: 1 and 0; a at 8: 3 and 1. */
    assert_true(times == 4 && time[1] == 1 && time[2] == 1 && time[3] == 1 && time[4] == 1);
    assert_true(stacks == 4 && stack[0] == 1 && stack[1] == 2 && stack[2] == 1);
    struct distance_totals totals;
    distance_totals(distance, &totals);
    assert_true(totals.accesses == 8 && totals.reuses == 4 && totals.locations == 4);
    assert_true(totals.never_reused == 1 && totals.share == 1); /* c */
    assert_true(totals.kept_accesses == 8 && totals.kept_locations == 4);
    uint64_t cursor = 0;
    unsigned pairs = 0;
    for (const struct distance_pair *pair; (pair = distance_next_pair(distance, &cursor)); pairs++)
        if (pair->use == 1)
            assert_true(pair->reuse == 5 && pair->count == 1 && pair->weight == 1 &&
                        pair->time == 4 && pair->time_squares == 16 && pair->stack == 2 &&
                        pair->stack_squares == 4);
    assert_int_equal(pairs, 4);
    assert_true(distance_check(distance));
    end(distance, &supply);
}

/* Reuses that were shown, as use * 256 + reuse, with the address. */
struct shown {
    uint32_t pairs[16];
    uint64_t addresses[16];
    unsigned count;
};

static void show(void *context, uint32_t use, uint32_t reuse, uint64_t address)
{
    struct shown *shown = context;
    assert_true(shown->count < 16);
    shown->addresses[shown->count] = address;
    shown->pairs[shown->count++] = use << 8 | reuse;
}

/* A pair's first reuse, and those that are asked for; of an access on two lines each with its first byte there. */
static void reuses_are_shown(void **state)
{
    struct supply supply = {0};
    struct shown shown = {.count = 0};
    struct distance *distance = begin(&all_lines, &supply, DISTANCE_LEAST_SLOTS);
    distance_observe(distance, &(struct distance_observer){show, &shown});
    uint64_t now = 0;
    distance_access(distance, 68, 4, 1, ++now); /* the first touch */
    for (int i = 0; i < 5; i++)
        distance_access(distance, 64 + (uint64_t)i, 4, 1, ++now);
    assert_int_equal(shown.count, 1);
    assert_true(shown.pairs[0] == (1 << 8 | 1) && shown.addresses[0] == 64);
    distance_observe_next(distance, 2);
    for (int i = 0; i < 5; i++)
        distance_access(distance, 96, 8, 1, ++now);
    assert_int_equal(shown.count, 3);
    assert_true(shown.pairs[2] == (1 << 8 | 1) && shown.addresses[2] == 96);
    distance_access(distance, 140, 4, 2, ++now);
    distance_access(distance, 124, 16, 3, ++now);
    assert_int_equal(shown.count, 5);
    assert_true(shown.pairs[3] == (1 << 8 | 3) && shown.addresses[3] == 124);
    assert_true(shown.pairs[4] == (2 << 8 | 3) && shown.addresses[4] == 128);
    struct distance_totals totals;
    distance_totals(distance, &totals);
    assert_true(totals.accesses == 14 && totals.reuses == 12);
    assert_true(distance_check(distance));
    end(distance, &supply);
}

/* Bytes 6 .. 9 are in two words; the second time both are used, as many accesses apart. */
static void every_location_of_an_access_is_used(void **state)
{
    struct distance_options options = all_lines;
    options.unit_shift = 3;
    struct supply supply = {0};
    struct distance *distance = begin(&options, &supply, DISTANCE_LEAST_SLOTS);
    distance_access(distance, 6, 4, 1, 1);
    distance_access(distance, 8, 1, 2, 2);
    distance_access(distance, 6, 4, 3, 3);
    distance_access(distance, 6, 0, 4, 4);
    double time[DISTANCE_BINS], stack[DISTANCE_BINS];
    distance_histograms(distance, time, stack);
    assert_true(time[1] == 2 && time[2] == 1);
    assert_true(stack[0] == 1 && stack[1] == 2); /* 8 at 2; then 0, and 8 after 0 */
    struct distance_totals totals;
    distance_totals(distance, &totals);
    assert_true(totals.accesses == 5 && totals.locations == 2 && totals.never_reused == 0);
    end(distance, &supply);
}

static void traces_equal_the_stack(void **state)
{
    static const unsigned shifts[] = {0, 3, 6};
    for (size_t which = 0; which < BASE_COUNT(traces); which++)
        for (size_t i = 0; i < BASE_COUNT(shifts); i++) {
            struct distance_options options = all_lines;
            options.unit_shift = shifts[i];
            run(which, &options, 64, 12000, 1201);
        }
}

static void slots_as_they_are_shipped(void **state)
{
    for (size_t which = 0; which < BASE_COUNT(traces); which++)
        run(which, &all_lines, DISTANCE_LEAST_SLOTS, 20000, 9999);
}

static void time_distances_alone(void **state)
{
    struct distance_options options = all_lines;
    options.stack = false;
    for (size_t which = 0; which < BASE_COUNT(traces); which++)
        run(which, &options, 64, 10000, 3000);
}

static void sampled_locations_equal_the_stack_of_these(void **state)
{
    static const uint64_t shares[] = {DISTANCE_ALL / 2, DISTANCE_ALL / 16, DISTANCE_ALL / 10,
                                      DISTANCE_ALL / 3 * 2};
    for (size_t which = 0; which < BASE_COUNT(traces); which++)
        for (size_t i = 0; i < BASE_COUNT(shares); i++) {
            struct distance_options options = all_lines;
            options.share = shares[i];
            options.unit_shift = which % 2 ? 6 : 0;
            run(which, &options, 64, 20000, 4999);
        }
}

static void the_share_halves_when_locations_are_many(void **state)
{
    for (size_t which = 0; which < BASE_COUNT(traces); which++)
        for (uint32_t most = 5; most < 400; most *= 4) {
            struct distance_options options = all_lines;
            options.most_locations = most;
            options.share = which % 3 ? DISTANCE_ALL : DISTANCE_ALL / 4;
            run(which, &options, 64, 15000, 2999);
        }
}

static void bounded_memory_is_bounded(void **state)
{
    struct distance_options options = all_lines;
    options.most_locations = 1000;
    struct supply supply = {0};
    struct distance *distance = begin(&options, &supply, DISTANCE_LEAST_SLOTS);
    for (uint64_t i = 1; i <= 3000000; i++)
        distance_access(distance, i << 6, 1, 1, i);
    struct distance_totals totals;
    distance_totals(distance, &totals);
    assert_true(totals.share < 0.001);
    assert_true(totals.locations > 2.7e6 && totals.locations < 3.3e6);
    assert_true(totals.never_reused > 2.7e6 && totals.never_reused < 3.3e6);
    assert_true(supply.most < 1 << 20);
    assert_true(distance_check(distance));
    end(distance, &supply);
}

/* The other way: that the comparison sees what is wrong. */
static void a_planted_fault_is_seen(void **state)
{
    enum { FAULTS = 6, STEPS = 3000 };
    for (unsigned fault = 0; fault <= FAULTS; fault++) {
        struct supply supply = {0};
        struct distance *distance = begin(&all_lines, &supply, 64);
        struct oracle *oracle = oracle_new(&all_lines);
        struct base_random random = {5};
        for (uint64_t i = 0; i < STEPS; i++) {
            struct step step = unmapping(i, &random, 300, 6), other = step;
            if (i == STEPS - 100 && fault == 1)
                other = at(299, 6, 1); /* another location */
            if (i == STEPS - 100 && fault == 2)
                other.id ^= 8;
            if (i == 609 + 611 && fault == 3)
                other.forget = 1;
            feed(oracle, NULL, &step, i + 1);
            if (i != STEPS - 100 || fault != 4)
                feed(NULL, distance, &other, i + 1 + (i >= STEPS - 100 && fault == 5));
        }
        assert_true(distance_check(distance));
        if (fault == 6)
            distance->order.words[0] ^= 1;
        assert_int_equal(agrees(oracle, distance) && distance_check(distance), !fault);
        oracle_free(oracle);
        end(distance, &supply);
    }
}

static void counts_begin_anew_after_a_fork(void **state)
{
    struct distance_options options = all_lines;
    for (unsigned sparse = 0; sparse < 2; sparse++) {
        options.share = DISTANCE_ALL >> sparse;
        struct supply supply = {0};
        struct distance *distance = begin(&options, &supply, 64);
        struct oracle *oracle = oracle_new(&options);
        struct base_random random = {6};
        for (uint64_t i = 0; i < 9000; i++) {
            struct step step = unmapping(i, &random, 2000, 6);
            feed(oracle, distance, &step, i + 1);
            if (i % 2000 == 1999) {
                assert_true(agrees(oracle, distance));
                oracle_reset(oracle);
                distance_reset_counts(distance);
                assert_true(agrees(oracle, distance));
                assert_true(distance_check(distance));
            }
        }
        assert_true(agrees(oracle, distance));
        oracle_free(oracle);
        end(distance, &supply);
    }
}

/* More locations than a chunk holds, chunks that come and go. */
static void forgotten_chunks_are_used_again(void **state)
{
    struct supply supply = {0};
    struct distance *distance = begin(&all_lines, &supply, DISTANCE_LEAST_SLOTS);
    uint64_t now = 0, maps = 0;
    for (uint64_t round = 0; round < 60; round++) {
        uint64_t start = round << 30;
        for (uint64_t line = 0; line < 40000; line += 7)
            distance_access(distance, start + (line << 6), 8, 1, ++now);
        distance_forget(distance, start, round % 2 ? UINT64_C(1) << 40 : UINT64_C(40000) << 6);
        if (!round)
            maps = supply.maps;
        assert_true(distance->table.known == 0 && distance->order.live == 0);
    }
    assert_int_equal(supply.maps, maps);
    assert_true(distance_check(distance));
    struct distance_totals totals;
    distance_totals(distance, &totals);
    assert_true(totals.reuses == 0 && totals.never_reused == (double)now);
    end(distance, &supply);
}

static void addresses_out_of_range_are_passed_over(void **state)
{
    struct supply supply = {0};
    struct distance *distance = begin(&all_lines, &supply, 64);
    distance_access(distance, LIMIT, 8, 1, 1);
    distance_access(distance, LIMIT - 8, 16, 1, 2);
    distance_access(distance, UINT64_MAX - 3, 8, 1, 3);
    distance_forget(distance, LIMIT, 4096);
    distance_forget(distance, UINT64_MAX - 100, UINT64_MAX);
    distance_forget(distance, 0, 0);
    struct distance_totals totals;
    distance_totals(distance, &totals);
    assert_true(totals.accesses == 1 && totals.never_reused == 1);
    distance_forget(distance, 5, UINT64_MAX);
    assert_true(distance->table.known == 0 && distance_check(distance));
    end(distance, &supply);
}

/* Each map in turn is refused: until then all is right, and nothing is counted afterwards. */
static void refused_memory(const struct distance_options *options)
{
    bool refused = true;
    for (uint64_t refuse = 1; refused; refuse++) {
        struct supply supply = {.refuse = refuse};
        struct distance *distance = begin(options, &supply, 64);
        if (!distance) {
            assert_int_equal(supply.mapped, 0);
            continue;
        }
        struct oracle *oracle = oracle_new(options);
        struct base_random random = {7};
        for (uint64_t i = 0; i < 12000; i++) {
            struct step step = at(base_random_below(&random, 9000) << i % 6, 6, 1);
            step.id = 1 + (uint32_t)base_random_below(&random, 100);
            if (i % 4 < 2) /* what takes the short way must stop too */
                step = at(0, 6, 1);
            distance_access(distance, step.address, 1, step.id, i + 1);
            step.id = 1 + step.id % (IDS - 1); /* the oracle's pairs are compared elsewhere */
            if (!distance_exhausted(distance))
                oracle_access(oracle, step.address, 1, step.id, i + 1);
        }
        refused = supply.maps >= refuse && distance_exhausted(distance);
        assert_true(same_totals(oracle, distance) && same_histograms(oracle, distance));
        assert_true(distance_check(distance));
        oracle_free(oracle);
        end(distance, &supply);
    }
}

static void what_is_refused_is_not_half_counted(void **state)
{
    struct distance_options options = all_lines;
    refused_memory(&options);
    options.share = DISTANCE_ALL / 2;
    refused_memory(&options);
}

static void a_bound_that_nothing_meets(void **state)
{
    struct distance_options options = all_lines;
    options.most_locations = 1;
    struct supply supply = {0};
    struct distance *distance = begin(&options, &supply, 64);
    distance_access(distance, 0, 1, 1, 1); /* location 0 has hash 0: kept by every share */
    distance_access(distance, 64, 1, 1, 2);
    assert_true(distance_exhausted(distance) && distance_check(distance));
    distance_access(distance, 0, 1, 1, 3);
    struct distance_totals totals;
    distance_totals(distance, &totals);
    assert_true(totals.accesses == 1 && totals.reuses == 0);
    end(distance, &supply);
}

/* ---- bounded pairs ------------------------------------------------------------------------- */

/* Ids of a trace are below COARSE; those from there on stand for all with the same remainder, the
 * last for all. */
enum { COARSE = 100000, COARSE_IDS = 50, EVERYTHING = COARSE + COARSE_IDS, PAIRS_MAX = 4000 };

static uint32_t coarser(void *context, uint32_t id)
{
    ++*(uint64_t *)context;
    return id >= COARSE ? EVERYTHING : COARSE + id % COARSE_IDS;
}

struct pair_sums {
    uint64_t count, pairs;
    double weight, time, stack, far; /* far: of the pair (1, 2) alone */
};

static struct pair_sums sums_of(const struct distance *distance)
{
    struct pair_sums sums = {0};
    uint64_t cursor = 0;
    for (const struct distance_pair *pair; (pair = distance_next_pair(distance, &cursor));) {
        sums.pairs++;
        sums.count += pair->count;
        sums.weight += pair->weight;
        sums.time += pair->time;
        sums.stack += pair->stack;
        sums.far += pair->use == 1 && pair->reuse == 2 ? pair->stack : 0;
    }
    return sums;
}

/* Two accesses walk over many lines in turn, in between any others touch a few lines again and
 * again. */
static struct pair_sums run_pairs(const struct distance_options *options, struct supply *supply)
{
    struct base_random random = {4};
    struct distance *distance = begin(options, supply, 64);
    uint64_t now = 0;
    for (uint32_t i = 0; i < 300000; i++) {
        uint32_t any = 3 + (uint32_t)base_random_below(&random, COARSE - 3);
        distance_access(distance, (1 << 24) + 64 * base_random_below(&random, 30), 1, any, ++now);
        if (i % 4 == 0)
            distance_access(distance, 64 * (i / 4 % 5000), 1, 1 + i / 4 / 5000 % 2, ++now);
    }
    assert_true(distance_check(distance) && !distance_exhausted(distance));
    struct pair_sums sums = sums_of(distance);
    if (options->most_pairs) {
        assert_in_range(distance_merged(distance), PAIRS_MAX, UINT32_MAX);
        distance_merge_pairs(distance, 100);
        struct pair_sums fewer = sums_of(distance);
        assert_in_range(fewer.pairs, 1, 100);
        assert_true(fewer.count == sums.count && fewer.time == sums.time);
        const struct distance_pair *far = distance_pair_counted(distance, 1, 2);
        const struct distance_pair *near = distance_pair_counted(distance, 3, 4);
        assert_true(far && far->use == 1 && far->reuse == 2);
        assert_true(near && near->use >= COARSE && near->reuse >= COARSE);
    } else {
        assert_null(distance_pair_counted(distance, 1, UINT32_MAX));
    }
    end(distance, supply);
    return sums;
}

static void bounded_pairs_keep_their_sums(void **state)
{
    struct distance_options options = all_lines;
    struct supply supply = {0};
    uint64_t asked = 0;
    struct pair_sums free = run_pairs(&options, &supply);
    options.most_pairs = PAIRS_MAX;
    options.coarser = coarser;
    options.coarser_context = &asked;
    supply = (struct supply){0};
    struct pair_sums bounded = run_pairs(&options, &supply);
    assert_in_range(free.pairs, 50 * PAIRS_MAX, UINT32_MAX);
    assert_in_range(bounded.pairs, 1, PAIRS_MAX);
    assert_true(asked > 0);
    /* whole numbers: sums are the same in any order */
    assert_true(bounded.count == free.count && bounded.weight == free.weight);
    assert_true(bounded.time == free.time && bounded.stack == free.stack);
    /* what is far stays where it was */
    assert_true(bounded.far == free.far && bounded.far > 0);
}

/* ---- large traces -------------------------------------------------------------------------- */

/* Olken's count by a sum tree over time, for one access a step. */
struct tree {
    uint32_t *sums;
    uint64_t *last;
    uint64_t steps;
};

static void tree_add(struct tree *tree, uint64_t i, uint32_t what)
{
    for (; i <= tree->steps; i += i & -i)
        tree->sums[i] += what;
}

static uint64_t tree_sum(const struct tree *tree, uint64_t i)
{
    uint64_t sum = 0;
    for (; i; i -= i & -i)
        sum += tree->sums[i];
    return sum;
}

static void large(trace *trace, uint64_t units, uint64_t steps, double *time, double *stack)
{
    struct supply supply = {0};
    struct distance *distance = begin(&all_lines, &supply, DISTANCE_LEAST_SLOTS);
    struct tree tree = {calloc(steps + 1, sizeof *tree.sums), calloc(units, sizeof *tree.last),
                        steps};
    double expected[DISTANCE_BINS] = {0};
    struct base_random random = {8};
    for (uint64_t now = 1; now <= steps; now++) {
        struct step step = trace(now, &random, units, 6);
        uint64_t unit = (step.address - at(0, 6, 0).address) >> 6, last = tree.last[unit];
        distance_access(distance, step.address, 1, step.id, now);
        if (last) {
            expected[distance_bin(tree_sum(&tree, now) - tree_sum(&tree, last))]++;
            tree_add(&tree, last, (uint32_t)-1);
        }
        tree_add(&tree, now, 1);
        tree.last[unit] = now;
    }
    distance_histograms(distance, time, stack);
    for (unsigned bin = 0; bin < DISTANCE_BINS; bin++)
        assert_true(expected[bin] == stack[bin]);
    assert_true(distance_check(distance));
    free(tree.sums);
    free(tree.last);
    end(distance, &supply);
}

/* 1 − Σ |difference| / 2 of shares, by powers of two: the paper's measure. */
static double accuracy(const double *a, const double *b)
{
    double sum_a = 0, sum_b = 0, apart = 0;
    for (unsigned bin = 0; bin < DISTANCE_BINS; bin++)
        sum_a += a[bin], sum_b += b[bin];
    for (unsigned bin = 0; bin < DISTANCE_BINS; bin += 8) {
        double share_a = 0, share_b = 0;
        for (unsigned i = bin; i < bin + 8; i++)
            share_a += a[i] / sum_a, share_b += b[i] / sum_b;
        apart += fabs(share_a - share_b);
    }
    return 1 - apart / 2;
}

/* Large traces are right; samples of them are close, whether the share is fixed or the memory. */
static void large_traces_and_their_samples(void **state)
{
    static const struct {
        trace *trace;
        uint64_t units, steps;
        uint64_t share;
        uint32_t most;
        double least;
    } cases[] = {
        {uniform, 100000, 800000, DISTANCE_ALL / 10, 0, 0.97},
        {uniform, 100000, 800000, DISTANCE_ALL, 4000, 0.95},
        {sweep, 300000, 1000000, DISTANCE_ALL / 100, 0, 0.97},
    };
    for (size_t i = 0; i < BASE_COUNT(cases); i++) {
        double time[DISTANCE_BINS], stack[DISTANCE_BINS];
        double sampled_time[DISTANCE_BINS], sampled_stack[DISTANCE_BINS];
        large(cases[i].trace, cases[i].units, cases[i].steps, time, stack);
        struct distance_options options = all_lines;
        options.share = cases[i].share;
        options.most_locations = cases[i].most;
        struct supply supply = {0};
        struct distance *distance = begin(&options, &supply, DISTANCE_LEAST_SLOTS);
        struct base_random random = {8};
        for (uint64_t now = 1; now <= cases[i].steps; now++) {
            struct step step = cases[i].trace(now, &random, cases[i].units, 6);
            distance_access(distance, step.address, 1, step.id, now);
        }
        distance_histograms(distance, sampled_time, sampled_stack);
        print_message("# sampled %zu: time %.4f, stack %.4f\n", i, accuracy(time, sampled_time),
                      accuracy(stack, sampled_stack));
        assert_true(accuracy(time, sampled_time) > cases[i].least);
        assert_true(accuracy(stack, sampled_stack) > cases[i].least);
        end(distance, &supply);
    }
}

/* ---- the miss-ratio curve -------------------------------------------------------------------- */

/*
 * A fully associative cache of c lines with replacement of the least recently used misses what is
 * touched first and what has a stack distance of c or more: to the last miss, as long as no memory
 * is unmapped. Where it is, the stack closes up over the gap and lines below it come nearer; a
 * cache has thrown these out and keeps the gap until the next miss. So the curve is a little too
 * good.
 */
enum { POWER_MAX = 15 };

struct caches {
    struct cache_bank banks[2]; /* of 1, 2, 4, ... lines */
    void *memory[POWER_MAX + 1];
};

static void caches_begin(struct caches *caches)
{
    memset(caches, 0, sizeof *caches);
    for (unsigned power = 0; power <= POWER_MAX; power++) {
        struct cache_shape shape = {.bytes = UINT64_C(64) << power};
        caches->memory[power] = calloc(1, cache_bytes(&shape));
        assert_non_null(caches->memory[power]);
        assert_int_equal(
            cache_bank_add(&caches->banks[power / CACHE_MAX], &shape, caches->memory[power]),
            BASE_OK);
    }
}

static uint64_t caches_misses(const struct caches *caches, unsigned power)
{
    return caches->banks[power / CACHE_MAX].caches[power % CACHE_MAX].misses;
}

static void caches_take(struct caches *caches, const struct step *step)
{
    for (unsigned i = 0; i < BASE_COUNT(caches->banks); i++)
        if (step->forget)
            cache_bank_forget(&caches->banks[i], step->address, step->forget);
        else
            cache_bank_access(&caches->banks[i], step->address, step->bytes);
}

static void caches_end(struct caches *caches)
{
    for (unsigned power = 0; power <= POWER_MAX; power++)
        free(caches->memory[power]);
}

/* Largest difference of both miss ratios, in points. fault: a distance is taken for one shorter. */
static double curve_apart(size_t which, bool fault)
{
    enum { CURVE_STEPS = 30000 };
    struct supply supply = {0};
    struct distance *distance = begin(&all_lines, &supply, DISTANCE_LEAST_SLOTS);
    struct base_random random = {which};
    struct caches caches;
    double time[DISTANCE_BINS], stack[DISTANCE_BINS], apart = 0;
    caches_begin(&caches);
    for (uint64_t i = 0; i < CURVE_STEPS; i++) {
        struct step step = traces[which].trace(i, &random, traces[which].units, 6);
        if (traces[which].trace == spread || traces[which].trace == unmapping_spread) {
            step.address >>= 7; /* caches number lines below 2^38 */
            step.forget >>= 7;
        }
        feed(NULL, distance, &step, i + 1);
        caches_take(&caches, &step);
    }
    struct distance_totals totals;
    distance_totals(distance, &totals);
    distance_histograms(distance, time, stack);
    assert_true(totals.accesses == (double)caches.banks[0].accesses);
    for (unsigned power = 0; power <= POWER_MAX; power++) {
        double expected = totals.locations;
        for (unsigned bin = distance_bin(UINT64_C(1) << power) + fault; bin < DISTANCE_BINS; bin++)
            expected += stack[bin];
        double points =
            100 * fabs(expected - (double)caches_misses(&caches, power)) / totals.accesses;
        apart = points > apart ? points : apart;
    }
    caches_end(&caches);
    end(distance, &supply);
    return apart;
}

/* In points. What unmaps a 32nd of everything each 97 accesses is worse than any program. */
static double allowed_apart(trace *trace)
{
    return trace == unmapping_spread ? 1.5 : trace == unmapping ? 0.5 : 0;
}

static void the_curve_equals_simulated_caches(void **state)
{
    double most = 0, most_unmapping = 0;
    for (size_t which = 0; which < BASE_COUNT(traces); which++) {
        double apart = curve_apart(which, false), allowed = allowed_apart(traces[which].trace);
        double *largest = allowed > 0 ? &most_unmapping : &most;
        *largest = apart > *largest ? apart : *largest;
        if (apart > allowed)
            fail_msg("%s: curve and cache are %.4f points apart", traces[which].name, apart);
    }
    print_message("# %zu traces x %d sizes: at most %.4f points apart, %.4f where memory goes\n",
                  BASE_COUNT(traces), POWER_MAX + 1, most, most_unmapping);
    assert_true(curve_apart(3, true) > 0.5); /* it can fail */
}

static double misses(const double *stack, uint64_t accesses, uint64_t lines)
{
    double hits = 0;
    for (unsigned bin = 0; distance_bin_low(bin) < lines; bin++)
        hits += stack[bin];
    return 1 - hits / (double)accesses;
}

/*
 * Some locations are used so often that it shows whether they are kept. Their distances are
 * short: accesses that a sample has too few or too many of are added there, and caches larger than
 * that are estimated well (SHARDS_adj, Waldspurger et al. 2015).
 */
static void samples_of_skewed_traces_need_the_true_number_of_accesses(void **state)
{
    enum { UNITS = 200000, STEPS = 800000 };
    double time[DISTANCE_BINS], stack[DISTANCE_BINS], sampled[DISTANCE_BINS];
    large(zipf, UNITS, STEPS, time, stack);
    struct distance_options options = all_lines;
    options.share = DISTANCE_ALL / 10;
    struct supply supply = {0};
    struct distance *distance = begin(&options, &supply, DISTANCE_LEAST_SLOTS);
    struct base_random random = {8};
    for (uint64_t now = 1; now <= STEPS; now++) {
        struct step step = zipf(now, &random, UNITS, 6);
        distance_access(distance, step.address, 1, step.id, now);
    }
    struct distance_totals totals;
    distance_totals(distance, &totals);
    distance_histograms(distance, time, sampled);
    distance_adjust(sampled, 0, STEPS - totals.accesses);
    for (uint64_t lines = 1024; lines <= UNITS; lines *= 2)
        assert_true(fabs(misses(stack, STEPS, lines) - misses(sampled, STEPS, lines)) < 0.01);
    end(distance, &supply);
}

static void too_many_accesses_are_taken_from_the_shortest_distances(void **state)
{
    double histogram[DISTANCE_BINS] = {9, 3, 2, 4};
    distance_adjust(histogram, 1, 1);
    assert_true(histogram[0] == 9 && histogram[1] == 4 && histogram[2] == 2);
    distance_adjust(histogram, 1, -5);
    assert_true(histogram[0] == 9 && histogram[1] == 0 && histogram[2] == 1 && histogram[3] == 4);
}

/* More than 2^24 slots: all levels of sums. Down and up again every distance occurs once each. */
static void all_levels_of_sums(void **state)
{
    enum { LINES = 4200000, SWEEPS = 7 };
    struct supply supply = {0};
    struct distance *distance = begin(&all_lines, &supply, DISTANCE_LEAST_SLOTS);
    uint64_t now = 0;
    double stack[DISTANCE_BINS], time[DISTANCE_BINS];
    for (uint64_t sweeps = 0; sweeps < SWEEPS; sweeps++)
        for (uint64_t line = 0; line < LINES; line++)
            distance_access(distance, line << 6, 8, 1, ++now);
    distance_histograms(distance, time, stack);
    assert_true(stack[distance_bin(LINES - 1)] == (SWEEPS - 1.0) * LINES);
    assert_true(time[distance_bin(LINES)] == (SWEEPS - 1.0) * LINES);
    assert_true(distance->order.head > 1 << 24);
    distance_reset_counts(distance);
    for (uint64_t line = LINES; line-- > 0;)
        distance_access(distance, line << 6, 8, 1, ++now);
    distance_histograms(distance, time, stack);
    for (unsigned bin = 0; distance_bin_low(bin + 1) <= LINES; bin++)
        assert_true(stack[bin] == (double)(distance_bin_low(bin + 1) - distance_bin_low(bin)));
    end(distance, &supply);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bins_hold_what_they_say),
        cmocka_unit_test(a_b_c_b_a),
        cmocka_unit_test(every_location_of_an_access_is_used),
        cmocka_unit_test(reuses_are_shown),
        cmocka_unit_test(traces_equal_the_stack),
        cmocka_unit_test(slots_as_they_are_shipped),
        cmocka_unit_test(time_distances_alone),
        cmocka_unit_test(sampled_locations_equal_the_stack_of_these),
        cmocka_unit_test(the_share_halves_when_locations_are_many),
        cmocka_unit_test(bounded_memory_is_bounded),
        cmocka_unit_test(a_planted_fault_is_seen),
        cmocka_unit_test(counts_begin_anew_after_a_fork),
        cmocka_unit_test(forgotten_chunks_are_used_again),
        cmocka_unit_test(addresses_out_of_range_are_passed_over),
        cmocka_unit_test(what_is_refused_is_not_half_counted),
        cmocka_unit_test(a_bound_that_nothing_meets),
        cmocka_unit_test(bounded_pairs_keep_their_sums),
        cmocka_unit_test(the_curve_equals_simulated_caches),
        cmocka_unit_test(large_traces_and_their_samples),
        cmocka_unit_test(samples_of_skewed_traces_need_the_true_number_of_accesses),
        cmocka_unit_test(too_many_accesses_are_taken_from_the_shortest_distances),
        cmocka_unit_test(all_levels_of_sums),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
