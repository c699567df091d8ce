// SPDX-License-Identifier: MIT
/*
 * Order and dominators. Regions: what is reached from the entry is the first; each further root
 * takes what is not reached before. Edges from a later region into an earlier one are not looked at
 * here: an exception handler that goes on in the middle of a loop would make that loop one with two
 * entries, and hide what dominates what.
 *
 * Dominators after K. D. Cooper, T. J. Harvey, K. Kennedy, A Simple, Fast Dominance Algorithm
 * (2001): quadratic for graphs that nobody writes, hence the limit of effort.
 */
#include "cfg/internal.h"

#include <stdlib.h>
#include <string.h>

/* Steps up the tree of dominators; 0.2 s. The largest functions of compilers take some hundred
 * thousand. */
enum { STEPS_MAX = 1 << 26 };

/* ---- edges --------------------------------------------------------------------------------- */

int cfg_compare_edges(const void *left, const void *right)
{
    const struct cfg_edge *a = left, *b = right;
    if (a->from != b->from)
        return a->from < b->from ? -1 : 1;
    if (a->kind != b->kind)
        return a->kind < b->kind ? -1 : 1;
    return (a->to > b->to) - (a->to < b->to);
}

static void sort_edges(struct cfg *flow)
{
    uint32_t kept = 0;
    if (flow->edges_count)
        qsort(flow->edges, flow->edges_count, sizeof *flow->edges, cfg_compare_edges);
    for (uint32_t i = 0; i < flow->edges_count; i++)
        if (i == 0 || cfg_compare_edges(&flow->edges[i - 1], &flow->edges[i]) != 0)
            flow->edges[kept++] = flow->edges[i];
    flow->edges_count = kept;
}

bool graph_link(struct cfg *flow)
{
    uint32_t first = 0;
    sort_edges(flow);
    flow->into = calloc((size_t)flow->edges_count + 1, sizeof *flow->into);
    if (!flow->into)
        return false;
    for (uint32_t i = flow->edges_count; i > 0; i--) {
        flow->blocks[flow->edges[i - 1].from].first_edge = i - 1;
        flow->blocks[flow->edges[i - 1].from].edges++;
        flow->blocks[flow->edges[i - 1].to].into++;
    }
    for (uint32_t i = 0; i < flow->blocks_count; i++) {
        flow->blocks[i].first_into = first;
        first += flow->blocks[i].into;
        flow->blocks[i].into = 0;
    }
    for (uint32_t i = 0; i < flow->edges_count; i++) {
        struct cfg_block *to = &flow->blocks[flow->edges[i].to];
        flow->into[to->first_into + to->into++] = i;
    }
    return true;
}

/* ---- order ----------------------------------------------------------------------------------- */

struct search {
    struct cfg *flow;
    struct order order;
    uint32_t *next; /* by block: successors already visited       */
    uint32_t *path; /* blocks entered and not left                */
    uint32_t met, left, regions;
};

static bool search_begin(struct search *search, struct cfg *flow)
{
    size_t count = (size_t)flow->blocks_count + 1;
    uint32_t *items = calloc(count * 6, sizeof *items);
    if (!items)
        return false;
    *search = (struct search){.flow = flow,
                              .order = {items, items + count, items + 2 * count, items + 3 * count},
                              .next = items + 4 * count,
                              .path = items + 5 * count};
    memset(search->order.number, 0xff, count * sizeof *items);
    return true;
}

static void search_end(struct search *search)
{
    free(search->order.number);
}

static void enter(struct search *search, uint32_t block, uint32_t *depth)
{
    search->order.number[block] = search->met;
    search->order.block[search->met++] = block;
    search->flow->blocks[block].region = search->regions;
    search->path[(*depth)++] = block;
}

static void search_from(struct search *search, uint32_t root)
{
    const struct cfg *flow = search->flow;
    uint32_t depth = 0;
    if (search->order.number[root] != CFG_NONE)
        return;
    enter(search, root, &depth);
    while (depth) {
        uint32_t block = search->path[depth - 1];
        if (search->next[block] == flow->blocks[block].edges) {
            search->order.last[search->order.number[block]] = search->met - 1;
            search->order.finish[search->left++] = block;
            depth--;
            continue;
        }
        uint32_t to = flow->edges[flow->blocks[block].first_edge + search->next[block]++].to;
        if (search->order.number[to] == CFG_NONE)
            enter(search, to, &depth);
    }
    search->regions++;
}

