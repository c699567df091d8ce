// SPDX-License-Identifier: MIT
/*
 * Reuse distances of every access.
 *
 * Built for an engine that calls it for each access of a program: most touch a line that is
 * among the 16 used last; then a place, a list in one register, two histogram counters and
 * one pair are all that is touched, by a function that calls none and saves no register
 * (touch_fast). Histograms count whole accesses; only when the share changes are they weighted.
 * Pairs are weighted at once.
 *
 * Room is made before anything is counted: an access for which memory was refused is not
 * half counted, and nothing is counted after it.
 */
#include "distance/internal.h"

#include <string.h>

size_t distance_bytes(void)
{
    return sizeof(struct distance);
}

static double weight_of(uint64_t share)
{
    return (double)DISTANCE_ALL / (double)share;
}

/* ---- beginning and end ------------------------------------------------------------------- */

static bool is_sparse(const struct distance_options *options)
{
    return options->share < DISTANCE_ALL || options->most_locations;
}

static uint64_t location_limit(const struct distance_options *options)
{
    return ((options->address_limit - 1) >> options->unit_shift) + 1;
}

static void set_fast(struct distance *distance)
{
    const struct distance_options *options = &distance->options;
    bool fast =
        !is_sparse(options) && options->stack && !distance->exhausted && !distance->observing;
    distance->fast_limit = fast ? location_limit(options) : 0;
    distance->latest = UINT64_MAX;
}

enum base_status distance_init_slots(struct distance *distance,
                                     const struct distance_options *options,
                                     const struct distance_memory *memory, uint32_t least_slots)
{
    memset(distance, 0, sizeof *distance);
    distance->options = *options;
    distance->memory = *memory;
    distance->share = distance->threshold = options->share;
    distance->weight = weight_of(options->share);
    if (distance_table_init(&distance->table, is_sparse(options), location_limit(options),
                            memory) != BASE_OK)
        return BASE_NO_MEMORY;
    if (distance_pairs_init(&distance->pairs, memory) != BASE_OK)
        goto free_table;
    distance->pairs.most = options->coarser ? options->most_pairs : 0;
    distance->pairs.coarser = options->coarser;
    distance->pairs.context = options->coarser_context;
    if (options->stack && distance_order_init(&distance->order, least_slots, memory) != BASE_OK)
        goto free_pairs;
    set_fast(distance);
    return BASE_OK;
free_pairs:
    distance_pairs_free(&distance->pairs, memory);
free_table:
    distance_table_free(&distance->table, memory);
    return BASE_NO_MEMORY;
}

enum base_status distance_init(struct distance *distance, const struct distance_options *options,
                               const struct distance_memory *memory)
{
    return distance_init_slots(distance, options, memory, DISTANCE_LEAST_SLOTS);
}

void distance_free(struct distance *distance)
{
    distance_table_free(&distance->table, &distance->memory);
    distance_pairs_free(&distance->pairs, &distance->memory);
    if (distance->options.stack)
        distance_order_free(&distance->order, &distance->memory);
}

static void stop(struct distance *distance)
{
    distance->exhausted = true;
    distance->threshold = 0;
    set_fast(distance);
}

/* ---- the share --------------------------------------------------------------------------- */

static void weigh_counts(struct distance *distance)
{
    for (unsigned bin = 0; bin < DISTANCE_BINS; bin++) {
        distance->kept_reuses_before += distance->time_counts[bin];
        distance->times[bin] += distance->weight * (double)distance->time_counts[bin];
        distance->stacks[bin] += distance->weight * (double)distance->stack_counts[bin];
    }
    memset(distance->time_counts, 0, sizeof distance->time_counts);
    memset(distance->stack_counts, 0, sizeof distance->stack_counts);
    distance->kept_fresh_before += distance->fresh;
    distance->fresh_before += distance->weight * (double)distance->fresh;
    distance->fresh = 0;
}

/* What is beyond the share is no longer followed: whether it will be used again is not known, so it
   is no evidence of anything; those that stay weigh more. */
static bool falls_out(void *context, uint64_t location, struct distance_place *place)
{
    struct distance *distance = context;
    if (distance_keeps(location, distance->share))
        return false;
    distance->once -= place->time >> 63;
    if (distance->options.stack)
        distance_drop(&distance->order, place);
    return true;
}

