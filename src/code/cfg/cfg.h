// SPDX-License-Identifier: MIT
/*
 * cfg: control flow of one function, from its machine code: basic blocks, edges,
 * dominators, loops and how they nest.
 *
 * Host side. Pure but for memory: no files, no state after cfg_start(); a struct cfg
 * does not change once it is made. Code is hostile input: any bytes give a graph, in time and memory
 * that the limits below bound.
 *
 * What it cannot know: where jumps through pointers go, but for tables as compilers lay them out for
 * switch and computed goto; and by itself which calls return. Code that nothing is known to jump to
 * (exception handlers, targets of jumps that were not understood) is found by looking at what the
 * rest leaves over; it makes roots of its own.
 */
#ifndef HEADROOM_CFG_H
#define HEADROOM_CFG_H

#include "base/base.h"

enum {
    CFG_BYTES_MAX = 1 << 24,        /* of a function; larger ones: BASE_UNSUPPORTED */
    CFG_INSTRUCTIONS_MAX = 1 << 20, /* a larger function has no blocks, and CFG_LARGE is set */
    CFG_EDGES_MAX = 1 << 22,        /* the same */
    CFG_SWEEP_MAX = 1 << 14,        /* bytes */
    CFG_WAYS_MAX = 4,
};

/* No block, no loop's head, not in this function. */
#define CFG_NONE UINT32_MAX

enum cfg_edge_kind {
    CFG_FALL,  /* into the next block, also where a branch is not taken */
    CFG_TAKEN, /* conditional branch */
    CFG_JUMP,
    CFG_TABLE, /* jump through a table; one edge for equal targets */
};

struct cfg_edge {
    uint32_t from, to; /* blocks */
    uint32_t kind;     /* enum cfg_edge_kind */
};

/* How a block can leave the function, and what else it does; several may hold. */
enum cfg_block_flags {
    CFG_RETURNS = 1,
    CFG_LEAVES = 2, /* jumps or falls to an address outside: tail call, other part */
    CFG_STOPS = 4,  /* ends in a trap, a call that does not return, or no instruction */
    /* ends in an indirect jump that is not understood: tail call or unknown successors */
    CFG_UNRESOLVED = 8,
    CFG_CALLS = 16,
    CFG_ROOT = 32, /* control comes from elsewhere: the entry, or see above */
    CFG_EXIT = CFG_RETURNS | CFG_LEAVES | CFG_STOPS | CFG_UNRESOLVED,
};

struct cfg_block {
    uint64_t start, end, last; /* last: address of the last instruction */
    uint32_t instructions;
    uint32_t flags;             /* enum cfg_block_flags */
    uint32_t first_edge, edges; /* successors: cfg.edges[first_edge ...] */
    uint32_t first_into, into;  /* predecessors: cfg.edges[cfg.into[first_into ...]] */
    uint32_t region;            /* root from which it was reached first, counted from 0 */
    uint32_t dominator;         /* immediate; CFG_NONE for roots */
    uint32_t loop;              /* innermost; 0: none */
};

enum cfg_loop_flags {
    /* can be entered elsewhere than at its head, which then is one of several */
    CFG_IRREDUCIBLE = 1,
};

/*
 * All that a head has back edges from is one loop. Irreducible ones are nested as Havlak does it.
 */
struct cfg_loop {
    uint32_t parent; /* < own id; 0: outermost */
    uint32_t head;   /* block */
    uint32_t depth;  /* 1: outermost */
    uint32_t flags;  /* enum cfg_loop_flags */
    uint32_t blocks; /* with those of the loops inside */
};

enum cfg_flags {
    CFG_LARGE = 1,       /* over a limit: no blocks */
    CFG_COMPLEX = 2,     /* over a limit of effort: blocks and edges, but no dominators and loops */
    CFG_INCOMPLETE = 4,  /* some blocks are CFG_UNRESOLVED */
    CFG_OVERLAPPING = 8, /* instructions within instructions */
};

struct cfg {
    uint64_t start, end;      /* of the function's code */
    struct cfg_block *blocks; /* by address; the one at `start` is the entry, if it decodes */
    struct cfg_edge *edges;   /* by from, kind, to; none twice */
    uint32_t *into;           /* numbers of edges, by to */
    struct cfg_loop *loops;   /* loops[0] is none; by the order in which a search meets the heads */
    uint32_t blocks_count, edges_count, loops_count; /* loops_count includes loops[0]: at least 1 */
    uint32_t flags;                                  /* enum cfg_flags */
    uint32_t instructions;
    uint32_t tables; /* jumps through tables that were understood */
};

