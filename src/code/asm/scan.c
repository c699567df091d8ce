// SPDX-License-Identifier: MIT
/* From text to single statements. Labels with something behind them on their line end
 * at the colon. */
#include "asm/internal.h"

struct cursor {
    const char *at, *end;
};

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\f' || c == '\v';
}

static bool starts(const struct cursor *cursor, const char *text)
{
    size_t length = strlen(text);
    return (size_t)(cursor->end - cursor->at) >= length && !memcmp(cursor->at, text, length);
}

static void skip_comment(struct cursor *cursor) /* at its opening mark */
{
    cursor->at += 2;
    while (cursor->at < cursor->end && !starts(cursor, "*/"))
        cursor->at++;
    cursor->at += cursor->at < cursor->end ? 2 : 0;
}

static void skip_blanks(struct cursor *cursor)
{
    while (cursor->at < cursor->end) {
        if (is_blank(*cursor->at))
            cursor->at++;
        else if (starts(cursor, "/*"))
            skip_comment(cursor);
        else
            break;
    }
}

static void skip_line(struct cursor *cursor)
{
    while (cursor->at < cursor->end && *cursor->at != '\n')
        cursor->at++;
    cursor->at += cursor->at < cursor->end;
}

static bool at_line_comment(const struct cursor *cursor)
{
    return cursor->at < cursor->end && (*cursor->at == '#' || starts(cursor, "//"));
}

static void skip_string(struct cursor *cursor)
{
    for (cursor->at++; cursor->at < cursor->end && *cursor->at != '"'; cursor->at++) {
        if (*cursor->at == '\\' && cursor->end - cursor->at > 1)
            cursor->at++;
        if (*cursor->at == '\n') /* not closed: the line ends it all the same */
            return;
    }
    cursor->at += cursor->at < cursor->end;
}

/* To the separator or comment; returns the end of what is not blank. */
static const char *skip_operands(struct cursor *cursor)
{
    const char *last = cursor->at;
    while (cursor->at < cursor->end && *cursor->at != '\n' && *cursor->at != ';') {
        if (at_line_comment(cursor))
            break;
        if (starts(cursor, "/*")) {
            skip_comment(cursor);
            continue;
        }
        bool blank = is_blank(*cursor->at);
        if (*cursor->at == '"') {
            skip_string(cursor);
        } else if (*cursor->at == '\'' && cursor->end - cursor->at > 1 && cursor->at[1] != '\n') {
            cursor->at += cursor->at[1] == '\\' && cursor->end - cursor->at > 2 ? 3 : 2;
        } else {
            cursor->at++;
        }
        last = blank ? last : cursor->at;
    }
    return last;
}

/* Comment and separator, if nothing else is on the line. */
static void skip_separator(struct cursor *cursor)
{
    skip_blanks(cursor);
    if (cursor->at == cursor->end)
        return;
    if (at_line_comment(cursor))
        skip_line(cursor);
    else if (*cursor->at == '\n' || *cursor->at == ';')
        cursor->at++;
}

static bool at_word(const struct cursor *cursor, const char *word)
{
    struct cursor behind = *cursor;
    if (!starts(cursor, word))
        return false;
    behind.at += strlen(word);
    return behind.at == behind.end || !asm_symbol_char(*behind.at);
}

/* A region of lines, from the one that was begun to the one that closes it. */
static void skip_region(struct cursor *cursor, const char *const *opens, const char *close)
{
    unsigned depth = 0;
    while (cursor->at < cursor->end) {
        skip_blanks(cursor);
        for (const char *const *open = opens; *open; open++)
            depth += at_word(cursor, *open);
        bool closes = at_word(cursor, close);
        skip_line(cursor);
        if (closes && (depth <= 1))
            return;
        depth -= closes;
    }
}

static const char *const app_opens[] = {"#APP", NULL};

/* Text that is expanded more than once or not at all: left alone as a whole. */
static const struct {
    const char *opens[14], *close;
} regions[] = {
    {{".macro", NULL}, ".endm"},
    {{".rept", ".irp", ".irpc", NULL}, ".endr"},
    {{".if", ".ifdef", ".ifndef", ".ifnotdef", ".ifeq", ".ifne", ".ifb", ".ifnb", ".ifc", ".ifnc",
      ".ifge", ".ifgt", NULL},
     ".endif"},
};

