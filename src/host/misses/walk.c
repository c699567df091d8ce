// SPDX-License-Identifier: MIT
/*
 * Walks backwards through a nest. In a flat loop, each access has an address that moves by a constant; the next
 * iteration in which it falls into the set is computed, for each of them, and the latest taken: so a walk costs what
 * happens in the set, and not what happens in between. 512 accesses are a mean walk for 32 KiB, and 16,000 for 1 MiB.
 */
#include "misses/internal.h"

#include <stdlib.h>
#include <string.h>

enum { FLAT_MAX = 96 }; /* accesses of a flat loop that are taken the fast way */

struct walk {
    struct walker *walker;
    const struct nest *nest;
    struct geometry geometry;
    const struct returns *returns;
    struct lines *lines;
    size_t level;
    bool filtered;       /* by the levels before */
    int64_t own, window; /* line; the set's first byte, of the span */
    int64_t iterators[NEST_SLOTS];
    uint64_t steps;
    enum walk_end end;
};

/* ---- lines seen ------------------------------------------------------------------------------------------ */

enum { LINES_FEW = 16 /* that are compared one by one */ };

static bool lines_begin(struct lines *lines, uint64_t ways)
{
    lines->touched = calloc(ways + 1, sizeof *lines->touched);
    lines->by = calloc(ways + 1, sizeof *lines->by);
    if (ways > LINES_FEW) {
        lines->capacity = 16;
        while (lines->capacity < 4 * ways)
            lines->capacity *= 2;
        lines->slots = calloc(lines->capacity, sizeof *lines->slots);
    }
    return lines->touched && lines->by && (lines->slots || ways <= LINES_FEW);
}

/* Where the line is, or else the empty slot where it would be. */
static size_t slot_of(const struct lines *lines, int64_t line)
{
    size_t mask = lines->capacity - 1, at = base_mix64((uint64_t)line) & mask;
    while (lines->slots[at] && lines->slots[at] != line + 1)
        at = (at + 1) & mask;
    return at;
}

/* All of them, the last one first: no line is sought behind a slot that is empty already. */
static void lines_clear(struct lines *lines)
{
    while (lines->count) {
        int64_t line = lines->touched[--lines->count];
        if (lines->slots)
            lines->slots[slot_of(lines, line)] = 0;
    }
}

static bool lines_lack(const struct lines *lines, int64_t line)
{
    if (lines->slots)
        return !lines->slots[slot_of(lines, line)];
    for (size_t i = 0; i < lines->count; i++)
        if (lines->touched[i] == line)
            return false;
    return true;
}

static void lines_enter(struct lines *lines, int64_t line, uint32_t access)
{
    if (lines->slots)
        lines->slots[slot_of(lines, line)] = line + 1;
    lines->by[lines->count] = access;
    lines->touched[lines->count++] = line;
}

/* ---- one access ---------------------------------------------------------------------------------------------- */

static enum walk_end walk_back(struct walk *walk, uint32_t access);

/* Does the access miss all levels before? */
static bool reaches(struct walk *walk, uint32_t access)
{
    for (size_t level = 0; walk->filtered && level < walk->level; level++)
        if (walk_level(walk->walker, level, access, walk->iterators) == WALK_HIT)
            return false;
    return true;
}

/* Of an access in the set. True: the walk ends. *done: nothing more can come of this line. */
static bool touch(struct walk *walk, uint32_t access, int64_t address, bool *done)
{
    int64_t line = address / (int64_t)walk->geometry.line_bytes;
    *done = true;
    if (++walk->steps > walk->walker->most_steps) {
        walk->end = WALK_CUT;
        return true;
    }
    if (line == walk->own) {
        *done = false;
        if (!reaches(walk, access))
            return false;
        walk->end = WALK_HIT;
        return true;
    }
    if (!lines_lack(walk->lines, line))
        return false;
    if (!reaches(walk, access)) {
        *done = false;
        return false;
    }
    lines_enter(walk->lines, line, access);
    walk->end = WALK_MISS;
    return walk->lines->count >= walk->geometry.ways;
}

