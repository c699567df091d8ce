// SPDX-License-Identifier: MIT
/* Latencies within one instruction: of its load, and from its inputs to its results. */
#include "bounds/internal.h"

#include <Zydis/Zydis.h>

#include <math.h>

static struct arc_latency exactly(float cycles)
{
    int32_t latency = (int32_t)lrintf(cycles * 1000);
    return (struct arc_latency){latency, latency};
}

static const struct bounds_operand *first_result(const struct bounds_instruction *instruction)
{
    for (unsigned i = 0; i < instruction->operand_count; i++)
        if (instruction->operands[i].kind == BOUNDS_REGISTER && instruction->operands[i].writes)
            return &instruction->operands[i];
    return NULL;
}

static const struct bounds_operand *result_of_load(const struct bounds_instruction *instruction)
{
    const struct bounds_operand *result = first_result(instruction);
    for (unsigned i = 0; !result && i < instruction->operand_count; i++)
        if (instruction->operands[i].kind == BOUNDS_FLAGS_OPERAND &&
            instruction->operands[i].writes)
            result = &instruction->operands[i];
    for (unsigned i = 0; !result && i < instruction->operand_count; i++)
        if (stores(&instruction->operands[i]))
            result = &instruction->operands[i];
    return result;
}

static bool takes_vectors(const struct bounds_instruction *instruction)
{
    for (unsigned i = 0; i < instruction->operand_count; i++)
        if (instruction->operands[i].kind == BOUNDS_REGISTER &&
            is_vector(instruction->operands[i].reg))
            return true;
    return false;
}

/* What the machine takes for a load of that kind alone. */
static float plain_load(const struct work *work, const struct bounds_instruction *instruction,
                        const struct bounds_operand *from)
{
    float general = figure(work, MODEL_LOAD_LATENCY, 4);
    if (takes_vectors(instruction))
        return figure(work, MODEL_LOAD_VECTOR, general);
    return from->index == BOUNDS_NO_REGISTER ? general : figure(work, MODEL_LOAD_INDEXED, general);
}

/* From the address to that result, as the model has it; negative: it does not. */
static float whole(const struct cost *cost, const struct bounds_operand *from,
                   const struct bounds_operand *to, bool most)
{
    if (!cost->figures || !to)
        return -1;
    return most ? model_latency_most(cost->figures, from->number, to->number)
                : model_latency_least(cost->figures, from->number, to->number);
}

struct arc_latency load_latency(const struct work *work, uint32_t at,
                                const struct bounds_operand *from, bool fast)
{
    const struct bounds_instruction *instruction = &work->block->instructions[at];
    if (work->latencies->load >= 0)
        return exactly(work->latencies->load);
    float plain = plain_load(work, instruction, from);
    float known = whole(&work->costs[at], from, result_of_load(instruction), false);
    return exactly(fmaxf(0, (known >= 0 ? fminf(known, plain) : plain) - (fast ? 1 : 0)));
}

/* Of an instruction that the user gave a latency for; negative: not given. */
static float given(const struct work *work, const struct bounds_instruction *instruction,
                   const struct bounds_operand *from, const struct bounds_operand *to)
{
    float computes = work->latencies->category[instruction->category];
    bool moves = instruction->category == BOUNDS_MOVE;
    if (!stores(to))
        return computes;
    if (work->latencies->store < 0)
        return moves ? -1 : computes;
    return work->latencies->store + (moves || !loads(from) ? 0 : fmaxf(0, computes));
}

struct arc_latency compute_latency(const struct work *work, uint32_t at,
                                   const struct bounds_operand *from,
                                   const struct bounds_operand *to)
{
    const struct bounds_instruction *instruction = &work->block->instructions[at];
    const struct cost *cost = &work->costs[at];
    float by_hand = given(work, instruction, from, to);
    if (cost->eliminated)
        return exactly(0);
    if (by_hand >= 0)
        return exactly(by_hand);
    float least = whole(cost, from, to, false), most = whole(cost, from, to, true);
    if (loads(from) && least >= 0) {
        float plain = fminf(least, plain_load(work, instruction, from));
        least -= plain;
        most -= plain;
    }
    if (least < 0)
        least = most = stores(to) && !loads(from) ? 0 : 1;
    return (struct arc_latency){exactly(least).least, exactly(fmaxf(least, most)).least};
}

/* Does it load from rsp and a constant, and nothing else but store what it makes of that? Measured on Zen 3: operations on what is loaded
   wait as long as with other registers. */
static bool is_in_frame(const struct work *work, const struct bounds_instruction *instruction)
{
    bool frame = has_rule(work, MODEL_FORWARDS_FRAME), found = false, plain = false;
    for (unsigned k = 0; k < instruction->operand_count; k++) {
        const struct bounds_operand *operand = &instruction->operands[k];
        plain |= stores(operand);
        found |= loads(operand) && operand->index == BOUNDS_NO_REGISTER &&
                 (operand->base == BASE_RSP || (frame && operand->base == BASE_RBP));
    }
    return found && (plain || instruction->category == BOUNDS_MOVE ||
                     instruction->mnemonic == ZYDIS_MNEMONIC_POP);
}

struct arc_latency forward_latency(const struct work *work,
                                   const struct bounds_instruction *instruction, bool failed)
{
    if (work->latencies->load >= 0)
        return exactly(work->latencies->load);
    float general = figure(work, MODEL_FORWARD_GENERAL, 4),
          least = fminf(general, figure(work, MODEL_FORWARD_LEAST, general));
    if (is_in_frame(work, instruction))
        least = general = figure(work, MODEL_FORWARD_STACK, general);
    float forwarded = takes_vectors(instruction) ? figure(work, MODEL_FORWARD_VECTOR, general)
                      : has_rule(work, MODEL_RENAMES_MEMORY) ? fminf(general, 0)
                                                             : general;
    struct arc_latency latency = exactly(forwarded);
    if (forwarded >= general && least < general && !takes_vectors(instruction))
        latency.least = exactly(least).least;
    if (failed)
        latency.most = exactly(fmaxf(forwarded, figure(work, MODEL_FORWARD_FAILED, 12))).least;
    return latency;
}
