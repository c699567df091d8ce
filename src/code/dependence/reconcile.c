// SPDX-License-Identifier: MIT
/*
 * The source's dependences and the machine code's, matched by lines of the source, kinds and distances. An iteration of the machine code may do
 * several of the source: distance d of the source is then one of d / n, rounded either way.
 *
 * What the source stores and loads again is in a register if the instructions of the one line get, through registers and at most a
 * few moves, what those of the other made at that distance.
 */
#include "dependence/internal.h"

#include <stdlib.h>

enum { MOVES_MAX = 3 };

struct matching {
    const struct dependence_loop *loop;
    const struct ir *ir;
    const struct dependence_code *code;
    struct dependence_verdict *verdict;
    bool *matched; /* arcs of the machine code */
    bool failed;
};

/* ---- how many iterations ---------------------------------------------------------------------------------- */

static void find_iterations(struct matching *matching)
{
    const struct bounds *bounds = matching->code->bounds;
    for (size_t i = 0; i < bounds->stream_count && matching->loop->stride; i++) {
        const struct bounds_stream *stream = &bounds->streams[i];
        if (stream->kind != BOUNDS_STRIDE_CONSTANT || !stream->stride ||
            matching->code->lines[stream->instruction] != (uint32_t)matching->loop->stride_line ||
            stream->stride % matching->loop->stride)
            continue;
        int64_t iterations = llabs(stream->stride / matching->loop->stride);
        if (iterations <= UINT16_MAX)
            matching->verdict->iterations = (uint32_t)iterations;
        return;
    }
}

static bool is_distance(const struct matching *matching, uint32_t source, uint32_t code)
{
    uint32_t times = matching->verdict->iterations ? matching->verdict->iterations : 1;
    return code == source / times || code == (source + times - 1) / times;
}

/* ---- the machine code's side ---------------------------------------------------------------------------------- */

static uint32_t line_of_vertex(const struct matching *matching, uint32_t vertex)
{
    return matching->code->lines[matching->code->bounds->vertices[vertex].instruction];
}

static bool is_move(const struct matching *matching, uint32_t vertex)
{
    const struct bounds_vertex *at = &matching->code->bounds->vertices[vertex];
    return matching->code->block->instructions[at->instruction].category == BOUNDS_MOVE;
}

static bool in_memory(struct matching *matching, const struct dependence_arc *arc, uint32_t from,
                      uint32_t to, bool may)
{
    const struct bounds *bounds = matching->code->bounds;
    bool found = false;
    for (size_t a = 0; a < bounds->arc_count; a++) {
        const struct bounds_arc *other = &bounds->arcs[a];
        if (!other->memory || other->may != may || other->dependence != arc->dependence ||
            line_of_vertex(matching, other->from) != from ||
            line_of_vertex(matching, other->to) != to ||
            !is_distance(matching, arc->distance, other->distance))
            continue;
        found = matching->matched[a] = true;
    }
    return found;
}

/* From a vertex on through registers to one of that line, `distance` iterations later. */
static bool reaches(struct matching *matching, uint32_t vertex, uint32_t line, uint32_t distance,
                    uint32_t passed, unsigned moves)
{
    const struct bounds *bounds = matching->code->bounds;
    bool found = false;
    for (size_t a = 0; a < bounds->arc_count; a++) {
        const struct bounds_arc *arc = &bounds->arcs[a];
        uint32_t behind = passed + arc->distance;
        if (arc->from != vertex || arc->memory || arc->dependence != BOUNDS_FLOW ||
            behind > distance + 1)
            continue;
        bool here =
            line_of_vertex(matching, arc->to) == line && is_distance(matching, distance, behind);
        bool beyond = !here && moves < MOVES_MAX && is_move(matching, arc->to) &&
                      reaches(matching, arc->to, line, distance, behind, moves + 1);
        if (!here && !beyond)
            continue;
        matching->matched[a] = true;
        found = true;
    }
    return found;
}

static bool in_register(struct matching *matching, const struct dependence_arc *arc, uint32_t from,
                        uint32_t to)
{
    bool found = false;
    if (arc->dependence != BOUNDS_FLOW)
        return false;
    for (uint32_t v = 0; v < matching->code->bounds->vertex_count; v++)
        if (line_of_vertex(matching, v) == from)
            found |= reaches(matching, v, to, arc->distance, 0, 0);
    return found;
}

