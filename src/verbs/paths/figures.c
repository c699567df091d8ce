// SPDX-License-Identifier: MIT
/* Hot paths and procedures, what covers how much, and the shape of the calling-context tree. */
#include "paths/internal.h"

#include <math.h>
#include <stdlib.h>

const char *const paths_class_names[PATHS_CLASSES] = {"hot-dense", "hot-sparse", "cold"};
const char *const paths_metric_names[REPORT_METRICS] = {"count",  "instructions", "loads", "stores",
                                                        "cycles", "misses",       "events"};

static const double default_hot = 0.01;

double paths_metric(const struct profile_path *path, enum report_metric metric)
{
    const double values[REPORT_METRICS] = {
        [REPORT_COUNT] = (double)path->count, [REPORT_INSTRUCTIONS] = (double)path->instructions,
        [REPORT_LOADS] = (double)path->loads, [REPORT_STORES] = (double)path->stores,
        [REPORT_CYCLES] = path->cycles,       [REPORT_MISSES] = path->misses,
        [REPORT_EVENTS] = path->events,
    };
    return fmax(0, values[metric]);
}

static bool is_measured(const struct profile_path *path, enum report_metric metric)
{
    return (metric != REPORT_CYCLES || path->cycles >= 0) &&
           (metric != REPORT_MISSES || path->misses >= 0) &&
           (metric != REPORT_EVENTS || path->events >= 0);
}

static void total(struct paths_figures *figures)
{
    const struct profile *profile = figures->profile;
    for (size_t i = 0; i < profile->paths_count; i++) {
        for (unsigned m = 0; m < REPORT_METRICS; m++) {
            figures->measured[m] |= is_measured(&profile->paths[i], (enum report_metric)m);
            figures->totals[m] += paths_metric(&profile->paths[i], (enum report_metric)m);
        }
    }
}

static void choose_metric(struct paths_figures *figures, const struct report_options *options)
{
    static const enum report_metric best[] = {REPORT_EVENTS, REPORT_CYCLES, REPORT_MISSES,
                                              REPORT_INSTRUCTIONS};
    size_t at = 0;
    if (options->metric && figures->totals[options->metric - 1] > 0) {
        figures->metric = (enum report_metric)(options->metric - 1);
    } else {
        while (at + 1 < BASE_COUNT(best) && !(figures->totals[best[at]] > 0))
            at++;
        figures->metric = best[at];
        figures->wanted_missing = options->metric != 0;
    }
    figures->hot = options->hot > 0 ? options->hot : default_hot;
    /* Instructions per instruction are the same everywhere, executions count starts only. */
    figures->density = figures->metric != REPORT_INSTRUCTIONS && figures->metric != REPORT_COUNT;
    figures->average =
        paths_share(figures->totals[figures->metric], figures->totals[REPORT_INSTRUCTIONS]);
}

static enum paths_class classify(const struct paths_figures *figures, double metric,
                                 double instructions)
{
    if (!(metric > 0) || metric < figures->hot * figures->totals[figures->metric])
        return PATHS_COLD;
    return !figures->density || metric >= figures->average * instructions ? PATHS_HOT_DENSE
                                                                          : PATHS_HOT_SPARSE;
}

/* ---- paths ----------------------------------------------------------------------------------- */

static int compare_doubles(double a, double b)
{
    return (a < b) - (a > b); /* the largest first */
}

static int compare_paths(const void *left, const void *right, void *context)
{
    const struct paths_figures *figures = context;
    uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
    const struct profile_path *paths = figures->profile->paths;
    int order = compare_doubles(paths_metric(&paths[a], figures->metric),
                                paths_metric(&paths[b], figures->metric));
    order = order ? order : compare_doubles((double)paths[a].count, (double)paths[b].count);
    return order ? order : (a > b) - (a < b);
}

static bool rank_paths(struct paths_figures *figures)
{
    const struct profile *profile = figures->profile;
    figures->ranked = calloc(profile->paths_count + 1, sizeof *figures->ranked);
    figures->classes = calloc(profile->paths_count + 1, sizeof *figures->classes);
    if (!figures->ranked || !figures->classes)
        return false;
    for (size_t i = 0; i < profile->paths_count; i++) {
        const struct profile_path *path = &profile->paths[i];
        double metric = paths_metric(path, figures->metric);
        enum paths_class class = classify(figures, metric, (double)path->instructions);
        figures->ranked[i] = (uint32_t)i;
        figures->classes[i] = (uint8_t) class;
        figures->sums[class].paths++;
        figures->sums[class].paths_metric += metric;
        figures->sums[class].paths_instructions += (double)path->instructions;
    }
    qsort_r(figures->ranked, profile->paths_count, sizeof *figures->ranked, compare_paths, figures);
    return true;
}