static void halve(struct distance *distance)
{
    weigh_counts(distance);
    distance->share /= 2;
    distance->threshold = distance->share;
    distance->weight = weight_of(distance->share);
    distance_walk(&distance->table, 0, UINT64_MAX, falls_out, distance);
}

/* False: no share is small enough. */
static bool thin_out(struct distance *distance)
{
    while (distance->table.known >= distance->options.most_locations) {
        if (distance->share < 2)
            return false;
        halve(distance);
    }
    return true;
}

/* Of d kept locations in between, d / share were there; to the nearest. */
static uint64_t scaled(const struct distance *distance, uint64_t kept)
{
    if (distance->share == DISTANCE_ALL)
        return kept;
    return ((kept << 32) + distance->share / 2) / distance->share;
}

/* ---- accesses ---------------------------------------------------------------------------- */

static bool make_room(struct distance *distance)
{
    return !distance_slots_used(&distance->order) ||
           distance_compact(&distance->order, &distance->table, &distance->memory);
}

/* The first touch of a location. */
static __attribute__((noinline)) void meet(struct distance *distance, uint64_t location,
                                           uint32_t id, uint64_t now)
{
    if (location >= distance->table.location_limit)
        return;
    if (distance->options.most_locations && !thin_out(distance)) {
        stop(distance);
        return;
    }
    if (!distance_keeps(location, distance->share))
        return;
    struct distance_place *place = NULL;
    if (!distance->options.stack || make_room(distance))
        place = distance_make(&distance->table, location, &distance->memory);
    if (!place) {
        stop(distance);
        return;
    }
    place->time = now | DISTANCE_ONCE;
    place->id = id;
    if (distance->options.stack)
        place->slot = distance_push(&distance->order, &distance->table, location);
    distance->once++;
    distance->fresh++;
}

/* A location used longer ago than those in the list. */
static __attribute__((noinline)) uint32_t
bring_back(struct distance *distance, struct distance_place *place, uint64_t location)
{
    uint32_t between = distance_take(&distance->order, place->slot);
    place->slot = distance_push(&distance->order, &distance->table, location);
    return between;
}

/* A number below 2^52 as a double, by the bits of 2^52 + number. The conversion instruction leaves
   half of its register as it was, and so waits for whatever wrote it: for the last access. */
static inline double number(uint64_t below_2_52)
{
    union {
        uint64_t bits;
        double value;
    } sum = {.bits = UINT64_C(0x4330000000000000) | below_2_52};
    return sum.value - 0x1p52;
}

static inline void count_pair(struct distance_pair *pair, double weight, uint64_t time,
                              uint64_t stack)
{
    double times = weight * number(time), stacks = weight * number(stack);
    pair->count++;
    pair->weight += weight;
    pair->time += times;
    pair->time_squares += times * number(time);
    pair->stack += stacks;
    pair->stack_squares += stacks * number(stack);
}

static __attribute__((noinline, cold)) void see(struct distance *distance, uint32_t use,
                                                uint32_t reuse, uint64_t address)
{
    if (distance->observing && --distance->observing == 0)
        set_fast(distance);
    if (distance->observer.seen)
        distance->observer.seen(distance->observer.context, use, reuse, address);
}

static inline void touch(struct distance *distance, uint64_t location, uint64_t address,
                         uint32_t id, uint64_t now)
{
    if (!distance_keeps(location, distance->threshold))
        return;
    struct distance_place *place = distance_find(&distance->table, location);
    if (__builtin_expect(!place || !place->time, 0)) {
        meet(distance, location, id, now);
        return;
    }
    bool stack = distance->options.stack;
    bool recent = place->slot < DISTANCE_NODES;
    if (stack && !recent && !make_room(distance)) {
        stop(distance);
        return;
    }
    struct distance_pair *pair =
        distance_pair_find(&distance->pairs, place->id, id, &distance->memory);
    if (__builtin_expect(!pair, 0)) {
        stop(distance);
        return;
    }
    if (__builtin_expect(!pair->count || distance->observing, 0))
        see(distance, place->id, id, address);
    uint64_t time = now - (place->time & ~DISTANCE_ONCE), between = 0;
    if (stack) {
        between = recent ? distance_to_front(&distance->order, place->slot)
                         : bring_back(distance, place, location);
        between = scaled(distance, between);
        distance->stack_counts[distance_bin(between)]++;
    }
    distance->time_counts[distance_bin(time)]++;
    count_pair(pair, distance->weight, time, between);
    if (place->time >> 63)
        distance->once--;
    place->time = now;
    place->id = id;
}

