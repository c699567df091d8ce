// SPDX-License-Identifier: MIT
/*
 * Rows of line tables. libdw reads them, unit by unit, and sorts them by address, rows of one address as they were. To find the
 * units that have code of one source file, this file reads the list of files at the head of each line table, and looks in its program for
 * opcodes that select one of them: libdw gives them only with all rows, which takes seconds for a program of a compiler's size.
 */
#include "binary/lines.h"

#include "binary/bytes.h"
#include "binary/internal.h"

#include <dwarf.h>
#include <string.h>

bool binary_path_ends(const char *path, const char *wanted)
{
    size_t bytes = strlen(path), end = strlen(wanted);
    return end && end <= bytes && strcmp(path + bytes - end, wanted) == 0 &&
           (end == bytes || path[bytes - end - 1] == '/' || *wanted == '/');
}

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
    uint64_t code_start, code_end; /* of the segment that was looked at last */
    const char *raw, *file;        /* of the last row: as recorded, and made absolute */
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

/* Linkers leave the rows of functions that they drop at addresses where no code is. */
static bool is_code(struct table *table, uint64_t address)
{
    if (address >= table->code_start && address < table->code_end)
        return true;
    table->code_start = table->code_end = 0;
    if (!image_is_code(table->binary->main.elf, address, &table->code_end))
        return false;
    table->code_start = address;
    return true;
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

/* False: the row only ends a sequence, or is of no code. */
static bool read_row(struct table *table, size_t index, struct binary_row *row)
{
    Dwarf_Line *record = dwarf_onesrcline(table->rows, index);
    bool ends = false, statement = false;
    int line = 0, column = 0;
    unsigned discriminator = 0;
    dwarf_lineendsequence(record, &ends);
    uint64_t start = address_of(table, index);
    if (ends || !is_code(table, start))
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

/* Hands out rows from `index` on that begin below `end`. False: visit ended it. */
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

/* ---- which units name a file -------------------------------------------------------------------------- */

enum { MATCHES_MAX = 16 };

/* Sections that the heads of line tables are in. */
struct heads {
    struct bytes lines, strings, line_strings; /* {NULL}: the file has no such section */
};

static struct heads open_heads(struct binary *binary)
{
    Elf *elf = dwarf_getelf(binary->dwarf);
    return (struct heads){image_bytes_of(elf, ".debug_line"), image_bytes_of(elf, ".debug_str"),
                          image_bytes_of(elf, ".debug_line_str")};
}

static const char *text_at(const struct bytes *section, uint64_t offset)
{
    if (!section->at || offset >= (uint64_t)(section->end - section->at))
        return NULL;
    const char *text = (const char *)section->at + offset;
    return memchr(text, 0, (size_t)((const char *)section->end - text)) ? text : NULL;
}

static const char *inline_text(struct bytes *bytes)
{
    const char *text = (const char *)bytes->at;
    const void *end = memchr(text, 0, (size_t)(bytes->end - bytes->at));
    if (!end) {
        bytes->failed = true;
        return NULL;
    }
    bytes->at = (const uint8_t *)end + 1;
    return text;
}

/* Reads a value of version 5's lists; a text if it is one. */
static const char *read_form(const struct heads *heads, struct bytes *bytes, uint64_t form,
                             size_t offset_bytes)
{
    switch (form) {
    case DW_FORM_string: return inline_text(bytes);
    case DW_FORM_line_strp: return text_at(&heads->line_strings, bytes_fixed(bytes, offset_bytes));
    case DW_FORM_strp: return text_at(&heads->strings, bytes_fixed(bytes, offset_bytes));
    case DW_FORM_udata: bytes_uleb(bytes); return NULL;
    case DW_FORM_data1: bytes_skip(bytes, 1); return NULL;
    case DW_FORM_data2: bytes_skip(bytes, 2); return NULL;
    case DW_FORM_data4: bytes_skip(bytes, 4); return NULL;
    case DW_FORM_data8: bytes_skip(bytes, 8); return NULL;
    case DW_FORM_data16: bytes_skip(bytes, 16); return NULL;
    case DW_FORM_block: bytes_skip(bytes, bytes_uleb(bytes)); return NULL;
    default: bytes->failed = true; return NULL;
    }
}

static const char *last_part(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* Files of a table that have the name, by their numbers in its program. */
struct matches {
    uint64_t numbers[MATCHES_MAX];
    size_t count;
    bool too_many;
};

static void add_match(struct matches *matches, uint64_t number)
{
    if (matches->count < MATCHES_MAX)
        matches->numbers[matches->count++] = number;
    else
        matches->too_many = true;
}

static bool is_match(const struct matches *matches, uint64_t number)
{
    for (size_t i = 0; i < matches->count; i++)
        if (matches->numbers[i] == number)
            return true;
    return false;
}

/* Version 5: directories, then files, each a list of values by forms. */
static void match_lists(const struct heads *heads, struct bytes *bytes, size_t offset_bytes,
                        const char *name, struct matches *matches)
{
    enum { FORMS_MAX = 16 };
    for (unsigned list = 0; list < 2; list++) {
        uint64_t types[FORMS_MAX], forms[FORMS_MAX];
        uint64_t count = bytes_fixed(bytes, 1);
        for (uint64_t i = 0; i < count; i++) {
            types[i % FORMS_MAX] = bytes_uleb(bytes);
            forms[i % FORMS_MAX] = bytes_uleb(bytes);
        }
        bytes->failed |= count > FORMS_MAX;
        uint64_t entries = bytes_uleb(bytes);
        for (uint64_t entry = 0; entry < entries && count && !bytes->failed; entry++)
            for (uint64_t i = 0; i < count; i++) {
                const char *text = read_form(heads, bytes, forms[i], offset_bytes);
                if (list == 1 && types[i] == DW_LNCT_path && text &&
                    strcmp(last_part(text), name) == 0)
                    add_match(matches, entry);
            }
    }
}

/* Before that: texts one behind the other. */
static void match_texts(struct bytes *bytes, const char *name, struct matches *matches)
{
    const char *text;
    while ((text = inline_text(bytes)) && *text)
        ;
    for (uint64_t number = 1; (text = inline_text(bytes)) && *text && !bytes->failed; number++) {
        if (strcmp(last_part(text), name) == 0)
            add_match(matches, number);
        for (unsigned i = 0; i < 3; i++)
            bytes_uleb(bytes);
    }
}

/* An opcode that begins with 0. */
static bool selects_by_extended(struct bytes *program)
{
    uint64_t bytes = bytes_uleb(program);
    bool defines = program->at < program->end && *program->at == DW_LNE_define_file;
    bytes_skip(program, bytes);
    return defines;
}

/* Does the program ever select one of the files? Each sequence begins with file 1. */
static bool selects(struct bytes program, uint64_t opcodes, const uint8_t *operands,
                    const struct matches *matches)
{
    if (is_match(matches, 1))
        return true;
    while (program.at < program.end && !program.failed) {
        uint8_t opcode = *program.at++;
        if (opcode >= opcodes)
            continue;
        if (opcode == 0) {
            if (selects_by_extended(&program))
                return true;
        } else if (opcode == DW_LNS_set_file) {
            if (is_match(matches, bytes_uleb(&program)))
                return true;
        } else if (opcode == DW_LNS_fixed_advance_pc) {
            bytes_skip(&program, 2);
        } else {
            for (unsigned i = 0; i < operands[opcode - 1]; i++)
                bytes_uleb(&program);
        }
    }
    return program.failed;
}

/* The bytes of a table at an offset, without its length. False: none is there. */
static bool table_at(struct bytes lines, uint64_t offset, struct bytes *bytes, size_t *offset_bytes)
{
    bytes_skip(&lines, offset);
    uint64_t length = bytes_fixed(&lines, 4);
    *offset_bytes = length == UINT32_MAX ? 8 : 4;
    if (*offset_bytes == 8)
        length = bytes_fixed(&lines, 8);
    if (lines.failed || length > (uint64_t)(lines.end - lines.at))
        return false;
    *bytes = (struct bytes){.at = lines.at, .end = lines.at + length};
    return true;
}

/* May the unit's line table have rows of a file of that name? What is not understood may. */
static bool may_have(const struct heads *heads, struct unit *unit, const char *name)
{
    Dwarf_Attribute found;
    Dwarf_Word offset;
    struct bytes bytes;
    struct matches matches = {.count = 0};
    size_t offset_bytes;
    if (!heads->lines.at || !dwarf_attr(&unit->die, DW_AT_stmt_list, &found) ||
        dwarf_formudata(&found, &offset) != 0 ||
        !table_at(heads->lines, offset, &bytes, &offset_bytes))
        return true;
    uint64_t version = bytes_fixed(&bytes, 2);
    if (version < 2 || version > 5)
        return true;
    if (version == 5)
        bytes_skip(&bytes, 2);
    uint64_t header = bytes_fixed(&bytes, offset_bytes);
    struct bytes program = bytes;
    bytes_skip(&program, header);
    bytes_skip(&bytes, version >= 4 ? 5 : 4); /* up to opcode_base */
    uint64_t opcodes = bytes_fixed(&bytes, 1);
    const uint8_t *operands = bytes.at;
    bytes_skip(&bytes, opcodes ? opcodes - 1 : 0);
    if (version == 5)
        match_lists(heads, &bytes, offset_bytes, name, &matches);
    else
        match_texts(&bytes, name, &matches);
    if (bytes.failed || program.failed || matches.too_many)
        return true;
    return matches.count && selects(program, opcodes, operands, &matches);
}

enum base_status binary_file_rows(struct binary *binary, const char *file, binary_row_visit *visit,
                                  void *context)
{
    struct table table;
    bool any = false;
    binary_unit(binary, 0); /* lists them */
    if (!binary->dwarf || !*last_part(file))
        return BASE_NOT_FOUND;
    struct heads heads = open_heads(binary);
    for (size_t i = 0; i < binary->units.count; i++) {
        struct unit *unit = &binary->units.items[i];
        if (!may_have(&heads, unit, last_part(file)) || !open_table(binary, unit, &table))
            continue;
        any = true;
        if (!visit_rows(&table, 0, UINT64_MAX, file, visit, context))
            return BASE_OK;
    }
    return any ? BASE_OK : BASE_NOT_FOUND;
}
