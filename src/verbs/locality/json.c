// SPDX-License-Identifier: MIT
/* The member "locality" of the report, docs/formats/report.md. */
#include "locality/internal.h"

#include <math.h>

static void figure_members(struct json *json, const struct profile_locality_figure *figure,
                           double accesses)
{
    double all = accesses > 0 ? accesses : INFINITY; /* of nothing: 0 */
    json_decimal(json, "misses", figure->misses, 12);
    json_decimal(json, "ratio", figure->misses / all, 9);
    json_range(json, "ci95", true, figure->low / all, figure->high / all, 9);
    json_decimal(json, "cold", figure->cold, 12);
    json_decimal(json, "capacity", figure->capacity, 12);
    json_decimal(json, "conflict", figure->conflict, 12);
    json_flag(json, "exact", figure->exact);
    json_count(json, "points", figure->points);
    json_count(json, "cut", figure->cut);
    if (figure->simulated >= 0)
        json_decimal(json, "simulated", figure->simulated, 12);
}

static void levels_member(struct json *json, const struct profile *profile)
{
    json_begin(json, "levels", '[');
    for (size_t i = 0; i < profile->locality_levels_count; i++) {
        const struct profile_locality_level *level = &profile->locality_levels[i];
        json_begin_item(json);
        json_text(json, "name", level->name);
        json_count(json, "bytes", level->bytes);
        json_count(json, "ways", level->ways);
        json_count(json, "line_bytes", level->line_bytes);
        json_close(json, '}');
    }
    json_close(json, ']');
}

/* Of all executions of the nest. */
static void recorded_member(struct json *json, const struct profile *profile, uint32_t reference)
{
    const struct profile_locality_recorded *row = locality_recorded(profile, reference);
    if (!row)
        return;
    json_begin(json, "recorded", '{');
    json_decimal(json, "executions", row->executions, 9);
    json_count(json, "accesses", row->accesses);
    json_count(json, "bytes", row->moved_bytes);
    json_count(json, "misses", row->misses);
    json_decimal(json, "computed_misses",
                 row->executions * locality_miss(profile, reference, 0)->misses, 12);
    json_close(json, '}');
}

static void reference_object(struct json *json, const struct profile *profile, uint32_t index)
{
    const struct profile_locality_reference *reference = &profile->locality_references[index];
    json_begin_item(json);
    json_count(json, "nest", reference->nest);
    json_text(json, "array", profile->locality_arrays[reference->array].name);
    json_text(json, "text", reference->text);
    json_text(json, "file", reference->file);
    json_text(json, "source", reference->source);
    json_count(json, "line", reference->line);
    json_count(json, "column", reference->column);
    json_text(json, "kind", reference->store ? "write" : "read");
    json_flag(json, "conditional", reference->conditional);
    json_count(json, "accesses", reference->accesses);
    json_begin(json, "levels", '[');
    for (uint32_t i = 0; i < profile->locality_levels_count; i++) {
        json_begin_item(json);
        figure_members(json, locality_miss(profile, index, i), (double)reference->accesses);
        json_close(json, '}');
    }
    json_close(json, ']');
    recorded_member(json, profile, index);
    json_close(json, '}');
}

static void total_object(struct json *json, const struct profile_locality_figure *figure,
                         double accesses)
{
    json_begin_item(json);
    json_decimal(json, "accesses", accesses, 18);
    figure_members(json, figure, accesses);
    json_close(json, '}');
}

typedef const struct profile_locality_figure *figure_of(const struct profile *profile,
                                                        uint32_t owner, uint32_t level);

/* figure: locality_total and the like, of that owner. */
static void totals_member(struct json *json, const struct profile *profile, figure_of *figure,
                          uint32_t owner, uint64_t accesses)
{
    json_begin(json, "totals", '[');
    for (uint32_t i = 0; i < profile->locality_levels_count; i++)
        total_object(json, figure(profile, owner, i), (double)accesses);
    json_close(json, ']');
}

/* Of all nests together. */
static void sums_member(struct json *json, const struct profile *profile)
{
    json_begin(json, "totals", '[');
    for (uint32_t i = 0; i < profile->locality_levels_count; i++) {
        double accesses;
        struct profile_locality_figure sum = locality_sum(profile, i, &accesses);
        total_object(json, &sum, accesses);
    }
    json_close(json, ']');
}

static void sweep_member(struct json *json, const struct profile *profile, const char *name)
{
    json_begin(json, "sweep", '{');
    json_text(json, "name", name);
    json_begin(json, "points", '[');
    for (uint32_t i = 0; i < profile->locality_points_count; i++) {
        const struct profile_locality_point *point = &profile->locality_points[i];
        json_begin_item(json);
        json_signed(json, "value", point->value);
        totals_member(json, profile, locality_sweep, i, point->accesses);
        json_close(json, '}');
    }
    json_close(json, ']');
    json_close(json, '}');
}

static void arrays_member(struct json *json, const struct profile *profile, uint32_t nest)
{
    const struct locality_rows rows = locality_arrays_of(profile, nest);
    json_begin(json, "arrays", '[');
    for (size_t i = rows.first; i < rows.end; i++) {
        const struct profile_locality_array *array = &profile->locality_arrays[i];
        if (!array->size_bytes)
            continue;
        json_begin_item(json);
        json_text(json, "name", array->name);
        json_address(json, "address", array->address);
        json_count(json, "bytes", array->size_bytes);
        json_close(json, '}');
    }
    json_close(json, ']');
}

