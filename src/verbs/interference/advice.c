// SPDX-License-Identifier: MIT
/*
 * What is usually done about a cause. Only locks and barriers show what is waited for; nothing is
 * known of what the program waits for elsewhere, or why its own code is slower at times.
 */
#include "interference/internal.h"

static const struct advice lock = {
    .id = "interference.lock",
    .text = "Hold the lock for a shorter time, or give data that are used independently locks of "
            "their own.",
};

static const struct advice imbalance = {
    .id = "interference.imbalance",
    .text = "Divide the work between the barriers more evenly, or into more parts that threads "
            "take as they become free.",
};

static const struct advice *usual(enum interference_cause cause)
{
    switch (cause) {
    case INTERFERENCE_LOCK: return &lock;
    case INTERFERENCE_IMBALANCE: return &imbalance;
    default: return NULL;
    }
}

struct advice interference_usual(enum interference_cause cause)
{
    const struct advice *found = usual(cause);
    struct advice advice = found ? *found : (struct advice){0};
    advice.evidence = ADVICE_STRONG;
    return advice;
}

struct advice interference_advice(const struct interference_figures *figures, uint32_t span)
{
    const struct interference_score *score = &figures->result->spans[span];
    const struct advice *found = score->lost_ns > 0 ? usual(score->cause) : NULL;
    struct advice advice = found ? *found : (struct advice){0};
    /* One in `every` executions is timed, and all of those count. */
    advice.evidence = score->state == INTERFERENCE_SCORED ? ADVICE_STRONG : ADVICE_WEAK;
    return advice;
}
