// SPDX-License-Identifier: MIT
/* The report for people: a table of times for the whole run and each region, what compares how, what is to be known of the figures. */
#include "stat/internal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- units: one for a table ------------------------------------------------------------------ */

struct unit {
    const char *name;
    double ns;
};

static struct unit unit_for(double ns)
{
    static const struct unit units[] = {{"s", 1e9}, {"ms", 1e6}, {"µs", 1e3}, {"ns", 1}};
    for (size_t i = 0; i + 1 < BASE_COUNT(units); i++)
        if (ns >= units[i].ns)
            return units[i];
    return units[BASE_COUNT(units) - 1];
}

/* Four figures and more: what is to be compared differs in the third. */
static const char *print_in(double ns, struct unit unit, char out[32])
{
    double value = ns / unit.ns;
    snprintf(out, 32, "%.*f", value >= 1000 ? 1 : value >= 100 ? 2 : value >= 10 ? 3 : 4, value);
    return out;
}

static void print_heading(struct printer *printer, const char *heading, const char *remark)
{
    fprintf(printer->out, "\n%s%s%s  ", print_on(printer, STRONG), heading, print_off(printer));
    print_wrap(printer, DIM, (unsigned)name_columns(heading) + 2, 2, remark);
}

/* ---- tables ---------------------------------------------------------------------------------- */

/* Rows of a region follow one another. */
struct part {
    const struct stat_row *rows;
    size_t count;
};

static void print_times(struct printer *printer, const struct part *part)
{
    struct unit unit = unit_for(part->rows[0].ns.median);
    char cells[6][32], interval[72];
    fprintf(printer->out,
            "  %s      runs   median  95 %% interval          min      mean       max"
            "        sd%s\n",
            print_on(printer, DIM), print_off(printer));
    for (size_t i = 0; i < part->count; i++) {
        const struct stat_row *row = &part->rows[i];
        const struct statistics *ns = &row->ns;
        snprintf(interval, sizeof interval, "%s .. %s", print_in(ns->low, unit, cells[0]),
                 print_in(ns->high, unit, cells[1]));
        fprintf(printer->out, "  #%-4u%5zu %s%8s%s  %-19s %8s  %8s  %8s  %8s\n", row->subject + 1,
                row->count, print_on(printer, BOLD), print_in(ns->median, unit, cells[0]),
                print_off(printer), interval, print_in(ns->min, unit, cells[1]),
                print_in(ns->mean, unit, cells[2]), print_in(ns->max, unit, cells[3]),
                print_in(ns->sd, unit, cells[4]));
    }
}

static void print_resources(struct printer *printer, const struct part *part)
{
    struct unit unit = unit_for(fmax(stat_median(&part->rows[0], STAT_USER_NS),
                                     stat_median(&part->rows[0], STAT_SYSTEM_NS)));
    char cells[6][32];
    fprintf(printer->out,
            "\n  %s       user, %-2s  system  page faults  gave up CPU  lost CPU   peak memory%s\n",
            print_on(printer, DIM), unit.name, print_off(printer));
    for (size_t i = 0; i < part->count; i++) {
        const struct stat_row *row = &part->rows[i];
        fprintf(printer->out, "  #%-4u %8s%8s %12s %12s %9s  %12s\n", row->subject + 1,
                print_in(stat_median(row, STAT_USER_NS), unit, cells[0]),
                print_in(stat_median(row, STAT_SYSTEM_NS), unit, cells[1]),
                print_quantity(stat_median(row, STAT_FAULTS), cells[2]),
                print_quantity(stat_median(row, STAT_VOLUNTARY), cells[3]),
                print_quantity(stat_median(row, STAT_INVOLUNTARY), cells[4]),
                print_size((uint64_t)stat_median(row, STAT_PEAK_BYTES), cells[5]));
    }
}

