// SPDX-License-Identifier: MIT
/*
 * A loop with the functions that it calls, as one graph of blocks. Each place that calls has a copy of the function, a frame, so that returns have
 * one way to go, and operands lines of their own. Blocks end behind calls, which lead to the function's entry; its returns lead to
 * what follows. Jumps to other functions are followed, and calls within what is called; where it calls itself, has a loop, or
 * goes who knows where, that part is left out: a branch there leaves the loop, which it must not do by what is loaded (data.c).
 *
 * In the clone calls and returns stay what they are, since processors predict them otherwise than jumps, and forward what is pushed
 * to what is popped without delay: on a stack of its own (stack.c).
 */
#include "clone/internal.h"

#include <stdlib.h>
#include <string.h>

enum { DEPTH_MAX = 8, PIECES_MAX = CLONE_MARKS_MAX };
enum reached { NOT_REACHED, REACHED, LEFT_OUT };

struct maker {
    struct body *body;
    struct splice *splice;
    struct cfg_block *blocks; /* by frame, then by address */
    size_t count, capacity;
    struct cfg_edge *edges;
    size_t edge_count, edge_capacity;
};

/* One function, or the loop. */
struct source {
    struct maker *maker;
    uint32_t frame;
    const struct cfg *flow;
    uint32_t *first; /* by block of flow: its first piece + 1; 0: it has none */
    uint32_t after;  /* the piece to which it returns */
    unsigned depth;
};

static uint64_t in_frame(uint64_t address, uint32_t frame)
{
    return address | (uint64_t)frame << FRAME_SHIFT;
}

/* What is left out first is the reason, if there is none in the rest. */
static bool leave_out(struct maker *maker, enum clone_reason reason, uint64_t culprit)
{
    struct splice *splice = maker->splice;
    if (splice->reason == CLONE_ELIGIBLE) {
        splice->reason = (uint8_t)reason;
        splice->culprit = culprit;
    }
    return false;
}

static bool leave_out_call(struct maker *maker, uint64_t culprit, uint64_t called, bool cell)
{
    if (maker->splice->reason == CLONE_ELIGIBLE) {
        maker->splice->called = called;
        maker->splice->cell = cell;
    }
    return leave_out(maker, CLONE_CALLS, culprit);
}

/* ---- pieces of blocks ------------------------------------------------------------------------------------------ */

static bool add_edge(struct maker *maker, uint32_t from, uint32_t to, uint32_t kind)
{
    struct cfg_edge edge = {from, to, kind};
    return UTIL_PUSH(maker->edges, maker->edge_count, maker->edge_capacity, edge) ||
           out_of_memory(maker->body);
}

static bool add_piece(struct maker *maker, const struct cfg_block *piece)
{
    if (maker->count == PIECES_MAX)
        return refuse(maker->body, CLONE_LONG, 0);
    return UTIL_PUSH(maker->blocks, maker->count, maker->capacity, *piece) ||
           out_of_memory(maker->body);
}

static bool decode(const struct source *source, const struct cfg_block *block,
                   struct bounds_block *code)
{
    struct body *body = source->maker->body;
    const struct cfg_code *from = source->maker->splice->frames[source->frame].code;
    size_t bad;
    if (block->start < from->start || block->end > from->start + from->count)
        return refuse(body, CLONE_NO_LOOP, block->start);
    enum base_status status =
        bounds_decode(from->bytes + (block->start - from->start),
                      (size_t)(block->end - block->start), block->start, false, code, &bad);
    if (status == BASE_NO_MEMORY)
        return out_of_memory(body);
    return status == BASE_OK || refuse(body, CLONE_NO_LOOP, block->start);
}

