// SPDX-License-Identifier: MIT
/*
 * trial: how fast hot innermost loops of a program that runs would be if all their accesses hit the first-level cache. Samples of the
 * clock, taken from outside, say which loops are hot; room clone rewrites them. Now and then a thread is
 * borrowed (inject/borrow.h) when it comes to such a loop's head: it executes the clone, with its own registers, hence as
 * many iterations as the loop is about to make; then everything is put back and it executes the loop itself, as a copy
 * between the same time stamps, and goes on behind it. After MHAOTEU part II (mpc).
 *
 * Of a loop that takes long, a part is executed: a clone is cut off after some time, and the copy goes over into the loop itself
 * where it is then. Of a loop whose executions are short the loops around it are executed, as a copy, with time stamps around each
 * execution: one right after a stop would find in the caches what the stop has left there. A trial during which the thread lost its processor is not counted.
 *
 * Works in a thread of its own, which takes a small part of the program's time at most. Never prints, never exits. All
 * functions are for one thread, the caller's.
 */
#ifndef HEADROOM_TRIAL_H
#define HEADROOM_TRIAL_H

#include "binary/binary.h"
#include "clone/clone.h"

#include <sys/types.h>

/* One loop, by name: a function, a source line, or all. */
struct trial_target {
    const char *function; /* NULL: any */
    const char *file;     /* the end of a source file's path; NULL: any */
    uint32_t line;        /* 0: any; one that the loop has an instruction of */
};

/* What is pointed to stays the caller's until trial_close. */
struct trial_request {
    const struct model *model;
    struct binary_options symbols;
    const struct trial_target *targets; /* none: all hot loops */
    size_t targets_count;
    double budget;     /* for which threads may be stopped, of their CPU time; 0: a few per cent */
    const char *agent; /* path of the agent, in which no loop is looked at */
    uint32_t variants; /* bit v: enum clone_variant v, one of them in each trial */
    uint32_t walk_bytes[CLONE_VARIANTS]; /* for clone_of */
};

/* Of buffers that the agent has to have for these. */
uint32_t trial_walk_bytes(const struct trial_request *request);

/* Ticks are of the time stamp counter, without what the stamps take. */
struct trial_pair {
    double clone, loop; /* ticks */
    double least;       /* of all the times that the clone was executed */
    double clone_turns,
        loop_turns; /* iterations; 0: not known, but as many in both if both were executed to the end */
    double ticks_a_cycle;
    uint8_t variant;      /* enum clone_variant: that was executed beside these; CLONE_L1: none */
    double variant_ratio; /* of its time an iteration to the clone's */
    bool entered;         /* from the loop's first iteration on; else from one in between */
    bool cut;             /* one of both */
    bool
        between; /* loop: the mean of executions that followed each other undisturbed, others than the clone's */
};

struct trial_loop {
    char *function, *file, *module; /* file: NULL: unknown */
    uint32_t line;                  /* 0: unknown */
    uint64_t address;               /* of its head, in the module's file */
    uint8_t reason;                 /* enum clone_reason */
    char *culprit_file;             /* of the instruction that is the reason; NULL: unknown */
    uint32_t culprit_line;
    char *callee; /* CLONE_CALLS: name; NULL: unknown */
    char *
        within; /* name of what the loop calls, if the reason is in there; NULL: it is in the loop, or unknown */
    uint32_t instructions, ways;
    double recurrence, recurrence_after;
    uint8_t lacks[CLONE_VARIANTS]; /* enum clone_lack: why a variant was not tried */
    double ns;                     /* of CPU time in user mode, by samples */
    uint64_t samples;
    struct trial_pair *pairs;
    size_t pairs_count, pairs_capacity;
    uint32_t missed, disturbed,
        refused; /* trials that gave nothing: the thread was elsewhere; lost its processor; could not be done */
};

struct trial_result {
    struct trial_loop *loops; /* innermost loops with samples */
    size_t count;
    double ns;            /* of all samples */
    double cost_ns;       /* for which threads were held */
    int sampling_refused; /* errno: there were no samples; 0: it was possible */
    int tracing_refused;  /* errno of the last thread that could not be traced, if none could; 0 */
    int arming_refused;   /* errno of the last debug register that could not be armed; 0 */
    uint32_t variants;    /* those of the request */
    uint32_t named;       /* targets of the request: loops are theirs alone; 0: all */
};

struct trial_service;

/* NULL: no memory. cfg_start has been called. */
struct trial_service *trial_open(const struct trial_request *request);
/* Samples of a child that has not executed its program yet, and of all that comes of it. */
void trial_watch(struct trial_service *service, pid_t child);
/* Starts the thread, with the caller's signal mask. False: no memory for one. */
bool trial_begin(struct trial_service *service);
/* The process is left alone from now on; returns when it is. */
void trial_hush(struct trial_service *service, uint32_t pid);
/* No thread is borrowed any more. */
void trial_end(struct trial_service *service);
/* After trial_end, once. */
void trial_take(struct trial_service *service, struct trial_result *result);
void trial_close(struct trial_service *service); /* NULL does nothing */

void trial_result_free(struct trial_result *result);

#endif
