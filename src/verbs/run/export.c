// SPDX-License-Identifier: MIT
/* CPU time for other tools: one stack a sample, as any profiler writes it. */
#include "run/internal.h"

static const struct walk_kind cpu_time = {
    .name = "cpu-time", .finding = "CPU time was spent here.", .counts = true};
static const struct walk_kind *const kinds[] = {&cpu_time, NULL};

static void add_samples(struct walk *walk, const struct profile *profile,
                        const struct export_options *options)
{
    (void)options;
    if (profile->times_count == 0)
        return;
    uint32_t metric = walk_add_metric(walk, "cpu_time", "nanoseconds", "CPU time in user mode", 0);
    walk_add_metric(walk, "cpu_samples", "count", "samples of the clock", WALK_EVIDENCE);
    for (size_t i = 0; i < profile->times_count; i++) {
        const struct profile_time *time = &profile->times[i];
        double values[] = {(double)time->ns, (double)time->ticks};
        walk_add(walk,
                 (struct walk_sample){.kind = &cpu_time,
                                      .first = time->context,
                                      .head = UINT32_MAX,
                                      .leaf = UINT32_MAX,
                                      .metric = metric,
                                      .count = BASE_COUNT(values)},
                 values);
    }
}

const struct analysis_export run_export = {.kinds = kinds, .samples = add_samples};
