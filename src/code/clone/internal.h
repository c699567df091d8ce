// SPDX-License-Identifier: MIT
/* Between the files of room clone, in the order in which they work: splice, body, stack, ways, outcomes, data, lines, emit, compare; then variants, live, walk, part, nest. */
#ifndef HEADROOM_CLONE_INTERNAL_H
#define HEADROOM_CLONE_INTERNAL_H

#include "bounds/bounds.h"
#include "clone/clone.h"
#include "util/util.h"

#include <Zydis/Zydis.h>

#define NONE UINT32_MAX

/* Addresses of code that is called have the number of their frame in the upper bits: so blocks of several frames are one graph, whose
   operands and jumps that are relative stay right. */
enum { FRAME_SHIFT = 48 };
#define PLAIN_ADDRESS(address) ((address) & ((UINT64_C(1) << FRAME_SHIFT) - 1))
#define FRAME_OF(address)      ((uint32_t)((address) >> FRAME_SHIFT))

/* A memory operand that is rewritten. */
struct operand {
    uint32_t instruction;      /* of the body */
    uint8_t index;             /* of the instruction's operands */
    uint16_t bytes, alignment; /* alignment: that it must have */
    bool loads, stores, hints; /* hints: prefetches; what is there does not matter */
    bool linked;               /* lines.c: some of what share its lines load what others store */
    bool fixed;                /* its address does not change while the loop runs */
    bool relative;             /* to the instruction pointer */
    uint32_t way;              /* along which the stream was found */
    struct bounds_stream stream;
    uint32_t
        joined; /* the first operand with which it must share lines: itself, or one before it */
    uint16_t at[CLONE_COPIES_MAX]; /* offset in the lines, by copy of the body */
    /* walk.c: its address is `place` in the buffers and so many times what the register holds, and `step` more in each copy */
    uint8_t walk, scale; /* walk: index in body.walks; NO_WALK: it has a line */
    int64_t place, step;
    uint8_t constant; /* part.c: the vector register that is there in its place */
    bool kept;        /* stack.c: stays as it is, on the clone's own stack */
    bool by_pointer;  /* relative to the stack pointer itself, or hidden */
    bool stack;       /* its location is there */
};

#define NO_WALK 255

/* A register that moves. */
struct walk {
    uint8_t reg;
    int64_t unit; /* bytes an iteration */
};

struct way {
    uint32_t *blocks; /* indices in body.blocks */
    uint32_t count;
    double recurrence,
        throughput; /* cycles an iteration as the program has it; throughput: of units and front end */
};

/* An inner branch that depends on loaded data. */
struct outcome {
    uint64_t address;
    uint32_t instruction;
    uint8_t condition;     /* as in its opcode */
    uint8_t varying_flags; /* that depend on loaded data where it is */
};

/* splice.c: a loop with the functions that it calls, as one graph. */
struct frame {
    const struct cfg_code *code;
    uint64_t entry; /* of the function */
    uint32_t parent;
    int64_t at; /* stack.c: of the stack pointer when it is entered, to that at the loop's head */
};
struct splice {
    struct cfg flow;
    struct cfg_loop loops[2];
    struct clone_request request;
    struct frame frames[CLONE_FRAMES_MAX];
    uint32_t frame_count;
    /* what was left out first of what is called, and why */
    uint8_t reason;
    uint64_t culprit, called;
    bool cell;
};

