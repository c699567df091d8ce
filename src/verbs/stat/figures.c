// SPDX-License-Identifier: MIT
/* Rows of a profile as figures: a region's times in the runs of a subject, and how these compare with the first subject's. */
#include "stat/internal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

const char *const stat_kind_names[PROFILE_STAT_KINDS] = {"run", "function", "loop", "marker"};
const char *const stat_outlier_names[] = {NULL, "first run", "disk", "load", "unknown"};
const char *const stat_outlier_words[] = {NULL, "the first run", "waited for the disk",
                                          "while others took the processor", "of unknown cause"};

/* Parts of the time, beyond which a region depends on what else the machine does. */
#define SENSITIVE_WAITING 0.05
#define SENSITIVE_SPREAD  0.03
#define SENSITIVE_TAKEN   0.03

/* ---- points ---------------------------------------------------------------------------------- */

static size_t row_of(const struct profile *profile, uint32_t region, uint32_t subject)
{
    return region * profile->stat_subjects_count + subject;
}

static bool counts(const struct profile_stat_run *run)
{
    return !run->warm && run->wall_ns > 0;
}

/* Of the region 0, which is the whole run, there are no visits. */
static bool visit_counts(const struct profile *profile, const struct profile_stat_visit *visit)
{
    return visit->region && visit->sum_ns > 0 && counts(&profile->stat_runs[visit->run]);
}

static void count_points(const struct profile *profile, size_t *counted)
{
    for (size_t i = 0; i < profile->stat_runs_count; i++)
        if (counts(&profile->stat_runs[i]) && !profile->stat_runs[i].timed)
            counted[row_of(profile, 0, profile->stat_runs[i].subject)]++;
    for (size_t i = 0; i < profile->stat_visits_count; i++) {
        const struct profile_stat_visit *visit = &profile->stat_visits[i];
        const struct profile_stat_run *run = &profile->stat_runs[visit->run];
        if (visit_counts(profile, visit))
            counted[row_of(profile, visit->region, run->subject)]++;
    }
}

static bool make_rows(struct stat_report *report, const size_t *counted, size_t *row_at)
{
    const struct profile *profile = report->profile;
    for (uint32_t region = 0; region < profile->stat_regions_count; region++)
        for (uint32_t subject = 0; subject < profile->stat_subjects_count; subject++) {
            size_t place = row_of(profile, region, subject);
            if (!counted[place])
                continue;
            struct stat_row *row = &report->rows[report->count];
            *row = (struct stat_row){.region = region, .subject = subject};
            row->points = calloc(counted[place], sizeof *row->points);
            if (!row->points)
                return false;
            row_at[place] = report->count++;
        }
    return true;
}

static void add_point(struct stat_row *row, const struct profile_stat_run *run,
                      const struct profile_stat_visit *visit)
{
    row->points[row->count++] = (struct stat_point){
        .run = run, .visit = visit, .ns = visit ? visit->sum_ns : (double)run->wall_ns};
}

static void fill_points(struct stat_report *report, const size_t *row_at)
{
    const struct profile *profile = report->profile;
    for (size_t i = 0; i < profile->stat_runs_count; i++) {
        const struct profile_stat_run *run = &profile->stat_runs[i];
        if (counts(run) && !run->timed)
            add_point(&report->rows[row_at[row_of(profile, 0, run->subject)]], run, NULL);
    }
    for (size_t i = 0; i < profile->stat_visits_count; i++) {
        const struct profile_stat_visit *visit = &profile->stat_visits[i];
        const struct profile_stat_run *run = &profile->stat_runs[visit->run];
        if (visit_counts(profile, visit))
            add_point(&report->rows[row_at[row_of(profile, visit->region, run->subject)]], run,
                      visit);
    }
}

static bool make_points(struct stat_report *report)
{
    const struct profile *profile = report->profile;
    size_t all = profile->stat_regions_count * profile->stat_subjects_count;
    size_t *counted = calloc(all + 1, sizeof *counted);
    size_t *row_at = calloc(all + 1, sizeof *row_at);
    report->rows = calloc(all + 1, sizeof *report->rows);
    bool good = counted && row_at && report->rows;
    if (good && all)
        count_points(profile, counted);
    good = good && make_rows(report, counted, row_at);
    if (good && all)
        fill_points(report, row_at);
    free(counted);
    free(row_at);
    return good;
}

/* ---- figures of a row ------------------------------------------------------------------------ */

static double measure_of(const struct profile_stat_run *run, enum stat_measure measure)
{
    const uint64_t measures[] = {
        [STAT_USER_NS] = run->user_ns,
        [STAT_SYSTEM_NS] = run->system_ns,
        [STAT_MINOR_FAULTS] = run->minor_faults,
        [STAT_MAJOR_FAULTS] = run->major_faults,
        [STAT_VOLUNTARY] = run->voluntary,
        [STAT_INVOLUNTARY] = run->involuntary,
        [STAT_PEAK_BYTES] = run->peak_bytes,
        [STAT_FAULTS] = run->minor_faults + run->major_faults,
    };
    return (double)measures[measure];
}

