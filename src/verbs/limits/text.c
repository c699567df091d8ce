// SPDX-License-Identifier: MIT
/* The report for people: each loop with its bounds, its critical circuit and its resources. */
#include "limits/internal.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { BAR_COLUMNS = 30, CIRCUIT_MAX = 12, RESOURCES_MAX = 24, ASSEMBLY_COLUMNS = 38 };

/* Of a window's iterations: below, its ends weigh more than its middle. */
enum { FEW_ITERATIONS = 4 };

/* ---- a loop ---------------------------------------------------------------------------------------- */

static void print_heading(struct printer *printer, const struct limits_loop *loop)
{
    const struct profile_limit_loop *row = loop->row;
    char name[NAME_BYTES], place[TEXT_BYTES], line[TEXT_BYTES] = "", level[32] = "";
    name_shorten(row->function ? row->function : "the block", 60, name);
    print_place(printer, row->file, row->line, place);
    if (row->level) {
        name_clean(row->level, level, sizeof level);
        print_add(line, sizeof line, "-%s: ", level);
    }
    print_add(line, sizeof line, "%s", name);
    if (place[0])
        print_add(line, sizeof line, " (%s)", place);
    else if (row->address) /* a function may have several */
        print_add(line, sizeof line, " (at 0x%" PRIx64 ")", row->address);
    fprintf(printer->out, "\n%s#%zu%s  ", print_on(printer, STRONG), loop->number,
            print_off(printer));
    print_wrap(printer, BOLD, 4, 4, line);
    line[0] = 0;
    if (row->share >= 0)
        print_add(line, sizeof line, "%.1f %% of the CPU time, ", 100 * row->share);
    print_add(line, sizeof line, "%zu instruction%s an iteration", loop->instructions_count,
              print_plural(loop->instructions_count));
    if (row->ways > 1)
        print_add(line, sizeof line, " on one of %u%s ways through it", row->ways,
                  row->ways >= 1000000 ? " or more" : "");
    if (row->calls)
        print_add(line, sizeof line, "; what %u call%s execute%s is not counted", row->calls,
                  print_plural(row->calls), row->calls == 1 ? "s" : "");
    fprintf(printer->out, "    ");
    print_wrap(printer, DIM, 4, 4, line);
}

static void print_bound(struct printer *printer, const char *name, double cycles, double most,
                        const char *remark)
{
    char bar[4 * PRINT_BAR + 1];
    fprintf(printer->out, "      %-12s %8.2f  ", name, cycles);
    if (remark[0]) {
        print_tail(printer, DIM, 29, 29, remark);
        return;
    }
    fprintf(printer->out, "%s\n",
            print_bar(most > 0 ? fmin(1, cycles / most) : 0, BAR_COLUMNS, bar));
}

/* How that is known, and what does not fit. */
static void remark_measured(const struct limits_loop *loop, char *remark, size_t bytes)
{
    const struct profile_limit_loop *row = loop->row;
    if (row->measured < 0)
        return;
    print_add(remark, bytes, "Measured, within %.0f %%: CPU time of samples",
              fmax(1, ceil(100 * loop->error)));
    if (row->iterations)
        print_add(remark, bytes, " over %.4g iterations, counted in another run",
                  (double)row->iterations);
    print_add(remark, bytes, row->ways > 1 ? "; the mean of all ways through it. " : ". ");
    if (row->measured * (1 + loop->error) < row->certified)
        print_add(remark, bytes,
                  "That is less than certified: %s, or the model is wrong for this processor. ",
                  row->ways > 1 ? "shorter ways were taken, the two runs differed"
                                : "the two runs differed");
}

static void print_remark(struct printer *printer, const char *remark)
{
    if (!remark[0])
        return;
    fprintf(printer->out, "      ");
    print_wrap(printer, DIM, 6, 6, remark);
}

