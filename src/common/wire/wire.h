// SPDX-License-Identifier: MIT
/*
 * wire: everything that crosses between the observed process and headroom,
 * versioned in one place.
 *
 * A memfd made and held by headroom, the *region*, is mapped by every observed
 * process of one recording. It holds the configuration, a slot a thread with its
 * counters, a pool of chunks for records, and slots in which the agent asks for
 * unwind tables. The observed process never writes a file: no descriptor
 * stays open, RLIMIT_FSIZE and full disks cannot hurt it, and SIGKILL loses
 * nothing that was committed. headroom drains the chunks into a *raw log* file
 * while the program runs and imports that into the profile afterwards.
 *
 * Everything in the region may have been scribbled over by a broken program:
 * the host side trusts no index, length or string before wire_* checked it.
 *
 * Members end in their unit; addresses are those of the observed process; host byte order. The
 * memory of a region belongs to whoever mapped it; nothing here allocates or frees. All functions are
 * freestanding, lock-free and async-signal-safe. Any number of processes and threads may call those
 * of the agent side at a time, each with a writer of its own; those of headroom's side are for one
 * thread.
 */
#ifndef HEADROOM_WIRE_H
#define HEADROOM_WIRE_H

#include "base/base.h"
#include <stdatomic.h>

#define WIRE_MAGIC UINT64_C(0x3130455249574448) /* "HDWIRE01" */

enum {
    WIRE_VERSION = 16,
    WIRE_THREADS = 1024, /* threads observed at the same time */
    WIRE_CHUNKS = 512,
    WIRE_CHUNKS_FIRST = 64,  /* of these, what a recording begins with */
    WIRE_CHUNK_BYTES = 8192, /* pool: 4 MiB of address space, touched as needed */
    WIRE_TABLES = 512,       /* unwind tables a recording may ask for */
    WIRE_CALLS = 8,          /* calls asked for at one time */
    WIRE_PATH_BYTES = 496,
    WIRE_SHARERS = 8,
    WIRE_BOARD_BYTES = 12288,
    WIRE_NONE = 0xffffffff,
};

/* The environment variable by which the agent finds the region:
   "VERSION:PID:FD" (headroom's pid and descriptor, opened as /proc/PID/fd/FD). */
#define WIRE_ENVIRONMENT "HEADROOM_REGION"

enum wire_kind_bits {
    WIRE_DEAD = 1,
    WIRE_SILENT = 2,
    WIRE_LOAD = 4,
    WIRE_REUSES = 8,
    WIRE_KINDS = 4
};

enum wire_source { WIRE_SOURCE_CLOCK = 1, WIRE_SOURCE_PMU = 2, WIRE_SOURCE_COUNT = 3 };

struct wire_config {
    uint32_t kinds;           /* wire_kind_bits */
    uint32_t source;          /* enum wire_source */
    uint64_t interval_ns;     /* clock: mean CPU time between samples of one thread; adaptive: the
                                 longest that is wanted, what a sample of weight 1 stands for */
    uint64_t period;          /* pmu, count: accesses between samples */
    uint64_t pmu_store_event; /* raw perf config of the store event and the load event */
    uint64_t pmu_load_event;
    uint32_t pmu_type; /* perf_event_attr.type */
    float fp_tolerance;
    uint32_t follow;       /* 0: children and exec'd programs are not observed */
    uint32_t watch_kernel; /* 1: watchpoints see the kernel's accesses (permission given) */
    uint32_t registers;    /* usable debug registers, found by headroom's self-test */
    uint64_t seed;         /* of random choices; 0: from the clock */
    uint32_t unit_shift;   /* reuse: location = address >> unit_shift: 0, 3 or 6 */
    uint32_t ahead;        /* reuse: instructions to look ahead for near reuses */
    uint32_t counters;     /* 1: the program's own access counters are used if it has any: as a
                                  source, instead of the clock, or for distances of reuse */
    /* descriptor of a struct spans_region (spans.h), by number in headroom's process:
       spans are timed, nothing is sampled; 0: none */
    uint32_t spans;
    uint32_t adaptive; /* clock: samples are denser in a thread's first seconds, and take about one
                          part in so many of its CPU time at most; 0: a fixed rate */
    uint32_t
        sharing_ms; /* clock: cache lines that threads share are looked for; touches of a line that
                          are farther apart are not connected; 0: not looked for */
    uint32_t
        clones; /* 1: threads are borrowed to execute clones of loops (clones.h), nothing is sampled */
    uint32_t walk_bytes;              /* of buffers for clones that walk; 0: there are none */
    char agent_path[WIRE_PATH_BYTES]; /* for LD_PRELOAD of programs exec'd later */
};