static bool touch_if_in_set(struct walk *walk, uint32_t access)
{
    int64_t address = nest_address(walk->nest, &walk->nest->accesses[access], walk->iterators);
    bool done;
    walk->steps++;
    return modulo(address - walk->window, walk->geometry.span) <
               (int64_t)walk->geometry.line_bytes &&
           touch(walk, access, address, &done);
}

/* Whole steps; nearly all are 1, and a division would take longer than all else. */
static int64_t steps_in(int64_t distance, int64_t step)
{
    return step == 1 ? distance : distance / step;
}

/* ---- flat loops ------------------------------------------------------------------------------------------------ */

/* Iterations backward until the address is in another line; at least 1. */
static int64_t iterations_in_line(const struct geometry *geometry, int64_t address, int64_t stride,
                                  int64_t most)
{
    int64_t line = (int64_t)geometry->line_bytes, within = modulo(address, line);
    int64_t bytes = stride < 0 ? within : line - 1 - within, pace = llabs(stride);
    /* A division of fewer bits takes a third of the time. */
    int64_t count = pace == 0 ? most : pace > bytes ? 1 : (uint32_t)bytes / (uint32_t)pace + 1;
    return count < most ? count : most;
}

struct flat {
    uint32_t first, count; /* accesses */
    int64_t low, step, total;
    int64_t start[FLAT_MAX],
        stride[FLAT_MAX];   /* addresses at the last iteration; for one backward */
    int64_t next[FLAT_MAX]; /* iterations backward, from the last one */
    const struct returns *returns[FLAT_MAX];
};

/* All accesses below, which are numbered in the order of the tree. */
static void accesses_below(const struct nest *nest, uint32_t node, uint32_t *first, uint32_t *end)
{
    const struct nest_node *at = &nest->nodes[node];
    if (at->kind == NEST_STATEMENT) {
        if (at->count && *first > at->first)
            *first = at->first;
        if (at->count && *end < at->first + at->count)
            *end = at->first + at->count;
        return;
    }
    for (uint32_t i = 0; i < at->count; i++)
        accesses_below(nest, nest->children[at->first + i], first, end);
}

static bool back_flat(struct walk *walk, const struct nest_node *loop, struct flat *flat,
                      int64_t last)
{
    const struct nest *nest = walk->nest;
    flat->low = nest_value(nest, loop->lower, walk->iterators);
    flat->step = loop->step;
    flat->total = last < flat->low ? 0 : steps_in(last - flat->low, flat->step) + 1;
    if (!flat->total)
        return false;
    walk->iterators[loop->slot] = last;
    for (uint32_t i = 0; i < flat->count; i++) {
        const struct nest_access *access = &nest->accesses[flat->first + i];
        flat->start[i] = nest_address(nest, access, walk->iterators);
        flat->returns[i] = &walk->returns[walk->walker->returns_of[flat->first + i]];
        flat->stride[i] = flat->returns[i]->stride;
        flat->next[i] = returns_after(flat->returns[i], &walk->geometry,
                                      flat->start[i] - walk->window, flat->total);
    }
    walk->steps += flat->count;
    for (;;) {
        int64_t soonest = flat->total;
        uint32_t chosen = 0;
        for (uint32_t i = flat->count; i-- > 0;)
            if (flat->next[i] < soonest) {
                soonest = flat->next[i];
                chosen = i;
            }
        if (soonest >= flat->total)
            return false;
        int64_t address = flat->start[chosen] + soonest * flat->stride[chosen];
        bool done;
        walk->iterators[loop->slot] = last - soonest * flat->step;
        if (touch(walk, flat->first + chosen, address, &done))
            return true;
        int64_t skip =
            done ? iterations_in_line(&walk->geometry, address, flat->stride[chosen], flat->total)
                 : 1;
        soonest += skip;
        address += skip * flat->stride[chosen];
        flat->next[chosen] =
            soonest >= flat->total
                ? flat->total
                : soonest + returns_after(flat->returns[chosen], &walk->geometry,
                                          address - walk->window, flat->total - soonest);
    }
}

