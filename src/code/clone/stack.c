// SPDX-License-Identifier: MIT
/*
 * Where the stack pointer is, and what is accessed relative to it, in a loop that calls functions. Forward data flow over its blocks: which
 * registers are so many bytes from where the stack pointer is at the loop's head. It must be known everywhere, each return must find
 * its address, and nothing else may be stored there.
 *
 * The clone has a stack of its own among its lines. What is pushed, popped, called and returned from, and operands relative to registers that are
 * known, stay as they are: so they cannot be anywhere else. Decoded instructions say, behind this, how far from the pointer at the head
 * they access, and no longer that they move it: other analyses see locations under a fixed address.
 */
#include "clone/internal.h"

#include <stdlib.h>
#include <string.h>

struct state {
    uint32_t known; /* bit r: register r is `at` bytes from the stack pointer at the head */
    int64_t at[BASE_GENERAL_REGISTERS];
    bool reached;
};

static bool knows(const struct state *state, uint8_t reg)
{
    return reg < BASE_GENERAL_REGISTERS && state->known >> reg & 1;
}

static void learn(struct state *state, uint8_t reg, int64_t at)
{
    state->known |= 1U << reg;
    state->at[reg] = at;
}

static const struct bounds_operand *operand_with(const struct bounds_instruction *instruction,
                                                 enum bounds_operand_kind kind, bool hidden)
{
    for (unsigned k = 0; k < instruction->operand_count; k++)
        if (instruction->operands[k].kind == kind && instruction->operands[k].hidden == hidden)
            return &instruction->operands[k];
    return NULL;
}

/* Bytes of what is pushed or popped. */
static int64_t moved(const struct bounds_instruction *instruction)
{
    const struct bounds_operand *slot = operand_with(instruction, BOUNDS_MEMORY, true);
    return slot ? slot->bits / 8 : 8;
}

/* ---- what instructions leave in registers ---------------------------------------------------------------------- */

/* A register from another, or from itself. False: otherwise. */
static bool result(const struct state *state, const struct bounds_instruction *instruction,
                   int64_t *at)
{
    const struct bounds_operand *to = &instruction->operands[0], *from = to + 1;
    bool plain = instruction->operand_count > 1 && to->kind == BOUNDS_REGISTER && to->bits == 64;
    switch (plain ? instruction->mnemonic : ZYDIS_MNEMONIC_INVALID) {
    case ZYDIS_MNEMONIC_MOV:
        if (from->kind != BOUNDS_REGISTER || !knows(state, from->reg))
            return false;
        *at = state->at[from->reg];
        return true;
    case ZYDIS_MNEMONIC_LEA:
        if (from->kind != BOUNDS_ADDRESS || !knows(state, from->base) ||
            from->index != BOUNDS_NO_REGISTER)
            return false;
        *at = state->at[from->base] + from->value;
        return true;
    case ZYDIS_MNEMONIC_ADD:
    case ZYDIS_MNEMONIC_SUB:
        if (from->kind != BOUNDS_IMMEDIATE || !knows(state, to->reg))
            return false;
        *at = state->at[to->reg] +
              (instruction->mnemonic == ZYDIS_MNEMONIC_ADD ? from->value : -from->value);
        return true;
    default: return false;
    }
}

static void step(struct state *state, const struct bounds_instruction *instruction)
{
    struct state before = *state;
    int64_t at;
    for (unsigned k = 0; k < instruction->operand_count; k++)
        if (instruction->operands[k].kind == BOUNDS_REGISTER && instruction->operands[k].writes &&
            instruction->operands[k].reg < BASE_GENERAL_REGISTERS)
            state->known &= ~(1U << instruction->operands[k].reg);
    bool pops_itself = instruction->mnemonic == ZYDIS_MNEMONIC_POP &&
                       instruction->operands[0].kind == BOUNDS_REGISTER &&
                       instruction->operands[0].reg == BASE_RSP;
    if (result(&before, instruction, &at))
        learn(state, instruction->operands[0].reg, at);
    switch (knows(&before, BASE_RSP) ? instruction->mnemonic : ZYDIS_MNEMONIC_INVALID) {
    case ZYDIS_MNEMONIC_PUSH:
    case ZYDIS_MNEMONIC_CALL:
        learn(state, BASE_RSP, before.at[BASE_RSP] - moved(instruction));
        break;
    case ZYDIS_MNEMONIC_POP:
        if (!pops_itself)
            learn(state, BASE_RSP, before.at[BASE_RSP] + moved(instruction));
        break;
    case ZYDIS_MNEMONIC_RET:
        if (!operand_with(instruction, BOUNDS_IMMEDIATE, false))
            learn(state, BASE_RSP, before.at[BASE_RSP] + 8);
        break;
    case ZYDIS_MNEMONIC_LEAVE:
        if (knows(&before, BASE_RBP))
            learn(state, BASE_RSP, before.at[BASE_RBP] + 8);
        break;
    default: break;
    }
}

