// SPDX-License-Identifier: MIT
/*
 * Paths for people: how the metric is spread over paths and procedures, the hot paths as source,
 * the functions they are in, and what was not instrumented.
 */
#include "paths/internal.h"
#include "show/print.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

enum {
    NAMES_IN_LIST = 8,
    LABEL = 22,
    COLUMN = 11,
    LEAST_NAME = 20,
    FIXED = 2 + 10 + 12 + 22, /* of the table of functions, but for the name and its place */
};

void paths_name(const struct printer *printer, uint32_t id, unsigned columns, char out[NAME_BYTES])
{
    const struct profile_path_function *function = &printer->profile->path_functions[id];
    char module[64];
    if (id && function->function) {
        name_shorten(function->function, columns, out);
        return;
    }
    name_clean(name_base(printer->profile->modules[function->module].path), module, sizeof module);
    snprintf(out, NAME_BYTES, "%s%s0x%" PRIx64, module, function->module ? "+" : "",
             function->address);
}

const char *paths_short_metric(enum report_metric metric)
{
    return metric == REPORT_INSTRUCTIONS ? "instr."
           : metric == REPORT_COUNT      ? "execs."
                                         : paths_metric_names[metric];
}

static const char *plain_word(enum report_metric metric)
{
    return metric == REPORT_COUNT ? "executions" : paths_metric_names[metric];
}

/* out: of NAME_BYTES, for the name of an event. */
static const char *metric_word(const struct printer *printer, enum report_metric metric, char *out)
{
    const struct profile *profile = printer->profile;
    const char *event = profile->path_runs_count ? profile->path_runs[0].event : NULL;
    if (metric != REPORT_EVENTS || !event)
        return plain_word(metric);
    name_clean(event, out, 64);
    return out;
}

static void print_heading(struct printer *printer, const char *heading)
{
    fprintf(printer->out, "\n%s%s%s\n\n", print_on(printer, STRONG), heading, print_off(printer));
}

static void print_cells(struct printer *printer, enum tone tone, const char *label,
                        const char cells[][32], size_t count)
{
    fprintf(printer->out, "  %s", print_on(printer, tone));
    print_pad(printer, label, LABEL, false);
    while (count && !cells[count - 1][0])
        count--; /* no blanks at the end of a line */
    for (size_t i = 0; i < count; i++)
        print_pad(printer, cells[i], COLUMN, true);
    fprintf(printer->out, "%s\n", print_off(printer));
}

/* ---- totals ---------------------------------------------------------------------------------- */

/* Misses of what? */
static void add_cache(const struct paths_figures *figures, char *text, size_t bytes)
{
    const struct profile *profile = figures->profile;
    const struct profile_path_run *run = profile->path_runs_count ? &profile->path_runs[0] : NULL;
    char number[32];
    if (!run || !run->cache_bytes)
        return;
    print_add(text, bytes, "%sMisses are those of a simulated data cache of %s", text[0] ? " " : "",
              print_bytes((double)run->cache_bytes, number));
    if (run->cache_ways)
        print_add(text, bytes, ", %" PRIu32 " ways.", run->cache_ways);
    else
        print_add(text, bytes, ", fully associative.");
}

