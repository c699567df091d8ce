// SPDX-License-Identifier: MIT
#include "limits/internal.h"

/* It leaves no raw logs. */
static bool was_left(const struct analysis_log *log)
{
    (void)log;
    return false;
}

static bool runs_clash(const struct profile *a, const struct profile *b, char *why,
                       size_t why_bytes)
{
    if (!a->limit_runs_count || !b->limit_runs_count ||
        profile_same_text(a->limit_runs[0].machine, b->limit_runs[0].machine))
        return false;
    snprintf(why, why_bytes, "their bounds are of different machines, %.60s and %.60s",
             a->limit_runs[0].machine, b->limit_runs[0].machine);
    return true;
}

const struct analysis limits_analysis = {
    .name = "limits",
    .exact_unit = "instruction",
    .leads = true,
    .left = was_left,
    .clashes = runs_clash,
    .text = &limits_text,
    .json = limits_json,
    .compare = &limits_compare,
    .export = &limits_export,
    .view = &limits_view,
};
