// SPDX-License-Identifier: MIT
/*
 * paths: Ball–Larus path profiling (Ball, Larus, MICRO 1996; Ammons, Ball, Larus,
 * PLDI 1997 §2): numbers the acyclic paths of a control-flow graph, places what has to be
 * counted on the chords of a maximum spanning tree, and turns numbers back into blocks.
 *
 * Host side, pure: memory and nothing else. What the same graph gives is always the same: the
 * compile wrapper numbers at compile time, the import numbers again to decode.
 *
 * A path begins at the entry, at another root, or where a cut edge leads; it ends where control leaves the
 * function or at a cut edge. Cut are all retreating edges of the depth-first search from
 * the roots in order (so irreducible graphs need no more), edges that are asked for, and, where there
 * would be too many paths, those that paths_split adds.
 */
#ifndef HEADROOM_PATHS_H
#define HEADROOM_PATHS_H

#include "base/base.h"

/* `to` of an edge that leaves the function. */
#define PATHS_EXIT UINT32_MAX

enum { PATHS_MOST_BLOCKS = 1 << 20, PATHS_MOST_EDGES = 1 << 22 };

enum paths_edge_flags {
    PATHS_CUT = 1,       /* in: a path ends here and another begins                             */
    PATHS_RETREATING = 2, /* out: cut because it goes back                                      */
    PATHS_SPLIT = 4,     /* cut by paths_split; when decoding the caller gives it as PATHS_CUT  */
};

struct paths_edge {
    uint32_t from, to; /* blocks; several edges may join the same two (a switch)                */
    uint32_t flags;    /* enum paths_edge_flags                                                 */
    float weight;      /* how often it is taken, any scale; < 0: guess from loop depth, its share among
                          the ways that its block may go being -weight. Does not change numbers,
                          only where operations are placed                                      */
};

enum paths_block_flags {
    PATHS_ROOT = 1,    /* control enters from elsewhere (landing pad); block 0 always is one     */
};

/* A function. Every block that is reached should reach an exit; edges of others are kept, with
   a way out added if they have none (an endless loop): see paths_number. */
struct paths_graph {
    uint32_t blocks_count, edges_count;
    const uint32_t *block_flags; /* blocks_count of them, or NULL: none  */
    struct paths_edge *edges;    /* flags are completed by paths_number  */
};

struct paths;

/*
 * Numbers the paths. BASE_MALFORMED: an edge names no block, or no blocks; BASE_UNSUPPORTED: over a
 * limit; BASE_NO_MEMORY. Blocks without a way to an exit, other than by cut edges, need nothing special: a
 * cut edge ends a path.
 */
enum base_status paths_number(struct paths_graph *graph, struct paths **paths);

/*
 * The same, and cuts more edges (PATHS_SPLIT) until there are at most `most` paths (>= 4). Cuts where much is
 * gained: edges into joins with many paths behind them, outside of loops rather than inside.
 * BASE_UNSUPPORTED: not reached (one block with more successors than that; thousands of branches and few paths).
 */
enum base_status paths_split(struct paths_graph *graph, uint64_t most, struct paths **paths);

void paths_free(struct paths *paths); /* NULL does nothing */

/* Number of potential paths, numbered 0 .. count - 1: from roots by block (those that no root reaches are roots
   too), then from where cut edges lead. UINT64_MAX: that many or more (then nothing can be
   placed or decoded, only paths_log2 helps). */
uint64_t paths_count(const struct paths *paths);

/* Logarithm to base 2 of the number of potential paths, also of 2^214. */
double paths_log2(const struct paths *paths);

/* A guess of how often each block is executed, from the edges' weights; blocks: room for as many as the graph has. */
enum base_status paths_frequencies(const struct paths *paths, double *blocks);

/* ---- operations ------------------------------------------------------------------------- */

/*
 * What to do where, with one register r for each activation. After paths_place the operations are optimised: where r
 * is a known constant it is not read; r is not set where nobody reads it.
 */
enum paths_operation_kind {
    PATHS_SET,       /* r = value                    */
    PATHS_ADD,       /* r += value                   */
    PATHS_COUNT,     /* count[r + value]++           */
    PATHS_COUNT_AT,  /* count[value]++               */
};

/* Each path has exactly one count: on the edge that ends it, before the PATHS_SET of the next. Roots are entered from
   elsewhere only: what is placed there is not executed on edges between blocks that lead to them. */

/* Operations of one place in order of execution; values are non-negative but for PATHS_ADD and PATHS_COUNT. */
struct paths_operation {
    uint32_t place; /* edge number, or PATHS_AT_ROOT + block: on entry of a root, before all else */
    uint32_t kind;  /* enum paths_operation_kind                                                */
    int64_t value;
};
#define PATHS_AT_ROOT UINT32_C(0x80000000)

struct paths_plan {
    struct paths_operation *operations; /* by place, then in order */
    uint32_t count;
    bool needs_register; /* false: all are PATHS_COUNT_AT */
};

/* BASE_UNSUPPORTED: too many paths for 62 bits. Free operations with free(). */
enum base_status paths_place(const struct paths *paths, struct paths_plan *plan);

/* ---- decoding ----------------------------------------------------------------------------- */

enum paths_ends {
    PATHS_FROM_ENTRY = 0, /* begins at block 0                                  */
    PATHS_FROM_ROOT = 1,  /* at another root                                    */
    PATHS_FROM_CUT = 2,   /* where a cut edge leads                             */
    PATHS_TO_CUT = 4,     /* ends at a cut edge, else leaves the function or gets stuck: then it is never counted */
};

struct paths_path {
    uint32_t ends;   /* enum paths_ends                                         */
    uint32_t count;  /* of edges, the last included: PATHS_EXIT's or the cut one */
    uint32_t first;  /* block                                                   */
    uint32_t *edges; /* caller's: room for as many as the graph has blocks + 1  */
};

/* BASE_NOT_FOUND: no such number. */
enum base_status paths_decode(const struct paths *paths, uint64_t number, struct paths_path *path);

/* The number of a path that is given as above; BASE_NOT_FOUND: it is none. For engines that see blocks. */
enum base_status paths_encode(const struct paths *paths, const struct paths_path *path,
                              uint64_t *number);

/* True if all that this header promises holds, found by enumeration up to `most` paths: for tests. */
bool paths_check(const struct paths *paths, uint64_t most);

#endif
