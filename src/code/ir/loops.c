// SPDX-License-Identifier: MIT
/*
 * Natural loops of a function: blocks by their labels, immediate dominators (Cooper, Harvey, Kennedy: A simple, fast dominance
 * algorithm), edges back to a dominator, and what reaches them.
 */
#include "ir/internal.h"

#include <stdlib.h>
#include <string.h>

enum { BLOCKS_MAX = 20000, NATURALS_MAX = 4000 };

struct graph {
    const struct ir *ir;
    const struct function *function;
    struct block *blocks;
    size_t blocks_count, blocks_capacity;
    uint32_t *edges; /* successors, by block */
    size_t edges_count, edges_capacity;
    uint32_t *by_label;           /* blocks in the order of their labels */
    uint32_t *order, order_count; /* reverse postorder */
    uint32_t *position;           /* in that order; UTIL_NONE: not reached */
    uint32_t *dominator;          /* by block: the immediate one */
    struct natural *naturals;
    size_t naturals_count, naturals_capacity;
};

/* ---- blocks --------------------------------------------------------------------------------------------- */

static bool is_label(const char *line)
{
    return line[0] && line[0] != ' ' && line[0] != '}' && line[0] != ';' && strchr(line, ':');
}

static bool find_blocks(struct graph *graph)
{
    const struct function *function = graph->function;
    for (uint32_t i = function->first + 1; i < function->end; i++) {
        const char *line = graph->ir->lines[i];
        struct block *last = graph->blocks_count ? &graph->blocks[graph->blocks_count - 1] : NULL;
        bool label = is_label(line);
        if (label || (!last && line[0] == ' ')) {
            struct block block = {.first = label ? i + 1 : i, .end = i + 1};
            if (label) {
                block.label = line + (line[0] == '"');
                block.label_bytes = strcspn(block.label, line[0] == '"' ? "\"" : ":");
            }
            if (!UTIL_PUSH(graph->blocks, graph->blocks_count, graph->blocks_capacity, block))
                return false;
        } else if (last && line[0] != '}') {
            last->end = i + 1;
        }
    }
    return true;
}

static int compare_labels(const struct block *block, const char *label, size_t bytes)
{
    if (!block->label)
        return -1;
    return ir_compare(block->label, block->label_bytes, label, bytes);
}

static int by_label(const void *a, const void *b, void *context)
{
    const struct block *blocks = context, *right = &blocks[*(const uint32_t *)b];
    const struct block *left = &blocks[*(const uint32_t *)a];
    return right->label ? compare_labels(left, right->label, right->label_bytes)
                        : left->label != NULL;
}

static uint32_t block_labelled(const struct graph *graph, const char *label, size_t bytes)
{
    size_t low = 0, high = graph->blocks_count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        int order = compare_labels(&graph->blocks[graph->by_label[middle]], label, bytes);
        if (!order)
            return graph->by_label[middle];
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return UTIL_NONE;
}

static bool add_edges(struct graph *graph, const char *line)
{
    for (const char *at = line; (at = strstr(at, "label %"));) {
        at += 7 + (at[7] == '"');
        size_t bytes = at[-1] == '"' ? strcspn(at, "\"") : ir_value_bytes(at - 1) - 1;
        uint32_t to = block_labelled(graph, at, bytes);
        if (to != UTIL_NONE &&
            !UTIL_PUSH(graph->edges, graph->edges_count, graph->edges_capacity, to))
            return false;
    }
    return true;
}

static bool find_edges(struct graph *graph)
{
    size_t count = graph->blocks_count;
    graph->by_label = calloc(count + 1, sizeof *graph->by_label);
    if (!graph->by_label)
        return false;
    for (uint32_t b = 0; b < count; b++)
        graph->by_label[b] = b;
    qsort_r(graph->by_label, count, sizeof *graph->by_label, by_label, graph->blocks);
    for (size_t b = 0; b < count; b++) {
        struct block *block = &graph->blocks[b];
        block->successors = (uint32_t)graph->edges_count;
        for (uint32_t i = block->first; i < block->end; i++)
            if (!add_edges(graph, graph->ir->lines[i]))
                return false;
        block->successors_count = (uint32_t)graph->edges_count - block->successors;
    }
    return true;
}

/* ---- dominators -------------------------------------------------------------------------------------------- */

/* Depth first without recursion: blocks are numbered when all behind them are. */
static bool find_order(struct graph *graph)
{
    size_t count = graph->blocks_count, depth = 0;
    uint32_t *stack = calloc(count + 1, sizeof *stack), *next = calloc(count + 1, sizeof *next);
    bool *seen = calloc(count + 1, sizeof *seen);
    bool good = stack && next && seen;
    uint32_t at = (uint32_t)count;
    if (good && count) {
        stack[depth++] = 0;
        seen[0] = true;
    }
    while (good && depth) {
        uint32_t b = stack[depth - 1];
        const struct block *block = &graph->blocks[b];
        if (next[b] == block->successors_count) {
            graph->order[--at] = b;
            depth--;
            continue;
        }
        uint32_t to = graph->edges[block->successors + next[b]++];
        if (!seen[to]) {
            seen[to] = true;
            stack[depth++] = to;
        }
    }
    graph->order_count = (uint32_t)count - at;
    memmove(graph->order, graph->order + at, graph->order_count * sizeof *graph->order);
    for (uint32_t i = 0; i < graph->order_count; i++)
        graph->position[graph->order[i]] = i;
    free(stack);
    free(next);
    free(seen);
    return good;
}

