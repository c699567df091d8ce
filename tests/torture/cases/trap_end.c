// SPDX-License-Identifier: MIT
/* Dies by a SIGTRAP of its own: raised, by int3, or thread-directed while blocked and unblocked. */
#include "torture.h"

int main(int argc, char **argv)
{
    const char *mode = argc > 1 ? argv[1] : "raise";
    busy(100);
    say("dying by %s\n", mode);
    if (strcmp(mode, "int3") == 0) {
        __asm__ volatile("int3");
    } else if (strcmp(mode, "blocked") == 0) {
        sigset_t set;
        sigemptyset(&set);
        sigaddset(&set, SIGTRAP);
        sigprocmask(SIG_BLOCK, &set, NULL);
        raise(SIGTRAP);
        say("still here\n");
        busy(50);
        sigprocmask(SIG_UNBLOCK, &set, NULL);
    } else {
        raise(SIGTRAP);
    }
    say("survived\n");
    return 0;
}
