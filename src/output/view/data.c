// SPDX-License-Identifier: MIT
/*
 * What the script of the page reads (docs/formats/view.md): the report; and by itself, because each
 * view needs only one of the two, the whole calling-context tree with what was measured in each
 * context, as arrays of small numbers, which compress well.
 */
#include "view/internal.h"

#include <stdlib.h>

/* ---- numbers -------------------------------------------------------------------------------- */

static void integer(struct json *json, uint64_t value)
{
    json_item(json);
    fprintf(json->out, "%llu", (unsigned long long)value);
}

/* Four digits are more than a page shows; whole numbers compress better than powers of ten. */
static void rounded(struct json *json, double value)
{
    char text[32];
    json_item(json);
    if (value < 1e4 || value >= 1e15) {
        json_number(json, value, 4);
        return;
    }
    snprintf(text, sizeof text, "%.3e", value);
    fprintf(json->out, "%.0f", strtod(text, NULL));
}

/* Nodes that have something, each as its distance from the one before, and how much. */
static void metric(struct json *json, const char *name, const char *unit, const double *values,
                   size_t count)
{
    double sum = 0;
    for (size_t i = 0; i < count; i++)
        sum += values[i];
    if (!(sum > 0))
        return;
    json_begin_item(json);
    json_text(json, "name", name);
    json_text(json, "unit", unit);
    json_begin(json, "nodes", '[');
    size_t last = 0;
    for (size_t i = 0; i < count; i++)
        if (values[i] > 0) {
            integer(json, i - last);
            last = i;
        }
    json_close(json, ']');
    json_begin(json, "values", '[');
    for (size_t i = 0; i < count; i++)
        if (values[i] > 0)
            rounded(json, values[i]);
    json_close(json, ']');
    json_close(json, '}');
}

/* ---- the tree of places -----------------------------------------------------------------------
 */

/* [function, file, line, module, flags]; unknown texts are null. */
static void frame_item(struct json *json, const char *function, const char *file, uint32_t line,
                       const char *module, uint32_t flags)
{
    json_item(json);
    json_open(json, '[');
    json_item(json);
    json_quote(json, function);
    json_item(json);
    json_quote(json, file);
    integer(json, line);
    json_item(json);
    json_quote(json, module);
    integer(json, flags);
    json_close(json, ']');
}

static void place_frames(struct json *json, const struct ranking *ranking, uint32_t *numbers)
{
    const struct profile *profile = ranking->profile;
    uint32_t next = 0;
    json_begin(json, "frames", '[');
    for (size_t i = 1; i < ranking->places_count && !ferror(json->out); i++) {
        uint32_t id = ranking->places[i].class;
        if (numbers[id])
            continue;
        const struct profile_frame *frame = &profile->frames[id];
        numbers[id] = ++next;
        frame_item(json, frame->function, frame->file, frame->line,
                   frame->module ? profile->modules[frame->module].path : NULL, frame->flags);
    }
    json_close(json, ']');
}

static bool place_tree(struct json *json, const struct ranking *ranking)
{
    uint32_t *numbers = calloc(ranking->profile->frames_count + 1, sizeof *numbers);
    if (!numbers)
        return false;
    place_frames(json, ranking, numbers);
    json_begin(json, "up", '[');
    for (size_t i = 1; i < ranking->places_count; i++)
        integer(json, i - ranking->places[i].parent);
    json_close(json, ']');
    json_begin(json, "frame", '[');
    for (size_t i = 1; i < ranking->places_count; i++)
        integer(json, numbers[ranking->places[i].class] - 1);
    json_close(json, ']');
    free(numbers);
    return true;
}

/* ---- what was measured where --------------------------------------------------------------------
 */

static void clear(double *values, size_t count)
{
    for (size_t i = 0; i < count; i++)
        values[i] = 0;
}

static void waste_metrics(struct json *json, const struct ranking *ranking, double *values)
{
    static const char *const names[PROFILE_REUSE][2] = {
        {"dead stores, at the store that is lost", "dead stores, at the store that overwrites"},
        {"silent stores, at the store before", "silent stores, at the store that changes nothing"},
        {"redundant loads, at the load before", "redundant loads, at the load that repeats it"}};
    const struct profile *profile = ranking->profile;
    for (uint32_t kind = 0; kind < PROFILE_REUSE; kind++)
        for (unsigned second = 2; second-- > 0;) {
            clear(values, ranking->places_count);
            for (size_t i = 0; i < profile->pairs_count; i++) {
                const struct profile_pair *pair = &profile->pairs[i];
                if (pair->kind == kind)
                    values[ranking->place_of[second ? pair->second : pair->first]] +=
                        pair->waste_bytes;
            }
            metric(json, names[kind][second], "bytes", values, ranking->places_count);
        }
}

static void reuse_metrics(struct json *json, const struct ranking *ranking, double *values)
{
    const struct profile *profile = ranking->profile;
    size_t count = ranking->places_count;
    clear(values, count);
    for (size_t i = 0; i < profile->reuse_pairs_count; i++)
        values[ranking->place_of[profile->reuse_pairs[i].reuse]] += profile->reuse_pairs[i].weight;
    metric(json, "reuses, at the reuse", "count", values, count);
    clear(values, count);
    for (size_t i = 0; i < profile->reuse_pairs_count; i++)
        values[ranking->place_of[profile->reuse_pairs[i].reuse]] += profile->reuse_pairs[i].time;
    metric(json, "time distance, at the reuse", "accesses", values, count);
    clear(values, count);
    for (size_t i = 0; i < profile->reuse_pairs_count; i++)
        values[ranking->place_of[profile->reuse_pairs[i].use]] += profile->reuse_pairs[i].time;
    metric(json, "time distance, at the use before", "accesses", values, count);
}

