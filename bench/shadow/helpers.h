// SPDX-License-Identifier: MIT
/* What the exact engine calls for an access of 1, 2, 4 or 8 bytes (exact/access.c), without Valgrind: not inlined, one instance. */
#ifndef HEADROOM_BENCH_SHADOW_HELPERS_H
#define HEADROOM_BENCH_SHADOW_HELPERS_H

#include "shadow/fast.h"

#include <time.h>

static struct shadow shadow;

/* CPU time. */
static double now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return 1e9 * (double)now.tv_sec + (double)now.tv_nsec;
}

#define HELPER static __attribute__((noinline, unused)) void

/* kind: nothing, or "float_" in names of those for floating-point values. */
#define HELPERS(kind, n, is_float)                                                                 \
    HELPER load_##kind##n(uint64_t address, uint32_t id, uint64_t value)                           \
    {                                                                                              \
        shadow_load_fast(&shadow, address, id, n, &value, is_float);                               \
    }                                                                                              \
    HELPER store_##kind##n(uint64_t address, uint32_t id, uint64_t before, uint64_t value)         \
    {                                                                                              \
        shadow_store_fast(&shadow, address, id, n, before, &value, is_float);                      \
    }
HELPERS(, 1, false)
HELPERS(, 2, false)
HELPERS(, 4, false)
HELPERS(, 8, false)
HELPERS(float_, 4, true)
HELPERS(float_, 8, true)

#endif