static void print_bounds(struct printer *printer, const struct limits_loop *loop)
{
    const struct profile_limit_loop *row = loop->row;
    double scheduled = loop->schedules_count ? loop->schedules[0].units : -1;
    double most = fmax(fmax(row->predicted, row->measured), scheduled);
    if (loop->ceiling)
        most = fmax(most, fmax(loop->ceiling->cycles, loop->ceiling->l1_cycles));
    char remark[TEXT_BYTES] = "";
    fprintf(printer->out, "\n      cycles an iteration, at least\n");
    print_bound(printer, "recurrence", row->recurrence, most, "");
    print_bound(printer, "units", row->resource, most, "");
    print_bound(printer, "front end", row->frontend, most, "");
    print_bound(printer, "certified", row->certified, most, "");
    print_bound(printer, "predicted", row->predicted, most, "");
    if (scheduled >= 0)
        print_bound(printer, "schedule", scheduled, most, "");
    if (row->measured >= 0)
        print_bound(printer, "measured", row->measured, most, "");
    if (loop->ceiling) {
        print_bound(printer, "data in L1", loop->ceiling->l1_cycles, most, "");
        print_bound(printer, "in trials", loop->ceiling->cycles, most, "");
    }
    remark_measured(loop, remark, sizeof remark);
    if (loop->ceiling)
        print_add(
            remark, sizeof remark,
            "Data in L1, in trials: with all accesses in the first-level cache, and as it is, "
            "by %llu trial%s of another run. ",
            (unsigned long long)loop->ceiling->trials, print_plural(loop->ceiling->trials));
    if (row->measured >= 0 && printer->profile->limit_runs_count &&
        !printer->profile->limit_runs[0].measured)
        print_add(remark, sizeof remark,
                  "The bounds are from tables: the two compare if the program ran on such a "
                  "processor. ");
    if (row->recurrence_most > row->recurrence * 1.02)
        print_add(
            remark, sizeof remark,
            "Divisions take longer for some values: the recurrence then takes up to %.3g cycles. ",
            row->recurrence_most);
    if (row->aliased > row->predicted * 1.02)
        print_add(remark, sizeof remark,
                  "If stores and loads through different pointers overlap, it takes %.3g cycles. ",
                  row->aliased);
    if (row->unknown)
        print_add(remark, sizeof remark, "The model knows nothing of %u of the instructions.",
                  row->unknown);
    print_remark(printer, remark);
}

/* ---- schedules of what it executed ------------------------------------------------------------------------ */

static void print_cycles(struct printer *printer, double cycles)
{
    if (cycles >= 0)
        fprintf(printer->out, " %9.2f", cycles);
    else
        fprintf(printer->out, " %9s", "unknown");
}

static void print_schedules(struct printer *printer, const struct limits_loop *loop)
{
    static const char *const memories[] = {"all loads hit", "first touches of lines miss",
                                           "caches simulated", "misses by reuse distance"};
    const struct profile_limit_schedule *first = loop->schedules;
    char remark[TEXT_BYTES] = "";
    if (!loop->schedules_count)
        return;
    fprintf(printer->out, "\n      %-28s %9s %9s %9s\n", "what it executed, scheduled", "data flow",
            "units", "machine");
    for (size_t i = 0; i < loop->schedules_count; i++) {
        fprintf(printer->out, "      %-28s", memories[loop->schedules[i].memory]);
        print_cycles(printer, loop->schedules[i].data_flow);
        print_cycles(printer, loop->schedules[i].units);
        print_cycles(printer, loop->schedules[i].machine);
        putc('\n', printer->out);
    }
    print_add(remark, sizeof remark,
              "%llu iterations, each operation as soon as possible: by dependences alone, with the "
              "units, with %s.",
              (unsigned long long)first->iterations,
              first->machine >= 0 ? "front end and reorder buffer"
                                  : "a reorder buffer, whose size is not known of this machine");
    if (first->inside < 0.95 * (double)first->instructions)
        print_add(remark, sizeof remark,
                  " %.0f %% of the instructions lie between visits of the loop: they count in.",
                  100 * (1 - (double)first->inside / (double)first->instructions));
    if (first->iterations < (uint64_t)FEW_ITERATIONS * first->windows)
        print_add(remark, sizeof remark,
                  " It is left after few iterations: what one waits for of those before hardly "
                  "shows, and the end of the last one does.");
    print_remark(printer, remark);
}

