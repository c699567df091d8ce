// SPDX-License-Identifier: MIT
/* Reuses in exports. */
#include "export/samples.h"
#include "reuse/internal.h"

static const struct walk_kind reuses = {.name = "reuse",
                                        .separator = "[uses again the data of]",
                                        .finding = "Data is used again.",
                                        .whole = "the reuses"};

static const struct walk_kind *const kinds[] = {&reuses, &walk_sampled, NULL};

/* Ranks: what is far costs, so distances come before the number of reuses, most of which are near. */
enum { TIME, STACK, REUSES };

static void add_samples(struct walk *walk, const struct profile *profile,
                        const struct export_options *options)
{
    (void)options;
    if (!profile->reuse_pairs_count && analysis_find(profile->run.verb) != &reuse_analysis)
        return;
    uint32_t metric = walk_add_metric(walk, "reuses", "count", "uses of data used before", REUSES);
    walk_add_metric(walk, "time_distance", "accesses", "accesses between use and reuse, summed",
                    TIME);
    walk_add_metric(walk, "stack_distance", "count",
                    "different locations between use and reuse, summed", STACK);
    walk_add_metric(walk, "seen", "count", "reuses that were seen", WALK_EVIDENCE);
    uint32_t samples =
        walk_add_metric(walk, "reuse_samples", "count", "accesses sampled", WALK_EVIDENCE);
    bool counted = profile_same_text(profile->run.engine, "exact");
    for (size_t i = 0; i < profile->reuse_pairs_count; i++) {
        const struct profile_reuse_pair *pair = &profile->reuse_pairs[i];
        double values[] = {pair->weight, pair->time, pair->stack, (double)pair->count};
        walk_add(walk,
                 (struct walk_sample){.kind = &reuses,
                                      .first = pair->use,
                                      .second = pair->reuse,
                                      .head = UINT32_MAX,
                                      .leaf = UINT32_MAX,
                                      .metric = metric,
                                      .count = BASE_COUNT(values),
                                      .seen = counted ? 0 : pair->count},
                 values);
    }
    walk_add_sampled(walk, PROFILE_REUSE, samples);
}

const struct analysis_export reuse_export = {.kinds = kinds, .samples = add_samples};
