// SPDX-License-Identifier: MIT
/* Numbers for records. */
#include "export/walk.h"

#include <stdlib.h>
#include <string.h>

static const char *item_of(const struct numbered *numbered, size_t number)
{
    return (const char *)numbered->items + number * numbered->bytes;
}

static bool equal_item(const void *items, uint32_t item, const void *key)
{
    const struct numbered *numbered = items;
    return memcmp(item_of(numbered, item), key, numbered->bytes) == 0;
}

uint32_t numbered_id(struct numbered *numbered, const void *item)
{
    uint64_t hash = base_hash_bytes(item, numbered->bytes, 0);
    uint32_t id;
    bool found;
    if (util_index_find(&numbered->index, hash, equal_item, numbered, item, &id))
        return id;
    if (numbered->most && numbered->count >= numbered->most) {
        *numbered->full = true;
        return UTIL_NONE;
    }
    if (!util_grow(&numbered->items, &numbered->capacity, numbered->count, numbered->bytes) ||
        !util_index_enter(&numbered->index, hash, equal_item, numbered, item,
                          (uint32_t)numbered->count, &id, &found))
        return UTIL_NONE;
    memcpy((char *)numbered->items + numbered->count++ * numbered->bytes, item, numbered->bytes);
    return id;
}

void numbered_free(struct numbered *numbered)
{
    util_index_free(&numbered->index);
    free(numbered->items);
    *numbered =
        (struct numbered){.bytes = numbered->bytes, .most = numbered->most, .full = numbered->full};
}
