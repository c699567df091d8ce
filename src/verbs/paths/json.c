// SPDX-License-Identifier: MIT
/* The member "paths" of the JSON report (docs/formats/report.md). */
#include "show/json.h"
#include "paths/internal.h"

#include <inttypes.h>
#include <math.h>

/* Metrics that were measured: their values, or their shares of the program's. */
static void metrics_member(struct json *json, const struct paths_figures *figures, const char *name,
                           const double values[REPORT_METRICS], bool shares)
{
    json_begin(json, name, '{');
    for (unsigned m = 0; m < REPORT_METRICS; m++) {
        if (!figures->measured[m])
            continue;
        if (shares)
            json_decimal(json, paths_metric_names[m], paths_share(values[m], figures->totals[m]),
                         9);
        else
            json_decimal(json, paths_metric_names[m], values[m], 15);
    }
    json_close(json, '}');
}

static void line_member(struct json *json, uint32_t line)
{
    json_key(json, "line");
    if (line)
        fprintf(json->out, "%" PRIu32, line);
    else
        json_raw(json, "null");
}

/* Which and where. */
static void function_members(struct json *json, const struct profile *profile, uint32_t id)
{
    const struct profile_path_function *function = &profile->path_functions[id];
    json_text(json, "function", function->function);
    json_text(json, "file", function->file);
    line_member(json, function->line);
    json_text(json, "module", function->module ? profile->modules[function->module].path : NULL);
    json_address(json, "address", function->address);
}

/* ---- functions ------------------------------------------------------------------------------- */

static const char *state_of(const struct profile_path_function *function)
{
    if (function->reason > PROFILE_PATH_TRUNCATED)
        return "skipped";
    return function->reason == PROFILE_PATH_TRUNCATED   ? "truncated"
           : function->table_kind == PROFILE_TABLE_HASH ? "hashed"
                                                        : "whole";
}

/* Integers above 2^53 do not survive in many readers. */
static void potential_members(struct json *json, const struct profile_path_function *function)
{
    json_key(json, "potential_paths");
    if (function->potential && function->potential <= UINT64_C(1) << 53)
        fprintf(json->out, "%" PRIu64, function->potential);
    else
        json_raw(json, "null");
    json_decimal(json, "potential_log2", function->potential_log2, 9);
}

/* Blocks that some path runs through, once for all paths. */
static void block_object(struct json *json, const struct profile *profile,
                         const struct profile_path_block *block)
{
    const struct profile_path_line *lines = &profile->path_lines[block->first_line];
    json_begin_item(json);
    json_count(json, "block", block->block);
    json_address(json, "address", block->address);
    json_count(json, "instructions", block->instructions);
    json_count(json, "loads", block->loads);
    json_count(json, "stores", block->stores);
    json_begin(json, "lines", '[');
    for (uint32_t i = 0; i < block->lines; i++) {
        json_begin_item(json);
        json_text(json, "file", lines[i].file);
        line_member(json, lines[i].line);
        json_text(json, "inlined", lines[i].function);
        json_close(json, '}');
    }
    json_close(json, ']');
    json_close(json, '}');
}

/* Blocks stand function by function. */
static void blocks_member(struct json *json, const struct profile *profile, uint32_t id)
{
    size_t count = profile->path_blocks_count;
    const struct profile_path_block *blocks = profile->path_blocks;
    json_begin(json, "executed_blocks", '[');
    for (size_t at = BASE_FIRST(i, count, blocks[i].function >= id);
         at < count && blocks[at].function == id && !ferror(json->out); at++)
        block_object(json, profile, &blocks[at]);
    json_close(json, ']');
}

static void function_object(struct json *json, const struct paths_figures *figures, uint32_t id,
                            const struct paths_function *ran)
{
    static const struct paths_function none = {.class = PATHS_COLD};
    const struct profile_path_function *function = &figures->profile->path_functions[id];
    ran = ran ? ran : &none;
    json_begin_item(json);
    function_members(json, figures->profile, id);
    json_text(json, "state", state_of(function));
    json_text(json, "why", function->why);
    json_count(json, "blocks", function->blocks);
    json_count(json, "call_sites", function->call_sites);
    json_count(json, "inline_assembly", function->inline_assembly);
    potential_members(json, function);
    json_count(json, "executed_paths", ran->executed);
    metrics_member(json, figures, "metrics", ran->totals, false);
    metrics_member(json, figures, "share", ran->totals, true);
    json_text(json, "class", paths_class_names[ran->class]);
    blocks_member(json, figures->profile, id);
    json_close(json, '}');
}

/* Those that ran, most of the metric first; then the others. All of them: what did not run counts
 * too. */
