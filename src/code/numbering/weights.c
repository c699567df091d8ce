// SPDX-License-Identifier: MIT
/*
 * How often edges are taken. Where nobody knows: loops run ten times, ways that stay in a loop are
 * likely by their shares, those that leave it are taken as often as it was entered.
 */
#include "numbering/internal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- loops ----------------------------------------------------------------------------------- */

enum { NONE = UINT32_MAX };

/* Loops after Havlak (1997) from the innermost out, but ways into a loop beside its head do not
   count: it is only about weights. */
struct finder {
    const struct numbering *paths;
    uint32_t *outer; /* union-find: towards the head that took the block */
    uint32_t *head;  /* of the innermost loop around it, or NONE         */
    uint32_t *taken; /* the last head that has met the block, + 1        */
    uint32_t *body;
    uint32_t count;
};

/* Halves the way. */
static uint32_t outermost(struct finder *finder, uint32_t block)
{
    while (finder->outer[block] != block) {
        finder->outer[block] = finder->outer[finder->outer[block]];
        block = finder->outer[block];
    }
    return block;
}

static void take(struct finder *finder, uint32_t head, uint32_t block)
{
    const struct numbering *paths = finder->paths;
    block = outermost(finder, block);
    if (block == head || finder->taken[block] == head + 1 ||
        paths->before[block] < paths->before[head] || paths->after[block] > paths->after[head])
        return;
    finder->taken[block] = head + 1;
    finder->body[finder->count++] = block;
}

/* True if it is the head of a loop. */
static bool find_loop(struct finder *finder, uint32_t head)
{
    const struct numbering *paths = finder->paths;
    bool found = false;
    finder->count = 0;
    for (uint32_t k = paths->first_in[head]; k < paths->first_in[head + 1]; k++) {
        const struct numbering_edge *edge = &paths->edges[paths->in[k]];
        if (!(edge->flags & NUMBERING_RETREATING))
            continue;
        found = true;
        take(finder, head, edge->from);
    }
    for (uint32_t i = 0; i < finder->count; i++) {
        uint32_t block = finder->body[i];
        for (uint32_t k = paths->first_in[block]; k < paths->first_in[block + 1]; k++)
            take(finder, head, paths->edges[paths->in[k]].from);
    }
    for (uint32_t i = 0; i < finder->count; i++)
        finder->outer[finder->body[i]] = finder->head[finder->body[i]] = head;
    return found;
}

/* order: blocks by the time the search began them; a loop's head comes before its blocks. */
static void find_loops(struct finder *finder, uint32_t *order, uint32_t *depths, bool *heads)
{
    uint32_t count = finder->paths->blocks_count;
    for (uint32_t b = 0; b < count; b++) {
        order[finder->paths->before[b]] = b;
        finder->outer[b] = b;
        finder->head[b] = NONE;
    }
    for (uint32_t i = count; i-- > 0;)
        heads[order[i]] = find_loop(finder, order[i]);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t head = finder->head[order[i]];
        depths[order[i]] = (head == NONE ? 0 : depths[head]) + heads[order[i]];
    }
}

enum base_status numbering_loops(const struct numbering *paths, uint32_t *depths, bool *heads)
{
    size_t count = paths->blocks_count;
    uint32_t *room = numbering_array(5 * count, sizeof *room);
    struct finder finder = {.paths = paths,
                            .outer = room,
                            .head = room + count,
                            .taken = room + 2 * count,
                            .body = room + 3 * count};
    if (!room)
        return BASE_NO_MEMORY;
    find_loops(&finder, room + 4 * count, depths, heads);
    free(room);
    return BASE_OK;
}

/* ---- weights --------------------------------------------------------------------------------- */

void numbering_useful(const struct numbering *paths, bool *useful)
{
    for (uint32_t i = 0; i < paths->blocks_count; i++) {
        uint32_t block = paths->order[i];
        useful[block] = false;
        for (uint32_t k = paths->first_out[block]; k < paths->first_out[block + 1]; k++) {
            const struct numbering_edge *edge = &paths->edges[paths->out[k]];
            useful[block] = useful[block] || numbering_ends(edge) || useful[edge->to];
        }
    }
}

static const double LOOP_RUNS = 10, RARELY = 0.001, WEIGHT_MAX = 1e30;

struct weigher {
    const struct numbering *paths;
    const bool *useful;
    double *edges, *blocks;
    uint32_t *depths;
    bool *heads;
};

static bool is_given(const struct numbering_edge *edge)
{
    return edge->weight >= 0 && isfinite(edge->weight);
}

/* Loops that the edge leaves, by their number alone. */
static uint32_t leaves(const struct weigher *weigher, const struct numbering_edge *edge)
{
    uint32_t from = weigher->depths[edge->from];
    uint32_t to = edge->to == NUMBERING_EXIT ? 0 : weigher->depths[edge->to];
    return from > to ? from - to : 0;
}

static bool gets_stuck(const struct weigher *weigher, const struct numbering_edge *edge)
{
    return !numbering_ends(edge) && !weigher->useful[edge->to];
}

