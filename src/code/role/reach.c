// SPDX-License-Identifier: MIT
/*
 * Where stored values come from, and how loads repeat. Values and addresses are followed against the flow, block by block,
 * each block once; an address is a sum of registers, which is rewritten at every instruction that changes
 * one of them, so that equal sums are equal addresses.
 */
#include "role/internal.h"

#include <stdlib.h>
#include <string.h>

enum {
    BLOCKS_MAX = 48, /* looked at from one access */
    STORES_MAX = 32, /* of a loop, for one load */
    WAY_MAX = 3,     /* blocks from a load to the branch that it decides */
    ROUNDS_MAX = 16, /* of a loop: farther back is no neighbour */
};

/* ---- against the flow -------------------------------------------------------------------------- */

struct state {
    uint32_t block;  /* from its end on */
    uint64_t wanted; /* registers the value comes from */
    struct touch at;
    bool made; /* on the way something is made from them, they are not only moved */
};

struct search {
    const struct role_function *function;
    struct state pending[BLOCKS_MAX];
    uint32_t seen[BLOCKS_MAX];
    uint32_t pending_count, seen_count;
    uint32_t within; /* loop whose head is not left backwards; CFG_NONE: all are */
    /* Looks at a step before `state` is moved over it. True: the search has found what it is for. *ends: no
       farther on this way. */
    bool (*visit)(struct search *search, const struct step *step, struct state *state, bool *ends);
    uint64_t target;  /* visit's */
    uint64_t found;   /* the same */
    const void *more; /* the same */
};

static bool only_moves(const struct step *step)
{
    bool copies = step->moved >= 0 && step->from.index < 0 && step->from.displacement == 0;
    return copies || step->code == ISA_DO_MOVE || step->code == ISA_DO_MOVE_SIGNED ||
           step->code == ISA_DO_VECTOR_MOVE || step->code == ISA_DO_VECTOR_MOVE_LOW ||
           step->code == ISA_DO_VECTOR_SCALAR;
}

/* Moves the state before the step. False: the way ends. */
static bool move_before(const struct step *step, struct state *state)
{
    if (step->writes & state->wanted) {
        state->wanted = (state->wanted & ~step->writes) | step->reads;
        state->made |= !only_moves(step);
    }
    return place_before(step, &state->at.place);
}

static bool walk_block(struct search *search, struct state *state, uint32_t from, bool *ends)
{
    const struct role_function *function = search->function;
    for (uint32_t i = from; i > function->first[state->block] && !*ends; i--) {
        const struct step *step = &function->steps[i - 1];
        struct state before = *state;
        bool moved = move_before(step, &before);
        struct state now = {state->block, state->wanted, before.at, before.made};
        if (moved && search->visit(search, step, &now, ends))
            return true;
        *state = before;
        *ends |= !moved;
    }
    return false;
}

static void enter_block(struct search *search, const struct state *state, uint32_t block)
{
    for (uint32_t i = 0; i < search->seen_count; i++)
        if (search->seen[i] == block)
            return;
    if (search->seen_count == BLOCKS_MAX)
        return;
    search->seen[search->seen_count++] = block;
    search->pending[search->pending_count] = *state;
    search->pending[search->pending_count++].block = block;
}

static bool is_back_edge(const struct cfg *flow, uint32_t from, uint32_t to)
{
    uint32_t loop = flow->blocks[to].loop;
    return loop && flow->loops[loop].head == to && cfg_loop_holds(flow, loop, from);
}

static void enter_predecessors(struct search *search, const struct state *state)
{
    const struct cfg *flow = search->function->flow;
    const struct cfg_block *block = &flow->blocks[state->block];
    for (uint32_t i = 0; i < block->into; i++) {
        uint32_t from = flow->edges[flow->into[block->first_into + i]].from;
        if (search->within == CFG_NONE || !is_back_edge(flow, from, state->block))
            enter_block(search, state, from);
    }
}

/* From the step before number `from` on. */
static bool search_back(struct search *search, struct state state, uint32_t from)
{
    bool ends = false;
    if (walk_block(search, &state, from, &ends))
        return true;
    if (!ends)
        enter_predecessors(search, &state);
    while (search->pending_count) {
        state = search->pending[--search->pending_count];
        ends = false;
        if (walk_block(search, &state, search->function->first[state.block + 1], &ends))
            return true;
        if (!ends)
            enter_predecessors(search, &state);
    }
    return false;
}

