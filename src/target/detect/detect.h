// SPDX-License-Identifier: MIT
/*
 * detect: samplers and detectors of wasted accesses as pure state machines.
 * Debug registers, the clock and randomness are injected; nothing here knows
 * signals, perf events or Valgrind. The same code serves the live agent, the
 * exact engine's simulated sampler, and replay.
 *
 * Sources: witch §4.1 (reservoir), §4.2 (proportional attribution), §6 (the
 * three detectors); rdx §4 (one replacement probability per register; the order
 * of visiting them is ours, see detect.c).
 *
 * Freestanding, async-signal-safe; no function allocates or fails but by its result. One struct detect
 * belongs to one thread; hooks are called in that thread, from detect_take, detect_touched and
 * detect_abandon, and must call none of these. Widths are in bytes, weights and attributions in
 * samples, chances are probabilities.
 */
#ifndef HEADROOM_DETECT_H
#define HEADROOM_DETECT_H

#include "base/base.h"

/* DETECT_REUSE judges nothing: the next touch of any sort ends the watch, as a USE. */
enum detect_kind { DETECT_DEAD, DETECT_SILENT, DETECT_LOAD, DETECT_REUSE, DETECT_KINDS };

enum { DETECT_MAX_REGISTERS = 4, DETECT_MAX_BYTES = 64, DETECT_ANY_REGISTER = 0xff };

enum detect_direction { DETECT_LOADS = 1, DETECT_STORES = 2 }; /* same bits as isa_direction */

/* What kind of access a kind samples, and on what its watchpoint must fire. */
struct detect_kind_info {
    const char *name; /* "dead", "silent", "load", "reuse": as options and reports call it */
    uint8_t samples;  /* DETECT_LOADS, DETECT_STORES, or both */
    uint8_t watches;  /* DETECT_STORES, or both */
};
extern const struct detect_kind_info detect_kinds[DETECT_KINDS];

/*
 * Sample counts of one calling context, per kind. Lives in the caller's context
 * tree; zeroed memory is the initial state.
 *
 * The paper keeps two growing counts, µ (sampled) and η (attributed), and uses
 * only µ − η. Kept is the difference: two floats near 10^7 could not hold it, one
 * small float is exact, and it saves twelve bytes a node. A context
 * whose samples never trap stops counting at 2^24 of them.
 */
struct detect_context {
    float pending[DETECT_KINDS]; /* µ − η: weight sampled here, not yet handed to a pair */
    uint8_t armed[DETECT_KINDS]; /* watchpoints set here that are armed now */
};

/* A sampled access, after it has executed. */
struct detect_sample {
    uint8_t kind; /* enum detect_kind */
    uint8_t element_is_float;
    uint8_t element_bytes;           /* 1..16, divides bytes */
    uint64_t address;                /* first byte */
    uint32_t bytes;                  /* 1..DETECT_MAX_BYTES */
    uint64_t watched;                /* the byte to watch, in [address, address + bytes) */
    float weight;                    /* samples this one stands for, normally 1 */
    uint32_t context_id;             /* the caller's name for the calling context */
    struct detect_context *context;  /* must stay valid as long as the watchpoint is armed */
    uint8_t value[DETECT_MAX_BYTES]; /* memory at address after the access */
    bool modifies;                   /* DETECT_LOAD: the access also stores (add to memory, xchg) */
    uint8_t loaded[DETECT_MAX_BYTES]; /* if modifies: memory before the access, i.e. what it
                                        loaded; else not read */
};

/* A later access that touched a watched byte, after it has executed. */
struct detect_touch {
    uint8_t direction; /* DETECT_LOADS | DETECT_STORES */
    bool range_known;  /* address and bytes below are meaningful */
    uint64_t address;
    uint32_t bytes;
    const uint8_t *value; /* memory now at the *sampled* address, sampled width; only
                                        needed for silent stores and redundant loads. NULL
                                        (unreadable) says nothing: the touch is ignored */
};

