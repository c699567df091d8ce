// SPDX-License-Identifier: MIT
/* locality: misses of loop nests that were computed, not run, read from profiles (cache miss equations, MHAOTEU 1.1, part I). */
#ifndef HEADROOM_LOCALITY_H
#define HEADROOM_LOCALITY_H

#include "analysis/analysis.h"

extern const struct analysis locality_analysis;

#endif
