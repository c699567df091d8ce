// SPDX-License-Identifier: MIT
/*
 * A process: from what single samples waited for to the histogram and the totals, on the scale of
 * accesses, as the exact engine has them.
 *
 * The weight of the samples of a process stands for all its accesses; how many these are is
 * counted (sources count and pmu) or the pace times its CPU time.
 *
 * Locations. A location has one last touch, so locations / accesses is the share of the samples
 * that are not used again. In most programs that is too little for samples to show: less
 * than one in a thousand. But the distances know something too: all of a location's
 * add up to no more than the run, so the sum of all distances / accesses, the mean
 * distance per access, is a lower bound. The larger of the two is taken, at most the accesses, and
 * no more than a process ever had in memory at a time: what is watched is a part of a line only,
 * so of lines too many seem not to be used again.
 *
 * Touched once. Of a context the share of accesses that nothing follows is known, and the share
 * that nothing preceded is what the reuses that end there leave. Taken as independent of each other
 * within a context, their product is the share of accesses that are their location's only one. In
 * contexts of few samples both lean on the shares of the whole process.
 */
#include "estimate/estimate.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* What a profile may hold; only damaged records and strange paces lead there. */
static const double most_accesses = 0x1p60;
static const double most_distance = 0x1p61;

/* ---- one watch ------------------------------------------------------------------------------- */

static bool is_exact(const struct estimate_watch *watch)
{
    return watch->flags & (WIRE_REUSE_FORESEEN | WIRE_REUSE_COUNTED);
}

static struct estimate_time time_of(const struct estimate *estimate,
                                    const struct estimate_watch *watch)
{
    return estimate_time(&estimate->costs[watch->thread], watch->elapsed_ns, watch->traps);
}

static unsigned bin_of(double distance)
{
    return distance_bin((uint64_t)fmax(0, fmin(distance, most_distance)));
}

/* Between which distances a reuse lies; equal ends: known. */
struct span {
    double distance;
    uint32_t first, end; /* bins, if first < end */
};

static struct span span_of(const struct estimate *estimate, const struct estimate_watch *watch)
{
    if (is_exact(watch))
        return (struct span){fmax(1, (double)watch->accesses), 0, 0};
    struct estimate_time time = time_of(estimate, watch);
    double least = (double)watch->accesses + 1, pace = estimate->pace.accesses_per_ns;
    if (time.resolved)
        return (struct span){fmin(most_distance, fmax(time.ns * pace, least)), 0, 0};
    uint32_t first = distance_bin((uint64_t)least);
    uint32_t end = bin_of(time.floor_ns * pace);
    return (struct span){least, first, end > first ? end : first + 1};
}

/* ---- the histogram --------------------------------------------------------------------------- */

static void add_watches(struct estimate *estimate)
{
    for (size_t i = 0; i < estimate->count; i++) {
        const struct estimate_watch *watch = &estimate->watches[i];
        double amount = estimate->amounts[i];
        if (!estimate_is_reused(watch) || !(amount > 0))
            continue;
        struct span span = span_of(estimate, watch);
        if (span.first < span.end) {
            estimate->intervals[estimate->intervals_count++] =
                (struct estimate_interval){span.first, span.end, amount};
        } else if (watch->flags & WIRE_REUSE_FORESEEN) {
            estimate->near[bin_of(span.distance)] += amount;
        } else {
            estimate->far[bin_of(span.distance)] += amount;
            estimate->elapsed[bin_of(time_of(estimate, watch).ns)] += amount;
        }
    }
}

/* The last bins end beyond what profiles can hold, 63 bits. */
static void fold_last(double *histogram)
{
    unsigned last = bin_of(INFINITY);
    for (unsigned bin = last + 1; bin < DISTANCE_BINS; bin++) {
        histogram[last] += histogram[bin];
        histogram[bin] = 0;
    }
}