/* ---- the critical circuit ------------------------------------------------------------------------------ */

static void print_arc(struct printer *printer, const struct limits_loop *loop,
                      const struct profile_limit_arc *arc)
{
    static const char *const kinds[] = {"load", "", "store"};
    const struct profile_limit_instruction *from = &loop->instructions[arc->from];
    char assembly[TEXT_BYTES], place[TEXT_BYTES], numbers[48];
    name_clean(from->text, assembly, sizeof assembly);
    assembly[name_fitting(assembly, ASSEMBLY_COLUMNS)] = 0;
    print_place(printer, from->file, from->line, place);
    snprintf(numbers, sizeof numbers, "<%.4g, %u>", arc->latency, arc->distance);
    fprintf(printer->out, "      %-5s ", kinds[arc->from_kind]);
    print_pad(printer, assembly, ASSEMBLY_COLUMNS, false);
    fprintf(printer->out, " %s%-10s%s", print_on(printer, BOLD), numbers, print_off(printer));
    print_tail(printer, DIM, 62, 12, place);
}

static void print_circuit(struct printer *printer, const struct limits_loop *loop)
{
    if (!loop->arcs_count || loop->row->recurrence <= 0)
        return;
    fprintf(printer->out, "\n      critical circuit %.4g/%u, <latency, iterations>\n",
            loop->row->circuit_latency, loop->row->circuit_distance);
    for (size_t i = 0; i < loop->arcs_count && i < CIRCUIT_MAX; i++)
        print_arc(printer, loop, &loop->arcs[i]);
    if (loop->arcs_count > CIRCUIT_MAX)
        fprintf(printer->out, "      and %zu more\n", loop->arcs_count - CIRCUIT_MAX);
}

/* ---- resources ------------------------------------------------------------------------------------------ */

static int by_cycles(const void *a, const void *b)
{
    const struct profile_limit_resource *const *first = a, *const *second = b;
    double left = (*first)->cycles, right = (*second)->cycles;
    return (left < right) - (left > right);
}

static bool print_resources(struct printer *printer, const struct limits_loop *loop)
{
    size_t count = loop->resources_count;
    const struct profile_limit_resource **rows = calloc(count + 1, sizeof *rows);
    if (!rows)
        return false;
    for (size_t i = 0; i < count; i++)
        rows[i] = &loop->resources[i];
    qsort(rows, count, sizeof *rows, by_cycles);
    if (count)
        fprintf(printer->out, "\n      %-28s %7s %9s\n", "resource", "copies", "cycles");
    for (size_t i = 0; i < count && i < RESOURCES_MAX; i++) {
        char name[TEXT_BYTES];
        name_clean(rows[i]->name, name, sizeof name);
        name[name_fitting(name, 28)] = 0;
        fprintf(printer->out, "      ");
        print_pad(printer, name, 28, false);
        fprintf(printer->out, " %7.3g %9.2f%s\n", rows[i]->copies, rows[i]->cycles,
                rows[i]->bottleneck && loop->limit == LIMITS_RESOURCE ? "  the bottleneck" : "");
    }
    if (count > RESOURCES_MAX)
        fprintf(printer->out, "      and %zu more\n", count - RESOURCES_MAX);
    free(rows);
    return true;
}

/* A report of loops alone? Behind what to fix first the units are left to that. */
static bool is_own(const struct printer *printer)
{
    return analysis_find(printer->profile->run.verb) == &limits_analysis;
}

