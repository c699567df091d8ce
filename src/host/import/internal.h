// SPDX-License-Identifier: MIT
/*
 * Between the files of import: reading the log (log.c), adding it up (gather.c by way of tables.c and samples.c; exact.c what
 * the exact engine counted; reuse_samples.c, reuse.c live reuse), naming what was found
 * (names.c), describing the run (run.c). Paths are imported apart from that: instrumented.c reads what instrumented programs
 * left, paths.c puts what any engine counted in the profile's order.
 */
#ifndef HEADROOM_IMPORT_INTERNAL_H
#define HEADROOM_IMPORT_INTERNAL_H

#include "binary/fields.h"
#include "distance/distance.h"
#include "estimate/estimate.h"
#include "import/flow.h"
#include "import/import.h"
#include "profile/profile.h"
#include "util/util.h"
#include "wire/wire.h"

/* ---- progress ----------------------------------------------------------------------------- */

struct import_teller {
    import_progress *progress;
    void *context;
    uint64_t last_ns;
};

/* Passes on at most some eight times a second. */
void import_tell(struct import_teller *teller, const char *step, uint64_t done, uint64_t total);

/* ---- keys of hash indices -------------------------------------------------------------------- */

static inline uint64_t import_hash(uint64_t a, uint64_t b, uint64_t c)
{
    return base_mix64(base_mix64(base_mix64(a + 1) ^ b) ^ c);
}

/* ---- numbers by id: what a thread or process numbered from 1 on (ids.c) -------------------------------- */

enum { IMPORT_IDS_MAX = (1 << 28) - 1 };

struct import_ids {
    uint32_t **pieces;
    size_t capacity;
    uint32_t *filled; /* pieces that there are */
    size_t filled_count, filled_capacity;
};

/* 0: not set, or set to 0. */
uint32_t import_ids_get(const struct import_ids *ids, uint32_t id);
/* False: no memory, or id > IMPORT_IDS_MAX. */
bool import_ids_set(struct import_ids *ids, uint32_t id, uint32_t number);
void import_ids_clear(struct import_ids *ids);
void import_ids_free(struct import_ids *ids);

/* ---- strings ------------------------------------------------------------------------------ */

/* The profile's copy of text; over-long names are cut. NULL for NULL, and if *good is false; *good becomes
   false: no memory. */
const char *import_keep(struct profile *profile, const char *text, bool *good);

/* ---- log ------------------------------------------------------------------------------------ */

struct import_frame {
    uint32_t process, thread, sequence, offset;
    uint32_t payload_bytes;
    uint64_t position; /* of the payload in the file */
};

struct import_log {
    int file;
    bool own;      /* opened here */
    bool beheaded; /* nothing is left of its header: config is the recording's */
    int failure;   /* errno of a read that failed; 0: none */
    uint64_t size;
    struct import_window {
        uint64_t offset;
        size_t bytes;
        unsigned char *data;
    } window;
    struct wire_config config;
    struct import_frame *frames; /* by process, thread, sequence, offset */
    size_t frames_count, frames_capacity;
    uint64_t damaged; /* stretches without a valid frame, frames seen twice */
    uint64_t missing; /* chunks that are not in the log */
    uint64_t torn;    /* frames whose records do not add up, last visit */
    _Alignas(8) unsigned char payload[WIRE_CHUNK_BYTES]; /* of the current frame */
};

/* run may be NULL; else run->log is read, if it is there, and `path` names it in sentences only. */
enum base_status import_log_open(const char *path, const struct import_run *run,
                                 struct import_log *log, struct import_teller *teller, char *error,
                                 size_t error_bytes);
void import_log_close(struct import_log *log);

/* Called for every record whose type is in `types` (bits) and that passes wire_record_check.
   False stops. */
typedef bool import_visit(void *context, const struct import_frame *frame,
                          const struct wire_record *record);

/* Visits all records in order. False if the visitor stopped it. *corrupt is added to. */
bool import_log_visit(struct import_log *log, unsigned types, import_visit *visit, void *context,
                      struct import_teller *teller, uint64_t *corrupt);

