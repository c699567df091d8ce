// SPDX-License-Identifier: MIT
/*
 * agent: lives in the observed process. Private header of the room (nothing
 * includes the agent).
 *
 * Signal rule: one signal is used, SIGTRAP, for ticks of each thread's CPU time
 * and for watchpoint traps, both perf events; its handler runs on a stack of ours with all
 * signals blocked. Everything called from it is freestanding, lock-free and
 * allocation-free; but to begin in a thread maps memory and takes a lock (threads.c), which is
 * only ever held with signals blocked. Code that runs in the program's normal context (start,
 * wrappers) may use the few libc functions that are on the layer test's allow-list.
 *
 * A struct agent_thread belongs to its thread and to the handlers that interrupt it there: what is not
 * called from a handler blocks all signals before it changes one. agent and the modules are shared:
 * what changes in them after the start is atomic, or published by what is; program_trap changes
 * when the program says so. Times are in nanoseconds, sizes in bytes.
 *
 * Manners: nothing here ever ends the program, prints, or leaves a descriptor
 * open. What cannot be done is counted in the region and left undone.
 */
#ifndef HEADROOM_AGENT_H
#define HEADROOM_AGENT_H

#include "base/base.h"
#include "board/board.h"
#include "cct/cct.h"
#include "detect/detect.h"
#include "forecast/forecast.h"
#include "hook/hook.h"
#include "isa/isa.h"
#include "os/os.h"
#include "os/pmu.h"
#include "unwind/unwind.h"
#include "wire/wire.h"

#include <link.h>
#include <signal.h>
#include <ucontext.h>

enum {
    AGENT_STACK_BYTES =
        96 * 1024, /* handler stack: signal frame (AVX-512: 3.5 KiB) + walk buffers */
    AGENT_TREE_NODES = 65536,
    AGENT_MODULES = 1024,
    AGENT_FRAMES = 256,
    AGENT_COMPANIONS = 2,
    AGENT_RSEQ_BYTES = 64, /* an area of rseq(2) is aligned to its size, 32 at first, growing */
};

/* ---- modules (modules.c) -------------------------------------------------------- */

struct agent_module {
    _Atomic uint32_t state;        /* enum agent_module_state */
    uint32_t id;                   /* in records; index + 1 */
    uint64_t start, end, bias;     /* where LOAD segments have a gap: of the part that is code */
    uint64_t text_start, text_end; /* largest executable segment; equal if unknown */
    uint64_t headers;              /* address of the program headers; 0: not found */
    uint32_t headers_count;
    uint64_t device, inode;
    const void *link_map;
    _Atomic uint32_t table_state; /* enum agent_table_state */
    uint32_t table_slot;          /* in region, or WIRE_NONE */
    struct unwind_table table;
    bool counts;             /* built so that its accesses are counted */
    _Atomic uint32_t logged; /* process id whose log has the MODULE record */
    char path[WIRE_PATH_BYTES];
};

enum agent_module_state { AGENT_MODULE_EMPTY, AGENT_MODULE_LIVE, AGENT_MODULE_GONE };
enum agent_table_state { AGENT_TABLE_NONE, AGENT_TABLE_MAPPING, AGENT_TABLE_MAPPED };

/* Normal context: registers everything that is loaded now. */
void modules_scan(void);
/* The module of that index, whatever its state; NULL: no more. Any context. */
struct agent_module *modules_get(uint32_t index);
/*
 * How memory of the program is read: in handlers without faulting, by system calls (os_read_self).
 * While dl_iterate_phdr holds the loader's lock, what it names cannot go away and is read directly.
 */
typedef bool modules_read(void *context, uint64_t address, void *out, size_t bytes);
/* Is there a note of that name and type (0: of any) among the first of a segment of notes? Any context. */
bool modules_has_note(uint64_t address, uint64_t bytes, modules_read *read, const char *name,
                      size_t name_bytes, uint32_t type);
/* Program header `index` of the module, read without faulting. Any context. False: no more. */
bool modules_segment(const struct agent_module *module, uint32_t index, ElfW(Phdr) * segment);
/* Normal context, after dlclose: forgets what is gone. */
void modules_revalidate(void);
/* In the child of fork. */
void modules_after_fork(void);
/* Counts the times that something was gone: decoded code may be stale then. Any context. */
uint32_t modules_unloads(void);
/* Any context. NULL: the address belongs to no known module. */
struct agent_module *modules_find(uint64_t ip);
/* The same, for an address in its text alone. */
struct agent_module *modules_find_text(uint64_t ip);
bool modules_find_for_unwind(void *context, uint64_t ip, struct unwind_module *module);
/* First byte of the function around ip (from its unwind table), or 0. */
uint64_t modules_function_start(uint64_t ip);
/* That, and where the next function begins; each 0 if unknown. */
void modules_function(uint64_t ip, uint64_t *start, uint64_t *end);
/* Normal context: asks for all tables now and waits until they are ready, with the patience of a
   walk. Walks themselves ask for those they reach. */
void modules_wait(void);

/* ---- reading the program's memory (memory.c) --------------------------------------------- */