/* Short times follow from short distances, which were seen, by the pace. */
static void add_histograms(struct estimate *estimate)
{
    double elapsed[DISTANCE_BINS];
    add_watches(estimate);
    estimate_spread(estimate->near, estimate->intervals, estimate->intervals_count);
    mrc_stretch(estimate->near, 0, 1 / estimate->pace.accesses_per_ns, elapsed);
    for (unsigned bin = 0; bin < DISTANCE_BINS; bin++) {
        estimate->time[bin] = estimate->near[bin] + estimate->far[bin];
        estimate->elapsed[bin] += elapsed[bin];
    }
    fold_last(estimate->elapsed);
}

/* ---- how much there is ----------------------------------------------------------------------- */

/* By the processor's counters, or by a program that counts its accesses itself. */
static bool is_counted(const struct estimate *estimate)
{
    for (size_t i = 0; i < estimate->count; i++)
        if (estimate->watches[i].flags & WIRE_REUSE_COUNTED)
            return true;
    return !estimate->clocked;
}

/* Where accesses were counted the recording itself says. */
static void find_counted_pace(struct estimate *estimate)
{
    double accesses = 0, ns = 0;
    for (size_t i = 0; i < estimate->count; i++) {
        const struct estimate_watch *watch = &estimate->watches[i];
        if (!(watch->flags & WIRE_REUSE_COUNTED) || watch->flags & WIRE_REUSE_FORESEEN ||
            !estimate_is_reused(watch))
            continue;
        accesses += estimate->amounts[i] * (double)watch->accesses;
        ns += estimate->amounts[i] * time_of(estimate, watch).ns;
    }
    double pace = accesses > 0 && ns > 0 ? accesses / ns : 1;
    estimate->pace = (struct estimate_pace){.accesses_per_ns = pace, .low = pace, .high = pace};
}

/* Share of the samples whose reuse took long. */
static double far_share(const struct estimate *estimate)
{
    double far = 0;
    for (size_t i = 0; i < estimate->count; i++) {
        const struct estimate_watch *watch = &estimate->watches[i];
        if (!is_exact(watch) && estimate_is_reused(watch) &&
            time_of(estimate, watch).ns > ESTIMATE_FAR_NS)
            far += estimate->amounts[i];
    }
    return fmin(1, far / estimate->sampled);
}

static void find_pace(struct estimate *estimate)
{
    double density = 0, dense = 0;
    estimate->counted = is_counted(estimate);
    if (estimate->counted) {
        find_counted_pace(estimate);
        return;
    }
    for (size_t i = 0; i < estimate->uses_count; i++) {
        density += estimate->uses[i].density;
        dense += (double)estimate->uses[i].dense;
    }
    estimate_pace(dense > 0 ? density / dense : 0, far_share(estimate), estimate->given,
                  &estimate->pace);
}

static void find_sampled(struct estimate *estimate)
{
    double sum = 0, squares = 0;
    for (size_t i = 0; i < estimate->uses_count; i++)
        sum += estimate->uses[i].watchable;
    for (size_t i = 0; i < estimate->count; i++) {
        const struct estimate_watch *watch = &estimate->watches[i];
        sum += watch->flags & WIRE_REUSE_FORESEEN ? (double)watch->weight : 0;
        squares += estimate->amounts[i] * estimate->amounts[i];
    }
    double amounts = 0;
    for (size_t i = 0; i < estimate->count; i++)
        amounts += estimate->amounts[i];
    estimate->sampled = fmax(sum, amounts); /* rounding; records of samples that were lost */
    estimate->effective = squares > 0 ? estimate->sampled * estimate->sampled / squares : 0;
}

static void find_locations(struct estimate *estimate)
{
    double reused = mrc_sum(estimate->time), distances = 0;
    for (unsigned bin = 1; bin < DISTANCE_BINS - 1; bin++)
        distances += estimate->time[bin] * mrc_bin_middle(bin);
    double last = fmax(0, 1 - reused / estimate->sampled) * estimate->accesses;
    double at_least = distances / estimate->sampled;
    estimate->locations = fmin(estimate->accesses, fmax(last, at_least));
    if (estimate->resident > 0)
        estimate->locations = fmin(estimate->locations, estimate->resident);
}

