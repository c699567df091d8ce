// SPDX-License-Identifier: MIT
/*
 * A path as source: the lines it runs through, block by block. Within a block control does not
 * branch, so the lines of a function are put in the order of the source, each once, whatever the
 * compiler did to their order. A line that goes on in the next block is not repeated. What was
 * inlined is quoted too, under its name, but for what comes with the system.
 */
#include "paths/internal.h"
#include "show/print.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum {
    ROWS_MAX = 24, /* of a path; the middle of longer ones is left out */
    LINES_MAX = 1024,
    BLOCK_LINES = 64,
    GUTTER = 8, /* columns before the number of a line                */
    NUMBER_COLUMNS = 6,
};

struct rows {
    struct profile_path_line items[LINES_MAX];
    size_t count;
};

static bool same_place(const struct profile_path_line *a, const struct profile_path_line *b)
{
    return profile_same_text(a->file, b->file) && profile_same_text(a->function, b->function);
}

/* Behind the lines of the same function that are not greater; functions stand as they
 * first appear. */
static void insert(struct profile_path_line *sorted, size_t *count,
                   const struct profile_path_line *line)
{
    size_t at = *count;
    for (size_t i = 0; i < *count; i++)
        if (same_place(&sorted[i], line) && sorted[i].line <= line->line)
            at = i + 1;
        else if (same_place(&sorted[i], line) && at == *count)
            at = i;
    if (at && same_place(&sorted[at - 1], line) && sorted[at - 1].line == line->line)
        return;
    memmove(sorted + at + 1, sorted + at, (*count - at) * sizeof *sorted);
    sorted[at] = *line;
    ++*count;
}

static void collect(const struct profile *profile, const struct profile_path *path,
                    struct rows *rows)
{
    struct profile_path_line sorted[BLOCK_LINES];
    for (uint32_t i = 0; i < path->steps; i++) {
        const struct profile_path_block *block =
            &profile->path_blocks[profile->path_steps[path->first_step + i].block];
        size_t count = 0;
        for (uint32_t l = 0; l < block->lines && count < BLOCK_LINES; l++)
            insert(sorted, &count, &profile->path_lines[block->first_line + l]);
        for (size_t l = 0; l < count && rows->count < LINES_MAX; l++) {
            const struct profile_path_line *last =
                rows->count ? &rows->items[rows->count - 1] : NULL;
            if (!last || last->line != sorted[l].line || !same_place(last, &sorted[l]))
                rows->items[rows->count++] = sorted[l];
        }
    }
}

/* ---- printing -------------------------------------------------------------------------------- */

static void print_quoted(struct printer *printer, const char *text, unsigned used)
{
    char cut[TEXT_BYTES + 8];
    unsigned most = printer->width > used + 4 ? printer->width - used : 4;
    snprintf(cut, sizeof cut, "%s", text);
    if (name_columns(cut) > most)
        strcpy(cut + name_fitting(cut, most - 1), "…");
    fputs(cut, printer->out);
}

/* One row for all lines from first to last, of what is inlined and not quoted. */
static void print_inlined(struct printer *printer, const struct profile_path_line *row,
                          uint32_t first, uint32_t last)
{
    char name[NAME_BYTES], place[TEXT_BYTES], text[TEXT_BYTES * 2];
    name_shorten(row->function, 40, name);
    name_clean(row->file ? name_base(row->file) : "?", place, 64);
    snprintf(text, sizeof text, "⤷ %s (inlined)  %s:%" PRIu32, name, place, first);
    if (last != first)
        print_add(text, sizeof text, "–%" PRIu32, last);
    fprintf(printer->out, "%*s%s│   ", GUTTER + NUMBER_COLUMNS + 1, "", print_on(printer, DIM));
    print_quoted(printer, text, GUTTER + NUMBER_COLUMNS + 5);
    fprintf(printer->out, "%s\n", print_off(printer));
}

/* Where the lines that follow are from. */
static void print_place_change(struct printer *printer,
                               const struct profile_path_function *function,
                               const struct profile_path_line *row)
{
    char name[NAME_BYTES], place[TEXT_BYTES], text[TEXT_BYTES * 2];
    if (row->function)
        name_shorten(row->function, 40, name);
    else if (function->function)
        name_shorten(function->function, 40, name);
    else
        strcpy(name, "?");
    snprintf(text, sizeof text, "%s %s%s", row->function ? "⤷" : "⤶", name,
             row->function ? " (inlined)" : "");
    if (!profile_same_text(row->file, function->file)) {
        name_clean(row->file ? name_base(row->file) : "?", place, 64);
        print_add(text, sizeof text, "  %s", place);
    }
    fprintf(printer->out, "%*s%s", GUTTER + NUMBER_COLUMNS + 1, "", print_on(printer, DIM));
    print_quoted(printer, text, GUTTER + NUMBER_COLUMNS + 1);
    fprintf(printer->out, "%s\n", print_off(printer));
}