static void print_totals(struct printer *printer, const struct paths_figures *figures)
{
    char text[TEXT_BYTES] = "", number[32], word[NAME_BYTES];
    for (unsigned m = 0; m < REPORT_METRICS; m++) {
        if (!figures->measured[m] || !(figures->totals[m] > 0))
            continue;
        print_add(text, sizeof text, "%s%s %s", text[0] ? ", " : "",
                  print_quantity(figures->totals[m], number),
                  m == REPORT_COUNT ? "executions of paths"
                                    : metric_word(printer, (enum report_metric)m, word));
    }
    fprintf(printer->out, "  ");
    print_wrap(printer, PLAIN, 2, 2, text);
    snprintf(text, sizeof text, "%s different paths in %s of %s %sfunctions",
             print_quantity((double)figures->profile->paths_count, number),
             print_grouped(figures->functions_count, (char[32]){0}),
             print_grouped(figures->instrumented, (char[32]){0}),
             strcmp(printer->profile->run.engine, "built") == 0 ? "instrumented " : "");
    fprintf(printer->out, "  ");
    print_wrap(printer, PLAIN, 2, 2, text);
    text[0] = 0;
    if (figures->wanted_missing)
        print_add(text, sizeof text, "%s were not measured: ranked by %s.",
                  metric_word(printer, (enum report_metric)(printer->options->metric - 1), word),
                  metric_word(printer, figures->metric, word));
    if (figures->measured[REPORT_EVENTS] && !(figures->totals[REPORT_EVENTS] > 0))
        print_add(text, sizeof text, "%s%s did not occur in any path that was measured.",
                  text[0] ? " " : "", metric_word(printer, REPORT_EVENTS, word));
    if (!figures->density)
        print_add(text, sizeof text,
                  "%sOnly cycles or misses distinguish dense from sparse hot paths.",
                  text[0] ? " " : "");
    if (figures->measured[REPORT_MISSES])
        add_cache(figures, text, sizeof text);
    if (!text[0])
        return;
    fprintf(printer->out, "  ");
    print_wrap(printer, DIM, 2, 2, text);
}

static void print_classes(struct printer *printer, const struct paths_figures *figures)
{
    static const char *const labels[PATHS_CLASSES] = {"hot, dense", "hot, sparse", "cold"};
    double all = figures->totals[figures->metric];
    char cells[5][32] = {"paths", "", "functions", "", "paths each"}, label[64];
    snprintf(cells[1], sizeof cells[1], "%s", paths_short_metric(figures->metric));
    snprintf(cells[3], sizeof cells[3], "%s", paths_short_metric(figures->metric));
    snprintf(label, sizeof label, "hot: at least %.3g %%", 100 * figures->hot);
    putc('\n', printer->out);
    print_cells(printer, DIM, label, cells, 5);
    for (unsigned c = 0; c < PATHS_CLASSES; c++) {
        const struct paths_sum *sum = &figures->sums[c];
        if (c == PATHS_HOT_SPARSE && !figures->density)
            continue;
        print_grouped(sum->paths, cells[0]);
        print_grouped(sum->procedures, cells[2]);
        snprintf(cells[1], sizeof cells[1], "%.1f %%", 100 * paths_share(sum->paths_metric, all));
        snprintf(cells[3], sizeof cells[3], "%.1f %%",
                 100 * paths_share(sum->procedures_metric, all));
        double each = paths_share((double)sum->procedure_paths, (double)sum->procedures);
        if (each < 1000)
            snprintf(cells[4], sizeof cells[4], "%.1f", each);
        else
            print_quantity(each, cells[4]);
        if (sum->procedures == 0)
            cells[3][0] = cells[4][0] = 0;
        if (sum->paths == 0)
            cells[1][0] = 0;
        print_cells(printer, PLAIN, c == 0 && !figures->density ? "hot" : labels[c], cells, 5);
    }
}

static void print_coverage(struct printer *printer, const struct paths_figures *figures)
{
    char cells[PATHS_COVERS][32], label[64];
    for (size_t i = 0; i < PATHS_THRESHOLDS; i++)
        snprintf(cells[i], sizeof cells[i], "%g %%", 100 * figures->thresholds[i].least);
    putc('\n', printer->out);
    print_cells(printer, DIM, "paths of at least", cells, PATHS_THRESHOLDS);
    for (size_t i = 0; i < PATHS_THRESHOLDS; i++)
        print_grouped(figures->thresholds[i].paths, cells[i]);
    print_cells(printer, PLAIN, "number", cells, PATHS_THRESHOLDS);
    for (size_t i = 0; i < PATHS_THRESHOLDS; i++)
        snprintf(cells[i], sizeof cells[i], "%.1f %%", 100 * figures->thresholds[i].covered);
    snprintf(label, sizeof label, "of the %s", plain_word(figures->metric));
    print_cells(printer, PLAIN, label, cells, PATHS_THRESHOLDS);
    for (size_t i = 0; i < PATHS_COVERS; i++)
        snprintf(cells[i], sizeof cells[i], "%.0f %%", 100 * figures->covers[i].share);
    snprintf(label, sizeof label, "share of %s", plain_word(figures->metric));
    putc('\n', printer->out);
    print_cells(printer, DIM, label, cells, PATHS_COVERS);
    for (size_t i = 0; i < PATHS_COVERS; i++)
        print_grouped(figures->covers[i].paths, cells[i]);
    print_cells(printer, PLAIN, "paths that make it up", cells, PATHS_COVERS);
}

