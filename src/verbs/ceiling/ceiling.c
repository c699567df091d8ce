// SPDX-License-Identifier: MIT
#include "ceiling/internal.h"

static bool was_left(const struct analysis_log *log)
{
    return log->clones;
}

const struct analysis ceiling_analysis = {
    .name = "ceiling",
    .exact_unit = "access",
    .leads = true,
    .left = was_left,
    .text = &ceiling_text,
    .json = ceiling_json,
    .compare = &ceiling_compare,
    .export = &ceiling_export,
    .view = &ceiling_view,
};
