// SPDX-License-Identifier: MIT
/* Code beside its source on the page. */
#include "map/internal.h"
#include "view/tree.h"

static const char *const *find_tabs(const struct profile *profile)
{
    static const char *const tabs[] = {"map", NULL};
    return map_run_of(profile) ? tabs : NULL;
}

static void add_lines(struct page_lines *lines, const struct profile *profile)
{
    for (size_t i = 0; i < profile->map_ranges_count; i++)
        page_add_line(lines, profile->map_ranges[i].file, profile->map_ranges[i].line);
    for (size_t i = 0; i < profile->map_findings_count; i++)
        page_add_line(lines, profile->map_findings[i].file, profile->map_findings[i].line);
    for (size_t i = 0; i < profile->map_stops_count; i++)
        page_add_line(lines, profile->map_stops[i].file, profile->map_stops[i].line);
}

const struct analysis_view map_view = {.tabs = find_tabs, .lines = add_lines};
