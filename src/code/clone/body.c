// SPDX-License-Identifier: MIT
/* A loop's blocks and instructions, its memory operands, and what in them cannot be cloned. */
#include "clone/internal.h"

#include <stdlib.h>

/* ---- blocks ---------------------------------------------------------------------------------------------- */

static bool is_eligible(const struct clone_request *request)
{
    const struct cfg *flow = request->flow;
    return request->loop && request->loop < flow->loops_count &&
           !(flow->loops[request->loop].flags & CFG_IRREDUCIBLE) &&
           cfg_is_innermost(flow, request->loop);
}

static bool collect_blocks(struct body *body, uint32_t loop)
{
    const struct cfg *flow = body->request->flow;
    body->blocks = calloc(flow->blocks_count + 1, sizeof *body->blocks);
    body->first = calloc(flow->blocks_count + 2, sizeof *body->first);
    if (!body->blocks || !body->first)
        return out_of_memory(body);
    for (uint32_t b = 0; b < flow->blocks_count; b++)
        if (cfg_loop_holds(flow, loop, b)) {
            if (b == flow->loops[body->request->loop].head)
                body->head = body->block_count;
            body->blocks[body->block_count++] = b;
        }
    return true;
}

/* An address of the module, whichever frame it is in. */
static void set_plain(struct bounds_operand *operand)
{
    if (FRAME_OF((uint64_t)operand->value) < CLONE_FRAMES_MAX)
        operand->value = (int64_t)PLAIN_ADDRESS((uint64_t)operand->value);
}

static bool decode_block(struct body *body, uint32_t index)
{
    const struct cfg_block *block = &body->request->flow->blocks[body->blocks[index]];
    const struct cfg_code *code = code_of(body, block->start);
    uint64_t start = PLAIN_ADDRESS(block->start), end = PLAIN_ADDRESS(block->end);
    size_t bad;
    body->first[index] = body->first[index + 1] = (uint32_t)body->code.count;
    if (block->flags & SPLICE_FAILED)
        return true;
    if (start < code->start || end > code->start + code->count)
        return refuse(body, CLONE_NO_LOOP, block->start);
    enum base_status status =
        bounds_decode(bytes_at(body, block->start), (size_t)(block->end - block->start),
                      block->start, false, &body->code, &bad);
    if (status == BASE_NO_MEMORY)
        return out_of_memory(body);
    if (status != BASE_OK ||
        body->code.count > (body->inner || body->marks ? CLONE_NEST_MAX : CLONE_INSTRUCTIONS_MAX))
        return refuse(body, status == BASE_MALFORMED ? CLONE_NO_LOOP : CLONE_LONG, block->start);
    body->first[index + 1] = (uint32_t)body->code.count;
    for (uint32_t i = body->first[index]; i < body->code.count; i++)
        for (unsigned k = 0; k < body->code.instructions[i].operand_count; k++)
            if (body->code.instructions[i].operands[k].absolute)
                set_plain(&body->code.instructions[i].operands[k]);
    return true;
}

/* ---- what cannot be cloned -------------------------------------------------------------------------------- */

static enum clone_reason reason_of_category(ZydisInstructionCategory category)
{
    switch (category) {
    case ZYDIS_CATEGORY_CALL: return CLONE_CALLS;
    case ZYDIS_CATEGORY_POP:
    case ZYDIS_CATEGORY_PUSH:
    case ZYDIS_CATEGORY_RET: return CLONE_STACK;
    case ZYDIS_CATEGORY_IOSTRINGOP:
    case ZYDIS_CATEGORY_STRINGOP: return CLONE_STRING;
    case ZYDIS_CATEGORY_FCMOV:
    case ZYDIS_CATEGORY_X87_ALU: return CLONE_X87;
    case ZYDIS_CATEGORY_AVX2GATHER:
    case ZYDIS_CATEGORY_GATHER:
    case ZYDIS_CATEGORY_SCATTER: return CLONE_GATHERS;
    case ZYDIS_CATEGORY_CLDEMOTE:
    case ZYDIS_CATEGORY_CLFLUSHOPT:
    case ZYDIS_CATEGORY_CLWB:
    case ZYDIS_CATEGORY_CLZERO:
    case ZYDIS_CATEGORY_ENQCMD:
    case ZYDIS_CATEGORY_MOVDIR: return CLONE_STREAMS_PAST;
    case ZYDIS_CATEGORY_AMX_TILE:
    case ZYDIS_CATEGORY_CET:
    case ZYDIS_CATEGORY_HRESET:
    case ZYDIS_CATEGORY_INTERRUPT:
    case ZYDIS_CATEGORY_IO:
    case ZYDIS_CATEGORY_KEYLOCKER:
    case ZYDIS_CATEGORY_KEYLOCKER_WIDE:
    case ZYDIS_CATEGORY_MPX:
    case ZYDIS_CATEGORY_PADLOCK:
    case ZYDIS_CATEGORY_PCONFIG:
    case ZYDIS_CATEGORY_PKU:
    case ZYDIS_CATEGORY_PT:
    case ZYDIS_CATEGORY_RDPID:
    case ZYDIS_CATEGORY_RDPRU:
    case ZYDIS_CATEGORY_RDRAND:
    case ZYDIS_CATEGORY_RDSEED:
    case ZYDIS_CATEGORY_RDWRFSGS:
    case ZYDIS_CATEGORY_SEGOP:
    case ZYDIS_CATEGORY_SERIALIZE:
    case ZYDIS_CATEGORY_SGX:
    case ZYDIS_CATEGORY_SMAP:
    case ZYDIS_CATEGORY_SYSCALL:
    case ZYDIS_CATEGORY_SYSRET:
    case ZYDIS_CATEGORY_SYSTEM:
    case ZYDIS_CATEGORY_TSX_LDTRK:
    case ZYDIS_CATEGORY_UINTR:
    case ZYDIS_CATEGORY_VTX:
    case ZYDIS_CATEGORY_WAITPKG:
    case ZYDIS_CATEGORY_XSAVE:
    case ZYDIS_CATEGORY_XSAVEOPT: return CLONE_SYSTEM;
    default: return CLONE_ELIGIBLE;
    }
}

