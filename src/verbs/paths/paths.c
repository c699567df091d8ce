// SPDX-License-Identifier: MIT
/* `headroom paths` (Ammons, Ball, Larus): which acyclic paths and calling contexts incur the cost?
 */
#include "paths/internal.h"

bool paths_are_in(const struct profile *profile)
{
    return analysis_find(profile->run.verb) == &paths_analysis;
}

const struct analysis paths_analysis = {
    .name = "paths",
    .exact_unit = "instruction",
    .text = &paths_text,
    .json = paths_json,
    .compare = &paths_compare,
    .export = &paths_export,
    .view = &paths_view,
};
