// SPDX-License-Identifier: MIT
/*
 * Rows of one source file, of all units. A header's lines may be in the code of nearly every unit: libdw would have to read,
 * keep and sort all rows of the program, which takes seconds for one of a compiler's size. Here the line tables are executed one after the other
 * (DWARF 5, 6.2; versions 2 to 5), those alone whose heads name the file, and rows of other files are not even made.
 *
 * What is not understood of a head, libdw reads.
 */
#include "binary/bytes.h"
#include "binary/internal.h"
#include "binary/lines.h"

#include <dwarf.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

enum { MATCHES_MAX = 16, NO_MATCH = MATCHES_MAX };

/* Sections that line tables are in. */
struct sections {
    struct bytes lines, strings, line_strings; /* {NULL}: the file has no such section */
};

/* Directories of a table, by their numbers; reused from table to table. */
struct directories {
    const char **items; /* NULL: not readable */
    size_t count, capacity;
};

/* Tables that were read, by where they are. */
struct seen {
    const uint8_t **items;
    size_t count, capacity;
    struct util_index index;
};

struct reading {
    struct binary *binary;
    struct sections sections;
    struct directories directories;
    struct seen seen;
    const char *wanted, *name; /* end of a path, and its last part */
    binary_row_visit *visit;
    void *context;
    struct image_code code; /* of the last row that is of code */
    uint64_t left;          /* bytes of tables that may still be read */
    bool any, ended;        /* a table names the file; visit has had enough */
};

/* The head of a table, as far as its program needs it. */
struct table {
    struct bytes program;
    const char *directory; /* of the compilation */
    unsigned version;
    size_t offset_bytes;
    uint64_t least_bytes, line_range, opcodes; /* minimum_instruction_length; opcode_base */
    int64_t line_base;
    bool statement;          /* at the start of each sequence */
    const uint8_t *operands; /* of standard opcodes */
    uint64_t files;          /* how many it lists */
    struct {
        uint64_t number;
        const char *path;
    } matches[MATCHES_MAX]; /* files that are wanted */
    size_t matches_count;
};

/* Registers of the state machine, and its last row, which ends where the next one begins. */
struct machine {
    uint64_t address, line, column, discriminator;
    bool statement;
    size_t match; /* of the file; NO_MATCH: another one */
    struct binary_row row;
    bool pending; /* row is of code, and has yet to end */
};

/* ---- texts ------------------------------------------------------------------------------------------- */

static struct sections open_sections(struct binary *binary)
{
    Elf *elf = dwarf_getelf(binary->dwarf);
    return (struct sections){image_bytes_of(elf, ".debug_line"), image_bytes_of(elf, ".debug_str"),
                             image_bytes_of(elf, ".debug_line_str")};
}

/* NULL: what is longer than a path can be is none. Hostile tables name one such text again and again. */
static const char *within_limit(const char *text, size_t bytes)
{
    return text && memchr(text, 0, bytes < PATH_MAX ? bytes : PATH_MAX) ? text : NULL;
}

