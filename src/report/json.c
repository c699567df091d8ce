// SPDX-License-Identifier: MIT
/*
 * The report as JSON, "headroom-report/1" (docs/formats/report.md). Written by
 * hand: the output is one fixed shape, and strings may hold any bytes, which JSON
 * libraries refuse.
 */
#include "report/parts.h"

#include <inttypes.h>
#include <string.h>

struct json {
    FILE *out;
    bool comma; /* a value precedes on this level */
};

/* ---- values ----------------------------------------------------------------------------- */

static void raw(struct json *json, const char *text)
{
    fputs(text, json->out);
}

/* Invalid bytes become U+FFFD; control characters, quotes and backslashes are escaped. DEL and
   line separators are legal in JSON. */
static void string(struct json *json, const char *text)
{
    if (!text) {
        raw(json, "null");
        return;
    }
    putc('"', json->out);
    while (*text) {
        size_t bytes = name_utf8(text);
        if (bytes == 0) {
            raw(json, "\\ufffd");
            bytes = 1;
        } else if (*text == '"' || *text == '\\') {
            fprintf(json->out, "\\%c", *text);
        } else if ((unsigned char)*text < 0x20) {
            fprintf(json->out, "\\u%04x", (unsigned)*text);
        } else {
            fwrite(text, 1, bytes, json->out);
        }
        text += bytes;
    }
    putc('"', json->out);
}

/* The locale's decimal separator must not get in. */
static void number(struct json *json, double value, int digits)
{
    char text[64];
    snprintf(text, sizeof text, "%.*g", digits, value);
    for (char *at = text; *at; at++)
        if (!strchr("0123456789+-eE", *at))
            *at = '.';
    raw(json, text);
}

/* ---- structure ---------------------------------------------------------------------------- */

static void item(struct json *json)
{
    if (json->comma)
        putc(',', json->out);
    json->comma = true;
}

static void key(struct json *json, const char *name)
{
    item(json);
    fprintf(json->out, "\"%s\":", name);
}

static void open_level(struct json *json, char bracket)
{
    putc(bracket, json->out);
    json->comma = false;
}

static void close_level(struct json *json, char bracket)
{
    putc(bracket, json->out);
    json->comma = true;
}

static void text_member(struct json *json, const char *name, const char *value)
{
    key(json, name);
    string(json, value);
}

static void count_member(struct json *json, const char *name, uint64_t value)
{
    key(json, name);
    fprintf(json->out, "%" PRIu64, value);
}

static void real_member(struct json *json, const char *name, double value, int digits)
{
    key(json, name);
    number(json, value, digits);
}

static void flag_member(struct json *json, const char *name, bool value)
{
    key(json, name);
    raw(json, value ? "true" : "false");
}

/* null when negative */
static void signed_member(struct json *json, const char *name, int64_t value)
{
    key(json, name);
    if (value < 0)
        raw(json, "null");
    else
        fprintf(json->out, "%" PRId64, value);
}

static void seconds_member(struct json *json, const char *name, double value)
{
    key(json, name);
    if (value < 0)
        raw(json, "null");
    else
        number(json, value, 9);
}

static void interval_member(struct json *json, const struct profile_share *share)
{
    key(json, "ci95");
    if (!share->known) {
        raw(json, "null");
        return;
    }
    putc('[', json->out);
    number(json, share->low, 6);
    putc(',', json->out);
    number(json, share->high, 6);
    putc(']', json->out);
}

static void texts_member(struct json *json, const char *name, const struct profile_text *texts,
                         size_t count)
{
    key(json, name);
    open_level(json, '[');
    for (size_t i = 0; i < count; i++) {
        item(json);
        string(json, texts[i].text);
    }
    close_level(json, ']');
}

/* ---- findings ------------------------------------------------------------------------------- */

static void frame_object(struct json *json, const struct profile *profile,
                         const struct profile_frame *frame)
{
    item(json);
    open_level(json, '{');
    text_member(json, "function", frame->function);
    text_member(json, "file", frame->file);
    key(json, "line");
    if (frame->line)
        fprintf(json->out, "%" PRIu32, frame->line);
    else
        raw(json, "null");
    text_member(json, "module", frame->module ? profile->modules[frame->module].path : NULL);
    key(json, "address");
    fprintf(json->out, "\"0x%" PRIx64 "\"", frame->address);
    flag_member(json, "inlined", frame->flags & PROFILE_FRAME_INLINED);
    if (frame->flags & PROFILE_FRAME_KERNEL)
        flag_member(json, "kernel", true);
    if (frame->flags & PROFILE_FRAME_INCOMPLETE)
        flag_member(json, "incomplete", true);
    close_level(json, '}');
}

