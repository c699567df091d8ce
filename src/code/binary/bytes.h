// SPDX-License-Identifier: MIT
/*
 * Private to the room: a cursor over hostile bytes. After a read past the end
 * every further read gives 0 and `failed` stays set, so parsers check it once.
 */
#ifndef HEADROOM_BINARY_BYTES_H
#define HEADROOM_BINARY_BYTES_H

#include "base/base.h"

#include <string.h>

struct bytes {
    const uint8_t *at, *end;
    bool failed;
};

static inline uint64_t bytes_fixed(struct bytes *bytes, size_t size)
{
    uint64_t value = 0;
    if ((size_t)(bytes->end - bytes->at) < size) {
        bytes->failed = true;
        bytes->at = bytes->end;
        return 0;
    }
    memcpy(&value, bytes->at, size); /* little-endian, as every file we read */
    bytes->at += size;
    return value;
}

static inline uint64_t bytes_uleb(struct bytes *bytes)
{
    uint64_t value = 0;
    for (unsigned shift = 0;; shift += 7) {
        uint64_t byte = bytes_fixed(bytes, 1);
        if (shift < 64)
            value |= (byte & 0x7f) << shift;
        if (!(byte & 0x80))
            return value;
    }
}

static inline int64_t bytes_sleb(struct bytes *bytes)
{
    uint64_t value = 0;
    for (unsigned shift = 0;; shift += 7) {
        uint64_t byte = bytes_fixed(bytes, 1);
        if (shift < 64)
            value |= (byte & 0x7f) << shift;
        if (byte & 0x80)
            continue;
        if (byte & 0x40 && shift + 7 < 64)
            value |= ~UINT64_C(0) << (shift + 7);
        return (int64_t)value;
    }
}

static inline void bytes_skip(struct bytes *bytes, uint64_t count)
{
    if ((uint64_t)(bytes->end - bytes->at) < count) {
        bytes->failed = true;
        bytes->at = bytes->end;
    } else {
        bytes->at += count;
    }
}

#endif
