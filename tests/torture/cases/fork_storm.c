// SPDX-License-Identifier: MIT
/* Processes that fork processes, all busy; SIGCHLD once each at most, no stranger among them. */
#include "torture.h"

static int grow(int depth)
{
    int total = 1;
    if (depth == 0)
        return total;
    pid_t children[3];
    for (int i = 0; i < 3; i++) {
        children[i] = fork();
        must(children[i] >= 0);
        if (children[i] == 0) {
            busy(2);
            _exit(grow(depth - 1));
        }
    }
    busy(2);
    for (int i = 0; i < 3; i++) {
        int status;
        must(waitpid(children[i], &status, 0) == children[i]);
        must(WIFEXITED(status));
        total += WEXITSTATUS(status);
    }
    return total;
}

int main(void)
{
    say("processes %d\n", grow(4));
    for (int i = 0; i < 100; i++) {
        pid_t child = fork();
        if (child == 0) {
            busy(1);
            _exit(i);
        }
        show_end("child", child);
    }
    pid_t child = fork();
    if (child == 0) {
        show_descriptors();
        show_signals();
        show_process();
        _exit(0);
    }
    show_end("last", child);
    show_process();
    return 0;
}
