// SPDX-License-Identifier: MIT
/*
 * The stores of push and call. "recurse": every pushed register is popped and
 * every return address taken by ret, so nothing is dead. "discard": every slot
 * is pushed, dropped without a load, pushed again and popped: half is dead.
 * "wander": thousands of levels deep through two places of one function, never the same way twice.
 *
 * case: stack-recurse --kinds dead -- 2 recurse
 *   dead.fraction 0..0.03
 * case: stack-discard --kinds dead -- 2 discard
 *   dead.fraction 0.45..0.55
 *   dead.pair push1>push2 0.90..1
 */
#include "known.h"
#include <string.h>

KNOWN_OPAQUE static uint64_t descend(uint64_t depth)
{
    if (depth == 0)
        return 1;
    uint64_t below = descend(depth - 1);
    __asm__ volatile("" : "+r"(below)); /* keeps the recursion from becoming a loop */
    return below + depth;
}

KNOWN_OPAQUE static uint64_t wander(uint64_t depth, uint64_t state)
{
    if (depth == 0)
        return 1;
    state = state * 6364136223846793005U + 1442695040888963407U;
    uint64_t below;
    if (state >> 63)
        below = wander(depth - 1, state); /* @left */
    else
        below = wander(depth - 1, state) * 3; /* @right */
    __asm__ volatile("" : "+r"(below));
    return below + depth;
}

/* Below the red zone, so that nothing of the compiler's is touched. */
static inline void discard(void)
{
    __asm__ volatile("lea -128(%%rsp), %%rsp" ::: "memory");
    __asm__ volatile("push %%rax" ::: "memory"); /* @push1 */
    __asm__ volatile("lea 8(%%rsp), %%rsp" ::: "memory");
    __asm__ volatile("push %%rdx" ::: "memory"); /* @push2 */
    __asm__ volatile("pop %%rax" ::: "rax", "memory");
    __asm__ volatile("lea 128(%%rsp), %%rsp" ::: "memory");
}

int main(int argc, char **argv)
{
    double seconds = known_seconds(argc, argv);
    bool is_discard = argc > 2 && strcmp(argv[2], "discard") == 0;
    bool is_wander = argc > 2 && strcmp(argv[2], "wander") == 0;
    uint64_t sum = 0;
    while (known_running(seconds)) {
        for (int repeat = 0; repeat < 2000; repeat++) {
            if (is_discard)
                for (int i = 0; i < 100; i++)
                    discard();
            else if (is_wander)
                sum += wander(3000, sum + (uint64_t)repeat);
            else
                sum += descend(100);
        }
    }
    return sum == 1;
}
