// SPDX-License-Identifier: MIT
/* The report for people: each hot loop as it is, with its data in the first-level cache, and what that would save; or why nobody knows. */
#include "ceiling/internal.h"

#include <inttypes.h>
#include <math.h>

enum { BAR_COLUMNS = 30 };

static void print_heading(struct printer *printer, const struct profile_ceiling_loop *loop,
                          size_t number)
{
    char name[NAME_BYTES], place[TEXT_BYTES], line[TEXT_BYTES] = "";
    name_shorten(loop->function, 60, name);
    print_place(printer, loop->file, loop->line, place);
    print_add(line, sizeof line, "%s", name);
    if (place[0])
        print_add(line, sizeof line, " (%s)", place);
    else if (loop->address) /* a function may have several */
        print_add(line, sizeof line, " (at 0x%" PRIx64 ")", loop->address);
    fprintf(printer->out, "\n%s#%zu%s  ", print_on(printer, STRONG), number, print_off(printer));
    print_wrap(printer, BOLD, 4, 4, line);
    line[0] = 0;
    print_add(line, sizeof line, "%.1f %% of the CPU time", 100 * loop->share);
    if (loop->instructions)
        print_add(line, sizeof line, ", %u instructions", loop->instructions);
    if (loop->turns > 0)
        print_add(line, sizeof line, ", %.4g iterations a time", loop->turns);
    fprintf(printer->out, "    ");
    print_wrap(printer, DIM, 4, 4, line);
}

static void print_reason(struct printer *printer, const struct profile_ceiling_loop *loop)
{
    char line[TEXT_BYTES] = "", place[TEXT_BYTES], reason[TEXT_BYTES];
    print_place(printer, loop->reason_file, loop->reason_line, place);
    name_clean(loop->reason, reason, sizeof reason);
    print_add(line, sizeof line, "Not measured: it %s", reason);
    if (place[0])
        print_add(line, sizeof line, " (%s)", place);
    print_add(line, sizeof line, ".");
    fprintf(printer->out, "    ");
    print_wrap(printer, PLAIN, 4, 4, line);
}

static void print_cycles(struct printer *printer, const char *name, double cycles, double most)
{
    char bar[4 * PRINT_BAR + 1];
    fprintf(printer->out, "      %-25s %8.2f  %s\n", name, cycles,
            print_bar(most > 0 ? fmin(1, cycles / most) : 0, BAR_COLUMNS, bar));
}

static void print_verdict(struct printer *printer, const struct profile_ceiling_loop *loop)
{
    char line[TEXT_BYTES] = "";
    double gap = ceiling_gap(loop);
    print_add(line, sizeof line,
              "With all accesses in the first-level cache it would take %.0f %% less time: %.1f %% "
              "of the CPU time at most.",
              100 * gap, 100 * gap * loop->share);
    fprintf(printer->out, "    ");
    print_wrap(printer, PLAIN, 4, 4, line);
}

/* Its ceiling is known, but not how far it is from it. */
static void print_ceiling_alone(struct printer *printer, const struct profile_ceiling_loop *loop)
{
    char line[TEXT_BYTES] = "";
    print_add(line, sizeof line,
              "Not measured: each execution is so short that the stop before it would show.");
    if (loop->l1_cycles >= 0)
        print_add(line, sizeof line,
                  " With all accesses in the first-level cache an iteration takes %.2f cycles.",
                  loop->l1_cycles);
    fprintf(printer->out, "    ");
    print_wrap(printer, PLAIN, 4, 4, line);
}

static void print_remark(struct printer *printer, const struct profile_ceiling_loop *loop)
{
    char line[TEXT_BYTES] = "";
    print_add(line, sizeof line, "%llu trial%s", (unsigned long long)loop->trials,
              print_plural(loop->trials));
    if (loop->trials > 1)
        print_add(line, sizeof line, ", half of them from %.0f to %.0f %%",
                  100 * fmin(1, fmax(0, loop->gap_low)), 100 * fmin(1, fmax(0, loop->gap_high)));
    print_add(line, sizeof line, ".");
    fprintf(printer->out, "      ");
    print_wrap(printer, DIM, 6, 6, line);
}

/* ---- variants ----------------------------------------------------------------------------------- */

static double most_cycles(const struct profile *profile, const struct profile_ceiling_loop *loop)
{
    double most = fmax(loop->cycles, loop->l1_cycles);
    for (size_t v = 0; v < CEILING_VARIANTS; v++)
        most = fmax(most, ceiling_variant_cycles(
                              loop, ceiling_variant(profile, loop, ceiling_variants[v].id)));
    return most;
}

static void print_bars(struct printer *printer, const struct profile_ceiling_loop *loop)
{
    const struct profile *profile = printer->profile;
    double most = most_cycles(profile, loop);
    fprintf(printer->out, "\n      cycles an iteration\n");
    print_cycles(printer, "as it is", loop->cycles, most);
    print_cycles(printer, "in the first-level cache", loop->l1_cycles, most);
    for (size_t v = 0; v < CEILING_VARIANTS; v++) {
        double cycles =
            ceiling_variant_cycles(loop, ceiling_variant(profile, loop, ceiling_variants[v].id));
        if (cycles >= 0)
            print_cycles(printer, ceiling_variants[v].name, cycles, most);
    }
}

