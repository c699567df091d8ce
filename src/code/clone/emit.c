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
    BRANCH_BYTES = 6,
    ADD_BYTES = 7, /* of a register, by 32 bits */
    OUTS_MAX = 64,
    LABEL_AGAIN = 1 << 30,
    LABEL_END,
    LABEL_INTO, /* of a nest: into its loop */
    /* of one that walks: on to the next round of all copies, and to the first of a lap */
    LABEL_TURN,
    LABEL_LAP,
    LABEL_LAST_LAP,
    LABEL_STAMP,
    LABEL_LAPPED,   /* of one that replays: no more outcomes */
    LABEL_STRANGER, /* of one that is gated: who does not enter */
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
    struct wire_clone_walk *walks;
    size_t walk_count, walk_capacity;
    struct jump *jumps;
    size_t jump_count, jump_capacity;
    uint32_t *starts, *ends; /* of blocks */
    struct clone_place *places;
    size_t place_count, place_capacity;
    uint32_t loop_start, loop_end;
    uint32_t again, end, into, turn, turn_end, lap, last_lap, stamp, lapped,
        exits[WIRE_CLONE_EXITS_MAX];
    uint32_t outs[OUTS_MAX], out_labels[OUTS_MAX], out_count; /* out_labels: where they lead */
    uint32_t gate, stranger, branch; /* branch: the last conditional one that was put */
    uint64_t branch_address;         /* in the program */
    uint32_t saved;                  /* bit r: register r is put away */
    bool failed;                     /* no memory */
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
    struct clone_place place = {(uint32_t)out->count, PLAIN_ADDRESS(address)};
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

/* Has it a stack of its own? Copies that record outcomes have the program's. */
static bool has_stack(const struct body *body)
{
    return body && body->splice && !body->twin;
}

/* On the stack, and dead when an iteration begins. */
static bool is_below(const struct body *body, const struct operand *operand)
{
    return operand->stack && operand->at[0] < body->stack_at;
}

