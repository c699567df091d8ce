// SPDX-License-Identifier: MIT
/*
 * Where jumps through tables go, for the forms that compilers for x86-64 make of switch and
 * computed goto:
 *
 *     entries relative to the table:   lea table(%rip),%b; movslq (%b,%i,4),%t; add %b,%t; jmp *%t
 *     absolute entries:                mov table(,%i,8),%t; jmp *%t
 *                                      jmp *table(,%i,8)
 *                                      jmp *(%b,%i,8)
 *
 * Found backwards from the jump, by definitions of registers along all paths known so far; the base
 * is often set long before, outside of the loop. The number of entries follows from the comparison
 * that guards the jump; without one the table ends where an entry leads out of the function. Where the function
 * takes another address (lea) the table ends in any case: tables lie side by side. Values that went through memory
 * are not followed.
 */
#include "cfg/internal.h"

#include "isa/isa.h"

#include <stdlib.h>
#include <string.h>

enum {
    DEFINITIONS_MAX = 64,   /* of one register: of the dispatches that compilers merge       */
    COPIES_MAX = 4,         /* register to register, followed from a use                     */
    GUARD_STEPS_MAX = 40,   /* instructions between guard and jump                           */
    ENTRIES_MAX = 1 << 16,  /* of a guarded table                                            */
    FOUND_MAX = 1 << 10,    /* of a table without guard                                      */
    LEAST_EFFORT = 1 << 11, /* instructions met backwards and entries read in one function:  */
    EFFORT_SHARE = 16,      /* always granted, for each of its instructions, at most (0.1 s) */
    EFFORT_MAX = 1 << 18,
    SEARCH_MAX = 1 << 14, /* the same in one search                                        */
};

/* Conditions as encoded. */
enum { BELOW = 2, NOT_ABOVE = 6 };

struct definitions {
    uint32_t at[DEFINITIONS_MAX];
    uint32_t count;
};

struct insn {
    struct isa_insn insn;
    struct isa_operation does;
};

/* A table that a jump reads: entries of `bytes` bytes (8: absolute) at address,
 * relative to base. */
struct table {
    uint64_t address, base;
    uint32_t load; /* offset of the instruction that reads it */
    uint32_t bytes;
    int8_t index; /* register */
};

/* Compilers' functions take no more than twice their instructions. */
static bool is_exhausted(const struct walk *walk)
{
    return walk->effort > EFFORT_MAX ||
           walk->effort > LEAST_EFFORT + EFFORT_SHARE * walk->instructions;
}

static bool decode(struct walk *walk, uint32_t at, struct insn *insn)
{
    walk->effort++;
    return isa_decode_operation(walk->code->bytes + at, walk->code->count - at,
                                walk->code->start + at, &insn->insn, &insn->does) == BASE_OK;
}

/* The instruction that control falls through from into the one at `at`. */
static bool fell_from(const struct walk *walk, uint32_t at, uint32_t *before)
{
    for (uint32_t length = 1; length <= ISA_MAX_LENGTH && length <= at; length++) {
        uint8_t mark = walk->marks[at - length];
        if ((mark & MARK_LENGTH) == length && !(mark & MARK_ENDS)) {
            *before = at - length;
            return true;
        }
    }
    return false;
}

/* ---- definitions ------------------------------------------------------------------------- */

/* The registers that a call preserves. */
static bool survives_calls(int8_t name)
{
    return name == BASE_RBX || name == BASE_RSP || name == BASE_RBP || name >= BASE_R12;
}

struct search {
    struct walk *walk;
    int8_t name;
    uint32_t *stack; /* instructions at whose beginning the register is asked for */
    uint32_t count, number, met;
    size_t capacity;
    struct definitions found;
};

static bool ask_before(struct search *search, uint32_t at)
{
    if (search->walk->seen[at] == search->number)
        return true;
    search->walk->seen[at] = search->number;
    if (!UTIL_GROW(search->stack, search->capacity, search->count))
        return false;
    search->stack[search->count++] = at;
    return true;
}

