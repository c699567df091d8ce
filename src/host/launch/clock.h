// SPDX-License-Identifier: MIT
/* Samples of where a program that counts by itself spends its CPU time. Private to launch. */
#ifndef HEADROOM_LAUNCH_CLOCK_H
#define HEADROOM_LAUNCH_CLOCK_H

#include "inject/sampler.h"
#include "launch/internal.h"

struct launch_clock_map { /* executable memory of a living process */
    uint32_t pid, path;   /* path: number in ticks->paths, or LAUNCH_NO_FILE */
    uint64_t start, bytes, offset;
};

struct launch_clock {
    struct inject_sampler sampler;
    struct launch_ticks *ticks;
    struct util_index places; /* of ticks->items, by file and offset */
    struct launch_clock_map *maps;
    size_t maps_count, maps_capacity;
};

/* Before the child executes its program. *ticks is empty; ticks->refused says whether there will
   be any. */
void launch_clock_begin(struct launch_clock *clock, struct launch_ticks *ticks, pid_t child);
/* Often enough that rings do not overflow: each 200 ms. */
void launch_clock_drain(struct launch_clock *clock);
/* A clock of zeros has ended. */
void launch_clock_end(struct launch_clock *clock);

#endif