/* Why an attempted sample was not stored. Names: wire_drop_names. */
enum wire_drop {
    WIRE_DROP_KERNEL,     /* the tick interrupted a system call */
    WIRE_DROP_NO_ACCESS,  /* no matching access within the look-ahead */
    WIRE_DROP_UNFORESEEN, /* the foreseen access did not happen before the next tick */
    WIRE_DROP_BLOCKED,    /* could not look ahead far enough (hops or registers used up) */
    WIRE_DROP_REFUSED,    /* access in agent, handler stack, or other memory never watched */
    WIRE_DROP_WATCHPOINT, /* kernel refused the watchpoint (limits, descriptors, permission) */
    WIRE_DROP_SIGNAL,     /* SIGTRAP was blocked: the trap came late */
    WIRE_DROP_UNWIND,     /* no calling context at all */
    WIRE_DROP_TREE_FULL,  /* context tree full */
    WIRE_DROP_LOG_FULL,   /* no free chunk */
    WIRE_DROP_BUSY,       /* agent was busy in this thread (nested, shutting down) */
    WIRE_DROP_UNFINISHED, /* the thread ended or was killed in mid-sample (set by headroom) */
    WIRE_DROP_AGENT,      /* in the agent's own code: wrappers of libc's functions */
    WIRE_DROPS
};
extern const char *const wire_drop_names[WIRE_DROPS];     /* "kernel", "no_access", ... */
extern const char *const wire_drop_sentences[WIRE_DROPS]; /* for people */

/* What the agent could not do; bits of wire_region.degraded. */
enum wire_degraded {
    WIRE_DEGRADED_SECCOMP = 1 << 0,        /* the program restricted its system calls: stopped */
    WIRE_DEGRADED_SMALL_ALTSTACK = 1 << 1, /* alternate stack too small: thread not observed */
    WIRE_DEGRADED_THREADS = 1 << 2,        /* more threads than slots */
    WIRE_DEGRADED_NO_TIMER = 1 << 3,
    WIRE_DEGRADED_NO_WATCHPOINT = 1 << 4,    /* kernel refused every watchpoint */
    WIRE_DEGRADED_UNOBSERVED_CHILD = 1 << 7, /* exec of a static, 32-bit or set-id program */
    WIRE_DEGRADED_NO_MEMORY = 1 << 8,
    WIRE_DEGRADED_SIGTRAP = 1 << 9,        /* the program uses SIGTRAP by raw system calls */
    WIRE_DEGRADED_GO = 1 << 10,            /* Go runtime: not observed */
    WIRE_DEGRADED_NOT_BUILT = 1 << 12,     /* a process does not count its accesses: no samples */
    WIRE_DEGRADED_NO_SHARE = 1 << 13,      /* time in code that does not count is not known */
    WIRE_BUILT = 1 << 14,                  /* no lack: a process counts its accesses */
    WIRE_DEGRADED_KERNEL_HIDDEN = 1 << 11, /* privileges dropped: kernel accesses not seen */
};

/* Counters of one thread, written only by it, in handlers; read by headroom, while the thread lives without
   synchronisation. Invariant when the thread is not inside a sample: attempted == stored + sum(dropped). */
struct wire_counters {
    uint64_t attempted;
    uint64_t stored;
    uint64_t dropped[WIRE_DROPS];
    uint64_t samples[WIRE_KINDS], armed[WIRE_KINDS], traps[WIRE_KINDS], ignored[WIRE_KINDS],
        evicted[WIRE_KINDS], abandoned[WIRE_KINDS], blind_longest[WIRE_KINDS]; /* per detect_kind */
    uint64_t ambiguous_traps; /* trapping instruction not identified */
    uint64_t late_traps;      /* trap delivered late (SIGTRAP was blocked) */
    uint64_t kernel_traps;    /* trap by the kernel on the program's behalf */
    uint64_t agent_traps;     /* trap by the agent's own code: says nothing of the program */
    uint64_t broken_stacks;   /* contexts that do not reach the outermost frame */
    uint64_t handler_ns;      /* time spent in the agent's handlers */
    uint64_t hops;            /* execution breakpoints used to look further ahead */
    uint64_t degraded;        /* 0: nothing is said of single threads, see wire_region */
};

enum wire_slot_state { WIRE_SLOT_FREE, WIRE_SLOT_LIVE, WIRE_SLOT_ENDED };

struct wire_thread_slot {
    _Atomic uint32_t state; /* FREE -> LIVE by the agent, LIVE -> ENDED by the agent at
                                    thread end or by headroom when the process is gone, ENDED ->
                                    FREE by headroom after it logged the counters */
    uint32_t pid, tid;
    uint32_t process; /* id of the process image */
    uint32_t thread;  /* unique in the recording, from region.next_thread */
    uint32_t reserved;
    uint64_t cpu_ns; /* CPU time at the thread's end, 0 if unknown */
    struct wire_counters counters;
};

enum wire_chunk_state { WIRE_CHUNK_FREE, WIRE_CHUNK_OPEN, WIRE_CHUNK_CLOSED };

struct wire_chunk {
    _Atomic uint32_t state;
    uint32_t process, thread, pid;
    uint32_t sequence;          /* 0, 1, ... within the thread */
    _Atomic uint32_t committed; /* bytes of data that hold complete records */
    uint32_t drained;           /* headroom's */
    _Atomic uint32_t next_free; /* pool list */
};

enum wire_table_state {
    WIRE_TABLE_FREE,
    WIRE_TABLE_CLAIMED,
    WIRE_TABLE_NAMED,
    WIRE_TABLE_WANTED,
    WIRE_TABLE_READY,
    WIRE_TABLE_FAILED
};

struct wire_table_slot {
    /* agent: FREE -> CLAIMED -> NAMED -> WANTED; headroom: READY|FAILED (futex) */
    _Atomic uint32_t state;
    uint32_t descriptor;        /* READY: opened as /proc/PID/fd/DESCRIPTOR */
    uint64_t bytes;             /* READY: size of the table */
    uint64_t device, inode;     /* identity of the module's file, 0 if unknown */
    char path[WIRE_PATH_BYTES]; /* "[vdso]" for the kernel's */
};

