// SPDX-License-Identifier: MIT
/* Trials of loops as rows of a profile. */
#include "assess/ceiling.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum {
    ENTERED_LEAST = 3,
    /* What a stop displaces from the nearest caches is fetched again in about a thirtieth of that. */
    SHORT_CYCLES = 100000,
};

static int ascending(const void *left, const void *right)
{
    double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

struct quartiles {
    double low, median, high;
};

static struct quartiles quartiles_of(double *values, size_t count)
{
    qsort(values, count, sizeof *values, ascending);
    double median = count % 2 ? values[count / 2] : (values[count / 2 - 1] + values[count / 2]) / 2;
    return (struct quartiles){values[count / 4], median, values[count - 1 - count / 4]};
}

/* Iterations of both: of two that were executed to the end they are the same, even if nobody counted them. */
static bool has_ratio(const struct trial_pair *pair)
{
    return pair->clone > 0 && pair->loop > 0 &&
           ((pair->clone_turns > 0 && pair->loop_turns > 0) || !pair->cut);
}

static double ratio_of(const struct trial_pair *pair)
{
    bool counted = pair->clone_turns > 0 && pair->loop_turns > 0;
    return counted ? pair->clone / pair->clone_turns * pair->loop_turns / pair->loop
                   : pair->clone / pair->loop;
}

static size_t count_entered(const struct trial_loop *loop)
{
    size_t count = 0;
    for (size_t i = 0; i < loop->pairs_count; i++)
        count += loop->pairs[i].entered && has_ratio(&loop->pairs[i]);
    return count;
}

static bool judge(const struct trial_loop *loop, struct profile_ceiling_loop *row)
{
    bool entered = count_entered(loop) >= ENTERED_LEAST;
    double *values = calloc(5 * (loop->pairs_count + 1), sizeof *values);
    double *ratios = values, *cycles = ratios + loop->pairs_count + 1;
    double *turns = cycles + loop->pairs_count + 1, *whole = turns + loop->pairs_count + 1;
    double *clones = whole + loop->pairs_count + 1;
    size_t count = 0, counted = 0;
    if (!values)
        return false;
    for (size_t i = 0; i < loop->pairs_count; i++) {
        const struct trial_pair *pair = &loop->pairs[i];
        if (!has_ratio(pair) || (entered && !pair->entered))
            continue;
        ratios[count] = ratio_of(pair);
        whole[count++] = pair->loop / pair->ticks_a_cycle;
        if (pair->loop_turns > 0) {
            double turns_of = pair->clone_turns > 0 ? pair->clone_turns : pair->loop_turns;
            double clone = pair->clone / turns_of / pair->ticks_a_cycle;
            row->l1_least = row->l1_least < 0 ? clone : fmin(row->l1_least, clone);
            turns[counted] = pair->loop_turns;
            clones[counted] = clone;
            cycles[counted++] = pair->loop / pair->loop_turns / pair->ticks_a_cycle;
        }
    }
    row->trials = count;
    row->short_executions = count && quartiles_of(whole, count).median < SHORT_CYCLES;
    if (counted)
        row->turns = quartiles_of(turns, counted).median;
    if (row->short_executions && counted)
        row->l1_cycles = quartiles_of(clones, counted).median;
    if (count && !row->short_executions) {
        struct quartiles ratio = quartiles_of(ratios, count);
        row->gap = 1 - ratio.median;
        row->gap_low = 1 - ratio.high;
        row->gap_high = 1 - ratio.low;
        row->cycles = counted ? quartiles_of(cycles, counted).median : -1;
        row->l1_cycles = counted ? row->cycles * (1 - row->gap) : -1;
    }
    free(values);
    return true;
}

static bool keep_reason(struct profile *profile, const struct trial_loop *loop,
                        struct profile_ceiling_loop *row)
{
    char text[512];
    if (loop->reason == CLONE_ELIGIBLE)
        return true;
    if (loop->reason == CLONE_CALLS && loop->callee)
        snprintf(text, sizeof text, "calls %.480s", loop->callee);
    else
        snprintf(text, sizeof text, "%s", clone_reason_text(loop->reason));
    row->reason = profile_keep(profile, text);
    row->reason_id = profile_keep(profile, clone_reason_id(loop->reason));
    row->reason_file = loop->culprit_file ? profile_keep(profile, loop->culprit_file) : NULL;
    row->reason_line = row->reason_file ? loop->culprit_line : 0;
    return row->reason && row->reason_id;
}

static bool add_loop(struct profile *profile, const struct trial_loop *loop, double all_ns)
{
    struct profile_ceiling_loop row = {
        .function = profile_keep(profile, loop->function ? loop->function : "?"),
        .file = loop->file ? profile_keep(profile, loop->file) : NULL,
        .line = loop->line,
        .module = profile_keep(profile, loop->module ? loop->module : "?"),
        .address = loop->address,
        .share = all_ns > 0 ? loop->ns / all_ns : 0,
        .samples = loop->samples,
        .disturbed = (uint64_t)loop->missed + loop->disturbed + loop->refused,
        .cycles = -1,
        .l1_cycles = -1,
        .l1_least = -1,
        .turns = -1,
        .recurrence = loop->recurrence,
        .instructions = loop->instructions};
    if (!row.function || !row.module || !keep_reason(profile, loop, &row) || !judge(loop, &row))
        return false;
    struct profile_ceiling_loop *added = profile_add_ceiling_loops(profile);
    if (added)
        *added = row;
    return added;
}

bool assess_ceiling(struct profile *profile, const struct trial_result *result, size_t limit)
{
    struct profile_ceiling_run *run = profile_add_ceiling_runs(profile);
    struct profile_ceiling_run made = {.cpu_ns = result->ns, .held_ns = result->cost_ns};
    if (!run)
        return false;
    for (size_t i = 0; i < result->count; i++) {
        const struct trial_loop *loop = &result->loops[i];
        made.innermost_ns += loop->ns;
        made.eligible_ns += loop->reason == CLONE_ELIGIBLE ? loop->ns : 0;
        made.other += i >= limit;
        if (i >= limit)
            continue;
        if (!add_loop(profile, loop, result->ns))
            return false;
        const struct profile_ceiling_loop *row =
            &profile->ceiling_loops[profile->ceiling_loops_count - 1];
        if (row->trials && !row->short_executions)
            made.measured_ns += loop->ns;
    }
    profile->ceiling_runs[profile->ceiling_runs_count - 1] = made;
    return true;
}
