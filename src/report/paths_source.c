// SPDX-License-Identifier: MIT
/*
 * A path as source: the lines it runs through, block by block. Within a block control does not
 * branch, so its lines are put in the order of the source, each once, whatever the compiler did to
 * their order; what was inlined there is named and not quoted. A line that goes on in the next
 * block is not repeated.
 */
#include "report/paths.h"
#include "report/print.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum {
    MOST_ROWS = 24, /* of a path; the middle of longer ones is left out */
    MOST_LINES = 1024,
    GUTTER = 8, /* columns before the number of a line                */
    NUMBER_COLUMNS = 6,
};

/* Lines first..last of one file, in succession; inlined: all of a function's lines in one block. */
struct row {
    const char *file, *inlined;
    uint32_t first, last;
};

struct rows {
    struct row items[MOST_LINES];
    size_t count;
};

static bool same_text(const char *a, const char *b)
{
    return a == b || (a && b && strcmp(a, b) == 0);
}

static int compare_lines(const void *left, const void *right)
{
    const struct profile_path_line *a = left, *b = right;
    if (!a->function != !b->function)
        return a->function ? 1 : -1;
    int order = a->function ? strcmp(a->function, b->function) : 0;
    if (order == 0)
        order = strcmp(a->file ? a->file : "", b->file ? b->file : "");
    return order ? order : (a->line > b->line) - (a->line < b->line);
}

static void add_row(struct rows *rows, const struct profile_path_line *line, bool new_block)
{
    struct row *last = rows->count ? &rows->items[rows->count - 1] : NULL;
    bool same =
        last && same_text(last->file, line->file) && same_text(last->inlined, line->function);
    if (same && line->line >= last->first && line->line <= last->last)
        return;
    /* An inlined function is one row, in one block. */
    if (same && last->inlined && !new_block && line->line > last->last) {
        last->last = line->line;
        return;
    }
    if (rows->count < MOST_LINES)
        rows->items[rows->count++] =
            (struct row){line->file, line->function, line->line, line->line};
}

static void collect(const struct profile *profile, const struct profile_path *path,
                    struct rows *rows)
{
    struct profile_path_line sorted[64];
    for (uint32_t i = 0; i < path->steps; i++) {
        const struct profile_path_block *block =
            &profile->path_blocks[profile->path_steps[path->first_step + i].block];
        size_t count = block->lines < BASE_COUNT(sorted) ? block->lines : BASE_COUNT(sorted);
        memcpy(sorted, profile->path_lines + block->first_line, count * sizeof *sorted);
        if (count)
            qsort(sorted, count, sizeof *sorted, compare_lines);
        for (size_t l = 0; l < count; l++)
            add_row(rows, &sorted[l], l == 0);
    }
}

/* ---- printing -----------------------------------------------------------------------------------
 */

static void print_quoted(struct printer *printer, const char *text, unsigned used)
{
    char cut[TEXT_BYTES + 8];
    unsigned most = printer->width > used + 4 ? printer->width - used : 4;
    snprintf(cut, sizeof cut, "%s", text);
    if (name_columns(cut) > most) {
        char *at = cut;
        for (unsigned i = 0; i + 1 < most; i++)
            at += name_utf8(at);
        strcpy(at, "…");
    }
    fputs(cut, printer->out);
}

static void print_inlined(struct printer *printer, const struct row *row)
{
    char name[NAME_BYTES], place[TEXT_BYTES], text[TEXT_BYTES * 2];
    name_shorten(row->inlined, 40, name);
    name_clean(row->file ? name_base(row->file) : "?", place, 64);
    snprintf(text, sizeof text, "⤷ %s (inlined)  %s:%" PRIu32, name, place, row->first);
    if (row->last != row->first)
        print_add(text, sizeof text, "–%" PRIu32, row->last);
    fprintf(printer->out, "%*s%s│   ", GUTTER + NUMBER_COLUMNS + 1, "", print_on(printer, DIM));
    print_quoted(printer, text, GUTTER + NUMBER_COLUMNS + 5);
    fprintf(printer->out, "%s\n", print_off(printer));
}

static void print_line(struct printer *printer, const struct profile_path_function *function,
                       const struct row *row)
{
    char text[TEXT_BYTES], place[TEXT_BYTES] = "";
    unsigned used = GUTTER + NUMBER_COLUMNS + 3;
    bool readable = source_line(&printer->sources, row->file, row->first, text, sizeof text);
    if (!same_text(row->file, function->file)) {
        name_clean(row->file ? name_base(row->file) : "?", place, 64);
        print_add(place, sizeof place, ":");
    }
    fprintf(printer->out, "%*s%*" PRIu32 "%s", GUTTER, "", NUMBER_COLUMNS, row->first,
            readable || place[0] ? " " : "");
    if (place[0])
        fprintf(printer->out, "%s%s ", print_on(printer, DIM), place);
    used += place[0] ? name_columns(place) + 1 : 0;
    if (readable) {
        fprintf(printer->out, "%s│%s ", print_on(printer, DIM), print_off(printer));
        print_quoted(printer, text, used);
    }
    fprintf(printer->out, "%s\n", place[0] ? print_off(printer) : "");
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
        const struct row *row = &rows->items[i];
        uint32_t last = row->last;
        for (end = i + 1; end < rows->count && same_text(rows->items[end].file, row->file) &&
                          same_text(rows->items[end].inlined, row->inlined) &&
                          rows->items[end].first == last + 1;
             end++)
            last = rows->items[end].last;
        print_add(text, sizeof text, "%s", i ? ", " : "");
        if (row->inlined) {
            char name[NAME_BYTES];
            name_shorten(row->inlined, 32, name);
            print_add(text, sizeof text, "%s:", name);
        }
        print_add(text, sizeof text, "%" PRIu32, row->first);
        if (last != row->first)
            print_add(text, sizeof text, "–%" PRIu32, last);
    }
    fprintf(printer->out, "%*s", GUTTER, "");
    print_wrap(printer, PLAIN, GUTTER, GUTTER + 6, text);
}

static bool any_readable(struct printer *printer, const struct rows *rows)
{
    char text[TEXT_BYTES];
    for (size_t i = 0; i < rows->count; i++)
        if (!rows->items[i].inlined && source_line(&printer->sources, rows->items[i].file,
                                                   rows->items[i].first, text, sizeof text))
            return true;
    return false;
}

static void print_rows(struct printer *printer, const struct profile_path_function *function,
                       const struct rows *rows)
{
    for (size_t i = 0; i < rows->count; i++) {
        if (rows->count > MOST_ROWS && i == MOST_ROWS / 2) {
            char left_out[64];
            size_t skipped = rows->count - (MOST_ROWS - 1);
            snprintf(left_out, sizeof left_out, "  … %zu more lines", skipped);
            print_mark(printer, left_out);
            i += skipped;
        }
        if (rows->items[i].inlined)
            print_inlined(printer, &rows->items[i]);
        else
            print_line(printer, function, &rows->items[i]);
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
        print_mark(printer, "  lines are not known");
    else if (any_readable(printer, rows))
        print_rows(printer, function, rows);
    else
        print_numbers(printer, rows);
    if (path->flags & PROFILE_PATH_TO_CUT)
        print_mark(printer, pieces ? "↻ back to a loop head, or on where paths were cut"
                                   : "↻ back to a loop head");
    else
        print_mark(printer, "← returns");
    free(rows);
}
