// SPDX-License-Identifier: MIT
/*
 * Between a use and its reuse at time distance Δ lie Δ − 1 accesses of other locations. The one t
 * accesses before the reuse is the last of its location in between if its own next use comes
 * later, after more than t accesses. So the expected number of different locations is
 *
 *     M(Δ) = Σ_{t = 1 .. Δ − 1}  P(δ > t | δ ≠ t)
 *
 * with δ the time distance from an access to the next use. That is the sum of Shen et al., times
 * N − 1, with three refinements; without them random traces show differences well above their
 * noise:
 *
 * - δ = t is excluded: the access t later is the reuse itself. So M(2) is 1.
 * - An access without a next use in the run counts as δ > t only where t more accesses follow,
 * since every stretch that is looked at lies within the run: P(δ > t) is the number of accesses
 * with a longer distance, or without one and t or more before the end, over the number of all that
 * are t or more before the end. How far before the end the last touches lie is not recorded. But
 *   the stretches before first and after last touches are what the distances leave of
 *   locations × accesses, so their mean is known. Taken as exponential, cut off at the run's
 * length, it fits both locations in use all the time and those that are touched once, anywhere.
 * - Δ − 1 draws meet Δ − 1 locations at most, so these are not independent of each other
 *   even where accesses are, and the binomial spread of Shen et al. is too wide. The variance
 *   of the number of occupied cells, M(2Δ) − M(Δ) − Δ M'(Δ)², needs nothing but M. (With a Poisson
 *   number of draws, location i is missing with chance q_i^Δ, so the variance is
 *   Σ q_i^Δ − q_i^2Δ = M(2Δ) − M(Δ); the last term takes the spread of the number of draws out.)
 *
 * Average eviction times (AET: Hu et al., USENIX ATC 2016) are no third view beside Shen's and the
 * expected number. AET(c) is the time in which an access moves c places down the stack, Σ_{t <
 * AET(c)} P(δ > t) = c: that is M turned around; and their miss ratio, P(δ > AET(c)), counts the
 * reuses whose M exceeds c, as the histogram of mrc_stack_expected does. What is left between the
 * two is the rounding to bins and the refinements above. reuse_test computes it their way and holds
 * the two together.
 *
 * Within a bin the distances are taken as uniform. A bin's reuses are split into a few
 * pieces, each with the M of its middle.
 */
#include "mrc/mrc.h"

#include <assert.h>
#include <math.h>
#include <string.h>

enum { PIECES = 8 }; /* of a bin: M bends little over a 64th of an octave */

static const double negligible = 1e-9;

double mrc_sum(const double *histogram)
{
    double sum = 0;
    for (unsigned i = 0; i < DISTANCE_BINS; i++)
        sum += histogram[i];
    return sum;
}

/* ---- the number met between use and reuse --------------------------------------------------- */

static double bin_low(unsigned bin)
{
    return bin < DISTANCE_BINS ? (double)distance_bin_low(bin) : 0x1p64;
}

/* Mean of an exponential distribution of rate `rate` that is cut off at 1. */
static double cut_mean(double rate)
{
    return rate < 1e-4 ? 0.5 - rate / 12 : 1 / rate - 1 / expm1(rate);
}

static double cut_rate(double mean)
{
    double low = 0, high = 1;
    while (cut_mean(high) > mean && high < 1e15)
        high *= 2;
    for (unsigned i = 0; i < 60; i++) {
        double middle = (low + high) / 2;
        if (cut_mean(middle) > mean)
            low = middle;
        else
            high = middle;
    }
    return low;
}

/* Share of the locations whose last touch lies t or more before the end, t as a share
 * of the run. */
static double cut_beyond(double rate, double t)
{
    if (t >= 1)
        return 0;
    return rate < 1e-4 ? 1 - t : (exp(-rate * t) - exp(-rate)) / -expm1(-rate);
}

