// SPDX-License-Identifier: MIT
/*
 * Decoding: from Zydis' operands to accesses.
 *
 * Workload: some thousand decodes a second at most (forecast caches), each
 * about 0.3 us. Signal-safe, any thread, after isa_start(); the stack use is
 * about 1.5 KiB. Only the two injected functions of Zydis are ever called.
 */
#include "isa/decoder.h"
#include <string.h>

typedef ZyanStatus decoder_init(ZydisDecoder *, ZydisMachineMode, ZydisStackWidth);
typedef ZyanStatus decoder_decode(const ZydisDecoder *, const void *, ZyanUSize,
                                  ZydisDecodedInstruction *, ZydisDecodedOperand *);

static ZydisDecoder decoder;
static decoder_decode *decode_full;

enum base_status isa_start(const void *zydis_decoder_init, const void *zydis_decoder_decode_full)
{
    if (!zydis_decoder_init || !zydis_decoder_decode_full)
        return BASE_UNSUPPORTED;
    ZydisDecoder fresh;
    decoder_init *init = (decoder_init *)(uintptr_t)zydis_decoder_init;
    if (!ZYAN_SUCCESS(init(&fresh, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64)))
        return BASE_UNSUPPORTED;
    decoder = fresh;
    decode_full = (decoder_decode *)(uintptr_t)zydis_decoder_decode_full;
    return BASE_OK;
}

int isa_general_register(ZydisRegister name)
{
    if (name >= ZYDIS_REGISTER_RAX && name <= ZYDIS_REGISTER_R15)
        return (int)(name - ZYDIS_REGISTER_RAX);
    if (name >= ZYDIS_REGISTER_EAX && name <= ZYDIS_REGISTER_R15D)
        return (int)(name - ZYDIS_REGISTER_EAX);
    if (name >= ZYDIS_REGISTER_AX && name <= ZYDIS_REGISTER_R15W)
        return (int)(name - ZYDIS_REGISTER_AX);
    if (name >= ZYDIS_REGISTER_AL && name <= ZYDIS_REGISTER_BL)
        return (int)(name - ZYDIS_REGISTER_AL);
    if (name >= ZYDIS_REGISTER_AH && name <= ZYDIS_REGISTER_BH)
        return (int)(name - ZYDIS_REGISTER_AH);
    if (name >= ZYDIS_REGISTER_SPL && name <= ZYDIS_REGISTER_R15B)
        return (int)(name - ZYDIS_REGISTER_SPL) + BASE_RSP;
    return -1;
}

/* Instructions that name memory without touching it architecturally. */
static bool names_memory_only(ZydisMnemonic mnemonic)
{
    switch (mnemonic) {
    case ZYDIS_MNEMONIC_CLFLUSH:
    case ZYDIS_MNEMONIC_CLFLUSHOPT:
    case ZYDIS_MNEMONIC_CLWB:
    case ZYDIS_MNEMONIC_CLDEMOTE:
    case ZYDIS_MNEMONIC_INVLPG:
    case ZYDIS_MNEMONIC_INVLPGA:
    case ZYDIS_MNEMONIC_LEA:
    case ZYDIS_MNEMONIC_MONITOR:
    case ZYDIS_MNEMONIC_MONITORX:
    case ZYDIS_MNEMONIC_UMONITOR:
    case ZYDIS_MNEMONIC_BNDMK:
    case ZYDIS_MNEMONIC_BNDCL:
    case ZYDIS_MNEMONIC_BNDCN:
    case ZYDIS_MNEMONIC_BNDCU:
    case ZYDIS_MNEMONIC_UD0:
    case ZYDIS_MNEMONIC_UD1: return true;
    default: return false;
    }
}

/* Is the operand memory that is really accessed? (Zydis lists bndstx's without any action.) */
static bool operand_accesses(const struct isa_decoded *decoded, const ZydisDecodedOperand *operand)
{
    if (operand->type != ZYDIS_OPERAND_TYPE_MEMORY || operand->mem.type == ZYDIS_MEMOP_TYPE_AGEN ||
        operand->actions == 0)
        return false;
    switch (decoded->insn.meta.category) {
    case ZYDIS_CATEGORY_NOP:
    case ZYDIS_CATEGORY_WIDENOP:
    case ZYDIS_CATEGORY_PREFETCH:
    case ZYDIS_CATEGORY_PREFETCHWT1: return false;
    default: return !names_memory_only(decoded->insn.mnemonic);
    }
}

