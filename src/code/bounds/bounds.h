// SPDX-License-Identifier: MIT
/*
 * bounds: what bounds a loop of machine code on a machine with a given model, in cycles an iteration: its units, its
 * recurrences, its front end (Touati, MHAOTEU report 1.1, part III: MIIress and visudep; the two bounds are those of Rau's
 * iterative modulo scheduling).
 *
 * Pure: no files, no state. Code is hostile input: any bytes give a result or a status. All memory is malloc's; a result is the
 * caller's and does not change. Any number of threads may call all of this.
 *
 * The dependence graph has a vertex for each value that an instruction makes: the datum that it loads, each register or
 * flags operand that it writes, the datum that it stores. An arc says that the second vertex needs the first one's value, made `distance`
 * iterations before, and is there `latency` after it. Registers are taken as renamed, so only true dependences hold up anything; anti
 * and output dependences are kept for memory, where they show what cannot be reordered by hand. Memory: addresses are
 * sums of a root (a register's value at the beginning, or one that several instructions compute, by value numbering) and
 * a number. Equal roots: whether two accesses overlap, and at what distance, is proven. Different ones: they may
 * overlap, and such arcs bound nothing but what is called `aliased`. 32-bit indices are assumed not to wrap around.
 *
 * Certified is what no execution of the iteration on that machine can beat, if the model's figures are right: least latencies,
 * dependences that are proven, units and slots of known forms. Predicted adds what the front end does to code that is not in
 * the cache of decoded instructions, guesses for forms that the model does not know, and what stores cost that follow one another
 * at places far apart, if what their addresses are made of is aligned.
 *
 * What is not seen: values (divisions take `least`), mispredicted branches, caches, callees (their registers are taken as
 * new), the stack of x87 registers.
 */
#ifndef HEADROOM_BOUNDS_H
#define HEADROOM_BOUNDS_H

#include "model/model.h"
#include "util/util.h"

enum {
    BOUNDS_INSTRUCTIONS_MAX = 4096, /* of a block; more: BASE_TOO_LARGE */
    BOUNDS_OPERANDS = 10,
    BOUNDS_DISTANCE_MAX = 24, /* recurrences through memory are found up to this distance */
    BOUNDS_TEXT_BYTES = 96,
};
#define BOUNDS_NONE UINT32_MAX

/* ---- a block of decoded instructions ----------------------------------------------------------- */

/* Registers by number: general 0 to 15 as encoded, vector 16 to 47, masks 48 to 55, mmx 56 to 63, flags one for each bit. */
enum {
    BOUNDS_VECTOR = 16,
    BOUNDS_MASK = 48,
    BOUNDS_MMX = 56,
    BOUNDS_FLAG = 64,
    BOUNDS_FLAGS = 6,
    BOUNDS_REGISTERS = 70
};
#define BOUNDS_NO_REGISTER 255

enum bounds_operand_kind {
    BOUNDS_REGISTER,
    BOUNDS_FLAGS_OPERAND,
    BOUNDS_MEMORY,
    BOUNDS_ADDRESS,
    BOUNDS_IMMEDIATE,
    BOUNDS_OTHER
};

struct bounds_operand {
    uint8_t kind;                    /* enum bounds_operand_kind */
    uint8_t number;                  /* Zydis', as a model's latencies name it */
    uint8_t reg;                     /* BOUNDS_REGISTER */
    uint16_t bits;                   /* of the register or the access */
    bool reads, writes, conditional; /* conditional: may leave what was there */
    bool hidden;                     /* not in the assembly text */
    uint8_t base, index;             /* registers or BOUNDS_NO_REGISTER */
    uint8_t scale, segment;
    bool absolute, gathers; /* absolute: value is the whole address; gathers: several addresses */
    uint8_t flags_read,
        flags_written; /* BOUNDS_FLAGS_OPERAND: bit f for register BOUNDS_FLAG + f */
    int64_t value;     /* displacement or immediate */
};

struct bounds_instruction {
    uint64_t address;
    uint16_t mnemonic;        /* ZydisMnemonic */
    uint8_t length, prefixes; /* bytes; prefixes: before the opcode */
    uint8_t category;         /* enum bounds_category */
    bool changes_length;      /* a 16-bit immediate: predecoding takes longer */
    bool same;  /* its last two explicit operands are the same whole register, none is memory */
    bool stack; /* push, pop, call, ret */
    bool branches, jumps, calls; /* conditional; other jumps; call */
    uint8_t operand_count;
    struct bounds_operand operands[BOUNDS_OPERANDS];
    uint8_t key_bytes;
    char key[MODEL_KEY_BYTES];
    char text[BOUNDS_TEXT_BYTES]; /* assembly, AT&T syntax; "" unless asked for */
};

