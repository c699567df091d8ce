// SPDX-License-Identifier: MIT
/* The member "interference" of the JSON report (docs/formats/report.md). */
#include "interference/internal.h"

#include <inttypes.h>
#include <math.h>

static void hex_member(struct json *json, const char *name, uint64_t value)
{
    json_key(json, name);
    fprintf(json->out, "\"0x%" PRIx64 "\"", value);
}

static void number_member(struct json *json, const char *name, double value)
{
    json_decimal(json, name, value, 9);
}

static void sequence_member(struct json *json, const struct interference_figures *figures,
                            uint32_t span)
{
    const struct interference_span *figure = &figures->spans[span];
    json_begin(json, "sequence", '[');
    for (size_t i = 0; i < figure->children_count; i++) {
        const struct interference_child *child = &figure->children[i];
        json_begin_item(json);
        json_text(json, "function", figures->profile->span_functions[child->function].function);
        json_count(json, "count", child->count);
        hex_member(json, "shape", child->shape);
        json_close(json, '}');
    }
    json_close(json, ']');
}

static void histogram_member(struct json *json, const struct interference_span *figure)
{
    json_begin(json, "histogram", '[');
    for (size_t i = 0; i < figure->bins_count; i++) {
        json_begin_item(json);
        number_member(json, "lo_ns", figure->bins[i].low_ns);
        number_member(json, "hi_ns", figure->bins[i].high_ns);
        json_count(json, "count", figure->bins[i].count);
        json_close(json, '}');
    }
    json_close(json, ']');
}

/* json_context has a name; stacks are items of an array. */
static void stack_item(struct json *json, const struct profile *profile, uint32_t context)
{
    json_item(json);
    json_open(json, '[');
    for (; context && !ferror(json->out); context = profile->contexts[context].parent)
        json_frame(json, profile, &profile->frames[profile->contexts[context].frame]);
    json_close(json, ']');
}

static void stacks_members(struct json *json, const struct profile *profile,
                           const struct interference_rows *rows)
{
    json_begin(json, "stacks", '[');
    for (size_t i = rows->stacks; i < rows->stacks_end && !ferror(json->out); i++)
        stack_item(json, profile, profile->span_stacks[i].context);
    json_close(json, ']');
    json_begin(json, "stack_weights", '[');
    for (size_t i = rows->stacks; i < rows->stacks_end; i++) {
        json_begin_item(json);
        json_count(json, "taken", profile->span_stacks[i].taken);
        number_member(json, "lost_ns", profile->span_stacks[i].lost_ns);
        json_close(json, '}');
    }
    json_close(json, ']');
    json_begin(json, "holders", '[');
    for (size_t i = rows->holders; i < rows->holders_end && !ferror(json->out); i++) {
        const struct profile_span_holder *holder = &profile->span_holders[i];
        json_begin_item(json);
        json_context(json, "place", profile, holder->context);
        json_count(json, "times", holder->times);
        number_member(json, "waited_ns", holder->waited_ns);
        json_close(json, '}');
    }
    json_close(json, ']');
}

static void parts_member(struct json *json, const struct interference_figures *figures,
                         uint32_t span)
{
    const struct interference_span *figure = &figures->spans[span];
    const struct interference_score *score = &figures->result->spans[span];
    json_begin(json, "threads", '[');
    for (size_t i = 0; i < figure->parts_count; i++) {
        const struct interference_part *part = &figure->parts[i];
        double scale = part->recorded ? (double)part->count / (double)part->recorded : 0;
        scale *= figures->result->threads[part->thread].fit;
        double lost = interference_lost_in(figures->result, part, score);
        double working = figures->result->threads[part->thread].working_ns;
        bool scored = score->state == INTERFERENCE_SCORED;
        json_begin_item(json);
        json_count(json, "thread", part->thread);
        json_count(json, "count", part->count);
        json_count(json, "recorded", part->recorded);
        number_member(json, "total_ns", scale * part->sum_ns);
        number_member(json, "min_ns", part->min_ns);
        json_key(json, "sci");
        if (scored && working > 0)
            json_number(json, score->lost_ns > 0 ? fmin(1, lost / working) : 0, 9);
        else
            json_raw(json, "null");
        number_member(json, "asleep_ns", scale * part->asleep_ns);
        number_member(json, "preempted_ns", scale * part->preempted_ns);
        json_close(json, '}');
    }
    json_close(json, ']');
}

