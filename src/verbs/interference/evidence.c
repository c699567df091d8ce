// SPDX-License-Identifier: MIT
/* What speaks for a cause, in sentences. Names of functions and holders are the report's to add. */
#include "interference/scoring.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>

struct writer {
    char (*sentences)[INTERFERENCE_SENTENCE_BYTES];
    size_t room, count;
};

__attribute__((format(printf, 2, 3))) static void add(struct writer *writer, const char *format,
                                                      ...)
{
    va_list arguments;
    if (writer->count == writer->room)
        return;
    va_start(arguments, format);
    vsnprintf(writer->sentences[writer->count++], INTERFERENCE_SENTENCE_BYTES, format, arguments);
    va_end(arguments);
}

static double percent(double share)
{
    return 100 * share;
}

/* Asleep the kernel knows what for; on the CPU it spins, or the line of the lock is under way. */
static void add_sleep(const struct interference_result *result,
                      const struct interference_score *score, struct writer *writer,
                      const char *awake)
{
    if (!result->input->switches)
        add(writer,
            "Whether it slept or ran meanwhile is unknown: context switches were not recorded.");
    else if (score->asleep_share >= 0.95)
        add(writer, "The thread was asleep nearly all of that time.");
    else if (score->asleep_share < 0.05)
        add(writer, "The thread hardly ever slept: it %s.", awake);
    else
        add(writer, "The thread was asleep %.0f %% of that time; otherwise it %s.",
            percent(score->asleep_share), awake);
}

static void add_spread(const struct interference_score *score, struct writer *writer)
{
    if (score->threads < 2)
        return;
    if (score->most_share > 1.5 * score->least_share &&
        score->most_share - score->least_share > 0.02)
        add(writer,
            "Thread %" PRIu32 " spends %.0f %% of its time here, thread %" PRIu32
            " %.0f %%: the one that waits least has the most to do.",
            score->most_thread + 1, percent(score->most_share), score->least_thread + 1,
            percent(score->least_share));
    else
        add(writer,
            "All threads spend about the same share of their time here (%.0f to %.0f %%): which "
            "of them is late varies.",
            percent(score->least_share), percent(score->most_share));
}

static void add_preempted(const struct interference_result *result,
                          const struct interference_score *score, struct writer *writer)
{
    if (!result->input->switches || score->preempted_ns < 0.1 * score->lost_ns)
        return;
    add(writer,
        "It was preempted for %.1f %% of its threads' time as well, which is not counted here: "
        "more threads are ready than there are processors.",
        percent(share_of(score->preempted_ns, score->threads_ns)));
}

/* Who waits for a thread that is not running waits for the scheduler. */
static void add_oversubscribed(const struct interference_result *result, struct writer *writer)
{
    double share = share_of(result->preempted_ns, result->threads_ns);
    if (result->input->switches && share >= 0.1)
        add(writer,
            "Threads of the program were preempted %.0f %% of their time: the one that it waited "
            "for may have been among them.",
            percent(share));
}

static void add_relation(const struct interference_score *score, struct writer *writer)
{
    const struct interference_relation *relation = &score->relation;
    char value[32] = "the result", left[64];
    if (!score->related)
        return;
    if (relation->value != INTERFERENCE_RESULT)
        snprintf(value, sizeof value, "argument %" PRIu32, relation->value);
    snprintf(left, sizeof left, "%s explain %.0f %% of the loss",
             relation->equal ? "calls with different values" : "different values",
             percent(relation->explained));
    if (fabs(relation->spearman) >= 0.5)
        add(writer, "Its duration %s with %s (Spearman %+.2f over %" PRIu32 " samples); %s.",
            relation->spearman > 0 ? "grows" : "shrinks", value, relation->spearman,
            relation->samples, left);
    else if (relation->explained >= 0.25)
        add(writer, "Calls with the same value of %s take similar times: %s (%" PRIu32 " samples).",
            value, left, relation->samples);
}

static void add_nested(const struct interference_span *span, const struct interference_score *score,
                       struct writer *writer)
{
    if (score->lost_ns - score->own_ns < 0.1 * score->lost_ns)
        return;
    add(writer, "%.0f %% of it is lost in spans that it %s, which have scores of their own.",
        percent(share_of(score->lost_ns - score->own_ns, score->lost_ns)),
        span->flags & SPANS_SEQUENCE ? "consists of" : "calls");
}

