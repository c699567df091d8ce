// SPDX-License-Identifier: MIT
/* Parts become functions. */
#include "asm/internal.h"

#include <stdlib.h>

/* The function's name, of its cold part's. */
static struct asm_slice main_name(struct asm_slice name)
{
    while (name.bytes > 5 && memcmp(name.text + name.bytes - 5, ".cold", 5))
        name.bytes--;
    name.bytes -= 5;
    return name;
}

static bool make_function(struct asm_file *file, struct asm_part *part, struct asm_names *by_name)
{
    struct asm_private *private = file->private;
    if (!UTIL_GROW(file->functions, private->functions_capacity, file->functions_count))
        return false;
    struct asm_function *function = &file->functions[file->functions_count];
    *function = (struct asm_function){
        .name = part->name,
        .first = part->first,
        .end = part->end,
        .cold_first = ASM_NONE,
        .cold_end = ASM_NONE,
        .section = part->section,
        .entry = part->first,
    };
    if (asm_names_find(&private->globals, part->name) != ASM_NONE)
        function->flags |= ASM_GLOBAL;
    if (part->stray || !part->sized || !part->code)
        function->problem = ASM_PROBLEM_STRAY;
    part->function = file->functions_count++;
    return asm_names_set(by_name, part->name, part->function);
}

static void attach_cold(struct asm_file *file, struct asm_part *part,
                        const struct asm_names *by_name)
{
    uint32_t number = asm_names_find(by_name, main_name(part->name));
    if (number == ASM_NONE)
        return;
    struct asm_function *function = &file->functions[number];
    part->function = number;
    bool apart = part->first >= function->end || part->end <= function->first;
    if (function->cold_first != ASM_NONE || !apart || part->stray || !part->sized)
        function->problem = ASM_PROBLEM_STRAY;
    function->cold_first = part->first;
    function->cold_end = part->end;
}

/* Statements got the number of their part; those behind its last code are in no function, but for
   labels: tables name them in place of code that is never reached. */
static void assign_statements(struct asm_file *file)
{
    const struct asm_private *private = file->private;
    for (uint32_t i = 0; i < file->statements_count; i++) {
        struct asm_statement *statement = &file->statements[i];
        if (statement->function == ASM_NONE)
            continue;
        const struct asm_part *part = &private->parts[statement->function];
        bool within = i < part->end || statement->kind == ASM_LABEL;
        statement->function = within ? part->function : ASM_NONE;
        if (statement->function == ASM_NONE)
            continue;
        struct asm_function *function = &file->functions[statement->function];
        if (statement->kind == ASM_DIRECTIVE && asm_begins(statement->name, ".cfi_"))
            function->flags |= ASM_CFI;
    }
}

bool asm_make_functions(struct asm_file *file)
{
    struct asm_private *private = file->private;
    if (file->intel_syntax || file->lto) {
        for (uint32_t i = 0; i < file->statements_count; i++)
            file->statements[i].function = ASM_NONE;
        return true;
    }
    struct asm_names by_name = {0};
    bool fine = true;
    for (uint32_t i = 0; i < private->parts_count && fine; i++) {
        if (!private->parts[i].cold)
            fine = make_function(file, &private->parts[i], &by_name);
    }
    /* A cold part whose function is elsewhere is a function that cannot be handled. */
    for (uint32_t i = 0; i < private->parts_count && fine; i++) {
        if (private->parts[i].cold)
            attach_cold(file, &private->parts[i], &by_name);
    }
    asm_names_free(&by_name);
    if (fine)
        assign_statements(file);
    return fine;
}
