// SPDX-License-Identifier: MIT
/*
 * profile: what one recording found, in memory and as one SQLite file
 * (`*.headroom`, docs/formats/profile.md). The only room that includes sqlite3.
 *
 * A struct profile is filled by `import` (profile_new, profile_add_*) and written
 * once with profile_write, or read whole with profile_read. Files are hostile
 * input: profile_read checks every id, count and number, so that readers of a
 * struct profile may use all of them without further checks.
 *
 * Ids are indices into the arrays below. Id 0 of modules, frames, contexts, loops, path_functions, vertices
 * and span_functions is "none" (context 0 and vertex 0 are the roots of the calling-context trees); profile_new adds
 * those items. Parents precede children: contexts[i].parent < i.
 *
 * Host side; a struct profile belongs to one thread at a time.
 */
#ifndef HEADROOM_PROFILE_H
#define HEADROOM_PROFILE_H

#include "base/base.h"

#include <string.h>

enum { PROFILE_VERSION = 18, PROFILE_BUILD_ID_BYTES = 32, PROFILE_ERROR_BYTES = 512 };

/*
 * Contexts lie that deep at most. The agent walks 256 frames, the exact engine follows 512 calls, and
 * debug information makes several inlined frames of one: 2048 are eight for each of 256, four for each of
 * 512. `import` cuts what is deeper, so that a file with deeper ones is none that headroom wrote.
 */
enum { PROFILE_DEPTH_MAX = 2048 };

/* PROFILE_REUSE: counts of samples only, no pairs of waste. Since version 3. */
enum profile_kind_id { PROFILE_DEAD, PROFILE_SILENT, PROFILE_LOAD, PROFILE_REUSE, PROFILE_KINDS };
extern const char *const profile_kind_names[PROFILE_KINDS]; /* "dead", "silent", "load", "reuse" */

/* Same values as enum binary_detail. */
enum profile_detail {
    PROFILE_DETAIL_LINES,
    PROFILE_DETAIL_SYMBOLS,
    PROFILE_DETAIL_EXPORTS,
    PROFILE_DETAIL_NONE,
    PROFILE_DETAILS
};

struct profile_module {
    const char *path; /* never NULL */
    uint8_t build_id[PROFILE_BUILD_ID_BYTES];
    uint32_t build_id_bytes; /* 0: none, or module not looked into */
    uint32_t detail;         /* enum profile_detail */
};

enum profile_frame_flags {
    PROFILE_FRAME_INLINED = 1,    /* inlined into its parent context's frame */
    PROFILE_FRAME_KERNEL = 2,     /* the kernel made the access, in the system call made here */
    PROFILE_FRAME_INCOMPLETE = 4, /* no code: outer callers are missing above this point */
    PROFILE_FRAME_IMPRECISE = 8,  /* function known, instruction not */
    PROFILE_FRAME_CALL = 16,      /* the access is the return address that a call pushes */
    PROFILE_FRAME_RETURN = 32,    /* the access is the return address that a return pops */
    /* Of innermost frames of pairs, from the machine code; since version 8. */
    PROFILE_FRAME_SAVE = 64,    /* saves a register that belongs to the caller, or restores it */
    PROFILE_FRAME_SPILL = 128,  /* keeps a value in the stack frame that has no register */
    PROFILE_FRAME_STUB = 256,   /* loads the address of another module's function, to go there */
    PROFILE_FRAME_UPDATE = 512, /* the store leaves a value made from the one it replaces */
    /* By debugging information; not in files of headrooms before this was known. */
    PROFILE_FRAME_UNOPTIMIZED = 1024, /* the code was compiled without optimization */
    /* Of innermost frames in loops, from the machine code, where loops are known; the same. */
    PROFILE_FRAME_IN_ORDER =
        2048, /* each round of the innermost loop goes on along memory, a line's length at most */
    /* Of innermost frames of pairs, as those since version 8; the same. */
    PROFILE_FRAME_CONSTANT =
        4096, /* loads a constant that the compiler has put among read-only data */
};

struct profile_frame {
    const char *function; /* NULL: unknown */
    const char *file;     /* NULL: unknown */
    uint64_t address;     /* ELF virtual address in module (leaf: the instruction; caller: the
                             return address), absolute if module is 0 */
    uint32_t module;      /* id; 0: none */
    uint32_t line;        /* 0: unknown */
    uint32_t column;      /* 0: unknown */
    uint32_t flags;       /* enum profile_frame_flags */
};

struct profile_context {
    uint32_t parent, frame; /* ids */
};

/* What was found for (kind, first context, second context). Weights are samples × bytes; under the
   exact engine bytes: then squares (but of a sample of locations), samples and traps are 0, but for kernel_traps, which is
   1 if the second access is the kernel's. */
struct profile_pair {
    uint32_t kind;          /* enum profile_kind_id */
    uint32_t first, second; /* context ids: where watched, where touched again */
    double waste_bytes, use_bytes;
    double waste_squares, use_squares; /* Σ of the squared weights of single traps */
    double samples;                    /* samples the traps stand for */
    uint64_t waste_traps, use_traps;
    uint64_t kernel_traps; /* of these: made by the kernel on the program's behalf */
    uint64_t likely_traps; /* second instruction is likely, not certain */
    uint64_t float_traps;  /* waste by the floating-point tolerance only: bits differ. Before
                              version 8: all that were compared with it */
};

/* How a redundant load repeats the load before; from the machine code, 0 where that does not show it. */
enum profile_reach {
    PROFILE_REACH_UNKNOWN,
    PROFILE_REACH_ITERATION, /* in the same round of all loops, or without a loop on one way */
    PROFILE_REACH_INVARIANT, /* the address does not change in the innermost loop */
    PROFILE_REACH_PREVIOUS,  /* a few rounds of the innermost loop ago */
    PROFILE_REACH_SEARCH,    /* by a loop that only goes through data until it finds something */
    PROFILE_REACH_OUTER, /* the innermost loop walks memory, again in each round of one around it */
    PROFILE_REACH_CALL,  /* the same in each call of the function */
    PROFILE_REACHES
};
/* "same loop iteration", ...; [0] NULL */
extern const char *const profile_reach_names[PROFILE_REACHES];

/* What more is known of a pair; pairs without a row: nothing. Since version 8. */
struct profile_trait {
    uint32_t kind, first, second; /* of the pair; ascending */
    uint32_t reach;               /* enum profile_reach */
    double near_bytes;            /* of waste_bytes: by the floating-point tolerance only */
};

/* Samples taken in a context, whether watched or not. */
struct profile_sampled {
    uint32_t kind, context;
    uint64_t samples, armed;
    double weight;
};

/* Totals of one recorded kind. waste/use are sums over the pairs, not stored in the file. */
struct profile_kind {
    uint32_t kind; /* enum profile_kind_id */
    uint64_t samples, armed, traps, ignored, evicted, abandoned, blind_longest;
    double waste_bytes, use_bytes, waste_squares, use_squares;
    uint64_t waste_traps, use_traps;
};

/*
 * Waste counted by the exact engine for a sample of locations, of one kind. Pairs and totals are brought to the scale of all;
 * squares of pairs are variances, those of the row such that profile_share makes an interval of them. Without a row: of all locations. Since
 * version 16.
 */
struct profile_waste_sample {
    uint32_t kind;
    double share;         /* of the locations, (0, 1) */
    double locations;     /* that would differ as much, drawn independently */
    double whole_squares; /* for the share of the waste in all bytes */
    double waste_squares; /* variance of the waste, given all bytes */
};

struct profile_drop {
    const char *reason;  /* "kernel", "no_access", ... */
    const char *meaning; /* for people */
    uint64_t count;
};

struct profile_process {
    uint32_t id, parent; /* ids of the recording; parent UINT32_MAX: none */
    uint32_t pid, forked;
    const char *exe; /* may be NULL */
    uint64_t start_ns;
};

struct profile_thread {
    uint32_t id, process, tid;
    const char *name; /* may be NULL */
    uint64_t cpu_ns, attempted, stored;
};

/* A named counter of a thread; zero counters are left out. */
struct profile_counter {
    uint32_t thread; /* index into threads */
    const char *name;
    uint64_t value;
};

struct profile_text {
    const char *text;
};

/* What the exact engine counted in one process image. Since version 2. */
struct profile_exact {
    uint32_t process, threads; /* process: id as in profile_process; ascending */
    uint64_t loads, stores;    /* accesses by the program */
    uint64_t load_bytes, store_bytes;
    uint64_t fresh_load_bytes, fresh_store_bytes; /* of these: no former access is known */
    uint64_t kernel_load_bytes, kernel_store_bytes;
    uint64_t ids, contexts; /* accesses in their contexts, calling contexts */
    uint64_t instructions;  /* 0: not counted */
};

