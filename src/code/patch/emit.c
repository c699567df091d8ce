// SPDX-License-Identifier: MIT
/*
 * Instructions in another place. Sizes do not depend on where: short jumps always become near ones.
 *
 * A call cannot be one there: its return address would lie in code that no unwinder knows. It
 * becomes a push of the address that the program would have pushed, and a jump; the callee returns
 * behind the window.
 */
#include "patch/internal.h"

#include "isa/isa.h"
#include "wire/spans.h"

#include <string.h>

enum {
    PUSH_BYTES = 13, /* push $low; movl $high, 4(%rsp)             */
    OPERAND_PREFIX = 0x66,
    ADDRESS_PREFIX = 0x67,
};

/* ---- instructions -------------------------------------------------------------------------- */

unsigned code_opcode(const uint8_t *code, unsigned length)
{
    unsigned at = 0;
    for (; at + 1 < length; at++) {
        uint8_t byte = code[at];
        bool legacy = byte == 0x66 || byte == 0x67 || byte == 0xf0 || byte == 0xf2 ||
                      byte == 0xf3 || byte == 0x2e || byte == 0x36 || byte == 0x3e ||
                      byte == 0x26 || byte == 0x64 || byte == 0x65;
        if (!legacy && (byte & 0xf0) != 0x40)
            break;
    }
    return at;
}

unsigned code_nop(const uint8_t *code, size_t available)
{
    unsigned length = isa_length(code, available), at = 0;
    while (at + 1 < length && (code[at] == 0x66 || code[at] == 0x2e))
        at++;
    if (length && code[at] == 0x90 && length == at + 1)
        return length;
    return length > at + 2 && code[at] == 0x0f && code[at + 1] == 0x1f ? length : 0;
}

bool code_endbr(const uint8_t *code, size_t available)
{
    static const uint8_t endbr[PATCH_ENDBR_BYTES] = {0xf3, 0x0f, 0x1e, 0xfa};
    return available >= sizeof endbr && memcmp(code, endbr, sizeof endbr) == 0;
}

static bool has_prefix(const uint8_t *code, unsigned opcode, uint8_t prefix)
{
    return memchr(code, prefix, opcode) != NULL;
}

/* Would it find another operand once the return address has been pushed? opcode: offset of ff /2.
 */
static bool uses_stack(const uint8_t *code, unsigned opcode)
{
    uint8_t modrm = code[opcode + 1], mod = modrm >> 6, rm = modrm & 7;
    bool extended = opcode && (code[opcode - 1] & 0xf1) == 0x41;
    if (mod == 3 || rm != 4)
        return mod == 3 && rm == 4 && !extended;
    return (code[opcode + 2] & 7) == 4 && !extended;
}

/* Jumps and calls. */
static uint8_t form_of_flow(const struct isa_insn *insn, const uint8_t *code, unsigned opcode,
                            unsigned operand)
{
    if (has_prefix(code, opcode, OPERAND_PREFIX) ||
        (has_prefix(code, opcode, ADDRESS_PREFIX) && (code[opcode] & 0xfc) != 0xe0))
        return FORM_IMMOVABLE;
    if (insn->flow == ISA_BRANCH)
        return (code[opcode] & 0xfc) == 0xe0 ? FORM_COUNT : FORM_BRANCH;
    if (insn->flow == ISA_JUMP)
        return !insn->indirect ? FORM_JUMP : operand ? FORM_OPERAND : FORM_PLAIN;
    if (!insn->indirect)
        return FORM_CALL;
    return uses_stack(code, opcode) ? FORM_IMMOVABLE : FORM_CALL_FAR;
}

