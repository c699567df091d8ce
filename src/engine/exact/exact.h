// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * exact: a Valgrind tool that feeds every load and store of an unmodified program to
 * `shadow` (dead and silent stores, redundant loads), `distance` (reuse) and `cache` (what another cache would
 * have missed), with calling contexts. An adaptor: what an access means is decided in those rooms.
 *
 * One instance a process. Valgrind runs one thread of the program at a time, so nothing
 * here is locked. Results go to the raw log (wire/wire.h) when the process ends or executes
 * another program.
 *
 *   main.c        registration, options, the end
 *   instrument.c  code added to the program's
 *   state.c       code taken away from it
 *   jobs.h        threads that count: jobs.c
 *   context.c     calling contexts; stacks of threads, signals, coroutines
 *   access.c      what the added code calls
 *   path.h        paths and their contexts: graphs.c, path.c, follow.c, path_output.c
 *   sharing.h     lines that move between threads: sharing.c, calls.c, objects.c, sharing_output.c
 *   window.h      instructions that were executed one after the other: window.c
 *   kernel.c      accesses of system calls, memory that comes and goes
 *   module.c      which file an instruction belongs to
 *   output.c      records
 *   trace.c       the raw access trace
 *   memory.c      memory for the rooms
 *
 * Only this room includes Valgrind's headers; it is licensed as Valgrind is (COPYING).
 */
#ifndef HEADROOM_EXACT_H
#define HEADROOM_EXACT_H

#include <pub_tool_basics.h>

#include "heapmap/heapmap.h"
#include "cache/cache.h"
#include "distance/distance.h"
#include "shadow/shadow.h"
#include "wire/wire.h"

/* ---- options (main.c) ---------------------------------------------------------------- */

/* A loop of which windows are wanted. */
struct exact_loop {
    ULong head; /* ELF virtual address */
    const HChar *path;
};
enum { EXACT_LOOPS_MAX = 16 };

struct exact_options {
    const HChar *log;      /* raw log to append to; NULL: nothing is recorded */
    const HChar *log_name; /* the same, if `log` leads nowhere any more */
    Long log_inode;        /* of both; 0: not known */
    const HChar *trace;    /* access trace; NULL: none */
    Bool trace_values;
    Bool follow; /* else forked children are not recorded; Valgrind follows them anyhow */
    Bool child;  /* the program was executed by one that is observed */
    UInt kinds;  /* wire_kind_bits; 0: no detection of waste */
    float fp_tolerance;
    ULong waste_share, waste_seed; /* of locations, of 2^32; which */
    UInt jobs;                     /* threads for waste, the program's own among them */
    Int unit_shift;                /* reuse: 0, 3, 6; -1: none */
    Bool stack;
    ULong share; /* of 2^32 */
    UInt most_locations;
    struct cache_shape caches[CACHE_MAX]; /* to simulate; with reuse, or one with paths */
    UInt caches_count;
    const HChar *graphs;       /* folder with functions' graphs; NULL: paths are not followed */
    Bool contexts, call_sites; /* of paths */
    Bool sharing;              /* lines that move between threads */
    struct exact_loop loops[EXACT_LOOPS_MAX]; /* with paths */
    UInt loops_count;
    struct cache_shape levels[CACHE_MAX]; /* of a hierarchy of caches, with loops */
    UInt levels_count;
};
extern struct exact_options exact_options;

/* ---- program code -------------------------------------------------------------------- */

/* One access of an instruction. */
struct exact_access {
    Addr ip;
    UShort bytes;
    UChar element; /* SHADOW_FLOAT | element bytes */
    UChar flags;   /* of the leaf node: WIRE_NODE_CALL, WIRE_NODE_RETURN */
    Bool store;
};

/* A context that a block was executed in, its first id there, and the context of the callee if the block ends with a call. */
struct exact_met {
    UInt context; /* NO_CONTEXT: none */
    UInt base;    /* 0: not known yet */
    UInt child;   /* NO_CONTEXT: not known yet */
};
enum { MET_FEWEST = 4 };

/*
 * A translated block. Under one calling context its accesses have consecutive ids:
 * base, base + 1, ... The base under the context met last is cached here, so that code that stays in
 * one context compares one word a block. Others met lately are in a table by their numbers, which grows when they displace each other.
 */
struct exact_block {
    ULong base;     /* under context `context` */
    UInt context;   /* NO_CONTEXT at first */
    UInt met_count; /* a power of two */
    struct exact_met *met;
    UInt displaced;                /* since the table has grown */
    UInt call_context, call_child; /* the call that ends the block, likewise */
    struct exact_met met_first[MET_FEWEST];
    UInt serial, count, module;
    Addr start;
    ULong hash; /* of the accesses: a new translation of the same code is the same block */
    struct exact_block *next;
    void *spots; /* of each access (exact_spot_of); NULL: no caches are simulated */
    struct exact_access accesses[];
};
enum { NO_CONTEXT = 0xffffffff };

void exact_blocks_init(void);
/* A block for these accesses: an earlier one if the code is the same. */
struct exact_block *exact_block_for(Addr start, const struct exact_access *accesses, UInt count);
struct exact_block *exact_block_number(UInt serial);
UInt exact_blocks_count(void);

/* ---- contexts (context.c) --------------------------------------------------------------- */

struct exact_context {
    UInt parent;
    UShort module, depth; /* depth: callers, 1 below the outermost */
    Addr return_address;
};

/*
 * Context of the running thread; 0: outermost. Read by added code. Where there are more contexts, or more ids, than
 * there is memory for, those met later stand under EXACT_LOST with their innermost caller alone, and when there is
 * no more for these with none.
 */
enum { EXACT_LOST = 1 };
extern UInt exact_current;
/* Stack pointer of the innermost call of the running thread; added code asks for help when a jump
   leaves it behind. */
