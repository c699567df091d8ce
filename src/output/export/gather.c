// SPDX-License-Identifier: MIT
/* What each verb found as samples. Metrics come most telling first: the first that is not 0 is the
 * default one. */
#include "export/walk.h"

#include "sci/interference.h"
#include "show/interference.h"

#include <inttypes.h>

/* ---- waste ---------------------------------------------------------------------------------- */

enum { WASTE_BYTES, USE_BYTES, TRAPS, SAMPLES, WASTE_METRICS };

static const char *const waste_names[PROFILE_REUSE][WASTE_METRICS] = {
    [PROFILE_DEAD] = {"dead_waste_bytes", "dead_use_bytes", "dead_traps", "dead_samples"},
    [PROFILE_SILENT] = {"silent_waste_bytes", "silent_use_bytes", "silent_traps", "silent_samples"},
    [PROFILE_LOAD] = {"load_waste_bytes", "load_use_bytes", "load_traps", "load_samples"},
};

static bool has_kind(const struct profile *profile, uint32_t kind)
{
    for (size_t i = 0; i < profile->kinds_count; i++)
        if (profile->kinds[i].kind == kind)
            return true;
    return false;
}

static void add_sampled(struct walk *walk, uint32_t kind, uint32_t metric)
{
    for (size_t i = 0; i < walk->profile->sampled_count; i++) {
        const struct profile_sampled *sampled = &walk->profile->sampled[i];
        double value = (double)sampled->samples;
        if (sampled->kind == kind)
            walk_add(walk,
                     (struct walk_sample){.kind = WALK_SAMPLED,
                                          .first = sampled->context,
                                          .head = UINT32_MAX,
                                          .leaf = UINT32_MAX,
                                          .detail = walk_string(walk, profile_kind_names[kind]),
                                          .metric = metric,
                                          .count = 1},
                     &value);
    }
}

static void gather_waste(struct walk *walk, uint32_t kind)
{
    static const char *const units[WASTE_METRICS] = {"bytes", "bytes", "count", "count"};
    static const char *const what[WASTE_METRICS] = {"accesses that did nothing",
                                                    "accesses that did something",
                                                    "second accesses caught", "accesses sampled"};
    const struct profile *profile = walk->profile;
    uint32_t metric = (uint32_t)walk->metrics_count;
    for (unsigned i = 0; i < WASTE_METRICS; i++)
        walk_add_metric(walk, waste_names[kind][i], units[i], what[i]);
    for (size_t i = 0; i < profile->pairs_count; i++) {
        const struct profile_pair *pair = &profile->pairs[i];
        double values[] = {pair->waste_bytes, pair->use_bytes,
                           (double)(pair->waste_traps + pair->use_traps)};
        if (pair->kind == kind)
            walk_add(walk,
                     (struct walk_sample){.kind = (enum walk_kind)kind,
                                          .first = pair->first,
                                          .second = pair->second,
                                          .head = UINT32_MAX,
                                          .leaf = UINT32_MAX,
                                          .metric = metric,
                                          .count = BASE_COUNT(values)},
                     values);
    }
    add_sampled(walk, kind, metric + SAMPLES);
}

/* ---- reuse ---------------------------------------------------------------------------------- */

static void gather_reuse(struct walk *walk)
{
    const struct profile *profile = walk->profile;
    uint32_t metric = walk_add_metric(walk, "reuses", "count", "uses of data used before");
    walk_add_metric(walk, "time_distance", "accesses", "accesses between use and reuse, summed");
    walk_add_metric(walk, "stack_distance", "count",
                    "different locations between use and reuse, summed");
    walk_add_metric(walk, "seen", "count", "reuses that were seen");
    uint32_t samples = walk_add_metric(walk, "reuse_samples", "count", "accesses sampled");
    for (size_t i = 0; i < profile->reuse_pairs_count; i++) {
        const struct profile_reuse_pair *pair = &profile->reuse_pairs[i];
        double values[] = {pair->weight, pair->time, pair->stack, (double)pair->count};
        walk_add(walk,
                 (struct walk_sample){.kind = WALK_REUSE,
                                      .first = pair->use,
                                      .second = pair->reuse,
                                      .head = UINT32_MAX,
                                      .leaf = UINT32_MAX,
                                      .metric = metric,
                                      .count = BASE_COUNT(values)},
                 values);
    }
    add_sampled(walk, PROFILE_REUSE, samples);
}