static void functions_member(struct json *json, const struct paths_figures *figures)
{
    const struct profile *profile = figures->profile;
    json_begin(json, "functions", '[');
    for (size_t i = 0; i < figures->functions_count && !ferror(json->out); i++)
        function_object(json, figures, figures->functions[i].id, &figures->functions[i]);
    for (uint32_t id = 1, path = 0; id < profile->path_functions_count; id++) {
        bool ran = path < profile->paths_count && profile->paths[path].function == id;
        if (!ran)
            function_object(json, figures, id, NULL);
        while (path < profile->paths_count && profile->paths[path].function == id)
            path++;
    }
    json_close(json, ']');
}

/* ---- paths ----------------------------------------------------------------------------------- */

static void step_object(struct json *json, const struct profile *profile,
                        const struct profile_path_block *block)
{
    const struct profile_path_line *lines = &profile->path_lines[block->first_line];
    json_begin_item(json);
    json_text(json, "file", block->lines ? lines[0].file : NULL);
    line_member(json, block->lines ? lines[0].line : 0);
    json_count(json, "block", block->block);
    json_close(json, '}');
}

static void path_object(struct json *json, const struct paths_figures *figures, uint32_t id)
{
    const struct profile *profile = figures->profile;
    const struct profile_path *path = &profile->paths[id];
    double values[REPORT_METRICS];
    for (unsigned m = 0; m < REPORT_METRICS; m++)
        values[m] = paths_metric(path, (enum report_metric)m);
    json_begin_item(json);
    function_members(json, profile, path->function);
    json_count(json, "number", path->number);
    json_count(json, "count", path->count);
    json_text(json, "begins",
              path->flags & PROFILE_PATH_FROM_ROOT  ? "landing-pad"
              : path->flags & PROFILE_PATH_FROM_CUT ? "cut"
                                                    : "entry");
    json_text(json, "ends", path->flags & PROFILE_PATH_TO_CUT ? "cut" : "exit");
    json_begin(json, "blocks", '[');
    for (uint32_t i = 0; i < path->steps; i++)
        step_object(json, profile,
                    &profile->path_blocks[profile->path_steps[path->first_step + i].block]);
    json_close(json, ']');
    metrics_member(json, figures, "metrics", values, false);
    metrics_member(json, figures, "share", values, true);
    json_text(json, "class", paths_class_names[figures->classes[id]]);
    json_close(json, '}');
}

/* A loop body of a hundred blocks may have run in a hundred thousand ways: unasked for, that is a
 * gigabyte. */
enum { STEPS_UNASKED = 1 << 18 };

static void paths_member(struct json *json, const struct paths_figures *figures, unsigned limit)
{
    const struct profile *profile = figures->profile;
    size_t steps = 0;
    json_count(json, "paths_total", profile->paths_count);
    json_begin(json, "paths", '[');
    for (size_t i = 0; i < profile->paths_count && (limit == 0 || i < limit) && !ferror(json->out);
         i++) {
        steps += profile->paths[figures->ranked[i]].steps;
        if (limit == 0 && steps > STEPS_UNASKED)
            break;
        path_object(json, figures, figures->ranked[i]);
    }
    json_close(json, ']');
}

/* ---- summaries ------------------------------------------------------------------------------- */

static void classes_member(struct json *json, const struct paths_figures *figures)
{
    double all = figures->totals[figures->metric];
    double instructions = figures->totals[REPORT_INSTRUCTIONS];
    json_begin(json, "classes", '{');
    for (unsigned c = 0; c < PATHS_CLASSES; c++) {
        const struct paths_sum *sum = &figures->sums[c];
        json_begin(json, paths_class_names[c], '{');
        json_count(json, "paths", sum->paths);
        json_decimal(json, "paths_share", paths_share(sum->paths_metric, all), 9);
        json_decimal(json, "paths_instructions_share",
                     paths_share(sum->paths_instructions, instructions), 9);
        json_count(json, "functions", sum->procedures);
        json_decimal(json, "functions_share", paths_share(sum->procedures_metric, all), 9);
        json_decimal(json, "functions_instructions_share",
                     paths_share(sum->procedures_instructions, instructions), 9);
        json_decimal(json, "mean_paths",
                     paths_share((double)sum->procedure_paths, (double)sum->procedures), 9);
        json_close(json, '}');
    }
    json_close(json, '}');
}

static void coverage_members(struct json *json, const struct paths_figures *figures)
{
    json_begin(json, "coverage", '[');
    for (size_t i = 0; i < PATHS_THRESHOLDS; i++) {
        json_begin_item(json);
        json_decimal(json, "threshold", figures->thresholds[i].least, 9);
        json_count(json, "paths", figures->thresholds[i].paths);
        json_decimal(json, "share", figures->thresholds[i].covered, 9);
        json_close(json, '}');
    }
    json_close(json, ']');
    json_begin(json, "covering", '[');
    for (size_t i = 0; i < PATHS_COVERS; i++) {
        json_begin_item(json);
        json_decimal(json, "share", figures->covers[i].share, 9);
        json_count(json, "paths", figures->covers[i].paths);
        json_close(json, '}');
    }
    json_close(json, ']');
}

