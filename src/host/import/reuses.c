// SPDX-License-Identifier: MIT
/*
 * Reuse of live recordings: from what single samples waited for to the histogram, the totals and
 * the pairs of each process, on the scale of accesses, as the exact engine has them.
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
#include "import/reuses.h"

#include "mrc/mrc.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* What profile_check allows; only damaged records and strange paces lead there. */
static const double most_sum = 1e30, most_squares = 1e60, most_accesses = 0x1p60;

struct estimate {
    struct import_gather *gather;
    const struct import_cost *costs; /* by thread */
    struct import_cost cost;         /* of the recording */
    double given;                    /* pace by the user, or 0 */

    /* of the current process */
    uint32_t process, first_use;
    const struct import_use *uses;
    size_t uses_count;
    const struct import_watch *watches;
    size_t count;
    bool counted;                  /* accesses are known, not only times */
    double *amounts, *own, *never; /* import_settle */
    struct import_interval *intervals;
    size_t intervals_count;
    struct import_pace pace;
    double sampled;                /* weight of all samples */
    double near[DISTANCE_BINS];    /* by accesses: foreseen, and too short to be timed */
    double far[DISTANCE_BINS];     /* by accesses: others */
    double elapsed[DISTANCE_BINS]; /* the others' by ns */
    double time[DISTANCE_BINS];    /* near and far */
    double accesses, locations, once, effective;
    double resident; /* locations that a process ever had at a time at most; 0: not known */
    struct mrc_curve curve;
};

/* ---- one watch ------------------------------------------------------------------------------- */

static bool is_exact(const struct import_watch *watch)
{
    return watch->flags & (WIRE_REUSE_FORESEEN | WIRE_REUSE_COUNTED);
}

static struct import_time time_of(const struct estimate *estimate, const struct import_watch *watch)
{
    return import_time(&estimate->costs[watch->thread], watch->elapsed_ns, watch->traps);
}

/* Between which distances a reuse lies; equal ends: known. */
struct span {
    double distance;
    uint32_t first, end; /* bins, if first < end */
};

static struct span span_of(const struct estimate *estimate, const struct import_watch *watch)
{
    if (is_exact(watch))
        return (struct span){fmax(1, (double)watch->accesses), 0, 0};
    struct import_time time = time_of(estimate, watch);
    double least = (double)watch->accesses + 1, pace = estimate->pace.accesses_per_ns;
    double most = 0x1p61; /* no run has longer ones, and their bins' ends could not be told */
    if (time.resolved)
        return (struct span){fmin(most, fmax(time.ns * pace, least)), 0, 0};
    uint32_t first = distance_bin((uint64_t)least);
    uint32_t end = distance_bin((uint64_t)fmin(most, time.floor_ns * pace));
    return (struct span){least, first, end > first ? end : first + 1};
}

/* ---- the histogram --------------------------------------------------------------------------- */

static unsigned bin_of(double distance)
{
    return distance_bin((uint64_t)fmax(0, fmin(distance, 0x1p61)));
}

static void add_watches(struct estimate *estimate)
{
    for (size_t i = 0; i < estimate->count; i++) {
        const struct import_watch *watch = &estimate->watches[i];
        double amount = estimate->amounts[i];
        if (!import_is_reused(watch) || !(amount > 0))
            continue;
        struct span span = span_of(estimate, watch);
        if (span.first < span.end) {
            estimate->intervals[estimate->intervals_count++] =
                (struct import_interval){span.first, span.end, amount};
        } else if (watch->flags & WIRE_REUSE_FORESEEN) {
            estimate->near[bin_of(span.distance)] += amount;
        } else {
            estimate->far[bin_of(span.distance)] += amount;
            estimate->elapsed[bin_of(time_of(estimate, watch).ns)] += amount;
        }
    }
}

