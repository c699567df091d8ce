// SPDX-License-Identifier: MIT
/*
 * The loops around a loop, copied as they are, to see how long its executions take where they follow each other undisturbed: a loop
 * that takes microseconds at a time cannot be stopped before each. What cannot be executed elsewhere leaves the nest: the
 * program goes on with it in its own place.
 *
 * Where the program was prepared for it, the loop alone is copied, too, and entered from the program and left for it.
 */
#include "clone/internal.h"

#include <stdlib.h>
#include <string.h>

/* Where such a copy of the loop goes. */
static struct clone_copy *copy_in(struct clone *out, bool records, bool gated)
{
    if (gated)
        return records ? &out->gated_recorder : &out->gated;
    return records ? &out->recorder : &out->nest;
}

/* True: it is made, or there is no memory for it. */
static bool try_loop(struct body *of, uint32_t loop, bool records, bool gated)
{
    struct clone out = {0};
    struct body *body = calloc(1, sizeof *body);
    if (!body) {
        of->no_memory = true;
        return true;
    }
    *body = (struct body){.request = of->origin,
                          .origin = of->origin,
                          .out = &out,
                          .copies = 1,
                          .twin = true,
                          .inner = of->origin->loop,
                          .calls = of->splice,
                          .progress = of->progress,
                          .records = records,
                          .gated = gated,
                          .outcome_count = of->outcome_count};
    memcpy(body->outcomes, of->outcomes, sizeof body->outcomes);
    bool made = body_collect_nest(body, loop) && emit_copy(body, copy_in(of->out, records, gated));
    if (made && !gated)
        of->out->nest_loop = loop;
    of->no_memory |= body->no_memory;
    body_free(body);
    free(body);
    return made || of->no_memory;
}

void nest_make(struct body *body)
{
    const struct cfg_loop *loops = body->origin->flow->loops;
    uint32_t depth = loops[body->origin->loop].depth;
    for (uint32_t outer = 1; outer < depth; outer++) {
        uint32_t loop = body->origin->loop;
        while (loops[loop].depth > outer)
            loop = loops[loop].parent;
        if (try_loop(body, loop, false, false))
            break;
    }
}

void nest_gate(struct body *body)
{
    if (!body->origin->gated || body->splice)
        return;
    try_loop(body, body->origin->loop, false, true);
    if (body->out->gated.code && body->outcome_count)
        try_loop(body, body->origin->loop, true, true);
}

void nest_record(struct body *body)
{
    if (body->splice) /* its loop calls the program's own functions */
        return;
    if (body->out->nest.code)
        try_loop(body, body->out->nest_loop, true, false);
}
