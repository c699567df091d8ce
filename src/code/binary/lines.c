// SPDX-License-Identifier: MIT
/*
 * Rows of line tables by address. libdw reads them, unit by unit, and sorts them by address, rows of one address as they were.
 */
#include "binary/lines.h"

#include "binary/internal.h"

#include <dwarf.h>
#include <string.h>

static const char *text_of(const Dwarf_Die *die, unsigned attribute)
{
    Dwarf_Attribute found;
    return dwarf_formstring(dwarf_attr((Dwarf_Die *)die, attribute, &found));
}

const char *binary_producer(struct binary *binary, uint64_t vaddr)
{
    struct unit *unit = binary_unit(binary, vaddr);
    return unit ? text_of(&unit->tree, DW_AT_producer) : NULL;
}

/* ---- rows of a unit ------------------------------------------------------------------------------- */

struct table {
    struct binary *binary;
    struct unit *unit;
    Dwarf_Lines *rows;
    size_t count;
    struct image_code code; /* of the last row that is of code */
    const char *raw, *file; /* of the last row: as recorded, and made absolute */
};

static bool open_table(struct binary *binary, struct unit *unit, struct table *table)
{
    *table = (struct table){.binary = binary, .unit = unit};
    return dwarf_getsrclines(&unit->die, &table->rows, &table->count) == 0;
}

static uint64_t address_of(const struct table *table, size_t index)
{
    Dwarf_Addr address = 0;
    dwarf_lineaddr(dwarf_onesrcline(table->rows, index), &address);
    return address;
}

static const char *file_of(struct table *table, Dwarf_Line *record)
{
    const char *raw = dwarf_linesrc(record, NULL, NULL);
    if (raw != table->raw) {
        table->raw = raw;
        table->file = raw ? names_absolute(&table->binary->names,
                                           text_of(&table->unit->die, DW_AT_comp_dir), raw)
                          : NULL;
    }
    return table->file;
}

/* False: the row only ends a sequence, or is of no code: linkers leave the rows of functions that they drop at other addresses. */
static bool read_row(struct table *table, size_t index, struct binary_row *row)
{
    Dwarf_Line *record = dwarf_onesrcline(table->rows, index);
    bool ends = false, statement = false;
    int line = 0, column = 0;
    unsigned discriminator = 0;
    dwarf_lineendsequence(record, &ends);
    uint64_t start = address_of(table, index);
    if (ends || !image_is_code(table->binary->main.elf, start, &table->code))
        return false;
    dwarf_lineno(record, &line);
    dwarf_linecol(record, &column);
    dwarf_linediscriminator(record, &discriminator);
    dwarf_linebeginstatement(record, &statement);
    uint64_t end = index + 1 < table->count ? address_of(table, index + 1) : start;
    *row = (struct binary_row){.start = start,
                               .end = end > start ? end : start,
                               .file = file_of(table, record),
                               .line = line > 0 ? (uint32_t)line : 0,
                               .column = column > 0 ? (uint32_t)column : 0,
                               .discriminator = discriminator,
                               .statement = statement};
    return true;
}

/* Hands out rows from `index` on that begin below `end`. file: only those of it; NULL: all. False: visit ended it. */
static bool visit_rows(struct table *table, size_t index, uint64_t end, const char *file,
                       binary_row_visit *visit, void *context)
{
    uint64_t last = UINT64_MAX;
    uint32_t view = 0;
    for (; index < table->count && address_of(table, index) < end; index++) {
        struct binary_row row;
        if (!read_row(table, index, &row))
            continue;
        view = row.start == last ? view + 1 : 0;
        last = row.start;
        row.view = view;
        if (file && (!row.file || !binary_path_ends(row.file, file)))
            continue;
        if (!visit(context, &row))
            return false;
    }
    return true;
}

enum base_status binary_line_rows(struct binary *binary, uint64_t start, uint64_t end,
                                  binary_row_visit *visit, void *context)
{
    struct unit *unit = binary_unit(binary, start);
    struct table table;
    if (!unit || !open_table(binary, unit, &table))
        return BASE_NOT_FOUND;
    visit_rows(&table, BASE_FIRST(i, table.count, address_of(&table, i) >= start), end, NULL, visit,
               context);
    return BASE_OK;
}

bool lines_of_unit(struct binary *binary, struct unit *unit, const char *file,
                   binary_row_visit *visit, void *context)
{
    struct table table;
    return !open_table(binary, unit, &table) ||
           visit_rows(&table, 0, UINT64_MAX, file, visit, context);
}
