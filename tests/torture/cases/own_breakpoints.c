// SPDX-License-Identifier: MIT
/*
 * Uses debug registers itself. How many are free is the machine's matter; those
 * it gets must count its own accesses exactly, and deliver to its own handler.
 */
#include "torture.h"
#include <linux/hw_breakpoint.h>
#include <linux/perf_event.h>
#include <sys/ioctl.h>

static volatile uint64_t watched[4];
static volatile sig_atomic_t overflows;

static void on_overflow(int number)
{
    (void)number;
    overflows++;
}

static int open_breakpoint(volatile void *place)
{
    struct perf_event_attr attributes = {
        .type = PERF_TYPE_BREAKPOINT,
        .size = sizeof attributes,
        .bp_type = HW_BREAKPOINT_W,
        .bp_addr = (uintptr_t)place,
        .bp_len = HW_BREAKPOINT_LEN_8,
        .exclude_kernel = 1,
        .exclude_hv = 1,
        .sample_period = 1,
        .wakeup_events = 1,
    };
    return (int)syscall(SYS_perf_event_open, &attributes, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
}

int main(void)
{
    int events[4], wrong = 0;
    signal(SIGIO, on_overflow);
    for (int i = 0; i < 4; i++) {
        events[i] = open_breakpoint(&watched[i]);
        if (events[i] >= 0 && i == 0)
            fcntl(events[i], F_SETFL, O_ASYNC);
    }
    for (int round = 0; round < 100; round++) {
        busy(3);
        for (int i = 0; i < 4; i++)
            watched[i] = (uint64_t)round;
    }
    for (int i = 0; i < 4; i++) {
        uint64_t count = 0;
        if (events[i] < 0)
            continue;
        must(read(events[i], &count, sizeof count) == sizeof count);
        wrong += count != 100;
        close(events[i]);
    }
    say("wrong counts: %d\n", wrong);
    show_descriptors();
    return 0;
}