/*
 * Reuse of one process image. Counts of locations and accesses stand for all, whatever share of
 * the locations was kept. Since version 2. In live recordings all of them are estimates from samples;
 * docs/formats/profile.md says how good. There kept_accesses are the stored samples and kept_locations their
 * effective number: late traps stand for many, so it is what intervals have to go by.
 */
struct profile_reuse {
    uint32_t process;               /* ascending */
    uint32_t unit_bytes;            /* of a location; a power of two, the same in all */
    uint32_t stack;                 /* 1: stack distances were taken */
    double accesses;                /* touches of locations */
    double reuses;                  /* of these, of a location touched before */
    double locations;               /* different ones */
    double never_reused;            /* of these, touched once */
    double share_first, share_last; /* of the locations kept, (0, 1] */
    uint64_t kept_accesses, kept_locations;
};

/* PROFILE_ELAPSED: nanoseconds of the thread's CPU time between use and reuse. Since version 3. */
enum profile_distance { PROFILE_TIME, PROFILE_STACK, PROFILE_ELAPSED, PROFILE_DISTANCES };

/* Reuses with distances in [lo, hi). By process, which, bin; bins do not overlap. Since version 2. */
struct profile_bin {
    uint32_t process;
    uint32_t which; /* enum profile_distance */
    uint32_t bin;   /* number in headroom's binning */
    uint64_t lo, hi;
    double weight;
};

/* Reuses by (context of the use, context of the reuse). Since version 2. */
struct profile_reuse_pair {
    uint32_t use, reuse;       /* context ids */
    uint64_t count;            /* seen */
    double weight;             /* they stand for */
    double time, time_squares; /* Σ weight × distance, × distance² */
    double stack, stack_squares;
};

/*
 * How distances in accesses follow from CPU time, for a live recording that could not count
 * accesses; none where they were counted. Time distances in `bins` and `reuse_pairs` are then estimates by
 * accesses_per_ns, but for the short ones, which were seen by looking ahead. Since version 3.
 */
struct profile_pace {
    uint32_t process;        /* ascending; has a row in `reuses` */
    double accesses_per_ns;  /* > 0 */
    double low, high;        /* interval meant to hold the truth for nine programs of ten */
    double trap_ns;          /* what one trap adds to a measured time; taken off already */
    double floor_ns;         /* times below are not distinguished */
    const char *calibration; /* how accesses_per_ns was found, for people; never NULL */
};

/* A cache of the machine on which the recording was made, smallest first. Since version 3. */
struct profile_cache {
    uint32_t level;
    uint32_t ways; /* 0: unknown or fully associative */
    uint32_t line_bytes;
    uint32_t sharers; /* logical CPUs that share it */
    uint64_t bytes;
};

/* What memory takes on the machine of the recording: nearest first, memory last. Since version 11. */
struct profile_latency {
    uint32_t level;   /* of the cache; 0: memory */
    uint64_t bytes;   /* that were gone through; ascending */
    double chase_ns;  /* > 0: a load that the next one waits for; not falling */
    double stream_ns; /* > 0: a line of those that are read in order; not falling */
};

/* What a simulated cache would have missed, all processes together. Since version 3. */
struct profile_what_if {
    uint64_t bytes;
    uint32_t ways; /* 0: fully associative */
    uint32_t line_bytes;
    uint64_t accesses, misses; /* touches of lines */
};

/* The same of the loads or stores of an instruction with a line. Since version 17. */
struct profile_what_if_site {
    uint32_t frame;
    uint32_t store;
    uint64_t bytes; /* of the cache, as in what_if */
    uint32_t ways, line_bytes;
    uint64_t accesses, misses; /* executions; misses of the lines that they touched */
    uint64_t moved_bytes;
    uint64_t low, end; /* addresses of the memory that they touched */
    uint64_t step;     /* bytes from one execution to the next, mostly; 0: not known, or none */
};

/* A natural loop in the code, id = index from 1; id 0 is none. Since version 3. */
struct profile_loop {
    uint32_t parent; /* the loop around it in the same function, < own id; 0: outermost */
    uint32_t module;
    uint64_t address;     /* of its head: ELF virtual address */
    const char *function; /* in which its head lies in the source, perhaps inlined; NULL: unknown */
    const char *file;     /* of the head; NULL: unknown */
    uint32_t line;        /* 0: unknown */
};

/* The innermost loop around a frame's instruction; frames without a row: none, or unknown. Since version 3. */
struct profile_frame_loop {
    uint32_t frame, loop; /* ids; ascending by frame */
};

enum profile_path_modes { /* same values as enum instrumented_modes */
                          PROFILE_PATHS = 1,
                          PROFILE_CONTEXTS = 2,
                          PROFILE_CALL_SITES = 4, /* contexts distinguish call sites */
                          PROFILE_CYCLES = 8,
                          PROFILE_COUNT = 16,
                          PROFILE_PMU = 32,
                          PROFILE_PATH_MODES = 63,
};

enum profile_path_table {                     /* same values as enum instrumented_table */
                          PROFILE_TABLE_NONE, /* nothing was counted */
                          PROFILE_TABLE_ARRAY,
                          PROFILE_TABLE_HASH, /* many potential paths */
                          PROFILE_TABLES
};

/* Beginning of enum instrumented_reason; larger numbers: not instrumented, and `why` says why. */
enum profile_path_reason { PROFILE_PATH_WHOLE, PROFILE_PATH_TRUNCATED, PROFILE_PATH_REASONS = 256 };

/*
 * Functions whose paths or calling contexts were counted, or why not. Since version 4.
 * id = index from 1; id 0 is none.
 */
struct profile_path_function {
    const char *function; /* NULL: unknown */
    const char *file;     /* of its entry; NULL: unknown */
    uint64_t address;     /* of its entry: ELF virtual address in module */
    uint32_t module;
    uint32_t line;       /* 0: unknown */
    uint32_t table_kind; /* enum profile_path_table */
    uint32_t reason;     /* enum profile_path_reason */
    const char *why;     /* the reason for people, a clause; NULL only if whole */
    uint32_t blocks, call_sites, inline_assembly;
    uint64_t potential;    /* number of potential paths before any were truncated; 0: not known, or
                             more than INT64_MAX */
    double potential_log2; /* its logarithm to base 2, whether known or not */
};

/* Blocks of these functions that some executed path runs through; id = index, by function, block. */
struct profile_path_block {
    uint32_t function; /* id */
    uint32_t block;    /* number within the function */
    uint64_t address;  /* of its first instruction */
    uint32_t instructions, loads, stores;
    /* path_lines[first_line ...]: its lines in order of addresses, may be
       none; the blocks' lines follow one another without gaps */
    uint32_t first_line, lines;
};

/* Lines of blocks; neighbours in a block differ. */
struct profile_path_line {
    const char *file;     /* NULL: unknown */
    const char *function; /* from which it was inlined; NULL: it is the function's own */
    uint32_t line;        /* 0: unknown */
};

enum profile_path_flags {                             /* same values as enum numbering_ends */
                          PROFILE_PATH_FROM_ROOT = 1, /* begins at a landing pad */
                          PROFILE_PATH_FROM_CUT = 2,  /* begins where a back edge leads */
                          PROFILE_PATH_TO_CUT =
                              4, /* ends at a back edge, else leaves the function */
};

/* One executed path, summed over threads, processes and contexts. id = index, by function, number. */
struct profile_path {
    uint32_t function;
    uint32_t flags;                       /* enum profile_path_flags */
    uint64_t number;                      /* unique in the function */
    uint64_t count;                       /* > 0 */
    uint64_t instructions, loads, stores; /* count times what one execution does */
    double cycles;                        /* own, without callees; negative: not measured */
    uint64_t measured;                    /* executions that the cycles of all were reckoned from */
    double misses; /* simulated misses of the first-level data cache; negative: not measured */
    double events; /* of the pmu metric; negative: not measured */
    /* path_steps[first_step ...]: its blocks in order, at least one; the
       paths' steps follow one another without gaps */
    uint32_t first_step, steps;
};

struct profile_path_step {
    uint32_t block; /* id in path_blocks */
};

/* Vertex of a calling-context tree: a procedure in a context. id = index from 1; 0: the root. Parents precede
   children. Each thread of the program has a tree; here equal contexts of all threads are one. */
struct profile_vertex {
    uint32_t parent;
    uint32_t function; /* id in path_functions; 0: a root for a thread or a signal handler */
    /* call site in the parent's function from 0; UINT32_MAX: not distinguished, unknown */
    uint32_t site;
    uint32_t site_line;  /* 0: unknown */
    uint64_t count;      /* activations */
    uint64_t bytes;      /* of its record in the program, the largest if there were several */
    uint64_t call_sites; /* in the function */
    uint64_t call_sites_used, call_sites_one_path; /* of these: called something here; reached by
                            one executed path only, known with paths */
    double instructions, cycles, misses;           /* own; negative: not measured */
    uint64_t measured; /* activations, or paths of them, that cycles were reckoned from */
};

