// SPDX-License-Identifier: MIT
/*
 * Times in comparisons of profiles: figures alone, each the median of a region in the runs of a subject with its interval. They are called
 * stat.REGION, and of further subjects stat.REGION.2 and so on: "stat.run", "stat.compress.2".
 */
#include "compare/findings.h"
#include "stat/internal.h"

#include <string.h>

static bool differ(const struct profile *before, const struct profile *after, char *error,
                   size_t error_bytes)
{
    if (!before->stat_sessions_count || !after->stat_sessions_count ||
        (profile_same_text(before->run.cpu, after->run.cpu) &&
         profile_same_text(before->run.host, after->run.host)))
        return false;
    snprintf(error, error_bytes, "their times were measured on different machines");
    return true;
}

static bool begin(const struct diff_side *side, struct diff_part *part)
{
    if (!side->profile->stat_sessions_count)
        return true;
    struct stat_report *report = stat_report_make(side->profile);
    part->state = report;
    return report != NULL;
}

static void add_findings(struct diff_side *side, const struct diff_part *part)
{
    (void)side, (void)part;
}

static void name_figure(const struct stat_report *report, const struct stat_row *row, char *name,
                        size_t bytes)
{
    const char *region = report->profile->stat_regions[row->region].name;
    if (row->subject)
        snprintf(name, bytes, "%.30s.%u", region, row->subject + 1);
    else
        snprintf(name, bytes, "%.36s", region);
}

static void set_band(const struct stat_row *row, struct diff_figure *figure)
{
    figure->band = true;
    figure->low = row->ns.low / 1e9;
    figure->high = row->ns.high / 1e9;
    figure->few = row->count < 6;
}

static void add_figures(struct diff_side *side, const struct diff_part *part)
{
    const struct stat_report *report = part->state;
    for (size_t i = 0; report && i < report->count; i++) {
        char name[48];
        name_figure(report, &report->rows[i], name, sizeof name);
        struct diff_figure *made =
            diff_add_figure(side, "stat.", name, DIFF_SECONDS, report->rows[i].ns.median / 1e9);
        if (made)
            set_band(&report->rows[i], made);
    }
}

const struct analysis_compare stat_compare = {
    .untested =
        "Medians of repeated runs: they differ if their 95 % intervals do not overlap. Runs "
        "interleaved in one session, 'headroom stat ... vs ...', show smaller differences.",
    .differ = differ,
    .begin = begin,
    .end = stat_report_free,
    .findings = add_findings,
    .figures = add_figures,
};
