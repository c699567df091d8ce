// SPDX-License-Identifier: MIT
/* The member "waste" of the JSON report (docs/formats/report.md). */
#include "waste/internal.h"

static void context_object(struct json *json, const struct profile *profile,
                           const struct waste_pair *context)
{
    json_begin_item(json);
    json_decimal(json, "share", context->share.share, 6);
    json_decimal(json, "waste_bytes", context->waste_bytes, 15);
    json_count(json, "traps", context->waste_traps + context->use_traps);
    json_context(json, "first", profile, context->first);
    json_context(json, "second", profile, context->second);
    json_close(json, '}');
}

static void group_members(struct json *json, const struct profile *profile,
                          const struct waste_kind *kind, const struct group *group)
{
    json_group(json, group);
    json_begin(json, "contexts", '[');
    for (size_t i = 0; i < group->links_count && i < JSON_CONTEXTS && !ferror(json->out); i++)
        context_object(json, profile, &kind->contexts[group->links[i]]);
    json_close(json, ']');
}

static void pair_object(struct json *json, const struct waste_ranking *ranking,
                        struct source_cache *sources, const struct waste_kind *kind,
                        const struct waste_pair *pair)
{
    const struct places *places = ranking->places;
    const struct profile *profile = places->profile;
    struct advice advice = waste_advice(places, sources, kind, pair);
    json_begin_item(json);
    json_decimal(json, "share", pair->share.share, 6);
    json_interval(json, &pair->share);
    json_decimal(json, "waste_bytes", pair->waste_bytes, 15);
    json_decimal(json, "use_bytes", pair->use_bytes, 15);
    json_count(json, "traps", pair->waste_traps + pair->use_traps);
    json_count(json, "waste_traps", pair->waste_traps);
    json_count(json, "kernel_traps", pair->kernel_traps);
    json_count(json, "likely_traps", pair->likely_traps);
    json_count(json, "float_traps", pair->float_traps);
    json_decimal(json, "near_bytes", pair->near_waste, 15);
    json_text(json, "reach", profile_reach_names[pair->reach]);
    json_text(json, "overhead", waste_overhead_names[pair->overhead]);
    json_context(json, "first", profile, pair->first);
    json_context(json, "second", profile, pair->second);
    json_advice(json, &advice);
    objects_json_group(json, &ranking->objects, places, kind->totals->kind, &kind->groups,
                       pair->group);
    if (pair->group->by != REPORT_BY_CONTEXT)
        group_members(json, profile, kind, pair->group);
    json_close(json, '}');
}

static void pairs_members(struct json *json, const struct waste_ranking *ranking,
                          struct source_cache *sources, const struct waste_kind *kind,
                          const char *const names[2], unsigned limit)
{
    json_count(json, names[0], kind->pairs_count);
    json_begin(json, names[1], '[');
    uint64_t frames = json->frames;
    for (size_t i = 0; i < kind->pairs_count && json_list_goes_on(json, frames, i, limit); i++)
        pair_object(json, ranking, sources, kind, &kind->pairs[i]);
    json_close(json, ']');
}

/* causes: the same by cause, or NULL. */
static void kind_object(struct json *json, const struct waste_ranking *ranking,
                        const struct waste_ranking *causes, size_t index,
                        struct source_cache *sources, unsigned limit)
{
    const struct waste_kind *kind = &ranking->kinds[index];
    const struct profile_kind *totals = kind->totals;
    json_begin(json, profile_kind_names[totals->kind], '{');
    json_key(json, "fraction");
    if (kind->fraction.known)
        json_number(json, kind->fraction.share, 6);
    else
        json_raw(json, "null");
    json_interval(json, &kind->fraction);
    json_flag(json, "too_few_samples", kind->too_few);
    json_key(json, "effective_samples");
    if (ranking->places->exact)
        json_raw(json, "null");
    else
        json_number(json, kind->fraction.effective, 6);
    if (kind->sample) {
        json_decimal(json, "sample_locations", kind->sample->share, 9);
        json_decimal(json, "effective_locations", kind->sample->locations, 6);
    }
    json_decimal(json, "waste_bytes", totals->waste_bytes, 15);
    json_decimal(json, "use_bytes", totals->use_bytes, 15);
    json_count(json, "samples", totals->samples);
    json_count(json, "armed", totals->armed);
    json_count(json, "traps", totals->traps);
    json_count(json, "ignored", totals->ignored);
    json_count(json, "evicted", totals->evicted);
    json_count(json, "abandoned", totals->abandoned);
    json_key(json, "blindspot_max_share");
    if (totals->samples)
        json_number(json, (double)totals->blind_longest / (double)totals->samples, 6);
    else
        json_raw(json, "null");
    pairs_members(json, ranking, sources, kind, json_pairs_names, limit);
    if (causes)
        pairs_members(json, causes, sources, &causes->kinds[index], json_findings_names, limit);
    json_close(json, '}');
}

/* A verb leaves the other ones' objects out. */
bool waste_json(struct json *json, const struct places *places,
                const struct report_options *options)
{
    const struct profile *profile = places->profile;
    if (!waste_is_in(profile) && analysis_find(profile->run.verb) != &waste_analysis)
        return true;
    enum report_by by = options->by ? options->by : REPORT_BY_CONTEXT;
    struct waste_ranking *ranking = waste_rank(places, options->kinds, by), *causes = NULL;
    bool good = ranking;
    if (good && !options->by) {
        causes = waste_rank(places, options->kinds, REPORT_BY_CAUSE);
        good = causes;
    }
    struct source_cache sources = {.enabled = options->sources,
                                   .not_newer_than_ns = profile->run.start_ns};
    if (good) {
        json_begin(json, "waste", '{');
        for (size_t i = 0; i < ranking->kinds_count; i++)
            kind_object(json, ranking, causes, i, &sources, options->limit);
        json_close(json, '}');
    }
    source_free(&sources);
    if (ranking)
        waste_rank_free(ranking);
    if (causes)
        waste_rank_free(causes);
    return good;
}
