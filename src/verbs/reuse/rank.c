// SPDX-License-Identifier: MIT
/* Reuses merged by place and ranked by how far they lie beyond the caches. */
#include "reuse/internal.h"

#include <stdlib.h>

/*
 * What makes a pair worth looking at is how far its reuses lie beyond what a cache of its own core
 * holds, times their number. Of the distances only sums are known. Most pairs are a mixture, of
 * touches of the same line in a row and of touches a whole pass later; so they are taken as a share
 * q of reuses at one distance d and the rest at 0: Σ distance² / Σ distance is d, and Σ distance /
 * d reuses have it. Pairs without stack distances go by time.
 */
static double mixed_distance(const struct reuse_pair *pair)
{
    return pair->stack > 0 ? pair->stack_squares / pair->stack : 0;
}

static double far(const struct reuse_pair *pair, double near_units)
{
    double distance = mixed_distance(pair);
    return distance > near_units ? pair->stack * (1 - near_units / distance) : 0;
}

static double far_reuses(const struct reuse_pair *pair, double near_units)
{
    double distance = mixed_distance(pair);
    return distance > near_units ? pair->stack / distance : 0;
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

/* The largest that one core has to itself: level 2 or below. Who shares it is no measure, for the
   threads of one core share all, and a virtual machine may have but one. */
static size_t private_cache(const struct reuse_ranking *ranking)
{
    size_t found = 0;
    for (size_t i = 0; i < ranking->caches_count; i++)
        if (ranking->caches[i].level <= 2)
            found = i;
    return found;
}

static double cache_units(const struct reuse_ranking *ranking, size_t cache)
{
    uint32_t unit_bytes = profile_reuse_total(ranking->places->profile).unit_bytes;
    return (double)ranking->caches[cache].bytes / (unit_bytes ? unit_bytes : 1);
}

/* Would the reuses beyond the cache be seen in its miss ratio? */
static bool matters(const struct reuse_ranking *ranking, double near_units)
{
    double beyond = 0, all = 0;
    for (size_t i = 0; i < ranking->pairs_count; i++) {
        beyond += far_reuses(&ranking->pairs[i], near_units);
        all += ranking->pairs[i].weight;
    }
    return beyond > 0 && beyond >= FIGURES_LEAST_SAVING * all;
}

/* The order goes by the distance beyond the private cache; if too little lies beyond it to matter,
   beyond a smaller one, the smallest if need be: of a program whose data level 2 holds, what the
   loader and exit() touch lies beyond, and nothing of the program's own. */
static void measure_far(struct reuse_ranking *ranking)
{
    size_t cache = private_cache(ranking);
    while (cache > 0 && ranking->distances && !matters(ranking, cache_units(ranking, cache)))
        cache--;
    ranking->near_cache = cache;
    for (size_t i = 0; i < ranking->pairs_count; i++) {
        struct reuse_pair *pair = &ranking->pairs[i];
        pair->far = ranking->distances ? far(pair, cache_units(ranking, cache)) : pair->time;
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
static bool rank(const struct places *places, struct reuse_ranking *ranking)
{
    struct reuse_ranking made = {.places = places};
    find_caches(&made);
    if (!merge_reuse(&made)) {
        free(made.pairs);
        return false;
    }
    measure_far(&made);
    share_out(&made);
    qsort(made.pairs, made.pairs_count, sizeof *made.pairs, compare_reuse_pairs);
    *ranking = made;
    return true;
}

struct reuse_report *reuse_report_make(const struct places *places)
{
    struct reuse_report *report = malloc(sizeof *report);
    if (!report || !rank(places, &report->ranking)) {
        free(report);
        return NULL;
    }
    if (places->profile->reuses_count)
        figures_reuse(places->profile, &report->figures);
    return report;
}

void reuse_report_free(void *report)
{
    struct reuse_report *made = report;
    free(made->ranking.pairs);
    free(made);
}
