// SPDX-License-Identifier: MIT
/* Lost time on the page. */
#include "interference/internal.h"
#include "view/tree.h"

static const char *const *find_tabs(const struct profile *profile)
{
    static const char *const tabs[] = {"blocks", NULL};
    return interference_is_in(profile) ? tabs : NULL;
}

static void add_metrics(struct json *json, const struct places *places, double *values)
{
    const struct profile *profile = places->profile;
    tree_clear(values, places->count);
    for (size_t i = 0; i < profile->span_stacks_count; i++)
        values[places->place_of[profile->span_stacks[i].context]] +=
            profile->span_stacks[i].lost_ns;
    tree_metric(json, "time lost to interference, where stacks were taken", "ns", values,
                places->count);
}

static void add_lines(struct page_lines *lines, const struct profile *profile)
{
    for (size_t i = 0; i < profile->span_functions_count; i++)
        page_add_line(lines, profile->span_functions[i].file, profile->span_functions[i].line);
}

const struct analysis_view interference_view = {
    .tabs = find_tabs, .metrics = add_metrics, .lines = add_lines};