bool moved_of(const uint8_t *code, size_t available, uint64_t address, struct moved *moved)
{
    struct isa_insn insn;
    if (isa_decode(code, available, address, &insn) != BASE_OK ||
        isa_length(code, available) != insn.length)
        return false;
    unsigned opcode = code_opcode(code, insn.length);
    unsigned operand = isa_relative_operand(code, available);
    *moved = (struct moved){.form = operand ? FORM_OPERAND : FORM_PLAIN,
                            .length = insn.length,
                            .ends = insn.flow == ISA_JUMP || insn.flow == ISA_RETURN,
                            .target = insn.target};
    if (insn.flow == ISA_TRAP)
        moved->form = FORM_IMMOVABLE;
    else if (insn.flow == ISA_JUMP || insn.flow == ISA_BRANCH || insn.flow == ISA_CALL)
        moved->form = form_of_flow(&insn, code, opcode, operand);
    else if (operand && has_prefix(code, opcode, ADDRESS_PREFIX))
        moved->form = FORM_IMMOVABLE;
    return true;
}

/* ---- writing ------------------------------------------------------------------------------- */

struct output {
    uint8_t *bytes;
    size_t count;
    uint64_t at; /* run-time address of bytes[0] */
    bool reached;
};

static void put(struct output *output, const void *bytes, size_t count)
{
    memcpy(output->bytes + output->count, bytes, count);
    output->count += count;
}

static void put_byte(struct output *output, unsigned byte)
{
    output->bytes[output->count++] = (uint8_t)byte;
}

static bool fits_word(int64_t value)
{
    return value >= INT32_MIN && value <= INT32_MAX;
}

/* The distance from `behind` to the target. */
static void put_distance(struct output *output, uint64_t target, uint64_t behind)
{
    int64_t distance = (int64_t)(target - behind);
    int32_t word = (int32_t)distance;
    output->reached = output->reached && fits_word(distance);
    put(output, &word, sizeof word);
}

static void put_jump(struct output *output, uint64_t target)
{
    put_byte(output, 0xe9);
    put_distance(output, target, output->at + output->count + 4);
}

/* Leaves the flags as they are. */
static void put_push(struct output *output, uint64_t value)
{
    static const uint8_t store_high[] = {0xc7, 0x44, 0x24, 0x04};
    uint32_t low = (uint32_t)value, high = (uint32_t)(value >> 32);
    put_byte(output, 0x68);
    put(output, &low, sizeof low);
    put(output, store_high, sizeof store_high);
    put(output, &high, sizeof high);
}

static void put_operand(struct output *output, const uint8_t *code, unsigned length,
                        uint64_t address)
{
    unsigned operand = isa_relative_operand(code, length);
    int32_t displacement;
    memcpy(&displacement, code + operand, sizeof displacement);
    uint64_t target = address + length + (uint64_t)(int64_t)displacement;
    uint64_t behind = output->at + output->count + length;
    put(output, code, operand);
    put_distance(output, target, behind);
    put(output, code + operand + 4, length - operand - 4);
}

/* call *x: push, jmp *x. */
static void put_far_call(struct output *output, const uint8_t *code, unsigned length,
                         uint64_t address)
{
    uint8_t jump[ISA_MAX_LENGTH];
    unsigned opcode = code_opcode(code, length);
    memcpy(jump, code, length);
    jump[opcode + 1] = (uint8_t)((jump[opcode + 1] & ~0x38) | 4 << 3);
    put_push(output, address + length);
    if (isa_relative_operand(code, length))
        put_operand(output, jump, length, address);
    else
        put(output, jump, length);
}

/* loop, jrcxz have no near form: over a short jump that leads over a near one. */
static void put_count_branch(struct output *output, const uint8_t *code, unsigned length,
                             uint64_t target)
{
    put(output, code, length - 1);
    put_byte(output, 2);
    put_byte(output, 0xeb);
    put_byte(output, PATCH_JUMP_BYTES);
    put_jump(output, target);
}

