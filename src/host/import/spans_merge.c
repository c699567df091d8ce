// SPDX-License-Identifier: MIT
/*
 * Adds spans up over threads and processes by (function, key, shape, kind). A thread that was
 * killed in mid-update leaves a span that is one execution out of step, which is put right; what
 * cannot be is left out.
 */
#include "import/spans.h"

#include <stdlib.h>
#include <string.h>

static const uint64_t most_executions = UINT64_C(1) << 48;
static const uint64_t longest_ticks = UINT64_C(1)
                                      << 53; /* a month, with 4 GHz; 1024 of them can be added up */

enum { KIND = SPANS_REST | SPANS_SEQUENCE, WEIGHT_MAX = 1 << 30 };

/* ---- sense ----------------------------------------------------------------------------------- */

static bool is_sane(const struct spans_import *import, const struct spans_span *span)
{
    bool sequence = span->flags & SPANS_SEQUENCE;
    if (sequence ? span->function != 0 : !spans_function_ok(import, span->function))
        return false;
    return span->flags <= (SPANS_REST | SPANS_SEQUENCE | SPANS_CHILDREN_CUT) &&
           span->skipped <= most_executions && span->recorded <= most_executions &&
           span->sum <= longest_ticks && span->max <= longest_ticks &&
           span->within <= longest_ticks && span->preempted <= longest_ticks &&
           span->asleep <= longest_ticks && span->asleep_within <= longest_ticks &&
           span->preemptions <= most_executions && span->sleeps <= most_executions;
}

/* Of a function that was timed until it turned out to be executed too often: listed with the
   reason, and what was timed would stand for all of the run. */
static bool is_unhooked(const struct spans_import *import, uint32_t function)
{
    return spans_function_ok(import, function) &&
           import->region->function[function].often == SPANS_OFTEN_UNHOOKED;
}

static bool is_part_of_run(const struct spans_import *import, const struct spans_span *span)
{
    bool part = is_unhooked(import, span->function);
    for (uint32_t i = 0; i < span->children_count && i < SPANS_CHILDREN; i++)
        part |= (span->flags & SPANS_SEQUENCE) && is_unhooked(import, span->children[i].function);
    return part;
}

static uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* Sums are never less than what the minimum says, parts never more than the whole. */
static void make_consistent(struct spans_span *span)
{
    if (span->recorded == 0)
        span->sum = span->min = span->max = span->within = 0;
    uint64_t executions = span->recorded + span->skipped;
    if (span->recorded && span->min == UINT64_MAX) /* all were preempted */
        span->min = span->sum / executions;
    if (span->min > span->max)
        span->max = span->min;
    if (span->recorded && span->min > span->sum / executions)
        span->min = span->sum / executions;
    span->within = least(span->within, span->sum);
    span->asleep = least(span->asleep, span->sum);
    span->asleep_within = least(least(span->asleep_within, span->asleep), span->within);
    span->children_count = (uint32_t)least(span->children_count, SPANS_CHILDREN);
    span->stacks_count = (uint32_t)least(span->stacks_count, SPANS_STACKS);
    span->samples_count = (uint32_t)least(span->samples_count, SPANS_SAMPLES);
    if (span->flags & SPANS_REST)
        span->key = span->shape = span->children_count = 0;
}

/* ---- one of all ------------------------------------------------------------------------------ */

static bool equal_span(const void *items, uint32_t item, const void *key)
{
    const struct spans_merged *merged = &((const struct spans_merged *)items)[item];
    const struct spans_span *wanted = key;
    return merged->function == wanted->function && merged->key == wanted->key &&
           merged->shape == wanted->shape && (merged->flags & KIND) == (wanted->flags & KIND);
}

static bool find_merged(struct spans_import *import, const struct spans_span *span, uint32_t *item)
{
    bool found;
    uint64_t hash =
        import_hash(span->key, span->shape, (uint64_t)span->function << 8 | (span->flags & KIND));
    if (!UTIL_GROW_ZEROED(import->spans, import->spans_capacity, import->spans_count) ||
        !util_index_enter(&import->by_key, hash, equal_span, import->spans, span,
                          (uint32_t)import->spans_count, item, &found))
        return false;
    if (found)
        return true;
    import->spans[import->spans_count++] = (struct spans_merged){
        .function = span->function,
        .flags = span->flags,
        .key = span->key,
        .shape = span->shape,
        .first = UINT64_MAX,
    };
    return true;
}

/* The children are those that the shape is a hash of: the same in all threads. */
static void take_children(const struct spans_import *import, struct spans_merged *merged,
                          const struct spans_span *span)
{
    if (merged->children_count)
        return;
    for (uint32_t i = 0; i < span->children_count; i++)
        if (spans_function_ok(import, span->children[i].function))
            merged->children[merged->children_count++] = span->children[i];
}

/* Profiles have sums of what was recorded, here they stand for all. */
static uint64_t of_recorded(const struct spans_span *span, uint64_t sum)
{
    if (!span->skipped)
        return sum;
    return (uint64_t)((double)sum * (double)span->recorded /
                      (double)(span->recorded + span->skipped));
}

