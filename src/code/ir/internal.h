// SPDX-License-Identifier: MIT
/* Between the files of ir: a module as lines (ir.c), descriptors of arrays (descriptors.c), control flow (loops.c), the operations of a loop (operations.c). */
#ifndef HEADROOM_IR_INTERNAL_H
#define HEADROOM_IR_INTERNAL_H

#include "ir/loop.h"

#include <string.h>

struct function {
    const char *symbol;
    uint32_t first, end; /* lines: "define", and behind "}" */
};

struct ir {
    char *text;
    char **lines;
    size_t lines_count, lines_capacity;
    const char **metadata; /* by number; NULL: none */
    size_t metadata_count, metadata_capacity;
    struct function *functions;
    size_t functions_count, functions_capacity;
    struct util_strings strings;
};

static inline bool begins(const char *text, const char *with)
{
    return strncmp(text, with, strlen(with)) == 0;
}

/* The order of two texts that need not end in 0. */
int ir_compare(const char *a, size_t a_bytes, const char *b, size_t b_bytes);

/* A copy that lives as long as the module. NULL: no memory. */
const char *ir_keep(const struct ir *ir, const char *text, size_t bytes);

const struct function *ir_find_function(const struct ir *ir, const char *symbol);

/* Of "%name" or "@name" at the beginning of a text. */
size_t ir_value_bytes(const char *value);

/* The variable that a debug record says a value is. NULL: none. */
const char *ir_debug_name(const struct ir *ir, const struct function *function, const char *value,
                          size_t bytes);

/* The node of the variable that a value is, or that a global is. NULL: none. */
const char *ir_variable(const struct ir *ir, const struct function *function, const char *value,
                        size_t bytes);
const char *ir_variable_name(const struct ir *ir, const char *variable); /* of a node, or NULL */

/* Of an array that the variable is. 0: it is none, or not known. */
uint64_t ir_element_bytes(const struct ir *ir, const char *variable, bool *allocatable);

/* What a value is defined as: the text behind " = ". NULL: a parameter. */
const char *ir_definition(const struct ir *ir, const struct function *function, const char *value,
                          size_t bytes);

/* The last "ptr X" operand that is an address: of a load, a store, a getelementptr. NULL: none. */
const char *ir_pointer_operand(const char *instruction);

/* ---- control flow (loops.c) ------------------------------------------------------------------------------- */

struct block {
    const char *label; /* NULL: the first block */
    size_t label_bytes;
    uint32_t first, end; /* lines */
    uint32_t successors, successors_count;
};

/* A natural loop. */
struct natural {
    uint32_t head;
    uint32_t latch; /* one of its blocks from which the head is reached again */
    bool *body;     /* by block */
    uint32_t first_line, last_line;
    bool innermost;
};

/* Appends the operations of a loop (operations.c). False: no memory. */
bool ir_operations_of(const struct ir *ir, const struct function *function,
                      const struct block *blocks, size_t blocks_count,
                      const struct natural *natural, ir_reference *reference, void *context,
                      struct ir_loop *loop);

#endif