/* The last bins' ends cannot be told in 63 bits; only a strange pace or record leads there. */
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
    import_spread(estimate->near, estimate->intervals, estimate->intervals_count);
    mrc_stretch(estimate->near, 0, 1 / estimate->pace.accesses_per_ns, elapsed);
    for (unsigned bin = 0; bin < DISTANCE_BINS; bin++) {
        estimate->time[bin] = estimate->near[bin] + estimate->far[bin];
        estimate->elapsed[bin] += elapsed[bin];
    }
    fold_last(estimate->elapsed);
}

/* ---- how much there is ----------------------------------------------------------------------- */

/* Of the threads of the process: CPU time of the program itself, outside the kernel
 * and handlers. */
static double program_ns(const struct estimate *estimate)
{
    const struct import_gather *gather = estimate->gather;
    double sum = 0;
    for (size_t i = 0; i < gather->profile->threads_count; i++) {
        const struct profile_thread *thread = &gather->profile->threads[i];
        const struct wire_counters *counters = &gather->threads[i].counters;
        if (thread->process != estimate->process || !counters->attempted)
            continue;
        /* A thread that was killed left no time, but a tick for each interval. */
        double interval = (double)gather->profile->run.interval_ns;
        double ticked = (double)counters->attempted * interval, cpu = (double)thread->cpu_ns;
        cpu = cpu > 0 ? cpu : ticked;
        /* A tick, a confirming trap, a hop and a watchpoint's trap are deliveries alike. */
        uint64_t deliveries = counters->attempted + counters->stored + counters->hops;
        for (int kind = 0; kind < PROFILE_KINDS; kind++)
            deliveries += counters->traps[kind] + counters->ignored[kind];
        double observing = (double)counters->handler_ns + (double)deliveries * estimate->cost.ns;
        double in_kernel =
            (double)counters->dropped[WIRE_DROP_KERNEL] / (double)counters->attempted;
        sum += fmax(cpu - observing, cpu / 10) * (1 - fmin(1, in_kernel));
    }
    return sum;
}

/* Ticks come after so many accesses, or after so much time: what was counted between use and
   reuse then gives the pace. */
static double all_accesses(const struct estimate *estimate)
{
    const struct import_gather *gather = estimate->gather;
    double attempted = 0;
    if (!gather->profile->run.period)
        return estimate->pace.accesses_per_ns * program_ns(estimate);
    for (size_t i = 0; i < gather->profile->threads_count; i++)
        if (gather->profile->threads[i].process == estimate->process)
            attempted += (double)gather->threads[i].counters.attempted;
    return attempted * (double)gather->profile->run.period;
}

/* By the processor's counters, or by a program that counts its accesses itself. */
static bool is_counted(const struct estimate *estimate)
{
    for (size_t i = 0; i < estimate->count; i++)
        if (estimate->watches[i].flags & WIRE_REUSE_COUNTED)
            return true;
    return estimate->gather->log->config.source != WIRE_SOURCE_CLOCK;
}

/* Where accesses were counted the recording itself says. */
static void find_counted_pace(struct estimate *estimate)
{
    double accesses = 0, ns = 0;
    for (size_t i = 0; i < estimate->count; i++) {
        const struct import_watch *watch = &estimate->watches[i];
        if (!(watch->flags & WIRE_REUSE_COUNTED) || watch->flags & WIRE_REUSE_FORESEEN ||
            !import_is_reused(watch))
            continue;
        accesses += estimate->amounts[i] * (double)watch->accesses;
        ns += estimate->amounts[i] * time_of(estimate, watch).ns;
    }
    double pace = accesses > 0 && ns > 0 ? accesses / ns : 1;
    estimate->pace = (struct import_pace){.accesses_per_ns = pace, .low = pace, .high = pace};
}

