// SPDX-License-Identifier: MIT
/*
 * runtime: what `headroom cc` links into a program: counters of each thread, hash tables of path
 * counts, calling-context trees. wire/instrumented.h says what it leaves behind.
 *
 * It lives in other people's programs, at function entries, in their signal handlers, before their
 * constructors and without their C library: no libc, no locks, no errno, no vector registers, little stack.
 * All that threads share is taken and published by single atomic operations; what a thread has
 * for itself may at any instruction be seen by a signal handler of that thread which does the same.
 *
 * Every module (executable, shared library) has a copy of its own, of which only headroom_slot and
 * headroom_process are seen by others: one calling-context tree goes through all of a thread's modules.
 */
#ifndef HEADROOM_RUNTIME_H
#define HEADROOM_RUNTIME_H

#include "base/base.h"
#include "base/syscall.h"
#include "wire/instrumented.h"

#define RUNTIME_SHARED __attribute__((visibility("default")))

/* ---- what inserted code uses ---------------------------------------------------------------- */

/* counter's address in headroom_counters + headroom_delta: the thread's own. 0: not begun, or there is no
   memory, and then the thread counts in the section itself, which nobody reads. */
extern __thread uint64_t headroom_delta;

/* Where the caller's record keeps its callee's; 0: nothing was entered yet in this thread. */
extern RUNTIME_SHARED __thread uint64_t headroom_slot;

/* The thread's count of accesses (access.c). */
extern RUNTIME_SHARED __thread struct instrumented_accesses headroom_accesses;

/* What measuring around a call adds to the time of the function; added code takes it off after every call. */
extern uint64_t headroom_read_cycles;

/* The recording asks for an event instead of the time stamp counter. */
extern uint32_t headroom_event;

/* Before the next path is measured so many of the thread are not; below 0: it is this one. And what
   headroom_sample draws the next from. */
extern __thread int32_t headroom_countdown;
extern __thread uint32_t headroom_seed;

/* Nothing is recorded: contexts are each function's own record. And where those of the module are. */
extern uint32_t headroom_alone;
extern uint64_t headroom_own, headroom_own_bytes;

static inline bool runtime_is_own(uint64_t address)
{
    return address - headroom_own < headroom_own_bytes;
}

/* Stubs (stubs.S, due.S), see there for registers: */
void headroom_thread_begin(void);
void headroom_count_path(void);
void headroom_count_path_cycles(void);
void headroom_enter(void);
void headroom_access_due(void);
void headroom_sample(void);
void headroom_read(void);

struct runtime_module;

/* ---- memory (memory.c) ------------------------------------------------------------------------ */

/* Addresses below are not taken for records, nor numbers above for sizes: see context.c. */
#define RUNTIME_LOWEST (UINT64_C(1) << 32)

/* Zeroed pages of the process, or NULL. */
void *runtime_map(uint64_t bytes);

/* `bytes` of the region, at address if not NULL, in place of what is there. NULL: none. */
void *runtime_map_region(struct runtime_module *module, uint64_t bytes, void *address);

/* Counts a loss. */
void runtime_lose(struct runtime_module *module);

/*
 * A piece of the region, or private memory if nothing is recorded; NULL: none, and the loss is counted.
 * bytes: with the struct instrumented_piece; rounded up to pages. All but `kind` is filled in.
 */
struct instrumented_piece *runtime_piece(struct runtime_module *module, uint64_t bytes,
                                         uint64_t of);
void runtime_fill_piece(const struct runtime_module *module, struct instrumented_piece *piece,
                        uint64_t bytes, uint64_t address, uint64_t of);

/* What it holds may be read from now on. */
static inline void runtime_publish(struct instrumented_piece *piece,
                                   enum instrumented_piece_kind kind)
{
    atomic_store_explicit(&piece->kind, kind, memory_order_release);
}

/* ---- the module (module.c) ---------------------------------------------------------------------- */

/* Memory that pieces are cut from. A full one is left as it is: it may be cut at this moment. */
struct runtime_chunk {
    uint64_t base, bytes;
    _Atomic uint64_t used;
};

struct runtime_index; /* context.c */
struct runtime_thread;

struct runtime_module {
    struct instrumented_region *region; /* header, mapped; NULL: nothing is recorded */
    char region_path[64];
    uint32_t pid, process, parent;
    uint64_t map, map_bytes, counters, counters_bytes, bias;
    _Atomic uint64_t *same;      /* 1; the kernel clears it in a forked child. NULL: it cannot */
    uint32_t modes;              /* of all its functions, enum instrumented_modes */
    bool is_program;             /* stays as long as the process */
    uint64_t record_bytes;       /* of one record for each function with contexts; 0: none */
    uint32_t functions;          /* with contexts */
    struct runtime_index *index; /* of overflow records */
    uint64_t overflow;           /* where they lie */
    struct instrumented_piece *overflow_piece; /* NULL: there are none */
    uint64_t overflow_root, overflow_bytes;
    _Atomic uint64_t overflow_used;
    _Atomic uint64_t chunk_bytes; /* of the next chunk */
    _Atomic(struct runtime_chunk *) chunk;
    _Atomic(struct runtime_thread *) threads;
    _Atomic(struct runtime_thread *) cursor; /* where the search for an ended thread goes on */
    _Atomic(struct runtime_chunk *) pool;    /* of runtime_private */
    _Atomic bool exhausted;                  /* a thread's counters could not be had */
    _Atomic uint64_t readable[64];           /* pages of code that were found to be mapped */
};

