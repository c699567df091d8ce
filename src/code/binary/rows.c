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
    free(rows->slots);
    free(rows->starts);
    free(rows->range_rows);
    free(rows->functions);
    *rows = (struct rows){0};
}

static bool grow(void *array_pointer, uint32_t room, size_t element)
{
    void *grown = reallocarray(*(void **)array_pointer, room, element);
    if (!grown)
        return false;
    *(void **)array_pointer = grown;
    return true;
}

static uint32_t more(uint32_t room)
{
    return room < 1024 ? 1024 : room > UINT32_MAX / 2 ? UINT32_MAX : room * 2;
}

static uint32_t find_slot(const struct rows *rows, const struct unwind_row *row)
{
    uint32_t slot = (uint32_t)base_hash_bytes(row, sizeof *row, 0) & (rows->slot_count - 1);
    while (rows->slots[slot] && memcmp(&rows->rows[rows->slots[slot] - 1], row, sizeof *row) != 0)
        slot = (slot + 1) & (rows->slot_count - 1);
    return slot;
}

/* At most half full: a probe is short. */
static bool rehash(struct rows *rows)
{
    uint32_t count = rows->slot_count ? rows->slot_count * 2 : 2048;
    uint32_t *slots = count ? calloc(count, sizeof *slots) : NULL;
    if (!slots)
        return false;
    free(rows->slots);
    rows->slots = slots;
    rows->slot_count = count;
    for (uint32_t i = 0; i < rows->row_count; i++)
        rows->slots[find_slot(rows, &rows->rows[i])] = i + 1;
    return true;
}

static bool intern(struct rows *rows, const struct unwind_row *row, uint32_t *index)
{
    if (rows->row_count >= rows->slot_count / 2 && !rehash(rows))
        return false;
    uint32_t slot = find_slot(rows, row);
    if (!rows->slots[slot]) {
        if (rows->row_count == rows->row_room) {
            uint32_t room = more(rows->row_room);
            if (!grow(&rows->rows, room, sizeof *rows->rows))
                return false;
            rows->row_room = room;
        }
        rows->rows[rows->row_count] = *row;
        rows->slots[slot] = ++rows->row_count;
    }
    *index = rows->slots[slot] - 1;
    return true;
}

static bool make_room_for_range(struct rows *rows)
{
    if (rows->range_count < rows->range_room)
        return true;
    uint32_t room = more(rows->range_room);
    if (room == rows->range_room || !grow(&rows->starts, room, sizeof *rows->starts) ||
        !grow(&rows->range_rows, room, sizeof *rows->range_rows))
        return false;
    rows->range_room = room;
    return true;
}

bool rows_add(struct rows *rows, uint64_t start, const struct unwind_row *row)
{
    uint32_t index;
    if (rows->last_row != UINT32_MAX && memcmp(&rows->rows[rows->last_row], row, sizeof *row) == 0)
        return true;
    if (start - rows->base > UINT32_MAX)
        return false;
    if (!intern(rows, row, &index) || !make_room_for_range(rows)) {
        rows->no_memory = true;
        return false;
    }
    rows->starts[rows->range_count] = (uint32_t)(start - rows->base);
    rows->range_rows[rows->range_count++] = index;
    rows->last_row = index;
    return true;
}

bool rows_add_function(struct rows *rows, uint64_t start)
{
    if (start - rows->base > UINT32_MAX)
        return false;
    if (rows->function_count == rows->function_room) {
        uint32_t room = more(rows->function_room);
        if (!grow(&rows->functions, room, sizeof *rows->functions)) {
            rows->no_memory = true;
            return false;
        }
        rows->function_room = room;
    }
    rows->functions[rows->function_count++] = (uint32_t)(start - rows->base);
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