/* ---- what is gathered ------------------------------------------------------------------------ */

/* A context of all threads and processes; node 0 is the root. Parents precede children. */
struct import_node {
    uint32_t parent, module,
        flags;        /* module: id in profile->modules; flags: enum wire_node_flags */
    uint32_t context; /* set by import_name: id of its innermost stored context */
    uint32_t process; /* image whose memory that is, if it is no module's; else 0 */
    uint64_t vaddr;
};

/* Where the node's code is: a return address is behind the call. */
static inline uint64_t import_look_up(const struct import_node *node)
{
    bool here = node->flags & (WIRE_NODE_LEAF | WIRE_NODE_EXACT_CALLER);
    return here || node->vaddr == 0 ? node->vaddr : node->vaddr - 1;
}

/* Module `module` of image `process` is profile->modules[id]. */
struct import_mapping {
    uint32_t process, module, id;
    uint64_t start, end, bias; /* address = ELF virtual address + bias */
};

struct import_module { /* beside profile->modules */
    uint64_t device, inode;
};

struct import_thread { /* beside profile->threads */
    bool has_counters;
    struct wire_counters counters;
    uint64_t seen_samples[PROFILE_KINDS], seen_armed[PROFILE_KINDS], seen_traps[PROFILE_KINDS];
    uint32_t number; /* in its process, in the order of creation; sharing */
    uint64_t ticks;
    uint64_t foreseen[PROFILE_KINDS]; /* samples decided by looking ahead, without any trap */
};

/* A node of the log that something outside of it names: a stack of a span. */
struct import_wanted {
    uint32_t process, thread, id; /* as in the log */
    uint32_t node;                /* IMPORT_UNKNOWN_NODE if there is no record of it */
};

/* A node that no finding names and that is to be named all the same. */
struct import_place {
    uint32_t node;
    uint32_t context; /* set by import_name */
};

/* All ticks at one address. */
struct import_tick {
    uint32_t module, process, flags; /* process: of memory that is no module's; else 0 */
    uint64_t vaddr;
    uint64_t ticks, ns;
};

/* What the traps of a pair claim; see import_live_share. */
struct import_share {
    double attributed; /* Σ samples the agent attributed */
    double claimed;    /* Σ 1 / chance */
};

/* Of the waste of a pair: what is so by the floating-point tolerance only. */
struct import_near {
    double bytes, squares;
};

/* Waste of a sample of locations (exact_sample.c). */
struct import_groups;
struct import_waste_sample {
    double share;                 /* 0: no sample */
    struct import_groups *groups; /* by pair; pairs beyond them are of group 0 */
    size_t groups_capacity;
};

/* ---- live reuse: what reuse_samples.c keeps of the records ---- */

struct import_reuse_samples {
    struct estimate_use *uses;
    size_t uses_count, uses_capacity;
    struct util_index uses_by_key;
    struct estimate_watch *watches;
    size_t watches_count, watches_capacity;
    struct estimate_delivery *deliveries;
    size_t deliveries_count, deliveries_capacity;
};

/* Beside profile->reuses. */
struct import_distances {
    double weights[PROFILE_DISTANCES][DISTANCE_BINS];
};

/* Where a variable's line is in the file. */
struct import_datum {
    uint32_t module; /* id in profile->modules; 0: in none */
    uint64_t
        vaddr; /* of the line's first byte; thread-local: offset in the segment; stack: from the canonical frame address */
    uint32_t object; /* enum profile_object: THREAD, STACK; else it is global */
    uint64_t code;   /* stack: where the frame's function is */
};

struct binary;
struct binary_object;
/* The variable at `at`, which is as vaddr is. code: ELF address of an access in the file, 0: none is known. */
enum base_status import_datum_variable(struct binary *binary, const struct import_datum *datum,
                                       uint64_t at, uint64_t code, struct binary_object *object);
/* "hits"; "local in main" of a frame's. object->name is known. Cut to `bytes` bytes. */
void import_variable_name(const struct binary_object *object, char *name, size_t bytes);

