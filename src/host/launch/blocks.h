// SPDX-License-Identifier: MIT
/*
 * The parts of launch_blocks, private to launch: what happens in headroom while a program's functions are timed.
 *
 * All but the companion of the recording (blocks.c) runs in one thread, the service thread.
 */
#ifndef HEADROOM_LAUNCH_BLOCKS_H
#define HEADROOM_LAUNCH_BLOCKS_H

#include "launch/internal.h"

#include "patch/patch.h"
#include "wire/blocks.h"

/* ---- functions left alone (blocks_unhooked.c) ---------------------------------------------------- */

enum { LAUNCH_UNHOOKED_MOST = 2048 };

struct launch_unhooked_list {
    struct launch_unhooked *entries;
    size_t count, capacity;
    uint64_t more;
};

/* Copies; the first reason of a function stays. */
void launch_unhooked_add(struct launch_unhooked_list *list, const char *name, const char *module,
                         const char *reason);
void launch_unhooked_free(struct launch_unhooked *entries, size_t count);

/* ---- what /proc says of a process (blocks_proc.c) ------------------------------------------------ */

struct launch_mapping {
    uint64_t start, end, offset, device, inode; /* inode 0: no file */
    bool executable, shared;
    const char *path;                           /* "" if it has none; decoded by nobody */
};

/* A text of /proc/PID/maps; may be used again and again. */
struct launch_maps {
    char *text;
    size_t bytes, capacity, at;
};

/* 0, or errno: ESRCH: it has ended, also as a zombie. */
int launch_maps_read(struct launch_maps *maps, uint32_t pid);
/* The next line. mapping->path lives until the text is read anew. */
bool launch_maps_next(struct launch_maps *maps, struct launch_mapping *mapping);
/* launch_maps_next begins anew. */
void launch_maps_rewind(struct launch_maps *maps);
void launch_maps_free(struct launch_maps *maps);

/* Tasks of a process; 0: it has ended. */
unsigned launch_task_count(uint32_t pid);

/* What a thread does. */
enum launch_task_state { LAUNCH_TASK_GONE, LAUNCH_TASK_RUNS, LAUNCH_TASK_RESTS, LAUNCH_TASK_FORKS };
/* RESTS: ip and sp are where it will go on. FORKS: a child may use its memory meanwhile (vfork). RUNS also if the
   kernel does not say. */
enum launch_task_state launch_task_look(uint32_t pid, uint32_t tid, uint64_t *ip, uint64_t *sp);

/* NULL: every thread of the process would take an int3. Else a clause why not. */
const char *launch_traps_refused(uint32_t pid);

/* ---- writing code (blocks_write.c) ---------------------------------------------------------------- */

/* A process whose code is changed. */
struct launch_code {
    uint32_t pid;
    int memory;                    /* /proc/PID/mem: of the image that it was opened for             */
    struct blocks_process *piece;  /* mapped                                                         */
};

bool launch_code_read(const struct launch_code *code, uint64_t address, void *out, size_t bytes);
/* Writes only if `before` is there. The only place where anything is written to a process. */
bool launch_code_replace(const struct launch_code *code, uint64_t address, const void *before,
                         const void *after, size_t bytes);

enum launch_rewrite_state {
    LAUNCH_NEW, LAUNCH_TRAPPED, LAUNCH_WRITTEN, LAUNCH_DONE, LAUNCH_UNDONE, LAUNCH_REFUSED
};

/* The first bytes of a function, and what is to be there. */
struct launch_rewrite {
    uint64_t at;
    uint64_t to;                   /* where a thread goes on that meets the int3                     */
    uint8_t before[PATCH_JUMP_BYTES], after[PATCH_JUMP_BYTES];
    uint8_t dangers, danger[PATCH_JUMP_BYTES]; /* offsets at which a thread would be in the middle   */
    uint8_t state;                 /* enum launch_rewrite_state                                      */
    uint32_t hook;                 /* the caller's                                                   */
};

/* The steps of the int3 protocol; each does nothing unless the state before it is reached. Between them all processors
   must have been synchronised (launch_synchronise). */
void launch_rewrite_trap(const struct launch_code *code, struct launch_rewrite *rewrite);
void launch_rewrite_tail(const struct launch_code *code, struct launch_rewrite *rewrite);
void launch_rewrite_head(const struct launch_code *code, struct launch_rewrite *rewrite);
/* Instead of tail and head. */
void launch_rewrite_undo(const struct launch_code *code, struct launch_rewrite *rewrite);
/* All of them at once, if nobody executes the code. */
void launch_rewrite_now(const struct launch_code *code, struct launch_rewrite *rewrite);

/* Where a thread that meets an int3 at `address` goes on; 0: there is no such entry. */
uint64_t launch_trap_find(const struct blocks_process *piece, uint64_t address);

/* Every processor has executed a serialising instruction since. */
void launch_synchronise(const struct launch_code *code);

/* ---- writing code that is executed (blocks_live.c) ----------------------------------------------- */

