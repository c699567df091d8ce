// SPDX-License-Identifier: MIT
/*
 * suggest: what would make a nest miss less: its loops in another order or in tiles, padding behind the rows of arrays or between arrays. Each
 * candidate is held against the dependences first (polyhedra/change.h), and then solved as the nest itself was (misses.h): coarsely while one
 * is looked for, for the first level alone, and in full for those that are offered.
 *
 * One thread, that of the polyhedra; the solver takes more. Memory is malloc's.
 */
#ifndef HEADROOM_SUGGEST_H
#define HEADROOM_SUGGEST_H

#include "misses/misses.h"
#include "polyhedra/change.h"

enum { SUGGEST_MAX = 4, SUGGEST_ERROR_BYTES = POLYHEDRA_ERROR_BYTES };

/* A weight for misses of each level, in comparisons: those of one count as four of the one before. */
enum { SUGGEST_WEIGHT = 4 };

struct suggestion {
    struct polyhedra_change change; /* padding: NULL, see below */
    struct polyhedra_group group;   /* that it is about, if reordered */
    bool tiled;
    uint32_t *padding;  /* elements behind each row, by array; NULL: none */
    int64_t *rows;      /* elements from row to row without it, by array; NULL if padding is */
    uint32_t gap_bytes; /* between arrays, besides their alignment; 0: none */
    struct misses_result result; /* of the nest as it would be */
    double saved;                /* share of all weighted misses */
};

struct suggestions {
    struct suggestion list
        [SUGGEST_MAX]; /* most saved first; none that comes to what a mere order of the same loops does */
    size_t count;
    size_t tried, illegal; /* candidates that were solved; that break dependences */
    bool late;             /* the deadline came before all were tried */
};

struct suggest_request {
    const struct polyhedra *polyhedra;
    size_t index;
    const struct nest *nest;            /* as it is, */
    const struct misses_result *result; /* and its misses */
    const struct misses_options *options;
    /* Gives arrays their bases, as the nest's were given. */
    void (*place)(void *context, struct nest *nest);
    void *context;
    uint64_t deadline_ns; /* CLOCK_MONOTONIC: for all of it */
};

/* Nothing found is BASE_OK, with none. Other statuses explain themselves in error. */
enum base_status suggest(const struct suggest_request *request, struct suggestions *suggestions,
                         char *error);
void suggest_free(struct suggestions *suggestions);

#endif
