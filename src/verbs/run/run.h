// SPDX-License-Identifier: MIT
/*
 * run: what all live recordings have in common, whichever question their samples ask: a profile of
 * CPU time by calling context, of every tick of the clock; and what to fix first (gain/gain.h).
 */
#ifndef HEADROOM_RUN_H
#define HEADROOM_RUN_H

#include "analysis/analysis.h"

extern const struct analysis run_analysis;

#endif