enum {
    MEMORY_BOUNDARIES = 1024,
    MEMORY_RED_ZONE = 256, /* below the stack pointer; the ABI's is 128 bytes */
    MEMORY_STACK_BYTES = MEMORY_RED_ZONE + 4096 + 256,
};

/*
 * How a thread's handlers read memory: a base_memory whose reads never fault. The
 * text of the module that the thread is executing in is read directly (it cannot
 * go away under it), all else by system call; what is around the stack pointer by one for each handler.
 */
struct agent_memory {
    struct base_memory base;
    uint64_t text_start, text_end;
    uint64_t stack_start; /* 0: unknown */
    uint32_t stack_read;  /* bytes of `stack` that could be read; UINT32_MAX: not tried yet */
    uint32_t unloads;     /* modules_unloads() that the text is good for */
    unsigned char stack[MEMORY_STACK_BYTES];
    uint64_t boundaries[MEMORY_BOUNDARIES]; /* first instruction met in a block of code */
};
void memory_init(struct agent_memory *memory);
/* Call first in every handler: where the thread is now, and its stack pointer. 0: nowhere known. */
void memory_enter(struct agent_memory *memory, uint64_t ip, uint64_t sp);
/* `address` is the first byte of an instruction. */
void memory_note_boundary(struct agent_memory *memory, uint64_t address);
/* The nearest known first byte of an instruction before ip in its function, which begins at `start`; `start`: none is nearer. */
uint64_t memory_boundary(const struct agent_memory *memory, uint64_t start, uint64_t ip);

struct agent_mapping {
    uint64_t start, end;
    int protection; /* PROT_READ, ... */
    bool shared;
    uint64_t offset, device, inode; /* of its file */
};
/* The mapping around `address` as the kernel has it now; normal context. False: none, or /proc cannot be
   read. */
bool memory_mapping(uint64_t address, struct agent_mapping *mapping);

/* ---- what lies at an address (objects.c, heap.c, allocate.c) ---------------------------- */

struct agent_thread;

/* Unknown members are 0. */
struct agent_object {
    uint32_t kind; /* enum wire_object: UNKNOWN, GLOBAL, HEAP, STACK, THREAD or MAPPED */
    uint32_t
        module; /* GLOBAL, THREAD: id of records; THREAD without one: what the C library keeps there */
    uint32_t
        thread; /* STACK, THREAD: whose; HEAP, MAPPED: who allocated it, node is a node of its. As in records,
                        0: it has none yet */
    uint32_t
        node; /* HEAP, MAPPED: calling context of the allocation, innermost the caller of malloc */
    uint32_t
        process; /* HEAP, MAPPED: image that `thread` is of: a forked child has its parent's blocks */
    uint64_t size; /* HEAP, MAPPED: bytes asked for */
    int64_t
        offset; /* HEAP, MAPPED: in the block. GLOBAL: ELF virtual address. THREAD: in the module's thread-local
                        segment, without a module from the control block. STACK: from the upper end, negative */
    float
        chance; /* HEAP, MAPPED: probability that a block of that size was recorded, (0, 1]; else 1 */
    uint32_t frame_module; /* STACK: as in struct wire_located; objects_at alone knows */
    uint64_t frame_code;
    int64_t frame_offset;
};

/*
 * What lies there now. False, and kind UNKNOWN: nothing known; a block that was not recorded is not known. This and the two that
 * follow may be called from handlers and by any thread; they take no lock, allocate nothing and make no system call but clock_gettime.
 */
bool agent_object_of(uint64_t address, struct agent_object *object);

/*
 * Changes when what lies at the address is freed, so that another object may come to lie there: an equal number before and
 * after means the same object. It may change without that (other addresses share the number). For addresses of the heap
 * that is so only between agent_generation_watch and GENERATION_WATCHED_NS later, which is why publishers call that one.
 */
uint32_t agent_generation(uint64_t address);
/* The same number; frees are watched from now on for objects that hold the address. */
uint32_t agent_generation_watch(uint64_t address);
#define GENERATION_WATCHED_NS UINT64_C(60000000)

/* Normal context, at the start, after modules_scan: where modules have their thread-local variables. */
void objects_start(void);
/* The calling thread begins or ends: its stack and its thread-local storage. stack_bytes: 0: the usual ones. Signals blocked. */
void objects_thread_begin(struct agent_thread *self, uint64_t stack_bytes);
void objects_thread_end(void);
/* Its number in records is known now. */
void objects_thread_numbered(const struct agent_thread *self);
/* Logs what the location lies in that the trap or reuse just logged is about; room must have been reserved with that. */
void objects_log(struct agent_thread *self, const struct agent_object *object);
/* What lies there, on the thread's own stack also in which frame: of those that the context entered last consists of. */
void objects_at(const struct agent_thread *self, uint64_t address, struct agent_object *object);
/* Logs that. */
void objects_log_at(struct agent_thread *self, uint64_t address);
/* In the child of fork: of all threads only this one is there. */
void objects_after_fork(void);

/* At the start, in the main thread. */
void allocate_start(void);
/* In handlers, at each tick of a thread that samples. */
void allocate_tick(void);
/* Is that one of the agent's thread-local variables there? */
bool allocate_owns(uint64_t address);

