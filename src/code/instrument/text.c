// SPDX-License-Identifier: MIT
#include "instrument/internal.h"

#include <stdlib.h>
#include <string.h>

/* Without .cfi_startproc directives of ours would be errors. */
static void drop_cfi(struct util_text *text)
{
    char *to = text->bytes;
    for (char *line = text->bytes; *line;) {
        char *end = strchr(line, '\n');
        size_t bytes = end ? (size_t)(end - line) + 1 : strlen(line);
        if (strncmp(line, "\t.cfi_", 6)) {
            memmove(to, line, bytes);
            to += bytes;
        }
        line += bytes;
    }
    *to = 0;
    text->count = (size_t)(to - text->bytes);
}

void work_edit(struct work *work, uint32_t statement, enum edit_kind kind, struct util_text *text)
{
    if (text->failed)
        work->out_of_memory = true;
    if (text->failed || !text->count) {
        util_text_free(text);
        return;
    }
    if (!(work->function->flags & ASM_CFI))
        drop_cfi(text);
    if (!UTIL_PUSH(work->edits, work->edits_count, work->edits_capacity,
                   (struct edit){statement, kind, text->bytes})) {
        work->out_of_memory = true;
        util_text_free(text);
        return;
    }
    *text = (struct util_text){0}; /* the edit has the bytes */
}
