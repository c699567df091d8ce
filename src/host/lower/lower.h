// SPDX-License-Identifier: MIT
/*
 * lower: from a source file to loop nests, by LLVM 19's tools: clang-19, clang++-19 or flang-new-19 make LLVM IR of it without optimising, opt-19
 * brings scalars into registers and loops into their simplest form, variables are bound to values on the way, and Polly prints the sets.
 * The one place that knows these commands.
 *
 * Temporary files lie in a directory of their own that is gone afterwards. Every command has a time limit. Errors explain themselves in one
 * sentence: error, of LOWER_ERROR_BYTES. What a compiler prints goes to standard error if it fails, and nowhere if not.
 */
#ifndef HEADROOM_LOWER_H
#define HEADROOM_LOWER_H

#include "ir/ir.h"
#include "polyhedra/polyhedra.h"

enum { LOWER_ERROR_BYTES = 4608, LOWER_BINDINGS = 64, LOWER_NAME_BYTES = 128 };

struct lower_binding {
    const char *name,
        *text; /* -D name=text; of an array with a descriptor: its bounds, "100,0:50" */
};

struct lower_request {
    const char *path; /* a source, or .ll, .bc */
    char *const
        *compiler; /* the command whose -I, -D, -U, -std and the like are taken; NULL: none */
    const struct lower_binding *bindings;
    size_t bindings_count;
    unsigned seconds; /* for each command */
    bool quiet;       /* what a compiler prints stays unseen if it fails, too */
};

/* A loop that is no nest of sets, and why. */
struct lower_rejected {
    const char *file; /* never NULL */
    uint32_t line, column;
    const char *reason, *help; /* clauses without a full stop */
};

struct lowered {
    struct ir *ir;
    struct polyhedra *polyhedra;
    struct lower_rejected *rejected; /* by file and line */
    size_t rejected_count, rejected_capacity;
    struct ir_descriptions arrays; /* Fortran's that have descriptors, each name once */
    struct util_strings strings;
};

bool lower_run(const struct lower_request *request, struct lowered *lowered, char *error);
void lower_free(struct lowered *lowered);

/* NULL: there is no array of that name that has a descriptor. */
const struct ir_described *lower_array(const struct lowered *lowered, const char *name);

/* Reads NAME=VALUE, which has to outlive the binding. name: for a copy of NAME, LOWER_NAME_BYTES. False: it is something else. */
bool lower_read_binding(const char *text, char *name, struct lower_binding *binding);

/* Is the word the name of a source file that is understood, or of LLVM IR? */
bool lower_is_source(const char *word);

#endif
