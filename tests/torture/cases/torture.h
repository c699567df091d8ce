// SPDX-License-Identifier: MIT
/*
 * torture: what the torture programs share.
 *
 * Each program prints what it sees of its world; the runner compares that, and
 * how it ended, between a native run and an observed one. So nothing may be
 * printed that differs between two native runs: no addresses, times, process
 * numbers or inodes. Output goes through write(2) at once; nothing is buffered
 * over a fork.
 */
#ifndef HEADROOM_TESTS_TORTURE_H
#define HEADROOM_TESTS_TORTURE_H

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define say(...) dprintf(STDOUT_FILENO, __VA_ARGS__)

/* Stops a test whose set-up failed: never equal to a good run. */
#define must(condition)                                                                            \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            dprintf(STDERR_FILENO, "%s:%d: %s: %s\n", __FILE__, __LINE__, #condition,              \
                    strerror(errno));                                                              \
            _exit(99);                                                                             \
        }                                                                                          \
    } while (0)

/* An address that is never mapped, unknown to the compiler. */
static char *volatile nowhere = (char *)8;

static volatile uint64_t busy_place[64];

/* Stores and loads for so many milliseconds of this thread's CPU time: gives samples a chance. */
static inline void busy(int milliseconds)
{
    struct timespec start, now;
    syscall(SYS_clock_gettime, CLOCK_THREAD_CPUTIME_ID, &start);
    do {
        for (uint64_t i = 0; i < 20000; i++) {
            busy_place[i % 64] = i;
            busy_place[(i + 7) % 64] = busy_place[i % 64] + 1;
        }
        syscall(SYS_clock_gettime, CLOCK_THREAD_CPUTIME_ID, &now);
    } while ((now.tv_sec - start.tv_sec) * 1000 + (now.tv_nsec - start.tv_nsec) / 1000000 <
             milliseconds);
}

/* The same amount of work without a system call. */
static inline void busy_turns(uint64_t turns)
{
    for (uint64_t i = 0; i < turns; i++) {
        busy_place[i % 64] = i;
        busy_place[(i + 7) % 64] = busy_place[i % 64] + 1;
    }
}

static inline const char *file_kind(mode_t mode)
{
    return S_ISREG(mode)    ? "file"
           : S_ISDIR(mode)  ? "directory"
           : S_ISCHR(mode)  ? "device"
           : S_ISFIFO(mode) ? "pipe"
           : S_ISSOCK(mode) ? "socket"
                            : "other";
}

/* Every descriptor below 1024, by fcntl and as /proc/self/fd lists them. */
static inline void show_descriptors(void)
{
    for (int fd = 0; fd < 1024; fd++) {
        struct stat status;
        int flags = fcntl(fd, F_GETFD);
        if (flags < 0)
            continue;
        must(fstat(fd, &status) == 0);
        say("descriptor %d: %s, mode %d, flags %d\n", fd, file_kind(status.st_mode),
            fcntl(fd, F_GETFL) & O_ACCMODE, flags);
    }
    DIR *directory = opendir("/proc/self/fd");
    if (!directory) {
        say("no /proc\n");
        return;
    }
    int count = 0, last = 0;
    for (struct dirent *entry; (entry = readdir(directory));) {
        if (entry->d_name[0] == '.')
            continue;
        count++;
        last = atoi(entry->d_name) > last ? atoi(entry->d_name) : last;
    }
    closedir(directory);
    say("/proc/self/fd: %d entries, last %d\n", count, last);
}

/* A set of signals; the C library's own two (32, 33) cannot be asked for. */
static inline void show_set(const char *name, const sigset_t *set)
{
    say("%s:", name);
    for (int number = 1; number <= 64; number++)
        if (number != 32 && number != 33 && sigismember(set, number) == 1)
            say(" %d", number);
    say("\n");
}

static inline void show_signals(void)
{
    sigset_t set;
    for (int number = 1; number <= 64; number++) {
        struct sigaction action;
        if (sigaction(number, NULL, &action))
            continue;
        if (action.sa_handler != SIG_DFL)
            say("signal %d: %s, flags %#x\n", number,
                action.sa_handler == SIG_IGN ? "ignored" : "handled",
                (unsigned)action.sa_flags & ~0x04000000u);
    }
    must(sigprocmask(SIG_BLOCK, NULL, &set) == 0);
    show_set("blocked", &set);
    must(sigpending(&set) == 0);
    show_set("pending", &set);
    stack_t stack;
    must(sigaltstack(NULL, &stack) == 0);
    say("alternate stack: flags %d, size %zu\n", stack.ss_flags, stack.ss_size);
}

static inline void show_limits(void)
{
    for (int resource = 0; resource < RLIMIT_NLIMITS; resource++) {
        struct rlimit limit;
        if (getrlimit(resource, &limit) == 0)
            say("limit %d: %lld %lld\n", resource, (long long)limit.rlim_cur,
                (long long)limit.rlim_max);
    }
}

static inline void show_process(void)
{
    struct itimerval timer;
    for (int which = ITIMER_REAL; which <= ITIMER_PROF; which++) {
        must(getitimer(which, &timer) == 0);
        say("timer %d: %s\n", which,
            timer.it_value.tv_sec || timer.it_value.tv_usec ? "on" : "off");
    }
    char name[17] = "";
    prctl(PR_GET_NAME, name);
    say("name %s, dumpable %d, no_new_privs %d, seccomp %d\n", name, prctl(PR_GET_DUMPABLE),
        prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0), prctl(PR_GET_SECCOMP));
    int death = -1;
    prctl(PR_GET_PDEATHSIG, &death);
    mode_t mask = umask(0);
    umask(mask);
    say("death signal %d, umask %o, niceness %d\n", death, mask, getpriority(PRIO_PROCESS, 0));
    int status;
    pid_t child = waitpid(-1, &status, WNOHANG | __WALL);
    say("children: %s\n", child < 0 && errno == ECHILD ? "none" : "some");
    int threads = 0;
    DIR *directory = opendir("/proc/self/task");
    for (struct dirent *entry; directory && (entry = readdir(directory));)
        threads += entry->d_name[0] != '.';
    if (directory)
        closedir(directory);
    say("threads: %d\n", threads);
}

/* Waits for a child and says how it ended. */
static inline void show_end(const char *name, pid_t child)
{
    int status;
    must(waitpid(child, &status, 0) == child);
    if (WIFSIGNALED(status))
        say("%s: signal %d%s\n", name, WTERMSIG(status), WCOREDUMP(status) ? ", core" : "");
    else
        say("%s: status %d\n", name, WEXITSTATUS(status));
}

#endif
