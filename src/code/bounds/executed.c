// SPDX-License-Identifier: MIT
/* What was executed, with its dependences: executed.h. */
#include "bounds/executed.h"
#include "bounds/internal.h"

#include <Zydis/Zydis.h>
#include <stdlib.h>
#include <string.h>

enum { GRANULE_SHIFT = 3, GRANULE_BYTES = 1 << GRANULE_SHIFT, CYCLE = 1000 };

const char *const executed_memory_names[EXECUTED_MEMORIES] = {"uniform", "compulsory", "caches",
                                                              "reuse"};

/* ---- what was executed ------------------------------------------------------------------------------ */

static bool is_string(const struct bounds_instruction *instruction)
{
    switch (instruction->mnemonic) {
    case ZYDIS_MNEMONIC_MOVSB:
    case ZYDIS_MNEMONIC_MOVSW:
    case ZYDIS_MNEMONIC_MOVSD:
    case ZYDIS_MNEMONIC_MOVSQ:
    case ZYDIS_MNEMONIC_STOSB:
    case ZYDIS_MNEMONIC_STOSW:
    case ZYDIS_MNEMONIC_STOSD:
    case ZYDIS_MNEMONIC_STOSQ:
    case ZYDIS_MNEMONIC_LODSB:
    case ZYDIS_MNEMONIC_LODSW:
    case ZYDIS_MNEMONIC_LODSD:
    case ZYDIS_MNEMONIC_LODSQ:
    case ZYDIS_MNEMONIC_CMPSB:
    case ZYDIS_MNEMONIC_CMPSW:
    case ZYDIS_MNEMONIC_CMPSD:
    case ZYDIS_MNEMONIC_CMPSQ:
    case ZYDIS_MNEMONIC_SCASB:
    case ZYDIS_MNEMONIC_SCASW:
    case ZYDIS_MNEMONIC_SCASD:
    case ZYDIS_MNEMONIC_SCASQ: return instruction->prefixes > 0;
    default: return false;
    }
}

enum base_status executed_add(struct executed *executed,
                              const struct bounds_instruction *instruction)
{
    struct bounds_block *block = &executed->block;
    if (block->count && is_string(instruction) &&
        block->instructions[block->count - 1].address == instruction->address)
        return BASE_OK;
    if (block->count >= EXECUTED_INSTRUCTIONS_MAX)
        return BASE_TOO_LARGE;
    if (!UTIL_GROW(executed->first_access, executed->first_capacity, block->count) ||
        !UTIL_PUSH(block->instructions, block->count, block->capacity, *instruction))
        return BASE_NO_MEMORY;
    executed->first_access[block->count - 1] = (uint32_t)executed->access_count;
    return BASE_OK;
}

bool executed_access(struct executed *executed, const struct executed_access *access)
{
    struct executed_access kept = *access;
    if (kept.bytes > EXECUTED_ACCESS_BYTES)
        kept.bytes = EXECUTED_ACCESS_BYTES;
    return UTIL_PUSH(executed->accesses, executed->access_count, executed->access_capacity, kept);
}

void executed_free(struct executed *executed)
{
    bounds_block_free(&executed->block);
    free(executed->first_access);
    free(executed->accesses);
    *executed = (struct executed){0};
}

static size_t end_of_accesses(const struct executed *executed, uint32_t at)
{
    return at + 1 < executed->block.count ? executed->first_access[at + 1] : executed->access_count;
}

bool executed_has_buffer(const struct model *model)
{
    const struct model_figure *buffer = &model_machine(model)->figures[MODEL_REORDER_BUFFER];
    return buffer->source != MODEL_UNKNOWN && buffer->value > 0;
}

/* ---- places in memory --------------------------------------------------------------------------------- */

/* By granule of 8 bytes: the vertex that stored each of them last, or the line that was touched. */
struct granule {
    uint64_t number;
    uint32_t stored[GRANULE_BYTES];
};

