// SPDX-License-Identifier: MIT
/*
 * The stack frame: how far the stack pointer is from where it was at the entry, which registers are saved where, and
 * which slots of the frame hold nothing but registers, and constants for a time.
 *
 * A slot is taken for a spilled value only below all that a pointer is made to: objects grow upwards from their address,
 * and compilers put what they spill below the variables of the source. And only where registers are
 * short: code that is not optimised keeps all variables in slots, which is nobody's
 * register pressure. A volatile variable looks the same as a spilled one.
 */
#include "role/internal.h"
#include "util/util.h"

#include <stdlib.h>

enum {
    FEW_REGISTERS = 5, /* of six preserved ones saved: a function that needs more has all of them */
    PASSES = 16,       /* over the blocks; nests of loops need few */
};

/* An area whose distance is not known (a stack that is aligned): far below all else. */
static const int64_t elsewhere = -((int64_t)1 << 40);

/* ---- heights ----------------------------------------------------------------------------------- */

static void move_frame(struct heights *heights, const struct step *step)
{
    bool from_rsp = step->from.base == BASE_RSP, plain = step->from.index < 0;
    bool known = plain && (from_rsp ? heights->rsp_known
                                    : step->from.base == BASE_RBP && heights->rbp_known);
    int64_t height = (from_rsp ? heights->rsp : heights->rbp) + step->from.displacement;
    if (step->moved == BASE_RSP) {
        heights->rsp_known = known;
        heights->rsp = known ? height : 0;
    } else {
        heights->rbp_known = known;
        heights->rbp = known ? height : 0;
    }
}

static void pass(struct heights *heights, const struct step *step)
{
    if (step->code == ISA_DO_LEAVE) {
        heights->rsp_known = heights->rbp_known;
        heights->rsp = heights->rbp + 8;
        heights->rbp_known = false;
        return;
    }
    if (step->code == ISA_DO_AND && step->writes & ROLE_BIT(BASE_RSP)) {
        heights->rsp_known = true;
        heights->rsp = elsewhere;
        return;
    }
    if (step->moved == BASE_RSP || step->moved == BASE_RBP)
        move_frame(heights, step);
    else if (step->writes & ROLE_BIT(BASE_RSP) && step->flow == ISA_NEXT)
        heights->rsp_known = false;
    if (step->writes & ROLE_BIT(BASE_RBP) && step->moved != BASE_RBP)
        heights->rbp_known = false;
}

static bool meet(struct heights *to, const struct heights *from)
{
    struct heights before = *to;
    if (!to->reached) {
        *to = *from;
    } else {
        to->rsp_known = to->rsp_known && from->rsp_known && to->rsp == from->rsp;
        to->rbp_known = to->rbp_known && from->rbp_known && to->rbp == from->rbp;
    }
    return !before.reached || before.rsp_known != to->rsp_known ||
           before.rbp_known != to->rbp_known;
}

/* Also what preserved registers are written on the way. */
static bool pass_block(struct role_function *function, uint32_t number)
{
    const struct cfg_block *block = &function->flow->blocks[number];
    struct heights heights = function->heights[number];
    uint64_t written = function->written[number];
    bool changed = false;
    for (uint32_t i = function->first[number]; i < function->first[number + 1]; i++) {
        pass(&heights, &function->steps[i]);
        written |= function->steps[i].writes & ROLE_PRESERVED;
    }
    for (uint32_t i = 0; i < block->edges; i++) {
        uint32_t to = function->flow->edges[block->first_edge + i].to;
        changed |= meet(&function->heights[to], &heights);
        changed |= (written & ~function->written[to]) != 0;
        function->written[to] |= written;
    }
    return changed;
}

/* False: it did not settle, and nothing is known of the frame. */
static bool pass_blocks(struct role_function *function)
{
    const struct cfg *flow = function->flow;
    uint32_t entry = cfg_block_at(flow, flow->start);
    if (entry == CFG_NONE)
        return false;
    for (uint32_t i = 0; i < flow->blocks_count; i++)
        if (flow->blocks[i].flags & CFG_ROOT && i != entry) {
            function->heights[i].reached = true; /* a landing pad: nothing is known there */
            function->written[i] = ROLE_PRESERVED;
        }
    function->heights[entry] = (struct heights){.reached = true, .rsp_known = true};
    for (unsigned round = 0; round < PASSES; round++) {
        bool changed = false;
        for (uint32_t i = 0; i < flow->blocks_count; i++)
            if (function->heights[i].reached)
                changed |= pass_block(function, i);
        if (!changed)
            return true;
    }
    return false;
}

