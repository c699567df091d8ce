// SPDX-License-Identifier: MIT
/* The report for people: the place, its code beside its source, its variables; or of a whole file, where variables are, and which are not
   current. */
#include "map/internal.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { BAR_COLUMNS = 30, NAME_COLUMNS_MOST = 24, WHERE_COLUMNS = 24, STOPS_IN_TEXT = 6 };

static void heading(struct printer *printer, const char *text)
{
    fprintf(printer->out, "\n%s%s%s\n", print_on(printer, STRONG), text, print_off(printer));
}

static void sentence(struct printer *printer, const char *text)
{
    fprintf(printer->out, "  ");
    print_wrap(printer, PLAIN, 2, 2, text);
}

/* ---- the place --------------------------------------------------------------------------------------- */

static uint32_t nearest(const struct profile_map_run *run)
{
    if (!run->previous || !run->next)
        return run->previous ? run->previous : run->next;
    return run->line - run->previous <= run->next - run->line ? run->previous : run->next;
}

static const char *why_absent(const struct profile_map_run *run)
{
    switch (run->absence) {
    case PROFILE_MAP_OUTSIDE: return "it is before or after all lines with code";
    case PROFILE_MAP_DECLARATION: return "it is a declaration";
    case PROFILE_MAP_EMPTY: return "there is no statement on it";
    case PROFILE_MAP_CONTINUED: return "it is part of a statement that begins on a line before";
    default:
        return run->sources
                   ? "the compiler removed its statement, or merged it with another"
                   : "it is no statement, or the compiler removed it or merged it with another";
    }
}

static void print_absence(struct printer *printer, const struct profile_map_run *run)
{
    char line[TEXT_BYTES] = "";
    print_add(line, sizeof line, "No code comes from line %u: %s.", run->line, why_absent(run));
    print_add(line, sizeof line, " The nearest line with code is %u.", nearest(run));
    sentence(printer, line);
}

static void print_around(struct printer *printer, const struct profile_map_run *run)
{
    char line[TEXT_BYTES] = "";
    if (run->previous)
        print_add(line, sizeof line, "line %u is the previous one with code", run->previous);
    if (run->next)
        print_add(line, sizeof line, "%sline %u the next", line[0] ? ", " : "", run->next);
    if (line[0])
        fprintf(printer->out, "  %s%s%s\n", print_on(printer, DIM), line, print_off(printer));
}

static void print_place_of(struct printer *printer, const struct profile_map_run *run)
{
    char line[TEXT_BYTES] = "", asked[TEXT_BYTES], place[TEXT_BYTES];
    size_t instructions = printer->profile->map_instructions_count;
    name_clean(run->asked ? run->asked : "?", asked, sizeof asked);
    print_place(printer, run->file, run->line, place);
    print_add(line, sizeof line, "%s: %s%zu instruction%s in %" PRIu64 " range%s",
              place[0] ? place : asked,
              run->ranges > printer->profile->map_ranges_count ? "more than " : "", instructions,
              print_plural(instructions), run->ranges, print_plural(run->ranges));
    heading(printer, line);
    if (run->kind == PROFILE_MAP_LINE) {
        if (!run->ranges)
            print_absence(printer, run);
        print_around(printer, run);
    }
    if (run->measure)
        fprintf(printer->out, "  %son the left: share of the %s%s\n", print_on(printer, DIM),
                run->measure, print_off(printer));
    map_print_code(printer);
}

/* ---- variables ----------------------------------------------------------------------------------------- */

static unsigned widest(const struct printer *printer)
{
    unsigned most = 8;
    for (size_t i = 0; i < printer->profile->map_variables_count; i++) {
        const char *name = printer->profile->map_variables[i].name;
        unsigned columns = name ? name_columns(name) : 1;
        most = columns > most ? columns : most;
    }
    return most < NAME_COLUMNS_MOST ? most : NAME_COLUMNS_MOST;
}

static void where_of(const struct profile_map_variable *row, char *text, size_t bytes)
{
    char where[TEXT_BYTES];
    bool value = row->residence == PROFILE_MAP_COMPUTED && strcmp(row->where, "a calculation") != 0;
    name_clean(row->where, where, sizeof where);
    *text = 0;
    print_add(text, bytes, "%s%s", value ? "= " : "", where);
}

