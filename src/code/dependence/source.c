// SPDX-License-Identifier: MIT
/*
 * References as the source has them. In C the address of an access has the place where its expression begins, and the text is what
 * stands there: a name with what subscripts and selects. In Fortran a whole assignment has one place: which access of an array stands
 * where follows from their order. Where neither is found, the array's name is what there is.
 */
#include "dependence/internal.h"

#include "ir/loop.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { FILE_BYTES_MAX = 64 << 20, LINE_BYTES_MAX = 4096 };

void source_files_free(struct source_files *files)
{
    for (size_t i = 0; i < files->count; i++)
        free(files->files[i].text);
    free(files->files);
}

/* ---- lines --------------------------------------------------------------------------------------------- */

static void read_whole(struct source_file *file)
{
    FILE *in = fopen(file->name, "re");
    size_t capacity = 0, got;
    while (in && file->bytes < FILE_BYTES_MAX &&
           UTIL_GROW(file->text, capacity, file->bytes + 65536) &&
           (got = fread(file->text + file->bytes, 1, 65536, in)) > 0)
        file->bytes += got;
    if (in)
        fclose(in);
}

static const struct source_file *file_named(struct source_files *files, const char *name)
{
    for (size_t i = 0; i < files->count; i++)
        if (files->files[i].name == name)
            return &files->files[i];
    struct source_file file = {.name = name};
    if (!UTIL_PUSH(files->files, files->count, files->capacity, file))
        return NULL;
    read_whole(&files->files[files->count - 1]);
    return &files->files[files->count - 1];
}

static bool line_at(struct source_files *files, const char *name, uint32_t line,
                    char text[LINE_BYTES_MAX])
{
    const struct source_file *file = name && line ? file_named(files, name) : NULL;
    const char *at = file ? file->text : NULL, *end = at ? at + file->bytes : NULL;
    for (uint32_t i = 1; at && i < line; i++) {
        at = memchr(at, '\n', (size_t)(end - at));
        at = at ? at + 1 : NULL;
    }
    if (!at || at >= end)
        return false;
    const char *stop = memchr(at, '\n', (size_t)(end - at));
    snprintf(text, LINE_BYTES_MAX, "%.*s", (int)((stop ? stop : end) - at), at);
    return true;
}

/* ---- expressions ------------------------------------------------------------------------------------------- */

static bool is_word(char letter)
{
    return isalnum((unsigned char)letter) || letter == '_' || letter == '$';
}

/* Up to the bracket that closes the one here. NULL: it is not on the line. */
static const char *behind_brackets(const char *at)
{
    int depth = 0;
    for (; *at; at++) {
        depth += *at == '(' || *at == '[';
        depth -= *at == ')' || *at == ']';
        if (!depth)
            return at + 1;
    }
    return NULL;
}

/* "a[i].x->y[j]", "(*p)[i][j]", "*p", from its beginning on. NULL: it is none. */
static const char *behind_expression(const char *at)
{
    const char *begin = at;
    while (*at == '*')
        at++;
    if (*at == '(')
        at = behind_brackets(at);
    else
        while (is_word(*at))
            at++;
    if (!at || at == begin)
        return NULL;
    for (const char *next = at;; at = next) {
        next = at + strspn(at, " ");
        if (*next == '[' || *next == '(')
            next = behind_brackets(next);
        else if (*next == '.' || strncmp(next, "->", 2) == 0)
            for (next += *next == '.' ? 1 : 2; is_word(*next); next++)
                ;
        else
            return at;
        if (!next)
            return NULL;
    }
}

/* Runs of blanks become one. */
static void copy_text(const char *from, const char *end, char *text, size_t bytes)
{
    size_t count = 0;
    for (; from < end && count + 1 < bytes; from++)
        if (!isspace((unsigned char)*from) || (count && text[count - 1] != ' '))
            text[count++] = isspace((unsigned char)*from) ? ' ' : *from;
    text[count] = 0;
}

static bool is_fortran(const char *file)
{
    const char *dot = file ? strrchr(file, '.') : NULL;
    return dot && (dot[1] == 'f' || dot[1] == 'F');
}

/* ---- C --------------------------------------------------------------------------------------------------- */

static bool reference_in_c(struct source_files *files, const char *instruction, const char *name,
                           char *text, size_t bytes)
{
    char line[LINE_BYTES_MAX];
    struct ir_place place = ir_address_place(files->ir, files->symbol, instruction);
    if (is_fortran(place.file) || !place.column || !line_at(files, place.file, place.line, line) ||
        place.column > strlen(line))
        return false;
    const char *begin = line + place.column - 1, *end = behind_expression(begin);
    if (!end || (name && !strstr(begin, name)))
        return false;
    copy_text(begin, end, text, bytes);
    return strpbrk(text, "[*.(>") != NULL;
}

/* ---- Fortran --------------------------------------------------------------------------------------------------- */

/* The next "name(" of the line. */
static const char *occurrence(const char *line, const char *from, const char *name)
{
    size_t bytes = strlen(name);
    for (const char *at = from; *at; at++)
        if (strncasecmp(at, name, bytes) == 0 && (at == line || !is_word(at[-1])) &&
            at[bytes + strspn(at + bytes, " ")] == '(')
            return at;
    return NULL;
}

/* The store of an assignment is what stands before "="; loads are in the order of their text. */
static bool reference_in_fortran(struct source_files *files, const char *instruction,
                                 const char *name, char *text, size_t bytes)
{
    char line[LINE_BYTES_MAX];
    struct ir_place place = ir_place_of(files->ir, instruction);
    if (!name || !is_fortran(place.file) || !line_at(files, place.file, place.line, line))
        return false;
    const char *begin = line + strspn(line, " \t"), *end = behind_expression(begin);
    const char *equals = end ? end + strspn(end, " ") : NULL;
    const char *at = begin;
    if (!ir_is_store(instruction)) {
        if (equals && *equals == '=')
            at = equals;
        for (unsigned before = ir_accesses_before(files->ir, files->symbol, instruction);
             at && (at = occurrence(line, at, name)) && before; before--)
            at++;
    } else {
        at = occurrence(line, begin, name);
    }
    end = at ? behind_expression(at) : NULL;
    if (!end)
        return false;
    copy_text(at, end, text, bytes);
    return true;
}

void source_reference(void *context, const char *instruction, char *text, size_t bytes)
{
    struct source_files *files = context;
    const char *name = ir_accessed_name(files->ir, files->symbol, instruction);
    if (reference_in_fortran(files, instruction, name, text, bytes) ||
        reference_in_c(files, instruction, name, text, bytes))
        return;
    snprintf(text, bytes, "%s", name ? name : "memory");
}
