// SPDX-License-Identifier: MIT
/* Counts of the exact engine, kept line by line beside samples; and waits that were timed. */
#include "gain/attach.h"

#include "gain/gain.h"

#include "analysis/analysis.h"
#include "util/util.h"

#include <stdlib.h>

/* ---- lines of two profiles ------------------------------------------------------------------- */

/* Ids of modules differ between profiles, their paths do not. */
struct line {
    const struct profile *profile;
    const struct profile_frame *frame;
};

static const char *module_of(struct line line)
{
    return line.frame->module ? line.profile->modules[line.frame->module].path : "";
}

/* A line or, where lines are not known, a function. */
static bool is_known(struct line line)
{
    return (line.frame->file && line.frame->line) || line.frame->function;
}

static bool same_line(struct line a, struct line b)
{
    bool lines = a.frame->file && a.frame->line;
    return a.frame->line == b.frame->line && profile_same_text(a.frame->file, b.frame->file) &&
           (lines || profile_same_text(a.frame->function, b.frame->function)) &&
           strcmp(module_of(a), module_of(b)) == 0;
}

static uint64_t line_hash(struct line line)
{
    bool lines = line.frame->file && line.frame->line;
    const char *name = lines ? line.frame->file : line.frame->function;
    return base_hash_bytes(name, strlen(name), line.frame->line);
}

static bool equal_frame(const void *items, uint32_t item, const void *key)
{
    const struct line *wanted = key, *lines = items;
    return same_line(lines[item], *wanted);
}

/* Frames of a profile, the first one of each line. */
struct known_lines {
    struct line *lines;
    uint32_t count;
    struct util_index index;
};

/* False: no memory. */
static bool list_lines(const struct profile *profile, struct known_lines *known)
{
    known->lines = calloc(profile->frames_count + 1, sizeof *known->lines);
    for (size_t i = 1; known->lines && i < profile->frames_count; i++) {
        struct line line = {profile, &profile->frames[i]};
        uint32_t item;
        bool found;
        if (!is_known(line))
            continue;
        if (!util_index_enter(&known->index, line_hash(line), equal_frame, known->lines, &line,
                              known->count, &item, &found))
            return false;
        if (!found)
            known->lines[known->count++] = line;
    }
    return known->lines != NULL;
}

/* The frame of that profile at the line; 0: it knows no such line. */
static uint32_t find_frame(const struct known_lines *known, const struct profile *profile,
                           struct line wanted)
{
    uint32_t item;
    bool found = util_index_find(&known->index, line_hash(wanted), equal_frame, known->lines,
                                 &wanted, &item);
    return found ? (uint32_t)(known->lines[item].frame - profile->frames) : 0;
}

/* ---- attaching ---------------------------------------------------------------------------------- */

static bool add_counts(const struct places *places, const struct gain_lines *lines,
                       const struct gain_count *counts, uint32_t kind,
                       const struct known_lines *known, struct profile *profile)
{
    for (size_t i = 1; i < lines->count; i++) {
        struct line wanted = {places->profile, &places->profile->frames[lines->frames[i]]};
        uint32_t frame = counts[i].waste + counts[i].use > 0 && is_known(wanted)
                             ? find_frame(known, profile, wanted)
                             : 0;
        if (!frame)
            continue;
        struct profile_counted *counted = profile_add_counted(profile);
        if (!counted)
            return false;
        *counted = (struct profile_counted){kind, frame, counts[i].waste, counts[i].use};
    }
    return true;
}

static bool count_kind(const struct places *places, const struct gain_lines *lines, uint32_t kind,
                       struct gain_count *counts)
{
    memset(counts, 0, lines->count * sizeof *counts);
    for (const struct analysis *const *at = analyses; *at; at++)
        if ((*at)->gain && (*at)->gain->count && !(*at)->gain->count(places, lines, kind, counts))
            return false;
    return true;
}

static int compare_counted(const void *left, const void *right)
{
    const struct profile_counted *a = left, *b = right;
    if (a->kind != b->kind)
        return a->kind < b->kind ? -1 : 1;
    return (a->frame > b->frame) - (a->frame < b->frame);
}

static bool attach(const struct places *places, struct profile *profile)
{
    struct gain_lines lines = {0};
    struct known_lines known = {0};
    bool good = gain_lines_make(places, &lines) && list_lines(profile, &known);
    struct gain_count *counts = good ? calloc(lines.count, sizeof *counts) : NULL;
    good = good && counts;
    for (uint32_t kind = 0; good && kind < PROFILE_REUSE; kind++)
        good = count_kind(places, &lines, kind, counts) &&
               add_counts(places, &lines, counts, kind, &known, profile);
    free(counts);
    free(known.lines);
    util_index_free(&known.index);
    gain_lines_free(&lines);
    return good;
}

bool gain_attach(const struct profile *exact, struct profile *profile)
{
    struct places places;
    if (places_make(exact, true, &places) != BASE_OK)
        return false;
    profile->counted_count = 0;
    bool good = attach(&places, profile);
    if (profile->counted_count)
        qsort(profile->counted, profile->counted_count, sizeof *profile->counted, compare_counted);
    places_free(&places);
    return good;
}

bool gain_attach_waits(const struct profile *timed, struct profile *profile)
{
    profile->waits_count = 0;
    for (const struct analysis *const *at = analyses; *at; at++)
        if ((*at)->gain && (*at)->gain->waits && !(*at)->gain->waits(timed, profile))
            return false;
    return true;
}

/* ---- reading -------------------------------------------------------------------------------------- */

bool gain_counted(const struct places *places, const struct gain_lines *lines, uint32_t kind,
                  struct gain_count **counts)
{
    const struct profile *profile = places->profile;
    struct gain_count *made = calloc(lines->count, sizeof *made);
    if (!made)
        return false;
    for (size_t i = 0; i < profile->counted_count; i++) {
        const struct profile_counted *row = &profile->counted[i];
        uint32_t line = row->kind == kind ? gain_lines_find(lines, profile, row->frame) : 0;
        if (!line)
            continue;
        made[line].waste += row->waste_bytes;
        made[line].use += row->use_bytes;
    }
    *counts = made;
    return true;
}
