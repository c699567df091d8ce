// SPDX-License-Identifier: MIT
#include "stat/internal.h"

#include <stdio.h>

/* It leaves no raw logs. */
static bool was_left(const struct analysis_log *log)
{
    (void)log;
    return false;
}

static bool runs_clash(const struct profile *a, const struct profile *b, char *why,
                       size_t why_bytes)
{
    if (!a->stat_sessions_count || !b->stat_sessions_count)
        return false;
    if (!profile_same_text(a->run.cpu, b->run.cpu) || !profile_same_text(a->run.host, b->run.host))
        return snprintf(why, why_bytes, "their times were measured on different machines") > 0;
    return false;
}

const struct analysis stat_analysis = {
    .name = "stat",
    .exact_unit = "run",
    .leads = true,
    .left = was_left,
    .clashes = runs_clash,
    .text = &stat_text,
    .json = stat_json,
    .compare = &stat_compare,
    .export = &stat_export,
    .view = &stat_view,
};