static void find_coverage(struct paths_figures *figures)
{
    static const double least[PATHS_THRESHOLDS] = {0.1, 0.01, 0.001, 0.0001};
    static const double covers[PATHS_COVERS] = {0.5, 0.8, 0.9, 0.99};
    double sum = 0, all = figures->totals[figures->metric];
    for (size_t t = 0; t < PATHS_THRESHOLDS; t++)
        figures->thresholds[t].least = least[t];
    for (size_t c = 0; c < PATHS_COVERS; c++)
        figures->covers[c].share = covers[c];
    for (size_t i = 0; i < figures->profile->paths_count && all > 0; i++) {
        double metric = paths_metric(&figures->profile->paths[figures->ranked[i]], figures->metric);
        sum += metric;
        for (size_t t = 0; t < PATHS_THRESHOLDS; t++) {
            if (metric < least[t] * all)
                continue;
            figures->thresholds[t].paths = i + 1;
            figures->thresholds[t].covered = sum / all;
        }
        for (size_t c = 0; c < PATHS_COVERS; c++)
            if (!figures->covers[c].paths && sum >= covers[c] * all * (1 - 1e-12))
                figures->covers[c].paths = i + 1;
    }
}

/* ---- procedures ------------------------------------------------------------------------------ */

static int compare_functions(const void *left, const void *right, void *context)
{
    const struct paths_figures *figures = context;
    const struct paths_function *a = left, *b = right;
    int order = compare_doubles(a->totals[figures->metric], b->totals[figures->metric]);
    return order ? order : (a->id > b->id) - (a->id < b->id);
}

/* Paths stand function by function. */
static bool rank_functions(struct paths_figures *figures)
{
    const struct profile *profile = figures->profile;
    struct paths_function *function = NULL;
    figures->functions = calloc(profile->path_functions_count, sizeof *figures->functions);
    if (!figures->functions)
        return false;
    for (size_t i = 0; i < profile->paths_count; i++) {
        const struct profile_path *path = &profile->paths[i];
        if (!function || function->id != path->function) {
            function = &figures->functions[figures->functions_count++];
            function->id = path->function;
        }
        function->executed++;
        for (unsigned m = 0; m < REPORT_METRICS; m++)
            function->totals[m] += paths_metric(path, (enum report_metric)m);
    }
    for (size_t i = 0; i < figures->functions_count; i++) {
        function = &figures->functions[i];
        double metric = function->totals[figures->metric];
        function->class = classify(figures, metric, function->totals[REPORT_INSTRUCTIONS]);
        figures->sums[function->class].procedures++;
        figures->sums[function->class].procedure_paths += function->executed;
        figures->sums[function->class].procedures_metric += metric;
        figures->sums[function->class].procedures_instructions +=
            function->totals[REPORT_INSTRUCTIONS];
    }
    qsort_r(figures->functions, figures->functions_count, sizeof *figures->functions,
            compare_functions, figures);
    return true;
}

static void count_functions(struct paths_figures *figures)
{
    const struct profile *profile = figures->profile;
    const struct profile_path_run *run = profile->path_runs_count ? &profile->path_runs[0] : NULL;
    for (size_t i = 1; i < profile->path_functions_count; i++) {
        const struct profile_path_function *function = &profile->path_functions[i];
        bool counted = function->reason <= PROFILE_PATH_TRUNCATED;
        figures->instrumented += counted;
        figures->truncated += function->reason == PROFILE_PATH_TRUNCATED;
        figures->hashed += counted && function->table_kind == PROFILE_TABLE_HASH;
        figures->skipped += !counted;
        figures->assembly += function->inline_assembly;
    }
    double cycles = figures->totals[REPORT_CYCLES];
    double time = run && profile->run.cpu_s > 0 ? profile->run.cpu_s * 1e9 * run->cycles_per_ns : 0;
    figures->instrumented_time =
        figures->measured[REPORT_CYCLES] && time > 0 ? fmin(1, cycles / time) : -1;
}

/* ---- contexts -------------------------------------------------------------------------------- */

double paths_vertex_metric(const struct profile_vertex *vertex, enum report_metric metric)
{
    return fmax(0, metric == REPORT_CYCLES         ? vertex->cycles
                   : metric == REPORT_MISSES       ? vertex->misses
                   : metric == REPORT_INSTRUCTIONS ? vertex->instructions
                                                   : (double)vertex->count);
}

static double total_of_vertices(const struct profile *profile, enum report_metric metric)
{
    double sum = 0;
    for (size_t i = 1; i < profile->vertices_count; i++)
        if (paths_is_vertex(&profile->vertices[i]))
            sum += paths_vertex_metric(&profile->vertices[i], metric);
    return sum;
}

