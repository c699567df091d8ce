// SPDX-License-Identifier: MIT
/*
 * The clone's code: registers are put away, then for each run they are fetched again, the time stamp counter is read, the loop's
 * blocks follow as often as there are copies, and what leaves the loop comes to a second reading.
 *
 * An instruction keeps its prefixes, opcode, register and immediate; the address field becomes ModRM, SIB and 32 bits that are an address. No
 * decoded form is encoded anew: another encoding of it might be another form.
 */
#include "clone/internal.h"

#include <stdlib.h>
#include <string.h>

enum {
    CODE_LINE = 64,
    JUMP_BYTES = 5,
    OUTS_MAX = 64,
    LABEL_AGAIN = 1 << 30,
    LABEL_END,
    LABEL_INTO, /* of a nest: into its loop */
    LABEL_EXIT,
    LABEL_OUT = LABEL_EXIT + WIRE_CLONE_EXITS_MAX, /* of a nest: out of its loop, by target */
    ABSOLUTE = 0x25,
};

#define CONTROL(member) (uint32_t) offsetof(struct wire_clone_control, member)

struct jump { /* 4 bytes at `at`, relative to what follows them */
    uint32_t at, label;
};

struct output {
    struct body *body;
    uint8_t *bytes;
    size_t count, capacity;
    struct wire_clone_fixup *fixups;
    size_t fixup_count, fixup_capacity;
    struct wire_clone_fill *fills;
    size_t fill_count, fill_capacity;
    struct jump *jumps;
    size_t jump_count, jump_capacity;
    uint32_t *starts; /* of blocks */
    struct clone_place *places;
    size_t place_count, place_capacity;
    uint32_t loop_start, loop_end;
    uint32_t again, end, into, exits[WIRE_CLONE_EXITS_MAX];
    uint32_t outs[OUTS_MAX], out_labels[OUTS_MAX], out_count; /* out_labels: where they lead */
    uint32_t saved;                                           /* bit r: register r is put away */
    bool failed;                                              /* no memory */
};

/* ---- bytes --------------------------------------------------------------------------------------------------- */

static void put(struct output *out, const void *bytes, size_t count)
{
    if (out->failed || !UTIL_GROW(out->bytes, out->capacity, out->count + count)) {
        out->failed = true;
        return;
    }
    memcpy(out->bytes + out->count, bytes, count);
    out->count += count;
}
#define PUT(out, ...)                                                                              \
    put(out, (const uint8_t[]){__VA_ARGS__}, sizeof((const uint8_t[]){__VA_ARGS__}))

static void put_fixup(struct output *out, enum wire_clone_fixup_kind kind, int64_t value)
{
    static const uint8_t nothing[8];
    struct wire_clone_fixup fixup = {(uint32_t)out->count, kind, value};
    if (!UTIL_PUSH(out->fixups, out->fixup_count, out->fixup_capacity, fixup))
        out->failed = true;
    put(out, nothing, kind == WIRE_CLONE_IMAGE ? 8 : 4);
}

static void put_yard(struct output *out, uint32_t offset)
{
    put_fixup(out, WIRE_CLONE_YARD, offset);
}

static void put_label(struct output *out, uint32_t label)
{
    static const uint8_t nothing[4];
    struct jump jump = {(uint32_t)out->count, label};
    if (!UTIL_PUSH(out->jumps, out->jump_count, out->jump_capacity, jump))
        out->failed = true;
    put(out, nothing, sizeof nothing);
}

static void put_jump(struct output *out, uint32_t label)
{
    PUT(out, 0xe9);
    put_label(out, label);
}

/* What follows is, in the program, at that address. */
static void note_place(struct output *out, uint64_t address)
{
    struct clone_place place = {(uint32_t)out->count, address};
    if (out->body->twin && !UTIL_PUSH(out->places, out->place_count, out->place_capacity, place))
        out->failed = true;
}