static const char *text_at(const struct bytes *section, uint64_t offset)
{
    uint64_t bytes = (uint64_t)(section->end - section->at);
    return section->at && offset < bytes
               ? within_limit((const char *)section->at + offset, bytes - offset)
               : NULL;
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

/* Reads a value of version 5's lists; its text, if it is one. */
static const char *read_text(const struct sections *sections, struct bytes *bytes, uint64_t form,
                             size_t offset_bytes)
{
    switch (form) {
    case DW_FORM_string: return inline_text(bytes);
    case DW_FORM_line_strp:
        return text_at(&sections->line_strings, bytes_fixed(bytes, offset_bytes));
    case DW_FORM_strp: return text_at(&sections->strings, bytes_fixed(bytes, offset_bytes));
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

/* The same of a number; 0: it is none. */
static uint64_t read_number(struct bytes *bytes, uint64_t form)
{
    switch (form) {
    case DW_FORM_udata: return bytes_uleb(bytes);
    case DW_FORM_data1: return bytes_fixed(bytes, 1);
    case DW_FORM_data2: return bytes_fixed(bytes, 2);
    default: bytes->failed = true; return 0;
    }
}

static const char *last_part(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

bool binary_path_ends(const char *path, const char *wanted)
{
    size_t bytes = strlen(path), end = strlen(wanted);
    return end && end <= bytes && strcmp(path + bytes - end, wanted) == 0 &&
           (end == bytes || path[bytes - end - 1] == '/' || *wanted == '/');
}

/* ---- heads ------------------------------------------------------------------------------------------- */

/* Made absolute. */
static struct util_text path_of(const struct reading *reading, const struct table *table,
                                uint64_t directory, const char *name)
{
    struct util_text text = {0};
    const char *within = directory < reading->directories.count
                             ? reading->directories.items[directory]
                             : table->directory;
    if (name[0] != '/') {
        if (within && within[0] != '/' && table->directory && table->directory[0] == '/')
            util_text_print(&text, "%s/", table->directory);
        if (within)
            util_text_print(&text, "%s/", within);
    }
    util_text_print(&text, "%s", name);
    return text;
}

static bool add_file(struct reading *reading, struct table *table, uint64_t number,
                     uint64_t directory, const char *name)
{
    if (strcmp(last_part(name), reading->name) != 0)
        return true;
    struct util_text path = path_of(reading, table, directory, name);
    bool good = !path.failed;
    if (!good || !binary_path_ends(path.bytes, reading->wanted)) {
        util_text_free(&path);
        return good;
    }
    const char *kept = data_keep(reading->binary, &path);
    if (!kept || table->matches_count == MATCHES_MAX)
        return false;
    table->matches[table->matches_count].number = number;
    table->matches[table->matches_count++].path = kept;
    return true;
}

static bool add_directory(struct reading *reading, const char *text)
{
    struct directories *directories = &reading->directories;
    return UTIL_PUSH(directories->items, directories->count, directories->capacity,
                     within_limit(text, PATH_MAX));
}

/* Version 5: directories, then files, each a list of values by forms. */
enum { DIRECTORIES, FILES, FORMS_MAX = 16 };

struct forms {
    uint64_t types[FORMS_MAX], forms[FORMS_MAX], count;
};

static bool read_forms(struct bytes *bytes, struct forms *forms)
{
    forms->count = bytes_fixed(bytes, 1);
    if (forms->count > FORMS_MAX)
        return false;
    for (uint64_t i = 0; i < forms->count; i++) {
        forms->types[i] = bytes_uleb(bytes);
        forms->forms[i] = bytes_uleb(bytes);
    }
    return !bytes->failed;
}

static bool read_entry(struct reading *reading, struct table *table, struct bytes *bytes,
                       const struct forms *forms, unsigned list, uint64_t number)
{
    const char *name = NULL;
    uint64_t directory = 0;
    for (uint64_t i = 0; i < forms->count; i++) {
        if (forms->types[i] == DW_LNCT_directory_index) {
            directory = read_number(bytes, forms->forms[i]);
            continue;
        }
        const char *text =
            read_text(&reading->sections, bytes, forms->forms[i], table->offset_bytes);
        name = forms->types[i] == DW_LNCT_path ? text : name;
    }
    if (bytes->failed)
        return false;
    if (list == DIRECTORIES)
        return add_directory(reading, name);
    return !name || add_file(reading, table, number, directory, name);
}

static bool read_lists(struct reading *reading, struct table *table, struct bytes *bytes)
{
    for (unsigned list = DIRECTORIES; list <= FILES; list++) {
        struct forms forms;
        if (!read_forms(bytes, &forms))
            return false;
        uint64_t entries = bytes_uleb(bytes);
        for (uint64_t i = 0; i < entries && forms.count; i++)
            if (!read_entry(reading, table, bytes, &forms, list, i))
                return false;
        table->files = entries;
    }
    return true;
}

/* What follows a name before version 5: directory, time, size. */
static bool read_file(struct reading *reading, struct table *table, struct bytes *bytes,
                      const char *name)
{
    uint64_t directory = bytes_uleb(bytes);
    bytes_uleb(bytes);
    bytes_uleb(bytes);
    return !bytes->failed && add_file(reading, table, ++table->files, directory, name);
}

/* Before that: texts one behind the other, numbered from 1; directory 0 is the compilation's. */
static bool read_texts(struct reading *reading, struct table *table, struct bytes *bytes)
{
    const char *text;
    if (!add_directory(reading, table->directory))
        return false;
    while ((text = inline_text(bytes)) && *text)
        if (!add_directory(reading, text))
            return false;
    while (!bytes->failed && (text = inline_text(bytes)) && *text)
        if (!read_file(reading, table, bytes, text))
            return false;
    return !bytes->failed;
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

/* From the version to the operands of opcodes. Several operations in an instruction are for other processors. */
static bool read_numbers(struct table *table, struct bytes *bytes)
{
    table->version = (unsigned)bytes_fixed(bytes, 2);
    if (table->version < 2 || table->version > 5)
        return false;
    if (table->version == 5)
        bytes_skip(bytes, 2);
    uint64_t header = bytes_fixed(bytes, table->offset_bytes);
    table->program = *bytes;
    bytes_skip(&table->program, header);
    table->least_bytes = bytes_fixed(bytes, 1);
    uint64_t operations = table->version >= 4 ? bytes_fixed(bytes, 1) : 1;
    table->statement = bytes_fixed(bytes, 1);
    table->line_base = (int8_t)bytes_fixed(bytes, 1);
    table->line_range = bytes_fixed(bytes, 1);
    table->opcodes = bytes_fixed(bytes, 1);
    table->operands = bytes->at;
    bytes_skip(bytes, table->opcodes ? table->opcodes - 1 : 0);
    return !bytes->failed && !table->program.failed && operations <= 1 && table->line_range &&
           table->opcodes;
}

/* The unit's table. False: it has none, or none that is found. */
static bool find_table(const struct reading *reading, struct unit *unit, struct bytes *bytes,
                       size_t *offset_bytes)
{
    Dwarf_Attribute found;
    Dwarf_Word offset;
    return reading->sections.lines.at && dwarf_attr(&unit->die, DW_AT_stmt_list, &found) &&
           dwarf_formudata(&found, &offset) == 0 &&
           table_at(reading->sections.lines, offset, bytes, offset_bytes);
}

/* False: it is not understood. */
static bool read_head(struct reading *reading, struct unit *unit, struct bytes *bytes,
                      struct table *table)
{
    Dwarf_Attribute found;
    const char *directory = dwarf_formstring(dwarf_attr(&unit->die, DW_AT_comp_dir, &found));
    table->directory = within_limit(directory, PATH_MAX);
    reading->directories.count = 0;
    if (!read_numbers(table, bytes))
        return false;
    return table->version == 5 ? read_lists(reading, table, bytes)
                               : read_texts(reading, table, bytes);
}

/* ---- programs ---------------------------------------------------------------------------------------- */

static void select_file(const struct table *table, struct machine *machine, uint64_t number)
{
    machine->match = NO_MATCH;
    for (size_t i = 0; i < table->matches_count; i++)
        if (table->matches[i].number == number)
            machine->match = i;
}

static void begin_sequence(const struct table *table, struct machine *machine)
{
    *machine = (struct machine){.line = 1, .statement = table->statement};
    select_file(table, machine, 1);
}

/* The row before ends here, and, unless the sequence does, a new one begins. Linkers leave the rows of functions that they drop at
   addresses where no code is. */
static void append(struct reading *reading, const struct table *table, struct machine *machine,
                   bool ends)
{
    struct binary_row *row = &machine->row;
    bool same = machine->pending && row->start == machine->address;
    row->end = machine->address > row->start ? machine->address : row->start;
    if (machine->pending && row->file)
        reading->ended = !reading->visit(reading->context, row);
    machine->pending =
        !ends && image_is_code(reading->binary->main.elf, machine->address, &reading->code);
    *row = (struct binary_row){
        .start = machine->address,
        .file = machine->match == NO_MATCH ? NULL : table->matches[machine->match].path,
        .line = machine->line <= INT32_MAX ? (uint32_t)machine->line : 0,
        .column = machine->column <= INT32_MAX ? (uint32_t)machine->column : 0,
        .discriminator = (uint32_t)machine->discriminator,
        .view = same ? row->view + 1 : 0,
        .statement = machine->statement};
    machine->discriminator = 0;
}

/* An opcode that begins with 0. */
static void execute_extended(struct reading *reading, struct table *table, struct machine *machine)
{
    struct bytes *program = &table->program, operands = *program;
    uint64_t bytes = bytes_uleb(&operands);
    bytes_skip(program, (uint64_t)(operands.at - program->at));
    bytes_skip(program, bytes);
    if (program->failed || !bytes)
        return;
    operands.end = program->at;
    switch (bytes_fixed(&operands, 1)) {
    case DW_LNE_end_sequence:
        append(reading, table, machine, true);
        begin_sequence(table, machine);
        break;
    case DW_LNE_set_address:
        machine->address = bytes_fixed(&operands, bytes - 1 < 8 ? bytes - 1 : 8);
        break;
    case DW_LNE_set_discriminator: machine->discriminator = bytes_uleb(&operands); break;
    case DW_LNE_define_file: {
        const char *name = inline_text(&operands);
        program->failed |= !name || !read_file(reading, table, &operands, name);
        break;
    }
    default: break;
    }
}

static void execute_standard(struct reading *reading, struct table *table, struct machine *machine,
                             uint64_t opcode)
{
    struct bytes *program = &table->program;
    switch (opcode) {
    case DW_LNS_copy: append(reading, table, machine, false); break;
    case DW_LNS_advance_pc: machine->address += table->least_bytes * bytes_uleb(program); break;
    case DW_LNS_advance_line: machine->line += (uint64_t)bytes_sleb(program); break;
    case DW_LNS_set_file: select_file(table, machine, bytes_uleb(program)); break;
    case DW_LNS_set_column: machine->column = bytes_uleb(program); break;
    case DW_LNS_negate_stmt: machine->statement = !machine->statement; break;
    case DW_LNS_const_add_pc:
        machine->address += table->least_bytes * ((255 - table->opcodes) / table->line_range);
        break;
    case DW_LNS_fixed_advance_pc: machine->address += bytes_fixed(program, 2); break;
    default:
        for (unsigned i = 0; i < table->operands[opcode - 1]; i++)
            bytes_uleb(program);
    }
}

static void execute(struct reading *reading, struct table *table)
{
    struct bytes *program = &table->program;
    struct machine machine;
    begin_sequence(table, &machine);
    while (program->at < program->end && !program->failed && !reading->ended) {
        uint64_t opcode = *program->at++;
        if (opcode >= table->opcodes) {
            uint64_t step = opcode - table->opcodes;
            machine.address += table->least_bytes * (step / table->line_range);
            machine.line += (uint64_t)(table->line_base + (int64_t)(step % table->line_range));
            append(reading, table, &machine, false);
        } else if (opcode == 0) {
            execute_extended(reading, table, &machine);
        } else {
            execute_standard(reading, table, &machine, opcode);
        }
    }
}

/* ---- all units --------------------------------------------------------------------------------------- */

static bool is_table(const void *items, uint32_t item, const void *key)
{
    return ((const uint8_t *const *)items)[item] == key;
}

/*
 * Was the table not read yet? Units that went through an assembler as one file have one table. And tables do not overlap: those of hostile units
 * may, and are left out when the section's bytes are used up. Without memory to know, it is read.
 */
static bool is_new(struct reading *reading, const struct bytes *bytes)
{
    struct seen *seen = &reading->seen;
    uint64_t count = (uint64_t)(bytes->end - bytes->at);
    uint32_t number;
    bool found = false;
    if (count > reading->left)
        return false;
    if (UTIL_GROW(seen->items, seen->capacity, seen->count) &&
        util_index_enter(&seen->index, base_mix64((uint64_t)(uintptr_t)bytes->at), is_table,
                         seen->items, bytes->at, (uint32_t)seen->count, &number, &found) &&
        !found)
        seen->items[seen->count++] = bytes->at;
    reading->left -= found ? 0 : count;
    return !found;
}

static void read_unit(struct reading *reading, struct unit *unit)
{
    struct table table = {0};
    struct bytes bytes = {0};
    bool found = find_table(reading, unit, &bytes, &table.offset_bytes);
    if (found && !is_new(reading, &bytes))
        return;
    if (!found || !read_head(reading, unit, &bytes, &table)) {
        reading->any = true;
        reading->ended = !lines_of_unit(reading->binary, unit, reading->wanted, reading->visit,
                                        reading->context);
    } else if (table.matches_count) {
        reading->any = true;
        execute(reading, &table);
    }
}

enum base_status binary_file_rows(struct binary *binary, const char *file, binary_row_visit *visit,
                                  void *context)
{
    struct reading reading = {.binary = binary,
                              .wanted = file,
                              .name = last_part(file),
                              .visit = visit,
                              .context = context};
    binary_unit(binary, 0); /* lists them */
    if (!binary->dwarf || !*reading.name)
        return BASE_NOT_FOUND;
    reading.sections = open_sections(binary);
    reading.left = (uint64_t)(reading.sections.lines.end - reading.sections.lines.at);
    for (size_t i = 0; i < binary->units.count && !reading.ended; i++)
        read_unit(&reading, &binary->units.items[i]);
    free(reading.directories.items);
    free(reading.seen.items);
    util_index_free(&reading.seen.index);
    return reading.any ? BASE_OK : BASE_NOT_FOUND;
}
