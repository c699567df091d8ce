// SPDX-License-Identifier: MIT
/*
 * The optimistic schedule of a loop (Touati, MHAOTEU report 1.1, part III, 2.2: instop): its iterations one behind the other,
 * completely unrolled, each operation as soon as its inputs are there and a unit that can do it has room, in the order of the
 * program (list scheduling).
 *
 * Three machines. Data flow: no limits but dependences. Infinite window: the model's units, and all iterations in sight from the
 * first cycle on, which is the paper's. Machine: also the width of the front end, taken branches and the reorder buffer, from
 * which instructions retire in order.
 *
 * Dependences and latencies are those of the predicted recurrence (proven dependences; least latencies, but through memory what is
 * predicted), and units have no more than a cycle's work done in a cycle: so no schedule is shorter than the certified bound says. The
 * machine's may be longer than what a processor needs: units are chosen as each operation comes, not for the best of all.
 *
 * Not seen: what bounds.h does not see; branches wait for nothing and nothing waits for them; how many instructions retire a
 * cycle; schedulers smaller than the reorder buffer. All accesses hit the first-level cache.
 *
 * Pure, as bounds.h. Times are thousandths of a cycle from the beginning.
 */
#ifndef HEADROOM_BOUNDS_SCHEDULE_H
#define HEADROOM_BOUNDS_SCHEDULE_H

#include "bounds/bounds.h"

enum schedule_kind { SCHEDULE_DATA_FLOW, SCHEDULE_INFINITE, SCHEDULE_MACHINE, SCHEDULE_KINDS };

enum {
    SCHEDULE_ITERATIONS_MAX = 10000,
    SCHEDULE_OPERATIONS_MAX = 1 << 20, /* of all iterations; more: fewer iterations are made */
};

/* One execution of one vertex of the dependence graph, in order of the program. */
struct schedule_operation {
    int64_t start, end; /* given to a unit; its result is there */
    int64_t waited;     /* of start: for a unit, after its inputs were there */
    uint32_t
        before; /* operation that it waited for; BOUNDS_NONE: for none, but to enter the window */
    uint32_t vertex, iteration;
    uint8_t unit; /* the model's, the first of those it uses; SCHEDULE_NO_UNIT */
};
enum { SCHEDULE_NO_UNIT = 255 };

struct schedule {
    uint32_t iterations;
    double cycles;    /* until the last result of the last iteration is there */
    double iteration; /* cycles, over the second half of the iterations */
    struct schedule_operation *operations; /* iterations times vertices */
    size_t operation_count;
    double work[MODEL_UNITS_MAX]; /* cycles that units were busy, of all iterations */
    /* The critical path, back from the last result: cycles of all iterations that it spends in each instruction, in waiting for units
       and in waiting for the front end; and how often an instruction on it could enter when another one retired. */
    double *path; /* by instruction */
    double path_units, path_front_end, path_buffer;
};

/* bounds: of the block, with its graph. taken: as options of bounds_of. BASE_NO_MEMORY; BASE_NOT_FOUND: the block is empty. To be ended
   with schedule_free. */
enum base_status schedule_of(const struct bounds_block *block, const struct bounds *bounds,
                             const struct model *model, const struct bounds_options *options,
                             enum schedule_kind kind, uint32_t iterations,
                             struct schedule *schedule);
void schedule_free(struct schedule *schedule);

/* All three, as text: how long they take, use of the units, what the critical path consists of, and the machine's first
   iterations cycle by cycle. False: no memory. */
bool schedule_print(const struct bounds_block *block, const struct bounds *bounds,
                    const struct model *model, const struct bounds_options *options,
                    uint32_t iterations, bounds_place *place, void *context,
                    struct util_text *text);

#endif