/* opcode: 0x89 stores, 0x8b loads, 64 bits. */
static void put_move(struct output *out, uint8_t opcode, unsigned reg, uint32_t offset)
{
    PUT(out, (uint8_t)(0x48 | (reg >> 3) << 2), opcode, (uint8_t)((reg & 7) << 3 | 4), ABSOLUTE);
    put_yard(out, offset);
}

static void put_store(struct output *out, unsigned reg, uint32_t offset)
{
    put_move(out, 0x89, reg, offset);
}

static void put_load(struct output *out, unsigned reg, uint32_t offset)
{
    put_move(out, 0x8b, reg, offset);
}

/* ---- around the loop -------------------------------------------------------------------------------------------- */

static uint32_t general_at(unsigned reg)
{
    return CONTROL(general) + reg * 8;
}

static uint32_t line_at(uint32_t offset)
{
    return (uint32_t)offsetof(struct wire_clone_yard, lines) + offset;
}

/* lfence; rdtsc; rax = the whole counter */
static void put_stamp(struct output *out)
{
    PUT(out, 0x0f, 0xae, 0xe8, 0x0f, 0x31, 0x48, 0xc1, 0xe2, 32, 0x48, 0x09, 0xd0);
}

/* Words of fixed addresses that the loop stores to start each run as the first. False: too many. */
static bool put_cells(struct output *out, bool first)
{
    const struct body *body = out->body;
    unsigned count = 0;
    for (size_t o = 0; body && !body->twin && o < body->operand_count; o++) {
        const struct operand *operand = &body->operands[o];
        if (!operand->fixed || !operand->linked || !operand->stores || operand->bytes > 8)
            continue;
        if (count == WIRE_CLONE_CELLS_MAX)
            return false;
        uint32_t kept = CONTROL(cells) + 8 * count++, cell = line_at(operand->at[0]);
        put_load(out, BASE_RAX, first ? cell : kept);
        put_store(out, BASE_RAX, first ? kept : cell);
    }
    return true;
}

/* lahf; seto %al; mov %ax, */
static void put_flags(struct output *out, uint32_t offset)
{
    PUT(out, 0x9f, 0x0f, 0x90, 0xc0, 0x66, 0x89, 0x04, ABSOLUTE);
    put_yard(out, offset);
}

/* mov , %ax; add $127, %al; sahf */
static void put_flags_back(struct output *out)
{
    PUT(out, 0x66, 0x8b, 0x04, ABSOLUTE);
    put_yard(out, CONTROL(flags));
    PUT(out, 0x04, 0x7f, 0x9e);
}

static bool put_first(struct output *out)
{
    for (unsigned r = 0; r < BASE_GENERAL_REGISTERS; r++)
        if (out->saved >> r & 1)
            put_store(out, r, general_at(r));
    put_flags(out, CONTROL(flags));
    return put_cells(out, true);
}

static void put_again(struct output *out)
{
    out->again = (uint32_t)out->count;
    put_cells(out, false);
    put_stamp(out);
    put_store(out, BASE_RAX, CONTROL(start));
    put_flags_back(out);
    for (unsigned r = 0; r < BASE_GENERAL_REGISTERS; r++)
        if (out->saved >> r & 1)
            put_load(out, r, general_at(r));
    PUT(out, 0x0f, 0xae, 0xe8); /* lfence */
}

/* nops, until `further` bytes from here are at that place in a line of code */
static void put_nops(struct output *out, size_t further, size_t place)
{
    while ((out->count + further) % CODE_LINE != place && !out->failed)
        PUT(out, 0x90);
}

/* So that the loop begins at that place in a line of code. */
static void put_again_before(struct output *out, size_t place)
{
    struct output before = *out;
    put_again(out);
    size_t bytes = out->count - before.count;
    out->count = before.count;
    out->fixup_count = before.fixup_count;
    put_nops(out, bytes, place);
    put_again(out);
}

