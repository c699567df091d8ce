// SPDX-License-Identifier: MIT
/*
 * Opening and searching compiled unwind tables. Signal-safe, no state.
 *
 * A table is mapped from a file that another process wrote, so nothing in it
 * is trusted where it could lead outside the mapping: indices are compared at
 * each use, whatever unwind_table_open was asked to check.
 */
#include "unwind/unwind.h"

#include <string.h>

static bool ascending(const uint32_t *values, uint32_t count, uint64_t limit)
{
    for (uint32_t i = 0; i < count; i++)
        if (values[i] >= limit || (i && values[i] <= values[i - 1]))
            return false;
    return true;
}

static bool row_is_valid(const struct unwind_row *row)
{
    if (row->cfa >= UNWIND_CFA_KINDS || row->cfa_register >= BASE_GENERAL_REGISTERS)
        return false;
    for (int i = 0; i < UNWIND_SAVED; i++)
        if (UNWIND_PLACE_RULE(row->place[i]) >= UNWIND_RULES)
            return false;
    return true;
}

static bool contents_are_valid(const struct unwind_table *table)
{
    const struct unwind_header *header = &table->header;
    uint64_t span = header->limit_vaddr - header->base_vaddr;
    if (!ascending(table->starts, header->range_count, span) ||
        !ascending(table->function_starts, header->function_count, span))
        return false;
    for (uint32_t i = 0; i < header->range_count; i++)
        if (table->range_rows[i] >= header->row_count)
            return false;
    for (uint32_t i = 0; i < header->row_count; i++)
        if (!row_is_valid(&table->rows[i]))
            return false;
    return true;
}

enum base_status unwind_table_open(const void *bytes, size_t size, bool thorough,
                                   struct unwind_table *table)
{
    struct unwind_table opened;
    struct unwind_header *header = &opened.header;
    if (size < sizeof *header || (uintptr_t)bytes % 8)
        return BASE_MALFORMED;
    memcpy(header, bytes, sizeof *header);
    if (header->magic != UNWIND_MAGIC)
        return BASE_MALFORMED;
    if (header->version > UNWIND_VERSION)
        return BASE_TOO_NEW;
    /* Counts have 32 bits: this sum cannot overflow 64. */
    uint64_t needed = sizeof *header + (uint64_t)header->row_count * sizeof(struct unwind_row) +
                      (uint64_t)header->range_count * 2 * sizeof(uint32_t) +
                      (uint64_t)header->function_count * sizeof(uint32_t);
    if (header->version != UNWIND_VERSION || needed > size ||
        header->limit_vaddr < header->base_vaddr)
        return BASE_MALFORMED;

    opened.rows = (const struct unwind_row *)((const char *)bytes + sizeof *header);
    opened.starts = (const uint32_t *)(opened.rows + header->row_count);
    opened.range_rows = opened.starts + header->range_count;
    opened.function_starts = opened.range_rows + header->range_count;
    if (thorough && !contents_are_valid(&opened))
        return BASE_MALFORMED;
    *table = opened;
    return BASE_OK;
}

/* Index of the last value <= wanted; count if there is none. */
static uint32_t last_not_above(const uint32_t *values, uint32_t count, uint32_t wanted)
{
    uint32_t above = BASE_FIRST(i, count, values[i] > wanted);
    return above ? above - 1 : count;
}

/* Of a covered address; covered ranges never span 4 GiB. */
static bool offset_of(const struct unwind_table *table, uint64_t vaddr, uint32_t *offset)
{
    const struct unwind_header *header = &table->header;
    if (vaddr < header->base_vaddr || vaddr >= header->limit_vaddr ||
        vaddr - header->base_vaddr > UINT32_MAX)
        return false;
    *offset = (uint32_t)(vaddr - header->base_vaddr);
    return true;
}

bool unwind_table_find(const struct unwind_table *table, uint64_t vaddr, struct unwind_row *row)
{
    uint32_t offset;
    if (!offset_of(table, vaddr, &offset))
        return false;
    uint32_t count = table->header.range_count;
    uint32_t range = last_not_above(table->starts, count, offset);
    if (range >= count)
        return false;
    uint32_t index = *(const volatile uint32_t *)&table->range_rows[range]; /* checked = used */
    if (index >= table->header.row_count)
        return false;
    *row = table->rows[index];
    return true;
}

uint64_t unwind_table_function(const struct unwind_table *table, uint64_t vaddr, uint64_t *end)
{
    uint32_t offset;
    *end = 0;
    if (!offset_of(table, vaddr, &offset))
        return 0;
    uint32_t count = table->header.function_count;
    uint32_t function = last_not_above(table->function_starts, count, offset);
    if (function >= count)
        return 0;
    if (function + 1 < count)
        *end = table->header.base_vaddr + table->function_starts[function + 1];
    return table->header.base_vaddr + table->function_starts[function];
}
