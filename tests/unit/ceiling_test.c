// SPDX-License-Identifier: MIT
/* ceiling: what is advised, and what is bounded, from figures of trials. */
#include "assess/ceiling.h"
#include "ceiling/internal.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

/* A loop of 10 cycles, whose gap and variants are parts of these; negative: not tried. */
struct planted {
    double gap, l2, l3, ls, fp;
    uint64_t trials; /* of variants */
    const char *advice;
    enum advice_evidence evidence;
};

static void add_variant(struct profile *profile, const char *name, double part, double first,
                        uint64_t trials)
{
    *profile_add_ceiling_variants(profile) =
        (struct profile_ceiling_variant){.variant = name,
                                         .ratio = part < 0 ? -1 : part / first,
                                         .trials = part < 0 ? 0 : trials,
                                         .reason = part < 0 ? "of a reason" : NULL};
}

static struct profile *profile_of(const struct planted *given)
{
    struct profile *profile = profile_new();
    double first = 1 - given->gap;
    *profile_add_ceiling_runs(profile) = (struct profile_ceiling_run){.cpu_ns = 1e9};
    *profile_add_ceiling_loops(profile) = (struct profile_ceiling_loop){.function = "f",
                                                                        .module = "/m",
                                                                        .share = .5,
                                                                        .trials = 9,
                                                                        .cycles = 10,
                                                                        .l1_cycles = 10 * first,
                                                                        .gap = given->gap};
    add_variant(profile, "l2", given->l2, first, given->trials);
    add_variant(profile, "l3", given->l3, first, given->trials);
    add_variant(profile, "ls", given->ls, first, given->trials);
    add_variant(profile, "fp", given->fp, first, given->trials);
    return profile;
}

static void advice_follows_from_variants(void **state)
{
    static const struct planted cases[] = {
        {.7, .35, .6, -1, -1, 5, "ceiling.tile-l2", ADVICE_STRONG},
        {.7, .31, .35, -1, -1, 5, "ceiling.tile-l3", ADVICE_STRONG},
        {.7, .31, .35, -1, -1, 1, "ceiling.tile-l3", ADVICE_WEAK},
        {.5, .95, 1.2, -1, -1, 5, "ceiling.tile-l1", ADVICE_STRONG},
        {.5, .75, .9, -1, -1, 5, "ceiling.tile", ADVICE_STRONG},
        {.5, -1, -1, -1, -1, 5, "ceiling.tile", ADVICE_STRONG},
        {.1, -1, -1, .9, .1, 5, "ceiling.prefetch", ADVICE_STRONG},
        {.02, -1, -1, .4, .97, 5, "ceiling.arithmetic", ADVICE_STRONG},
        {.02, -1, -1, .4, .97, 2, "ceiling.arithmetic", ADVICE_WEAK},
        {.02, -1, -1, .97, .4, 5, "ceiling.accesses", ADVICE_STRONG},
        {.02, -1, -1, .97, .97, 5, "ceiling.compute", ADVICE_STRONG},
        {.02, -1, -1, -1, .97, 5, "ceiling.compute", ADVICE_STRONG},
    };
    for (size_t i = 0; i < BASE_COUNT(cases); i++) {
        struct profile *profile = profile_of(&cases[i]);
        struct advice advice = ceiling_advice(profile, profile->ceiling_loops);
        assert_string_equal(advice.id, cases[i].advice);
        assert_int_equal(advice.evidence, cases[i].evidence);
        profile_free(profile);
    }
}

static void variants_are_parts_of_the_loop(void **state)
{
    struct planted given = {.5, .6, 1.1, -1, .4, 5, NULL, ADVICE_STRONG};
    struct profile *profile = profile_of(&given);
    const struct profile_ceiling_loop *loop = profile->ceiling_loops;
    const struct profile_ceiling_variant *second = ceiling_variant(profile, loop, "l2");
    assert_float_equal(ceiling_variant_cycles(loop, second), 6, 1e-9);
    assert_float_equal(ceiling_variant_part(loop, second), .6, 1e-9);
    assert_float_equal(ceiling_variant_bound(profile, "l2"), .2, 1e-9);
    assert_float_equal(ceiling_variant_bound(profile, "l3"), 0, 1e-9);
    assert_true(ceiling_variant_bound(profile, "ls") < 0);
    assert_true(ceiling_variant_part(loop, ceiling_variant(profile, loop, "ls")) < 0);
    assert_null(ceiling_variant(profile, loop, "l1"));
    profile->ceiling_loops->trials = 0; /* nobody knows how long the loop itself takes */
    assert_true(ceiling_variant_part(loop, second) < 0);
    profile_free(profile);
}

/* Trials of loops that execute so many iterations, each in so many thousands of cycles; the clone takes a tenth. */
struct tried {
    unsigned count, turns[5], kilocycles[5];
    double gap;      /* < 0: none */
    uint64_t trials; /* that count */
};

static void trials_come_to(const struct tried *given)
{
    struct trial_pair pairs[5] = {0};
    struct trial_loop loop = {
        .function = "f", .module = "/m", .ns = 1, .pairs = pairs, .pairs_count = given->count};
    struct trial_result result = {.loops = &loop, .count = 1, .ns = 2};
    struct profile *profile = profile_new();
    for (unsigned i = 0; i < given->count; i++) {
        double ticks = 1000.0 * given->kilocycles[i], turns = given->turns[i];
        pairs[i] = (struct trial_pair){.clone = ticks / 10,
                                       .loop = ticks,
                                       .least = ticks / 10,
                                       .clone_turns = turns,
                                       .loop_turns = turns,
                                       .ticks_a_cycle = 1,
                                       .entered = true};
    }
    assert_true(assess_ceiling(profile, &result, 1));
    assert_int_equal(profile->ceiling_loops_count, 1);
    assert_int_equal(profile->ceiling_loops->short_executions, given->gap < 0);
    assert_int_equal(profile->ceiling_loops->trials, given->trials);
    if (given->gap >= 0)
        assert_float_equal(profile->ceiling_loops->gap, given->gap, 1e-9);
    profile_free(profile);
}

static void a_disturbed_trial_does_not_make_a_short_loop_long(void **state)
{
    static const struct tried cases[] = {
        {5, {500, 500, 500, 500, 500}, {200, 210, 190, 200, 205}, .9, 5},
        {5, {500, 500, 500, 500, 500}, {20, 21, 19, 20, 22}, -1, 5},
        /* one was disturbed, with the same number of iterations */
        {5, {500, 510, 500, 490, 500}, {20, 21, 300, 20, 22}, -1, 5},
        /* one has many more */
        {5, {500, 5000, 500, 490, 500}, {20, 210, 20, 20, 22}, .9, 1},
        /* most are long */
        {5, {500, 500, 500, 500, 500}, {101, 102, 99, 103, 110}, .9, 4},
    };
    for (size_t i = 0; i < BASE_COUNT(cases); i++)
        trials_come_to(&cases[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(advice_follows_from_variants),
        cmocka_unit_test(a_disturbed_trial_does_not_make_a_short_loop_long),
        cmocka_unit_test(variants_are_parts_of_the_loop),
    };
    return cmocka_run_group_tests_name("ceiling", tests, NULL, NULL);
}
