// SPDX-License-Identifier: MIT
/* Trials of loops as rows of a profile. */
#include "assess/ceiling.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

/* How long the clone takes, in cycles, by its iterations: cycles + turn * turns. turn 0: that is not known. */
struct line {
    double cycles, turn;
};

static double clone_cycles(const struct trial_pair *pair)
{
    return pair->clone / pair->ticks_a_cycle;
}

/* Least squares over entries whose iterations differ by more than a tenth. */
static struct line line_of(const struct trial_loop *loop)
{
    double count = 0, x = 0, y = 0, xx = 0, xy = 0;
    for (size_t i = 0; i < loop->pairs_count; i++) {
        const struct trial_pair *pair = &loop->pairs[i];
        if (!pair->between || pair->clone_turns <= 0)
            continue;
        count++;
        x += pair->clone_turns;
        y += clone_cycles(pair);
        xx += pair->clone_turns * pair->clone_turns;
        xy += pair->clone_turns * clone_cycles(pair);
    }
    double spread = count > 2 ? xx / count - x / count * x / count : 0;
    if (spread <= 0 || spread < x / count * x / count / 100)
        return (struct line){0, 0};
    double turn = (xy / count - x / count * y / count) / spread;
    double cycles = (y - turn * x) / count;
    return cycles >= 0 && turn > 0 ? (struct line){cycles, turn} : (struct line){0, 0};
}

