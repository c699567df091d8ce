// SPDX-License-Identifier: MIT
/* The member "reuse" of the JSON report (docs/formats/report.md). */
#include "show/json.h"
#include "reuse/internal.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

/* Many readers of JSON have integers of 63 bits. */
static uint64_t readable(uint64_t distance)
{
    return distance <= INT64_MAX ? distance : INT64_MAX;
}

static void bin_object(struct json *json, uint64_t low, uint64_t end, double share)
{
    json_begin_item(json);
    json_count(json, "lo", readable(low));
    json_count(json, "hi", readable(end));
    json_decimal(json, "share", share, 9);
    json_close(json, '}');
}

/* Shares of `sum` reuses; bins without any are left out. */
static void histogram_member(struct json *json, const char *name, const double *histogram,
                             double sum, bool paper_bins)
{
    double paper[FIGURES_PAPER_BINS] = {0};
    json_begin(json, name, '[');
    for (unsigned bin = 0; bin < DISTANCE_BINS && sum > 0; bin++) {
        paper[figures_paper_bin(bin)] += histogram[bin] / sum;
        if (histogram[bin] > 0 && !paper_bins)
            bin_object(json, distance_bin_low(bin), mrc_bin_end(bin), histogram[bin] / sum);
    }
    for (unsigned bin = 0; bin < FIGURES_PAPER_BINS && paper_bins; bin++)
        if (paper[bin] > 0)
            bin_object(json, figures_paper_low(bin), figures_paper_low(bin + 1), paper[bin]);
    json_close(json, ']');
}

/* Reuses that were foreseen have no CPU time: what it lacks of all of them are those. */
static void histograms_members(struct json *json, const struct reuse_figures *figures, bool paper)
{
    double elapsed = mrc_sum(figures->elapsed), all = fmax(elapsed, mrc_sum(figures->time));
    histogram_member(json, "time", figures->time, mrc_sum(figures->time), paper);
    histogram_member(json, "stack", figures->stack, mrc_sum(figures->stack), paper);
    histogram_member(json, "stack_from_time", figures->from_time, mrc_sum(figures->from_time),
                     paper);
    if (elapsed > 0)
        histogram_member(json, "elapsed_ns", figures->elapsed, all, paper);
}

static void ratio_members(struct json *json, const struct reuse_figures *figures, const char *name,
                          double bytes)
{
    struct mrc_ratio ratio = figures_miss_ratio(figures, bytes);
    json_decimal(json, name, ratio.ratio, 9);
    if (figures->sampled) {
        json_decimal(json, "low", ratio.low, 9);
        json_decimal(json, "high", ratio.high, 9);
    }
}

static void ratios_member(struct json *json, const struct reuse_figures *figures)
{
    uint64_t enough = figures_enough(figures);
    json_begin(json, "miss_ratio", '[');
    for (uint64_t units = 1; units <= enough; units *= 2) {
        double bytes = (double)units * figures->totals.unit_bytes;
        json_begin_item(json);
        json_decimal(json, "bytes", bytes, 17);
        ratio_members(json, figures, "ratio", bytes);
        json_close(json, '}');
    }
    json_close(json, ']');
}

/* ---- caches ---------------------------------------------------------------------------------- */

static void caches_member(struct json *json, const struct profile *profile,
                          const struct reuse_figures *figures)
{
    json_begin(json, "caches", '[');
    for (size_t i = 0; i < profile->caches_count; i++) {
        const struct profile_cache *cache = &profile->caches[i];
        json_begin_item(json);
        json_count(json, "level", cache->level);
        json_count(json, "bytes", cache->bytes);
        json_count(json, "ways", cache->ways);
        json_count(json, "line_bytes", cache->line_bytes);
        json_count(json, "sharers", cache->sharers);
        ratio_members(json, figures, "miss_ratio", (double)cache->bytes);
        json_close(json, '}');
    }
    json_close(json, ']');
}

