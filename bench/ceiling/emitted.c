// SPDX-License-Identifier: MIT
/*
 * Clones without trials: each kernel of tests/unit/clone on 16 KiB, and its clone, in one process: emitted [NAME...]. What a clone's
 * code does to its time is seen apart from what stops, clocks and neighbours do.
 *
 * Cycles an element, by differences between many elements and half as many, of means: medians over batches.
 */
#include "cycles.h"

#include "clone/runner.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { COUNT = 680, BATCHES = 31, EXECUTIONS = 200, REPEAT = 200, SPARE = 8, STEP = 64 };

static double *arrays[3];

/* Mean of executions that were not interrupted. */
static double kernel_ticks(const struct kernel *kernel, long count)
{
    double ticks[EXECUTIONS], sum = 0;
    int used = 0;
    for (int i = 0; i < EXECUTIONS; i++) {
        uint64_t start = stamp();
        kernel->run(arrays[0], arrays[1], arrays[2], count);
        ticks[i] = (double)(stamp() - start);
    }
    qsort(ticks, EXECUTIONS, sizeof *ticks, ascending);
    while (used < EXECUTIONS && ticks[used] <= 1.5 * ticks[EXECUTIONS / 2] + STEP)
        sum += ticks[used++];
    return sum / used;
}

static double clone_ticks(const struct kernel *kernel, const struct runner_loop *loop, long count)
{
    struct runner_call call = {.a = arrays[0],
                               .b = arrays[1],
                               .c = arrays[2],
                               .n = count,
                               .repeat = REPEAT,
                               .what = RUN_CLONE};
    struct runner_seen seen;
    runner_run(kernel, loop, &call, &seen);
    return seen.entered ? seen.ticks : 0;
}

static double median(double *values)
{
    qsort(values, BATCHES, sizeof *values, ascending);
    return values[BATCHES / 2];
}

static void print_loop(const struct kernel *kernel, const struct runner_loop *loop, long count)
{
    double own[BATCHES], cloned[BATCHES];
    for (int i = 0; i < BATCHES; i++) {
        double cycle = ticks_a_cycle() * (double)(count - count / 2);
        own[i] = (kernel_ticks(kernel, count) - kernel_ticks(kernel, count / 2)) / cycle;
        cycle = ticks_a_cycle() * (double)(count - count / 2);
        cloned[i] =
            (clone_ticks(kernel, loop, count) - clone_ticks(kernel, loop, count / 2)) / cycle;
    }
    double kernels_own = median(own), clones = median(cloned);
    if (clones > 0)
        printf("%-12s %u copies  kernel %7.3f  clone %7.3f  %.3f\n", kernel->name,
               loop->clone.made->copies, kernels_own, clones, clones / kernels_own);
    fflush(stdout);
}

static bool is_wanted(const char *name, int argc, char **argv)
{
    for (int i = 1; i < argc; i++)
        if (strcmp(argv[i], name) == 0)
            return true;
    return argc == 1;
}

int main(int argc, char **argv)
{
    struct model *model;
    if (cfg_start() != BASE_OK || model_open("zen3", &model, NULL) != BASE_OK)
        return 1;
    for (unsigned i = 0; i < 3; i++) {
        arrays[i] = (double *)((char *)aligned_alloc(4096, 4 * 4096) + 4096 + 320 * i);
        for (unsigned e = 0; e < COUNT + SPARE; e++)
            arrays[i][e] = 1 + (double)(e % (3 + 2 * i));
    }
    for (unsigned k = 0; k < kernel_count; k++) {
        struct runner_loop loops[8];
        unsigned count =
            is_wanted(kernels[k].name, argc, argv) ? runner_loops(&kernels[k], model, loops, 8) : 0;
        for (unsigned l = 0; l < count; l++) {
            if (loops[l].clone.reason == CLONE_ELIGIBLE)
                print_loop(&kernels[k], &loops[l],
                           COUNT * (strcmp(kernels[k].name, "bytes") == 0 ? 8 : 1));
            runner_loop_end(&loops[l]);
        }
    }
    model_close(model);
    return 0;
}
