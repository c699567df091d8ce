// SPDX-License-Identifier: MIT
/* What the files of room calibrate share: the laboratory, bodies of code, instruction forms, kernels. */
#ifndef HEADROOM_CALIBRATE_INTERNAL_H
#define HEADROOM_CALIBRATE_INTERNAL_H

#include "calibrate/calibrate.h"

#include <Zydis/Zydis.h>
#include <setjmp.h>

/* ---- code to be timed (emit.c) -------------------------------------------------------------------- */

/* General registers, by number, that bodies know: what is not named here is free for forms and kernels. */
enum {
    BODY_RAX = 0,
    BODY_RCX = 1,
    BODY_RDX = 2,
    BODY_ZERO = 13,    /* r13: 0 */
    BODY_DATA = 14,    /* r14: the data */
    BODY_COUNTER = 15, /* r15: iterations left */
    BODY_ADDRESS = 5,  /* rbp: address that depends on a result; else the data */
};

enum { BODY_MAX = 12288, CODE_BYTES = 1 << 16, DATA_BEFORE = 64 /* bytes that are filled, too */ };

/* What vectors and data are filled with: makes division quick or slow. */
enum pattern {
    PATTERN_ONES_DOUBLE,
    PATTERN_ONES_FLOAT,
    PATTERN_HARD_DOUBLE,
    PATTERN_HARD_FLOAT,
    PATTERN_POINTER, /* the address of the data itself */
    PATTERNS
};

/* A loop's body. `wide`: has registers of more than 16 bytes, which are loaded. Else their upper parts are clean, and code of old and
   new encodings mixes without delay. */
struct body {
    uint8_t bytes[BODY_MAX];
    size_t count;
    size_t instructions;
    bool wide, full;
    enum pattern pattern;
};

void body_begin(struct body *body, enum pattern pattern, bool wide);
/* full is set, and nothing added, when there is no room. */
void body_add(struct body *body, const uint8_t *bytes, size_t count);
void body_hex(struct body *body, const char *hex);
/* The whole function: void f(data, iterations). Returns bytes, at most CODE_BYTES. */
size_t body_function(const struct body *body, uint8_t *code);

/* ---- timing (lab.c) ----------------------------------------------------------------------------------- */

enum { CROWD_SEEN = 2000, CHAINS_KEPT = 10, MEASUREMENTS_MAX = 8 };

struct lab {
    uint8_t *code, *chain, *crowd,
        *empty;    /* functions: measured; additions in a chain; as many as fit; nothing */
    uint8_t *data; /* 64 KiB around it are readable and writable; aligned to a line */
    uint8_t *mapped;
    bool avx, avx512, quick;
    int processor;
    double overhead; /* ticks of an empty function */
    /* Ticks of an addition, of the last bursts of the chain. */
    double chains[CHAINS_KEPT], chains_sorted[CHAINS_KEPT];
    size_t chain_next;
    unsigned looks;
    double chain_ticks; /* of a cycle, from these */
    bool steady;        /* they agree */
    bool
        lowered; /* the core does more than it was ever seen to do: what was measured before is of a shared one */
    bool
        shared; /* it never did what such a processor can do: something else uses it all the time */
    bool ours;  /* the core was, a moment ago */
    double crowd_seen[CROWD_SEEN]; /* since they were last looked at */
    unsigned crowd_seen_count;
    double crowd_least; /* cycles of an iteration of `crowd`, alone on the core */
    double ticks_per_ns;
    double patience_ns; /* for how long a measurement waits for the core; set before the first */
    double hurry_ns;    /* by the clock, from when on it waits no longer than HURRY_NS; 0: never */
    double rested_ns;
    bool before_others; /* a real-time thread */
    double ticks_sum;   /* of chain_ticks, a moment */
    uint64_t bursts, moments, moments_alone;
    uint64_t rough; /* measurements for which patience ended */
    sigjmp_buf back;
};

/* Maps, pins the thread, installs handlers, finds the references. why: a sentence. */
enum base_status lab_open(struct lab *lab, bool quick, struct util_text *why);
void lab_close(struct lab *lab);