static uint8_t flow_of(const ZydisDecodedInstruction *insn)
{
    switch (insn->meta.category) {
    case ZYDIS_CATEGORY_COND_BR:
        return insn->mnemonic == ZYDIS_MNEMONIC_XBEGIN ? ISA_TRAP : ISA_BRANCH;
    case ZYDIS_CATEGORY_UNCOND_BR:
        return insn->mnemonic != ZYDIS_MNEMONIC_JMP ||
                       insn->meta.branch_type == ZYDIS_BRANCH_TYPE_FAR
                   ? ISA_TRAP
                   : ISA_JUMP;
    case ZYDIS_CATEGORY_CALL:
        return insn->mnemonic != ZYDIS_MNEMONIC_CALL ||
                       insn->meta.branch_type == ZYDIS_BRANCH_TYPE_FAR
                   ? ISA_TRAP
                   : ISA_CALL;
    case ZYDIS_CATEGORY_RET:
        return insn->mnemonic != ZYDIS_MNEMONIC_RET ||
                       insn->meta.branch_type == ZYDIS_BRANCH_TYPE_FAR
                   ? ISA_TRAP
                   : ISA_RETURN;
    case ZYDIS_CATEGORY_SYSCALL: return ISA_SYSCALL;
    case ZYDIS_CATEGORY_INTERRUPT:
        return insn->mnemonic == ZYDIS_MNEMONIC_INT ? ISA_SYSCALL : ISA_TRAP;
    case ZYDIS_CATEGORY_SYSRET:
    case ZYDIS_CATEGORY_VTX: return ISA_TRAP;
    default: break;
    }
    switch (insn->mnemonic) {
    case ZYDIS_MNEMONIC_UD0:
    case ZYDIS_MNEMONIC_UD1:
    case ZYDIS_MNEMONIC_UD2:
    case ZYDIS_MNEMONIC_HLT:
    case ZYDIS_MNEMONIC_RSM:
    case ZYDIS_MNEMONIC_XABORT: return ISA_TRAP;
    default: return ISA_NEXT;
    }
}

/* Moves of whole vectors say nothing about what the bits mean: compilers copy integers with movups.
   Logic works on bits as well. Only scalar moves and arithmetic show floating point. */
static bool is_untyped(const ZydisDecodedInstruction *insn)
{
    switch (insn->mnemonic) {
    case ZYDIS_MNEMONIC_MOVAPS:
    case ZYDIS_MNEMONIC_MOVAPD:
    case ZYDIS_MNEMONIC_MOVUPS:
    case ZYDIS_MNEMONIC_MOVUPD:
    case ZYDIS_MNEMONIC_MOVLPS:
    case ZYDIS_MNEMONIC_MOVHPS:
    case ZYDIS_MNEMONIC_MOVNTPS:
    case ZYDIS_MNEMONIC_MOVNTPD:
    case ZYDIS_MNEMONIC_VMOVAPS:
    case ZYDIS_MNEMONIC_VMOVAPD:
    case ZYDIS_MNEMONIC_VMOVUPS:
    case ZYDIS_MNEMONIC_VMOVUPD:
    case ZYDIS_MNEMONIC_VMOVLPS:
    case ZYDIS_MNEMONIC_VMOVHPS:
    case ZYDIS_MNEMONIC_VMOVNTPS:
    case ZYDIS_MNEMONIC_VMOVNTPD:
    case ZYDIS_MNEMONIC_VBROADCASTF128:
    case ZYDIS_MNEMONIC_VBROADCASTF32X2:
    case ZYDIS_MNEMONIC_VBROADCASTF32X4:
    case ZYDIS_MNEMONIC_VBROADCASTF32X8:
    case ZYDIS_MNEMONIC_VBROADCASTF64X2:
    case ZYDIS_MNEMONIC_VBROADCASTF64X4:
    case ZYDIS_MNEMONIC_VINSERTF128:
    case ZYDIS_MNEMONIC_VINSERTF32X4:
    case ZYDIS_MNEMONIC_VINSERTF32X8:
    case ZYDIS_MNEMONIC_VINSERTF64X2:
    case ZYDIS_MNEMONIC_VINSERTF64X4:
    case ZYDIS_MNEMONIC_VEXTRACTF128:
    case ZYDIS_MNEMONIC_VEXTRACTF32X4:
    case ZYDIS_MNEMONIC_VEXTRACTF32X8:
    case ZYDIS_MNEMONIC_VEXTRACTF64X2:
    case ZYDIS_MNEMONIC_VEXTRACTF64X4:
    case ZYDIS_MNEMONIC_VPERM2F128: return true;
    default: return insn->meta.category == ZYDIS_CATEGORY_LOGICAL_FP;
    }
}

