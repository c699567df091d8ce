// SPDX-License-Identifier: MIT
/* Between the files of room bodies. */
#ifndef HEADROOM_BODIES_INTERNAL_H
#define HEADROOM_BODIES_INTERNAL_H

#include "bodies/bodies.h"
#include "cfg/cfg.h"

struct way {
    uint32_t *blocks; /* from the head, in order */
    size_t count;
    unsigned taken;
};

/* The innermost loops of a graph. All memory that single loops need is here, once: a hostile file may have very many. */
struct innermost {
    const struct cfg *flow;
    bool *outer; /* by loop: others are inside */
    uint32_t *first,
        *members; /* blocks whose innermost loop is l: members[first[l] ... first[l + 1] - 1] */
    uint32_t *ways, *stack, *next; /* by block, for ways_through */
    bool *open;
    struct way way;
};

bool innermost_make(struct innermost *innermost, const struct cfg *flow); /* false: no memory */
void innermost_free(struct innermost *innermost);

/* The way through an innermost loop that is taken for it, in innermost->way; false: it does not lead back to the head. */
bool way_through(struct innermost *innermost, uint32_t loop, bodies_weigh *weigh, void *context);

/* How many ways there are, BODIES_WAYS_MAX at most. 0: the loop is irreducible. */
uint32_t ways_through(struct innermost *innermost, uint32_t loop);

#endif