double stat_median(const struct stat_row *row, enum stat_measure measure)
{
    struct statistics made;
    double *values = calloc(row->count, sizeof *values);
    if (!values)
        return 0;
    for (size_t i = 0; i < row->count; i++)
        values[i] = measure_of(row->points[i].run, measure);
    statistics_of(values, row->count, &made);
    free(values);
    return made.median;
}

/* What a slow run had more of than others. */
static enum stat_outlier explain(const struct stat_row *row, size_t at)
{
    const struct profile_stat_run *run = row->points[at].run;
    if ((double)run->major_faults > stat_median(row, STAT_MAJOR_FAULTS))
        return STAT_DISK;
    if ((double)run->involuntary > 2 * stat_median(row, STAT_INVOLUNTARY) + 4)
        return STAT_LOAD;
    return at == 0 ? STAT_FIRST_RUN : STAT_UNEXPLAINED;
}

/* ordered: the points' times. Slow ones only: no accident makes a run faster. */
static void find_outliers(struct stat_row *row, const double *ordered)
{
    double spread = statistics_spread(ordered, row->count, row->ns.median);
    double least = fmax(spread, row->ns.median * 0.002);
    row->spread = spread / row->ns.median;
    for (size_t i = 0; i < row->count && row->count > 4; i++) {
        if (row->points[i].ns - row->ns.median <= STATISTICS_OUTLIER * least)
            continue;
        row->points[i].outlier = explain(row, i);
        row->outliers[row->points[i].outlier]++;
    }
}

static void find_modes(struct stat_row *row, const double *ordered)
{
    size_t split;
    if (!statistics_modes(ordered, row->count, &split))
        return;
    row->lower = split;
    row->modes[0] = ordered[split / 2];
    row->modes[1] = ordered[split + (row->count - split) / 2];
}

static double cpu_of(const struct stat_point *point)
{
    return (double)(point->run->user_ns + point->run->system_ns);
}

static void add_parts(struct stat_row *row)
{
    double ns = 0, waiting = 0, preempted = 0, cost = 0;
    for (size_t i = 0; i < row->count; i++) {
        const struct stat_point *point = &row->points[i];
        const struct profile_stat_visit *visit = point->visit;
        ns += point->ns;
        waiting += visit ? visit->asleep_ns : fmax(0, point->ns - cpu_of(point));
        preempted += visit ? visit->preempted_ns : 0;
        cost += visit ? visit->cost_ns * (double)visit->recorded : 0;
        row->visits += visit ? (double)visit->visits / (double)row->count : 0;
        row->recorded += visit ? (double)visit->recorded / (double)row->count : 0;
    }
    row->waiting = waiting / ns;
    row->preempted = preempted / (ns + preempted); /* the times are without */
    row->cost = cost / ns;
    row->sensitive = row->waiting > SENSITIVE_WAITING || row->spread > SENSITIVE_SPREAD ||
                     row->preempted > SENSITIVE_TAKEN || row->modes[0] > 0;
}

static void add_trips(const struct profile *profile, struct stat_row *row)
{
    for (size_t i = 0; i < profile->stat_trips_count; i++) {
        const struct profile_stat_trip *trip = &profile->stat_trips[i];
        if (trip->region == row->region && trip->subject == row->subject && trip->visits)
            row->iterations = (double)trip->iterations / (double)trip->visits;
    }
}

static bool make_figures(const struct profile *profile, struct stat_row *row)
{
    double *values = calloc(row->count, sizeof *values);
    if (!values)
        return false;
    for (size_t i = 0; i < row->count; i++)
        values[i] = row->points[i].ns;
    statistics_of(values, row->count, &row->ns);
    find_outliers(row, values);
    find_modes(row, values);
    for (size_t i = 0; i < row->count && row->points[0].visit; i++)
        values[i] = row->points[i].ns / fmax(1, (double)row->points[i].visit->visits);
    if (row->points[0].visit)
        statistics_of(values, row->count, &row->visit_ns);
    free(values);
    add_parts(row);
    add_trips(profile, row);
    return true;
}

/* ---- ratios ---------------------------------------------------------------------------------- */

static int by_round(const void *a, const void *b)
{
    const struct profile_stat_run *one = ((const struct stat_point *)a)->run,
                                  *two = ((const struct stat_point *)b)->run;
    if (one->session != two->session)
        return one->session < two->session ? -1 : 1;
    return (one->round > two->round) - (one->round < two->round);
}

typedef double measure_of_point(const struct stat_point *point);

