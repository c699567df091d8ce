// SPDX-License-Identifier: MIT
/* Strings, places, stacks and metrics of a profile: what all formats are written from. */
#include "export/walk.h"

#include "show/names.h"
#include "util/util.h"

#include <math.h>
#include <stdlib.h>

const struct walk_kind walk_sampled = {
    .name = "sampled", .finding = "Accesses were sampled here.", .counts = true};

/* ---- kinds ----------------------------------------------------------------------------------- */

/* Is it among the kinds of this verb from `kind` on, or of a later one? */
static bool is_listed_later(const struct analysis *const *analysis,
                            const struct walk_kind *const *kind, const struct walk_kind *wanted)
{
    for (;;) {
        for (; kind && *kind; kind++)
            if (*kind == wanted)
                return true;
        if (!*++analysis)
            return false;
        kind = (*analysis)->export ? (*analysis)->export->kinds : NULL;
    }
}

static size_t count_kinds(void)
{
    size_t count = 0;
    for (const struct analysis *const *at = analyses; *at; at++)
        for (size_t i = 0; (*at)->export && (*at)->export->kinds[i]; i++)
            count++;
    return count;
}

/* False: no memory. */
static bool number_kinds(struct walk *walk)
{
    walk->kinds = calloc(count_kinds() + 1, sizeof *walk->kinds);
    if (!walk->kinds)
        return false;
    for (const struct analysis *const *at = analyses; *at; at++)
        for (size_t i = 0; (*at)->export && (*at)->export->kinds[i]; i++) {
            const struct walk_kind *kind = (*at)->export->kinds[i];
            if (!is_listed_later(at, &(*at)->export->kinds[i + 1], kind))
                walk->kinds[walk->kinds_count++].kind = kind;
        }
    return true;
}

static uint32_t number_of(const struct walk *walk, const struct walk_kind *kind)
{
    uint32_t number = 0;
    while (walk->kinds[number].kind != kind)
        number++;
    return number;
}

/* ---- strings and places ---------------------------------------------------------------------- */

uint32_t walk_string(struct walk *walk, const char *text)
{
    size_t bytes = text ? strlen(text) : 0;
    uint32_t id = 0;
    if (walk->failed || bytes == 0)
        return 0;
    char *clean = malloc(bytes + 1);
    if (clean)
        name_clean(text, clean, bytes + 1);
    walk->failed = !clean || !util_strings_add(&walk->strings, clean, strlen(clean), &id);
    free(clean);
    return id;
}

static uint32_t add_place(struct walk *walk, const struct walk_function *function,
                          struct walk_place *place)
{
    place->function = walk->failed ? UINT32_MAX : numbered_id(&walk->functions, function);
    uint32_t id = place->function == UINT32_MAX ? UINT32_MAX : numbered_id(&walk->places, place);
    if (id != UINT32_MAX)
        return id;
    walk->failed = true;
    return 0;
}

uint32_t walk_find_module(const struct profile *profile, const char *path)
{
    for (uint32_t i = 1; path && i < profile->modules_count; i++)
        if (profile_same_text(profile->modules[i].path, path))
            return i;
    return 0;
}

uint32_t walk_add_place(struct walk *walk, const char *function, const char *file, uint32_t module,
                        uint64_t address, uint32_t line, uint32_t inlined)
{
    char unknown[300]; /* names of files have 255 bytes at most */
    if (!function || !*function) {
        const char *path = module ? walk->profile->modules[module].path : "";
        snprintf(unknown, sizeof unknown, "%.255s+0x%llx", module ? name_base(path) : "unknown",
                 (unsigned long long)address);
        function = unknown;
    }
    struct walk_function made = {walk_string(walk, function), walk_string(walk, file), module};
    struct walk_place place = {.address = address, .line = line, .inlined = inlined};
    return add_place(walk, &made, &place);
}

uint32_t walk_add_name(struct walk *walk, const char *name, const char *file, uint32_t module)
{
    struct walk_function made = {walk_string(walk, name), walk_string(walk, file), module};
    struct walk_place place = {.named = 1};
    return add_place(walk, &made, &place);
}

