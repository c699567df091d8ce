// SPDX-License-Identifier: MIT
/*
 * The function's graph as `numbering` wants it. Three places end a path and begin another besides the
 * back edges, because no code can be put on the edge itself: computed gotos, calls that may return
 * twice, and landing pads. Where control leaves from is an exit, where it arrives a root.
 */
#include "instrument/internal.h"

#include <stdlib.h>

enum { ARRAY_MAX = 1 << 16, CONTEXT_ARRAY_MAX = 1 << 12 };
static const uint64_t most_hash = UINT64_C(1) << 40; /* are hashed rather than split */

static bool ends_path(const struct work *work, const struct asm_edge *edge)
{
    return edge->to == ASM_NONE || edge->kind == ASM_GOTO ||
           (work->blocks[edge->to].flags & ASM_BLOCK_SETJMP && edge->kind == ASM_FALL);
}

/* Does the compiler keep the block away from what is executed in a row? It is entered by jumps only
   and goes back to text before it. */
static bool out_of_line(const struct work *work, uint32_t number)
{
    const struct asm_block *block = &work->blocks[number];
    const struct asm_edge *edges = edges_of(work, block);
    bool fallen_into = false;
    for (uint32_t i = 0; number && i < block[-1].edges; i++)
        fallen_into |= edges_of(work, block - 1)[i].kind == ASM_FALL;
    return !fallen_into && block->edges == 1 && edges->kind == ASM_JUMP && edges->to < number;
}

static bool stops(const struct work *work, const struct asm_block *block)
{
    return block->edges == 1 && edges_of(work, block)->kind == ASM_STOP;
}

/*
 * The share of an edge among those of its block: compilers let control fall through to what they
 * think likely, and put what they think unlikely aside; and a way with a call is taken less often
 * than one without (Ball, Larus 1993, "Branch Prediction for Free": 22 %).
 */
static float share_of(const struct work *work, const struct asm_block *block,
                      const struct asm_edge *edge)
{
    const struct asm_edge *edges = edges_of(work, block);
    const struct asm_block *to = edge->to == ASM_NONE ? NULL : &work->blocks[edge->to];
    bool other_calls = false;
    float share = edge->kind == ASM_TAKEN ? 0.5F : 1;
    if (!to)
        return share;
    if (to->flags & ASM_BLOCK_COLD || stops(work, to))
        return 0.001F;
    for (uint32_t i = 0; i < block->edges; i++)
        if (&edges[i] != edge && edges[i].to != ASM_NONE)
            other_calls |= work->blocks[edges[i].to].flags & ASM_BLOCK_CALLS;
    if (to->flags & ASM_BLOCK_CALLS && !other_calls)
        share *= 0.28F;
    return out_of_line(work, edge->to) ? share / 2 : share;
}

static void add_block(struct work *work, uint32_t number)
{
    const struct asm_block *block = &work->blocks[number];
    struct numbering_graph *graph = &work->graph;
    if (block->flags & (ASM_BLOCK_LANDING | ASM_BLOCK_GOTO | ASM_BLOCK_SETJMP) ||
        !(block->flags & ASM_BLOCK_REACHED))
        work->graph_flags[number] |= NUMBERING_ROOT;
    uint32_t goto_edge = UINT32_MAX;
    for (uint32_t i = 0; i < block->edges; i++) {
        const struct asm_edge *edge = &edges_of(work, block)[i];
        uint32_t at = block->first_edge - work->blocks[0].first_edge + i;
        if (edge->to != ASM_NONE)
            work->incoming[edge->to]++;
        if (edge->kind == ASM_GOTO && goto_edge != UINT32_MAX) {
            work->edge_of[at] = goto_edge; /* one way out for all its targets */
            continue;
        }
        work->edge_of[at] = graph->edges_count;
        if (edge->kind == ASM_GOTO)
            goto_edge = graph->edges_count;
        graph->edges[graph->edges_count++] = (struct numbering_edge){
            .from = number,
            .to = ends_path(work, edge) ? NUMBERING_EXIT : edge->to,
            .weight = -share_of(work, block, edge),
        };
    }
}

