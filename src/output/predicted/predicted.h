// SPDX-License-Identifier: MIT
/*
 * predicted: what was computed of loop nests without running them, for people and as JSON: misses by reference and
 * cache, what conflicts with what, what is not taken and why. Prints what it is given; no state.
 */
#ifndef HEADROOM_PREDICTED_H
#define HEADROOM_PREDICTED_H

#include "lower/lower.h"
#include "misses/misses.h"
#include "show/report.h"
#include "suggest/suggest.h"

#include <stdio.h>

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
    const char *path; /* what was analysed */
    char *const *command;
    size_t command_count;
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
void predicted_sum(const struct predicted_nest *nests, size_t count, size_t levels,
                   struct predicted_point *sum);

/* BASE_IO: the stream failed. */
enum base_status predicted_text(const struct predicted *predicted,
                                const struct report_options *options, FILE *out);
enum base_status predicted_json(const struct predicted *predicted,
                                const struct report_options *options, FILE *out);

#endif
