// SPDX-License-Identifier: MIT
/* The member "locality" of a report of its own, docs/formats/report.md. */
#include "predicted/predicted.h"

#include "show/json.h"

static void interval(struct json *json, const struct misses_figure *figure, double accesses)
{
    json_begin(json, "ci95", '[');
    json_item(json);
    json_number(json, accesses > 0 ? figure->low / accesses : 0, 9);
    json_item(json);
    json_number(json, accesses > 0 ? figure->high / accesses : 0, 9);
    json_close(json, ']');
}

static void figure_members(struct json *json, const struct misses_figure *figure, uint64_t accesses)
{
    json_decimal(json, "misses", figure->misses, 12);
    json_decimal(json, "ratio", accesses ? figure->misses / (double)accesses : 0, 9);
    interval(json, figure, (double)accesses);
    json_decimal(json, "cold", figure->cold, 12);
    json_decimal(json, "capacity", figure->capacity, 12);
    json_decimal(json, "conflict", figure->conflict, 12);
    json_flag(json, "exact", figure->exact);
    json_count(json, "points", figure->points);
    json_count(json, "cut", figure->cut);
}

static void levels_member(struct json *json, const struct predicted *predicted)
{
    json_begin(json, "levels", '[');
    for (size_t i = 0; i < predicted->levels_count; i++) {
        const struct misses_level *level = &predicted->levels[i];
        json_begin_item(json);
        json_text(json, "name", level->name);
        json_count(json, "bytes", level->bytes);
        json_count(json, "ways", level->ways);
        json_count(json, "line_bytes", level->line_bytes);
        json_close(json, '}');
    }
    json_close(json, ']');
}

static void reference_object(struct json *json, const struct predicted *predicted, size_t index,
                             size_t at)
{
    const struct predicted_nest *nest = &predicted->nests[index];
    const struct nest_reference *reference = &nest->nest->references[at];
    const struct misses_reference *figures = &nest->result.references[at];
    json_begin_item(json);
    json_count(json, "nest", index);
    json_text(json, "array", nest->nest->arrays[reference->array].name);
    json_text(json, "text", reference->text);
    json_text(json, "file", reference->file);
    json_count(json, "line", reference->line);
    json_count(json, "column", reference->column);
    json_text(json, "kind", reference->write ? "write" : "read");
    json_flag(json, "conditional", reference->conditional);
    json_count(json, "accesses", figures->accesses);
    json_begin(json, "levels", '[');
    for (size_t i = 0; i < predicted->levels_count; i++) {
        json_begin_item(json);
        figure_members(json, &figures->levels[i], figures->accesses);
        if (nest->simulated.references)
            json_decimal(json, "simulated", nest->simulated.references[at].levels[i].misses, 12);
        json_close(json, '}');
    }
    json_close(json, ']');
    json_close(json, '}');
}

static void total_object(struct json *json, const struct misses_figure *figure, uint64_t accesses,
                         bool verified, double simulated)
{
    json_begin_item(json);
    json_count(json, "accesses", accesses);
    figure_members(json, figure, accesses);
    if (verified)
        json_decimal(json, "simulated", simulated, 12);
    json_close(json, '}');
}

/* Of all nests together. */
static void totals_member(struct json *json, const struct predicted *predicted)
{
    struct predicted_point sum = {0};
    predicted_sum(predicted->nests, predicted->nests_count, predicted->levels_count, &sum);
    json_begin(json, "totals", '[');
    for (size_t i = 0; i < predicted->levels_count; i++) {
        double simulated = 0;
        bool verified = predicted->nests_count > 0;
        for (size_t j = 0; j < predicted->nests_count; j++) {
            verified &= predicted->nests[j].simulated.references != NULL;
            simulated += predicted->nests[j].simulated.totals[i].misses;
        }
        total_object(json, &sum.totals[i], sum.accesses, verified, simulated);
    }
    json_close(json, ']');
}

