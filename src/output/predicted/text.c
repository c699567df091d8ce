// SPDX-License-Identifier: MIT
/* The report for people: each nest with its totals by cache, its references, and what takes their lines. */
#include "predicted/predicted.h"

#include "show/print.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { PAIRS_SHOWN = 5 };

static void print_levels(const struct predicted *predicted, struct printer *printer)
{
    char size[32];
    fprintf(printer->out, "    caches   ");
    for (size_t i = 0; i < predicted->levels_count; i++) {
        const struct misses_level *level = &predicted->levels[i];
        fprintf(printer->out, "%s%s %s, ", i ? "; " : "", level->name,
                print_size(level->bytes, size));
        if (level->ways)
            fprintf(printer->out, "%u way%s", level->ways, print_plural(level->ways));
        else
            fprintf(printer->out, "fully associative");
        if (level->line_bytes != 64)
            fprintf(printer->out, ", %u-byte lines", level->line_bytes);
    }
    fprintf(printer->out, "\n");
}

static void print_arrays(const struct predicted *predicted, const struct nest *nest,
                         struct printer *printer)
{
    char line[TEXT_BYTES] = "", size[32], name[NAME_BYTES];
    for (size_t i = 0; i < nest->arrays_count; i++) {
        name_clean(nest->arrays[i].name, name, sizeof name);
        if (nest->arrays[i].bytes)
            print_add(line, sizeof line, "%s%s %s", line[0] ? ", " : "", name,
                      print_bytes((double)nest->arrays[i].bytes, size));
    }
    print_add(line, sizeof line, "; %s", predicted->placed);
    fprintf(printer->out, "    arrays   ");
    print_wrap(printer, PLAIN, 13, 13, line);
}

/* "3.129 %", with as many digits as the interval bears. */
static const char *percent(double ratio, char out[32])
{
    snprintf(out, 32, ratio > 0 && ratio < 0.00005 ? "<0.01 %%" : "%.2f %%", 100 * ratio);
    return out;
}

static void print_total(const struct predicted *predicted, const struct predicted_nest *nest,
                        size_t level, struct printer *printer)
{
    const struct misses_figure *total = &nest->result.totals[level];
    double accesses = fmax(1, (double)nest->result.accesses);
    char count[32], ratio[32], low[32], high[32];
    fprintf(printer->out, "    %-6s %18s misses  %9s", predicted->levels[level].name,
            print_grouped((uint64_t)llround(total->misses), count),
            percent(total->misses / accesses, ratio));
    if (total->exact)
        fprintf(printer->out, "  every access simulated");
    else
        fprintf(printer->out, "  between %s and %s", percent(total->low / accesses, low),
                percent(total->high / accesses, high));
    fprintf(printer->out, "\n");
    if (!nest->simulated.references)
        return;
    double exact = nest->simulated.totals[level].misses;
    fprintf(printer->out, "    %-6s %18s simulated  %6s%s\n", "",
            print_grouped((uint64_t)exact, count), percent(exact / accesses, ratio),
            exact >= total->low - 0.5 && exact <= total->high + 0.5 ? "  within the interval"
                                                                    : "  outside the interval");
}

static const char *share(double part, double all, char out[32])
{
    if (all <= 0)
        snprintf(out, 32, "-");
    else
        snprintf(out, 32, "%.0f %%", 100 * part / all);
    return out;
}

static void print_reference(const struct predicted *predicted, const struct predicted_nest *nest,
                            size_t index, struct printer *printer)
{
    const struct nest_reference *reference = &nest->nest->references[index];
    const struct misses_reference *figures = &nest->result.references[index];
    const struct misses_figure *first = &figures->levels[0];
    double accesses = fmax(1, (double)figures->accesses);
    char place[64], name[NAME_BYTES], count[32], ratio[32];
    char cold[32], capacity[32], conflict[32];
    snprintf(place, sizeof place, "%u:%u", reference->line, reference->column);
    name_clean(reference->text, name, sizeof name);
    name[name_fitting(name, 10)] = 0;
    fprintf(printer->out, "    %-6s %-5s ", reference->line ? place : "?",
            reference->write ? "store" : "load");
    print_pad(printer, name, 10, false);
    fprintf(printer->out, " %9s %8s", print_quantity((double)figures->accesses, count),
            percent(first->misses / accesses, ratio));
    fprintf(printer->out, " %5s %5s %5s", share(first->cold, first->misses, cold),
            share(first->capacity, first->misses, capacity),
            share(first->conflict, first->misses, conflict));
    for (size_t i = 1; i < predicted->levels_count; i++)
        fprintf(printer->out, " %8s", percent(figures->levels[i].misses / accesses, ratio));
    fprintf(printer->out, "%s\n", reference->conditional ? " may be" : "");
}