static void what_if_member(struct json *json, const struct profile *profile,
                           const struct reuse_figures *figures)
{
    if (profile->what_ifs_count == 0)
        return;
    json_begin(json, "what_if", '[');
    for (size_t i = 0; i < profile->what_ifs_count; i++) {
        const struct profile_what_if *cache = &profile->what_ifs[i];
        double accesses = cache->accesses ? (double)cache->accesses : 1;
        json_begin_item(json);
        json_count(json, "bytes", cache->bytes);
        json_count(json, "ways", cache->ways);
        json_count(json, "line_bytes", cache->line_bytes);
        json_count(json, "accesses", cache->accesses);
        json_count(json, "misses", cache->misses);
        json_decimal(json, "ratio", (double)cache->misses / accesses, 9);
        json_key(json, "curve_ratio");
        if (cache->line_bytes == figures->totals.unit_bytes)
            json_number(json, figures_miss_ratio(figures, (double)cache->bytes).ratio, 9);
        else
            json_raw(json, "null");
        json_close(json, '}');
    }
    json_close(json, ']');
}

static void pace_member(struct json *json, const struct reuse_figures *figures)
{
    if (!figures->paced)
        return;
    json_begin(json, "pace", '{');
    json_decimal(json, "accesses_per_ns", figures->pace.accesses_per_ns, 9);
    json_decimal(json, "low", figures->pace.low, 9);
    json_decimal(json, "high", figures->pace.high, 9);
    json_text(json, "calibration", figures->pace.calibration);
    json_decimal(json, "trap_ns", figures->pace.trap_ns, 9);
    json_decimal(json, "floor_ns", figures->pace.floor_ns, 9);
    json_close(json, '}');
}

/* ---- pairs ----------------------------------------------------------------------------------- */

/* Innermost first, as contexts are. */
static void loops_member(struct json *json, const char *name, const struct profile *profile,
                         const struct shape_loops *loops)
{
    json_begin(json, name, '[');
    for (unsigned i = loops->count; i-- > 0;) {
        const struct profile_loop *loop = &profile->loops[loops->loops[i]];
        char address[24];
        json_begin_item(json);
        json_text(json, "function", loop->function);
        json_text(json, "file", loop->file);
        json_signed(json, "line", loop->line ? (int64_t)loop->line : -1);
        json_text(json, "module", loop->module ? profile->modules[loop->module].path : NULL);
        snprintf(address, sizeof address, "0x%" PRIx64, loop->address);
        json_text(json, "address", address);
        json_close(json, '}');
    }
    json_close(json, ']');
}

static void ancestor_member(struct json *json, const struct profile *profile,
                            const struct shape *shape)
{
    json_key(json, "ancestor");
    if (!shape->use_frame) {
        json_raw(json, "null");
        return;
    }
    const struct profile_frame *use = &profile->frames[shape->use_frame];
    const struct profile_frame *reuse = &profile->frames[shape->reuse_frame];
    json_open(json, '{');
    json_text(json, "function", use->function);
    json_text(json, "file", use->file);
    json_signed(json, "use_line", use->line ? (int64_t)use->line : -1);
    json_signed(json, "reuse_line", reuse->line ? (int64_t)reuse->line : -1);
    json_close(json, '}');
}

static void shape_members(struct json *json, const struct reuse_ranking *ranking,
                          const struct reuse_figures *figures, struct source_cache *sources,
                          const struct reuse_pair *pair)
{
    struct shape shape;
    shape_find(ranking->places, pair, &shape);
    ancestor_member(json, ranking->places->profile, &shape);
    json_begin(json, "loops", '{');
    loops_member(json, "shared", ranking->places->profile, &shape.shared);
    loops_member(json, "use", ranking->places->profile, &shape.use);
    loops_member(json, "reuse", ranking->places->profile, &shape.reuse);
    json_close(json, '}');
    struct transform transform = transform_pair(ranking, figures, sources, pair, &shape);
    json_key(json, "suggestion");
    if (transform.kind == TRANSFORM_NONE) {
        json_raw(json, "null");
    } else {
        json_open(json, '{');
        json_text(json, "kind", transform.name);
        json_text(json, "text", transform.text);
        json_close(json, '}');
    }
    struct advice advice = transform_advice(figures, pair, &transform);
    json_advice(json, &advice);
}