/* ---- memory that processes share (shared.c) --------------------------------------------------- */

/* What file lies there, by number, and at which offset of it. Any context. False: none that is known. */
bool shared_find(uint64_t address, uint64_t *file, uint64_t *offset);
/* Where that is in this process; any context. False: nowhere. */
bool shared_address(uint64_t file, uint64_t offset, uint64_t *address);
/* The log has the name of that file. False: no room in it. */
bool shared_log_file(struct agent_thread *self, uint64_t file);
/* At a tick: has this process such memory, and has lately another one at work some? */
bool shared_with_others(void);
/* Normal context: after the system call, something is mapped there (at: MAP_FAILED: nothing); before it, is no more; that
   file is there now (mremap). */
void shared_mapped(const void *at, size_t bytes, int flags, int file, uint64_t offset);
void shared_unmapped(const void *at, size_t bytes);
void shared_placed(const void *at, size_t bytes, uint64_t file, uint64_t offset);
/* In the child of fork. */
void shared_after_fork(void);

/* ---- threads (threads.c) ----------------------------------------------------------- */

enum agent_scout { AGENT_SCOUT_IDLE, AGENT_SCOUT_HOP, AGENT_SCOUT_PENDING };

/* A watchpoint together with the generation number that its traps carry. */
struct agent_watch {
    struct os_watch os;
    uint32_t generation;
};

/* A sample in the making: from the tick to the confirmed access. */
struct agent_attempt {
    uint8_t scout; /* enum agent_scout */
    uint8_t kind;
    uint8_t hops;
    uint32_t window;                         /* instructions ahead still to be looked at */
    uint64_t stop;                           /* HOP: the breakpoint */
    uint32_t visits;                         /* HOP: hits of the breakpoint to let pass */
    uint32_t strangers;                      /* PENDING: traps by other instructions */
    uint8_t kinds;                           /* asked by the tick */
    uint8_t followed;                        /* those of them that watchpoints serve at present */
    float turn;                              /* share of ticks at which they do */
    uint32_t matching, stores, instructions; /* seen ahead; stores: of matching */
    uint64_t armed_entries;                  /* PENDING: the handler that armed the scout */
    bool counted;                            /* by the count source: skip says which access ahead */
    uint32_t skip;
    float weight;  /* CPU time in base intervals, less where accesses are sparse */
    float period;  /* of it, what is CPU time; sharing */
    bool waited;   /* the tick came in a wait that has ended since; sharing */
    float density; /* matching accesses an instruction, seen ahead */
    uint64_t watched;
    uint8_t before[DETECT_MAX_BYTES]; /* memory of the foreseen access while it is pending */
    struct forecast_outcome hit;
};

/* An access ahead, about which kinds of waste that sample its direction ask, or reuse does: see ahead.c. */
struct agent_ahead {
    uint8_t open;      /* bit k: kind k asks, and is not decided */
    uint8_t decidable; /* bit k: what kind k compares is known */
    float weight, density;
    uint32_t node; /* its context */
    uint64_t watched;
    struct forecast_outcome hit;
    uint8_t before[DETECT_MAX_BYTES],
        value[DETECT_MAX_BYTES]; /* memory there, before it and after */
    struct agent_object object;  /* what lies there, once the context is known */
};

/* The function that a tick interrupted, and what the walk found outside of it. */
struct agent_frame {
    uint64_t function; /* first byte; 0: not known, or the thread has moved on */
    uint64_t end;      /* where the next function begins */
    uint32_t callers;  /* node */
    uint32_t missing;  /* flags for what is entered below it */
    bool broken;
};

/* A use whose reuse is waited for, and when it was: see reuse.c. */
struct agent_use {
    uint64_t virtual_ns, entries;
    uint64_t count; /* of the access counter, if there is one */
    uint64_t seen;  /* accesses known to follow without a reuse */
    uint32_t flags; /* enum wire_reuse_flags */
};

/* A line of another thread's that is watched, and what led there: see sharing.c. */
struct agent_sharing {
    struct agent_watch watches[DETECT_MAX_REGISTERS]; /* words of it */
    struct board_access first;                        /* the entry */
    uint64_t line;                                    /* where its line is in this process */
    float weight;     /* of this thread's sample, times the entries that there were */
    unsigned watched; /* words, when the watch began */
    uint64_t home;    /* where the page of the first watch is wanted; 0: anywhere */
    struct agent_waits {
        uint64_t ns, count,
            cpu_ns; /* when, how often the thread had waited in the kernel by then, and its CPU time */
    } earlier, later;   /* looks at it, some time apart */
    uint64_t armed_ns;  /* when the watch began, */
    uint64_t others_ns; /* and the CPU time of the entry's thread then; 0: not known */
    uint64_t began_ns;  /* when the thread did */
    struct agent_turn {
        struct agent_watch watch;
        struct wire_meeting meeting; /* what is to be logged */
        struct agent_waits since;
        bool open;
    } turn;          /* a meeting about which it is asked how often the thread waits */
    uint32_t serial; /* of its latest entry */
    uint16_t number; /* of the thread in its process */
    bool sampled;    /* ever */
};

