// SPDX-License-Identifier: MIT
/*
 * The raw log as a list of frames in the order in which the threads wrote them.
 * Frames of one thread may lie in any order in the file, and stretches of it may
 * be damaged or missing; what fails its checksum is passed over and counted.
 *
 * Only the index is kept (32 bytes for up to 8 KiB of records). The file is read by system calls:
 * through a mapping, a program that lives on and cuts it short would kill headroom (SIGBUS), and so
 * would a disk that fails.
 */
#include "import/internal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static enum base_status fail(const char *path, const char *why, enum base_status status,
                             char *error, size_t error_bytes)
{
    snprintf(error, error_bytes, "cannot read '%s': %s.", path, why);
    return status;
}

/* ---- the file -------------------------------------------------------------------------------- */

enum {
    WINDOW_BYTES = 1 << 18,
    WINDOW_STEP = 4096,
    FRAME_BYTES_MAX = sizeof(struct wire_frame) + WIRE_CHUNK_BYTES
};

static ssize_t read_some(struct import_log *log, void *out, size_t bytes, uint64_t position)
{
    ssize_t got;
    do
        got = pread(log->file, out, bytes, (off_t)position);
    while (got < 0 && errno == EINTR);
    if (got < 0)
        log->failure = errno;
    return got;
}

static bool read_fully(struct import_log *log, void *out, size_t bytes, uint64_t position)
{
    ssize_t got = 1;
    for (size_t done = 0; done < bytes; done += (size_t)got) {
        got = read_some(log, (char *)out + done, bytes - done, position + done);
        if (got <= 0)
            return false;
    }
    return true;
}

/* Bytes at `position`: *count of them, at least `least`, or as many as there are. */
static const unsigned char *look(struct import_log *log, uint64_t position, size_t least,
                                 size_t *count)
{
    struct import_window *window = &log->window;
    uint64_t left = log->size - position;
    least = left < least ? (size_t)left : least;
    if (position < window->offset || position + least > window->offset + window->bytes) {
        window->offset = position / WINDOW_STEP * WINDOW_STEP;
        ssize_t got = read_some(log, window->data, WINDOW_BYTES, window->offset);
        window->bytes = got > 0 ? (size_t)got : 0;
    }
    uint64_t end = window->offset + window->bytes;
    *count = position < end ? (size_t)(end - position) : 0;
    return window->data + (position - window->offset);
}

static enum base_status open_file(const char *path, const struct import_run *run,
                                  struct import_log *log, char *error, size_t error_bytes)
{
    struct stat info;
    bool kept = run && run->log;
    log->file = kept ? *run->log : open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    log->own = !kept;
    if (log->file < 0)
        return fail(path, strerror(errno), errno == ENOENT ? BASE_NOT_FOUND : BASE_IO, error,
                    error_bytes);
    if (fstat(log->file, &info) != 0)
        return fail(path, strerror(errno), BASE_IO, error, error_bytes);
    if (!S_ISREG(info.st_mode) || (!kept && info.st_size < (off_t)sizeof(struct wire_log_header)))
        return fail(path, "it is not a raw log", BASE_MALFORMED, error, error_bytes);
    log->size = (uint64_t)info.st_size;
    log->window.data = malloc(WINDOW_BYTES);
    return log->window.data ? BASE_OK
                            : fail(path, "out of memory", BASE_NO_MEMORY, error, error_bytes);
}

static enum base_status check_header(const char *path, const struct import_run *run,
                                     struct import_log *log, char *error, size_t error_bytes)
{
    struct wire_log_header header = {0};
    bool whole = read_fully(log, &header, sizeof header, 0);
    if (log->failure)
        return fail(path, strerror(log->failure), BASE_IO, error, error_bytes);
    if (!whole || header.magic != WIRE_LOG_MAGIC) {
        if (!run || !run->config)
            return fail(path, "it is not a raw log", BASE_MALFORMED, error, error_bytes);
        log->beheaded = true;
        log->config = *run->config;
        return BASE_OK;
    }
    if (header.version > WIRE_VERSION)
        return fail(path, "it was written by a newer headroom", BASE_TOO_NEW, error, error_bytes);
    if (header.version != WIRE_VERSION || header.header_bytes != sizeof header)
        return fail(path, "its format is not supported", BASE_UNSUPPORTED, error, error_bytes);
    log->config = header.config;
    return BASE_OK;
}

/* ---- frames ---------------------------------------------------------------------------------- */

/* Where the next frame may begin, from `position` on. */
static uint64_t next_magic(struct import_log *log, uint64_t position)
{
    static const uint32_t magic = WIRE_FRAME_MAGIC;
    while (position < log->size) {
        size_t count;
        const unsigned char *bytes = look(log, position, FRAME_BYTES_MAX, &count);
        const unsigned char *found = memmem(bytes, count, &magic, sizeof magic);
        if (found)
            return position + (uint64_t)(found - bytes);
        if (count < sizeof magic)
            break;
        position += count - (sizeof magic - 1);
    }
    return log->size;
}

