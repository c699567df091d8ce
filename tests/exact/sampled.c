// SPDX-License-Identifier: MIT
/*
 * Much memory whose waste is known, for samples of its locations: ITEMS numbers of eight bytes, walked in strides. `before` is
 * what a place does in all of them; those of `kept` change, those of `same` do not.
 *
 * dead:    fill 1 is overwritten by fill 2 in all (3 + 1 parts), fill 2 is read: 1 of 2.
 * silent:  fill 2 stores what is there in 3 of 4 parts.
 * load:    the second walk loads what the first one did, of `same`; `kept` was changed in between: 3 of 4,
 *          and the stores of change are read.
 */
#include <stdint.h>
#include <stdlib.h>

enum { ITEMS = 1 << 17, PARTS = 4 };

#ifdef __clang__
#define OPAQUE static __attribute__((noinline))
#else
#define OPAQUE static __attribute__((noinline, noipa))
#endif

/* Every item once; the stride is odd, and ITEMS a power of two. */
static uint64_t items[ITEMS] __attribute__((aligned(4096)));

static uint64_t value_of(uint64_t item, uint64_t round)
{
    return item * 3 + (item % PARTS ? 0 : round + 1);
}

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
