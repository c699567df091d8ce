// SPDX-License-Identifier: MIT
/* The file's statements in order: sections, labels, what must stay together, parts of functions. */
#include "asm/internal.h"

#include <stdlib.h>

enum { ARGUMENTS_MAX = 8, PUSHED_MAX = 16, SEQUENCE_MAX = 12 };

enum pending { PENDING_NONE, PENDING_PREFIX, PENDING_SEQUENCE };

struct parser {
    struct asm_file *file;
    struct asm_private *private;
    uint32_t section, previous;
    uint32_t pushed[PUSHED_MAX], pushed_count;
    uint32_t *open; /* of sections: the part that is being read */
    size_t open_capacity;
    enum pending pending; /* the last statement goes on in the next */
    uint32_t pending_for;
};

/* ---- sections ------------------------------------------------------------------------------ */

bool asm_allocated(const struct asm_section *section)
{
    if (section->flags.bytes)
        return memchr(section->flags.text, 'a', section->flags.bytes) != NULL;
    return !asm_begins(section->name, ".debug") && !asm_begins(section->name, ".comment") &&
           !asm_begins(section->name, ".note.GNU") && !asm_begins(section->name, ".gnu.lto");
}

static struct asm_slice trimmed(const char *from, const char *to)
{
    while (from < to && (*from == ' ' || *from == '\t'))
        from++;
    while (from < to && (to[-1] == ' ' || to[-1] == '\t'))
        to--;
    return (struct asm_slice){from, (uint32_t)(to - from)};
}

static struct asm_slice unquoted(struct asm_slice slice)
{
    if (slice.bytes >= 2 && slice.text[0] == '"' && slice.text[slice.bytes - 1] == '"')
        return (struct asm_slice){slice.text + 1, slice.bytes - 2};
    return slice;
}

static size_t split(struct asm_slice operands, struct asm_slice arguments[ARGUMENTS_MAX])
{
    size_t count = 0;
    bool quoted = false;
    const char *from = operands.text, *end = operands.text + operands.bytes;
    for (const char *at = from; at <= end && count < ARGUMENTS_MAX; at++) {
        if (at < end && *at == '"')
            quoted = !quoted;
        if (at == end || (*at == ',' && !quoted)) {
            arguments[count++] = unquoted(trimmed(from, at));
            from = at + 1;
        }
    }
    return count;
}

static bool has_flag(const struct asm_section *section, char flag)
{
    return section->flags.bytes && memchr(section->flags.text, flag, section->flags.bytes);
}

static bool is_code(const struct asm_section *section)
{
    if (section->flags.bytes)
        return has_flag(section, 'x');
    return asm_is(section->name, ".text") || asm_begins(section->name, ".text.") ||
           asm_is(section->name, ".init") || asm_is(section->name, ".fini");
}

/* name, "flags", @type, [entry size,] [linked symbol,] [group, comdat,] [unique, number]; clang has
   the linked symbol behind the group. */
static struct asm_section describe(struct asm_slice operands)
{
    struct asm_slice arguments[ARGUMENTS_MAX];
    size_t count = split(operands, arguments), next = 3;
    struct asm_section section = {.name = arguments[0]};
    if (count > 1)
        section.flags = arguments[1];
    if (count > 2)
        section.type = arguments[2];
    if (has_flag(&section, 'M'))
        next++;
    if (has_flag(&section, 'G')) {
        if (has_flag(&section, 'o') && count > next + 2 && !asm_is(arguments[next + 1], "comdat"))
            next++;
        if (count > next)
            section.group = arguments[next];
    }
    section.code = is_code(&section);
    return section;
}

/* The key of a section is its directive's operands, and its bare name: later mentions leave out the
 * flags. */
