// SPDX-License-Identifier: MIT
/*
 * Eight bytes are stored, four of them reloaded, eight stored again: per byte,
 * half of what was stored is dead.
 *
 * case: partial-overlap --kinds dead -- 3
 *   dead.fraction 0.45..0.55
 *   dead.pair whole>whole 0.95..1
 */
#include "known.h"

enum { ENTRIES = 512 };
union entry {
    uint64_t whole;
    uint32_t low;
};
static volatile union entry table[ENTRIES];

int main(int argc, char **argv)
{
    double seconds = known_seconds(argc, argv);
    uint64_t sum = 0;
    while (known_running(seconds)) {
        for (uint64_t round = 0; round < 200; round++) {
            for (int i = 0; i < ENTRIES; i++)
                table[i].whole = round; /* @whole */
            for (int i = 0; i < ENTRIES; i++)
                sum += table[i].low;
        }
    }
    return sum == 1;
}
