// SPDX-License-Identifier: MIT
/* The member "ceiling" of the report, docs/formats/report.md. */
#include "ceiling/internal.h"

#include <inttypes.h>

static void number_or_null(struct json *json, const char *name, bool known, double value)
{
    json_key(json, name);
    if (known)
        json_number(json, value, 6);
    else
        json_raw(json, "null");
}

static void address_member(struct json *json, uint64_t address)
{
    char text[24];
    snprintf(text, sizeof text, "0x%" PRIx64, address);
    json_text(json, "address", text);
}

static void gap_members(struct json *json, const struct profile_ceiling_loop *row)
{
    number_or_null(json, "cycles", row->cycles >= 0, row->cycles);
    number_or_null(json, "l1_cycles", row->l1_cycles >= 0, row->l1_cycles);
    number_or_null(json, "l1_cycles_least", row->l1_least >= 0, row->l1_least);
    number_or_null(json, "gap", ceiling_known(row), row->gap);
    json_begin(json, "gap_quartiles", '[');
    if (ceiling_known(row)) {
        json_item(json);
        json_number(json, row->gap_low, 6);
        json_item(json);
        json_number(json, row->gap_high, 6);
    }
    json_close(json, ']');
    number_or_null(json, "iterations", row->turns >= 0, row->turns);
}

static void loop_members(struct json *json, const struct profile_ceiling_loop *row)
{
    struct advice advice = ceiling_advice(row);
    json_text(json, "function", row->function);
    json_text(json, "file", row->file);
    json_count(json, "line", row->line);
    json_text(json, "module", row->module);
    address_member(json, row->address);
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
    if (run->measured_ns > 0) {
        json_decimal(json, "upper_bound", ceiling_upper_bound(profile), 6);
    } else {
        json_key(json, "upper_bound");
        json_raw(json, "null");
    }
    json_decimal(json, "cpu_s", run->cpu_ns / 1e9, 6);
    json_decimal(json, "innermost_s", run->innermost_ns / 1e9, 6);
    json_decimal(json, "eligible_s", run->eligible_ns / 1e9, 6);
    json_decimal(json, "measured_s", run->measured_ns / 1e9, 6);
    json_begin(json, "loops", '[');
    for (size_t i = 0; i < shown; i++) {
        json_begin_item(json);
        loop_members(json, &profile->ceiling_loops[i]);
        json_close(json, '}');
    }
    json_close(json, ']');
    json_close(json, '}');
    return true;
}
