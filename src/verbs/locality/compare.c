// SPDX-License-Identifier: MIT
/*
 * locality in comparisons of profiles: a finding is a reference, or a value of what was swept, its amount the misses of the first cache;
 * figures are the miss ratios of all nests by cache, so that a source can be held to limits.
 */
#include "compare/findings.h"
#include "locality/internal.h"

#include <inttypes.h>

static const struct diff_kind kinds[] = {
    {.name = "predicted-misses",
     .heading = "Predicted misses of the first cache",
     .whole = "the accesses",
     .unit = DIFF_COUNT,
     .untested = true},
};

static bool runs_differ(const struct profile *before, const struct profile *after, char *error,
                        size_t error_bytes)
{
    const struct profile_locality_run *first = locality_run_of(before),
                                      *second = locality_run_of(after);
    size_t count = before->locality_levels_count;
    if (!first || !second)
        return false;
    bool same = count == after->locality_levels_count;
    for (size_t i = 0; i < count && same; i++) {
        const struct profile_locality_level *a = &before->locality_levels[i],
                                            *b = &after->locality_levels[i];
        same = a->bytes == b->bytes && a->ways == b->ways && a->line_bytes == b->line_bytes;
    }
    if (same && profile_same_text(first->swept, second->swept))
        return false;
    snprintf(error, error_bytes, "they were computed for different %s",
             same ? "values of a parameter (--sweep)" : "caches (--cache)");
    return true;
}

static void add_reference(struct diff_side *side, const struct diff_part *part, uint32_t index)
{
    const struct profile *profile = side->profile;
    const struct profile_locality_reference *row = &profile->locality_references[index];
    const struct profile_locality_nest *nest = &profile->locality_nests[row->nest];
    struct compare_finding *made = diff_add(side, part, 0, index);
    if (!made)
        return;
    made->functions[0] = diff_hash_text(diff_hash_text(0, nest->function), row->text) + row->store;
    made->exact[0] =
        base_mix64(diff_hash_text(made->functions[0], row->file ? name_base(row->file) : NULL) +
                   ((uint64_t)row->line << 12) + row->column);
    made->lines[0] = row->line;
    made->amount = locality_miss(profile, index, 0)->misses;
}

static void add_point(struct diff_side *side, const struct diff_part *part, uint32_t index)
{
    const struct profile *profile = side->profile;
    struct compare_finding *made =
        diff_add(side, part, 0, (uint32_t)profile->locality_references_count + index);
    if (!made)
        return;
    made->functions[0] = base_mix64((uint64_t)profile->locality_points[index].value);
    made->exact[0] = base_mix64(made->functions[0]);
    made->amount = locality_sweep(profile, index, 0)->misses;
}

static void add_findings(struct diff_side *side, const struct diff_part *part)
{
    const struct profile *profile = side->profile;
    double accesses;
    if (!locality_run_of(profile))
        return;
    locality_sum(profile, 0, &accesses);
    for (uint32_t i = 0; i < profile->locality_points_count; i++)
        accesses += (double)profile->locality_points[i].accesses;
    side->wholes[part->first_kind].amount = accesses;
    for (uint32_t i = 0; i < profile->locality_references_count; i++)
        add_reference(side, part, i);
    for (uint32_t i = 0; i < profile->locality_points_count; i++)
        add_point(side, part, i);
}

/* Misses as parts of `of`, with their interval. */
static void add_bounded(struct diff_side *side, const char *name, enum diff_unit unit,
                        const struct profile_locality_figure *sum, double of)
{
    struct diff_figure *figure = diff_add_figure(side, "locality.", name, unit, sum->misses / of);
    if (!figure || sum->exact)
        return;
    figure->band = true;
    figure->low = sum->low / of;
    figure->high = sum->high / of;
}

static void add_level(struct diff_side *side, uint32_t level)
{
    static const char *const names[][3] = {{"l1.ratio", "l1.conflict", "l1.misses"},
                                           {"l2.ratio", "l2.conflict", "l2.misses"},
                                           {"l3.ratio", "l3.conflict", "l3.misses"},
                                           {"l4.ratio", "l4.conflict", "l4.misses"}};
    double accesses;
    struct profile_locality_figure sum = locality_sum(side->profile, level, &accesses);
    if (level >= BASE_COUNT(names) || accesses <= 0)
        return;
    add_bounded(side, names[level][0], DIFF_SHARE, &sum, accesses);
    diff_add_figure(side, "locality.", names[level][1], DIFF_SHARE, sum.conflict / accesses);
    add_bounded(side, names[level][2], DIFF_COUNT, &sum, 1);
}

static void add_figures(struct diff_side *side, const struct diff_part *part)
{
    (void)part;
    if (!locality_run_of(side->profile) || !side->profile->locality_nests_count)
        return;
    for (uint32_t i = 0; i < side->profile->locality_levels_count; i++)
        add_level(side, i);
}

static void describe(const struct diff_side *side, const struct diff_part *part,
                     const struct compare_finding *finding, struct diff_subject *subject)
{
    const struct profile *profile = side->profile;
    char name[NAME_BYTES], function[NAME_BYTES];
    (void)part;
    if (finding->row >= profile->locality_references_count) {
        size_t at = finding->row - profile->locality_references_count;
        const struct profile_locality_run *run = locality_run_of(profile);
        name_clean(run->swept ? run->swept : "?", name, sizeof name);
        snprintf(subject->name, sizeof subject->name, "%.120s = %" PRId64, name,
                 profile->locality_points[at].value);
        return;
    }
    const struct profile_locality_reference *row = &profile->locality_references[finding->row];
    const struct profile_locality_nest *nest = &profile->locality_nests[row->nest];
    name_clean(row->text, name, sizeof name);
    name_shorten(nest->function ? nest->function : "?", 60, function);
    snprintf(subject->name, sizeof subject->name, "%s of %.120s in %.120s",
             row->store ? "store" : "load", name, function);
    subject->function = nest->function;
    subject->file = row->file;
    subject->line = row->line;
}

static bool is_unsummed(const struct diff_side *side, const struct diff_part *part)
{
    (void)part;
    return locality_run_of(side->profile) != NULL;
}

const struct analysis_compare locality_compare = {
    .kinds = kinds,
    .kinds_count = BASE_COUNT(kinds),
    .untested = "These were computed from sources, within the intervals that each report has.",
    .differ = runs_differ,
    .findings = add_findings,
    .figures = add_figures,
    .subject = describe,
    .is_unsummed = is_unsummed,
};
