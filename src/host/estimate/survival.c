// SPDX-License-Identifier: MIT
/*
 * What traps stand for, from all watches of a context and a run (estimate.h).
 *
 * A watch that trapped or was lost at some age was watched at every younger one, too. What it
 * stands for grows with its age: 1 / chance in a reservoir grows by the same amount with each
 * sample offered, so it is taken as linear between arming and end. Of the age in which it was
 * lost it counts as watched for half, as in a life table; else all that are left at the oldest
 * age would seem to trap, and nothing never.
 */
#include "estimate/estimate.h"

#include <assert.h>

/* Smallest number of samples waited of an age. */
static double age_low(unsigned age)
{
    return age < 8 ? age : (double)(4 + age % 4) * (double)(UINT64_C(1) << (age / 4 - 1));
}

void estimate_life_table_add(struct estimate_life_table *ages, const struct estimate_life *watch)
{
    unsigned last = estimate_age(watch->waited);
    assert(watch->chance > 0 && watch->chance <= watch->entry && watch->entry <= 1);
    double first = 1 / (double)watch->entry, end = 1 / (double)watch->chance;
    for (unsigned age = 0; age < last; age++) {
        double share = age_low(age) / watch->waited;
        ages->watched[age]++;
        ages->waiting[age] += (double)watch->weight * (first + (end - first) * share);
    }
    double part = watch->trapped ? 1 : 0.5;
    ages->watched[last] += part;
    ages->waiting[last] += part * (double)watch->weight * end;
    if (watch->trapped)
        ages->trapped[last] += (double)watch->weight * end;
}

static double hazard(const struct estimate_life_table *ages, unsigned age)
{
    return ages->waiting[age] > 0 ? ages->trapped[age] / ages->waiting[age] : 0;
}

/* By age: what a trap stands for per weight / chance, and what has to be assumed. */
static void survive(const struct estimate_life_table *all, const struct estimate_life_table *own,
                    double sampled, double *scale, double *assumed)
{
    double left = sampled;
    for (unsigned age = 0; age < ESTIMATE_AGES; age++) {
        double trust = own->watched[age] / (own->watched[age] + 1);
        double seen = left * trust * hazard(own, age);
        scale[age] = own->trapped[age] > 0 ? seen / own->trapped[age] : 0;
        assumed[age] = left * (1 - trust) * hazard(all, age);
        left -= seen + assumed[age];
        left = left > 0 ? left : 0;
    }
}

static void share_out(const struct estimate_life *watches, size_t count, const double *assumed,
                      double *amounts)
{
    double sum = 0, samples = 0;
    for (unsigned age = 0; age < ESTIMATE_AGES; age++)
        sum += assumed[age];
    for (size_t i = 0; i < count; i++)
        samples += watches[i].trapped ? (double)watches[i].samples : 0;
    for (size_t i = 0; i < count && samples > 0; i++)
        amounts[i] += watches[i].trapped ? sum * (double)watches[i].samples / samples : 0;
}

void estimate_survival(const struct estimate_life_table *all, const struct estimate_life *watches,
                       size_t count, double sampled, double *amounts, double *assumed)
{
    struct estimate_life_table own = {0};
    double scale[ESTIMATE_AGES], by_age[ESTIMATE_AGES];
    for (size_t i = 0; i < count; i++)
        estimate_life_table_add(&own, &watches[i]);
    survive(all, &own, sampled, scale, assumed ? assumed : by_age);
    for (size_t i = 0; i < count; i++) {
        const struct estimate_life *watch = &watches[i];
        double claimed = (double)watch->weight / (double)watch->chance;
        amounts[i] = watch->trapped ? claimed * scale[estimate_age(watch->waited)] : 0;
    }
    if (!assumed)
        share_out(watches, count, by_age, amounts);
}
