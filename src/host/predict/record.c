// SPDX-License-Identifier: MIT
/* Rows of the profile, docs/formats/profile.md, in the order of the nests. */
#include "predict/predict.h"

#include <stdlib.h>

/* Where a nest's rows begin. */
struct recorded {
    struct profile *profile;
    const struct predicted *predicted;
    uint32_t nest, arrays, references;
};

static bool kept(struct profile *profile, const char *text, const char **copy)
{
    *copy = profile_keep(profile, text);
    return *copy || !text;
}

/* Absolute, because the profile may be read elsewhere; NULL: there is no such file. False: no memory. */
static bool kept_source(struct profile *profile, const char *file, const char **copy)
{
    char *whole = file ? realpath(file, NULL) : NULL;
    bool good = kept(profile, whole, copy);
    free(whole);
    return good;
}

/* profile_add_locality_totals and the like */
typedef struct profile_locality_figure *adder(struct profile *profile);

/* Of each level; simulated: NULL: it was not asked for. */
static bool add_figures(struct profile *profile, adder *add, uint32_t owner, size_t levels,
                        const struct misses_figure *figures, const struct misses_figure *simulated)
{
    for (size_t i = 0; i < levels; i++) {
        const struct misses_figure *figure = &figures[i];
        struct profile_locality_figure *row = add(profile);
        if (!row)
            return false;
        *row = (struct profile_locality_figure){.owner = owner,
                                                .level = (uint32_t)i,
                                                .misses = figure->misses,
                                                .low = figure->low,
                                                .high = figure->high,
                                                .cold = figure->cold,
                                                .capacity = figure->capacity,
                                                .conflict = figure->conflict,
                                                .simulated = simulated ? simulated[i].misses : -1,
                                                .points = figure->points,
                                                .cut = figure->cut,
                                                .exact = figure->exact};
    }
    return true;
}

static bool add_run(const struct predicted *predicted, struct profile *profile)
{
    struct profile_locality_run *run = profile_add_locality_runs(profile);
    return run && kept(profile, predicted->path, &run->path) &&
           kept(profile, predicted->placed, &run->placed) &&
           kept(profile, predicted->swept, &run->swept);
}

static bool add_levels(const struct predicted *predicted, struct profile *profile)
{
    for (size_t i = 0; i < predicted->levels_count; i++) {
        const struct misses_level *level = &predicted->levels[i];
        struct profile_locality_level *row = profile_add_locality_levels(profile);
        if (!row || !kept(profile, level->name, &row->name))
            return false;
        row->bytes = level->bytes;
        row->ways = level->ways;
        row->line_bytes = level->line_bytes;
    }
    return true;
}

static bool add_arrays(struct recorded *at, const struct nest *nest)
{
    for (size_t i = 0; i < nest->arrays_count; i++) {
        const struct nest_array *array = &nest->arrays[i];
        struct profile_locality_array *row = profile_add_locality_arrays(at->profile);
        if (!row || !kept(at->profile, array->name, &row->name))
            return false;
        row->nest = at->nest;
        row->address = (uint64_t)array->base;
        row->size_bytes = array->bytes > 0 ? (uint64_t)array->bytes : 0;
    }
    return true;
}

static bool add_references(struct recorded *at, const struct predicted_nest *made)
{
    const struct nest *nest = made->nest;
    const struct misses_reference *simulated = made->simulated.references;
    for (size_t i = 0; i < nest->references_count; i++) {
        const struct nest_reference *reference = &nest->references[i];
        struct profile_locality_reference *row = profile_add_locality_references(at->profile);
        if (!row || !kept(at->profile, reference->text, &row->text) ||
            !kept(at->profile, reference->file, &row->file) ||
            !kept_source(at->profile, reference->file, &row->source))
            return false;
        row->nest = at->nest;
        row->array = at->arrays + reference->array;
        row->line = reference->line;
        row->column = reference->column;
        row->store = reference->write;
        row->conditional = reference->conditional;
        row->accesses = made->result.references[i].accesses;
        if (!add_figures(at->profile, profile_add_locality_misses, at->references + (uint32_t)i,
                         at->predicted->levels_count, made->result.references[i].levels,
                         simulated ? simulated[i].levels : NULL))
            return false;
    }
    return true;
}

static bool add_pairs(struct recorded *at, const struct misses_result *result)
{
    for (size_t i = 0; i < result->pairs_count; i++) {
        const struct misses_pair *pair = &result->pairs[i];
        struct profile_locality_pair *row = profile_add_locality_pairs(at->profile);
        if (!row)
            return false;
        *row =
            (struct profile_locality_pair){at->nest, at->references + pair->reference,
                                           at->references + pair->by, pair->misses, pair->conflict};
    }
    return true;
}

static bool add_recorded(struct recorded *at, const struct predicted_nest *made)
{
    const struct predict_recording *recording = &made->recording;
    for (size_t i = 0; recording->references && i < made->nest->references_count; i++) {
        const struct predict_seen *seen = &recording->references[i];
        if (!seen->known)
            continue;
        struct profile_locality_recorded *row = profile_add_locality_recorded(at->profile);
        if (!row)
            return false;
        *row =
            (struct profile_locality_recorded){at->references + (uint32_t)i, recording->executions,
                                               seen->accesses, seen->moved_bytes, seen->misses};
    }
    return true;
}

/* ---- suggestions ------------------------------------------------------------------------------------------- */