/* Σ of the terms of M from the bin's beginning up to, not including, distance. */
static double terms(const struct mrc_curve *curve, unsigned bin, double distance)
{
    double low = bin_low(bin), width = bin_low(bin + 1) - low, n = distance - low;
    double end = curve->beyond[bin + 1], slope = (curve->beyond[bin] - end) / width;
    /* All of the weight at one distance: nothing is left to be met. */
    if (curve->equal[bin] > 1 - negligible)
        return 0;
    double sum = n * end + slope * (n * (width - 1) - n * (n - 1) / 2);
    return fmin(n, fmax(0, sum) / (1 - curve->equal[bin]));
}

static double distance_sum(const double *time)
{
    double sum = 0;
    for (unsigned bin = 1; bin < DISTANCE_BINS; bin++)
        sum += time[bin] * mrc_bin_middle(bin);
    return sum;
}

/* A run cannot hold distances that reach further than its accesses, unless it is a child's that has
   its parent's past: then nothing is known of its ends and last touches count as infinitely far. */
void mrc_curve_prepare(const double *time, double first_touches, struct mrc_curve *curve)
{
    double total = mrc_sum(time) + first_touches, longer = 0;
    if (!(total > 0)) {
        memset(curve, 0, sizeof *curve);
        return;
    }
    /* Share of locations × accesses before the first touch and after the last: two
     * stretches each. */
    double outside = first_touches > 0 ? 1 - distance_sum(time) / (first_touches * total) : 0;
    bool closed = outside > 0;
    double rate = closed ? cut_rate(outside / 2) : 0;
    for (unsigned bin = DISTANCE_BINS + 1; bin-- > 0;) {
        double low = bin_low(bin), t = fmin(1, fmax(0, low - 1) / total);
        double last = first_touches * (closed ? cut_beyond(rate, t) : 1);
        longer += bin < DISTANCE_BINS ? time[bin] : 0;
        double there = closed ? total * (1 - t) : total;
        curve->beyond[bin] = longer + last < there ? (longer + last) / there : there > 0;
        if (bin < DISTANCE_BINS) {
            double each = time[bin] / (bin_low(bin + 1) - low);
            curve->equal[bin] = each < there ? each / there : there > 0;
        }
    }
    curve->met[0] = curve->met[1] = 0; /* terms begin at t = 1 */
    for (unsigned bin = 1; bin < DISTANCE_BINS; bin++)
        curve->met[bin + 1] = curve->met[bin] + terms(curve, bin, bin_low(bin + 1));
}

static unsigned bin_of(double distance)
{
    if (!(distance > 0))
        return 0;
    return distance < 0x1p63 ? distance_bin((uint64_t)distance) : DISTANCE_BINS - 1;
}

double mrc_curve_mean(const struct mrc_curve *curve, double distance)
{
    unsigned bin = bin_of(distance);
    return bin ? curve->met[bin] + terms(curve, bin, distance) : 0;
}

/* P(δ > t) */
static double later_than(const struct mrc_curve *curve, double t)
{
    unsigned bin = bin_of(t);
    double low = bin_low(bin), end = bin_low(bin + 1);
    return curve->beyond[bin + 1] +
           (curve->beyond[bin] - curve->beyond[bin + 1]) * (end - 1 - t) / (end - low);
}

/* ---- spread -------------------------------------------------------------------------------- */

static void put(double *stack, double distance, double weight)
{
    stack[bin_of(distance)] += weight;
}

static double normal_below(double x, double mean, double deviation)
{
    return 0.5 * erfc((mean - x) / (deviation * M_SQRT2));
}

/* Adds `weight` reuses with `mean` others in between, at most `most`. */
static void spread(double *stack, double mean, double deviation, double most, double weight)
{
    double first = fmax(0, floor(mean - 6 * deviation)), last = fmin(most, mean + 6 * deviation);
    unsigned bin = bin_of(first), end = bin_of(fmax(first, last));
    double below = 0;
    for (; bin < end; bin++) {
        double next = normal_below(bin_low(bin + 1) - 0.5, mean, deviation);
        stack[bin] += weight * (next - below);
        below = next;
    }
    stack[end] += weight * (1 - below);
}

typedef void place(const struct mrc_curve *curve, double locations, double distance, double weight,
                   double *stack);

