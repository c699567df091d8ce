// SPDX-License-Identifier: MIT
/*
 * Stack distances derived from time distances, against the true ones of random traces: where
 * accesses are independent, as the model assumes, the two differ no more than two
 * traces of the same program do.
 */
#include "mrc/mrc.h"

#include <setjmp.h>
#include <stdarg.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <cmocka.h>

/* ---- traces and their true histograms --------------------------------------------------- */

struct truth {
    double time[DISTANCE_BINS], stack[DISTANCE_BINS];
    double locations;
};

static void fenwick_add(int32_t *sums, size_t count, size_t at, int32_t value)
{
    for (size_t i = at + 1; i <= count; i += i & -i)
        sums[i] += value;
}

static int32_t fenwick_sum(const int32_t *sums, size_t end)
{
    int32_t sum = 0;
    for (size_t i = end; i; i -= i & -i)
        sum += sums[i];
    return sum;
}

/* A mark stands at the last use of every location; marks in between are different locations. */
static void measure(const uint32_t *trace, size_t count, uint32_t most, struct truth *truth)
{
    int32_t *marks = calloc(count + 1, sizeof *marks);
    size_t *last = calloc(most, sizeof *last);
    memset(truth, 0, sizeof *truth);
    for (size_t i = 0; i < count; i++) {
        size_t before = last[trace[i]];
        if (before) {
            int32_t between = fenwick_sum(marks, i) - fenwick_sum(marks, before);
            truth->time[distance_bin(i + 1 - before)]++;
            truth->stack[distance_bin((uint64_t)between)]++;
            fenwick_add(marks, count, before - 1, -1);
        } else {
            truth->locations++;
        }
        fenwick_add(marks, count, i, 1);
        last[trace[i]] = i + 1;
    }
    free(marks);
    free(last);
}

struct source {
    struct base_random random;
    uint32_t population;
    const double *below; /* cumulative shares; NULL: uniform */
    double streaming;    /* share of accesses to locations that nothing touches again */
};

static double uniform(struct base_random *random)
{
    return (double)(base_random_next(random) >> 11) * 0x1p-53;
}