/* ---- decoded instructions, relative to the head ----------------------------------------------------------------- */

static void drop(struct bounds_instruction *instruction, unsigned k)
{
    instruction->operand_count--;
    memmove(instruction->operands + k, instruction->operands + k + 1,
            (instruction->operand_count - k) * sizeof *instruction->operands);
}

/* mov %rsp, : a sum. */
static void make_sum(struct bounds_operand *operand, int64_t at)
{
    operand->kind = BOUNDS_ADDRESS;
    operand->reg = operand->index = BOUNDS_NO_REGISTER;
    operand->base = BASE_RSP;
    operand->scale = 1;
    operand->value = at;
}

static void settle_address(const struct state *state, const struct bounds_instruction *instruction,
                           struct bounds_operand *operand)
{
    if (instruction->mnemonic == ZYDIS_MNEMONIC_LEAVE && operand->kind == BOUNDS_MEMORY &&
        knows(state, BASE_RBP)) {
        operand->base = BASE_RSP;
        operand->value = state->at[BASE_RBP];
    } else if (knows(state, operand->base) && !operand->segment) {
        operand->value += state->at[operand->base];
        operand->base = BASE_RSP;
    }
}

static void settle(const struct state *state, struct bounds_instruction *instruction)
{
    bool moves = instruction->mnemonic == ZYDIS_MNEMONIC_MOV;
    for (unsigned k = instruction->operand_count; k-- > 0;) {
        struct bounds_operand *operand = &instruction->operands[k];
        if (operand->kind == BOUNDS_MEMORY || operand->kind == BOUNDS_ADDRESS)
            settle_address(state, instruction, operand);
        if (operand->kind != BOUNDS_REGISTER || operand->reg != BASE_RSP)
            continue;
        if (moves && k == 1 && operand->bits == 64 &&
            instruction->operands[0].kind == BOUNDS_REGISTER) {
            instruction->mnemonic = ZYDIS_MNEMONIC_LEA;
            make_sum(operand, state->at[BASE_RSP]);
        } else {
            drop(instruction, k);
        }
    }
    instruction->jumps |= instruction->calls || instruction->mnemonic == ZYDIS_MNEMONIC_RET;
    instruction->calls = instruction->stack = false;
}

bool stack_settle_along(struct bounds_block *block)
{
    struct state state = {.known = 1U << BASE_RSP, .reached = true};
    for (size_t i = 0; i < block->count; i++) {
        struct bounds_instruction before = block->instructions[i];
        settle(&state, &block->instructions[i]);
        step(&state, &before);
        if (!knows(&state, BASE_RSP))
            return false;
    }
    return true;
}

/* ---- the loop ------------------------------------------------------------------------------------------------------ */

/* True if something changed at the beginning of a block. */
static bool meet(struct state *into, const struct state *with)
{
    struct state before = *into;
    if (!into->reached)
        *into = *with;
    for (unsigned r = 0; r < BASE_GENERAL_REGISTERS; r++)
        if (!knows(with, (uint8_t)r) || into->at[r] != with->at[r])
            into->known &= ~(1U << r);
    into->reached = true;
    return !before.reached || into->known != before.known;
}

static bool pass_block(struct body *body, struct state *states, uint32_t index)
{
    const struct cfg *graph = body->request->flow;
    const struct cfg_block *block = &graph->blocks[body->blocks[index]];
    struct state state = states[index];
    bool changed = false;
    for (uint32_t i = body->first[index]; i < body->first[index + 1] && state.reached; i++)
        step(&state, &body->code.instructions[i]);
    for (uint32_t e = 0; e < block->edges && state.reached; e++) {
        uint32_t to = body_index(body, graph->edges[block->first_edge + e].to);
        changed |= to != NONE && meet(&states[to], &state);
    }
    return changed;
}

/* Of a value that is an address in the clone's stack nothing may depend but addresses. */
static bool compares(const struct state *state, const struct bounds_instruction *instruction)
{
    bool compared = false;
    for (unsigned k = 0; k < instruction->operand_count; k++)
        compared |= instruction->operands[k].kind == BOUNDS_REGISTER &&
                    instruction->operands[k].reads && knows(state, instruction->operands[k].reg);
    return compared && (instruction->mnemonic == ZYDIS_MNEMONIC_CMP ||
                        instruction->mnemonic == ZYDIS_MNEMONIC_TEST);
}

