// SPDX-License-Identifier: MIT
/*
 * What a writer writes, counted and kept in memory, so that it can be decided when all of it is
 * known whether it goes anywhere. A small profile can ask for a lot: each of its findings names two
 * calling contexts, and most formats write them out.
 *
 * Rejected: to foresee the size of what each format will write. It would have to be kept true for
 * every one of them; counting what they write cannot be wrong.
 */
#ifndef HEADROOM_SHOW_COLLECT_H
#define HEADROOM_SHOW_COLLECT_H

#include "base/base.h"

#include <stdio.h>

struct collected {
    FILE *stream;                       /* to write to; writers end early at ferror */
    char *text;                         /* NULL: it is more than is kept, and not kept */
    size_t bytes, capacity, kept_bytes; /* kept_bytes: at most, of memory */
    size_t most_bytes;                  /* writes beyond fail */
    bool full, no_memory;
};

/* kept_bytes <= most_bytes. False: no memory, nothing to end. */
bool collect_begin(struct collected *collected, size_t kept_bytes, size_t most_bytes);

/* status: the writer's. BASE_TOO_LARGE: it wrote more than most_bytes. After BASE_OK the caller
 * frees text. */
enum base_status collect_end(struct collected *collected, enum base_status status);

#endif