static void print_references(const struct predicted *predicted, const struct predicted_nest *nest,
                             struct printer *printer)
{
    fprintf(printer->out, "\n    %s%-6s %-5s %-10s %9s %8s %5s %5s %5s", print_on(printer, BOLD),
            "at", "", "array", "accesses", predicted->levels[0].name, "cold", "cap.", "conf.");
    for (size_t i = 1; i < predicted->levels_count; i++)
        fprintf(printer->out, " %8s", predicted->levels[i].name);
    fprintf(printer->out, "%s\n", print_off(printer));
    for (size_t i = 0; i < nest->nest->references_count; i++)
        print_reference(predicted, nest, i, printer);
}

enum { REFERENCE_BYTES = NAME_BYTES + 24 };

/* "a (line 12)" */
static const char *name_reference(const struct nest_reference *reference, char out[REFERENCE_BYTES])
{
    name_clean(reference->text, out, NAME_BYTES);
    if (reference->line)
        print_add(out, REFERENCE_BYTES, " (line %u)", reference->line);
    return out;
}

static void print_pairs(const struct predicted_nest *nest, unsigned limit, struct printer *printer)
{
    const struct misses_result *result = &nest->result;
    size_t most = limit && limit < PAIRS_SHOWN ? limit : PAIRS_SHOWN;
    if (!result->pairs_count)
        return;
    fprintf(printer->out, "\n    what takes the lines, misses of the first level\n");
    for (size_t i = 0; i < result->pairs_count && i < most; i++) {
        const struct misses_pair *pair = &result->pairs[i];
        const struct nest_reference *victim = &nest->nest->references[pair->reference];
        const struct nest_reference *by = &nest->nest->references[pair->by];
        char count[32], of[REFERENCE_BYTES], taken[REFERENCE_BYTES], conflict[32];
        fprintf(printer->out, "      %9s  %s, its line taken by %s",
                print_quantity(pair->misses, count), name_reference(victim, of),
                name_reference(by, taken));
        if (pair->conflict > 0.005 * pair->misses)
            fprintf(printer->out, ", %s conflicts", share(pair->conflict, pair->misses, conflict));
        fprintf(printer->out, "\n");
    }
}

/* "the loops of lines 12, 14, 15", or how many. */
static void add_loops(const struct suggestion *suggestion, char *line, size_t bytes)
{
    const struct polyhedra_change *change = &suggestion->change;
    const struct polyhedra_group *group = &suggestion->group;
    unsigned moved = group->depth - change->kept;
    if (!group->lines[0]) {
        print_add(line, bytes, "the inner %u loops of the nest", moved);
        return;
    }
    print_add(line, bytes, "the loops of lines ");
    for (unsigned i = change->kept; i < group->depth; i++)
        print_add(line, bytes, "%s%u", i == change->kept ? "" : ", ", group->lines[i]);
}

static void add_order(const struct suggestion *suggestion, char *line, size_t bytes)
{
    const struct polyhedra_change *change = &suggestion->change;
    const struct polyhedra_group *group = &suggestion->group;
    unsigned moved = group->depth - change->kept;
    bool other = false;
    for (unsigned i = 0; i < moved; i++)
        other |= change->order[i] != change->kept + i;
    if (!other)
        return;
    print_add(line, bytes, suggestion->tiled ? ", in the order " : " in the order ");
    for (unsigned i = 0; i < moved; i++)
        print_add(line, bytes, "%s%u", i ? ", " : "",
                  group->lines[0] ? group->lines[change->order[i]]
                                  : change->order[i] - change->kept + 1);
}

