// SPDX-License-Identifier: MIT
/* From numbers to paths and back. */
#include "numbering/internal.h"

/* The last with a value no greater: numbers are ascending, and every start has at least one. */
static const struct start *find_start(const struct numbering *paths, uint64_t number)
{
    uint32_t low = 0, high = paths->starts_count;
    while (high - low > 1) {
        uint32_t middle = low + (high - low) / 2;
        if (paths->starts[middle].value <= number)
            low = middle;
        else
            high = middle;
    }
    return &paths->starts[low];
}

/* The same among a block's edges, of which it has at least one. */
static uint32_t find_edge(const struct numbering *paths, uint32_t block, uint64_t number)
{
    uint32_t low = paths->first_out[block], high = paths->first_out[block + 1];
    while (high - low > 1) {
        uint32_t middle = low + (high - low) / 2;
        if (paths->value[paths->out[middle]] <= number)
            low = middle;
        else
            high = middle;
    }
    return paths->out[low];
}

enum base_status numbering_decode(const struct numbering *paths, uint64_t number,
                                  struct numbering_path *path)
{
    const struct start *start;
    uint32_t block;
    if (paths->count == UINT64_MAX || number >= paths->count)
        return BASE_NOT_FOUND;
    start = find_start(paths, number);
    number -= start->value;
    block = start->block;
    path->ends = start->kind == START_CUT ? NUMBERING_FROM_CUT
                 : block                  ? NUMBERING_FROM_ROOT
                                          : NUMBERING_FROM_ENTRY;
    path->first = block;
    path->count = 0;
    while (paths->first_out[block] < paths->first_out[block + 1]) {
        uint32_t e = find_edge(paths, block, number);
        number -= paths->value[e];
        path->edges[path->count++] = e;
        block = paths->edges[e].to;
        if (block != NUMBERING_EXIT && numbering_ends(&paths->edges[e]))
            path->ends |= NUMBERING_TO_CUT;
        if (numbering_ends(&paths->edges[e]))
            break;
    }
    return BASE_OK;
}

static bool find_start_value(const struct numbering *paths, const struct numbering_path *path,
                             uint64_t *value)
{
    uint32_t from = path->ends & (NUMBERING_FROM_ROOT | NUMBERING_FROM_CUT);
    uint32_t kind = from == NUMBERING_FROM_CUT ? START_CUT : START_ROOT;
    if (path->first >= paths->blocks_count || !(paths->kinds[path->first] & kind) ||
        path->ends & ~(uint32_t)(NUMBERING_FROM_ROOT | NUMBERING_FROM_CUT | NUMBERING_TO_CUT))
        return false;
    if (from != NUMBERING_FROM_CUT &&
        from != (path->first ? (uint32_t)NUMBERING_FROM_ROOT : (uint32_t)NUMBERING_FROM_ENTRY))
        return false;
    *value = (kind == START_CUT ? paths->cut_value : paths->root_value)[path->first];
    return true;
}

enum base_status numbering_encode(const struct numbering *paths, const struct numbering_path *path,
                                  uint64_t *number)
{
    uint64_t sum;
    uint32_t block = path->first;
    bool ended = false, cut = false;
    if (paths->count == UINT64_MAX || !find_start_value(paths, path, &sum))
        return BASE_NOT_FOUND;
    for (uint32_t i = 0; i < path->count; i++) {
        const struct numbering_edge *edge;
        if (ended || path->edges[i] >= paths->edges_count)
            return BASE_NOT_FOUND;
        edge = &paths->edges[path->edges[i]];
        if (edge->from != block)
            return BASE_NOT_FOUND;
        sum += paths->value[path->edges[i]];
        ended = numbering_ends(edge);
        cut = ended && edge->to != NUMBERING_EXIT;
        block = edge->to;
    }
    if (cut != !!(path->ends & NUMBERING_TO_CUT) ||
        (!ended && paths->first_out[block] < paths->first_out[block + 1]))
        return BASE_NOT_FOUND;
    *number = sum;
    return BASE_OK;
}
