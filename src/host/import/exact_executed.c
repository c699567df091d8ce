// SPDX-License-Identifier: MIT
/*
 * What loops executed, as the exact engine wrote it: pieces of code, and words that say which of them was executed when, and where its
 * accesses were. Rows have single instructions instead, each window by itself: whoever reads them needs no pieces.
 */
#include "import/internal.h"

#include <stdlib.h>
#include <string.h>

enum {
    PIECES_MAX = 1 << 20,
    WINDOWS_MAX = 1 << 12,
    STEPS_MAX = 1 << 14,
    DIGITS = 2 * 15 + 1,
    CACHES_END = 15
};
static const uint64_t most_counted = UINT64_C(1) << 50;

struct piece {
    struct wire_executed_code *record; /* a copy */
    uint32_t window, first;            /* where the window has its instructions; window: + 1 */
};

struct import_executed {
    uint32_t process;
    struct piece *pieces; /* of the process, by id - 1 */
    size_t pieces_count, pieces_capacity;
    uint32_t window; /* id in the process of the one whose words follow; 0: none */
    uint32_t codes;  /* of it */
    uint32_t steps;  /* executed so far */
    struct piece *at;
    uint32_t begun; /* the step that its first instruction was */
};

static bool corrupt(struct import_gather *gather)
{
    gather->corrupt++;
    return true;
}

static void drop_pieces(struct import_executed *executed)
{
    for (size_t i = 0; i < executed->pieces_count; i++)
        free(executed->pieces[i].record);
    executed->pieces_count = 0;
    executed->window = 0;
    executed->at = NULL;
}

void import_exact_executed_free(struct import_executed *executed)
{
    if (!executed)
        return;
    drop_pieces(executed);
    free(executed->pieces);
    free(executed);
}

/* NULL: no memory. Ids are a process's own. */
static struct import_executed *executed_of(struct import_gather *gather, uint32_t process)
{
    if (!gather->executed)
        gather->executed = calloc(1, sizeof *gather->executed);
    if (gather->executed && gather->executed->process != process) {
        drop_pieces(gather->executed);
        gather->executed->process = process;
    }
    return gather->executed;
}

/* ---- pieces ------------------------------------------------------------------------------------ */

static const uint8_t *lengths_of(const struct wire_executed_code *record)
{
    return record->data + record->accesses * sizeof(struct wire_executed_access);
}

static bool piece_ok(const struct wire_executed_code *record)
{
    size_t room = record->record.bytes - sizeof *record, sum = 0;
    size_t lists = record->accesses * sizeof(struct wire_executed_access) + record->instructions;
    if (!record->instructions || lists + record->code_bytes > room)
        return false;
    for (uint16_t a = 0; a < record->accesses; a++) {
        struct wire_executed_access access;
        memcpy(&access, record->data + a * sizeof access, sizeof access);
        if (access.instruction >= record->instructions || access.store > 1)
            return false;
    }
    for (uint16_t i = 0; i < record->instructions; i++) {
        uint8_t length = lengths_of(record)[i];
        if (length == 0 || length > DIGITS / 2)
            return false;
        sum += length;
    }
    return sum == record->code_bytes;
}

static bool visit_code(struct import_gather *gather, struct import_executed *executed,
                       const struct wire_executed_code *record)
{
    /* What is written twice, because an exec failed, begins anew. */
    if (record->code == 1)
        drop_pieces(executed);
    if (!piece_ok(record) || record->code != executed->pieces_count + 1 ||
        executed->pieces_count >= PIECES_MAX)
        return corrupt(gather);
    struct wire_executed_code *copy = malloc(record->record.bytes);
    if (!copy || !UTIL_PUSH(executed->pieces, executed->pieces_count, executed->pieces_capacity,
                            (struct piece){.record = copy})) {
        free(copy);
        return import_no_memory(gather);
    }
    memcpy(copy, record, record->record.bytes);
    return true;
}

/* ---- windows ------------------------------------------------------------------------------------- */

static const char *path_of(const struct import_gather *gather, uint32_t process, uint32_t module)
{
    uint32_t id = module ? import_module_of(gather, process, module) : 0;
    return id ? gather->profile->modules[id].path : NULL;
}

static bool visit_window(struct import_gather *gather, struct import_executed *executed,
                         const struct wire_executed_window *record)
{
    struct profile *profile = gather->profile;
    const char *path = path_of(gather, executed->process, record->module);
    executed->window = 0;
    if (!path || !record->window || record->execution == 0 ||
        record->execution > record->executions || record->executions > most_counted ||
        record->caches >= CACHES_END || profile->executed_windows_count >= WINDOWS_MAX)
        return corrupt(gather);
    struct profile_executed_window *row = profile_add_executed_windows(profile);
    if (!row)
        return import_no_memory(gather);
    *row = (struct profile_executed_window){.module = profile_keep(profile, path),
                                            .address = record->head,
                                            .process = executed->process,
                                            .number = record->window,
                                            .thread = record->thread,
                                            .caches = record->caches,
                                            .execution = record->execution,
                                            .executions = record->executions};
    executed->window = record->window;
    executed->codes = executed->steps = 0;
    executed->at = NULL;
    return row->module || import_no_memory(gather);
}

