// SPDX-License-Identifier: MIT
/*
 * What instrumented programs counted, from the recording region to a profile: modules and their
 * maps, the counters of all threads and processes, tables of hashed paths, calling contexts; then
 * the graphs are numbered again to turn path numbers into blocks.
 */
#include "import/instrumented.h"
#include "import/internal.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { FORKS_MAX = 64, CHUNK_CELLS = 3 * 170 };

/* A counter above that was not counted: 2^48 executions take a day at the least. */
static const uint64_t most_plausible = UINT64_C(1) << 48;

/* ---- modules ------------------------------------------------------------------------------- */

static bool is_in(const struct instrumented_mapping *mapping, uint32_t process, uint64_t address)
{
    return mapping->process == process && address - mapping->map < mapping->map_bytes;
}

static const struct instrumented_mapping *mapping_here(struct instrumented_import *import,
                                                       uint32_t process, uint64_t address)
{
    if (import->latest_mapping < import->mappings_count &&
        is_in(&import->mappings[import->latest_mapping], process, address))
        return &import->mappings[import->latest_mapping];
    for (size_t i = 0; i < import->mappings_count; i++) {
        if (!is_in(&import->mappings[i], process, address))
            continue;
        import->latest_mapping = i;
        return &import->mappings[i];
    }
    return NULL;
}

static uint32_t parent_process(const struct instrumented_import *import, uint32_t process)
{
    for (size_t i = 0; i < import->mappings_count; i++)
        if (import->mappings[i].process == process)
            return import->mappings[i].parent;
    return UINT32_MAX;
}

const struct instrumented_mapping *instrumented_mapping_of(struct instrumented_import *import,
                                                           uint32_t process, uint64_t address)
{
    const struct instrumented_mapping *found = NULL;
    for (int i = 0; i < FORKS_MAX && !found && process != UINT32_MAX; i++) {
        found = mapping_here(import, process, address);
        process = parent_process(import, process);
    }
    return found;
}

/* Index of the file, loaded if it is new. */
static bool file_of(struct instrumented_import *import, const char *path, uint32_t *index)
{
    for (*index = 0; *index < import->files_count; (*index)++)
        if (strcmp(import->files[*index].path, path) == 0)
            return true;
    if (!UTIL_GROW_ZEROED(import->files, import->files_capacity, import->files_count))
        return false;
    struct instrumented_file *file = &import->files[import->files_count++];
    struct profile_module *module = profile_add_modules(import->profile);
    memset(file, 0, sizeof *file);
    file->path = profile_keep(import->profile, path);
    file->module = (uint32_t)import->profile->modules_count - 1;
    if (!module || !file->path)
        return false;
    module->path = file->path;
    module->detail = PROFILE_DETAIL_NONE;
    return instrumented_file_load(file, import->symbols, import->paths);
}

/* Is it the file that the program had loaded? */
static bool same_layout(const struct instrumented_file *file,
                        const struct instrumented_module *module)
{
    return file->usable && module->map - module->bias == file->map &&
           module->map_bytes == file->map_bytes &&
           (module->counters_bytes == 0 || (module->counters - module->bias == file->counters &&
                                            module->counters_bytes == file->counters_bytes));
}

static bool add_module(struct instrumented_import *import, const struct instrumented_found *piece)
{
    struct instrumented_module module;
    uint32_t file;
    if (!instrumented_source_read(&import->source, piece->offset, &module, sizeof module) ||
        memchr(module.path, 0, sizeof module.path) == NULL || module.path[0] == 0) {
        import->damaged++;
        return true;
    }
    if (!file_of(import, module.path, &file) ||
        !UTIL_GROW_ZEROED(import->mappings, import->mappings_capacity, import->mappings_count))
        return false;
    if (!same_layout(&import->files[file], &module))
        return import_degraded(
            import->profile,
            "%.200s could not be read as it was when it ran: its counts are left out", module.path);
    import->mappings[import->mappings_count++] =
        (struct instrumented_mapping){.process = piece->process,
                               .parent = module.parent_process < piece->process
                                             ? (uint32_t)module.parent_process
                                             : UINT32_MAX,
                               .pid = piece->pid,
                               .file = file,
                               .map = module.map,
                               .map_bytes = module.map_bytes,
                               .counters = module.counters,
                               .counters_bytes = module.counters_bytes,
                               .bias = module.bias,
                               .start_ns = module.start_ns & INT64_MAX};
    return true;
}

