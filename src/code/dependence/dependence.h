// SPDX-License-Identifier: MIT
/*
 * dependence: what an innermost loop of a source bounds itself by: dependences between its references, with distance vectors; the graph of its
 * three-address operations and the critical circuit of that (Touati, MHAOTEU report 1.1, part III: visudep); and what a compiler has
 * made of them.
 *
 * Dependences through memory are all pairs of iterations that touch the same element, whatever is written in between; those that the
 * innermost loop carries, or has within an iteration, are arcs of the graph. Scalars are registers. Different arrays are taken to be
 * apart. Only true dependences (flow) hold up anything: anti and output are shown, and are on no circuit.
 *
 * Reads the source for the text of references; prints nothing. Errors explain themselves in one sentence: error, of
 * DEPENDENCE_ERROR_BYTES. One thread at a time for a module.
 */
#ifndef HEADROOM_DEPENDENCE_H
#define HEADROOM_DEPENDENCE_H

#include "bounds/bounds.h"
#include "ir/loop.h"
#include "polyhedra/vectors.h"

enum { DEPENDENCE_ERROR_BYTES = 1024 };

/* Thousandths of a cycle, of integers and of floating-point numbers. */
struct dependence_latencies {
    int32_t load, forwarded[2]; /* forwarded: of what the loop itself stores */
    int32_t store;
    int32_t work[2][IR_WORKS];
};

struct dependence_arc {
    uint32_t from, to;  /* operations of the loop */
    uint8_t dependence; /* enum bounds_dependence */
    bool memory;
    uint32_t distance; /* iterations of the innermost loop */
    int32_t latency;   /* of the operation at its beginning; anti, output: 0 */
};

struct dependence_loop {
    const struct ir_loop *loop;
    const char *function, *file; /* as the source has them; file NULL: unknown */
    uint32_t *references;        /* by operation: the access of the nest; UTIL_NONE: none */
    uint32_t left_out;           /* loops around it that the sets do not have, outermost first */
    struct polyhedra_vector *vectors; /* between references of the loop */
    size_t vectors_count, vectors_capacity;
    int64_t stride_line,
        stride; /* bytes an iteration of the references on a line; 0: none is known */
    struct dependence_arc *arcs;
    size_t arcs_count, arcs_capacity;
    uint32_t *circuit; /* arcs in order */
    size_t circuit_count;
    int64_t circuit_latency, circuit_distance; /* thousandths, iterations */
};

struct dependence_source { /* {0} is empty */
    struct ir_loops loops;
    struct dependence_loop *items;
    size_t count, capacity;
};

/*
 * The innermost loops around a line of a module. file: the end of the source file's path; NULL: any. BASE_NOT_FOUND: there is no loop;
 * BASE_UNSUPPORTED: Polly has no sets of it, or not of all references, which then is the error, and *line is its line; else as polyhedra_vectors. Free it whatever is returned.
 */
enum base_status dependence_find(const struct ir *ir, const struct polyhedra *polyhedra,
                                 const char *file, uint32_t *line,
                                 const struct dependence_latencies *latencies,
                                 struct dependence_source *source, char *error);
void dependence_free(struct dependence_source *source);

/* ---- as text --------------------------------------------------------------------------------------------- */

/* "(+, 0, -1)": 0+ is 0 or more, * anything. Returns text. */
const char *dependence_vector(const struct polyhedra_vector *vector, char *text, size_t bytes);

/* Which vertices the list and the picture have. */
enum dependence_vertices { DEPENDENCE_OPERATIONS, DEPENDENCE_STATEMENTS };

/* "-----> FLOW dependence between c[j][i] (line 8) and c[j][i - 1] (line 8)" and its vector, as visudep lists them; operations: and
   those through scalars. False: no memory, as in the others. */
bool dependence_list(const struct dependence_loop *loop, const struct ir *ir,
                     enum dependence_vertices vertices, struct util_text *text);
/* "critical circuit: 16/1" and its arcs with <latency, distance>. */
bool dependence_circuit(const struct dependence_loop *loop, const struct ir *ir,
                        struct util_text *text);
/* In Graphviz' language: flow red, anti blue, output green; loads boxes, stores triangles, arithmetic circles. */
bool dependence_dot(const struct dependence_loop *loop, const struct ir *ir,
                    enum dependence_vertices vertices, struct util_text *text);

/* ---- against the machine code ------------------------------------------------------------------------------ */

enum dependence_fate {
    DEPENDENCE_IN_MEMORY,   /* the machine code has it, through memory */
    DEPENDENCE_IN_REGISTER, /* what was stored and loaded, or a scalar, stays in a register */
    DEPENDENCE_GONE,        /* neither */
    DEPENDENCE_ADDED,       /* through memory in the machine code alone */
    DEPENDENCE_FATES,
};

struct dependence_reconciled {
    uint8_t dependence; /* enum bounds_dependence */
    uint8_t fate;       /* enum dependence_fate */
    uint32_t from, to;  /* operations; of DEPENDENCE_ADDED instructions */
    uint32_t distance;  /* iterations of the source, of DEPENDENCE_ADDED of the machine code */
    bool scalar;        /* no memory in the source */
    bool may;           /* of DEPENDENCE_ADDED: if addresses that nothing is known of are equal */
};

struct dependence_verdict { /* {0} is empty */
    uint32_t iterations;    /* of the source in one of the machine code; 0: not known */
    struct dependence_reconciled *items;
    size_t count, capacity;
    uint32_t
        counters; /* recurrences of the machine code through registers that the source's operations do not have: counters, addresses */
};

/* A source line of each instruction of the block; 0: unknown. */
struct dependence_code {
    const struct bounds *bounds; /* with graph and streams */
    const struct bounds_block *block;
    const uint32_t *lines;
};

/* Matched by lines, kinds and distances. False: no memory. Free the verdict whatever is returned. */
bool dependence_reconcile(const struct dependence_loop *loop, const struct ir *ir,
                          const struct dependence_code *code, struct dependence_verdict *verdict);
void dependence_verdict_free(struct dependence_verdict *verdict);

#endif
