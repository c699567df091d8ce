// SPDX-License-Identifier: MIT
#include "binary/pclntab.h"

#include <string.h>

enum {
    HEADER_BYTES = 72,
    ENTRY_BYTES = 8, /* of a function in the table: address, offset of its record */
    NAME_MAX_BYTES = 4096,
    STEPS_MAX = 1 << 18, /* differences followed: functions are shorter than so many instructions */
    NO_FILE = -1,
};
/* Since Go 1.18, since 1.20: the same but for members of functions' records that are not looked at. */
#define MAGIC_18 UINT32_C(0xfffffff0)
#define MAGIC_20 UINT32_C(0xfffffff1)
/* Then two bytes of zeroes, the bytes of the shortest instruction, and those of a pointer. */
#define WIDTHS UINT32_C(0x08010000)

/* Offsets in the header, and in a function's record. */
enum { FUNCTIONS = 8, TEXT = 24, NAMES = 32, UNITS = 40, FILES = 48, VALUES = 56, TABLE = 64 };
enum { NAME = 4, FILE_VALUES = 20, LINE_VALUES = 24, UNIT = 32 };

/* ---- bytes --------------------------------------------------------------------------------- */

static bool number_at(const struct pclntab *table, uint64_t base, uint64_t offset, size_t bytes,
                      uint64_t *number)
{
    uint64_t value = 0;
    if (base > table->count || offset > table->count - base || bytes > table->count - base - offset)
        return false;
    memcpy(&value, table->bytes + base + offset, bytes);
    *number = value;
    return true;
}

/* NULL: none, or it does not end. */
static const char *text_at(const struct pclntab *table, uint64_t base, uint64_t offset)
{
    if (base >= table->count || offset >= table->count - base)
        return NULL;
    const char *text = (const char *)table->bytes + base + offset;
    size_t most = table->count - base - offset;
    if (most > NAME_MAX_BYTES)
        most = NAME_MAX_BYTES;
    return *text && memchr(text, 0, most) ? text : NULL;
}

/* Seven bits a byte, the least first. */
static bool next_number(const struct pclntab *table, uint64_t *at, uint32_t *number)
{
    uint32_t value = 0;
    for (unsigned shift = 0; shift < 35; shift += 7) {
        if (*at >= table->count)
            return false;
        uint8_t byte = table->bytes[(*at)++];
        value |= (uint32_t)(byte & 0x7f) << shift;
        if (!(byte & 0x80)) {
            *number = value;
            return true;
        }
    }
    return false;
}

/* ---- the table ------------------------------------------------------------------------------- */

enum base_status pclntab_read(const uint8_t *bytes, size_t count, uint64_t text,
                              struct pclntab *table)
{
    struct pclntab found = {.bytes = bytes, .count = count};
    uint64_t magic, widths;
    if (count < HEADER_BYTES || !number_at(&found, 0, 0, 4, &magic) ||
        !number_at(&found, 4, 0, 4, &widths) || (magic != MAGIC_18 && magic != MAGIC_20) ||
        widths != WIDTHS)
        return BASE_UNSUPPORTED;
    bool good = number_at(&found, 0, FUNCTIONS, 8, &found.functions) &&
                number_at(&found, 0, TEXT, 8, &found.text) &&
                number_at(&found, 0, NAMES, 8, &found.names) &&
                number_at(&found, 0, UNITS, 8, &found.units) &&
                number_at(&found, 0, FILES, 8, &found.files) &&
                number_at(&found, 0, VALUES, 8, &found.values) &&
                number_at(&found, 0, TABLE, 8, &found.table);
    /* An entry more, without a record, is the end of the last function. */
    if (!good || !found.functions || found.table >= count ||
        found.functions > (count - found.table) / ENTRY_BYTES)
        return BASE_UNSUPPORTED;
    if (!found.text)
        found.text = text;
    *table = found;
    return BASE_OK;
}

/* Address of function `index`, relative to the text; of the one behind the last: where that ends. */
static bool start_of(const struct pclntab *table, uint64_t index, uint64_t *start)
{
    return number_at(table, table->table, index * ENTRY_BYTES, 4, start);
}

/* The last function that does not begin behind the address. */
static bool search(const struct pclntab *table, uint64_t offset, uint64_t *index)
{
    uint64_t low = 0, high = table->functions, start;
    while (high - low > 1) {
        uint64_t middle = low + (high - low) / 2;
        if (!start_of(table, middle, &start))
            return false;
        if (start <= offset)
            low = middle;
        else
            high = middle;
    }
    *index = low;
    return start_of(table, low, &start) && start <= offset && start_of(table, low + 1, &start) &&
           offset < start;
}

/*
 * The value of an instruction `distance` bytes behind the function's beginning: from -1 on, pairs of a difference of values and
 * of the bytes for which that value holds; the end is a difference of 0 that is not the first.
 */
static bool value_at(const struct pclntab *table, uint64_t offset, uint64_t distance,
                     int32_t *value)
{
    uint64_t at = table->values + offset, covered = 0;
    uint32_t current = UINT32_MAX, difference, bytes;
    if (offset == 0 || table->values > table->count || offset > table->count - table->values)
        return false;
    for (unsigned step = 0; step < STEPS_MAX; step++) {
        if (!next_number(table, &at, &difference) || (difference == 0 && step > 0) ||
            !next_number(table, &at, &bytes))
            return false;
        current += difference & 1 ? ~(difference >> 1) : difference >> 1;
        covered += bytes;
        if (distance < covered) {
            *value = (int32_t)current;
            return true;
        }
    }
    return false;
}

static const char *file_of(const struct pclntab *table, uint64_t record, uint64_t distance)
{
    uint64_t values, unit, offset;
    int32_t number;
    if (!number_at(table, record, FILE_VALUES, 4, &values) ||
        !number_at(table, record, UNIT, 4, &unit) || !value_at(table, values, distance, &number) ||
        number <= NO_FILE ||
        !number_at(table, table->units, 4 * (unit + (uint64_t)number), 4, &offset) ||
        offset == UINT32_MAX)
        return NULL;
    return text_at(table, table->files, offset);
}

bool pclntab_find(const struct pclntab *table, uint64_t address, struct pclntab_place *place)
{
    uint64_t index, start, record, name, values;
    uint64_t offset = address - table->text;
    int32_t line;
    if (address < table->text || !search(table, offset, &index) ||
        !start_of(table, index, &start) ||
        !number_at(table, table->table, index * ENTRY_BYTES + 4, 4, &record) ||
        record > table->count)
        return false;
    record += table->table;
    if (!number_at(table, record, NAME, 4, &name))
        return false;
    struct pclntab_place found = {.function = text_at(table, table->names, name)};
    if (!found.function)
        return false;
    found.file = file_of(table, record, offset - start);
    if (found.file && number_at(table, record, LINE_VALUES, 4, &values) &&
        value_at(table, values, offset - start, &line) && line > 0)
        found.line = (uint32_t)line;
    *place = found;
    return true;
}
