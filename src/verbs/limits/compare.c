// SPDX-License-Identifier: MIT
/*
 * Loops in comparisons of profiles. A finding is a loop of a run with the time that mending what limits it would save; figures, by which
 * `check` holds a loop to its bounds, are in cycles an iteration: of single loops made when asked for, and the worst of those measured.
 */
#include "compare/findings.h"
#include "limits/internal.h"

#include <math.h>
#include <string.h>

static const struct diff_kind kinds[] = {
    {.name = "loop",
     .heading = "Time of loops above their next bound",
     .whole = "the CPU time",
     .unit = DIFF_SECONDS,
     .untested = true},
};

static bool differ(const struct profile *before, const struct profile *after, char *error,
                   size_t error_bytes)
{
    const struct profile_limit_run *first = before->limit_runs, *second = after->limit_runs;
    if (!before->limit_runs_count || !after->limit_runs_count ||
        profile_same_text(first->machine, second->machine))
        return false;
    snprintf(error, error_bytes,
             "the bounds of their loops are of different machines, %.60s and %.60s", first->machine,
             second->machine);
    return true;
}

static bool begin(const struct diff_side *side, struct diff_part *part)
{
    if (!side->profile->limit_loops_count)
        return true;
    struct limits_report *report = limits_report_make(side->profile);
    if (report)
        part->state = report;
    return report != NULL;
}

/* By function, file and level; loops of one function keep their order in the code when it moves. */
static void add_findings(struct diff_side *side, const struct diff_part *part)
{
    const struct limits_report *report = part->state;
    if (!report)
        return;
    double whole_ns = limits_cpu_ns(side->profile);
    side->wholes[part->first_kind].amount = whole_ns;
    for (uint32_t i = 0; i < report->count; i++) {
        const struct profile_limit_loop *row = report->loops[i].row;
        double ns = row->share * whole_ns * limits_gain(&report->loops[i]);
        if (row->share < 0 || ns <= 0)
            continue;
        struct compare_finding *made = diff_add(side, part, 0, i);
        if (!made)
            return;
        made->functions[0] = diff_hash_text(diff_hash_text(0, row->function), row->level);
        made->exact[0] =
            base_mix64(diff_hash_text(made->functions[0], row->file ? name_base(row->file) : NULL) +
                       row->line);
        made->lines[0] = row->line;
        made->amount = ns;
    }
}

/* ---- figures --------------------------------------------------------------------------------------- */

static double ratio_of(const struct limits_loop *loop)
{
    return loop->row->predicted > 0 ? loop->row->measured / loop->row->predicted : 0;
}

/* Too few samples, or cycles of too different lengths, for a figure. */
#define FEW_ERROR 0.25

/* Of two loops: one that is well measured comes before any other. */
static bool is_worse(const struct limits_loop *loop, const struct limits_loop *other)
{
    if (!other)
        return true;
    bool few = loop->error > FEW_ERROR, other_few = other->error > FEW_ERROR;
    return few != other_few ? other_few : ratio_of(loop) > ratio_of(other);
}

static void set_band(const struct limits_loop *loop, struct diff_figure *figure)
{
    figure->band = true;
    figure->low = figure->value * (1 - fmin(loop->error, 1));
    figure->high = figure->value * (1 + loop->error);
    figure->few = loop->error > FEW_ERROR;
}

static void add_figures(struct diff_side *side, const struct diff_part *part)
{
    const struct limits_report *report = part->state;
    const struct limits_loop *worst = NULL;
    for (size_t i = 0; report && i < report->count; i++)
        if (report->loops[i].row->measured >= 0 && is_worse(&report->loops[i], worst))
            worst = &report->loops[i];
    if (!worst)
        return;
    struct diff_figure *made =
        diff_add_figure(side, "limits.", "ratio", DIFF_COUNT, ratio_of(worst));
    if (made)
        set_band(worst, made);
}

static double certified_of(const struct limits_loop *loop)
{
    return loop->row->certified;
}

static double predicted_of(const struct limits_loop *loop)
{
    return loop->row->predicted;
}

static double measured_of(const struct limits_loop *loop)
{
    return loop->row->measured;
}

/* Of all loops of the function the largest: a limit holds for each of them. */
static bool find_figure(const struct diff_part *part, const char *name, struct diff_figure *figure)
{
    static const struct {
        const char *prefix;
        double (*value)(const struct limits_loop *loop);
        bool measured;
    } figures[] = {
        {"limits.certified@", certified_of, false},
        {"limits.predicted@", predicted_of, false},
        {"limits.measured@", measured_of, true},
        {"limits.ratio@", ratio_of, true},
    };
    const struct limits_report *report = part->state;
    bool found = false;
    for (size_t f = 0; report && f < BASE_COUNT(figures); f++) {
        size_t bytes = strlen(figures[f].prefix);
        for (size_t i = 0; strncmp(name, figures[f].prefix, bytes) == 0 && i < report->count; i++) {
            const struct limits_loop *loop = &report->loops[i];
            if ((figures[f].measured && loop->row->measured < 0) ||
                !profile_same_text(loop->row->function, name + bytes) ||
                (found && figure->value >= figures[f].value(loop)))
                continue;
            *figure = (struct diff_figure){.unit = DIFF_COUNT, .value = figures[f].value(loop)};
            snprintf(figure->name, sizeof figure->name, "%s", name);
            if (figures[f].measured)
                set_band(loop, figure);
            found = true;
        }
    }
    return found;
}

static const char *figure_hint(const struct diff_part *part)
{
    return part->state ? "limits.certified@FUNCTION, limits.predicted@FUNCTION, and of what was "
                         "measured limits.measured@FUNCTION and limits.ratio@FUNCTION"
                       : NULL;
}

/* ---- a finding -------------------------------------------------------------------------------------- */

static const struct limits_loop *loop_of(const struct diff_part *part,
                                         const struct compare_finding *finding)
{
    const struct limits_report *report = part->state;
    return &report->loops[finding->row];
}

static void describe(const struct diff_side *side, const struct diff_part *part,
                     const struct compare_finding *finding, struct diff_subject *subject)
{
    const struct profile_limit_loop *row = loop_of(part, finding)->row;
    (void)side;
    name_shorten(row->function ? row->function : "the block", 60, subject->name);
    print_add(subject->name, sizeof subject->name, ", loop limited by %s",
              limits_bound_words[loop_of(part, finding)->limit]);
    subject->function = row->function;
    subject->file = row->file;
    subject->line = row->line;
}

static struct advice find_advice(const struct diff_side *side, const struct diff_part *part,
                                 const struct compare_finding *finding,
                                 struct source_cache *sources)
{
    (void)side, (void)sources;
    return limits_advice(loop_of(part, finding));
}

/* Time of what was taken off stays in the figures, which are no sums. */
static bool is_unsummed(const struct diff_side *side, const struct diff_part *part)
{
    (void)side;
    return part->state != NULL;
}

const struct analysis_compare limits_compare = {
    .kinds = kinds,
    .kinds_count = BASE_COUNT(kinds),
    .untested = "One run each does not show how much the time of loops varies from run to run: no "
                "difference is called significant.",
    .differ = differ,
    .begin = begin,
    .end = limits_report_free,
    .findings = add_findings,
    .figures = add_figures,
    .figure = find_figure,
    .figure_hint = figure_hint,
    .subject = describe,
    .advice = find_advice,
    .is_unsummed = is_unsummed,
};