struct written {
    struct util_index index;
    struct granule *granules;
    size_t count, capacity;
};

static bool is_granule(const void *items, uint32_t item, const void *key)
{
    return ((const struct granule *)items)[item].number == *(const uint64_t *)key;
}

/* NULL: no memory. found: was it there? */
static struct granule *enter(struct written *written, uint64_t number, bool *found)
{
    uint32_t item;
    if (!UTIL_GROW(written->granules, written->capacity, written->count) ||
        !util_index_enter(&written->index, base_mix64(number), is_granule, written->granules,
                          &number, (uint32_t)written->count, &item, found))
        return NULL;
    struct granule *granule = &written->granules[item];
    if (!*found) {
        written->count++;
        granule->number = number;
        memset(granule->stored, 0xff, sizeof granule->stored); /* BOUNDS_NONE */
    }
    return granule;
}

static void free_written(struct written *written)
{
    util_index_free(&written->index);
    free(written->granules);
}

static bool store_bytes(struct written *written, const struct executed_access *access,
                        uint32_t vertex)
{
    for (uint32_t b = 0; b < access->bytes; b++) {
        uint64_t at = access->address + b;
        bool found;
        struct granule *granule = enter(written, at >> GRANULE_SHIFT, &found);
        if (!granule)
            return false;
        granule->stored[at % GRANULE_BYTES] = vertex;
    }
    return true;
}

static uint32_t stored_byte(const struct written *written, uint64_t at)
{
    uint64_t number = at >> GRANULE_SHIFT;
    uint32_t item;
    return util_index_find(&written->index, base_mix64(number), is_granule, written->granules,
                           &number, &item)
               ? written->granules[item].stored[at % GRANULE_BYTES]
               : BOUNDS_NONE;
}

/* ---- memory models ------------------------------------------------------------------------------------- */

enum { LINE_SHIFT = 6 };

static bool touch_lines(struct written *lines, const struct executed_access *access, bool *first)
{
    *first = false;
    for (uint64_t line = access->address >> LINE_SHIFT;
         line <= (access->address + access->bytes - 1) >> LINE_SHIFT; line++) {
        bool found;
        if (!enter(lines, line, &found))
            return false;
        *first |= !found;
    }
    return true;
}

static bool find_waits(const struct executed *executed, enum executed_memory memory,
                       const struct executed_latencies *latencies, float first_cycles,
                       const float *expected, struct written *lines, int32_t *waits)
{
    for (size_t a = 0; a < executed->access_count; a++) {
        const struct executed_access *access = &executed->accesses[a];
        uint32_t level = 0;
        bool first = false;
        if (memory == EXECUTED_COMPULSORY && access->bytes && !touch_lines(lines, access, &first))
            return false;
        if (first)
            level = latencies->levels - 1;
        if (memory == EXECUTED_CACHES)
            level = access->level < latencies->levels ? access->level : latencies->levels - 1;
        float longer = level ? latencies->cycles[level] - first_cycles : 0;
        if (memory == EXECUTED_EXPECTED)
            longer = expected[a];
        waits[a] = access->store || longer <= 0 ? 0 : (int32_t)lrintf(longer * CYCLE);
    }
    return true;
}

int32_t *executed_waits(const struct executed *executed, enum executed_memory memory,
                        const struct executed_latencies *latencies, float first_cycles,
                        const float *expected)
{
    struct written lines = {0};
    int32_t *waits = calloc(executed->access_count + 1, sizeof *waits);
    if (waits && !find_waits(executed, memory, latencies, first_cycles, expected, &lines, waits)) {
        free(waits);
        waits = NULL;
    }
    free_written(&lines);
    return waits;
}

/* ---- dependences ------------------------------------------------------------------------------------------ */

struct executed_trace {
    const struct executed *executed;
    const int32_t *waits; /* by access; NULL: none */
    struct written written;
    int32_t *vertex_waits; /* grows with the vertices */
    size_t capacity;
};