static void add_frames(struct walk *walk)
{
    const struct profile *profile = walk->profile;
    for (size_t i = 0; i < profile->frames_count; i++) {
        const struct profile_frame *frame = &profile->frames[i];
        walk->frame_places[i] =
            frame->flags & PROFILE_FRAME_INCOMPLETE
                ? walk_add_name(walk, "[callers not known]", NULL, 0)
                : walk_add_place(walk, frame->function, frame->file, frame->module, frame->address,
                                 frame->line, (frame->flags & PROFILE_FRAME_INLINED) != 0);
    }
}

static uint32_t vertex_place(struct walk *walk, uint32_t vertex, uint32_t line)
{
    uint32_t id = walk->profile->vertices[vertex].function;
    const struct profile_path_function *function = &walk->profile->path_functions[id];
    if (id == 0)
        return walk_add_name(walk, "[thread or handler]", NULL, 0);
    return walk_add_place(walk, function->function, function->file, function->module,
                          function->address, line ? line : function->line, 0);
}

static void add_vertices(struct walk *walk)
{
    for (uint32_t i = 1; i < walk->profile->vertices_count; i++) {
        const struct profile_vertex *vertex = &walk->profile->vertices[i];
        walk->vertex_places[i] = vertex_place(walk, i, 0);
        if (vertex->parent)
            walk->call_places[i] = vertex_place(walk, vertex->parent, vertex->site_line);
    }
}

/* ---- metrics and samples -------------------------------------------------------------------- */

/* Verbs follow each other in the order of the table, behind one that leads. */
enum { RANKS = 1000 };

uint32_t walk_add_metric(struct walk *walk, const char *name, const char *unit, const char *what,
                         uint32_t rank)
{
    struct walk_metric metric = {
        .name = name, .unit = unit, .what = what, .order = walk->verb * RANKS + rank};
    if (!UTIL_PUSH(walk->metrics, walk->metrics_count, walk->metrics_capacity, metric)) {
        walk->failed = true;
        return 0;
    }
    return (uint32_t)walk->metrics_count - 1;
}

/* More is no number of anything, and would not fit the formats' signed integers. */
#define TOTAL_MAX 4e18

static uint64_t rounded(struct walk_metric *metric, double value)
{
    metric->sum = fmin(TOTAL_MAX, metric->sum + fmax(0, value));
    uint64_t total = (uint64_t)nearbyint(metric->sum), before = metric->total;
    metric->total = total;
    return total - before;
}

/* No frame at all: a tick whose stack could not be walked. Formats of stacks need one for its value. */
static bool is_nowhere(const struct walk_sample *sample)
{
    return !sample->vertices && !sample->kind->separator && sample->first == 0 &&
           sample->head == UINT32_MAX && sample->leaf == UINT32_MAX;
}

void walk_add(struct walk *walk, struct walk_sample sample, const double *values)
{
    uint64_t any = 0;
    if (walk->failed)
        return;
    sample.number = number_of(walk, sample.kind);
    if (is_nowhere(&sample))
        sample.leaf = walk_add_name(walk, "[not known]", NULL, 0);
    for (uint32_t i = 0; i < sample.count; i++) {
        sample.values[i] = rounded(&walk->metrics[sample.metric + i], values[i]);
        any |= sample.values[i];
    }
    if (!any)
        return;
    if (!UTIL_PUSH(walk->samples, walk->samples_count, walk->samples_capacity, sample))
        walk->failed = true;
}

void walk_add_sampled(struct walk *walk, uint32_t kind, uint32_t metric)
{
    for (size_t i = 0; i < walk->profile->sampled_count; i++) {
        const struct profile_sampled *sampled = &walk->profile->sampled[i];
        double value = (double)sampled->samples;
        if (sampled->kind == kind)
            walk_add(walk,
                     (struct walk_sample){.kind = &walk_sampled,
                                          .first = sampled->context,
                                          .head = UINT32_MAX,
                                          .leaf = UINT32_MAX,
                                          .detail = walk_string(walk, profile_kind_names[kind]),
                                          .metric = metric,
                                          .count = 1},
                     &value);
    }
}

