// SPDX-License-Identifier: MIT
/* From instructions and jumps to blocks and edges; questions about them. */
#include "cfg/internal.h"

#include "isa/isa.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* ---- blocks -------------------------------------------------------------------------------- */

struct maker {
    const struct walk *walk;
    struct cfg *flow;
    size_t blocks_capacity, edges_capacity;
    uint32_t jump; /* the first of the jumps, by `at`, that no block has taken yet */
};

static int compare_jumps(const void *left, const void *right)
{
    const struct jump *a = left, *b = right;
    return (a->at > b->at) - (a->at < b->at);
}

static bool is_start(const struct walk *walk, uint32_t at)
{
    return (walk->marks[at] & MARK_LEADER) && (walk->marks[at] & MARK_LENGTH);
}

/* The block's instructions: how many, the last one, where they end. */
static void extend(const struct walk *walk, uint32_t at, struct cfg_block *block)
{
    uint32_t last;
    do {
        last = at;
        at += walk->marks[at] & MARK_LENGTH;
        block->instructions++;
    } while (!(walk->marks[last] & MARK_ENDS) && at < walk->code->count &&
             (walk->marks[at] & MARK_LENGTH) && !(walk->marks[at] & MARK_LEADER));
    block->last = walk->code->start + last;
    block->end = walk->code->start + at;
}

static bool make_blocks(struct maker *maker)
{
    const struct walk *walk = maker->walk;
    struct cfg *flow = maker->flow;
    for (uint32_t at = 0; at < walk->code->count; at++) {
        if (!is_start(walk, at))
            continue;
        if (!UTIL_GROW(flow->blocks, maker->blocks_capacity, flow->blocks_count))
            return false;
        struct cfg_block *block = &flow->blocks[flow->blocks_count++];
        *block = (struct cfg_block){.start = walk->code->start + at};
        block->flags = walk->marks[at] & MARK_ROOT ? CFG_ROOT : 0;
        extend(walk, at, block);
    }
    return true;
}

static uint32_t block_from(const struct cfg *flow, uint64_t start)
{
    uint32_t low = BASE_FIRST(i, flow->blocks_count, flow->blocks[i].start >= start);
    return low < flow->blocks_count && flow->blocks[low].start == start ? low : CFG_NONE;
}

static bool add_edge(struct maker *maker, uint32_t from, uint64_t target, uint32_t kind)
{
    struct cfg *flow = maker->flow;
    uint32_t to = block_from(flow, target);
    if (to == CFG_NONE) { /* what is there is no instruction */
        flow->blocks[from].flags |= CFG_STOPS;
        return true;
    }
    if (!UTIL_GROW(flow->edges, maker->edges_capacity, flow->edges_count))
        return false;
    flow->edges[flow->edges_count++] = (struct cfg_edge){from, to, kind};
    return true;
}

/* Jumps by the instruction that makes them: walk->into then holds the number + 1 of the first. */
static void index_jumps(struct walk *walk)
{
    if (walk->jumps_count)
        qsort(walk->jumps, walk->jumps_count, sizeof *walk->jumps, compare_jumps);
    memset(walk->into, 0, walk->code->count * sizeof *walk->into);
    for (uint32_t i = walk->jumps_count; i > 0; i--)
        walk->into[walk->jumps[i - 1].at] = i;
}

static bool add_jumps(struct maker *maker, uint32_t number, uint32_t at)
{
    const struct walk *walk = maker->walk;
    for (uint32_t i = walk->into[at]; i && i <= walk->jumps_count; i++) {
        const struct jump *jump = &walk->jumps[i - 1];
        if (jump->at != at)
            break;
        maker->flow->blocks[number].flags |= jump->flags;
        if (jump->to != CFG_NONE &&
            !add_edge(maker, number, walk->code->start + jump->to, jump->kind))
            return false;
    }
    return true;
}

