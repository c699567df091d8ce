// SPDX-License-Identifier: MIT
/*
 * The loops around a loop, copied as they are, to see how long its executions take where they follow each other undisturbed: a loop
 * that takes microseconds at a time cannot be stopped before each. What cannot be executed elsewhere leaves the nest: the
 * program goes on with it in its own place.
 */
#include "clone/internal.h"

#include <stdlib.h>

static bool copy_loop(struct body *body, uint32_t loop, struct emitted *emitted)
{
    return body_collect_nest(body, loop) && emit_clone(body, emitted);
}

/* True: it is made, or there is no memory for it. */
static bool try_loop(struct body *of, uint32_t loop)
{
    struct clone out = {0};
    struct emitted emitted = {0};
    struct body *body = calloc(1, sizeof *body);
    if (!body) {
        of->no_memory = true;
        return true;
    }
    *body = (struct body){
        .request = of->request, .out = &out, .copies = 1, .twin = true, .inner = of->request->loop};
    bool made = copy_loop(body, loop, &emitted);
    if (made) {
        free(emitted.starts);
        note_counter(body, emitted.clone);
        of->out->nest = (struct clone_copy){emitted.clone, emitted.places, emitted.place_count};
        of->out->nest_loop = loop;
    }
    of->no_memory |= body->no_memory;
    body_free(body);
    free(body);
    return made || of->no_memory;
}

bool nest_make(struct body *body)
{
    const struct cfg_loop *loops = body->request->flow->loops;
    uint32_t depth = loops[body->request->loop].depth;
    for (uint32_t outer = 1; outer < depth; outer++) {
        uint32_t loop = body->request->loop;
        while (loops[loop].depth > outer)
            loop = loops[loop].parent;
        if (try_loop(body, loop))
            break;
    }
    return !body->no_memory;
}
