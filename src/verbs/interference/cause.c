// SPDX-License-Identifier: MIT
/*
 * Which cause the evidence supports. What kind of function a span is, comes first: nothing else is
 * as certain. For code of the program there is no more than whether the loss is in what it calls,
 * follows what it was given, or stands beside preemption; what remains has no reason that could be
 * seen from outside.
 */
#include "interference/scoring.h"

#include <math.h>

/* Of the loss. A few dozen samples put into groups leave a fifth of it within them even if it
   follows the value alone. */
static const double nearly_all = 0.7, most = 0.5, most_followed = 0.4;

/* |Spearman| of 24 samples above 0.7 by chance: less than one in ten thousand. */
static const double strong = 0.7;

static bool is_varying(const struct interference_score *score)
{
    const struct interference_relation *relation = &score->relation;
    return score->related &&
           ((relation->equal && relation->explained >= most) ||
            (fabs(relation->spearman) >= strong && relation->explained >= most_followed));
}

static enum interference_cause cause_of_code(const struct interference_input *input,
                                             const struct interference_score *score)
{
    if (score->own_ns <= (1 - nearly_all) * score->lost_ns)
        return INTERFERENCE_NESTED;
    if (is_varying(score))
        return INTERFERENCE_VARYING;
    if (input->switches && score->preempted_ns >= score->lost_ns)
        return INTERFERENCE_PREEMPTION;
    /* Asleep in what it calls, which has no score of its own; or in something that is not hooked: page
       faults, system calls of its own. */
    if (score->asleep_share >= most)
        return score->asleep_within_ns >= most * score->asleep_ns ? INTERFERENCE_NESTED
                                                                  : INTERFERENCE_UNKNOWN;
    /* A program with one thread shares nothing with itself. */
    return input->threads_count > 1 ? INTERFERENCE_SHARED : INTERFERENCE_UNKNOWN;
}

static enum interference_cause cause_of(const struct interference_input *input,
                                        const struct interference_span *span,
                                        const struct interference_score *score)
{
    if (span->flags & SPANS_SEQUENCE) {
        /* Whether it sleeps between its members is not recorded. */
        enum interference_cause cause = cause_of_code(input, score);
        return cause == INTERFERENCE_SHARED ? INTERFERENCE_UNKNOWN : cause;
    }
    switch (input->functions[span->function].class) {
    case SPANS_LOCK:
    case SPANS_UNLOCK: return INTERFERENCE_LOCK;
    case SPANS_CONDITION: return INTERFERENCE_CONDITION;
    case SPANS_BARRIER: return INTERFERENCE_IMBALANCE;
    case SPANS_IO: return is_varying(score) ? INTERFERENCE_VARYING : INTERFERENCE_IO;
    case SPANS_ALLOCATOR: return is_varying(score) ? INTERFERENCE_VARYING : INTERFERENCE_ALLOCATOR;
    }
    return cause_of_code(input, score);
}

/* Which threads suffer least and most, relative to their time. */
static void spread_threads(const struct interference_result *result,
                           const struct interference_span *span, struct interference_score *score)
{
    bool first = true;
    for (size_t i = 0; i < span->parts_count; i++) {
        const struct interference_part *part = &span->parts[i];
        double share = at_most(
            share_of(part->sum_ns * part_scale(part), result->threads[part->thread].working_ns), 1);
        if (first || share < score->least_share) {
            score->least_share = share;
            score->least_thread = part->thread;
        }
        if (first || share > score->most_share) {
            score->most_share = share;
            score->most_thread = part->thread;
        }
        first = false;
    }
}

bool find_cause(const struct interference_result *result, const struct interference_span *span,
                struct interference_score *score)
{
    const struct interference_input *input = result->input;
    spread_threads(result, span, score);
    score->asleep_share =
        input->switches ? at_most(share_of(score->asleep_ns, score->lost_ns), 1) : 0;
    double each = share_of(score->lost_ns, (double)score->count);
    if (!relate_samples(span, each, &score->related, &score->relation))
        return false;
    score->cause = score->lost_ns > 0 ? cause_of(input, span, score) : INTERFERENCE_UNKNOWN;
    return true;
}
