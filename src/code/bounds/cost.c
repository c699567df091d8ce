// SPDX-License-Identifier: MIT
/* What each instruction costs where it stands: idioms that renaming resolves, slots with micro-fusion and un-lamination,
   and pairs that the decoders make one (macro-fusion). */
#include "bounds/internal.h"

#include <Zydis/Zydis.h>
#include <stdlib.h>
#include <string.h>

static bool has_index(const struct bounds_instruction *instruction)
{
    for (unsigned i = 0; i < instruction->operand_count; i++)
        if (instruction->operands[i].kind == BOUNDS_MEMORY &&
            instruction->operands[i].index != BOUNDS_NO_REGISTER)
            return true;
    return false;
}

static bool is_free(const struct bounds_instruction *instruction)
{
    return instruction->mnemonic == ZYDIS_MNEMONIC_NOP ||
           instruction->mnemonic == ZYDIS_MNEMONIC_ENDBR64 ||
           instruction->mnemonic == ZYDIS_MNEMONIC_ENDBR32 ||
           instruction->mnemonic == ZYDIS_MNEMONIC_FNOP;
}

/* The two explicit registers of a move, if it has just these. */
static bool two_registers(const struct bounds_instruction *instruction,
                          const struct bounds_operand *operands[2])
{
    unsigned count = 0;
    for (unsigned i = 0; i < instruction->operand_count; i++) {
        const struct bounds_operand *operand = &instruction->operands[i];
        if (operand->hidden)
            continue;
        if (operand->kind != BOUNDS_REGISTER || count == 2)
            return false;
        operands[count++] = operand;
    }
    return count == 2;
}

static bool is_eliminated(const struct work *work, const struct bounds_instruction *instruction,
                          const struct model_figures *figures)
{
    const struct bounds_operand *operands[2];
    if (!(figures->idioms & MODEL_MOVES) || !two_registers(instruction, operands))
        return false;
    if (is_vector(operands[0]->reg))
        return is_vector(operands[1]->reg) && has_rule(work, MODEL_MOVES_VECTOR);
    return is_general(operands[0]->reg) && is_general(operands[1]->reg) &&
           operands[0]->reg != operands[1]->reg && has_rule(work, MODEL_MOVES_GENERAL);
}

static void set_uses(const struct work *work, bool indexed, struct cost *cost)
{
    model_set loads = work->machine->roles[MODEL_LOAD],
              addresses = work->machine->roles[MODEL_STORE_ADDRESS];
    cost->use_count = cost->figures->use_count;
    memcpy(cost->uses, cost->figures->uses, cost->use_count * sizeof *cost->uses);
    cost->operations = cost->figures->micro_operations;
    for (unsigned u = 0;
         u < cost->use_count && indexed && has_rule(work, MODEL_INDEXED_STORES_LOAD); u++)
        if (addresses && loads && cost->uses[u].units == addresses)
            cost->uses[u].units = loads;
}

/* Nothing is certain of a form that the model lacks, but that it takes a slot. */
static void leave_out(struct model_figures *figures)
{
    *figures = (struct model_figures){.fused = 1, .fused_indexed = 1, .idioms = figures->idioms};
    figures->latencies[figures->latency_count++] =
        (struct model_latency){.from = MODEL_ANY, .to = MODEL_ANY};
}

/* Of the model, else of similar forms. False: no memory. */
static bool find_figures(struct work *work, size_t at, struct cost *cost)
{
    const struct bounds_instruction *instruction = &work->block->instructions[at];
    cost->figures = model_find(work->model, instruction->key, instruction->key_bytes);
    if (cost->figures)
        return true;
    if (!work->estimates)
        work->estimates = calloc(work->block->count, sizeof *work->estimates);
    if (!work->estimates)
        return false;
    cost->guessed = !model_estimate(work->model, instruction->key, &work->estimates[at]);
    if (work->options->known)
        leave_out(&work->estimates[at]);
    cost->figures = &work->estimates[at];
    return true;
}

static void set_cost(const struct work *work, const struct bounds_instruction *instruction,
                     struct cost *cost)
{
    const struct model_figures *figures = cost->figures;
    cost->zeroes = instruction->same && (figures->idioms & MODEL_ZEROES);
    cost->breaks = instruction->same && (figures->idioms & MODEL_BREAKS);
    cost->eliminated = is_eliminated(work, instruction, figures);
    if (cost->zeroes || cost->eliminated)
        return;
    set_uses(work, has_index(instruction), cost);
    cost->decoded = fmaxf(1, figures->fused);
    cost->slots = has_index(instruction) ? fmaxf(1, figures->fused_indexed) : cost->decoded;
}

