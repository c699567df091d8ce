// SPDX-License-Identifier: MIT
/* Between the files of room clone, in the order in which they work: body, data, ways, lines, emit, compare. */
#ifndef HEADROOM_CLONE_INTERNAL_H
#define HEADROOM_CLONE_INTERNAL_H

#include "bounds/bounds.h"
#include "clone/clone.h"
#include "util/util.h"

#include <Zydis/Zydis.h>

#define NONE UINT32_MAX

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
};

struct way {
    uint32_t *blocks; /* indices in body.blocks */
    uint32_t count;
    double recurrence,
        throughput; /* cycles an iteration as the program has it; throughput: of units and front end */
};

struct body {
    const struct clone_request *request;
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
    bool twin; /* emit.c: memory operands as they are */
    uint32_t
        inner; /* emit.c: of a nest: the loop at whose entries and exits there are time stamps; 0: none */
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

/* The bytes of the program at an address in the loop. */
static inline const uint8_t *bytes_at(const struct body *body, uint64_t address)
{
    return body->request->code->bytes + (address - body->request->code->start);
}

/* body.c: blocks, instructions, memory operands; nothing in them that a clone cannot have. */
bool body_collect(struct body *body);
bool body_decode(const struct bounds_instruction *instruction, const uint8_t *bytes,
                 ZydisDecodedInstruction *in, ZydisDecodedOperand *operands);

/* data.c: does a branch, or a division, depend on what is loaded? Then false. */
bool data_is_apart(struct body *body);

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

/* nest.c: the outermost nest that can be copied; none is no failure. False: no memory. */
bool nest_make(struct body *body);

/* body.c: the blocks of a loop and of those within it, decoded. Nothing is refused but what cannot be decoded. */
bool body_collect_nest(struct body *body, uint32_t loop);
/* Can the instruction not be executed elsewhere than where it stands, as calls cannot? */
bool body_is_bound(const struct body *body, uint32_t instruction);
void body_free(struct body *body); /* what it points to */

/* emit.c: the clone. starts: by copy * block_count + block, and one more, where its code begins. The caller frees all. */
struct emitted {
    struct wire_clone *clone;
    uint32_t *starts;
    struct clone_place *places; /* of a twin */
    size_t place_count;
};
/* clone.c: which register counts iterations. */
void note_counter(const struct body *body, struct wire_clone *made);
bool emit_clone(struct body *body, struct emitted *emitted);

/* compare.c: did the recurrences stay? */
bool compare_end(struct body *body, const struct emitted *emitted);

#endif
