// SPDX-License-Identifier: MIT
/*
 * A module's code as its file has it, for those who change it: all symbols of functions, frames,
 * sections, pointers. Without DWARF. Contents are hostile: addresses may be anything, views lie
 * within the file.
 */
#ifndef HEADROOM_BINARY_CODE_H
#define HEADROOM_BINARY_CODE_H

#include "base/base.h"

struct code;

/* BASE_NOT_FOUND, BASE_DENIED, BASE_IO, BASE_MALFORMED, BASE_UNSUPPORTED (not x86-64),
 * BASE_NO_MEMORY. */
enum base_status code_open(const char *path, struct code **code);
void code_close(struct code *code); /* NULL does nothing */

enum code_symbol_type { CODE_LABEL, CODE_FUNCTION, CODE_RESOLVER /* GNU_IFUNC */ };

struct code_symbol {
    uint64_t start, end; /* end == start: size not recorded */
    const char *name;    /* the file's, perhaps with @VERSION */
    uint64_t section_end;
    uint8_t type; /* enum code_symbol_type */
    uint8_t rank; /* of several at one address the highest is shown */
};

/* By start, of one start the best first. Of the symbol table, the dynamic one, and the separate
 * debug file. */
const struct code_symbol *code_symbols(const struct code *code, size_t *count);

enum code_frame_entry {
    CODE_ENTRY_UNKNOWN,
    CODE_ENTRY_CALL,  /* at the first instruction the stack is as a call leaves it */
    CODE_ENTRY_OTHER, /* it is not; or nobody called; or a signal did */
};

struct code_frame {
    uint64_t start, end;
    uint64_t handlers; /* vaddr of its table of exception handlers, 0: none */
    uint8_t entry;     /* enum code_frame_entry */
};

/* By start: the entries of call frame information. */
const struct code_frame *code_frames(const struct code *code, size_t *count);

struct code_section {
    const char *name; /* "" if it is a segment of a file without sections */
    uint64_t start, bytes;
    const uint8_t *view; /* of the file; NULL: has no bytes there */
    bool executable;
};

/* By start: the sections that the program loads. */
const struct code_section *code_sections(const struct code *code, size_t *count);

struct code_pointer {
    uint64_t at, value; /* the loader puts value there, plus the bias */
    const char *name;   /* of a symbol instead of a value */
};

/* By `at`. Pointers that the file has itself (DT_RELR, position-dependent programs) are not among
 * them. */
const struct code_pointer *code_pointers(const struct code *code, size_t *count);

/* File bytes at an address to the end of its segment's; NULL: none. */
const uint8_t *code_view(const struct code *code, uint64_t vaddr, size_t *available);

/* vaddr of the byte at an offset of the file, as a mapping of its page has it: the executable one if there are
   several. False: not loaded. */
bool code_vaddr(const struct code *code, uint64_t offset, uint64_t *vaddr);

/*
 * Addresses at which control arrives when an exception is caught: what the table of a frame names.
 * visit false stops. Damaged tables end early.
 */
void code_handlers(const struct code *code, const struct code_frame *frame,
                   bool (*visit)(void *context, uint64_t handler), void *context);

#endif
