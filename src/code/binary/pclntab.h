// SPDX-License-Identifier: MIT
/*
 * Private to the room: the table by which Go's runtime finds functions and lines (.gopclntab), which stripping leaves.
 * Its form since Go 1.18 (cmd/link/internal/ld/pcln.go, runtime/symtab.go): functions by address, and for each of
 * them the file and the line of each of its instructions, as differences in variable length. Earlier forms are not known.
 *
 * Pure: one piece of memory, the caller's, any bytes. No allocation; a look-up takes time in proportion to the logarithm of the
 * number of functions and the length of one.
 */
#ifndef HEADROOM_BINARY_PCLNTAB_H
#define HEADROOM_BINARY_PCLNTAB_H

#include "base/base.h"

struct pclntab {
    const uint8_t *bytes;
    size_t count;
    uint64_t text; /* address to which those of functions are relative */
    uint64_t functions;
    /* offsets in bytes: names, file numbers of units, names of files, lines and files by instruction, functions */
    uint64_t names, units, files, values, table;
};

struct pclntab_place {
    const char *function; /* in the bytes; of a function that was inlined it is the one around it */
    const char *file;     /* NULL: not known */
    uint32_t line;        /* 0: not known */
};

/* text: address of the program's section .text, for tables whose own is put in when the program is loaded. BASE_UNSUPPORTED: another
   form, or none. */
enum base_status pclntab_read(const uint8_t *bytes, size_t count, uint64_t text,
                              struct pclntab *table);

/* False: no function there. */
bool pclntab_find(const struct pclntab *table, uint64_t address, struct pclntab_place *place);

#endif
