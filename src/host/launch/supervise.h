// SPDX-License-Identifier: MIT
/*
 * A program that is started, waited for and reaped, whatever observes it: signals, limits, one
 * loop, the end. What a kind of recording adds is a struct launch_supervised. Private to launch.
 */
#ifndef HEADROOM_LAUNCH_SUPERVISE_H
#define HEADROOM_LAUNCH_SUPERVISE_H

#include "launch/internal.h"

/* Callbacks are called in this order, by the thread of launch_supervise. */
struct launch_supervised {
    void *context;
    const struct launch_request *program; /* what is executed */
    const char *engine;                   /* NULL, or its name: it is not the program itself */
    int tick_ms;                          /* turn is called at least that often */
    bool unlimited; /* limit on file sizes: off for the privileged; else as far as anybody may */
    bool trial;     /* nothing in this process stays changed */

    /* Everything that can fail before the program runs: fills in what follows. Limits are raised,
       signals blocked. False: error is set. */
    bool (*prepare)(struct launch_supervised *supervised, char *error);
    char **environment;         /* one block; freed */
    struct wire_region *region; /* NULL, or its doorbell ends a sleep of the loop, as signals do */
    int file;                   /* without a region: it does when it is readable; -1: none */

    void (*before)(void *context, pid_t child); /* as launch_start; may be NULL */
    void (*begun)(void *context, pid_t child);  /* signals are not blocked; may be NULL */
    void (*turn)(void *context); /* once more when the program has ended; may be NULL */
    /* The program is reaped, or goes on (result->detached). Fills in the rest of *result. Not
       LAUNCH_OK: error is set. */
    enum launch_outcome (*ended)(void *context, pid_t child, struct launch_result *result,
                                 char *error);
};

/* *result only on LAUNCH_OK, after which this process stays changed as launch_record says. */
enum launch_outcome launch_supervise(struct launch_supervised *supervised,
                                     struct launch_result *result, char *error);

/* A zombie has ended; a zombie leader of living threads has not. */
bool launch_is_alive(uint32_t pid);

#endif
