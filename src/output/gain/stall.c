// SPDX-License-Identifier: MIT
/*
 * CPU time spent waiting for data that caches have lost.
 *
 * An access that misses a level waits longer by what the next one takes more. In a nanosecond in which nothing
 * waits a program makes so many accesses (the pace); they then wait, one after the other at worst,
 *
 *     M = pace · Σ over levels (misses per access · ns more)
 *
 * nanoseconds, and M / (1 + M) of its time is waiting. Where accesses were counted the pace is that of the program with its
 * waits, and M itself is the share. How much of a wait processors hide is not known: lines that are walked in order are fetched
 * ahead, so that they take what a stream of them takes; others may overlap with each other, at best as a stream's
 * do. So the lower end counts for all of
 * them what a stream takes, or as many as can be under way sharing one wait, whichever is more; and nothing for those in
 * order.
 */
#include "gain/gain.h"

#include <math.h>

/* Typical of servers and desktops since 2015, where the recording has none: an access after the next level answers,
   less one that this one answers; the last level's next is memory. */
const struct gain_level gain_typical_levels[GAIN_LEVELS] = {{.wait_ns = 3, .stream_ns = 0.5},
                                                            {.wait_ns = 12, .stream_ns = 1},
                                                            {.wait_ns = 60, .stream_ns = 3}};

/* Row of the cache of that level; the next one is what answers when it misses. NULL: not both are known. */
static const struct profile_latency *latency_of(const struct profile *profile, uint32_t level)
{
    for (size_t i = 0; i + 1 < profile->latencies_count; i++)
        if (profile->latencies[i].level == level)
            return &profile->latencies[i];
    return NULL;
}

void gain_levels(const struct profile *profile, struct gain_misses *misses)
{
    for (size_t i = 0; i < misses->count; i++) {
        uint32_t level = i < profile->caches_count ? profile->caches[i].level : 0;
        const struct profile_latency *here = level ? latency_of(profile, level) : NULL;
        misses->levels[i] = gain_typical_levels[i];
        if (here)
            misses->levels[i] =
                (struct gain_level){.wait_ns = here[1].chase_ns - here->chase_ns,
                                    .stream_ns = here[1].stream_ns - here->stream_ns};
    }
}

static double share_of(const struct gain_misses *misses, double ns, double pace)
{
    double waits = ns * pace;
    return misses->counted ? fmin(1, waits) : waits / (1 + waits);
}

struct gain_stall gain_stall_of(const struct gain_misses *misses)
{
    double low = 0, direct = 0, high = 0, streams = 0;
    for (size_t i = 0; i < misses->count; i++) {
        const struct gain_level *level = &misses->levels[i];
        double in_order = misses->avoided[i].in_order;
        double ns = in_order * level->stream_ns + (1 - in_order) * level->wait_ns;
        double least = fmax(level->stream_ns, level->wait_ns / GAIN_OVERLAP);
        low += misses->avoided[i].low * (1 - in_order) * least;
        direct += misses->avoided[i].share * ns;
        streams += misses->avoided[i].share * in_order * level->stream_ns;
        high += misses->avoided[i].high * level->wait_ns;
    }
    struct gain_stall stall = {.low = share_of(misses, low, misses->pace_low),
                               .direct = share_of(misses, direct, misses->pace),
                               .high = share_of(misses, high, misses->pace_high)};
    stall.streams = direct > 0 ? stall.direct * streams / direct : 0;
    stall.low = fmin(stall.low, stall.direct);
    stall.high = fmax(stall.high, stall.direct);
    return stall;
}