enum detect_verdict { DETECT_IGNORED, DETECT_USE, DETECT_WASTE };

/*
 * What a trap stands for; add it to the pair (watch context, trap context).
 *
 * samples is the paper's attribution. It is right where all accesses of a context
 * behave alike; where some are touched again soon and others late, the late ones
 * are replaced more often, and their share goes to the soon ones. Summing 1 / chance instead
 * (Horvitz and Thompson 1952) is right for any mix but scatters more; best of
 * both is to share the sum of samples of a watch context among its traps in
 * proportion to 1 / chance.
 */
struct detect_finding {
    uint8_t kind;
    uint8_t verdict;     /* DETECT_USE or DETECT_WASTE */
    bool near;           /* waste by the floating-point tolerance only */
    uint32_t context_id; /* where the watchpoint was set */
    uint32_t bytes;      /* width of the sampled access */
    float samples;       /* µ − η, shared among the armed watchpoints of that context */
    float weight;        /* of the sample itself */
    float chance;        /* probability that this sample would be watched until now, 0..1 */
    float entry;         /* the same when it was armed: chance <= entry */
    uint32_t waited;     /* samples of all kinds taken since then */
};

/* A watch that ended without a verdict, because it was replaced or given up. It shows how long
   samples of its context wait at least: see estimate/estimate.h. */
struct detect_lost {
    uint8_t kind;
    uint32_t context_id;
    float weight, entry, chance; /* as of a finding */
    uint32_t waited;
};

/* Injected machine. arm and disarm are called with a register index. */
struct detect_hooks {
    /* Starts to watch; false if impossible (the sample then counts as unarmed). */
    bool (*arm)(void *machine, unsigned index, const struct detect_sample *sample);
    /* Stops. Called exactly once for every successful arm. */
    void (*disarm)(void *machine, unsigned index);
    /* Uniform in [0, bound). */
    uint64_t (*random_below)(void *machine, uint64_t bound);
    void *machine;
    /* A watch is lost; called before its disarm. NULL: no one wants to know. */
    void (*lost)(void *machine, unsigned index, const struct detect_lost *lost);
};

struct detect_counts {
    uint64_t samples[DETECT_KINDS];       /* offered */
    uint64_t armed[DETECT_KINDS];         /* of these, ever put into a register */
    uint64_t traps[DETECT_KINDS];         /* touches with a verdict USE or WASTE */
    uint64_t ignored[DETECT_KINDS];       /* touches that said nothing (loads: a store) */
    uint64_t evicted[DETECT_KINDS];       /* watchpoints replaced before a verdict */
    uint64_t abandoned[DETECT_KINDS];     /* given up after too many ignored touches */
    uint64_t blind_longest[DETECT_KINDS]; /* most consecutive samples that were not armed
                                             (witch §4.1 blind spot) */
};

/* Planted faults, for tests only; 0 is the real thing. */
enum detect_fault {
    DETECT_SOUND,
    DETECT_REPLACE_OLDEST,
    DETECT_COIN_FLIP,
    DETECT_NO_ATTRIBUTION,
};

/*
 * Whom does a sample replace when all registers are busy? In a reservoir (witch, rdx) a watch is
 * replaced with chance 1 / k by the k-th sample since its register was free. So a stretch of samples
 * that never trap, such as a big table being filled, blocks a register for about as long again: k is large, and
 * of what comes afterwards nothing is watched. With renewal k counts from the arming of the
 * watch that would be replaced: the same long waits are possible, and nothing is remembered of
 * what was before. Over n samples that never trap a reservoir arms about ln n, renewal n / ln n.
 */
enum detect_policy { DETECT_RESERVOIR, DETECT_RENEWAL };