static void put_spread(const struct mrc_curve *curve, double locations, double distance,
                       double weight, double *stack)
{
    double others = fmax(0, floor(locations - 0.5)), draws = distance - 1;
    double most = fmin(others, draws), mean = fmin(mrc_curve_mean(curve, distance), most);
    double slope = later_than(curve, draws);
    double variance = mrc_curve_mean(curve, 2 * draws + 1) - mrc_curve_mean(curve, distance) -
                      draws * slope * slope;
    variance = fmin(variance, others > 0 ? mean * (1 - mean / others) : 0);
    double rest = mean - floor(mean);
    if (variance > rest * (1 - rest) + negligible) {
        spread(stack, mean, sqrt(variance), most, weight);
        return;
    }
    put(stack, floor(mean), weight * (1 - rest));
    if (rest > 0)
        put(stack, ceil(mean), weight * rest);
}

static void put_expected(const struct mrc_curve *curve, double locations, double distance,
                         double weight, double *stack)
{
    (void)locations;
    put(stack, floor(mrc_curve_mean(curve, distance) + 0.5), weight);
}

static void convert(const double *time, double first_touches, double locations, place *put_piece,
                    double *stack)
{
    struct mrc_curve curve;
    memset(stack, 0, DISTANCE_BINS * sizeof *stack);
    if (!(mrc_sum(time) > 0))
        return;
    mrc_curve_prepare(time, first_touches, &curve);
    stack[0] = time[0]; /* no access reuses itself; of a strange histogram nothing is lost */
    for (unsigned bin = 1; bin < DISTANCE_BINS; bin++) {
        double width = bin_low(bin + 1) - bin_low(bin), pieces = fmin(width, PIECES);
        for (double i = 0; i < pieces && time[bin] > 0; i++) {
            double middle = bin_low(bin) + (i + 0.5) * width / pieces - 0.5;
            put_piece(&curve, locations, middle, time[bin] / pieces, stack);
        }
    }
}

void mrc_stack_from_time(const double *time, double first_touches, double locations, double *stack)
{
    convert(time, first_touches, fmax(locations, first_touches), put_spread, stack);
}

void mrc_stack_expected(const double *time, double first_touches, double *stack)
{
    convert(time, first_touches, 0, put_expected, stack);
}

/* ---- reading histograms ------------------------------------------------------------------- */

double mrc_miss_ratio(const double *stack, double first_touches, uint64_t units)
{
    double far = 0, sum = mrc_sum(stack);
    assert(units && !(units & (units - 1)));
    for (unsigned bin = distance_bin(units); bin < DISTANCE_BINS; bin++)
        far += stack[bin];
    double accesses = sum + first_touches;
    return accesses > 0 ? fmin(1, (far + first_touches) / accesses) : 0;
}

double mrc_weight(const double *histogram, double low, double end)
{
    double weight = 0;
    for (unsigned bin = 0; bin < DISTANCE_BINS; bin++) {
        double first = (double)distance_bin_low(bin), last = (double)mrc_bin_end(bin);
        double inside = fmin(last, end) - fmax(first, low);
        if (inside > 0 && histogram[bin] > 0)
            weight += histogram[bin] * (inside / (last - first));
    }
    return weight;
}

double mrc_quantile(const double *histogram, double share)
{
    assert(share >= 0 && share <= 1);
    double wanted = mrc_sum(histogram) * share, below = 0;
    unsigned last = 0;
    for (unsigned bin = 0; bin < DISTANCE_BINS; bin++) {
        if (histogram[bin] <= 0)
            continue;
        last = bin;
        if (below + histogram[bin] >= wanted) {
            double low = (double)distance_bin_low(bin);
            double steps = (double)mrc_bin_end(bin) - 1 - low;
            return low + steps * fmax(0, wanted - below) / histogram[bin];
        }
        below += histogram[bin];
    }
    return (double)mrc_bin_end(last) - 1; /* rounding, or empty: 0 */
}