static uint32_t draw(struct source *source)
{
    if (!source->below)
        return (uint32_t)base_random_below(&source->random, source->population);
    double wanted = uniform(&source->random);
    uint32_t low = 0, high = source->population - 1;
    while (low < high) {
        uint32_t middle = (low + high) / 2;
        if (source->below[middle] > wanted)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

enum { ACCESSES = 500000 };

static void random_trace(struct source source, uint64_t seed, struct truth *truth)
{
    uint32_t *trace = malloc(ACCESSES * sizeof *trace), fresh = source.population;
    source.random.state = seed;
    for (size_t i = 0; i < ACCESSES; i++)
        trace[i] = uniform(&source.random) < source.streaming ? fresh++ : draw(&source);
    measure(trace, ACCESSES, fresh, truth);
    free(trace);
}

static double *zipf(uint32_t population, double exponent)
{
    double *below = malloc(population * sizeof *below), sum = 0, whole = 0;
    for (uint32_t i = 0; i < population; i++)
        whole += pow(i + 1, -exponent);
    for (uint32_t i = 0; i < population; i++)
        below[i] = (sum += pow(i + 1, -exponent)) / whole;
    below[population - 1] = 2;
    return below;
}

/* 1 − Σ |a − b| / 2 over all bins, in shares. */
static double agreement(const double *a, const double *b)
{
    double apart = 0, sums[2] = {mrc_sum(a), mrc_sum(b)};
    for (unsigned i = 0; i < DISTANCE_BINS; i++)
        apart += fabs(a[i] / sums[0] - b[i] / sums[1]);
    return 1 - apart / 2;
}

/* ---- independent accesses ------------------------------------------------------------------ */

struct outcome {
    double noise, model, octaves, expected, forgetful;
};

static struct outcome compare(struct source source, uint64_t seed)
{
    static struct truth one, other;
    double stack[DISTANCE_BINS];
    struct outcome outcome;
    random_trace(source, seed, &one);
    random_trace(source, seed + 1000, &other);
    outcome.noise = agreement(one.stack, other.stack);
    mrc_stack_from_time(one.time, one.locations, one.locations, stack);
    assert_float_equal(mrc_sum(stack), mrc_sum(one.time), 1e-3);
    outcome.model = agreement(stack, one.stack);
    outcome.octaves = mrc_similarity(stack, one.stack);
    mrc_stack_expected(one.time, one.locations, stack);
    assert_float_equal(mrc_sum(stack), mrc_sum(one.time), 1e-3);
    outcome.expected = mrc_similarity(stack, one.stack);
    mrc_stack_from_time(one.time, 0, one.locations, stack);
    outcome.forgetful = agreement(stack, one.stack);
    return outcome;
}

static void independent_accesses_match(void **state)
{
    static const struct {
        const char *name;
        uint32_t population;
        double exponent, streaming;
        double allowed; /* beyond what two traces differ by: see below */
    } cases[] = {
        {"uniform 1000", 1000, 0, 0, 0},
        {"uniform 20000", 20000, 0, 0, 0},
        {"zipf 0.8 of 1000", 1000, 0.8, 0, 0},
        {"zipf 1 of 20000", 20000, 1, 0, 0},
        {"half streaming", 1000, 0, 0.5, 0},
        {"streaming zipf", 5000, 1, 0.2, 0},
        /* One location has a quarter of the accesses. */
        {"zipf 1.3 of 5000", 5000, 1.3, 0, 0.01},
        /* So few that the normal distribution shows. */
        {"uniform 16", 16, 0, 0, 0.03},
    };
    for (size_t i = 0; i < BASE_COUNT(cases); i++) {
        double *below = cases[i].exponent > 0 ? zipf(cases[i].population, cases[i].exponent) : NULL;
        struct source source = {
            .population = cases[i].population, .below = below, .streaming = cases[i].streaming};
        struct outcome outcome = compare(source, 42 + i);
        print_message(
            "# %-16s all bins: model %.4f, two traces %.4f; octaves: model %.4f, expected "
            "value %.4f; first touches forgotten: %.4f\n",
            cases[i].name, outcome.model, outcome.noise, outcome.octaves, outcome.expected,
            outcome.forgetful);
        assert_true(outcome.model > outcome.noise - cases[i].allowed);
        assert_true(outcome.octaves > 0.995 - cases[i].allowed);
        assert_true(outcome.expected > 0.96);
        /* The comparison can fail. */
        if (cases[i].streaming > 0)
            assert_true(outcome.forgetful < 0.95);
        free(below);
    }
}

/* ---- traces without chance ------------------------------------------------------------------ */

/* Round and round over the locations: every distance is the same. */
static void sweeps_are_exact(void **state)
{
    static const uint32_t populations[] = {2, 100, 1000, 5000};
    for (size_t i = 0; i < BASE_COUNT(populations); i++) {
        double time[DISTANCE_BINS] = {0}, stack[DISTANCE_BINS];
        double locations = populations[i];
        time[distance_bin(populations[i])] = locations * 50;
        mrc_stack_from_time(time, locations, locations, stack);
        unsigned expected = distance_bin(populations[i] - 1), got = 0;
        for (unsigned bin = 0; bin < DISTANCE_BINS; bin++)
            got = stack[bin] > stack[got] ? bin : got;
        assert_true(got == expected || got + 1 == expected);
        assert_float_equal(mrc_sum(stack), locations * 50, 1e-6);
        assert_true(mrc_quantile(stack, 1) < (double)mrc_bin_end(expected));
    }
}

static void edge_cases_are_sound(void **state)
{
    double time[DISTANCE_BINS] = {0}, stack[DISTANCE_BINS];
    mrc_stack_from_time(time, 0, 0, stack);
    assert_true(mrc_sum(stack) == 0);
    mrc_stack_from_time(time, 100, 100, stack);
    assert_true(mrc_sum(stack) == 0 && mrc_miss_ratio(stack, 100, 64) == 1);
    assert_true(mrc_quantile(stack, 0.5) == 0 && mrc_miss_ratio(stack, 0, 1) == 0);
    /* One location over and over: nothing in between. */
    time[1] = 1000;
    mrc_stack_from_time(time, 1, 1, stack);
    assert_true(stack[0] == 1000);
    /* Two in turn. */
    time[1] = 0;
    time[2] = 1000;
    mrc_stack_from_time(time, 2, 2, stack);
    assert_float_equal(stack[1], 1000, 1);
    mrc_stack_expected(time, 2, stack);
    assert_float_equal(stack[1], 1000, 1e-6);
    /* A forked child: distances longer than its run, locations that it did not touch first. */
    memset(time, 0, sizeof time);
    time[distance_bin(1000000)] = 1000;
    mrc_stack_from_time(time, 0, 5000, stack);
    assert_float_equal(mrc_sum(stack), 1000, 1e-9);
    assert_true(mrc_quantile(stack, 1) < 5120);
    /* A histogram from a damaged file. */
    for (unsigned bin = 0; bin < DISTANCE_BINS; bin++)
        time[bin] = 1e30;
    mrc_stack_from_time(time, 1e30, 1e30, stack);
    assert_float_equal(mrc_sum(stack) / 1e30, DISTANCE_BINS, 1e-6);
    for (unsigned bin = 0; bin < DISTANCE_BINS; bin++)
        time[bin] = 1e-300;
    mrc_stack_from_time(time, 1e-300, 1, stack);
    for (unsigned bin = 0; bin < DISTANCE_BINS; bin++)
        assert_true(isfinite(stack[bin]) && stack[bin] >= 0);
}

static void takes_less_than_a_few_milliseconds(void **state)
{
    double time[DISTANCE_BINS] = {0}, stack[DISTANCE_BINS];
    struct timespec begin, end;
    for (unsigned bin = 1; bin < distance_bin(UINT64_C(1) << 40); bin++)
        time[bin] = 1e6;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &begin);
    mrc_stack_from_time(time, 1e7, 1e7, stack);
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &end);
    double took_ms =
        (double)(end.tv_sec - begin.tv_sec) * 1e3 + (double)(end.tv_nsec - begin.tv_nsec) / 1e6;
    print_message("# %.2f ms\n", took_ms);
    assert_true(took_ms < 100); /* sanitized builds and busy machines too */
}