/* Path counts by context: which vertex executed which path (ids) how often. By vertex, path. */
struct profile_vertex_path {
    uint32_t vertex, path;
    uint64_t count;
};

/* How the counting was done and what it cost. At most one row. */
struct profile_path_run {
    uint32_t modes;       /* enum profile_path_modes */
    uint64_t cache_bytes; /* geometry of the simulated cache; 0: none */
    uint32_t cache_ways, cache_line;
    double cycles_per_read; /* taken off each execution of a path; 0: not measured */
    double cycles_per_ns;   /* 0: not known */
    uint64_t lost_pieces;   /* of recording memory that could not be had */
    const char *event;      /* pmu metric; NULL: none */
};

/* ---- spans: `headroom interference`, since version 5 ----------------------------------------- */

/* A hooked function, or a marker. id = index from 1; id 0 is none. */
struct profile_span_function {
    const char *function; /* never NULL */
    const char *file;     /* of its entry; NULL: unknown */
    uint32_t line;        /* 0: unknown */
    uint32_t module;
    uint64_t address; /* of its entry: ELF virtual address in module; 0: not known */
    uint32_t class;   /* enum spans_class (wire/spans.h) */
    uint32_t entry;   /* enum spans_entry: how it was hooked */
    uint32_t key;     /* enum spans_key */
    uint32_t key_argument;
    uint32_t every; /* one execution in so many was recorded, at least; 0: none was */
};

/* What one thread after the other did in one stretch of memory: sums go on when a thread ended and
   another took it over. id = index. */
struct profile_span_thread {
    uint32_t process;       /* id as in profile_process */
    uint32_t tid;           /* 0: not known, or of several */
    const char *name;       /* NULL: not known */
    uint32_t owners;        /* threads */
    uint32_t highest_every; /* it recorded one execution in so many, at the most */
    double duration_ns;
    double cost_ns;                 /* estimated, of recording */
    double preempted_ns, asleep_ns; /* whole thread */
    uint64_t preemptions, sleeps;
    uint64_t events;        /* executions recorded */
    uint64_t skipped;       /* executions let pass */
    uint64_t unhooked;      /* executions not seen, as there was no room */
    uint64_t switches_lost; /* context switches overwritten before they were read */
};

/* A span, all threads and processes together. id = index; its rows in the tables below follow one
   another. Times of executions are without preemption. */
struct profile_span {
    uint32_t function; /* id in span_functions; 0 if a sequence */
    uint32_t flags;    /* enum spans_flags */
    uint64_t key, shape;
    double max_ns;
    double first_ns, last_ns; /* of its executions, from the beginning of the recording */
    uint64_t preemptions, sleeps;
};

enum { PROFILE_SPAN_SEQUENCE = 2 }; /* of flags: SPANS_SEQUENCE */

struct profile_span_part { /* by span, thread */
    uint32_t span, thread;
    uint64_t count, recorded;                                  /* recorded <= count */
    double sum_ns, min_ns, within_ns, preempted_ns, asleep_ns; /* of the recorded */
};

struct profile_span_bin { /* executions with low <= duration < high; by span, low */
    uint32_t span;
    double low_ns, high_ns;
    uint64_t count;
};

struct profile_span_child { /* what it called, in order; by span */
    uint32_t span, function;
    uint32_t times;
    uint64_t shape;
};

struct profile_span_stack { /* where it was called, by span */
    uint32_t span, context;
    uint64_t taken;
    double lost_ns;
};

struct profile_span_holder { /* who had the lock, by span; context 0: not known */
    uint32_t span, context;
    uint64_t times;
    double waited_ns;
};

struct profile_span_sample { /* an execution, by span */
    uint32_t span, weight;   /* weight: executions it stands for */
    double ns;
    uint64_t argument0, argument1, argument2, result;
};

struct profile_span_skip { /* functions that were to be hooked and are not */
    const char *function;  /* never NULL */
    const char *module;    /* path; NULL: not known */
    const char *why;       /* a clause, never NULL */
};

/* By thread; all threads, if any. Since version 7. */
struct profile_span_cpu {
    uint32_t thread;
    double cpu_ns; /* CPU time, whether or not anything that is hooked was executed in it */
};

/* By span, thread: what belongs to a part, 0 where there is no row. Since version 7. */
struct profile_span_sleep {
    uint32_t span, thread;
    double within_ns; /* of the part's asleep_ns: in spans that were called */
};

/* How it was recorded. At most one row. */
struct profile_span_run {
    double ns_per_tick; /* of the time stamp counter */
    double step_ns;     /* by which it usually advances */
    double wall_ns;     /* from before the program began to after it ended */
    uint32_t stack_period, switches, automatic; /* as in struct spans_region */
    uint64_t lost_pieces;                       /* of memory that could not be had */
    uint64_t no_switches; /* threads whose context switches could not be watched */
    uint64_t no_areas;    /* modules near which there was no room for code */
};

/*
 * A recording that went into this profile by merging, in the order of their starts; none in a profile
 * that is itself a recording. The first one's processes have the ids 0, 1, ... below its number of
 * them, the second one's follow, and so on. Since version 6.
 */
struct profile_merged {
    const char *file;    /* the recording's profile, as it was named when merging; never NULL */
    const char *host;    /* NULL: unknown */
    const char *command; /* in one text; NULL: unknown */
    uint64_t start_ns;   /* CLOCK_REALTIME; 0: unknown */
    int64_t exit_code, exit_signal; /* -1: none */
    uint32_t processes;
};

/* What the code was in which CPU time was spent. */
enum profile_cpu_kind {
    PROFILE_CPU_LINES,     /* source lines are known */
    PROFILE_CPU_FUNCTIONS, /* only its functions */
    PROFILE_CPU_ADDRESSES, /* of a file without symbols for it */
    PROFILE_CPU_JIT,       /* made at run time, and listed by its compiler */
    PROFILE_CPU_NAMELESS,  /* in no file, and listed nowhere */
    PROFILE_CPU_SYSTEM,    /* in the kernel, in a system call that the module made */
    PROFILE_CPU_UNKNOWN,   /* the sample came late */
    PROFILE_CPU_COUNTED,   /* built: in functions that count, or in counting; since version 9 */

    PROFILE_CPU_KINDS
};

/* Where CPU time went, by samples of the clock: whether it could be observed or not. Since version
   8. */
struct profile_cpu_time {
    uint32_t module; /* 0: in no file */
    uint32_t kind;   /* enum profile_cpu_kind */
    uint64_t ticks;  /* samples */
    uint64_t ns;     /* CPU time that they stand for */
};

/* CPU time in user mode by calling context, by samples of the clock: a time profile. Since version
   9. */
struct profile_time {
    uint32_t context; /* innermost: where the thread was; 0: not known */
    uint32_t system;  /* 1: in the kernel, in a system call that was made there */
    uint64_t ticks;   /* samples */
    uint64_t ns;      /* CPU time that they stand for */
};

/*
 * Accesses at a line of own code, counted by the exact engine in a run of its own and kept beside the samples (`headroom
 * run --deep`). frame: one of those that are at the line. Since version 10.
 */
struct profile_counted {
    uint32_t kind; /* below PROFILE_REUSE */
    uint32_t frame;
    double waste_bytes,
        use_bytes; /* of stores that do nothing and those that do something; of loads too */
};

/*
 * A function in which threads lost time waiting, timed in a run of its own and kept beside the samples (`headroom run
 * --deep`). A thread's time is the wall-clock time in which it worked. Since version 10.
 */
struct profile_wait {
    const char *function;      /* that waits; never NULL */
    const char *caller, *file; /* own code that called it where most was lost; NULL: not known */
    const char *holder;        /* own code that held the lock most of that time; NULL: not known */
    const char *cause;         /* "lock", "condition", "imbalance", "io", "allocator"; never NULL */
    uint32_t line;             /* of the caller; 0: not known */
    uint64_t count;            /* executions */
    double lost_ns, working_ns; /* beyond the fastest execution; of all threads together */
};

