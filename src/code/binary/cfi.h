// SPDX-License-Identifier: MIT
/*
 * Private to the room: call frame information (.eh_frame, .debug_frame), from
 * bytes to unwind rows. Pure: no files, no allocation.
 */
#ifndef HEADROOM_BINARY_CFI_H
#define HEADROOM_BINARY_CFI_H

#include "unwind/unwind.h"

enum { CFI_OMITTED = 0xff };

struct cfi_section {
    const uint8_t *bytes;
    size_t size;
    uint64_t vaddr; /* of bytes[0]; meaningless in .debug_frame */
    bool eh;        /* .eh_frame rather than .debug_frame */
};

/* A frame description entry, with what its common entry says. */
struct cfi_entry {
    uint64_t start, end; /* ELF virtual addresses of the code */
    const uint8_t *program, *program_end;
    const uint8_t *initial, *initial_end;
    uint64_t code_factor;
    int64_t data_factor;
    uint8_t return_column;
    uint8_t pointer_encoding;
    uint8_t handlers_encoding; /* CFI_OMITTED: no tables of exception handlers */
    uint64_t handlers;         /* vaddr of the table; 0: none */
    bool signal_frame;
    bool augmented; /* 'z': each entry has augmentation data */
    const struct cfi_section *section;
};

enum cfi_next { CFI_ENTRY, CFI_SKIPPED, CFI_DONE };

/* Reads the record at *offset and advances it. SKIPPED: a common or an unusable entry. */
enum cfi_next cfi_next(const struct cfi_section *section, size_t *offset, struct cfi_entry *entry);

/* Receives what holds from `start` on; false stops. */
typedef bool cfi_emit(void *context, uint64_t start, const struct unwind_row *row);

/* Rows of one entry in ascending order, the first at entry->start. What cannot be
   understood becomes UNKNOWN. False only if emit was. */
bool cfi_run(const struct cfi_entry *entry, cfi_emit *emit, void *context);

#endif
