// SPDX-License-Identifier: MIT
/*
 * Samples of the clock in all threads of a program, taken from outside by perf's software events:
 * nothing of it executes in the program's own code. Where perf_event_open is refused there are
 * none.
 *
 * For one thread at a time.
 */
#ifndef HEADROOM_INJECT_SAMPLER_H
#define HEADROOM_INJECT_SAMPLER_H

#include "base/base.h"

#include <sys/types.h>

enum { INJECT_STACK_WORDS = 32 };

struct inject_sample {
    uint32_t pid, tid;
    uint64_t ip, time_ns;                     /* CLOCK_MONOTONIC */
    uint64_t weight_ns;                       /* of CPU time in user mode that it stands for */
    uint64_t general[BASE_GENERAL_REGISTERS]; /* by enum base_register; all 0: not known */
    unsigned stack_words; /* from the stack pointer on; 0: not asked for, or not known */
    uint64_t stack[INJECT_STACK_WORDS];
};

/* Executable memory that a process has mapped. */
struct inject_mapped {
    uint32_t pid;
    uint64_t start, bytes, offset; /* offset: in the file */
    const char *path; /* of a file if it begins with '/'; valid during the call alone */
};

/* Functions that are called, in the order of time as far as processors agree on it. With `maps` all of them, else `sample` alone
   is called, and the others may be NULL. */
struct inject_sampler_taker {
    void *context;
    void (*sample)(void *context, const struct inject_sample *sample);
    void (*mapped)(void *context, const struct inject_mapped *mapped);
    void (*forked)(void *context, uint32_t pid, uint32_t parent); /* it has its parent's memory */
    void (*executed)(void *context, uint32_t pid);                /* its memory is a new one */
    void (*ended)(void *context, uint32_t pid);
};

struct inject_sampler {
    struct inject_sampler_cpu *cpus;
    size_t count;
    bool running;
};

/*
 * All processes that come of a child that has not executed its program yet; a sample each
 * `period_ns` of CPU time of a thread. maps: mappings, forks, execs and ends are reported as well. stack: samples have words of it. 0, or errno;
 * it runs.
 */
int inject_sampler_open(struct inject_sampler *sampler, pid_t child, uint64_t period_ns, bool maps,
                        bool stack);
/* No samples are taken meanwhile, if not. */
void inject_sampler_run(struct inject_sampler *sampler, bool run);
void inject_sampler_drain(struct inject_sampler *sampler, const struct inject_sampler_taker *taker);
/* A sampler of zeros is closed. */
void inject_sampler_close(struct inject_sampler *sampler);

#endif