static uint32_t common_dominator(const struct graph *graph, uint32_t a, uint32_t b)
{
    while (a != b)
        if (graph->position[a] > graph->position[b])
            a = graph->dominator[a];
        else
            b = graph->dominator[b];
    return a;
}

/* Edges forward, in order, until nothing changes. */
static void find_dominators(struct graph *graph)
{
    bool changed = graph->order_count > 0;
    if (changed)
        graph->dominator[0] = 0;
    while (changed) {
        changed = false;
        for (uint32_t i = 0; i < graph->order_count; i++) {
            uint32_t from = graph->order[i];
            const struct block *block = &graph->blocks[from];
            for (uint32_t e = 0; e < block->successors_count; e++) {
                uint32_t to = graph->edges[block->successors + e], was = graph->dominator[to];
                if (!to || graph->dominator[from] == UTIL_NONE)
                    continue;
                uint32_t is = was == UTIL_NONE ? from : common_dominator(graph, was, from);
                changed |= is != was;
                graph->dominator[to] = is;
            }
        }
    }
}

static bool dominates(const struct graph *graph, uint32_t a, uint32_t b)
{
    while (graph->position[b] > graph->position[a])
        b = graph->dominator[b];
    return a == b;
}

static bool order_blocks(struct graph *graph)
{
    size_t count = graph->blocks_count;
    graph->order = calloc(count + 1, sizeof *graph->order);
    graph->position = malloc((count + 1) * sizeof *graph->position);
    graph->dominator = malloc((count + 1) * sizeof *graph->dominator);
    if (!graph->order || !graph->position || !graph->dominator)
        return false;
    memset(graph->position, 0xff, (count + 1) * sizeof *graph->position);
    memset(graph->dominator, 0xff, (count + 1) * sizeof *graph->dominator);
    if (!find_order(graph))
        return false;
    find_dominators(graph);
    return true;
}

/* ---- loops --------------------------------------------------------------------------------------------------- */

static struct natural *natural_of(struct graph *graph, uint32_t head, uint32_t latch)
{
    for (size_t i = 0; i < graph->naturals_count; i++)
        if (graph->naturals[i].head == head)
            return &graph->naturals[i];
    struct natural natural = {.head = head, .latch = latch, .innermost = true};
    natural.body = calloc(graph->blocks_count, sizeof *natural.body);
    if (!natural.body || graph->naturals_count == NATURALS_MAX ||
        !UTIL_PUSH(graph->naturals, graph->naturals_count, graph->naturals_capacity, natural)) {
        free(natural.body);
        return NULL;
    }
    natural.body[head] = true;
    return &graph->naturals[graph->naturals_count - 1];
}

/* All that reaches the latch without passing the head: by edges backwards, until nothing more comes. */
static void add_body(const struct graph *graph, struct natural *natural, uint32_t latch)
{
    bool changed = !natural->body[latch];
    natural->body[latch] = true;
    while (changed) {
        changed = false;
        for (uint32_t i = graph->order_count; i-- > 0;) {
            uint32_t from = graph->order[i];
            const struct block *block = &graph->blocks[from];
            for (uint32_t e = 0; e < block->successors_count && !natural->body[from]; e++) {
                uint32_t to = graph->edges[block->successors + e];
                if (natural->body[to] && to != natural->head)
                    changed = natural->body[from] = true;
            }
        }
    }
}

static void find_lines(const struct graph *graph, struct natural *natural)
{
    for (size_t b = 0; b < graph->blocks_count; b++)
        for (uint32_t i = graph->blocks[b].first; natural->body[b] && i < graph->blocks[b].end;
             i++) {
            const char *line = graph->ir->lines[i];
            uint32_t at = strstr(line, "!dbg ") ? ir_place_of(graph->ir, line).line : 0;
            if (at && (!natural->first_line || at < natural->first_line))
                natural->first_line = at;
            if (at > natural->last_line)
                natural->last_line = at;
        }
}

