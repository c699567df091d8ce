// SPDX-License-Identifier: MIT
/* Private to asm: what its files share. */
#ifndef HEADROOM_ASM_INTERNAL_H
#define HEADROOM_ASM_INTERNAL_H

#include "asm/asm.h"
#include "util/util.h"

#include <string.h>

/* ---- symbols ------------------------------------------------------------------------------------ */

/* From names to numbers. */
struct asm_names {
    struct asm_name *names;
    size_t count, capacity;
    struct util_index index;
};

uint32_t asm_names_find(const struct asm_names *names, struct asm_slice name); /* or ASM_NONE */
bool asm_names_set(struct asm_names *names, struct asm_slice name, uint32_t value);
void asm_names_free(struct asm_names *names);

/* ---- the file's other half -------------------------------------------------------------------- */

enum asm_mark {
    MARK_NAMED = 1,     /* label: data, exception tables or code other than jumps name it */
    MARK_TAKEN = 2,     /* label: its address is taken, and not by a switch's table alone */
    MARK_LANDING = 4,   /* label: landing pad */
    MARK_ARRIVAL = 8,   /* label: control may arrive here from elsewhere */
    MARK_SEQUENCE = 16, /* INLINE: no inline assembly but a call that must stay as it is */
    MARK_BEGINS = 32,   /* label: of a function or its cold part */
};

/* Main or cold part of a function. */
struct asm_part {
    struct asm_slice name;
    uint32_t first, end, section, code; /* code: how many statements of code */
    uint32_t function;
    bool sized, cold, stray;
};

struct asm_edit {
    uint32_t statement, order; /* order: BEFORE, REPLACE, AFTER, in 2 high bits, then a sequence */
    char *text;
};

struct asm_reference {
    uint32_t label, statement;
};

/* Calls in [first, end) go to the landing pad if something is thrown. */
struct asm_range {
    uint32_t first, end, pad;
};

struct asm_table {
    uint32_t label, first, entries; /* first: in private->entries */
    uint32_t function;
    bool by_switch; /* as compilers name those of switch */
    uint32_t users; /* jumps */
};

struct asm_private {
    struct asm_names labels, types, globals, section_names;
    uint8_t *marks;     /* of statements */
    uint32_t *code_at;  /* of statements: place among its function's code, for blocks */
    uint32_t *table_of; /* of statements that are tables' labels */
    struct asm_part *parts;
    uint32_t parts_count;
    size_t parts_capacity;
    struct asm_edit *edits;
    uint32_t edits_count;
    size_t edits_capacity;
    struct asm_reference *references;
    uint32_t references_count;
    size_t references_capacity;
    struct asm_range *ranges;
    uint32_t ranges_count;
    size_t ranges_capacity;
    struct asm_table *tables;
    uint32_t tables_count;
    size_t tables_capacity;
    struct asm_slice *lsdas;
    uint32_t lsdas_count;
    size_t lsdas_capacity;
    bool *no_return; /* of functions */
    bool *weak;
    size_t statements_capacity, marks_capacity, sections_capacity, functions_capacity,
        blocks_capacity, edges_capacity, insns_capacity;
    uint32_t entries_count;
    size_t entries_capacity;
};

/* Statement of a label by its name, or ASM_NONE. */
static inline uint32_t asm_label(const struct asm_file *file, struct asm_slice name)
{
    return asm_names_find(&file->private->labels, name);
}

/* The last instruction of a decoded statement, or NULL. */
static inline const struct asm_insn *asm_last_insn(const struct asm_file *file, uint32_t statement)
{
    const struct asm_statement *at = &file->statements[statement];
    return at->insns_count ? &file->insns[at->insns + at->insns_count - 1] : NULL;
}

/* In the program's memory when it runs? */
bool asm_allocated(const struct asm_section *section);

/* ---- steps ------------------------------------------------------------------------------------- */

/* One statement at text, of at most `bytes`; what is not set: line, section, function. */
size_t asm_scan(const char *text, size_t bytes, struct asm_statement *statement);

bool asm_make_functions(struct asm_file *file);          /* functions.c */
bool asm_find_landing_pads(struct asm_file *file);       /* exceptions.c */
bool asm_find_tables(struct asm_file *file);             /* tables.c: and labels that are named */
enum base_status asm_make_blocks(struct asm_file *file); /* blocks.c */
bool asm_refer(struct asm_file *file, uint32_t label, uint32_t statement);

/* ---- control ------------------------------------------------------------------------------------ */

enum asm_control {
    CONTROL_NEXT,
    CONTROL_BRANCH, /* to `target`, else next */
    CONTROL_JUMP,
    CONTROL_INDIRECT,
    CONTROL_RETURN,
    CONTROL_TAIL,
    CONTROL_TAIL_BRANCH,
    CONTROL_STOP,
    CONTROL_TWICE, /* call that may return twice */
};

/* What is known of one function while its blocks are made. */
struct asm_walk {
    struct asm_file *file;
    struct asm_function *function;
    uint32_t number;
    uint32_t *code, count, main_count; /* its statements of code, those of the cold part last */
    uint8_t *control;                  /* of each, enum asm_control */
    uint32_t *target;                  /* place in code; ASM_NONE */
    uint32_t *jumped;                  /* label's statement */
    uint8_t *leader;
    uint32_t *into; /* of each leader: the only place from which control comes; ASM_NONE: several */
    uint32_t *table;     /* of CONTROL_INDIRECT: table, or below */
    bool any;            /* one of them is TABLE_ANY */
    uint32_t *next_code; /* of the file's statements: place of the code from there on */
    enum asm_problem problem;
};

/* No table; any of the function's and all labels whose address is taken; only the latter. */
#define TABLE_NONE  UINT32_MAX
#define TABLE_ANY   (UINT32_MAX - 1)
#define TABLE_GOTO  (UINT32_MAX - 2)
#define TABLE_LEAST TABLE_GOTO

/* Of the part [first, end): calls that do not return, as unwind directives show. After control is known. */
void asm_find_stops(struct asm_walk *walk, uint32_t first, uint32_t end);

/* Finds each indirect jump's table. */
void asm_match_tables(struct asm_walk *walk);

#endif
