// SPDX-License-Identifier: MIT
/* What an iteration took: CPU time of samples over executions of the loop's head, summed over the paths through it. */
#include "assess/assess.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

enum { HEAD = 0x1100, OTHER = 0x1200 };

/* Module 1, with a loop at HEAD that has a quarter of 8 ms. */
static struct profile *sampled(const char *module, double cycle_ns)
{
    struct profile *profile = profile_new();
    assert_non_null(profile);
    *profile_add_limit_runs(profile) =
        (struct profile_limit_run){.machine = "here", .title = "here", .cycle_ns = cycle_ns};
    *profile_add_limit_loops(profile) = (struct profile_limit_loop){
        .function = "f", .module = module, .address = HEAD, .measured = -1, .share = 0.25};
    *profile_add_times(profile) = (struct profile_time){.ticks = 6, .ns = 6000000};
    *profile_add_times(profile) = (struct profile_time){.ticks = 2, .ns = 2000000};
    return profile;
}

static void add_module(struct profile *profile, const char *path)
{
    *profile_add_modules(profile) = (struct profile_module){.path = path};
}

static void add_path(struct profile *profile, uint64_t count, const uint32_t *blocks,
                     uint32_t steps)
{
    *profile_add_paths(profile) =
        (struct profile_path){.function = 1,
                              .count = count,
                              .first_step = (uint32_t)profile->path_steps_count,
                              .steps = steps};
    for (uint32_t i = 0; i < steps; i++)
        profile_add_path_steps(profile)->block = blocks[i];
}

/* A function whose blocks 0, 1, 2 are an entry, the head, and what follows: entered 10 times, 400 iterations by one
   way, 590 by another. */
static struct profile *counted(const char *module)
{
    struct profile *profile = profile_new();
    assert_non_null(profile);
    while (profile->modules_count < 1)
        add_module(profile, "");
    add_module(profile, module);
    while (profile->path_functions_count < 1)
        *profile_add_path_functions(profile) = (struct profile_path_function){0};
    *profile_add_path_functions(profile) = (struct profile_path_function){.module = 1};
    const uint64_t addresses[] = {0x1000, HEAD, OTHER};
    for (uint32_t i = 0; i < 3; i++)
        *profile_add_path_blocks(profile) =
            (struct profile_path_block){.function = (uint32_t)profile->path_functions_count - 1,
                                        .block = i,
                                        .address = addresses[i]};
    profile->path_functions[profile->path_functions_count - 1].module =
        (uint32_t)profile->modules_count - 1;
    add_path(profile, 10, (const uint32_t[]){0, 1, 2}, 3);
    add_path(profile, 400, (const uint32_t[]){1, 2}, 2);
    add_path(profile, 590, (const uint32_t[]){1}, 1);
    return profile;
}

static void cycles_are_time_over_iterations(void **state)
{
    struct profile *profile = sampled("/bin/a", 0.5), *counts = counted("/bin/a");
    assert_true(assess_measure(counts, profile));
    assert_int_equal(profile->limit_loops[0].iterations, 1000);
    /* 2 ms over 1000 are 2000 ns, and 4000 cycles of half a nanosecond. */
    assert_true(profile->limit_loops[0].measured > 3999.99 &&
                profile->limit_loops[0].measured < 4000.01);
    profile_free(profile);
    profile_free(counts);
}

static void what_was_not_counted_is_not_measured(void **state)
{
    struct profile *profile = sampled("/bin/b", 0.5), *counts = counted("/bin/a");
    assert_true(assess_measure(counts, profile));
    assert_int_equal(profile->limit_loops[0].iterations, 0);
    assert_true(profile->limit_loops[0].measured < 0);
    profile_free(profile);
    profile = sampled("/bin/a", 0); /* nobody knows how long a cycle took */
    assert_true(assess_measure(counts, profile));
    assert_int_equal(profile->limit_loops[0].iterations, 1000);
    assert_true(profile->limit_loops[0].measured < 0);
    profile_free(profile);
    profile_free(counts);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cycles_are_time_over_iterations),
        cmocka_unit_test(what_was_not_counted_is_not_measured),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
