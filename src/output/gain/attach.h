// SPDX-License-Identifier: MIT
/*
 * What further runs of the same command found, kept beside the samples of a recording: waste and misses that were counted,
 * transfers of cache lines between threads, and what threads waited for.
 */
#ifndef HEADROOM_GAIN_ATTACH_H
#define HEADROOM_GAIN_ATTACH_H

#include "profile/profile.h"

/*
 * Each puts what `recorded` has into `profile`, in place of what is there; of lines of own code, what `profile` knows of them. False:
 * no memory, and part of it is there.
 */

/* Waste, counted by the exact engine: profile->counted. Shares of waste at these lines are then not estimates. */
bool gain_attach(const struct profile *recorded, struct profile *profile);

/* Misses, likewise: profile->missed. */
bool gain_attach_misses(const struct profile *recorded, struct profile *profile);

/* Transfers between threads: profile->transfers. Places that `profile` does not know are added. */
bool gain_attach_transfers(const struct profile *recorded, struct profile *profile);

/* What a recording of `headroom interference` timed: profile->waits. */
bool gain_attach_waits(const struct profile *timed, struct profile *profile);

#endif
