// SPDX-License-Identifier: MIT
/* Comma-separated values by RFC 4180, with a head line: one row a finding. */
#include "export/walk.h"

#include <inttypes.h>
#include <stdlib.h>

static const char *const side_names[] = {"function", "file", "line", "module", "stack"};

/* Spreadsheets take texts that begin so for formulas; an apostrophe makes them texts. */
static bool is_formula(const char *text)
{
    return *text && strchr("=+-@", *text);
}

static void put_text(const char *text, FILE *out)
{
    for (; *text; text++) {
        if (*text == '"')
            putc('"', out);
        putc(*text, out);
    }
}

static void cell(const char *text, FILE *out)
{
    fputs(is_formula(text) ? "\"'" : "\"", out);
    put_text(text, out);
    putc('"', out);
}

/* Leaf first, in one cell. */
static void stack_cell(const struct walk *walk, const uint32_t *places, size_t count, FILE *out)
{
    fputs(count && is_formula(walk_name(walk, places[count - 1])) ? "\"'" : "\"", out);
    for (size_t i = count; i-- > 0;) {
        put_text(walk_name(walk, places[i]), out);
        if (walk_place(walk, places[i])->line)
            fprintf(out, ":%" PRIu32, walk_place(walk, places[i])->line);
        fputs(i ? " < " : "", out);
    }
    putc('"', out);
}

/* Of a finding's context, or of none: the columns of side_names. */
static void side(const struct walk *walk, const uint32_t *places, size_t count, FILE *out)
{
    if (!count) {
        fputs(",,,,,", out);
        return;
    }
    /* A path's name is in the column for details. */
    if (count > 1 && walk_place(walk, places[count - 1])->named)
        count--;
    uint32_t leaf = places[count - 1];
    putc(',', out);
    cell(walk_name(walk, leaf), out);
    putc(',', out);
    cell(walk_file(walk, leaf), out);
    putc(',', out);
    if (walk_place(walk, leaf)->line)
        fprintf(out, "%" PRIu32, walk_place(walk, leaf)->line);
    putc(',', out);
    cell(walk_module(walk, leaf), out);
    putc(',', out);
    stack_cell(walk, places, count, out);
}

static void row(const struct walk *walk, const struct walk_sample *sample, uint32_t *places,
                FILE *out)
{
    size_t inner, depth = walk_stack(walk, sample, places, &inner);
    bool two = sample->kind->separator;
    cell(sample->kind->name, out);
    side(walk, places + (two ? inner : 0), depth - (two ? inner : 0), out);
    side(walk, places, two ? inner - 1 : 0, out);
    putc(',', out);
    cell(walk->strings.texts[sample->detail], out);
    for (size_t c = 0; c < walk->columns_count; c++)
        fprintf(out, ",%" PRIu64, walk_value(walk, sample, c));
    fputs("\r\n", out);
}

bool write_csv(struct walk *walk, FILE *out)
{
    uint32_t *places = malloc(WALK_STACK * sizeof *places);
    if (!places)
        return false;
    fputs("kind", out);
    for (unsigned s = 0; s < 2; s++)
        for (unsigned i = 0; i < BASE_COUNT(side_names); i++)
            fprintf(out, ",%s_%s", s ? "second" : "first", side_names[i]);
    fputs(",detail", out);
    for (size_t c = 0; c < walk->columns_count; c++)
        fprintf(out, ",%s", walk->metrics[walk->columns[c]].name);
    fputs("\r\n", out);
    for (size_t i = 0; i < walk->samples_count && !ferror(out); i++)
        row(walk, &walk->samples[i], places, out);
    free(places);
    return true;
}
