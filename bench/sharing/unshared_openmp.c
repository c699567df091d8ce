// SPDX-License-Identifier: MIT
/*
 * Loops of OpenMP that share nothing that matters: unshared_openmp CASE [SECONDS], about that much CPU time for each of four threads (default 1). As
 * unshared.c.
 *
 *   reduction     sums, one variable each, added up at the end of a loop
 *   private       arrays of each thread's own
 *   stencil       a grid in parts; at their borders threads read each other's rows after a barrier
 *   chunks        a table that all read, in parts that are dealt out as they come, a millisecond each
 *   alternate     all threads in turn write one array, barriers in between
 *   rotate        parts of one array, in each loop another thread's
 *   triangle      loops of unequal length over own rows
 */
#include "../../tests/programs/known.h"

#include <omp.h>
#include <string.h>

enum { THREADS = 4, SIZE = 512, TABLE = 1 << 18 };

static double seconds = 1;
static double grid[SIZE][SIZE], next[SIZE][SIZE];
static double table[TABLE];

static bool again(void)
{
    static double began;
    began = began > 0 ? began : omp_get_wtime();
    return omp_get_wtime() - began < seconds * THREADS / omp_get_num_procs();
}

static void reduction(void)
{
    while (again()) {
        double all = 0;
#pragma omp parallel for reduction(+ : all)
        for (int i = 0; i < TABLE; i++)
            all += table[i] * table[i];
        *(volatile double *)&table[0] = all > 1 ? 0 : all;
    }
}

static void private_arrays(void)
{
    while (again()) {
#pragma omp parallel
        {
            volatile double own[1000];
            for (int round = 0; round < 200; round++)
                for (int i = 0; i < 1000; i++)
                    own[i] = i + round;
        }
    }
}

static void stencil(void)
{
    while (again()) {
#pragma omp parallel for
        for (int i = 1; i < SIZE - 1; i++)
            for (int j = 1; j < SIZE - 1; j++)
                next[i][j] =
                    0.25 * (grid[i - 1][j] + grid[i + 1][j] + grid[i][j - 1] + grid[i][j + 1]);
#pragma omp parallel for
        for (int i = 1; i < SIZE - 1; i++)
            memcpy(grid[i], next[i], sizeof grid[i]);
    }
}

static void chunks(void)
{
    while (again()) {
        double all = 0;
#pragma omp parallel for schedule(dynamic) reduction(+ : all)
        for (int part = 0; part < 32; part++)
            for (int round = 0; round < 8; round++)
                for (int i = 0; i < TABLE / 4; i++)
                    all += table[(part * 977 + i) % TABLE];
        *(volatile double *)&next[0][0] = all;
    }
}

static void alternate(void)
{
    while (again()) {
#pragma omp parallel num_threads(THREADS)
        for (int round = 0; round < 4 * THREADS; round++) {
            bool mine = round % THREADS == omp_get_thread_num();
            volatile double *row = mine ? table : grid[64 * omp_get_thread_num()];
            for (int again = 0; again < 4000; again++)
                for (int i = 0; i < SIZE; i++)
                    row[i] = again;
#pragma omp barrier
        }
    }
}

static void rotate(void)
{
    for (int round = 0; again(); round++) {
#pragma omp parallel num_threads(THREADS)
        {
            int part = (omp_get_thread_num() + round) % THREADS;
            volatile double *row = table + part * 4096;
            for (int again = 0; again < 2000; again++)
                for (int i = 0; i < SIZE; i++)
                    row[i] = again;
        }
    }
}

static void triangle(void)
{
    while (again()) {
#pragma omp parallel for schedule(static, 1)
        for (int i = 0; i < SIZE; i++)
            for (int round = 0; round < 10; round++)
                for (int j = 0; j < i; j++)
                    ((volatile double *)grid[i])[j] = j;
    }
}

static const struct {
    const char *name;
    void (*work)(void);
} cases[] = {
    {"reduction", reduction}, {"private", private_arrays}, {"stencil", stencil},
    {"chunks", chunks},       {"alternate", alternate},    {"rotate", rotate},
    {"triangle", triangle},
};

int main(int count, char **arguments)
{
    seconds = count > 2 ? strtod(arguments[2], NULL) : 1;
    omp_set_num_threads(THREADS);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        if (count < 2) {
            puts(cases[i].name);
        } else if (strcmp(cases[i].name, arguments[1]) == 0) {
            cases[i].work();
            return 0;
        }
    }
    return count < 2 ? 0 : 2;
}
