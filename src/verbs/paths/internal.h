// SPDX-License-Identifier: MIT
/*
 * Between the files of the report on paths: which paths, procedures and calling contexts are hot
 * (figures.c), for people (text.c, source.c, contexts_text.c) and as JSON (json.c).
 */
#ifndef HEADROOM_PATHS_INTERNAL_H
#define HEADROOM_PATHS_INTERNAL_H

#include "paths/paths.h"
#include "show/json.h"
#include "show/print.h"

/* Ammons, Ball and Larus (PLDI 1997, §6): hot: at least a given share of the metric. A hot path is
   dense if it costs as much of the metric per instruction as the whole program does, or more, and
   sparse if less. */
enum paths_class { PATHS_HOT_DENSE, PATHS_HOT_SPARSE, PATHS_COLD, PATHS_CLASSES };
extern const char *const paths_class_names[PATHS_CLASSES]; /* "hot-dense", ... */

/* As in JSON and on the command line; in the order of enum report_metric. */
extern const char *const paths_metric_names[REPORT_METRICS];

struct paths_function {
    uint32_t id;
    enum paths_class class; /* of the procedure as a whole, by the same rule */
    uint64_t executed;      /* different paths */
    double totals[REPORT_METRICS];
};

struct paths_sum { /* of a class */
    uint64_t paths, procedures;
    uint64_t procedure_paths; /* executed paths of those procedures */
    double paths_metric, procedures_metric;
    double paths_instructions, procedures_instructions;
};

enum { PATHS_THRESHOLDS = 4, PATHS_COVERS = 4 };

/* 10 %, 1 %, 0.1 %, 0.01 %: paths with at least that share, and what they cover together. */
struct paths_threshold {
    double least, covered;
    uint64_t paths;
};

/* 50, 80, 90, 99 % of the metric: the smallest number of paths that have as much. */
struct paths_cover {
    double share;
    uint64_t paths;
};

struct paths_contexts {
    uint64_t nodes, leaves, interior, edges; /* roots are none */
    uint64_t bytes;
    double mean_node_bytes, mean_degree, height_mean;
    uint32_t height_max;
    uint64_t max_replication;
    uint32_t most_replicated; /* function id */
    uint64_t call_sites, call_sites_used, call_sites_one_path;
    enum report_metric metric; /* by which they are ranked; COUNT: activations */
    double total;
    uint32_t *ranked; /* vertices with some of the metric, most first */
    size_t ranked_count;
};

struct paths_figures {
    const struct profile *profile;
    bool measured[REPORT_METRICS];
    double totals[REPORT_METRICS];
    enum report_metric metric;
    bool wanted_missing;              /* the metric asked for was not measured */
    bool density;                     /* the metric can be set against instructions */
    double hot, average;              /* average: metric per instruction */
    uint32_t *ranked;                 /* all paths, most of the metric first */
    uint8_t *classes;                 /* by path id */
    struct paths_function *functions; /* with executed paths, most first */
    size_t functions_count;
    struct paths_sum sums[PATHS_CLASSES];
    struct paths_threshold thresholds[PATHS_THRESHOLDS];
    struct paths_cover covers[PATHS_COVERS];
    /* path_functions: carried counting code; of these cut into pieces, hashed; left alone */
    uint64_t instrumented, truncated, hashed, skipped, assembly;
    double instrumented_time; /* share of the CPU time that the paths' cycles are; negative: not
                                 known */
    struct paths_contexts contexts;
};

/* Does the profile have a report on paths? That is, was it recorded for them. */
bool paths_are_in(const struct profile *profile);

/* False: no memory. */
bool paths_figures(const struct profile *profile, const struct report_options *options,
                   struct paths_figures *figures);
void paths_figures_free(struct paths_figures *figures);

double paths_metric(const struct profile_path *path, enum report_metric metric);
double paths_vertex_metric(const struct profile_vertex *vertex, enum report_metric metric);

/* value / total, 0 if there is no total. */
static inline double paths_share(double value, double total)
{
    return total > 0 ? value / total : 0;
}

static inline bool paths_is_vertex(const struct profile_vertex *vertex)
{
    return vertex->function != 0; /* a root else */
}

/* ---- text ------------------------------------------------------------------------------------ */

/* What all of them need: name of a function by id, short. */
void paths_name(const struct printer *printer, uint32_t function, unsigned columns,
                char out[NAME_BYTES]);

/* A metric above a column. */
const char *paths_short_metric(enum report_metric metric);

/* The lines that the path runs through, in order. */
void paths_print_source(struct printer *printer, const struct profile_path *path);

void paths_print_contexts(struct printer *printer, const struct paths_figures *figures);

extern const struct analysis_text paths_text;

/* ---- JSON ------------------------------------------------------------------------------------ */

extern const struct analysis_compare paths_compare;
extern const struct analysis_export paths_export;
extern const struct analysis_view paths_view;

bool paths_json(struct json *json, const struct places *places,
                const struct report_options *options);

#endif
