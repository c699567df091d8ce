// SPDX-License-Identifier: MIT
/*
 * Lines of source files around the places that a profile names. Only of regular files of a sane
 * size that were not changed since the recording, as in the text report, and no more than
 * TEXT_BYTES_MAX of them all.
 */
#include "view/internal.h"

#include "analysis/analysis.h"
#include "show/source.h"
#include "util/util.h"
#include "view/tree.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    AROUND = 12, /* lines before and behind a place: what fits on a screen, twice */
    TEXT_BYTES_MAX = 4 << 20,
    /* Of files gone through for them: a file of 32 KiB has a thousand lines, so these are 8192 of
       them, of which 4 MiB quote 512 bytes each, ten lines. */
    READ_BYTES_MAX = 256 << 20,
    LINE_BYTES = 400, /* longer ones are generated, and cut */
};

struct quoted {
    const char *file;
    uint32_t line;
};

struct page_lines {
    struct quoted *items;
    size_t count, capacity;
    bool failed; /* no memory */
};

void page_add_line(struct page_lines *lines, const char *file, uint32_t line)
{
    if (file && file[0] == '/' && line &&
        !UTIL_PUSH(lines->items, lines->count, lines->capacity, (struct quoted){file, line}))
        lines->failed = true;
}

static bool gather(const struct profile *profile, struct page_lines *lines)
{
    for (size_t i = 0; i < profile->frames_count; i++)
        page_add_line(lines, profile->frames[i].file, profile->frames[i].line);
    for (const struct analysis *const *at = analyses; *at; at++)
        if ((*at)->view && (*at)->view->lines)
            (*at)->view->lines(lines, profile);
    return !lines->failed;
}

static int compare(const void *left, const void *right)
{
    const struct quoted *a = left, *b = right;
    int files = strcmp(a->file, b->file);
    return files ? files : (a->line > b->line) - (a->line < b->line);
}

/* A stream of the file if it may be quoted, else NULL. *left_bytes: that may still be read. */
static FILE *open_source(const char *path, uint64_t not_newer_than_ns, size_t *left_bytes)
{
    size_t bytes;
    int descriptor = source_open(path, not_newer_than_ns, &bytes);
    if (descriptor >= 0 && bytes > *left_bytes) {
        close(descriptor);
        return NULL;
    }
    *left_bytes -= descriptor >= 0 ? bytes : 0;
    FILE *in = descriptor >= 0 ? fdopen(descriptor, "r") : NULL;
    if (!in && descriptor >= 0)
        close(descriptor);
    return in;
}

static void quote_line(struct json *json, uint32_t number, char *line, size_t bytes, size_t *room)
{
    if (bytes && line[bytes - 1] == '\n')
        bytes--;
    if (bytes > LINE_BYTES)
        bytes = LINE_BYTES;
    if (bytes >= *room) {
        *room = 0;
        return;
    }
    line[bytes] = 0;
    *room -= bytes;
    json_item(json);
    fprintf(json->out, "[%u,", number);
    json_quote(json, line);
    putc(']', json->out);
}

/* Both the places and the lines ascend, so one place at a time is enough to look at. */
static void quote_file(struct json *json, FILE *in, const struct quoted *places, size_t count,
                       size_t *room)
{
    char *line = NULL;
    size_t capacity = 0, at = 0;
    ssize_t bytes;
    for (uint32_t number = 1; at < count && *room && (bytes = getline(&line, &capacity, in)) >= 0;
         number++) {
        while (at < count && number > (uint64_t)places[at].line + AROUND)
            at++;
        if (at < count && (uint64_t)number + AROUND >= places[at].line)
            quote_line(json, number, line, (size_t)bytes, room);
    }
    free(line);
}

size_t sources_member(struct json *json, const struct profile *profile)
{
    struct page_lines places = {0};
    size_t files = 0, room = TEXT_BYTES_MAX, left_bytes = READ_BYTES_MAX, next;
    if (!gather(profile, &places)) {
        free(places.items);
        return SIZE_MAX;
    }
    if (places.count)
        qsort(places.items, places.count, sizeof *places.items, compare);
    json_begin(json, "sources", '[');
    for (size_t i = 0; i < places.count && room; i = next) {
        for (next = i;
             next < places.count && !strcmp(places.items[next].file, places.items[i].file);)
            next++;
        FILE *in = open_source(places.items[i].file, profile->run.start_ns, &left_bytes);
        if (!in)
            continue;
        json_begin_item(json);
        json_text(json, "file", places.items[i].file);
        json_begin(json, "lines", '[');
        quote_file(json, in, places.items + i, next - i, &room);
        json_close(json, ']');
        json_close(json, '}');
        fclose(in);
        files++;
    }
    json_close(json, ']');
    free(places.items);
    return files;
}
