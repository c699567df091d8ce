// SPDX-License-Identifier: MIT
/*
 * What depends on loaded data: forward data flow over the loop's blocks. A clone loads other values than the program, so
 * nothing may depend on them that decides where control goes or whether an instruction faults.
 *
 * An inner branch that depends on it is an outcome (outcomes.c). Then what was written on some ways alone depends on outcomes. Where
 * either says when the loop ends, all branches that leave it are outcomes: each run then ends when an execution of the program's did.
 *
 * Locations that the loop finds under fixed addresses are followed like registers: a counter kept in the frame is no loaded
 * value. The clone has copies of them, which start as the program's.
 */
#include "clone/internal.h"

#include <stdlib.h>
#include <string.h>

enum {
    VARIES = 1, /* depends on a load whose value the clone has not */
    CELL =
        2, /* depends on a location of fixed address: as in the program, if no other store changes it */
    STEERED = 4, /* on the way that was taken */
};

/* By register, then by memory operand: if that is fixed, what is in its location. */
struct flow {
    struct body *body;
    uint8_t *states; /* at the beginning of each block */
    uint8_t *state;  /* at the instruction that is looked at */
    size_t bytes;
    bool steering;       /* branches that are outcomes are known */
    bool *conditional;   /* by block: not on all ways */
    bool in_conditional; /* the instruction that is looked at */
};

bool data_is_zeroing(const struct bounds_instruction *instruction)
{
    switch (instruction->mnemonic) {
    case ZYDIS_MNEMONIC_PXOR:
    case ZYDIS_MNEMONIC_SUB:
    case ZYDIS_MNEMONIC_VPXOR:
    case ZYDIS_MNEMONIC_VPXORD:
    case ZYDIS_MNEMONIC_VPXORQ:
    case ZYDIS_MNEMONIC_VXORPD:
    case ZYDIS_MNEMONIC_VXORPS:
    case ZYDIS_MNEMONIC_XOR:
    case ZYDIS_MNEMONIC_XORPD:
    case ZYDIS_MNEMONIC_XORPS: return instruction->same;
    default: return false;
    }
}

static bool is_division(const struct bounds_instruction *instruction)
{
    return instruction->mnemonic == ZYDIS_MNEMONIC_DIV ||
           instruction->mnemonic == ZYDIS_MNEMONIC_IDIV;
}

size_t data_operand(const struct body *body, uint32_t at, unsigned index)
{
    for (size_t o = first_operand(body, at);
         o < body->operand_count && body->operands[o].instruction == at; o++)
        if (body->operands[o].index == index)
            return o;
    return NONE;
}

static uint8_t of_register(const struct flow *flow, uint8_t reg)
{
    return reg < BOUNDS_REGISTERS ? flow->state[reg] : 0;
}

static uint8_t of_memory(const struct flow *flow, uint32_t at, unsigned index)
{
    const struct body *body = flow->body;
    size_t o = data_operand(body, at, index);
    if (o == NONE || body->operands[o].hints)
        return 0;
    return body->operands[o].fixed ? flow->state[BOUNDS_REGISTERS + o] | CELL : VARIES;
}

/* Of all that an instruction reads. */
static uint8_t inputs_of(const struct flow *flow, uint32_t at)
{
    const struct bounds_instruction *instruction = &flow->body->code.instructions[at];
    uint8_t inputs = 0;
    if (data_is_zeroing(instruction))
        return 0;
    for (unsigned k = 0; k < instruction->operand_count; k++) {
        const struct bounds_operand *operand = &instruction->operands[k];
        if (operand->kind == BOUNDS_REGISTER && operand->reads)
            inputs |= of_register(flow, operand->reg);
        if (operand->kind == BOUNDS_ADDRESS)
            inputs |= of_register(flow, operand->base) | of_register(flow, operand->index);
        if (operand->kind == BOUNDS_MEMORY && operand->reads)
            inputs |= of_memory(flow, at, k);
        for (unsigned f = 0; operand->kind == BOUNDS_FLAGS_OPERAND && f < BOUNDS_FLAGS; f++)
            if (operand->flags_read >> f & 1)
                inputs |= flow->state[BOUNDS_FLAG + f];
    }
    return inputs;
}

