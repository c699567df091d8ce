// SPDX-License-Identifier: MIT
/*
 * Inner branches that depend on loaded data. The clone has other data, so what they did in the program is recorded there, in a copy of the loop,
 * and replayed: a register counts iterations, another holds the outcomes of this one, a bit for each
 * branch. The branch tests its bit, but not before the flags are known that it tested: a conditional move of
 * the register to itself waits for them. So it is resolved when the loop's is, and as hard to predict.
 *
 * None is replayed twice in a run: processors learn tens of thousands of them when they come again. Where no more are known the run ends.
 *
 * Random outcomes of the same frequency, as mpc had them, would lose what one branch says about another and about the next
 * iteration, which is what processors predict by.
 *
 * What replaying takes is found by a second clone that does all of it twice but for the jump (emit.c): as many instructions,
 * executed by the same units, and waits as long again.
 *
 * Where how often the loop iterates depends on outcomes, or no register counts iterations, branches that leave the loop are replayed, too: runs
 * are then the executions that were recorded, one after the other, and as many iterations as outcomes were replayed.
 */
#include "clone/internal.h"

#include <stdlib.h>

/* ---- which register counts ---------------------------------------------------------------------------------- */

/* What an instruction adds to a general register; 0: it writes it otherwise. */
static int64_t added(const struct bounds_instruction *instruction, uint8_t reg)
{
    const struct bounds_operand *operands = instruction->operands;
    int64_t value = 0;
    bool lea = instruction->mnemonic == ZYDIS_MNEMONIC_LEA;
    if (operands[0].kind != BOUNDS_REGISTER || operands[0].reg != reg || operands[0].bits < 32)
        return 0;
    for (unsigned k = 1; k < instruction->operand_count; k++)
        if (operands[k].kind == BOUNDS_IMMEDIATE ||
            (lea && operands[k].kind == BOUNDS_ADDRESS && operands[k].base == reg &&
             operands[k].index == BOUNDS_NO_REGISTER))
            value = operands[k].value;
    switch (instruction->mnemonic) {
    case ZYDIS_MNEMONIC_ADD:
    case ZYDIS_MNEMONIC_LEA: return value;
    case ZYDIS_MNEMONIC_SUB: return -value;
    case ZYDIS_MNEMONIC_INC: return 1;
    case ZYDIS_MNEMONIC_DEC: return -1;
    default: return 0;
    }
}

static bool writes(const struct bounds_instruction *instruction, uint8_t reg, uint16_t *bits)
{
    for (unsigned k = 0; k < instruction->operand_count; k++)
        if (instruction->operands[k].kind == BOUNDS_REGISTER && instruction->operands[k].writes &&
            instruction->operands[k].reg == reg) {
            *bits = instruction->operands[k].bits;
            return true;
        }
    return false;
}

/* Of a register along a way: what was added to it, while that is known; and while it lies on the clone's stack, where, and what had been added. */
struct pace {
    int64_t step, saved_step, slot;
    uint16_t bits; /* of all that is written */
    bool known, saved;
};

static const struct bounds_operand *kept_slot(const struct body *body, uint32_t at)
{
    for (size_t o = first_operand(body, at);
         o < body->operand_count && body->operands[o].instruction == at; o++)
        if (body->operands[o].kept)
            return operand_of(body, &body->operands[o]);
    return NULL;
}

/* What callees push of their callers' registers, and pop. */
static void pace_slot(struct pace *pace, const struct bounds_instruction *instruction,
                      const struct bounds_operand *slot, uint8_t reg)
{
    bool is_slot = slot->value == pace->slot && slot->bits == 64,
         apart = slot->value + slot->bits / 8 <= pace->slot || pace->slot + 8 <= slot->value;
    bool moves = instruction->mnemonic == ZYDIS_MNEMONIC_MOV ||
                 instruction->mnemonic == ZYDIS_MNEMONIC_PUSH ||
                 instruction->mnemonic == ZYDIS_MNEMONIC_POP;
    for (unsigned k = 0; k < instruction->operand_count && moves; k++) {
        const struct bounds_operand *operand = &instruction->operands[k];
        if (operand->kind != BOUNDS_REGISTER || operand->reg != reg || operand->bits != 64)
            continue;
        if (operand->reads && slot->writes && pace->known) {
            pace->saved = true;
            pace->slot = slot->value;
            pace->saved_step = pace->step;
            return;
        }
        if (operand->writes && slot->reads && pace->saved && is_slot) {
            pace->known = true;
            pace->step = pace->saved_step;
        }
    }
    pace->saved &= !slot->writes || apart;
}

static void pace_on(const struct body *body, uint32_t at, uint8_t reg, struct pace *pace)
{
    const struct bounds_instruction *instruction = &body->code.instructions[at];
    const struct bounds_operand *slot = kept_slot(body, at);
    uint16_t bits;
    if (writes(instruction, reg, &bits)) {
        int64_t more = added(instruction, reg);
        pace->known &= more != 0 && (!pace->bits || pace->bits == bits);
        pace->bits = more ? bits : pace->bits;
        pace->step += more;
    }
    if (slot)
        pace_slot(pace, instruction, slot, reg);
}

/* False: nobody knows what the way makes of the register. *bits: of all that is written. */
static bool step_along(const struct body *body, const struct way *way, uint8_t reg, int64_t *step,
                       uint16_t *bits)
{
    struct pace pace = {.bits = *bits, .known = true};
    for (uint32_t w = 0; w < way->count; w++)
        for (uint32_t i = body->first[way->blocks[w]]; i < body->first[way->blocks[w] + 1]; i++)
            pace_on(body, i, reg, &pace);
    *step = pace.step;
    *bits = pace.bits;
    return pace.known;
}

