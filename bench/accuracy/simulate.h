// SPDX-License-Identifier: MIT
/*
 * simulate: what would samplers have found, and what is true? One raw access
 * trace (wire/trace.h) is read once, streaming; every access goes to the exact detectors
 * (`shadow`, `distance`) and to a set of simulated samplers, each a `detect` fed as by a
 * perfect PMU: every P-th load or store, no skid, no lost trap. What is left between the two
 * answers is the error of the method itself: of few registers, few samples, and attribution.
 *
 *   simulate.c   options, the loop over events
 *   source.c     events: from a trace or made up, with known answers
 *   watch.c      which armed watchpoints does an access touch?
 *   sampler.c    one simulated sampler
 *   settle.c     what its traps stand for, when all is known
 *   nodes.c      calling contexts
 *   truth.c      the exact answers, and memory as the program sees it
 *   tally.c      sums by pair
 *   score.c      estimate against truth
 *   output.c     JSON
 *
 * The whole program counts as one thread: its threads share the sampler's registers and
 * one counter, as if they ran in turns on one processor that watches for all of them.
 *
 * Built for traces of 10^9 accesses and a hundred samplers: an access that no one samples and
 * no one watches costs two increments and a few bit tests.
 */
#ifndef SIMULATE_H
#define SIMULATE_H

#include "base/base.h"
#include "detect/detect.h"
#include "estimate/estimate.h"
#include "distance/distance.h"
#include "shadow/shadow.h"
#include "wire/trace.h"

#include <stdio.h>

enum {
    /* Valgrind gives programs addresses below 128 GiB. Not as much as shadow takes: with the image it
       reserves 12 bytes an address, and 16 TiB of that are more than a process has. */
    ADDRESS_BITS = 37,
    NODES_MAX = 1 << 24,
    MODULES_MAX = 1 << 12, /* whose paths are kept */
};

/* ---- source.c ---------------------------------------------------------------------------- */

/* A stream of events; next: BASE_NOT_FOUND at the end, as wire_trace_next. */
struct source {
    enum base_status (*next)(struct source *source, struct wire_trace_event *event);
    void (*close)(struct source *source);
    bool has_values;
};

/* NULL, with a sentence on stderr, if there is no such trace or pattern. "-": standard input. */
struct source *source_open_trace(const char *path);
/* A made-up program, about `accesses` long; see source.c for the patterns. */
struct source *source_open_pattern(const char *pattern, uint64_t accesses, uint64_t seed);
void source_list_patterns(FILE *out);

/* A trace being written; close: false if it is not whole. */
struct copy;
struct copy *copy_open(const char *path);
void copy_event(struct copy *copy, const struct wire_trace_event *event);
bool copy_close(struct copy *copy);

/* ---- nodes.c ------------------------------------------------------------------------------- */

struct node {
    uint64_t address;
    uint32_t parent, module, flags;
};

/* Zeroed memory is the empty set. */
struct nodes {
    struct node *nodes; /* from 1 */
    size_t count;
    uint32_t *slots; /* hash table of numbers of nodes */
    size_t slots_count;
    uint32_t *own; /* by the trace's number */
    size_t own_capacity;
    char *paths[MODULES_MAX];
    const char *chosen; /* file name of the module whose accesses count; NULL: all do */
    bool is_chosen[MODULES_MAX];
};

/* Takes a NODE event; false: no memory, or too many. */
bool nodes_define(struct nodes *nodes, const struct wire_trace_event *event);
/* Takes a MODULE event. */
bool nodes_module(struct nodes *nodes, const struct wire_trace_event *event);
/* Own number of a trace's node; 0 if it was not defined. */
static inline uint32_t nodes_own(const struct nodes *nodes, uint32_t number)
{
    return number < nodes->own_capacity ? nodes->own[number] : 0;
}
/* Do accesses in the context of a trace's node count? */
bool nodes_counts(const struct nodes *nodes, uint32_t number);
void nodes_free(struct nodes *nodes);

/* ---- tally.c ------------------------------------------------------------------------------ */

