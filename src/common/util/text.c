// SPDX-License-Identifier: MIT
#include "util/util.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FIRST_BYTES = 64 };

bool util_text_reserve(struct util_text *text, size_t more)
{
    assert(text->count < text->capacity || !text->capacity);
    if (text->failed)
        return false;
    if (text->capacity && more < text->capacity - text->count)
        return true;
    /* A quarter of what there are addresses for: doubling cannot overflow. */
    size_t needed = more < SIZE_MAX / 4 - text->count ? text->count + more + 1 : 0;
    char *moved = needed ? realloc(text->bytes, 2 * needed + FIRST_BYTES) : NULL;
    if (!moved) {
        text->failed = true;
        return false;
    }
    moved[text->count] = 0;
    text->bytes = moved;
    text->capacity = 2 * needed + FIRST_BYTES;
    return true;
}

bool util_text_add(struct util_text *text, const void *bytes, size_t count)
{
    if (!util_text_reserve(text, count))
        return false;
    if (count)
        memcpy(text->bytes + text->count, bytes, count);
    text->count += count;
    text->bytes[text->count] = 0;
    return true;
}

bool util_text_print(struct util_text *text, const char *format, ...)
{
    va_list arguments, again;
    va_start(arguments, format);
    va_copy(again, arguments);
    int bytes = vsnprintf(NULL, 0, format, arguments);
    if (bytes < 0)
        text->failed = true;
    else if (util_text_reserve(text, (size_t)bytes))
        text->count +=
            (size_t)vsnprintf(text->bytes + text->count, (size_t)bytes + 1, format, again);
    va_end(again);
    va_end(arguments);
    return !text->failed;
}

void util_text_free(struct util_text *text)
{
    free(text->bytes);
    *text = (struct util_text){0};
}