/* ---- paths ---------------------------------------------------------------------------------- */

enum { PATH_NAME_BYTES = 160 };

/* "path 3: lines 12 15 17"; of a long path the beginning, as its number tells it apart. */
static void path_name(const struct profile *profile, const struct profile_path *path,
                      char out[PATH_NAME_BYTES])
{
    size_t used = (size_t)snprintf(out, PATH_NAME_BYTES, "path %" PRIu64, path->number);
    uint32_t last = 0;
    for (uint32_t i = 0; i < path->steps && used < PATH_NAME_BYTES; i++) {
        uint32_t id = profile->path_steps[path->first_step + i].block;
        const struct profile_path_block *block = &profile->path_blocks[id];
        uint32_t line = block->lines ? profile->path_lines[block->first_line].line : 0;
        if (line && line != last)
            used += (size_t)snprintf(out + used, PATH_NAME_BYTES - used, "%s%" PRIu32,
                                     last ? " " : ": lines ", line);
        last = line ? line : last;
    }
    if (used >= PATH_NAME_BYTES)
        memcpy(out + PATH_NAME_BYTES - 4, "...", 4);
}

static void gather_paths(struct walk *walk)
{
    const struct profile *profile = walk->profile;
    uint32_t metric = walk_add_metric(walk, "events", "count", "the chosen event");
    walk_add_metric(walk, "cycles", "cycles", "time stamp cycles, without callees");
    walk_add_metric(walk, "misses", "count", "simulated misses of the first-level data cache");
    walk_add_metric(walk, "instructions", "count", "instructions executed");
    walk_add_metric(walk, "loads", "count", "loads executed");
    walk_add_metric(walk, "stores", "count", "stores executed");
    walk_add_metric(walk, "count", "count", "executions of paths");
    for (size_t i = 0; i < profile->paths_count; i++) {
        const struct profile_path *path = &profile->paths[i];
        const struct profile_path_function *function = &profile->path_functions[path->function];
        double values[] = {path->events,        path->cycles,
                           path->misses,        (double)path->instructions,
                           (double)path->loads, (double)path->stores,
                           (double)path->count};
        char name[PATH_NAME_BYTES];
        path_name(profile, path, name);
        walk_add(walk,
                 (struct walk_sample){
                     .kind = WALK_PATH,
                     .head = walk_add_place(walk, function->function, function->file,
                                            function->module, function->address, function->line, 0),
                     .leaf = walk_add_name(walk, name, function->file, function->module),
                     .detail = walk_string(walk, name),
                     .metric = metric,
                     .count = BASE_COUNT(values)},
                 values);
    }
}

/* The tree's own metrics: those of its paths are in the paths'. */
static void gather_contexts(struct walk *walk)
{
    const struct profile *profile = walk->profile;
    uint32_t metric =
        walk_add_metric(walk, "context_cycles", "cycles", "the same, by calling context");
    walk_add_metric(walk, "context_misses", "count", "the same, by calling context");
    walk_add_metric(walk, "context_instructions", "count", "the same, by calling context");
    walk_add_metric(walk, "activations", "count", "calls, by calling context");
    for (uint32_t i = 1; i < profile->vertices_count; i++) {
        const struct profile_vertex *vertex = &profile->vertices[i];
        double values[] = {vertex->cycles, vertex->misses, vertex->instructions,
                           (double)vertex->count};
        /* A root's count is of threads. */
        if (vertex->function)
            walk_add(walk,
                     (struct walk_sample){.kind = WALK_CONTEXT,
                                          .vertices = true,
                                          .first = i,
                                          .head = UINT32_MAX,
                                          .leaf = UINT32_MAX,
                                          .metric = metric,
                                          .count = BASE_COUNT(values)},
                     values);
    }
}

/* ---- interference --------------------------------------------------------------------------- */

static uint32_t block_place(struct walk *walk, const struct profile_block *block)
{
    const struct profile_block_function *function =
        &walk->profile->block_functions[block->function];
    return walk_add_place(walk, function->function, function->file, function->module,
                          function->address, function->line, 0);
}