static void print_visits(struct printer *printer, const struct stat_report *report,
                         const struct part *part)
{
    char cells[6][32];
    fprintf(printer->out,
            "\n  %s           visits   a visit    cycles    iterations  an iteration    cycles%s\n",
            print_on(printer, DIM), print_off(printer));
    for (size_t i = 0; i < part->count; i++) {
        const struct stat_row *row = &part->rows[i];
        double visit = row->visit_ns.median,
               step = row->iterations > 0 ? visit / row->iterations : 0;
        struct unit unit = unit_for(visit), small = unit_for(step);
        fprintf(printer->out, "  #%-4u %11s %6s ", row->subject + 1,
                print_quantity(row->visits, cells[0]), print_in(visit, unit, cells[1]));
        print_pad(printer, unit.name, 2, false);
        if (report->cycle_ns > 0)
            fprintf(printer->out, " %9s", print_quantity(visit / report->cycle_ns, cells[2]));
        else
            fprintf(printer->out, " %9s", "-");
        if (row->iterations > 0) {
            fprintf(printer->out, " %13s %9s ", print_quantity(row->iterations, cells[3]),
                    print_in(step, small, cells[4]));
            print_pad(printer, small.name, 2, false);
            if (report->cycle_ns > 0)
                fprintf(printer->out, "  %8.2f", step / report->cycle_ns);
        }
        fprintf(printer->out, "\n");
    }
}

/* ---- what compares how ------------------------------------------------------------------------ */

static void compare_cpu_time(struct printer *printer, const struct statistics_ratio *ratio)
{
    char line[TEXT_BYTES] = "", percent[32];
    if (!ratio->bounded)
        return;
    print_add(line, sizeof line, "In CPU time, %.4f times (%.4f to %.4f): ", ratio->value,
              ratio->low, ratio->high);
    if (ratio->low > 1 || ratio->high < 1)
        print_add(line, sizeof line, "%s", ratio->low > 1 ? "more" : "less");
    else
        print_add(line, sizeof line, "no difference seen; one of %s or more would have been.",
                  print_percent(ratio->detectable, percent));
    fputs("    ", printer->out);
    print_wrap(printer, PLAIN, 4, 6, line);
}

static void compare_row(struct printer *printer, const struct stat_row *first,
                        const struct stat_row *row)
{
    const struct statistics_ratio *ratio = &row->ratio;
    unsigned base = first->subject + 1, other = row->subject + 1;
    char line[TEXT_BYTES] = "", percent[32];
    if (!ratio->known)
        return;
    if (!ratio->bounded)
        print_add(line, sizeof line,
                  "#%u takes %.4f times as long as #%u; too few runs in common for an interval, "
                  "which needs 6",
                  other, ratio->value, base);
    else if (ratio->low > 1 || ratio->high < 1)
        print_add(line, sizeof line, "#%u takes %.4f times as long as #%u (%.4f to %.4f): %s",
                  other, ratio->value, base, ratio->low, ratio->high,
                  ratio->low > 1 ? "slower" : "faster");
    else
        print_add(line, sizeof line,
                  "No difference seen between #%u and #%u: %.4f times (%.4f to %.4f). One of %s or "
                  "more would have been seen in four of five sessions.",
                  base, other, ratio->value, ratio->low, ratio->high,
                  print_percent(ratio->detectable, percent));
    fputs("  ", printer->out);
    print_wrap(printer, PLAIN, 2, 4, line);
    compare_cpu_time(printer, &row->cpu);
}

/* ---- what is to be known ----------------------------------------------------------------------- */

static void remark(struct printer *printer, const struct stat_row *row)
{
    char line[TEXT_BYTES] = "", reason[TEXT_BYTES], a[32], b[32];
    stat_reason(row, reason, sizeof reason);
    if (reason[0])
        print_add(line, sizeof line, "Sensitive to the operating system: %s. ", reason);
    if (row->modes[0] > 0)
        print_add(line, sizeof line, "%zu of %zu runs take about %s, the others about %s. ",
                  row->lower, row->count, print_time(row->modes[0], a),
                  print_time(row->modes[1], b));
    const char *slow = "Slow by far:";
    for (size_t i = 1; i <= STAT_UNEXPLAINED; i++)
        if (row->outliers[i]) {
            print_add(line, sizeof line, "%s %zu run%s (%s)", slow, row->outliers[i],
                      print_plural(row->outliers[i]), stat_outlier_words[i]);
            slow = ",";
        }
    print_add(line, sizeof line, "%s", slow[1] ? "" : ". ");
    if (row->visits > row->recorded * 1.001 && row->recorded > 0)
        print_add(line, sizeof line,
                  "Sampled: one visit in %.1f was timed; visits and sums are scaled. ",
                  row->visits / row->recorded);
    if (row->cost > 0.01 && row->recorded > 0)
        print_add(line, sizeof line, "Timing a visit takes about %s more. ",
                  print_time(row->cost * row->ns.mean / row->recorded, a));
    if (!line[0])
        return;
    fprintf(printer->out, "  #%-3u ", row->subject + 1);
    print_wrap(printer, DIM, 7, 7, line);
}

