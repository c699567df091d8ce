// SPDX-License-Identifier: MIT
/*
 * mrc: what a histogram of reuse distances implies. Stack distances derived from time
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
#ifndef HEADROOM_MRC_H
#define HEADROOM_MRC_H

#include "distance/distance.h"

/*
 * Stack distances from time distances by the model of Shen, Shaw, Meeker and Ding (POPL 2007): accesses
 * are taken as independent of each other, so how many others are met between use and
 * reuse follows from how far all of them are apart. Where that holds the result is right to
 * sampling noise; mrc.c names the refinements that it takes. Popularity that is very uneven (a
 * location with a tenth of all accesses) shows as an error of a per cent or so: the histogram
 * does not say which distances are the popular one's.
 *
 * first_touches: of the accesses that `time` is from. locations: how many the program has, at least
 * first_touches; more for a forked child, which has its parent's. No stack distance exceeds it.
 * Overwrites `stack`, whose sum is that of `time`. Takes less than a millisecond.
 */
void mrc_stack_from_time(const double *time, double first_touches, double locations, double *stack);

/* The same with the expected number for every reuse and no spread (StatStack: Eklov and Hagersten,
   ISPASS 2010). Where the two differ much, the histogram hangs on the model's assumptions. */
void mrc_stack_expected(const double *time, double first_touches, double *stack);

/*
 * The number of others met between use and reuse, as a function of the time distance: mrc.c
 * has the formula. Prepared once from a histogram of time distances and its first touches (as
 * above), asked as often as there are pairs.
 */
struct mrc_curve {
    double met[DISTANCE_BINS + 1];    /* M(low) of each bin */
    double beyond[DISTANCE_BINS + 1]; /* P(distance >= low) */
    double equal[DISTANCE_BINS];      /* P(distance = t) for each t in the bin */
};
void mrc_curve_prepare(const double *time, double first_touches, struct mrc_curve *curve);

/* Mean stack distance of the reuses at a time distance; grows with it. 0 below distance 2. */
double mrc_curve_mean(const struct mrc_curve *curve, double distance);

/* Share of the accesses that miss a fully associative cache of `units` locations with replacement
   of the least recently used; units: a power of two, so that it is a bin's boundary. 0 without any access. */
double mrc_miss_ratio(const double *stack, double first_touches, uint64_t units);

/* Smallest distance that at least `share` (0..1) of the reuses do not exceed, by linear interpolation
   within a bin. 0 for an empty histogram. */
double mrc_quantile(const double *histogram, double share);

double mrc_sum(const double *histogram);

/* Weight at distances in [low, end); within a bin they are taken as uniform. 0x1p64: no end. */
double mrc_weight(const double *histogram, double low, double end);

/* 1 − Σ |a − b| / 2 over the shares in octaves: 1 if the histograms agree, 0 if they have
   nothing in common (the accuracy of the field's papers, on finer bins at short distances). 1 if both are empty. */
double mrc_similarity(const double *a, const double *b);

/* ---- how far off it may be ------------------------------------------------------------------ */

/*
 * The histogram if distances of `from` and more were `factor` (> 0) times as long, none of them
 * getting shorter than `from`. The weights stay; within a bin distances are taken as uniform.
 * `scaled` is overwritten and must not be `time`.
 */
void mrc_stretch(const double *time, double from, double factor, double *scaled);

/*
 * A miss-ratio curve with its band, for time distances that were estimated from samples by a pace
 * (accesses a nanosecond) that is itself not known for certain. Zeroed memory is the empty band; processes
 * are added one by one, as their histograms are.
 */
struct mrc_band {
    double stack[3][DISTANCE_BINS]; /* by the model; pace low, as estimated, high */
    double first_touches[3];
    double samples; /* effective number */
};

/*
 * time, first_touches, locations: as mrc_stack_from_time. from: distances below are known
 * whatever the pace is. low, high: the pace's interval over its estimate, low <= 1 <= high. samples: effective
 * number of samples behind the histogram.
 */
void mrc_band_add(struct mrc_band *band, const double *time, double first_touches, double locations,
                  double from, double low, double high, double samples);

struct mrc_ratio {
    double low, ratio, high; /* 0 <= low <= ratio <= high <= 1 */
};

/* At a cache of `units` locations, a power of two: what mrc_miss_ratio gives, and around it an
   interval meant to hold the true model's value for nine programs of ten, from pace and sampling
   together. All of it unknown, 0..1, without samples. */
struct mrc_ratio mrc_band_at(const struct mrc_band *band, uint64_t units);

/* Smallest distance beyond a bin. */
static inline uint64_t mrc_bin_end(unsigned bin)
{
    return bin + 1 < DISTANCE_BINS ? distance_bin_low(bin + 1) : UINT64_MAX;
}

/* Mean distance in a bin. */
static inline double mrc_bin_middle(unsigned bin)
{
    return ((double)distance_bin_low(bin) + (double)mrc_bin_end(bin) - 1) / 2;
}

/* Number of the octave a bin lies in, of 0, 1, [2, 4), [4, 8), ... */
enum { MRC_OCTAVES = 65 };
static inline unsigned mrc_octave(unsigned bin)
{
    uint64_t low = distance_bin_low(bin);
    return low < 2 ? (unsigned)low : 64U - (unsigned)__builtin_clzll(low);
}

#endif
