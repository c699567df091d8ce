// SPDX-License-Identifier: MIT
/*
 * What iterations took as the program ran. How often the head of a loop was executed is the sum over all paths of its function that
 * run through that block: the exact engine counts them in the unmodified program, whatever is in the loop. The time is that of samples, of
 * another run.
 */
#include "assess/internal.h"

#include <stdlib.h>
#include <string.h>

/* By block of `counted`: executions. */
static uint64_t *count_blocks(const struct profile *counted)
{
    uint64_t *counts = calloc(counted->path_blocks_count + 1, sizeof *counts);
    for (size_t i = 0; counts && i < counted->paths_count; i++) {
        const struct profile_path *path = &counted->paths[i];
        for (uint32_t s = 0; s < path->steps; s++)
            counts[counted->path_steps[path->first_step + s].block] += path->count;
    }
    return counts;
}

/* More than one where the file was loaded by several programs, or the function is known by several entries. */
static uint64_t iterations_of(const struct profile_limit_loop *loop, const struct profile *counted,
                              const uint64_t *counts)
{
    uint64_t iterations = 0;
    for (size_t i = 0; i < counted->path_blocks_count; i++) {
        const struct profile_path_block *block = &counted->path_blocks[i];
        uint32_t module = counted->path_functions[block->function].module;
        if (block->address == loop->address && module &&
            strcmp(counted->modules[module].path, loop->module) == 0)
            iterations += counts[i];
    }
    return iterations;
}

void measure_loops(struct profile *profile)
{
    double whole_ns = 0, cycle_ns = profile->limit_runs_count ? profile->limit_runs[0].cycle_ns : 0;
    for (size_t i = 0; i < profile->times_count; i++)
        whole_ns += (double)profile->times[i].ns;
    for (size_t i = 0; cycle_ns > 0 && i < profile->limit_loops_count; i++) {
        struct profile_limit_loop *loop = &profile->limit_loops[i];
        if (loop->iterations && loop->share >= 0)
            loop->measured = loop->share * whole_ns / cycle_ns / (double)loop->iterations;
    }
}

bool assess_measure(const struct profile *counted, struct profile *profile)
{
    uint64_t *counts = count_blocks(counted);
    if (!counts)
        return false;
    for (size_t i = 0; i < profile->limit_loops_count; i++) {
        struct profile_limit_loop *loop = &profile->limit_loops[i];
        if (loop->module)
            loop->iterations = iterations_of(loop, counted, counts);
    }
    measure_loops(profile);
    free(counts);
    return assess_take_windows(counted, profile);
}