/* The register at the end of the instruction at `at`. False: not known. */
static bool look_at(struct search *search, uint32_t at)
{
    struct insn insn;
    if (++search->met > SEARCH_MAX || is_exhausted(search->walk) ||
        !decode(search->walk, at, &insn))
        return false;
    if (insn.insn.flow == ISA_CALL && !survives_calls(search->name))
        return false;
    if (!(insn.insn.written >> search->name & 1))
        return ask_before(search, at);
    for (uint32_t i = 0; i < search->found.count; i++)
        if (search->found.at[i] == at)
            return true;
    if (search->found.count == DEFINITIONS_MAX)
        return false;
    search->found.at[search->found.count++] = at;
    return true;
}

static bool look_before(struct search *search, uint32_t at)
{
    const struct walk *walk = search->walk;
    uint32_t before;
    if (at == 0) /* an argument */
        return false;
    if (fell_from(walk, at, &before) && !look_at(search, before))
        return false;
    for (uint32_t i = walk->into[at]; i; i = walk->jumps[i - 1].next)
        if (!look_at(search, walk->jumps[i - 1].at))
            return false;
    return true;
}

/* Where the register's value before the instruction at `at` comes from. False: not only from known
   places. */
static bool define(struct walk *walk, uint32_t at, int8_t name, struct definitions *definitions)
{
    struct search search = {.walk = walk, .name = name, .number = ++walk->searches};
    bool good = name >= 0 && ask_before(&search, at);
    while (good && search.count)
        good = look_before(&search, search.stack[--search.count]);
    free(search.stack);
    *definitions = search.found;
    return good && search.found.count;
}

static bool is_register(const struct insn *insn, unsigned operand, uint8_t bytes)
{
    return operand < insn->does.operand_count && insn->does.operands[operand].kind == ISA_GENERAL &&
           insn->does.operands[operand].bytes == bytes && insn->does.operands[operand].shift == 0;
}

static bool is_copy(const struct insn *insn)
{
    return insn->does.code == ISA_DO_MOVE && is_register(insn, 0, 8) && is_register(insn, 1, 8);
}

/* Value that one instruction gives a register, without looking further. */
static bool is_constant(const struct insn *insn, uint64_t *value)
{
    const struct isa_access *access = &insn->insn.accesses[0];
    if (insn->does.code == ISA_DO_ADDRESS && is_register(insn, 0, 8) && access->base < 0 &&
        access->index < 0) {
        *value = (uint64_t)access->displacement;
        return true;
    }
    if (insn->does.code == ISA_DO_MOVE && insn->does.operand_count > 1 &&
        insn->does.operands[1].kind == ISA_IMMEDIATE &&
        (is_register(insn, 0, 8) || is_register(insn, 0, 4))) {
        *value = is_register(insn, 0, 4) ? (uint32_t)insn->does.immediate : insn->does.immediate;
        return true;
    }
    return false;
}

/* The register's value before the instruction at `at`, the same whatever the way there. */
static bool constant(struct walk *walk, uint32_t at, int8_t name, unsigned copies, uint64_t *value)
{
    struct definitions definitions;
    if (name < 0) {
        *value = 0;
        return true;
    }
    if (!define(walk, at, name, &definitions))
        return false;
    for (uint32_t i = 0; i < definitions.count; i++) {
        struct insn insn;
        uint64_t one;
        if (!decode(walk, definitions.at[i], &insn))
            return false;
        if (!is_constant(&insn, &one) &&
            (!is_copy(&insn) || copies == 0 ||
             !constant(walk, definitions.at[i], (int8_t)insn.does.operands[1].number, copies - 1,
                       &one)))
            return false;
        if (i > 0 && one != *value)
            return false;
        *value = one;
    }
    return true;
}

/* ---- how many entries ------------------------------------------------------------------------ */

struct guard {
    int8_t index;    /* register that holds the index here; -1: not known */
    bool armed;      /* a comparison before decides...                    */
    uint32_t beyond; /* ... and admits its immediate plus this many       */
};

/* A branch on the way: does going this way bound what was compared? */
static void pass_branch(struct guard *guard, unsigned condition, bool taken)
{
    unsigned way = condition ^ (taken ? 0 : 1); /* the condition that holds on the way */
    guard->armed = way == BELOW || way == NOT_ABOVE;
    guard->beyond = way == NOT_ABOVE;
}

