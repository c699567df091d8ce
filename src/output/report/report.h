// SPDX-License-Identifier: MIT
/*
 * report: findings → text and JSON. Pure: reads a profile (and source files, for the
 * lines it quotes), writes to a FILE the caller owns. Never exits.
 */
#ifndef HEADROOM_REPORT_H
#define HEADROOM_REPORT_H

#include "base/base.h"
#include "compare/compare.h"
#include "profile/profile.h"
#include <stdio.h>

/* Of paths. */
enum report_metric {
    REPORT_COUNT,
    REPORT_INSTRUCTIONS,
    REPORT_LOADS,
    REPORT_STORES,
    REPORT_CYCLES,
    REPORT_MISSES,
    REPORT_EVENTS,
    REPORT_METRICS
};

struct report_options {
    unsigned limit;        /* pairs shown per kind; 0: all                        */
    bool color;            /* ANSI colours                                        */
    bool ascii;            /* text: for a terminal that shows nothing else        */
    bool sources;          /* quote source lines                                  */
    unsigned width;        /* columns; 0: 100                                     */
    uint8_t kinds;         /* bits as wire_kind_bits; 0: all that were recorded   */
    bool paper_bins;       /* reuse: histograms in [0, 4K), [4K, 8K), ...          */
    double hot;            /* paths: least share of the metric; 0: 0.01            */
    unsigned metric;       /* paths: to rank by, 1 + enum report_metric; 0: cycles if they were measured,
                              else misses, else instructions                      */
    const char *const *keys; /* interference: "FUNCTION:N", by which samples are told apart; N: 0, 1, 2 or "result" */
    size_t keys_count;
    uint64_t least_executions; /* interference: for a score; 0: 1000                 */
    const char *profile_path; /* as the user would type it, for "next command" hints */
};

enum base_status report_text(struct profile *profile, const struct report_options *options,
                             FILE *out);
/* The JSON object of docs/formats/report.md, "headroom-report/1". */
enum base_status report_json(struct profile *profile, const struct report_options *options,
                             FILE *out);

/* ---- two profiles ---------------------------------------------------------------------------- */

/*
 * Can they be set against each other: the same verb, what was measured, and how? BASE_UNSUPPORTED:
 * no; error: one sentence.
 */
enum base_status report_comparable(const struct profile *before, const struct profile *after,
                                   char *error, size_t error_bytes);

struct report_diff_options {
    unsigned limit; /* changes shown of each kind; 0: all                              */
    bool color, ascii;
    bool sources;         /* quote lines of the later profile's source files               */
    unsigned width;       /* as in report_options                                          */
    double level;         /* probability of any wrong verdict if nothing has changed; (0, 1)  */
    const char *names[2]; /* of the profiles, as the user typed them                       */
};

/* The profiles must be comparable. JSON: "headroom-diff/1", docs/formats/diff.md. */
enum base_status report_diff_text(struct profile *before, struct profile *after,
                                  const struct report_diff_options *options, FILE *out);
enum base_status report_diff_json(struct profile *before, struct profile *after,
                                  const struct report_diff_options *options, FILE *out);

/* ---- limits ---------------------------------------------------------------------------------- */

struct report_check_options {
    const struct compare_limit *limits;
    size_t limits_count;
    struct compare_suppressions *suppressions; /* counts their uses                             */
    double minimum; /* amounts below that are not reported; 0: all               */
    double level;   /* as in report_diff_options                                   */
    bool warn_only;
    const char *names[2]; /* of the baseline, of the profile                             */
    const char *root;     /* directory that file names are told relative to; NULL: none    */
};

struct report_check;

/*
 * Holds the profile to the limits. baseline: comparable, or NULL, then no limit may be of growth.
 * BASE_NOT_FOUND: the profile has no such figure, or none that such a limit could be for; error: one clause
 * that says which it has. What
 * is given must outlive the check.
 */
enum base_status report_check_make(struct profile *baseline, struct profile *profile,
                                   const struct report_check_options *options,
                                   struct report_check **check, char *error, size_t error_bytes);
void report_check_free(struct report_check *check);

/* Limits that are exceeded. */
size_t report_check_exceeded(const struct report_check *check);

/* For people; as annotations of GitHub's workflows; as Markdown; as SARIF 2.1.0. */
enum base_status report_check_text(const struct report_check *check, bool color, bool ascii,
                                   unsigned width, FILE *out);
enum base_status report_check_github(const struct report_check *check, FILE *out);
enum base_status report_check_markdown(const struct report_check *check, FILE *out);
enum base_status report_check_sarif(const struct report_check *check, FILE *out);

#endif
