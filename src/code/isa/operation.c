// SPDX-License-Identifier: MIT
/*
 * What instructions compute, translated from Zydis' names to isa_operation.
 * Only instructions that carry addresses and branch decisions are named: the
 * integer core, and the vector idioms by which string functions find bytes.
 *
 * Signal-safe, no state.
 */
#include "isa/decoder.h"
#include <string.h>

/* Code and, for vectors, element width. */
struct named {
    uint8_t code, element_bytes;
};

#define CASE(name, operation)                                                                      \
    case ZYDIS_MNEMONIC_##name:                                                                    \
        return (struct named)                                                                      \
        {                                                                                          \
            ISA_DO_##operation, 0                                                                  \
        }
#define CASE_OF(name, operation, bytes)                                                            \
    case ZYDIS_MNEMONIC_##name:                                                                    \
        return (struct named)                                                                      \
        {                                                                                          \
            ISA_DO_##operation, bytes                                                              \
        }

static struct named name_integer(ZydisMnemonic mnemonic)
{
    switch (mnemonic) {
        CASE(MOV, MOVE);
        CASE(MOVZX, MOVE);
        CASE(MOVNTI, MOVE);
        CASE(MOVDIRI, MOVE);
        CASE(MOVSX, MOVE_SIGNED);
        CASE(MOVSXD, MOVE_SIGNED);
        CASE(CBW, MOVE_SIGNED);
        CASE(CWDE, MOVE_SIGNED);
        CASE(CDQE, MOVE_SIGNED);
        CASE(MOVBE, MOVE_SWAPPED);
        CASE(LEA, ADDRESS);
        CASE(ADD, ADD);
        CASE(ADC, ADC);
        CASE(SUB, SUB);
        CASE(SBB, SBB);
        CASE(CMP, CMP);
        CASE(INC, INC);
        CASE(DEC, DEC);
        CASE(NEG, NEG);
        CASE(NOT, NOT);
        CASE(AND, AND);
        CASE(OR, OR);
        CASE(XOR, XOR);
        CASE(TEST, TEST);
        CASE(ANDN, ANDN);
        CASE(SHL, SHL);
        CASE(SHR, SHR);
        CASE(SAR, SAR);
        CASE(ROL, ROL);
        CASE(ROR, ROR);
        CASE(SHLD, SHLD);
        CASE(SHRD, SHRD);
        CASE(SHLX, SHLX);
        CASE(SHRX, SHRX);
        CASE(SARX, SARX);
        CASE(RORX, RORX);
        CASE(IMUL, IMUL);
        CASE(MUL, MUL_WIDE);
        CASE(MULX, MULX);
        CASE(DIV, DIV);
        CASE(IDIV, IDIV);
        CASE(CWD, SIGN_HIGH);
        CASE(CDQ, SIGN_HIGH);
        CASE(CQO, SIGN_HIGH);
        CASE(BSWAP, BSWAP);
        CASE(BT, BT);
        CASE(BTS, BTS);
        CASE(BTR, BTR);
        CASE(BTC, BTC);
        CASE(BSF, BSF);
        CASE(BSR, BSR);
        CASE(TZCNT, TZCNT);
        CASE(LZCNT, LZCNT);
        CASE(POPCNT, POPCNT);
        CASE(BEXTR, BEXTR);
        CASE(BZHI, BZHI);
        CASE(BLSR, BLSR);
        CASE(BLSI, BLSI);
        CASE(BLSMSK, BLSMSK);
        CASE(PDEP, PDEP);
        CASE(PEXT, PEXT);
        CASE(XCHG, XCHG);
        CASE(XADD, XADD);
        CASE(CMPXCHG, CMPXCHG);
        CASE(STC, CARRY_SET);
        CASE(CLC, CARRY_CLEAR);
        CASE(CMC, CARRY_FLIP);
        CASE(CLD, DIRECTION_CLEAR);
        CASE(STD, DIRECTION_SET);
        CASE(XLAT, TRANSLATE);
    default: return (struct named){ISA_DO_OTHER, 0};
    }
}

