// SPDX-License-Identifier: MIT
/*
 * Every element is changed (in all bytes), and loaded twice before it changes
 * again: half of the loads repeat the one before. One store goes with every load,
 * into the table or a spare one, and one loop does it all: every load stands for
 * the same time.
 *
 * case: load-half --kinds load -- 3
 *   load.fraction 0.45..0.55
 *   load.pair load>load 0.95..1
 */
#include "known.h"

enum { ENTRIES = 256 };
static volatile uint64_t table[ENTRIES], spare[ENTRIES];

int main(int argc, char **argv)
{
    double seconds = known_seconds(argc, argv);
    uint64_t round = 0, sum = 0;
    while (known_running(seconds)) {
        for (int pass = 0; pass < 400; pass++) {
            volatile uint64_t *to = pass & 1 ? spare : table;
            round += !(pass & 1);
            for (uint64_t i = 0; i < ENTRIES; i++) {
                to[i] = (round & 0xff) * UINT64_C(0x0101010101010101);
                sum += table[i ^ (ENTRIES / 2)]; /* @load */
            }
        }
    }
    return sum == 1;
}