static void put_end(struct output *out)
{
    out->end = (uint32_t)out->count;
    put_store(out, BASE_RAX, CONTROL(last));
    put_store(out, BASE_RCX, CONTROL(last) + 8);
    put_store(out, BASE_RDX, CONTROL(last) + 16);
    put_flags(out, CONTROL(last_flags));
    put_stamp(out);
    put_move(out, 0x2b, BASE_RAX, CONTROL(start)); /* sub , %rax */
    put_load(out, BASE_RCX, CONTROL(repeat));
    PUT(out, 0x0f, 0xb6, 0xd1);       /* movzbl %cl, %edx */
    PUT(out, 0x48, 0x01, 0x04, 0xd5); /* add %rax, (,%rdx,8) */
    put_yard(out, CONTROL(ticks));
    PUT(out, 0x48, 0xff, 0xc9); /* dec %rcx */
    put_store(out, BASE_RCX, CONTROL(repeat));
    put_move(out, 0x29, BASE_RAX, CONTROL(limit)); /* sub %rax, */
    PUT(out, 0x72, 9);                             /* jb: over what follows */
    PUT(out, 0x48, 0x85, 0xc9, 0x0f, 0x85);        /* test %rcx, %rcx; jnz */
    put_label(out, LABEL_AGAIN);
    PUT(out, 0xff, 0x24, ABSOLUTE); /* jmp * */
    put_yard(out, CONTROL(leave));
}

static void put_exits(struct output *out, uint32_t count)
{
    for (uint32_t e = 0; e < count; e++) {
        out->exits[e] = (uint32_t)out->count;
        PUT(out, 0x48, 0xc7, 0x04, ABSOLUTE); /* movq $e, */
        put_yard(out, CONTROL(exit));
        PUT(out, (uint8_t)e, 0, 0, 0);
        if (e + 1 < count)
            put_jump(out, LABEL_END);
    }
}

/* ---- around a nest's loop ---------------------------------------------------------------------------------------- */

static void put_away(struct output *out)
{
    put_store(out, BASE_RAX, general_at(BASE_RAX));
    put_store(out, BASE_RDX, general_at(BASE_RDX));
    put_flags(out, CONTROL(flags));
}

static void put_back(struct output *out)
{
    put_flags_back(out);
    put_load(out, BASE_RDX, general_at(BASE_RDX));
    put_load(out, BASE_RAX, general_at(BASE_RAX));
}

/* rax = counter, as it was before registers were put away */
static void put_counter(struct output *out, unsigned counter)
{
    if (counter == BASE_RAX || counter == BASE_RDX)
        put_load(out, BASE_RAX, general_at(counter));
    else
        PUT(out, (uint8_t)(0x48 | (counter >> 3) << 2), 0x89, (uint8_t)(0xc0 | (counter & 7) << 3));
}

static void put_into(struct output *out, const struct cfg_progress *progress)
{
    put_away(out);
    put_counter(out, progress->counter);
    put_store(out, BASE_RAX, CONTROL(into_counter));
    put_stamp(out);
    put_store(out, BASE_RAX, CONTROL(into_ticks));
    put_back(out);
    PUT(out, 0x0f, 0xae, 0xe8); /* lfence */
}

/* add %rax, (%rdx) */
static void put_add(struct output *out, uint32_t offset)
{
    PUT(out, 0x48, 0x01, 0x82);
    put_yard(out, offset);
}