static void print_variable(struct printer *printer, const struct profile_map_variable *row,
                           unsigned columns)
{
    char name[TEXT_BYTES], where[TEXT_BYTES], remark[TEXT_BYTES] = "", type[TEXT_BYTES];
    name_clean(row->name ? row->name : "?", name, sizeof name);
    name[name_fitting(name, columns)] = 0;
    where_of(row, where, sizeof where);
    where[name_fitting(where, WHERE_COLUMNS)] = 0;
    fprintf(printer->out, "  ");
    print_pad(printer, name, columns, false);
    fprintf(printer->out, "  %s%-12s%s  ", print_on(printer, row->class ? BOLD : PLAIN),
            map_class_words[row->class], print_off(printer));
    print_pad(printer, where, WHERE_COLUMNS, false);
    if (row->reason && row->class != PROFILE_MAP_ABSENT) {
        print_add(remark, sizeof remark, "%s", row->reason);
    } else if (row->type) {
        name_clean(row->type, type, sizeof type);
        print_add(remark, sizeof remark, "%s", type);
    }
    if (row->shadowed)
        print_add(remark, sizeof remark, "; hidden by a nearer one");
    print_tail(printer, DIM, 2 + columns + 2 + 12 + 2 + WHERE_COLUMNS, 4, remark);
}

static void print_variables(struct printer *printer, const struct profile_map_run *run)
{
    const struct profile *profile = printer->profile;
    unsigned columns = widest(printer);
    const char *function = NULL;
    char line[TEXT_BYTES] = "";
    if (!run->address)
        return;
    print_add(line, sizeof line, "Variables where a debugger stops, at 0x%" PRIx64, run->address);
    if (run->shown)
        print_add(line, sizeof line, ", which it shows as line %u", run->shown);
    heading(printer, line);
    if (!profile->map_variables_count)
        sentence(printer, "None is in scope.");
    for (size_t i = 0; i < profile->map_variables_count; i++) {
        const struct profile_map_variable *row = &profile->map_variables[i];
        if (!i || !profile_same_text(row->function, function)) {
            char name[NAME_BYTES];
            function = row->function;
            name_shorten(function ? function : "of the file", 60, name);
            fprintf(printer->out, "  %s%s%s\n", print_on(printer, DIM), name, print_off(printer));
        }
        print_variable(printer, row, columns);
    }
}

/* ---- a whole file ---------------------------------------------------------------------------------------- */

static void print_share(struct printer *printer, const char *name, uint64_t bytes, uint64_t whole)
{
    char percent[32], bar[4 * PRINT_BAR + 1];
    double share = whole ? (double)bytes / (double)whole : 0;
    fprintf(printer->out, "    %-24s %8s  %s\n", name, print_percent(share, percent),
            print_bar(share, BAR_COLUMNS, bar));
}

static void print_coverage(struct printer *printer, const struct profile_map_run *run)
{
    const struct profile *profile = printer->profile;
    char line[TEXT_BYTES], known[32], whole[32];
    heading(printer, "Where variables are");
    snprintf(line, sizeof line,
             "%" PRIu64 " local variables and parameters, %" PRIu64
             " of them without any location; %s of the %s bytes of code in their scopes have one:",
             run->variables, run->unknown, print_grouped(run->known_bytes, known),
             print_grouped(run->scope_bytes, whole));
    sentence(printer, line);
    print_share(printer, "with a location", run->known_bytes, run->scope_bytes);
    for (size_t i = 0; i < profile->map_classes_count; i++)
        print_share(printer, map_residence_words[profile->map_classes[i].residence],
                    profile->map_classes[i].bytes, run->scope_bytes);
}

/* Was the line listed already? */
static bool is_listed(const struct profile_map_stop *stops, size_t index)
{
    for (size_t i = 0; i < index; i++)
        if (stops[i].line == stops[index].line)
            return true;
    return false;
}

