// SPDX-License-Identifier: MIT
/* All ways through a loop, from its head back to it. */
#include "clone/internal.h"

#include <stdlib.h>
#include <string.h>

struct search {
    struct body *body;
    uint32_t *path; /* indices of blocks */
    bool *open;
};

static bool keep_way(struct search *search, uint32_t count)
{
    struct body *body = search->body;
    if (body->way_count == CLONE_WAYS_MAX)
        return refuse(body, CLONE_LONG, 0);
    struct way *way = &body->ways[body->way_count];
    way->blocks = calloc(count, sizeof *way->blocks);
    if (!way->blocks)
        return out_of_memory(body);
    memcpy(way->blocks, search->path, count * sizeof *way->blocks);
    way->count = count;
    body->way_count++;
    return true;
}

/* The loop is reducible and innermost: every circle goes through the head, and depth is bounded by its blocks. */
static bool follow(struct search *search, uint32_t index, uint32_t depth)
{
    struct body *body = search->body;
    const struct cfg *flow = body->request->flow;
    const struct cfg_block *block = &flow->blocks[body->blocks[index]];
    bool good = true;
    if (search->open[index] || depth >= CLONE_INSTRUCTIONS_MAX)
        return refuse(body, CLONE_NO_LOOP, block->start);
    search->open[index] = true;
    search->path[depth] = index;
    for (uint32_t e = 0; e < block->edges && good; e++) {
        const struct cfg_edge *edge = &flow->edges[block->first_edge + e];
        uint32_t to = body_index(body, edge->to);
        if (to == NONE)
            continue;
        good = edge->kind == CFG_TABLE ? refuse(body, CLONE_INDIRECT, block->last)
               : to == body->head      ? keep_way(search, depth + 1)
                                       : follow(search, to, depth + 1);
    }
    search->open[index] = false;
    return good;
}

bool ways_find(struct body *body)
{
    struct search search = {.body = body,
                            .path = calloc(body->block_count, sizeof *search.path),
                            .open = calloc(body->block_count, sizeof *search.open)};
    bool good = search.path && search.open ? follow(&search, body->head, 0) : out_of_memory(body);
    free(search.path);
    free(search.open);
    body->out->ways = body->way_count;
    return good && (body->way_count || refuse(body, CLONE_NO_LOOP, 0));
}

bool way_block(struct body *body, const struct way *way, struct bounds_block *block)
{
    for (uint32_t w = 0; w < way->count; w++)
        for (uint32_t i = body->first[way->blocks[w]]; i < body->first[way->blocks[w] + 1]; i++)
            if (!UTIL_PUSH(block->instructions, block->count, block->capacity,
                           body->code.instructions[i]))
                return out_of_memory(body);
    return true;
}

uint32_t way_instruction(const struct body *body, const struct way *way, uint32_t number)
{
    for (uint32_t w = 0; w < way->count; w++) {
        uint32_t first = body->first[way->blocks[w]],
                 count = body->first[way->blocks[w] + 1] - first;
        if (number < count)
            return first + number;
        number -= count;
    }
    return NONE;
}
