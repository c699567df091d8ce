// SPDX-License-Identifier: MIT
/*
 * Between the files of numbering: numbering.c orders and numbers, split.c cuts more, weights.c finds loops and guesses
 * frequencies, place.c places operations, decode.c turns numbers into paths and back, check.c checks.
 */
#ifndef HEADROOM_NUMBERING_INTERNAL_H
#define HEADROOM_NUMBERING_INTERNAL_H

#include "numbering/numbering.h"

enum { NUMBERING_ENDED_BY = NUMBERING_CUT | NUMBERING_RETREATING | NUMBERING_SPLIT };

enum start_kind { START_ROOT = 1, START_CUT = 2 };

/* An edge of the numbered graph from ENTRY. */
struct start {
    uint32_t block, kind; /* enum start_kind */
    uint64_t value;       /* Val of the edge */
};

struct numbering {
    uint32_t blocks_count, edges_count, starts_count;
    struct numbering_edge *edges;
    uint32_t *out, *in; /* edge numbers by block, ascending; without NUMBERING_EXIT's in `in` */
    uint32_t *first_out, *first_in; /* one more than blocks */
    uint32_t *order;          /* blocks in postorder: those that uncut edges lead to come first */
    uint32_t *before, *after; /* place of a block in preorder and in postorder */
    uint8_t *kinds;           /* enum start_kind of a block, combined */
    uint64_t *number;         /* NP of a block, saturating */
    uint64_t *value;          /* Val of an edge; for a cut one: of its end */
    uint64_t *root_value, *cut_value; /* Val of ENTRY's edge to a root, to where cut edges lead */
    struct start *starts;             /* ascending by value */
    uint64_t count;
    double log2;
};

static inline bool numbering_ends(const struct numbering_edge *edge)
{
    return edge->to == NUMBERING_EXIT || edge->flags & NUMBERING_ENDED_BY;
}

static inline uint64_t numbering_add(uint64_t a, uint64_t b)
{
    uint64_t sum;
    return __builtin_add_overflow(a, b, &sum) ? UINT64_MAX : sum;
}

/* Zeroed; room for one if there are none, so that NULL always means no memory. */
void *numbering_array(size_t count, size_t bytes);

/* Numbers by the flags of the edges as they are. */
enum base_status numbering_assign(struct numbering *paths);

/* Loops around each block, by the depth-first search; whether it is the head of one. */
enum base_status numbering_loops(const struct numbering *paths, uint32_t *depths, bool *heads);

/* Which blocks reach an end of a path where something can be executed: not those where control gets stuck. */
void numbering_useful(const struct numbering *paths, bool *useful);

/* How often edges are taken and roots entered from elsewhere. */
enum base_status numbering_weigh(const struct numbering *paths, const bool *useful, double *edges,
                                 double *roots);

#endif
