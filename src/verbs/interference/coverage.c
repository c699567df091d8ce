// SPDX-License-Identifier: MIT
/*
 * What scores are shares of, and what has none: working times of threads, and how much of their CPU
 * time lies in spans that can be judged.
 */
#include "interference/scoring.h"

static bool is_idle(const struct interference_input *input, const struct interference_span *span)
{
    return !(span->flags & SPANS_SEQUENCE) && input->functions[span->function].class == SPANS_IDLE;
}

/* ---- working times --------------------------------------------------------------------------- */

/*
 * What a thread slept in, and has not come back from, was noted by nobody: the kernel's notes are read
 * when something that is hooked begins or ends. It is what is left of its duration.
 */
static double unseen_sleep(const struct interference_input *input,
                           const struct interference_thread *thread)
{
    if (!input->switches || thread->switches_lost || thread->cpu_ns <= 0)
        return 0;
    return at_least(thread->duration_ns - thread->cpu_ns - thread->preempted_ns - thread->asleep_ns,
                    0);
}

void working_times(struct interference_result *result)
{
    const struct interference_input *input = result->input;
    for (size_t t = 0; t < input->threads_count; t++) {
        const struct interference_thread *thread = &input->threads[t];
        result->threads[t].working_ns = thread->duration_ns -
                                        at_most(thread->preempted_ns, thread->duration_ns) -
                                        unseen_sleep(input, thread);
    }
    for (size_t i = 0; i < input->spans_count; i++) {
        const struct interference_span *span = &input->spans[i];
        for (size_t p = 0; p < span->parts_count && is_idle(input, span); p++)
            result->threads[span->parts[p].thread].working_ns -=
                part_scale(&span->parts[p]) *
                at_least(span->parts[p].sum_ns - span->parts[p].within_ns, 0);
    }
    for (size_t t = 0; t < input->threads_count; t++) {
        const struct interference_thread *thread = &input->threads[t];
        double least = at_most(at_least(thread->cpu_ns, 0), thread->duration_ns);
        result->threads[t].working_ns = at_least(result->threads[t].working_ns, least);
    }
}

void fit_times(struct interference_result *result)
{
    const struct interference_input *input = result->input;
    for (size_t t = 0; t < input->threads_count; t++)
        result->threads[t].fit = 0;
    for (size_t i = 0; i < input->spans_count; i++) {
        const struct interference_span *span = &input->spans[i];
        bool counts = !(span->flags & SPANS_SEQUENCE) && !is_idle(input, span);
        for (size_t p = 0; p < span->parts_count && counts; p++)
            result->threads[span->parts[p].thread].fit += part_self(&span->parts[p]);
    }
    for (size_t t = 0; t < input->threads_count; t++) {
        struct interference_thread_score *thread = &result->threads[t];
        double sum = thread->fit;
        thread->fit = input->sampled && sum > thread->working_ns ? thread->working_ns / sum : 1;
    }
}

/* ---- what can be judged ---------------------------------------------------------------------- */

double part_self(const struct interference_part *part)
{
    return part_scale(part) * at_least(part->sum_ns - part->within_ns, 0);
}

/* On the processor, in no span that it calls. */
static double self_cpu(const struct interference_part *part)
{
    double asleep = at_least(part->asleep_ns - part->asleep_within_ns, 0);
    return at_least(part_self(part) - part_scale(part) * asleep, 0);
}

/* few_within: of the time in spans that it calls, the share of those that have no score. Their time is judged with
   it. */
static void add_span(struct interference_result *result, const struct interference_span *span,
                     const struct interference_score *score, double few_within)
{
    for (size_t p = 0; p < span->parts_count; p++) {
        const struct interference_part *part = &span->parts[p];
        struct interference_thread_score *thread = &result->threads[part->thread];
        double cpu = self_cpu(part);
        double within =
            part_scale(part) * at_least(part->within_ns - part->asleep_within_ns, 0) * few_within;
        if (score->state == INTERFERENCE_FEW) {
            thread->few_ns += cpu;
        } else {
            thread->judged_ns += cpu + within;
            thread->few_ns -= within;
        }
    }
}

void judged_times(struct interference_result *result, const double *few_within)
{
    const struct interference_input *input = result->input;
    for (size_t i = 0; i < input->spans_count; i++)
        if (!(input->spans[i].flags & SPANS_SEQUENCE))
            add_span(result, &input->spans[i], &result->spans[i], few_within[i]);
    for (size_t t = 0; t < input->threads_count; t++) {
        struct interference_thread_score *thread = &result->threads[t];
        double cpu = at_least(input->threads[t].cpu_ns, 0);
        /* Estimates, of sums that were sampled: none is more than there is. */
        thread->judged_ns = at_most(thread->judged_ns, cpu);
        thread->few_ns = at_most(at_least(thread->few_ns, 0), cpu - thread->judged_ns);
        thread->untimed_ns = cpu - thread->judged_ns - thread->few_ns;
        result->cpu_ns += cpu;
        result->judged_ns += thread->judged_ns;
        result->few_ns += thread->few_ns;
        result->untimed_ns += thread->untimed_ns;
    }
}
