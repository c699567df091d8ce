// SPDX-License-Identifier: MIT
/*
 * switches: when the calling thread was off its CPU, and whether it went by itself or was preempted. The kernel writes
 * both ends of every such interval into a small ring that it overwrites (perf's context-switch records); nobody is
 * woken, nothing interrupted. Asking whether anything has happened since a position is a load.
 *
 * Freestanding, signal-safe. A ring belongs to the thread that opened it: only it may read, as then no record is half
 * written and every interval has its end. Reading consumes nothing, so functions inside one another may each keep
 * a position of their own.
 */
#ifndef HEADROOM_OS_SWITCHES_H
#define HEADROOM_OS_SWITCHES_H

#include "base/base.h"
#include <linux/perf_event.h>

enum { SWITCHES_KEPT = 128 }; /* intervals; older ones are overwritten */

struct switches {
    const struct perf_event_mmap_page *page; /* NULL: not open */
};

struct switches_interval {
    uint64_t off_ns, on_ns; /* CLOCK_MONOTONIC_RAW: when it left the CPU and was given one again */
    bool preempted;         /* it could have gone on (also after sched_yield) */
};

/*
 * For the calling thread; held like a watchpoint (os.h), without a descriptor. Locks two pages of the user's allowance
 * for perf events. Returns 0 or -errno, nothing is open then (EACCES, EPERM: not permitted or no more memory may be
 * locked; EMFILE).
 */
long switches_open(struct switches *switches);
void switches_close(struct switches *switches);

/* In the child of a fork, instead of closing: mappings of perf events are not inherited. */
static inline void switches_forget(struct switches *switches)
{
    switches->page = NULL;
}

/* Behind the latest interval. 0 if not open. */
static inline uint64_t switches_position(const struct switches *switches)
{
    return switches->page ? __atomic_load_n(&switches->page->data_head, __ATOMIC_ACQUIRE) : 0;
}

static inline bool switches_since(const struct switches *switches, uint64_t position)
{
    return switches_position(switches) != position;
}

/*
 * The intervals since *position, oldest first, at most `room`; returns their number and moves *position behind them. Less than
 * room: there are no more. Adds to *lost how many since *position were overwritten. *position: what switches_position or
 * this function gave for the same ring.
 */
uint32_t switches_read(const struct switches *switches, uint64_t *position,
                       struct switches_interval *intervals, uint32_t room, uint64_t *lost);

#endif
