// SPDX-License-Identifier: MIT
/* CPU time on the page, one more metric of the tree; and what threads waited for. */
#include "run/internal.h"

static const char *const *find_tabs(const struct profile *profile)
{
    static const char *const tabs[] = {"waits", NULL};
    return profile->waits_count ? tabs : NULL;
}

static void add_metrics(struct json *json, const struct places *places, double *values)
{
    const struct profile *profile = places->profile;
    tree_clear(values, places->count);
    for (size_t i = 0; i < profile->times_count; i++)
        values[places->place_of[profile->times[i].context]] += (double)profile->times[i].ns;
    tree_metric(json, "CPU time", "ns", values, places->count);
}

static void add_lines(struct page_lines *lines, const struct profile *profile)
{
    for (size_t i = 0; i < profile->waits_count; i++)
        page_add_line(lines, profile->waits[i].file, profile->waits[i].line);
}

const struct analysis_view run_view = {
    .tabs = find_tabs, .metrics = add_metrics, .lines = add_lines};
