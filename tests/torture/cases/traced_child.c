// SPDX-License-Identifier: MIT
/* A debugger in small: traces a child and sees its stops, every one, and none that is
 * not its own. */
#include "torture.h"
#include <poll.h>
#include <sys/epoll.h>
#include <sys/ptrace.h>
#include <sys/select.h>
#include <sys/user.h>

static void follow(const char *name, pid_t child, bool in_steps)
{
    int status, steps = 0;
    for (;;) {
        must(waitpid(child, &status, 0) == child);
        if (!WIFSTOPPED(status))
            break;
        int number = WSTOPSIG(status);
        if (in_steps && number == SIGTRAP && steps++ < 1000) {
            must(ptrace(PTRACE_SINGLESTEP, child, 0, 0) == 0);
            continue;
        }
        say("%s: stopped by %d\n", name, number);
        must(ptrace(in_steps && steps == 0 ? PTRACE_SINGLESTEP : PTRACE_CONT, child, 0,
                    number == SIGSTOP || number == SIGTRAP ? 0 : number) == 0);
    }
    say("%s: %s %d\n", name, WIFEXITED(status) ? "status" : "signal",
        WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status));
}

/* Waits for ever in one way or another; coming back is wrong. */
static void wait_for_ever(int way)
{
    struct epoll_event event;
    struct timespec hour = {.tv_sec = 3600};
    struct pollfd none = {.fd = -1};
    sigset_t mask;
    sigprocmask(SIG_BLOCK, NULL, &mask);
    switch (way) {
    case 0: pause(); break;
    case 1: sigsuspend(&mask); break;
    case 2: nanosleep(&hour, NULL); break;
    case 3: poll(&none, 1, 3600000); break;
    case 4: epoll_wait(epoll_create1(0), &event, 1, -1); break;
    case 5:
        for (;;)
            busy_turns(1000);
    default: select(0, NULL, NULL, NULL, NULL); break;
    }
    _exit(97);
}

enum { WAYS = 7 };

/* Seized, it goes on; interrupted, it stops by that and nothing else; and it never comes back. */
static void seize(int way)
{
    int status;
    pid_t child = fork();
    if (child == 0) {
        busy(10);
        wait_for_ever(way);
    }
    usleep(way % 2 ? 30000 : 1000);
    must(ptrace(PTRACE_SEIZE, child, 0, 0) == 0);
    usleep(20000);
    must(ptrace(PTRACE_INTERRUPT, child, 0, 0) == 0);
    must(waitpid(child, &status, 0) == child);
    say("seized %d: status %x\n", way, (unsigned)status);
    if (WIFSTOPPED(status)) {
        must(ptrace(PTRACE_DETACH, child, 0, 0) == 0);
        usleep(1000);
        say("still there: %d\n", waitpid(child, &status, WNOHANG) == 0 || way == 4);
        kill(child, SIGKILL);
        waitpid(child, &status, 0);
    }
}

int main(int argc, char **argv)
{
    if (argc > 1) {
        busy(50);
        return 21;
    }
    busy(50);
    pid_t child = fork();
    if (child == 0) {
        must(ptrace(PTRACE_TRACEME, 0, 0, 0) == 0);
        raise(SIGSTOP);
        busy(100);
        raise(SIGUSR2);
        signal(SIGUSR1, SIG_IGN);
        raise(SIGUSR1);
        _exit(20);
    }
    follow("traceme", child, false);
    child = fork();
    if (child == 0) {
        must(ptrace(PTRACE_TRACEME, 0, 0, 0) == 0);
        execl(argv[0], argv[0], "exec", (char *)NULL);
        _exit(98);
    }
    follow("exec", child, false);
    child = fork();
    if (child == 0) {
        must(ptrace(PTRACE_TRACEME, 0, 0, 0) == 0);
        raise(SIGSTOP);
        busy_turns(1000000);
        _exit(22);
    }
    follow("steps", child, true);
    child = fork();
    if (child == 0) {
        signal(SIGUSR1, SIG_IGN);
        busy(300);
        _exit(23);
    }
    must(ptrace(PTRACE_ATTACH, child, 0, 0) == 0);
    follow("attach", child, false);
    for (int round = 0; round < 4; round++)
        for (int way = 0; way < WAYS; way++)
            seize(way);
    return 0;
}
