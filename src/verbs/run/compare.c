// SPDX-License-Identifier: MIT
/* What the best fix would gain, as a figure of diff and check. */
#include "compare/findings.h"
#include "run/internal.h"

#include <stdlib.h>

static bool begin(const struct diff_side *side, struct diff_part *part)
{
    /* As in reports: what a line reads like decides, too, what a finding of it is worth. */
    struct source_cache sources = {.enabled = true,
                                   .not_newer_than_ns = side->profile->run.start_ns};
    struct gain_list *list = NULL;
    if (run_is_own(side->profile)) {
        list = malloc(sizeof *list);
        if (!list || !gain_make(&side->places, &sources, list)) {
            free(list);
            source_free(&sources);
            return false;
        }
    }
    source_free(&sources);
    part->state = list;
    return true;
}

static void end(void *state)
{
    if (state)
        gain_free(state);
    free(state);
}

static void add_findings(struct diff_side *side, const struct diff_part *part)
{
    (void)side;
    (void)part;
}

/* Of nothing that was seen often enough every gain is possible. */
static void add_figures(struct diff_side *side, const struct diff_part *part)
{
    const struct gain_list *list = part->state;
    const struct gain_finding *first = list && list->strong ? &list->items[0] : NULL;
    struct diff_figure *made =
        list ? diff_add_figure(side, "run.", "gain", DIFF_SHARE, first ? first->direct : 0) : NULL;
    if (!made)
        return;
    made->few = !first;
    made->band = true;
    made->low = first ? first->direct_low : 0;
    made->high = first ? first->direct_high : 1;
}

const struct analysis_compare run_compare = {
    .begin = begin, .end = end, .findings = add_findings, .figures = add_figures};