static bool add_overhead(struct instrumented_import *import, const struct instrumented_found *piece)
{
    struct instrumented_overhead overhead;
    if (!instrumented_source_read(&import->source, piece->offset, &overhead, sizeof overhead) ||
        !(overhead.cycles_per_read >= 0 && overhead.cycles_per_read < 1e9) ||
        !(overhead.cycles_per_ns >= 0 && overhead.cycles_per_ns < 1e3)) {
        import->damaged++;
        return true;
    }
    if (!UTIL_GROW_ZEROED(import->overheads, import->overheads_capacity, import->overheads_count))
        return false;
    import->overheads[import->overheads_count].process = piece->process;
    import->overheads[import->overheads_count].cycles_per_read = overhead.cycles_per_read;
    import->overheads[import->overheads_count++].cycles_per_ns = overhead.cycles_per_ns;
    return true;
}

static bool add_modules(struct instrumented_import *import)
{
    bool good = true;
    for (size_t i = 0; i < import->source.pieces_count && good; i++) {
        const struct instrumented_found *piece = &import->source.pieces[i];
        if (piece->kind == INSTRUMENTED_PIECE_MODULE)
            good = add_module(import, piece);
        else if (piece->kind == INSTRUMENTED_PIECE_OVERHEAD)
            good = add_overhead(import, piece);
    }
    return good;
}

/* ---- counters -------------------------------------------------------------------------------- */

/* Forked children have the processor of their parents. */
static double read_cost(struct instrumented_import *import, uint32_t process)
{
    if (import->overheads_count == 0)
        return 0;
    if (import->overheads[import->latest_overhead].process == process)
        return import->overheads[import->latest_overhead].cycles_per_read;
    for (size_t i = 0; i < import->overheads_count; i++) {
        if (import->overheads[i].process != process)
            continue;
        import->latest_overhead = i;
        return import->overheads[i].cycles_per_read;
    }
    return import->overheads[0].cycles_per_read;
}

/* What the runtime takes off for calls may have been more than there was. */
double instrumented_cycles(struct instrumented_import *import, uint32_t process, uint64_t cycles,
                           uint64_t measured)
{
    return fmax(0, (double)(int64_t)cycles - (double)measured * read_cost(import, process));
}

/* Programs of a headroom that knew no events have time in these cells, whatever was asked for. */
static void take_measure(struct instrumented_import *import, uint32_t process,
                         const struct instrumented_entry *entry, uint64_t cycles, uint64_t measured,
                         struct import_paths_cost *cost)
{
    if (!measured || (import->event && !(entry->modes & INSTRUMENTED_PMU)))
        return;
    double own = instrumented_cycles(import, process, cycles, measured);
    cost->measured = measured;
    if (import->event)
        cost->events = ldexp(own, -INSTRUMENTED_EVENT_SHIFT);
    else
        cost->cycles = own;
}

static bool count_one(struct instrumented_import *import, uint32_t process,
                      const struct instrumented_entry *entry, uint32_t vertex, uint64_t number,
                      uint64_t count, uint64_t cycles, uint64_t measured)
{
    struct import_paths_cost cost = IMPORT_UNMEASURED;
    if (count > most_plausible || number > INT64_MAX) {
        import->damaged++;
        return true;
    }
    if (entry->modes & INSTRUMENTED_CYCLES) {
        bool plausible = measured <= count && cycles + most_plausible * 64 <= most_plausible * 128;
        import->damaged += !plausible;
        if (plausible)
            take_measure(import, process, entry, cycles, measured, &cost);
    }
    return import_paths_count(import->paths, vertex, entry->id, number, count, &cost);
}

