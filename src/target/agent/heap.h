// SPDX-License-Identifier: MIT
/*
 * Between the files that know blocks of memory: heap.c, which keeps those that were recorded, allocate.c and objects.c. Look-ups
 * are as agent_object_of; whatever adds or removes takes a lock: with all signals blocked, and never from our handlers.
 */
#ifndef HEADROOM_AGENT_HEAP_H
#define HEADROOM_AGENT_HEAP_H

#include "base/base.h"

struct heap_block {
    uint64_t start, bytes;          /* bytes > 0 */
    uint32_t process, thread, node; /* as in agent_object */
    float chance;
    bool mapped; /* by mmap */
};

/* A block has been allocated; what was recorded there before is forgotten. */
void heap_add(const struct heap_block *block);
/* That block is being freed: before the allocator gets it, so that it is in nobody else's hands yet. False: it was not recorded. */
bool heap_remove(uint64_t start);
/* Addresses are being unmapped; are any of a recorded mapping? */
void heap_unmap(uint64_t start, uint64_t bytes);
bool heap_maps(uint64_t start, uint64_t bytes);
/* May a recorded block start there? Never a wrong no. */
bool heap_knows(uint64_t start);
/* The recorded block around the address. */
bool heap_find(uint64_t address, struct heap_block *block);
void heap_after_fork(void);
/* A block, recorded or not, is being freed. */
void heap_freed(uint64_t start, uint64_t bytes);
/* Pages, of a recorded mapping or not, are being unmapped. */
void heap_unmapped(uint64_t start, uint64_t bytes);
/* The address's generation, which a free of a block that holds it changes from now on, for GENERATION_WATCHED_NS at least. */
uint32_t heap_watch(uint64_t address);
/* Now and then, also when nothing is watched any more: so that watching ends. */
void heap_tick(void);
uint32_t heap_generation(uint64_t address);

/*
 * Read at each free, so that one that is of no interest costs two loads: how many recorded blocks start at addresses of
 * that hash; was an address near that page published lately?
 */
enum { HEAP_FILTER = 1 << 16, HEAP_PAGES = 1 << 12 };
extern uint8_t heap_filter[HEAP_FILTER], heap_pages[HEAP_PAGES];
static inline bool heap_may_matter(uint64_t start)
{
    return heap_filter[start / 16 % HEAP_FILTER] | heap_pages[start / 4096 % HEAP_PAGES];
}

#endif
