// SPDX-License-Identifier: MIT
/* The member "ceiling" of the report, docs/formats/report.md. */
#include "ceiling/internal.h"

/* Empty if they are not known. */
static void quartiles_member(struct json *json, const char *name, bool known, double low,
                             double high)
{
    json_begin(json, name, '[');
    if (known) {
        json_item(json);
        json_number(json, low, 6);
        json_item(json);
        json_number(json, high, 6);
    }
    json_close(json, ']');
}

static void gap_members(struct json *json, const struct profile_ceiling_loop *row)
{
    json_known(json, "cycles", row->cycles >= 0, row->cycles, 6);
    json_known(json, "l1_cycles", row->l1_cycles >= 0, row->l1_cycles, 6);
    json_known(json, "l1_cycles_least", row->l1_least >= 0, row->l1_least, 6);
    json_known(json, "gap", profile_ceiling_known(row), row->gap, 6);
    quartiles_member(json, "gap_quartiles", profile_ceiling_known(row), row->gap_low,
                     row->gap_high);
    json_known(json, "iterations", row->turns >= 0, row->turns, 6);
}

static void variant_members(struct json *json, const struct profile *profile,
                            const struct profile_ceiling_loop *row)
{
    json_begin(json, "variants", '{');
    for (size_t v = 0; v < CEILING_VARIANTS; v++) {
        const struct profile_ceiling_variant *variant =
            ceiling_variant(profile, row, ceiling_variants[v].id);
        double cycles = ceiling_variant_cycles(row, variant),
               part = ceiling_variant_part(row, variant);
        if (!variant)
            continue;
        json_begin(json, ceiling_variants[v].id, '{');
        json_known(json, "cycles", cycles >= 0, cycles, 6);
        json_known(json, "part", part >= 0, part, 6);
        json_known(json, "of_l1", variant->ratio >= 0, variant->ratio, 6);
        quartiles_member(json, "of_l1_quartiles", variant->ratio >= 0, variant->ratio_low,
                         variant->ratio_high);
        json_count(json, "trials", variant->trials);
        json_text(json, "reason", variant->reason);
        json_close(json, '}');
    }
    json_close(json, '}');
}

static void loop_members(struct json *json, const struct profile *profile,
                         const struct profile_ceiling_loop *row)
{
    struct advice advice = ceiling_advice(profile, row);
    json_text(json, "function", row->function);
    json_text(json, "file", row->file);
    json_count(json, "line", row->line);
    json_text(json, "module", row->module);
    json_address(json, "address", row->address);
    json_decimal(json, "share", row->share, 6);
    json_count(json, "samples", row->samples);
    json_flag(json, "eligible", !row->reason);
    json_text(json, "reason", row->reason);
    json_text(json, "reason_id", row->reason_id);
    json_text(json, "reason_file", row->reason_file);
    json_count(json, "reason_line", row->reason_line);
    json_count(json, "instructions", row->instructions);
    json_count(json, "trials", row->trials);
    json_count(json, "trials_discarded", row->disturbed);
    gap_members(json, row);
    json_flag(json, "short", row->short_executions);
    variant_members(json, profile, row);
    json_advice(json, &advice);
}

bool ceiling_json(struct json *json, const struct places *places,
                  const struct report_options *options)
{
    const struct profile *profile = places->profile;
    size_t shown = profile->ceiling_loops_count;
    if (!profile->ceiling_runs_count)
        return true;
    const struct profile_ceiling_run *run = &profile->ceiling_runs[0];
    if (options->limit && shown > options->limit)
        shown = options->limit;
    json_begin(json, "ceiling", '{');
    json_known(json, "upper_bound", run->measured_ns > 0, ceiling_upper_bound(profile), 6);
    json_decimal(json, "cpu_s", run->cpu_ns / 1e9, 6);
    json_decimal(json, "innermost_s", run->innermost_ns / 1e9, 6);
    json_decimal(json, "eligible_s", run->eligible_ns / 1e9, 6);
    json_decimal(json, "measured_s", run->measured_ns / 1e9, 6);
    json_count(json, "named", run->named);
    json_begin(json, "loops", '[');
    for (size_t i = 0; i < shown; i++) {
        json_begin_item(json);
        loop_members(json, profile, &profile->ceiling_loops[i]);
        json_close(json, '}');
    }
    json_close(json, ']');
    json_close(json, '}');
    return true;
}