struct body {
    const struct clone_request *request; /* splice->request, if there is a splice */
    const struct clone_request *origin;
    struct splice *splice; /* NULL: nothing is called */
    struct clone *out;
    uint32_t *blocks; /* of the loop, by address: numbers in the graph */
    uint32_t *first;  /* by index in blocks, and one more: its first instruction */
    uint32_t block_count, head;
    struct bounds_block code; /* instructions of all blocks, one after the other */
    uint32_t general_written; /* bit r: the loop writes register r */
    struct operand *operands; /* in order */
    size_t operand_count, operand_capacity;
    struct way ways[CLONE_WAYS_MAX];
    uint32_t way_count;
    unsigned copies;
    uint32_t lines;
    uint64_t exits[WIRE_CLONE_EXITS_MAX];
    uint32_t exit_count;
    enum clone_variant variant;
    uint8_t lack; /* enum clone_lack: why the variant is not made */
    struct walk walks[WIRE_CLONE_WALKS_MAX];
    uint32_t walk_count; /* 0: it does not walk */
    uint32_t walk_turns; /* iterations, until it is where it began */
    uint32_t walk_bytes;
    bool *needed;    /* part.c: by instruction: a branch, or an address, depends on what it does */
    uint8_t scratch; /* part.c: a general register that is free; BOUNDS_NO_REGISTER */
    bool wide;       /* part.c: there are forms since AVX */
    bool twin;       /* emit.c: memory operands as they are */
    struct cfg_progress progress; /* which register counts iterations */
    uint32_t uniform;             /* bit r: each iteration adds the same to register r */
    struct outcome outcomes[WIRE_CLONE_OUTCOMES_MAX];
    uint32_t outcome_count;
    bool ends;                          /* all branches that leave the loop are outcomes */
    uint8_t outcome_turn, outcome_bits; /* registers, of the clone: iterations, and outcomes */
    bool twice;                         /* emit.c: a clone that replays twice */
    bool records;                       /* emit.c: a twin, or nest, that notes outcomes */
    bool marks;                         /* emit.c: a twin that marks blocks which it executes */
    bool calls;          /* emit.c: a twin, or nest, whose loop calls what is known */
    bool relative_stack; /* stack.c: its pointer is only moved by so many bytes, never set */
    int64_t stack_low,
        stack_high;    /* of what the clone has of the stack, to the pointer at the loop's head */
    uint32_t stack_at; /* lines.c: where that points to, in the lines */
    bool aligned;      /* emit.c: the loop begins a line of code, wherever it does in the program */
    size_t earlier;    /* emit.c: or by so many bytes before the place that it has in the program */
    uint32_t
        inner; /* emit.c: of a nest: the loop at whose entries and exits there are time stamps; 0: none */
    bool gated; /* emit.c: what leaves the loop is in the program */
    bool no_memory;
};

/* A function that returns false has set a reason, or no_memory. */
static inline bool refuse(struct body *body, enum clone_reason reason, uint64_t culprit)
{
    body->out->reason = (uint8_t)reason;
    body->out->culprit = culprit;
    return false;
}

static inline bool out_of_memory(struct body *body)
{
    body->no_memory = true;
    return false;
}

static inline const struct bounds_operand *operand_of(const struct body *body,
                                                      const struct operand *operand)
{
    return &body->code.instructions[operand->instruction].operands[operand->index];
}

static inline uint64_t address_of(const struct body *body, const struct operand *operand)
{
    return body->code.instructions[operand->instruction].address;
}

/* Index in body.blocks of a block of the graph; NONE: it is not in the loop. */
static inline uint32_t body_index(const struct body *body, uint32_t block)
{
    size_t index = BASE_FIRST(i, body->block_count, body->blocks[i] >= block);
    return index < body->block_count && body->blocks[index] == block ? (uint32_t)index : NONE;
}

/* The first memory operand of an instruction, or, if it has none, of one behind it. */
static inline size_t first_operand(const struct body *body, uint32_t instruction)
{
    return BASE_FIRST(o, body->operand_count, body->operands[o].instruction >= instruction);
}

/* Can the operand be there, naturally aligned if that is asked for? */
static inline bool may_lie_at(const struct operand *operand, int64_t at, bool naturally)
{
    unsigned natural = operand->bytes & (operand->bytes - 1U) ? 1 : operand->bytes;
    return at % operand->alignment == 0 && !(naturally && natural && at % natural);
}

