// SPDX-License-Identifier: MIT
/* Keys of instruction forms. Hot: one for each instruction of each block, so no printf. */
#include "model/model.h"

#include <Zydis/Zydis.h>
#include <string.h>

struct key {
    char *text;
    size_t bytes;
};

static void add(struct key *key, const char *text)
{
    while (*text && key->bytes + 1 < MODEL_KEY_BYTES)
        key->text[key->bytes++] = *text++;
}

static void add_number(struct key *key, uint32_t number)
{
    char digits[11], *at = digits + sizeof digits;
    *--at = 0;
    do
        *--at = (char)('0' + number % 10);
    while (number /= 10);
    add(key, at);
}

static const char *register_kind(ZydisRegister reg)
{
    if (reg >= ZYDIS_REGISTER_AH && reg <= ZYDIS_REGISTER_BH)
        return "_r8h";
    switch (ZydisRegisterGetClass(reg)) {
    case ZYDIS_REGCLASS_GPR8: return "_r8";
    case ZYDIS_REGCLASS_GPR16: return "_r16";
    case ZYDIS_REGCLASS_GPR32: return "_r32";
    case ZYDIS_REGCLASS_GPR64: return "_r64";
    case ZYDIS_REGCLASS_XMM: return "_x";
    case ZYDIS_REGCLASS_YMM: return "_y";
    case ZYDIS_REGCLASS_ZMM: return "_z";
    case ZYDIS_REGCLASS_MMX: return "_mm";
    case ZYDIS_REGCLASS_MASK: return "_k";
    case ZYDIS_REGCLASS_X87: return "_st";
    case ZYDIS_REGCLASS_SEGMENT: return "_sr";
    default: return "_o";
    }
}

static void add_memory(struct key *key, const ZydisDecodedOperand *operand)
{
    if (operand->mem.type != ZYDIS_MEMOP_TYPE_AGEN) {
        add(key, operand->mem.type == ZYDIS_MEMOP_TYPE_VSIB ? "_vs" : "_m");
        add_number(key, operand->size);
        return;
    }
    add(key, "_a");
    add(key, operand->mem.base ? "b" : "");
    add(key, operand->mem.index ? "i" : "");
    add(key, operand->mem.disp.has_displacement ? "d" : "");
}

static void add_operand(struct key *key, const ZydisDecodedOperand *operand)
{
    switch (operand->type) {
    case ZYDIS_OPERAND_TYPE_REGISTER:
        if (operand->encoding != ZYDIS_OPERAND_ENCODING_MASK)
            add(key, register_kind(operand->reg.value));
        break;
    case ZYDIS_OPERAND_TYPE_MEMORY: add_memory(key, operand); break;
    case ZYDIS_OPERAND_TYPE_IMMEDIATE: add(key, "_i"); break;
    default: add(key, "_ptr");
    }
}

static void add_attributes(struct key *key, const ZydisDecodedInstruction *instruction)
{
    const ZyanU64 repeats = ZYDIS_ATTRIB_HAS_REP | ZYDIS_ATTRIB_HAS_REPE | ZYDIS_ATTRIB_HAS_REPNE;
    const ZydisMaskMode mode = instruction->avx.mask.mode;
    if (instruction->attributes & ZYDIS_ATTRIB_HAS_LOCK)
        add(key, ".lock");
    if (instruction->attributes & repeats)
        add(key, ".rep");
    if (instruction->encoding == ZYDIS_INSTRUCTION_ENCODING_VEX)
        add(key, ".v");
    if (instruction->encoding == ZYDIS_INSTRUCTION_ENCODING_EVEX)
        add(key, ".e");
    if (mode > ZYDIS_MASK_MODE_DISABLED)
        add(key, mode == ZYDIS_MASK_MODE_ZEROING || mode == ZYDIS_MASK_MODE_CONTROL_ZEROING ? ".kz"
                                                                                            : ".k");
    if (instruction->avx.broadcast.mode && !instruction->avx.broadcast.is_static)
        add(key, ".b");
}

size_t model_key(const struct ZydisDecodedInstruction_ *instruction,
                 const struct ZydisDecodedOperand_ *operands, char key[MODEL_KEY_BYTES])
{
    struct key made = {.text = key};
    const char *mnemonic = ZydisMnemonicGetString(instruction->mnemonic);
    add(&made, mnemonic ? mnemonic : "?");
    add_attributes(&made, instruction);
    for (unsigned i = 0; i < instruction->operand_count_visible; i++)
        add_operand(&made, operands + i);
    key[made.bytes] = 0;
    return made.bytes;
}
