// SPDX-License-Identifier: MIT
/*
 * Where executions are skipped, a timed function seldom has the lock that it takes timed in the same execution: what it waits for that lock
 * is then part of its own loss, although the kernel's account says that it slept, and it sleeps in nothing but what it calls.
 * Of that sleep each callee has as large a part as it has of what the callees slept where they were timed, and
 * the locks' part becomes theirs. Sums over all spans stay as they are.
 */
#include "interference/scoring.h"

static bool is_called_by(const struct interference_span *span, uint32_t function)
{
    for (size_t i = 0; i < span->callers_count; i++)
        if (span->callers[i] == function)
            return true;
    return false;
}

static bool may_have_slept(const struct interference_input *input,
                           const struct interference_span *span,
                           const struct interference_span *caller)
{
    return span != caller && !(span->flags & SPANS_SEQUENCE) &&
           span->function < input->functions_count && is_called_by(span, caller->function);
}

static double slept_by_callees(const struct interference_result *result,
                               const struct interference_span *caller)
{
    const struct interference_input *input = result->input;
    double slept = 0;
    for (size_t i = 0; i < input->spans_count; i++)
        if (may_have_slept(input, &input->spans[i], caller))
            slept += result->spans[i].asleep_ns - result->spans[i].given_ns;
    return slept;
}

static void give(struct interference_score *from, struct interference_score *to, double slept)
{
    double given = at_least(at_most(slept, to->working_ns - to->lost_ns), 0);
    from->own_ns -= given;
    from->asleep_within_ns += given;
    to->given_ns += given;
    to->total_ns += given;
    to->asleep_ns += given;
    to->lost_ns += given;
    to->own_ns += given;
    to->lost_p1_ns += given;
    to->sci = at_most(share_of(to->lost_ns, to->working_ns), 1);
    to->sci_p1 = at_most(share_of(to->lost_p1_ns, to->working_ns), 1);
}

static void give_of_span(struct interference_result *result, size_t index)
{
    const struct interference_input *input = result->input;
    const struct interference_span *caller = &input->spans[index];
    struct interference_score *score = &result->spans[index];
    double slept = at_most(score->own_ns, score->asleep_ns - score->asleep_within_ns);
    double all = slept > 0 ? slept_by_callees(result, caller) : 0;
    for (size_t i = 0; all > 0 && i < input->spans_count; i++) {
        const struct interference_span *span = &input->spans[i];
        struct interference_score *lock = &result->spans[i];
        if (may_have_slept(input, span, caller) && lock->state == INTERFERENCE_SCORED &&
            input->functions[span->function].class == SPANS_LOCK)
            give(score, lock, slept * (lock->asleep_ns - lock->given_ns) / all);
    }
}

void give_waits_to_locks(struct interference_result *result)
{
    const struct interference_input *input = result->input;
    for (size_t i = 0; input->sampled && input->switches && i < input->spans_count; i++)
        if (result->spans[i].state == INTERFERENCE_SCORED &&
            !(input->spans[i].flags & SPANS_SEQUENCE) &&
            input->functions[input->spans[i].function].class == SPANS_CODE)
            give_of_span(result, i);
}