/* Do both move alike, from the same address? */
static inline bool is_one_stream(const struct body *body, const struct operand *a,
                                 const struct operand *b)
{
    return a->way == b->way && a->stream.root == b->stream.root &&
           a->stream.kind == b->stream.kind && a->stream.stride == b->stream.stride &&
           operand_of(body, a)->segment == operand_of(body, b)->segment;
}

/* The code that has an address of the graph. */
static inline const struct cfg_code *code_of(const struct body *body, uint64_t address)
{
    return FRAME_OF(address) ? body->splice->frames[FRAME_OF(address)].code : body->request->code;
}

/* The bytes of the program at an address in the loop. */
static inline const uint8_t *bytes_at(const struct body *body, uint64_t address)
{
    const struct cfg_code *code = code_of(body, address);
    return code->bytes + (PLAIN_ADDRESS(address) - code->start);
}

/* Flags of blocks of a splice, beside enum cfg_block_flags. */
enum {
    SPLICE_FAILED = 1 << 30, /* cannot be in it */
    SPLICE_CUT = 1 << 29,    /* leads to some that are left out */
    SPLICE_COLD = 1 << 28,   /* leads to some that are not executed */
};

/* splice.c: what the loop calls becomes part of it. body->marks: with all that can be reached. */
bool splice_calls(struct body *body);
void splice_free(struct splice *splice); /* NULL does nothing */
/* Where control goes from a block's last instruction, a call, a return, or a jump to another function; NONE: it is none of these. */
uint32_t splice_target(const struct body *body, uint32_t index, uint32_t instruction);

/* stack.c: accesses to the stack, relative to where its pointer is at the loop's head. */
bool stack_settle(struct body *body);
/* The same of instructions in the order in which they are executed, from the head on. */
bool stack_settle_along(struct bounds_block *block);

/* body.c: blocks, instructions, memory operands; nothing in them that a clone cannot have. */
bool body_collect(struct body *body);
/* Does an edge lead from the block out of the loop? */
bool body_leads_out(const struct body *body, uint32_t index);
bool body_decode(const struct bounds_instruction *instruction, const uint8_t *bytes,
                 ZydisDecodedInstruction *in, ZydisDecodedOperand *operands);

/* variants.c: those that are asked for. False: no memory. */
bool variants_make(struct body *body);
static inline bool lacks(struct body *body, enum clone_lack lack)
{
    body->lack = (uint8_t)lack;
    return false;
}

/* live.c: what is live, backwards. ROOTS_ALL: whatever reads; else what instructions are needed for roots alone. */
enum live_roots { ROOTS_ALL, ROOTS_BRANCHES, ROOTS_ADDRESSES /* and branches */ };
/* *needed: by instruction, calloc's; head: by register, BOUNDS_REGISTERS of them: live where an iteration begins; flags: by block, bit f:
   likewise flag f; NULL: not wanted. False: no memory. */
bool live_find(struct body *body, enum live_roots roots, bool **needed, bool *head, uint8_t *flags);
/* General registers (bit r) that no instruction names once memory operands are replaced, but for those of time stamps; vector registers
   0 to 15 (bit r) likewise. */
uint32_t live_free(const struct body *body, bool vectors);
/* General registers, with those of time stamps. */
uint32_t live_unnamed(const struct body *body);

/* walk.c: where operands go in buffers of so many bytes. False: it lacks something. */
bool walk_assign(struct body *body, uint32_t bytes);

