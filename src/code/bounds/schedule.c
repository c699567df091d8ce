// SPDX-License-Identifier: MIT
/*
 * List scheduling of the unrolled loop: schedule.h.
 *
 * A lane is what has so much room in each cycle: a unit, all loads, stores, branches or locked accesses together, or all copies of one form where that
 * was measured. Lanes keep how full each of their cycles is; full ones are skipped by links that paths are compressed along
 * (Tarjan's union-find), so the first one with room is found at once however far the window reaches.
 */
#include "bounds/executed.h"
#include "bounds/internal.h"

#include <stdlib.h>
#include <string.h>

enum { CYCLE = 1000, CELLS_FIRST = 1024 };

/* Lanes of the whole machine, behind those of its units. */
enum { LANE_LOADS, LANE_STORES, LANE_BRANCHES, LANE_LOCKED, LANES_MORE };

struct lane {
    uint32_t room;  /* thousandths of work that a cycle has room for */
    uint32_t *used; /* by cycle */
    uint32_t *next; /* by cycle: one that may have room, not before it */
    size_t cells;
};

struct scheduling {
    struct work work;
    struct schedule *out;
    const struct bounds *bounds;
    const int32_t *waits; /* by vertex; NULL: not of what was executed */
    enum schedule_kind kind;
    struct lane *lanes; /* units, then LANES_MORE, then one for each instruction */
    size_t lane_count;
    float demand[MODEL_UNITS_MAX]; /* by unit: work that might be its own, shared out evenly */
    uint32_t *first_arc, *arcs;    /* by vertex: flow arcs into it */
    int64_t *own;                  /* by vertex: from its inputs to its result */
    uint32_t *first_vertex;        /* by instruction */
    uint32_t *form;                /* by instruction: the first one of the same form */
    int64_t clock;                 /* when the front end has its next slot */
    int64_t *retired;              /* by instruction executed */
    int64_t *entered;              /* likewise */
    size_t *waited_for; /* likewise: that had to retire for it to enter; SIZE_MAX: none */
    int64_t *slots;     /* slots before it, thousandths, likewise */
    size_t oldest, executed;
    int64_t busy_until, busy_before; /* the last work of any lane; that of the first half */
    bool failed;
};

/* ---- lanes --------------------------------------------------------------------------------------------- */

static bool reach(struct lane *lane, size_t cell)
{
    if (cell < lane->cells)
        return true;
    size_t cells = lane->cells ? lane->cells : CELLS_FIRST;
    while (cells <= cell)
        cells *= 2;
    uint32_t *used = realloc(lane->used, cells * sizeof *used);
    lane->used = used ? used : lane->used;
    uint32_t *next = used ? realloc(lane->next, cells * sizeof *next) : NULL;
    if (!next)
        return false;
    lane->next = next;
    for (size_t i = lane->cells; i < cells; i++) {
        lane->used[i] = 0;
        lane->next[i] = (uint32_t)i;
    }
    lane->cells = cells;
    return true;
}

/* The first cycle from `cell` on that has room. SIZE_MAX: no memory. */
static size_t first_with_room(struct lane *lane, size_t cell)
{
    size_t found = cell;
    for (;;) {
        if (!reach(lane, found))
            return SIZE_MAX;
        if (lane->next[found] == found)
            break;
        found = lane->next[found];
    }
    while (cell != found) {
        size_t next = lane->next[cell];
        lane->next[cell] = (uint32_t)found;
        cell = next;
    }
    return found;
}

/* Takes room from that cycle on, where there is some. */
static bool take_room(struct scheduling *state, struct lane *lane, size_t cell, uint32_t amount)
{
    while (amount) {
        cell = first_with_room(lane, cell);
        if (cell == SIZE_MAX)
            return false;
        uint32_t part = lane->room - lane->used[cell];
        part = part < amount ? part : amount;
        lane->used[cell] += part;
        amount -= part;
        int64_t until = (int64_t)cell * CYCLE + (int64_t)lane->used[cell] * CYCLE / lane->room;
        state->busy_until = until > state->busy_until ? until : state->busy_until;
        if (lane->used[cell] == lane->room)
            lane->next[cell] = (uint32_t)cell + 1;
    }
    return true;
}

