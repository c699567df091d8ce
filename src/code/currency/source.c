// SPDX-License-Identifier: MIT
/*
 * Lines of C and C++: those that do nothing but assign to one variable, and whether a statement is there. By tokens, without a parser: a parser needs the arguments of the
 * compiler, the headers and the generated files, none of which comes with a binary. Which variable a name means is taken from DWARF. So only
 * lines are taken about which tokens leave no doubt: one whole statement on a line of its own that begins with the variable's name. Of a
 * name that is a macro DWARF has no variable.
 */
#include "currency/currency.h"

#include <ctype.h>
#include <string.h>

enum { ASSIGNMENTS_OF_LINE = 4 };

struct reader {
    const char *at, *end;
    uint32_t line;
    int parentheses, braces;
    char before;  /* the last character of code before the line: ';', '{', ')', or a letter */
    bool keyword; /* "else" or "do" was the last word */
};

static bool is_name(char c)
{
    return isalnum((unsigned char)c) || c == '_' || c == '$';
}

/* Skips a comment, a string or a character that begins here. False: none does. */
static bool skip_apart(struct reader *reader)
{
    const char *at = reader->at;
    size_t left = (size_t)(reader->end - at);
    if (left >= 2 && at[0] == '/' && at[1] == '/') {
        while (reader->at < reader->end && *reader->at != '\n')
            reader->at++;
        return true;
    }
    if (left >= 2 && at[0] == '/' && at[1] == '*') {
        for (reader->at += 2; reader->at < reader->end; reader->at++) {
            reader->line += *reader->at == '\n';
            if (reader->at[0] == '/' && reader->at[-1] == '*' && reader->at - at >= 3) {
                reader->at++;
                break;
            }
        }
        return true;
    }
    if (*at != '"' && *at != '\'')
        return false;
    for (reader->at++; reader->at < reader->end && *reader->at != *at && *reader->at != '\n';
         reader->at++)
        reader->at += *reader->at == '\\' && reader->at + 1 < reader->end && reader->at[1] != '\n';
    reader->at += reader->at < reader->end && *reader->at == *at;
    reader->before = '"';
    reader->keyword = false;
    return true;
}

/* A line for the preprocessor, with those that continue it. */
static void skip_directive(struct reader *reader)
{
    for (; reader->at < reader->end; reader->at++) {
        if (*reader->at == '\\' && reader->at + 1 < reader->end && reader->at[1] == '\n') {
            reader->at++;
            reader->line++;
        } else if (*reader->at == '\n') {
            return;
        }
    }
}

static bool is_word(const char *text, size_t bytes, const char *word)
{
    return strlen(word) == bytes && memcmp(text, word, bytes) == 0;
}

static void pass_word(struct reader *reader)
{
    const char *start = reader->at;
    while (reader->at < reader->end && is_name(*reader->at))
        reader->at++;
    size_t bytes = (size_t)(reader->at - start);
    reader->before = 'a';
    reader->keyword = is_word(start, bytes, "else") || is_word(start, bytes, "do");
}

static void pass_code(struct reader *reader)
{
    char c = *reader->at;
    if (is_name(c)) {
        pass_word(reader);
        return;
    }
    reader->at++;
    if (isspace((unsigned char)c))
        return;
    reader->parentheses += (c == '(') - (c == ')');
    reader->braces += (c == '{') - (c == '}');
    reader->before = c;
    reader->keyword = false;
}

/* ---- one line ----------------------------------------------------------------------------------------- */

static const char *skip_blanks(const char *at, const char *end)
{
    while (at < end && (*at == ' ' || *at == '\t' || *at == '\r'))
        at++;
    return at;
}

/* The end of an operator that assigns; NULL: there is none. */
static const char *assigns(const char *at, const char *end)
{
    size_t left = (size_t)(end - at);
    if (left >= 2 && at[0] == '=' && at[1] != '=')
        return at + 1;
    if (left >= 3 && strchr("+-*/%&|^", at[0]) && at[1] == '=')
        return at + 2;
    if (left >= 4 && (memcmp(at, "<<=", 3) == 0 || memcmp(at, ">>=", 3) == 0))
        return at + 3;
    return NULL;
}

static bool is_comment(const char *at, const char *end)
{
    return end - at >= 2 && at[0] == '/' && (at[1] == '/' || at[1] == '*');
}

/* Nothing but a comment up to the end. */
static bool ends_here(const char *at, const char *end)
{
    at = skip_blanks(at, end);
    return at == end || is_comment(at, end);
}

