// SPDX-License-Identifier: MIT
/* Variables that are not current in exports: each one stack, the function at the line of the assignment, with its stop points. */
#include "export/samples.h"
#include "map/internal.h"

static const struct walk_kind stale = {.name = "stale-variable",
                                       .finding = "A debugger may show an old value of a variable.",
                                       .mendable = true};
static const struct walk_kind premature = {
    .name = "premature-variable",
    .finding = "A debugger may show a value of a variable that is assigned only later.",
    .mendable = true};

static const struct walk_kind *const kinds[] = {&stale, &premature, NULL};

static void add_finding(struct walk *walk, const struct profile *profile, uint32_t metric,
                        uint32_t index)
{
    const struct profile_map_finding *row = &profile->map_findings[index];
    char reason[TEXT_BYTES], detail[2 * TEXT_BYTES];
    size_t count;
    const struct profile_map_stop *stops = map_stops_of(profile, index, &count);
    map_explain(row, reason, sizeof reason);
    snprintf(detail, sizeof detail, "%.200s is %s: %s", row->variable, map_class_words[row->class],
             reason);
    struct walk_sample sample = {.kind = row->early ? &premature : &stale,
                                 .head = UINT32_MAX,
                                 .leaf = walk_add_place(walk, row->function, row->file, 0,
                                                        count ? stops[0].address : 0, row->line, 0),
                                 .detail = walk_string(walk, detail),
                                 .metric = metric,
                                 .row = index,
                                 .advice = map_advice(row),
                                 .count = 1};
    double values[] = {(double)count};
    walk_add(walk, sample, values);
}

static void add_samples(struct walk *walk, const struct profile *profile,
                        const struct export_options *options)
{
    (void)options;
    if (!profile->map_findings_count)
        return;
    uint32_t metric = walk_add_metric(walk, "stop_points", "count",
                                      "stop points at which a variable is not current", 0);
    for (uint32_t i = 0; i < profile->map_findings_count; i++)
        add_finding(walk, profile, metric, i);
}

const struct analysis_export map_export = {.kinds = kinds, .samples = add_samples};
