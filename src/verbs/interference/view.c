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
    for (size_t i = 0; i < profile->block_stacks_count; i++)
        values[places->place_of[profile->block_stacks[i].context]] +=
            profile->block_stacks[i].lost_ns;
    tree_metric(json, "time lost to interference, where stacks were taken", "ns", values,
                places->count);
}

const struct analysis_view interference_view = {.tabs = find_tabs, .metrics = add_metrics};
