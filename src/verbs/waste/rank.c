// SPDX-License-Identifier: MIT
/* Findings of waste merged by place and ranked. */
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

static int compare_pairs(const void *left, const void *right)
{
    const struct waste_pair *a = left, *b = right;
    /* What has no place is nothing to look at. */
    if (place_pair_is_known(a->first_place, a->second_place) !=
        place_pair_is_known(b->first_place, b->second_place))
        return place_pair_is_known(a->first_place, a->second_place) ? -1 : 1;
    if (a->waste_bytes != b->waste_bytes)
        return a->waste_bytes < b->waste_bytes ? 1 : -1;
    if (a->first_place != b->first_place)
        return a->first_place < b->first_place ? -1 : 1;
    return (a->second_place > b->second_place) - (a->second_place < b->second_place);
}

/* Adds all findings of the kind up by places. */
static bool merge_pairs(const struct places *places, struct waste_kind *kind)
{
    const struct profile *profile = places->profile;
    struct place_pairs numbers;
    size_t findings = 0;
    for (size_t i = 0; i < profile->pairs_count; i++)
        findings += profile->pairs[i].kind == kind->totals->kind;
    kind->pairs = calloc(findings + 1, sizeof *kind->pairs);
    if (!kind->pairs || !place_pairs_make(&numbers, findings))
        return false;
    for (size_t i = 0; i < profile->pairs_count; i++) {
        const struct profile_pair *pair = &profile->pairs[i];
        if (pair->kind != kind->totals->kind)
            continue;
        uint32_t first = places->place_of[pair->first], second = places->place_of[pair->second];
        size_t number = place_pairs_number(&numbers, first, second);
        if (number == kind->pairs_count)
            kind->pairs[kind->pairs_count++] = (struct waste_pair){.first = pair->first,
                                                                   .second = pair->second,
                                                                   .first_place = first,
                                                                   .second_place = second};
        add_pair(&kind->pairs[number], pair);
    }
    place_pairs_free(&numbers);
    return true;
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

static bool rank_kind(const struct places *places, struct waste_kind *kind)
{
    const struct profile_kind *totals = kind->totals;
    size_t kept = 0;
    if (!merge_pairs(places, kind))
        return false;
    kind->fraction = share_of(places, totals->waste_bytes, totals->waste_bytes + totals->use_bytes,
                              totals->waste_squares + totals->use_squares);
    kind->too_few = !places->exact && few_traps(kind);
    for (size_t i = 0; i < kind->pairs_count; i++) {
        struct waste_pair *pair = &kind->pairs[kept];
        if (kind->pairs[i].waste_bytes <= 0)
            continue;
        if (kept < i)
            *pair = kind->pairs[i];
        pair->share =
            share_of(places, pair->waste_bytes, totals->waste_bytes, totals->waste_squares);
        pair->kernel = places->exact ? pair->kernel_waste * 2 > pair->waste_bytes
                                     : pair->kernel_traps * 2 > pair->waste_traps + pair->use_traps;
        kept++;
    }
    kind->pairs_count = kept;
    qsort(kind->pairs, kept, sizeof *kind->pairs, compare_pairs);
    return true;
}

struct waste_ranking *waste_rank(const struct places *places, uint8_t kinds)
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
        good = rank_kind(places, &ranking->kinds[ranking->kinds_count++]);
    }
    if (good)
        return ranking;
    waste_rank_free(ranking);
    return NULL;
}

void waste_rank_free(void *ranking)
{
    struct waste_ranking *made = ranking;
    for (size_t i = 0; i < made->kinds_count; i++)
        free(made->kinds[i].pairs);
    free(made);
}
