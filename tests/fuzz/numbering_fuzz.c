// SPDX-License-Identifier: MIT
/* Fuzzes paths: the input is a graph, three bytes an edge; it holds what paths.h promises, split or
 * not. */
#include "numbering/numbering.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { EDGES_MAX = 256, BLOCKS_MAX = 64, ENUMERATE = 500 };

static void check(enum base_status status, struct numbering *paths, uint64_t most)
{
    if (status != BASE_OK && status != BASE_UNSUPPORTED)
        abort();
    if (status == BASE_OK && (numbering_count(paths) > most || !numbering_check(paths, ENUMERATE)))
        abort();
    if (status == BASE_OK)
        numbering_free(paths);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct numbering_edge edges[EDGES_MAX];
    uint32_t flags[BLOCKS_MAX];
    struct numbering_graph graph = {0, 0, flags, edges};
    struct numbering *paths = NULL;
    uint64_t most;
    if (size < 2)
        return 0;
    graph.blocks_count = 1 + data[0] % BLOCKS_MAX;
    most = 4 + (uint64_t)data[1] * data[1];
    for (uint32_t b = 0; b < graph.blocks_count; b++)
        flags[b] = 0;
    for (size_t i = 2; i + 3 <= size && graph.edges_count < EDGES_MAX; i += 3) {
        uint32_t to = data[i + 1] % (graph.blocks_count + 1);
        edges[graph.edges_count++] = (struct numbering_edge){
            data[i] % graph.blocks_count, to < graph.blocks_count ? to : NUMBERING_EXIT,
            data[i + 2] & NUMBERING_CUT, (float)(data[i + 2] >> 2) - 8};
        flags[data[i] % graph.blocks_count] |= data[i + 2] >> 1 & NUMBERING_ROOT;
    }
    check(numbering_number(&graph, &paths), paths, UINT64_MAX);
    check(numbering_split(&graph, most, &paths), paths, most);
    return 0;
}
