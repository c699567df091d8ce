// SPDX-License-Identifier: MIT
#ifndef HEADROOM_PATHS_H
#define HEADROOM_PATHS_H

#include "analysis/analysis.h"

extern const struct analysis paths_analysis;

#endif
