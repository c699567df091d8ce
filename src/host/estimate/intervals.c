// SPDX-License-Identifier: MIT
/*
 * Distances known only to lie between two others: a reuse after the accesses that were foreseen,
 * and before a trap could be separated from its own cost.
 *
 * First each weight is spread evenly over the logarithm of its interval: most shapes that programs
 * have are smooth there, a few octaves wide, and so is what is seen on both sides. Then it is made
 * to agree with what is known inside the intervals from samples that could be foreseen further
 * (Turnbull 1976: each round hands a weight out in proportion to the histogram so far). Few rounds:
 * where nothing is known, the even spread stays; many would pile everything on single bins.
 */
#include "estimate/estimate.h"

#include "mrc/mrc.h"

#include <assert.h>
#include <math.h>

enum { ROUNDS = 3 };

static double log_width(uint32_t bin)
{
    double low = (double)distance_bin_low(bin), end = (double)distance_bin_low(bin + 1);
    return log(end) - log(fmax(low, 0.5)); /* distance 0 occurs nowhere */
}

static void spread_evenly(double *histogram, const struct estimate_interval *interval)
{
    double whole = 0;
    assert(interval->first < interval->end && interval->end <= DISTANCE_BINS);
    for (uint32_t bin = interval->first; bin < interval->end; bin++)
        whole += log_width(bin);
    for (uint32_t bin = interval->first; bin < interval->end; bin++)
        histogram[bin] += interval->weight * log_width(bin) / whole;
}

/* What each interval hands to a bin is weight / (histogram in the interval) × histogram[bin]: the
   first factor is added up over the intervals around the bin, by its changes. */
static void agree(const double *known, double *histogram, const struct estimate_interval *intervals,
                  size_t count)
{
    double below[DISTANCE_BINS + 1] = {0}, change[DISTANCE_BINS + 1] = {0}, factor = 0;
    for (unsigned bin = 0; bin < DISTANCE_BINS; bin++)
        below[bin + 1] = below[bin] + histogram[bin];
    for (size_t i = 0; i < count; i++) {
        double inside = below[intervals[i].end] - below[intervals[i].first];
        double share = inside > 0 ? intervals[i].weight / inside : 0;
        change[intervals[i].first] += share;
        change[intervals[i].end] -= share;
    }
    for (unsigned bin = 0; bin < DISTANCE_BINS; bin++) {
        factor += change[bin];
        histogram[bin] = known[bin] + histogram[bin] * fmax(0, factor);
    }
}

void estimate_spread(double *histogram, const struct estimate_interval *intervals, size_t count)
{
    double known[DISTANCE_BINS];
    for (unsigned bin = 0; bin < DISTANCE_BINS; bin++)
        known[bin] = histogram[bin];
    for (size_t i = 0; i < count; i++)
        spread_evenly(histogram, &intervals[i]);
    for (unsigned round = 0; round < ROUNDS && count; round++)
        agree(known, histogram, intervals, count);
}

double estimate_interval_mean(const double *histogram, uint32_t first, uint32_t end)
{
    double sum = 0, weight = 0;
    for (uint32_t bin = first; bin < end; bin++) {
        sum += histogram[bin] * mrc_bin_middle(bin);
        weight += histogram[bin];
    }
    return weight > 0 ? sum / weight : mrc_bin_middle(first);
}
