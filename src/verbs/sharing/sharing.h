// SPDX-License-Identifier: MIT
/* `headroom sharing`: which cache lines move between threads, and whether they have to. */
#ifndef HEADROOM_SHARING_H
#define HEADROOM_SHARING_H

#include "analysis/analysis.h"

extern const struct analysis sharing_analysis;

#endif
