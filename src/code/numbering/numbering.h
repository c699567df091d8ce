// SPDX-License-Identifier: MIT
/*
 * numbering: Ball–Larus path profiling (Ball, Larus, MICRO 1996; Ammons, Ball, Larus,
 * PLDI 1997 §2). Numbers the acyclic paths of a control-flow graph, places what has to be
 * counted on the chords of a maximum spanning tree, and turns numbers back into blocks.
 *
 * Host side, pure: memory and nothing else. What the same graph gives is always the same: the
 * compile wrapper numbers at compile time, the import numbers again to decode.
 *
 * A path begins at the entry, at another root, or where a cut edge leads; it ends where control leaves the
 * function or at a cut edge. Cut are all retreating edges of the depth-first search from
 * the roots in order (so irreducible graphs need no more), edges that are asked for, and, where there
 * would be too many paths, those that numbering_split adds.
 */
#ifndef HEADROOM_NUMBERING_H
#define HEADROOM_NUMBERING_H

#include "base/base.h"

/* `to` of an edge that leaves the function. */
#define NUMBERING_EXIT UINT32_MAX

enum { NUMBERING_BLOCKS_MAX = 1 << 20, NUMBERING_EDGES_MAX = 1 << 22 };

enum numbering_edge_flags {
    NUMBERING_CUT = 1,        /* in: a path ends here and another begins */
    NUMBERING_RETREATING = 2, /* out: cut because it goes back */
    /* cut by numbering_split; when decoding the caller gives it as NUMBERING_CUT */
    NUMBERING_SPLIT = 4,
};

struct numbering_edge {
    uint32_t from, to; /* blocks; several edges may join the same two (a switch) */
    uint32_t flags;    /* enum numbering_edge_flags */
    float weight; /* how often it is taken, any scale; < 0: guess from loop depth, its share among
                          the ways that its block may go being -weight. Does not change numbers,
                          only where operations are placed */
};

enum numbering_block_flags {
    NUMBERING_ROOT = 1, /* control enters from elsewhere (landing pad); block 0 always is one */
};

/* A function. Every block that is reached should reach an exit; edges of others are kept, with
   a way out added if they have none (an endless loop): see numbering_number. */
struct numbering_graph {
    uint32_t blocks_count, edges_count;
    const uint32_t *block_flags;  /* blocks_count of them, or NULL: none */
    struct numbering_edge *edges; /* flags are completed by numbering_number */
};

struct numbering;

/*
 * Numbers the paths. BASE_MALFORMED: an edge names no block, or no blocks; BASE_UNSUPPORTED: over a
 * limit; BASE_NO_MEMORY. Blocks without a way to an exit, other than by cut edges, need nothing special: a
 * cut edge ends a path.
 */
enum base_status numbering_number(struct numbering_graph *graph, struct numbering **paths);

/*
 * The same, and cuts more edges (NUMBERING_SPLIT) until there are at most `most` paths (>= 4). Cuts where much is
 * gained: edges into joins with many paths behind them, outside of loops rather than inside.
 * BASE_UNSUPPORTED: not reached (one block with more successors than that; thousands of branches and few paths).
 */
enum base_status numbering_split(struct numbering_graph *graph, uint64_t most,
                                 struct numbering **paths);

void numbering_free(struct numbering *paths); /* NULL does nothing */

/* Number of potential paths, numbered 0 .. count - 1: from roots by block (those that no root reaches are roots
   too), then from where cut edges lead. UINT64_MAX: that many or more (then nothing can be
   placed or decoded, only numbering_log2 helps). */
uint64_t numbering_count(const struct numbering *paths);

/* Logarithm to base 2 of the number of potential paths, also of 2^214. */
double numbering_log2(const struct numbering *paths);

/* A guess of how often each block is executed, from the edges' weights; blocks: room for as many as the graph has. */
enum base_status numbering_frequencies(const struct numbering *paths, double *blocks);

/* ---- operations ------------------------------------------------------------------------- */

/*
 * What to do where, with one register r for each activation. After numbering_place the operations are optimised: where r
 * is a known constant it is not read; r is not set where nobody reads it.
 */
enum numbering_operation_kind {
    NUMBERING_SET,      /* r = value */
    NUMBERING_ADD,      /* r += value */
    NUMBERING_COUNT,    /* count[r + value]++ */
    NUMBERING_COUNT_AT, /* count[value]++ */
};

/* Each path has exactly one count: on the edge that ends it, before the NUMBERING_SET of the next. Roots are entered from
   elsewhere only: what is placed there is not executed on edges between blocks that lead to them. */

/* Operations of one place in order of execution; values are non-negative but for NUMBERING_ADD and NUMBERING_COUNT. */
struct numbering_operation {
    /* edge number, or NUMBERING_AT_ROOT + block: on entry of a root, before all else */
    uint32_t place;
    uint32_t kind; /* enum numbering_operation_kind */
    int64_t value;
};
#define NUMBERING_AT_ROOT UINT32_C(0x80000000)

struct numbering_plan {
    struct numbering_operation *operations; /* by place, then in order */
    uint32_t count;
    bool needs_register; /* false: all are NUMBERING_COUNT_AT */
};

/* BASE_UNSUPPORTED: too many paths for 62 bits. Free operations with free(). */
enum base_status numbering_place(const struct numbering *paths, struct numbering_plan *plan);

/* ---- decoding ----------------------------------------------------------------------------- */

enum numbering_ends {
    NUMBERING_FROM_ENTRY = 0, /* begins at block 0 */
    NUMBERING_FROM_ROOT = 1,  /* at another root */
    NUMBERING_FROM_CUT = 2,   /* where a cut edge leads */
    /* ends at a cut edge, else leaves the function or gets stuck: then it is never counted */
    NUMBERING_TO_CUT = 4,
};

struct numbering_path {
    uint32_t ends;   /* enum numbering_ends */
    uint32_t count;  /* of edges, the last included: NUMBERING_EXIT's or the cut one */
    uint32_t first;  /* block */
    uint32_t *edges; /* caller's: room for as many as the graph has blocks + 1 */
};

/* BASE_NOT_FOUND: no such number. */
enum base_status numbering_decode(const struct numbering *paths, uint64_t number,
                                  struct numbering_path *path);

/* The number of a path that is given as above; BASE_NOT_FOUND: it is none. For engines that see blocks. */
enum base_status numbering_encode(const struct numbering *paths, const struct numbering_path *path,
                                  uint64_t *number);

/* True if all that this header promises holds, found by enumeration up to `most` paths: for tests. */
bool numbering_check(const struct numbering *paths, uint64_t most);

#endif
