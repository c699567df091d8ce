// SPDX-License-Identifier: MIT
/*
 * Where the counts of pairs go that are not in a leaf: a hash table with open addressing,
 * linear probing, a power of two of slots, at most half of them used.
 *
 * A leaf that is missed keeps its pair three times out of four, and the count goes straight to
 * the table: where two former accesses alternate only one of them costs a look-up, while
 * after a change of phase the new one moves in soon. Moving in at every
 * miss costs a look-up for each access of such an alternation.
 */
#include "shadow/internal.h"

enum { FIRST_PAIRS = 4096 };

static uint64_t slot_of(const struct shadow *shadow, uint32_t first, uint32_t second)
{
    /* Fibonacci hashing: the product's top bits depend on all bits of both; they are taken from the
       middle, so that one shift serves every capacity. */
    uint64_t key = ((uint64_t)first << 32 | second) * UINT64_C(0x9e3779b97f4a7c15);
    return (key >> 32 ^ key >> 17) & (shadow->pairs_capacity - 1);
}

/* The slot of a pair or the empty one where it belongs. */
static struct shadow_pair *find(const struct shadow *shadow, uint32_t first, uint32_t second)
{
    uint64_t slot = slot_of(shadow, first, second);
    for (;; slot = (slot + 1) & (shadow->pairs_capacity - 1)) {
        struct shadow_pair *pair = &shadow->pairs[slot];
        if ((pair->first == first && pair->second == second) || pair->first == 0)
            return pair;
    }
}

static void grow(struct shadow *shadow)
{
    const struct shadow_memory *memory = &shadow->memory;
    struct shadow_pair *old = shadow->pairs;
    uint64_t capacity = shadow->pairs_capacity;
    struct shadow_pair *wider = memory->map(memory->context, 2 * capacity * sizeof *old, false);
    if (!wider) {
        shadow_exhaust(shadow);
        return;
    }
    shadow->pairs = wider;
    shadow->pairs_capacity = 2 * capacity;
    for (uint64_t i = 0; i < capacity; i++)
        if (old[i].first)
            *find(shadow, old[i].first, old[i].second) = old[i];
    memory->unmap(memory->context, old, capacity * sizeof *old);
}

/* When exhausted, new pairs still find room for what the leaves hold, as long as probing is short.
 */
static void add(struct shadow *shadow, uint32_t first, uint32_t second, uint64_t waste,
                uint64_t use, uint64_t dead)
{
    struct shadow_pair *pair = find(shadow, first, second);
    if (!pair->first) {
        if (shadow->exhausted && shadow->pairs_count >= shadow->pairs_capacity / 8 * 7)
            return;
        pair->first = first;
        pair->second = second;
        shadow->pairs_count++;
    }
    pair->waste += waste;
    pair->use += use;
    pair->dead += dead;
    if (shadow->pairs_count > shadow->pairs_capacity / 2 && !shadow->exhausted)
        grow(shadow);
}

static bool moves_in(struct shadow *shadow, uint32_t present)
{
    return present == SHADOW_NO_PAIR || (++shadow->misses & 3) == 0;
}

/* ---- loads ------------------------------------------------------------------------- */

static void move_out_load(struct shadow *shadow, uint32_t id)
{
    struct shadow_leaf *leaf = &shadow->leaves[id];
    if (leaf->previous == 0)
        shadow->fresh_loads += leaf->waste + leaf->use;
    else if (leaf->waste | leaf->use)
        add(shadow, leaf->previous, id, leaf->waste, leaf->use, 0);
    leaf->waste = leaf->use = 0;
}

void shadow_load_miss(struct shadow *shadow, uint32_t id, uint32_t former, uint32_t waste,
                      uint32_t use)
{
    struct shadow_leaf *leaf = &shadow->leaves[id];
    if (moves_in(shadow, leaf->previous)) {
        move_out_load(shadow, id);
        leaf->previous = former;
        leaf->waste = waste;
        leaf->use = use;
    } else if (former == 0) {
        shadow->fresh_loads += waste + use;
    } else {
        add(shadow, former, id, waste, use, 0);
    }
}