/*
 * What an agent asks headroom to have a thread execute: a function of the agent there, between two
 * instructions of its own (inject/calls.c). A signal would do, but would be noticed: the system call in
 * which the thread waits would return EINTR.
 */
enum wire_call_kind {
    WIRE_CALL_QUIET, /* all threads of process `pid`: fall silent, because it will be traced
                                    or filtered */
    WIRE_CALL_BEGIN, /* thread `pid` of the process that asks: begin to observe */
};
enum wire_call_state { WIRE_CALL_FREE, WIRE_CALL_CLAIMED, WIRE_CALL_WANTED, WIRE_CALL_SERVED };

struct wire_call {
    /* agent: FREE -> CLAIMED -> WANTED; headroom: -> SERVED -> FREE (futex) */
    _Atomic uint32_t state;
    uint32_t kind, pid;
    uint64_t argument; /* BEGIN: address of the thread's state; QUIET: a thread that need not */
};

/* In the agent's memory. Zero: nothing can be executed there. */
struct wire_call_gate {
    /* code to execute, with rdi and rsp at a frame; its last instruction, an int3 */
    uint64_t entry, end;
    int64_t self; /* from a thread's control block to the pointer to its state; that begins with
                                    first and last byte of the handlers' stack */
};

/* At the top of the handlers' stack meanwhile: the registers to go on with, and what to do. */
struct wire_call_frame {
    uint64_t general[BASE_GENERAL_REGISTERS], ip, flags;
    uint64_t mask; /* blocked signals */
    uint64_t kind, argument;
};

struct wire_region {
    uint64_t magic;
    uint32_t version, bytes;
    struct wire_config config;
    _Atomic uint32_t doorbell; /* futex: agent increments and wakes when chunks close or
                                        tables are wanted */
    _Atomic uint32_t stopping; /* headroom: agents arm nothing more */
    _Atomic uint32_t next_process, next_thread;
    _Atomic uint64_t free_chunks;    /* tagged list head: tag << 32 | index */
    _Atomic uint64_t lost_threads;   /* threads that found no slot */
    _Atomic uint64_t lost_processes; /* images that could not be observed */
    _Atomic int64_t executing;       /* programs executed with an agent that has not started yet */
    _Atomic uint32_t degraded;       /* enum wire_degraded, process-wide */
    _Atomic uint32_t source; /* enum wire_source that the first process chose; 0: none yet */
    _Atomic uint64_t ticks;  /* count: of a slow clock; those in code that does not count */
    _Atomic uint64_t ticks_elsewhere;
    _Atomic uint64_t call_gate; /* offset of the struct in the agent's image; 0: none yet */
    _Atomic uint32_t pool_low;  /* agent: chunks run short; headroom: it has seen it */
    _Atomic uint32_t pool_mark; /* taking a chunk from this one on makes the pool low */
    /* Threads that began, and those that were sampled ever; processes begin with one that is not among them. */
    _Atomic uint64_t threads_begun, threads_sampled;
    /* Images with memory that processes share, some of them: image << 32 | milliseconds of CLOCK_MONOTONIC at its last tick */
    _Atomic uint64_t sharers[WIRE_SHARERS];
    struct wire_call calls[WIRE_CALLS];
    /* What is looked through lies close together: a short program touches few pages of the region. */
    _Atomic uint32_t owners[WIRE_THREADS]; /* pid of the slot's thread, 0: the slot is FREE */
    struct wire_chunk chunks[WIRE_CHUNKS];
    struct wire_thread_slot threads[WIRE_THREADS];
    struct wire_table_slot tables[WIRE_TABLES]; /* claimed in order: none behind a FREE one */
    _Alignas(64) unsigned char board[WIRE_BOARD_BYTES]; /* struct board: of all processes */
    _Alignas(4096) unsigned char data[WIRE_CHUNKS][WIRE_CHUNK_BYTES - 32];
};

/* Headroom: prepares a zeroed mapping of sizeof(struct wire_region). All chunks are in the pool. */
void wire_region_init(struct wire_region *region, const struct wire_config *config);

/*
 * Headroom, before anybody else has the region: only the first `count` chunks stay in the pool, and the doorbell is
 * rung, and pool_low set, when half of these are taken at one time. Memory for the others need not be there.
 */
void wire_pool_limit(struct wire_region *region, uint32_t count);
/* Headroom, once: the chunks that wire_pool_limit left out join the pool. */
void wire_pool_extend(struct wire_region *region, uint32_t count);
/* Bytes of the region that must be there for `count` chunks. */
size_t wire_pool_bytes(uint32_t count);

/* Agent: is this a region of our version and size? */
enum base_status wire_region_check(const void *mapping, size_t bytes);

/* ---- records ---------------------------------------------------------------- */