static struct named name_flow(ZydisMnemonic mnemonic)
{
    switch (mnemonic) {
        CASE(PUSH, PUSH);
        CASE(POP, POP);
        CASE(PUSHFQ, PUSH_FLAGS);
        CASE(POPFQ, POP_FLAGS);
        CASE(LEAVE, LEAVE);
        CASE(CALL, CALL);
        CASE(RET, RETURN);
        CASE(JMP, JUMP);
        CASE(LOOP, LOOP);
        CASE(LOOPE, LOOP);
        CASE(LOOPNE, LOOP);
        CASE(JRCXZ, BRANCH_COUNT);
        CASE(JECXZ, BRANCH_COUNT);
        CASE(NOP, NOTHING);
        CASE(ENDBR32, NOTHING);
        CASE(ENDBR64, NOTHING);
        CASE(PAUSE, NOTHING);
        CASE(LFENCE, NOTHING);
        CASE(SFENCE, NOTHING);
        CASE(MFENCE, NOTHING);
        CASE(CLFLUSH, NOTHING);
        CASE(CLFLUSHOPT, NOTHING);
        CASE(CLWB, NOTHING);
        CASE(FWAIT, NOTHING);
    default: return (struct named){ISA_DO_OTHER, 0};
    }
}

static struct named name_string(ZydisMnemonic mnemonic)
{
    switch (mnemonic) {
    case ZYDIS_MNEMONIC_MOVSB:
    case ZYDIS_MNEMONIC_MOVSW:
    case ZYDIS_MNEMONIC_MOVSD:
    case ZYDIS_MNEMONIC_MOVSQ: return (struct named){ISA_DO_STRING_MOVE, 0};
    case ZYDIS_MNEMONIC_STOSB:
    case ZYDIS_MNEMONIC_STOSW:
    case ZYDIS_MNEMONIC_STOSD:
    case ZYDIS_MNEMONIC_STOSQ: return (struct named){ISA_DO_STRING_STORE, 0};
    case ZYDIS_MNEMONIC_LODSB:
    case ZYDIS_MNEMONIC_LODSW:
    case ZYDIS_MNEMONIC_LODSD:
    case ZYDIS_MNEMONIC_LODSQ: return (struct named){ISA_DO_STRING_LOAD, 0};
    case ZYDIS_MNEMONIC_SCASB:
    case ZYDIS_MNEMONIC_SCASW:
    case ZYDIS_MNEMONIC_SCASD:
    case ZYDIS_MNEMONIC_SCASQ: return (struct named){ISA_DO_STRING_SCAN, 0};
    case ZYDIS_MNEMONIC_CMPSB:
    case ZYDIS_MNEMONIC_CMPSW:
    case ZYDIS_MNEMONIC_CMPSD:
    case ZYDIS_MNEMONIC_CMPSQ: return (struct named){ISA_DO_STRING_COMPARE, 0};
    default: return (struct named){ISA_DO_OTHER, 0};
    }
}