static void print_line(struct printer *printer, const struct profile_path_line *row)
{
    char text[TEXT_BYTES];
    fprintf(printer->out, "%*s%*" PRIu32, GUTTER, "", NUMBER_COLUMNS, row->line);
    if (source_line(&printer->sources, row->file, row->line, text, sizeof text)) {
        fprintf(printer->out, " %s│%s ", print_on(printer, DIM), print_off(printer));
        print_quoted(printer, text, GUTTER + NUMBER_COLUMNS + 3);
    }
    putc('\n', printer->out);
}

static void print_mark(struct printer *printer, const char *mark)
{
    fprintf(printer->out, "%*s%s%s%s\n", GUTTER, "", print_on(printer, DIM), mark,
            print_off(printer));
}

/* Without their text, lines fit in a sentence: "12–14, 16, 18". */
static void print_numbers(struct printer *printer, const struct rows *rows)
{
    char text[TEXT_BYTES * 4] = "lines ";
    for (size_t i = 0, end; i < rows->count && strlen(text) < sizeof text - 200; i = end) {
        const struct profile_path_line *row = &rows->items[i];
        uint32_t last = row->line;
        for (end = i + 1; end < rows->count && same_place(&rows->items[end], row) &&
                          rows->items[end].line == last + 1;
             end++)
            last++;
        print_add(text, sizeof text, "%s", i ? ", " : "");
        if (row->function) {
            char name[NAME_BYTES];
            name_shorten(row->function, 32, name);
            print_add(text, sizeof text, "%s:", name);
        }
        print_add(text, sizeof text, "%" PRIu32, row->line);
        if (last != row->line)
            print_add(text, sizeof text, "–%" PRIu32, last);
    }
    fprintf(printer->out, "%*s", GUTTER, "");
    print_wrap(printer, PLAIN, GUTTER, GUTTER + 6, text);
}

/* Headers of the system are long and nobody's to change. */
static bool is_quotable(struct printer *printer, const struct profile_path_line *row)
{
    char text[TEXT_BYTES];
    bool foreign = row->function && row->file && strncmp(row->file, "/usr/", 5) == 0;
    return !foreign && source_line(&printer->sources, row->file, row->line, text, sizeof text);
}

static bool any_quotable(struct printer *printer, const struct rows *rows)
{
    for (size_t i = 0; i < rows->count; i++)
        if (is_quotable(printer, &rows->items[i]))
            return true;
    return false;
}

/* Rows from `from` on that are inlined from the same function and not quoted; returns their end. */
static size_t unquoted_end(struct printer *printer, const struct rows *rows, size_t from,
                           uint32_t *least, uint32_t *most)
{
    size_t end = from;
    *least = UINT32_MAX;
    *most = 0;
    for (; end < rows->count && same_place(&rows->items[end], &rows->items[from]) &&
           rows->items[end].function && !is_quotable(printer, &rows->items[end]);
         end++) {
        uint32_t line = rows->items[end].line;
        *least = line < *least ? line : *least;
        *most = line > *most ? line : *most;
    }
    return end;
}

static void print_rows(struct printer *printer, const struct profile_path_function *function,
                       const struct rows *rows)
{
    struct profile_path_line here = {.file = function->file};
    uint32_t least, most;
    for (size_t i = 0, end; i < rows->count; i = end) {
        const struct profile_path_line *row = &rows->items[i];
        if (rows->count > ROWS_MAX && i >= ROWS_MAX / 2 && i < rows->count - ROWS_MAX / 2) {
            char left_out[64];
            snprintf(left_out, sizeof left_out, "  … %zu more lines",
                     rows->count - ROWS_MAX / 2 - i);
            print_mark(printer, left_out);
            end = rows->count - ROWS_MAX / 2;
            continue;
        }
        end = unquoted_end(printer, rows, i, &least, &most);
        if (end > i) {
            print_inlined(printer, row, least, most);
            continue;
        }
        if (!same_place(row, &here))
            print_place_change(printer, function, row);
        print_line(printer, row);
        here = *row;
        end = i + 1;
    }
}

void paths_print_source(struct printer *printer, const struct profile_path *path)
{
    const struct profile_path_function *function =
        &printer->profile->path_functions[path->function];
    bool pieces = function->reason == PROFILE_PATH_TRUNCATED;
    struct rows *rows = calloc(1, sizeof *rows);
    if (!rows)
        return;
    collect(printer->profile, path, rows);
    if (path->flags & PROFILE_PATH_FROM_ROOT)
        print_mark(printer, "↳ begins where an exception lands");
    else if (path->flags & PROFILE_PATH_FROM_CUT)
        print_mark(printer, pieces ? "↳ begins at a loop head, or where paths were cut"
                                   : "↳ begins at a loop head");
    if (rows->count == 0)
        print_mark(printer, "  lines unknown");
    else if (any_quotable(printer, rows))
        print_rows(printer, function, rows);
    else
        print_numbers(printer, rows);
    if (path->flags & PROFILE_PATH_TO_CUT)
        print_mark(printer, pieces ? "↻ back to a loop head, or on where paths were cut"
                                   : "↻ back to a loop head");
    else
        print_mark(printer, "← leaves the function");
    free(rows);
}
