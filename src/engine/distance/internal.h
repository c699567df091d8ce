// SPDX-License-Identifier: MIT
/*
 * The parts of distance, private to it: where locations are kept (table.c), in which order they
 * were used (order.c), which accesses follow which (pairs.c).
 */
#ifndef HEADROOM_DISTANCE_INTERNAL_H
#define HEADROOM_DISTANCE_INTERNAL_H

#include "distance/distance.h"

#define DISTANCE_ALL (UINT64_C(1) << 32) /* the share that keeps every location */

/* ---- locations (table.c) ------------------------------------------------------------------- */

/* In `time`: the location was touched once only since it is known. */
#define DISTANCE_ONCE (UINT64_C(1) << 63)

struct distance_place {
    uint64_t time; /* of the last use; DISTANCE_ONCE; 0: not known, all else is undefined */
    uint32_t id;   /* of the last use */
    uint32_t slot; /* below DISTANCE_NODES: node of the recent list; else slot + DISTANCE_NODES */
};

/*
 * Two forms. Direct, when all locations are kept: a directory of chunks, each the places of
 * 2^14 neighbouring locations, so that a sweep over memory is a sweep over places. Sparse, when few are or
 * their number is bounded: open addressing, linear probing, at most 3/4 full.
 */
enum {
    DISTANCE_CHUNK_SHIFT = 14, /* 256 KiB of places: 1 MiB of memory by lines */
    DISTANCE_PAGE_SHIFT = 8,   /* 4 KiB of places; a chunk's pages fit the 64 bits of `touched` */
};

struct distance_chunk {
    struct distance_place *places;          /* NULL: none */
    uint64_t touched;                       /* pages in which a place may be known */
    struct distance_chunk *next, *previous; /* of all that have places */
    uint32_t known;
} __attribute__((aligned(64)));

struct distance_entry {
    uint64_t location;
    struct distance_place place;
};

struct distance_table {
    bool sparse;
    uint64_t known;          /* places whose time is not 0 */
    uint64_t location_limit; /* all locations are below */
    struct distance_chunk *chunks;
    uint64_t chunks_count;
    struct distance_chunk *first_chunk;
    struct distance_place *spare; /* zeroed chunks, linked through their first `time` */
    struct distance_entry *entries;
    uint64_t entries_mask;
};

enum base_status distance_table_init(struct distance_table *table, bool sparse,
                                     uint64_t location_limit, const struct distance_memory *memory);
void distance_table_free(struct distance_table *table, const struct distance_memory *memory);

static inline struct distance_place *distance_find_sparse(const struct distance_table *table,
                                                          uint64_t location)
{
    /* Not the hash of distance_keeps: of that, kept locations have equal top bits. */
    for (uint64_t i = base_mix64(location) & table->entries_mask;;
         i = (i + 1) & table->entries_mask) {
        struct distance_entry *entry = &table->entries[i];
        if (!entry->place.time)
            return NULL;
        if (entry->location == location)
            return &entry->place;
    }
}

static inline struct distance_place *distance_find_direct(const struct distance_table *table,
                                                          uint64_t location)
{
    struct distance_place *places = table->chunks[location >> DISTANCE_CHUNK_SHIFT].places;
    return places ? &places[location & ((1U << DISTANCE_CHUNK_SHIFT) - 1)] : NULL;
}

/* NULL or a place of time 0: not known. */
static inline struct distance_place *distance_find(const struct distance_table *table,
                                                   uint64_t location)
{
    if (table->sparse)
        return distance_find_sparse(table, location);
    return location < table->location_limit ? distance_find_direct(table, location) : NULL;
}

/*
 * The place of a location that is not known yet, below location_limit; the caller sets its time at
 * once. NULL: no memory. Moves other places when sparse.
 */
struct distance_place *distance_make(struct distance_table *table, uint64_t location,
                                     const struct distance_memory *memory);

/* Visits every known place of [first, last] once, in any order; one for which visit returns true is removed.
   If it may do so it must not matter that a place is visited twice. */
typedef bool distance_visit(void *context, uint64_t location, struct distance_place *place);
void distance_walk(struct distance_table *table, uint64_t first, uint64_t last,
                   distance_visit *visit, void *context);

bool distance_table_check(const struct distance_table *table);

/* ---- order of last uses (order.c) ------------------------------------------------------------ */

