// SPDX-License-Identifier: MIT
/*
 * reuse: what a histogram of reuse distances tells. Stack distances derived from time
 * distances, miss ratios, quantiles. Pure functions over arrays of DISTANCE_BINS weights
 * (distance/distance.h); no allocation, no state.
 *
 * Time distance: accesses from a use to the next one of the same location, that one included (1-based).
 * Stack distance: different locations in between (0-based).
 *
 * First touches are accesses without a former one; their number is the number of locations, those
 * that are never reused included. They have no distance, so no histogram holds them, yet each one is
 * a location that others meet in between: every function that needs them takes them beside
 * the histogram.
 */
#ifndef HEADROOM_REUSE_H
#define HEADROOM_REUSE_H

#include "distance/distance.h"

/*
 * Stack distances from time distances by the model of Shen, Shaw, Meeker and Ding (POPL 2007): accesses
 * are taken as independent of each other, so how many others are met between use and
 * reuse follows from how far all of them are apart. Where that holds the result is right to
 * sampling noise; reuse.c names the refinements that it takes. Popularity that is very uneven (a
 * location with a tenth of all accesses) shows as an error of a per cent or so: the histogram
 * does not tell which distances are the popular one's.
 *
 * first_touches: of the accesses that `time` is from. locations: how many the program has, at least
 * first_touches; more for a forked child, which has its parent's. No stack distance exceeds it.
 * Overwrites `stack`, whose sum is that of `time`. Takes less than a millisecond.
 */
void reuse_stack_from_time(const double *time, double first_touches, double locations,
                           double *stack);

/* The same with the expected number for every reuse and no spread (StatStack: Eklov and Hagersten,
   ISPASS 2010). Where the two differ much, the histogram hangs on the model's assumptions. */
void reuse_stack_expected(const double *time, double first_touches, double *stack);

/* Share of the accesses that miss a fully associative cache of `units` locations with replacement
   of the least recently used; units: a power of two, so that it is a bin's boundary. 0 without any access. */
double reuse_miss_ratio(const double *stack, double first_touches, uint64_t units);

/* Smallest distance that at least `share` (0..1) of the reuses do not exceed, by linear interpolation
   within a bin. 0 for an empty histogram. */
double reuse_quantile(const double *histogram, double share);

double reuse_sum(const double *histogram);

/* 1 − Σ |a − b| / 2 over the shares in octaves: 1 if the histograms agree, 0 if they have
   nothing in common (the accuracy of the field's papers, on finer bins at short distances). 1 if both are empty. */
double reuse_similarity(const double *a, const double *b);

/* Smallest distance beyond a bin. */
static inline uint64_t reuse_bin_end(unsigned bin)
{
    return bin + 1 < DISTANCE_BINS ? distance_bin_low(bin + 1) : UINT64_MAX;
}

#endif