/* ---- updates ----------------------------------------------------------------------------------- */

/* Loads of the place whose value is wanted; stores to it that leave something else, or that. What is only moved back is
   no update: nothing was made from it. */
static bool visit_for_update(struct search *search, const struct step *step, struct state *state,
                             bool *ends)
{
    for (unsigned i = 0; i < step->touches_count; i++) {
        const struct touch *touch = &step->touches[i];
        if (!touch_overlaps(touch, &state->at))
            continue;
        search->found = step->address;
        bool loads = touch->direction & ISA_LOAD && step->writes & state->wanted;
        bool stores = touch->direction & ISA_STORE && step->stored & state->wanted;
        if ((loads || stores) && state->made)
            return true;
        *ends |= loads || touch->direction & ISA_STORE;
    }
    return state->wanted == 0 && (*ends = true, false);
}

/* The load that the stored value comes from, or the step itself; 0: none is known. */
static uint64_t updated_from(const struct role_function *function, const struct step *step,
                             uint32_t number, uint32_t block)
{
    const struct touch *touch = touch_of(step, ISA_STORE);
    if (!touch)
        return 0;
    if (touch->direction & ISA_LOAD)
        return step->code == ISA_DO_XCHG ? 0 : step->address;
    struct search search = {.function = function, .within = CFG_NONE, .visit = visit_for_update};
    struct state state = {block, step->stored, *touch, false};
    if (step->code == ISA_DO_PUSH || !step->stored || !search_back(&search, state, number))
        return 0;
    return search.found;
}

bool role_updates(const struct role_function *function, uint64_t address)
{
    uint32_t number, block;
    const struct step *step = step_at(function, address, &number, &block);
    return step && updated_from(function, step, number, block) != 0;
}

bool role_is_updated(const struct role_function *function, uint64_t address)
{
    uint32_t number, block;
    const struct cfg *flow = function->flow;
    const struct step *step = step_at(function, address, &number, &block);
    if (!step || !touch_of(step, ISA_LOAD))
        return false;
    uint32_t loop = flow->blocks[block].loop, stores = 0;
    for (uint32_t b = 0; b < flow->blocks_count; b++) {
        if (loop ? !cfg_loop_holds(flow, loop, b) : b != block)
            continue;
        for (uint32_t i = function->first[b]; i < function->first[b + 1]; i++) {
            const struct step *other = &function->steps[i];
            if (!touch_of(other, ISA_STORE))
                continue;
            if (updated_from(function, other, i, b) == address)
                return true;
            if (++stores == STORES_MAX)
                return false;
        }
    }
    return false;
}

/* ---- loops ------------------------------------------------------------------------------------- */

/* What a loop does to registers. */
struct rounds {
    uint64_t written, other;               /* other: not only by adding constants to themselves */
    int64_t steps[BASE_GENERAL_REGISTERS]; /* added in a round, if nothing is left out */
};

static void note_round(struct rounds *rounds, const struct step *step)
{
    const struct place *from = &step->from;
    bool adds = step->moved >= 0 && from->base == step->moved && from->index < 0;
    uint64_t moved = adds ? ROLE_BIT(step->moved) : 0;
    rounds->written |= step->writes;
    rounds->other |= step->writes & ~moved;
    if (adds)
        rounds->steps[step->moved] += from->displacement;
}

static void note_block(struct rounds *rounds, const struct role_function *function, uint32_t block)
{
    for (uint32_t i = function->first[block]; i < function->first[block + 1]; i++)
        note_round(rounds, &function->steps[i]);
    rounds->written &= ~ROLE_BIT(BASE_RSP);
}

static struct rounds rounds_of(const struct role_function *function, uint32_t loop)
{
    const struct cfg *flow = function->flow;
    struct rounds rounds = {0};
    for (uint32_t b = 0; b < flow->blocks_count; b++)
        if (cfg_loop_holds(flow, loop, b))
            note_block(&rounds, function, b);
    return rounds;
}