static bool add_part(struct spans_import *import, uint32_t item, uint32_t thread,
                     const struct spans_span *span)
{
    struct spans_merged *merged = &import->spans[item];
    if (!UTIL_GROW_ZEROED(import->parts, import->parts_capacity, import->parts_count))
        return false;
    if (!merged->latest_part || import->parts[merged->latest_part - 1].thread != thread) {
        import->parts[import->parts_count++] =
            (struct spans_part){.span = item, .thread = thread, .min = UINT64_MAX};
        merged->latest_part = (uint32_t)import->parts_count;
    }
    struct spans_part *part = &import->parts[merged->latest_part - 1];
    part->count += span->recorded + span->skipped;
    part->recorded += span->recorded;
    part->sum += of_recorded(span, span->sum);
    part->within += of_recorded(span, span->within);
    part->preempted += span->preempted;
    part->asleep += of_recorded(span, span->asleep);
    part->asleep_within += of_recorded(span, span->asleep_within);
    if (span->recorded && part->min > span->min)
        part->min = span->min;
    return true;
}

/* ---- what stands beside ---------------------------------------------------------------------- */

static bool add_stacks(struct spans_import *import, uint32_t item, uint32_t process,
                       uint32_t thread, const struct spans_span *span)
{
    for (uint32_t i = 0; i < span->stacks_count; i++) {
        const struct spans_stack *stack = &span->stacks[i];
        if (stack->node == 0 || stack->taken == 0)
            continue;
        if (stack->taken > most_executions || stack->lost > longest_ticks) {
            import->damaged++;
            continue;
        }
        if (!UTIL_GROW_ZEROED(import->stacks, import->stacks_capacity, import->stacks_count))
            return false;
        import->stacks[import->stacks_count++] = (struct spans_stack_row){
            .span = item,
            .process = process,
            .thread = stack->thread,
            .node = stack->node,
            .taken = stack->taken,
            .lost = stack->lost,
        };
        if (!import->owners[thread].log_thread)
            import->owners[thread].log_thread = stack->thread;
    }
    return true;
}

static bool add_holders(struct spans_import *import, uint32_t item, uint32_t process,
                        const struct spans_span *span)
{
    for (uint32_t i = 0; i < SPANS_HOLDERS; i++) {
        const struct spans_holder *holder = &span->holders[i];
        if (holder->times == 0)
            continue;
        if (holder->times > most_executions || holder->ticks > longest_ticks) {
            import->damaged++;
            continue;
        }
        if (!UTIL_GROW_ZEROED(import->holders, import->holders_capacity, import->holders_count))
            return false;
        import->holders[import->holders_count++] = (struct spans_holder_row){
            .span = item,
            .process = process,
            .place = UINT32_MAX,
            .address = holder->place,
            .times = holder->times,
            .ticks = holder->ticks,
        };
    }
    return true;
}

static bool add_samples(struct spans_import *import, uint32_t item, const struct spans_span *span)
{
    uint32_t weight = span->sample_stride == 0           ? 1
                      : span->sample_stride > WEIGHT_MAX ? WEIGHT_MAX
                                                         : span->sample_stride;
    for (uint32_t i = 0; i < span->samples_count; i++) {
        if (span->samples[i].ticks > longest_ticks) {
            import->damaged++;
            continue;
        }
        if (!UTIL_GROW_ZEROED(import->samples, import->samples_capacity, import->samples_count))
            return false;
        import->samples[import->samples_count++] =
            (struct spans_sample_row){item, weight, span->samples[i]};
    }
    return true;
}

static void add_times(struct spans_import *import, struct spans_merged *merged, uint32_t thread,
                      const struct spans_span *span)
{
    merged->flags |= span->flags;
    merged->max = merged->max > span->max ? merged->max : span->max;
    merged->preemptions += span->preemptions;
    merged->sleeps += span->sleeps;
    if (span->first && span->first < merged->first)
        merged->first = span->first;
    if (span->last > merged->last)
        merged->last = span->last;
    if (span->last > import->owners[thread].latest)
        import->owners[thread].latest = span->last;
    for (unsigned i = 0; i < SPANS_BINS; i++)
        merged->bins[i] += span->bins[i];
}

bool spans_merge(struct spans_import *import, uint32_t process, uint32_t thread,
                 struct spans_span *span)
{
    uint32_t item;
    if (span->skipped == 0 && span->recorded == 0)
        return true;
    if (is_part_of_run(import, span))
        return true;
    if (!is_sane(import, span)) {
        import->damaged++;
        return true;
    }
    make_consistent(span);
    if (!find_merged(import, span, &item) || !add_part(import, item, thread, span))
        return false;
    take_children(import, &import->spans[item], span);
    add_times(import, &import->spans[item], thread, span);
    return add_stacks(import, item, process, thread, span) &&
           add_holders(import, item, process, span) && add_samples(import, item, span);
}
