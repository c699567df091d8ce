// SPDX-License-Identifier: MIT
/*
 * Records of kind reuse, kept until the last one is read: what a watch stands for depends on all
 * others of its context (estimate). 48 bytes for each sample that was watched; at 200 samples a
 * second that is 35 MB for an hour of one thread.
 */
#include "import/internal.h"

#include <math.h>
#include <stdlib.h>

static const float most_weight = 1e9F;
static const uint64_t most_accesses = UINT64_C(1) << 52, most_ns = UINT64_C(1) << 60;

static bool equal_use(const void *items, uint32_t item, const void *key)
{
    const struct estimate_use *use = &((const struct estimate_use *)items)[item];
    const struct estimate_use *wanted = key;
    return use->process == wanted->process && use->node == wanted->node;
}

static bool use_of(struct import_gather *gather, uint32_t process, uint32_t node, uint32_t *item)
{
    struct import_reuse_samples *kept = &gather->reuse_samples;
    struct estimate_use key = {.process = process, .node = node};
    bool found;
    if (!UTIL_GROW_ZEROED(kept->uses, kept->uses_capacity, kept->uses_count) ||
        !util_index_enter(&kept->uses_by_key, import_hash(process, node, 9), equal_use, kept->uses,
                          &key, (uint32_t)kept->uses_count, item, &found))
        return import_no_memory(gather);
    if (!found)
        kept->uses[kept->uses_count++] = key;
    return true;
}

bool import_reuse_keep_sample(struct import_gather *gather, uint32_t process, uint32_t node,
                              const struct wire_sample *record)
{
    enum { FORESEEN = 2 }; /* in wire_sample.armed */
    struct import_reuse_samples *kept = &gather->reuse_samples;
    uint32_t item;
    if (!use_of(gather, process, node, &item))
        return false;
    struct estimate_use *use = &kept->uses[item];
    use->samples++;
    if (record->armed != FORESEEN)
        use->watchable += (double)record->weight;
    /* No instruction makes more accesses than some dozens. */
    if (record->density > 0 && record->density < 64) {
        use->density += (double)record->density;
        use->dense++;
    }
    if (!record->trap_ns)
        return true;
    if (!UTIL_GROW_ZEROED(kept->deliveries, kept->deliveries_capacity, kept->deliveries_count))
        return import_no_memory(gather);
    kept->deliveries[kept->deliveries_count++] =
        (struct estimate_delivery){gather->current_thread, record->trap_ns};
    return true;
}

static bool reuse_ok(const struct wire_reuse *record)
{
    static const uint32_t ends = WIRE_REUSE_LOST | WIRE_REUSE_OPEN;
    if (!(record->weight >= 0 && record->weight <= most_weight) ||
        record->accesses > most_accesses || record->elapsed_ns > most_ns)
        return false;
    if (record->flags & WIRE_REUSE_FORESEEN)
        return !(record->flags & ends) && record->accesses > 0;
    return record->chance > 0 && record->chance <= record->entry && record->entry <= 1 &&
           (record->flags & ends) != ends;
}

static double located_weight(const struct wire_reuse *record)
{
    return (double)record->weight / (double)(record->chance > 0 ? record->chance : 1);
}

bool import_reuse_keep_watch(struct import_gather *gather, uint32_t process,
                             const struct wire_reuse *record)
{
    struct import_reuse_samples *kept = &gather->reuse_samples;
    uint32_t use = import_node_of(gather, record->use_node), item;
    uint32_t reuse = import_node_of(gather, record->reuse_node);
    if (!import_known_kind(gather, PROFILE_REUSE) || !reuse_ok(record)) {
        gather->corrupt++;
        return true;
    }
    /* A reuse whose place was lost still counts; the root stands for it. */
    gather->corrupt += (use == IMPORT_UNKNOWN_NODE) + (reuse == IMPORT_UNKNOWN_NODE);
    if (!use_of(gather, process, use == IMPORT_UNKNOWN_NODE ? 0 : use, &item))
        return false;
    if (!UTIL_GROW_ZEROED(kept->watches, kept->watches_capacity, kept->watches_count))
        return import_no_memory(gather);
    kept->watches[kept->watches_count++] =
        (struct estimate_watch){.use = item,
                                .reuse = reuse == IMPORT_UNKNOWN_NODE ? 0 : reuse,
                                .thread = gather->current_thread,
                                .flags = record->flags,
                                .waited = record->waited,
                                .traps = record->traps,
                                .weight = record->weight,
                                .entry = record->entry,
                                .chance = record->chance,
                                .elapsed_ns = record->elapsed_ns,
                                .accesses = record->accesses};
    if (!(record->flags & (WIRE_REUSE_FORESEEN | WIRE_REUSE_LOST | WIRE_REUSE_OPEN)))
        gather->threads[gather->current_thread].seen_traps[PROFILE_REUSE]++;
    if (record->reuse_node)
        import_located_next(gather, PROFILE_REUSE, kept->uses[item].node,
                            reuse == IMPORT_UNKNOWN_NODE ? 0 : reuse, located_weight(record));
    return true;
}

void import_reuse_samples_free(struct import_reuse_samples *kept)
{
    util_index_free(&kept->uses_by_key);
    free(kept->uses);
    free(kept->watches);
    free(kept->deliveries);
    *kept = (struct import_reuse_samples){0};
}
