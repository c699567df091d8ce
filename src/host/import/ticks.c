// SPDX-License-Identifier: MIT
/*
 * Where CPU time went: every tick of a live recording, whatever became of its sample. Ticks at one
 * address are added up, and when the address's module is named, what is known of that code decides
 * what kind of time it was.
 */
#include "import/internal.h"

#include <stdlib.h>

/* Real ticks are some milliseconds apart. */
static const uint64_t most_period_ns = UINT64_C(1) << 42;

static int compare(const struct import_tick *a, const struct import_tick *b)
{
    if (a->module != b->module)
        return a->module < b->module ? -1 : 1;
    if (a->process != b->process)
        return a->process < b->process ? -1 : 1;
    if (a->vaddr != b->vaddr)
        return a->vaddr < b->vaddr ? -1 : 1;
    return (a->flags > b->flags) - (a->flags < b->flags);
}

static bool equal_tick(const void *items, uint32_t item, const void *key)
{
    return compare(&((const struct import_tick *)items)[item], key) == 0;
}

static bool equal_time(const void *items, uint32_t item, const void *key)
{
    const struct profile_time *time = &((const struct profile_time *)items)[item];
    const struct profile_time *wanted = key;
    return time->context == wanted->context && time->system == wanted->system;
}

/* Rows name nodes until import_name replaces them by contexts. */
static bool add_to_context(struct import_gather *gather, const struct wire_tick *record)
{
    struct profile *profile = gather->profile;
    uint32_t node = record->node ? import_node_of(gather, record->node) : 0, item;
    struct profile_time key = {.context = node == IMPORT_UNKNOWN_NODE ? 0 : node,
                               .system = (record->flags & WIRE_TICK_SYSTEM) != 0};
    bool found;
    if (!util_index_enter(&gather->times_by_key, import_hash(key.context, key.system, 4),
                          equal_time, profile->times, &key, (uint32_t)profile->times_count, &item,
                          &found))
        return import_no_memory(gather);
    if (!found) {
        struct profile_time *added = profile_add_times(profile);
        if (!added)
            return import_no_memory(gather);
        *added = key;
    }
    profile->times[item].ticks++;
    profile->times[item].ns += record->period_ns;
    return true;
}

bool import_live_tick(struct import_gather *gather, const struct import_frame *frame,
                      const struct wire_tick *record)
{
    struct import_tick tick = {.vaddr = record->vaddr,
                               .flags = record->flags & (WIRE_TICK_SYSTEM | WIRE_TICK_LATE)};
    uint32_t item;
    bool found;
    if (record->period_ns > most_period_ns) {
        gather->corrupt++;
        return true;
    }
    if (record->module)
        tick.module = import_module_of(gather, frame->process, record->module);
    else
        tick.process = frame->process;
    uint64_t hash =
        import_hash(tick.vaddr, (uint64_t)tick.module << 32 | tick.process, 16 + tick.flags);
    if (!UTIL_GROW(gather->ticks, gather->ticks_capacity, gather->ticks_count) ||
        !util_index_enter(&gather->ticks_by_key, hash, equal_tick, gather->ticks, &tick,
                          (uint32_t)gather->ticks_count, &item, &found))
        return import_no_memory(gather);
    if (!found)
        gather->ticks[gather->ticks_count++] = tick;
    gather->threads[gather->current_thread].ticks++;
    gather->ticks[item].ticks++;
    gather->ticks[item].ns += record->period_ns;
    return record->flags & WIRE_TICK_PLAIN || add_to_context(gather, record);
}

static int compare_ticks(const void *left, const void *right)
{
    return compare(left, right);
}

void import_ticks_sort(struct import_gather *gather)
{
    if (gather->ticks_count)
        qsort(gather->ticks, gather->ticks_count, sizeof *gather->ticks, compare_ticks);
}

enum profile_cpu_kind import_kind_of_code(struct binary *binary, uint64_t vaddr)
{
    struct binary_frame frame = {0};
    if (!binary || binary_frames(binary, vaddr, &frame, 1) == 0 || frame.made)
        return PROFILE_CPU_ADDRESSES;
    return frame.file && frame.line ? PROFILE_CPU_LINES : PROFILE_CPU_FUNCTIONS;
}

/* *module: where it counts. */
static enum profile_cpu_kind kind_of(const struct import_tick *tick, struct binary *binary,
                                     const struct import_jit_names *jits, uint32_t *module)
{
    *module = tick->module;
    if (tick->flags & WIRE_TICK_LATE)
        return PROFILE_CPU_UNKNOWN;
    if (tick->flags & WIRE_TICK_SYSTEM)
        return PROFILE_CPU_SYSTEM;
    if (tick->module)
        return import_kind_of_code(binary, tick->vaddr);
    return import_jit_name(jits, tick->process, tick->vaddr, module) ? PROFILE_CPU_JIT
                                                                     : PROFILE_CPU_NAMELESS;
}

bool import_ticks_of_module(struct import_gather *gather, size_t *next, uint32_t module,
                            struct binary *binary, const struct import_jit_names *jits)
{
    struct profile_cpu_time sums[PROFILE_CPU_KINDS] = {{0}};
    for (; *next < gather->ticks_count && gather->ticks[*next].module == module; ++*next) {
        const struct import_tick *tick = &gather->ticks[*next];
        uint32_t where;
        enum profile_cpu_kind kind = kind_of(tick, binary, jits, &where);
        sums[kind].kind = kind;
        sums[kind].module = where;
        sums[kind].ticks += tick->ticks;
        sums[kind].ns += tick->ns;
    }
    for (int kind = 0; kind < PROFILE_CPU_KINDS; kind++) {
        struct profile_cpu_time *added =
            sums[kind].ticks ? profile_add_cpu_times(gather->profile) : NULL;
        if (sums[kind].ticks && !added)
            return import_no_memory(gather);
        if (added)
            *added = sums[kind];
    }
    return true;
}