static bool is_index(const struct guard *guard, const struct isa_operand *operand)
{
    return guard->index < 0 || operand->kind == ISA_MEMORY ||
           (operand->kind == ISA_GENERAL && operand->number == (uint8_t)guard->index);
}

/* True: the instruction bounds the index. */
static bool pass_insn(struct guard *guard, const struct insn *insn, uint64_t *entries)
{
    const struct isa_operation *does = &insn->does;
    bool immediate = does->operand_count > 1 && does->operands[1].kind == ISA_IMMEDIATE;
    if (guard->armed && does->flags_changed) {
        if ((does->code == ISA_DO_CMP || does->code == ISA_DO_SUB) && immediate &&
            is_index(guard, &does->operands[0])) {
            *entries = (does->immediate & 0xffffffff) + guard->beyond;
            return true;
        }
        guard->armed = false;
    }
    if (guard->index < 0 || !(insn->insn.written >> guard->index & 1))
        return false;
    if (does->code == ISA_DO_AND && immediate && does->immediate < ENTRIES_MAX) {
        *entries = does->immediate + 1;
        return true;
    }
    bool copy = (does->code == ISA_DO_MOVE || does->code == ISA_DO_MOVE_SIGNED) &&
                does->operand_count > 1 && does->operands[1].kind == ISA_GENERAL;
    guard->index = copy ? (int8_t)does->operands[1].number : -1;
    return false;
}

/* Backwards along one way: the one that falls through, where there are several. */
static bool find_guard(struct walk *walk, const struct table *table, uint64_t *entries)
{
    struct guard guard = {.index = table->index};
    uint32_t at = table->load, before;
    for (unsigned step = 0; step < GUARD_STEPS_MAX; step++) {
        struct insn insn;
        bool fell = fell_from(walk, at, &before);
        if (!fell && walk->into[at] == 0)
            return false;
        at = fell ? before : walk->jumps[walk->into[at] - 1].at;
        if (!decode(walk, at, &insn))
            return false;
        if (insn.does.code == ISA_DO_BRANCH)
            pass_branch(&guard, insn.does.condition, !fell);
        else if (insn.insn.flow == ISA_CALL && guard.index >= 0 && !survives_calls(guard.index))
            return false;
        else if (pass_insn(&guard, &insn, entries))
            return true;
    }
    return false;
}

/* ---- entries --------------------------------------------------------------------------------- */

static bool read_entry(struct walk *walk, const struct table *table, uint64_t number,
                       uint64_t *target)
{
    const struct base_memory *data = &walk->code->data;
    uint64_t address = table->address + number * table->bytes;
    int32_t offset;
    walk->effort++;
    if (table->bytes == 8)
        return data->read && base_read(data, address, target, sizeof *target);
    if (!data->read || !base_read(data, address, &offset, sizeof offset))
        return false;
    *target = table->base + (uint64_t)(int64_t)offset;
    return true;
}

/* Can the target be code of this function, from all that is known? */
static bool is_code(const struct walk *walk, uint64_t target)
{
    uint64_t to = target - walk->code->start;
    return target >= walk->code->start && to < walk->code->count &&
           (walk->marks[to] & (MARK_COVERED | MARK_LENGTH)) != MARK_COVERED;
}

