// SPDX-License-Identifier: MIT
/*
 * distance: reuse distances of every access (specs: time distance 1-based,
 * accesses from a use to the next access of the same location, that one included;
 * stack distance 0-based, distinct locations in between; a b c b a: 4 and 2).
 *
 * Time: a counter of accesses kept by the caller, so that it costs nothing per
 * access. Stack: the most recent locations in a move-to-front list; older
 * ones as bits in order of their last use, counted by a hierarchy of sums, compacted when the
 * slots are used up (after Bennett and Kruskal 1975, Olken 1981).
 * Locations may be sampled by a hash of their number (SHARDS, Waldspurger et al. 2015): only they
 * are kept, each stands for 1 / share locations. Time distances are exact even so; stack
 * distances are counts of kept locations times 1 / share, to the nearest. Where few locations have
 * many of the accesses, totals.accesses is off by chance; the caller, who knows the true
 * number, has the difference made good before deriving miss ratios (distance_adjust, their SHARDS_adj).
 *
 * An access that touches several locations uses all of them at the same time, in ascending order.
 *
 * Freestanding; one struct distance is used by one thread at a time.
 */
#ifndef HEADROOM_DISTANCE_H
#define HEADROOM_DISTANCE_H

#include "base/base.h"

/*
 * Histogram bins: distances below 16 each have their own, above eight a factor of two.
 * distance_bin(d): the bin of a distance; distance_bin_low(i): the smallest distance in it. Powers
 * of two are always boundaries, so coarser histograms (the paper's [0,4K), [4K,8K) ...) are sums.
 */
enum { DISTANCE_BINS = 16 + (64 - 4) * 8 };
static inline unsigned distance_bin(uint64_t distance)
{
    /* No branch: long and short distances alternate at random. Below 16 the octave is 0. */
    unsigned octave = 60U - (unsigned)__builtin_clzll(distance | 8);
    return octave * 8 + (unsigned)(distance >> octave);
}
static inline uint64_t distance_bin_low(unsigned bin)
{
    if (bin < 16)
        return bin;
    return (uint64_t)(8 + (bin - 16) % 8) << ((bin - 16) / 8 + 1);
}

struct distance_options {
    uint32_t unit_shift;     /* location = address >> unit_shift: 0 byte, 3 word, 6 line */
    uint64_t share;          /* of 2^32: locations kept; 2^32: all */
    bool stack;              /* stack distances too */
    uint64_t address_limit;  /* all addresses are below */
    uint32_t most_locations; /* bounded memory: beyond, the share is halved and the locations that
                                 fall out forgotten (SHARDS' fixed size); 0: no bound */
    /* Bounded memory for pairs, as in shadow_bound: beyond, those with the least distance altogether
       are merged under coarser ids, and sums over all pairs stay as they are. 0: no bound */
    uint64_t most_pairs;
    uint32_t (*coarser)(void *context, uint32_t id);
    void *coarser_context;
};

/* As shadow_memory. */
struct distance_memory {
    void *(*map)(void *context, size_t bytes, bool reserve);
    void (*unmap)(void *context, void *memory, size_t bytes);
    void *context;
};

/* A use by access id `use` reused by id `reuse`; with a share below 1 each of the `count` reuses
   stands for weight / count. The mean distance is time / weight. Distances below 2^52. */
struct distance_pair {
    uint32_t use, reuse; /* use 0: empty slot */
    uint64_t count;
    double weight;             /* Σ 1 / share at the time */
    double time, time_squares; /* Σ weight × distance, Σ weight × distance² */
    double stack, stack_squares;
};

struct distance_totals {
    double accesses;     /* location touches, weighted by 1 / share */
    double reuses;       /* of these, touches of a location known */
    double locations;    /* = accesses − reuses: first touches */
    double never_reused; /* of these, not touched again: before the end, or before forgotten */
    uint64_t kept_accesses, kept_locations; /* accesses and locations, unweighted */
    double share;                           /* at the end */
};

/* Where reuses are, now and then: an observed one, of a pair that is met for the first time or that the caller asks for. address: of
   the first byte of the access on that location. */
struct distance_observer {
    void (*seen)(void *context, uint32_t use, uint32_t reuse, uint64_t address);
    void *context;
};

struct distance; /* private: distance.c; its size for the caller: */
size_t distance_bytes(void);

/* memory of distance_bytes(), 64-byte aligned. BASE_NO_MEMORY: nothing is kept. */
enum base_status distance_init(struct distance *distance, const struct distance_options *options,
                               const struct distance_memory *memory);
void distance_free(struct distance *distance);

/* Is the location kept? For a test in the caller before the call; the same hash for all. */
static inline bool distance_keeps(uint64_t location, uint64_t share)
{
    return (location * UINT64_C(0x9e3779b97f4a7c15)) >> 32 < share;
}

/*
 * The access number `now` (1, 2, ... of the whole program; not decreasing) of `bytes` bytes by access
 * id (1 .. 2^32 − 1). Locations that are not kept are passed over.
 */
void distance_access(struct distance *distance, uint64_t address, uint32_t bytes, uint32_t id,
                     uint64_t now);

/* To be called before the first access. */
void distance_observe(struct distance *distance, const struct distance_observer *observer);
/* The next reuses are observed, if there is an observer. */
void distance_observe_next(struct distance *distance, uint32_t reuses);

/* The current share of 2^32: changes when most_locations was reached. */
uint64_t distance_share(const struct distance *distance);

/* Memory was unmapped: its locations will be new ones when touched again. */
void distance_forget(struct distance *distance, uint64_t address, uint64_t bytes);

/* After a fork: counts are the parent's, the history stays. */
void distance_reset_counts(struct distance *distance);

/* Results; weighted counts. bins: DISTANCE_BINS each; stack untouched if not asked for. */
void distance_totals(const struct distance *distance, struct distance_totals *totals);
void distance_histograms(const struct distance *distance, double *time, double *stack);

/*
 * A few locations with most of the accesses are in the sample or not: their short distances are
 * estimated badly, the rest well. So what the estimate lacks of the true number of accesses is put
 * at the shortest distance (1 in time, 0 in stack), and what it has too much, lacking < 0, is taken from there
 * on. For units of which an access touches one: lines, but for accesses that straddle two.
 */
void distance_adjust(double *histogram, unsigned shortest, double lacking);

/* Merges the least until there are no more than `most` pairs, or those left have no coarser ids. Nothing without
   a bound. distance_merged: how many were. */
void distance_merge_pairs(struct distance *distance, uint64_t most);
uint64_t distance_merged(const struct distance *distance);
/* What is counted for (use, reuse): under coarser ids since pairs were merged, perhaps. NULL: nothing. */
const struct distance_pair *distance_pair_counted(const struct distance *distance, uint32_t use,
                                                  uint32_t reuse);

/* Next pair from *cursor (0 at first); NULL at the end. Order unspecified, each once. */
const struct distance_pair *distance_next_pair(const struct distance *distance, uint64_t *cursor);

/* A table could not grow: the figures stop there. */
bool distance_exhausted(const struct distance *distance);

bool distance_check(const struct distance *distance);

#endif
