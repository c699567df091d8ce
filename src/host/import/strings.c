// SPDX-License-Identifier: MIT
/* Names, each kept once in the profile. */
#include "import/internal.h"

#include <stdlib.h>
#include <string.h>

enum { LONGEST_NAME_BYTES = 16384 };

static bool equal_text(const void *items, uint32_t item, const void *key)
{
    return strcmp(((const char *const *)items)[item], key) == 0;
}

const char *import_keep(struct import_strings *strings, struct profile *profile, const char *text,
                        bool *good)
{
    char cut[LONGEST_NAME_BYTES];
    uint32_t item;
    bool found;
    if (!text || !*good)
        return NULL;
    if (strlen(text) >= sizeof cut) {
        memcpy(cut, text, sizeof cut - 1);
        cut[sizeof cut - 1] = 0;
        text = cut;
    }
    *good = UTIL_GROW_ZEROED(strings->texts, strings->capacity, strings->count) &&
            util_index_enter(&strings->index, base_hash_bytes(text, strlen(text), 0), equal_text,
                             strings->texts, text, (uint32_t)strings->count, &item, &found);
    if (*good && !found) {
        const char *copy = profile_keep(profile, text);
        *good = copy != NULL;
        if (*good)
            strings->texts[strings->count++] = copy;
    }
    return *good ? strings->texts[item] : NULL;
}

void import_strings_free(struct import_strings *strings)
{
    util_index_free(&strings->index);
    free(strings->texts);
}
