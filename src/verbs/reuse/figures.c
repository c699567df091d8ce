// SPDX-License-Identifier: MIT
/*
 * Reuse distances of all processes together, what the model makes of each process's times, and what
 * caches would miss.
 */
#include "reuse/internal.h"

#include <math.h>
#include <string.h>

/* One process: its rows are [first, end) of the profile's bins. */
struct part {
    const struct profile_reuse *reuse;
    const struct profile_bin *first, *end;
};

/* Processes and bins are in the same order: the search goes on where the last one ended. */
static void next_part(const struct profile *profile, const struct profile_reuse *reuse,
                      struct part *part)
{
    const struct profile_bin *end =
        profile->bins_count ? profile->bins + profile->bins_count : NULL;
    part->reuse = reuse;
    for (part->first = part->end; part->first < end && part->first->process < reuse->process;)
        part->first++;
    for (part->end = part->first; part->end < end && part->end->process == reuse->process;)
        part->end++;
}

/* Locations that a forked process may touch without ever touching them for the first time. */
static double inherited(const struct profile *profile, uint32_t process)
{
    double locations = 0;
    for (unsigned generation = 0; generation < 64; generation++) {
        const struct profile_process *image = NULL;
        for (size_t i = 0; i < profile->processes_count && !image; i++)
            if (profile->processes[i].id == process)
                image = &profile->processes[i];
        if (!image || !image->forked || image->parent == process)
            return locations;
        process = image->parent;
        for (size_t i = 0; i < profile->reuses_count; i++)
            if (profile->reuses[i].process == process)
                locations += profile->reuses[i].locations;
    }
    return locations;
}

static void add(double *to, const double *from)
{
    for (unsigned bin = 0; bin < DISTANCE_BINS; bin++)
        to[bin] += from[bin];
}

static const struct profile_pace *pace_of(const struct profile *profile, uint32_t process)
{
    for (size_t i = 0; i < profile->paces_count; i++)
        if (profile->paces[i].process == process)
            return &profile->paces[i];
    return NULL;
}

/* Distances below the floor were counted by looking ahead, whatever the pace is. */
static void add_band(struct reuse_figures *figures, const struct profile_reuse *reuse,
                     const struct profile_pace *pace, const double *time, double locations)
{
    double rate = pace ? pace->accesses_per_ns : 1, weight = figures->totals.reuses;
    double samples = weight > 0 ? figures->effective * reuse->reuses / weight : 0;
    mrc_band_add(&figures->band, time, reuse->locations, locations,
                 pace ? pace->floor_ns * rate : 0, pace ? pace->low / rate : 1,
                 pace ? pace->high / rate : 1, samples);
}

static void add_part(const struct profile *profile, const struct part *part,
                     struct reuse_figures *figures)
{
    double histograms[PROFILE_DISTANCES][DISTANCE_BINS] = {{0}}, derived[DISTANCE_BINS];
    double first_touches = part->reuse->locations;
    double locations = first_touches + inherited(profile, part->reuse->process);
    for (const struct profile_bin *bin = part->first; bin < part->end; bin++)
        histograms[bin->which][distance_bin(bin->lo)] += bin->weight;
    const double *time = histograms[PROFILE_TIME];
    add(figures->time, time);
    add(figures->stack, histograms[PROFILE_STACK]);
    add(figures->elapsed, histograms[PROFILE_ELAPSED]);
    mrc_stack_from_time(time, first_touches, locations, derived);
    add(figures->from_time, derived);
    if (figures->sampled)
        add_band(figures, part->reuse, pace_of(profile, part->reuse->process), time, locations);
    mrc_stack_expected(time, first_touches, derived);
    add(figures->expected, derived);
}

