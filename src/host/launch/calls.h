// SPDX-License-Identifier: MIT
/* Functions of the agent that headroom has threads of the program execute: see calls.c. */
#ifndef HEADROOM_LAUNCH_CALLS_H
#define HEADROOM_LAUNCH_CALLS_H

#include "launch/blocks.h"

struct launch_calls {
    pid_t program;            /* headroom's child */
    struct launch_maps maps;
    pid_t left[64];           /* threads that are still attached to */
    size_t left_count;
};

/* Does what agents ask for; called by the thread of launch_record, which is the tracer meanwhile. */
void launch_calls_serve(struct launch_calls *calls, struct wire_region *region,
                        const struct launch_companion *companion);
void launch_calls_end(struct launch_calls *calls);

#endif
