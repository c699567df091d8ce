// SPDX-License-Identifier: MIT
/*
 * What a call costs: cost [BLOCKS [THREADS]]
 *
 * Calls each of the functions of cost_function.c a thousand times in a block, BLOCKS times in turn,
 * in every thread, and prints "name median-ns least-ns" of one call: the loop's own nanosecond
 * included.
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <x86intrin.h>

enum { CALLS = 1000, MOST_BLOCKS = 100000, MOST_THREADS = 16 };

void patched(void), prepared(void), called(void), imported(void);

static const char *const ways[] = {"patched", "prepared", "called", "imported"};

enum { WAYS = sizeof ways / sizeof *ways };

static unsigned blocks = 2000, threads = 1;
static uint64_t *ticks[WAYS]; /* of every block of every thread */

/* The calls are written out, so that those to the library go by the table of imports as a compiler
 * makes them. */
#define BLOCK(name)                                                                                \
    static uint64_t time_##name(void)                                                              \
    {                                                                                              \
        unsigned processor;                                                                        \
        uint64_t start = __rdtscp(&processor);                                                     \
        for (int i = 0; i < CALLS; i++)                                                            \
            name();                                                                                \
        return __rdtscp(&processor) - start;                                                       \
    }
BLOCK(patched)
BLOCK(prepared)
BLOCK(called)
BLOCK(imported)

static void *run(void *argument)
{
    static uint64_t (*const times[WAYS])(void) = {time_patched, time_prepared, time_called,
                                                  time_imported};
    unsigned number = (unsigned)(uintptr_t)argument;
    for (unsigned i = 0; i < blocks; i++)
        for (unsigned k = 0; k < WAYS; k++)
            ticks[k][number * blocks + i] = times[k]();
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
    pthread_t thread[MOST_THREADS];
    blocks = argc > 1 ? (unsigned)atoi(argv[1]) : blocks;
    threads = argc > 2 ? (unsigned)atoi(argv[2]) : threads;
    if (blocks < 1 || blocks > MOST_BLOCKS || threads < 1 || threads > MOST_THREADS)
        return 2;
    size_t count = (size_t)blocks * threads;
    for (unsigned k = 0; k < WAYS; k++)
        if (!(ticks[k] = calloc(count, sizeof **ticks)))
            return 1;
    double start = seconds();
    uint64_t start_ticks = __rdtsc();
    for (unsigned i = 0; i < threads; i++)
        if (pthread_create(&thread[i], NULL, run, (void *)(uintptr_t)i))
            return 1;
    for (unsigned i = 0; i < threads; i++)
        pthread_join(thread[i], NULL);
    double ns = (seconds() - start) * 1e9 / (double)(__rdtsc() - start_ticks);
    for (unsigned k = 0; k < WAYS; k++) {
        qsort(ticks[k], count, sizeof **ticks, by_size);
        printf("%s %.2f %.2f\n", ways[k], (double)ticks[k][count / 2] * ns / CALLS,
               (double)ticks[k][0] * ns / CALLS);
    }
    return 0;
}
