// SPDX-License-Identifier: MIT
/* Processes that another observed process is about to trace: their agents fall silent first. */
#ifndef HEADROOM_LAUNCH_QUIET_H
#define HEADROOM_LAUNCH_QUIET_H

#include "launch/blocks.h"

struct launch_quiet {
    pid_t program;            /* headroom's child */
    struct launch_maps maps;
    pid_t left[64];           /* threads that are still attached to */
    size_t left_count;
};

/* Does what agents ask for; called by the thread of launch_record, which is the tracer meanwhile. */
void launch_quiet_serve(struct launch_quiet *quiet, struct wire_region *region,
                        const struct launch_companion *companion);
void launch_quiet_end(struct launch_quiet *quiet);

#endif
