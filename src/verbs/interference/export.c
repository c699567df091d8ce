// SPDX-License-Identifier: MIT
/* Lost time in exports. */
#include "export/samples.h"
#include "interference/internal.h"

static const struct walk_kind spans = {
    .name = "block",
    .finding = "Executions took longer than the fastest of the same work.",
    .whole = "the time lost",
    .mendable = true};
static const struct walk_kind holders = {.name = "holder",
                                         .separator = "[waits for a lock held by]",
                                         .finding = "A lock was held while others waited for it.",
                                         .whole = "the time waited for locks"};

static const struct walk_kind *const kinds[] = {&spans, &holders, NULL};

static uint32_t span_place(struct walk *walk, const struct profile *profile, uint32_t span)
{
    const struct profile_span_function *function =
        &profile->span_functions[profile->spans[span].function];
    return walk_add_place(walk, function->function, function->file, function->module,
                          function->address, function->line, 0);
}

static uint32_t span_detail(struct walk *walk, const struct interference_figures *figures,
                            uint32_t span)
{
    char key[96], detail[160];
    interference_key(figures, span, key);
    snprintf(detail, sizeof detail, "cause: %s%s%s",
             interference_cause_names[figures->result->spans[span].cause], *key ? "; " : "", key);
    return walk_string(walk, detail);
}

/* In the order in which they are added, and written. */
enum { OWN_LOST_NS, LOST_NS, TAKEN, WAITED_NS };

/* What the span lost goes to its stacks as what was lost in those that were taken. */
static void add_span(struct walk *walk, const struct interference_figures *figures, uint32_t metric,
                     uint32_t span)
{
    const struct profile *profile = figures->profile;
    const struct interference_rows *rows = &figures->rows[span];
    const struct interference_score *score = &figures->result->spans[span];
    struct walk_sample sample = {.kind = &spans,
                                 .head = UINT32_MAX,
                                 .leaf = span_place(walk, profile, span),
                                 .detail = span_detail(walk, figures, span),
                                 .metric = metric + OWN_LOST_NS,
                                 .seen = score->recorded,
                                 .advice = interference_advice(figures, span),
                                 .count = 3};
    double all = 0, stacks = (double)(rows->stacks_end - rows->stacks);
    for (size_t i = rows->stacks; i < rows->stacks_end; i++)
        all += profile->span_stacks[i].lost_ns;
    for (size_t i = rows->stacks; i < rows->stacks_end; i++) {
        const struct profile_span_stack *stack = &profile->span_stacks[i];
        double share = all > 0 ? stack->lost_ns / all : 1 / stacks;
        double values[] = {share * score->own_ns, share * score->lost_ns, (double)stack->taken};
        sample.first = stack->context;
        walk_add(walk, sample, values);
    }
    double values[] = {score->own_ns, score->lost_ns, 0};
    if (rows->stacks == rows->stacks_end)
        walk_add(walk, sample, values);
}

static void add_holders(struct walk *walk, const struct interference_figures *figures,
                        uint32_t metric, uint32_t span)
{
    const struct profile *profile = figures->profile;
    const struct interference_rows *rows = &figures->rows[span];
    for (size_t i = rows->holders; i < rows->holders_end; i++) {
        const struct profile_span_holder *holder = &profile->span_holders[i];
        walk_add(walk,
                 (struct walk_sample){.kind = &holders,
                                      .first = holder->context,
                                      .head = span_place(walk, profile, span),
                                      .leaf = UINT32_MAX,
                                      .detail = span_detail(walk, figures, span),
                                      .metric = metric + WAITED_NS,
                                      .seen = holder->times,
                                      .count = 1},
                 &holder->waited_ns);
    }
}

static void add_samples(struct walk *walk, const struct profile *profile,
                        const struct export_options *options)
{

    struct interference_figures figures;
    struct report_options report = {.least_executions = options->least_executions};
    if (!interference_is_in(profile))
        return;
    uint32_t metric = walk_add_metric(walk, "own_lost_ns", "nanoseconds",
                                      "lost, excluding what callees lost", OWN_LOST_NS);
    walk_add_metric(walk, "lost_ns", "nanoseconds", "lost, including what callees lost", LOST_NS);
    walk_add_metric(walk, "taken", "count", "stacks taken", WALK_EVIDENCE);
    walk_add_metric(walk, "waited_ns", "nanoseconds", "waited for a holder of the lock", WAITED_NS);
    if (!interference_figures(profile, &report, &figures)) {
        walk_fail(walk);
    } else {
        for (uint32_t i = 0; i < profile->spans_count; i++) {
            /* What a sequence lost, its members lost. */
            if (figures.spans[i].flags & SPANS_SEQUENCE)
                continue;
            add_span(walk, &figures, metric, i);
            add_holders(walk, &figures, metric, i);
        }
    }
    interference_figures_free(&figures);
}

const struct analysis_export interference_export = {.kinds = kinds, .samples = add_samples};
