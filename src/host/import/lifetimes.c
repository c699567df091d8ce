// SPDX-License-Identifier: MIT
/*
 * What each watch stands for, by lifetimes under censoring (detect_settle): by the number of
 * samples waited, for each context by itself as far as it has watches, for what is missing by those
 * of the process.
 *
 * A watch that was replaced says only that its sample waited that long. One that was armed still
 * when its thread ended says more: there is no reuse by that thread in the run. So the end is an
 * outcome like a reuse, and not a loss; taken as one, the last sweep over an array would seem to be
 * used again like those before it.
 *
 * Foreseen samples never were offered to the registers: they stand for themselves, and the
 * samples that watches stand for are the others.
 */
#include "import/reuses.h"

#include "detect/detect.h"

#include <stdlib.h>

struct settling {
    struct detect_ages all;      /* of the process                              */
    double open[DETECT_AGES];    /* of all.trapped: threads' ends               */
    double assumed[DETECT_AGES]; /* samples of contexts that had no watch left  */
    struct detect_watch *lives;  /* of one context, with room for all           */
    double *amounts;
};

static double claimed(const struct import_watch *watch)
{
    return (double)watch->weight / (double)watch->chance;
}

static bool foreseen(const struct import_watch *watch)
{
    return watch->flags & WIRE_REUSE_FORESEEN;
}

static struct detect_watch life_of(const struct import_watch *watch)
{
    return (struct detect_watch){.waited = watch->waited,
                                 .trapped = !(watch->flags & WIRE_REUSE_LOST),
                                 .weight = watch->weight,
                                 .samples = (float)claimed(watch),
                                 .entry = watch->entry,
                                 .chance = watch->chance};
}

static void add_assumed(struct settling *settling, const double *assumed)
{
    for (unsigned age = 0; age < DETECT_AGES; age++)
        settling->assumed[age] += assumed[age];
}

/* The watches of one context that were not foreseen, in order; amounts go back the same way. */
static void settle_context(struct settling *settling, const struct import_use *use,
                           const struct import_watch *watches, size_t count, double *amounts,
                           double *own, double *never)
{
    double assumed[DETECT_AGES], sampled = 0;
    size_t lives = 0;
    for (size_t i = 0; i < count; i++) {
        if (foreseen(&watches[i]))
            continue;
        settling->lives[lives++] = life_of(&watches[i]);
        sampled += (double)watches[i].weight;
    }
    /* More, if their records were lost. */
    sampled = sampled < use->watchable ? use->watchable : sampled;
    detect_settle(&settling->all, settling->lives, lives, sampled, settling->amounts, assumed);
    add_assumed(settling, assumed);
    for (size_t i = 0, life = 0; i < count; i++)
        amounts[i] = foreseen(&watches[i]) ? (double)watches[i].weight : settling->amounts[life++];
    detect_settle(&settling->all, settling->lives, lives, sampled, settling->amounts, NULL);
    *never = sampled;
    for (size_t i = 0, life = 0; i < count; i++) {
        own[i] = foreseen(&watches[i]) ? (double)watches[i].weight : settling->amounts[life++];
        if (!foreseen(&watches[i]) && import_is_reused(&watches[i]))
            *never -= amounts[i];
    }
    for (unsigned age = 0; age < DETECT_AGES; age++)
        if (assumed[age] > 0) /* some did end at that age */
            *never -= assumed[age] * (1 - settling->open[age] / settling->all.trapped[age]);
    *never = *never > 0 ? *never : 0;
}

/* What was assumed of samples at some age fares as all that ended at that age did. */
static void spread_assumed(const struct settling *settling, const struct import_watch *watches,
                           size_t count, double *amounts)
{
    for (size_t i = 0; i < count; i++) {
        unsigned age = detect_age(watches[i].waited);
        if (!foreseen(&watches[i]) && !(watches[i].flags & WIRE_REUSE_LOST) &&
            settling->all.trapped[age] > 0)
            amounts[i] +=
                settling->assumed[age] * claimed(&watches[i]) / settling->all.trapped[age];
    }
}

bool import_settle(const struct import_use *uses, size_t uses_count, uint32_t first_use,
                   const struct import_watch *watches, size_t count, double *amounts, double *own,
                   double *never)
{
    struct settling *settling = calloc(1, sizeof *settling);
    struct detect_watch *lives = calloc(count + 1, sizeof *lives);
    double *scratch = calloc(count + 1, sizeof *scratch);
    bool good = settling && lives && scratch;
    if (good) {
        settling->lives = lives;
        settling->amounts = scratch;
    }
    for (size_t i = 0; i < count && good; i++) {
        struct detect_watch life = life_of(&watches[i]);
        if (foreseen(&watches[i]))
            continue;
        detect_ages_add(&settling->all, &life);
        if (watches[i].flags & WIRE_REUSE_OPEN)
            settling->open[detect_age(life.waited)] += claimed(&watches[i]);
    }
    for (size_t use = 0, first = 0, end = 0; use < uses_count && good; use++, first = end) {
        while (end < count && watches[end].use == first_use + use)
            end++;
        settle_context(settling, &uses[use], watches + first, end - first, amounts + first,
                       own + first, &never[use]);
    }
    if (good)
        spread_assumed(settling, watches, count, amounts);
    free(settling);
    free(lives);
    free(scratch);
    return good;
}
