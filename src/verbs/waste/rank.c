// SPDX-License-Identifier: MIT
/* Findings of waste grouped by cause and ranked. */
#include "waste/internal.h"

#include <math.h>
#include <stdlib.h>

static void add_pair(struct waste_pair *to, const struct profile_pair *pair)
{
    to->waste_bytes += pair->waste_bytes;
    to->use_bytes += pair->use_bytes;
    to->waste_squares += pair->waste_squares;
    to->waste_traps += pair->waste_traps;
    to->use_traps += pair->use_traps;
    to->kernel_traps += pair->kernel_traps;
    to->likely_traps += pair->likely_traps;
    to->float_traps += pair->float_traps;
    to->kernel_waste += pair->kernel_traps ? pair->waste_bytes : 0;
    if (pair->waste_bytes > to->heaviest) {
        to->heaviest = pair->waste_bytes;
        to->first = pair->first;
        to->second = pair->second;
    }
}

static void add_context(struct waste_pair *to, const struct waste_pair *context)
{
    to->waste_bytes += context->waste_bytes;
    to->use_bytes += context->use_bytes;
    to->waste_squares += context->waste_squares;
    to->waste_traps += context->waste_traps;
    to->use_traps += context->use_traps;
    to->kernel_traps += context->kernel_traps;
    to->likely_traps += context->likely_traps;
    to->float_traps += context->float_traps;
    to->kernel_waste += context->kernel_waste;
}

static int compare_pairs(const void *left, const void *right)
{
    const struct waste_pair *a = left, *b = right;
    /* What has no place is nothing to look at. */
    if (place_pair_is_known(a->first_place, a->second_place) !=
        place_pair_is_known(b->first_place, b->second_place))
        return place_pair_is_known(a->first_place, a->second_place) ? -1 : 1;
    if (a->group->weak != b->group->weak)
        return a->group->weak ? 1 : -1;
    if (a->waste_bytes != b->waste_bytes)
        return a->waste_bytes < b->waste_bytes ? 1 : -1;
    if (a->first_place != b->first_place)
        return a->first_place < b->first_place ? -1 : 1;
    return (a->second_place > b->second_place) - (a->second_place < b->second_place);
}

/* Adds up what the kind has by contexts, without those that waste nothing. */
static bool merge_contexts(const struct places *places, struct waste_kind *kind)
{
    const struct profile *profile = places->profile;
    struct place_pairs numbers;
    size_t count = 0, kept = 0;
    for (size_t i = 0; i < profile->pairs_count; i++)
        count += profile->pairs[i].kind == kind->totals->kind;
    kind->contexts = calloc(count + 1, sizeof *kind->contexts);
    if (!kind->contexts || !place_pairs_make(&numbers, count))
        return false;
    for (size_t i = 0; i < profile->pairs_count; i++) {
        const struct profile_pair *pair = &profile->pairs[i];
        if (pair->kind != kind->totals->kind)
            continue;
        uint32_t first = places->place_of[pair->first], second = places->place_of[pair->second];
        size_t number = place_pairs_number(&numbers, first, second);
        struct waste_pair *context = &kind->contexts[number];
        if (number == kind->contexts_count)
            kind->contexts[kind->contexts_count++] = (struct waste_pair){.first = pair->first,
                                                                         .second = pair->second,
                                                                         .first_place = first,
                                                                         .second_place = second};
        add_pair(context, pair);
    }
    place_pairs_free(&numbers);
    for (size_t i = 0; i < kind->contexts_count; i++)
        if (kind->contexts[i].waste_bytes > 0)
            kind->contexts[kept++] = kind->contexts[i];
    kind->contexts_count = kept;
    return true;
}

unsigned waste_lead(uint32_t kind)
{
    return kind == PROFILE_DEAD ? 0 : 1;
}

/* What a call stores is no line's own store. */
static uint32_t class_of(const struct places *places, const struct waste_pair *context)
{
    const struct place *place = &places->items[context->second_place];
    return places->profile->frames[place->class].flags &
           (PROFILE_FRAME_CALL | PROFILE_FRAME_RETURN);
}

