// SPDX-License-Identifier: MIT
/*
 * Estimates against the truth: rdx's similarity of histograms (§V), and witch's
 * comparison of the pairs that make up 90 % of the waste (§7.1: edit distance of the
 * orders, difference of the sets, weights).
 */
#include "mrc/mrc.h"
#include "simulate.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double top_share = 0.9;
enum { PAPER_FIRST_SHIFT = 12, EDIT_MAX = 2000 };

void score_paper_bins(const double *fine, double *bins)
{
    double sum = 0;
    memset(bins, 0, PAPER_BINS * sizeof *bins);
    for (unsigned i = 0; i < DISTANCE_BINS; i++) {
        uint64_t low = distance_bin_low(i) >> PAPER_FIRST_SHIFT;
        unsigned bin = low ? 64 - (unsigned)__builtin_clzll(low) : 0;
        bins[bin < PAPER_BINS ? bin : PAPER_BINS - 1] += fine[i];
        sum += fine[i];
    }
    for (unsigned i = 0; i < PAPER_BINS; i++)
        bins[i] = sum > 0 ? bins[i] / sum : NAN;
}

double score_similarity(const double *truth, const double *estimate)
{
    double sum = 0;
    for (unsigned i = 0; i < PAPER_BINS; i++)
        sum += fabs(truth[i] - estimate[i]);
    return 1 - sum / 2;
}

double score_similarity_windowed(const double *truth, const double *estimate)
{
    double sum = 0;
    for (unsigned i = 0; i + 1 < PAPER_BINS; i++)
        sum += fabs((truth[i] + truth[i + 1]) / 2 - (estimate[i] + estimate[i + 1]) / 2);
    return 1 - sum / 2;
}

double score_fraction(const struct tally *tally, enum method method)
{
    double waste = 0, use = 0;
    for (size_t i = 0; i < tally->capacity; i++) {
        waste += tally->entries[i].waste[method];
        use += tally->entries[i].use[method];
    }
    return waste + use > 0 ? waste / (waste + use) : NAN;
}

/* ---- pairs ---------------------------------------------------------------------------------- */

static int by_waste(const void *a, const void *b, void *context)
{
    enum method method = *(const enum method *)context;
    const struct tally_entry *first = *(const struct tally_entry *const *)a;
    const struct tally_entry *second = *(const struct tally_entry *const *)b;
    if (first->waste[method] != second->waste[method])
        return first->waste[method] > second->waste[method] ? -1 : 1;
    return first->key < second->key ? -1 : first->key > second->key;
}

static double total_waste(const struct tally *tally, enum method method)
{
    double sum = 0;
    for (size_t i = 0; i < tally->capacity; i++)
        sum += tally->entries[i].waste[method];
    return sum;
}

/* Entries with waste in order of it, malloc'd, NULL at the end. */
static const struct tally_entry **ranking(const struct tally *tally, enum method method,
                                          size_t *count)
{
    const struct tally_entry **order = malloc((tally->count + 1) * sizeof *order);
    if (!order)
        exit(1);
    *count = 0;
    for (size_t i = 0; i < tally->capacity; i++)
        if (tally->entries[i].key && tally->entries[i].waste[method] > 0)
            order[(*count)++] = &tally->entries[i];
    qsort_r(order, *count, sizeof *order, by_waste, &method);
    order[*count] = NULL;
    return order;
}

void score_rank(const struct tally *tally, struct ranked *ranked)
{
    size_t count;
    double sum = 0;
    *ranked = (struct ranked){.order = ranking(tally, METHOD_NONE, &count),
                              .waste = total_waste(tally, METHOD_NONE),
                              .fraction = score_fraction(tally, METHOD_NONE)};
    for (size_t i = 0; i < count && sum < top_share * ranked->waste; i++, ranked->top++) {
        const struct tally_entry *entry = ranked->order[i];
        sum += entry->waste[METHOD_NONE];
        tally_at(&ranked->top_set, tally_first(entry), tally_second(entry));
    }
}

void score_rank_free(struct ranked *ranked)
{
    free(ranked->order);
    tally_free(&ranked->top_set);
}

static double waste_share(const struct tally *tally, uint64_t key, enum method method, double total)
{
    const struct tally_entry *entry = tally_find(tally, key);
    return entry ? entry->waste[method] / total : 0;
}

static int by_value(const void *a, const void *b)
{
    double first = *(const double *)a, second = *(const double *)b;
    return first < second ? -1 : first > second;
}

/* Mean rank of `value` among sorted values: ties share theirs. */
static double rank_of(const double *sorted, size_t count, double value)
{
    size_t from = 0, to = 0, low = 0, high = count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (sorted[middle] < value)
            low = middle + 1;
        else
            high = middle;
    }
    from = low;
    for (high = count; low < high;) {
        size_t middle = (low + high) / 2;
        if (sorted[middle] <= value)
            low = middle + 1;
        else
            high = middle;
    }
    to = low;
    return (double)(from + to - 1) / 2;
}

