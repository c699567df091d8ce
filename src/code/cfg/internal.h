// SPDX-License-Identifier: MIT
/*
 * Between the files of cfg: code.c follows the code and finds instructions and jumps, tables.c where jumps
 * through tables go, cfg.c makes blocks and edges of it, graph.c orders them and finds
 * dominators, loops.c finds loops.
 */
#ifndef HEADROOM_CFG_INTERNAL_H
#define HEADROOM_CFG_INTERNAL_H

#include "cfg/cfg.h"
#include "util/util.h"

/* ---- instructions ---------------------------------------------------------------------------- */

/* What is known of each byte of the code. */
enum mark {
    MARK_LENGTH = 15,  /* of the instruction that starts here; 0: none does */
    MARK_LEADER = 16,  /* starts a block */
    MARK_ENDS = 32,    /* ends a block: control goes on elsewhere, or may */
    MARK_COVERED = 64, /* is in an instruction */
    MARK_ROOT = 128,
};

/* Where control goes from an instruction, besides to the next. Offsets in the code. */
struct jump {
    uint32_t at, to; /* to CFG_NONE: `flags` says what happens */
    uint32_t next;   /* number + 1 of another one to `to`; 0: none */
    uint8_t kind;    /* enum cfg_edge_kind */
    uint8_t flags;   /* enum cfg_block_flags */
};

/* A table that was read, in the data: where it begins, and where what was read of it ends. */
struct extent {
    uint64_t start, end;
};

struct walk {
    const struct cfg_code *code;
    uint8_t *marks;
    struct jump *jumps;
    uint32_t jumps_count;
    uint32_t *pending; /* offsets still to be followed */
    uint32_t pending_count;
    uint32_t *indirect; /* offsets of indirect jumps not yet understood */
    uint32_t indirect_count, indirect_tried;
    size_t jumps_capacity, pending_capacity, indirect_capacity;
    uint32_t *into;            /* by offset: number + 1 of a jump there; 0: none */
    uint32_t *seen;            /* by offset: number of the last backward search that met it */
    uint32_t searches, effort; /* tables.c: backward searches, instructions they met */
    uint32_t instructions, tables;
    struct extent *extents; /* of those, in any order */
    uint64_t *named;        /* addresses that the code takes (lea): data begins there */
    uint64_t
        *known; /* the same of an earlier walk, ascending: tables end before the next of them */
    uint32_t extents_count, named_count, known_count;
    size_t extents_capacity, named_capacity;
    bool gap; /* following what nothing jumps to: does not disturb what is known better */
    bool large, overlapping, no_memory;
};

/* Follows all of the code. False: no memory, or too large (large). */
bool walk_code(struct walk *walk);
void walk_free(struct walk *walk);

/* For qsort, of uint64_t: ascending. */
int compare_addresses(const void *left, const void *right);
/* Notes a jump and follows it. False as above. */
bool walk_jump(struct walk *walk, uint32_t at, uint64_t target, unsigned kind);

/* Was some table read beyond where other data begins? walk->named: ascending. */
bool tables_overran(const struct walk *walk);

/* Is the jump at offset `at` one through a table? Then its targets are noted. False: no memory. */
bool tables_resolve(struct walk *walk, uint32_t at, bool *resolved);

/* ---- graph -------------------------------------------------------------------------------- */

/* Sorts the edges, drops the double ones, links them to the blocks. False: no memory. */
bool graph_link(struct cfg *flow);

/* Regions, dominators, loops of linked blocks. False: no memory. */
bool graph_analyse(struct cfg *flow);

/* Depth-first search over all blocks: numbers in the order in which they are met. */
struct order {
    uint32_t *number; /* by block */
    uint32_t *block;  /* by number */
    uint32_t *last;   /* by number: greatest number in its subtree */
    uint32_t *finish; /* blocks in the order in which the search leaves them */
};

/* Loops and what is in them. False: no memory, or too much effort (*complex). */
bool loops_find(struct cfg *flow, const struct order *order, bool *complex);

#endif
