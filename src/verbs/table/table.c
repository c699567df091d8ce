// SPDX-License-Identifier: MIT
/* The verbs that know what to make of a profile. */
#include "analysis/analysis.h"
#include "ceiling/ceiling.h"
#include "interference/interference.h"
#include "limits/limits.h"
#include "locality/locality.h"
#include "map/map.h"
#include "paths/paths.h"
#include "reuse/reuse.h"
#include "run/run.h"
#include "sharing/sharing.h"
#include "stat/stat.h"
#include "waste/waste.h"

#include <stddef.h>

const struct analysis *const analyses[] = {
    &waste_analysis,   &reuse_analysis,  &paths_analysis,   &interference_analysis,
    &sharing_analysis, &limits_analysis, &ceiling_analysis, &locality_analysis,
    &map_analysis,     &stat_analysis,   &run_analysis,     NULL,
};
