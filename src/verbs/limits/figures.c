// SPDX-License-Identifier: MIT
/* Loops with their rows, and which bound is reached. */
#include "limits/internal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

const char *const limits_bound_names[] = {"resource", "recurrence", "frontend", "memory"};
const char *const limits_bound_words[] = {"its units", "its recurrence", "the front end",
                                          "something that the bounds do not see"};

const char *const limits_memory_names[] = {"uniform", "compulsory", "caches", "reuse"};

static double bound_of(const struct profile_limit_loop *row, uint32_t bound)
{
    return bound == LIMITS_RESOURCE     ? row->resource
           : bound == LIMITS_RECURRENCE ? row->recurrence
                                        : row->frontend;
}

/* Which samples hit the loop is chance, how many there are is not, but for one of them; how long a cycle took while the program ran is
   known from before and after. */
static double error_of(const struct profile *profile, const struct profile_limit_loop *row)
{
    double ticks = 0, clock = profile->limit_runs_count ? profile->limit_runs[0].cycle_spread : 0;
    for (size_t i = 0; i < profile->times_count; i++)
        ticks += (double)profile->times[i].ticks;
    double samples = ticks * row->share;
    return samples > 0 ? sqrt(1.96 * 1.96 * fmax(0, 1 - row->share) / samples +
                              1 / samples / samples + clock * clock)
                       : 0;
}

/* Trials of the same loop, if its gap is known. */
static const struct profile_ceiling_loop *ceiling_of(const struct profile *profile,
                                                     const struct profile_limit_loop *row)
{
    for (size_t i = 0; row->module && i < profile->ceiling_loops_count; i++) {
        const struct profile_ceiling_loop *tried = &profile->ceiling_loops[i];
        if (tried->address == row->address && strcmp(tried->module, row->module) == 0 &&
            profile_ceiling_known(tried) && tried->cycles > 0)
            return tried;
    }
    return NULL;
}

static void judge(const struct profile *profile, struct limits_loop *loop)
{
    const struct profile_limit_loop *row = loop->row;
    loop->error = row->measured >= 0 ? error_of(profile, row) : 0;
    loop->limit = (enum limits_bound)row->limit;
    loop->next_cycles = bound_of(row, row->next);
    if (row->measured * (1 - loop->error) > LIMITS_UNEXPLAINED * row->predicted &&
        row->predicted > 0) {
        loop->limit = LIMITS_MEMORY;
        loop->next_cycles = row->predicted;
    }
    loop->ceiling = ceiling_of(profile, row);
    if (limits_misses(loop)) {
        loop->limit = LIMITS_MEMORY;
        loop->next_cycles = loop->ceiling->l1_cycles;
    }
}

bool limits_misses(const struct limits_loop *loop)
{
    return loop->ceiling && loop->ceiling->trials >= PROFILE_CEILING_TRIALS_FEW &&
           loop->ceiling->cycles > LIMITS_UNEXPLAINED * loop->ceiling->l1_cycles;
}

/* Rows are grouped by loop, ascending: *at moves on to behind those of the loop. */
#define ROWS_OF(rows, count, wanted, at, first, number)                                            \
    do {                                                                                           \
        while (*(at) < (count) && (rows)[*(at)].loop < (wanted))                                   \
            ++*(at);                                                                               \
        (first) = *(at) < (count) ? (rows) + *(at) : NULL;                                         \
        for ((number) = 0; *(at) < (count) && (rows)[*(at)].loop == (wanted); ++*(at))             \
            (number)++;                                                                            \
    } while (0)

