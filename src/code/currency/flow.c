// SPDX-License-Identifier: MIT
/*
 * Data flow of one variable. What is known on one path to a point is a state; a point has a set of them, few in practice, and
 * what holds in all of them holds there. One state that records what may have happened would not do: an assignment that may have been
 * passed and a store that may be missing need not belong to the same path.
 *
 * A store that comes before its line is premature only if its line follows on all paths, before anything else happens to the
 * variable: compilers merge equal stores of several lines, and the one that is left has the line of one of them.
 */
#include "currency/internal.h"

#include <stdlib.h>

/* Assignments are counted from 1 here, in the order of variable->assigned; 0: none. */
struct state {
    uint16_t open;   /* its line is being executed */
    uint16_t late;   /* its line was passed, its store not */
    uint16_t early;  /* its store was passed, its line not */
    uint8_t stored;  /* the open one is in memory */
    uint8_t unknown; /* since then something may have been stored */
};

struct set {
    struct state items[CURRENCY_STATES_MAX];
    uint32_t count;
};

struct search {
    const struct currency *currency;
    const struct currency_variable *variable;
    struct set *in;  /* by block */
    uint8_t *queued; /* by block */
    uint32_t *work;  /* blocks */
    uint32_t work_count;
    uint8_t **
        expected; /* by assignment: NULL, or by block: its line follows on all paths from the block's start */
    bool no_memory, too_many;
};

/* ---- states --------------------------------------------------------------------------------------- */

static bool equal(const struct state *a, const struct state *b)
{
    return a->open == b->open && a->late == b->late && a->early == b->early &&
           a->stored == b->stored && a->unknown == b->unknown;
}

/* True: it was not there yet. */
static bool add_state(struct search *search, struct set *set, const struct state *state)
{
    for (uint32_t i = 0; i < set->count; i++)
        if (equal(&set->items[i], state))
            return false;
    if (set->count == CURRENCY_STATES_MAX) {
        search->too_many = true;
        return false;
    }
    set->items[set->count++] = *state;
    return true;
}

static uint16_t assignment_at(const struct search *search, uint32_t place)
{
    for (size_t i = 0; place && i < search->variable->assigned_count; i++)
        if (search->variable->assigned[i] == place)
            return (uint16_t)(i + 1);
    return 0;
}

/* Does that stop point still belong to the assignment's line: is it the line itself, or in code that was inlined into it? */
static bool goes_on(const struct search *search, uint16_t assignment,
                    const struct currency_mark *mark)
{
    const struct currency_code *code = &search->currency->code;
    uint32_t place = search->variable->assigned[assignment - 1];
    return mark->place == place ||
           (code->inlined && code->inlined(code->context, mark->address, place));
}

static void leave(const struct search *search, struct state *state,
                  const struct currency_mark *mark)
{
    if (!state->open || goes_on(search, state->open, mark))
        return;
    if (!state->stored)
        state->late = state->open;
    state->open = state->stored = 0;
}

static void enter(const struct search *search, struct state *state,
                  const struct currency_mark *mark)
{
    uint16_t assignment = assignment_at(search, mark->place);
    if (state->open || !assignment)
        return;
    state->open = assignment;
    state->stored = state->early == assignment;
    state->early = state->stored ? 0 : state->early;
    state->unknown = state->late ? state->unknown : 0;
}

static bool overlaps(const struct search *search, const struct event *event)
{
    const struct currency_variable *variable = search->variable;
    uint64_t start = variable->framed ? event->frame_start : event->start;
    uint64_t end = variable->framed ? event->frame_end : event->end;
    return start < variable->start + variable->bytes && end > variable->start;
}

/* Bytes that may be stored into the variable; 0: none. */
static uint16_t unknown_of(const struct search *search, const struct event *event)
{
    return search->variable->framed && event->within ? event->within : event->unknown;
}

/* Through a pointer, but by the line that assigns, and as wide. */
static bool is_likely(const struct search *search, const struct event *event)
{
    uint16_t unknown = unknown_of(search, event);
    return unknown && assignment_at(search, event->place) && unknown == search->variable->bytes;
}

static bool stores(const struct search *search, const struct event *event)
{
    return overlaps(search, event) || is_likely(search, event);
}

/* ---- what follows on all paths ----------------------------------------------------------------------- */

enum following { FOLLOWS, PREVENTED, NOTHING };