static void context_member(struct json *json, const char *name, const struct profile *profile,
                           uint32_t context)
{
    key(json, name);
    open_level(json, '[');
    for (; context; context = profile->contexts[context].parent)
        frame_object(json, profile, &profile->frames[profile->contexts[context].frame]);
    close_level(json, ']');
}

static void pair_object(struct json *json, const struct profile *profile,
                        const struct rank_pair *pair)
{
    item(json);
    open_level(json, '{');
    real_member(json, "share", pair->share.share, 6);
    interval_member(json, &pair->share);
    real_member(json, "waste_bytes", pair->waste_bytes, 15);
    real_member(json, "use_bytes", pair->use_bytes, 15);
    count_member(json, "traps", pair->waste_traps + pair->use_traps);
    count_member(json, "kernel_traps", pair->kernel_traps);
    count_member(json, "likely_traps", pair->likely_traps);
    count_member(json, "float_traps", pair->float_traps);
    context_member(json, "first", profile, pair->first);
    context_member(json, "second", profile, pair->second);
    close_level(json, '}');
}

static void kind_object(struct json *json, const struct profile *profile,
                        const struct rank_kind *kind, bool exact, unsigned limit)
{
    const struct profile_kind *totals = kind->totals;
    key(json, profile_kind_names[totals->kind]);
    open_level(json, '{');
    key(json, "fraction");
    if (kind->fraction.known)
        number(json, kind->fraction.share, 6);
    else
        raw(json, "null");
    interval_member(json, &kind->fraction);
    flag_member(json, "too_few_samples", kind->too_few);
    key(json, "effective_samples");
    if (exact)
        raw(json, "null");
    else
        number(json, kind->fraction.effective, 6);
    real_member(json, "waste_bytes", totals->waste_bytes, 15);
    real_member(json, "use_bytes", totals->use_bytes, 15);
    count_member(json, "samples", totals->samples);
    count_member(json, "armed", totals->armed);
    count_member(json, "traps", totals->traps);
    count_member(json, "ignored", totals->ignored);
    count_member(json, "evicted", totals->evicted);
    count_member(json, "abandoned", totals->abandoned);
    key(json, "blindspot_max_share");
    if (totals->samples)
        number(json, (double)totals->blind_longest / (double)totals->samples, 6);
    else
        raw(json, "null");
    count_member(json, "pairs_total", kind->pairs_count);
    key(json, "pairs");
    open_level(json, '[');
    for (size_t i = 0; i < kind->pairs_count && (limit == 0 || i < limit); i++)
        pair_object(json, profile, &kind->pairs[i]);
    close_level(json, ']');
    close_level(json, '}');
}

static void waste_member(struct json *json, const struct ranking *ranking, unsigned limit)
{
    key(json, "waste");
    open_level(json, '{');
    for (size_t i = 0; i < ranking->kinds_count; i++)
        kind_object(json, ranking->profile, &ranking->kinds[i], ranking->exact, limit);
    close_level(json, '}');
}

/* ---- reuse ---------------------------------------------------------------------------------- */

/* Many readers of JSON have integers of 63 bits. */
static uint64_t readable(uint64_t distance)
{
    return distance <= INT64_MAX ? distance : INT64_MAX;
}

/* Shares of the reuses; bins without any are left out. */
static void histogram_member(struct json *json, const char *name, const double *histogram)
{
    double sum = reuse_sum(histogram);
    key(json, name);
    open_level(json, '[');
    for (unsigned bin = 0; bin < DISTANCE_BINS && sum > 0; bin++) {
        if (histogram[bin] <= 0)
            continue;
        item(json);
        open_level(json, '{');
        count_member(json, "lo", readable(distance_bin_low(bin)));
        count_member(json, "hi", readable(reuse_bin_end(bin)));
        real_member(json, "share", histogram[bin] / sum, 9);
        close_level(json, '}');
    }
    close_level(json, ']');
}

