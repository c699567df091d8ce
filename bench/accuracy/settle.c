// SPDX-License-Identifier: MIT
/*
 * What the traps of a sampler stand for, when all of them are known: in proportion to 1 / chance
 * within a context (METHOD_SHARED), and from all its watches (METHOD_SETTLED, estimate_survival).
 */
#include "simulate.h"

#include <stdlib.h>

/* The control loses no watch: its traps stand for themselves. */
static bool is_control(const struct sampler *sampler)
{
    return sampler->settings.registers == UNLIMITED;
}

void settle_note(struct sampler *sampler, const struct ended *ended)
{
    if (is_control(sampler))
        return;
    if (sampler->ended_count == sampler->ended_capacity) {
        size_t capacity = sampler->ended_capacity ? sampler->ended_capacity * 2 : 1024;
        struct ended *moved = reallocarray(sampler->ended, capacity, sizeof *moved);
        if (!moved) {
            fputs("simulate: no memory for watches\n", stderr);
            exit(1);
        }
        sampler->ended = moved;
        sampler->ended_capacity = capacity;
    }
    sampler->ended[sampler->ended_count++] = *ended;
}

/* ---- by chance ------------------------------------------------------------------------------- */

/* As import does: the samples of a watch context in proportion to 1 / chance of its traps. */
static void share_by_chance(const struct sampler *sampler, struct tally *tally, unsigned kind)
{
    for (size_t i = 0; i < tally->capacity; i++) {
        struct tally_entry *entry = &tally->entries[i];
        if (!entry->key)
            continue;
        const struct context *context = &sampler->contexts[tally_first(entry)];
        double scale =
            context->claimed[kind] > 0 ? context->attributed[kind] / context->claimed[kind] : 0;
        entry->waste[METHOD_SHARED] *= scale;
        entry->use[METHOD_SHARED] *= scale;
    }
}

void settle_shared(struct sampler *sampler)
{
    for (unsigned kind = 0; kind < DETECT_REUSE; kind++)
        share_by_chance(sampler, &sampler->pairs[kind], kind);
    share_by_chance(sampler, &sampler->bins, DETECT_DEAD);
}

/* ---- from all watches ------------------------------------------------------------------------ */

/* Of one sampler and kind. */
struct settling {
    struct sampler *sampler;
    unsigned kind;
    struct estimate_life_table all;
    double assumed[ESTIMATE_AGES];                  /* in all contexts              */
    double distances[ESTIMATE_AGES][DISTANCE_BINS]; /* of traps at each age       */
    struct estimate_life *watches;                  /* of one context, with room    */
    double *amounts;
};

static int by_context(const void *a, const void *b)
{
    const struct ended *first = a, *second = b;
    if (first->kind != second->kind)
        return first->kind < second->kind ? -1 : 1;
    return (first->context > second->context) - (first->context < second->context);
}

static void add_amounts(struct settling *settling, const struct ended *ended, size_t count,
                        bool bins)
{
    struct sampler *sampler = settling->sampler;
    struct tally *pairs = &sampler->pairs[settling->kind];
    for (size_t i = 0; i < count; i++) {
        double amount = settling->amounts[i] * ended[i].bytes;
        if (!ended[i].watch.trapped)
            continue;
        struct tally_entry *entry = bins ? tally_at(&sampler->bins, ended[i].context, ended[i].bin)
                                         : tally_at(pairs, ended[i].context, ended[i].second);
        *(ended[i].waste ? &entry->waste[METHOD_SETTLED] : &entry->use[METHOD_SETTLED]) += amount;
        sampler->settled += bins ? amount : 0;
    }
}

static void settle_context(struct settling *settling, const struct ended *ended, size_t count)
{
    const struct sampler *sampler = settling->sampler;
    double sampled = (double)sampler->contexts[ended->context].sampled[settling->kind];
    double assumed[ESTIMATE_AGES];
    for (size_t i = 0; i < count; i++)
        settling->watches[i] = ended[i].watch;
    estimate_survival(&settling->all, settling->watches, count, sampled, settling->amounts, NULL);
    add_amounts(settling, ended, count, false);
    if (!sampler->settings.reuse)
        return;
    estimate_survival(&settling->all, settling->watches, count, sampled, settling->amounts,
                      assumed);
    add_amounts(settling, ended, count, true);
    for (unsigned age = 0; age < ESTIMATE_AGES; age++)
        settling->assumed[age] += assumed[age];
}

