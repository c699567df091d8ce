// SPDX-License-Identifier: MIT
/*
 * ir/loop.h: an innermost loop of a function as three-address operations: its loads, its stores, and the arithmetic by which what is stored, or
 * used behind the loop, comes about; and which of them needs whose result, in the same iteration or one before. Scalars are registers.
 *
 * Left out is what only makes addresses, counts iterations or decides where to go on. What an operation gets of several sides of a branch
 * it gets of each.
 */
#ifndef HEADROOM_IR_LOOP_H
#define HEADROOM_IR_LOOP_H

#include "ir/ir.h"

enum ir_kind { IR_LOAD, IR_COMPUTE, IR_STORE };
enum ir_work { IR_OTHER, IR_ADD, IR_MULTIPLY, IR_FUSED, IR_DIVIDE, IR_ROOT, IR_WORKS };

struct ir_operation {
    uint8_t kind, work;      /* enum ir_kind, enum ir_work */
    bool floating;           /* its result, or what it stores, is a floating-point number */
    uint16_t bits;           /* of that; 0: unknown */
    const char *instruction; /* a line of the module, for ir_place_of and its like */
    const char *text;        /* as the source might have it: "c[i - 1] / b[i]"; the module's */
    const char *sign;        /* of what it does alone: "/"; "" of others; constant */
};

/* `to` needs the result that `from` had `distance` iterations before. */
struct ir_flow {
    uint32_t from, to, distance;
};

struct ir_loop {
    struct ir_place place;          /* of its head in the source */
    uint32_t first_line, last_line; /* of its instructions in the source */
    uint32_t depth;                 /* 1 and the loops around it */
    struct ir_operation *operations;
    size_t operations_count, operations_capacity;
    struct ir_flow *flows;
    size_t flows_count, flows_capacity;
};

struct ir_loops { /* {0} is empty */
    struct ir_loop *items;
    size_t count, capacity;
};

/* What the source calls that what a load or a store accesses: "a[i][j + 1]". */
typedef void ir_reference(void *context, const char *instruction, char *text, size_t bytes);

/*
 * The innermost loops around a line; if it is one of a loop around others, all of those within that. Appended in the order of the
 * module. file: the end of the source file's path, NULL: any. BASE_NOT_FOUND: there is none; BASE_TOO_LARGE: it has too many blocks;
 * BASE_NO_MEMORY. Free them whatever is returned.
 */
enum base_status ir_loops_at(const struct ir *ir, const char *symbol, const char *file,
                             uint32_t line, ir_reference *reference, void *context,
                             struct ir_loops *loops);
void ir_loops_free(struct ir_loops *loops);

/* First and last line of the instructions of each natural loop of a function. Appended; malloc's. Statuses as above; BASE_NOT_FOUND: no function. */
struct ir_span {
    uint32_t first_line, last_line;
};
struct ir_spans { /* {0} is empty */
    struct ir_span *items;
    size_t count, capacity;
};
enum base_status ir_loop_spans(const struct ir *ir, const char *symbol, struct ir_spans *spans);

/* Where the source has what a load or a store accesses: in C the beginning of the expression. */
struct ir_place ir_address_place(const struct ir *ir, const char *symbol, const char *instruction);

/* Loads of the same variable and place that come before it. */
unsigned ir_accesses_before(const struct ir *ir, const char *symbol, const char *instruction);

#endif
