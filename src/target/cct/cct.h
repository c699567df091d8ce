// SPDX-License-Identifier: MIT
/*
 * cct: the calling contexts in which a thread of a live recording was sampled, and what the detectors
 * know of each: a calling-context tree (Ammons, Ball, Larus 1997) of bounded size, one node per
 * (parent, module, address). Node 0 is the root. Recursion is folded before it gets here
 * (agent/context.c). Memory is the caller's, never moves and is used from the front, so untouched pages
 * cost nothing.
 *
 * For the agent alone, whose contexts come from unwinding, one sample at a time. Engines that see every
 * call and return have trees of their own, which go from context to context without a search:
 * exact/context.c, runtime/context.c.
 *
 * Freestanding, signal-safe; one tree belongs to one thread.
 */
#ifndef HEADROOM_CCT_H
#define HEADROOM_CCT_H

#include "base/base.h"
#include "detect/detect.h"

struct cct_node {
    uint64_t vaddr; /* ELF virtual address in module, or absolute if module is 0 */
    uint32_t parent;
    uint32_t module;
    uint32_t next;  /* hash chain */
    uint32_t flags; /* the caller's */
    struct detect_context detect;
};

struct cct {
    struct cct_node *nodes;
    uint32_t *buckets;
    uint32_t count, capacity, bucket_mask;
};

/* Bytes needed for a tree of up to `capacity` nodes (power of two >= 64). */
size_t cct_bytes(uint32_t capacity);

/* memory: zeroed, cct_bytes(capacity) long, 64-byte aligned. */
void cct_init(struct cct *cct, void *memory, uint32_t capacity);

/* Child of parent for (module, vaddr), made if new (*made says so). 0 if the tree is full. */
uint32_t cct_enter(struct cct *cct, uint32_t parent, uint32_t module, uint64_t vaddr, bool *made);

/* True if parents precede children, chains end, counts agree: for tests. */
bool cct_check(const struct cct *cct);

#endif