struct profile_run {
    const char *verb;                /* as the command line has it: "run", "limits", ... */
    const char *engine;              /* "live", "exact", "built", "static" */
    const char *source;              /* "pmu", "clock", "count"; NULL */
    const char *weighting;           /* "accesses", "cpu-time", "time", "cycles" */
    const char *version;             /* of the headroom that wrote the profile */
    const char *host, *kernel, *cpu; /* NULL: unknown */
    int64_t exit_code, exit_signal;  /* -1: none */
    double wall_s, cpu_s;            /* negative: unknown */
    double system_s;                 /* of cpu_s, in the kernel; negative: unknown */
    double fp_tolerance;
    uint64_t start_ns;    /* CLOCK_REALTIME; 0: unknown */
    uint64_t interval_ns; /* clock: mean CPU time between samples; 0 */
    uint64_t adaptive;    /* 1: samples are denser at first; interval_ns is the longest wanted */
    uint64_t period;      /* pmu, count: accesses between samples; 0 */
    uint64_t registers, watch_kernel;
    uint64_t processes, threads;
    uint64_t attempted, stored; /* attempted = stored + Σ drops.count */
    uint64_t corrupt_records, lost_threads, lost_processes;
    uint64_t
        short_threads; /* live: that used too little CPU time for a sample; without those that processes begin with */
    uint64_t unseen_accesses; /* exact: to memory that is not followed; in no other figure */
    uint64_t handler_ns;      /* CPU time spent observing */
};

/*
 * Cache lines that moved between threads: transfers expected in virtual time (engine/transfer), all processes together but for
 * `shared_runs`. Since version 10.
 */
struct profile_shared_run {
    uint32_t process;
    uint32_t threads;
    uint32_t exhausted;    /* 1: memory ran out, accesses are missing */
    uint64_t instructions; /* of all threads, from when there was a second one; live: ns of CPU time
                              that were sampled, taken to be one instruction each */
    double true_transfers, false_transfers;
    double unlisted;                            /* of these, of lines that are no rows */
    uint64_t evicted, coarsened, early, merged; /* struct transfer_totals */
};

enum profile_object {
    PROFILE_OBJECT_UNKNOWN,
    PROFILE_OBJECT_GLOBAL,
    PROFILE_OBJECT_HEAP,
    PROFILE_OBJECT_STACK,
    PROFILE_OBJECT_THREAD, /* thread-local */
    PROFILE_OBJECT_DATA,   /* a file's, without a symbol */
    PROFILE_OBJECT_MAPPED,
    PROFILE_OBJECTS
};

/* A line of an object; of objects that are alike, such as blocks of one size allocated in one place, all together. */
struct profile_shared_line {
    uint32_t object;  /* enum profile_object */
    const char *name; /* of a symbol, else of a file; NULL: none */
    uint32_t context; /* of a heap block: where it was allocated; else 0 */
    uint32_t thread;  /* whose stack or thread-local memory; else 0 */
    uint64_t size;    /* of the object; 0: not known */
    uint64_t offset; /* of the line in the object, two's complement: it may begin inside the line */
    uint64_t address;  /* in one run */
    const char *parts; /* on the line: "BYTE NAME\n" of each, by BYTE; "-": not known; NULL: none */
    double true_transfers, false_transfers;
};

/* Transfers from one access to the next, in another thread. Kinds: 1 reads, 2 writes, 3 both at once; not both 1. */
struct profile_shared_pair {
    uint32_t line;          /* index in shared_lines */
    uint32_t first, second; /* context ids; 0: several places, merged */
    uint32_t first_kind, second_kind;
    uint32_t is_true;                 /* 1: they have bytes in common */
    uint64_t first_mask, second_mask; /* bytes of the line, bit 0 the first */
    double transfers;
};

/* Of what a line's fields are known by (flags). */
enum profile_field_flags {
    PROFILE_FIELD_GUESSED = 1,  /* the object's type is a guess, from where it was allocated */
    PROFILE_FIELD_OVERLAPS = 2, /* of a union: others lie on the same bytes */
    PROFILE_FIELD_FLAGS = 4,
};

/* A field, or a part of one, that is on a line. Since version 12. */
struct profile_shared_field {
    uint32_t line;        /* index in shared_lines */
    uint32_t byte, bytes; /* of the line: the first, how many */
    uint32_t bit,
        bits;       /* of a bit field: its first bit in the field's first byte, how many; else 0 */
    uint32_t flags; /* enum profile_field_flags */
    const char *path;    /* "counters[1].hits" */
    const char *type;    /* NULL: not known */
    const char *owner;   /* the innermost type of which it is a member, NULL: none */
    const char *element; /* type of the elements of the innermost array in the path, NULL: none */
    uint64_t element_bytes; /* their size, 0: none */
};

/* What a thread did to a line. */
struct profile_shared_user {
    uint32_t line, thread; /* threads from 0, in the order of creation */
    uint64_t read_mask, write_mask;
    uint64_t reads, writes; /* accesses */
};

/* Transfers between threads; thread 63: that and all later ones. */
struct profile_shared_move {
    uint32_t from_thread, to_thread;
    double transfers;
};

/*
 * Of `headroom run --deep`, by a run of its own under the exact engine: accesses at a line of own code that use something again,
 * and how many of them miss a cache of that many bytes. Since version 12.
 */
struct profile_missed {
    uint32_t frame; /* id: one of those at the line */
    uint64_t bytes; /* of the cache */
    double accesses;
    uint64_t followed;        /* of accesses: less if only a part of the locations was followed */
    double missing, in_order; /* in_order: of missing, by code that walks over memory in order */
    double whole;             /* accesses of all the program */
};

/*
 * Likewise, by the program's threads: cache lines that move between two places in own code, whose contexts are those of
 * samples where there are any. Since version 12.
 */
struct profile_transfer {
    uint32_t first, second;  /* context ids, as in shared_pairs */
    const char *object;      /* what lies there, for people */
    const char *cause;       /* id of the advice: "sharing.apart" */
    uint32_t kind;           /* of the object: enum profile_object */
    uint64_t size;           /* of it; 0: not known */
    double transfers, whole; /* between the two; of all the program */
    double instructions;     /* of all threads, from when there was a second one */
};

/* What locations of findings lie in, in live recordings; alike in all threads and processes. Since version 12. */
struct profile_memory {
    uint32_t
        object; /* enum profile_object; UNKNOWN: also blocks of the heap whose allocation was not recorded */
    const char *name; /* of the variable, by debugging information or symbol; NULL: none */
    const char *type; /* of it, in the source's words; NULL: not known */
    uint32_t module;  /* global, thread-local, data: id; else 0 */
    uint32_t
        context; /* heap, mapped: whose innermost frame has called the allocating function; else 0 */
    uint32_t other; /* stack, thread-local: 1: of another thread than that which touches it */
    uint64_t size;  /* of the variable or block; 0: not known */
};

/*
 * Of a pair: where its locations were. Weights are of findings, in bytes (reuse: in samples), and by object in proportion to all of the
 * pair's: blocks that were recorded with a chance stand for more. Since version 12.
 */
struct profile_located {
    uint32_t kind, first, second; /* of the pair; PROFILE_REUSE: of the reuse pair */
    uint32_t memory;              /* index into memories */
    uint64_t low,
        high; /* offsets in the object, the least and the greatest seen; 0 if that says nothing */
    const char *
        field; /* the only one, "counters[4].misses (struct counter +8)"; NULL: not known, or several */
    const char *
        member; /* the same without indices, "counters[].misses", where elements differ; NULL likewise */
    uint64_t seen; /* findings */
    double weight;
};

/* Of live recordings, since version 12: transfers are weights there, and nothing is said of instructions. What became of watches in a
   process: a touch of a line that another thread had published is a meeting. */
struct profile_shared_watch {
    uint32_t process;
    uint64_t samples, armed; /* accesses published; after which another thread's line was watched */
    uint64_t met;            /* touches, one of the two a write */
    uint64_t reads;          /* touches where both read */
    uint64_t late, waited, reused; /* too late; after a wait; of memory that was freed meanwhile */
    uint64_t unknown;              /* of which the bytes are not known */
    uint64_t
        cross_process; /* of met: between threads of several processes, in memory that these share */
    uint64_t spun;     /* of samples: accesses right after a wait by spinning */
};

/* What was seen of a line. */
struct profile_shared_seen {
    uint32_t line;                      /* index in shared_lines */
    uint64_t samples;                   /* published accesses */
    double cpu_ns;                      /* that these stand for */
    uint64_t true_traps, false_traps;   /* meetings */
    double true_squares, false_squares; /* of their weights */
};

/* How far meetings' touches lay apart. */
struct profile_shared_gap {
    uint32_t line;
    uint64_t low_ns; /* a power of two, or 0: up to the next one */
    uint64_t traps;
};

/* ---- bounds of loops: `headroom limits`, since version 13 -------------------------------------- */

/* The machine that they hold for. At most one row. */
struct profile_limit_run {
    const char *machine; /* "here", "skylake"; never NULL */
    const char *title;   /* never NULL */
    uint32_t measured;   /* 1: its model was measured, 0: it is from tables */
    uint32_t width;      /* slots of its front end a cycle; 0: not known */
    uint64_t other;      /* innermost loops that are not listed */
    double cycle_ns;     /* that a cycle took around the run; 0: not measured */
    double cycle_spread; /* by how much of itself that varied, up and down */
    double outside; /* part of the CPU time in no innermost loop; 0: none, not known. Version 17 */
};

