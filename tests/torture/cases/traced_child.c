// SPDX-License-Identifier: MIT
/* A debugger in small: traces a child and sees its stops, every one, and none that is
 * not its own. */
#include "torture.h"
#include <sys/ptrace.h>
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
    return 0;
}
