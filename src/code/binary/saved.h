// SPDX-License-Identifier: MIT
/*
 * What was computed from a file, kept for later runs in the folder of keep/keep.h. What was made by another build of headroom or was
 * damaged is as if it were not there. Any number of processes and threads may use it.
 */
#ifndef HEADROOM_BINARY_SAVED_H
#define HEADROOM_BINARY_SAVED_H

#include "base/base.h"

struct image;

enum saved_kind {
    SAVED_UNWIND = 1, /* an unwind table */
    SAVED_DEBUG,      /* an ELF file with inflated debug sections (inflated.h) */
};

/* What a file was when something was computed from it. */
struct saved_key {
    uint32_t kind, id_bytes;
    uint64_t file_bytes, modified_s, modified_ns;
    uint8_t id[64];    /* its build-id */
    uint8_t maker[64]; /* headroom's own */
};

struct saved {
    void *mapping;
    size_t mapping_bytes;
    void *bytes; /* within; private: may be written to */
    size_t count;
};

/* False: nothing can be kept for this file, which has no build-id or is none. */
bool saved_key(const struct image *image, enum saved_kind kind, struct saved_key *key);

/* True: *saved is the caller's, for saved_release. */
bool saved_find(const struct saved_key *key, struct saved *saved);
void saved_release(struct saved *saved);

/* Keeps it, and makes room for it by removing what has not been used for longest. */
void saved_keep(const struct saved_key *key, const void *bytes, size_t count);

#endif