enum wire_type {
    WIRE_PROCESS = 1,
    WIRE_MODULE,
    WIRE_THREAD,
    WIRE_NODE,
    WIRE_SAMPLE,
    WIRE_TRAP,
    WIRE_COUNTERS /* headroom: final counters of a thread */,
    /* exact engine: counts of a whole process, written when it ends or executes another program;
       records of the same thing add up */
    WIRE_PAIR,
    WIRE_TOTALS,
    WIRE_REUSE_PAIR,
    WIRE_HISTOGRAM,
    WIRE_REUSE_TOTALS,
    WIRE_REUSE /* live: what became of a sample of kind reuse */,
    WIRE_WHAT_IF,
    WIRE_PATH_VERTEX,
    WIRE_PATH_STATE,
    WIRE_PATH_TOTALS /* exact: paths and their contexts */,
    WIRE_TICK /* live: where a thread was at a tick of its clock */,
    WIRE_SHARED_TOTALS /* exact: cache lines that move between threads */,
    WIRE_SHARED_LINE,
    WIRE_SHARED_PAIR,
    WIRE_SHARED_USER,
    WIRE_SHARED_BETWEEN,
    WIRE_LOCATED /* live: what a location lies in */,
    WIRE_PUBLISHED /* live: an access that other threads of the process may look for */,
    WIRE_MEETING /* live: a thread has touched what another one had published */,
    WIRE_SHARED_FILE /* live: memory that processes share */,
    WIRE_OBSERVED /* exact: what some of a pair's waste, or of its reuses, lay in */,
    WIRE_EXECUTED_CODE /* exact: what was executed one after the other */,
    WIRE_EXECUTED_WINDOW,
    WIRE_EXECUTED_STEPS,
    WIRE_TYPES
};

/* Records are 8-byte aligned and a multiple of 8 bytes long. checksum covers the rest of the
   record, from `bytes` on, seeded with the type. */
struct wire_record {
    uint32_t checksum;
    uint16_t type;
    uint16_t bytes; /* whole record */
};

struct wire_process { /* first record of a process image's first thread */
    struct wire_record record;
    uint32_t process, parent; /* parent: id of the image that forked or exec'd it, or NONE */
    uint32_t pid, ppid;
    uint64_t start_ns;                 /* CLOCK_REALTIME */
    uint32_t forked;                   /* 1: same program as parent (fork), 0: a new image (exec) */
    uint16_t exe_bytes, command_bytes; /* then: exe path, then argv, each NUL-terminated; cut
                                    to fit 2 KiB; then padding */
    char text[];
};

struct wire_module {
    struct wire_record record;
    uint32_t process, module; /* module ids are per process image, from 1; an id is never
                                    reused after dlclose */
    uint64_t start, end;      /* mapped addresses */
    uint64_t bias;            /* address = ELF virtual address + bias */
    uint64_t device, inode;   /* 0 if unknown */
    char path[];              /* NUL-terminated; "[vdso]"; "[jit]" for unknown memory */
};

struct wire_thread { /* first record of every thread */
    struct wire_record record;
    uint32_t process, thread, pid, tid;
    char name[16];
};

struct wire_node { /* a calling-context tree node, before its first use */
    struct wire_record record;
    uint32_t node, parent;  /* ids are per thread; parent 0 is the root */
    uint32_t module, flags; /* enum wire_node_flags */
    uint64_t vaddr;         /* ELF virtual address in module, or absolute if module == 0.
                                    Callers: the return address, so look up vaddr - 1; leaves
                                    (flag LEAF): the accessing instruction itself */
};
enum wire_node_flags {
    WIRE_NODE_LEAF = 1,          /* vaddr is an instruction, not a return address */
    WIRE_NODE_KERNEL = 2,        /* the kernel made the access inside the system call at vaddr */
    WIRE_NODE_BROKEN = 4,        /* stands above the outermost known frame: context is incomplete */
    WIRE_NODE_IMPRECISE = 8,     /* ret: function known, instruction not */
    WIRE_NODE_EXACT_CALLER = 16, /* frame interrupted by a signal: look up vaddr itself */
    WIRE_NODE_CALL = 32,         /* leaf: the return address that a call pushes */
    WIRE_NODE_RETURN = 64,       /* leaf: the return address that a ret pops */
};

struct wire_sample {
    struct wire_record record;
    uint8_t kind;
    uint8_t armed; /* 1: it got a register; 2: it needs none, the next touch was foreseen */
    uint16_t bytes;
    uint32_t node;
    float weight;
    float density;    /* matching accesses per instruction seen ahead; 0 unknown */
    uint32_t trap_ns; /* thread CPU time from the tick's handler to the confirming trap's,
                                    nearly all of it the cost of a trap; 0: not measured */
    uint32_t reserved;
};

/* Of every tick that found the thread in user mode, whether a sample came of it or not: the clock
   leaves out those in the kernel. */
struct wire_tick {
    struct wire_record record;
    uint32_t module, flags; /* flags: enum wire_tick_flags */
    uint64_t vaddr;         /* as a leaf node's */
    uint64_t period_ns;     /* CPU time between ticks at present */
    uint32_t node;          /* its calling context, a leaf; 0: it could not be had */
    uint32_t reserved;
};
enum wire_tick_flags {
    WIRE_TICK_SYSTEM = 1, /* on its way out of the system call at vaddr, where the time was spent */
    WIRE_TICK_LATE = 2,   /* it was due before, SIGTRAP was blocked: where is not known */
    WIRE_TICK_PLAIN = 4,  /* its context was not asked for */
};

