// SPDX-License-Identifier: MIT
/*
 * Findings merged and ranked. A profile keeps contexts by instruction; a person
 * thinks in lines. Contexts that differ only in addresses on the same lines (an
 * unrolled loop, the halves of a copied structure) are one place here.
 */
#include "show/parts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- hash table from keys to numbers ------------------------------------------------------- */

struct table {
    uint32_t *slots; /* number + 1; 0: empty */
    size_t capacity;
};

static bool table_make(struct table *table, size_t items)
{
    size_t capacity = 16;
    while (capacity < items * 2)
        capacity *= 2;
    table->slots = calloc(capacity, sizeof *table->slots);
    table->capacity = capacity;
    return table->slots != NULL;
}

/* ---- frames that read the same --------------------------------------------------------------- */

static uint32_t reading_flags(const struct profile_frame *frame)
{
    return frame->flags & (PROFILE_FRAME_INLINED | PROFILE_FRAME_KERNEL | PROFILE_FRAME_CALL |
                           PROFILE_FRAME_RETURN);
}

/* Without a line the function is all that is known; without a function the address is. */
static bool reads_same(const struct profile_frame *a, const struct profile_frame *b)
{
    if (a->module != b->module || a->line != b->line || reading_flags(a) != reading_flags(b))
        return false;
    if (!profile_same_text(a->function, b->function) || !profile_same_text(a->file, b->file))
        return false;
    return a->function || a->line || a->address == b->address;
}

static uint64_t reading_hash(const struct profile_frame *frame)
{
    uint64_t hash = base_mix64((uint64_t)frame->module << 32 | frame->line);
    if (frame->function)
        hash = base_hash_bytes(frame->function, strlen(frame->function), hash);
    if (frame->file)
        hash = base_hash_bytes(frame->file, strlen(frame->file), hash);
    if (!frame->function && !frame->line)
        hash = base_mix64(hash ^ frame->address);
    return hash;
}

static bool classify_frames(struct ranking *ranking)
{
    const struct profile *profile = ranking->profile;
    struct table table;
    ranking->classes = calloc(profile->frames_count, sizeof *ranking->classes);
    if (!ranking->classes || !table_make(&table, profile->frames_count))
        return false;
    for (size_t i = 1; i < profile->frames_count; i++) {
        size_t slot = reading_hash(&profile->frames[i]) & (table.capacity - 1);
        while (table.slots[slot] &&
               !reads_same(&profile->frames[table.slots[slot] - 1], &profile->frames[i]))
            slot = (slot + 1) & (table.capacity - 1);
        if (!table.slots[slot])
            table.slots[slot] = (uint32_t)i + 1;
        ranking->classes[i] = table.slots[slot] - 1;
    }
    free(table.slots);
    return true;
}

/* ---- places ---------------------------------------------------------------------------------- */

static uint32_t fold(const struct ranking *ranking, uint32_t parent, uint32_t class)
{
    return BASE_FOLDED(place, parent, ranking->places[place].parent,
                       ranking->places[place].class == class);
}

/* There are at most as many places as contexts, so nothing grows. */
static bool make_places(struct ranking *ranking, bool fold_recursion)
{
    const struct profile *profile = ranking->profile;
    struct table table = {0};
    ranking->place_of = calloc(profile->contexts_count, sizeof *ranking->place_of);
    ranking->places = calloc(profile->contexts_count, sizeof *ranking->places);
    if (!ranking->place_of || !ranking->places || !table_make(&table, profile->contexts_count))
        return false;
    ranking->places_count = 1;
    for (size_t i = 1; i < profile->contexts_count; i++) {
        struct rank_place place = {ranking->place_of[profile->contexts[i].parent],
                                   ranking->classes[profile->contexts[i].frame]};
        uint32_t folded = fold_recursion ? fold(ranking, place.parent, place.class) : 0;
        if (folded) {
            ranking->place_of[i] = folded;
            continue;
        }
        size_t slot = base_mix64((uint64_t)place.parent << 32 | place.class) & (table.capacity - 1);
        while (table.slots[slot] &&
               memcmp(&ranking->places[table.slots[slot] - 1], &place, sizeof place) != 0)
            slot = (slot + 1) & (table.capacity - 1);
        if (!table.slots[slot]) {
            ranking->places[ranking->places_count] = place;
            table.slots[slot] = (uint32_t)++ranking->places_count;
        }
        ranking->place_of[i] = table.slots[slot] - 1;
    }
    free(table.slots);
    return true;
}