static bool make_edges(struct maker *maker, uint32_t number)
{
    const struct walk *walk = maker->walk;
    struct cfg_block *block = &maker->flow->blocks[number];
    uint32_t at = (uint32_t)(block->start - walk->code->start), last = at;
    for (uint32_t i = 0; i < block->instructions; i++) {
        if (!add_jumps(maker, number, at))
            return false;
        last = at;
        at += walk->marks[at] & MARK_LENGTH;
    }
    if (walk->marks[last] & MARK_ENDS)
        return true;
    if (at < walk->code->count)
        return add_edge(maker, number, block->end, CFG_FALL);
    block->flags |= CFG_LEAVES;
    return true;
}

static bool make(struct walk *walk, struct cfg *flow)
{
    struct maker maker = {.walk = walk, .flow = flow};
    if (!make_blocks(&maker))
        return false;
    index_jumps(walk);
    for (uint32_t i = 0; i < flow->blocks_count; i++) {
        if (!make_edges(&maker, i))
            return false;
        if (flow->blocks[i].flags & CFG_UNRESOLVED)
            flow->flags |= CFG_INCOMPLETE;
    }
    return graph_link(flow) && graph_analyse(flow);
}

/* ---- whole functions ------------------------------------------------------------------------- */

static struct cfg *new_flow(void)
{
    struct cfg *flow = calloc(1, sizeof *flow);
    if (!flow)
        return NULL;
    flow->loops = calloc(1, sizeof *flow->loops);
    flow->loops_count = 1;
    if (!flow->loops) {
        free(flow);
        return NULL;
    }
    flow->loops[0].head = CFG_NONE;
    return flow;
}

enum base_status cfg_of_code(const struct cfg_code *code, struct cfg **flow)
{
    struct isa_insn insn;
    struct walk walk = {.code = code};
    if (code->count > CFG_BYTES_MAX || code->start + code->count < code->start ||
        isa_decode((const uint8_t *)"\x90", 1, 0, &insn) == BASE_UNSUPPORTED)
        return BASE_UNSUPPORTED;
    struct cfg *made = new_flow();
    if (!made)
        return BASE_NO_MEMORY;
    made->start = code->start;
    made->end = code->start + code->count;
    bool good = walk_code(&walk) && make(&walk, made);
    made->instructions = walk.large ? 0 : walk.instructions;
    made->tables = walk.tables;
    if (walk.large)
        made->flags |= CFG_LARGE;
    if (walk.overlapping)
        made->flags |= CFG_OVERLAPPING;
    good = good || (walk.large && !walk.no_memory);
    walk_free(&walk);
    if (!good) {
        cfg_free(made);
        return BASE_NO_MEMORY;
    }
    *flow = made;
    return BASE_OK;
}

enum base_status cfg_of_graph(uint32_t count, const struct cfg_edge *edges, uint32_t edges_count,
                              struct cfg **flow)
{
    if (count > CFG_INSTRUCTIONS_MAX || edges_count > CFG_EDGES_MAX)
        return BASE_UNSUPPORTED;
    for (uint32_t i = 0; i < edges_count; i++)
        if (edges[i].from >= count || edges[i].to >= count)
            return BASE_MALFORMED;
    struct cfg *made = new_flow();
    if (!made)
        return BASE_NO_MEMORY;
    made->end = made->instructions = made->blocks_count = count;
    made->edges_count = edges_count;
    made->blocks = calloc(count + 1, sizeof *made->blocks);
    made->edges = calloc(edges_count + 1, sizeof *made->edges);
    for (uint32_t i = 0; i < count && made->blocks; i++)
        made->blocks[i] = (struct cfg_block){
            .start = i, .end = i + 1, .last = i, .instructions = 1, .flags = i ? 0 : CFG_ROOT};
    if (edges_count && made->edges)
        memcpy(made->edges, edges, edges_count * sizeof *edges);
    if (!made->blocks || !made->edges || !graph_link(made) || !graph_analyse(made)) {
        cfg_free(made);
        return BASE_NO_MEMORY;
    }
    *flow = made;
    return BASE_OK;
}

void cfg_free(struct cfg *flow)
{
    if (!flow)
        return;
    free(flow->blocks);
    free(flow->edges);
    free(flow->into);
    free(flow->loops);
    free(flow);
}

/* ---- questions ------------------------------------------------------------------------------- */

