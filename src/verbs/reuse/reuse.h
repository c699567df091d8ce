// SPDX-License-Identifier: MIT
#ifndef HEADROOM_REUSE_H
#define HEADROOM_REUSE_H

#include "analysis/analysis.h"

extern const struct analysis reuse_analysis;

#endif
