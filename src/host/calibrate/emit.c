// SPDX-License-Identifier: MIT
/* Bodies of loops, the functions around them, and instructions encoded with chosen registers. */
#include "calibrate/internal.h"

#include <string.h>

/* ---- bodies --------------------------------------------------------------------------------------- */

void body_begin(struct body *body, enum pattern pattern, bool wide)
{
    body->count = body->instructions = 0;
    body->full = false;
    body->pattern = pattern;
    body->wide = wide;
}

void body_add(struct body *body, const uint8_t *bytes, size_t count)
{
    if (body->full || count > BODY_MAX - body->count) {
        body->full = true;
        return;
    }
    memcpy(body->bytes + body->count, bytes, count);
    body->count += count;
    body->instructions++;
}

static unsigned nibble(char digit)
{
    return (unsigned)(digit <= '9' ? digit - '0' : digit - 'a' + 10);
}

/* Two digits a byte; blanks do not count. */
static size_t unhex(const char *hex, uint8_t *out)
{
    size_t count = 0;
    for (; hex[0]; hex += 2)
        out[count++] = (uint8_t)(nibble(hex[0]) << 4 | nibble(hex[1]));
    return count;
}

void body_hex(struct body *body, const char *hex)
{
    uint8_t bytes[64];
    body_add(body, bytes, unhex(hex, bytes));
}

/* ---- functions ------------------------------------------------------------------------------------- */

static bool have_avx(void)
{
    return __builtin_cpu_supports("avx");
}

/* Each vector register from the data. */
static size_t load_vectors(uint8_t *code, bool wide)
{
    size_t count = 0;
    if (have_avx() && !wide)
        count +=
            unhex("c5f877", code); /* vzeroupper: the old encodings do not wait for upper halves */
    for (unsigned v = 0; v < 16; v++) {
        uint8_t modrm = (uint8_t)(6 | (v & 7) << 3);
        const uint8_t both[] = {0xc4, v < 8 ? 0xc1 : 0x41, 0x7c, 0x10, modrm};
        const uint8_t low[] = {v < 8 ? 0x41 : 0x45, 0x0f, 0x10, modrm};
        if (wide)
            memcpy(code + count, both, sizeof both);
        else
            memcpy(code + count, low, sizeof low);
        count += wide ? sizeof both : sizeof low;
    }
    for (unsigned k = 1; k < 8 && __builtin_cpu_supports("avx512f"); k++) {
        const uint8_t all[] = {0xc5, (uint8_t)(0x84 | (~k & 15) << 3), 0x46,
                               (uint8_t)(0xc0 | k << 3 | k)}; /* kxnorw k, k, k */
        memcpy(code + count, all, sizeof all);
        count += sizeof all;
    }
    return count;
}

/* Floating point neither traps nor is slow for tiny numbers: the control word is set, and restored by the end. */
static size_t begin_function(uint8_t *code, bool wide)
{
    size_t count = unhex("53554154415541564157" /* push rbx, rbp, r12 .. r15 */
                         "4989fe4989f7"         /* mov r14, rdi; mov r15, rsi */
                         "410fae9ef03f0000",    /* stmxcsr [r14 + 0x3ff0] */
                         code);
    count += unhex("41c786f43f0000c09f0000" /* mov dword [r14 + 0x3ff4], 0x9fc0 */
                   "410fae96f43f0000",      /* ldmxcsr [r14 + 0x3ff4] */
                   code + count);
    count += unhex("4889fb4889fe4889fd4989f84989f9" /* rbx, rsi, rbp, r8, r9 = rdi */
                   "4989fa4989fb4989fc4531ed"       /* r10, r11, r12 = rdi; r13 = 0 */
                   "b80100000031d2b901000000",      /* eax = 1, edx = 0, ecx = 1 */
                   code + count);
    count += load_vectors(code + count, wide);
    return count + unhex("4d85f6", code + count); /* test r14, r14: not zero, no carry */
}

size_t body_function(const struct body *body, uint8_t *code)
{
    size_t count = begin_function(code, body->wide);
    while (count % 64)
        code[count++] = 0x90;
    size_t loop = count;
    memcpy(code + count, body->bytes, body->count);
    count += body->count;
    count += unhex("49ffcf0f85", code + count); /* dec r15; jnz loop */
    int32_t distance = (int32_t)((int64_t)loop - (int64_t)(count + 4));
    memcpy(code + count, &distance, sizeof distance);
    count += sizeof distance;
    count += unhex("410fae96f03f0000", code + count); /* ldmxcsr [r14 + 0x3ff0] */
    if (have_avx())
        count += unhex("c5f877", code + count);
    return count + unhex("415f415e415d415c5d5bc3", code + count);
}