/* A block ends behind each call. */
static bool cut_block(struct source *source, uint32_t b)
{
    struct maker *maker = source->maker;
    const struct cfg_block *block = &source->flow->blocks[b];
    struct bounds_block code = {0};
    struct cfg_block piece = *block;
    bool good = decode(source, block, &code);
    uint64_t from = block->start;
    source->first[b] = (uint32_t)maker->count + 1;
    piece.first_edge = piece.edges = piece.first_into = piece.into = 0;
    piece.loop = 1;
    for (size_t i = 0; i < code.count && good; i++) {
        const struct bounds_instruction *instruction = &code.instructions[i];
        uint64_t end = instruction->address + instruction->length;
        if (!instruction->calls && i + 1 < code.count)
            continue;
        piece.start = in_frame(from, source->frame);
        piece.end = in_frame(end, source->frame);
        piece.last = in_frame(instruction->address, source->frame);
        piece.flags = instruction->calls ? CFG_CALLS : block->flags & CFG_EXIT;
        good = add_piece(maker, &piece);
        from = end;
    }
    bounds_block_free(&code);
    return good;
}

/* Code that cannot be in the graph: where control might go. */
static bool add_left_out(struct source *source, uint32_t b)
{
    struct cfg_block piece = source->flow->blocks[b];
    piece.start = in_frame(piece.start, source->frame);
    piece.end = in_frame(piece.end, source->frame);
    piece.last = in_frame(piece.last, source->frame);
    piece.first_edge = piece.edges = 0;
    piece.loop = 1;
    piece.flags = SPLICE_FAILED;
    source->first[b] = (uint32_t)source->maker->count + 1;
    return add_piece(source->maker, &piece);
}

/* ---- where they lead ---------------------------------------------------------------------------------------------- */

static bool add_callee(struct source *source, uint32_t piece, uint64_t address, bool cell,
                       uint32_t after);

/* The last instruction of a piece: what it calls, or jumps to. False: a pointer. */
static bool target_of(struct source *source, uint32_t piece, uint64_t *target, bool *cell)
{
    const struct cfg_block *block = &source->maker->blocks[piece];
    struct cfg_block last = {.start = PLAIN_ADDRESS(block->last), .end = PLAIN_ADDRESS(block->end)};
    struct bounds_block code = {0};
    bool found = false;
    if (decode(source, &last, &code) && code.count == 1)
        for (unsigned k = 0; k < code.instructions->operand_count && !found; k++) {
            const struct bounds_operand *operand = &code.instructions->operands[k];
            *cell = operand->kind == BOUNDS_MEMORY && operand->absolute && !operand->hidden;
            found = *cell || operand->kind == BOUNDS_IMMEDIATE;
            *target = (uint64_t)operand->value + (*cell ? 0 : last.end);
        }
    bounds_block_free(&code);
    return found;
}

/* Behind a call that ends its block. */
static uint32_t piece_behind(const struct source *source, uint32_t b)
{
    const struct cfg *flow = source->flow;
    for (uint32_t e = 0; e < flow->blocks[b].edges; e++) {
        const struct cfg_edge *edge = &flow->edges[flow->blocks[b].first_edge + e];
        if (edge->kind == CFG_FALL && source->first[edge->to])
            return source->first[edge->to] - 1;
    }
    return NONE;
}

/* False: it is left out. */
static bool follow(struct source *source, uint32_t piece, uint32_t after)
{
    struct maker *maker = source->maker;
    uint64_t target, at = maker->blocks[piece].last;
    bool cell;
    if (!target_of(source, piece, &target, &cell))
        return leave_out(maker, CLONE_CALLS_POINTER, at);
    return add_callee(source, piece, target, cell, after);
}

static bool connect_last(struct source *source, uint32_t b, uint32_t piece)
{
    struct maker *maker = source->maker;
    const struct cfg_block *block = &source->flow->blocks[b];
    bool good = true;
    for (uint32_t e = 0; e < block->edges && good; e++) {
        const struct cfg_edge *edge = &source->flow->edges[block->first_edge + e];
        if (source->first[edge->to])
            good = add_edge(maker, piece, source->first[edge->to] - 1, edge->kind);
    }
    if (!good || !source->frame)
        return good;
    if (block->flags & CFG_RETURNS)
        return add_edge(maker, piece, source->after, CFG_JUMP);
    if (block->flags & (CFG_LEAVES | CFG_UNRESOLVED) && !block->edges &&
        !follow(source, piece, source->after))
        maker->blocks[piece].flags |= SPLICE_FAILED;
    return !maker->body->no_memory;
}

