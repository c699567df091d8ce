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

/* The innermost loops of a kernel and their clones; at most `capacity`. Each is to be ended. */
unsigned runner_loops(const struct kernel *kernel, const struct model *model,
                      struct runner_loop *loops, unsigned capacity);
void runner_loop_end(struct runner_loop *loop);

struct runner_seen {
    bool entered;   /* the kernel came to the loop's head */
    bool filled;    /* all that is needed could be filled in */
    uint64_t ticks; /* least of all runs, with the stamps' cost */
    uint64_t cloned[BASE_GENERAL_REGISTERS],
        original[BASE_GENERAL_REGISTERS];  /* in the end of the loop */
    uint64_t head[BASE_GENERAL_REGISTERS]; /* at its first instruction */
    uint64_t cloned_exit, original_exit;
    uint64_t before, after; /* of memory, by `look`, around the clone */
    uint64_t executions;    /* of a nest's loop */
    int64_t progress;       /* likewise, of its counter */
};

struct runner_call {
    double *a;
    const double *b, *c;
    long n;
    unsigned repeat; /* of the clone */
    enum {
        RUN_CLONE,
        RUN_TWIN,
        RUN_NEST
    } what;                          /* the loop's twin, or its nest, which do the loop's work */
    uint64_t (*look)(void *context); /* a number made of what the clone must not change; NULL */
    void *context;
};

void runner_run(const struct kernel *kernel, const struct runner_loop *loop,
                const struct runner_call *call, struct runner_seen *seen);

/* Ticks that the time stamps themselves take: least of many. */
uint64_t runner_stamps(void);

#endif
