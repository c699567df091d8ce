// SPDX-License-Identifier: MIT
/* What further runs counted (profile->counted) and timed (profile->waits), kept beside the samples of a recording. */
#ifndef HEADROOM_GAIN_ATTACH_H
#define HEADROOM_GAIN_ATTACH_H

#include "profile/profile.h"

/*
 * What an exact recording of the same command counted at the lines that `profile` knows goes into it, in place of what
 * is there: shares of waste at these lines are then not estimates. False: no memory, and part of it is there.
 */
bool gain_attach(const struct profile *exact, struct profile *profile);

/* Likewise, what a recording of `headroom interference` timed: profile->waits. */
bool gain_attach_waits(const struct profile *timed, struct profile *profile);

#endif
