// SPDX-License-Identifier: MIT
/*
 * The exact answers, by the rooms that the exact engine uses, and an image of the program's
 * memory: a trace has what a store left, `shadow` wants what was there before, and a sampler what
 * is there when its watchpoint fires. Bytes never accessed are zero in it; no one compares those.
 *
 * All maps are reserved at their full size and touched as needed: 2 TiB of addresses.
 */
#include "simulate.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { PAGE_BYTES = 4096 };
static const size_t image_bytes = (size_t)1 << ADDRESS_BITS;
const char *const unit_names[UNITS] = {"word", "line"};
const unsigned unit_shifts[UNITS] = {3, 6};

static void *map(void *context, size_t bytes, bool reserve)
{
    (void)context, (void)reserve;
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return memory == MAP_FAILED ? NULL : memory;
}

static void unmap(void *context, void *memory, size_t bytes)
{
    (void)context;
    munmap(memory, bytes);
}

/* Whole pages inside [start, start + bytes). */
static void clear(void *context, void *start, size_t bytes)
{
    (void)context;
    uintptr_t from = ((uintptr_t)start + PAGE_BYTES - 1) & -(uintptr_t)PAGE_BYTES;
    uintptr_t to = ((uintptr_t)start + bytes) & -(uintptr_t)PAGE_BYTES;
    if (from < to)
        madvise((void *)from, to - from, MADV_DONTNEED);
}

static bool init_distances(struct truth *truth, const bool *units, bool stack)
{
    const struct distance_memory memory = {map, unmap, NULL};
    for (unsigned unit = 0; unit < UNITS; unit++) {
        if (!units[unit])
            continue;
        struct distance_options options = {.unit_shift = unit_shifts[unit],
                                           .share = UINT64_C(1) << 32,
                                           .stack = stack,
                                           .address_limit = image_bytes};
        size_t bytes = (distance_bytes() + 63) & ~(size_t)63;
        struct distance *distance = aligned_alloc(64, bytes);
        if (!distance || distance_init(distance, &options, &memory) != BASE_OK) {
            free(distance);
            return false;
        }
        truth->distances[unit] = distance;
    }
    return true;
}

bool truth_init(struct truth *truth, bool waste, const bool *units, bool stack, float fp_tolerance)
{
    const struct shadow_memory memory = {map, unmap, clear, NULL};
    size_t ids = SHADOW_IDS_MAX;
    *truth = (struct truth){.ids_used = 1, .stack = stack};
    for (unsigned i = 0; i < 2; i++)
        truth->own[i] = map(NULL, ids * sizeof *truth->own[i], true);
    truth->nodes = map(NULL, ids * sizeof *truth->nodes, true);
    truth->elements = map(NULL, ids, true);
    truth->own_nodes = map(NULL, ids * sizeof *truth->own_nodes, true);
    truth->own_stores = map(NULL, ids, true);
    truth->foreign = map(NULL, ids * sizeof *truth->foreign, true);
    truth->own_foreign = map(NULL, ids * sizeof *truth->own_foreign, true);
    truth->image = map(NULL, image_bytes, true);
    if (!truth->own[0] || !truth->own[1] || !truth->nodes || !truth->elements ||
        !truth->own_nodes || !truth->own_stores || !truth->foreign || !truth->own_foreign ||
        !truth->image)
        return false;
    truth->waste = waste && shadow_init(&truth->shadow, image_bytes, SHADOW_IDS_MAX, fp_tolerance,
                                        &memory) == BASE_OK;
    return truth->waste == waste && init_distances(truth, units, stack);
}

static void drop(void *memory, size_t bytes)
{
    if (memory)
        munmap(memory, bytes);
}

void truth_free(struct truth *truth)
{
    size_t ids = SHADOW_IDS_MAX;
    for (unsigned i = 0; i < 2; i++)
        drop(truth->own[i], ids * sizeof *truth->own[i]);
    drop(truth->nodes, ids * sizeof *truth->nodes);
    drop(truth->elements, ids);
    drop(truth->own_nodes, ids * sizeof *truth->own_nodes);
    drop(truth->own_stores, ids);
    drop(truth->foreign, ids * sizeof *truth->foreign);
    drop(truth->own_foreign, ids * sizeof *truth->own_foreign);
    drop(truth->image, image_bytes);
    if (truth->waste)
        shadow_free(&truth->shadow);
    for (unsigned unit = 0; unit < UNITS; unit++) {
        if (truth->distances[unit])
            distance_free(truth->distances[unit]);
        free(truth->distances[unit]);
        tally_free(&truth->reuses[unit]);
        score_rank_free(&truth->ranked_reuses[unit]);
    }
    for (unsigned kind = 0; kind < DETECT_REUSE; kind++) {
        tally_free(&truth->pairs[kind]);
        score_rank_free(&truth->ranked_pairs[kind]);
    }
}

/* The own id of a trace's id in one direction; 0: there are none left. */
static uint32_t own_id(struct truth *truth, uint32_t id, bool store)
{
    uint32_t *own = &truth->own[store][id];
    if (*own || truth->ids_used >= SHADOW_IDS_MAX)
        return *own;
    *own = truth->ids_used++;
    truth->own_nodes[*own] = truth->nodes[id];
    truth->own_stores[*own] = store;
    truth->own_foreign[*own] = truth->foreign[id];
    if (truth->waste)
        shadow_define(&truth->shadow, *own, truth->elements[id]);
    return *own;
}

