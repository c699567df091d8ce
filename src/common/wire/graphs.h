// SPDX-License-Identifier: MIT
/*
 * Control-flow graphs of a module's functions, as the exact engine needs them to follow paths. It knows
 * instructions as they are executed; where functions begin, where paths are cut, headroom works out beforehand from
 * the module's file, and writes it into a file of its own. Addresses are ELF virtual addresses.
 *
 * The engine asks for a module by WIRE_GRAPHS_ASK on its message log, and headroom answers by putting
 * FOLDER/DEVICE-INODE (both in hexadecimal) in place; an empty file: nothing is known, or wanted.
 */
#ifndef HEADROOM_WIRE_GRAPHS_H
#define HEADROOM_WIRE_GRAPHS_H

#include "base/base.h"

#define WIRE_GRAPHS_MAGIC UINT64_C(0x3130465247524448) /* "HDRGRF01" */
#define WIRE_GRAPHS_ASK   "headroom: graph "           /* DEVICE-INODE PATH, one line, one write */

enum { WIRE_GRAPHS_VERSION = 1 };

/* Then: functions, blocks, edges, one after the other. */
struct wire_graphs {
    uint64_t magic;
    uint32_t version, functions, blocks, edges;
};

struct wire_graph_function {
    uint64_t entry;
    uint32_t first_edge, edges;
    uint32_t blocks;
    uint32_t reserved;
};

enum wire_graph_block_flags {
    WIRE_GRAPH_ROOT = 1,     /* landing pad: paths begin here */
    WIRE_GRAPH_CUT_INTO = 2, /* a cut edge leads here */
    WIRE_GRAPH_STOPS = 4, /* its last instruction ends the function without leaving it: a call that
                                 does not return, a trap; the path is over before that */
    /* a root behind a call that may return twice: the path ends with the call */
    WIRE_GRAPH_TWICE = 8,
};

/* By start; blocks do not overlap. */
struct wire_graph_block {
    uint64_t start;
    uint32_t bytes;
    uint32_t last;             /* offset of the last instruction */
    uint32_t function, number; /* of the function's blocks; the entry is 0 */
    uint32_t flags;            /* enum wire_graph_block_flags */
    uint32_t reserved;
};

/* Of a function by from, to; none twice. */
struct wire_graph_edge {
    uint32_t from, to; /* numbers within the function */
    uint32_t cut;
    uint32_t reserved;
};

#endif
