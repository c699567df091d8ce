// SPDX-License-Identifier: MIT
/* Blocking calls while other threads are busy: nobody sees EINTR. */
#include "torture.h"
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <sys/epoll.h>
#include <sys/select.h>

static volatile int finished;

static void *work(void *unused)
{
    while (!finished)
        busy(1);
    return unused;
}

int main(void)
{
    struct timespec pause = {0, 1000000};
    pthread_t threads[2];
    int interrupted = 0, ends[2], epoll = epoll_create1(0);
    sem_t semaphore;
    must(pipe(ends) == 0 && epoll >= 0 && sem_init(&semaphore, 0, 0) == 0);
    for (int i = 0; i < 2; i++)
        must(pthread_create(&threads[i], NULL, work, NULL) == 0);
    for (int i = 0; i < 100; i++) {
        struct pollfd descriptor = {ends[0], POLLIN, 0};
        struct epoll_event event;
        struct timespec until;
        struct timeval soon = {0, 1000};
        busy_turns(100000);
        interrupted += nanosleep(&pause, NULL) != 0;
        interrupted += poll(&descriptor, 1, 1) < 0;
        interrupted += epoll_wait(epoll, &event, 1, 1) < 0;
        interrupted += select(0, NULL, NULL, NULL, &soon) < 0;
        interrupted += usleep(1000) < 0;
        clock_gettime(CLOCK_REALTIME, &until);
        until.tv_nsec = (until.tv_nsec + 1000000) % 1000000000;
        interrupted += sem_timedwait(&semaphore, &until) < 0 && errno == EINTR;
    }
    finished = 1;
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    say("interrupted %d\n", interrupted);
    return 0;
}
