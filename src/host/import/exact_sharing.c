// SPDX-License-Identifier: MIT
/*
 * Cache lines that moved between threads, as the exact engine counted them. Rows are kept as they come, a process's lines apart
 * from another's, and name nodes; when these have become contexts, equal rows become one, as in merging, so that a profile says
 * of an object what all processes did to it.
 */
#include "import/internal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { LINES_MAX = 1 << 20, KINDS = 4, MATRIX = 64 };
static const uint64_t most_counted = UINT64_C(1) << 50;

static bool corrupt(struct import_gather *gather)
{
    gather->corrupt++;
    return true;
}

static bool amount_ok(double amount)
{
    return isfinite(amount) && amount >= 0 && amount <= 1e30;
}

/* ---- records --------------------------------------------------------------------------------- */

static bool visit_totals(struct import_gather *gather, uint32_t process,
                         const struct wire_shared_totals *record)
{
    struct profile *profile = gather->profile;
    struct profile_shared_run *row = NULL;
    const uint64_t counts[] = {record->instructions, record->evicted, record->coarsened,
                               record->early, record->merged};
    for (size_t i = 0; i < BASE_COUNT(counts); i++)
        if (counts[i] > most_counted)
            return corrupt(gather);
    if (!amount_ok(record->true_transfers) || !amount_ok(record->false_transfers) ||
        !amount_ok(record->unlisted) || !import_knows_process(gather, process))
        return corrupt(gather);
    for (size_t i = profile->shared_runs_count; i-- > 0 && !row;)
        if (profile->shared_runs[i].process == process)
            row = &profile->shared_runs[i];
    if (!row && !(row = profile_add_shared_runs(profile)))
        return import_no_memory(gather);
    row->process = process;
    row->threads = record->threads > row->threads ? record->threads : row->threads;
    row->exhausted |= record->exhausted != 0;
    row->instructions += record->instructions;
    row->true_transfers += record->true_transfers;
    row->false_transfers += record->false_transfers;
    row->unlisted += record->unlisted;
    row->evicted += record->evicted;
    row->coarsened += record->coarsened;
    row->early += record->early;
    row->merged += record->merged;
    return true;
}

/* The second of two texts that end within the record; NULL: they do not. */
static const char *second_text(const struct wire_shared_line *record)
{
    const char *end = (const char *)record + record->record.bytes;
    const char *first = memchr(record->text, 0, (size_t)(end - record->text));
    return first && memchr(first + 1, 0, (size_t)(end - first - 1)) ? first + 1 : NULL;
}

static bool line_ok(const struct wire_shared_line *record)
{
    return record->line <= IMPORT_IDS_MAX && record->kind < PROFILE_OBJECTS &&
           record->size <= most_counted && amount_ok(record->true_transfers) &&
           amount_ok(record->false_transfers);
}

/* Symbols as people write them. False: no memory. */
static bool keep_name(struct import_gather *gather, const struct wire_shared_line *record,
                      struct profile_shared_line *row)
{
    bool good = true;
    char *readable =
        record->kind == WIRE_OBJECT_GLOBAL ? binary_demangle(record->text, false) : NULL;
    if (record->text[0])
        row->name = import_keep(gather->profile, readable ? readable : record->text, &good);
    free(readable);
    return good;
}

static bool visit_line(struct import_gather *gather, uint32_t process,
                       const struct wire_shared_line *record)
{
    struct profile *profile = gather->profile;
    const char *parts = second_text(record);
    if (!parts || !line_ok(record) || profile->shared_lines_count >= LINES_MAX)
        return corrupt(gather);
    uint32_t node = import_node_of(gather, record->node);
    gather->corrupt += node == IMPORT_UNKNOWN_NODE;
    struct profile_shared_line row = {.object = record->kind,
                                      .context = node == IMPORT_UNKNOWN_NODE ? 0 : node,
                                      .thread = record->thread,
                                      .size = record->size,
                                      .offset = (uint64_t)record->offset,
                                      .address = record->address,
                                      .true_transfers = record->true_transfers,
                                      .false_transfers = record->false_transfers};
    if (!keep_name(gather, record, &row) ||
        (parts[0] && !(row.parts = profile_keep(profile, parts))))
        return import_no_memory(gather);
    if (!UTIL_GROW_ZEROED(gather->shared_data, gather->shared_data_capacity,
                          profile->shared_lines_count))
        return import_no_memory(gather);
    struct profile_shared_line *added = profile_add_shared_lines(profile);
    if (!added)
        return import_no_memory(gather);
    *added = row;
    gather->shared_data[profile->shared_lines_count - 1] =
        (struct import_datum){import_module_of(gather, process, record->module), record->vaddr};
    return import_ids_set(&gather->shared_map, record->line,
                          (uint32_t)profile->shared_lines_count) ||
           import_no_memory(gather);
}

