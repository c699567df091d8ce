// SPDX-License-Identifier: MIT
/*
 * Where memory operands go in the yard.
 *
 * An item is an operand in one copy of the body, at its place in its stream. Items of one group that have to lie as they do in the
 * program, and fit a line, are an atom: what overlaps, if loads get what stores leave there; else neighbours
 * of one stream. Atoms with stores get the first lines, each an offset in the page of its own, which loads do not use again.
 */
#include "clone/internal.h"

#include <stdlib.h>

enum {
    PAGE_LINES = 4096 / WIRE_CLONE_LINE,
    STORE_LINES_MAX = 48,
    STACK_LINES_MAX = 24,
    STACK_BYTES_MAX = 4096,
    APART = 1 << 20
};

struct item {
    uint32_t operand, group;
    uint8_t copy;
    bool linked; /* loads of the group get what its stores leave */
    int64_t at;
};

struct layout {
    struct body *body;
    struct item *items;
    size_t count;
    uint32_t store_lines, load_lines; /* taken so far */
};

/* ---- groups ------------------------------------------------------------------------------------------------ */

/* Linked are operands that share lines with others, or themselves load and store. */
static void find_linked(struct body *body)
{
    for (size_t first = 0; first < body->operand_count; first++) {
        bool loads = false, stores = false;
        for (size_t o = first; o < body->operand_count; o++)
            if (body->operands[o].joined == first) {
                loads |= body->operands[o].loads && !body->operands[o].hints;
                stores |= body->operands[o].stores;
            }
        for (size_t o = first; o < body->operand_count; o++)
            if (body->operands[o].joined == first)
                body->operands[o].linked = loads && stores;
    }
}

static bool are_neighbours(const struct body *body, const struct operand *a,
                           const struct operand *b)
{
    return a->stores == b->stores && a->stream.kind == BOUNDS_STRIDE_CONSTANT &&
           is_one_stream(body, a, b);
}

/* Of operands that are not linked: the first of their stream. */
static uint32_t stream_group(const struct body *body, uint32_t operand)
{
    for (uint32_t o = 0; o < operand; o++)
        if (!body->operands[o].linked &&
            are_neighbours(body, &body->operands[o], &body->operands[operand]))
            return o;
    return operand;
}

static int64_t modulo(int64_t number, int64_t by)
{
    int64_t rest = number % by;
    return rest < 0 ? rest + by : rest;
}

/*
 * Linked operands of a regular stream go around in a ring of as many locations as there are copies, so that a load finds what
 * was stored as many iterations ago as in the program. Where strides are not known, each copy has its own.
 */
static int64_t place_of(const struct body *body, const struct operand *operand, unsigned copy)
{
    const struct bounds_stream *stream = &operand->stream;
    int64_t stride = stream->stride > 0 ? stream->stride : -stream->stride;
    if (!operand->linked)
        return stream->offset;
    if (stream->kind != BOUNDS_STRIDE_CONSTANT)
        return modulo(stream->offset, APART) + (int64_t)copy * APART;
    if (!stride || stride > APART)
        return stream->offset;
    return modulo((int64_t)((uint64_t)stream->offset + (uint64_t)stream->stride * copy),
                  stride * body->copies);
}

static bool make_items(struct layout *layout)
{
    struct body *body = layout->body;
    layout->items = calloc(body->operand_count * body->copies + 1, sizeof *layout->items);
    if (!layout->items)
        return out_of_memory(body);
    for (uint32_t o = 0; o < body->operand_count; o++) {
        const struct operand *operand = &body->operands[o];
        if (operand->stack)
            continue;
        uint32_t group = operand->linked ? operand->joined : stream_group(body, o);
        for (unsigned copy = 0; copy < body->copies; copy++)
            layout->items[layout->count++] = (struct item){.operand = o,
                                                           .group = group,
                                                           .copy = (uint8_t)copy,
                                                           .linked = operand->linked,
                                                           .at = place_of(body, operand, copy)};
    }
    return true;
}

static int by_place(const void *left, const void *right)
{
    const struct item *a = left, *b = right;
    if (a->group != b->group)
        return a->group < b->group ? -1 : 1;
    if (a->at != b->at)
        return a->at < b->at ? -1 : 1;
    return a->operand != b->operand ? (a->operand < b->operand ? -1 : 1) : a->copy - b->copy;
}

/* ---- atoms -------------------------------------------------------------------------------------------------- */

/* Items from `first` on that are one atom; *span: its bytes. */
static size_t atom_from(const struct layout *layout, size_t first, int64_t *span)
{
    const struct item *items = layout->items;
    size_t count = 0;
    *span = 0;
    for (size_t i = first; i < layout->count && items[i].group == items[first].group; i++) {
        int64_t at = items[i].at - items[first].at,
                end = at + layout->body->operands[items[i].operand].bytes;
        if (i > first && (items[i].linked ? at >= *span : end > WIRE_CLONE_LINE))
            break;
        *span = end > *span ? end : *span;
        count++;
    }
    return count;
}

static bool fits(const struct layout *layout, const struct item *items, size_t count, int64_t start,
                 bool naturally)
{
    for (size_t i = 0; i < count; i++) {
        const struct operand *operand = &layout->body->operands[items[i].operand];
        int64_t at = start + items[i].at - items[0].at;
        if (!may_lie_at(operand, at, naturally) || at + operand->bytes > WIRE_CLONE_LINE)
            return false;
    }
    return true;
}

/* Where in its line an atom begins: next to where the one before does, since words of the same place in their lines may be
   in each other's way; negative: nowhere. */
