// SPDX-License-Identifier: MIT
/* Starts threads before anybody else's code runs. What they wait in must last as long as it should.
 */
#include "torture.h"
#include <errno.h>
#include <poll.h>
#include <pthread.h>

void early_join(void);

static pthread_t threads[4];
static int outcome[4];

static void *sleeping(void *unused)
{
    struct timespec half = {.tv_nsec = 500000000};
    outcome[0] = nanosleep(&half, NULL) == 0 ? 0 : errno;
    return unused;
}

static void *polling(void *unused)
{
    outcome[1] = poll(NULL, 0, 500) == 0 ? 0 : errno;
    return unused;
}

/* Everything blocked, as threads of libraries have it. */
static void *waiting(void *unused)
{
    sigset_t all, seen;
    struct timespec half = {.tv_nsec = 500000000};
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, NULL);
    outcome[2] = nanosleep(&half, NULL) == 0 ? 0 : errno;
    pthread_sigmask(SIG_SETMASK, NULL, &seen);
    outcome[2] += sigismember(&seen, SIGTRAP) == 1 ? 0 : 1000;
    return unused;
}

static void *working(void *unused)
{
    busy(300);
    outcome[3] = 0;
    return unused;
}

__attribute__((constructor)) static void start(void)
{
    void *(*const routines[])(void *) = {sleeping, polling, waiting, working};
    for (int i = 0; i < 4; i++) {
        outcome[i] = -1;
        must(pthread_create(&threads[i], NULL, routines[i], NULL) == 0);
    }
    usleep(20000); /* they wait by now */
}

void early_join(void)
{
    for (int i = 0; i < 4; i++) {
        pthread_join(threads[i], NULL);
        say("early thread %d: %d\n", i, outcome[i]);
    }
}
