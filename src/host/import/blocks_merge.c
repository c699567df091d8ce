// SPDX-License-Identifier: MIT
/*
 * Adds blocks up over threads and processes by (function, key, shape, kind). A thread that was
 * killed in mid-update leaves a block that is one execution out of step, which is put right; what
 * cannot be is left out.
 */
#include "import/blocks.h"

#include <stdlib.h>
#include <string.h>

static const uint64_t most_executions = UINT64_C(1) << 48;
static const uint64_t longest_ticks = UINT64_C(1)
                                      << 53; /* a month, with 4 GHz; 1024 of them can be added up */

enum { KIND = BLOCKS_REST | BLOCKS_SEQUENCE, MOST_WEIGHT = 1 << 30 };

/* ---- sense ----------------------------------------------------------------------------------- */

static bool is_sane(const struct blocks_import *import, const struct blocks_block *block)
{
    bool sequence = block->flags & BLOCKS_SEQUENCE;
    if (sequence ? block->function != 0 : !blocks_function_ok(import, block->function))
        return false;
    return block->flags <= (BLOCKS_REST | BLOCKS_SEQUENCE | BLOCKS_CHILDREN_CUT) &&
           block->skipped <= most_executions && block->recorded <= most_executions &&
           block->sum <= longest_ticks && block->max <= longest_ticks &&
           block->within <= longest_ticks && block->preempted <= longest_ticks &&
           block->asleep <= longest_ticks && block->preemptions <= most_executions &&
           block->sleeps <= most_executions;
}

/* Of a function that was timed until it turned out to be executed too often: listed with the
   reason, and what was timed would stand for all of the run. */
static bool is_unhooked(const struct blocks_import *import, uint32_t function)
{
    return blocks_function_ok(import, function) &&
           import->region->function[function].often == BLOCKS_OFTEN_UNHOOKED;
}

static bool is_part_of_run(const struct blocks_import *import, const struct blocks_block *block)
{
    bool part = is_unhooked(import, block->function);
    for (uint32_t i = 0; i < block->children_count && i < BLOCKS_CHILDREN; i++)
        part |=
            (block->flags & BLOCKS_SEQUENCE) && is_unhooked(import, block->children[i].function);
    return part;
}

static uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* Sums are never less than what the minimum says, parts never more than the whole. */
static void make_consistent(struct blocks_block *block)
{
    if (block->recorded == 0)
        block->sum = block->min = block->max = block->within = 0;
    if (block->min > block->max)
        block->max = block->min;
    uint64_t executions = block->recorded + block->skipped;
    if (block->recorded && block->min > block->sum / executions)
        block->min = block->sum / executions;
    block->within = least(block->within, block->sum);
    block->asleep = least(block->asleep, block->sum);
    block->children_count = (uint32_t)least(block->children_count, BLOCKS_CHILDREN);
    block->stacks_count = (uint32_t)least(block->stacks_count, BLOCKS_STACKS);
    block->samples_count = (uint32_t)least(block->samples_count, BLOCKS_SAMPLES);
    if (block->flags & BLOCKS_REST)
        block->key = block->shape = block->children_count = 0;
}

/* ---- one of all ------------------------------------------------------------------------------ */

static bool equal_block(const void *items, uint32_t item, const void *key)
{
    const struct blocks_merged *merged = &((const struct blocks_merged *)items)[item];
    const struct blocks_block *wanted = key;
    return merged->function == wanted->function && merged->key == wanted->key &&
           merged->shape == wanted->shape && (merged->flags & KIND) == (wanted->flags & KIND);
}

static bool find_merged(struct blocks_import *import, const struct blocks_block *block,
                        uint32_t *item)
{
    bool found;
    uint64_t hash = import_hash(block->key, block->shape,
                                (uint64_t)block->function << 8 | (block->flags & KIND));
    if (!UTIL_GROW_ZEROED(import->blocks, import->blocks_capacity, import->blocks_count) ||
        !util_index_enter(&import->by_key, hash, equal_block, import->blocks, block,
                          (uint32_t)import->blocks_count, item, &found))
        return false;
    if (found)
        return true;
    import->blocks[import->blocks_count++] = (struct blocks_merged){
        .function = block->function,
        .flags = block->flags,
        .key = block->key,
        .shape = block->shape,
        .first = UINT64_MAX,
    };
    return true;
}

/* The children are those that the shape is a hash of: the same in all threads. */
static void take_children(const struct blocks_import *import, struct blocks_merged *merged,
                          const struct blocks_block *block)
{
    if (merged->children_count)
        return;
    for (uint32_t i = 0; i < block->children_count; i++)
        if (blocks_function_ok(import, block->children[i].function))
            merged->children[merged->children_count++] = block->children[i];
}

