// SPDX-License-Identifier: MIT
/*
 * All instruction forms that may be run, found by decoding: every opcode of every map, with every prefix that makes a form of its
 * own, with registers and with memory. Some 300,000 attempts (1,500,000 with EVEX), of which a tenth decodes, to some thousand
 * forms; it takes a tenth of a second, and needs no list that would age.
 */
#include "calibrate/internal.h"

#include <stdlib.h>
#include <string.h>

/* Of shifts, shuffles, additions: not 0 and not 1, which have encodings and costs of their own. */
enum { IMMEDIATE = 2 };

struct search {
    ZydisDecoder decoder;
    struct form *forms;
    size_t count, capacity;
    struct util_strings keys;  /* of forms that were found */
    struct util_strings ranks; /* keys in the order in which forms are wanted */
    bool only;                 /* no other forms than those */
    bool
        visible; /* only forms whose registers can all be chosen: others have keys of these, too (add eax, i) */
    bool failed; /* no memory */
};

/* ---- what is not run -------------------------------------------------------------------------------- */

/* Control flow, the system, what writes what the measuring needs, and what is not for ordinary programs. */
static bool category_may_run(ZydisInstructionCategory category)
{
    switch (category) {
    case ZYDIS_CATEGORY_CALL:
    case ZYDIS_CATEGORY_COND_BR:
    case ZYDIS_CATEGORY_UNCOND_BR:
    case ZYDIS_CATEGORY_RET:
    case ZYDIS_CATEGORY_SYSTEM:
    case ZYDIS_CATEGORY_SYSCALL:
    case ZYDIS_CATEGORY_SYSRET:
    case ZYDIS_CATEGORY_INTERRUPT:
    case ZYDIS_CATEGORY_IO:
    case ZYDIS_CATEGORY_IOSTRINGOP:
    case ZYDIS_CATEGORY_STRINGOP:
    case ZYDIS_CATEGORY_POP:
    case ZYDIS_CATEGORY_PUSH:
    case ZYDIS_CATEGORY_X87_ALU:
    case ZYDIS_CATEGORY_FCMOV:
    case ZYDIS_CATEGORY_MMX:
    case ZYDIS_CATEGORY_AMD3DNOW:
    case ZYDIS_CATEGORY_GATHER:
    case ZYDIS_CATEGORY_AVX2GATHER:
    case ZYDIS_CATEGORY_SCATTER:
    case ZYDIS_CATEGORY_SEGOP:
    case ZYDIS_CATEGORY_RDWRFSGS:
    case ZYDIS_CATEGORY_XSAVE:
    case ZYDIS_CATEGORY_XSAVEOPT:
    case ZYDIS_CATEGORY_RDRAND:
    case ZYDIS_CATEGORY_RDSEED:
    case ZYDIS_CATEGORY_RDPID:
    case ZYDIS_CATEGORY_RDPRU:
    case ZYDIS_CATEGORY_VTX:
    case ZYDIS_CATEGORY_SGX:
    case ZYDIS_CATEGORY_CET:
    case ZYDIS_CATEGORY_MPX:
    case ZYDIS_CATEGORY_PKU:
    case ZYDIS_CATEGORY_SERIALIZE:
    case ZYDIS_CATEGORY_TSX_LDTRK:
    case ZYDIS_CATEGORY_UINTR:
    case ZYDIS_CATEGORY_WAITPKG:
    case ZYDIS_CATEGORY_ENQCMD:
    case ZYDIS_CATEGORY_CLFLUSHOPT:
    case ZYDIS_CATEGORY_CLWB:
    case ZYDIS_CATEGORY_CLZERO:
    case ZYDIS_CATEGORY_KEYLOCKER:
    case ZYDIS_CATEGORY_KEYLOCKER_WIDE:
    case ZYDIS_CATEGORY_PADLOCK:
    case ZYDIS_CATEGORY_AMX_TILE:
    case ZYDIS_CATEGORY_KNC: return false;
    default: return true;
    }
}

