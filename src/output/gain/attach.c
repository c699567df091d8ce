// SPDX-License-Identifier: MIT
/* What the exact engine counted, kept line by line beside samples; and waits that were timed. */
#include "gain/attach.h"

#include "gain/gain.h"

#include "analysis/analysis.h"
#include "util/util.h"

#include <stdlib.h>

/* ---- lines of two profiles ------------------------------------------------------------------- */

/* Ids of modules differ between profiles, their paths do not. */
struct line {
    const struct profile *profile;
    uint32_t frame;
};

static const struct profile_frame *frame_of(struct line line)
{
    return &line.profile->frames[line.frame];
}

static const char *module_of(struct line line)
{
    uint32_t module = frame_of(line)->module;
    return module ? line.profile->modules[module].path : "";
}

/* A line or, where lines are not known, a function. */
static bool is_known(struct line line)
{
    const struct profile_frame *frame = frame_of(line);
    return (frame->file && frame->line) || frame->function;
}

static bool same_line(struct line left, struct line right)
{
    const struct profile_frame *a = frame_of(left), *b = frame_of(right);
    bool lines = a->file && a->line;
    return a->line == b->line && profile_same_text(a->file, b->file) &&
           (lines || profile_same_text(a->function, b->function)) &&
           strcmp(module_of(left), module_of(right)) == 0;
}

static uint64_t line_hash(struct line line)
{
    const struct profile_frame *frame = frame_of(line);
    const char *name = frame->file && frame->line ? frame->file : frame->function;
    return base_hash_bytes(name, strlen(name), frame->line);
}

static bool equal_frame(const void *items, uint32_t item, const void *key)
{
    const struct line *wanted = key, *lines = items;
    return same_line(lines[item], *wanted);
}

/* Frames of a profile, the first one of each line. */
struct known_lines {
    struct line *lines;
    size_t count, capacity;
    struct util_index index;
};

/* *item: the line's number, which is new if it was none before. False: no memory. */
static bool enter_line(struct known_lines *known, struct line line, uint32_t *item)
{
    bool found;
    if (!UTIL_GROW(known->lines, known->capacity, known->count) ||
        !util_index_enter(&known->index, line_hash(line), equal_frame, known->lines, &line,
                          (uint32_t)known->count, item, &found))
        return false;
    if (!found)
        known->lines[known->count++] = line;
    return true;
}

static bool list_lines(const struct profile *profile, struct known_lines *known)
{
    uint32_t item;
    for (uint32_t i = 1; i < profile->frames_count; i++)
        if (is_known((struct line){profile, i}) &&
            !enter_line(known, (struct line){profile, i}, &item))
            return false;
    return true;
}

static bool find_line(const struct known_lines *known, struct line wanted, uint32_t *item)
{
    return is_known(wanted) && known->count &&
           util_index_find(&known->index, line_hash(wanted), equal_frame, known->lines, &wanted,
                           item);
}

/* The frame of the known profile at the line; 0: it knows no such line. */
static uint32_t find_frame(const struct known_lines *known, struct line wanted)
{
    uint32_t item;
    return find_line(known, wanted, &item) ? known->lines[item].frame : 0;
}

/* ---- attaching ---------------------------------------------------------------------------------- */

struct attaching {
    struct places places; /* of the recording */
    struct gain_lines lines;
    struct known_lines known;
    struct profile *profile;
};

/* False: no memory, nothing to end. */
static bool begin(const struct profile *recorded, struct profile *profile,
                  struct attaching *attaching)
{
    *attaching = (struct attaching){.profile = profile};
    if (places_make(recorded, true, &attaching->places) != BASE_OK)
        return false;
    if (gain_lines_make(&attaching->places, &attaching->lines) &&
        list_lines(profile, &attaching->known))
        return true;
    gain_lines_free(&attaching->lines);
    free(attaching->known.lines);
    util_index_free(&attaching->known.index);
    places_free(&attaching->places);
    return false;
}

static void end(struct attaching *attaching)
{
    gain_lines_free(&attaching->lines);
    free(attaching->known.lines);
    util_index_free(&attaching->known.index);
    places_free(&attaching->places);
}

/* 0: the profile does not know the line. */
static uint32_t frame_at(const struct attaching *attaching, size_t line)
{
    return find_frame(&attaching->known,
                      (struct line){attaching->places.profile, attaching->lines.frames[line]});
}

/* ---- waste ---- */

static bool add_counts(const struct attaching *attaching, const struct gain_count *counts,
                       uint32_t kind)
{
    for (size_t i = 1; i < attaching->lines.count; i++) {
        uint32_t frame = counts[i].waste + counts[i].use > 0 ? frame_at(attaching, i) : 0;
        if (!frame)
            continue;
        struct profile_counted *counted = profile_add_counted(attaching->profile);
        if (!counted)
            return false;
        *counted = (struct profile_counted){kind, frame, counts[i].waste, counts[i].use};
    }
    return true;
}