/* Of a loop whose iterations nobody counts. */
static void print_parts(struct printer *printer, const struct profile_ceiling_loop *loop)
{
    bool any = false;
    for (size_t v = 0; v < CEILING_VARIANTS; v++) {
        double part = ceiling_variant_part(
            loop, ceiling_variant(printer->profile, loop, ceiling_variants[v].id));
        if (part < 0)
            continue;
        fprintf(printer->out, "%s      %-25s %3.0f %% of its time\n", any ? "" : "\n",
                ceiling_variants[v].name, 100 * part);
        any = true;
    }
}

static void print_lacking(struct printer *printer, const struct profile_ceiling_loop *loop)
{
    for (size_t v = 0; v < CEILING_VARIANTS; v++) {
        const struct profile_ceiling_variant *variant =
            ceiling_variant(printer->profile, loop, ceiling_variants[v].id);
        char line[TEXT_BYTES] = "", reason[TEXT_BYTES];
        if (!variant || variant->ratio >= 0)
            continue;
        name_clean(variant->reason ? variant->reason : "no trial came to its end", reason,
                   sizeof reason);
        print_add(line, sizeof line, "Not tried: %s, because %s.", ceiling_variants[v].name,
                  reason);
        fprintf(printer->out, "      ");
        print_wrap(printer, DIM, 6, 6, line);
    }
}

static void print_loop(struct printer *printer, const struct profile_ceiling_loop *loop,
                       size_t number)
{
    struct advice advice = ceiling_advice(printer->profile, loop);
    print_heading(printer, loop, number);
    if (loop->reason) {
        print_reason(printer, loop);
        return;
    }
    if (!loop->trials) {
        fprintf(printer->out, "    ");
        print_wrap(printer, PLAIN, 4, 4,
                   loop->disturbed
                       ? "Not measured: no trial came to its end undisturbed."
                       : "Not measured: the program ended, or left the loop, before a trial.");
        return;
    }
    if (loop->short_executions) {
        print_ceiling_alone(printer, loop);
        return;
    }
    print_verdict(printer, loop);
    print_given(printer, &advice, number);
    if (loop->cycles >= 0)
        print_bars(printer, loop);
    else
        print_parts(printer, loop);
    print_remark(printer, loop);
    print_lacking(printer, loop);
}

/* ---- the slots --------------------------------------------------------------------------------- */

static void narrow(struct printer *printer, const void *state)
{
    const struct profile *profile = printer->profile;
    (void)state;
    for (size_t i = 0; i < profile->ceiling_loops_count; i++)
        if (profile->ceiling_loops[i].file)
            print_narrow_file(printer, profile->ceiling_loops[i].file);
}

static bool describe(const struct printer *printer, char *line, size_t bytes)
{
    if (!printer->profile->ceiling_runs_count)
        return false;
    snprintf(line, bytes, "loops by samples of the clock, each tried with its data in the cache");
    return true;
}

static void say_shares(char *line, size_t bytes, const struct profile *profile,
                       const struct profile_ceiling_run *run)
{
    double all = run->cpu_ns > 0 ? run->cpu_ns / 100 : 1;
    print_add(line, bytes,
              "%s take %.0f %% of the CPU time, those that can be measured %.0f %%, "
              "those that were %.0f %%. ",
              run->named ? "The innermost loops that were named" : "Innermost loops",
              run->innermost_ns / all, run->eligible_ns / all, run->measured_ns / all);
    if (run->measured_ns > 0)
        print_add(line, bytes,
                  "If each of these had all its data in the first-level cache, the "
                  "program would take %.1f %% less CPU time%s",
                  100 * ceiling_upper_bound(profile),
                  run->named ? "." : ": better locality cannot save more.");
    else
        print_add(line, bytes, "What their locality costs is therefore not known.");
}

static void print_shares(struct printer *printer, const struct profile_ceiling_run *run)
{
    char line[TEXT_BYTES] = "";
    if (run->named && !printer->profile->ceiling_loops_count)
        print_add(
            line, sizeof line,
            "No sample was in an innermost loop of that name, or at that line: it may have another "
            "name, or take little time. Without --loop, those that take most are tried.");
    else
        say_shares(line, sizeof line, printer->profile, run);
    double second = ceiling_variant_bound(printer->profile, "l2"),
           third = ceiling_variant_bound(printer->profile, "l3");
    if (second >= 0)
        print_add(line, sizeof line,
                  " With their data in the second level it would take %.1f %% less.", 100 * second);
    if (third >= 0)
        print_add(line, sizeof line, " With their data in the third it would take %.1f %% less.",
                  100 * third);
    fprintf(printer->out, "  ");
    print_wrap(printer, PLAIN, 2, 2, line);
}

static bool print_findings(struct printer *printer, void *state)
{
    const struct profile *profile = printer->profile;
    size_t shown = profile->ceiling_loops_count;
    (void)state;
    if (!profile->ceiling_runs_count)
        return true;
    fprintf(printer->out, "\n%sCeilings of loops%s\n", print_on(printer, STRONG),
            print_off(printer));
    print_shares(printer, &profile->ceiling_runs[0]);
    if (printer->options->limit && shown > printer->options->limit)
        shown = printer->options->limit;
    for (size_t i = 0; i < shown; i++)
        print_loop(printer, &profile->ceiling_loops[i], i + 1);
    if (shown < profile->ceiling_loops_count) {
        fprintf(printer->out, "\n  and %zu more\n", profile->ceiling_loops_count - shown);
        printer->next.cut = true;
    }
    return true;
}

const struct analysis_text ceiling_text = {
    .narrow = narrow,
    .describe = describe,
    .findings = print_findings,
    .beside = true,
};
