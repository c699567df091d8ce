// SPDX-License-Identifier: MIT
/* What kernel.c and emitted.c measure by: ticks of the time stamp counter, and how many of them a cycle takes at the moment. */
#ifndef HEADROOM_BENCH_CYCLES_H
#define HEADROOM_BENCH_CYCLES_H

#include <stdint.h>
#include <x86intrin.h>

static inline uint64_t stamp(void)
{
    _mm_lfence();
    uint64_t ticks = __rdtsc();
    _mm_lfence();
    return ticks;
}

/* Ticks of the time stamp counter that a cycle takes: rotations wait for one another. */
static inline double ticks_a_cycle(void)
{
    enum { CHAINS = 20, ROUNDS = 4000, EACH = 8 };
    double least = 1e30;
    for (int i = 0; i < CHAINS; i++) {
        uint64_t start = stamp(), value = 1, rounds = ROUNDS;
        __asm__ volatile("1: rol %0; rol %0; rol %0; rol %0; rol %0; rol %0; rol %0; rol %0\n"
                         "dec %1; jne 1b"
                         : "+r"(value), "+r"(rounds));
        double ticks = (double)(stamp() - start) / (ROUNDS * EACH);
        least = ticks < least ? ticks : least;
    }
    return least;
}

/* For qsort: doubles. */
static inline int ascending(const void *left, const void *right)
{
    double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

#endif