/* In place of a kind of detect's: the attempt is to be published. */
enum { AGENT_SHARING = DETECT_KINDS };

/*
 * Did the tick come while the thread waited for a word to change, which has changed since? goal: of the look ahead, all accesses that
 * there are; seen: its outcome; whole: nothing blocked it. The forecast may not be resumed after it. See spinning.c.
 */
struct agent_thread;
bool spinning_ended(struct agent_thread *self, const struct forecast_goal *goal,
                    const struct forecast_outcome *seen, bool whole);

/* Whose turn the registers are: see question.c. */
struct agent_question {
    bool mixed;                    /* waste and reuse are both asked */
    bool reuse;                    /* it is reuse's turn */
    uint32_t left;                 /* samples until the other's */
    uint32_t next;                 /* samples of that turn */
    float turn;                    /* share of this round's samples that are of this turn */
    uint64_t foreseen;             /* samples of reuse that were decided by looking ahead */
    uint64_t absent[DETECT_KINDS]; /* samples for which no access was found */
    float shares[DETECT_KINDS];    /* of this round's samples */
    float storeless;               /* share of the last ticks without a store near ahead */
};

struct agent_thread {
    /* The handler's entry is assembly and knows these two by their offsets 0 and 8. */
    unsigned char *stack_base, *stack_top;
    struct agent_thread *next_free;
    void *(*routine)(void *); /* the program's thread function, from pthread_create to its start */
    void *argument;
    bool trap_blocked;    /* inherited by it: what the program believes */
    uint64_t stack_bytes; /* that it asked for; 0: the usual ones */
    uint32_t tid, process;
    bool own_altstack;
    bool ending;              /* what is still watched will not be any more */
    bool small_altstack;      /* the program's alternate stack cannot take our signal frame */
    struct os_watch ticks;    /* clock source */
    struct pmu_ring rings[2]; /* pmu source: stores, loads; page NULL: not running */
    bool counting;            /* count source: waits for an access */
    int ticks_left;           /* before a new period is drawn */
    uint64_t interval_ns;     /* mean CPU time between samples at present */
    uint64_t period_ns;       /* between the ticks that come now: each stands for that much */
    uint64_t spent_ns;        /* agent's cost since the last sample */
    int64_t cost_ns;          /* the same, smoothed over samples */
    int64_t delivery_ns;      /* what delivering a signal costs, smoothed over traps */
    uint64_t entries;         /* handlers entered */
    uint64_t began_ns;        /* CPU time when the present one was */
    uint64_t own_ns;          /* CPU time inside earlier ones */
    uint64_t last_virtual_ns; /* thread_virtual_ns of the one before */
    struct agent_question question;
    struct agent_use use, uses[DETECT_MAX_REGISTERS]; /* scouted; watched */
    struct agent_object
        objects[DETECT_MAX_REGISTERS]; /* what is watched, as it was when that began */
    struct wire_thread_slot *slot;     /* claimed at the first tick */
    bool identified;                   /* the log has its THREAD record */
    struct wire_counters *counters;    /* the slot's; meaningless without one */
    struct wire_writer writer;
    struct base_random random;
    struct detect detect;
    struct agent_watch watches[DETECT_MAX_REGISTERS];
    struct agent_watch scout;
    struct agent_watch companions[AGENT_COMPANIONS]; /* of watches[0]: other words of its line */
    struct agent_sharing sharing;
    struct agent_attempt attempt;
    struct agent_frame frame;
    uint32_t generation;
    uint32_t unloads; /* modules_unloads() that the forecast's code is good for */
    struct agent_memory memory;
    struct cct cct;
    struct unwind_frame frames[AGENT_FRAMES]; /* of the latest walk */
    size_t frames_count;
    struct forecast forecast;
    _Alignas(64) unsigned char stack[AGENT_STACK_BYTES];
    _Alignas(64) unsigned char tree[];
};

extern __thread struct agent_thread *agent_self;

/* CPU time of the thread without what it spent inside handlers; the cost of their delivery is in it. */
static inline uint64_t thread_virtual_ns(const struct agent_thread *self)
{
    return self->began_ns - self->own_ns;
}
/* Outside handlers: began_ns is now. */
void thread_note_time(struct agent_thread *self);
/* The program believes that SIGTRAP is blocked in this thread. */
extern __thread bool agent_trap_blocked;

/* Begins to observe the calling thread; any context. Idempotent. prepared: from
   thread_prepare, or NULL. */
void thread_begin(struct agent_thread *prepared);
/* State for a thread to come, or NULL. Give it to thread_begin or thread_discard. */
struct agent_thread *thread_prepare(void);
void thread_discard(struct agent_thread *prepared);
/* The program changed this thread's alternate stack. */
void thread_altstack_changed(const stack_t *now);
/* Ends it; normal context. */
void thread_end(void);
/* Disarms timer and watchpoints, e.g. before exec; thread_resume undoes it. */
void thread_pause(void);
void thread_resume(void);
/* In the child of fork: a new process, one thread. */
void thread_after_fork(void);
/* At the first tick: slot, counters, identity in the log. False: stay quiet. */
bool thread_claim(struct agent_thread *self);
/* The same for the calling thread, outside of handlers. */
bool thread_introduce(void);

