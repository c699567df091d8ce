// SPDX-License-Identifier: MIT
/*
 * Optimistic schedules of what was really executed (Touati, MHAOTEU report 1.1, part III, 2.2: instop): a thread's instructions, one
 * after the other, through all branches and functions, with the addresses of their accesses. They are scheduled as the
 * unrolled loop of schedule.h is, but dependences through memory are exact: a load needs the stores that wrote its bytes.
 *
 * What comes from before the first of them, in registers or memory, is there from the beginning. Nothing waits for branches. Stores
 * wait for no cache.
 *
 * A load that the memory model says is a miss has the latency of the level that it hits in place of its own; one whose bytes all come
 * from one store of the window is forwarded from that, and waits for no cache. Loads of a line that is on its way are hits.
 *
 * Pure, as bounds.h.
 */
#ifndef HEADROOM_BOUNDS_EXECUTED_H
#define HEADROOM_BOUNDS_EXECUTED_H

#include "bounds/schedule.h"

enum {
    EXECUTED_INSTRUCTIONS_MAX = BOUNDS_INSTRUCTIONS_MAX,
    EXECUTED_ACCESS_BYTES = 64, /* what is longer counts as so long */
    EXECUTED_LEVELS = 5,        /* the first-level cache, up to three others, memory */
};

struct executed_access {
    uint64_t address;
    uint16_t bytes;
    uint8_t level; /* where it was found: 0 the first-level cache; for EXECUTED_CACHES */
    bool store;
};

struct executed {              /* {0} is empty */
    struct bounds_block block; /* in order of execution */
    uint32_t *first_access;    /* by instruction; those of the last end at access_count */
    size_t first_capacity;
    struct executed_access *accesses;
    size_t access_count, access_capacity;
};

/* Appends an instruction that was executed, of a decoded block. A string instruction that is repeated, as it follows itself, is one
   execution of all its accesses. BASE_TOO_LARGE, BASE_NO_MEMORY. */
enum base_status executed_add(struct executed *executed,
                              const struct bounds_instruction *instruction);
/* An access of the last one. False: no memory. */
bool executed_access(struct executed *executed, const struct executed_access *access);
void executed_free(struct executed *executed);

/* ---- memory models ------------------------------------------------------------------------------- */

enum executed_memory {
    EXECUTED_UNIFORM,    /* all loads hit the first-level cache */
    EXECUTED_COMPULSORY, /* the first access to each line comes from memory, all others hit */
    EXECUTED_CACHES,     /* as simulated: executed_access.level */
    EXECUTED_EXPECTED,   /* each load has a latency of its own: what reuse distances let expect */
    EXECUTED_MEMORIES
};
extern const char
    *const executed_memory_names[EXECUTED_MEMORIES]; /* as options and JSON have them */

struct executed_latencies {
    uint32_t levels; /* 1: of the first-level cache nothing but what the model has */
    float cycles
        [EXECUTED_LEVELS]; /* of a load; [0] is the model's and stands for nothing; memory is the last */
};

/* Thousandths of a cycle by access that a load takes longer than a hit, malloc's. expected: by access, cycles that it takes longer, of
   EXECUTED_EXPECTED alone. first_cycles: of a hit. NULL: no memory. */
int32_t *executed_waits(const struct executed *executed, enum executed_memory memory,
                        const struct executed_latencies *latencies, float first_cycles,
                        const float *expected);

/* ---- the schedule ---------------------------------------------------------------------------------- */

/* The dependences of what was executed: made once for all kinds of machines. */
struct executed_graph {
    const struct executed *executed;
    const struct model *model;
    struct bounds_options options;
    struct bounds bounds; /* vertices and arcs alone */
    int32_t *waits;       /* by vertex: a load's, as above */
    uint32_t misses;      /* loads that wait */
};

/* waits: by access, NULL: none. latencies: NULL: the model's. BASE_NOT_FOUND: nothing was executed; BASE_NO_MEMORY. */
enum base_status executed_depend(const struct executed *executed, const struct model *model,
                                 const struct bounds_latencies *latencies, const int32_t *waits,
                                 struct executed_graph *graph);
void executed_graph_free(struct executed_graph *graph);

/* One iteration, of all instructions; schedule->path is by instruction executed. BASE_NO_MEMORY. */
enum base_status executed_schedule(const struct executed_graph *graph, enum schedule_kind kind,
                                   struct schedule *schedule);

/* Does the model say how far the machine looks ahead? Else SCHEDULE_MACHINE is a guess. */
bool executed_has_buffer(const struct model *model);

#endif
