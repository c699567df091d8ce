// SPDX-License-Identifier: MIT
/*
 * Gates of innermost loops, for `headroom ceiling`: a nop on each edge that leads into one from outside, where it can put a jump
 * while the program runs. The loop itself stays as it is, to the byte: what comes before it is what is moved.
 *
 * A loop gets gates on all its ways in, or none: executions that come in elsewhere would not be seen. None has one that the
 * unwinder, longjmp, or a computed goto leads into, or a table of jumps.
 *
 * Loops are found as room cfg finds them, by dominators (Cooper, Harvey, Kennedy 2001) and the edges that lead back: a head that dominates
 * where they come from.
 */
#include "instrument/internal.h"

#include <stdlib.h>
#include <string.h>

#define NONE UINT32_MAX

struct graph {
    struct work *work;
    uint32_t blocks;
    uint32_t *into, *first_into; /* edges by block that they lead to; first_into: blocks + 1 */
    uint32_t *order, *place;     /* reverse postorder; where a block is in it, NONE: not reached */
    uint32_t *dominator;         /* by place; of what is entered from outside: 0, a root of all */
    uint32_t *seen; /* by block: head + 1 of the loop that was collected last with it */
    uint32_t *body;
    uint8_t *heads;
    uint8_t *inner; /* is it in an innermost loop? */
    uint32_t ordered;
};

static const struct asm_edge *edge_at(const struct graph *graph, uint32_t edge)
{
    return &graph->work->file->edges[edge];
}

/* ---- the graph ------------------------------------------------------------------------------- */

static bool allocate(struct graph *graph)
{
    uint32_t edges = 0;
    size_t count = (size_t)graph->blocks + 2;
    for (uint32_t b = 0; b < graph->blocks; b++)
        edges += graph->work->blocks[b].edges;
    graph->into = calloc((size_t)edges + 1, sizeof *graph->into);
    graph->first_into = calloc(count, sizeof *graph->first_into);
    graph->order = calloc(count, sizeof *graph->order);
    graph->place = calloc(count, sizeof *graph->place);
    graph->dominator = calloc(count, sizeof *graph->dominator);
    graph->seen = calloc(count, sizeof *graph->seen);
    graph->body = calloc(count, sizeof *graph->body);
    graph->heads = calloc(count, sizeof *graph->heads);
    graph->inner = calloc(count, sizeof *graph->inner);
    return graph->into && graph->first_into && graph->order && graph->place && graph->dominator &&
           graph->seen && graph->body && graph->heads && graph->inner;
}

static void release(struct graph *graph)
{
    free(graph->into);
    free(graph->first_into);
    free(graph->order);
    free(graph->place);
    free(graph->dominator);
    free(graph->seen);
    free(graph->body);
    free(graph->heads);
    free(graph->inner);
}

static void sort_edges(struct graph *graph)
{
    const struct asm_block *blocks = graph->work->blocks;
    for (unsigned pass = 0; pass < 2; pass++) {
        for (uint32_t b = 0; b < graph->blocks; b++)
            for (uint32_t e = 0; e < blocks[b].edges; e++) {
                uint32_t to = edge_at(graph, blocks[b].first_edge + e)->to;
                if (to == ASM_NONE)
                    continue;
                if (pass)
                    graph->into[graph->first_into[to]++] = blocks[b].first_edge + e;
                else
                    graph->first_into[to + 1]++;
            }
        for (uint32_t b = 0; b < graph->blocks && !pass; b++)
            graph->first_into[b + 1] += graph->first_into[b];
    }
    for (uint32_t b = graph->blocks; b > 0; b--)
        graph->first_into[b] = graph->first_into[b - 1];
    graph->first_into[0] = 0;
}

static bool is_arrival(const struct graph *graph, uint32_t block)
{
    return block == 0 || graph->work->blocks[block].flags &
                             (ASM_BLOCK_LANDING | ASM_BLOCK_GOTO | ASM_BLOCK_SETJMP);
}

/* Everything that is reached from one root, behind what was ordered before. body and seen: a stack, and edges that were followed. */
static void order_from(struct graph *graph, uint32_t root, uint32_t *last)
{
    const struct asm_block *blocks = graph->work->blocks;
    uint32_t depth = 0;
    if (graph->place[root] != NONE)
        return;
    graph->place[root] = 0;
    graph->body[depth++] = root;
    while (depth) {
        uint32_t block = graph->body[depth - 1];
        if (graph->seen[block] == blocks[block].edges) {
            graph->order[--*last] = block;
            depth--;
            continue;
        }
        uint32_t to = edge_at(graph, blocks[block].first_edge + graph->seen[block]++)->to;
        if (to != ASM_NONE && graph->place[to] == NONE) {
            graph->place[to] = 0;
            graph->body[depth++] = to;
        }
    }
}

