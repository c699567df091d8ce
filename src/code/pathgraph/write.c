// SPDX-License-Identifier: MIT
/* The file of a module's graphs: wire/graphs.h. */
#include "pathgraph/pathgraph.h"
#include "util/util.h"
#include "wire/graphs.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct table {
    char *items;
    size_t count, capacity, item_bytes;
};

struct tables {
    struct table functions, blocks, edges;
};

/* A zeroed new item, or NULL. */
static void *add(struct table *table)
{
    if (!util_grow(&table->items, &table->capacity, table->count, table->item_bytes))
        return NULL;
    return memset(table->items + table->item_bytes * table->count++, 0, table->item_bytes);
}

static int compare_edges(const void *left, const void *right)
{
    const struct wire_graph_edge *a = left, *b = right;
    if (a->from != b->from)
        return a->from < b->from ? -1 : 1;
    return (a->to > b->to) - (a->to < b->to);
}

static bool add_edges(struct tables *tables, const struct pathgraph *graph)
{
    size_t first = tables->edges.count;
    for (uint32_t i = 0; i < graph->numbering_graph.edges_count; i++) {
        const struct numbering_edge *edge = &graph->numbering_graph.edges[i];
        if (edge->to == NUMBERING_EXIT)
            continue;
        struct wire_graph_edge *made = add(&tables->edges);
        if (!made)
            return false;
        made->from = edge->from;
        made->to = edge->to;
        made->cut = edge->flags != 0;
    }
    if (tables->edges.count > first)
        qsort(tables->edges.items + first * sizeof(struct wire_graph_edge),
              tables->edges.count - first, sizeof(struct wire_graph_edge), compare_edges);
    return true;
}

static bool add_blocks(struct tables *tables, const struct pathgraph *graph, uint32_t function)
{
    for (uint32_t i = 0; i < graph->blocks_count; i++) {
        const struct pathgraph_block *block = &graph->blocks[i];
        struct wire_graph_block *made = add(&tables->blocks);
        if (!made)
            return false;
        made->start = block->start;
        made->bytes = (uint32_t)(block->end - block->start);
        made->last = (uint32_t)(block->last - block->start);
        made->function = function;
        made->number = i;
        made->flags = block->flags;
    }
    return true;
}

static bool add_function(struct tables *tables, const struct pathgraph *graph)
{
    uint32_t number = (uint32_t)tables->functions.count;
    size_t first = tables->edges.count;
    struct wire_graph_function *made = add(&tables->functions);
    if (!made || !add_edges(tables, graph) || !add_blocks(tables, graph, number))
        return false;
    made->entry = graph->entry;
    made->blocks = graph->blocks_count;
    made->first_edge = (uint32_t)first;
    made->edges = (uint32_t)(tables->edges.count - first);
    return true;
}

/* ---- blocks that are in one function only -------------------------------------------------- */

/* By start; of one start the one of a function with more blocks: a part that was joined also stands
 * alone. */
static int compare_blocks(const void *left, const void *right, void *context)
{
    const struct wire_graph_block *a = left, *b = right;
    const struct wire_graph_function *functions = context;
    if (a->start != b->start)
        return a->start < b->start ? -1 : 1;
    if (functions[a->function].blocks != functions[b->function].blocks)
        return functions[a->function].blocks > functions[b->function].blocks ? -1 : 1;
    return (a->function > b->function) - (a->function < b->function);
}

static void keep_disjoint(struct tables *tables)
{
    struct wire_graph_block *blocks = (struct wire_graph_block *)(void *)tables->blocks.items;
    size_t kept = 0;
    if (tables->blocks.count)
        qsort_r(blocks, tables->blocks.count, sizeof *blocks, compare_blocks,
                tables->functions.items);
    for (size_t i = 0; i < tables->blocks.count; i++)
        if (kept == 0 || blocks[i].start >= blocks[kept - 1].start + blocks[kept - 1].bytes)
            blocks[kept++] = blocks[i];
    tables->blocks.count = kept;
}

/* ---- all of it ------------------------------------------------------------------------------- */

static enum base_status gather(struct binary *binary, struct tables *tables)
{
    struct pathgraph_returns *returns = calloc(1, sizeof *returns);
    uint64_t at = 0, start, end;
    const char *name;
    enum base_status status = returns ? BASE_OK : BASE_NO_MEMORY;
    if (returns)
        pathgraph_returns_begin(returns, binary);
    while (status == BASE_OK && binary_next_function(binary, at, &start, &end, &name) == BASE_OK) {
        struct pathgraph *graph = NULL;
        status = pathgraph_of(returns, start, &graph);
        if (status == BASE_OK && !add_function(tables, graph))
            status = BASE_NO_MEMORY;
        pathgraph_free(graph);
        if (status != BASE_NO_MEMORY)
            status = BASE_OK; /* no graph: not followed */
        at = start + 1;
    }
    free(returns);
    return status;
}

static bool put(FILE *out, const struct tables *tables)
{
    const struct table *const all[] = {&tables->functions, &tables->blocks, &tables->edges};
    struct wire_graphs header = {.magic = WIRE_GRAPHS_MAGIC,
                                 .version = WIRE_GRAPHS_VERSION,
                                 .functions = (uint32_t)tables->functions.count,
                                 .blocks = (uint32_t)tables->blocks.count,
                                 .edges = (uint32_t)tables->edges.count};
    if (!tables->blocks.count)
        return true;
    bool good = fwrite(&header, sizeof header, 1, out) == 1;
    for (size_t i = 0; i < BASE_COUNT(all) && good; i++)
        good = all[i]->count == 0 ||
               fwrite(all[i]->items, all[i]->item_bytes, all[i]->count, out) == all[i]->count;
    return good;
}

enum base_status pathgraph_write(const char *module, const char *path)
{
    struct tables tables = {.functions = {.item_bytes = sizeof(struct wire_graph_function)},
                            .blocks = {.item_bytes = sizeof(struct wire_graph_block)},
                            .edges = {.item_bytes = sizeof(struct wire_graph_edge)}};
    struct binary_options options = {0};
    struct binary *binary = NULL;
    char *temporary = NULL;
    enum base_status status = BASE_OK;
    if (module && binary_open(module, &options, &binary) == BASE_OK)
        status = gather(binary, &tables);
    if (status == BASE_OK && asprintf(&temporary, "%s.new", path) < 0) {
        temporary = NULL;
        status = BASE_NO_MEMORY;
    }
    if (status == BASE_OK) {
        keep_disjoint(&tables);
        FILE *out = fopen(temporary, "wxe");
        bool good = out && put(out, &tables);
        good = (!out || fclose(out) == 0) && good && rename(temporary, path) == 0;
        if (!good)
            unlink(temporary);
        status = good ? BASE_OK : BASE_IO;
    }
    binary_close(binary);
    free(temporary);
    free(tables.functions.items);
    free(tables.blocks.items);
    free(tables.edges.items);
    return status;
}
