// SPDX-License-Identifier: MIT
/* A loop's clone, step by step. */
#include "clone/internal.h"

#include <stdlib.h>
#include <string.h>

static const char *const texts[CLONE_REASONS] = {
    [CLONE_ELIGIBLE] = "eligible",
    [CLONE_NO_LOOP] = "is no innermost loop with one head",
    [CLONE_CALLS] = "calls a function",
    [CLONE_INDIRECT] = "jumps through a table or a pointer",
    [CLONE_SYSTEM] = "uses an instruction of the system",
    [CLONE_STACK] = "moves the stack pointer",
    [CLONE_STRING] = "uses a string instruction",
    [CLONE_X87] = "computes in x87 registers",
    [CLONE_GATHERS] = "gathers or scatters",
    [CLONE_NO_FIELD] = "accesses memory by an address that cannot be replaced",
    [CLONE_STREAMS_PAST] = "stores past the caches",
    [CLONE_BRANCH] = "branches on loaded data in a way that cannot be repeated",
    [CLONE_EXIT] = "ends when loaded data say so, in a way that cannot be repeated",
    [CLONE_UNCOUNTED] = "branches on loaded data, and no register counts its iterations",
    [CLONE_OUTCOMES] = "branches on loaded data, and leaves no two registers to repeat that with",
    [CLONE_DIVIDES] = "divides integers that are loaded",
    [CLONE_LONG] = "is too long or has too many ways through",
    [CLONE_NO_ACCESS] = "accesses no memory",
    [CLONE_LINES] = "has more operands than fit, or some that overlap beyond a cache line",
    [CLONE_RECURRENCE_MADE] = "would get a recurrence through memory",
    [CLONE_RECURRENCE_LOST] = "would lose a recurrence through memory",
    [CLONE_CHASES] = "loads from addresses that depend on what it loaded an iteration before",
    [CLONE_CALLS_POINTER] = "calls through a pointer",
    [CLONE_CALLEE_LOOPS] = "has a loop of its own",
    [CLONE_RECURSES] = "calls itself",
    [CLONE_CALLEE_ENDS] = "need not return",
};

static const char *const ids[CLONE_REASONS] = {
    [CLONE_ELIGIBLE] = "eligible",
    [CLONE_NO_LOOP] = "no-loop",
    [CLONE_CALLS] = "call",
    [CLONE_INDIRECT] = "indirect-jump",
    [CLONE_SYSTEM] = "system",
    [CLONE_STACK] = "stack",
    [CLONE_STRING] = "string",
    [CLONE_X87] = "x87",
    [CLONE_GATHERS] = "gather",
    [CLONE_NO_FIELD] = "address",
    [CLONE_STREAMS_PAST] = "streaming-store",
    [CLONE_BRANCH] = "data-dependent-branch",
    [CLONE_EXIT] = "data-dependent-exit",
    [CLONE_UNCOUNTED] = "uncounted",
    [CLONE_OUTCOMES] = "no-register",
    [CLONE_DIVIDES] = "integer-division",
    [CLONE_LONG] = "too-long",
    [CLONE_NO_ACCESS] = "no-access",
    [CLONE_LINES] = "operands",
    [CLONE_RECURRENCE_MADE] = "recurrence-made",
    [CLONE_RECURRENCE_LOST] = "recurrence-lost",
    [CLONE_CHASES] = "chase",
    [CLONE_CALLS_POINTER] = "indirect-call",
    [CLONE_CALLEE_LOOPS] = "callee-loop",
    [CLONE_RECURSES] = "recursion",
    [CLONE_CALLEE_ENDS] = "callee-end",
};

const char *clone_reason_text(enum clone_reason reason)
{
    return texts[reason];
}

const char *clone_reason_id(enum clone_reason reason)
{
    return ids[reason];
}

void body_free(struct body *body)
{
    free(body->blocks);
    free(body->first);
    bounds_block_free(&body->code);
    splice_free(body->splice);
    free(body->operands);
    for (uint32_t w = 0; w < body->way_count; w++)
        free(body->ways[w].blocks);
}

static bool needs_copies(const struct body *body)
{
    for (size_t o = 0; o < body->operand_count; o++)
        if (body->operands[o].linked && !body->operands[o].fixed)
            return true;
    return false;
}

/* The loop alone: it calls the program's own functions. */
static bool make_calling_twin(struct body *of)
{
    struct body *body = calloc(1, sizeof *body);
    if (!body)
        return out_of_memory(of);
    *body = (struct body){.request = of->origin,
                          .origin = of->origin,
                          .out = of->out,
                          .copies = 1,
                          .twin = true,
                          .calls = true,
                          .general_written = of->general_written & ~(1U << BASE_RSP),
                          .progress = of->progress};
    bool good = body_collect_nest(body, of->origin->loop) && emit_copy(body, &body->out->twin);
    of->no_memory |= body->no_memory;
    body_free(body);
    free(body);
    return good;
}

/* The loop as it is. */
static bool make_twin(struct body *body)
{
    body->copies = 1;
    body->twin = true;
    return body->splice ? make_calling_twin(body) : emit_copy(body, &body->out->twin);
}

/* The clone again, with all that replays outcomes twice. */
static bool make_twice(struct body *body)
{
    struct clone_copy twice = {0};
    if (!body->outcome_count)
        return true;
    body->twice = true;
    bool good = emit_copy(body, &twice);
    body->twice = false;
    body->out->twice = twice.code;
    return good;
}

