// SPDX-License-Identifier: MIT
/*
 * The formula of Shen et al. where its assumption holds, accesses that are independent of each
 * other: the stack distances derived from the time distances of random traces are the measured
 * ones to sampling noise, bin by bin; and what theory says of such traces.
 *
 * reuse_test compares whole histograms; this one asks of each bin whether the two differ by more
 * than two traces do.
 */
#include "distance/distance.h"
#include "mrc/mrc.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <cmocka.h>

enum { ACCESSES = 200000, TRACES = 12 };

/* ---- memory for `distance` ----------------------------------------------------------------- */

static void *map(void *context, size_t bytes, bool reserve)
{
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return memory == MAP_FAILED ? NULL : memory;
}

static void unmap(void *context, void *memory, size_t bytes)
{
    munmap(memory, bytes);
}

static const struct distance_memory memory = {map, unmap, NULL};

/* ---- random traces --------------------------------------------------------------------------- */

/* Locations are drawn with the shares that `below` adds up. */
struct source {
    const char *name;
    uint32_t population;
    double (*weight)(uint32_t i);
    double streaming; /* share of accesses to locations that nothing touches again */
    double allowed;   /* mean bias, in deviations of one trace */
    double *below;
};

static double even(uint32_t i)
{
    return 1;
}

static double zipf_half(uint32_t i)
{
    return 1 / sqrt(i + 1.0);
}

static double zipf(uint32_t i)
{
    return 1 / (i + 1.0);
}

/* A few with half of the accesses. */
static double hot_and_cold(uint32_t i)
{
    return i < 100 ? 50 : 1;
}

/* Each class is ten times as large as the one before, and its locations a tenth as popular. */
static double three_classes(uint32_t i)
{
    return i < 50 ? 1 : i < 550 ? 0.1 : 0.01;
}

/*
 * 1 and more deviations: that is a bias that shows. Of locations that have a tenth of all accesses
 * (zipf) the histogram does not show which distances are theirs, and of 64 locations the number
 * met is not normally distributed (src/host/mrc/mrc.c).
 */
static struct source sources[] = {
    {"uniform 64", 64, even, 0, 4, NULL},
    {"uniform 1000", 1000, even, 0, 1, NULL},
    {"uniform 30000", 30000, even, 0, 1, NULL},
    {"zipf 0.5 of 2000", 2000, zipf_half, 0, 1, NULL},
    {"zipf 1 of 500", 500, zipf, 0, 1.5, NULL},
    {"zipf 1 of 20000", 20000, zipf, 0, 1.5, NULL},
    {"hot and cold", 5100, hot_and_cold, 0, 1, NULL},
    {"three classes", 5550, three_classes, 0, 1, NULL},
    {"half streaming", 1000, even, 0.5, 1, NULL},
};

static void prepare(struct source *source)
{
    double sum = 0, whole = 0;
    source->below = malloc(source->population * sizeof *source->below);
    assert_non_null(source->below);
    for (uint32_t i = 0; i < source->population; i++)
        whole += source->weight(i);
    for (uint32_t i = 0; i < source->population; i++)
        source->below[i] = (sum += source->weight(i)) / whole;
    source->below[source->population - 1] = 2;
}

static double chance(struct base_random *random)
{
    return (double)(base_random_next(random) >> 11) * 0x1p-53;
}

