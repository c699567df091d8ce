// SPDX-License-Identifier: MIT
/*
 * compare: findings of two profiles set against each other, and figures against limits. Pure: keys
 * and numbers in, verdicts out; what a finding is called, and how, its caller knows.
 *
 * Numbers are finite and >= 0. Thread-safe: no state.
 */
#ifndef HEADROOM_COMPARE_H
#define HEADROOM_COMPARE_H

#include "base/base.h"

enum {
    COMPARE_LINES = 4, /* numbers by which findings with the same functions are distinguished */
    COMPARE_LEAST = 8, /* samples of both sides together; with fewer nothing can be significant */
    COMPARE_ERROR_BYTES = 512,
    COMPARE_TEXT_BYTES = 128, /* of a limit */
    COMPARE_LIMITS = 64,
};
#define COMPARE_NONE UINT32_MAX

/* ---- findings ------------------------------------------------------------------------------- */

struct compare_finding {
    uint32_t kind;                 /* what it means is the caller's */
    uint32_t row;                  /* the caller's */
    uint64_t functions[2];         /* hash of each side's calling context, by functions */
    uint64_t exact[2];             /* the same with all lines */
    uint32_t lines[COMPARE_LINES]; /* of the innermost code; near ones are matched first */
    double amount;                 /* bytes, reuses, instructions, ... */
    double squares; /* Σ of the squared weights that amount is the sum of; 0: not known */
    double other;   /* of exact findings with equal amounts: what else may differ */
};

struct compare_whole { /* of a kind: what shares are shares of */
    double amount, squares;
};

struct compare_side {
    const struct compare_finding *findings;
    size_t count;
    const struct compare_whole *wholes; /* by kind */
    double dispersion; /* variance of numbers of samples from run to run, by that of independent
                          samples; below 1: 1 */
};

enum compare_verdict {
    COMPARE_SAME,
    COMPARE_APPEARED,
    COMPARE_VANISHED,
    COMPARE_GREW,
    COMPARE_SHRANK,
    COMPARE_VERDICTS
};
extern const char *const compare_verdict_names[COMPARE_VERDICTS]; /* "same", "appeared", ... */

struct compare_change {
    uint32_t kind;
    uint32_t before, after; /* indices into the sides' findings; COMPARE_NONE: on one side only */
    enum compare_verdict verdict;
    bool tested;                  /* false: samples too few, or their number not known */
    bool drifted;                 /* matched, though lines differ */
    double amounts[2], shares[2]; /* before, after */
    double p; /* if tested: of so large a difference by chance, corrected for the number of
                 comparisons; 0 of exact figures that differ, 1 of those that do not */
};

/*
 * Every finding of both sides is in exactly one change. Within a kind and the same functions
 * findings with the same lines are matched, of the rest those with the nearest lines, in order of
 * lines.
 *
 * exact: any difference is real. Else the shares of the kind's whole are tested (Fisher's exact
 * test on effective numbers of samples, Holm's correction): all verdicts together are wrong with a
 * probability of `level` at most, if nothing has changed.
 *
 * Changes come by kind, the largest difference of shares first (exact: of amounts). BASE_NO_MEMORY;
 * then outputs are untouched. *changes is the caller's to free.
 */
enum base_status compare_findings(const struct compare_side *before,
                                  const struct compare_side *after, bool exact, double level,
                                  struct compare_change **changes, size_t *count);

/*
 * Two-sided p of Fisher's exact test: hits among draws, on two sides. Numbers are rounded; hits <=
 * draws.
 */
double compare_fisher(double hits_before, double draws_before, double hits_after,
                      double draws_after);

/* Multiplies p of the tested by Holm (1979), and takes back verdicts that are not significant. */
enum base_status compare_holm(struct compare_change *changes, size_t count, double level);

/* ---- limits --------------------------------------------------------------------------------- */

struct compare_limit {
    char text[COMPARE_TEXT_BYTES]; /* as given */
    char metric[COMPARE_TEXT_BYTES];
    bool growth;   /* against the baseline */
    bool relative; /* growth: value is a share of the baseline's */
    bool percent;  /* written so */
    bool points;   /* growth of a percentage, in points: "+1pt" */
    double value;  /* finite, >= 0 */
};

/*
 * "waste.dead.fraction=5%,reuse.miss@32K=+10%": METRIC=VALUE is the largest that is allowed,
 * METRIC=+VALUE the largest growth, METRIC=+N% the largest growth in per cent of the baseline,
 * METRIC=+Npt that of a percentage in points. VALUE may end in %, K, M, G (of 1024). False:
 * malformed, error holds one clause.
 */
bool compare_limits_parse(const char *text, struct compare_limit limits[COMPARE_LIMITS],
                          size_t *count, char error[COMPARE_ERROR_BYTES]);

/* The largest value that is within the limit. */
double compare_limit_allows(const struct compare_limit *limit, double baseline);

/* Of an estimate: low <= value <= high. Exact: all the same. */
struct compare_estimate {
    double value, low, high;
};

/*
 * By how much the value is larger than the limit allows, with the interval of that difference: the
 * ends of both intervals, combined as independent errors are (Zou, Donner 2008; of proportions
 * Newcombe 1998, method 10). baseline: of growth only.
 */
struct compare_estimate compare_limit_excess(const struct compare_limit *limit,
                                             const struct compare_estimate *value,
                                             const struct compare_estimate *baseline);

/* "32K" -> 32768. False: no size. */
bool compare_size_parse(const char *text, uint64_t *bytes);

/* ---- suppressions --------------------------------------------------------------------------- */

/*
 * A line "PATTERN -- REASON" or "PATTERN -> PATTERN -- REASON"; empty lines and such that begin
 * with # say nothing. PATTERN is a shell pattern for the name of a function.
 */
struct compare_suppression {
    char *first, *second; /* second NULL: one pattern, for either context */
    char *reason;
    unsigned line;
    uint64_t uses;
};

struct compare_suppressions {
    struct compare_suppression *items;
    size_t count, capacity;
};

/* BASE_MALFORMED with one clause in error, which names the line; BASE_NO_MEMORY. Outputs are then
 * untouched. */
enum base_status compare_suppressions_parse(const char *text,
                                            struct compare_suppressions *suppressions,
                                            char error[COMPARE_ERROR_BYTES]);
void compare_suppressions_free(struct compare_suppressions *suppressions);

/* Is there a function in a calling context that matches? side: 0, 1. */
typedef bool compare_has_function(void *context, unsigned side, const char *pattern);

/* The first that matches the finding, with one more use; or NULL. */
const struct compare_suppression *compare_suppressed(struct compare_suppressions *suppressions,
                                                     compare_has_function *has, void *context);

#endif
