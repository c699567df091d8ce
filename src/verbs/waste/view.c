// SPDX-License-Identifier: MIT
/* Waste on the page. */
#include "view/tree.h"
#include "waste/internal.h"

static const char *const *find_tabs(const struct profile *profile)
{
    static const char *const pairs[] = {"pairs", NULL};
    return waste_is_in(profile) ? pairs : NULL;
}

/* The kinds by what they waste. */
static void largest_first(const struct profile *profile, uint32_t kinds[PROFILE_REUSE])
{
    double waste[PROFILE_REUSE] = {0};
    for (size_t i = 0; i < profile->pairs_count; i++)
        if (profile->pairs[i].kind < PROFILE_REUSE)
            waste[profile->pairs[i].kind] += profile->pairs[i].waste_bytes;
    for (uint32_t kind = 0; kind < PROFILE_REUSE; kind++) {
        unsigned at = kind;
        for (; at && waste[kind] > waste[kinds[at - 1]]; at--)
            kinds[at] = kinds[at - 1];
        kinds[at] = kind;
    }
}

/* A sample's weight is an amount of nothing, its unit "share". */
static void add_metrics(struct json *json, const struct places *places, double *values)
{
    static const char *const names[PROFILE_REUSE][2] = {
        {"dead stores, at the store that is lost", "dead stores, at the store that overwrites"},
        {"silent stores, at the store before", "silent stores, at the store that changes nothing"},
        {"redundant loads, at the load before", "redundant loads, at the load that repeats it"}};
    const struct profile *profile = places->profile;
    uint32_t kinds[PROFILE_REUSE];
    largest_first(profile, kinds);
    for (unsigned i = 0; i < PROFILE_REUSE; i++)
        for (unsigned second = 2; second-- > 0;) {
            uint32_t kind = kinds[i];
            tree_clear(values, places->count);
            for (size_t p = 0; p < profile->pairs_count; p++) {
                const struct profile_pair *pair = &profile->pairs[p];
                if (pair->kind == kind)
                    values[places->place_of[second ? pair->second : pair->first]] +=
                        pair->waste_bytes;
            }
            tree_metric(json, names[kind][second], places->exact ? "bytes" : "share", values,
                        places->count);
        }
}

const struct analysis_view waste_view = {.tabs = find_tabs, .metrics = add_metrics};
