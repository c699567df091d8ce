// SPDX-License-Identifier: MIT
/*
 * shadow: exact detection of dead stores, silent stores and redundant loads, for
 * an engine that sees every access. The definitions are those of `detect`, applied to every byte
 * of every access instead of one byte of a sampled one (witch §6).
 *
 * For every byte of memory it keeps which access stored it last, whether it was loaded
 * since, which access loaded it last and what that load yielded. An *access id*
 * names an access in its calling context: one load or store instruction (one of its accesses) under
 * one chain of callers. Ids are given by the engine, from 1, and are dense; 0 is "no access
 * known": memory fresh from the kernel, or touched last by the kernel.
 *
 * Definitions, per byte b of an access T:
 *   dead:   T stores b, S stored b last, b was not loaded since: waste (S, T). T is the first
 *           load of b since S stored it: use (S, T).
 *   silent: T stores b, S stored b last: waste (S, T) if the group of b is unchanged, else use.
 *   load:   T loads b, L loaded b last: waste (L, T) if the group of b yields what L's load
 *           yielded, else use. Stores in between do not matter.
 * The *group* of b is what is compared as a whole: the bytes of T that lie in the same element of
 * the former access and have the same former access. Elements are aligned blocks of the former
 * access's element size (16 for x87's ten bytes). Floats within the tolerance of detect_same_value, if
 * the group is a whole element; bits otherwise. Two differences to `detect`, which looks at one byte of
 * one access: of an access that is not aligned to its element size the two parts are compared each for
 * itself, and where sizes mix only bytes whose former access is still the one in question belong
 * to the group. Former accesses are distinguished by id: what two executions of one instruction
 * left in one element is one group.
 * The kernel's accesses (reads and writes of system calls) are a T like others, but are never S
 * or L afterwards: the live engine cannot sample them either.
 *
 * A *location* is sixteen aligned bytes: the smallest unit that no group of bytes extends beyond, so that what is counted for one
 * does not depend on others. With a sample of locations, some of them are drawn. In many programs a few locations have most of the
 * accesses, and a single draw for the whole run would include them or not: so time is divided into epochs, each with a draw of its own.
 * Each location belongs to a *slot*, by a hash of its number in which every bit depends on every bit of the number, so that no stride
 * is favoured. In a *round*, a fixed number of epochs, each slot is drawn equally often, in random order: a location that does the same
 * all the time is counted as if it had always been followed, and one that is used in a single epoch with the probability of the share.
 * A pair is counted if its first access was in a location that was drawn at that time, whenever the second one comes. That has the
 * probability of the share, so that the sum of the counts divided by the share is unbiased, provided that epochs do not end because of
 * what was drawn.
 * To this end an access to a location that is not drawn leaves nothing behind, like the kernel's; it is followed as long as something
 * that was drawn earlier waits for it (*draining*). Whether bytes without a former access really had none is then not known: while
 * draining, bytes that have one are to be taken off the count of those without (taken_off), which makes that count, and the sum of all,
 * unbiased; it may be below zero (modulo 2^64).
 * Counts are kept apart by groups, to which slots belong in turn from round to round: the variance is estimated from their differences.
 *
 * Memory: 24 bytes per 8 bytes of touched memory at a fixed distance, so that no table is walked; 16 bytes more (for loads and
 * stores each) for every unit of four whose bytes have different former accesses, which are kept for later ones
 * of the same 64 MiB; 32 bytes a pair in a hash table, in front of which two small tables hold
 * what was met lately. Maps are reserved once and touched as needed.
 *
 * Freestanding; no locks: one struct shadow is used by one thread at a time.
 */
#ifndef HEADROOM_SHADOW_H
#define HEADROOM_SHADOW_H

#include "base/base.h"

enum {
    SHADOW_ID_BITS = 28,
    SHADOW_IDS_MAX = 0x0f000000,
    SHADOW_BYTES_MAX = 64,
};

/* Element of an access: its size in bytes (1, 2, 4, 8; float: 4, 8, 10), with SHADOW_FLOAT. */
enum { SHADOW_FLOAT = 0x80 };

/* Injected memory. */
struct shadow_memory {
    /* Zeroed pages, backed when touched (reserve) or a table soon used whole; NULL: none. */
    void *(*map)(void *context, size_t bytes, bool reserve);
    void (*unmap)(void *context, void *memory, size_t bytes);
    /* Makes the pages inside [start, start + bytes) zero again; may give their memory back. */
    void (*clear)(void *context, void *start, size_t bytes);
    void *context;
};

/*
 * Eight bytes of memory in two units of four, at base + address / 8 * 24. A unit's word: id of the last
 * store (load) of its bytes in the low 28 bits; from SHADOW_MIXED on: every byte has an id of its own in a cell,
 * whose number is the rest. Top 4 bits of `store`: bit i: byte i of the unit was stored and not loaded since.
 */
