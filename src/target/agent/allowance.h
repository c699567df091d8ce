// SPDX-License-Identifier: MIT
/*
 * The time that recording blocks may take (allocate.c): a leaky bucket, apart from the budget of samples. What one block
 * cost takes ALLOWANCE_SHARE times as long to flow in again, so that recording takes one part in so many of the time, and
 * what the bucket holds at once. The more blocks of a site were recorded, the fuller the bucket has to be for the next one.
 *
 * Times are time stamps. The whole state is the one at which the bucket is full; 0 at first: it is full. Pure functions, for
 * handlers and any thread; whoever calls them keeps the state atomically.
 */
#ifndef HEADROOM_AGENT_ALLOWANCE_H
#define HEADROOM_AGENT_ALLOWANCE_H

#include <stdbool.h>
#include <stdint.h>

enum {
    ALLOWANCE_SHARE = 256,
    ALLOWANCE_PARTS = 64,          /* of the bucket: for each block that a site has had recorded */
    ALLOWANCE_PARTS_MOST = 48,     /* blocks of a site that count */
    ALLOWANCE_COST_MOST = 1 << 17, /* of one block: what took longer was somebody else's turn */
};

/* Some tenths of a second; recording has its part of them, some milliseconds, to spend at once. As programs begin they allocate
   much that they keep, and each context is a new one, which takes long. */
static const uint64_t ALLOWANCE_BUCKET = UINT64_C(1) << 31;

/* May a block be recorded where `count` were, ALLOWANCE_PARTS_MOST at most? */
static inline bool allowance_suffices(uint64_t full_again, uint64_t now, uint8_t count)
{
    uint64_t missing = full_again > now ? full_again - now : 0;
    return missing + (count + UINT64_C(1)) * (ALLOWANCE_BUCKET / ALLOWANCE_PARTS) <=
           ALLOWANCE_BUCKET;
}

/* When the bucket is full again, after a block that cost so much. */
static inline uint64_t allowance_spend(uint64_t full_again, uint64_t now, uint64_t cost)
{
    return (full_again > now ? full_again : now) +
           (cost < ALLOWANCE_COST_MOST ? cost : ALLOWANCE_COST_MOST) * ALLOWANCE_SHARE;
}

#endif