/* Share of the samples whose reuse took long. */
static double far_share(const struct estimate *estimate)
{
    double far = 0;
    for (size_t i = 0; i < estimate->count; i++) {
        const struct import_watch *watch = &estimate->watches[i];
        if (!is_exact(watch) && import_is_reused(watch) &&
            time_of(estimate, watch).ns > IMPORT_FAR_NS)
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
    import_pace(dense > 0 ? density / dense : 0, far_share(estimate), estimate->given,
                &estimate->pace);
}

static void find_sampled(struct estimate *estimate)
{
    double sum = 0, squares = 0;
    for (size_t i = 0; i < estimate->uses_count; i++)
        sum += estimate->uses[i].watchable;
    for (size_t i = 0; i < estimate->count; i++) {
        const struct import_watch *watch = &estimate->watches[i];
        sum += watch->flags & WIRE_REUSE_FORESEEN ? (double)watch->weight : 0;
        squares += estimate->amounts[i] * estimate->amounts[i];
    }
    double amounts = 0;
    for (size_t i = 0; i < estimate->count; i++)
        amounts += estimate->amounts[i];
    estimate->sampled = fmax(sum, amounts); /* rounding; records of samples that were lost */
    estimate->effective = squares > 0 ? estimate->sampled * estimate->sampled / squares : 0;
}

/* Of a damaged log anything may be claimed. */
static uint32_t unit_shift(const struct import_log *log)
{
    return log->config.unit_shift <= 12 ? log->config.unit_shift : 6;
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

static int compare_use(const void *left, const void *right)
{
    const struct import_use *a = left, *b = right;
    if (a->process != b->process)
        return a->process < b->process ? -1 : 1;
    return (a->node > b->node) - (a->node < b->node);
}

/* By use: what the reuses that end there stand for. */
static void find_arrivals(const struct estimate *estimate, double *arrivals)
{
    double reused = 0, owned = 0;
    for (size_t i = 0; i < estimate->count; i++) {
        if (!import_is_reused(&estimate->watches[i]))
            continue;
        struct import_use key = {.process = estimate->process, .node = estimate->watches[i].reuse};
        const struct import_use *use = bsearch(&key, estimate->uses, estimate->uses_count,
                                               sizeof *estimate->uses, compare_use);
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

/* ---- rows ------------------------------------------------------------------------------------ */

static bool add_bins(struct estimate *estimate, uint32_t which, const double *weights, double scale)
{
    for (uint32_t bin = 0; bin < DISTANCE_BINS - 1; bin++) {
        double weight = weights[bin] * scale;
        struct profile_bin *added = weight > 0 ? profile_add_bins(estimate->gather->profile) : NULL;
        if (weight > 0 && !added)
            return false;
        if (added)
            *added = (struct profile_bin){.process = estimate->process,
                                          .which = which,
                                          .bin = bin,
                                          .lo = distance_bin_low(bin),
                                          .hi = distance_bin_low(bin + 1),
                                          .weight = weight};
    }
    return true;
}

static bool add_row(struct estimate *estimate)
{
    struct profile *profile = estimate->gather->profile;
    struct profile_reuse *row = profile_add_reuses(profile);
    uint64_t samples = 0;
    if (!row)
        return false;
    for (size_t i = 0; i < estimate->uses_count; i++)
        samples += estimate->uses[i].samples;
    *row = (struct profile_reuse){.process = estimate->process,
                                  .unit_bytes = 1U << unit_shift(estimate->gather->log),
                                  .accesses = estimate->accesses,
                                  .reuses = estimate->accesses - estimate->locations,
                                  .locations = estimate->locations,
                                  .never_reused = estimate->once,
                                  .share_first = 1,
                                  .share_last = 1,
                                  .kept_accesses = samples,
                                  .kept_locations = (uint64_t)estimate->effective};
    if (estimate->counted)
        return true;
    struct profile_pace *pace = profile_add_paces(profile);
    if (pace)
        *pace =
            (struct profile_pace){.process = estimate->process,
                                  .accesses_per_ns = estimate->pace.accesses_per_ns,
                                  .low = estimate->pace.low,
                                  .high = estimate->pace.high,
                                  .trap_ns = estimate->cost.ns,
                                  .floor_ns = estimate->cost.floor_ns,
                                  .calibration = profile_keep(profile, estimate->pace.calibration)};
    return pace && pace->calibration;
}

static void add_up(double *sum, double amount, double most)
{
    *sum = fmin(most, *sum + amount);
}

static bool add_pairs(struct estimate *estimate, double scale)
{
    struct profile *profile = estimate->gather->profile;
    for (size_t i = 0; i < estimate->count; i++) {
        const struct import_watch *watch = &estimate->watches[i];
        uint32_t use = estimate->uses[watch->use - estimate->first_use].node, item;
        if (!import_is_reused(watch))
            continue;
        if (!import_reuse_pair(estimate->gather, use, watch->reuse, &item))
            return false;
        struct span span = span_of(estimate, watch);
        double time = span.first < span.end
                          ? import_interval_mean(estimate->near, span.first, span.end)
                          : span.distance;
        double stack = mrc_curve_mean(&estimate->curve, time);
        double weight = estimate->own[i] * scale;
        struct profile_reuse_pair *pair = &profile->reuse_pairs[item];
        pair->count++;
        add_up(&pair->weight, weight, most_sum);
        add_up(&pair->time, weight * time, most_sum);
        add_up(&pair->time_squares, weight * time * time, most_squares);
        add_up(&pair->stack, weight * stack, most_sum);
        add_up(&pair->stack_squares, weight * stack * stack, most_squares);
    }
    return true;
}

static bool finish_process(struct estimate *estimate)
{
    memset(estimate->near, 0, sizeof estimate->near);
    memset(estimate->far, 0, sizeof estimate->far);
    memset(estimate->elapsed, 0, sizeof estimate->elapsed);
    estimate->intervals_count = 0;
    if (!import_settle(estimate->uses, estimate->uses_count, estimate->first_use, estimate->watches,
                       estimate->count, estimate->amounts, estimate->own, estimate->never))
        return false;
    find_sampled(estimate);
    if (!(estimate->sampled > 0))
        return true;
    find_pace(estimate);
    add_histograms(estimate);
    estimate->accesses = fmin(most_accesses, fmax(all_accesses(estimate), estimate->sampled));
    find_locations(estimate);
    double reused = mrc_sum(estimate->time), scale = estimate->accesses / estimate->sampled;
    double reuses = estimate->accesses - estimate->locations;
    double bin_scale = reused > 0 ? reuses / reused : 0;
    double scaled[DISTANCE_BINS];
    for (unsigned bin = 0; bin < DISTANCE_BINS; bin++)
        scaled[bin] = estimate->time[bin] * bin_scale;
    mrc_curve_prepare(scaled, estimate->locations, &estimate->curve);
    return find_once(estimate) && add_row(estimate) &&
           add_bins(estimate, PROFILE_TIME, estimate->time, bin_scale) &&
           add_bins(estimate, PROFILE_ELAPSED, estimate->elapsed, bin_scale) &&
           add_pairs(estimate, scale);
}

/* ---- all processes --------------------------------------------------------------------------- */

static int compare_watches(const void *left, const void *right)
{
    const struct import_watch *a = left, *b = right;
    return (a->use > b->use) - (a->use < b->use);
}

/* Uses by process and node, watches in the order of the uses. */
static bool sort_lives(struct import_lives *lives)
{
    struct import_use *sorted = calloc(lives->uses_count + 1, sizeof *sorted);
    uint32_t *places = calloc(lives->uses_count + 1, sizeof *places);
    bool good = sorted && places;
    if (good)
        memcpy(sorted, lives->uses, lives->uses_count * sizeof *sorted);
    if (good && lives->uses_count)
        qsort(sorted, lives->uses_count, sizeof *sorted, compare_use);
    for (size_t i = 0; i < lives->uses_count && good; i++) {
        const struct import_use *found =
            bsearch(&lives->uses[i], sorted, lives->uses_count, sizeof *sorted, compare_use);
        places[i] = (uint32_t)(found - sorted);
    }
    for (size_t i = 0; i < lives->watches_count && good; i++)
        lives->watches[i].use = places[lives->watches[i].use];
    if (good && lives->uses_count)
        memcpy(lives->uses, sorted, lives->uses_count * sizeof *sorted);
    if (good && lives->watches_count)
        qsort(lives->watches, lives->watches_count, sizeof *lives->watches, compare_watches);
    util_index_free(&lives->uses_by_key); /* its numbers are no longer right */
    free(sorted);
    free(places);
    return good;
}

static int compare_deliveries(const void *left, const void *right)
{
    const struct import_delivery *a = left, *b = right;
    return (a->thread > b->thread) - (a->thread < b->thread);
}

/* A thread's own cost if it has plenty of samples: it may run on a processor of another speed. */
static bool find_costs(struct estimate *estimate, struct import_cost *costs)
{
    enum { PLENTY = 256 };
    struct import_lives *lives = &estimate->gather->lives;
    size_t count = lives->deliveries_count, threads = estimate->gather->profile->threads_count;
    uint32_t *values = calloc(count + 1, sizeof *values);
    for (size_t i = 0; i < count && values; i++)
        values[i] = lives->deliveries[i].ns;
    if (!values)
        return false;
    estimate->cost = import_cost(values, count);
    for (size_t i = 0; i < threads; i++)
        costs[i] = estimate->cost;
    if (count)
        qsort(lives->deliveries, count, sizeof *lives->deliveries, compare_deliveries);
    for (size_t first = 0, end = 0; first < count; first = end) {
        uint32_t thread = lives->deliveries[first].thread;
        for (; end < count && lives->deliveries[end].thread == thread; end++)
            values[end - first] = lives->deliveries[end].ns;
        if (end - first >= PLENTY)
            costs[thread] = import_cost(values, end - first);
    }
    free(values);
    return true;
}

static bool finish_all(struct estimate *estimate, double *scratch)
{
    const struct import_lives *lives = &estimate->gather->lives;
    size_t watch = 0, use = 0;
    estimate->amounts = scratch;
    estimate->own = scratch + lives->watches_count;
    estimate->never = estimate->own + lives->watches_count;
    while (use < lives->uses_count) {
        size_t first_use = use, first = watch;
        estimate->process = lives->uses[use].process;
        while (use < lives->uses_count && lives->uses[use].process == estimate->process)
            use++;
        while (watch < lives->watches_count && lives->watches[watch].use < use)
            watch++;
        estimate->first_use = (uint32_t)first_use;
        estimate->uses = lives->uses + first_use;
        estimate->uses_count = use - first_use;
        estimate->watches = lives->watches + first;
        estimate->count = watch - first;
        if (!finish_process(estimate))
            return false;
    }
    return true;
}

bool import_lives_finish(struct import_gather *gather, const struct import_run *run)
{
    struct import_lives *lives = &gather->lives;
    if (lives->uses_count == 0)
        return true;
    struct import_cost *costs = calloc(gather->profile->threads_count + 1, sizeof *costs);
    struct estimate *estimate = calloc(1, sizeof *estimate);
    double *scratch = calloc(2 * lives->watches_count + lives->uses_count + 1, sizeof *scratch);
    bool good = costs && estimate && scratch && sort_lives(lives);
    if (good) {
        estimate->gather = gather;
        estimate->costs = costs;
        double given = run ? run->accesses_per_ns : 0;
        estimate->given = given > 0 && isfinite(given) ? given : 0;
        estimate->resident = run ? (double)(run->peak_bytes >> unit_shift(gather->log)) : 0;
        estimate->intervals = calloc(lives->watches_count + 1, sizeof *estimate->intervals);
        good = estimate->intervals && find_costs(estimate, costs) && finish_all(estimate, scratch);
    }
    /* The clock made the samples, but the program's own counters measured. */
    if (good && gather->profile->paces_count == 0 && gather->profile->run.source &&
        strcmp(gather->profile->run.source, "clock") == 0)
        gather->profile->run.source = "count";
    if (estimate)
        free(estimate->intervals);
    free(costs);
    free(estimate);
    free(scratch);
    return good || import_no_memory(gather);
}
