// SPDX-License-Identifier: MIT
/* What the files of room bounds share. */
#ifndef HEADROOM_BOUNDS_INTERNAL_H
#define HEADROOM_BOUNDS_INTERNAL_H

#include "bounds/bounds.h"

#include <math.h>

enum { COST_USES = MODEL_PARTS };

/* What an instruction of the block costs on the machine, after idioms and fusion with its neighbours. */
struct cost {
    const struct model_figures *figures; /* NULL: of what is free alone */
    bool guessed;                        /* the model knows neither the form nor a similar one */
    bool zeroes;                         /* result needs no input and no unit */
    bool breaks;                         /* needs no input */
    bool eliminated;                     /* move that renaming does */
    bool fused;                          /* into the instruction before it: no slot, no units */
    bool free;                           /* nop: a slot, nothing else */
    uint8_t stack_delay; /* cycles by which rsp is late: it was brought up to date */
    float slots;         /* of dispatch */
    float decoded;       /* slots in the decoders: before un-lamination */
    float operations;
    uint8_t use_count;
    struct model_use uses[COST_USES];
};

/* What is made from the arguments of bounds_of, for the steps. */
struct work {
    const struct bounds_block *block;
    const struct model *model;
    const struct model_machine *machine;
    const struct bounds_options *options;
    const struct bounds_latencies *latencies;
    bool uncertain; /* the costs have something that is predicted, and not certified */
    struct cost *costs;
    struct stream_look *looks; /* streams.c; NULL: not wanted */
    struct model_figures
        *estimates; /* by instruction, where the model lacks the form; NULL: nowhere */
    struct bounds *out;
};

static inline bool has_rule(const struct work *work, uint32_t rule)
{
    return (work->machine->rules & rule) != 0;
}

/* The machine's figure, or `otherwise` if it is unknown. */
static inline float figure(const struct work *work, enum model_figure_kind kind, float otherwise)
{
    const struct model_figure *known = &work->machine->figures[kind];
    return known->source == MODEL_UNKNOWN ? otherwise : known->value;
}

static inline bool is_general(uint8_t reg)
{
    return reg < BOUNDS_VECTOR;
}

static inline bool is_vector(uint8_t reg)
{
    return reg >= BOUNDS_VECTOR && reg < BOUNDS_MASK;
}

static inline bool loads(const struct bounds_operand *operand)
{
    return operand->kind == BOUNDS_MEMORY && operand->reads;
}

static inline bool stores(const struct bounds_operand *operand)
{
    return operand->kind == BOUNDS_MEMORY && operand->writes;
}

/* cost.c: fills work->costs. False: no memory. */
bool costs_of(struct work *work);
/* Bytes by which push and pop change rsp. */
int64_t stack_change(const struct bounds_instruction *instruction);

/* resource.c: the resource bound, its table and the pressure of instructions. False: no memory. */
bool resources_of(struct work *work);
/* When the trace was made: adds what it found of stores. */
void stores_of(struct work *work);
/* Is the form's throughput, as measured, a bound of its own? */
bool counts_alone(const struct cost *cost);
/* Does it lock its access? */
bool is_locked(const struct bounds_instruction *instruction);

/* front.c */
void front_end_of(struct work *work);

/* vertices.c: latencies between the operands of one instruction. */
struct arc_latency {
    int32_t least, most; /* thousandths */
};
/* Part of the instruction's latency that is the load of operand `from`, and what follows until `to`. */
struct arc_latency load_latency(const struct work *work, uint32_t instruction,
                                const struct bounds_operand *from, bool fast);
struct arc_latency compute_latency(const struct work *work, uint32_t instruction,
                                   const struct bounds_operand *from,
                                   const struct bounds_operand *to);
/* From the datum that a store leaves to the datum that a load gets. */
struct arc_latency forward_latency(const struct work *work, const struct bounds_instruction *loads,
                                   bool failed);

/* streams.c: what the addresses of a block's memory operands were in the first iterations; streams_end makes streams of it. */
enum { STREAM_LOOKS = 3 };
struct stream_look {
    uint64_t roots[STREAM_LOOKS];
    int64_t offsets[STREAM_LOOKS];
};
bool streams_begin(struct work *work); /* false: no memory; likewise streams_end */
void streams_see(struct work *work, uint32_t instruction, unsigned operand, uint32_t iteration,
                 uint64_t root, int64_t offset);
bool streams_end(struct work *work);

/* The root of what a general register holds at first. */
static inline uint64_t first_root(uint8_t reg)
{
    return base_mix64(reg + 1U);
}

/* trace.c: vertices and arcs. ranges: of each arc's latency (malloc's). False: no memory. */
bool trace_dependences(struct work *work, struct arc_latency **ranges);

/* executed.c: places in memory as they were accessed, in place of symbolic addresses. */
struct executed_trace;
/* A load of the instruction depends on a store's vertex; failed: it needs more than that. */
typedef void executed_source(void *context, uint32_t at, uint32_t from, uint32_t to, bool failed);
/* False: no memory. */
bool executed_loads(struct executed_trace *trace, uint32_t at, uint32_t vertex,
                    executed_source *depend, void *context);
bool executed_stores(struct executed_trace *trace, uint32_t at, uint32_t vertex);
/* trace.c: the same for a block that is what was executed, once. */
bool trace_executed(struct work *work, struct executed_trace *executed,
                    struct arc_latency **ranges);

#endif
