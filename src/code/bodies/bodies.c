// SPDX-License-Identifier: MIT
/* Innermost loops of a function: their blocks along one way, decoded, and where they stand in the source. */
#include "bodies/internal.h"

#include "pathgraph/pathgraph.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { INLINED_MAX = 32 };

struct function {
    struct binary *binary;
    uint64_t start, end;
    uint8_t *bytes;
    struct cfg *flow;
    struct pathgraph_returns returns;
};

static bool read_data(void *context, uint64_t address, void *out, size_t bytes)
{
    return binary_read_loaded(context, address, out, bytes) == BASE_OK;
}

static enum base_status read_function(struct function *function)
{
    size_t count = (size_t)(function->end - function->start);
    if (function->end <= function->start || count > CFG_BYTES_MAX ||
        count > binary_bytes(function->binary))
        return BASE_MALFORMED;
    function->bytes = malloc(count);
    if (!function->bytes)
        return BASE_NO_MEMORY;
    if (binary_read(function->binary, function->start, function->bytes, count) != BASE_OK)
        return BASE_MALFORMED;
    pathgraph_returns_begin(&function->returns, function->binary);
    struct cfg_code code = {.bytes = function->bytes,
                            .count = count,
                            .start = function->start,
                            .data = {read_data, function->binary},
                            .returns = pathgraph_returns_of,
                            .context = &function->returns};
    return cfg_of_code(&code, &function->flow);
}

static void free_function(struct function *function)
{
    cfg_free(function->flow);
    free(function->bytes);
    free(function);
}

/* ---- one loop ------------------------------------------------------------------------------------------- */

static enum base_status decode_way(const struct function *function, const struct way *way,
                                   struct bodies_loop *loop)
{
    enum base_status status = BASE_OK;
    size_t bad;
    for (size_t i = 0; i < way->count && status == BASE_OK; i++) {
        const struct cfg_block *block = &function->flow->blocks[way->blocks[i]];
        status = bounds_decode(function->bytes + (block->start - function->start),
                               (size_t)(block->end - block->start), block->start, true,
                               &loop->block, &bad);
    }
    for (size_t i = 0; i < loop->block.count; i++)
        loop->calls += loop->block.instructions[i].calls;
    return status;
}

/* The innermost line of each instruction, and of the loop that of the branch which closes it: compilers give it that of the condition. */
static enum base_status find_places(const struct function *function, struct bodies_loop *loop)
{
    struct binary_frame frames[INLINED_MAX];
    loop->places = calloc(loop->block.count + 1, sizeof *loop->places);
    if (!loop->places)
        return BASE_NO_MEMORY;
    for (size_t i = 0; i < loop->block.count; i++) {
        size_t count = binary_frames(function->binary, loop->block.instructions[i].address, frames,
                                     INLINED_MAX);
        if (!count)
            continue;
        loop->places[i] = (struct bodies_place){frames[0].file, frames[0].line};
        loop->function = frames[count - 1].function;
        if (frames[0].line && (loop->block.instructions[i].branches || !loop->place.line))
            loop->place = loop->places[i];
    }
    if (!loop->function && asprintf(&loop->made, "0x%" PRIx64, function->start) < 0)
        loop->made = NULL;
    loop->function = loop->function ? loop->function : loop->made;
    return loop->function ? BASE_OK : BASE_NO_MEMORY;
}

static void weigh_loop(const struct innermost *innermost, uint32_t id, bodies_weigh *weigh,
                       void *context, struct bodies_loop *loop)
{
    for (uint32_t m = innermost->first[id]; m < innermost->first[id + 1]; m++) {
        const struct cfg_block *block = &innermost->flow->blocks[innermost->members[m]];
        loop->blocks++;
        loop->instructions += block->instructions;
        loop->weight += weigh ? weigh(context, block->start, block->end) : 0;
    }
}

void bodies_loop_free(struct bodies_loop *loop)
{
    bounds_block_free(&loop->block);
    free(loop->places);
    free(loop->made);
}

