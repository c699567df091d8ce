// SPDX-License-Identifier: MIT
/*
 * Caches of many ways: lines are found by a hash over all sets, and each set is a list in order of
 * use. A touch costs the same whatever the size; the memory is bounded by the cache's and only
 * what was ever held of it is used.
 */
#include "cache/internal.h"

/* ---- tables -------------------------------------------------------------------------------- */

static size_t slots_count(const struct cache *cache)
{
    return (size_t)cache->sets * cache->ways + 1;
}

/* A power of two with a bucket a line at least. */
static size_t buckets_count(const struct cache *cache)
{
    size_t count = 64;
    while (count < slots_count(cache) - 1)
        count *= 2;
    return count;
}

size_t cache_many_bytes(const struct cache *cache)
{
    return slots_count(cache) * sizeof *cache->slots + cache->sets * sizeof *cache->lists +
           buckets_count(cache) * sizeof *cache->buckets;
}

void cache_many_init(struct cache *cache, void *memory)
{
    cache->slots = memory;
    cache->lists = (struct cache_set *)(cache->slots + slots_count(cache));
    cache->buckets = (uint32_t *)(cache->lists + cache->sets);
    cache->buckets_mask = (uint32_t)(buckets_count(cache) - 1);
}

/* Neighbouring lines have neighbouring buckets, as programs go from one to the next; pages of 64
   lines are hashed, so that no stride meets few buckets. */
static uint32_t *bucket_of(const struct cache *cache, uint64_t line)
{
    uint32_t page = (uint32_t)((line >> 6) * UINT64_C(0x9e3779b97f4a7c15) >> 32);
    return &cache->buckets[(page ^ (uint32_t)(line & 63)) & cache->buckets_mask];
}

static uint32_t find(const struct cache *cache, uint64_t line)
{
    uint32_t slot = *bucket_of(cache, line);
    while (slot && cache->slots[slot].line != line)
        slot = cache->slots[slot].next;
    return slot;
}

static void leave_bucket(struct cache *cache, uint32_t slot)
{
    uint32_t *link = bucket_of(cache, cache->slots[slot].line);
    while (*link != slot)
        link = &cache->slots[*link].next;
    *link = cache->slots[slot].next;
}

/* ---- the order of use ------------------------------------------------------------------------ */

static void leave_list(struct cache *cache, struct cache_set *set, uint32_t slot)
{
    const struct cache_slot *leaving = &cache->slots[slot];
    if (leaving->newer)
        cache->slots[leaving->newer].older = leaving->older;
    else
        set->newest = leaving->older;
    if (leaving->older)
        cache->slots[leaving->older].newer = leaving->newer;
    else
        set->oldest = leaving->newer;
}

static void become_newest(struct cache *cache, struct cache_set *set, uint32_t slot)
{
    cache->slots[slot].newer = 0;
    cache->slots[slot].older = set->newest;
    if (set->newest)
        cache->slots[set->newest].newer = slot;
    else
        set->oldest = slot;
    set->newest = slot;
}

/* ---- accesses -------------------------------------------------------------------------------- */

static uint32_t make_room(struct cache *cache, struct cache_set *set)
{
    uint32_t slot = set->free;
    if (slot) {
        set->free = cache->slots[slot].older;
        return slot;
    }
    if (set->used < cache->ways)
        return (uint32_t)(set - cache->lists) * cache->ways + ++set->used;
    slot = set->oldest;
    leave_list(cache, set, slot);
    leave_bucket(cache, slot);
    return slot;
}

void cache_many_touch(struct cache *cache, uint64_t line)
{
    struct cache_set *set = &cache->lists[cache_set_of(cache, line)];
    uint32_t slot = find(cache, line);
    if (slot) {
        leave_list(cache, set, slot);
    } else {
        cache->misses++;
        slot = make_room(cache, set);
        uint32_t *bucket = bucket_of(cache, line);
        cache->slots[slot].line = line;
        cache->slots[slot].next = *bucket;
        *bucket = slot;
    }
    become_newest(cache, set, slot);
}

/* ---- lines that go --------------------------------------------------------------------------- */

static void forget_slot(struct cache *cache, struct cache_set *set, uint32_t slot)
{
    leave_list(cache, set, slot);
    leave_bucket(cache, slot);
    cache->slots[slot].line = CACHE_NO_LINE;
    cache->slots[slot].older = set->free;
    set->free = slot;
}

void cache_many_forget(struct cache *cache, uint64_t first, uint64_t last)
{
    if (last - first < slots_count(cache)) {
        for (uint64_t line = first; line <= last; line++) {
            uint32_t slot = find(cache, line);
            if (slot)
                forget_slot(cache, &cache->lists[cache_set_of(cache, line)], slot);
        }
        return;
    }
    for (uint32_t s = 0; s < cache->sets; s++) {
        uint32_t start = s * cache->ways + 1;
        for (uint32_t slot = start; slot < start + cache->lists[s].used; slot++)
            if (cache->slots[slot].line != CACHE_NO_LINE && cache->slots[slot].line >= first &&
                cache->slots[slot].line <= last)
                forget_slot(cache, &cache->lists[s], slot);
    }
}

/* ---- checking -------------------------------------------------------------------------------- */

static bool check_set(const struct cache *cache, uint32_t s)
{
    const struct cache_set *set = &cache->lists[s];
    uint32_t held = 0, free = 0, before = 0;
    for (uint32_t slot = set->newest; slot; slot = cache->slots[slot].older, held++) {
        const struct cache_slot *here = &cache->slots[slot];
        if (held >= set->used || here->newer != before || (slot - 1) / cache->ways != s ||
            here->line == CACHE_NO_LINE || cache_set_of(cache, here->line) != s ||
            find(cache, here->line) != slot)
            return false;
        before = slot;
    }
    for (uint32_t slot = set->free; slot; slot = cache->slots[slot].older, free++)
        if (free >= set->used || cache->slots[slot].line != CACHE_NO_LINE)
            return false;
    return before == set->oldest && held + free == set->used && set->used <= cache->ways;
}

bool cache_many_check(const struct cache *cache)
{
    for (uint32_t set = 0; set < cache->sets; set++)
        if (!check_set(cache, set))
            return false;
    return true;
}
