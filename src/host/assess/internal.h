// SPDX-License-Identifier: MIT
/* Between the files of assess. */
#ifndef HEADROOM_ASSESS_INTERNAL_H
#define HEADROOM_ASSESS_INTERNAL_H

#include "assess/assess.h"

/* What a loop with a share and counted iterations took, of the CPU time of the profile's samples. */
void measure_loops(struct profile *profile);

/* Is that one of those that are meant? */
bool find_matches(const struct bodies_loop *loop, const struct assess_target *target);

/* The row of the machine, if there is none. False: no memory. */
bool assess_begin_run(struct profile *profile, const struct model *model);

#endif
