// SPDX-License-Identifier: MIT
/* Threads cancelled while busy and while waiting; detached threads; keys with destructors. */
#include "torture.h"
#include <pthread.h>

static int cleaned, destroyed;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_key_t key;

static void clean(void *what)
{
    busy_turns(10000);
    pthread_mutex_lock(&lock);
    cleaned += *(int *)what;
    pthread_mutex_unlock(&lock);
}

static void destroy(void *what)
{
    (void)what;
    busy_turns(10000);
    pthread_mutex_lock(&lock);
    destroyed++;
    pthread_mutex_unlock(&lock);
}

static void *work(void *mode)
{
    static int one = 1;
    pthread_setspecific(key, &one);
    pthread_cleanup_push(clean, &one);
    if (*(int *)mode == 0) {
        pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, NULL);
        for (;;)
            busy_turns(1000);
    } else if (*(int *)mode == 1) {
        for (;;) {
            busy_turns(1000);
            pthread_testcancel();
        }
    } else {
        for (;;)
            sleep(100);
    }
    pthread_cleanup_pop(1);
    return NULL;
}

static void *in_shell(void *unused)
{
    system("sleep 100");
    return unused;
}

/* The environment is the same afterwards. */
static void cancel_shell(void)
{
    extern char **environ;
    char **before = environ;
    pthread_t thread;
    void *result;
    must(pthread_create(&thread, NULL, in_shell, NULL) == 0);
    usleep(300000);
    must(pthread_cancel(thread) == 0 && pthread_join(thread, &result) == 0);
    say("cancelled in system %d, environ %d\n", result == PTHREAD_CANCELED, environ == before);
}

static void *detached(void *unused)
{
    busy(2);
    pthread_mutex_lock(&lock);
    cleaned += 1000;
    pthread_mutex_unlock(&lock);
    return unused;
}

int main(void)
{
    int modes[] = {0, 1, 2}, cancelled = 0;
    pthread_key_create(&key, destroy);
    for (int round = 0; round < 60; round++) {
        pthread_t thread;
        void *result;
        must(pthread_create(&thread, NULL, work, &modes[round % 3]) == 0);
        /* Pushing the handler takes a moment; it must be pushed when the cancellation comes. */
        usleep(20000);
        must(pthread_cancel(thread) == 0 && pthread_join(thread, &result) == 0);
        cancelled += result == PTHREAD_CANCELED;
    }
    say("cancelled %d, cleaned %d, destroyed %d\n", cancelled, cleaned, destroyed);
    cancel_shell();
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    for (int i = 0; i < 20; i++) {
        pthread_t thread;
        must(pthread_create(&thread, &attributes, detached, NULL) == 0);
    }
    pthread_mutex_lock(&lock);
    while (cleaned < 20060) {
        pthread_mutex_unlock(&lock);
        usleep(1000);
        pthread_mutex_lock(&lock);
    }
    pthread_mutex_unlock(&lock);
    say("cleaned %d\n", cleaned);
    return 0;
}