void walk_fail(struct walk *walk)
{
    walk->failed = true;
}

static void say_metrics(const struct walk *walk, const char *wanted, char *error,
                        size_t error_bytes)
{
    char names[512] = "none";
    size_t used = 0;
    for (size_t i = 0; i < walk->metrics_count; i++)
        if (walk->metrics[i].total && used < sizeof names)
            used += (size_t)snprintf(names + used, sizeof names - used, "%s%s", used ? ", " : "",
                                     walk->metrics[i].name);
    snprintf(error, error_bytes, "the profile has no metric '%.64s'; it has: %s.", wanted, names);
}

static bool is_evidence(const struct walk_metric *metric)
{
    return metric->order % RANKS == WALK_EVIDENCE;
}

static bool is_before(const struct walk_metric *a, const struct walk_metric *b)
{
    return a->order != b->order ? a->order < b->order : a->total > b->total;
}

/* Keeps the columns sorted; those that are equal stay as they came. */
static void add_column(struct walk *walk, uint32_t metric)
{
    size_t at = walk->columns_count++;
    for (; at && is_before(&walk->metrics[metric], &walk->metrics[walk->columns[at - 1]]); at--)
        walk->columns[at] = walk->columns[at - 1];
    walk->columns[at] = metric;
}

/* What is 0 everywhere was not recorded. */
static void add_columns(struct walk *walk, bool evidence)
{
    for (uint32_t i = 0; i < walk->metrics_count; i++)
        if (walk->metrics[i].total && (evidence || !is_evidence(&walk->metrics[i])))
            add_column(walk, i);
}

static void add_wanted(struct walk *walk, const char *wanted)
{
    for (uint32_t i = 0; i < walk->metrics_count; i++)
        if (strcmp(walk->metrics[i].name, wanted) == 0)
            add_column(walk, i);
}

/* Of nothing at all the first metric is left, for its name. */
static enum base_status choose_columns(struct walk *walk, const char *wanted, char *error,
                                       size_t error_bytes)
{
    walk->columns = calloc(walk->metrics_count + 1, sizeof *walk->columns);
    if (!walk->columns) {
        snprintf(error, error_bytes, "not enough memory to export the profile.");
        return BASE_NO_MEMORY;
    }
    if (wanted)
        add_wanted(walk, wanted);
    else
        add_columns(walk, walk->options->evidence);
    if (!wanted && !walk->columns_count)
        add_columns(walk, true);
    if (walk->columns_count)
        return BASE_OK;
    if (wanted) {
        say_metrics(walk, wanted, error, error_bytes);
        return BASE_NOT_FOUND;
    }
    if (!walk->metrics_count) {
        snprintf(error, error_bytes, "the profile holds nothing that could be exported.");
        return BASE_NOT_FOUND;
    }
    walk->columns_count = 1;
    return BASE_OK;
}

static void drop_unwritten(struct walk *walk)
{
    size_t kept = 0;
    for (size_t i = 0; i < walk->samples_count; i++) {
        uint64_t any = 0;
        for (size_t c = 0; c < walk->columns_count; c++)
            any |= walk_value(walk, &walk->samples[i], c);
        if (any)
            walk->samples[kept++] = walk->samples[i];
    }
    walk->samples_count = kept;
}

uint64_t walk_value(const struct walk *walk, const struct walk_sample *sample, size_t column)
{
    uint32_t index = walk->columns[column] - sample->metric; /* wraps around below it */
    return index < sample->count ? sample->values[index] : 0;
}

/* ---- stacks --------------------------------------------------------------------------------- */

static void reverse(uint32_t *places, size_t count)
{
    for (size_t i = 0; i < count / 2; i++) {
        uint32_t swapped = places[i];
        places[i] = places[count - 1 - i];
        places[count - 1 - i] = swapped;
    }
}

static size_t push_context(const struct walk *walk, uint32_t context, uint32_t *places)
{
    const struct profile *profile = walk->profile;
    size_t count = 0;
    for (; context && count < WALK_DEPTH; context = profile->contexts[context].parent)
        places[count++] = walk->frame_places[profile->contexts[context].frame];
    if (context)
        places[count++] = walk->cut_place;
    reverse(places, count);
    return count;
}

