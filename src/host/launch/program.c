// SPDX-License-Identifier: MIT
/* What all recordings say and ask, and what those without the agent do with limits. */
#include "launch/internal.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
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

enum launch_outcome launch_start_failed(const char *path, int reason, char *error)
{
    snprintf(error, LAUNCH_ERROR_BYTES, "cannot run '%s': %s.", path, strerror(reason));
    return reason == ENOENT ? LAUNCH_NOT_FOUND : LAUNCH_NOT_EXECUTABLE;
}

/* ---- limits, time, the end ------------------------------------------------------------------- */

/* A limit on file sizes binds what is done with the log, but neither it nor its lifting the
 * program. */
void launch_lift_limits(struct launch_inherited *program)
{
    for (size_t i = 0; i < BASE_COUNT(program->limits); i++) {
        getrlimit(launch_raised_limits[i], &program->limits[i]);
        struct rlimit most = {program->limits[i].rlim_max, program->limits[i].rlim_max};
        setrlimit(launch_raised_limits[i], &most);
    }
}

void launch_restore_limits(const struct launch_inherited *program)
{
    for (size_t i = 0; i < BASE_COUNT(program->limits); i++)
        setrlimit(launch_raised_limits[i], &program->limits[i]);
}

uint64_t launch_now_ns(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* Looks without reaping, so that the pid stays the program's while signals are passed on. */
bool launch_program_ended(pid_t child)
{
    siginfo_t info = {0};
    return waitid(P_PID, (id_t)child, &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
           info.si_pid == child;
}

void launch_take_status(pid_t child, struct launch_result *result)
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
    result->peak_bytes = (uint64_t)usage.ru_maxrss * 1024;
}

void launch_take_leave(pid_t child, int wish, struct launch_result *result)
{
    struct timespec used = {0};
    clockid_t clock;
    result->detached = wish;
    if (clock_getcpuclockid(child, &clock) == 0 && clock_gettime(clock, &used) == 0)
        result->cpu_s = (double)used.tv_sec + 1e-9 * (double)used.tv_nsec;
}