static void evidence_members(struct json *json, const struct interference_figures *figures,
                             uint32_t span)
{
    const struct interference_score *score = &figures->result->spans[span];
    char sentences[INTERFERENCE_SENTENCES][INTERFERENCE_SENTENCE_BYTES];
    size_t count = interference_evidence(figures->result, span, sentences, INTERFERENCE_SENTENCES);
    json_begin(json, "evidence", '[');
    for (size_t i = 0; i < count; i++) {
        json_item(json);
        json_quote(json, sentences[i]);
    }
    json_close(json, ']');
    json_key(json, "relation");
    if (!score->related) {
        json_raw(json, "null");
        return;
    }
    json_open(json, '{');
    json_key(json, "value");
    if (score->relation.value == INTERFERENCE_RESULT)
        json_quote(json, "result");
    else
        fprintf(json->out, "%" PRIu32, score->relation.value);
    number_member(json, "spearman", score->relation.spearman);
    number_member(json, "explained", score->relation.explained);
    json_count(json, "samples", score->relation.samples);
    json_close(json, '}');
}

static void rekeyed_member(struct json *json, const struct interference_figures *figures,
                           uint32_t span)
{
    json_begin(json, "rekeyed", '[');
    for (size_t i = 0; i < figures->rekeyed_count; i++) {
        const struct interference_rekeyed *rekeyed = &figures->rekeyed[i];
        if (rekeyed->span != span)
            continue;
        json_begin_item(json);
        json_key(json, "value");
        if (rekeyed->value == INTERFERENCE_RESULT)
            json_quote(json, "result");
        else
            fprintf(json->out, "%" PRIu32, rekeyed->value);
        json_count(json, "samples", rekeyed->regrouped.samples);
        json_count(json, "groups", rekeyed->regrouped.groups);
        json_key(json, "sci");
        if (rekeyed->regrouped.samples)
            json_number(json, rekeyed->sci, 9);
        else
            json_raw(json, "null");
        json_close(json, '}');
    }
    json_close(json, ']');
}

static void key_member(struct json *json, const struct interference_figures *figures, uint32_t span)
{
    char key[96];
    interference_key(figures, span, key);
    json_text(json, "key", key[0] ? key : NULL);
    json_key(json, "key_value");
    if (key[0] && !(figures->spans[span].flags & SPANS_REST))
        fprintf(json->out, "\"0x%" PRIx64 "\"", figures->spans[span].key);
    else
        json_raw(json, "null");
}

/* What every span has, with a score or without. */
static void span_head(struct json *json, const struct interference_figures *figures, uint32_t span)
{
    const struct profile_span *row = &figures->profile->spans[span];
    const struct profile_span_function *function = &figures->profile->span_functions[row->function];
    const struct interference_score *score = &figures->result->spans[span];
    char name[SPAN_NAME_BYTES];
    interference_name(figures, span, NAME_BYTES, name);
    json_text(json, "function", row->function ? function->function : name);
    json_text(json, "file", function->file);
    json_key(json, "line");
    if (function->line)
        fprintf(json->out, "%" PRIu32, function->line);
    else
        json_raw(json, "null");
    json_text(json, "class", row->function ? interference_class(function->class) : "sequence");
    key_member(json, figures, span);
    hex_member(json, "shape", row->shape);
    json_flag(json, "rest", row->flags & SPANS_REST);
    sequence_member(json, figures, span);
    json_count(json, "count", score->count);
    json_count(json, "recorded", score->recorded);
    number_member(json, "total_ns", score->total_ns);
    number_member(json, "min_ns", score->min_ns);
    number_member(json, "p1_ns", score->p1_ns);
    number_member(json, "median_ns", score->median_ns);
    number_member(json, "p99_ns", score->p99_ns);
    number_member(json, "max_ns", score->max_ns);
    number_member(json, "asleep_ns", score->asleep_ns);
    number_member(json, "preempted_ns", score->preempted_ns);
    number_member(json, "threads_ns", score->threads_ns);
    number_member(json, "working_ns", score->working_ns);
    number_member(json, "self_ns", score->self_ns);
    number_member(json, "asleep_within_ns", score->asleep_within_ns);
}