static void other_metrics(struct json *json, const struct ranking *ranking, double *values)
{
    const struct profile *profile = ranking->profile;
    size_t count = ranking->places_count;
    clear(values, count);
    for (size_t i = 0; i < profile->block_stacks_count; i++)
        values[ranking->place_of[profile->block_stacks[i].context]] +=
            profile->block_stacks[i].lost_ns;
    metric(json, "time lost to interference, where stacks were taken", "ns", values, count);
    clear(values, count);
    for (size_t i = 0; i < profile->sampled_count; i++)
        values[ranking->place_of[profile->sampled[i].context]] +=
            (double)profile->sampled[i].samples;
    metric(json, "samples taken", "count", values, count);
}

/* any: is there a metric that something was measured of? */
static bool places_member(struct json *json, const struct ranking *ranking, bool *any)
{
    double *values = calloc(ranking->places_count + 1, sizeof *values);
    bool good = values && place_tree(json, ranking);
    if (good) {
        json_begin(json, "metrics", '[');
        waste_metrics(json, ranking, values);
        reuse_metrics(json, ranking, values);
        other_metrics(json, ranking, values);
        *any = json->comma;
        json_close(json, ']');
    }
    free(values);
    return good;
}

/* ---- the tree that instrumented programs keep
 * ------------------------------------------------------ */

static double vertex_value(const struct profile_vertex *vertex, unsigned which)
{
    double value = which == 0   ? vertex->cycles
                   : which == 1 ? vertex->instructions
                   : which == 2 ? vertex->misses
                                : (double)vertex->count;
    return value > 0 ? value : 0;
}

static bool vertex_metrics(struct json *json, const struct profile *profile, double *values)
{
    static const char *const names[] = {"cycles", "instructions", "misses", "activations"};
    json_begin(json, "metrics", '[');
    for (unsigned which = 0; which < BASE_COUNT(names); which++) {
        for (size_t i = 0; i < profile->vertices_count; i++)
            values[i] = vertex_value(&profile->vertices[i], which);
        metric(json, names[which], "count", values, profile->vertices_count);
    }
    bool any = json->comma;
    json_close(json, ']');
    return any;
}

static bool vertices_member(struct json *json, const struct profile *profile, bool *any)
{
    double *values = calloc(profile->vertices_count, sizeof *values);
    if (!values)
        return false;
    json_begin(json, "frames", '[');
    frame_item(json, "a thread or signal handler", NULL, 0, NULL, 0); /* function 0 */
    for (size_t i = 1; i < profile->path_functions_count && !ferror(json->out); i++) {
        const struct profile_path_function *function = &profile->path_functions[i];
        frame_item(json, function->function, function->file, function->line,
                   profile->modules[function->module].path, 0);
    }
    json_close(json, ']');
    json_begin(json, "up", '[');
    for (size_t i = 1; i < profile->vertices_count; i++)
        integer(json, i - profile->vertices[i].parent);
    json_close(json, ']');
    json_begin(json, "frame", '[');
    for (size_t i = 1; i < profile->vertices_count; i++)
        integer(json, profile->vertices[i].function);
    json_close(json, ']');
    *any = vertex_metrics(json, profile, values);
    free(values);
    return true;
}

/* ---- all of it
 * ----------------------------------------------------------------------------------------- */

enum base_status tree_write(const struct profile *profile, FILE *out, bool *any)
{
    struct json json = {.out = out};
    struct ranking ranking;
    bool good;
    json_open(&json, '{');
    if (profile->vertices_count > 1) {
        good = vertices_member(&json, profile, any);
    } else {
        good = rank_profile(profile, 0, false, &ranking) == BASE_OK;
        if (good) {
            good = places_member(&json, &ranking, any);
            rank_free(&ranking);
        }
    }
    json_close(&json, '}');
    if (!good)
        return BASE_NO_MEMORY;
    return fflush(out) == 0 && !ferror(out) ? BASE_OK : BASE_IO;
}

static enum base_status changes_member(struct json *json, struct profile *profile,
                                       const struct view_options *options)
{
    struct report_diff_options diff = view_diff_options(options, options->limit);
    json_key(json, "changes");
    return report_diff_json(options->before, profile, &diff, json->out);
}

enum base_status data_write(struct profile *profile, const struct view_options *options, FILE *out,
                            size_t *source_files)
{
    struct json json = {.out = out};
    struct report_options report = {.limit = options->limit, .profile_path = options->profile_path};
    size_t files = 0;
    json_open(&json, '{');
    json_text(&json, "schema", "headroom-view/1");
    json_key(&json, "report");
    enum base_status status = report_json(profile, &report, out);
    if (status != BASE_OK)
        return status;
    if (options->before && (status = changes_member(&json, profile, options)) != BASE_OK)
        return status;
    if (options->sources && (files = sources_member(&json, profile)) == SIZE_MAX)
        return BASE_NO_MEMORY;
    json_close(&json, '}');
    if (fflush(out) != 0 || ferror(out))
        return BASE_IO;
    *source_files = files;
    return BASE_OK;
}