static bool find_naturals(struct graph *graph)
{
    for (uint32_t i = 0; i < graph->order_count; i++) {
        uint32_t from = graph->order[i];
        const struct block *block = &graph->blocks[from];
        for (uint32_t e = 0; e < block->successors_count; e++) {
            uint32_t to = graph->edges[block->successors + e];
            if (!dominates(graph, to, from))
                continue;
            struct natural *natural = natural_of(graph, to, from);
            if (!natural)
                return false;
            add_body(graph, natural, from);
        }
    }
    for (size_t i = 0; i < graph->naturals_count; i++) {
        find_lines(graph, &graph->naturals[i]);
        for (size_t j = 0; j < graph->naturals_count; j++)
            if (i != j && graph->naturals[i].body[graph->naturals[j].head])
                graph->naturals[i].innermost = false;
    }
    return true;
}

/* ---- around a line --------------------------------------------------------------------------------------------- */

/* The loop of fewest lines around it. */
static const struct natural *natural_at(const struct graph *graph, uint32_t line)
{
    const struct natural *best = NULL;
    for (size_t i = 0; i < graph->naturals_count; i++) {
        const struct natural *natural = &graph->naturals[i];
        if (natural->first_line > line || natural->last_line < line)
            continue;
        if (!best || natural->last_line - natural->first_line < best->last_line - best->first_line)
            best = natural;
    }
    return best;
}

static struct ir_place place_of_head(const struct graph *graph, const struct natural *natural)
{
    const struct block *latch = &graph->blocks[natural->latch];
    struct ir_place place = {0};
    for (uint32_t i = latch->first; i < latch->end; i++)
        if (strstr(graph->ir->lines[i], "!dbg "))
            place = ir_place_of(graph->ir, graph->ir->lines[i]);
    return place;
}

static bool ends_in(const char *path, const char *end)
{
    size_t bytes = path ? strlen(path) : 0, count = strlen(end);
    return bytes >= count && strcmp(path + bytes - count, end) == 0;
}

static enum base_status add_loops(const struct graph *graph, const char *file, uint32_t line,
                                  ir_reference *reference, void *context, struct ir_loops *loops)
{
    const struct natural *around = natural_at(graph, line);
    enum base_status status = BASE_NOT_FOUND;
    for (size_t i = 0; around && i < graph->naturals_count; i++) {
        const struct natural *natural = &graph->naturals[i];
        struct ir_loop loop = {.place = place_of_head(graph, natural),
                               .first_line = natural->first_line,
                               .last_line = natural->last_line};
        if (!natural->innermost || !around->body[natural->head] ||
            (file && !ends_in(loop.place.file, file)))
            continue;
        for (size_t j = 0; j < graph->naturals_count; j++)
            loop.depth += graph->naturals[j].body[natural->head];
        if (!UTIL_PUSH(loops->items, loops->count, loops->capacity, loop) ||
            !ir_operations_of(graph->ir, graph->function, graph->blocks, graph->blocks_count,
                              natural, reference, context, &loops->items[loops->count - 1]))
            return BASE_NO_MEMORY;
        status = BASE_OK;
    }
    return status;
}

static void free_graph(struct graph *graph)
{
    for (size_t i = 0; i < graph->naturals_count; i++)
        free(graph->naturals[i].body);
    free(graph->naturals);
    free(graph->blocks);
    free(graph->edges);
    free(graph->by_label);
    free(graph->order);
    free(graph->position);
    free(graph->dominator);
}

/* Free it whatever is returned. */
static enum base_status read_graph(const struct ir *ir, const char *symbol, struct graph *graph)
{
    *graph = (struct graph){.ir = ir, .function = ir_find_function(ir, symbol)};
    if (!graph->function)
        return BASE_NOT_FOUND;
    if (!find_blocks(graph))
        return BASE_NO_MEMORY;
    if (graph->blocks_count > BLOCKS_MAX)
        return BASE_TOO_LARGE;
    return find_edges(graph) && order_blocks(graph) && find_naturals(graph) ? BASE_OK
                                                                            : BASE_NO_MEMORY;
}

enum base_status ir_loops_at(const struct ir *ir, const char *symbol, const char *file,
                             uint32_t line, ir_reference *reference, void *context,
                             struct ir_loops *loops)
{
    struct graph graph;
    enum base_status status = read_graph(ir, symbol, &graph);
    if (status == BASE_OK)
        status = add_loops(&graph, file, line, reference, context, loops);
    free_graph(&graph);
    return status;
}

enum base_status ir_loop_spans(const struct ir *ir, const char *symbol, struct ir_spans *spans)
{
    struct graph graph;
    enum base_status status = read_graph(ir, symbol, &graph);
    for (size_t i = 0; status == BASE_OK && i < graph.naturals_count; i++) {
        const struct natural *natural = &graph.naturals[i];
        struct ir_span span = {natural->first_line, natural->last_line};
        if (!UTIL_PUSH(spans->items, spans->count, spans->capacity, span))
            status = BASE_NO_MEMORY;
    }
    free_graph(&graph);
    return status;
}

void ir_loops_free(struct ir_loops *loops)
{
    for (size_t i = 0; i < loops->count; i++) {
        free(loops->items[i].operations);
        free(loops->items[i].flows);
    }
    free(loops->items);
    *loops = (struct ir_loops){0};
}
