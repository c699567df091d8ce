// SPDX-License-Identifier: MIT
/* Between the files of polyhedra: Polly's print (read.c), trees (tree.c). */
#ifndef HEADROOM_POLYHEDRA_INTERNAL_H
#define HEADROOM_POLYHEDRA_INTERNAL_H

#include "polyhedra/polyhedra.h"

#include <isl/ctx.h>
#include <isl/map.h>
#include <isl/set.h>

enum { DIMENSIONS_MAX = 12, PARAMETERS_MAX = 64, ISL_STEPS_MAX = 20000000 };

struct scop_array {
    const char *name; /* Polly's */
    uint32_t element_bytes;
    uint32_t dimensions;
    int64_t sizes[DIMENSIONS_MAX]; /* of all but the first; -1: depends on a parameter */
};

struct scop_access {
    isl_map *relation;
    bool write;
    bool conditional;        /* behind a region's first block */
    bool may;                /* Polly says so */
    const char *instruction; /* NULL: not printed */
};

struct scop_statement {
    const char *name;
    isl_set *domain;
    isl_map *schedule;
    struct scop_access *accesses;
    size_t accesses_count, accesses_capacity;
    struct scop_access *scalars; /* values that live across statements */
    size_t scalars_count, scalars_capacity;
    const char **instructions; /* loads and stores of the statement's first block */
    size_t instructions_count, instructions_capacity;
    size_t matched; /* accesses that have one */
};

struct scop {
    const char *symbol;
    struct scop_array *arrays;
    size_t arrays_count, arrays_capacity;
    struct scop_statement *statements;
    size_t statements_count, statements_capacity;
    const char *parameters[PARAMETERS_MAX]; /* expressions of LLVM, by number */
};

struct polyhedra {
    const struct ir *ir;
    isl_ctx *context;
    struct util_strings strings;
    struct scop *scops;
    size_t count, capacity;
};

#endif
