// SPDX-License-Identifier: MIT
/*
 * Between the files of export: a profile as every format takes it: the verbs' samples (samples.h),
 * with strings, functions and places numbered, each once (map.c).
 */
#ifndef HEADROOM_EXPORT_WALK_H
#define HEADROOM_EXPORT_WALK_H

#include "export/samples.h"
#include "util/util.h"

/* ---- numbers for things (map.c) -------------------------------------------------------------- */

/* Records of equal size, each once, numbered from 0. Their bytes are compared, padding included. */
struct numbered {
    struct util_index index;
    void *items;
    size_t bytes, count, capacity;
    size_t most; /* 0: as many as numbers go; else *full is set instead of one more */
    bool *full;
};

/* UINT32_MAX: no memory, or full. */
uint32_t numbered_id(struct numbered *numbered, const void *item);
void numbered_free(struct numbered *numbered);

/* ---- the walk ------------------------------------------------------------------------------- */

/* A stack has at most two contexts, each cut at WALK_DEPTH frames with a place that says so, and
   what is in front of them, between them and behind them. */
enum {
    WALK_DEPTH = 1000,
    WALK_STACK = 2 * (WALK_DEPTH + 1) + 3,
};

struct walk_metric {
    const char *name, *unit; /* unit: "bytes", "count", "nanoseconds" */
    const char *what;        /* for people */
    uint32_t order;          /* verb and rank: by which columns are sorted */
    double sum;              /* of what was added */
    uint64_t total;          /* of the samples' values: sum rounded */
};

struct walk_function {
    uint32_t name, file; /* strings; file 0: not known */
    uint32_t module;     /* id; 0: none */
};

struct walk_place {
    uint64_t address;
    uint32_t function; /* index */
    uint32_t line;     /* 0: not known */
    uint32_t inlined;  /* into the place before it in the stack */
    uint32_t named;    /* no code, only a name */
};

struct walk_numbered_kind {
    const struct walk_kind *kind;
    uint32_t separator; /* place; 0: none */
};

struct walk {
    const struct profile *profile;
    const struct export_options *options;
    struct walk_metric *metrics;
    size_t metrics_count, metrics_capacity;
    uint32_t verb;     /* in the table: whose metrics are being added */
    uint32_t *columns; /* the metrics to write, in that order, at least one */
    size_t columns_count;
    struct walk_sample *samples; /* those with a value that is to be written */
    size_t samples_count, samples_capacity;
    struct util_strings strings; /* 0 is "" */
    struct numbered functions, places;
    uint32_t *modules;       /* by module: its path, a string */
    uint32_t *frame_places;  /* by frame */
    uint32_t *vertex_places; /* by vertex: its function */
    uint32_t *call_places;   /* by vertex: where its parent calls it */
    uint32_t cut_place;
    struct walk_numbered_kind *kinds; /* by number */
    size_t kinds_count;
    bool failed; /* no memory: nothing else in here is to be used */
    bool full;   /* more stacks than walk_most_stacks */
};

/* BASE_NOT_FOUND: no such metric, *error says why. Frees itself on failure. */
enum base_status walk_open(struct walk *walk, const struct profile *profile,
                           const struct export_options *options, char *error, size_t error_bytes);
void walk_close(struct walk *walk);

/* Places of the sample, root first; how many. inner: index of the first place of `first`, may be
 * NULL. */
size_t walk_stack(const struct walk *walk, const struct walk_sample *sample,
                  uint32_t places[WALK_STACK], size_t *inner);

/*
 * Places in the stacks of all samples that some formats need in memory, those that share a
 * beginning once. A sample takes 46 bytes of the largest recording looked at, and has 26 frames at
 * most in each context: one for a byte. So 2 for each byte are not reached with twice as deep
 * contexts of which nothing is shared. 2^22, of some 60 bytes each, are for small profiles.
 */
static inline size_t walk_most_stacks(const struct walk *walk)
{
    return ((size_t)1 << 22) + 2 * walk->profile->file_bytes;
}

/* The sample's value of walk->columns[column]. */
uint64_t walk_value(const struct walk *walk, const struct walk_sample *sample, size_t column);

static inline const struct walk_place *walk_place(const struct walk *walk, uint32_t place)
{
    return &((const struct walk_place *)walk->places.items)[place];
}

static inline const struct walk_function *walk_function(const struct walk *walk, uint32_t function)
{
    return &((const struct walk_function *)walk->functions.items)[function];
}

/* Of a place. */
static inline const char *walk_name(const struct walk *walk, uint32_t place)
{
    return walk->strings.texts[walk_function(walk, walk_place(walk, place)->function)->name];
}
static inline const char *walk_file(const struct walk *walk, uint32_t place)
{
    return walk->strings.texts[walk_function(walk, walk_place(walk, place)->function)->file];
}
static inline const char *walk_module(const struct walk *walk, uint32_t place)
{
    uint32_t module = walk_function(walk, walk_place(walk, place)->function)->module;
    return walk->strings.texts[walk->modules[module]];
}

/* ---- formats -------------------------------------------------------------------------------- */

/* They may add strings. False: no memory. What could not be written is to be seen from ferror. */
bool write_pprof(struct walk *walk, FILE *out);
bool write_speedscope(struct walk *walk, FILE *out);
bool write_folded(struct walk *walk, FILE *out);
bool write_callgrind(struct walk *walk, FILE *out);
bool write_firefox(struct walk *walk, FILE *out);
bool write_csv(struct walk *walk, FILE *out);
bool write_sarif(struct walk *walk, FILE *out);

#endif