struct import_gather {
    struct profile *profile; /* modules, processes, threads, pairs, sampled; pairs and sampled name
                                nodes until import_name replaces them by contexts */
    struct import_log *log;
    bool exact;            /* the log is the exact engine's */
    uint32_t *parent_pids; /* beside profile->processes */
    size_t parent_pids_capacity;
    uint64_t first_start_ns; /* of the image whose command the profile has */
    struct util_index processes_by_id, mappings_by_key, modules_by_path, threads_by_id;
    struct util_index nodes_by_key, pairs_by_key, sampled_by_key;
    struct util_index exacts_by_process, reuses_by_process, reuse_pairs_by_key;
    struct import_mapping *mappings;
    size_t mappings_count, mappings_capacity;
    struct import_module *modules; /* items as many as profile->modules_capacity allows */
    size_t modules_capacity;
    struct import_thread *threads;
    size_t threads_capacity;
    struct import_node *nodes;
    size_t nodes_count, nodes_capacity;
    struct import_share *shares; /* beside profile->pairs */
    size_t shares_capacity;
    struct import_near *nears; /* the same */
    size_t nears_capacity;
    struct import_waste_sample waste_sample;
    struct import_distances *distances;
    size_t distances_capacity;
    struct import_reuse_samples reuse_samples;
    struct import_exact_paths *paths; /* NULL: none */
    struct import_executed *executed; /* NULL: none */
    struct import_located *located;   /* NULL: nothing was located */
    struct import_sharing *sharing;   /* live; NULL: none */
    bool
        spans; /* nothing was sampled: what was timed is in a region beside the log (import_spans), or clones were executed */
    struct import_wanted *wanted; /* by process, thread, id; set before import_gather */
    size_t wanted_count;
    struct import_tick *ticks;
    size_t ticks_count, ticks_capacity;
    struct util_index ticks_by_key, times_by_key;
    struct import_place *places; /* set before import_name */
    size_t places_count;
    uint64_t merged; /* pairs that the exact engine, or the import, put under coarser nodes */
    uint64_t exact_degraded[32]; /* images by bit of enum wire_exact_degraded */
    struct import_ids node_map;  /* the current thread's node ids to nodes, + 1; 0: unknown */
    const struct import_frame *current_frame;
    struct import_ids shared_map; /* the current process's lines to profile->shared_lines, + 1 */
    uint32_t shared_process;
    struct import_datum *shared_data; /* beside profile->shared_lines */
    size_t shared_data_capacity;
    uint32_t current_thread; /* index of its thread */
    uint64_t corrupt;
    bool out_of_memory;
};

bool import_gather(struct import_gather *gather, struct import_teller *teller);
void import_gather_free(struct import_gather *gather);

/* False, for the callers' use: memory ran out. */
bool import_no_memory(struct import_gather *gather);

/* ---- what every recording has (tables.c); false: no memory ---- */

bool import_enter_process(struct import_gather *gather, const struct wire_process *record);
bool import_enter_module(struct import_gather *gather, const struct wire_module *record);
/* *item: index of the frame's thread in profile->threads. */
bool import_enter_thread(struct import_gather *gather, const struct import_frame *frame,
                         uint32_t *item);
bool import_enter_name(struct import_gather *gather, uint32_t item,
                       const struct wire_thread *record);
bool import_enter_counters(struct import_gather *gather, uint32_t item,
                           const struct wire_counters_record *record);
bool import_enter_node(struct import_gather *gather, const struct import_frame *frame,
                       const struct wire_node *record);

/* ---- live samples and traps (samples.c); false: no memory ---- */

bool import_live_sample(struct import_gather *gather, const struct import_frame *frame,
                        const struct wire_sample *record);
bool import_live_trap(struct import_gather *gather, const struct wire_trap *record);
/* After the last record. */
bool import_live_share(struct import_gather *gather);

/* ---- what locations lie in (located.c); false: no memory ---- */

/* Before nodes are read: lists those that are wanted. */
bool import_located_begin(struct import_gather *gather, struct import_teller *teller);
/* The next record may locate this finding; nodes. */
void import_located_next(struct import_gather *gather, uint32_t kind, uint32_t first,
                         uint32_t second, double weight);
