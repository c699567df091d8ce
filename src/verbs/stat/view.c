// SPDX-License-Identifier: MIT
/* Runs and regions on the page, each a box plot with its runs. */
#include "stat/internal.h"
#include "view/tree.h"

static const char *const *find_tabs(const struct profile *profile)
{
    static const char *const tabs[] = {"stat", NULL};
    return profile->stat_runs_count ? tabs : NULL;
}

const struct analysis_view stat_view = {.tabs = find_tabs};
