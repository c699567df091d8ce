// SPDX-License-Identifier: MIT
/*
 * What the script of the page reads (docs/formats/view.md): the report; and by itself, because each
 * view needs only one of the two, the whole calling-context tree with what was measured in each
 * context, as arrays of small numbers, which compress well.
 */
#include "view/internal.h"

#include "view/tree.h"

#include <stdlib.h>

/* ---- numbers -------------------------------------------------------------------------------- */

void tree_number(struct json *json, uint64_t value)
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
void tree_metric(struct json *json, const char *name, const char *unit, const double *values,
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
            tree_number(json, i - last);
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
void tree_frame(struct json *json, const char *function, const char *file, uint32_t line,
                const char *module, uint32_t flags)
{
    json_item(json);
    json_open(json, '[');
    json_item(json);
    json_quote(json, function);
    json_item(json);
    json_quote(json, file);
    tree_number(json, line);
    json_item(json);
    json_quote(json, module);
    tree_number(json, flags);
    json_close(json, ']');
}

static void place_frames(struct json *json, const struct places *places, uint32_t *numbers)
{
    const struct profile *profile = places->profile;
    uint32_t next = 0;
    json_begin(json, "frames", '[');
    for (size_t i = 1; i < places->count && !ferror(json->out); i++) {
        uint32_t id = places->items[i].class;
        if (numbers[id])
            continue;
        const struct profile_frame *frame = &profile->frames[id];
        numbers[id] = ++next;
        tree_frame(json, frame->function, frame->file, frame->line,
                   frame->module ? profile->modules[frame->module].path : NULL, frame->flags);
    }
    json_close(json, ']');
}

static bool place_tree(struct json *json, const struct places *places)
{
    uint32_t *numbers = calloc(places->profile->frames_count + 1, sizeof *numbers);
    if (!numbers)
        return false;
    place_frames(json, places, numbers);
    json_begin(json, "up", '[');
    for (size_t i = 1; i < places->count; i++)
        tree_number(json, i - places->items[i].parent);
    json_close(json, ']');
    json_begin(json, "frame", '[');
    for (size_t i = 1; i < places->count; i++)
        tree_number(json, numbers[places->items[i].class] - 1);
    json_close(json, ']');
    free(numbers);
    return true;
}

/* ---- what was measured where --------------------------------------------------------------------
 */

void tree_clear(double *values, size_t count)
{
    for (size_t i = 0; i < count; i++)
        values[i] = 0;
}

/* What all samples have in common. */
static void sample_metric(struct json *json, const struct places *places, double *values)
{
    const struct profile *profile = places->profile;
    tree_clear(values, places->count);
    for (size_t i = 0; i < profile->sampled_count; i++)
        values[places->place_of[profile->sampled[i].context]] +=
            (double)profile->sampled[i].samples;
    tree_metric(json, "samples taken", "count", values, places->count);
}

/* Of all verbs, that which leads first. */
static void all_metrics(struct json *json, const struct places *places, double *values)
{
    const struct analysis *lead = analysis_lead(places->profile->run.verb);
    if (lead && lead->view && lead->view->metrics)
        lead->view->metrics(json, places, values);
    for (const struct analysis *const *at = analyses; *at; at++)
        if (*at != lead && (*at)->view && (*at)->view->metrics)
            (*at)->view->metrics(json, places, values);
}

/* any: is there a metric that something was measured of? */
static bool places_member(struct json *json, const struct places *places, bool *any)
{
    double *values = calloc(places->count + 1, sizeof *values);
    bool good = values && place_tree(json, places);
    if (good) {
        json_begin(json, "metrics", '[');
        all_metrics(json, places, values);
        sample_metric(json, places, values);
        *any = json->comma;
        json_close(json, ']');
    }
    free(values);
    return good;
}

/* ---- all of it
 * ----------------------------------------------------------------------------------------- */

/* Of the verb that has a tree of its own; NULL: none. */
static const struct analysis_view *find_tree(const struct profile *profile)
{
    for (const struct analysis *const *at = analyses; *at; at++)
        if ((*at)->view && (*at)->view->has_tree && (*at)->view->has_tree(profile))
            return (*at)->view;
    return NULL;
}

enum base_status tree_write(const struct profile *profile, FILE *out, bool *any)
{
    struct json json = {.out = out};
    const struct analysis_view *own = find_tree(profile);
    struct places places;
    bool good;
    json_open(&json, '{');
    if (own) {
        good = own->tree(&json, profile, any);
    } else {
        good = places_make(profile, false, &places) == BASE_OK;
        if (good) {
            good = places_member(&json, &places, any);
            places_free(&places);
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
    struct diff_options diff = view_diff_options(options, options->limit);
    json_key(json, "changes");
    return diff_json(options->before, profile, &diff, json->out);
}

enum base_status data_write(struct profile *profile, const struct view_options *options, FILE *out,
                            size_t *source_files)
{
    struct json json = {.out = out};
    /* As the text has it: no other list beside. */
    enum report_by by = options->by ? options->by : REPORT_BY_CAUSE;
    struct report_options report = {.limit = options->limit,
                                    .sources = options->sources,
                                    .by = by,
                                    .profile_path = options->profile_path};
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
