// SPDX-License-Identifier: MIT
/* Between the files of dependence: the source's text (source.c), lists (print.c), pictures (draw.c). */
#ifndef HEADROOM_DEPENDENCE_INTERNAL_H
#define HEADROOM_DEPENDENCE_INTERNAL_H

#include "dependence/dependence.h"

/* Lines of source files, read when they are first asked for. */
struct source_files {
    const struct ir *ir;
    const char *symbol;
    struct source_file {
        const char *name; /* of ir */
        char *text;       /* NULL: cannot be read */
        size_t bytes;
    } * files;
    size_t count, capacity;
};
void source_files_free(struct source_files *files);

/* An ir_reference; context: struct source_files. */
void source_reference(void *context, const char *instruction, char *text, size_t bytes);

extern const char *const dependence_names[]; /* "FLOW", ... */

uint32_t line_of(const struct dependence_loop *loop, const struct ir *ir, uint32_t operation);
bool is_on_circuit(const struct dependence_loop *loop, size_t arc);

#endif
