// SPDX-License-Identifier: MIT
/*
 * Points are drawn from the iterations of a reference, all alike, and walked from. A first sample says how many are needed for
 * an interval as narrow as asked for. At the levels behind the first, walks are longer: of the points that reach one, a part is solved,
 * and the ratio is a product of ratios.
 */
#include "misses/internal.h"

#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum {
    PILOT = 1537,        /* a two-sided 95 % interval of +-0.025 at any ratio */
    DEEP = 1537,         /* points solved at the second level, */
    DEEPER = 400,        /* and at those behind it */
    FIRST_STEPS = 20000, /* in search of who touched a line first */
};
/* Misses of a level whose kind is looked for. */
static const uint64_t classified_most[MISSES_LEVELS] = {300, 100, 40, 40};
static const double NORMAL = 1.959963984540054;

/* Of one reference at one level, added up. */
struct tally {
    uint64_t points, misses, cut;
    uint64_t classified, cold, capacity;
};

struct job {
    const struct nest *nest;
    const struct misses_options *options;
    struct misses_result *result;
    struct tally (*tallies)[MISSES_LEVELS]; /* by reference */
    double *pairs, *conflicts;              /* references * references: shares of misses walked */
    atomic_size_t next;
    atomic_bool late, failed, thin;
};

static bool is_cold(const struct nest *nest, uint64_t line_bytes, uint32_t access,
                    const int64_t *iterators)
{
    int64_t bytes = (int64_t)line_bytes;
    int64_t line = nest_address(nest, &nest->accesses[access], iterators) / bytes;
    int64_t first[NEST_SLOTS] = {0};
    uint32_t by;
    bool unsure;
    if (!nest_first_touch(nest, line * bytes, (line + 1) * bytes, FIRST_STEPS, &by, first,
                          &unsure) ||
        by != access)
        return false;
    for (uint32_t node = nest->accesses[access].statement; node != NEST_NONE;
         node = nest->nodes[node].parent) {
        const struct nest_node *at = &nest->nodes[node];
        if (at->kind == NEST_LOOP && first[at->slot] != iterators[at->slot])
            return false;
    }
    return true;
}

static void share_out(struct job *job, struct walker *walker, uint32_t reference, bool conflict)
{
    const struct lines *lines = &walker->lines[0];
    size_t count = job->nest->references_count;
    for (size_t i = 0; i < lines->count; i++) {
        uint32_t by = job->nest->accesses[lines->by[i]].reference;
        job->pairs[reference * count + by] += 1.0 / (double)lines->count;
        if (conflict)
            job->conflicts[reference * count + by] += 1.0 / (double)lines->count;
    }
}

/* A miss at that level. */
static void classify(struct job *job, struct walker *walker, uint32_t reference, size_t level,
                     uint32_t access, const int64_t *iterators, enum walk_end end)
{
    struct tally *tally = &job->tallies[reference][level];
    if (tally->classified >= classified_most[level])
        return;
    tally->classified++;
    bool cold =
        end == WALK_COLD ||
        (level == 0 && is_cold(job->nest, walker->levels[level].line_bytes, access, iterators));
    bool capacity = !cold && walk_associative(walker, level, access, iterators) != WALK_HIT;
    tally->cold += cold;
    tally->capacity += capacity;
    if (level == 0 && !cold)
        share_out(job, walker, reference, !capacity);
}

static void solve_point(struct job *job, struct walker *walker, uint32_t reference, uint32_t access,
                        const int64_t *iterators)
{
    for (size_t level = 0; level < job->options->levels_count; level++) {
        struct tally *tally = &job->tallies[reference][level];
        uint64_t most = level == 0 ? UINT64_MAX : level == 1 ? DEEP : DEEPER;
        if (tally->points >= most)
            return;
        /* Before a long walk, whether there is anything to find. */
        bool cold =
            level && is_cold(job->nest, walker->levels[level].line_bytes, access, iterators);
        enum walk_end end = cold ? WALK_COLD : walk_level(walker, level, access, iterators);
        tally->points++;
        if (end == WALK_HIT)
            return;
        tally->misses++;
        tally->cut += end == WALK_CUT;
        classify(job, walker, reference, level, access, iterators, end);
    }
}

