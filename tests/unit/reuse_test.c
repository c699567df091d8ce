// SPDX-License-Identifier: MIT
/*
 * Stack distances derived from time distances, against the true ones of random traces: where
 * accesses are independent, as the model assumes, the two differ no more than two
 * traces of the same program do.
 */
#include "reuse/reuse.h"

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
    double apart = 0, sums[2] = {reuse_sum(a), reuse_sum(b)};
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
    reuse_stack_from_time(one.time, one.locations, one.locations, stack);
    assert_float_equal(reuse_sum(stack), reuse_sum(one.time), 1e-3);
    outcome.model = agreement(stack, one.stack);
    outcome.octaves = reuse_similarity(stack, one.stack);
    reuse_stack_expected(one.time, one.locations, stack);
    assert_float_equal(reuse_sum(stack), reuse_sum(one.time), 1e-3);
    outcome.expected = reuse_similarity(stack, one.stack);
    reuse_stack_from_time(one.time, 0, one.locations, stack);
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
        reuse_stack_from_time(time, locations, locations, stack);
        unsigned expected = distance_bin(populations[i] - 1), got = 0;
        for (unsigned bin = 0; bin < DISTANCE_BINS; bin++)
            got = stack[bin] > stack[got] ? bin : got;
        assert_true(got == expected || got + 1 == expected);
        assert_float_equal(reuse_sum(stack), locations * 50, 1e-6);
        assert_true(reuse_quantile(stack, 1) < (double)reuse_bin_end(expected));
    }
}

static void edge_cases_are_sound(void **state)
{
    double time[DISTANCE_BINS] = {0}, stack[DISTANCE_BINS];
    reuse_stack_from_time(time, 0, 0, stack);
    assert_true(reuse_sum(stack) == 0);
    reuse_stack_from_time(time, 100, 100, stack);
    assert_true(reuse_sum(stack) == 0 && reuse_miss_ratio(stack, 100, 64) == 1);
    assert_true(reuse_quantile(stack, 0.5) == 0 && reuse_miss_ratio(stack, 0, 1) == 0);
    /* One location over and over: nothing in between. */
    time[1] = 1000;
    reuse_stack_from_time(time, 1, 1, stack);
    assert_true(stack[0] == 1000);
    /* Two in turn. */
    time[1] = 0;
    time[2] = 1000;
    reuse_stack_from_time(time, 2, 2, stack);
    assert_float_equal(stack[1], 1000, 1);
    reuse_stack_expected(time, 2, stack);
    assert_float_equal(stack[1], 1000, 1e-6);
    /* A forked child: distances longer than its run, locations that it did not touch first. */
    memset(time, 0, sizeof time);
    time[distance_bin(1000000)] = 1000;
    reuse_stack_from_time(time, 0, 5000, stack);
    assert_float_equal(reuse_sum(stack), 1000, 1e-9);
    assert_true(reuse_quantile(stack, 1) < 5120);
    /* A histogram from a damaged file. */
    for (unsigned bin = 0; bin < DISTANCE_BINS; bin++)
        time[bin] = 1e30;
    reuse_stack_from_time(time, 1e30, 1e30, stack);
    assert_float_equal(reuse_sum(stack) / 1e30, DISTANCE_BINS, 1e-6);
    for (unsigned bin = 0; bin < DISTANCE_BINS; bin++)
        time[bin] = 1e-300;
    reuse_stack_from_time(time, 1e-300, 1, stack);
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
    reuse_stack_from_time(time, 1e7, 1e7, stack);
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
    assert_true(reuse_quantile(histogram, 0.5) == 0);
    assert_float_equal(reuse_quantile(histogram, 0.75), 4096 + 511 / 2.0, 1e-6);
    assert_float_equal(reuse_quantile(histogram, 1), 4607, 1e-6);
    assert_float_equal(reuse_miss_ratio(histogram, 100, 4096), 0.75, 1e-12);
    assert_float_equal(reuse_miss_ratio(histogram, 100, 8192), 0.5, 1e-12);
    assert_float_equal(reuse_miss_ratio(histogram, 0, 1), 0.5, 1e-12);
    assert_float_equal(reuse_similarity(histogram, histogram), 1, 1e-12);
    assert_true(reuse_similarity(histogram, other) == 0 && reuse_similarity(other, other) == 1);
    other[distance_bin(7000)] = 3; /* in the same octave */
    assert_float_equal(reuse_similarity(histogram, other), 0.5, 1e-12);
    other[1] = 3;
    assert_float_equal(reuse_similarity(histogram, other), 0.5, 1e-12);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(independent_accesses_match),
        cmocka_unit_test(sweeps_are_exact),
        cmocka_unit_test(edge_cases_are_sound),
        cmocka_unit_test(takes_less_than_a_few_milliseconds),
        cmocka_unit_test(quantiles_and_ratios),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
