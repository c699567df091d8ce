// SPDX-License-Identifier: MIT
/*
 * The parts of inject. All but its public functions runs in one thread, the service thread.
 */
#ifndef HEADROOM_INJECT_INTERNAL_H
#define HEADROOM_INJECT_INTERNAL_H

#include "inject/inject.h"
#include "inject/sampler.h"

#include "cfg/cfg.h"
#include "os/os.h"
#include "patch/patch.h"

#include <pthread.h>
#include <time.h>

/* ---- functions left alone (unhooked.c) ---------------------------------------------------- */

enum { INJECT_UNHOOKED_MAX = 2048 };

struct inject_unhooked_list {
    struct inject_unhooked *entries;
    size_t count, capacity;
    uint64_t more;
};

/* Copies; the first reason of a function stays. */
void inject_unhooked_add(struct inject_unhooked_list *list, const char *name, const char *module,
                         const char *reason);

/* ---- what /proc says of a process (proc.c) ------------------------------------------------ */

struct inject_mapping {
    uint64_t start, end, offset, device, inode; /* inode 0: no file */
    bool executable, shared;
    const char *path; /* "" if it has none; decoded by nobody */
};

/* 0, or errno: ESRCH: it has ended, also as a zombie. */
int inject_maps_read(struct inject_maps *maps, uint32_t pid);
/* The next line. mapping->path lives until the text is read anew. */
bool inject_maps_next(struct inject_maps *maps, struct inject_mapping *mapping);
/* inject_maps_next begins anew. */
void inject_maps_rewind(struct inject_maps *maps);
void inject_maps_free(struct inject_maps *maps);

/* Tasks of a process; 0: it has ended. */
unsigned inject_task_count(uint32_t pid);

/* What a thread does. */
enum inject_task_state { INJECT_TASK_GONE, INJECT_TASK_RUNS, INJECT_TASK_RESTS, INJECT_TASK_FORKS };
/* RESTS: ip and sp are where it will go on. FORKS: a child may use its memory meanwhile (vfork).
   RUNS also if the kernel does not say. */
enum inject_task_state inject_task_look(uint32_t pid, uint32_t tid, uint64_t *ip, uint64_t *sp);

/* NULL: every thread of the process would take an int3. Else a clause why not. */
const char *inject_traps_refused(uint32_t pid);

/* ---- writing code (write.c) ---------------------------------------------------------------- */

/* A process whose code is changed. */
struct inject_code {
    uint32_t pid;
    int memory;                  /* /proc/PID/mem: of the image that it was opened for */
    struct spans_process *piece; /* mapped */
};

bool inject_code_read(const struct inject_code *code, uint64_t address, void *out, size_t bytes);
/* Writes only if `before` is there. The only place where anything is written to a process. */
bool inject_code_replace(const struct inject_code *code, uint64_t address, const void *before,
                         const void *after, size_t bytes);

enum inject_rewrite_state {
    INJECT_NEW,
    INJECT_TRAPPED,
    INJECT_WRITTEN,
    INJECT_DONE,
    INJECT_UNDONE,
    INJECT_REFUSED
};

/* The first bytes of a function, and what is to be there. */
struct inject_rewrite {
    uint64_t at;
    uint64_t to; /* where a thread goes on that meets the int3 */
    uint8_t before[PATCH_JUMP_BYTES], after[PATCH_JUMP_BYTES];
    uint8_t dangers,
        danger[PATCH_JUMP_BYTES]; /* offsets at which a thread would be in the middle */
    uint8_t state;                /* enum inject_rewrite_state */
    uint32_t hook;                /* the caller's */
};

/* The steps of the int3 protocol; each does nothing unless the state before it is reached. Between
   them all processors must have been synchronised (inject_synchronise). */
void inject_rewrite_trap(const struct inject_code *code, struct inject_rewrite *rewrite);
void inject_rewrite_tail(const struct inject_code *code, struct inject_rewrite *rewrite);
void inject_rewrite_head(const struct inject_code *code, struct inject_rewrite *rewrite);
/* Instead of tail and head. */
void inject_rewrite_undo(const struct inject_code *code, struct inject_rewrite *rewrite);
/* All of them at once, if nobody executes the code. */
void inject_rewrite_now(const struct inject_code *code, struct inject_rewrite *rewrite);