/* ---- pairs ----------------------------------------------------------------------------------- */

static void add_pair(struct rank_pair *to, const struct profile_pair *pair)
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

static bool has_place(uint32_t first, uint32_t second)
{
    return first || second;
}

static int compare_pairs(const void *left, const void *right)
{
    const struct rank_pair *a = left, *b = right;
    /* What stands for all that was lost or merged is no place to look at. */
    if (has_place(a->first_place, a->second_place) != has_place(b->first_place, b->second_place))
        return has_place(a->first_place, a->second_place) ? -1 : 1;
    if (a->waste_bytes != b->waste_bytes)
        return a->waste_bytes < b->waste_bytes ? 1 : -1;
    if (a->first_place != b->first_place)
        return a->first_place < b->first_place ? -1 : 1;
    return (a->second_place > b->second_place) - (a->second_place < b->second_place);
}

/* Adds all findings of the kind up by places; *count of them, in any order. */
static bool merge_pairs(const struct ranking *ranking, struct rank_kind *kind)
{
    const struct profile *profile = ranking->profile;
    struct table table;
    size_t findings = 0;
    for (size_t i = 0; i < profile->pairs_count; i++)
        findings += profile->pairs[i].kind == kind->totals->kind;
    kind->pairs = calloc(findings + 1, sizeof *kind->pairs);
    if (!kind->pairs || !table_make(&table, findings))
        return false;
    for (size_t i = 0; i < profile->pairs_count; i++) {
        const struct profile_pair *pair = &profile->pairs[i];
        if (pair->kind != kind->totals->kind)
            continue;
        uint32_t first = ranking->place_of[pair->first], second = ranking->place_of[pair->second];
        size_t slot = base_mix64((uint64_t)first << 32 | second) & (table.capacity - 1);
        while (table.slots[slot] && (kind->pairs[table.slots[slot] - 1].first_place != first ||
                                     kind->pairs[table.slots[slot] - 1].second_place != second))
            slot = (slot + 1) & (table.capacity - 1);
        if (!table.slots[slot]) {
            kind->pairs[kind->pairs_count] = (struct rank_pair){.first = pair->first,
                                                                .second = pair->second,
                                                                .first_place = first,
                                                                .second_place = second};
            table.slots[slot] = (uint32_t)++kind->pairs_count;
        }
        add_pair(&kind->pairs[table.slots[slot] - 1], pair);
    }
    free(table.slots);
    return true;
}

static struct profile_share share_of(const struct ranking *ranking, double part, double whole,
                                     double whole_squares)
{
    if (!ranking->exact)
        return profile_share(part, whole, whole_squares);
    double share = whole > 0 ? fmin(1, part / whole) : 0;
    return (struct profile_share){.share = share, .low = share, .high = share, .known = whole > 0};
}

static bool few_traps(const struct rank_kind *kind)
{
    return !kind->fraction.known ||
           kind->totals->waste_traps + kind->totals->use_traps < RANK_LEAST_TRAPS ||
           kind->fraction.effective < RANK_LEAST_TRAPS / 2.0;
}