/* Words of fixed addresses that the loop stores to start each run as the first. False: too many. */
static bool put_cells(struct output *out, bool first)
{
    const struct body *body = out->body;
    unsigned count = 0;
    for (size_t o = 0; body && !body->twin && o < body->operand_count; o++) {
        const struct operand *operand = &body->operands[o];
        if (!operand->fixed || !operand->linked || !operand->stores || operand->bytes > 8 ||
            is_below(body, operand))
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

/* ---- registers that walk, and those that are there in place of memory --------------------------------------------- */

/* REX.W, opcode, an operation or 0, 32 bits */
static void put_immediate(struct output *out, uint8_t opcode, unsigned operation, unsigned reg,
                          int64_t value)
{
    int32_t immediate = (int32_t)value;
    PUT(out, (uint8_t)(0x48 | reg >> 3), opcode, (uint8_t)(0xc0 | operation << 3 | (reg & 7)));
    put(out, &immediate, sizeof immediate);
}

static uint32_t walk_at(uint32_t walk)
{
    return CONTROL(walks) + walk * 8;
}

/* movq $, */
static void put_walks_first(struct output *out)
{
    const struct body *body = out->body;
    for (uint32_t w = 0; body && w < body->walk_count; w++) {
        int32_t start = (int32_t)(-body->walks[w].unit * body->walk_turns);
        PUT(out, 0x48, 0xc7, 0x04, ABSOLUTE);
        put_yard(out, walk_at(w));
        put(out, &start, sizeof start);
    }
}

static void put_walks(struct output *out, bool back)
{
    const struct body *body = out->body;
    for (uint32_t w = 0; body && w < body->walk_count; w++)
        if (back)
            put_store(out, body->walks[w].reg, walk_at(w));
        else
            put_load(out, body->walks[w].reg, walk_at(w));
}

/* On by all copies; behind the last place to `behind`. The first register says when. */
static void put_turn(struct output *out, uint32_t behind)
{
    const struct body *body = out->body;
    for (uint32_t w = body->walk_count; w-- > 0;)
        put_immediate(out, 0x81, 0, body->walks[w].reg, body->walks[w].unit * body->copies);
    PUT(out, 0x0f, body->walks[0].unit > 0 ? 0x8d : 0x8e); /* jge, jle */
    put_label(out, behind);
}

/* From behind the last place to the first, and to `label`. */
static void put_lap(struct output *out, uint32_t label)
{
    const struct body *body = out->body;
    for (uint32_t w = 0; w < body->walk_count; w++)
        put_immediate(out, 0xc7, 0, body->walks[w].reg, -body->walks[w].unit * body->walk_turns);
    PUT(out, 0x48, 0xff, 0x04, ABSOLUTE); /* incq */
    put_yard(out, CONTROL(laps));
    put_jump(out, label);
}

static void put_encoded(struct output *out, const struct encoded *encoded)
{
    unsigned at = encoded->yard_at ? encoded->yard_at : encoded->count;
    put(out, encoded->bytes, at);
    if (at == encoded->count)
        return;
    put_yard(out, (uint32_t)encoded->yard);
    put(out, encoded->bytes + at + 4, encoded->count - at - 4);
}

static bool put_constants(struct output *out)
{
    const struct body *body = out->body;
    struct encoded encoded;
    uint32_t put_already = 0;
    for (size_t o = 0; body && body->variant == CLONE_FP && o < body->operand_count; o++) {
        const struct operand *operand = &body->operands[o];
        if (operand->constant == BOUNDS_NO_REGISTER || put_already >> operand->constant & 1)
            continue;
        put_already |= 1U << operand->constant;
        if (!part_constant(body, operand, &encoded))
            return false;
        put_encoded(out, &encoded);
    }
    return true;
}

/* ---- outcomes of branches ------------------------------------------------------------------------------------------- */

static bool replays(const struct body *body)
{
    return body && body->outcome_count && !body->twin;
}

/* incq */
static void put_next(struct output *out, unsigned reg)
{
    PUT(out, (uint8_t)(0x48 | reg >> 3), 0xff, (uint8_t)(0xc0 | (reg & 7)));
}

/* movzwl end of outcomes(,turn,2), bits */
static void put_bits(struct output *out, unsigned turn, unsigned bits)
{
    PUT(out, (uint8_t)(0x40 | (bits >> 3) << 2 | (turn >> 3) << 1), 0x0f, 0xb7,
        (uint8_t)((bits & 7) << 3 | 4), (uint8_t)(0x45 | (turn & 7) << 3));
    put_yard(out, (uint32_t)(offsetof(struct wire_clone_yard, outcomes) +
                             sizeof((struct wire_clone_yard *)NULL)->outcomes));
}

/* Where an iteration begins; behind the last one whose outcomes are known the run ends. Another load, and an instruction that nothing
   waits for, take as long as these. */
static void put_replay_head(struct output *out)
{
    const struct body *body = out->body;
    put_next(out, body->outcome_turn);
    PUT(out, 0x0f, 0x84); /* jz */
    put_label(out, LABEL_LAPPED);
    put_bits(out, body->outcome_turn, body->outcome_bits);
    if (!body->twice)
        return;
    put_next(out, body->outcome_bits);
    put_bits(out, body->outcome_turn, body->outcome_bits);
}

/* cmovcc bits, bits; test $, bits; jnz. Twice: the jump could be one instruction with what it was behind, which now stands
   alone: so does the first test. */
static void put_replay(struct output *out, const struct outcome *outcome, uint32_t label)
{
    const struct body *body = out->body;
    unsigned bits = body->outcome_bits, high = bits >> 3;
    uint32_t mask = 1U << (outcome - body->outcomes);
    /* a, be, g, le read several flags, for which a conditional move waits longer than a branch: e, one that these read */
    uint8_t condition = (outcome->condition & 6) == 6 ? 4 : outcome->condition;
    unsigned tests = 1 + (body->twice && outcomes_joins(body, outcome->instruction));
    for (unsigned i = 0; i < 1U + body->twice; i++)
        PUT(out, (uint8_t)(0x40 | high * 5), 0x0f, 0x40 | condition,
            (uint8_t)(0xc0 | (bits & 7) * 9));
    for (unsigned i = 0; i < tests; i++) {
        PUT(out, (uint8_t)(0x40 | high), 0xf7, (uint8_t)(0xc0 | (bits & 7)));
        put(out, &mask, sizeof mask);
    }
    PUT(out, 0x0f, 0x85);
    put_label(out, label);
}

/* movl recorded, %eax */
static void put_record_place(struct output *out)
{
    put_store(out, BASE_RAX, CONTROL(kept));
    PUT(out, 0x8b, 0x04, ABSOLUTE);
    put_yard(out, CONTROL(recorded));
}

/* In the copy that records, which changes no flags and is not timed. */
static void put_record_head(struct output *out)
{
    put_record_place(out);
    PUT(out, 0x8d, 0x40, (uint8_t)wire_clone_slots(out->body->outcome_count), 0x89, 0x04, ABSOLUTE);
    put_yard(out, CONTROL(recorded)); /* lea , %eax; mov %eax, */
    put_load(out, BASE_RAX, CONTROL(kept));
}

/* movzwl %ax, %eax; setcc outcomes+k(%rax) */
static void put_record(struct output *out, const struct outcome *outcome)
{
    put_record_place(out);
    PUT(out, 0x0f, 0xb7, 0xc0, 0x0f, 0x90 | outcome->condition, 0x80);
    put_yard(out, (uint32_t)(offsetof(struct wire_clone_yard, outcomes) +
                             (size_t)(outcome - out->body->outcomes)));
    put_load(out, BASE_RAX, CONTROL(kept));
}

/* At the beginning of a block. */
static void put_outcomes_head(struct output *out, uint32_t index)
{
    const struct body *body = out->body;
    if (index != body->head)
        return;
    if (replays(body))
        put_replay_head(out);
    else if (body->records)
        put_record_head(out);
}

/* ---- before the loop, and behind it ------------------------------------------------------------------------------- */

static bool put_first(struct output *out)
{
    for (unsigned r = 0; r < BASE_GENERAL_REGISTERS; r++)
        if (out->saved >> r & 1)
            put_store(out, r, general_at(r));
    put_flags(out, CONTROL(flags));
    put_walks_first(out);
    return put_cells(out, true) && put_constants(out);
}

static void put_again(struct output *out)
{
    out->again = (uint32_t)out->count;
    put_cells(out, false);
    put_stamp(out);
    put_store(out, BASE_RAX, CONTROL(start));
    put_flags_back(out);
    for (unsigned r = 0; r < BASE_GENERAL_REGISTERS; r++)
        if (out->saved >> r & 1 && r != BASE_RSP)
            put_load(out, r, general_at(r));
    if (has_stack(out->body)) {
        PUT(out, 0xbc); /* mov $, %esp */
        put_yard(out, line_at(out->body->stack_at));
    }
    put_walks(out, false);
    if (replays(out->body))
        put_load(out, out->body->outcome_turn, CONTROL(outcome));
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
    size_t count = out->count, fixup_count = out->fixup_count;
    put_again(out);
    size_t bytes = out->count - count;
    out->count = count;
    out->fixup_count = fixup_count;
    put_nops(out, bytes, place);
    put_again(out);
}

static void put_end(struct output *out)
{
    out->end = (uint32_t)out->count;
    if (has_stack(out->body))
        put_load(out, BASE_RSP, general_at(BASE_RSP));
    if (replays(out->body)) /* it is none of the loop's registers */
        put_store(out, out->body->outcome_turn, CONTROL(outcome));
    put_store(out, BASE_RAX, CONTROL(last));
    put_store(out, BASE_RCX, CONTROL(last) + 8);
    put_store(out, BASE_RDX, CONTROL(last) + 16);
    put_flags(out, CONTROL(last_flags));
    if (out->body && out->body->walk_count) { /* executions of a few iterations walk, too */
        put_turn(out, LABEL_LAST_LAP);
        out->stamp = (uint32_t)out->count;
        put_walks(out, true);
    }
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
    out->last_lap = (uint32_t)out->count;
    if (out->body && out->body->walk_count)
        put_lap(out, LABEL_STAMP);
}

/* movq $, */
static void put_number(struct output *out, uint32_t offset, uint32_t number)
{
    PUT(out, 0x48, 0xc7, 0x04, ABSOLUTE);
    put_yard(out, offset);
    put(out, &number, sizeof number);
}

/* No other run follows this one, which does not come to the loop's end. */
static void put_lapped(struct output *out)
{
    out->lapped = (uint32_t)out->count;
    put_number(out, CONTROL(limit), 0);
    put_number(out, CONTROL(exit), WIRE_CLONE_LAPPED);
    put_jump(out, LABEL_END);
}

static void put_exits(struct output *out, uint32_t count)
{
    for (uint32_t e = 0; e < count; e++) {
        out->exits[e] = (uint32_t)out->count;
        put_number(out, CONTROL(exit), e);
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

static void put_into_program(struct output *out, uint64_t address)
{
    note_place(out, address);
    PUT(out, 0xe9);
    put_fixup(out, WIRE_CLONE_RELATIVE, (int64_t)(address - 4));
}

/* pop %rax; add $127, %al; sahf; pop %rax; lea 128(%rsp), %rsp */
static void put_gate_back(struct output *out)
{
    PUT(out, 0x58, 0x04, 0x7f, 0x9e, 0x58, 0x48, 0x8d, 0xa4, 0x24, 0x80, 0, 0, 0);
}

/*
 * Where the program's jumps lead: any thread may come, with nothing to spare but the stack. Below it signal handlers leave 128
 * bytes alone. Once there were so many entries nobody enters any more, should headroom not be there to take the jumps away.
 */
static void put_gate(struct output *out)
{
    const struct body *body = out->body;
    out->gate = (uint32_t)out->count;
    PUT(out, 0x48, 0x8d, 0x64, 0x24, 0x80, 0x50, 0x9f, 0x0f, 0x90, 0xc0,
        0x50); /* lea -128(%rsp), %rsp; push %rax; lahf; seto %al; push %rax */
    PUT(out, 0x64, 0x48, 0x8b, 0x04, ABSOLUTE, 0, 0, 0, 0); /* mov %fs:0, %rax */
    put_move(out, 0x3b, BASE_RAX, CONTROL(owner));          /* cmp , %rax */
    PUT(out, 0x0f, 0x85);                                   /* jne */
    put_label(out, LABEL_STRANGER);
    put_load(out, BASE_RAX, CONTROL(entries));
    PUT(out, 0x48, 0x83, 0xe8, 1, 0x0f, 0x82); /* sub $1, %rax; jb */
    put_label(out, LABEL_STRANGER);
    put_store(out, BASE_RAX, CONTROL(entries));
    put_gate_back(out);
    put_jump(out, LABEL_INTO);
    out->stranger = (uint32_t)out->count;
    put_gate_back(out);
    put_into_program(out, body->request->flow->blocks[body->blocks[body->head]].start);
}

/* All that leads into the loop and out of it. */
static void put_crossings(struct output *out)
{
    if (!out->body->inner)
        return;
    struct cfg_progress progress = out->body->progress;
    out->into = (uint32_t)out->count;
    put_into(out, &progress);
    put_jump(out, out->body->head);
    for (uint32_t i = 0; i < out->out_count; i++) {
        out->outs[i] = (uint32_t)out->count;
        put_out(out, &progress);
        if (out->body->gated)
            put_into_program(out, out->body->exits[out->out_labels[i] - LABEL_EXIT]);
        else
            put_jump(out, out->out_labels[i]);
    }
    if (out->body->gated)
        put_gate(out);
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
    if (in->meta.category == ZYDIS_CATEGORY_CALL && in->raw.imm[0].is_relative) {
        at = in->raw.imm[0].offset;
        put(out, code, at);
        put_fixup(out, WIRE_CLONE_RELATIVE,
                  (int64_t)PLAIN_ADDRESS(address + in->length + (uint64_t)in->raw.imm[0].value.s -
                                         (in->length - at)));
        return;
    }
    bool relative = in->raw.modrm.offset && in->raw.modrm.mod == 0 && in->raw.modrm.rm == 5;
    if (!relative || in->raw.disp.size != 32) {
        put(out, code, in->length);
        return;
    }
    uint64_t target = PLAIN_ADDRESS(address + in->length + (uint64_t)in->raw.disp.value);
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
              (int64_t)PLAIN_ADDRESS(address + in->length + (uint64_t)in->raw.disp.value));
    return true;
}

/* As it is, on the clone's stack; where instructions are left out, registers need not be what they are in the loop. */
static bool stays(const struct body *body, const struct operand *operand)
{
    bool whole = body->variant != CLONE_LS && body->variant != CLONE_FP;
    return operand->kept && (operand->by_pointer || whole);
}

/* The operand of an instruction that is rewritten; NULL: it has none, but perhaps on the clone's stack. */
static const struct operand *rewritten(const struct body *body, uint32_t number)
{
    size_t o = first_operand(body, number);
    while (o < body->operand_count && body->operands[o].instruction == number &&
           stays(body, &body->operands[o]))
        o++;
    return !body->twin && o < body->operand_count && body->operands[o].instruction == number
               ? &body->operands[o]
               : NULL;
}

/* Of a loop with a stack: what accesses that, or moves its pointer. */
static bool is_of_stack(const struct body *body, uint32_t number)
{
    const uint8_t *code = bytes_at(body, body->code.instructions[number].address);
    ZydisDecodedInstruction in;
    ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];
    if (!body->splice || !body_decode(&body->code.instructions[number], code, &in, operands))
        return false;
    for (unsigned k = 0; k < in.operand_count; k++)
        if ((operands[k].type == ZYDIS_OPERAND_TYPE_REGISTER &&
             operands[k].reg.value == ZYDIS_REGISTER_RSP) ||
            (operands[k].type == ZYDIS_OPERAND_TYPE_MEMORY &&
             operands[k].mem.base == ZYDIS_REGISTER_RSP))
            return true;
    return false;
}

/* False: it is to be as it is in the clone; *good: what stands for it was found. */
static bool put_otherwise(struct output *out, uint32_t number, unsigned copy,
                          const ZydisDecodedInstruction *in, const ZydisDecodedOperand *operands,
                          bool *good)
{
    struct body *body = out->body;
    const struct operand *operand = rewritten(body, number);
    struct encoded encoded = {.count = 0};
    enum part part = PART_SAME;
    if (body->walk_count && operand && operand->walk != NO_WALK)
        part = part_walks(body, operand, copy, in, operands, &encoded)
                   ? PART_ENCODED
                   : (lacks(body, CLONE_LACKS_FORM), PART_FAILED);
    else if ((body->variant == CLONE_LS || body->variant == CLONE_FP) && !is_of_stack(body, number))
        part = part_of(body, number, operand, in, operands, &encoded);
    if (part == PART_ENCODED)
        put_encoded(out, &encoded);
    *good = part != PART_FAILED;
    return part != PART_SAME;
}

static bool put_instruction(struct output *out, uint32_t number, unsigned copy)
{
    struct body *body = out->body;
    const struct bounds_instruction *instruction = &body->code.instructions[number];
    const struct operand *operand = rewritten(body, number);
    const uint8_t *code = bytes_at(body, instruction->address);
    ZydisDecodedInstruction in;
    ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];
    bool good = body_decode(instruction, code, &in, operands);
    if (good && body->twin)
        put_same(out, &in, code, instruction->address);
    else if (good && put_otherwise(out, number, copy, &in, operands, &good))
        return good;
    else if (good && operand)
        good = put_operand(out, &in, code, operand->at[copy]);
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
    bool leaves = to >= LABEL_EXIT;
    if (!body->inner || (!leaves && is_inner(body, from) == is_inner(body, to)))
        return true;
    *label = LABEL_INTO;
    if (!leaves && is_inner(body, to))
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
    address = PLAIN_ADDRESS(address);
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
        return exit_of(body, address, label) && (!body->gated || cross(out, from, label));
    unsigned into = b == body->head ? (copy + 1) % body->copies : copy;
    *label = into * body->block_count + (uint32_t)b;
    if (body->walk_count && b == body->head && !into)
        *label = LABEL_TURN;
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

/* jcc of the opposite condition. False: it has none, as loop and jrcxz. */
static bool put_opposite(struct output *out, const struct bounds_instruction *instruction,
                         uint32_t label)
{
    const uint8_t *code = bytes_at(out->body, instruction->address);
    size_t before = out->count;
    unsigned at = 0;
    while (at + 1U < instruction->length && (code[at] == 0x2e || code[at] == 0x3e))
        at++;
    if ((code[at] & 0xf0) == 0x70)
        PUT(out, 0x0f, (uint8_t)(0x80 | ((code[at] & 15) ^ 1)));
    else if (code[at] == 0x0f && (code[at + 1] & 0xf0) == 0x80)
        PUT(out, 0x0f, code[at + 1] ^ 1);
    if (out->count > before)
        put_label(out, label);
    return out->count > before;
}

/* Of one that walks: a branch to its next copy, which follows, is none that is taken. */
static bool put_into_next(struct output *out, const struct bounds_instruction *instruction,
                          uint32_t next, uint32_t label, uint32_t falls)
{
    return out->body->walk_count && label == next && falls != label &&
           put_opposite(out, instruction, falls);
}

/* ---- calls and returns ------------------------------------------------------------------------------------------ */

/* In a copy that records: what the program's call leaves on its stack, and a jump to the copy of what it calls.
   mov $, %rax; lea -8(%rsp), %rsp; mov %rax, (%rsp) */
static void put_return_address(struct output *out, uint64_t address)
{
    put_store(out, BASE_RAX, CONTROL(kept));
    PUT(out, 0x48, 0xb8);
    put_fixup(out, WIRE_CLONE_IMAGE, (int64_t)PLAIN_ADDRESS(address));
    PUT(out, 0x48, 0x8d, 0x64, 0x24, 0xf8, 0x48, 0x89, 0x04, 0x24);
    put_load(out, BASE_RAX, CONTROL(kept));
}

/* A call, a return, or a jump from frame to frame, which ends its block. */
static bool put_crossing(struct output *out, uint32_t number, uint32_t index, unsigned copy,
                         uint32_t to, uint32_t next)
{
    struct body *body = out->body;
    const struct bounds_instruction *instruction = &body->code.instructions[number];
    uint64_t behind = instruction->address + instruction->length;
    uint32_t target = copy * body->block_count + to, label;
    bool calls = instruction->mnemonic == ZYDIS_MNEMONIC_CALL,
         returns = instruction->mnemonic == ZYDIS_MNEMONIC_RET;
    if (body->twin) {
        if (calls)
            put_return_address(out, behind);
        if (returns)
            PUT(out, 0x48, 0x8d, 0x64, 0x24, 8); /* lea 8(%rsp), %rsp */
        put_jump(out, target);
        return true;
    }
    if (returns) {
        PUT(out, 0xc3);
        return true;
    }
    PUT(out, calls ? 0xe8 : 0xe9);
    put_label(out, target);
    if (calls && !label_of(out, behind, index, copy, &label))
        return false;
    if (calls && label != next)
        put_jump(out, label);
    return true;
}

/* movb $1, */
static void put_mark(struct output *out, uint32_t number)
{
    PUT(out, 0xc6, 0x04, ABSOLUTE);
    put_yard(out, (uint32_t)offsetof(struct wire_clone_yard, outcomes) + number);
    PUT(out, 1);
}

/* A branch of which one side is not executed: it does what it does in the program, but leads to the other one. */
static bool is_one_sided(const struct body *body, const struct cfg_block *block)
{
    return !body->twin && block->flags & SPLICE_COLD && block->edges == 1;
}

static bool put_one_sided(struct output *out, const struct bounds_instruction *instruction,
                          const struct cfg_block *block, uint32_t index, unsigned copy,
                          uint32_t next)
{
    const struct cfg *flow = out->body->request->flow;
    uint64_t to = flow->blocks[flow->edges[block->first_edge].to].start;
    uint32_t label;
    if (!label_of(out, to, index, copy, &label))
        return false;
    put_branch(out, instruction, label);
    if (label != next)
        put_jump(out, label);
    return true;
}

/* next: the label of the block that will follow it. */
static bool put_block(struct output *out, unsigned copy, uint32_t index, uint32_t next)
{
    struct body *body = out->body;
    uint32_t number = copy * body->block_count + index, label;
    const struct cfg_block *block = &body->request->flow->blocks[body->blocks[index]];
    bool falls = true;
    out->starts[number] = (uint32_t)out->count;
    if (body->marks)
        put_mark(out, block->first_into);
    if (block->flags & SPLICE_FAILED)
        return exit_of(body, block->start, &label) && (put_jump(out, label), true);
    put_outcomes_head(out, index);
    for (uint32_t i = body->first[index]; i < body->first[index + 1]; i++) {
        const struct bounds_instruction *instruction = &body->code.instructions[i];
        uint32_t to = splice_target(body, index, i);
        note_place(out, instruction->address);
        if (to != NONE)
            return put_crossing(out, i, index, copy, to, next);
        if (instruction->branches && is_one_sided(body, block))
            return put_one_sided(out, instruction, block, index, copy, next);
        if ((body->inner || body->marks) && body_is_bound(body, i) &&
            !(body->calls && instruction->calls && is_inner(body, index))) {
            if (body->gated)
                return refuse(body, CLONE_CALLS, instruction->address);
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
        uint32_t behind = label = 0;
        if (!label_of(out, target_of(instruction), index, copy, &label) ||
            (falls && !label_of(out, block->end, index, copy, &behind)))
            return false;
        const struct outcome *outcome = falls ? outcomes_at(body, instruction->address) : NULL;
        bool replayed = outcome && replays(body);
        if (falls && !replayed && put_into_next(out, instruction, next, label, behind))
            return true;
        if (outcome && body->records)
            put_record(out, outcome);
        if (replayed)
            put_replay(out, outcome, label);
        else if (falls) {
            out->branch = (uint32_t)out->count;
            out->branch_address = instruction->address;
            put_branch(out, instruction, label);
        } else if (label != next)
            put_jump(out, label);
    }
    if (falls && !label_of(out, block->end, index, copy, &label))
        return false;
    if (falls)
        note_place(out, block->end);
    if (falls && label != next)
        put_jump(out, label);
    return true;
}

/* Where a block begins in its line of code: as in the program, but for what emit_clone() changes. How fast it is can depend on that. */
static size_t place_of(const struct body *body, uint32_t index)
{
    uint64_t start = body->request->flow->blocks[body->blocks[index]].start;
    return body->aligned ? 0 : (start - body->earlier) % CODE_LINE;
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

/* Blocks in the order in which they are put: as in the program; of one that walks from the head on, so that copies follow each other. */
static uint32_t block_at(const struct body *body, uint32_t place)
{
    return (place + (body->walk_count ? body->head : 0)) % body->block_count;
}

/* Likewise through all copies; behind the last no label. */
static uint32_t label_at(const struct body *body, uint32_t place)
{
    uint32_t copy = place / body->block_count;
    return copy == body->copies
               ? UINT32_MAX
               : copy * body->block_count + block_at(body, place % body->block_count);
}

/* Nothing falls into another frame: its code begins where it does in the program's line. */
static bool begins_frame(const struct body *body, uint32_t index)
{
    const struct cfg_block *blocks = body->request->flow->blocks;
    return index && FRAME_OF(blocks[body->blocks[index]].start) !=
                        FRAME_OF(blocks[body->blocks[index - 1]].start);
}

static void place_frame(struct output *out, uint32_t index)
{
    const struct body *body = out->body;
    if (begins_frame(body, index))
        put_nops(out, 0, body->request->flow->blocks[body->blocks[index]].start % CODE_LINE);
}

static bool put_loop(struct output *out)
{
    struct body *body = out->body;
    uint32_t head = body->head;
    body->exit_count = 0;
    note_place(out, body->request->flow->blocks[body->blocks[head]].start);
    if (body->inner)
        put_jump(out, LABEL_INTO);
    else if (head || body->walk_count) /* the first block is not the one that is entered */
        put_jump(out, head);
    out->turn = (uint32_t)out->count;
    if (body->walk_count)
        put_turn(out, LABEL_LAP);
    out->turn_end = (uint32_t)out->count;
    for (unsigned copy = 0; copy < body->copies; copy++)
        for (uint32_t b = 0; b < body->block_count; b++) {
            uint32_t number = copy * body->block_count + b;
            uint32_t next = label_at(body, number + 1);
            place_inner(out, block_at(body, b));
            place_frame(out, block_at(body, b));
            if (next != UINT32_MAX && (!next || begins_frame(body, next % body->block_count)))
                next = body->splice ? UINT32_MAX : next;
            if (!put_block(out, copy, block_at(body, b), next))
                return false;
            out->ends[label_at(body, number)] = (uint32_t)out->count;
        }
    return true;
}

static uint32_t place_of_label(const struct output *out, uint32_t label)
{
    switch (label) {
    case LABEL_AGAIN: return out->again;
    case LABEL_END: return out->end;
    case LABEL_INTO: return out->into;
    case LABEL_TURN: return out->turn;
    case LABEL_LAP: return out->lap;
    case LABEL_LAST_LAP: return out->last_lap;
    case LABEL_STAMP: return out->stamp;
    case LABEL_LAPPED: return out->lapped;
    case LABEL_STRANGER: return out->stranger;
    default:
        return label >= LABEL_OUT    ? out->outs[label - LABEL_OUT]
               : label >= LABEL_EXIT ? out->exits[label - LABEL_EXIT]
                                     : out->starts[label];
    }
}

static void settle_jumps(struct output *out)
{
    for (size_t j = 0; j < out->jump_count && !out->failed; j++) {
        uint32_t at = out->jumps[j].at, to = place_of_label(out, out->jumps[j].label);
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

/* What an operand finds wherever it walks. */
static void add_spread(struct output *out, const struct operand *operand)
{
    const struct body *body = out->body;
    struct wire_clone_walk walk = {
        .to = (uint32_t)(operand->place - operand->step * body->walk_turns),
        .from = operand->at[0],
        .bytes = operand->bytes,
        .step = (int32_t)operand->step,
        .times = body->walk_turns};
    if (operand->walk != NO_WALK &&
        !UTIL_PUSH(out->walks, out->walk_count, out->walk_capacity, walk))
        out->failed = true;
}

static void add_spreads(struct output *out)
{
    const struct body *body = out->body;
    for (size_t o = 0; body->walk_count && o < body->operand_count; o++)
        if (body->operands[o].loads && !body->operands[o].hints)
            add_spread(out, &body->operands[o]);
}

static void add_fills(struct output *out)
{
    const struct body *body = out->body;
    unsigned copies = body->walk_count ? 1 : body->copies;
    for (size_t o = 0; !body->twin && o < body->operand_count; o++)
        for (unsigned copy = 0; copy < copies; copy++)
            if (body->operands[o].loads && !body->operands[o].hints &&
                body->operands[o].stream.from_registers && !is_below(body, &body->operands[o]) &&
                (!copy || body->operands[o].linked))
                add_fill(out, &body->operands[o], copy);
}

/* ---- all of it ------------------------------------------------------------------------------------------------------------ */

static struct wire_clone *assemble(const struct output *out)
{
    size_t fixups = out->fixup_count * sizeof *out->fixups,
           fills = out->fill_count * sizeof *out->fills,
           walks = out->walk_count * sizeof *out->walks;
    size_t bytes = sizeof(struct wire_clone) + fixups + fills + walks + out->count;
    struct wire_clone *made = calloc(1, bytes);
    if (!made)
        return NULL;
    *made = (struct wire_clone){.bytes = (uint32_t)bytes,
                                .version = WIRE_CLONE_VERSION,
                                .code_bytes = (uint32_t)out->count,
                                .fixups = (uint32_t)out->fixup_count,
                                .fills = (uint32_t)out->fill_count,
                                .walks = (uint32_t)out->walk_count,
                                .loop_start = out->loop_start,
                                .loop_end = out->loop_end};
    uint8_t *at = (uint8_t *)(made + 1);
    memcpy(at, out->fixups, fixups);
    if (fills)
        memcpy(at + fixups, out->fills, fills);
    if (walks)
        memcpy(at + fixups + fills, out->walks, walks);
    memcpy(at + fixups + fills + walks, out->bytes, out->count);
    return made;
}

static void output_free(struct output *out)
{
    free(out->bytes);
    free(out->fixups);
    free(out->fills);
    free(out->walks);
    free(out->jumps);
    free(out->places);
}

static bool emit_all(struct output *out)
{
    struct body *body = out->body;
    if (!put_first(out))
        return refuse(body, CLONE_LINES, 0);
    size_t jump = body->inner || body->head || body->walk_count ? JUMP_BYTES : 0;
    jump += body->walk_count * ADD_BYTES + (body->walk_count ? BRANCH_BYTES : 0);
    put_again_before(out, (place_of(body, 0) + 2 * CODE_LINE - jump) % CODE_LINE);
    out->loop_start = (uint32_t)out->count;
    if (!put_loop(out))
        return false;
    put_crossings(out);
    out->lap = (uint32_t)out->count;
    if (body->walk_count)
        put_lap(out, body->head);
    out->loop_end = (uint32_t)out->count;
    if (replays(body))
        put_lapped(out);
    put_exits(out, body->exit_count);
    put_end(out);
    settle_jumps(out);
    add_fills(out);
    add_spreads(out);
    if (out->failed)
        return out_of_memory(body);
    return out->count <= WIRE_CLONE_CODE_MAX || refuse(body, CLONE_LONG, 0);
}

static uint64_t lines_between(uint64_t from, uint64_t to)
{
    return to > from ? (to - 1) / CODE_LINE - from / CODE_LINE + 1 : 0;
}

/* Is the loop, whose instructions may be longer here, in more lines of code than it is in the program? */
static bool is_spread(const struct output *out)
{
    const struct body *body = out->body;
    const struct cfg_block *blocks = body->request->flow->blocks;
    const uint32_t *last = out->ends + (size_t)(body->copies - 1) * body->block_count;
    uint64_t from = UINT64_MAX, to = 0, low = UINT64_MAX, high = 0;
    for (uint32_t b = 0; b < body->block_count; b++) {
        const struct cfg_block *block = &blocks[body->blocks[b]];
        if (block->loop != body->request->loop || FRAME_OF(block->start))
            continue;
        from = out->starts[b] < from ? out->starts[b] : from;
        to = last[b] > to ? last[b] : to;
        low = block->start < low ? block->start : low;
        high = block->end > high ? block->end : high;
    }
    return lines_between(from, to) > lines_between(low, high);
}

static bool emit_placed(struct body *body, struct output *out, bool aligned, size_t earlier)
{
    body->aligned = aligned;
    body->earlier = earlier;
    *out = (struct output){.body = body,
                           .saved = body->general_written | 1U << BASE_RAX | 1U << BASE_RCX |
                                    1U << BASE_RDX | (has_stack(body) ? 1U << BASE_RSP : 0)};
    size_t blocks = (size_t)body->copies * body->block_count;
    out->starts = calloc(2 * blocks, sizeof *out->starts);
    out->ends = out->starts ? out->starts + blocks : NULL;
    return out->starts ? emit_all(out) : out_of_memory(body);
}

static bool emit_again(struct body *body, struct output *out, bool aligned, size_t earlier)
{
    output_free(out);
    free(out->starts);
    return emit_placed(body, out, aligned, earlier);
}

/* By how many bytes the branch that closes a loop of one block lies further from the head than in the program: operands got longer. */
static size_t growth(const struct output *out)
{
    const struct body *body = out->body;
    if (body->twin || body->inner || body->walk_count || replays(body) || body->copies != 1 ||
        body->block_count != 1)
        return 0;
    const struct cfg_block *block = &body->request->flow->blocks[body->blocks[0]];
    size_t here = out->branch - out->starts[0];
    size_t there = (size_t)(out->branch_address - block->start);
    return out->branch && here > there ? here - there : 0;
}

/* Which register counts iterations, and what of branches is noted or replayed. */
static void note_counter(const struct body *body, struct wire_clone *made)
{
    made->outcomes = (uint8_t)body->outcome_count;
    made->ends = body->ends;
    if (body->progress.kind != CFG_PROGRESS_COUNTER)
        return;
    made->counter = body->progress.counter;
    made->counter_bytes = body->progress.bytes;
    made->step = body->progress.step;
}

/* A branch that lies across two lines of code with the comparison before it takes longer on some processors. So it is the branch of a short loop
   that is put where it is in the program; the head, where the loop would be in more lines of code then, or has several blocks; else the
   loop begins a line. */
bool emit_clone(struct body *body, struct emitted *emitted)
{
    const struct cfg *flow = body->request->flow;
    struct output out;
    bool good = emit_placed(body, &out, false, 0);
    size_t earlier = good ? growth(&out) : 0;
    if (earlier)
        good = emit_again(body, &out, false, earlier);
    if (good && earlier && is_spread(&out))
        good = emit_again(body, &out, false, 0);
    if (good && is_spread(&out))
        good = emit_again(body, &out, true, 0);
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
    made->stack = has_stack(body) ? line_at(body->stack_at) : 0;
    made->copies = (uint8_t)body->copies;
    made->head = flow->blocks[body->blocks[body->head]].start;
    made->walk_bytes = body->walk_count ? body->walk_bytes : 0;
    made->twin = body->twin;
    made->gate = out.gate;
    note_counter(body, made);
    *emitted = (struct emitted){made, out.starts, places, out.place_count, out.turn, out.turn_end};
    return true;
}

bool emit_copy(struct body *body, struct clone_copy *copy)
{
    struct emitted emitted;
    if (!emit_clone(body, &emitted))
        return false;
    free(emitted.starts);
    *copy = (struct clone_copy){emitted.clone, emitted.places, emitted.place_count};
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

/* mov $, %ecx; mov outcomes - line(%rcx), %eax; sub $, %ecx; jnz */
static void put_touch(struct output *out, uint32_t bytes)
{
    PUT(out, 0xb9);
    put(out, &bytes, sizeof bytes);
    size_t first = out->count;
    PUT(out, 0x8b, 0x81);
    put_yard(out, (uint32_t)offsetof(struct wire_clone_yard, outcomes) - WIRE_CLONE_LINE);
    PUT(out, 0x83, 0xe9, WIRE_CLONE_LINE, 0x75, (uint8_t)(first - (out->count + 5)));
}

enum base_status clone_of_touch(struct wire_clone **made)
{
    return make_known(put_touch, (uint32_t)sizeof((struct wire_clone_yard *)NULL)->outcomes, made);
}

enum base_status clone_of_stamps(struct wire_clone **made)
{
    return make_known(put_stamps, CLONE_STAMPS, made);
}
