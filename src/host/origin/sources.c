// SPDX-License-Identifier: MIT
/* Source files as far as they say what is assigned. */
#include "origin/internal.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { SOURCE_BYTES_MAX = 64 << 20 };

static uint64_t changed_ns(const struct stat *status)
{
    return (uint64_t)status->st_mtim.tv_sec * 1000000000 + (uint64_t)status->st_mtim.tv_nsec;
}

void sources_begin(struct sources *sources, const char *program)
{
    struct stat status;
    *sources = (struct sources){0};
    if (stat(program, &status) == 0)
        sources->not_newer_ns = changed_ns(&status);
}

void sources_free(struct sources *sources)
{
    for (size_t i = 0; i < sources->count; i++) {
        free(sources->items[i]->assignments);
        free(sources->items[i]);
    }
    free(sources->items);
    *sources = (struct sources){0};
}

static bool take(void *context, const struct currency_assignment *assignment)
{
    struct source *source = context;
    return UTIL_PUSH(source->assignments, source->count, source->capacity, *assignment);
}

static bool read_whole(int file, char *text, size_t bytes)
{
    for (size_t at = 0; at < bytes;) {
        ssize_t got = read(file, text + at, bytes - at);
        if (got <= 0)
            return false;
        at += (size_t)got;
    }
    return true;
}

/* NULL: it cannot be read, or was changed later. */
static char *read_text(const char *path, uint64_t not_newer_ns, size_t *bytes)
{
    struct stat status;
    char *text = NULL;
    int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (file < 0)
        return NULL;
    if (fstat(file, &status) == 0 && S_ISREG(status.st_mode) && status.st_size > 0 &&
        status.st_size <= SOURCE_BYTES_MAX &&
        (!not_newer_ns || changed_ns(&status) <= not_newer_ns)) {
        *bytes = (size_t)status.st_size;
        text = malloc(*bytes);
        if (text && !read_whole(file, text, *bytes)) {
            free(text);
            text = NULL;
        }
    }
    close(file);
    return text;
}

static bool read_source(struct source *source, uint64_t not_newer_ns)
{
    size_t bytes;
    char *text = read_text(source->path, not_newer_ns, &bytes);
    if (text)
        currency_read(text, bytes, take, source);
    bool good = text != NULL;
    free(text);
    return good;
}

bool sources_line(const struct sources *sources, const char *path, uint32_t line,
                  enum currency_line *kind)
{
    size_t bytes;
    char *text = read_text(path, sources->not_newer_ns, &bytes);
    if (text)
        *kind = currency_line(text, bytes, line);
    bool good = text != NULL;
    free(text);
    return good;
}

static struct source *source_of(struct sources *sources, const char *path)
{
    for (size_t i = sources->count; i-- > 0;)
        if (strcmp(sources->items[i]->path, path) == 0)
            return sources->items[i];
    struct source *source = calloc(1, sizeof *source);
    if (!source || !UTIL_PUSH(sources->items, sources->count, sources->capacity, source)) {
        free(source);
        return NULL;
    }
    source->path = path;
    source->read = read_source(source, sources->not_newer_ns);
    sources->read += source->read;
    sources->missing += !source->read;
    return source;
}

const struct currency_assignment *sources_find(struct sources *sources, const char *path,
                                               uint32_t line, size_t *count)
{
    const struct source *source = source_of(sources, path);
    *count = 0;
    if (!source)
        return NULL;
    size_t at = BASE_FIRST(i, source->count, source->assignments[i].line >= line);
    while (at + *count < source->count && source->assignments[at + *count].line == line)
        ++*count;
    return source->assignments + at;
}