/* ---- sampling (sample.c) ----------------------------------------------------------- */

void sample_trap(struct agent_thread *self, ucontext_t *context, const struct os_trap *trap);
void sample_init(struct agent_thread *self);
/* Is this si_perf_data of one of our watchpoints? */
bool sample_cookie(uint64_t cookie);
enum { SAMPLE_COOKIE_MAGIC = 0x48445257 }; /* upper half of every cookie; lower: generation */
/* Starts the ticks of this thread; false if the kernel refuses. */
bool sample_start(struct agent_thread *self);
bool sample_running(const struct agent_thread *self);
/* After fork: the events are the parent's, their mappings are not here. */
void sample_forget(struct agent_thread *self);
/* Ends them. */
void sample_stop(struct agent_thread *self);
/* Arms with a generation of its own. */
bool sample_arm(struct agent_thread *self, struct agent_watch *watch, enum os_watch_type type,
                uint64_t address);
/* Watches the byte `watched` with the scout, the way `kind` wants it. */
bool sample_scout(struct agent_thread *self, uint8_t kind, uint64_t watched);
/* The scouted access has happened: counts it and lets detect decide. */
void sample_store(struct agent_thread *self, struct detect_sample *sample);
/* The sample of an access as it was foreseen, in the context `node`; its values are still to be put in. */
struct detect_sample sample_of(struct agent_thread *self, uint8_t kind,
                               const struct forecast_outcome *hit, uint64_t watched, float weight,
                               uint32_t node);
/* The record of a sample alone; density, armed, trap_ns: as in struct wire_sample. */
void sample_record(struct agent_thread *self, const struct detect_sample *sample, float density,
                   uint8_t armed, uint32_t trap_ns);
/* The record of a finding, made in the context `node`; flags: as in struct wire_trap. The record must have been reserved. */
void sample_log_finding(struct agent_thread *self, const struct detect_finding *finding,
                        uint32_t node, uint32_t flags);
/* Logs a stored sample; armed: as in struct wire_sample. The record must have been reserved. */
void sample_log(struct agent_thread *self, const struct detect_sample *sample, uint8_t armed);
/* Gives up whatever is watched. */
void sample_abandon(struct agent_thread *self);
/* Never watched: the agent's own memory. */
bool sample_refuses(const struct agent_thread *self, uint64_t address);
/* Ends the attempt under way as dropped. */
void sample_finish(struct agent_thread *self, enum wire_drop reason);
/* The same if there is one. */
void sample_drop(struct agent_thread *self, enum wire_drop reason);
/* Leaves out of what is looked for what would not be there without us: the agent's own instructions, and
   counting. */
void sample_exclude(struct agent_thread *self, struct forecast_goal *goal);
/* Prepares to look ahead from this state. */
void sample_foresee(struct agent_thread *self, const struct base_registers *registers);
/* Watches the access that the attempt has hit upon. */
void sample_watch(struct agent_thread *self);
/* Stops the thread where the forecast could not go on; `block` says where. */
void sample_hop(struct agent_thread *self, const struct forecast_outcome *block);
/* Makes what has been counted so far known to headroom. */
void sample_publish(struct agent_thread *self);
/* Disarms everything. */
void sample_disarm(struct agent_thread *self);

static inline bool agent_watch_covers(const struct agent_watch *watch, uint64_t address,
                                      uint64_t bytes)
{
    uint64_t width = watch->os.type == OS_WATCH_WORD ? 8 : 1;
    return watch->os.page && watch->os.address < address + bytes &&
           address < watch->os.address + width;
}

/* Does an access to [address, + bytes) touch what register `index` watches? */
static inline bool sample_watches(const struct agent_thread *self, unsigned index, uint64_t address,
                                  uint64_t bytes)
{
    if (!self->detect.registers[index].busy)
        return false;
    bool covered = agent_watch_covers(&self->watches[index], address, bytes);
    for (unsigned i = 0; i < AGENT_COMPANIONS && index == 0; i++)
        covered |= agent_watch_covers(&self->companions[i], address, bytes);
    return covered;
}
/* Signals blocked: `function` (a wrapped libc function) made a system call that covers
   [address, address + bytes). For what no watchpoint can see: see io.c. */
void sample_kernel_touch(struct agent_thread *self, uint64_t address, uint64_t bytes,
                         int32_t syscall_number, uint64_t function,
                         const struct base_registers *registers);

/* ---- which question a sample asks (question.c) --------------------------------------- */

/* At the thread's start; detect is initialised and watches nothing. */
void question_init(struct agent_thread *self);
/*
 * The kind that the next sample is of, among those that sample accesses of `directions`, or -1. Where kinds are not
 * asked alike the sample's weight is divided by how much more often its kind is asked.
 */
int question_pick(struct agent_thread *self, uint8_t directions, float *weight);
/* Does this tick ask for lines that threads share? The weight is divided by how often it does or does not. */
bool question_shares(struct agent_thread *self, float *weight);
/* For a tick: bits of the kinds whose turn it is. *turn: the share of ticks at which it is theirs. */
uint8_t question_turn(struct agent_thread *self, float *turn);

