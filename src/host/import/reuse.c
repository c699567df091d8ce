// SPDX-License-Identifier: MIT
/*
 * Reuse of live recordings: hands what was sampled to `estimate`, process by process, and puts what comes of it into the
 * profile, on the scale of accesses, as the exact engine has it.
 */
#include "estimate/estimate.h"
#include "import/internal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* What profile_check allows; only damaged records and strange paces lead there. */
static const double most_sum = 1e30, most_squares = 1e60;

struct finishing {
    struct import_gather *gather;
    struct estimate estimate;
};

/* ---- how much there is ------------------------------------------------------------------------- */

/* Ticks, confirming traps, hops and watchpoints' traps are deliveries alike. What was foreseen is counted as a sample, and of waste
   as a trap, and took none. A tick that asks several questions, or whose answers were all foreseen, is one of `attempted` no more. */
static uint64_t deliveries_of(const struct import_thread *thread, uint64_t ticks)
{
    const struct wire_counters *counters = &thread->counters;
    uint64_t deliveries = ticks + counters->stored + counters->hops, foreseen = 0;
    for (int kind = 0; kind < PROFILE_KINDS; kind++) {
        deliveries += counters->traps[kind] + counters->ignored[kind];
        foreseen += thread->foreseen[kind] * (kind == PROFILE_REUSE ? 1 : 2);
    }
    return deliveries - (foreseen < deliveries ? foreseen : deliveries);
}

/* Of the threads of the process: CPU time of the program itself, outside the kernel
 * and the agent. */
static double program_ns(const struct finishing *finishing)
{
    const struct import_gather *gather = finishing->gather;
    double sum = 0;
    for (size_t i = 0; i < gather->profile->threads_count; i++) {
        const struct profile_thread *thread = &gather->profile->threads[i];
        const struct import_thread *seen = &gather->threads[i];
        const struct wire_counters *counters = &seen->counters;
        if (thread->process != finishing->estimate.process || !counters->attempted)
            continue;
        /* A thread that was killed left no time, but a tick for each interval. */
        double interval = (double)gather->profile->run.interval_ns;
        bool clocked = finishing->estimate.clocked && seen->ticks;
        /* Ticks in the agent itself are not recorded. */
        uint64_t ticks =
            clocked ? seen->ticks + counters->dropped[WIRE_DROP_AGENT] : counters->attempted;
        double cpu = (double)thread->cpu_ns;
        cpu = cpu > 0 ? cpu : (double)ticks * interval;
        double observing = (double)counters->handler_ns +
                           (double)deliveries_of(seen, ticks) * finishing->estimate.cost.ns;
        double elsewhere = (double)counters->dropped[WIRE_DROP_KERNEL] +
                           (double)counters->dropped[WIRE_DROP_AGENT];
        sum += fmax(cpu - observing, cpu / 10) * (1 - fmin(1, elsewhere / (double)ticks));
    }
    return sum;
}

/* Ticks come after so many accesses, or after so much time: what was counted between use and
   reuse then gives the pace. */
static double ticked_accesses(const struct finishing *finishing)
{
    const struct import_gather *gather = finishing->gather;
    double attempted = 0;
    if (!gather->profile->run.period)
        return 0;
    for (size_t i = 0; i < gather->profile->threads_count; i++)
        if (gather->profile->threads[i].process == finishing->estimate.process)
            attempted += (double)gather->threads[i].counters.attempted;
    return attempted * (double)gather->profile->run.period;
}

/* Of a damaged log anything may be claimed. */
static uint32_t unit_shift(const struct import_log *log)
{
    return log->config.unit_shift <= 12 ? log->config.unit_shift : 6;
}

/* ---- rows ------------------------------------------------------------------------------------ */

