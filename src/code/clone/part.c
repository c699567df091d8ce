// SPDX-License-Identifier: MIT
/*
 * A part of what the loop does. LS: loads and stores, and what branches and addresses need; arithmetic with an operand in memory becomes a load of as many
 * bytes into the same register, and the rest is left out. FP: no loads and stores but those that branches need; arithmetic with an
 * operand in memory has a register in its place, and what only loads becomes a move from one, which begins a new chain of dependences as
 * the load does. These registers are free ones, loaded with what the loop would load first, because how long a division takes depends on
 * its values.
 *
 * Instructions that have no such form stay as they are in LS, and are left out of FP: nothing that decides where control goes depends on them.
 */
#include "clone/internal.h"

#include <stdlib.h>
#include <string.h>

enum {
    PLACEHOLDER = 0x12345678
}; /* no 8 bits, nor a multiple of an operand's size that they hold */

/* ---- encoding ------------------------------------------------------------------------------------------------- */

/* Appends. False: there is no such instruction. */
static bool append(const ZydisEncoderRequest *request, struct encoded *encoded)
{
    ZydisDecodedInstruction in;
    ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];
    ZydisDecoder decoder;
    uint8_t *bytes = encoded->bytes + encoded->count;
    ZyanUSize count = ZYDIS_MAX_INSTRUCTION_LENGTH;
    ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
    if (!ZYAN_SUCCESS(ZydisEncoderEncodeInstruction(request, bytes, &count)) ||
        !ZYAN_SUCCESS(ZydisDecoderDecodeFull(&decoder, bytes, count, &in, operands)) ||
        in.mnemonic != request->mnemonic)
        return false;
    for (unsigned k = 0; k < request->operand_count; k++)
        if (request->operands[k].type == ZYDIS_OPERAND_TYPE_MEMORY) {
            if (in.raw.disp.size != 32)
                return false;
            encoded->yard_at = encoded->count + in.raw.disp.offset;
        }
    encoded->count += (unsigned)count;
    return true;
}

static void set_memory(ZydisEncoderOperand *operand, ZydisRegister base, unsigned scale,
                       unsigned bytes)
{
    *operand = (ZydisEncoderOperand){.type = ZYDIS_OPERAND_TYPE_MEMORY};
    operand->mem.base = scale == 1 ? base : ZYDIS_REGISTER_NONE;
    operand->mem.index = scale > 1 ? base : ZYDIS_REGISTER_NONE;
    operand->mem.scale = (ZyanU8)(scale > 1 ? scale : 0);
    operand->mem.displacement = PLACEHOLDER;
    operand->mem.size = (ZyanU16)bytes;
}

static void set_register(ZydisEncoderOperand *operand, ZydisRegister reg)
{
    *operand = (ZydisEncoderOperand){.type = ZYDIS_OPERAND_TYPE_REGISTER};
    operand->reg.value = reg;
}

static ZydisEncoderRequest new_request(ZydisMnemonic mnemonic)
{
    return (ZydisEncoderRequest){
        .machine_mode = ZYDIS_MACHINE_MODE_LONG_64, .mnemonic = mnemonic, .operand_count = 2};
}

static bool request_of(const ZydisDecodedInstruction *in, const ZydisDecodedOperand *operands,
                       ZydisEncoderRequest *request)
{
    if (!ZYAN_SUCCESS(ZydisEncoderDecodedInstructionToEncoderRequest(
            in, operands, in->operand_count_visible, request)))
        return false;
    request->prefixes &=
        ~(ZydisInstructionAttributes)(ZYDIS_ATTRIB_HAS_SEGMENT | ZYDIS_ATTRIB_HAS_SEGMENT_DS);
    return true;
}

static ZydisRegister general(unsigned reg, unsigned bytes)
{
    static const ZydisRegisterClass classes[] = {[1] = ZYDIS_REGCLASS_GPR8,
                                                 [2] = ZYDIS_REGCLASS_GPR16,
                                                 [4] = ZYDIS_REGCLASS_GPR32,
                                                 [8] = ZYDIS_REGCLASS_GPR64};
    if (bytes >= BASE_COUNT(classes) || !classes[bytes])
        return ZYDIS_REGISTER_NONE;
    /* Of bytes, 4 to 7 are ah to bh, and what follows spl to dil. */
    return ZydisRegisterEncode(classes[bytes], (ZyanU8)(bytes == 1 && reg > 3 ? reg + 4 : reg));
}

