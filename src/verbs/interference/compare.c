// SPDX-License-Identifier: MIT
/* Lost time in comparisons of profiles. */
#include "compare/findings.h"
#include "interference/internal.h"

#include <stdlib.h>

enum { LEAST_ADDRESS = 65536 };

static const struct diff_kind kinds[] = {
    {.name = "block",
     .heading = "Time lost",
     .whole = "the threads' working time",
     .unit = DIFF_SECONDS,
     .untested = true},
};

static bool begin(const struct diff_side *side, struct diff_part *part)
{
    const struct report_options options = {0};
    if (!interference_is_in(side->profile))
        return true;
    struct interference_figures *figures = calloc(1, sizeof *figures);
    if (figures && !interference_figures(side->profile, &options, figures)) {
        interference_figures_free(figures);
        free(figures);
        figures = NULL;
    }
    part->state = figures;
    return figures != NULL;
}

static void end(void *state)
{
    interference_figures_free(state);
    free(state);
}

/* Locks and other keys that are addresses are different ones in each run: by their order in the
 * profile. */
static void add_findings(struct diff_side *side, const struct diff_part *part)
{
    const struct interference_figures *figures = part->state;
    const struct profile *profile = side->profile;
    if (!figures)
        return;
    side->wholes[part->first_kind].amount = figures->result->working_ns;
    for (uint32_t i = 0; i < profile->spans_count; i++) {
        const struct interference_score *score = &figures->result->spans[i];
        const struct profile_span *span = &profile->spans[i];
        uint32_t module = profile->span_functions[span->function].module;
        char name[SPAN_NAME_BYTES];
        if (score->state != INTERFERENCE_SCORED)
            continue;
        struct compare_finding *made = diff_add(side, part, 0, i);
        if (!made)
            return;
        interference_name(figures, i, NAME_BYTES, name);
        made->functions[0] = diff_hash_text(
            diff_hash_text(span->flags & PROFILE_SPAN_SEQUENCE, diff_module_name(side, module)),
            name);
        made->exact[0] =
            base_mix64(made->functions[0] + (span->key < LEAST_ADDRESS ? span->key : 0));
        made->lines[0] = i;
        made->amount = score->own_ns;
    }
}

static void add_figures(struct diff_side *side, const struct diff_part *part)
{
    const struct interference_figures *figures = part->state;
    if (!figures)
        return;
    const struct interference_result *result = figures->result;
    double share = result->working_ns > 0 ? result->interference_ns / result->working_ns : 0;
    struct diff_figure *made = diff_add_figure(side, "interference.", "share", DIFF_SHARE, share);
    if (!made)
        return;
    made->whole = result->working_ns;
    made->first_kind = part->first_kind;
    made->kinds_count = 1;
}

static void describe(const struct diff_side *side, const struct diff_part *part,
                     const struct compare_finding *finding, struct diff_subject *subject)
{
    const struct profile_span_function *function =
        &side->profile->span_functions[side->profile->spans[finding->row].function];
    char key[96];
    interference_name(part->state, finding->row, 60, subject->name);
    interference_key(part->state, finding->row, key);
    if (key[0])
        print_add(subject->name, sizeof subject->name, ", %s", key);
    subject->function = function->function;
    subject->file = function->file;
    subject->line = function->line;
}

static struct advice find_advice(const struct diff_side *side, const struct diff_part *part,
                                 const struct compare_finding *finding,
                                 struct source_cache *sources)
{
    (void)side, (void)sources;
    return interference_advice(part->state, finding->row);
}

const struct analysis_compare interference_compare = {
    .kinds = kinds,
    .kinds_count = BASE_COUNT(kinds),
    .untested = "One run each does not show how much these times vary from run to run: no "
                "difference is called significant.",
    .begin = begin,
    .end = end,
    .findings = add_findings,
    .figures = add_figures,
    .subject = describe,
    .advice = find_advice,
    .is_unsummed = diff_has_state,
};
