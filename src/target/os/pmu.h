// SPDX-License-Identifier: MIT
/*
 * pmu: precise load and store samples from the processor's counters: what to
 * ask the kernel for, and what it writes into the ring buffer.
 *
 * Not yet tried on hardware: the parser is tested on synthetic rings and fuzzed, the
 * attributes are only compared with the kernel's documentation.
 *
 * Freestanding, signal-safe; a ring belongs to the thread that opened it.
 */
#ifndef HEADROOM_OS_PMU_H
#define HEADROOM_OS_PMU_H

#include "base/base.h"
#include <linux/perf_event.h>

struct pmu_event {
    uint32_t type; /* perf_event_attr.type: PERF_TYPE_RAW, or AMD's ibs_op */
    uint64_t config;
    uint64_t period; /* events between samples, >= 1 */
    uint64_t cookie; /* arrives as si_perf_data */
};

/*
 * The attributes of a sampled event of the calling thread: address, ip, data
 * source in the ring, SIGTRAP at every sample. PERF_TYPE_RAW: user space only and as precise as
 * PEBS gives. Any other type is taken for IBS, which tags instructions
 * precisely by nature, cannot exclude the kernel, and wants periods in
 * multiples of 16 (rounded down, at least 16).
 */
void pmu_attributes(const struct pmu_event *event, struct perf_event_attr *attr);

enum pmu_direction { PMU_UNKNOWN = 0, PMU_LOAD = 1, PMU_STORE = 2 }; /* bits */

struct pmu_sample {
    uint64_t ip;      /* of the accessing instruction if exact, else somewhat later */
    uint64_t address; /* accessed; 0 if the hardware gave none */
    uint32_t pid, tid;
    uint8_t direction; /* enum pmu_direction */
    bool exact;
    bool user; /* taken in user mode */
};

/* What went through a ring; never reset by pmu_next. */
struct pmu_counts {
    uint64_t samples;
    uint64_t lost;      /* samples the kernel could not write */
    uint64_t throttled; /* times the kernel slowed the event down */
    uint64_t other;     /* records of other types, skipped */
    uint64_t malformed; /* impossible sizes or positions; the ring's contents were dropped */
};

/* A mapping of an event's buffer: 1 + 2^n pages, writable. */
struct pmu_ring {
    struct perf_event_mmap_page *page;
    const unsigned char *data;
    uint64_t bytes; /* of data, a power of two */
    struct pmu_counts counts;
};

/* mapping: page of control data, then data_bytes of ring. data_bytes: a power of two >= 4096. */
enum base_status pmu_ring_init(struct pmu_ring *ring, void *mapping, uint64_t data_bytes);

/*
 * Events counted since the ring's event was opened, read in user mode. False: the kernel or the
 * processor does not allow that. Not yet tried on hardware.
 */
bool pmu_count(const struct pmu_ring *ring, uint64_t *count);

/*
 * Takes records out of the ring up to and including the next sample. False,
 * sample untouched: none is left. Positions in the ring are not trusted: the
 * program could have written over them.
 */
bool pmu_next(struct pmu_ring *ring, struct pmu_sample *sample);

#endif