bool import_located_visit(struct import_gather *gather, const struct import_frame *frame,
                          const struct wire_located *record);
/* That one by itself, from the exact engine. */
bool import_located_observed(struct import_gather *gather, const struct import_frame *frame,
                             const struct wire_observed *record);
/* After the last record. */
void import_located_settle(struct import_gather *gather);
/* The nodes that are named, one after the other; NULL: there are no more. */
uint32_t *import_located_node(const struct import_gather *gather, size_t index);
/* Variables of the module. binary may be NULL. */
bool import_located_in_module(const struct import_gather *gather, uint32_t module);
bool import_located_of_module(struct import_gather *gather, uint32_t module, struct binary *binary);
/* After import_name: the rows. */
/* Between naming and contexts: types of blocks of the heap. */
bool import_located_blocks(struct import_gather *gather, const struct binary_options *symbols);
bool import_located_finish(struct import_gather *gather);
void import_located_free(struct import_located *located); /* NULL does nothing */

/* ---- where CPU time went (ticks.c): by module and kind of code, and by calling context ---- */

/* False: no memory. */
bool import_live_tick(struct import_gather *gather, const struct import_frame *frame,
                      const struct wire_tick *record);
/* After the last record: by module. */
void import_ticks_sort(struct import_gather *gather);
/*
 * Adds the rows of a module's ticks, which begin at *next, if there are any; *next: those behind
 * them. binary: NULL: it could not be read. False: no memory.
 */
struct import_jit_names;
bool import_ticks_of_module(struct import_gather *gather, size_t *next, uint32_t module,
                            struct binary *binary, const struct import_jit_names *jits);
/* Of code in a file: by lines, by functions, or by addresses alone. binary: as above. */
enum profile_cpu_kind import_kind_of_code(struct binary *binary, uint64_t vaddr);

/* ---- found in the tables ---- */

/* Node of the current thread's id; IMPORT_UNKNOWN_NODE if its record was lost. */
#define IMPORT_UNKNOWN_NODE UINT32_MAX
uint32_t import_node_of(const struct import_gather *gather, uint32_t id);

/* A node for a place that no record of the log has, entered if new. False: no memory. */
bool import_add_node(struct import_gather *gather, const struct import_node *node, uint32_t *item);

/* Of the wanted nodes; NULL: it is none of them. */
struct import_wanted *import_wanted_find(const struct import_gather *gather, uint32_t process,
                                         uint32_t thread, uint32_t id);

/* The mapping that holds the address in that image, or in the parent that it was forked from; NULL. */
const struct import_mapping *import_mapping_at(const struct import_gather *gather, uint32_t process,
                                               uint64_t address);

/* Item of profile->pairs, entered if new; key's kind, first and second count. False: no memory. */
bool import_pair(struct import_gather *gather, const struct profile_pair *key, uint32_t *item);

/* Item of profile->reuse_pairs, entered if new; use and reuse are nodes. False: no memory. */
bool import_reuse_pair(struct import_gather *gather, uint32_t use, uint32_t reuse, uint32_t *item);

/* A row of `bins` for each weight, times scale, that is not 0. weights: by distance_bin; 0 in the last bin, which has no
   end. False: no memory. */
bool import_add_bins(struct profile *profile, uint32_t process, uint32_t which,
                     const double weights[DISTANCE_BINS], double scale);

/* The image of that id, and the one that it was forked from; NULL: no such record, not forked. */
const struct profile_process *import_process(const struct import_gather *gather, uint32_t process);
const struct profile_process *import_forked_from(const struct import_gather *gather,
                                                 uint32_t process);

/* Has it a PROCESS record? */
bool import_knows_process(const struct import_gather *gather, uint32_t process);

/* Module `module` of the image, or of the parent that it was forked from, in the profile; 0: none. */
uint32_t import_module_of(const struct import_gather *gather, uint32_t process, uint32_t module);

/* Was that kind recorded? */
bool import_known_kind(const struct import_gather *gather, unsigned kind);

/* ---- live reuse --------------------------------------------------------------------------- */

