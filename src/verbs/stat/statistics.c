// SPDX-License-Identifier: MIT
#include "stat/statistics.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    EXACT_PAIRS = 100, /* up to which the distribution of rank sums is counted out      */
    WALSH_MOST = 3000, /* pairs of which all means of two are taken                     */
    MODES_LEAST = 10,  /* values, of which modes are looked for                         */
};

#define TAIL    0.025 /* on each side of 95 % */
#define Z_TAIL  1.959964
#define Z_POWER 0.841621 /* four times of five */

static int ascending(const void *a, const void *b)
{
    double one = *(const double *)a, two = *(const double *)b;
    return (one > two) - (one < two);
}

static double middle(const double *ordered, size_t count)
{
    return (ordered[(count - 1) / 2] + ordered[count / 2]) / 2;
}

/* ---- one thing ------------------------------------------------------------------------------- */

/* P(X >= k), X binomial with n trials of probability p. */
static double binomial_from(size_t n, size_t k, double p)
{
    double sum = 0;
    int sign;
    if (p >= 1)
        return 1;
    for (size_t i = k; i <= n && p > 0; i++)
        sum += exp(lgamma_r((double)n + 1, &sign) - lgamma_r((double)i + 1, &sign) -
                   lgamma_r((double)(n - i) + 1, &sign) + (double)i * log(p) +
                   (double)(n - i) * log1p(-p));
    return sum;
}

/*
 * A resample's value number `rank`, from 1, is at most the k-th smallest if at least `rank` of its n draws are among the k smallest.
 * The smallest k for which that is more probable than `share`.
 */
static size_t resampled_rank(size_t n, size_t rank, double share)
{
    size_t low = 1, high = n;
    while (low < high) {
        size_t k = (low + high) / 2;
        if (binomial_from(n, rank, (double)k / (double)n) > share)
            high = k;
        else
            low = k + 1;
    }
    return low;
}

/* Of even numbers the median is the mean of two; the interval goes from the lower one's lower end to the upper one's upper. */
static void bound_median(const double *ordered, struct statistics *made)
{
    size_t n = made->count;
    made->low = ordered[resampled_rank(n, (n + 1) / 2, TAIL) - 1];
    made->high = ordered[resampled_rank(n, n / 2 + 1, 1 - TAIL) - 1];
}

void statistics_of(double *values, size_t count, struct statistics *made)
{
    double sum = 0, squares = 0;
    qsort(values, count, sizeof *values, ascending);
    for (size_t i = 0; i < count; i++)
        sum += values[i];
    *made = (struct statistics){.count = count,
                                .min = values[0],
                                .median = middle(values, count),
                                .mean = sum / (double)count,
                                .max = values[count - 1]};
    for (size_t i = 0; i < count; i++)
        squares += (values[i] - made->mean) * (values[i] - made->mean);
    made->sd = count > 1 ? sqrt(squares / (double)(count - 1)) : 0;
    bound_median(values, made);
}

double statistics_spread(const double *values, size_t count, double median)
{
    /* The distances fall to the left and rise to the right: the smaller of the two next ones, (count + 1) / 2 times. */
    size_t right = BASE_FIRST(i, count, values[i] >= median), left = right;
    double distance = 0;
    for (size_t taken = 0; taken < (count + 1) / 2; taken++) {
        double below = left > 0 ? median - values[left - 1] : INFINITY;
        double above = right < count ? values[right] - median : INFINITY;
        distance = fmin(below, above);
        if (below < above)
            left--;
        else
            right++;
    }
    return 1.4826 * distance;
}

static double deviation(const double *values, size_t count)
{
    double sum = 0, squares = 0;
    for (size_t i = 0; i < count; i++)
        sum += values[i];
    for (size_t i = 0; i < count; i++)
        squares += (values[i] - sum / (double)count) * (values[i] - sum / (double)count);
    return sqrt(squares / (double)count);
}

