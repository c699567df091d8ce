// SPDX-License-Identifier: MIT
/* `headroom paths` (Ammons, Ball, Larus): which acyclic paths and calling contexts incur the cost?
 */
#include "paths/internal.h"

bool paths_are_in(const struct profile *profile)
{
    return analysis_find(profile->run.verb) == &paths_analysis;
}

static bool was_left(const struct analysis_log *log)
{
    return log->paths && !log->spans;
}

static const char *known(const char *text)
{
    return text ? text : "none";
}

static bool runs_clash(const struct profile *a, const struct profile *b, char *why,
                       size_t why_bytes)
{
    if (!a->path_runs_count || !b->path_runs_count)
        return false;
    const struct profile_path_run *left = a->path_runs, *right = b->path_runs;
    if (left->modes != right->modes)
        snprintf(why, why_bytes, "their programs do not count the same things");
    else if (left->cache_bytes != right->cache_bytes || left->cache_ways != right->cache_ways ||
             left->cache_line != right->cache_line)
        snprintf(why, why_bytes, "different caches were simulated");
    else if (!profile_same_text(left->event, right->event))
        snprintf(why, why_bytes, "different events were counted, %.60s and %.60s",
                 known(left->event), known(right->event));
    else
        return false;
    return true;
}

const struct analysis paths_analysis = {
    .name = "paths",
    .exact_unit = "instruction",
    .left = was_left,
    .clashes = runs_clash,
    .text = &paths_text,
    .json = paths_json,
    .compare = &paths_compare,
    .export = &paths_export,
    .view = &paths_view,
};
