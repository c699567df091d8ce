// SPDX-License-Identifier: MIT
/* Bytes to instructions with all that the bounds need of them. */
#include "bounds/internal.h"

#include <Zydis/Zydis.h>
#include <stdlib.h>
#include <string.h>

static const uint8_t flag_bits[BOUNDS_FLAGS] = {0, 2, 4, 6, 7, 11}; /* CF PF AF ZF SF OF */

static uint8_t flags_of(uint32_t mask)
{
    uint8_t flags = 0;
    for (unsigned f = 0; f < BOUNDS_FLAGS; f++)
        flags |= (uint8_t)((mask >> flag_bits[f] & 1) << f);
    return flags;
}

static uint8_t number_of(ZydisRegister reg)
{
    ZydisRegister whole = ZydisRegisterGetLargestEnclosing(ZYDIS_MACHINE_MODE_LONG_64, reg);
    whole = whole == ZYDIS_REGISTER_NONE ? reg : whole;
    int id = ZydisRegisterGetId(whole);
    switch (ZydisRegisterGetClass(whole)) {
    case ZYDIS_REGCLASS_GPR64: return (uint8_t)(id & 15);
    case ZYDIS_REGCLASS_XMM:
    case ZYDIS_REGCLASS_YMM:
    case ZYDIS_REGCLASS_ZMM: return (uint8_t)(BOUNDS_VECTOR + (id & 31));
    case ZYDIS_REGCLASS_MASK: return (uint8_t)(BOUNDS_MASK + (id & 7));
    case ZYDIS_REGCLASS_MMX: return (uint8_t)(BOUNDS_MMX + (id & 7));
    default: return BOUNDS_NO_REGISTER;
    }
}

static uint8_t address_register(ZydisRegister reg)
{
    return reg == ZYDIS_REGISTER_NONE || reg == ZYDIS_REGISTER_RIP || reg == ZYDIS_REGISTER_EIP
               ? BOUNDS_NO_REGISTER
               : number_of(reg);
}

static void set_memory(const ZydisDecodedInstruction *in, const ZydisDecodedOperand *from,
                       uint64_t address, struct bounds_operand *operand)
{
    operand->kind = from->mem.type == ZYDIS_MEMOP_TYPE_AGEN ? BOUNDS_ADDRESS : BOUNDS_MEMORY;
    operand->base = address_register(from->mem.base);
    operand->index = address_register(from->mem.index);
    operand->scale = operand->index == BOUNDS_NO_REGISTER ? 0 : from->mem.scale;
    operand->segment = from->mem.segment == ZYDIS_REGISTER_FS   ? 1
                       : from->mem.segment == ZYDIS_REGISTER_GS ? 2
                                                                : 0;
    operand->gathers =
        from->mem.type == ZYDIS_MEMOP_TYPE_VSIB || from->mem.type == ZYDIS_MEMOP_TYPE_MIB;
    operand->value = from->mem.disp.value;
    operand->absolute = operand->base == BOUNDS_NO_REGISTER && operand->index == BOUNDS_NO_REGISTER;
    if (from->mem.base == ZYDIS_REGISTER_RIP)
        operand->value = (int64_t)((uint64_t)from->mem.disp.value + address + in->length);
}

static bool set_register(const ZydisDecodedInstruction *in, const ZydisDecodedOperand *from,
                         struct bounds_operand *operand)
{
    ZydisRegisterClass class = ZydisRegisterGetClass(from->reg.value);
    if (class == ZYDIS_REGCLASS_FLAGS) {
        const ZydisAccessedFlags *flags = in->cpu_flags;
        operand->kind = BOUNDS_FLAGS_OPERAND;
        operand->flags_read = flags ? flags_of(flags->tested) : 0;
        operand->flags_written =
            flags ? flags_of(flags->modified | flags->set_0 | flags->set_1 | flags->undefined) : 0;
        operand->reads = operand->flags_read != 0;
        operand->writes = operand->flags_written != 0;
        return true;
    }
    operand->kind = BOUNDS_REGISTER;
    operand->reg = number_of(from->reg.value);
    return operand->reg != BOUNDS_NO_REGISTER;
}

