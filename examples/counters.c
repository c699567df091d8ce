// SPDX-License-Identifier: MIT
// Four threads count events of a kind of their own; their counters lie on one cache line: docs/sharing.md.
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>

enum { THREADS = 4, EVENTS = 100000 };

struct counter {
    uint64_t hits, misses;
};

static struct counter counters[THREADS] __attribute__((aligned(64)));

static void *count(void *number)
{
    struct counter *own = &counters[(uintptr_t)number];
    uint64_t state = (uintptr_t)number;
    for (unsigned i = 0; i < EVENTS; i++) {
        state = state * 6364136223846793005 + 1442695040888963407;
        if (state >> 62)
            __atomic_store_n(&own->hits, own->hits + 1, __ATOMIC_RELAXED);
        else
            __atomic_store_n(&own->misses, own->misses + 1, __ATOMIC_RELAXED);
    }
    return NULL;
}

int main(void)
{
    pthread_t threads[THREADS];
    uint64_t hits = 0;
    for (uintptr_t i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, count, (void *)i);
    for (unsigned i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    for (unsigned i = 0; i < THREADS; i++)
        hits += counters[i].hits;
    printf("%.2f of the events are hits\n", (double)hits / THREADS / EVENTS);
}
