// SPDX-License-Identifier: MIT
/*
 * What each watch stands for, by lifetimes under censoring (survival.c): by the number of
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
#include "estimate/estimate.h"

#include <stdlib.h>

struct survival {
    struct estimate_life_table all; /* of the process                              */
    double open[ESTIMATE_AGES];     /* of all.trapped: threads' ends               */
    double assumed[ESTIMATE_AGES];  /* samples of contexts that had no watch left  */
    struct estimate_life *lives;    /* of one context, with room for all           */
    double *amounts;
};

static double claimed(const struct estimate_watch *watch)
{
    return (double)watch->weight / (double)watch->chance;
}

static bool foreseen(const struct estimate_watch *watch)
{
    return watch->flags & WIRE_REUSE_FORESEEN;
}

static struct estimate_life life_of(const struct estimate_watch *watch)
{
    return (struct estimate_life){.waited = watch->waited,
                                  .trapped = !(watch->flags & WIRE_REUSE_LOST),
                                  .weight = watch->weight,
                                  .samples = (float)claimed(watch),
                                  .entry = watch->entry,
                                  .chance = watch->chance};
}

static void add_assumed(struct survival *survival, const double *assumed)
{
    for (unsigned age = 0; age < ESTIMATE_AGES; age++)
        survival->assumed[age] += assumed[age];
}

/* The watches of one context that were not foreseen, in order; amounts go back the same way. */
static void share_context(struct survival *survival, const struct estimate_use *use,
                          const struct estimate_watch *watches, size_t count, double *amounts,
                          double *own, double *never)
{
    double assumed[ESTIMATE_AGES], sampled = 0;
    size_t lives = 0;
    for (size_t i = 0; i < count; i++) {
        if (foreseen(&watches[i]))
            continue;
        survival->lives[lives++] = life_of(&watches[i]);
        sampled += (double)watches[i].weight;
    }
    /* More, if their records were lost. */
    sampled = sampled < use->watchable ? use->watchable : sampled;
    estimate_survival(&survival->all, survival->lives, lives, sampled, survival->amounts, assumed);
    add_assumed(survival, assumed);
    for (size_t i = 0, life = 0; i < count; i++)
        amounts[i] = foreseen(&watches[i]) ? (double)watches[i].weight : survival->amounts[life++];
    estimate_survival(&survival->all, survival->lives, lives, sampled, survival->amounts, NULL);
    *never = sampled;
    for (size_t i = 0, life = 0; i < count; i++) {
        own[i] = foreseen(&watches[i]) ? (double)watches[i].weight : survival->amounts[life++];
        if (!foreseen(&watches[i]) && estimate_is_reused(&watches[i]))
            *never -= amounts[i];
    }
    for (unsigned age = 0; age < ESTIMATE_AGES; age++)
        if (assumed[age] > 0) /* some did end at that age */
            *never -= assumed[age] * (1 - survival->open[age] / survival->all.trapped[age]);
    *never = *never > 0 ? *never : 0;
}

/* What was assumed of samples at some age fares as all that ended at that age did. */
static void spread_assumed(const struct survival *survival, const struct estimate_watch *watches,
                           size_t count, double *amounts)
{
    for (size_t i = 0; i < count; i++) {
        unsigned age = estimate_age(watches[i].waited);
        if (!foreseen(&watches[i]) && !(watches[i].flags & WIRE_REUSE_LOST) &&
            survival->all.trapped[age] > 0)
            amounts[i] +=
                survival->assumed[age] * claimed(&watches[i]) / survival->all.trapped[age];
    }
}

bool estimate_amounts(const struct estimate_use *uses, size_t uses_count, uint32_t first_use,
                      const struct estimate_watch *watches, size_t count, double *amounts,
                      double *own, double *never)
{
    struct survival *survival = calloc(1, sizeof *survival);
    struct estimate_life *lives = calloc(count + 1, sizeof *lives);
    double *scratch = calloc(count + 1, sizeof *scratch);
    bool good = survival && lives && scratch;
    if (good) {
        survival->lives = lives;
        survival->amounts = scratch;
    }
    for (size_t i = 0; i < count && good; i++) {
        struct estimate_life life = life_of(&watches[i]);
        if (foreseen(&watches[i]))
            continue;
        estimate_life_table_add(&survival->all, &life);
        if (watches[i].flags & WIRE_REUSE_OPEN)
            survival->open[estimate_age(life.waited)] += claimed(&watches[i]);
    }
    for (size_t use = 0, first = 0, end = 0; use < uses_count && good; use++, first = end) {
        while (end < count && watches[end].use == first_use + use)
            end++;
        if (!count) /* no arrays */
            share_context(survival, &uses[use], NULL, 0, NULL, NULL, &never[use]);
        else
            share_context(survival, &uses[use], watches + first, end - first, amounts + first,
                          own + first, &never[use]);
    }
    if (good)
        spread_assumed(survival, watches, count, amounts);
    free(survival);
    free(lives);
    free(scratch);
    return good;
}