static enum clone_reason reason_of_mnemonic(ZydisMnemonic mnemonic)
{
    switch (mnemonic) {
    case ZYDIS_MNEMONIC_CLFLUSH:
    case ZYDIS_MNEMONIC_MASKMOVDQU:
    case ZYDIS_MNEMONIC_MASKMOVQ:
    case ZYDIS_MNEMONIC_MOVNTDQ:
    case ZYDIS_MNEMONIC_MOVNTI:
    case ZYDIS_MNEMONIC_MOVNTPD:
    case ZYDIS_MNEMONIC_MOVNTPS:
    case ZYDIS_MNEMONIC_MOVNTQ:
    case ZYDIS_MNEMONIC_MOVNTSD:
    case ZYDIS_MNEMONIC_MOVNTSS:
    case ZYDIS_MNEMONIC_VMASKMOVDQU:
    case ZYDIS_MNEMONIC_VMOVNTDQ:
    case ZYDIS_MNEMONIC_VMOVNTPD:
    case ZYDIS_MNEMONIC_VMOVNTPS: return CLONE_STREAMS_PAST;
    case ZYDIS_MNEMONIC_CPUID:
    case ZYDIS_MNEMONIC_FXRSTOR:
    case ZYDIS_MNEMONIC_FXSAVE:
    case ZYDIS_MNEMONIC_HLT:
    case ZYDIS_MNEMONIC_LDMXCSR:
    case ZYDIS_MNEMONIC_POPFQ:
    case ZYDIS_MNEMONIC_PUSHFQ:
    case ZYDIS_MNEMONIC_RDTSC:
    case ZYDIS_MNEMONIC_RDTSCP:
    case ZYDIS_MNEMONIC_STD:
    case ZYDIS_MNEMONIC_STMXCSR:
    case ZYDIS_MNEMONIC_UD0:
    case ZYDIS_MNEMONIC_UD1:
    case ZYDIS_MNEMONIC_UD2:
    case ZYDIS_MNEMONIC_VLDMXCSR:
    case ZYDIS_MNEMONIC_VSTMXCSR:
    case ZYDIS_MNEMONIC_XABORT:
    case ZYDIS_MNEMONIC_XBEGIN:
    case ZYDIS_MNEMONIC_XEND: return CLONE_SYSTEM;
    case ZYDIS_MNEMONIC_CMPXCHG8B:
    case ZYDIS_MNEMONIC_CMPXCHG16B: return CLONE_NO_FIELD;
    case ZYDIS_MNEMONIC_EMMS:
    case ZYDIS_MNEMONIC_FEMMS: return CLONE_X87;
    default: return CLONE_ELIGIBLE;
    }
}

/* Bit strings: a register leads beyond the operand. */
static bool leads_beyond(const ZydisDecodedInstruction *in, const ZydisDecodedOperand *operands)
{
    return (in->mnemonic == ZYDIS_MNEMONIC_BT || in->mnemonic == ZYDIS_MNEMONIC_BTC ||
            in->mnemonic == ZYDIS_MNEMONIC_BTR || in->mnemonic == ZYDIS_MNEMONIC_BTS) &&
           operands[0].type == ZYDIS_OPERAND_TYPE_MEMORY &&
           operands[1].type == ZYDIS_OPERAND_TYPE_REGISTER;
}