/* Keeps what records of kind reuse say; node: where the sample was taken. False: no memory. */
bool import_reuse_keep_sample(struct import_gather *gather, uint32_t process, uint32_t node,
                              const struct wire_sample *record);
bool import_reuse_keep_watch(struct import_gather *gather, uint32_t process,
                             const struct wire_reuse *record);
void import_reuse_samples_free(struct import_reuse_samples *lives);

/*
 * After import_describe, which repairs the threads' counters: the rows of reuse, its histograms,
 * pairs and paces. run may be NULL: nothing is known.
 */
bool import_reuse_finish(struct import_gather *gather, const struct import_run *run);

/* ---- live sharing (sharing.c); false: no memory ---- */

/* As in struct wire_located. */
struct import_object {
    uint32_t kind, module, process, whose, node;
    int64_t offset; /* of the line */
    uint64_t size;
};

struct import_sharing;
bool import_sharing_published(struct import_gather *gather, const struct import_frame *frame,
                              const struct wire_published *record);
/* Is the access published just before, in that frame, to be located by the next record? No longer after any other one. */
bool import_sharing_file(struct import_gather *gather, const struct wire_shared_file *record);
bool import_sharing_awaits(const struct import_gather *gather, const struct import_frame *frame);
void import_sharing_moves_on(struct import_gather *gather);
bool import_sharing_located(struct import_gather *gather, const struct wire_located *record);
bool import_sharing_meeting(struct import_gather *gather, const struct import_frame *frame,
                            const struct wire_meeting *record);
/* After the last record: the rows, which name nodes until import_name. */
bool import_sharing_gathered(struct import_gather *gather);
/* Between naming and contexts: what lies on lines of files' data. */
bool import_sharing_names(struct import_gather *gather, const struct binary_options *symbols);
void import_sharing_free(struct import_sharing *sharing); /* NULL does nothing */

/* ---- exact engine ------------------------------------------------------------------------- */

/* Adds a record of the exact engine up. False: no memory. */
bool import_exact_visit(struct import_gather *gather, const struct import_frame *frame,
                        const struct wire_record *record);

/* Lines that move between threads (exact_sharing.c). */
bool import_exact_sharing_visit(struct import_gather *gather, uint32_t process,
                                const struct wire_record *record);
/* The nodes that rows of sharing and of simulated caches name, one after the other; NULL: there are no more. */
uint32_t *import_row_node(const struct profile *profile, size_t index);
/* After import_name: equal rows become one, in the order of the profile's keys. */
bool import_exact_sharing_finish(struct import_gather *gather);

/* ---- types of data (fields.c) ------------------------------------------------------------------ */

/* After the last record, while findings name nodes. NULL: no memory. */
struct import_types *import_types_begin(struct import_gather *gather,
                                        const struct binary_options *symbols);
void import_types_end(struct import_types *types); /* NULL does nothing */
/* The file of a module of the profile, for binary/fields.h; NULL: it cannot be read. Valid up to the next call of this
   or of the following; what was asked of it likewise. */
struct binary *import_types_file(struct import_types *types, uint32_t module);
/* What a block of the heap probably holds that was allocated there: node: the allocating function's, or its caller's.
   *binary: the file that knows. False: not known, the outputs are then without meaning. */
bool import_types_allocated(struct import_types *types, uint32_t node, uint64_t bytes,
                            struct binary **binary, struct binary_object *object);

/* Between naming and contexts: the rows of `shared_fields`. False: no memory. */
bool import_shared_fields(struct import_gather *gather, const struct binary_options *symbols);

/* Puts the images in the order of time and finds the parents that the tool could not know. */
bool import_exact_images(struct import_gather *gather);

/*
 * Between two frames: where many processes have left more pairs than the profile is to have, the least are merged. begins:
 * the frame is another process's; then nodes that nothing names any more go. False: no memory.
 */
bool import_exact_bound(struct import_gather *gather, bool begins);

/* After the last record: rows in the order of the profile. */
bool import_exact_finish(struct import_gather *gather);
/* After import_name: rows of what_if_sites have frames, one row each. */
void import_exact_sites_finish(struct import_gather *gather);

