// SPDX-License-Identifier: MIT
/* Between the files of machine. */
#ifndef HEADROOM_MACHINE_INTERNAL_H
#define HEADROOM_MACHINE_INTERNAL_H

#include "machine/latency.h"

#include <linux/perf_event.h>

/* Measures now, whatever is kept, all but the transfer. BASE_NO_MEMORY: *latencies is untouched. */
enum base_status machine_latencies_measure(struct machine_latencies *latencies);
/* Measures the transfer. */
void machine_latencies_bounce(struct machine_latencies *latencies);

/* Encodes the event of that name, counted in the modes `levels` (PFM_PLM0, PFM_PLM3). libpfm4 has been initialized; returns its code,
   PFM_SUCCESS or why not. */
int machine_event_encode(const char *name, int levels, struct perf_event_attr *attributes);
/* Opens it for this thread and closes it. errno; 0: it can be counted. */
int machine_event_try(struct perf_event_attr *attributes);
/* Has the kernel a driver for the processor's counters? sysfs: MACHINE_EVENTS_SYSFS. */
bool machine_has_driver(const char *sysfs);

#endif
