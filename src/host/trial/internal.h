// SPDX-License-Identifier: MIT
/* Between the files of trial: modules.c finds loops, service.c chooses among them, attempt.c tries one. */
#ifndef HEADROOM_TRIAL_INTERNAL_H
#define HEADROOM_TRIAL_INTERNAL_H

#include "binary/code.h"
#include "inject/borrow.h"
#include "inject/sampler.h"
#include "os/os.h"
#include "pathgraph/pathgraph.h"
#include "trial/trial.h"
#include "util/util.h"

#include <pthread.h>

enum { TRIAL_CHAIN_CYCLES = 32768, TRIAL_GATES_MAX = 16 };

struct trial_function {
    uint64_t start, end;
    uint8_t *bytes;
    struct cfg_code code;
    struct cfg *flow; /* NULL: not known */
    uint32_t *loops;  /* by loop of the flow: number in service->hot + 1; 0: none yet */
};

/* On a way into a loop: where there is a nop of INJECT_PATCH_BYTES. */
struct trial_gate {
    uint64_t head, at;
};

struct trial_module {
    char *path;
    struct binary *binary; /* NULL: cannot be read */
    struct code *code;
    struct pathgraph_returns *returns;
    struct trial_function **functions; /* in the order in which they were met */
    size_t functions_count, functions_capacity;
    struct trial_gate *gates; /* by head */
    size_t gates_count;
};

/* A loop that was sampled. */
struct trial_hot {
    struct trial_module *module;
    struct trial_function *function;
    uint32_t loop;
    bool innermost, wanted;
    struct clone
        clone; /* of loops that are wanted; reason CLONE_ELIGIBLE and no `made`: not looked at yet */
    bool looked_at;
    /* parts of it, and of what it calls, that were executed in most of the runs that looked: CLONE_MARKS_MAX; NULL: none yet */
    uint8_t *marks;
    uint16_t *marked; /* in how many runs each was */
    uint16_t mark_runs;
    struct trial_loop out;
    const struct trial_gate *gates; /* of this loop */
    size_t gates_count;
    double heads, progress,
        executions;             /* of all that was recorded: iterations begun, and by its counter */
    pid_t pid, tid;             /* where it was sampled last */
    uint64_t seen_ns, tried_ns; /* CLOCK_MONOTONIC */
    uint32_t tries, failures;   /* failures: in a row */
    unsigned variant;           /* that was tried last */
    uint16_t *outcomes;         /* of branches, WIRE_CLONE_ITERATIONS of them; NULL: none yet */
    uint32_t outcomes_count;    /* iterations of which they are known */
    bool replayed; /* in a trial: the next one records others, as processors learn them */
};

struct trial_map { /* executable memory of a process */
    uint32_t pid;
    uint64_t start, bytes, offset;
    struct trial_module *module; /* NULL: not looked into */
};

struct trial_service {
    const struct trial_request *request;
    struct inject_sampler sampler;
    struct trial_module **modules;
    size_t modules_count, modules_capacity;
    struct trial_map *maps;
    size_t maps_count, maps_capacity;
    struct trial_hot **hot;
    size_t hot_count, hot_capacity;
    struct wire_clone *nothing, *chain, *stamps, *touch;
    struct inject_state *state;
    struct wire_clone_yard *yard;
    uint8_t *text;    /* of code that is placed */
    uint8_t *buffers; /* trial_walk_bytes of them; NULL: none */
    uint64_t begun_ticks,
        begun_ns; /* when it was watched first: what a tick of the time stamp counter is */
    double ticks_a_ns;
    double ns, cost_ns;
    uint64_t samples;
    int sampling_refused, tracing_refused, arming_refused;
    bool traced; /* some thread could be */
    pid_t child;
    pthread_t thread;
    bool running;
    _Atomic bool quit;
    pthread_mutex_t mutex; /* held while a thread is borrowed; guards `hushed` */
    uint32_t *hushed;
    size_t hushed_count, hushed_capacity;
};

/* ---- modules.c ---------------------------------------------------------------------------------- */

struct trial_module *trial_module_of(struct trial_service *service, const char *path);
/* The innermost loop around a byte of a module's file; NULL: none, or no memory. */
struct trial_hot *trial_loop_at(struct trial_service *service, struct trial_module *module,
                                uint64_t offset);
/*
 * Was a function of the module called from where its caller goes on at that byte of the file? *function: a byte of it; if so, of its caller. *hot: the loop in
 * which that is, NULL if there is none.
 */
bool trial_called_from(struct trial_service *service, struct trial_module *module, uint64_t offset,
                       uint64_t *function, struct trial_hot **hot);
/* Its clone, or why there is none; what people call it. */
void trial_look_at(struct trial_service *service, struct trial_hot *hot);
/* Again, since more of its parts were executed. */
void trial_look_again(struct trial_service *service, struct trial_hot *hot);
/* A function that is in the loop's clone. */
const struct trial_function *trial_callee(const struct trial_hot *hot, uint64_t entry);
void trial_modules_free(struct trial_service *service);

void trial_loop_free(struct trial_loop *loop); /* service.c */

/* ---- attempt.c ---------------------------------------------------------------------------------- */

enum trial_outcome { TRIAL_DONE, TRIAL_RECORDED, TRIAL_MISSED, TRIAL_DISTURBED, TRIAL_REFUSED };

/* Borrows the thread that was seen in the loop last. DONE: a pair was added to its `out`. RECORDED: outcomes of branches are known, for the next trials. */
enum trial_outcome trial_attempt(struct trial_service *service, struct trial_hot *hot);

#endif
