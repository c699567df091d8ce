// SPDX-License-Identifier: MIT
/* Which access was followed by which at the same location. */
#include "distance/internal.h"

#include <string.h>

enum { FIRST_SHIFT = 64 - 12 }; /* 256 KiB */

enum base_status distance_pairs_init(struct distance_pairs *pairs,
                                     const struct distance_memory *memory)
{
    struct distance_pairs made = {.shift = FIRST_SHIFT};
    made.slots =
        memory->map(memory->context, distance_pairs_capacity(&made) * sizeof *made.slots, false);
    if (!made.slots)
        return BASE_NO_MEMORY;
    *pairs = made;
    return BASE_OK;
}

void distance_pairs_free(struct distance_pairs *pairs, const struct distance_memory *memory)
{
    memory->unmap(memory->context, pairs->slots,
                  distance_pairs_capacity(pairs) * sizeof *pairs->slots);
}

void distance_pairs_clear(struct distance_pairs *pairs)
{
    memset(pairs->slots, 0, distance_pairs_capacity(pairs) * sizeof *pairs->slots);
    pairs->count = pairs->merged = 0;
}

/* The pair's slot or the empty one where it belongs. */
static struct distance_pair_slot *search(const struct distance_pairs *pairs, uint32_t use,
                                         uint32_t reuse)
{
    uint64_t mask = distance_pairs_capacity(pairs) - 1;
    for (uint64_t i = distance_pair_home(pairs, use, reuse);; i = (i + 1) & mask) {
        struct distance_pair_slot *slot = &pairs->slots[i];
        if (!slot->pair.use || (slot->pair.use == use && slot->pair.reuse == reuse))
            return slot;
    }
}

static bool grow(struct distance_pairs *pairs, const struct distance_memory *memory)
{
    struct distance_pairs next = *pairs;
    next.shift--;
    next.slots =
        memory->map(memory->context, distance_pairs_capacity(&next) * sizeof *next.slots, false);
    if (!next.slots)
        return false;
    for (uint64_t i = 0; i < distance_pairs_capacity(pairs); i++) {
        const struct distance_pair *pair = &pairs->slots[i].pair;
        distance_pair_settle(&pairs->slots[i]);
        if (pair->use)
            search(&next, pair->use, pair->reuse)->pair = *pair;
    }
    distance_pairs_free(pairs, memory);
    *pairs = next;
    return true;
}

/* ---- merging ------------------------------------------------------------------------------- */

/* What is far apart is looked for; of near reuses only the sum matters in the end. */
static uint64_t weight_of(const struct distance_pair *pair)
{
    return (uint64_t)(pair->stack > 0 ? pair->stack : pair->time / 1024);
}

static void add(struct distance_pairs *pairs, const struct distance_pair *counted)
{
    struct distance_pair *pair = &search(pairs, counted->use, counted->reuse)->pair;
    pairs->count += !pair->use;
    pair->use = counted->use;
    pair->reuse = counted->reuse;
    pair->count += counted->count;
    pair->weight += counted->weight;
    pair->time += counted->time;
    pair->time_squares += counted->time_squares;
    pair->stack += counted->stack;
    pair->stack_squares += counted->stack_squares;
}

static void coarsen(struct distance_pairs *pairs, struct distance_pair *pair)
{
    uint32_t use = pairs->coarser(pairs->context, pair->use);
    uint32_t reuse = pairs->coarser(pairs->context, pair->reuse);
    pairs->merged += use != pair->use || reuse != pair->reuse;
    pair->use = use;
    pair->reuse = reuse;
}

