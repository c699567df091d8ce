// SPDX-License-Identifier: MIT
/* Waste in exports. */
#include "export/samples.h"
#include "waste/internal.h"

/* In the order of enum profile_kind_id. */
static const struct walk_kind kinds[] = {
    [PROFILE_DEAD] = {.name = "dead-store",
                      .separator = "[overwrites the unread store of]",
                      .finding = "What was stored is overwritten before anything reads it.",
                      .mendable = true,
                      .first_alone = true},
    [PROFILE_SILENT] = {.name = "silent-store",
                        .separator = "[stores again the value of]",
                        .finding = "The value stored was already in memory.",
                        .mendable = true,
                        .first_alone = true},
    [PROFILE_LOAD] = {.name = "redundant-load",
                      .separator = "[loads again the value of]",
                      .finding = "The value loaded was loaded before and has not changed.",
                      .mendable = true,
                      .first_alone = true},
};

static const struct walk_kind *const all_kinds[] = {&kinds[PROFILE_DEAD], &kinds[PROFILE_SILENT],
                                                    &kinds[PROFILE_LOAD], &walk_sampled, NULL};

enum { WASTE_BYTES, USE_BYTES, TRAPS, SAMPLES, WASTE_METRICS };

static const char *const waste_names[PROFILE_REUSE][WASTE_METRICS] = {
    [PROFILE_DEAD] = {"dead_waste_bytes", "dead_use_bytes", "dead_traps", "dead_samples"},
    [PROFILE_SILENT] = {"silent_waste_bytes", "silent_use_bytes", "silent_traps", "silent_samples"},
    [PROFILE_LOAD] = {"load_waste_bytes", "load_use_bytes", "load_traps", "load_samples"},
};

static bool has_kind(const struct profile *profile, uint32_t kind)
{
    for (size_t i = 0; i < profile->kinds_count; i++)
        if (profile->kinds[i].kind == kind)
            return true;
    return false;
}

static void add_kind(struct walk *walk, const struct profile *profile, uint32_t kind)
{
    static const char *const units[WASTE_METRICS] = {"bytes", "bytes", "count", "count"};
    static const char *const what[WASTE_METRICS] = {"accesses that did nothing",
                                                    "accesses that did something",
                                                    "second accesses caught", "accesses sampled"};
    uint32_t metric = walk_add_metric(walk, waste_names[kind][0], units[0], what[0]);
    for (unsigned i = 1; i < WASTE_METRICS; i++)
        walk_add_metric(walk, waste_names[kind][i], units[i], what[i]);
    for (size_t i = 0; i < profile->pairs_count; i++) {
        const struct profile_pair *pair = &profile->pairs[i];
        double values[] = {pair->waste_bytes, pair->use_bytes,
                           (double)(pair->waste_traps + pair->use_traps)};
        if (pair->kind == kind)
            walk_add(walk,
                     (struct walk_sample){.kind = &kinds[kind],
                                          .first = pair->first,
                                          .second = pair->second,
                                          .head = UINT32_MAX,
                                          .leaf = UINT32_MAX,
                                          .metric = metric,
                                          .count = BASE_COUNT(values)},
                     values);
    }
    walk_add_sampled(walk, kind, metric + SAMPLES);
}

static void add_samples(struct walk *walk, const struct profile *profile,
                        const struct export_options *options)
{
    (void)options;
    for (uint32_t kind = 0; kind < BASE_COUNT(kinds); kind++)
        if (has_kind(profile, kind))
            add_kind(walk, profile, kind);
}

const struct analysis_export waste_export = {.kinds = all_kinds, .samples = add_samples};