/* Of the work that is not loading or storing; `--latency` names them, and shapes of drawn vertices go by them. */
enum bounds_category {
    BOUNDS_OTHERS,
    BOUNDS_MOVE,
    BOUNDS_ADD,
    BOUNDS_MULTIPLY,
    BOUNDS_FUSED,
    BOUNDS_DIVIDE,
    BOUNDS_ROOT,
    BOUNDS_CATEGORIES
};

struct bounds_block { /* {0} is empty */
    struct bounds_instruction *instructions;
    size_t count, capacity;
};

/* Appends the instructions in count bytes. BASE_MALFORMED: some bytes are none, *bad is their offset; BASE_TOO_LARGE;
   BASE_NO_MEMORY; the block is then as it was. text: write instructions as assembly, which takes as long as all the rest. */
enum base_status bounds_decode(const uint8_t *bytes, size_t count, uint64_t address, bool text,
                               struct bounds_block *block, size_t *bad);
void bounds_block_free(struct bounds_block *block);

/*
 * Digits of bytes back to back; blanks, "0x" and "\x" before bytes are skipped, and a comma, a semicolon or a tab ends the block (what
 * follows is a remark). *bytes: the caller's, to free, NULL if there are none. BASE_MALFORMED: something else is there, at *bad;
 * BASE_NO_MEMORY.
 */
enum base_status bounds_hex(const char *text, size_t count, uint8_t **bytes, size_t *byte_count,
                            size_t *bad);

/* ---- latencies given by hand -------------------------------------------------------------------- */

struct bounds_latencies { /* cycles; negative: as the model has it */
    float load, store, category[BOUNDS_CATEGORIES];
    float l2, l3, memory; /* of a load that is found there; for executed.h alone */
};
extern const struct bounds_latencies bounds_as_modelled;

/* Reads "load=2,div=12,store=2" into *latencies (names: load store other move add mul fma div sqrt l2 l3 memory). False: why has a clause. */
bool bounds_latencies_read(const char *text, struct bounds_latencies *latencies, char *why,
                           size_t why_bytes);

/* ---- the dependence graph ------------------------------------------------------------------------ */

enum bounds_vertex_kind { BOUNDS_LOADS, BOUNDS_COMPUTES, BOUNDS_STORES };

struct bounds_vertex {
    uint32_t instruction; /* index in the block */
    uint8_t kind;         /* enum bounds_vertex_kind */
    uint8_t operand;      /* Zydis' number */
};

enum bounds_dependence { BOUNDS_FLOW, BOUNDS_ANTI, BOUNDS_OUTPUT };

struct bounds_arc {
    uint32_t from, to; /* vertices */
    int32_t
        latency; /* thousandths of a cycle; may be negative where a store is forwarded faster than loaded. Anti, output: 0 */
    uint16_t distance;  /* iterations */
    uint8_t dependence; /* enum bounds_dependence */
    uint8_t reg;        /* through which; BOUNDS_NO_REGISTER: memory, or within the instruction */
    bool may;           /* memory: not proven */
    bool memory;
    bool failed; /* memory: the load needs more than the store wrote; forwarding fails */
};

/* ---- address streams ------------------------------------------------------------------------------ */

/* How a memory operand's address changes from iteration to iteration. */
enum bounds_stride {
    BOUNDS_STRIDE_CONSTANT,  /* by a number: `stride`; 0: always the same */
    BOUNDS_STRIDE_INVARIANT, /* by the same in each iteration, which registers hold */
    BOUNDS_STRIDE_IRREGULAR  /* otherwise: depends on what is loaded, or is not understood */
};

/*
 * Found by what the addresses of the first iterations are, as values: see the comment on memory above. Addresses with equal
 * roots (and segments) are `offset` apart from one another in the first iteration.
 */
struct bounds_stream {
    uint32_t instruction; /* index in the block */
    uint8_t operand;      /* index in its operands */
    uint8_t kind;         /* enum bounds_stride */
    bool from_registers;  /* the first address is base + index * scale + offset, by the registers
                             at the beginning of the first iteration (and the segment's base) */
    uint64_t root;
    int64_t offset;
    int64_t stride; /* BOUNDS_STRIDE_CONSTANT: bytes an iteration; else 0 */
};

/* ---- bounds --------------------------------------------------------------------------------------- */

