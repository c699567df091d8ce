// SPDX-License-Identifier: MIT
/* Shared lines on the page. */
#include "sharing/internal.h"
#include "view/tree.h"

static const char *const *find_tabs(const struct profile *profile)
{
    static const char *const tabs[] = {"sharing", NULL};
    return profile->shared_runs_count ? tabs : NULL;
}

static void add_metric(struct json *json, const struct places *places, double *values, bool is_true)
{
    const struct profile *profile = places->profile;
    tree_clear(values, places->count);
    for (size_t i = 0; i < profile->shared_pairs_count; i++)
        if ((profile->shared_pairs[i].is_true != 0) == is_true)
            values[places->place_of[profile->shared_pairs[i].second]] +=
                profile->shared_pairs[i].transfers;
    tree_metric(json,
                is_true ? "true sharing, at the access that takes the line"
                        : "false sharing, at the access that takes the line",
                "count", values, places->count);
}

static void add_metrics(struct json *json, const struct places *places, double *values)
{
    add_metric(json, places, values, false);
    add_metric(json, places, values, true);
}

const struct analysis_view sharing_view = {.tabs = find_tabs, .metrics = add_metrics};
