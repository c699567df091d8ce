// SPDX-License-Identifier: MIT
/* Paths in comparisons of profiles. */
#include "compare/findings.h"
#include "paths/internal.h"

#include <math.h>

static const struct diff_kind kinds[] = {
    {.name = "path", .heading = "Paths", .whole = "the instructions", .unit = DIFF_COUNT},
};

/* A path is known by the lines that it runs through, from its function's own: when the function
   moves in its file, they stay. */
static uint64_t hash_lines(const struct profile *profile, const struct profile_path *path,
                           uint64_t hash)
{
    uint32_t line = profile->path_functions[path->function].line;
    for (uint32_t s = 0; s < path->steps; s++) {
        const struct profile_path_block *block =
            &profile->path_blocks[profile->path_steps[path->first_step + s].block];
        for (uint32_t l = 0; l < block->lines; l++)
            hash = base_mix64(hash + (profile->path_lines[block->first_line + l].line - line));
        hash = base_mix64(hash ^ (block->lines ? 0 : block->block));
    }
    return hash;
}

static void add_findings(struct diff_side *side, const struct diff_part *part)
{
    const struct profile *profile = side->profile;
    for (size_t i = 0; i < profile->paths_count; i++) {
        const struct profile_path *path = &profile->paths[i];
        const struct profile_path_function *function = &profile->path_functions[path->function];
        struct compare_finding *made = diff_add(side, part, 0, (uint32_t)i);
        if (!made)
            return;
        made->functions[0] =
            diff_hash_text(diff_hash_text(path->flags, diff_module_name(side, function->module)),
                           function->function);
        if (!function->function)
            made->functions[0] = base_mix64(made->functions[0] ^ function->address);
        made->exact[0] = hash_lines(profile, path, made->functions[0]);
        made->lines[0] = path->steps;
        made->lines[1] = (uint32_t)path->number;
        made->amount = (double)path->instructions;
        made->other = (double)path->count;
        side->wholes[part->first_kind].amount += made->amount;
    }
}

static void add_figures(struct diff_side *side, const struct diff_part *part)
{
    const struct diff_suppressed *suppressed = &side->suppressed[part->first_kind];
    double counts = 0;
    if (side->profile->paths_count == 0)
        return;
    for (size_t i = 0; i < side->profile->paths_count; i++)
        counts += (double)side->profile->paths[i].count;
    struct diff_figure *made =
        diff_add_figure(side, "paths.", "instructions", DIFF_COUNT,
                        fmax(0, side->wholes[part->first_kind].amount - suppressed->amount));
    if (!made)
        return;
    made->whole = 1;
    made->first_kind = part->first_kind;
    made->kinds_count = 1;
    made = diff_add_figure(side, "paths.", "executions", DIFF_COUNT,
                           fmax(0, counts - suppressed->other));
    if (made)
        made->whole = 1;
}

static void describe(const struct diff_side *side, const struct diff_part *part,
                     const struct compare_finding *finding, struct diff_subject *subject)
{
    const struct profile *profile = side->profile;
    const struct profile_path *path = &profile->paths[finding->row];
    const struct profile_path_function *function = &profile->path_functions[path->function];
    const struct profile_path_block *block =
        &profile->path_blocks[profile->path_steps[path->first_step].block];
    char name[NAME_BYTES];
    (void)part;
    name_shorten(function->function ? function->function : "unknown function", 60, name);
    snprintf(subject->name, sizeof subject->name, "%s, path %llu", name,
             (unsigned long long)path->number);
    subject->function = function->function;
    subject->file = function->file;
    subject->line = function->line;
    if (block->lines && profile->path_lines[block->first_line].file) {
        subject->file = profile->path_lines[block->first_line].file;
        subject->line = profile->path_lines[block->first_line].line;
    }
}

const struct analysis_compare paths_compare = {
    .kinds = kinds,
    .kinds_count = BASE_COUNT(kinds),
    .findings = add_findings,
    .figures = add_figures,
    .subject = describe,
};