static void print_part(struct printer *printer, const struct stat_report *report,
                       const struct part *part)
{
    const struct profile_stat_region *region = &report->profile->stat_regions[part->rows[0].region];
    char name[TEXT_BYTES], unit[48], heading[TEXT_BYTES];
    name_clean(region->name, name, 200);
    if (region->kind == PROFILE_STAT_RUN)
        snprintf(heading, sizeof heading, "Whole runs");
    else
        snprintf(heading, sizeof heading, "%s %.900s",
                 region->kind == PROFILE_STAT_FUNCTION ? "Function"
                 : region->kind == PROFILE_STAT_LOOP   ? "Loop"
                                                       : "Marker",
                 name);
    snprintf(unit, sizeof unit, "%s, in %s",
             region->kind == PROFILE_STAT_RUN ? "from start to end" : "all visits of a run",
             unit_for(part->rows[0].ns.median).name);
    print_heading(printer, heading, unit);
    print_times(printer, part);
    if (region->kind == PROFILE_STAT_RUN)
        print_resources(printer, part);
    else
        print_visits(printer, report, part);
    if (part->count > 1)
        fputs("\n", printer->out);
    for (size_t i = 1; i < part->count; i++)
        compare_row(printer, &part->rows[0], &part->rows[i]);
    for (size_t i = 0; i < part->count; i++)
        remark(printer, &part->rows[i]);
}

/* ---- events ------------------------------------------------------------------------------------ */

/* Of a subject's runs: the median of the event, and in which part of the time it was counted. */
static bool event_of(const struct profile *profile, const char *name, uint32_t subject,
                     double *median, double *share)
{
    struct statistics made;
    size_t filled = 0;
    double *values = calloc(profile->stat_events_count + 1, sizeof *values);
    for (size_t i = 0; values && i < profile->stat_events_count; i++) {
        const struct profile_stat_event *event = &profile->stat_events[i];
        const struct profile_stat_run *run = &profile->stat_runs[event->run];
        if (run->warm || run->subject != subject || strcmp(event->name, name) != 0)
            continue;
        values[filled++] = (double)event->value;
        *share = fmin(*share, event->share);
    }
    if (filled) {
        statistics_of(values, filled, &made);
        *median = made.median;
    }
    free(values);
    return filled;
}

static void print_event(struct printer *printer, const char *name)
{
    const struct profile *profile = printer->profile;
    char clean[TEXT_BYTES], cell[32];
    double share = 1;
    name_clean(name, clean, 60);
    fputs("  ", printer->out);
    print_pad(printer, clean, 28, false);
    for (uint32_t subject = 0; subject < profile->stat_subjects_count && subject < 4; subject++) {
        double median = 0;
        if (event_of(profile, name, subject, &median, &share))
            fprintf(printer->out, " %12s", print_quantity(median, cell));
        else
            fprintf(printer->out, " %12s", "-");
    }
    if (share < 1)
        fprintf(printer->out, "  %.0f %%", 100 * share);
    fputs("\n", printer->out);
}

/* Those of the first run that has any, which are those of all. */
static void print_events(struct printer *printer)
{
    const struct profile *profile = printer->profile;
    if (!profile->stat_events_count)
        return;
    print_heading(printer, "Events", "medians, of the program and its children");
    fprintf(printer->out, "  %28s", "");
    for (unsigned subject = 0; subject < profile->stat_subjects_count && subject < 4; subject++)
        fprintf(printer->out, "%12s#%u", "", subject + 1);
    fputs("\n", printer->out);
    uint32_t first = profile->stat_events[0].run;
    for (size_t i = 0; i < profile->stat_events_count && profile->stat_events[i].run == first; i++)
        print_event(printer, profile->stat_events[i].name);
}

