// SPDX-License-Identifier: MIT
/* Lost time in exports. */
#include "export/samples.h"
#include "interference/internal.h"

static const struct walk_kind blocks = {
    .name = "block",
    .finding = "Executions took longer than the fastest of the same work.",
    .mendable = true};
static const struct walk_kind holders = {.name = "holder",
                                         .separator = "[waits for a lock held by]",
                                         .finding = "A lock was held while others waited for it."};

static const struct walk_kind *const kinds[] = {&blocks, &holders, NULL};

static uint32_t block_place(struct walk *walk, const struct profile *profile, uint32_t block)
{
    const struct profile_block_function *function =
        &profile->block_functions[profile->timed_blocks[block].function];
    return walk_add_place(walk, function->function, function->file, function->module,
                          function->address, function->line, 0);
}

static uint32_t block_detail(struct walk *walk, const struct interference_figures *figures,
                             uint32_t block)
{
    char key[96], detail[160];
    interference_key(figures, block, key);
    snprintf(detail, sizeof detail, "cause: %s%s%s",
             interference_cause_names[figures->result->blocks[block].cause], *key ? "; " : "", key);
    return walk_string(walk, detail);
}

/* In the order in which they are added. */
enum { OWN_LOST_NS, LOST_NS, TAKEN, WAITED_NS };

/* What the block lost goes to its stacks as what was lost in those that were taken. */
static void add_block(struct walk *walk, const struct interference_figures *figures,
                      uint32_t metric, uint32_t block)
{
    const struct profile *profile = figures->profile;
    const struct interference_rows *rows = &figures->rows[block];
    const struct interference_score *score = &figures->result->blocks[block];
    struct walk_sample sample = {.kind = &blocks,
                                 .head = UINT32_MAX,
                                 .leaf = block_place(walk, profile, block),
                                 .detail = block_detail(walk, figures, block),
                                 .metric = metric + OWN_LOST_NS,
                                 .count = 3};
    double all = 0, stacks = (double)(rows->stacks_end - rows->stacks);
    for (size_t i = rows->stacks; i < rows->stacks_end; i++)
        all += profile->block_stacks[i].lost_ns;
    for (size_t i = rows->stacks; i < rows->stacks_end; i++) {
        const struct profile_block_stack *stack = &profile->block_stacks[i];
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
                        uint32_t metric, uint32_t block)
{
    const struct profile *profile = figures->profile;
    const struct interference_rows *rows = &figures->rows[block];
    for (size_t i = rows->holders; i < rows->holders_end; i++) {
        const struct profile_block_holder *holder = &profile->block_holders[i];
        walk_add(walk,
                 (struct walk_sample){.kind = &holders,
                                      .first = holder->context,
                                      .head = block_place(walk, profile, block),
                                      .leaf = UINT32_MAX,
                                      .detail = block_detail(walk, figures, block),
                                      .metric = metric + WAITED_NS,
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
    uint32_t metric =
        walk_add_metric(walk, "own_lost_ns", "nanoseconds", "lost, excluding what callees lost");
    walk_add_metric(walk, "lost_ns", "nanoseconds", "lost, including what callees lost");
    walk_add_metric(walk, "taken", "count", "stacks taken");
    walk_add_metric(walk, "waited_ns", "nanoseconds", "waited for a holder of the lock");
    if (!interference_figures(profile, &report, &figures)) {
        walk_fail(walk);
    } else {
        for (uint32_t i = 0; i < profile->timed_blocks_count; i++) {
            /* What a sequence lost, its members lost. */
            if (figures.blocks[i].flags & SPANS_SEQUENCE)
                continue;
            add_block(walk, &figures, metric, i);
            add_holders(walk, &figures, metric, i);
        }
    }
    interference_figures_free(&figures);
}

const struct analysis_export interference_export = {.kinds = kinds, .samples = add_samples};