/* ---- steps ----------------------------------------------------------------------------------------- */

static uint32_t current(const struct import_gather *gather)
{
    return (uint32_t)gather->profile->executed_windows_count - 1;
}

static bool add_code(struct import_gather *gather, const char *module, uint64_t address,
                     const uint8_t *bytes, uint8_t length)
{
    static const char digits[] = "0123456789abcdef";
    struct profile *profile = gather->profile;
    char text[DIGITS];
    for (uint8_t b = 0; b < length; b++) {
        text[2 * b] = digits[bytes[b] >> 4];
        text[2 * b + 1] = digits[bytes[b] & 15];
    }
    text[2 * length] = 0;
    struct profile_executed_code *row = profile_add_executed_codes(profile);
    if (!row)
        return import_no_memory(gather);
    *row = (struct profile_executed_code){.window = current(gather),
                                          .module = module,
                                          .address = address,
                                          .bytes = profile_keep(profile, text)};
    gather->executed->codes++;
    return row->bytes || import_no_memory(gather);
}

/* The window has the instructions of the piece from now on. */
static bool enter_piece(struct import_gather *gather, struct piece *piece)
{
    const struct wire_executed_code *record = piece->record;
    const uint8_t *lengths = lengths_of(record), *bytes = lengths + record->instructions;
    if (piece->window == current(gather) + 1)
        return true;
    const char *path = path_of(gather, gather->executed->process, record->module);
    const char *module = path ? profile_keep(gather->profile, path) : NULL;
    if (path && !module)
        return import_no_memory(gather);
    piece->window = current(gather) + 1;
    piece->first = gather->executed->codes;
    size_t offset = 0;
    for (uint16_t i = 0; i < record->instructions; offset += lengths[i++])
        if (!add_code(gather, module, record->vaddr + offset, bytes + offset, lengths[i]))
            return false;
    return true;
}

static bool begin_piece(struct import_gather *gather, struct import_executed *executed,
                        uint64_t number)
{
    executed->at = NULL;
    if (number == 0 || number > executed->pieces_count || executed->steps >= STEPS_MAX)
        return corrupt(gather);
    struct piece *piece = &executed->pieces[number - 1];
    if (!enter_piece(gather, piece))
        return false;
    struct profile_executed_run *row = profile_add_executed_runs(gather->profile);
    if (!row)
        return import_no_memory(gather);
    *row =
        (struct profile_executed_run){current(gather), piece->first, piece->record->instructions};
    executed->at = piece;
    executed->begun = executed->steps;
    executed->steps += piece->record->instructions;
    return true;
}

static bool add_access(struct import_gather *gather, struct import_executed *executed,
                       uint64_t word)
{
    uint64_t number = word >> WIRE_EXECUTED_SHIFT & 0xfff, address = word & WIRE_EXECUTED_ADDRESS;
    struct wire_executed_access access;
    if (!executed->at || number >= executed->at->record->accesses)
        return corrupt(gather);
    memcpy(&access, executed->at->record->data + number * sizeof access, sizeof access);
    struct profile_executed_access *row = profile_add_executed_accesses(gather->profile);
    if (!row)
        return import_no_memory(gather);
    *row = (struct profile_executed_access){.window = current(gather),
                                            .step = executed->begun + access.instruction,
                                            .address = address,
                                            .bytes = access.bytes,
                                            .store = access.store,
                                            .level = (uint32_t)(word >> WIRE_EXECUTED_LEVEL)};
    return true;
}

static bool visit_steps(struct import_gather *gather, struct import_executed *executed,
                        const struct wire_executed_steps *record)
{
    size_t room = (record->record.bytes - sizeof *record) / sizeof *record->words;
    if (!executed->window || record->window != executed->window || record->count > room)
        return corrupt(gather);
    for (uint32_t i = 0; i < record->count; i++) {
        uint64_t word = record->words[i];
        bool begins = word >> WIRE_EXECUTED_SHIFT == WIRE_EXECUTED_PIECE >> WIRE_EXECUTED_SHIFT;
        if (begins ? !begin_piece(gather, executed, word & WIRE_EXECUTED_ADDRESS)
                   : !add_access(gather, executed, word))
            return false;
    }
    return true;
}

bool import_exact_executed_visit(struct import_gather *gather, uint32_t process,
                                 const struct wire_record *record)
{
    struct import_executed *executed = executed_of(gather, process);
    if (!executed)
        return import_no_memory(gather);
    switch (record->type) {
    case WIRE_EXECUTED_CODE:
        return visit_code(gather, executed, (const struct wire_executed_code *)record);
    case WIRE_EXECUTED_WINDOW:
        return visit_window(gather, executed, (const struct wire_executed_window *)record);
    default: return visit_steps(gather, executed, (const struct wire_executed_steps *)record);
    }
}
