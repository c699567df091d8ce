// SPDX-License-Identifier: MIT
/*
 * What programs built by `headroom cc` carry and leave behind; shared by the rewriter that emits
 * it (instrument), the code linked into the program (runtime) and the import.
 *
 * Map: each instrumented module has a section `headroom_map`, read-only, loaded, no relocations left
 * after linking: one entry a function, a sequence of 32-bit words, laid out as struct instrumented_function and
 * what follows it. "relative" words hold the target minus the word's own address.
 *
 * Counters: section `headroom_counters` (no bits): each function has `cells` 64-bit words there. They are never used
 * in place but for their addresses: a thread counts at (address + headroom_delta), where
 * headroom_delta is a thread-local variable of each module; 0 means that the thread has not begun, and
 * instrumented entries then call headroom_thread_begin.
 *
 * Own records: section `headroom_records` (no bits): with contexts each function has a struct instrumented_record there with
 * its slots and cells, for when none can be had elsewhere, and for when nothing is recorded.
 *
 * Recording: headroom makes a memfd and hands it over as INSTRUMENTED_ENVIRONMENT="VERSION:PID:FD". The runtime takes
 * pieces of it by adding to instrumented_region.next, and maps them shared: what was counted is there also when
 * the program was killed. Without the variable the counters are private memory and nothing is recorded.
 */
#ifndef HEADROOM_WIRE_INSTRUMENTED_H
#define HEADROOM_WIRE_INSTRUMENTED_H

#include "base/base.h"
#include <stdatomic.h>

#define INSTRUMENTED_MAGIC       UINT64_C(0x31304c5542524448) /* "HDRBUL01" */
#define INSTRUMENTED_ENVIRONMENT "HEADROOM_BUILT"

enum { INSTRUMENTED_VERSION = 1, INSTRUMENTED_ENTRY_MAGIC = 0x31505248, INSTRUMENTED_PAGE = 4096 };

/* ---- the map ------------------------------------------------------------------------------ */

enum instrumented_modes { /* of compilation, combined */
                          INSTRUMENTED_PATHS = 1,
                          INSTRUMENTED_CONTEXTS = 2,
                          INSTRUMENTED_CALL_SITES = 4, /* contexts distinguish call sites */
                          /* metric cells hold what the runtime reads: time stamps, or with INSTRUMENTED_PMU an event */
                          INSTRUMENTED_CYCLES = 8,
                          INSTRUMENTED_COUNT = 16, /* accesses are counted for the agent */
                          /* of a function: what is read is the runtime's choice; of a recording: an event, not time */
                          INSTRUMENTED_PMU = 32,
                          INSTRUMENTED_FUNCTIONS =
                              64, /* of compilation only: struct instrumented_prepared */
                          INSTRUMENTED_CEILING =
                              128, /* likewise: struct instrumented_gate; with counters: none */
                          /* those that add nops alone */
                          INSTRUMENTED_NOPS = INSTRUMENTED_FUNCTIONS | INSTRUMENTED_CEILING,
};

enum instrumented_table {
    INSTRUMENTED_TABLE_NONE,  /* nothing is counted: see `reason` */
    INSTRUMENTED_TABLE_ARRAY, /* cell[path]; with cycles three: count, cycles, measured */
    INSTRUMENTED_TABLE_HASH,  /* struct instrumented_hash */
};