struct heights frame_heights(const struct role_function *function, uint32_t block, uint32_t number)
{
    struct heights heights = function->heights[block];
    for (uint32_t i = function->first[block]; i < number; i++)
        pass(&heights, &function->steps[i]);
    return heights;
}

bool frame_offset(const struct heights *heights, const struct place *place, int64_t *offset)
{
    bool by_rsp = place->base == BASE_RSP;
    if (!heights->reached || place->segment ||
        !(by_rsp ? heights->rsp_known : place->base == BASE_RBP && heights->rbp_known))
        return false;
    *offset = (by_rsp ? heights->rsp : heights->rbp) + place->displacement;
    return true;
}

/* ---- saves and slots --------------------------------------------------------------------------- */

/* The preserved register that the step stores whole to the stack; -1. */
static int saved_by(const struct step *step)
{
    bool stores = step->code == ISA_DO_PUSH || step->code == ISA_DO_MOVE;
    if (!stores || !step->stored || step->stored & ~ROLE_PRESERVED ||
        step->stored & (step->stored - 1))
        return -1;
    const struct touch *touch = touch_of(step, ISA_STORE);
    return touch && touch->bytes == 8 && touch->place.index < 0 ? __builtin_ctzll(step->stored)
                                                                : -1;
}

static bool note_save(struct role_function *function, const struct step *step,
                      const struct heights *heights, uint64_t written)
{
    int number = saved_by(step);
    int64_t offset;
    if (number < 0 || written & ROLE_BIT(number) ||
        !frame_offset(heights, &touch_of(step, ISA_STORE)->place, &offset))
        return true;
    return UTIL_PUSH(function->saves, function->saves_count, function->saves_capacity,
                     (struct save){offset, (uint8_t)number});
}

static void note_taken(struct role_function *function, const struct heights *heights,
                       const struct place *place)
{
    int64_t offset;
    if (frame_offset(heights, place, &offset) && offset < function->taken)
        function->taken = offset;
}

/* Whole registers or constants, moved and nothing else. */
static bool is_plain_store(const struct step *step)
{
    return step->code == ISA_DO_MOVE || step->code == ISA_DO_VECTOR_MOVE ||
           step->code == ISA_DO_VECTOR_MOVE_LOW || step->code == ISA_DO_VECTOR_SCALAR;
}

static bool note_slot(struct role_function *function, const struct step *step,
                      const struct touch *touch, int64_t offset)
{
    bool stores = touch->direction & ISA_STORE;
    return UTIL_PUSH(function->slots, function->slots_count, function->slots_capacity,
                     (struct slot){.offset = offset,
                                   .loads = touch->direction & ISA_LOAD ? 1 : 0,
                                   .plain = !stores || is_plain_store(step),
                                   .registers = stores && step->stored,
                                   .vector = stores && step->stored & ~ROLE_GENERALS});
}

static bool is_of_stack(const struct step *step)
{
    return step->code == ISA_DO_PUSH || step->code == ISA_DO_POP || step->code == ISA_DO_LEAVE ||
           step->flow == ISA_CALL || step->flow == ISA_RETURN;
}

static bool note_touches(struct role_function *function, const struct step *step,
                         const struct heights *heights)
{
    int64_t offset;
    for (unsigned i = 0; i < step->touches_count; i++) {
        const struct touch *touch = &step->touches[i];
        if (touch->place.index >= 0)
            note_taken(function, heights, &touch->place);
        else if (!is_of_stack(step) && frame_offset(heights, &touch->place, &offset) &&
                 !note_slot(function, step, touch, offset))
            return false;
    }
    return true;
}

static bool note_step(struct role_function *function, const struct step *step,
                      const struct heights *heights, uint64_t written)
{
    bool of_frame = step->moved == BASE_RSP || step->moved == BASE_RBP;
    struct place top = {.base = BASE_RSP, .index = -1};
    if (step->moved >= 0 && !of_frame)
        note_taken(function, heights, &step->from);
    /* Not what names it in passing, such as enter, as which data between functions can be read. */
    bool stores =
        touch_of(step, ISA_STORE) && (step->code == ISA_DO_PUSH || step->code == ISA_DO_MOVE);
    if (stores && step->stored & ROLE_BIT(BASE_RSP))
        note_taken(function, heights, &top);
    return note_save(function, step, heights, written) && note_touches(function, step, heights);
}