/* The blocks on the ways from a loop's head to one of its back edges. */
struct body {
    uint32_t blocks[BLOCKS_MAX];
    uint32_t count; /* 0: too many */
};

static bool body_holds(const struct body *body, uint32_t block)
{
    for (uint32_t i = 0; i < body->count; i++)
        if (body->blocks[i] == block)
            return true;
    return false;
}

static struct body body_of(const struct cfg *flow, uint32_t loop, uint32_t from)
{
    struct body body = {.blocks = {flow->loops[loop].head}, .count = 1};
    if (from != body.blocks[0])
        body.blocks[body.count++] = from;
    for (uint32_t at = 1; at < body.count; at++) {
        const struct cfg_block *block = &flow->blocks[body.blocks[at]];
        for (uint32_t i = 0; i < block->into; i++) {
            uint32_t before = flow->edges[flow->into[block->first_into + i]].from;
            if (body_holds(&body, before) || !cfg_loop_holds(flow, loop, before))
                continue;
            if (body.count == BLOCKS_MAX)
                return (struct body){.count = 0};
            body.blocks[body.count++] = before;
        }
    }
    return body;
}

/*
 * Loops nested perfectly may have one head: the outer one goes back to the inner one's first instruction, with another place to
 * begin from. To the flow they are one loop, in which the address moves by no constant. What it does in the rounds of the
 * inner one: on the shortest way round through the block. False: there is no such thing.
 */
static bool rounds_of_inner(const struct role_function *function, uint32_t loop, uint32_t block,
                            struct rounds *rounds)
{
    const struct cfg *flow = function->flow;
    const struct cfg_block *head = &flow->blocks[flow->loops[loop].head];
    struct body least = {.count = 0};
    uint32_t back_edges = 0;
    for (uint32_t i = 0; i < head->into; i++) {
        uint32_t from = flow->edges[flow->into[head->first_into + i]].from;
        if (!cfg_loop_holds(flow, loop, from))
            continue;
        struct body body = body_of(flow, loop, from);
        back_edges++;
        if (body_holds(&body, block) && (!least.count || body.count < least.count))
            least = body;
    }
    if (back_edges < 2 || !least.count)
        return false;
    *rounds = (struct rounds){0};
    for (uint32_t i = 0; i < least.count; i++)
        note_block(rounds, function, least.blocks[i]);
    return true;
}

static uint64_t registers_of(const struct place *place)
{
    return (place->base >= 0 ? ROLE_BIT(place->base) : 0) |
           (place->index >= 0 ? ROLE_BIT(place->index) : 0);
}

/* How far the address moves in a round; false: not by a constant. */
static bool stride_of(const struct rounds *rounds, const struct place *place, int64_t *stride)
{
    if (registers_of(place) & rounds->other)
        return false;
    *stride = place->base >= 0 ? rounds->steps[place->base] : 0;
    if (place->index >= 0)
        *stride += rounds->steps[place->index] * place->scale;
    return true;
}

/* Something counts or walks: a loop that nothing moves in waits for another thread. */
static bool is_moving(const struct rounds *rounds)
{
    for (unsigned i = 0; i < BASE_GENERAL_REGISTERS; i++)
        if (rounds->steps[i] && !(rounds->other & ROLE_BIT(i)))
            return true;
    return false;
}

/* Not where the program ends: an assertion holds, mostly. */
static bool may_leave(const struct cfg *flow, uint32_t loop, const struct cfg_block *block)
{
    for (uint32_t i = 0; i < block->edges; i++) {
        uint32_t to = flow->edges[block->first_edge + i].to;
        if (!cfg_loop_holds(flow, loop, to) && !(flow->blocks[to].flags & CFG_STOPS))
            return true;
    }
    return false;
}

/* Values on their way from a load to a branch. */
struct known {
    uint64_t values;   /* registers, and flags, that hold what was loaded or something made of it */
    uint64_t pointers; /* of these: that hold just that, or what lies where it points to */
};

/* A load by a known value, other than through it as a pointer, is an entry of a table: what is done with it goes by the table,
   and that may be another one by then. */
static bool looks_up(const struct known *known, const struct step *step)
{
    const struct touch *touch = touch_of(step, ISA_LOAD);
    uint64_t by = touch ? registers_of(&touch->place) & known->values : 0;
    return by && (touch->place.index >= 0 || by & ~known->pointers);
}

