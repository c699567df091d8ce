// SPDX-License-Identifier: MIT
/*
 * What all recordings say and ask, and what those without the agent do with signals and limits.
 * Signals arrive through a signalfd that can be polled beside others; unlike the live engine's loop
 * these wait for nothing that only a futex could tell.
 */
#include "launch/parts.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* ---- signals ------------------------------------------------------------------------------- */

/* What launch_record does with them, see there; SIGCHLD and those passed on come by signalfd. */
static const int ignored_signals[] = {SIGINT, SIGQUIT, SIGPIPE, SIGXFSZ};
static const int passed_signals[] = {SIGTERM, SIGHUP};
_Static_assert(BASE_COUNT(ignored_signals) == LAUNCH_IGNORED_SIGNALS, "room for what they were");

static const struct sigaction by_default = {.sa_handler = SIG_DFL},
                              ignore = {.sa_handler = SIG_IGN};

/*
 * Everything is blocked from here on, so that nothing is lost between fork and
 * launch_signals_begin. SIGCHLD: if it were ignored the exit status would be lost; SIGXFSZ: the log
 * is a file too.
 */
bool launch_signals_prepare(struct launch_signals *signals)
{
    sigset_t all, awaited;
    struct sigaction old;
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, &signals->program.mask);
    for (size_t i = 0; i < BASE_COUNT(ignored_signals); i++)
        sigaction(ignored_signals[i], NULL, &signals->before[i]);
    sigaction(SIGCHLD, &by_default, &signals->program.child);
    sigaction(SIGXFSZ, &ignore, &signals->program.file_size);
    sigemptyset(&awaited);
    sigaddset(&awaited, SIGCHLD);
    for (size_t i = 0; i < BASE_COUNT(passed_signals); i++)
        if (sigaction(passed_signals[i], NULL, &old) == 0 && old.sa_handler != SIG_IGN)
            sigaddset(&awaited, passed_signals[i]); /* under nohup SIGHUP concerns nobody */
    signals->file = signalfd(-1, &awaited, SFD_CLOEXEC | SFD_NONBLOCK);
    return signals->file >= 0;
}

void launch_signals_begin(struct launch_signals *signals)
{
    sigset_t mask = signals->program.mask;
    for (size_t i = 0; i < BASE_COUNT(ignored_signals); i++) {
        sigaction(ignored_signals[i], &ignore, NULL);
        sigdelset(&mask, ignored_signals[i]);
    }
    for (size_t i = 0; i < BASE_COUNT(passed_signals); i++)
        sigaddset(&mask, passed_signals[i]);
    sigaddset(&mask, SIGCHLD);
    sigprocmask(SIG_SETMASK, &mask, NULL);
}

/* After a recording SIGPIPE and SIGXFSZ stay ignored. */
void launch_signals_end(struct launch_signals *signals, bool recorded)
{
    struct signalfd_siginfo left;
    while (signals->file >= 0 && read(signals->file, &left, sizeof left) > 0)
        ;
    for (size_t i = 0; i < BASE_COUNT(ignored_signals); i++)
        if (!recorded || ignored_signals[i] == SIGINT || ignored_signals[i] == SIGQUIT)
            sigaction(ignored_signals[i], &signals->before[i], NULL);
    sigaction(SIGCHLD, &signals->program.child, NULL);
    sigprocmask(SIG_SETMASK, &signals->program.mask, NULL);
    if (signals->file >= 0)
        close(signals->file);
}

void launch_signals_pass(const struct launch_signals *signals, pid_t child)
{
    struct signalfd_siginfo info;
    while (read(signals->file, &info, sizeof info) == (ssize_t)sizeof info)
        /* A hangup of the terminal (SI_KERNEL) reaches the program by itself. */
        if (info.ssi_signo != SIGCHLD && info.ssi_code != SI_KERNEL)
            kill(child, (int)info.ssi_signo);
}

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
