// SPDX-License-Identifier: MIT
/* Findings that somebody has looked at and accepts, and why. */
#include "compare/compare.h"

#include "util/util.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LINE_LENGTH_MAX = 4096 };

/* Blanks at both ends cut off, in place. */
static char *trim(char *text)
{
    text += strspn(text, " \t\r");
    size_t bytes = strlen(text);
    while (bytes && strchr(" \t\r", text[bytes - 1]))
        bytes--;
    text[bytes] = 0;
    return text;
}

static bool ends_in(const char *text, const char *end)
{
    size_t bytes = strlen(text), end_bytes = strlen(end);
    return bytes >= end_bytes && strcmp(text + bytes - end_bytes, end) == 0;
}

/* What stands before and behind the words " -- " or " -> "; NULL if they are not there. */
static char *split(char *line, const char *words)
{
    char *at = strstr(line, words);
    if (!at)
        return NULL;
    *at = 0;
    return at + strlen(words);
}

static bool malformed(char *error, unsigned line, const char *what)
{
    snprintf(error, COMPARE_ERROR_BYTES, "line %u %s; write 'FUNCTION -- why this is accepted'",
             line, what);
    return false;
}

static bool parse_line(char *line, struct compare_suppression *made, char *error)
{
    char *reason = split(line, " -- ");
    if (!reason || !*trim(reason))
        return malformed(error, made->line, "gives no reason");
    char *second = split(line, " -> ");
    char *first = trim(line);
    second = second ? trim(second) : NULL;
    if (!*first || (second && !*second) || ends_in(first, " ->"))
        return malformed(error, made->line, "names no function");
    made->first = strdup(first);
    made->second = second ? strdup(second) : NULL;
    made->reason = strdup(trim(reason));
    return true;
}

static bool add_line(const char *text, size_t bytes, unsigned number,
                     struct compare_suppressions *list, char *error)
{
    char line[LINE_LENGTH_MAX];
    if (bytes >= sizeof line)
        return malformed(error, number, "is too long");
    memcpy(line, text, bytes);
    line[bytes] = 0;
    char *start = trim(line);
    if (!*start || *start == '#')
        return true;
    if (!UTIL_GROW(list->items, list->capacity, list->count))
        return false;
    struct compare_suppression *made = &list->items[list->count];
    *made = (struct compare_suppression){.line = number};
    /* A reason that is nothing but blanks was cut off with them. */
    if (ends_in(start, " --"))
        return malformed(error, number, "gives no reason");
    if (!parse_line(start, made, error))
        return false;
    list->count++;
    return made->first && made->reason;
}

enum base_status compare_suppressions_parse(const char *text,
                                            struct compare_suppressions *suppressions,
                                            char error[COMPARE_ERROR_BYTES])
{
    struct compare_suppressions made = {0};
    char why[COMPARE_ERROR_BYTES] = "";
    unsigned number = 1;
    for (const char *at = text; *at; number++) {
        size_t bytes = strcspn(at, "\n");
        if (!add_line(at, bytes, number, &made, why)) {
            compare_suppressions_free(&made);
            if (why[0])
                memcpy(error, why, sizeof why);
            return why[0] ? BASE_MALFORMED : BASE_NO_MEMORY;
        }
        at += bytes + (at[bytes] == '\n');
    }
    *suppressions = made;
    return BASE_OK;
}

void compare_suppressions_free(struct compare_suppressions *suppressions)
{
    for (size_t i = 0; i < suppressions->count; i++) {
        free(suppressions->items[i].first);
        free(suppressions->items[i].second);
        free(suppressions->items[i].reason);
    }
    free(suppressions->items);
    *suppressions = (struct compare_suppressions){0};
}

const struct compare_suppression *compare_suppressed(struct compare_suppressions *suppressions,
                                                     compare_has_function *has, void *context)
{
    for (size_t i = 0; i < suppressions->count; i++) {
        struct compare_suppression *one = &suppressions->items[i];
        bool matches = one->second ? has(context, 0, one->first) && has(context, 1, one->second)
                                   : has(context, 0, one->first) || has(context, 1, one->first);
        if (!matches)
            continue;
        one->uses++;
        return one;
    }
    return NULL;
}
