// SPDX-License-Identifier: MIT
/*
 * The raw log: frames appended as they are drained. When a write fails (full disk,
 * file-size limit) the log is cut back to its last whole frame and everything later is
 * thrown away: draining must go on, or the program's samples would pile up unseen, and
 * a later frame must not follow a torn one.
 */
#include "launch/internal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

/* ---- file ------------------------------------------------------------------------------ */

enum launch_outcome launch_log_create(const char *profile, char path[LAUNCH_PATH_BYTES], int *log,
                                      char *error)
{
    char name[LAUNCH_PATH_BYTES];
    int printed = snprintf(name, sizeof name, "%s.raw.XXXXXX", profile);
    if (printed < 0 || (size_t)printed >= sizeof name) {
        snprintf(error, LAUNCH_ERROR_BYTES, "cannot write '%.64s...': the name is too long.",
                 profile);
        return LAUNCH_FAILED;
    }
    int file = mkostemp(name, O_CLOEXEC | O_APPEND); /* O_EXCL, mode 0600 */
    if (file < 0) {
        snprintf(error, LAUNCH_ERROR_BYTES,
                 "cannot write a raw log beside '%s': %s; choose another place with -o FILE.",
                 profile, strerror(errno));
        return LAUNCH_FAILED;
    }
    strcpy(path, name);
    *log = file;
    return LAUNCH_OK;
}

/* ---- frames ----------------------------------------------------------------------------- */

static bool write_fully(struct launch_log *log, struct iovec *parts, int count)
{
    uint64_t total = 0;
    while (count > 0) {
        ssize_t written = writev(log->file, parts, count);
        if (written < 0 && errno == EINTR)
            continue;
        if (written <= 0) {
            log->failure = written < 0 ? errno : ENOSPC;
            /* If even this fails the reader stops at the torn frame, which has no
             * valid checksum. */
            int ignored = ftruncate(log->file, (off_t)log->bytes);
            (void)ignored;
            return false;
        }
        total += (uint64_t)written;
        for (; count > 0 && (size_t)written >= parts->iov_len; parts++, count--)
            written -= (ssize_t)parts->iov_len;
        if (count > 0) {
            parts->iov_base = (char *)parts->iov_base + written;
            parts->iov_len -= (size_t)written;
        }
    }
    log->bytes += total;
    return true;
}

bool launch_log_begin(struct launch_log *log, int file, const struct wire_config *config)
{
    struct wire_log_header header = {.magic = WIRE_LOG_MAGIC,
                                     .version = WIRE_VERSION,
                                     .header_bytes = sizeof header,
                                     .config = *config};
    *log = (struct launch_log){.file = file};
    struct iovec part = {&header, sizeof header};
    return write_fully(log, &part, 1);
}

void launch_log_source(struct launch_log *log, uint32_t source)
{
    off_t at = offsetof(struct wire_log_header, config) + offsetof(struct wire_config, source);
    int flags = fcntl(log->file, F_GETFL);
    if (log->failure)
        return;
    fcntl(log->file, F_SETFL, flags & ~O_APPEND); /* else it would go to the end all the same */
    if (pwrite(log->file, &source, sizeof source, at) != (ssize_t)sizeof source)
        log->failure = errno;
    fcntl(log->file, F_SETFL, flags);
}

/* A context in memory that is no module's. */
static bool is_nowhere(const struct wire_record *record)
{
    const struct wire_node *node = (const struct wire_node *)record;
    return record->type == WIRE_NODE && node->module == 0 && node->vaddr != 0;
}

/* wire_drain passes on checked records only, so their lengths can be followed. */
static void look_through(struct launch_log *log, const struct wire_frame *frame,
                         const void *payload)
{
    for (uint32_t at = 0; at + sizeof(struct wire_record) <= frame->payload_bytes;) {
        const struct wire_record *record = (const struct wire_record *)((const char *)payload + at);
        log->images += record->type == WIRE_PROCESS;
        if (is_nowhere(record))
            launch_jits_note(&log->jits, frame->process, frame->pid);
        at += record->bytes;
    }
}

bool launch_log_sink(void *context, const struct wire_frame *frame, const void *payload)
{
    struct launch_log *log = context;
    look_through(log, frame, payload);
    if (log->failure)
        return true;
    struct iovec parts[] = {{(void *)frame, sizeof *frame},
                            {(void *)payload, frame->payload_bytes}};
    return write_fully(log, parts, 2);
}

/* ---- names ------------------------------------------------------------------------------ */

bool launch_names_file(const char *path, int file)
{
    struct stat ours, named;
    return fstat(file, &ours) == 0 && lstat(path, &named) == 0 && ours.st_dev == named.st_dev &&
           ours.st_ino == named.st_ino;
}

bool launch_file_name(int file, char path[LAUNCH_PATH_BYTES])
{
    char link[64];
    snprintf(link, sizeof link, "/proc/self/fd/%d", file);
    ssize_t length = readlink(link, path, LAUNCH_PATH_BYTES - 1);
    if (length <= 0)
        return false;
    path[length] = 0;
    return launch_names_file(path, file);
}
