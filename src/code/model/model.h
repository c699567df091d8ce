// SPDX-License-Identifier: MIT
/*
 * model: what a processor's instructions cost. One data structure for the machine that headroom runs on, measured, and for
 * others, from tables.
 *
 * An instruction *form* is what decides its cost besides values: mnemonic, encoding, kinds and widths of its operands. It
 * has a key, a text made from a decoded instruction. A model maps keys to figures, and has figures of the machine as a whole.
 * Cycles are those of the core, at whatever frequency.
 *
 * Resources. A form uses sets of units: `cycles` of work that any unit of the set can do. The bound of many forms
 * is the largest, over unions of sets, of the work of all sets within the union, divided by its units (the port
 * sets of tables). A measured model has abstract resources instead (Derumigny et al., PALMED, CGO 2022: each of capacity one
 * cycle a cycle, and a form uses some of several): these are sets of one unit each, to which the same formula applies.
 *
 * A model is constant once it is open, and any number of threads may read it. Texts that it hands out live as long as it.
 * Functions print nothing; what fails explains itself in a sentence. Memory is malloc's.
 */
#ifndef HEADROOM_MODEL_H
#define HEADROOM_MODEL_H

#include "base/base.h"
#include "util/util.h"

struct ZydisDecodedInstruction_;
struct ZydisDecodedOperand_;

/* ---- keys ------------------------------------------------------------------------------------ */

enum { MODEL_KEY_BYTES = 128 }; /* with the 0 at its end */

/*
 * The key of a decoded instruction: mnemonic; .lock, .rep, .v (VEX), .e (EVEX), .k or .kz (masked, zeroing), .b (broadcast); then
 * an underscore and a kind for each visible operand: r8 r8h r16 r32 r64 x y z mm k st sr o, m<bits>, vs<bits> (gathered), a[b][i][d]
 * (an address alone, its parts), i, ptr. `vaddpd.v_y_y_m256`, `lea_r64_abid`. operands: all that Zydis decoded, hidden
 * ones too. Returns the key's length, less than MODEL_KEY_BYTES.
 */
size_t model_key(const struct ZydisDecodedInstruction_ *instruction,
                 const struct ZydisDecodedOperand_ *operands, char key[MODEL_KEY_BYTES]);

/* ---- where a figure comes from ---------------------------------------------------------------- */

enum model_source {
    MODEL_UNKNOWN,  /* no figure: its value means nothing */
    MODEL_MEASURED, /* here, by the time stamp counter */
    MODEL_TABLE,    /* generated from LLVM's scheduling models */
    MODEL_OVERLAY,  /* corrects one of the above, for a reason that is given */
    MODEL_DERIVED, /* from figures of similar forms: a neighbour in width, or a register form and a load */
    MODEL_SOURCES
};
const char *model_source_text(enum model_source source); /* "measured", ... */

/* ---- a form's figures -------------------------------------------------------------------------- */

enum { MODEL_UNITS_MAX = 64, MODEL_PARTS = 12 };
#define MODEL_ANY 15 /* as an operand's number: each one that no other entry names */

typedef uint64_t model_set; /* bit u: unit u of the model's machine */

/*
 * From the time at which operand `from` is there to that at which `to` is; numbers are Zydis' (hidden operands
 * count, flags too). From a memory operand: from its address to the result, its data being in the first-level cache and
 * not just stored. To a memory operand: until the data can be forwarded, without the forwarding itself.
 */
struct model_latency {
    uint8_t from, to;
    float least, most; /* over operand values; equal for most forms */
};

struct model_use {
    model_set units; /* not 0 */
    float cycles;    /* of work: micro-operations times the cycles that each takes a unit */
};

/* A unit that is not pipelined (the divider): busy for so long. Besides uses; the machine names it. */
struct model_busy {
    uint8_t unit;
    float least, most; /* cycles, over operand values */
};

enum {                   /* idioms, bits */
       MODEL_ZEROES = 1, /* with equal registers: zero, needs no input and no unit (xor) */
       MODEL_BREAKS =
           2, /* with equal registers: needs no input, but a unit (pcmpeq: all ones; or cmp) */
       MODEL_MOVES =
           4, /* a move that renaming does: no latency, no unit; between different registers */
       MODEL_CODED = 8,   /* microcoded: decoding takes turns of its own */
       MODEL_VARIES = 16, /* cost depends on values beyond least and most (rep, gather) */
       MODEL_WAITS =
           32, /* waits for the register that it writes, which it is not said to read (popcnt) */
};