/* ---- the tree ---------------------------------------------------------------------------------------------------- */

static bool back_node(struct walk *walk, uint32_t node);

static bool back_loop(struct walk *walk, uint32_t node, int64_t last)
{
    const struct nest *nest = walk->nest;
    const struct nest_node *loop = &nest->nodes[node];
    if (loop->flat) {
        struct flat flat;
        struct below below = walk->walker->below[node];
        if (below.first >= below.end)
            return false;
        if (below.end - below.first <= FLAT_MAX) {
            flat.first = below.first;
            flat.count = below.end - below.first;
            return back_flat(walk, loop, &flat, last);
        }
    }
    int64_t low = nest_value(nest, loop->lower, walk->iterators);
    for (int64_t at = last; at >= low; at -= loop->step) {
        walk->iterators[loop->slot] = at;
        if (back_node(walk, nest->children[loop->first]))
            return true;
        if (walk->steps++ > walk->walker->most_steps) {
            walk->end = WALK_CUT;
            return true;
        }
    }
    return false;
}

static bool back_node(struct walk *walk, uint32_t node)
{
    const struct nest *nest = walk->nest;
    const struct nest_node *at = &nest->nodes[node];
    if (at->kind == NEST_STATEMENT) {
        for (uint32_t i = at->count; i-- > 0;)
            if (touch_if_in_set(walk, at->first + i))
                return true;
        return false;
    }
    if (at->kind == NEST_CONDITION && !nest_value(nest, at->lower, walk->iterators))
        return false;
    if (at->kind == NEST_LOOP) {
        int64_t low = nest_value(nest, at->lower, walk->iterators);
        int64_t high = nest_value(nest, at->upper, walk->iterators);
        return high >= low &&
               back_loop(walk, node, low + steps_in(high - low, at->step) * at->step);
    }
    for (uint32_t i = at->count; i-- > 0;)
        if (back_node(walk, nest->children[at->first + i]))
            return true;
    return false;
}

/* From before the access: what precedes it in its statement, then what precedes that, outward. */
static enum walk_end walk_back(struct walk *walk, uint32_t access)
{
    const struct nest *nest = walk->nest;
    uint32_t node = nest->accesses[access].statement;
    for (uint32_t i = access; i-- > nest->nodes[node].first;)
        if (touch_if_in_set(walk, i))
            return walk->end;
    for (; nest->nodes[node].parent != NEST_NONE; node = nest->nodes[node].parent) {
        uint32_t parent = nest->nodes[node].parent;
        const struct nest_node *at = &nest->nodes[parent];
        if (at->kind == NEST_BLOCK) {
            for (uint32_t i = nest->nodes[node].position; i-- > 0;)
                if (back_node(walk, nest->children[at->first + i]))
                    return walk->end;
        } else if (at->kind == NEST_LOOP) {
            if (back_loop(walk, parent, walk->iterators[at->slot] - at->step))
                return walk->end;
        }
    }
    return WALK_COLD;
}

static enum walk_end walk_from(struct walker *walker, size_t level, struct geometry geometry,
                               struct lines *lines, uint32_t access, const int64_t *iterators,
                               bool filtered)
{
    const struct nest *nest = walker->nest;
    struct walk walk = {.walker = walker,
                        .nest = nest,
                        .geometry = geometry,
                        .returns = walker->returns[level],
                        .lines = lines,
                        .level = level,
                        .filtered = filtered};
    int64_t address = nest_address(nest, &nest->accesses[access], iterators);
    memcpy(walk.iterators, iterators, sizeof walk.iterators);
    walk.own = address / (int64_t)geometry.line_bytes;
    walk.window = walk.own % (int64_t)geometry.sets * (int64_t)geometry.line_bytes;
    lines_clear(lines);
    return walk_back(&walk, access);
}

enum walk_end walk_level(struct walker *walker, size_t level, uint32_t access,
                         const int64_t *iterators)
{
    return walk_from(walker, level, walker->levels[level], &walker->lines[level], access, iterators,
                     true);
}