static void know(struct known *known, const struct step *step)
{
    bool taken = step->reads & known->values && !looks_up(known, step);
    bool points = step->reads & known->pointers && only_moves(step) && taken;
    known->values = taken ? known->values | step->writes : known->values & ~step->writes;
    known->pointers = points ? known->pointers | step->writes : known->pointers & ~step->writes;
}

/* Does a branch that may leave the loop go by what the step loads: the next one, if there is only one way to it? */
static bool decides_exit(const struct role_function *function, uint32_t loop, uint32_t number,
                         uint32_t block)
{
    const struct cfg *flow = function->flow;
    const struct step *load = &function->steps[number];
    struct known known = {load->writes, only_moves(load) ? load->writes : 0};
    uint32_t from = number + 1;
    for (unsigned blocks = 0; blocks < WAY_MAX; blocks++) {
        const struct cfg_block *here = &flow->blocks[block];
        uint32_t end = function->first[block + 1];
        for (uint32_t i = from; i < end; i++)
            know(&known, &function->steps[i]);
        if (here->edges != 1)
            return end > function->first[block] && function->steps[end - 1].flow == ISA_BRANCH &&
                   known.values & ROLE_FLAGS && may_leave(flow, loop, here);
        block = flow->edges[here->first_edge].to;
        if (!cfg_loop_holds(flow, loop, block))
            return false;
        from = function->first[block];
    }
    return false;
}

/* ---- walks ------------------------------------------------------------------------------------- */

/* By registers that count or stay the same; or along a pointer of the walk. */
static bool goes_along(const struct rounds *rounds, uint64_t walk, const struct place *place)
{
    uint64_t registers = registers_of(place);
    return !(registers & rounds->other) || (place->index < 0 && registers & walk);
}

/* Does the step leave in what it writes where the walk goes on? */
static bool goes_on(const struct rounds *rounds, uint64_t walk, const struct step *step)
{
    const struct touch *touch = touch_of(step, ISA_LOAD);
    if (step->moved >= 0)
        return step->from.base >= 0 && goes_along(rounds, walk, &step->from);
    if (!only_moves(step))
        return false;
    return touch ? goes_along(rounds, walk, &touch->place) : !(step->reads & ~walk);
}

/* What goes_on is asked with. */
struct walk {
    const struct rounds *rounds;
    uint64_t registers;
    uint32_t loop;
};

/* What the wanted register holds comes from elsewhere. Before the loop it may come from anywhere: that is where the walk begins. */
static bool visit_for_stray(struct search *search, const struct step *step, struct state *state,
                            bool *ends)
{
    const struct walk *walk = search->more;
    if (!(step->writes & state->wanted))
        return false;
    *ends = true;
    return cfg_loop_holds(search->function->flow, walk->loop, state->block) &&
           !goes_on(walk->rounds, walk->registers, step);
}

/* A register that has other uses in the loop may hold where the walk goes on when the step copies it. */
static bool copies_walk(const struct role_function *function, const struct walk *walk,
                        uint32_t block, uint32_t number)
{
    const struct step *step = &function->steps[number];
    struct search search = {
        .function = function, .within = CFG_NONE, .visit = visit_for_stray, .more = walk};
    struct state state = {.block = block, .at = {.place = {.base = -1, .index = -1}}};
    if (step->moved < 0 || step->from.base < 0 || step->from.index >= 0)
        return false;
    state.wanted = ROLE_BIT(step->from.base);
    return !search_back(&search, state, number) && search.seen_count < BLOCKS_MAX;
}

/* Registers that go over data the same way each time, whatever else there is in the program: through an array by a counter,
   or along pointers that lie in what is gone over. Not the state of an automaton, which goes by what it reads elsewhere, and
   no entry of a table that was looked up. Found by leaving out what is none until all that is left is one. */
static uint64_t walk_of(const struct role_function *function, uint32_t loop,
                        const struct rounds *rounds)
{
    const struct cfg *flow = function->flow;
    uint64_t walk = ROLE_GENERALS, before = 0;
    while (walk != before) {
        before = walk;
        for (uint32_t b = 0; b < flow->blocks_count; b++)
            for (uint32_t i = function->first[b];
                 i < function->first[b + 1] && cfg_loop_holds(flow, loop, b); i++)
                if (!goes_on(rounds, before, &function->steps[i]) &&
                    !copies_walk(function, &(struct walk){rounds, before, loop}, b, i))
                    walk &= ~(function->steps[i].writes & rounds->other);
    }
    return walk;
}

