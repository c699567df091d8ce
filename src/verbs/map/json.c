// SPDX-License-Identifier: MIT
/* The member "map" of the report, docs/formats/report.md. */
#include "map/internal.h"

#include <string.h>

/* "a; b" as an array. */
static void chain_member(struct json *json, const char *chain)
{
    json_begin(json, "inlined_into", '[');
    while (chain && *chain) {
        const char *end = strstr(chain, "; ");
        char part[TEXT_BYTES];
        snprintf(part, sizeof part, "%.*s", (int)(end ? end - chain : (ptrdiff_t)strlen(chain)),
                 chain);
        json_item(json);
        json_quote(json, part);
        chain = end ? end + 2 : NULL;
    }
    json_close(json, ']');
}

static void range_object(struct json *json, const struct profile_map_range *range)
{
    json_begin_item(json);
    json_text(json, "file", range->file);
    json_count(json, "line", range->line);
    json_count(json, "column", range->column);
    json_address(json, "start", range->start);
    json_address(json, "end", range->end);
    json_text(json, "function", range->function);
    chain_member(json, range->chain);
    json_count(json, "discriminator", range->discriminator);
    json_count(json, "view", range->view);
    json_flag(json, "statement", range->statement);
    json_count(json, "loop_depth", range->depth);
    json_text(json, "copy", map_copy_names[range->copy]);
    json_known(json, "heat", range->heat >= 0, range->heat, 6);
    json_close(json, '}');
}

static void instruction_object(struct json *json, const struct profile_map_instruction *row)
{
    json_begin_item(json);
    json_address(json, "address", row->address);
    json_text(json, "instruction", row->text);
    json_text(json, "file", row->file);
    json_count(json, "line", row->line);
    json_known(json, "heat", row->heat >= 0, row->heat, 6);
    json_close(json, '}');
}

static void variable_object(struct json *json, const struct profile_map_variable *row)
{
    json_begin_item(json);
    json_text(json, "name", row->name);
    json_text(json, "type", row->type);
    json_text(json, "scope", row->function);
    json_count(json, "declared", row->declared);
    json_text(json, "class", map_class_names[row->class]);
    json_text(json, "residence", map_residence_names[row->residence]);
    json_text(json, "where", row->where);
    json_text(json, "reason", row->reason);
    json_count(json, "assigned", row->assigned);
    json_flag(json, "shadowed", row->shadowed);
    json_close(json, '}');
}

static void finding_object(struct json *json, const struct profile *profile, uint32_t index)
{
    const struct profile_map_finding *finding = &profile->map_findings[index];
    struct advice advice = map_advice(finding);
    char reason[TEXT_BYTES];
    size_t count;
    const struct profile_map_stop *stops = map_stops_of(profile, index, &count);
    map_explain(finding, reason, sizeof reason);
    json_begin_item(json);
    json_text(json, "function", finding->function);
    json_text(json, "variable", finding->variable);
    if (finding->address)
        json_address(json, "address", finding->address);
    else
        json_text(json, "address", NULL);
    json_text(json, "class", map_class_names[finding->class]);
    json_flag(json, "premature", finding->early);
    json_text(json, "file", finding->file);
    json_count(json, "line", finding->line);
    json_text(json, "reason", reason);
    json_begin(json, "stops", '[');
    for (size_t i = 0; i < count; i++) {
        json_begin_item(json);
        json_address(json, "address", stops[i].address);
        json_text(json, "file", stops[i].file);
        json_count(json, "line", stops[i].line);
        json_close(json, '}');
    }
    json_close(json, ']');
    json_advice(json, &advice);
    json_close(json, '}');
}

static void place_members(struct json *json, const struct profile_map_run *run)
{
    static const char *const kinds[] = {"file", "line", "function", "address"};
    json_text(json, "module", run->module);
    json_text(json, "asked", run->asked);
    json_text(json, "kind", kinds[run->kind]);
    json_text(json, "producer", run->producer);
    json_text(json, "file", run->file);
    json_count(json, "line", run->line);
    json_text(json, "code", map_absence_names[run->absence]);
    json_count(json, "previous", run->previous);
    json_count(json, "next", run->next);
    json_address(json, "stop", run->address);
    json_count(json, "shown", run->shown);
    json_text(json, "heat_of", run->measure);
    json_count(json, "ranges_total", run->ranges);
}

static void coverage_member(struct json *json, const struct profile *profile)
{
    const struct profile_map_run *run = map_run_of(profile);
    json_begin(json, "coverage", '{');
    json_count(json, "variables", run->variables);
    json_count(json, "without_location", run->unknown);
    json_count(json, "scope_bytes", run->scope_bytes);
    json_count(json, "known_bytes", run->known_bytes);
    json_begin(json, "bytes", '{');
    for (size_t i = 0; i < profile->map_classes_count; i++)
        json_count(json, map_residence_names[profile->map_classes[i].residence],
                   profile->map_classes[i].bytes);
    json_close(json, '}');
    json_count(json, "functions", run->functions);
    json_count(json, "assignments", run->assignments);
    json_count(json, "sources_read", run->sources);
    json_count(json, "sources_missing", run->missing);
    json_close(json, '}');
}

static bool goes_on(const struct report_options *options, size_t index)
{
    return !options->limit || index < options->limit;
}

bool map_json(struct json *json, const struct places *places, const struct report_options *options)
{
    const struct profile *profile = places->profile;
    const struct profile_map_run *run = map_run_of(profile);
    if (!run)
        return true;
    json_begin(json, "map", '{');
    place_members(json, run);
    json_begin(json, "ranges", '[');
    for (size_t i = 0; i < profile->map_ranges_count; i++)
        range_object(json, &profile->map_ranges[i]);
    json_close(json, ']');
    json_begin(json, "instructions", '[');
    for (size_t i = 0; i < profile->map_instructions_count; i++)
        instruction_object(json, &profile->map_instructions[i]);
    json_close(json, ']');
    json_begin(json, "variables", '[');
    for (size_t i = 0; i < profile->map_variables_count; i++)
        variable_object(json, &profile->map_variables[i]);
    json_close(json, ']');
    if (run->kind == PROFILE_MAP_FILE)
        coverage_member(json, profile);
    json_begin(json, "findings", '[');
    for (uint32_t i = 0; i < profile->map_findings_count && goes_on(options, i); i++)
        finding_object(json, profile, i);
    json_close(json, ']');
    json_close(json, '}');
    return true;
}
