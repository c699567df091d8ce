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
ULong exact_time;
UChar exact_scratch[1024] __attribute__((aligned(64)));

/* path: of shadow/fast.h. */
#define HELPERS(how, path, name, width, floats)                                                    \
    VG_REGPARM(2) void exact_##how##load_##name(Addr address, ULong id)                            \
    {                                                                                              \
        shadow_load_##path(&exact_shadow, address, (UInt)id, width, (const void *)address,         \
                           floats);                                                                \
    }                                                                                              \
    VG_REGPARM(3) void exact_##how##store_##name(Addr address, ULong id, ULong before)             \
    {                                                                                              \
        shadow_store_##path(&exact_shadow, address, (UInt)id, width, before,                       \
                            (const void *)address, floats);                                        \
    }
#define EACH_WIDTH(how, path)                                                                      \
    HELPERS(how, path, 1, 1, false)                                                                \
    HELPERS(how, path, 2, 2, false)                                                                \
    HELPERS(how, path, 4, 4, false)                                                                \
    HELPERS(how, path, 8, 8, false)                                                                \
    HELPERS(how, path, float_4, 4, true)                                                           \
    HELPERS(how, path, float_8, 8, true)
EACH_WIDTH(, fast)
EACH_WIDTH(later_, later)

/* The id in the running thread's context, which is that of the block while it is executed. */
static inline UInt id_in_block(ULong serial, UInt number)
{
    struct exact_block *block = exact_block_number((UInt)serial);
    if (UNLIKELY(block->context != exact_current))
        exact_enter_block(block);
    return (UInt)block->base + number;
}

static inline UInt id_of(ULong which)
{
    return id_in_block(which >> EXACT_NUMBER_BITS, (UInt)which & ((1U << EXACT_NUMBER_BITS) - 1));
}

#define SAMPLED(width, type)                                                                       \
    VG_REGPARM(2) void exact_sampled_load_##width(Addr address, ULong which)                       \
    {                                                                                              \
        if (shadow_is_passed_over(&exact_shadow, address, width, false))                           \
            return;                                                                                \
        shadow_load_sampled_##width(&exact_shadow, address, id_of(which), *(const type *)address); \
    }                                                                                              \
    VG_REGPARM(3) void exact_sampled_store_##width(Addr address, ULong which, ULong before)        \
    {                                                                                              \
        if (shadow_is_passed_over(&exact_shadow, address, width, true))                            \
            return;                                                                                \
        shadow_store_sampled_##width(&exact_shadow, address, id_of(which), before,                 \
                                     *(const type *)address);                                      \
    }
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

VG_REGPARM(3) void exact_sampled_load_wide(Addr address, ULong which, ULong bytes)
{
    exact_load_wide(address, id_of(which), bytes);
}

VG_REGPARM(3) void exact_sampled_store_wide(Addr address, ULong which, ULong bytes)
{
    exact_store_wide(address, id_of(which), bytes);
}

static inline __attribute__((always_inline)) void reuse(Addr address, ULong base, ULong packed,
                                                        UInt bytes)
{
    UInt number = (UInt)packed & ((1U << EXACT_NUMBER_BITS) - 1);
    ULong pending = packed >> EXACT_NUMBER_BITS & ((1U << EXACT_PENDING_BITS) - 1);
    distance_access(exact_distance, address, bytes, (UInt)base + number, exact_time + pending);
}

#define REUSE(width)                                                                               \
    VG_REGPARM(3) void exact_reuse_##width(Addr address, ULong base, ULong packed)                 \
    {                                                                                              \
        reuse(address, base, packed, width);                                                       \
    }                                                                                              \
    VG_REGPARM(3) void exact_sampled_reuse_##width(Addr address, ULong serial, ULong packed)       \
    {                                                                                              \
        reuse(address, id_in_block(serial, 0), packed, width);                                     \
    }
REUSE(1)
REUSE(2)
REUSE(4)
REUSE(8)

VG_REGPARM(3) void exact_reuse(Addr address, ULong base, ULong packed)
{
    reuse(address, base, packed, (UInt)(packed >> (EXACT_NUMBER_BITS + EXACT_PENDING_BITS)));
}

VG_REGPARM(3) void exact_reuse_maybe(Addr address, ULong id, ULong bytes)
{
    distance_access(exact_distance, address, (UInt)bytes, (UInt)id, ++exact_time);
}

VG_REGPARM(3) void exact_sampled_reuse(Addr address, ULong serial, ULong packed)
{
    exact_reuse(address, id_in_block(serial, 0), packed);
}

VG_REGPARM(3) void exact_sampled_reuse_maybe(Addr address, ULong which, ULong bytes)
{
    exact_reuse_maybe(address, id_of(which), bytes);
}

/* ---- simulated caches ----------------------------------------------------------------------- */

static SizeT spot_bytes(void)
{
    return sizeof(struct exact_spot) + exact_caches.count * sizeof(ULong);
}

void exact_spots_make(struct exact_block *block)
{
    if (!block->spots && block->count)
        block->spots = VG_(calloc)("headroom.spot", block->count, spot_bytes());
}

struct exact_spot *exact_spot_of(const struct exact_block *block, UInt access)
{
    return (struct exact_spot *)((UChar *)block->spots + access * spot_bytes());
}

void exact_spots_reset(void)
{
    for (UInt i = 0; i < exact_blocks_count(); i++) {
        const struct exact_block *block = exact_block_number(i);
        if (block->spots)
            VG_(memset)(block->spots, 0, block->count * spot_bytes());
    }
}

VG_REGPARM(3) void exact_cache(Addr address, struct exact_spot *spot, ULong bytes)
{
    ULong before[CACHE_MAX];
    ULong step = address < spot->last ? spot->last - address : address - spot->last;
    if (!spot->accesses++ || address < spot->low)
        spot->low = address;
    if (address + bytes > spot->end)
        spot->end = address + bytes;
    spot->bytes += bytes;
    spot->last = address;
    if (step == spot->step)
        spot->votes++;
    else if (spot->votes)
        spot->votes--;
    else
        spot->step = step;
    for (UInt i = 0; i < exact_caches.count; i++)
        before[i] = exact_caches.caches[i].misses;
    cache_bank_access(&exact_caches, address, (UInt)bytes);
    for (UInt i = 0; i < exact_caches.count; i++)
        spot->misses[i] += exact_caches.caches[i].misses - before[i];
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
 * With a sample: calls and iterations of loops in an epoch. So few that a location is drawn at random times, some hundred times even in
 * a phase of the program that takes a hundredth of a second; with fewer, most accesses that are followed would be those that follow the
 * last one of an epoch.
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

static void init_shadow(void)
{
    if (shadow_init(&exact_shadow, EXACT_PROGRAM_END, SHADOW_IDS_MAX, exact_options.fp_tolerance,
                    &exact_memory) != BASE_OK)
        exact_fail("the address space for shadow memory was refused");
    init_sample();
    shadow_bound_pairs(&exact_shadow, &(struct shadow_bound){.most = PAIRS_MAX,
                                                             .coarser = exact_coarser,
                                                             .foresee = exact_foresee_coarser});
}

void exact_access_init(void)
{
    if (exact_options.kinds)
        init_shadow();
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
