// SPDX-License-Identifier: MIT
/* A loop's clone, step by step. */
#include "clone/internal.h"

#include <stdlib.h>

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
    [CLONE_BRANCH] = "branches on loaded data",
    [CLONE_DIVIDES] = "divides integers that are loaded",
    [CLONE_LONG] = "is too long or has too many ways through",
    [CLONE_NO_ACCESS] = "accesses no memory",
    [CLONE_LINES] = "has more operands than fit, or some that overlap beyond a cache line",
    [CLONE_RECURRENCE_MADE] = "would get a recurrence through memory",
    [CLONE_RECURRENCE_LOST] = "would lose a recurrence through memory",
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
    [CLONE_DIVIDES] = "integer-division",
    [CLONE_LONG] = "too-long",
    [CLONE_NO_ACCESS] = "no-access",
    [CLONE_LINES] = "operands",
    [CLONE_RECURRENCE_MADE] = "recurrence-made",
    [CLONE_RECURRENCE_LOST] = "recurrence-lost",
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

void note_counter(const struct body *body, struct wire_clone *made)
{
    struct cfg_progress progress;
    cfg_progress(body->request->flow, body->request->code, body->request->loop, &progress);
    if (progress.kind != CFG_PROGRESS_COUNTER)
        return;
    made->counter = progress.counter;
    made->counter_bytes = progress.bytes;
    made->step = progress.step;
}

/* The loop as it is. */
static bool make_twin(struct body *body)
{
    struct emitted emitted = {0};
    body->copies = 1;
    body->twin = true;
    if (!emit_clone(body, &emitted))
        return false;
    free(emitted.starts);
    note_counter(body, emitted.clone);
    body->out->twin = (struct clone_copy){emitted.clone, emitted.places, emitted.place_count};
    return true;
}

/* With so many copies. True: it is made. */
static bool try_copies(struct body *body, unsigned copies)
{
    struct emitted emitted = {0};
    body->copies = copies;
    body->out->reason = CLONE_ELIGIBLE;
    bool good = lines_assign(body) && emit_clone(body, &emitted) && compare_end(body, &emitted);
    free(emitted.starts);
    if (!good) {
        free(emitted.clone);
        return false;
    }
    note_counter(body, emitted.clone);
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

enum base_status clone_of(const struct clone_request *request, struct clone *clone)
{
    struct clone made = {0};
    struct body *body = calloc(1, sizeof *body);
    if (!body)
        return BASE_NO_MEMORY;
    *body = (struct body){.request = request, .out = &made};
    if (body_collect(body) && data_is_apart(body) && ways_find(body) && compare_begin(body))
        make(body);
    made.nest_loop = request->loop;
    if (made.made && make_twin(body))
        nest_make(body);
    if (made.reason != CLONE_ELIGIBLE && !made.culprit && request->loop &&
        request->loop < request->flow->loops_count)
        made.culprit = request->flow->blocks[request->flow->loops[request->loop].head].start;
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
    free(clone->made);
    free(clone->twin.code);
    free(clone->twin.places);
    free(clone->nest.code);
    free(clone->nest.places);
    *clone = (struct clone){0};
}
