// SPDX-License-Identifier: MIT
/* limits: what bounds a loop, read from profiles (specified by Touati's definition of optimality, MHAOTEU 1.1, part III). */
#ifndef HEADROOM_LIMITS_H
#define HEADROOM_LIMITS_H

#include "analysis/analysis.h"

extern const struct analysis limits_analysis;

#endif