struct shadow_record {
    uint64_t loaded; /* what the last load of each byte yielded */
    uint32_t store[2];
    uint32_t load[2];
};
enum { SHADOW_MIXED = SHADOW_IDS_MAX };

/*
 * Cells of the mixed units, ids of four bytes each. Few units are mixed in most programs, but they lie all over their memory: so a cell
 * is taken when it is needed, from those of a region of memory, and given back at an access to all four bytes, or when they are
 * forgotten. A region has as many cells as units, and there are as many numbers, so that cells never run out.
 */
enum { SHADOW_REGION_SHIFT = 26, SHADOW_CELLED_SHIFT = 12 };
_Static_assert((UINT64_C(4) << SHADOW_ID_BITS) - UINT64_C(4) * SHADOW_MIXED ==
                   UINT64_C(1) << SHADOW_REGION_SHIFT,
               "as many numbers as units");
struct shadow_cells {
    uint32_t *ids;                 /* of a region: from the index that is its address on */
    struct shadow_region *regions; /* by address >> SHADOW_REGION_SHIFT */
};
/* Cells with numbers below `taken` were ever taken. free: 1 + number of one that was given back, 0: none; its first id is the next. */
struct shadow_region {
    uint32_t taken, free;
};

/*
 * Counts in bytes. (store, store): waste and use as silent stores, dead: dead stores' waste.
 * (load, load): waste and use as redundant loads. (store, load): dead: the use of stores. (0, id): waste
 * and use together are the bytes whose former access is not known. (first | SHADOW_NEAR, second): waste by the
 * tolerance only, which differs in bits; the pair without the mark has no part in it.
 */
struct shadow_pair {
    uint32_t second, first; /* ids; second 0: the slot is empty; first with SHADOW_NEAR perhaps */
    uint64_t waste, use;
    uint64_t dead;
};
enum { SHADOW_NEAR = 1 << SHADOW_ID_BITS };

/* The id without the mark and the group. */
static inline uint32_t shadow_first(const struct shadow_pair *pair)
{
    return pair->first & (SHADOW_NEAR - 1);
}

/* With a sample of locations a pair is counted by groups: one row for each, whose number is in the bits of `first` above the mark. */
enum {
    SHADOW_LOCATION_SHIFT = 4,
    SHADOW_GROUP_SHIFT = SHADOW_ID_BITS + 1,
    SHADOW_GROUPS = 8,
};
static inline uint32_t shadow_group(const struct shadow_pair *pair)
{
    return pair->first >> SHADOW_GROUP_SHIFT;
}

/*
 * Pairs met lately: sets of two, the later one first, in eight rows. Four MiB, of which a program uses as much as it has
 * ids. Those that had to make room wait a while.
 */
enum {
    SHADOW_SETS_BITS = 16,
    SHADOW_ROWS_BITS = 3,
    SHADOW_SETS = 1 << SHADOW_SETS_BITS,
    SHADOW_LEAVING = 16
};

/*
 * In front of them: counts by all that an access of an id found, so that one look says where a load is counted that is at once
 * the first one since a store. Sets of two, the later one first. Four MiB, likewise.
 * state: 0: no byte was unread; else SHADOW_UNREAD, of loads with the id that stored them.
 */
struct shadow_entry {
    uint32_t id, former; /* of the access, 0: empty; as `first` of a pair */
    uint32_t state;
    uint8_t element;   /* of the former access */
    bool intricate[3]; /* where 2, 4, 8 bytes differ, parts of elements must be looked at */
    uint64_t waste, use;
};
enum { SHADOW_ENTRIES = 1 << 16, SHADOW_SETTLING = 8 };

/*
 * A bound for the table of pairs. Where there are more the lightest are merged, half of them at a time: both their ids
 * are replaced by coarser ones, and what they counted is added there, so that sums over all pairs stay as they
 * are as long as a coarser id is of the same kind (load or store) and width. 0 has no coarser one, and an id
 * that is its own is never merged; there must be far fewer of these pairs than `most`.
 */
struct shadow_bound {
    uint64_t most; /* pairs; 0: no bound */
    uint32_t (*coarser)(void *context, uint32_t id);
    void *context;
    /* Some dozens of ids are soon to be asked for: what that reads may be prefetched. NULL: nothing is. */
    void (*foresee)(void *context, uint32_t id);
};

/*
 * Where waste is found, now and then: an observed access that wastes anything is shown with its address, before it is
 * counted. What its first byte and those of the same element are judged by is that of the counts, but for bytes that do not differ in
 * mixed units. Accesses are observed that follow a first appearance in the tables of what was met lately, and those that the caller
 * asks for: the later an appearance, the less likely, so that they take a bounded share of the time.
 */
