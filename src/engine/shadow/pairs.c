// SPDX-License-Identifier: MIT
/*
 * Counts of pairs: those met lately in sets of two that the fast paths look at, all others in a
 * hash table with open addressing, linear probing, a power of two of slots, at most half of
 * them used. A pair enters its set with counts from zero, and what it gathered there is added to
 * the table when it leaves: the table is not read when a pair enters.
 */
#include "shadow/internal.h"

enum { FIRST_PAIRS = 4096 };

static uint64_t slot_of(const struct shadow *shadow, uint64_t key)
{
    /* Taken from the middle of the product, so that one shift serves every capacity. */
    key *= UINT64_C(0x9e3779b97f4a7c15);
    return (key >> 32 ^ key >> 17) & (shadow->pairs_capacity - 1);
}

/* The slot of a pair or the empty one where it belongs. */
static struct shadow_pair *find(const struct shadow *shadow, uint64_t key)
{
    uint64_t slot = slot_of(shadow, key);
    for (;; slot = (slot + 1) & (shadow->pairs_capacity - 1)) {
        struct shadow_pair *pair = &shadow->pairs[slot];
        if (shadow_key(pair) == key || pair->second == 0)
            return pair;
    }
}

/* Adds to the table, which has room. */
static void put(struct shadow *shadow, const struct shadow_pair *counted)
{
    struct shadow_pair *pair = find(shadow, shadow_key(counted));
    if (!pair->second) {
        pair->first = counted->first;
        pair->second = counted->second;
        shadow->pairs_count++;
    }
    pair->waste += counted->waste;
    pair->use += counted->use;
    pair->dead += counted->dead;
}

/* ---- merging ------------------------------------------------------------------------------- */

/* Waste is what findings are made of; of a use only the sum matters in the end. */
static uint64_t weight_of(const struct shadow_pair *pair)
{
    /* Below zero: while draining. */
    uint64_t use = pair->use >> 63 ? 0 : pair->use;
    return pair->waste + pair->dead + use / 8;
}

static void coarsen(struct shadow *shadow, struct shadow_pair *pair)
{
    const struct shadow_bound *bound = &shadow->bound;
    uint32_t old = shadow_first(pair), group = shadow_group(pair) << SHADOW_GROUP_SHIFT;
    uint32_t near = pair->first & SHADOW_NEAR;
    uint32_t first = old ? bound->coarser(bound->context, old) | near : 0;
    first |= group;
    uint32_t second = bound->coarser(bound->context, pair->second);
    shadow->merged += first != pair->first || second != pair->second;
    pair->first = first;
    pair->second = second;
}

/* Gives `count` pairs coarser ids. Into a new table: of an open one nothing can be taken out. */
static void merge_least(struct shadow *shadow, uint64_t count)
{
    const struct shadow_memory *memory = &shadow->memory;
    struct shadow_pair *old = shadow->pairs;
    uint64_t capacity = shadow->pairs_capacity;
    struct base_least least = {0};
    struct shadow_pair *fresh = memory->map(memory->context, capacity * sizeof *old, false);
    if (!fresh) {
        shadow_exhaust(shadow);
        return;
    }
    for (uint64_t i = 0; i < capacity; i++)
        if (old[i].second)
            base_least_note(&least, weight_of(&old[i]));
    base_least_choose(&least, count);
    shadow->pairs = fresh;
    shadow->pairs_count = 0;
    for (uint64_t i = 0; i < capacity; i++) {
        if (!old[i].second)
            continue;
        if (base_least_takes(&least, weight_of(&old[i])))
            coarsen(shadow, &old[i]);
        put(shadow, &old[i]);
    }
    memory->unmap(memory->context, old, capacity * sizeof *old);
}

/* What pairs are merged into may be as many: these have coarser ids in turn, and each round takes
 * more. */
static void merge_down_to(struct shadow *shadow, uint64_t most, uint64_t target)
{
    enum { ROUNDS = 8 };
    for (uint64_t more = 0; more < ROUNDS && shadow->pairs_count > most && !shadow->exhausted;
         more++)
        merge_least(shadow, shadow->pairs_count - target + target * more / ROUNDS);
}

const struct shadow_pair *shadow_pair_counted(const struct shadow *shadow, uint32_t first,
                                              uint32_t second)
{
    struct shadow_pair key = {.first = first, .second = second};
    /* Each round of merging gives coarser ids, which may have been merged in turn. */
    for (uint32_t left = 8;; left--) {
        const struct shadow_pair *pair = find(shadow, shadow_key(&key));
        if (pair->second || !left || !shadow->bound.most)
            return pair->second ? pair : NULL;
        key.first = shadow->bound.coarser(shadow->bound.context, key.first);
        key.second = shadow->bound.coarser(shadow->bound.context, key.second);
    }
}

void shadow_bound_pairs(struct shadow *shadow, const struct shadow_bound *bound)
{
    shadow->bound = *bound;
}

void shadow_merge_pairs(struct shadow *shadow, uint64_t most)
{
    if (shadow->bound.most)
        merge_down_to(shadow, most, most);
}

