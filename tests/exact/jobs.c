// SPDX-License-Identifier: MIT
/*
 * What threads that count must not show, and must not lose: jobs MODE
 *
 *     waits     no child is there to be waited for, and one thread
 *     unshares  another namespace of users: only a process of one thread gets it; 77: not allowed here
 *     forks     a child and its parent store without use, the same number of times each
 *     killed    dies by a signal after dead stores
 *     leaves    ends by _exit after dead stores, in a handler
 *     sleeps    says when it has stored, and waits to be killed
 */
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { TIMES = 100000 };
static volatile long target[64];

static void __attribute__((noinline)) work(void)
{
    for (int i = 0; i < TIMES; i++)
        target[i % 64] = i;
}

static int fail(const char *what)
{
    fprintf(stderr, "%s: %s\n", what, strerror(errno));
    return 1;
}

static int waits(void)
{
    work();
    if (waitpid(-1, NULL, WNOHANG) != -1 || errno != ECHILD)
        return fail("a child");
    if (waitpid(-1, NULL, WNOHANG | __WALL) != -1 || errno != ECHILD)
        return fail("a child of another kind");
    return 0;
}

static int unshares(void)
{
    work();
    if (unshare(CLONE_NEWUSER) == 0) {
        work();
        return 0;
    }
    return errno == EPERM || errno == ENOSPC || errno == ENOSYS ? 77 : fail("unshare");
}

static int forks(void)
{
    int status = 1;
    work();
    pid_t child = fork();
    work();
    if (child == 0)
        _exit(0);
    return waitpid(child, &status, 0) == child && status == 0 ? 0 : fail("a child");
}

static void leave(int signal)
{
    (void)signal;
    work();
    _exit(0);
}

int main(int argc, char **argv)
{
    const char *mode = argc > 1 ? argv[1] : "";
    if (strcmp(mode, "waits") == 0)
        return waits();
    if (strcmp(mode, "unshares") == 0)
        return unshares();
    if (strcmp(mode, "forks") == 0)
        return forks();
    if (strcmp(mode, "killed") == 0) {
        work();
        raise(SIGTERM);
    }
    if (strcmp(mode, "leaves") == 0) {
        work();
        signal(SIGUSR1, leave);
        raise(SIGUSR1);
    }
    if (strcmp(mode, "sleeps") == 0) {
        work();
        puts("ready");
        fflush(stdout);
        pause();
    }
    return 2;
}
