// SPDX-License-Identifier: MIT
/* The member "limits" of the report, docs/formats/report.md. */
#include "limits/internal.h"

static const char *const kinds[] = {"load", "compute", "store"};

static void bounds_member(struct json *json, const struct limits_loop *loop)
{
    const struct profile_limit_loop *row = loop->row;
    json_begin(json, "bounds", '{');
    json_decimal(json, "resource", row->resource, 6);
    json_decimal(json, "recurrence", row->recurrence, 6);
    json_decimal(json, "frontend", row->frontend, 6);
    json_known(json, "schedule", loop->schedules_count > 0,
               loop->schedules_count ? loop->schedules[0].units : 0, 6);
    json_decimal(json, "recurrence_most", row->recurrence_most, 6);
    json_decimal(json, "recurrence_if_aliased", row->aliased, 6);
    json_decimal(json, "slots", row->slots, 6);
    json_decimal(json, "taken_branches", row->branch, 6);
    json_close(json, '}');
}

static void ports_member(struct json *json, const struct limits_loop *loop)
{
    json_begin(json, "ports", '[');
    for (size_t i = 0; i < loop->resources_count; i++) {
        json_begin_item(json);
        json_text(json, "name", loop->resources[i].name);
        json_decimal(json, "copies", loop->resources[i].copies, 6);
        json_decimal(json, "cycles", loop->resources[i].cycles, 6);
        json_flag(json, "bottleneck", loop->resources[i].bottleneck);
        json_close(json, '}');
    }
    json_close(json, ']');
}

static void instruction_members(struct json *json, const struct profile_limit_instruction *row)
{
    json_address(json, "address", row->address);
    json_text(json, "instruction", row->text);
    json_text(json, "file", row->file);
    json_count(json, "line", row->line);
}

/* Each operation with the latency and the distance of the arc out of it. */
static void circuit_member(struct json *json, const struct limits_loop *loop)
{
    json_begin(json, "circuit", '[');
    for (size_t i = 0; i < loop->arcs_count; i++) {
        const struct profile_limit_arc *arc = &loop->arcs[i];
        json_begin_item(json);
        json_text(json, "kind", kinds[arc->from_kind]);
        json_count(json, "index", arc->from);
        instruction_members(json, &loop->instructions[arc->from]);
        json_decimal(json, "latency", arc->latency, 6);
        json_count(json, "distance", arc->distance);
        json_flag(json, "memory", arc->memory);
        json_close(json, '}');
    }
    json_close(json, ']');
}

static void instructions_member(struct json *json, const struct limits_loop *loop)
{
    json_begin(json, "instructions", '[');
    for (size_t i = 0; i < loop->instructions_count; i++) {
        json_begin_item(json);
        instruction_members(json, &loop->instructions[i]);
        json_decimal(json, "pressure", loop->instructions[i].pressure, 6);
        json_close(json, '}');
    }
    json_close(json, ']');
}

static void models_member(struct json *json, const struct limits_loop *loop)
{
    json_begin(json, "models", '[');
    for (size_t i = 0; i < loop->schedules_count; i++) {
        const struct profile_limit_schedule *row = &loop->schedules[i];
        json_begin_item(json);
        json_text(json, "memory", limits_memory_names[row->memory]);
        json_count(json, "loads", row->loads);
        json_count(json, "misses", row->misses);
        json_decimal(json, "data_flow", row->data_flow, 6);
        json_decimal(json, "units", row->units, 6);
        json_known(json, "machine", row->machine >= 0, row->machine, 6);
        json_close(json, '}');
    }
    json_close(json, ']');
}

static void operations_member(struct json *json, const struct limits_loop *loop)
{
    json_begin(json, "operations", '[');
    for (size_t i = 0; i < loop->operations_count; i++) {
        const struct profile_limit_operation *row = &loop->operations[i];
        json_begin_item(json);
        json_count(json, "iteration", row->iteration);
        json_text(json, "kind", kinds[row->kind]);
        json_text(json, "unit", row->unit);
        json_text(json, "instruction", row->text);
        json_text(json, "file", row->file);
        json_count(json, "line", row->line);
        json_decimal(json, "begins", row->start, 6);
        json_decimal(json, "ends", row->end, 6);
        json_close(json, '}');
    }
    json_close(json, ']');
}