static __attribute__((noinline)) void touch_all(struct distance *distance, uint64_t address,
                                                uint64_t last, uint32_t id, uint64_t now)
{
    uint32_t shift = distance->options.unit_shift;
    distance->latest = UINT64_MAX;
    for (uint64_t location = address >> shift; location <= last; address = ++location << shift)
        touch(distance, location, address, id, now);
}

/* The same with the location of the access before this one: nothing is looked up but the pair. */
static inline bool touch_again(struct distance *distance, uint64_t location, uint32_t id,
                               uint64_t now)
{
    struct distance_place *place = distance->latest_place;
    if (location != distance->latest || place->time + 1 != now)
        return false;
    struct distance_pair_slot *slot = distance_pair_at_home(&distance->pairs, place->id, id);
    if (slot->pair.use != place->id || slot->pair.reuse != id)
        return false;
    distance->stack_counts[0]++;
    distance->time_counts[1]++;
    distance_pair_count_near(slot, 1, 0);
    place->time = now;
    place->id = id;
    return true;
}

/* What touch does with one of the last 16 locations, used before by a pair at its home, when all
   locations are kept. False: nothing was done. */
static inline bool touch_fast(struct distance *distance, uint64_t location, uint32_t id,
                              uint64_t now)
{
    if (touch_again(distance, location, id, now))
        return true;
    if (location >= distance->fast_limit)
        return false;
    struct distance_place *place = distance_find_direct(&distance->table, location);
    if (!place || (int64_t)place->time <= 0 || place->slot >= DISTANCE_NODES)
        return false;
    struct distance_pair_slot *slot = distance_pair_at_home(&distance->pairs, place->id, id);
    if (slot->pair.use != place->id || slot->pair.reuse != id)
        return false;
    uint64_t time = now - place->time;
    unsigned between = distance_to_front(&distance->order, place->slot);
    distance->stack_counts[between]++; /* below 16 every distance is a bin */
    distance->time_counts[distance_bin(time)]++;
    distance_pair_count_near(slot, number(time), between);
    place->time = now;
    place->id = id;
    distance->latest = location;
    distance->latest_place = place;
    return true;
}

void distance_access(struct distance *distance, uint64_t address, uint32_t bytes, uint32_t id,
                     uint64_t now)
{
    if (!bytes)
        return;
    uint64_t location = address >> distance->options.unit_shift;
    uint64_t last = (address + bytes - 1) >> distance->options.unit_shift;
    if (__builtin_expect(location != last || !touch_fast(distance, location, id, now), 0))
        touch_all(distance, address, last, id, now);
}

void distance_observe(struct distance *distance, const struct distance_observer *observer)
{
    distance->observer = *observer;
}

void distance_observe_next(struct distance *distance, uint32_t reuses)
{
    if (!distance->observer.seen)
        return;
    distance->observing = reuses;
    set_fast(distance);
}

uint64_t distance_share(const struct distance *distance)
{
    return distance->share;
}

static bool forget(void *context, uint64_t location, struct distance_place *place)
{
    struct distance *distance = context;
    (void)location;
    if (place->time >> 63) {
        distance->once--;
        distance->never_reused_before += distance->weight;
    }
    if (distance->options.stack)
        distance_drop(&distance->order, place);
    return true;
}

void distance_forget(struct distance *distance, uint64_t address, uint64_t bytes)
{
    if (!bytes || distance->exhausted)
        return;
    unsigned shift = distance->options.unit_shift;
    distance->latest = UINT64_MAX;
    uint64_t last = address + bytes - 1 < address ? UINT64_MAX : address + bytes - 1;
    distance_walk(&distance->table, address >> shift, last >> shift, forget, distance);
}