/* ---- hot paths ------------------------------------------------------------------------------- */

static size_t hot_count(const struct paths_figures *figures)
{
    return (size_t)(figures->sums[PATHS_HOT_DENSE].paths + figures->sums[PATHS_HOT_SPARSE].paths);
}

static size_t hot_shown(const struct printer *printer, const struct paths_figures *figures)
{
    size_t hot = hot_count(figures), limit = printer->options->limit;
    return limit && hot > limit ? limit : hot;
}

/* Executions measured of which the average may be some tenths off. */
enum { FEW = 100 };

/* What one execution costs. */
static void print_each(struct printer *printer, const struct paths_figures *figures,
                       const struct profile_path *path)
{
    char text[TEXT_BYTES], number[32];
    const enum report_metric each[] = {REPORT_INSTRUCTIONS, REPORT_LOADS,  REPORT_STORES,
                                       REPORT_CYCLES,       REPORT_MISSES, REPORT_EVENTS};
    snprintf(text, sizeof text, "%s execution%s of", print_quantity((double)path->count, number),
             print_plural(path->count));
    bool first = true;
    for (size_t i = 0; i < BASE_COUNT(each); i++) {
        double value = paths_metric(path, each[i]) / (double)path->count;
        if (!figures->measured[each[i]] || (value == 0 && each[i] != REPORT_INSTRUCTIONS))
            continue;
        bool event = each[i] == REPORT_EVENTS;
        char name[NAME_BYTES], word[NAME_BYTES];
        snprintf(word, sizeof word, "%s", metric_word(printer, each[i], name));
        size_t letters = strlen(word);
        if (!event && value == 1) /* "1 load" */
            word[letters - (each[i] == REPORT_MISSES ? 2 : 1)] = 0;
        print_add(text, sizeof text, "%s %s %s", first ? "" : ",", print_quantity(value, number),
                  word);
        first = false;
        if ((event || each[i] == REPORT_CYCLES) && path->measured && path->measured < FEW)
            print_add(text, sizeof text, " (\xc2\xb1%.0f %%)", 100 / sqrt((double)path->measured));
    }
    if (figures->measured[REPORT_CYCLES] && path->cycles < 0)
        print_add(text, sizeof text, ", cycles not measured");
    if (figures->measured[REPORT_EVENTS] && path->events < 0)
        print_add(text, sizeof text, ", events not measured");
    fprintf(printer->out, "      ");
    print_wrap(printer, PLAIN, 6, 6, text);
}

