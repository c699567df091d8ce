// SPDX-License-Identifier: MIT
/*
 * Names for people. C++ and Rust names can run to thousands of characters, and
 * names from a foreign profile may carry terminal escapes.
 */
#include "base/base.h"
#include "show/names.h"

#include <stdio.h>
#include <string.h>

size_t name_utf8(const char *text)
{
    const unsigned char *s = (const unsigned char *)text;
    if (s[0] < 0x80)
        return s[0] != 0;
    size_t bytes = s[0] >= 0xf0 ? 4 : s[0] >= 0xe0 ? 3 : 2;
    if (s[0] < 0xc2 || s[0] > 0xf4)
        return 0;
    for (size_t i = 1; i < bytes; i++)
        if ((s[i] & 0xc0) != 0x80)
            return 0;
    /* Over-long forms, surrogates, beyond U+10FFFF. */
    if ((s[0] == 0xe0 && s[1] < 0xa0) || (s[0] == 0xed && s[1] > 0x9f) ||
        (s[0] == 0xf0 && s[1] < 0x90) || (s[0] == 0xf4 && s[1] > 0x8f))
        return 0;
    return bytes;
}

/* C0 and C1 controls move cursors; bidirectional controls reorder what is read. */
bool name_shows(const char *text, size_t bytes)
{
    const unsigned char *s = (const unsigned char *)text;
    if (bytes == 1)
        return s[0] >= 0x20 && s[0] != 0x7f;
    if (bytes == 2)
        return !(s[0] == 0xc2 && s[1] < 0xa0) && !(s[0] == 0xd8 && s[1] == 0x9c);
    if (bytes == 3 && s[0] == 0xe2 && s[1] == 0x80)
        return s[2] < 0x8b || (s[2] > 0x8f && s[2] < 0xa8) || s[2] > 0xae;
    return !(bytes == 3 && s[0] == 0xe2 && s[1] == 0x81 && s[2] >= 0xa6 && s[2] <= 0xa9);
}

void name_clean(const char *text, char *out, size_t out_bytes)
{
    size_t used = 0;
    while (*text) {
        size_t bytes = name_utf8(text);
        bool good = bytes && name_shows(text, bytes);
        size_t needed = good ? bytes : 1;
        if (used + needed >= out_bytes)
            break;
        if (good)
            memcpy(out + used, text, bytes);
        else
            out[used] = *text == '\t' || *text == '\n' ? ' ' : '?';
        used += needed;
        text += bytes ? bytes : 1;
    }
    out[used] = 0;
}

static uint32_t character_of(const char *text, size_t bytes)
{
    static const unsigned char masks[] = {0, 0x7f, 0x1f, 0x0f, 0x07};
    uint32_t character = (unsigned char)text[0] & masks[bytes];
    for (size_t i = 1; i < bytes; i++)
        character = character << 6 | ((unsigned char)text[i] & 0x3f);
    return character;
}

/*
 * Of one character: 2 of East Asian scripts and of pictures, 0 of marks that combine with what is
 * before them. The large ranges of Unicode's tables; wcwidth would need a locale, which files and
 * pages do not have.
 */
static unsigned character_columns(const char *text, size_t bytes)
{
    static const struct {
        uint32_t first, last;
        unsigned columns;
    } ranges[] = {
        {0x0300, 0x036f, 0},   {0x0483, 0x0489, 0},   {0x0591, 0x05bd, 0},   {0x064b, 0x065f, 0},
        {0x1100, 0x115f, 2},   {0x1ab0, 0x1aff, 0},   {0x1dc0, 0x1dff, 0},   {0x200b, 0x200d, 0},
        {0x20d0, 0x20f0, 0},   {0x2e80, 0x303e, 2},   {0x3041, 0x33ff, 2},   {0x3400, 0x4dbf, 2},
        {0x4e00, 0xa4cf, 2},   {0xac00, 0xd7a3, 2},   {0xf900, 0xfaff, 2},   {0xfe00, 0xfe0f, 0},
        {0xfe20, 0xfe2f, 0},   {0xfe30, 0xfe6f, 2},   {0xff00, 0xff60, 2},   {0xffe0, 0xffe6, 2},
        {0x1f300, 0x1f64f, 2}, {0x1f900, 0x1f9ff, 2}, {0x20000, 0x3fffd, 2},
    };
    if (bytes == 1)
        return 1;
    uint32_t character = character_of(text, bytes);
    for (size_t i = 0; i < BASE_COUNT(ranges) && ranges[i].first <= character; i++)
        if (character <= ranges[i].last)
            return ranges[i].columns;
    return 1;
}

unsigned name_columns(const char *text)
{
    unsigned columns = 0;
    for (size_t bytes; (bytes = name_utf8(text)); text += bytes)
        columns += character_columns(text, bytes);
    return columns;
}

size_t name_fitting(const char *text, unsigned columns)
{
    const char *at = text;
    for (size_t bytes; (bytes = name_utf8(at)); at += bytes) {
        unsigned needed = character_columns(at, bytes);
        if (needed > columns)
            break;
        columns -= needed;
    }
    return (size_t)(at - text);
}

