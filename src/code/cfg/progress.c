// SPDX-License-Identifier: MIT
/*
 * How far a loop has come, as far as a thread's registers tell: by a register to which each iteration adds the same;
 * or that there is nothing to come to, because an iteration leaves all as it was.
 *
 * Only innermost loops without calls. Those that count must also go the same way in each iteration, so that all
 * iterations execute the same instructions: what differs between them is then how long these took.
 */
#include "cfg/cfg.h"

#include "isa/isa.h"

#include <string.h>

enum { MANY = 2 };

struct look {
    const struct cfg *flow;
    const struct cfg_code *code;
    uint32_t loop;
    uint32_t written, vectors_written;      /* in the loop */
    uint8_t writes[BASE_GENERAL_REGISTERS]; /* 0, 1, MANY */
    uint32_t steppers;                      /* registers to which a constant is added somewhere */
    int64_t steps[BASE_GENERAL_REGISTERS];
    uint8_t bytes[BASE_GENERAL_REGISTERS];
    uint32_t loads, stores, instructions;
    bool strange; /* something that is not understood, or that others do */
};

struct step {
    struct isa_insn insn;
    struct isa_operation operation;
    struct isa_effects effects;
};

static bool decode(const struct look *look, uint64_t address, uint64_t end, struct step *step)
{
    uint64_t at = address - look->code->start;
    return at < look->code->count && end - look->code->start <= look->code->count &&
           isa_decode_whole(look->code->bytes + at, (size_t)(end - address), address, &step->insn,
                            &step->operation, &step->effects) == BASE_OK;
}

/* False: it adds no constant to a register. */
static bool added(const struct step *step, int64_t *amount)
{
    const struct isa_operation *operation = &step->operation;
    const struct isa_operand *to = &operation->operands[0], *from = &operation->operands[1];
    const struct isa_access *parts = &step->insn.accesses[0];
    if (to->kind != ISA_GENERAL || to->shift || to->bytes < 4)
        return false;
    switch (operation->code) {
    case ISA_DO_INC: *amount = 1; return true;
    case ISA_DO_DEC: *amount = -1; return true;
    case ISA_DO_ADD: *amount = (int64_t)operation->immediate; return from->kind == ISA_IMMEDIATE;
    case ISA_DO_SUB: *amount = -(int64_t)operation->immediate; return from->kind == ISA_IMMEDIATE;
    case ISA_DO_ADDRESS:
        *amount = parts->displacement;
        return parts->base == to->number && parts->index < 0 && !parts->segment;
    default: return false;
    }
}

static void look_at_writes(struct look *look, const struct step *step)
{
    int64_t amount;
    for (unsigned r = 0; r < BASE_GENERAL_REGISTERS; r++)
        if (step->effects.writes >> r & 1 && look->writes[r] < MANY)
            look->writes[r]++;
    look->written |= step->effects.writes;
    look->vectors_written |= step->effects.vectors_written;
    if (!added(step, &amount) || amount == 0)
        return;
    unsigned r = step->operation.operands[0].number;
    look->steppers |= 1u << r;
    look->bytes[r] = step->operation.operands[0].bytes;
    look->steps[r] = look->bytes[r] == 4 ? (int32_t)amount : amount;
}

static void look_at_accesses(struct look *look, const struct step *step)
{
    for (unsigned i = 0; i < step->insn.access_count; i++) {
        look->loads += (step->insn.accesses[i].direction & ISA_LOAD) != 0;
        look->stores += (step->insn.accesses[i].direction & ISA_STORE) != 0;
    }
}

static bool is_strange(const struct step *step)
{
    return step->insn.flow == ISA_CALL || step->insn.flow == ISA_SYSCALL ||
           step->insn.flow == ISA_TRAP || step->insn.flow == ISA_RETURN || step->insn.indirect ||
           step->insn.repeated;
}

static void look_at_block(struct look *look, const struct cfg_block *block)
{
    struct step step;
    look->strange |= (block->flags & (CFG_CALLS | CFG_UNRESOLVED)) != 0;
    for (uint64_t at = block->start; at < block->end && !look->strange; at += step.insn.length) {
        look->strange |= !decode(look, at, block->end, &step) || is_strange(&step);
        if (look->strange)
            return;
        look->instructions++;
        look_at_writes(look, &step);
        look_at_accesses(look, &step);
    }
}

static bool is_innermost(const struct look *look)
{
    return cfg_is_innermost(look->flow, look->loop) &&
           !(look->flow->loops[look->loop].flags & CFG_IRREDUCIBLE);
}

/* Every iteration executes the block. */
static bool is_on_every_way(const struct look *look, uint32_t number)
{
    const struct cfg *flow = look->flow;
    const struct cfg_block *head = &flow->blocks[flow->loops[look->loop].head];
    for (uint32_t i = 0; i < head->into; i++) {
        uint32_t latch = flow->edges[flow->into[head->first_into + i]].from;
        if (cfg_loop_holds(flow, look->loop, latch) && !cfg_dominates(flow, number, latch))
            return false;
    }
    return true;
}

/* Does something that the block does depend on what an earlier block, or iteration, left behind? */
static bool is_carried_into(const struct look *look, const struct cfg_block *block)
{
    uint32_t own = 0, own_vectors = 0, own_flags = 0;
    struct step step;
    for (uint64_t at = block->start; at < block->end; at += step.insn.length) {
        if (!decode(look, at, block->end, &step) || step.operation.code == ISA_DO_OTHER)
            return true;
        if (step.effects.reads & look->written & ~own ||
            step.effects.vectors_read & look->vectors_written & ~own_vectors ||
            step.effects.flags_read & ~own_flags)
            return true;
        own |= step.effects.writes;
        own_vectors |= step.effects.vectors_written;
        own_flags |= step.effects.flags_killed;
    }
    return false;
}

static bool spins(const struct look *look)
{
    for (uint32_t i = 0; i < look->flow->blocks_count; i++)
        if (look->flow->blocks[i].loop == look->loop &&
            is_carried_into(look, &look->flow->blocks[i]))
            return false;
    return look->loads > 0 && look->stores == 0;
}

static bool counts(const struct look *look, struct cfg_progress *progress)
{
    for (uint32_t i = 0; i < look->flow->blocks_count; i++)
        if (look->flow->blocks[i].loop == look->loop && !is_on_every_way(look, i))
            return false;
    for (unsigned r = 0; r < BASE_GENERAL_REGISTERS; r++)
        if (look->steppers >> r & 1 && look->writes[r] == 1 && r != BASE_RSP) {
            progress->counter = (uint8_t)r;
            progress->bytes = look->bytes[r];
            progress->step = look->steps[r];
            return true;
        }
    return false;
}

void cfg_progress(const struct cfg *flow, const struct cfg_code *code, uint32_t loop,
                  struct cfg_progress *progress)
{
    struct look look = {.flow = flow, .code = code, .loop = loop};
    *progress = (struct cfg_progress){.kind = CFG_PROGRESS_UNKNOWN};
    if (loop == 0 || loop >= flow->loops_count || !is_innermost(&look))
        return;
    for (uint32_t i = 0; i < flow->blocks_count && !look.strange; i++)
        if (flow->blocks[i].loop == loop)
            look_at_block(&look, &flow->blocks[i]);
    if (look.strange)
        return;
    progress->written = look.written;
    progress->instructions = look.instructions;
    if (spins(&look))
        progress->kind = CFG_PROGRESS_NONE;
    else if (counts(&look, progress))
        progress->kind = CFG_PROGRESS_COUNTER;
}