/* The paths' metric if vertices have it, else the best that they have. */
static void choose_vertex_metric(struct paths_figures *figures)
{
    const enum report_metric order[] = {figures->metric, REPORT_CYCLES, REPORT_MISSES,
                                        REPORT_INSTRUCTIONS, REPORT_COUNT};
    struct paths_contexts *contexts = &figures->contexts;
    for (size_t i = 0; i < BASE_COUNT(order) && !(contexts->total > 0); i++) {
        bool has = order[i] == REPORT_CYCLES || order[i] == REPORT_MISSES ||
                   order[i] == REPORT_INSTRUCTIONS || order[i] == REPORT_COUNT;
        contexts->metric = order[i];
        contexts->total = has ? total_of_vertices(figures->profile, order[i]) : 0;
    }
}

static int compare_vertices(const void *left, const void *right, void *context)
{
    const struct paths_figures *figures = context;
    const struct profile_vertex *vertices = figures->profile->vertices;
    enum report_metric metric = figures->contexts.metric;
    uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
    int order = compare_doubles(paths_vertex_metric(&vertices[a], metric),
                                paths_vertex_metric(&vertices[b], metric));
    return order ? order : (a > b) - (a < b);
}

static bool rank_vertices(struct paths_figures *figures)
{
    const struct profile *profile = figures->profile;
    struct paths_contexts *contexts = &figures->contexts;
    contexts->ranked = calloc(profile->vertices_count, sizeof *contexts->ranked);
    if (!contexts->ranked)
        return false;
    for (size_t i = 1; i < profile->vertices_count; i++)
        if (paths_is_vertex(&profile->vertices[i]) &&
            paths_vertex_metric(&profile->vertices[i], contexts->metric) > 0)
            contexts->ranked[contexts->ranked_count++] = (uint32_t)i;
    qsort_r(contexts->ranked, contexts->ranked_count, sizeof *contexts->ranked, compare_vertices,
            figures);
    return true;
}

/* Depth of a procedure that a root calls: 1. Parents precede children. */
static void measure_shape(struct paths_figures *figures, uint32_t *depths, uint32_t *children,
                          uint64_t *replicas)
{
    const struct profile *profile = figures->profile;
    struct paths_contexts *contexts = &figures->contexts;
    double heights = 0;
    for (size_t i = 1; i < profile->vertices_count; i++) {
        const struct profile_vertex *vertex = &profile->vertices[i];
        contexts->bytes += vertex->bytes;
        if (!paths_is_vertex(vertex))
            continue;
        contexts->nodes++;
        children[vertex->parent]++;
        depths[i] = depths[vertex->parent] + 1;
        contexts->edges += paths_is_vertex(&profile->vertices[vertex->parent]);
        contexts->call_sites += vertex->call_sites;
        contexts->call_sites_used += vertex->call_sites_used;
        contexts->call_sites_one_path += vertex->call_sites_one_path;
        if (depths[i] > contexts->height_max)
            contexts->height_max = depths[i];
        if (++replicas[vertex->function] > contexts->max_replication) {
            contexts->max_replication = replicas[vertex->function];
            contexts->most_replicated = vertex->function;
        }
    }
    for (size_t i = 1; i < profile->vertices_count; i++) {
        if (!paths_is_vertex(&profile->vertices[i]))
            continue;
        contexts->interior += children[i] > 0;
        contexts->leaves += children[i] == 0;
        heights += children[i] == 0 ? depths[i] : 0;
    }
    contexts->mean_node_bytes = paths_share((double)contexts->bytes, (double)contexts->nodes);
    contexts->mean_degree = paths_share((double)contexts->edges, (double)contexts->interior);
    contexts->height_mean = paths_share(heights, (double)contexts->leaves);
}

static bool find_contexts(struct paths_figures *figures)
{
    const struct profile *profile = figures->profile;
    uint32_t *depths = calloc(profile->vertices_count, sizeof *depths);
    uint32_t *children = calloc(profile->vertices_count, sizeof *children);
    uint64_t *replicas = calloc(profile->path_functions_count, sizeof *replicas);
    bool good = depths && children && replicas;
    if (good) {
        measure_shape(figures, depths, children, replicas);
        choose_vertex_metric(figures);
        good = rank_vertices(figures);
    }
    free(depths);
    free(children);
    free(replicas);
    return good;
}

bool paths_figures(const struct profile *profile, const struct report_options *options,
                   struct paths_figures *figures)
{
    *figures = (struct paths_figures){.profile = profile};
    total(figures);
    choose_metric(figures, options);
    count_functions(figures);
    if (rank_paths(figures) && rank_functions(figures) && find_contexts(figures)) {
        find_coverage(figures);
        return true;
    }
    paths_figures_free(figures);
    return false;
}

void paths_figures_free(struct paths_figures *figures)
{
    free(figures->ranked);
    free(figures->classes);
    free(figures->functions);
    free(figures->contexts.ranked);
}
