// SPDX-License-Identifier: MIT
/*
 * Three pairs of stores. Every element is stored twice and then read, so half
 * of all stores are dead; the pairs own three, two and one of every six
 * elements: 50, 33 and 17 %. Every store is followed by one load, of the element
 * or of a spare one, and all is one short loop: every store stands for the same
 * time.
 *
 * case: dead-pairs --kinds dead -- 3
 *   dead.fraction 0.45..0.55
 *   dead.pair a1>a2 0.45..0.55
 *   dead.pair b1>b2 0.28..0.38
 *   dead.pair c1>c2 0.12..0.22
 *
 * The first store of a round repeats what the second of the round before stored,
 * and the spare elements never change: half of the stores are silent too, and
 * half of the loads redundant.
 *
 * case: all-kinds -- 6
 *   dead.fraction 0.45..0.55
 *   silent.fraction 0.45..0.55
 *   load.fraction 0.45..0.55
 *
 * The same where reuse is asked, too, and the four kinds share the samples and the debug registers.
 *
 * case: all-questions by-run -- 8
 *   dead.fraction 0.45..0.55
 *   silent.fraction 0.45..0.55
 *   load.fraction 0.45..0.55
 *   dead.pair a1>a2 0.43..0.57
 *
 * Of a second the default rate gives more than the 80 samples that it gives of each second of a minute.
 *
 * case: short-run default-rate --kinds dead -- 1
 *   dead.traps 100..1000
 */
#include "known.h"

enum { ENTRIES = 240 };
static volatile uint64_t table[ENTRIES], spare[ENTRIES];

/* Adds from memory, so that sums need no registers: their spills would be stores. */
#define load(place) __asm__ volatile("addq %1, %0" : "+r"(total) : "m"(*(place)))

static inline uint64_t pair_a(uint64_t total, int i, uint64_t value)
{
    table[i] = value; /* @a1 */
    load(&spare[i]);
    table[i] = value + 1; /* @a2 */
    load(&table[i]);
    return total;
}

static inline uint64_t pair_b(uint64_t total, int i, uint64_t value)
{
    table[i] = value; /* @b1 */
    load(&spare[i]);
    table[i] = value + 1; /* @b2 */
    load(&table[i]);
    return total;
}

static inline uint64_t pair_c(uint64_t total, int i, uint64_t value)
{
    table[i] = value; /* @c1 */
    load(&spare[i]);
    table[i] = value + 1; /* @c2 */
    load(&table[i]);
    return total;
}

int main(int argc, char **argv)
{
    double seconds = known_seconds(argc, argv);
    uint64_t total = 0;
    while (known_running(seconds)) {
        for (uint64_t round = 0; round < 1000; round++) {
            for (int i = 0; i < ENTRIES; i += 6) {
                total = pair_a(total, i, round);
                total = pair_b(total, i + 1, round);
                total = pair_a(total, i + 2, round);
                total = pair_c(total, i + 3, round);
                total = pair_a(total, i + 4, round);
                total = pair_b(total, i + 5, round);
            }
        }
    }
    return total == 1;
}
