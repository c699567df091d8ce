// SPDX-License-Identifier: MIT
/*
 * A table refilled in every round, though three of four entries never change:
 * 3/4 of the stores are silent. The entry that does change differs from its old
 * value in every byte, so the answer is the same whichever byte is watched.
 *
 * case: silent-refill --kinds silent -- 3
 *   silent.fraction 0.70..0.80
 *   silent.pair fill>fill 0.99..1
 */
#include "known.h"

enum { ENTRIES = 1024 };
static volatile uint64_t table[ENTRIES];

int main(int argc, char **argv)
{
    double seconds = known_seconds(argc, argv);
    uint64_t round = 0;
    while (known_running(seconds)) {
        for (int repeat = 0; repeat < 100; repeat++) {
            round++;
            uint64_t every_byte = (round & 0xff) * UINT64_C(0x0101010101010101);
            for (uint64_t i = 0; i < ENTRIES; i++)
                table[i] = i & 3 ? i : every_byte; /* @fill */
        }
    }
    return 0;
}
