// SPDX-License-Identifier: MIT
/*
 * The rows of line tables: which instructions came from a line, and from which line an instruction came. A look-up by address leaves
 * out rows without an instruction of their own (where several begin at one address, their order is that of the statements), and
 * whether a debugger stops at a row.
 *
 * Host side, as the rest of the room: files are hostile, strings live as long as the struct binary.
 */
#ifndef HEADROOM_BINARY_LINES_H
#define HEADROOM_BINARY_LINES_H

#include "binary/binary.h"

struct binary_row {
    uint64_t start, end;    /* of its instructions; end == start: the next row begins there, too */
    const char *file;       /* made absolute; NULL: none */
    uint32_t line;          /* 0: none: the compiler made the code from no line, or from several */
    uint32_t column;        /* 0: unknown */
    uint32_t discriminator; /* of several blocks of one line; 0 */
    uint32_t view;          /* its place among the rows of its address, from 0 */
    bool statement;         /* is_stmt: a debugger's stop point */
};

/* A visitor of rows; false ends. */
typedef bool binary_row_visit(void *context, const struct binary_row *row);

/*
 * The rows that begin in [start, end), by address, of one address in the order of the table. BASE_NOT_FOUND: no line table for
 * `start`; BASE_NO_MEMORY.
 */
enum base_status binary_line_rows(struct binary *binary, uint64_t start, uint64_t end,
                                  binary_row_visit *visit, void *context);

/*
 * All rows of a source file, unit after unit: `file` is the end of its path, from a slash on. Line tables
 * that never select it are not read. BASE_NOT_FOUND: no line table names it.
 */
enum base_status binary_file_rows(struct binary *binary, const char *file, binary_row_visit *visit,
                                  void *context);

/* Is `wanted` the end of a path, from a slash on? */
bool binary_path_ends(const char *path, const char *wanted);

/* Who compiled the unit that has the address: "GNU C17 12.2.0 -O2"; NULL: not known. */
const char *binary_producer(struct binary *binary, uint64_t vaddr);

#endif