/* ---- reading histograms --------------------------------------------------------------------- */

static void quantiles_and_ratios(void **state)
{
    double histogram[DISTANCE_BINS] = {0}, other[DISTANCE_BINS] = {0};
    histogram[0] = 50;
    histogram[distance_bin(4096)] = 50; /* [4096, 4608) */
    assert_true(mrc_quantile(histogram, 0.5) == 0);
    assert_float_equal(mrc_quantile(histogram, 0.75), 4096 + 511 / 2.0, 1e-6);
    assert_float_equal(mrc_quantile(histogram, 1), 4607, 1e-6);
    assert_float_equal(mrc_weight(histogram, 0, 1), 50, 1e-12);
    assert_float_equal(mrc_weight(histogram, 0.5, 4096 + 128), 25 + 12.5, 1e-12);
    assert_float_equal(mrc_weight(histogram, 4608, 0x1p64), 0, 1e-12);
    assert_float_equal(mrc_miss_ratio(histogram, 100, 4096), 0.75, 1e-12);
    assert_float_equal(mrc_miss_ratio(histogram, 100, 8192), 0.5, 1e-12);
    assert_float_equal(mrc_miss_ratio(histogram, 0, 1), 0.5, 1e-12);
    assert_float_equal(mrc_similarity(histogram, histogram), 1, 1e-12);
    assert_true(mrc_similarity(histogram, other) == 0 && mrc_similarity(other, other) == 1);
    other[distance_bin(7000)] = 3; /* in the same octave */
    assert_float_equal(mrc_similarity(histogram, other), 0.5, 1e-12);
    other[1] = 3;
    assert_float_equal(mrc_similarity(histogram, other), 0.5, 1e-12);
}