/*
 * The 16 locations used last are nodes; `recent` lists node numbers, four bits each, the most
 * recent lowest; behind the first recent_count the free nodes. A location that
 * leaves this list takes the next slot; a slot is a bit in `bits`, set while its
 * location was not used again. So slots are in order of last use, and the set bits above a slot,
 * with the list, are the distinct locations used since.
 *
 * Counted by levels: 64 slots a word, 64 words a block, 64 blocks a region, 64
 * regions a zone. A Fenwick tree would touch as many cache lines as it has levels of two for each
 * change; here a change touches one counter a level, and a count is four short sums of neighbours.
 *
 * When all slots were given out, the set bits are moved together (order_compact).
 */
enum {
    DISTANCE_NODES = 16,
    DISTANCE_GROUP_SHIFT = 6,
    DISTANCE_GROUP = 1 << DISTANCE_GROUP_SHIFT,
    /* 8 KiB of bits: with their sums and the places still in a first-level cache. */
    DISTANCE_LEAST_SLOTS = 1 << 16,
};

struct distance_order {
    uint64_t recent;
    uint32_t recent_count;
    uint32_t head;     /* the next slot */
    uint32_t capacity; /* slots; a power of two */
    uint32_t live;     /* bits set */
    uint64_t *bits;
    uint8_t *words; /* bits set in each word */
    uint16_t *blocks;
    uint32_t *regions, *zones;
    uint32_t *ranks;                    /* in compaction: bits set before each word */
    uint32_t above_block, above;        /* bits set in blocks after above_block */
    uint64_t locations[DISTANCE_NODES]; /* of nodes */
    uint32_t least_slots;               /* DISTANCE_LEAST_SLOTS; smaller in tests */
};

enum base_status distance_order_init(struct distance_order *order, uint32_t least_slots,
                                     const struct distance_memory *memory);
void distance_order_free(struct distance_order *order, const struct distance_memory *memory);

/* Makes the node the most recent one. Returns how many were more recent. */
static inline unsigned distance_to_front(struct distance_order *order, unsigned node)
{
    const uint64_t ones = UINT64_C(0x1111111111111111);
    uint64_t recent = order->recent;
    /* The lowest zero digit of the difference is found exactly; borrows reach only higher ones. */
    uint64_t difference = recent ^ node * ones;
    unsigned shift = (unsigned)__builtin_ctzll((difference - ones) & ~difference & ones << 3) - 3;
    uint64_t moved = ~UINT64_C(0) >> (60 - shift);
    order->recent = (recent & ~moved) | (recent << 4 & moved) | node;
    return shift / 4;
}

/* No slot is left for one more: distance_compact first. */
static inline bool distance_slots_used(const struct distance_order *order)
{
    return order->head == order->capacity;
}

/*
 * Renumbers slots in the same order, without gaps; grows when more than a quarter is live. False: no
 * memory, and no slot was won; nothing is changed then.
 */
bool distance_compact(struct distance_order *order, struct distance_table *table,
                      const struct distance_memory *memory);

/* Puts the location in front of the list; the one that falls out takes a slot. Returns the node.
   Not distance_slots_used, unless the list is not full. */
unsigned distance_push(struct distance_order *order, struct distance_table *table,
                       uint64_t location);

/* Distinct locations used since the one in the slot. Its slot becomes free. */
uint32_t distance_take(struct distance_order *order, uint32_t slot);

/* The location of the place is forgotten. */
void distance_drop(struct distance_order *order, const struct distance_place *place);

bool distance_order_check(const struct distance_order *order, struct distance_table *table);

/* ---- pairs (pairs.c) --------------------------------------------------------------------------- */

/*
 * A cache line each. Reuses of weight 1 of one of the recent locations are counted in one word: how many there were and, above, their
 * stack distances and the squares of these. It is added to the pair before any field overflows, and before the pair is read.
 */
struct distance_pair_slot {
    struct distance_pair pair; /* but for those, of which it has the times alone */
    uint64_t near;
} __attribute__((aligned(64)));
enum {
    DISTANCE_NEAR_BITS = 12,   /* of the count */
    DISTANCE_NEAR_STACK = 12,  /* 17 bits: 4096 × 15 */
    DISTANCE_NEAR_SQUARES = 32 /* 20 bits: 4096 × 225 */
};

static inline void distance_pair_settle(struct distance_pair_slot *slot)
{
    uint64_t near = slot->near, count = near & ((UINT64_C(1) << DISTANCE_NEAR_BITS) - 1);
    uint64_t stack = near >> DISTANCE_NEAR_STACK & ((UINT64_C(1) << 17) - 1);
    slot->near = 0;
    slot->pair.count += count;
    slot->pair.weight += (double)count;
    slot->pair.stack += (double)stack;
    slot->pair.stack_squares += (double)(near >> DISTANCE_NEAR_SQUARES);
}

