// SPDX-License-Identifier: MIT
/* JSON. Numbers that do not exist (0/0) are null. */
#include "mrc/mrc.h"
#include "simulate.h"

#include <math.h>

enum { LISTED_MAX = 20 };

static void number(FILE *out, const char *key, double value)
{
    if (isfinite(value))
        fprintf(out, "\"%s\":%.6g", key, value);
    else
        fprintf(out, "\"%s\":null", key);
}

static void numbers(FILE *out, const char *key, const double *values, size_t count)
{
    fprintf(out, "\"%s\":[", key);
    for (size_t i = 0; i < count; i++)
        fprintf(out, isfinite(values[i]) ? "%s%.6g" : "%snull", i ? "," : "", values[i]);
    fputs("]", out);
}

static void string(FILE *out, const char *key, const char *text)
{
    fprintf(out, "\"%s\":\"", key);
    for (; *text; text++)
        if (*text == '"' || *text == '\\')
            fprintf(out, "\\%c", *text);
        else if ((unsigned char)*text < ' ')
            fprintf(out, "\\u%04x", (unsigned)*text);
        else
            fputc(*text, out);
    fputs("\"", out);
}

static void write_trace(FILE *out, const struct simulation *simulation)
{
    const struct simulation_counts *counts = &simulation->counts;
    fprintf(out,
            "\"trace\":{\"accesses\":%lu,\"foreign\":%lu,\"loads\":%lu,\"stores\":%lu,\"kernel_"
            "loads\":%lu,"
            "\"kernel_stores\":%lu,\"kernel_load_bytes\":%lu,\"kernel_store_bytes\":%lu,"
            "\"nodes\":%lu,\"contexts\":%zu,\"ids\":%lu,\"threads\":%lu,\"forgets\":%lu,\"out_of_"
            "range\":%lu,"
            "\"complete\":%s}",
            simulation->now, counts->foreign, counts->accesses[0], counts->accesses[1],
            counts->kernel_events[0], counts->kernel_events[1], counts->kernel_bytes[0],
            counts->kernel_bytes[1], counts->nodes, simulation->nodes.count, counts->ids,
            counts->threads, counts->forgets, counts->out_of_range,
            counts->complete ? "true" : "false");
}

/* ---- truth ----------------------------------------------------------------------------------- */

/* Where the leaf is: module and address in its file. */
static void write_node(FILE *out, const char *key, const struct nodes *nodes, uint32_t number)
{
    static const struct node nowhere;
    const struct node *node = number < nodes->count ? &nodes->nodes[number] : &nowhere;
    const char *path = node->module < MODULES_MAX ? nodes->paths[node->module] : NULL;
    fprintf(out, "\"%s\":{\"node\":%u,\"address\":\"0x%lx\",", key, number, node->address);
    string(out, "module", path ? path : "");
    fputs("}", out);
}

static void write_pairs(FILE *out, const struct nodes *nodes, const struct ranked *ranked)
{
    fprintf(out, "\"top\":%zu,\"pairs\":[", ranked->top);
    for (size_t i = 0; i < LISTED_MAX && ranked->order[i]; i++) {
        const struct tally_entry *entry = ranked->order[i];
        fputs(i ? ",{" : "{", out);
        write_node(out, "first", nodes, tally_first(entry));
        fputs(",", out);
        write_node(out, "second", nodes, tally_second(entry));
        fputs(",", out);
        number(out, "share", entry->waste[METHOD_NONE] / ranked->waste);
        fputs("}", out);
    }
    fputs("]", out);
}

static void write_true_waste(FILE *out, const struct truth *truth, const struct nodes *nodes)
{
    fputs("\"waste\":{", out);
    for (unsigned kind = 0; kind < DETECT_REUSE && truth->waste; kind++) {
        const struct tally *tally = &truth->pairs[kind];
        double waste = 0, use = 0;
        for (size_t i = 0; i < tally->capacity; i++) {
            waste += tally->entries[i].waste[METHOD_NONE];
            use += tally->entries[i].use[METHOD_NONE];
        }
        fprintf(out, "%s\"%s\":{\"waste_bytes\":%.0f,\"use_bytes\":%.0f,", kind ? "," : "",
                detect_kinds[kind].name, waste, use);
        number(out, "fraction", truth->ranked_pairs[kind].fraction);
        fputs(",", out);
        write_pairs(out, nodes, &truth->ranked_pairs[kind]);
        fputs("}", out);
    }
    fputs("}", out);
}

/* Paper bins of the truth, and of what the model makes of the true times. */
struct true_bins {
    double time[PAPER_BINS], stack[PAPER_BINS], modelled[PAPER_BINS];
    double model[DISTANCE_BINS];
};

static void bin_truth(const struct truth *truth, unsigned unit, struct true_bins *bins)
{
    const struct distance_totals *totals = &truth->totals[unit];
    score_paper_bins(truth->time_bins[unit], bins->time);
    score_paper_bins(truth->stack_bins[unit], bins->stack);
    score_stack_model(truth->time_bins[unit], totals->accesses, totals->locations, bins->model);
    score_paper_bins(bins->model, bins->modelled);
}