static bool print_loop(struct printer *printer, const struct limits_loop *loop)
{
    char verdict[TEXT_BYTES];
    struct advice advice = limits_advice(loop);
    print_heading(printer, loop);
    limits_verdict(loop, verdict, sizeof verdict);
    fprintf(printer->out, "    ");
    print_wrap(printer, PLAIN, 4, 4, verdict);
    print_given(printer, &advice, loop->number);
    print_bounds(printer, loop);
    print_schedules(printer, loop);
    print_circuit(printer, loop);
    limits_print_fates(printer, loop);
    return !is_own(printer) || print_resources(printer, loop);
}

/* ---- the slots ------------------------------------------------------------------------------------------- */

static bool begin(const struct printer *printer, void **state)
{
    struct limits_report *report = limits_report_make(printer->profile);
    if (report)
        *state = report;
    return report;
}

static void narrow(struct printer *printer, const void *state)
{
    const struct limits_report *report = state;
    for (size_t i = 0; i < report->count; i++)
        if (report->loops[i].row->file)
            print_narrow_file(printer, report->loops[i].row->file);
}

static bool describe(const struct printer *printer, char *line, size_t bytes)
{
    const struct profile *profile = printer->profile;
    if (!profile->limit_runs_count)
        return false;
    const struct profile_limit_run *run = &profile->limit_runs[0];
    if (run->measured)
        snprintf(line, bytes, "bounds for this machine, as measured here: %s", run->title);
    else
        snprintf(line, bytes, "bounds for %s: %s, from tables", run->machine, run->title);
    return true;
}

/* For the report of another verb, whose head does not say it. */
static void print_model(struct printer *printer)
{
    char line[TEXT_BYTES];
    if (describe(printer, line, sizeof line))
        fprintf(printer->out, "  %s%s%s\n", print_on(printer, DIM), line, print_off(printer));
}

/* One loop compiled several times, side by side. */
static void print_levels(struct printer *printer, const struct limits_report *report)
{
    static const char *const words[] = {"units", "recurrence", "front end", "not seen"};
    if (report->count < 2 || !report->loops[0].row->level)
        return;
    fprintf(printer->out,
            "\n%sBy level%s  cycles an iteration, which may do more at one than at "
            "another\n\n  %-8s %10s %9s %10s %10s  %-10s  %s\n",
            print_on(printer, STRONG), print_off(printer), "level", "recurrence", "units",
            "front end", "predicted", "limited by", "loop");
    for (size_t i = 0; i < report->count; i++) {
        const struct profile_limit_loop *row = report->loops[i].row;
        char level[32] = "", name[TEXT_BYTES];
        if (row->level)
            name_clean(row->level, level, sizeof level);
        name_shorten(row->function ? row->function : "the block", 40, name);
        fprintf(printer->out, "  -%-7s %10.2f %9.2f %10.2f %10.2f  %-10s  %s\n", level,
                row->recurrence, row->resource, row->frontend, row->predicted,
                words[report->loops[i].limit], name);
    }
}

static bool print_findings(struct printer *printer, void *state)
{
    const struct limits_report *report = state;
    size_t shown = report->count;
    if (!printer->profile->limit_runs_count)
        return true;
    limits_print_sources(printer);
    print_levels(printer, report);
    fprintf(printer->out, "\n%sLoops%s%s\n", print_on(printer, STRONG), print_off(printer),
            is_own(printer) ? "" : "  what bounds those with most CPU time");
    if (!is_own(printer))
        print_model(printer);
    if (printer->options->limit && shown > printer->options->limit)
        shown = printer->options->limit;
    for (size_t i = 0; i < shown; i++)
        if (!print_loop(printer, &report->loops[i]))
            return false;
    if (shown < report->count) {
        fprintf(printer->out, "\n  and %zu more\n", report->count - shown);
        printer->next.cut = true;
    }
    if (printer->profile->limit_runs[0].other)
        fprintf(printer->out, "\n  %llu other loops are not listed\n",
                (unsigned long long)printer->profile->limit_runs[0].other);
    return limits_print_outside(printer, report);
}

const struct analysis_text limits_text = {
    .begin = begin,
    .end = limits_report_free,
    .narrow = narrow,
    .describe = describe,
    .findings = print_findings,
    .beside = true,
};
