// SPDX-License-Identifier: MIT
/* stat: what runs and regions cost, over repeated runs, read from profiles (MHAOTEU 1.1, part III: timopl, autopcl). */
#ifndef HEADROOM_STAT_STAT_H
#define HEADROOM_STAT_STAT_H

#include "analysis/analysis.h"

extern const struct analysis stat_analysis;

#endif
