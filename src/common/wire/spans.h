// SPDX-License-Identifier: MIT
/*
 * Memory that headroom and the processes observed by `headroom interference` share: which functions are hooked and
 * how, and what their executions took. A sparse memfd beside the region of wire.h; wire_config.spans has its descriptor.
 * What is in it when a process dies is complete, however it dies.
 *
 * A *span* is a function (or a marked part of one, or a sequence of such) executed by a thread, distinguished by the value of
 * its key argument and by what it called (its *shape*). Of each span there is a count, a sum, a minimum and a histogram of
 * durations, never a trace (ispot §2: SCI needs no more).
 *
 * Durations are ticks of the time stamp counter, without the time in which the thread was preempted.
 *
 * Threads: functions are appended by headroom and by agents, each entry valid once `state` says so, never removed. A piece is
 * written by its owner alone; headroom reads it when the program has ended, or a snapshot that may be torn.
 */
#ifndef HEADROOM_WIRE_SPANS_H
#define HEADROOM_WIRE_SPANS_H

#include "base/base.h"
#include <stdatomic.h>

#define SPANS_MAGIC        UINT64_C(0x31304b4c42524448) /* "HDRBLK01" */
#define SPANS_REGION_BYTES (UINT64_C(1) << 40)          /* of the memfd; sparse */

enum {
    SPANS_VERSION = 5,
    SPANS_PAGE = 4096,
    SPANS_FUNCTIONS = 1024, /* hooked ones in a recording; number 0 is no function */
    SPANS_NAME = 152,
    SPANS_THREAD_NAME = 16,
    SPANS_OF_THREAD = 1024,  /* in one thread */
    SPANS_OF_FUNCTION = 128, /* in one thread; what is more is counted in its `rest` */
    SPANS_BINS = 136,
    SPANS_STACKS = 8, /* different ones kept of a span in a thread */
    SPANS_HOLDERS = 4,
    SPANS_SAMPLES = 48,
    SPANS_CHILDREN = 8,  /* of a sequence, kept for people */
    SPANS_EVENTS = 1024, /* last executions of a thread */
    SPANS_AREAS = 4,
    SPANS_NEW_MODULES = 64,
    SPANS_BUDGET = 48 << 20, /* bytes of spans in a recording */
    SPANS_LOOPS = 256,       /* of all threads, in a recording */
    SPANS_SAMPLED_THREADS = 512,
};

/* ---- functions ------------------------------------------------------------------------------- */

/* What kind of function it is, as far as its name shows: evidence for the cause. */
enum spans_class {
    SPANS_CODE, /* of the program, or unknown */
    SPANS_LOCK, /* takes a lock */
    SPANS_UNLOCK,
    SPANS_CONDITION, /* waits for a condition variable, semaphore, ... */
    SPANS_BARRIER,   /* waits for all threads of a team */
    SPANS_IO,        /* transfers data by file descriptor */
    SPANS_IDLE,      /* waits for something to happen: epoll_wait, nanosleep, join */
    SPANS_ALLOCATOR,
    SPANS_CLASSES
};

enum spans_entry {
    SPANS_IMPORT,   /* calls from other modules: entries of their global offset tables */
    SPANS_PATCHED,  /* a jump in place of its first instructions */
    SPANS_PREPARED, /* the same in place of a nop made for that (headroom cc --functions,
                                   -fpatchable-function-entry) */
    SPANS_CALLED,   /* calls __cyg_profile_func_enter (-finstrument-functions) */
    SPANS_MARKED,   /* HEADROOM_BEGIN .. HEADROOM_END */
    SPANS_LOOP, /* not hooked: a loop in a function of that name, its head at vaddr, of whose iterations samples say how
                       many there were. An execution is a number of iterations; of class CONDITION it waits by
                       spinning, and an execution is a stretch of time */
    SPANS_ENTRIES
};

enum spans_key {
    SPANS_KEY_NONE,
    SPANS_KEY_VALUE, /* the argument itself */
    SPANS_KEY_SIZE,  /* the power of two that it reaches, rounded up */
};

enum { SPANS_EMPTY, SPANS_FILLING, SPANS_READY };

