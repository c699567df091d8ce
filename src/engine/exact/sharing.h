// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Cache lines that move between threads: what feeds `transfer`.
 *
 *   sharing.c   threads' virtual times, accesses, who waits for whom
 *   calls.c     calls of functions that allocate memory, join threads, wait at barriers
 *   objects.c   what lies at an address
 *   sharing_output.c  records
 *   observe.c   with `objects`: what waste and reuses lie in
 */
#ifndef HEADROOM_EXACT_SHARING_H
#define HEADROOM_EXACT_SHARING_H

#include "exact/exact.h"

#include "transfer/transfer.h"
#include <pub_tool_tooliface.h>

/* ---- sharing.c -------------------------------------------------------------------------------- */

extern struct transfer *exact_transfer; /* NULL: sharing is not followed */
/* The running thread's. Added code adds instructions to `now`, the first member. */
extern struct transfer_clock *exact_clock;
/* There is, or was, more than one thread: what one does alone moves nothing. Read by added code. */
extern ULong exact_threaded;

/* Added before init, from the registration of the tool. */
void exact_sharing_register(void);
/* Which threads there are, and where their stacks. */
void exact_threads_follow(void);
void exact_sharing_init(void);

/* Helper of added code. packed: bytes, and from bit 16 on enum transfer_kind. */
VG_REGPARM(3) void exact_sharing_access(Addr address, ULong id, ULong packed);

/* Likewise, where the thread says that it waits: the instruction pause. */
void exact_sharing_pause(void);

void exact_sharing_run_thread(ThreadId tid);
void exact_sharing_thread_begins(ThreadId tid);
void exact_sharing_thread_ends(ThreadId tid);
void exact_sharing_kernel(ThreadId tid, Addr address, SizeT bytes, UInt id, Bool store);
void exact_sharing_before_syscall(ThreadId tid, UInt number, const UWord *arguments);
void exact_sharing_after_syscall(ThreadId tid, UInt number, const UWord *arguments, SysRes result);
void exact_sharing_forked(void);
/* Counts anew: what was counted is written. */
void exact_sharing_reset(void);
/* All threads; of all of them together. */
UInt exact_sharing_threads(void);
ULong exact_sharing_instructions(void);

/* The running thread's number; how far behind its thread pointer an address is, 0: that is not known. */
UInt exact_sharing_running(void);
Long exact_sharing_behind_pointer(Addr address);

/* The file whose data lies there; 0: none. */
UInt exact_module_of_data(Addr address);

/* The running thread waited for that one, which has ended. */
void exact_sharing_joined(Addr thread_pointer);
/* A barrier at that address: the running thread arrives; it goes on, as all have arrived. */
void exact_sharing_arrive(Addr barrier);
void exact_sharing_pass(Addr barrier);

/* The thread of which an address is stack or thread-local; its number, and how far below the stack's end that is. False:
   none's. */
Bool exact_sharing_stack_of(Addr address, UInt *thread, ULong *below, Bool *is_local);

/* ---- calls.c ---------------------------------------------------------------------------------- */

/* A function that matters begins at `start`: code is added that follows the call. */
void exact_calls_add_entry(IRSB *out, Addr start);
/* Behind each return. */
void exact_calls_add_return(IRSB *out);
/* The running thread is inside an allocator. */
extern Bool exact_allocates;
void exact_calls_run_thread(ThreadId tid);
void exact_calls_thread_begins(ThreadId tid);

/* ---- objects.c -------------------------------------------------------------------------------- */

void exact_objects_init(void);
extern Bool exact_objects; /* what lies where is followed */
/* A block of the heap, allocated by the function at `function` in that context. */
void exact_objects_add(Addr start, SizeT bytes, UInt context, Addr function);
void exact_objects_remove(Addr start);
/* As transfer_options has it. */
struct transfer_object exact_objects_identify(void *unused, uint64_t address, uint64_t mask);

/* The number of what lies there; 0: not known. offset: of the address in it; of memory without an object, and of data
   without a name, the address; of stacks negative, from their upper end. */
UInt exact_objects_look_up(Addr address, Long *offset);

/* Is the line part of a file's data? Remembers what it was asked lately. */
Bool exact_objects_is_data(Addr address);

struct exact_object {
    UInt kind;     /* enum wire_object */
    UInt thread;   /* of STACK, THREAD */
    UInt context;  /* of HEAP */
    Addr function; /* of HEAP */
    ULong size;
    const HChar *name; /* NULL: none */
    UInt neighbour;    /* another object on the same line; 0: none was seen */
};
const struct exact_object *exact_object_number(UInt number);

/* ---- observe.c: what waste and reuses lie in ------------------------------------------------------ */

void exact_observe_init(void);
/* The program goes on after so many blocks of code. */
void exact_observe_slice(ULong blocks);
void exact_observe_reset(void);
struct exact_writer;
void exact_observe_output(const struct exact_writer *writer);

/* ---- sharing_output.c ------------------------------------------------------------------------- */

/* What output.c has: records, and nodes of ids and of functions in contexts. */
struct exact_writer {
    void *(*record)(UInt type, SizeT bytes);
    void (*commit)(void *record);
    UInt (*node_of)(UInt id);
    UInt (*function_node)(UInt context, Addr function);
};
void exact_sharing_output(const struct exact_writer *writer);

#endif