/* False: the operand makes no dependence. */
static bool set_operand(const ZydisDecodedInstruction *in, const ZydisDecodedOperand *from,
                        uint64_t address, uint8_t number, struct bounds_operand *operand)
{
    *operand = (struct bounds_operand){
        .kind = BOUNDS_OTHER,
        .number = number,
        .reg = BOUNDS_NO_REGISTER,
        .base = BOUNDS_NO_REGISTER,
        .index = BOUNDS_NO_REGISTER,
        .bits = from->size,
        .reads = (from->actions & ZYDIS_OPERAND_ACTION_MASK_READ) != 0,
        .writes = (from->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE) != 0,
        .conditional = (from->actions & ZYDIS_OPERAND_ACTION_CONDWRITE) != 0,
        .hidden = from->visibility != ZYDIS_OPERAND_VISIBILITY_EXPLICIT,
    };
    switch (from->type) {
    case ZYDIS_OPERAND_TYPE_REGISTER: return set_register(in, from, operand);
    case ZYDIS_OPERAND_TYPE_MEMORY: set_memory(in, from, address, operand); return true;
    case ZYDIS_OPERAND_TYPE_IMMEDIATE:
        operand->kind = BOUNDS_IMMEDIATE;
        operand->value = from->imm.value.s;
        return true;
    default: return false;
    }
}

static bool begins(const char *text, const char *with)
{
    return strncmp(text, with, strlen(with)) == 0;
}

static uint8_t category_of(const char *name)
{
    const char *plain = *name == 'v' ? name + 1 : name;
    plain = *plain == 'p' && plain[1] != 'o' && plain[1] != 'u' ? plain + 1 : plain;
    if (strstr(plain, "div"))
        return BOUNDS_DIVIDE;
    if (strstr(plain, "sqrt"))
        return BOUNDS_ROOT;
    if (begins(plain, "fm") || begins(plain, "fnm"))
        return BOUNDS_FUSED;
    if (begins(plain, "mul") || begins(plain, "imul") || begins(plain, "madd"))
        return BOUNDS_MULTIPLY;
    if (begins(plain, "add") || begins(plain, "sub") || begins(plain, "inc") ||
        begins(plain, "dec") || begins(plain, "neg"))
        return BOUNDS_ADD;
    return begins(plain, "mov") || begins(plain, "broadcast") ? BOUNDS_MOVE : BOUNDS_OTHERS;
}

/* Are the last two explicit operands one register, and none of all memory or an immediate? */
static bool is_same(const struct bounds_instruction *instruction)
{
    const struct bounds_operand *last[2] = {NULL, NULL};
    for (unsigned i = 0; i < instruction->operand_count; i++) {
        const struct bounds_operand *operand = &instruction->operands[i];
        if (operand->hidden)
            continue;
        if (operand->kind != BOUNDS_REGISTER)
            return false;
        last[0] = last[1];
        last[1] = operand;
    }
    return last[0] && last[0]->reg == last[1]->reg && last[0]->bits == last[1]->bits;
}

static void set_flow(const ZydisDecodedInstruction *in, struct bounds_instruction *instruction)
{
    ZydisInstructionCategory category = in->meta.category;
    instruction->branches = category == ZYDIS_CATEGORY_COND_BR;
    instruction->jumps = category == ZYDIS_CATEGORY_UNCOND_BR;
    instruction->calls = category == ZYDIS_CATEGORY_CALL;
    instruction->stack = instruction->calls || category == ZYDIS_CATEGORY_RET ||
                         in->mnemonic == ZYDIS_MNEMONIC_PUSH || in->mnemonic == ZYDIS_MNEMONIC_POP;
}

/* AT&T's suffix for the width of memory says nothing where a register tells, and "movsdq" is none. */
static void drop_suffix(const ZydisDecodedInstruction *in, struct bounds_instruction *instruction)
{
    const char *name = ZydisMnemonicGetString(in->mnemonic);
    size_t bytes = name ? strlen(name) : 0;
    char *text = instruction->text, *at = strstr(text, name ? name : " ");
    bool told = false;
    for (unsigned k = 0; k < instruction->operand_count; k++)
        told |=
            !instruction->operands[k].hidden && instruction->operands[k].kind == BOUNDS_REGISTER;
    if (told && at && at[bytes] && at[bytes] != ' ')
        memmove(at + bytes, at + bytes + 1, strlen(at + bytes));
}

