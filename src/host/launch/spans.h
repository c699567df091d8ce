// SPDX-License-Identifier: MIT
/* A recording in which spans are timed, private to launch. */
#ifndef HEADROOM_LAUNCH_SPANS_H
#define HEADROOM_LAUNCH_SPANS_H

#include "launch/launch.h"

#include <pthread.h>

/* Time stamp counter and CLOCK_MONOTONIC_RAW, read together (spans.c). */
void launch_spans_clocks(uint64_t *ticks, uint64_t *ns);

/* ---- copies in a file (spans_save.c) --------------------------------------------------------- */

struct launch_saver {
    int region, log;
    char path[LAUNCH_PATH_BYTES]; /* of the last one; "": there is none */
    pthread_t thread;
    bool running;
    _Atomic uint32_t quit; /* futex */
};

void launch_saver_begin(struct launch_saver *saver, int region, int log);
void launch_saver_end(struct launch_saver *saver);

#endif