void misses_interval(uint64_t hits, uint64_t points, double *low, double *high)
{
    double n = (double)points, p = points ? (double)hits / n : 0.5, z = NORMAL;
    if (!points) {
        *low = 0;
        *high = 1;
        return;
    }
    double centre = (p + z * z / (2 * n)) / (1 + z * z / n);
    double half = z * sqrt(p * (1 - p) / n + z * z / (4 * n * n)) / (1 + z * z / n);
    *low = hits == 0 ? 0 : fmax(0, centre - half);
    *high = hits == points ? 1 : fmin(1, centre + half);
}

/* For the width asked for; at low ratios, for a tenth of the ratio, too, within reason. */
static uint64_t points_needed(const struct job *job, const struct tally *tally)
{
    double low, high, width = job->options->half_width;
    misses_interval(tally->misses, tally->points, &low, &high);
    double p = (double)tally->misses / (double)tally->points;
    double safe = p < 0.5 ? fmin(high, 0.5) : fmax(low, 0.5);
    double needed = NORMAL * NORMAL * safe * (1 - safe) / (width * width);
    double relative = p > 0 ? fmin(NORMAL * NORMAL * (1 - p) / (p * 0.01), 40000) : 0;
    needed = fmin(fmax(needed, relative), (double)job->options->most_points);
    return needed > (double)tally->points ? (uint64_t)needed - tally->points : 0;
}

/* Which of the reference's places in the tree, by how often they are executed. */
static const struct domain *choose(const struct domain *domains, size_t count, uint64_t all,
                                   struct base_random *random)
{
    uint64_t at = base_random_below(random, all);
    size_t i = 0;
    while (i + 1 < count && at >= domains[i].executions)
        at -= domains[i++].executions;
    return &domains[i];
}

static void solve_points(struct job *job, struct walker *walker, uint32_t reference,
                         const struct domain *domains, size_t count, uint64_t points,
                         struct base_random *random)
{
    int64_t iterators[NEST_SLOTS] = {0};
    uint64_t all = job->result->references[reference].accesses;
    for (uint64_t i = 0; i < points && !job->late && !job->thin; i++) {
        const struct domain *domain = choose(domains, count, all, random);
        if (!domain_draw(job->nest, domain, random, iterators)) {
            job->thin = true;
            return;
        }
        solve_point(job, walker, reference, domain->access, iterators);
        if (job->options->deadline_ns && i % 16 == 0 && misses_now_ns() > job->options->deadline_ns)
            job->late = true;
    }
}

static bool solve_reference(struct job *job, struct walker *walker, uint32_t reference)
{
    const struct nest *nest = job->nest;
    struct base_random random = {job->options->seed ^ base_mix64(reference + 1)};
    struct domain *domains = calloc(nest->accesses_count + 1, sizeof *domains);
    size_t count = 0;
    if (!domains)
        return false;
    for (uint32_t i = 0; i < nest->accesses_count; i++) {
        if (nest->accesses[i].reference != reference)
            continue;
        domain_begin(&domains[count++], nest, i);
    }
    for (size_t i = 0; count > 1 && i < count; i++)
        domains[i].executions =
            nest_executions(nest, nest->accesses[domains[i].access].statement, UINT64_MAX);
    if (job->result->references[reference].accesses) {
        solve_points(job, walker, reference, domains, count, PILOT, &random);
        uint64_t more = points_needed(job, &job->tallies[reference][0]);
        solve_points(job, walker, reference, domains, count, more, &random);
    }
    free(domains);
    return true;
}

static void *work(void *context)
{
    struct job *job = context;
    struct walker walker;
    bool good = walker_begin(&walker, job->nest, job->options);
    for (size_t at; good && (at = job->next++) < job->nest->references_count && !job->thin;)
        good = solve_reference(job, &walker, (uint32_t)at);
    walker_end(&walker);
    if (!good)
        job->failed = true;
    return NULL;
}