static struct named name_vector_move(ZydisMnemonic mnemonic)
{
    switch (mnemonic) {
        CASE(MOVAPS, VECTOR_MOVE);
        CASE(MOVAPD, VECTOR_MOVE);
        CASE(MOVUPS, VECTOR_MOVE);
        CASE(MOVUPD, VECTOR_MOVE);
        CASE(MOVDQA, VECTOR_MOVE);
        CASE(MOVDQU, VECTOR_MOVE);
        CASE(LDDQU, VECTOR_MOVE);
        CASE(MOVNTDQ, VECTOR_MOVE);
        CASE(MOVNTDQA, VECTOR_MOVE);
        CASE(MOVNTPS, VECTOR_MOVE);
        CASE(MOVNTPD, VECTOR_MOVE);
        CASE(VMOVAPS, VECTOR_MOVE);
        CASE(VMOVAPD, VECTOR_MOVE);
        CASE(VMOVUPS, VECTOR_MOVE);
        CASE(VMOVUPD, VECTOR_MOVE);
        CASE(VMOVDQA, VECTOR_MOVE);
        CASE(VMOVDQU, VECTOR_MOVE);
        CASE(VMOVDQA32, VECTOR_MOVE);
        CASE(VMOVDQA64, VECTOR_MOVE);
        CASE(VMOVDQU8, VECTOR_MOVE);
        CASE(VMOVDQU16, VECTOR_MOVE);
        CASE(VMOVDQU32, VECTOR_MOVE);
        CASE(VMOVDQU64, VECTOR_MOVE);
        CASE(VLDDQU, VECTOR_MOVE);
        CASE(VMOVNTDQ, VECTOR_MOVE);
        CASE(VMOVNTDQA, VECTOR_MOVE);
        CASE(VMOVNTPS, VECTOR_MOVE);
        CASE(VMOVNTPD, VECTOR_MOVE);
        CASE(MOVD, VECTOR_MOVE_LOW);
        CASE(MOVQ, VECTOR_MOVE_LOW);
        CASE(VMOVD, VECTOR_MOVE_LOW);
        CASE(VMOVQ, VECTOR_MOVE_LOW);
        CASE_OF(MOVSS, VECTOR_SCALAR, 4);
        CASE_OF(MOVSD, VECTOR_SCALAR, 8);
        CASE_OF(VMOVSS, VECTOR_SCALAR, 4);
        CASE_OF(VMOVSD, VECTOR_SCALAR, 8);
        CASE_OF(VPBROADCASTB, VECTOR_BROADCAST, 1);
        CASE_OF(VPBROADCASTW, VECTOR_BROADCAST, 2);
        CASE_OF(VPBROADCASTD, VECTOR_BROADCAST, 4);
        CASE_OF(VPBROADCASTQ, VECTOR_BROADCAST, 8);
        CASE_OF(VBROADCASTSS, VECTOR_BROADCAST, 4);
        CASE_OF(VBROADCASTSD, VECTOR_BROADCAST, 8);
        CASE_OF(PSHUFD, VECTOR_SHUFFLE, 4);
        CASE_OF(VPSHUFD, VECTOR_SHUFFLE, 4);
        CASE_OF(PUNPCKLBW, VECTOR_UNPACK_LOW, 1);
        CASE_OF(PUNPCKLWD, VECTOR_UNPACK_LOW, 2);
        CASE_OF(PUNPCKLDQ, VECTOR_UNPACK_LOW, 4);
        CASE_OF(PUNPCKLQDQ, VECTOR_UNPACK_LOW, 8);
        CASE_OF(VPUNPCKLBW, VECTOR_UNPACK_LOW, 1);
        CASE_OF(VPUNPCKLWD, VECTOR_UNPACK_LOW, 2);
        CASE_OF(VPUNPCKLDQ, VECTOR_UNPACK_LOW, 4);
        CASE_OF(VPUNPCKLQDQ, VECTOR_UNPACK_LOW, 8);
        CASE(VZEROUPPER, VECTOR_UPPER);
    default: return (struct named){ISA_DO_OTHER, 0};
    }
}