/* Does a result keep something of what was there? */
static bool keeps(const struct bounds_operand *operand)
{
    return operand->conditional || operand->reg >= BOUNDS_VECTOR || operand->bits < 32;
}

bool data_may_keep_flags(const struct bounds_instruction *instruction)
{
    switch (instruction->mnemonic) {
    case ZYDIS_MNEMONIC_RCL:
    case ZYDIS_MNEMONIC_RCR:
    case ZYDIS_MNEMONIC_ROL:
    case ZYDIS_MNEMONIC_ROR:
    case ZYDIS_MNEMONIC_SAR:
    case ZYDIS_MNEMONIC_SHL:
    case ZYDIS_MNEMONIC_SHLD:
    case ZYDIS_MNEMONIC_SHR:
    case ZYDIS_MNEMONIC_SHRD: return true;
    default: return false;
    }
}

static bool same_registers(const struct bounds_operand *a, const struct bounds_operand *b)
{
    return a->base == b->base && a->index == b->index && a->scale == b->scale &&
           a->segment == b->segment;
}

static void store_to_cells(struct flow *flow, size_t stored, uint8_t inputs)
{
    const struct body *body = flow->body;
    const struct operand *to = &body->operands[stored];
    const struct bounds_operand *by = operand_of(body, to);
    for (size_t o = 0; o < body->operand_count; o++) {
        const struct bounds_operand *cell = operand_of(body, &body->operands[o]);
        uint8_t *state = &flow->state[BOUNDS_REGISTERS + o];
        if (!body->operands[o].fixed || !same_registers(cell, by) ||
            cell->value >= by->value + to->bytes ||
            by->value >= cell->value + body->operands[o].bytes)
            continue;
        bool whole = cell->value == by->value && body->operands[o].bytes == to->bytes;
        *state = whole && !by->conditional ? inputs : *state | inputs;
    }
}

/* What each iteration adds the same to does not depend on its way. */
static uint8_t steers(const struct flow *flow, uint8_t reg)
{
    return flow->in_conditional && !(reg < BASE_GENERAL_REGISTERS && flow->body->uniform >> reg & 1)
               ? STEERED
               : 0;
}

static void step(struct flow *flow, uint32_t at)
{
    const struct bounds_instruction *instruction = &flow->body->code.instructions[at];
    uint8_t inputs = inputs_of(flow, at);
    for (unsigned k = 0; k < instruction->operand_count; k++) {
        const struct bounds_operand *operand = &instruction->operands[k];
        if (operand->kind == BOUNDS_REGISTER && operand->writes)
            flow->state[operand->reg] =
                (keeps(operand) ? flow->state[operand->reg] | inputs : inputs) |
                steers(flow, operand->reg);
        for (unsigned f = 0; operand->kind == BOUNDS_FLAGS_OPERAND && f < BOUNDS_FLAGS; f++)
            if (operand->flags_written >> f & 1)
                flow->state[BOUNDS_FLAG + f] = data_may_keep_flags(instruction)
                                                   ? flow->state[BOUNDS_FLAG + f] | inputs
                                                   : inputs;
        size_t o = operand->kind == BOUNDS_MEMORY && operand->writes
                       ? data_operand(flow->body, at, k)
                       : NONE;
        if (o != NONE && flow->body->operands[o].fixed)
            store_to_cells(flow, o, inputs | steers(flow, BOUNDS_NO_REGISTER));
    }
}

/* True if something was added to the state at the beginning of a block. */
static bool add_state(struct flow *flow, uint32_t block)
{
    uint8_t *into = flow->states + block * flow->bytes;
    bool added = false;
    for (size_t i = 0; i < flow->bytes; i++) {
        added |= (flow->state[i] & ~into[i]) != 0;
        into[i] |= flow->state[i];
    }
    return added;
}

static bool pass_block(struct flow *flow, uint32_t index)
{
    const struct body *body = flow->body;
    const struct cfg *graph = body->request->flow;
    const struct cfg_block *block = &graph->blocks[body->blocks[index]];
    bool added = false;
    flow->in_conditional = flow->steering && flow->conditional[index];
    memcpy(flow->state, flow->states + index * flow->bytes, flow->bytes);
    for (uint32_t i = body->first[index]; i < body->first[index + 1]; i++)
        step(flow, i);
    for (uint32_t e = 0; e < block->edges; e++) {
        uint32_t to = body_index(body, graph->edges[block->first_edge + e].to);
        added |= to != NONE && add_state(flow, to);
    }
    return added;
}

