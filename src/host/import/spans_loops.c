// SPDX-License-Identifier: MIT
/*
 * What samples say of loops becomes spans of the threads that they were taken of. Samples are taken part of the
 * time, so a window stands for more: for as much as makes the loop's share of the thread's samples the same share of its CPU
 * time.
 */
#include "import/spans.h"

#include <stdlib.h>
#include <string.h>

enum {
    WINDOWS_LEAST = 8, /* with fewer even the fastest may have been disturbed */
    /* Pairs of samples for one across executions of the loop, at least: these then last 50 ms or
       longer. Some that are as long as the time between two samples look as if they went on slowly,
       but for one pair in dozens. */
    FORWARD_LEAST = 200,
    JUDGED = 1000, /* executions of its function, timed: then these say more */
};

/* Of the process's threads the one that had the number last. UINT32_MAX: none. */
static uint32_t find_owner(const struct spans_import *import, const struct spans_sampled *thread)
{
    for (size_t i = import->profile->span_threads_count; i-- > 0;)
        if (import->owners[i].process == thread->process && import->owners[i].tid == thread->tid)
            return (uint32_t)i;
    return UINT32_MAX;
}

/* The function that the loop is in was timed itself. */
static bool is_judged_otherwise(const struct spans_import *import, uint32_t number)
{
    const struct spans_function *loop = &import->region->function[number];
    uint64_t executions = 0;
    for (size_t i = 0; i < import->spans_count; i++) {
        const struct spans_function *function =
            &import->region->function[import->spans[i].function];
        if (import->spans[i].flags & SPANS_SEQUENCE || function->entry == SPANS_LOOP ||
            function->inode != loop->inode || function->device != loop->device ||
            strcmp(function->name, loop->name) != 0)
            continue;
        for (unsigned bin = 0; bin < SPANS_BINS; bin++)
            executions += import->spans[i].bins[bin];
    }
    return executions >= JUDGED;
}

static bool is_sound(const struct spans_import *import, const struct spans_loop *loop)
{
    const struct spans_span *span = &loop->span;
    return loop->thread < SPANS_SAMPLED_THREADS && spans_function_ok(import, span->function) &&
           import->region->function[span->function].entry == SPANS_LOOP && span->flags == 0 &&
           span->key == 0 && span->shape == 0;
}

/* How much of the thread's CPU time one nanosecond in windows stands for, at least 1. */
static double scale_of(const struct spans_import *import, const struct spans_loop *loop,
                       const struct spans_sampled *thread, const struct spans_owner *owner)
{
    double windows_ns = (double)loop->span.sum * import->ns_per_tick;
    if (!(windows_ns > 0) || thread->ns == 0 || loop->ns > thread->ns)
        return 1;
    double in_loop_ns = (double)owner->cpu_ns * (double)loop->ns / (double)thread->ns;
    return in_loop_ns > windows_ns ? in_loop_ns / windows_ns : 1;
}

/* What does not fit becomes so much that spans_merge rejects it. */
static uint64_t scaled(uint64_t value, double scale)
{
    double product = (double)value * scale;
    return product < 0x1p63 ? (uint64_t)product : UINT64_MAX;
}

static void stretch(struct spans_span *span, double scale)
{
    span->sum = scaled(span->sum, scale);
    span->skipped = scaled(span->recorded, scale - 1);
    for (unsigned bin = 0; bin < SPANS_BINS; bin++) {
        double count = (double)span->bins[bin] * scale;
        span->bins[bin] = count < UINT32_MAX ? (uint32_t)(count + 0.5) : UINT32_MAX;
    }
}

static bool take_loop(struct spans_import *import, struct spans_loop *loop,
                      const struct spans_sampled *threads)
{
    if (!is_sound(import, loop)) {
        import->damaged++;
        return true;
    }
    const struct spans_sampled *thread = &threads[loop->thread];
    uint32_t owner = find_owner(import, thread);
    if (owner == UINT32_MAX || loop->windows < WINDOWS_LEAST ||
        (loop->backward > 1 && loop->backward > loop->forward / FORWARD_LEAST) ||
        is_judged_otherwise(import, loop->span.function))
        return true;
    stretch(&loop->span, scale_of(import, loop, thread, &import->owners[owner]));
    return spans_merge(import, thread->process, owner, &loop->span);
}

bool spans_loops_read(struct spans_import *import, uint64_t offset)
{
    uint32_t counts[2] = {0, 0}; /* threads, loops */
    _Static_assert(offsetof(struct spans_loops, loops) - offsetof(struct spans_loops, threads) == 4,
                   "read as one");
    struct spans_sampled *threads = calloc(SPANS_SAMPLED_THREADS, sizeof *threads);
    struct spans_loop *loop = calloc(1, sizeof *loop);
    bool good = threads && loop;
    if (good &&
        instrumented_source_read(&import->source, offset + offsetof(struct spans_loops, threads),
                                 counts, sizeof counts) &&
        instrumented_source_read(&import->source, offset + offsetof(struct spans_loops, sampled),
                                 threads, SPANS_SAMPLED_THREADS * sizeof *threads))
        for (uint32_t i = 0; good && i < counts[1] && i < SPANS_LOOPS; i++) {
            uint64_t at = offset + offsetof(struct spans_loops, loop) + i * sizeof *loop;
            if (!instrumented_source_read(&import->source, at, loop, sizeof *loop))
                break;
            good = take_loop(import, loop, threads);
        }
    free(threads);
    free(loop);
    return good;
}