/* An innermost loop, or a way through it. Cycles are an iteration. id = index. */
struct profile_limit_loop {
    const char *function; /* NULL: a block of code that is repeated */
    const char *file;     /* NULL: unknown */
    uint32_t line;        /* 0: unknown */
    const char *module;   /* file that it was read from; NULL: none */
    const char *level;    /* of optimization, as the compiler has it; NULL: not compiled for this */
    uint64_t address;     /* of its head: ELF virtual address */
    uint32_t ways;        /* through the loop, of which one is taken here */
    uint32_t calls, unknown; /* instructions that call; of which the model knows nothing */
    uint32_t limit,
        next; /* which bound is largest, and second: 0 resource, 1 recurrence, 2 frontend */
    double resource, recurrence, frontend;
    double slots, branch; /* of frontend */
    double recurrence_most,
        aliased; /* recurrence at the longest latencies; if accesses that may overlap do */
    double certified, predicted;
    double circuit_latency;    /* cycles around the critical circuit; 0: there is none */
    uint32_t circuit_distance; /* iterations around it */
    double measured;           /* mean over all ways; negative: not measured */
    double share;              /* of the CPU time of a run; negative: not known */
    uint64_t iterations;       /* counted in a run under the exact engine; 0: not counted */
    uint32_t circuit_used;     /* 1: other instructions need what the critical circuit makes */
};

/* On the way through it, in order. By loop. */
struct profile_limit_instruction {
    uint32_t loop;
    uint64_t address;
    const char *text; /* assembly */
    const char *file; /* NULL: unknown */
    uint32_t line;
    uint32_t
        category; /* of what it computes: 0 other, 1 move, 2 add, 3 multiply, 4 multiply and add, 5 divide, 6 root */
    double pressure; /* cycles of the units that bound the loop */
};

/* By loop. */
struct profile_limit_resource {
    uint32_t loop;
    const char *name;    /* of a unit, or "loads", "stores", "branches", or a form of instruction */
    uint32_t bottleneck; /* 1: it bounds the loop */
    double copies, cycles;
};

/* The critical circuit, arc after arc. By loop. */
struct profile_limit_arc {
    uint32_t loop;
    uint32_t from, to;           /* instructions of the loop, from 0 */
    uint32_t from_kind, to_kind; /* what they do there: 0 load, 1 compute, 2 store */
    uint32_t distance;           /* iterations */
    uint32_t memory;             /* 1: through memory, from a store to a load */
    double latency;              /* cycles */
};

/* ---- what loops executed, since version 14 ----------------------------------------------------- */

/* Instructions that one thread executed one after the other, from an execution of a loop's head on. id = index. */
struct profile_executed_window {
    const char *module;  /* file of the head; never NULL */
    uint64_t address;    /* of the head: ELF virtual address */
    uint32_t process;    /* tells processes apart, and is none of table `processes` */
    uint32_t number;     /* of the window, in the process */
    uint32_t thread;     /* as the engine numbers them */
    uint32_t caches;     /* that were simulated; 0: none */
    uint64_t execution;  /* which one of the head, from 1 */
    uint64_t executions; /* of the head in all, in that process */
};

/* An instruction of it, once, in the order in which they were met first. By window. */
struct profile_executed_code {
    uint32_t window;
    const char *module; /* NULL: of no file */
    uint64_t address;   /* ELF virtual address, or as it was */
    const char *bytes;  /* hexadecimal digits, at most 15 pairs; never NULL */
};

/* `count` of these, from `first` on, were executed. In order. By window. */
struct profile_executed_run {
    uint32_t window;
    uint32_t first; /* among the window's codes */
    uint32_t count;
};

/* By window. */
struct profile_executed_access {
    uint32_t window;
    uint32_t step; /* of the instruction among those executed, from 0; ascending */
    uint64_t address;
    uint32_t bytes;
    uint32_t store; /* 1: it stores */
    uint32_t
        level; /* of the simulated caches, where it was found: 0 the first; their number: memory */
};

/* How far apart uses of the lines were that an executed instruction used again: 2^(bin / 4) to 2^((bin + 1) / 4) distinct lines in between,
   in bin 0 also none. Of the whole run. */
struct profile_executed_distance {
    const char *module; /* never NULL */
    uint64_t address;   /* of the instruction: ELF virtual address */
    uint32_t bin;
    double weight; /* of such uses */
};

/* The optimistic schedule of what a loop executed, for one memory model. Of all its windows. By loop. */
struct profile_limit_schedule {
    uint32_t loop;
    uint32_t memory;     /* 0 all loads hit, 1 first touches miss, 2 simulated caches, 3 by reuse */
    uint32_t windows;    /* that it is of */
    uint64_t iterations; /* executions of the head in them */
    uint64_t instructions;   /* in them */
    uint64_t inside;         /* of these, in the loop and what it calls */
    uint64_t loads, misses;  /* executed; that take longer than a hit */
    double data_flow, units; /* cycles an iteration: by dependences alone; and the units */
    double machine;          /* and front end and reorder buffer; negative: that is not known */
};

/* Of all memory models the first one's units. By loop. */
struct profile_limit_use {
    uint32_t loop;
    const char *name;
    double cycles; /* an iteration that it works */
    double ratio;  /* of its time */
};

/* The first operations of that schedule. By loop. */
struct profile_limit_operation {
    uint32_t loop;
    uint32_t iteration; /* from 1 */
    uint32_t kind;      /* 0 load, 1 compute, 2 store */
    const char *unit;   /* NULL: none */
    const char *text;   /* assembly */
    const char *file;   /* NULL: unknown */
    uint32_t line;
    double start, end; /* cycles */
};

/* ---- dependences of loops in their source, since version 14 -------------------------------------- */

/* An innermost loop of a source. id = index. */
struct profile_limit_source {
    const char *function, *file; /* NULL: unknown */
    uint32_t line;               /* of its head; 0: unknown */
    const char *reason;          /* why nothing is known of it; NULL: something is */
    double
        circuit_latency; /* cycles around the critical circuit of its operations; 0: there is none */
    uint32_t circuit_distance; /* iterations around it */
    uint32_t left_out;         /* loops around it, outermost first, that vectors do not have */
};

/* Between two references of it, or through a scalar from one iteration to a later one. By source. */
struct profile_limit_dependence {
    uint32_t source;
    uint32_t kind;                                       /* 0 flow, 1 anti, 2 output */
    const char *from_text, *to_text;                     /* as the source has them; never NULL */
    uint32_t from_line, from_column, to_line, to_column; /* 0: unknown */
    const char *vector; /* distances in the loops around both, "(+, 0, -1)"; NULL: a scalar */
    uint32_t inner;     /* 1: the innermost loop has it within one execution */
    uint32_t distance;  /* at least so many iterations of that; 0 if inner is 0 */
};

/* The critical circuit of a source's operations, arc after arc. By source. */
struct profile_limit_step {
    uint32_t source;
    const char *from_text, *to_text; /* never NULL */
    uint32_t from_line, to_line;
    uint32_t from_kind, to_kind; /* 0 load, 1 compute, 2 store */
    uint32_t distance;           /* iterations */
    double latency;              /* of what is at its beginning, cycles */
};

/* The source of a loop of machine code. By loop. */
struct profile_limit_match {
    uint32_t loop;
    const char *function; /* of the source's loop; NULL: unknown */
    uint32_t line;        /* of its head */
    uint32_t iterations;  /* of the source in one of the machine code; 0: not known */
    uint32_t
        counters; /* recurrences of the machine code through registers that the source's operations lack */
};

/* What became of a dependence of the source, or one that the machine code has alone. By loop. */
struct profile_limit_fate {
    uint32_t loop;
    uint32_t kind;                   /* 0 flow, 1 anti, 2 output */
    uint32_t fate;                   /* 0 through memory, 1 in a register, 2 gone, 3 added */
    const char *from_text, *to_text; /* of the source; added: assembly; never NULL */
    uint32_t from_line, to_line;
    uint32_t distance; /* iterations of the source; added: of the machine code */
    uint32_t scalar;   /* 1: the source has it through no memory */
    uint32_t may;      /* 1: added, if addresses are equal of which nothing is known */
};

/* ---- repeated runs: `headroom stat`, since version 14 ------------------------------------------- */