static uint32_t draw(const struct source *source, struct base_random *random)
{
    double wanted = chance(random);
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

struct measured {
    double time[DISTANCE_BINS], stack[DISTANCE_BINS];
    struct distance_totals totals;
};

/* phase: not 0: in so many accesses the locations are a few of all, then others; not
 * independent. */
static void measure(const struct source *source, uint64_t seed, uint64_t phase,
                    struct measured *measured)
{
    static const struct distance_options options = {.unit_shift = 6,
                                                    .share = UINT64_C(1) << 32,
                                                    .stack = true,
                                                    .address_limit = UINT64_C(1) << 37};
    struct distance *distance = aligned_alloc(64, (distance_bytes() + 63) & ~(size_t)63);
    assert_non_null(distance);
    assert_int_equal(distance_init(distance, &options, &memory), BASE_OK);
    struct base_random random = {seed};
    uint64_t fresh = source->population, location = 0;
    for (uint64_t now = 1; now <= ACCESSES; now++) {
        location = source->streaming > 0 && chance(&random) < source->streaming
                       ? fresh++
                       : draw(source, &random);
        if (phase)
            location =
                (location % (source->population / 16) + now / phase * 7919) % source->population;
        distance_access(distance, location << 6, 8, 1, now);
    }
    distance_totals(distance, &measured->totals);
    distance_histograms(distance, measured->time, measured->stack);
    distance_free(distance);
    free(distance);
}

/* ---- the formula against what was measured --------------------------------------------------- */

/* Over TRACES traces: sums and sums of squares of shares by bin. */
struct noise {
    double truth[DISTANCE_BINS], truth_squares[DISTANCE_BINS];
    double apart[DISTANCE_BINS]; /* formula − truth of the same trace */
};

static void add_trace(struct noise *noise, const struct measured *measured)
{
    double stack[DISTANCE_BINS], sum = mrc_sum(measured->stack);
    mrc_stack_from_time(measured->time, measured->totals.locations, measured->totals.locations,
                        stack);
    for (unsigned bin = 0; bin < DISTANCE_BINS; bin++) {
        double truth = measured->stack[bin] / sum;
        noise->truth[bin] += truth;
        noise->truth_squares[bin] += truth * truth;
        noise->apart[bin] += stack[bin] / sum - truth;
    }
}

/* How far the formula is off on average, in standard deviations of one trace: root of the mean
   square over the bins that matter, and the largest. */
struct bias {
    double mean, most;
    unsigned bins, most_bin;
    double total; /* Σ |difference| / 2 of shares */
};

static struct bias bias_of(const struct noise *noise)
{
    struct bias bias = {0};
    double squares = 0;
    for (unsigned bin = 0; bin < DISTANCE_BINS; bin++) {
        double truth = noise->truth[bin] / TRACES;
        double variance =
            (noise->truth_squares[bin] / TRACES - truth * truth) * TRACES / (TRACES - 1);
        double apart = fabs(noise->apart[bin] / TRACES);
        bias.total += apart / 2;
        if (truth * ACCESSES < 50) /* too few for a standard deviation */
            continue;
        double deviations = apart / sqrt(fmax(variance, truth / ACCESSES / 4));
        squares += deviations * deviations;
        bias.bins++;
        if (deviations > bias.most) {
            bias.most = deviations;
            bias.most_bin = bin;
        }
    }
    bias.mean = sqrt(squares / bias.bins);
    return bias;
}

static struct bias formula(const struct source *source, uint64_t phase)
{
    struct noise noise = {0};
    struct measured measured;
    for (uint64_t trace = 0; trace < TRACES; trace++) {
        measure(source, 77 + trace, phase, &measured);
        add_trace(&noise, &measured);
    }
    return bias_of(&noise);
}

static void independent_accesses_are_exact_to_noise(void **state)
{
    for (size_t i = 0; i < BASE_COUNT(sources); i++) {
        struct bias bias = formula(&sources[i], 0);
        print_message("# %-16s %3u bins: off by %.2f deviations of one trace, at most %.2f (at "
                      "%llu); by %.4f of the reuses in all\n",
                      sources[i].name, bias.bins, bias.mean, bias.most,
                      (unsigned long long)distance_bin_low(bias.most_bin), bias.total);
        assert_true(bias.bins > 30 && bias.mean < sources[i].allowed && bias.total < 0.01);
    }
}

/* The comparison can fail. */
static void phases_are_not_independent(void **state)
{
    struct bias bias = formula(&sources[1], 5000);
    print_message("# phases: off by %.2f deviations, by %.4f in all\n", bias.mean, bias.total);
    assert_true(bias.mean > 4 && bias.total > 0.015);
}

/* ---- theory ---------------------------------------------------------------------------------- */

/*
 * M accesses drawn evenly from N locations. On paper:
 * - The next use of an access's location comes after exactly t accesses with chance
 *   (1 - 1/N)^(t-1) / N, and M - t accesses have room for it: so many times that in the mean.
 * - An access meets the location at place d of the stack with chance 1/N, as soon as there is one:
 * after d + 1 different locations were met, which takes N/N + N/(N-1) + ... + N/(N-d) accesses in
 * the mean. Stack distance d occurs (M - that) / N times.
 * - N (1 - (1 - 1/N)^M) locations are touched.
 */
static void expected_evenly(double population, double *time, double *stack)
{
    double waited = 0, next = 1 / population;
    memset(time, 0, DISTANCE_BINS * sizeof *time);
    memset(stack, 0, DISTANCE_BINS * sizeof *stack);
    for (uint64_t t = 1; t < ACCESSES; t++, next *= 1 - 1 / population)
        time[distance_bin(t)] += next * (double)(ACCESSES - t);
    for (double d = 0; d < population; d++) {
        waited += population / (population - d);
        if (waited < ACCESSES)
            stack[distance_bin((uint64_t)d)] += (ACCESSES - waited) / population;
    }
}

/* Root of the mean square of the differences in standard deviations of counts. */
static double deviations(const double *expected, const double *counts)
{
    double squares = 0;
    unsigned bins = 0;
    for (unsigned bin = 0; bin < DISTANCE_BINS; bin++) {
        if (expected[bin] < 20)
            continue;
        squares += (counts[bin] - expected[bin]) * (counts[bin] - expected[bin]) / expected[bin];
        bins++;
    }
    assert_true(bins > 40);
    return sqrt(squares / bins);
}

static void evenly_drawn_locations_are_as_on_paper(void **state)
{
    static const size_t which[] = {1, 2};
    for (size_t i = 0; i < BASE_COUNT(which); i++) {
        const struct source *source = &sources[which[i]];
        double time[DISTANCE_BINS], stack[DISTANCE_BINS], derived[DISTANCE_BINS];
        struct measured measured;
        measure(source, 5, 0, &measured);
        mrc_stack_from_time(measured.time, measured.totals.locations, measured.totals.locations,
                            derived);
        expected_evenly(source->population, time, stack);
        double of_time = deviations(time, measured.time);
        double of_stack = deviations(stack, measured.stack);
        double of_formula = deviations(stack, derived);
        print_message("# %s: time %.2f, stack %.2f, stack by the formula %.2f deviations from "
                      "theory\n",
                      source->name, of_time, of_stack, of_formula);
        assert_true(of_time < 1.5 && of_stack < 1.5 && of_formula < 1.5);
        double touched = source->population * (1 - pow(1 - 1.0 / source->population, ACCESSES));
        assert_true(fabs(measured.totals.locations - touched) < 4 * sqrt(source->population));
        /* It can fail: of another population. */
        expected_evenly(source->population * 1.1, time, stack);
        assert_true(deviations(time, measured.time) > 1.5);
        assert_true(deviations(stack, measured.stack) > 1.5);
    }
}

static int prepare_all(void **state)
{
    for (size_t i = 0; i < BASE_COUNT(sources); i++)
        prepare(&sources[i]);
    return 0;
}

static int free_all(void **state)
{
    for (size_t i = 0; i < BASE_COUNT(sources); i++)
        free(sources[i].below);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(independent_accesses_are_exact_to_noise),
        cmocka_unit_test(phases_are_not_independent),
        cmocka_unit_test(evenly_drawn_locations_are_as_on_paper),
    };
    return cmocka_run_group_tests(tests, prepare_all, free_all);
}