struct wire_trap { /* a finding: attribution for one pair */
    struct wire_record record;
    uint8_t kind, verdict; /* detect_kind; detect_verdict (USE or WASTE) */
    uint16_t bytes;        /* width of the sampled access */
    uint32_t watch_node, trap_node;
    float samples;  /* samples the trap stands for */
    uint32_t flags; /* enum wire_trap_flags */
    float chance;   /* probability that the sample was watched until now, (0, 1];
                                    import shares the samples of a context by weight / chance */
    float weight;   /* of the sample itself, > 0 */
    uint32_t reserved;
};
enum wire_trap_flags {
    WIRE_TRAP_KERNEL = 1, /* touched by the kernel */
    WIRE_TRAP_LIKELY = 2, /* ISA_BLAME_LIKELY */
    WIRE_TRAP_NEAR = 8,   /* waste by the floating-point tolerance only; 4 is not in use any more */
};

/*
 * What became of a sample of kind reuse that was foreseen or armed; one for each of these. Samples that
 * were neither have a WIRE_SAMPLE with armed 0 only.
 */
struct wire_reuse {
    struct wire_record record;
    uint32_t use_node, reuse_node; /* reuse_node 0 if LOST or OPEN */
    uint32_t flags;                /* enum wire_reuse_flags */
    uint32_t traps;      /* handlers entered between use and reuse, the reuse's own included:
                                    the delivery of each is part of elapsed_ns */
    uint64_t elapsed_ns; /* thread CPU time between use and now, without the time inside handlers;
                                    0 if FORESEEN */
    uint64_t accesses;   /* FORESEEN, COUNTED: the time distance. Else accesses known to lie in
                                    between: the distance is larger */
    float weight;        /* of the sample */
    float entry, chance; /* probability that it was watched, when armed and until now */
    uint32_t waited;     /* samples taken while it was */
    uint32_t bytes;      /* width of the sampled access */
    uint32_t reserved;
};
enum wire_reuse_flags {
    WIRE_REUSE_FORESEEN = 1,       /* found by looking ahead: no watchpoint, chance 1 */
    WIRE_REUSE_COUNTED = 2,        /* accesses were counted (sources count, pmu) */
    WIRE_REUSE_LOST = 4,           /* replaced or given up: not reused until now */
    WIRE_REUSE_OPEN = 8,           /* still watched when the thread ended */
    WIRE_REUSE_KERNEL = 16,        /* reused by the kernel */
    WIRE_REUSE_LIKELY = 32,        /* ISA_BLAME_LIKELY */
    WIRE_REUSE_STORE_FIRST = 64,   /* the use was a store */
    WIRE_REUSE_STORE_SECOND = 128, /* the reuse stored, and did not load */
};

/* What the location lies in that the trap, reuse or published access is about which comes before it, in the same chunk: as it was when the sample was
   taken. */
struct wire_located {
    struct wire_record record;
    uint32_t kind;   /* enum wire_object; UNKNOWN: also blocks of the heap that were not recorded */
    uint32_t module; /* GLOBAL, THREAD: as in nodes; 0: none */
    uint32_t process; /* HEAP, MAPPED: image of the thread that allocated it */
    uint32_t thread;  /* of that one; STACK, THREAD: whose. 0: not known */
    uint32_t
        node; /* HEAP, MAPPED: the caller of the allocating function, in that thread's tree; 0: not known */
    uint32_t own;  /* STACK, THREAD: 1: of the thread that took the sample */
    uint64_t size; /* HEAP, MAPPED */
    int64_t
        offset; /* HEAP, MAPPED: in the block; GLOBAL: ELF virtual address; THREAD: in the module's thread-local segment,
                         without a module from the control block; STACK: from its upper end, negative */
    float chance; /* that a block of that size was recorded, (0, 1] */
    /* STACK: of the frame in which it lies, if that is known: module as in nodes, else 0; ELF virtual address of the
       instruction that is executed there; bytes from its canonical frame address */
    uint32_t frame_module;
    uint64_t frame_code;
    int64_t frame_offset;
};

struct wire_what_if { /* exact: a simulated cache */
    struct wire_record record;
    uint64_t bytes;
    uint32_t ways, line_bytes; /* ways 0: fully associative */
    uint64_t accesses, misses; /* touches of lines */
    /* Of one instruction: accesses are executions then, of that many bytes together, and the memory that they touched
       lies from low to before end. */
    uint32_t node;  /* one of those that it has; 0: of all instructions, and what follows is 0 */
    uint32_t store; /* 0 a load, 1 a store */
    uint64_t moved_bytes, low, end;
    uint64_t
        step; /* bytes between one execution and the next, in either direction, mostly; 0: none, or not known */
};

struct wire_counters_record {
    struct wire_record record;
    uint32_t process, thread, pid, tid;
    uint64_t cpu_ns;
    struct wire_counters counters;
};

/* ---- the exact engine's records ------------------------------------------------ */
/* Nodes and modules as above; the frame's thread is the process. */

struct wire_pair {
    struct wire_record record;
    uint32_t kind;          /* enum detect_kind */
    uint32_t flags;         /* enum wire_pair_flags */
    uint32_t first, second; /* nodes */
    uint64_t waste_bytes, use_bytes;
};
enum wire_pair_flags {
    WIRE_PAIR_KERNEL = 1, /* the second access is the kernel's */
    WIRE_PAIR_NEAR = 2,   /* waste by the floating-point tolerance only */
    /* Of a sample of locations: which group of them it was counted for. */
    WIRE_PAIR_GROUP_SHIFT = 8,
    WIRE_PAIR_GROUPS = 8,
};