/* By use: what the reuses that end there stand for. */
static void find_arrivals(const struct estimate *estimate, double *arrivals)
{
    double reused = 0, owned = 0;
    for (size_t i = 0; i < estimate->count; i++) {
        if (!estimate_is_reused(&estimate->watches[i]))
            continue;
        struct estimate_use key = {.process = estimate->process,
                                   .node = estimate->watches[i].reuse};
        const struct estimate_use *use = bsearch(&key, estimate->uses, estimate->uses_count,
                                                 sizeof *estimate->uses, estimate_compare_uses);
        if (use)
            arrivals[use - estimate->uses] += estimate->own[i];
        reused += estimate->amounts[i];
        owned += estimate->own[i];
    }
    for (size_t u = 0; u < estimate->uses_count && owned > 0; u++)
        arrivals[u] *= reused / owned;
}

static bool find_once(struct estimate *estimate)
{
    static const double lean = 4; /* samples' worth of the whole process's share */
    double *arrivals = calloc(estimate->uses_count + 1, sizeof *arrivals);
    double *weights = calloc(estimate->uses_count + 1, sizeof *weights);
    double share = estimate->locations / estimate->accesses, once = 0;
    bool good = arrivals && weights;
    if (good)
        find_arrivals(estimate, arrivals);
    for (size_t u = 0; u < estimate->uses_count && good; u++)
        weights[u] = estimate->uses[u].watchable;
    for (size_t i = 0; i < estimate->count && good; i++)
        if (estimate->watches[i].flags & WIRE_REUSE_FORESEEN)
            weights[estimate->watches[i].use - estimate->first_use] +=
                (double)estimate->watches[i].weight;
    for (size_t u = 0; u < estimate->uses_count && good; u++) {
        double first = fmax(0, weights[u] - arrivals[u]),
               last = fmin(weights[u], estimate->never[u]);
        double of = weights[u] + lean;
        once += weights[u] * ((first + lean * share) / of) * ((last + lean * share) / of);
    }
    estimate->once = fmin(estimate->locations, once / estimate->sampled * estimate->accesses);
    free(arrivals);
    free(weights);
    return good;
}

int estimate_compare_uses(const void *left, const void *right)
{
    const struct estimate_use *a = left, *b = right;
    if (a->process != b->process)
        return a->process < b->process ? -1 : 1;
    return (a->node > b->node) - (a->node < b->node);
}

/* ---- a process ------------------------------------------------------------------------------- */

static double all_accesses(const struct estimate *estimate)
{
    return estimate->ticked_accesses > 0 ? estimate->ticked_accesses
                                         : estimate->pace.accesses_per_ns * estimate->program_ns;
}

bool estimate_process(struct estimate *estimate)
{
    memset(estimate->near, 0, sizeof estimate->near);
    memset(estimate->far, 0, sizeof estimate->far);
    memset(estimate->elapsed, 0, sizeof estimate->elapsed);
    estimate->intervals_count = 0;
    if (!estimate_amounts(estimate->uses, estimate->uses_count, estimate->first_use,
                          estimate->watches, estimate->count, estimate->amounts, estimate->own,
                          estimate->never))
        return false;
    find_sampled(estimate);
    if (!(estimate->sampled > 0))
        return true;
    find_pace(estimate);
    add_histograms(estimate);
    estimate->accesses = fmin(most_accesses, fmax(all_accesses(estimate), estimate->sampled));
    find_locations(estimate);
    double reused = mrc_sum(estimate->time);
    double reuses = estimate->accesses - estimate->locations, scaled[DISTANCE_BINS];
    estimate->scale = estimate->accesses / estimate->sampled;
    estimate->bin_scale = reused > 0 ? reuses / reused : 0;
    for (unsigned bin = 0; bin < DISTANCE_BINS; bin++)
        scaled[bin] = estimate->time[bin] * estimate->bin_scale;
    mrc_curve_prepare(scaled, estimate->locations, &estimate->curve);
    return find_once(estimate);
}

void estimate_distances(const struct estimate *estimate, const struct estimate_watch *watch,
                        double *time, double *stack)
{
    struct span span = span_of(estimate, watch);
    *time = span.first < span.end ? estimate_interval_mean(estimate->near, span.first, span.end)
                                  : span.distance;
    *stack = mrc_curve_mean(&estimate->curve, *time);
}