static struct named name_vector_logic(ZydisMnemonic mnemonic)
{
    switch (mnemonic) {
        CASE(PAND, VECTOR_AND);
        CASE(ANDPS, VECTOR_AND);
        CASE(ANDPD, VECTOR_AND);
        CASE(VPAND, VECTOR_AND);
        CASE(VPANDD, VECTOR_AND);
        CASE(VPANDQ, VECTOR_AND);
        CASE(VANDPS, VECTOR_AND);
        CASE(VANDPD, VECTOR_AND);
        CASE(PANDN, VECTOR_ANDN);
        CASE(VPANDN, VECTOR_ANDN);
        CASE(VPANDND, VECTOR_ANDN);
        CASE(VPANDNQ, VECTOR_ANDN);
        CASE(POR, VECTOR_OR);
        CASE(ORPS, VECTOR_OR);
        CASE(ORPD, VECTOR_OR);
        CASE(VPOR, VECTOR_OR);
        CASE(VPORD, VECTOR_OR);
        CASE(VPORQ, VECTOR_OR);
        CASE(VORPS, VECTOR_OR);
        CASE(VORPD, VECTOR_OR);
        CASE(PXOR, VECTOR_XOR);
        CASE(XORPS, VECTOR_XOR);
        CASE(XORPD, VECTOR_XOR);
        CASE(VPXOR, VECTOR_XOR);
        CASE(VPXORD, VECTOR_XOR);
        CASE(VPXORQ, VECTOR_XOR);
        CASE(VXORPS, VECTOR_XOR);
        CASE(VXORPD, VECTOR_XOR);
        CASE_OF(PADDB, VECTOR_ADD, 1);
        CASE_OF(PADDD, VECTOR_ADD, 4);
        CASE_OF(PADDQ, VECTOR_ADD, 8);
        CASE_OF(VPADDB, VECTOR_ADD, 1);
        CASE_OF(VPADDD, VECTOR_ADD, 4);
        CASE_OF(VPADDQ, VECTOR_ADD, 8);
        CASE_OF(PSUBB, VECTOR_SUB, 1);
        CASE_OF(PSUBD, VECTOR_SUB, 4);
        CASE_OF(PSUBQ, VECTOR_SUB, 8);
        CASE_OF(VPSUBB, VECTOR_SUB, 1);
        CASE_OF(VPSUBD, VECTOR_SUB, 4);
        CASE_OF(VPSUBQ, VECTOR_SUB, 8);
        CASE_OF(PSUBUSB, VECTOR_SUB_SATURATED, 1);
        CASE_OF(VPSUBUSB, VECTOR_SUB_SATURATED, 1);
        CASE_OF(PMINUB, VECTOR_MIN, 1);
        CASE_OF(VPMINUB, VECTOR_MIN, 1);
        CASE_OF(VPMINUD, VECTOR_MIN, 4);
        CASE_OF(PMAXUB, VECTOR_MAX, 1);
        CASE_OF(VPMAXUB, VECTOR_MAX, 1);
        CASE_OF(VPTERNLOGD, VECTOR_TERNARY, 4);
        CASE_OF(VPTERNLOGQ, VECTOR_TERNARY, 8);
    default: return (struct named){ISA_DO_OTHER, 0};
    }
}

