// SPDX-License-Identifier: MIT
/* The report for people: each nest with its totals by cache, its references, and what takes their lines; a sweep as a table. */
#include "locality/internal.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

enum { PAIRS_SHOWN = 5, REFERENCE_BYTES = NAME_BYTES + 24 };

static void print_levels(struct printer *printer)
{
    const struct profile *profile = printer->profile;
    char size[32], name[NAME_BYTES];
    fprintf(printer->out, "    caches   ");
    for (size_t i = 0; i < profile->locality_levels_count; i++) {
        const struct profile_locality_level *level = &profile->locality_levels[i];
        name_clean(level->name, name, sizeof name);
        fprintf(printer->out, "%s%s %s, ", i ? "; " : "", name, print_size(level->bytes, size));
        if (level->ways)
            fprintf(printer->out, "%u way%s", level->ways, print_plural(level->ways));
        else
            fprintf(printer->out, "fully associative");
        if (level->line_bytes != 64)
            fprintf(printer->out, ", %u-byte lines", level->line_bytes);
    }
    fprintf(printer->out, "\n");
}

static void print_arrays(struct printer *printer, uint32_t nest)
{
    const struct profile *profile = printer->profile;
    const struct locality_rows rows = locality_arrays_of(profile, nest);
    char line[TEXT_BYTES] = "", clean[TEXT_BYTES], size[32];
    for (size_t i = rows.first; i < rows.end; i++) {
        const struct profile_locality_array *array = &profile->locality_arrays[i];
        if (array->size_bytes)
            print_add(line, sizeof line, "%s%.60s %s", line[0] ? ", " : "", array->name,
                      print_bytes((double)array->size_bytes, size));
    }
    print_add(line, sizeof line, "; %s", locality_run_of(profile)->placed);
    name_clean(line, clean, sizeof clean);
    fprintf(printer->out, "    arrays   ");
    print_wrap(printer, PLAIN, 13, 13, clean);
}

static const char *percent(double ratio, char out[32])
{
    snprintf(out, 32, ratio > 0 && ratio < 0.00005 ? "<0.01 %%" : "%.2f %%", 100 * ratio);
    return out;
}

static void print_simulated(struct printer *printer, const struct profile_locality_figure *total,
                            double accesses)
{
    double exact = total->simulated;
    char count[32], ratio[32];
    if (exact < 0)
        return;
    fprintf(printer->out, "    %-6s %18s simulated  %6s%s\n", "",
            print_grouped((uint64_t)exact, count), percent(exact / accesses, ratio),
            exact >= total->low - 0.5 && exact <= total->high + 0.5 ? "  within the interval"
                                                                    : "  outside the interval");
}

static void print_total(struct printer *printer, uint32_t nest, uint32_t level)
{
    const struct profile *profile = printer->profile;
    const struct profile_locality_figure *total = locality_total(profile, nest, level);
    double accesses = fmax(1, (double)profile->locality_nests[nest].accesses);
    char count[32], ratio[32], low[32], high[32], name[NAME_BYTES];
    name_clean(profile->locality_levels[level].name, name, sizeof name);
    fprintf(printer->out, "    %-6s %18s misses  %9s", name,
            print_grouped((uint64_t)llround(total->misses), count),
            percent(total->misses / accesses, ratio));
    if (total->exact)
        fprintf(printer->out, "  every access simulated");
    else
        fprintf(printer->out, "  between %s and %s", percent(total->low / accesses, low),
                percent(total->high / accesses, high));
    fprintf(printer->out, "\n");
    print_simulated(printer, total, accesses);
}

static const char *share(double part, double all, char out[32])
{
    if (all <= 0)
        snprintf(out, 32, "-");
    else
        snprintf(out, 32, "%.0f %%", 100 * part / all);
    return out;
}