/* Spearman's coefficient: Pearson's of the ranks. NAN if one side is all ties. */
static double rank_correlation(const double *truth, const double *estimate, size_t count)
{
    double *sorted[2] = {malloc(count * sizeof(double)), malloc(count * sizeof(double))};
    double mean = (double)(count - 1) / 2, both = 0, squares[2] = {0, 0};
    if (!sorted[0] || !sorted[1])
        exit(1);
    memcpy(sorted[0], truth, count * sizeof(double));
    memcpy(sorted[1], estimate, count * sizeof(double));
    qsort(sorted[0], count, sizeof(double), by_value);
    qsort(sorted[1], count, sizeof(double), by_value);
    for (size_t i = 0; i < count; i++) {
        double first = rank_of(sorted[0], count, truth[i]) - mean;
        double second = rank_of(sorted[1], count, estimate[i]) - mean;
        both += first * second;
        squares[0] += first * first;
        squares[1] += second * second;
    }
    free(sorted[0]);
    free(sorted[1]);
    return squares[0] > 0 && squares[1] > 0 ? both / sqrt(squares[0] * squares[1]) : NAN;
}

/* Levenshtein's distance of two orders of pairs. */
static size_t edit_distance(const struct tally_entry *const *first, size_t first_count,
                            const struct tally_entry *const *second, size_t second_count)
{
    size_t *row = malloc((second_count + 1) * sizeof *row);
    if (!row)
        exit(1);
    for (size_t j = 0; j <= second_count; j++)
        row[j] = j;
    for (size_t i = 0; i < first_count; i++) {
        size_t diagonal = row[0];
        row[0] = i + 1;
        for (size_t j = 0; j < second_count; j++) {
            size_t replace = diagonal + (first[i]->key != second[j]->key);
            size_t change = row[j] < row[j + 1] ? row[j] + 1 : row[j + 1] + 1;
            diagonal = row[j + 1];
            row[j + 1] = replace < change ? replace : change;
        }
    }
    size_t distance = row[second_count];
    free(row);
    return distance;
}

static size_t common(const struct tally *set, const struct tally_entry *const *order, size_t count)
{
    size_t found = 0;
    for (size_t i = 0; i < count; i++)
        found += tally_find(set, order[i]->key) != NULL;
    return found;
}

static void compare_weights(const struct ranked *truth, const struct tally *estimate,
                            enum method method, struct top_score *score)
{
    size_t top = truth->top;
    double total = total_waste(estimate, method);
    double *shares[2] = {malloc(top * sizeof(double)), malloc(top * sizeof(double))};
    if (!shares[0] || !shares[1])
        exit(1);
    for (size_t i = 0; i < top; i++) {
        shares[0][i] = truth->order[i]->waste[METHOD_NONE] / truth->waste;
        shares[1][i] = waste_share(estimate, truth->order[i]->key, method, total);
        double difference = fabs(shares[0][i] - shares[1][i]) * 100;
        score->weight_mean += difference / (double)top;
        if (difference > score->weight_most)
            score->weight_most = difference;
    }
    score->rank_correlation = top > 1 ? rank_correlation(shares[0], shares[1], top) : NAN;
    free(shares[0]);
    free(shares[1]);
}

bool score_top(const struct ranked *truth, const struct tally *estimate, enum method method,
               struct top_score *score)
{
    size_t top = truth->top, found;
    if (!(truth->waste > 0) || !(total_waste(estimate, method) > 0))
        return false;
    const struct tally_entry **seen = ranking(estimate, method, &found);
    size_t compared = found < top ? found : top;
    *score = (struct top_score){.top = top, .found = found, .edit_distance = NAN};
    score->overlap = (double)common(&truth->top_set, seen, compared) / (double)top;
    if (top <= EDIT_MAX)
        score->edit_distance =
            (double)edit_distance(truth->order, top, seen, compared) / (double)top;
    compare_weights(truth, estimate, method, score);
    free(seen);
    return true;
}

/* ---- model ------------------------------------------------------------------------------- */

/* A sampler's histogram, brought to the scale of the whole run: of all location touches, those that
   `first_touches` does not claim are reuses. */
void score_stack_model(const double *time, double touches, double first_touches, double *stack)
{
    static double scaled[DISTANCE_BINS];
    double sum = mrc_sum(time);
    double scale = sum > 0 ? fmax(touches - first_touches, 0) / sum : 0;
    for (unsigned i = 0; i < DISTANCE_BINS; i++)
        scaled[i] = time[i] * scale;
    mrc_stack_from_time(scaled, first_touches, first_touches, stack);
}
