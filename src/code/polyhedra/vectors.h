// SPDX-License-Identifier: MIT
/*
 * polyhedra/vectors.h: the dependences of a nest as distance vectors: for each pair of accesses and each kind of dependence, how many
 * iterations of the loops around both lie between, outermost first.
 */
#ifndef HEADROOM_POLYHEDRA_VECTORS_H
#define HEADROOM_POLYHEDRA_VECTORS_H

#include "polyhedra/polyhedra.h"

enum { POLYHEDRA_DEPTH_MAX = 24 };

enum polyhedra_kind { POLYHEDRA_FLOW, POLYHEDRA_ANTI, POLYHEDRA_OUTPUT, POLYHEDRA_KINDS };

/* Of the distances in one loop: the least and the greatest. */
struct polyhedra_range {
    bool low_known, high_known; /* false: there is none, or it depends on a parameter */
    int64_t low, high;
};

struct polyhedra_vector {
    uint32_t from, to; /* accesses, as polyhedra_access_of numbers them */
    uint8_t kind;      /* enum polyhedra_kind */
    uint8_t depth;     /* loops around both */
    struct polyhedra_range distances[POLYHEDRA_DEPTH_MAX];
    bool inner;          /* some pairs lie in one execution of the innermost of these loops */
    int64_t inner_least; /* the least distance of those */
};

struct polyhedra_vectors { /* {0} is empty */
    struct polyhedra_vector *items;
    size_t count, capacity;
};

/*
 * All pairs of iterations that touch the same element, by access and kind. BASE_TOO_LARGE: isl was stopped; BASE_UNSUPPORTED: there are
 * more than POLYHEDRA_DEPTH_MAX loops around an access; BASE_NO_MEMORY. Free them whatever is returned.
 */
enum base_status polyhedra_vectors(const struct polyhedra *polyhedra, size_t index,
                                   struct polyhedra_vectors *vectors);
void polyhedra_vectors_free(struct polyhedra_vectors *vectors);

/* Loops of the nest around an access. */
unsigned polyhedra_depth(const struct polyhedra *polyhedra, size_t index, size_t access);

/* Bytes by which the access moves on from one iteration of its innermost loop to the next. False: not always the same, or unknown. */
bool polyhedra_stride(const struct polyhedra *polyhedra, size_t index, size_t access,
                      int64_t *bytes);

/* Of access n, counted from 0 over those of all statements: its instruction of LLVM IR, which ir.h's functions take (NULL: unknown); whether it writes. False: there is none. */
bool polyhedra_access_of(const struct polyhedra *polyhedra, size_t index, size_t access,
                         const char **instruction, bool *write);

#endif