static void run_members(struct json *json, const struct paths_figures *figures)
{
    const struct profile_path_run *run =
        figures->profile->path_runs_count ? &figures->profile->path_runs[0] : NULL;
    json_text(json, "metric", paths_metric_names[figures->metric]);
    json_decimal(json, "hot", figures->hot, 9);
    json_known(json, "average_per_instruction", figures->density, figures->average, 15);
    metrics_member(json, figures, "totals", figures->totals, false);
    json_text(json, "event", run ? run->event : NULL);
    json_known(json, "cycles_per_read", run && run->cycles_per_read > 0,
               run ? run->cycles_per_read : 0, 15);
    json_known(json, "instrumented_time_share", figures->instrumented_time >= 0,
               figures->instrumented_time, 15);
    json_count(json, "lost_pieces", run ? run->lost_pieces : 0);
    if (run && run->cache_bytes) {
        json_begin(json, "cache", '{');
        json_count(json, "bytes", run->cache_bytes);
        json_count(json, "ways", run->cache_ways);
        json_count(json, "line_bytes", run->cache_line);
        json_close(json, '}');
    }
    json_begin(json, "instrumentation", '{');
    json_count(json, "instrumented", figures->instrumented);
    json_count(json, "truncated", figures->truncated);
    json_count(json, "hashed", figures->hashed);
    json_count(json, "skipped", figures->skipped);
    json_count(json, "inline_assembly", figures->assembly);
    json_close(json, '}');
}

/* ---- contexts -------------------------------------------------------------------------------- */

/* A chain is as deep as the program has functions, and a million vertices may share one. */
enum { CHAIN_MAX = 256, VERTICES_UNASKED = 1000 };

static void vertex_object(struct json *json, const struct paths_figures *figures, uint32_t id)
{
    const struct profile *profile = figures->profile;
    const struct profile_vertex *vertex = &profile->vertices[id];
    const struct paths_contexts *contexts = &figures->contexts;
    json_begin_item(json);
    json_count(json, "count", vertex->count);
    json_known(json, "instructions", vertex->instructions >= 0, vertex->instructions, 15);
    json_known(json, "cycles", vertex->cycles >= 0, vertex->cycles, 15);
    json_known(json, "misses", vertex->misses >= 0, vertex->misses, 15);
    json_decimal(json, "share",
                 paths_share(paths_vertex_metric(vertex, contexts->metric), contexts->total), 9);
    json_begin(json, "chain", '[');
    for (unsigned depth = 0; depth < CHAIN_MAX && id && paths_is_vertex(&profile->vertices[id]);
         depth++, id = profile->vertices[id].parent) {
        json_begin_item(json);
        function_members(json, profile, profile->vertices[id].function);
        json_key(json, "called_at_line");
        if (profile->vertices[id].site_line)
            fprintf(json->out, "%" PRIu32, profile->vertices[id].site_line);
        else
            json_raw(json, "null");
        json_close(json, '}');
    }
    json_close(json, ']');
    json_close(json, '}');
}

static void cct_member(struct json *json, const struct paths_figures *figures, unsigned limit)
{
    const struct paths_contexts *contexts = &figures->contexts;
    size_t most = limit ? limit : VERTICES_UNASKED;
    json_begin(json, "cct", '{');
    json_count(json, "nodes", contexts->nodes);
    json_count(json, "bytes", contexts->bytes);
    json_decimal(json, "mean_node_bytes", contexts->mean_node_bytes, 9);
    json_decimal(json, "mean_degree", contexts->mean_degree, 9);
    json_decimal(json, "height_mean", contexts->height_mean, 9);
    json_count(json, "height_max", contexts->height_max);
    json_count(json, "max_replication", contexts->max_replication);
    json_text(json, "most_replicated",
              figures->profile->path_functions[contexts->most_replicated].function);
    json_count(json, "call_sites", contexts->call_sites);
    json_count(json, "call_sites_used", contexts->call_sites_used);
    json_count(json, "call_sites_one_path", contexts->call_sites_one_path);
    json_text(json, "metric", paths_metric_names[contexts->metric]);
    json_count(json, "contexts_total", contexts->ranked_count);
    json_begin(json, "contexts", '[');
    for (size_t i = 0; i < contexts->ranked_count && i < most && !ferror(json->out); i++)
        vertex_object(json, figures, contexts->ranked[i]);
    json_close(json, ']');
    json_close(json, '}');
}

bool paths_json(struct json *json, const struct places *places,
                const struct report_options *options)
{
    struct paths_figures figures;
    if (!paths_are_in(places->profile))
        return true;
    if (!paths_figures(places->profile, options, &figures))
        return false;
    json_begin(json, "paths", '{');
    run_members(json, &figures);
    classes_member(json, &figures);
    coverage_members(json, &figures);
    functions_member(json, &figures);
    paths_member(json, &figures, options->limit);
    if (figures.contexts.nodes)
        cct_member(json, &figures, options->limit);
    json_close(json, '}');
    paths_figures_free(&figures);
    return true;
}
