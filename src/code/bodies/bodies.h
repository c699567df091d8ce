// SPDX-License-Identifier: MIT
/*
 * bodies: the innermost loops of a program file, each as the block of instructions that one iteration executes, with their source
 * lines.
 *
 * A loop with branches inside has several ways through. The one taken here is that of the most samples where there are any, else the
 * one that falls through where it can: compilers put there what they hold to be likely. The number of ways is recorded.
 *
 * Where samples are known, loops around others are bodies, too, if there are samples in code that is theirs alone: by a way that
 * goes around the loops within, if there is one.
 *
 * Host side; reads files through `binary`, which are hostile input: every failure is a status. Call cfg_start before.
 */
#ifndef HEADROOM_BODIES_H
#define HEADROOM_BODIES_H

#include "binary/binary.h"
#include "bounds/bounds.h"

enum { BODIES_LOOPS_MAX = 10000, BODIES_WAYS_MAX = 1000000 };

struct bodies_place {
    const char *file; /* the binary's; NULL: not known */
    uint32_t line;    /* 0: not known */
};

struct bodies_loop {
    const char *function;      /* as people read it; the binary's, or `made` */
    char *made;                /* "0xADDRESS" where there is no name; else NULL */
    uint64_t start, end;       /* of the function */
    uint64_t head;             /* address of the first instruction */
    struct bodies_place place; /* where the loop stands in the source: a guess by its branches */
    struct bounds_block block;
    struct bodies_place *places;   /* by instruction */
    unsigned taken;                /* taken branches on the way */
    uint32_t ways;                 /* through the loop; BODIES_WAYS_MAX: or more */
    uint32_t blocks, instructions; /* of the loop, whichever way */
    uint32_t calls;                /* on the way: what they execute is not in the block */
    double weight;                 /* of the samples in the loop */
};

struct bodies { /* {0} is empty */
    struct bodies_loop *loops;
    size_t count, capacity;
    uint32_t left_out; /* loops that have no single head, or code that does not decode */
};

/* How many samples lie in [start, end)? NULL: none are known. */
typedef double bodies_weigh(void *context, uint64_t start, uint64_t end);

/* Appends the innermost loops of the function in [start, end), by address of their heads. A function whose control flow is not
   known has none. BASE_NO_MEMORY, BASE_TOO_LARGE (BODIES_LOOPS_MAX); BASE_MALFORMED: the bytes are not in the file. */
enum base_status bodies_of(struct binary *binary, uint64_t start, uint64_t end, bodies_weigh *weigh,
                           void *context, struct bodies *bodies);
void bodies_free(struct bodies *bodies);

/* Where the code of a loop lies, with that of loops inside it. */
struct bodies_extent {
    uint64_t start, end; /* of the function */
    struct bodies_range {
        uint64_t start, end;
    } * ranges; /* malloc's */
    size_t range_count;
};
/* head: address of its first instruction. BASE_NOT_FOUND: no loop begins there; BASE_NO_MEMORY; else as bodies_of. */
enum base_status bodies_extent_of(struct binary *binary, uint64_t head,
                                  struct bodies_extent *extent);
void bodies_loop_free(struct bodies_loop *loop); /* of one that was taken out */

#endif