/* order[1 ...]: place 0 stands for what is outside. */
static void order_blocks(struct graph *graph)
{
    uint32_t last = graph->blocks + 1;
    memset(graph->place, 0xff, (graph->blocks + 1) * sizeof *graph->place);
    for (uint32_t b = graph->blocks; b-- > 0;)
        if (is_arrival(graph, b))
            order_from(graph, b, &last);
    graph->ordered = graph->blocks + 1 - last;
    memmove(graph->order + 1, graph->order + last, graph->ordered * sizeof *graph->order);
    for (uint32_t i = 1; i <= graph->ordered; i++)
        graph->place[graph->order[i]] = i;
    memset(graph->seen, 0, (graph->blocks + 1) * sizeof *graph->seen);
}

static uint32_t common(const struct graph *graph, uint32_t a, uint32_t b)
{
    while (a != b) {
        while (a > b)
            a = graph->dominator[a];
        while (b > a)
            b = graph->dominator[b];
    }
    return a;
}

static uint32_t dominator_of(const struct graph *graph, uint32_t block)
{
    uint32_t found = is_arrival(graph, block) ? 0 : NONE;
    for (uint32_t i = graph->first_into[block]; i < graph->first_into[block + 1]; i++) {
        uint32_t from = graph->place[edge_at(graph, graph->into[i])->from];
        if (from == NONE || graph->dominator[from] == NONE)
            continue;
        found = found == NONE ? from : common(graph, found, from);
    }
    return found;
}

static void find_dominators(struct graph *graph)
{
    memset(graph->dominator, 0xff, (graph->ordered + 1) * sizeof *graph->dominator);
    graph->dominator[0] = 0;
    for (bool changed = true; changed;) {
        changed = false;
        for (uint32_t i = 1; i <= graph->ordered; i++) {
            uint32_t found = dominator_of(graph, graph->order[i]);
            changed |= found != graph->dominator[i];
            graph->dominator[i] = found;
        }
    }
}

/* ---- loops ----------------------------------------------------------------------------------- */

static bool leads_back(const struct graph *graph, const struct asm_edge *edge)
{
    uint32_t from = graph->place[edge->from], to = graph->place[edge->to];
    if (from == NONE || to == NONE)
        return false;
    while (from > to)
        from = graph->dominator[from];
    return from == to;
}

static void find_heads(struct graph *graph)
{
    for (uint32_t b = 0; b < graph->blocks; b++)
        for (uint32_t i = graph->first_into[b]; i < graph->first_into[b + 1]; i++)
            graph->heads[b] |= leads_back(graph, edge_at(graph, graph->into[i]));
}

/* Marks the blocks of the loop with that head. False: it is around others. */
static bool collect(struct graph *graph, uint32_t head)
{
    uint32_t count = 0, mark = head + 1;
    graph->seen[head] = mark;
    for (uint32_t i = graph->first_into[head]; i < graph->first_into[head + 1]; i++) {
        const struct asm_edge *edge = edge_at(graph, graph->into[i]);
        if (leads_back(graph, edge) && graph->seen[edge->from] != mark) {
            graph->seen[edge->from] = mark;
            graph->body[count++] = edge->from;
        }
    }
    while (count) {
        uint32_t block = graph->body[--count];
        if (graph->heads[block])
            return false;
        for (uint32_t i = graph->first_into[block]; i < graph->first_into[block + 1]; i++) {
            uint32_t from = edge_at(graph, graph->into[i])->from;
            if (graph->place[from] != NONE && graph->seen[from] != mark) {
                graph->seen[from] = mark;
                graph->body[count++] = from;
            }
        }
    }
    return true;
}

static void note_inner(struct graph *graph, uint32_t head)
{
    for (uint32_t b = 0; b < graph->blocks; b++)
        graph->inner[b] |= graph->seen[b] == head + 1;
}

/* ---- gates ----------------------------------------------------------------------------------- */