/* Each way through the loop adds the same to it. */
static bool is_uniform(const struct body *body, uint8_t reg, struct cfg_progress *progress)
{
    int64_t first = 0, step;
    uint16_t bits = 0;
    for (uint32_t w = 0; w < body->way_count; w++) {
        if (!step_along(body, &body->ways[w], reg, &step, &bits) || (w && step != first))
            return false;
        first = step;
    }
    *progress = (struct cfg_progress){CFG_PROGRESS_COUNTER, reg, (uint8_t)(bits / 8), first, 0, 0};
    return first != 0;
}

void outcomes_count(struct body *body)
{
    const struct clone_request *request = body->request;
    struct cfg_progress progress;
    if (!body->splice)
        cfg_progress(request->flow, request->code, request->loop, &body->progress);
    for (uint8_t r = 0; r < BASE_GENERAL_REGISTERS; r++)
        if (body->general_written >> r & 1 && is_uniform(body, r, &progress)) {
            body->uniform |= 1U << r;
            if (body->progress.kind == CFG_PROGRESS_UNKNOWN)
                body->progress = progress;
        }
}

/* ---- branches --------------------------------------------------------------------------------------------------- */

bool outcomes_add(struct body *body, uint32_t instruction, uint8_t varying_flags)
{
    uint64_t address = body->code.instructions[instruction].address;
    const uint8_t *code = bytes_at(body, address);
    unsigned at = 0, length = body->code.instructions[instruction].length;
    while (at + 1 < length && (code[at] == 0x2e || code[at] == 0x3e || code[at] == 0xf2))
        at++;
    uint8_t condition = code[at] == 0x0f ? code[at + 1] : code[at];
    if (body->outcome_count == WIRE_CLONE_OUTCOMES_MAX ||
        (code[at] == 0x0f ? (condition & 0xf0) != 0x80 : (condition & 0xf0) != 0x70))
        return refuse(body, CLONE_BRANCH, address);
    body->outcomes[body->outcome_count++] =
        (struct outcome){address, instruction, condition & 15, varying_flags};
    return true;
}

const struct outcome *outcomes_at(const struct body *body, uint64_t address)
{
    for (uint32_t k = 0; k < body->outcome_count; k++)
        if (body->outcomes[k].address == address)
            return &body->outcomes[k];
    return NULL;
}

bool outcomes_joins(const struct body *body, uint32_t instruction)
{
    if (!instruction)
        return false;
    const struct bounds_instruction *before = &body->code.instructions[instruction - 1];
    return before->address + before->length == body->code.instructions[instruction].address &&
           (before->mnemonic == ZYDIS_MNEMONIC_CMP || before->mnemonic == ZYDIS_MNEMONIC_TEST);
}

bool outcomes_add_exits(struct body *body)
{
    body->ends = true;
    for (uint32_t b = 0; b < body->block_count; b++) {
        uint32_t last = body->first[b + 1] - 1;
        if (body_leads_out(body, b) && body->code.instructions[last].branches &&
            !outcomes_at(body, body->code.instructions[last].address) &&
            !outcomes_add(body, last, 0))
            return refuse(body, CLONE_EXIT, body->code.instructions[last].address);
    }
    return true;
}

/* Flags that are read behind the branch. */
static uint8_t flags_behind(const struct body *body, uint32_t instruction, const uint8_t *flags)
{
    const struct cfg *graph = body->request->flow;
    const struct cfg_block *block = &graph->blocks[body->blocks[body_block_of(body, instruction)]];
    uint8_t all = 0;
    for (uint32_t e = 0; e < block->edges; e++) {
        uint32_t to = body_index(body, graph->edges[block->first_edge + e].to);
        all |= to != NONE ? flags[to] : 0;
    }
    return all;
}

/* Testing a bit changes flags: none must be lost by which control goes. */
static bool flags_are_free(struct body *body)
{
    bool head[BOUNDS_REGISTERS], *needed = NULL, good = true;
    uint8_t *flags = calloc((size_t)body->block_count + 1, sizeof *flags);
    if (!flags)
        return out_of_memory(body);
    good = live_find(body, ROOTS_ALL, &needed, head, flags);
    if (good && flags[body->head])
        good = refuse(body, CLONE_BRANCH, body->outcomes[0].address);
    for (uint32_t k = 0; k < body->outcome_count && good; k++) {
        const struct outcome *outcome = &body->outcomes[k];
        if (flags_behind(body, outcome->instruction, flags) & ~outcome->varying_flags)
            good = refuse(body, CLONE_BRANCH, outcome->address);
    }
    free(needed);
    free(flags);
    return good;
}

bool outcomes_begin(struct body *body)
{
    if (!body->outcome_count)
        return true;
    if (body->progress.kind != CFG_PROGRESS_COUNTER && !body->ends &&
        (body->splice || !outcomes_add_exits(body)))
        return refuse(body, CLONE_UNCOUNTED, body->outcomes[0].address);
    if (!flags_are_free(body))
        return false;
    uint32_t unused = live_unnamed(body);
    if (!unused || !(unused & (unused - 1)))
        return refuse(body, CLONE_OUTCOMES, body->outcomes[0].address);
    body->outcome_turn = (uint8_t)__builtin_ctz(unused);
    body->outcome_bits = (uint8_t)__builtin_ctz(unused & (unused - 1));
    return true;
}
