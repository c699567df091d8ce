// SPDX-License-Identifier: MIT
/* Loops and their ceilings on the page. */
#include "ceiling/internal.h"

static const char *const *find_tabs(const struct profile *profile)
{
    static const char *const tabs[] = {"ceiling", NULL};
    return profile->ceiling_loops_count ? tabs : NULL;
}

static void add_lines(struct page_lines *lines, const struct profile *profile)
{
    for (size_t i = 0; i < profile->ceiling_loops_count; i++) {
        const struct profile_ceiling_loop *loop = &profile->ceiling_loops[i];
        page_add_line(lines, loop->file, loop->line);
        page_add_line(lines, loop->reason_file, loop->reason_line);
    }
}

const struct analysis_view ceiling_view = {.tabs = find_tabs, .lines = add_lines};