/* ---- instructions with chosen registers --------------------------------------------------------------- */

bool sample_open(const struct form *form, struct sample *sample)
{
    ZydisDecoder decoder;
    ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
    memset(sample->pick, -1, sizeof sample->pick);
    sample->base = BODY_DATA;
    sample->displacement = 0;
    sample->indexed = sample->swapped = false;
    sample->fixed = strstr(form->key, "r8h") != NULL;
    return ZYAN_SUCCESS(ZydisDecoderDecodeFull(&decoder, form->bytes, form->count, &sample->in,
                                               sample->op)) &&
           ZYAN_SUCCESS(ZydisEncoderDecodedInstructionToEncoderRequest(
               &sample->in, sample->op, sample->in.operand_count_visible, &sample->request));
}

static ZydisRegister encode_register(ZydisRegisterClass class, int number)
{
    static const ZydisRegister low[] = {
        ZYDIS_REGISTER_AL,   ZYDIS_REGISTER_CL,   ZYDIS_REGISTER_DL,   ZYDIS_REGISTER_BL,
        ZYDIS_REGISTER_SPL,  ZYDIS_REGISTER_BPL,  ZYDIS_REGISTER_SIL,  ZYDIS_REGISTER_DIL,
        ZYDIS_REGISTER_R8B,  ZYDIS_REGISTER_R9B,  ZYDIS_REGISTER_R10B, ZYDIS_REGISTER_R11B,
        ZYDIS_REGISTER_R12B, ZYDIS_REGISTER_R13B, ZYDIS_REGISTER_R14B, ZYDIS_REGISTER_R15B};
    return class == ZYDIS_REGCLASS_GPR8 ? low[number & 15]
                                        : ZydisRegisterEncode(class, (ZyanU8)number);
}

/* Of an address alone the base is what is picked, or else the index; an index beside a base is 0. */
static void pick_address(ZydisEncoderOperand *operand, int number, bool swapped)
{
    ZydisRegister picked = ZydisRegisterEncode(ZYDIS_REGCLASS_GPR64, (ZyanU8)number);
    if (operand->mem.base == ZYDIS_REGISTER_RIP)
        return;
    if (operand->mem.index)
        operand->mem.index = operand->mem.base ? ZYDIS_REGISTER_R13 : picked;
    if (operand->mem.base)
        operand->mem.base = picked;
    if (swapped) {
        operand->mem.base = ZYDIS_REGISTER_R14;
        operand->mem.index = picked;
    }
}

bool sample_emit(const struct sample *sample, struct body *body)
{
    ZydisEncoderRequest request = sample->request;
    uint8_t bytes[ZYDIS_MAX_INSTRUCTION_LENGTH];
    ZyanUSize count = sizeof bytes;
    for (unsigned i = 0; i < request.operand_count && !sample->fixed; i++) {
        ZydisEncoderOperand *operand = request.operands + i;
        if (operand->type == ZYDIS_OPERAND_TYPE_REGISTER && sample->pick[i] >= 0)
            operand->reg.value =
                encode_register(ZydisRegisterGetClass(operand->reg.value), sample->pick[i]);
        if (operand->type != ZYDIS_OPERAND_TYPE_MEMORY ||
            sample->op[i].mem.type == ZYDIS_MEMOP_TYPE_AGEN)
            continue;
        operand->mem.base = ZydisRegisterEncode(ZYDIS_REGCLASS_GPR64, (ZyanU8)sample->base);
        operand->mem.index = sample->indexed ? ZYDIS_REGISTER_R13 : ZYDIS_REGISTER_NONE;
        operand->mem.scale = sample->indexed ? 1 : 0;
        operand->mem.displacement = sample->displacement;
    }
    for (unsigned i = 0; i < request.operand_count; i++)
        if (sample->op[i].type == ZYDIS_OPERAND_TYPE_MEMORY && sample->pick[i] >= 0 &&
            sample->op[i].mem.type == ZYDIS_MEMOP_TYPE_AGEN)
            pick_address(&request.operands[i], sample->pick[i], sample->swapped);
    if (!ZYAN_SUCCESS(ZydisEncoderEncodeInstruction(&request, bytes, &count)))
        return false;
    body_add(body, bytes, count);
    return !body->full;
}

