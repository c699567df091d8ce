// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What added code calls, for every access of the program: the hot path. Each helper is one inlined
 * fast path of shadow with the single instance's address folded in.
 */
#include "exact/instrument.h"

#include <pub_tool_libcassert.h>
#include <pub_tool_libcbase.h>
#include <pub_tool_mallocfree.h>
#include "shadow/fast.h"

struct shadow exact_shadow;
struct distance *exact_distance;
struct cache_bank exact_caches;
ULong exact_time, exact_share;
UChar exact_scratch[1024] __attribute__((aligned(64)));

#define LOAD(width, type)                                                                          \
    VG_REGPARM(2) void exact_load_##width(Addr address, ULong id)                                  \
    {                                                                                              \
        shadow_load_fast(&exact_shadow, address, (UInt)id, width, *(const type *)address);         \
    }
#define STORE(width, type)                                                                         \
    VG_REGPARM(3) void exact_store_##width(Addr address, ULong id, ULong before)                   \
    {                                                                                              \
        shadow_store_fast(&exact_shadow, address, (UInt)id, width, before,                         \
                          *(const type *)address);                                                 \
    }
#define SAMPLED(width, type)                                                                       \
    VG_REGPARM(2) void exact_sampled_load_##width(Addr address, ULong id)                          \
    {                                                                                              \
        shadow_load_sampled_##width(&exact_shadow, address, (UInt)id, *(const type *)address);     \
    }                                                                                              \
    VG_REGPARM(3) void exact_sampled_store_##width(Addr address, ULong id, ULong before)           \
    {                                                                                              \
        shadow_store_sampled_##width(&exact_shadow, address, (UInt)id, before,                     \
                                     *(const type *)address);                                      \
    }
LOAD(1, UChar)
LOAD(2, UShort)
LOAD(4, UInt)
LOAD(8, ULong)
STORE(1, UChar)
STORE(2, UShort)
STORE(4, UInt)
STORE(8, ULong)
SAMPLED(1, UChar)
SAMPLED(2, UShort)
SAMPLED(4, UInt)
SAMPLED(8, ULong)

VG_REGPARM(2) void exact_save(Addr address, ULong bytes)
{
    if (bytes > sizeof exact_scratch)
        bytes = sizeof exact_scratch;
    VG_(memcpy)(exact_scratch, (const void *)address, bytes);
}

/* Longer ones are saved processor states: their parts are accesses of the same instruction. */
VG_REGPARM(3) void exact_load_wide(Addr address, ULong id, ULong bytes)
{
    for (ULong at = 0; at < bytes; at += SHADOW_BYTES_MAX) {
        ULong part = bytes - at < SHADOW_BYTES_MAX ? bytes - at : SHADOW_BYTES_MAX;
        shadow_load(&exact_shadow, address + at, (UInt)id, (UInt)part,
                    (const uint8_t *)address + at);
    }
}

VG_REGPARM(3) void exact_store_wide(Addr address, ULong id, ULong bytes)
{
    if (bytes > sizeof exact_scratch)
        bytes = sizeof exact_scratch;
    for (ULong at = 0; at < bytes; at += SHADOW_BYTES_MAX) {
        ULong part = bytes - at < SHADOW_BYTES_MAX ? bytes - at : SHADOW_BYTES_MAX;
        shadow_store(&exact_shadow, address + at, (UInt)id, (UInt)part, exact_scratch + at,
                     (const uint8_t *)address + at);
    }
}

VG_REGPARM(3) void exact_reuse(Addr address, ULong id, ULong packed)
{
    distance_access(exact_distance, address, (UInt)packed, (UInt)id, exact_time + (packed >> 32));
}

VG_REGPARM(3) void exact_reuse_maybe(Addr address, ULong id, ULong bytes)
{
    distance_access(exact_distance, address, (UInt)bytes, (UInt)id, ++exact_time);
}

VG_REGPARM(2) void exact_cache(Addr address, ULong bytes)
{
    cache_bank_access(&exact_caches, address, (UInt)bytes);
}

/* Three quarters of 2^21 slots: 64 MiB, and as much again while they are moved. */
enum { PAIRS_MAX = 3 << 19 };
/* Five eighths of 2^20 slots: likewise. */
enum { REUSE_PAIRS_MAX = 5 << 17 };
/* The kernel gives programs addresses below this; distances are kept for all of them. */
#define ADDRESS_LIMIT (UINT64_C(1) << 47)

static void init_caches(void)
{
    for (UInt i = 0; i < exact_options.caches_count; i++) {
        const struct cache_shape *shape = &exact_options.caches[i];
        void *memory = cache_shape_valid(shape) ? exact_reserve(cache_bytes(shape)) : NULL;
        if (!memory || cache_bank_add(&exact_caches, shape, memory) != BASE_OK)
            exact_fail("the address space for a simulated cache was refused");
    }
}

/*
 * Of a sample: an epoch is so many calls and rounds of loops. Short, so that a location is drawn at random times, some hundred times even in a
 * phase of the program of a hundredth of a second; shorter, and the accesses that tell what became of the last one that was
 * drawn would be most of those followed.
 */
enum { EPOCH_TICKS = 128 };
ULong exact_ticks = EPOCH_TICKS;

void exact_epoch_over(void)
{
    exact_ticks = EPOCH_TICKS;
    shadow_next_epoch(&exact_shadow);
}

static void init_sample(void)
{
    double share = (double)exact_options.waste_share / 4294967296.0;
    if (exact_options.waste_share >> 32)
        return;
    if (shadow_sample(&exact_shadow, &share, exact_options.waste_seed) != BASE_OK)
        exact_fail("the address space for a sample of locations was refused");
}

void exact_access_init(void)
{
    exact_share = exact_options.share;
    if (exact_options.kinds && shadow_init(&exact_shadow, EXACT_PROGRAM_END, SHADOW_IDS_MAX,
                                           exact_options.fp_tolerance, &exact_memory) != BASE_OK)
        exact_fail("the address space for shadow memory was refused");
    if (exact_options.kinds)
        init_sample();
    if (exact_options.kinds)
        shadow_bound_pairs(&exact_shadow,
                           &(struct shadow_bound){.most = PAIRS_MAX, .coarser = exact_coarser});
    init_caches();
    if (exact_options.unit_shift < 0)
        return;
    struct distance_options options = {.unit_shift = (uint32_t)exact_options.unit_shift,
                                       .share = exact_options.share,
                                       .stack = exact_options.stack,
                                       .address_limit = ADDRESS_LIMIT,
                                       .most_locations = exact_options.most_locations,
                                       .most_pairs = REUSE_PAIRS_MAX,
                                       .coarser = exact_coarser};
    exact_distance = exact_reserve(distance_bytes());
    if (!exact_distance ||
        distance_init(exact_distance, &options, &exact_distance_memory) != BASE_OK)
        exact_fail("the address space for reuse distances was refused");
}
