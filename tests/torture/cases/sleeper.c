// SPDX-License-Identifier: MIT
/* Works for ever in threads and children: the runner kills it at random times. */
#include "torture.h"
#include <pthread.h>

static void *work(void *unused)
{
    for (;;)
        busy(10);
    return unused;
}

int main(void)
{
    pthread_t thread;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    must(pthread_create(&thread, NULL, work, NULL) == 0);
    for (;;) {
        busy(5);
        pid_t child = fork();
        if (child == 0) {
            busy(2);
            _exit(0);
        }
        waitpid(child, NULL, 0);
    }
}
