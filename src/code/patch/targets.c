// SPDX-License-Identifier: MIT
/*
 * All ways in which control may come near a function's entry, of a whole module at once: jumps and
 * calls of all code, addresses in data and in instructions, tables of offsets, exception handlers.
 *
 * Jumps through tables are not understood, and need not be: a compiler's table is either of
 * addresses, and then any aligned word that holds one counts; or of offsets from an address that
 * code of the same function computes, and then every such address is tried as the beginning of a
 * table. What is found so is more than there is, and what is missed must have been computed
 * otherwise, in assembly.
 *
 * Code is swept from each function's start by lengths, without decoding: most of it cannot jump.
 * Where a jump in the function leads between two instructions of the sweep (there was data in the
 * code), it is swept from there as well.
 */
#include "patch/internal.h"

#include "isa/isa.h"

#include <stdlib.h>
#include <string.h>

enum {
    LEAS_MAX = 256,        /* addresses of a function that are tried as tables            */
    BASES_MAX = 4,         /* labels that offsets in tables may be counted from           */
    TABLE_MAX = 1 << 16,   /* entries                                                      */
    EFFORT_MAX = 1 << 27,  /* entries of all tables                                        */
    FIRST_FIXED = 0x10000, /* position-dependent modules begin there or above */
    OVERLAP_MAX = 4,       /* times that code is swept, of functions within functions      */
};

/* Which bytes of a section are near an entry: behind it, and nobody else's first byte. */
struct zone {
    uint64_t start, bytes;
    const uint8_t *view;
    uint8_t *bits;
};

/* What may be a table of 32-bit offsets. */
struct table {
    uint64_t address, base;
    uint64_t start, count; /* of the function that has it; count 0: of a part of some function */
};

struct sweep {
    struct patch_module *module;
    struct targets *targets;
    struct zone *zones;
    size_t zones_count;
    uint64_t low, high; /* of all zones                                                  */
    bool fixed;         /* the module is position-dependent: constants may be addresses */
    struct table *tables;
    size_t tables_count, tables_capacity;
    /* the function that is being swept */
    const uint8_t *view;
    uint64_t start;
    size_t count;
    bool gap, indirect;
    bool part;      /* it may use tables of another one */
    uint8_t *marks; /* by offset: an instruction begins                             */
    size_t marks_capacity;
    uint64_t *pending; /* offsets of jump targets                                      */
    size_t pending_count, pending_capacity;
    uint64_t leas[LEAS_MAX], labels[BASES_MAX]; /* addresses outside of it; within it */
    size_t leas_count, labels_count;
    uint64_t effort, swept;
    bool no_memory;
};

/* ---- zones --------------------------------------------------------------------------------- */

static const struct zone *zone_of(const struct sweep *sweep, uint64_t address)
{
    if (address < sweep->low || address >= sweep->high)
        return NULL;
    for (size_t i = 0; i < sweep->zones_count; i++)
        if (address - sweep->zones[i].start < sweep->zones[i].bytes)
            return &sweep->zones[i];
    return NULL;
}

static bool is_near(const struct sweep *sweep, uint64_t address)
{
    const struct zone *zone = zone_of(sweep, address);
    uint64_t at = zone ? address - zone->start : 0;
    return zone && zone->bits[at / 8] >> at % 8 & 1;
}

static void mark_behind(struct sweep *sweep, uint64_t vaddr)
{
    const struct zone *zone = zone_of(sweep, vaddr);
    uint64_t at = zone ? vaddr - zone->start : 0;
    for (uint64_t b = at + 1; zone && b < at + PATCH_NEAR && b < zone->bytes; b++)
        zone->bits[b / 8] |= (uint8_t)(1u << b % 8);
}

static void mark_near(struct sweep *sweep)
{
    const struct patch_module *module = sweep->module;
    for (size_t i = 0; i < module->functions_count; i++)
        mark_behind(sweep, module->functions[i].vaddr);
    for (size_t i = 0; i < module->prepared_count; i++)
        mark_behind(sweep, module->prepared[i].site);
    for (size_t i = 0; i < module->functions_count; i++) {
        const struct zone *zone = zone_of(sweep, module->functions[i].vaddr);
        uint64_t at = zone ? module->functions[i].vaddr - zone->start : 0;
        if (zone)
            zone->bits[at / 8] &= (uint8_t) ~(1u << at % 8);
    }
}