/* One call of headroom stat. id = index. */
struct profile_stat_session {
    uint64_t start_ns;   /* CLOCK_REALTIME */
    uint64_t seed;       /* of the order of runs */
    uint32_t rounds;     /* of measured runs: each has one of each subject, in random order */
    uint32_t processors; /* that headroom may use */
    double cycle_ns;     /* that a cycle took around the runs; 0: not measured */
    double cycle_spread; /* by how much of itself that varied, up and down */
    double tick_ns;      /* between ticks of the time stamp counter; 0: not measured */
    double load;         /* mean load of the machine in the minute before the first run */
};

/* What was run: a command, as built at a level. id = index. */
struct profile_stat_subject {
    uint32_t number;     /* of the command, from 0 */
    const char *command; /* in one text; never NULL */
    const char *level;   /* "O2"; NULL: as it was */
    const char *program; /* path of the file that was executed; NULL: not known */
    uint64_t content;    /* hash of that file; 0: not known */
};

enum profile_stat_kind {
    PROFILE_STAT_RUN,      /* the whole run */
    PROFILE_STAT_FUNCTION, /* executions of functions */
    PROFILE_STAT_LOOP,
    PROFILE_STAT_MARKER,
    PROFILE_STAT_KINDS
};

/* What was timed in runs; the first one is the whole run. id = index. */
struct profile_stat_region {
    const char *name; /* as it was asked for; never NULL */
    uint32_t kind;    /* enum profile_stat_kind */
};

/* One run of a subject. Times and counts are of the program and the children it waited for. */
struct profile_stat_run {
    uint32_t session, subject;
    uint32_t round;    /* from 0; the same in runs that belong together */
    uint32_t position; /* from 0, in the order in which runs were made */
    uint32_t warm;     /* 1: to warm up, in no figure */
    uint32_t timed;    /* 1: regions were timed in it: its own time includes what that cost */
    uint64_t wall_ns, user_ns, system_ns;
    uint64_t minor_faults, major_faults, voluntary, involuntary;
    uint64_t peak_bytes;
};

/* A region in a run; none: it was not met. By run, region. */
struct profile_stat_visit {
    uint32_t run, region;
    uint64_t visits;       /* executions; as far as they were sampled, an estimate */
    uint64_t recorded;     /* of these, timed */
    double sum_ns;         /* of all visits, without preemption */
    double min_ns, max_ns; /* of those recorded */
    double preempted_ns, asleep_ns;
    uint64_t preemptions, sleeps;
    double cost_ns; /* estimated: what recording a visit costs */
};

/* How often a loop was entered, and how many iterations it did in all, counted in a run of its own under the exact engine. */
struct profile_stat_trip {
    uint32_t subject, region;
    uint64_t visits, iterations;
};

/* A counted event in a run. By run. */
struct profile_stat_event {
    uint32_t run;
    const char *name; /* "perf::TASK-CLOCK", "perf::CYCLES:u" */
    uint64_t value;
    double share; /* of the time in which it was counted: below 1 the value is scaled up */
};

/* Why a region was not timed. */
struct profile_stat_skip {
    uint32_t subject, region;
    const char *why; /* a clause, never NULL */
};

/* ---- where instructions come from: `headroom map`, since version 14 ---------------------------------- */

enum profile_map_asked {
    PROFILE_MAP_FILE,
    PROFILE_MAP_LINE,
    PROFILE_MAP_FUNCTION,
    PROFILE_MAP_ADDRESS,
    PROFILE_MAP_ASKED
};

/* Why a line has no code. */
enum profile_map_absence {
    PROFILE_MAP_PRESENT,
    PROFILE_MAP_GONE, /* lines around it have code, it has none: removed, or merged into others */
    PROFILE_MAP_OUTSIDE,     /* before the first or behind the last line with code */
    PROFILE_MAP_DECLARATION, /* without code of its own */
    PROFILE_MAP_EMPTY,       /* the source has no statement there */
    PROFILE_MAP_CONTINUED,   /* of a statement that begins on a line before */
    PROFILE_MAP_ABSENCES
};

/* What was asked. At most one row. */
struct profile_map_run {
    const char *module;   /* the file; never NULL */
    const char *asked;    /* the place, as it was given; NULL: all of the file */
    const char *producer; /* of the code there; NULL: unknown */
    const char *file;     /* of the line that was asked for; NULL */
    const char *measure;  /* that heat is a share of: "CPU time"; NULL: there is none */
    uint32_t kind;        /* enum profile_map_asked */
    uint32_t line;
    uint32_t absence;            /* enum profile_map_absence */
    uint32_t previous, next;     /* nearest lines with an instruction; 0: none */
    uint32_t shown;              /* line that a debugger shows at `address`; 0: none */
    uint64_t address;            /* for which the variables are listed; 0: none */
    uint64_t ranges;             /* that there are: all may not be rows */
    uint64_t variables, unknown; /* of the file, with --check; without any location */
    uint64_t scope_bytes, known_bytes;
    uint64_t functions, assignments; /* examined for variables that are not current */
    uint64_t sources;                /* files that could be read for that */
    uint64_t missing;                /* that could not, or were changed later than the program */
};

/* What a range is among those of its line. */
enum profile_map_copy {
    PROFILE_MAP_SINGLE,
    PROFILE_MAP_INLINED,   /* of a copy of its function inlined elsewhere */
    PROFILE_MAP_DUPLICATE, /* the statement is there again */
    PROFILE_MAP_PART,      /* the statement's code is in several pieces */
    PROFILE_MAP_HOISTED,   /* in fewer loops than another piece of it, and before that */
    PROFILE_MAP_SUNK,      /* likewise, and behind it */
    PROFILE_MAP_UNROLLED,  /* again in the same loop */
    PROFILE_MAP_VECTOR,    /* packed vector instructions */
    PROFILE_MAP_COPIES
};

/* Instructions of one line, without a gap; by address. */
struct profile_map_range {
    uint64_t start,
        end;          /* end == start: the statement begins here, its code is elsewhere or gone */
    const char *file; /* NULL: unknown */
    const char *function; /* whose line it is; NULL: unknown */
    const char *
        chain; /* into what it is inlined, innermost first: "f (a.c:3); main (a.c:9)"; NULL: it is not */
    uint32_t line, column, discriminator, view;
    uint32_t statement; /* 1: a debugger stops at its start */
    uint32_t depth;     /* loops around it */
    uint32_t copy;      /* enum profile_map_copy */
    double heat;        /* of the profile beside; negative: not known */
};

/* By address. */
struct profile_map_instruction {
    uint64_t address;
    const char *text; /* assembly */
    const char *file; /* NULL: unknown */
    uint32_t line;    /* 0: of no line */
    double heat;
};

enum { PROFILE_MAP_COMPUTED = 4, PROFILE_MAP_RESIDENCES = 7 }; /* of enum binary_residence */

/* Is what a debugger shows of a variable the source's value? */
enum profile_map_currency {
    PROFILE_MAP_CURRENT,
    PROFILE_MAP_STALE,
    PROFILE_MAP_PREMATURE,
    PROFILE_MAP_SUSPECT, /* stale or premature on some paths, or perhaps */
    PROFILE_MAP_ABSENT,
    PROFILE_MAP_CLASSES
};

/* In scope at the address that was asked for, the innermost first. */
struct profile_map_variable {
    const char *name;     /* NULL: none */
    const char *type;     /* NULL: not known */
    const char *function; /* NULL: the file's */
    const char *where;    /* never NULL */
    const char *reason;   /* one clause; NULL: none */
    uint32_t declared;
    uint32_t residence; /* enum binary_residence */
    uint32_t class;     /* enum profile_map_currency */
    uint32_t assigned;  /* line of the assignment that is late or early; 0 */
    uint32_t shadowed;
};

/* In how many bytes of their scopes variables reside there. */
struct profile_map_class {
    uint32_t residence; /* enum binary_residence */
    uint64_t bytes;
};

/* A variable that is not current at some stop points of a function. */
struct profile_map_finding {
    const char *function; /* NULL: unknown */
    const char *variable;
    const char *file; /* of the assignment */
    uint32_t line;
    uint32_t class;   /* enum profile_map_currency: stale, premature or suspect */
    uint32_t early;   /* 1: premature, or suspected of that; 0: stale */
    uint64_t address; /* of the variable */
};

/* A stop point of a finding; by finding. */
struct profile_map_stop {
    uint32_t finding;
    uint64_t address;
    const char *file; /* NULL: that of the finding */
    uint32_t line;    /* that a debugger shows there */
};

/* ---- loops with all accesses in the first-level cache: `headroom ceiling`, since version 14 ---- */

/* Of the samples that the loops were found by. At most one row. */
struct profile_ceiling_run {
    double cpu_ns;       /* of all samples, in user mode */
    double innermost_ns; /* in innermost loops */
    double eligible_ns;  /* in those that can be cloned */
    double measured_ns;  /* in those of which there is a figure */
    double held_ns;      /* for which threads were stopped */
    uint64_t other;      /* innermost loops that are not listed */
    uint64_t named;      /* functions and lines: no loops but theirs were looked at; 0: all were */
};

