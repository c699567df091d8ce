// SPDX-License-Identifier: MIT
/*
 * What a killed headroom had saved of what it timed (wire/spans.h), put back into memory as it
 * was: whole pages only, so that a file that was tampered with takes no more memory than it has
 * bytes.
 */
#include "import/import.h"
#include "wire/spans.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static bool take(int file, void *out, size_t bytes)
{
    ssize_t got = 1;
    for (size_t done = 0; done < bytes; done += (size_t)got)
        if ((got = read(file, (char *)out + done, bytes - done)) <= 0)
            return false;
    return true;
}

static bool is_extent(const struct spans_extent *extent)
{
    return extent->offset % SPANS_PAGE == 0 && extent->bytes % SPANS_PAGE == 0 &&
           extent->offset < SPANS_REGION_BYTES &&
           extent->bytes <= SPANS_REGION_BYTES - extent->offset;
}

/* BASE_OK: up to the mark at its end; BASE_IO: errno. */
static enum base_status copy_extents(int file, int region)
{
    char page[SPANS_PAGE];
    struct spans_extent extent;
    while (take(file, &extent, sizeof extent)) {
        if (extent.bytes == 0)
            return BASE_OK;
        if (!is_extent(&extent))
            return BASE_MALFORMED;
        for (uint64_t done = 0; done < extent.bytes; done += sizeof page) {
            if (!take(file, page, sizeof page))
                return BASE_MALFORMED;
            errno = ENOSPC; /* of what is written in part */
            if (pwrite(region, page, sizeof page, (off_t)(extent.offset + done)) !=
                (ssize_t)sizeof page)
                return BASE_IO;
        }
    }
    return BASE_MALFORMED;
}

enum base_status import_spans_restore(const char *path, int *region, char *error,
                                      size_t error_bytes)
{
    struct spans_file head;
    enum base_status status = BASE_MALFORMED;
    int made = -1, file = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    if (file < 0) {
        status = errno == ENOENT ? BASE_NOT_FOUND : BASE_IO;
        snprintf(error, error_bytes, "cannot read '%s': %s.", path, strerror(errno));
        return status;
    }
    if (take(file, &head, sizeof head) && head.magic == SPANS_FILE_MAGIC &&
        head.version == SPANS_VERSION) {
        made = memfd_create("headroom-blocks", MFD_CLOEXEC);
        status = made >= 0 && ftruncate(made, (off_t)SPANS_REGION_BYTES) == 0
                     ? copy_extents(file, made)
                     : BASE_IO;
    }
    int reason = errno;
    close(file);
    if (status == BASE_OK) {
        *region = made;
        return BASE_OK;
    }
    if (made >= 0)
        close(made);
    snprintf(error, error_bytes, "cannot read '%s': %s.", path,
             status == BASE_IO ? strerror(reason)
                               : "it is not a file of times saved by this headroom");
    return status;
}
