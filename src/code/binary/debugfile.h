// SPDX-License-Identifier: MIT
/* Private to the room: where is the debug information of a file? */
#ifndef HEADROOM_BINARY_DEBUGFILE_H
#define HEADROOM_BINARY_DEBUGFILE_H

#include "binary/binary.h"
#include "binary/image.h"

/* Does the file itself have DWARF? */
bool debugfile_has_dwarf(Elf *elf);

/* Opens the separate debug file of main; *path (malloc'd) says where it was. BASE_NOT_FOUND. */
enum base_status debugfile_open(const char *main_path, Elf *main,
                                const struct binary_options *options, struct image *debug,
                                char **path);

/* Opens the file whose build-id this is, by name relative to `near` or in debug_root's index;
   for the common part that dwz(1) moves out of debug files. BASE_NOT_FOUND; BASE_MALFORMED: what
   is there is of another build. */
enum base_status debugfile_open_common(const char *near, const char *name, const void *id,
                                       size_t id_bytes, const struct binary_options *options,
                                       struct image *common);

/* Asks the configured servers; an open descriptor, or -1 after at most ten seconds without an
   answer. Not for parallel use. */
int debuginfod_fetch(const void *id, size_t id_bytes, char **path);

#endif