static void put_instruction(struct output *output, const uint8_t *code, const struct moved *moved,
                            uint64_t address)
{
    unsigned opcode = code_opcode(code, moved->length);
    switch (moved->form) {
    case FORM_OPERAND: put_operand(output, code, moved->length, address); break;
    case FORM_JUMP: put_jump(output, moved->target); break;
    case FORM_BRANCH:
        put_byte(output, 0x0f);
        put_byte(output, 0x80 | ((code[opcode] == 0x0f ? code[opcode + 1] : code[opcode]) & 15));
        put_distance(output, moved->target, output->at + output->count + 4);
        break;
    case FORM_COUNT: put_count_branch(output, code, moved->length, moved->target); break;
    case FORM_CALL:
        put_push(output, address + moved->length);
        put_jump(output, moved->target);
        break;
    case FORM_CALL_FAR: put_far_call(output, code, moved->length, address); break;
    default: put(output, code, moved->length);
    }
}

size_t emit_prologue(const struct patch_plan *plan, uint64_t entry, uint64_t at,
                     uint8_t out[PATCH_COPY_MAX], bool *reached)
{
    struct output output = {.bytes = out, .at = at, .reached = true};
    bool ends = false;
    for (unsigned i = 0; i < plan->instructions && plan->kind != SPANS_PREPARED; i++) {
        unsigned start = plan->starts[i];
        struct moved moved;
        if (start >= plan->window_bytes ||
            output.count + PUSH_BYTES + ISA_MAX_LENGTH > PATCH_COPY_MAX - PATCH_JUMP_BYTES ||
            !moved_of(plan->original + start, plan->window_bytes - start, entry + start, &moved)) {
            *reached = false;
            return 0;
        }
        put_instruction(&output, plan->original + start, &moved, entry + start);
        ends = moved.ends || moved.form == FORM_CALL || moved.form == FORM_CALL_FAR;
    }
    if (!ends)
        put_jump(&output, entry + plan->window_bytes);
    *reached = output.reached;
    return output.count;
}

bool patch_emit_prologue(const struct patch_plan *plan, uint64_t entry, uint64_t at,
                         uint8_t out[PATCH_COPY_MAX])
{
    bool reached;
    return emit_prologue(plan, entry, at, out, &reached) == plan->copy_bytes && reached;
}

bool patch_emit_jump(uint64_t at, uint64_t to, uint8_t out[PATCH_JUMP_BYTES])
{
    struct output output = {.bytes = out, .at = at, .reached = true};
    put_jump(&output, to);
    return output.reached;
}

void patch_emit_bridge(uint64_t to, uint8_t out[PATCH_BRIDGE_BYTES])
{
    static const uint8_t jump[] = {0xff, 0x25, 0, 0, 0, 0}, padding[] = {0xcc, 0xcc};
    struct output output = {.bytes = out};
    put(&output, jump, sizeof jump);
    put(&output, &to, sizeof to);
    put(&output, padding, sizeof padding);
}

bool patch_emit_marker(uint64_t site, uint64_t at, uint32_t number, uint64_t handler,
                       uint8_t out[PATCH_MARKER_BYTES])
{
    static const uint8_t below[] = {0x48, 0x8d, 0x64, 0x24, 0x80}; /* lea -128(%rsp), %rsp */
    static const uint8_t above[] = {0x48, 0x8d, 0xa4, 0x24, 136, 0, 0, 0}; /* lea 136(%rsp), %rsp */
    static const uint8_t call[] = {0xff, 0x15};
    struct output output = {.bytes = out, .at = at, .reached = true};
    put(&output, below, sizeof below);
    put_byte(&output, 0x68);
    put(&output, &number, sizeof number);
    put(&output, call, sizeof call);
    put_distance(&output, at + PATCH_MARKER_BYTES - sizeof handler, at + output.count + 4);
    put(&output, above, sizeof above);
    put_jump(&output, site + PATCH_JUMP_BYTES);
    while (output.count < PATCH_MARKER_BYTES - sizeof handler)
        put_byte(&output, 0xcc);
    put(&output, &handler, sizeof handler);
    return output.reached;
}

