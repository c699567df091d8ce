// SPDX-License-Identifier: MIT
/* Between the files of polyhedra: Polly's print (read.c), trees (tree.c), dependences (dependences.c), changes (change.c) and rows of arrays (rows.c). */
#ifndef HEADROOM_POLYHEDRA_INTERNAL_H
#define HEADROOM_POLYHEDRA_INTERNAL_H

#include "polyhedra/polyhedra.h"

#include <isl/aff.h>
#include <isl/ctx.h>
#include <isl/map.h>
#include <isl/set.h>

enum { DIMENSIONS_MAX = 12, PARAMETERS_MAX = 64, ISL_STEPS_MAX = 20000000 };

struct scop_array {
    const char *name; /* Polly's */
    uint32_t element_bytes;
    uint32_t dimensions;
    int64_t sizes[DIMENSIONS_MAX]; /* of all but the first; -1: depends on a parameter */
    const char *base;    /* the pointer that its addresses are computed from; NULL: unknown */
    const char *unknown; /* the expression of LLVM that such a size is; NULL: none */
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
    const char *last; /* instruction of that block; NULL: none is known */
};

struct scop {
    const char *symbol;
    struct scop_array *arrays;
    size_t arrays_count, arrays_capacity;
    struct scop_statement *statements;
    size_t statements_count, statements_capacity;
    bool hoists; /* loads that always have the same result are no accesses */
    const char *parameters[PARAMETERS_MAX]; /* expressions of LLVM, by number */
};

struct polyhedra {
    const struct ir *ir;
    isl_ctx *context;
    struct util_strings strings;
    struct scop *scops;
    size_t count, capacity;
};

/* Gives accesses their instructions (match.c). False: no memory. */
bool match_all(struct polyhedra *polyhedra);

/* The array that a relation leads to. NULL: none that is listed. */
const struct scop_array *array_of(const struct scop *scop, isl_map *relation);

/* Of access n, counted over those of all statements: its statement, and its place there. NULL: there is none. */
const struct scop_statement *statement_of(const struct scop *scop, size_t access, size_t *place);

/* ---- trees ---------------------------------------------------------------------------------------------- */

/* What is not as Polly has it. */
struct changed {
    isl_map **schedules;     /* by statement */
    const int64_t *rows;     /* elements from one row to the next, by array */
    const uint32_t *padding; /* elements behind each, by array; NULL: none */
};

/* changed: NULL: nothing. */
enum base_status tree_make(const struct polyhedra *polyhedra, size_t index,
                           const struct changed *changed, struct nest **made, char *error);

/* ---- dependences ------------------------------------------------------------------------------------------ */

/* Of the longest schedule of a statement. */
unsigned schedule_length(const struct scop *scop);

/* A schedule with zeros behind it. Takes it. */
isl_map *schedule_lengthened(isl_map *schedule, unsigned length);

/* An access's place in its statement: scalars are read before anything else, and written behind it. */
size_t place_in_statement(const struct scop_statement *statement, bool scalar, size_t number);

/* ---- rows of arrays ----------------------------------------------------------------------------------------- */

/* Elements from one row to the next; 0: there are none, or not known. */
int64_t rows_elements(const struct scop *scop, const struct scop_array *array);

/* In which row the element with that index lies, if `elements` make a row and all instances stay in theirs; *most: the last place in one.
   NULL: they do not. */
isl_aff *rows_of(isl_pw_aff *index, isl_set *domain, int64_t elements, int64_t *most);

#endif
