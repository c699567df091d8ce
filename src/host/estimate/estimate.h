// SPDX-License-Identifier: MIT
/*
 * estimate: what live recordings of reuse have to be estimated from single samples: distances in accesses, of which only
 * times are known, and those only where a watchpoint was not lost; how many accesses and locations there are. Steps, in
 * the order in which estimate_process takes them:
 *
 *   survival.c   watches that were lost are censored lifetimes: what do the others stand for?
 *   watches.c    the same for all contexts of a process, each by itself as far as it can
 *   delivery.c   a measured time less what traps add to it
 *   pace.c       accesses in a nanosecond, with an interval
 *   intervals.c  distances known only to lie between two others
 *   process.c    histogram, accesses, locations and distances of pairs of a process
 *
 * Stack distances and miss ratios are `mrc`'s, which takes what the exact engine has counted as well. Pure functions but
 * for the memory they take; any thread. Preconditions are asserted.
 */
#ifndef HEADROOM_ESTIMATE_H
#define HEADROOM_ESTIMATE_H

#include "distance/distance.h"
#include "mrc/mrc.h"
#include "wire/wire.h"

/* ---- what was sampled ------------------------------------------------------------------------- */

/* Where samples of kind reuse were taken; sums of their weights. */
struct estimate_use {
    uint32_t process, node;
    uint64_t samples;
    double watchable; /* not foreseen: those were offered to the registers */
    double density;   /* Σ accesses per instruction, of the `dense` samples that know it */
    uint64_t dense;
};

/* A sample that was foreseen or watched: struct wire_reuse. */
struct estimate_watch {
    uint32_t use;    /* index into uses */
    uint32_t reuse;  /* node; 0: none */
    uint32_t thread; /* the caller's number of it, into `costs` */
    uint32_t flags, waited, traps;
    float weight, entry, chance;
    uint64_t elapsed_ns, accesses;
};

/* What one trap cost: struct wire_sample.trap_ns. */
struct estimate_delivery {
    uint32_t thread, ns;
};

/* By process and node, as the uses of a process must be. */
int estimate_compare_uses(const void *left, const void *right);

/* ---- survival.c: what each watch of a context stands for ------------------------------------------ */

/*
 * How many samples does each trap stand for, knowing also the watches that were lost?
 * Sums of 1 / chance scatter, because one late trap stands for thousands; sharing out
 * a context's samples among its own traps tames that, but where it had no late trap by chance, and that is
 * the rule when a late trap is one in thousands, all samples go to the soon ones: more samples do
 * not help.
 * Lost watches show what is missing: at each age how many samples still wait. So this
 * is an estimate of lifetimes under censoring (Kaplan and Meier 1958; with several outcomes Aalen and
 * Johansen 1978): of the samples of a context that reach an age, the share that trap there is
 * that of its watches, each for 1 / chance. At ages where no watch of the context was left,
 * all contexts' watches say how many samples trap; what they find there is taken to be as in the
 * context's own traps. Between the two a context's own word counts as the number of its
 * watches to one.
 *
 * Ages are in samples taken while the watch was armed, since only these make watches lost. All
 * watches of one call are of one kind.
 */
struct estimate_life {
    uint32_t waited;
    bool trapped;        /* with a verdict; else lost, or armed at the end */
    float weight;        /* of the sample */
    float samples;       /* if trapped: of the finding */
    float entry, chance; /* 0 < chance <= entry <= 1 */
};

/* Ages below 8 each, then four an octave. */
enum { ESTIMATE_AGES = 8 + 29 * 4 };
static inline unsigned estimate_age(uint32_t waited)
{
    if (waited < 8)
        return waited;
    unsigned octave = 31U - (unsigned)__builtin_clz(waited);
    return (octave - 1) * 4 + (waited >> (octave - 2) & 3);
}

/* By age: watches that reached it; those and the traps in it, each for weight / chance. Zeroed
   memory is the empty set. */
struct estimate_life_table {
    double watched[ESTIMATE_AGES], waiting[ESTIMATE_AGES], trapped[ESTIMATE_AGES];
};
void estimate_life_table_add(struct estimate_life_table *ages, const struct estimate_life *watch);

/*
 * watches: of one context; sampled: the weight of all its samples. all: of all contexts' watches.
 * Fills amounts[i], 0 for a watch that was lost. What had to be assumed goes by age to
 * assumed[ESTIMATE_AGES], or if that is NULL to the context's traps in proportion to their
 * `samples`, nowhere without any. The sum is never more than `sampled`; what it lacks is
 * the samples that never trap.
 */
void estimate_survival(const struct estimate_life_table *all, const struct estimate_life *watches,
                       size_t count, double sampled, double *amounts, double *assumed);

/* ---- delivery.c: what a trap adds to a measured time ------------------------------------------ */

struct estimate_cost {
    double ns;       /* of one delivery, the median */
    double floor_ns; /* three robust standard deviations: shorter times are not distinguished */
};

