// SPDX-License-Identifier: MIT
/*
 * All records are 16 bytes, a header and the time, so the oldest one in the ring is found without
 * knowing where the overwritten ones began. The mapping is read-only, which makes the kernel
 * overwrite; positions are bytes since the beginning. A thread that reads is on a CPU, so what it
 * sees ends with its return there.
 */
#include "os/switches.h"

#include "os/os.h"

#include <asm/unistd.h>
#include <linux/mman.h>
#include <linux/time.h>

enum { PAGE_BYTES = 4096, DATA_BYTES = PAGE_BYTES };

struct record {
    struct perf_event_header header;
    uint64_t time;
};
_Static_assert(2 * sizeof(struct record) * SWITCHES_KEPT == DATA_BYTES,
               "what the ring has room for");

long switches_open(struct switches *switches)
{
    struct perf_event_attr attr = {
        .type = PERF_TYPE_SOFTWARE,
        .config = PERF_COUNT_SW_DUMMY,
        .size = sizeof attr,
        .sample_type = PERF_SAMPLE_TIME,
        .sample_id_all = 1,
        .context_switch = 1,
        .exclude_kernel = 1,
        .exclude_hv = 1,
        .use_clockid = 1,
        .clockid = CLOCK_MONOTONIC_RAW,
    };
    switches->page = NULL;
    long descriptor = os_syscall(__NR_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
    if (os_failed(descriptor))
        return descriptor;
    long page =
        os_syscall(__NR_mmap, 0, PAGE_BYTES + DATA_BYTES, PROT_READ, MAP_SHARED, descriptor, 0);
    os_syscall(__NR_close, descriptor);
    if (os_failed(page))
        return page;
    switches->page = (const void *)page;
    return 0;
}

void switches_close(struct switches *switches)
{
    if (switches->page)
        os_syscall(__NR_munmap, switches->page, PAGE_BYTES + DATA_BYTES);
    switches->page = NULL;
}

static bool is_switch(const struct record *record, bool out)
{
    return record->header.type == PERF_RECORD_SWITCH && record->header.size == sizeof *record &&
           !(record->header.misc & PERF_RECORD_MISC_SWITCH_OUT) == !out;
}

static struct record record_at(const struct switches *switches, uint64_t position)
{
    struct record record;
    __builtin_memcpy(&record, (const char *)switches->page + PAGE_BYTES + position % DATA_BYTES,
                     sizeof record);
    return record;
}

uint32_t switches_read(const struct switches *switches, uint64_t *position,
                       struct switches_interval *intervals, uint32_t room, uint64_t *lost)
{
    const uint64_t both = 2 * sizeof(struct record);
    uint64_t at = *position, head = switches_position(switches);
    uint32_t count = 0;
    while (count < room && at + both <= head) {
        struct record out = record_at(switches, at);
        struct record in = record_at(switches, at + sizeof out);
        /* The thread may have been switched while it copied. */
        __atomic_signal_fence(__ATOMIC_SEQ_CST);
        head = switches_position(switches);
        if (head - at > DATA_BYTES) {
            *lost += (head - at - DATA_BYTES) / both;
            at = head - DATA_BYTES;
        } else if (is_switch(&out, true) && is_switch(&in, false)) {
            bool preempted = out.header.misc & PERF_RECORD_MISC_SWITCH_OUT_PREEMPT;
            intervals[count++] = (struct switches_interval){out.time, in.time, preempted};
            at += both;
        } else { /* half an interval */
            (*lost)++;
            at += sizeof out;
        }
    }
    *position = at;
    return count;
}
