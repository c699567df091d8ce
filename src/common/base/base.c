// SPDX-License-Identifier: MIT
#include "base/base.h"

const char *base_status_text(enum base_status status)
{
    switch (status) {
    case BASE_OK: return "no error";
    case BASE_NO_MEMORY: return "out of memory";
    case BASE_NOT_FOUND: return "not found";
    case BASE_DENIED: return "permission denied";
    case BASE_MALFORMED: return "malformed";
    case BASE_TOO_NEW: return "written by a newer version";
    case BASE_UNSUPPORTED: return "unsupported";
    case BASE_IO: return "input/output error";
    case BASE_BUSY: return "busy";
    case BASE_TOO_LARGE: return "too large";
    }
    return "unknown status";
}

uint64_t base_hash_bytes(const void *bytes, size_t count, uint64_t seed)
{
    const unsigned char *p = bytes;
    uint64_t hash = UINT64_C(0xcbf29ce484222325) ^ base_mix64(seed);
    for (size_t i = 0; i < count; i++)
        hash = (hash ^ p[i]) * UINT64_C(0x100000001b3);
    return base_mix64(hash);
}
