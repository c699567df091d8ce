// SPDX-License-Identifier: MIT
/*
 * Where operands go that walk. Those of one stream that lie side by side, or within one stride, share a buffer, in which they lie as
 * in the program. Each of its bytes is passed once a lap; strides that leave lines out leave none out here, and addresses
 * that follow no stride take a line an iteration. All buffers begin anew after as many iterations, so that registers
 * which move by the same number of bytes, or by a half, a quarter or an eighth, are one.
 */
#include "clone/internal.h"

#include <stdlib.h>

enum {
    INSTRUCTIONS_MOST = 128, /* in all copies: moving on takes little of that */
    APART =
        11 *
        WIRE_CLONE_LINE, /* of two buffers, modulo pages: accesses at the same offset of a page would wait for one another */
    PAGE = 4096,
    GAP = 128, /* a stride of that many bytes can leave lines out */
    AGAIN_LEAST = 2,
};

struct item {
    uint32_t operand, group;
    int64_t at;
};

struct group {
    size_t first, count; /* items */
    int64_t step;        /* bytes an iteration */
    int64_t low, span;
    uint8_t walk, scale;
};

struct walking {
    struct body *body;
    struct item *items;
    size_t item_count;
    struct group *groups;
    size_t group_count;
};

/* ---- groups ------------------------------------------------------------------------------------------------ */

static bool moves(const struct operand *operand)
{
    return !operand->fixed && !operand->hints && operand->way != NONE &&
           (operand->stream.kind != BOUNDS_STRIDE_CONSTANT || operand->stream.stride);
}

static uint32_t first_of_stream(const struct body *body, uint32_t operand)
{
    for (uint32_t o = 0; o < operand; o++)
        if (moves(&body->operands[o]) &&
            is_one_stream(body, &body->operands[o], &body->operands[operand]))
            return o;
    return operand;
}

static int by_place(const void *left, const void *right)
{
    const struct item *a = left, *b = right;
    if (a->group != b->group)
        return a->group < b->group ? -1 : 1;
    return a->at != b->at ? (a->at < b->at ? -1 : 1)
                          : (a->operand > b->operand) - (a->operand < b->operand);
}

static bool make_items(struct walking *walking)
{
    struct body *body = walking->body;
    walking->items = calloc(body->operand_count, sizeof *walking->items);
    walking->groups = calloc(body->operand_count, sizeof *walking->groups);
    if (!walking->items || !walking->groups)
        return out_of_memory(body);
    for (uint32_t o = 0; o < body->operand_count; o++) {
        struct operand *operand = &body->operands[o];
        operand->walk = NO_WALK;
        if (moves(operand))
            walking->items[walking->item_count++] =
                (struct item){o, first_of_stream(body, o), operand->stream.offset};
    }
    qsort(walking->items, walking->item_count, sizeof *walking->items, by_place);
    return walking->item_count ? true : lacks(body, CLONE_LACKS_MOTION);
}

static int64_t rounded(int64_t bytes, int64_t to)
{
    return (bytes + to - 1) / to * to;
}

static int64_t size_of(int64_t number)
{
    return number < 0 ? -number : number;
}

/* What a lap passes of a stream in each iteration. */
static int64_t step_of(const struct bounds_stream *stream, int64_t span)
{
    int64_t lines = rounded(span, WIRE_CLONE_LINE), stride = size_of(stream->stride);
    if (stream->kind != BOUNDS_STRIDE_CONSTANT)
        return lines;
    if (stride < GAP || lines > stride / 2)
        return stream->stride;
    return stream->stride < 0 ? -lines : lines;
}

static void make_groups(struct walking *walking)
{
    const struct body *body = walking->body;
    for (size_t i = 0; i < walking->item_count; i++) {
        const struct item *item = &walking->items[i];
        const struct operand *operand = &body->operands[item->operand];
        struct group *group = walking->groups + walking->group_count - 1;
        int64_t stride = size_of(operand->stream.stride),
                gap = stride > WIRE_CLONE_LINE ? stride : WIRE_CLONE_LINE;
        if (!walking->group_count || walking->items[group->first].group != item->group ||
            item->at - group->low - group->span > gap) {
            group = &walking->groups[walking->group_count++];
            *group = (struct group){.first = i, .low = item->at};
        }
        int64_t end = item->at + operand->bytes - group->low;
        group->span = end > group->span ? end : group->span;
        group->count++;
    }
    for (size_t g = 0; g < walking->group_count; g++) {
        struct group *group = &walking->groups[g];
        group->step =
            step_of(&body->operands[walking->items[group->first].operand].stream, group->span);
    }
}

/* ---- registers ---------------------------------------------------------------------------------------------- */

