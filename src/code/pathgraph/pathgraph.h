// SPDX-License-Identifier: MIT
/*
 * pathgraph: functions of a module as path profiles see them: blocks and edges of `cfg`, with parts that the compiler split off
 * joined to their function, split behind calls that return twice, with what blocks load and store, and
 * cut where `numbering` cuts. From the same file it is always the same: the exact engine is given graphs before a
 * recording, the import works them out again.
 *
 * Host side; reads modules through `binary`, writes what wire/graphs.h lays down.
 */
#ifndef HEADROOM_PATHGRAPH_H
#define HEADROOM_PATHGRAPH_H

#include "binary/binary.h"
#include "numbering/numbering.h"

/* ---- which functions return ----------------------------------------------------------------- */

struct pathgraph_returns_slot {
    uint64_t key; /* address << 1 | cell, + 1; 0: empty */
    bool returns;
};

struct pathgraph_returns {
    struct binary *binary;
    struct pathgraph_returns_slot slots[4096]; /* forgets what falls together */
    uint64_t code_bytes;                       /* of all graphs that were made with it */
};

void pathgraph_returns_begin(struct pathgraph_returns *returns, struct binary *binary);

/* As cfg_code.returns asks; context: a struct pathgraph_returns. */
bool pathgraph_returns_of(void *context, uint64_t callee, bool cell);

/* Linkage name of what is called at `callee`, or through the cell there; NULL: not known. Other modules' too. */
const char *pathgraph_callee(struct binary *binary, uint64_t callee, bool cell);

/* ---- one function ------------------------------------------------------------------------------ */

struct pathgraph_block {
    uint64_t start, end, last; /* last: address of the last instruction */
    uint32_t instructions;     /* without nops that align the next block */
    uint32_t loads, stores;    /* accesses; an instruction may have several */
    uint32_t flags;            /* enum wire_graph_block_flags */
    bool approximate;          /* holds repeated or conditional accesses */
};

struct pathgraph_call {
    uint64_t back; /* the return address */
    uint32_t block;
    bool indirect;
};

struct pathgraph {
    uint64_t entry;
    const char *name;               /* linkage name, "": none; the binary's */
    struct pathgraph_block *blocks; /* the entry first, then by address */
    struct pathgraph_call *calls;   /* by address */
    /* edges by from, then fall, taken, jump, table, leaving */
    struct numbering_graph numbering_graph;
    struct numbering *paths; /* its numbering */
    uint32_t blocks_count, calls_count;
    size_t calls_capacity;
    bool incomplete; /* a jump was not understood */
};

/* The function that begins at `start`. BASE_NOT_FOUND: none begins there, or no code. BASE_NO_MEMORY, BASE_UNSUPPORTED. */
enum base_status pathgraph_of(struct pathgraph_returns *returns, uint64_t start,
                              struct pathgraph **graph);
void pathgraph_free(struct pathgraph *graph); /* NULL does nothing */

/* ---- a module ---------------------------------------------------------------------------------- */

/*
 * Writes the graphs of all functions of the module at `module` to a new file `path`, put in place
 * whole. An empty one if there are none, or for module NULL.
 */
enum base_status pathgraph_write(const char *module, const char *path);

#endif