static void put_out(struct output *out, const struct cfg_progress *progress)
{
    _Static_assert(sizeof(struct wire_clone_slot) == 16 && WIRE_CLONE_SLOTS <= 128, "in the code");
    put_away(out);
    put_stamp(out);
    put_move(out, 0x2b, BASE_RAX, CONTROL(into_ticks)); /* sub , %rax */
    put_load(out, BASE_RDX, CONTROL(executions));
    PUT(out, 0x48, 0xff, 0xc2); /* inc %rdx */
    put_store(out, BASE_RDX, CONTROL(executions));
    PUT(out, 0x83, 0xe2, WIRE_CLONE_SLOTS - 1, 0xc1, 0xe2, 4); /* and , %edx; shl $4, %edx */
    put_add(out, CONTROL(slots) + (uint32_t)offsetof(struct wire_clone_slot, ticks));
    put_counter(out, progress->counter);
    put_move(out, 0x2b, BASE_RAX, CONTROL(into_counter));
    if (progress->bytes == 4)
        PUT(out, 0x48, 0x98); /* cdqe */
    if (progress->kind == CFG_PROGRESS_COUNTER)
        put_add(out, CONTROL(slots) + (uint32_t)offsetof(struct wire_clone_slot, progress));
    put_back(out);
}

/* All that leads into the loop and out of it. */
static void put_crossings(struct output *out)
{
    struct cfg_progress progress = {0};
    const struct clone_request *request = out->body->request;
    if (!out->body->inner)
        return;
    cfg_progress(request->flow, request->code, request->loop, &progress);
    out->into = (uint32_t)out->count;
    put_into(out, &progress);
    put_jump(out, out->body->head);
    for (uint32_t i = 0; i < out->out_count; i++) {
        out->outs[i] = (uint32_t)out->count;
        put_out(out, &progress);
        put_jump(out, out->out_labels[i]);
    }
}

/* ---- instructions ----------------------------------------------------------------------------------------------- */

/* Prefixes and opcode without what says that the address has registers of above 7, or a segment. */
static void plain_prefixes(const ZydisDecodedInstruction *in, uint8_t *bytes)
{
    for (unsigned p = 0; p < in->raw.prefix_count; p++)
        if (bytes[p] == 0x64 || bytes[p] == 0x65)
            bytes[p] = 0x3e; /* DS: nothing */
    switch (in->encoding) {
    case ZYDIS_INSTRUCTION_ENCODING_VEX:
        if (in->raw.vex.size == 3)
            bytes[in->raw.vex.offset + 1] |= 0x60;
        break;
    case ZYDIS_INSTRUCTION_ENCODING_XOP: bytes[in->raw.xop.offset + 1] |= 0x60; break;
    case ZYDIS_INSTRUCTION_ENCODING_EVEX: bytes[in->raw.evex.offset + 1] |= 0x60; break;
    default:
        for (unsigned p = 0; p < in->raw.prefix_count; p++)
            if ((bytes[p] & 0xf0) == 0x40)
                bytes[p] &= 0xfc;
    }
}

/* False: it would be too long for an instruction. */
static bool put_operand(struct output *out, const ZydisDecodedInstruction *in, const uint8_t *code,
                        uint16_t at)
{
    uint8_t before[ZYDIS_MAX_INSTRUCTION_LENGTH];
    unsigned modrm = in->raw.modrm.offset;
    unsigned behind = modrm + 1U + (in->raw.sib.offset ? 1 : 0) + in->raw.disp.size / 8;
    if (modrm + 6 + (in->length - behind) > ZYDIS_MAX_INSTRUCTION_LENGTH)
        return false;
    memcpy(before, code, modrm);
    plain_prefixes(in, before);
    put(out, before, modrm);
    PUT(out, (uint8_t)((code[modrm] & 0x38) | 4), ABSOLUTE);
    put_yard(out, line_at(at));
    put(out, code + behind, in->length - behind);
    return true;
}

/* An instruction as it is, but for what is relative to where it stands. */
static void put_same(struct output *out, const ZydisDecodedInstruction *in, const uint8_t *code,
                     uint64_t address)
{
    unsigned at = in->raw.disp.offset, behind = at + 4;
    bool relative = in->raw.modrm.offset && in->raw.modrm.mod == 0 && in->raw.modrm.rm == 5;
    if (!relative || in->raw.disp.size != 32) {
        put(out, code, in->length);
        return;
    }
    uint64_t target = address + in->length + (uint64_t)in->raw.disp.value;
    put(out, code, at);
    put_fixup(out, WIRE_CLONE_RELATIVE, (int64_t)(target - (in->length - at)));
    put(out, code + behind, in->length - behind);
}