/* ---- decided without traps (ahead.c) --------------------------------------------------- */

/*
 * Asks what ahead->open has about the access that `goal` leads to, ahead of the state that was given to
 * sample_foresee. Logs what can be decided by looking further ahead; what cannot stays open. weight and density are
 * the caller's. False: there is no such access, or it is never watched.
 */
bool ahead_ask(struct agent_thread *self, const struct forecast_goal *goal,
               struct agent_ahead *ahead);
/* The same for reuse, which is all that is open then. The weight becomes that of the location chosen. */
bool ahead_ask_reuse(struct agent_thread *self, const struct forecast_goal *goal,
                     struct agent_ahead *ahead);

/* ---- reuse (reuse.c) ------------------------------------------------------------------ */

/* A whole line is more than a register watches: all of them then serve one sample, so that there is but
   one for `detect` to give away. */
bool reuse_has_companions(void);
/* watches[0] was armed for a sample of a line: so are other words of the line. */
void reuse_arm_companions(struct agent_thread *self, uint64_t watched);
/* Chooses the location that stands for the access found, and returns the byte of it to watch; the weight becomes
   that of the location. */
uint64_t reuse_choose(struct agent_thread *self, const struct forecast_outcome *hit, float *weight);
/* Around the location of that byte: for an access to it. */
struct forecast_goal reuse_goal(uint64_t watched);
/* Logs a sample, and after so many accesses its reuse, both foreseen and neither confirmed by a trap. False: the log is full. */
bool reuse_log_foreseen(struct agent_thread *self, const struct detect_sample *sample,
                        float density, uint64_t distance, uint32_t node, bool stores_first,
                        bool stores_second);
/* The scouted access has happened: looks ahead for a near reuse, else watches for a far one.
   direction: ISA_LOAD or ISA_STORE; sample->modifies: the same instruction does both, loading first. */
void reuse_take(struct agent_thread *self, const struct base_registers *registers,
                struct detect_sample *sample, uint8_t direction);
/* The watched location was touched. */
void reuse_resolve(struct agent_thread *self, unsigned index,
                   const struct base_registers *registers, const struct isa_blame *blame,
                   enum isa_blame_result result);
/* detect's hook. */
void reuse_lost(void *machine, unsigned index, const struct detect_lost *lost);

/* What a sample of that CPU time stands for where so many accesses an instruction match. */
float sample_weigh(float weight, float density);
/* The instruction that touched what `watch` watches, at `watched` most probably. */
enum isa_blame_result sample_find_culprit(struct agent_thread *self, const struct os_watch *watch,
                                          uint64_t watched, const struct base_registers *registers,
                                          struct isa_blame *blame);
/* Was it the agent itself, outside of its handlers? */
bool sample_touched_by_agent(const struct base_registers *registers, const struct isa_blame *blame,
                             enum isa_blame_result result);

/* ---- lines that threads share (sharing.c) ------------------------------------------------ */

/* The next number, for a thread that is about to be created: numbers follow that order, not the one in which threads get to run. */
void sharing_number(struct agent_thread *created);
/* A thread that has a number begins (signals blocked), ends; in the child of fork, where nobody else is. */
void sharing_begin(struct agent_thread *self);
void sharing_end(void);
void sharing_after_fork(struct agent_thread *self);
/* Is it asked, and are there several threads? */
bool sharing_asked(void);
/* Takes one of the `count` accesses on the way just foreseen, each as likely: publishes it at once or when it is confirmed. */
void sharing_choose(struct agent_thread *self, struct forecast_goal goal, uint32_t count);
/* The scouted access has happened. */
void sharing_confirmed(struct agent_thread *self, uint32_t node);
/* False: none of its watches has that generation. */
bool sharing_trap(struct agent_thread *self, uint32_t generation,
                  const struct base_registers *registers, bool late);
/* Ends the watch; forgets it, in the child of fork, whose parent has it. */
void sharing_release(struct agent_thread *self);
void sharing_forget(struct agent_thread *self);
/* A handler has been entered in it: it is among those that were sampled. */
void sharing_sampled(struct agent_thread *self);
/* The calling thread has left a barrier. */
void sharing_barrier(void);

/* ---- the pmu source (pmu.c) --------------------------------------------------------- */

enum { PMU_GENERATIONS = 2 }; /* generations 1 and 2 are the counters', 0 the ticks' */
bool pmu_start(struct agent_thread *self);
void pmu_stop(struct agent_thread *self);
void pmu_overflow(struct agent_thread *self, unsigned which, const struct base_registers *registers,
                  bool late);

/* ---- the count source (count.c) -------------------------------------------------------- */

bool count_start(struct agent_thread *self);
void count_stop(struct agent_thread *self);
/* In the handler of AGENT_DUE: an access that is waited for is ahead. */
void count_due(struct agent_thread *self);
/* The attempt under way looks on from here. */
void count_look_ahead(struct agent_thread *self, const struct base_registers *registers);
/* A tick of the clock, which only measures what share of time goes to code that does not count. */
void count_tick(uint64_t ip);
enum { COUNT_TICK_NS = 10000000 }; /* of the clock beside the count source */
/* The calling thread's accesses so far, if they are counted: within a function up to the rest of a loop's pass
   more or less. */
