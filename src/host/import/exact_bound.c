// SPDX-License-Identifier: MIT
/*
 * A bound for what many processes under the exact engine counted together. Each process bounds what
 * it writes itself (exact/output.c); here the sum of all is held to as much: the least pairs are
 * put under their instructions without callers, and if that is where they are, under the root. Sums
 * over all pairs stay as they are.
 */
#include "import/internal.h"

#include <stdlib.h>
#include <string.h>

/* A pair takes some 180 bytes with its place in the index, a node 90: 300 MiB. */
enum { PAIRS_MAX = 900000, REUSE_PAIRS_MAX = 600000, MANY_NODES = 1500000 };

/* ---- pairs ---------------------------------------------------------------------------------- */

/* Only damaged records have more. */
static uint64_t whole(double weight)
{
    return weight < 0x1p63 ? (uint64_t)weight : UINT64_C(1) << 63;
}

/* As for the engine: waste is what findings are made of, of uses the sum matters. */
static uint64_t weight_of(const struct profile_pair *pair)
{
    return whole(pair->waste_bytes + pair->use_bytes / 8);
}

static uint64_t weight_of_reuse(const struct profile_reuse_pair *pair)
{
    return whole(pair->stack > 0 ? pair->stack : pair->time / 1024);
}

static bool coarser(struct import_gather *gather, uint32_t *node)
{
    struct import_node coarse = gather->nodes[*node];
    if (!*node)
        return true;
    if (!coarse.parent) {
        *node = 0;
        return true;
    }
    coarse.parent = 0;
    coarse.flags |= WIRE_NODE_BROKEN;
    return import_add_node(gather, &coarse, node);
}

/* Enters the pairs anew, those chosen under coarser nodes: what was many becomes one. */
static bool merge_pairs(struct import_gather *gather, struct base_least *least)
{
    struct profile *profile = gather->profile;
    size_t count = profile->pairs_count;
    util_index_free(&gather->pairs_by_key);
    profile->pairs_count = 0;
    for (size_t i = 0; i < count; i++) {
        struct profile_pair pair = profile->pairs[i];
        double near_bytes = gather->nears[i].bytes;
        uint32_t item; /* i at most */
        gather->nears[i].bytes = 0;
        if (base_least_takes(least, weight_of(&pair))) {
            gather->merged++;
            if (!coarser(gather, &pair.first) || !coarser(gather, &pair.second))
                return false;
        }
        struct profile_pair key = {.kind = pair.kind, .first = pair.first, .second = pair.second};
        if (!import_pair(gather, &key, &item))
            return false;
        profile->pairs[item].waste_bytes += pair.waste_bytes;
        profile->pairs[item].use_bytes += pair.use_bytes;
        profile->pairs[item].kernel_traps |= pair.kernel_traps;
        gather->nears[item].bytes += near_bytes;
        if (!import_sample_move(gather, (uint32_t)i, item))
            return false;
    }
    return true;
}

static bool merge_reuse_pairs(struct import_gather *gather, struct base_least *least)
{
    struct profile *profile = gather->profile;
    size_t count = profile->reuse_pairs_count;
    util_index_free(&gather->reuse_pairs_by_key);
    profile->reuse_pairs_count = 0;
    for (size_t i = 0; i < count; i++) {
        struct profile_reuse_pair pair = profile->reuse_pairs[i];
        uint32_t item;
        if (base_least_takes(least, weight_of_reuse(&pair))) {
            gather->merged++;
            if (!coarser(gather, &pair.use) || !coarser(gather, &pair.reuse))
                return false;
        }
        if (!import_reuse_pair(gather, pair.use, pair.reuse, &item))
            return false;
        struct profile_reuse_pair *to = &profile->reuse_pairs[item];
        to->count += pair.count;
        to->weight += pair.weight;
        to->time += pair.time;
        to->time_squares += pair.time_squares;
        to->stack += pair.stack;
        to->stack_squares += pair.stack_squares;
    }
    return true;
}