/* Why a function is not instrumented, or not wholly. Names and sentences: instrumented_reasons. */
enum instrumented_reason {
    INSTRUMENTED_WHOLE,
    INSTRUMENTED_TRUNCATED,      /* split: too many paths; those recorded are pieces */
    INSTRUMENTED_SKIP_STACK,     /* stack pointer not known where it is needed */
    INSTRUMENTED_SKIP_ARGUMENTS, /* takes addresses of its stack arguments */
    INSTRUMENTED_SKIP_INDIRECT,  /* an indirect jump is not understood */
    INSTRUMENTED_SKIP_ASSEMBLY,  /* inline assembly that jumps */
    INSTRUMENTED_SKIP_FLAGS,     /* no free register or flags where needed */
    INSTRUMENTED_SKIP_UNDECODED, /* an instruction is not known */
    INSTRUMENTED_SKIP_LARGE,
    INSTRUMENTED_SKIP_NOT_FUNCTION, /* no .type @function, .size: hand-written */
    INSTRUMENTED_SKIP_ATTRIBUTE,    /* naked, interrupt, returns by other means */
    INSTRUMENTED_REASONS
};
extern const char *const instrumented_reasons[INSTRUMENTED_REASONS]; /* for people, a clause */

struct instrumented_function {
    uint32_t magic; /* INSTRUMENTED_ENTRY_MAGIC */
    uint32_t words; /* of the whole entry */
    int32_t entry;  /* relative: the function's address */
    int32_t table;  /* relative: its cells, with INSTRUMENTED_CONTEXTS its own record; 0: none */
    uint32_t cells;
    uint16_t modes;     /* enum instrumented_modes */
    uint8_t table_kind; /* enum instrumented_table */
    uint8_t reason;     /* enum instrumented_reason */
    uint32_t blocks, edges, call_sites;
    uint32_t inline_assembly; /* instructions within, which are left alone */
    float potential_log2;     /* of the number of paths before splitting */
    /* then: struct instrumented_block[blocks], struct instrumented_edge[edges], struct instrumented_call[call_sites] */
};

enum instrumented_block_flags {
    INSTRUMENTED_BLOCK_ROOT = 1, /* landing pad: NUMBERING_ROOT */
    /* holds repeated or conditional accesses: loads, stores are lower bounds */
    INSTRUMENTED_BLOCK_APPROXIMATE = 2,
};

struct instrumented_block {
    /* relative: address of its first instruction, inserted code before it excluded */
    int32_t start;
    uint32_t instructions;  /* of the program's own */
    uint16_t loads, stores; /* accesses (an instruction may have several) */
    uint32_t flags;
};

struct instrumented_edge {
    uint32_t from, to; /* to: NUMBERING_EXIT leaves the function */
    uint32_t flags;    /* NUMBERING_CUT where cut by wish or by splitting */
};

/* Callee slots of a calling context's record are in this order. */
struct instrumented_call {
    int32_t address; /* relative: the return address */
    uint32_t block;
    uint32_t flags; /* 1: indirect */
};

/* ---- hash tables of path counts ----------------------------------------------------------- */

/*
 * In place of an array: open addressing by base_mix64(key), linear probing, key = path + 1, 0: empty. When
 * three quarters are in use the runtime takes a piece (INSTRUMENTED_PIECE_HASH) of twice the size and goes on there;
 * counts of the same path in several tables add up.
 */
/* cycles: of `measured` executions out of `count`. */
struct instrumented_hash_cell {
    uint64_t key, count, cycles, measured;
};
struct instrumented_hash {
    uint64_t next;                /* address of the table in use; 0: this one */
    uint64_t used, capacity_mask; /* mask 0: INSTRUMENTED_HASH_CELLS - 1 */
    struct instrumented_hash_cell cells[];
};
enum { INSTRUMENTED_HASH_CELLS = 256 };

/* ---- calling contexts ------------------------------------------------------------------------ */

/*
 * A record stands for a procedure in a context (paper §4.1). Every call site of its function has a slot, which holds
 * the address of the record of the callee met last there, or 0. Under INSTRUMENTED_CALL_SITES the records of
 * a slot are its own; without, a slot is but a cache, and a record has one child for each procedure.
 * Children stand in a list from `children`, linked by `sibling`, most recently used first.
 */
