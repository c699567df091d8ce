// SPDX-License-Identifier: MIT
#include "show/places.h"
#include "show/own.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

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

static bool equal_reading(const void *items, uint32_t item, const void *key)
{
    return reads_same(&((const struct profile_frame *)items)[item], key);
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
    const struct profile_frame *frames = profile->frames;
    struct util_index index = {0};
    bool good, found;
    places->classes = calloc(profile->frames_count, sizeof *places->classes);
    good = places->classes && util_index_reserve(&index, profile->frames_count);
    for (uint32_t i = 1; good && i < profile->frames_count; i++)
        good = util_index_enter(&index, reading_hash(&frames[i]), equal_reading, frames, &frames[i],
                                i, &places->classes[i], &found);
    util_index_free(&index);
    return good;
}

/* ---- places ---------------------------------------------------------------------------------- */

static uint32_t fold(const struct places *places, uint32_t parent, uint32_t class)
{
    return BASE_FOLDED(place, parent, places->items[place].parent,
                       places->items[place].class == class);
}

static bool equal_place(const void *items, uint32_t item, const void *key)
{
    return memcmp(&((const struct place *)items)[item], key, sizeof(struct place)) == 0;
}

static bool enter_place(struct places *places, struct util_index *index, struct place place,
                        uint32_t *number)
{
    bool found;
    if (!util_index_enter(index, base_mix64((uint64_t)place.parent << 32 | place.class),
                          equal_place, places->items, &place, (uint32_t)places->count, number,
                          &found))
        return false;
    if (!found)
        places->items[places->count++] = place;
    return true;
}

/* There are at most as many places as contexts, so nothing grows. */
static bool number_places(struct places *places, bool fold_recursion)
{
    const struct profile *profile = places->profile;
    struct util_index index = {0};
    places->place_of = calloc(profile->contexts_count, sizeof *places->place_of);
    places->items = calloc(profile->contexts_count, sizeof *places->items);
    bool good =
        places->place_of && places->items && util_index_reserve(&index, profile->contexts_count);
    places->count = 1;
    for (size_t i = 1; good && i < profile->contexts_count; i++) {
        struct place place = {places->place_of[profile->contexts[i].parent],
                              places->classes[profile->contexts[i].frame]};
        uint32_t folded = fold_recursion ? fold(places, place.parent, place.class) : 0;
        if (folded)
            places->place_of[i] = folded;
        else
            good = enter_place(places, &index, place, &places->place_of[i]);
    }
    util_index_free(&index);
    return good;
}

/* ---- own code -------------------------------------------------------------------------------- */

static bool find_system_frames(struct places *places)
{
    const struct profile *profile = places->profile;
    places->system = calloc(profile->frames_count + 1, sizeof *places->system);
    for (size_t i = 1; places->system && i < profile->frames_count; i++) {
        const struct profile_frame *frame = &profile->frames[i];
        uint32_t class = places->classes[i];
        const char *module = frame->module ? profile->modules[frame->module].path : NULL;
        places->system[i] =
            class < i ? places->system[class] : own_is_system(frame->function, frame->file, module);
    }
    return places->system;
}

/* Parents precede children. */
static bool find_own_places(struct places *places)
{
    places->own = calloc(places->count + 1, sizeof *places->own);
    for (uint32_t i = 1; places->own && i < places->count; i++)
        if (places->system[places->items[i].class])
            places->own[i] = places->own[places->items[i].parent];
        else
            places->own[i] = i;
    for (uint32_t i = 1; places->own && i < places->count; i++)
        if (!places->own[i])
            places->own[i] = i;
    return places->own;
}

enum base_status places_make(const struct profile *profile, bool fold_recursion,
                             struct places *places)
{
    struct places made = {.profile = profile,
                          .exact = strcmp(profile->run.engine, "exact") == 0 ||
                                   strcmp(profile->run.engine, "built") == 0};
    if (!classify_frames(&made) || !number_places(&made, fold_recursion) ||
        !find_system_frames(&made) || !find_own_places(&made)) {
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
    free(places->system);
    free(places->own);
}

/* ---- lines and functions ---------------------------------------------------------------------- */

/* A line is a place, whatever was inlined there or made of a template; without a line the function
   is all that is known, and without that the address. */
bool place_same_line(const struct profile_frame *a, const struct profile_frame *b)
{
    if (a->module != b->module || a->line != b->line || !profile_same_text(a->file, b->file))
        return false;
    if (a->file && a->line)
        return true;
    return profile_same_text(a->function, b->function) && (a->function || a->address == b->address);
}

bool place_same_function(const struct profile_frame *a, const struct profile_frame *b)
{
    if (!a->function || !b->function)
        return place_same_line(a, b);
    return a->module == b->module && profile_same_text(a->function, b->function) &&
           profile_same_text(a->file, b->file);
}

static uint64_t text_hash(uint64_t hash, const char *text)
{
    return text ? base_hash_bytes(text, strlen(text), hash) : base_mix64(hash);
}

uint64_t place_line_hash(const struct profile_frame *frame)
{
    uint64_t hash = base_mix64((uint64_t)frame->module << 32 | frame->line);
    if (frame->file && frame->line)
        return text_hash(hash, frame->file);
    return frame->function ? text_hash(hash, frame->function) : base_mix64(hash ^ frame->address);
}

uint64_t place_function_hash(const struct profile_frame *frame)
{
    return frame->function ? text_hash(base_mix64(frame->module), frame->function)
                           : place_line_hash(frame);
}

/* ---- pairs ----------------------------------------------------------------------------------- */

static bool equal_pair(const void *items, uint32_t item, const void *key)
{
    return ((const uint64_t *)items)[item] == *(const uint64_t *)key;
}

bool place_pairs_make(struct place_pairs *pairs, size_t most)
{
    struct place_pairs made = {.keys = calloc(most + 1, sizeof *made.keys), .most = most};
    if (!made.keys || !util_index_reserve(&made.index, most)) {
        free(made.keys);
        return false;
    }
    *pairs = made;
    return true;
}

void place_pairs_free(struct place_pairs *pairs)
{
    free(pairs->keys);
    util_index_free(&pairs->index);
}

size_t place_pairs_number(struct place_pairs *pairs, uint32_t first, uint32_t second)
{
    uint64_t key = (uint64_t)first << 32 | second;
    uint32_t number = 0;
    bool found;
    bool good = util_index_enter(&pairs->index, base_mix64(key), equal_pair, pairs->keys, &key,
                                 (uint32_t)pairs->count, &number, &found);
    assert(good && (found || pairs->count < pairs->most)); /* room was made for `most` */
    if (good && !found)
        pairs->keys[pairs->count++] = key;
    return number;
}