/* Stores that wrote the bytes of an access, each once. Returns how many. whole: one wrote all of them. */
static size_t find_sources(const struct written *written, const struct executed_access *access,
                           uint32_t sources[EXECUTED_ACCESS_BYTES], bool *whole)
{
    size_t count = 0;
    bool before = false; /* some bytes are from before */
    for (uint32_t b = 0; b < access->bytes; b++) {
        uint32_t stored = stored_byte(written, access->address + b);
        size_t known = 0;
        while (known < count && sources[known] != stored)
            known++;
        before |= stored == BOUNDS_NONE;
        if (stored != BOUNDS_NONE && known == count)
            sources[count++] = stored;
    }
    *whole = count == 1 && !before;
    return count;
}

bool executed_loads(struct executed_trace *trace, uint32_t at, uint32_t vertex,
                    executed_source *depend, void *context)
{
    const struct executed *executed = trace->executed;
    for (size_t a = executed->first_access[at]; a < end_of_accesses(executed, at); a++) {
        uint32_t sources[EXECUTED_ACCESS_BYTES];
        bool whole;
        if (executed->accesses[a].store)
            continue;
        size_t count = find_sources(&trace->written, &executed->accesses[a], sources, &whole);
        for (size_t s = 0; s < count; s++)
            depend(context, at, sources[s], vertex, !whole);
        if (!UTIL_GROW_ZEROED(trace->vertex_waits, trace->capacity, vertex))
            return false;
        int32_t wait = trace->waits && !whole ? trace->waits[a] : 0;
        if (wait > trace->vertex_waits[vertex])
            trace->vertex_waits[vertex] = wait;
    }
    return true;
}

bool executed_stores(struct executed_trace *trace, uint32_t at, uint32_t vertex)
{
    const struct executed *executed = trace->executed;
    for (size_t a = executed->first_access[at]; a < end_of_accesses(executed, at); a++)
        if (executed->accesses[a].store &&
            !store_bytes(&trace->written, &executed->accesses[a], vertex))
            return false;
    return true;
}

static enum base_status make_graph(struct executed_graph *graph, const int32_t *waits)
{
    const struct executed *executed = graph->executed;
    struct executed_trace trace = {.executed = executed, .waits = waits};
    struct arc_latency *ranges = NULL;
    struct work work = {.block = &executed->block,
                        .model = graph->model,
                        .machine = model_machine(graph->model),
                        .options = &graph->options,
                        .out = &graph->bounds,
                        .latencies = graph->options.latencies ? graph->options.latencies
                                                              : &bounds_as_modelled};
    work.costs = calloc(executed->block.count, sizeof *work.costs);
    bool good = work.costs && costs_of(&work) && trace_executed(&work, &trace, &ranges) &&
                UTIL_GROW_ZEROED(trace.vertex_waits, trace.capacity, graph->bounds.vertex_count);
    free(ranges);
    free(work.costs);
    free(work.estimates);
    free_written(&trace.written);
    graph->waits = trace.vertex_waits;
    for (size_t v = 0; good && v < graph->bounds.vertex_count; v++)
        graph->misses += graph->waits[v] > 0;
    return good ? BASE_OK : BASE_NO_MEMORY;
}

enum base_status executed_depend(const struct executed *executed, const struct model *model,
                                 const struct bounds_latencies *latencies, const int32_t *waits,
                                 struct executed_graph *graph)
{
    struct executed_graph made = {
        .executed = executed, .model = model, .options = {.graph = true, .latencies = latencies}};
    if (!executed->block.count)
        return BASE_NOT_FOUND;
    enum base_status status = make_graph(&made, waits);
    if (status != BASE_OK) {
        executed_graph_free(&made);
        return status;
    }
    *graph = made;
    return BASE_OK;
}

void executed_graph_free(struct executed_graph *graph)
{
    bounds_free(&graph->bounds);
    free(graph->waits);
    *graph = (struct executed_graph){0};
}
