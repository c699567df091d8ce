// SPDX-License-Identifier: MIT
/*
 * Loops in comparisons of profiles. A finding is a loop that was tried, with the time that it would save at most if all its data were in
 * the first-level cache; figures are parts of time, of the program's and, made when asked for, of a function's loops.
 */
#include "ceiling/internal.h"
#include "compare/findings.h"

#include <math.h>
#include <string.h>

static const struct diff_kind kinds[] = {
    {.name = "gap",
     .heading = "Time of loops above their ceiling",
     .whole = "the CPU time",
     .unit = DIFF_SECONDS,
     .untested = true},
};

static bool begin(const struct diff_side *side, struct diff_part *part)
{
    part->state = side->profile->ceiling_runs_count ? side->profile : NULL;
    return true;
}

/* It is the side's. */
static void end(void *state)
{
    (void)state;
}

/* By function and file; loops of one function keep their order in the code when it moves. */
static void add_findings(struct diff_side *side, const struct diff_part *part)
{
    const struct profile *profile = part->state;
    if (!profile)
        return;
    double whole_ns = profile->ceiling_runs[0].cpu_ns;
    side->wholes[part->first_kind].amount = whole_ns;
    for (uint32_t i = 0; i < profile->ceiling_loops_count; i++) {
        const struct profile_ceiling_loop *row = &profile->ceiling_loops[i];
        double ns = row->share * whole_ns * ceiling_gap(row);
        if (ns <= 0)
            continue;
        struct compare_finding *made = diff_add(side, part, 0, i);
        if (!made)
            return;
        made->functions[0] = diff_hash_text(0, row->function);
        made->exact[0] =
            base_mix64(diff_hash_text(made->functions[0], row->file ? name_base(row->file) : NULL) +
                       row->line);
        made->lines[0] = row->line;
        made->amount = ns;
    }
}

/* ---- figures --------------------------------------------------------------------------------------- */

static void add_figures(struct diff_side *side, const struct diff_part *part)
{
    const struct profile *profile = part->state;
    if (profile && profile->ceiling_runs[0].measured_ns > 0)
        diff_add_figure(side, "ceiling.", "bound", DIFF_SHARE, ceiling_upper_bound(profile));
}

/* The notch of a box plot (McGill, Tukey, Larsen 1978): of a median, from the quartiles of so many trials. */
static void set_band(const struct profile_ceiling_loop *row, struct diff_figure *figure)
{
    double notch = 1.57 * (row->gap_high - row->gap_low) / sqrt((double)row->trials);
    figure->band = true;
    figure->low = fmax(0, figure->value - notch);
    figure->high = fmin(1, figure->value + notch);
    figure->few = row->trials < CEILING_TRIALS_FEW;
}

/* Of all loops of the function the largest: a limit holds for each of them. */
static bool find_figure(const struct diff_part *part, const char *name, struct diff_figure *figure)
{
    static const char prefix[] = "ceiling.gap@";
    const struct profile *profile = part->state;
    bool found = false;
    if (!profile || strncmp(name, prefix, strlen(prefix)) != 0)
        return false;
    for (size_t i = 0; i < profile->ceiling_loops_count; i++) {
        const struct profile_ceiling_loop *row = &profile->ceiling_loops[i];
        if (!ceiling_known(row) || !profile_same_text(row->function, name + strlen(prefix)) ||
            (found && figure->value >= ceiling_gap(row)))
            continue;
        *figure = (struct diff_figure){.unit = DIFF_SHARE, .value = ceiling_gap(row)};
        snprintf(figure->name, sizeof figure->name, "%s", name);
        set_band(row, figure);
        found = true;
    }
    return found;
}

static const char *figure_hint(const struct diff_part *part)
{
    return part->state ? "ceiling.gap@FUNCTION of what was measured" : NULL;
}

/* ---- a finding -------------------------------------------------------------------------------------- */

static const struct profile_ceiling_loop *loop_of(const struct diff_part *part,
                                                  const struct compare_finding *finding)
{
    const struct profile *profile = part->state;
    return &profile->ceiling_loops[finding->row];
}

static void describe(const struct diff_side *side, const struct diff_part *part,
                     const struct compare_finding *finding, struct diff_subject *subject)
{
    const struct profile_ceiling_loop *row = loop_of(part, finding);
    (void)side;
    name_shorten(row->function, 60, subject->name);
    print_add(subject->name, sizeof subject->name, ", loop");
    subject->function = row->function;
    subject->file = row->file;
    subject->line = row->line;
}

static struct advice find_advice(const struct diff_side *side, const struct diff_part *part,
                                 const struct compare_finding *finding,
                                 struct source_cache *sources)
{
    (void)side, (void)sources;
    return ceiling_advice(loop_of(part, finding));
}

/* Time of what was taken off stays in the figures, which are no sums. */
static bool is_unsummed(const struct diff_side *side, const struct diff_part *part)
{
    (void)side;
    return part->state != NULL;
}

const struct analysis_compare ceiling_compare = {
    .kinds = kinds,
    .kinds_count = BASE_COUNT(kinds),
    .untested = "One run each does not show how much the time of loops varies from run to run: no "
                "difference is called significant.",
    .begin = begin,
    .end = end,
    .findings = add_findings,
    .figures = add_figures,
    .figure = find_figure,
    .figure_hint = figure_hint,
    .subject = describe,
    .advice = find_advice,
    .is_unsummed = is_unsummed,
};
