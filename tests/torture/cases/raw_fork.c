// SPDX-License-Identifier: MIT
/* Processes made without what fork calls in a child, which go on in functions as busy as before; and a handler
 * of fork's that calls them, too. */
#include "torture.h"
#include <pthread.h>

/* One a thread: nobody holds the first one when the other thread makes processes. */
static pthread_mutex_t own = PTHREAD_MUTEX_INITIALIZER, other = PTHREAD_MUTEX_INITIALIZER;
static volatile long count;

static __attribute__((noinline)) long turn(pthread_mutex_t *lock, long i)
{
    pthread_mutex_lock(lock);
    count += i;
    pthread_mutex_unlock(lock);
    return count;
}

static void turns_with(pthread_mutex_t *lock)
{
    for (long i = 0; i < 5000; i++)
        turn(lock, i);
}

static void turns(void)
{
    turns_with(&own);
}

/* Before all that are registered later. */
__attribute__((constructor(101))) static void early(void)
{
    pthread_atfork(NULL, NULL, turns);
}

static void *work(void *unused)
{
    for (int i = 0; i < 40; i++)
        turns_with(&other);
    return unused;
}

/* Sleeps meanwhile, so that its return is a long one. */
static __attribute__((noinline)) pid_t make(int way)
{
    pid_t child = way == 0   ? _Fork()
                  : way == 1 ? (pid_t)syscall(SYS_fork)
                  : way == 2 ? (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0)
                             : fork();
    usleep(2000);
    turn(&own, 1);
    return child;
}

int main(void)
{
    pthread_t thread;
    must(pthread_create(&thread, NULL, work, NULL) == 0);
    for (int i = 0; i < 16; i++) {
        turns();
        pid_t child = make(i % 4);
        if (child == 0) {
            turns();
            busy(2);
            _exit(7);
        }
        show_end("child", child);
    }
    pthread_join(thread, NULL);
    return 0;
}
