// SPDX-License-Identifier: MIT
/* Names: comparing, looking up, finding them in operands. */
#include "asm/internal.h"

#include <stdlib.h>

struct asm_name {
    struct asm_slice name;
    uint32_t value;
};

bool asm_same(struct asm_slice left, struct asm_slice right)
{
    return left.bytes == right.bytes && (!left.bytes || !memcmp(left.text, right.text, left.bytes));
}

bool asm_is(struct asm_slice slice, const char *text)
{
    return strlen(text) == slice.bytes && (!slice.bytes || !memcmp(slice.text, text, slice.bytes));
}

bool asm_begins(struct asm_slice slice, const char *text)
{
    size_t length = strlen(text);
    return slice.bytes >= length && (!length || !memcmp(slice.text, text, length));
}

static char lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

bool asm_holds(struct asm_slice slice, const char *text)
{
    size_t length = strlen(text);
    for (size_t i = 0; i + length <= slice.bytes; i++) {
        size_t same = 0;
        while (same < length && lower(slice.text[i + same]) == text[same])
            same++;
        if (same == length)
            return true;
    }
    return false;
}

static bool equal_name(const void *items, uint32_t item, const void *key)
{
    return asm_same(((const struct asm_name *)items)[item].name, *(const struct asm_slice *)key);
}

uint32_t asm_names_find(const struct asm_names *names, struct asm_slice name)
{
    uint32_t item;
    return util_index_find(&names->index, base_hash_bytes(name.text, name.bytes, 0), equal_name,
                           names->names, &name, &item)
               ? names->names[item].value
               : ASM_NONE;
}

bool asm_names_set(struct asm_names *names, struct asm_slice name, uint32_t value)
{
    uint32_t item;
    bool found;
    if (!UTIL_GROW(names->names, names->capacity, names->count) ||
        !util_index_enter(&names->index, base_hash_bytes(name.text, name.bytes, 0), equal_name,
                          names->names, &name, (uint32_t)names->count, &item, &found))
        return false;
    names->count += !found;
    names->names[item] = (struct asm_name){name, value};
    return true;
}

void asm_names_free(struct asm_names *names)
{
    free(names->names);
    util_index_free(&names->index);
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static void skip(struct asm_slice *rest, uint32_t bytes)
{
    rest->text += bytes;
    rest->bytes -= bytes;
}

static uint32_t word_length(struct asm_slice rest)
{
    uint32_t length = 0;
    while (length < rest.bytes && asm_symbol_char(rest.text[length]))
        length++;
    return length;
}

static bool next_quoted(struct asm_slice *rest, struct asm_slice *symbol)
{
    uint32_t length = 1;
    while (length < rest->bytes && rest->text[length] != '"')
        length++;
    *symbol = (struct asm_slice){rest->text + 1, length - 1};
    skip(rest, length < rest->bytes ? length + 1 : length);
    return true;
}

bool asm_next_symbol(struct asm_slice *rest, struct asm_slice *symbol)
{
    while (rest->bytes) {
        char c = rest->text[0];
        if (c == '"')
            return next_quoted(rest, symbol);
        if (c == '%' || c == '@') { /* register, relocation */
            skip(rest, 1);
            skip(rest, word_length(*rest));
            continue;
        }
        if (c == '$' || !asm_symbol_char(c)) { /* "$" before an immediate */
            skip(rest, 1);
            continue;
        }
        uint32_t length = word_length(*rest);
        *symbol = (struct asm_slice){rest->text, length};
        skip(rest, length);
        if (!is_digit(c) && !(length == 1 && c == '.'))
            return true;
    }
    return false;
}
