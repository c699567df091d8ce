// SPDX-License-Identifier: MIT
/*
 * Calling-context trees: records by address, from whose parents' addresses the tree follows. Slots
 * and sibling lists are the program's own business. Roots (threads, signal handlers) are all vertex
 * 0, so that equal contexts of threads and processes are one vertex.
 */
#include "import/instrumented.h"

#include <stdlib.h>
#include <string.h>

#define UNRESOLVED UINT32_MAX
#define RESOLVING  (UINT32_MAX - 1)

struct record {
    uint64_t address, bytes, offset; /* offset: in the region */
    uint64_t parent, count, cycles, measured;
    uint64_t cells;                         /* offset of its path counts from its start */
    const struct instrumented_entry *entry; /* NULL: a root, or not known */
    uint32_t process, slot, vertex;
};

struct instrumented_records {
    struct record *items; /* by process, address */
    size_t count, capacity;
    uint64_t *grown; /* beside items: bytes of the hash tables that took over */
};

/* ---- reading -------------------------------------------------------------------------------- */

static bool record_ok(const struct instrumented_record *record, uint64_t left)
{
    return record->bytes >= sizeof *record && record->bytes <= left && record->bytes % 8 == 0 &&
           record->slots <= (record->bytes - sizeof *record) / 8;
}

static const struct instrumented_entry *entry_of(struct instrumented_import *import,
                                                 uint32_t process, uint64_t function)
{
    const struct instrumented_mapping *mapping = instrumented_mapping_of(import, process, function);
    const struct instrumented_entry *entry =
        mapping ? instrumented_entry_at(&import->files[mapping->file], function - mapping->map)
                : NULL;
    import->damaged += !entry;
    return entry;
}

static bool add_record(struct instrumented_import *import, const struct instrumented_found *piece,
                       uint64_t at, const struct instrumented_record *record)
{
    struct instrumented_records *records = import->records;
    if (!UTIL_GROW_ZEROED(records->items, records->capacity, records->count))
        return false;
    records->items[records->count++] = (struct record){
        .address = piece->address + at,
        .bytes = record->bytes,
        .offset = piece->offset + at,
        .parent = record->parent,
        .count = record->count,
        .cycles = record->cycles,
        .measured = record->measured,
        .cells = sizeof *record + 8 * (uint64_t)record->slots,
        .entry = record->function ? entry_of(import, piece->process, record->function) : NULL,
        .process = piece->process,
        .slot = record->slot,
        .vertex = UNRESOLVED,
    };
    return true;
}

static bool read_piece(struct instrumented_import *import, const struct instrumented_found *piece)
{
    uint64_t at = sizeof(struct instrumented_piece);
    while (piece->bytes - at >= sizeof(struct instrumented_record)) {
        struct instrumented_record record;
        if (!instrumented_source_read(&import->source, piece->offset + at, &record,
                                      sizeof record) ||
            record.bytes == 0)
            return true;
        record.function &= ~INSTRUMENTED_UNLOADED;
        if (!record_ok(&record, piece->bytes - at)) {
            import->damaged++;
            return true;
        }
        if (!add_record(import, piece, at, &record))
            return false;
        at += record.bytes;
    }
    return true;
}

static int compare_records(const void *left, const void *right)
{
    const struct record *a = left, *b = right;
    if (a->process != b->process)
        return a->process < b->process ? -1 : 1;
    return (a->address > b->address) - (a->address < b->address);
}

/* The record whose memory holds the address. */
static struct record *record_at(const struct instrumented_records *records, uint32_t process,
                                uint64_t address)
{
    const struct record *items = records->items;
    size_t behind = BASE_FIRST(i, records->count,
                               items[i].process > process ||
                                   (items[i].process == process && items[i].address > address));
    struct record *found = behind ? &records->items[behind - 1] : NULL;
    return found && found->process == process && address - found->address < found->bytes ? found
                                                                                         : NULL;
}

/* ---- the tree -------------------------------------------------------------------------------- */

static struct record *parent_of(struct instrumented_import *import, const struct record *record)
{
    struct record *parent =
        record->parent ? record_at(import->records, record->process, record->parent) : NULL;
    if (parent && parent->address != record->parent)
        parent = NULL;
    import->damaged += record->parent && !parent;
    return parent;
}

/* Call sites are distinguished in the parent's record if the parent was built so. */
static uint32_t site_of(const struct record *record, const struct record *parent)
{
    return parent && parent->entry && parent->entry->modes & INSTRUMENTED_CALL_SITES &&
                   record->slot < parent->entry->sites
               ? record->slot
               : UINT32_MAX;
}

static bool make_vertex(struct instrumented_import *import, struct record *record,
                        const struct record *parent)
{
    record->vertex = 0;
    if (!record->entry)
        return true;
    uint32_t above = parent && parent->vertex < RESOLVING ? parent->vertex : 0;
    return import_paths_vertex(import->paths, above, record->entry->id, site_of(record, parent),
                               &record->vertex);
}

