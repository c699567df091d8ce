// SPDX-License-Identifier: MIT
/* What the gaps come to, and what is usually done about them. */
#include "ceiling/internal.h"

#include <math.h>

/* Parts of a loop's time. */
static const double large = 0.3, small = 0.05;

bool ceiling_known(const struct profile_ceiling_loop *loop)
{
    return loop->trials && !loop->short_executions;
}

double ceiling_gap(const struct profile_ceiling_loop *loop)
{
    return ceiling_known(loop) ? fmin(1, fmax(0, loop->gap)) : 0;
}

double ceiling_upper_bound(const struct profile *profile)
{
    double saved = 0;
    for (size_t i = 0; i < profile->ceiling_loops_count; i++)
        saved += profile->ceiling_loops[i].share * ceiling_gap(&profile->ceiling_loops[i]);
    return fmin(1, saved);
}

struct advice ceiling_advice(const struct profile_ceiling_loop *loop)
{
    enum advice_evidence evidence =
        loop->trials >= CEILING_TRIALS_FEW ? ADVICE_STRONG : ADVICE_WEAK;
    if (!ceiling_known(loop))
        return (struct advice){0};
    if (loop->gap >= large)
        return (struct advice){
            "ceiling.tile",
            "Most of its time is spent waiting for data. Use them again while they are in the "
            "cache: "
            "tile the loops around it, or interchange them; store what is used together side by "
            "side, in a smaller type. 'headroom reuse' says where the data were used last.",
            evidence};
    if (loop->gap >= small)
        return (struct advice){
            "ceiling.prefetch",
            "Part of its time is spent waiting for data: access them in the order of memory, which "
            "the processor fetches ahead, or prefetch what it cannot foresee.",
            evidence};
    return (struct advice){
        "ceiling.compute",
        "Memory is not what it waits for: 'headroom limits' says what bounds its computation.",
        evidence};
}
