// SPDX-License-Identifier: MIT
/*
 * origin: where the instructions of a file come from, and which variables can be trusted there, as rows of a profile: lines to
 * instructions and back (the mapping of ATAC, MHAOTEU 1.1, part IV), where variables reside, and which of those with one place in
 * memory are stale, premature or suspect (part V; code/currency says how).
 *
 * Host side; files are hostile input. Errors explain themselves in one sentence: error, of ORIGIN_ERROR_BYTES.
 */
#ifndef HEADROOM_ORIGIN_H
#define HEADROOM_ORIGIN_H

#include "binary/binary.h"
#include "profile/profile.h"

enum {
    ORIGIN_ERROR_BYTES = 4608,
    ORIGIN_RANGES_MAX = 2000,         /* rows for one question */
    ORIGIN_INSTRUCTIONS_MAX = 100000, /* likewise */
};

/* Exactly one: a line, a function, or an instruction. */
struct origin_place {
    const char *file; /* the end of a path; with line */
    uint32_t line;
    const char *function; /* as binary_is_named takes it */
    uint64_t address;     /* ELF virtual address */
};

/* Opens a file whose lines and variables will be asked for. BASE_OK, or a status and the error. */
enum base_status origin_open(const char *path, const struct binary_options *symbols,
                             struct binary **binary, char *error);

/* Starts a profile of that question. module: what the user calls the file; asked: the place, NULL: all of it. False: no memory. */
bool origin_begin(struct profile *profile, const char *version, char *const *words, size_t count,
                  const char *module, const char *asked);

/* Ranges, instructions and variables of a place. path: of the file that was opened: sources changed after it are not believed. */
enum base_status origin_at(struct profile *profile, struct binary *binary, const char *path,
                           const struct origin_place *place, char *error);

/* How much of all variables' scopes is known, and the variables that are not current, of all functions. */
enum base_status origin_check(struct profile *profile, struct binary *binary, const char *path,
                              char *error);

/* Lays the figures of another profile beside the ranges and instructions: shares of what its verb measures, by instruction. False:
   it has none for this file; why has a clause. */
bool origin_heat(struct profile *profile, struct binary *binary, const struct profile *beside,
                 char *why, size_t why_bytes);

#endif