static double share(const struct numbering_edge *edge)
{
    return edge->weight < 0 && isfinite(edge->weight) ? -(double)edge->weight : 1;
}

/* The shares among which a block's executions are divided: of ways that stay in its loop, or else
   of all. */
static double sum_shares(const struct weigher *weigher, uint32_t block)
{
    const struct numbering *paths = weigher->paths;
    double stay = 0, all = 0;
    for (uint32_t k = paths->first_out[block]; k < paths->first_out[block + 1]; k++) {
        const struct numbering_edge *edge = &paths->edges[paths->out[k]];
        all += share(edge);
        if (!leaves(weigher, edge) && !gets_stuck(weigher, edge))
            stay += share(edge);
    }
    return stay > 0 ? stay : all;
}

static double guess(const struct weigher *weigher, const struct numbering_edge *edge, double shares)
{
    double weight = weigher->blocks[edge->from] * share(edge) / shares;
    return gets_stuck(weigher, edge) ? RARELY * weight
                                     : weight * pow(LOOP_RUNS, -(double)leaves(weigher, edge));
}

static void weigh_block(struct weigher *weigher, uint32_t block)
{
    const struct numbering *paths = weigher->paths;
    double shares = sum_shares(weigher, block);
    if (weigher->heads[block])
        weigher->blocks[block] *= LOOP_RUNS;
    weigher->blocks[block] = fmin(weigher->blocks[block], WEIGHT_MAX);
    for (uint32_t k = paths->first_out[block]; k < paths->first_out[block + 1]; k++) {
        const struct numbering_edge *edge = &paths->edges[paths->out[k]];
        double weight = is_given(edge) ? (double)edge->weight : guess(weigher, edge, shares);
        weigher->edges[paths->out[k]] = weight;
        if (edge->to != NUMBERING_EXIT && !(edge->flags & NUMBERING_RETREATING))
            weigher->blocks[edge->to] += weight;
    }
}

/* What leaves a block and has not come by an edge has entered there. Guesses do not add up so. */
static double entered(const struct weigher *weigher, uint32_t block)
{
    const struct numbering *paths = weigher->paths;
    double sum = 0;
    for (uint32_t k = paths->first_out[block]; k < paths->first_out[block + 1]; k++) {
        if (!is_given(&paths->edges[paths->out[k]]))
            return block ? RARELY : 1;
        sum += weigher->edges[paths->out[k]];
    }
    for (uint32_t k = paths->first_in[block]; k < paths->first_in[block + 1]; k++)
        sum -= weigher->edges[paths->in[k]];
    return fmax(sum, 0);
}

static void weigh(struct weigher *weigher, double *roots)
{
    const struct numbering *paths = weigher->paths;
    for (uint32_t b = 0; b < paths->blocks_count; b++)
        if (paths->kinds[b] & START_ROOT)
            weigher->blocks[b] = b ? RARELY : 1;
    for (uint32_t i = paths->blocks_count; i-- > 0;)
        weigh_block(weigher, paths->order[i]);
    for (uint32_t b = 0; b < paths->blocks_count; b++)
        roots[b] = paths->kinds[b] & START_ROOT ? entered(weigher, b) : 0;
}

/* blocks: room for as many, zeroed. */
static enum base_status weigh_with(const struct numbering *paths, const bool *useful, double *edges,
                                   double *blocks, double *roots)
{
    size_t count = paths->blocks_count;
    struct weigher weigher = {.paths = paths,
                              .useful = useful,
                              .edges = edges,
                              .blocks = blocks,
                              .depths = numbering_array(count, sizeof(uint32_t)),
                              .heads = numbering_array(count, sizeof(bool))};
    enum base_status status = BASE_NO_MEMORY;
    if (weigher.depths && weigher.heads)
        status = numbering_loops(paths, weigher.depths, weigher.heads);
    if (status == BASE_OK)
        weigh(&weigher, roots);
    free(weigher.depths);
    free(weigher.heads);
    return status;
}

enum base_status numbering_weigh(const struct numbering *paths, const bool *useful, double *edges,
                                 double *roots)
{
    double *blocks = numbering_array(paths->blocks_count, sizeof *blocks);
    enum base_status status =
        blocks ? weigh_with(paths, useful, edges, blocks, roots) : BASE_NO_MEMORY;
    free(blocks);
    return status;
}

enum base_status numbering_frequencies(const struct numbering *paths, double *blocks)
{
    size_t count = paths->blocks_count;
    double *edges = numbering_array(paths->edges_count + count, sizeof *edges);
    bool *useful = numbering_array(count, sizeof *useful);
    enum base_status status = BASE_NO_MEMORY;
    if (edges && useful) {
        memset(blocks, 0, count * sizeof *blocks);
        numbering_useful(paths, useful);
        status = weigh_with(paths, useful, edges, blocks, edges + paths->edges_count);
    }
    free(edges);
    free(useful);
    return status;
}
