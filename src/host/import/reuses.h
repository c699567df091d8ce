// SPDX-License-Identifier: MIT
/*
 * Private to import: what live recordings of reuse have to be estimated from. Pure functions but for
 * the memory they take; each file says how.
 */
#ifndef HEADROOM_IMPORT_REUSES_H
#define HEADROOM_IMPORT_REUSES_H

#include "import/internal.h"

/* ---- delivery.c: what a trap adds to a measured time ------------------------------------------ */

struct import_cost {
    double ns;       /* of one delivery, the median                                     */
    double floor_ns; /* three robust standard deviations: shorter times are not distinguished */
};

/* values is reordered. All 0 without any. */
struct import_cost import_cost(uint32_t *values, size_t count);

/* A time between use and reuse that contains `traps` deliveries. */
struct import_time {
    double ns;       /* without them, >= 0                 */
    double floor_ns; /* for that many                      */
    bool resolved;   /* ns is above the floor              */
};
struct import_time import_time(const struct import_cost *cost, uint64_t elapsed_ns, uint32_t traps);

/* ---- pace.c: accesses in a nanosecond ---------------------------------------------------------- */

struct import_pace {
    double accesses_per_ns, low, high; /* 0 < low <= accesses_per_ns <= high; 90 % */
    char calibration[80];              /* where it comes from                      */
};

/* density: accesses per instruction, mean over the samples; 0: unknown. far: share of the accesses whose
   reuse is far in time (IMPORT_FAR_NS). given: by the user; 0: not. */
enum { IMPORT_FAR_NS = 10000 }; /* some ten thousand accesses: beyond what first-level caches hold */
void import_pace(double density, double far, double given, struct import_pace *pace);

struct import_pace_program {
    const char *name;
    double accesses, instructions; /* in a nanosecond of CPU time */
};
extern const struct import_pace_program import_pace_programs[];
extern const size_t import_pace_programs_count;
extern const double import_pace_machines; /* standard deviation of the logarithm between machines */

/* From at least 6 measured programs; spread: standard deviation of the logarithm that the
   programs do not show. Calibration is left alone. */
void import_pace_of(const struct import_pace_program *programs, size_t count, double density,
                    double spread, struct import_pace *pace);

/* ---- lifetimes.c: what each watch stands for --------------------------------------------------- */

/*
 * uses: of one process; watches: theirs, in the order of the uses, each group ascending by
 * `use`, which is first_use for uses[0]. amounts[i]: weight of the samples that watch i stands for in
 * the histogram of the process; own[i]: of the samples of its own context, for pairs. Foreseen ones stand for
 * themselves; an OPEN watch stands for samples that are not reused. What both sums lack
 * of the sampled weight is not reused either: never[u] is that of use u. False: no memory.
 */
bool import_settle(const struct import_use *uses, size_t uses_count, uint32_t first_use,
                   const struct import_watch *watches, size_t count, double *amounts, double *own,
                   double *never);

/* Was the sample found to be reused, by looking ahead or by a trap? */
static inline bool import_is_reused(const struct import_watch *watch)
{
    return !(watch->flags & (WIRE_REUSE_LOST | WIRE_REUSE_OPEN));
}

/* ---- intervals.c: distances known only to lie between two others -------------------------------- */

struct import_interval {
    uint32_t first, end; /* bins first .. end - 1, first < end */
    double weight;
};

/*
 * histogram: by distance_bin, of the distances that are known. Adds the intervals' weights; what is known
 * inside an interval tells how they are distributed there.
 */
void import_spread(double *histogram, const struct import_interval *intervals, size_t count);

/* Mean distance within the interval by the histogram. */
double import_interval_mean(const double *histogram, uint32_t first, uint32_t end);

#endif