static void write_text(const ZydisDecodedInstruction *in, const ZydisDecodedOperand *operands,
                       struct bounds_instruction *instruction)
{
    ZydisFormatter formatter;
    if (!ZYAN_SUCCESS(ZydisFormatterInit(&formatter, ZYDIS_FORMATTER_STYLE_ATT)))
        return;
    ZydisFormatterSetProperty(&formatter, ZYDIS_FORMATTER_PROP_DISP_PADDING,
                              ZYDIS_PADDING_DISABLED);
    ZydisFormatterSetProperty(&formatter, ZYDIS_FORMATTER_PROP_IMM_PADDING, ZYDIS_PADDING_DISABLED);
    ZydisFormatterSetProperty(&formatter, ZYDIS_FORMATTER_PROP_ADDR_PADDING_ABSOLUTE,
                              ZYDIS_PADDING_DISABLED);
    if (!ZYAN_SUCCESS(ZydisFormatterFormatInstruction(
            &formatter, in, operands, in->operand_count_visible, instruction->text,
            sizeof instruction->text, instruction->address, NULL)))
        instruction->text[0] = 0;
    drop_suffix(in, instruction);
}

/* The slot that push and call write lies below the stack pointer as it was before. */
static void lower_pushed(struct bounds_instruction *instruction)
{
    for (unsigned k = 0; k < instruction->operand_count; k++) {
        struct bounds_operand *operand = &instruction->operands[k];
        if (instruction->stack && operand->kind == BOUNDS_MEMORY && operand->hidden &&
            operand->writes && operand->base == 4 /* rsp */ && operand->value == 0)
            operand->value = -(int64_t)(operand->bits / 8);
    }
}

static void set_instruction(const ZydisDecodedInstruction *in, const ZydisDecodedOperand *operands,
                            uint64_t address, struct bounds_instruction *instruction)
{
    const char *name = ZydisMnemonicGetString(in->mnemonic);
    instruction->address = address;
    instruction->mnemonic = (uint16_t)in->mnemonic;
    instruction->length = in->length;
    instruction->prefixes = in->raw.prefix_count;
    instruction->category = category_of(name ? name : "");
    instruction->text[0] = 0;
    instruction->operand_count = 0;
    instruction->changes_length =
        in->operand_width == 16 && (in->raw.imm[0].size == 16 || in->raw.imm[1].size == 16);
    set_flow(in, instruction);
    for (uint8_t i = 0; i < in->operand_count && i < BOUNDS_OPERANDS; i++)
        if (set_operand(in, operands + i, address, i,
                        &instruction->operands[instruction->operand_count]))
            instruction->operand_count++;
    lower_pushed(instruction);
    instruction->same = is_same(instruction);
    instruction->key_bytes = (uint8_t)model_key(in, operands, instruction->key);
}

enum base_status bounds_decode(const uint8_t *bytes, size_t count, uint64_t address, bool text,
                               struct bounds_block *block, size_t *bad)
{
    ZydisDecoder decoder;
    ZydisDecodedInstruction in;
    ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];
    size_t before = block->count;
    enum base_status status = BASE_OK;
    ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
    for (size_t at = 0; at < count && status == BASE_OK; at += in.length) {
        *bad = at;
        if (!ZYAN_SUCCESS(ZydisDecoderDecodeFull(&decoder, bytes + at, count - at, &in, operands)))
            status = BASE_MALFORMED;
        else if (block->count >= BOUNDS_INSTRUCTIONS_MAX)
            status = BASE_TOO_LARGE;
        else if (!UTIL_GROW(block->instructions, block->capacity, block->count))
            status = BASE_NO_MEMORY;
        if (status != BASE_OK)
            break;
        struct bounds_instruction *made = &block->instructions[block->count++];
        set_instruction(&in, operands, address + at, made);
        if (text)
            write_text(&in, operands, made);
    }
    if (status != BASE_OK)
        block->count = before;
    return status;
}

void bounds_block_free(struct bounds_block *block)
{
    free(block->instructions);
    *block = (struct bounds_block){0};
}
