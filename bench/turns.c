// SPDX-License-Identifier: MIT
/*
 * How far apart the touches of two threads lay that take a cache line from each other: what the bound of 20 ms in `headroom sharing`
 * has to cover (docs/measurements.md). Every touch exchanges a word of who and when, so that each turn is seen: the time since the other thread's
 * last touch.
 *
 *   gcc -O2 -pthread bench/turns.c -o turns && ./turns [SECONDS]
 *
 * Rows: threads, work between two touches. `spin`: threads that always have work; `lock`: the line is a mutex's and its
 * data; `turn`: each waits in a loop, yielding, until the other has been there. `phases` is what must not be called sharing: a barrier
 * after each phase of that length; the line is written by one thread in each.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { THREADS_MAX = 64, BINS = 40 };

static _Alignas(64) _Atomic uint64_t line; /* thread << 56 | ns */
static _Alignas(64) pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t barrier;
static uint64_t end_ns, work_ns;
static uint64_t phases_count; /* the same for all threads, which meet at the barrier */
static unsigned threads;
static const char *mode;
static uint64_t bins[THREADS_MAX][BINS];

static uint64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static uint64_t touch(uint64_t who)
{
    uint64_t now = now_ns(), former = atomic_exchange(&line, who << 56 | now);
    uint64_t then = former & ((UINT64_C(1) << 56) - 1);
    if (former && former >> 56 != who && then <= now)
        bins[who - 1][now > then ? 63 - __builtin_clzll(now - then) : 0]++;
    return now;
}

static void work(uint64_t from)
{
    while (now_ns() - from < work_ns)
        ;
}

static void turn(uint64_t who)
{
    if (strcmp(mode, "lock") == 0) {
        pthread_mutex_lock(&mutex);
        uint64_t now = touch(who);
        pthread_mutex_unlock(&mutex);
        work(now);
    } else if (strcmp(mode, "turn") == 0) {
        while (atomic_load(&line) >> 56 == who && now_ns() < end_ns)
            sched_yield();
        work(touch(who));
    } else {
        work(touch(who));
    }
}

static void phases(uint64_t who)
{
    for (uint64_t phase = 1; phase <= phases_count; phase++) {
        uint64_t began = now_ns();
        do
            if (phase % threads + 1 == who)
                touch(who);
        while (now_ns() - began < work_ns);
        pthread_barrier_wait(&barrier);
    }
}

static void *run(void *number)
{
    uint64_t who = (uint64_t)(uintptr_t)number;
    pthread_barrier_wait(&barrier);
    if (strcmp(mode, "phases") == 0)
        phases(who);
    else
        while (now_ns() < end_ns)
            turn(who);
    return NULL;
}

/* The upper end of the bin that holds that share of the turns. */
static double below(const uint64_t sums[BINS], uint64_t all, double share)
{
    uint64_t sum = 0;
    for (int i = 0; i < BINS; i++)
        if ((double)(sum += sums[i]) >= share * (double)all)
            return (double)(UINT64_C(2) << i) / 1000;
    return 0;
}

static void print(double seconds)
{
    uint64_t sums[BINS] = {0}, all = 0, within = 0;
    for (unsigned i = 0; i < threads; i++)
        for (int j = 0; j < BINS; j++) {
            sums[j] += bins[i][j];
            all += bins[i][j];
            within += j < 24 ? bins[i][j] : 0; /* 2^24 ns are 16.8 ms */
        }
    printf("| %s | %u | %.0f | %.0f | %.1f | %.1f | %.1f | %.2f |\n", mode, threads,
           (double)work_ns / 1000, (double)all / seconds, below(sums, all, 0.5),
           below(sums, all, 0.9), below(sums, all, 0.99),
           all ? 100.0 * (double)within / (double)all : 0);
    fflush(stdout);
}

static void measure(const char *name, unsigned count, uint64_t between_ns, double seconds)
{
    pthread_t made[THREADS_MAX];
    mode = name;
    threads = count;
    work_ns = between_ns;
    memset(bins, 0, sizeof bins);
    atomic_store(&line, 0);
    pthread_barrier_init(&barrier, NULL, count);
    end_ns = now_ns() + (uint64_t)(seconds * 1e9);
    phases_count = (uint64_t)(seconds * 1e9) / (work_ns + 1);
    for (uintptr_t i = 0; i < count; i++)
        pthread_create(&made[i], NULL, run, (void *)(i + 1));
    for (unsigned i = 0; i < count; i++)
        pthread_join(made[i], NULL);
    pthread_barrier_destroy(&barrier);
    print(seconds);
}

int main(int count, char **arguments)
{
    double seconds = count > 1 ? strtod(arguments[1], NULL) : 2;
    static const uint64_t between[] = {0, 10000, 1000000};
    static const unsigned counts[] = {2, 4, 16};
    printf("| | threads | us between touches | turns a second | half within us | 90 %% | 99 %% | "
           "%% within 16.8 ms |\n|---|--:|--:|--:|--:|--:|--:|--:|\n");
    for (unsigned i = 0; i < 3; i++)
        for (unsigned j = 0; j < 3; j++)
            measure("spin", counts[i], between[j], seconds);
    for (unsigned i = 0; i < 3; i++)
        measure("lock", counts[i], 10000, seconds);
    measure("turn", 2, 0, seconds);
    measure("phases", 2, 5000000, seconds);
    return 0;
}
