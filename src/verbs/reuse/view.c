// SPDX-License-Identifier: MIT
/* Reuses on the page. */
#include "reuse/internal.h"
#include "view/tree.h"

static const char *const *find_tabs(const struct profile *profile)
{
    static const char *const tabs[] = {"pairs", "reuse", NULL};
    return profile->reuses_count ? tabs : NULL;
}

/* What is far costs: distances come before the number of reuses, most of which are near. */
static void add_metrics(struct json *json, const struct places *places, double *values)
{
    const struct profile *profile = places->profile;
    size_t count = places->count;
    tree_clear(values, count);
    for (size_t i = 0; i < profile->reuse_pairs_count; i++)
        values[places->place_of[profile->reuse_pairs[i].reuse]] += profile->reuse_pairs[i].time;
    tree_metric(json, "time distance, at the reuse", "accesses", values, count);
    tree_clear(values, count);
    for (size_t i = 0; i < profile->reuse_pairs_count; i++)
        values[places->place_of[profile->reuse_pairs[i].use]] += profile->reuse_pairs[i].time;
    tree_metric(json, "time distance, at the use before", "accesses", values, count);
    tree_clear(values, count);
    for (size_t i = 0; i < profile->reuse_pairs_count; i++)
        values[places->place_of[profile->reuse_pairs[i].reuse]] += profile->reuse_pairs[i].weight;
    tree_metric(json, "reuses, at the reuse", "count", values, count);
}

static void add_lines(struct page_lines *lines, const struct profile *profile)
{
    for (size_t i = 0; i < profile->loops_count; i++)
        page_add_line(lines, profile->loops[i].file, profile->loops[i].line);
}

const struct analysis_view reuse_view = {
    .tabs = find_tabs, .metrics = add_metrics, .lines = add_lines};
