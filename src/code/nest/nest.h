// SPDX-License-Identifier: MIT
/*
 * nest: loop nests as trees that can be walked, both ways and from anywhere: loops with bounds, conditions, statements,
 * and the accesses of these in the order of their execution. What cache miss equations are solved on.
 *
 * All is numbers: parameters are bound before a nest is built. An iteration vector is one value for each loop around, in
 * the loop's slot. Addresses are bytes from the beginning of their array, which has a base.
 *
 * Built by its owner (polyhedra), constant from then on, and then for any number of threads. Memory is malloc's.
 */
#ifndef HEADROOM_NEST_H
#define HEADROOM_NEST_H

#include "util/util.h"

#define NEST_NONE UTIL_NONE
enum { NEST_SLOTS = 24 }; /* loops around one statement, at most */

/* ---- expressions over iterators -------------------------------------------------------------------- */

enum nest_operation {
    NEST_CONSTANT, /* value */
    NEST_ITERATOR, /* value: slot */
    NEST_ADD,
    NEST_SUBTRACT,
    NEST_MULTIPLY,
    NEST_MINIMUM,
    NEST_MAXIMUM,
    NEST_QUOTIENT,  /* rounded down; of a positive divisor */
    NEST_REMAINDER, /* of the same */
    NEST_EQUAL,     /* comparisons: 0 or 1 */
    NEST_AT_MOST,
    NEST_LESS,
    NEST_AND,
    NEST_OR,
    NEST_CHOICE, /* condition ? left : right */
};

struct nest_expression {
    enum nest_operation operation;
    uint32_t left, right, condition; /* expressions of lower numbers */
    int64_t value;
};

/* constant + sum of factors * iterators */
struct nest_affine {
    int64_t constant;
    int64_t factors[NEST_SLOTS];
};

/* ---- what is accessed -------------------------------------------------------------------------------- */

struct nest_array {
    const char *name;
    uint32_t element_bytes;
    int64_t low,
        high;      /* bytes that are accessed: first, or 0 if that is less, and behind the last */
    int64_t bytes; /* that it takes, from low; at least high - low */
    int64_t base;  /* address of byte 0 of it */
};

/* A load or a store of the source. */
struct nest_reference {
    uint32_t array;
    const char *text; /* "A[i][k]", or the array's name */
    const char *file; /* NULL: unknown */
    uint32_t line, column;
    uint32_t bytes;
    bool write;
    bool conditional; /* under a condition that depends on data: it may happen */
};

/* An occurrence of a reference in the tree; most references have one. */
struct nest_access {
    uint32_t reference;
    uint32_t statement;    /* node */
    uint32_t bytes_offset; /* expression; NEST_NONE: `affine` says it */
    struct nest_affine affine;
};

/* ---- the tree ------------------------------------------------------------------------------------------- */

enum nest_kind { NEST_BLOCK, NEST_LOOP, NEST_CONDITION, NEST_STATEMENT };

struct nest_node {
    enum nest_kind kind;
    uint32_t parent;   /* NEST_NONE: the root, which is node 0 */
    uint32_t position; /* among the parent's children */
    uint32_t first;    /* of children in `children`, of a loop one; of a statement: of accesses */
    uint32_t count;
    uint32_t slot;         /* of a loop */
    uint32_t lower, upper; /* of a loop, both included; of a condition: lower holds it */
    int64_t step;          /* of a loop, positive */
    uint32_t line;         /* of a loop; 0: unknown */
    bool flat; /* a loop around statements alone, without conditions, whose addresses are affine */
};

struct nest {
    const char *function;
    const char *file; /* NULL: unknown */
    uint32_t line;    /* of the first loop; 0: unknown */
    struct nest_expression *expressions;
    size_t expressions_count, expressions_capacity;
    struct nest_node *nodes;
    size_t nodes_count, nodes_capacity;
    uint32_t *children; /* nodes */
    size_t children_count, children_capacity;
    struct nest_access *accesses;
    size_t accesses_count, accesses_capacity;
    struct nest_reference *references;
    size_t references_count, references_capacity;
    struct nest_array *arrays;
    size_t arrays_count, arrays_capacity;
    uint32_t slots;
    struct util_strings strings;
};

void nest_free(struct nest *nest); /* NULL does nothing */

/* A copy of a text that lives as long as the nest; NULL without memory, or for NULL. */
const char *nest_keep(struct nest *nest, const char *text);

/* Adds an expression, folding constants. NEST_NONE: no memory, or an operand was that. */
uint32_t nest_constant(struct nest *nest, int64_t value);
uint32_t nest_iterator(struct nest *nest, uint32_t slot);
uint32_t nest_binary(struct nest *nest, enum nest_operation operation, uint32_t left,
                     uint32_t right);
uint32_t nest_choice(struct nest *nest, uint32_t condition, uint32_t left, uint32_t right);

int64_t nest_value(const struct nest *nest, uint32_t expression, const int64_t *iterators);

/* False: it is not affine, and *affine untouched. */
bool nest_affine_of(const struct nest *nest, uint32_t expression, struct nest_affine *affine);

/* Least and greatest value while each iterator is between its own; wide where they depend on each other. */
void nest_range(const struct nest *nest, uint32_t expression, const int64_t *least,
                const int64_t *most, int64_t *low, int64_t *high);

/* Call when all nodes are there: sets what can be derived (flat, slots, ranges of arrays). */
void nest_finish(struct nest *nest);

/* Bases for arrays that have none yet: one behind the other in their order, each at a multiple of `align`, a power of two. */
void nest_place(struct nest *nest, int64_t align);

/* Address of an access at an iteration vector. */
static inline int64_t nest_affine_value(const struct nest_affine *affine, uint32_t slots,
                                        const int64_t *iterators)
{
    int64_t value = affine->constant;
    for (uint32_t i = 0; i < slots; i++)
        value += affine->factors[i] * iterators[i];
    return value;
}

static inline int64_t nest_address(const struct nest *nest, const struct nest_access *access,
                                   const int64_t *iterators)
{
    int64_t base = nest->arrays[nest->references[access->reference].array].base;
    return base + (access->bytes_offset == NEST_NONE
                       ? nest_affine_value(&access->affine, nest->slots, iterators)
                       : nest_value(nest, access->bytes_offset, iterators));
}

/* How often a statement is executed. UINT64_MAX: counting it takes more than `limit` steps. */
uint64_t nest_executions(const struct nest *nest, uint32_t statement, uint64_t limit);

/* The iterators' least and most values at a statement, whatever the others are. Slots of other loops: 0. */
void nest_box(const struct nest *nest, uint32_t node, int64_t *least, int64_t *most);

/* Is the statement executed at these iterators? */
bool nest_contains(const struct nest *nest, uint32_t statement, const int64_t *iterators);

/* The first access, in order of execution, that touches a byte of [low, high) of addresses. *unsure: steps ran out. False: none. */
bool nest_first_touch(const struct nest *nest, int64_t low, int64_t high, uint64_t steps,
                      uint32_t *access, int64_t *iterators, bool *unsure);

/* Structure as promised? For tests. */
bool nest_check(const struct nest *nest);

#endif
