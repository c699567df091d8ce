// SPDX-License-Identifier: MIT
#include "sharing/internal.h"

static bool was_left(const struct analysis_log *log)
{
    return log->sharing && !log->kinds && !log->spans && !log->paths;
}

const struct analysis sharing_analysis = {
    .name = "sharing",
    .exact_unit = "access",
    .samples = true,
    .leads = true,
    .left = was_left,
    .text = &sharing_text,
    .json = sharing_json,
    .compare = &sharing_compare,
    .export = &sharing_export,
    .view = &sharing_view,
    .gain = &sharing_gains,
};
