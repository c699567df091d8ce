// SPDX-License-Identifier: MIT
/*
 * shadow: exact detection of dead stores, silent stores and redundant loads, for
 * an engine that sees every access. The definitions are those of `detect`, applied to every byte
 * of every access instead of one byte of a sampled one (witch §6).
 *
 * For every byte of memory it keeps which access stored it last, whether it was loaded
 * since, which access loaded it last and what that load yielded. An *access id*
 * names an access in its calling context: one load or store instruction (one of its accesses) under
 * one chain of callers. Ids are given by the engine, from 1, and are dense; 0 is "no access
 * known": memory fresh from the kernel, or touched last by the kernel.
 *
 * Definitions, per byte b of an access T:
 *   dead:   T stores b, S stored b last, b was not loaded since: waste (S, T). T is the first
 *           load of b since S stored it: use (S, T).
 *   silent: T stores b, S stored b last: waste (S, T) if the group of b is unchanged, else use.
 *   load:   T loads b, L loaded b last: waste (L, T) if the group of b yields what L's load
 *           yielded, else use. Stores in between do not matter.
 * The *group* of b is what is compared as a whole: the bytes of T that lie in the same element of
 * the former access and have the same former access. Elements are aligned blocks of the former
 * access's element size (16 for x87's ten bytes). Floats within the tolerance of detect_same_value, if
 * the group is a whole element; bits otherwise. Of an access that is not aligned to its element
 * size the two parts are compared each for itself: the one difference to `detect`, which knows
 * where the sampled access began. And former accesses are told apart by id: what
 * two executions of one instruction left in one element is one group.
 * The kernel's accesses (reads and writes of system calls) are a T like others, but are never S
 * or L afterwards: the live engine cannot sample them either.
 *
 * Memory: 24 bytes per 8 bytes of touched memory at a fixed distance, so that no table is walked;
 * 32 bytes an id; 32 bytes a pair in a hash table. Maps are reserved once and
 * touched as needed.
 *
 * Freestanding; no locks: one struct shadow is used by one thread at a time.
 */
#ifndef HEADROOM_SHADOW_H
#define HEADROOM_SHADOW_H

#include "base/base.h"

enum {
    SHADOW_ID_BITS = 28,
    SHADOW_MOST_IDS = 0x0f000000, /* ids above name detail records of mixed units       */
    SHADOW_MOST_BYTES = 64,
};

/* Element of an access: its size in bytes (1, 2, 4, 8; float: 4, 8, 10), with SHADOW_FLOAT. */
enum { SHADOW_FLOAT = 0x80 };

/* Injected memory. */
struct shadow_memory {
    /* Zeroed pages, backed when touched (reserve) or a table soon used whole; NULL: none. */
    void *(*map)(void *context, size_t bytes, bool reserve);
    void (*unmap)(void *context, void *memory, size_t bytes);
    /* Makes the pages inside [start, start + bytes) zero again; may give their memory back. */
    void (*clear)(void *context, void *start, size_t bytes);
    void *context;
};

/*
 * Eight bytes of memory in two units of four, at base + address / 8 * 24. A
 * unit's word: id of the last store (load) of its bytes in the low 28 bits; from
 * SHADOW_MOST_IDS on the number of a detail record with an id per byte. Top 4 bits of `store`: bit i:
 * byte i of the unit was stored and not loaded since.
 */
struct shadow_record {
    uint64_t loaded;    /* what the last load of each byte yielded */
    uint32_t store[2];
    uint32_t load[2];
};

/*
 * What an id has met most recently; one pair's counts in bytes. Moved to the pair table when
 * another pair takes its place. Load ids: waste and use are the redundant-load
 * counts of (previous, id), dead is the dead-store *use* of (previous_store, id). Store ids: waste
 * and use are the silent-store counts of (previous, id), dead is the dead-store *waste* of it.
 */
struct shadow_leaf {
    uint32_t previous;       /* 0: waste + use are bytes whose former access is not known        */
    uint32_t previous_store; /* store ids: SHADOW_OF_STORE                                      */
    uint64_t waste, use, dead;
};