static bool mnemonic_may_run(ZydisMnemonic mnemonic)
{
    switch (mnemonic) {
    case ZYDIS_MNEMONIC_STD:
    case ZYDIS_MNEMONIC_CLD:
    case ZYDIS_MNEMONIC_ENTER:
    case ZYDIS_MNEMONIC_LEAVE:
    case ZYDIS_MNEMONIC_LDMXCSR:
    case ZYDIS_MNEMONIC_VLDMXCSR:
    case ZYDIS_MNEMONIC_CLFLUSH:
    case ZYDIS_MNEMONIC_MASKMOVDQU:
    case ZYDIS_MNEMONIC_VMASKMOVDQU:
    case ZYDIS_MNEMONIC_XLAT:
    case ZYDIS_MNEMONIC_SALC:
    case ZYDIS_MNEMONIC_UD0:
    case ZYDIS_MNEMONIC_UD1:
    case ZYDIS_MNEMONIC_UD2:
    case ZYDIS_MNEMONIC_MONITORX:
    case ZYDIS_MNEMONIC_MWAITX:
    case ZYDIS_MNEMONIC_PAUSE:
    case ZYDIS_MNEMONIC_CPUID:
    case ZYDIS_MNEMONIC_MOVDIR64B:
    case ZYDIS_MNEMONIC_CMPXCHG8B:
    case ZYDIS_MNEMONIC_CMPXCHG16B: return false;
    default: return true;
    }
}

/* Registers that bodies need, or that are no ordinary ones. */
static bool operand_may_be(const ZydisDecodedOperand *operand)
{
    if (operand->type != ZYDIS_OPERAND_TYPE_REGISTER)
        return true;
    bool written = operand->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE;
    bool hidden = operand->visibility != ZYDIS_OPERAND_VISIBILITY_EXPLICIT;
    switch (ZydisRegisterGetClass(operand->reg.value)) {
    case ZYDIS_REGCLASS_X87:
    case ZYDIS_REGCLASS_MMX:
    case ZYDIS_REGCLASS_SEGMENT:
    case ZYDIS_REGCLASS_CONTROL:
    case ZYDIS_REGCLASS_DEBUG:
    case ZYDIS_REGCLASS_TEST:
    case ZYDIS_REGCLASS_TABLE:
    case ZYDIS_REGCLASS_BOUND:
    case ZYDIS_REGCLASS_TMM: return false;
    default: break;
    }
    int number = ZydisRegisterGetId(
        ZydisRegisterGetLargestEnclosing(ZYDIS_MACHINE_MODE_LONG_64, operand->reg.value));
    bool general = ZydisRegisterGetClass(operand->reg.value) <= ZYDIS_REGCLASS_GPR64;
    return !(general && hidden && written && number != BODY_RAX && number != BODY_RDX &&
             number != BODY_RCX);
}

static bool may_run(const ZydisDecodedInstruction *in, const ZydisDecodedOperand *operands)
{
    if (in->attributes & ZYDIS_ATTRIB_IS_PRIVILEGED || !category_may_run(in->meta.category) ||
        !mnemonic_may_run(in->mnemonic) || in->encoding == ZYDIS_INSTRUCTION_ENCODING_3DNOW ||
        in->encoding == ZYDIS_INSTRUCTION_ENCODING_XOP ||
        in->encoding == ZYDIS_INSTRUCTION_ENCODING_MVEX)
        return false;
    for (unsigned i = 0; i < in->operand_count; i++)
        if (!operand_may_be(operands + i))
            return false;
    return true;
}

/* ---- the search --------------------------------------------------------------------------------------------- */

static bool has_fixed_operand(const ZydisDecodedInstruction *in,
                              const ZydisDecodedOperand *operands)
{
    for (unsigned i = 0; i < in->operand_count_visible; i++)
        if (operands[i].visibility != ZYDIS_OPERAND_VISIBILITY_EXPLICIT)
            return true;
    return false;
}