static struct named name_vector_compare(ZydisMnemonic mnemonic)
{
    switch (mnemonic) {
        CASE_OF(PCMPEQB, VECTOR_EQUAL, 1);
        CASE_OF(PCMPEQW, VECTOR_EQUAL, 2);
        CASE_OF(PCMPEQD, VECTOR_EQUAL, 4);
        CASE_OF(PCMPEQQ, VECTOR_EQUAL, 8);
        CASE_OF(VPCMPEQB, VECTOR_EQUAL, 1);
        CASE_OF(VPCMPEQW, VECTOR_EQUAL, 2);
        CASE_OF(VPCMPEQD, VECTOR_EQUAL, 4);
        CASE_OF(VPCMPEQQ, VECTOR_EQUAL, 8);
        CASE_OF(PCMPGTB, VECTOR_GREATER, 1);
        CASE_OF(PCMPGTW, VECTOR_GREATER, 2);
        CASE_OF(PCMPGTD, VECTOR_GREATER, 4);
        CASE_OF(VPCMPGTB, VECTOR_GREATER, 1);
        CASE_OF(VPCMPGTW, VECTOR_GREATER, 2);
        CASE_OF(VPCMPGTD, VECTOR_GREATER, 4);
        CASE_OF(VPCMPB, VECTOR_COMPARE, 1);
        CASE_OF(VPCMPW, VECTOR_COMPARE, 2);
        CASE_OF(VPCMPD, VECTOR_COMPARE, 4);
        CASE_OF(VPCMPQ, VECTOR_COMPARE, 8);
        CASE_OF(VPCMPUB, VECTOR_COMPARE, 1);
        CASE_OF(VPCMPUW, VECTOR_COMPARE, 2);
        CASE_OF(VPCMPUD, VECTOR_COMPARE, 4);
        CASE_OF(VPCMPUQ, VECTOR_COMPARE, 8);
        CASE_OF(PMOVMSKB, VECTOR_SIGNS, 1);
        CASE_OF(VPMOVMSKB, VECTOR_SIGNS, 1);
        CASE_OF(MOVMSKPS, VECTOR_SIGNS, 4);
        CASE_OF(VMOVMSKPS, VECTOR_SIGNS, 4);
        CASE_OF(MOVMSKPD, VECTOR_SIGNS, 8);
        CASE_OF(VMOVMSKPD, VECTOR_SIGNS, 8);
        CASE(PTEST, VECTOR_TEST);
        CASE(VPTEST, VECTOR_TEST);
        CASE_OF(VPTESTNMB, VECTOR_TESTN, 1);
        CASE_OF(VPTESTNMW, VECTOR_TESTN, 2);
        CASE_OF(VPTESTNMD, VECTOR_TESTN, 4);
        CASE_OF(VPTESTNMQ, VECTOR_TESTN, 8);
        CASE_OF(VPTESTMB, VECTOR_TESTM, 1);
        CASE_OF(VPTESTMW, VECTOR_TESTM, 2);
        CASE_OF(VPTESTMD, VECTOR_TESTM, 4);
        CASE_OF(VPTESTMQ, VECTOR_TESTM, 8);
    default: return (struct named){ISA_DO_OTHER, 0};
    }
}

static struct named name_mask(ZydisMnemonic mnemonic)
{
    switch (mnemonic) {
        CASE_OF(KMOVB, MASK_MOVE, 1);
        CASE_OF(KMOVW, MASK_MOVE, 2);
        CASE_OF(KMOVD, MASK_MOVE, 4);
        CASE_OF(KMOVQ, MASK_MOVE, 8);
        CASE_OF(KORTESTB, MASK_TEST, 1);
        CASE_OF(KORTESTW, MASK_TEST, 2);
        CASE_OF(KORTESTD, MASK_TEST, 4);
        CASE_OF(KORTESTQ, MASK_TEST, 8);
        CASE_OF(KANDB, MASK_AND, 1);
        CASE_OF(KANDW, MASK_AND, 2);
        CASE_OF(KANDD, MASK_AND, 4);
        CASE_OF(KANDQ, MASK_AND, 8);
        CASE_OF(KORB, MASK_OR, 1);
        CASE_OF(KORW, MASK_OR, 2);
        CASE_OF(KORD, MASK_OR, 4);
        CASE_OF(KORQ, MASK_OR, 8);
        CASE_OF(KXORB, MASK_XOR, 1);
        CASE_OF(KXORW, MASK_XOR, 2);
        CASE_OF(KXORD, MASK_XOR, 4);
        CASE_OF(KXORQ, MASK_XOR, 8);
        CASE_OF(KNOTB, MASK_NOT, 1);
        CASE_OF(KNOTW, MASK_NOT, 2);
        CASE_OF(KNOTD, MASK_NOT, 4);
        CASE_OF(KNOTQ, MASK_NOT, 8);
        CASE_OF(KUNPCKBW, MASK_UNPACK, 1);
        CASE_OF(KUNPCKWD, MASK_UNPACK, 2);
        CASE_OF(KUNPCKDQ, MASK_UNPACK, 4);
    default: return (struct named){ISA_DO_OTHER, 0};
    }
}

#undef CASE
#undef CASE_OF

