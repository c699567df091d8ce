// SPDX-License-Identifier: MIT
/*
 * heapmap: which block of the heap an address lies in, for an engine that sees all allocations. Adding and removing one takes a
 * few stores; so nothing is sorted.
 *
 * Each 16 bytes of memory have a number, of the block that was there last; of a block they are set for its first page alone, and
 * behind that one for each page. Numbers of blocks that are no more stay where they are: a block knows where it begins and
 * ends, so that they say nothing wrong. Where two blocks have parts of the same 16 bytes, only the one that came later is found there.
 *
 * Memory: 4 bytes for 16 of blocks' first pages, backed when touched; 32 a block.
 * Freestanding; no locks: one struct heapmap is used by one thread at a time.
 */
#ifndef HEADROOM_HEAPMAP_H
#define HEADROOM_HEAPMAP_H

#include "base/base.h"

struct heapmap_block {
    uint64_t start, bytes; /* bytes 0: none; start is then the number of the next one of these */
    uint64_t function;     /* that allocated it; the caller's, as `context` */
    uint32_t context, unused;
};

struct heapmap_memory {
    /* Zeroed pages, backed when touched; NULL: none. */
    void *(*map)(void *context, size_t bytes);
    void (*unmap)(void *context, void *memory, size_t bytes);
    void *context;
};

struct heapmap {
    uint32_t *numbers, *pages; /* by address / 16, by address / 4096 */
    struct heapmap_block *all;
    uint32_t count, most, unused; /* unused: the first one; 0: none */
    uint64_t address_limit;
    struct heapmap_memory memory;
};

/* address_limit: a multiple of 4096, beyond all addresses that are followed. most: blocks at a time; further ones are
   not found. BASE_NO_MEMORY: nothing is kept. */
enum base_status heapmap_init(struct heapmap *map, uint64_t address_limit, uint32_t most,
                              const struct heapmap_memory *memory);
void heapmap_free(struct heapmap *map);

/* A block at `start`, of at least one byte; there is none at its first byte, nor at its last. */
void heapmap_add(struct heapmap *map, uint64_t start, uint64_t bytes, uint32_t context,
                 uint64_t function);

/* The block that holds the address, if there is one, is no more. */
void heapmap_remove(struct heapmap *map, uint64_t address);

/* NULL: none that is known. Valid until the next change. */
const struct heapmap_block *heapmap_find(const struct heapmap *map, uint64_t address);

#endif
