// SPDX-License-Identifier: MIT
/*
 * What a call costs: cost [BLOCKS [THREADS]]
 *
 * Calls the function of cost_function.c, named by -DFUNCTION, a thousand times in a block, BLOCKS
 * times in every thread, and prints "median-ns least-ns" of one call: the loop's own nanosecond
 * included.
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <x86intrin.h>

enum { CALLS = 1000, BLOCKS_MAX = 100000, THREADS_MAX = 16 };

void FUNCTION(void);

static unsigned blocks = 2000, threads = 1;
static uint64_t *ticks; /* of every block of every thread */

static void *run(void *argument)
{
    unsigned number = (unsigned)(uintptr_t)argument, processor;
    for (unsigned i = 0; i < blocks; i++) {
        uint64_t start = __rdtscp(&processor);
        for (int k = 0; k < CALLS; k++)
            FUNCTION();
        ticks[number * blocks + i] = __rdtscp(&processor) - start;
    }
    return NULL;
}

static int by_size(const void *left, const void *right)
{
    uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;
    return (a > b) - (a < b);
}

static double seconds(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC_RAW, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

int main(int argc, char **argv)
{
    pthread_t thread[THREADS_MAX];
    blocks = argc > 1 ? (unsigned)atoi(argv[1]) : blocks;
    threads = argc > 2 ? (unsigned)atoi(argv[2]) : threads;
    if (blocks < 1 || blocks > BLOCKS_MAX || threads < 1 || threads > THREADS_MAX)
        return 2;
    size_t count = (size_t)blocks * threads;
    ticks = calloc(count, sizeof *ticks);
    if (!ticks)
        return 1;
    double start = seconds();
    uint64_t start_ticks = __rdtsc();
    for (unsigned i = 0; i < threads; i++)
        if (pthread_create(&thread[i], NULL, run, (void *)(uintptr_t)i))
            return 1;
    for (unsigned i = 0; i < threads; i++)
        pthread_join(thread[i], NULL);
    double ns = (seconds() - start) * 1e9 / (double)(__rdtsc() - start_ticks);
    qsort(ticks, count, sizeof *ticks, by_size);
    printf("%.2f %.2f\n", (double)ticks[count / 2] * ns / CALLS, (double)ticks[0] * ns / CALLS);
    return 0;
}