static bool take_register(struct body *body, struct group *group, uint32_t *free_registers)
{
    for (uint32_t w = 0; w < body->walk_count; w++)
        for (uint8_t scale = 1; scale <= 8; scale *= 2)
            if (group->step == body->walks[w].unit * scale) {
                group->walk = (uint8_t)w;
                group->scale = scale;
                return true;
            }
    if (!*free_registers || body->walk_count == WIRE_CLONE_WALKS_MAX)
        return lacks(body, CLONE_LACKS_REGISTER);
    uint8_t reg = (uint8_t)__builtin_ctz(*free_registers);
    *free_registers &= *free_registers - 1;
    group->walk = (uint8_t)body->walk_count;
    group->scale = 1;
    body->walks[body->walk_count++] = (struct walk){reg, group->step};
    return true;
}

static int by_step(const void *left, const void *right)
{
    const struct group *a = left, *b = right;
    int64_t x = size_of(a->step), y = size_of(b->step);
    if (x != y)
        return x < y ? -1 : 1;
    return (a->first > b->first) - (a->first < b->first);
}

static bool take_registers(struct walking *walking)
{
    struct body *body = walking->body;
    uint32_t free_registers = live_free(body, false);
    body->walk_count = 0;
    qsort(walking->groups, walking->group_count, sizeof *walking->groups, by_step);
    for (size_t g = 0; g < walking->group_count; g++)
        if (!take_register(body, &walking->groups[g], &free_registers))
            return false;
    return true;
}

/* ---- places -------------------------------------------------------------------------------------------------- */

static bool fits(const struct walking *walking, const struct group *group, int64_t shift,
                 bool naturally)
{
    for (size_t i = group->first; i < group->first + group->count; i++) {
        const struct operand *operand = &walking->body->operands[walking->items[i].operand];
        if (!may_lie_at(operand, shift + walking->items[i].at - group->low, naturally))
            return false;
    }
    return true;
}

static int64_t shift_of(const struct walking *walking, const struct group *group)
{
    for (int naturally = 1; naturally >= 0; naturally--)
        for (int64_t shift = 0; shift < WIRE_CLONE_LINE; shift++)
            if (fits(walking, group, shift, naturally))
                return shift;
    return -1;
}

/* Registers begin a lap before 0 and end there. */
static bool put_group(struct walking *walking, const struct group *group, int64_t most,
                      int64_t *used)
{
    struct body *body = walking->body;
    int64_t lap = size_of(group->step) * body->walk_turns, shift = shift_of(walking, group);
    /* Displacements of the last copy lie in the buffers, too, wherever the register is. */
    int64_t margin = rounded(size_of(group->step) * body->copies, WIRE_CLONE_LINE);
    if (shift < 0)
        return lacks(body, CLONE_LACKS_FORM);
    int64_t start = *used + margin + shift + (group->step > 0 ? lap : 0);
    for (size_t i = group->first; i < group->first + group->count; i++) {
        struct operand *operand = &body->operands[walking->items[i].operand];
        operand->walk = group->walk;
        operand->scale = group->scale;
        operand->step = group->step;
        operand->place = start + walking->items[i].at - group->low;
    }
    *used = rounded(*used + shift + lap + group->span + 2 * margin, PAGE);
    return *used <= most || lacks(body, CLONE_LACKS_ROOM);
}

static bool put_groups(struct walking *walking, uint32_t bytes)
{
    struct body *body = walking->body;
    int64_t each = 0, used = 0;
    for (size_t g = 0; g < walking->group_count; g++)
        each += size_of(walking->groups[g].step);
    while (body->copies > 1 && (body->copies * body->code.count > INSTRUCTIONS_MOST ||
                                bytes / each < (int64_t)body->copies * AGAIN_LEAST))
        body->copies /= 2;
    if (bytes / each < (int64_t)body->copies * AGAIN_LEAST)
        return lacks(body, CLONE_LACKS_ROOM);
    body->walk_turns = (uint32_t)(bytes / each / body->copies * body->copies);
    for (size_t g = 0; g < walking->group_count; g++) {
        used += (int64_t)g * APART % PAGE;
        if (!put_group(walking, &walking->groups[g], (int64_t)bytes + CLONE_WALK_SLACK, &used))
            return false;
    }
    body->walk_bytes = (uint32_t)used;
    return true;
}

bool walk_assign(struct body *body, uint32_t bytes)
{
    struct walking walking = {.body = body};
    bool good = make_items(&walking);
    if (good) {
        make_groups(&walking);
        good = take_registers(&walking) && put_groups(&walking, bytes);
    }
    free(walking.items);
    free(walking.groups);
    return good;
}