/* ---- the slots ----------------------------------------------------------------------------------- */

static bool begin(const struct printer *printer, void **state)
{
    struct stat_report *report = stat_report_make(printer->profile);
    if (report)
        *state = report;
    return report != NULL;
}

static bool describe(const struct printer *printer, char *line, size_t bytes)
{
    const struct profile *profile = printer->profile;
    size_t warm = 0, timed = 0;
    if (!profile->stat_sessions_count)
        return false;
    for (size_t i = 0; i < profile->stat_runs_count; i++) {
        warm += profile->stat_runs[i].warm;
        timed += profile->stat_runs[i].timed && !profile->stat_runs[i].warm;
    }
    snprintf(line, bytes, "%zu run%s, interleaved at random", profile->stat_runs_count - warm,
             print_plural(profile->stat_runs_count - warm));
    if (timed)
        print_add(line, bytes, ", in %zu of them regions were timed", timed);
    if (warm)
        print_add(line, bytes, "; %zu more to warm up, in no figure", warm);
    if (profile->stat_sessions_count > 1)
        print_add(line, bytes, "; %zu sessions", profile->stat_sessions_count);
    return true;
}

static void print_subjects(struct printer *printer)
{
    const struct profile *profile = printer->profile;
    char name[TEXT_BYTES], clean[TEXT_BYTES];
    fprintf(printer->out, "\n%sCommands%s\n", print_on(printer, STRONG), print_off(printer));
    for (size_t i = 0; i < profile->stat_subjects_count; i++) {
        stat_subject_name(&profile->stat_subjects[i], name, sizeof name);
        name_clean(name, clean, sizeof clean);
        fprintf(printer->out, "  #%-3zu ", i + 1);
        print_wrap(printer, PLAIN, 7, 7, clean);
    }
}

static bool print_findings(struct printer *printer, void *state)
{
    const struct stat_report *report = state;
    if (!report->count)
        return true;
    print_subjects(printer);
    for (size_t at = 0; at < report->count;) {
        struct part part = {&report->rows[at], 0};
        while (at < report->count && report->rows[at].region == part.rows[0].region) {
            part.count++;
            at++;
        }
        print_part(printer, report, &part);
    }
    print_events(printer);
    return true;
}

static bool is_limited(const struct printer *printer, const void *state)
{
    const struct stat_report *report = state;
    return report->count && (report->cycle_ns > 0 || printer->profile->stat_skips_count);
}

static void print_limits(struct printer *printer, const void *state)
{
    const struct stat_report *report = state;
    const struct profile *profile = report->profile;
    char line[TEXT_BYTES], subject[TEXT_BYTES], clean[TEXT_BYTES];
    for (size_t i = 0; i < profile->stat_skips_count; i++) {
        const struct profile_stat_skip *skip = &profile->stat_skips[i];
        stat_subject_name(&profile->stat_subjects[skip->subject], subject, 200);
        snprintf(line, sizeof line, "%.200s was not timed in #%u (%.200s): %.300s.",
                 profile->stat_regions[skip->region].name, skip->subject + 1, subject, skip->why);
        name_clean(line, clean, sizeof clean);
        fputs("  ", printer->out);
        print_wrap(printer, PLAIN, 2, 2, clean);
    }
    if (!report->count || report->cycle_ns <= 0)
        return;
    snprintf(
        line, sizeof line,
        "A cycle is taken to last %.4g ns, as measured before and after the runs, within "
        "%.1f %%; the time stamp counter, by which regions are timed, ticks every %.4g ns: %.4g "
        "cycles a tick.",
        report->cycle_ns, 100 * report->cycle_spread, report->tick_ns,
        report->tick_ns / report->cycle_ns);
    fputs("  ", printer->out);
    print_wrap(printer, DIM, 2, 2, line);
}

const struct analysis_text stat_text = {
    .begin = begin,
    .end = stat_report_free,
    .describe = describe,
    .findings = print_findings,
    .is_limited = is_limited,
    .limits = print_limits,
};