static bool make_zones(struct sweep *sweep)
{
    size_t count;
    const struct code_section *sections = code_sections(sweep->module->code, &count);
    sweep->zones = calloc(count + 1, sizeof *sweep->zones);
    sweep->low = UINT64_MAX;
    for (size_t i = 0; sweep->zones && i < count; i++) {
        const struct code_section *section = &sections[i];
        if (!section->executable || !section->view)
            continue;
        struct zone *zone = &sweep->zones[sweep->zones_count];
        *zone = (struct zone){section->start, section->bytes, section->view,
                              calloc(section->bytes / 8 + 1, 1)};
        if (!zone->bits)
            return false;
        sweep->zones_count++;
        if (zone->start < sweep->low)
            sweep->low = zone->start;
        if (zone->start + zone->bytes > sweep->high)
            sweep->high = zone->start + zone->bytes;
    }
    if (!sweep->zones)
        return false;
    sweep->fixed = count && sections[0].start >= FIRST_FIXED;
    mark_near(sweep);
    return true;
}

/* ---- notes --------------------------------------------------------------------------------- */

static void note(struct sweep *sweep, uint64_t address, uint64_t from, enum target_kind kind)
{
    struct targets *targets = sweep->targets;
    if (!UTIL_GROW(targets->items, targets->capacity, targets->count)) {
        sweep->no_memory = true;
        return;
    }
    targets->items[targets->count++] = (struct target){address, from, (uint32_t)kind};
}

static void note_if_near(struct sweep *sweep, uint64_t address, uint64_t from,
                         enum target_kind kind)
{
    if (is_near(sweep, address))
        note(sweep, address, from, kind);
}

static void note_bad(struct sweep *sweep, uint64_t address)
{
    struct targets *targets = sweep->targets;
    if (sweep->gap)
        return;
    if (!UTIL_GROW(targets->bad, targets->bad_capacity, targets->bad_count))
        sweep->no_memory = true;
    else
        targets->bad[targets->bad_count++] = address;
}

/* ---- instructions -------------------------------------------------------------------------- */

static int64_t signed_at(const uint8_t *at, unsigned bytes)
{
    int32_t word;
    if (bytes == 1)
        return (int8_t)*at;
    memcpy(&word, at, sizeof word);
    return word;
}

static void found_jump(struct sweep *sweep, uint64_t from, uint64_t target)
{
    uint64_t offset = target - sweep->start;
    bool own = offset < sweep->count;
    bool back = sweep->part ? zone_of(sweep, target) != NULL : offset == 0;
    if (is_near(sweep, target) || (back && !sweep->gap))
        note(sweep, target, from, TARGET_JUMP);
    if (!own || sweep->marks[offset])
        return;
    if (!UTIL_GROW(sweep->pending, sweep->pending_capacity, sweep->pending_count))
        sweep->no_memory = true;
    else
        sweep->pending[sweep->pending_count++] = offset;
}

/* An address that code computes. */
static void found_address(struct sweep *sweep, uint64_t from, uint64_t address)
{
    note_if_near(sweep, address, from, TARGET_POINTER);
    if (address - sweep->start < sweep->count) {
        if (sweep->labels_count < BASES_MAX)
            sweep->labels[sweep->labels_count++] = address;
    } else if (sweep->leas_count < LEAS_MAX) {
        sweep->leas[sweep->leas_count++] = address;
    }
}

/* mov $address, register; push $address. at: of the opcode. */
static void look_at_constant(struct sweep *sweep, uint64_t from, const uint8_t *code,
                             unsigned length, unsigned at)
{
    uint64_t value;
    bool wide = at && (code[at - 1] & 0xf8) == 0x48;
    if (wide && (code[at] & 0xf8) == 0xb8 && length == at + 9) {
        memcpy(&value, code + at + 1, sizeof value);
        found_address(sweep, from, value);
    } else if (sweep->fixed && length >= at + 5 &&
               ((code[at] & 0xf8) == 0xb8 || code[at] == 0xc7 || code[at] == 0x68)) {
        found_address(sweep, from, (uint64_t)signed_at(code + length - 4, 4));
    }
}

/* What an instruction says of where control goes. */
static void look_at(struct sweep *sweep, size_t offset, unsigned length)
{
    const uint8_t *code = sweep->view + offset;
    uint64_t address = sweep->start + offset, next = address + length;
    unsigned at = code_opcode(code, length);
    uint8_t opcode = code[at], second = at + 1 < length ? code[at + 1] : 0;
    if ((opcode & 0xf0) == 0x70 || (opcode & 0xfc) == 0xe0 || opcode == 0xeb)
        found_jump(sweep, address, next + (uint64_t)signed_at(code + length - 1, 1));
    else if (opcode == 0xe9 || (opcode == 0x0f && (second & 0xf0) == 0x80) ||
             (opcode == 0xc7 && second == 0xf8))
        found_jump(sweep, address, next + (uint64_t)signed_at(code + length - 4, 4));
    else if (opcode == 0xe8)
        note_if_near(sweep, next + (uint64_t)signed_at(code + length - 4, 4), address, TARGET_CALL);
    else if (opcode == 0xff && (second >> 3 & 7) == 4)
        sweep->indirect = true;
    else if (opcode == 0x8d && (second & 0xc7) == 5)
        found_address(sweep, address, next + (uint64_t)signed_at(code + length - 4, 4));
    else if ((opcode & 0xf8) == 0xb8 || opcode == 0xc7 || opcode == 0x68)
        look_at_constant(sweep, address, code, length, at);
}

