// SPDX-License-Identifier: MIT
/*
 * Three stores a round: one to a flag that is stored again at once, the second one to it, which is loaded at once, and one to an
 * array that is loaded, and then stored again, a pass later. So a third of the stores are dead, and what shows that is near; what shows
 * that another third are not is seen by a watchpoint alone.
 *
 * case: near-far --kinds dead -- 4
 *   dead.fraction 0.29..0.38
 *   dead.pair flag>again 0.95..1
 *
 * Nor does it matter where all kinds are asked at a time, and watchpoints serve them in turns.
 *
 * case: near-far-by-run by-run -- 8
 *   dead.fraction 0.29..0.38
 *   dead.pair flag>again 0.95..1
 */
#include "known.h"

enum { ENTRIES = 4096 };
static volatile uint64_t flag, kept[ENTRIES];

int main(int argc, char **argv)
{
    double seconds = known_seconds(argc, argv);
    uint64_t sum = 0;
    while (known_running(seconds)) {
        for (uint64_t round = 0; round < 50; round++)
            for (int i = 0; i < ENTRIES; i++) {
                flag = round;       /* @flag */
                flag = round + sum; /* @again */
                sum += flag;
                sum += kept[i];
                kept[i] = round;
            }
    }
    return sum == 1;
}