/* Processes count by the CPU time that their accesses stand for. */
static void add_paces(const struct profile *profile, struct reuse_figures *figures)
{
    double sum_ns = 0, heaviest = -1;
    struct profile_pace *pace = &figures->pace;
    for (size_t i = 0; i < profile->paces_count; i++) {
        const struct profile_pace *one = &profile->paces[i];
        double ns = 1; /* of a process without accesses: it has a pace nevertheless */
        for (size_t r = 0; r < profile->reuses_count; r++)
            if (profile->reuses[r].process == one->process)
                ns = fmax(1, profile->reuses[r].accesses / one->accesses_per_ns);
        sum_ns += ns;
        pace->accesses_per_ns += ns * one->accesses_per_ns;
        pace->low += ns * one->low;
        pace->high += ns * one->high;
        pace->trap_ns = fmax(pace->trap_ns, one->trap_ns);
        pace->floor_ns = fmax(pace->floor_ns, one->floor_ns);
        if (ns > heaviest) {
            heaviest = ns;
            pace->calibration = one->calibration;
        }
    }
    figures->paced = profile->paces_count > 0;
    if (!figures->paced)
        return;
    pace->accesses_per_ns /= sum_ns;
    pace->low /= sum_ns;
    pace->high /= sum_ns;
}

/* Kish's effective size. What single samples weigh is not stored; within a pair they are taken as
   equal, so this is an upper bound, and never more than the samples that were stored. */
static void add_samples(const struct profile *profile, struct reuse_figures *figures)
{
    double weight = 0, squares = 0;
    figures->sampled = strcmp(profile->run.engine, "exact") != 0;
    for (size_t i = 0; i < profile->reuse_pairs_count && figures->sampled; i++) {
        const struct profile_reuse_pair *pair = &profile->reuse_pairs[i];
        weight += pair->weight;
        squares += pair->count ? pair->weight * pair->weight / (double)pair->count : 0;
    }
    if (squares > 0)
        figures->effective = weight * weight / squares;
    for (size_t i = 0; i < profile->kinds_count; i++)
        if (profile->kinds[i].kind == PROFILE_REUSE)
            figures->effective = fmin(figures->effective, (double)profile->kinds[i].samples);
}

void figures_reuse(const struct profile *profile, struct reuse_figures *figures)
{
    struct part part = {.end = profile->bins};
    memset(figures, 0, sizeof *figures);
    figures->totals = profile_reuse_total(profile);
    figures->misses = figures->totals.locations;
    add_paces(profile, figures);
    add_samples(profile, figures);
    for (size_t i = 0; i < profile->reuses_count; i++) {
        next_part(profile, &profile->reuses[i], &part);
        if (part.first < part.end)
            add_part(profile, &part, figures);
    }
}

uint64_t figures_enough(const struct reuse_figures *figures)
{
    const double *stack = figures_stack(figures);
    unsigned last = DISTANCE_BINS;
    uint64_t units = 1;
    while (last > 0 && stack[last - 1] <= 0)
        last--;
    while (last > 0 && units <= distance_bin_low(last - 1) && units < UINT64_C(1) << 62)
        units *= 2;
    return units;
}

double figures_agreement(const struct reuse_figures *figures)
{
    double coarse[2][DISTANCE_BINS] = {{0}};
    for (unsigned bin = 0; bin < DISTANCE_BINS; bin++) {
        bool resolved = (double)distance_bin_low(bin) * figures->totals.share_last >= 1;
        unsigned to = resolved || figures->totals.share_last >= 1 ? bin : 0;
        coarse[0][to] += figures->from_time[bin];
        coarse[1][to] += figures->stack[bin];
    }
    return mrc_similarity(coarse[0], coarse[1]);
}

bool figures_quantile_holds(const struct reuse_figures *figures, const double *histogram,
                            double share)
{
    if (!figures->sampled)
        return true;
    double error = 1.645 * sqrt(share * (1 - share) / fmax(1, figures->effective));
    double low = mrc_quantile(histogram, fmax(0, share - error));
    double high = mrc_quantile(histogram, fmin(1, share + error));
    return high <= 2 * fmax(low, fmax(1, figures->pace.floor_ns));
}

/* ---- caches ---------------------------------------------------------------------------------- */