enum walk_end walk_associative(struct walker *walker, size_t level, uint32_t access,
                               const int64_t *iterators)
{
    struct geometry geometry = walker->levels[level];
    geometry.ways *= geometry.sets;
    geometry.sets = 1;
    geometry.span = (int64_t)geometry.line_bytes;
    return walk_from(walker, level, geometry, &walker->lines[MISSES_LEVELS], access, iterators,
                     false);
}

/* ---- beginning and end ---------------------------------------------------------------------------------------------- */

/* Strides of accesses in flat loops, each once; and which of them an access has. */
static size_t find_strides(const struct nest *nest, int64_t *strides, uint32_t *which)
{
    size_t count = 0;
    for (uint32_t i = 0; i < nest->accesses_count; i++) {
        uint32_t node = nest->accesses[i].statement;
        while (node != NEST_NONE && nest->nodes[node].kind != NEST_LOOP)
            node = nest->nodes[node].parent;
        if (node == NEST_NONE || !nest->nodes[node].flat)
            continue;
        const struct nest_node *loop = &nest->nodes[node];
        int64_t stride = -nest->accesses[i].affine.factors[loop->slot] * loop->step;
        uint32_t at = 0;
        while (at < count && strides[at] != stride)
            at++;
        strides[at] = stride;
        which[i] = at;
        count += at == count;
    }
    return count;
}

static bool begin_returns(struct walker *walker, size_t levels)
{
    const struct nest *nest = walker->nest;
    int64_t *strides = calloc(nest->accesses_count + 1, sizeof *strides);
    bool good = strides != NULL;
    walker->returns_of = calloc(nest->accesses_count + 1, sizeof *walker->returns_of);
    good &= walker->returns_of != NULL;
    size_t count = good ? find_strides(nest, strides, walker->returns_of) : 0;
    for (size_t i = 0; good && i < levels; i++) {
        walker->returns[i] = calloc(count + 1, sizeof **walker->returns);
        good = walker->returns[i] != NULL;
        for (size_t j = 0; good && j < count; j++)
            good = returns_make(&walker->returns[i][j], &walker->levels[i], strides[j]);
    }
    walker->returns_count = count;
    free(strides);
    return good;
}

bool walker_begin(struct walker *walker, const struct nest *nest,
                  const struct misses_options *options)
{
    uint64_t most_lines = 1;
    *walker = (struct walker){.nest = nest, .most_steps = options->most_steps};
    walker->below = calloc(nest->nodes_count + 1, sizeof *walker->below);
    if (!walker->below)
        return false;
    for (uint32_t i = 0; i < nest->nodes_count; i++) {
        walker->below[i].first = UINT32_MAX;
        accesses_below(nest, i, &walker->below[i].first, &walker->below[i].end);
    }
    for (size_t i = 0; i < options->levels_count; i++) {
        const struct misses_level *level = &options->levels[i];
        struct geometry *geometry = &walker->levels[i];
        uint64_t lines = level->bytes / level->line_bytes;
        geometry->line_bytes = level->line_bytes;
        geometry->ways = level->ways ? level->ways : lines;
        geometry->sets = lines / geometry->ways;
        geometry->span = (int64_t)(geometry->sets * geometry->line_bytes);
        if (!lines_begin(&walker->lines[i], geometry->ways))
            return false;
        most_lines = lines > most_lines ? lines : most_lines;
    }
    return lines_begin(&walker->lines[MISSES_LEVELS], most_lines) &&
           begin_returns(walker, options->levels_count);
}

void walker_end(struct walker *walker)
{
    for (size_t i = 0; i <= MISSES_LEVELS; i++) {
        free(walker->lines[i].slots);
        free(walker->lines[i].touched);
        free(walker->lines[i].by);
    }
    for (size_t i = 0; i < MISSES_LEVELS && walker->returns[i]; i++) {
        for (size_t j = 0; j < walker->returns_count; j++)
            free(walker->returns[i][j].iterations);
        free(walker->returns[i]);
    }
    free(walker->returns_of);
    free(walker->below);
}