struct wire_totals {
    struct wire_record record;
    uint32_t degraded;      /* enum wire_exact_degraded */
    uint32_t threads;       /* that ran in this process */
    uint64_t loads, stores; /* accesses by the program */
    uint64_t load_bytes, store_bytes;
    uint64_t fresh_load_bytes, fresh_store_bytes; /* whose former access is not known */
    uint64_t kernel_load_bytes, kernel_store_bytes;
    uint64_t ids, contexts; /* accesses in their contexts, calling contexts */
    uint64_t instructions, cpu_ns;
    uint64_t merged;  /* pairs that stand under coarser nodes, so that memory is bounded */
    uint64_t outside; /* accesses to memory that is not followed */
    /* Waste: of the locations followed, 0: all. Then pairs, loads, stores and what is fresh are counted for these alone. */
    double waste_share;
};
enum wire_exact_degraded {
    WIRE_EXACT_IDS = 1,    /* ids ran out: contexts met later are shown without callers */
    WIRE_EXACT_MEMORY = 2, /* memory ran out: counting stopped */
    WIRE_EXACT_AVX512 = 4, /* the program met an AVX-512 instruction, which ends it here */
};

struct wire_reuse_pair {
    struct wire_record record;
    uint32_t use, reuse;       /* nodes */
    uint64_t count;            /* reuses seen */
    double weight;             /* reuses they stand for */
    double time, time_squares; /* Σ weight × distance, Σ weight × distance² */
    double stack, stack_squares;
};

/* Some of the bytes that a pair wastes, or of the locations that it reuses, were looked up: `count` of them lay there. */
struct wire_observed {
    struct wire_record record;
    uint32_t kind;          /* enum detect_kind, reuse included */
    uint32_t first, second; /* nodes */
    uint32_t object;        /* enum wire_object; DATA is none of them */
    uint32_t module; /* GLOBAL, THREAD; STACK: of the frame's function; as in nodes, 0: not known */
    uint32_t node;   /* HEAP: the allocating function, a leaf; 0: not known */
    uint32_t own;    /* STACK, THREAD: 1: of the thread that accessed it */
    uint32_t reserved;
    uint64_t count; /* > 0 */
    uint64_t size;  /* HEAP, MAPPED */
    /* HEAP, MAPPED: the least and the greatest in it. With a module, both the same: GLOBAL: ELF virtual address; THREAD: in the
       module's thread-local segment; STACK: from the frame's canonical address */
    int64_t offset, offset_last;
    uint64_t
        frame_code; /* STACK with a module: ELF virtual address of an instruction executed there */
};

struct wire_histogram { /* bins as distance_bin (distance/distance.h) */
    struct wire_record record;
    uint32_t which;        /* 0: time, 1: stack */
    uint32_t first, count; /* bins first .. first + count - 1 follow; at most 512 */
    uint32_t reserved;
    double weights[];
};

struct wire_reuse_totals {
    struct wire_record record;
    uint32_t unit_bytes, stack;                       /* stack: 1 if stack distances were taken */
    double share_first, share_last;                   /* of locations kept, 0..1 */
    double accesses, reuses, locations, never_reused; /* struct distance_totals */
    uint64_t kept_accesses, kept_locations;
};

/* A procedure in a calling context; before it is named. */
struct wire_path_vertex {
    struct wire_record record;
    uint32_t vertex, parent; /* ids are per process; parent 0 is the root */
    uint32_t module;
    uint32_t has_site; /* 1: call sites are distinguished */
    uint64_t entry;    /* of the function: ELF virtual address */
    uint64_t site;     /* return address of the call, likewise, in site_module */
    uint32_t site_module;
    uint32_t reserved;
    uint64_t count; /* activations */
};

/*
 * Paths as a tree of prefixes: the first block of a path, the blocks that followed, and at the leaves how often
 * and how the path ended there.
 */
struct wire_path_state {
    struct wire_record record;
    uint32_t state, parent; /* ids are per process, parents come first; parent 0: FIRST */
    uint32_t vertex;
    uint32_t block; /* number in the function; of CUT the block it leads to */
    uint32_t kind;  /* enum wire_path_kind */
    uint32_t reserved;
    uint64_t count, misses; /* of EXIT and CUT */
};
enum wire_path_kind {
    WIRE_PATH_ENTRY = 1, /* first block, after a call */
    WIRE_PATH_ROOT,      /* first block, control came from elsewhere (landing pad) */
    WIRE_PATH_AFTER_CUT, /* first block, behind a cut edge */
    WIRE_PATH_NEXT,      /* one more block */
    WIRE_PATH_EXIT,      /* ends: control leaves the function */
    WIRE_PATH_CUT,       /* ends: a cut edge */
};

struct wire_path_totals {
    struct wire_record record;
    uint32_t contexts, sites; /* 1: distinguished */
    uint64_t cache_bytes;     /* the simulated cache; 0: none */
    uint32_t cache_ways, line_bytes;
    uint64_t misses; /* all of the program */
    /* of these, in paths that were left halfway, by exceptions or at the end */
    uint64_t lost_misses;
    /* in code whose graph is not known */
    uint64_t elsewhere_instructions, elsewhere_loads, elsewhere_stores;
    uint64_t elsewhere_misses; /* misses outside of paths */
};

