// SPDX-License-Identifier: MIT
/* Private to import: loops around the frames of a recording, only for a verb that asks for them (struct analysis): its
   findings name them. */
#ifndef HEADROOM_IMPORT_LOOPS_H
#define HEADROOM_IMPORT_LOOPS_H

#include "import/flow.h"
#include "profile/profile.h"

struct import_loops;

/* NULL: no memory. profile->run.verb is set; at outlives it. */
struct import_loops *import_loops_new(struct profile *profile, struct import_flow *at);
void import_loops_free(struct import_loops *loops); /* NULL does nothing */

/*
 * Adds the loops around address `look_up` of a module to the profile, and a row for each of the
 * frames [first, first + count), all of that address. Frames ascend from call to call; in order of
 * modules and addresses each function is looked at once. `at` has begun with the module.
 * False: no memory.
 */
bool import_loops_of_frames(struct import_loops *loops, uint32_t module, uint64_t look_up,
                            uint32_t first, uint32_t count);

/* After the last frame: says what was left out. False: no memory. */
bool import_loops_tell(const struct import_loops *loops);

#endif
