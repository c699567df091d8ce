// SPDX-License-Identifier: MIT
/*
 * Private to the room: encoded pointers of .eh_frame (LSB core, "DWARF Exception
 * Header Encoding").
 */
#ifndef HEADROOM_BINARY_POINTER_H
#define HEADROOM_BINARY_POINTER_H

#include "binary/bytes.h"
#include "binary/cfi.h"

enum {
    POINTER_ABSOLUTE = 0,
    POINTER_FORMAT = 0x0f,
    POINTER_BASE = 0x70,
    POINTER_RELATIVE = 0x10, /* to the pointer's own address */
    POINTER_INDIRECT = 0x80,
};

/* False for encodings that need more than the section (text or data bases, indirection). */
static inline bool pointer_read(struct bytes *bytes, const struct cfi_section *section,
                                unsigned encoding, uint64_t *pointer)
{
    uint64_t at = section->vaddr + (uint64_t)(bytes->at - section->bytes);
    uint64_t value;
    switch (encoding & POINTER_FORMAT) {
    case 0x0: /* absptr */
    case 0x4: /* udata8 */
    case 0xc: /* sdata8 */ value = bytes_fixed(bytes, 8); break;
    case 0x1: value = bytes_uleb(bytes); break;
    case 0x2: value = bytes_fixed(bytes, 2); break;
    case 0x3: value = bytes_fixed(bytes, 4); break;
    case 0x9: value = (uint64_t)bytes_sleb(bytes); break;
    case 0xa: value = (uint64_t)(int16_t)bytes_fixed(bytes, 2); break;
    case 0xb: value = (uint64_t)(int32_t)bytes_fixed(bytes, 4); break;
    default: return false;
    }
    unsigned base = encoding & POINTER_BASE;
    if (bytes->failed || encoding & POINTER_INDIRECT || (base && base != POINTER_RELATIVE))
        return false;
    *pointer = base ? value + at : value;
    return true;
}

#endif
