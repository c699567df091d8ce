// SPDX-License-Identifier: MIT
/*
 * ir: a module of LLVM IR as text, as LLVM 19 prints it: its functions, their values, where those come from in the source, and copies
 * in which values are constants. What need not be computed on; LLVM does that.
 *
 * Read once, then constant and for any number of threads. Names that are returned live as long as the module.
 */
#ifndef HEADROOM_IR_H
#define HEADROOM_IR_H

#include "util/util.h"

struct ir;

/* Copies the text. BASE_MALFORMED: it is no text of LLVM IR. BASE_NO_MEMORY. */
enum base_status ir_read(const char *text, size_t bytes, struct ir **ir);
void ir_free(struct ir *ir); /* NULL does nothing */

struct ir_place {
    const char *file;      /* NULL: unknown */
    uint32_t line, column; /* 0: unknown */
};

/* Of an instruction, which ends in "!dbg !N". Inlined code has the place of the call. */
struct ir_place ir_place_of(const struct ir *ir, const char *instruction);

/* Lines of the loops around a place of a function, from outside, as far as the compiler says where loops begin and end (`llvm.loop`).
   Returns how many there are; `most` of them are set. */
size_t ir_loops_around(const struct ir *ir, const char *symbol, struct ir_place place,
                       uint32_t *lines, size_t most);

/* As the source has it: without mangling, parameters or namespaces. The symbol itself without debug information. */
const char *ir_function_name(const struct ir *ir, const char *symbol);
struct ir_place ir_function_place(const struct ir *ir, const char *symbol);

/* The next function's symbol that is defined here; after == NULL: the first. NULL: no more. */
const char *ir_next_function(const struct ir *ir, const char *after);

/* The function's line for an instruction that was printed elsewhere, where metadata have other numbers. NULL: it has none. */
const char *ir_find(const struct ir *ir, const char *symbol, const char *instruction);

/* What the source calls the memory that a load or a store accesses: the variable at the beginning of its address. NULL: unknown. */
const char *ir_accessed_name(const struct ir *ir, const char *symbol, const char *instruction);

/* Bytes that a global variable takes by the name above, or 0: it is none, or not known. */
uint64_t ir_accessed_bytes(const struct ir *ir, const char *symbol, const char *instruction);

/* Is the address of a load or a store the same in all of the function, as that of a global or of what a parameter points at? */
bool ir_is_fixed(const struct ir *ir, const char *symbol, const char *instruction);

/* The value that the address of a load or a store is computed from, "%1" or "@a" in the text of the function. NULL: unknown. */
const char *ir_accessed_base(const struct ir *ir, const char *symbol, const char *instruction);
bool ir_same_value(const char *a, const char *b); /* of two such values */

/* Have both the same value as their address? False: it may be the same, computed twice. */
bool ir_same_address(const char *instruction, const char *other);

/* Does it fill the rest of a Fortran character variable with blanks, in a loop that no source has? */
bool ir_is_blank(const struct ir *ir, const char *instruction);

/* The next load or store of the function, as ir_find has it. NULL: none. */
const char *ir_next_access(const struct ir *ir, const char *symbol, const char *instruction);

/* What a load or store moves. 0: it is neither, or of an unknown type. */
uint32_t ir_bytes_of(const char *instruction);
bool ir_is_store(const char *instruction);

/* The variable that a value is, or is loaded from: "%7" or an expression with one. NULL: unknown. */
const char *ir_value_name(const struct ir *ir, const char *symbol, const char *expression);

struct ir_number {
    bool whole;
    int64_t value; /* if it is whole */
    double real;   /* in any case */
};

/*
 * A copy of the module in which variable `name` is a constant wherever a function `symbol` (NULL: any) gets it from outside:
 * parameters, what is loaded by reference, globals, results of calls. A number that is not whole, if it has type double. *count: values replaced. False: no memory.
 */
bool ir_bind(const struct ir *ir, const char *symbol, const char *name,
             const struct ir_number *value, struct util_text *text, size_t *count);

enum { IR_RANK_MAX = 15 };

/* Bounds that are given of a Fortran array. */
struct ir_shape {
    const char *name;
    uint32_t rank; /* dimensions that are given: the first ones */
    int64_t low[IR_RANK_MAX], high[IR_RANK_MAX];
};

/* A Fortran array whose place and bounds are in memory, in a descriptor. */
struct ir_described {
    const char *name;
    uint32_t rank;
    bool
        assumed; /* assumed-shape, or a pointer: that its elements lie one behind the other is taken for granted */
    bool given; /* among the shapes */
};

struct ir_descriptions {
    struct ir_described *items; /* the caller's to free; by function and array */
    size_t count, capacity;
};

/*
 * A copy of the module in which each function reads the descriptors of assumed-shape, allocatable and pointer arrays once, where it begins,
 * and not for each element; with the bounds that are given, and elements one behind the other. Names in *found live as long as the
 * module. False: no memory.
 */
bool ir_settle_descriptors(const struct ir *ir, const struct ir_shape *shapes, size_t shapes_count,
                           struct util_text *text, struct ir_descriptions *found);

/* Do functions read descriptors, those that are left over from the above? */
bool ir_reads_descriptors(const struct ir *ir);

/*
 * A copy of the module in which small functions without loops that only this file needs (accessors of C++ classes, static ones) may be
 * inlined: a compiler that does not optimise marks all as not to be. *count: functions. False: no memory.
 */
bool ir_allow_inlining(const struct ir *ir, struct util_text *text, size_t *count);

#endif
