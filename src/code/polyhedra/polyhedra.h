// SPDX-License-Identifier: MIT
/*
 * polyhedra: loop nests as integer sets: what Polly 19 prints of a module (opt-19 -passes=print<polly-function-scops>), read with isl; made
 * into trees that can be walked, by isl's code generation.
 *
 * The print's form belongs to that version. Errors explain themselves in one sentence: error, of POLYHEDRA_ERROR_BYTES. One thread at a time.
 */
#ifndef HEADROOM_POLYHEDRA_H
#define HEADROOM_POLYHEDRA_H

#include "ir/ir.h"
#include "nest/nest.h"

enum { POLYHEDRA_ERROR_BYTES = 1024 };

struct polyhedra;

/* What Polly printed of a module; ir: that module, which has to stay. BASE_MALFORMED: not what Polly 19 prints. */
enum base_status polyhedra_read(const char *text, size_t bytes, const struct ir *ir,
                                struct polyhedra **polyhedra, char *error);
void polyhedra_free(struct polyhedra *polyhedra); /* NULL does nothing */

size_t polyhedra_count(const struct polyhedra *polyhedra); /* nests with accesses to memory */

struct polyhedra_about {
    const char *symbol;             /* of the function */
    const char *function;           /* as the source has it */
    const char *file;               /* NULL: unknown */
    uint32_t first_line, last_line; /* of its accesses; 0: unknown */
    unsigned depth;                 /* loops around each other */
};
void polyhedra_about(const struct polyhedra *polyhedra, size_t index,
                     struct polyhedra_about *about);

/* Where the outermost loop around the first of its accesses begins; 0: unknown. Looks through the function. */
uint32_t polyhedra_loop_line(const struct polyhedra *polyhedra, size_t index);

/* A parameter whose value the nest needs: its name in the source, or as LLVM has it. NULL: none, it can be made. */
const char *polyhedra_parameter(const struct polyhedra *polyhedra, size_t index);

/* The nest with that index; nest_free it. With the error: BASE_UNSUPPORTED: what cannot be made; BASE_TOO_LARGE: too deep, or isl was stopped;
   BASE_NO_MEMORY. */
enum base_status polyhedra_nest(const struct polyhedra *polyhedra, size_t index, struct nest **nest,
                                char *error);

#endif