static uint8_t varying_flags(const struct flow *flow)
{
    uint8_t all = 0;
    for (unsigned f = 0; f < BOUNDS_FLAGS; f++)
        all |= flow->state[BOUNDS_FLAG + f] & VARIES ? (uint8_t)(1U << f) : 0;
    return all;
}

/* A branch leads to a part that was left out: that would be no exit of the loop. */
static bool refuse_left_out(struct body *body, uint64_t address)
{
    const struct splice *splice = body->splice;
    return splice->reason ? refuse(body, (enum clone_reason)splice->reason, splice->culprit)
                          : refuse(body, CLONE_EXIT, address);
}

static bool check_branch(struct flow *flow, uint32_t index, uint32_t at, uint8_t inputs)
{
    struct body *body = flow->body;
    uint64_t address = body->code.instructions[at].address;
    uint32_t flags = body->request->flow->blocks[body->blocks[index]].flags;
    if (flags & SPLICE_CUT)
        return refuse_left_out(body, address);
    if (flags & SPLICE_COLD)
        return true;
    if (inputs & (VARIES | STEERED) && body_leads_out(body, index)) {
        if (body->splice)
            return refuse(body, CLONE_EXIT, address);
        body->ends = true;
    }
    return flow->steering || !(inputs & VARIES) || outcomes_add(body, at, varying_flags(flow));
}

static bool check_block(struct flow *flow, uint32_t index)
{
    struct body *body = flow->body;
    flow->in_conditional = flow->steering && flow->conditional[index];
    memcpy(flow->state, flow->states + index * flow->bytes, flow->bytes);
    for (uint32_t i = body->first[index]; i < body->first[index + 1]; i++) {
        const struct bounds_instruction *instruction = &body->code.instructions[i];
        uint8_t inputs = inputs_of(flow, i);
        if (instruction->branches && !check_branch(flow, index, i, inputs))
            return false;
        if (!flow->steering && is_division(instruction) && inputs)
            return refuse(body, CLONE_DIVIDES, instruction->address);
        step(flow, i);
    }
    return true;
}

static bool run(struct flow *flow)
{
    struct body *body = flow->body;
    bool good = true;
    memset(flow->states, 0, (size_t)(body->block_count + 1) * flow->bytes);
    /* Runs after the first begin with what the one before left in vector registers. */
    memset(flow->states + body->head * flow->bytes + BOUNDS_VECTOR, VARIES,
           BOUNDS_FLAG - BOUNDS_VECTOR);
    for (bool changed = true; changed;) {
        changed = false;
        for (uint32_t b = 0; b < body->block_count; b++)
            changed |= pass_block(flow, b);
    }
    for (uint32_t b = 0; b < body->block_count && good; b++)
        good = check_block(flow, b);
    return good;
}

/* Again, if there are outcomes: is what follows from them apart from when the loop ends? */
static bool run_steered(struct flow *flow)
{
    struct body *body = flow->body;
    for (uint32_t b = 0; b < body->block_count; b++) {
        uint32_t ways = 0;
        for (uint32_t w = 0; w < body->way_count; w++)
            for (uint32_t i = 0; i < body->ways[w].count; i++)
                ways += body->ways[w].blocks[i] == b;
        flow->conditional[b] = ways < body->way_count;
    }
    flow->steering = true;
    return run(flow);
}

bool data_is_apart(struct body *body)
{
    struct flow flow = {.body = body, .bytes = BOUNDS_REGISTERS + body->operand_count};
    flow.states = calloc((size_t)body->block_count + 1, flow.bytes);
    flow.conditional = calloc((size_t)body->block_count + 1, sizeof *flow.conditional);
    bool good = flow.states && flow.conditional ? true : out_of_memory(body);
    if (good) {
        flow.state = flow.states + body->block_count * flow.bytes;
        good = run(&flow) && (!body->outcome_count || run_steered(&flow)) &&
               (!body->ends || outcomes_add_exits(body));
    }
    free(flow.states);
    free(flow.conditional);
    return good;
}
