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

enum { LOWER_ERROR_BYTES = 4608, LOWER_BINDINGS = 64 };

struct lower_binding {
    const char *name, *text; /* -D name=text */
};

struct lower_request {
    const char *path; /* a source, or .ll, .bc */
    char *const
        *compiler; /* the command whose -I, -D, -U, -std and the like are taken; NULL: none */
    const struct lower_binding *bindings;
    size_t bindings_count;
    unsigned seconds; /* for each command */
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
    struct util_strings strings;
};

bool lower_run(const struct lower_request *request, struct lowered *lowered, char *error);
void lower_free(struct lowered *lowered);

/* Is the word the name of a source file that is understood, or of LLVM IR? */
bool lower_is_source(const char *word);

#endif