static void ratios_member(struct json *json, const char *name, const struct reuse_figures *figures,
                          const double *stack)
{
    uint64_t enough = figures_enough(figures);
    key(json, name);
    open_level(json, '[');
    for (uint64_t units = 1; units <= enough; units *= 2) {
        item(json);
        open_level(json, '{');
        real_member(json, "bytes", (double)units * figures->totals.unit_bytes, 17);
        real_member(json, "ratio", reuse_miss_ratio(stack, figures->misses, units), 9);
        close_level(json, '}');
    }
    close_level(json, ']');
}

static void mean_member(struct json *json, const char *name, double sum, double weight, bool known)
{
    key(json, name);
    if (known && weight > 0)
        number(json, sum / weight, 9);
    else
        raw(json, "null");
}

static void reuse_pair_object(struct json *json, const struct profile *profile,
                              const struct rank_reuse_pair *pair, bool stack)
{
    item(json);
    open_level(json, '{');
    real_member(json, "share", pair->share, 6);
    real_member(json, "far_share", pair->far_share, 6);
    count_member(json, "count", pair->count);
    real_member(json, "reuses", pair->weight, 15);
    mean_member(json, "time_mean", pair->time, pair->weight, true);
    mean_member(json, "stack_mean", pair->stack, pair->weight, stack);
    context_member(json, "use", profile, pair->use);
    context_member(json, "reuse", profile, pair->reuse);
    close_level(json, '}');
}

static void reuse_totals(struct json *json, const struct profile_reuse *totals)
{
    const char *unit = totals->unit_bytes == 1 ? "byte" : totals->unit_bytes == 8 ? "word" : "line";
    text_member(json, "unit", unit);
    count_member(json, "unit_bytes", totals->unit_bytes);
    real_member(json, "accesses", totals->accesses, 15);
    real_member(json, "reuses", totals->reuses, 15);
    real_member(json, "locations", totals->locations, 15);
    real_member(json, "never_reused", totals->never_reused, 15);
    real_member(json, "sample_locations", totals->share_first, 9);
    real_member(json, "sample_locations_end", totals->share_last, 9);
    count_member(json, "kept_accesses", totals->kept_accesses);
    count_member(json, "kept_locations", totals->kept_locations);
}

static void reuse_member(struct json *json, const struct ranking *ranking, unsigned limit)
{
    struct reuse_figures figures;
    bool stack;
    figures_reuse(ranking->profile, &figures);
    stack = figures.totals.stack != 0;
    key(json, "reuse");
    open_level(json, '{');
    reuse_totals(json, &figures.totals);
    histogram_member(json, "time", figures.time);
    histogram_member(json, "stack", figures.stack);
    histogram_member(json, "stack_from_time", figures.from_time);
    ratios_member(json, "miss_ratio", &figures, figures_stack(&figures));
    text_member(json, "miss_ratio_from", stack ? "stack" : "stack_from_time");
    key(json, "model_agreement");
    number(json, reuse_similarity(figures.from_time, figures.expected), 6);
    if (stack)
        real_member(json, "stack_agreement", reuse_similarity(figures.from_time, figures.stack), 6);
    count_member(json, "pairs_total", ranking->reuse_pairs_count);
    key(json, "pairs");
    open_level(json, '[');
    for (size_t i = 0; i < ranking->reuse_pairs_count && (limit == 0 || i < limit); i++)
        reuse_pair_object(json, ranking->profile, &ranking->reuse_pairs[i], stack);
    close_level(json, ']');
    close_level(json, '}');
}

/* ---- the run -------------------------------------------------------------------------------- */

static void modules_member(struct json *json, const struct profile *profile)
{
    static const char *const details[PROFILE_DETAILS] = {"lines", "symbols", "exports", "none"};
    key(json, "modules");
    open_level(json, '[');
    for (size_t i = 1; i < profile->modules_count; i++) {
        const struct profile_module *module = &profile->modules[i];
        char id[2 * PROFILE_BUILD_ID_BYTES + 1] = "";
        for (uint32_t b = 0; b < module->build_id_bytes; b++)
            snprintf(id + 2 * b, 3, "%02x", module->build_id[b]);
        item(json);
        open_level(json, '{');
        text_member(json, "path", module->path);
        text_member(json, "build_id", id[0] ? id : NULL);
        text_member(json, "detail", details[module->detail]);
        close_level(json, '}');
    }
    close_level(json, ']');
}

