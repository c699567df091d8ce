// SPDX-License-Identifier: MIT
/*
 * Kernels of tests/unit/clone, each executed again and again:
 *
 *   kernel NAME ELEMENTS SECONDS           a program to be observed
 *   kernel --cycles NAME ELEMENTS SECONDS  prints the cycles that an element takes
 *   kernel --list | --near                 names of those that can be cloned; of those whose data are few, executed ELEMENTS times
 *   kernel --chances                       of those with branches that depend on random data. These are others in each execution with
 *                                          --cycles: processors learn what they see again
 *
 * Cycles are a straight line's through the times of executions of many lengths, from half of ELEMENTS to all of them, in no order that a
 * processor could foresee: what a call, the time stamps and the end of a loop take is in all of them. How long a cycle takes is measured
 * before each batch, since processors change their speed. No least: on some processors the counter advances by tens of ticks at a time.
 */
#include "cycles.h"

#include "clone/kernels.h"

#include "base/base.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
    BATCHES = 4096,
    EXECUTIONS = 400, /* in a batch */
    LENGTHS = 16,     /* that differ */
    STEP = 64,        /* ticks: beyond that and twice the median an execution was interrupted */
};

struct subject {
    const struct kernel *kernel;
    double *arrays[3];
    long count;
    bool chances;
    size_t elements;
    uint64_t random;
};

static double now_s(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static const struct kernel *find(const struct kernel *all, unsigned count, const char *name)
{
    for (unsigned k = 0; k < count; k++)
        if (strcmp(all[k].name, name) == 0)
            return &all[k];
    return NULL;
}

static void list(const struct kernel *all, unsigned count)
{
    for (unsigned k = 0; k < count; k++)
        if (all[k].reason == 0)
            puts(all[k].name);
}

/* b is of numbers between 0 and 1. */
static void draw(struct subject *subject)
{
    for (size_t e = 0; subject->chances && e < subject->elements; e++) {
        subject->random = subject->random * 6364136223846793005u + 1442695040888963407u;
        subject->arrays[1][e] = (double)(subject->random >> 33) * 0x1p-31;
    }
}

static bool begin(struct subject *subject, const char *name, const char *count)
{
    subject->kernel = find(kernels, kernel_count, name);
    if (!subject->kernel)
        subject->kernel = find(nears, near_count, name);
    if (!subject->kernel) {
        subject->kernel = find(chances, chance_count, name);
        subject->chances = true;
    }
    subject->count = strtol(count, NULL, 10);
    if (!subject->kernel || subject->count < 2)
        return false;
    size_t elements = (size_t)(subject->count > NEAR_ELEMENTS ? subject->count : NEAR_ELEMENTS);
    for (unsigned i = 0; i < 3; i++) {
        /* Not all at the same place of their pages. */
        subject->arrays[i] =
            (double *)((char *)aligned_alloc(4096, (elements * 8 + 16384) & ~(size_t)4095) + 4096 +
                       320 * i);
        for (size_t e = 0; e < elements; e++)
            subject->arrays[i][e] = 1 + (double)(e % (3 + 2 * i));
    }
    subject->elements = elements;
    draw(subject);
    return true;
}

static double execute(const struct subject *subject, long count)
{
    uint64_t start = stamp();
    subject->kernel->run(subject->arrays[0], subject->arrays[1], subject->arrays[2], count);
    return (double)(stamp() - start);
}

static unsigned next_random(void)
{
    static unsigned state = 12345;
    state = state * 1103515245U + 12345U;
    return state >> 16;
}

struct run {
    double ticks, count;
};

static int by_ticks(const void *left, const void *right)
{
    return ascending(&((const struct run *)left)->ticks, &((const struct run *)right)->ticks);
}

/* Least squares over those that were not interrupted. */
static double slope_of(struct run *runs)
{
    double used = 0, x = 0, y = 0, xx = 0, xy = 0;
    qsort(runs, EXECUTIONS, sizeof *runs, by_ticks);
    for (int i = 0; i < EXECUTIONS && runs[i].ticks <= 2 * runs[EXECUTIONS / 2].ticks + STEP; i++) {
        used++;
        x += runs[i].count;
        y += runs[i].ticks;
        xx += runs[i].count * runs[i].count;
        xy += runs[i].count * runs[i].ticks;
    }
    return (xy - x * y / used) / (xx - x * x / used);
}

/* Ticks an element. */
static double batch(struct subject *subject)
{
    struct run runs[EXECUTIONS];
    long step = subject->count / (2 * LENGTHS) & ~15L;
    for (int i = 0; i < EXECUTIONS; i++) {
        long count = subject->count - step * (next_random() % LENGTHS);
        draw(subject);
        runs[i] = (struct run){execute(subject, count), (double)count};
    }
    return slope_of(runs);
}

static void print_cycles(struct subject *subject, double seconds)
{
    static double batches[BATCHES];
    size_t count = 0;
    double until = now_s() + seconds;
    while (count < BATCHES && (now_s() < until || count < 3)) {
        double cycle = ticks_a_cycle();
        batches[count++] = batch(subject) / cycle;
    }
    qsort(batches, count, sizeof *batches, ascending);
    printf("%.4f\n", batches[count / 2]);
}

int main(int argc, char **argv)
{
    struct subject subject = {0};
    bool cycles = argc == 5 && strcmp(argv[1], "--cycles") == 0;
    char **words = argv + argc - 3;
    if (argc == 2 && strcmp(argv[1], "--list") == 0) {
        list(kernels, kernel_count);
        return 0;
    }
    if (argc == 2 && strcmp(argv[1], "--near") == 0) {
        list(nears, near_count);
        return 0;
    }
    if (argc == 2 && strcmp(argv[1], "--chances") == 0) {
        list(chances, chance_count);
        return 0;
    }
    if ((argc != 4 && !cycles) || !begin(&subject, words[0], words[1]))
        return 2;
    double seconds = strtod(words[2], NULL), until = now_s() + seconds;
    if (cycles)
        print_cycles(&subject, seconds);
    while (!cycles && now_s() < until)
        for (int i = 0; i < (subject.count < 10000 ? 1000 : 1); i++)
            execute(&subject, subject.count);
    return 0;
}