bool instrumented_count_hash(struct instrumented_import *import, uint32_t process,
                             const struct instrumented_entry *entry, uint64_t offset,
                             uint64_t bytes, uint32_t vertex)
{
    struct instrumented_hash head;
    struct instrumented_hash_cell cell;
    if (bytes < sizeof head ||
        !instrumented_source_read(&import->source, offset, &head, sizeof head))
        return true;
    uint64_t room = (bytes - sizeof head) / sizeof cell;
    uint64_t cells = head.capacity_mask ? head.capacity_mask : INSTRUMENTED_HASH_CELLS - 1;
    cells = cells < room ? cells + 1 : room;
    for (uint64_t i = 0; i < cells; i++) {
        uint64_t at = offset + sizeof head + i * sizeof cell;
        uint64_t data = instrumented_source_data(&import->source, at, offset + bytes);
        if (data > at + sizeof cell) { /* in a hole */
            i += (data - at) / sizeof cell - 1;
            continue;
        }
        if (!instrumented_source_read(&import->source, at, &cell, sizeof cell))
            return true;
        if (cell.key && !count_one(import, process, entry, vertex, cell.key - 1, cell.count,
                                   cell.cycles, cell.measured))
            return false;
    }
    return true;
}

static bool count_array(struct instrumented_import *import, uint32_t process,
                        const struct instrumented_entry *entry, uint64_t offset, uint32_t vertex)
{
    uint64_t cells[CHUNK_CELLS], end = offset + 8 * (uint64_t)entry->cells;
    uint32_t step = entry->modes & INSTRUMENTED_CYCLES ? 3 : 1;
    for (uint32_t at = 0; at + step <= entry->cells;) {
        uint64_t data = instrumented_source_data(&import->source, offset + 8 * (uint64_t)at, end);
        if (data >= end)
            break;
        at = (uint32_t)((data - offset) / 8) / step * step;
        uint32_t count = entry->cells - at < CHUNK_CELLS ? entry->cells - at : CHUNK_CELLS;
        if (!instrumented_source_read(&import->source, offset + 8 * (uint64_t)at, cells,
                                      8UL * count))
            break;
        for (uint32_t i = 0; i + step <= count; i += step)
            if (cells[i] && !count_one(import, process, entry, vertex, (at + i) / step, cells[i],
                                       step == 3 ? cells[i + 1] : 0, step == 3 ? cells[i + 2] : 0))
                return false;
        at += count;
    }
    return true;
}

bool instrumented_count_cells(struct instrumented_import *import, uint32_t process,
                              const struct instrumented_entry *entry, uint64_t offset,
                              uint32_t vertex)
{
    return entry->table_kind == INSTRUMENTED_TABLE_HASH
               ? instrumented_count_hash(import, process, entry, offset, 8 * (uint64_t)entry->cells,
                                         vertex)
               : count_array(import, process, entry, offset, vertex);
}

/* From one stretch of the piece that has data to the next: what never ran is a hole. */
static bool count_piece(struct instrumented_import *import, const struct instrumented_found *piece)
{
    const struct instrumented_mapping *mapping =
        instrumented_mapping_of(import, piece->process, piece->map);
    uint64_t begin = piece->offset + sizeof(struct instrumented_piece),
             end = piece->offset + piece->bytes;
    if (!mapping) {
        import->damaged++;
        return true;
    }
    const struct instrumented_file *file = &import->files[mapping->file];
    for (uint64_t at = begin; (at = instrumented_source_data(&import->source, at, end)) < end;) {
        size_t index = instrumented_entry_behind(file, at - begin);
        if (index == file->by_table_count)
            break;
        const struct instrumented_entry *entry = &file->entries[file->by_table[index]];
        uint64_t table_end = begin + entry->table + 8 * (uint64_t)entry->cells;
        if (table_end > end)
            break;
        if (entry->table > at - begin) {
            at = begin + entry->table;
            continue;
        }
        if (!instrumented_count_cells(import, piece->process, entry, begin + entry->table, 0))
            return false;
        at = table_end;
    }
    return true;
}

/* ---- tables that took over ------------------------------------------------------------------- */

/* Whose paths a table counts: what it continues lies in counters, in a record, or in another such
 * table. */
