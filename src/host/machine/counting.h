// SPDX-License-Identifier: MIT
/*
 * Events counted over a whole program from outside: which there are, found by opening each, and how often they happened in a child and
 * its descendants. What the processor counts happens in user mode or in the kernel, each by itself ("CYCLES:u", "CYCLES:k"); the
 * kernel's own events are one number. Hardware counters have not been tried: the machines that this was written on have none.
 *
 * Not thread-safe (libpfm4 keeps global state). Never prints.
 */
#ifndef HEADROOM_MACHINE_COUNTING_H
#define HEADROOM_MACHINE_COUNTING_H

#include "base/base.h"

#include <sys/types.h>

enum { MACHINE_COUNTERS_MAX = 40, MACHINE_COUNTER_NAME = 96 };

struct machine_counter {
    char name[MACHINE_COUNTER_NAME]; /* libpfm4's, of hardware with ":u" or ":k" */
    uint32_t type;                   /* perf_event_attr's, as the rest */
    uint64_t config, config1, config2;
    bool no_user, no_kernel;
    bool hardware;
    bool unknown; /* libpfm4 knows no such event of this machine */
    int refused;  /* errno of the attempt; 0: it can be counted */
};

/* Those of that name: one, or two of hardware; written to counters, of which there is room for two. A name with ":u" or ":k"
   is one. Returns how many; an unknown one is one. */
size_t machine_counters_named(const char *name, struct machine_counter counters[2]);

/* Those that are counted if nothing is asked for, tried or not: up to `most`. */
size_t machine_counters_usual(struct machine_counter *counters, size_t most);

/* Every event that libpfm4 knows of a unit that this machine has, in user mode and in the kernel; tried. */
void machine_counters_all(void (*take)(void *context, const char *unit,
                                       const struct machine_counter *counter),
                          void *context);

/* Has the kernel a driver for the processor's counters? */
bool machine_has_counters(void);

/* Why it is refused, a clause. */
const char *machine_counter_refusal(const struct machine_counter *counter);

struct machine_count {
    uint64_t value; /* scaled up, if it was counted in a part of the time */
    double share;   /* of the time in which it was counted; 0: in none, and value is 0 */
    bool known;
};

struct machine_counting {
    int files[MACHINE_COUNTERS_MAX]; /* -1: not opened */
    size_t count;
};

/* Opens the counters, of which count <= MACHINE_COUNTERS_MAX, for a child that has not executed its program yet: they begin when it
   does. Those that are refused are left out. */
void machine_counting_begin(struct machine_counting *counting,
                            const struct machine_counter *counters, size_t count, pid_t child);
/* When the child has ended; counts: one for each counter. */
void machine_counting_end(struct machine_counting *counting, struct machine_count *counts);

#endif
