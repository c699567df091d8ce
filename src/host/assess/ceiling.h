// SPDX-License-Identifier: MIT
/*
 * Loops with all of their accesses in the first-level cache: from trials (trial/trial.h) to rows of a profile. Host side, pure.
 */
#ifndef HEADROOM_ASSESS_CEILING_H
#define HEADROOM_ASSESS_CEILING_H

#include "profile/profile.h"
#include "trial/trial.h"

/*
 * Appends the loops, hottest first, at most `limit` of them, and how much of the time they stand for. Strings are copied. False:
 * no memory.
 *
 * Figures are medians over trials, of entries of the loop if there are three, else of all. A loop of which executions are so short
 * that traces of a stop in the caches would show is marked, and has no gap.
 */
bool assess_ceiling(struct profile *profile, const struct trial_result *result, size_t limit);

/* The rows of another profile, in place of its own, and why some are missing. Strings are copied. False: no memory. */
bool assess_take_ceiling(const struct profile *tried, struct profile *profile);

#endif
