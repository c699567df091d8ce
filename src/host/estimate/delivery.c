// SPDX-License-Identifier: MIT
/*
 * What the delivery of a trap costs, and what that leaves of a measured time.
 *
 * The CPU time between use and reuse contains the way into and out of the kernel for every handler
 * entered in between; that takes microseconds, in a virtual machine several, and is more than most
 * reuses take. It is measured once a sample: from the end of the tick's handler to the entry of the
 * confirming one lie a delivery and next to nothing else. Those times have a long tail (an
 * interrupt, a page that has to be mapped), so the median is taken off; what is left of a
 * short reuse is the scatter of the costs, and times below three standard deviations of it are not
 * distinguished. The deviation is estimated from the median distance to the median (MAD), or from the
 * upper quartile where that is wider: costs are skewed, and it is the upper side that makes a short
 * reuse look like a long one.
 *
 * Rejected: the smallest cost instead of the median. It would leave every short time too long by
 * the usual delay.
 */
#include "estimate/estimate.h"

#include <math.h>
#include <stdlib.h>

static const double normal_mad = 1.4826; /* standard deviations in a MAD, normal distribution */

static int compare_ns(const void *left, const void *right)
{
    uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
    return (a > b) - (a < b);
}

static double quantile(const uint32_t *sorted, size_t count, double share)
{
    double at = (double)(count - 1) * share;
    size_t below = (size_t)at, above = below + 1 < count ? below + 1 : below;
    return sorted[below] + (at - (double)below) * ((double)sorted[above] - sorted[below]);
}

struct estimate_cost estimate_cost(uint32_t *values, size_t count)
{
    if (count == 0)
        return (struct estimate_cost){0};
    qsort(values, count, sizeof *values, compare_ns);
    double median = quantile(values, count, 0.5);
    double upper = quantile(values, count, 0.75) - median;
    for (size_t i = 0; i < count; i++)
        values[i] = (uint32_t)fabs((double)values[i] - median);
    qsort(values, count, sizeof *values, compare_ns);
    double deviation = normal_mad * fmax(quantile(values, count, 0.5), upper);
    return (struct estimate_cost){median, 3 * deviation};
}

struct estimate_time estimate_time(const struct estimate_cost *cost, uint64_t elapsed_ns,
                                   uint32_t traps)
{
    double floor_ns = cost->floor_ns * sqrt(traps);
    double ns = fmax(0, (double)elapsed_ns - traps * cost->ns);
    return (struct estimate_time){ns, floor_ns, ns > floor_ns};
}
