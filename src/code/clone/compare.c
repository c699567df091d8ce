// SPDX-License-Identifier: MIT
/*
 * Along each way through the loop: its address streams, the stores that loads get their data from, and the recurrences before and
 * after the loop was rewritten.
 */
#include "clone/internal.h"

#include <math.h>
#include <stdlib.h>

/* A recurrence matters if it comes near to what units and front end take anyhow. */
static const double near_throughput = 0.75, tolerance = 0.02;

/* Where emitted code is placed for a look at it: any yard, any module. */
static const uint64_t yard_somewhere = 0x10000000;

static enum base_status bounds_along(const struct body *body, const struct bounds_block *block,
                                     struct bounds *bounds)
{
    struct bounds_options options = {.taken = 1, .graph = true, .streams = true};
    return bounds_of(block, body->request->model, &options, bounds);
}

/* ---- before --------------------------------------------------------------------------------------------- */

static uint32_t first_joined(const struct body *body, uint32_t operand)
{
    while (body->operands[operand].joined != operand)
        operand = body->operands[operand].joined;
    return operand;
}

static void join(struct body *body, uint32_t a, uint32_t b)
{
    a = first_joined(body, a);
    b = first_joined(body, b);
    if (a < b)
        body->operands[b].joined = a;
    else
        body->operands[a].joined = b;
}

/* The rewritten operand of the body with that number of Zydis'; NONE. */
static uint32_t operand_numbered(const struct body *body, uint32_t instruction, uint8_t number)
{
    for (size_t o = first_operand(body, instruction);
         o < body->operand_count && body->operands[o].instruction == instruction; o++)
        if (operand_of(body, &body->operands[o])->number == number)
            return (uint32_t)o;
    return NONE;
}

static uint32_t operand_of_vertex(const struct body *body, const struct way *way,
                                  const struct bounds_vertex *vertex)
{
    return operand_numbered(body, way_instruction(body, way, vertex->instruction), vertex->operand);
}

static void take_streams(struct body *body, uint32_t number, const struct bounds_block *block,
                         const struct bounds *bounds)
{
    for (size_t s = 0; s < bounds->stream_count; s++) {
        const struct bounds_stream *stream = &bounds->streams[s];
        uint8_t zydis = block->instructions[stream->instruction].operands[stream->operand].number;
        uint32_t o = operand_numbered(
            body, way_instruction(body, &body->ways[number], stream->instruction), zydis);
        if (o == NONE || body->operands[o].way != NONE)
            continue;
        body->operands[o].stream = *stream;
        body->operands[o].way = number;
    }
}

static void join_flow(struct body *body, const struct way *way, const struct bounds *bounds)
{
    for (size_t a = 0; a < bounds->arc_count; a++) {
        const struct bounds_arc *arc = &bounds->arcs[a];
        if (!arc->memory || arc->may || arc->dependence != BOUNDS_FLOW)
            continue;
        uint32_t from = operand_of_vertex(body, way, &bounds->vertices[arc->from]);
        uint32_t to = operand_of_vertex(body, way, &bounds->vertices[arc->to]);
        if (from != NONE && to != NONE)
            join(body, from, to);
    }
}

/* Locations under fixed addresses that overlap are one. */
static void join_fixed(struct body *body)
{
    for (uint32_t a = 0; a < body->operand_count; a++)
        for (uint32_t b = 0; b < a; b++) {
            const struct operand *one = &body->operands[a], *other = &body->operands[b];
            if (one->fixed && other->fixed && one->stream.root == other->stream.root &&
                operand_of(body, one)->segment == operand_of(body, other)->segment &&
                one->stream.offset < other->stream.offset + other->bytes &&
                other->stream.offset < one->stream.offset + one->bytes)
                join(body, a, b);
        }
}

static bool look_along(struct body *body, uint32_t number)
{
    struct way *way = &body->ways[number];
    struct bounds_block block = {0};
    struct bounds bounds;
    if (!way_block(body, way, &block))
        return false;
    enum base_status status = bounds_along(body, &block, &bounds);
    if (status == BASE_OK) {
        way->recurrence = bounds.recurrence;
        way->throughput = fmax(bounds.resource, fmax(bounds.slots, bounds.branch));
        take_streams(body, number, &block, &bounds);
        join_flow(body, way, &bounds);
        bounds_free(&bounds);
    }
    bounds_block_free(&block);
    return status == BASE_OK || out_of_memory(body);
}

