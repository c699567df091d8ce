// SPDX-License-Identifier: MIT
/* Reuses in exports. */
#include "export/samples.h"
#include "reuse/internal.h"

#include <stdlib.h>

static const struct walk_kind reuses = {.name = "reuse",
                                        .separator = "[uses again the data of]",
                                        .finding = "Data is used again.",
                                        .whole = "the reuses"};

static const struct walk_kind *const kinds[] = {&reuses, &walk_sampled, NULL};

/* Ranks: what is far costs, so distances come before the number of reuses, most of which are near. */
enum { TIME, STACK, REUSES };

/* ---- advice ---------------------------------------------------------------------------------- */

/* A finding's advice, for each pair of places that is part of it. */
struct advised {
    uint32_t use_place, reuse_place;
    struct advice advice;
};

struct advices {
    struct places places;
    struct advised *items; /* by places */
    size_t count;
};

static int compare_advised(const void *left, const void *right)
{
    const struct advised *a = left, *b = right;
    if (a->use_place != b->use_place)
        return a->use_place < b->use_place ? -1 : 1;
    return (a->reuse_place > b->reuse_place) - (a->reuse_place < b->reuse_place);
}

static void advise_finding(struct advices *advices, const struct reuse_report *report,
                           struct source_cache *sources, const struct reuse_pair *pair)
{
    struct shape shape;
    shape_find(&advices->places, pair, &shape);
    struct transform transform =
        transform_pair(&report->ranking, &report->figures, sources, pair, &shape);
    struct advice advice = transform_advice(&report->figures, pair, &transform);
    for (size_t i = 0; advice.id && i < pair->group->links_count; i++) {
        const struct reuse_pair *part = &report->ranking.contexts[pair->group->links[i]];
        advices->items[advices->count++] =
            (struct advised){part->use_place, part->reuse_place, advice};
    }
}

/* As reports give it, findings being pairs. False: no memory; nothing to free. */
static bool advices_make(const struct profile *profile, struct advices *advices)
{
    struct source_cache sources = {.enabled = true, .not_newer_than_ns = profile->run.start_ns};
    *advices = (struct advices){.count = 0};
    if (places_make(profile, true, &advices->places) != BASE_OK)
        return false;
    struct reuse_report *report = reuse_report_make(&advices->places, REPORT_BY_PAIR);
    if (report)
        advices->items = calloc(report->ranking.contexts_count + 1, sizeof *advices->items);
    for (size_t i = 0; advices->items && i < report->ranking.pairs_count; i++)
        if (!report->ranking.pairs[i].once)
            advise_finding(advices, report, &sources, &report->ranking.pairs[i]);
    if (report)
        reuse_report_free(report);
    source_free(&sources);
    if (!advices->items)
        places_free(&advices->places);
    else if (advices->count)
        qsort(advices->items, advices->count, sizeof *advices->items, compare_advised);
    return advices->items != NULL;
}

static void advices_free(struct advices *advices)
{
    if (advices->items)
        places_free(&advices->places);
    free(advices->items);
}

static struct advice advice_on(const struct advices *advices, const struct profile_reuse_pair *pair)
{
    if (!advices->count)
        return (struct advice){.id = NULL};
    struct advised key = {.use_place = advices->places.place_of[pair->use],
                          .reuse_place = advices->places.place_of[pair->reuse]};
    const struct advised *found =
        bsearch(&key, advices->items, advices->count, sizeof key, compare_advised);
    return found ? found->advice : (struct advice){.id = NULL};
}

/* ---- samples --------------------------------------------------------------------------------- */

static void add_samples(struct walk *walk, const struct profile *profile,
                        const struct export_options *options)
{
    if (!profile->reuse_pairs_count && analysis_find(profile->run.verb) != &reuse_analysis)
        return;
    uint32_t metric = walk_add_metric(walk, "reuses", "count", "uses of data used before", REUSES);
    walk_add_metric(walk, "time_distance", "accesses", "accesses between use and reuse, summed",
                    TIME);
    walk_add_metric(walk, "stack_distance", "count",
                    "different locations between use and reuse, summed", STACK);
    walk_add_metric(walk, "seen", "count", "reuses that were seen", WALK_EVIDENCE);
    uint32_t samples =
        walk_add_metric(walk, "reuse_samples", "count", "accesses sampled", WALK_EVIDENCE);
    /* Others show none. */
    struct advices advices = {.count = 0};
    if (options->format == EXPORT_SARIF && !advices_make(profile, &advices))
        walk_fail(walk);
    bool counted = profile_same_text(profile->run.engine, "exact");
    for (size_t i = 0; i < profile->reuse_pairs_count; i++) {
        const struct profile_reuse_pair *pair = &profile->reuse_pairs[i];
        double values[] = {pair->weight, pair->time, pair->stack, (double)pair->count};
        walk_add(walk,
                 (struct walk_sample){.kind = &reuses,
                                      .first = pair->use,
                                      .second = pair->reuse,
                                      .head = UINT32_MAX,
                                      .leaf = UINT32_MAX,
                                      .metric = metric,
                                      .count = BASE_COUNT(values),
                                      .seen = counted ? 0 : pair->count,
                                      .advice = advice_on(&advices, pair)},
                 values);
    }
    advices_free(&advices);
    walk_add_sampled(walk, PROFILE_REUSE, samples);
}

const struct analysis_export reuse_export = {.kinds = kinds, .samples = add_samples};
