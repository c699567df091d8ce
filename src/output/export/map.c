// SPDX-License-Identifier: MIT
/* Numbers for keys and records: open addressing, doubled when half full. */
#include "export/walk.h"

#include <stdlib.h>

enum { FIRST_SLOTS = 1024 };

static size_t slot_of(const struct map *map, uint64_t key)
{
    size_t slot = (size_t)base_mix64(key) & map->mask;
    while (map->values[slot] && map->keys[slot] != key)
        slot = (slot + 1) & map->mask;
    return slot;
}

static bool grow(struct map *map)
{
    size_t slots = map->values ? 2 * (map->mask + 1) : FIRST_SLOTS;
    struct map larger = {.keys = calloc(slots, sizeof *larger.keys),
                         .values = calloc(slots, sizeof *larger.values),
                         .mask = slots - 1,
                         .count = map->count};
    if (!larger.keys || !larger.values) {
        map_free(&larger);
        return false;
    }
    for (size_t i = 0; map->values && i <= map->mask; i++) {
        if (!map->values[i])
            continue;
        size_t slot = slot_of(&larger, map->keys[i]);
        larger.keys[slot] = map->keys[i];
        larger.values[slot] = map->values[i];
    }
    map_free(map);
    *map = larger;
    return true;
}

uint32_t *map_at(struct map *map, uint64_t key)
{
    if ((!map->values || map->count > map->mask / 2) && !grow(map))
        return NULL;
    size_t slot = slot_of(map, key);
    if (!map->values[slot]) {
        map->keys[slot] = key;
        map->count++;
    }
    return &map->values[slot];
}

void map_free(struct map *map)
{
    free(map->keys);
    free(map->values);
    *map = (struct map){0};
}

uint32_t numbered_id(struct numbered *numbered, const void *item)
{
    char *items = numbered->items;
    uint64_t key = base_hash_bytes(item, numbered->bytes, 0);
    uint32_t *value;
    /* Two records may have the same hash. */
    for (; (value = map_at(&numbered->map, key)) && *value; key++)
        if (memcmp(items + (*value - 1) * numbered->bytes, item, numbered->bytes) == 0)
            return *value - 1;
    if (!value || numbered->count >= UINT32_MAX - 1)
        return UINT32_MAX;
    if (numbered->most && numbered->count >= numbered->most) {
        *numbered->full = true;
        return UINT32_MAX;
    }
    if (numbered->count == numbered->capacity) {
        size_t capacity = numbered->capacity ? 2 * numbered->capacity : 256;
        items = reallocarray(numbered->items, capacity, numbered->bytes);
        if (!items)
            return UINT32_MAX;
        numbered->items = items;
        numbered->capacity = capacity;
    }
    memcpy(items + numbered->count * numbered->bytes, item, numbered->bytes);
    *value = (uint32_t)++numbered->count;
    return *value - 1;
}

void numbered_free(struct numbered *numbered)
{
    map_free(&numbered->map);
    free(numbered->items);
    *numbered =
        (struct numbered){.bytes = numbered->bytes, .most = numbered->most, .full = numbered->full};
}
