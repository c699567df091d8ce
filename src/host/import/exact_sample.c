// SPDX-License-Identifier: MIT
/*
 * Waste that the exact engine counted for a sample of locations, brought to the scale of all of them, and its variance. Every location is
 * drawn with the same probability, so a sum divided by it is unbiased (Horvitz, Thompson). Draws are systematic, and accesses to one
 * location are alike: so the variance is estimated from random groups of draws, each of which is a sample as all of them together are
 * (Wolter, Introduction to Variance Estimation, chapter 2). A share is a ratio of two sums, of which a group has more or less together:
 * the residual of group g is part_g - share whole_g, and with G groups the variance of the share is G / (G - 1) Σ residual² / whole².
 */
#include "import/internal.h"

#include <math.h>
#include <stdlib.h>

enum { WASTE_KINDS = PROFILE_REUSE }; /* those before it */

/* All groups but the first, which has the rest of the pair. */
struct import_groups {
    double waste[WIRE_PAIR_GROUPS - 1], use[WIRE_PAIR_GROUPS - 1];
};

bool import_sample_pair(struct import_gather *gather, uint32_t item, const struct wire_pair *record)
{
    struct import_waste_sample *sample = &gather->waste_sample;
    uint32_t group = record->flags >> WIRE_PAIR_GROUP_SHIFT;
    if (!group || group >= WIRE_PAIR_GROUPS)
        return true;
    if (!UTIL_GROW_ZEROED(sample->groups, sample->groups_capacity, item))
        return import_no_memory(gather);
    sample->groups[item].waste[group - 1] += (double)record->waste_bytes;
    sample->groups[item].use[group - 1] += (double)record->use_bytes;
    return true;
}

bool import_sample_move(struct import_gather *gather, uint32_t from, uint32_t to)
{
    struct import_waste_sample *sample = &gather->waste_sample;
    if (from == to || from >= sample->groups_capacity)
        return true;
    if (!UTIL_GROW_ZEROED(sample->groups, sample->groups_capacity, to))
        return import_no_memory(gather);
    struct import_groups moved = sample->groups[from];
    sample->groups[from] = (struct import_groups){0};
    for (uint32_t i = 0; i < WIRE_PAIR_GROUPS - 1; i++) {
        sample->groups[to].waste[i] += moved.waste[i];
        sample->groups[to].use[i] += moved.use[i];
    }
    return true;
}

bool import_sample_totals_ok(const struct wire_totals *totals)
{
    return isfinite(totals->waste_share) && totals->waste_share >= 0 && totals->waste_share <= 1 &&
           (totals->waste_share == 0 || totals->waste_share > 1e-10);
}

void import_sample_totals(struct import_gather *gather, const struct wire_totals *totals)
{
    if (totals->waste_share > 0 && totals->waste_share < 1)
        gather->waste_sample.share = totals->waste_share;
}

/* ---- at the end ------------------------------------------------------------------------------ */

/* Of all pairs of a kind, or of one, by group. */
struct sums {
    double waste[WIRE_PAIR_GROUPS], use[WIRE_PAIR_GROUPS];
};

static void spread(double by_group[WIRE_PAIR_GROUPS], const double *others, double all)
{
    by_group[0] = all;
    for (uint32_t i = 1; i < WIRE_PAIR_GROUPS; i++) {
        by_group[i] = others ? others[i - 1] : 0;
        by_group[0] -= by_group[i];
    }
}

static struct sums sums_of(const struct import_waste_sample *sample, size_t item,
                           const struct profile_pair *pair)
{
    const struct import_groups *groups =
        item < sample->groups_capacity ? &sample->groups[item] : NULL;
    struct sums sums;
    spread(sums.waste, groups ? groups->waste : NULL, pair->waste_bytes);
    spread(sums.use, groups ? groups->use : NULL, pair->use_bytes);
    return sums;
}

/* The most that profile_check takes; only damaged records have more. */
#define MOST_SQUARES 1e30

/*
 * The variance of the part, given the whole, at the scale of all locations. With so few groups the ratio of the error to its estimate has
 * Student's distribution, whose quantile is 2.36; profile_share takes that of the normal distribution, 1.96. So the variance is enlarged.
 */