/* Transfers of cache lines between threads (transfer/transfer.h); lines follow the totals, pairs and users their line. */
struct wire_shared_totals {
    struct wire_record record;
    uint32_t threads, exhausted; /* threads of the process; 1: memory ran out */
    uint64_t instructions;       /* of all threads, from when there was a second one */
    double true_transfers, false_transfers;
    double unlisted; /* of lines that have no record */
    uint64_t evicted, coarsened, early, merged;
};

struct wire_shared_line {
    struct wire_record record;
    uint32_t line, kind; /* ids are per process, from 1; kind: enum wire_object */
    uint32_t node;       /* heap: where it was allocated, a leaf; else 0 */
    uint32_t thread;     /* stack, thread-local: whose, from 0 */
    uint32_t module;     /* global: the file's module id; else 0 */
    uint32_t reserved;   /* 0 */
    uint64_t vaddr;      /* global: ELF virtual address of the line in it */
    uint64_t address;    /* of the line */
    int64_t offset;      /* of the line in the object; negative: the object begins in it */
    uint64_t size;       /* of the object; 0: not known */
    double true_transfers, false_transfers;
    char text
        []; /* two, NUL-terminated: the object's name, what else is there: lines of OFFSET NAME */
};
enum wire_object {
    WIRE_OBJECT_UNKNOWN,
    WIRE_OBJECT_GLOBAL, /* name: the symbol */
    WIRE_OBJECT_HEAP,
    WIRE_OBJECT_STACK,
    WIRE_OBJECT_THREAD, /* thread-local storage and what the C library keeps beside it */
    WIRE_OBJECT_DATA,   /* a file's, without a symbol; name: the file's path */
    WIRE_OBJECT_MAPPED, /* name: the file's path, or none */
    WIRE_OBJECTS
};

struct wire_shared_pair {
    struct wire_record record;
    uint32_t line, is_true;
    uint32_t first, second;           /* nodes; 0: several places, merged */
    uint32_t first_kind, second_kind; /* 1: reads, 2: writes, 3: both at once */
    double forward, backward;         /* transfers from first to second, and back */
    uint64_t first_mask, second_mask; /* bytes of the line */
};

struct wire_shared_user { /* a thread's accesses to a line */
    struct wire_record record;
    uint32_t line, thread; /* threads from 0, in the order of their creation */
    uint64_t read_mask, write_mask;
    uint64_t reads, writes;
};

struct wire_shared_between {
    struct wire_record record;
    uint32_t from, to; /* threads; 63: that and all later ones */
    double transfers;
};

/* A piece of code: instructions that follow one another in memory. */
struct wire_executed_access {
    uint8_t instruction; /* of the piece, from 0 */
    uint8_t store;       /* 1: it stores */
    uint16_t bytes;
};
struct wire_executed_code {
    struct wire_record record;
    uint32_t code, module;                       /* code: ids are per process, from 1 */
    uint64_t vaddr;                              /* as a leaf node's */
    uint16_t instructions, code_bytes, accesses; /* in `data` */
    uint16_t reserved;
    uint8_t
        data[]; /* struct wire_executed_access each, the length of each instruction, their bytes */
};

/* What a thread executed from an execution of a loop's head on. */
struct wire_executed_window {
    struct wire_record record;
    uint32_t window, module; /* window: ids are per process, from 1; module: of the head */
    uint64_t head;           /* ELF virtual address */
    uint64_t execution;      /* which one of the head, from 1 */
    uint64_t executions;     /* of the head, in this process */
    uint32_t thread, words;  /* thread: the engine's number; words: in the steps that follow */
    uint32_t caches;         /* that were simulated, nearest first; 0: none */
    uint32_t reserved;
};
struct wire_executed_steps {
    struct wire_record record;
    uint32_t window, count;
    /* WIRE_EXECUTED_PIECE | code: that is executed; else one of its accesses, shifted, with the number of the cache that it was found in,
       shifted, and the address */
    uint64_t words[];
};
#define WIRE_EXECUTED_SHIFT   48
#define WIRE_EXECUTED_LEVEL   60 /* below 15; accesses are below 4096 */
#define WIRE_EXECUTED_PIECE   (UINT64_C(0xffff) << WIRE_EXECUTED_SHIFT)
#define WIRE_EXECUTED_ADDRESS ((UINT64_C(1) << WIRE_EXECUTED_SHIFT) - 1)

/* ---- shared lines, live -------------------------------------------------------- */

struct wire_shared_file {
    struct wire_record record;
    uint64_t file; /* as in what is published there */
    char path[];   /* NUL-terminated; "": it has none */
};

struct wire_published {
    struct wire_record record;
    uint32_t serial; /* of the thread, from 1 */
    uint32_t node;
    uint64_t line, mask; /* its address; bytes of it, bit 0 the first */
    uint64_t file,
        offset; /* of memory that processes share: a number for it, the line's offset there; else 0, 0 */
    float weight;        /* samples that it stands for */
    uint32_t generation; /* of the memory there */
    uint16_t number;     /* of the thread in its process, in the order of creation */
    uint8_t kind;        /* bits: 1 reads, 2 writes, 4 locked */
    uint8_t
        watched;   /* words of another one's line that the thread watches from now on; 0: none. With
                        WIRE_WATCHED_AIMED: one that several threads were known to use was asked for.
                        And WIRE_PUBLISHED_SPUN: a wait by spinning ended just before this access */
    float density; /* loads and stores per instruction seen ahead; 0 unknown */
};

