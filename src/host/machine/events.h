// SPDX-License-Identifier: MIT
/*
 * The numbers of this processor's precise store and load events,
 * for wire_config. Not yet tried on hardware with counters; the caller must still open one to
 * know that it works.
 *
 * Not thread-safe (libpfm4 keeps global state).
 */
#ifndef HEADROOM_MACHINE_EVENTS_H
#define HEADROOM_MACHINE_EVENTS_H

#include "wire/instrumented.h"

#define MACHINE_EVENTS_SYSFS "/sys/bus/event_source/devices"

struct machine_events {
    uint32_t type;                    /* perf_event_attr.type */
    uint64_t store_event, load_event; /* config; equal if one event counts both (IBS) */
    bool filter;                      /* samples include other instructions (IBS) */
};

/*
 * Events of this machine. sysfs: MACHINE_EVENTS_SYSFS. BASE_UNSUPPORTED: the kernel has no driver
 * for counters (most virtual machines) or the processor no precise memory events.
 */
enum base_status machine_events_find(const char *sysfs, struct machine_events *events);

/* Events of a model by libpfm4's name ("skl"), on whatever machine; libpfm4 wants
   LIBPFM_ENCODE_INACTIVE=1 in the environment for models other than this machine's. */
enum base_status machine_events_of_model(const char *model, struct machine_events *events);

/*
 * The event of that name, as libpfm4 knows it ("perf::PAGE-FAULTS", "INSTRUCTIONS_RETIRED"), which
 * has been opened here once, for this thread. Of hardware what happens in user mode is counted, of
 * the kernel's own events all that may be. False: there is none, reason says why, a clause.
 */
bool machine_event_named(const char *name, struct instrumented_event *event, char *reason,
                         size_t bytes);

#endif