static double variance_of(const double part[WIRE_PAIR_GROUPS], const double whole[WIRE_PAIR_GROUPS],
                          double share)
{
    static const double of_eight_groups = 1.456; /* (2.3646 / 1.9600)^2 */
    _Static_assert(WIRE_PAIR_GROUPS == 8, "the quantile is that of seven degrees of freedom");
    double part_sum = 0, whole_sum = 0, sum = 0;
    for (uint32_t i = 0; i < WIRE_PAIR_GROUPS; i++) {
        part_sum += part[i];
        whole_sum += whole[i];
    }
    double ratio = whole_sum > 0 ? part_sum / whole_sum : 0;
    for (uint32_t i = 0; i < WIRE_PAIR_GROUPS; i++)
        sum += (part[i] - ratio * whole[i]) * (part[i] - ratio * whole[i]);
    return fmin(MOST_SQUARES, of_eight_groups * sum * WIRE_PAIR_GROUPS / (WIRE_PAIR_GROUPS - 1) /
                                  (share * share));
}

static void scale_count(uint64_t *count, double share)
{
    *count = (uint64_t)llround((double)*count / share);
}

static bool add_row(struct import_gather *gather, uint32_t kind, const struct sums *sums)
{
    const struct import_waste_sample *sample = &gather->waste_sample;
    static const double alike[WIRE_PAIR_GROUPS] = {1, 1, 1, 1, 1, 1, 1, 1};
    double both[WIRE_PAIR_GROUPS], all = 0, waste = 0;
    for (uint32_t i = 0; i < WIRE_PAIR_GROUPS; i++) {
        both[i] = sums->waste[i] + sums->use[i];
        all += both[i] / sample->share;
        waste += sums->waste[i] / sample->share;
    }
    double f = all > 0 ? waste / all : 0, off = variance_of(sums->waste, both, sample->share);
    double whole = variance_of(both, alike, sample->share);
    struct profile_waste_sample *row = profile_add_waste_samples(gather->profile);
    if (!row)
        return import_no_memory(gather);
    row->kind = kind;
    row->share = sample->share;
    /* Groups that agree by chance are not taken for more locations than there are bytes. */
    row->locations = whole > 0 ? fmin(all, all * all / whole) : all;
    row->waste_squares = off;
    row->whole_squares = f > 0 && f < 1 ? fmin(MOST_SQUARES, off / (f * (1 - f))) : whole;
    return true;
}

/* All pairs of each kind. */
static void add_up(const struct import_gather *gather, struct sums kinds[WASTE_KINDS])
{
    const struct profile *profile = gather->profile;
    for (size_t i = 0; i < profile->pairs_count; i++) {
        const struct profile_pair *pair = &profile->pairs[i];
        if (pair->kind >= WASTE_KINDS)
            continue;
        struct sums sums = sums_of(&gather->waste_sample, i, pair);
        for (uint32_t group = 0; group < WIRE_PAIR_GROUPS; group++) {
            kinds[pair->kind].waste[group] += sums.waste[group];
            kinds[pair->kind].use[group] += sums.use[group];
        }
    }
}

static void scale_counts(struct profile *profile, double share)
{
    for (size_t i = 0; i < profile->exacts_count; i++) {
        struct profile_exact *exact = &profile->exacts[i];
        uint64_t *counts[] = {
            &exact->loads,       &exact->stores,           &exact->load_bytes,
            &exact->store_bytes, &exact->fresh_load_bytes, &exact->fresh_store_bytes};
        for (size_t k = 0; k < BASE_COUNT(counts); k++)
            scale_count(counts[k], share);
    }
}

bool import_sample_finish(struct import_gather *gather)
{
    const struct import_waste_sample *sample = &gather->waste_sample;
    struct profile *profile = gather->profile;
    struct sums kinds[WASTE_KINDS] = {0};
    double share = sample->share;
    bool good = true;
    if (!(share > 0))
        return true;
    add_up(gather, kinds);
    for (size_t i = 0; i < profile->pairs_count; i++) {
        struct profile_pair *pair = &profile->pairs[i];
        if (pair->kind >= WASTE_KINDS)
            continue;
        struct sums sums = sums_of(sample, i, pair);
        pair->waste_squares = variance_of(sums.waste, kinds[pair->kind].waste, share);
        pair->waste_bytes /= share;
        pair->use_bytes /= share;
        gather->nears[i].bytes /= share;
    }
    scale_counts(profile, share);
    for (uint32_t kind = 0; kind < WASTE_KINDS && good; kind++)
        if (gather->log->config.kinds >> kind & 1)
            good = add_row(gather, kind, &kinds[kind]);
    return good;
}

void import_sample_free(struct import_gather *gather)
{
    free(gather->waste_sample.groups);
}