static bool add_pair(struct import_gather *gather, const struct profile_shared_pair *row)
{
    struct profile_shared_pair *added =
        row->transfers > 0 ? profile_add_shared_pairs(gather->profile) : NULL;
    if (added)
        *added = *row;
    return added || row->transfers <= 0 || import_no_memory(gather);
}

static bool kind_ok(uint32_t kind)
{
    return kind > 0 && kind < KINDS;
}

static bool visit_pair(struct import_gather *gather, const struct wire_shared_pair *record)
{
    uint32_t line = import_ids_get(&gather->shared_map, record->line);
    uint32_t first = import_node_of(gather, record->first);
    uint32_t second = import_node_of(gather, record->second);
    if (!line || !kind_ok(record->first_kind) || !kind_ok(record->second_kind) ||
        !amount_ok(record->forward) || !amount_ok(record->backward))
        return corrupt(gather);
    gather->corrupt += (first == IMPORT_UNKNOWN_NODE) + (second == IMPORT_UNKNOWN_NODE);
    struct profile_shared_pair row = {.line = line - 1,
                                      .first = first == IMPORT_UNKNOWN_NODE ? 0 : first,
                                      .second = second == IMPORT_UNKNOWN_NODE ? 0 : second,
                                      .first_kind = record->first_kind,
                                      .second_kind = record->second_kind,
                                      .is_true = record->is_true != 0,
                                      .first_mask = record->first_mask,
                                      .second_mask = record->second_mask,
                                      .transfers = record->forward};
    struct profile_shared_pair back = row;
    back.first = row.second;
    back.second = row.first;
    back.first_kind = row.second_kind;
    back.second_kind = row.first_kind;
    back.first_mask = row.second_mask;
    back.second_mask = row.first_mask;
    back.transfers = record->backward;
    return add_pair(gather, &row) && add_pair(gather, &back);
}

static bool visit_user(struct import_gather *gather, const struct wire_shared_user *record)
{
    uint32_t line = import_ids_get(&gather->shared_map, record->line);
    if (!line || record->reads > most_counted || record->writes > most_counted)
        return corrupt(gather);
    struct profile_shared_user *row = profile_add_shared_users(gather->profile);
    if (!row)
        return import_no_memory(gather);
    *row = (struct profile_shared_user){.line = line - 1,
                                        .thread = record->thread,
                                        .read_mask = record->read_mask,
                                        .write_mask = record->write_mask,
                                        .reads = record->reads,
                                        .writes = record->writes};
    return true;
}

static bool visit_move(struct import_gather *gather, const struct wire_shared_between *record)
{
    if (record->from >= MATRIX || record->to >= MATRIX || !amount_ok(record->transfers))
        return corrupt(gather);
    struct profile_shared_move *row = profile_add_shared_moves(gather->profile);
    if (!row)
        return import_no_memory(gather);
    *row = (struct profile_shared_move){record->from, record->to, record->transfers};
    return true;
}

bool import_exact_sharing_visit(struct import_gather *gather, uint32_t process,
                                const struct wire_record *record)
{
    if (gather->shared_process != process)
        import_ids_clear(&gather->shared_map);
    gather->shared_process = process;
    switch (record->type) {
    case WIRE_SHARED_TOTALS:
        return visit_totals(gather, process, (const struct wire_shared_totals *)record);
    case WIRE_SHARED_LINE:
        return visit_line(gather, process, (const struct wire_shared_line *)record);
    case WIRE_SHARED_PAIR: return visit_pair(gather, (const struct wire_shared_pair *)record);
    case WIRE_SHARED_USER: return visit_user(gather, (const struct wire_shared_user *)record);
    default: return visit_move(gather, (const struct wire_shared_between *)record);
    }
}

uint32_t *import_row_node(const struct profile *profile, size_t index)
{
    size_t lines = profile->shared_lines_count, ends = 2 * profile->shared_pairs_count;
    if (index < lines)
        return &profile->shared_lines[index].context;
    if (index - lines >= ends + profile->what_if_sites_count)
        return NULL;
    if (index - lines >= ends)
        return &profile->what_if_sites[index - lines - ends].frame;
    struct profile_shared_pair *pair = &profile->shared_pairs[(index - lines) / 2];
    return (index - lines) % 2 ? &pair->second : &pair->first;
}

bool import_exact_sharing_finish(struct import_gather *gather)
{
    return profile_settle_shared(gather->profile) == BASE_OK || import_no_memory(gather);
}
