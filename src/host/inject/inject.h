// SPDX-License-Identifier: MIT
/*
 * inject: changes processes while they run, from outside: hooks their functions so that executions
 * are timed (wire/spans.h), and has their threads execute functions of the agent. The only room
 * that writes into a process or traces a thread. What starts the program, and owns the memory
 * shared with it, is its caller.
 *
 *   service.c   the thread that hooks: pieces of the region, samples, turns
 *   process.c   one process: its modules, what is written into it and when
 *   modules.c   files of modules and the functions in them that are to be hooked
 *   edges.c     where a loop is entered and left
 *   choose.c    which functions are hot;  sample.c  the samples that say so
 *   loops.c     how fast loops are that run for long, by the same samples
 *   live.c      code that is being executed is rewritten;  write.c  single writes
 *   proc.c      what /proc says;  imports.c  what a module imports
 *   unhooked.c  what was left alone, and why
 *   calls.c     functions of the agent, executed by threads of the program
 *   borrow.c    threads of the program that execute other code for a moment
 *
 * Never prints and never exits. All functions are for one thread, the caller's, which need not be
 * always the same.
 */
#ifndef HEADROOM_INJECT_H
#define HEADROOM_INJECT_H

#include "base/base.h"
#include "util/util.h"
#include "wire/spans.h"
#include "wire/wire.h"

#include <sys/types.h>

/* ---- functions hooked ------------------------------------------------------------------------ */

/* A loop in a function of a file, from being entered to being left. */
struct inject_loop {
    const char *path; /* of the file, as the kernel has it */
    uint64_t function,
        head;       /* vaddrs: of the function, of the first instruction of the loop's head */
    uint32_t named; /* as in struct spans_function: the request's name of it, from 1 */
};

/* What is pointed to stays the caller's, until inject_close. */
struct inject_request {
    const char *const *functions; /* patterns (patch_next_match); none: chosen while it runs */
    size_t functions_count;
    const struct inject_loop *loops;
    size_t loops_count;
    const char *const *keys; /* "FUNCTION:ARGUMENT", 0..5; see inject_key */
    size_t keys_count;
    uint32_t every; /* one execution in so many is recorded; 0: as many as are cheap */
    /* Nothing is hooked but functions and markers that `functions` names, of which each is one pattern of functions or one
       marker's name; spans_function.named says which */
    bool only_named;
    bool no_patch;     /* no jumps into code that was not made for it */
    const char *agent; /* path of the agent, of which nothing is hooked */
};

/* A function that was asked for, or hot, and could not be hooked. */
struct inject_unhooked {
    char *name, *module; /* readable name; path, "" if not known */
    char *reason;        /* a clause */
};

struct inject_result {
    struct inject_unhooked *unhooked; /* each function once; inject_unhooked_free */
    size_t unhooked_count;
    uint64_t unhooked_more; /* that are not in the list, which has an end */
    uint32_t patched;       /* functions and markers in code, in some process */
    int sampling_refused;   /* errno: nothing was chosen by itself; 0: it was possible */
    int patching_refused;   /* errno: some process could not be written to */
};

struct inject_service;

enum { INJECT_NOTE_BYTES = 320 };

/* Of "FUNCTION:ARGUMENT" the length of the name and the argument; 0: it is none. */
size_t inject_key(const char *text, uint8_t *argument);

/*
 * region: mapped from `file`, filled in but for its functions, of which those that every recording
 * times are entered; both stay the caller's and outlive the service. NULL: no memory, or errno of
 * fstat.
 */
struct inject_service *inject_open(const struct inject_request *request,
                                   struct spans_region *region, int file);
/* Opens samples of a child that has not executed its program yet, and of all that comes of it. */
void inject_watch(struct inject_service *service, pid_t child);
/* Starts the thread that hooks, with the caller's signal mask. */
void inject_begin(struct inject_service *service);
/* The process will be traced by another: nothing in it is patched any more. Waits until that is so,
   which takes as long as the thread is looking through a module, half a second at most. */
void inject_hush(struct inject_service *service, uint32_t pid);
/* The next sentence for the user. False: there is none. */
bool inject_note(struct inject_service *service, char note[INJECT_NOTE_BYTES]);
/* Nothing is hooked any more. Processes that live on go on by themselves. */
void inject_end(struct inject_service *service);
/* After inject_end; once. */
void inject_take(struct inject_service *service, struct inject_result *result);
/* NULL does nothing. */
void inject_close(struct inject_service *service);

void inject_unhooked_free(struct inject_unhooked *unhooked, size_t count);

/* ---- functions of the agent executed (calls.c) ----------------------------------------------- */

/* A text of /proc/PID/maps; may be used again and again. */
struct inject_maps {
    struct util_text text;
    size_t at;
};

struct inject_calls {
    pid_t program; /* the caller's child */
    struct inject_maps maps;
    pid_t left[64]; /* threads that are still attached to */
    size_t left_count;
};

/* Does what agents ask for through the region; always the same thread, which is the tracer
   meanwhile. hush may be NULL: what is to be done before a process falls silent. */
void inject_calls_serve(struct inject_calls *calls, struct wire_region *region,
                        void (*hush)(void *context, uint32_t pid), void *context);
void inject_calls_end(struct inject_calls *calls);

#endif
