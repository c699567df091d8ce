// SPDX-License-Identifier: MIT
/*
 * What a verb adds to exports: its findings as *samples*, each a stack, labels, and values of some
 * metrics. Stacks are of *places*: a function, at a line or an address. All strings are valid UTF-8
 * without control characters.
 *
 * A finding about two contexts is one stack: the frames of the second, a place that is only a name
 * and says what the second does to the first ("[overwrites the unread store of]"), the frames of
 * the first.
 */
#ifndef HEADROOM_EXPORT_SAMPLES_H
#define HEADROOM_EXPORT_SAMPLES_H

#include "analysis/advice.h"
#include "analysis/analysis.h"
#include "export/export.h"
#include "show/places.h"
#include "show/source.h"

struct walk; /* at work: what was given so far */

enum { WALK_VALUES = 7 /* of a sample, at most */ };

/* Of samples. */
struct walk_kind {
    const char *name;      /* label, rule id: "dead-store" */
    const char *separator; /* between second and first; NULL: there is one context only */
    const char *finding;   /* what is found, a sentence */
    const char *whole;     /* of which findings are shares: "the dead bytes"; NULL: of the metric */
    bool mendable;         /* something to be mended, so a warning or an error */
    bool counts;           /* how often was sampled: never a finding */
    bool first_alone;      /* without a value of its first metric it is no finding */
};

/* Accesses that were sampled, for all verbs that take samples. */
extern const struct walk_kind walk_sampled;

struct walk_sample {
    const struct walk_kind *kind; /* one of those that some verb lists */
    bool vertices;                /* first is a vertex, else a context */
    uint32_t first, second;       /* contexts; second 0: none */
    uint32_t head, leaf;          /* places in front of `first` and after it; UINT32_MAX: none */
    uint32_t detail;              /* string; 0: none */
    uint32_t metric, count;       /* values[0] is of that metric, values[1] of the next, ... */
    uint64_t values[WALK_VALUES]; /* set by walk_add */
    uint32_t number;              /* of the kind, likewise */
    uint32_t row;                 /* for the verb's `advise` */
    uint64_t seen;                /* how often it was seen; 0: it is no estimate from samples */
    struct advice advice;         /* if known already; its evidence follows from `seen` */
};

/* Slots; NULL only where it says so. */
struct analysis_export {
    /* NULL ends. All kinds of all verbs are numbered in the order of the table; one that several
       list, where the last of them has it. */
    const struct walk_kind *const *kinds;
    /* Adds its metrics and its samples. If memory runs out, the walk notes it. */
    void (*samples)(struct walk *walk, const struct profile *profile,
                    const struct export_options *options);
    /* What is usually done about the sample, if it is of one of its kinds. False: it is not, or
       nothing can be said; *advice is then untouched. NULL: samples have it with them. */
    bool (*advise)(const struct places *places, struct source_cache *sources,
                   const struct walk_sample *sample, struct advice *advice);
};

/* ---- for slots ------------------------------------------------------------------------------- */

/* Numbers; without memory 0. text NULL: 0. */
uint32_t walk_string(struct walk *walk, const char *text);
uint32_t walk_add_place(struct walk *walk, const char *function, const char *file, uint32_t module,
                        uint64_t address, uint32_t line, uint32_t inlined);
/* The module of that path; 0: none is. path may be NULL. */
uint32_t walk_find_module(const struct profile *profile, const char *path);
/* A place that is only a name; file NULL, module 0: belongs to nothing. */
uint32_t walk_add_name(struct walk *walk, const char *name, const char *file, uint32_t module);

/*
 * A new metric; its index. The texts live as long as the program; unit: "bytes", "count",
 * "nanoseconds", ...; what: for people. Metrics are written by rank, lowest first, those of one rank
 * by their sums, largest first: they must have one unit. WALK_EVIDENCE: how often something was
 * seen, which is written only if asked for, or if there is nothing else.
 */
enum { WALK_EVIDENCE = 100 };
uint32_t walk_add_metric(struct walk *walk, const char *name, const char *unit, const char *what,
                         uint32_t rank);

/* The sample's values are the rounded ones of `values`, each >= 0; negative ones are not known. */
void walk_add(struct walk *walk, struct walk_sample sample, const double *values);

/* The profile's samples of that kind (enum profile_kind_id), as values of the metric. */
void walk_add_sampled(struct walk *walk, uint32_t kind, uint32_t metric);

/* There is no memory for what was to be added. */
void walk_fail(struct walk *walk);

#endif
