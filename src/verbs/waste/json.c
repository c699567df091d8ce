// SPDX-License-Identifier: MIT
/* The member "waste" of the JSON report (docs/formats/report.md). */
#include "waste/internal.h"

static void pair_object(struct json *json, const struct places *places,
                        struct source_cache *sources, const struct waste_kind *kind,
                        const struct waste_pair *pair)
{
    const struct profile *profile = places->profile;
    struct advice advice = waste_advice(places, sources, kind, pair);
    json_begin_item(json);
    json_decimal(json, "share", pair->share.share, 6);
    json_interval(json, &pair->share);
    json_decimal(json, "waste_bytes", pair->waste_bytes, 15);
    json_decimal(json, "use_bytes", pair->use_bytes, 15);
    json_count(json, "traps", pair->waste_traps + pair->use_traps);
    json_count(json, "kernel_traps", pair->kernel_traps);
    json_count(json, "likely_traps", pair->likely_traps);
    json_count(json, "float_traps", pair->float_traps);
    json_context(json, "first", profile, pair->first);
    json_context(json, "second", profile, pair->second);
    json_advice(json, &advice);
    json_close(json, '}');
}

static void kind_object(struct json *json, const struct places *places,
                        struct source_cache *sources, const struct waste_kind *kind, unsigned limit)
{
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
    if (places->exact)
        json_raw(json, "null");
    else
        json_number(json, kind->fraction.effective, 6);
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
    json_count(json, "pairs_total", kind->pairs_count);
    json_begin(json, "pairs", '[');
    for (size_t i = 0; i < kind->pairs_count && (limit == 0 || i < limit) && !ferror(json->out);
         i++)
        pair_object(json, places, sources, kind, &kind->pairs[i]);
    json_close(json, ']');
    json_close(json, '}');
}

/* A verb leaves the other ones' objects out. */
bool waste_json(struct json *json, const struct places *places,
                const struct report_options *options)
{
    const struct profile *profile = places->profile;
    if (!waste_is_in(profile) && analysis_find(profile->run.verb) != &waste_analysis)
        return true;
    struct waste_ranking *ranking = waste_rank(places, options->kinds);
    if (!ranking)
        return false;
    struct source_cache sources = {.enabled = options->sources,
                                   .not_newer_than_ns = profile->run.start_ns};
    json_begin(json, "waste", '{');
    for (size_t i = 0; i < ranking->kinds_count; i++)
        kind_object(json, places, &sources, &ranking->kinds[i], options->limit);
    json_close(json, '}');
    source_free(&sources);
    waste_rank_free(ranking);
    return true;
}
