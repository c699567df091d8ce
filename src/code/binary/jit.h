// SPDX-License-Identifier: MIT
/*
 * Names of code that a compiler made while the program ran, from the two files in which such
 * compilers list it: the perf map (lines "START SIZE NAME", hexadecimal, without end) and the
 * jitdump ("JiTD", version 1: records of functions loaded and moved).
 *
 * Both may be gigabytes long, may be written by anybody, and may grow while they are read. They are
 * read as streams, up to limits of bytes and of work, and nothing is kept but the names of the
 * addresses that are asked for. Nothing in the file is trusted; what makes no sense is passed over,
 * and a last line or record without its end counts as not yet written.
 *
 * Neither the file's time stamps nor the order of samples is used: where several functions have
 * stood at an address, one after the other, the last one gives its name, and `several` is set.
 */
#ifndef HEADROOM_BINARY_JIT_H
#define HEADROOM_BINARY_JIT_H

#include "base/base.h"

enum { JIT_NAME_BYTES = 512 }; /* longer names are cut, the final 0 included */

/* An address that is asked for, and its answer. */
struct jit_place {
    uint64_t address;
    char *name;            /* malloc's; NULL: not listed */
    uint64_t start, bytes; /* of the function; with name */
    uint64_t index;        /* jitdump: number of the function */
    bool moved;            /* jitdump: it is the function `index`, whose name is yet to be found */
    bool several;          /* functions of different names have stood there */
};

/* How much of a file is read; what lies behind is as if it were not there. */
struct jit_limits {
    uint64_t bytes; /* of the file */
    uint64_t names; /* given or replaced: entries may overlap without end */
};
extern const struct jit_limits jit_limits;

/* What became of a file. */
struct jit_account {
    uint64_t entries; /* functions listed */
    bool cut;         /* a limit was reached */
};

/*
 * Reads an open file from its current offset. places: by ascending address, each once; those that
 * have a name get another if the file has one. BASE_IO, BASE_NO_MEMORY: what was named until then
 * stays. BASE_MALFORMED (dump only): no jitdump of version 1 for x86-64 in this byte order.
 */
enum base_status jit_read_map(int file, const struct jit_limits *limits, struct jit_place *places,
                              size_t count, struct jit_account *account);
/* The file must allow seeking. */
enum base_status jit_read_dump(int file, const struct jit_limits *limits, struct jit_place *places,
                               size_t count, struct jit_account *account);

#endif
