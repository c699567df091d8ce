// SPDX-License-Identifier: MIT
/* Runs hooked functions in two threads until somebody ends it: at random times. */
#include "hooked.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static uint64_t value;

HOOKED void add(uint64_t by)
{
    pthread_mutex_lock(&lock);
    value += by;
    pthread_mutex_unlock(&lock);
}

HOOKED uint64_t fibonacci(uint64_t n)
{
    return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2);
}

static void *run(void *unused)
{
    for (;;)
        add(fibonacci(8));
    return unused;
}

int main(void)
{
    pthread_t thread;
    must(pthread_create(&thread, NULL, run, NULL) == 0);
    run(NULL);
    return 0;
}