/* The value assigned: no call, no condition, no further assignment, up to a comma or the semicolon. NULL: it is another. */
static const char *pass_value(const char *at, const char *end)
{
    int depth = 0;
    for (char last = 0; at < end && *at != ';' && (*at != ',' || depth); at++) {
        char next = at + 1 < end ? at[1] : 0;
        if (*at == '?' || *at == '"' || *at == '\'' || *at == '{' || *at == ',' ||
            is_comment(at, end) || (*at == '&' && next == '&') || (*at == '|' && next == '|'))
            return NULL;
        if (*at == '=' && next != '=' && last != '=' && last != '!' && last != '<' && last != '>')
            return NULL;
        if ((*at == '+' && next == '+') || (*at == '-' && next == '-'))
            return NULL;
        if (*at == '(' && is_name(last))
            return NULL;
        depth += (*at == '(' || *at == '[') - (*at == ')' || *at == ']');
        last = isspace((unsigned char)*at) ? last : *at;
    }
    return at < end ? at : NULL;
}

static bool take_name(const char **at, const char *end, char name[CURRENCY_NAME_MAX])
{
    const char *start = *at;
    while (*at < end && is_name(**at))
        ++*at;
    size_t bytes = (size_t)(*at - start);
    if (!bytes || bytes >= CURRENCY_NAME_MAX || isdigit((unsigned char)*start))
        return false;
    memcpy(name, start, bytes);
    name[bytes] = 0;
    return true;
}

static bool is_step(const char *at, const char *end)
{
    return end - at >= 2 && (memcmp(at, "++", 2) == 0 || memcmp(at, "--", 2) == 0);
}

/* One assignment; the end of it, or NULL. */
static const char *pass_assignment(const char *at, const char *end, char name[CURRENCY_NAME_MAX])
{
    bool before = is_step(at, end);
    at = skip_blanks(at + 2 * before, end);
    if (!take_name(&at, end, name))
        return NULL;
    at = skip_blanks(at, end);
    if (before || is_step(at, end)) {
        at = skip_blanks(before ? at : at + 2, end);
        return at < end && (*at == ';' || *at == ',') ? at : NULL;
    }
    at = assigns(at, end);
    return at ? pass_value(at, end) : NULL;
}

/* The assignments of a line, divided by commas: all of them, or none. Returns how many. */
static size_t take_line(const char *at, const char *end, uint32_t line,
                        struct currency_assignment found[ASSIGNMENTS_OF_LINE])
{
    for (size_t count = 0; count < ASSIGNMENTS_OF_LINE; count++) {
        found[count].line = line;
        at = pass_assignment(skip_blanks(at, end), end, found[count].name);
        if (!at)
            return 0;
        if (*at == ';')
            return ends_here(at + 1, end) ? count + 1 : 0;
        at++;
    }
    return 0;
}

/* Can a statement begin here, or outside of functions a declaration? */
static bool is_start(const struct reader *reader)
{
    return reader->parentheses == 0 && (reader->keyword || strchr(";{}):", reader->before));
}

void currency_read(const char *text, size_t bytes,
                   bool (*visit)(void *context, const struct currency_assignment *assignment),
                   void *context)
{
    struct reader reader = {.at = text, .end = text + bytes, .line = 1, .before = ';'};
    bool begins = true; /* only blanks of the line were read */
    while (reader.at < reader.end) {
        if (*reader.at == '\n') {
            reader.at++;
            reader.line++;
            begins = true;
            continue;
        }
        if (isspace((unsigned char)*reader.at)) {
            reader.at++;
            continue;
        }
        if (begins && *reader.at == '#') {
            skip_directive(&reader);
            continue;
        }
        if (begins && reader.braces > 0 && is_start(&reader)) {
            struct currency_assignment found[ASSIGNMENTS_OF_LINE];
            const char *end = memchr(reader.at, '\n', (size_t)(reader.end - reader.at));
            size_t count = take_line(reader.at, end ? end : reader.end, reader.line, found);
            for (size_t i = 0; i < count; i++)
                if (!visit(context, &found[i]))
                    return;
        }
        begins = false;
        if (!skip_apart(&reader))
            pass_code(&reader);
    }
}

/* Does what begins here belong to a statement? Braces, a lone semicolon, and the words between two statements do not. */
static bool is_of_statement(const struct reader *reader)
{
    const char *at = reader->at, *end = at;
    while (end < reader->end && is_name(*end))
        end++;
    return !strchr("{};", *at) && !is_comment(at, reader->end) &&
           !is_word(at, (size_t)(end - at), "else") && !is_word(at, (size_t)(end - at), "do");
}

enum currency_line currency_line(const char *text, size_t bytes, uint32_t line)
{
    struct reader reader = {.at = text, .end = text + bytes, .line = 1, .before = ';'};
    bool begins = true;
    while (reader.at < reader.end && reader.line <= line) {
        if (isspace((unsigned char)*reader.at)) {
            begins |= *reader.at == '\n';
            reader.line += *reader.at++ == '\n';
            continue;
        }
        if (begins && *reader.at == '#') {
            skip_directive(&reader);
            continue;
        }
        if (reader.line == line && is_of_statement(&reader))
            return is_start(&reader) ? CURRENCY_LINE_BEGINS : CURRENCY_LINE_CONTINUES;
        begins = false;
        if (!skip_apart(&reader))
            pass_code(&reader);
    }
    return CURRENCY_LINE_EMPTY;
}
