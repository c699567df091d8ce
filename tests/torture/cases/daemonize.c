// SPDX-License-Identifier: MIT
/* Becomes a daemon (daemon(3), and by hand with two forks) that reports through a pipe. */
#include "torture.h"

static void report(int to, const char *name)
{
    busy(50);
    dprintf(to, "%s: leader %d, orphan works\n", name, getsid(0) == getpid());
    _exit(0);
}

int main(void)
{
    int ends[2];
    char text[200];
    for (int way = 0; way < 2; way++) {
        must(pipe(ends) == 0);
        pid_t child = fork();
        if (child == 0) {
            close(ends[0]);
            if (way == 0) {
                must(daemon(1, 0) == 0);
                report(ends[1], "daemon");
            }
            setsid();
            if (fork() == 0)
                report(ends[1], "two forks");
            _exit(0);
        }
        show_end("parent", child);
        close(ends[1]);
        for (ssize_t got; (got = read(ends[0], text, sizeof text)) > 0;)
            say("%.*s", (int)got, text);
        close(ends[0]);
    }
    return 0;
}