static void print_finding(struct printer *printer, uint32_t index)
{
    const struct profile *profile = printer->profile;
    const struct profile_map_finding *finding = &profile->map_findings[index];
    char line[TEXT_BYTES] = "", name[NAME_BYTES], reason[TEXT_BYTES], lines[TEXT_BYTES] = "";
    size_t count, shown = 0;
    const struct profile_map_stop *stops = map_stops_of(profile, index, &count);
    name_shorten(finding->function ? finding->function : "?", 40, name);
    map_explain(finding, reason, sizeof reason);
    for (size_t i = 0; i < count && shown <= STOPS_IN_TEXT; i++) {
        if (is_listed(stops, i))
            continue;
        if (shown++ == STOPS_IN_TEXT)
            print_add(lines, sizeof lines, ", ...");
        else
            print_add(lines, sizeof lines, "%s%u", shown > 1 ? ", " : " ", stops[i].line);
    }
    print_add(line, sizeof line, "%s in %s: %s; not current when stopped on line%s%s",
              finding->variable, name, reason, print_plural(shown), lines);
    fprintf(printer->out, "    ");
    print_wrap(printer, PLAIN, 4, 6, line);
}

static size_t print_class(struct printer *printer, uint32_t class)
{
    const struct profile *profile = printer->profile;
    unsigned limit = printer->options->limit;
    size_t all = 0, shown = 0;
    for (size_t i = 0; i < profile->map_findings_count; i++)
        all += profile->map_findings[i].class == class;
    if (!all)
        return 0;
    fprintf(printer->out, "\n  %s%s%s  %zu\n", print_on(printer, BOLD), map_class_words[class],
            print_off(printer), all);
    for (uint32_t i = 0; i < profile->map_findings_count && (!limit || shown < limit); i++)
        if (profile->map_findings[i].class == class) {
            print_finding(printer, i);
            shown++;
        }
    if (shown < all) {
        fprintf(printer->out, "    and %zu more\n", all - shown);
        printer->next.cut = true;
    }
    return all;
}

static void print_findings_of_file(struct printer *printer, const struct profile_map_run *run)
{
    char line[TEXT_BYTES] = "";
    size_t found = 0;
    heading(printer, "Variables in memory that may not be current");
    print_add(line, sizeof line, "%" PRIu64 " assignments in %" PRIu64 " functions were examined.",
              run->assignments, run->functions);
    if (run->missing)
        print_add(line, sizeof line,
                  " %" PRIu64
                  " source file%s could not be read, or %s changed after the program was "
                  "built: what %s not known.",
                  run->missing, print_plural(run->missing), run->missing == 1 ? "was" : "were",
                  run->missing == 1 ? "it assigns is" : "they assign is");
    sentence(printer, line);
    for (uint32_t class = PROFILE_MAP_STALE; class <= PROFILE_MAP_SUSPECT; class ++)
        found += print_class(printer, class);
    if (!found)
        sentence(printer, "None was found.");
}

/* ---- the slots ------------------------------------------------------------------------------------------- */

static void narrow(struct printer *printer, const void *state)
{
    const struct profile *profile = printer->profile;
    (void)state;
    for (size_t i = 0; i < profile->map_ranges_count; i++)
        if (profile->map_ranges[i].file)
            print_narrow_file(printer, profile->map_ranges[i].file);
}

static bool describe(const struct printer *printer, char *line, size_t bytes)
{
    const struct profile_map_run *run = map_run_of(printer->profile);
    char producer[120] = "";
    if (!run)
        return false;
    if (run->producer) {
        name_clean(run->producer, producer, sizeof producer);
        char *options = strstr(producer, " -");
        if (options)
            *options = 0;
    }
    snprintf(line, bytes, "code of %.200s%s%s, nothing was run", run->module,
             producer[0] ? ", compiled by " : "", producer);
    return true;
}

static bool print_findings(struct printer *printer, void *state)
{
    const struct profile_map_run *run = map_run_of(printer->profile);
    (void)state;
    if (!run)
        return true;
    if (run->kind == PROFILE_MAP_FILE) {
        print_coverage(printer, run);
        print_findings_of_file(printer, run);
    } else {
        print_place_of(printer, run);
        print_variables(printer, run);
    }
    return true;
}

const struct analysis_text map_text = {
    .narrow = narrow,
    .describe = describe,
    .findings = print_findings,
};
