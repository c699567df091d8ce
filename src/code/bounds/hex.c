// SPDX-License-Identifier: MIT
/* Hexadecimal digits to bytes. */
#include "bounds/bounds.h"

#include <stdlib.h>

static int digit(char sign)
{
    return sign >= '0' && sign <= '9'   ? sign - '0'
           : sign >= 'a' && sign <= 'f' ? sign - 'a' + 10
           : sign >= 'A' && sign <= 'F' ? sign - 'A' + 10
                                        : -1;
}

static bool is_blank(char sign)
{
    return sign == ' ' || sign == '\r' || sign == '\v' || sign == '\f';
}

static bool ends_block(char sign)
{
    return sign == ',' || sign == ';' || sign == '\t';
}

enum base_status bounds_hex(const char *text, size_t count, uint8_t **bytes, size_t *byte_count,
                            size_t *bad)
{
    size_t made = 0, at = 0;
    uint8_t *out = malloc(count / 2 + 1);
    if (!out)
        return BASE_NO_MEMORY;
    while (at < count && !ends_block(text[at])) {
        bool marked =
            count - at >= 2 && text[at + 1] == 'x' && (text[at] == '0' || text[at] == '\\');
        if (is_blank(text[at]) || marked) {
            at += marked ? 2 : 1;
            continue;
        }
        if (count - at < 2 || digit(text[at]) < 0 || digit(text[at + 1]) < 0) {
            *bad = at;
            free(out);
            return BASE_MALFORMED;
        }
        out[made++] = (uint8_t)(digit(text[at]) * 16 + digit(text[at + 1]));
        at += 2;
    }
    *bytes = out;
    *byte_count = made;
    return BASE_OK;
}