/* A value without a register is put into the stack frame. */
static bool stores_elsewhere(const struct role_function *function, uint32_t block,
                             const struct step *step)
{
    bool framed = function->heights[block].reached && function->heights[block].rbp_known;
    for (unsigned t = 0; t < step->touches_count && step->flow == ISA_NEXT; t++) {
        const struct touch *touch = &step->touches[t];
        bool frame = touch->place.base == BASE_RSP || (touch->place.base == BASE_RBP && framed);
        if (touch->direction & ISA_STORE && !frame)
            return true;
    }
    return false;
}

/* A loop that stores does more than to look for something. */
static bool stores_nothing(const struct role_function *function, uint32_t loop)
{
    const struct cfg *flow = function->flow;
    for (uint32_t b = 0; b < flow->blocks_count; b++)
        for (uint32_t i = function->first[b];
             i < function->first[b + 1] && cfg_loop_holds(flow, loop, b); i++)
            if (stores_elsewhere(function, b, &function->steps[i]))
                return false;
    return true;
}

static bool visit_for_itself(struct search *search, const struct step *step, struct state *state,
                             bool *ends)
{
    *ends = !state->wanted;
    return step->writes & state->wanted && step->address == search->target;
}

/* Does the step make a value that goes back to one that it made in a round before, by more than adding a constant? */
static bool accumulates(const struct role_function *function, const struct rounds *rounds,
                        uint32_t block, uint32_t number)
{
    const struct step *step = &function->steps[number];
    struct search search = {.function = function,
                            .within = CFG_NONE,
                            .visit = visit_for_itself,
                            .target = step->address};
    struct state state = {.block = block, .at = {.place = {.base = -1, .index = -1}}};
    state.wanted = step->reads & step->writes & ~ROLE_FLAGS & ~ROLE_BIT(BASE_RSP) &
                   (rounds->other | ~ROLE_GENERALS);
    if (!state.wanted || step->moved >= 0 || step->flow != ISA_NEXT || only_moves(step))
        return false;
    return search_back(&search, state, number);
}

/* A sum, a hash or the best of what a loop meets is its result: no index has that. */
static bool keeps_nothing(const struct role_function *function, uint32_t loop,
                          const struct rounds *rounds)
{
    const struct cfg *flow = function->flow;
    for (uint32_t b = 0; b < flow->blocks_count; b++)
        for (uint32_t i = function->first[b];
             i < function->first[b + 1] && cfg_loop_holds(flow, loop, b); i++)
            if (accumulates(function, rounds, b, i))
                return false;
    return true;
}

/* Does the walk end, or go on, by something that is loaded along it? */
static bool is_decided_by_walk(const struct role_function *function, uint32_t loop,
                               const struct rounds *rounds, uint64_t walk)
{
    const struct cfg *flow = function->flow;
    for (uint32_t b = 0; b < flow->blocks_count; b++)
        for (uint32_t i = function->first[b];
             i < function->first[b + 1] && cfg_loop_holds(flow, loop, b); i++) {
            const struct touch *touch = touch_of(&function->steps[i], ISA_LOAD);
            if (touch && registers_of(&touch->place) & rounds->written &&
                goes_along(rounds, walk, &touch->place) && decides_exit(function, loop, i, b))
                return true;
        }
    return false;
}

/* An index can only stand for a loop that goes over data the same way each time, does nothing else, and goes on or ends by what it
   finds: then for all that it loads on its way. */
static bool searches(const struct role_function *function, uint32_t loop,
                     const struct rounds *rounds, uint32_t number)
{
    const struct place *place = &touch_of(&function->steps[number], ISA_LOAD)->place;
    uint64_t walk = walk_of(function, loop, rounds);
    return goes_along(rounds, walk, place) && stores_nothing(function, loop) &&
           keeps_nothing(function, loop, rounds) &&
           is_decided_by_walk(function, loop, rounds, walk);
}