struct launch_thread {
    uint32_t tid;
    uint8_t looks;                 /* outside so often in a row; when that suffices it cannot come back */
    uint64_t searched_ns;          /* when its stack was, after the first look                        */
};

enum { LAUNCH_BATCH_MOST = 64 };

struct launch_batch {
    const struct launch_code *code;
    struct launch_rewrite rewrites[LAUNCH_BATCH_MOST];
    uint8_t attempts[LAUNCH_BATCH_MOST]; /* the caller's */
    size_t count;
    bool waits;                    /* begun and not over                                              */
    uint64_t since_ns, deadline_ns; /* CLOCK_MONOTONIC                                               */
    uint64_t dangers[LAUNCH_BATCH_MOST * PATCH_JUMP_BYTES];
    size_t dangers_count;
    struct launch_thread *threads;
    size_t threads_count, threads_capacity;
};

/* Puts int3s. NULL, or why there must not be any now: nothing was written. */
const char *launch_batch_begin(struct launch_batch *batch);
/* Around everything that writes an int3 into a process that runs. NULL, or why there must be none; then it has ended. */
const char *launch_patching_begin(const struct launch_code *code);
void launch_patching_end(const struct launch_code *code);
/* A thread of the process was at ip, with the stack pointer sp, at that time. */
void launch_batch_sample(struct launch_batch *batch, uint32_t tid, uint64_t ip, uint64_t sp,
                         uint64_t time_ns);
/* Looks at the threads. True: it is over, every rewrite is DONE, UNDONE or REFUSED. */
bool launch_batch_step(struct launch_batch *batch);
/* Ends it at once: what is not proven is put back. */
void launch_batch_cut(struct launch_batch *batch);
void launch_batch_free(struct launch_batch *batch);

/* ---- samples (blocks_sample.c) --------------------------------------------------------------------- */

struct launch_sample {
    uint32_t pid, tid;
    uint64_t ip, sp, time_ns;      /* CLOCK_MONOTONIC; sp 0: not known */
    uint64_t weight_ns;            /* of CPU time that it stands for   */
};

struct launch_sampler {
    struct launch_sampler_cpu *cpus;
    size_t count;
    bool running;
};

/* All processes that come of a child that has not executed its program yet. 0, or errno; it runs. */
int launch_sampler_open(struct launch_sampler *sampler, pid_t child);
/* Samples each quarter of a millisecond of CPU time of a thread, or none. */
void launch_sampler_run(struct launch_sampler *sampler, bool run);
void launch_sampler_drain(struct launch_sampler *sampler,
                          void (*take)(void *context, const struct launch_sample *sample),
                          void *context);
void launch_sampler_close(struct launch_sampler *sampler);

/* ---- choice (blocks_choose.c) ---------------------------------------------------------------------- */

enum {
    LAUNCH_CHOICE_SLOTS = 4096, LAUNCH_CHOICE_MOST = 64, /* chosen in a recording                    */
    LAUNCH_CHOICE_SAMPLES = 8                            /* at least                                 */
};

struct launch_candidate {
    const void *module;            /* NULL: free slot */
    uint64_t vaddr;
    double ns;
    double samples;
    bool chosen;
};

struct launch_choice {
    struct launch_candidate slots[LAUNCH_CHOICE_SLOTS];
    size_t used, chosen;
    double ns;                     /* of all samples, fading like those of the candidates */
    uint64_t cpu_ns;               /* since the start                                      */
    uint64_t due_ns;               /* cpu_ns of the next judgement                          */
    bool settled;                  /* the first choice has been made                        */
    bool watches;                  /* a window, else a pause; it                             */
    uint64_t begun_ns, turn_ns;    /* began, and ends: as launch_choice_watches was told     */
    uint64_t begun_cpu_ns;         /* cpu_ns when it began                                   */
    uint64_t watched_ns;           /* in windows that saw something                          */
};

void launch_choice_begin(struct launch_choice *choice);
/* module NULL: in none that could be chosen. */
void launch_choice_add(struct launch_choice *choice, const void *module, uint64_t vaddr,
                       uint64_t weight_ns);
/* Is it time to look? Then the functions that are hot now and were not chosen before, hottest first; they are from
   now on. */
size_t launch_choice_judge(struct launch_choice *choice,
                           struct launch_candidate hot[LAUNCH_CHOICE_MOST]);
/* The first choice is over: for now nothing more is to be learnt. */
bool launch_choice_settled(const struct launch_choice *choice);
/* Should there be samples now? Asked every few milliseconds; now_ns: CLOCK_MONOTONIC. */
bool launch_choice_watches(struct launch_choice *choice, uint64_t now_ns);

/* ---- modules and what is to be hooked in them (blocks_modules.c) ------------------------------------ */

enum launch_hook_kind { LAUNCH_JUMP, LAUNCH_MARKER_BEGIN, LAUNCH_MARKER_END, LAUNCH_CALLED };

/* To be hooked in every process that loads the module. */
struct launch_hook {
    struct launch_module *module;
    uint32_t number;               /* of the function in the region */
    uint8_t kind;                  /* enum launch_hook_kind */
    bool done;                     /* in some process       */
    struct patch_plan plan;        /* of markers: entry and original only */
};