static void sweep_member(struct json *json, const struct predicted *predicted)
{
    json_begin(json, "sweep", '{');
    json_text(json, "name", predicted->swept);
    json_begin(json, "points", '[');
    for (size_t i = 0; i < predicted->points_count; i++) {
        const struct predicted_point *point = &predicted->points[i];
        json_begin_item(json);
        json_decimal(json, "value", (double)point->value, 18);
        json_begin(json, "totals", '[');
        for (size_t j = 0; j < predicted->levels_count; j++)
            total_object(json, &point->totals[j], point->accesses, false, 0);
        json_close(json, ']');
        json_close(json, '}');
    }
    json_close(json, ']');
    json_close(json, '}');
}

static void arrays_member(struct json *json, const struct nest *nest)
{
    json_begin(json, "arrays", '[');
    for (size_t i = 0; i < nest->arrays_count; i++) {
        const struct nest_array *array = &nest->arrays[i];
        char address[24];
        if (!array->bytes)
            continue;
        snprintf(address, sizeof address, "0x%llx", (unsigned long long)array->base);
        json_begin_item(json);
        json_text(json, "name", array->name);
        json_text(json, "address", address);
        json_count(json, "bytes", (uint64_t)array->bytes);
        json_close(json, '}');
    }
    json_close(json, ']');
}

static void pairs_member(struct json *json, const struct predicted_nest *nest)
{
    json_begin(json, "conflicts", '[');
    for (size_t i = 0; i < nest->result.pairs_count; i++) {
        const struct misses_pair *pair = &nest->result.pairs[i];
        const struct nest_reference *victim = &nest->nest->references[pair->reference];
        const struct nest_reference *by = &nest->nest->references[pair->by];
        json_begin_item(json);
        json_count(json, "reference", pair->reference);
        json_count(json, "by", pair->by);
        json_text(json, "array", nest->nest->arrays[victim->array].name);
        json_text(json, "by_array", nest->nest->arrays[by->array].name);
        json_count(json, "line", victim->line);
        json_count(json, "by_line", by->line);
        json_decimal(json, "misses", pair->misses, 9);
        json_decimal(json, "conflict", pair->conflict, 9);
        json_close(json, '}');
    }
    json_close(json, ']');
}

static void nests_member(struct json *json, const struct predicted *predicted)
{
    json_begin(json, "nests", '[');
    for (size_t i = 0; i < predicted->nests_count; i++) {
        const struct predicted_nest *nest = &predicted->nests[i];
        json_begin_item(json);
        json_text(json, "function", nest->nest->function);
        json_text(json, "file", nest->nest->file);
        json_count(json, "line", nest->nest->line);
        json_count(json, "accesses", nest->result.accesses);
        json_flag(json, "exact", nest->result.exact);
        json_flag(json, "late", nest->result.late);
        json_begin(json, "totals", '[');
        for (size_t j = 0; j < predicted->levels_count; j++)
            total_object(json, &nest->result.totals[j], nest->result.accesses,
                         nest->simulated.references != NULL, nest->simulated.totals[j].misses);
        json_close(json, ']');
        arrays_member(json, nest->nest);
        pairs_member(json, nest);
        json_close(json, '}');
    }
    json_close(json, ']');
}

/* The changed order: loops from outside, tiles. */
static void order_members(struct json *json, const struct suggestion *suggestion)
{
    const struct polyhedra_change *change = &suggestion->change;
    json_begin(json, "loops", '[');
    for (unsigned i = 0; change->reordered && i < suggestion->group.depth; i++) {
        unsigned loop = i < change->kept ? i : change->order[i - change->kept];
        json_begin_item(json);
        json_count(json, "loop", loop);
        json_count(json, "line", suggestion->group.lines[loop]);
        json_count(json, "tile", (uint64_t)change->tiles[loop]);
        json_close(json, '}');
    }
    json_close(json, ']');
    json_count(json, "kept", change->reordered ? change->kept : 0);
    json_flag(json, "split", change->reordered && suggestion->group.shared > change->kept);
}