/* lea (%rip): its result as a constant, wherever the clone lies. False: of less than 64 bits. */
static bool put_address(struct output *out, const ZydisDecodedInstruction *in, uint64_t address)
{
    unsigned reg = in->raw.modrm.reg | (in->raw.rex.R ? 8U : 0);
    if (in->operand_width != 64)
        return false;
    PUT(out, (uint8_t)(0x48 | reg >> 3), (uint8_t)(0xb8 | (reg & 7)));
    put_fixup(out, WIRE_CLONE_IMAGE,
              (int64_t)(address + in->length + (uint64_t)in->raw.disp.value));
    return true;
}

static bool put_instruction(struct output *out, uint32_t number, unsigned copy)
{
    struct body *body = out->body;
    const struct bounds_instruction *instruction = &body->code.instructions[number];
    const uint8_t *code = bytes_at(body, instruction->address);
    ZydisDecodedInstruction in;
    ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];
    bool good = body_decode(instruction, code, &in, operands);
    size_t o = BASE_FIRST(i, body->operand_count, body->operands[i].instruction >= number);
    if (good && body->twin)
        put_same(out, &in, code, instruction->address);
    else if (good && o < body->operand_count && body->operands[o].instruction == number)
        good = put_operand(out, &in, code, body->operands[o].at[copy]);
    else if (good && in.mnemonic == ZYDIS_MNEMONIC_LEA &&
             operands[1].mem.base == ZYDIS_REGISTER_RIP)
        good = put_address(out, &in, instruction->address);
    else if (good)
        put_same(out, &in, code, instruction->address);
    return good || refuse(body, CLONE_NO_FIELD, instruction->address);
}

/* ---- where control goes -------------------------------------------------------------------------------------------- */

static uint64_t target_of(const struct bounds_instruction *instruction)
{
    for (unsigned k = 0; k < instruction->operand_count; k++)
        if (instruction->operands[k].kind == BOUNDS_IMMEDIATE)
            return instruction->address + instruction->length +
                   (uint64_t)instruction->operands[k].value;
    return 0;
}

static bool is_inner(const struct body *body, uint32_t index)
{
    return body->inner && body->request->flow->blocks[body->blocks[index]].loop == body->inner;
}

/* Of a nest: between its loop and what is around it lie time stamps. */
static bool cross(struct output *out, uint32_t from, uint32_t *label)
{
    const struct body *body = out->body;
    uint32_t i = 0, to = *label;
    if (!body->inner || is_inner(body, from) == is_inner(body, to))
        return true;
    *label = LABEL_INTO;
    if (is_inner(body, to))
        return to == body->head || refuse(out->body, CLONE_NO_LOOP, 0);
    while (i < out->out_count && out->out_labels[i] != to)
        i++;
    if (i == OUTS_MAX)
        return refuse(out->body, CLONE_LONG, 0);
    out->out_labels[i] = to;
    out->out_count += i == out->out_count;
    *label = LABEL_OUT + i;
    return true;
}

static bool exit_of(struct body *body, uint64_t address, uint32_t *label)
{
    uint32_t e = 0;
    while (e < body->exit_count && body->exits[e] != address)
        e++;
    if (e == WIRE_CLONE_EXITS_MAX)
        return refuse(body, CLONE_LONG, address);
    if (e == body->exit_count)
        body->exits[body->exit_count++] = address;
    *label = LABEL_EXIT + e;
    return true;
}

/* The label of an address to which block `from` of copy `copy` goes: a block's number through all copies, what leads into
   a nest's loop or out of it, or an exit. False: too many. */
