// SPDX-License-Identifier: MIT
/*
 * Statistics of repeated runs against what is known of them: small cases by hand, levels by simulation, faults planted. And figures of
 * profiles: which runs count, which are compared, what is pointed out.
 */
#include "../fuzz/sound_profile.h"
#include "profile/profile.h"
#include "stat/internal.h"
#include "stat/statistics.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

static uint64_t state_of_chance;

static double chance(void)
{
    state_of_chance = state_of_chance * UINT64_C(6364136223846793005) + 1442695040888963407u;
    return ((double)(state_of_chance >> 11) + 0.5) / 9007199254740992.0;
}

static double normal(void)
{
    return sqrt(-2 * log(chance())) * cos(2 * 3.14159265358979 * chance());
}

/* As times of runs are: a floor, a tail to the right, and a machine that is slow for a while. */
static double run_time(double *drift)
{
    *drift = 0.9 * *drift + 0.004 * normal();
    return (100 + exp(normal())) * (1 + *drift);
}

static void five_values_by_hand(void **state)
{
    double values[] = {5, 1, 4, 2, 3};
    struct statistics made;
    statistics_of(values, 5, &made);
    assert_true(made.min == 1 && made.max == 5 && made.median == 3 && made.mean == 3);
    assert_true(fabs(made.sd - sqrt(2.5)) < 1e-12);
    assert_true(made.low == 1 && made.high == 5);
    assert_true(fabs(statistics_spread(values, 5, 3) - 1.4826) < 1e-12);
    double one = 7;
    statistics_of(&one, 1, &made);
    assert_true(made.median == 7 && made.low == 7 && made.high == 7 && made.sd == 0);
}

/* The bootstrap's distribution of a median of 15, drawn a hundred thousand times. */
static void intervals_of_medians_are_the_bootstraps(void **state)
{
    enum { COUNT = 15, DRAWS = 100000 };
    double values[COUNT];
    static size_t ranks[COUNT];
    struct statistics made;
    for (int i = 0; i < COUNT; i++)
        values[i] = i;
    statistics_of(values, COUNT, &made);
    for (int i = 0; i < DRAWS; i++) {
        unsigned drawn[COUNT] = {0}, below = 0, rank = 0;
        for (int j = 0; j < COUNT; j++)
            drawn[(unsigned)(chance() * COUNT)]++;
        while ((below += drawn[rank]) < COUNT / 2 + 1)
            rank++;
        ranks[rank]++;
    }
    size_t sum = 0, low = 0, high;
    while ((sum += ranks[low]) <= DRAWS / 40)
        low++;
    for (high = low; (sum += ranks[high + 1]) <= DRAWS - DRAWS / 40;)
        high++;
    assert_true(made.low == (double)low && made.high == (double)high + 1);
}

static double covered(size_t rounds, double truth, unsigned trials, double *excluded_one)
{
    double first[64], second[64];
    unsigned inside = 0, excluded = 0;
    for (unsigned i = 0; i < trials; i++) {
        double drift = 0;
        struct statistics_ratio ratio;
        for (size_t j = 0; j < rounds; j++) {
            bool swapped = chance() < 0.5;
            double a = run_time(&drift), b = run_time(&drift);
            first[j] = swapped ? b : a;
            second[j] = truth * (swapped ? a : b);
        }
        assert_int_equal(statistics_paired(first, second, rounds, &ratio), BASE_OK);
        assert_true(ratio.known && ratio.bounded);
        assert_true(ratio.low <= ratio.value && ratio.value <= ratio.high);
        inside += ratio.low <= truth && truth <= ratio.high;
        excluded += ratio.low > 1 || ratio.high < 1;
    }
    *excluded_one = (double)excluded / trials;
    return (double)inside / trials;
}

/* 8,000 trials are within 0.7 points. */
static void intervals_hold_their_level(void **state)
{
    static const size_t rounds[] = {6, 10, 30, 41};
    double excluded;
    for (size_t i = 0; i < BASE_COUNT(rounds); i++) {
        double level = covered(rounds[i], 1, 8000, &excluded);
        assert_true(level > 0.943 && level < (rounds[i] == 6 ? 0.98 : 0.96));
        assert_true(fabs(level + excluded - 1) < 1e-9);
    }
    assert_true(covered(10, 1.1, 8000, &excluded) > 0.943);
}

