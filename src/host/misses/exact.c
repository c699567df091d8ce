// SPDX-License-Identifier: MIT
/* Every access of a nest in the order of execution, through caches that are simulated: what the samples are held against. */
#include "misses/internal.h"

#include "cache/cache.h"

#include <stdlib.h>
#include <string.h>

struct simulated {
    struct cache_bank bank, ideal; /* ideal: fully associative, of as many lines */
    void *memory, *ideal_memory;
    struct misses_figure *totals;
    uint8_t *seen; /* a bit for each line */
    int64_t first_line, lines;
    uint32_t line_bytes;
};

struct simulation {
    const struct nest *nest;
    const struct misses_options *options;
    struct misses_result *result;
    struct simulated levels[MISSES_LEVELS];
    int64_t iterators[NEST_SLOTS];
    uint64_t loops;
    bool late;
};

static bool begin_level(struct simulated *simulated, const struct nest *nest,
                        const struct misses_level *level)
{
    /* The room's lines have 64 bytes; lines are given by number, so that only their count matters. */
    struct cache_shape shape = {level->bytes / level->line_bytes * CACHE_LINE_BYTES, level->ways};
    struct cache_shape ideal = {shape.bytes, 0};
    int64_t low = INT64_MAX, high = 0;
    if (!cache_shape_valid(&shape) || !cache_shape_valid(&ideal))
        return false;
    for (size_t i = 0; i < nest->arrays_count; i++) {
        const struct nest_array *array = &nest->arrays[i];
        low = array->base + array->low < low ? array->base + array->low : low;
        high = array->base + array->high > high ? array->base + array->high : high;
    }
    simulated->line_bytes = level->line_bytes;
    simulated->first_line = low / level->line_bytes;
    simulated->lines = high / level->line_bytes - simulated->first_line + 2;
    simulated->seen = calloc((size_t)simulated->lines / 8 + 1, 1);
    simulated->memory = aligned_alloc(64, (cache_bytes(&shape) + 63) / 64 * 64);
    simulated->ideal_memory = aligned_alloc(64, (cache_bytes(&ideal) + 63) / 64 * 64);
    if (!simulated->seen || !simulated->memory || !simulated->ideal_memory)
        return false;
    memset(simulated->memory, 0, cache_bytes(&shape));
    memset(simulated->ideal_memory, 0, cache_bytes(&ideal));
    return cache_bank_add(&simulated->bank, &shape, simulated->memory) == BASE_OK &&
           cache_bank_add(&simulated->ideal, &ideal, simulated->ideal_memory) == BASE_OK;
}

/* False: a hit. */
static bool miss_level(struct simulated *simulated, int64_t address, struct misses_figure *figure)
{
    uint64_t line = (uint64_t)address / simulated->line_bytes;
    uint64_t before = simulated->bank.caches[0].misses;
    uint64_t ideal_before = simulated->ideal.caches[0].misses;
    cache_bank_line(&simulated->bank, line);
    cache_bank_line(&simulated->ideal, line);
    if (simulated->bank.caches[0].misses == before)
        return false;
    size_t bit = (size_t)((int64_t)line - simulated->first_line);
    bool cold = !(simulated->seen[bit / 8] & (1U << bit % 8));
    simulated->seen[bit / 8] |= (uint8_t)(1U << bit % 8);
    figure->misses++;
    if (cold)
        figure->cold++;
    else if (simulated->ideal.caches[0].misses != ideal_before)
        figure->capacity++;
    else
        figure->conflict++;
    return true;
}

static void simulate_access(struct simulation *simulation, uint32_t index)
{
    const struct nest_access *access = &simulation->nest->accesses[index];
    int64_t address = nest_address(simulation->nest, access, simulation->iterators);
    struct misses_reference *reference = &simulation->result->references[access->reference];
    for (size_t i = 0; i < simulation->options->levels_count; i++)
        if (!miss_level(&simulation->levels[i], address, &reference->levels[i]))
            return;
}

static void simulate_node(struct simulation *simulation, uint32_t node)
{
    const struct nest *nest = simulation->nest;
    const struct nest_node *at = &nest->nodes[node];
    int64_t low = 0, high = 0, step = 1;
    if (simulation->late ||
        (at->kind == NEST_CONDITION && !nest_value(nest, at->lower, simulation->iterators)))
        return;
    if (at->kind == NEST_STATEMENT) {
        for (uint32_t i = 0; i < at->count; i++)
            simulate_access(simulation, at->first + i);
        return;
    }
    if (at->kind == NEST_LOOP) {
        low = nest_value(nest, at->lower, simulation->iterators);
        high = nest_value(nest, at->upper, simulation->iterators);
        step = at->step;
        if (simulation->loops++ % 1024 == 0 && simulation->options->deadline_ns &&
            misses_now_ns() > simulation->options->deadline_ns)
            simulation->late = true;
    }
    for (int64_t i = low; i <= high; i += step) {
        if (at->kind == NEST_LOOP)
            simulation->iterators[at->slot] = i;
        for (uint32_t j = 0; j < at->count; j++)
            simulate_node(simulation, nest->children[at->first + j]);
    }
}

enum base_status solve_exact(const struct nest *nest, const struct misses_options *options,
                             struct misses_result *result)
{
    struct simulation simulation = {.nest = nest, .options = options, .result = result};
    enum base_status status = BASE_NO_MEMORY;
    for (size_t i = 0; i < options->levels_count; i++)
        if (!begin_level(&simulation.levels[i], nest, &options->levels[i]))
            goto out;
    simulate_node(&simulation, 0);
    status = simulation.late ? BASE_TOO_LARGE : BASE_OK;
    for (size_t i = 0; i < result->count; i++)
        for (size_t j = 0; j < options->levels_count; j++) {
            struct misses_figure *figure = &result->references[i].levels[j];
            figure->low = figure->high = figure->misses;
            figure->exact = true;
        }
out:
    for (size_t i = 0; i < options->levels_count; i++) {
        free(simulation.levels[i].seen);
        free(simulation.levels[i].memory);
        free(simulation.levels[i].ideal_memory);
    }
    return status;
}