/* In a leaf: no pair yet; the leaf of a store. No ids, no details. */
#define SHADOW_NO_PAIR UINT32_C(0xffffffff)
#define SHADOW_OF_STORE UINT32_C(0xfffffffe)

struct shadow_pair {
    uint32_t first, second; /* ids; first 0: slot is empty */
    uint64_t waste, use, dead; /* as in struct shadow_leaf; (store, load): only dead is used */
};

struct shadow {
    unsigned char *base;         /* record of address 0 */
    struct shadow_leaf *leaves;  /* by id */
    uint8_t *elements;           /* by id: element of the access */
    uint32_t (*details)[4];      /* ids per byte of mixed units; free list through [0] */
    uint32_t details_free, details_used;
    struct shadow_pair *pairs;   /* open addressing */
    uint64_t pairs_count, pairs_capacity;
    /* Bytes whose former access is not known; complete after shadow_flush. */
    uint64_t fresh_stores, fresh_loads;
    uint64_t address_limit;      /* rounded up to a power of two */
    uint64_t misfit[4];          /* [log2 n]: bits no address of the inline path for n bytes has */
    uint8_t *mixed_regions;      /* by region of memory: a unit in it may be mixed */
    uint32_t misses;             /* of leaves */
    uint32_t ids_capacity;
    float fp_tolerance;
    bool exhausted;              /* a map was refused: nothing is counted any more */
    struct shadow_memory memory;
};

/*
 * address_limit: all addresses are below (16 TiB at most); ids_capacity <= SHADOW_MOST_IDS.
 * BASE_NO_MEMORY: address space was refused; nothing is kept.
 */
enum base_status shadow_init(struct shadow *shadow, uint64_t address_limit, uint32_t ids_capacity,
                             float fp_tolerance, const struct shadow_memory *memory);
void shadow_free(struct shadow *shadow);

/* To be called once for each id before its first access. An id is of loads or of stores, never
   of both: a system call that does both has two. */
static inline void shadow_define(struct shadow *shadow, uint32_t id, uint8_t element)
{
    shadow->elements[id] = element;
    shadow->leaves[id].previous = shadow->leaves[id].previous_store = SHADOW_NO_PAIR;
}

/*
 * One access, after it has executed. before: memory at the address before a store; value: memory
 * now (what a load yielded). Bytes beyond `bytes` in the 64-bit values are not looked at.
 * 1, 2, 4 and 8 bytes have their common cases inline (shadow/fast.h), equal to shadow_load and
 * shadow_store of the same bytes. Bytes at or beyond address_limit are not counted.
 */
void shadow_load(struct shadow *shadow, uint64_t address, uint32_t id, uint32_t bytes,
                 const uint8_t *value);
void shadow_store(struct shadow *shadow, uint64_t address, uint32_t id, uint32_t bytes,
                  const uint8_t *before, const uint8_t *value);

/* The kernel's access inside the system call that `id` names; any length. value: memory now;
   before: what it was, NULL if not known (then it is no silent store, nor not). */
void shadow_kernel_load(struct shadow *shadow, uint64_t address, uint32_t id, uint64_t bytes,
                        const uint8_t *value);
void shadow_kernel_store(struct shadow *shadow, uint64_t address, uint32_t id, uint64_t bytes,
                         const uint8_t *before, const uint8_t *value);

/* The memory is gone or new from the kernel. */
void shadow_forget(struct shadow *shadow, uint64_t address, uint64_t bytes);

/* Moves all leaves' counts to the pair table; ids 1 .. ids_used - 1. */
void shadow_flush(struct shadow *shadow, uint32_t ids_used);

/* After a fork: what was counted is the parent's. Memory of what happened stays. */
void shadow_reset_counts(struct shadow *shadow, uint32_t ids_used);

/* True if details, pairs and records are consistent in [start, end): for tests. */
bool shadow_check(const struct shadow *shadow, uint64_t start, uint64_t end);

#endif