bool count_read(uint64_t *count);
/* What counts is not itself counted. */
void count_ignore(struct agent_thread *self, struct forecast_goal *goal);

/* ---- contexts (context.c) ------------------------------------------------------------ */

enum context_leaf {
    CONTEXT_HERE,           /* the instruction is in the function that ip is in now */
    CONTEXT_CALLER,         /* a call: ip is already in the callee */
    CONTEXT_CALLEE,         /* a ret: ip is already in the caller */
    CONTEXT_UNKNOWN_RETURN, /* a ret whose address is unknown: leaf is the caller's ip, imprecise */
};

/* Node of the calling context whose leaf is the instruction at `leaf`. 0: tree or log full
   (reason in *drop). flags: enum wire_node_flags for the leaf. */
uint32_t context_enter(struct agent_thread *self, const struct base_registers *registers,
                       uint64_t leaf, enum context_leaf where, uint32_t flags,
                       enum wire_drop *drop);
/* The same for the touch of a watched location; where it is not known which instruction it was, the
   leaf is where ip is now. */
uint32_t context_enter_touch(struct agent_thread *self, const struct base_registers *registers,
                             const struct isa_blame *blame, enum isa_blame_result result,
                             enum wire_drop *drop);
/* The same as context_enter with another view of memory: of a state foreseen. */
uint32_t context_enter_then(struct agent_thread *self, const struct base_registers *registers,
                            const struct base_memory *memory, uint64_t leaf, uint32_t flags,
                            enum wire_drop *drop);
/* The same for an access that was foreseen, `then` and `memory` being the state before it. Where it is in the function that
   the tick interrupted, there is nothing to walk. */
uint32_t context_enter_ahead(struct agent_thread *self, const struct base_registers *then,
                             const struct base_memory *memory,
                             const struct forecast_outcome *access, enum wire_drop *drop);
/* Node of the calling context of a function that was entered with these registers, ip being its return address. */
uint32_t context_enter_callers(struct agent_thread *self, const struct base_registers *registers,
                               const struct base_memory *memory, enum wire_drop *drop);
/* The frame of the context entered last that holds the address, and how far from its canonical frame address that is. NULL: none. */
const struct unwind_frame *context_frame(const struct agent_thread *self, uint64_t address,
                                         int64_t *from_cfa);
/* The log has the module of that id in records. False: no room in it. */
bool context_log_module(struct agent_thread *self, uint32_t module);
/* Logs where a period of the thread's CPU time has ended. flags: enum wire_tick_flags. */
void context_log_tick(struct agent_thread *self, const struct base_registers *registers,
                      uint64_t period_ns, uint32_t flags);
/* Leaf flags of an access: is it to a return address, pushed or popped? */
uint32_t context_flags(const struct isa_insn *insn, const struct isa_access *access);
/* Where its instruction is, once it has executed. */
enum context_leaf context_place(const struct isa_insn *insn);

/* ---- timed spans (spans.c, imports.c) ----------------------------------------------- */

/* At the start, last of all. */
void spans_start(void);
void spans_after_fork(void);
/* Leads calls of the functions that are SPANS_IMPORT from this module to their stubs. Normal context. */
void imports_hook(const struct spans_region *region, const struct agent_module *module);
/* In the child: nobody is at it any more. */
void imports_after_fork(void);

/* ---- clones of loops (clones.c) ------------------------------------------------------- */

/* At the start. */
void clones_start(void);
/* A thread whose tracer is gone has come to the end of placed code, or to an address where it was to be stopped: it goes on as if
   nothing had been. False: it is neither. */
bool clones_return(const siginfo_t *info, ucontext_t *context);

/* ---- process-wide (agent.c) ---------------------------------------------------------- */

struct agent_state {
    struct wire_region *region; /* NULL: not observing */
    uint32_t process, pid, parent;
    bool forked;
    _Atomic bool stopped;   /* observe nothing more in this process */
    _Atomic bool filtered;  /* and make no system call any more: it might be fatal */
    _Atomic bool announced; /* PROCESS record written */
    uint32_t headroom_pid, headroom_region; /* its process, its descriptor of the region */
    uint64_t image_start, image_end;        /* of the agent's own file */
    struct sigaction program_trap;          /* what the program thinks SIGTRAP does */
    char environment_region[64];            /* "HEADROOM_REGION=..." */
    char exe[256];
    char command[1024];
    uint16_t command_bytes;
    /* Places in every thread's static storage, relative to its control block; AGENT_NOWHERE: none.
       Areas of rseq(2), libc's and the program's own; the program's counter of its accesses. */
    int64_t kernel_areas[2], access_counter;
    int64_t counted; /* the same of struct instrumented_accesses */
    uint32_t source; /* enum wire_source: what this recording goes by */
};
extern struct agent_state agent;
#define AGENT_NOWHERE INT64_MIN

