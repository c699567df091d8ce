// SPDX-License-Identifier: MIT
/* Call-site tables of exceptions: where which calls' landing pads are. */
#include "asm/internal.h"

enum { OMITTED = 0xff };

struct reader {
    const struct asm_file *file;
    uint32_t at; /* statement */
    uint32_t section;
};

/* Next directive that holds a value, in the table's section; ASM_NONE at a label `end` or when
 * there is none. */
static uint32_t next_value(struct reader *reader, struct asm_slice end)
{
    const struct asm_file *file = reader->file;
    for (; reader->at < file->statements_count; reader->at++) {
        const struct asm_statement *statement = &file->statements[reader->at];
        if (statement->section != reader->section)
            continue;
        if (statement->kind == ASM_LABEL && end.bytes && asm_same(statement->name, end))
            return ASM_NONE;
        if (statement->kind != ASM_DIRECTIVE || asm_begins(statement->name, ".p2align") ||
            asm_begins(statement->name, ".align") || asm_begins(statement->name, ".loc"))
            continue;
        if (asm_is(statement->name, ".section") || asm_is(statement->name, ".text") ||
            asm_is(statement->name, ".set"))
            continue;
        return reader->at++;
    }
    return ASM_NONE;
}

static unsigned number_of(const struct asm_file *file, uint32_t statement)
{
    struct asm_slice digits = file->statements[statement].operands;
    unsigned value = 0, base = 10, at = 0;
    if (digits.bytes > 2 && digits.text[0] == '0' && (digits.text[1] | 0x20) == 'x')
        base = 16, at = 2;
    for (; at < digits.bytes && value < 0x10000; at++) {
        char c = (char)(digits.text[at] | 0x20);
        unsigned digit = c >= 'a' ? (unsigned)(c - 'a') + 10 : (unsigned)(digits.text[at] - '0');
        if (digit >= base)
            break;
        value = value * base + digit;
    }
    return value;
}

static uint32_t first_label(const struct asm_file *file, uint32_t statement)
{
    struct asm_slice rest = file->statements[statement].operands, symbol;
    return asm_next_symbol(&rest, &symbol) ? asm_label(file, symbol) : ASM_NONE;
}

static bool add_range(struct asm_file *file, const uint32_t fields[4])
{
    struct asm_private *private = file->private;
    uint32_t pad = first_label(file, fields[2]);
    if (pad == ASM_NONE || file->statements[pad].function == ASM_NONE)
        return true;
    uint32_t first = first_label(file, fields[0]), end = first_label(file, fields[1]);
    private->marks[pad] |= MARK_LANDING | MARK_NAMED | MARK_ARRIVAL;
    if (!asm_refer(file, pad, fields[2]))
        return false;
    if (!UTIL_GROW(private->ranges, private->ranges_capacity, private->ranges_count))
        return false;
    /* Bounds that are no labels: any call may lead there. */
    if (first == ASM_NONE || end == ASM_NONE)
        first = 0, end = file->statements_count;
    private->ranges[private->ranges_count++] = (struct asm_range){first, end, pad};
    return true;
}

/* Start of landing pads, encoding of types, their end, encoding of call sites, length; then four
   values each: start, length, landing pad, action. */
static bool read_table(struct asm_file *file, uint32_t label)
{
    const struct asm_slice nowhere = {NULL, 0};
    struct reader reader = {file, label + 1, file->statements[label].section};
    for (int i = 0; i < 2; i++) {
        uint32_t encoding = next_value(&reader, nowhere);
        if (encoding == ASM_NONE)
            return true;
        if (number_of(file, encoding) != OMITTED && next_value(&reader, nowhere) == ASM_NONE)
            return true;
    }
    if (next_value(&reader, nowhere) == ASM_NONE)
        return true;
    uint32_t length = next_value(&reader, nowhere);
    struct asm_slice rest, end;
    if (length == ASM_NONE)
        return true;
    rest = file->statements[length].operands;
    if (!asm_next_symbol(&rest, &end))
        return true;
    for (;;) {
        uint32_t fields[4];
        for (int i = 0; i < 4; i++) {
            fields[i] = next_value(&reader, end);
            if (fields[i] == ASM_NONE)
                return true;
        }
        if (!add_range(file, fields))
            return false;
    }
}

bool asm_find_landing_pads(struct asm_file *file)
{
    const struct asm_private *private = file->private;
    for (uint32_t i = 0; i < private->lsdas_count; i++) {
        uint32_t label = asm_label(file, private->lsdas[i]);
        if (label != ASM_NONE && !read_table(file, label))
            return false;
    }
    return true;
}
