// SPDX-License-Identifier: MIT
/* Reuses in comparisons of profiles. */
#include "compare/findings.h"
#include "reuse/internal.h"

#include <string.h>

enum { FIRST_CACHE_BYTES = 4 << 10 };

static const struct diff_kind kinds[] = {
    {.name = "reuse",
     .heading = "Reuses",
     .whole = "the reuses",
     .whole_exact = "the distance",
     .labels = {"used", "reused"},
     .members = {"use", "reuse"},
     .unit = DIFF_COUNT},
};

static bool differ(const struct profile *before, const struct profile *after, char *error,
                   size_t error_bytes)
{
    if (!before->reuses_count || !after->reuses_count)
        return false;
    struct profile_reuse a = profile_reuse_total(before), b = profile_reuse_total(after);
    return diff_numbers_differ("the unit of bytes", a.unit_bytes, b.unit_bytes, error,
                               error_bytes) ||
           diff_numbers_differ("stack distances", a.stack, b.stack, error, error_bytes);
}

static bool begin(const struct diff_side *side, struct diff_part *part)
{
    part->state = reuse_report_make(&side->places, side->by);
    return part->state;
}

static bool has_figures(const struct diff_part *part)
{
    const struct reuse_report *report = part->state;
    return report->ranking.places->profile->reuses_count > 0;
}

/* ---- findings -------------------------------------------------------------------------------- */

/* Of exact figures what counts is how far apart the reuses are, all together: near ones cost
   nothing, however many they are. Samples are tested, and for that it must be how many they are. */
static void add_findings(struct diff_side *side, const struct diff_part *part)
{
    const struct reuse_report *report = part->state;
    const struct reuse_ranking *ranking = &report->ranking;
    struct compare_whole *whole = &side->wholes[part->first_kind];
    for (size_t i = 0; i < ranking->pairs_count; i++) {
        const struct reuse_pair *pair = &ranking->pairs[i];
        struct compare_finding *made = diff_add_pair(side, part, 0, (uint32_t)i);
        if (!made)
            return;
        double distance = ranking->distances ? pair->stack : pair->time;
        made->amount = side->places.exact ? distance : pair->weight;
        made->squares = pair->spread;
        made->other = side->places.exact ? pair->weight : distance;
        whole->amount += made->amount;
        whole->squares += pair->spread;
    }
}

static void find_ends(const struct diff_part *part, const struct compare_finding *finding,
                      struct diff_ends *ends)
{
    const struct reuse_report *report = part->state;
    const struct reuse_pair *pair = &report->ranking.pairs[finding->row];
    *ends = (struct diff_ends){{pair->use, pair->reuse}, {pair->use_place, pair->reuse_place}};
}

static struct advice find_advice(const struct diff_side *side, const struct diff_part *part,
                                 const struct compare_finding *finding,
                                 struct source_cache *sources)
{
    const struct reuse_report *report = part->state;
    const struct reuse_pair *pair = &report->ranking.pairs[finding->row];
    struct shape shape;
    shape_find(&side->places, pair, &shape);
    struct transform transform =
        transform_pair(&report->ranking, &report->figures, sources, pair, &shape);
    return transform_advice(&report->figures, pair, &transform);
}

/* How many reuses of a pair, and how far apart. */
static void remark(const struct diff_side sides[2], const struct compare_change *change, char *line,
                   size_t bytes)
{
    const uint32_t index[2] = {change->before, change->after};
    char numbers[2][32], means[2][32];
    for (unsigned s = 0; s < 2; s++) {
        double values[2] = {0, 0};
        if (index[s] != COMPARE_NONE) {
            values[0] = sides[s].findings[index[s]].amount;
            values[1] = sides[s].findings[index[s]].other;
        }
        bool exact = sides[s].places.exact;
        print_quantity(values[exact], numbers[s]);
        print_short(values[exact] > 0 ? values[!exact] / values[exact] : 0, means[s]);
    }
    if (change->verdict == COMPARE_APPEARED || change->verdict == COMPARE_VANISHED) {
        unsigned there = change->verdict == COMPARE_APPEARED;
        print_add(line, bytes, "; %s reuse%s, mean distance %s", numbers[there],
                  strcmp(numbers[there], "1") == 0 ? "" : "s", means[there]);
    } else {
        print_add(line, bytes, "; reuses %s → %s, mean distance %s → %s", numbers[0], numbers[1],
                  means[0], means[1]);
    }
}

