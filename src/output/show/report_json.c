// SPDX-License-Identifier: MIT
/* The report as JSON, "headroom-report/1" (docs/formats/report.md): the run; the rest is the
 * verbs'. */
#include "show/json.h"

#include "analysis/analysis.h"
#include "show/coverage.h"
#include "show/places.h"

#include <inttypes.h>

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
    json_count(json, "short_threads", run->short_threads);
    json_count(json, "lost_processes", run->lost_processes);
}

/* What an engine that sees every access has counted. */
static void exact_member(struct json *json, const struct profile *profile)
{
    struct profile_exact total = profile_exact_total(profile);
    json_begin(json, "exact", '{');
    json_count(json, "loads", total.loads);
    json_count(json, "stores", total.stores);
    json_count(json, "unseen", profile->run.unseen_accesses);
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
    json_flag(json, "adaptive_rate", run->adaptive != 0);
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
    coverage_json(json, profile);
    coverage_json_unoptimized(json, profile);
    modules_member(json, profile);
}

enum base_status report_json(struct profile *profile, const struct report_options *options,
                             FILE *out)
{
    struct json json = {.out = out};
    struct places places;
    bool good = true;
    enum base_status status = places_make(profile, false, &places);
    if (status != BASE_OK)
        return status;
    json_open(&json, '{');
    head(&json, profile);
    for (const struct analysis *const *at = analyses; *at && good; at++)
        good = (*at)->json(&json, &places, options);
    json_close(&json, '}');
    putc('\n', out);
    places_free(&places);
    if (!good)
        return BASE_NO_MEMORY;
    return fflush(out) == 0 && !ferror(out) ? BASE_OK : BASE_IO;
}