struct instrumented_record {
    uint64_t function; /* address of the entry in the map, which is even; 0: a root. With
                               INSTRUMENTED_UNLOADED: its module is no longer there, and nothing finds it */
    uint64_t parent;   /* address of a record; 0: none */
    uint64_t sibling;  /* next child of the same parent */
    uint64_t children; /* first child */
    uint64_t count;    /* activations */
    uint64_t cycles;   /* own time, with INSTRUMENTED_CYCLES and without INSTRUMENTED_PATHS; */
    uint64_t measured; /* of so many activations */
    uint32_t slot;     /* of the parent, in which it was met first; or INSTRUMENTED_SLOT_OVERFLOW */
    uint32_t slots;
    uint64_t bytes; /* of the record with all that follows; less than 4 GiB */
    /* then: uint64_t slot[slots]; then, with INSTRUMENTED_PATHS, the function's cells (array or hash) */
};

#define INSTRUMENTED_UNLOADED UINT64_C(1)

/* Of a record without parent that stands for its function in all contexts for which there was no room. */
#define INSTRUMENTED_SLOT_OVERFLOW UINT32_MAX

/* ---- access counters --------------------------------------------------------------------------- */

/*
 * With INSTRUMENTED_COUNT, thread-local, one in a process, dynamic symbol headroom_accesses: accesses of the thread so far
 * = before + the sum of left. At calls, at function entries, behind calls and returns, and where loops go round, that is
 * exact; in between it may run ahead. Each addition goes to one of a few lanes, so that those that follow one another need
 * not wait for each other: through one word in memory each takes some five cycles. When a lane is no longer negative,
 * inserted code notifies the agent by a SIGTRAP to the thread (SI_QUEUE, value `agent`), unless agent is 0.
 */
enum { INSTRUMENTED_LANES = 4 };
struct instrumented_accesses {
    /* < 0: so many more are counted there until the agent is signalled */
    int64_t left[INSTRUMENTED_LANES];
    int64_t before;
    uint64_t agent;
    const struct instrumented_due *now; /* while the signal is sent; else NULL */
};

/* The state in which the program will go on. */
struct instrumented_due {
    uint64_t general[16]; /* as enum base_register */
    uint64_t ip;
    int64_t ahead; /* accesses counted already, but not yet executed */
    uint64_t lane; /* whose turn it is */
};

/* The count lags behind execution by no more than this, but in code that handlers of signals interrupt. */
enum { INSTRUMENTED_LAG = 16 };

/* Argument of headroom_access_due: (ahead * INSTRUMENTED_LANES + lane) * INSTRUMENTED_DUE_EACH + accesses for each of the iterations
   in rcx, at most two. */
enum { INSTRUMENTED_DUE_EACH = 4 };

/* A lane is that far from being due while nobody waits. */
#define INSTRUMENTED_FAR_AWAY (INT64_MAX / 16)

/* What such modules have as a note (PT_NOTE): its name, its type. */
#define INSTRUMENTED_NOTE_NAME "headroom"
enum { INSTRUMENTED_NOTE_COUNT = 1 };

/* ---- places to patch --------------------------------------------------------------------------- */

/*
 * With INSTRUMENTED_FUNCTIONS each function has an entry in section `headroom_functions`, read-only, loaded, without
 * relocations: its first instruction, behind an endbr64, is a nop of five bytes (0f 1f 44 00 00) that lies in one aligned
 * word of eight. To get there the assembler may have put a nop of up to four bytes before it. Nops of
 * -fpatchable-function-entry come before, too.
 */
struct instrumented_prepared {
    int32_t nop;   /* relative: its address */
    int32_t entry; /* relative: the function's */
};

/*
 * With INSTRUMENTED_CEILING innermost loops have gates: on each way into one from outside stands a nop of five bytes (0f 1f 44 00 00),
 * anywhere; control goes on to the loop's head behind it. Each has an entry in section `headroom_loops`, read-only, loaded, without
 * relocations. A loop has all of its gates or none.
 */
struct instrumented_gate {
    int32_t nop;  /* relative: its address */
    int32_t head; /* relative: the loop's */
};