/* The calling thread's control block, which starts with its own address (x86-64 TLS ABI). */
static inline uint64_t agent_control_block(void)
{
    uint64_t block;
    __asm__("mov %%fs:0,%0" : "=r"(block));
    return block;
}

/* Is that an instruction of the agent's own? What it does is not the program's doing. */
static inline bool agent_owns(uint64_t ip)
{
    return ip >= agent.image_start && ip < agent.image_end;
}

/* Spans are timed, or clones executed: threads have no ticks, and nothing is sampled in them. */
static inline bool agent_samples_nothing(void)
{
    return agent.region->config.spans || agent.region->config.clones;
}

static inline bool agent_active(void)
{
    return agent.region && !atomic_load_explicit(&agent.stopped, memory_order_relaxed) &&
           !atomic_load_explicit(&agent.region->stopping, memory_order_relaxed);
}

/* si_value of SIGTRAPs (SI_QUEUE) between agents. Addresses that no program hands around. */
#define AGENT_DUE   ((void *)0x4844525744554521) /* from the program's own counter of accesses */
#define AGENT_BEGIN ((void *)0x4844525742454749) /* to a thread of this process: begin */

/* Text of a small /proc file (NUL-terminated, cut to fit); false if it cannot be read. */
bool agent_read_file(const char *path, char *text, size_t bytes);
/* Writes text or digits and a NUL at out, returns where the NUL is. */
char *agent_put_text(char *out, const char *text);
char *agent_put_number(char *out, uint64_t value);
/* Parses decimal digits and skips a ':' behind them. */
bool agent_parse_number(const char **text, uint32_t *value);

/* Stops observing this process for good; reason: enum wire_degraded, 0 for none. */
void agent_stop(uint32_t degraded);
void agent_degrade(uint32_t degraded);
/* False: it has ended, been killed perhaps. Any context. */
bool agent_headroom_lives(void);
/* Maps a part of /proc/HEADROOM/fd/DESCRIPTOR and closes the descriptor at once; NULL on failure. Any
 * context. */
void *agent_map_from_headroom(uint32_t descriptor, uint64_t offset, size_t bytes, int protection);
/* Where ucontext_t has the general registers, in the order of struct base_registers. */
extern const uint8_t agent_register_order[BASE_GENERAL_REGISTERS];
/* gs_base is left 0: agent_gs_base costs a system call and only forecasts need it. */
void agent_registers(const ucontext_t *context, struct base_registers *registers);
uint64_t agent_gs_base(void);

/* signals.c: takes SIGTRAP over, remembering what the program had. */
void signals_install(void);
void agent_handle(int number, siginfo_t *info, void *context);

/* Installs the SIGTRAP handler; any context. */
void signals_reinstall(void);

/*
 * The real function behind a wrapper. Resolved at first use: constructors of
 * other libraries may call wrappers before ours ran.
 */
void *wrap_next(void **cache, const char *name);
#define WRAP_REAL(name)                                                                            \
    ({                                                                                             \
        static void *cache_;                                                                       \
        (__typeof__(&(name)))wrap_next(&cache_, #name);                                            \
    })

/* State of this very function: enough for the walk, which leaves out the agent's own frames. */
static inline __attribute__((always_inline)) void wrap_capture(struct base_registers *registers)
{
    *registers = (struct base_registers){0};
    uint64_t *general = registers->general;
    __asm__ volatile("lea 0f(%%rip), %%rax\n"
                     "0: mov %%rax, %0\n"
                     "mov %%rsp, %1\n"
                     "mov %%rbp, %2\n"
                     "mov %%rbx, %3\n"
                     "mov %%r12, %4\n"
                     "mov %%r13, %5\n"
                     "mov %%r14, %6\n"
                     "mov %%r15, %7\n"
                     : "=m"(registers->ip), "=m"(general[BASE_RSP]), "=m"(general[BASE_RBP]),
                       "=m"(general[BASE_RBX]), "=m"(general[BASE_R12]), "=m"(general[BASE_R13]),
                       "=m"(general[BASE_R14]), "=m"(general[BASE_R15])
                     :
                     : "rax");
}

/* ---- calls that headroom has threads execute (calls.c) ----------------------------------- */

/* At the start: how that is done in this process. */
void calls_open_gate(void);
/* Before this process traces `pid`: if an agent is in there, it falls silent. */
void calls_quieten(uint32_t pid);
/* Is headroom still tracing it? Then it has been waited for a moment. */
bool calls_holds(uint32_t pid);
/* All other threads of this process fall silent, before system calls are filtered in them. */
void calls_silence_others(void);
/* Another thread of this process begins. False: it does not, and nobody is at it. */
bool calls_begin(uint32_t tid);
/* The handler of the int3 with which that ends: headroom has died meanwhile. False: it is another one. */
bool calls_return(ucontext_t *context);

/*
 * exec.c: an environment for a program to be started: with the agent if it can live in the
 * program at `path`, else as given. memory: caller's, exec_environment_bytes long.
 */
size_t exec_environment_bytes(char *const *environment);
/* Programs executed with an agent (1), arrived there or not executed after all (-1). */
void exec_counted(int images);
char *const *exec_environment(const char *path, char *const *environment, void *memory);

#endif
