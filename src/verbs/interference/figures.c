// SPDX-License-Identifier: MIT
/* Rows of a profile as the room `interference` takes them, and how spans are called. */
#include "interference/internal.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

const char *const interference_cause_words[INTERFERENCE_CAUSES] = {
    [INTERFERENCE_UNKNOWN] = "cause unknown",
    [INTERFERENCE_LOCK] = "lock",
    [INTERFERENCE_CONDITION] = "condition wait",
    [INTERFERENCE_IMBALANCE] = "barrier: imbalance",
    [INTERFERENCE_IO] = "input and output",
    [INTERFERENCE_ALLOCATOR] = "allocator",
    [INTERFERENCE_PREEMPTION] = "preemption",
    [INTERFERENCE_SHARED] = "shared data, memory bandwidth or varying work",
    [INTERFERENCE_VARYING] = "varying work",
    [INTERFERENCE_NESTED] = "in spans that it calls",
    [INTERFERENCE_WAITING] = "idle wait",
};

static const char *const class_names[SPANS_CLASSES] = {
    [SPANS_CODE] = "code",           [SPANS_LOCK] = "lock",          [SPANS_UNLOCK] = "unlock",
    [SPANS_CONDITION] = "condition", [SPANS_BARRIER] = "barrier",    [SPANS_IO] = "io",
    [SPANS_IDLE] = "idle",           [SPANS_ALLOCATOR] = "allocator"};

static const char *const entry_names[SPANS_ENTRIES] = {
    [SPANS_IMPORT] = "import", [SPANS_PATCHED] = "patched", [SPANS_PREPARED] = "prepared",
    [SPANS_CALLED] = "called", [SPANS_MARKED] = "marked",   [SPANS_LOOP] = "loop"};

/* A profile may be from anywhere. */
const char *interference_class(uint32_t class)
{
    return class < SPANS_CLASSES ? class_names[class] : "unknown";
}

const char *interference_entry(uint32_t entry)
{
    return entry < SPANS_ENTRIES ? entry_names[entry] : "unknown";
}

/* ---- rows of a span -------------------------------------------------------------------------- */

