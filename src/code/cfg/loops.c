// SPDX-License-Identifier: MIT
/*
 * Loops after P. Havlak, Nesting of Reducible and Irreducible Loops (1997): heads from the
 * innermost out, by descending number of the depth-first search; each takes what reaches its back
 * edges, loops found before counting as one. Chosen over natural loops by dominators because it
 * nests irreducible ones, too; for others it finds the same.
 *
 * An irreducible loop hands its other entries on to the loops around it; in graphs that nobody
 * writes these become quadratically many, hence the limit.
 */
#include "cfg/internal.h"

#include <stdlib.h>

enum { EXTRA_MAX = 1 << 22 };

struct extra {
    uint32_t from, next; /* block number; number + 1 of the next, 0: none */
};

/* Blocks are named by their numbers in the search. */
struct finder {
    struct cfg *flow;
    const struct order *order;
    uint32_t *outer; /* union-find: towards the head that took the block            */
    uint32_t *head;  /* of the innermost loop around it (for heads: of the next one); CFG_NONE */
    uint32_t *taken; /* the last head that has met the block                        */
    uint32_t *body;  /* of the loop that is being found                             */
    uint32_t *extra; /* first item of extras + 1                                    */
    uint8_t *kind;   /* enum kind                                                   */
    struct extra *extras;
    uint32_t body_count, extras_count;
    size_t extras_capacity;
    bool no_memory, complex;
};

enum kind { NO_HEAD, HEAD, IRREDUCIBLE_HEAD };

static bool is_ancestor(const struct finder *finder, uint32_t a, uint32_t b)
{
    return a <= b && b <= finder->order->last[a];
}

/* The outermost loop found so far that holds the block, or itself. Halves the way. */
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
    if (block == head || finder->taken[block] == head + 1)
        return;
    finder->taken[block] = head + 1;
    finder->body[finder->body_count++] = block;
}

/* An entry into the loop that does not come through its head. */
static bool add_entry(struct finder *finder, uint32_t head, uint32_t from)
{
    finder->kind[head] = IRREDUCIBLE_HEAD;
    if (finder->extras_count >= EXTRA_MAX) {
        finder->complex = true;
        return false;
    }
    if (!UTIL_GROW(finder->extras, finder->extras_capacity, finder->extras_count)) {
        finder->no_memory = true;
        return false;
    }
    finder->extras[finder->extras_count++] = (struct extra){from, finder->extra[head]};
    finder->extra[head] = finder->extras_count;
    return true;
}

static bool reach(struct finder *finder, uint32_t head, uint32_t from)
{
    uint32_t block = outermost(finder, from);
    if (!is_ancestor(finder, head, block))
        return add_entry(finder, head, block);
    take(finder, head, block);
    return true;
}

/* What leads to a block of the loop, but for back edges to it. */
static bool reach_back(struct finder *finder, uint32_t head, uint32_t block)
{
    const struct cfg *flow = finder->flow;
    const struct cfg_block *item = &flow->blocks[finder->order->block[block]];
    for (uint32_t i = 0; i < item->into; i++) {
        uint32_t from = flow->edges[flow->into[item->first_into + i]].from;
        uint32_t number = finder->order->number[from];
        if (flow->blocks[from].region == item->region && !is_ancestor(finder, block, number) &&
            !reach(finder, head, number))
            return false;
    }
    for (uint32_t i = finder->extra[block]; i; i = finder->extras[i - 1].next)
        if (!reach(finder, head, finder->extras[i - 1].from))
            return false;
    return true;
}

/* The loop whose head is this block, if there is one. */
static bool find_loop(struct finder *finder, uint32_t head)
{
    const struct cfg *flow = finder->flow;
    const struct cfg_block *item = &flow->blocks[finder->order->block[head]];
    finder->body_count = 0;
    for (uint32_t i = 0; i < item->into; i++) {
        uint32_t from = flow->edges[flow->into[item->first_into + i]].from;
        uint32_t number = finder->order->number[from];
        if (flow->blocks[from].region != item->region || !is_ancestor(finder, head, number))
            continue;
        finder->kind[head] = HEAD;
        take(finder, head, outermost(finder, number));
    }
    for (uint32_t i = 0; i < finder->body_count; i++)
        if (!reach_back(finder, head, finder->body[i]))
            return false;
    for (uint32_t i = 0; i < finder->body_count; i++) {
        finder->head[finder->body[i]] = head;
        finder->outer[finder->body[i]] = head;
    }
    return true;
}

/* ---- result ---------------------------------------------------------------------------------- */

/* Heads come before what they hold. */
static bool store(struct finder *finder)
{
    struct cfg *flow = finder->flow;
    uint32_t count = 1;
    for (uint32_t i = 0; i < flow->blocks_count; i++)
        count += finder->kind[i] != NO_HEAD;
    struct cfg_loop *loops = calloc(count, sizeof *loops);
    if (!loops)
        return false;
    loops[0].head = CFG_NONE;
    count = 1;
    for (uint32_t i = 0; i < flow->blocks_count; i++) {
        struct cfg_block *block = &flow->blocks[finder->order->block[i]];
        uint32_t around = finder->head[i];
        block->loop = around == CFG_NONE ? 0 : flow->blocks[finder->order->block[around]].loop;
        if (finder->kind[i] == NO_HEAD)
            continue;
        loops[count] =
            (struct cfg_loop){.parent = block->loop,
                              .head = finder->order->block[i],
                              .depth = loops[block->loop].depth + 1,
                              .flags = finder->kind[i] == IRREDUCIBLE_HEAD ? CFG_IRREDUCIBLE : 0};
        block->loop = count++;
    }
    for (uint32_t i = 0; i < flow->blocks_count; i++)
        loops[flow->blocks[i].loop].blocks++;
    for (uint32_t i = count - 1; i > 0; i--)
        if (loops[i].parent)
            loops[loops[i].parent].blocks += loops[i].blocks;
    loops[0].blocks = 0;
    free(flow->loops);
    flow->loops = loops;
    flow->loops_count = count;
    return true;
}

bool loops_find(struct cfg *flow, const struct order *order, bool *complex)
{
    size_t count = (size_t)flow->blocks_count + 1;
    struct finder finder = {.flow = flow, .order = order, .kind = calloc(count, 1)};
    finder.outer = calloc(5 * count, sizeof *finder.outer);
    bool good = finder.kind && finder.outer;
    finder.head = good ? finder.outer + count : NULL;
    finder.taken = good ? finder.outer + 2 * count : NULL;
    finder.body = good ? finder.outer + 3 * count : NULL;
    finder.extra = good ? finder.outer + 4 * count : NULL;
    for (uint32_t i = 0; i < flow->blocks_count && good; i++) {
        finder.outer[i] = i;
        finder.head[i] = CFG_NONE;
    }
    for (uint32_t i = flow->blocks_count; i > 0 && good; i--)
        good = find_loop(&finder, i - 1);
    good = good && store(&finder);
    *complex = finder.complex;
    free(finder.kind);
    free(finder.outer);
    free(finder.extras);
    return good;
}