static bool rank_kind(const struct ranking *ranking, struct rank_kind *kind)
{
    const struct profile_kind *totals = kind->totals;
    size_t kept = 0;
    if (!merge_pairs(ranking, kind))
        return false;
    kind->fraction = share_of(ranking, totals->waste_bytes, totals->waste_bytes + totals->use_bytes,
                              totals->waste_squares + totals->use_squares);
    kind->too_few = !ranking->exact && few_traps(kind);
    for (size_t i = 0; i < kind->pairs_count; i++) {
        struct rank_pair *pair = &kind->pairs[kept];
        if (kind->pairs[i].waste_bytes <= 0)
            continue;
        if (kept < i)
            *pair = kind->pairs[i];
        pair->share =
            share_of(ranking, pair->waste_bytes, totals->waste_bytes, totals->waste_squares);
        pair->kernel = ranking->exact
                           ? pair->kernel_waste * 2 > pair->waste_bytes
                           : pair->kernel_traps * 2 > pair->waste_traps + pair->use_traps;
        kept++;
    }
    kind->pairs_count = kept;
    qsort(kind->pairs, kept, sizeof *kind->pairs, compare_pairs);
    return true;
}

/* ---- reuse pairs ----------------------------------------------------------------------------- */

/*
 * What makes a pair worth looking at is how far its reuses lie beyond what a cache of its own core
 * holds, times their number. Of the distances only sums are known. Most pairs are a mixture, of
 * touches of the same line in a row and of touches a whole pass later; so they are taken as a share
 * q of reuses at one distance d and the rest at 0: Σ distance² / Σ distance is d, and Σ distance /
 * d reuses have it. Pairs without stack distances go by time.
 */
static double mixed_distance(const struct rank_reuse_pair *pair)
{
    return pair->stack > 0 ? pair->stack_squares / pair->stack : 0;
}

static double far(const struct rank_reuse_pair *pair, double near_units)
{
    double distance = mixed_distance(pair);
    return distance > near_units ? pair->stack * (1 - near_units / distance) : 0;
}

static double far_reuses(const struct rank_reuse_pair *pair, double near_units)
{
    double distance = mixed_distance(pair);
    return distance > near_units ? pair->stack / distance : 0;
}

