// SPDX-License-Identifier: MIT
#include "show/collect.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { STREAM_BYTES = 1 << 16 };

static void keep(struct collected *collected, const char *bytes, size_t count)
{
    size_t needed = collected->bytes + count;
    if (needed > collected->capacity) {
        size_t capacity = collected->capacity * 2;
        capacity = capacity > collected->kept_bytes ? collected->kept_bytes : capacity;
        capacity = capacity < needed ? needed : capacity;
        bool kept = needed <= collected->kept_bytes;
        char *moved = kept ? realloc(collected->text, capacity) : NULL;
        collected->no_memory |= kept && !moved;
        if (!moved)
            free(collected->text);
        collected->text = moved;
        collected->capacity = capacity;
    }
    if (collected->text)
        memcpy(collected->text + collected->bytes, bytes, count);
}

static ssize_t take(void *cookie, const char *bytes, size_t count)
{
    struct collected *collected = cookie;
    if (collected->no_memory || count > collected->most_bytes - collected->bytes) {
        collected->full = true;
        errno = collected->no_memory ? ENOMEM : EFBIG;
        return 0;
    }
    if (collected->text)
        keep(collected, bytes, count);
    collected->bytes += count;
    return (ssize_t)count;
}

bool collect_begin(struct collected *collected, size_t kept_bytes, size_t most_bytes)
{
    *collected = (struct collected){.text = malloc(STREAM_BYTES),
                                    .capacity = STREAM_BYTES,
                                    .kept_bytes = kept_bytes,
                                    .most_bytes = most_bytes};
    if (collected->text)
        collected->stream = fopencookie(collected, "w", (cookie_io_functions_t){.write = take});
    if (!collected->stream) {
        free(collected->text);
        return false;
    }
    setvbuf(collected->stream, NULL, _IOFBF, STREAM_BYTES);
    return true;
}

enum base_status collect_end(struct collected *collected, enum base_status status)
{
    if (fclose(collected->stream) != 0 && status == BASE_OK)
        status = BASE_IO;
    if (collected->no_memory)
        status = BASE_NO_MEMORY;
    else if (collected->full && (status == BASE_OK || status == BASE_IO))
        status = BASE_TOO_LARGE;
    if (status != BASE_OK) {
        free(collected->text);
        collected->text = NULL;
    }
    return status;
}