/* Before all else, and before threads use isa: gives isa the decoder. */
enum base_status cfg_start(void);

struct cfg_code {
    const uint8_t *bytes; /* of the function, `count` of them */
    size_t count;
    uint64_t start; /* address of the first */
    /* Reads tables: data of the module, as it would be if loaded at its own addresses, with relocations
       that depend on nothing else applied. May fail. */
    struct base_memory data;
    /*
     * Does the function at `callee` return? With `cell` callee is where the module keeps its
     * address (call *cell(%rip)). NULL: all do. It matters: behind a call that does not return lies
     * code that has nothing to do with it, and a way there makes loops of what is none.
     */
    bool (*returns)(void *context, uint64_t callee, bool cell);
    void *context;
};

/*
 * Can this function return? False if there is no return in it, nor a jump that goes who knows where; such are
 * those that end in exit() or a throw. bytes: all of it, from `start`; looks at no more than
 * CFG_SWEEP_MAX of them and then says true. What it jumps to outside of itself (CFG_WAYS_MAX, more: true)
 * is given in ways: the answer false holds if what is there does not return either.
 */
bool cfg_may_return(const uint8_t *bytes, size_t count, uint64_t start, uint64_t ways[CFG_WAYS_MAX],
                    size_t *ways_count);

/*
 * The flow of a function. BASE_NO_MEMORY; BASE_UNSUPPORTED: more than CFG_BYTES_MAX, or no
 * decoder. Everything else is a struct cfg, perhaps with flags; end it with cfg_free.
 */
enum base_status cfg_of_code(const struct cfg_code *code, struct cfg **flow);

/*
 * The same for a graph that comes from elsewhere. Blocks 0 .. count - 1, block i at [i, i + 1); block 0
 * is the entry. BASE_MALFORMED: an edge names no block. BASE_NO_MEMORY, BASE_UNSUPPORTED (limits).
 */
enum base_status cfg_of_graph(uint32_t count, const struct cfg_edge *edges, uint32_t edges_count,
                              struct cfg **flow);

/* For qsort: the order in which a struct cfg has its edges. */
int cfg_compare_edges(const void *left, const void *right);

void cfg_free(struct cfg *flow); /* NULL does nothing */

/* Block that holds an address; CFG_NONE. */
uint32_t cfg_block_at(const struct cfg *flow, uint64_t address);

/* Innermost loop around an address; 0: none. */
uint32_t cfg_loop_at(const struct cfg *flow, uint64_t address);

/* Is the block in the loop, or in one within it? */
bool cfg_loop_holds(const struct cfg *flow, uint32_t loop, uint32_t block);

/* Is no other loop in it? */
bool cfg_is_innermost(const struct cfg *flow, uint32_t loop);

/* Does a dominate b? Every block dominates itself. Takes time by the depth of the tree. */
bool cfg_dominates(const struct cfg *flow, uint32_t a, uint32_t b);

/* What registers tell of how far a thread is in a loop. */
enum cfg_progress_kind {
    CFG_PROGRESS_UNKNOWN,
    /* each iteration executes the same instructions, and adds `step` to a register that nothing else in the loop
       writes: between two moments in one execution of the loop there are as many iterations as `step` is
       contained in the difference */
    CFG_PROGRESS_COUNTER,
    /* busy waiting: an iteration reads memory, writes none, and leaves nothing in registers that the next one uses.
       So it ends only when something else changes that memory */
    CFG_PROGRESS_NONE,
};

struct cfg_progress {
    uint8_t kind;           /* enum cfg_progress_kind */
    uint8_t counter, bytes; /* enum base_register; 4 or 8 lower bytes of it count */
    int64_t step;           /* not 0 */
    uint32_t written; /* bit r: register r is written in the loop; not set if kind is UNKNOWN */
    uint32_t instructions; /* of all its blocks; likewise */
};

/* Of an innermost loop without calls; of all others, and where anything is not understood, UNKNOWN. code: what flow was
   made of. */
void cfg_progress(const struct cfg *flow, const struct cfg_code *code, uint32_t loop,
                  struct cfg_progress *progress);

/* True if all that this header promises holds; for tests. */
bool cfg_check(const struct cfg *flow);

#endif
