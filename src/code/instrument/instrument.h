// SPDX-License-Identifier: MIT
/*
 * instrument: adds counting code to a compiler's assembler output: path counters (Ball, Larus 1996), calling-context
 * trees (Ammons, Ball, Larus 1997), access counters; and nops where functions can be patched while they run. What
 * it adds is laid out in wire/instrumented.h; the code linked in beside is the room `runtime`, which nops do not need.
 *
 * Host side, pure but for memory. The program's results never depend on what is added: a function where that
 * cannot be shown is left alone and listed with the reason.
 */
#ifndef HEADROOM_INSTRUMENT_H
#define HEADROOM_INSTRUMENT_H

#include "asm/asm.h"
#include "wire/instrumented.h"

struct instrument_options {
    uint32_t modes; /* enum instrumented_modes */
    bool shared; /* code may go into a shared library (-fPIC): thread-local storage by initial-exec
                               through the global offset table; else local-exec */
    bool absolute; /* neither -fPIC nor -fPIE: addresses fit 32 bits */
    /* GNU as, else clang's integrated assembler: they order the arguments of .section differently */
    bool gnu;
};

struct instrument_counts {
    uint32_t functions, instrumented, truncated, hashed, skipped;
    uint32_t prepared;        /* with INSTRUMENTED_FUNCTIONS: have a nop to patch */
    uint32_t loops, gated;    /* with INSTRUMENTED_CEILING: innermost ones; those with gates */
    uint32_t inline_assembly; /* instructions in inline assembly, left alone */
    uint32_t reasons[INSTRUMENTED_REASONS];
};

/* file: decoded. Edits it; asm_print then gives the new text. counts are added to. BASE_NO_MEMORY. */
enum base_status instrument_file(struct asm_file *file, const struct instrument_options *options,
                                 struct instrument_counts *counts);

#endif