static enum base_status add_loop(const struct function *function, struct innermost *innermost,
                                 uint32_t id, bodies_weigh *weigh, void *context,
                                 struct bodies *bodies)
{
    const struct cfg *flow = function->flow;
    struct bodies_loop loop = {.start = function->start,
                               .end = function->end,
                               .head = flow->blocks[flow->loops[id].head].start};
    enum base_status status = bodies->count < BODIES_LOOPS_MAX ? BASE_OK : BASE_TOO_LARGE;
    loop.ways = ways_through(innermost, id);
    if (status == BASE_OK && (!loop.ways || !way_through(innermost, id, weigh, context)))
        status = BASE_UNSUPPORTED;
    if (status == BASE_OK)
        status = decode_way(function, &innermost->way, &loop);
    if (status == BASE_OK)
        status = find_places(function, &loop);
    loop.taken = innermost->way.taken;
    weigh_loop(innermost, id, weigh, context, &loop);
    if (status == BASE_OK && UTIL_PUSH(bodies->loops, bodies->count, bodies->capacity, loop))
        return BASE_OK;
    bodies_loop_free(&loop);
    if (status == BASE_UNSUPPORTED || status == BASE_MALFORMED ||
        (status == BASE_TOO_LARGE && bodies->count < BODIES_LOOPS_MAX)) {
        bodies->left_out++;
        return BASE_OK;
    }
    return status == BASE_OK ? BASE_NO_MEMORY : status;
}

/* Of samples in the loop's blocks, without those of loops within it. */
static double own_weight(const struct innermost *innermost, uint32_t id, bodies_weigh *weigh,
                         void *context)
{
    double weight = 0;
    for (uint32_t m = innermost->first[id]; weigh && m < innermost->first[id + 1]; m++) {
        const struct cfg_block *block = &innermost->flow->blocks[innermost->members[m]];
        weight += weigh(context, block->start, block->end);
    }
    return weight;
}

static enum base_status add_loops(const struct function *function, bodies_weigh *weigh,
                                  void *context, struct bodies *bodies)
{
    struct innermost innermost;
    enum base_status status = innermost_make(&innermost, function->flow) ? BASE_OK : BASE_NO_MEMORY;
    for (uint32_t id = 1; status == BASE_OK && id < function->flow->loops_count; id++)
        if (!innermost.outer[id] || own_weight(&innermost, id, weigh, context) > 0)
            status = add_loop(function, &innermost, id, weigh, context, bodies);
    innermost_free(&innermost);
    return status;
}

static int by_head(const void *a, const void *b)
{
    const struct bodies_loop *first = a, *second = b;
    return (first->head > second->head) - (first->head < second->head);
}

enum base_status bodies_of(struct binary *binary, uint64_t start, uint64_t end, bodies_weigh *weigh,
                           void *context, struct bodies *bodies)
{
    struct function *function = calloc(1, sizeof *function);
    if (!function)
        return BASE_NO_MEMORY;
    *function = (struct function){.binary = binary, .start = start, .end = end};
    size_t before = bodies->count;
    enum base_status status = read_function(function);
    if (status == BASE_OK)
        status = add_loops(function, weigh, context, bodies);
    if (bodies->count > before)
        qsort(bodies->loops + before, bodies->count - before, sizeof *bodies->loops, by_head);
    free_function(function);
    return status == BASE_UNSUPPORTED ? BASE_OK : status;
}

void bodies_free(struct bodies *bodies)
{
    for (size_t i = 0; i < bodies->count; i++)
        bodies_loop_free(&bodies->loops[i]);
    free(bodies->loops);
    *bodies = (struct bodies){0};
}

/* ---- where a loop lies -------------------------------------------------------------------------------- */

static enum base_status add_ranges(const struct cfg *flow, uint32_t loop,
                                   struct bodies_extent *extent)
{
    size_t capacity = 0;
    for (uint32_t b = 0; b < flow->blocks_count; b++)
        if (cfg_loop_holds(flow, loop, b) &&
            !UTIL_PUSH(extent->ranges, extent->range_count, capacity,
                       (struct bodies_range){flow->blocks[b].start, flow->blocks[b].end})) {
            free(extent->ranges);
            return BASE_NO_MEMORY;
        }
    return BASE_OK;
}

enum base_status bodies_extent_of(struct binary *binary, uint64_t head,
                                  struct bodies_extent *extent)
{
    struct bodies_extent made = {0};
    struct function *function = calloc(1, sizeof *function);
    if (!function)
        return BASE_NO_MEMORY;
    enum base_status status = binary_function(binary, head, &made.start, &made.end);
    if (status == BASE_OK) {
        *function = (struct function){.binary = binary, .start = made.start, .end = made.end};
        status = read_function(function);
    }
    uint32_t id = 0;
    for (uint32_t l = 1; status == BASE_OK && l < function->flow->loops_count; l++)
        if (function->flow->blocks[function->flow->loops[l].head].start == head)
            id = l; /* inner ones come later */
    if (status == BASE_OK)
        status = id ? add_ranges(function->flow, id, &made) : BASE_NOT_FOUND;
    free_function(function);
    if (status == BASE_OK)
        *extent = made;
    return status;
}
