// SPDX-License-Identifier: MIT
/* Reads the area that the kernel writes at returns to user mode (restartable sequences), over and
 * over. */
#include "torture.h"
#include <sched.h>

int main(void)
{
    int wrong = 0;
    struct timespec start, now;
    clock_gettime(CLOCK_MONOTONIC, &start);
    do {
        for (int i = 0; i < 20000; i++)
            wrong += sched_getcpu() < 0;
        clock_gettime(CLOCK_MONOTONIC, &now);
    } while (now.tv_sec - start.tv_sec < 1);
    say("wrong: %d\n", wrong);
    show_process();
    return 0;
}