const char *name_base(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash && slash[1] ? slash + 1 : path;
}

/* ---- function names ------------------------------------------------------------------------- */

static bool starts(const char *text, const char *with)
{
    return strncmp(text, with, strlen(with)) == 0;
}

/* After the bracket that closes the one at text; text + 1 if none does. */
static const char *skip_brackets(const char *text)
{
    unsigned depth = 0;
    for (const char *at = text; *at; at++) {
        if (*at == '(' || *at == '<' || *at == '[' || *at == '{')
            depth++;
        else if ((*at == '>' && at[-1] != '-') || *at == ')' || *at == ']' || *at == '}')
            depth--;
        if (depth == 0)
            return at + 1;
    }
    return text + 1;
}

/* Length of an operator's name after "operator", whose brackets are no brackets. */
static size_t operator_bytes(const char *text)
{
    static const char *const names[] = {"()", "->*", "->", "<<=", ">>=", "<=>",
                                        "<<", ">>",  "<=", ">=",  "<",   ">"};
    for (size_t i = 0; i < BASE_COUNT(names); i++)
        if (starts(text, names[i]))
            return strlen(names[i]);
    return 0;
}

/* Names have few brackets that nothing closes, and each is looked for to the end. */
enum { UNCLOSED_MAX = 16 };

/* Without "(parameters)" and, if `templates`, with "<…>" for "<arguments>". */
static void strip(const char *name, bool templates, char *out, size_t out_bytes)
{
    size_t used = 0;
    unsigned unclosed = 0;
    for (const char *at = name; *at && used + 16 < out_bytes;) {
        const char *after = at + 1;
        if (starts(at, "operator")) {
            size_t bytes = 8 + operator_bytes(at + 8);
            memcpy(out + used, at, bytes);
            used += bytes;
            at += bytes;
            continue;
        }
        bool bracket =
            at > name && ((*at == '(' && !starts(at, "(anonymous")) || (*at == '<' && templates));
        if (bracket && unclosed < UNCLOSED_MAX) {
            after = skip_brackets(at);
            unclosed += after == at + 1;
        }
        if (after == at + 1)
            out[used++] = *at;
        else if (*at == '<')
            used += (size_t)sprintf(out + used, "<…>");
        at = after;
    }
    out[used] = 0;
    static const char suffix[] = " const";
    if (used > sizeof suffix && strcmp(out + used - (sizeof suffix - 1), suffix) == 0)
        out[used - (sizeof suffix - 1)] = 0;
}

/* Compilers mark their copies of functions: f.isra.0, f.part.3.cold, f.lto_priv.1. */
static void cut_copy_marks(char *name)
{
    static const char *const marks[] = {".isra.", ".part.",     ".constprop.",
                                        ".cold",  ".lto_priv.", ".llvm."};
    for (size_t i = 0; i < BASE_COUNT(marks); i++) {
        char *mark = strstr(name, marks[i]);
        if (mark && mark > name)
            *mark = 0;
    }
}

/* Keeps head and tail: the tail names the function, the head its library. */
static void cut_middle(char *name, unsigned columns)
{
    unsigned total = name_columns(name);
    if (total <= columns || columns < 8)
        return;
    unsigned head = (columns - 1) / 3, tail = columns - 1 - head;
    char *from = name, *to;
    for (unsigned i = 0; i < head; i++)
        from += name_utf8(from);
    to = from;
    for (unsigned i = 0; i < total - head - tail; i++)
        to += name_utf8(to);
    size_t left = strlen(to) + 1;
    memmove(from + strlen("…"), to, left);
    memcpy(from, "…", strlen("…"));
}

void name_shorten(const char *name, unsigned columns, char out[NAME_BYTES])
{
    char clean[8192], stripped[8192];
    name_clean(name, clean, sizeof clean);
    cut_copy_marks(clean);
    strip(clean, false, stripped, sizeof stripped);
    if (name_columns(stripped) > columns)
        strip(clean, true, stripped, sizeof stripped);
    if (columns > 64)
        columns = 64; /* four bytes a character at most */
    cut_middle(stripped, columns);
    name_clean(stripped, out, NAME_BYTES);
}

bool name_before_program(const char *function)
{
    static const char *const names[] = {"_start",
                                        "__libc_start_main",
                                        "__libc_start_call_main",
                                        "start_thread",
                                        "clone",
                                        "__clone",
                                        "clone3",
                                        "__clone3",
                                        "__GI___clone3",
                                        "__libc_start_main_impl"};
    for (size_t i = 0; i < BASE_COUNT(names); i++)
        if (function && strncmp(function, names[i], strlen(names[i])) == 0 &&
            strchr("@", function[strlen(names[i])]))
            return true;
    return false;
}

bool name_wraps_malloc(const char *function)
{
    static const char *const parts[] = {"malloc", "calloc", "realloc", "mem_alloc", "memalloc"};
    for (size_t i = 0; function && i < BASE_COUNT(parts); i++)
        if (strcasestr(function, parts[i]))
            return true;
    return false;
}