/* Zydis gives no element type for these halves of a pair of doubles. */
static bool is_half_of_doubles(const ZydisDecodedInstruction *insn)
{
    return insn->mnemonic == ZYDIS_MNEMONIC_MOVLPD || insn->mnemonic == ZYDIS_MNEMONIC_MOVHPD ||
           insn->mnemonic == ZYDIS_MNEMONIC_VMOVLPD || insn->mnemonic == ZYDIS_MNEMONIC_VMOVHPD;
}

static void set_element(struct isa_access *access, const ZydisDecodedInstruction *insn,
                        const ZydisDecodedOperand *operand)
{
    bool is_float = operand->element_type == ZYDIS_ELEMENT_TYPE_FLOAT16 ||
                    operand->element_type == ZYDIS_ELEMENT_TYPE_FLOAT32 ||
                    operand->element_type == ZYDIS_ELEMENT_TYPE_FLOAT64 ||
                    operand->element_type == ZYDIS_ELEMENT_TYPE_FLOAT80 || is_half_of_doubles(insn);
    unsigned element = operand->element_size / 8;
    if (is_float && !is_untyped(insn) && element && access->bytes % element == 0) {
        access->element = ISA_FLOAT;
        access->element_bytes = (uint8_t)element;
        return;
    }
    access->element = ISA_INTEGER;
    access->element_bytes = 8; /* the largest power of two that divides the access */
    while (access->bytes % access->element_bytes)
        access->element_bytes /= 2;
}

/* Addresses that the access form base + index*scale + displacement cannot express. */
static bool is_unaddressable(const struct isa_decoded *decoded, const ZydisDecodedOperand *operand)
{
    if (operand->mem.type != ZYDIS_MEMOP_TYPE_MEM && operand->mem.type != ZYDIS_MEMOP_TYPE_AGEN)
        return true;
    switch (decoded->insn.mnemonic) {
    case ZYDIS_MNEMONIC_BT: /* a register offset selects among 2^64 bits */
    case ZYDIS_MNEMONIC_BTS:
    case ZYDIS_MNEMONIC_BTR:
    case ZYDIS_MNEMONIC_BTC: return decoded->operands[1].type == ZYDIS_OPERAND_TYPE_REGISTER;
    case ZYDIS_MNEMONIC_TILELOADD:
    case ZYDIS_MNEMONIC_TILELOADDT1:
    case ZYDIS_MNEMONIC_TILESTORED: return true;
    default:
        return decoded->insn.meta.category == ZYDIS_CATEGORY_XSAVE ||
               decoded->insn.meta.category == ZYDIS_CATEGORY_XSAVEOPT ||
               decoded->insn.meta.category == ZYDIS_CATEGORY_MPX;
    }
}

static bool is_masked(const struct isa_decoded *decoded)
{
    switch (decoded->insn.mnemonic) {
    case ZYDIS_MNEMONIC_MASKMOVDQU:
    case ZYDIS_MNEMONIC_MASKMOVQ:
    case ZYDIS_MNEMONIC_VMASKMOVDQU:
    case ZYDIS_MNEMONIC_VMASKMOVPS:
    case ZYDIS_MNEMONIC_VMASKMOVPD:
    case ZYDIS_MNEMONIC_VPMASKMOVD:
    case ZYDIS_MNEMONIC_VPMASKMOVQ: return true;
    default: {
        /* A masked comparison or expansion still suppresses the elements it does not need. */
        ZydisMaskMode mode = decoded->insn.avx.mask.mode;
        ZydisRegister mask = decoded->insn.avx.mask.reg;
        return decoded->insn.encoding == ZYDIS_INSTRUCTION_ENCODING_EVEX &&
               mode != ZYDIS_MASK_MODE_INVALID && mode != ZYDIS_MASK_MODE_DISABLED &&
               mask > ZYDIS_REGISTER_K0 && mask <= ZYDIS_REGISTER_K7;
    }
    }
}

