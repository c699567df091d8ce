// SPDX-License-Identifier: MIT
/*
 * The recording region as a list of pieces. Sizes go by the file and by where it has data, not by
 * what the header in the region says. A mapping would be shorter to write, but reading a hole
 * through one allocates it, and a file that is cut short meanwhile kills the reader.
 */
#include "import/built.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { WINDOW_BYTES = 1 << 18 };

bool built_source_read(struct built_source *source, uint64_t offset, void *out, size_t bytes)
{
    struct built_window *window = &source->window;
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

uint64_t built_source_data(const struct built_source *source, uint64_t offset, uint64_t end)
{
    off_t data = offset < end ? lseek(source->file, (off_t)offset, SEEK_DATA) : -1;
    return data < 0 || (uint64_t)data > end ? end : (uint64_t)data;
}

bool built_source_tell(const struct built_source *source, struct profile *profile)
{
    return !source->failure ||
           import_degraded(profile, "some counts or times could not be read: %s",
                           strerror(source->failure));
}

static bool piece_ok(const struct built_source *source, const struct built_piece *piece,
                     uint64_t offset)
{
    return piece->kind >= BUILT_PIECE_MODULE && piece->kind <= BUILT_PIECE_OVERHEAD &&
           piece->bytes >= BUILT_PAGE && piece->bytes % BUILT_PAGE == 0 &&
           piece->bytes <= source->bytes - offset && piece->address < UINT64_MAX - piece->bytes;
}

static int compare_pieces(const void *left, const void *right)
{
    const struct built_found *a = left, *b = right;
    if (a->process != b->process)
        return a->process < b->process ? -1 : 1;
    if (a->address != b->address)
        return a->address < b->address ? -1 : 1;
    return (a->offset > b->offset) - (a->offset < b->offset);
}

/* Where no piece begins, the next page is tried: one that was damaged hides no others. */
static bool list_pieces(struct built_source *source)
{
    uint64_t offset = BUILT_PAGE;
    while ((offset = built_source_data(source, offset, source->bytes)) < source->bytes) {
        struct built_piece piece;
        offset -= offset % BUILT_PAGE;
        if (!built_source_read(source, offset, &piece, sizeof piece))
            break;
        if (!piece_ok(source, &piece, offset)) {
            offset += BUILT_PAGE;
            continue;
        }
        if (!UTIL_GROW_ZEROED(source->pieces, source->pieces_capacity, source->pieces_count))
            return false;
        source->pieces[source->pieces_count++] = (struct built_found){.offset = offset,
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

enum base_status built_source_attach(struct built_source *source, int file, uint64_t least_bytes)
{
    struct stat info;
    *source = (struct built_source){.file = file};
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

enum base_status built_source_open(struct built_source *source, int file, char *error,
                                   size_t error_bytes)
{
    struct built_region header;
    if (built_source_attach(source, file, sizeof header) == BASE_IO) {
        snprintf(error, error_bytes, "cannot read the program's counts: %s.",
                 source->failure ? strerror(source->failure) : "it is not there");
        return BASE_IO;
    }
    if (!source->window.data || !built_source_read(source, 0, &header, sizeof header) ||
        !list_pieces(source)) {
        snprintf(error, error_bytes, "cannot read the program's counts: %s.",
                 source->failure ? strerror(source->failure) : "out of memory");
        built_source_close(source);
        return BASE_NO_MEMORY;
    }
    source->damaged_header = header.magic != BUILT_MAGIC || header.version != BUILT_VERSION;
    source->lost = source->damaged_header ? 0 : header.lost;
    return BASE_OK;
}

void built_source_close(struct built_source *source)
{
    free(source->window.data);
    free(source->pieces);
    source->window.data = NULL;
    source->pieces = NULL;
}

const struct built_found *built_source_piece(const struct built_source *source, uint32_t process,
                                             uint64_t address)
{
    const struct built_found *pieces = source->pieces;
    size_t behind = BASE_FIRST(i, source->pieces_count,
                               pieces[i].process > process ||
                                   (pieces[i].process == process && pieces[i].address > address));
    const struct built_found *found = behind ? &pieces[behind - 1] : NULL;
    return found && found->process == process && address - found->address < found->bytes ? found
                                                                                         : NULL;
}
