// SPDX-License-Identifier: MIT
/* Labels whose addresses are in data or registers: tables of switch, computed goto; which jump uses
 * which table. */
#include "asm/internal.h"

#include <stdlib.h>

enum { STEPS_MAX = 400 };

bool asm_refer(struct asm_file *file, uint32_t label, uint32_t statement)
{
    struct asm_private *private = file->private;
    if (!UTIL_GROW(private->references, private->references_capacity, private->references_count))
        return false;
    private->references[private->references_count++] = (struct asm_reference){label, statement};
    return true;
}

/* A label within a function's code that is not the function itself. */
static bool is_inner(const struct asm_file *file, uint32_t label)
{
    return label != ASM_NONE && file->statements[label].function != ASM_NONE &&
           !(file->private->marks[label] & MARK_BEGINS);
}

static bool name_label(struct asm_file *file, uint32_t label, uint32_t statement, bool taken)
{
    file->private->marks[label] |= MARK_NAMED | MARK_ARRIVAL;
    if (taken)
        file->private->marks[label] |= MARK_TAKEN;
    return asm_refer(file, label, statement);
}

/* ".L4", ".LJTI0_0" */
static bool is_table_name(struct asm_slice name)
{
    if (asm_begins(name, ".LJTI"))
        return true;
    if (!asm_begins(name, ".L") || name.bytes < 3)
        return false;
    for (uint32_t i = 2; i < name.bytes; i++) {
        if (name.text[i] < '0' || name.text[i] > '9')
            return false;
    }
    return true;
}

/* ".quad .L8" or ".long .L8-.L4" in table .L4: the label it names, else ASM_NONE. */
static uint32_t entry_of(const struct asm_file *file, uint32_t statement, struct asm_slice table)
{
    const struct asm_statement *at = &file->statements[statement];
    struct asm_slice rest = at->operands, first, second;
    bool absolute = asm_is(at->name, ".quad") || asm_is(at->name, ".8byte");
    bool relative = asm_is(at->name, ".long") || asm_is(at->name, ".4byte");
    if (at->kind != ASM_DIRECTIVE || (!absolute && !relative) || !asm_next_symbol(&rest, &first))
        return ASM_NONE;
    bool two = asm_next_symbol(&rest, &second);
    if (first.text != at->operands.text || memchr(at->operands.text, ',', at->operands.bytes) ||
        memchr(at->operands.text, '+', at->operands.bytes))
        return ASM_NONE;
    if (two && !asm_same(second, table))
        return ASM_NONE;
    uint32_t label = asm_label(file, first);
    return is_inner(file, label) ? label : ASM_NONE;
}

static bool add_entry(struct asm_file *file, struct asm_table *table, uint32_t statement)
{
    struct asm_private *private = file->private;
    if (!UTIL_GROW(file->table_entries, private->entries_capacity, private->entries_count))
        return false;
    file->table_entries[private->entries_count++] = statement;
    table->entries++;
    return true;
}

/* The run of entries behind a label; *next: the first statement that is none. */
static bool read_table(struct asm_file *file, uint32_t label, uint32_t *next)
{
    struct asm_private *private = file->private;
    const struct asm_statement *head = &file->statements[label];
    struct asm_table table = {.label = label,
                              .first = private->entries_count,
                              .function = ASM_NONE,
                              .by_switch = is_table_name(head->name)};
    uint32_t at = label + 1;
    for (; at < file->statements_count; at++) {
        const struct asm_statement *statement = &file->statements[at];
        if (statement->kind == ASM_EMPTY || asm_begins(statement->name, ".p2align") ||
            asm_begins(statement->name, ".align"))
            continue;
        uint32_t target =
            statement->section == head->section ? entry_of(file, at, head->name) : ASM_NONE;
        if (target == ASM_NONE)
            break;
        uint32_t function = file->statements[target].function;
        if (table.function != ASM_NONE && function != table.function)
            break;
        table.function = function;
        if (!add_entry(file, &table, at) || !name_label(file, target, at, !table.by_switch))
            return false;
    }
    *next = at;
    if (!table.entries)
        return true;
    if (!UTIL_GROW(private->tables, private->tables_capacity, private->tables_count))
        return false;
    private->table_of[label] = private->tables_count;
    private->tables[private->tables_count++] = table;
    return true;
}

/* Sections that name code without ever sending control there. */
static bool only_describes(const struct asm_section *section)
{
    return !asm_allocated(section) || asm_begins(section->name, ".gcc_except_table") ||
           asm_begins(section->name, ".eh_frame") ||
           asm_begins(section->name, "__patchable_function_entries") ||
           asm_begins(section->name, "__mcount_loc") || asm_begins(section->name, "xray_");
}

