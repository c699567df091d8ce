// SPDX-License-Identifier: MIT
#ifndef HEADROOM_WASTE_H
#define HEADROOM_WASTE_H

#include "analysis/analysis.h"

extern const struct analysis waste_analysis;

#endif
