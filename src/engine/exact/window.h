// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Windows: some thousand instructions that one thread executed one after the other, from an execution of a loop's head on, with the
 * addresses of their accesses. For each loop that was asked for a few are kept, drawn from all executions of its head.
 *
 * Code is added to all blocks: it says which piece of code is executed, and where its accesses are, as long as the running
 * thread's window is open; else it costs a comparison each.
 */
#ifndef HEADROOM_EXACT_WINDOW_H
#define HEADROOM_EXACT_WINDOW_H

#include "exact/exact.h"
#include <pub_tool_tooliface.h>

enum {
    WINDOW_INSTRUCTIONS = 4096, /* that a window ends behind, with the piece at hand */
    WINDOW_KEPT = 4,            /* of a loop */
};

/* Loops were asked for. */
Bool exact_windows(void);
void exact_windows_init(void);

/* ---- added code, block by block ------------------------------------------------------------ */

/* A piece: instructions that follow one another in memory and are left at the end only. */
struct exact_piece;

struct exact_windowing {
    IRSB *out;
    struct exact_piece *piece; /* at hand; NULL: the next instruction begins one */
    Addr next;                 /* where it would go on */
    UInt instructions, accesses;
    IRExpr *open; /* I1: while the piece at hand runs */
};

void exact_window_instruction(struct exact_windowing *windowing, Addr ip, UInt length);
void exact_window_add_access(struct exact_windowing *windowing, IRExpr *address, UInt bytes,
                             Bool store, IRExpr *guard);
/* The block may be left here; and here it ends. */
void exact_window_exit(struct exact_windowing *windowing);
void exact_window_end(struct exact_windowing *windowing);

/* ---- as the program runs --------------------------------------------------------------------- */

void exact_window_run_thread(ThreadId tid);
void exact_window_thread_ends(ThreadId tid);
/* What is kept was written, or is the parent's. */
void exact_windows_reset(void);

/* By output.c. */
typedef void *exact_window_record(UInt type, SizeT bytes);
typedef void exact_window_commit(void *record);
void exact_windows_output(exact_window_record *record, exact_window_commit *commit);

#endif
