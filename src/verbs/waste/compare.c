// SPDX-License-Identifier: MIT
/* Waste in comparisons of profiles. */
#include "compare/findings.h"
#include "waste/internal.h"

#include <math.h>

/* In the order of enum profile_kind_id. */
static const struct diff_kind kinds[] = {
    [PROFILE_DEAD] = {.name = "dead",
                      .heading = "Dead stores",
                      .whole = "the bytes stored",
                      .whole_time = "the stores, by CPU time",
                      .labels = {"stored", "overwritten"},
                      .members = {"first", "second"},
                      .unit = DIFF_BYTES},
    [PROFILE_SILENT] = {.name = "silent",
                        .heading = "Silent stores",
                        .whole = "the bytes stored",
                        .whole_time = "the stores, by CPU time",
                        .labels = {"stored", "stored again"},
                        .members = {"first", "second"},
                        .unit = DIFF_BYTES},
    [PROFILE_LOAD] = {.name = "load",
                      .heading = "Redundant loads",
                      .whole = "the bytes loaded",
                      .whole_time = "the loads, by CPU time",
                      .labels = {"loaded", "loaded again"},
                      .members = {"first", "second"},
                      .unit = DIFF_BYTES},
};

static bool share_a_kind(const struct profile *before, const struct profile *after)
{
    for (size_t i = 0; i < before->kinds_count; i++)
        for (size_t j = 0; j < after->kinds_count; j++)
            if (before->kinds[i].kind == after->kinds[j].kind)
                return true;
    return false;
}

static bool differ(const struct profile *before, const struct profile *after, char *error,
                   size_t error_bytes)
{
    if (before->kinds_count && after->kinds_count && !share_a_kind(before, after)) {
        snprintf(error, error_bytes,
                 "the profiles cannot be compared: no kind of waste was looked for in both; record "
                 "both with the same --kinds.");
        return true;
    }
    return analysis_find(before->run.verb) == &waste_analysis &&
           diff_numbers_differ("the floating-point tolerance", before->run.fp_tolerance,
                               after->run.fp_tolerance, error, error_bytes);
}

static bool looked_for(const struct profile *profile, uint32_t kind)
{
    for (size_t i = 0; i < profile->kinds_count; i++)
        if (profile->kinds[i].kind == kind)
            return true;
    return false;
}

static bool begin(const struct diff_side *side, struct diff_part *part)
{
    part->state = waste_rank(&side->places, 0, side->by);
    return part->state;
}

/* ---- findings -------------------------------------------------------------------------------- */

static void add_kind(struct diff_side *side, const struct diff_part *part,
                     const struct waste_kind *kind)
{
    const struct profile_kind *totals = kind->totals;
    side->wholes[part->first_kind + totals->kind] = (struct compare_whole){
        totals->waste_bytes + totals->use_bytes,
        kind->sample ? kind->sample->whole_squares : totals->waste_squares + totals->use_squares};
    struct compare_finding *all = diff_add(side, part, totals->kind, DIFF_ALL);
    if (!all)
        return;
    all->functions[0] = all->functions[1] = all->exact[0] = all->exact[1] = UINT64_MAX;
    all->amount = totals->waste_bytes;
    all->squares = kind->sample ? kind->sample->waste_squares : totals->waste_squares;
    for (size_t i = 0; i < kind->pairs_count; i++) {
        struct compare_finding *made = diff_add_pair(side, part, totals->kind, (uint32_t)i);
        if (!made)
            return;
        made->amount = kind->pairs[i].waste_bytes;
        made->squares = kind->pairs[i].waste_squares;
    }
}

static void add_findings(struct diff_side *side, const struct diff_part *part)
{
    const struct waste_ranking *ranking = part->state;
    for (size_t k = 0; k < ranking->kinds_count; k++)
        add_kind(side, part, &ranking->kinds[k]);
}

static const struct waste_kind *kind_of(const struct diff_part *part,
                                        const struct compare_finding *finding)
{
    const struct waste_ranking *ranking = part->state;
    const struct waste_kind *kind = ranking->kinds;
    while (part->first_kind + kind->totals->kind != finding->kind)
        kind++;
    return kind;
}

static struct advice find_advice(const struct diff_side *side, const struct diff_part *part,
                                 const struct compare_finding *finding,
                                 struct source_cache *sources)
{
    const struct waste_kind *kind = kind_of(part, finding);
    return waste_advice(&side->places, sources, kind, &kind->pairs[finding->row]);
}

static void find_ends(const struct diff_part *part, const struct compare_finding *finding,
                      struct diff_ends *ends)
{
    const struct waste_kind *kind = kind_of(part, finding);
    const struct waste_pair *pair = &kind->pairs[finding->row];
    *ends =
        (struct diff_ends){{pair->first, pair->second}, {pair->first_place, pair->second_place}};
}

/* ---- figures --------------------------------------------------------------------------------- */

/* Samples that decided nothing leave every fraction possible. What is suppressed counts as use. */
static void add_fraction(struct diff_side *side, const struct diff_part *part,
                         const struct waste_kind *kind, const char *prefix, double waste)
{
    uint32_t id = part->first_kind + kind->totals->kind;
    const struct compare_whole *whole = &side->wholes[id];
    bool exact = side->places.exact, any = whole->amount > 0;
    if (!any && exact)
        return;
    struct diff_figure *made =
        diff_add_figure(side, prefix, "fraction", DIFF_SHARE, any ? waste / whole->amount : 0);
    if (!made)
        return;
    made->whole = whole->amount;
    made->first_kind = id;
    made->kinds_count = 1;
    made->few = kind->too_few;
    made->band = !exact || kind->sample;
    made->high = 1;
    struct profile_share share = side->suppressed[id].amount > 0
                                     ? profile_share(waste, whole->amount, whole->squares)
                                     : kind->fraction;
    if (any && share.known) {
        made->low = share.low;
        made->high = share.high;
    }
}

static void add_bytes(struct diff_side *side, const char *prefix, uint32_t first_kind,
                      uint32_t kinds_count, double waste)
{
    struct diff_figure *made = diff_add_figure(side, prefix, "bytes", DIFF_BYTES, waste);
    if (!made)
        return;
    made->whole = 1;
    made->first_kind = first_kind;
    made->kinds_count = kinds_count;
}

/* Without bytes of samples: their weights nobody stored or loaded. */
static void add_figures(struct diff_side *side, const struct diff_part *part)
{
    const struct waste_ranking *ranking = part->state;
    double all = 0;
    for (size_t k = 0; k < ranking->kinds_count; k++) {
        const struct waste_kind *kind = &ranking->kinds[k];
        uint32_t id = part->first_kind + kind->totals->kind;
        double waste = fmax(0, kind->totals->waste_bytes - side->suppressed[id].amount);
        char prefix[32];
        snprintf(prefix, sizeof prefix, "waste.%s.", profile_kind_names[kind->totals->kind]);
        all += waste;
        add_fraction(side, part, kind, prefix, waste);
        if (side->places.exact)
            add_bytes(side, prefix, id, 1, waste);
    }
    if (side->places.exact && ranking->kinds_count)
        add_bytes(side, "waste.", part->first_kind, BASE_COUNT(kinds), all);
}

const struct analysis_compare waste_compare = {
    .kinds = kinds,
    .kinds_count = BASE_COUNT(kinds),
    .differ = differ,
    .looked_for = looked_for,
    .begin = begin,
    .end = waste_rank_free,
    .findings = add_findings,
    .figures = add_figures,
    .ends = find_ends,
    .advice = find_advice,
};
