// SPDX-License-Identifier: MIT
/*
 * predict: what was computed of loop nests without running them, into a profile: misses by reference and cache, what
 * conflicts with what, changes that would miss less, what is not taken and why. No state.
 */
#ifndef HEADROOM_PREDICT_H
#define HEADROOM_PREDICT_H

#include "lower/lower.h"
#include "misses/misses.h"
#include "profile/profile.h"
#include "suggest/suggest.h"

struct predicted_nest {
    const struct nest *nest;
    struct misses_result result;
    struct misses_result simulated; /* --verify: every access; references NULL: not asked for */
    const struct suggestions *suggestions; /* NULL: not asked for */
    const char *late; /* why there is no simulation; NULL: there is, or it was not asked for */
};

/* All nests together, for one value of a parameter. */
struct predicted_point {
    int64_t value;
    uint64_t accesses;
    struct misses_figure totals[MISSES_LEVELS];
};

struct predicted {
    const char *path;   /* what was analysed */
    const char *placed; /* where the arrays lie: a clause */
    const struct misses_level *levels;
    size_t levels_count;
    const struct predicted_nest *nests;
    size_t nests_count;
    const char *swept; /* --sweep: the parameter; NULL: none. There are no nests then. */
    const struct predicted_point *points;
    size_t points_count;
    const struct lower_rejected *rejected;
    size_t rejected_count;
};

/* Sets all but the value. Each nest begins with empty caches. */
void predict_sum(const struct predicted_nest *nests, size_t count, size_t levels,
                 struct predicted_point *sum);

/* Into a profile that has nothing of the kind yet; texts are copied. BASE_NO_MEMORY: rows may be missing. */
enum base_status predict_record(const struct predicted *predicted, struct profile *profile);

#endif
