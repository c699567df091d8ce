// SPDX-License-Identifier: MIT
/* Order and numbers: Ball, Larus, Efficient Path Profiling (1996), figures 5 and 7. */
#include "numbering/internal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

void *numbering_array(size_t count, size_t bytes)
{
    return calloc(count ? count : 1, bytes);
}

void numbering_free(struct numbering *paths)
{
    if (!paths)
        return;
    free(paths->edges);
    free(paths->out);
    free(paths->in);
    free(paths->first_out);
    free(paths->first_in);
    free(paths->order);
    free(paths->before);
    free(paths->after);
    free(paths->kinds);
    free(paths->number);
    free(paths->value);
    free(paths->root_value);
    free(paths->cut_value);
    free(paths->starts);
    free(paths);
}

static bool make_room(struct numbering *paths)
{
    size_t blocks = paths->blocks_count, edges = paths->edges_count;
    return (paths->edges = numbering_array(edges, sizeof *paths->edges)) &&
           (paths->out = numbering_array(edges, sizeof *paths->out)) &&
           (paths->in = numbering_array(edges, sizeof *paths->in)) &&
           (paths->first_out = numbering_array(blocks + 1, sizeof *paths->first_out)) &&
           (paths->first_in = numbering_array(blocks + 1, sizeof *paths->first_in)) &&
           (paths->order = numbering_array(blocks, sizeof *paths->order)) &&
           (paths->before = numbering_array(blocks, sizeof *paths->before)) &&
           (paths->after = numbering_array(blocks, sizeof *paths->after)) &&
           (paths->kinds = numbering_array(blocks, sizeof *paths->kinds)) &&
           (paths->number = numbering_array(blocks, sizeof *paths->number)) &&
           (paths->value = numbering_array(edges, sizeof *paths->value)) &&
           (paths->root_value = numbering_array(blocks, sizeof *paths->root_value)) &&
           (paths->cut_value = numbering_array(blocks, sizeof *paths->cut_value)) &&
           (paths->starts = numbering_array(2 * blocks, sizeof *paths->starts));
}

static enum base_status valid(const struct numbering_graph *graph)
{
    if (graph->blocks_count == 0)
        return BASE_MALFORMED;
    if (graph->blocks_count > NUMBERING_BLOCKS_MAX || graph->edges_count > NUMBERING_EDGES_MAX)
        return BASE_UNSUPPORTED;
    for (uint32_t i = 0; i < graph->edges_count; i++) {
        const struct numbering_edge *edge = &graph->edges[i];
        if (edge->from >= graph->blocks_count ||
            (edge->to >= graph->blocks_count && edge->to != NUMBERING_EXIT))
            return BASE_MALFORMED;
    }
    return BASE_OK;
}

/* Lists of edges by block: sizes, then ends, then filled from behind, which leaves the starts. */
static void link_edges(struct numbering *paths)
{
    for (uint32_t i = 0; i < paths->edges_count; i++) {
        paths->first_out[paths->edges[i].from]++;
        if (paths->edges[i].to != NUMBERING_EXIT)
            paths->first_in[paths->edges[i].to]++;
    }
    for (uint32_t b = 1; b <= paths->blocks_count; b++) {
        paths->first_out[b] += paths->first_out[b - 1];
        paths->first_in[b] += paths->first_in[b - 1];
    }
    for (uint32_t i = paths->edges_count; i-- > 0;) {
        paths->out[--paths->first_out[paths->edges[i].from]] = i;
        if (paths->edges[i].to != NUMBERING_EXIT)
            paths->in[--paths->first_in[paths->edges[i].to]] = i;
    }
}

/* ---- depth-first search ---------------------------------------------------------------------- */

/* All edges are followed, cut or not: what is retreating must not depend on what else is cut, since
   those that decode give as cut what was split. */
struct search {
    struct numbering *paths;
    uint32_t *stack, *next; /* blocks; for each block the edge to follow next */
    bool *seen;
    uint32_t begun, done;
};

static void enter(struct search *search, uint32_t *depth, uint32_t block)
{
    search->seen[block] = true;
    search->next[block] = search->paths->first_out[block];
    search->paths->before[block] = search->begun++;
    search->stack[(*depth)++] = block;
}

/* A block that is not reached from elsewhere is a root, whatever the caller says: it gets numbers.
 */
static void search_from(struct search *search, uint32_t root)
{
    struct numbering *paths = search->paths;
    uint32_t depth = 0;
    if (search->seen[root])
        return;
    paths->kinds[root] |= START_ROOT;
    enter(search, &depth, root);
    while (depth) {
        uint32_t block = search->stack[depth - 1];
        if (search->next[block] == paths->first_out[block + 1]) {
            paths->after[block] = search->done;
            paths->order[search->done++] = block;
            depth--;
            continue;
        }
        uint32_t to = paths->edges[paths->out[search->next[block]++]].to;
        if (to != NUMBERING_EXIT && !search->seen[to])
            enter(search, &depth, to);
    }
}

static enum base_status find_order(struct numbering *paths)
{
    struct search search = {.paths = paths,
                            .stack = numbering_array(paths->blocks_count, sizeof *search.stack),
                            .next = numbering_array(paths->blocks_count, sizeof *search.next),
                            .seen = numbering_array(paths->blocks_count, sizeof *search.seen)};
    enum base_status status = BASE_NO_MEMORY;
    if (search.stack && search.next && search.seen) {
        search_from(&search, 0);
        for (uint32_t b = 0; b < paths->blocks_count; b++)
            if (paths->kinds[b] & START_ROOT)
                search_from(&search, b);
        for (uint32_t b = 0; b < paths->blocks_count; b++)
            search_from(&search, b);
        status = BASE_OK;
    }
    free(search.stack);
    free(search.next);
    free(search.seen);
    return status;
}