/* What headroom.h puts into section `headroom_markers`, for each place to which the compiler brought a marker. */
enum { INSTRUMENTED_MARKER_BEGIN = 1, INSTRUMENTED_MARKER_END = 2 };
struct instrumented_marker {
    int32_t site; /* relative: address of a nop of five bytes, anywhere */
    int32_t name; /* relative: its name, NUL-terminated */
    uint32_t kind;
    uint32_t reserved; /* 0 */
};

/* ---- the region --------------------------------------------------------------------------------- */

enum { INSTRUMENTED_PATH_BYTES = 4096 };
#define INSTRUMENTED_REGION_BYTES (UINT64_C(1) << 40) /* of the memfd; sparse */

enum {
    INSTRUMENTED_EVENT_NO_USER = 1,
    INSTRUMENTED_EVENT_NO_KERNEL = 2,
    INSTRUMENTED_EVENT_NO_HYPERVISOR = 4
};

/* As perf_event_open(2) has it. */
struct instrumented_event {
    uint32_t type;
    uint32_t exclude; /* INSTRUMENTED_EVENT_NO_... */
    uint64_t config, config1, config2;
};

/* In cells events are multiplied by two to this power: below are readings. */
enum { INSTRUMENTED_EVENT_SHIFT = 8 };

struct instrumented_region {
    uint64_t magic;
    uint32_t version;
    uint32_t metrics;      /* what was asked for, enum instrumented_modes */
    _Atomic uint64_t next; /* offset of the first byte not yet given away; pieces
                                   begin at multiples of INSTRUMENTED_PAGE */
    _Atomic uint64_t lost; /* pieces that could not be had */
    _Atomic uint32_t next_process;
    /* 1: some process had no memory for this header, and recorded nothing */
    _Atomic uint32_t refused;
    struct instrumented_event event; /* with INSTRUMENTED_PMU */
    _Atomic uint64_t event_refused;  /* how often the event could not be opened in a thread */
};

enum instrumented_piece_kind {
    INSTRUMENTED_PIECE_MODULE = 1, /* struct instrumented_module */
    INSTRUMENTED_PIECE_COUNTERS,   /* cells of one thread of one module */
    INSTRUMENTED_PIECE_HASH,       /* a struct instrumented_hash that took over from another */
    INSTRUMENTED_PIECE_RECORDS,    /* instrumented_records one after the other, 0 ends */
    INSTRUMENTED_PIECE_OVERHEAD,   /* struct instrumented_overhead */
};

/* Pages between pieces were never given one: readers go on at the next page. */

/* At the start of every piece. Written before `kind`, which makes it valid. */
struct instrumented_piece {
    _Atomic uint32_t kind;
    uint32_t pid, tid;
    uint32_t process; /* unique in the recording; a forked child's is new */
    uint64_t bytes;   /* of the whole piece, a multiple of INSTRUMENTED_PAGE */
    uint64_t address; /* where it is mapped in the process */
    uint64_t module;  /* address of the module's headroom_map in the process */
    uint64_t of;      /* HASH: address of the counters or record cell that it continues */
    uint64_t reserved[2];
};

/* COUNTERS: cells begin at piece + sizeof(struct instrumented_piece), as the module's headroom_counters do. */

struct instrumented_module {
    struct instrumented_piece piece;
    uint64_t map, map_bytes; /* headroom_map in the process */
    uint64_t counters, counters_bytes;
    uint64_t bias;           /* address = ELF virtual address + bias */
    uint64_t parent_process; /* process that forked this one; UINT32_MAX: none */
    uint64_t start_ns;       /* CLOCK_REALTIME */
    char path[INSTRUMENTED_PATH_BYTES - 128];
};

/* Measured when the module begins, with INSTRUMENTED_CYCLES. */
struct instrumented_overhead {
    struct instrumented_piece piece;
    /* what one reading of the counter adds to a path: in the unit of the cells */
    double cycles_per_read;
    double cycles_per_ns; /* 0 with an event */
};

#endif