static bool bound_pairs(struct import_gather *gather)
{
    const struct profile *profile = gather->profile;
    struct base_least least = {0};
    for (size_t i = 0; i < profile->pairs_count; i++)
        base_least_note(&least, weight_of(&profile->pairs[i]));
    base_least_choose(&least, profile->pairs_count / 2);
    return merge_pairs(gather, &least);
}

static bool bound_reuse_pairs(struct import_gather *gather)
{
    const struct profile *profile = gather->profile;
    struct base_least least = {0};
    for (size_t i = 0; i < profile->reuse_pairs_count; i++)
        base_least_note(&least, weight_of_reuse(&profile->reuse_pairs[i]));
    base_least_choose(&least, profile->reuse_pairs_count / 2);
    return merge_reuse_pairs(gather, &least);
}

/* ---- nodes ---------------------------------------------------------------------------------- */

static void mark(const struct import_gather *gather, uint32_t *renamed, uint32_t node)
{
    for (; node && !renamed[node]; node = gather->nodes[node].parent)
        renamed[node] = 1;
}

static void mark_named(const struct import_gather *gather, uint32_t *renamed)
{
    const struct profile *profile = gather->profile;
    for (size_t i = 0; i < profile->pairs_count; i++) {
        mark(gather, renamed, profile->pairs[i].first);
        mark(gather, renamed, profile->pairs[i].second);
    }
    for (size_t i = 0; i < profile->reuse_pairs_count; i++) {
        mark(gather, renamed, profile->reuse_pairs[i].use);
        mark(gather, renamed, profile->reuse_pairs[i].reuse);
    }
    const uint32_t *node;
    for (size_t i = 0; (node = import_row_node(profile, i)); i++)
        mark(gather, renamed, *node);
}

/* Parents precede children, so they have their new numbers when a child gets its own. */
static bool move_nodes(struct import_gather *gather, uint32_t *renamed)
{
    size_t count = gather->nodes_count;
    util_index_free(&gather->nodes_by_key);
    gather->nodes_count = 1;
    for (size_t i = 1; i < count; i++) {
        struct import_node node = gather->nodes[i];
        if (!renamed[i])
            continue;
        node.parent = renamed[node.parent];
        if (!import_add_node(gather, &node, &renamed[i]))
            return false;
    }
    return true;
}

static bool drop_nodes(struct import_gather *gather)
{
    struct profile *profile = gather->profile;
    uint32_t *renamed = calloc(gather->nodes_count, sizeof *renamed);
    if (!renamed)
        return import_no_memory(gather);
    mark_named(gather, renamed);
    bool good = move_nodes(gather, renamed);
    for (size_t i = 0; i < profile->pairs_count && good; i++) {
        profile->pairs[i].first = renamed[profile->pairs[i].first];
        profile->pairs[i].second = renamed[profile->pairs[i].second];
    }
    for (size_t i = 0; i < profile->reuse_pairs_count && good; i++) {
        profile->reuse_pairs[i].use = renamed[profile->reuse_pairs[i].use];
        profile->reuse_pairs[i].reuse = renamed[profile->reuse_pairs[i].reuse];
    }
    uint32_t *node;
    for (size_t i = 0; good && (node = import_row_node(profile, i)); i++)
        *node = renamed[*node];
    free(renamed);
    /* Entered anew under the new numbers: nothing is chosen to be merged. */
    return good && merge_pairs(gather, &(struct base_least){0}) &&
           merge_reuse_pairs(gather, &(struct base_least){0});
}

bool import_exact_bound(struct import_gather *gather, bool begins)
{
    const struct profile *profile = gather->profile;
    return (profile->pairs_count < PAIRS_MAX || bound_pairs(gather)) &&
           (profile->reuse_pairs_count < REUSE_PAIRS_MAX || bound_reuse_pairs(gather)) &&
           (!begins || gather->nodes_count < MANY_NODES || drop_nodes(gather));
}
