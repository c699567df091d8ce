// SPDX-License-Identifier: MIT
/*
 * What the machine allows, found by trying: watchpoints, ticks, counters, other processes'
 * descriptors. Each runs in a forked child for some milliseconds, so that the caller's signal
 * handling stays as it is. Never prints.
 */
#ifndef HEADROOM_MACHINE_TRYOUT_H
#define HEADROOM_MACHINE_TRYOUT_H

#include "base/base.h"
#include "wire/wire.h"

struct machine_watchpoints {
    unsigned registers;     /* watchpoints that could be armed together and trapped, 0..4 */
    unsigned armed;         /* could be armed; more than `registers`: they never fire */
    int refused;            /* errno of the first one refused before all four were armed */
    bool kernel_accesses;   /* read(2) and write(2) on watched bytes trap */
    int kernel_refused;     /* errno why not; 0 with !kernel_accesses: armed, never fired */
    double arm_us, trap_us; /* mean cost of arming with disarming, and of one trap */
};

/*
 * Arms watchpoints on memory of a forked child and touches them there, so that the
 * caller's signal handling stays as it is. repeat: traps timed for the cost figures
 * (at least 1). BASE_IO: no child could be made, errno says why.
 */
enum base_status machine_try_watchpoints(unsigned repeat, struct machine_watchpoints *result);

/* Ticks of a thread's CPU time: the smallest distance between two, in a forked child. */
enum base_status machine_try_ticks(double *tick_ms);

/*
 * Looks for this processor's precise store and load events and opens them once.
 * BASE_UNSUPPORTED: there are none, as in most virtual machines; BASE_DENIED: the kernel
 * refuses them. Fills the pmu_* members of config.
 */
enum base_status machine_try_counters(struct wire_config *config);

/* Can another process of this user open our descriptors through /proc? BASE_IO: that could not be
   tried, errno says why. */
enum base_status machine_try_descriptors(void);

#endif