static bool label_of(struct output *out, uint64_t address, uint32_t from, unsigned copy,
                     uint32_t *label)
{
    struct body *body = out->body;
    const struct cfg_block *blocks = body->request->flow->blocks;
    size_t b = BASE_FIRST(i, body->block_count, blocks[body->blocks[i]].start >= address);
    if (b == body->block_count || blocks[body->blocks[b]].start != address)
        return exit_of(body, address, label);
    unsigned into = b == body->head ? (copy + 1) % body->copies : copy;
    *label = into * body->block_count + (uint32_t)b;
    return cross(out, from, label);
}

/* jcc near; loop and jrcxz have no such form, and lead over a jump that does not. */
static void put_branch(struct output *out, const struct bounds_instruction *instruction,
                       uint32_t label)
{
    const uint8_t *code = bytes_at(out->body, instruction->address);
    unsigned at = 0, length = instruction->length;
    while (at + 1 < length && (code[at] == 0x2e || code[at] == 0x3e || code[at] == 0x67 ||
                               code[at] == 0xf2 || (code[at] & 0xf0) == 0x40))
        at++;
    if ((code[at] & 0xfc) == 0xe0) {
        put(out, code, length - 1);
        PUT(out, 2);
        note_place(out, instruction->address + length);
        PUT(out, 0xeb, 5);
        note_place(out, target_of(instruction));
        put_jump(out, label);
        return;
    }
    PUT(out, 0x0f, (uint8_t)(0x80 | ((code[at] == 0x0f ? code[at + 1] : code[at]) & 15)));
    put_label(out, label);
}

static bool put_block(struct output *out, unsigned copy, uint32_t index)
{
    struct body *body = out->body;
    uint32_t number = copy * body->block_count + index, label;
    const struct cfg_block *block = &body->request->flow->blocks[body->blocks[index]];
    bool falls = true;
    out->starts[number] = (uint32_t)out->count;
    for (uint32_t i = body->first[index]; i < body->first[index + 1]; i++) {
        const struct bounds_instruction *instruction = &body->code.instructions[i];
        note_place(out, instruction->address);
        if (body->inner && body_is_bound(body, i)) {
            bool good = exit_of(body, instruction->address, &label);
            put_jump(out, label);
            return good;
        }
        if (!instruction->branches && !instruction->jumps) {
            if (!put_instruction(out, i, copy))
                return false;
            continue;
        }
        falls = instruction->branches;
        if (!label_of(out, target_of(instruction), index, copy, &label))
            return false;
        if (falls)
            put_branch(out, instruction, label);
        else if (label != number + 1)
            put_jump(out, label);
    }
    if (falls && !label_of(out, block->end, index, copy, &label))
        return false;
    if (falls)
        note_place(out, block->end);
    if (falls && label != number + 1)
        put_jump(out, label);
    return true;
}

/* Where a block begins in its line of code, in the program. How fast a loop is can depend on that: it is to be as it was. */
static size_t place_of(const struct body *body, uint32_t index)
{
    return body->request->flow->blocks[body->blocks[index]].start % CODE_LINE;
}

/* A nest's loop as well. Nothing falls into it but through time stamps. */
static void place_inner(struct output *out, uint32_t index)
{
    const struct body *body = out->body;
    const struct cfg_block *blocks = body->request->flow->blocks;
    uint32_t inner = body->request->loop;
    if (body->inner && blocks[body->blocks[index]].loop == inner &&
        !(index && blocks[body->blocks[index - 1]].loop == inner))
        put_nops(out, 0, place_of(body, index));
}

static bool put_loop(struct output *out)
{
    struct body *body = out->body;
    uint32_t head = body->head;
    body->exit_count = 0;
    note_place(out, body->request->flow->blocks[body->blocks[head]].start);
    if (body->inner)
        put_jump(out, LABEL_INTO);
    else if (head) /* the first block is not the one that is entered */
        put_jump(out, head);
    for (unsigned copy = 0; copy < body->copies; copy++)
        for (uint32_t b = 0; b < body->block_count; b++) {
            place_inner(out, b);
            if (!put_block(out, copy, b))
                return false;
        }
    out->starts[body->copies * body->block_count] = (uint32_t)out->count;
    return true;
}

