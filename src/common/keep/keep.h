// SPDX-License-Identifier: MIT
/*
 * keep: the folder of what headroom keeps from one run to the next, and its files.
 *
 * $HEADROOM_CACHE, else $XDG_CACHE_HOME/headroom, else ~/.cache/headroom; HEADROOM_CACHE set to nothing switches it
 * off. All of it is a convenience: whatever cannot be read or written, or belongs to somebody else, is as if it were
 * not there, and the folder may be deleted at any time. What is in a file, and whether it is sound, is its owner's to know.
 * Any number of processes and threads may use it. For the host alone.
 */
#ifndef HEADROOM_KEEP_H
#define HEADROOM_KEEP_H

#include "base/base.h"

struct keep_part {
    const void *bytes;
    size_t count;
    uint64_t offset; /* in the file; what lies between parts is zero */
};

/* The folder, opened: the caller's to close; with make, made if it is missing. -1: there is none to use. */
int keep_folder(bool make);

/* A regular file of ours in the folder, for reading: the caller's to close. -1: there is none. */
int keep_open(int folder, const char *name);

/*
 * Written under another name and renamed, so that readers see all of one or nothing. False: it could not be, or is
 * larger than files of this process may be; then the file is as it was.
 */
bool keep_write(int folder, const char *name, const struct keep_part *parts, size_t count);

/*
 * Waits until no other process has locked the folder, at most that many seconds, and locks it until it is closed here and in processes that
 * were forked meanwhile. For what must not run twice at once; reading and writing files needs no lock. Works in folders that cannot be
 * written to. False: it is locked still, or cannot be.
 */
bool keep_lock(int folder, double seconds);

/* Is it the name of a file that keep_write has not finished, and never will if it is old? */
bool keep_is_unfinished(const char *name);

#endif