static void saves_member(struct json *json, const struct reuse_ranking *ranking,
                         const struct reuse_figures *figures, const struct reuse_pair *pair)
{
    json_begin(json, "saves", '[');
    for (size_t i = 0; i < ranking->caches_count && ranking->distances; i++) {
        double bytes = (double)ranking->caches[i].bytes;
        json_begin_item(json);
        json_count(json, "bytes", ranking->caches[i].bytes);
        json_decimal(json, "ratio", figures_miss_ratio(figures, bytes).ratio, 9);
        json_decimal(json, "ratio_without", figures_ratio_without(figures, pair, bytes), 9);
        json_close(json, '}');
    }
    json_close(json, ']');
}

static void mean_member(struct json *json, const char *name, double sum, double weight, bool known)
{
    json_key(json, name);
    if (known && weight > 0)
        json_number(json, sum / weight, 9);
    else
        json_raw(json, "null");
}

static void contexts_members(struct json *json, const struct reuse_ranking *ranking,
                             const struct group *group)
{
    json_group(json, group);
    json_begin(json, "contexts", '[');
    for (size_t i = 0; i < group->links_count && i < JSON_CONTEXTS && !ferror(json->out); i++) {
        const struct reuse_pair *context = &ranking->contexts[group->links[i]];
        json_begin_item(json);
        json_decimal(json, "share", context->share, 6);
        json_decimal(json, "far_share", context->far_share, 6);
        json_count(json, "count", context->count);
        json_context(json, "use", ranking->places->profile, context->use);
        json_context(json, "reuse", ranking->places->profile, context->reuse);
        json_close(json, '}');
    }
    json_close(json, ']');
}

static void pair_object(struct json *json, const struct reuse_ranking *ranking,
                        const struct reuse_figures *figures, struct source_cache *sources,
                        const struct reuse_pair *pair)
{
    json_begin_item(json);
    json_decimal(json, "share", pair->share, 6);
    if (figures->sampled)
        json_interval(json, &pair->interval);
    json_decimal(json, "far_share", pair->far_share, 6);
    json_key(json, "once");
    json_raw(json, pair->once ? "true" : "false");
    json_count(json, "count", pair->count);
    json_decimal(json, "reuses", pair->weight, 15);
    mean_member(json, "time_mean", pair->time, pair->weight, true);
    mean_member(json, "stack_mean", pair->stack, pair->weight, ranking->distances);
    json_context(json, "use", ranking->places->profile, pair->use);
    json_context(json, "reuse", ranking->places->profile, pair->reuse);
    shape_members(json, ranking, figures, sources, pair);
    saves_member(json, ranking, figures, pair);
    objects_json_group(json, &ranking->objects, ranking->places, PROFILE_REUSE, &ranking->groups,
                       pair->group);
    if (pair->group->by != REPORT_BY_CONTEXT)
        contexts_members(json, ranking, pair->group);
    json_close(json, '}');
}

static void pairs_members(struct json *json, const struct reuse_ranking *ranking,
                          const struct reuse_figures *figures, const char *const names[2],
                          const struct report_options *options)
{
    struct source_cache sources = {.enabled = options->sources,
                                   .not_newer_than_ns = ranking->places->profile->run.start_ns};
    unsigned limit = options->limit;
    json_count(json, names[0], ranking->pairs_count);
    json_begin(json, names[1], '[');
    uint64_t frames = json->frames;
    for (size_t i = 0; i < ranking->pairs_count && json_list_goes_on(json, frames, i, limit); i++)
        pair_object(json, ranking, figures, &sources, &ranking->pairs[i]);
    json_close(json, ']');
    source_free(&sources);
}

