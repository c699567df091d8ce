// SPDX-License-Identifier: MIT
/* Instructions as steps: what they read and write, and where their accesses are, as far as it can be said. */
#include "role/internal.h"

#include <stdlib.h>
#include <string.h>

/* ---- one instruction --------------------------------------------------------------------------- */

static struct place place_of(const struct isa_access *access)
{
    return (struct place){.base = access->base,
                          .index = access->index,
                          .scale = access->scale,
                          .segment = access->segment,
                          .displacement = access->displacement};
}

static uint64_t bit_of(const struct isa_operand *operand)
{
    return operand->kind == ISA_GENERAL  ? ROLE_BIT(operand->number)
           : operand->kind == ISA_VECTOR ? ROLE_VECTOR(operand->number)
                                         : 0;
}

static uint64_t stored_by(const struct isa_operation *operation)
{
    uint64_t stored = 0;
    unsigned count = operation->code == ISA_DO_PUSH ? 1 : operation->operand_count;
    for (unsigned i = 0; i < count; i++)
        stored |= bit_of(&operation->operands[i]);
    return stored;
}

static void set_moved(struct step *step, unsigned number, struct place from)
{
    step->moved = (int8_t)number;
    step->from = from;
}

static struct place sum_of(unsigned number, int64_t displacement)
{
    return (struct place){
        .base = (int8_t)number, .index = -1, .scale = 0, .displacement = displacement};
}

/* Additions of constants are taken for what they are in the unbounded numbers: an index of 32 bits that wraps
   around is a mistake in most programs. */
static void find_moved(struct step *step, const struct isa_insn *insn,
                       const struct isa_operation *operation)
{
    const struct isa_operand *to = &operation->operands[0], *by = &operation->operands[1];
    bool general = operation->operand_count && to->kind == ISA_GENERAL && to->bytes >= 4;
    int64_t immediate = (int64_t)operation->immediate;
    switch (operation->code) {
    case ISA_DO_PUSH:
    case ISA_DO_PUSH_FLAGS: set_moved(step, BASE_RSP, sum_of(BASE_RSP, -8)); return;
    case ISA_DO_POP:
    case ISA_DO_POP_FLAGS: set_moved(step, BASE_RSP, sum_of(BASE_RSP, 8)); return;
    case ISA_DO_ADD:
    case ISA_DO_SUB:
        if (general && by->kind == ISA_IMMEDIATE)
            set_moved(step, to->number,
                      sum_of(to->number, operation->code == ISA_DO_ADD ? immediate : -immediate));
        return;
    case ISA_DO_INC:
    case ISA_DO_DEC:
        if (general)
            set_moved(step, to->number, sum_of(to->number, operation->code == ISA_DO_INC ? 1 : -1));
        return;
    case ISA_DO_MOVE:
        if (general && to->bytes == 8 && by->kind == ISA_GENERAL && by->bytes == 8)
            set_moved(step, to->number, sum_of(by->number, 0));
        return;
    case ISA_DO_ADDRESS:
        if (general && !insn->accesses[0].segment)
            set_moved(step, to->number, place_of(&insn->accesses[0]));
        return;
    default: return;
    }
}

/* As the ABI has it: arguments in registers, results and temporaries lost. */
static void set_call(struct step *step)
{
    static const uint8_t arguments[] = {BASE_RDI, BASE_RSI, BASE_RDX, BASE_RCX,
                                        BASE_R8,  BASE_R9,  BASE_RAX};
    step->writes = (ROLE_GENERALS & ~(ROLE_PRESERVED | ROLE_BIT(BASE_RSP))) |
                   (UINT64_C(0xffffffff) << 16) | ROLE_FLAGS;
    step->reads = UINT64_C(0xff) << 16;
    for (size_t i = 0; i < sizeof arguments; i++)
        step->reads |= ROLE_BIT(arguments[i]);
}

static void add_touch(struct step *step, const struct isa_insn *insn,
                      const struct isa_access *access)
{
    if (step->touches_count == BASE_COUNT(step->touches))
        return;
    step->touches[step->touches_count++] = (struct touch){
        .place = place_of(access),
        .bytes = access->bytes,
        .direction = access->direction,
        .known = !access->unaddressable && access->address_bits == 64 && !insn->repeated};
}

/* Zero: no instruction. */
static unsigned make_step(const uint8_t *code, size_t available, uint64_t address,
                          struct step *step)
{
    struct isa_insn insn;
    struct isa_operation operation;
    struct isa_effects effects;
    if (isa_decode_whole(code, available, address, &insn, &operation, &effects) != BASE_OK)
        return 0;
    *step =
        (struct step){.address = address, .moved = -1, .code = operation.code, .flow = insn.flow};
    step->reads = effects.reads | (uint64_t)effects.vectors_read << 16 |
                  (effects.flags_read ? ROLE_FLAGS : 0);
    step->writes = effects.writes | (uint64_t)effects.vectors_written << 16 |
                   (effects.flags_written ? ROLE_FLAGS : 0);
    if (effects.flags_written && !effects.flags_killed)
        step->reads |= ROLE_FLAGS;
    for (unsigned i = 0; i < insn.access_count; i++)
        add_touch(step, &insn, &insn.accesses[i]);
    step->stored = stored_by(&operation);
    find_moved(step, &insn, &operation);
    if (insn.flow == ISA_CALL)
        set_call(step);
    return insn.length;
}