static bool add_frame(struct import_log *log, const unsigned char *bytes, uint64_t position)
{
    struct wire_frame frame;
    memcpy(&frame, bytes, sizeof frame);
    if (!UTIL_GROW_ZEROED(log->frames, log->frames_capacity, log->frames_count))
        return false;
    log->frames[log->frames_count++] = (struct import_frame){.process = frame.process,
                                                             .thread = frame.thread,
                                                             .sequence = frame.sequence,
                                                             .offset = frame.offset,
                                                             .payload_bytes = frame.payload_bytes,
                                                             .position = position + sizeof frame};
    return true;
}

static bool index_frames(struct import_log *log, struct import_teller *teller)
{
    uint64_t position = log->beheaded ? 0 : sizeof(struct wire_log_header);
    while (position < log->size) {
        size_t total, count;
        const unsigned char *bytes = look(log, position, FRAME_BYTES_MAX, &count);
        if (wire_frame_check(bytes, count, &total) == BASE_OK) {
            if (!add_frame(log, bytes, position))
                return false;
            position += total;
        } else {
            log->damaged++;
            position = next_magic(log, position + 1);
        }
        import_tell(teller, "reading the log", position, log->size);
    }
    return true;
}

static int compare(uint32_t left, uint32_t right)
{
    return (left > right) - (left < right);
}

static int compare_frames(const void *left, const void *right)
{
    const struct import_frame *a = left, *b = right;
    int order = compare(a->process, b->process);
    order = order ? order : compare(a->thread, b->thread);
    order = order ? order : compare(a->sequence, b->sequence);
    return order ? order : compare(a->offset, b->offset);
}

static bool same_thread(const struct import_frame *a, const struct import_frame *b)
{
    return a->process == b->process && a->thread == b->thread;
}

/* Pieces of the thread's log between two frames that are not there: whole chunks by their numbers,
   batches within a chunk by their offsets. Counters stand apart from the chunks. */
static uint64_t gap_before(const struct import_frame *before, const struct import_frame *frame)
{
    if (frame->sequence == WIRE_NONE)
        return 0;
    if (before && before->sequence == frame->sequence)
        return frame->offset > before->offset + before->payload_bytes;
    uint32_t expected = before ? before->sequence + 1 : 0;
    return frame->sequence - expected + (frame->offset > 0);
}

/* Orders, drops doubles, and counts the chunks that should be there and are not. */
static void order_frames(struct import_log *log)
{
    size_t kept = 0;
    if (log->frames_count > 1)
        qsort(log->frames, log->frames_count, sizeof *log->frames, compare_frames);
    for (size_t i = 0; i < log->frames_count; i++) {
        const struct import_frame *frame = &log->frames[i];
        const struct import_frame *before = kept ? &log->frames[kept - 1] : NULL;
        if (before && !same_thread(before, frame))
            before = NULL;
        if (before && compare_frames(before, frame) == 0) {
            log->damaged++;
            continue;
        }
        log->missing += gap_before(before, frame);
        log->frames[kept++] = *frame;
    }
    log->frames_count = kept;
}

enum base_status import_log_open(const char *path, const struct import_run *run,
                                 struct import_log *log, struct import_teller *teller, char *error,
                                 size_t error_bytes)
{
    memset(log, 0, sizeof *log);
    enum base_status status = open_file(path, run, log, error, error_bytes);
    if (status == BASE_OK)
        status = check_header(path, run, log, error, error_bytes);
    if (status == BASE_OK && !index_frames(log, teller))
        status = fail(path, "out of memory", BASE_NO_MEMORY, error, error_bytes);
    if (status == BASE_OK && log->failure)
        status = fail(path, strerror(log->failure), BASE_IO, error, error_bytes);
    if (status == BASE_OK)
        order_frames(log);
    else
        import_log_close(log);
    return status;
}

void import_log_close(struct import_log *log)
{
    if (log->own && log->file >= 0)
        close(log->file);
    free(log->window.data);
    free(log->frames);
    log->own = false;
    log->window.data = NULL;
    log->frames = NULL;
    log->frames_count = 0;
}

/* The frame's checksum held, so lengths inside are what the writer wrote; a record is checked
   in full only if it is wanted. */
static bool visit_frame(struct import_log *log, const struct import_frame *frame, unsigned types,
                        import_visit *visit, void *context, uint64_t *corrupt)
{
    if (!read_fully(log, log->payload, frame->payload_bytes, frame->position)) {
        log->torn++; /* cut short since the index was made */
        return true;
    }
    for (size_t at = 0; at < frame->payload_bytes;) {
        const struct wire_record *record = (const struct wire_record *)(log->payload + at);
        size_t left = frame->payload_bytes - at;
        if (left < sizeof *record || record->bytes < sizeof *record || record->bytes % 8 ||
            record->bytes > left) {
            log->torn++;
            return true;
        }
        at += record->bytes;
        if (record->type >= WIRE_TYPES || !(types >> record->type & 1))
            continue;
        if (wire_record_check(record, record->bytes) != BASE_OK)
            ++*corrupt;
        else if (!visit(context, frame, record))
            return false;
    }
    return true;
}

bool import_log_visit(struct import_log *log, unsigned types, import_visit *visit, void *context,
                      struct import_teller *teller, uint64_t *corrupt)
{
    log->torn = 0;
    for (size_t i = 0; i < log->frames_count; i++) {
        if (!visit_frame(log, &log->frames[i], types, visit, context, corrupt))
            return false;
        import_tell(teller, "adding up", i + 1, log->frames_count);
    }
    return true;
}