static size_t push_vertex(const struct walk *walk, uint32_t vertex, uint32_t *places)
{
    const struct profile *profile = walk->profile;
    size_t count = 0;
    places[count++] = walk->vertex_places[vertex];
    for (; profile->vertices[vertex].parent && count < WALK_DEPTH;
         vertex = profile->vertices[vertex].parent)
        places[count++] = walk->call_places[vertex];
    if (profile->vertices[vertex].parent)
        places[count++] = walk->cut_place;
    reverse(places, count);
    return count;
}

size_t walk_stack(const struct walk *walk, const struct walk_sample *sample,
                  uint32_t places[WALK_STACK], size_t *inner)
{
    size_t count = 0;
    if (sample->head != UINT32_MAX)
        places[count++] = sample->head;
    if (sample->kind->separator) {
        count += push_context(walk, sample->second, places + count);
        places[count++] = walk->kinds[sample->number].separator;
    }
    if (inner)
        *inner = count;
    count += sample->vertices ? push_vertex(walk, sample->first, places + count)
                              : push_context(walk, sample->first, places + count);
    if (sample->leaf != UINT32_MAX)
        places[count++] = sample->leaf;
    return count;
}

/* ---- the whole ------------------------------------------------------------------------------ */

static void fill(struct walk *walk)
{
    const struct profile *profile = walk->profile;
    uint32_t empty;
    walk->functions.bytes = sizeof(struct walk_function);
    walk->places.bytes = sizeof(struct walk_place);
    walk->modules = calloc(profile->modules_count + 1, sizeof *walk->modules);
    walk->frame_places = calloc(profile->frames_count + 1, sizeof *walk->frame_places);
    walk->vertex_places = calloc(profile->vertices_count + 1, sizeof *walk->vertex_places);
    walk->call_places = calloc(profile->vertices_count + 1, sizeof *walk->call_places);
    if (!util_strings_add(&walk->strings, "", 0, &empty) || !number_kinds(walk) || !walk->modules ||
        !walk->frame_places || !walk->vertex_places || !walk->call_places) {
        walk->failed = true;
        return;
    }
    for (size_t i = 1; i < profile->modules_count; i++)
        walk->modules[i] = walk_string(walk, profile->modules[i].path);
    walk->cut_place = walk_add_name(walk, "[outer callers left out]", NULL, 0);
    for (size_t i = 0; i < walk->kinds_count; i++)
        if (walk->kinds[i].kind->separator)
            walk->kinds[i].separator = walk_add_name(walk, walk->kinds[i].kind->separator, NULL, 0);
    add_frames(walk);
    add_vertices(walk);
    const struct analysis *lead = analysis_lead(profile->run.verb);
    for (const struct analysis *const *at = analyses; *at; at++) {
        walk->verb = *at == lead ? 0 : 1 + (uint32_t)(at - analyses);
        if ((*at)->export)
            (*at)->export->samples(walk, profile, walk->options);
    }
}

enum base_status walk_open(struct walk *walk, const struct profile *profile,
                           const struct export_options *options, char *error, size_t error_bytes)
{
    *walk = (struct walk){.profile = profile, .options = options};
    fill(walk);
    enum base_status status = walk->failed ? BASE_NO_MEMORY : BASE_OK;
    if (status != BASE_OK)
        snprintf(error, error_bytes, "not enough memory to export the profile.");
    else
        status = choose_columns(walk, options->metric, error, error_bytes);
    if (status == BASE_OK)
        drop_unwritten(walk);
    else
        walk_close(walk);
    return status;
}

void walk_close(struct walk *walk)
{
    util_strings_free(&walk->strings);
    numbered_free(&walk->functions);
    numbered_free(&walk->places);
    free(walk->modules);
    free(walk->frame_places);
    free(walk->vertex_places);
    free(walk->call_places);
    free(walk->samples);
    free(walk->metrics);
    free(walk->columns);
    free(walk->kinds);
    *walk = (struct walk){0};
}