/* What comes first from event `from` up to `end`. */
static enum following first_of(const struct search *search, uint16_t assignment, uint32_t from,
                               uint32_t end)
{
    const struct currency *currency = search->currency;
    for (uint32_t i = from; i < end; i++) {
        const struct event *event = &currency->events[i];
        for (uint32_t m = 0; m < event->marks_count; m++) {
            uint16_t at = assignment_at(search, currency->code.marks[event->marks + m].place);
            if (at)
                return at == assignment ? FOLLOWS : PREVENTED;
        }
        if (event->calls || stores(search, event))
            return PREVENTED;
    }
    return NOTHING;
}

static bool follows_out_of(const struct cfg *flow, const uint8_t *expected, uint32_t block)
{
    const struct cfg_block *at = &flow->blocks[block];
    if (!at->edges || at->flags & CFG_EXIT)
        return false;
    for (uint32_t i = 0; i < at->edges; i++)
        if (!expected[flow->edges[at->first_edge + i].to])
            return false;
    return true;
}

/* The greatest solution: what holds on all paths. NULL: no memory. */
static const uint8_t *expect(struct search *search, uint16_t assignment)
{
    const struct currency *currency = search->currency;
    const struct cfg *flow = currency->code.flow;
    uint8_t **expected = &search->expected[assignment - 1];
    if (*expected)
        return *expected;
    uint8_t *first = malloc(flow->blocks_count);
    *expected = malloc(flow->blocks_count);
    if (!first || !*expected) {
        free(first);
        search->no_memory = true;
        return NULL;
    }
    for (uint32_t i = 0; i < flow->blocks_count; i++) {
        first[i] =
            (uint8_t)first_of(search, assignment, currency->first[i], currency->first[i + 1]);
        (*expected)[i] = first[i] != PREVENTED;
    }
    for (bool changed = true; changed;) {
        changed = false;
        for (uint32_t i = flow->blocks_count; i-- > 0;)
            if ((*expected)[i] && first[i] == NOTHING && !follows_out_of(flow, *expected, i)) {
                (*expected)[i] = 0;
                changed = true;
            }
    }
    free(first);
    return *expected;
}

/* Does the assignment's line follow an event on all paths? */
static bool is_early(struct search *search, uint16_t assignment, uint32_t block, uint32_t event)
{
    const struct currency *currency = search->currency;
    enum following first = first_of(search, assignment, event + 1, currency->first[block + 1]);
    if (first != NOTHING)
        return first == FOLLOWS;
    const uint8_t *expected = expect(search, assignment);
    return expected && follows_out_of(currency->code.flow, expected, block);
}

/* ---- one event ------------------------------------------------------------------------------------------ */

static void store(struct search *search, struct state *state, uint32_t block, uint32_t number)
{
    const struct event *event = &search->currency->events[number];
    uint16_t from = assignment_at(search, event->place);
    bool early = from && overlaps(search, event) && !event->conditional && from != state->open &&
                 from != state->late && is_early(search, from, block, number);
    state->late = state->unknown = 0;
    state->early = early ? from : 0;
    state->stored = state->open != 0;
}

static void execute(struct search *search, struct state *state, uint32_t block, uint32_t number)
{
    const struct event *event = &search->currency->events[number];
    if (stores(search, event))
        store(search, state, block, number);
    else if (unknown_of(search, event) &&
             (state->late || state->early || (state->open && !state->stored)))
        state->unknown = 1;
    if (event->calls) {
        state->late = state->early = state->unknown = 0;
        state->stored = state->open != 0;
    }
}

/* The state before the instruction; `stop`: what a debugger finds that stops there, which shows the last line. */
static void pass_marks(const struct search *search, const struct event *event, struct state *state,
                       struct state *stop)
{
    for (uint32_t m = 0; m < event->marks_count; m++) {
        const struct currency_mark *mark = &search->currency->code.marks[event->marks + m];
        leave(search, state, mark);
        *stop = *state;
        enter(search, state, mark);
    }
}

static void run_block(struct search *search, uint32_t block, struct state *state)
{
    const struct currency *currency = search->currency;
    struct state stop;
    for (uint32_t i = currency->first[block]; i < currency->first[block + 1]; i++) {
        pass_marks(search, &currency->events[i], state, &stop);
        execute(search, state, block, i);
    }
}

/* ---- all paths --------------------------------------------------------------------------------------------- */

static void queue(struct search *search, uint32_t block)
{
    if (search->queued[block])
        return;
    search->queued[block] = 1;
    search->work[search->work_count++] = block;
}