static void accounts(struct json *json, const struct profile *profile)
{
    const struct profile_run *run = &profile->run;
    count_member(json, "attempted", run->attempted);
    count_member(json, "stored", run->stored);
    key(json, "dropped");
    open_level(json, '{');
    for (size_t i = 0; i < profile->drops_count; i++) {
        item(json);
        string(json, profile->drops[i].reason);
        fprintf(json->out, ":%" PRIu64, profile->drops[i].count);
    }
    close_level(json, '}');
    count_member(json, "corrupt_records", run->corrupt_records);
    count_member(json, "lost_threads", run->lost_threads);
    count_member(json, "lost_processes", run->lost_processes);
}

/* What an engine that sees every access has counted. */
static void exact_member(struct json *json, const struct profile *profile)
{
    struct profile_exact total = profile_exact_total(profile);
    key(json, "exact");
    open_level(json, '{');
    count_member(json, "loads", total.loads);
    count_member(json, "stores", total.stores);
    count_member(json, "load_bytes", total.load_bytes);
    count_member(json, "store_bytes", total.store_bytes);
    count_member(json, "fresh_load_bytes", total.fresh_load_bytes);
    count_member(json, "fresh_store_bytes", total.fresh_store_bytes);
    count_member(json, "kernel_load_bytes", total.kernel_load_bytes);
    count_member(json, "kernel_store_bytes", total.kernel_store_bytes);
    count_member(json, "accesses_in_context", total.ids);
    count_member(json, "contexts", total.contexts);
    count_member(json, "instructions", total.instructions);
    close_level(json, '}');
}

static void head(struct json *json, const struct profile *profile)
{
    const struct profile_run *run = &profile->run;
    text_member(json, "schema", "headroom-report/1");
    text_member(json, "verb", run->verb);
    text_member(json, "engine", run->engine);
    text_member(json, "source", run->source);
    text_member(json, "weighting", run->weighting);
    texts_member(json, "command", profile->arguments, profile->arguments_count);
    key(json, "exit");
    open_level(json, '{');
    signed_member(json, "code", run->exit_code);
    signed_member(json, "signal", run->exit_signal);
    close_level(json, '}');
    count_member(json, "processes", run->processes);
    count_member(json, "threads", run->threads);
    seconds_member(json, "wall_s", run->wall_s);
    seconds_member(json, "cpu_s", run->cpu_s);
    texts_member(json, "degraded", profile->degraded, profile->degraded_count);
    text_member(json, "version", run->version);
    text_member(json, "host", run->host);
    text_member(json, "kernel", run->kernel);
    text_member(json, "cpu", run->cpu);
    count_member(json, "start_ns", run->start_ns);
    count_member(json, "interval_ns", run->interval_ns);
    count_member(json, "period", run->period);
    count_member(json, "registers", run->registers);
    flag_member(json, "kernel_accesses", run->watch_kernel != 0);
    real_member(json, "fp_tolerance", run->fp_tolerance, 6);
    count_member(json, "handler_ns", run->handler_ns);
    accounts(json, profile);
    if (profile->exacts_count)
        exact_member(json, profile);
    modules_member(json, profile);
}

enum base_status report_json(struct profile *profile, const struct report_options *options,
                             FILE *out)
{
    struct json json = {.out = out};
    struct ranking ranking;
    enum base_status status = rank_profile(profile, options->kinds, false, &ranking);
    if (status != BASE_OK)
        return status;
    open_level(&json, '{');
    head(&json, profile);
    /* A verb leaves the other ones' objects out. */
    if (profile->kinds_count || strcmp(profile->run.verb, "waste") == 0)
        waste_member(&json, &ranking, options->limit);
    if (profile->reuses_count)
        reuse_member(&json, &ranking, options->limit);
    close_level(&json, '}');
    putc('\n', out);
    rank_free(&ranking);
    return fflush(out) == 0 && !ferror(out) ? BASE_OK : BASE_IO;
}