static double time_of(const struct stat_point *point)
{
    return point->ns;
}

/* Points by round; those without a partner, or of which nothing was measured, are left out. */
static enum base_status compare_points(const struct stat_point *first, size_t first_count,
                                       const struct stat_point *second, size_t second_count,
                                       measure_of_point *measure, struct statistics_ratio *ratio)
{
    double *values = calloc(2 * first_count + 1, sizeof *values);
    size_t filled = 0;
    if (!values)
        return BASE_NO_MEMORY;
    for (size_t i = 0, j = 0; i < first_count && j < second_count;) {
        int order = by_round(&first[i], &second[j]);
        if (order == 0 && measure(&first[i]) > 0 && measure(&second[j]) > 0) {
            values[filled] = measure(&first[i]);
            values[first_count + filled++] = measure(&second[j]);
        }
        i += order <= 0;
        j += order >= 0;
    }
    enum base_status status = statistics_paired(values, values + first_count, filled, ratio);
    free(values);
    return status;
}

static enum base_status add_ratio(const struct stat_row *first, struct stat_row *row)
{
    struct stat_point *points = calloc(first->count + row->count, sizeof *points);
    if (!points)
        return BASE_NO_MEMORY;
    memcpy(points, first->points, first->count * sizeof *points);
    memcpy(points + first->count, row->points, row->count * sizeof *points);
    qsort(points, first->count, sizeof *points, by_round);
    qsort(points + first->count, row->count, sizeof *points, by_round);
    const struct stat_point *second = points + first->count;
    size_t ours = first->count, theirs = row->count;
    enum base_status status = compare_points(points, ours, second, theirs, time_of, &row->ratio);
    if (status == BASE_OK && !row->points[0].visit)
        status = compare_points(points, ours, second, theirs, cpu_of, &row->cpu);
    free(points);
    return status;
}

static bool make_ratios(struct stat_report *report)
{
    const struct stat_row *first = NULL;
    for (size_t i = 0; i < report->count; i++) {
        struct stat_row *row = &report->rows[i];
        if (!first || first->region != row->region)
            first = row;
        else if (add_ratio(first, row) != BASE_OK)
            return false;
    }
    return true;
}

/* ---- all of it ------------------------------------------------------------------------------- */

static void add_clock(struct stat_report *report)
{
    const struct profile *profile = report->profile;
    size_t known = 0;
    for (size_t i = 0; i < profile->stat_sessions_count; i++) {
        const struct profile_stat_session *session = &profile->stat_sessions[i];
        report->tick_ns = fmax(report->tick_ns, session->tick_ns);
        if (session->cycle_ns <= 0)
            continue;
        report->cycle_ns += session->cycle_ns;
        report->cycle_spread = fmax(report->cycle_spread, session->cycle_spread);
        known++;
    }
    if (known)
        report->cycle_ns /= (double)known;
}

struct stat_report *stat_report_make(const struct profile *profile)
{
    struct stat_report *report = calloc(1, sizeof *report);
    if (!report)
        return NULL;
    report->profile = profile;
    bool good = make_points(report);
    for (size_t i = 0; i < report->count && good; i++)
        good = make_figures(profile, &report->rows[i]);
    if (!good || !make_ratios(report)) {
        stat_report_free(report);
        return NULL;
    }
    add_clock(report);
    return report;
}

void stat_report_free(void *made)
{
    struct stat_report *report = made;
    if (!report)
        return;
    for (size_t i = 0; report->rows && i < report->count; i++)
        free(report->rows[i].points);
    free(report->rows);
    free(report);
}

/* ---- words ----------------------------------------------------------------------------------- */

void stat_reason(const struct stat_row *row, char *text, size_t bytes)
{
    char number[32];
    const char *comma = "";
    text[0] = 0;
    if (!row->sensitive)
        return;
    if (row->waiting > SENSITIVE_WAITING) {
        print_add(text, bytes, "it waits for %s of its time%s", print_percent(row->waiting, number),
                  row->points[0].visit ? "" : ", for a processor or otherwise");
        comma = ", ";
    }
    if (row->preempted > SENSITIVE_TAKEN) {
        print_add(text, bytes, "%sothers took the processor for %s of its time", comma,
                  print_percent(row->preempted, number));
        comma = ", ";
    }
    if (row->modes[0] > 0) {
        print_add(text, bytes, "%sit has two speeds", comma);
        comma = ", ";
    }
    if (row->spread > SENSITIVE_SPREAD)
        print_add(text, bytes, "%sits time varies by %s from run to run", comma,
                  print_percent(row->spread, number));
}

void stat_subject_name(const struct profile_stat_subject *subject, char *text, size_t bytes)
{
    text[0] = 0;
    if (subject->level)
        print_add(text, bytes, "-%s: ", subject->level);
    print_add(text, bytes, "%s", subject->command);
}