/* values is reordered. All 0 without any. */
struct estimate_cost estimate_cost(uint32_t *values, size_t count);

/* A time between use and reuse that contains `traps` deliveries. */
struct estimate_time {
    double ns;       /* without them, >= 0 */
    double floor_ns; /* for that many */
    bool resolved;   /* ns is above the floor */
};
struct estimate_time estimate_time(const struct estimate_cost *cost, uint64_t elapsed_ns,
                                   uint32_t traps);

/* ---- pace.c: accesses in a nanosecond ---------------------------------------------------------- */

struct estimate_pace {
    double accesses_per_ns, low, high; /* 0 < low <= accesses_per_ns <= high; 90 % */
    char calibration[80];              /* where it comes from */
};

/* density: accesses per instruction, mean over the samples; 0: unknown. far: share of the accesses whose
   reuse is far in time (ESTIMATE_FAR_NS). given: by the user; 0: not. */
enum {
    ESTIMATE_FAR_NS = 10000
}; /* some ten thousand accesses: beyond what first-level caches hold */
void estimate_pace(double density, double far, double given, struct estimate_pace *pace);

struct estimate_pace_program {
    const char *name;
    double accesses, instructions; /* in a nanosecond of CPU time */
};
extern const struct estimate_pace_program estimate_pace_programs[];
extern const size_t estimate_pace_programs_count;
extern const double
    estimate_pace_machines; /* standard deviation of the logarithm between machines */

/* From at least 6 measured programs; spread: standard deviation of the logarithm that the
   programs do not show. Calibration is left alone. */
void estimate_pace_of(const struct estimate_pace_program *programs, size_t count, double density,
                      double spread, struct estimate_pace *pace);

/* ---- watches.c: what each watch stands for --------------------------------------------------- */

/*
 * uses: of one process; watches: theirs, in the order of the uses, each group ascending by
 * `use`, which is first_use for uses[0]. amounts[i]: weight of the samples that watch i stands for in
 * the histogram of the process; own[i]: of the samples of its own context, for pairs. Foreseen ones stand for
 * themselves; an OPEN watch stands for samples that are not reused. What both sums lack
 * of the sampled weight is not reused either: never[u] is that of use u. False: no memory.
 */
bool estimate_amounts(const struct estimate_use *uses, size_t uses_count, uint32_t first_use,
                      const struct estimate_watch *watches, size_t count, double *amounts,
                      double *own, double *never);

/* Was the sample found to be reused, by looking ahead or by a trap? */
static inline bool estimate_is_reused(const struct estimate_watch *watch)
{
    return !(watch->flags & (WIRE_REUSE_LOST | WIRE_REUSE_OPEN));
}

/* ---- intervals.c: distances known only to lie between two others -------------------------------- */

struct estimate_interval {
    uint32_t first, end; /* bins first .. end - 1, first < end */
    double weight;
};

/*
 * histogram: by distance_bin, of the distances that are known. Adds the intervals' weights; what is known
 * inside an interval shows how they are distributed there.
 */
void estimate_spread(double *histogram, const struct estimate_interval *intervals, size_t count);

/* Mean distance within the interval by the histogram. */
double estimate_interval_mean(const double *histogram, uint32_t first, uint32_t end);

/* ---- process.c: a process ----------------------------------------------------------------------- */

/* The upper part is the caller's, the lower one what comes of it. */
struct estimate {
    const struct estimate_cost *costs; /* by thread */
    struct estimate_cost cost;         /* of the recording */
    double given;                      /* pace by the user, or 0 */
    double resident; /* locations that a process ever had at a time at most; 0: not known */
    bool clocked;    /* ticks come by time, not after so many accesses */
    uint32_t process, first_use;
    const struct estimate_use *uses;
    size_t uses_count;
    const struct estimate_watch *watches; /* in the order of the uses */
    size_t count;
    double program_ns;             /* CPU time of the program itself */
    double ticked_accesses;        /* where ticks come after so many accesses: how many; else 0 */
    double *amounts, *own, *never; /* room: estimate_amounts */
    struct estimate_interval *intervals; /* room for as many as watches */

    size_t intervals_count;
    bool counted; /* accesses are known, not only times */
    struct estimate_pace pace;
    double sampled;                /* weight of all samples */
    double near[DISTANCE_BINS];    /* by accesses: foreseen, and too short to be timed */
    double far[DISTANCE_BINS];     /* by accesses: others */
    double elapsed[DISTANCE_BINS]; /* the others' by ns */
    double time[DISTANCE_BINS];    /* near and far */
    double accesses, locations, once, effective;
    double scale, bin_scale; /* from weights of samples to accesses; of reuses in a histogram */
    struct mrc_curve curve;
};

/* False: no memory. Nothing to be said if `sampled` is 0. */
bool estimate_process(struct estimate *estimate);

/* After it, of a watch that is reused: distances to the reuse. */
void estimate_distances(const struct estimate *estimate, const struct estimate_watch *watch,
                        double *time, double *stack);

#endif