const char interference_shared_sentence[] =
    "It runs slower at times, on the CPU: shared data (true or false sharing), "
    "memory bandwidth or varying work. Without hardware counters these are not distinguished.";

/* What of the loss was slept, and in what. */
static void add_code_sleep(const struct interference_result *result,
                           const struct interference_score *score, struct writer *writer)
{
    bool within = score->asleep_within_ns >= 0.5 * score->asleep_ns;
    if (score->asleep_share >= 0.05)
        add(writer, "The thread was asleep %.0f %% of that time, %s.", percent(score->asleep_share),
            within ? "in spans that it calls"
            : result->input->sampled
                ? "in calls that were not timed, or in nothing that is hooked"
                : "in nothing that is hooked: page faults or its own system calls");
}

static void add_code(const struct interference_result *result, const struct interference_span *span,
                     const struct interference_score *score, struct writer *writer)
{
    if (span->flags & SPANS_SEQUENCE) {
        if (score->cause == INTERFERENCE_UNKNOWN)
            add(writer,
                "Its spans, one after the other, take longer than each at its fastest: by what "
                "lies between them, or by varying work. Whether the thread slept between "
                "them is not recorded.");
        return;
    }
    add_code_sleep(result, score, writer);
    if (score->cause == INTERFERENCE_SHARED) {
        add(writer, "%s", interference_shared_sentence);
        if (!score->related && span->samples_count)
            add(writer, "Its duration depends on no sampled argument or result.");
    } else if (score->cause == INTERFERENCE_UNKNOWN && result->input->threads_count < 2) {
        add(writer, "The program had one thread, so no other thread of it is to blame: varying "
                    "work, caches, or other programs.");
    }
}

static void add_flags(const struct interference_span *span, struct writer *writer)
{
    if (span->flags & SPANS_REST)
        add(writer, "It has more keys and shapes than are kept apart: different work may be "
                    "compared here.");
}

size_t interference_evidence(const struct interference_result *result, uint32_t index,
                             char sentences[][INTERFERENCE_SENTENCE_BYTES], size_t room)
{
    const struct interference_span *span = &result->input->spans[index];
    const struct interference_score *score = &result->spans[index];
    struct writer writer = {sentences, room, 0};
    if (score->state != INTERFERENCE_SCORED || !(score->lost_ns > 0))
        return 0;
    switch (score->cause) {
    case INTERFERENCE_LOCK:
        add_sleep(result, score, &writer, "spun, or waited for the lock's cache line");
        if (score->given_ns >= 0.05 * score->lost_ns)
            add(&writer,
                "%.0f %% of it is from executions of its callers in which the lock itself was not "
                "timed: what they slept.",
                percent(share_of(score->given_ns, score->lost_ns)));
        add_oversubscribed(result, &writer);
        break;
    case INTERFERENCE_CONDITION:
        add_spread(score, &writer);
        add(&writer, "A thread that has nothing to do waits like that as well.");
        add_oversubscribed(result, &writer);
        break;
    case INTERFERENCE_IMBALANCE:
        add_spread(score, &writer);
        add_sleep(result, score, &writer, "spun");
        add_oversubscribed(result, &writer);
        break;
    case INTERFERENCE_IO:
        add_sleep(result, score, &writer, "was in the kernel, copying or taking its locks");
        add_relation(score, &writer);
        break;
    case INTERFERENCE_ALLOCATOR:
        add_sleep(result, score, &writer, "worked, or waited for cache lines of the allocator's");
        add_relation(score, &writer);
        break;
    case INTERFERENCE_VARYING: add_relation(score, &writer); break;
    case INTERFERENCE_PREEMPTION:
        add(&writer, "It is slow around preemptions: it comes back to cold caches, or waits for "
                     "threads that were preempted.");
        break;
    default:
        add_nested(span, score, &writer);
        add_code(result, span, score, &writer);
        add_relation(score, &writer);
    }
    add_preempted(result, score, &writer);
    add_flags(span, &writer);
    return writer.count;
}
