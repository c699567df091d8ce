// SPDX-License-Identifier: MIT
/*
 * Copies lie in blocks, for there are many and short ones that are all freed together; a longer
 * text gets a block of its own.
 */
#include "util/util.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* Some thousand names or paths. */
enum { BLOCK_BYTES = 1 << 16 };

struct util_block {
    struct util_block *next;
    size_t used, capacity;
    char text[];
};

struct key {
    const char *text;
    size_t bytes;
};

static bool equal_text(const void *items, uint32_t item, const void *key)
{
    const char *text = ((const char *const *)items)[item];
    const struct key *wanted = key;
    return strncmp(text, wanted->text, wanted->bytes) == 0 && text[wanted->bytes] == 0;
}

/* Room for that many bytes at the end of the newest block. */
static bool reserve(struct util_strings *strings, size_t bytes)
{
    struct util_block *block = strings->blocks;
    if (block && block->capacity - block->used >= bytes)
        return true;
    size_t capacity = bytes > BLOCK_BYTES ? bytes : BLOCK_BYTES;
    block = malloc(sizeof *block + capacity);
    if (!block)
        return false;
    *block = (struct util_block){.next = strings->blocks, .capacity = capacity};
    strings->blocks = block;
    return true;
}

bool util_strings_find(const struct util_strings *strings, const char *text, size_t bytes,
                       uint32_t *number)
{
    return util_index_find(&strings->index, base_hash_bytes(text, bytes, 0), equal_text,
                           strings->texts, &(struct key){text, bytes}, number);
}

bool util_strings_add(struct util_strings *strings, const char *text, size_t bytes,
                      uint32_t *number)
{
    uint32_t next = (uint32_t)strings->count;
    bool found;
    assert(!memchr(text, 0, bytes));
    if (util_strings_find(strings, text, bytes, number))
        return true;
    if (bytes > SIZE_MAX / 2 || !reserve(strings, bytes + 1) ||
        !UTIL_GROW(strings->texts, strings->capacity, strings->count) ||
        !util_index_enter(&strings->index, base_hash_bytes(text, bytes, 0), equal_text,
                          strings->texts, &(struct key){text, bytes}, next, number, &found))
        return false;
    struct util_block *block = strings->blocks;
    char *copy = memcpy(block->text + block->used, text, bytes);
    copy[bytes] = 0;
    block->used += bytes + 1;
    strings->texts[strings->count++] = copy;
    return true;
}

void util_strings_free(struct util_strings *strings)
{
    for (struct util_block *block = strings->blocks, *next; block; block = next) {
        next = block->next;
        free(block);
    }
    free(strings->texts);
    util_index_free(&strings->index);
    *strings = (struct util_strings){0};
}

bool util_strings_check(const struct util_strings *strings)
{
    if (!util_index_check(&strings->index) || strings->index.count != strings->count ||
        strings->count > strings->capacity)
        return false;
    for (size_t i = 0; i < strings->count; i++) {
        uint32_t number;
        if (!util_strings_find(strings, strings->texts[i], strlen(strings->texts[i]), &number) ||
            number != i)
            return false;
    }
    return true;
}
