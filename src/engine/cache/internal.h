// SPDX-License-Identifier: MIT
/* Between the two kinds of caches, private to the room. */
#ifndef HEADROOM_CACHE_INTERNAL_H
#define HEADROOM_CACHE_INTERNAL_H

#include "cache/cache.h"

/*
 * Up to so many ways a set is an array, most recent first, searched and shifted in one go: four cache
 * lines at most. Beyond, lines are found by a hash and ordered by a list (many.c), which
 * costs a few times as much and does not grow.
 */
enum { CACHE_FEW_WAYS = 32 };

/* line modulo sets by two multiplications (Lemire, Kaser and Kurz 2019), which are exact for 32 bits: nearly all lines. */
static inline uint32_t cache_set_of(const struct cache *cache, uint64_t line)
{
    if (__builtin_expect(line > UINT32_MAX, 0))
        return (uint32_t)(line % cache->sets);
    uint64_t fraction = cache->reciprocal * line;
    return (uint32_t)(((unsigned __int128)fraction * cache->sets) >> 64);
}

/* ---- many ways (many.c) ---------------------------------------------------------------------- */

/* Slots of set s: s × ways + 1 on, so that 0 is none. */
struct cache_set {
    uint32_t newest, oldest; /* ends of the list of those that hold a line */
    uint32_t used;           /* slots that were ever used */
    uint32_t free;           /* of these, first of those that hold none, linked by `older` */
};

struct cache_slot {
    uint64_t line; /* CACHE_NO_LINE: free */
    uint32_t newer, older;
    uint32_t next; /* of the same bucket */
};
#define CACHE_NO_LINE UINT64_MAX

size_t cache_many_bytes(const struct cache *cache);
void cache_many_init(struct cache *cache, void *memory);
void cache_many_touch(struct cache *cache, uint64_t line);
void cache_many_forget(struct cache *cache, uint64_t first, uint64_t last);
bool cache_many_check(const struct cache *cache);

#endif
