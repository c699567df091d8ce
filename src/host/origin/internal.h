// SPDX-License-Identifier: MIT
/*
 * Between the files of origin: sources.c reads what source files assign, function.c a function with its rows, moved.c compares the order
 * of its lines, lines.c answers for a place, variables.c for the variables there, check.c goes over all functions, heat.c lays another
 * profile's figures beside the code.
 */
#ifndef HEADROOM_ORIGIN_INTERNAL_H
#define HEADROOM_ORIGIN_INTERNAL_H

#include "binary/lines.h"
#include "binary/scopes.h"
#include "cfg/cfg.h"
#include "currency/currency.h"
#include "origin/origin.h"
#include "pathgraph/pathgraph.h"
#include "util/util.h"

/* ---- sources -------------------------------------------------------------------------------------- */

struct source {
    const char *path;                        /* the binary's */
    struct currency_assignment *assignments; /* by line */
    size_t count, capacity;
    bool read;
};

struct sources {
    struct source **items; /* they stay where they are */
    size_t count, capacity;
    uint64_t not_newer_ns; /* than the program; 0: any */
    uint64_t read, missing;
};

/* When the program was written. */
void sources_begin(struct sources *sources, const char *program);
void sources_free(struct sources *sources);

/* The assignments of a line, an array of *count; 0: it has none, or they are not known. */
const struct currency_assignment *sources_find(struct sources *sources, const char *path,
                                               uint32_t line, size_t *count);

/* What is on a line. False: the file cannot be read, or was changed later. */
bool sources_line(const struct sources *sources, const char *path, uint32_t line,
                  enum currency_line *kind);

/* ---- a function ------------------------------------------------------------------------------------ */

struct place {
    const char *file; /* never NULL */
    uint32_t line;
};

enum { OUTER_MAX = 8, FRAMES_MAX = 32 };

/* A variable with one place in memory that the function assigns to. */
struct assigned {
    struct binary_local variable;
    uint32_t *places;
    size_t count, capacity;
};

/* A stop point at which function->assigned[assigned] is suspect (moved.c). */
struct moved {
    size_t assigned;
    struct currency_stop stop;
};

struct function {
    struct binary *binary;
    uint64_t start, end;
    uint8_t *bytes;
    struct cfg *flow;
    struct binary_row *rows; /* by address */
    size_t rows_count, rows_capacity;
    struct place *places; /* numbered from 1: places[number - 1] */
    size_t places_count, places_capacity;
    struct util_index places_index;
    struct currency_mark *marks;
    struct currency_span *spans;
    uint32_t (*outer)[OUTER_MAX]; /* by mark: places that call what is inlined there; 0 ends */
    size_t marks_count, spans_count;
    struct assigned *assigned;
    size_t assigned_count, assigned_capacity;
    struct currency *currency; /* NULL: nothing is assigned */
    struct moved *moved;
    size_t moved_count, moved_capacity;
    bool
        frontiers; /* its compiler keeps a stop point where each statement begins: without, all is suspect at most */
};

/* Rows and flow. BASE_MALFORMED: its bytes are not there; BASE_NOT_FOUND: no lines. */
enum base_status function_read(struct binary *binary, uint64_t start, uint64_t end,
                               struct function *function);
/* Finds what it assigns to, and prepares currency. */
enum base_status function_assigns(struct function *function, struct sources *sources);
void function_free(struct function *function);

const struct place *function_place(const struct function *function, uint32_t number);

/* The number of a line; 0: it is none, or no memory. */
uint32_t function_number(struct function *function, const char *file, uint32_t line);
bool is_same_variable(const struct binary_local *a, const struct binary_local *b);
/* The variable that a name means at an address: *assigned is its place in function->assigned. BASE_NOT_FOUND: it has no fixed place, or
   is no number; BASE_NO_MEMORY. */
enum base_status function_assigned(struct function *function, uint64_t vaddr, const char *name,
                                   size_t *assigned);
/* Adds function->moved. */
enum base_status moved_find(struct function *function, struct sources *sources);

/* Stop points at which an assigned variable is not current. Without statement frontiers the class is never more than suspect. */
enum base_status function_stops(const struct function *function, const struct assigned *assigned,
                                bool (*visit)(void *context, const struct currency_stop *stop),
                                void *context);

/* Loops around an address. */
uint32_t function_depth(const struct function *function, uint64_t address);

/* ---- rows ------------------------------------------------------------------------------------------- */

/* What was asked. */
struct profile_map_run *origin_run(struct profile *profile);

/* The variables in scope at an address. */
enum base_status variables_at(struct profile *profile, struct function *function,
                              struct sources *sources, uint64_t vaddr);

/* The function that has the address, not one inlined there, as people read it; NULL: not known. */
const char *origin_function_name(struct binary *binary, uint64_t vaddr);

/* A path without its directories. */
const char *origin_base_name(const char *path);

#endif
