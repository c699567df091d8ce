// SPDX-License-Identifier: MIT
/*
 * pmu_events: the numbers of this processor's precise store and load events,
 * for wire_config. Not yet tried on hardware with counters; the caller must still open one to
 * know that it works.
 *
 * Not thread-safe (libpfm4 keeps global state).
 */
#ifndef HEADROOM_PMU_EVENTS_H
#define HEADROOM_PMU_EVENTS_H

#include "base/base.h"

#define PMU_EVENTS_SYSFS "/sys/bus/event_source/devices"

struct pmu_events {
    uint32_t type;                    /* perf_event_attr.type                            */
    uint64_t store_event, load_event; /* config; equal if one event counts both (IBS)    */
    bool filter;                      /* samples include other instructions (IBS)        */
};

/*
 * Events of this machine. sysfs: PMU_EVENTS_SYSFS. BASE_UNSUPPORTED: the kernel has no driver
 * for counters (most virtual machines) or the processor no precise memory events.
 */
enum base_status pmu_events_find(const char *sysfs, struct pmu_events *events);

/* Events of a model by libpfm4's name ("skl"), on whatever machine; libpfm4 wants
   LIBPFM_ENCODE_INACTIVE=1 in the environment for models other than this machine's. */
enum base_status pmu_events_of_model(const char *model, struct pmu_events *events);

#endif