static void order_member(struct json *json, const struct reuse_ranking *ranking)
{
    json_key(json, "ranked_beyond_bytes");
    if (ranking->distances)
        fprintf(json->out, "%" PRIu64, ranking->caches[0].bytes);
    else
        json_raw(json, "null");
}

static void reuse_totals(struct json *json, const struct profile_reuse *totals)
{
    const char *unit = totals->unit_bytes == 1 ? "byte" : totals->unit_bytes == 8 ? "word" : "line";
    json_text(json, "unit", unit);
    json_count(json, "unit_bytes", totals->unit_bytes);
    json_decimal(json, "accesses", totals->accesses, 15);
    json_decimal(json, "reuses", totals->reuses, 15);
    json_decimal(json, "locations", totals->locations, 15);
    json_decimal(json, "never_reused", totals->never_reused, 15);
    json_decimal(json, "sample_locations", totals->share_first, 9);
    json_decimal(json, "sample_locations_end", totals->share_last, 9);
    json_count(json, "kept_accesses", totals->kept_accesses);
    json_count(json, "kept_locations", totals->kept_locations);
}

/* Of a recording by samples: what became of them. */
static void samples_members(struct json *json, const struct profile *profile)
{
    for (size_t i = 0; i < profile->kinds_count; i++) {
        const struct profile_kind *kind = &profile->kinds[i];
        if (kind->kind != PROFILE_REUSE)
            continue;
        json_count(json, "samples", kind->samples);
        json_count(json, "armed", kind->armed);
        json_count(json, "traps", kind->traps);
        json_count(json, "ignored", kind->ignored);
        json_count(json, "evicted", kind->evicted);
        json_count(json, "abandoned", kind->abandoned);
    }
}

static void evidence_member(struct json *json, const struct reuse_figures *figures)
{
    if (!figures->sampled)
        return;
    json_key(json, "too_few_samples");
    json_raw(json, figures_too_few(figures) ? "true" : "false");
}

static void agreement_members(struct json *json, const struct reuse_figures *figures)
{
    json_key(json, "model_agreement");
    json_number(json, mrc_similarity(figures->from_time, figures->expected), 6);
    if (figures->totals.stack)
        json_decimal(json, "stack_agreement", figures_agreement(figures), 6);
}

/* causes: the findings by cause, or NULL. */
static void members(struct json *json, const struct reuse_ranking *ranking,
                    const struct reuse_ranking *causes, const struct reuse_figures *figures,
                    const struct report_options *options)
{
    const struct profile *profile = ranking->places->profile;
    json_begin(json, "reuse", '{');
    reuse_totals(json, &figures->totals);
    samples_members(json, profile);
    evidence_member(json, figures);
    pace_member(json, figures);
    histograms_members(json, figures, options->paper_bins);
    ratios_member(json, figures);
    json_text(json, "miss_ratio_from", figures->totals.stack ? "stack" : "stack_from_time");
    caches_member(json, profile, figures);
    what_if_member(json, profile, figures);
    agreement_members(json, figures);
    order_member(json, ranking);
    pairs_members(json, ranking, figures, json_pairs_names, options);
    if (causes)
        pairs_members(json, causes, figures, json_findings_names, options);
    json_close(json, '}');
}

bool reuse_json(struct json *json, const struct places *places,
                const struct report_options *options)
{
    if (places->profile->reuses_count == 0)
        return true;
    enum report_by by = options->by ? options->by : REPORT_BY_CONTEXT;
    struct reuse_report *report = reuse_report_make(places, by);
    struct reuse_report *causes =
        report && !options->by ? reuse_report_make(places, REPORT_BY_CAUSE) : NULL;
    bool good = report && (causes || options->by);
    if (good)
        members(json, &report->ranking, causes ? &causes->ranking : NULL, &report->figures,
                options);
    if (report)
        reuse_report_free(report);
    if (causes)
        reuse_report_free(causes);
    return good;
}