/* Where a thread that meets an int3 at `address` goes on; 0: there is no such entry. */
uint64_t inject_trap_find(const struct spans_process *piece, uint64_t address);

/* Every processor has executed a serialising instruction since. */
void inject_synchronise(const struct inject_code *code);

/* ---- writing code that is executed (live.c) ----------------------------------------------- */

struct inject_thread {
    uint32_t tid;
    uint8_t looks;        /* outside so often in a row; when that suffices it cannot come back */
    uint64_t searched_ns; /* when its stack was, after the first look */
};

enum { INJECT_BATCH_MAX = 64 };

struct inject_batch {
    const struct inject_code *code;
    struct inject_rewrite rewrites[INJECT_BATCH_MAX];
    uint8_t attempts[INJECT_BATCH_MAX]; /* the caller's */
    size_t count;
    bool waits;                     /* begun and not over */
    uint64_t since_ns, deadline_ns; /* CLOCK_MONOTONIC */
    uint64_t dangers[INJECT_BATCH_MAX * PATCH_JUMP_BYTES];
    size_t dangers_count;
    struct inject_thread *threads;
    size_t threads_count, threads_capacity;
};

/* Puts int3s. NULL, or why there must not be any now: nothing was written. */
const char *inject_batch_begin(struct inject_batch *batch);
/* Around everything that writes an int3 into a process that runs. NULL, or why there must be none;
 * then it has ended. */
const char *inject_patching_begin(const struct inject_code *code);
void inject_patching_end(const struct inject_code *code);
/* A thread of the process was at ip, with the stack pointer sp, at that time. */
void inject_batch_sample(struct inject_batch *batch, uint32_t tid, uint64_t ip, uint64_t sp,
                         uint64_t time_ns);
/* Looks at the threads. True: it is over, every rewrite is DONE, UNDONE or REFUSED. */
bool inject_batch_step(struct inject_batch *batch);
/* Ends it at once: what is not proven is put back. */
void inject_batch_cut(struct inject_batch *batch);
void inject_batch_free(struct inject_batch *batch);

/* ---- stopped threads (calls.c) ------------------------------------------------------------------ */

struct user_regs_struct;
/* What the kernel does with a system call that a stop has interrupted, when no handler runs. mask: of signals. */
void inject_settle_call(pid_t tid, uint64_t mask, struct user_regs_struct *registers);

/* ---- samples (sampler.h) ----------------------------------------------------------------------- */

enum { INJECT_SAMPLE_NS = 250000 }; /* of CPU time, between two samples of a thread */

/* ---- choice (choose.c) ---------------------------------------------------------------------- */

enum {
    INJECT_CHOICE_SLOTS = 4096,
    INJECT_CHOICE_MAX = 64,   /* chosen in a recording */
    INJECT_CHOICE_SAMPLES = 8 /* at least */
};

struct inject_candidate {
    const void *module; /* NULL: free slot */
    uint64_t vaddr;
    double ns;
    double samples;
    bool chosen;
};

struct inject_choice {
    struct inject_candidate slots[INJECT_CHOICE_SLOTS];
    size_t used, chosen;
    double ns;                  /* of all samples, fading like those of the candidates */
    uint64_t cpu_ns;            /* since the start */
    uint64_t due_ns;            /* cpu_ns of the next judgement */
    bool settled;               /* the first choice has been made */
    bool watches;               /* a window, else a pause; it */
    uint64_t begun_ns, turn_ns; /* began, and ends; CLOCK_MONOTONIC */
    uint64_t begun_cpu_ns;      /* cpu_ns when it began */
    uint64_t watched_ns;        /* in windows that saw something */
};

void inject_choice_begin(struct inject_choice *choice);
/* module NULL: in none that could be chosen. */
void inject_choice_add(struct inject_choice *choice, const void *module, uint64_t vaddr,
                       uint64_t weight_ns);
/* Is it time to look? Then the functions that are hot now and were not chosen before, hottest
   first; they are from now on. */