static void print_path(struct printer *printer, const struct paths_figures *figures, size_t rank)
{
    static const char *const classes[PATHS_CLASSES] = {"dense", "sparse", "cold"};
    uint32_t id = figures->ranked[rank];
    const struct profile_path *path = &figures->profile->paths[id];
    const struct profile_path_function *function =
        &figures->profile->path_functions[path->function];
    char name[NAME_BYTES], place[TEXT_BYTES], word[NAME_BYTES], here[32], average[32];
    char share[48], of[NAME_BYTES + 16], density[128] = "", number[32];
    double metric = paths_metric(path, figures->metric);
    snprintf(number, sizeof number, "path %" PRIu64, path->number);
    paths_name(printer, path->function, 44, name);
    print_place(printer, function->file, function->line, place);
    snprintf(share, sizeof share, "#%zu  %.1f %%", rank + 1,
             100 * paths_share(metric, figures->totals[figures->metric]));
    snprintf(of, sizeof of, " of the %s%s", metric_word(printer, figures->metric, word),
             figures->density ? ", " : "");
    if (figures->density)
        print_add(density, sizeof density, "%s", classes[figures->classes[id]]);
    if (figures->density && path->instructions)
        print_add(density, sizeof density, " (%s per instruction, %s on average)",
                  print_quantity(metric / (double)path->instructions, here),
                  print_quantity(figures->average, average));
    print_link(printer, "view=paths&path=%zu", rank);
    fprintf(printer->out, "\n  %s%s%s%s%s%s", print_link_on(printer), print_on(printer, BOLD),
            share, print_off(printer), print_link_off(printer), of);
    print_wrap(printer, DIM, 2 + (unsigned)strlen(share) + name_columns(of), 6, density);
    fprintf(printer->out, "      %s%s%s%s", print_link_on(printer), print_on(printer, BOLD), name,
            print_off(printer));
    unsigned used = 6 + name_columns(name);
    if (place[0]) {
        bool fits = used + 2 + name_columns(place) + 2 + strlen(number) <= printer->width;
        fprintf(printer->out, "%s  %s", fits ? "" : "\n      ", place);
    }
    fprintf(printer->out, "  %s%s%s%s\n", print_on(printer, DIM), number, print_off(printer),
            print_link_off(printer));
    print_link_clear(printer);
    print_each(printer, figures, path);
    paths_print_source(printer, path);
}

static void print_hot(struct printer *printer, const struct paths_figures *figures)
{
    size_t hot = hot_count(figures), shown = hot_shown(printer, figures);
    char word[NAME_BYTES];
    double rest = 0, all = figures->totals[figures->metric];
    /* Each path begins with an empty line of its own. */
    fprintf(printer->out, "\n%sHot paths%s\n", print_on(printer, STRONG), print_off(printer));
    if (hot == 0)
        fprintf(printer->out, "\n  No path has %.3g %% of the %s. Try a smaller --hot.\n",
                100 * figures->hot, metric_word(printer, figures->metric, word));
    for (size_t i = 0; i < shown; i++)
        print_path(printer, figures, i);
    for (size_t i = shown; i < hot; i++)
        rest += paths_metric(&figures->profile->paths[figures->ranked[i]], figures->metric);
    if (shown < hot)
        fprintf(printer->out, "\n  %s%zu more, together %.1f %%%s\n", print_on(printer, DIM),
                hot - shown, 100 * paths_share(rest, all), print_off(printer));
    printer->next.cut |= shown < hot;
}

/* ---- functions ------------------------------------------------------------------------------- */

/* "12", or "2^214" */
static const char *potential_text(const struct profile_path_function *function, char out[32])
{
    if (function->potential && function->potential < 10000000)
        return print_grouped(function->potential, out);
    snprintf(out, 32, "2^%.0f", function->potential_log2);
    return out;
}

static void print_function_row(struct printer *printer, const struct paths_figures *figures,
                               const struct paths_function *ran)
{
    const struct profile_path_function *function = &figures->profile->path_functions[ran->id];
    char name[NAME_BYTES], place[TEXT_BYTES], share[32], count[32], executed[32], potential[32];
    char of[80];
    unsigned columns = printer->width > FIXED + LEAST_NAME ? printer->width - FIXED : LEAST_NAME;
    paths_name(printer, ran->id, columns < 40 ? columns : 40, name);
    print_place(printer, function->file, function->line, place);
    print_percent(paths_share(ran->totals[figures->metric], figures->totals[figures->metric]),
                  share);
    print_quantity(ran->totals[REPORT_COUNT], count);
    snprintf(of, sizeof of, "%s of %s", print_grouped(ran->executed, executed),
             potential_text(function, potential));
    fprintf(printer->out, "  %s%8s%s%14s", print_on(printer, BOLD), share, print_off(printer),
            count);
    print_pad(printer, of, 20, true);
    fprintf(printer->out, "  %s", name);
    if (place[0] && 46 + name_columns(name) + 2 + name_columns(place) <= printer->width)
        fprintf(printer->out, "  %s%s%s", print_on(printer, DIM), place, print_off(printer));
    putc('\n', printer->out);
}

