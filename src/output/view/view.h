// SPDX-License-Identifier: MIT
/*
 * view: a profile as one HTML file that needs nothing else (docs/formats/view.md). Pure: reads the
 * profile, and source files if their lines are asked for; writes to a FILE the caller owns.
 */
#ifndef HEADROOM_VIEW_H
#define HEADROOM_VIEW_H

#include "profile/profile.h"

#include "show/report.h"

#include <stdbool.h>
#include <stdio.h>

struct view_options {
    unsigned limit;           /* findings of each kind; 0: all */
    enum report_by by;        /* what is one finding, as in reports */
    bool sources;             /* quote lines of source files around the places found */
    const char *profile_path; /* as the user would type it, for hints */
    struct profile *before;   /* the page shows what changed since; NULL: it does not */
    const char *before_path;  /* as profile_path */
    double level;             /* of what changed, as in diff_options */
    unsigned *shown;          /* set to the limit that was kept to; may be NULL */
};

/*
 * Writes the page. *source_files: of how many files lines are in it; untouched on failure. before
 * must be comparable (diff_comparable).
 * Where so many findings would make it too large, there are fewer (*shown). Fails with
 * BASE_NO_MEMORY, BASE_TOO_LARGE if even one of each kind is too much, or BASE_IO if out could not
 * be written.
 */
enum base_status view_write(struct profile *profile, const struct view_options *options, FILE *out,
                            size_t *source_files);

#endif