static uint32_t block_detail(struct walk *walk, const struct interference_figures *figures,
                             uint32_t block)
{
    char key[96], detail[160];
    interference_key(figures, block, key);
    snprintf(detail, sizeof detail, "cause: %s%s%s",
             interference_cause_names[figures->result->blocks[block].cause], *key ? "; " : "", key);
    return walk_string(walk, detail);
}

enum { OWN_LOST_NS, LOST_NS, TAKEN, WAITED_NS };

/* What the block lost goes to its stacks as what was lost in those that were taken. */
static void add_block(struct walk *walk, const struct interference_figures *figures, uint32_t block)
{
    const struct profile *profile = walk->profile;
    const struct interference_rows *rows = &figures->rows[block];
    const struct interference_score *score = &figures->result->blocks[block];
    struct walk_sample sample = {.kind = WALK_BLOCK,
                                 .head = UINT32_MAX,
                                 .leaf = block_place(walk, &profile->timed_blocks[block]),
                                 .detail = block_detail(walk, figures, block),
                                 .metric = OWN_LOST_NS,
                                 .count = 3};
    double all = 0, stacks = (double)(rows->stacks_end - rows->stacks);
    for (size_t i = rows->stacks; i < rows->stacks_end; i++)
        all += profile->block_stacks[i].lost_ns;
    for (size_t i = rows->stacks; i < rows->stacks_end; i++) {
        const struct profile_block_stack *stack = &profile->block_stacks[i];
        double share = all > 0 ? stack->lost_ns / all : 1 / stacks;
        double values[] = {share * score->own_ns, share * score->lost_ns, (double)stack->taken};
        sample.first = stack->context;
        walk_add(walk, sample, values);
    }
    double values[] = {score->own_ns, score->lost_ns, 0};
    if (rows->stacks == rows->stacks_end)
        walk_add(walk, sample, values);
}

static void add_holders(struct walk *walk, const struct interference_figures *figures,
                        uint32_t block)
{
    const struct profile *profile = walk->profile;
    const struct interference_rows *rows = &figures->rows[block];
    for (size_t i = rows->holders; i < rows->holders_end; i++) {
        const struct profile_block_holder *holder = &profile->block_holders[i];
        walk_add(walk,
                 (struct walk_sample){.kind = WALK_HOLDER,
                                      .first = holder->context,
                                      .head = block_place(walk, &profile->timed_blocks[block]),
                                      .leaf = UINT32_MAX,
                                      .detail = block_detail(walk, figures, block),
                                      .metric = WAITED_NS,
                                      .count = 1},
                 &holder->waited_ns);
    }
}

static void gather_interference(struct walk *walk)
{
    struct interference_figures figures;
    struct report_options options = {.least_executions = walk->options->least_executions};
    walk_add_metric(walk, "own_lost_ns", "nanoseconds", "lost, excluding what callees lost");
    walk_add_metric(walk, "lost_ns", "nanoseconds", "lost, including what callees lost");
    walk_add_metric(walk, "taken", "count", "stacks taken");
    walk_add_metric(walk, "waited_ns", "nanoseconds", "waited for a holder of the lock");
    if (!interference_figures(walk->profile, &options, &figures)) {
        walk->failed = true;
    } else {
        for (uint32_t i = 0; i < walk->profile->timed_blocks_count; i++) {
            /* What a sequence lost, its members lost. */
            if (figures.blocks[i].flags & SPANS_SEQUENCE)
                continue;
            add_block(walk, &figures, i);
            add_holders(walk, &figures, i);
        }
    }
    interference_figures_free(&figures);
}

/* ---- the verb ------------------------------------------------------------------------------- */

void walk_gather(struct walk *walk)
{
    const struct profile *profile = walk->profile;
    const char *verb = profile->run.verb;
    if (strcmp(verb, "interference") == 0)
        gather_interference(walk);
    for (uint32_t kind = 0; kind < PROFILE_REUSE; kind++)
        if (has_kind(profile, kind))
            gather_waste(walk, kind);
    if (strcmp(verb, "reuse") == 0 || profile->reuse_pairs_count)
        gather_reuse(walk);
    if (strcmp(verb, "paths") == 0) {
        gather_paths(walk);
        gather_contexts(walk);
    }
}