/* Is a unit the better one of two that have room at the same time? What others need more is left to them. */
static bool is_freer(const struct scheduling *state, size_t unit, size_t than)
{
    float difference = state->demand[unit] - state->demand[than];
    return fabsf(difference) > 1e-3F ? difference < 0
                                     : state->out->work[unit] < state->out->work[than];
}

/* Of the lanes of a set, the one that has room first. */
static size_t choose_lane(struct scheduling *state, model_set units, int64_t issue, size_t *cell)
{
    size_t chosen = SIZE_MAX;
    *cell = SIZE_MAX;
    for (; units; units &= units - 1) {
        size_t unit = (size_t)__builtin_ctzll(units);
        size_t found = first_with_room(&state->lanes[unit], (size_t)(issue / CYCLE));
        if (found < *cell || (found == *cell && chosen != SIZE_MAX && found != SIZE_MAX &&
                              is_freer(state, unit, chosen))) {
            *cell = found;
            chosen = unit;
        }
    }
    return chosen;
}

/* Work for one of the units. Returns when it begins. */
static int64_t occupy(struct scheduling *state, model_set units, float cycles, int64_t issue,
                      uint8_t *unit)
{
    size_t cell, lane = choose_lane(state, units, issue, &cell);
    uint32_t amount = (uint32_t)lrintf(cycles * CYCLE);
    if (lane == SIZE_MAX || !take_room(state, &state->lanes[lane], cell, amount)) {
        state->failed = true;
        return issue;
    }
    state->out->work[lane] += (double)cycles;
    if (unit && *unit == SCHEDULE_NO_UNIT)
        *unit = (uint8_t)lane;
    int64_t begins = (int64_t)cell * CYCLE;
    return begins > issue ? begins : issue;
}

static int64_t occupy_lane(struct scheduling *state, size_t lane, float cycles, int64_t issue)
{
    size_t cell = first_with_room(&state->lanes[lane], (size_t)(issue / CYCLE));
    if (cell == SIZE_MAX ||
        !take_room(state, &state->lanes[lane], cell, (uint32_t)lrintf(cycles * CYCLE))) {
        state->failed = true;
        return issue;
    }
    int64_t begins = (int64_t)cell * CYCLE;
    return begins > issue ? begins : issue;
}

/* ---- what an instruction uses ----------------------------------------------------------------------------- */

enum part { PART_LOAD, PART_COMPUTE, PART_STORE, PARTS };

/* Which of its operations a use belongs to. parts: those that the instruction has. */
static enum part part_of(const struct scheduling *state, const struct model_use *use,
                         const bool *parts)
{
    const model_set *roles = state->work.machine->roles;
    model_set stored = roles[MODEL_STORE_ADDRESS] | roles[MODEL_STORE_DATA];
    if (parts[PART_LOAD] && (!parts[PART_COMPUTE] || (use->units & ~roles[MODEL_LOAD]) == 0) &&
        !(parts[PART_STORE] && (use->units & ~stored) == 0))
        return PART_LOAD;
    if (parts[PART_STORE] && (!parts[PART_COMPUTE] || (use->units & ~stored) == 0))
        return PART_STORE;
    return parts[PART_COMPUTE] ? PART_COMPUTE : PART_STORE;
}

