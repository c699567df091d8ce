// SPDX-License-Identifier: MIT
/*
 * cache: caches that the program might run with, simulated: set-associative or fully associative,
 * replacement of the least recently used line, stores like loads, no prefetching, one level
 * for all threads. What a miss-ratio curve says of an ideal cache of a size is true of a fully
 * associative one to the last miss; what ways and sets add is the reason for this room.
 *
 * Built for every access of a program: a bank of caches sees the accesses, and the line touched last,
 * which every cache of the bank holds as its most recent one, costs one comparison for all of them.
 *
 * Freestanding; memory is the caller's; one bank is used by one thread at a time.
 */
#ifndef HEADROOM_CACHE_H
#define HEADROOM_CACHE_H

#include "base/base.h"

enum {
    CACHE_LINE_SHIFT = 6,
    CACHE_LINE_BYTES = 1 << CACHE_LINE_SHIFT,
    CACHE_MAX = 8, /* of one bank */
};
#define CACHE_BYTES_MAX (UINT64_C(1) << 36)

struct cache_shape {
    uint64_t bytes;
    uint32_t ways; /* lines a set; 0: fully associative, one set of all lines */
};

/*
 * Whole sets, from one line to CACHE_BYTES_MAX. How many sets is free: line modulo sets is the set, as
 * 11 ways of 48K sets need it (processors with such caches hash, so that the modulo is as near
 * as any).
 */
bool cache_shape_valid(const struct cache_shape *shape);

struct cache {
    struct cache_shape shape;
    uint64_t misses;         /* of the bank's accesses */
    uint32_t sets, ways;     /* ways as they are: lines a set */
    uint64_t reciprocal;     /* 2^64 / sets, rounded up: for line modulo sets */
    uint64_t *tags;          /* few ways: line + 1, a set's most recent first; 0: empty */
    struct cache_set *lists; /* many ways (many.c) */
    struct cache_slot *slots;
    uint32_t *buckets;
    uint32_t buckets_mask;
};

struct cache_bank {
    uint64_t accesses; /* touches of lines since the last reset */
    uint64_t last;     /* line touched last, + 1; 0: none */
    uint32_t count;
    struct cache caches[CACHE_MAX];
};

/* Memory for one cache of a valid shape: so many bytes, zeroed, 64-byte aligned, lazily touched. */
size_t cache_bytes(const struct cache_shape *shape);

/* bank: zeroed at first. Adds a cache of a valid shape in memory of cache_bytes(). BASE_NO_MEMORY: the
   bank is full. */
enum base_status cache_bank_add(struct cache_bank *bank, const struct cache_shape *shape,
                                void *memory);

/* Every cache of the bank; not for the line touched last. */
void cache_bank_touch(struct cache_bank *bank, uint64_t line);

static inline void cache_bank_line(struct cache_bank *bank, uint64_t line)
{
    bank->accesses++;
    if (bank->last != line + 1)
        cache_bank_touch(bank, line);
}

/* An access touches each of its lines once, in ascending order. */
static inline void cache_bank_access(struct cache_bank *bank, uint64_t address, uint32_t bytes)
{
    uint64_t end = address + bytes;
    if (!bytes || end < address)
        return;
    for (uint64_t line = address >> CACHE_LINE_SHIFT; line <= (end - 1) >> CACHE_LINE_SHIFT; line++)
        cache_bank_line(bank, line);
}

/* Memory was unmapped: its lines leave the caches, as their locations leave `distance`. */
void cache_bank_forget(struct cache_bank *bank, uint64_t address, uint64_t bytes);

/* After a fork: counts begin anew, the caches' contents stay. */
void cache_bank_reset_counts(struct cache_bank *bank);

bool cache_check(const struct cache *cache);

#endif
