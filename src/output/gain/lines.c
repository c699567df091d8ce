// SPDX-License-Identifier: MIT
#include "gain/gain.h"

#include <stdlib.h>

struct key {
    const struct profile_frame *frames;
    const struct profile_frame *wanted;
};

static bool equal_line(const void *items, uint32_t item, const void *context)
{
    const struct key *key = context;
    return place_same_line(&key->frames[((const uint32_t *)items)[item]], key->wanted);
}

/* *line: the number of the line that the frame is at. */
static bool number_frame(struct gain_lines *lines, const struct profile *profile, uint32_t frame,
                         uint32_t *line)
{
    struct key key = {profile->frames, &profile->frames[frame]};
    bool found;
    if (!util_index_enter(&lines->index, place_line_hash(key.wanted), equal_line, lines->frames,
                          &key, (uint32_t)lines->count, line, &found))
        return false;
    if (!found)
        lines->frames[lines->count++] = frame;
    return true;
}

bool gain_lines_make(const struct places *places, struct gain_lines *lines)
{
    struct gain_lines made = {.of_place = calloc(places->count + 1, sizeof *made.of_place),
                              .frames = calloc(places->count + 1, sizeof *made.frames),
                              .count = 1};
    bool good = made.of_place && made.frames;
    for (size_t i = 1; good && i < places->count; i++)
        good = number_frame(&made, places->profile, places->items[places->own[i]].class,
                            &made.of_place[i]);
    if (good)
        *lines = made;
    else
        gain_lines_free(&made);
    return good;
}

uint32_t gain_lines_find(const struct gain_lines *lines, const struct profile *profile,
                         uint32_t frame)
{
    struct key key = {profile->frames, &profile->frames[frame]};
    uint32_t line;
    return util_index_find(&lines->index, place_line_hash(key.wanted), equal_line, lines->frames,
                           &key, &line)
               ? line
               : 0;
}

void gain_lines_free(struct gain_lines *lines)
{
    util_index_free(&lines->index);
    free(lines->of_place);
    free(lines->frames);
}
