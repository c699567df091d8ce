// SPDX-License-Identifier: MIT
/* Dependences of loops as their source has them, and what became of them in the machine code: for people and as JSON. */
#include "limits/internal.h"

#include <string.h>

static const char *const kinds[] = {"FLOW", "ANTI", "OUTPUT"};
static const char *const kind_names[] = {"flow", "anti", "output"};
static const char *const roles[] = {"load", "compute", "store"};
/* As profiles have them. */
enum { IN_MEMORY, IN_REGISTER, GONE, ADDED };
static const char *const fate_names[] = {
    [IN_MEMORY] = "memory", [IN_REGISTER] = "register", [GONE] = "gone", [ADDED] = "added"};
static const char *const fate_words[] = {[IN_MEMORY] = "through memory",
                                         [IN_REGISTER] = "in a register",
                                         [GONE] = "gone",
                                         [ADDED] = "added"};

/* ---- for people -------------------------------------------------------------------------------------------- */

static void print_dependence(struct printer *printer, const struct profile_limit_dependence *row)
{
    char line[TEXT_BYTES] = "", from[TEXT_BYTES], to[TEXT_BYTES];
    name_clean(row->from_text, from, sizeof from);
    name_clean(row->to_text, to, sizeof to);
    print_add(line, sizeof line, "%s dependence between %.300s (line %u) and %.300s (line %u) ",
              kinds[row->kind], from, row->from_line, to, row->to_line);
    if (row->vector)
        print_add(line, sizeof line, "with vector %.200s", row->vector);
    else
        print_add(line, sizeof line, "through a register, distance %u", row->distance);
    fprintf(printer->out, "    -----> ");
    print_wrap(printer, PLAIN, 11, 11, line);
}

static void print_step(struct printer *printer, const struct profile_limit_step *row)
{
    static const char *const words[] = {"load", "", "store"};
    char text[TEXT_BYTES], numbers[48], line[32];
    name_clean(row->from_text, text, sizeof text);
    text[name_fitting(text, 44)] = 0;
    snprintf(numbers, sizeof numbers, "<%.4g, %u>", row->latency, row->distance);
    snprintf(line, sizeof line, "line %u", row->from_line);
    fprintf(printer->out, "      %-5s ", words[row->from_kind]);
    print_pad(printer, text, 44, false);
    fprintf(printer->out, " %s%-10s%s %s%s%s\n", print_on(printer, BOLD), numbers,
            print_off(printer), print_on(printer, DIM), line, print_off(printer));
}

static void print_source(struct printer *printer, uint32_t id)
{
    const struct profile *profile = printer->profile;
    const struct profile_limit_source *row = &profile->limit_sources[id];
    char name[NAME_BYTES], place[TEXT_BYTES], line[TEXT_BYTES] = "";
    name_shorten(row->function ? row->function : "the loop", 60, name);
    print_place(printer, row->file, row->line, place);
    print_add(line, sizeof line, "%s%s%s%s", name, place[0] ? " (" : "", place,
              place[0] ? ")" : "");
    if (row->reason)
        print_add(line, sizeof line, ": not known: %.2000s", row->reason);
    fprintf(printer->out, "\n  ");
    print_wrap(printer, row->reason ? PLAIN : BOLD, 2, 2, line);
    if (row->reason)
        return;
    size_t listed = 0;
    for (size_t i = 0; i < profile->limit_dependences_count; i++)
        if (profile->limit_dependences[i].source == id && ++listed)
            print_dependence(printer, &profile->limit_dependences[i]);
    if (!listed)
        fprintf(printer->out, "    no iteration depends on another\n");
    if (row->left_out) {
        line[0] = 0;
        print_add(line, sizeof line,
                  "Vectors leave out the %u outermost loop%s, and hold for any values of the "
                  "variables in subscripts: with these given by -D NAME=VALUE there are fewer.",
                  row->left_out, print_plural(row->left_out));
        fprintf(printer->out, "      ");
        print_wrap(printer, DIM, 6, 6, line);
    }
    if (row->circuit_latency <= 0) {
        fprintf(printer->out, "\n      critical circuit: none\n");
        return;
    }
    fprintf(printer->out, "\n      critical circuit: %.4g/%u, <latency, iterations>\n",
            row->circuit_latency, row->circuit_distance);
    for (size_t i = 0; i < profile->limit_steps_count; i++)
        if (profile->limit_steps[i].source == id)
            print_step(printer, &profile->limit_steps[i]);
}

void limits_print_sources(struct printer *printer)
{
    if (!printer->profile->limit_sources_count)
        return;
    fprintf(printer->out, "\n%sSource%s  dependences of the loop as it is written\n",
            print_on(printer, STRONG), print_off(printer));
    for (uint32_t i = 0; i < printer->profile->limit_sources_count; i++)
        print_source(printer, i);
}

