// SPDX-License-Identifier: MIT
/*
 * Much memory whose waste is known, for samples of its locations: ITEMS numbers of eight bytes, walked in strides. Every fourth
 * (PARTS) has another value after each fill, and after change.
 *
 * dead:    all stores of the first fill are dead, those of the second fill and of change are read: 1 of 1 + 1 + 1/4.
 * silent:  the second fill stores what is there in 3 of 4, change never does: 3/4 of 1 + 1/4.
 * load:    the second sum loads what the first one did in 3 of 4.
 */
#include <stdint.h>
#include <stdlib.h>

enum { ITEMS = 1 << 17, PARTS = 4 };

#ifdef __clang__
#define OPAQUE static __attribute__((noinline))
#else
#define OPAQUE static __attribute__((noinline, noipa))
#endif

static uint64_t items[ITEMS] __attribute__((aligned(4096)));

static uint64_t value_of(uint64_t item, uint64_t round)
{
    return item * 3 + (item % PARTS ? 0 : round + 1);
}

/* Every item once: the stride is odd, and ITEMS a power of two. */
OPAQUE void fill(uint64_t round, uint64_t stride)
{
    for (uint64_t i = 0, at = 0; i < ITEMS; i++, at = (at + stride) % ITEMS)
        items[at] = value_of(at, round); /* @fill */
}

OPAQUE uint64_t sum(uint64_t stride)
{
    uint64_t all = 0;
    for (uint64_t i = 0, at = 0; i < ITEMS; i++, at = (at + stride) % ITEMS)
        all += items[at]; /* @sum */
    return all;
}

OPAQUE void change(void)
{
    for (uint64_t at = 0; at < ITEMS; at += PARTS)
        items[at] = value_of(at, 7); /* @change */
}

int main(void)
{
    fill(1, 1);
    fill(2, 1597);
    uint64_t all = sum(610 + 1);
    change();
    all ^= sum(1);
    return all == 1;
}
