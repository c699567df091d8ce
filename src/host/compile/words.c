// SPDX-License-Identifier: MIT
/* Argument lists and response files. */
#include "compile/internal.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { RESPONSE_DEPTH = 16 };

void words_insert(struct words *words, size_t before, const char *word)
{
    if (!UTIL_GROW(words->at, words->capacity, words->count + 1)) { /* and NULL behind it */
        words->failed = true;
        return;
    }
    memmove(words->at + before + 1, words->at + before,
            (words->count - before) * sizeof *words->at);
    words->at[before] = (char *)word;
    words->at[++words->count] = NULL;
}

void words_add(struct words *words, const char *word)
{
    words_insert(words, words->count, word);
}

void words_add_all(struct words *words, char *const *more)
{
    while (*more)
        words_add(words, *more++);
}

long words_find(char *const *words, const char *text)
{
    long found = -1;
    for (long i = 0; words[i]; i++)
        if (strcmp(words[i], text) == 0)
            found = i;
    return found;
}

const char *words_value(char *const *words, const char *option)
{
    long at = words_find(words, option);
    return at < 0 ? NULL : words[at + 1];
}

const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* ---- response files -------------------------------------------------------------------------- */

static bool blank(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

void words_split(struct words *words, char *text)
{
    for (char *out = text; *text;) {
        while (blank(*text))
            text++;
        if (!*text)
            return;
        char *word = out;
        char quote = 0;
        for (; *text && (quote || !blank(*text)); text++) {
            if (*text == '\\' && text[1])
                *out++ = *++text;
            else if (*text == quote)
                quote = 0;
            else if (!quote && (*text == '"' || *text == '\''))
                quote = *text;
            else
                *out++ = *text;
        }
        if (*text)
            text++;
        *out++ = 0;
        words_add(words, word);
    }
}

static void expand(struct words *words, char *const *arguments, struct words *texts, unsigned depth)
{
    for (; *arguments; arguments++) {
        int file = **arguments == '@' && depth < RESPONSE_DEPTH
                       ? open(*arguments + 1, O_RDONLY | O_CLOEXEC)
                       : -1;
        size_t bytes;
        char *text = file < 0 ? NULL : compile_read(file, &bytes);
        if (file >= 0)
            close(file);
        if (!text) {
            words_add(words, *arguments);
            continue;
        }
        struct words inner = {0};
        words_split(&inner, text);
        if (inner.count)
            expand(words, inner.at, texts, depth + 1);
        words_add(texts, text);
        words->failed |= inner.failed || texts->failed;
        free(inner.at);
    }
}

void words_expand(struct words *words, char *const *arguments, struct words *texts)
{
    expand(words, arguments, texts, 0);
}

void words_free_all(struct words *texts)
{
    for (size_t i = 0; i < texts->count; i++)
        free(texts->at[i]);
    free(texts->at);
}