/* stack: below DISTANCE_NODES. */
static inline void distance_pair_count_near(struct distance_pair_slot *slot, double time,
                                            uint64_t stack)
{
    slot->near += 1 | stack << DISTANCE_NEAR_STACK | stack * stack << DISTANCE_NEAR_SQUARES;
    slot->pair.time += time;
    slot->pair.time_squares += time * time;
    if (__builtin_expect(slot->near >> (DISTANCE_NEAR_BITS - 1) & 1, 0))
        distance_pair_settle(slot);
}

struct distance_pairs {
    struct distance_pair_slot *slots; /* open addressing, linear probing, at most 5/8 full */
    uint64_t count;
    uint32_t shift;        /* 2^(64 - shift) slots */
    uint64_t most, merged; /* most_pairs of the options; pairs that were merged */
    uint32_t (*coarser)(void *context, uint32_t id);
    void *context;
};

/* Merges the least until no more than `target` are left, as far as that goes. False: no memory. */
bool distance_pairs_merge(struct distance_pairs *pairs, uint64_t most, uint64_t target,
                          const struct distance_memory *memory);

enum base_status distance_pairs_init(struct distance_pairs *pairs,
                                     const struct distance_memory *memory);
void distance_pairs_free(struct distance_pairs *pairs, const struct distance_memory *memory);
void distance_pairs_clear(struct distance_pairs *pairs);
bool distance_pairs_check(const struct distance_pairs *pairs);

static inline uint64_t distance_pairs_capacity(const struct distance_pairs *pairs)
{
    return UINT64_C(1) << (64 - pairs->shift);
}

/* Fibonacci hashing: enough for ids, which are dense, and three cycles. */
static inline uint64_t distance_pair_home(const struct distance_pairs *pairs, uint32_t use,
                                          uint32_t reuse)
{
    uint64_t key = (uint64_t)use << 32 | reuse;
    return (key ^ key >> 29) * UINT64_C(0x9e3779b97f4a7c15) >> pairs->shift;
}

static inline struct distance_pair_slot *distance_pair_at_home(const struct distance_pairs *pairs,
                                                               uint32_t use, uint32_t reuse)
{
    return &pairs->slots[distance_pair_home(pairs, use, reuse)];
}

/* The pair, made if new; NULL: no memory. Valid until the next call. */
struct distance_pair *distance_pair_make(struct distance_pairs *pairs, uint32_t use, uint32_t reuse,
                                         const struct distance_memory *memory);

static inline struct distance_pair *distance_pair_find(struct distance_pairs *pairs, uint32_t use,
                                                       uint32_t reuse,
                                                       const struct distance_memory *memory)
{
    struct distance_pair *pair = &distance_pair_at_home(pairs, use, reuse)->pair;
    if (__builtin_expect(pair->use == use && pair->reuse == reuse, 1))
        return pair;
    return distance_pair_make(pairs, use, reuse, memory);
}

/* ---- the whole (distance.c) -------------------------------------------------------------------- */

struct distance {
    /* location_limit if the table is direct and stacks are kept and nothing was
       refused; else 0 */
    uint64_t fast_limit;
    /* That of the last access, if it was touched fast: it is the most recent one. UINT64_MAX: none */
    uint64_t latest;
    struct distance_place *latest_place;
    uint64_t threshold; /* share, or 0 when exhausted */
    uint64_t share;     /* of 2^32 */
    double weight;      /* 2^32 / share */
    uint32_t observing; /* reuses still to be observed; meanwhile fast_limit is 0 */
    struct distance_observer observer;
    struct distance_options options;
    bool exhausted;
    struct distance_memory memory;
    struct distance_table table;
    struct distance_order order;
    struct distance_pairs pairs;
    uint64_t fresh; /* first touches since the share is what it is */
    uint64_t once;  /* places with DISTANCE_ONCE */
    uint64_t time_counts[DISTANCE_BINS], stack_counts[DISTANCE_BINS]; /* since then, unweighted */
    /* Until then, weighted. */
    double times[DISTANCE_BINS], stacks[DISTANCE_BINS];
    double fresh_before;
    uint64_t kept_reuses_before, kept_fresh_before;
    double never_reused_before; /* touched once, then forgotten */
};

/* distance_init with another smallest number of slots, a power of two from 64 on. */
enum base_status distance_init_slots(struct distance *distance,
                                     const struct distance_options *options,
                                     const struct distance_memory *memory, uint32_t least_slots);

#endif