static int compare_slots(const void *left, const void *right)
{
    const struct slot *a = left, *b = right;
    return (a->offset > b->offset) - (a->offset < b->offset);
}

static void merge_slots(struct role_function *function)
{
    size_t kept = 0;
    if (!function->slots_count)
        return;
    qsort(function->slots, function->slots_count, sizeof *function->slots, compare_slots);
    for (size_t i = 0; i < function->slots_count; i++) {
        struct slot *slot = &function->slots[i], *last = kept ? &function->slots[kept - 1] : NULL;
        if (!last || last->offset != slot->offset) {
            function->slots[kept++] = *slot;
            continue;
        }
        last->loads += slot->loads;
        last->plain &= slot->plain;
        last->registers |= slot->registers;
        last->vector |= slot->vector;
    }
    function->slots_count = kept;
}

static void count_saves(struct role_function *function)
{
    uint64_t saved = 0;
    for (size_t i = 0; i < function->saves_count; i++)
        saved |= ROLE_BIT(function->saves[i].number);
    function->pressure = (unsigned)__builtin_popcountll(saved);
}

bool frame_look(struct role_function *function)
{
    function->taken = INT64_MAX;
    if (!pass_blocks(function))
        return true;
    for (uint32_t block = 0; block < function->flow->blocks_count; block++) {
        struct heights heights = function->heights[block];
        uint64_t written = function->written[block];
        for (uint32_t i = function->first[block]; i < function->first[block + 1]; i++) {
            const struct step *step = &function->steps[i];
            if (!note_step(function, step, &heights, written))
                return false;
            pass(&heights, step);
            written |= step->writes & ROLE_PRESERVED;
        }
    }
    merge_slots(function);
    count_saves(function);
    return true;
}

/* ---- questions --------------------------------------------------------------------------------- */

/* Is this where a preserved register is saved, and is it that one which is moved? */
static bool is_save_slot(const struct role_function *function, int64_t offset, uint64_t numbers)
{
    for (size_t i = 0; i < function->saves_count; i++)
        if (function->saves[i].offset == offset && numbers & ROLE_BIT(function->saves[i].number))
            return true;
    return false;
}

static bool is_save(const struct role_function *function, const struct step *step, int64_t offset,
                    bool store)
{
    if (step->code == ISA_DO_LEAVE)
        return is_save_slot(function, offset, ROLE_BIT(BASE_RBP));
    if (store)
        return saved_by(step) >= 0 && is_save_slot(function, offset, step->stored);
    return (step->code == ISA_DO_POP || step->code == ISA_DO_MOVE) &&
           is_save_slot(function, offset, step->writes & ROLE_PRESERVED);
}

static bool is_spill(const struct role_function *function, const struct touch *touch,
                     int64_t offset)
{
    size_t i = BASE_FIRST(item, function->slots_count, function->slots[item].offset >= offset);
    if (i == function->slots_count || function->slots[i].offset != offset)
        return false;
    const struct slot *slot = &function->slots[i];
    bool short_of =
        function->pressure >= FEW_REGISTERS || (slot->vector && touch->place.base == BASE_RSP);
    return short_of && slot->plain && slot->registers && slot->loads && offset < 0 &&
           offset + touch->bytes <= function->taken;
}

enum role_kind role_of(const struct role_function *function, uint64_t address, bool store)
{
    uint32_t number, block;
    int64_t offset;
    const struct step *step = step_at(function, address, &number, &block);
    const struct touch *touch = step ? touch_of(step, store ? ISA_STORE : ISA_LOAD) : NULL;
    if (!touch || touch->place.index >= 0)
        return ROLE_UNKNOWN;
    struct heights heights = frame_heights(function, block, number);
    if (!frame_offset(&heights, &touch->place, &offset))
        return ROLE_UNKNOWN;
    if (is_save(function, step, offset, store))
        return ROLE_SAVE;
    return !is_of_stack(step) && is_spill(function, touch, offset) ? ROLE_SPILL : ROLE_UNKNOWN;
}
