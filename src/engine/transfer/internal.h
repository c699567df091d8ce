// SPDX-License-Identifier: MIT
/*
 * Between the files of transfer: transfer.c keeps lines and their intervals, fold.c turns intervals into transfers, results.c
 * adds these up by object, coarse.c makes places that are too many coarser.
 */
#ifndef HEADROOM_TRANSFER_INTERNAL_H
#define HEADROOM_TRANSFER_INTERNAL_H

#include "transfer/transfer.h"

enum {
    LINE_INTERVALS = 96,       /* of a line, before they are settled */
    ACCESSORS = 17,            /* of an interval: two in its own cell, three in each further one */
    KINDS_KEPT = 2,            /* of these, for kinds that the others are not of */
    LINE_PAIRS = 256,          /* of a line; more places are merged */
    FAR = 1 << 24,             /* instructions, some milliseconds: no longer a ping-pong */
    COUNT_MAX = (1 << 30) - 1, /* of an accessor */
};

/* One place that touches the same bytes again and again. */
struct accessor {
    uint64_t mask;
    uint32_t id;
    uint32_t kind : 2, count : 30; /* count 0: none, and none behind it */
};

enum cell_kind { CELL_FREE, CELL_LINE, CELL_INTERVAL, CELL_MORE };

struct cell {
    uint8_t kind, coarser; /* coarser: of intervals: how many callers their places have lost */
    uint16_t thread;
    uint32_t
        next; /* free cell; first interval of a line, the latest touched; next interval; next further cell */
    union {
        struct {
            uint32_t count;   /* intervals */
            uint32_t several; /* of more than one thread */
            uint64_t line;
            uint64_t gap;     /* accesses no further apart are one interval */
            uint32_t coarser; /* how many callers new accesses lose */
            uint32_t parted;  /* by waits: a larger gap joins too few */
            uint32_t result;  /* what was settled of it; 0: nothing yet */
        } line;
        struct {
            uint32_t more; /* further cell; 0: none */
            /* start less the time of the thread's last wait, and of its last sleep: see transfer_ago */
            uint16_t after, awake;
            uint64_t start, end; /* times of the first and last access */
            struct accessor accessors[2];
        } interval;
        struct {
            uint32_t unused[2];
            struct accessor accessors[3];
        } more;
    } u;
};
_Static_assert(sizeof(struct cell) == 64, "cells are as long as lines");
_Static_assert((uint64_t)UINT16_MAX *TRANSFER_NEAR > FAR,
               "waits are known for as long as they matter");

struct transfer {
    struct transfer_options options;
    struct transfer_memory memory;
    uint64_t lines_limit;
    uint32_t *lines;    /* by line number: its cell; 0: none */
    struct cell *cells; /* [0] is none */
    uint32_t cells_used, free_cell, free_count, hand;
    struct transfer_line *results;
    struct transfer_pair *pairs;
    struct transfer_user *users;
    uint32_t *buckets; /* of results by object and offset */
    uint32_t results_used, pairs_used, users_used, free_pair;
    struct transfer_totals totals;
    double matrix[TRANSFER_MATRIX][TRANSFER_MATRIX];
};

/* Address space for `count` items; NULL: refused. */
static inline void *transfer_map(const struct transfer *transfer, uint64_t count, size_t bytes)
{
    return transfer->memory.map(transfer->memory.context, count * bytes, true);
}

static inline void transfer_unmap(const struct transfer *transfer, void *items, uint64_t count,
                                  size_t bytes)
{
    if (items)
        transfer->memory.unmap(transfer->memory.context, items, count * bytes);
}

/*
 * How long ago a wait was: waits end at multiples of TRANSFER_NEAR, of which as many are kept as 16 bits hold. That is more than what
 * is far; of what was longer ago only that is known.
 */
static inline uint16_t transfer_ago(uint64_t start, uint64_t wait)
{
    uint64_t ago = start / TRANSFER_NEAR - wait / TRANSFER_NEAR;
    return (uint16_t)(ago < UINT16_MAX ? ago : UINT16_MAX);
}

/* And when: 0 if it was before everything. */
static inline uint64_t transfer_then(uint64_t start, uint16_t ago)
{
    uint64_t whole = start / TRANSFER_NEAR;
    return whole > ago ? (whole - ago) * TRANSFER_NEAR : 0;
}

/* The n-th accessor of an interval; NULL: there is none. */
static inline struct accessor *accessor_of(const struct transfer *transfer, struct cell *interval,
                                           unsigned n)
{
    if (n < 2)
        return interval->u.interval.accessors[n].count ? &interval->u.interval.accessors[n] : NULL;
    uint32_t at = interval->u.interval.more;
    for (n -= 2; at && n >= 3; n -= 3)
        at = transfer->cells[at].next;
    return at && transfer->cells[at].u.more.accessors[n].count
               ? &transfer->cells[at].u.more.accessors[n]
               : NULL;
}

/* ---- fold.c ---- */

/* Adds up the transfers among the line's intervals that begin before `until`, as far as they reach until then. They keep
   their counts. line: a CELL_LINE. */
void transfer_fold(struct transfer *transfer, struct cell *line, uint64_t until);

/* ---- coarse.c ---- */

enum { COARSER_TIMES = 2 }; /* a place without callers has no coarser one */
/* With so many callers less, as far as it has them. */
uint32_t transfer_coarser(const struct transfer *transfer, uint32_t id, uint32_t times);
/* All of the interval's, of the line's pairs, lose one more caller. */
void transfer_coarsen_interval(struct transfer *transfer, struct cell *interval);
void transfer_coarsen_pairs(struct transfer *transfer, struct transfer_line *result);
/* The same of one pair, and in the order that all have. */
void transfer_coarsen_pair(const struct transfer *transfer, struct transfer_pair *pair,
                           uint32_t times);
/* Are they of the same places? */
bool transfer_same_pair(const struct transfer_pair *a, const struct transfer_pair *b);
/* Adds what `added` has to a pair like it. */
void transfer_join_pairs(struct transfer_pair *all, const struct transfer_pair *added);

/* ---- results.c ---- */

enum base_status transfer_results_init(struct transfer *transfer);
void transfer_results_free(struct transfer *transfer);
void transfer_results_reset(struct transfer *transfer);
/* What is known of the line so far; NULL: there are too many of them. */
struct transfer_line *transfer_result(struct transfer *transfer, uint64_t line, uint64_t mask);
/* `amount` transfers from `a` in thread `from` to `b` in thread `to`. */
void transfer_add(struct transfer *transfer, struct transfer_line *result, uint32_t from,
                  const struct accessor *a, uint32_t to, const struct accessor *b, double amount);
/* The thread's accesses, `count` of them. */
void transfer_add_user(struct transfer *transfer, struct transfer_line *result, uint32_t thread,
                       const struct accessor *a, double count);

#endif