static bool moves_stack(const ZydisDecodedInstruction *in)
{
    return in->mnemonic == ZYDIS_MNEMONIC_PUSH || in->mnemonic == ZYDIS_MNEMONIC_POP ||
           in->mnemonic == ZYDIS_MNEMONIC_CALL || in->mnemonic == ZYDIS_MNEMONIC_RET ||
           in->mnemonic == ZYDIS_MNEMONIC_LEAVE;
}

static enum clone_reason reason_of_memory(const ZydisDecodedInstruction *in,
                                          const ZydisDecodedOperand *operand)
{
    if (operand->mem.type == ZYDIS_MEMOP_TYPE_VSIB || operand->mem.type == ZYDIS_MEMOP_TYPE_MIB)
        return CLONE_GATHERS;
    return operand->visibility != ZYDIS_OPERAND_VISIBILITY_EXPLICIT || !in->raw.modrm.offset ||
                   operand->size > 512 || !operand->size
               ? CLONE_NO_FIELD
               : CLONE_ELIGIBLE;
}

static bool is_access(const ZydisDecodedInstruction *in, const ZydisDecodedOperand *operand)
{
    return operand->type == ZYDIS_OPERAND_TYPE_MEMORY &&
           operand->mem.type != ZYDIS_MEMOP_TYPE_AGEN && in->meta.category != ZYDIS_CATEGORY_NOP &&
           in->meta.category != ZYDIS_CATEGORY_WIDENOP;
}

/* spliced: in a loop that has a stack of its own. */
static enum clone_reason reason_of(const ZydisDecodedInstruction *in,
                                   const ZydisDecodedOperand *operands, bool spliced)
{
    bool stack = spliced && moves_stack(in);
    enum clone_reason reason = stack || in->mnemonic == ZYDIS_MNEMONIC_ENDBR64
                                   ? CLONE_ELIGIBLE
                                   : reason_of_category(in->meta.category);
    if (reason == CLONE_ELIGIBLE)
        reason = reason_of_mnemonic(in->mnemonic);
    if (reason == CLONE_ELIGIBLE && leads_beyond(in, operands))
        reason = CLONE_NO_FIELD;
    for (unsigned k = 0; k < in->operand_count && reason == CLONE_ELIGIBLE; k++)
        if (is_access(in, &operands[k]) &&
            !(stack && operands[k].visibility == ZYDIS_OPERAND_VISIBILITY_HIDDEN))
            reason = reason_of_memory(in, &operands[k]);
    if (reason == CLONE_ELIGIBLE && in->meta.category == ZYDIS_CATEGORY_UNCOND_BR &&
        operands[0].type != ZYDIS_OPERAND_TYPE_IMMEDIATE)
        reason = CLONE_INDIRECT;
    return reason;
}

/* ---- memory operands ---------------------------------------------------------------------------------------- */

/* Forms of before AVX fault on 16 bytes that are not aligned, but for moves that say so; later ones only if they say so. */
static uint16_t alignment_of(const ZydisDecodedInstruction *in, unsigned bytes)
{
    switch (in->mnemonic) {
    case ZYDIS_MNEMONIC_LDDQU:
    case ZYDIS_MNEMONIC_MOVDQU:
    case ZYDIS_MNEMONIC_MOVUPD:
    case ZYDIS_MNEMONIC_MOVUPS:
    case ZYDIS_MNEMONIC_PCMPESTRI:
    case ZYDIS_MNEMONIC_PCMPESTRM:
    case ZYDIS_MNEMONIC_PCMPISTRI:
    case ZYDIS_MNEMONIC_PCMPISTRM: return 1;
    default: break;
    }
    switch (in->meta.exception_class) {
    case ZYDIS_EXCEPTION_CLASS_SSE1:
    case ZYDIS_EXCEPTION_CLASS_SSE2:
    case ZYDIS_EXCEPTION_CLASS_SSE4:
    case ZYDIS_EXCEPTION_CLASS_AVX1:
    case ZYDIS_EXCEPTION_CLASS_E1:
    case ZYDIS_EXCEPTION_CLASS_E1NF: return bytes >= 16 ? (uint16_t)bytes : 1;
    default: return in->encoding == ZYDIS_INSTRUCTION_ENCODING_LEGACY && bytes == 16 ? 16 : 1;
    }
}