static void try_bytes(struct search *search, const uint8_t *bytes)
{
    ZydisDecodedInstruction in;
    ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];
    struct form form = {0};
    uint32_t number;
    if (!ZYAN_SUCCESS(ZydisDecoderDecodeFull(&search->decoder, bytes, ZYDIS_MAX_INSTRUCTION_LENGTH,
                                             &in, operands)) ||
        !may_run(&in, operands) || (search->visible && has_fixed_operand(&in, operands)))
        return;
    size_t length = model_key(&in, operands, form.key);
    bool ranked = util_strings_find(&search->ranks, form.key, length, &form.rank);
    if ((search->only && !ranked) || util_strings_find(&search->keys, form.key, length, &number))
        return;
    form.rank = ranked ? form.rank : (uint32_t)(search->ranks.count + search->count);
    form.count = in.length;
    memcpy(form.bytes, bytes, in.length);
    search->failed |= !util_strings_add(&search->keys, form.key, length, &number) ||
                      !UTIL_PUSH(search->forms, search->count, search->capacity, form);
}

/* ModRM bytes: rbx or xmm3 as the other operand, memory at [rbx]; each number in the middle, which may be part of the
   opcode. The first two are tried with 3 and 4 alone if it is not: keys do not name registers. */
static void try_operands(struct search *search, uint8_t *bytes, size_t at)
{
    for (unsigned middle = 0; middle < 8; middle++)
        for (unsigned memory = 0; memory < 2; memory++) {
            bytes[at] = (uint8_t)((memory ? 0x03 : 0xc3) | middle << 3);
            try_bytes(search, bytes);
        }
}

/* The most common first. */
static void try_legacy(struct search *search)
{
    static const struct {
        uint8_t bytes[3], count;
    } prefixes[] = {{{0}, 0},    {{0x48}, 1},       {{0xf2}, 1},       {{0x66}, 1},
                    {{0xf3}, 1}, {{0x66, 0x48}, 2}, {{0xf3, 0x48}, 2}, {{0xf2, 0x48}, 2},
                    {{0xf0}, 1}, {{0xf0, 0x48}, 2}, {{0xf0, 0x66}, 2}},
      maps[] = {{{0}, 0}, {{0x0f}, 1}, {{0x0f, 0x38}, 2}, {{0x0f, 0x3a}, 2}};
    for (size_t p = 0; p < BASE_COUNT(prefixes); p++)
        for (size_t m = 0; m < BASE_COUNT(maps); m++)
            for (unsigned opcode = 0; opcode < 256; opcode++) {
                uint8_t bytes[ZYDIS_MAX_INSTRUCTION_LENGTH];
                size_t at = prefixes[p].count;
                memset(bytes, IMMEDIATE, sizeof bytes);
                memcpy(bytes, prefixes[p].bytes, at);
                memcpy(bytes + at, maps[m].bytes, maps[m].count);
                at += maps[m].count;
                bytes[at++] = (uint8_t)opcode;
                try_operands(search, bytes, at);
            }
}

static void try_vex(struct search *search)
{
    for (unsigned map = 1; map <= 3; map++)
        for (unsigned bits = 0; bits < 16; bits++) /* W, L, pp */
            for (unsigned opcode = 0; opcode < 256; opcode++) {
                uint8_t bytes[ZYDIS_MAX_INSTRUCTION_LENGTH] = {
                    [5 ... ZYDIS_MAX_INSTRUCTION_LENGTH - 1] = IMMEDIATE,
                    [0] = 0xc4,
                    (uint8_t)(0xe0 | map),
                    (uint8_t)(0x78 | (bits & 8) << 4 | (bits & 7)),
                    (uint8_t)opcode};
                try_operands(search, bytes, 4);
            }
}

