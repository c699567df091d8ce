// SPDX-License-Identifier: MIT
/* `headroom interference` (ispot): which code loses time to other threads? */
#include "interference/internal.h"

bool interference_is_in(const struct profile *profile)
{
    return analysis_find(profile->run.verb) == &interference_analysis;
}

static bool was_left(const struct analysis_log *log)
{
    return log->spans;
}

const struct analysis interference_analysis = {
    .name = "interference",
    .exact_unit = "access",
    .left = was_left,
    .text = &interference_text,
    .json = interference_json,
    .compare = &interference_compare,
    .export = &interference_export,
    .gain = &interference_gains,
    .view = &interference_view,
};
