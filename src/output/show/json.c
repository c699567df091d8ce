// SPDX-License-Identifier: MIT
/* The report as JSON, "headroom-report/1" (docs/formats/report.md): the run and its waste. */
#include "show/json.h"
#include "show/parts.h"

#include <inttypes.h>
#include <string.h>

/* ---- findings ------------------------------------------------------------------------------- */

static void pair_object(struct json *json, const struct profile *profile,
                        const struct rank_pair *pair)
{
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
    json_close(json, '}');
}

static void kind_object(struct json *json, const struct profile *profile,
                        const struct rank_kind *kind, bool exact, unsigned limit)
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
    if (exact)
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
        pair_object(json, profile, &kind->pairs[i]);
    json_close(json, ']');
    json_close(json, '}');
}

static void waste_member(struct json *json, const struct ranking *ranking, unsigned limit)
{
    json_begin(json, "waste", '{');
    for (size_t i = 0; i < ranking->kinds_count; i++)
        kind_object(json, ranking->profile, &ranking->kinds[i], ranking->exact, limit);
    json_close(json, '}');
}

/* ---- the run -------------------------------------------------------------------------------- */

static void modules_member(struct json *json, const struct profile *profile)
{
    static const char *const details[PROFILE_DETAILS] = {"lines", "symbols", "exports", "none"};
    json_begin(json, "modules", '[');
    for (size_t i = 1; i < profile->modules_count; i++) {
        const struct profile_module *module = &profile->modules[i];
        char id[2 * PROFILE_BUILD_ID_BYTES + 1] = "";
        for (uint32_t b = 0; b < module->build_id_bytes; b++)
            snprintf(id + 2 * b, 3, "%02x", module->build_id[b]);
        json_begin_item(json);
        json_text(json, "path", module->path);
        json_text(json, "build_id", id[0] ? id : NULL);
        json_text(json, "detail", details[module->detail]);
        json_close(json, '}');
    }
    json_close(json, ']');
}

static void accounts(struct json *json, const struct profile *profile)
{
    const struct profile_run *run = &profile->run;
    json_count(json, "attempted", run->attempted);
    json_count(json, "stored", run->stored);
    json_begin(json, "dropped", '{');
    for (size_t i = 0; i < profile->drops_count; i++) {
        json_item(json);
        json_quote(json, profile->drops[i].reason);
        fprintf(json->out, ":%" PRIu64, profile->drops[i].count);
    }
    json_close(json, '}');
    json_count(json, "corrupt_records", run->corrupt_records);
    json_count(json, "lost_threads", run->lost_threads);
    json_count(json, "lost_processes", run->lost_processes);
}

/* What an engine that sees every access has counted. */
static void exact_member(struct json *json, const struct profile *profile)
{
    struct profile_exact total = profile_exact_total(profile);
    json_begin(json, "exact", '{');
    json_count(json, "loads", total.loads);
    json_count(json, "stores", total.stores);
    json_count(json, "load_bytes", total.load_bytes);
    json_count(json, "store_bytes", total.store_bytes);
    json_count(json, "fresh_load_bytes", total.fresh_load_bytes);
    json_count(json, "fresh_store_bytes", total.fresh_store_bytes);
    json_count(json, "kernel_load_bytes", total.kernel_load_bytes);
    json_count(json, "kernel_store_bytes", total.kernel_store_bytes);
    json_count(json, "accesses_in_context", total.ids);
    json_count(json, "contexts", total.contexts);
    json_count(json, "instructions", total.instructions);
    json_close(json, '}');
}

/* The recordings of a merged profile. */
static void merged_member(struct json *json, const struct profile *profile)
{
    json_begin(json, "merged", '[');
    for (size_t i = 0; i < profile->merged_count; i++) {
        const struct profile_merged *merged = &profile->merged[i];
        json_begin_item(json);
        json_text(json, "file", merged->file);
        json_text(json, "host", merged->host);
        json_text(json, "command", merged->command);
        json_count(json, "start_ns", merged->start_ns);
        json_begin(json, "exit", '{');
        json_signed(json, "code", merged->exit_code);
        json_signed(json, "signal", merged->exit_signal);
        json_close(json, '}');
        json_count(json, "processes", merged->processes);
        json_close(json, '}');
    }
    json_close(json, ']');
}

static void head(struct json *json, const struct profile *profile)
{
    const struct profile_run *run = &profile->run;
    json_text(json, "schema", "headroom-report/1");
    json_text(json, "verb", run->verb);
    json_text(json, "engine", run->engine);
    json_text(json, "source", run->source);
    json_text(json, "weighting", run->weighting);
    json_texts(json, "command", profile->arguments, profile->arguments_count);
    json_begin(json, "exit", '{');
    json_signed(json, "code", run->exit_code);
    json_signed(json, "signal", run->exit_signal);
    json_close(json, '}');
    json_count(json, "processes", run->processes);
    json_count(json, "threads", run->threads);
    json_seconds(json, "wall_s", run->wall_s);
    json_seconds(json, "cpu_s", run->cpu_s);
    json_texts(json, "degraded", profile->degraded, profile->degraded_count);
    json_text(json, "version", run->version);
    json_text(json, "host", run->host);
    json_text(json, "kernel", run->kernel);
    json_text(json, "cpu", run->cpu);
    json_count(json, "start_ns", run->start_ns);
    json_count(json, "interval_ns", run->interval_ns);
    json_count(json, "period", run->period);
    json_count(json, "registers", run->registers);
    json_flag(json, "kernel_accesses", run->watch_kernel != 0);
    json_decimal(json, "fp_tolerance", run->fp_tolerance, 6);
    json_count(json, "handler_ns", run->handler_ns);
    accounts(json, profile);
    if (profile->merged_count)
        merged_member(json, profile);
    if (profile->exacts_count)
        exact_member(json, profile);
    modules_member(json, profile);
}

static bool has_waste(const struct profile *profile)
{
    for (size_t i = 0; i < profile->kinds_count; i++)
        if (profile->kinds[i].kind != PROFILE_REUSE)
            return true;
    return false;
}

enum base_status report_json(struct profile *profile, const struct report_options *options,
                             FILE *out)
{
    struct json json = {.out = out};
    struct ranking ranking;
    enum base_status status = rank_profile(profile, options->kinds, false, &ranking);
    if (status != BASE_OK)
        return status;
    json_open(&json, '{');
    head(&json, profile);
    /* A verb leaves the other ones' objects out. */
    if (has_waste(profile) || strcmp(profile->run.verb, "waste") == 0)
        waste_member(&json, &ranking, options->limit);
    bool good = profile->reuses_count == 0 || json_reuse(&json, &ranking, options);
    if (good && strcmp(profile->run.verb, "paths") == 0)
        good = json_paths(&json, profile, options);
    if (good && strcmp(profile->run.verb, "interference") == 0)
        good = json_interference(&json, profile, options);
    json_close(&json, '}');
    putc('\n', out);
    rank_free(&ranking);
    if (!good)
        return BASE_NO_MEMORY;
    return fflush(out) == 0 && !ferror(out) ? BASE_OK : BASE_IO;
}