static bool add_loops(struct recorded *at, const struct suggestion *suggestion, uint32_t id)
{
    const struct polyhedra_change *change = &suggestion->change;
    for (unsigned i = 0; change->reordered && i < suggestion->group.depth; i++) {
        uint32_t loop = i < change->kept ? i : change->order[i - change->kept];
        struct profile_locality_loop *row = profile_add_locality_loops(at->profile);
        if (!row)
            return false;
        *row = (struct profile_locality_loop){id, loop, suggestion->group.lines[loop],
                                              (uint64_t)change->tiles[loop]};
    }
    return true;
}

static bool add_padding(struct recorded *at, const struct nest *nest,
                        const struct suggestion *suggestion, uint32_t id)
{
    for (size_t i = 0; suggestion->padding && i < nest->arrays_count; i++) {
        if (!suggestion->padding[i])
            continue;
        struct profile_locality_padding *row = profile_add_locality_paddings(at->profile);
        if (!row)
            return false;
        *row = (struct profile_locality_padding){
            id, at->arrays + (uint32_t)i, (uint64_t)suggestion->rows[i],
            (uint64_t)suggestion->rows[i] + suggestion->padding[i]};
    }
    return true;
}

static bool add_suggestion(struct recorded *at, const struct nest *nest,
                           const struct suggestion *suggestion)
{
    const struct polyhedra_change *change = &suggestion->change;
    uint32_t id = (uint32_t)at->profile->locality_suggestions_count;
    struct profile_locality_suggestion *row = profile_add_locality_suggestions(at->profile);
    if (!row)
        return false;
    *row = (struct profile_locality_suggestion){
        .nest = at->nest,
        .kind = suggestion->tiled   ? PROFILE_LOCALITY_TILES
                : change->reordered ? PROFILE_LOCALITY_INTERCHANGE
                                    : PROFILE_LOCALITY_PADDING,
        .kept = change->reordered ? change->kept : 0,
        .split = change->reordered && suggestion->group.shared > change->kept,
        .gap_bytes = suggestion->gap_bytes,
        .saved = suggestion->saved,
        .accesses = suggestion->result.accesses};
    return add_loops(at, suggestion, id) && add_padding(at, nest, suggestion, id) &&
           add_figures(at->profile, profile_add_locality_savings, id, at->predicted->levels_count,
                       suggestion->result.totals, NULL);
}

/* ---- nests ---------------------------------------------------------------------------------------------------- */

static bool add_head(struct recorded *at, const struct predicted_nest *made)
{
    const struct suggestions *suggestions = made->suggestions;
    struct profile_locality_nest *row = profile_add_locality_nests(at->profile);
    if (!row || !kept(at->profile, made->nest->function, &row->function) ||
        !kept(at->profile, made->nest->file, &row->file) ||
        !kept(at->profile, made->late, &row->unverified))
        return false;
    row->line = made->nest->line;
    row->accesses = made->result.accesses;
    row->exact = made->result.exact;
    row->late = made->result.late;
    row->suggested = suggestions != NULL;
    if (suggestions) {
        row->suggested_late = suggestions->late;
        row->tried = suggestions->tried;
        row->illegal = suggestions->illegal;
    }
    return true;
}

static bool add_nest(const struct predicted *predicted, const struct predicted_nest *made,
                     struct profile *profile)
{
    struct recorded at = {.profile = profile,
                          .predicted = predicted,
                          .nest = (uint32_t)profile->locality_nests_count,
                          .arrays = (uint32_t)profile->locality_arrays_count,
                          .references = (uint32_t)profile->locality_references_count};
    if (!add_head(&at, made) || !add_arrays(&at, made->nest) || !add_references(&at, made) ||
        !add_figures(profile, profile_add_locality_totals, at.nest, predicted->levels_count,
                     made->result.totals,
                     made->simulated.references ? made->simulated.totals : NULL) ||
        !add_pairs(&at, &made->result) || !add_recorded(&at, made))
        return false;
    for (size_t i = 0; made->suggestions && i < made->suggestions->count; i++)
        if (!add_suggestion(&at, made->nest, &made->suggestions->list[i]))
            return false;
    return true;
}

static bool add_point(const struct predicted *predicted, const struct predicted_point *point,
                      struct profile *profile)
{
    uint32_t id = (uint32_t)profile->locality_points_count;
    struct profile_locality_point *row = profile_add_locality_points(profile);
    if (!row)
        return false;
    *row = (struct profile_locality_point){point->value, point->accesses};
    return add_figures(profile, profile_add_locality_sweeps, id, predicted->levels_count,
                       point->totals, NULL);
}

static bool add_rejection(const struct lower_rejected *rejected, struct profile *profile)
{
    struct profile_locality_rejection *row = profile_add_locality_rejections(profile);
    if (!row || !kept(profile, rejected->file, &row->file) ||
        !kept(profile, rejected->reason, &row->reason) ||
        !kept(profile, rejected->help, &row->help))
        return false;
    row->line = rejected->line;
    row->column = rejected->column;
    return true;
}

enum base_status predict_record(const struct predicted *predicted, struct profile *profile)
{
    bool good = add_run(predicted, profile) && add_levels(predicted, profile);
    for (size_t i = 0; good && i < predicted->nests_count; i++)
        good = add_nest(predicted, &predicted->nests[i], profile);
    for (size_t i = 0; good && i < predicted->points_count; i++)
        good = add_point(predicted, &predicted->points[i], profile);
    for (size_t i = 0; good && i < predicted->rejected_count; i++)
        good = add_rejection(&predicted->rejected[i], profile);
    return good ? BASE_OK : BASE_NO_MEMORY;
}