bool truth_define(struct truth *truth, const struct wire_trace_event *event, uint32_t node,
                  bool foreign)
{
    if (event->id == 0 || event->id >= SHADOW_IDS_MAX)
        return false;
    truth->nodes[event->id] = node;
    truth->elements[event->id] = event->element;
    truth->foreign[event->id] = foreign;
    return own_id(truth, event->id, event->store) != 0;
}

/* A foreign access ends what came before; what comes after it is no reuse of a counted one. */
static void measure(struct distance *distance, unsigned shift, const struct wire_trace_event *event,
                    uint32_t id, uint64_t now, bool foreign)
{
    distance_access(distance, event->address, (uint32_t)event->bytes, id, now);
    if (!foreign)
        return;
    uint64_t unit = UINT64_C(1) << shift, start = event->address & -unit;
    distance_forget(distance, start,
                    ((event->address + event->bytes - 1) | (unit - 1)) + 1 - start);
}

void truth_access(struct truth *truth, const struct wire_trace_event *event, bool store,
                  uint64_t now)
{
    uint32_t id = own_id(truth, event->id, store);
    uint8_t *memory = truth->image + event->address;
    uint32_t bytes = (uint32_t)event->bytes;
    const uint8_t *value = event->value ? event->value : memory;
    if (truth->waste && id && store)
        shadow_store(&truth->shadow, event->address, id, bytes, memory, value);
    else if (truth->waste && id)
        shadow_load(&truth->shadow, event->address, id, bytes, value);
    for (unsigned unit = 0; unit < UNITS; unit++)
        if (truth->distances[unit] && id)
            measure(truth->distances[unit], unit_shifts[unit], event, id, now,
                    truth->foreign[event->id]);
    if (event->value)
        memcpy(memory, event->value, bytes);
}

void truth_kernel(struct truth *truth, const struct wire_trace_event *event, bool store)
{
    uint32_t id = own_id(truth, event->id, store);
    uint8_t *memory = truth->image + event->address;
    const uint8_t *value = event->value ? event->value : memory;
    if (truth->waste && id && store)
        shadow_kernel_store(&truth->shadow, event->address, id, event->bytes, memory, value);
    else if (truth->waste && id)
        shadow_kernel_load(&truth->shadow, event->address, id, event->bytes, memory);
    if (store && event->value)
        memcpy(memory, event->value, event->bytes);
}

void truth_forget(struct truth *truth, uint64_t address, uint64_t bytes)
{
    if (truth->waste)
        shadow_forget(&truth->shadow, address, bytes);
    for (unsigned unit = 0; unit < UNITS; unit++)
        if (truth->distances[unit])
            distance_forget(truth->distances[unit], address, bytes);
    clear(NULL, truth->image + address, bytes);
}

/* What a pair of the shadow's means depends on whether its ends are stores. */
static void settle_pair(struct truth *truth, const struct shadow_pair *pair)
{
    if (truth->own_foreign[shadow_first(pair)])
        return;
    uint32_t first = truth->own_nodes[shadow_first(pair)], second = truth->own_nodes[pair->second];
    bool first_stores = truth->own_stores[shadow_first(pair)];
    bool second_stores = truth->own_stores[pair->second];
    if (first_stores && pair->dead) {
        struct tally_entry *dead = tally_at(&truth->pairs[DETECT_DEAD], first, second);
        *(second_stores ? dead->waste : dead->use) += (double)pair->dead;
    }
    if (first_stores == second_stores && pair->waste + pair->use) {
        enum detect_kind kind = first_stores ? DETECT_SILENT : DETECT_LOAD;
        struct tally_entry *entry = tally_at(&truth->pairs[kind], first, second);
        entry->waste[METHOD_NONE] += (double)pair->waste;
        entry->use[METHOD_NONE] += (double)pair->use;
    }
}

static void settle_reuse(struct truth *truth, unsigned unit)
{
    const struct distance *distance = truth->distances[unit];
    uint64_t cursor = 0;
    distance_totals(distance, &truth->totals[unit]);
    distance_histograms(distance, truth->time_bins[unit], truth->stack_bins[unit]);
    for (const struct distance_pair *pair; (pair = distance_next_pair(distance, &cursor));)
        tally_at(&truth->reuses[unit], truth->own_nodes[pair->use], truth->own_nodes[pair->reuse])
            ->waste[METHOD_NONE] += pair->weight;
}

bool truth_settle(struct truth *truth)
{
    bool whole = true;
    if (truth->waste) {
        shadow_flush(&truth->shadow);
        for (uint64_t i = 0; i < truth->shadow.pairs_capacity; i++)
            if (truth->shadow.pairs[i].first)
                settle_pair(truth, &truth->shadow.pairs[i]);
        whole = !truth->shadow.exhausted;
    }
    for (unsigned unit = 0; unit < UNITS; unit++) {
        if (!truth->distances[unit])
            continue;
        settle_reuse(truth, unit);
        score_rank(&truth->reuses[unit], &truth->ranked_reuses[unit]);
        whole = whole && !distance_exhausted(truth->distances[unit]);
    }
    for (unsigned kind = 0; kind < DETECT_REUSE; kind++)
        score_rank(&truth->pairs[kind], &truth->ranked_pairs[kind]);
    return whole;
}