static void span_object(struct json *json, const struct interference_figures *figures,
                        uint32_t span)
{
    const struct interference_score *score = &figures->result->spans[span];
    json_begin_item(json);
    span_head(json, figures, span);
    number_member(json, "sci", score->sci);
    number_member(json, "sci_p1", score->sci_p1);
    number_member(json, "lost_ns", score->lost_ns);
    number_member(json, "own_lost_ns", score->own_ns);
    number_member(json, "asleep_in_callers_ns", score->given_ns);
    number_member(json, "gain", score->gain);
    json_text(json, "cause", interference_cause_names[score->cause]);
    json_text(json, "cause_text", interference_cause_words[score->cause]);
    evidence_members(json, figures, span);
    histogram_member(json, &figures->spans[span]);
    stacks_members(json, figures->profile, &figures->rows[span]);
    parts_member(json, figures, span);
    rekeyed_member(json, figures, span);
    struct advice advice = interference_advice(figures, span);
    json_advice(json, &advice);
    json_close(json, '}');
}

static void list_member(struct json *json, const struct interference_figures *figures,
                        const char *name, const uint32_t *spans, size_t count)
{
    json_begin(json, name, '[');
    for (size_t i = 0; i < count && !ferror(json->out); i++) {
        json_begin_item(json);
        span_head(json, figures, spans[i]);
        histogram_member(json, &figures->spans[spans[i]]);
        stacks_members(json, figures->profile, &figures->rows[spans[i]]);
        parts_member(json, figures, spans[i]);
        json_close(json, '}');
    }
    json_close(json, ']');
}

static void causes_member(struct json *json, const double *lost_ns)
{
    json_begin(json, "lost_by_cause_ns", '{');
    for (unsigned c = 0; c < INTERFERENCE_CAUSES; c++)
        number_member(json, interference_cause_names[c], lost_ns[c]);
    json_close(json, '}');
}

static void cpu_member(struct json *json, double cpu_ns)
{
    json_key(json, "cpu_ns");
    if (cpu_ns > 0)
        json_number(json, cpu_ns, 9);
    else
        json_raw(json, "null");
}

static void threads_member(struct json *json, const struct interference_figures *figures)
{
    json_begin(json, "threads", '[');
    for (size_t i = 0; i < figures->input.threads_count; i++) {
        const struct profile_span_thread *thread = &figures->profile->span_threads[i];
        const struct interference_thread_score *score = &figures->result->threads[i];
        json_begin_item(json);
        json_count(json, "tid", thread->tid);
        json_text(json, "name", thread->name);
        json_count(json, "process", thread->process);
        json_count(json, "owners", thread->owners);
        number_member(json, "duration_ns", thread->duration_ns);
        number_member(json, "lost_ns", score->interference_ns);
        json_key(json, "share");
        json_number(json, score->working_ns > 0 ? score->interference_ns / score->working_ns : 0,
                    9);
        causes_member(json, score->lost_ns);
        number_member(json, "preempted_ns", thread->preempted_ns);
        number_member(json, "asleep_ns", thread->asleep_ns);
        json_count(json, "preemptions", thread->preemptions);
        json_count(json, "sleeps", thread->sleeps);
        json_count(json, "events", thread->events);
        json_count(json, "skipped", thread->skipped);
        json_count(json, "unhooked", thread->unhooked);
        json_count(json, "highest_every", thread->highest_every);
        number_member(json, "cost_ns", thread->cost_ns);
        cpu_member(json, figures->threads[i].cpu_ns);
        number_member(json, "working_ns", score->working_ns);
        number_member(json, "judged_cpu_ns", score->judged_ns);
        number_member(json, "few_cpu_ns", score->few_ns);
        number_member(json, "untimed_cpu_ns", score->untimed_ns);
        json_close(json, '}');
    }
    json_close(json, ']');
}

