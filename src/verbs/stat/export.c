// SPDX-License-Identifier: MIT
/* Times in exports: each region in the runs of a subject is one place, with the mean time of a run. */
#include "export/samples.h"
#include "stat/internal.h"

static const struct walk_kind times = {
    .name = "stat", .finding = "Runs were timed here.", .counts = true};
static const struct walk_kind *const kinds[] = {&times, NULL};

enum { MEAN_NS, VISITS };

static void add_row(struct walk *walk, const struct stat_report *report, const struct stat_row *row,
                    uint32_t metric)
{
    const struct profile_stat_region *region = &report->profile->stat_regions[row->region];
    char subject[512], name[800], interval[160];
    stat_subject_name(&report->profile->stat_subjects[row->subject], subject, sizeof subject);
    snprintf(name, sizeof name, "%.200s of %s", region->name, subject);
    snprintf(interval, sizeof interval, "median %.9g ns, 95 %% interval %.9g to %.9g ns, %zu runs",
             row->ns.median, row->ns.low, row->ns.high, row->count);
    double values[] = {row->ns.mean, row->visits};
    struct walk_sample sample = {.kind = &times,
                                 .head = UINT32_MAX,
                                 .leaf = walk_add_name(walk, name, NULL, 0),
                                 .detail = walk_string(walk, interval),
                                 .metric = metric,
                                 .count = BASE_COUNT(values)};
    walk_add(walk, sample, values);
}

static void add_samples(struct walk *walk, const struct profile *profile,
                        const struct export_options *options)
{
    (void)options;
    if (!profile->stat_sessions_count)
        return;
    struct stat_report *report = stat_report_make(profile);
    uint32_t metric =
        walk_add_metric(walk, "run_ns", "nanoseconds", "time of a run, mean", MEAN_NS);
    walk_add_metric(walk, "visits", "count", "visits in a run", VISITS);
    if (!report)
        walk_fail(walk);
    for (size_t i = 0; report && i < report->count; i++)
        add_row(walk, report, &report->rows[i], metric);
    stat_report_free(report);
}

const struct analysis_export stat_export = {.kinds = kinds, .samples = add_samples};