static bool owner_of(struct instrumented_import *import, const struct instrumented_found *piece,
                     const struct instrumented_entry **entry, uint32_t *vertex)
{
    enum { TABLES_MAX = 64 };
    for (int i = 0; i < TABLES_MAX; i++) {
        const struct instrumented_found *owner =
            instrumented_source_piece(&import->source, piece->process, piece->of);
        if (!owner)
            return false;
        if (owner->kind == INSTRUMENTED_PIECE_RECORDS)
            return instrumented_records_find(import, owner->process, piece->of, entry, vertex);
        if (owner->kind == INSTRUMENTED_PIECE_COUNTERS) {
            const struct instrumented_mapping *mapping =
                instrumented_mapping_of(import, owner->process, owner->map);
            uint64_t offset = piece->of - owner->address - sizeof(struct instrumented_piece);
            const struct instrumented_file *file = mapping ? &import->files[mapping->file] : NULL;
            size_t index = file ? instrumented_entry_behind(file, offset) : 0;
            if (!file || index == file->by_table_count)
                return false;
            *entry = &file->entries[file->by_table[index]];
            *vertex = 0;
            return (*entry)->table <= offset;
        }
        if (owner->kind != INSTRUMENTED_PIECE_HASH)
            return false;
        piece = owner;
    }
    return false;
}

static bool count_taken_over(struct instrumented_import *import,
                             const struct instrumented_found *piece)
{
    const struct instrumented_entry *entry;
    uint32_t vertex;
    if (owner_of(import, piece, &entry, &vertex) && entry->table_kind == INSTRUMENTED_TABLE_HASH)
        return instrumented_count_hash(import, piece->process, entry,
                                       piece->offset + sizeof(struct instrumented_piece),
                                       piece->bytes - sizeof(struct instrumented_piece), vertex);
    import->damaged++;
    return true;
}

static bool count_all(struct instrumented_import *import)
{
    bool good = instrumented_records_import(import);
    for (size_t i = 0; i < import->source.pieces_count && good; i++) {
        const struct instrumented_found *piece = &import->source.pieces[i];
        if (piece->kind == INSTRUMENTED_PIECE_COUNTERS)
            good = count_piece(import, piece);
        else if (piece->kind == INSTRUMENTED_PIECE_HASH)
            good = count_taken_over(import, piece);
        import_tell(import->teller, "reading counters", i + 1, import->source.pieces_count);
    }
    return good;
}

/* ---- decoding -------------------------------------------------------------------------------- */

static const struct instrumented_entry *entry_with(const struct instrumented_import *import,
                                                   uint32_t function,
                                                   const struct instrumented_file **file)
{
    uint32_t module = import->profile->path_functions[function].module;
    for (size_t i = 0; i < import->files_count; i++) {
        *file = &import->files[i];
        /* Ids of a file's entries are consecutive. */
        if ((*file)->module == module && (*file)->entries_count)
            return &(*file)->entries[function - (*file)->entries[0].id];
    }
    return NULL;
}

static void number_function(struct instrumented_import *import, uint32_t function)
{
    const struct instrumented_file *file;
    const struct instrumented_entry *entry = entry_with(import, function, &file);
    struct profile_path_function *row = &import->profile->path_functions[function];
    numbering_free(import->numbered);
    import->numbered = NULL;
    import->numbered_function = function;
    struct numbering_edge *edges = entry ? calloc((size_t)entry->edges + 1, sizeof *edges) : NULL;
    if (!edges)
        return;
    for (uint32_t i = 0; i < entry->edges; i++) {
        struct instrumented_edge edge;
        memcpy(&edge, file->words + entry->words + (size_t)i * sizeof edge / 4, sizeof edge);
        edges[i] = (struct numbering_edge){edge.from, edge.to, edge.flags & NUMBERING_CUT, -1};
    }
    struct numbering_graph graph = {.blocks_count = entry->blocks,
                                    .edges_count = entry->edges,
                                    .block_flags = entry->block_flags,
                                    .edges = edges};
    if (numbering_number(&graph, &import->numbered) != BASE_OK)
        import->numbered = NULL;
    else if (row->reason == PROFILE_PATH_WHOLE && numbering_count(import->numbered) <= INT64_MAX)
        row->potential = numbering_count(import->numbered);
    free(edges);
}

