// SPDX-License-Identifier: MIT
/* Banks, shapes, and caches of few ways. */
#include "cache/internal.h"

/* ---- shapes ------------------------------------------------------------------------------ */

bool cache_shape_valid(const struct cache_shape *shape)
{
    uint64_t ways = shape->ways ? shape->ways : 1;
    return shape->bytes && shape->bytes <= CACHE_BYTES_MAX &&
           shape->bytes % (ways * CACHE_LINE_BYTES) == 0;
}

static struct cache shaped(const struct cache_shape *shape)
{
    uint32_t lines = (uint32_t)(shape->bytes >> CACHE_LINE_SHIFT);
    struct cache cache = {.shape = *shape, .ways = shape->ways ? shape->ways : lines};
    cache.sets = lines / cache.ways;
    /* 0 for one set: so is the modulo. */
    cache.reciprocal = UINT64_MAX / cache.sets + 1;
    return cache;
}

size_t cache_bytes(const struct cache_shape *shape)
{
    struct cache cache = shaped(shape);
    return cache.ways > CACHE_FEW_WAYS ? cache_many_bytes(&cache)
                                       : (size_t)cache.sets * cache.ways * sizeof *cache.tags;
}

/* ---- few ways ------------------------------------------------------------------------------ */

/* Each way's line goes to the next one, until the place where it came from, or the
 * first empty one. */
static void few_touch(struct cache *cache, uint64_t line)
{
    uint64_t *tags = cache->tags + (size_t)cache_set_of(cache, line) * cache->ways;
    uint64_t wanted = line + 1, carried = wanted;
    for (uint32_t way = 0; way < cache->ways; way++) {
        uint64_t here = tags[way];
        tags[way] = carried;
        if (here == wanted)
            return;
        carried = here;
        if (!here)
            break;
    }
    cache->misses++;
}

/* Those behind move up: empty ways stay the last ones. */
static void few_forget_way(const struct cache *cache, uint64_t *tags, uint32_t way)
{
    for (; way + 1 < cache->ways && tags[way + 1]; way++)
        tags[way] = tags[way + 1];
    tags[way] = 0;
}

static void few_forget_set(const struct cache *cache, uint32_t set, uint64_t first, uint64_t last)
{
    uint64_t *tags = cache->tags + (size_t)set * cache->ways;
    for (uint32_t way = 0; way < cache->ways && tags[way];)
        if (tags[way] - 1 >= first && tags[way] - 1 <= last)
            few_forget_way(cache, tags, way);
        else
            way++;
}

static void few_forget(struct cache *cache, uint64_t first, uint64_t last)
{
    if (last - first < cache->sets)
        for (uint64_t line = first; line <= last; line++)
            few_forget_set(cache, cache_set_of(cache, line), line, line);
    else
        for (uint32_t set = 0; set < cache->sets; set++)
            few_forget_set(cache, set, first, last);
}

static bool few_check_set(const struct cache *cache, uint32_t set)
{
    const uint64_t *tags = cache->tags + (size_t)set * cache->ways;
    for (uint32_t way = 0; way < cache->ways; way++) {
        if (!tags[way])
            continue;
        if ((way && !tags[way - 1]) || cache_set_of(cache, tags[way] - 1) != set)
            return false;
        for (uint32_t other = 0; other < way; other++)
            if (tags[other] == tags[way])
                return false;
    }
    return true;
}

/* ---- banks --------------------------------------------------------------------------------- */

enum base_status cache_bank_add(struct cache_bank *bank, const struct cache_shape *shape,
                                void *memory)
{
    if (bank->count == CACHE_MAX)
        return BASE_NO_MEMORY;
    struct cache *cache = &bank->caches[bank->count++];
    *cache = shaped(shape);
    if (cache->ways > CACHE_FEW_WAYS)
        cache_many_init(cache, memory);
    else
        cache->tags = memory;
    return BASE_OK;
}

void cache_bank_touch(struct cache_bank *bank, uint64_t line)
{
    bank->last = line + 1;
    for (uint32_t i = 0; i < bank->count; i++) {
        struct cache *cache = &bank->caches[i];
        if (cache->tags)
            few_touch(cache, line);
        else
            cache_many_touch(cache, line);
    }
}

void cache_bank_forget(struct cache_bank *bank, uint64_t address, uint64_t bytes)
{
    uint64_t end = address + bytes - 1;
    if (!bytes || !bank->last)
        return;
    if (end < address)
        end = UINT64_MAX;
    uint64_t first = address >> CACHE_LINE_SHIFT, last = end >> CACHE_LINE_SHIFT;
    for (uint32_t i = 0; i < bank->count; i++) {
        struct cache *cache = &bank->caches[i];
        if (cache->tags)
            few_forget(cache, first, last);
        else
            cache_many_forget(cache, first, last);
    }
    bank->last = UINT64_MAX; /* no line's: what was touched last may be gone */
}

void cache_bank_reset_counts(struct cache_bank *bank)
{
    bank->accesses = 0;
    for (uint32_t i = 0; i < bank->count; i++)
        bank->caches[i].misses = 0;
}

bool cache_check(const struct cache *cache)
{
    if (!cache->tags)
        return cache_many_check(cache);
    for (uint32_t set = 0; set < cache->sets; set++)
        if (!few_check_set(cache, set))
            return false;
    return true;
}