/* An edge goes back to a block on the search's stack exactly if that one is done no earlier. */
static void mark_edges(struct numbering *paths, const struct numbering_graph *graph)
{
    for (uint32_t i = 0; i < paths->edges_count; i++) {
        struct numbering_edge *edge = &paths->edges[i];
        edge->flags &= NUMBERING_CUT;
        if (edge->to != NUMBERING_EXIT && paths->after[edge->to] >= paths->after[edge->from])
            edge->flags |= NUMBERING_RETREATING;
        graph->edges[i].flags = edge->flags;
    }
}

/* ---- numbers --------------------------------------------------------------------------------- */

static void number_blocks(struct numbering *paths)
{
    for (uint32_t i = 0; i < paths->blocks_count; i++) {
        uint32_t block = paths->order[i];
        uint64_t number = 0;
        for (uint32_t k = paths->first_out[block]; k < paths->first_out[block + 1]; k++) {
            uint32_t e = paths->out[k];
            paths->value[e] = number;
            number = numbering_add(
                number, numbering_ends(&paths->edges[e]) ? 1 : paths->number[paths->edges[e].to]);
        }
        paths->number[block] = number ? number : 1; /* stuck: the way out that there is not */
    }
}

static void add_starts(struct numbering *paths, uint32_t kind, uint64_t *values)
{
    for (uint32_t b = 0; b < paths->blocks_count; b++) {
        if (!(paths->kinds[b] & kind))
            continue;
        paths->starts[paths->starts_count++] = (struct start){b, kind, paths->count};
        values[b] = paths->count;
        paths->count = numbering_add(paths->count, paths->number[b]);
    }
}

/* log2(2^a + 2^b) */
static double add_logs(double a, double b)
{
    double most = fmax(a, b), least = fmin(a, b);
    return isinf(least) ? most : most + log2(1 + exp2(least - most));
}

/* As number_blocks, in logarithms: for what does not fit. */
static enum base_status find_log2(struct numbering *paths)
{
    double *logs, sum = -INFINITY;
    paths->log2 = log2((double)paths->count);
    if (paths->count != UINT64_MAX)
        return BASE_OK;
    logs = numbering_array(paths->blocks_count, sizeof *logs);
    if (!logs)
        return BASE_NO_MEMORY;
    for (uint32_t i = 0; i < paths->blocks_count; i++) {
        uint32_t block = paths->order[i];
        double log = -INFINITY;
        for (uint32_t k = paths->first_out[block]; k < paths->first_out[block + 1]; k++) {
            const struct numbering_edge *edge = &paths->edges[paths->out[k]];
            log = add_logs(log, numbering_ends(edge) ? 0 : logs[edge->to]);
        }
        logs[block] = isinf(log) ? 0 : log;
    }
    for (uint32_t i = 0; i < paths->starts_count; i++)
        sum = add_logs(sum, logs[paths->starts[i].block]);
    paths->log2 = sum;
    free(logs);
    return BASE_OK;
}

enum base_status numbering_assign(struct numbering *paths)
{
    for (uint32_t b = 0; b < paths->blocks_count; b++)
        paths->kinds[b] &= START_ROOT;
    for (uint32_t i = 0; i < paths->edges_count; i++)
        if (paths->edges[i].to != NUMBERING_EXIT && numbering_ends(&paths->edges[i]))
            paths->kinds[paths->edges[i].to] |= START_CUT;
    number_blocks(paths);
    paths->count = 0;
    paths->starts_count = 0;
    add_starts(paths, START_ROOT, paths->root_value);
    add_starts(paths, START_CUT, paths->cut_value);
    return find_log2(paths);
}

static enum base_status number_into(struct numbering *paths, struct numbering_graph *graph)
{
    enum base_status status;
    if (!make_room(paths))
        return BASE_NO_MEMORY;
    if (graph->edges_count)
        memcpy(paths->edges, graph->edges, graph->edges_count * sizeof *graph->edges);
    for (uint32_t b = 0; graph->block_flags && b < graph->blocks_count; b++)
        if (graph->block_flags[b] & NUMBERING_ROOT)
            paths->kinds[b] = START_ROOT;
    link_edges(paths);
    status = find_order(paths);
    if (status != BASE_OK)
        return status;
    mark_edges(paths, graph);
    return numbering_assign(paths);
}

enum base_status numbering_number(struct numbering_graph *graph, struct numbering **out)
{
    struct numbering *paths;
    enum base_status status = valid(graph);
    if (status != BASE_OK)
        return status;
    paths = numbering_array(1, sizeof *paths);
    if (!paths)
        return BASE_NO_MEMORY;
    paths->blocks_count = graph->blocks_count;
    paths->edges_count = graph->edges_count;
    status = number_into(paths, graph);
    if (status == BASE_OK)
        *out = paths;
    else
        numbering_free(paths);
    return status;
}

uint64_t numbering_count(const struct numbering *paths)
{
    return paths->count;
}

double numbering_log2(const struct numbering *paths)
{
    return paths->log2;
}