static bool merge_least(struct distance_pairs *pairs, uint64_t count,
                        const struct distance_memory *memory)
{
    uint64_t capacity = distance_pairs_capacity(pairs);
    struct base_least least = {0};
    struct distance_pairs next = *pairs;
    next.count = 0;
    next.slots = memory->map(memory->context, capacity * sizeof *next.slots, false);
    if (!next.slots)
        return false;
    for (uint64_t i = 0; i < capacity; i++) {
        distance_pair_settle(&pairs->slots[i]);
        if (pairs->slots[i].pair.use)
            base_least_note(&least, weight_of(&pairs->slots[i].pair));
    }
    base_least_choose(&least, count);
    for (uint64_t i = 0; i < capacity; i++) {
        struct distance_pair *pair = &pairs->slots[i].pair;
        if (!pair->use)
            continue;
        if (base_least_takes(&least, weight_of(pair)))
            coarsen(&next, pair);
        add(&next, pair);
    }
    distance_pairs_free(pairs, memory);
    *pairs = next;
    return true;
}

/* What pairs are merged into may be as many: these have coarser ids in turn, and each round takes
 * more. */
bool distance_pairs_merge(struct distance_pairs *pairs, uint64_t most, uint64_t target,
                          const struct distance_memory *memory)
{
    enum { ROUNDS = 8 };
    for (uint64_t more = 0; more < ROUNDS && pairs->count > most; more++)
        if (!merge_least(pairs, pairs->count - target + target * more / ROUNDS, memory))
            return false;
    return true;
}

static bool make_room(struct distance_pairs *pairs, const struct distance_memory *memory)
{
    uint64_t full = distance_pairs_capacity(pairs) / 8 * 5;
    if (pairs->count < (pairs->most && pairs->most < full ? pairs->most : full))
        return true;
    if (!pairs->most || full < pairs->most)
        return grow(pairs, memory);
    return distance_pairs_merge(pairs, pairs->most / 4 * 3, pairs->most / 2, memory);
}

/*
 * A pair that is counted now will be again: it is moved to its home, where it is found without a search. What stood there goes to the slot
 * that it leaves: all slots from the home of that one up to there are taken, so that it is still found. Without this a third of all pairs
 * are not at home, and the search was a quarter of the time of bzip2.
 */
static struct distance_pair *bring_home(struct distance_pairs *pairs,
                                        struct distance_pair_slot *slot)
{
    struct distance_pair_slot *home =
        distance_pair_at_home(pairs, slot->pair.use, slot->pair.reuse);
    struct distance_pair_slot found = *slot;
    *slot = *home;
    *home = found;
    return &home->pair;
}

struct distance_pair *distance_pair_make(struct distance_pairs *pairs, uint32_t use, uint32_t reuse,
                                         const struct distance_memory *memory)
{
    struct distance_pair_slot *slot = search(pairs, use, reuse);
    if (slot->pair.use)
        return bring_home(pairs, slot);
    if (!make_room(pairs, memory))
        return NULL;
    struct distance_pair *pair = &search(pairs, use, reuse)->pair;
    pairs->count++;
    pair->use = use;
    pair->reuse = reuse;
    return pair;
}

bool distance_pairs_check(const struct distance_pairs *pairs)
{
    uint64_t count = 0;
    for (uint64_t i = 0; i < distance_pairs_capacity(pairs); i++) {
        const struct distance_pair *pair = &pairs->slots[i].pair;
        if (!pair->use)
            continue;
        count++;
        if (search(pairs, pair->use, pair->reuse) != &pairs->slots[i] || !pair->count ||
            pair->weight < (double)pair->count)
            return false;
    }
    return count == pairs->count && count < distance_pairs_capacity(pairs);
}

const struct distance_pair *distance_pair_counted(const struct distance *distance, uint32_t use,
                                                  uint32_t reuse)
{
    const struct distance_pairs *pairs = &distance->pairs;
    /* Each round of merging gives coarser ids, which may have been merged in turn. */
    for (uint32_t left = 8;; left--) {
        struct distance_pair_slot *slot = search(pairs, use, reuse);
        distance_pair_settle(slot);
        if (slot->pair.use || !left || !pairs->most)
            return slot->pair.use ? &slot->pair : NULL;
        use = pairs->coarser(pairs->context, use);
        reuse = pairs->coarser(pairs->context, reuse);
    }
}