static void print_reference(struct printer *printer, uint32_t index)
{
    const struct profile *profile = printer->profile;
    const struct profile_locality_reference *reference = &profile->locality_references[index];
    const struct profile_locality_figure *first = locality_miss(profile, index, 0);
    double accesses = fmax(1, (double)reference->accesses);
    char place[64], name[NAME_BYTES], count[32], ratio[32];
    char cold[32], capacity[32], conflict[32];
    snprintf(place, sizeof place, "%u:%u", reference->line, reference->column);
    name_clean(reference->text, name, sizeof name);
    name[name_fitting(name, 10)] = 0;
    fprintf(printer->out, "    %-6s %-5s ", reference->line ? place : "?",
            reference->store ? "store" : "load");
    print_pad(printer, name, 10, false);
    fprintf(printer->out, " %9s %8s", print_quantity((double)reference->accesses, count),
            percent(first->misses / accesses, ratio));
    fprintf(printer->out, " %5s %5s %5s", share(first->cold, first->misses, cold),
            share(first->capacity, first->misses, capacity),
            share(first->conflict, first->misses, conflict));
    for (uint32_t i = 1; i < profile->locality_levels_count; i++)
        fprintf(printer->out, " %8s",
                percent(locality_miss(profile, index, i)->misses / accesses, ratio));
    fprintf(printer->out, "%s\n", reference->conditional ? " may be" : "");
}

static void print_references(struct printer *printer, uint32_t nest)
{
    const struct profile *profile = printer->profile;
    const struct locality_rows rows = locality_references_of(profile, nest);
    char name[NAME_BYTES];
    fprintf(printer->out, "\n    %s%-6s %-5s %-10s %9s", print_on(printer, BOLD), "at", "", "array",
            "accesses");
    for (size_t i = 0; i < profile->locality_levels_count; i++) {
        name_clean(profile->locality_levels[i].name, name, sizeof name);
        fprintf(printer->out, " %8s", name);
        if (!i)
            fprintf(printer->out, " %5s %5s %5s", "cold", "cap.", "conf.");
    }
    fprintf(printer->out, "%s\n", print_off(printer));
    for (size_t i = rows.first; i < rows.end; i++)
        print_reference(printer, (uint32_t)i);
}

/* "a (line 12)" */
static const char *name_reference(const struct profile_locality_reference *reference,
                                  char out[REFERENCE_BYTES])
{
    name_clean(reference->text, out, NAME_BYTES);
    if (reference->line)
        print_add(out, REFERENCE_BYTES, " (line %u)", reference->line);
    return out;
}

static void print_pairs(struct printer *printer, uint32_t nest)
{
    const struct profile *profile = printer->profile;
    const struct locality_rows rows = locality_pairs_of(profile, nest);
    unsigned limit = printer->options->limit;
    size_t most = limit && limit < PAIRS_SHOWN ? limit : PAIRS_SHOWN;
    if (rows.first == rows.end)
        return;
    fprintf(printer->out, "\n    what takes the lines, misses of the first level\n");
    for (size_t i = rows.first; i < rows.end && i - rows.first < most; i++) {
        const struct profile_locality_pair *pair = &profile->locality_pairs[i];
        char count[32], of[REFERENCE_BYTES], taken[REFERENCE_BYTES], conflict[32];
        fprintf(printer->out, "      %9s  %s, its line taken by %s",
                print_quantity(pair->misses, count),
                name_reference(&profile->locality_references[pair->reference], of),
                name_reference(&profile->locality_references[pair->by], taken));
        if (pair->conflict > 0.005 * pair->misses)
            fprintf(printer->out, ", %s conflicts", share(pair->conflict, pair->misses, conflict));
        fprintf(printer->out, "\n");
    }
}

/* ---- beside a recording --------------------------------------------------------------------------------- */

static void print_difference(struct printer *printer, double computed, double recorded)
{
    char first[32], second[32];
    fprintf(printer->out, " %12s %12s", print_quantity(round(computed), first),
            print_quantity(recorded, second));
    if (recorded > 0)
        fprintf(printer->out, " %+10.1f %%\n", 100 * (computed - recorded) / recorded);
    else
        fprintf(printer->out, " %12s\n", "-");
}

