// SPDX-License-Identifier: MIT
/* map: where instructions come from and which variables can be trusted there, read from profiles (ATAC and endangered variables, MHAOTEU
   1.1, parts IV and V). */
#ifndef HEADROOM_MAP_H
#define HEADROOM_MAP_H

#include "analysis/analysis.h"

extern const struct analysis map_analysis;

#endif
