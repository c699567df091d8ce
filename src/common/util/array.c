// SPDX-License-Identifier: MIT
#include "util/util.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* Items are numbered by 32 bits, so that doubling cannot overflow; their bytes can: reallocarray
 * sees to it. */
static size_t larger_capacity(size_t capacity, size_t index)
{
    size_t larger = capacity ? capacity : UTIL_ARRAY_FIRST;
    while (larger <= index)
        larger *= 2;
    return larger < UTIL_ITEMS_MAX ? larger : UTIL_ITEMS_MAX;
}

bool util_grow(void *items, size_t *capacity, size_t index, size_t item_bytes)
{
    void *moved;
    assert(item_bytes > 0 && *capacity <= UTIL_ITEMS_MAX);
    if (index < *capacity)
        return true;
    if (index >= UTIL_ITEMS_MAX)
        return false;
    /* The caller's pointer has a type of its own: only its bytes may be read here. */
    memcpy(&moved, items, sizeof moved);
    assert(!moved == !*capacity);
    size_t larger = larger_capacity(*capacity, index);
    moved = reallocarray(moved, larger, item_bytes);
    if (!moved)
        return false;
    memcpy(items, &moved, sizeof moved);
    *capacity = larger;
    return true;
}

bool util_grow_zeroed(void *items, size_t *capacity, size_t index, size_t item_bytes)
{
    size_t before = *capacity;
    char *grown;
    if (!util_grow(items, capacity, index, item_bytes))
        return false;
    memcpy(&grown, items, sizeof grown);
    if (*capacity > before)
        memset(grown + before * item_bytes, 0, (*capacity - before) * item_bytes);
    return true;
}