size_t inject_choice_judge(struct inject_choice *choice,
                           struct inject_candidate hot[INJECT_CHOICE_MAX]);
/* The first choice is over: for now nothing more is to be learnt. */
bool inject_choice_settled(const struct inject_choice *choice);
/* Should there be samples now? Asked every few milliseconds; now_ns: CLOCK_MONOTONIC. */
bool inject_choice_watches(struct inject_choice *choice, uint64_t now_ns);

/* ---- modules and what is to be hooked in them (modules.c) ------------------------------------ */

enum inject_hook_kind {
    INJECT_JUMP,
    INJECT_MARKER_BEGIN,
    INJECT_MARKER_END,
    INJECT_CALLED,
    INJECT_SITE_BEGIN, /* markers that the source does not have: see patch_plan_site */
    INJECT_SITE_END,
};

/* To be hooked in every process that loads the module. */
struct inject_hook {
    struct inject_module *module;
    uint32_t number;        /* of the function in the region */
    uint8_t kind;           /* enum inject_hook_kind */
    bool done;              /* in some process */
    struct patch_plan plan; /* of markers: entry and original only */
    uint8_t where;          /* of sites: enum patch_site */
    uint64_t to;            /* likewise: vaddr where the way leads that it is on */
};

struct inject_module {
    struct inject_module *next;
    uint64_t device, inode; /* as in maps */
    uint64_t stat_device;   /* as stat(2) says, which agents use */
    char *path;
    struct patch_module *patch; /* NULL: not the program's own, or not to be read */
    bool new;                   /* imports not yet looked at */
};

struct inject_modules {
    struct spans_region *region;
    const struct inject_request *request;
    struct inject_unhooked_list *unhooked;
    struct inject_module *first;
    struct inject_hook **hooks;
    size_t hooks_count, hooks_capacity;
    bool *met; /* by the request's patterns: a function matched it; NULL: no memory */
};

/* Library functions that every recording times. */
void inject_modules_known(struct inject_modules *modules);
/* Never NULL unless memory runs out. What is asked for in it becomes hooks when it is met first. */
struct inject_module *inject_modules_get(struct inject_modules *modules,
                                         const struct inject_mapping *mapping);
/* Imports of modules met since the last call. */
void inject_modules_imports(struct inject_modules *modules);

/* Would both be written on some of the same bytes? */
static inline bool inject_overlap(const struct patch_plan *a, const struct patch_plan *b)
{
    return a->entry < b->entry + b->window_bytes && b->entry < a->entry + a->window_bytes;
}

/* ---- where a loop is entered and left (edges.c) ---------------------------------------------- */

enum { INJECT_SITES_MAX = 32 };

struct inject_site {
    uint8_t kind;  /* INJECT_SITE_BEGIN, INJECT_SITE_END */
    uint8_t where; /* enum patch_site */
    uint64_t to;
    struct patch_plan plan;
};

/* All sites of the loop of that head; count <= INJECT_SITES_MAX. inside: some is in the loop, and executed in each iteration. False:
   reason has a clause. */
bool inject_loop_sites(struct patch_module *module, uint64_t function, uint64_t head,
                       struct inject_site sites[INJECT_SITES_MAX], size_t *count, bool *inside,
                       char reason[160]);

/* A function that is hot. */
void inject_modules_choose(struct inject_modules *modules, struct inject_module *module,
                           uint64_t vaddr);
/* The number in the region for a loop of a function; waits: by spinning. 0: there is no room. */
uint32_t inject_modules_loop(struct inject_modules *modules, const struct inject_module *module,
                             size_t number, uint64_t head, bool waits);
/* Patterns that nothing matched are listed as not hooked. */
void inject_modules_unmet(struct inject_modules *modules);
void inject_modules_free(struct inject_modules *modules);

/* Calls `take` with the name of every function that the ELF file imports (imports.c). */
void inject_imports(const char *path, void (*take)(void *context, const char *name), void *context);

/* ---- processes (process.c) ------------------------------------------------------------------- */

struct inject_loaded { /* a module in a process */
    struct inject_module *module;
    uint64_t bias, start, end; /* of its first executable mapping */
    uint32_t seen;             /* generation */
};