static bool is_value(struct asm_slice name)
{
    static const char *const names[] = {".quad", ".8byte", ".long",  ".4byte", ".int", ".value",
                                        ".word", ".2byte", ".short", ".byte",  ".set", "="};
    for (size_t i = 0; i < BASE_COUNT(names); i++) {
        if (asm_is(name, names[i]))
            return true;
    }
    return false;
}

static bool take_symbols(struct asm_file *file, uint32_t statement)
{
    struct asm_slice rest = file->statements[statement].operands, symbol;
    while (asm_next_symbol(&rest, &symbol)) {
        uint32_t label = asm_label(file, symbol);
        if (is_inner(file, label) && !name_label(file, label, statement, true))
            return false;
    }
    return true;
}

static bool jumps(const struct asm_file *file, uint32_t statement)
{
    const struct asm_insn *insn = asm_last_insn(file, statement);
    return insn &&
           (insn->isa.flow == ISA_JUMP || insn->isa.flow == ISA_BRANCH ||
            insn->isa.flow == ISA_CALL) &&
           !insn->isa.indirect;
}

bool asm_find_tables(struct asm_file *file)
{
    struct asm_private *private = file->private;
    private->table_of = malloc((file->statements_count + 1) * sizeof *private->table_of);
    if (!private->table_of)
        return false;
    for (uint32_t i = 0; i < file->statements_count; i++)
    private->table_of[i] = ASM_NONE;
    for (uint32_t i = 0; i < file->statements_count;) {
        const struct asm_statement *statement = &file->statements[i];
        uint32_t next = i + 1;
        bool fine = true;
        if (statement->kind == ASM_INSTRUCTION && statement->function != ASM_NONE) {
            if (!jumps(file, i))
                fine = take_symbols(file, i);
        } else if (only_describes(&file->sections[statement->section])) {
            fine = true;
        } else if (statement->kind == ASM_LABEL && statement->function == ASM_NONE) {
            fine = read_table(file, i, &next);
        } else if (statement->kind == ASM_DIRECTIVE && is_value(statement->name)) {
            fine = take_symbols(file, i);
        }
        if (!fine)
            return false;
        i = next;
    }
    return true;
}

/* ---- which jump uses which table ----------------------------------------------------------- */

/* A table of the function that the statement's operands name; GOTO: a label whose
 * address is taken. */
static uint32_t named_table(const struct asm_walk *walk, uint32_t place, bool *foreign)
{
    const struct asm_file *file = walk->file;
    struct asm_slice rest = file->statements[walk->code[place]].operands, symbol;
    while (asm_next_symbol(&rest, &symbol)) {
        uint32_t label = asm_label(file, symbol);
        uint32_t table = label == ASM_NONE ? ASM_NONE : file->private->table_of[label];
        if (table != ASM_NONE && file->private->tables[table].function == walk->number)
            return file->private->tables[table].by_switch ? table : TABLE_GOTO;
        if (label != ASM_NONE && file->statements[label].function == walk->number &&
            file->private->marks[label] & MARK_TAKEN)
            return TABLE_GOTO;
        if (foreign)
            *foreign = true;
    }
    return TABLE_NONE;
}

/* One place back in the only way that leads here. */
static uint32_t back(const struct asm_walk *walk, uint32_t place)
{
    if (walk->leader[place])
        return walk->into[place];
    return place ? place - 1 : ASM_NONE;
}

struct trace {
    uint32_t registers; /* that the target depends on              */
    bool like_table;    /* it was added up, or loaded by a scaled index */
    bool spilled;       /* something came from the stack           */
    bool foreign;       /* it came from what is no table           */
};

static bool scaled(const struct isa_insn *insn)
{
    return insn->access_count && insn->accesses[0].index >= 0 && insn->accesses[0].scale >= 4;
}

static const uint32_t caller_saved =
    1u << BASE_RAX | 1u << BASE_RCX | 1u << BASE_RDX | 1u << BASE_RSI | 1u << BASE_RDI | 0xf00u;

