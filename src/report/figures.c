// SPDX-License-Identifier: MIT
/*
 * Reuse distances of all processes together, and what the model makes of each process's times.
 */
#include "report/parts.h"

#include <math.h>
#include <string.h>

/* One process: its rows are [first, end) of the profile's bins. */
struct part {
    const struct profile_reuse *reuse;
    const struct profile_bin *first, *end;
};

/* Processes and bins are in the same order: the search goes on where the last one ended. */
static void next_part(const struct profile *profile, const struct profile_reuse *reuse,
                      struct part *part)
{
    const struct profile_bin *end = profile->bins + profile->bins_count;
    part->reuse = reuse;
    for (part->first = part->end; part->first < end && part->first->process < reuse->process;)
        part->first++;
    for (part->end = part->first; part->end < end && part->end->process == reuse->process;)
        part->end++;
}

/* Locations that a forked process may touch without ever touching them for the first time. */
static double inherited(const struct profile *profile, uint32_t process)
{
    double locations = 0;
    for (unsigned generation = 0; generation < 64; generation++) {
        const struct profile_process *image = NULL;
        for (size_t i = 0; i < profile->processes_count && !image; i++)
            if (profile->processes[i].id == process)
                image = &profile->processes[i];
        if (!image || !image->forked || image->parent == process)
            return locations;
        process = image->parent;
        for (size_t i = 0; i < profile->reuses_count; i++)
            if (profile->reuses[i].process == process)
                locations += profile->reuses[i].locations;
    }
    return locations;
}

static void add(double *to, const double *from)
{
    for (unsigned bin = 0; bin < DISTANCE_BINS; bin++)
        to[bin] += from[bin];
}

static void add_part(const struct profile *profile, const struct part *part,
                     struct reuse_figures *figures)
{
    double histograms[PROFILE_DISTANCES][DISTANCE_BINS] = {{0}}, derived[DISTANCE_BINS];
    double first_touches = part->reuse->locations;
    for (const struct profile_bin *bin = part->first; bin < part->end; bin++)
        histograms[bin->which][distance_bin(bin->lo)] += bin->weight;
    add(figures->time, histograms[PROFILE_TIME]);
    add(figures->stack, histograms[PROFILE_STACK]);
    reuse_stack_from_time(histograms[PROFILE_TIME], first_touches,
                          first_touches + inherited(profile, part->reuse->process), derived);
    add(figures->from_time, derived);
    reuse_stack_expected(histograms[PROFILE_TIME], first_touches, derived);
    add(figures->expected, derived);
}

void figures_reuse(const struct profile *profile, struct reuse_figures *figures)
{
    struct part part = {.end = profile->bins};
    memset(figures, 0, sizeof *figures);
    figures->totals = profile_reuse_total(profile);
    figures->misses = figures->totals.locations;
    for (size_t i = 0; i < profile->reuses_count; i++) {
        next_part(profile, &profile->reuses[i], &part);
        if (part.first < part.end)
            add_part(profile, &part, figures);
    }
}

uint64_t figures_enough(const struct reuse_figures *figures)
{
    const double *stack = figures_stack(figures);
    unsigned last = DISTANCE_BINS;
    uint64_t units = 1;
    while (last > 0 && stack[last - 1] <= 0)
        last--;
    while (last > 0 && units <= distance_bin_low(last - 1) && units < UINT64_C(1) << 62)
        units *= 2;
    return units;
}