enum { WIRE_WATCHED_WORDS = 0x0f, WIRE_PUBLISHED_SPUN = 0x40, WIRE_WATCHED_AIMED = 0x80 };

struct wire_meeting {
    struct wire_record record;
    uint32_t first_process, first_thread, first_serial; /* whose access it was */
    uint32_t reserved_first;
    uint64_t line, first_mask, second_mask;
    uint64_t gap_ns; /* from the first to the second touch */
    uint32_t node;   /* of the second; 0: its fate is not a meeting */
    float weight;    /* > 0 */
    uint16_t number; /* as above, of the second */
    uint8_t first_kind, second_kind;
    uint8_t fate; /* enum wire_fate */
    uint8_t reserved[3];
};
/* What became of a touch of a watched line. */
enum wire_fate {
    WIRE_MET,         /* one of the two writes */
    WIRE_MET_READS,   /* both read: nothing moves */
    WIRE_MET_LATE,    /* longer ago than sharing_ms, or the trap came late */
    WIRE_MET_WAIT,    /* one of the threads has waited in between: they took turns */
    WIRE_MET_REUSED,  /* the memory was freed in between: another object */
    WIRE_MET_UNKNOWN, /* it is not known which bytes were touched */
    WIRE_FATES
};

uint32_t wire_checksum(const struct wire_record *record);

/*
 * Checks the record at bytes (of `available` readable): length, type, minimal
 * size of its type, strings terminated, checksum. Copies nothing.
 */
enum base_status wire_record_check(const void *bytes, size_t available);

/* ---- agent side -------------------------------------------------------------- */

struct wire_writer {
    struct wire_region *region;
    uint32_t chunk; /* open chunk, or WIRE_NONE */
    uint32_t used, sequence;
    uint32_t process, thread, pid;
};

/* Copies the record, which gets its checksum, and commits it; opens chunks as needed. False: no free
   chunk, nothing was written. */
bool wire_write(struct wire_writer *writer, struct wire_record *record);

/* Room for `bytes` more in one chunk, closing and opening chunks now: a group that must not be torn.
   False: no free chunk. */
bool wire_reserve(struct wire_writer *writer, uint32_t bytes);

/* Hands the open chunk, if any, to headroom; the writer may go on. */
void wire_close(struct wire_writer *writer);

/* A slot for a thread, its own until it sets WIRE_SLOT_ENDED; NULL: none is free. Fills identity and zeroes counters. */
struct wire_thread_slot *wire_thread_begin(struct wire_region *region, uint32_t process,
                                           uint32_t pid, uint32_t tid);

/* Pid of the thread that has the slot now; 0: nobody. Reads nothing of the slot itself. */
static inline uint32_t wire_owner(const struct wire_region *region, uint32_t slot)
{
    return atomic_load_explicit(&region->owners[slot], memory_order_acquire);
}

/* A new image of process pid has begun: slots and chunks of older images are ended. */
void wire_supersede(struct wire_region *region, uint32_t pid, uint32_t process);

/* Finds or claims a slot for a module's table, which nobody needs yet; index or WIRE_NONE. */
uint32_t wire_table_name(struct wire_region *region, const char *path, uint64_t device,
                         uint64_t inode);
/* It is needed now. True: the doorbell should be rung, nobody has asked before. */
bool wire_table_need(struct wire_region *region, uint32_t slot);
/* Both at once. Rings no doorbell. */
uint32_t wire_table_want(struct wire_region *region, const char *path, uint64_t device,
                         uint64_t inode);

/* ---- headroom side ----------------------------------------------------------- */

/* Raw log: struct wire_log_header, then frames: struct wire_frame + payload. */
#define WIRE_LOG_MAGIC UINT64_C(0x31474f4c52444448) /* "HDDRLOG1" */
struct wire_log_header {
    uint64_t magic;
    uint32_t version, header_bytes;
    struct wire_config config;
};
struct wire_frame {
    uint32_t magic;         /* 0x4d524648 "HFRM" */
    uint32_t payload_bytes; /* records; <= WIRE_CHUNK_BYTES */
    uint32_t process, thread, pid;
    uint32_t sequence, offset; /* chunk sequence in the thread, offset in the chunk */
    uint32_t checksum;         /* of the payload and the members from process to offset */
};
enum { WIRE_FRAME_MAGIC = 0x4d524648 };
uint32_t wire_frame_checksum(const struct wire_frame *frame, const void *payload);

/* Receives drained bytes; false stops draining (disk full). */
typedef bool wire_sink(void *context, const struct wire_frame *frame, const void *payload);

/*
 * Takes everything committed out of the region: chunks (recycling the closed
 * ones) and ended threads' counters (as WIRE_COUNTERS records of a frame with
 * sequence 0xffffffff). Records that fail their check are skipped and counted.
 * Returns false if the sink did. Call from one thread.
 */
bool wire_drain(struct wire_region *region, wire_sink *sink, void *context, uint64_t *corrupt);

/* Processes that ended without saying so (SIGKILL): closes their chunks and slots.
   alive: the caller's test. */
void wire_reap(struct wire_region *region, bool (*alive)(void *context, uint32_t pid),
               void *context);

/* Validates the frame at bytes: sizes, checksum. *total: bytes to the next frame. */
enum base_status wire_frame_check(const void *bytes, size_t available, size_t *total);

#endif