enum shadow_kind { SHADOW_DEAD, SHADOW_SILENT, SHADOW_LOAD };
struct shadow_observer {
    void (*seen)(void *context, enum shadow_kind kind, uint32_t first, uint32_t second,
                 uint64_t address);
    void *context;
};

/*
 * What an access found, to be counted later, perhaps by another thread: as entries and pairs are, in the order in which it happened. Behind an
 * event of SHADOW_EVENT_PAIR stands, in the place of two more, a pair that is to be added.
 */
struct shadow_event {
    uint32_t former, id, state; /* as those of an entry */
    uint32_t what;              /* bytes * 2, 1 more if they differ */
};
enum { SHADOW_EVENT_PAIR = 0, SHADOW_EVENTS_AT_ONCE = 3 };

struct shadow {
    unsigned char *base; /* record of address 0 */
    struct shadow_cells loads, stores;
    uint8_t *celled;   /* by 4 KiB of memory: were cells taken there? */
    uint8_t *elements; /* by id: element of the access */
    struct shadow_entry (*entries)[2];
    struct shadow_pair (*lately)[2];
    struct shadow_pair leaving[SHADOW_LEAVING];
    struct shadow_entry settling[SHADOW_SETTLING]; /* that had to make room, likewise */
    uint32_t turn, settling_turn;
    struct shadow_pair *pairs; /* open addressing; complete after shadow_flush */
    uint64_t pairs_count, pairs_capacity;
    struct shadow_bound bound;
    uint64_t merged;        /* pairs that were */
    uint64_t address_limit; /* rounded up to a power of two */
    uint64_t misfit[4];     /* [log2 n]: bits no address of the inline path for n bytes has */
    uint32_t ids_capacity;
    float fp_tolerance;
    bool exhausted; /* a map was refused: nothing is counted any more */
    uint64_t
        outside; /* accesses, the kernel's among them, that were not counted: beyond address_limit */
    struct shadow_memory memory;
    struct shadow_observer observer;
    uint32_t observing;             /* accesses still to be observed */
    uint64_t appearances, observed; /* pairs to appear until the next is; how often that was */
    /* Counted later. events: where the next one is written, NULL: counted at once. */
    struct shadow_event *events, *events_end;
    void (*next_chunk)(struct shadow *shadow); /* there is no more room: sets both anew */
    uint8_t *executed;                         /* by id: how often, up to a few times */
    /* Of a sample; locations NULL: all are followed. handed: are loads, stores handed over? By what `locations` has. */
    uint16_t *locations; /* by number: slot, with what is awaited there; or SHADOW_UNKNOWN */
    uint8_t handed[2][1 << 10];
    uint32_t group;      /* of the location at hand, as in `first` */
    bool draining;       /* it is not drawn */
    uint64_t *taken_off; /* by id of an access: bytes, from the sum of (0, id) over all groups */
    uint32_t slots, epochs, width; /* slots, from 1 on; epochs of a round; slots drawn in each */
    uint32_t epoch;                /* of the round */
    uint64_t round, seed;
    uint16_t *order; /* first slot of those drawn in each epoch of the round; beyond slots: none */
};

/*
 * address_limit: of what is counted; shadow takes eleven times as much address space. ids_capacity <= SHADOW_IDS_MAX.
 * BASE_NO_MEMORY: address space was refused; nothing is kept.
 */
enum base_status shadow_init(struct shadow *shadow, uint64_t address_limit, uint32_t ids_capacity,
                             float fp_tolerance, const struct shadow_memory *memory);
void shadow_free(struct shadow *shadow);

/* To be called once for each id before its first access. An id is of loads or of stores, never
   of both: a system call that does both has two. */
static inline void shadow_define(struct shadow *shadow, uint32_t id, uint8_t element)
{
    shadow->elements[id] = element;
}

/*
 * One access, after it has executed. before: memory at the address before a store; value: memory
 * now (what a load yielded). Bytes beyond `bytes` in the 64-bit values are not looked at.
 * 1, 2, 4 and 8 bytes have their common cases inline (shadow/fast.h), equal to shadow_load and
 * shadow_store of the same bytes. Accesses at or beyond address_limit are counted in `outside` alone.
 */
void shadow_load(struct shadow *shadow, uint64_t address, uint32_t id, uint32_t bytes,
                 const uint8_t *value);
void shadow_store(struct shadow *shadow, uint64_t address, uint32_t id, uint32_t bytes,
                  const uint8_t *before, const uint8_t *value);

/* The kernel's access inside the system call that `id` names; any length. value: memory now;
   before: what it was, NULL if not known (then it is no silent store, nor not). */
void shadow_kernel_load(struct shadow *shadow, uint64_t address, uint32_t id, uint64_t bytes,
                        const uint8_t *value);
