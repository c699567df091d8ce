// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Paths and their calling contexts, as the program runs. graphs.c knows the functions' blocks, follow.c adds code where
 * they begin, path.c keeps the states, context.c the stack of calls.
 */
#ifndef HEADROOM_EXACT_PATH_H
#define HEADROOM_EXACT_PATH_H

#include "exact/exact.h"
#include "wire/graphs.h"
#include <pub_tool_tooliface.h>

/* ---- graphs (graphs.c) ----------------------------------------------------------------- */

/* Blocks and functions of all modules are numbered through. */
struct exact_place {
    const struct wire_graph_block *block;
    UInt number; /* of the block */
    Addr start;
};

/* The block that holds an instruction; False: none is known. */
Bool exact_graph_find(Addr ip, struct exact_place *place);

const struct wire_graph_block *exact_graph_block(UInt block);
UInt exact_graph_function(UInt block);                              /* numbered through */
const struct wire_graph_edge *exact_graph_edge(UInt from, UInt to); /* NULL: there is none */
ULong exact_graph_entry(UInt function, UInt *module);

/* ---- states (path.c) ---------------------------------------------------------------------- */

/*
 * Where an activation is: in a call whose callee is not known yet or has no graph, or at a block behind certain
 * others since its path began. One set of states a vertex of the tree of contexts, so that
 * counting a path counts it in its context.
 */
enum exact_state_kind {
    EXACT_CALL,  /* of the vertex; what is called next is a child of it */
    EXACT_SITE,  /* the same, at one call site */
    EXACT_ENTRY, /* first block of a path; from here on: within a function */
    EXACT_ROOT,
    EXACT_AFTER_CUT,
    EXACT_NEXT,
    EXACT_EXIT, /* counts; nobody is ever in these */
    EXACT_CUT,
    EXACT_ACTIVATION,
};
enum { EXACT_SLOTS = 3, EXACT_STATE_SHIFT = 6 };
#define EXACT_COUNTS 0x80000000U

struct exact_state {
    /* Where it went on lately: (block + 1) << 32 | EXACT_COUNTS if that counts | state, by block modulo
       EXACT_SLOTS. */
    ULong slots[EXACT_SLOTS];
    ULong count, misses; /* of EXIT, CUT, ACTIVATION: there before the callee's block */
    UInt parent, block, vertex;
    UInt next; /* CUT, ACTIVATION: state behind it; SITE: the call site; else itself */
    UInt kind, mark;
};
_Static_assert(sizeof(struct exact_state) == 1 << EXACT_STATE_SHIFT, "added code shifts");

extern struct exact_state *exact_states;
extern struct exact_state *exact_path; /* of the running thread */
extern ULong exact_misses;             /* of the path so far */
extern ULong exact_last_line;          /* address of the line touched last, which costs nothing */

struct exact_path_totals {
    ULong misses, lost_misses, elsewhere_misses;
    ULong instructions, loads, stores; /* elsewhere */
};
extern struct exact_path_totals exact_path_totals;

/* A call instruction. */
struct exact_site {
    UInt vertex, state; /* the call state under the vertex met last */
    UInt number, module;
    Addr back;
    Bool stops; /* does not return: the path ends before it */
};
struct exact_site *exact_site_for(Addr back, Bool stops);

void exact_path_init(void);

/* The state in which what is called from the present one begins. The path may end here: see `stops`. */
struct exact_state *exact_path_called(struct exact_site *site);
/* The function is left, by a return or a jump. */
void exact_path_leave(void);
/* A path is left halfway: what it missed so far. */
void exact_path_drop(void);

/* Helpers of added code. block: number. */
VG_REGPARM(1) struct exact_state *exact_path_step(ULong block);
void exact_path_outside(void);
void exact_path_stop(void);
VG_REGPARM(2) void exact_l1(Addr address, ULong bytes);

/* ---- stack (context.c) ------------------------------------------------------------------ */

/* The state that the running activation was called with. */
struct exact_state *exact_path_entered(void);
VG_REGPARM(3) void exact_path_call(Addr sp, Addr return_address, struct exact_site *site);
VG_REGPARM(2) void exact_path_return(Addr sp, Addr target);

/* ---- added code (follow.c) ---------------------------------------------------------------- */

struct exact_follow {
    IRSB *out;
    Addr ip;             /* instruction at hand */
    Bool begun, outside; /* outside of what is known */
    Bool stops;          /* the block at hand ends without a way on, by its last instruction */
    UInt instructions, loads, stores; /* outside, not yet added */
};
void exact_follow_instruction(struct exact_follow *follow, Addr ip);
void exact_follow_access(struct exact_follow *follow, IRExpr *address, UInt bytes, Bool store,
                         IRExpr *guard);
void exact_follow_settle(struct exact_follow *follow); /* the block may be left here */
void exact_follow_end(struct exact_follow *follow, Addr after);

/* ---- output (path_output.c) ----------------------------------------------------------------- */

/* By output.c: room for a record, and its end. */
typedef void *exact_record(UInt type, SizeT bytes);
typedef void exact_commit(void *record);
void exact_path_output(exact_record *record, exact_commit *commit);
void exact_path_reset(void);

UInt exact_vertices_count(void);
struct exact_vertex {
    UInt function; /* 0 of vertex 0 means nothing */
    UInt caller;   /* call state that it is a child of */
    UInt call;     /* its own */
    ULong count;   /* when output begins */
};
struct exact_vertex *exact_vertex_number(UInt vertex);
UInt exact_states_count(void);
Bool exact_states_ran_out(void);
const struct exact_site *exact_site_number(UInt site);

#endif