struct spans_function {
    _Atomic uint32_t state; /* READY: the rest is there */
    uint8_t class;          /* enum spans_class */
    uint8_t entry;          /* enum spans_entry */
    uint8_t key;            /* enum spans_key */
    uint8_t key_argument;   /* 0..5: integer argument that is the key */
    _Atomic uint32_t every; /* one execution in so many is recorded, 1: all; threads raise it for
                                   themselves when it costs too much */
    _Atomic uint32_t often; /* enum spans_often */
    /* 1: headroom chose it because it calls functions that take locks: it is hooked from when its
       module is loaded, and stays hooked however often it is executed */
    uint32_t takes_locks;
    uint32_t named;  /* number, from 1, of the pattern that named it; 0: none did */
    uint32_t inside; /* of a loop: 1: what times it is executed in each iteration */
    uint32_t reserved;
    uint64_t device, inode; /* of its module's file; 0: any (imports) */
    uint64_t vaddr;         /* ELF virtual address in it; 0: not known */
    char name[SPANS_NAME];  /* linkage name, cut to fit, NUL-terminated; of MARKED the marker's */
};

/* Executed so often that letting executions pass costs too much by itself. */
enum spans_often {
    SPANS_OFTEN_NOT = 0,
    SPANS_OFTEN,          /* a thread says so */
    SPANS_OFTEN_UNHOOKED, /* headroom has taken the hook away: what was timed is no whole */
};

/* ---- pieces ----------------------------------------------------------------------------------- */

enum spans_piece_kind { SPANS_PIECE_PROCESS = 1, SPANS_PIECE_THREAD, SPANS_PIECE_LOOPS };

/* At the start of every piece; `kind` is written last and makes it valid. Pieces begin at multiples of SPANS_PAGE, pages
   in between were never given away: readers go on at the next page. */
struct spans_piece {
    _Atomic uint32_t kind; /* enum spans_piece_kind */
    uint32_t pid;
    uint32_t process; /* as in the log (struct wire_process) */
    uint32_t reserved;
    uint64_t bytes; /* of the piece, a multiple of SPANS_PAGE */
};

/*
 * What headroom must know to patch a process: it writes code into `areas`, targets into `targets` and jumps over functions'
 * first instructions, all through /proc/PID/mem.
 *
 * Hooking function number k, whose entry is at E (behind an endbr64):
 *   area:  the instructions that the jump overwrites, relocated, then a jump to what follows them ("prologue", P), and
 *          a bridge B: jmp *0f(%rip); 0: .quad stubs + k * stub_bytes
 *   targets[k] = P
 *   E: jmp B (5 bytes)
 * The stub keeps every register and leaves nothing on the stack. It continues at targets[k], with or without taking the time.
 *
 * A marker, number k, a 5-byte nop at E, key in rdi: area:  B: lea -128(%rsp),%rsp; push $k; call *0f(%rip);
 * lea 136(%rsp),%rsp; jmp E + 5; 0: .quad marker_begin or marker_end.        E: jmp B. Flags are free there.
 */
/*
 * STARTING by the agent that waits, PATCHING by headroom while it writes without regard to running threads (compare and
 * exchange: from STARTING only), then PATCHED_UP. An agent that is tired of waiting goes from STARTING to PATCHED_UP
 * itself, also by compare and exchange; it waits on while it is PATCHING. Forked processes begin with PATCHED_UP.
 * While a process has entries in `traps` SIGTRAP must be handled and never blocked in any thread (signal masks of
 * handlers included; SIGTRAP's own handler, which blocks all others, executes nothing that could be hooked): an int3
 * would end the process.
 */
enum spans_phase { SPANS_STARTING, SPANS_PATCHED_UP, SPANS_PATCHING };

struct spans_area {
    /* readable and executable, zero; headroom gives it away from the start */
    uint64_t start, bytes;
};

/* A function whose first byte is an int3 for the time being. */
struct spans_trap {
    _Atomic uint64_t address; /* of the int3; 0: none */
    uint64_t to;              /* where a thread that meets it goes on */
};

struct spans_process {
    struct spans_piece piece;
    uint64_t stubs, stub_bytes, targets; /* addresses in the process; struct above */
    uint64_t marker_begin, marker_end;
    /* enum spans_phase, a futex: a process that starts waits for headroom to patch it,
       if spans_region.wait, two seconds at most */
    _Atomic uint32_t phase;
    uint32_t areas_count;
    /* it is registered for expedited memory barriers of other processes: its processors
       can be interrupted at once */
    uint32_t barriers;
    /* An int3 that meets a blocked SIGTRAP is the end of the program. So headroom sets `patching` while there may be one,
       and writes none if `blocks_traps` is set then; the agent sets that before SIGTRAP is really blocked for longer, and
       waits until `patching` is 0. */
    _Atomic uint32_t patching, blocks_traps;
    struct spans_area areas[SPANS_AREAS];
    _Atomic uint32_t traps_count; /* entries in use; may hold empty ones */
    struct spans_trap traps[SPANS_FUNCTIONS];
    /* Modules loaded later whose imports are to be hooked: an address in each. headroom appends. */
    _Atomic uint32_t new_modules;
    uint64_t new_module[SPANS_NEW_MODULES];
    /* Functions with SPANS_CALLED: open addressing by base_mix64(address), linear; address 0: free. headroom writes
       `function` first. */
    struct {
        _Atomic uint64_t address;
        uint64_t function;
    } called[2 * SPANS_FUNCTIONS];
};