static void add_tiles(const struct suggestion *suggestion, char *line, size_t bytes)
{
    const struct polyhedra_change *change = &suggestion->change;
    print_add(line, bytes, " in tiles of ");
    for (unsigned i = change->kept; i < suggestion->group.depth; i++) {
        print_add(line, bytes, "%s", i == change->kept ? "" : " x ");
        if (change->tiles[i])
            print_add(line, bytes, "%lld", (long long)change->tiles[i]);
        else
            print_add(line, bytes, "all");
    }
}

static void add_padding(const struct nest *nest, const struct suggestion *suggestion, char *line,
                        size_t bytes)
{
    const char *between = suggestion->change.reordered ? "; " : "";
    for (size_t i = 0; suggestion->padding && i < nest->arrays_count; i++) {
        char name[NAME_BYTES];
        if (!suggestion->padding[i])
            continue;
        name_clean(nest->arrays[i].name, name, sizeof name);
        print_add(line, bytes, "%s%s %lld instead of %lld", between, name,
                  (long long)(suggestion->rows[i] + suggestion->padding[i]),
                  (long long)suggestion->rows[i]);
        between = ", ";
    }
    if (suggestion->padding)
        print_add(line, bytes, " elements from row to row");
    if (suggestion->gap_bytes)
        print_add(line, bytes, "%s%u bytes more between one array and the next",
                  suggestion->padding || suggestion->change.reordered ? "; " : "",
                  suggestion->gap_bytes);
}

static void print_suggestion(const struct predicted *predicted, const struct predicted_nest *nest,
                             size_t index, struct printer *printer)
{
    const struct suggestion *suggestion = &nest->suggestions->list[index];
    char line[TEXT_BYTES] = "", count[32];
    if (suggestion->change.reordered) {
        add_loops(suggestion, line, sizeof line);
        if (suggestion->tiled)
            add_tiles(suggestion, line, sizeof line);
        add_order(suggestion, line, sizeof line);
        if (suggestion->group.shared > suggestion->change.kept)
            print_add(line, sizeof line, ", split off from what else they hold");
    }
    add_padding(nest->nest, suggestion, line, sizeof line);
    print_add(line, sizeof line, ": ");
    for (size_t i = 0; i < predicted->levels_count; i++) {
        double now = nest->result.totals[i].misses, then = suggestion->result.totals[i].misses;
        print_add(line, sizeof line, "%s%s %s misses", i ? ", " : "", predicted->levels[i].name,
                  print_quantity(then, count));
        if (now > 0)
            print_add(line, sizeof line, " (%+.0f %%)", 100 * (then - now) / now);
    }
    fprintf(printer->out, "      %zu  ", index + 1);
    print_wrap(printer, PLAIN, 9, 9, line);
}

static void print_suggestions(const struct predicted *predicted, const struct predicted_nest *nest,
                              struct printer *printer)
{
    const struct suggestions *found = nest->suggestions;
    if (!found)
        return;
    fprintf(printer->out,
            "\n    suggestions: %zu changes tried, %zu others would break dependences%s\n",
            found->tried, found->illegal, found->late ? ", time was up" : "");
    for (size_t i = 0; i < found->count; i++)
        print_suggestion(predicted, nest, i, printer);
    if (!found->count)
        fprintf(printer->out, "      none of them has noticeably fewer misses\n");
}

static void print_remarks(const struct predicted_nest *nest, struct printer *printer)
{
    const struct misses_figure *total = &nest->result.totals[0];
    char line[TEXT_BYTES] = "";
    bool conditional = false;
    for (size_t i = 0; i < nest->nest->references_count; i++)
        conditional |= nest->nest->references[i].conditional;
    if (conditional)
        print_add(line, sizeof line,
                  "What is marked 'may be' is under a condition that depends on data, and is "
                  "counted as if it always happened. ");
    if (total->cut)
        print_add(line, sizeof line, "%llu walks were cut, being too long, and count as misses. ",
                  (unsigned long long)total->cut);
    if (nest->result.late)
        print_add(line, sizeof line, "Time was up (--max-time): intervals are wider than usual. ");
    if (nest->late)
        print_add(line, sizeof line, "Not verified: %s. ", nest->late);
    if (!line[0])
        return;
    fprintf(printer->out, "\n    ");
    print_wrap(printer, DIM, 4, 4, line);
}

