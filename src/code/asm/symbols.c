// SPDX-License-Identifier: MIT
/* Names: comparing, looking up, finding them in operands. */
#include "asm/internal.h"

#include <stdlib.h>

struct asm_name {
    struct asm_slice name;
    uint32_t value;
    uint32_t hash; /* 0: free */
};

bool asm_room(void *array, uint32_t *room, uint32_t count, size_t bytes)
{
    if (count < *room)
        return true;
    if (*room > UINT32_MAX / 4)
        return false;
    uint32_t more = *room ? *room * 2 : 64;
    void *old, *grown;
    memcpy(&old, array, sizeof old); /* the caller's pointer, of whatever type */
    grown = realloc(old, more * bytes);
    if (!grown)
        return false;
    memcpy(array, &grown, sizeof grown);
    *room = more;
    return true;
}

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

static uint32_t hash_of(struct asm_slice name)
{
    uint32_t hash = (uint32_t)base_hash_bytes(name.text, name.bytes, 0);
    return hash ? hash : 1;
}

static struct asm_name *slot_of(const struct asm_names *names, struct asm_slice name, uint32_t hash)
{
    uint32_t at = hash & (names->room - 1);
    while (names->slots[at].hash &&
           !(names->slots[at].hash == hash && asm_same(names->slots[at].name, name)))
        at = (at + 1) & (names->room - 1);
    return &names->slots[at];
}

uint32_t asm_names_find(const struct asm_names *names, struct asm_slice name)
{
    if (!names->count)
        return ASM_NONE;
    const struct asm_name *slot = slot_of(names, name, hash_of(name));
    return slot->hash ? slot->value : ASM_NONE;
}

static bool grow(struct asm_names *names)
{
    struct asm_names grown = {.room = names->room ? names->room * 2 : 64, .count = names->count};
    grown.slots = calloc(grown.room, sizeof *grown.slots);
    if (!grown.slots)
        return false;
    for (uint32_t i = 0; i < names->room; i++) {
        if (names->slots[i].hash)
            *slot_of(&grown, names->slots[i].name, names->slots[i].hash) = names->slots[i];
    }
    free(names->slots);
    *names = grown;
    return true;
}

bool asm_names_set(struct asm_names *names, struct asm_slice name, uint32_t value)
{
    if (names->count >= names->room / 2 && !grow(names))
        return false;
    uint32_t hash = hash_of(name);
    struct asm_name *slot = slot_of(names, name, hash);
    names->count += !slot->hash;
    *slot = (struct asm_name){name, value, hash};
    return true;
}

void asm_names_free(struct asm_names *names)
{
    free(names->slots);
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
