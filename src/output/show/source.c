// SPDX-License-Identifier: MIT
/*
 * Source lines for quoting. A file is read once, if it is a regular file of a
 * sane size and not newer than the recording: quoting a changed file would show
 * lines that were never run.
 */
#include "show/names.h"
#include "show/source.h"
#include "util/util.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Lists of all findings quote tens of thousands of lines, and some files have hundreds of thousands: hence the marks. */
enum { LARGEST_FILE_BYTES = 32 << 20, FILES_MAX = 512, LINES_A_MARK = 64 };

struct source_file {
    const char *path; /* the profile's */
    char *text;       /* NULL: cannot be shown */
    size_t bytes;
    uint32_t *marks; /* where lines 1, 1 + LINES_A_MARK, ... begin */
    size_t marks_count, marks_capacity;
};

static char *read_whole(int descriptor, size_t bytes)
{
    char *text = malloc(bytes + 1);
    size_t got = 0;
    while (text && got < bytes) {
        ssize_t count = read(descriptor, text + got, bytes - got);
        if (count <= 0)
            break;
        got += (size_t)count;
    }
    if (text && got == bytes) {
        text[bytes] = 0;
        return text;
    }
    free(text);
    return NULL;
}

int source_open(const char *path, uint64_t not_newer_than_ns, size_t *bytes)
{
    struct stat info;
    /* Opening alone can do something to a device: so it is looked at before, and again when it is
     * open. */
    if (stat(path, &info) != 0 || !S_ISREG(info.st_mode))
        return -1;
    int descriptor = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (descriptor < 0)
        return -1;
    if (fstat(descriptor, &info) == 0 && S_ISREG(info.st_mode) && info.st_size > 0 &&
        info.st_size <= LARGEST_FILE_BYTES &&
        (not_newer_than_ns == 0 ||
         (uint64_t)info.st_mtim.tv_sec <= not_newer_than_ns / 1000000000)) {
        *bytes = (size_t)info.st_size;
        return descriptor;
    }
    close(descriptor);
    return -1;
}

/* The start of the line after `at`; NULL: none. */
static const char *next_line(const char *at, const char *end)
{
    const char *newline = memchr(at, '\n', (size_t)(end - at));
    return newline && newline + 1 < end ? newline + 1 : NULL;
}

/* Marks that do not fit into memory are left out: only finding a line takes longer then. */
static void mark_lines(struct source_file *file)
{
    const char *at = file->text, *end = file->text + file->bytes;
    for (size_t line = 0; at; line++, at = next_line(at, end))
        if (line % LINES_A_MARK == 0 &&
            !UTIL_PUSH(file->marks, file->marks_count, file->marks_capacity,
                       (uint32_t)(at - file->text)))
            return;
}

/* NULL: there are not so many. */
static const char *start_of_line(const struct source_file *file, uint32_t line)
{
    const char *at = file->text, *end = file->text + file->bytes;
    size_t before = line - 1, mark = before / LINES_A_MARK;
    if (file->marks_count) {
        mark = mark < file->marks_count ? mark : file->marks_count - 1;
        at += file->marks[mark];
        before -= mark * LINES_A_MARK;
    }
    for (; before && at; before--)
        at = next_line(at, end);
    return at;
}

static void load(const struct source_cache *cache, struct source_file *file)
{
    int descriptor = source_open(file->path, cache->not_newer_than_ns, &file->bytes);
    if (descriptor < 0)
        return;
    file->text = read_whole(descriptor, file->bytes);
    close(descriptor);
    if (file->text)
        mark_lines(file);
}

static const struct source_file *find(struct source_cache *cache, const char *path)
{
    for (size_t i = 0; i < cache->count; i++)
        if (strcmp(cache->files[i].path, path) == 0)
            return &cache->files[i];
    if (cache->count == FILES_MAX)
        return NULL;
    if (!UTIL_PUSH(cache->files, cache->count, cache->capacity, (struct source_file){.path = path}))
        return NULL;
    struct source_file *file = &cache->files[cache->count - 1];
    load(cache, file);
    return file;
}

bool source_line(struct source_cache *cache, const char *path, uint32_t line, char *out,
                 size_t out_bytes)
{
    char copy[1024];
    if (!cache->enabled || !path || path[0] != '/' || line == 0)
        return false;
    const struct source_file *file = find(cache, path);
    if (!file || !file->text)
        return false;
    const char *at = start_of_line(file, line), *end = file->text + file->bytes;
    if (!at)
        return false;
    while (at < end && (*at == ' ' || *at == '\t'))
        at++;
    const char *newline = memchr(at, '\n', (size_t)(end - at));
    size_t bytes = (size_t)((newline ? newline : end) - at);
    bytes = bytes < sizeof copy ? bytes : sizeof copy - 1;
    while (bytes && (at[bytes - 1] == ' ' || at[bytes - 1] == '\t' || at[bytes - 1] == '\r'))
        bytes--;
    if (bytes == 0)
        return false;
    memcpy(copy, at, bytes);
    copy[bytes] = 0;
    name_clean(copy, out, out_bytes);
    return true;
}

void source_free(struct source_cache *cache)
{
    for (size_t i = 0; i < cache->count; i++) {
        free(cache->files[i].text);
        free(cache->files[i].marks);
    }
    free(cache->files);
}