static void padding_members(struct json *json, const struct nest *nest,
                            const struct suggestion *suggestion)
{
    json_begin(json, "padding", '[');
    for (size_t i = 0; suggestion->padding && i < nest->arrays_count; i++) {
        if (!suggestion->padding[i])
            continue;
        json_begin_item(json);
        json_text(json, "array", nest->arrays[i].name);
        json_count(json, "elements", (uint64_t)suggestion->rows[i]);
        json_count(json, "padded_elements", (uint64_t)suggestion->rows[i] + suggestion->padding[i]);
        json_close(json, '}');
    }
    json_close(json, ']');
    json_count(json, "gap_bytes", suggestion->gap_bytes);
}

static void suggestion_object(struct json *json, const struct predicted *predicted, size_t index,
                              const struct suggestion *suggestion)
{
    const struct predicted_nest *nest = &predicted->nests[index];
    json_begin_item(json);
    json_count(json, "nest", index);
    json_text(json, "kind",
              suggestion->tiled              ? "tiles"
              : suggestion->change.reordered ? "interchange"
                                             : "padding");
    json_decimal(json, "saved", suggestion->saved, 6);
    order_members(json, suggestion);
    padding_members(json, nest->nest, suggestion);
    json_begin(json, "totals", '[');
    for (size_t j = 0; j < predicted->levels_count; j++)
        total_object(json, &suggestion->result.totals[j], suggestion->result.accesses, false, 0);
    json_close(json, ']');
    json_close(json, '}');
}

static void suggestions_member(struct json *json, const struct predicted *predicted)
{
    json_begin(json, "suggestions", '[');
    for (size_t i = 0; i < predicted->nests_count; i++) {
        const struct suggestions *suggestions = predicted->nests[i].suggestions;
        for (size_t j = 0; suggestions && j < suggestions->count; j++)
            suggestion_object(json, predicted, i, &suggestions->list[j]);
    }
    json_close(json, ']');
}

static void rejected_member(struct json *json, const struct predicted *predicted)
{
    json_begin(json, "rejected", '[');
    for (size_t i = 0; i < predicted->rejected_count; i++) {
        const struct lower_rejected *rejected = &predicted->rejected[i];
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

static void head(struct json *json, const struct predicted *predicted)
{
    json_text(json, "schema", "headroom-report/1");
    json_text(json, "verb", "locality");
    json_text(json, "engine", "static");
    json_text(json, "source", NULL);
    json_text(json, "weighting", "accesses");
    json_begin(json, "command", '[');
    for (size_t i = 0; i < predicted->command_count; i++) {
        json_item(json);
        json_quote(json, predicted->command[i]);
    }
    json_close(json, ']');
}

enum base_status predicted_json(const struct predicted *predicted,
                                const struct report_options *options, FILE *out)
{
    struct json json = {.out = out};
    (void)options;
    json_open(&json, '{');
    head(&json, predicted);
    json_begin(&json, "locality", '{');
    json_text(&json, "path", predicted->path);
    json_text(&json, "placed", predicted->placed);
    levels_member(&json, predicted);
    nests_member(&json, predicted);
    json_begin(&json, "references", '[');
    for (size_t i = 0; i < predicted->nests_count; i++)
        for (size_t j = 0; j < predicted->nests[i].nest->references_count; j++)
            reference_object(&json, predicted, i, j);
    json_close(&json, ']');
    totals_member(&json, predicted);
    suggestions_member(&json, predicted);
    if (predicted->swept)
        sweep_member(&json, predicted);
    rejected_member(&json, predicted);
    json_close(&json, '}');
    json_close(&json, '}');
    putc('\n', out);
    return fflush(out) == 0 && !ferror(out) ? BASE_OK : BASE_IO;
}