struct launch_module {
    struct launch_module *next;
    uint64_t device, inode;        /* as in maps                                                     */
    uint64_t stat_device;          /* as stat(2) says, which agents use                              */
    char *path;
    struct patch_module *patch;    /* NULL: not the program's own, or not to be read                 */
    bool new;                      /* imports not yet looked at                                      */
};

struct launch_modules {
    struct blocks_region *region;
    const struct launch_blocks_request *request;
    struct launch_unhooked_list *unhooked;
    struct launch_module *first;
    struct launch_hook **hooks;
    size_t hooks_count, hooks_capacity;
    bool *met;                     /* by the request's patterns: a function matched it; NULL: no memory */
};

/* Library functions that every recording times. */
void launch_modules_known(struct launch_modules *modules);
/* Never NULL but for want of memory. What is asked for in it becomes hooks when it is met first. */
struct launch_module *launch_modules_get(struct launch_modules *modules,
                                         const struct launch_mapping *mapping);
/* Imports of modules met since the last call. */
void launch_modules_imports(struct launch_modules *modules);
/* A function that is hot. */
void launch_modules_choose(struct launch_modules *modules, struct launch_module *module,
                           uint64_t vaddr);
/* Patterns that nothing matched are listed as not hooked. */
void launch_modules_unmet(struct launch_modules *modules);
void launch_modules_free(struct launch_modules *modules);

/* Calls `take` with the name of every function that the ELF file imports (blocks_imports.c). */
void launch_imports(const char *path, void (*take)(void *context, const char *name), void *context);

/* ---- copies in a file (blocks_save.c) ----------------------------------------------------------------- */

struct launch_saver {
    int region, log;
    char path[LAUNCH_PATH_BYTES];  /* of the last one; "": there is none */
    pthread_t thread;
    bool running;
    _Atomic uint32_t quit;         /* futex */
};

void launch_saver_begin(struct launch_saver *saver, int region, int log);
void launch_saver_end(struct launch_saver *saver);
/* Time stamp counter and CLOCK_MONOTONIC_RAW, read together (blocks.c). */
void launch_blocks_clocks(uint64_t *ticks, uint64_t *ns);

/* ---- processes (blocks_process.c) -------------------------------------------------------------------- */

struct launch_loaded {             /* a module in a process */
    struct launch_module *module;
    uint64_t bias, start, end;     /* of its first executable mapping */
    uint32_t seen;                 /* generation                      */
};

struct launch_process {
    struct launch_process *next;
    uint64_t offset;               /* of its piece                                                   */
    struct launch_code code;       /* piece NULL: it has ended; kept for samples that arrive late    */
    size_t piece_bytes;
    uint64_t area_used[BLOCKS_AREAS];
    bool areas_known;
    struct launch_loaded *loaded;
    size_t loaded_count, loaded_capacity;
    uint8_t *states;               /* of each hook: 0 not looked at, else attempts or enum           */
    size_t states_count;
    struct launch_batch *batch;    /* NULL: nothing was patched while it ran                         */
    uint32_t generation;
    uint64_t next_look_ns, ended_ns, retry_ns;
    bool starts;                   /* modules are its first ones */
    bool hushed;                   /* it will be traced: nothing is patched any more */
};

struct launch_hole {
    uint64_t start, end, since_ns;
};

struct launch_service {
    struct blocks_region *region;
    const struct launch_blocks_request *request;
    int file;                      /* of the region */
    uint64_t file_device, file_inode;
    struct launch_modules modules;
    struct launch_unhooked_list unhooked;
    struct launch_maps maps;
    struct launch_process *processes;
    struct launch_sampler sampler;
    struct launch_choice choice;
    int sampling_refused, patching_refused;
    uint64_t frontier;             /* where the next piece will begin */
    struct launch_hole holes[16];  /* pages before it that are no piece yet */
    size_t holes_count;
    uint64_t started_ns;           /* when a process was last met */
    struct launch_saver saver;
    pthread_t thread;
    bool running;
    _Atomic bool quit;
    _Atomic uint32_t hush;         /* a process that is to be patched no more; 0: that is done */
    pthread_mutex_t mutex;         /* of notes */
    char notes[4][320];
    size_t notes_count;
};

void launch_service_note(struct launch_service *service, const char *sentence);

/* A process has published a piece at that offset. */
void launch_process_attach(struct launch_service *service, uint64_t offset,
                           const struct blocks_piece *header);
/* What is due: modules loaded since, functions chosen since, patches under way. True: it wants to be asked again in
   a few milliseconds. */
bool launch_process_serve(struct launch_service *service, struct launch_process *process);
/* What is being patched is finished, or put back, and nothing is from now on. */
void launch_process_hush(struct launch_service *service, struct launch_process *process);
void launch_process_sample(struct launch_service *service, const struct launch_sample *sample);
/* Frees those that ended some time ago, or all. */
void launch_processes_free(struct launch_service *service, bool all);

#endif
