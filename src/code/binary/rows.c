// SPDX-License-Identifier: MIT
/*
 * Rows of an unwind table under construction. A compiler's own library has
 * some 10^6 ranges but only some 10^3 distinct rows.
 */
#include "binary/rows.h"

#include "binary/image.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void rows_begin(struct rows *rows, uint64_t base)
{
    *rows = (struct rows){.base = base, .limit = base, .last_row = UINT32_MAX};
}

void rows_free(struct rows *rows)
{
    free(rows->rows);
    util_index_free(&rows->index);
    free(rows->starts);
    free(rows->range_rows);
    free(rows->functions);
    *rows = (struct rows){0};
}

static bool equal_row(const void *items, uint32_t item, const void *key)
{
    const struct unwind_row *rows = items;
    return memcmp(&rows[item], key, sizeof *rows) == 0;
}

static bool intern(struct rows *rows, const struct unwind_row *row, uint32_t *number)
{
    bool found;
    if (!UTIL_GROW(rows->rows, rows->row_capacity, rows->row_count) ||
        !util_index_enter(&rows->index, base_hash_bytes(row, sizeof *row, 0), equal_row, rows->rows,
                          row, rows->row_count, number, &found))
        return false;
    if (!found)
        rows->rows[rows->row_count++] = *row;
    return true;
}

bool rows_add(struct rows *rows, uint64_t start, const struct unwind_row *row)
{
    uint32_t number;
    if (rows->last_row != UINT32_MAX && memcmp(&rows->rows[rows->last_row], row, sizeof *row) == 0)
        return true;
    if (start - rows->base > UINT32_MAX)
        return false;
    if (!intern(rows, row, &number) ||
        !UTIL_GROW(rows->starts, rows->starts_capacity, rows->range_count) ||
        !UTIL_GROW(rows->range_rows, rows->range_rows_capacity, rows->range_count)) {
        rows->no_memory = true;
        return false;
    }
    rows->starts[rows->range_count] = (uint32_t)(start - rows->base);
    rows->range_rows[rows->range_count++] = number;
    rows->last_row = number;
    return true;
}

bool rows_add_function(struct rows *rows, uint64_t start)
{
    if (start - rows->base > UINT32_MAX)
        return false;
    if (!UTIL_PUSH(rows->functions, rows->function_count, rows->function_capacity,
                   (uint32_t)(start - rows->base))) {
        rows->no_memory = true;
        return false;
    }
    return true;
}

static enum base_status write_all(int output, const void *bytes, size_t count, uint64_t *offset)
{
    const char *at = bytes;
    while (count) {
        ssize_t written = pwrite(output, at, count, (off_t)*offset);
        if (written < 0 && errno == EINTR)
            continue;
        if (written <= 0)
            return BASE_IO;
        at += written;
        count -= (size_t)written;
        *offset += (uint64_t)written;
    }
    return BASE_OK;
}

enum base_status rows_copy(const void *bytes, size_t count, int output)
{
    uint64_t offset = 0;
    return write_all(output, bytes, count, &offset);
}

enum base_status rows_write(const struct rows *rows, int output, uint64_t *bytes)
{
    struct unwind_header header = {.magic = UNWIND_MAGIC,
                                   .version = UNWIND_VERSION,
                                   .row_count = rows->row_count,
                                   .range_count = rows->range_count,
                                   .function_count = rows->function_count,
                                   .base_vaddr = rows->base,
                                   .limit_vaddr = rows->limit};
    const struct {
        const void *bytes;
        size_t count;
    } parts[] = {
        {rows->rows, rows->row_count * sizeof *rows->rows},
        {rows->starts, rows->range_count * sizeof *rows->starts},
        {rows->range_rows, rows->range_count * sizeof *rows->range_rows},
        {rows->functions, rows->function_count * sizeof *rows->functions},
    };
    enum base_status status = BASE_OK;
    uint64_t offset = sizeof header;
    for (size_t i = 0; i < BASE_COUNT(parts) && status == BASE_OK; i++)
        status = write_all(output, parts[i].bytes, parts[i].count, &offset);
    /* The header last: an unfinished file has no magic number. */
    uint64_t start = 0;
    if (status == BASE_OK)
        status = write_all(output, &header, sizeof header, &start);
    if (status == BASE_OK)
        *bytes = offset;
    return status;
}