static bool enter_section(struct parser *parser, struct asm_slice operands, uint32_t directive)
{
    struct asm_file *file = parser->file;
    struct asm_private *private = parser->private;
    uint32_t found = asm_names_find(&private->section_names, operands);
    if (found == ASM_NONE) {
        if (!UTIL_GROW(file->sections, private->sections_capacity, file->sections_count))
            return false;
        struct asm_section section = describe(operands);
        section.directive = directive;
        found = file->sections_count++;
        file->sections[found] = section;
        if (!UTIL_GROW(parser->open, parser->open_capacity, found) ||
            !asm_names_set(&private->section_names, operands, found))
            return false;
        parser->open[found] = ASM_NONE;
        if (!section.group.bytes && !asm_same(section.name, operands) &&
            asm_names_find(&private->section_names, section.name) != ASM_NONE) {
            /* First mentioned without flags, or with others: one section all the same. */
            found = asm_names_find(&private->section_names, section.name);
            file->sections_count--;
            if (!file->sections[found].flags.bytes) {
                section.directive = file->sections[found].directive;
                file->sections[found] = section;
            }
            if (!asm_names_set(&private->section_names, operands, found))
                return false;
        } else if (!asm_names_set(&private->section_names, section.name, found)) {
            return false;
        }
        if (asm_begins(section.name, ".gnu.lto_"))
            file->lto = true;
    }
    parser->previous = parser->section;
    parser->section = found;
    return true;
}

static bool follow_sections(struct parser *parser, const struct asm_statement *statement,
                            uint32_t number)
{
    struct asm_slice name = statement->name;
    if (asm_is(name, ".text") || asm_is(name, ".data") || asm_is(name, ".bss"))
        return enter_section(parser, name, number);
    if (asm_is(name, ".section") || asm_is(name, ".pushsection")) {
        if (asm_is(name, ".pushsection") && parser->pushed_count < PUSHED_MAX)
            parser->pushed[parser->pushed_count++] = parser->section;
        return enter_section(parser, statement->operands, number);
    }
    uint32_t to = parser->section;
    if (asm_is(name, ".popsection") && parser->pushed_count)
        to = parser->pushed[--parser->pushed_count];
    else if (asm_is(name, ".previous"))
        to = parser->previous;
    else
        return true;
    parser->previous = parser->section;
    parser->section = to;
    return true;
}

/* ---- functions ----------------------------------------------------------------------------- */

static struct asm_slice first_argument(struct asm_slice operands)
{
    struct asm_slice arguments[ARGUMENTS_MAX];
    size_t count = split(operands, arguments);
    return count ? arguments[0] : operands;
}

static bool follow_types(struct parser *parser, const struct asm_statement *statement)
{
    struct asm_private *private = parser->private;
    struct asm_slice name = statement->name;
    if (asm_is(name, ".type") &&
        (asm_holds(statement->operands, "function") || asm_holds(statement->operands, "stt_func")))
        return asm_names_set(&private->types, first_argument(statement->operands), 1);
    if (asm_is(name, ".globl") || asm_is(name, ".global") || asm_is(name, ".weak"))
        return asm_names_set(&private->globals, first_argument(statement->operands),
                             asm_is(name, ".weak") ? 2 : 1);
    if (asm_is(name, ".cfi_lsda") && statement->operands.bytes) {
        struct asm_slice arguments[ARGUMENTS_MAX];
        size_t count = split(statement->operands, arguments);
        if (count < 2)
            return true;
        if (!UTIL_GROW(private->lsdas, private->lsdas_capacity, private->lsdas_count))
            return false;
        private->lsdas[private->lsdas_count++] = arguments[1];
    }
    if (asm_is(name, ".intel_syntax"))
        parser->file->intel_syntax = true;
    return true;
}

/* ".cold", or ".cold.1" of older compilers. */
static bool is_cold(struct asm_slice name)
{
    while (name.bytes && name.text[name.bytes - 1] >= '0' && name.text[name.bytes - 1] <= '9')
        name.bytes--;
    if (name.bytes && name.text[name.bytes - 1] == '.')
        name.bytes--;
    return name.bytes > 5 && !memcmp(name.text + name.bytes - 5, ".cold", 5);
}