/* An innermost loop. Cycles are an iteration; negative: not known. id = index. */
struct profile_ceiling_loop {
    const char *function; /* never NULL */
    const char *file;     /* NULL: unknown */
    uint32_t line;        /* 0: unknown */
    const char *module;
    uint64_t address;      /* of its head: ELF virtual address */
    const char *reason;    /* a clause: why it cannot be cloned; NULL: it can */
    const char *reason_id; /* the same as a word that stays the same; NULL likewise */
    const char *reason_file;
    uint32_t reason_line; /* where that is; NULL and 0: unknown */
    double share;         /* of the CPU time */
    uint64_t samples;
    uint64_t trials;          /* that gave a figure */
    uint64_t disturbed;       /* that did not: the thread lost its processor, or came elsewhere */
    double cycles;            /* as the program executes it */
    double l1_cycles;         /* with all accesses in the first-level cache */
    double l1_least;          /* the same in the fastest trial */
    double gap;               /* 1 - l1_cycles / cycles: what is saved at most */
    double gap_low, gap_high; /* quartiles of the trials */
    double turns;             /* iterations of an execution: median; negative: not known */
    double recurrence;        /* by the machine's model */
    uint32_t instructions;
    uint32_t
        short_executions; /* 1: executions are so short that the stop before them would show: no gap */
};

/* Fewer trials are weak evidence. */
enum { PROFILE_CEILING_TRIALS_FEW = 3 };

/* Is its gap known? */
static inline bool profile_ceiling_known(const struct profile_ceiling_loop *loop)
{
    return loop->trials && !loop->short_executions;
}

/* What else a loop's clone was, since version 16. id = index. */
struct profile_ceiling_variant {
    uint32_t loop; /* index in ceiling_loops */
    const char *
        variant; /* "l2", "l3": with its data in that level; "ls": loads and stores alone; "fp": without them */
    double
        ratio; /* of its time to that with all accesses in the first-level cache; negative: not known */
    double ratio_low, ratio_high; /* quartiles of the trials */
    uint64_t trials;
    const char *reason; /* a clause: why there is none of this loop; NULL: there is */
};

/* ---- locality: misses of loop nests, computed --------------------------------------------------------------- */

struct profile_locality_run {
    const char *path;   /* the source; NAME.ll or .bc: LLVM IR */
    const char *placed; /* where the arrays lie: a clause */
    const char
        *swept; /* the parameter that was swept; NULL: none. There are points then, and no nests. */
};

struct profile_locality_level {
    const char *name; /* "L1" */
    uint64_t bytes;
    uint32_t ways; /* 0: fully associative */
    uint32_t line_bytes;
};

struct profile_locality_nest {
    const char *function, *file; /* NULL: not known */
    const char *
        unverified; /* why there is no simulation although asked for; NULL: there is, or it was not */
    uint32_t line; /* 0: not known */
    uint64_t accesses;
    uint32_t exact;          /* every access was simulated */
    uint32_t late;           /* time was up: intervals are wider than usual */
    uint32_t suggested;      /* changes were looked for */
    uint32_t suggested_late; /* time was up before all were tried */
    uint64_t tried, illegal; /* changes that were solved; that break dependences */
};

struct profile_locality_array {
    uint32_t nest;
    const char *name;
    uint64_t address, size_bytes; /* 0 bytes: not known */
};

/* A load or store of the source. */
struct profile_locality_reference {
    uint32_t nest, array;
    const char *text;   /* "A" */
    const char *file;   /* as it was named; NULL: not known */
    const char *source; /* the same, absolute; NULL: there is no such file */
    uint32_t line, column;
    uint32_t store, conditional;
    uint64_t accesses;
};

/* Misses of a reference because of another one, at the first level. */
struct profile_locality_pair {
    uint32_t nest, reference, by;
    double misses, conflict;
};

enum profile_locality_kind {
    PROFILE_LOCALITY_INTERCHANGE,
    PROFILE_LOCALITY_TILES,
    PROFILE_LOCALITY_PADDING,
    PROFILE_LOCALITY_KINDS,
};

/* A change of a nest that would miss less, best first. */
struct profile_locality_suggestion {
    uint32_t nest;
    uint32_t kind;      /* enum profile_locality_kind */
    uint32_t kept;      /* outer loops that stay as they are */
    uint32_t split;     /* the statements are split off from what shares loops with them */
    uint32_t gap_bytes; /* between arrays; 0: none */
    double saved;       /* share of all weighted misses */
    uint64_t accesses;
};

/* Its loops in the order that they would have, the outermost first. */
struct profile_locality_loop {
    uint32_t suggestion;
    uint32_t loop; /* its place now, from 0 */
    uint32_t line; /* 0: not known */
    uint64_t tile; /* iterations; 0: all */
};

struct profile_locality_padding {
    uint32_t suggestion, array;
    uint64_t elements, padded_elements; /* from row to row */
};

/* All nests together for one value of what was swept. */
struct profile_locality_point {
    int64_t value;
    uint64_t accesses;
};

/* Misses of a nest, a reference, a suggestion or a point at one cache. */
struct profile_locality_figure {
    uint32_t owner, level;
    double misses, low, high; /* 95 %; equal if exact */
    double cold, capacity, conflict;
    double simulated; /* negative: not */
    uint64_t points, cut;
    uint32_t exact;
};

/* What a recording of the compiled program has of a reference, for the first level. Since version 17. */
struct profile_locality_recorded {
    uint32_t reference;
    double executions; /* of the nest, by the bytes that were moved; 0: not known */
    uint64_t accesses, moved_bytes, misses;
};

/* A loop that was not taken. */
struct profile_locality_rejection {
    const char *file, *reason;
    const char *help; /* NULL: nothing can be said */
    uint32_t line, column;
};

/* list, item type; in the order of the tables in the file, which schema.c declares */
#define PROFILE_LISTS(X)                                                                           \
    X(modules, module)                                                                             \
    X(frames, frame)                                                                               \
    X(contexts, context)                                                                           \
    X(kinds, kind)                                                                                 \
    X(pairs, pair)                                                                                 \
    X(sampled, sampled)                                                                            \
    X(drops, drop)                                                                                 \
    X(processes, process)                                                                          \
    X(threads, thread)                                                                             \
    X(counters, counter)                                                                           \
    X(arguments, text)                                                                             \
    X(degraded, text)                                                                              \
    X(exacts, exact)                                                                               \
    X(reuses, reuse)                                                                               \
    X(bins, bin)                                                                                   \
    X(reuse_pairs, reuse_pair)                                                                     \
    X(paces, pace)                                                                                 \
    X(caches, cache)                                                                               \
    X(latencies, latency)                                                                          \
    X(what_ifs, what_if)                                                                           \
    X(loops, loop)                                                                                 \
    X(frame_loops, frame_loop)                                                                     \
    X(path_functions, path_function)                                                               \
    X(path_blocks, path_block)                                                                     \
    X(path_lines, path_line)                                                                       \
    X(paths, path)                                                                                 \
    X(path_steps, path_step)                                                                       \
    X(vertices, vertex)                                                                            \
    X(vertex_paths, vertex_path)                                                                   \
    X(path_runs, path_run)                                                                         \
    X(span_functions, span_function)                                                               \
    X(span_threads, span_thread)                                                                   \
    X(spans, span)                                                                                 \
    X(span_parts, span_part)                                                                       \
    X(span_bins, span_bin)                                                                         \
    X(span_children, span_child)                                                                   \
    X(span_stacks, span_stack)                                                                     \
    X(span_holders, span_holder)                                                                   \
    X(span_samples, span_sample)                                                                   \
    X(span_skips, span_skip)                                                                       \
    X(span_runs, span_run)                                                                         \
    X(merged, merged)                                                                              \
    X(span_cpus, span_cpu)                                                                         \
    X(span_sleeps, span_sleep)                                                                     \
    X(traits, trait)                                                                               \
    X(cpu_times, cpu_time)                                                                         \
    X(times, time)                                                                                 \
    X(counted, counted)                                                                            \
    X(waits, wait)                                                                                 \
    X(shared_runs, shared_run)                                                                     \
    X(shared_lines, shared_line)                                                                   \
    X(shared_pairs, shared_pair)                                                                   \
    X(shared_users, shared_user)                                                                   \
    X(shared_moves, shared_move)                                                                   \
    X(shared_fields, shared_field)                                                                 \
    X(missed, missed)                                                                              \
    X(transfers, transfer)                                                                         \
    X(memories, memory)                                                                            \
    X(located, located)                                                                            \
    X(shared_watches, shared_watch)                                                                \
    X(shared_seens, shared_seen)                                                                   \
    X(shared_gaps, shared_gap)                                                                     \
    X(limit_runs, limit_run)                                                                       \
    X(limit_loops, limit_loop)                                                                     \
    X(limit_instructions, limit_instruction)                                                       \
    X(limit_resources, limit_resource)                                                             \
    X(limit_arcs, limit_arc)                                                                       \
    X(executed_windows, executed_window)                                                           \
    X(executed_codes, executed_code)                                                               \
    X(executed_runs, executed_run)                                                                 \
    X(executed_accesses, executed_access)                                                          \
    X(executed_distances, executed_distance)                                                       \
    X(limit_schedules, limit_schedule)                                                             \
    X(limit_uses, limit_use)                                                                       \
    X(limit_operations, limit_operation)                                                           \
    X(limit_sources, limit_source)                                                                 \
    X(limit_dependences, limit_dependence)                                                         \
    X(limit_steps, limit_step)                                                                     \
    X(limit_matches, limit_match)                                                                  \
    X(limit_fates, limit_fate)                                                                     \
    X(stat_sessions, stat_session)                                                                 \
    X(stat_subjects, stat_subject)                                                                 \
    X(stat_regions, stat_region)                                                                   \
    X(stat_runs, stat_run)                                                                         \
    X(stat_visits, stat_visit)                                                                     \
    X(stat_trips, stat_trip)                                                                       \
    X(stat_events, stat_event)                                                                     \
    X(stat_skips, stat_skip)                                                                       \
    X(map_runs, map_run)                                                                           \
    X(map_ranges, map_range)                                                                       \
    X(map_instructions, map_instruction)                                                           \
    X(map_variables, map_variable)                                                                 \
    X(map_classes, map_class)                                                                      \
    X(map_findings, map_finding)                                                                   \
    X(map_stops, map_stop)                                                                         \
    X(locality_runs, locality_run)                                                                 \
    X(locality_levels, locality_level)                                                             \
    X(locality_nests, locality_nest)                                                               \
    X(locality_arrays, locality_array)                                                             \
    X(locality_references, locality_reference)                                                     \
    X(locality_pairs, locality_pair)                                                               \
    X(locality_suggestions, locality_suggestion)                                                   \
    X(locality_loops, locality_loop)                                                               \
    X(locality_paddings, locality_padding)                                                         \
    X(locality_points, locality_point)                                                             \
    X(locality_totals, locality_figure)                                                            \
    X(locality_misses, locality_figure)                                                            \
    X(locality_savings, locality_figure)                                                           \
    X(locality_sweeps, locality_figure)                                                            \
    X(locality_rejections, locality_rejection)                                                     \
    X(ceiling_runs, ceiling_run)                                                                   \
    X(ceiling_loops, ceiling_loop)                                                                 \
    X(ceiling_variants, ceiling_variant)                                                           \
    X(waste_samples, waste_sample)                                                                 \
    X(what_if_sites, what_if_site)                                                                 \
    X(locality_recorded, locality_recorded)

