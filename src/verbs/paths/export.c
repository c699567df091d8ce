// SPDX-License-Identifier: MIT
/* Paths and calling contexts in exports. */
#include "export/samples.h"
#include "paths/internal.h"

#include <inttypes.h>
#include <string.h>

static const struct walk_kind paths = {.name = "path",
                                       .finding = "A path through a function was taken."};
static const struct walk_kind contexts = {.name = "context",
                                          .finding = "A function was called in this context."};

static const struct walk_kind *const kinds[] = {&paths, &contexts, NULL};

struct metric {
    const char *name, *unit, *what;
};

/* What paths are ranked by in reports comes first. */
static const struct metric metrics[] = {
    {"events", "count", "the chosen event"},
    {"cycles", "cycles", "time stamp cycles, without callees"},
    {"misses", "count", "simulated misses of the first-level data cache"},
    {"instructions", "count", "instructions executed"},
    {"loads", "count", "loads executed"},
    {"stores", "count", "stores executed"},
    {"count", "count", "executions of paths"},
};
static const struct metric context_metrics[] = {
    {"context_cycles", "cycles", "the same, by calling context"},
    {"context_misses", "count", "the same, by calling context"},
    {"context_instructions", "count", "the same, by calling context"},
    {"activations", "count", "calls, by calling context"},
};

/* In that order, from that rank on; the first one's index. */
static uint32_t add_metrics(struct walk *walk, const struct metric *added, size_t count,
                            uint32_t rank)
{
    uint32_t first = 0;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t index =
            walk_add_metric(walk, added[i].name, added[i].unit, added[i].what, rank + i);
        first = i ? first : index;
    }
    return first;
}

enum { PATH_NAME_BYTES = 160 };

/* "path 3: lines 12 15 17"; of a long path the beginning, as its number identifies it. */
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

static void add_paths(struct walk *walk, const struct profile *profile)
{
    uint32_t metric = add_metrics(walk, metrics, BASE_COUNT(metrics), 0);
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
                     .kind = &paths,
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
static void add_contexts(struct walk *walk, const struct profile *profile)
{
    uint32_t metric =
        add_metrics(walk, context_metrics, BASE_COUNT(context_metrics), BASE_COUNT(metrics));
    for (uint32_t i = 1; i < profile->vertices_count; i++) {
        const struct profile_vertex *vertex = &profile->vertices[i];
        double values[] = {vertex->cycles, vertex->misses, vertex->instructions,
                           (double)vertex->count};
        /* A root's count is of threads. */
        if (vertex->function)
            walk_add(walk,
                     (struct walk_sample){.kind = &contexts,
                                          .vertices = true,
                                          .first = i,
                                          .head = UINT32_MAX,
                                          .leaf = UINT32_MAX,
                                          .metric = metric,
                                          .count = BASE_COUNT(values)},
                     values);
    }
}

static void add_samples(struct walk *walk, const struct profile *profile,
                        const struct export_options *options)
{
    (void)options;
    if (!paths_are_in(profile))
        return;
    add_paths(walk, profile);
    add_contexts(walk, profile);
}

const struct analysis_export paths_export = {.kinds = kinds, .samples = add_samples};
