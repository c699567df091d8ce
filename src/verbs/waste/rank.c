// SPDX-License-Identifier: MIT
/* Findings of waste grouped by cause and ranked. */
#include "show/own.h"
#include "waste/internal.h"

#include <math.h>
#include <stdlib.h>

const char *const waste_overhead_names[WASTE_OVERHEADS] = {
    [WASTE_SAVED] = "saved register",   [WASTE_SPILLED] = "spilled value",
    [WASTE_RETURNS] = "return address", [WASTE_STUBS] = "linkage table",
    [WASTE_CONSTANTS] = "constant",
};

static enum waste_overhead overhead_of(uint32_t flags)
{
    if (flags & PROFILE_FRAME_SAVE)
        return WASTE_SAVED;
    if (flags & PROFILE_FRAME_SPILL)
        return WASTE_SPILLED;
    if (flags & (PROFILE_FRAME_CALL | PROFILE_FRAME_RETURN))
        return WASTE_RETURNS;
    if (flags & PROFILE_FRAME_CONSTANT)
        return WASTE_CONSTANTS;
    return flags & PROFILE_FRAME_STUB ? WASTE_STUBS : WASTE_ORDINARY;
}

bool waste_in_library(const struct places *places, uint32_t place)
{
    const struct profile_frame *frames = places->profile->frames;
    for (uint32_t own = places->own[place]; place != own; place = places->items[place].parent)
        if (!(frames[places->items[place].class].flags & PROFILE_FRAME_INLINED))
            return true;
    return place && places->own[place] == place && places->system[places->items[place].class];
}

bool waste_in_team_runtime(const struct places *places, uint32_t place)
{
    const struct profile *profile = places->profile;
    uint32_t module = profile->frames[places->items[place].class].module;
    return module && own_is_team_runtime(profile->modules[module].path);
}

/* What the machine code says of the wasted access. How a library's code comes to repeat a load is nothing that its caller
   could change. */
static void add_traits(struct waste_pair *to, const struct places *places,
                       const struct profile_pair *pair)
{
    const struct profile *profile = places->profile;
    uint32_t wasted = waste_lead(pair->kind) ? pair->second : pair->first;
    uint32_t flags = profile->frames[profile->contexts[wasted].frame].flags;
    const struct profile_trait *trait = profile_trait_of(profile, pair);
    bool changeable = trait && !waste_in_library(places, places->place_of[wasted]);
    bool team = waste_in_team_runtime(places, places->place_of[wasted]);
    to->overhead_waste[overhead_of(flags)] += pair->waste_bytes;
    to->reach_waste[changeable ? trait->reach : PROFILE_REACH_UNKNOWN] += pair->waste_bytes;
    to->near_waste += trait ? trait->near_bytes : 0;
    to->update_waste += flags & PROFILE_FRAME_UPDATE ? pair->waste_bytes : 0;
    to->team_waste += team ? pair->waste_bytes : 0;
}

/* The index of what is more than half; 0: nothing is. */
static uint32_t most_of(const double *parts, uint32_t count, double whole)
{
    for (uint32_t i = 1; i < count; i++)
        if (parts[i] * 2 > whole)
            return i;
    return 0;
}

double waste_gain(const struct waste_pair *pair)
{
    static const double shares[PROFILE_REACHES] = {
        [PROFILE_REACH_UNKNOWN] = 0.5, [PROFILE_REACH_ITERATION] = 1,
        [PROFILE_REACH_INVARIANT] = 1, [PROFILE_REACH_PREVIOUS] = 0.75,
        [PROFILE_REACH_SEARCH] = 0.5,  [PROFILE_REACH_OUTER] = 0.03,
        [PROFILE_REACH_CALL] = 0.03,
    };
    /* Threads that wait for others look at the same flag again and again: that is no work to be saved. */
    double working = pair->waste_bytes - pair->team_waste;
    return working * shares[pair->reach] + pair->team_waste * shares[PROFILE_REACH_CALL];
}

/* Profiles from before version 8 count values that were compared, not those that were equal so. */
double waste_near_share(const struct waste_kind *kind, const struct waste_pair *pair)
{
    if (kind->totals->kind == PROFILE_DEAD || pair->waste_bytes <= 0)
        return 0;
    if (pair->near_waste > 0)
        return fmin(1, pair->near_waste / pair->waste_bytes);
    return pair->float_traps * 2 > pair->waste_traps + pair->use_traps ? 1 : 0;
}

static void add_pair(struct waste_pair *to, const struct places *places,
                     const struct profile_pair *pair)
{
    add_traits(to, places, pair);
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
    to->near_waste += context->near_waste;
    to->update_waste += context->update_waste;
    to->team_waste += context->team_waste;
    for (unsigned i = 0; i < WASTE_OVERHEADS; i++)
        to->overhead_waste[i] += context->overhead_waste[i];
    for (unsigned i = 0; i < PROFILE_REACHES; i++)
        to->reach_waste[i] += context->reach_waste[i];
}