static ZydisRegister vector(unsigned reg, unsigned bytes)
{
    return ZydisRegisterEncode(bytes > 32   ? ZYDIS_REGCLASS_ZMM
                               : bytes > 16 ? ZYDIS_REGCLASS_YMM
                                            : ZYDIS_REGCLASS_XMM,
                               (ZyanU8)reg);
}

static int64_t line_of(const struct operand *operand)
{
    return (int64_t)(offsetof(struct wire_clone_yard, lines) + operand->at[0]);
}

bool part_walks(const struct body *body, const struct operand *operand, unsigned copy,
                const ZydisDecodedInstruction *in, const ZydisDecodedOperand *operands,
                struct encoded *encoded)
{
    ZydisEncoderRequest request;
    unsigned number = operand_of(body, operand)->number;
    if (!request_of(in, operands, &request) || number >= request.operand_count)
        return false;
    set_memory(&request.operands[number], general(body->walks[operand->walk].reg, 8),
               operand->scale, request.operands[number].mem.size);
    encoded->yard = (int64_t)WIRE_CLONE_WALK_AT + operand->place + operand->step * copy;
    return append(&request, encoded);
}

/* ---- what instructions are --------------------------------------------------------------------------------------- */

static bool only_moves(const ZydisDecodedInstruction *in)
{
    switch (in->mnemonic) {
    case ZYDIS_MNEMONIC_LDDQU:
    case ZYDIS_MNEMONIC_VLDDQU:
    case ZYDIS_MNEMONIC_MOVDDUP:
    case ZYDIS_MNEMONIC_VMOVDDUP:
    case ZYDIS_MNEMONIC_MOVSHDUP:
    case ZYDIS_MNEMONIC_VMOVSHDUP:
    case ZYDIS_MNEMONIC_MOVSLDUP:
    case ZYDIS_MNEMONIC_VMOVSLDUP: return true;
    default:
        return in->meta.category == ZYDIS_CATEGORY_DATAXFER ||
               in->meta.category == ZYDIS_CATEGORY_BROADCAST;
    }
}

/* The register that an instruction writes; NONE: none that is named. */
static ZydisRegister written(const ZydisDecodedInstruction *in, const ZydisDecodedOperand *operands)
{
    for (unsigned k = 0; k < in->operand_count_visible; k++)
        if (operands[k].type == ZYDIS_OPERAND_TYPE_REGISTER &&
            operands[k].actions & ZYDIS_OPERAND_ACTION_MASK_WRITE)
            return operands[k].reg.value;
    return ZYDIS_REGISTER_NONE;
}

static unsigned bytes_of(ZydisRegister reg)
{
    return ZydisRegisterGetWidth(ZYDIS_MACHINE_MODE_LONG_64, reg) / 8U;
}

static bool is_general(ZydisRegister reg)
{
    ZydisRegisterClass of = ZydisRegisterGetClass(reg);
    return of >= ZYDIS_REGCLASS_GPR8 && of <= ZYDIS_REGCLASS_GPR64;
}

static bool is_vector(ZydisRegister reg)
{
    ZydisRegisterClass of = ZydisRegisterGetClass(reg);
    return of >= ZYDIS_REGCLASS_XMM && of <= ZYDIS_REGCLASS_ZMM;
}

static unsigned whole_number(ZydisRegister reg)
{
    ZydisRegister whole = ZydisRegisterGetLargestEnclosing(ZYDIS_MACHINE_MODE_LONG_64, reg);
    return (unsigned)ZydisRegisterGetId(whole == ZYDIS_REGISTER_NONE ? reg : whole);
}

static bool is_wide(const ZydisDecodedInstruction *in)
{
    return in->encoding == ZYDIS_INSTRUCTION_ENCODING_VEX ||
           in->encoding == ZYDIS_INSTRUCTION_ENCODING_EVEX ||
           in->encoding == ZYDIS_INSTRUCTION_ENCODING_XOP;
}

/* ---- loads and stores --------------------------------------------------------------------------------------------- */