extern Addr exact_top;
/* Bytes that the stack pointer passes over at once on one stack, other than by making frames. */
enum { EXACT_NEAR = 1 << 12 };

void exact_contexts_init(void);
/* None is met yet. */
void exact_block_begin_contexts(struct exact_block *block);
/* Helpers of added code. */
VG_REGPARM(1) void exact_enter_block(struct exact_block *block);
VG_REGPARM(3) void exact_on_call(Addr sp, Addr return_address, struct exact_block *block);
VG_REGPARM(2) void exact_on_return(Addr sp, Addr target);
VG_REGPARM(1) void exact_on_jump(Addr sp);

/* Ids of `block` in the thread's context. */
ULong exact_ids(ThreadId tid, const struct exact_block *block);

/* The frame of the running thread's stack that an address is in: its canonical frame address, and an instruction that is
   executed there, 0: the innermost's. */
Bool exact_frame_of(Addr address, Addr *canonical, Addr *code);

void exact_run_thread(ThreadId tid, ULong blocks); /* start_client_code */
void exact_thread_begins(ThreadId tid);
void exact_thread_ends(ThreadId tid);
void exact_threads_forked(void);
void exact_before_signal(ThreadId tid, Int signal, Bool alternate);
void exact_after_signal(ThreadId tid, Int signal);

UInt exact_ids_used(void);
UInt exact_contexts_count(void);
UInt exact_threads_count(void);
Bool exact_ids_ran_out(void);
const struct exact_context *exact_context_number(UInt context);
enum { EXACT_CONTEXTS_MAX = 5 << 18 };
/* The node of a context in a stream of nodes, parents first: nodes[context], those that are 0 yet are made. */
UInt exact_context_node(UInt context, UInt *nodes,
                        UInt (*make)(UInt parent, UInt module, UInt flags, Addr address));

/* Walks all (block, context) in order of base. NULL at the end. */
struct exact_activation {
    UInt base, context, block;
};
const struct exact_activation *exact_activations(UInt *count);
const struct exact_activation *exact_activation_of(UInt id);

/*
 * For tables with a bound: the same access with its innermost caller alone, then without callers, then, of all accesses
 * together that are alike in what totals distinguish, "other" (no instruction). That is its own.
 */
UInt exact_coarser(void *unused, UInt id);
/* It will be asked for soon. */
void exact_foresee_coarser(void *unused, UInt id);
const struct exact_access *exact_access_of(UInt id);
/* Merged so: an access of no instruction. */
static inline Bool exact_is_other(const struct exact_access *access)
{
    return !access->ip;
}

/* ---- access (access.c) ---------------------------------------------------------------------- */

extern struct shadow exact_shadow;
extern struct distance *exact_distance;
extern struct cache_bank exact_caches;
extern ULong exact_time; /* accesses so far, for reuse; added code adds to it */

/*
 * What an access of a block was to the simulated caches, whatever the context. step: bytes from one execution to the next, those of the
 * majority if there is one (Boyer, Moore), which has the votes.
 */
struct exact_spot {
    ULong accesses, bytes;
    Addr low, end; /* of the memory that it touched */
    Addr last;
    ULong step, votes;
    ULong misses[]; /* of each cache */
};
void exact_spots_make(struct exact_block *block); /* if it has none yet */
struct exact_spot *exact_spot_of(const struct exact_block *block, UInt access);
void exact_spots_reset(void);

void exact_access_init(void);

/* ---- kernel (kernel.c) ------------------------------------------------------------------------ */

void exact_kernel_init(void);
void exact_kernel_end(void);                           /* no more of them are seen */
extern ULong exact_kernel_loaded, exact_kernel_stored; /* bytes */

/* ---- modules (module.c) ------------------------------------------------------------------------- */

struct exact_module {
    Addr start, end, bias;
    ULong device, inode;
    /* Of the program's own file: how many bytes of thread-local memory it has, and how far before the thread pointer they begin; 0: none. */
    ULong local_bytes, local_before;
    const HChar *path;
};

/* 1, 2, ...; 0: no file. */
UInt exact_module_of(Addr address);
const struct exact_module *exact_module_number(UInt module);
UInt exact_modules_count(void);
/* The program's own file; 0: not known. */
UInt exact_module_of_program(void);
void exact_module_gone(void); /* mappings have changed */

/* ---- main (main.c) -------------------------------------------------------------------------------- */

/*
 * One sentence for headroom's user. Ends the process, with 125: before the program that was asked for, nothing has begun. A
 * program that this one has executed must run all the same, without being observed: before it begins this returns to
 * where the engine was started.
 */
void exact_fail(const HChar *sentence);

/* ---- output (output.c) ----------------------------------------------------------------------------- */

void exact_output_init(void);
/* Writes everything counted so far and begins to count anew. */
void exact_output(void);
void exact_output_forked(void);
/* Moves a descriptor to where the program's own are not; of Valgrind's core, in no public header. */
Int VG_(safe_fd)(Int descriptor);

/* ---- memory (memory.c) --------------------------------------------------------------------------------- */

/* The program's memory is below, but for what it insists on having elsewhere; the engine's is above. */
#define EXACT_PROGRAM_END (UINT64_C(1) << 43)
/* To be called first, before the program runs. */
void exact_memory_init(void);
/* Is some of that where the engine's memory is, or may be? */
Bool exact_memory_holds(Addr start, SizeT bytes);
/* Zeroed, backed when touched. NULL: refused. */
void *exact_reserve(SizeT bytes);
extern const struct shadow_memory exact_memory;
extern const struct distance_memory exact_distance_memory;
extern const struct heapmap_memory exact_heapmap_memory;

#endif