static void write_similarity(FILE *out, const char *what, const double *truth,
                             const double *estimate)
{
    fprintf(out, "\"%s_s\":", what);
    double plain = score_similarity(truth, estimate);
    double windowed = score_similarity_windowed(truth, estimate);
    if (isfinite(plain))
        fprintf(out, "%.6g,\"%s_s_hat\":%.6g", plain, what, windowed);
    else
        fprintf(out, "null,\"%s_s_hat\":null", what);
}

static void write_true_reuse(FILE *out, const struct truth *truth, const struct nodes *nodes,
                             const struct true_bins *bins)
{
    bool first = true;
    fputs("\"reuse\":{", out);
    for (unsigned unit = 0; unit < UNITS; unit++) {
        const struct distance_totals *totals = &truth->totals[unit];
        if (!truth->distances[unit])
            continue;
        fprintf(out,
                "%s\"%s\":{\"touches\":%.0f,\"reuses\":%.0f,\"locations\":%.0f,"
                "\"never_reused\":%.0f,",
                first ? "" : ",", unit_names[unit], totals->accesses, totals->reuses,
                totals->locations, totals->never_reused);
        numbers(out, "time", bins[unit].time, PAPER_BINS);
        if (truth->stack) {
            fputs(",", out);
            numbers(out, "stack", bins[unit].stack, PAPER_BINS);
        }
        if (truth->stack) {
            fputs(",", out);
            numbers(out, "stack_from_time", bins[unit].modelled, PAPER_BINS);
            fputs(",", out);
            write_similarity(out, "model", bins[unit].stack, bins[unit].modelled);
            fputs(",", out);
            number(out, "model_s_octaves",
                   mrc_similarity(truth->stack_bins[unit], bins[unit].model));
        }
        fputs(",", out);
        write_pairs(out, nodes, &truth->ranked_reuses[unit]);
        fputs("}", out);
        first = false;
    }
    fputs("}", out);
}

/* ---- samplers -------------------------------------------------------------------------------- */

static const char *const policies[] = {
    [DETECT_RESERVOIR] = "reservoir",
    [DETECT_RENEWAL] = "renewal",
};

static void write_counts(FILE *out, const struct sampler *sampler, unsigned kind)
{
    const struct detect_counts *counts = &sampler->counts;
    fprintf(out,
            "\"period\":%lu,\"registers\":%u,\"policy\":\"%s\",\"repeat\":%u,\"samples\":%lu,"
            "\"armed\":%lu,"
            "\"traps\":%lu,\"ignored\":%lu,\"evicted\":%lu,\"abandoned\":%lu,\"blind_longest\":%lu",
            sampler->settings.period, sampler->settings.registers,
            policies[sampler->settings.policy], sampler->settings.repeat, counts->samples[kind],
            counts->armed[kind], counts->traps[kind], counts->ignored[kind], counts->evicted[kind],
            counts->abandoned[kind], counts->blind_longest[kind]);
}

static void write_top(FILE *out, const struct ranked *truth, const struct tally *estimate,
                      enum method method)
{
    struct top_score score;
    if (!score_top(truth, estimate, method, &score)) {
        fputs("\"top\":null", out);
        return;
    }
    fprintf(out, "\"top\":{\"pairs\":%zu,\"found\":%zu,", score.top, score.found);
    number(out, "overlap", score.overlap);
    fputs(",", out);
    number(out, "rank_correlation", score.rank_correlation);
    fputs(",", out);
    number(out, "edit_distance", score.edit_distance);
    fputs(",", out);
    number(out, "weight_mean", score.weight_mean);
    fputs(",", out);
    number(out, "weight_most", score.weight_most);
    fputs("}", out);
}

static void write_waste(FILE *out, const struct sampler *sampler, unsigned kind)
{
    const struct truth *truth = &sampler->simulation->truth;
    bool together = sampler->settings.kinds != 1U << kind;
    fprintf(out, "{\"kind\":\"%s\",\"setting\":\"%s\",", detect_kinds[kind].name,
            together ? "together" : "alone");
    write_counts(out, sampler, kind);
    double right = truth->ranked_pairs[kind].fraction;
    for (enum method method = 0; method < METHODS; method++) {
        double fraction = score_fraction(&sampler->pairs[kind], method);
        fprintf(out, ",\"%s\":{", method_names[method]);
        number(out, "fraction", fraction);
        fputs(",", out);
        number(out, "error_points", (fraction - right) * 100);
        fputs(",", out);
        write_top(out, &truth->ranked_pairs[kind], &sampler->pairs[kind], method);
        fputs("}", out);
    }
    fputs("}", out);
}

static void histogram_of(const struct sampler *sampler, enum method method, double *fine)
{
    for (size_t i = 0; i < DISTANCE_BINS; i++)
        fine[i] = 0;
    for (size_t i = 0; i < sampler->bins.capacity; i++)
        if (sampler->bins.entries[i].key)
            fine[tally_second(&sampler->bins.entries[i])] += sampler->bins.entries[i].waste[method];
}

