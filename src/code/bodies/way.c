// SPDX-License-Identifier: MIT
/* Ways through a loop, from its head back to it. */
#include "bodies/internal.h"

#include <stdlib.h>

bool innermost_make(struct innermost *innermost, const struct cfg *flow)
{
    size_t blocks = flow->blocks_count, loops = flow->loops_count;
    *innermost =
        (struct innermost){.flow = flow,
                           .outer = calloc(loops, sizeof *innermost->outer),
                           .first = calloc(loops + 2, sizeof *innermost->first),
                           .members = calloc(blocks + 1, sizeof *innermost->members),
                           .ways = calloc(3 * blocks + 1, sizeof *innermost->ways),
                           .open = calloc(blocks + 1, sizeof *innermost->open),
                           .way = {.blocks = calloc(blocks + 1, sizeof *innermost->way.blocks)}};
    if (!innermost->outer || !innermost->first || !innermost->members || !innermost->ways ||
        !innermost->open || !innermost->way.blocks)
        return false;
    innermost->stack = innermost->ways + blocks;
    innermost->next = innermost->ways + 2 * blocks;
    for (size_t l = 1; l < loops; l++)
        innermost->outer[flow->loops[l].parent] = true;
    uint32_t *end =
        innermost->first + 1; /* counts, then where each list ends so far, at last where it ends */
    for (size_t b = 0; b < blocks; b++)
        end[flow->blocks[b].loop + 1]++;
    for (size_t l = 1; l <= loops; l++)
        end[l] += end[l - 1];
    for (uint32_t b = 0; b < blocks; b++)
        innermost->members[end[flow->blocks[b].loop]++] = b;
    return true;
}

void innermost_free(struct innermost *innermost)
{
    free(innermost->outer);
    free(innermost->first);
    free(innermost->members);
    free(innermost->ways);
    free(innermost->open);
    free(innermost->way.blocks);
}

static bool stays(const struct cfg *flow, uint32_t loop, const struct cfg_edge *edge)
{
    return flow->blocks[edge->to].loop == loop;
}

/* Along memory, without a taken branch? */
static bool falls(const struct cfg *flow, const struct cfg_edge *edge)
{
    return edge->kind == CFG_FALL && flow->blocks[edge->from].end == flow->blocks[edge->to].start;
}

static bool is_better(const struct cfg *flow, const struct cfg_edge *edge,
                      const struct cfg_edge *best, bodies_weigh *weigh, void *context)
{
    if (!best)
        return true;
    const struct cfg_block *to = &flow->blocks[edge->to], *against = &flow->blocks[best->to];
    double weight = weigh ? weigh(context, to->start, to->end) / (double)(to->end - to->start) : 0;
    double other = weigh ? weigh(context, against->start, against->end) /
                               (double)(against->end - against->start)
                         : 0;
    return weight != other ? weight > other : falls(flow, edge) && !falls(flow, best);
}

bool way_through(struct innermost *innermost, uint32_t loop, bodies_weigh *weigh, void *context)
{
    const struct cfg *flow = innermost->flow;
    struct way *way = &innermost->way;
    uint32_t head = flow->loops[loop].head, at = head;
    way->count = way->taken = 0;
    do {
        const struct cfg_block *block = &flow->blocks[at];
        const struct cfg_edge *best = NULL;
        way->blocks[way->count++] = at;
        for (uint32_t e = 0; e < block->edges; e++) {
            const struct cfg_edge *edge = &flow->edges[block->first_edge + e];
            if (stays(flow, loop, edge) && is_better(flow, edge, best, weigh, context))
                best = edge;
        }
        if (!best)
            return false;
        way->taken += !falls(flow, best);
        at = best->to;
    } while (at != head && way->count < flow->blocks_count);
    return at == head;
}

/* ---- how many --------------------------------------------------------------------------------------- */

/* Sums up a block whose successors are known. */
static uint32_t sum_of(const struct innermost *innermost, uint32_t loop, uint32_t block)
{
    const struct cfg *flow = innermost->flow;
    uint64_t sum = 0;
    for (uint32_t e = 0; e < flow->blocks[block].edges; e++) {
        const struct cfg_edge *edge = &flow->edges[flow->blocks[block].first_edge + e];
        if (stays(flow, loop, edge))
            sum += edge->to == flow->loops[loop].head ? 1 : innermost->ways[edge->to];
    }
    return sum < BODIES_WAYS_MAX ? (uint32_t)sum : BODIES_WAYS_MAX;
}

/* Depth first. False: a circuit that does not go through the head. */
static bool count_from(struct innermost *innermost, uint32_t loop, uint32_t head)
{
    const struct cfg *flow = innermost->flow;
    uint32_t depth = 0;
    innermost->stack[depth++] = head;
    innermost->open[head] = true;
    while (depth) {
        uint32_t block = innermost->stack[depth - 1];
        const struct cfg_block *from = &flow->blocks[block];
        if (innermost->next[block] == from->edges) {
            innermost->ways[block] = sum_of(innermost, loop, block);
            innermost->open[block] = false;
            depth--;
            continue;
        }
        const struct cfg_edge *edge = &flow->edges[from->first_edge + innermost->next[block]++];
        if (!stays(flow, loop, edge) || edge->to == head || innermost->ways[edge->to] != UINT32_MAX)
            continue;
        if (innermost->open[edge->to])
            return false;
        innermost->open[edge->to] = true;
        innermost->stack[depth++] = edge->to;
    }
    return true;
}

uint32_t ways_through(struct innermost *innermost, uint32_t loop)
{
    uint32_t head = innermost->flow->loops[loop].head;
    for (uint32_t m = innermost->first[loop]; m < innermost->first[loop + 1]; m++) {
        uint32_t block = innermost->members[m];
        innermost->ways[block] = UINT32_MAX;
        innermost->next[block] = 0;
        innermost->open[block] = false;
    }
    if (innermost->flow->blocks[head].loop != loop || !count_from(innermost, loop, head))
        return 0;
    return innermost->ways[head];
}