struct profile {
    struct profile_run run;
#define PROFILE_MEMBER(list, item)                                                                 \
    struct profile_##item *list;                                                                   \
    size_t list##_count, list##_capacity;
    PROFILE_LISTS(PROFILE_MEMBER)
#undef PROFILE_MEMBER
    struct util_strings *strings; /* profile_keep */
    uint64_t file_bytes;          /* of the files that it was read from, all together; 0: of none */
};

/* An empty profile, or NULL without memory. profile_free(NULL) does nothing. */
struct profile *profile_new(void);
void profile_free(struct profile *profile);

/* A copy of text that lives as long as the profile, one of all equal texts. NULL without memory, or
   for NULL. */
const char *profile_keep(struct profile *profile, const char *text);

/* Starts the profile of a verb that runs nothing: engine "static". verb, weighting: constant; the other strings are copied. False: no memory. */
bool profile_begin_static(struct profile *profile, const char *verb, const char *weighting,
                          const char *version, char *const *words, size_t count);

/* profile_add_modules(profile), profile_add_frames(profile), ...: a zeroed new item at the end
   of the list, or NULL without memory. Earlier pointers into the list become invalid. */
#define PROFILE_ADDER(list, item)                                                                  \
    struct profile_##item *profile_add_##list(struct profile *profile);
PROFILE_LISTS(PROFILE_ADDER)
#undef PROFILE_ADDER

/* True if everything that readers rely upon holds (ids, order, finite numbers). */
bool profile_check(const struct profile *profile);

/* Frames in the deepest context; parents must precede children. UINT32_MAX: no memory. */
uint32_t profile_depth(const struct profile *profile);

/* Adds the pairs up into the kinds. profile_read has done it. */
void profile_total(struct profile *profile);

/* At which locations the waste of that kind was counted; NULL: at all, or there are samples of another sort. */
const struct profile_waste_sample *profile_waste_sample_of(const struct profile *profile,
                                                           uint32_t kind);
/* The share of the locations at which the exact engine counted waste; 1: all. */
double profile_waste_share(const struct profile *profile);

/* The traits of a pair; NULL: none are known. */
const struct profile_trait *profile_trait_of(const struct profile *profile,
                                             const struct profile_pair *pair);

/* Puts the stacks and the holders of each span in order: reports take the first for that where most
   was lost. */
void profile_order_spans(struct profile *profile);

/* Sums over the processes. reuse: unit_bytes and stack are the processes' own, share_first is the
   largest and share_last the smallest of theirs; all zero if there are none. */
struct profile_exact profile_exact_total(const struct profile *profile);
struct profile_reuse profile_reuse_total(const struct profile *profile);

/*
 * Can a profile be written at path? Takes what exists there into account (a
 * symlink or anything but a regular file is refused) and the directory's
 * permissions. For use before a recording. error: one sentence.
 */
enum base_status profile_output_check(const char *path, char *error, size_t error_bytes);

/*
 * Writes a new file, mode 0600: first beside path under a temporary name, then
 * an existing profile is renamed to `path.old`, then the new one put in place.
 * On failure what was there stays. error: one sentence. BASE_TOO_LARGE: it was read from files
 * (file_bytes), and would take more than four times as many bytes.
 */
enum base_status profile_write(const struct profile *profile, const char *path, char *error,
                               size_t error_bytes);

/*
 * Reads a profile whole. BASE_NOT_FOUND, BASE_DENIED, BASE_IO; BASE_MALFORMED: not
 * a profile, or damaged; BASE_TOO_NEW; BASE_TOO_LARGE: contexts deeper than PROFILE_DEPTH_MAX.
 * error: one sentence.
 */
enum base_status profile_read(const char *path, struct profile **profile, char *error,
                              size_t error_bytes);

/* Of strings in a profile, which are NULL if they are not known: two unknown ones are the same. */
static inline bool profile_same_text(const char *a, const char *b)
{
    return a == b || (a && b && strcmp(a, b) == 0);
}

/* ---- merging ------------------------------------------------------------------------------ */

/*
 * Makes profile a merged one, in which one recording went, that of file; one that is already merged
 * stays so. Ids and the order of rows change. error: one sentence. After a failure the profile is
 * good for profile_free only.
 */
enum base_status profile_merge_begin(struct profile *profile, const char *file, char *error,
                                     size_t error_bytes);

/*
 * Adds `from` to `into`; both are merged ones (profile_merge_begin). Neither the order nor the groups
 * in which profiles are merged matter to what comes out, but for the last digits of sums that are not
 * whole numbers. into_file, from_file: for the sentence in error. BASE_UNSUPPORTED: what they
 * hold cannot be added, and `into` is as it was; after other failures it is good for
 * profile_free only. `from` is good for profile_free only, whatever came of it.
 */
enum base_status profile_merge(struct profile *into, const char *into_file, struct profile *from,
                               const char *from_file, char *error, size_t error_bytes);

/*
 * Rows of the lists shared_… that have equal keys become one, as they do in merging: of a recording, whose processes have each
 * their own. BASE_NO_MEMORY: the profile is good for profile_free only.
 */
enum base_status profile_settle_shared(struct profile *profile);
/* The same for `memories` and `located`. */
enum base_status profile_settle_memory(struct profile *profile);

/* What is then degraded if both hold one and the same recording. */
extern const char *const profile_counted_twice;

/* ---- statistics ------------------------------------------------------------------------- */

/* A share with its 95 % interval. */
struct profile_share {
    double share, low, high; /* 0..1 */
    double effective;        /* effective number of samples behind it */
    bool known;              /* false: nothing was seen, the rest is meaningless */
};

/*
 * part / whole, both sums of weights; whole_squares: Σ of the squared weights in
 * whole. The interval is Wilson's with the effective sample size (Σw)²/Σw²
 * (Kish), because traps do not weigh the same.
 */
struct profile_share profile_share(double part, double whole, double whole_squares);

#endif
