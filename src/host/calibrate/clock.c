// SPDX-License-Identifier: MIT
/*
 * How long a cycle takes at the moment, from chains of additions: each takes one, on every processor that is known. What else runs
 * on the core does not slow a chain down; being interrupted does, hence quantiles of many short ones.
 */
#include "calibrate/internal.h"

#include <stdlib.h>
#include <time.h>

enum { CHAINS = 400, ROUNDS = 250, ADDITIONS = 64 }; /* 16,000 cycles each: some microseconds */

static double now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

/* The counter runs beside the chain, and the branch is predicted: a round takes as many cycles as it has additions. */
static double chain_ns(void)
{
    uint64_t sum = 1, rounds = ROUNDS;
    double begun = now_ns();
    __asm__ volatile("1:\n\t"
                     ".rept %c2\n\t"
                     "add %0, %0\n\t"
                     ".endr\n\t"
                     "dec %1\n\t"
                     "jnz 1b"
                     : "+r"(sum), "+r"(rounds)
                     : "i"(ADDITIONS)
                     : "cc");
    return now_ns() - begun;
}

void calibrate_clock(struct calibrate_clock *clock)
{
    double chains[CHAINS];
    const double cycles = (double)ROUNDS * ADDITIONS;
    for (unsigned i = 0; i < CHAINS; i++)
        chains[i] = chain_ns();
    qsort(chains, CHAINS, sizeof *chains, lab_ascending);
    *clock = (struct calibrate_clock){.cycle_ns = chains[CHAINS / 2] / cycles,
                                      .low_ns = chains[CHAINS / 10] / cycles,
                                      .high_ns = chains[CHAINS - CHAINS / 10] / cycles};
}

void calibrate_clock_join(struct calibrate_clock *clock, const struct calibrate_clock *other)
{
    clock->cycle_ns = (clock->cycle_ns + other->cycle_ns) / 2;
    clock->low_ns = other->low_ns < clock->low_ns ? other->low_ns : clock->low_ns;
    clock->high_ns = other->high_ns > clock->high_ns ? other->high_ns : clock->high_ns;
}