static void try_evex(struct search *search)
{
    static const uint8_t ends[] = {0x08, 0x09, 0x89, 0x18}; /* plain, masked, zeroing, broadcast */
    for (unsigned map = 1; map <= 3; map++)
        for (unsigned bits = 0; bits < 24; bits++) /* length, W, pp */
            for (unsigned end = 0; end < BASE_COUNT(ends); end++)
                for (unsigned opcode = 0; opcode < 256; opcode++) {
                    uint8_t bytes[ZYDIS_MAX_INSTRUCTION_LENGTH] = {
                        [6 ... ZYDIS_MAX_INSTRUCTION_LENGTH - 1] = IMMEDIATE,
                        [0] = 0x62,
                        (uint8_t)(0xf0 | map),
                        (uint8_t)(0x7c | (bits & 4) << 5 | (bits & 3)),
                        (uint8_t)(ends[end] | (bits >> 3) << 5),
                        (uint8_t)opcode};
                    try_operands(search, bytes, 5);
                }
}

/* Addresses alone: each part is a form. */
static void try_addresses(struct search *search)
{
    static const uint8_t parts[][7] = {{0x03},                    /* [rbx] */
                                       {0x43, 1},                 /* [rbx + 1] */
                                       {0x04, 0x33},              /* [rbx + rsi] */
                                       {0x44, 0x33, 1},           /* [rbx + rsi + 1] */
                                       {0x04, 0x75, 1, 0, 0, 0},  /* [rsi * 2 + 1] */
                                       {0x05, 1, 0, 0, 0},        /* [rip + 1] */
                                       {0x04, 0x25, 1, 0, 0, 0}}; /* [1] */
    for (size_t i = 0; i < BASE_COUNT(parts); i++)
        for (unsigned width = 0; width < 3; width++) {
            uint8_t bytes[ZYDIS_MAX_INSTRUCTION_LENGTH] = {0x48, 0x8d};
            size_t at = 2;
            if (width) {
                bytes[0] = width == 1 ? 0x8d : 0x66;
                bytes[1] = 0x8d;
                at = width;
            }
            memcpy(bytes + at, parts[i], sizeof parts[i]);
            try_bytes(search, bytes);
        }
}

/* What being taken costs is a figure of the machine, which bounds count by branch. A jump is executed as a branch is: measured by itself it
   would be what follows it at once, more jumps in a line than are predicted, and each takes a dozen cycles. */
static void add_branches(struct search *search)
{
    static const struct form branches[] = {
        {.key = "jz_i", .bytes = {0x74, 0}, .count = 2, .plain = true},
        {.key = "jmp_i", .bytes = {0x74, 0}, .count = 2, .plain = true},
    };
    for (size_t i = 0; i < BASE_COUNT(branches); i++)
        search->failed |= !UTIL_PUSH(search->forms, search->count, search->capacity, branches[i]);
}

static int by_rank(const void *a, const void *b)
{
    uint32_t one = ((const struct form *)a)->rank, two = ((const struct form *)b)->rank;
    return (one > two) - (one < two);
}

static void add_ranks(struct search *search, const char *const *keys, size_t count)
{
    uint32_t number;
    for (size_t i = 0; i < count; i++)
        search->failed |= !util_strings_add(&search->ranks, keys[i], strlen(keys[i]), &number);
}

bool forms_find(bool avx512, const struct form_keys *only, struct form **forms, size_t *count)
{
    struct search search = {.only = only};
    ZydisDecoderInit(&search.decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
    add_ranks(&search, only ? only->keys : common_forms, only ? only->count : common_form_count);
    add_ranks(&search, kernel_candidates, kernel_candidate_count);
    add_branches(&search);
    try_addresses(&search);
    search.visible = true;
    try_legacy(&search);
    search.visible = false;
    try_legacy(&search);
    try_vex(&search);
    if (avx512)
        try_evex(&search);
    util_strings_free(&search.keys);
    util_strings_free(&search.ranks);
    if (search.failed) {
        free(search.forms);
        return false;
    }
    qsort(search.forms, search.count, sizeof *search.forms, by_rank);
    *forms = search.forms;
    *count = search.count;
    return true;
}