/* ---- spans ------------------------------------------------------------------------------------ */

enum spans_flags {
    /* of its function all that has no span of its own: key and shape are not distinguished */
    SPANS_REST = 1,
    /* sibling executions one after the other: `children` says which, function is 0 */
    SPANS_SEQUENCE = 2,
    SPANS_CHILDREN_CUT = 4, /* there were more */
};

struct spans_child {   /* what a span called, in order; repetitions folded */
    uint32_t function; /* number */
    uint32_t count;    /* times in a row; beyond 16 the power of two reached */
    uint64_t shape;    /* of its own */
};

struct spans_stack {
    /* as in the log: struct wire_thread, wire_node. The leaf is the caller's return
       address (no LEAF flag); 0: none */
    uint32_t thread, node;
    uint64_t taken; /* times met, of those looked at */
    uint64_t lost;  /* ticks beyond the span's minimum of then, in those */
};

/* Who held the lock when this thread wanted it. */
struct spans_holder {
    uint64_t place; /* return address of the call by which the holder took it; 0: not known */
    uint64_t times, ticks; /* and what was waited */
};

struct spans_sample {
    uint64_t ticks, argument[3], result;
};

struct spans_span {
    uint32_t function, flags; /* flags: enum spans_flags */
    /* shape: 0 nothing hooked was called; hashes of (function, count, shape) of children:
       the same in all threads and processes of a recording */
    uint64_t key, shape;
    uint64_t recorded; /* executions */
    uint64_t skipped;  /* that were let pass besides, an estimate */
    /* ticks; one in so many recorded stands for as many, here and in within, asleep, bins */
    uint64_t sum;
    uint64_t min;    /* of the recorded that were not preempted; UINT64_MAX: there are none */
    uint64_t max;    /* of the recorded */
    uint64_t within; /* of sum: in spans that were called */
    uint64_t preempted, preemptions; /* ticks taken off sum, and how often */
    uint64_t asleep, sleeps; /* ticks of sum in which the thread had given up its CPU by itself */
    uint64_t asleep_within;  /* of asleep: in spans that were called */
    uint64_t next_stack, next_sample; /* the writer's: executions recorded when the next is taken */
    uint64_t first, last;             /* time stamp counter: first met, and about when last */
    uint32_t children_count, stacks_count;
    struct spans_child children[SPANS_CHILDREN];
    struct spans_stack stacks[SPANS_STACKS];
    struct spans_holder holders[SPANS_HOLDERS];
    uint32_t bins[SPANS_BINS]; /* executions by duration, see spans_bin */
    /* Spread evenly over all executions: one in sample_stride, which doubles when the room is used up. */
    uint32_t samples_count, sample_stride;
    struct spans_sample samples[SPANS_SAMPLES];
};

struct spans_event { /* a recorded execution */
    uint64_t start, ticks;
    uint64_t key;
    uint32_t function, span; /* span: index in the thread */
};

/* A thread's, then of one that begins when it has ended: sums go on. */
struct spans_thread {
    struct spans_piece piece;
    _Atomic uint32_t live;   /* tid of the owner; 0: it has ended */
    uint32_t threads;        /* that have owned it */
    uint64_t begun;          /* time stamp counter when the owner began */
    uint64_t ticks;          /* from beginning to end of earlier owners */
    uint64_t events;         /* executions recorded, counted by the hundreds */
    uint64_t cost_ticks;     /* estimated, of recording them */
    uint64_t skipped;        /* executions let pass: sampling */
    uint64_t unhooked;       /* executions not recorded for lack of a slot or of a span */
    uint64_t nested_signals; /* the same, in signal handlers that interrupted the recording */
    uint64_t preempted, preemptions, asleep, sleeps; /* ticks, whole thread, as far as looked at */
    uint64_t switches_lost; /* context switches that were overwritten before they were read */
    uint64_t begun_ns;      /* CLOCK_MONOTONIC_RAW at `begun` */
    /* CPU time, of whole threads, whether or not they executed anything that is hooked: earlier owners', and the owner's
       when it was last looked at: now and then, and when the process ends by exit */
    uint64_t cpu_ns, cpu_now_ns;
    uint32_t tid;                 /* of the owner, the last one if it has ended */
    char name[SPANS_THREAD_NAME]; /* its name when it ended; empty: not known. May lack its NUL */
    uint32_t spans;               /* in use */
    uint32_t highest_every;
    uint32_t events_next;    /* ever written; the ring holds the last SPANS_EVENTS */
    uint32_t sequences_full; /* 1: there were more sequences than are kept */
    struct spans_event events_ring[SPANS_EVENTS];
    struct spans_span span[SPANS_OF_THREAD];
};