/* How traps are turned into amounts; see detect/detect.h, struct detect_finding. */
enum method {
    METHOD_NONE,    /* every trap counts for its own sample */
    METHOD_PAPER,   /* for all samples of its context since the last */
    METHOD_SHARED,  /* a context's samples shared in proportion to 1 / chance (what is in use) */
    METHOD_INVERSE, /* 1 / chance */
    METHOD_SETTLED, /* from all watches, lost ones too: estimate_survival */
    METHODS
};
extern const char *const method_names[METHODS];

struct tally_entry {
    uint64_t key; /* first + 1 << 32 | second; 0: empty slot */
    double waste[METHODS], use[METHODS];
};

/* Amounts by pair of 32-bit numbers. Zeroed memory is the empty tally. */
struct tally {
    struct tally_entry *entries;
    size_t count, capacity;
};

static inline uint32_t tally_first(const struct tally_entry *entry)
{
    return (uint32_t)(entry->key >> 32) - 1;
}
static inline uint32_t tally_second(const struct tally_entry *entry)
{
    return (uint32_t)entry->key;
}

/* The pair's entry, zero if new; valid until the next call. Ends the program without memory. */
struct tally_entry *tally_at(struct tally *tally, uint32_t first, uint32_t second);
/* The same, NULL if the pair has none. */
const struct tally_entry *tally_find(const struct tally *tally, uint64_t key);
void tally_free(struct tally *tally);

/* ---- watch.c ------------------------------------------------------------------------------ */

struct sampler;
struct slot;

/* One simulated debug register that is armed. */
struct watch {
    uint64_t low, high; /* bytes [low, high) are watched; within one block of its table */
    uint64_t key;       /* its block */
    uint8_t directions; /* DETECT_LOADS | DETECT_STORES that it fires on */
    uint8_t index;      /* register of the sampler */
    float weight;       /* of the sample */
    uint64_t since;     /* access number of the sample */
    struct slot *slot;
    struct watch *next;
};

enum { WATCH_BITS = 17 };

/* Watches of blocks of 1 << shift bytes, hashed. The bits are all that most accesses look at. */
struct watch_table {
    unsigned shift;
    uint64_t bits[2][1 << (WATCH_BITS - 6)]; /* by direction: is any watch in that bucket? */
    struct watch *heads[1 << WATCH_BITS];
};

static inline size_t watch_bucket(uint64_t key)
{
    return key * UINT64_C(0x9e3779b97f4a7c15) >> (64 - WATCH_BITS);
}

/* May an access touch a watch? direction: DETECT_LOADS or DETECT_STORES. */
static inline bool watch_possible(const struct watch_table *table, uint64_t address, uint32_t bytes,
                                  unsigned direction)
{
    const uint64_t *bits = table->bits[direction - 1];
    uint64_t last = (address + bytes - 1) >> table->shift;
    for (uint64_t key = address >> table->shift; key <= last; key++) {
        size_t bucket = watch_bucket(key);
        if (bits[bucket / 64] >> bucket % 64 & 1)
            return true;
    }
    return false;
}

void watch_add(struct watch_table *table, struct watch *watch);
void watch_remove(struct watch_table *table, struct watch *watch);
/* Appends the watches touched to found, which has room for all there are; the new count. */
size_t watch_find(const struct watch_table *table, uint64_t address, uint64_t bytes,
                  unsigned direction, struct watch **found, size_t count);

/* ---- sampler.c ------------------------------------------------------------------------------ */

/* An access as samplers see it. */
struct access {
    uint64_t address, bytes, now; /* now: number of the access, from 1; kernel: of the last one */
    uint32_t node;
    uint8_t direction, element;
    bool kernel;
};

struct context {
    struct detect_context detect;
    float sampled[DETECT_REUSE];
    double attributed[DETECT_REUSE], claimed[DETECT_REUSE];
};

enum { UNLIMITED = 0 };