/* ---- functions --------------------------------------------------------------------------------- */

static bool make_block(struct role_function *function, const uint8_t *bytes, size_t count,
                       const struct cfg_block *block)
{
    const struct cfg *flow = function->flow;
    uint64_t at = block->start;
    for (uint32_t i = 0; i < block->instructions && at < flow->start + count; i++) {
        size_t offset = (size_t)(at - flow->start);
        struct step *step = &function->steps[function->steps_count];
        unsigned length = make_step(bytes + offset, count - offset, at, step);
        if (!length)
            return true;
        function->steps_count++;
        at += length;
    }
    return true;
}

enum base_status role_of_function(const struct cfg *flow, const uint8_t *bytes, size_t count,
                                  struct role_function **function)
{
    uint64_t instructions = 0;
    for (uint32_t i = 0; i < flow->blocks_count; i++)
        instructions += flow->blocks[i].instructions;
    if (instructions == 0 || instructions > ROLE_INSTRUCTIONS_MAX ||
        flow->flags & (CFG_LARGE | CFG_COMPLEX))
        return BASE_UNSUPPORTED;
    struct role_function *made = calloc(1, sizeof *made);
    if (!made)
        return BASE_NO_MEMORY;
    made->flow = flow;
    made->steps = calloc(instructions, sizeof *made->steps);
    made->first = calloc(flow->blocks_count + 1, sizeof *made->first);
    made->written = calloc(flow->blocks_count, sizeof *made->written);
    made->heights = calloc(flow->blocks_count, sizeof *made->heights);
    bool good = made->steps && made->first && made->written && made->heights;
    for (uint32_t i = 0; i < flow->blocks_count && good; i++) {
        made->first[i] = made->steps_count;
        good = make_block(made, bytes, count, &flow->blocks[i]);
        made->first[i + 1] = made->steps_count;
    }
    if (!good || !frame_look(made)) {
        role_free(made);
        return BASE_NO_MEMORY;
    }
    *function = made;
    return BASE_OK;
}

void role_free(struct role_function *function)
{
    if (!function)
        return;
    free(function->steps);
    free(function->first);
    free(function->written);
    free(function->heights);
    free(function->slots);
    free(function->saves);
    free(function);
}

/* ---- questions --------------------------------------------------------------------------------- */

const struct step *step_at(const struct role_function *function, uint64_t address, uint32_t *number,
                           uint32_t *block)
{
    *block = cfg_block_at(function->flow, address);
    if (*block == CFG_NONE)
        return NULL;
    for (*number = function->first[*block]; *number < function->first[*block + 1]; ++*number)
        if (function->steps[*number].address == address)
            return &function->steps[*number];
    return NULL;
}

const struct touch *touch_of(const struct step *step, unsigned direction)
{
    for (unsigned i = 0; i < step->touches_count; i++)
        if (step->touches[i].direction & direction)
            return step->touches[i].known ? &step->touches[i] : NULL;
    return NULL;
}

/* One order for sums that are the same. */
static struct place normal(struct place place)
{
    if (place.index >= 0 && place.scale == 1 && place.base < 0) {
        place.base = place.index;
        place.index = -1;
    }
    if (place.index >= 0 && place.scale == 1 && place.base > place.index) {
        int8_t base = place.base;
        place.base = place.index;
        place.index = base;
    }
    if (place.index < 0)
        place.scale = 0;
    return place;
}

static bool same_registers(const struct place *a, const struct place *b)
{
    return a->base == b->base && a->index == b->index && a->scale == b->scale &&
           a->segment == b->segment;
}

bool place_equal(const struct place *a, const struct place *b)
{
    struct place left = normal(*a), right = normal(*b);
    return same_registers(&left, &right) && left.displacement == right.displacement;
}

bool touch_overlaps(const struct touch *a, const struct touch *b)
{
    struct place left = normal(a->place), right = normal(b->place);
    if (!a->known || !b->known || !same_registers(&left, &right))
        return false;
    uint64_t ahead = (uint64_t)right.displacement - (uint64_t)left.displacement;
    return ahead < a->bytes || -ahead < b->bytes;
}

static int64_t sum(int64_t a, int64_t b)
{
    return (int64_t)((uint64_t)a + (uint64_t)b);
}

bool place_before(const struct step *step, struct place *place)
{
    const struct place *from = &step->from;
    bool base = place->base >= 0 && step->writes & ROLE_BIT(place->base);
    bool index = place->index >= 0 && step->writes & ROLE_BIT(place->index);
    if (!base && !index)
        return true;
    struct place before = *place;
    if ((base && place->base != step->moved) || (index && place->index != step->moved))
        return false;
    if (index) {
        if (from->index >= 0 || from->base < 0)
            return false;
        before.index = from->base;
        before.displacement =
            sum(before.displacement, (int64_t)((uint64_t)from->displacement * place->scale));
    }
    if (base) {
        if (from->index >= 0 && before.index >= 0)
            return false;
        before.base = from->base;
        before.displacement = sum(before.displacement, from->displacement);
        if (from->index >= 0) {
            before.index = from->index;
            before.scale = from->scale;
        }
    }
    *place = before;
    return true;
}
