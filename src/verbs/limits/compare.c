// SPDX-License-Identifier: MIT
/*
 * Loops in comparisons of profiles. A finding is a loop of a run with the time that mending what limits it would save, or a dependence of a
 * loop's source, which is there or not; figures, by which `check` holds a loop to its bounds, are in cycles an iteration: of single loops made
 * when asked for, and the worst of those measured.
 */
#include "compare/findings.h"
#include "limits/internal.h"

#include <math.h>
#include <string.h>

enum { LOOP, DEPENDENCE };

static const struct diff_kind kinds[] = {
    [LOOP] = {.name = "loop",
              .heading = "Time of loops above their next bound",
              .whole = "the CPU time",
              .unit = DIFF_SECONDS,
              .untested = true},
    [DEPENDENCE] = {.name = "dependence",
                    .heading = "Dependences of loops as their sources have them",
                    .whole = "the dependences",
                    .unit = DIFF_COUNT,
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
    if (!side->profile->limit_loops_count && !side->profile->limit_sources_count)
        return true;
    struct limits_report *report = limits_report_make(side->profile);
    if (report)
        part->state = report;
    return report != NULL;
}

static const char *const kind_words[] = {"flow", "anti", "output"};

/* What depends on what, and at which distance; lines may move. */
static void add_dependences(struct diff_side *side, const struct diff_part *part)
{
    const struct profile *profile = side->profile;
    side->wholes[part->first_kind + DEPENDENCE].amount = (double)profile->limit_dependences_count;
    for (uint32_t i = 0; i < profile->limit_dependences_count; i++) {
        const struct profile_limit_dependence *row = &profile->limit_dependences[i];
        const struct profile_limit_source *source = &profile->limit_sources[row->source];
        struct compare_finding *made = diff_add(side, part, DEPENDENCE, i);
        if (!made)
            return;
        uint64_t hash = diff_hash_text(diff_hash_text(row->kind, source->function), row->from_text);
        hash = diff_hash_text(diff_hash_text(hash, row->to_text), row->vector);
        made->functions[0] = base_mix64(hash + row->distance);
        made->exact[0] =
            base_mix64(made->functions[0] + ((uint64_t)row->from_line << 32) + row->to_line);
        made->lines[0] = row->from_line;
        made->amount = 1;
    }
}

/* By function, file and level; loops of one function keep their order in the code when it moves. */
static void add_findings(struct diff_side *side, const struct diff_part *part)
{
    const struct limits_report *report = part->state;
    if (!report)
        return;
    add_dependences(side, part);
    double whole_ns = limits_cpu_ns(side->profile);
    side->wholes[part->first_kind].amount = whole_ns;
    for (uint32_t i = 0; i < report->count; i++) {
        const struct profile_limit_loop *row = report->loops[i].row;
        double ns = row->share * whole_ns * limits_gain(&report->loops[i]);
        if (row->share < 0 || ns <= 0)
            continue;
        uint64_t key = diff_hash_text(diff_hash_text(0, row->function), row->level);
        struct compare_finding *made =
            diff_add_line(side, part, LOOP, i, key, row->file, row->line);
        if (!made)
            return;
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

/* Of sources: cycles an iteration of the critical circuit, and how many dependences go from one iteration of the innermost loop to another.
   The largest of the function's loops. */
static bool find_source_figure(const struct profile *profile, const char *name,
                               struct diff_figure *figure)
{
    static const char circuit[] = "limits.circuit@", carried[] = "limits.carried@";
    bool of_circuit = strncmp(name, circuit, sizeof circuit - 1) == 0, found = false;
    if (!of_circuit && strncmp(name, carried, sizeof carried - 1) != 0)
        return false;
    const char *function = strchr(name, '@') + 1;
    for (size_t i = 0; i < profile->limit_sources_count; i++) {
        const struct profile_limit_source *source = &profile->limit_sources[i];
        double value = 0;
        if (source->reason || !profile_same_text(source->function, function))
            continue;
        if (of_circuit && source->circuit_distance)
            value = source->circuit_latency / source->circuit_distance;
        for (size_t j = 0; !of_circuit && j < profile->limit_dependences_count; j++)
            value += profile->limit_dependences[j].source == i &&
                     profile->limit_dependences[j].distance > 0;
        if (found && figure->value >= value)
            continue;
        *figure = (struct diff_figure){.unit = DIFF_COUNT, .value = value};
        snprintf(figure->name, sizeof figure->name, "%s", name);
        found = true;
    }
    return found;
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
    if (report && find_source_figure(report->profile, name, figure))
        return true;
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
    return part->state ? "limits.certified@FUNCTION, limits.predicted@FUNCTION, of sources "
                         "limits.circuit@FUNCTION and limits.carried@FUNCTION, and of what was "
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

static void describe_dependence(const struct profile *profile, uint32_t index,
                                struct diff_subject *subject)
{
    const struct profile_limit_dependence *row = &profile->limit_dependences[index];
    const struct profile_limit_source *source = &profile->limit_sources[row->source];
    char from[NAME_BYTES], to[NAME_BYTES], function[NAME_BYTES];
    name_clean(row->from_text, from, sizeof from);
    name_clean(row->to_text, to, sizeof to);
    name_shorten(source->function ? source->function : "the loop", 60, function);
    snprintf(subject->name, sizeof subject->name, "%s from %.100s to %.100s in %.120s",
             kind_words[row->kind], from, to, function);
    if (row->vector)
        print_add(subject->name, sizeof subject->name, ", %.80s", row->vector);
    else
        print_add(subject->name, sizeof subject->name, ", distance %u", row->distance);
    subject->function = source->function;
    subject->file = source->file;
    subject->line = row->from_line;
}

static void describe(const struct diff_side *side, const struct diff_part *part,
                     const struct compare_finding *finding, struct diff_subject *subject)
{
    if (finding->kind == part->first_kind + DEPENDENCE) {
        describe_dependence(side->profile, finding->row, subject);
        return;
    }
    const struct profile_limit_loop *row = loop_of(part, finding)->row;
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
    if (finding->kind == part->first_kind + DEPENDENCE)
        return (struct advice){0};
    return limits_advice(loop_of(part, finding));
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
    .is_unsummed = diff_has_state, /* figures are no sums of findings */
};