static bool begin_part(struct parser *parser, struct asm_slice name, uint32_t number)
{
    struct asm_private *private = parser->private;
    uint32_t open = parser->open[parser->section];
    if (open != ASM_NONE && !private->parts[open].code)
        return true; /* another name for the same */
    if (!UTIL_GROW(private->parts, private->parts_capacity, private->parts_count))
        return false;
    private->parts[private->parts_count] = (struct asm_part){
        .name = name,
        .first = number,
        .end = number,
        .section = parser->section,
        .function = ASM_NONE,
        .cold = is_cold(name),
        .stray = open != ASM_NONE,
    };
    if (open != ASM_NONE)
    private->parts[open].stray = true;
    parser->open[parser->section] = private->parts_count++;
    return true;
}

static bool follow_labels(struct parser *parser, const struct asm_statement *statement,
                          uint32_t number)
{
    struct asm_private *private = parser->private;
    if (!asm_names_set(&private->labels, statement->name, number))
        return false;
    if (!parser->file->sections[parser->section].code ||
        asm_names_find(&private->types, statement->name) == ASM_NONE)
        return true;
    private->marks[number] |= MARK_BEGINS;
    return begin_part(parser, statement->name, number);
}

static void follow_size(struct parser *parser, const struct asm_statement *statement)
{
    uint32_t open = parser->open[parser->section];
    if (open == ASM_NONE ||
        !asm_same(first_argument(statement->operands), parser->private->parts[open].name))
        return;
    parser->private->parts[open].sized = true;
    parser->open[parser->section] = ASM_NONE;
}

/* ---- statements ---------------------------------------------------------------------------- */

static bool is_data(struct asm_slice name)
{
    static const char *const names[] = {".byte", ".value", ".word",  ".short", ".2byte", ".hword",
                                        ".long", ".int",   ".4byte", ".quad",  ".8byte"};
    for (size_t i = 0; i < BASE_COUNT(names); i++) {
        if (asm_is(name, names[i]))
            return true;
    }
    return false;
}

/* Numbers alone, within code: instructions that the assembler does not know, prefixes. */
static bool is_raw_code(const struct parser *parser, const struct asm_statement *statement)
{
    struct asm_slice rest = statement->operands, symbol;
    return statement->kind == ASM_DIRECTIVE && parser->file->sections[parser->section].code &&
           is_data(statement->name) && !asm_next_symbol(&rest, &symbol);
}

static bool is_raw_prefix(const struct asm_statement *statement)
{
    static const char *const prefixes[] = {"0x66", "0x6666", "0xf2", "0xf3", "0x2e", "0x3e", "102"};
    for (size_t i = 0; i < BASE_COUNT(prefixes); i++) {
        if (asm_is(statement->operands, prefixes[i]))
            return true;
    }
    return false;
}

static bool is_bare_prefix(const struct asm_statement *statement)
{
    if (statement->kind != ASM_INSTRUCTION || statement->operands.bytes || !statement->name.bytes)
        return false;
    static const char *const prefixes[] = {"rep",      "repe",   "repz",   "repne",  "repnz",
                                           "lock",     "data16", "rex64",  "addr32", "xacquire",
                                           "xrelease", "bnd",    "notrack"};
    for (size_t i = 0; i < BASE_COUNT(prefixes); i++) {
        if (asm_is(statement->name, prefixes[i]))
            return true;
    }
    return asm_begins(statement->name, "rex.");
}

/* The linker rewrites these address computations together with the call behind them. */
static bool begins_sequence(const struct asm_statement *statement)
{
    return statement->kind == ASM_INSTRUCTION &&
           (asm_holds(statement->operands, "@tlsgd") || asm_holds(statement->operands, "@tlsld"));
}

static bool is_call(const struct asm_statement *statement)
{
    return statement->kind == ASM_INSTRUCTION &&
           (asm_is(statement->name, "call") || asm_is(statement->name, "callq"));
}