/*
 * What share of the touches is never reused a sampler can infer from its samples that never
 * trapped. For comparison the true number of locations: the program's memory in use is a
 * good guess at it.
 */
static void write_modelled(FILE *out, const struct sampler *sampler, const double *fine,
                           unsigned unit, const struct true_bins *right)
{
    static double model[DISTANCE_BINS];
    const struct truth *truth = &sampler->simulation->truth;
    double touches = truth->totals[unit].accesses;
    double never = sampler->sampled > 0 ? 1 - sampler->attributed / sampler->sampled : 0;
    double first_touches[] = {touches * fmax(never, 0), truth->totals[unit].locations};
    static const char *const names[] = {"stack", "stack_known"};
    for (unsigned i = 0; i < 2; i++) {
        double stack[PAPER_BINS];
        score_stack_model(fine, touches, fmax(first_touches[i], 1), model);
        score_paper_bins(model, stack);
        fputs(",", out);
        numbers(out, names[i], stack, PAPER_BINS);
        fputs(",", out);
        write_similarity(out, names[i], right[unit].stack, stack);
    }
}

static void write_histograms(FILE *out, const struct sampler *sampler, enum method method,
                             unsigned unit, const struct true_bins *right)
{
    static double fine[DISTANCE_BINS];
    const struct truth *truth = &sampler->simulation->truth;
    double time[PAPER_BINS];
    histogram_of(sampler, method, fine);
    score_paper_bins(fine, time);
    fprintf(out, ",\"%s\":{", method_names[method]);
    if (method == METHOD_SETTLED) {
        number(out, "never", 1 - sampler->settled / sampler->sampled);
        fputs(",", out);
    }
    numbers(out, "time", time, PAPER_BINS);
    fputs(",", out);
    write_similarity(out, "time", right[unit].time, time);
    fputs(",", out);
    number(out, "time_s_octaves", mrc_similarity(truth->time_bins[unit], fine));
    if (unit == UNIT_WORD && truth->distances[UNIT_LINE]) {
        fputs(",", out);
        write_similarity(out, "line_time", right[UNIT_LINE].time, time);
    }
    if (truth->stack)
        write_modelled(out, sampler, fine, unit, right);
    fputs(",", out);
    write_top(out, &truth->ranked_reuses[unit], &sampler->pairs[0], method);
    fputs("}", out);
}

static void write_reuse(FILE *out, const struct sampler *sampler, const struct true_bins *right)
{
    unsigned unit = sampler->settings.watch == WATCH_LINE ? UNIT_LINE : UNIT_WORD;
    fprintf(out, "{\"unit\":\"%s\",", unit_names[unit]);
    write_counts(out, sampler, DETECT_DEAD);
    for (enum method method = 0; method < METHODS; method++)
        write_histograms(out, sampler, method, unit, right);
    fputs("}", out);
}

static void write_samplers(FILE *out, const struct simulation *simulation, bool reuse,
                           const struct true_bins *right)
{
    bool first = true;
    for (size_t i = 0; i < simulation->samplers_count; i++) {
        const struct sampler *sampler = &simulation->samplers[i];
        if (sampler->settings.reuse != reuse)
            continue;
        for (unsigned kind = 0; kind < DETECT_REUSE; kind++) {
            if (!(sampler->settings.kinds >> kind & 1))
                continue;
            fputs(first ? "\n" : ",\n", out);
            first = false;
            if (reuse)
                write_reuse(out, sampler, right);
            else
                write_waste(out, sampler, kind);
        }
    }
}

void output_write(FILE *out, struct simulation *simulation, const struct output_head *head)
{
    static const char *const faults[] = {
        [DETECT_SOUND] = "sound",
        [DETECT_REPLACE_OLDEST] = "replace-oldest",
        [DETECT_COIN_FLIP] = "coin-flip",
        [DETECT_NO_ATTRIBUTION] = "no-attribution",
    };
    static struct true_bins bins[UNITS];
    for (unsigned unit = 0; unit < UNITS; unit++)
        bin_truth(&simulation->truth, unit, &bins[unit]);
    fputs("{\"schema\":\"headroom-simulate/1\",", out);
    string(out, "program", head->name);
    fprintf(out, ",\"seed\":%lu,\"fault\":\"%s\",\"values\":%s,\"cpu_s\":%.2f,", head->seed,
            faults[head->fault], head->has_values ? "true" : "false", head->seconds);
    number(out, "ns_per_access", head->seconds * 1e9 / (double)simulation->now);
    fputs(",\n", out);
    write_trace(out, simulation);
    fputs(",\n\"exact\":{", out);
    write_true_waste(out, &simulation->truth, &simulation->nodes);
    fputs(",\n", out);
    write_true_reuse(out, &simulation->truth, &simulation->nodes, bins);
    fputs("},\n\"waste\":[", out);
    write_samplers(out, simulation, false, bins);
    fputs("],\n\"reuse\":[", out);
    write_samplers(out, simulation, true, bins);
    fputs("]}\n", out);
}
