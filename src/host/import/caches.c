// SPDX-License-Identifier: MIT
/* The caches of this machine and what they take, for recordings that ask which cache would hold the data. */
#include "import/internal.h"

#include "analysis/analysis.h"
#include "machine/latency.h"

/* Once for each machine this takes some tenths of a second. */
static bool add_latencies(struct profile *profile)
{
    struct machine_latencies latencies;
    if (machine_latencies(false, &latencies) != BASE_OK)
        return true; /* typical ones do */
    for (size_t i = 0; i < latencies.count; i++) {
        struct profile_latency *added = profile_add_latencies(profile);
        if (!added)
            return false;
        *added = (struct profile_latency){.level = latencies.items[i].level,
                                          .bytes = latencies.items[i].bytes,
                                          .chase_ns = latencies.items[i].chase_ns,
                                          .stream_ns = latencies.items[i].stream_ns};
    }
    return true;
}

bool import_caches(struct profile *profile)
{
    enum { CACHES_MAX = 8 };
    struct machine_cache caches[CACHES_MAX];
    const struct analysis *analysis = analysis_find(profile->run.verb);
    size_t count = analysis && analysis->caches ? machine_caches("", caches, CACHES_MAX) : 0;
    for (size_t i = 0; i < count; i++) {
        struct profile_cache *added = profile_add_caches(profile);
        if (!added)
            return false;
        *added = (struct profile_cache){.level = caches[i].level,
                                        .ways = caches[i].ways,
                                        .line_bytes = caches[i].line_bytes,
                                        .sharers = caches[i].sharers,
                                        .bytes = caches[i].bytes};
    }
    return count == 0 || add_latencies(profile);
}
