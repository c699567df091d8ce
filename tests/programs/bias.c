// SPDX-License-Identifier: MIT
/*
 * Eight lines of stores, executed equally often, between cheap and expensive
 * instructions: chained divisions, square roots, and loads that miss every cache.
 * A timer tick lands behind the expensive ones most of the time; a choice of
 * accesses that is free of that bias gives every line one eighth. Each store
 * kills the one of the previous turn, so all are dead and every line's share of
 * the samples can be read off the pairs.
 *
 * "thrice": the lines of the second half run three times as often: 1/16 and 3/16.
 *
 * case: bias-equal --kinds dead -- 4
 *   dead.fraction 0.97..1
 *   dead.first s1 0.095..0.155
 *   dead.first s2 0.095..0.155
 *   dead.first s3 0.095..0.155
 *   dead.first s4 0.095..0.155
 *   dead.first s5 0.095..0.155
 *   dead.first s6 0.095..0.155
 *   dead.first s7 0.095..0.155
 *   dead.first s8 0.095..0.155
 * case: bias-thrice --kinds dead -- 4 thrice
 *   dead.first t1 0.0325..0.0925
 *   dead.first t2 0.0325..0.0925
 *   dead.first t3 0.0325..0.0925
 *   dead.first t4 0.0325..0.0925
 *   dead.first t5 0.1575..0.2175
 *   dead.first t6 0.1575..0.2175
 *   dead.first t7 0.1575..0.2175
 *   dead.first t8 0.1575..0.2175
 */
#include "known.h"
#include <string.h>

enum { CHAIN = 1 << 21 }; /* 16 MiB of links: each step misses */
static uint32_t chain[CHAIN][2];
static volatile uint64_t place[8];

/* A single cycle through all links (Sattolo's shuffle), so that no prefetcher helps. */
static void make_chain(void)
{
    uint64_t random = 88172645463325252u;
    for (uint32_t i = 0; i < CHAIN; i++)
        chain[i][0] = i;
    for (uint32_t i = CHAIN - 1; i > 0; i--) {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        uint32_t other = (uint32_t)(random % i), kept = chain[i][0];
        chain[i][0] = chain[other][0];
        chain[other][0] = kept;
    }
}

static inline uint64_t divide(uint64_t value)
{
    uint64_t high = 0, divisor = value | 1;
    __asm__ volatile("divq %2" : "+a"(value), "+d"(high) : "r"(divisor) : "cc");
    return value + high;
}

static inline double root(double value)
{
    __asm__ volatile("sqrtsd %0, %0" : "+x"(value));
    return value;
}

static uint64_t turn_equal(uint64_t turns)
{
    uint32_t link = 0;
    uint64_t x = turns;
    double d = 2.0;
    for (uint64_t i = 0; i < turns; i++) {
        place[0] = i; /* @s1 */
        x = divide(x + 7);
        x = divide(x + i);
        place[1] = x; /* @s2 */
        place[2] = i; /* @s3 */
        link = chain[link][0];
        place[3] = link; /* @s4 */
        place[4] = i;    /* @s5 */
        d = root(root(d + 3.0));
        place[5] = (uint64_t)d; /* @s6 */
        place[6] = i;           /* @s7 */
        place[7] = i + 1;       /* @s8 */
    }
    return x + link;
}

static uint64_t turn_thrice(uint64_t turns)
{
    uint32_t link = 0;
    uint64_t x = turns;
    double d = 2.0;
    for (uint64_t i = 0; i < turns; i++) {
        place[0] = i; /* @t1 */
        x = divide(x + 7);
        place[1] = x; /* @t2 */
        link = chain[link][0];
        place[2] = link; /* @t3 */
        place[3] = i;    /* @t4 */
        for (int again = 0; again < 3; again++) {
            place[4] = i; /* @t5 */
            d = root(d + 3.0);
            place[5] = (uint64_t)d; /* @t6 */
            place[6] = i;           /* @t7 */
            x = divide(x + i);
            place[7] = x; /* @t8 */
        }
    }
    return x + link;
}

int main(int argc, char **argv)
{
    double seconds = known_seconds(argc, argv);
    bool is_thrice = argc > 2 && strcmp(argv[2], "thrice") == 0;
    uint64_t sum = 0;
    make_chain();
    while (known_running(seconds))
        sum += is_thrice ? turn_thrice(10000) : turn_equal(10000);
    return sum == 1;
}
