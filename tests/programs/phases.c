// SPDX-License-Identifier: MIT
/*
 * Two loops in turn, and a clock that sees to it that the first gets 49 % of the CPU time, however fast the machine
 * or whatever else it does. All stores of the first are dead, none of the second. The first makes several times as
 * many in the same time: by accesses much more than half of the stores are dead.
 *
 * case: phases --kinds dead -- 3
 *   dead.fraction 0.44..0.54
 *   dead.pair twice>twice 0.95..1
 *
 * "once": first all of the one, then all of the other. Where samples are denser at first, they must weigh less.
 *
 * case: phases-once default-rate --kinds dead -- 8 once
 *   dead.fraction 0.43..0.55
 *   dead.traps 400..8000
 *
 * Nor must it matter that each kind is asked when its turn comes, and how often.
 *
 * case: phases-by-run by-run -- 6
 *   dead.fraction 0.43..0.55
 *   dead.pair twice>twice 0.95..1
 */
#include "known.h"

#include <string.h>

enum { ENTRIES = 64 };
static volatile uint64_t table[ENTRIES], kept[ENTRIES];

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

KNOWN_OPAQUE static void store_twice(void)
{
    for (uint64_t round = 0; round < 2000; round++)
        for (int i = 0; i < ENTRIES; i++)
            table[i] = round; /* @twice */
}

KNOWN_OPAQUE static uint64_t store_and_load(uint64_t sum)
{
    for (uint64_t round = 0; round < 200; round++)
        for (int i = 0; i < ENTRIES; i++) {
            kept[i] = round;
            sum = (sum + kept[i ^ (ENTRIES / 2)]) * UINT64_C(0x9e3779b97f4a7c15);
            sum = (sum ^ sum >> 31) * UINT64_C(0xbf58476d1ce4e5b9);
        }
    return sum;
}

int main(int argc, char **argv)
{
    double seconds = known_seconds(argc, argv), begin = now(), first = 0, second = 0;
    uint64_t sum = 1;
    bool once = argc > 2 && strcmp(argv[2], "once") == 0;
    while (known_running(seconds)) {
        bool behind = once ? first < seconds * 0.49 : first * 0.51 < second * 0.49;
        if (behind)
            store_twice();
        else
            sum = store_and_load(sum);
        double end = now();
        *(behind ? &first : &second) += end - begin;
        begin = end;
    }
    return sum == 0;
}
