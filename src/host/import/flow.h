// SPDX-License-Identifier: MIT
/*
 * Private to import: the function at hand, its code and its flow. What names instructions, finds loops around them and asks what they
 * are for goes through modules in the order of addresses, in step, so that each function is decoded once for all of them.
 */
#ifndef HEADROOM_IMPORT_FLOW_H
#define HEADROOM_IMPORT_FLOW_H

#include "binary/binary.h"
#include "cfg/cfg.h"
#include "pathgraph/pathgraph.h"
#include "role/role.h"

/* Zeroed at first. */
struct import_flow {
    struct binary *binary;
    uint64_t start, end;        /* of the function; equal: none */
    uint64_t number;            /* another one for each function */
    uint8_t *bytes;             /* end - start of them; NULL: not read */
    struct cfg *graph;          /* NULL: not read, or nothing is known of it */
    struct role_function *role; /* NULL: not asked, or nothing is known */
    bool read, unreadable, asked;
    struct pathgraph_returns returns;
};

/* From now on functions are the module's; none is at hand. binary may be NULL. */
void import_flow_begin(struct import_flow *flow, struct binary *binary);
void import_flow_end(struct import_flow *flow);

/* The function that holds the address becomes the one at hand; false: there is none, then. */
bool import_flow_find(struct import_flow *flow, uint64_t address);

/* Bytes and graph of the function at hand; nothing, if they are there. False: no memory. */
bool import_flow_read(struct import_flow *flow);
/* And what its accesses are for; nothing without a graph. False: no memory. */
bool import_flow_ask(struct import_flow *flow);

#endif