static bool make_graph(struct work *work)
{
    uint32_t count = work->function->blocks;
    const struct asm_block *last = &work->blocks[count - 1];
    uint32_t edges = last->first_edge + last->edges - work->blocks[0].first_edge;
    work->graph_flags = calloc(count, sizeof *work->graph_flags);
    work->incoming = calloc(count, sizeof *work->incoming);
    work->edge_of = calloc(edges + 1, sizeof *work->edge_of);
    work->graph.edges = calloc(edges + 1, sizeof *work->graph.edges);
    if (!work->graph_flags || !work->incoming || !work->edge_of || !work->graph.edges) {
        work->out_of_memory = true;
        return false;
    }
    work->graph.blocks_count = count;
    work->graph.block_flags = work->graph_flags;
    for (uint32_t i = 0; i < count; i++)
        add_block(work, i);
    return true;
}

static bool has_loops(const struct work *work)
{
    for (uint32_t i = 0; i < work->graph.edges_count; i++)
        if (work->graph.edges[i].flags & NUMBERING_RETREATING)
            return true;
    return false;
}

static enum base_status split(struct work *work, uint64_t most)
{
    numbering_free(work->paths);
    work->paths = NULL;
    work->truncated = true;
    enum base_status status = numbering_split(&work->graph, most, &work->paths);
    if (status == BASE_UNSUPPORTED) /* very large functions */
        status = numbering_split(&work->graph, most_hash, &work->paths);
    return status;
}

/*
 * A table by number of path; a hash table; or fewer paths. What has loops ends a path with every
 * round: a hash table there took half of the time of a compressor, so that loops are rather cut off
 * from what is around them.
 */
static enum base_status choose_table(struct work *work)
{
    uint64_t most_array = has_contexts(work) ? CONTEXT_ARRAY_MAX : ARRAY_MAX;
    enum base_status status = numbering_number(&work->graph, &work->paths);
    if (status != BASE_OK)
        return status;
    work->potential_log2 = numbering_log2(work->paths);
    uint64_t count = numbering_count(work->paths);
    if (count > (has_loops(work) ? most_array : most_hash)) {
        status = split(work, most_array);
        if (status != BASE_OK)
            return status;
        count = numbering_count(work->paths);
    }
    work->table_kind = count <= most_array ? INSTRUMENTED_TABLE_ARRAY : INSTRUMENTED_TABLE_HASH;
    work->cells =
        work->table_kind == INSTRUMENTED_TABLE_ARRAY
            ? (uint32_t)count * cells_per_path(work)
            : (uint32_t)((sizeof(struct instrumented_hash) +
                          INSTRUMENTED_HASH_CELLS * sizeof(struct instrumented_hash_cell)) /
                         sizeof(uint64_t));
    return numbering_place(work->paths, &work->plan);
}

bool plan_paths(struct work *work)
{
    if (!make_graph(work))
        return false;
    enum base_status status = BASE_OK;
    if (has_paths(work))
        status = choose_table(work);
    else if (work->options->modes & INSTRUMENTED_COUNT)
        status = numbering_number(&work->graph, &work->paths);
    if (status == BASE_NO_MEMORY)
        work->out_of_memory = true;
    else if (status != BASE_OK)
        work->reason = INSTRUMENTED_SKIP_LARGE;
    return status == BASE_OK;
}

const struct numbering_operation *plan_at(const struct work *work, uint32_t place, uint32_t *count)
{
    uint32_t low = 0, high = work->plan.count;
    while (low < high) {
        uint32_t middle = (low + high) / 2;
        if (work->plan.operations[middle].place < place)
            low = middle + 1;
        else
            high = middle;
    }
    for (high = low; high < work->plan.count && work->plan.operations[high].place == place;)
        high++;
    *count = high - low;
    return work->plan.operations + low;
}
