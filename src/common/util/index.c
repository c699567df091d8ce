// SPDX-License-Identifier: MIT
#include "util/util.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum { FIRST_SLOTS = 64 };

/* The low bits say where the search begins: the high ones must not be lost. */
static uint32_t fold(uint64_t hash)
{
    return (uint32_t)(hash ^ hash >> 32);
}

/* Where an item that is in no slot belongs. */
static size_t free_slot(const struct util_slot *slots, size_t capacity, uint32_t hash)
{
    size_t at = hash & (capacity - 1);
    while (slots[at].item)
        at = (at + 1) & (capacity - 1);
    return at;
}

static bool grow(struct util_index *index, size_t capacity)
{
    struct util_slot *slots = calloc(capacity, sizeof *slots);
    if (!slots)
        return false;
    for (size_t i = 0; i < index->capacity; i++)
        if (index->slots[i].item)
            slots[free_slot(slots, capacity, index->slots[i].hash)] = index->slots[i];
    free(index->slots);
    index->slots = slots;
    index->capacity = capacity;
    return true;
}

bool util_index_reserve(struct util_index *index, size_t count)
{
    size_t capacity = index->capacity ? index->capacity : FIRST_SLOTS;
    if (count > UTIL_ITEMS_MAX)
        return false;
    while (capacity <= 2 * count) /* then the last one is found without growing, too */
        capacity *= 2;
    return capacity == index->capacity || grow(index, capacity);
}

/* The slot of the key, or the empty one where it belongs: there is one, for at most half are full.
 */
static struct util_slot *search(const struct util_index *index, uint32_t hash, util_equal *equal,
                                const void *items, const void *key)
{
    for (size_t at = hash & (index->capacity - 1);; at = (at + 1) & (index->capacity - 1)) {
        struct util_slot *slot = &index->slots[at];
        if (!slot->item || (slot->hash == hash && equal(items, slot->item - 1, key)))
            return slot;
    }
}

bool util_index_enter(struct util_index *index, uint64_t hash, util_equal *equal, const void *items,
                      const void *key, uint32_t next, uint32_t *item, bool *found)
{
    assert(next != UTIL_NONE);
    if (index->count * 2 >= index->capacity && !util_index_reserve(index, index->count + 1))
        return false;
    struct util_slot *slot = search(index, fold(hash), equal, items, key);
    *found = slot->item != 0;
    if (!*found) {
        *slot = (struct util_slot){fold(hash), next + 1};
        index->count++;
    }
    *item = slot->item - 1;
    return true;
}

bool util_index_find(const struct util_index *index, uint64_t hash, util_equal *equal,
                     const void *items, const void *key, uint32_t *item)
{
    if (!index->count)
        return false;
    const struct util_slot *slot = search(index, fold(hash), equal, items, key);
    if (!slot->item)
        return false;
    *item = slot->item - 1;
    return true;
}

void util_index_clear(struct util_index *index)
{
    if (index->count)
        memset(index->slots, 0, index->capacity * sizeof *index->slots);
    index->count = 0;
}

void util_index_free(struct util_index *index)
{
    free(index->slots);
    *index = (struct util_index){0};
}

bool util_index_check(const struct util_index *index)
{
    size_t capacity = index->capacity, count = 0;
    if (capacity & (capacity - 1) || index->count * 2 > capacity)
        return false;
    for (size_t i = 0; i < capacity; i++) {
        if (!index->slots[i].item)
            continue;
        count++;
        for (size_t at = index->slots[i].hash & (capacity - 1); at != i;
             at = (at + 1) & (capacity - 1))
            if (!index->slots[at].item || index->slots[at].item == index->slots[i].item)
                return false;
    }
    return count == index->count;
}
