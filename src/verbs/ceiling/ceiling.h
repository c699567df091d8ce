// SPDX-License-Identifier: MIT
/* ceiling: how fast loops would be if all of their accesses hit the first-level cache, as measured by trials. */
#ifndef HEADROOM_CEILING_H
#define HEADROOM_CEILING_H

#include "analysis/analysis.h"

extern const struct analysis ceiling_analysis;

#endif
