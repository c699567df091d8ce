// SPDX-License-Identifier: MIT
/*
 * The resource bound (MIIress): work that any unit of a set can do, over all unions of such sets. The table gives each unit its
 * share when work is spread so that the busiest unit has least, then the next, and so on: the union with most work a unit is
 * settled, taken away, and the rest treated alike.
 */
#include "bounds/internal.h"

#include <stdlib.h>
#include <string.h>

enum { SETS_MAX = 64, UNIONS_MAX = 512, ROWS_MAX = MODEL_UNITS_MAX + 8 };

struct sets {
    size_t count;
    model_set units[SETS_MAX];
    double work[SETS_MAX];
};

static void add_work(struct sets *sets, model_set units, double cycles)
{
    size_t s = 0;
    while (s < sets->count && sets->units[s] != units)
        s++;
    if (s == SETS_MAX)
        return; /* more kinds of sets than machines have: the bound stays one from below */
    if (s == sets->count) {
        sets->units[sets->count++] = units;
        sets->work[s] = 0;
    }
    sets->work[s] += cycles;
}

static double copies_of(const struct model_machine *machine, model_set units)
{
    double copies = 0;
    for (; units; units &= units - 1)
        copies += machine->units[__builtin_ctzll(units)].copies;
    return copies;
}

static size_t unions_of(const struct sets *sets, model_set unions[UNIONS_MAX])
{
    size_t count = 0;
    for (size_t s = 0; s < sets->count; s++) {
        size_t before = count;
        for (size_t u = 0; u <= before && count < UNIONS_MAX;
             u++) { /* with none, and with each that is there */
            model_set made = sets->units[s] | (u < before ? unions[u] : 0);
            size_t known = 0;
            while (known < count && unions[known] != made)
                known++;
            if (known == count)
                unions[count++] = made;
        }
    }
    return count;
}

/* The union with most work a unit; of equal ones the one with fewest units. */
static double fullest(const struct model_machine *machine, const struct sets *sets,
                      model_set *units)
{
    model_set unions[UNIONS_MAX];
    size_t count = unions_of(sets, unions);
    double most = 0, copies_least = 0;
    *units = 0;
    for (size_t u = 0; u < count; u++) {
        double work = 0, copies = copies_of(machine, unions[u]);
        for (size_t s = 0; s < sets->count; s++)
            work += (sets->units[s] & ~unions[u]) == 0 ? sets->work[s] : 0;
        double cycles = work / copies;
        if (cycles > most + 1e-9 || (cycles > most - 1e-9 && *units && copies < copies_least)) {
            most = cycles;
            *units = unions[u];
            copies_least = copies;
        }
    }
    return most;
}

static void take_away(struct sets *sets, model_set units)
{
    struct sets left = {0};
    for (size_t s = 0; s < sets->count; s++)
        if (sets->units[s] & ~units)
            add_work(&left, sets->units[s] & ~units, sets->work[s]);
    *sets = left;
}

/* ---- the table -------------------------------------------------------------------------------------- */

static void add_row(struct bounds *out, const char *name, double copies, double cycles, double work)
{
    if (out->resource_count < ROWS_MAX && cycles > 0)
        out->resources[out->resource_count++] =
            (struct bounds_resource){name, (float)copies, (float)cycles, (float)work, false};
}

static double own_work(const struct sets *sets, unsigned unit)
{
    for (size_t s = 0; s < sets->count; s++)
        if (sets->units[s] == (model_set)1 << unit)
            return sets->work[s];
    return 0;
}

/* *bottleneck: of the pipelined units, the union that bounds. */
static double add_units(struct work *work, const struct sets *all, const double *busy,
                        model_set *bottleneck)
{
    const struct model_machine *machine = work->machine;
    struct sets sets = *all;
    double cycles[MODEL_UNITS_MAX] = {0}, bound = 0, most;
    model_set units;
    *bottleneck = 0;
    while ((most = fullest(machine, &sets, &units)) > 0) {
        if (!*bottleneck) {
            *bottleneck = units;
            bound = most;
        }
        for (model_set rest = units; rest; rest &= rest - 1)
            cycles[__builtin_ctzll(rest)] = most;
        take_away(&sets, units);
    }
    for (unsigned u = 0; u < machine->unit_count; u++) {
        double occupied = busy[u] / machine->units[u].copies;
        add_row(work->out, machine->units[u].name, machine->units[u].copies,
                fmax(cycles[u], occupied), own_work(all, u));
        if (occupied > bound) {
            bound = occupied;
            *bottleneck = (model_set)1 << u;
        }
    }
    return bound;
}

/* What the whole machine does of a kind in a cycle, where units are not known by role. */
static double add_rates(struct work *work)
{
    double loaded = 0, stored = 0, branches = 0;
    for (size_t i = 0; i < work->block->count; i++) {
        const struct bounds_instruction *instruction = &work->block->instructions[i];
        branches += instruction->branches || instruction->jumps;
        for (unsigned k = 0; k < instruction->operand_count; k++) {
            const struct bounds_operand *operand = &instruction->operands[k];
            bool wide = operand->bits >= 512;
            loaded +=
                loads(operand)
                    ? 1 / fmaxf(0.1F, figure(work, wide ? MODEL_LOADS_VECTOR : MODEL_LOADS, 1e9F))
                    : 0;
            stored +=
                stores(operand)
                    ? 1 / fmaxf(0.1F, figure(work, wide ? MODEL_STORES_VECTOR : MODEL_STORES, 1e9F))
                    : 0;
        }
    }
    double loads_rate = figure(work, MODEL_LOADS, 0), stores_rate = figure(work, MODEL_STORES, 0);
    double branch_rate = figure(work, MODEL_NOT_TAKEN, 0);
    if (loads_rate > 0)
        add_row(work->out, "loads", loads_rate, loaded, loaded * loads_rate);
    if (stores_rate > 0)
        add_row(work->out, "stores", stores_rate, stored, stored * stores_rate);
    if (branch_rate > 0)
        add_row(work->out, "branches", branch_rate, branches / branch_rate, branches);
    return fmax(loads_rate > 0 ? loaded : 0,
                fmax(stores_rate > 0 ? stored : 0, branch_rate > 0 ? branches / branch_rate : 0));
}