void shadow_join_groups(struct shadow *shadow)
{
    struct shadow_pair *pairs = shadow->pairs;
    const struct shadow_memory *memory = &shadow->memory;
    uint64_t capacity = shadow->pairs_capacity;
    struct shadow_pair *fresh = memory->map(memory->context, capacity * sizeof *pairs, false);
    if (!fresh) {
        shadow_exhaust(shadow);
        return;
    }
    shadow->pairs = fresh;
    shadow->pairs_count = 0;
    for (uint64_t i = 0; i < capacity; i++) {
        if (!pairs[i].second)
            continue;
        pairs[i].first = shadow_first(&pairs[i]) | (pairs[i].first & SHADOW_NEAR);
        put(shadow, &pairs[i]);
    }
    memory->unmap(memory->context, pairs, capacity * sizeof *pairs);
}

/* ---- growing ------------------------------------------------------------------------------- */

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
        if (old[i].second)
            *find(shadow, shadow_key(&old[i])) = old[i];
    memory->unmap(memory->context, old, capacity * sizeof *old);
}

/* A bounded table may be three quarters full before it grows no more. */
static void make_room(struct shadow *shadow)
{
    uint64_t most = shadow->bound.most;
    if (!most || shadow->pairs_capacity / 4 * 3 < most)
        grow(shadow);
    else if (shadow->pairs_count > most)
        merge_down_to(shadow, most, most / 2);
}

/* When exhausted, new pairs still find room for what the sets hold, as long as probing is short. */
static void add(struct shadow *shadow, const struct shadow_pair *counted)
{
    struct shadow_pair pair = *counted;
    pair.dead &= (UINT64_C(1) << SHADOW_ELEMENT_SHIFT) - 1;
    if (!(pair.waste | pair.use | pair.dead))
        return;
    if (shadow->exhausted && shadow->pairs_count >= shadow->pairs_capacity / 8 * 7 &&
        !find(shadow, shadow_key(counted))->second)
        return;
    put(shadow, &pair);
    if (shadow->pairs_count > shadow->pairs_capacity / 2 && !shadow->exhausted)
        make_room(shadow);
}

static bool is_counted(const struct shadow_pair *pair)
{
    return (pair->waste | pair->use | pair->dead << (64 - SHADOW_ELEMENT_SHIFT)) != 0;
}

/* Its slot of the table is most likely in no cache: it is asked for now and waited for later. */
static void leave(struct shadow *shadow, const struct shadow_pair *pair)
{
    struct shadow_pair *place = &shadow->leaving[shadow->turn++ % SHADOW_LEAVING];
    add(shadow, place);
    *place = *pair;
    __builtin_prefetch(&shadow->pairs[slot_of(shadow, shadow_key(pair))], 1);
}

struct shadow_pair *shadow_pair_fetch(struct shadow *shadow, struct shadow_pair set[2],
                                      uint32_t first, uint32_t second)
{
    if (SHADOW_RARE(--shadow->appearances == 0))
        shadow_appeared(shadow);
    if (is_counted(&set[1]))
        leave(shadow, &set[1]);
    set[1] = set[0];
    set[0] = (struct shadow_pair){
        .first = first,
        .second = second,
        .dead = (uint64_t)shadow->elements[first & SHADOW_ID_MASK] << SHADOW_ELEMENT_SHIFT,
    };
    return &set[0];
}

static uint64_t lately_bytes(void)
{
    return SHADOW_SETS * 2 * sizeof(struct shadow_pair);
}

bool shadow_pairs_init(struct shadow *shadow)
{
    const struct shadow_memory *memory = &shadow->memory;
    shadow->lately = memory->map(memory->context, lately_bytes(), true);
    shadow->pairs = memory->map(memory->context, FIRST_PAIRS * sizeof *shadow->pairs, false);
    shadow->pairs_capacity = FIRST_PAIRS;
    return shadow->lately && shadow->pairs;
}

void shadow_pairs_free(struct shadow *shadow)
{
    const struct shadow_memory *memory = &shadow->memory;
    if (shadow->lately)
        memory->unmap(memory->context, shadow->lately, lately_bytes());
    if (shadow->pairs)
        memory->unmap(memory->context, shadow->pairs,
                      shadow->pairs_capacity * sizeof *shadow->pairs);
}

/* Sets that were never used are only read: a write would back their pages. */
static void empty(struct shadow *shadow, struct shadow_pair *pair, bool counts)
{
    if (!pair->second)
        return;
    if (counts)
        add(shadow, pair);
    *pair = (struct shadow_pair){0};
}

static void empty_sets(struct shadow *shadow, bool counts)
{
    for (uint32_t i = 0; i < SHADOW_SETS; i++)
        for (uint32_t way = 0; way < 2; way++)
            empty(shadow, &shadow->lately[i][way], counts);
    for (uint32_t i = 0; i < SHADOW_LEAVING; i++)
        empty(shadow, &shadow->leaving[i], counts);
}

void shadow_flush(struct shadow *shadow)
{
    empty_sets(shadow, true);
}

void shadow_reset_counts(struct shadow *shadow)
{
    empty_sets(shadow, false);
    memset(shadow->pairs, 0, shadow->pairs_capacity * sizeof *shadow->pairs);
    shadow->pairs_count = shadow->merged = shadow->outside = 0;
}

bool shadow_pairs_check(const struct shadow *shadow)
{
    uint64_t used = 0;
    for (uint64_t i = 0; i < shadow->pairs_capacity; i++) {
        const struct shadow_pair *pair = &shadow->pairs[i];
        if (!pair->second)
            continue;
        used++;
        if (shadow_first(pair) >= shadow->ids_capacity || pair->second >= shadow->ids_capacity ||
            find(shadow, shadow_key(pair)) != pair)
            return false;
    }
    return used == shadow->pairs_count && used < shadow->pairs_capacity;
}
