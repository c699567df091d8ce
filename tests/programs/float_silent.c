// SPDX-License-Identifier: MIT
/*
 * Doubles that swing by 0.4 %: silent within the default tolerance of 1 %, not
 * within 0.1 %.
 *
 * case: float-within-tolerance --kinds silent -- 2
 *   silent.fraction 0.97..1
 * case: float-beyond-tolerance --kinds silent --fp-tolerance 0.001 -- 2
 *   silent.fraction 0..0.03
 */
#include "known.h"

enum { ENTRIES = 512 };
static volatile double field[ENTRIES];

int main(int argc, char **argv)
{
    double seconds = known_seconds(argc, argv);
    while (known_running(seconds)) {
        for (int round = 0; round < 200; round++) {
            double factor = round & 1 ? 1.004 : 1.0;
            for (int i = 0; i < ENTRIES; i++)
                field[i] = factor * (1.0 + i); /* @fill */
        }
    }
    return 0;
}