double mrc_similarity(const double *a, const double *b)
{
    double shares[2][MRC_OCTAVES] = {{0}}, sums[2] = {mrc_sum(a), mrc_sum(b)}, apart = 0;
    if (!(sums[0] > 0) || !(sums[1] > 0))
        return sums[0] > 0 || sums[1] > 0 ? 0 : 1;
    for (unsigned bin = 0; bin < DISTANCE_BINS; bin++) {
        shares[0][mrc_octave(bin)] += a[bin] / sums[0];
        shares[1][mrc_octave(bin)] += b[bin] / sums[1];
    }
    for (unsigned i = 0; i < MRC_OCTAVES; i++)
        apart += fabs(shares[0][i] - shares[1][i]);
    return fmax(0, 1 - apart / 2);
}

/* ---- how far off it may be ------------------------------------------------------------------ */

/* Spreads a weight evenly over the distances from `low` up to, not including, `end`. */
static void put_range(double *histogram, double low, double end, double weight)
{
    unsigned bin = bin_of(low);
    double width = end - low;
    if (!(width > 0)) {
        put(histogram, low, weight);
        return;
    }
    for (; bin < DISTANCE_BINS - 1 && bin_low(bin + 1) < end; bin++) {
        histogram[bin] += weight * (bin_low(bin + 1) - low) / width;
        low = bin_low(bin + 1);
    }
    histogram[bin] += weight * (end - low) / width;
}

void mrc_stretch(const double *time, double from, double factor, double *scaled)
{
    assert(scaled != time);
    memset(scaled, 0, DISTANCE_BINS * sizeof *scaled);
    for (unsigned bin = 0; bin < DISTANCE_BINS; bin++) {
        double low = bin_low(bin), end = bin_low(bin + 1);
        if (!(time[bin] > 0))
            continue;
        if (low < from)
            scaled[bin] += time[bin];
        else
            put_range(scaled, fmax(from, low * factor), fmax(from, end * factor), time[bin]);
    }
}

/* A pace that is twice as high means twice the accesses, reuses and locations, too: all of them
   were reckoned from the run's time. */
static void add_variant(struct mrc_band *band, unsigned which, const double *time,
                        double first_touches, double locations, double from, double factor)
{
    double stretched[DISTANCE_BINS], stack[DISTANCE_BINS];
    mrc_stretch(time, from, factor, stretched);
    for (unsigned bin = 0; bin < DISTANCE_BINS; bin++)
        stretched[bin] *= factor;
    mrc_stack_from_time(stretched, first_touches * factor, locations * factor, stack);
    for (unsigned bin = 0; bin < DISTANCE_BINS; bin++)
        band->stack[which][bin] += stack[bin] / factor;
    band->first_touches[which] += first_touches;
}

void mrc_band_add(struct mrc_band *band, const double *time, double first_touches, double locations,
                  double from, double low, double high, double samples)
{
    add_variant(band, 0, time, first_touches, locations, from, low);
    add_variant(band, 1, time, first_touches, locations, from, 1);
    add_variant(band, 2, time, first_touches, locations, from, high);
    band->samples += samples;
}

/* Half the width of Wilson's interval on the side of p that `sign` says. */
static double sampling_error(double p, double samples, double sign)
{
    static const double z = 1.6448536269514722; /* 95 % quantile of the normal distribution */
    double centre = (p + z * z / (2 * samples)) / (1 + z * z / samples);
    double half =
        z / (1 + z * z / samples) * sqrt(p * (1 - p) / samples + z * z / (4 * samples * samples));
    return fmax(0, sign * (centre - p) + half);
}

/* The two causes are independent of each other: their squares add up. */
struct mrc_ratio mrc_band_at(const struct mrc_band *band, uint64_t units)
{
    double ratios[3];
    for (unsigned i = 0; i < 3; i++)
        ratios[i] = mrc_miss_ratio(band->stack[i], band->first_touches[i], units);
    double middle = ratios[1];
    if (!(band->samples > 0))
        return (struct mrc_ratio){0, middle, 1};
    double below = fmax(0, middle - fmin(ratios[0], ratios[2]));
    double above = fmax(0, fmax(ratios[0], ratios[2]) - middle);
    return (struct mrc_ratio){
        .low = fmax(0, middle - hypot(below, sampling_error(middle, band->samples, -1))),
        .ratio = middle,
        .high = fmin(1, middle + hypot(above, sampling_error(middle, band->samples, 1))),
    };
}