static int64_t later(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* Loads, stores and branches of the whole machine a cycle, where the model has that. */
static int64_t occupy_rates(struct scheduling *state, const struct bounds_instruction *instruction,
                            enum part part, int64_t issue)
{
    size_t units = state->work.machine->unit_count;
    int64_t begins = issue;
    for (unsigned k = 0; k < instruction->operand_count; k++) {
        const struct bounds_operand *operand = &instruction->operands[k];
        bool wide = operand->bits >= 512;
        float loaded = figure(&state->work, wide ? MODEL_LOADS_VECTOR : MODEL_LOADS, 0);
        float stored = figure(&state->work, wide ? MODEL_STORES_VECTOR : MODEL_STORES, 0);
        if (part == PART_LOAD && loads(operand) && loaded > 0)
            begins = later(begins,
                           occupy_lane(state, units + LANE_LOADS, 1 / fmaxf(0.1F, loaded), issue));
        if (part == PART_STORE && stores(operand) && stored > 0)
            begins = later(begins,
                           occupy_lane(state, units + LANE_STORES, 1 / fmaxf(0.1F, stored), issue));
    }
    return begins;
}

/* What copies of its form take among themselves; and locked accesses of all forms, which follow one another. */
static int64_t occupy_alone(struct scheduling *state, uint32_t at, int64_t issue)
{
    size_t units = state->work.machine->unit_count;
    float cycles = state->work.costs[at].figures->throughput;
    int64_t begins = occupy_lane(state, units + LANES_MORE + state->form[at], cycles, issue);
    if (is_locked(&state->work.block->instructions[at]))
        begins = later(begins, occupy_lane(state, units + LANE_LOCKED, cycles, issue));
    return begins;
}

/* All that this part of the instruction uses, from `issue` on. Returns when the last of it begins. */
static int64_t occupy_part(struct scheduling *state, uint32_t at, enum part part, const bool *parts,
                           int64_t issue, uint8_t *unit)
{
    const struct cost *cost = &state->work.costs[at];
    enum part main = parts[PART_COMPUTE] ? PART_COMPUTE : parts[PART_LOAD] ? PART_LOAD : PART_STORE;
    int64_t begins = issue;
    if (state->kind == SCHEDULE_DATA_FLOW)
        return issue;
    for (unsigned u = 0; u < cost->use_count; u++)
        if (cost->uses[u].cycles > 0 && part_of(state, &cost->uses[u], parts) == part)
            begins = later(begins,
                           occupy(state, cost->uses[u].units, cost->uses[u].cycles, issue, unit));
    begins = later(begins, occupy_rates(state, &state->work.block->instructions[at], part, issue));
    if (part != main || cost->zeroes || cost->eliminated || cost->fused || !cost->figures)
        return begins;
    for (unsigned b = 0; b < cost->figures->busy_count; b++)
        if (cost->figures->busy[b].least > 0)
            begins = later(begins, occupy(state, (model_set)1 << cost->figures->busy[b].unit,
                                          cost->figures->busy[b].least, issue, unit));
    if (counts_alone(cost))
        begins = later(begins, occupy_alone(state, at, issue));
    return begins;
}

/* Branches and what else makes no value: they have their unit, and nothing waits for them. */
static void occupy_valueless(struct scheduling *state, uint32_t at, int64_t issue)
{
    static const bool parts[PARTS] = {[PART_COMPUTE] = true};
    occupy_part(state, at, PART_COMPUTE, parts, issue, NULL);
}

static void occupy_branch(struct scheduling *state, uint32_t at, int64_t issue)
{
    const struct bounds_instruction *instruction = &state->work.block->instructions[at];
    float rate = figure(&state->work, MODEL_NOT_TAKEN, 0);
    if (state->kind != SCHEDULE_DATA_FLOW && rate > 0 &&
        (instruction->branches || instruction->jumps))
        occupy_lane(state, state->work.machine->unit_count + LANE_BRANCHES, 1 / rate, issue);
}

/* ---- the front end and the reorder buffer --------------------------------------------------------------------- */

static float slots_a_cycle(const struct scheduling *state)
{
    float width = fmaxf(1, figure(&state->work, MODEL_WIDTH, 1e9F));
    float decoded = figure(&state->work, MODEL_DECODED, 0);
    return !state->work.options->unrolled && decoded > 0 ? fminf(width, decoded) : width;
}

/* When the instruction enters the window. */
static int64_t enter(struct scheduling *state, uint32_t at)
{
    int64_t slots = (int64_t)lrintf(state->work.costs[at].slots * CYCLE);
    int64_t buffer = (int64_t)lrintf(figure(&state->work, MODEL_REORDER_BUFFER, 0) * CYCLE);
    size_t now = state->executed;
    state->waited_for[now] = SIZE_MAX;
    if (state->kind != SCHEDULE_MACHINE)
        return 0;
    while (buffer > 0 && state->oldest < now &&
           state->slots[now] + slots - state->slots[state->oldest] > buffer) {
        if (state->retired[state->oldest] > state->clock) {
            state->clock = state->retired[state->oldest];
            state->waited_for[now] = state->oldest;
        }
        state->oldest++;
    }
    state->entered[now] = state->clock;
    state->clock += (int64_t)llrintf((float)slots / slots_a_cycle(state));
    return state->entered[now];
}

static void leave(struct scheduling *state, uint32_t at, int64_t done)
{
    size_t now = state->executed++;
    state->retired[now] = now ? later(state->retired[now - 1], done) : done;
    state->slots[now + 1] =
        state->slots[now] + (int64_t)lrintf(state->work.costs[at].slots * CYCLE);
}

/* ---- one operation ---------------------------------------------------------------------------------------------- */

static const struct bounds_operand *operand_of(const struct bounds_instruction *instruction,
                                               uint8_t number)
{
    unsigned k = 0;
    while (k + 1 < instruction->operand_count && instruction->operands[k].number != number)
        k++;
    return &instruction->operands[k];
}

/* Of an operation whose inputs are all from before the loop. */
static int64_t constant_latency(const struct scheduling *state, const struct bounds_vertex *vertex)
{
    const struct work *work = &state->work;
    const struct cost *cost = &work->costs[vertex->instruction];
    const struct bounds_instruction *instruction = &work->block->instructions[vertex->instruction];
    const struct bounds_operand *result = operand_of(instruction, vertex->operand);
    int64_t longest = 0;
    if (vertex->kind == BOUNDS_LOADS)
        return load_latency(work, vertex->instruction, result, false).least;
    for (unsigned k = 0; k < instruction->operand_count; k++)
        if ((instruction->operands[k].reads || instruction->operands[k].kind == BOUNDS_ADDRESS) &&
            !cost->zeroes && !cost->breaks && vertex->kind == BOUNDS_COMPUTES)
            longest = later(longest, compute_latency(work, vertex->instruction,
                                                     &instruction->operands[k], result)
                                         .least);
    return longest;
}

/* What a load takes longer than a hit. */
static int64_t wait_of(const struct scheduling *state, uint32_t vertex)
{
    return state->waits ? state->waits[vertex] : 0;
}

/* From its inputs to its result. */
static int64_t own_latency(const struct scheduling *state, uint32_t vertex)
{
    int64_t longest = 0;
    bool waits = false;
    for (uint32_t i = state->first_arc[vertex]; i < state->first_arc[vertex + 1]; i++) {
        const struct bounds_arc *arc = &state->bounds->arcs[state->arcs[i]];
        waits |= !arc->memory;
        if (!arc->memory)
            longest = later(longest, arc->latency);
    }
    longest = waits ? longest : constant_latency(state, &state->bounds->vertices[vertex]);
    return longest + wait_of(state, vertex);
}

/* Its inputs, without regard to units. */
static void await(struct scheduling *state, struct schedule_operation *operation, int64_t entered)
{
    size_t vertices = state->bounds->vertex_count;
    int64_t own = state->own[operation->vertex];
    operation->end = entered + own;
    operation->before = BOUNDS_NONE;
    for (uint32_t i = state->first_arc[operation->vertex];
         i < state->first_arc[operation->vertex + 1]; i++) {
        const struct bounds_arc *arc = &state->bounds->arcs[state->arcs[i]];
        if (arc->distance > operation->iteration)
            continue;
        size_t from = (operation->iteration - arc->distance) * vertices + arc->from;
        int64_t there = state->out->operations[from].end + arc->latency;
        if (!arc->memory)
            there += wait_of(state, operation->vertex);
        if (there > operation->end || (there == operation->end && there > 0)) {
            operation->end = there;
            operation->before = (uint32_t)from;
        }
    }
    operation->start = later(entered, operation->end - own);
}

static enum part part_of_vertex(const struct bounds_vertex *vertex)
{
    return vertex->kind == BOUNDS_LOADS    ? PART_LOAD
           : vertex->kind == BOUNDS_STORES ? PART_STORE
                                           : PART_COMPUTE;
}

/* Operations of one kind of an instruction begin together, when all that they need is there and the units have room. */
static int64_t begin_part(struct scheduling *state, uint32_t at, enum part part, const bool *parts,
                          struct schedule_operation *operations, int64_t entered)
{
    uint32_t first = state->first_vertex[at], end = state->first_vertex[at + 1];
    int64_t issue = INT64_MAX, done = 0;
    uint8_t unit = SCHEDULE_NO_UNIT;
    for (uint32_t v = first; v < end; v++)
        if (part_of_vertex(&state->bounds->vertices[v]) == part) {
            await(state, &operations[v], entered);
            issue = operations[v].start < issue ? operations[v].start : issue;
        }
    int64_t waits = occupy_part(state, at, part, parts, issue, &unit) - issue;
    for (uint32_t v = first; v < end; v++)
        if (part_of_vertex(&state->bounds->vertices[v]) == part) {
            operations[v].start += waits;
            operations[v].end += waits;
            operations[v].waited = waits;
            operations[v].unit = unit;
            done = later(done, operations[v].end);
        }
    return done;
}

static void execute(struct scheduling *state, uint32_t at, uint32_t iteration)
{
    size_t vertices = state->bounds->vertex_count;
    struct schedule_operation *operations = state->out->operations + iteration * vertices;
    bool parts[PARTS] = {false};
    int64_t entered = enter(state, at), done = entered;
    for (uint32_t v = state->first_vertex[at]; v < state->first_vertex[at + 1]; v++) {
        operations[v].vertex = v;
        operations[v].iteration = iteration;
        parts[part_of_vertex(&state->bounds->vertices[v])] = true;
    }
    for (unsigned part = 0; part < PARTS; part++)
        if (parts[part])
            done = later(done, begin_part(state, at, (enum part)part, parts, operations, entered));
    if (state->first_vertex[at] == state->first_vertex[at + 1])
        occupy_valueless(state, at, entered);
    occupy_branch(state, at, entered);
    leave(state, at, done);
}

/* ---- the loop ------------------------------------------------------------------------------------------------------ */

static bool sort_arcs(struct scheduling *state)
{
    const struct bounds *bounds = state->bounds;
    uint32_t *first = calloc(bounds->vertex_count + 2, sizeof *first);
    uint32_t *arcs = calloc(bounds->arc_count + 1, sizeof *arcs);
    state->first_arc = first;
    state->arcs = arcs;
    if (!first || !arcs)
        return false;
    for (unsigned pass = 0; pass < 2; pass++) {
        for (uint32_t a = 0; a < bounds->arc_count; a++) {
            const struct bounds_arc *arc = &bounds->arcs[a];
            if (arc->dependence != BOUNDS_FLOW || arc->may)
                continue;
            if (pass == 0)
                first[arc->to + 2]++;
            else
                arcs[first[arc->to + 1]++] = a;
        }
        for (size_t v = 0; pass == 0 && v < bounds->vertex_count; v++)
            first[v + 2] += first[v + 1];
    }
    return true;
}

static bool has_key(const void *items, uint32_t item, const void *key)
{
    const struct bounds_instruction *wanted = key, *instructions = items;
    return strcmp(instructions[item].key, wanted->key) == 0;
}

static bool find_forms(struct scheduling *state)
{
    const struct bounds_block *block = state->work.block;
    struct util_index forms = {0};
    bool good = true, found;
    for (uint32_t i = 0; i < block->count && good; i++) {
        const struct bounds_instruction *instruction = &block->instructions[i];
        good =
            util_index_enter(&forms, base_hash_bytes(instruction->key, strlen(instruction->key), 0),
                             has_key, block->instructions, instruction, i, &state->form[i], &found);
    }
    util_index_free(&forms);
    return good;
}

static bool find_vertices(struct scheduling *state)
{
    const struct bounds_block *block = state->work.block;
    state->first_vertex = calloc(block->count + 1, sizeof *state->first_vertex);
    state->form = calloc(block->count, sizeof *state->form);
    if (!state->first_vertex || !state->form)
        return false;
    for (uint32_t i = 0, v = 0; i < block->count; i++) {
        state->first_vertex[i] = v;
        while (v < state->bounds->vertex_count && state->bounds->vertices[v].instruction == i)
            v++;
        state->first_vertex[i + 1] = v;
    }
    return find_forms(state);
}

static bool find_latencies(struct scheduling *state)
{
    state->own = calloc(state->bounds->vertex_count + 1, sizeof *state->own);
    for (uint32_t v = 0; state->own && v < state->bounds->vertex_count; v++)
        state->own[v] = own_latency(state, v);
    return state->own != NULL;
}

static bool make_lanes(struct scheduling *state)
{
    const struct model_machine *machine = state->work.machine;
    state->lane_count = machine->unit_count + LANES_MORE + state->work.block->count;
    state->lanes = calloc(state->lane_count, sizeof *state->lanes);
    for (size_t l = 0; state->lanes && l < state->lane_count; l++)
        state->lanes[l].room =
            CYCLE *
            (l < machine->unit_count && machine->units[l].copies ? machine->units[l].copies : 1);
    return state->lanes != NULL;
}

static void find_demand(struct scheduling *state)
{
    for (size_t i = 0; i < state->work.block->count; i++)
        for (unsigned u = 0; u < state->work.costs[i].use_count; u++) {
            const struct model_use *use = &state->work.costs[i].uses[u];
            float part = use->cycles / (float)__builtin_popcountll(use->units);
            for (model_set units = use->units; units; units &= units - 1)
                state->demand[__builtin_ctzll(units)] += part;
        }
    for (size_t u = 0; u < MODEL_UNITS_MAX; u++)
        state->demand[u] /= (float)state->work.block->count;
}

static bool begin_schedule(struct scheduling *state)
{
    struct schedule *out = state->out;
    size_t instructions = state->work.block->count * (size_t)out->iterations;
    out->operation_count = state->bounds->vertex_count * (size_t)out->iterations;
    out->operations = calloc(out->operation_count + 1, sizeof *out->operations);
    out->path = calloc(state->work.block->count, sizeof *out->path);
    state->work.costs = calloc(state->work.block->count, sizeof *state->work.costs);
    state->retired = calloc(instructions + 1, sizeof *state->retired);
    state->entered = calloc(instructions + 1, sizeof *state->entered);
    state->waited_for = calloc(instructions + 1, sizeof *state->waited_for);
    state->slots = calloc(instructions + 1, sizeof *state->slots);
    bool good = out->operations && out->path && state->work.costs && state->retired &&
                state->slots && state->entered && state->waited_for && costs_of(&state->work) &&
                sort_arcs(state) && find_vertices(state) && find_latencies(state) &&
                make_lanes(state);
    if (good)
        find_demand(state);
    return good;
}

/* Does control go elsewhere than to the instruction behind it? */
static bool jumps_away(const struct bounds_block *block, uint32_t at)
{
    const struct bounds_instruction *instruction = &block->instructions[at];
    return at + 1 < block->count &&
           instruction[1].address != instruction->address + instruction->length;
}

/* From one taken branch to the next there is so much time at least. */
static void run_through(struct scheduling *state)
{
    int64_t apart = (int64_t)lrintf(CYCLE / fmaxf(0.1F, figure(&state->work, MODEL_TAKEN, 1)));
    int64_t begun = state->clock;
    for (uint32_t i = 0; i < state->work.block->count && !state->failed; i++) {
        execute(state, i, 0);
        if (!jumps_away(state->work.block, i))
            continue;
        state->clock = later(state->clock, begun + apart);
        begun = state->clock;
    }
}

static void iterate(struct scheduling *state)
{
    float taken =
        (float)state->work.options->taken / fmaxf(0.1F, figure(&state->work, MODEL_TAKEN, 1));
    for (uint32_t k = 0; k < state->out->iterations && !state->failed; k++) {
        int64_t begun = state->clock;
        if (k == state->out->iterations / 2)
            state->busy_before = state->busy_until;
        for (uint32_t i = 0; i < state->work.block->count && !state->failed; i++)
            execute(state, i, k);
        if (!state->work.options->unrolled)
            state->clock = later(state->clock, begun + (int64_t)lrintf(taken * CYCLE));
    }
}

/* Results of how many iterations are there, and where the last one is. */
static int64_t last_of(const struct schedule *schedule, size_t operations, size_t *last)
{
    int64_t end = 0;
    *last = SIZE_MAX;
    for (size_t o = 0; o < operations; o++)
        if (*last == SIZE_MAX || schedule->operations[o].end > end) {
            end = schedule->operations[o].end;
            *last = o;
        }
    return end;
}

/* Which operation an instruction was retired by: its own, or one of those before it. SIZE_MAX: by none, and *executed is the one
   that entered then. */
static size_t retired_by(const struct scheduling *state, size_t *executed)
{
    size_t count = state->work.block->count, vertices = state->bounds->vertex_count;
    while (*executed && state->retired[*executed - 1] == state->retired[*executed])
        --*executed;
    size_t at = *executed % count, first = *executed / count * vertices;
    for (uint32_t v = state->first_vertex[at]; v < state->first_vertex[at + 1]; v++)
        if (state->out->operations[first + v].end == state->retired[*executed])
            return first + v;
    return SIZE_MAX;
}

/* From when that instruction entered the window back to an operation that it waited for. SIZE_MAX: to the beginning. */
static size_t before_entry(struct scheduling *state, size_t executed)
{
    struct schedule *out = state->out;
    while (state->entered[executed] > 0) {
        if (state->waited_for[executed] != SIZE_MAX) {
            out->path_buffer++;
            executed = state->waited_for[executed];
            size_t operation = retired_by(state, &executed);
            if (operation != SIZE_MAX)
                return operation;
            continue;
        }
        out->path_front_end +=
            (double)(state->entered[executed] - state->entered[executed - 1]) / CYCLE;
        executed--;
    }
    return SIZE_MAX;
}

/* Back from the last result: the time between one result and the next belongs to the instruction of the later one, but for waiting. */
static void find_path(struct scheduling *state, size_t last)
{
    struct schedule *out = state->out;
    while (last != SIZE_MAX) {
        const struct schedule_operation *operation = &out->operations[last];
        uint32_t at = state->bounds->vertices[operation->vertex].instruction;
        int64_t ready = operation->end - operation->waited;
        bool waits = operation->before != BOUNDS_NONE;
        int64_t from =
            waits ? out->operations[operation->before].end : operation->start - operation->waited;
        out->path[at] += (double)(ready - from) / CYCLE;
        out->path_units += (double)operation->waited / CYCLE;
        last = waits ? operation->before
                     : before_entry(state, operation->iteration * state->work.block->count + at);
    }
}

static void conclude(struct scheduling *state)
{
    struct schedule *out = state->out;
    size_t last, unused, vertices = state->bounds->vertex_count, executed = state->executed;
    uint32_t half = out->iterations / 2;
    int64_t end = last_of(out, out->operation_count, &last);
    int64_t before = last_of(out, half * vertices, &unused);
    find_path(state, last);
    if (state->kind == SCHEDULE_MACHINE) { /* what makes no value takes slots, too */
        end = later(later(end, state->clock), executed ? state->retired[executed - 1] : 0);
        before = half ? later(state->retired[half * state->work.block->count - 1], before) : 0;
    }
    end = later(end, state->busy_until);
    before = later(before, state->busy_before);
    out->cycles = (double)end / CYCLE;
    out->iteration = (double)(end - before) / CYCLE / (out->iterations - half);
}

static void end_schedule(struct scheduling *state)
{
    for (size_t l = 0; state->lanes && l < state->lane_count; l++) {
        free(state->lanes[l].used);
        free(state->lanes[l].next);
    }
    free(state->lanes);
    free(state->first_arc);
    free(state->arcs);
    free(state->first_vertex);
    free(state->own);
    free(state->form);
    free(state->retired);
    free(state->entered);
    free(state->waited_for);
    free(state->slots);
    free(state->work.costs);
    free(state->work.estimates);
}

/* made: how many iterations. */
static enum base_status make_schedule(struct scheduling *state, struct schedule *schedule)
{
    struct bounds unused = {0};
    struct schedule *made = state->out;
    state->work.machine = model_machine(state->work.model);
    state->work.out = &unused;
    state->work.latencies =
        state->work.options->latencies ? state->work.options->latencies : &bounds_as_modelled;
    bool good = begin_schedule(state);
    if (good && state->waits)
        run_through(state);
    else if (good)
        iterate(state);
    good = good && !state->failed;
    if (good)
        conclude(state);
    end_schedule(state);
    if (!good) {
        schedule_free(made);
        return BASE_NO_MEMORY;
    }
    *schedule = *made;
    return BASE_OK;
}

enum base_status schedule_of(const struct bounds_block *block, const struct bounds *bounds,
                             const struct model *model, const struct bounds_options *options,
                             enum schedule_kind kind, uint32_t iterations,
                             struct schedule *schedule)
{
    struct schedule made = {0};
    struct scheduling state = {.work = {.block = block, .model = model, .options = options},
                               .out = &made,
                               .bounds = bounds,
                               .kind = kind};
    size_t each = bounds->vertex_count > block->count ? bounds->vertex_count : block->count;
    if (!block->count)
        return BASE_NOT_FOUND;
    size_t most = SCHEDULE_OPERATIONS_MAX / each;
    made.iterations = iterations < most ? iterations : (uint32_t)most;
    made.iterations =
        made.iterations < SCHEDULE_ITERATIONS_MAX ? made.iterations : SCHEDULE_ITERATIONS_MAX;
    made.iterations = made.iterations < 2 ? 2 : made.iterations;
    return make_schedule(&state, schedule);
}

enum base_status executed_schedule(const struct executed_graph *graph, enum schedule_kind kind,
                                   struct schedule *schedule)
{
    struct schedule made = {.iterations = 1};
    struct scheduling state = {.work = {.block = &graph->executed->block,
                                        .model = graph->model,
                                        .options = &graph->options},
                               .out = &made,
                               .bounds = &graph->bounds,
                               .waits = graph->waits,
                               .kind = kind};
    return make_schedule(&state, schedule);
}

void schedule_free(struct schedule *schedule)
{
    free(schedule->operations);
    free(schedule->path);
    *schedule = (struct schedule){0};
}