static ZydisMnemonic vector_load(unsigned bytes, bool wide)
{
    switch (bytes) {
    case 4: return wide ? ZYDIS_MNEMONIC_VMOVSS : ZYDIS_MNEMONIC_MOVSS;
    case 8: return wide ? ZYDIS_MNEMONIC_VMOVSD : ZYDIS_MNEMONIC_MOVSD;
    case 16:
    case 32:
    case 64: return wide ? ZYDIS_MNEMONIC_VMOVUPS : ZYDIS_MNEMONIC_MOVUPS;
    default: return ZYDIS_MNEMONIC_INVALID;
    }
}

static bool load_into(ZydisRegister to, const struct operand *operand, bool wide,
                      struct encoded *encoded)
{
    ZydisEncoderRequest request = new_request(ZYDIS_MNEMONIC_INVALID);
    unsigned number = whole_number(to);
    if (is_vector(to)) {
        request.mnemonic = vector_load(operand->bytes, wide || number > 15);
        set_register(&request.operands[0], vector(number, operand->bytes));
    } else if (is_general(to)) {
        request.mnemonic = operand->bytes < 4 ? ZYDIS_MNEMONIC_MOVZX : ZYDIS_MNEMONIC_MOV;
        set_register(&request.operands[0],
                     general(number, operand->bytes < 4 ? 4 : operand->bytes));
    }
    set_memory(&request.operands[1], ZYDIS_REGISTER_NONE, 1, operand->bytes);
    encoded->yard = line_of(operand);
    return request.mnemonic != ZYDIS_MNEMONIC_INVALID && append(&request, encoded);
}

static enum part loads_and_stores(const struct body *body, uint32_t number,
                                  const struct operand *operand, const ZydisDecodedInstruction *in,
                                  const ZydisDecodedOperand *operands, struct encoded *encoded)
{
    if (body->needed[number])
        return PART_SAME;
    if (!operand)
        return PART_NONE;
    if (operand->hints || operand->stores || only_moves(in))
        return PART_SAME;
    return load_into(written(in, operands), operand, is_wide(in), encoded) ? PART_ENCODED
                                                                           : PART_SAME;
}

/* ---- arithmetic ---------------------------------------------------------------------------------------------------- */

/* Anything, without waiting for what was there. */
static bool set_new(ZydisRegister to, struct encoded *encoded)
{
    ZydisEncoderRequest request = new_request(ZYDIS_MNEMONIC_MOV);
    set_register(&request.operands[0], general(whole_number(to), 4));
    request.operands[1] = (ZydisEncoderOperand){.type = ZYDIS_OPERAND_TYPE_IMMEDIATE};
    request.operands[1].imm.u = 1;
    return append(&request, encoded);
}

static bool move_constant(const struct operand *operand, ZydisRegister to, bool wide,
                          struct encoded *encoded)
{
    unsigned number = whole_number(to), bytes = bytes_of(to);
    ZydisEncoderRequest request =
        new_request(wide || number > 15 ? ZYDIS_MNEMONIC_VMOVAPS : ZYDIS_MNEMONIC_MOVAPS);
    set_register(&request.operands[0], vector(number, bytes));
    set_register(&request.operands[1], vector(operand->constant, bytes));
    return append(&request, encoded);
}

/* The instruction with that register in place of its operand in memory. */
static bool with_register(const struct body *body, const struct operand *operand, ZydisRegister reg,
                          const ZydisDecodedInstruction *in, const ZydisDecodedOperand *operands,
                          struct encoded *encoded)
{
    ZydisEncoderRequest request;
    unsigned number = operand_of(body, operand)->number;
    if (reg == ZYDIS_REGISTER_NONE || !request_of(in, operands, &request) ||
        number >= request.operand_count)
        return false;
    request.evex.broadcast = ZYDIS_BROADCAST_MODE_INVALID;
    set_register(&request.operands[number], reg);
    return append(&request, encoded);
}

static bool in_registers(const struct body *body, const struct operand *operand,
                         const ZydisDecodedInstruction *in, const ZydisDecodedOperand *operands,
                         struct encoded *encoded)
{
    ZydisRegister to = written(in, operands), scratch = general(body->scratch, operand->bytes);
    unsigned bytes[] = {operand->bytes, is_vector(to) ? bytes_of(to) : 16};
    for (unsigned i = 0; operand->constant != BOUNDS_NO_REGISTER && i < BASE_COUNT(bytes); i++)
        if (with_register(body, operand, vector(operand->constant, bytes[i]), in, operands,
                          encoded))
            return true;
    return body->scratch != BOUNDS_NO_REGISTER &&
           with_register(body, operand, scratch, in, operands, encoded);
}

