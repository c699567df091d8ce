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
        struct compare_finding *made =
            diff_add_line(side, part, 0, i, diff_hash_text(0, row->function), row->file, row->line);
        if (!made)
            return;
        made->amount = ns;
    }
}

/* ---- figures --------------------------------------------------------------------------------------- */

static const char *const levels[] = {"l2", "l3"};

static void add_figures(struct diff_side *side, const struct diff_part *part)
{
    const struct profile *profile = part->state;
    if (profile && profile->ceiling_runs[0].measured_ns > 0)
        diff_add_figure(side, "ceiling.", "bound", DIFF_SHARE, ceiling_upper_bound(profile));
    for (size_t l = 0; profile && l < BASE_COUNT(levels); l++) {
        double bound = ceiling_variant_bound(profile, levels[l]);
        if (bound >= 0)
            diff_add_figure(side, "ceiling.bound-", levels[l], DIFF_SHARE, bound);
    }
}

/* The notch of a box plot (McGill, Tukey, Larsen 1978): of a median, from the quartiles of so many trials. */
static void set_band(const struct profile_ceiling_loop *row, struct diff_figure *figure)
{
    double notch = 1.57 * (row->gap_high - row->gap_low) / sqrt((double)row->trials);
    figure->band = true;
    figure->low = fmax(0, figure->value - notch);
    figure->high = fmin(1, figure->value + notch);
    figure->few = row->trials < PROFILE_CEILING_TRIALS_FEW;
}

/* "ceiling.WHAT@FUNCTION": what would be saved, "gap" or by a variant. NULL: it is no such name; *function: behind the @. */
static const char *split(const char *name, char *what, size_t bytes)
{
    static const char prefix[] = "ceiling.";
    const char *at = strchr(name, '@');
    if (strncmp(name, prefix, strlen(prefix)) != 0 || !at ||
        (size_t)(at - name) - strlen(prefix) >= bytes)
        return NULL;
    snprintf(what, bytes, "%.*s", (int)((size_t)(at - name) - strlen(prefix)),
             name + strlen(prefix));
    return at + 1;
}

static bool figure_of(const struct profile *profile, const struct profile_ceiling_loop *row,
                      const char *what, struct diff_figure *figure)
{
    *figure = (struct diff_figure){.unit = DIFF_SHARE, .value = ceiling_gap(row)};
    if (strcmp(what, "gap") == 0) {
        set_band(row, figure);
        return profile_ceiling_known(row);
    }
    const struct profile_ceiling_variant *variant = ceiling_variant(profile, row, what);
    double part = ceiling_variant_part(row, variant);
    if (part < 0)
        return false;
    figure->value = fmin(1, fmax(0, 1 - part));
    figure->few =
        variant->trials < PROFILE_CEILING_TRIALS_FEW || row->trials < PROFILE_CEILING_TRIALS_FEW;
    return true;
}

/* Of all loops of the function the largest: a limit holds for each of them. */
static bool find_figure(const struct diff_part *part, const char *name, struct diff_figure *figure)
{
    const struct profile *profile = part->state;
    char what[8];
    const char *function = split(name, what, sizeof what);
    bool found = false;
    if (!profile || !function)
        return false;
    for (size_t i = 0; i < profile->ceiling_loops_count; i++) {
        const struct profile_ceiling_loop *row = &profile->ceiling_loops[i];
        struct diff_figure one;
        if (!profile_same_text(row->function, function) || !figure_of(profile, row, what, &one) ||
            (found && figure->value >= one.value))
            continue;
        *figure = one;
        snprintf(figure->name, sizeof figure->name, "%s", name);
        found = true;
    }
    return found;
}

static const char *figure_hint(const struct diff_part *part)
{
    return part->state ? "ceiling.gap@FUNCTION of what was measured, with l2, l3, ls or fp for gap "
                         "if it was tried"
                       : NULL;
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
    return ceiling_advice(part->state, loop_of(part, finding));
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
    .is_unsummed = diff_has_state, /* figures are no sums of findings */
};