enum kind sample_kind(const struct sample *sample, unsigned operand)
{
    const ZydisDecodedOperand *op = sample->op + operand;
    if (op->type == ZYDIS_OPERAND_TYPE_MEMORY)
        return KIND_MEMORY;
    if (op->type != ZYDIS_OPERAND_TYPE_REGISTER)
        return KIND_NONE;
    switch (ZydisRegisterGetClass(op->reg.value)) {
    case ZYDIS_REGCLASS_GPR8:
    case ZYDIS_REGCLASS_GPR16:
    case ZYDIS_REGCLASS_GPR32:
    case ZYDIS_REGCLASS_GPR64: return KIND_GENERAL;
    case ZYDIS_REGCLASS_XMM:
    case ZYDIS_REGCLASS_YMM:
    case ZYDIS_REGCLASS_ZMM: return KIND_VECTOR;
    case ZYDIS_REGCLASS_MASK: return KIND_MASK;
    case ZYDIS_REGCLASS_FLAGS: return KIND_FLAGS;
    default: return KIND_NONE;
    }
}

bool sample_reads(const struct sample *sample, unsigned operand)
{
    return sample->op[operand].actions & ZYDIS_OPERAND_ACTION_MASK_READ;
}

bool sample_is_address(const struct sample *sample, unsigned operand)
{
    return sample->op[operand].type == ZYDIS_OPERAND_TYPE_MEMORY &&
           sample->op[operand].mem.type == ZYDIS_MEMOP_TYPE_AGEN;
}

bool sample_may_keep(const struct sample *sample, unsigned operand)
{
    return sample->op[operand].actions & ZYDIS_OPERAND_ACTION_CONDWRITE;
}

bool sample_writes(const struct sample *sample, unsigned operand)
{
    return sample->op[operand].actions & ZYDIS_OPERAND_ACTION_MASK_WRITE;
}

bool sample_is_hidden(const struct sample *sample, unsigned operand)
{
    const ZydisDecodedOperand *op = sample->op + operand;
    return op->visibility != ZYDIS_OPERAND_VISIBILITY_EXPLICIT;
}

int sample_register(const struct sample *sample, unsigned operand)
{
    ZydisRegister full =
        ZydisRegisterGetLargestEnclosing(ZYDIS_MACHINE_MODE_LONG_64, sample->op[operand].reg.value);
    return ZydisRegisterGetId(full);
}

enum pattern sample_pattern(const struct sample *sample, bool hard)
{
    for (unsigned i = 0; i < sample->in.operand_count; i++)
        if (sample->op[i].element_type == ZYDIS_ELEMENT_TYPE_FLOAT32)
            return hard ? PATTERN_HARD_FLOAT : PATTERN_ONES_FLOAT;
    return hard ? PATTERN_HARD_DOUBLE : PATTERN_ONES_DOUBLE;
}

bool sample_is_wide(const struct sample *sample)
{
    for (unsigned i = 0; i < sample->in.operand_count_visible; i++)
        if (sample_kind(sample, i) == KIND_VECTOR &&
            ZydisRegisterGetClass(sample->op[i].reg.value) != ZYDIS_REGCLASS_XMM)
            return true;
    return false;
}

void sample_break(const struct sample *sample, struct body *body, int keep1, int keep2)
{
    for (unsigned i = 0; i < sample->in.operand_count; i++) {
        enum kind kind = sample_kind(sample, i);
        if ((int)i == keep1 || (int)i == keep2 || !sample_is_hidden(sample, i) ||
            !sample_reads(sample, i) || !sample_writes(sample, i))
            continue;
        if (kind == KIND_FLAGS) {
            body_hex(body, "4d85f6"); /* test r14, r14 */
        } else if (kind == KIND_GENERAL) {
            int number = sample_register(sample, i);
            if (number == BODY_RAX)
                body_hex(body, "31c0");
            else if (number == BODY_RDX)
                body_hex(body, "31d2");
            else if (number == BODY_RCX)
                body_hex(body, "31c9");
        }
    }
}
