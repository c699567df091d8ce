// SPDX-License-Identifier: MIT
#include "run/internal.h"

/* Logs do not say which verb asked: those that are left are waste's. */
static bool was_left(const struct analysis_log *log)
{
    (void)log;
    return false;
}

const struct analysis run_analysis = {
    .name = "run",
    .exact_unit = "access",
    .samples = true,
    .leads = true,
    .loops = true,
    .left = was_left,
    .text = &run_text,
    .json = run_json,
    .compare = &run_compare,
    .export = &run_export,
    .view = &run_view,
};
