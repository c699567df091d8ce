// SPDX-License-Identifier: MIT
/*
 * The one loop under every recording.
 *
 * Signal handlers (signals.c) ring the region's doorbell, a futex, and an eventfd: a SIGCHLD that
 * arrives just before the sleep then ends it at once, without the race of a plain EINTR. With a
 * region the loop sleeps on the doorbell, which the agent rings too; a pidfd in poll(2), the
 * alternative, cannot wait for a futex at the same time.
 *
 * Signals are blocked from before the fork until the handlers stand, so none is lost and the
 * program gets mask and dispositions exactly as headroom got them.
 */
#include "launch/supervise.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- sentences on failures ------------------------------------------------------------------- */

void launch_fail(char *error, const char *step, int reason)
{
    snprintf(error, LAUNCH_ERROR_BYTES, "cannot start the recording: %s: %s.", step,
             strerror(reason));
}

void launch_fail_region(char *error)
{
    const char *step = errno == EFBIG ? "the file-size limit (ulimit -f) is too small for the "
                                        "memory shared with the program"
                                      : "memory shared with the program";
    launch_fail(error, step, errno);
}

static enum launch_outcome start_failed(const struct launch_supervised *supervised, int reason,
                                        char *error)
{
    if (supervised->engine) {
        launch_fail(error, supervised->engine, reason);
        return LAUNCH_FAILED;
    }
    snprintf(error, LAUNCH_ERROR_BYTES, "cannot run '%s': %s.", supervised->program->path,
             strerror(reason));
    return reason == ENOENT ? LAUNCH_NOT_FOUND : LAUNCH_NOT_EXECUTABLE;
}

/* ---- limits ---------------------------------------------------------------------------------- */

/* The region is a file of some MiB to the kernel, and every unwind table takes a descriptor. */
const int launch_raised_limits[] = {RLIMIT_FSIZE, RLIMIT_NOFILE};

/* A limit on file sizes binds what is done with the log, but neither it nor its lifting the
 * program. */
static void raise_limits(struct launch_inherited *program, bool unlimited)
{
    for (size_t i = 0; i < BASE_COUNT(launch_raised_limits); i++) {
        struct rlimit *old = &program->limits[i];
        getrlimit(launch_raised_limits[i], old);
        struct rlimit all = {RLIM_INFINITY, RLIM_INFINITY}, most = {old->rlim_max, old->rlim_max};
        /* Of descriptors the kernel has an upper bound of its own. */
        bool beyond = unlimited && launch_raised_limits[i] == RLIMIT_FSIZE;
        if (!beyond || setrlimit(launch_raised_limits[i], &all) != 0)
            setrlimit(launch_raised_limits[i], &most);
    }
}

static void restore_limits(const struct rlimit *limits)
{
    for (size_t i = 0; i < BASE_COUNT(launch_raised_limits); i++)
        setrlimit(launch_raised_limits[i], &limits[i]);
}

/* Of the last recording, while they stay raised. */
static struct rlimit inherited_limits[BASE_COUNT(launch_raised_limits)];
static bool raised;

void launch_restore(void)
{
    if (raised)
        restore_limits(inherited_limits);
    raised = false;
    launch_signals_restore();
}

/* ---- time, life, the end --------------------------------------------------------------------- */

uint64_t launch_now_ns(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

bool launch_is_alive(uint32_t pid)
{
    char path[32], text[1024];
    snprintf(path, sizeof path, "/proc/%u/stat", pid);
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0)
        return errno != ENOENT && errno != ESRCH;
    ssize_t count = read(file, text, sizeof text - 1);
    close(file);
    if (count <= 0)
        return false;
    text[count] = 0;
    const char *after = strrchr(text, ')');
    char state;
    long threads;
    if (!after || sscanf(after + 1,
                         " %c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d "
                         "%*d %*d %ld",
                         &state, &threads) != 2)
        return false;
    return (state != 'Z' && state != 'X') || threads > 1;
}

/* Looks without reaping, so that the pid stays the program's while signals are passed on. That another thread of headroom
   has stopped it by tracing is reported as well. */
