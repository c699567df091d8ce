// SPDX-License-Identifier: MIT
/*
 * The recording region as a list of pieces. Sizes go by the file and by where it has data, not by
 * what the header in the region says. A mapping would be shorter to write, but reading a hole
 * through one allocates it, and a file that is cut short meanwhile kills the reader.
 */
#include "import/instrumented.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { WINDOW_BYTES = 1 << 18 };

bool instrumented_source_read(struct instrumented_source *source, uint64_t offset, void *out,
                              size_t bytes)
{
    struct instrumented_window *window = &source->window;
    if (offset > source->bytes || bytes > source->bytes - offset || bytes > WINDOW_BYTES)
        return false;
    if (offset < window->offset || offset + bytes > window->offset + window->bytes) {
        ssize_t got;
        do
            got = pread(source->file, window->data, WINDOW_BYTES, (off_t)offset);
        while (got < 0 && errno == EINTR);
        if (got < 0)
            source->failure = errno;
        window->offset = offset;
        window->bytes = got > 0 ? (size_t)got : 0;
    }
    if (offset + bytes > window->offset + window->bytes)
        return false;
    memcpy(out, window->data + (offset - window->offset), bytes);
    return true;
}

uint64_t instrumented_source_data(const struct instrumented_source *source, uint64_t offset,
                                  uint64_t end)
{
    off_t data = offset < end ? lseek(source->file, (off_t)offset, SEEK_DATA) : -1;
    return data < 0 || (uint64_t)data > end ? end : (uint64_t)data;
}

bool instrumented_source_tell(const struct instrumented_source *source, struct profile *profile)
{
    return !source->failure ||
           import_degraded(profile, "some counts or times could not be read: %s",
                           strerror(source->failure));
}

static bool piece_ok(const struct instrumented_source *source,
                     const struct instrumented_piece *piece, uint64_t offset)
{
    return piece->kind >= INSTRUMENTED_PIECE_MODULE && piece->kind <= INSTRUMENTED_PIECE_OVERHEAD &&
           piece->bytes >= INSTRUMENTED_PAGE && piece->bytes % INSTRUMENTED_PAGE == 0 &&
           piece->bytes <= source->bytes - offset && piece->address < UINT64_MAX - piece->bytes;
}

static int compare_pieces(const void *left, const void *right)
{
    const struct instrumented_found *a = left, *b = right;
    if (a->process != b->process)
        return a->process < b->process ? -1 : 1;
    if (a->address != b->address)
        return a->address < b->address ? -1 : 1;
    return (a->offset > b->offset) - (a->offset < b->offset);
}

/* Where no piece begins, the next page is tried: one that was damaged hides no others. */
static bool list_pieces(struct instrumented_source *source)
{
    uint64_t offset = INSTRUMENTED_PAGE;
    while ((offset = instrumented_source_data(source, offset, source->bytes)) < source->bytes) {
        struct instrumented_piece piece;
        offset -= offset % INSTRUMENTED_PAGE;
        if (!instrumented_source_read(source, offset, &piece, sizeof piece))
            break;
        if (!piece_ok(source, &piece, offset)) {
            offset += INSTRUMENTED_PAGE;
            continue;
        }
        if (!UTIL_GROW_ZEROED(source->pieces, source->pieces_capacity, source->pieces_count))
            return false;
        source->pieces[source->pieces_count++] =
            (struct instrumented_found){.offset = offset,
                                        .bytes = piece.bytes,
                                        .address = piece.address,
                                        .map = piece.module,
                                        .of = piece.of,
                                        .kind = piece.kind,
                                        .pid = piece.pid,
                                        .tid = piece.tid,
                                        .process = piece.process};
        offset += piece.bytes;
    }
    if (source->pieces_count)
        qsort(source->pieces, source->pieces_count, sizeof *source->pieces, compare_pieces);
    return true;
}

enum base_status instrumented_source_attach(struct instrumented_source *source, int file,
                                            uint64_t least_bytes)
{
    struct stat info;
    *source = (struct instrumented_source){.file = file};
    if (fstat(file, &info) != 0) {
        source->failure = errno;
        return BASE_IO;
    }
    if (!S_ISREG(info.st_mode) || info.st_size < (off_t)least_bytes)
        return BASE_IO;
    source->bytes = (uint64_t)info.st_size;
    source->window.data = malloc(WINDOW_BYTES);
    return source->window.data ? BASE_OK : BASE_NO_MEMORY;
}

enum base_status instrumented_source_open(struct instrumented_source *source, int file, char *error,
                                          size_t error_bytes)
{
    struct instrumented_region header;
    enum base_status status = instrumented_source_attach(source, file, sizeof header);
    if (status == BASE_OK && !instrumented_source_read(source, 0, &header, sizeof header))
        status = BASE_IO;
    if (status == BASE_OK && !list_pieces(source))
        status = BASE_NO_MEMORY;
    if (status != BASE_OK) {
        snprintf(error, error_bytes, "cannot read the program's counts: %s.",
                 status == BASE_NO_MEMORY ? "out of memory"
                 : source->failure        ? strerror(source->failure)
                                          : "it is not there");
        instrumented_source_close(source);
        return status;
    }
    source->damaged_header =
        header.magic != INSTRUMENTED_MAGIC || header.version != INSTRUMENTED_VERSION;
    source->lost = source->damaged_header ? 0 : header.lost;
    return BASE_OK;
}

void instrumented_source_close(struct instrumented_source *source)
{
    free(source->window.data);
    free(source->pieces);
    source->window.data = NULL;
    source->pieces = NULL;
}

const struct instrumented_found *instrumented_source_piece(const struct instrumented_source *source,
                                                           uint32_t process, uint64_t address)
{
    const struct instrumented_found *pieces = source->pieces;
    size_t behind = BASE_FIRST(i, source->pieces_count,
                               pieces[i].process > process ||
                                   (pieces[i].process == process && pieces[i].address > address));
    const struct instrumented_found *found = behind ? &pieces[behind - 1] : NULL;
    return found && found->process == process && address - found->address < found->bytes ? found
                                                                                         : NULL;
}
