// SPDX-License-Identifier: MIT
#include "import/flow.h"

#include <stdlib.h>

static void leave(struct import_flow *flow)
{
    role_free(flow->role);
    cfg_free(flow->graph);

    free(flow->bytes);
    flow->role = NULL;
    flow->graph = NULL;
    flow->bytes = NULL;
    flow->start = flow->end = 0;
    flow->read = flow->unreadable = flow->asked = false;
}

void import_flow_begin(struct import_flow *flow, struct binary *binary)
{
    leave(flow);
    flow->number++;
    flow->binary = binary;
    if (binary)
        pathgraph_returns_begin(&flow->returns, binary);
}

void import_flow_end(struct import_flow *flow)
{
    leave(flow);
    flow->binary = NULL;
}

bool import_flow_find(struct import_flow *flow, uint64_t address)
{
    uint64_t start, end;
    if (address >= flow->start && address < flow->end)
        return true;
    leave(flow);
    flow->number++;
    if (!flow->binary || binary_function(flow->binary, address, &start, &end) != BASE_OK ||
        end <= start)
        return false;
    flow->start = start;
    flow->end = end;
    return true;
}

static bool read_data(void *context, uint64_t address, void *out, size_t bytes)
{
    return binary_read_loaded(context, address, out, bytes) == BASE_OK;
}

bool import_flow_read(struct import_flow *flow)
{
    size_t count = (size_t)(flow->end - flow->start);
    if (flow->read || count > CFG_BYTES_MAX)
        return true;
    flow->read = true;
    flow->bytes = malloc(count);
    if (!flow->bytes)
        return false;
    struct cfg_code code = {.bytes = flow->bytes,
                            .count = count,
                            .start = flow->start,
                            .data = {read_data, flow->binary},
                            .returns = pathgraph_returns_of,
                            .context = &flow->returns};
    enum base_status status = binary_read(flow->binary, flow->start, flow->bytes, count);
    flow->unreadable = status == BASE_IO;
    if (status == BASE_OK)
        status = cfg_of_code(&code, &flow->graph);
    return status != BASE_NO_MEMORY;
}

bool import_flow_ask(struct import_flow *flow)
{
    if (flow->asked || !flow->graph)
        return true;
    flow->asked = true;
    return role_of_function(flow->graph, flow->bytes, (size_t)(flow->end - flow->start),
                            &flow->role) != BASE_NO_MEMORY;
}