static double ratio_of(const struct trial_pair *pair, const struct line *line)
{
    bool counted = pair->clone_turns > 0 && pair->loop_turns > 0;
    if (counted && pair->between && line->turn > 0)
        return (line->cycles + line->turn * pair->loop_turns) / (pair->loop / pair->ticks_a_cycle);
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

/* What trials of a loop come to, by trial; cycles and clones an iteration. */
struct values {
    double *ratios, *cycles, *turns, *clones;
    size_t ratios_count, cycles_count, turns_count, used;
    double short_turns; /* see find_short_turns */
};

/* Trials in which the loop was entered, if there are some: executions from an iteration in between are shorter than others. */
static bool is_used(const struct trial_pair *pair, bool entered)
{
    return has_ratio(pair) && (!entered || pair->entered);
}

/* The stop before it would show. */
static bool takes_little(const struct trial_pair *pair)
{
    return !pair->between && pair->loop / pair->ticks_a_cycle < SHORT_CYCLES;
}

/*
 * Iterations of short executions, if more than half are short. Another one of about as many is long only because something disturbed it: to
 * judge the loop by the longest times alone would be to judge it by the worst disturbance. 0: most are long.
 */
static void find_short_turns(struct values *values, const struct trial_loop *loop, bool entered)
{
    size_t used = 0, little = 0;
    for (size_t i = 0; i < loop->pairs_count; i++) {
        if (!is_used(&loop->pairs[i], entered))
            continue;
        used++;
        if (takes_little(&loop->pairs[i]))
            values->turns[little++] = loop->pairs[i].loop_turns;
    }
    values->short_turns = 2 * little > used ? quartiles_of(values->turns, little).median : 0;
}

static bool is_short(const struct values *values, const struct trial_pair *pair)
{
    return takes_little(pair) ||
           (!pair->between && pair->loop_turns > 0 && pair->loop_turns < 2 * values->short_turns);
}

static void take_pair(struct values *values, const struct trial_pair *pair, const struct line *line,
                      struct profile_ceiling_loop *row)
{
    values->used++;
    if (pair->loop_turns > 0) {
        double turns = pair->clone_turns > 0 ? pair->clone_turns : pair->loop_turns;
        double clone = clone_cycles(pair) / turns,
               least = pair->least / turns / pair->ticks_a_cycle;
        row->l1_least = row->l1_least < 0 ? least : fmin(row->l1_least, least);
        values->turns[values->turns_count] = pair->loop_turns;
        values->clones[values->turns_count++] = clone;
    }
    if (is_short(values, pair))
        return;
    values->ratios[values->ratios_count++] = ratio_of(pair, line);
    if (pair->loop_turns > 0)
        values->cycles[values->cycles_count++] =
            pair->loop / pair->loop_turns / pair->ticks_a_cycle;
}

static void set_figures(struct values *values, struct profile_ceiling_loop *row)
{
    row->short_executions = values->used && !values->ratios_count;
    row->trials = row->short_executions ? values->used : values->ratios_count;
    if (values->turns_count) {
        row->turns = quartiles_of(values->turns, values->turns_count).median;
        row->l1_cycles = quartiles_of(values->clones, values->turns_count).median;
    }
    if (!values->ratios_count)
        return;
    struct quartiles ratio = quartiles_of(values->ratios, values->ratios_count);
    row->gap = 1 - ratio.median;
    row->gap_low = 1 - ratio.high;
    row->gap_high = 1 - ratio.low;
    row->cycles =
        values->cycles_count ? quartiles_of(values->cycles, values->cycles_count).median : -1;
    row->l1_cycles = values->cycles_count ? row->cycles * (1 - row->gap) : -1;
}

static bool judge(const struct trial_loop *loop, struct profile_ceiling_loop *row)
{
    bool entered = count_entered(loop) >= ENTERED_LEAST;
    size_t most = loop->pairs_count + 1;
    double *room = calloc(4 * most, sizeof *room);
    struct values values = {room, room + most, room + 2 * most, room + 3 * most, 0, 0, 0, 0, 0};
    struct line line = line_of(loop);
    if (!room)
        return false;
    find_short_turns(&values, loop, entered);
    for (size_t i = 0; i < loop->pairs_count; i++)
        if (is_used(&loop->pairs[i], entered))
            take_pair(&values, &loop->pairs[i], &line, row);
    set_figures(&values, row);
    free(room);
    return true;
}

/* "calls f, which calls g" */
static void write_reason(const struct trial_loop *loop, char *text, size_t bytes)
{
    const char *does = clone_reason_text((enum clone_reason)loop->reason);
    bool calls = loop->reason == CLONE_CALLS && loop->callee;
    text[0] = 0;
    if (loop->within)
        snprintf(text, bytes, "calls %.480s, which ", loop->within);
    size_t used = strlen(text);
    snprintf(text + used, bytes - used, calls ? "calls %.480s" : "%s", calls ? loop->callee : does);
}

static bool keep_reason(struct profile *profile, const struct trial_loop *loop,
                        struct profile_ceiling_loop *row)
{
    char text[1024];
    if (loop->reason == CLONE_ELIGIBLE)
        return true;
    write_reason(loop, text, sizeof text);
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

/* One row for each variant that was asked for. */
static bool add_variant(struct profile *profile, const struct trial_loop *loop,
                        enum clone_variant variant)
{
    size_t count = 0;
    const char *lack =
        loop->lacks[variant] ? clone_lack_text((enum clone_lack)loop->lacks[variant]) : NULL;
    struct profile_ceiling_variant row = {.loop = (uint32_t)profile->ceiling_loops_count - 1,
                                          .variant =
                                              profile_keep(profile, clone_variant_id(variant)),
                                          .ratio = -1,
                                          .reason = lack ? profile_keep(profile, lack) : NULL};
    double *ratios = calloc(loop->pairs_count + 1, sizeof *ratios);
    for (size_t i = 0; ratios && i < loop->pairs_count; i++)
        if (loop->pairs[i].variant == variant)
            ratios[count++] = loop->pairs[i].variant_ratio;
    if (count) {
        struct quartiles ratio = quartiles_of(ratios, count);
        row.ratio = ratio.median;
        row.ratio_low = ratio.low;
        row.ratio_high = ratio.high;
        row.trials = count;
    }
    bool good = ratios && row.variant && !lack == !row.reason;
    free(ratios);
    struct profile_ceiling_variant *added = good ? profile_add_ceiling_variants(profile) : NULL;
    if (added)
        *added = row;
    return added;
}

static bool add_variants(struct profile *profile, const struct trial_loop *loop, uint32_t variants)
{
    for (unsigned v = CLONE_L1 + 1; v < CLONE_VARIANTS && loop->reason == CLONE_ELIGIBLE; v++)
        if (variants >> v & 1 && !add_variant(profile, loop, (enum clone_variant)v))
            return false;
    return true;
}

bool assess_ceiling(struct profile *profile, const struct trial_result *result, size_t limit)
{
    struct profile_ceiling_run *run = profile_add_ceiling_runs(profile);
    struct profile_ceiling_run made = {
        .cpu_ns = result->ns, .held_ns = result->cost_ns, .named = result->named};
    if (!run)
        return false;
    for (size_t i = 0; i < result->count; i++) {
        const struct trial_loop *loop = &result->loops[i];
        made.innermost_ns += loop->ns;
        made.eligible_ns += loop->reason == CLONE_ELIGIBLE ? loop->ns : 0;
        made.other += i >= limit;
        if (i >= limit)
            continue;
        if (!add_loop(profile, loop, result->ns) || !add_variants(profile, loop, result->variants))
            return false;
        const struct profile_ceiling_loop *row =
            &profile->ceiling_loops[profile->ceiling_loops_count - 1];
        if (profile_ceiling_known(row))
            made.measured_ns += loop->ns;
    }
    profile->ceiling_runs[profile->ceiling_runs_count - 1] = made;
    return true;
}

/* NULL stays NULL. False: no memory. */
static bool copy_text(struct profile *profile, const char **text)
{
    const char *from = *text;
    *text = from ? profile_keep(profile, from) : NULL;
    return !from || *text;
}

static bool take_loop(struct profile *profile, struct profile_ceiling_loop row)
{
    if (!copy_text(profile, &row.function) || !copy_text(profile, &row.file) ||
        !copy_text(profile, &row.module) || !copy_text(profile, &row.reason) ||
        !copy_text(profile, &row.reason_id) || !copy_text(profile, &row.reason_file))
        return false;
    struct profile_ceiling_loop *added = profile_add_ceiling_loops(profile);
    if (added)
        *added = row;
    return added;
}

static bool take_variant(struct profile *profile, struct profile_ceiling_variant row)
{
    if (!copy_text(profile, &row.variant) || !copy_text(profile, &row.reason))
        return false;
    struct profile_ceiling_variant *added = profile_add_ceiling_variants(profile);
    if (added)
        *added = row;
    return added;
}

static bool take_degraded(struct profile *profile, const char *sentence)
{
    struct profile_text *added = profile_add_degraded(profile);
    return added && (added->text = profile_keep(profile, sentence));
}

bool assess_take_ceiling(const struct profile *tried, struct profile *profile)
{
    profile->ceiling_runs_count = profile->ceiling_loops_count = 0;
    profile->ceiling_variants_count = 0;
    if (!tried->ceiling_runs_count)
        return true;
    struct profile_ceiling_run *run = profile_add_ceiling_runs(profile);
    if (!run)
        return false;
    *run = tried->ceiling_runs[0];
    for (size_t i = 0; i < tried->ceiling_loops_count; i++)
        if (!take_loop(profile, tried->ceiling_loops[i]))
            return false;
    for (size_t i = 0; i < tried->ceiling_variants_count; i++)
        if (!take_variant(profile, tried->ceiling_variants[i]))
            return false;
    for (size_t i = 0; i < tried->degraded_count; i++)
        if (!take_degraded(profile, tried->degraded[i].text))
            return false;
    return true;
}
