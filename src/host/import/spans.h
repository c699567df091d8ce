// SPDX-License-Identifier: MIT
/*
 * Between the files that import what spans took (wire/spans.h): reading the region that the programs had in
 * their memory (spans_region.c), adding up over threads and processes (spans_merge.c), and what goes into the profile
 * (spans.c). Everything in the region may be anything, and may still change: each thing is read once, into a copy.
 */
#ifndef HEADROOM_IMPORT_SPANS_H
#define HEADROOM_IMPORT_SPANS_H

#include "import/instrumented.h"
#include "import/internal.h"
#include "wire/spans.h"

/* A span of all threads and processes. */
struct spans_merged {
    uint32_t function, flags;
    uint64_t key, shape, max, first, last;
    uint64_t preemptions, sleeps;
    uint64_t bins[SPANS_BINS];
    uint32_t children_count;
    struct spans_child children[SPANS_CHILDREN];
    uint32_t latest_part; /* index + 1 into parts: of the thread that had it last */
};

struct spans_part {
    uint32_t span, thread;
    uint64_t count, recorded, sum, min, within, preempted, asleep, asleep_within;
};

struct spans_stack_row {
    uint32_t span, process, thread, node; /* as in the log */
    uint32_t place;                       /* index into gather->places */
    uint64_t taken, lost;
};

struct spans_holder_row {
    uint32_t span, process;
    uint32_t place; /* index into gather->places; UINT32_MAX: not known */
    uint64_t address, times, ticks;
};

struct spans_sample_row {
    uint32_t span, weight;
    struct spans_sample sample;
};

struct spans_owner {                    /* beside profile->span_threads */
    uint64_t begun, ticks, latest;      /* latest: time stamp at which it was alive */
    uint32_t process, live, log_thread; /* log_thread: as in the log; 0: not known */
    uint32_t tid;                       /* of the last owner */
    uint64_t cpu_ns;
    char name[SPANS_THREAD_NAME + 1]; /* empty: not known */
};

struct spans_import {
    struct instrumented_source source;
    struct import_gather *gather;
    struct profile *profile;
    struct spans_region *region;      /* a copy */
    uint32_t functions;               /* numbers below may be used if their state is READY */
    uint32_t ids[SPANS_FUNCTIONS];    /* by number: in profile->span_functions; 0: none */
    uint32_t places[SPANS_FUNCTIONS]; /* by number: index into gather->places; UINT32_MAX */
    double ns_per_tick;
    struct spans_merged *spans;
    size_t spans_count, spans_capacity;
    struct util_index by_key;
    struct spans_part *parts;
    size_t parts_count, parts_capacity;
    struct spans_stack_row *stacks;
    size_t stacks_count, stacks_capacity;
    struct spans_holder_row *holders;
    size_t holders_count, holders_capacity;
    struct spans_sample_row *samples;
    size_t samples_count, samples_capacity;
    struct spans_owner *owners;
    size_t owners_capacity;
    size_t places_capacity;
    uint64_t damaged; /* things that make no sense */
    uint64_t sequences_full;
};

/* ---- the region (spans_region.c) ------------------------------------------------------------- */

/* Reads the head. error: one sentence. */
enum base_status spans_region_open(struct spans_import *import, int file, char *error,
                                   size_t error_bytes);

/* What the above and the below keep; the profile and what gathers the log stay the caller's, as the structure itself. */
void spans_region_free(struct spans_import *import);

/* All threads' pieces, each span handed to spans_merge. False: no memory. */
bool spans_region_read(struct spans_import *import);

/* What samples say of loops, in the piece at that offset; when all else is read (spans_loops.c). False: no memory. */
bool spans_loops_read(struct spans_import *import, uint64_t offset);

/* May that number be used? */
bool spans_function_ok(const struct spans_import *import, uint32_t number);

/* ---- adding up (spans_merge.c) --------------------------------------------------------------- */

/* thread: index into profile->span_threads. The span is a copy that is made consistent first. False: no memory. */
bool spans_merge(struct spans_import *import, uint32_t process, uint32_t thread,
                 struct spans_span *span);

#endif