struct limits_report *limits_report_make(const struct profile *profile)
{
    struct limits_report *report = calloc(1, sizeof *report);
    size_t instructions = 0, resources = 0, arcs = 0, schedules = 0, uses = 0, operations = 0;
    size_t matches = 0, fates = 0;
    if (!report)
        return NULL;
    report->profile = profile;
    report->loops = calloc(profile->limit_loops_count + 1, sizeof *report->loops);
    if (!report->loops) {
        free(report);
        return NULL;
    }
    for (uint32_t i = 0; i < profile->limit_loops_count; i++) {
        struct limits_loop *loop = &report->loops[report->count++];
        loop->row = &profile->limit_loops[i];
        loop->number = report->count;
        ROWS_OF(profile->limit_instructions, profile->limit_instructions_count, i, &instructions,
                loop->instructions, loop->instructions_count);
        ROWS_OF(profile->limit_resources, profile->limit_resources_count, i, &resources,
                loop->resources, loop->resources_count);
        ROWS_OF(profile->limit_arcs, profile->limit_arcs_count, i, &arcs, loop->arcs,
                loop->arcs_count);
        ROWS_OF(profile->limit_schedules, profile->limit_schedules_count, i, &schedules,
                loop->schedules, loop->schedules_count);
        ROWS_OF(profile->limit_uses, profile->limit_uses_count, i, &uses, loop->uses,
                loop->uses_count);
        ROWS_OF(profile->limit_operations, profile->limit_operations_count, i, &operations,
                loop->operations, loop->operations_count);
        size_t match = 0;
        ROWS_OF(profile->limit_matches, profile->limit_matches_count, i, &matches, loop->match,
                match);
        loop->match = match ? loop->match : NULL;
        ROWS_OF(profile->limit_fates, profile->limit_fates_count, i, &fates, loop->fates,
                loop->fates_count);
        judge(profile, loop);
    }
    return report;
}

void limits_report_free(void *made)
{
    struct limits_report *report = made;
    if (!report)
        return;
    free(report->loops);
    free(report);
}

const struct profile_limit_resource *limits_bottleneck(const struct limits_loop *loop)
{
    for (size_t i = 0; i < loop->resources_count; i++)
        if (loop->resources[i].bottleneck)
            return &loop->resources[i];
    return NULL;
}

enum limits_circuit limits_circuit_of(const struct limits_loop *loop)
{
    bool memory = false, loads = false, divides = false, adds = true;
    if (!loop->arcs_count || loop->row->recurrence <= 0)
        return LIMITS_NO_CIRCUIT;
    for (size_t i = 0; i < loop->arcs_count; i++) {
        const struct profile_limit_arc *arc = &loop->arcs[i];
        uint32_t category = loop->instructions[arc->from].category;
        memory |= arc->memory != 0;
        loads |= arc->from_kind == 0;
        adds &= category == 2 || category == 4;
        divides |= arc->from_kind == 1 && (category == 5 || category == 6);
    }
    if (memory)
        return LIMITS_STORED;
    if (loads)
        return LIMITS_CHASE;
    if (divides)
        return LIMITS_DIVISION;
    if (loop->row->recurrence < 1.25)
        return LIMITS_COUNTER;
    if (loop->arcs_count > 1 && !adds)
        return LIMITS_CHAIN;
    return loop->row->circuit_used ? LIMITS_RUNNING : LIMITS_REDUCTION;
}

double limits_gain(const struct limits_loop *loop)
{
    const struct profile_limit_loop *row = loop->row;
    if (limits_misses(loop))
        return fmax(0, loop->ceiling->gap);
    double cycles = loop->limit == LIMITS_MEMORY ? row->measured : row->predicted;
    return loop->next_cycles > 0 && cycles > 0 ? fmax(0, 1 - loop->next_cycles / cycles) : 0;
}

double limits_cpu_ns(const struct profile *profile)
{
    double ns = 0;
    for (size_t i = 0; i < profile->times_count; i++)
        ns += (double)profile->times[i].ns;
    return ns;
}

unsigned limits_copies(const struct limits_loop *loop)
{
    double copies =
        loop->next_cycles > 0 ? ceil(loop->row->recurrence / loop->next_cycles - 0.05) : 2;
    return copies < 2 ? 2 : copies > 16 ? 16 : (unsigned)copies;
}
