// SPDX-License-Identifier: MIT
/*
 * misses: how often the references of a loop nest miss caches, without running it. Cache miss equations (Ghosh, Martonosi,
 * Malik 1997), solved for sampled iterations (Vera, Llosa, González 2000; MHAOTEU 1.1, part I): from an iteration the
 * accesses are walked backwards until one touches the same line (a hit), or as many other lines of its set were
 * touched as the set has ways (a miss). Caches are set-associative with LRU replacement, stores allocate, and each level
 * sees the misses of the one before. Iterations of innermost loops are not gone through one by one: the next one whose
 * access falls into the set is computed.
 *
 * Rejected: counting the points of the polyhedra, for which there is no library here, and which grow without bound.
 *
 * Deterministic for a seed, whatever the number of threads. Memory is malloc's; errors are a status.
 */
#ifndef HEADROOM_MISSES_H
#define HEADROOM_MISSES_H

#include "nest/nest.h"

enum { MISSES_LEVELS = 4, MISSES_WAYS_MAX = 1 << 20, MISSES_NAME_BYTES = 24 };

struct misses_level {
    uint64_t bytes;
    uint32_t ways;                /* 0: fully associative */
    uint32_t line_bytes;          /* a power of two */
    char name[MISSES_NAME_BYTES]; /* "L1" */
};

/* Whole sets, at least one, and no more than MISSES_WAYS_MAX ways. */
bool misses_level_valid(const struct misses_level *level);

struct misses_options {
    const struct misses_level *levels;
    size_t levels_count; /* 1 to MISSES_LEVELS */
    bool exact;          /* every access simulated */
    double half_width; /* of the miss ratio's 95 % interval at the first level, that is asked for */
    uint64_t most_points;     /* a reference, at the first level */
    uint64_t most_steps;      /* of a walk, before it is cut */
    uint64_t exact_below;     /* nests of so few accesses are simulated anyway */
    const uint64_t *accesses; /* by reference, if known; NULL: they are counted */
    uint64_t deadline_ns;     /* CLOCK_MONOTONIC; 0: none */
    uint64_t seed;
    unsigned threads; /* at least 1 */
};

/* The defaults that the paper's and our measurements gave; levels are the caller's. */
struct misses_options misses_defaults(void);

/* Of one reference at one level, or of all. */
struct misses_figure {
    double misses;                   /* expected; whole if exact */
    double low, high;                /* of misses: 95 % interval (Wilson); equal if exact */
    double cold, capacity, conflict; /* add up to misses */
    uint64_t points;                 /* that reached the level and were solved there; 0 if exact */
    uint64_t cut;                    /* walks that were cut: counted as misses */
    bool exact;
};

struct misses_reference {
    uint64_t accesses;
    struct misses_figure levels[MISSES_LEVELS];
};

/* Misses of a reference because of another one, at the first level. */
struct misses_pair {
    uint32_t reference, by;
    double misses;   /* each shared out among those that took the ways of its set */
    double conflict; /* of these, conflict misses alone */
};

struct misses_result {
    struct misses_reference *references; /* as the nest's */
    size_t count;
    uint64_t accesses;
    struct misses_figure totals[MISSES_LEVELS];
    struct misses_pair *pairs; /* most first */
    size_t pairs_count;
    double cpu_s;
    bool exact, late; /* late: the deadline came before all were as narrow as asked for */
};

/* BASE_NO_MEMORY; BASE_TOO_LARGE: exact, and the deadline came; BASE_UNSUPPORTED: iterations of a statement cannot be drawn. */
enum base_status misses_solve(const struct nest *nest, const struct misses_options *options,
                              struct misses_result *result);
void misses_free(struct misses_result *result);

/* CLOCK_MONOTONIC, by which deadlines are given. */
uint64_t misses_now_ns(void);

/* Wilson's 95 % interval of a ratio of which `hits` of `points` were seen. */
void misses_interval(uint64_t hits, uint64_t points, double *low, double *high);

#endif
