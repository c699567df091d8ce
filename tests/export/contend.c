// SPDX-License-Identifier: MIT
/* Two threads that take one lock, some thousand times each. */
#include <pthread.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static volatile long sum;

__attribute__((noinline)) static void step(void)
{
    pthread_mutex_lock(&lock);
    for (int i = 0; i < 200; i++)
        sum += i;
    pthread_mutex_unlock(&lock);
}

static void *run(void *unused)
{
    for (int i = 0; i < 5000; i++)
        step();
    return unused;
}

int main(void)
{
    pthread_t threads[2];
    for (int i = 0; i < 2; i++)
        if (pthread_create(&threads[i], NULL, run, NULL) != 0)
            return 1;
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    return 0;
}