/* Profiles have sums of what was recorded, here they stand for all. */
static uint64_t of_recorded(const struct blocks_block *block, uint64_t sum)
{
    if (!block->skipped)
        return sum;
    return (uint64_t)((double)sum * (double)block->recorded /
                      (double)(block->recorded + block->skipped));
}

static bool add_part(struct blocks_import *import, uint32_t item, uint32_t thread,
                     const struct blocks_block *block)
{
    struct blocks_merged *merged = &import->blocks[item];
    if (!UTIL_GROW_ZEROED(import->parts, import->parts_capacity, import->parts_count))
        return false;
    if (!merged->latest_part || import->parts[merged->latest_part - 1].thread != thread) {
        import->parts[import->parts_count++] =
            (struct blocks_part){.block = item, .thread = thread, .min = UINT64_MAX};
        merged->latest_part = (uint32_t)import->parts_count;
    }
    struct blocks_part *part = &import->parts[merged->latest_part - 1];
    part->count += block->recorded + block->skipped;
    part->recorded += block->recorded;
    part->sum += of_recorded(block, block->sum);
    part->within += of_recorded(block, block->within);
    part->preempted += block->preempted;
    part->asleep += of_recorded(block, block->asleep);
    if (block->recorded && part->min > block->min)
        part->min = block->min;
    return true;
}

/* ---- what stands beside ---------------------------------------------------------------------- */

static bool add_stacks(struct blocks_import *import, uint32_t item, uint32_t process,
                       uint32_t thread, const struct blocks_block *block)
{
    for (uint32_t i = 0; i < block->stacks_count; i++) {
        const struct blocks_stack *stack = &block->stacks[i];
        if (stack->node == 0 || stack->taken == 0)
            continue;
        if (stack->taken > most_executions || stack->lost > longest_ticks) {
            import->damaged++;
            continue;
        }
        if (!UTIL_GROW_ZEROED(import->stacks, import->stacks_capacity, import->stacks_count))
            return false;
        import->stacks[import->stacks_count++] = (struct blocks_stack_row){
            .block = item,
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

static bool add_holders(struct blocks_import *import, uint32_t item, uint32_t process,
                        const struct blocks_block *block)
{
    for (uint32_t i = 0; i < BLOCKS_HOLDERS; i++) {
        const struct blocks_holder *holder = &block->holders[i];
        if (holder->times == 0)
            continue;
        if (holder->times > most_executions || holder->ticks > longest_ticks) {
            import->damaged++;
            continue;
        }
        if (!UTIL_GROW_ZEROED(import->holders, import->holders_capacity, import->holders_count))
            return false;
        import->holders[import->holders_count++] = (struct blocks_holder_row){
            .block = item,
            .process = process,
            .place = UINT32_MAX,
            .address = holder->place,
            .times = holder->times,
            .ticks = holder->ticks,
        };
    }
    return true;
}

static bool add_samples(struct blocks_import *import, uint32_t item,
                        const struct blocks_block *block)
{
    uint32_t weight = block->sample_stride == 0            ? 1
                      : block->sample_stride > MOST_WEIGHT ? MOST_WEIGHT
                                                           : block->sample_stride;
    for (uint32_t i = 0; i < block->samples_count; i++) {
        if (block->samples[i].ticks > longest_ticks) {
            import->damaged++;
            continue;
        }
        if (!UTIL_GROW_ZEROED(import->samples, import->samples_capacity, import->samples_count))
            return false;
        import->samples[import->samples_count++] =
            (struct blocks_sample_row){item, weight, block->samples[i]};
    }
    return true;
}

static void add_times(struct blocks_import *import, struct blocks_merged *merged, uint32_t thread,
                      const struct blocks_block *block)
{
    merged->flags |= block->flags;
    merged->max = merged->max > block->max ? merged->max : block->max;
    merged->preemptions += block->preemptions;
    merged->sleeps += block->sleeps;
    if (block->first && block->first < merged->first)
        merged->first = block->first;
    if (block->last > merged->last)
        merged->last = block->last;
    if (block->last > import->owners[thread].latest)
        import->owners[thread].latest = block->last;
    for (unsigned i = 0; i < BLOCKS_BINS; i++)
        merged->bins[i] += block->bins[i];
}

bool blocks_merge(struct blocks_import *import, uint32_t process, uint32_t thread,
                  struct blocks_block *block)
{
    uint32_t item;
    if (block->skipped == 0 && block->recorded == 0)
        return true;
    if (is_part_of_run(import, block))
        return true;
    if (!is_sane(import, block)) {
        import->damaged++;
        return true;
    }
    make_consistent(block);
    if (!find_merged(import, block, &item) || !add_part(import, item, thread, block))
        return false;
    take_children(import, &import->blocks[item], block);
    add_times(import, &import->blocks[item], thread, block);
    return add_stacks(import, item, process, thread, block) &&
           add_holders(import, item, process, block) && add_samples(import, item, block);
}
