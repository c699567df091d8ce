// SPDX-License-Identifier: MIT
/*
 * What samples of executions show: do durations go with an argument or the result? A rank
 * correlation alone would call a span varying work whose few slow executions wait for others while
 * all the fast ones follow a size. So what counts is how much of the loss is left among calls with
 * the same value, or nearly the same.
 */
#include "interference/scoring.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    LEAST_SAMPLES = 24,
    /* Of exponential durations the fastest of six is a sixth of the mean above the fastest of many:
       noise explains that much of a loss, and a quarter with groups of four. */
    GROUP_SAMPLES = 6,
};

struct item {
    const struct interference_sample *sample;
    uint64_t value;
    double rank, value_rank;
};

static int compare_ns(const void *left, const void *right)
{
    double a = ((const struct item *)left)->sample->ns,
           b = ((const struct item *)right)->sample->ns;
    return (a > b) - (a < b);
}

static int compare_values(const void *left, const void *right)
{
    const struct item *a = left, *b = right;
    if (a->value != b->value)
        return a->value < b->value ? -1 : 1;
    return compare_ns(left, right);
}

/* Results are signed: -1 is less than 0. */
static uint64_t ordered(const struct interference_sample *sample, uint32_t value)
{
    return sample->value[value] ^ (value == INTERFERENCE_RESULT ? UINT64_C(1) << 63 : 0);
}

/* ---- rank correlation --------------------------------------------------------------------------
 */

/* Equal ones share the mean of their ranks. */
static void rank_durations(struct item *items, size_t count)
{
    qsort(items, count, sizeof *items, compare_ns);
    for (size_t from = 0, to; from < count; from = to) {
        for (to = from; to < count && items[to].sample->ns == items[from].sample->ns;)
            to++;
        for (size_t i = from; i < to; i++)
            items[i].rank = (double)(from + to - 1) / 2;
    }
}

static void rank_values(struct item *items, size_t count)
{
    qsort(items, count, sizeof *items, compare_values);
    for (size_t from = 0, to; from < count; from = to) {
        for (to = from; to < count && items[to].value == items[from].value;)
            to++;
        for (size_t i = from; i < to; i++)
            items[i].value_rank = (double)(from + to - 1) / 2;
    }
}

/* Spearman's: Pearson's of the ranks, whose mean is (count - 1) / 2 whatever is equal. */
static double correlate(const struct item *items, size_t count)
{
    double mean = (double)(count - 1) / 2, both = 0, one = 0, other = 0;
    for (size_t i = 0; i < count; i++) {
        double a = items[i].rank - mean, b = items[i].value_rank - mean;
        both += a * b;
        one += a * a;
        other += b * b;
    }
    return one > 0 && other > 0 ? both / sqrt(one * other) : 0;
}

/* ---- groups ------------------------------------------------------------------------------------
 */

static double loss_of(const struct item *items, size_t count)
{
    double min = INFINITY, loss = 0;
    for (size_t i = 0; i < count; i++)
        min = fmin(min, items[i].sample->ns);
    for (size_t i = 0; i < count; i++)
        loss += items[i].sample->weight * (items[i].sample->ns - min);
    return loss;
}

/* End of the samples with the value of `from`, items by value. */
static size_t run_end(const struct item *items, size_t count, size_t from)
{
    size_t to = from;
    while (to < count && items[to].value == items[from].value)
        to++;
    return to;
}

/* End of a group that begins at `from`: a value of which there are enough samples has one for
 * itself. */
static size_t group_end(const struct item *items, size_t count, size_t from)
{
    size_t to = run_end(items, count, from);
    while (to - from < GROUP_SAMPLES && to < count) {
        size_t end = run_end(items, count, to);
        if (to - from >= INTERFERENCE_GROUP_LEAST || end - to >= INTERFERENCE_GROUP_LEAST)
            break;
        to = end;
    }
    return to;
}

