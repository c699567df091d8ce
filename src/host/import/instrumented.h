// SPDX-License-Identifier: MIT
/*
 * Between the files that import what instrumented programs left behind (wire/instrumented.h): the recording region
 * (instrumented_region.c), the maps of modules (instrumented_map.c), calling contexts (instrumented_records.c), shares of CPU time (instrumented_clock.c), counters and the whole
 * (instrumented.c). The program had all of the region in its memory: everything in it may be anything,
 * and may still change while it is read. So it is read by system calls into copies, each once.
 */
#ifndef HEADROOM_IMPORT_INSTRUMENTED_H
#define HEADROOM_IMPORT_INSTRUMENTED_H

#include "import/paths.h"
#include "numbering/numbering.h"
#include "wire/instrumented.h"

/* ---- the region --------------------------------------------------------------------------- */

struct instrumented_found { /* a piece */
    uint64_t offset, bytes, address, map, of;
    uint32_t kind, pid, tid, process;
};

struct instrumented_window {
    uint64_t offset;
    size_t bytes;
    unsigned char *data;
};

struct instrumented_source {
    int file;
    uint64_t bytes; /* of the file; mostly holes */
    struct instrumented_window window;
    struct instrumented_found *pieces; /* by process, address */
    size_t pieces_count, pieces_capacity;
    uint64_t lost;
    int failure; /* errno of a part that could not be read; 0: none */
    bool damaged_header;
};

enum base_status instrumented_source_open(struct instrumented_source *source, int file, char *error,
                                          size_t error_bytes);
/* Without a look at what is in it. BASE_IO: no file of that many bytes; BASE_NO_MEMORY. */
enum base_status instrumented_source_attach(struct instrumented_source *source, int file,
                                            uint64_t least_bytes);
void instrumented_source_close(struct instrumented_source *source);

/* False: not all of it is in the file, or it cannot be read, as `failure` says. */
bool instrumented_source_read(struct instrumented_source *source, uint64_t offset, void *out,
                              size_t bytes);

/* Notes in the profile that something could not be read, if so. False: no memory. */
bool instrumented_source_tell(const struct instrumented_source *source, struct profile *profile);

/* Offset of the first byte from `offset` on that is not in a hole; `end` if there is none before. */
uint64_t instrumented_source_data(const struct instrumented_source *source, uint64_t offset,
                                  uint64_t end);

/* The piece of the process that holds the address; NULL: none. */
const struct instrumented_found *instrumented_source_piece(const struct instrumented_source *source,
                                                           uint32_t process, uint64_t address);

/* ---- maps of modules ------------------------------------------------------------------------ */

struct instrumented_entry {
    uint64_t offset; /* in the map */
    uint64_t table;  /* its cells: offset in the counters; UINT64_MAX: none */
    uint64_t words;  /* its edges: index into the file's words */
    uint32_t cells, modes, table_kind, blocks, edges, sites;
    uint32_t id; /* in profile->path_functions */
    uint32_t *block_flags;
};

struct instrumented_file {
    const char *path;
    uint32_t module; /* id in the profile */
    bool usable;
    uint64_t map, map_bytes, counters, counters_bytes; /* ELF virtual addresses */
    uint32_t *words;
    struct instrumented_entry *entries; /* by offset */
    size_t entries_count, entries_capacity;
    uint32_t *by_table; /* entries with cells, by table */
    size_t by_table_count;
    struct import_paths_block *blocks; /* of all entries */
    struct import_paths_site *sites;
    uint32_t *block_flags;
    uint64_t damaged; /* entries that make no sense */
};

/* Opens the module and reads its map into `file`, whose functions enter paths. False: no memory. */
bool instrumented_file_load(struct instrumented_file *file, const struct binary_options *symbols,
                            struct import_paths *paths);
void instrumented_file_free(struct instrumented_file *file);

const struct instrumented_entry *instrumented_entry_at(const struct instrumented_file *file,
                                                       uint64_t offset);

/* The first entry whose cells end behind `offset` of the counters; by_table_count: none. */
size_t instrumented_entry_behind(const struct instrumented_file *file, uint64_t offset);

/* ---- the import ----------------------------------------------------------------------------- */

struct instrumented_mapping { /* a module in a process */
    uint32_t process, parent, pid, file;
    uint64_t map, map_bytes, counters, counters_bytes, bias, start_ns;
};

struct instrumented_import {
    struct instrumented_source source;
    struct profile *profile;
    struct import_paths *paths;
    const struct binary_options *symbols;
    struct import_teller *teller;
    const char *event; /* instead of cycles; NULL: none */
    struct instrumented_file *files;
    size_t files_count, files_capacity;
    struct instrumented_mapping *mappings;
    size_t mappings_count, mappings_capacity;
    size_t latest_mapping; /* found last: the next record is of the same module, mostly */
    struct {               /* of a process */
        uint32_t process;
        double cycles_per_read, cycles_per_ns;
    } * overheads;
    size_t overheads_count, overheads_capacity;
    size_t latest_overhead;
    struct instrumented_records *records;
    uint64_t damaged; /* things in the region that make no sense */
    /* of the function whose paths are decoded */
    struct numbering *numbered;
    uint32_t numbered_function;
    uint32_t *route;
    size_t route_capacity;
};

/* The mapping whose headroom_map holds the address; processes that were forked share their parents'. NULL. */
const struct instrumented_mapping *instrumented_mapping_of(struct instrumented_import *import,
                                                           uint32_t process, uint64_t address);

/* Counts cells at that offset of the region. vertex 0: not in contexts. False: no memory. */
bool instrumented_count_cells(struct instrumented_import *import, uint32_t process,
                              const struct instrumented_entry *entry, uint64_t offset,
                              uint32_t vertex);

/* Counts a hash table of `bytes` at most. */
bool instrumented_count_hash(struct instrumented_import *import, uint32_t process,
                             const struct instrumented_entry *entry, uint64_t offset,
                             uint64_t bytes, uint32_t vertex);

/* Of the executions that were measured, without what measuring adds. In the unit of the cells. */
double instrumented_cycles(struct instrumented_import *import, uint32_t process, uint64_t cycles,
                           uint64_t measured);

/* Where CPU time went (instrumented_clock.c): what of it in functions that count. After the paths
   are finished. False: no memory. */
bool instrumented_clock(struct instrumented_import *import, const struct import_run *run);

/* All calling contexts and, with them, their paths. False: no memory. */
bool instrumented_records_import(struct instrumented_import *import);
/* Entry and vertex of the record whose memory holds the address. False: none. */
bool instrumented_records_find(const struct instrumented_import *import, uint32_t process,
                               uint64_t address, const struct instrumented_entry **entry,
                               uint32_t *vertex);
void instrumented_records_free(struct instrumented_records *records);

#endif