/* Below the red zone: the flags, rdi, which the handler takes for a key, and the number. */
static void put_call(struct output *output, uint32_t number, size_t *call_at)
{
    static const uint8_t before[] = {0x48, 0x8d, 0x64, 0x24, 0x80, /* lea -128(%rsp), %rsp */
                                     0x9c, 0x57, 0x31, 0xff}; /* pushf; push %rdi; xor %edi, %edi */
    static const uint8_t call[] = {0xff, 0x15, 0, 0, 0, 0};
    static const uint8_t after[] = {0x48, 0x8d, 0x64, 0x24, 0x08, /* lea 8(%rsp), %rsp */
                                    0x5f, 0x9d,                   /* pop %rdi; popf */
                                    0x48, 0x8d, 0xa4, 0x24, 0x80,
                                    0,    0,    0}; /* lea 128(%rsp), %rsp */
    put(output, before, sizeof before);
    put_byte(output, 0x68);
    put(output, &number, sizeof number);
    put(output, call, sizeof call);
    *call_at = output->count - 4;
    put(output, after, sizeof after);
}

enum came_out { BEHIND, BEFORE_JUMP, NOWHERE, NOT_WRITTEN };

/* Jumps that end the window at a marker that stands in front of them are left out. taken: the last one is a conditional jump, of
   which *branch_at is where its distance is written. Returns how control comes out behind what was written. */
static enum came_out put_window(struct output *output, const struct patch_plan *plan,
                                uint64_t entry, enum patch_site where, size_t *branch_at)
{
    struct moved moved = {0};
    for (unsigned i = 0; i < plan->instructions; i++) {
        unsigned start = plan->starts[i];
        if (output->count + PUSH_BYTES + ISA_MAX_LENGTH > PATCH_COPY_MAX ||
            !moved_of(plan->original + start, plan->window_bytes - start, entry + start, &moved))
            return NOT_WRITTEN;
        if (where == PATCH_SITE_FALL && moved.form == FORM_JUMP)
            return BEFORE_JUMP;
        put_instruction(output, plan->original + start, &moved, entry + start);
        *branch_at = moved.form == FORM_BRANCH ? output->count - 4 : 0;
    }
    return moved.ends || moved.form == FORM_CALL || moved.form == FORM_CALL_FAR ? NOWHERE : BEHIND;
}

static void put_distance_at(struct output *output, size_t at, size_t to)
{
    int32_t distance = (int32_t)(to - (at + 4));
    memcpy(output->bytes + at, &distance, sizeof distance);
}

/* False: that cannot be. */
static bool put_site(struct output *output, const struct patch_plan *plan, uint64_t entry,
                     enum patch_site where, uint64_t to, uint32_t number, size_t *call_at)
{
    uint64_t behind = entry + plan->window_bytes;
    size_t branch_at = 0;
    if (where == PATCH_SITE_START)
        put_call(output, number, call_at);
    enum came_out out = put_window(output, plan, entry, where, &branch_at);
    if (where == PATCH_SITE_START) {
        if (out == BEHIND)
            put_jump(output, behind);
        return out == BEHIND || out == NOWHERE;
    }
    if (out == NOWHERE || out == NOT_WRITTEN)
        return false;
    if (where == PATCH_SITE_TAKEN) {
        if (!branch_at)
            return false;
        put_jump(output, behind);
        put_distance_at(output, branch_at, output->count);
    }
    put_call(output, number, call_at);
    put_jump(output, to);
    return true;
}

size_t patch_emit_site(const struct patch_plan *plan, uint64_t entry, enum patch_site where,
                       uint64_t to, uint64_t at, uint32_t number, uint64_t handler,
                       uint8_t out[PATCH_SITE_BYTES])
{
    struct output output = {.bytes = out, .at = at, .reached = true};
    size_t call_at = 0;
    if (!put_site(&output, plan, entry, where, to, number, &call_at))
        return 0;
    put_distance_at(&output, call_at, output.count);
    put(&output, &handler, sizeof handler);
    return output.reached ? output.count : 0;
}