/* A set of registers that compete for samples. */
struct slot {
    struct sampler *sampler;
    struct detect detect;
    struct watch watches[DETECT_MAX_REGISTERS];
    struct slot *next; /* all of the sampler */
    struct slot *next_idle;
};

enum sampler_watch { WATCH_BYTE = 0, WATCH_WORD = 3, WATCH_LINE = 6 };

struct sampler_settings {
    uint64_t period;
    uint8_t kinds;     /* bits, as in detect_options */
    uint8_t registers; /* UNLIMITED: every sample is watched until it traps */
    uint8_t fault, policy;
    bool reuse;               /* measures time distances: any touch is one */
    enum sampler_watch watch; /* log2 of what is watched, in bytes */
    unsigned repeat;
    uint32_t ignored_limit;
    float fp_tolerance;
};

struct simulation;

/* A watch that ended, and what it found if it trapped. */
struct ended {
    uint32_t context, second; /* nodes of watch and trap */
    uint8_t kind;
    bool waste;
    uint16_t bin; /* reuse: of the distance */
    uint32_t bytes;
    struct estimate_life watch;
};

struct sampler {
    struct sampler_settings settings;
    struct base_random random;
    struct simulation *simulation;
    struct context *contexts;         /* by node, touched as needed */
    struct slot *slots;               /* one, or as many as were ever needed together */
    struct slot *idle;                /* of the UNLIMITED: those without a watch */
    struct tally pairs[DETECT_REUSE]; /* reuse: [0], amounts in waste */
    struct tally bins;                /* reuse: (use node, distance bin) */
    struct ended *ended;              /* in order of their ends; after sampler_settle of contexts */
    size_t ended_count, ended_capacity;
    uint64_t now; /* of the sample being taken */
    /* weights: of all samples, METHOD_PAPER and _SETTLED of all traps */
    double sampled, attributed, settled;
    struct detect_counts counts; /* after sampler_settle: sums over its slots */
};

bool sampler_init(struct sampler *sampler, const struct sampler_settings *settings,
                  struct simulation *simulation, uint64_t seed);
void sampler_free(struct sampler *sampler);
/* The access is one to sample. memory: what lies at its address now. */
void sampler_take(struct sampler *sampler, const struct access *access, const uint8_t *memory);
/* The access touched a watch of a sampler. */
void sampler_touch(struct watch *watch, const struct access *access);
/* After the last access: METHOD_SHARED and METHOD_SETTLED, which need to know all. */
void sampler_settle(struct sampler *sampler);

/* ---- settle.c -------------------------------------------------------------------------------- */

/* Remembers a watch that ended. Ends the program without memory. */
void settle_note(struct sampler *sampler, const struct ended *ended);
/* Adds to the sampler's tallies. */
void settle_shared(struct sampler *sampler);
void settle_watches(struct sampler *sampler);

/* ---- truth.c -------------------------------------------------------------------------------- */

enum truth_unit { UNIT_WORD, UNIT_LINE, UNITS };
extern const char *const unit_names[UNITS];
extern const unsigned unit_shifts[UNITS];

/* A tally of true pairs in order, made once for the comparison with hundreds of samplers. */
struct ranked {
    const struct tally_entry **order; /* by waste; NULL at the end */
    size_t top;                       /* pairs that cover 90 % of the waste */
    struct tally top_set;             /* the keys of these */
    double waste, fraction;           /* in all; waste / (waste + use), may be NAN */
};

struct truth {
    struct shadow shadow;
    struct distance *distances[UNITS]; /* NULL: not asked for */
    bool waste, stack;
    /* By id of the trace. Own ids are by direction, too: a system call's id may serve both. */
    uint32_t *own[2], *nodes;
    uint8_t *elements;
    bool *foreign; /* merely touches: judged and measured is what counted accesses do */
    /* By own id, 1 .. ids_used - 1. */
    uint32_t *own_nodes;
    uint8_t *own_stores;
    bool *own_foreign;
    uint32_t ids_used;
    uint8_t *image;                   /* memory of the program, as far as seen, by address */
    struct tally pairs[DETECT_REUSE]; /* by nodes, [METHOD_NONE]; after truth_settle */
    struct tally reuses[UNITS];
    struct ranked ranked_pairs[DETECT_REUSE], ranked_reuses[UNITS];
    double time_bins[UNITS][DISTANCE_BINS], stack_bins[UNITS][DISTANCE_BINS];
    struct distance_totals totals[UNITS];
};