/* The pointer where a frame was entered, at which its return address lies. */
static int64_t entry_of(const struct body *body, uint64_t address)
{
    return body->splice->frames[FRAME_OF(address)].at;
}

/* Does it store where a return address is? */
static bool overwrites(const struct body *body, const struct bounds_instruction *instruction)
{
    for (unsigned k = 0; k < instruction->operand_count; k++) {
        const struct bounds_operand *operand = &instruction->operands[k];
        if (operand->kind != BOUNDS_MEMORY || !operand->writes || operand->base != BASE_RSP ||
            operand->segment)
            continue;
        for (uint32_t f = FRAME_OF(instruction->address); f; f = body->splice->frames[f].parent) {
            int64_t at = body->splice->frames[f].at;
            if (operand->index == BOUNDS_NO_REGISTER && operand->value < at + 8 &&
                at < operand->value + operand->bits / 8)
                return true;
        }
    }
    return false;
}

/* Where the address lies of what is called, or jumped to: the clone goes there without. */
static void drop_pointers(struct bounds_instruction *instruction)
{
    for (unsigned k = instruction->operand_count; k-- > 0;)
        if (instruction->operands[k].kind == BOUNDS_MEMORY && !instruction->operands[k].hidden)
            drop(instruction, k);
}

static bool settle_one(struct body *body, struct state *state, uint32_t index, uint32_t at)
{
    struct bounds_instruction *instruction = &body->code.instructions[at], before = *instruction;
    bool returns = before.mnemonic == ZYDIS_MNEMONIC_RET, calls = before.calls,
         leaves = returns || (!calls && splice_target(body, index, at) != NONE);
    if (compares(state, &before) ||
        (leaves && state->at[BASE_RSP] != entry_of(body, before.address)))
        return refuse(body, CLONE_STACK, before.address);
    settle(state, instruction);
    if (calls || leaves)
        drop_pointers(instruction);
    step(state, &before);
    if (!knows(state, BASE_RSP) || (!calls && overwrites(body, instruction)))
        return refuse(body, CLONE_STACK, before.address);
    return true;
}

static bool settle_block(struct body *body, const struct state *states, uint32_t index)
{
    struct state state = states[index];
    for (uint32_t i = body->first[index]; i < body->first[index + 1]; i++)
        if (!settle_one(body, &state, index, i))
            return false;
    return true;
}

/* Where frames are entered. */
static bool note_frames(struct body *body, const struct state *states)
{
    const struct cfg *graph = body->request->flow;
    for (uint32_t b = 0; b < body->block_count; b++) {
        uint64_t start = graph->blocks[body->blocks[b]].start;
        struct frame *frame = &body->splice->frames[FRAME_OF(start)];
        if (!states[b].reached || !knows(&states[b], BASE_RSP))
            return refuse(body, CLONE_STACK, start);
        if (FRAME_OF(start) && PLAIN_ADDRESS(start) == frame->entry)
            frame->at = states[b].at[BASE_RSP];
    }
    return true;
}

/* How it is moved: in variants instructions are left out, but none of these. */
static bool sets_pointer(const struct bounds_instruction *instruction)
{
    bool writes = false;
    for (unsigned k = 0; k < instruction->operand_count; k++)
        writes |= instruction->operands[k].kind == BOUNDS_REGISTER &&
                  instruction->operands[k].writes && instruction->operands[k].reg == BASE_RSP;
    return writes && !instruction->stack && instruction->mnemonic != ZYDIS_MNEMONIC_RET &&
           instruction->mnemonic != ZYDIS_MNEMONIC_ADD &&
           instruction->mnemonic != ZYDIS_MNEMONIC_SUB;
}

bool stack_settle(struct body *body)
{
    struct state *states = calloc(body->block_count + 1, sizeof *states);
    if (!states)
        return out_of_memory(body);
    states[body->head] = (struct state){.known = 1U << BASE_RSP, .reached = true};
    body->relative_stack = true;
    for (size_t i = 0; i < body->code.count; i++)
        body->relative_stack &= !sets_pointer(&body->code.instructions[i]);
    for (bool changed = true; changed;) {
        changed = false;
        for (uint32_t b = 0; b < body->block_count; b++)
            changed |= pass_block(body, states, b);
    }
    bool good = note_frames(body, states);
    for (uint32_t b = 0; b < body->block_count && good; b++)
        good = settle_block(body, states, b);
    free(states);
    return good;
}
