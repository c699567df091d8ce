// SPDX-License-Identifier: MIT
/* The entrance: accesses counted, solved by samples or by simulation, added up. */
#include "misses/internal.h"

#include <math.h>
#include <stdlib.h>
#include <time.h>

enum { COUNTING_STEPS = 200000000 };

uint64_t misses_now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000U + (uint64_t)now.tv_nsec;
}

static double cpu_s(void)
{
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

bool misses_level_valid(const struct misses_level *level)
{
    uint32_t line = level->line_bytes;
    if (line < 8 || line > 4096 || (line & (line - 1)) || level->bytes % line ||
        level->bytes > (UINT64_C(1) << 36))
        return false;
    uint64_t lines = level->bytes / line, ways = level->ways ? level->ways : lines;
    return lines && ways <= MISSES_WAYS_MAX && lines % ways == 0;
}

struct misses_options misses_defaults(void)
{
    return (struct misses_options){.half_width = 0.0015,
                                   .most_points = 430000,
                                   .most_steps = 50000000,
                                   .exact_below = 2000000,
                                   .seed = 1,
                                   .threads = 1};
}

bool count_accesses(const struct nest *nest, struct misses_result *result)
{
    for (size_t i = 0; i < nest->nodes_count; i++) {
        const struct nest_node *node = &nest->nodes[i];
        if (node->kind != NEST_STATEMENT || !node->count)
            continue;
        uint64_t times = nest_executions(nest, (uint32_t)i, COUNTING_STEPS);
        if (times == UINT64_MAX)
            return false;
        for (uint32_t j = 0; j < node->count; j++) {
            result->references[nest->accesses[node->first + j].reference].accesses += times;
            result->accesses += times;
        }
    }
    return true;
}

static void add_up(struct misses_result *result, size_t levels)
{
    for (size_t i = 0; i < levels; i++) {
        struct misses_figure *total = &result->totals[i];
        double below = 0, above = 0;
        total->exact = result->exact;
        for (size_t j = 0; j < result->count; j++) {
            const struct misses_figure *figure = &result->references[j].levels[i];
            total->misses += figure->misses;
            total->cold += figure->cold;
            total->capacity += figure->capacity;
            total->conflict += figure->conflict;
            total->points += figure->points;
            total->cut += figure->cut;
            below += (figure->misses - figure->low) * (figure->misses - figure->low);
            above += (figure->high - figure->misses) * (figure->high - figure->misses);
        }
        total->low = fmax(0, total->misses - sqrt(below));
        total->high = fmin((double)result->accesses, total->misses + sqrt(above));
    }
}

enum base_status misses_solve(const struct nest *nest, const struct misses_options *options,
                              struct misses_result *result)
{
    double start = cpu_s();
    enum base_status status;
    *result = (struct misses_result){.count = nest->references_count};
    result->references = calloc(nest->references_count + 1, sizeof *result->references);
    if (!result->references)
        return BASE_NO_MEMORY;
    for (size_t i = 0; options->accesses && i < result->count; i++) {
        result->references[i].accesses = options->accesses[i];
        result->accesses += options->accesses[i];
    }
    status = options->accesses || count_accesses(nest, result) ? BASE_OK : BASE_UNSUPPORTED;
    if (status == BASE_OK) {
        result->exact = options->exact || result->accesses <= options->exact_below;
        status = (result->exact ? solve_exact : solve_samples)(nest, options, result);
    }
    if (status != BASE_OK) {
        misses_free(result);
        return status;
    }
    add_up(result, options->levels_count);
    result->cpu_s = cpu_s() - start;
    return BASE_OK;
}

void misses_free(struct misses_result *result)
{
    free(result->references);
    free(result->pairs);
    *result = (struct misses_result){0};
}