static struct named name_operation(const ZydisDecodedInstruction *insn)
{
    switch (insn->meta.category) {
    case ZYDIS_CATEGORY_STRINGOP: return name_string(insn->mnemonic);
    case ZYDIS_CATEGORY_COND_BR:
        if (insn->mnemonic != ZYDIS_MNEMONIC_LOOP && insn->mnemonic != ZYDIS_MNEMONIC_LOOPE &&
            insn->mnemonic != ZYDIS_MNEMONIC_LOOPNE && insn->mnemonic != ZYDIS_MNEMONIC_JRCXZ &&
            insn->mnemonic != ZYDIS_MNEMONIC_JECXZ && insn->mnemonic != ZYDIS_MNEMONIC_XBEGIN)
            return (struct named){ISA_DO_BRANCH, 0};
        break;
    case ZYDIS_CATEGORY_CMOV: return (struct named){ISA_DO_MOVE_IF, 0};
    case ZYDIS_CATEGORY_SETCC: return (struct named){ISA_DO_SET, 0};
    case ZYDIS_CATEGORY_NOP:
    case ZYDIS_CATEGORY_WIDENOP:
    case ZYDIS_CATEGORY_PREFETCH: return (struct named){ISA_DO_NOTHING, 0};
    default: break;
    }
    static struct named (*const lists[])(ZydisMnemonic) = {name_integer,        name_flow,
                                                           name_vector_move,    name_vector_logic,
                                                           name_vector_compare, name_mask};
    struct named found = {ISA_DO_OTHER, 0};
    for (unsigned i = 0; i < BASE_COUNT(lists) && found.code == ISA_DO_OTHER; i++)
        found = lists[i](insn->mnemonic);
    return found;
}

static uint8_t condition_of(const ZydisDecodedInstruction *insn, uint8_t code)
{
    switch (code) {
    case ISA_DO_BRANCH:
    case ISA_DO_MOVE_IF:
    case ISA_DO_SET: return insn->opcode & 15;
    case ISA_DO_LOOP:
        return insn->mnemonic == ZYDIS_MNEMONIC_LOOPE    ? 4
               : insn->mnemonic == ZYDIS_MNEMONIC_LOOPNE ? 5
                                                         : 0;
    case ISA_DO_STRING_SCAN:
    case ISA_DO_STRING_COMPARE: /* 4: while equal, 5: while different */
        return insn->attributes & ZYDIS_ATTRIB_HAS_REPNE ? 5 : 4;
    case ISA_DO_VECTOR_COMPARE:
        return insn->mnemonic == ZYDIS_MNEMONIC_VPCMPUB ||
               insn->mnemonic == ZYDIS_MNEMONIC_VPCMPUW ||
               insn->mnemonic == ZYDIS_MNEMONIC_VPCMPUD || insn->mnemonic == ZYDIS_MNEMONIC_VPCMPUQ;
    default: return 0;
    }
}

bool isa_vector_register(ZydisRegister name, uint8_t *number, uint8_t *bytes)
{
    static const struct {
        ZydisRegister first, last;
        uint8_t bytes;
    } banks[] = {{ZYDIS_REGISTER_XMM0, ZYDIS_REGISTER_XMM31, 16},
                 {ZYDIS_REGISTER_YMM0, ZYDIS_REGISTER_YMM31, 32},
                 {ZYDIS_REGISTER_ZMM0, ZYDIS_REGISTER_ZMM31, 64}};
    for (unsigned i = 0; i < BASE_COUNT(banks); i++) {
        if (name < banks[i].first || name > banks[i].last)
            continue;
        *number = (uint8_t)(name - banks[i].first);
        *bytes = banks[i].bytes;
        return true;
    }
    return false;
}