/* What it executed, scheduled; null: nothing was seen to execute. */
static void schedule_member(struct json *json, const struct limits_loop *loop)
{
    const struct profile_limit_schedule *row = loop->schedules;
    if (!loop->schedules_count) {
        json_known(json, "schedule", false, 0, 6);
        return;
    }
    json_begin(json, "schedule", '{');
    json_count(json, "windows", row->windows);
    json_count(json, "iterations", row->iterations);
    json_count(json, "instructions", row->instructions);
    json_count(json, "inside", row->inside);
    models_member(json, loop);
    json_begin(json, "units", '[');
    for (size_t i = 0; i < loop->uses_count; i++) {
        json_begin_item(json);
        json_text(json, "name", loop->uses[i].name);
        json_decimal(json, "cycles", loop->uses[i].cycles, 6);
        json_decimal(json, "ratio", loop->uses[i].ratio, 6);
        json_close(json, '}');
    }
    json_close(json, ']');
    operations_member(json, loop);
    json_close(json, '}');
}

static void ceiling_members(struct json *json, const struct limits_loop *loop)
{
    const struct profile_ceiling_loop *tried = loop->ceiling;
    json_known(json, "l1_cycles", tried, tried ? tried->l1_cycles : 0, 6);
    json_known(json, "tried_cycles", tried, tried ? tried->cycles : 0, 6);
    json_known(json, "gap", tried, tried ? tried->gap : 0, 6);
}

static void loop_object(struct json *json, const struct limits_loop *loop)
{
    const struct profile_limit_loop *row = loop->row;
    char verdict[TEXT_BYTES];
    struct advice advice = limits_advice(loop);
    limits_verdict(loop, verdict, sizeof verdict);
    json_begin_item(json);
    json_text(json, "function", row->function);
    json_text(json, "file", row->file);
    json_count(json, "line", row->line);
    json_text(json, "module", row->module);
    json_address(json, "address", row->address);
    json_text(json, "level", row->level);
    bounds_member(json, loop);
    json_decimal(json, "certified", row->certified, 6);
    json_decimal(json, "predicted", row->predicted, 6);
    json_known(json, "measured", row->measured >= 0, row->measured, 6);
    json_known(json, "measured_error", row->measured >= 0, loop->error, 6);
    ceiling_members(json, loop);
    if (row->iterations)
        json_count(json, "iterations", row->iterations);
    else
        json_known(json, "iterations", false, 0, 6);
    json_known(json, "share", row->share >= 0, row->share, 6);
    json_text(json, "limit", limits_bound_names[loop->limit]);
    json_text(json, "next",
              limits_bound_names[loop->limit == LIMITS_MEMORY ? row->limit : row->next]);
    json_decimal(json, "next_cycles", loop->next_cycles, 6);
    json_count(json, "ways", row->ways);
    json_count(json, "calls", row->calls);
    json_count(json, "unknown", row->unknown);
    ports_member(json, loop);
    json_decimal(json, "circuit_latency", row->circuit_latency, 6);
    json_count(json, "circuit_distance", row->circuit_distance);
    json_flag(json, "circuit_used", row->circuit_used);
    circuit_member(json, loop);
    instructions_member(json, loop);
    schedule_member(json, loop);
    limits_match_member(json, loop);
    json_text(json, "verdict", verdict);
    json_advice(json, &advice);
    json_close(json, '}');
}

bool limits_json(struct json *json, const struct places *places,
                 const struct report_options *options)
{
    const struct profile *profile = places->profile;
    if (!profile->limit_runs_count)
        return true;
    struct limits_report *report = limits_report_make(profile);
    if (!report)
        return false;
    uint64_t frames = json->frames;
    json_begin(json, "limits", '{');
    json_text(json, "machine", profile->limit_runs[0].machine);
    json_text(json, "title", profile->limit_runs[0].title);
    json_text(json, "model", profile->limit_runs[0].measured ? "measured" : "table");
    json_known(json, "cycle_ns", profile->limit_runs[0].cycle_ns > 0,
               profile->limit_runs[0].cycle_ns, 6);
    json_count(json, "loops_total", report->count);
    json_count(json, "loops_not_listed", profile->limit_runs[0].other);
    json_known(json, "outside", profile->limit_runs[0].outside > 0, profile->limit_runs[0].outside,
               6);
    json_begin(json, "loops", '[');
    for (size_t i = 0; i < report->count && json_list_goes_on(json, frames, i, options->limit); i++)
        loop_object(json, &report->loops[i]);
    json_close(json, ']');
    limits_sources_member(json, profile);
    json_close(json, '}');
    limits_report_free(report);
    return true;
}