enum bounds_limit { BOUNDS_BY_RESOURCE, BOUNDS_BY_RECURRENCE, BOUNDS_BY_FRONTEND, BOUNDS_LIMITS };
extern const char *const bounds_limit_names[BOUNDS_LIMITS]; /* "resource", ... as JSON has them */

/* A row of the resource table: a unit, or what the whole machine does of a kind a cycle. */
struct bounds_resource {
    const char *name; /* the model's, or constant */
    float copies;     /* units, or so many a cycle */
    float cycles;     /* an iteration, if work is shared out as well as can be */
    float work;       /* of it that only this unit can do */
    bool bottleneck;
};

struct bounds_options {
    bool unrolled;  /* copies follow one another in memory: no taken branch, decoding counts */
    bool graph;     /* keep vertices and arcs, with may-arcs, anti and output */
    bool streams;   /* find address streams */
    unsigned taken; /* taken branches an iteration, if not unrolled */
    bool
        known; /* forms that the model lacks cost a slot and nothing else, rather than as similar ones */
    const struct bounds_latencies *latencies; /* NULL: the model's */
};

struct bounds {
    double resource, recurrence,
        frontend;  /* cycles an iteration; recurrence: with dependences that are proven */
    double slots;  /* of frontend: slots over width */
    double branch; /* of frontend: taken branches */
    double predecode,
        decode; /* unrolled code that is not in the cache of decoded instructions; else 0 */
    double recurrence_most; /* recurrence, if values make latencies longest */
    double aliased;         /* recurrence, if accesses that may overlap do, at the least distance */
    double
        store_blocks; /* stores to another block of memory than the one before, where that costs a cycle each; of resource */
    double certified; /* with options.known, whatever was asked for */
    double predicted;
    uint8_t limit, next; /* enum bounds_limit: the largest, the second */
    double next_cycles;  /* of the second */
    float slots_count;   /* fused slots */
    float operations;    /* micro-operations */
    uint32_t unknown; /* instructions of which the model knows neither the form nor a similar one */
    uint32_t first_unknown; /* BOUNDS_NONE: none */
    struct bounds_resource *resources;
    size_t resource_count;
    double *pressure; /* by instruction: cycles of the resources that bound it */
    /* The critical circuit: arcs in order, with graph or not. circuit_latency / circuit_distance is the recurrence. */
    uint32_t *circuit;
    size_t circuit_count;
    int64_t circuit_latency; /* thousandths */
    int64_t circuit_distance;
    struct bounds_vertex *vertices;
    size_t vertex_count, vertex_capacity;
    struct bounds_arc *arcs;
    size_t arc_count, arc_capacity;
    struct bounds_stream *streams; /* of the memory operands in order; options.streams */
    size_t stream_count;
};

/*
 * The bounds of a block that is executed again and again. BASE_NO_MEMORY; BASE_NOT_FOUND: it is empty. A result is to be ended
 * with bounds_free. Takes some 10 microseconds for a block of ten instructions.
 */
enum base_status bounds_of(const struct bounds_block *block, const struct model *model,
                           const struct bounds_options *options, struct bounds *bounds);
void bounds_free(struct bounds *bounds);

/*
 * Largest Σ latency / Σ distance over circuits (Howard's policy iteration by strongly connected component, in integers; then
 * checked by a search for a circuit that exceeds it). Arcs without `chosen` (NULL: all) count for nothing. Each circuit must have a
 * distance; one without is ignored. *circuit: indices of arcs, malloc's, NULL if there is no circuit; then latency is 0 and distance
 * 1. BASE_NO_MEMORY.
 */
enum base_status bounds_ratio(const struct bounds_arc *arcs, size_t arc_count, size_t vertex_count,
                              const bool *chosen, uint32_t **circuit, size_t *circuit_count,
                              int64_t *latency, int64_t *distance);

/* ---- as text --------------------------------------------------------------------------------------- */

/* Where an instruction comes from: "FILE:LINE" or "". */
typedef void bounds_place(void *context, uint32_t instruction, char *text, size_t bytes);

/* Dependences, a sentence each, as visudep lists them. Needs a result with graph and a block with text. */
bool bounds_list(const struct bounds *bounds, const struct bounds_block *block, bounds_place *place,
                 void *context, struct util_text *text);
/* "critical circuit: 16/1" and its arcs with <latency, distance>. */
bool bounds_circuit(const struct bounds *bounds, const struct bounds_block *block,
                    bounds_place *place, void *context, struct util_text *text);
/* The graph in Graphviz' language. title: becomes a label. */
bool bounds_dot(const struct bounds *bounds, const struct bounds_block *block, bounds_place *place,
                void *context, const char *title, struct util_text *text);

#endif
