// SPDX-License-Identifier: MIT
/*
 * Forked children that begin while the program ends, and go on without it. For a while after fork
 * they are not known to the recording yet.
 */
#include "hooked.h"

HOOKED uint64_t work(uint64_t turns)
{
    busy_turns(turns);
    return turns * 2;
}

int main(void)
{
    for (int i = 0; i < 8; i++) {
        pid_t child = fork();
        must(child >= 0);
        if (child == 0) {
            for (int turn = 0; turn < 4000; turn++)
                work(20);
            _exit(0);
        }
        usleep(300);
    }
    say("begun\n");
    return 0;
}