/* Zydis gives stack operands as [rsp]; the registers of an access are those before the instruction,
   so a push is below, and a pop into [rsp+x] computes its address after the pop. */
static void adjust_stack(struct isa_access *access, const struct isa_decoded *decoded,
                         const ZydisDecodedOperand *operand)
{
    if (access->base != BASE_RSP)
        return;
    bool hidden = operand->visibility == ZYDIS_OPERAND_VISIBILITY_HIDDEN;
    if (hidden && access->direction == ISA_STORE)
        access->displacement -= access->bytes;
    else if (!hidden && decoded->insn.mnemonic == ZYDIS_MNEMONIC_POP)
        access->displacement += access->bytes;
}

static void fill_access(struct isa_access *access, const struct isa_decoded *decoded,
                        const ZydisDecodedOperand *operand, uint64_t address)
{
    const ZydisDecodedOperandMem *mem = &operand->mem;
    memset(access, 0, sizeof(*access));
    if (operand->actions & ZYDIS_OPERAND_ACTION_MASK_READ)
        access->direction |= ISA_LOAD;
    if (operand->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE)
        access->direction |= ISA_STORE;
    access->base = (int8_t)isa_general_register(mem->base);
    access->index = (int8_t)isa_general_register(mem->index);
    access->scale = access->index >= 0 ? mem->scale : 0;
    access->displacement = mem->disp.has_displacement ? mem->disp.value : 0;
    access->address_bits = decoded->insn.address_width == 32 ? 32 : 64;
    if (mem->base == ZYDIS_REGISTER_RIP || mem->base == ZYDIS_REGISTER_EIP)
        access->displacement += (int64_t)(address + decoded->insn.length);
    if (mem->segment == ZYDIS_REGISTER_FS)
        access->segment = 1;
    else if (mem->segment == ZYDIS_REGISTER_GS)
        access->segment = 2;
    access->bytes = operand->size >= 8 ? operand->size / 8 : 1;
    access->unaddressable = is_unaddressable(decoded, operand);
    access->conditional = is_masked(decoded);
    if (decoded->insn.mnemonic == ZYDIS_MNEMONIC_XLAT) {
        access->index = BASE_RAX; /* of which only al counts: see isa_effective_address */
        access->scale = 1;
    }
    set_element(access, &decoded->insn, operand);
    adjust_stack(access, decoded, operand);
}

static bool is_compare_exchange(ZydisMnemonic mnemonic)
{
    return mnemonic == ZYDIS_MNEMONIC_CMPXCHG || mnemonic == ZYDIS_MNEMONIC_CMPXCHG8B ||
           mnemonic == ZYDIS_MNEMONIC_CMPXCHG16B;
}

/* In the order of execution: what is read comes before what is only written. */
static void fill_accesses(struct isa_insn *insn, const struct isa_decoded *decoded,
                          int8_t access_of[ZYDIS_MAX_OPERAND_COUNT])
{
    for (int stores = 0; stores < 2; stores++) {
        for (unsigned i = 0; i < decoded->insn.operand_count; i++) {
            const ZydisDecodedOperand *operand = &decoded->operands[i];
            bool reads = operand->actions & ZYDIS_OPERAND_ACTION_MASK_READ;
            if (reads == (stores == 1) || !operand_accesses(decoded, operand) ||
                insn->access_count == ISA_MAX_ACCESSES)
                continue;
            access_of[i] = (int8_t)insn->access_count;
            fill_access(&insn->accesses[insn->access_count++], decoded, operand, insn->address);
        }
    }
    if (is_compare_exchange(decoded->insn.mnemonic) && insn->access_count == 1) {
        insn->accesses[1] = insn->accesses[0];
        insn->accesses[0].direction = ISA_LOAD;
        insn->accesses[1].direction = ISA_STORE;
        insn->accesses[1].conditional = true;
        insn->access_count = 2;
    }
}

static void fill_written(struct isa_insn *insn, const struct isa_decoded *decoded)
{
    for (unsigned i = 0; i < decoded->insn.operand_count; i++) {
        const ZydisDecodedOperand *operand = &decoded->operands[i];
        if (operand->type != ZYDIS_OPERAND_TYPE_REGISTER ||
            !(operand->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE))
            continue;
        int number = isa_general_register(operand->reg.value);
        if (number >= 0)
            insn->written |= UINT32_C(1) << number;
    }
    if (decoded->insn.meta.category != ZYDIS_CATEGORY_STRINGOP)
        return;
    /* Zydis leaves some pointer updates of string instructions out. */
    for (unsigned i = 0; i < insn->access_count; i++)
        insn->written |= UINT32_C(1) << insn->accesses[i].base;
    if (insn->repeated)
        insn->written |= UINT32_C(1) << BASE_RCX;
}

