// SPDX-License-Identifier: MIT
#include "show/places.h"

#include <stdlib.h>
#include <string.h>

/* ---- hash table from keys to numbers ------------------------------------------------------- */

struct table {
    uint32_t *slots; /* number + 1; 0: empty */
    size_t capacity;
};

static bool table_make(struct table *table, size_t items)
{
    size_t capacity = 16;
    while (capacity < items * 2)
        capacity *= 2;
    table->slots = calloc(capacity, sizeof *table->slots);
    table->capacity = capacity;
    return table->slots != NULL;
}

/* ---- frames that read the same --------------------------------------------------------------- */

static uint32_t reading_flags(const struct profile_frame *frame)
{
    return frame->flags & (PROFILE_FRAME_INLINED | PROFILE_FRAME_KERNEL | PROFILE_FRAME_CALL |
                           PROFILE_FRAME_RETURN);
}

/* Without a line the function is all that is known; without a function the address is. */
static bool reads_same(const struct profile_frame *a, const struct profile_frame *b)
{
    if (a->module != b->module || a->line != b->line || reading_flags(a) != reading_flags(b))
        return false;
    if (!profile_same_text(a->function, b->function) || !profile_same_text(a->file, b->file))
        return false;
    return a->function || a->line || a->address == b->address;
}

static uint64_t reading_hash(const struct profile_frame *frame)
{
    uint64_t hash = base_mix64((uint64_t)frame->module << 32 | frame->line);
    if (frame->function)
        hash = base_hash_bytes(frame->function, strlen(frame->function), hash);
    if (frame->file)
        hash = base_hash_bytes(frame->file, strlen(frame->file), hash);
    if (!frame->function && !frame->line)
        hash = base_mix64(hash ^ frame->address);
    return hash;
}

static bool classify_frames(struct places *places)
{
    const struct profile *profile = places->profile;
    struct table table;
    places->classes = calloc(profile->frames_count, sizeof *places->classes);
    if (!places->classes || !table_make(&table, profile->frames_count))
        return false;
    for (size_t i = 1; i < profile->frames_count; i++) {
        size_t slot = reading_hash(&profile->frames[i]) & (table.capacity - 1);
        while (table.slots[slot] &&
               !reads_same(&profile->frames[table.slots[slot] - 1], &profile->frames[i]))
            slot = (slot + 1) & (table.capacity - 1);
        if (!table.slots[slot])
            table.slots[slot] = (uint32_t)i + 1;
        places->classes[i] = table.slots[slot] - 1;
    }
    free(table.slots);
    return true;
}

/* ---- places ---------------------------------------------------------------------------------- */

static uint32_t fold(const struct places *places, uint32_t parent, uint32_t class)
{
    return BASE_FOLDED(place, parent, places->items[place].parent,
                       places->items[place].class == class);
}

/* There are at most as many places as contexts, so nothing grows. */
static bool number_places(struct places *places, bool fold_recursion)
{
    const struct profile *profile = places->profile;
    struct table table = {0};
    places->place_of = calloc(profile->contexts_count, sizeof *places->place_of);
    places->items = calloc(profile->contexts_count, sizeof *places->items);
    if (!places->place_of || !places->items || !table_make(&table, profile->contexts_count))
        return false;
    places->count = 1;
    for (size_t i = 1; i < profile->contexts_count; i++) {
        struct place place = {places->place_of[profile->contexts[i].parent],
                              places->classes[profile->contexts[i].frame]};
        uint32_t folded = fold_recursion ? fold(places, place.parent, place.class) : 0;
        if (folded) {
            places->place_of[i] = folded;
            continue;
        }
        size_t slot = base_mix64((uint64_t)place.parent << 32 | place.class) & (table.capacity - 1);
        while (table.slots[slot] &&
               memcmp(&places->items[table.slots[slot] - 1], &place, sizeof place) != 0)
            slot = (slot + 1) & (table.capacity - 1);
        if (!table.slots[slot]) {
            places->items[places->count] = place;
            table.slots[slot] = (uint32_t)++places->count;
        }
        places->place_of[i] = table.slots[slot] - 1;
    }
    free(table.slots);
    return true;
}

enum base_status places_make(const struct profile *profile, bool fold_recursion,
                             struct places *places)
{
    struct places made = {.profile = profile,
                          .exact = strcmp(profile->run.engine, "exact") == 0 ||
                                   strcmp(profile->run.engine, "built") == 0};
    if (!classify_frames(&made) || !number_places(&made, fold_recursion)) {
        places_free(&made);
        return BASE_NO_MEMORY;
    }
    *places = made;
    return BASE_OK;
}

void places_free(struct places *places)
{
    free(places->classes);
    free(places->place_of);
    free(places->items);
}

/* ---- pairs ----------------------------------------------------------------------------------- */

bool place_pairs_make(struct place_pairs *pairs, size_t most)
{
    struct table table;
    uint64_t *keys = calloc(most + 1, sizeof *keys);
    if (!keys || !table_make(&table, most)) {
        free(keys);
        return false;
    }
    *pairs = (struct place_pairs){.keys = keys, .slots = table.slots, .capacity = table.capacity};
    return true;
}

void place_pairs_free(struct place_pairs *pairs)
{
    free(pairs->keys);
    free(pairs->slots);
}

size_t place_pairs_number(struct place_pairs *pairs, uint32_t first, uint32_t second)
{
    uint64_t key = (uint64_t)first << 32 | second;
    size_t slot = base_mix64(key) & (pairs->capacity - 1);
    while (pairs->slots[slot] && pairs->keys[pairs->slots[slot] - 1] != key)
        slot = (slot + 1) & (pairs->capacity - 1);
    if (!pairs->slots[slot]) {
        pairs->keys[pairs->count] = key;
        pairs->slots[slot] = (uint32_t)++pairs->count;
    }
    return pairs->slots[slot] - 1;
}