static void spread(struct search *search)
{
    const struct cfg *flow = search->currency->code.flow;
    const struct state clean = {0};
    for (uint32_t i = 0; i < flow->blocks_count; i++)
        if (flow->blocks[i].flags & CFG_ROOT && add_state(search, &search->in[i], &clean))
            queue(search, i);
    while (search->work_count && !search->too_many && !search->no_memory) {
        uint32_t block = search->work[--search->work_count];
        struct set at = search->in[block];
        search->queued[block] = 0;
        for (uint32_t s = 0; s < at.count; s++) {
            struct state state = at.items[s];
            run_block(search, block, &state);
            for (uint32_t i = 0; i < flow->blocks[block].edges; i++) {
                uint32_t to = flow->edges[flow->blocks[block].first_edge + i].to;
                if (add_state(search, &search->in[to], &state))
                    queue(search, to);
            }
        }
    }
}

struct verdict {
    uint32_t late, early, current;
    uint16_t first; /* assignment */
    bool unknown;
};

static void judge(struct verdict *verdict, const struct state *stop)
{
    uint16_t assignment = stop->late ? stop->late : stop->early;
    verdict->late += stop->late != 0;
    verdict->early += !stop->late && stop->early;
    verdict->current += !assignment;
    verdict->unknown |= assignment && stop->unknown;
    verdict->first = verdict->first ? verdict->first : assignment;
}

static struct currency_stop stop_of(const struct search *search, const struct event *event,
                                    const struct verdict *verdict)
{
    const struct currency_mark *marks = search->currency->code.marks;
    bool whole = !verdict->current && !verdict->unknown;
    return (struct currency_stop){
        .address = event->address,
        .shown = marks[event->marks + event->marks_count - 1].place,
        .assigned = search->variable->assigned[verdict->first - 1],
        .class = whole && !verdict->early  ? CURRENCY_STALE
                 : whole && !verdict->late ? CURRENCY_PREMATURE
                                           : CURRENCY_SUSPECT,
        .early = !verdict->late,
    };
}

/* Judges the stop points of a block by all states that reach them. */
static bool judge_block(struct search *search, uint32_t block,
                        bool (*visit)(void *context, const struct currency_stop *stop),
                        void *context)
{
    const struct currency *currency = search->currency;
    struct set states = search->in[block];
    for (uint32_t i = currency->first[block]; states.count && i < currency->first[block + 1]; i++) {
        const struct event *event = &currency->events[i];
        struct verdict verdict = {0};
        for (uint32_t s = 0; s < states.count; s++) {
            struct state stop;
            pass_marks(search, event, &states.items[s], &stop);
            if (event->marks_count)
                judge(&verdict, &stop);
            execute(search, &states.items[s], block, i);
        }
        if (!verdict.first)
            continue;
        struct currency_stop stop = stop_of(search, event, &verdict);
        if (!visit(context, &stop))
            return false;
    }
    return true;
}

static bool begin(struct search *search, const struct currency *currency,
                  const struct currency_variable *variable)
{
    size_t blocks = currency->code.flow->blocks_count;
    *search = (struct search){.currency = currency, .variable = variable};
    search->in = calloc(blocks, sizeof *search->in);
    search->queued = calloc(blocks, 1);
    search->work = calloc(blocks, sizeof *search->work);
    search->expected = calloc(variable->assigned_count + 1, sizeof *search->expected);
    return search->in && search->queued && search->work && search->expected;
}

static void end(struct search *search)
{
    for (size_t i = 0; search->expected && i < search->variable->assigned_count; i++)
        free(search->expected[i]);
    free(search->expected);
    free(search->in);
    free(search->queued);
    free(search->work);
}

enum base_status currency_find(const struct currency *currency,
                               const struct currency_variable *variable,
                               bool (*visit)(void *context, const struct currency_stop *stop),
                               void *context)
{
    struct search search;
    enum base_status status = BASE_OK;
    if (variable->assigned_count > CURRENCY_ASSIGNMENTS_MAX)
        return BASE_TOO_LARGE;
    if (!begin(&search, currency, variable))
        status = BASE_NO_MEMORY;
    if (status == BASE_OK) {
        spread(&search);
        status = search.no_memory ? BASE_NO_MEMORY : search.too_many ? BASE_TOO_LARGE : BASE_OK;
    }
    for (uint32_t i = 0; status == BASE_OK && i < currency->code.flow->blocks_count; i++)
        if (!judge_block(&search, i, visit, context))
            break;
    end(&search);
    return status;
}