/* ---- the curve ------------------------------------------------------------------------------ */

static double population_curve(struct source source, uint64_t seed, struct truth *truth,
                               struct mrc_curve *curve)
{
    random_trace(source, seed, truth);
    mrc_curve_prepare(truth->time, truth->locations, curve);
    return truth->locations;
}

/* Uniform accesses to N locations: of Δ − 1 draws N - 1 (1 − (1 − 1 / (N − 1))^(Δ − 1)) differ. */
static void the_curve_is_the_mean(void **state)
{
    static struct truth truth;
    static struct mrc_curve curve;
    double others = population_curve((struct source){.population = 1000}, 5, &truth, &curve) - 1;
    for (double distance = 1; distance < 1e4; distance = ceil(distance * 1.7)) {
        double expected = others * (1 - pow(1 - 1 / others, distance - 1));
        double got = mrc_curve_mean(&curve, distance);
        assert_float_equal(got, expected, 0.02 + expected * 0.01);
    }
    assert_true(mrc_curve_mean(&curve, 0) == 0 && mrc_curve_mean(&curve, 1) == 0);
    double before = 0;
    for (double distance = 1; distance < 0x1p63; distance *= 1.3) {
        double now = mrc_curve_mean(&curve, distance);
        assert_true(isfinite(now) && now >= before);
        before = now;
    }
    /* Nothing known: nothing met. */
    mrc_curve_prepare((double[DISTANCE_BINS]){0}, 0, &curve);
    assert_true(mrc_curve_mean(&curve, 1e6) == 0);
}

/* Hu et al.: the miss ratio of a cache of c units is P(distance > T) where Σ_{t < T} P(distance >
   t) = c; an access that is the last one of its location counts as infinitely far. */
static double aet_miss_ratio(const double *time, double first_touches, double units)
{
    double accesses = mrc_sum(time) + first_touches, beyond = accesses, sum = 0;
    for (unsigned bin = 0; bin + 1 < DISTANCE_BINS; bin++) {
        double low = (double)distance_bin_low(bin), width = (double)distance_bin_low(bin + 1) - low;
        double mean = (beyond - time[bin] / 2) / accesses;
        if (sum + mean * width >= units)
            return (beyond - time[bin] * (units - sum) / (mean * width)) / accesses;
        sum += mean * width;
        beyond -= time[bin];
    }
    return first_touches / accesses;
}

static void average_eviction_times_say_the_same(void **state)
{
    static const struct {
        uint32_t population;
        double exponent, streaming;
    } cases[] = {{20000, 0, 0}, {1000, 0.8, 0}, {20000, 1, 0}, {1000, 0, 0.5}, {5000, 1, 0.2}};
    static struct truth truth;
    double stack[DISTANCE_BINS], largest = 0;
    for (size_t i = 0; i < BASE_COUNT(cases); i++) {
        double *below = cases[i].exponent > 0 ? zipf(cases[i].population, cases[i].exponent) : NULL;
        random_trace((struct source){.population = cases[i].population,
                                     .below = below,
                                     .streaming = cases[i].streaming},
                     7 + i, &truth);
        mrc_stack_expected(truth.time, truth.locations, stack);
        for (uint64_t units = 16; units <= 65536; units *= 2) {
            double theirs = aet_miss_ratio(truth.time, truth.locations, (double)units);
            double ours = mrc_miss_ratio(stack, truth.locations, units);
            largest = fmax(largest, fabs(theirs - ours));
        }
        free(below);
    }
    print_message("# miss ratios by AET and by expected stack distances: at most %.4f apart\n",
                  largest);
    assert_true(largest < 0.02);
}

/* ---- how far off it may be ------------------------------------------------------------------ */

