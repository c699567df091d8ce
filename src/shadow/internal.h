// SPDX-License-Identifier: MIT
/* What the files of shadow share: detail records of mixed units, counting of pairs. */
#ifndef HEADROOM_SHADOW_INTERNAL_H
#define HEADROOM_SHADOW_INTERNAL_H

#include "shadow/fast.h"
#include "shadow/shadow.h"

#include <string.h>

enum {
    PAGE_BYTES = 4096,
    REGION_SHIFT = 16, /* of mixed_regions: forget looks for details at this grain */
    /* No detail's word may look like SHADOW_NO_PAIR or SHADOW_OF_STORE with the unread bits set. */
    MOST_DETAILS = (1 << SHADOW_ID_BITS) - SHADOW_MOST_IDS - 2,
    X87_BYTES = 10,
    X87_BLOCK = 16,
};

/* In [1] of a detail record that is in the free list. */
#define DETAIL_IS_FREE UINT32_C(0xffffffff)

static inline bool is_mixed(uint32_t id)
{
    return id >= SHADOW_MOST_IDS;
}

static inline uint32_t *detail_of(const struct shadow *shadow, uint32_t id)
{
    return shadow->details[id - SHADOW_MOST_IDS];
}

/* How many of the low 16 bits are set; popcnt is not in every x86-64, and libgcc not here. */
static inline uint32_t count_bits(uint32_t bits)
{
    bits -= bits >> 1 & 0x5555;
    bits = (bits & 0x3333) + (bits >> 2 & 0x3333);
    bits = (bits + (bits >> 4)) & 0x0f0f;
    return (bits + (bits >> 8)) & 0x1f;
}

/* Stops counting for good: what was counted stays, no access reaches a record any more. */
void shadow_exhaust(struct shadow *shadow);

/* A new detail record: all of a unit has one id, but `part` of it (4 bits) another. Its word. */
uint32_t shadow_mix(struct shadow *shadow, uint64_t address, uint32_t word, uint32_t part,
                    uint32_t id);
void shadow_give_detail(struct shadow *shadow, uint32_t word);

/*
 * Gives the bytes of `part` in a unit an id. word: the unit's without the unread
 * bits; returns the new one. A unit whose bytes have one id is never left mixed.
 */
static inline uint32_t set_part(struct shadow *shadow, uint64_t address, uint32_t word,
                                uint32_t part, uint32_t id)
{
    if (word == id)
        return word;
    if (!is_mixed(word))
        return part == 15 ? id : shadow_mix(shadow, address, word, part, id);
    uint32_t *ids = detail_of(shadow, word), others = 0;
    for (uint32_t i = 0; i < 4; i++) {
        if (part >> i & 1)
            ids[i] = id;
        others |= ids[i] ^ id;
    }
    if (others)
        return word;
    shadow_give_detail(shadow, word);
    return id;
}

/*
 * pairs.c: the former access is not the one in the leaf. dead of a store comes with waste and use;
 * that of a load has another former access and so a function of its own.
 */
__attribute__((noinline)) void shadow_load_miss(struct shadow *shadow, uint32_t id, uint32_t former,
                                                uint32_t waste, uint32_t use);
__attribute__((noinline)) void shadow_read_miss(struct shadow *shadow, uint32_t id, uint32_t former,
                                                uint32_t dead);
__attribute__((noinline)) void shadow_store_miss(struct shadow *shadow, uint32_t id,
                                                 uint32_t former, uint32_t waste, uint32_t use,
                                                 uint32_t dead);
bool shadow_pairs_init(struct shadow *shadow);
void shadow_pairs_free(struct shadow *shadow);
bool shadow_pairs_check(const struct shadow *shadow);

static inline void count_load(struct shadow *shadow, uint32_t id, uint32_t former, uint32_t waste,
                              uint32_t use)
{
    struct shadow_leaf *leaf = &shadow->leaves[id];
    if (SHADOW_RARE(leaf->previous != former)) {
        shadow_load_miss(shadow, id, former, waste, use);
        return;
    }
    leaf->waste += waste;
    leaf->use += use;
}

/* The first load since `former` stored. */
static inline void count_read(struct shadow *shadow, uint32_t id, uint32_t former, uint32_t dead)
{
    struct shadow_leaf *leaf = &shadow->leaves[id];
    if (SHADOW_RARE(leaf->previous_store != former))
        shadow_read_miss(shadow, id, former, dead);
    else
        leaf->dead += dead;
}

static inline void count_store(struct shadow *shadow, uint32_t id, uint32_t former, uint32_t waste,
                               uint32_t use, uint32_t dead)
{
    struct shadow_leaf *leaf = &shadow->leaves[id];
    if (SHADOW_RARE(leaf->previous != former)) {
        shadow_store_miss(shadow, id, former, waste, use, dead);
        return;
    }
    leaf->waste += waste;
    leaf->use += use;
    leaf->dead += dead;
}

/* value.c: an aligned word of 1, 2, 4 or 8 bytes differs from the former access's. How many of its
   bytes are waste all the same? */
uint32_t shadow_waste_of_part(const struct shadow *shadow, uint8_t element, uint32_t bytes,
                              uint64_t former, uint64_t now);

/* The same for any bytes of sixteen aligned ones: those of `group` have one former
   access, those of `differing` differ. Returns the bytes that are waste. */
uint32_t shadow_waste_of_block(const struct shadow *shadow, uint8_t element, uint32_t group,
                               uint32_t differing, const uint8_t *former, const uint8_t *now);

#endif