/* A location that the parent touched once is the parent's first touch. */
static bool not_ours(void *context, uint64_t location, struct distance_place *place)
{
    (void)context, (void)location;
    place->time &= ~DISTANCE_ONCE;
    return false;
}

void distance_reset_counts(struct distance *distance)
{
    distance_walk(&distance->table, 0, UINT64_MAX, not_ours, NULL);
    distance_pairs_clear(&distance->pairs);
    memset(distance->time_counts, 0, sizeof distance->time_counts);
    memset(distance->stack_counts, 0, sizeof distance->stack_counts);
    memset(distance->times, 0, sizeof distance->times);
    memset(distance->stacks, 0, sizeof distance->stacks);
    distance->once = distance->fresh = 0;
    distance->kept_reuses_before = distance->kept_fresh_before = 0;
    distance->fresh_before = distance->never_reused_before = 0;
}

/* ---- results ----------------------------------------------------------------------------- */

void distance_totals(const struct distance *distance, struct distance_totals *totals)
{
    struct distance_totals sums = {.share = (double)distance->share / (double)DISTANCE_ALL};
    uint64_t reuses = 0;
    for (unsigned bin = 0; bin < DISTANCE_BINS; bin++) {
        reuses += distance->time_counts[bin];
        sums.reuses += distance->times[bin];
    }
    sums.reuses += distance->weight * (double)reuses;
    sums.locations = distance->fresh_before + distance->weight * (double)distance->fresh;
    sums.accesses = sums.reuses + sums.locations;
    sums.never_reused = distance->never_reused_before + distance->weight * (double)distance->once;
    sums.kept_locations = distance->kept_fresh_before + distance->fresh;
    sums.kept_accesses = distance->kept_reuses_before + reuses + sums.kept_locations;
    *totals = sums;
}

void distance_histograms(const struct distance *distance, double *time, double *stack)
{
    for (unsigned bin = 0; bin < DISTANCE_BINS; bin++)
        time[bin] = distance->times[bin] + distance->weight * (double)distance->time_counts[bin];
    for (unsigned bin = 0; distance->options.stack && bin < DISTANCE_BINS; bin++)
        stack[bin] = distance->stacks[bin] + distance->weight * (double)distance->stack_counts[bin];
}

void distance_adjust(double *histogram, unsigned shortest, double lacking)
{
    histogram[shortest] += lacking;
    for (unsigned bin = shortest; bin + 1 < DISTANCE_BINS && histogram[bin] < 0; bin++) {
        histogram[bin + 1] += histogram[bin];
        histogram[bin] = 0;
    }
}

void distance_merge_pairs(struct distance *distance, uint64_t most)
{
    if (distance->pairs.most)
        distance_pairs_merge(&distance->pairs, most, most, &distance->memory);
}

uint64_t distance_merged(const struct distance *distance)
{
    return distance->pairs.merged;
}

const struct distance_pair *distance_next_pair(const struct distance *distance, uint64_t *cursor)
{
    while (*cursor < distance_pairs_capacity(&distance->pairs)) {
        struct distance_pair_slot *slot = &distance->pairs.slots[(*cursor)++];
        distance_pair_settle(slot);
        if (slot->pair.use)
            return &slot->pair;
    }
    return NULL;
}

bool distance_exhausted(const struct distance *distance)
{
    return distance->exhausted;
}

static bool count_once(void *context, uint64_t location, struct distance_place *place)
{
    uint64_t *once = context;
    (void)location;
    *once += place->time >> 63;
    return false;
}

bool distance_check(const struct distance *distance)
{
    /* Walking with a visitor that keeps everything changes nothing. */
    struct distance_table *table = (struct distance_table *)(uintptr_t)&distance->table;
    uint64_t once = 0, times = 0, stacks = 0;
    distance_walk(table, 0, UINT64_MAX, count_once, &once);
    for (unsigned bin = 0; bin < DISTANCE_BINS; bin++) {
        times += distance->time_counts[bin];
        stacks += distance->stack_counts[bin];
    }
    return once == distance->once && distance_table_check(table) &&
           distance_pairs_check(&distance->pairs) &&
           (!distance->options.stack ||
            (times == stacks && distance_order_check(&distance->order, table)));
}
