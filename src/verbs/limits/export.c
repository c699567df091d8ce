// SPDX-License-Identifier: MIT
/* Loops in exports: each one stack, its function at its line, with its CPU time and what mending its limit would save of it. */
#include "export/samples.h"
#include "limits/internal.h"

static const struct walk_kind loops = {.name = "loop",
                                       .finding = "A loop takes longer than its next bound.",
                                       .whole = "the time of loops above their next bound",
                                       .mendable = true,
                                       .first_alone = true};

static const struct walk_kind *const kinds[] = {&loops, NULL};

/* In the order in which they are added, and written. */
enum { ABOVE_NS, LOOP_NS };

static uint32_t detail_of(struct walk *walk, const struct limits_loop *loop)
{
    const struct profile_limit_loop *row = loop->row;
    char detail[256];
    snprintf(detail, sizeof detail, "limit: %s; predicted %.3g cycles an iteration",
             limits_bound_names[loop->limit], row->predicted);
    if (row->measured >= 0)
        print_add(detail, sizeof detail, ", measured %.3g", row->measured);
    return walk_string(walk, detail);
}

static void add_loop(struct walk *walk, const struct profile *profile, uint32_t metric,
                     const struct limits_loop *loop)
{
    const struct profile_limit_loop *row = loop->row;
    double ns = row->share * limits_cpu_ns(profile);
    double values[] = {ns * limits_gain(loop), ns};
    struct walk_sample sample = {.kind = &loops,
                                 .head = UINT32_MAX,
                                 .leaf = walk_add_place(walk, row->function, row->file,
                                                        walk_find_module(profile, row->module),
                                                        row->address, row->line, 0),
                                 .detail = detail_of(walk, loop),
                                 .metric = metric,
                                 .advice = limits_advice(loop),
                                 .count = 2};
    if (row->share >= 0)
        walk_add(walk, sample, values);
}

static void add_samples(struct walk *walk, const struct profile *profile,
                        const struct export_options *options)
{
    (void)options;
    if (!profile->limit_loops_count || !profile->times_count)
        return;
    struct limits_report *report = limits_report_make(profile);
    uint32_t metric = walk_add_metric(walk, "above_next_bound_ns", "nanoseconds",
                                      "of loops above their next bound", ABOVE_NS);
    walk_add_metric(walk, "loop_ns", "nanoseconds", "CPU time in loops", LOOP_NS);
    if (!report)
        walk_fail(walk);
    for (size_t i = 0; report && i < report->count; i++)
        add_loop(walk, profile, metric, &report->loops[i]);
    limits_report_free(report);
}

const struct analysis_export limits_export = {.kinds = kinds, .samples = add_samples};
