// SPDX-License-Identifier: MIT
/* Transfers of cache lines in exports: between two places, whichever lines these moved. */
#include "export/samples.h"
#include "sharing/internal.h"

static const struct walk_kind false_sharing = {
    .name = "false-sharing",
    .separator = "[takes the cache line from]",
    .finding = "Threads take a cache line from each other of which they use different bytes.",
    .whole = "the transfers by false sharing",
    .mendable = true};
static const struct walk_kind true_sharing = {
    .name = "true-sharing",
    .separator = "[uses, in another thread, the bytes of]",
    .finding = "Threads take a cache line from each other of which they use the same bytes.",
    .whole = "the transfers by true sharing"};

static const struct walk_kind *const kinds[] = {&false_sharing, &true_sharing, NULL};

enum { FALSE_TRANSFERS, TRUE_TRANSFERS };

static void add_samples(struct walk *walk, const struct profile *profile,
                        const struct export_options *options)
{
    (void)options;
    if (!profile->shared_runs_count)
        return;
    uint32_t metric = walk_add_metric(walk, "false_transfers", "count",
                                      "transfers of cache lines by false sharing", FALSE_TRANSFERS);
    walk_add_metric(walk, "true_transfers", "count", "transfers of cache lines by true sharing",
                    TRUE_TRANSFERS);
    for (size_t i = 0; i < profile->shared_pairs_count; i++) {
        const struct profile_shared_pair *pair = &profile->shared_pairs[i];
        walk_add(walk,
                 (struct walk_sample){.kind = pair->is_true ? &true_sharing : &false_sharing,
                                      .first = pair->first,
                                      .second = pair->second,
                                      .head = UINT32_MAX,
                                      .leaf = UINT32_MAX,
                                      .metric = metric + (pair->is_true ? 1 : 0),
                                      .count = 1},
                 &pair->transfers);
    }
}

const struct analysis_export sharing_export = {.kinds = kinds, .samples = add_samples};