/* From piece to piece of a block, over what is called. */
static bool connect(struct source *source, uint32_t b)
{
    struct maker *maker = source->maker;
    uint32_t piece = source->first[b] - 1;
    uint64_t end = in_frame(source->flow->blocks[b].end, source->frame);
    for (;; piece++) {
        bool last = maker->blocks[piece].end == end;
        if (!(maker->blocks[piece].flags & CFG_CALLS))
            return connect_last(source, b, piece);
        uint32_t after = last ? piece_behind(source, b) : piece + 1;
        if (after == NONE)
            leave_out(maker, CLONE_CALLEE_ENDS, maker->blocks[piece].last);
        if (after == NONE || !follow(source, piece, after)) {
            maker->blocks[piece].flags |= SPLICE_FAILED;
            if (maker->body->no_memory)
                return false;
        }
        if (last)
            return true;
    }
}

/* Of a function that is called: what control can reach, without loops. */
static bool reach(struct source *source, uint32_t b, uint8_t *reached)
{
    const struct cfg_block *block = &source->flow->blocks[b];
    uint64_t at = in_frame(block->last, source->frame);
    if (reached[b] == REACHED)
        return true;
    reached[b] = block->loop || block->flags & CFG_STOPS ? LEFT_OUT : REACHED;
    if (block->loop)
        return leave_out(source->maker, CLONE_CALLEE_LOOPS, at);
    if (block->flags & CFG_STOPS)
        return leave_out(source->maker, CLONE_CALLEE_ENDS, at);
    for (uint32_t e = 0; e < block->edges; e++)
        reach(source, source->flow->edges[block->first_edge + e].to, reached);
    return true;
}

static bool add_blocks(struct source *source, const uint8_t *reached)
{
    uint32_t count = source->flow->blocks_count;
    for (uint32_t b = 0; b < count; b++)
        if ((reached[b] == REACHED && !cut_block(source, b)) ||
            (reached[b] == LEFT_OUT && !add_left_out(source, b)))
            return false;
    for (uint32_t b = 0; b < count; b++)
        if (reached[b] == REACHED && !connect(source, b))
            return false;
    return true;
}

/* Is the function already being called? */
static bool is_open(const struct maker *maker, uint32_t frame, uint64_t entry)
{
    while (frame && maker->splice->frames[frame].entry != entry)
        frame = maker->splice->frames[frame].parent;
    return maker->splice->frames[frame].entry == entry;
}

static bool add_function(struct source *source, uint32_t entry, uint32_t caller)
{
    struct maker *maker = source->maker;
    uint8_t *reached = calloc(source->flow->blocks_count + 1, sizeof *reached);
    source->first = calloc(source->flow->blocks_count + 1, sizeof *source->first);
    bool good = reached && source->first ? true : out_of_memory(maker->body);
    good = good && reach(source, entry, reached) && add_blocks(source, reached);
    if (good)
        good = add_edge(maker, caller, source->first[entry] - 1, CFG_JUMP);
    free(source->first);
    free(reached);
    return good;
}

/* A frame for what `piece` of the source calls, or jumps to. False: it is left out. */
static bool add_callee(struct source *source, uint32_t piece, uint64_t address, bool cell,
                       uint32_t after)
{
    struct maker *maker = source->maker;
    struct splice *splice = maker->splice;
    const struct clone_request *request = maker->body->origin;
    struct clone_callee callee;
    uint64_t at = maker->blocks[piece].last;
    if (!request->callee || !request->callee(request->context, address, cell, &callee))
        return leave_out_call(maker, at, address, cell);
    uint32_t entry = cfg_block_at(callee.flow, callee.flow->start);
    if (entry == CFG_NONE || callee.flow->blocks[entry].start != callee.flow->start)
        return leave_out_call(maker, at, address, cell);
    if (is_open(maker, source->frame, callee.flow->start))
        return leave_out(maker, CLONE_RECURSES, at);
    if (splice->frame_count == CLONE_FRAMES_MAX || source->depth == DEPTH_MAX ||
        callee.flow->blocks_count > PIECES_MAX)
        return leave_out(maker, CLONE_LONG, at);
    struct source called = {.maker = maker,
                            .frame = splice->frame_count++,
                            .flow = callee.flow,
                            .after = after,
                            .depth = source->depth + 1};
    splice->frames[called.frame] = (struct frame){.code = callee.code,
                                                  .entry = callee.flow->start,
                                                  .parent = source->frame,
                                                  .at = INT64_MIN / 2};
    return add_function(&called, entry, piece);
}

