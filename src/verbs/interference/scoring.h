// SPDX-License-Identifier: MIT
/*
 * Between the files that score: scores (score.c), what samples show (samples.c), which
 * cause (cause.c), in words (evidence.c).
 */
#ifndef HEADROOM_INTERFERENCE_SCORING_H
#define HEADROOM_INTERFERENCE_SCORING_H

#include "interference/score.h"

/* part / whole, 0 if there is no whole. */
static inline double share_of(double part, double whole)
{
    return whole > 0 ? part / whole : 0;
}

static inline double at_most(double value, double most)
{
    return value < most ? value : most;
}

static inline double at_least(double value, double least)
{
    return value > least ? value : least;
}

/* What stands for one recorded execution of the part. */
static inline double part_scale(const struct interference_part *part)
{
    return share_of((double)part->count, (double)part->recorded);
}

/*
 * The value by which samples explain most of a loss of loss_ns an execution (the span's, so that
 * samples that missed its slow executions explain little). *related false: too few samples, or none
 * goes along. False: no memory.
 */
bool relate_samples(const struct interference_span *span, double loss_ns, bool *related,
                    struct interference_relation *relation);

/* Of all executions of the part, scaled: in no span that was called. */
double part_self(const struct interference_part *part);

/* Fills in the threads' working times. */
void working_times(struct interference_result *result);

/* Fills in `fit`; working times are known. */
void fit_times(struct interference_result *result);

/* Fills in what of the threads' CPU time has a score. few_within: by span, of the time in spans that it calls the share of
   those without a score. */
void judged_times(struct interference_result *result, const double *few_within);

/* What functions slept in locks that were not timed meanwhile becomes those locks' loss: own_ns are known. */
void give_waits_to_locks(struct interference_result *result);

/* Fills in cause and evidence of a scored span. False: no memory. */
bool find_cause(const struct interference_result *result, const struct interference_span *span,
                struct interference_score *score);

#endif