static void run_threads(struct job *job)
{
    pthread_t threads[64];
    unsigned started = 0;
    while (started + 1 < job->options->threads && started < BASE_COUNT(threads) &&
           pthread_create(&threads[started], NULL, work, job) == 0)
        started++;
    work(job);
    for (unsigned i = 0; i < started; i++)
        pthread_join(threads[i], NULL);
}

/* ---- from tallies to figures -------------------------------------------------------------------------------- */

/* The ratio of a level is a product; its interval by adding squares of relative errors. */
static void make_figures(const struct tally tallies[MISSES_LEVELS], size_t levels,
                         struct misses_reference *reference)
{
    double accesses = (double)reference->accesses, ratio = 1, below = 0, above = 0;
    for (size_t i = 0; i < levels; i++) {
        const struct tally *tally = &tallies[i];
        struct misses_figure *figure = &reference->levels[i];
        double p = tally->points ? (double)tally->misses / (double)tally->points : 0, low, high;
        misses_interval(tally->misses, tally->points, &low, &high);
        if (!tally->points && (i == 0 || ratio == 0))
            low = high = p = 0;
        below = below * p * p + ratio * ratio * (p - low) * (p - low);
        above = above * high * high + ratio * ratio * (high - p) * (high - p);
        if (i && ratio == 0) /* nothing was seen to reach the level: as much as may */
            above = (reference->levels[i - 1].high / fmax(accesses, 1)) *
                    (reference->levels[i - 1].high / fmax(accesses, 1));
        ratio *= p;
        figure->misses = ratio * accesses;
        figure->low = fmax(0, ratio - sqrt(below)) * accesses;
        figure->high = fmin(1, ratio + sqrt(above)) * accesses;
        figure->points = tally->points;
        figure->cut = tally->cut;
        double all = tally->classified ? (double)tally->classified : 1;
        figure->cold = figure->misses * (double)tally->cold / all;
        figure->capacity = figure->misses * (double)tally->capacity / all;
        figure->conflict =
            figure->misses * (double)(tally->classified - tally->cold - tally->capacity) / all;
    }
}

static int by_misses(const void *a, const void *b)
{
    const struct misses_pair *left = a, *right = b;
    if (left->misses != right->misses)
        return left->misses < right->misses ? 1 : -1;
    return left->reference != right->reference ? (left->reference > right->reference ? 1 : -1)
                                               : (left->by > right->by) - (left->by < right->by);
}

static bool make_pairs(const struct job *job)
{
    struct misses_result *result = job->result;
    size_t count = result->count, capacity = 0;
    for (size_t i = 0; i < count * count; i++) {
        const struct tally *tally = &job->tallies[i / count][0];
        if (job->pairs[i] <= 0)
            continue;
        double each = result->references[i / count].levels[0].misses / (double)tally->classified;
        struct misses_pair pair = {(uint32_t)(i / count), (uint32_t)(i % count),
                                   each * job->pairs[i], each * job->conflicts[i]};
        if (!UTIL_PUSH(result->pairs, result->pairs_count, capacity, pair))
            return false;
    }
    if (result->pairs_count)
        qsort(result->pairs, result->pairs_count, sizeof *result->pairs, by_misses);
    return true;
}

enum base_status solve_samples(const struct nest *nest, const struct misses_options *options,
                               struct misses_result *result)
{
    size_t count = nest->references_count;
    struct job job = {.nest = nest, .options = options, .result = result};
    enum base_status status = BASE_NO_MEMORY;
    job.tallies = calloc(count + 1, sizeof *job.tallies);
    job.pairs = calloc(count * count + 1, sizeof *job.pairs);
    job.conflicts = calloc(count * count + 1, sizeof *job.conflicts);
    if (!job.tallies || !job.pairs || !job.conflicts)
        goto out;
    run_threads(&job);
    if (job.failed)
        goto out;
    status = BASE_UNSUPPORTED;
    if (job.thin)
        goto out;
    for (size_t i = 0; i < count; i++)
        make_figures(job.tallies[i], options->levels_count, &result->references[i]);
    result->late = job.late;
    status = make_pairs(&job) ? BASE_OK : BASE_NO_MEMORY;
out:
    free(job.tallies);
    free(job.pairs);
    free(job.conflicts);
    return status;
}