#define RANGE(list, member)                                                                        \
    do {                                                                                           \
        rows->member = at.member;                                                                  \
        while (at.member < profile->list##_count && profile->list[at.member].span == i)            \
            at.member++;                                                                           \
        rows->member##_end = at.member;                                                            \
    } while (0)

/* All of these lists are by span. */
static void find_rows(const struct profile *profile, struct interference_rows *all)
{
    struct interference_rows at = {0};
    for (size_t i = 0; i < profile->spans_count; i++) {
        struct interference_rows *rows = &all[i];
        RANGE(span_parts, parts);
        RANGE(span_bins, bins);
        RANGE(span_children, children);
        RANGE(span_stacks, stacks);
        RANGE(span_holders, holders);
        RANGE(span_samples, samples);
    }
}

/* ---- copies ---------------------------------------------------------------------------------- */

static bool make_room(struct interference_figures *figures)
{
    const struct profile *profile = figures->profile;
    figures->rows = calloc(profile->spans_count + 1, sizeof *figures->rows);
    figures->threads = calloc(profile->span_threads_count + 1, sizeof *figures->threads);
    figures->functions = calloc(profile->span_functions_count + 1, sizeof *figures->functions);
    figures->spans = calloc(profile->spans_count + 1, sizeof *figures->spans);
    figures->parts = calloc(profile->span_parts_count + 1, sizeof *figures->parts);
    figures->bins = calloc(profile->span_bins_count + 1, sizeof *figures->bins);
    figures->children = calloc(profile->span_children_count + 1, sizeof *figures->children);
    figures->samples = calloc(profile->span_samples_count + 1, sizeof *figures->samples);
    figures->callers = calloc(profile->span_stacks_count + 1, sizeof *figures->callers);
    return figures->rows && figures->threads && figures->functions && figures->spans &&
           figures->parts && figures->bins && figures->children && figures->samples &&
           figures->callers;
}

static void copy_threads(struct interference_figures *figures)
{
    const struct profile *profile = figures->profile;
    size_t cpus = 0;
    for (size_t i = 0; i < profile->span_threads_count; i++) {
        const struct profile_span_thread *thread = &profile->span_threads[i];
        double cpu = cpus < profile->span_cpus_count && profile->span_cpus[cpus].thread == i
                         ? profile->span_cpus[cpus++].cpu_ns
                         : 0;
        figures->threads[i] =
            (struct interference_thread){thread->duration_ns, thread->preempted_ns,
                                         thread->asleep_ns, cpu, thread->switches_lost > 0};
        figures->cost_ns += thread->cost_ns;
        figures->events += thread->events;
        figures->skipped += thread->skipped;
        figures->unhooked += thread->unhooked;
        figures->switches_lost += thread->switches_lost;
        if (figures->highest_every < thread->highest_every)
            figures->highest_every = thread->highest_every;
    }
    for (size_t i = 0; i < profile->span_functions_count; i++)
        figures->functions[i].class = profile->span_functions[i].class;
}

/* at: the first row that may be the part's or a later one's. */
static double take_sleep(const struct profile *profile, const struct profile_span_part *part,
                         size_t *at)
{
    const struct profile_span_sleep *sleeps = profile->span_sleeps;
    while (*at < profile->span_sleeps_count &&
           (sleeps[*at].span < part->span ||
            (sleeps[*at].span == part->span && sleeps[*at].thread < part->thread)))
        ++*at;
    bool found = *at < profile->span_sleeps_count && sleeps[*at].span == part->span &&
                 sleeps[*at].thread == part->thread;
    return found ? sleeps[*at].within_ns : 0;
}

static void copy_details(struct interference_figures *figures)
{
    const struct profile *profile = figures->profile;
    size_t sleeps = 0; /* in the order of the parts */
    for (size_t i = 0; i < profile->span_parts_count; i++) {
        const struct profile_span_part *part = &profile->span_parts[i];
        figures->parts[i] = (struct interference_part){
            part->thread,       part->count,     part->recorded,
            part->sum_ns,       part->min_ns,    part->within_ns,
            part->preempted_ns, part->asleep_ns, take_sleep(profile, part, &sleeps)};
    }
    for (size_t i = 0; i < profile->span_bins_count; i++) {
        const struct profile_span_bin *bin = &profile->span_bins[i];
        figures->bins[i] = (struct interference_bin){bin->low_ns, bin->high_ns, bin->count};
    }
    for (size_t i = 0; i < profile->span_children_count; i++) {
        const struct profile_span_child *child = &profile->span_children[i];
        figures->children[i] =
            (struct interference_child){child->function, child->times, child->shape};
    }
    for (size_t i = 0; i < profile->span_samples_count; i++) {
        const struct profile_span_sample *sample = &profile->span_samples[i];
        figures->samples[i] = (struct interference_sample){
            sample->ns,
            sample->weight,
            {sample->argument0, sample->argument1, sample->argument2, sample->result}};
    }
}

/* The function that the call is in; UINT32_MAX: none that is hooked. */
static uint32_t caller_of(const struct profile *profile, uint32_t context)
{
    const struct profile_frame *frame = &profile->frames[profile->contexts[context].frame];
    while (context && frame->flags & PROFILE_FRAME_INLINED) {
        context = profile->contexts[context].parent;
        frame = &profile->frames[profile->contexts[context].frame];
    }
    for (uint32_t i = 0; context && frame->function && i < profile->span_functions_count; i++)
        if (profile->span_functions[i].module == frame->module &&
            strcmp(profile->span_functions[i].function, frame->function) == 0)
            return i;
    return UINT32_MAX;
}

static void find_callers(struct interference_figures *figures)
{
    const struct profile *profile = figures->profile;
    for (size_t i = 0; i < profile->span_stacks_count; i++)
        figures->callers[i] = caller_of(profile, profile->span_stacks[i].context);
}

static void copy_spans(struct interference_figures *figures)
{
    const struct profile *profile = figures->profile;
    for (size_t i = 0; i < profile->spans_count; i++) {
        const struct profile_span *span = &profile->spans[i];
        const struct interference_rows *rows = &figures->rows[i];
        figures->spans[i] = (struct interference_span){
            .function = span->function,
            .flags = span->flags,
            .key = span->key,
            .shape = span->shape,
            .max_ns = span->max_ns,
            .parts = figures->parts + rows->parts,
            .parts_count = rows->parts_end - rows->parts,
            .bins = figures->bins + rows->bins,
            .bins_count = rows->bins_end - rows->bins,
            .children = figures->children + rows->children,
            .children_count = rows->children_end - rows->children,
            .samples = figures->samples + rows->samples,
            .samples_count = rows->samples_end - rows->samples,
            .callers = figures->callers + rows->stacks,
            .callers_count = rows->stacks_end - rows->stacks,
            .never_held = rows->holders == rows->holders_end,
        };
    }
}

/* ---- other keys ------------------------------------------------------------------------------ */

bool interference_key_matches(const char *key, const char *function, uint32_t *value)
{
    const char *colon = strrchr(key, ':');
    size_t bytes = colon ? (size_t)(colon - key) : 0;
    if (!colon || strlen(function) != bytes || memcmp(key, function, bytes) != 0)
        return false;
    if (strcmp(colon + 1, "result") == 0)
        *value = INTERFERENCE_RESULT;
    else if (colon[1] >= '0' && colon[1] < '0' + INTERFERENCE_RESULT && !colon[2])
        *value = (uint32_t)(colon[1] - '0');
    else
        return false;
    return true;
}

static bool rekey(struct interference_figures *figures, uint32_t index, uint32_t value)
{
    const struct interference_span *span = &figures->spans[index];
    struct interference_rekeyed *moved =
        reallocarray(figures->rekeyed, figures->rekeyed_count + 1, sizeof *figures->rekeyed);
    if (!moved)
        return false;
    figures->rekeyed = moved;
    struct interference_rekeyed *made = &moved[figures->rekeyed_count++];
    *made = (struct interference_rekeyed){.span = index, .value = value};
    if (interference_regroup(span->samples, span->samples_count, value, &made->regrouped,
                             made->groups, BASE_COUNT(made->groups)) != BASE_OK)
        return false;
    made->sci = figures->result->spans[index].sci * made->regrouped.kept;
    return true;
}

static bool rekey_spans(struct interference_figures *figures, const struct report_options *options)
{
    const struct profile *profile = figures->profile;
    for (uint32_t i = 0; i < profile->spans_count; i++) {
        const char *function = profile->span_functions[profile->spans[i].function].function;
        uint32_t value;
        if (figures->result->spans[i].state != INTERFERENCE_SCORED)
            continue;
        for (size_t k = 0; k < options->keys_count; k++)
            if (interference_key_matches(options->keys[k], function, &value) &&
                !rekey(figures, i, value))
                return false;
    }
    return true;
}

/* ---- the whole ------------------------------------------------------------------------------- */

bool interference_figures(const struct profile *profile, const struct report_options *options,
                          struct interference_figures *figures)
{
    *figures = (struct interference_figures){.profile = profile};
    if (!make_room(figures))
        return false;
    find_rows(profile, figures->rows);
    copy_threads(figures);
    copy_details(figures);
    find_callers(figures);
    copy_spans(figures);
    figures->input = (struct interference_input){
        .threads = figures->threads,
        .threads_count = profile->span_threads_count,
        .functions = figures->functions,
        .functions_count = profile->span_functions_count,
        .spans = figures->spans,
        .spans_count = profile->spans_count,
        .least = options->least_executions,
        .sampled = figures->highest_every > 1,
        .switches = profile->span_runs_count && profile->span_runs[0].switches,
        .step_ns = profile->span_runs_count ? profile->span_runs[0].step_ns : 0,
    };
    return interference_analyse(&figures->input, &figures->result) == BASE_OK &&
           rekey_spans(figures, options);
}

void interference_figures_free(struct interference_figures *figures)
{
    interference_free(figures->result);
    free(figures->rows);
    free(figures->threads);
    free(figures->functions);
    free(figures->spans);
    free(figures->parts);
    free(figures->bins);
    free(figures->children);
    free(figures->callers);
    free(figures->samples);
    free(figures->rekeyed);
}

/* ---- names ----------------------------------------------------------------------------------- */

static void append(char out[SPAN_NAME_BYTES], const char *text)
{
    size_t used = strlen(out);
    snprintf(out + used, SPAN_NAME_BYTES - used, "%s", text);
}

static void name_sequence(const struct interference_figures *figures, uint32_t span,
                          unsigned columns, char out[SPAN_NAME_BYTES])
{
    const struct interference_span *figure = &figures->spans[span];
    for (size_t i = 0; i < figure->children_count; i++) {
        const struct interference_child *child = &figure->children[i];
        char name[NAME_BYTES], times[32];
        name_shorten(figures->profile->span_functions[child->function].function, columns, name);
        append(out, i ? " → " : "");
        append(out, name);
        snprintf(times, sizeof times, " ×%" PRIu32, child->count);
        append(out, child->count > 1 ? times : "");
    }
    if (figure->flags & SPANS_CHILDREN_CUT)
        append(out, " → …");
}

void interference_name(const struct interference_figures *figures, uint32_t span, unsigned columns,
                       char out[SPAN_NAME_BYTES])
{
    const struct interference_span *figure = &figures->spans[span];
    char name[NAME_BYTES];
    out[0] = 0;
    if (figure->flags & SPANS_SEQUENCE) {
        name_sequence(figures, span, columns / 2, out);
        return;
    }
    const struct profile_span_function *function =
        &figures->profile->span_functions[figure->function];
    if (function->entry == SPANS_LOOP)
        append(out, "loop in ");
    name_shorten(function->function, columns, name);
    append(out, name);
}

void interference_key(const struct interference_figures *figures, uint32_t span, char out[96])
{
    const struct profile_span *row = &figures->profile->spans[span];
    const struct profile_span_function *function = &figures->profile->span_functions[row->function];
    out[0] = 0;
    if (row->flags & SPANS_REST) {
        snprintf(out, 96, "all other keys and shapes");
        return;
    }
    if (row->flags & SPANS_SEQUENCE || function->key == SPANS_KEY_NONE)
        return;
    if (function->key == SPANS_KEY_SIZE)
        snprintf(out, 96, "up to %" PRIu64 " byte%s", row->key, row->key == 1 ? "" : "s");
    else if (function->class == SPANS_IO && row->key < 65536)
        snprintf(out, 96, "descriptor %" PRIu64, row->key);
    else if (function->class == SPANS_LOCK || function->class == SPANS_UNLOCK)
        snprintf(out, 96, "lock 0x%" PRIx64, row->key);
    else if (row->key < 65536)
        snprintf(out, 96, "%s %" PRIu64, function->entry == SPANS_MARKED ? "key" : "argument",
                 row->key);
    else
        snprintf(out, 96, "%s 0x%" PRIx64, function->entry == SPANS_MARKED ? "key" : "argument",
                 row->key);
}