/* What is said to be detectable is detected four times of five. */
static void what_is_detectable_is_detected(void **state)
{
    double drift = 0, first[30], second[30], detectable = 0, excluded;
    for (int i = 0; i < 200; i++) {
        struct statistics_ratio ratio;
        for (int j = 0; j < 30; j++) {
            first[j] = run_time(&drift);
            second[j] = run_time(&drift);
        }
        assert_int_equal(statistics_paired(first, second, 30, &ratio), BASE_OK);
        detectable += ratio.detectable / 200;
    }
    covered(30, 1 + detectable, 4000, &excluded);
    assert_true(excluded > 0.72 && excluded < 0.92);
    covered(30, 1.02, 4000, &excluded);
    assert_true(excluded > 0.9);
}

static void few_values_have_no_interval(void **state)
{
    double first[] = {1, 1, 1, 1, 1, 1}, second[] = {2, 2.1, 1.9, 2, 2.2, 2};
    struct statistics_ratio ratio;
    assert_int_equal(statistics_paired(first, second, 5, &ratio), BASE_OK);
    assert_true(ratio.known && !ratio.bounded && fabs(ratio.value - 2) < 0.1);
    assert_int_equal(statistics_paired(first, second, 6, &ratio), BASE_OK);
    assert_true(ratio.bounded && ratio.low > 1.8 && ratio.high < 2.3);
    assert_int_equal(statistics_paired(first, second, 0, &ratio), BASE_OK);
    assert_true(!ratio.known);
}

/* More than all means of two are taken of. */
static void many_values_are_bounded(void **state)
{
    enum { MANY = 3500 };
    double *first = calloc(2 * MANY, sizeof *first), *second = first + MANY;
    struct statistics_ratio ratio;
    for (int i = 0; i < MANY; i++) {
        first[i] = 100 + normal();
        second[i] = 101 + normal();
    }
    assert_int_equal(statistics_paired(first, second, MANY, &ratio), BASE_OK);
    assert_true(ratio.bounded && ratio.low > 1.005 && ratio.high < 1.015 && ratio.low < 1.01 &&
                ratio.high > 1.01);
    free(first);
}

static int ascending(const void *a, const void *b)
{
    double one = *(const double *)a, two = *(const double *)b;
    return (one > two) - (one < two);
}

static void modes_are_two_only_if_they_are(void **state)
{
    double values[40];
    size_t split, wrong = 0;
    for (int trial = 0; trial < 2000; trial++) {
        for (int i = 0; i < 40; i++)
            values[i] = trial % 2 ? 100 + chance() : 100 + normal();
        qsort(values, 40, sizeof *values, ascending);
        wrong += statistics_modes(values, 40, &split);
    }
    assert_true(wrong < 10);
    for (int i = 0; i < 40; i++)
        values[i] = (i < 15 ? 100 : 120) + normal() / 2;
    qsort(values, 40, sizeof *values, ascending);
    assert_true(statistics_modes(values, 40, &split) && split == 15);
    assert_false(statistics_modes(values, 9, &split));
}

/* ---- figures of a profile ---------------------------------------------------------------------- */

static struct profile *session_of(size_t rounds)
{
    struct profile *profile = profile_new();
    *profile_add_stat_sessions(profile) =
        (struct profile_stat_session){.cycle_ns = 0.5, .rounds = 1};
    *profile_add_stat_subjects(profile) = (struct profile_stat_subject){.command = "a"};
    *profile_add_stat_subjects(profile) =
        (struct profile_stat_subject){.number = 1, .command = "b"};
    *profile_add_stat_regions(profile) = (struct profile_stat_region){"run", PROFILE_STAT_RUN};
    *profile_add_stat_regions(profile) = (struct profile_stat_region){"f", PROFILE_STAT_LOOP};
    for (uint32_t i = 0; i < 2 * rounds; i++)
        *profile_add_stat_runs(profile) = (struct profile_stat_run){
            .subject = i % 2,
            .round = i / 2,
            .position = i,
            .warm = i < 2,
            .wall_ns = (i < 2 ? 5000000 : 1000000) + i % 2 * 100000 + i * 100,
            .user_ns = 1000000 + i % 2 * 100000};
    return profile;
}

static void warm_ups_are_in_no_figure_and_rounds_are_compared(void **state)
{
    struct profile *profile = session_of(11);
    struct stat_report *report = stat_report_make(profile);
    assert_int_equal(report->count, 2);
    assert_int_equal(report->rows[0].count, 10);
    assert_true(report->rows[0].ns.max < 1100000);
    assert_false(report->rows[0].ratio.known);
    assert_true(report->rows[1].ratio.low > 1.09 && report->rows[1].ratio.high < 1.11);
    assert_false(report->rows[0].cpu.known);
    assert_true(report->rows[1].cpu.low > 1.0999 && report->rows[1].cpu.high < 1.1001);
    assert_false(report->rows[0].sensitive);
    stat_report_free(report);
    profile_free(profile);
}

