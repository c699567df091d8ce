// SPDX-License-Identifier: MIT
/*
 * Fills the profile's lists of paths and calling contexts, for every engine that counts paths. An engine says which
 * functions there are (import_paths_function), which path of which function ran how often at what cost
 * (import_paths_count), and in which calling context if it knows (import_paths_vertex); equal ones add up. At the
 * end it is asked, function by function, which blocks a path's number stands for; then functions, blocks
 * and call sites are named and all is put in the profile's order.
 *
 * Modules are the engine's to add to the profile beforehand, by path.
 */
#ifndef HEADROOM_IMPORT_PATHS_H
#define HEADROOM_IMPORT_PATHS_H

#include "import/internal.h"

struct import_paths;

struct import_paths_block {
    uint64_t address; /* of its first instruction: ELF virtual address in the module */
    uint32_t instructions, loads, stores;
};

struct import_paths_site {
    uint64_t address; /* the return address */
    uint32_t block;
};

/* A function, instrumented or not. The arrays must live until import_paths_finish. */
struct import_paths_function {
    uint32_t module;     /* id in profile->modules */
    uint64_t address;    /* of its entry, in the module */
    uint32_t table_kind; /* enum profile_path_table */
    uint32_t reason;     /* enum profile_path_reason */
    const char *why;     /* static; NULL if whole */
    uint32_t inline_assembly;
    uint64_t potential; /* 0: not known */
    double potential_log2;
    const struct import_paths_block *blocks;
    const struct import_paths_site *sites;
    uint32_t blocks_count, sites_count;
};

/* What a number of executions cost altogether. Negative: not measured. */
struct import_paths_cost {
    double cycles, misses, events;
    uint64_t measured; /* executions that `cycles` are of: the others are taken to be like them */
};
#define IMPORT_UNMEASURED ((struct import_paths_cost){-1, -1, -1, 0})

/* NULL: no memory. */
struct import_paths *import_paths_new(struct profile *profile);
void import_paths_free(struct import_paths *paths); /* NULL does nothing */

/* All below: false if memory ran out. */

/* *id: of the new function, in profile->path_functions. */
bool import_paths_function(struct import_paths *paths, const struct import_paths_function *function,
                           uint32_t *id);

/*
 * The context in which `parent` (a vertex; 0: root) calls `function` from its call site `site` (UINT32_MAX: sites
 * are not distinguished). Parents come first, recursion has been folded.
 */
bool import_paths_vertex(struct import_paths *paths, uint32_t parent, uint32_t function,
                         uint32_t site, uint32_t *vertex);

/* Activations of a vertex; bytes: of its record. cost: its own, where no paths have it. */
void import_paths_activate(struct import_paths *paths, uint32_t vertex, uint64_t count,
                           uint64_t bytes, const struct import_paths_cost *cost);

/* A path of `function` ran `count` times. vertex: in that context; 0: in any. */
bool import_paths_count(struct import_paths *paths, uint32_t vertex, uint32_t function,
                        uint64_t number, uint64_t count, const struct import_paths_cost *cost);

/* Blocks of a path in order, at most `room` (the function's blocks_count); flags: enum profile_path_flags.
   Asked function by function. 0: there is no such path, what was counted for it is left out. */
typedef uint32_t import_paths_blocks(void *context, uint32_t function, uint64_t number,
                                     uint32_t *blocks, uint32_t room, uint32_t *flags);

/* *unknown: executions of paths that do not exist. */
bool import_paths_finish(struct import_paths *paths, import_paths_blocks *blocks, void *context,
                         const struct binary_options *symbols, struct import_teller *teller,
                         uint64_t *unknown);

#endif
