// SPDX-License-Identifier: MIT
/*
 * compile: a compiler run whose assembly is rewritten on its way to the assembler. gcc, g++ and gfortran run every
 * step of theirs through us (-wrapper); clang prints its steps (-###) and we run them. So everything that drivers
 * know about their arguments (dependency files, temporary files, several sources, names of outputs, response
 * files, specifications) stays theirs, and only three kinds of step are touched: compilation
 * (looked at, for what cannot be rewritten), assembly of what was compiled, and linking.
 *
 * Never prints and never exits, but may become the compiler (exec).
 */
#ifndef HEADROOM_COMPILE_H
#define HEADROOM_COMPILE_H

#include "base/base.h"

enum { COMPILE_ERROR_BYTES = 10240 };

/* Exit codes besides the compiler's own. */
enum { COMPILE_REFUSED = 1, COMPILE_NOT_EXECUTABLE = 126, COMPILE_NOT_FOUND = 127 };

/* First word of the command by which gcc runs its steps; the second is a descriptor. */
#define COMPILE_STEP "--compile-step"

typedef void compile_note(const char *sentence);

struct compile_request {
    uint32_t modes; /* enum instrumented_modes; 0: assembly is taken apart and put together only */
    bool verbose;   /* a sentence about each object to `note` */
    const char *keep;     /* folder for the rewritten assembly, or NULL */
    const char *fallback; /* compiler to run if the command begins with an option */
    char *const *command; /* NULL-terminated: compiler and arguments */
    compile_note *note;
};

/*
 * Runs the compiler. Returns the exit status, and in error (COMPILE_ERROR_BYTES) a sentence if it was not the
 * compiler that failed, else "". With gcc does not return but becomes gcc.
 */
int compile_run(const struct compile_request *request, char *error);

/* One step of gcc: words are what follows COMPILE_STEP, NULL-terminated. Becomes the step, or fails as above. */
int compile_step(char *const *words, compile_note *note, char *error);

#endif