struct inject_process {
    struct inject_process *next;
    uint64_t offset;         /* of its piece */
    struct inject_code code; /* piece NULL: it has ended; kept for samples that arrive late */
    size_t piece_bytes;
    uint64_t area_used[SPANS_AREAS];
    bool areas_known;
    struct inject_loaded *loaded;
    size_t loaded_count, loaded_capacity;
    uint8_t *states; /* of each hook: 0 not looked at, else attempts or enum */
    size_t states_count, states_capacity;
    struct inject_batch *batch; /* NULL: nothing was patched while it ran */
    uint32_t generation;
    uint64_t next_look_ns, ended_ns, retry_ns;
    bool starts; /* modules are its first ones */
    bool hushed; /* it will be traced: nothing is patched any more */
};

/* ---- loops (loops.c) ------------------------------------------------------------------------- */

enum { INJECT_FLOWS_MAX = 64 }; /* functions whose loops are looked at, in a recording */

struct inject_flow; /* a function and its loops */

/* Where a thread was, and since when in one execution of a loop. */
struct inject_looping {
    const struct inject_flow *flow; /* NULL: in no loop */
    uint32_t loop;
    uint64_t begun_ns, begun_counter; /* of the window */
    uint64_t last_ns, last_counter;
    uint64_t general[BASE_GENERAL_REGISTERS];
};

struct inject_loops {
    struct inject_modules *modules;
    int file;
    struct spans_loops *piece; /* NULL: none yet, or refused */
    bool refused;
    struct inject_flow *flows[INJECT_FLOWS_MAX];
    size_t flows_count;
    struct inject_looping threads[SPANS_SAMPLED_THREADS]; /* beside piece->sampled */
    bool watches;
    uint64_t turn_ns; /* of the window of samples, or the pause, that ends then */
};

void inject_loops_begin(struct inject_loops *loops, struct inject_modules *modules, int file);
/* loaded NULL, number PATCH_NONE: in no function that is known. */
void inject_loops_sample(struct inject_loops *loops, const struct inject_process *process,
                         const struct inject_loaded *loaded, size_t number,
                         const struct inject_sample *sample);
/* Should there be samples now, for loops that are known? As inject_choice_watches. */
bool inject_loops_watch(struct inject_loops *loops, uint64_t now_ns);
void inject_loops_end(struct inject_loops *loops);

struct inject_hole {
    uint64_t start, end, since_ns;
};

struct inject_service {
    struct spans_region *region;
    const struct inject_request *request;
    int file; /* of the region; the caller's, as that */
    uint64_t file_device, file_inode;
    struct inject_modules modules;
    struct inject_unhooked_list unhooked;
    struct inject_maps maps;
    struct inject_process *processes;
    struct inject_sampler sampler;
    struct inject_choice choice;
    struct inject_loops loops;
    int sampling_refused, patching_refused;
    uint64_t frontier;            /* where the next piece will begin */
    struct inject_hole holes[16]; /* pages before it that are no piece yet */
    size_t holes_count;
    uint64_t started_ns; /* when a process was last met */
    pthread_t thread;
    bool running;
    _Atomic bool quit;
    _Atomic uint32_t hush; /* a process that is to be patched no more; 0: that is done */
    pthread_mutex_t mutex; /* of notes */
    char notes[4][INJECT_NOTE_BYTES];
    size_t notes_count;
};

void inject_service_note(struct inject_service *service, const char *sentence);

/* A process has published a piece at that offset. */
void inject_process_attach(struct inject_service *service, uint64_t offset,
                           const struct spans_piece *header);
/* What is due: modules loaded since, functions chosen since, patches under way. True: it wants to
   be asked again in a few milliseconds. */
bool inject_process_serve(struct inject_service *service, struct inject_process *process);
/* What is being patched is finished, or put back, and nothing is from now on. */
void inject_process_hush(struct inject_service *service, struct inject_process *process);
void inject_process_sample(struct inject_service *service, const struct inject_sample *sample);
/* Frees those that ended some time ago, or all. */
void inject_processes_free(struct inject_service *service, bool all);

#endif