static int compare_pairs(const void *left, const void *right)
{
    const struct waste_pair *a = left, *b = right;
    double gain_a = waste_gain(a), gain_b = waste_gain(b);
    if (!a->overhead != !b->overhead)
        return a->overhead ? 1 : -1;
    /* What has no place is nothing to look at. */
    if (place_pair_is_known(a->first_place, a->second_place) !=
        place_pair_is_known(b->first_place, b->second_place))
        return place_pair_is_known(a->first_place, a->second_place) ? -1 : 1;
    if (a->group->weak != b->group->weak)
        return a->group->weak ? 1 : -1;
    if (gain_a != gain_b)
        return gain_a < gain_b ? 1 : -1;
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
        add_pair(context, places, pair);
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

/* What the compiler adds, and what a call stores, is no line's own access. */
static uint32_t class_of(const struct places *places, const struct waste_pair *context)
{
    const struct place *place = &places->items[context->second_place];
    uint32_t calls = PROFILE_FRAME_CALL | PROFILE_FRAME_RETURN;
    bool call = places->profile->frames[place->class].flags & calls;
    return (uint32_t)context->overhead << 1 | call;
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
                                       .share = context->share.share,
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

static struct profile_share share_counted(double part, double whole)
{
    double share = whole > 0 ? fmin(1, part / whole) : 0;
    return (struct profile_share){.share = share, .low = share, .high = share, .known = whole > 0};
}

/* Squares of a sample in which nothing differed by chance may be none. */
static struct profile_share share_drawn(double part, double whole, double squares)
{
    return profile_share(part, whole, fmax(squares, 1e-12 * whole * whole));
}

static struct profile_share fraction_of(const struct places *places, const struct waste_kind *kind)
{
    const struct profile_kind *totals = kind->totals;
    double all = totals->waste_bytes + totals->use_bytes;
    if (!places->exact)
        return profile_share(totals->waste_bytes, all, totals->waste_squares + totals->use_squares);
    if (kind->sample)
        return share_drawn(totals->waste_bytes, all, kind->sample->whole_squares);
    return share_counted(totals->waste_bytes, all);
}

static struct profile_share share_of(const struct places *places, const struct waste_kind *kind,
                                     const struct waste_pair *pair)
{
    const struct profile_kind *totals = kind->totals;
    double part = pair->waste_bytes, whole = totals->waste_bytes;
    if (!places->exact)
        return profile_share(part, whole, totals->waste_squares);
    if (!kind->sample)
        return share_counted(part, whole);
    /* The squares of the pair are the variance of its part; of a share s profile_share makes it s (1 - s) squares / whole^2. */
    double s = whole > 0 ? fmin(1, part / whole) : 0;
    return share_drawn(part, whole, s > 0 && s < 1 ? pair->waste_squares / (s * (1 - s)) : 0);
}

static bool too_few(const struct places *places, const struct waste_kind *kind)
{
    if (places->exact)
        return kind->sample && kind->sample->locations < WASTE_LEAST_LOCATIONS;
    return !kind->fraction.known ||
           kind->totals->waste_traps + kind->totals->use_traps < WASTE_LEAST_TRAPS ||
           kind->fraction.effective < WASTE_LEAST_TRAPS / 2.0;
}

static void finish_pair(const struct places *places, const struct waste_kind *kind,
                        struct waste_pair *pair)
{
    pair->share = share_of(places, kind, pair);
    pair->kernel = places->exact ? pair->kernel_waste * 2 > pair->waste_bytes
                                 : pair->kernel_traps * 2 > pair->waste_traps + pair->use_traps;
    pair->overhead = most_of(pair->overhead_waste, WASTE_OVERHEADS, pair->waste_bytes);
    pair->reach = most_of(pair->reach_waste, PROFILE_REACHES, pair->waste_bytes);
}

static bool rank_kind(const struct places *places, struct waste_kind *kind, enum report_by by)
{
    if (!merge_contexts(places, kind))
        return false;
    if (places->exact)
        kind->sample = profile_waste_sample_of(places->profile, kind->totals->kind);
    kind->fraction = fraction_of(places, kind);
    kind->too_few = too_few(places, kind);
    for (size_t i = 0; i < kind->contexts_count; i++)
        finish_pair(places, kind, &kind->contexts[i]);
    if (!group_contexts(places, kind, by))
        return false;
    kind->pairs = calloc(kind->groups.count + 1, sizeof *kind->pairs);
    if (!kind->pairs)
        return false;
    for (; kind->pairs_count < kind->groups.count; kind->pairs_count++) {
        struct waste_pair *pair = &kind->pairs[kind->pairs_count];
        *pair = make_finding(kind, &kind->groups.items[kind->pairs_count]);
        finish_pair(places, kind, pair);
        kind->ordinary_count += !pair->overhead;
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
    good = objects_make(places, &ranking->objects);
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
    objects_free(&made->objects);
    free(made);
}