/* ---- macro-fusion -------------------------------------------------------------------------------- */

static bool fuses_with_carry(uint16_t mnemonic) /* inc and dec leave the carry flag alone */
{
    return mnemonic != ZYDIS_MNEMONIC_JB && mnemonic != ZYDIS_MNEMONIC_JNB &&
           mnemonic != ZYDIS_MNEMONIC_JBE && mnemonic != ZYDIS_MNEMONIC_JNBE;
}

static bool rare_condition(uint16_t mnemonic)
{
    return mnemonic == ZYDIS_MNEMONIC_JO || mnemonic == ZYDIS_MNEMONIC_JNO ||
           mnemonic == ZYDIS_MNEMONIC_JS || mnemonic == ZYDIS_MNEMONIC_JNS ||
           mnemonic == ZYDIS_MNEMONIC_JP || mnemonic == ZYDIS_MNEMONIC_JNP;
}

static bool condition_fuses(const struct work *work, uint16_t first, uint16_t branch)
{
    if (branch == ZYDIS_MNEMONIC_JRCXZ || branch == ZYDIS_MNEMONIC_JECXZ ||
        branch == ZYDIS_MNEMONIC_LOOP || branch == ZYDIS_MNEMONIC_LOOPE ||
        branch == ZYDIS_MNEMONIC_LOOPNE)
        return false;
    switch (first) {
    case ZYDIS_MNEMONIC_TEST: return has_rule(work, MODEL_FUSES_COMPARE);
    case ZYDIS_MNEMONIC_CMP: return has_rule(work, MODEL_FUSES_COMPARE) && !rare_condition(branch);
    case ZYDIS_MNEMONIC_AND: return has_rule(work, MODEL_FUSES_ARITHMETIC);
    case ZYDIS_MNEMONIC_ADD:
    case ZYDIS_MNEMONIC_SUB:
        return has_rule(work, MODEL_FUSES_ARITHMETIC) && !rare_condition(branch);
    case ZYDIS_MNEMONIC_INC:
    case ZYDIS_MNEMONIC_DEC:
        return has_rule(work, MODEL_FUSES_ARITHMETIC) && !rare_condition(branch) &&
               fuses_with_carry(branch);
    default: return false;
    }
}

static bool operands_fuse(const struct work *work, const struct bounds_instruction *first)
{
    bool memory = false, immediate = false, absolute = false;
    for (unsigned i = 0; i < first->operand_count; i++) {
        const struct bounds_operand *operand = &first->operands[i];
        if (stores(operand))
            return false;
        memory |= operand->kind == BOUNDS_MEMORY;
        absolute |= operand->kind == BOUNDS_MEMORY && operand->absolute;
        immediate |= operand->kind == BOUNDS_IMMEDIATE && !operand->hidden;
    }
    return !memory || (has_rule(work, MODEL_FUSES_MEMORY) && !absolute &&
                       (!immediate || has_rule(work, MODEL_MEMORY_IMMEDIATE)));
}

/* The pair takes what the branch takes, and what the first one takes besides its computation. */
static void fuse(const struct work *work, struct cost *first, struct cost *branch)
{
    model_set computes = work->machine->roles[MODEL_ALU],
              branches = work->machine->roles[MODEL_BRANCH];
    branch->fused = true;
    branch->slots = branch->decoded = branch->operations = 0;
    branch->use_count = 0;
    if (!computes || !branches)
        return; /* abstract resources: the first one's cost stands for both */
    for (unsigned u = 0; u < first->use_count; u++)
        if (first->uses[u].units == computes) {
            first->uses[u].cycles -= 1;
            if (first->uses[u].cycles <= 0)
                first->uses[u] = first->uses[--first->use_count];
            break;
        }
    if (first->use_count < COST_USES)
        first->uses[first->use_count++] = (struct model_use){branches, 1};
}

static void fuse_pairs(struct work *work)
{
    const struct bounds_instruction *instructions = work->block->instructions;
    for (size_t i = 0; i + 1 < work->block->count; i++)
        if (instructions[i + 1].branches && work->costs[i].figures && work->costs[i + 1].figures &&
            condition_fuses(work, instructions[i].mnemonic, instructions[i + 1].mnemonic) &&
            operands_fuse(work, &instructions[i]))
            fuse(work, &work->costs[i], &work->costs[i + 1]);
}