/*
 * What samples say of loops, by headroom, one such piece in a recording: its pid is headroom's. A *window* is a
 * millisecond or so of one thread in one execution of a loop.
 */
struct spans_sampled {
    uint32_t process, tid; /* process as in struct spans_piece */
    uint64_t ns;           /* CPU time that its samples stand for */
};

struct spans_loop {
    uint32_t thread, windows; /* thread: index into sampled */
    uint64_t ns;              /* of the thread's CPU time, in the loop */
    uint64_t forward,
        backward; /* pairs of samples, one after the other, between which its counter went on, or went back:
                                   then it was begun anew */
    uint64_t fastest; /* ticks of an execution, in the fastest window; span.min is from the next */
    struct spans_span
        span; /* of the windows: recorded, sum, min, max, first, last, bins; nothing else */
};

struct spans_loops {
    struct spans_piece piece;
    _Atomic uint32_t threads, loops; /* in use */
    struct spans_sampled sampled[SPANS_SAMPLED_THREADS];
    struct spans_loop loop[SPANS_LOOPS];
};

struct spans_region {
    uint64_t magic;
    uint32_t version;
    uint32_t wait;         /* 1: processes wait when they start until they are patched */
    uint32_t stack_period; /* of a span: one stack each so many executions, the first included */
    uint32_t switches;     /* 1: preemption is watched */
    uint32_t automatic;    /* 1: threads record less when it costs too much */
    /* futex: agents increment and wake it when they have made a process piece or loaded a
       module */
    _Atomic uint32_t doorbell;
    _Atomic uint64_t next;        /* offset of the first byte not yet given away */
    _Atomic uint64_t lost;        /* pieces that could not be had */
    _Atomic uint64_t budget;      /* bytes of spans in use */
    _Atomic uint64_t no_switches; /* threads whose context switches cannot be watched */
    _Atomic uint64_t no_areas;    /* modules near which there was no room for code */
    /* time stamp counter and CLOCK_MONOTONIC_RAW, by headroom before the program begins */
    uint64_t ticks_start, ns_start;
    uint64_t ticks_end, ns_end; /* and after it */
    uint64_t step; /* ticks: the usual difference of two readings one after the other that differ */
    _Atomic uint32_t functions; /* entries claimed: numbers 1 .. functions - 1; starts at 1 */
    struct spans_function function[SPANS_FUNCTIONS];
};

/* ---- a copy of it in a file -------------------------------------------------------------------------- */

/* Beside the raw log: a head, then each stretch of the region that has data, then an extent of no bytes. */
#define SPANS_FILE_SUFFIX ".blocks"
#define SPANS_FILE_MAGIC  UINT64_C(0x31464b4c42524448) /* "HDRBLKF1" */

struct spans_file {
    uint64_t magic;
    uint32_t version; /* SPANS_VERSION */
    uint32_t reserved;
};

struct spans_extent {
    uint64_t offset, bytes; /* in the region; multiples of SPANS_PAGE. The bytes follow */
};

/* ---- histograms ----------------------------------------------------------------------------------- */

/*
 * Four bins an octave. Bin 0: below 16 ticks; bin 1 + 4 * o + q: from (4 + q) * 2^(o + 2) to below (5 + q) * 2^(o + 2).
 * The last takes all that is longer.
 */
static inline uint32_t spans_bin(uint64_t ticks)
{
    if (ticks < 16)
        return 0;
    uint32_t top = 63 - (uint32_t)__builtin_clzll(ticks);
    uint32_t bin = 1 + 4 * (top - 4) + (uint32_t)(ticks >> (top - 2) & 3);
    return bin < SPANS_BINS ? bin : SPANS_BINS - 1;
}

/* First tick of a bin. */
static inline uint64_t spans_bin_start(uint32_t bin)
{
    return bin == 0 ? 0 : (UINT64_C(4) + (bin - 1) % 4) << ((bin - 1) / 4 + 2);
}

#endif