static void print_recorded_reference(struct printer *printer, uint32_t index,
                                     const struct profile_locality_recorded *row)
{
    const struct profile *profile = printer->profile;
    const struct profile_locality_reference *reference = &profile->locality_references[index];
    char place[64], name[NAME_BYTES];
    snprintf(place, sizeof place, "%u:%u", reference->line, reference->column);
    name_clean(reference->text, name, sizeof name);
    name[name_fitting(name, 18)] = 0;
    fprintf(printer->out, "    %-6s %-5s ", place, reference->store ? "store" : "load");
    print_pad(printer, name, 18, false);
    print_difference(printer, row->executions * locality_miss(profile, index, 0)->misses,
                     (double)row->misses);
}

static void print_recorded_head(struct printer *printer, double executions)
{
    char count[32];
    fprintf(printer->out, "\n    misses of the first level, computed and recorded");
    if (executions > 0)
        fprintf(printer->out, "; the nest was executed %s time%s",
                print_quantity(executions, count), executions == 1 ? "" : "s");
    fprintf(printer->out, "\n    %s%-6s %-5s %-18s %12s %12s %12s%s\n", print_on(printer, BOLD),
            "at", "", "array", "computed", "recorded", "difference", print_off(printer));
}

static void print_recorded(struct printer *printer, uint32_t nest)
{
    const struct profile *profile = printer->profile;
    const struct locality_rows rows = locality_references_of(profile, nest);
    double computed = 0, recorded = 0;
    size_t found = 0;
    if (!profile->locality_recorded_count)
        return;
    for (size_t i = rows.first; i < rows.end; i++) {
        const struct profile_locality_recorded *row = locality_recorded(profile, (uint32_t)i);
        if (!row)
            continue;
        if (!found++)
            print_recorded_head(printer, row->executions);
        print_recorded_reference(printer, (uint32_t)i, row);
        computed += row->executions * locality_miss(profile, (uint32_t)i, 0)->misses;
        recorded += (double)row->misses;
    }
    if (found > 1) {
        fprintf(printer->out, "    %-31s", "together");
        print_difference(printer, computed, recorded);
    }
    if (found < rows.end - rows.first)
        fprintf(printer->out,
                "    %zu of %zu references %s not found in the recording, or not told apart\n",
                rows.end - rows.first - found, rows.end - rows.first,
                rows.end - rows.first - found == 1 ? "was" : "were");
}

static void print_remarks(struct printer *printer, uint32_t index)
{
    const struct profile *profile = printer->profile;
    const struct profile_locality_nest *nest = &profile->locality_nests[index];
    const struct locality_rows rows = locality_references_of(profile, index);
    uint64_t cut = locality_total(profile, index, 0)->cut;
    char line[TEXT_BYTES] = "", clean[TEXT_BYTES];
    bool conditional = false;
    for (size_t i = rows.first; i < rows.end; i++)
        conditional |= profile->locality_references[i].conditional;
    if (conditional)
        print_add(line, sizeof line,
                  "What is marked 'may be' is under a condition that depends on data, and is "
                  "counted as if it always happened. ");
    if (cut)
        print_add(line, sizeof line,
                  "%" PRIu64 " walks were cut, being too long, and count as misses. ", cut);
    if (nest->late)
        print_add(line, sizeof line, "Time was up (--max-time): intervals are wider than usual. ");
    if (nest->unverified)
        print_add(line, sizeof line, "Not verified: %.200s. ", nest->unverified);
    if (!line[0])
        return;
    name_clean(line, clean, sizeof clean);
    fprintf(printer->out, "\n    ");
    print_wrap(printer, DIM, 4, 4, clean);
}

static void print_nest(struct printer *printer, uint32_t index)
{
    const struct profile_locality_nest *nest = &printer->profile->locality_nests[index];
    char name[NAME_BYTES], place[TEXT_BYTES], line[TEXT_BYTES] = "", count[32];
    name_shorten(nest->function ? nest->function : "?", 60, name);
    print_place(printer, nest->file, nest->line, place);
    print_add(line, sizeof line, "%s (%s)", name, place);
    fprintf(printer->out, "\n%s#%u%s  ", print_on(printer, STRONG), index + 1, print_off(printer));
    print_wrap(printer, BOLD, 4, 4, line);
    print_levels(printer);
    print_arrays(printer, index);
    fprintf(printer->out, "\n    %-6s %18s accesses\n", "", print_grouped(nest->accesses, count));
    for (uint32_t i = 0; i < printer->profile->locality_levels_count; i++)
        print_total(printer, index, i);
    print_references(printer, index);
    print_pairs(printer, index);
    print_recorded(printer, index);
    locality_print_suggestions(printer, index);
    print_remarks(printer, index);
}

