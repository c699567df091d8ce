// SPDX-License-Identifier: MIT
/*
 * What is live in a loop whose memory operands are replaced: backward data flow over its blocks, in which only instructions that
 * are needed use anything. Of locations under fixed addresses nothing is known but whether one of them is used at all.
 */
#include "clone/internal.h"

#include <stdlib.h>
#include <string.h>

enum { CELLS = BOUNDS_REGISTERS, LOCATIONS };

struct live {
    const struct body *body;
    enum live_roots roots;
    bool *states; /* at the beginning of each block */
    bool state[LOCATIONS];
    bool *needed;
    bool changed;
};

static bool is_cell(const struct body *body, uint32_t at, unsigned index)
{
    size_t o = data_operand(body, at, index);
    return o != NONE && body->operands[o].fixed && !body->operands[o].hints;
}

static bool is_root(const struct live *live, const struct bounds_instruction *instruction)
{
    return live->roots == ROOTS_ALL || instruction->branches || instruction->jumps;
}

/* Does it leave anything that is live behind it? */
static bool is_used(const struct live *live, uint32_t at)
{
    const struct bounds_instruction *instruction = &live->body->code.instructions[at];
    for (unsigned k = 0; k < instruction->operand_count; k++) {
        const struct bounds_operand *operand = &instruction->operands[k];
        if (operand->kind == BOUNDS_REGISTER && operand->writes && operand->reg < BOUNDS_FLAG &&
            live->state[operand->reg])
            return true;
        if (operand->kind == BOUNDS_MEMORY && operand->writes && live->state[CELLS] &&
            is_cell(live->body, at, k))
            return true;
        for (unsigned f = 0; operand->kind == BOUNDS_FLAGS_OPERAND && f < BOUNDS_FLAGS; f++)
            if (operand->flags_written >> f & 1 && live->state[BOUNDS_FLAG + f])
                return true;
    }
    return false;
}

static void kill_written(struct live *live, const struct bounds_instruction *instruction)
{
    for (unsigned k = 0; k < instruction->operand_count; k++) {
        const struct bounds_operand *operand = &instruction->operands[k];
        if (operand->kind == BOUNDS_REGISTER && operand->writes && !operand->conditional &&
            operand->reg < BOUNDS_VECTOR && operand->bits >= 32)
            live->state[operand->reg] = false;
        for (unsigned f = 0; operand->kind == BOUNDS_FLAGS_OPERAND && f < BOUNDS_FLAGS; f++)
            if (operand->flags_written >> f & 1 && !operand->conditional &&
                !data_may_keep_flags(instruction))
                live->state[BOUNDS_FLAG + f] = false;
    }
}

static void use(struct live *live, uint8_t reg)
{
    if (reg < BOUNDS_FLAG)
        live->state[reg] = true;
}

static void use_read(struct live *live, uint32_t at)
{
    const struct bounds_instruction *instruction = &live->body->code.instructions[at];
    for (unsigned k = 0; k < instruction->operand_count && !data_is_zeroing(instruction); k++) {
        const struct bounds_operand *operand = &instruction->operands[k];
        if (operand->kind == BOUNDS_REGISTER && operand->reads)
            use(live, operand->reg);
        if (operand->kind == BOUNDS_ADDRESS) {
            use(live, operand->base);
            use(live, operand->index);
        }
        if (operand->kind == BOUNDS_MEMORY && operand->reads && is_cell(live->body, at, k))
            live->state[CELLS] = true;
        for (unsigned f = 0; operand->kind == BOUNDS_FLAGS_OPERAND && f < BOUNDS_FLAGS; f++)
            if (operand->flags_read >> f & 1)
                live->state[BOUNDS_FLAG + f] = true;
    }
}

/* Registers of addresses, though they are replaced. */
static void use_addresses(struct live *live, const struct bounds_instruction *instruction)
{
    for (unsigned k = 0; k < instruction->operand_count; k++)
        if (instruction->operands[k].kind == BOUNDS_MEMORY) {
            use(live, instruction->operands[k].base);
            use(live, instruction->operands[k].index);
        }
}

