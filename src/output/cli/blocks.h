// SPDX-License-Identifier: MIT
/*
 * `headroom limits --hex` and `--hex-file`: bounds of basic blocks given as hexadecimal digits. For scripts that have many: one
 * model, one answer a line, in order, also where there is none.
 */
#ifndef HEADROOM_CLI_BLOCKS_H
#define HEADROOM_CLI_BLOCKS_H

#include "bounds/bounds.h"

#include <stdio.h>

struct blocks_request {
    const char *text; /* one block; NULL: those of file */
    const char *file; /* a block a line; "-": standard input */
    const struct model *model;
    const struct bounds_latencies *latencies; /* NULL: the model's */
    bool
        loop; /* ends in a branch that is taken; else the block is repeated back to back, unrolled */
    bool json;
};

/* Writes the answers to out. The exit code; what failed was said. */
int blocks_answer(const struct blocks_request *request, FILE *out);

#endif
