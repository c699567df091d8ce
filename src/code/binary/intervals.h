// SPDX-License-Identifier: MIT
/*
 * Private to the room: which of many address ranges, mostly disjoint, holds an
 * address? Filled, sorted once, then searched.
 */
#ifndef HEADROOM_BINARY_INTERVALS_H
#define HEADROOM_BINARY_INTERVALS_H

#include "base/base.h"

struct interval {
    uint64_t start, end;
    uint64_t reach; /* greatest end up to here */
    size_t value;   /* the caller's */
};

struct intervals {
    struct interval *items;
    size_t count, capacity;
};

bool intervals_add(struct intervals *intervals, uint64_t start, uint64_t end, size_t value);
void intervals_sort(struct intervals *intervals);

/* The interval with the greatest start that holds the address, the shortest of several; or NULL. */
const struct interval *intervals_find(const struct intervals *intervals, uint64_t address);

/* The first interval that starts at or behind the address, or NULL. */
const struct interval *intervals_next(const struct intervals *intervals, uint64_t address);
void intervals_free(struct intervals *intervals);

#endif