static uint64_t direct_target(const struct isa_decoded *decoded, uint64_t address)
{
    const ZydisDecodedOperand *operand = &decoded->operands[0];
    if (decoded->insn.operand_count == 0 || operand->type != ZYDIS_OPERAND_TYPE_IMMEDIATE ||
        !operand->imm.is_relative)
        return 0;
    return address + decoded->insn.length + operand->imm.value.u;
}

static enum base_status decode(const uint8_t *code, size_t available, uint64_t address,
                               struct isa_insn *insn, struct isa_operation *operation,
                               struct isa_effects *effects)
{
    if (!decode_full)
        return BASE_UNSUPPORTED;
    struct isa_decoded decoded;
    size_t length = available < ISA_MAX_LENGTH ? available : ISA_MAX_LENGTH;
    if (!ZYAN_SUCCESS(decode_full(&decoder, code, length, &decoded.insn, decoded.operands)))
        return BASE_MALFORMED;
    struct isa_insn out;
    memset(&out, 0, sizeof(out));
    out.address = address;
    out.length = decoded.insn.length;
    out.mnemonic = (uint16_t)decoded.insn.mnemonic;
    out.flow = flow_of(&decoded.insn);
    out.repeated = (decoded.insn.attributes &
                    (ZYDIS_ATTRIB_HAS_REP | ZYDIS_ATTRIB_HAS_REPE | ZYDIS_ATTRIB_HAS_REPNE)) &&
                   decoded.insn.meta.category == ZYDIS_CATEGORY_STRINGOP;
    if (out.flow == ISA_JUMP || out.flow == ISA_BRANCH || out.flow == ISA_CALL) {
        out.target = direct_target(&decoded, address);
        out.indirect = decoded.operands[0].type != ZYDIS_OPERAND_TYPE_IMMEDIATE;
    }
    int8_t access_of[ZYDIS_MAX_OPERAND_COUNT];
    memset(access_of, -1, sizeof(access_of));
    fill_accesses(&out, &decoded, access_of);
    fill_written(&out, &decoded);
    if (decoded.insn.mnemonic == ZYDIS_MNEMONIC_LEA)
        fill_access(&out.accesses[0], &decoded, &decoded.operands[1], address);
    if (operation)
        isa_describe(&decoded, access_of, operation);
    if (effects)
        isa_effects_of(&decoded, &out, effects);
    *insn = out;
    return BASE_OK;
}

enum base_status isa_decode_operation(const uint8_t *code, size_t available, uint64_t address,
                                      struct isa_insn *insn, struct isa_operation *operation)
{
    return decode(code, available, address, insn, operation, NULL);
}

enum base_status isa_decode_effects(const uint8_t *code, size_t available, uint64_t address,
                                    struct isa_insn *insn, struct isa_effects *effects)
{
    return decode(code, available, address, insn, NULL, effects);
}

enum base_status isa_decode_whole(const uint8_t *code, size_t available, uint64_t address,
                                  struct isa_insn *insn, struct isa_operation *operation,
                                  struct isa_effects *effects)
{
    return decode(code, available, address, insn, operation, effects);
}

enum base_status isa_decode(const uint8_t *code, size_t available, uint64_t address,
                            struct isa_insn *insn)
{
    return decode(code, available, address, insn, NULL, NULL);
}

bool isa_effective_address(const struct isa_insn *insn, const struct isa_access *access,
                           const struct base_registers *registers, uint64_t *address)
{
    if (access->unaddressable)
        return false;
    uint64_t sum = (uint64_t)access->displacement;
    if (access->base >= 0)
        sum += registers->general[access->base];
    if (access->index >= 0) {
        uint64_t index = registers->general[access->index];
        if (insn->mnemonic == ZYDIS_MNEMONIC_XLAT)
            index &= 0xff;
        sum += index * access->scale;
    }
    if (access->address_bits == 32)
        sum = (uint32_t)sum;
    if (access->segment)
        sum += access->segment == 1 ? registers->fs_base : registers->gs_base;
    *address = sum;
    return true;
}
