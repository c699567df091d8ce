// SPDX-License-Identifier: MIT
/* Edits, printing, and the end of a file. */
#include "asm/internal.h"

#include <assert.h>
#include <stdlib.h>

enum { BEFORE, REPLACE, AFTER };
enum { SEQUENCE_BITS = 30 };

static bool edit(struct asm_file *file, uint32_t statement, uint32_t what, const char *text)
{
    assert(statement <= file->statements_count);
    struct asm_private *private = file->private;
    if (private->edits_count >> SEQUENCE_BITS ||
        !UTIL_GROW(private->edits, private->edits_capacity, private->edits_count))
        return false;
    char *copy = strdup(text);
    if (!copy)
        return false;
    private->edits[private->edits_count] =
        (struct asm_edit){statement, what << SEQUENCE_BITS | private->edits_count, copy};
    private->edits_count++;
    return true;
}

bool asm_insert_before(struct asm_file *file, uint32_t statement, const char *text)
{
    return edit(file, statement, BEFORE, text);
}

bool asm_insert_after(struct asm_file *file, uint32_t statement, const char *text)
{
    return edit(file, statement, AFTER, text);
}

bool asm_replace(struct asm_file *file, uint32_t statement, const char *text)
{
    return edit(file, statement, REPLACE, text);
}

bool asm_append(struct asm_file *file, const char *text)
{
    return edit(file, file->statements_count, BEFORE, text);
}

static int compare_edits(const void *left, const void *right)
{
    const struct asm_edit *a = left, *b = right;
    if (a->statement != b->statement)
        return a->statement < b->statement ? -1 : 1;
    return (a->order > b->order) - (a->order < b->order);
}

static void print_text(const char *text, size_t bytes, FILE *out, char *last)
{
    if (!bytes)
        return;
    fwrite(text, 1, bytes, out);
    *last = text[bytes - 1];
}

static void print_statement(const struct asm_statement *statement, FILE *out, char *last)
{
    print_text(statement->text.text, statement->text.bytes, out, last);
}

/* Prints edits of one statement and it; returns the next edit. */
static uint32_t print_edited(const struct asm_file *file, uint32_t number,
                             const struct asm_edit *edits, uint32_t count, FILE *out, char *last)
{
    uint32_t next = 0;
    const char *replacement = NULL;
    bool printed = number == file->statements_count;
    for (; next < count && edits[next].statement == number; next++) {
        uint32_t what = edits[next].order >> SEQUENCE_BITS;
        if (what == REPLACE) {
            replacement = edits[next].text;
            continue;
        }
        if (what == AFTER && !printed) {
            if (replacement)
                print_text(replacement, strlen(replacement), out, last);
            else
                print_statement(&file->statements[number], out, last);
            printed = true;
        }
        /* The file's last line may lack its end. */
        if ((what == AFTER && number + 1 == file->statements_count && *last != '\n') ||
            (number == file->statements_count && *last != '\n' && number))
            print_text("\n", 1, out, last);
        print_text(edits[next].text, strlen(edits[next].text), out, last);
    }
    if (!printed && replacement)
        print_text(replacement, strlen(replacement), out, last);
    else if (!printed)
        print_statement(&file->statements[number], out, last);
    return next;
}

void asm_print(const struct asm_file *file, FILE *out)
{
    const struct asm_private *private = file->private;
    struct asm_edit *edits = private->edits;
    uint32_t count = private->edits_count, next = 0;
    char last = '\n';
    if (count) /* stays correct for more edits: their sequence numbers are larger */
        qsort(edits, count, sizeof *edits, compare_edits);
    for (uint32_t i = 0; i < file->statements_count; i++) {
        if (next < count && edits[next].statement == i)
            next += print_edited(file, i, edits + next, count - next, out, &last);
        else
            print_statement(&file->statements[i], out, &last);
    }
    if (next < count)
        print_edited(file, file->statements_count, edits + next, count - next, out, &last);
}

/* These labels change nothing of the code: nothing refers to them. */
void asm_print_labelled(const struct asm_file *file, FILE *out)
{
    char last = '\n';
    for (uint32_t i = 0; i < file->statements_count; i++) {
        const struct asm_statement *statement = &file->statements[i];
        bool marked = asm_is_code(statement) && statement->function != ASM_NONE;
        if (marked)
            fprintf(out, "hR.%u:\n", i);
        print_statement(statement, out, &last);
        if (!marked || statement->kind != ASM_INLINE)
            continue;
        if (last != '\n')
            print_text("\n", 1, out, &last);
        fprintf(out, "hE.%u:\n", i);
    }
}

void asm_free(struct asm_file *file)
{
    if (!file)
        return;
    struct asm_private *private = file->private;
    if (private) {
        asm_names_free(&private->labels);
        asm_names_free(&private->types);
        asm_names_free(&private->globals);
        asm_names_free(&private->section_names);
        for (uint32_t i = 0; i < private->edits_count; i++)
            free(private->edits[i].text);
        free(private->edits);
        free(private->marks);
        free(private->code_at);
        free(private->table_of);
        free(private->parts);
        free(private->references);
        free(private->ranges);
        free(private->tables);
        free(private->lsdas);
        free(private->no_return);
        free(private->weak);
        free(private);
    }
    free(file->statements);
    free(file->sections);
    free(file->functions);
    free(file->blocks);
    free(file->edges);
    free(file->insns);
    free(file->table_entries);
    free(file);
}
