// SPDX-License-Identifier: MIT
/* Between the files of misses: walks (walk.c), when addresses return to a set (returns.c), iterations drawn (draw.c), samples (sample.c), every access (exact.c), what is made of them (misses.c). */
#ifndef HEADROOM_MISSES_INTERNAL_H
#define HEADROOM_MISSES_INTERNAL_H

#include "misses/misses.h"

struct geometry {
    uint64_t line_bytes, sets, ways;
    int64_t span; /* bytes after which sets repeat */
};

static inline int64_t modulo(int64_t a, int64_t b)
{
    if ((b & (b - 1)) == 0) /* as a rule; a division would take longer than the rest of a step */
        return a & (b - 1);
    int64_t rest = a % b;
    return rest < 0 ? rest + b : rest;
}

/* ---- addresses that move by a constant (returns.c) ----------------------------------------------------------------- */

struct returns {
    int64_t stride;
    uint16_t *iterations; /* by place in the span; NULL: they are searched for */
    int64_t rest;         /* bytes between places, less one */
    unsigned shift;
};

/* iterations is the caller's to free. False: no memory. */
bool returns_make(struct returns *returns, const struct geometry *geometry, int64_t stride);

int64_t returns_search(const struct returns *returns, const struct geometry *geometry,
                       int64_t offset, int64_t most);

/* Iterations until an address that is `offset` from the set's beginning is in its line, modulo the span; at most `most`. */
static inline int64_t returns_after(const struct returns *returns, const struct geometry *geometry,
                                    int64_t offset, int64_t most)
{
    if (!returns->iterations)
        return returns_search(returns, geometry, offset, most);
    int64_t at = offset & (geometry->span - 1);
    if ((at & returns->rest) >= (int64_t)geometry->line_bytes)
        return most;
    int64_t iterations = returns->iterations[at >> returns->shift];
    return iterations < most ? iterations : most;
}

/* ---- walks --------------------------------------------------------------------------------------------------------- */

/* What a thread walks with. */
struct walker {
    const struct nest *nest;
    struct geometry levels[MISSES_LEVELS];
    uint64_t most_steps;
    struct lines {
        int64_t *touched; /* lines, in the order in which they were met */
        uint32_t *by;     /* access that touched it */
        size_t count;
        int64_t *slots; /* a hash table of them, line + 1, 0: empty; NULL: they are few */
        size_t capacity;
    } lines[MISSES_LEVELS + 1]; /* the last: of walks of a fully associative cache */
    struct below {
        uint32_t first, end;                /* accesses; end <= first: none */
    } * below;                              /* each node */
    struct returns *returns[MISSES_LEVELS]; /* of the strides there are in flat loops, backward */
    size_t returns_count;
    uint32_t *returns_of; /* by access */
};

enum walk_end { WALK_HIT, WALK_MISS, WALK_COLD, WALK_CUT };

bool walker_begin(struct walker *walker, const struct nest *nest,
                  const struct misses_options *options);
void walker_end(struct walker *walker);

/* What becomes of the access at that level, if it reaches it. walker->lines[level] then holds what took the ways. */
enum walk_end walk_level(struct walker *walker, size_t level, uint32_t access,
                         const int64_t *iterators);
/* The same in a fully associative cache with as many lines, that all accesses reach. */
enum walk_end walk_associative(struct walker *walker, size_t level, uint32_t access,
                               const int64_t *iterators);

/* An access in the tree. */
enum { DOMAIN_NODES = 4 * NEST_SLOTS };
struct domain {
    uint32_t access;
    uint64_t executions;          /* for the caller */
    uint32_t nodes[DOMAIN_NODES]; /* loops and conditions around, from outside */
    uint64_t most[DOMAIN_NODES];  /* iterations of each */
    uint32_t count;
};

void domain_begin(struct domain *domain, const struct nest *nest, uint32_t access);

/* False: none was found. */
bool domain_draw(const struct nest *nest, const struct domain *domain, struct base_random *random,
                 int64_t *iterators);

enum base_status solve_exact(const struct nest *nest, const struct misses_options *options,
                             struct misses_result *result);
enum base_status solve_samples(const struct nest *nest, const struct misses_options *options,
                               struct misses_result *result);

/* Executions of all statements' accesses, by reference. False: too many steps to count them. */
bool count_accesses(const struct nest *nest, struct misses_result *result);

#endif