/* From an offset to the end or to what has been swept. first: bytes that do not decode are noted
 * and skipped. */
static void sweep_from(struct sweep *sweep, size_t offset, bool first)
{
    while (offset < sweep->count && !sweep->marks[offset]) {
        unsigned length = isa_length(sweep->view + offset, sweep->count - offset);
        sweep->marks[offset] = 1;
        if (length)
            look_at(sweep, offset, length);
        else
            note_bad(sweep, sweep->start + offset);
        if (!length && !first)
            return;
        offset += length ? length : 1;
    }
}

/* ---- tables -------------------------------------------------------------------------- */

/* What word number i of a table points at. False: not at code. */
static bool table_entry(const struct sweep *sweep, const struct table *table, size_t i,
                        uint64_t *target)
{
    size_t available;
    const uint8_t *view = code_view(sweep->module->code, table->address, &available);
    if (!view || (i + 1) * 4 > available)
        return false;
    *target = table->base + (uint64_t)signed_at(view + i * 4, 4);
    return zone_of(sweep, *target) != NULL;
}

static void found_table(struct sweep *sweep, uint64_t address, uint64_t base)
{
    struct table table = {address, base, sweep->start, sweep->part ? 0 : sweep->count};
    uint64_t target;
    if (!table_entry(sweep, &table, 0, &target))
        return;
    if (!UTIL_GROW(sweep->tables, sweep->tables_capacity, sweep->tables_count))
        sweep->no_memory = true;
    else
        sweep->tables[sweep->tables_count++] = table;
}

static void find_tables(struct sweep *sweep)
{
    for (size_t i = 0; i < sweep->leas_count; i++) {
        found_table(sweep, sweep->leas[i], sweep->leas[i]);
        for (size_t base = 0; sweep->indirect && base < sweep->labels_count; base++)
            found_table(sweep, sweep->leas[i], sweep->labels[base]);
    }
    for (size_t i = 0; sweep->indirect && i < sweep->labels_count; i++) /* tables in the code */
        found_table(sweep, sweep->labels[i], sweep->labels[i]);
}

/* Entries that lead near the entry of the function that has the table, up to where another may
   begin. */
static void look_at_table(struct sweep *sweep, const struct table *table, uint64_t limit)
{
    uint64_t target;
    for (size_t i = 0;
         i < TABLE_MAX && table->address + 4 * i < limit && table_entry(sweep, table, i, &target);
         i++) {
        bool own = !table->count || target - table->start < table->count;
        sweep->effort++;
        if (own && (is_near(sweep, target) || (target == table->start && table->count)))
            note(sweep, target, table->address, TARGET_TABLE);
    }
}

static int compare_tables(const void *left, const void *right)
{
    const struct table *a = left, *b = right;
    return (a->address > b->address) - (a->address < b->address);
}

static void look_at_tables(struct sweep *sweep)
{
    uint64_t limit = UINT64_MAX;
    if (sweep->tables_count)
        qsort(sweep->tables, sweep->tables_count, sizeof *sweep->tables, compare_tables);
    for (size_t i = sweep->tables_count; i-- > 0 && sweep->effort < EFFORT_MAX;) {
        const struct table *table = &sweep->tables[i];
        if (i + 1 < sweep->tables_count && table[1].address != table->address)
            limit = table[1].address;
        look_at_table(sweep, table, limit);
    }
    sweep->targets->gave_up = sweep->targets->gave_up || sweep->effort >= EFFORT_MAX;
}

/* ---- all of it ----------------------------------------------------------------------------- */

static bool make_marks(struct sweep *sweep)
{
    if (!UTIL_GROW(sweep->marks, sweep->marks_capacity, sweep->count))
        return false;
    memset(sweep->marks, 0, sweep->count);
    return true;
}