/* ---- the whole ---------------------------------------------------------------------------------------------------- */

/* Marks what comes from marked pieces, or leads to them. all: what is left out is reached, too. */
static void spread(const struct maker *maker, bool *marked, bool back, bool all)
{
    for (bool changed = true; changed;) {
        changed = false;
        for (size_t e = 0; e < maker->edge_count; e++) {
            uint32_t from = back ? maker->edges[e].to : maker->edges[e].from,
                     to = back ? maker->edges[e].from : maker->edges[e].to;
            if (marked[from] && !marked[to] && !(maker->blocks[from].flags & SPLICE_FAILED) &&
                (all || !(maker->blocks[to].flags & SPLICE_FAILED)))
                changed = marked[to] = true;
        }
    }
}

/* Only what is on a way from the head to the head stays, or with all what comes from the head. numbers: by piece, from 1 on; 0: it does
   not. */
static bool number_kept(const struct maker *maker, uint32_t head, uint32_t *numbers)
{
    bool *marked = calloc(2 * maker->count + 2, sizeof *marked), *back = marked + maker->count + 1;
    bool all = maker->body->marks;
    uint32_t count = 0;
    if (!marked)
        return out_of_memory(maker->body);
    marked[head] = back[head] = true;
    spread(maker, marked, false, all);
    spread(maker, back, true, all);
    for (size_t p = 0; p < maker->count; p++)
        numbers[p] = marked[p] && (back[p] || all) ? ++count : 0;
    free(marked);
    return true;
}

/* Does anything that is kept lead back to the head? */
static bool comes_back(const struct maker *maker, uint32_t head, const uint32_t *numbers)
{
    for (size_t e = 0; e < maker->edge_count; e++)
        if (maker->edges[e].to == head && numbers[maker->edges[e].from] &&
            !(maker->blocks[maker->edges[e].from].flags & SPLICE_FAILED))
            return true;
    return false;
}

static bool is_cold(const struct maker *maker, uint32_t piece)
{
    const uint8_t *marks = maker->body->origin->marks;
    return marks && !maker->body->marks && !marks[piece];
}

/* What is not executed is left out as if it could not be in it. */
static void leave_cold(struct maker *maker, uint32_t head)
{
    for (uint32_t p = 0; p < maker->count; p++)
        if (is_cold(maker, p) && p != head)
            maker->blocks[p].flags |= SPLICE_FAILED;
}

static void keep(struct maker *maker, const uint32_t *numbers)
{
    size_t blocks = 0, edges = 0;
    for (size_t e = 0; e < maker->edge_count; e++) {
        struct cfg_edge edge = maker->edges[e];
        if (numbers[edge.from] && numbers[edge.to])
            maker->edges[edges++] =
                (struct cfg_edge){numbers[edge.from] - 1, numbers[edge.to] - 1, edge.kind};
        else if (numbers[edge.from])
            maker->blocks[edge.from].flags |= is_cold(maker, edge.to) ? SPLICE_COLD : SPLICE_CUT;
    }
    for (uint32_t p = 0; p < maker->count; p++) {
        maker->blocks[p].first_into = p; /* its number among marks, whatever is left out */
        if (numbers[p])
            maker->blocks[blocks++] = maker->blocks[p];
    }
    maker->body->out->marks = (uint32_t)maker->count;
    maker->count = blocks;
    maker->edge_count = edges;
    qsort(maker->edges, edges, sizeof *maker->edges, cfg_compare_edges);
    for (size_t e = edges; e-- > 0;) {
        maker->blocks[maker->edges[e].from].first_edge = (uint32_t)e;
        maker->blocks[maker->edges[e].from].edges++;
    }
}