static void print_point(struct printer *printer, uint32_t index)
{
    const struct profile *profile = printer->profile;
    const struct profile_locality_point *point = &profile->locality_points[index];
    double accesses = fmax(1, (double)point->accesses);
    char count[32], misses[32], ratio[32];
    fprintf(printer->out, "    %12" PRId64 " %12s", point->value,
            print_quantity((double)point->accesses, count));
    for (uint32_t i = 0; i < profile->locality_levels_count; i++) {
        double value = locality_sweep(profile, index, i)->misses;
        fprintf(printer->out, " %12s %8s", print_quantity(value, misses),
                percent(value / accesses, ratio));
    }
    fprintf(printer->out, "\n");
}

static void print_sweep(struct printer *printer, const struct profile_locality_run *run)
{
    const struct profile *profile = printer->profile;
    char name[NAME_BYTES];
    if (!run->swept)
        return;
    fprintf(printer->out, "\n");
    print_levels(printer);
    name_clean(run->swept, name, sizeof name);
    name[name_fitting(name, 12)] = 0;
    fprintf(printer->out, "\n    %s%12s %12s", print_on(printer, BOLD), name, "accesses");
    for (size_t i = 0; i < profile->locality_levels_count; i++) {
        name_clean(profile->locality_levels[i].name, name, sizeof name);
        fprintf(printer->out, " %21s", name);
    }
    fprintf(printer->out, "%s\n", print_off(printer));
    for (uint32_t i = 0; i < profile->locality_points_count; i++)
        print_point(printer, i);
}

static void print_rejected(struct printer *printer)
{
    const struct profile *profile = printer->profile;
    if (!profile->locality_rejections_count)
        return;
    fprintf(printer->out, "\n%sNot taken%s\n", print_on(printer, BOLD), print_off(printer));
    for (size_t i = 0; i < profile->locality_rejections_count; i++) {
        const struct profile_locality_rejection *rejected = &profile->locality_rejections[i];
        char line[TEXT_BYTES] = "", clean[TEXT_BYTES];
        print_add(line, sizeof line, "%.300s:%u:", rejected->file, rejected->line);
        if (rejected->column)
            print_add(line, sizeof line, "%u:", rejected->column);
        print_add(line, sizeof line, " %s", rejected->reason);
        if (rejected->help)
            print_add(line, sizeof line, "; %s", rejected->help);
        print_add(line, sizeof line, ".");
        name_clean(line, clean, sizeof clean);
        fprintf(printer->out, "    ");
        print_wrap(printer, PLAIN, 4, 6, clean);
    }
}

/* Or do they stand beside a run's findings? */
static bool is_own(const struct profile *profile)
{
    return strcmp(profile->run.verb, "locality") == 0;
}

/* ---- the slots ------------------------------------------------------------------------------------------- */

static bool describe(const struct printer *printer, char *line, size_t bytes)
{
    const struct profile_locality_run *run = locality_run_of(printer->profile);
    if (!run || !is_own(printer->profile))
        return false;
    snprintf(line, bytes, "%.600s, computed from its loops, nothing was run", run->path);
    return true;
}

static bool print_findings(struct printer *printer, void *state)
{
    const struct profile_locality_run *run = locality_run_of(printer->profile);
    (void)state;
    if (!run)
        return true;
    if (!is_own(printer->profile))
        fprintf(printer->out, "\n%sLoop nests%s  computed from their sources\n",
                print_on(printer, BOLD), print_off(printer));
    for (uint32_t i = 0; i < printer->profile->locality_nests_count; i++)
        print_nest(printer, i);
    print_sweep(printer, run);
    print_rejected(printer);
    return true;
}

const struct analysis_text locality_text = {
    .describe = describe, .findings = print_findings, .beside = true};