static void sweep_range(struct sweep *sweep, const struct zone *zone, uint64_t start, uint64_t end,
                        bool gap, bool part)
{
    uint64_t limit = zone->start + zone->bytes;
    if (end > limit)
        end = limit;
    if (start >= end || sweep->no_memory)
        return;
    sweep->view = zone->view + (start - zone->start);
    sweep->start = start;
    sweep->count = (size_t)(end - start);
    sweep->gap = gap;
    sweep->part = part;
    sweep->indirect = false;
    sweep->leas_count = sweep->labels_count = sweep->pending_count = 0;
    sweep->swept += sweep->count;
    if (!make_marks(sweep)) {
        sweep->no_memory = true;
        return;
    }
    sweep_from(sweep, 0, true);
    while (sweep->pending_count)
        sweep_from(sweep, (size_t)sweep->pending[--sweep->pending_count], false);
    find_tables(sweep);
}

/* Functions of a section, and what lies between them. */
static void sweep_zone(struct sweep *sweep, const struct zone *zone)
{
    const struct patch_module *module = sweep->module;
    uint64_t reached = zone->start, limit = zone->start + zone->bytes;
    uint64_t most = sweep->swept + OVERLAP_MAX * zone->bytes;
    for (size_t i = module_function_from(module, zone->start); i < module->functions_count; i++) {
        const struct patch_function *function = &module->functions[i];
        if (function->vaddr >= limit)
            break;
        if (sweep->swept > most) {
            sweep->targets->gave_up = true;
            return;
        }
        if (function->vaddr > reached)
            sweep_range(sweep, zone, reached, function->vaddr, true, true);
        sweep_range(sweep, zone, function->vaddr, function->vaddr + function->bytes, false,
                    module_is_part(function));
        if (function->vaddr + function->bytes > reached)
            reached = function->vaddr + function->bytes;
    }
    sweep_range(sweep, zone, reached, limit, true, true);
}

/* Words that hold the address of code. */
static void look_at_data(struct sweep *sweep)
{
    size_t count;
    const struct code_section *sections = code_sections(sweep->module->code, &count);
    for (size_t i = 0; i < count; i++) {
        const struct code_section *section = &sections[i];
        uint64_t at = -section->start & 7;
        for (; section->view && at + 8 <= section->bytes; at += 8) {
            uint64_t word;
            memcpy(&word, section->view + at, sizeof word);
            if (word >= sweep->low && word < sweep->high)
                note_if_near(sweep, word, section->start + at, TARGET_POINTER);
        }
    }
    const struct code_pointer *pointers = code_pointers(sweep->module->code, &count);
    for (size_t i = 0; i < count; i++)
        if (!pointers[i].name)
            note_if_near(sweep, pointers[i].value, pointers[i].at, TARGET_POINTER);
}

static bool found_handler(void *context, uint64_t handler)
{
    struct sweep *sweep = context;
    note_if_near(sweep, handler, 0, TARGET_HANDLER);
    return !sweep->no_memory;
}

static int compare_targets(const void *left, const void *right)
{
    const struct target *a = left, *b = right;
    return (a->address > b->address) - (a->address < b->address);
}

static int compare_addresses(const void *left, const void *right)
{
    const uint64_t *a = left, *b = right;
    return (*a > *b) - (*a < *b);
}

static void sweep_free(struct sweep *sweep)
{
    for (size_t i = 0; i < sweep->zones_count; i++)
        free(sweep->zones[i].bits);
    free(sweep->zones);
    free(sweep->marks);
    free(sweep->pending);
    free(sweep->tables);
}

enum base_status targets_load(struct patch_module *module)
{
    struct targets *targets = &module->targets;
    struct sweep sweep = {.module = module, .targets = targets};
    size_t frames_count;
    const struct code_frame *frames = code_frames(module->code, &frames_count);
    sweep.no_memory = !make_zones(&sweep);
    for (size_t i = 0; i < sweep.zones_count && !sweep.no_memory; i++)
        sweep_zone(&sweep, &sweep.zones[i]);
    for (size_t i = 0; i < frames_count && !sweep.no_memory; i++)
        code_handlers(module->code, &frames[i], found_handler, &sweep);
    if (!sweep.no_memory)
        look_at_tables(&sweep);
    if (!sweep.no_memory)
        look_at_data(&sweep);
    sweep_free(&sweep);
    if (sweep.no_memory) {
        targets_free(targets);
        return BASE_NO_MEMORY;
    }
    if (targets->count)
        qsort(targets->items, targets->count, sizeof *targets->items, compare_targets);
    if (targets->bad_count)
        qsort(targets->bad, targets->bad_count, sizeof *targets->bad, compare_addresses);
    targets->loaded = true;
    return BASE_OK;
}

void targets_free(struct targets *targets)
{
    free(targets->items);
    free(targets->bad);
    *targets = (struct targets){0};
}
