// SPDX-License-Identifier: MIT
/*
 * Between the files that import what blocks took (wire/blocks.h): reading the region that the programs had in
 * their memory (blocks_region.c), adding up over threads and processes (blocks_merge.c), the way into the profile
 * (blocks.c). Everything in the region may be anything, and may still change: each thing is read once, into a copy.
 */
#ifndef HEADROOM_IMPORT_BLOCKS_H
#define HEADROOM_IMPORT_BLOCKS_H

#include "import/instrumented.h"
#include "import/internal.h"
#include "wire/blocks.h"

/* A block of all threads and processes. */
struct blocks_merged {
    uint32_t function, flags;
    uint64_t key, shape, max, first, last;
    uint64_t preemptions, sleeps;
    uint64_t bins[BLOCKS_BINS];
    uint32_t children_count;
    struct blocks_child children[BLOCKS_CHILDREN];
    uint32_t latest_part; /* index + 1 into parts: of the thread that had it last */
};

struct blocks_part {
    uint32_t block, thread;
    uint64_t count, recorded, sum, min, within, preempted, asleep;
};

struct blocks_stack_row {
    uint32_t block, process, thread, node; /* as in the log           */
    uint32_t place;                        /* index into gather->places */
    uint64_t taken, lost;
};

struct blocks_holder_row {
    uint32_t block, process;
    uint32_t place; /* index into gather->places; UINT32_MAX: not known  */
    uint64_t address, times, ticks;
};

struct blocks_sample_row {
    uint32_t block, weight;
    struct blocks_sample sample;
};

struct blocks_owner { /* beside profile->block_threads */
    uint64_t begun, ticks, latest; /* latest: time stamp at which it was alive      */
    uint32_t process, live, log_thread; /* log_thread: as in the log; 0: not known   */
};

struct blocks_import {
    struct instrumented_source source;
    struct import_gather *gather;
    struct profile *profile;
    struct blocks_region *region; /* a copy */
    uint32_t functions;           /* numbers below may be used if their state is READY */
    uint32_t ids[BLOCKS_FUNCTIONS];    /* by number: in profile->block_functions; 0: none  */
    uint32_t places[BLOCKS_FUNCTIONS]; /* by number: index into gather->places; UINT32_MAX */
    double ns_per_tick;
    struct blocks_merged *blocks;
    size_t blocks_count, blocks_capacity;
    struct util_index by_key;
    struct blocks_part *parts;
    size_t parts_count, parts_capacity;
    struct blocks_stack_row *stacks;
    size_t stacks_count, stacks_capacity;
    struct blocks_holder_row *holders;
    size_t holders_count, holders_capacity;
    struct blocks_sample_row *samples;
    size_t samples_count, samples_capacity;
    struct blocks_owner *owners;
    size_t owners_capacity;
    size_t places_capacity;
    uint64_t damaged;   /* things that make no sense               */
    uint64_t sequences_full;
};

/* ---- the region (blocks_region.c) ---------------------------------------------------------- */

/* Reads the head. error: one sentence. */
enum base_status blocks_region_open(struct blocks_import *import, int file, char *error,
                                    size_t error_bytes);

/* All threads' pieces, each block handed to blocks_merge. False: no memory. */
bool blocks_region_read(struct blocks_import *import);

/* May that number be used? */
bool blocks_function_ok(const struct blocks_import *import, uint32_t number);

/* ---- adding up (blocks_merge.c) --------------------------------------------------------------- */

/* thread: index into profile->block_threads. The block is a copy that is made consistent first. False: no memory. */
bool blocks_merge(struct blocks_import *import, uint32_t process, uint32_t thread,
                  struct blocks_block *block);

#endif