static double miss_ratio(const double *stack, double first_touches, double units)
{
    double accesses = mrc_sum(stack) + first_touches;
    return accesses > 0 ? fmin(1, (mrc_weight(stack, units, 0x1p64) + first_touches) / accesses)
                        : 0;
}

/* The band is made at powers of two; between them its width changes evenly. */
static void add_band_at(const struct reuse_figures *figures, double units, struct mrc_ratio *result)
{
    uint64_t below = 1;
    while ((double)below * 2 <= units && below < UINT64_C(1) << 61)
        below *= 2;
    struct mrc_ratio ends[2] = {mrc_band_at(&figures->band, below),
                                mrc_band_at(&figures->band, 2 * below)};
    double far = fmax(0, fmin(1, units / (double)below - 1)), near = 1 - far;
    double down = near * (ends[0].ratio - ends[0].low) + far * (ends[1].ratio - ends[1].low);
    double up = near * (ends[0].high - ends[0].ratio) + far * (ends[1].high - ends[1].ratio);
    result->low = fmax(0, result->ratio - down);
    result->high = fmin(1, result->ratio + up);
}

struct mrc_ratio figures_miss_ratio(const struct reuse_figures *figures, double bytes)
{
    double units = bytes / fmax(1, figures->totals.unit_bytes);
    double ratio = miss_ratio(figures_stack(figures), figures->misses, units);
    struct mrc_ratio result = {ratio, ratio, ratio};
    if (figures->sampled)
        add_band_at(figures, units, &result);
    return result;
}

/*
 * Of a pair the number of its reuses N and the sums of their distances S1 = Σ d and S2 = Σ d² are
 * known, and that its distances are among those of the whole histogram. So the number of those
 * beyond a cache C is at most each of:
 *
 * - N, and all that the histogram has beyond C;
 * - the most reuses, the nearest beyond C taken first, whose Σ d stays within S1; the same for S2;
 * - N v / (v + (C − m)²), if the mean m is below C, with v the variance (Cantelli).
 *
 * The histogram makes this sharp where it matters: where a program has reuses that are very near
 * and others a whole pass later, and nothing between, S1 alone says how many are the latter.
 */
static double within_sum(const double *histogram, double units, double sum, unsigned power)
{
    double taken = 0;
    for (unsigned bin = distance_bin((uint64_t)fmin(units, 0x1p62)); bin < DISTANCE_BINS; bin++) {
        double distance = fmax(units, (double)distance_bin_low(bin));
        double cost = power == 2 ? distance * distance : distance;
        if (histogram[bin] <= 0)
            continue;
        if (cost * histogram[bin] >= sum)
            return taken + (cost > 0 ? sum / cost : 0);
        taken += histogram[bin];
        sum -= cost * histogram[bin];
    }
    return taken;
}

double figures_beyond(const struct reuse_figures *figures, const struct reuse_pair *pair,
                      double bytes)
{
    const double *stack = figures_stack(figures);
    double units = bytes / fmax(1, figures->totals.unit_bytes);
    if (!(pair->weight > 0) || pair->stack < units)
        return 0;
    double mean = pair->stack / pair->weight;
    double variance = fmax(0, pair->stack_squares / pair->weight - mean * mean);
    double most = fmin(pair->weight, mrc_weight(stack, units, 0x1p64));
    most = fmin(most, within_sum(stack, units, pair->stack, 1));
    most = fmin(most, within_sum(stack, units, pair->stack_squares, 2));
    if (mean < units)
        most = fmin(most, pair->weight * variance / (variance + (units - mean) * (units - mean)));
    return most;
}

double figures_ratio_without(const struct reuse_figures *figures, const struct reuse_pair *pair,
                             double bytes)
{
    double accesses = mrc_sum(figures_stack(figures)) + figures->misses;
    double ratio = figures_miss_ratio(figures, bytes).ratio;
    return accesses > 0 ? fmax(0, ratio - figures_beyond(figures, pair, bytes) / accesses) : 0;
}
