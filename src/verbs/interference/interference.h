// SPDX-License-Identifier: MIT
#ifndef HEADROOM_INTERFERENCE_H
#define HEADROOM_INTERFERENCE_H

#include "analysis/analysis.h"

extern const struct analysis interference_analysis;

#endif