struct detect_options {
    uint8_t kinds;          /* bit k: detect_kind k is observed */
    uint8_t registers;      /* 1..DETECT_MAX_REGISTERS usable for watching */
    float fp_tolerance;     /* relative, e.g. 0.01; 0 compares bits */
    uint32_t ignored_limit; /* a watchpoint is abandoned at that many ignored touches; 0:
                                 at the first */
    uint8_t fault;          /* enum detect_fault */
    uint8_t policy;         /* enum detect_policy */
};

struct detect_register {
    bool busy;
    uint8_t kinds;    /* bit k: kind k may use this register */
    uint32_t offered; /* k: samples offered here since it was free, or with renewal
                                 since the watch was armed */
    uint32_t ignored;
    bool last_known;
    float chance;      /* probability that the sample got here and is still watched */
    float entry;       /* the same when it was armed */
    uint64_t armed_at; /* serial of the sample */
    struct detect_sample sample;
    uint8_t last[DETECT_MAX_BYTES]; /* if last_known: memory after the last touch seen */
};

struct detect {
    struct detect_options options;
    struct detect_hooks hooks;
    struct detect_counts counts;
    uint64_t blind_now[DETECT_KINDS];
    uint64_t serial;
    struct detect_register registers[DETECT_MAX_REGISTERS];
};

/*
 * Registers are shared fairly: with as many registers as kinds each kind owns
 * one and the rest are open to all; with fewer all are open to all. Within the
 * registers open to a kind every sample since the last free one has the same
 * chance to be watched. Weights count for attribution only: a sample that
 * stands for more has no better chance.
 */
void detect_init(struct detect *detect, const struct detect_options *options,
                 const struct detect_hooks *hooks);

/*
 * Other kinds, registers and policy from here on; counts go on. No register is busy: whoever changes what
 * is asked gives up what is watched.
 */
void detect_assign(struct detect *detect, uint8_t kinds, uint8_t registers, uint8_t policy);

/*
 * Takes a sample: adds its weight to its context's pending, decides by reservoir
 * whether it is watched, evicts and arms accordingly. Returns the register
 * index, or -1 if it is not watched.
 */
int detect_take(struct detect *detect, const struct detect_sample *sample);

/*
 * A watched byte was touched. For USE and WASTE fills finding, disarms and frees
 * the register; IGNORED leaves it armed (or abandons it, see ignored_limit).
 * index must be a busy register.
 */
enum detect_verdict detect_touched(struct detect *detect, unsigned index,
                                   const struct detect_touch *touch,
                                   struct detect_finding *finding);

/*
 * Takes a sample together with the next touch that its watchpoint would have answered, which is known already.
 * It counts as one that was armed and touched at once, but needs no register, and reservoirs do not see it.
 * touch->value: as the register would have found it; of a load, what it loaded. IGNORED: the touch says nothing;
 * nothing was taken then. Not for DETECT_REUSE.
 */
enum detect_verdict detect_foreseen(struct detect *detect, const struct detect_sample *sample,
                                    const struct detect_touch *touch,
                                    struct detect_finding *finding);

/* Gives a register up without a verdict (fork, exec, ambiguous trap). */
void detect_abandon(struct detect *detect, unsigned index);

/*
 * The value test: are the elements of [address, address+bytes) that overlap
 * `touch` and share the element of the watched byte unchanged? Integers: the whole
 * overlap bit for bit; vectors: the element that holds the watched byte; floats
 * within the tolerance (relative to the larger magnitude; NaN equals NaN). A touch of
 * unknown range is taken to cover that whole element; part of a float, and
 * floats other than binary32, binary64 and x87's, are compared bit for bit.
 * before->value is compared with now.
 */
enum detect_equality {
    DETECT_CHANGED,
    DETECT_NEAR, /* within the tolerance only: bits differ */
    DETECT_EQUAL,
};
enum detect_equality detect_compare_values(const struct detect_sample *before, const uint8_t *now,
                                           const struct detect_touch *touch, float fp_tolerance);
bool detect_same_value(const struct detect_sample *before, const uint8_t *now,
                       const struct detect_touch *touch, float fp_tolerance);

#endif