static void functions_member(struct json *json, const struct interference_figures *figures)
{
    json_begin(json, "functions", '[');
    for (size_t i = 1; i < figures->input.functions_count; i++) {
        const struct profile_span_function *function = &figures->profile->span_functions[i];
        const struct interference_function_score *score = &figures->result->functions[i];
        json_begin_item(json);
        json_text(json, "function", function->function);
        json_text(json, "file", function->file);
        json_count(json, "line", function->line);
        json_text(json, "module",
                  function->module ? figures->profile->modules[function->module].path : NULL);
        json_text(json, "class", interference_class(function->class));
        json_text(json, "hooked", interference_entry(function->entry));
        json_count(json, "every", function->every);
        json_count(json, "blocks", score->scored);
        json_count(json, "unscored_blocks", score->few);
        number_member(json, "sci", score->sci);
        number_member(json, "lost_ns", score->lost_ns);
        number_member(json, "own_lost_ns", score->own_ns);
        number_member(json, "explained_ns", score->explained_ns);
        json_close(json, '}');
    }
    json_close(json, ']');
}

static void recording_member(struct json *json, const struct interference_figures *figures)
{
    const struct profile *profile = figures->profile;
    const struct profile_span_run *run = profile->span_runs_count ? profile->span_runs : NULL;
    json_begin(json, "recording", '{');
    number_member(json, "cost_ns", figures->cost_ns);
    json_count(json, "events", figures->events);
    json_count(json, "skipped", figures->skipped);
    json_count(json, "unhooked", figures->unhooked);
    json_count(json, "switches_lost", figures->switches_lost);
    json_count(json, "highest_every", figures->highest_every);
    number_member(json, "ns_per_tick", run ? run->ns_per_tick : 0);
    json_flag(json, "switches", run && run->switches);
    json_flag(json, "automatic", run && run->automatic);
    json_count(json, "stack_period", run ? run->stack_period : 0);
    json_close(json, '}');
}

static void skips_member(struct json *json, const struct profile *profile)
{
    json_begin(json, "not_hooked", '[');
    for (size_t i = 0; i < profile->span_skips_count; i++) {
        json_begin_item(json);
        json_text(json, "function", profile->span_skips[i].function);
        json_text(json, "module", profile->span_skips[i].module);
        json_text(json, "why", profile->span_skips[i].why);
        json_close(json, '}');
    }
    json_close(json, ']');
}

bool interference_json(struct json *json, const struct places *places,
                       const struct report_options *options)
{
    const struct profile *profile = places->profile;
    struct interference_figures figures;
    if (!interference_is_in(profile))
        return true;
    bool good = interference_figures(profile, options, &figures);
    if (good) {
        const struct interference_result *result = figures.result;
        size_t limit = options->limit, left = limit ? limit : SIZE_MAX;
        json_begin(json, "interference", '{');
        number_member(json, "threads_ns", result->threads_ns);
        number_member(json, "lost_ns", result->interference_ns);
        json_key(json, "share");
        json_number(json, result->working_ns > 0 ? result->interference_ns / result->working_ns : 0,
                    9);
        number_member(json, "gain", result->gain);
        number_member(json, "preempted_ns", result->preempted_ns);
        number_member(json, "working_ns", result->working_ns);
        cpu_member(json, result->cpu_ns);
        number_member(json, "judged_cpu_ns", result->judged_ns);
        number_member(json, "few_cpu_ns", result->few_ns);
        number_member(json, "untimed_cpu_ns", result->untimed_ns);
        json_count(json, "least_executions",
                   figures.input.least ? figures.input.least : INTERFERENCE_LEAST);
        causes_member(json, result->lost_ns);
        /* Varying work has scores as well: who reads this may see it otherwise. */
        json_begin(json, "blocks", '[');
        for (size_t i = 0; i < result->ranked_count && left && !ferror(json->out); i++, left--)
            span_object(json, &figures, result->ranked[i]);
        for (size_t i = 0; i < result->varying_count && left && !ferror(json->out); i++, left--)
            span_object(json, &figures, result->varying[i]);
        for (size_t i = 0; i < result->sequences_count && left && !ferror(json->out); i++, left--)
            span_object(json, &figures, result->sequences[i]);
        json_close(json, ']');
        functions_member(json, &figures);
        threads_member(json, &figures);
        list_member(json, &figures, "idle", result->idle, result->idle_count);
        list_member(json, &figures, "unscored", result->few, result->few_count);
        skips_member(json, profile);
        recording_member(json, &figures);
        json_close(json, '}');
    }
    interference_figures_free(&figures);
    return good;
}