bool counts_alone(const struct cost *cost)
{
    return cost->figures && cost->figures->throughput_source == MODEL_MEASURED &&
           cost->figures->throughput > 0 && !cost->figures->busy_count &&
           !(cost->figures->idioms & MODEL_VARIES) && !cost->zeroes && !cost->eliminated &&
           !cost->fused;
}

/* Copies of one form take the time that was measured for them, whatever units they use. */
static double add_forms(struct work *work)
{
    const struct bounds_instruction *instructions = work->block->instructions;
    double most = 0;
    size_t which = 0;
    for (size_t i = 0; i < work->block->count; i++) {
        if (!counts_alone(&work->costs[i]))
            continue;
        size_t copies = 0;
        for (size_t j = 0; j < work->block->count; j++)
            copies += work->costs[j].figures == work->costs[i].figures &&
                      counts_alone(&work->costs[j]) &&
                      strcmp(instructions[j].key, instructions[i].key) == 0;
        double cycles = (double)copies * work->costs[i].figures->throughput;
        if (cycles > most + 1e-9) {
            most = cycles;
            which = i;
        }
    }
    if (most > 0)
        add_row(work->out, instructions[which].key, 1, most, most);
    return most;
}

/* Of the forms' keys: with the prefix, and an exchange with memory, which locks without one. */
bool is_locked(const struct bounds_instruction *instruction)
{
    return strstr(instruction->key, ".lock") || strncmp(instruction->key, "xchg_m", 6) == 0;
}

/* Locked accesses of a thread follow one another, whatever they compute: each begins when the one before is done. */
static double add_locked(struct work *work)
{
    double cycles = 0;
    for (size_t i = 0; i < work->block->count; i++)
        if (counts_alone(&work->costs[i]) && is_locked(&work->block->instructions[i]))
            cycles += (double)work->costs[i].figures->throughput;
    if (cycles > 0)
        add_row(work->out, "locked accesses", 1, cycles, cycles);
    return cycles;
}

static void set_pressure(struct work *work, model_set bottleneck)
{
    double copies = bottleneck ? copies_of(work->machine, bottleneck) : 1;
    for (size_t i = 0; i < work->block->count; i++) {
        const struct cost *cost = &work->costs[i];
        double cycles = 0;
        for (unsigned u = 0; u < cost->use_count; u++)
            cycles += (cost->uses[u].units & ~bottleneck) == 0 ? cost->uses[u].cycles : 0;
        for (unsigned b = 0; cost->figures && cost->use_count && b < cost->figures->busy_count; b++)
            cycles = bottleneck == (model_set)1 << cost->figures->busy[b].unit
                         ? cost->figures->busy[b].least
                         : cycles;
        work->out->pressure[i] = cycles / copies;
    }
}

bool resources_of(struct work *work)
{
    struct sets sets = {0};
    double busy[MODEL_UNITS_MAX] = {0};
    struct bounds *out = work->out;
    model_set bottleneck = 0;
    out->resources = calloc(ROWS_MAX, sizeof *out->resources);
    out->pressure = calloc(work->block->count, sizeof *out->pressure);
    if (!out->resources || !out->pressure)
        return false;
    for (size_t i = 0; i < work->block->count; i++) {
        const struct cost *cost = &work->costs[i];
        for (unsigned u = 0; u < cost->use_count; u++)
            add_work(&sets, cost->uses[u].units, cost->uses[u].cycles);
        if (cost->zeroes || cost->eliminated || cost->fused || !cost->figures)
            continue;
        for (unsigned b = 0; b < cost->figures->busy_count; b++)
            busy[cost->figures->busy[b].unit] += cost->figures->busy[b].least;
    }
    double units = add_units(work, &sets, busy, &bottleneck);
    double locked = add_locked(work), rates = add_rates(work), forms = add_forms(work);
    out->resource = fmax(fmax(units, locked), fmax(rates, forms));
    for (size_t r = 0; r < out->resource_count; r++)
        out->resources[r].bottleneck =
            out->resource > 0 && out->resources[r].cycles > out->resource - 1e-4;
    set_pressure(work, bottleneck);
    return true;
}

void stores_of(struct work *work)
{
    struct bounds *out = work->out;
    double cycles = out->store_blocks, stored = 0;
    add_row(out, "stores to another place", 1, cycles, cycles);
    if (cycles <= out->resource + 1e-4)
        return;
    for (size_t r = 0; r < out->resource_count; r++)
        out->resources[r].bottleneck = (double)out->resources[r].cycles > cycles - 1e-4;
    out->resource = cycles;
    for (size_t i = 0; i < work->block->count; i++) {
        const struct bounds_instruction *instruction = &work->block->instructions[i];
        out->pressure[i] = 0;
        for (unsigned k = 0; k < instruction->operand_count; k++)
            out->pressure[i] += stores(&instruction->operands[k]);
        stored += out->pressure[i];
    }
    for (size_t i = 0; i < work->block->count; i++)
        out->pressure[i] *= stored > 0 ? cycles / stored : 0;
}
