// SPDX-License-Identifier: MIT
/*
 * What the machine allows, found by trying it: on some hypervisors a watchpoint
 * can be armed and never fires, so nothing less than seeing the trap counts.
 *
 * Everything happens in a forked child that reports through a pipe: the SIGTRAP
 * handler, the timers and a possible death by SIGTRAP stay away from headroom. The
 * child calls only async-signal-safe functions and `os`.
 */
#include "machine/tryout.h"

#include "machine/events.h"
#include "os/os.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { REGISTERS = 4, SECONDS_MAX = 5 };

static volatile sig_atomic_t traps;

static void on_trap(int signal)
{
    (void)signal;
    traps++;
}

/* ---- children that report ------------------------------------------------------------- */

/* Runs work in a child; its report (exactly `bytes` long) arrives in `report`. BASE_IO: errno. */
static enum base_status in_child(bool (*work)(void *report, const void *input), const void *input,
                                 void *report, size_t bytes)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0)
        return BASE_IO;
    pid_t child = fork();
    int reason = child < 0 ? errno : EIO;
    if (child == 0) {
        struct sigaction action = {.sa_handler = on_trap, .sa_flags = SA_RESTART};
        sigset_t none;
        sigemptyset(&none);
        signal(SIGALRM, SIG_DFL);
        sigaction(SIGTRAP, &action, NULL);
        sigprocmask(SIG_SETMASK, &none, NULL);
        alarm(SECONDS_MAX); /* a hypervisor that loses timers must not hang us */
        bool good = work(report, input);
        _exit(good && write(ends[1], report, bytes) == (ssize_t)bytes ? 0 : 1);
    }
    close(ends[1]);
    enum base_status status = BASE_IO;
    if (child > 0) {
        char copy[256];
        ssize_t got;
        do
            got = read(ends[0], copy, bytes);
        while (got < 0 && errno == EINTR);
        while (waitpid(child, NULL, 0) < 0 && errno == EINTR)
            ;
        if (got == (ssize_t)bytes) {
            memcpy(report, copy, bytes);
            status = BASE_OK;
        }
    }
    close(ends[0]);
    errno = reason;
    return status;
}

static double microseconds(uint64_t start_ns, unsigned times)
{
    return (double)(os_now_ns(CLOCK_MONOTONIC) - start_ns) / 1e3 / times;
}

/* ---- watchpoints ---------------------------------------------------------------------- */

static _Alignas(64) volatile char watched[64 * REGISTERS];

static void count_registers(struct machine_watchpoints *result)
{
    struct os_watch watches[REGISTERS] = {0};
    for (unsigned i = 0; i < REGISTERS; i++) {
        long refused =
            os_watch_arm(&watches[i], OS_WATCH_ACCESSES, (uintptr_t)&watched[64 * i], i, false);
        if (refused) {
            result->refused = (int)-refused;
            break;
        }
        result->armed++;
    }
    for (unsigned i = 0; i < result->armed; i++) {
        traps = 0;
        watched[64 * i] = 1;
        result->registers += traps > 0;
    }
    for (unsigned i = 0; i < REGISTERS; i++)
        os_watch_disarm(&watches[i]);
}

static void measure_cost(struct machine_watchpoints *result, unsigned repeat)
{
    struct os_watch watch = {0};
    uint64_t start = os_now_ns(CLOCK_MONOTONIC);
    for (unsigned i = 0; i < repeat; i++) {
        os_watch_disarm(&watch);
        if (os_watch_arm(&watch, OS_WATCH_STORES, (uintptr_t)watched, i, false))
            return;
    }
    result->arm_us = microseconds(start, repeat);
    start = os_now_ns(CLOCK_MONOTONIC);
    for (unsigned i = 0; i < repeat; i++)
        watched[0] = (char)i;
    result->trap_us = microseconds(start, repeat);
    os_watch_disarm(&watch);
}

