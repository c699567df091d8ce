// SPDX-License-Identifier: MIT
/*
 * Private to the room: collects unwind rows in ascending order, keeps each
 * distinct row once, and writes the table file of unwind/unwind.h.
 */
#ifndef HEADROOM_BINARY_ROWS_H
#define HEADROOM_BINARY_ROWS_H

#include "unwind/unwind.h"
#include "util/util.h"

struct rows {
    struct unwind_row *rows;
    uint32_t row_count;
    size_t row_capacity;
    struct util_index index; /* of rows */
    uint32_t *starts, *range_rows;
    uint32_t range_count;
    size_t starts_capacity, range_rows_capacity;
    uint32_t *functions;
    uint32_t function_count;
    size_t function_capacity;
    uint64_t base, limit;
    uint32_t last_row; /* of the last range */
    bool no_memory;
};

void rows_begin(struct rows *rows, uint64_t base);
void rows_free(struct rows *rows);

/* From `start` (ascending, at least base, less than 4 GiB above it) on, row holds.
   False: out of memory or out of reach. */
bool rows_add(struct rows *rows, uint64_t start, const struct unwind_row *row);
bool rows_add_function(struct rows *rows, uint64_t start);

/* A table as rows_write once wrote it. */
enum base_status rows_copy(const void *bytes, size_t count, int output);

/* limit: one past the last covered address. */
enum base_status rows_write(const struct rows *rows, int output, uint64_t *bytes);

#endif