static bool count_kind(const struct attaching *attaching, uint32_t kind, struct gain_count *counts)
{
    memset(counts, 0, attaching->lines.count * sizeof *counts);
    for (const struct analysis *const *at = analyses; *at; at++)
        if ((*at)->gain && (*at)->gain->count &&
            !(*at)->gain->count(&attaching->places, &attaching->lines, kind, counts))
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

bool gain_attach(const struct profile *recorded, struct profile *profile)
{
    struct attaching attaching;
    if (!begin(recorded, profile, &attaching))
        return false;
    struct gain_count *counts = calloc(attaching.lines.count, sizeof *counts);
    bool good = counts != NULL;
    profile->counted_count = 0;
    for (uint32_t kind = 0; good && kind < PROFILE_REUSE; kind++)
        good = count_kind(&attaching, kind, counts) && add_counts(&attaching, counts, kind);
    if (profile->counted_count)
        qsort(profile->counted, profile->counted_count, sizeof *profile->counted, compare_counted);
    free(counts);
    end(&attaching);
    return good;
}

/* ---- misses ---- */

/* A row for each cache, also of lines that miss none: that is known then, too. */
static bool add_misses(const struct attaching *attaching, const struct gain_missed *missed,
                       double whole)
{
    const struct profile *recorded = attaching->places.profile;
    for (size_t i = 1; i < attaching->lines.count; i++) {
        uint32_t frame = missed[i].accesses > 0 ? frame_at(attaching, i) : 0;
        for (size_t c = 0; frame && c < recorded->caches_count && c < GAIN_LEVELS; c++) {
            struct profile_missed *row = profile_add_missed(attaching->profile);
            if (!row)
                return false;
            *row = (struct profile_missed){.frame = frame,
                                           .bytes = recorded->caches[c].bytes,
                                           .accesses = missed[i].accesses,
                                           .followed = missed[i].followed,
                                           .missing = missed[i].missing[c],
                                           .in_order = missed[i].in_order[c],
                                           .whole = whole};
        }
    }
    return true;
}

static int compare_missed(const void *left, const void *right)
{
    const struct profile_missed *a = left, *b = right;
    if (a->frame != b->frame)
        return a->frame < b->frame ? -1 : 1;
    return (a->bytes > b->bytes) - (a->bytes < b->bytes);
}

bool gain_attach_misses(const struct profile *recorded, struct profile *profile)
{
    struct attaching attaching;
    double whole = 0;
    if (!begin(recorded, profile, &attaching))
        return false;
    struct gain_missed *missed = calloc(attaching.lines.count, sizeof *missed);
    bool good = missed != NULL;
    profile->missed_count = 0;
    for (const struct analysis *const *at = analyses; good && *at; at++)
        if ((*at)->gain && (*at)->gain->misses)
            good = (*at)->gain->misses(&attaching.places, &attaching.lines, missed, &whole);
    good = good && add_misses(&attaching, missed, whole);
    if (profile->missed_count)
        qsort(profile->missed, profile->missed_count, sizeof *profile->missed, compare_missed);
    free(missed);
    end(&attaching);
    return good;
}

/* ---- transfers ---- */

/* A frame of the recording that was added to the profile. */
struct added {
    uint32_t theirs, context;
};

struct gain_transfers {
    struct attaching *attaching;
    uint32_t *contexts; /* by known line: where most time was seen; 0: nowhere */
    struct added *added;
    size_t added_count, added_capacity;
};

/* Of the contexts at a line the one with most time in it and below it. Parents precede children. */
static bool find_contexts(struct gain_transfers *transfers)
{
    const struct profile *profile = transfers->attaching->profile;
    const struct known_lines *known = &transfers->attaching->known;
    double *ns = calloc(profile->contexts_count + 1, sizeof *ns);
    transfers->contexts = calloc(known->count + 1, sizeof *transfers->contexts);
    bool good = ns && transfers->contexts;
    for (size_t i = 0; good && i < profile->times_count; i++)
        ns[profile->times[i].context] += (double)profile->times[i].ns;
    for (size_t i = good ? profile->contexts_count : 0; i-- > 1;)
        ns[profile->contexts[i].parent] += ns[i];
    for (uint32_t i = 1; good && i < profile->contexts_count; i++) {
        uint32_t item;
        if (find_line(known, (struct line){profile, profile->contexts[i].frame}, &item) &&
            (!transfers->contexts[item] || ns[i] > ns[transfers->contexts[item]]))
            transfers->contexts[item] = i;
    }
    free(ns);
    return good;
}

static bool find_module(struct profile *profile, const char *path, uint32_t *module)
{
    for (*module = path[0] ? 1 : 0; *module && *module < profile->modules_count; ++*module)
        if (strcmp(profile->modules[*module].path, path) == 0)
            return true;
    if (!path[0])
        return true;
    struct profile_module *added = profile_add_modules(profile);
    if (added)
        *added = (struct profile_module){.path = profile_keep(profile, path),
                                         .detail = PROFILE_DETAIL_NONE};
    return added && added->path;
}

static bool keep_text(struct profile *profile, const char *text, const char **kept)
{
    *kept = text ? profile_keep(profile, text) : NULL;
    return !text || *kept;
}

static bool copy_frame(struct profile *profile, struct line line)
{
    const struct profile_frame *theirs = frame_of(line);
    struct profile_frame copy = {
        .line = theirs->line, .address = theirs->address, .column = theirs->column};
    if (!keep_text(profile, theirs->function, &copy.function) ||
        !keep_text(profile, theirs->file, &copy.file) ||
        !find_module(profile, module_of(line), &copy.module))
        return false;
    struct profile_frame *frame = profile_add_frames(profile);
    if (frame)
        *frame = copy;
    return frame != NULL;
}

/* The frame, called as what is known at its line is; as nothing, if that is unknown. */
static bool add_context(struct gain_transfers *transfers, struct line line, uint32_t near,
                        uint32_t *context)
{
    struct profile *profile = transfers->attaching->profile;
    for (size_t i = 0; i < transfers->added_count; i++)
        if (transfers->added[i].theirs == line.frame) {
            *context = transfers->added[i].context;
            return true;
        }
    if (!copy_frame(profile, line))
        return false;
    struct profile_context *added = profile_add_contexts(profile);
    if (!added)
        return false;
    *context = (uint32_t)profile->contexts_count - 1;
    *added = (struct profile_context){near ? profile->contexts[near].parent : 0,
                                      (uint32_t)profile->frames_count - 1};
    return UTIL_PUSH(transfers->added, transfers->added_count, transfers->added_capacity,
                     (struct added){line.frame, *context});
}

/*
 * The context of the profile that stands for one of the recording; 0: its line is not known. Samples of the clock
 * lie behind the instruction, so that the instruction itself is added. False: no memory.
 */
static bool find_context(struct gain_transfers *transfers, uint32_t theirs, uint32_t *context)
{
    const struct attaching *attaching = transfers->attaching;
    const struct places *places = &attaching->places;
    uint32_t place = places->place_of[theirs], own = places->own[place], item, near = 0;
    struct line line = {places->profile, place == own ? places->profile->contexts[theirs].frame
                                                      : places->items[own].class};
    *context = 0;
    if (!own || !is_known(line))
        return true;
    if (find_line(&attaching->known, line, &item))
        near = transfers->contexts[item];
    if (place != own && near) {
        *context = near;
        return true;
    }
    return add_context(transfers, line, near, context);
}

static bool same_transfer(const struct profile_transfer *a, const struct profile_transfer *b)
{
    return a->first == b->first && a->second == b->second && a->kind == b->kind &&
           a->size == b->size && strcmp(a->object, b->object) == 0 &&
           strcmp(a->cause, b->cause) == 0;
}

bool gain_add_transfer(struct gain_transfers *to, const struct gain_transfer *transfer)
{
    struct profile *profile = to->attaching->profile;
    struct profile_transfer row = {.object = transfer->object,
                                   .cause = transfer->cause,
                                   .kind = transfer->kind,
                                   .size = transfer->size,
                                   .transfers = transfer->transfers,
                                   .whole = transfer->whole,
                                   .instructions = transfer->instructions};
    if (!find_context(to, transfer->first, &row.first) ||
        !find_context(to, transfer->second, &row.second))
        return false;
    if (!row.first || !row.second)
        return true;
    for (size_t i = 0; i < profile->transfers_count; i++)
        if (same_transfer(&profile->transfers[i], &row)) {
            profile->transfers[i].transfers += row.transfers;
            return true;
        }
    struct profile_transfer *added = profile_add_transfers(profile);
    if (!added || !keep_text(profile, transfer->object, &row.object) ||
        !keep_text(profile, transfer->cause, &row.cause))
        return false;
    *added = row;
    return true;
}

bool gain_attach_transfers(const struct profile *recorded, struct profile *profile)
{
    struct attaching attaching;
    struct gain_transfers transfers = {.attaching = &attaching};
    if (!begin(recorded, profile, &attaching))
        return false;
    profile->transfers_count = 0;
    bool good = find_contexts(&transfers);
    for (const struct analysis *const *at = analyses; good && *at; at++)
        if ((*at)->gain && (*at)->gain->transfers)
            good = (*at)->gain->transfers(&attaching.places, &transfers);
    free(transfers.contexts);
    free(transfers.added);
    end(&attaching);
    return good;
}

/* ---- waits ---- */

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
