// SPDX-License-Identifier: MIT
/* Paths on the page, and the tree of calling contexts that instrumented programs keep. */
#include "paths/internal.h"
#include "view/tree.h"

#include <stdlib.h>

static const char *const *find_tabs(const struct profile *profile)
{
    static const char *const tabs[] = {"paths", NULL};
    return paths_are_in(profile) ? tabs : NULL;
}

static bool has_tree(const struct profile *profile)
{
    return profile->vertices_count > 1;
}

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
        tree_metric(json, names[which], "count", values, profile->vertices_count);
    }
    bool any = json->comma;
    json_close(json, ']');
    return any;
}

static bool write_tree(struct json *json, const struct profile *profile, bool *any)
{
    double *values = calloc(profile->vertices_count, sizeof *values);
    if (!values)
        return false;
    json_begin(json, "frames", '[');
    tree_frame(json, "a thread or signal handler", NULL, 0, NULL, 0); /* function 0 */
    for (size_t i = 1; i < profile->path_functions_count && !ferror(json->out); i++) {
        const struct profile_path_function *function = &profile->path_functions[i];
        tree_frame(json, function->function, function->file, function->line,
                   profile->modules[function->module].path, 0);
    }
    json_close(json, ']');
    json_begin(json, "up", '[');
    for (size_t i = 1; i < profile->vertices_count; i++)
        tree_number(json, i - profile->vertices[i].parent);
    json_close(json, ']');
    json_begin(json, "frame", '[');
    for (size_t i = 1; i < profile->vertices_count; i++)
        tree_number(json, profile->vertices[i].function);
    json_close(json, ']');
    *any = vertex_metrics(json, profile, values);
    free(values);
    return true;
}

static void add_lines(struct page_lines *lines, const struct profile *profile)
{
    for (size_t i = 0; i < profile->path_lines_count; i++)
        page_add_line(lines, profile->path_lines[i].file, profile->path_lines[i].line);
    for (size_t i = 0; i < profile->path_functions_count; i++)
        page_add_line(lines, profile->path_functions[i].file, profile->path_functions[i].line);
}

const struct analysis_view paths_view = {
    .tabs = find_tabs, .has_tree = has_tree, .tree = write_tree, .lines = add_lines};