static bool group_contexts(const struct places *places, struct waste_kind *kind, enum report_by by)
{
    struct group_rule rule = {.by = by, .lead = waste_lead(kind->totals->kind)};
    struct group_link *links = kind->links = calloc(kind->contexts_count + 1, sizeof *links);
    if (places->exact)
        rule.least_weight = WASTE_LEAST_SHARE * kind->totals->waste_bytes;
    else
        rule.least_seen = WASTE_FEW_TRAPS;
    for (size_t i = 0; links && i < kind->contexts_count; i++) {
        const struct waste_pair *context = &kind->contexts[i];
        links[i] = (struct group_link){.first = context->first_place,
                                       .second = context->second_place,
                                       .class = class_of(places, context),
                                       .weight = context->waste_bytes,
                                       .seen = context->waste_traps};
    }
    return links && groups_make(places, links, kind->contexts_count, &rule, &kind->groups);
}

static struct waste_pair make_finding(const struct waste_kind *kind, const struct group *group)
{
    const struct waste_pair *heaviest = &kind->contexts[group->links[0]];
    struct waste_pair made = {.first = heaviest->first,
                              .second = heaviest->second,
                              .first_place = heaviest->first_place,
                              .second_place = heaviest->second_place,
                              .heaviest = heaviest->heaviest,
                              .group = group};
    for (size_t i = 0; i < group->links_count; i++)
        add_context(&made, &kind->contexts[group->links[i]]);
    return made;
}

static struct profile_share share_of(const struct places *places, double part, double whole,
                                     double whole_squares)
{
    if (!places->exact)
        return profile_share(part, whole, whole_squares);
    double share = whole > 0 ? fmin(1, part / whole) : 0;
    return (struct profile_share){.share = share, .low = share, .high = share, .known = whole > 0};
}

static bool few_traps(const struct waste_kind *kind)
{
    return !kind->fraction.known ||
           kind->totals->waste_traps + kind->totals->use_traps < WASTE_LEAST_TRAPS ||
           kind->fraction.effective < WASTE_LEAST_TRAPS / 2.0;
}

static void finish_pair(const struct places *places, const struct profile_kind *totals,
                        struct waste_pair *pair)
{
    pair->share = share_of(places, pair->waste_bytes, totals->waste_bytes, totals->waste_squares);
    pair->kernel = places->exact ? pair->kernel_waste * 2 > pair->waste_bytes
                                 : pair->kernel_traps * 2 > pair->waste_traps + pair->use_traps;
}

static bool rank_kind(const struct places *places, struct waste_kind *kind, enum report_by by)
{
    const struct profile_kind *totals = kind->totals;
    if (!merge_contexts(places, kind) || !group_contexts(places, kind, by))
        return false;
    kind->fraction = share_of(places, totals->waste_bytes, totals->waste_bytes + totals->use_bytes,
                              totals->waste_squares + totals->use_squares);
    kind->too_few = !places->exact && few_traps(kind);
    for (size_t i = 0; i < kind->contexts_count; i++)
        finish_pair(places, totals, &kind->contexts[i]);
    kind->pairs = calloc(kind->groups.count + 1, sizeof *kind->pairs);
    if (!kind->pairs)
        return false;
    for (; kind->pairs_count < kind->groups.count; kind->pairs_count++) {
        struct waste_pair *pair = &kind->pairs[kind->pairs_count];
        *pair = make_finding(kind, &kind->groups.items[kind->pairs_count]);
        finish_pair(places, totals, pair);
    }
    qsort(kind->pairs, kind->pairs_count, sizeof *kind->pairs, compare_pairs);
    return true;
}

struct waste_ranking *waste_rank(const struct places *places, uint8_t kinds, enum report_by by)
{
    const struct profile *profile = places->profile;
    struct waste_ranking *ranking = calloc(1, sizeof *ranking);
    bool good = true;
    if (!ranking)
        return NULL;
    ranking->places = places;
    for (size_t i = 0; i < profile->kinds_count && good; i++) {
        uint32_t kind = profile->kinds[i].kind;
        if (kind == PROFILE_REUSE || (kinds && !(kinds >> kind & 1)))
            continue;
        ranking->kinds[ranking->kinds_count].totals = &profile->kinds[i];
        good = rank_kind(places, &ranking->kinds[ranking->kinds_count++], by);
    }
    if (good)
        return ranking;
    waste_rank_free(ranking);
    return NULL;
}

void waste_rank_free(void *ranking)
{
    struct waste_ranking *made = ranking;
    for (size_t i = 0; i < made->kinds_count; i++) {
        free(made->kinds[i].contexts);
        free(made->kinds[i].pairs);
        groups_free(&made->kinds[i].groups);
        free(made->kinds[i].links);
    }
    free(made);
}