bool compare_begin(struct body *body)
{
    for (uint32_t w = 0; w < body->way_count; w++)
        if (!look_along(body, w))
            return false;
    join_fixed(body);
    for (size_t o = 0; o < body->operand_count; o++)
        body->operands[o].joined = first_joined(body, (uint32_t)o);
    return true;
}

/* ---- after ----------------------------------------------------------------------------------------------- */

/* The emitted instructions of a way, through all copies of the body. */
static enum base_status decode_emitted(const struct body *body, const struct way *way,
                                       const struct emitted *emitted, const uint8_t *code,
                                       struct bounds_block *block)
{
    enum base_status status = BASE_OK;
    size_t bad, blocks = (size_t)body->copies * body->block_count;
    for (unsigned copy = 0; copy < body->copies; copy++)
        for (uint32_t w = 0; w < way->count && status == BASE_OK; w++) {
            const uint32_t *start = emitted->starts + copy * body->block_count + way->blocks[w];
            status =
                bounds_decode(code + *start, start[blocks] - *start, *start, false, block, &bad);
        }
    if (body->walk_count && status == BASE_OK)
        status = bounds_decode(code + emitted->turn, emitted->turn_end - emitted->turn,
                               emitted->turn, false, block, &bad);
    return status;
}

/* Where no load gets what a store has left, what is lost ran through addresses. */
static bool refuse_lost(struct body *body)
{
    uint64_t moves = 0;
    for (size_t o = body->operand_count; o-- > 0;) {
        const struct operand *operand = &body->operands[o];
        if (operand->linked)
            return refuse(body, CLONE_RECURRENCE_LOST, 0);
        if (operand->loads && !operand->fixed && operand->stream.kind != BOUNDS_STRIDE_CONSTANT)
            moves = address_of(body, operand);
    }
    return refuse(body, moves ? CLONE_CHASES : CLONE_RECURRENCE_LOST, moves);
}

static bool judge(struct body *body, const struct way *way, double after)
{
    double matters = near_throughput * way->throughput;
    struct clone *out = body->out;
    if (way->recurrence >= out->recurrence) {
        out->recurrence = way->recurrence;
        out->recurrence_after = after;
    }
    if (after > fmax(way->recurrence, matters) * (1 + tolerance))
        return refuse(body, CLONE_RECURRENCE_MADE, 0);
    if (way->recurrence > fmax(after, matters) * (1 + tolerance))
        return refuse_lost(body);
    return true;
}

static bool compare_along(struct body *body, const struct way *way, const struct emitted *emitted,
                          const uint8_t *code)
{
    struct bounds_block block = {0};
    struct bounds bounds = {0};
    enum base_status status = decode_emitted(body, way, emitted, code, &block);
    if (status == BASE_OK && body->splice && !stack_settle_along(&block))
        status = BASE_MALFORMED;
    if (status == BASE_OK)
        status = bounds_along(body, &block, &bounds);
    double after = status == BASE_OK ? bounds.recurrence / body->copies : 0;
    bounds_free(&bounds);
    bounds_block_free(&block);
    if (status == BASE_NO_MEMORY)
        return out_of_memory(body);
    return status == BASE_OK ? judge(body, way, after) : refuse(body, CLONE_LONG, 0);
}

bool compare_end(struct body *body, const struct emitted *emitted)
{
    uint8_t *code = malloc(emitted->clone->code_bytes + 1);
    bool good = code ? true : out_of_memory(body);
    if (good)
        wire_clone_place(emitted->clone, yard_somewhere, 0, 0, code);
    body->out->recurrence = body->out->recurrence_after = 0;
    for (uint32_t w = 0; w < body->way_count && good; w++)
        good = compare_along(body, &body->ways[w], emitted, code);
    free(code);
    return good;
}