static uint32_t blocks_of(void *context, uint32_t function, uint64_t number, uint32_t *blocks,
                          uint32_t room, uint32_t *flags)
{
    struct instrumented_import *import = context;
    const struct instrumented_file *file;
    const struct instrumented_entry *entry = entry_with(import, function, &file);
    if (import->numbered_function != function)
        number_function(import, function);
    if (!entry || !import->numbered ||
        !UTIL_GROW_ZEROED(import->route, import->route_capacity, (size_t)entry->blocks + 1))
        return 0;
    struct numbering_path path = {.edges = import->route};
    if (numbering_decode(import->numbered, number, &path) != BASE_OK)
        return 0;
    uint32_t count = 0;
    blocks[count++] = path.first;
    for (uint32_t i = 0; i < path.count && count < room; i++) {
        uint32_t to = file->words[entry->words + (size_t)path.edges[i] * 3 + 1];
        bool cut = i + 1 == path.count && path.ends & NUMBERING_TO_CUT;
        if (to == NUMBERING_EXIT || cut)
            break;
        blocks[count++] = to; /* its end, if no edge leads out: a call that never returns */
    }
    *flags = path.ends & (NUMBERING_FROM_ROOT | NUMBERING_FROM_CUT | NUMBERING_TO_CUT);
    return count;
}

_Static_assert((int)NUMBERING_FROM_ROOT == PROFILE_PATH_FROM_ROOT &&
                   (int)NUMBERING_FROM_CUT == PROFILE_PATH_FROM_CUT &&
                   (int)NUMBERING_TO_CUT == PROFILE_PATH_TO_CUT,
               "paths and profiles call ends the same");

/* ---- the run --------------------------------------------------------------------------------- */

static bool add_process(struct instrumented_import *import,
                        const struct instrumented_mapping *mapping)
{
    struct profile *profile = import->profile;
    for (size_t i = 0; i < profile->processes_count; i++)
        if (profile->processes[i].id == mapping->process)
            return true;
    struct profile_process *added = profile_add_processes(profile);
    if (added)
        *added = (struct profile_process){.id = mapping->process,
                                          .parent = mapping->parent,
                                          .pid = mapping->pid,
                                          .forked = mapping->parent != UINT32_MAX,
                                          .exe = import->files[mapping->file].path,
                                          .start_ns = mapping->start_ns};
    return added != NULL;
}

static bool add_thread(struct profile *profile, const struct instrumented_found *piece)
{
    for (size_t i = 0; i < profile->threads_count; i++)
        if (profile->threads[i].process == piece->process && profile->threads[i].tid == piece->tid)
            return true;
    struct profile_thread *added = profile_add_threads(profile);
    if (added)
        *added = (struct profile_thread){
            .id = (uint32_t)profile->threads_count, .process = piece->process, .tid = piece->tid};
    return added != NULL;
}

/* An exec goes on with the same process and thread. */
static void count_images(struct profile *profile)
{
    uint64_t processes = 0, threads = 0;
    for (size_t i = 0; i < profile->processes_count; i++) {
        size_t j = 0;
        while (profile->processes[j].pid != profile->processes[i].pid)
            j++;
        processes += j == i;
    }
    for (size_t i = 0; i < profile->threads_count; i++) {
        size_t j = 0;
        while (profile->threads[j].tid != profile->threads[i].tid)
            j++;
        threads += j == i;
    }
    profile->run.processes = processes;
    profile->run.threads = threads;
}

static bool describe(struct instrumented_import *import, const struct import_run *run)
{
    struct profile *profile = import->profile;
    bool good = import_describe_run(profile, run);
    profile->run.verb = profile_keep(profile, run->verb);
    profile->run.engine = profile_keep(profile, run->engine);
    profile->run.weighting = "accesses";
    profile->run.version = HEADROOM_VERSION;
    import_describe_machine(profile);
    for (size_t i = 0; i < import->mappings_count && good; i++)
        good = add_process(import, &import->mappings[i]);
    for (size_t i = 0; i < import->source.pieces_count && good; i++)
        if (import->source.pieces[i].kind == INSTRUMENTED_PIECE_COUNTERS ||
            import->source.pieces[i].kind == INSTRUMENTED_PIECE_RECORDS)
            good = add_thread(profile, &import->source.pieces[i]);
    count_images(profile);
    return good && profile->run.verb && profile->run.engine && import_caches(profile);
}