/* part.c: what stands in place of an instruction. */
enum part {
    PART_SAME, /* the instruction as it is in the clone */
    PART_NONE,
    PART_ENCODED,
    PART_FAILED /* there is no register for it */
};
struct encoded {
    uint8_t bytes[2 * ZYDIS_MAX_INSTRUCTION_LENGTH];
    unsigned count;
    unsigned yard_at; /* 4 bytes there are an address in the yard: `yard`; 0: none are */
    int64_t yard;
};
bool part_begin(struct body *body); /* body->needed is to be freed; false: no memory */
/* operand: of the instruction, if it is rewritten; else NULL. */
enum part part_of(struct body *body, uint32_t instruction, const struct operand *operand,
                  const ZydisDecodedInstruction *in, const ZydisDecodedOperand *operands,
                  struct encoded *encoded);
/* What loads operand->constant. */
bool part_constant(const struct body *body, const struct operand *operand, struct encoded *encoded);
/* An instruction whose operand walks, in that copy. *encoded: count 0. */
bool part_walks(const struct body *body, const struct operand *operand, unsigned copy,
                const ZydisDecodedInstruction *in, const ZydisDecodedOperand *operands,
                struct encoded *encoded);

/* data.c: does a division depend on what is loaded? Then false. Inner branches that do are outcomes; if how often the loop iterates does, what leaves it is, too. */
bool data_is_apart(struct body *body);

/* outcomes.c: counters. After ways_find. */
void outcomes_count(struct body *body);
/* False: the branch cannot be replayed. */
bool outcomes_add(struct body *body, uint32_t instruction, uint8_t varying_flags);
/* Of the branch at that address; NULL: it is none. */
const struct outcome *outcomes_at(const struct body *body, uint64_t address);
/* Does a processor execute it, and the instruction before it, as one? */
bool outcomes_joins(const struct body *body, uint32_t instruction);
/* All branches that leave the loop as well. False: one cannot be. */
bool outcomes_add_exits(struct body *body);
/* Registers for them. */
bool outcomes_begin(struct body *body);

bool data_is_zeroing(const struct bounds_instruction *instruction);
/* Shifts by 0 leave the flags. */
bool data_may_keep_flags(const struct bounds_instruction *instruction);
/* The memory operand of an instruction's operand, NONE if it is not rewritten. */
size_t data_operand(const struct body *body, uint32_t instruction, unsigned index);

/* ways.c: all ways through the loop. */
bool ways_find(struct body *body);
/* The instructions of a way, in order, appended to *block. */
bool way_block(struct body *body, const struct way *way, struct bounds_block *block);
/* Index in the body of a way's instruction. */
uint32_t way_instruction(const struct body *body, const struct way *way, uint32_t number);

/* compare.c: streams and what shares lines, along all ways. */
bool compare_begin(struct body *body);

/* lines.c: where the operands are in the yard, for body->copies. */
bool lines_assign(struct body *body);

/* nest.c: the outermost nest that can be copied; there may be none. */
void nest_make(struct body *body);
/* If there are gates: the loop alone; and recording, if there are outcomes. */
void nest_gate(struct body *body);
/* The nest, recording; if there is one. */
void nest_record(struct body *body);

/* body.c: the blocks of a loop and of those within it, decoded. Nothing is refused but what cannot be decoded. */
bool body_collect_nest(struct body *body, uint32_t loop);
/* Can the instruction not be executed elsewhere than where it stands, as calls cannot? */
bool body_is_bound(const struct body *body, uint32_t instruction);
uint32_t body_block_of(const struct body *body, uint32_t instruction);
void body_free(struct body *body); /* what it points to */

/* emit.c: the clone. starts: by copy * block_count + block, where its code begins; behind them likewise where it ends. The caller frees all. */
struct emitted {
    struct wire_clone *clone;
    uint32_t *starts;
    struct clone_place *places; /* of a twin */
    size_t place_count;
    uint32_t turn, turn_end; /* of one that walks: where its registers move on */
};
bool emit_clone(struct body *body, struct emitted *emitted);
/* Likewise, where nobody looks at its blocks. */
bool emit_copy(struct body *body, struct clone_copy *copy);

/* compare.c: did the recurrences stay? */
bool compare_end(struct body *body, const struct emitted *emitted);

#endif