struct model_figures {
    float throughput;       /* cycles for each of many independent copies; 0: unknown */
    float micro_operations; /* executed */
    float fused;            /* slots of the front end, before un-lamination */
    float
        fused_indexed; /* the same if a memory operand has an index register; equal to fused where there is no un-lamination */
    uint8_t idioms;
    uint8_t latency_count, use_count, busy_count;
    uint8_t latency_source, throughput_source, use_source; /* enum model_source */
    uint32_t reason;                                       /* model_reason; 0: none */
    struct model_latency latencies[MODEL_PARTS];
    struct model_use uses[MODEL_PARTS];
    struct model_busy busy[MODEL_PARTS];
};

/* ---- the machine's figures ---------------------------------------------------------------------- */

enum model_figure_kind {
    MODEL_WIDTH,           /* slots of the front end a cycle (rename, dispatch) */
    MODEL_DECODERS,        /* instructions decoded a cycle where the decoded cache does not help */
    MODEL_TAKEN,           /* taken branches a cycle */
    MODEL_NOT_TAKEN,       /* branches a cycle */
    MODEL_LOADS,           /* a cycle, of general registers */
    MODEL_LOADS_VECTOR,    /* a cycle, of the widest vectors */
    MODEL_STORES,          /* a cycle */
    MODEL_STORES_VECTOR,   /* a cycle, of the widest vectors */
    MODEL_ACCESSES,        /* loads and stores together, a cycle */
    MODEL_LOAD_LATENCY,    /* to a general register, simple address */
    MODEL_LOAD_INDEXED,    /* to a general register, with an index */
    MODEL_LOAD_VECTOR,     /* to a vector register */
    MODEL_FORWARD_GENERAL, /* store to load through memory, from data to data; 0: memory renaming */
    MODEL_FORWARD_LEAST,   /* the same at best, where it depends on when the load is executed */
    MODEL_FORWARD_VECTOR,  /* as FORWARD_GENERAL, vector registers */
    MODEL_FORWARD_FAILED,  /* a load that needs more than the one store before it */
    MODEL_REORDER_BUFFER,  /* slots */
    MODEL_LOOP_BUFFER,     /* slots; 0: none */
    MODEL_FETCH,           /* bytes of a block that predecoding takes a cycle; 0: no matter */
    MODEL_DECODED,         /* slots that the decoded cache delivers a cycle (loops); 0: no matter */
    MODEL_GENERAL_VECTOR, /* round trip general → vector → general register; a way is half of it */
    MODEL_FORWARD_STACK, /* as FORWARD_GENERAL, address rsp and a constant; loads alone, and what changes memory */
    MODEL_STORE_BLOCK, /* bytes, aligned, that the stores of one cycle have to be in; 0: anywhere */
    MODEL_FIGURES
};
const char *model_figure_name(enum model_figure_kind kind);  /* "width", as in files and JSON */
const char *model_figure_title(enum model_figure_kind kind); /* in words */

struct model_figure {
    float value;
    uint8_t source;  /* enum model_source */
    uint32_t reason; /* model_reason; 0: none */
};

enum {                             /* rules, bits */
       MODEL_FUSES_LOADS = 1,      /* a load and the operation on it are one slot */
       MODEL_FUSES_STORES = 2,     /* address and data of a store are one slot */
       MODEL_FUSES_COMPARE = 4,    /* cmp, test and a branch are one slot */
       MODEL_FUSES_ARITHMETIC = 8, /* add, sub, inc, dec, and, too */
       MODEL_FUSES_MEMORY = 16,    /* also when they read memory */
       MODEL_UNLAMINATES = 32,     /* indexed operands cost slots of their own: see fused_indexed */
       MODEL_MOVES_GENERAL = 64,   /* moves of general registers are eliminated */
       MODEL_MOVES_VECTOR = 128,   /* of vector registers */
       MODEL_STACK_ENGINE = 256, /* push, pop, call, ret: no micro-operation for rsp, no latency */
       MODEL_MERGES_LOW = 512,   /* writing 8 or 16 bits needs the old value */
       MODEL_RENAMES_MEMORY =
           1024,              /* loads of what was just stored at the same address take no time */
       MODEL_ABSTRACT = 2048, /* resources are abstract: each use is of one unit */
       MODEL_MEMORY_IMMEDIATE = 4096, /* FUSES_MEMORY, also with an immediate (cmp [m], i) */
       MODEL_SIMPLE_LOADS_FAST =
           8192, /* a load whose base was just loaded, small offset, is a cycle earlier (old Intel) */
       MODEL_INDEXED_STORES_LOAD =
           16384, /* the address of a store that has an index register is for the units of MODEL_LOAD
                     alone: a use of the units of MODEL_STORE_ADDRESS becomes one of those (port 7) */
       MODEL_FORWARDS_FRAME =
           65536,                   /* FORWARD_STACK also where the address is rbp and a constant */
       MODEL_LENGTH_STALLS = 32768, /* an operand-size prefix that changes the length of an
                                       immediate stalls predecoding for 3 cycles */
};

