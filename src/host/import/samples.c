// SPDX-License-Identifier: MIT
/*
 * Samples and traps of live recordings: samples summed by context, findings by pair of contexts.
 */
#include "detect/detect.h"
#include "import/internal.h"

#include <math.h>
#include <stdlib.h>

static bool equal_sampled(const void *items, uint32_t item, const void *key)
{
    const struct profile_sampled *sampled = &((const struct profile_sampled *)items)[item];
    const struct profile_sampled *wanted = key;
    return sampled->kind == wanted->kind && sampled->context == wanted->context;
}

bool import_live_sample(struct import_gather *gather, const struct import_frame *frame,
                        const struct wire_sample *record)
{
    struct profile *profile = gather->profile;
    uint32_t node = import_node_of(gather, record->node), item;
    bool found;
    if (!import_known_kind(gather, record->kind) || !isfinite(record->weight) ||
        record->weight < 0 || record->weight > 1e9F || node == IMPORT_UNKNOWN_NODE) {
        gather->corrupt++;
        return true;
    }
    struct profile_sampled key = {.kind = record->kind, .context = node};
    if (!util_index_enter(&gather->sampled_by_key, import_hash(key.kind, key.context, 3),
                          equal_sampled, profile->sampled, &key, (uint32_t)profile->sampled_count,
                          &item, &found))
        return import_no_memory(gather);
    if (!found) {
        struct profile_sampled *added = profile_add_sampled(profile);
        if (!added)
            return import_no_memory(gather);
        *added = key;
    }
    struct import_thread *thread = &gather->threads[gather->current_thread];
    bool armed = record->armed == 1 || (record->armed == 2 && record->kind != PROFILE_REUSE);
    thread->seen_samples[record->kind]++;
    thread->seen_armed[record->kind] += armed;
    thread->foreseen[record->kind] += record->armed == 2 && !record->trap_ns;
    profile->sampled[item].samples++;
    profile->sampled[item].armed += armed;
    profile->sampled[item].weight += (double)record->weight;
    return record->kind != PROFILE_REUSE ||
           import_reuse_keep_sample(gather, frame->process, node, record);
}

static double claimed_by(const struct wire_trap *record)
{
    bool known = record->chance > 0 && record->chance <= 1;
    return known ? (double)record->weight / (double)record->chance : (double)record->samples;
}

/* By its chance until import_live_share brings the sums to the scale of samples. */
static void add_to_pair(struct profile_pair *pair, struct import_share *share,
                        struct import_near *near, const struct wire_trap *record)
{
    double claimed = claimed_by(record);
    double weight = claimed * record->bytes;
    share->attributed += (double)record->samples;
    share->claimed += claimed;
    pair->samples += claimed;
    if (record->verdict == DETECT_WASTE) {
        pair->waste_bytes += weight;
        pair->waste_squares += weight * weight;
        pair->waste_traps++;
    } else {
        pair->use_bytes += weight;
        pair->use_squares += weight * weight;
        pair->use_traps++;
    }
    pair->kernel_traps += (record->flags & WIRE_TRAP_KERNEL) != 0;
    pair->likely_traps += (record->flags & WIRE_TRAP_LIKELY) != 0;
    if (record->verdict == DETECT_WASTE && record->flags & WIRE_TRAP_NEAR) {
        pair->float_traps++;
        near->bytes += weight;
        near->squares += weight * weight;
    }
}

bool import_live_trap(struct import_gather *gather, const struct wire_trap *record)
{
    uint32_t item;
    if (!import_known_kind(gather, record->kind) || record->kind == PROFILE_REUSE ||
        !isfinite(record->samples) || record->samples < 0 || record->samples > 1e9F ||
        !isfinite(record->weight) || record->weight <= 0 || record->weight > 1e9F ||
        record->bytes == 0 || record->bytes > DETECT_MAX_BYTES ||
        (record->verdict != DETECT_USE && record->verdict != DETECT_WASTE)) {
        gather->corrupt++;
        return true;
    }
    uint32_t first = import_node_of(gather, record->watch_node);
    uint32_t second = import_node_of(gather, record->trap_node);
    /* A finding whose place was lost still counts in the kind's total; the root stands for it. */
    gather->corrupt += (first == IMPORT_UNKNOWN_NODE) + (second == IMPORT_UNKNOWN_NODE);
    struct profile_pair key = {.kind = record->kind,
                               .first = first == IMPORT_UNKNOWN_NODE ? 0 : first,
                               .second = second == IMPORT_UNKNOWN_NODE ? 0 : second};
    if (!import_pair(gather, &key, &item))
        return false;
    if (!UTIL_GROW_ZEROED(gather->shares, gather->shares_capacity, item) ||
        !UTIL_GROW_ZEROED(gather->nears, gather->nears_capacity, item))
        return import_no_memory(gather);
    gather->threads[gather->current_thread].seen_traps[record->kind]++;
    add_to_pair(&gather->profile->pairs[item], &gather->shares[item], &gather->nears[item], record);
    import_located_next(gather, key.kind, key.first, key.second,
                        claimed_by(record) * record->bytes);
    return true;
}

/*
 * The samples that the traps of a watch context stand for are shared among its pairs in proportion
 * to each sample's weight over its chance to be seen. What the agent attributed on the spot
 * is right where all accesses of a context fare alike; where some are touched again soon and
 * others late, it gives the late ones' share to the soon ones (detect.h).
 */
bool import_live_share(struct import_gather *gather)
{
    import_located_settle(gather);
    struct profile *profile = gather->profile;
    struct import_share *totals = calloc(gather->nodes_count * PROFILE_KINDS, sizeof *totals);
    if (!totals)
        return import_no_memory(gather);
    for (size_t i = 0; i < profile->pairs_count; i++) {
        const struct profile_pair *pair = &profile->pairs[i];
        struct import_share *total = &totals[(size_t)pair->first * PROFILE_KINDS + pair->kind];
        total->attributed += gather->shares[i].attributed;
        total->claimed += gather->shares[i].claimed;
    }
    for (size_t i = 0; i < profile->pairs_count; i++) {
        struct profile_pair *pair = &profile->pairs[i];
        const struct import_share *total =
            &totals[(size_t)pair->first * PROFILE_KINDS + pair->kind];
        double scale = total->claimed > 0 ? total->attributed / total->claimed : 0;
        pair->samples *= scale;
        pair->waste_bytes *= scale;
        pair->use_bytes *= scale;
        pair->waste_squares *= scale * scale;
        pair->use_squares *= scale * scale;
        gather->nears[i].bytes *= scale;
        gather->nears[i].squares *= scale * scale;
    }
    free(totals);
    return true;
}
