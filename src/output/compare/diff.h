// SPDX-License-Identifier: MIT
/*
 * What differs between two profiles, as text and JSON. Pure: reads profiles (and source files, for
 * the lines it quotes), writes to a FILE the caller owns.
 */
#ifndef HEADROOM_COMPARE_DIFF_H
#define HEADROOM_COMPARE_DIFF_H

#include "base/base.h"
#include "profile/profile.h"
#include "show/report.h"

#include <stdio.h>

/*
 * Can they be set against each other: the same verb, what was measured, and how? BASE_UNSUPPORTED:
 * no; error: one sentence.
 */
enum base_status diff_comparable(const struct profile *before, const struct profile *after,
                                 char *error, size_t error_bytes);

struct diff_options {
    unsigned limit; /* changes shown of each kind; 0: all */
    bool color, ascii;
    bool sources;         /* quote lines of the later profile's source files */
    unsigned width;       /* as in report_options */
    enum report_by by;    /* what is one finding: REPORT_BY_CONTEXT, also if 0, or _PAIR */
    double level;         /* probability of any wrong verdict if nothing has changed; (0, 1) */
    const char *names[2]; /* of the profiles, as the user typed them */
};

/* The profiles must be comparable. JSON: "headroom-diff/1", docs/formats/diff.md. */
enum base_status diff_text(struct profile *before, struct profile *after,
                           const struct diff_options *options, FILE *out);
enum base_status diff_json(struct profile *before, struct profile *after,
                           const struct diff_options *options, FILE *out);

#endif