static bool add_operand(struct body *body, uint32_t at, unsigned index,
                        const ZydisDecodedInstruction *in, const ZydisDecodedOperand *from)
{
    const struct bounds_operand *operand = &body->code.instructions[at].operands[index];
    bool hints = in->meta.category == ZYDIS_CATEGORY_PREFETCH ||
                 in->meta.category == ZYDIS_CATEGORY_PREFETCHWT1;
    struct operand made = {.instruction = at,
                           .index = (uint8_t)index,
                           .bytes = operand->bits / 8,
                           .alignment = alignment_of(in, operand->bits / 8),
                           .loads = operand->reads || hints,
                           .stores = operand->writes && !hints,
                           .hints = hints,
                           .by_pointer = from->mem.base == ZYDIS_REGISTER_RSP ||
                                         from->visibility == ZYDIS_OPERAND_VISIBILITY_HIDDEN,
                           .relative = from->mem.base == ZYDIS_REGISTER_RIP,
                           .way = NONE,
                           .joined = (uint32_t)body->operand_count,
                           .kept = body->splice && operand->base == BASE_RSP &&
                                   operand->index == BOUNDS_NO_REGISTER && !operand->segment};
    return UTIL_PUSH(body->operands, body->operand_count, body->operand_capacity, made) ||
           out_of_memory(body);
}

bool body_decode(const struct bounds_instruction *instruction, const uint8_t *bytes,
                 ZydisDecodedInstruction *in, ZydisDecodedOperand *operands)
{
    ZydisDecoder decoder;
    ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
    return ZYAN_SUCCESS(ZydisDecoderDecodeFull(&decoder, bytes, instruction->length, in, operands));
}

bool body_leads_out(const struct body *body, uint32_t index)
{
    const struct cfg *graph = body->request->flow;
    const struct cfg_block *block = &graph->blocks[body->blocks[index]];
    for (uint32_t e = 0; e < block->edges; e++)
        if (body_index(body, graph->edges[block->first_edge + e].to) == NONE)
            return true;
    return false;
}

uint32_t body_block_of(const struct body *body, uint32_t instruction)
{
    return (uint32_t)BASE_FIRST(b, body->block_count, body->first[b + 1] > instruction);
}

static bool look_at(struct body *body, uint32_t at)
{
    const struct bounds_instruction *instruction = &body->code.instructions[at];
    ZydisDecodedInstruction in;
    ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];
    if (!body_decode(instruction, bytes_at(body, instruction->address), &in, operands))
        return refuse(body, CLONE_NO_LOOP, instruction->address);
    enum clone_reason reason = reason_of(&in, operands, body->splice);
    bool crosses = body->splice && splice_target(body, body_block_of(body, at), at) != NONE;
    if (reason != CLONE_ELIGIBLE && !crosses)
        return refuse(body, reason, instruction->address);
    for (unsigned k = 0; k < instruction->operand_count; k++) {
        const struct bounds_operand *operand = &instruction->operands[k];
        if (operand->kind == BOUNDS_REGISTER && operand->writes && operand->reg < BOUNDS_VECTOR)
            body->general_written |= 1U << operand->reg;
        if (operand->kind == BOUNDS_MEMORY && is_access(&in, &operands[operand->number]) &&
            !add_operand(body, at, k, &in, &operands[operand->number]))
            return false;
    }
    return !(body->general_written >> BASE_RSP & 1) ||
           refuse(body, CLONE_STACK, instruction->address);
}

static bool is_fixed(const struct body *body, const struct bounds_operand *operand)
{
    uint8_t registers[2] = {operand->base, operand->index};
    for (unsigned i = 0; i < 2; i++)
        if (registers[i] != BOUNDS_NO_REGISTER &&
            (registers[i] >= BOUNDS_VECTOR || body->general_written >> registers[i] & 1))
            return false;
    return true;
}

bool body_collect_nest(struct body *body, uint32_t loop)
{
    if (!collect_blocks(body, loop))
        return false;
    for (uint32_t b = 0; b < body->block_count; b++)
        if (!decode_block(body, b))
            return false;
    return true;
}

bool body_collect(struct body *body)
{
    if (!is_eligible(body->request))
        return refuse(body, CLONE_NO_LOOP, 0);
    if (!body_collect_nest(body, body->request->loop) || (body->splice && !stack_settle(body)))
        return false;
    for (uint32_t i = 0; i < body->code.count; i++)
        if (!look_at(body, i))
            return false;
    if (!body->operand_count)
        return refuse(body, CLONE_NO_ACCESS, 0);
    for (size_t o = 0; o < body->operand_count; o++)
        body->operands[o].fixed = is_fixed(body, operand_of(body, &body->operands[o]));
    body->out->instructions = (uint32_t)body->code.count;
    body->out->blocks = body->block_count;
    body->out->operands = (uint32_t)body->operand_count;
    return true;
}

bool body_is_bound(const struct body *body, uint32_t number)
{
    const struct bounds_instruction *instruction = &body->code.instructions[number];
    ZydisDecodedInstruction in;
    ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];
    if (!body_decode(instruction, bytes_at(body, instruction->address), &in, operands))
        return true;
    enum clone_reason reason = reason_of(&in, operands, false);
    return in.meta.category == ZYDIS_CATEGORY_RET || reason == CLONE_CALLS ||
           reason == CLONE_SYSTEM || reason == CLONE_INDIRECT;
}