static bool add_row(struct finishing *finishing)
{
    const struct estimate *estimate = &finishing->estimate;
    struct profile *profile = finishing->gather->profile;
    struct profile_reuse *row = profile_add_reuses(profile);
    uint64_t taken = 0;
    if (!row)
        return false;
    for (size_t i = 0; i < estimate->uses_count; i++)
        taken += estimate->uses[i].samples;
    *row = (struct profile_reuse){.process = estimate->process,
                                  .unit_bytes = 1U << unit_shift(finishing->gather->log),
                                  .accesses = estimate->accesses,
                                  .reuses = estimate->accesses - estimate->locations,
                                  .locations = estimate->locations,
                                  .never_reused = estimate->once,
                                  .share_first = 1,
                                  .share_last = 1,
                                  .kept_accesses = taken,
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

static bool add_pairs(struct finishing *finishing)
{
    const struct estimate *estimate = &finishing->estimate;
    struct profile *profile = finishing->gather->profile;
    for (size_t i = 0; i < estimate->count; i++) {
        const struct estimate_watch *watch = &estimate->watches[i];
        uint32_t use = estimate->uses[watch->use - estimate->first_use].node, item;
        if (!estimate_is_reused(watch))
            continue;
        if (!import_reuse_pair(finishing->gather, use, watch->reuse, &item))
            return false;
        double time, stack, weight = estimate->own[i] * estimate->scale;
        estimate_distances(estimate, watch, &time, &stack);
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

static bool finish_process(struct finishing *finishing)
{
    struct estimate *estimate = &finishing->estimate;
    struct profile *profile = finishing->gather->profile;
    estimate->program_ns = program_ns(finishing);
    estimate->ticked_accesses = ticked_accesses(finishing);
    if (!estimate_process(estimate))
        return false;
    return !(estimate->sampled > 0) || (add_row(finishing) &&
                                        import_add_bins(profile, estimate->process, PROFILE_TIME,
                                                        estimate->time, estimate->bin_scale) &&
                                        import_add_bins(profile, estimate->process, PROFILE_ELAPSED,
                                                        estimate->elapsed, estimate->bin_scale) &&
                                        add_pairs(finishing));
}

/* ---- all processes --------------------------------------------------------------------------- */

static int compare_watches(const void *left, const void *right)
{
    const struct estimate_watch *a = left, *b = right;
    return (a->use > b->use) - (a->use < b->use);
}

/* Uses by process and node, watches in the order of the uses. */
static bool sort_samples(struct import_reuse_samples *samples)
{
    struct estimate_use *sorted = calloc(samples->uses_count + 1, sizeof *sorted);
    uint32_t *places = calloc(samples->uses_count + 1, sizeof *places);
    bool good = sorted && places;
    if (good)
        memcpy(sorted, samples->uses, samples->uses_count * sizeof *sorted);
    if (good && samples->uses_count)
        qsort(sorted, samples->uses_count, sizeof *sorted, estimate_compare_uses);
    for (size_t i = 0; i < samples->uses_count && good; i++) {
        const struct estimate_use *found = bsearch(&samples->uses[i], sorted, samples->uses_count,
                                                   sizeof *sorted, estimate_compare_uses);
        places[i] = (uint32_t)(found - sorted);
    }
    for (size_t i = 0; i < samples->watches_count && good; i++)
        samples->watches[i].use = places[samples->watches[i].use];
    if (good && samples->uses_count)
        memcpy(samples->uses, sorted, samples->uses_count * sizeof *sorted);
    if (good && samples->watches_count)
        qsort(samples->watches, samples->watches_count, sizeof *samples->watches, compare_watches);
    util_index_free(&samples->uses_by_key); /* its numbers are no longer right */
    free(sorted);
    free(places);
    return good;
}

static int compare_deliveries(const void *left, const void *right)
{
    const struct estimate_delivery *a = left, *b = right;
    return (a->thread > b->thread) - (a->thread < b->thread);
}

/* A thread's own cost if it has plenty of samples: it may run on a processor of another speed. */
static bool find_costs(struct finishing *finishing, struct estimate_cost *costs)
{
    struct estimate *estimate = &finishing->estimate;
    enum { PLENTY = 256 };
    struct import_reuse_samples *samples = &finishing->gather->reuse_samples;
    size_t count = samples->deliveries_count, threads = finishing->gather->profile->threads_count;
    uint32_t *values = calloc(count + 1, sizeof *values);
    for (size_t i = 0; i < count && values; i++)
        values[i] = samples->deliveries[i].ns;
    if (!values)
        return false;
    estimate->cost = estimate_cost(values, count);
    for (size_t i = 0; i < threads; i++)
        costs[i] = estimate->cost;
    if (count)
        qsort(samples->deliveries, count, sizeof *samples->deliveries, compare_deliveries);
    for (size_t first = 0, end = 0; first < count; first = end) {
        uint32_t thread = samples->deliveries[first].thread;
        for (; end < count && samples->deliveries[end].thread == thread; end++)
            values[end - first] = samples->deliveries[end].ns;
        if (end - first >= PLENTY)
            costs[thread] = estimate_cost(values, end - first);
    }
    free(values);
    return true;
}

static bool finish_all(struct finishing *finishing, double *scratch)
{
    struct estimate *estimate = &finishing->estimate;
    const struct import_reuse_samples *samples = &finishing->gather->reuse_samples;
    size_t watch = 0, use = 0;
    estimate->amounts = scratch;
    estimate->own = scratch + samples->watches_count;
    estimate->never = estimate->own + samples->watches_count;
    while (use < samples->uses_count) {
        size_t first_use = use, first = watch;
        estimate->process = samples->uses[use].process;
        while (use < samples->uses_count && samples->uses[use].process == estimate->process)
            use++;
        while (watch < samples->watches_count && samples->watches[watch].use < use)
            watch++;
        estimate->first_use = (uint32_t)first_use;
        estimate->uses = samples->uses + first_use;
        estimate->uses_count = use - first_use;
        estimate->watches = watch > first ? samples->watches + first : NULL;
        estimate->count = watch - first;
        if (!finish_process(finishing))
            return false;
    }
    return true;
}

bool import_reuse_finish(struct import_gather *gather, const struct import_run *run)
{
    struct import_reuse_samples *samples = &gather->reuse_samples;
    if (samples->uses_count == 0)
        return true;
    struct estimate_cost *costs = calloc(gather->profile->threads_count + 1, sizeof *costs);
    struct finishing *finishing = calloc(1, sizeof *finishing);
    double *scratch = calloc(2 * samples->watches_count + samples->uses_count + 1, sizeof *scratch);
    bool good = costs && finishing && scratch && sort_samples(samples);
    struct estimate *estimate = finishing ? &finishing->estimate : NULL;
    if (good) {
        double given = run ? run->accesses_per_ns : 0;
        finishing->gather = gather;
        estimate->costs = costs;
        estimate->given = given > 0 && isfinite(given) ? given : 0;
        estimate->resident = run ? (double)(run->peak_bytes >> unit_shift(gather->log)) : 0;
        estimate->clocked = gather->log->config.source == WIRE_SOURCE_CLOCK;
        estimate->intervals = calloc(samples->watches_count + 1, sizeof *estimate->intervals);
        good =
            estimate->intervals && find_costs(finishing, costs) && finish_all(finishing, scratch);
    }
    /* The clock made the samples, but the program's own counters measured. */
    if (good && gather->log->config.kinds == WIRE_REUSES && gather->profile->paces_count == 0 &&
        gather->profile->run.source && strcmp(gather->profile->run.source, "clock") == 0)
        gather->profile->run.source = "count";
    if (finishing)
        free(finishing->estimate.intervals);
    free(costs);
    free(finishing);
    free(scratch);
    return good || import_no_memory(gather);
}