static void settle_jumps(struct output *out)
{
    for (size_t j = 0; j < out->jump_count && !out->failed; j++) {
        uint32_t label = out->jumps[j].label, at = out->jumps[j].at;
        uint32_t to = label >= LABEL_OUT     ? out->outs[label - LABEL_OUT]
                      : label >= LABEL_EXIT  ? out->exits[label - LABEL_EXIT]
                      : label == LABEL_INTO  ? out->into
                      : label == LABEL_END   ? out->end
                      : label == LABEL_AGAIN ? out->again
                                             : out->starts[label];
        int32_t distance = (int32_t)(to - (at + 4));
        memcpy(out->bytes + at, &distance, sizeof distance);
    }
}

/* ---- what is filled in ------------------------------------------------------------------------------------------------ */

static void add_fill(struct output *out, const struct operand *operand, unsigned copy)
{
    const struct bounds_operand *from = operand_of(out->body, operand);
    bool constant = operand->stream.kind == BOUNDS_STRIDE_CONSTANT;
    uint64_t further = constant ? (uint64_t)operand->stream.stride * copy : 0;
    struct wire_clone_fill fill = {
        .to = operand->at[copy],
        .bytes = (uint8_t)operand->bytes,
        .segment = from->segment,
        .base = from->base == BOUNDS_NO_REGISTER ? -1 : (int8_t)from->base,
        .index = from->index == BOUNDS_NO_REGISTER ? -1 : (int8_t)from->index,
        .scale = from->scale,
        .flags = (uint8_t)((operand->relative ? WIRE_CLONE_FROM_IMAGE : 0) |
                           (operand->fixed ? WIRE_CLONE_NEEDED : 0)),
        .displacement = (int64_t)((uint64_t)operand->stream.offset + further)};
    if (!UTIL_PUSH(out->fills, out->fill_count, out->fill_capacity, fill))
        out->failed = true;
}

static void add_fills(struct output *out)
{
    const struct body *body = out->body;
    for (size_t o = 0; !body->twin && o < body->operand_count; o++)
        for (unsigned copy = 0; copy < body->copies; copy++)
            if (body->operands[o].loads && !body->operands[o].hints &&
                body->operands[o].stream.from_registers && (!copy || body->operands[o].linked))
                add_fill(out, &body->operands[o], copy);
}

/* ---- all of it ------------------------------------------------------------------------------------------------------------ */

static struct wire_clone *assemble(const struct output *out)
{
    size_t fixups = out->fixup_count * sizeof *out->fixups,
           fills = out->fill_count * sizeof *out->fills;
    size_t bytes = sizeof(struct wire_clone) + fixups + fills + out->count;
    struct wire_clone *made = calloc(1, bytes);
    if (!made)
        return NULL;
    *made = (struct wire_clone){.bytes = (uint32_t)bytes,
                                .version = WIRE_CLONE_VERSION,
                                .code_bytes = (uint32_t)out->count,
                                .fixups = (uint32_t)out->fixup_count,
                                .fills = (uint32_t)out->fill_count,
                                .loop_start = out->loop_start,
                                .loop_end = out->loop_end};
    uint8_t *at = (uint8_t *)(made + 1);
    memcpy(at, out->fixups, fixups);
    if (fills)
        memcpy(at + fixups, out->fills, fills);
    memcpy(at + fixups + fills, out->bytes, out->count);
    return made;
}

static void output_free(struct output *out)
{
    free(out->bytes);
    free(out->fixups);
    free(out->fills);
    free(out->jumps);
    free(out->places);
}