/* The first of ascending addresses that is greater; `count`: none. */
static uint32_t first_beyond(const uint64_t *addresses, uint32_t count, uint64_t address)
{
    uint32_t low = 0, high = count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (addresses[middle] > address)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

/* How many entries there are at most: something else begins behind them. */
static uint64_t entries_before_next(const struct walk *walk, const struct table *table)
{
    uint32_t next = first_beyond(walk->known, walk->known_count, table->address);
    return next < walk->known_count ? (walk->known[next] - table->address) / table->bytes
                                    : UINT64_MAX;
}

static bool note_extent(struct walk *walk, const struct table *table, uint32_t entries)
{
    struct extent extent = {table->address, table->address + (uint64_t)entries * table->bytes};
    if (UTIL_PUSH(walk->extents, walk->extents_count, walk->extents_capacity, extent))
        return true;
    walk->no_memory = true;
    return false;
}

bool tables_overran(const struct walk *walk)
{
    for (uint32_t i = 0; i < walk->extents_count; i++) {
        uint32_t next = first_beyond(walk->named, walk->named_count, walk->extents[i].start);
        if (next < walk->named_count && walk->named[next] < walk->extents[i].end)
            return true;
    }
    return false;
}

/* False: no table of this function. */
static bool read_entries(struct walk *walk, const struct table *table, uint64_t *targets,
                         uint32_t *count)
{
    uint64_t entries;
    bool guarded = find_guard(walk, table, &entries) && entries <= ENTRIES_MAX, any = false;
    if (!guarded)
        entries = FOUND_MAX;
    uint64_t most = entries_before_next(walk, table);
    if (entries > most)
        entries = most;
    *count = 0;
    for (uint64_t i = 0; i < entries; i++) {
        uint64_t target;
        bool read = !is_exhausted(walk) && read_entry(walk, table, i, &target);
        bool code = read && is_code(walk, target);
        if (!read && guarded)
            return false;
        if (!code && !guarded)
            break;
        any = any || code;
        targets[(*count)++] = target;
    }
    qsort(targets, *count, sizeof *targets, compare_addresses);
    return any && note_extent(walk, table, *count);
}

static bool add_targets(struct walk *walk, uint32_t at, const uint64_t *targets, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        if ((i == 0 || targets[i] != targets[i - 1]) && !walk_jump(walk, at, targets[i], CFG_TABLE))
            return false;
    return true;
}

/* ---- forms ----------------------------------------------------------------------------------- */

/* Does this load read a table? bytes of an entry are those of the load. */
static bool is_table_load(struct walk *walk, uint32_t at, const struct insn *insn, uint32_t bytes,
                          struct table *table)
{
    const struct isa_access *access = &insn->insn.accesses[0];
    uint64_t start;
    if (insn->insn.access_count != 1 || access->direction != ISA_LOAD || access->bytes != bytes ||
        access->scale != bytes || access->index < 0 || access->segment || access->unaddressable ||
        access->address_bits != 64 || !constant(walk, at, access->base, COPIES_MAX, &start))
        return false;
    *table = (struct table){.address = start + (uint64_t)access->displacement,
                            .load = at,
                            .bytes = bytes,
                            .index = access->index};
    return true;
}

/* The index, if the register holds it times four. */
static int8_t scaled_index(struct walk *walk, uint32_t at, int8_t name)
{
    struct definitions definitions;
    struct insn insn;
    if (!define(walk, at, name, &definitions) || definitions.count != 1 ||
        !decode(walk, definitions.at[0], &insn))
        return -1;
    const struct isa_access *parts = &insn.insn.accesses[0];
    return insn.does.code == ISA_DO_ADDRESS && parts->base < 0 && parts->scale == 4 &&
                   parts->displacement == 0
               ? parts->index
               : -1;
}

/* The same as gcc -O0 does it: lea 0(,%i,4),%s; mov (%s,%b),%t; cltq. `at` is the extension. */
static bool is_scaled_load(struct walk *walk, uint32_t at, const struct insn *extension,
                           struct table *table)
{
    struct definitions definitions;
    struct insn insn;
    if (!is_register(extension, 0, 8) || !is_register(extension, 1, 4) ||
        !define(walk, at, (int8_t)extension->does.operands[1].number, &definitions) ||
        definitions.count != 1 || !decode(walk, definitions.at[0], &insn))
        return false;
    at = definitions.at[0];
    const struct isa_access *access = &insn.insn.accesses[0];
    if (insn.does.code != ISA_DO_MOVE || insn.insn.access_count != 1 ||
        access->direction != ISA_LOAD || access->bytes != 4 || access->scale != 1 ||
        access->base < 0 || access->segment || access->unaddressable)
        return false;
    int8_t index = scaled_index(walk, at, access->base), base = access->index;
    if (index < 0) {
        index = scaled_index(walk, at, access->index);
        base = access->base;
    }
    uint64_t start;
    if (index < 0 || !constant(walk, at, base, COPIES_MAX, &start))
        return false;
    *table = (struct table){
        .address = start + (uint64_t)access->displacement, .load = at, .bytes = 4, .index = -1};
    return true;
}

struct tables {
    struct table items[DEFINITIONS_MAX];
    uint32_t count;
};

static bool add_table(struct tables *tables, const struct table *table)
{
    if (tables->count == DEFINITIONS_MAX)
        return false;
    tables->items[tables->count++] = *table;
    return true;
}

/* `loaded` is read from a table, `base` is what its entries are relative to. */
static bool is_relative(struct walk *walk, uint32_t at, int8_t loaded, int8_t base,
                        struct tables *tables)
{
    struct definitions definitions;
    uint32_t before = tables->count;
    uint64_t start;
    if (!define(walk, at, loaded, &definitions) || base < 0 ||
        !constant(walk, at, base, COPIES_MAX, &start))
        return false;
    for (uint32_t i = 0; i < definitions.count; i++) {
        struct insn insn;
        struct table table;
        if (!decode(walk, definitions.at[i], &insn) || insn.does.code != ISA_DO_MOVE_SIGNED ||
            !is_register(&insn, 0, 8) ||
            (!is_table_load(walk, definitions.at[i], &insn, 4, &table) &&
             !is_scaled_load(walk, definitions.at[i], &insn, &table))) {
            tables->count = before;
            return false;
        }
        table.base = start;
        if (!add_table(tables, &table))
            return false;
    }
    return true;
}

/* The tables that the register's value before `at` comes from. */
static bool find_tables(struct walk *walk, uint32_t at, int8_t name, unsigned copies,
                        struct tables *tables)
{
    struct definitions definitions;
    if (!define(walk, at, name, &definitions))
        return false;
    for (uint32_t i = 0; i < definitions.count; i++) {
        struct insn insn;
        struct table table;
        bool good = false;
        uint32_t from = definitions.at[i];
        if (!decode(walk, from, &insn))
            return false;
        const struct isa_access *parts = &insn.insn.accesses[0];
        int8_t second = insn.does.operand_count > 1 ? (int8_t)insn.does.operands[1].number : -1;
        if (insn.does.code == ISA_DO_ADD && is_register(&insn, 0, 8) && is_register(&insn, 1, 8))
            good = is_relative(walk, from, name, second, tables) ||
                   is_relative(walk, from, second, name, tables);
        else if (insn.does.code == ISA_DO_ADDRESS && parts->scale == 1 && parts->displacement == 0)
            good = is_relative(walk, from, parts->base, parts->index, tables) ||
                   is_relative(walk, from, parts->index, parts->base, tables);
        else if (is_copy(&insn) && copies > 0)
            good = find_tables(walk, from, second, copies - 1, tables);
        else if (insn.does.code == ISA_DO_MOVE && is_register(&insn, 0, 8))
            good = is_table_load(walk, from, &insn, 8, &table) && add_table(tables, &table);
        if (!good)
            return false;
    }
    return true;
}

/* All tables or none: with half of its targets a jump would look understood. */
static bool add_tables(struct walk *walk, uint32_t at, const struct tables *tables, bool *resolved)
{
    uint64_t *targets = NULL;
    uint32_t *counts = calloc(tables->count + 1, sizeof *counts);
    size_t capacity = 0, used = 0;
    bool known = counts != NULL;
    for (uint32_t i = 0; i < tables->count && known; i++) {
        known = UTIL_GROW(targets, capacity, used + ENTRIES_MAX - 1) &&
                read_entries(walk, &tables->items[i], targets + used, &counts[i]);
        used += known ? counts[i] : 0;
    }
    bool good = true;
    for (size_t i = 0, first = 0; i < tables->count && known && good; first += counts[i++])
        good = add_targets(walk, at, targets + first, counts[i]);
    *resolved = known && good;
    free(targets);
    free(counts);
    return good;
}

bool tables_resolve(struct walk *walk, uint32_t at, bool *resolved)
{
    struct tables tables = {.count = 0};
    struct table table;
    struct insn insn;
    *resolved = false;
    if (is_exhausted(walk) || !decode(walk, at, &insn))
        return true;
    if (insn.insn.access_count) {
        if (!is_table_load(walk, at, &insn, 8, &table) || !add_table(&tables, &table))
            return true;
    } else if (!is_register(&insn, 0, 8) ||
               !find_tables(walk, at, (int8_t)insn.does.operands[0].number, COPIES_MAX, &tables)) {
        return true;
    }
    return add_tables(walk, at, &tables, resolved);
}