/* ---- figures --------------------------------------------------------------------------------- */

static struct diff_figure make_miss(const struct diff_part *part, uint64_t bytes)
{
    const struct reuse_report *report = part->state;
    const struct reuse_figures *figures = &report->figures;
    struct mrc_ratio ratio = figures_miss_ratio(figures, (double)bytes);
    static const char units[] = " KMGTPE";
    unsigned unit = 0;
    uint64_t shown = bytes;
    for (; shown >= 1024 && shown % 1024 == 0 && unit + 2 < sizeof units; unit++)
        shown /= 1024;
    struct diff_figure figure = {.unit = DIFF_SHARE,
                                 .value = ratio.ratio,
                                 .band = figures->sampled,
                                 .low = ratio.low,
                                 .high = ratio.high,
                                 .whole = figures->totals.accesses,
                                 .first_kind = part->first_kind,
                                 .kinds_count = 1};
    snprintf(figure.name, sizeof figure.name, "reuse.miss@%llu%.*s", (unsigned long long)shown,
             unit ? 1 : 0, units + unit);
    return figure;
}

/* Accesses that follow from CPU time are as uncertain as their pace. */
static void add_accesses(struct diff_side *side, const struct reuse_figures *figures)
{
    double accesses = figures->totals.accesses;
    struct diff_figure *made = diff_add_figure(side, "reuse.", "accesses", DIFF_COUNT, accesses);
    if (!made)
        return;
    made->whole = 1;
    made->band = figures->paced && figures->pace.accesses_per_ns > 0;
    if (made->band) {
        made->low = accesses * figures->pace.low / figures->pace.accesses_per_ns;
        made->high = accesses * figures->pace.high / figures->pace.accesses_per_ns;
    }
}

/* Caches of every power of two up to one that misses first touches only. */
static void add_figures(struct diff_side *side, const struct diff_part *part)
{
    const struct reuse_report *report = part->state;
    const struct profile_reuse *totals = &report->figures.totals;
    if (!has_figures(part))
        return;
    add_accesses(side, &report->figures);
    struct diff_figure *locations =
        diff_add_figure(side, "reuse.", "locations", DIFF_COUNT, totals->locations);
    if (locations)
        locations->whole = 1;
    double enough = (double)figures_enough(&report->figures) * totals->unit_bytes;
    for (uint64_t bytes = FIRST_CACHE_BYTES; bytes < UINT64_C(1) << 50; bytes *= 2) {
        struct diff_figure *made = diff_add_figure(side, "", "", DIFF_SHARE, 0);
        if (!made)
            return;
        *made = make_miss(part, bytes);
        if ((double)bytes >= enough)
            return;
    }
}

/* By name for any size. */
static bool find_figure(const struct diff_part *part, const char *name, struct diff_figure *figure)
{
    static const char miss[] = "reuse.miss@";
    uint64_t bytes;
    if (!has_figures(part) || strncmp(name, miss, sizeof miss - 1) != 0 ||
        !compare_size_parse(name + sizeof miss - 1, &bytes))
        return false;
    *figure = make_miss(part, bytes);
    return true;
}

static const char *figure_hint(const struct diff_part *part)
{
    return has_figures(part) ? "reuse.miss@SIZE of any other SIZE" : NULL;
}

static bool is_unsummed(const struct diff_side *side, const struct diff_part *part)
{
    (void)side;
    return has_figures(part);
}

const struct analysis_compare reuse_compare = {
    .kinds = kinds,
    .kinds_count = BASE_COUNT(kinds),
    .differ = differ,
    .begin = begin,
    .end = reuse_report_free,
    .findings = add_findings,
    .figures = add_figures,
    .figure = find_figure,
    .figure_hint = figure_hint,
    .ends = find_ends,
    .advice = find_advice,
    .remark = remark,
    .is_unsummed = is_unsummed,
};
