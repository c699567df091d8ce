// SPDX-License-Identifier: MIT
/*
 * The text report for terminals that show ASCII only. Each sign has a substitute of one column, so
 * that nothing moves: tables and widths are made before, for all terminals alike.
 */
#include "show/names.h"
#include "show/report.h"

#include <stdlib.h>
#include <string.h>

static char substitute(const char *sign, size_t bytes)
{
    static const struct {
        const char *signs;
        char shown;
    } substitutes[] = {
        {"█▉▊▋▌", '#'}, {"▍▎▏", '.'}, {"│", '|'},  {"→", '>'}, {"←", '<'},
        {"–—−", '-'},   {"…", '~'},   {"×", 'x'},  {"µ", 'u'}, {"▁▂", '.'},
        {"▃▄▅", ':'},   {"▆▇", '#'},  {"╵", '\''},
    };
    for (size_t i = 0; i < BASE_COUNT(substitutes); i++)
        for (const char *at = substitutes[i].signs; *at; at += name_utf8(at))
            if (name_utf8(at) == bytes && memcmp(at, sign, bytes) == 0)
                return substitutes[i].shown;
    return '?';
}

/* The text with a sign of ASCII for each that is not. */
static void write_ascii(const char *text, FILE *out)
{
    while (*text) {
        size_t bytes = name_utf8(text);
        putc(bytes == 1 ? *text : bytes == 0 ? '?' : substitute(text, bytes), out);
        text += bytes ? bytes : 1;
    }
}

enum base_status ascii_wrap(bool ascii, enum base_status (*write)(const void *context, FILE *out),
                            const void *context, FILE *out)
{
    char *text = NULL;
    size_t bytes = 0;
    if (!ascii)
        return write(context, out);
    FILE *memory = open_memstream(&text, &bytes);
    if (!memory)
        return BASE_NO_MEMORY;
    enum base_status status = write(context, memory);
    if (fclose(memory) != 0 && status == BASE_OK)
        status = BASE_NO_MEMORY;
    if (status == BASE_OK) {
        write_ascii(text, out);
        status = fflush(out) == 0 && !ferror(out) ? BASE_OK : BASE_IO;
    }
    free(text);
    return status;
}
