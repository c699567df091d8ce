// SPDX-License-Identifier: MIT
/* The caches of this machine, for recordings that ask which cache would hold the data. */
#include "import/internal.h"

#include "analysis/analysis.h"
#include "machine/machine.h"

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
    return true;
}