/* After so many seconds (not positive: at once) measurements wait for the core for a short time only, whatever patience_ns says. */
void lab_hurry_after(struct lab *lab, double seconds);
/* They wait as long as patience_ns says again. */
void lab_do_not_hurry(struct lab *lab);

/*
 * Cycles that something takes which `timed` does and times, in ticks; negative there: it was moved to another processor. It is done as often as
 * it takes until some times agree, each between two moments in which nothing else used the core; or until one is no more than
 * `enough` (cycles): what disturbs only ever makes them larger. After lab->patience_ns the best of what there is.
 */
typedef double lab_timed(void *context);
double lab_time(struct lab *lab, lab_timed *timed, void *context, double enough);

/* Cycles of one iteration of the body; negative: it faults (minus the signal's number). enough: as above, of one iteration; 0: none is. */
double lab_measure(struct lab *lab, const struct body *body, double enough);

/*
 * Executes a body `runs` times that times itself: ticks[i] is what the i-th execution left in the word at `at` bytes of the data. Whether something
 * else used the core meanwhile is not known. False: it faults.
 */
bool lab_run(struct lab *lab, const struct body *body, unsigned runs, unsigned at, double *ticks);

/* The least of some measurements (at most MEASUREMENTS_MAX) that another one confirms: for what others rest on. */
double lab_least(struct lab *lab, const struct body *body, unsigned measurements);

double lab_median(struct lab *lab, const struct body *body, unsigned measurements);

/* Of as many measurements as it takes, up to `most`, until two agree. */
double lab_agreed(struct lab *lab, const struct body *body, unsigned most);

/* Ticks of a cycle now. */
double lab_ticks(struct lab *lab);

/* For qsort, of numbers. */
int lab_ascending(const void *a, const void *b);

/* ---- instruction forms (forms.c, emit.c) ------------------------------------------------------------- */

struct form {
    char key[MODEL_KEY_BYTES];
    uint8_t bytes[ZYDIS_MAX_INSTRUCTION_LENGTH];
    uint8_t count;
    bool plain;    /* a branch, to be run as it is: not taken */
    uint32_t rank; /* when it is measured: common ones first */
};

struct form_keys {
    const char *const *keys;
    size_t count;
};
/* What most code consists of, most frequent first. */
extern const char *const common_forms[];
extern const size_t common_form_count;
/* Whose resources others are measured against. */
extern const char *const kernel_candidates[];
extern const size_t kernel_candidate_count;

/*
 * All forms of the instruction set that may be run, found by decoding what its opcodes can be, common ones first: time may run out. only: no
 * others than those, in that order, and kernels' candidates behind them; NULL: all. Forms are the caller's. False: no memory.
 */
bool forms_find(bool avx512, const struct form_keys *only, struct form **forms, size_t *count);

/* A form decoded, ready to be encoded with other registers. */
struct sample {
    ZydisDecodedInstruction in;
    ZydisDecodedOperand op[ZYDIS_MAX_OPERAND_COUNT];
    ZydisEncoderRequest request;
    int8_t pick[ZYDIS_MAX_OPERAND_COUNT]; /* register number of each operand; -1: as it is */
    int8_t base;                          /* of the memory operand */
    int32_t displacement;
    bool indexed; /* the memory operand has an index, whose value is 0 */
    bool swapped; /* addresses alone: what is picked is the index, the base is the data */
    bool fixed;   /* registers cannot be chosen (ah, ...) */
};

bool sample_open(const struct form *form, struct sample *sample);
/* Adds the instruction as picked. False: it cannot be encoded. */
bool sample_emit(const struct sample *sample, struct body *body);

enum kind { KIND_NONE, KIND_GENERAL, KIND_VECTOR, KIND_MASK, KIND_FLAGS, KIND_MEMORY };
enum kind sample_kind(const struct sample *sample, unsigned operand);
/* Does what it writes stay what it was now and then (cmov)? Then it is read, too. */
bool sample_may_keep(const struct sample *sample, unsigned operand);
bool sample_is_address(const struct sample *sample, unsigned operand); /* lea's */
bool sample_reads(const struct sample *sample, unsigned operand);
bool sample_writes(const struct sample *sample, unsigned operand);
/* Hidden, or a register that the encoding fixes. */
bool sample_is_hidden(const struct sample *sample, unsigned operand);
int sample_register(const struct sample *sample,
                    unsigned operand); /* number of a register as decoded */
