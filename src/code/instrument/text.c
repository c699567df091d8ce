// SPDX-License-Identifier: MIT
#include "instrument/internal.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

static bool make_room(struct text *text, size_t more)
{
    if (text->count + more + 1 <= text->capacity)
        return true;
    size_t capacity = (text->count + more + 1) * 2;
    char *data = realloc(text->data, capacity);
    if (!data)
        return false;
    text->data = data;
    text->capacity = capacity;
    return true;
}

void text_add(struct text *text, const char *format, ...)
{
    va_list arguments, again;
    va_start(arguments, format);
    va_copy(again, arguments);
    int bytes = vsnprintf(NULL, 0, format, arguments);
    if (bytes < 0 || !make_room(text, (size_t)bytes)) {
        text->failed = true;
    } else {
        vsnprintf(text->data + text->count, (size_t)bytes + 1, format, again);
        text->count += (size_t)bytes;
    }
    va_end(again);
    va_end(arguments);
}

void text_free(struct text *text)
{
    free(text->data);
    *text = (struct text){0};
}

/* Without .cfi_startproc directives of ours would be errors. */
static void drop_cfi(struct text *text)
{
    char *to = text->data;
    for (char *line = text->data; *line;) {
        char *end = strchr(line, '\n');
        size_t bytes = end ? (size_t)(end - line) + 1 : strlen(line);
        if (strncmp(line, "\t.cfi_", 6)) {
            memmove(to, line, bytes);
            to += bytes;
        }
        line += bytes;
    }
    *to = 0;
    text->count = (size_t)(to - text->data);
}

void work_edit(struct work *work, uint32_t statement, enum edit_kind kind, struct text *text)
{
    if (text->failed)
        work->out_of_memory = true;
    if (text->failed || !text->count) {
        text_free(text);
        return;
    }
    if (!(work->function->flags & ASM_CFI))
        drop_cfi(text);
    if (work->edits_count == work->edits_capacity) {
        uint32_t capacity = work->edits_capacity ? work->edits_capacity * 2 : 64;
        struct edit *edits = realloc(work->edits, capacity * sizeof *edits);
        if (!edits) {
            work->out_of_memory = true;
            text_free(text);
            return;
        }
        work->edits = edits;
        work->edits_capacity = capacity;
    }
    work->edits[work->edits_count++] = (struct edit){statement, kind, text->data};
    *text = (struct text){0};
}
