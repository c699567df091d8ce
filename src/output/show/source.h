// SPDX-License-Identifier: MIT
/* Lines of source files, as far as they may be quoted. */
#ifndef HEADROOM_SHOW_SOURCE_H
#define HEADROOM_SHOW_SOURCE_H

#include "base/base.h"

/* The file, open for reading, if its lines may be quoted: a regular one of a sane size (*bytes),
   not changed later; 0: whenever. -1: it may not. The caller closes it. */
int source_open(const char *path, uint64_t not_newer_than_ns, size_t *bytes);

/* Lines of files, read as needed. */
struct source_cache {
    struct source_file *files;
    size_t count, capacity;
    uint64_t not_newer_than_ns; /* files changed later are not quoted; 0: any */
    bool enabled;
};

/* The line, cleaned and without indentation, in out. False if it cannot or should not be shown. */
bool source_line(struct source_cache *cache, const char *path, uint32_t line, char *out,
                 size_t out_bytes);
void source_free(struct source_cache *cache);

#endif