enum model_role {
    MODEL_ALU,
    MODEL_BRANCH,
    MODEL_LOAD,
    MODEL_STORE_ADDRESS,
    MODEL_STORE_DATA,
    MODEL_ROLES
};

struct model_unit {
    const char *name; /* "p0", "divider"; abstract: the form that uses it most */
    uint8_t copies;   /* at least 1 */
};

struct model_machine {
    const char *name;  /* "here", "skylake" */
    const char *title; /* "AMD EPYC (family 25, model 1)", "Intel Skylake" */
    uint8_t source;    /* of most figures: MODEL_MEASURED or MODEL_TABLE */
    uint32_t rules;
    struct model_figure figures[MODEL_FIGURES];
    size_t unit_count;
    struct model_unit units[MODEL_UNITS_MAX];
    model_set roles[MODEL_ROLES]; /* 0: not known (abstract) */
    uint64_t cpu; /* measured: family, model, stepping as CPUID leaf 1 gives them in eax; else 0 */
    uint64_t microcode; /* measured: 0 unless known */
    bool quick;         /* measured: of the quick set alone, the rest derived or from tables */
    bool shared; /* measured: something else used the core all the time, figures are too high */
};

/* ---- models ------------------------------------------------------------------------------------ */

struct model;

/*
 * "here": what `headroom calibrate` measured on this machine and microcode, from room keep's folder. Others: names that
 * model_list gives. BASE_NOT_FOUND: no such model, or nothing was measured yet; why then has a sentence (also for the others); why
 * may be NULL. *model: the caller's, to model_close.
 */
enum base_status model_open(const char *name, struct model **model, struct util_text *why);
void model_close(struct model *model); /* NULL is allowed */

struct model_entry {
    const char *name, *title;
};
/* All but "here", by vendor and age. Static. */
size_t model_list(const struct model_entry **entries);

const struct model_machine *model_machine(const struct model *model);

/* The figures of the form with that key; NULL: the model has none. */
const struct model_figures *model_find(const struct model *model, const char *key, size_t bytes);

/*
 * Figures for a key that model_find does not know, from similar forms, in this order: another mnemonic that costs the same (of
 * conditions: cmovb like cmovz), no masking or broadcasting, a register form and a load, other widths of operands,
 * and if there is nothing: one micro-operation of a cycle for any of MODEL_ALU's units. The latter: false. Sources are MODEL_DERIVED.
 */
bool model_estimate(const struct model *model, const char *key, struct model_figures *figures);

/* least or most latency from one operand to another: the entry that names both, else `from`, else `to`, else neither.
   Negative: none applies. */
float model_latency_least(const struct model_figures *figures, uint8_t from, uint8_t to);
float model_latency_most(const struct model_figures *figures, uint8_t from, uint8_t to);

/* The text of a reason number of that model; "" for 0. */
const char *model_reason(const struct model *model, uint32_t reason);

/* All forms, in order of their keys: index below model_count. */
size_t model_count(const struct model *model);
const struct model_figures *model_at(const struct model *model, size_t index, const char **key);

/* ---- making and keeping models ------------------------------------------------------------------ */

/* An empty model, to be filled by the four functions that follow, then sealed: model_find works from then on. NULL: no memory. */
struct model *model_new(const char *name, const char *title);
struct model_machine *model_edit(struct model *model);
/* name is copied. False: no memory, or MODEL_UNITS_MAX are there. *unit: its number. */
bool model_add_unit(struct model *model, const char *name, uint8_t copies, uint8_t *unit);
/* A key that is there already gets the new figures. key: printable, without blanks, not beginning with =, below MODEL_KEY_BYTES. False: no memory. */
bool model_add(struct model *model, const char *key, const struct model_figures *figures);
/* 0: no memory. */
uint32_t model_add_reason(struct model *model, const char *reason);
bool model_seal(struct model *model); /* False: no memory. */

/*
 * As text: lines, of which those of forms with equal figures are one (docs/internals.md describes it). Reading takes any
 * bytes: BASE_MALFORMED, and why says the line; BASE_TOO_NEW. What is read back equals what was written, figures rounded to
 * 1/1000.
 */
bool model_write(const struct model *model, struct util_text *text);
enum base_status model_read(const char *bytes, size_t count, struct model **model,
                            struct util_text *why);

/* Measured models in room keep's folder, under a name made of CPU and microcode. False: could not be written. */
bool model_keep(const struct model *model);

/* The name of the table for a processor with that number (CPUID leaf 1's eax); NULL: none is known. Static. */
const char *model_table_of(uint64_t cpu);

/* This processor: CPUID leaf 1's eax, microcode (0 if the system does not say), and its brand. */
void model_here(uint64_t *cpu, uint64_t *microcode, char title[64]);

#endif
