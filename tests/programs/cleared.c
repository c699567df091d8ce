// SPDX-License-Identifier: MIT
/*
 * Words that are stored one by one, cleared by a string instruction, and read then: half of the stores are dead, none
 * is silent. What the next touch says of a store counts once, although a forecast cannot go on behind the string instruction
 * to where its other question would be decided. The last of the stores comes just before the string instruction, and its
 * trap, at the address of that, does not mean that a store of the string has been reached.
 *
 * case: cleared-by-string -- 3
 *   dead.fraction 0.45..0.55
 *   dead.pair stored>cleared 0.99..1
 *   silent.fraction 0..0.02
 */
#include "known.h"

static volatile uint64_t words[4];

static inline void clear(void)
{
    volatile void *to = words;
    uint64_t count = 4;
    __asm__ volatile("rep stosq" : "+D"(to), "+c"(count) : "a"(0) : "memory"); /* @cleared */
}

static KNOWN_OPAQUE void store_and_clear(uint64_t value)
{
    for (int repeat = 0; repeat < 1000; repeat++) {
        words[0] = value, words[1] = value, words[2] = value, words[3] = value; /* @stored */
        clear();
        (void)words[0], (void)words[1], (void)words[2], (void)words[3];
    }
}

int main(int argc, char **argv)
{
    double seconds = known_seconds(argc, argv);
    for (uint64_t value = 1; known_running(seconds); value++)
        for (int repeat = 0; repeat < 10; repeat++)
            store_and_clear(value);
    return 0;
}
