// SPDX-License-Identifier: MIT
/* Waste in exports. */
#include "export/samples.h"
#include "waste/internal.h"

#include <string.h>

/* In the order of enum profile_kind_id. */
static const struct walk_kind kinds[] = {
    [PROFILE_DEAD] = {.name = "dead-store",
                      .separator = "[overwrites the unread store of]",
                      .finding = "What was stored is overwritten before anything reads it.",
                      .whole = "the dead bytes",
                      .mendable = true,
                      .first_alone = true},
    [PROFILE_SILENT] = {.name = "silent-store",
                        .separator = "[stores again the value of]",
                        .finding = "The value stored was already in memory.",
                        .whole = "the silently stored bytes",
                        .mendable = true,
                        .first_alone = true},
    [PROFILE_LOAD] = {.name = "redundant-load",
                      .separator = "[loads again the value of]",
                      .finding = "The value loaded was loaded before and has not changed.",
                      .whole = "the redundantly loaded bytes",
                      .mendable = true,
                      .first_alone = true},
};

static const struct walk_kind *const all_kinds[] = {&kinds[PROFILE_DEAD], &kinds[PROFILE_SILENT],
                                                    &kinds[PROFILE_LOAD], &walk_sampled, NULL};

enum { WASTE_BYTES, USE_BYTES, TRAPS, SAMPLES, WASTE_METRICS };

static const char *const names[PROFILE_REUSE][WASTE_METRICS] = {
    [PROFILE_DEAD] = {"dead_waste_bytes", "dead_use_bytes", "dead_traps", "dead_samples"},
    [PROFILE_SILENT] = {"silent_waste_bytes", "silent_use_bytes", "silent_traps", "silent_samples"},
    [PROFILE_LOAD] = {"load_waste_bytes", "load_use_bytes", "load_traps", "load_samples"},
};

/* A sample's weight is an amount of nothing: what samples have is shares. */
static const char *const share_names[PROFILE_REUSE][USE_BYTES + 1] = {
    [PROFILE_DEAD] = {"dead_waste_ppm", "dead_use_ppm"},
    [PROFILE_SILENT] = {"silent_waste_ppm", "silent_use_ppm"},
    [PROFILE_LOAD] = {"load_waste_ppm", "load_use_ppm"},
};

enum { MILLION = 1000000 };

static bool has_kind(const struct profile *profile, uint32_t kind)
{
    for (size_t i = 0; i < profile->kinds_count; i++)
        if (profile->kinds[i].kind == kind)
            return true;
    return false;
}

/* Indices from the first one's, in the order of the enumeration; their ranks likewise. */
static uint32_t add_metrics(struct walk *walk, uint32_t kind, bool counted)
{
    const char *unit = counted ? "bytes" : "ppm";
    const char *const *own = names[kind], *const *two = counted ? own : share_names[kind];
    const char *waste = counted ? "accesses that did nothing"
                                : "accesses that did nothing, of a million that were decided";
    const char *use = counted ? "accesses that did something"
                              : "accesses that did something, of a million that were decided";
    uint32_t metric = walk_add_metric(walk, two[WASTE_BYTES], unit, waste, WASTE_BYTES);
    walk_add_metric(walk, two[USE_BYTES], unit, use, USE_BYTES);
    walk_add_metric(walk, own[TRAPS], "count", "second accesses caught", WALK_EVIDENCE);
    walk_add_metric(walk, own[SAMPLES], "count", "accesses sampled", WALK_EVIDENCE);
    return metric;
}

/* By which weights become what is exported. */
static double scale_of(const struct profile *profile, uint32_t kind, bool counted)
{
    double sum = 0;
    for (size_t i = 0; i < profile->pairs_count && !counted; i++)
        if (profile->pairs[i].kind == kind)
            sum += profile->pairs[i].waste_bytes + profile->pairs[i].use_bytes;
    return sum > 0 ? MILLION / sum : 1;
}

static void add_kind(struct walk *walk, const struct profile *profile, uint32_t kind)
{
    bool counted = strcmp(profile->run.engine, "exact") == 0;
    uint32_t metric = add_metrics(walk, kind, counted);
    double scale = scale_of(profile, kind, counted);
    for (size_t i = 0; i < profile->pairs_count; i++) {
        const struct profile_pair *pair = &profile->pairs[i];
        double values[] = {scale * pair->waste_bytes, scale * pair->use_bytes,
                           (double)(pair->waste_traps + pair->use_traps)};
        if (pair->kind == kind)
            walk_add(walk,
                     (struct walk_sample){.kind = &kinds[kind],
                                          .first = pair->first,
                                          .second = pair->second,
                                          .head = UINT32_MAX,
                                          .leaf = UINT32_MAX,
                                          .metric = metric,
                                          .row = (uint32_t)i,
                                          .seen = counted ? 0 : pair->waste_traps,
                                          .count = BASE_COUNT(values)},
                     values);
    }
    walk_add_sampled(walk, kind, metric + SAMPLES);
}

static void add_samples(struct walk *walk, const struct profile *profile,
                        const struct export_options *options)
{
    (void)options;
    for (uint32_t kind = 0; kind < BASE_COUNT(kinds); kind++)
        if (has_kind(profile, kind))
            add_kind(walk, profile, kind);
}

static const struct waste_kind *find_kind(const struct profile *profile, uint32_t kind,
                                          struct waste_kind *found)
{
    for (size_t i = 0; i < profile->kinds_count; i++)
        if (profile->kinds[i].kind == kind)
            *found = (struct waste_kind){.totals = &profile->kinds[i]};
    return found->totals ? found : NULL;
}

static bool advise(const struct places *places, struct source_cache *sources,
                   const struct walk_sample *sample, struct advice *advice)
{
    size_t kind = (size_t)(sample->kind - kinds);
    struct waste_kind room = {0};
    if (sample->kind < kinds || kind >= BASE_COUNT(kinds) ||
        sample->row >= places->profile->pairs_count ||
        !find_kind(places->profile, (uint32_t)kind, &room))
        return false;
    const struct profile_pair *row = &places->profile->pairs[sample->row];
    struct waste_pair pair = {
        .first = row->first,
        .second = row->second,
        .first_place = places->place_of[row->first],
        .second_place = places->place_of[row->second],
        .waste_traps = row->waste_traps,
        .kernel = places->exact ? row->kernel_traps > 0
                                : row->kernel_traps * 2 > row->waste_traps + row->use_traps,
    };
    struct advice found = waste_advice(places, sources, &room, &pair);
    if (found.id)
        *advice = found;
    return found.id;
}

const struct analysis_export waste_export = {
    .kinds = all_kinds, .samples = add_samples, .advise = advise};