static bool describe_counting(struct instrumented_import *import)
{
    struct profile_path_run *row = profile_add_path_runs(import->profile);
    if (!row)
        return false;
    for (size_t i = 0; i < import->files_count; i++)
        for (size_t j = 0; j < import->files[i].entries_count; j++)
            row->modes |= import->files[i].entries[j].modes;
    row->modes &= ~(import->event ? INSTRUMENTED_CYCLES : INSTRUMENTED_PMU);
    row->event = import->event ? profile_keep(import->profile, import->event) : NULL;
    for (size_t i = 0; i < import->overheads_count && !import->event; i++) {
        double share = 1 / (double)import->overheads_count;
        row->cycles_per_read += share * import->overheads[i].cycles_per_read;
        row->cycles_per_ns += share * import->overheads[i].cycles_per_ns;
    }
    row->lost_pieces = import->source.lost <= most_plausible ? import->source.lost : most_plausible;
    return true;
}

static bool tell_event(struct instrumented_import *import, const struct import_run *run)
{
    if (import->event && !(import->profile->path_runs[0].modes & INSTRUMENTED_PMU))
        return import_degraded(import->profile,
                               "%.100s was not counted: nothing that ran was built with --cycles",
                               import->event);
    if (import->event && run->lost_events)
        return import_degraded(import->profile,
                               "%.100s was not counted in all threads: the kernel refused it",
                               import->event);
    return true;
}

static bool tell_damage(struct instrumented_import *import, uint64_t unknown)
{
    struct profile *profile = import->profile;
    uint64_t damaged = import->damaged + import->source.damaged_header;
    bool good = true;
    for (size_t i = 0; i < import->files_count; i++)
        damaged += import->files[i].damaged;
    profile->run.corrupt_records += damaged;
    if (damaged || unknown)
        good = import_degraded(profile, "some of the counts make no sense and are left out: the "
                                        "program may have overwritten them");
    if (import->source.lost)
        good = good &&
               import_degraded(
                   profile,
                   "not everything that ran was counted: there was no memory left for counters");
    good = good && instrumented_source_tell(&import->source, profile);
    if (import->mappings_count == 0 && !import->source.lost)
        good = good && import_degraded(profile, "no instrumented code ran: was the program built "
                                                "with headroom cc?");
    return good;
}

static enum base_status import_all(struct instrumented_import *import, const struct import_run *run,
                                   const char *output, char *error, size_t error_bytes)
{
    uint64_t unknown = 0;
    if (!import->profile || !import->paths || !add_modules(import) || !count_all(import) ||
        !describe(import, run) || !describe_counting(import) ||
        !import_paths_finish(import->paths, blocks_of, import, import->symbols, import->teller,
                             &unknown) ||
        !instrumented_clock(import, run) || !tell_damage(import, unknown) ||
        !tell_event(import, run)) {
        snprintf(error, error_bytes, "cannot import the program's counts: out of memory.");
        return BASE_NO_MEMORY;
    }
    import_tell(import->teller, "writing the profile", 0, 1);
    return profile_write(import->profile, output, error, error_bytes);
}

enum base_status import_instrumented(int region, const struct import_run *run,
                                     const struct binary_options *symbols, const char *output,
                                     import_progress *progress, void *progress_context, char *error,
                                     size_t error_bytes)
{
    struct import_teller teller = {progress, progress_context, 0};
    struct instrumented_import import = {
        .symbols = symbols, .teller = &teller, .event = run->event};
    enum base_status status = instrumented_source_open(&import.source, region, error, error_bytes);
    if (status != BASE_OK)
        return status;
    import.profile = profile_new();
    import.paths = import.profile ? import_paths_new(import.profile) : NULL;
    status = import_all(&import, run, output, error, error_bytes);
    for (size_t i = 0; i < import.files_count; i++)
        instrumented_file_free(&import.files[i]);
    instrumented_records_free(import.records);
    instrumented_source_close(&import.source);
    import_paths_free(import.paths);
    profile_free(import.profile);
    numbering_free(import.numbered);
    free(import.files);
    free(import.mappings);
    free(import.overheads);
    free(import.route);
    return status;
}