static struct isa_operand register_operand(const ZydisDecodedOperand *operand)
{
    struct isa_operand out = {ISA_ELSEWHERE, 0, 0, 0};
    ZydisRegister name = operand->reg.value;
    int general = isa_general_register(name);
    if (general >= 0) {
        bool high = name >= ZYDIS_REGISTER_AH && name <= ZYDIS_REGISTER_BH;
        uint8_t bytes = name >= ZYDIS_REGISTER_RAX   ? 8
                        : name >= ZYDIS_REGISTER_EAX ? 4
                        : name >= ZYDIS_REGISTER_AX  ? 2
                                                     : 1;
        out = (struct isa_operand){ISA_GENERAL, (uint8_t)general, bytes, high ? 8 : 0};
    } else if (isa_vector_register(name, &out.number, &out.bytes)) {
        out.kind = ISA_VECTOR;
    } else if (name >= ZYDIS_REGISTER_K0 && name <= ZYDIS_REGISTER_K7) {
        out = (struct isa_operand){ISA_MASK, (uint8_t)(name - ZYDIS_REGISTER_K0), 8, 0};
    }
    return out;
}

static struct isa_operand make_operand(const ZydisDecodedOperand *operand, int8_t access)
{
    struct isa_operand out = {ISA_ELSEWHERE, 0, 0, 0};
    switch (operand->type) {
    case ZYDIS_OPERAND_TYPE_REGISTER: return register_operand(operand);
    case ZYDIS_OPERAND_TYPE_IMMEDIATE: out.kind = ISA_IMMEDIATE; break;
    case ZYDIS_OPERAND_TYPE_MEMORY:
        if (operand->mem.type == ZYDIS_MEMOP_TYPE_AGEN)
            out.kind = ISA_ADDRESS;
        else if (access >= 0)
            out =
                (struct isa_operand){ISA_MEMORY, (uint8_t)access, (uint8_t)(operand->size / 8), 0};
        break;
    default: break;
    }
    return out;
}

/* The EVEX write mask stands between destination and sources in Zydis' list. */
static bool is_write_mask(const struct isa_decoded *decoded, unsigned i)
{
    return decoded->operands[i].encoding == ZYDIS_OPERAND_ENCODING_MASK;
}

static void fill_operands(const struct isa_decoded *decoded, const int8_t *access_of,
                          struct isa_operation *operation)
{
    for (unsigned i = 0; i < decoded->insn.operand_count; i++) {
        const ZydisDecodedOperand *operand = &decoded->operands[i];
        struct isa_operand made = make_operand(operand, access_of[i]);
        if (is_write_mask(decoded, i)) {
            operation->mask = made.number;
            continue;
        }
        if (made.kind == ISA_IMMEDIATE && !operand->imm.is_relative)
            operation->immediate = operand->imm.value.u;
        if (operand->type == ZYDIS_OPERAND_TYPE_REGISTER &&
            (operand->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE)) {
            if (made.kind == ISA_VECTOR)
                operation->vectors_written |= UINT32_C(1) << made.number;
            if (made.kind == ISA_MASK)
                operation->masks_written |= (uint8_t)(1u << made.number);
        }
        if (operation->operand_count < ISA_MAX_OPERANDS)
            operation->operands[operation->operand_count++] = made;
    }
}

void isa_describe(const struct isa_decoded *decoded, const int8_t *access_of,
                  struct isa_operation *operation)
{
    struct isa_operation out;
    memset(&out, 0, sizeof(out));
    struct named named = name_operation(&decoded->insn);
    out.code = named.code;
    out.element_bytes = named.element_bytes;
    if (out.code == ISA_DO_IMUL && decoded->insn.operand_count_visible == 1)
        out.code = ISA_DO_IMUL_WIDE;
    out.condition = condition_of(&decoded->insn, out.code);
    out.zeroes_upper = decoded->insn.encoding == ZYDIS_INSTRUCTION_ENCODING_VEX ||
                       decoded->insn.encoding == ZYDIS_INSTRUCTION_ENCODING_EVEX;
    const ZydisAccessedFlags *flags = decoded->insn.cpu_flags;
    if (flags)
        out.flags_changed =
            (uint16_t)(flags->modified | flags->set_0 | flags->set_1 | flags->undefined);
    if (decoded->insn.mnemonic == ZYDIS_MNEMONIC_VZEROALL)
        out.vectors_written = UINT32_MAX; /* Zydis lists some of them */
    fill_operands(decoded, access_of, &out);
    *operation = out;
}