/* ---- the stack engine --------------------------------------------------------------------------- */

int64_t stack_change(const struct bounds_instruction *instruction)
{
    return instruction->mnemonic == ZYDIS_MNEMONIC_PUSH  ? -8
           : instruction->mnemonic == ZYDIS_MNEMONIC_POP ? 8
                                                         : 0; /* what is called returns */
}

static bool uses_stack_pointer(const struct bounds_instruction *instruction)
{
    for (unsigned i = 0; i < instruction->operand_count; i++) {
        const struct bounds_operand *operand = &instruction->operands[i];
        bool address = operand->kind == BOUNDS_MEMORY || operand->kind == BOUNDS_ADDRESS;
        if (!operand->hidden && (address ? operand->base == BASE_RSP || operand->index == BASE_RSP
                                         : operand->kind == BOUNDS_REGISTER && operand->reads &&
                                               operand->reg == BASE_RSP))
            return true;
    }
    return false;
}

static bool sets_stack_pointer(const struct bounds_instruction *instruction)
{
    for (unsigned i = 0; i < instruction->operand_count; i++)
        if (instruction->operands[i].kind == BOUNDS_REGISTER && instruction->operands[i].writes &&
            instruction->operands[i].reg == BASE_RSP)
            return !instruction->stack;
    return false;
}

struct stack_engine {
    bool ahead;     /* the engine knows more of rsp than the register holds */
    int64_t offset; /* by how much */
    unsigned delay; /* cycles by which rsp is late, since an instruction set it */
};

/* One more micro-operation. Where push and pop cancel out, some processors need none; and on Zen 3 it does not always delay rsp: so it is
   predicted, and not certified. */
static void bring_up_to_date(struct work *work, struct stack_engine *engine, struct cost *cost)
{
    model_set computes = work->machine->roles[MODEL_ALU];
    if (work->options->known || (engine->offset == 0 && !has_rule(work, MODEL_ABSTRACT)))
        return;
    work->uncertain = true;
    engine->delay++;
    cost->slots += 1;
    cost->operations += 1;
    if (computes && cost->use_count < COST_USES)
        cost->uses[cost->use_count++] = (struct model_use){computes, 1};
}

/* Push, pop, call and ret change rsp in the front end. An instruction after them that reads rsp explicitly waits for a micro-operation that adds up what
   they did. Two passes over the block, since it is repeated. */
static void add_stack_updates(struct work *work)
{
    enum { ROUNDS = 2 };
    struct stack_engine engine = {0};
    for (unsigned round = 0; round < ROUNDS; round++) {
        bool sets = false;
        for (size_t i = 0; i < work->block->count; i++) {
            const struct bounds_instruction *instruction = &work->block->instructions[i];
            struct cost unused = {0};
            if (engine.ahead && uses_stack_pointer(instruction)) {
                bring_up_to_date(work, &engine, round ? &work->costs[i] : &unused);
                engine.ahead = false;
                engine.offset = 0;
            }
            work->costs[i].stack_delay = (uint8_t)(engine.delay < 255 ? engine.delay : 255);
            if (sets_stack_pointer(instruction)) {
                engine = (struct stack_engine){0};
                sets = true;
            } else if (instruction->stack) {
                engine.ahead = true;
                engine.offset += stack_change(instruction);
            }
        }
        engine.delay = sets ? engine.delay : 0; /* nothing that a turn leaves to the next one */
    }
}

bool costs_of(struct work *work)
{
    struct bounds *out = work->out;
    const struct bounds_block *block = work->block;
    out->first_unknown = BOUNDS_NONE;
    for (size_t i = 0; i < block->count; i++) {
        struct cost *cost = &work->costs[i];
        *cost = (struct cost){.slots = 1, .decoded = 1, .free = is_free(&block->instructions[i])};
        if (cost->free)
            continue;
        if (!find_figures(work, i, cost))
            return false;
        set_cost(work, &block->instructions[i], cost);
        if (cost->guessed)
            out->first_unknown = out->unknown++ ? out->first_unknown : (uint32_t)i;
    }
    fuse_pairs(work);
    if (has_rule(work, MODEL_STACK_ENGINE))
        add_stack_updates(work);
    for (size_t i = 0; i < block->count; i++) {
        out->slots_count += work->costs[i].slots;
        out->operations += work->costs[i].operations;
    }
    return true;
}