/* Waste of a sample of locations (exact_sample.c). A record of the pair `item`; the pair `from` is added to the pair `to`, when
   they are numbered anew; totals of a process, and whether they make sense. False: no memory. */
bool import_sample_pair(struct import_gather *gather, uint32_t item,
                        const struct wire_pair *record);
bool import_sample_move(struct import_gather *gather, uint32_t from, uint32_t to);
bool import_sample_totals_ok(const struct wire_totals *totals);
void import_sample_totals(struct import_gather *gather, const struct wire_totals *totals);
/* After the last record: figures of the profile are brought to the scale of all locations, with variances. False: no memory. */
bool import_sample_finish(struct import_gather *gather);
void import_sample_free(struct import_gather *gather);

/* Paths and their contexts (exact_paths.c). After import_name: puts them into the profile. */
struct import_exact_paths;
bool import_exact_paths_visit(struct import_gather *gather, uint32_t process,
                              const struct wire_record *record);
bool import_exact_paths_finish(struct import_gather *gather, const struct binary_options *symbols,
                               struct import_teller *teller);
void import_exact_paths_free(struct import_exact_paths *paths); /* NULL does nothing */

/* What loops executed (exact_executed.c). False: no memory. */
struct import_executed;
bool import_exact_executed_visit(struct import_gather *gather, uint32_t process,
                                 const struct wire_record *record);
void import_exact_executed_free(struct import_executed *executed); /* NULL does nothing */

/* What the engine could not do. */
bool import_exact_tell(struct import_gather *gather);

/* ---- names ----------------------------------------------------------------------------------- */

/* Frames and contexts of the profile from the nodes; pairs and sampled then name contexts.
   Also the modules' build-ids and details, and what to say about missing detail. run may be NULL. */
bool import_name(struct import_gather *gather, const struct import_run *run,
                 const struct binary_options *symbols, struct import_teller *teller);

/* ---- code that was made at run time (jit.c) -------------------------------------------------- */

/* Names of the nodes of no module. Reads what the processes left; NULL: no memory. If there are
   any, the profile has one more module, "[jit]", for all of them. */
struct import_jit_names *import_jit_begin(struct import_gather *gather,
                                          const struct import_run *run);
/* NULL: it has none. *module: that module. */
const char *import_jit_name(const struct import_jit_names *names, uint32_t process,
                            uint64_t look_up, uint32_t *module);
/* What could not be read, and that names are missing if `wanted` is set. False: no memory. */
bool import_jit_tell(const struct import_jit_names *names, bool wanted);
void import_jit_end(struct import_jit_names *names); /* NULL does nothing */

/* ---- what the accesses of pairs are for (roles.c) ---- */

struct import_roles;
/* NULL: no memory. at outlives it. */
struct import_roles *import_roles_new(struct import_gather *gather, struct import_flow *at);
void import_roles_free(struct import_roles *roles); /* NULL does nothing */
/* What is known of the pairs whose accesses are in a module, up to an address; both ascend from call to call, and `at` has begun with the
   module. False: no memory. */
bool import_roles_until(struct import_roles *roles, uint32_t module, uint64_t address);
/* After all modules, pairs still name nodes: moves what is no waste after all, sets flags of frames. frame_of[node]: the
   innermost frame, 0: none. */
void import_roles_settle(struct import_roles *roles, const uint32_t *frame_of);
/* After pairs have got their contexts: the profile's traits. False: no memory. */
bool import_roles_traits(struct import_roles *roles);

/* ---- run ------------------------------------------------------------------------------------- */

bool import_describe(struct import_gather *gather, const struct import_run *run);

/* Of it, what needs no log: how the run went, the machine. */
bool import_describe_run(struct profile *profile, const struct import_run *run);

/* Adds the caches of this machine to a recording of reuse (caches.c). False: no memory. */
bool import_caches(struct profile *profile);

/* Adds a sentence to profile->degraded unless it is there. */
__attribute__((format(printf, 2, 3))) bool import_degraded(struct profile *profile,
                                                           const char *format, ...);

#endif
