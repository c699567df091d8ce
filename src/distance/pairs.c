// SPDX-License-Identifier: MIT
/* Which access was followed by which at the same location. */
#include "distance/parts.h"

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
    pairs->count = 0;
}

/* The pair's slot or the empty one where it belongs. */
static struct distance_pair *search(const struct distance_pairs *pairs, uint32_t use,
                                    uint32_t reuse)
{
    uint64_t mask = distance_pairs_capacity(pairs) - 1;
    for (uint64_t i = distance_pair_home(pairs, use, reuse);; i = (i + 1) & mask) {
        struct distance_pair *pair = &pairs->slots[i].pair;
        if (!pair->use || (pair->use == use && pair->reuse == reuse))
            return pair;
    }
}

static bool grow(struct distance_pairs *pairs, const struct distance_memory *memory)
{
    struct distance_pairs next = {.shift = pairs->shift - 1, .count = pairs->count};
    next.slots =
        memory->map(memory->context, distance_pairs_capacity(&next) * sizeof *next.slots, false);
    if (!next.slots)
        return false;
    for (uint64_t i = 0; i < distance_pairs_capacity(pairs); i++) {
        const struct distance_pair *pair = &pairs->slots[i].pair;
        if (pair->use)
            *search(&next, pair->use, pair->reuse) = *pair;
    }
    distance_pairs_free(pairs, memory);
    *pairs = next;
    return true;
}

struct distance_pair *distance_pair_make(struct distance_pairs *pairs, uint32_t use, uint32_t reuse,
                                         const struct distance_memory *memory)
{
    struct distance_pair *pair = search(pairs, use, reuse);
    if (pair->use)
        return pair;
    if (pairs->count >= distance_pairs_capacity(pairs) / 8 * 5) {
        if (!grow(pairs, memory))
            return NULL;
        pair = search(pairs, use, reuse);
    }
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
        if (search(pairs, pair->use, pair->reuse) != pair || !pair->count ||
            pair->weight < (double)pair->count)
            return false;
    }
    return count == pairs->count && count < distance_pairs_capacity(pairs);
}