static enum part arithmetic(struct body *body, uint32_t number, const struct operand *operand,
                            const ZydisDecodedInstruction *in, const ZydisDecodedOperand *operands,
                            struct encoded *encoded)
{
    ZydisRegister to = written(in, operands);
    if (!operand || body->needed[number])
        return PART_SAME;
    if (operand->hints || (operand->stores && !operand->loads) ||
        in->attributes & ZYDIS_ATTRIB_HAS_LOCK)
        return PART_NONE;
    if (operand->stores) {
        ZydisRegister scratch = general(body->scratch, operand->bytes);
        if (body->scratch == BOUNDS_NO_REGISTER)
            return PART_FAILED;
        return set_new(scratch, encoded) &&
                       with_register(body, operand, scratch, in, operands, encoded)
                   ? PART_ENCODED
                   : PART_NONE;
    }
    if (!only_moves(in) && in_registers(body, operand, in, operands, encoded))
        return PART_ENCODED;
    if (is_general(to))
        return set_new(to, encoded) ? PART_ENCODED : PART_NONE;
    if (!is_vector(to))
        return PART_NONE;
    if (operand->constant == BOUNDS_NO_REGISTER)
        return PART_FAILED;
    return move_constant(operand, to, is_wide(in), encoded) ? PART_ENCODED : PART_NONE;
}

enum part part_of(struct body *body, uint32_t number, const struct operand *operand,
                  const ZydisDecodedInstruction *in, const ZydisDecodedOperand *operands,
                  struct encoded *encoded)
{
    *encoded = (struct encoded){.count = 0};
    return body->variant == CLONE_LS
               ? loads_and_stores(body, number, operand, in, operands, encoded)
               : arithmetic(body, number, operand, in, operands, encoded);
}

/* ---- registers ------------------------------------------------------------------------------------------------------ */

bool part_constant(const struct body *body, const struct operand *operand, struct encoded *encoded)
{
    ZydisEncoderRequest request =
        new_request(body->wide ? ZYDIS_MNEMONIC_VMOVUPS : ZYDIS_MNEMONIC_MOVUPS);
    unsigned bytes = operand->bytes > 32 ? 64 : body->wide ? 32 : 16;
    *encoded = (struct encoded){.yard = line_of(operand)};
    set_register(&request.operands[0], vector(operand->constant, bytes));
    set_memory(&request.operands[1], ZYDIS_REGISTER_NONE, 1, bytes);
    return append(&request, encoded);
}

/* One each, as long as there are some; then those of operands of the same size. */
static void share_out(struct body *body)
{
    uint32_t free_vectors = live_free(body, true);
    for (size_t o = 0; o < body->operand_count; o++) {
        struct operand *operand = &body->operands[o];
        operand->constant = BOUNDS_NO_REGISTER;
        if (!operand->loads || operand->hints)
            continue;
        if (free_vectors) {
            operand->constant = (uint8_t)__builtin_ctz(free_vectors);
            free_vectors &= free_vectors - 1;
            continue;
        }
        for (size_t other = 0; other < o; other++)
            if (body->operands[other].constant != BOUNDS_NO_REGISTER &&
                (operand->constant == BOUNDS_NO_REGISTER ||
                 body->operands[other].bytes == operand->bytes))
                operand->constant = body->operands[other].constant;
    }
}

bool part_begin(struct body *body)
{
    bool head[BOUNDS_REGISTERS];
    uint32_t free_registers = live_free(body, false);
    body->scratch =
        free_registers ? (uint8_t)(31 - __builtin_clz(free_registers)) : BOUNDS_NO_REGISTER;
    body->wide = false;
    for (uint32_t i = 0; i < body->code.count; i++) {
        const struct bounds_instruction *instruction = &body->code.instructions[i];
        ZydisDecodedInstruction in;
        ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];
        if (body_decode(instruction, bytes_at(body, instruction->address), &in, operands))
            body->wide |= is_wide(&in);
    }
    share_out(body);
    return live_find(body, body->variant == CLONE_LS ? ROOTS_ADDRESSES : ROOTS_BRANCHES,
                     &body->needed, head, NULL);
}