/*
 * At the widest gap that leaves a fifth of the values on each side: two modes, if their medians are five times as far apart as the wider
 * one is wide. Halves of normal values are 2.7 times, of uniform ones 3.5 times as far apart.
 */
bool statistics_modes(const double *values, size_t count, size_t *split)
{
    size_t least = count / 5 > 3 ? count / 5 : 3, best = 0;
    if (count < MODES_LEAST)
        return false;
    for (size_t i = least; i + least <= count; i++)
        if (!best || values[i] - values[i - 1] > values[best] - values[best - 1])
            best = i;
    double wide = fmax(deviation(values, best), deviation(values + best, count - best));
    double apart = middle(values + best, count - best) - middle(values, best);
    if (apart <= 5 * wide || apart <= 0.01 * values[0])
        return false;
    *split = best;
    return true;
}

/* ---- two things, in rounds ------------------------------------------------------------------- */

/* How many of the smallest means of two are left out on each side; SIZE_MAX: the interval would have no end. */
static size_t signed_rank_cut(size_t n)
{
    size_t all = n * (n + 1) / 2;
    if (n > EXACT_PAIRS) {
        double mean = (double)all / 2,
               width = sqrt((double)n * (double)(n + 1) * (double)(2 * n + 1) / 24);
        return (size_t)floor(mean - Z_TAIL * width);
    }
    /* ways[s]: probability that the ranks of positive differences add up to s */
    double ways[EXACT_PAIRS * (EXACT_PAIRS + 1) / 2 + 1] = {1}, sum = 0;
    for (size_t rank = 1; rank <= n; rank++)
        for (size_t s = rank * (rank + 1) / 2 + 1; s-- > 0;)
            ways[s] = (ways[s] + (s >= rank ? ways[s - rank] : 0)) / 2;
    for (size_t s = 0; s <= all; s++) {
        sum += ways[s];
        if (sum > TAIL)
            return s == 0 ? SIZE_MAX : s;
    }
    return SIZE_MAX;
}

static void finish_ratio(double value, double low, double high, struct statistics_ratio *made)
{
    double half = (high - low) / 2;
    *made = (struct statistics_ratio){.known = true,
                                      .bounded = true,
                                      .value = exp(value),
                                      .low = exp(low),
                                      .high = exp(high),
                                      .detectable = expm1(half / Z_TAIL * (Z_TAIL + Z_POWER))};
}

/* values: of them `cut` - 1 lie below the interval, and as many above. */
static void make_ratio(double *values, size_t count, size_t cut, struct statistics_ratio *made)
{
    qsort(values, count, sizeof *values, ascending);
    double value = middle(values, count);
    if (cut == SIZE_MAX || cut == 0 || 2 * cut > count)
        *made = (struct statistics_ratio){.known = true, .value = exp(value)};
    else
        finish_ratio(value, values[cut - 1], values[count - cut], made);
}

enum base_status statistics_paired(const double *first, const double *second, size_t count,
                                   struct statistics_ratio *made)
{
    size_t all = count > WALSH_MOST ? count : count * (count + 1) / 2, filled = 0;
    if (count == 0) {
        *made = (struct statistics_ratio){0};
        return BASE_OK;
    }
    double *means = malloc((all + 1) * sizeof *means);
    if (!means)
        return BASE_NO_MEMORY;
    /* So many differences that their own median will do: half of them are larger, as in the toss of a coin. */
    size_t cut = count > WALSH_MOST
                     ? (size_t)floor((double)count / 2 - Z_TAIL * sqrt((double)count) / 2)
                     : signed_rank_cut(count);
    for (size_t i = 0; i < count; i++)
        for (size_t j = i; j < (count > WALSH_MOST ? i + 1 : count); j++)
            means[filled++] = (log(second[i] / first[i]) + log(second[j] / first[j])) / 2;
    make_ratio(means, filled, cut, made);
    free(means);
    return BASE_OK;
}
