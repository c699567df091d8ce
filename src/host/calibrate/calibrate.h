// SPDX-License-Identifier: MIT
/*
 * calibrate: the model of the machine that this runs on, measured without performance counters.
 *
 * Every instruction form that Zydis decodes and this processor executes is run as chains, each copy waiting for the one before, as
 * independent copies, and among copies of others that keep one resource busy. All are timed by the time stamp counter
 * against chains of one-cycle additions run before and after each: cycles are those of the core, whatever its frequency.
 * A measurement during which the frequency changed, the thread was preempted or moved, or something else used the
 * core's units, is repeated.
 *
 * What one form of many takes of a resource: copies of a *kernel* that keeps the resource busy all the time, with and without a few
 * copies of the form between them; the time that they add is what they take (after Derumigny et al., PALMED, CGO 2022; without
 * its linear programs, since every form is measured against every resource). Kernels are found: of some fifty
 * candidates and their mixtures those that no earlier one stands for.
 *
 * Runs in a child process pinned to a processor, which may fault at any form without harm. Not for threads of a process whose other
 * threads hold locks that fork cannot bear. Prints nothing.
 */
#ifndef HEADROOM_CALIBRATE_H
#define HEADROOM_CALIBRATE_H

#include "base/base.h"
#include "model/model.h"
#include "util/util.h"

struct calibrate_report {
    size_t forms;    /* that were tried */
    size_t measured; /* that have figures now */
    size_t kernels;  /* abstract resources */
    uint64_t bursts; /* timed */
    double alone;    /* share of the moments looked at in which nothing else used the core */
    size_t
        rough; /* forms with measurements that never were undisturbed for long enough: the best of what there was */
    double ticks; /* of the time stamp counter a cycle, mean */
    double seconds;
    int processor;
    bool
        shared; /* the core never did what such a processor does: something else used it all the time, figures are too high */
};

/*
 * Measures. quick: the forms of most code alone, which takes at most 3 s; else all, at most 45. step: called now and then with
 * the number of forms that are done, and of all; may be NULL. BASE_UNSUPPORTED, BASE_IO, BASE_NO_MEMORY: why has a sentence. *model: the
 * caller's, sealed, not kept yet.
 */
typedef void calibrate_step(void *context, size_t done, size_t total);
enum base_status calibrate(bool quick, calibrate_step *step, void *context, struct model **model,
                           struct calibrate_report *report, struct util_text *why);

/* The same for forms with these keys alone (NULL ends them), besides the machine, its resources and what these are found with; at most 12 s. */
enum base_status calibrate_some(const char *const *keys, struct model **model,
                                struct calibrate_report *report, struct util_text *why);

/* The kept model of this machine; if there is none the quick set is measured, and kept if that is possible. As above. */
enum base_status calibrate_here(calibrate_step *step, void *context, struct model **model,
                                struct util_text *why);

/* ---- the clock ---------------------------------------------------------------------------------- */

/* How long a cycle takes, in nanoseconds: median, and the tenths that are shortest and longest. */
struct calibrate_clock {
    double cycle_ns, low_ns, high_ns;
};

/* Now, on whichever processor the thread runs; takes some milliseconds. For any thread. */
void calibrate_clock(struct calibrate_clock *clock);
/* Of two moments: the time between them. */
void calibrate_clock_join(struct calibrate_clock *clock, const struct calibrate_clock *other);

/* ---- single blocks ----------------------------------------------------------------------------- */

/*
 * Cycles that one execution of a basic block takes, repeated back to back: in copies without a branch between, as many as the cache of
 * decoded instructions holds, and these in turns; or in a loop that the block's own last branch, or one added, closes. The block runs in a child with registers that point to
 * a page; pages that it asks for are mapped onto that one, so that every access hits the first-level cache. After Chen et al., BHive
 * (IISWC 2019), without counters.
 */
struct calibrate_block {
    const uint8_t *bytes;
    size_t count; /* 1 .. 2048 */
    bool loop;
    double cycles;    /* out: median of many measurements; 0: it cannot be measured */
    double low, high; /* out: their quartiles */
};

/* Measures all, in few child processes. BASE_UNSUPPORTED, BASE_IO, BASE_NO_MEMORY as above; blocks that fault have cycles 0. */
enum base_status calibrate_blocks(struct calibrate_block *blocks, size_t count,
                                  struct util_text *why);

#endif