static void print_functions(struct printer *printer, const struct paths_figures *figures)
{
    size_t limit = printer->options->limit, shown = figures->functions_count;
    if (limit && shown > limit)
        shown = limit;
    while (limit && shown > 1 &&
           paths_share(figures->functions[shown - 1].totals[figures->metric],
                       figures->totals[figures->metric]) < 0.0005)
        shown--;
    print_heading(printer, "Functions");
    fprintf(printer->out, "  %s%8s%14s%20s  function%s\n", print_on(printer, DIM),
            paths_short_metric(figures->metric), "executions", "paths of potential",
            print_off(printer));
    for (size_t i = 0; i < shown; i++)
        print_function_row(printer, figures, &figures->functions[i]);
    if (shown < figures->functions_count)
        fprintf(printer->out, "  %s%zu more%s\n", print_on(printer, DIM),
                figures->functions_count - shown, print_off(printer));
}

/* ---- instrumentation ------------------------------------------------------------------------- */

static bool is_truncated(const struct profile_path_function *function)
{
    return function->reason == PROFILE_PATH_TRUNCATED;
}

static bool is_hashed(const struct profile_path_function *function)
{
    return function->reason <= PROFILE_PATH_TRUNCATED && function->table_kind == PROFILE_TABLE_HASH;
}

/* "a, b, c and 12 more" of those chosen; reason 0: any that `chosen` accepts. */
static void list_names(struct printer *printer,
                       bool (*chosen)(const struct profile_path_function *), uint32_t reason,
                       char *text, size_t bytes)
{
    const struct profile *profile = printer->profile;
    size_t count = 0;
    for (uint32_t id = 1; id < profile->path_functions_count; id++) {
        const struct profile_path_function *function = &profile->path_functions[id];
        char name[NAME_BYTES];
        if (chosen ? !chosen(function) : function->reason != reason)
            continue;
        if (count++ >= NAMES_IN_LIST)
            continue;
        paths_name(printer, id, 40, name);
        print_add(text, bytes, "%s%s", count > 1 ? ", " : "", name);
    }
    if (count > NAMES_IN_LIST)
        print_add(text, bytes, " and %zu more", count - NAMES_IN_LIST);
}

static void print_group(struct printer *printer, uint64_t count, const char *words,
                        bool (*chosen)(const struct profile_path_function *), uint32_t reason)
{
    char text[TEXT_BYTES * 4], number[32], clean[TEXT_BYTES];
    if (count == 0)
        return;
    name_clean(words, clean, 200);
    snprintf(text, sizeof text, "%s %s: ", print_grouped(count, number), clean);
    list_names(printer, chosen, reason, text, sizeof text);
    fprintf(printer->out, "  - ");
    print_wrap(printer, PLAIN, 4, 4, text);
}

static void print_skipped(struct printer *printer)
{
    const struct profile *profile = printer->profile;
    uint64_t counts[PROFILE_PATH_REASONS] = {0};
    const char *why[PROFILE_PATH_REASONS] = {NULL};
    for (size_t i = 1; i < profile->path_functions_count; i++) {
        counts[profile->path_functions[i].reason]++;
        why[profile->path_functions[i].reason] = profile->path_functions[i].why;
    }
    for (uint32_t r = PROFILE_PATH_TRUNCATED + 1; r < PROFILE_PATH_REASONS; r++) {
        char words[TEXT_BYTES];
        if (counts[r] == 0)
            continue;
        snprintf(words, sizeof words, "left out (%.150s)", why[r]);
        print_group(printer, counts[r], words, NULL, r);
    }
}

