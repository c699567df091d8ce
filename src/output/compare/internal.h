// SPDX-License-Identifier: MIT
/*
 * Between the files of compare. Two profiles: a side each (diff_side.c), the differences
 * (diff_make.c), for people (diff_text.c) and as JSON (diff_json.c). Limits: what exceeds them and
 * where (check.c), for people and GitHub (check_text.c), as Markdown (check_markdown.c), as SARIF
 * (check_sarif.c).
 */
#ifndef HEADROOM_COMPARE_INTERNAL_H
#define HEADROOM_COMPARE_INTERNAL_H

#include "compare/check.h"
#include "compare/diff.h"
#include "compare/findings.h"
#include "show/print.h"

/* ---- sides ----------------------------------------------------------------------------------- */

/* Does the finding concern nobody? */
typedef bool diff_skip(void *context, const struct diff_side *side,
                       const struct compare_finding *finding);

/* other: what it is to be compared with, or NULL. by: as in diff_options. skip: may be NULL; it sees
   the heaviest contexts only unless findings are by context. BASE_NO_MEMORY. */
enum base_status diff_side_make(struct profile *profile, const struct profile *other,
                                enum report_by by, diff_skip *skip, void *context,
                                struct diff_side *side);
void diff_side_free(struct diff_side *side);

/* The module of the program itself; 0: not known. other: what it is to be compared with, or NULL. */
uint32_t diff_find_program(const struct profile *profile, const struct profile *other);

/* By name; also one that is made when asked for. False: there is none. */
bool diff_side_figure(const struct diff_side *side, const char *name, struct diff_figure *figure);

/* kind: below the side's kinds_count. */
const struct diff_part *diff_part_of(const struct diff_side *side, uint32_t kind);
const struct diff_kind *diff_kind_of(const struct diff_side *side, uint32_t kind);

/* False: it is no pair. */
bool diff_ends_of(const struct diff_side *side, const struct compare_finding *finding,
                  struct diff_ends *ends);
void diff_subject_of(const struct diff_side *side, const struct compare_finding *finding,
                     struct diff_subject *subject);

/* What a kind's shares are shares of: "the bytes stored". */
const char *diff_whole_name(const struct diff_side *side, uint32_t kind);

/* Both contexts with their lines, or the name. The printer is the side's; chains: two, to work
 * with. */
void diff_print_finding(struct printer *printer, const struct diff_side *side,
                        const struct compare_finding *finding, struct chain *chains);

/* "12.3 %", "4.5 KiB", "1,234", "1.25 s"; signed: with a plus. */
const char *diff_number(enum diff_unit unit, double value, bool sign, char out[48]);

/* ---- differences ----------------------------------------------------------------------------- */

struct diff {
    struct diff_side sides[2];
    bool exact;
    struct compare_change *changes;
    size_t changes_count;
};

enum base_status diff_make(struct profile *before, struct profile *after, enum report_by by,
                           double level, diff_skip *skip, void *context, struct diff *diff);
void diff_free(struct diff *diff);

/* The side on which the change's finding can be shown: the later one, if it is there. */
static inline unsigned diff_shown_side(const struct compare_change *change)
{
    return change->after == COMPARE_NONE ? 0 : 1;
}

static inline const struct compare_finding *diff_finding(const struct diff *diff,
                                                         const struct compare_change *change)
{
    unsigned side = diff_shown_side(change);
    return &diff->sides[side].findings[side ? change->after : change->before];
}

/* ---- limits ---------------------------------------------------------------------------------- */

enum check_state {
    CHECK_WITHIN,
    CHECK_EXCEEDED,
    CHECK_SMALL,     /* by less than the minimum */
    CHECK_UNDECIDED, /* the limit lies within the interval of the estimate */
};

struct check_result { /* of a limit */
    const struct compare_limit *limit;
    struct diff_figure figure, baseline; /* baseline: if there is one */
    double allowed;
    struct compare_estimate excess; /* over what is allowed */
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

struct check {
    const struct check_options *options;
    bool has_baseline;
    struct diff diff;             /* with a baseline */
    struct diff_side alone;       /* without */
    const struct diff_side *side; /* of the profile, in either */
    struct check_result results[COMPARE_LIMITS];
    size_t results_count, exceeded, undecided;
    struct check_item *items;
    size_t items_count;
    size_t suppressed; /* findings of the profile */
};

/* A place in the source to which a finding's context 0 or 1 is pinned: the innermost line below the
   root if there is any, else the innermost of own code (show/own.h) or else that is known. file NULL: none is known. function: never
   NULL. */
struct check_place {
    const char *function, *file;
    uint32_t line;
    bool own;      /* it is own code */
    bool relative; /* file is below the root, and printed without it */
};
void check_find_place(const struct check *check, const struct check_item *item, unsigned context,
                      struct check_place *place);

/* "Dead stores: 195.3 KiB, 42.6 % of the bytes stored (appeared)" */
enum { CHECK_SENTENCE_BYTES = 1024, CHECK_MESSAGE_BYTES = 2 * CHECK_SENTENCE_BYTES };
void check_amount(const struct check_item *item, char out[CHECK_SENTENCE_BYTES]);
/* The same with both places by function. */
void check_sentence(const struct check *check, const struct check_item *item,
                    char out[CHECK_SENTENCE_BYTES]);
/* What is usually done about it, and the evidence: of what is not sampled exact. id NULL: nothing can
   be said. */
struct advice check_advice(const struct check_item *item, struct source_cache *sources);
/* Both: what was found, and what is usually done about it. */
void check_message(const struct check *check, const struct check_item *item,
                   const struct advice *advice, char out[CHECK_MESSAGE_BYTES]);
/* For advice; source_free. */
struct source_cache check_sources(const struct check *check);
/* What profile 0, the baseline, or 1 is, for the words about it; profile NULL: there is none. */
const struct profile *check_profile_of(const struct check *check, unsigned which);
extern const char *const check_of[2]; /* "baseline: ", "" */
/* Remark number `index` on what is compared, a sentence. False: there are no more. */
bool check_remark(const struct check *check, unsigned index, char out[CHECK_SENTENCE_BYTES]);
/* "waste.dead.fraction is 45.7 %, more than 5.0 %", "..., and the samples do not decide whether
   that is more than 5.0 %: 2.9 – 49.9 %" */
void check_limit_sentence(const struct check_result *result, char out[CHECK_SENTENCE_BYTES]);
/* Does the limit concern who reads annotations, and as what: "error", "warning"; NULL: no. */
const char *check_result_level(const struct check *check, const struct check_result *result);
/* "2.9 – 49.9 %", of growth "a difference of -1.2 to +3.4 pt"; "" where nothing is estimated. */
enum { CHECK_INTERVAL_BYTES = 128 };
const char *check_interval(const struct check_result *result, char out[CHECK_INTERVAL_BYTES]);

#endif