static bool emit_all(struct output *out)
{
    struct body *body = out->body;
    if (!put_first(out))
        return refuse(body, CLONE_LINES, 0);
    size_t jump = body->inner || body->head ? JUMP_BYTES : 0;
    put_again_before(out, (place_of(body, 0) + CODE_LINE - jump) % CODE_LINE);
    out->loop_start = (uint32_t)out->count;
    if (!put_loop(out))
        return false;
    put_crossings(out);
    out->loop_end = (uint32_t)out->count;
    put_exits(out, body->exit_count);
    put_end(out);
    settle_jumps(out);
    add_fills(out);
    if (out->failed)
        return out_of_memory(body);
    return out->count <= WIRE_CLONE_CODE_MAX || refuse(body, CLONE_LONG, 0);
}

bool emit_clone(struct body *body, struct emitted *emitted)
{
    const struct cfg *flow = body->request->flow;
    struct output out = {.body = body,
                         .saved = body->general_written | 1U << BASE_RAX | 1U << BASE_RCX |
                                  1U << BASE_RDX};
    out.starts = calloc((size_t)body->copies * body->block_count + 1, sizeof *out.starts);
    bool good = out.starts ? emit_all(&out) : out_of_memory(body);
    struct wire_clone *made = good ? assemble(&out) : NULL;
    struct clone_place *places = made ? out.places : NULL;
    if (made)
        out.places = NULL;
    output_free(&out);
    if (!made) {
        free(out.starts);
        return good ? out_of_memory(body) : false;
    }
    made->exit_count = (uint16_t)body->exit_count;
    memcpy(made->exits, body->exits, sizeof made->exits);
    made->lines = body->twin ? 0 : body->lines;
    made->copies = (uint8_t)body->copies;
    made->head = flow->blocks[body->blocks[body->head]].start;
    *emitted = (struct emitted){made, out.starts, places, out.place_count};
    return true;
}

/* mov $, %ecx; a round of rotations, each of which waits for the one before; dec %ecx; jnz */
static void put_chain(struct output *out, uint32_t cycles)
{
    uint32_t rounds = cycles / CLONE_CHAIN;
    if (!rounds)
        return;
    PUT(out, 0xb9);
    put(out, &rounds, sizeof rounds);
    size_t first = out->count;
    for (unsigned i = 0; i < CLONE_CHAIN; i++)
        PUT(out, 0x48, 0xd1, 0xc0);
    PUT(out, 0xff, 0xc9, 0x75, (uint8_t)(first - (out->count + 4)));
}

/* mov $, %ecx; into the loop and out of it; dec %ecx; jnz */
static void put_stamps(struct output *out, uint32_t rounds)
{
    const struct cfg_progress progress = {CFG_PROGRESS_COUNTER, BASE_RBX, 8, 1, 0, 0};
    PUT(out, 0xb9);
    put(out, &rounds, sizeof rounds);
    size_t first = out->count;
    put_into(out, &progress);
    PUT(out, 0xe9, 0, 0, 0, 0); /* as a nest jumps to its loop */
    put_out(out, &progress);
    int32_t distance = (int32_t)first - (int32_t)(out->count + 8);
    PUT(out, 0xff, 0xc9, 0x0f, 0x85);
    put(out, &distance, sizeof distance);
}

/* What `inside` puts, between stamps. */
static enum base_status make_known(void (*inside)(struct output *out, uint32_t value),
                                   uint32_t value, struct wire_clone **made)
{
    struct output out = {.saved = 1U << BASE_RAX | 1U << BASE_RCX | 1U << BASE_RDX};
    put_first(&out);
    put_again_before(&out, 0);
    inside(&out, value);
    put_exits(&out, 1);
    put_end(&out);
    settle_jumps(&out);
    struct wire_clone *known = out.failed ? NULL : assemble(&out);
    output_free(&out);
    if (!known)
        return BASE_NO_MEMORY;
    known->exit_count = 1;
    *made = known;
    return BASE_OK;
}

enum base_status clone_of_chain(uint32_t cycles, struct wire_clone **made)
{
    return make_known(put_chain, cycles, made);
}

enum base_status clone_of_stamps(struct wire_clone **made)
{
    return make_known(put_stamps, CLONE_STAMPS, made);
}
