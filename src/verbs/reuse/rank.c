// SPDX-License-Identifier: MIT
/* Reuses merged by place and ranked by the misses that they would save at best. */
#include "reuse/internal.h"

#include <stdlib.h>

/* Of all misses: whether less than that happens once makes no difference to the order. */
static const double least_once = 0.0005;

/*
 * What makes a pair worth looking at is how many misses it would save at best, in all caches of the
 * machine together: what misses L1 alone counts once, what has to come from memory once for each
 * level. So a walk by columns, whose every step misses L1 or L2, stands above a sweep whose lines,
 * one access in eight or fewer, come from far away and in order, for which processors fetch ahead.
 * Nanoseconds for each level were rejected: they would be those of accesses that nothing can foresee,
 * which a pair does not show to be.
 *
 * What happens once saves nothing (shape_is_once). Pairs without stack distances go by time.
 */
static double misses(const struct reuse_ranking *ranking, const struct reuse_figures *figures,
                     const struct reuse_pair *pair)
{
    double sum = 0;
    for (size_t i = 0; i < ranking->caches_count; i++)
        sum += figures_beyond(figures, pair, (double)ranking->caches[i].bytes);
    return sum;
}

static int compare_reuse_pairs(const void *left, const void *right)
{
    const struct reuse_pair *a = left, *b = right;
    if (place_pair_is_known(a->use_place, a->reuse_place) !=
        place_pair_is_known(b->use_place, b->reuse_place))
        return place_pair_is_known(a->use_place, a->reuse_place) ? -1 : 1;
    if (a->far != b->far)
        return a->far < b->far ? 1 : -1;
    if (a->stack != b->stack)
        return a->stack < b->stack ? 1 : -1;
    if (a->time != b->time)
        return a->time < b->time ? 1 : -1;
    if (a->use_place != b->use_place)
        return a->use_place < b->use_place ? -1 : 1;
    return (a->reuse_place > b->reuse_place) - (a->reuse_place < b->reuse_place);
}

static void add_reuse(struct reuse_pair *to, const struct profile_reuse_pair *pair)
{
    to->count += pair->count;
    to->weight += pair->weight;
    to->time += pair->time;
    to->stack += pair->stack;
    to->stack_squares += pair->stack_squares;
    to->spread += pair->count ? pair->weight * pair->weight / (double)pair->count : 0;
    if (to->heaviest <= pair->time) {
        to->heaviest = pair->time;
        to->use = pair->use;
        to->reuse = pair->reuse;
    }
}

static bool merge_reuse(struct reuse_ranking *ranking)
{
    const struct places *places = ranking->places;
    const struct profile *profile = places->profile;
    struct place_pairs numbers;
    ranking->pairs = calloc(profile->reuse_pairs_count + 1, sizeof *ranking->pairs);
    if (!ranking->pairs || !place_pairs_make(&numbers, profile->reuse_pairs_count))
        return false;
    for (size_t i = 0; i < profile->reuse_pairs_count; i++) {
        const struct profile_reuse_pair *pair = &profile->reuse_pairs[i];
        uint32_t use = places->place_of[pair->use], reuse = places->place_of[pair->reuse];
        size_t number = place_pairs_number(&numbers, use, reuse);
        if (number == ranking->pairs_count)
            ranking->pairs[ranking->pairs_count++] =
                (struct reuse_pair){.use_place = use, .reuse_place = reuse};
        add_reuse(&ranking->pairs[number], pair);
        ranking->distances = ranking->distances || pair->stack_squares > 0;
    }
    place_pairs_free(&numbers);
    return true;
}

static void find_caches(struct reuse_ranking *ranking)
{
    const struct profile *profile = ranking->places->profile;
    for (size_t i = 0; i < profile->caches_count && ranking->caches_count < REUSE_CACHES; i++)
        ranking->caches[ranking->caches_count++] = profile->caches[i];
    if (ranking->caches_count == 0)
        ranking->caches[ranking->caches_count++] =
            (struct profile_cache){.bytes = REUSE_NEAR_BYTES};
}

/* More reuses than the smallest cache misses first touches cannot all be the only ones of their lines, whatever the
   loops that are known say. */
static bool is_once(const struct reuse_ranking *ranking, const struct reuse_figures *figures,
                    const struct reuse_pair *pair)
{
    struct shape shape;
    double beyond = figures_beyond(figures, pair, (double)ranking->caches[0].bytes);
    if (beyond > figures->totals.locations)
        return false;
    shape_find(ranking->places, pair, &shape);
    return shape_is_once(ranking->places->profile, pair, &shape);
}

static void measure_far(struct reuse_ranking *ranking, const struct reuse_figures *figures)
{
    double sum = 0;
    for (size_t i = 0; i < ranking->pairs_count; i++) {
        struct reuse_pair *pair = &ranking->pairs[i];
        pair->far = ranking->distances ? misses(ranking, figures, pair) : pair->time;
        sum += pair->far;
    }
    for (size_t i = 0; i < ranking->pairs_count; i++) {
        struct reuse_pair *pair = &ranking->pairs[i];
        pair->once =
            pair->far > 0 && pair->far >= least_once * sum && is_once(ranking, figures, pair);
        ranking->once += pair->once;
        ranking->once_share += pair->once && sum > 0 ? pair->far / sum : 0;
        pair->far = pair->once ? 0 : pair->far;
    }
}

static void share_out(struct reuse_ranking *ranking)
{
    double weight = 0, distance = 0, spread = 0;
    for (size_t i = 0; i < ranking->pairs_count; i++) {
        weight += ranking->pairs[i].weight;
        distance += ranking->pairs[i].far;
        spread += ranking->pairs[i].spread;
    }
    for (size_t i = 0; i < ranking->pairs_count; i++) {
        struct reuse_pair *pair = &ranking->pairs[i];
        pair->share = weight > 0 ? pair->weight / weight : 0;
        pair->far_share = distance > 0 ? pair->far / distance : 0;
        if (!ranking->places->exact)
            pair->interval = profile_share(pair->weight, weight, spread);
    }
}

/* False: no memory; *ranking is then untouched. */
static bool rank(const struct places *places, const struct reuse_figures *figures,
                 struct reuse_ranking *ranking)
{
    struct reuse_ranking made = {.places = places};
    find_caches(&made);
    if (!merge_reuse(&made)) {
        free(made.pairs);
        return false;
    }
    measure_far(&made, figures);
    share_out(&made);
    qsort(made.pairs, made.pairs_count, sizeof *made.pairs, compare_reuse_pairs);
    *ranking = made;
    return true;
}

struct reuse_report *reuse_report_make(const struct places *places)
{
    struct reuse_report *report = calloc(1, sizeof *report);
    if (!report)
        return NULL;
    if (places->profile->reuses_count)
        figures_reuse(places->profile, &report->figures);
    if (!rank(places, &report->figures, &report->ranking)) {
        free(report);
        return NULL;
    }
    return report;
}

void reuse_report_free(void *report)
{
    struct reuse_report *made = report;
    free(made->ranking.pairs);
    free(made);
}
