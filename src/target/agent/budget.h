// SPDX-License-Identifier: MIT
/*
 * The time that recording blocks may take (allocate.c): a leaky bucket. What one block cost takes BUDGET_SHARE times as
 * long to flow in again, so that recording takes one part in so many of the time, and what the bucket holds at once beside that.
 * A site has to find the bucket the fuller, the more of its blocks were recorded.
 *
 * Times are time stamps. The whole state is the one at which the bucket is full; 0 at first: it is full. Pure functions: for handlers,
 * and for any thread that keeps the state atomically.
 */
#ifndef HEADROOM_AGENT_BUDGET_H
#define HEADROOM_AGENT_BUDGET_H

#include <stdbool.h>
#include <stdint.h>

enum {
    BUDGET_SHARE = 256,
    BUDGET_PARTS = 64,          /* of the bucket: for each block that a site has had recorded */
    BUDGET_PARTS_MOST = 48,     /* blocks of a site that count */
    BUDGET_COST_MOST = 1 << 17, /* charged for one block: a longer time is somebody else's turn */
};

/* Some tenths of a second; recording has its part of them, some milliseconds, to spend at once. As programs begin they allocate
   much that they keep, and each context is a new one, which takes long. */
static const uint64_t BUDGET_BUCKET = UINT64_C(1) << 31;

/* May a block be recorded where `count` were, BUDGET_PARTS_MOST at most? */
static inline bool budget_allows(uint64_t full_again, uint64_t now, uint8_t count)
{
    uint64_t missing = full_again > now ? full_again - now : 0;
    return missing + (count + UINT64_C(1)) * (BUDGET_BUCKET / BUDGET_PARTS) <= BUDGET_BUCKET;
}

/* When the bucket is full again, after a block that cost so much. */
static inline uint64_t budget_spend(uint64_t full_again, uint64_t now, uint64_t cost)
{
    return (full_again > now ? full_again : now) +
           (cost < BUDGET_COST_MOST ? cost : BUDGET_COST_MOST) * BUDGET_SHARE;
}

#endif
