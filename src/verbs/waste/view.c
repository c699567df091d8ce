// SPDX-License-Identifier: MIT
/* Waste on the page. */
#include "view/tree.h"
#include "waste/internal.h"

static const char *const *find_tabs(const struct profile *profile)
{
    static const char *const pairs[] = {"pairs", NULL};
    return waste_is_in(profile) ? pairs : NULL;
}

static void add_metrics(struct json *json, const struct places *places, double *values)
{
    static const char *const names[PROFILE_REUSE][2] = {
        {"dead stores, at the store that is lost", "dead stores, at the store that overwrites"},
        {"silent stores, at the store before", "silent stores, at the store that changes nothing"},
        {"redundant loads, at the load before", "redundant loads, at the load that repeats it"}};
    const struct profile *profile = places->profile;
    for (uint32_t kind = 0; kind < PROFILE_REUSE; kind++)
        for (unsigned second = 2; second-- > 0;) {
            tree_clear(values, places->count);
            for (size_t i = 0; i < profile->pairs_count; i++) {
                const struct profile_pair *pair = &profile->pairs[i];
                if (pair->kind == kind)
                    values[places->place_of[second ? pair->second : pair->first]] +=
                        pair->waste_bytes;
            }
            tree_metric(json, names[kind][second], "bytes", values, places->count);
        }
}

const struct analysis_view waste_view = {.tabs = find_tabs, .metrics = add_metrics};