/* The entry, other roots, then whatever only itself leads to. */
static void search_all(struct search *search)
{
    for (uint32_t i = 0; i < search->flow->blocks_count; i++)
        if (search->flow->blocks[i].flags & CFG_ROOT)
            search_from(search, i);
    for (uint32_t i = 0; i < search->flow->blocks_count; i++) {
        if (search->order.number[i] == CFG_NONE) {
            search->flow->blocks[i].flags |= CFG_ROOT;
            search_from(search, i);
        }
    }
}

/* ---- dominators ------------------------------------------------------------------------------ */

/* Numbers here are those in which the search leaves blocks: dominators have greater ones. */
struct dominators {
    uint32_t *number; /* by block                            */
    uint32_t *parent; /* by number; CFG_NONE: not known yet */
    uint32_t steps;
};

static uint32_t intersect(struct dominators *dominators, uint32_t a, uint32_t b)
{
    while (a != b && dominators->steps < STEPS_MAX) {
        dominators->steps++;
        if (a < b)
            a = dominators->parent[a];
        else
            b = dominators->parent[b];
    }
    return a;
}

/* One block; true if something changed. */
static bool improve(const struct cfg *flow, struct dominators *dominators, uint32_t block)
{
    const struct cfg_block *item = &flow->blocks[block];
    uint32_t number = dominators->number[block], parent = CFG_NONE;
    if (dominators->parent[number] == number) /* a region's root */
        return false;
    for (uint32_t i = 0; i < item->into; i++) {
        uint32_t from = flow->edges[flow->into[item->first_into + i]].from;
        uint32_t other = dominators->number[from];
        if (flow->blocks[from].region != item->region || dominators->parent[other] == CFG_NONE)
            continue;
        parent = parent == CFG_NONE ? other : intersect(dominators, parent, other);
    }
    if (parent == dominators->parent[number])
        return false;
    dominators->parent[number] = parent;
    return true;
}

static void store(struct cfg *flow, const struct order *order, const struct dominators *dominators)
{
    for (uint32_t i = 0; i < flow->blocks_count; i++) {
        uint32_t number = dominators->number[i], parent = dominators->parent[number];
        flow->blocks[i].dominator = parent == number ? CFG_NONE : order->finish[parent];
    }
}

/* False: no memory, or too much effort (*complex). */
static bool find_dominators(struct cfg *flow, const struct order *order, bool *complex)
{
    size_t count = (size_t)flow->blocks_count + 1;
    struct dominators dominators = {.number = calloc(2 * count, sizeof(uint32_t))};
    if (!dominators.number)
        return false;
    dominators.parent = dominators.number + count;
    memset(dominators.parent, 0xff, count * sizeof(uint32_t));
    for (uint32_t i = 0; i < flow->blocks_count; i++)
        dominators.number[order->finish[i]] = i;
    /* Each region's root is its last block to be left. */
    for (uint32_t i = 0; i < flow->blocks_count; i++)
        if (i + 1 == flow->blocks_count ||
            flow->blocks[order->finish[i]].region != flow->blocks[order->finish[i + 1]].region)
            dominators.parent[i] = i;
    for (bool changed = true; changed && dominators.steps < STEPS_MAX;) {
        changed = false;
        for (uint32_t i = flow->blocks_count; i > 0; i--)
            changed = improve(flow, &dominators, order->finish[i - 1]) || changed;
        dominators.steps += flow->blocks_count / 16;
    }
    *complex = dominators.steps >= STEPS_MAX;
    if (!*complex)
        store(flow, order, &dominators);
    free(dominators.number);
    return !*complex;
}

bool graph_analyse(struct cfg *flow)
{
    struct search search;
    bool complex = false;
    for (uint32_t i = 0; i < flow->blocks_count; i++)
        flow->blocks[i].dominator = CFG_NONE;
    if (!search_begin(&search, flow))
        return false;
    search_all(&search);
    bool good =
        find_dominators(flow, &search.order, &complex) && loops_find(flow, &search.order, &complex);
    search_end(&search);
    if (complex) {
        flow->flags |= CFG_COMPLEX;
        for (uint32_t i = 0; i < flow->blocks_count; i++) {
            flow->blocks[i].dominator = CFG_NONE;
            flow->blocks[i].loop = 0;
        }
        flow->loops_count = 1;
    }
    return good || complex;
}