/* Follows the jump's operand back to the table's address. */
static uint32_t trace_back(const struct asm_walk *walk, uint32_t jump, struct trace *trace)
{
    const struct asm_file *file = walk->file;
    const struct asm_insn *insn = asm_last_insn(file, walk->code[jump]);
    uint32_t table = named_table(walk, jump, &trace->foreign);
    if (table != TABLE_NONE)
        return table;
    trace->registers = insn->reads & ~(1u << BASE_RSP);
    trace->like_table = scaled(&insn->isa);
    uint32_t place = back(walk, jump);
    for (int steps = 0; place != ASM_NONE && trace->registers && steps < STEPS_MAX; steps++) {
        const struct asm_statement *at = &file->statements[walk->code[place]];
        insn = asm_last_insn(file, walk->code[place]);
        uint32_t writes = insn ? insn->writes : 0;
        if (at->kind == ASM_INLINE || (insn && insn->isa.flow == ISA_CALL)) {
            trace->registers &=
                ~caller_saved; /* no compiler has tables' addresses come from there */
        } else if (writes & trace->registers) {
            bool addresses = asm_begins(at->name, "lea") || scaled(&insn->isa) ||
                             asm_holds(at->operands, "@gotpcrel") || asm_begins(at->operands, "$");
            table = named_table(walk, place, addresses ? &trace->foreign : NULL);
            if (table != TABLE_NONE)
                return table;
            trace->like_table |= scaled(&insn->isa) || asm_begins(at->name, "add");
            trace->spilled |= (insn->reads & 1u << BASE_RSP) != 0;
            trace->registers = (trace->registers & ~writes) | (insn->reads & ~(1u << BASE_RSP));
        }
        place = back(walk, place);
    }
    return TABLE_NONE;
}

/* One more table to be the only one; false: there are several. */
static bool only(uint32_t *found, uint32_t table)
{
    if (table == TABLE_NONE || table == *found)
        return true;
    bool first = *found == TABLE_NONE;
    *found = first ? table : TABLE_ANY;
    return first;
}

/* Addresses of tables are often computed outside of the loop: the only statement of the function
   that puts one into a register which the jump depends on. */
static uint32_t hoisted(const struct asm_walk *walk, uint32_t registers)
{
    uint32_t found = TABLE_NONE;
    for (uint32_t i = 0; i < walk->count; i++) {
        const struct asm_insn *insn = asm_last_insn(walk->file, walk->code[i]);
        if (insn && insn->writes & registers && walk->control[i] == CONTROL_NEXT &&
            !only(&found, named_table(walk, i, NULL)))
            break;
    }
    return found;
}

static uint32_t only_table(const struct asm_walk *walk)
{
    uint32_t found = TABLE_NONE;
    for (uint32_t i = 0; i < walk->count && only(&found, named_table(walk, i, NULL));)
        i++;
    return found;
}

static uint32_t match(const struct asm_walk *walk, uint32_t jump, bool goes)
{
    struct trace trace = {0};
    uint32_t table = trace_back(walk, jump, &trace);
    if (table != TABLE_NONE)
        return table;
    if (trace.like_table && !trace.spilled)
        table = hoisted(walk, trace.registers);
    if (table == TABLE_NONE && trace.like_table && !trace.foreign) {
        table = only_table(walk);
        if (goes && table != TABLE_NONE)
            return TABLE_ANY;
    }
    /* Labels whose addresses are taken can be anywhere that a jump's target comes from. */
    return table == TABLE_NONE && goes ? TABLE_GOTO : table;
}

static bool has_taken(const struct asm_walk *walk, uint32_t first, uint32_t end)
{
    for (uint32_t i = first; i < end; i++) {
        if (walk->file->statements[i].function == walk->number &&
            walk->file->private->marks[i] & MARK_TAKEN)
            return true;
    }
    return false;
}

void asm_match_tables(struct asm_walk *walk)
{
    const struct asm_function *function = walk->function;
    bool goes = has_taken(walk, function->first, function->end) ||
                has_taken(walk, function->cold_first, function->cold_end);
    walk->any = false;
    for (uint32_t i = 0; i < walk->count; i++) {
        if (walk->control[i] != CONTROL_INDIRECT)
            continue;
        walk->table[i] = match(walk, i, goes);
        walk->any |= walk->table[i] == TABLE_ANY;
        if (walk->table[i] < TABLE_LEAST)
            walk->file->private->tables[walk->table[i]].users++;
    }
}

/* ---- questions ----------------------------------------------------------------------------- */

uint32_t asm_references(const struct asm_file *file, struct asm_slice name, uint32_t *statements,
                        uint32_t room)
{
    const struct asm_private *private = file->private;
    uint32_t label = asm_label(file, name), count = 0;
    for (uint32_t i = 0; i < private->references_count && label != ASM_NONE; i++) {
        if (private->references[i].label != label)
            continue;
        if (count < room)
            statements[count] = private->references[i].statement;
        count++;
    }
    return count;
}