static void move_out_read(struct shadow *shadow, uint32_t id)
{
    struct shadow_leaf *leaf = &shadow->leaves[id];
    if (leaf->dead)
        add(shadow, leaf->previous_store, id, 0, 0, leaf->dead);
    leaf->dead = 0;
}

void shadow_read_miss(struct shadow *shadow, uint32_t id, uint32_t former, uint32_t dead)
{
    struct shadow_leaf *leaf = &shadow->leaves[id];
    if (moves_in(shadow, leaf->previous_store)) {
        move_out_read(shadow, id);
        leaf->previous_store = former;
        leaf->dead = dead;
    } else {
        add(shadow, former, id, 0, 0, dead);
    }
}

/* ---- stores ------------------------------------------------------------------------ */

static void move_out_store(struct shadow *shadow, uint32_t id)
{
    struct shadow_leaf *leaf = &shadow->leaves[id];
    if (leaf->previous == 0)
        shadow->fresh_stores += leaf->waste + leaf->use;
    else if (leaf->waste | leaf->use | leaf->dead)
        add(shadow, leaf->previous, id, leaf->waste, leaf->use, leaf->dead);
    leaf->waste = leaf->use = leaf->dead = 0;
}

void shadow_store_miss(struct shadow *shadow, uint32_t id, uint32_t former, uint32_t waste,
                       uint32_t use, uint32_t dead)
{
    struct shadow_leaf *leaf = &shadow->leaves[id];
    if (moves_in(shadow, leaf->previous)) {
        move_out_store(shadow, id);
        leaf->previous = former;
        leaf->previous_store = SHADOW_OF_STORE;
        leaf->waste = waste;
        leaf->use = use;
        leaf->dead = dead;
    } else if (former == 0) {
        shadow->fresh_stores += waste + use;
    } else {
        add(shadow, former, id, waste, use, dead);
    }
}

/* ---- all --------------------------------------------------------------------------- */

bool shadow_pairs_init(struct shadow *shadow)
{
    const struct shadow_memory *memory = &shadow->memory;
    shadow->pairs = memory->map(memory->context, FIRST_PAIRS * sizeof *shadow->pairs, false);
    shadow->pairs_capacity = FIRST_PAIRS;
    return shadow->pairs != NULL;
}

void shadow_pairs_free(struct shadow *shadow)
{
    const struct shadow_memory *memory = &shadow->memory;
    if (shadow->pairs)
        memory->unmap(memory->context, shadow->pairs,
                      shadow->pairs_capacity * sizeof *shadow->pairs);
}

void shadow_flush(struct shadow *shadow, uint32_t ids_used)
{
    for (uint32_t id = 1; id < ids_used; id++) {
        if (shadow->leaves[id].previous == SHADOW_NO_PAIR &&
            shadow->leaves[id].previous_store == SHADOW_NO_PAIR)
            continue;
        if (shadow->leaves[id].previous_store == SHADOW_OF_STORE) {
            move_out_store(shadow, id);
        } else {
            move_out_load(shadow, id);
            move_out_read(shadow, id);
        }
    }
}

void shadow_reset_counts(struct shadow *shadow, uint32_t ids_used)
{
    for (uint32_t id = 1; id < ids_used; id++)
        shadow->leaves[id].waste = shadow->leaves[id].use = shadow->leaves[id].dead = 0;
    memset(shadow->pairs, 0, shadow->pairs_capacity * sizeof *shadow->pairs);
    shadow->pairs_count = 0;
    shadow->fresh_stores = shadow->fresh_loads = 0;
}

bool shadow_pairs_check(const struct shadow *shadow)
{
    uint64_t used = 0;
    for (uint64_t i = 0; i < shadow->pairs_capacity; i++) {
        const struct shadow_pair *pair = &shadow->pairs[i];
        if (!pair->first)
            continue;
        used++;
        if (pair->second == 0 || pair->first >= shadow->ids_capacity ||
            pair->second >= shadow->ids_capacity || find(shadow, pair->first, pair->second) != pair)
            return false;
    }
    return used == shadow->pairs_count && used < shadow->pairs_capacity;
}