static int compare_reuse_pairs(const void *left, const void *right)
{
    const struct rank_reuse_pair *a = left, *b = right;
    if (has_place(a->use_place, a->reuse_place) != has_place(b->use_place, b->reuse_place))
        return has_place(a->use_place, a->reuse_place) ? -1 : 1;
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

static void add_reuse(struct rank_reuse_pair *to, const struct profile_reuse_pair *pair)
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

static bool merge_reuse(struct ranking *ranking)
{
    const struct profile *profile = ranking->profile;
    struct table table;
    ranking->reuse_pairs = calloc(profile->reuse_pairs_count + 1, sizeof *ranking->reuse_pairs);
    if (!ranking->reuse_pairs || !table_make(&table, profile->reuse_pairs_count))
        return false;
    for (size_t i = 0; i < profile->reuse_pairs_count; i++) {
        const struct profile_reuse_pair *pair = &profile->reuse_pairs[i];
        struct rank_reuse_pair *pairs = ranking->reuse_pairs;
        uint32_t use = ranking->place_of[pair->use], reuse = ranking->place_of[pair->reuse];
        size_t slot = base_mix64((uint64_t)use << 32 | reuse) & (table.capacity - 1);
        while (table.slots[slot] && (pairs[table.slots[slot] - 1].use_place != use ||
                                     pairs[table.slots[slot] - 1].reuse_place != reuse))
            slot = (slot + 1) & (table.capacity - 1);
        if (!table.slots[slot]) {
            pairs[ranking->reuse_pairs_count] =
                (struct rank_reuse_pair){.use_place = use, .reuse_place = reuse};
            table.slots[slot] = (uint32_t)++ranking->reuse_pairs_count;
        }
        add_reuse(&pairs[table.slots[slot] - 1], pair);
        ranking->distances = ranking->distances || pair->stack_squares > 0;
    }
    free(table.slots);
    return true;
}

static void find_caches(struct ranking *ranking)
{
    const struct profile *profile = ranking->profile;
    for (size_t i = 0; i < profile->caches_count && ranking->caches_count < RANK_CACHES; i++)
        ranking->caches[ranking->caches_count++] = profile->caches[i];
    if (ranking->caches_count == 0)
        ranking->caches[ranking->caches_count++] = (struct profile_cache){.bytes = RANK_NEAR_BYTES};
}

/* The largest that one core has to itself: level 2 or below. Who shares it is no measure, for the
   threads of one core share all, and a virtual machine may have but one. */
static size_t private_cache(const struct ranking *ranking)
{
    size_t found = 0;
    for (size_t i = 0; i < ranking->caches_count; i++)
        if (ranking->caches[i].level <= 2)
            found = i;
    return found;
}

static double cache_units(const struct ranking *ranking, size_t cache)
{
    uint32_t unit_bytes = profile_reuse_total(ranking->profile).unit_bytes;
    return (double)ranking->caches[cache].bytes / (unit_bytes ? unit_bytes : 1);
}

/* Would the reuses beyond the cache be seen in its miss ratio? */
static bool matters(const struct ranking *ranking, double near_units)
{
    double beyond = 0, all = 0;
    for (size_t i = 0; i < ranking->reuse_pairs_count; i++) {
        beyond += far_reuses(&ranking->reuse_pairs[i], near_units);
        all += ranking->reuse_pairs[i].weight;
    }
    return beyond > 0 && beyond >= FIGURES_LEAST_SAVING * all;
}

/* The order goes by the distance beyond the private cache; if too little lies beyond it to matter,
   beyond a smaller one, the smallest if need be: of a program whose data level 2 holds, what the
   loader and exit() touch lies beyond, and nothing of the program's own. */
static void measure_far(struct ranking *ranking)
{
    size_t cache = private_cache(ranking);
    while (cache > 0 && ranking->distances && !matters(ranking, cache_units(ranking, cache)))
        cache--;
    ranking->near_cache = cache;
    for (size_t i = 0; i < ranking->reuse_pairs_count; i++) {
        struct rank_reuse_pair *pair = &ranking->reuse_pairs[i];
        pair->far = ranking->distances ? far(pair, cache_units(ranking, cache)) : pair->time;
    }
}

static bool rank_reuse(struct ranking *ranking)
{
    double weight = 0, distance = 0, spread = 0;
    find_caches(ranking);
    if (!merge_reuse(ranking))
        return false;
    measure_far(ranking);
    for (size_t i = 0; i < ranking->reuse_pairs_count; i++) {
        weight += ranking->reuse_pairs[i].weight;
        distance += ranking->reuse_pairs[i].far;
        spread += ranking->reuse_pairs[i].spread;
    }
    for (size_t i = 0; i < ranking->reuse_pairs_count; i++) {
        struct rank_reuse_pair *pair = &ranking->reuse_pairs[i];
        pair->share = weight > 0 ? pair->weight / weight : 0;
        pair->far_share = distance > 0 ? pair->far / distance : 0;
        if (!ranking->exact)
            pair->interval = profile_share(pair->weight, weight, spread);
    }
    qsort(ranking->reuse_pairs, ranking->reuse_pairs_count, sizeof *ranking->reuse_pairs,
          compare_reuse_pairs);
    return true;
}

enum base_status rank_profile(const struct profile *profile, uint8_t kinds, bool fold_recursion,
                              struct ranking *ranking)
{
    struct ranking made = {.profile = profile,
                           .exact = strcmp(profile->run.engine, "exact") == 0 ||
                                    strcmp(profile->run.engine, "built") == 0};
    bool good = classify_frames(&made) && make_places(&made, fold_recursion) && rank_reuse(&made);
    for (size_t i = 0; i < profile->kinds_count && good; i++) {
        uint32_t kind = profile->kinds[i].kind;
        if (kind == PROFILE_REUSE || (kinds && !(kinds >> kind & 1)))
            continue;
        made.kinds[made.kinds_count].totals = &profile->kinds[i];
        good = rank_kind(&made, &made.kinds[made.kinds_count++]);
    }
    if (!good) {
        rank_free(&made);
        return BASE_NO_MEMORY;
    }
    *ranking = made;
    return BASE_OK;
}

void rank_free(struct ranking *ranking)
{
    for (size_t i = 0; i < ranking->kinds_count; i++)
        free(ranking->kinds[i].pairs);
    free(ranking->reuse_pairs);
    free(ranking->classes);
    free(ranking->place_of);
    free(ranking->places);
}
