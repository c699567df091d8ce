// SPDX-License-Identifier: MIT
/* What an instruction reads and writes of registers and flags, for liveness and where values come from. */
#include "isa/decoder.h"

static uint32_t bit_of(ZydisRegister name)
{
    int number = isa_general_register(name);
    return number < 0 ? 0 : UINT32_C(1) << number;
}

/* Of a vector register with itself; with VEX the sources are the second and third operand. */
static bool is_zeroing_vector(const struct isa_decoded *decoded)
{
    const ZydisDecodedOperand *operands = decoded->operands;
    switch (decoded->insn.mnemonic) {
    case ZYDIS_MNEMONIC_PXOR:
    case ZYDIS_MNEMONIC_XORPS:
    case ZYDIS_MNEMONIC_XORPD: return operands[0].reg.value == operands[1].reg.value;
    case ZYDIS_MNEMONIC_VPXOR:
    case ZYDIS_MNEMONIC_VXORPS:
    case ZYDIS_MNEMONIC_VXORPD: return operands[1].reg.value == operands[2].reg.value;
    default: return false;
    }
}

/* xor and sub of a register with itself make zero of anything. */
static bool is_zeroing(const struct isa_decoded *decoded)
{
    const ZydisDecodedOperand *operands = decoded->operands;
    return (decoded->insn.mnemonic == ZYDIS_MNEMONIC_XOR ||
            decoded->insn.mnemonic == ZYDIS_MNEMONIC_SUB) &&
           operands[0].type == ZYDIS_OPERAND_TYPE_REGISTER &&
           operands[1].type == ZYDIS_OPERAND_TYPE_REGISTER &&
           operands[0].reg.value == operands[1].reg.value && operands[0].size >= 32;
}

static void add_register(struct isa_effects *effects, const ZydisDecodedOperand *operand)
{
    uint32_t bit = bit_of(operand->reg.value);
    bool writes = operand->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE;
    uint8_t vector, bytes;
    bool keeps = operand->size < 32 || operand->actions & ZYDIS_OPERAND_ACTION_CONDWRITE;
    if (writes)
        effects->writes |= bit;
    if (operand->actions & ZYDIS_OPERAND_ACTION_MASK_READ || (writes && keeps))
        effects->reads |= bit;
    if (!isa_vector_register(operand->reg.value, &vector, &bytes))
        return;
    if (writes)
        effects->vectors_written |= UINT32_C(1) << vector;
    if (operand->actions & (ZYDIS_OPERAND_ACTION_MASK_READ | ZYDIS_OPERAND_ACTION_CONDWRITE))
        effects->vectors_read |= UINT32_C(1) << vector;
}

static void add_operands(const struct isa_decoded *decoded, struct isa_effects *effects)
{
    if (decoded->insn.meta.category == ZYDIS_CATEGORY_NOP ||
        decoded->insn.meta.category == ZYDIS_CATEGORY_WIDENOP)
        return; /* names registers and memory to be long */
    for (unsigned i = 0; i < decoded->insn.operand_count; i++) {
        const ZydisDecodedOperand *operand = &decoded->operands[i];
        if (operand->type == ZYDIS_OPERAND_TYPE_REGISTER)
            add_register(effects, operand);
        else if (operand->type == ZYDIS_OPERAND_TYPE_MEMORY)
            effects->reads |= bit_of(operand->mem.base) | bit_of(operand->mem.index);
    }
}

/* What Zydis' operands do not show. */
static void add_special(const struct isa_decoded *decoded, const struct isa_insn *insn,
                        struct isa_effects *effects)
{
    effects->writes |= insn->written;
    if (insn->repeated) /* a count of zero changes nothing */
        effects->reads |= effects->writes;
    switch (decoded->insn.mnemonic) {
    case ZYDIS_MNEMONIC_BSF: /* keep their destination if the source is zero */
    case ZYDIS_MNEMONIC_BSR: effects->reads |= bit_of(decoded->operands[0].reg.value); break;
    case ZYDIS_MNEMONIC_LEAVE:
        effects->reads |= 1u << BASE_RBP;
        effects->writes |= 1u << BASE_RBP | 1u << BASE_RSP;
        break;
    case ZYDIS_MNEMONIC_XLAT: effects->reads |= 1u << BASE_RAX | 1u << BASE_RBX; break;
    case ZYDIS_MNEMONIC_PUSHFQ:
    case ZYDIS_MNEMONIC_PUSHF:
    case ZYDIS_MNEMONIC_SYSCALL: effects->flags_read = ISA_FLAGS; break;
    default: break;
    }
    if (is_zeroing(decoded))
        effects->reads &= ~bit_of(decoded->operands[0].reg.value);
    if (is_zeroing_vector(decoded))
        effects->vectors_read = 0;
}

/* Shifts by nothing leave the flags alone. */
static bool may_keep_flags(const struct isa_decoded *decoded, const struct isa_insn *insn)
{
    switch (decoded->insn.meta.category) {
    case ZYDIS_CATEGORY_SHIFT:
    case ZYDIS_CATEGORY_ROTATE: break;
    default: return insn->repeated;
    }
    if (decoded->insn.encoding != ZYDIS_INSTRUCTION_ENCODING_LEGACY)
        return false; /* of BMI: without flags */
    for (unsigned i = 0; i < decoded->insn.operand_count; i++) {
        const ZydisDecodedOperand *operand = &decoded->operands[i];
        if (operand->type == ZYDIS_OPERAND_TYPE_IMMEDIATE)
            return (operand->imm.value.u & (decoded->operands[0].size == 64 ? 63 : 31)) == 0;
    }
    return true;
}

static void add_flags(const struct isa_decoded *decoded, const struct isa_insn *insn,
                      struct isa_effects *effects)
{
    const ZydisAccessedFlags *flags = decoded->insn.cpu_flags;
    if (!flags)
        return;
    effects->flags_read |= flags->tested & ISA_FLAGS;
    effects->flags_written =
        (flags->modified | flags->set_0 | flags->set_1 | flags->undefined) & ISA_FLAGS;
    effects->flags_killed = may_keep_flags(decoded, insn) ? 0 : effects->flags_written;
}

void isa_effects_of(const struct isa_decoded *decoded, const struct isa_insn *insn,
                    struct isa_effects *effects)
{
    *effects = (struct isa_effects){0};
    add_operands(decoded, effects);
    add_special(decoded, insn, effects);
    add_flags(decoded, insn, effects);
}