/* Appends the statement to the last one, if that is unfinished. */
static bool join(struct parser *parser, const struct asm_statement *statement)
{
    struct asm_file *file = parser->file;
    if (parser->pending == PENDING_NONE)
        return false;
    struct asm_statement *last = &file->statements[file->statements_count - 1];
    bool fits = statement->kind == ASM_EMPTY || statement->kind == ASM_INSTRUCTION ||
                (statement->kind == ASM_DIRECTIVE && is_raw_code(parser, statement));
    if (!fits || ++parser->pending_for > SEQUENCE_MAX) {
        parser->pending = PENDING_NONE;
        return false;
    }
    last->text.bytes += statement->text.bytes;
    if (statement->kind != ASM_INSTRUCTION)
        return true;
    last->name = statement->name;
    last->operands = statement->operands;
    if (parser->pending == PENDING_PREFIX) {
        last->kind = ASM_INSTRUCTION;
        parser->pending = is_bare_prefix(statement) ? PENDING_PREFIX : PENDING_NONE;
        if (begins_sequence(statement))
            parser->pending = PENDING_SEQUENCE;
    } else if (is_call(statement)) {
        parser->pending = PENDING_NONE;
        parser->private->marks[file->statements_count - 1] |= MARK_SEQUENCE;
    }
    if (parser->pending == PENDING_SEQUENCE)
        last->kind = ASM_INLINE;
    else if (parser->private->marks[file->statements_count - 1] & MARK_SEQUENCE)
        last->kind = ASM_INLINE;
    return true;
}

static void expect_more(struct parser *parser, struct asm_statement *statement)
{
    parser->pending = PENDING_NONE;
    parser->pending_for = 0;
    if (begins_sequence(statement))
        parser->pending = PENDING_SEQUENCE;
    else if (is_bare_prefix(statement))
        parser->pending = PENDING_PREFIX;
    if (!is_raw_code(parser, statement))
        return;
    if (is_raw_prefix(statement))
        parser->pending = PENDING_PREFIX;
    statement->kind = ASM_INLINE;
}

static bool add(struct parser *parser, struct asm_statement *statement)
{
    struct asm_file *file = parser->file;
    struct asm_private *private = parser->private;
    uint32_t number = file->statements_count;
    if (!UTIL_GROW(file->statements, private->statements_capacity, number) ||
        !UTIL_GROW(private->marks, private->marks_capacity, number))
        return false;
    private->marks[number] = 0;
    expect_more(parser, statement);
    if (statement->kind == ASM_DIRECTIVE) {
        if (!follow_sections(parser, statement, number) || !follow_types(parser, statement))
            return false;
        if (asm_is(statement->name, ".size"))
            follow_size(parser, statement);
    }
    if (statement->kind == ASM_LABEL && !follow_labels(parser, statement, number))
        return false;
    statement->section = parser->section;
    statement->function = parser->open[parser->section]; /* the part's number, for now */
    if (asm_is_code(statement) && statement->function != ASM_NONE) {
        private->parts[statement->function].code++;
        private->parts[statement->function].end = number + 1;
    }
    file->statements[file->statements_count++] = *statement;
    return true;
}

static bool parse_all(struct parser *parser)
{
    struct asm_file *file = parser->file;
    const char *at = file->text.text;
    size_t left = file->text.bytes;
    uint32_t line = 1;
    while (left) {
        struct asm_statement statement;
        size_t bytes = asm_scan(at, left, &statement);
        statement.line = line;
        if (!join(parser, &statement) && !add(parser, &statement))
            return false;
        for (size_t i = 0; i < bytes; i++)
            line += at[i] == '\n';
        at += bytes;
        left -= bytes;
    }
    return true;
}

enum base_status asm_parse(const char *text, size_t bytes, struct asm_file **out)
{
    if (bytes > INT32_MAX)
        return BASE_UNSUPPORTED;
    struct asm_file *file = calloc(1, sizeof *file);
    if (!file)
        return BASE_NO_MEMORY;
    file->text = (struct asm_slice){text, (uint32_t)bytes};
    file->private = calloc(1, sizeof *file->private);
    struct parser parser = {.file = file, .private = file->private, .previous = 0};
    bool fine = file->private && enter_section(&parser, (struct asm_slice){".text", 5}, ASM_NONE) &&
                parse_all(&parser) && asm_make_functions(file);
    free(parser.open);
    if (!fine) {
        asm_free(file);
        return BASE_NO_MEMORY;
    }
    *out = file;
    return BASE_OK;
}