/* Can each edge into the loop have one? */
static bool has_ways(const struct graph *graph, uint32_t head)
{
    const struct work *work = graph->work;
    if (head && is_arrival(graph, head))
        return false;
    for (uint32_t i = graph->first_into[head]; i < graph->first_into[head + 1]; i++) {
        const struct asm_edge *edge = edge_at(graph, graph->into[i]);
        bool inside = graph->seen[edge->from] == head + 1;
        if (!inside && edge->kind != ASM_FALL && edge->kind != ASM_JUMP && edge->kind != ASM_TAKEN)
            return false;
        /* what is led around would be in the other loop */
        if (!inside && edge->kind == ASM_TAKEN &&
            (graph->inner[edge->from] ||
             !place_can_invert(&work->file->statements[edge->statement])))
            return false;
    }
    return true;
}

static void put_gate(struct work *work, struct util_text *text)
{
    unsigned number = work->number, gate = work->gates++;
    util_text_print(text,
                    LABEL_FORMAT ":\n\t{disp8} nopl\t0(%%rax,%%rax)\n"
                                 "\t.reloc\t" LABEL_FORMAT ",R_X86_64_NONE," LABEL_FORMAT "\n",
                    number, "g", gate, number, "g", gate, number, "l", gate);
}

static void put_entry(struct work *work, uint32_t gate, uint32_t head)
{
    util_text_print(&work->gate_table,
                    LABEL_FORMAT ":\n\t.long\t" LABEL_FORMAT "-.," LABEL_FORMAT "-.\n",
                    work->number, "l", gate, work->number, "g", gate, work->number, "k", head);
}

/* Behind the block. Debug information names what follows a call: that label stays with it. */
static uint32_t behind_block(const struct work *work, uint32_t block, uint32_t head)
{
    uint32_t at = work->blocks[block].last;
    if (place_is_call(work, at))
        while (at + 1 < work->blocks[head].label &&
               work->file->statements[at + 1].kind == ASM_LABEL)
            at++;
    return at;
}

static void place_gate(struct work *work, const struct asm_edge *edge, uint32_t head)
{
    struct util_text text = {0};
    uint32_t gate = work->gates;
    put_gate(work, &text);
    put_entry(work, gate, head);
    if (edge->kind == ASM_FALL)
        work_edit(work, behind_block(work, edge->from, head), EDIT_AFTER, &text);
    else if (edge->kind == ASM_JUMP)
        work_edit(work, edge->statement, EDIT_BEFORE, &text);
    else
        place_inverted(work, edge->statement, &text);
}

static void place_loop(struct graph *graph, uint32_t head)
{
    struct work *work = graph->work;
    struct util_text label = {0};
    for (uint32_t i = graph->first_into[head]; i < graph->first_into[head + 1]; i++) {
        const struct asm_edge *edge = edge_at(graph, graph->into[i]);
        if (graph->seen[edge->from] != head + 1 && graph->place[edge->from] != NONE)
            place_gate(work, edge, head);
    }
    if (!head) { /* callers enter it */
        struct util_text text = {0};
        put_entry(work, work->gates, head);
        put_gate(work, &text);
        work_edit(work, work->function->entry, EDIT_BEFORE, &text);
    }
    util_text_print(&label, LABEL_FORMAT ":\n", work->number, "k", head);
    work_edit(work, work->blocks[head].first, EDIT_BEFORE, &label);
    work->gated++;
}

void gates_place(struct work *work)
{
    struct graph graph = {.work = work, .blocks = work->function->blocks};
    if (!allocate(&graph)) {
        work->out_of_memory = true;
        release(&graph);
        return;
    }
    sort_edges(&graph);
    order_blocks(&graph);
    find_dominators(&graph);
    find_heads(&graph);
    for (uint32_t b = 0; b < graph.blocks; b++)
        if (graph.heads[b] && collect(&graph, b))
            note_inner(&graph, b);
    for (uint32_t b = 0; b < graph.blocks; b++)
        if (graph.heads[b] && collect(&graph, b)) {
            work->loops++;
            if (has_ways(&graph, b))
                place_loop(&graph, b);
        }
    release(&graph);
    work->out_of_memory |= work->gate_table.failed;
}

void gates_list(struct work *work)
{
    struct util_text text = {0};
    if (!work->gates || work->out_of_memory)
        return;
    map_section(&text, work, "headroom_loops", "ao", "progbits");
    util_text_print(&text, "\t.balign\t4\n%s", work->gate_table.bytes);
    work->out_of_memory |= text.failed || !asm_append(work->file, text.bytes);
    util_text_free(&text);
}