/* Of the nest, if there is one. */
static bool make_recorder(struct body *body)
{
    if (!body->outcome_count)
        return true;
    nest_record(body);
    if (body->out->recorder.code || body->no_memory)
        return !body->no_memory;
    body->records = true;
    bool good = emit_copy(body, &body->out->recorder);
    body->records = false;
    return good;
}

/* With so many copies. True: it is made. */
static bool try_copies(struct body *body, unsigned copies)
{
    struct emitted emitted = {0};
    body->copies = copies;
    body->out->reason = CLONE_ELIGIBLE;
    bool good = lines_assign(body) && emit_clone(body, &emitted) && compare_end(body, &emitted) &&
                make_twice(body);
    free(emitted.starts);
    if (!good) {
        free(emitted.clone);
        return false;
    }
    body->out->made = emitted.clone;
    return true;
}

/* The fewest copies that keep the recurrences; the reason is that of one. */
static void make(struct body *body)
{
    static const uint8_t more[] = {2, 3, 4, 6, CLONE_COPIES_MAX};
    if (try_copies(body, 1) || body->no_memory || body->out->reason < CLONE_RECURRENCE_MADE ||
        !needs_copies(body))
        return;
    struct clone single = *body->out;
    for (size_t i = 0; i < BASE_COUNT(more); i++)
        if (try_copies(body, more[i]) || body->no_memory)
            return;
    *body->out = single;
}

static bool look_through(struct body *body)
{
    if (!ways_find(body))
        return false;
    outcomes_count(body);
    return data_is_apart(body) && outcomes_begin(body) && compare_begin(body);
}

/*
 * Nothing is lost if there is none. Parts that call what is not known are never left out, however rare: the twin would call it, and what it
 * throws cannot pass the twin, of which the unwinder knows nothing.
 */
static void make_marker(struct body *of)
{
    struct clone out = {0};
    struct body *body = of->splice && !of->splice->reason ? calloc(1, sizeof *body) : NULL;
    if (!body)
        return;
    *body = (struct body){.request = of->origin,
                          .origin = of->origin,
                          .out = &out,
                          .copies = 1,
                          .twin = true,
                          .marks = true};
    if (splice_calls(body) && body_collect_nest(body, body->request->loop) &&
        emit_copy(body, &of->out->marker)) {
        of->out->marks = out.marks;
        of->out->callee_count = out.callee_count;
        memcpy(of->out->callees, out.callees, sizeof out.callees);
    }
    body_free(body);
    free(body);
}

static void free_code(struct clone *clone)
{
    free(clone->made);
    for (unsigned v = 0; v < CLONE_VARIANTS; v++)
        free(clone->variants[v]);
    free(clone->twin.code);
    free(clone->twin.places);
    free(clone->nest.code);
    free(clone->nest.places);
    free(clone->gated.code);
    free(clone->gated.places);
    free(clone->gated_recorder.code);
    free(clone->gated_recorder.places);
    free(clone->twice);
    free(clone->recorder.code);
    free(clone->recorder.places);
    clone->made = clone->twice = NULL;
    memset(clone->variants, 0, sizeof clone->variants);
    clone->twin = clone->nest = clone->recorder = (struct clone_copy){0};
    clone->gated = clone->gated_recorder = (struct clone_copy){0};
}

/* Without what records outcomes they cannot be replayed. */
static void make_rest(struct body *body)
{
    struct clone *out = body->out;
    out->outcomes = body->outcome_count;
    if (!make_recorder(body) && !body->no_memory && out->reason == CLONE_ELIGIBLE)
        out->reason = CLONE_LONG;
}

/* The reason may be in a function that is called. */
static void tell_where(const struct body *body)
{
    struct clone *out = body->out;
    const struct splice *splice = body->splice;
    uint32_t frame = FRAME_OF(out->culprit);
    if (!splice || out->reason == CLONE_ELIGIBLE)
        return;
    while (frame && splice->frames[frame].parent)
        frame = splice->frames[frame].parent;
    out->within = frame ? splice->frames[frame].entry : 0;
    out->culprit = PLAIN_ADDRESS(out->culprit);
    out->called = splice->called;
    out->cell = splice->cell;
}

enum base_status clone_of(const struct clone_request *request, struct clone *clone)
{
    struct clone made = {0};
    struct body *body = calloc(1, sizeof *body);
    if (!body)
        return BASE_NO_MEMORY;
    *body = (struct body){.request = request, .origin = request, .out = &made};
    if (splice_calls(body) && body_collect(body) && look_through(body))
        make(body);
    made.nest_loop = request->loop;
    if (made.made && variants_make(body) && make_twin(body)) {
        nest_make(body);
        nest_gate(body);
        make_rest(body);
    }
    if (made.reason != CLONE_ELIGIBLE && !made.culprit && request->loop &&
        request->loop < request->flow->loops_count)
        made.culprit = request->flow->blocks[request->flow->loops[request->loop].head].start;
    tell_where(body);
    if (made.reason != CLONE_ELIGIBLE && made.made)
        free_code(&made);
    if (made.reason != CLONE_ELIGIBLE || request->marks)
        make_marker(body);
    bool no_memory = body->no_memory;
    body_free(body);
    free(body);
    if (no_memory) {
        clone_free(&made);
        return BASE_NO_MEMORY;
    }
    *clone = made;
    return BASE_OK;
}

void clone_free(struct clone *clone)
{
    free_code(clone);
    free(clone->marker.code);
    free(clone->marker.places);
    *clone = (struct clone){0};
}