/* Loss that is left within groups. */
static double group_losses(const struct item *items, size_t count,
                           struct interference_relation *relation)
{
    double left = 0;
    relation->groups = 0;
    relation->equal = true;
    for (size_t from = 0, to; from < count; from = to) {
        to = group_end(items, count, from);
        left += loss_of(items + from, to - from);
        relation->groups++;
        relation->equal = relation->equal && items[from].value == items[to - 1].value;
    }
    return left;
}

static struct interference_relation relate(struct item *items, size_t count, uint32_t value,
                                           double loss_ns)
{
    struct interference_relation relation = {.value = value, .samples = (uint32_t)count};
    double weights = 0;
    for (size_t i = 0; i < count; i++) {
        items[i].value = ordered(items[i].sample, value);
        weights += items[i].sample->weight;
    }
    double all = loss_of(items, count);
    rank_values(items, count);
    relation.spearman = correlate(items, count);
    double left = group_losses(items, count, &relation);
    relation.explained = relation.groups > 1 && weights > 0 && loss_ns > 0
                             ? at_most((all - left) / weights / loss_ns, 1)
                             : 0;
    return relation;
}

bool relate_samples(const struct interference_span *span, double loss_ns, bool *related,
                    struct interference_relation *relation)
{
    size_t count = span->samples_count;
    *related = false;
    if (count < LEAST_SAMPLES)
        return true;
    struct item *items = calloc(count, sizeof *items);
    if (!items)
        return false;
    for (size_t i = 0; i < count; i++)
        items[i].sample = &span->samples[i];
    rank_durations(items, count);
    for (uint32_t value = 0; value < INTERFERENCE_VALUES; value++) {
        struct interference_relation found = relate(items, count, value, loss_ns);
        if (found.groups < 2 || (*related && found.explained <= relation->explained))
            continue;
        *related = true;
        *relation = found;
    }
    free(items);
    return true;
}

/* ---- other keys --------------------------------------------------------------------------------
 */

static void add_group(const struct item *items, size_t count, struct interference_group *groups,
                      size_t room, size_t *used)
{
    struct interference_group group = {
        .value = items[0].value, .samples = count, .min_ns = INFINITY};
    double weights = 0;
    for (size_t i = 0; i < count; i++) {
        group.min_ns = fmin(group.min_ns, items[i].sample->ns);
        group.mean_ns += items[i].sample->weight * items[i].sample->ns;
        weights += items[i].sample->weight;
    }
    group.mean_ns = weights > 0 ? group.mean_ns / weights : group.min_ns;
    size_t at = *used;
    while (at > 0 && groups[at - 1].samples < count)
        at--;
    if (at == room)
        return;
    size_t last = *used < room ? *used : room - 1;
    memmove(&groups[at + 1], &groups[at], (last - at) * sizeof *groups);
    groups[at] = group;
    *used = last + 1;
}

enum base_status interference_regroup(const struct interference_sample *samples, size_t count,
                                      uint32_t value, struct interference_regrouped *regrouped,
                                      struct interference_group *groups, size_t room)
{
    struct interference_regrouped result = {0};
    double left = 0, all = 0, min = INFINITY;
    size_t used = 0;
    struct item *items = calloc(count + 1, sizeof *items);
    if (!items)
        return BASE_NO_MEMORY;
    for (size_t i = 0; i < count; i++) {
        items[i] = (struct item){.sample = &samples[i], .value = samples[i].value[value]};
        min = fmin(min, samples[i].ns);
    }
    qsort(items, count, sizeof *items, compare_values);
    for (size_t from = 0, to; from < count; from = to) {
        for (to = from; to < count && items[to].value == items[from].value;)
            to++;
        if (to - from < INTERFERENCE_GROUP_LEAST)
            continue;
        result.groups++;
        result.samples += to - from;
        left += loss_of(items + from, to - from);
        for (size_t i = from; i < to; i++)
            all += items[i].sample->weight * (items[i].sample->ns - min);
        if (groups && room)
            add_group(items + from, to - from, groups, room, &used);
    }
    free(items);
    result.kept = all > 0 ? at_most(left / all, 1) : 0;
    *regrouped = result;
    return BASE_OK;
}
