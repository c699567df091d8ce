// SPDX-License-Identifier: MIT
/* Nests with their references on the page, and sweeps as curves. */
#include "locality/internal.h"
#include "view/tree.h"

static const char *const *find_tabs(const struct profile *profile)
{
    static const char *const tabs[] = {"locality", NULL};
    return locality_run_of(profile) ? tabs : NULL;
}

static void add_lines(struct page_lines *lines, const struct profile *profile)
{
    for (size_t i = 0; i < profile->locality_references_count; i++)
        page_add_line(lines, profile->locality_references[i].source,
                      profile->locality_references[i].line);
}

/* The command is the compiler's. */
static const char *find_subject(const struct profile *profile)
{
    const struct profile_locality_run *run = locality_run_of(profile);
    return run ? run->path : NULL;
}

const struct analysis_view locality_view = {
    .tabs = find_tabs, .lines = add_lines, .subject = find_subject};
