// SPDX-License-Identifier: MIT
/*
 * How many accesses a program makes in a nanosecond of CPU time, where nothing counts them.
 *
 * What the recording knows is how many accesses there are to an instruction: each sample looks
 * ahead over some. How many instructions a nanosecond holds it does not know; measured programs
 * show what is usual. Its logarithm is taken as normally distributed: the estimate is the mean over
 * the programs, and the interval for one program more follows by Student's distribution. (Leaving
 * out one program at a time, import_test asks whether the interval holds it.)
 *
 * With the number of accesses to an instruction known, programs scatter by a factor of 1.48 (one
 * standard deviation), without by 1.62. What was tried besides, and predicts a program that was
 * left out hardly better (1.48 for 1.50): the share of the reuses at distances of 4 K, 16 K or 64 K
 * accesses and more, alone or together with it; a free exponent.
 *
 * Processors differ, and kinds of programs that were not measured: what they add is a guess,
 * estimate_pace_machines. With it the interval holds eight versions of four kernels as well
 * (bench/cases), vectorised ones among them, which none of the programs is.
 *
 * Where data come from far, memory may take the time: a random graph and a walk down columns made
 * 0.4 accesses a nanosecond, a seventh of the estimate, with a third and nine tenths of their
 * reuses far; streams, which are fetched ahead, lose nothing. Samples do not distinguish these, so
 * the estimate stays, and the interval reaches down the further the more reuses are far.
 */
#include "estimate/estimate.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>

/* Accesses and instructions a nanosecond: counted by the exact engine and by cachegrind, over user
   time without either. */
const struct estimate_pace_program estimate_pace_programs[] = {
    {"bzip2", 2.91, 9.18},   {"gzip", 1.18, 5.51},     {"zstd", 3.93, 8.76},
    {"xz", 1.59, 5.30},      {"zopfli", 4.83, 11.91},  {"lua", 3.60, 9.50},
    {"sqlite3", 3.43, 8.19}, {"tcc", 4.09, 9.21},      {"mawk", 1.28, 3.44},
    {"jq", 3.77, 9.28},      {"minimap2", 2.58, 8.76}, {"minisat", 1.72, 4.57},
    {"cadical", 1.90, 4.78}, {"tetgen", 4.04, 6.99},   {"re2", 4.27, 10.58},
    {"pugixml", 3.26, 8.00}, {"box2d", 2.35, 6.83},    {"lapack", 7.23, 19.50},
    {"lbfgsb", 2.90, 7.91},  {"gradient", 1.50, 4.69}, {"multigrid", 1.93, 7.40},
    {"shallow", 2.82, 6.06}, {"numeric", 5.60, 14.21},
};
const size_t estimate_pace_programs_count = BASE_COUNT(estimate_pace_programs);

const double estimate_pace_machines = 0.42;

/* 95 % quantile of Student's distribution (Hill 1970, to a per mille from five degrees on). */
static double student(double degrees)
{
    static const double z = 1.6448536269514722;
    double z3 = z * z * z, z5 = z3 * z * z;
    return z + (z3 + z) / (4 * degrees) + (5 * z5 + 16 * z3 + 3 * z) / (96 * degrees * degrees);
}

void estimate_pace_of(const struct estimate_pace_program *programs, size_t count, double density,
                      double spread, struct estimate_pace *pace)
{
    double sum = 0, squares = 0, n = (double)count;
    assert(count >= 6);
    for (size_t i = 0; i < count; i++)
        sum += log(density > 0 ? programs[i].instructions : programs[i].accesses);
    double mean = sum / n;
    for (size_t i = 0; i < count; i++) {
        double off = log(density > 0 ? programs[i].instructions : programs[i].accesses) - mean;
        squares += off * off;
    }
    double deviation = sqrt(squares / (n - 1) * (1 + 1 / n) + spread * spread);
    double factor = exp(student(n - 1) * deviation);
    pace->accesses_per_ns = exp(mean) * (density > 0 ? density : 1);
    pace->low = pace->accesses_per_ns / factor;
    pace->high = pace->accesses_per_ns * factor;
}

/* What brings both of the kernels above, and twelve more versions of such (bench/cases), inside. */
static const double far_cost = 6;

void estimate_pace(double density, double far, double given, struct estimate_pace *pace)
{
    *pace = (struct estimate_pace){.accesses_per_ns = given, .low = given, .high = given};
    if (given > 0) {
        snprintf(pace->calibration, sizeof pace->calibration, "given by --access-rate");
        return;
    }
    estimate_pace_of(estimate_pace_programs, estimate_pace_programs_count, density,
                     estimate_pace_machines, pace);
    pace->low /= 1 + far_cost * far;
    snprintf(pace->calibration, sizeof pace->calibration, "from %zu programs measured elsewhere%s",
             estimate_pace_programs_count, density > 0 ? ", by instruction mix" : "");
}
