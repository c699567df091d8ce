// SPDX-License-Identifier: MIT
/*
 * What may be luck. Fisher's exact test holds its level however few the samples are; a normal
 * approximation does not where a share is a few samples, and most are. Holm's correction bounds the
 * probability of even one wrong verdict in the whole comparison: a reader (or a gate) acts on any
 * of them, so the share of wrong ones among many (Benjamini-Hochberg) would not do.
 */
#include "compare/compare.h"

#include <math.h>
#include <stdlib.h>

/* Hits up to which all tables are summed up. */
static const double most_hits = 2e4;

static double log_choose(double n, double k)
{
    int sign;
    return lgamma_r(n + 1, &sign) - lgamma_r(k + 1, &sign) - lgamma_r(n - k + 1, &sign);
}

/* With that many hits the normal distribution is as good. */
static double normal_p(double hits_before, double before, double hits_after, double after)
{
    double all = before + after, share = (hits_before + hits_after) / all;
    double difference = fabs(hits_before / before - hits_after / after);
    double deviation = sqrt(share * (1 - share) * (1 / before + 1 / after));
    return deviation > 0 ? erfc(difference / deviation / sqrt(2)) : 1;
}

double compare_fisher(double hits_before, double draws_before, double hits_after,
                      double draws_after)
{
    double a = round(hits_before), b = round(hits_after);
    double before = fmax(a, round(draws_before)), after = fmax(b, round(draws_after));
    double hits = a + b;
    if (before <= 0 || after <= 0 || hits <= 0)
        return 1;
    if (hits > most_hits || before + after > 1e12)
        return normal_p(a, before, b, after);
    double low = fmax(0, hits - after), high = fmin(hits, before), sum = 0;
    double whole = log_choose(before + after, hits);
    double seen = log_choose(before, a) + log_choose(after, b);
    double here = log_choose(before, low) + log_choose(after, hits - low);
    for (double x = low; x <= high; x++) {
        if (here <= seen + 1e-7)
            sum += exp(here - whole);
        here += log((before - x) / (x + 1) * (hits - x) / (after - hits + x + 1));
    }
    return fmin(1, sum);
}

static int by_p(const void *left, const void *right, void *context)
{
    const struct compare_change *changes = context;
    uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
    if (changes[a].p != changes[b].p)
        return changes[a].p < changes[b].p ? -1 : 1;
    return (a > b) - (a < b);
}

enum base_status compare_holm(struct compare_change *changes, size_t count, double level)
{
    uint32_t *order = calloc(count + 1, sizeof *order);
    size_t tested = 0;
    double largest = 0;
    if (!order)
        return BASE_NO_MEMORY;
    for (size_t i = 0; i < count; i++) {
        if (changes[i].tested)
            order[tested++] = (uint32_t)i;
        else
            changes[i].verdict = COMPARE_SAME;
    }
    qsort_r(order, tested, sizeof *order, by_p, changes);
    for (size_t i = 0; i < tested; i++) {
        struct compare_change *change = &changes[order[i]];
        largest = fmin(1, fmax(largest, change->p * (double)(tested - i)));
        change->p = largest;
        if (largest > level)
            change->verdict = COMPARE_SAME;
    }
    free(order);
    return BASE_OK;
}