static void note_distances(struct settling *settling, const struct ended *ended, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const struct estimate_life *watch = &ended[i].watch;
        estimate_life_table_add(&settling->all, watch);
        if (watch->trapped)
            settling->distances[estimate_age(watch->waited)][ended[i].bin] +=
                (double)watch->weight / (double)watch->chance;
    }
}

/* What was assumed of a context's samples at some age has the distances of all traps at it. */
static void spread_assumed(struct settling *settling)
{
    struct sampler *sampler = settling->sampler;
    for (unsigned age = 0; age < ESTIMATE_AGES; age++) {
        double trapped = settling->all.trapped[age];
        for (unsigned bin = 0; bin < DISTANCE_BINS && trapped > 0; bin++) {
            double amount = settling->assumed[age] * settling->distances[age][bin] / trapped;
            if (amount > 0)
                tally_at(&sampler->bins, 0, bin)->waste[METHOD_SETTLED] += amount;
            sampler->settled += amount;
        }
    }
}

/* Samples of contexts none of which was ever watched: all by what others do. */
static void settle_unwatched(struct settling *settling, double sampled)
{
    double assumed[ESTIMATE_AGES];
    estimate_survival(&settling->all, NULL, 0, sampled, NULL, assumed);
    for (unsigned age = 0; age < ESTIMATE_AGES; age++)
        settling->assumed[age] += assumed[age];
}

static void settle_kind(struct settling *settling, const struct ended *ended, size_t count)
{
    const struct sampler *sampler = settling->sampler;
    double watched = 0;
    note_distances(settling, ended, count);
    for (size_t first = 0, end = 0; first < count; first = end) {
        while (end < count && ended[end].context == ended[first].context)
            end++;
        watched += (double)sampler->contexts[ended[first].context].sampled[settling->kind];
        settle_context(settling, &ended[first], end - first);
    }
    if (!sampler->settings.reuse)
        return;
    settle_unwatched(settling, sampler->sampled - watched);
    spread_assumed(settling);
}

/* The control's traps stand for themselves. */
static void copy_own(struct tally *tally)
{
    for (size_t i = 0; i < tally->capacity; i++) {
        struct tally_entry *entry = &tally->entries[i];
        entry->waste[METHOD_SETTLED] = entry->waste[METHOD_NONE];
        entry->use[METHOD_SETTLED] = entry->use[METHOD_NONE];
    }
}

static void settle_control(struct sampler *sampler)
{
    for (unsigned kind = 0; kind < DETECT_REUSE; kind++)
        copy_own(&sampler->pairs[kind]);
    copy_own(&sampler->bins);
    sampler->settled = sampler->attributed;
}

void settle_watches(struct sampler *sampler)
{
    size_t count = sampler->ended_count;
    if (is_control(sampler)) {
        settle_control(sampler);
        return;
    }
    struct settling *settling = malloc(sizeof *settling);
    struct estimate_life *watches = calloc(count + 1, sizeof *watches);
    double *amounts = calloc(count + 1, sizeof *amounts);
    if (!settling || !watches || !amounts) {
        fputs("simulate: no memory for watches\n", stderr);
        exit(1);
    }
    qsort(sampler->ended, count, sizeof *sampler->ended, by_context);
    for (size_t first = 0, end = 0; first < count; first = end) {
        while (end < count && sampler->ended[end].kind == sampler->ended[first].kind)
            end++;
        *settling = (struct settling){.sampler = sampler,
                                      .kind = sampler->ended[first].kind,
                                      .watches = watches,
                                      .amounts = amounts};
        settle_kind(settling, &sampler->ended[first], end - first);
    }
    free(settling);
    free(watches);
    free(amounts);
}