void shadow_kernel_store(struct shadow *shadow, uint64_t address, uint32_t id, uint64_t bytes,
                         const uint8_t *before, const uint8_t *value);

/* The memory is gone or new from the kernel. */
void shadow_forget(struct shadow *shadow, uint64_t address, uint64_t bytes);

/* To be called before the first access. */
void shadow_bound_pairs(struct shadow *shadow, const struct shadow_bound *bound);

/* To be called before the first access. */
void shadow_observe(struct shadow *shadow, const struct shadow_observer *observer);
/* The next accesses are observed, if there is an observer. */
void shadow_observe_next(struct shadow *shadow, uint32_t accesses);
/* What the table counts for (first, second), after shadow_flush: under coarser ids since pairs were merged, perhaps. NULL: nothing. */
const struct shadow_pair *shadow_pair_counted(const struct shadow *shadow, uint32_t first,
                                              uint32_t second);

/* Moves all counts to the pair table. */
void shadow_flush(struct shadow *shadow);

/* After shadow_flush: merges the lightest until there are no more than that, or those left have no coarser ids. Nothing
   without a bound. */
void shadow_merge_pairs(struct shadow *shadow, uint64_t most);

/*
 * From now on only a share of all locations, (0, 1], is followed at a time: the nearest one to *share that slots and epochs allow, to
 * which it is set. Another seed draws others. To be called before the first access. BASE_NO_MEMORY: address space was refused, all
 * are followed.
 */
enum {
    SHADOW_UNKNOWN = 0,
    SHADOW_SLOT = 0xff,
    SHADOW_AWAITS_LOAD = 0x100,
    SHADOW_AWAITS_STORE = 0x200
};
enum base_status shadow_sample(struct shadow *shadow, double *share, uint64_t seed);
/*
 * An access need not be handed over if all locations that it touches are left out: not drawn, and nothing that was drawn earlier waits
 * for a load, or for a store. The program's may be tested so; the kernel's, which are few, are all handed over. Every access that is handed over brings up to date what is known of the locations that it touches.
 */
static inline bool shadow_is_left_out(const struct shadow *shadow, uint64_t address, uint64_t bytes,
                                      bool store)
{
    uint64_t last = (address + bytes - 1) >> SHADOW_LOCATION_SHIFT;
    for (uint64_t at = address >> SHADOW_LOCATION_SHIFT; at <= last; at++)
        if (shadow->handed[store][shadow->locations[at]])
            return false;
    return true;
}
/* Another epoch begins. */
void shadow_next_epoch(struct shadow *shadow);
/* Is the location drawn in this epoch? */
bool shadow_is_drawn(const struct shadow *shadow, uint64_t address);
/* After shadow_flush: the rows of a pair become one, as without a sample. */
void shadow_join_groups(struct shadow *shadow);

/* ---- counting later ------------------------------------------------------------------------ */

/*
 * From now on events are written instead of counted; to be called before the first access. Then accesses of 1, 2, 4 and 8 bytes may, and need
 * not, take the paths of shadow_load_later and shadow_store_later. Room for SHADOW_EVENTS_AT_ONCE must be left behind `end`. What is observed
 * follows the first executions of an id instead of the first appearance of a pair. BASE_NO_MEMORY: nothing has happened.
 */
enum base_status shadow_count_later(struct shadow *shadow, struct shadow_event *events,
                                    struct shadow_event *end,
                                    void (*next_chunk)(struct shadow *shadow));
/*
 * A counter of what `shadow` writes: with the same ids and counts of its own, without memory of accesses, observer and bound. Several may
 * count at the same time, also while events are written. BASE_NO_MEMORY: nothing is kept.
 */
enum base_status shadow_counter(struct shadow *counter, const struct shadow *shadow);
void shadow_counter_free(struct shadow *counter);
/* Counts the events whose ids are in one of so many parts, at most SHADOW_PARTS_MAX. All ids that share a set are in the same part, so that what
   happens to a set does not depend on the number of parts. */
enum { SHADOW_PARTS_MAX = 64 };
void shadow_count(struct shadow *counter, const struct shadow_event *events, uint32_t count,
                  uint32_t part, uint32_t parts);
/* Moves what was counted to `shadow`. */
void shadow_gather(struct shadow *shadow, struct shadow *counter);
/* After shadow_flush: puts the table into an order that only depends on what is in it. */
void shadow_order_pairs(struct shadow *shadow);

/* After a fork: what was counted is the parent's. Memory of what happened stays. */
void shadow_reset_counts(struct shadow *shadow);

/* True if pairs and records are consistent in [start, end), and no cell of a region that lies in it is lost: for tests. */
bool shadow_check(const struct shadow *shadow, uint64_t start, uint64_t end);

#endif
