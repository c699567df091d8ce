// SPDX-License-Identifier: MIT
/*
 * Four threads, each with its own dead share: n stores of an element before it
 * is read once leave (n-1)/n dead, here 0, 1/2, 2/3 and 3/4; on the whole
 * 23/48 = 0.479. Every store goes with one load, never of what is still
 * on its way to memory, so that all stand for the same time. Of the waste the threads own 0, 6/23,
 * 8/23 and 9/23.
 *
 * case: threads --kinds dead -- 2
 *   dead.fraction 0.43..0.53
 *   dead.function worker_1 0..0.01
 *   dead.function worker_2 0.21..0.31
 *   dead.function worker_3 0.30..0.40
 *   dead.function worker_4 0.34..0.44
 */
#include "known.h"
#include <pthread.h>

enum { ENTRIES = 256 };
static double seconds;

__attribute__((always_inline)) static inline uint64_t
fill_and_load(volatile uint64_t *table, const volatile uint64_t *from, uint64_t value)
{
    uint64_t sum = 0;
    for (int i = 0; i < ENTRIES; i++) {
        table[i] = value;
        sum += from[i ^ (ENTRIES / 2)];
    }
    return sum;
}

#define WORKER(stores)                                                                             \
    static void *worker_##stores(void *unused)                                                     \
    {                                                                                              \
        static volatile uint64_t table[ENTRIES], spare[ENTRIES];                                   \
        uint64_t sum = 0;                                                                          \
        while (known_running(seconds))                                                             \
            for (uint64_t round = 0; round < 100; round++)                                         \
                for (int left = stores; left > 0; left--)                                          \
                    sum += fill_and_load(table, left == 1 ? table : spare, round);                 \
        return sum == 1 ? &seconds : unused;                                                       \
    }

WORKER(1)
WORKER(2)
WORKER(3)
WORKER(4)

int main(int argc, char **argv)
{
    void *(*const workers[])(void *) = {worker_1, worker_2, worker_3, worker_4};
    pthread_t threads[4];
    seconds = known_seconds(argc, argv);
    for (int i = 0; i < 4; i++)
        if (pthread_create(&threads[i], NULL, workers[i], NULL))
            return 1;
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    return 0;
}