bool truth_init(struct truth *truth, bool waste, const bool *units, bool stack, float fp_tolerance);
void truth_free(struct truth *truth);
/* Takes an ACCESS event, whose node has an own number. False: there are too many. */
bool truth_define(struct truth *truth, const struct wire_trace_event *event, uint32_t node,
                  bool foreign);
/* The access has executed: memory changes here, too. id, address and length are in range. */
void truth_access(struct truth *truth, const struct wire_trace_event *event, bool store,
                  uint64_t now);
void truth_kernel(struct truth *truth, const struct wire_trace_event *event, bool store);
void truth_forget(struct truth *truth, uint64_t address, uint64_t bytes);
bool truth_settle(struct truth *truth);

/* ---- score.c ---------------------------------------------------------------------------------- */

enum { PAPER_BINS = 20 };

/* The paper's bins [0,4K), [4K,8K) ... [1G,2G), the last one open; normalised to 1. */
void score_paper_bins(const double *fine, double *bins);
/* 1 − Σ|B − B̂| / 2 */
double score_similarity(const double *truth, const double *estimate);
/* The same on the means of adjacent bins. */
double score_similarity_windowed(const double *truth, const double *estimate);

struct top_score {
    size_t top;              /* pairs that cover 90 % of the true waste */
    size_t found;            /* pairs with estimated waste */
    double overlap;          /* of the estimate's top as many, share that is in the true top */
    double rank_correlation; /* Spearman, over the true top; NAN if top < 2 */
    double edit_distance;    /* of the two orders, per pair; NAN if top is too large */
    double weight_mean, weight_most; /* differences of shares over the true top, in points */
};
/* The tally by its [METHOD_NONE]; must not change afterwards. */
void score_rank(const struct tally *tally, struct ranked *ranked);
void score_rank_free(struct ranked *ranked);
/* Compares the pairs' waste; false if one side has none. */
bool score_top(const struct ranked *truth, const struct tally *estimate, enum method method,
               struct top_score *score);
/* waste / (waste + use); NAN if there is neither. */
double score_fraction(const struct tally *tally, enum method method);

/* Stack distances by the model of room `reuse` (both in distance bins). touches: of locations, in the
   whole run; first_touches: of these the first ones, as far as the caller knows. */
void score_stack_model(const double *time, double touches, double first_touches, double *stack);

/* ---- simulate.c ---------------------------------------------------------------------------------- */

/* Every period-th access of a direction is given to its samplers. */
struct clock {
    uint64_t period, next;
    struct base_random random;
    struct sampler **samplers;
    size_t samplers_count;
};

struct simulation_counts {
    uint64_t accesses[2]; /* loads, stores */
    uint64_t foreign;     /* accesses that do not count */
    uint64_t kernel_events[2], kernel_bytes[2];
    uint64_t nodes, ids, threads, modules, forgets, out_of_range;
    bool complete;
};

struct simulation {
    struct truth truth;
    struct nodes nodes;
    struct watch_table words, lines;
    struct sampler *samplers;
    size_t samplers_count;
    struct clock *clocks[2]; /* by direction */
    size_t clocks_count;
    uint64_t next[2];     /* the earliest of the clocks */
    struct watch **found; /* room for all there are */
    size_t registers, found_capacity;
    struct simulation_counts counts;
    uint64_t now, most; /* accesses so far, and to read at most */
};

/* ---- output.c ------------------------------------------------------------------------------------- */

struct output_head {
    const char *name;
    double seconds;
    uint64_t seed;
    unsigned fault;
    bool has_values;
};
void output_write(FILE *out, struct simulation *simulation, const struct output_head *head);

#endif