static void print_instrumentation(struct printer *printer, const struct paths_figures *figures)
{
    char text[TEXT_BYTES], a[32];
    double counted = figures->instrumented_time;
    /* The exact engine has no tables in the program, and nothing is instrumented. */
    bool built = strcmp(printer->profile->run.engine, "exact") != 0;
    uint64_t hashed = built ? figures->hashed : 0;
    if (figures->truncated + hashed + figures->skipped + figures->assembly == 0 && counted < 0)
        return;
    print_heading(printer, "What was counted");
    if (counted >= 0) {
        if (counted < 1)
            snprintf(text, sizeof text,
                     "The paths' own cycles are %.0f %% of the CPU time; the rest went to code "
                     "that is not instrumented (libraries, the kernel) and to counting.",
                     100 * counted);
        else
            snprintf(text, sizeof text,
                     "The paths' own cycles exceed the CPU time: they include the time that paths "
                     "waited for the processor.");
        fprintf(printer->out, "  ");
        print_wrap(printer, PLAIN, 2, 2, text);
    }
    snprintf(text, sizeof text, "%s functions were %s%s", print_grouped(figures->instrumented, a),
             built ? "instrumented" : "followed",
             figures->truncated + hashed + figures->skipped ? "; of all functions:" : ".");
    fprintf(printer->out, "  ");
    print_wrap(printer, PLAIN, 2, 2, text);
    print_group(printer, figures->truncated,
                "truncated (too many paths: pieces of them were recorded)", is_truncated, 0);
    print_group(printer, hashed, "counted in hash tables (many paths)", is_hashed, 0);
    print_skipped(printer);
    if (figures->assembly == 0)
        return;
    snprintf(text, sizeof text, "%s instruction%s of inline assembly were left as they are",
             print_grouped(figures->assembly, a), print_plural(figures->assembly));
    fprintf(printer->out, "  - ");
    print_wrap(printer, PLAIN, 4, 4, text);
}

static bool print_findings(struct printer *printer, void *state)
{
    struct paths_figures figures;
    (void)state;
    if (!paths_are_in(printer->profile))
        return true;
    if (!paths_figures(printer->profile, printer->options, &figures))
        return false;
    if (figures.totals[REPORT_COUNT] > 0) {
        print_heading(printer, "Paths");
        print_totals(printer, &figures);
        print_classes(printer, &figures);
        print_coverage(printer, &figures);
        print_hot(printer, &figures);
        print_functions(printer, &figures);
    } else if (figures.contexts.nodes == 0) {
        print_heading(printer, "Paths");
        fprintf(printer->out, "  No path was executed to its end.\n");
    }
    paths_print_contexts(printer, &figures);
    print_instrumentation(printer, &figures);
    paths_figures_free(&figures);
    return true;
}

/* ---- the slots ------------------------------------------------------------------------------- */

static void narrow(struct printer *printer, const void *state)
{
    (void)state;
    for (size_t i = 0; i < printer->profile->paths_count; i++)
        print_narrow_file(
            printer, printer->profile->path_functions[printer->profile->paths[i].function].file);
}

static bool describe(const struct printer *printer, char *line, size_t bytes)
{
    const struct profile_path_run *run =
        printer->profile->path_runs_count ? &printer->profile->path_runs[0] : NULL;
    if (strcmp(printer->profile->run.engine, "built") != 0)
        return false;
    snprintf(line, bytes, "engine built, every execution of instrumented code was counted");
    if (run && run->cycles_per_read > 0)
        print_add(line, bytes,
                  "; cycles were sampled on about one path in 64, less the %.0f that reading the "
                  "counter costs",
                  run->cycles_per_read);
    if (run && run->event)
        print_add(line, bytes, "; events were sampled on about one path in 64");
    return true;
}

const struct analysis_text paths_text = {
    .narrow = narrow,
    .describe = describe,
    .findings = print_findings,
};
