// SPDX-License-Identifier: MIT
/* Marks itself undumpable, and itself a subreaper; its memory is nobody's to read. */
#include "torture.h"

int main(void)
{
    must(prctl(PR_SET_DUMPABLE, 0) == 0);
    must(prctl(PR_SET_CHILD_SUBREAPER, 1) == 0);
    must(prctl(PR_SET_NAME, "renamed") == 0);
    busy(200);
    pid_t child = fork();
    if (child == 0) {
        if (fork() == 0) {
            busy(100);
            _exit(17);
        }
        _exit(18);
    }
    show_end("child", child);
    int status;
    must(wait(&status) > 0);
    say("adopted: status %d\n", WEXITSTATUS(status));
    show_process();
    return 0;
}
