// SPDX-License-Identifier: MIT
/* Loops and their bounds on the page. */
#include "limits/internal.h"
#include "view/tree.h"

static const char *const *find_tabs(const struct profile *profile)
{
    static const char *const tabs[] = {"limits", NULL};
    return profile->limit_loops_count ? tabs : NULL;
}

static void add_lines(struct page_lines *lines, const struct profile *profile)
{
    for (size_t i = 0; i < profile->limit_instructions_count; i++)
        page_add_line(lines, profile->limit_instructions[i].file,
                      profile->limit_instructions[i].line);
}

const struct analysis_view limits_view = {.tabs = find_tabs, .lines = add_lines};
