// SPDX-License-Identifier: MIT
/* Memory models of `headroom limits --schedule`: which are asked for, which caches are simulated for them, and what loads take. */
#ifndef HEADROOM_CLI_MEMORY_H
#define HEADROOM_CLI_MEMORY_H

#include "assess/assess.h"
#include "cache/cache.h"

struct memory_choice {
    const char *models;                     /* list of names, or NULL: uniform */
    bool here;                              /* the machine is this one, whose memory may be timed */
    const struct bounds_latencies *by_hand; /* NULL: none */
    struct assess_memory memory;            /* what is made of it */
    struct cache_shape levels[EXECUTED_LEVELS -
                              1]; /* caches of this machine that have a latency, for simulation */
    size_t levels_count;          /* 0: none are to be simulated */
};

/* Fills in the members behind the first three. False: a clause says why not. */
bool memory_choose(struct memory_choice *choice, char *why, size_t why_bytes);

#endif
