// SPDX-License-Identifier: MIT
/*
 * Where a recording's files are when the program has ended: it may have renamed or deleted their
 * directory, replaced files, filled the disk. Nothing of headroom's is written over what is not
 * headroom's, and what the program removed is not made again.
 */
#ifndef HEADROOM_CLI_PLACES_H
#define HEADROOM_CLI_PLACES_H

#include "launch/launch.h"

#include <sys/stat.h>

enum { PLACES = 4 };

/* Zeroed before places_begin. */
struct places {
    bool begun;
    int directory;                    /* the output's, whatever it is called now */
    char absolute[LAUNCH_PATH_BYTES]; /* of the output, as it was; "": not known */
    char refuge[LAUNCH_PATH_BYTES];   /* a new directory for temporary files; "": none yet */
    unsigned next;
    struct {
        dev_t device;
        ino_t inode;
    } tried[PLACES];
    unsigned tried_count;
};

void places_begin(struct places *places, const char *output);

/*
 * Where the output may be written, best place first: under its name, in its directory under the name that this
 * has now, under the absolute name that it had, in a new directory for temporary files. False: there are no more.
 */
bool places_next(struct places *places, const char *output, char path[LAUNCH_PATH_BYTES]);

/* The name that leads to the open file: `path`, or one that the kernel knows. False: none does. */
bool places_name(int file, char path[LAUNCH_PATH_BYTES]);

/* Copies an open file that has no name any more into the refuge. False: errno. */
bool places_rescue(struct places *places, int file, const char *base, char path[LAUNCH_PATH_BYTES]);

/* Removes the refuge, if it is empty. */
void places_end(struct places *places);

#endif