/* ---- both -------------------------------------------------------------------------------------------------------- */

static bool is_same(const struct dependence_reconciled *a, const struct dependence_reconciled *b)
{
    return a->dependence == b->dependence && a->fate == b->fate && a->from == b->from &&
           a->to == b->to && a->distance == b->distance && a->may == b->may;
}

static void add(struct matching *matching, struct dependence_reconciled item)
{
    struct dependence_verdict *verdict = matching->verdict;
    for (size_t i = 0; i < verdict->count; i++)
        if (is_same(&verdict->items[i], &item))
            return;
    matching->failed |= !UTIL_PUSH(verdict->items, verdict->count, verdict->capacity, item);
}

static enum dependence_fate fate_of(struct matching *matching, const struct dependence_arc *arc,
                                    uint32_t from, uint32_t to)
{
    if (in_memory(matching, arc, from, to, false))
        return DEPENDENCE_IN_MEMORY;
    if (in_register(matching, arc, from, to))
        return DEPENDENCE_IN_REGISTER;
    return in_memory(matching, arc, from, to, true) ? DEPENDENCE_IN_MEMORY : DEPENDENCE_GONE;
}

/* What is proven comes first: other arrays on the same line may overlap as well. Scalars within an iteration are how the source is written,
   not what bounds it. */
static void match_source(struct matching *matching)
{
    for (size_t i = 0; i < matching->loop->arcs_count; i++) {
        const struct dependence_arc *arc = &matching->loop->arcs[i];
        uint32_t from = line_of(matching->loop, matching->ir, arc->from);
        uint32_t to = line_of(matching->loop, matching->ir, arc->to);
        if (!arc->memory && !arc->distance)
            continue;
        add(matching, (struct dependence_reconciled){.dependence = arc->dependence,
                                                     .fate = fate_of(matching, arc, from, to),
                                                     .from = arc->from,
                                                     .to = arc->to,
                                                     .distance = arc->distance,
                                                     .scalar = !arc->memory});
    }
}

/* Of several between the same two lines the first stands for all. */
static bool is_listed(const struct matching *matching, const struct bounds_arc *arc)
{
    const struct dependence_verdict *verdict = matching->verdict;
    for (size_t i = 0; i < verdict->count; i++) {
        const struct dependence_reconciled *item = &verdict->items[i];
        if (item->fate == DEPENDENCE_ADDED && item->dependence == arc->dependence &&
            item->may == arc->may &&
            matching->code->lines[item->from] == line_of_vertex(matching, arc->from) &&
            matching->code->lines[item->to] == line_of_vertex(matching, arc->to))
            return true;
    }
    return false;
}

static void add_code(struct matching *matching)
{
    const struct bounds *bounds = matching->code->bounds;
    for (size_t a = 0; a < bounds->arc_count; a++) {
        const struct bounds_arc *arc = &bounds->arcs[a];
        if (matching->matched[a])
            continue;
        if (arc->memory && !is_listed(matching, arc))
            add(matching, (struct dependence_reconciled){
                              .dependence = arc->dependence,
                              .fate = DEPENDENCE_ADDED,
                              .from = bounds->vertices[arc->from].instruction,
                              .to = bounds->vertices[arc->to].instruction,
                              .distance = arc->distance,
                              .may = arc->may,
                          });
        matching->verdict->counters +=
            !arc->memory && arc->distance && arc->dependence == BOUNDS_FLOW && arc->from == arc->to;
    }
}

bool dependence_reconcile(const struct dependence_loop *loop, const struct ir *ir,
                          const struct dependence_code *code, struct dependence_verdict *verdict)
{
    struct matching matching = {.loop = loop, .ir = ir, .code = code, .verdict = verdict};
    matching.matched = calloc(code->bounds->arc_count + 1, sizeof *matching.matched);
    if (!matching.matched)
        return false;
    find_iterations(&matching);
    match_source(&matching);
    add_code(&matching);
    free(matching.matched);
    return !matching.failed;
}

void dependence_verdict_free(struct dependence_verdict *verdict)
{
    free(verdict->items);
    *verdict = (struct dependence_verdict){0};
}