/* Blocks within each other are rare and start close together: the last one that starts before. */
uint32_t cfg_block_at(const struct cfg *flow, uint64_t address)
{
    enum { BACK_MAX = 16 };
    uint32_t low = BASE_FIRST(i, flow->blocks_count, flow->blocks[i].start > address);
    for (uint32_t back = 0; back < BACK_MAX && low > back; back++)
        if (address < flow->blocks[low - back - 1].end)
            return low - back - 1;
    return CFG_NONE;
}

uint32_t cfg_loop_at(const struct cfg *flow, uint64_t address)
{
    uint32_t block = cfg_block_at(flow, address);
    return block == CFG_NONE ? 0 : flow->blocks[block].loop;
}

bool cfg_is_innermost(const struct cfg *flow, uint32_t loop)
{
    for (uint32_t l = 1; l < flow->loops_count; l++)
        if (flow->loops[l].parent == loop)
            return false;
    return true;
}

bool cfg_loop_holds(const struct cfg *flow, uint32_t loop, uint32_t block)
{
    assert(loop < flow->loops_count && block < flow->blocks_count);
    uint32_t at = flow->blocks[block].loop;
    while (at > loop) /* parents are smaller */
        at = flow->loops[at].parent;
    return at == loop && loop != 0;
}

bool cfg_dominates(const struct cfg *flow, uint32_t a, uint32_t b)
{
    assert(a < flow->blocks_count && b < flow->blocks_count);
    while (b != a && b != CFG_NONE)
        b = flow->blocks[b].dominator;
    return b == a;
}

/* ---- check ----------------------------------------------------------------------------------- */

static bool check_block(const struct cfg *flow, uint32_t number)
{
    const struct cfg_block *block = &flow->blocks[number];
    if (block->start < flow->start || block->end > flow->end || block->last < block->start ||
        block->last >= block->end || block->instructions == 0 ||
        (number && block[-1].start >= block->start))
        return false;
    if (block->first_edge > flow->edges_count ||
        block->edges > flow->edges_count - block->first_edge ||
        block->first_into > flow->edges_count ||
        block->into > flow->edges_count - block->first_into || block->loop >= flow->loops_count)
        return false;
    for (uint32_t i = 0; i < block->edges; i++)
        if (flow->edges[block->first_edge + i].from != number ||
            flow->edges[block->first_edge + i].to >= flow->blocks_count)
            return false;
    for (uint32_t i = 0; i < block->into; i++)
        if (flow->edges[flow->into[block->first_into + i]].to != number)
            return false;
    if (block->edges == 0 && !(block->flags & CFG_EXIT) && flow->instructions != flow->end)
        return false;
    return block->dominator == CFG_NONE ||
           (block->dominator < flow->blocks_count && block->dominator != number &&
            flow->blocks[block->dominator].region == block->region);
}

/* An edge leads back from the loop to its head. */
static bool check_loop(const struct cfg *flow, uint32_t number)
{
    const struct cfg_loop *loop = &flow->loops[number];
    if (loop->parent >= number || loop->head >= flow->blocks_count || loop->blocks == 0 ||
        loop->depth != flow->loops[loop->parent].depth + 1 ||
        flow->blocks[loop->head].loop != number)
        return false;
    const struct cfg_block *head = &flow->blocks[loop->head];
    bool back = false;
    for (uint32_t i = 0; i < head->into && !back; i++)
        back = cfg_loop_holds(flow, number, flow->edges[flow->into[head->first_into + i]].from);
    return back;
}

bool cfg_check(const struct cfg *flow)
{
    uint32_t in_edges = 0, out_edges = 0;
    if (flow->loops_count < 1 || flow->loops[0].parent || flow->loops[0].depth)
        return false;
    for (uint32_t i = 0; i < flow->blocks_count; i++) {
        if (!check_block(flow, i))
            return false;
        in_edges += flow->blocks[i].into;
        out_edges += flow->blocks[i].edges;
    }
    for (uint32_t i = 1; i < flow->loops_count; i++)
        if (!check_loop(flow, i))
            return false;
    return in_edges == flow->edges_count && out_edges == flow->edges_count;
}