static int64_t start_in_line(const struct layout *layout, const struct item *items, size_t count,
                             uint32_t line)
{
    for (unsigned naturally = 2; naturally-- > 0;)
        for (unsigned i = 0; i < WIRE_CLONE_LINE; i++) {
            int64_t start = (line * 8 + i) % WIRE_CLONE_LINE;
            if (fits(layout, items, count, start, naturally))
                return start;
        }
    return -1;
}

static bool has_store(const struct layout *layout, const struct item *items, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (layout->body->operands[items[i].operand].stores)
            return true;
    return false;
}

/* Loads use, in each page, what stores leave. */
static uint32_t line_of_load(const struct layout *layout, uint32_t number)
{
    uint32_t a_page = PAGE_LINES - layout->store_lines;
    return number / a_page * PAGE_LINES + layout->store_lines + number % a_page;
}

static bool put_atom(struct layout *layout, size_t first, size_t count, uint32_t line)
{
    struct body *body = layout->body;
    const struct item *items = layout->items + first;
    int64_t start = line < WIRE_CLONE_LINES_MAX ? start_in_line(layout, items, count, line) : -1;
    if (start < 0)
        return refuse(body, CLONE_LINES, address_of(body, &body->operands[items->operand]));
    for (size_t i = 0; i < count; i++)
        body->operands[items[i].operand].at[items[i].copy] =
            (uint16_t)(line * WIRE_CLONE_LINE + start + items[i].at - items[0].at);
    body->lines = line + 1 > body->lines ? line + 1 : body->lines;
    return true;
}

/* Atoms of operands that are not linked need not stay together. */
static size_t usable_atom(const struct layout *layout, size_t first)
{
    int64_t span;
    size_t count = atom_from(layout, first, &span);
    while (count > 1 && !layout->items[first].linked &&
           start_in_line(layout, layout->items + first, count, 0) < 0)
        count--;
    return count;
}

static bool put_atoms(struct layout *layout, bool stores)
{
    for (size_t i = 0, count; i < layout->count; i += count) {
        count = usable_atom(layout, i);
        if (has_store(layout, layout->items + i, count) != stores)
            continue;
        uint32_t line = stores ? layout->store_lines++ : line_of_load(layout, layout->load_lines++);
        if (stores && layout->store_lines > STORE_LINES_MAX)
            return refuse(layout->body, CLONE_LINES, 0);
        if (!put_atom(layout, i, count, line))
            return false;
    }
    return true;
}

/* ---- the stack ------------------------------------------------------------------------------------------- */

/* From the pointer at the loop's head. */
static int64_t stack_offset(const struct body *body, const struct operand *operand)
{
    return operand->kept ? operand_of(body, operand)->value : operand->stream.offset;
}

/* What is found at the same distance from the pointer at the head by other ways than through registers that are known is there, too. */
static void find_stack(struct body *body)
{
    const struct operand *kept = NULL;
    body->stack_low = body->stack_high = 0;
    for (size_t o = 0; o < body->operand_count && !kept; o++)
        if (body->operands[o].kept && body->operands[o].way != NONE)
            kept = &body->operands[o];
    for (size_t o = 0; o < body->operand_count; o++) {
        struct operand *operand = &body->operands[o];
        const struct bounds_stream *stream = &operand->stream;
        operand->stack =
            operand->kept || (kept && operand->way != NONE && stream->root == kept->stream.root &&
                              stream->kind == BOUNDS_STRIDE_CONSTANT && stream->stride == 0 &&
                              !operand->relative && !operand_of(body, operand)->segment);
        if (!operand->stack)
            continue;
        int64_t at = stack_offset(body, operand);
        body->stack_low = at < body->stack_low ? at : body->stack_low;
        body->stack_high =
            at + operand->bytes > body->stack_high ? at + operand->bytes : body->stack_high;
    }
}

/* The first lines. The pointer at the head is at the beginning of one, or in the other half of 16 bytes: what is called finds 16 bytes aligned
   before its return address. */
static bool put_stack(struct layout *layout)
{
    struct body *body = layout->body;
    int64_t below = (-body->stack_low + WIRE_CLONE_LINE - 1) / WIRE_CLONE_LINE,
            above = (body->stack_high + WIRE_CLONE_LINE - 1) / WIRE_CLONE_LINE;
    if (!body->splice)
        return true;
    if (body->stack_low < -STACK_BYTES_MAX || body->stack_high > STACK_BYTES_MAX ||
        below + above > STACK_LINES_MAX)
        return refuse(body, CLONE_LINES, 0);
    bool half = body->splice->frame_count > 1 && (body->splice->frames[1].at & 15) == 0;
    body->stack_at = (uint32_t)below * WIRE_CLONE_LINE + (half ? 8 : 0);
    above += half;
    layout->store_lines = body->lines = (uint32_t)(below + above);
    for (size_t o = 0; o < body->operand_count; o++) {
        struct operand *operand = &body->operands[o];
        int64_t at = stack_offset(body, operand);
        if (operand->stack && (body->stack_at + at) % operand->alignment)
            return refuse(body, CLONE_LINES, address_of(body, operand));
        for (unsigned copy = 0; copy < body->copies && operand->stack; copy++)
            operand->at[copy] = (uint16_t)(body->stack_at + at);
    }
    return true;
}

bool lines_assign(struct body *body)
{
    struct layout layout = {.body = body};
    body->lines = 0;
    find_linked(body);
    if (body->splice)
        find_stack(body);
    bool good = make_items(&layout) && put_stack(&layout);
    if (good) {
        qsort(layout.items, layout.count, sizeof *layout.items, by_place);
        good = put_atoms(&layout, true) && put_atoms(&layout, false);
    }
    free(layout.items);
    return good;
}