static void stretching_keeps_the_weight(void **state)
{
    double time[DISTANCE_BINS] = {0}, scaled[DISTANCE_BINS];
    time[1] = 3;
    time[distance_bin(100)] = 5;
    time[distance_bin(4096)] = 7;
    mrc_stretch(time, 64, 2, scaled);
    assert_true(scaled[1] == 3);
    assert_float_equal(mrc_sum(scaled), 15, 1e-12);
    assert_float_equal(scaled[distance_bin(8192)], 7, 1e-12);
    /* 96 .. 103 become 192 .. 207. */
    assert_float_equal(scaled[distance_bin(200)], 5, 1e-12);
    mrc_stretch(time, 64, 0.1, scaled);
    assert_true(scaled[1] == 3 && scaled[distance_bin(64)] == 5);
    assert_float_equal(
        scaled[distance_bin(410)] + scaled[distance_bin(420)] + scaled[distance_bin(450)], 7, 1e-9);
    mrc_stretch(time, 0, 1, scaled);
    for (unsigned bin = 0; bin < DISTANCE_BINS; bin++)
        assert_float_equal(scaled[bin], time[bin], 1e-9);
    /* Beyond the last bin nothing is lost. */
    time[DISTANCE_BINS - 1] = 11;
    mrc_stretch(time, 0, 1e12, scaled);
    assert_float_equal(mrc_sum(scaled), 26, 1e-9);
}

/* Sampled time distances with a pace that is off by less than its interval: the true curve lies in
   the band. Without the pace's part it would not. */
static void the_band_holds_the_truth(void **state)
{
    static struct truth truth;
    static struct mrc_band band, narrow;
    double sampled[DISTANCE_BINS] = {0}, off[DISTANCE_BINS], sum;
    struct base_random random = {3};
    unsigned inside = 0, outside_narrow = 0, count = 0;
    random_trace((struct source){.population = 5000, .streaming = 0.1}, 9, &truth);
    double reuses = mrc_sum(truth.time);
    for (unsigned i = 0; i < 2000; i++) {
        double wanted = uniform(&random) * reuses;
        unsigned bin = 0;
        for (sum = truth.time[0]; sum < wanted && bin + 1 < DISTANCE_BINS;)
            sum += truth.time[++bin];
        sampled[bin] += reuses / 2000;
    }
    mrc_stretch(sampled, 64, 1.4, off);
    for (unsigned bin = 0; bin < DISTANCE_BINS; bin++)
        off[bin] *= 1.4;
    double locations = truth.locations * 1.4;
    mrc_band_add(&band, off, locations, locations, 64, 0.6, 1.6, 2000);
    mrc_band_add(&narrow, off, locations, locations, 64, 1, 1, 2000);
    for (uint64_t units = 64; units <= 16384; units *= 2, count++) {
        double right = mrc_miss_ratio(truth.stack, truth.locations, units);
        struct mrc_ratio ratio = mrc_band_at(&band, units), only = mrc_band_at(&narrow, units);
        print_message("# %6u units: %.3f in %.3f .. %.3f; sampling alone %.3f .. %.3f\n",
                      (unsigned)units, right, ratio.low, ratio.high, only.low, only.high);
        assert_true(ratio.low >= 0 && ratio.low <= ratio.ratio && ratio.ratio <= ratio.high &&
                    ratio.high <= 1);
        inside += right >= ratio.low && right <= ratio.high;
        outside_narrow += right < only.low || right > only.high;
    }
    assert_true(inside == count && outside_narrow > 0);
    struct mrc_ratio unknown = mrc_band_at(&(struct mrc_band){0}, 64);
    assert_true(unknown.low == 0 && unknown.high == 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_curve_is_the_mean),
        cmocka_unit_test(average_eviction_times_say_the_same),
        cmocka_unit_test(stretching_keeps_the_weight),
        cmocka_unit_test(the_band_holds_the_truth),
        cmocka_unit_test(independent_accesses_match),
        cmocka_unit_test(sweeps_are_exact),
        cmocka_unit_test(edge_cases_are_sound),
        cmocka_unit_test(takes_less_than_a_few_milliseconds),
        cmocka_unit_test(quantiles_and_ratios),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