/* From the record up to one whose vertex is known, then down again. chain: room for all records;
   damaged memory may have parents in circles. */
static bool resolve(struct instrumented_import *import, struct record *record,
                    struct record **chain)
{
    size_t depth = 0;
    struct record *parent = NULL;
    while (record && record->vertex == UNRESOLVED) {
        record->vertex = RESOLVING;
        chain[depth++] = record;
        record = parent_of(import, record);
    }
    parent = record;
    if (parent && parent->vertex == RESOLVING) {
        import->damaged++;
        parent = NULL;
    }
    while (depth > 0) {
        if (!make_vertex(import, chain[--depth], parent))
            return false;
        parent = chain[depth];
    }
    return true;
}

static bool has_paths(const struct instrumented_entry *entry)
{
    return entry->modes & INSTRUMENTED_PATHS && entry->table_kind != INSTRUMENTED_TABLE_NONE;
}

/* A record that was never entered is left over from a fork: its parent process counted it. */
static bool was_entered(const struct record *record)
{
    return record->count > 0;
}

/* Stands for a function in all contexts for which there was no room. */
static bool is_overflow(const struct record *record)
{
    return record->entry && record->parent == 0 && record->slot == INSTRUMENTED_SLOT_OVERFLOW;
}

static bool tell_overflow(struct instrumented_import *import)
{
    for (size_t i = 0; i < import->records->count; i++)
        if (is_overflow(&import->records->items[i]) && was_entered(&import->records->items[i]))
            return import_degraded(import->profile,
                                   "the table of calling contexts was full: what is missing is "
                                   "listed below the root, by function");
    return true;
}

static bool count_record(struct instrumented_import *import, const struct record *record,
                         uint64_t grown)
{
    const struct instrumented_entry *entry = record->entry;
    struct import_paths_cost cost = IMPORT_UNMEASURED;
    if (!entry || record->count > INT64_MAX)
        return true;
    if (entry->modes & INSTRUMENTED_CYCLES && !has_paths(entry) && !import->event &&
        record->measured && record->measured <= record->count) {
        cost.measured = record->measured;
        cost.cycles =
            instrumented_cycles(import, record->process, record->cycles, record->measured);
    }
    import_paths_activate(import->paths, record->vertex, record->count, record->bytes + grown,
                          &cost);
    if (!has_paths(entry))
        return true;
    if (8 * (uint64_t)entry->cells > record->bytes - record->cells) {
        import->damaged++;
        return true;
    }
    return instrumented_count_cells(import, record->process, entry, record->offset + record->cells,
                                    record->vertex);
}

/* Tables that took over from a record's own make it larger. */
static void add_grown(struct instrumented_import *import)
{
    struct instrumented_records *records = import->records;
    for (size_t i = 0; i < import->source.pieces_count; i++) {
        const struct instrumented_found *piece = &import->source.pieces[i];
        struct record *record = piece->kind == INSTRUMENTED_PIECE_HASH
                                    ? record_at(records, piece->process, piece->of)
                                    : NULL;
        if (record)
            records->grown[record - records->items] += piece->bytes;
    }
}

bool instrumented_records_import(struct instrumented_import *import)
{
    struct instrumented_records *records = import->records = calloc(1, sizeof *records);
    bool good = records != NULL;
    for (size_t i = 0; i < import->source.pieces_count && good; i++)
        if (import->source.pieces[i].kind == INSTRUMENTED_PIECE_RECORDS)
            good = read_piece(import, &import->source.pieces[i]);
    if (!good)
        return false;
    struct record **chain = calloc(records->count + 1, sizeof(struct record *));
    records->grown = calloc(records->count + 1, sizeof *records->grown);
    good = chain && records->grown;
    if (good && records->count) {
        qsort(records->items, records->count, sizeof *records->items, compare_records);
        add_grown(import);
    }
    for (size_t i = 0; i < records->count && good; i++)
        good = !was_entered(&records->items[i]) || resolve(import, &records->items[i], chain);
    for (size_t i = 0; i < records->count && good; i++)
        good = !was_entered(&records->items[i]) ||
               count_record(import, &records->items[i], records->grown[i]);
    free(chain);
    return good && tell_overflow(import);
}

bool instrumented_records_find(const struct instrumented_import *import, uint32_t process,
                               uint64_t address, const struct instrumented_entry **entry,
                               uint32_t *vertex)
{
    const struct record *record = record_at(import->records, process, address);
    if (!record || !record->entry || record->vertex >= RESOLVING)
        return false;
    *entry = record->entry;
    *vertex = record->vertex;
    return true;
}

void instrumented_records_free(struct instrumented_records *records)
{
    if (!records)
        return;
    free(records->items);
    free(records->grown);
    free(records);
}