/* Begins the module if need be. Without memory it is one that records nothing. */
struct runtime_module *runtime_module_begin(void);

/* The same if it has begun, else NULL. */
struct runtime_module *runtime_module_get(void);

/* Private memory that is never given back, 16-byte aligned and zeroed. */
void *runtime_private(struct runtime_module *module, uint64_t bytes);

/* Takes a number for this process, unless another module has. */
void runtime_take_number(struct runtime_module *module);

/* The module's piece, not yet published; NULL: none. */
struct instrumented_module *runtime_describe(struct runtime_module *module);

/* ---- time (cycles.c) ------------------------------------------------------------------------------- */

/* Measures headroom_read_cycles if the module's code reads the counter and something is recorded. Returns the
   piece that says so, not yet published, or NULL. */
struct instrumented_overhead *runtime_cycles_begin(struct runtime_module *module);

/* ---- events (event.c) -------------------------------------------------------------------------------- */

struct perf_event_mmap_page;

/* Of a thread; zeroed: not opened yet. */
struct runtime_event {
    struct runtime_module *module;
    int64_t file;                            /* its descriptor */
    const struct perf_event_mmap_page *page; /* NULL: none */
    uint64_t count, base;                    /* so far; base: of events that were opened before */
    uint64_t ticks;                          /* readings */
    uint32_t openings;
};

/* From now on the thread reads its event, if one is recorded. own: its counters are not another's as well. */
void runtime_event_thread(struct runtime_module *module, struct runtime_thread *thread, bool own);

/* In the child of a fork, of all threads of the parent: opened anew at the next reading. */
void runtime_event_fork(struct runtime_thread *first);

/* In between this thread reads `event`, while the module begins. */
void runtime_event_try(struct runtime_module *module, struct runtime_event *event);
void runtime_event_tried(struct runtime_event *event);

uint64_t runtime_read_event(void);

/* ---- threads (thread.c) --------------------------------------------------------------------------- */

/* A RECORDS piece; `used` counts from its start. */
struct runtime_records {
    struct runtime_records *older;
    struct instrumented_piece *piece;
    uint64_t bytes;
    _Atomic uint64_t used;
};

/* What one thread of the module has. Outlives the thread; another one goes on with it. */
enum { RUNTIME_LATELY = 1024 };

struct runtime_thread {
    struct runtime_thread *next;
    _Atomic uint64_t owner;              /* process << 32 | thread, as the kernel numbers them */
    struct instrumented_piece *counters; /* NULL: none */
    _Atomic(struct runtime_records *) records;
    _Atomic uint64_t record_count;
    _Atomic uint64_t root, signal_root; /* addresses of records; 0: none yet */
    /* Found lately: a direct-mapped cache. A signal handler may come between the two stores; parent is 0
       meanwhile. */
    struct {
        uint64_t parent, record;
    } lately[RUNTIME_LATELY];
    struct runtime_event event;
};

extern __thread struct runtime_thread *runtime_thread;

/* Makes headroom_delta and runtime_thread what they should be. */
void runtime_begin(void);

/* ---- contexts (context.c) --------------------------------------------------------------------------- */

/* Reserves the overflow records. The module is not yet public. */
void runtime_contexts_begin(struct runtime_module *module);

/* When the module goes: nobody must find its records any more. */
void runtime_contexts_end(struct runtime_module *module);

/* Copies a RECORDS piece of `used` bytes without its header, counts, children, slots. */
void runtime_copy_records(const struct instrumented_piece *from, struct instrumented_piece *to,
                          uint64_t used);

/* Makes the records in there children of their parents, as far as those are the thread's. */
void runtime_link_records(const struct runtime_thread *thread,
                          const struct runtime_records *records);

/* ---- stubs' other halves ------------------------------------------------------------------------------ */

/* stack: where the entered function's return address lies. Returns its record. */
uint64_t runtime_enter(uint64_t entry, const uint64_t *stack);

void runtime_count_path(uint64_t path, struct instrumented_hash *hash, uint64_t cycles);

void runtime_access_due(const uint64_t *general, uint64_t ip, int64_t what);

/* In the child of a fork. */
void runtime_after_fork(void);

/* The same, if it has not been called: children made by bare system calls. To be asked before anything is made. */
static inline void runtime_check_fork(const struct runtime_module *module)
{
    if (module && module->same && !atomic_load_explicit(module->same, memory_order_relaxed))
        runtime_after_fork();
}

/* ---- system calls ----------------------------------------------------------------------------------------- */

#define RUNTIME_CALL(...) RUNTIME_CALL_PICK(__VA_ARGS__, 0, 0, 0, 0, 0, 0)
#define RUNTIME_CALL_PICK(number, a, b, c, d, e, f, ...)                                           \
    base_syscall6((number), (long)(a), (long)(b), (long)(c), (long)(d), (long)(e), (long)(f))

#endif