static void step_back(struct live *live, uint32_t at)
{
    const struct bounds_instruction *instruction = &live->body->code.instructions[at];
    if (is_root(live, instruction) || is_used(live, at)) {
        live->changed |= !live->needed[at];
        live->needed[at] = true;
        kill_written(live, instruction);
        use_read(live, at);
    }
    if (live->roots == ROOTS_ADDRESSES)
        use_addresses(live, instruction);
}

static void pass_block(struct live *live, uint32_t index)
{
    const struct body *body = live->body;
    const struct cfg *graph = body->request->flow;
    const struct cfg_block *block = &graph->blocks[body->blocks[index]];
    bool *into = live->states + (size_t)index * LOCATIONS;
    memset(live->state, 0, sizeof live->state);
    for (uint32_t e = 0; e < block->edges; e++) {
        uint32_t to = body_index(body, graph->edges[block->first_edge + e].to);
        for (unsigned l = 0; to != NONE && l < LOCATIONS; l++)
            live->state[l] |= live->states[(size_t)to * LOCATIONS + l];
    }
    for (uint32_t i = body->first[index + 1]; i-- > body->first[index];)
        step_back(live, i);
    for (unsigned l = 0; l < LOCATIONS; l++) {
        live->changed |= live->state[l] && !into[l];
        into[l] |= live->state[l];
    }
}

bool live_find(struct body *body, enum live_roots roots, bool **needed, bool *head, uint8_t *flags)
{
    struct live live = {.body = body, .roots = roots, .changed = true};
    live.states = calloc((size_t)body->block_count * LOCATIONS + 1, sizeof *live.states);
    live.needed = calloc(body->code.count + 1, sizeof *live.needed);
    if (!live.states || !live.needed) {
        free(live.states);
        free(live.needed);
        return out_of_memory(body);
    }
    while (live.changed) {
        live.changed = false;
        for (uint32_t b = body->block_count; b-- > 0;)
            pass_block(&live, b);
    }
    for (uint32_t b = 0; flags && b < body->block_count; b++)
        for (unsigned f = 0; f < BOUNDS_FLAGS; f++)
            flags[b] |= (uint8_t)(live.states[(size_t)b * LOCATIONS + BOUNDS_FLAG + f] << f);
    memcpy(head, live.states + (size_t)body->head * LOCATIONS, BOUNDS_REGISTERS * sizeof *head);
    free(live.states);
    *needed = live.needed;
    return true;
}

/* ---- what is free ----------------------------------------------------------------------------------------- */

static void name(uint32_t *general, uint32_t *vectors, uint8_t reg)
{
    if (reg < BOUNDS_VECTOR)
        *general |= 1U << reg;
    else if (reg < BOUNDS_VECTOR + 16)
        *vectors |= 1U << (reg - BOUNDS_VECTOR);
}

static void name_all(const struct body *body, uint32_t *of_general, uint32_t *of_vectors)
{
    for (size_t i = 0; i < body->code.count; i++) {
        const struct bounds_instruction *instruction = &body->code.instructions[i];
        for (unsigned k = 0; k < instruction->operand_count; k++) {
            const struct bounds_operand *operand = &instruction->operands[k];
            if (operand->kind == BOUNDS_REGISTER)
                name(of_general, of_vectors, operand->reg);
            if (operand->kind == BOUNDS_ADDRESS) {
                name(of_general, of_vectors, operand->base);
                name(of_general, of_vectors, operand->index);
            }
        }
    }
}

uint32_t live_unnamed(const struct body *body)
{
    uint32_t of_general = 1U << BASE_RSP, of_vectors = 0;
    name_all(body, &of_general, &of_vectors);
    return ~of_general & 0xffff;
}

uint32_t live_free(const struct body *body, bool vectors)
{
    uint32_t of_general = 1U << BASE_RSP | 1U << BASE_RAX | 1U << BASE_RCX | 1U << BASE_RDX;
    uint32_t of_vectors = 0;
    if (body->outcome_count)
        of_general |= 1U << body->outcome_turn | 1U << body->outcome_bits;
    name_all(body, &of_general, &of_vectors);
    return ~(vectors ? of_vectors : of_general) & 0xffff;
}
