// SPDX-License-Identifier: MIT
/* Loops in exports: each one stack, its function at its line, with its CPU time and what its ceiling would save of it at most. */
#include "ceiling/internal.h"
#include "export/samples.h"

static const struct walk_kind loops = {.name = "gap",
                                       .finding = "A loop waits for data.",
                                       .whole = "the time of loops above their ceiling",
                                       .mendable = true,
                                       .first_alone = true};

static const struct walk_kind *const kinds[] = {&loops, NULL};

/* In the order in which they are added, and written. */
enum { ABOVE_NS, LOOP_NS };

static uint32_t detail_of(struct walk *walk, const struct profile *profile,
                          const struct profile_ceiling_loop *row)
{
    char detail[256] = "";
    if (!profile_ceiling_known(row))
        return walk_string(walk, row->reason ? row->reason : "not measured");
    snprintf(detail, sizeof detail,
             "%.3g cycles an iteration, %.3g with its data in the first-level cache", row->cycles,
             row->l1_cycles);
    for (size_t v = 0; v < CEILING_VARIANTS; v++) {
        double cycles =
            ceiling_variant_cycles(row, ceiling_variant(profile, row, ceiling_variants[v].id));
        if (cycles >= 0)
            print_add(detail, sizeof detail, ", %.3g %s", cycles, ceiling_variants[v].name);
    }
    return walk_string(walk, detail);
}

static void add_samples(struct walk *walk, const struct profile *profile,
                        const struct export_options *options)
{
    (void)options;
    if (!profile->ceiling_runs_count || !profile->ceiling_loops_count)
        return;
    uint32_t metric = walk_add_metric(walk, "above_ceiling_ns", "nanoseconds",
                                      "of loops above their ceiling", ABOVE_NS);
    walk_add_metric(walk, "loop_ns", "nanoseconds", "CPU time in loops", LOOP_NS);
    for (size_t i = 0; i < profile->ceiling_loops_count; i++) {
        const struct profile_ceiling_loop *row = &profile->ceiling_loops[i];
        double ns = row->share * profile->ceiling_runs[0].cpu_ns;
        double values[] = {ns * ceiling_gap(row), ns};
        struct walk_sample sample = {.kind = &loops,
                                     .head = UINT32_MAX,
                                     .leaf = walk_add_place(walk, row->function, row->file,
                                                            walk_find_module(profile, row->module),
                                                            row->address, row->line, 0),
                                     .detail = detail_of(walk, profile, row),
                                     .metric = metric,
                                     .advice = ceiling_advice(profile, row),
                                     .count = 2};
        walk_add(walk, sample, values);
    }
}

const struct analysis_export ceiling_export = {.kinds = kinds, .samples = add_samples};
