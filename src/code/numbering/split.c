// SPDX-License-Identifier: MIT
/*
 * Too many paths: more edges are cut. One attempt goes through the blocks in reverse topological
 * order and cuts as soon as a block has more than a limit of paths behind it: at joins, since all
 * that come in there share one start. With s starts there are then at most s * limit paths; the
 * limit is lowered until that is few enough. Edges in loops are spared as long as cutting outside
 * of them will do: that is where little is executed, and paths within the loops stay whole.
 */
#include "numbering/internal.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum { LEVELS = 6, REFINEMENTS = 4, FINE_LIMIT = 1 << 20 };

struct splitter {
    struct numbering *paths;
    uint64_t most;
    uint32_t *depths; /* of blocks                              */
    bool *heads;
    uint64_t *number; /* of a block, in this attempt            */
    bool *cut;        /* edge: by this attempt                  */
    bool *start;      /* block: a cut edge leads there          */
    uint32_t fewest;  /* edges that make a join                 */
};

static bool ends(const struct splitter *splitter, uint32_t e)
{
    return splitter->cut[e] || numbering_ends(&splitter->paths->edges[e]);
}

static bool may_cut(const struct splitter *splitter, uint32_t e, uint32_t level)
{
    const struct numbering_edge *edge = &splitter->paths->edges[e];
    return !ends(splitter, e) &&
           (splitter->depths[edge->from] <= level || splitter->depths[edge->to] <= level);
}

static uint64_t count_behind(const struct splitter *splitter, uint32_t block)
{
    const struct numbering *paths = splitter->paths;
    uint64_t number = 0;
    for (uint32_t k = paths->first_out[block]; k < paths->first_out[block + 1]; k++) {
        uint32_t e = paths->out[k];
        number =
            numbering_add(number, ends(splitter, e) ? 1 : splitter->number[paths->edges[e].to]);
    }
    return number ? number : 1;
}

/* Another branch before this join would be too much. */
static void cut_join(struct splitter *splitter, uint32_t block, uint32_t level)
{
    const struct numbering *paths = splitter->paths;
    uint32_t whole = 0;
    for (uint32_t k = paths->first_in[block]; k < paths->first_in[block + 1]; k++)
        whole += !ends(splitter, paths->in[k]);
    if (whole < splitter->fewest)
        return;
    for (uint32_t k = paths->first_in[block]; k < paths->first_in[block + 1]; k++)
        if (may_cut(splitter, paths->in[k], level))
            splitter->cut[paths->in[k]] = splitter->start[block] = true;
}

static bool attempt(struct splitter *splitter, uint64_t limit, uint32_t level)
{
    struct numbering *paths = splitter->paths;
    uint64_t total = 0;
    memset(splitter->cut, 0, paths->edges_count * sizeof *splitter->cut);
    for (uint32_t b = 0; b < paths->blocks_count; b++)
        splitter->start[b] = paths->kinds[b] & START_CUT;
    for (uint32_t i = 0; i < paths->blocks_count; i++) {
        uint32_t block = paths->order[i];
        splitter->number[block] = count_behind(splitter, block);
        if (splitter->number[block] > limit / 2)
            cut_join(splitter, block, level);
    }
    for (uint32_t b = 0; b < paths->blocks_count; b++) {
        total = numbering_add(total, splitter->start[b] ? splitter->number[b] : 0);
        total = numbering_add(total, paths->kinds[b] & START_ROOT ? splitter->number[b] : 0);
    }
    return total <= splitter->most;
}

/* The first limit that is low enough, then one between it and the last that was not: more paths,
 * fewer cuts. */
static bool attempt_level(struct splitter *splitter, uint32_t level)
{
    uint64_t good = splitter->most, bad = good;
    while (good && !attempt(splitter, good, level)) {
        bad = good;
        good /= good > FINE_LIMIT ? 8 : 2;
    }
    if (!good)
        return false;
    for (uint32_t i = 0; i < REFINEMENTS; i++) {
        uint64_t limit = good + (bad - good) / 2;
        if (attempt(splitter, limit, level))
            good = limit;
        else
            bad = limit;
    }
    return attempt(splitter, good, level);
}

static bool attempt_all(struct splitter *splitter)
{
    uint32_t deepest = 0;
    for (uint32_t b = 0; b < splitter->paths->blocks_count; b++)
        if (splitter->depths[b] > deepest)
            deepest = splitter->depths[b];
    for (uint32_t level = 0; level < deepest && level < LEVELS; level++)
        if (attempt_level(splitter, level))
            return true;
    if (attempt_level(splitter, deepest))
        return true;
    splitter->fewest = 1; /* many more paths than joins: any edge will do */
    return attempt_level(splitter, deepest);
}

static enum base_status split_into(struct splitter *splitter, struct numbering_graph *graph)
{
    struct numbering *paths = splitter->paths;
    enum base_status status = numbering_loops(paths, splitter->depths, splitter->heads);
    if (status != BASE_OK)
        return status;
    if (!attempt_all(splitter))
        return BASE_UNSUPPORTED;
    for (uint32_t i = 0; i < paths->edges_count; i++) {
        if (splitter->cut[i])
            paths->edges[i].flags |= NUMBERING_SPLIT;
        graph->edges[i].flags = paths->edges[i].flags;
    }
    return numbering_assign(paths);
}

static enum base_status split(struct numbering *paths, struct numbering_graph *graph, uint64_t most)
{
    size_t blocks = paths->blocks_count, edges = paths->edges_count;
    struct splitter splitter = {.paths = paths,
                                .most = most,
                                .fewest = 2,
                                .depths = numbering_array(blocks, sizeof(uint32_t)),
                                .heads = numbering_array(blocks, sizeof(bool)),
                                .number = numbering_array(blocks, sizeof(uint64_t)),
                                .cut = numbering_array(edges, sizeof(bool)),
                                .start = numbering_array(blocks, sizeof(bool))};
    enum base_status status = BASE_NO_MEMORY;
    if (splitter.depths && splitter.heads && splitter.number && splitter.cut && splitter.start)
        status = split_into(&splitter, graph);
    free(splitter.depths);
    free(splitter.heads);
    free(splitter.number);
    free(splitter.cut);
    free(splitter.start);
    return status;
}

enum base_status numbering_split(struct numbering_graph *graph, uint64_t most,
                                 struct numbering **out)
{
    struct numbering *paths;
    assert(most >= 4);
    enum base_status status = numbering_number(graph, &paths);
    if (status != BASE_OK)
        return status;
    if (paths->count > most)
        status = split(paths, graph, most);
    if (status == BASE_OK)
        *out = paths;
    else
        numbering_free(paths);
    return status;
}
