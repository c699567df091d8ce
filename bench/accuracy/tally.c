// SPDX-License-Identifier: MIT
/* Sums by pair: open addressing, grown at one half. */
#include "simulate.h"

#include <stdlib.h>

const char *const method_names[METHODS] = {"none", "paper", "shared", "inverse", "settled"};

static size_t slot_of(const struct tally *tally, uint64_t key)
{
    size_t slot = base_mix64(key) & (tally->capacity - 1);
    while (tally->entries[slot].key && tally->entries[slot].key != key)
        slot = (slot + 1) & (tally->capacity - 1);
    return slot;
}

static void grow(struct tally *tally)
{
    struct tally larger = {.count = tally->count,
                           .capacity = tally->capacity ? tally->capacity * 2 : 64};
    larger.entries = calloc(larger.capacity, sizeof *larger.entries);
    if (!larger.entries) {
        fputs("simulate: no memory for pairs\n", stderr);
        exit(1);
    }
    for (size_t i = 0; i < tally->capacity; i++)
        if (tally->entries[i].key)
            larger.entries[slot_of(&larger, tally->entries[i].key)] = tally->entries[i];
    free(tally->entries);
    *tally = larger;
}

struct tally_entry *tally_at(struct tally *tally, uint32_t first, uint32_t second)
{
    uint64_t key = ((uint64_t)first + 1) << 32 | second;
    if (tally->count * 2 >= tally->capacity)
        grow(tally);
    struct tally_entry *entry = &tally->entries[slot_of(tally, key)];
    if (!entry->key) {
        entry->key = key;
        tally->count++;
    }
    return entry;
}

const struct tally_entry *tally_find(const struct tally *tally, uint64_t key)
{
    if (!tally->capacity)
        return NULL;
    const struct tally_entry *entry = &tally->entries[slot_of(tally, key)];
    return entry->key ? entry : NULL;
}

void tally_free(struct tally *tally)
{
    free(tally->entries);
    *tally = (struct tally){0};
}
