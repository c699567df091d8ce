// SPDX-License-Identifier: MIT
/*
 * What can be said of repeated measurements of one thing, and of two things that were measured in turn. Pure.
 *
 * Times of runs are no normal distribution: they are skewed, have modes, and drift with the machine. So nothing here assumes one:
 *
 *   interval of a median       the bootstrap's own distribution of it (Efron 1979), which for medians is known without
 *                              drawing (Maritz and Jarrett 1978)
 *   ratio of two in one session  of each round the logarithm of the ratio; of these the pseudomedian, the median of means of
 *                              two, with the interval that Wilcoxon's signed-rank test does not reject (Hodges and Lehmann
 *                              1963). The order within a round was random, so of two equal things the differences are
 *                              symmetric whatever the machine did meanwhile, and the interval holds its level exactly.
 *
 * Values are positive and finite. Thread-safe.
 */
#ifndef HEADROOM_STAT_STATISTICS_H
#define HEADROOM_STAT_STATISTICS_H

#include "base/base.h"

struct statistics {
    size_t count;
    double min, median, mean, max;
    double sd;        /* 0 of a single value */
    double low, high; /* of the median, 95 % */
};

/* Of count >= 1 values, which it puts in order. */
void statistics_of(double *values, size_t count, struct statistics *made);

struct statistics_ratio {
    bool known;              /* there is a ratio */
    bool bounded;            /* and an interval of 95 %: there are enough values for one */
    double value, low, high; /* above 1: the second is larger */
    double
        detectable; /* of which relative difference the interval would have excluded 1, four times of five */
};

/* second[i] / first[i], of the same round. BASE_NO_MEMORY: *made is untouched. */
enum base_status statistics_paired(const double *first, const double *second, size_t count,
                                   struct statistics_ratio *made);

/* Beyond this distance from the median, in units of a robust standard deviation, a value is an outlier. */
#define STATISTICS_OUTLIER 5.0

/* 1.4826 times the median distance from the median, which is the standard deviation of normal values. values: in order. */
double statistics_spread(const double *values, size_t count, double median);

/* Are the values, in order, of two modes? *split: how many belong to the lower one. */
bool statistics_modes(const double *values, size_t count, size_t *split);

#endif
