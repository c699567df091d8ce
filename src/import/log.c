// SPDX-License-Identifier: MIT
/*
 * The raw log as a list of frames in the order in which the threads wrote them.
 * Frames of one thread may lie in any order in the file, and stretches of it may
 * be damaged or missing; what fails its checksum is passed over and counted.
 *
 * Only the index is kept (32 bytes for up to 8 KiB of records); the file is mapped.
 */
#include "import/parts.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static enum base_status fail(const char *path, const char *why, enum base_status status,
                             char *error, size_t error_bytes)
{
    snprintf(error, error_bytes, "cannot read '%s': %s.", path, why);
    return status;
}

static enum base_status map_file(const char *path, struct import_log *log, char *error,
                                 size_t error_bytes)
{
    struct stat info;
    int descriptor = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    if (descriptor < 0)
        return fail(path, strerror(errno), errno == ENOENT ? BASE_NOT_FOUND : BASE_IO, error,
                    error_bytes);
    enum base_status status = BASE_OK;
    if (fstat(descriptor, &info) != 0) {
        status = fail(path, strerror(errno), BASE_IO, error, error_bytes);
    } else if (!S_ISREG(info.st_mode) || info.st_size < (off_t)sizeof(struct wire_log_header)) {
        status = fail(path, "it is not a raw log", BASE_MALFORMED, error, error_bytes);
    } else {
        log->size = (size_t)info.st_size;
        void *mapping = mmap(NULL, log->size, PROT_READ, MAP_PRIVATE, descriptor, 0);
        if (mapping == MAP_FAILED)
            status = fail(path, strerror(errno), BASE_IO, error, error_bytes);
        else
            log->bytes = mapping;
    }
    close(descriptor);
    return status;
}

static enum base_status check_header(const char *path, struct import_log *log, char *error,
                                     size_t error_bytes)
{
    struct wire_log_header header;
    memcpy(&header, log->bytes, sizeof header);
    if (header.magic != WIRE_LOG_MAGIC)
        return fail(path, "it is not a raw log", BASE_MALFORMED, error, error_bytes);
    if (header.version > WIRE_VERSION)
        return fail(path, "it was written by a newer headroom", BASE_TOO_NEW, error, error_bytes);
    if (header.version != WIRE_VERSION || header.header_bytes != sizeof header)
        return fail(path, "its format is not supported", BASE_UNSUPPORTED, error, error_bytes);
    log->config = header.config;
    return BASE_OK;
}

/* Gives the pages of the file back now and then, so that a long log does not fill memory. */
static void release_pages(const struct import_log *log, size_t frames)
{
    enum { FRAMES_BETWEEN = 4096 }; /* 32 MiB of full frames */
    if (frames % FRAMES_BETWEEN == 0)
        madvise((void *)log->bytes, log->size, MADV_DONTNEED);
}

/* Where the next frame may begin, from `position` on. */
static size_t next_magic(const struct import_log *log, size_t position)
{
    static const uint32_t magic = WIRE_FRAME_MAGIC;
    if (position >= log->size)
        return log->size;
    const unsigned char *found =
        memmem(log->bytes + position, log->size - position, &magic, sizeof magic);
    return found ? (size_t)(found - log->bytes) : log->size;
}

static bool add_frame(struct import_log *log, size_t position)
{
    struct wire_frame frame;
    memcpy(&frame, log->bytes + position, sizeof frame);
    if (!import_room((void **)&log->frames, &log->frames_capacity, log->frames_count,
                     sizeof *log->frames))
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
    size_t position = sizeof(struct wire_log_header);
    while (position < log->size) {
        size_t total;
        if (wire_frame_check(log->bytes + position, log->size - position, &total) == BASE_OK) {
            if (!add_frame(log, position))
                return false;
            position += total;
            release_pages(log, log->frames_count);
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

enum base_status import_log_open(const char *path, struct import_log *log,
                                 struct import_teller *teller, char *error, size_t error_bytes)
{
    memset(log, 0, sizeof *log);
    enum base_status status = map_file(path, log, error, error_bytes);
    if (status == BASE_OK)
        status = check_header(path, log, error, error_bytes);
    if (status == BASE_OK && !index_frames(log, teller))
        status = fail(path, "out of memory", BASE_NO_MEMORY, error, error_bytes);
    if (status == BASE_OK)
        order_frames(log);
    else
        import_log_close(log);
    return status;
}

void import_log_close(struct import_log *log)
{
    if (log->bytes)
        munmap((void *)log->bytes, log->size);
    free(log->frames);
    log->bytes = NULL;
    log->frames = NULL;
    log->frames_count = 0;
}

/* The frame's checksum held, so lengths inside are what the writer wrote; a record is checked
   in full only if it is wanted. */
static bool visit_frame(struct import_log *log, const struct import_frame *frame, unsigned types,
                        import_visit *visit, void *context, uint64_t *corrupt)
{
    memcpy(log->payload, log->bytes + frame->position, frame->payload_bytes);
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
        release_pages(log, i + 1);
        import_tell(teller, "adding up", i + 1, log->frames_count);
    }
    return true;
}