enum pattern sample_pattern(const struct sample *sample, bool hard);
bool sample_is_wide(const struct sample *sample);
/* Instructions that make hidden inputs not wait for what came before. keep1, keep2: operands that must wait, or -1. */
void sample_break(const struct sample *sample, struct body *body, int keep1, int keep2);

/* ---- what is measured of a form ------------------------------------------------------------------------ */

/* Facts of the machine that latencies are corrected by. */
struct facts {
    /* Between general and vector registers. Only the round trip can be measured; it is divided into whole cycles, because halves of them
       would make latencies that are rounded up or down by chance. */
    double to_vector, from_vector;
    double forward_general;
    double figures[MODEL_FIGURES]; /* 0: not measured */
    uint32_t rules;                /* of struct model_machine */
};

void facts_measure(struct lab *lab, struct facts *facts);

/* Latencies into figures. */
bool sample_divides(const struct sample *sample);
/* Of forms whose operands are one register: do they wait for it? MODEL_ZEROES, MODEL_BREAKS, or 0. */
uint8_t latency_idiom(struct lab *lab, const struct facts *facts, struct sample *sample);
/* Does it wait for the register that it writes and is not said to read? Bits that are counted or looked for. */
bool latency_waits(struct lab *lab, struct sample *sample);
void latency_measure(struct lab *lab, const struct facts *facts, struct sample *sample,
                     struct model_figures *figures);

enum { COPIES_MAX = 12, CODED_SLOTS = 8 /* a form with more is microcode, or waits */ };
/* Copies of a form that do not depend on each other, encoded. */
struct copies {
    uint8_t bytes[COPIES_MAX][64];
    uint8_t length[COPIES_MAX];
    unsigned count, instructions;
    bool wide;
    bool
        old; /* vector code without VEX: it merges with upper parts, and is not measured beside wide registers */
    enum pattern pattern;
};
enum half { HALF_LOW, HALF_HIGH, HALF_BOTH }; /* of the registers */
bool copies_make(struct sample *sample, enum half half, bool hard, struct copies *copies);
/* One instruction or a few, as they are. */
void copies_of_hex(const char *hex, struct copies *copies);
void copies_of_bytes(const uint8_t *bytes, size_t count, struct copies *copies);
/* Cycles of one copy of many; negative: faults. */
double copies_throughput(struct lab *lab, const struct copies *copies);

enum { KERNELS_MAX = 28, KERNEL_SLOTS = 0 };
struct kernel {
    struct copies copies[2]; /* second: of a mixture */
    unsigned each[2];        /* copies of each in turn */
    double cycles;           /* of one turn, measured in long runs */
    char name[MODEL_KEY_BYTES];
};

struct kernels {
    struct kernel items[KERNELS_MAX];
    size_t count;
};

void kernels_find(struct lab *lab, const struct form *forms, size_t count, struct kernels *kernels);
/* Cycles that a copy of a form takes of a kernel's resource. alone: its throughput. */
double kernel_share(struct lab *lab, const struct kernel *kernel, const struct copies *copies,
                    double alone);
/* The same of the front end, `width` slots a cycle: the least of at most `most` measurements, since what disturbs them easily looks like
   another slot; as soon as one is near a single slot it is enough. */
double front_end_share(struct lab *lab, const struct kernels *kernels, double width,
                       const struct copies *copies, double alone, unsigned most);
/* Throughput, uses and slots into figures. False: the form faults. */
bool resources_measure(struct lab *lab, const struct kernels *kernels, const struct facts *facts,
                       struct sample *sample, struct model_figures *figures);
/* Shares of copies whose throughput is known. */
void resources_share(struct lab *lab, const struct kernels *kernels, const struct facts *facts,
                     const struct copies *copies, struct model_figures *figures);
/* Rules that need kernels: which pairs of instructions are one slot. */
void facts_fusion(struct lab *lab, const struct kernels *kernels, struct facts *facts);

#endif