/* ---- reach ------------------------------------------------------------------------------------- */

static bool visit_for_load(struct search *search, const struct step *step, struct state *state,
                           bool *ends)
{
    const struct touch *touch = touch_of(step, ISA_LOAD);
    if (step->address != search->target)
        return false;
    *ends = true;
    return touch && place_equal(&touch->place, &state->at.place);
}

static bool in_same_round(const struct role_function *function, uint64_t first,
                          const struct step *second, uint32_t number, uint32_t block)
{
    struct search search = {
        .function = function, .within = 0, .visit = visit_for_load, .target = first};
    struct state state = {block, 0, *touch_of(second, ISA_LOAD), false};
    return search_back(&search, state, number);
}

static enum role_reach reach_of_neighbours(const struct rounds *rounds, const struct place *first,
                                           const struct place *second)
{
    struct place moved = *second;
    int64_t stride;
    if (!(registers_of(second) & rounds->written))
        return place_equal(first, second) && is_moving(rounds) ? ROLE_INVARIANT : ROLE_NO_REACH;
    if (!stride_of(rounds, second, &stride) || !stride)
        return ROLE_NO_REACH;
    for (unsigned round = 1; round <= ROUNDS_MAX; round++) {
        moved.displacement = (int64_t)((uint64_t)moved.displacement + (uint64_t)stride);
        if (place_equal(first, &moved))
            return ROLE_PREVIOUS;
    }
    return ROLE_NO_REACH;
}

static enum role_reach reach_of_itself(const struct role_function *function, uint32_t loop,
                                       const struct rounds *rounds, uint32_t number, uint32_t block)
{
    const struct place *place = &touch_of(&function->steps[number], ISA_LOAD)->place;
    int64_t stride;
    if (!(registers_of(place) & rounds->written))
        return is_moving(rounds) ? ROLE_INVARIANT : ROLE_NO_REACH;
    if (searches(function, loop, rounds, number))
        return ROLE_SEARCH;
    if (!stride_of(rounds, place, &stride)) {
        struct rounds inner;
        bool walks = rounds_of_inner(function, loop, block, &inner) &&
                     stride_of(&inner, place, &stride) && stride;
        return walks ? ROLE_OUTER : ROLE_NO_REACH;
    }
    if (!stride)
        return ROLE_NO_REACH;
    return function->flow->loops[loop].parent ? ROLE_OUTER : ROLE_CALL;
}

enum role_reach role_reach(const struct role_function *function, uint64_t first, uint64_t second)
{
    uint32_t number, block, first_number, first_block;
    const struct cfg *flow = function->flow;
    const struct step *step = step_at(function, second, &number, &block);
    const struct step *other = step_at(function, first, &first_number, &first_block);
    if (!step || !other || !touch_of(step, ISA_LOAD) || !touch_of(other, ISA_LOAD) ||
        step->flow != ISA_NEXT || other->flow != ISA_NEXT)
        return ROLE_NO_REACH;
    if (first != second && in_same_round(function, first, step, number, block))
        return ROLE_ITERATION;
    uint32_t loop = flow->blocks[block].loop;
    if (!loop || flow->blocks[first_block].loop != loop)
        return ROLE_NO_REACH;
    struct rounds rounds = rounds_of(function, loop);
    if (first == second)
        return reach_of_itself(function, loop, &rounds, number, block);
    return reach_of_neighbours(&rounds, &touch_of(other, ISA_LOAD)->place,
                               &touch_of(step, ISA_LOAD)->place);
}

bool role_stride(const struct role_function *function, uint64_t address, int64_t *stride)
{
    uint32_t number, block;
    const struct step *step = step_at(function, address, &number, &block);
    const struct touch *touch = step ? touch_of(step, ISA_LOAD | ISA_STORE) : NULL;
    uint32_t loop = step ? function->flow->blocks[block].loop : 0;
    int64_t found;
    if (!touch || !loop)
        return false;
    struct rounds rounds = rounds_of(function, loop);
    if (!stride_of(&rounds, &touch->place, &found) &&
        !(rounds_of_inner(function, loop, block, &rounds) &&
          stride_of(&rounds, &touch->place, &found)))
        return false;
    *stride = found;
    return true;
}