static bool has_ended(pid_t child)
{
    siginfo_t info = {0};
    return waitid(P_PID, (id_t)child, &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
           info.si_pid == child &&
           (info.si_code == CLD_EXITED || info.si_code == CLD_KILLED || info.si_code == CLD_DUMPED);
}

/* Fills exited, exit_code, signal, cpu_s, peak_bytes, faults, switches. */
static void reap(pid_t child, struct launch_result *result)
{
    int status = 0;
    struct rusage usage = {0};
    while (wait4(child, &status, 0, &usage) < 0 && errno == EINTR)
        ;
    result->exited = WIFEXITED(status);
    result->exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 0;
    result->signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
    result->cpu_s = (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
                    1e-6 * (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
    result->system_s = (double)usage.ru_stime.tv_sec + 1e-6 * (double)usage.ru_stime.tv_usec;
    result->peak_bytes = (uint64_t)usage.ru_maxrss * 1024;
    result->minor_faults = (uint64_t)usage.ru_minflt;
    result->major_faults = (uint64_t)usage.ru_majflt;
    result->voluntary = (uint64_t)usage.ru_nvcsw;
    result->involuntary = (uint64_t)usage.ru_nivcsw;
}

/* It goes on. Fills detached, cpu_s. */
static void take_leave(pid_t child, int wish, struct launch_result *result)
{
    struct timespec used = {0};
    clockid_t clock;
    result->detached = wish;
    if (clock_getcpuclockid(child, &clock) == 0 && clock_gettime(clock, &used) == 0)
        result->cpu_s = (double)used.tv_sec + 1e-9 * (double)used.tv_nsec;
}

/* ---- the loop -------------------------------------------------------------------------------- */

/* seen: the doorbell before the turn whose sleep this is. */
static void sleep_until_news(const struct launch_supervised *supervised, uint32_t seen,
                             int limit_ms)
{
    struct timespec limit = {.tv_sec = limit_ms / 1000, .tv_nsec = limit_ms % 1000 * 1000000L};
    struct pollfd files[] = {{launch_signals_file(), POLLIN, 0}, {supervised->file, POLLIN, 0}};
    if (supervised->region)
        syscall(SYS_futex, &supervised->region->doorbell, FUTEX_WAIT, seen, &limit, NULL, 0);
    else
        poll(files, BASE_COUNT(files), limit_ms); /* a negative number is passed over */
}

enum { GRACE_MS = 2000 }; /* between SIGTERM and SIGKILL */

/* Ends a program whose time is over. *asked_ns: when it was asked to; 0: not yet. */
static void enforce_deadline(const struct launch_supervised *supervised, pid_t child,
                             uint64_t *asked_ns)
{
    uint64_t deadline = supervised->program->deadline_ns, now = launch_now_ns(CLOCK_MONOTONIC);
    if (deadline == 0 || now < deadline)
        return;
    if (*asked_ns == 0)
        kill(child, SIGTERM);
    else if (now - *asked_ns >= GRACE_MS * UINT64_C(1000000))
        kill(child, SIGKILL);
    *asked_ns = *asked_ns ? *asked_ns : now;
}

/* False: it was left before the program had ended. */
static bool await(const struct launch_supervised *supervised, struct launch_signals *signals,
                  pid_t child, bool *timed_out)
{
    for (uint64_t asked_ns = 0;;) {
        uint32_t seen = 0;
        if (supervised->region)
            seen = atomic_load_explicit(&supervised->region->doorbell, memory_order_acquire);
        bool ended = has_ended(child);
        if (supervised->turn)
            supervised->turn(supervised->context);
        if (ended)
            return true;
        if (launch_signals_serve(signals))
            return false;
        enforce_deadline(supervised, child, &asked_ns);
        *timed_out = asked_ns != 0;
        sleep_until_news(supervised, seen, launch_signals_wait_ms(signals, supervised->tick_ms));
    }
}

static enum launch_outcome run(struct launch_supervised *supervised, struct launch_signals *signals,
                               struct launch_result *result, char *error)
{
    pid_t child;
    int reason;
    struct launch_result measured = {.start_ns = launch_now_ns(CLOCK_REALTIME), .system_s = -1};
    uint64_t start = launch_now_ns(CLOCK_MONOTONIC);
    if (!launch_start(supervised->program, supervised->environment, &signals->program,
                      supervised->before, supervised->context, &child, &reason))
        return start_failed(supervised, reason, error);
    launch_signals_begin(signals, supervised->region, child);
    if (supervised->begun)
        supervised->begun(supervised->context, child);
    bool ended = await(supervised, signals, child, &measured.timed_out);
    measured.interrupted = launch_signals_interrupted(signals);
    measured.wall_s = (double)(launch_now_ns(CLOCK_MONOTONIC) - start) / 1e9;
    if (ended)
        reap(child, &measured);
    else
        take_leave(child, signals->wish, &measured);
    enum launch_outcome outcome = supervised->ended(supervised->context, child, &measured, error);
    if (outcome == LAUNCH_OK)
        *result = measured;
    return outcome;
}

enum launch_outcome launch_supervise(struct launch_supervised *supervised,
                                     struct launch_result *result, char *error)
{
    enum launch_outcome outcome = LAUNCH_FAILED;
    struct launch_signals signals;
    supervised->file = -1;
    /* With file capabilities headroom would not be dumpable and its /proc entries closed. */
    prctl(PR_SET_DUMPABLE, 1);
    bool prepared = launch_signals_prepare(&signals);
    if (!prepared)
        launch_fail(error, "signals", errno);
    raise_limits(&signals.program, supervised->unlimited);
    if (prepared && supervised->prepare(supervised, error))
        outcome = run(supervised, &signals, result, error);
    bool keep = outcome == LAUNCH_OK && !supervised->trial;
    launch_signals_end(&signals, keep);
    memcpy(inherited_limits, signals.program.limits, sizeof inherited_limits);
    raised = keep;
    if (!keep)
        restore_limits(signals.program.limits);
    free(supervised->environment);
    return outcome;
}