static bool scan_region(struct cursor *cursor, struct asm_statement *statement)
{
    statement->kind = ASM_INLINE;
    if (at_word(cursor, "#APP")) {
        skip_region(cursor, app_opens, "#NO_APP");
        return true;
    }
    for (size_t i = 0; i < BASE_COUNT(regions); i++) {
        for (const char *const *open = regions[i].opens; *open; open++) {
            if (at_word(cursor, *open)) {
                skip_region(cursor, regions[i].opens, regions[i].close);
                return true;
            }
        }
    }
    return false;
}

static struct asm_slice slice(const char *from, const char *to)
{
    return (struct asm_slice){from, (uint32_t)(to - from)};
}

static struct asm_slice scan_word(struct cursor *cursor)
{
    const char *from = cursor->at;
    if (*from == '"') {
        skip_string(cursor);
        bool closed = cursor->at - from > 1 && cursor->at[-1] == '"';
        return slice(from + 1, closed ? cursor->at - 1 : cursor->at);
    }
    while (cursor->at < cursor->end && asm_symbol_char(*cursor->at))
        cursor->at++;
    return slice(from, cursor->at);
}

static bool is_prefix(struct asm_slice name)
{
    static const char *const prefixes[] = {
        "rep",    "repe",   "repz",  "repne", "repnz",    "lock",     "data16",
        "data32", "addr32", "rex64", "bnd",   "xacquire", "xrelease", "cs",
        "ds",     "es",     "fs",    "gs",    "ss",       "notrack",  "rex",
    };
    for (size_t i = 0; i < BASE_COUNT(prefixes); i++) {
        if (asm_is(name, prefixes[i]))
            return true;
    }
    return asm_begins(name, "rex.");
}

/* "{vex}", "rep", "notrack": the mnemonic is behind them, if on this line at all. */
static void scan_mnemonic(struct cursor *cursor, struct asm_statement *statement)
{
    for (;;) {
        skip_blanks(cursor);
        if (cursor->at < cursor->end && *cursor->at == '{') {
            while (cursor->at < cursor->end && *cursor->at != '}' && *cursor->at != '\n')
                cursor->at++;
            cursor->at += cursor->at < cursor->end && *cursor->at == '}';
            continue;
        }
        if (cursor->at == cursor->end || !asm_symbol_char(*cursor->at))
            return;
        statement->name = scan_word(cursor);
        if (!is_prefix(statement->name))
            return;
    }
}

static void scan_rest(struct cursor *cursor, struct asm_statement *statement)
{
    skip_blanks(cursor);
    const char *from = cursor->at;
    const char *to = skip_operands(cursor);
    statement->operands = slice(from, to < from ? from : to);
    skip_separator(cursor);
}

static void scan_plain(struct cursor *cursor, struct asm_statement *statement)
{
    const char *begin = cursor->at;
    statement->kind = ASM_INSTRUCTION;
    if (asm_symbol_char(*cursor->at) || *cursor->at == '"') {
        struct asm_slice word = scan_word(cursor);
        const char *behind = cursor->at;
        skip_blanks(cursor);
        bool more = cursor->at < cursor->end;
        if (more && *cursor->at == ':') {
            cursor->at++;
            statement->kind = ASM_LABEL;
            statement->name = word;
            skip_separator(cursor);
            return;
        }
        if (more && *cursor->at == '=') {
            statement->kind = ASM_DIRECTIVE;
            statement->name = slice(cursor->at, cursor->at + 1);
            cursor->at++;
            scan_rest(cursor, statement);
            return;
        }
        cursor->at = behind;
        if (*begin == '.') {
            statement->kind = ASM_DIRECTIVE;
            statement->name = word;
            scan_rest(cursor, statement);
            return;
        }
    }
    cursor->at = begin;
    scan_mnemonic(cursor, statement);
    scan_rest(cursor, statement);
}

size_t asm_scan(const char *text, size_t bytes, struct asm_statement *statement)
{
    struct cursor cursor = {text, text + bytes};
    *statement = (struct asm_statement){.kind = ASM_EMPTY, .function = ASM_NONE};
    skip_blanks(&cursor);
    struct cursor begin = cursor;
    if (cursor.at == cursor.end || *cursor.at == '\n' || *cursor.at == ';') {
        cursor.at += cursor.at < cursor.end;
    } else if (scan_region(&cursor, statement)) {
        begin = cursor;
    } else if (at_line_comment(&cursor) || *cursor.at == '/') {
        statement->kind = ASM_EMPTY;
        skip_line(&cursor);
    } else {
        scan_plain(&cursor, statement);
        if (cursor.at == begin.at) /* something that no statement begins with */
            skip_line(&cursor);
    }
    statement->text = slice(text, cursor.at);
    return statement->text.bytes;
}