static void finish(struct maker *maker, uint32_t head)
{
    struct splice *splice = maker->splice;
    struct body *body = maker->body;
    splice->loops[1] = (struct cfg_loop){.head = head, .depth = 1};
    splice->flow = (struct cfg){.start = body->origin->flow->start,
                                .end = body->origin->flow->end,
                                .blocks = maker->blocks,
                                .edges = maker->edges,
                                .loops = splice->loops,
                                .blocks_count = (uint32_t)maker->count,
                                .edges_count = (uint32_t)maker->edge_count,
                                .loops_count = 2};
    splice->request = *body->origin;
    splice->request.flow = &splice->flow;
    splice->request.loop = 1;
    body->request = &splice->request;
    body->out->callee_count = 0;
    for (uint32_t f = 1; f < splice->frame_count; f++)
        body->out->callees[body->out->callee_count++] = splice->frames[f].entry;
}

static bool make(struct maker *maker, struct source *loop, const uint8_t *reached)
{
    const struct cfg *flow = loop->flow;
    uint32_t head = flow->loops[maker->body->origin->loop].head;
    if (!add_blocks(loop, reached))
        return false;
    uint32_t *numbers = calloc(maker->count + 1, sizeof *numbers);
    if (!numbers)
        return out_of_memory(maker->body);
    head = loop->first[head] - 1;
    leave_cold(maker, head);
    bool good = number_kept(maker, head, numbers);
    if (good && !maker->body->marks)
        good = comes_back(maker, head, numbers);
    if (good) {
        head = numbers[head] - 1;
        keep(maker, numbers);
        finish(maker, head);
    }
    free(numbers);
    return good;
}

static bool calls_anything(struct body *body)
{
    const struct cfg *flow = body->origin->flow;
    for (uint32_t b = 0; b < flow->blocks_count; b++)
        if (flow->blocks[b].flags & CFG_CALLS && cfg_loop_holds(flow, body->origin->loop, b))
            return true;
    return false;
}

bool splice_calls(struct body *body)
{
    const struct cfg *flow = body->origin->flow;
    uint32_t loop = body->origin->loop;
    if (!loop || loop >= flow->loops_count || !calls_anything(body))
        return true;
    struct maker maker = {.body = body, .splice = calloc(1, sizeof *maker.splice)};
    struct source source = {.maker = &maker, .flow = flow, .after = NONE};
    uint8_t *reached = calloc(flow->blocks_count + 1, sizeof *reached);
    source.first = calloc(flow->blocks_count + 1, sizeof *source.first);
    body->splice = maker.splice;
    bool good = maker.splice && reached && source.first ? true : out_of_memory(body);
    if (good) {
        maker.splice->frames[0] = (struct frame){.code = body->origin->code, .entry = flow->start};
        maker.splice->frame_count = 1;
        for (uint32_t b = 0; b < flow->blocks_count; b++)
            reached[b] = cfg_loop_holds(flow, loop, b);
        good = make(&maker, &source, reached);
    }
    if (!good) {
        free(maker.blocks);
        free(maker.edges);
    }
    if (!good && !body->no_memory && body->out->reason == CLONE_ELIGIBLE)
        refuse(body,
               maker.splice->reason ? (enum clone_reason)maker.splice->reason : CLONE_CALLEE_ENDS,
               maker.splice->culprit);
    free(source.first);
    free(reached);
    return good;
}

void splice_free(struct splice *splice)
{
    if (!splice)
        return;
    free(splice->flow.blocks);
    free(splice->flow.edges);
    free(splice);
}

uint32_t splice_target(const struct body *body, uint32_t index, uint32_t instruction)
{
    const struct cfg *flow = body->request->flow;
    const struct cfg_block *block = &flow->blocks[body->blocks[index]];
    const struct bounds_instruction *last = &body->code.instructions[instruction];
    if (!body->splice || last->address != block->last || last->branches || block->edges != 1)
        return NONE;
    uint32_t to = body_index(body, flow->edges[block->first_edge].to);
    bool crosses = last->mnemonic == ZYDIS_MNEMONIC_CALL || last->mnemonic == ZYDIS_MNEMONIC_RET ||
                   (last->jumps && to != NONE &&
                    FRAME_OF(flow->blocks[body->blocks[to]].start) != FRAME_OF(block->start));
    return crosses ? to : NONE;
}
