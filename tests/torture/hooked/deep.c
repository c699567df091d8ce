// SPDX-License-Identifier: MIT
/* Recursion a million frames deep, twice: the second time through frames that were hooked before.
 */
#include "hooked.h"

HOOKED uint64_t dive(uint64_t depth)
{
    if (depth == 0)
        return 1;
    uint64_t below = dive(depth - 1);
    OPAQUE(below);
    return below + (depth & 1);
}

HOOKED uint64_t left(uint64_t depth);

HOOKED uint64_t right(uint64_t depth)
{
    if (depth == 0)
        return 0;
    uint64_t below = left(depth - 1);
    NO_TAIL_CALL();
    return below + 1;
}

HOOKED uint64_t left(uint64_t depth)
{
    if (depth == 0)
        return 0;
    uint64_t below = right(depth - 1);
    NO_TAIL_CALL();
    return below + 2;
}

static uint64_t depth;

static void *run(void *unused)
{
    for (int i = 0; i < 2; i++)
        say("dived %llu, from side to side %llu\n", (unsigned long long)dive(depth),
            (unsigned long long)left(depth));
    for (uint64_t i = 0, sum = 0; i < 2000; i++) {
        sum += dive(i % 200);
        if (i == 1999)
            say("shallow %llu\n", (unsigned long long)sum);
    }
    return unused;
}

int main(int argc, char **argv)
{
    depth = amount(argc, argv, 1000000);
    on_large_stack((size_t)1 << 30, run, NULL);
    return 0;
}
