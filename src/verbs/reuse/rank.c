// SPDX-License-Identifier: MIT
/* Reuses grouped by cause and ranked by the misses that they would save at best. */
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
    if (a->group->weak != b->group->weak)
        return a->group->weak ? 1 : -1;
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

static bool merge_contexts(struct reuse_ranking *ranking)
{
    const struct places *places = ranking->places;
    const struct profile *profile = places->profile;
    struct place_pairs numbers;
    ranking->contexts = calloc(profile->reuse_pairs_count + 1, sizeof *ranking->contexts);
    if (!ranking->contexts || !place_pairs_make(&numbers, profile->reuse_pairs_count))
        return false;
    for (size_t i = 0; i < profile->reuse_pairs_count; i++) {
        const struct profile_reuse_pair *pair = &profile->reuse_pairs[i];
        uint32_t use = places->place_of[pair->use], reuse = places->place_of[pair->reuse];
        size_t number = place_pairs_number(&numbers, use, reuse);
        if (number == ranking->contexts_count)
            ranking->contexts[ranking->contexts_count++] =
                (struct reuse_pair){.use_place = use, .reuse_place = reuse};
        add_reuse(&ranking->contexts[number], pair);
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

/* By the machine code of the reuse. */
static bool goes_in_order(const struct reuse_ranking *ranking, const struct reuse_pair *pair)
{
    const struct profile *profile = ranking->places->profile;
    const struct profile_frame *frame = &profile->frames[profile->contexts[pair->reuse].frame];
    return frame->flags & PROFILE_FRAME_IN_ORDER;
}

static void measure_far(struct reuse_ranking *ranking, const struct reuse_figures *figures)
{
    double sum = 0;
    for (size_t i = 0; i < ranking->contexts_count; i++) {
        struct reuse_pair *pair = &ranking->contexts[i];
        pair->far = ranking->distances ? misses(ranking, figures, pair) : pair->time;
        sum += pair->far;
    }
    for (size_t i = 0; i < ranking->contexts_count; i++) {
        struct reuse_pair *pair = &ranking->contexts[i];
        pair->once =
            pair->far > 0 && pair->far >= least_once * sum && is_once(ranking, figures, pair);
        ranking->once_share += pair->once && sum > 0 ? pair->far / sum : 0;
        pair->far = pair->once ? 0 : pair->far;
        pair->in_order = goes_in_order(ranking, pair) ? pair->far : 0;
    }
}

static void share_out(const struct reuse_ranking *ranking, struct reuse_pair *pairs, size_t count)
{
    double weight = 0, distance = 0, spread = 0;
    for (size_t i = 0; i < count; i++) {
        weight += pairs[i].weight;
        distance += pairs[i].far;
        spread += pairs[i].spread;
    }
    for (size_t i = 0; i < count; i++) {
        struct reuse_pair *pair = &pairs[i];
        pair->share = weight > 0 ? pair->weight / weight : 0;
        pair->far_share = distance > 0 ? pair->far / distance : 0;
        if (!ranking->places->exact)
            pair->interval = profile_share(pair->weight, weight, spread);
    }
}

/* By what is far, if anything is: near reuses are then no evidence for far ones. What happens once
   is never in one finding with the rest. */
static bool group_contexts(struct reuse_ranking *ranking, const struct reuse_figures *figures,
                           enum report_by by)
{
    struct group_rule rule = {.by = by, .lead = 1};
    struct group_link *links = calloc(ranking->contexts_count + 1, sizeof *links);
    double far = 0, whole = 0;
    for (size_t i = 0; i < ranking->contexts_count; i++)
        far += ranking->contexts[i].far;
    ranking->links = links;
    for (size_t i = 0; links && i < ranking->contexts_count; i++) {
        const struct reuse_pair *context = &ranking->contexts[i];
        links[i] = (struct group_link){
            .first = context->use_place,
            .second = context->reuse_place,
            .class = context->once,
            .weight = far > 0 ? context->far : context->weight,
            .share = far > 0 && !figures_too_few(figures) ? context->far_share : context->share,
            .seen = far > 0 && context->far <= 0 ? 0 : context->count};
        whole += links[i].weight;
    }
    rule.least_weight = REUSE_LEAST_SHARE * whole;
    if (!ranking->places->exact)
        rule.least_seen = REUSE_FEW_SEEN;
    return links &&
           groups_make(ranking->places, links, ranking->contexts_count, &rule, &ranking->groups);
}

static struct reuse_pair make_finding(const struct reuse_ranking *ranking,
                                      const struct group *group)
{
    struct reuse_pair made = ranking->contexts[group->links[0]];
    made.group = group;
    for (size_t i = 1; i < group->links_count; i++) {
        const struct reuse_pair *context = &ranking->contexts[group->links[i]];
        made.count += context->count;
        made.weight += context->weight;
        made.time += context->time;
        made.stack += context->stack;
        made.stack_squares += context->stack_squares;
        made.spread += context->spread;
        made.far += context->far;
        made.in_order += context->in_order;
    }
    return made;
}

static bool make_findings(struct reuse_ranking *ranking)
{
    ranking->pairs = calloc(ranking->groups.count + 1, sizeof *ranking->pairs);
    if (!ranking->pairs)
        return false;
    for (size_t i = 0; i < ranking->groups.count; i++) {
        ranking->pairs[i] = make_finding(ranking, &ranking->groups.items[i]);
        ranking->once += ranking->pairs[i].once;
    }
    ranking->pairs_count = ranking->groups.count;
    share_out(ranking, ranking->pairs, ranking->pairs_count);
    qsort(ranking->pairs, ranking->pairs_count, sizeof *ranking->pairs, compare_reuse_pairs);
    return true;
}

/* False: no memory; what was made is in the ranking. */
static bool rank(const struct places *places, const struct reuse_figures *figures,
                 enum report_by by, struct reuse_ranking *ranking)
{
    ranking->places = places;
    find_caches(ranking);
    if (!objects_make(places, &ranking->objects) || !merge_contexts(ranking))
        return false;
    measure_far(ranking, figures);
    share_out(ranking, ranking->contexts, ranking->contexts_count);
    return group_contexts(ranking, figures, by) && make_findings(ranking);
}

struct reuse_report *reuse_report_make(const struct places *places, enum report_by by)
{
    struct reuse_report *report = calloc(1, sizeof *report);
    if (!report)
        return NULL;
    if (places->profile->reuses_count)
        figures_reuse(places->profile, &report->figures);
    if (!rank(places, &report->figures, by, &report->ranking)) {
        reuse_report_free(report);
        return NULL;
    }
    return report;
}

void reuse_report_free(void *report)
{
    struct reuse_report *made = report;
    free(made->ranking.contexts);
    free(made->ranking.pairs);
    groups_free(&made->ranking.groups);
    free(made->ranking.links);
    objects_free(&made->ranking.objects);
    free(made);
}