/* One write from and one read into a watched byte, through a pipe. */
static void try_kernel_accesses(struct machine_watchpoints *result)
{
    int ends[2];
    if (pipe(ends) != 0) {
        result->kernel_refused = errno;
        return;
    }
    struct os_watch watch = {0};
    long refused = os_watch_arm(&watch, OS_WATCH_ACCESSES, (uintptr_t)watched, 0, true);
    result->kernel_refused = (int)-refused;
    if (!refused) {
        traps = 0;
        bool seen = write(ends[1], (const void *)watched, 1) == 1 && traps == 1;
        result->kernel_accesses = read(ends[0], (void *)watched, 1) == 1 && traps == 2 && seen;
        os_watch_disarm(&watch);
    }
    close(ends[0]);
    close(ends[1]);
}

static bool watchpoint_work(void *report, const void *input)
{
    struct machine_watchpoints *result = report;
    count_registers(result);
    if (result->registers > 0) {
        measure_cost(result, *(const unsigned *)input);
        try_kernel_accesses(result);
    }
    return true;
}

enum base_status machine_try_watchpoints(unsigned repeat, struct machine_watchpoints *result)
{
    struct machine_watchpoints report = {0};
    enum base_status status = in_child(watchpoint_work, &repeat, &report, sizeof report);
    if (status == BASE_OK)
        *result = report;
    return status;
}

/* ---- ticks ---------------------------------------------------------------------------- */

/* Asks for short ticks and looks how much CPU time really passes between two. */
static bool tick_work(void *report, const void *input)
{
    (void)input;
    enum { TICKS = 12, PERIOD_NS = 500000 };
    struct os_watch ticks = {0};
    if (os_tick_start(&ticks, PERIOD_NS, 0) != 0)
        return false;
    double shortest = 1e9;
    uint64_t last = 0;
    for (int i = 0; i < TICKS; i++) {
        traps = 0;
        while (!traps)
            ;
        uint64_t now = os_now_ns(CLOCK_THREAD_CPUTIME_ID);
        if (last && (double)(now - last) < shortest)
            shortest = (double)(now - last);
        last = now;
    }
    os_watch_disarm(&ticks);
    *(double *)report = shortest / 1e6;
    return true;
}

enum base_status machine_try_ticks(double *tick_ms)
{
    double report = 0;
    enum base_status status = in_child(tick_work, NULL, &report, sizeof report);
    if (status == BASE_OK)
        *tick_ms = report;
    return status;
}

/* ---- counters ------------------------------------------------------------------------- */

static bool counter_opens(uint32_t type, uint64_t event)
{
    struct perf_event_attr attr = {.type = type,
                                   .size = sizeof attr,
                                   .config = event,
                                   .sample_period = 1000003,
                                   .disabled = 1,
                                   .precise_ip = type == PERF_TYPE_RAW ? 2 : 0,
                                   .exclude_kernel = type == PERF_TYPE_RAW};
    int file = (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
    if (file < 0)
        return false;
    close(file);
    return true;
}

enum base_status machine_try_counters(struct wire_config *config)
{
    struct machine_events events;
    enum base_status status = machine_events_find(MACHINE_EVENTS_SYSFS, &events);
    if (status != BASE_OK)
        return status;
    if (!counter_opens(events.type, events.store_event) ||
        !counter_opens(events.type, events.load_event))
        return BASE_DENIED;
    config->pmu_type = events.type;
    config->pmu_store_event = events.store_event;
    config->pmu_load_event = events.load_event;
    return BASE_OK;
}

/* ---- descriptors through /proc ---------------------------------------------------------- */

static bool descriptor_work(void *report, const void *input)
{
    const int *source = input; /* parent's pid and descriptor */
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/fd/%d", source[0], source[1]);
    close(source[1]);
    int file = open(path, O_RDWR | O_CLOEXEC);
    *(int *)report = file < 0 ? errno : 0;
    return true;
}

enum base_status machine_try_descriptors(void)
{
    int report = 0;
    int file = memfd_create("headroom", MFD_CLOEXEC);
    if (file < 0)
        return errno == ENOSYS ? BASE_UNSUPPORTED : BASE_IO;
    int source[2] = {getpid(), file};
    enum base_status status = in_child(descriptor_work, source, &report, sizeof report);
    int reason = errno;
    close(file);
    if (status == BASE_OK && report) {
        status = report == ENOENT                      ? BASE_NOT_FOUND
                 : report == EACCES || report == EPERM ? BASE_DENIED
                                                       : BASE_IO;
        reason = report;
    }
    errno = reason;
    return status;
}