static void print_nest(const struct predicted *predicted, size_t index, unsigned limit,
                       struct printer *printer)
{
    const struct predicted_nest *nest = &predicted->nests[index];
    char name[NAME_BYTES], place[TEXT_BYTES], line[TEXT_BYTES] = "", count[32];
    name_shorten(nest->nest->function ? nest->nest->function : "?", 60, name);
    print_place(printer, nest->nest->file, nest->nest->line, place);
    print_add(line, sizeof line, "%s (%s)", name, place);
    fprintf(printer->out, "\n%s#%zu%s  ", print_on(printer, STRONG), index + 1, print_off(printer));
    print_wrap(printer, BOLD, 4, 4, line);
    print_levels(predicted, printer);
    print_arrays(predicted, nest->nest, printer);
    fprintf(printer->out, "\n    %-6s %18s accesses\n", "",
            print_grouped(nest->result.accesses, count));
    for (size_t i = 0; i < predicted->levels_count; i++)
        print_total(predicted, nest, i, printer);
    print_references(predicted, nest, printer);
    print_pairs(nest, limit, printer);
    print_suggestions(predicted, nest, printer);
    print_remarks(nest, printer);
}

static void print_sweep(const struct predicted *predicted, struct printer *printer)
{
    char name[NAME_BYTES], count[32], misses[32], ratio[32];
    if (!predicted->swept)
        return;
    fprintf(printer->out, "\n");
    print_levels(predicted, printer);
    name_clean(predicted->swept, name, sizeof name);
    name[name_fitting(name, 12)] = 0;
    fprintf(printer->out, "\n    %s%12s %12s", print_on(printer, BOLD), name, "accesses");
    for (size_t i = 0; i < predicted->levels_count; i++)
        fprintf(printer->out, " %21s", predicted->levels[i].name);
    fprintf(printer->out, "%s\n", print_off(printer));
    for (size_t i = 0; i < predicted->points_count; i++) {
        const struct predicted_point *point = &predicted->points[i];
        double accesses = fmax(1, (double)point->accesses);
        fprintf(printer->out, "    %12lld %12s", (long long)point->value,
                print_quantity((double)point->accesses, count));
        for (size_t j = 0; j < predicted->levels_count; j++)
            fprintf(printer->out, " %12s %8s", print_quantity(point->totals[j].misses, misses),
                    percent(point->totals[j].misses / accesses, ratio));
        fprintf(printer->out, "\n");
    }
}

static void print_rejected(const struct predicted *predicted, struct printer *printer)
{
    if (!predicted->rejected_count)
        return;
    fprintf(printer->out, "\n%sNot taken%s\n", print_on(printer, BOLD), print_off(printer));
    for (size_t i = 0; i < predicted->rejected_count; i++) {
        const struct lower_rejected *rejected = &predicted->rejected[i];
        char line[TEXT_BYTES] = "", file[NAME_BYTES];
        name_clean(rejected->file, file, sizeof file);
        print_add(line, sizeof line, "%s:%u:", file, rejected->line);
        if (rejected->column)
            print_add(line, sizeof line, "%u:", rejected->column);
        print_add(line, sizeof line, " %s", rejected->reason);
        if (rejected->help)
            print_add(line, sizeof line, "; %s", rejected->help);
        print_add(line, sizeof line, ".");
        fprintf(printer->out, "    ");
        print_wrap(printer, PLAIN, 4, 6, line);
    }
}

enum base_status predicted_text(const struct predicted *predicted,
                                const struct report_options *options, FILE *out)
{
    struct printer *printer = calloc(1, sizeof *printer);
    char name[NAME_BYTES];
    if (!printer)
        return BASE_NO_MEMORY;
    printer->out = out;
    printer->options = options;
    printer->width = print_width(options->width);
    name_clean(predicted->path, name, sizeof name);
    fprintf(out, "headroom locality: %s, computed without running it\n", name);
    for (size_t i = 0; i < predicted->nests_count; i++)
        print_nest(predicted, i, options->limit, printer);
    print_sweep(predicted, printer);
    print_rejected(predicted, printer);
    free(printer);
    return fflush(out) == 0 && !ferror(out) ? BASE_OK : BASE_IO;
}
