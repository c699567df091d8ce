// SPDX-License-Identifier: MIT
/*
 * Runs a kernel with a clone of one of its loops in between: at the loop's head the clone runs, then all is as it was before, and the
 * kernel goes on to its end. In this process, by breakpoints in the kernel's code. One at a time.
 */
#ifndef RUNNER_H
#define RUNNER_H

#include "clone/clone.h"
#include "kernels.h"

struct runner_loop {
    struct cfg *flow;
    struct cfg_code code;
    uint32_t loop;
    struct clone clone;
};

/* Of buffers, in tests: as of a first level of 8 KiB, and a second of 64 KiB. */
enum { RUNNER_L2_BYTES = 32 << 10, RUNNER_L3_BYTES = 256 << 10 };

/* The innermost loops of a kernel and their clones, with all variants; at most `capacity`. Each is to be ended. */
unsigned runner_loops(const struct kernel *kernel, const struct model *model,
                      struct runner_loop *loops, unsigned capacity);
void runner_loop_end(struct runner_loop *loop);

struct runner_seen {
    bool entered; /* the kernel came to the loop's head */
    bool filled;  /* all that is needed could be filled in */
    double ticks; /* mean of those runs that were not interrupted, with the stamps' cost */
    uint64_t cloned[BASE_GENERAL_REGISTERS],
        original[BASE_GENERAL_REGISTERS];  /* in the end of the loop */
    uint64_t head[BASE_GENERAL_REGISTERS]; /* at its first instruction */
    uint64_t cloned_exit, original_exit;
    uint64_t before, after; /* of memory, by `look`, around the clone */
    uint64_t laps;          /* through buffers */
    uint64_t executions;    /* of a nest's loop */
    int64_t progress;       /* likewise, of its counter */
    uint32_t recorded;      /* iterations */
    uint64_t left;          /* runs that were not made */
    bool lapped;            /* because outcomes ran out */
};

struct runner_call {
    double *a;
    const double *b, *c;
    long n;
    unsigned repeat;            /* of the clone */
    enum clone_variant variant; /* RUN_CLONE: the clone's; CLONE_L1: itself */
    enum {
        RUN_CLONE,
        RUN_TWIN,
        RUN_NEST,
        RUN_RECORDER,
    } what; /* the loop's twin, its nest, or what records outcomes, which do the loop's work. These are what clones replay from then on */
    bool twice;        /* RUN_CLONE: that which replays twice */
    uint32_t outcomes; /* RUN_CLONE: iterations for which there are some; 0: for all */
    uint32_t flip;     /* RUN_CLONE: outcomes of that iteration are the opposite; 0: of none */
    uint64_t (*look)(void *context); /* a number made of what the clone must not change; NULL */
    void *context;
};

void runner_run(const struct kernel *kernel, const struct runner_loop *loop,
                const struct runner_call *call, struct runner_seen *seen);

/* Buffers of the variant that was run last; NULL before. */
const uint8_t *runner_buffers(void);

/* Ticks that the time stamps themselves take: least of many. */
uint64_t runner_stamps(void);

#endif
