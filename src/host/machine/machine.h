// SPDX-License-Identifier: MIT
/*
 * machine: what headroom knows of the machine it runs on, by asking and by trying: its data caches
 * (here), what it allows (tryout.h), the events that its processor counts (events.h). Host side, no
 * state; any thread, but for events.
 */
#ifndef HEADROOM_MACHINE_H
#define HEADROOM_MACHINE_H

#include "base/base.h"

/* As the kernel counts them, of the data path: data and unified caches. */
struct machine_cache {
    uint32_t level;      /* 1..9 */
    uint32_t ways;       /* 0: unknown or fully associative */
    uint32_t line_bytes; /* 0: unknown */
    uint32_t sharers;    /* logical CPUs that share it, >= 1 */
    uint64_t bytes;      /* > 0 */
};

/*
 * Caches of one CPU, smallest first, at most `most`; returns how many. `root` is put before
 * /sys/devices/system/cpu: "" for this machine, a directory for a copy of another one's.
 *
 * Where CPUs differ (hybrid processors) it is the CPU with the largest first-level data cache, of
 * several the one with the largest last-level cache, of several the first: the fast cores, on which
 * the scheduler puts what is busy. Not the largest second level: slow cores share one that is
 * larger than a fast core's own.
 *
 * Only with root "": if the kernel reports nothing (some containers and hypervisors), what the C
 * library finds by CPUID; sharers is then 1. 0: nothing is known.
 */
size_t machine_caches(const char *root, struct machine_cache *caches, size_t most);

/* What the C library knows, as above. */
size_t machine_caches_by_cpuid(struct machine_cache *caches, size_t most);

#endif