/* As of programs whose CPU time is less than the clock's tick. */
static void runs_without_cpu_time_are_left_out_of_its_ratio(void **state)
{
    struct profile *profile = session_of(11);
    for (size_t i = 0; i < 10; i += 2)
        profile->stat_runs[i].user_ns = 0;
    struct stat_report *report = stat_report_make(profile);
    assert_true(report->rows[1].ratio.bounded);
    assert_true(report->rows[1].cpu.bounded); /* six of ten are left */
    stat_report_free(report);
    for (size_t i = 0; i < profile->stat_runs_count; i++)
        profile->stat_runs[i].user_ns = 0;
    report = stat_report_make(profile);
    assert_true(report->rows[1].ratio.bounded && !report->rows[1].cpu.known);
    stat_report_free(report);
    profile_free(profile);
}

static void visits_and_trips_give_cycles(void **state)
{
    struct profile *profile = session_of(11);
    profile->stat_runs[6].timed = 1;
    *profile_add_stat_visits(profile) = (struct profile_stat_visit){.run = 6,
                                                                    .region = 1,
                                                                    .visits = 10,
                                                                    .recorded = 5,
                                                                    .sum_ns = 500,
                                                                    .min_ns = 1,
                                                                    .asleep_ns = 100};
    *profile_add_stat_visits(profile) = (struct profile_stat_visit){.run = 6, .sum_ns = 1};
    *profile_add_stat_trips(profile) = (struct profile_stat_trip){0, 1, 20, 2000};
    struct stat_report *report = stat_report_make(profile);
    assert_int_equal(report->count, 3);
    const struct stat_row *row = &report->rows[2];
    assert_int_equal(report->rows[0].count, 9);
    assert_true(row->visits == 10 && row->recorded == 5 && row->visit_ns.median == 50);
    assert_true(row->iterations == 100 && row->waiting == 0.2 && row->sensitive);
    stat_report_free(report);
    profile_free(profile);
}

static void slow_runs_are_explained(void **state)
{
    struct profile *profile = session_of(21);
    profile->stat_runs[4].wall_ns *= 2;
    profile->stat_runs[4].major_faults = 3;
    profile->stat_runs[8].wall_ns *= 2;
    profile->stat_runs[8].involuntary = 50;
    profile->stat_runs[12].wall_ns *= 2;
    profile->stat_runs[2].wall_ns *= 2;
    struct stat_report *report = stat_report_make(profile);
    const size_t *outliers = report->rows[0].outliers;
    assert_int_equal(outliers[STAT_DISK], 1);
    assert_int_equal(outliers[STAT_LOAD], 1);
    assert_int_equal(outliers[STAT_UNEXPLAINED], 1);
    assert_int_equal(outliers[STAT_FIRST_RUN], 1);
    assert_int_equal(report->rows[1].outliers[STAT_UNEXPLAINED], 0);
    stat_report_free(report);
    profile_free(profile);
}

/* From a file that somebody else made. */
static void odd_profiles_are_no_danger(void **state)
{
    struct profile *profile = session_of(11);
    profile->stat_regions_count = 0;
    struct stat_report *report = stat_report_make(profile);
    assert_non_null(report);
    assert_int_equal(report->count, 0);
    stat_report_free(report);
    profile_free(profile);
    profile = profile_new();
    sound_profile_fill(profile);
    report = stat_report_make(profile);
    assert_non_null(report);
    stat_report_free(report);
    profile_free(profile);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(five_values_by_hand),
        cmocka_unit_test(intervals_of_medians_are_the_bootstraps),
        cmocka_unit_test(intervals_hold_their_level),
        cmocka_unit_test(what_is_detectable_is_detected),
        cmocka_unit_test(few_values_have_no_interval),
        cmocka_unit_test(many_values_are_bounded),
        cmocka_unit_test(modes_are_two_only_if_they_are),
        cmocka_unit_test(warm_ups_are_in_no_figure_and_rounds_are_compared),
        cmocka_unit_test(runs_without_cpu_time_are_left_out_of_its_ratio),
        cmocka_unit_test(visits_and_trips_give_cycles),
        cmocka_unit_test(slow_runs_are_explained),
        cmocka_unit_test(odd_profiles_are_no_danger),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
