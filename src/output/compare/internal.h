// SPDX-License-Identifier: MIT
/*
 * Between the files of a check against limits: what exceeds them and where (check.c), for people
 * and GitHub (check_text.c), as Markdown (check_markdown.c), as SARIF (check_sarif.c).
 */
#ifndef HEADROOM_COMPARE_INTERNAL_H
#define HEADROOM_COMPARE_INTERNAL_H

#include "compare/check.h"
#include "compare/side.h"

enum check_state { CHECK_WITHIN, CHECK_EXCEEDED, CHECK_SMALL /* by less than the minimum */ };

struct check_result { /* of a limit */
    const struct compare_limit *limit;
    struct diff_figure figure, baseline; /* baseline: if there is one */
    double allowed;
    enum check_state state;
};

/* What an exceeded limit is about. */
struct check_item {
    const struct check_result *result;
    const struct diff_side *side;
    const struct compare_finding *finding;
    const struct compare_change
        *change; /* NULL: without a baseline, or not the difference counts */
};

struct report_check {
    const struct report_check_options *options;
    bool has_baseline;
    struct diff diff;             /* with a baseline                */
    struct diff_side alone;       /* without                        */
    const struct diff_side *side; /* of the profile, in either  */
    struct check_result results[COMPARE_LIMITS];
    size_t results_count, exceeded;
    struct check_item *items;
    size_t items_count;
    size_t suppressed; /* findings of the profile */
};

/* A place in the source to which a finding's context 0 or 1 is pinned: the innermost line below the
   root if there is any, else the innermost that is known. file NULL: none is known. function: never
   NULL. */
struct check_place {
    const char *function, *file;
    uint32_t line;
    bool relative; /* file is below the root, and told without it */
};
void check_find_place(const struct report_check *check, const struct check_item *item,
                      unsigned context, struct check_place *place);

/* "Dead stores: 195.3 KiB, 42.6 % of the bytes stored (appeared)" */
enum { CHECK_SENTENCE_BYTES = 1024 };
void check_amount(const struct check_item *item, char out[CHECK_SENTENCE_BYTES]);
/* The same with both places by function. */
void check_sentence(const struct report_check *check, const struct check_item *item,
                    char out[CHECK_SENTENCE_BYTES]);
/* What profile 0, the baseline, or 1 is, for the words about it; profile NULL: there is none. */
const struct profile *check_profile_of(const struct report_check *check, unsigned which);
extern const char *const check_of[2]; /* "baseline: ", "" */
/* Remark number `index` on what is compared, a sentence. False: there are no more. */
bool check_remark(const struct report_check *check, unsigned index, char out[CHECK_SENTENCE_BYTES]);
/* "waste.dead.fraction is 45.7 %, more than 5.0 %" */
void check_limit_sentence(const struct check_result *result, char out[CHECK_SENTENCE_BYTES]);

#endif
