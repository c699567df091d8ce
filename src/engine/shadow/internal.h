// SPDX-License-Identifier: MIT
/* What the files of shadow share: bit counts, the pair table, the test of values. */
#ifndef HEADROOM_SHADOW_INTERNAL_H
#define HEADROOM_SHADOW_INTERNAL_H

#include "shadow/fast.h"
#include "shadow/shadow.h"

#include <string.h>

/* Freestanding code would call a function for each of these; here sizes are constants. */
#define memcpy(to, from, bytes) __builtin_memcpy(to, from, bytes)

enum {
    PAGE_BYTES = 4096,
    X87_BYTES = 10,
    X87_BLOCK = 16,
};

/* How many of the low 16 bits are set; popcnt is not in every x86-64, and libgcc not here. */
static inline uint32_t count_bits(uint32_t bits)
{
    bits -= bits >> 1 & 0x5555;
    bits = (bits & 0x3333) + (bits >> 2 & 0x3333);
    bits = (bits + (bits >> 4)) & 0x0f0f;
    return (bits + (bits >> 8)) & 0x1f;
}

/* sample.c: is the location of the address followed? Then it becomes the one at hand, and a load or store that leaves its id there is
   awaited; after one that leaves none what is awaited is to be settled. */
bool shadow_keeps(struct shadow *shadow, uint64_t address, bool store);
void shadow_settle(struct shadow *shadow, uint64_t address);
void shadow_sample_free(struct shadow *shadow);
void shadow_sample_reset(struct shadow *shadow); /* counts */

/* Stops counting for good: what was counted stays, no access reaches a record any more. */
void shadow_exhaust(struct shadow *shadow);

/* pairs.c: the pair is not among those met lately: makes it the first of its set, with counts from zero. */
struct shadow_pair *shadow_pair_fetch(struct shadow *shadow, struct shadow_pair set[2],
                                      uint32_t first, uint32_t second);

static inline uint64_t shadow_key(const struct shadow_pair *pair)
{
    uint64_t key;
    memcpy(&key, &pair->second, sizeof key);
    return key;
}

/*
 * Ids of a block's accesses are neighbours: so are their sets, in a row that is up to the neighbourhood of the
 * former access. Where a program has more pairs than caches hold, the lines of a block come together.
 */
static inline struct shadow_pair *shadow_set_of(struct shadow *shadow, uint64_t key)
{
    uint32_t first = (uint32_t)(key >> 32), second = (uint32_t)key;
    uint32_t row = (first >> 6) * UINT32_C(0x9e3779b9) >> (32 - SHADOW_ROWS_BITS);
    return shadow
        ->lately[(second + (row << (SHADOW_SETS_BITS - SHADOW_ROWS_BITS))) & (SHADOW_SETS - 1)];
}

/* NULL: not met lately. */
static inline struct shadow_pair *shadow_pair_lately(struct shadow *shadow, uint32_t first,
                                                     uint32_t second)
{
    uint64_t key = (uint64_t)first << 32 | second;
    struct shadow_pair *set = shadow_set_of(shadow, key);
    if (__builtin_expect(shadow_key(&set[0]) == key, 1))
        return &set[0];
    return shadow_key(&set[1]) == key ? &set[1] : NULL;
}

/* later.c: an event that adds to (first, second): its counts, zero, to be added to at once. */
struct shadow_pair *shadow_write_pair(struct shadow *shadow, uint32_t first, uint32_t second);

/* Where the counts of (first, second) are kept for now. */
static inline struct shadow_pair *shadow_pair_of(struct shadow *shadow, uint32_t first,
                                                 uint32_t second)
{
    if (SHADOW_RARE(shadow->events != NULL))
        return shadow_write_pair(shadow, first, second);
    struct shadow_pair *pair = shadow_pair_lately(shadow, first, second);
    if (__builtin_expect(pair != NULL, 1))
        return pair;
    return shadow_pair_fetch(shadow, shadow_set_of(shadow, (uint64_t)first << 32 | second), first,
                             second);
}

/* Gives the bytes of `part` an id; returns the unit's new word. address: of the unit's first byte. */
static inline uint32_t shadow_set_part(struct shadow *shadow, struct shadow_cells *cells,
                                       uint32_t word, uint64_t address, uint32_t part, uint32_t id)
{
    if (part == 15 && shadow_is_mixed(word))
        shadow_unmix(cells, address, word);
    if (part == 15 || word == id)
        return id;
    if (!shadow_is_mixed(word))
        word = shadow_mix(shadow, cells, address, word);
    uint32_t *ids = shadow_ids_of(cells, address, word);
    for (uint32_t i = 0; i < 4; i++)
        if (part >> i & 1)
            ids[i] = id;
    return word;
}

bool shadow_pairs_init(struct shadow *shadow);
void shadow_pairs_free(struct shadow *shadow);
bool shadow_pairs_check(const struct shadow *shadow);

/* What is unchanged: all of it, and of that what is so within the tolerance only. Bytes, or bits that
   stand for bytes. */
struct shadow_waste {
    uint32_t all, near;
};

/* value.c: an aligned word of 1, 2, 4 or 8 bytes differs from the former access's. How many of its
   bytes are waste all the same? */
struct shadow_waste shadow_waste_of_part(const struct shadow *shadow, uint8_t element,
                                         uint32_t bytes, uint64_t former, uint64_t now);

/* The same for any bytes of sixteen aligned ones: those of `group` have one former
   access, those of `differing` differ. Gives the bytes that are waste. */
struct shadow_waste shadow_waste_of_block(const struct shadow *shadow, uint8_t element,
                                          uint32_t group, uint32_t differing, const uint8_t *former,
                                          const uint8_t *now);

/* observe.c: which addresses take the inline paths: none while accesses are observed, once exhausted, and of a sample of locations. */
void shadow_look_out(struct shadow *shadow);
/* A pair has appeared among those met lately; an access that is to be observed, before: NULL: not known. */
void shadow_appeared(struct shadow *shadow);
void shadow_observe_load(struct shadow *shadow, uint64_t address, uint32_t id, uint64_t bytes,
                         const uint8_t *value);
void shadow_observe_store(struct shadow *shadow, uint64_t address, uint32_t id, uint64_t bytes,
                          const uint8_t *before, const uint8_t *value);

#endif
