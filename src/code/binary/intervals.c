// SPDX-License-Identifier: MIT
/*
 * Sorted intervals. Nested ones are rare (nested functions, labels): the search
 * looks back from the last start, and `reach` shows when that is pointless.
 */
#include "binary/intervals.h"

#include "util/util.h"

#include <stdlib.h>

bool intervals_add(struct intervals *intervals, uint64_t start, uint64_t end, size_t value)
{
    return UTIL_PUSH(intervals->items, intervals->count, intervals->capacity,
                     (struct interval){start, end, 0, value});
}

static int compare(const void *left, const void *right)
{
    const struct interval *a = left;
    const struct interval *b = right;
    if (a->start != b->start)
        return a->start < b->start ? -1 : 1;
    if (a->end != b->end)
        return a->end > b->end ? -1 : 1;
    return a->value < b->value ? -1 : a->value > b->value;
}

void intervals_sort(struct intervals *intervals)
{
    uint64_t reach = 0;
    if (intervals->count)
        qsort(intervals->items, intervals->count, sizeof *intervals->items, compare);
    for (size_t i = 0; i < intervals->count; i++) {
        if (intervals->items[i].end > reach)
            reach = intervals->items[i].end;
        intervals->items[i].reach = reach;
    }
}

/* How many start before the address. */
static size_t starting_before(const struct intervals *intervals, uint64_t address)
{
    return BASE_FIRST(i, intervals->count, intervals->items[i].start >= address);
}

const struct interval *intervals_next(const struct intervals *intervals, uint64_t address)
{
    size_t next = starting_before(intervals, address);
    return next < intervals->count ? &intervals->items[next] : NULL;
}

const struct interval *intervals_find(const struct intervals *intervals, uint64_t address)
{
    size_t low = address == UINT64_MAX ? intervals->count : starting_before(intervals, address + 1);
    while (low-- > 0 && intervals->items[low].reach > address)
        if (intervals->items[low].end > address)
            return &intervals->items[low];
    return NULL;
}

void intervals_free(struct intervals *intervals)
{
    free(intervals->items);
    *intervals = (struct intervals){0};
}