static void print_fate(struct printer *printer, const struct profile_limit_fate *row)
{
    char line[TEXT_BYTES] = "", from[TEXT_BYTES], to[TEXT_BYTES];
    bool added = row->fate == ADDED;
    name_clean(row->from_text, from, sizeof from);
    name_clean(row->to_text, to, sizeof to);
    print_add(line, sizeof line, "%s, %.300s (line %u) and %.300s (line %u)", kinds[row->kind],
              from, row->from_line, to, row->to_line);
    if (row->distance || !added)
        print_add(line, sizeof line, ", distance %u", row->distance);
    if (row->may)
        print_add(line, sizeof line, ", if they overlap");
    fprintf(printer->out, "      %-15s ", fate_words[row->fate]);
    print_wrap(printer, PLAIN, 22, 22, line);
}

void limits_print_fates(struct printer *printer, const struct limits_loop *loop)
{
    char line[TEXT_BYTES] = "";
    if (!loop->match)
        return;
    print_add(line, sizeof line, "what became of the source's dependences");
    if (loop->match->iterations > 1)
        print_add(line, sizeof line, "; an iteration does %u of the source",
                  loop->match->iterations);
    fprintf(printer->out, "\n      ");
    print_wrap(printer, PLAIN, 6, 6, line);
    for (size_t i = 0; i < loop->fates_count; i++)
        print_fate(printer, &loop->fates[i]);
    if (!loop->fates_count)
        fprintf(printer->out, "      none to keep, and none was added through memory\n");
    if (loop->match->counters)
        fprintf(printer->out, "      %-15s %u through registers: counters and addresses\n", "added",
                loop->match->counters);
}

/* ---- JSON ---------------------------------------------------------------------------------------------------- */

static void end_member(struct json *json, const char *name, const char *text, uint32_t line,
                       uint32_t column)
{
    json_begin(json, name, '{');
    json_text(json, "text", text);
    json_count(json, "line", line);
    if (column)
        json_count(json, "column", column);
    json_close(json, '}');
}

static void dependences_member(struct json *json, const struct profile *profile, uint32_t id)
{
    json_begin(json, "dependences", '[');
    for (size_t i = 0; i < profile->limit_dependences_count; i++) {
        const struct profile_limit_dependence *row = &profile->limit_dependences[i];
        if (row->source != id)
            continue;
        json_begin_item(json);
        json_text(json, "kind", kind_names[row->kind]);
        end_member(json, "from", row->from_text, row->from_line, row->from_column);
        end_member(json, "to", row->to_text, row->to_line, row->to_column);
        json_text(json, "vector", row->vector);
        json_flag(json, "inner", row->inner);
        json_count(json, "distance", row->distance);
        json_close(json, '}');
    }
    json_close(json, ']');
}

static void steps_member(struct json *json, const struct profile *profile, uint32_t id)
{
    json_begin(json, "circuit", '[');
    for (size_t i = 0; i < profile->limit_steps_count; i++) {
        const struct profile_limit_step *row = &profile->limit_steps[i];
        if (row->source != id)
            continue;
        json_begin_item(json);
        json_text(json, "kind", roles[row->from_kind]);
        json_text(json, "text", row->from_text);
        json_count(json, "line", row->from_line);
        json_decimal(json, "latency", row->latency, 6);
        json_count(json, "distance", row->distance);
        json_close(json, '}');
    }
    json_close(json, ']');
}

void limits_sources_member(struct json *json, const struct profile *profile)
{
    json_begin(json, "sources", '[');
    for (uint32_t i = 0; i < profile->limit_sources_count; i++) {
        const struct profile_limit_source *row = &profile->limit_sources[i];
        json_begin_item(json);
        json_text(json, "function", row->function);
        json_text(json, "file", row->file);
        json_count(json, "line", row->line);
        json_text(json, "reason", row->reason);
        json_count(json, "loops_left_out", row->left_out);
        dependences_member(json, profile, i);
        json_decimal(json, "circuit_latency", row->circuit_latency, 6);
        json_count(json, "circuit_distance", row->circuit_distance);
        steps_member(json, profile, i);
        json_close(json, '}');
    }
    json_close(json, ']');
}

/* Null: the loop's source is not known. */
void limits_match_member(struct json *json, const struct limits_loop *loop)
{
    if (!loop->match) {
        json_key(json, "source");
        json_raw(json, "null");
        return;
    }
    json_begin(json, "source", '{');
    json_text(json, "function", loop->match->function);
    json_count(json, "line", loop->match->line);
    json_count(json, "iterations", loop->match->iterations);
    json_count(json, "counters", loop->match->counters);
    json_begin(json, "dependences", '[');
    for (size_t i = 0; i < loop->fates_count; i++) {
        const struct profile_limit_fate *row = &loop->fates[i];
        json_begin_item(json);
        json_text(json, "kind", kind_names[row->kind]);
        json_text(json, "fate", fate_names[row->fate]);
        end_member(json, "from", row->from_text, row->from_line, 0);
        end_member(json, "to", row->to_text, row->to_line, 0);
        json_count(json, "distance", row->distance);
        json_flag(json, "scalar", row->scalar);
        json_flag(json, "if_overlapping", row->may);
        json_close(json, '}');
    }
    json_close(json, ']');
    json_close(json, '}');
}
