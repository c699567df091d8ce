// SPDX-License-Identifier: MIT
/* Loop nests of a run's hottest loops, computed from their sources and held against what the run recorded (deep.c). */
#ifndef HEADROOM_CLI_LOCALITY_H
#define HEADROOM_CLI_LOCALITY_H

#include "lower/lower.h"
#include "profile/profile.h"

/* A loop in a source file. */
struct nest_place {
    const char *file; /* absolute */
    uint32_t first, last;
};

/* Can the file be read, and is it in a language whose nests are computed? */
bool locality_takes(const char *file);

/*
 * The nests that have something in one of the places, with changes that would miss less, into `profile`, which has none. recorded: an exact
 * recording of the program with a simulated cache; nests none of whose loads and stores it has, because they were compiled or run
 * otherwise, are left out, as is all of a file that cannot be compiled by itself. sentence: what was left out for that, LOWER_ERROR_BYTES, or
 * empty. seconds: for each step. False: no memory.
 */
bool locality_further(const struct nest_place *places, size_t count, struct profile *recorded,
                      unsigned seconds, struct profile *profile, char *sentence);

#endif
