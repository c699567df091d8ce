// SPDX-License-Identifier: MIT
/*
 * A profile held to limits, by itself or against a baseline. Pure: reads profiles (and source
 * files, for the lines it quotes), writes to a FILE the caller owns.
 */
#ifndef HEADROOM_COMPARE_CHECK_H
#define HEADROOM_COMPARE_CHECK_H

#include "compare/compare.h"
#include "profile/profile.h"
#include "show/report.h"

#include <stdio.h>

/* What the undecided limits do: fail (exit status 5), warn, or pass unmentioned in annotations. */
enum check_undecided { CHECK_UNDECIDED_FAILS, CHECK_UNDECIDED_WARNS, CHECK_UNDECIDED_PASSES };

struct check_options {
    const struct compare_limit *limits;
    size_t limits_count;
    struct compare_suppressions *suppressions; /* counts their uses */
    double minimum;                            /* amounts below that are not reported; 0: all */
    double level;                              /* as in diff_options */
    enum report_by by;                         /* likewise */
    bool warn_only;
    enum check_undecided undecided;
    const char *names[2]; /* of the baseline, of the profile */
    const char *root;     /* directory that file names are relative to; NULL: none */
};

struct check;

/*
 * Holds the profile to the limits. baseline: comparable, or NULL, then no limit may be of growth.
 * BASE_NOT_FOUND: the profile has no such figure, or none that such a limit could be for; error:
 * one clause that says which it has. What is given must outlive the check.
 */
enum base_status check_make(struct profile *baseline, struct profile *profile,
                            const struct check_options *options, struct check **check, char *error,
                            size_t error_bytes);
void check_free(struct check *check);

/*
 * Limits that are exceeded; and those of which the samples do not decide it: an estimate exceeds a
 * limit, or is within it, if its whole interval is, of growth the interval of the difference.
 */
size_t check_exceeded(const struct check *check);
size_t check_undecided(const struct check *check);

/* For people; as annotations of GitHub's workflows; as Markdown; as SARIF 2.1.0. */
enum base_status check_text(const struct check *check, bool color, bool ascii, unsigned width,
                            FILE *out);
enum base_status check_github(const struct check *check, FILE *out);
enum base_status check_markdown(const struct check *check, FILE *out);
enum base_status check_sarif(const struct check *check, FILE *out);

#endif