static void pairs_member(struct json *json, const struct profile *profile, uint32_t nest)
{
    const struct locality_rows rows = locality_pairs_of(profile, nest);
    size_t first = locality_references_of(profile, nest).first;
    json_begin(json, "conflicts", '[');
    for (size_t i = rows.first; i < rows.end; i++) {
        const struct profile_locality_pair *pair = &profile->locality_pairs[i];
        const struct profile_locality_reference *victim =
                                                    &profile->locality_references[pair->reference],
                                                *by = &profile->locality_references[pair->by];
        json_begin_item(json);
        json_count(json, "reference", pair->reference - first);
        json_count(json, "by", pair->by - first);
        json_text(json, "array", profile->locality_arrays[victim->array].name);
        json_text(json, "by_array", profile->locality_arrays[by->array].name);
        json_count(json, "line", victim->line);
        json_count(json, "by_line", by->line);
        json_decimal(json, "misses", pair->misses, 9);
        json_decimal(json, "conflict", pair->conflict, 9);
        json_close(json, '}');
    }
    json_close(json, ']');
}

static void nest_object(struct json *json, const struct profile *profile, uint32_t index)
{
    const struct profile_locality_nest *nest = &profile->locality_nests[index];
    json_begin_item(json);
    json_text(json, "function", nest->function);
    json_text(json, "file", nest->file);
    json_count(json, "line", nest->line);
    json_count(json, "accesses", nest->accesses);
    json_flag(json, "exact", nest->exact);
    json_flag(json, "late", nest->late);
    totals_member(json, profile, locality_total, index, nest->accesses);
    arrays_member(json, profile, index);
    pairs_member(json, profile, index);
    json_close(json, '}');
}

/* The changed order: loops from outside, tiles. */
static void order_members(struct json *json, const struct profile *profile, uint32_t index)
{
    const struct profile_locality_suggestion *suggestion = &profile->locality_suggestions[index];
    const struct locality_rows rows = locality_loops_of(profile, index);
    json_begin(json, "loops", '[');
    for (size_t i = rows.first; i < rows.end; i++) {
        json_begin_item(json);
        json_count(json, "loop", profile->locality_loops[i].loop);
        json_count(json, "line", profile->locality_loops[i].line);
        json_count(json, "tile", profile->locality_loops[i].tile);
        json_close(json, '}');
    }
    json_close(json, ']');
    json_count(json, "kept", suggestion->kept);
    json_flag(json, "split", suggestion->split);
}

static void padding_members(struct json *json, const struct profile *profile, uint32_t index)
{
    const struct locality_rows rows = locality_paddings_of(profile, index);
    json_begin(json, "padding", '[');
    for (size_t i = rows.first; i < rows.end; i++) {
        const struct profile_locality_padding *row = &profile->locality_paddings[i];
        json_begin_item(json);
        json_text(json, "array", profile->locality_arrays[row->array].name);
        json_count(json, "elements", row->elements);
        json_count(json, "padded_elements", row->padded_elements);
        json_close(json, '}');
    }
    json_close(json, ']');
    json_count(json, "gap_bytes", profile->locality_suggestions[index].gap_bytes);
}

static void suggestion_object(struct json *json, const struct profile *profile, uint32_t index)
{
    static const char *const names[] = {[PROFILE_LOCALITY_INTERCHANGE] = "interchange",
                                        [PROFILE_LOCALITY_TILES] = "tiles",
                                        [PROFILE_LOCALITY_PADDING] = "padding"};
    const struct profile_locality_suggestion *suggestion = &profile->locality_suggestions[index];
    const struct advice advice = locality_advice(suggestion);
    char line[TEXT_BYTES] = "";
    locality_describe_suggestion(profile, index, line, sizeof line);
    json_begin_item(json);
    json_count(json, "nest", suggestion->nest);
    json_text(json, "kind", names[suggestion->kind]);
    json_text(json, "text", line);
    json_decimal(json, "saved", suggestion->saved, 6);
    json_advice(json, &advice);
    order_members(json, profile, index);
    padding_members(json, profile, index);
    totals_member(json, profile, locality_saving, index, suggestion->accesses);
    json_close(json, '}');
}

static void rejected_member(struct json *json, const struct profile *profile)
{
    json_begin(json, "rejected", '[');
    for (size_t i = 0; i < profile->locality_rejections_count; i++) {
        const struct profile_locality_rejection *rejected = &profile->locality_rejections[i];
        json_begin_item(json);
        json_text(json, "file", rejected->file);
        json_count(json, "line", rejected->line);
        json_count(json, "column", rejected->column);
        json_text(json, "reason", rejected->reason);
        json_text(json, "help", rejected->help);
        json_close(json, '}');
    }
    json_close(json, ']');
}

bool locality_json(struct json *json, const struct places *places,
                   const struct report_options *options)
{
    const struct profile *profile = places->profile;
    const struct profile_locality_run *run = locality_run_of(profile);
    (void)options;
    if (!run)
        return true;
    json_begin(json, "locality", '{');
    json_text(json, "path", run->path);
    json_text(json, "placed", run->placed);
    levels_member(json, profile);
    json_begin(json, "nests", '[');
    for (uint32_t i = 0; i < profile->locality_nests_count; i++)
        nest_object(json, profile, i);
    json_close(json, ']');
    json_begin(json, "references", '[');
    for (uint32_t i = 0; i < profile->locality_references_count; i++)
        reference_object(json, profile, i);
    json_close(json, ']');
    sums_member(json, profile);
    json_begin(json, "suggestions", '[');
    for (uint32_t i = 0; i < profile->locality_suggestions_count; i++)
        suggestion_object(json, profile, i);
    json_close(json, ']');
    if (run->swept)
        sweep_member(json, profile, run->swept);
    rejected_member(json, profile);
    json_close(json, '}');
    return true;
}
