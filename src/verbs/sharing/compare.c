// SPDX-License-Identifier: MIT
/* Transfers in comparisons of profiles: by pairs of places, whichever lines these moved. */
#include "compare/findings.h"
#include "sharing/internal.h"

#include <stdlib.h>

enum { KIND_FALSE, KIND_TRUE };

static const struct diff_kind kinds[] = {
    [KIND_FALSE] = {.name = "false-sharing",
                    .heading = "False sharing",
                    .whole = "the transfers",
                    .labels = {"one", "other"},
                    .members = {"first", "second"},
                    .unit = DIFF_COUNT},
    [KIND_TRUE] = {.name = "true-sharing",
                   .heading = "True sharing",
                   .whole = "the transfers",
                   .labels = {"one", "other"},
                   .members = {"first", "second"},
                   .unit = DIFF_COUNT},
};

/* Pairs of all lines, those between equal places as one. */
struct state {
    struct sharing_report *report;
    struct sharing_pair *pairs;
    size_t count;
};

static void end(void *made)
{
    struct state *state = made;
    if (!state)
        return;
    sharing_report_free(state->report);
    free(state->pairs);
    free(state);
}

static int compare_places(const void *left, const void *right)
{
    const struct sharing_pair *a = left, *b = right;
    if (a->is_true != b->is_true)
        return a->is_true ? 1 : -1;
    if (a->first_place != b->first_place)
        return a->first_place < b->first_place ? -1 : 1;
    return (a->second_place > b->second_place) - (a->second_place < b->second_place);
}

static void join(struct state *state)
{
    size_t kept = 0;
    if (state->count)
        qsort(state->pairs, state->count, sizeof *state->pairs, compare_places);
    for (size_t i = 0; i < state->count; i++)
        if (kept && compare_places(&state->pairs[kept - 1], &state->pairs[i]) == 0)
            state->pairs[kept - 1].transfers += state->pairs[i].transfers;
        else
            state->pairs[kept++] = state->pairs[i];
    state->count = kept;
}

static bool begin(const struct diff_side *side, struct diff_part *part)
{
    struct state *state = calloc(1, sizeof *state);
    if (!state || !(state->report = sharing_report_make(&side->places)) ||
        !(state->pairs = calloc(side->profile->shared_pairs_count + 1, sizeof *state->pairs))) {
        end(state);
        return false;
    }
    for (size_t i = 0; i < state->report->lines_count; i++) {
        const struct sharing_line *line = &state->report->lines[i];
        for (size_t j = 0; j < line->pairs_count; j++)
            state->pairs[state->count++] = sharing_ordered(&side->places, &line->pairs[j]);
    }
    join(state);
    part->state = state;
    return true;
}

static void add_findings(struct diff_side *side, const struct diff_part *part)
{
    const struct state *state = part->state;
    double all = state->report->transfers;
    if (!side->profile->shared_runs_count)
        return;
    side->wholes[part->first_kind + KIND_FALSE].amount = all;
    side->wholes[part->first_kind + KIND_TRUE].amount = all;
    for (size_t i = 0; i < state->count; i++) {
        const struct sharing_pair *pair = &state->pairs[i];
        struct compare_finding *made =
            diff_add_pair(side, part, pair->is_true ? KIND_TRUE : KIND_FALSE, (uint32_t)i);
        if (!made)
            return;
        made->amount = pair->transfers;
    }
}

static void find_ends(const struct diff_part *part, const struct compare_finding *finding,
                      struct diff_ends *ends)
{
    const struct state *state = part->state;
    const struct sharing_pair *pair = &state->pairs[finding->row];
    *ends =
        (struct diff_ends){{pair->first, pair->second}, {pair->first_place, pair->second_place}};
}

static void add_figure(struct diff_side *side, const struct diff_part *part, const char *name,
                       double value, uint32_t kind, uint32_t count)
{
    struct diff_figure *made = diff_add_figure(side, "sharing.", name, DIFF_COUNT, value);
    if (!made)
        return;
    made->whole = 1;
    made->first_kind = part->first_kind + kind;
    made->kinds_count = count;
}

/* What is suppressed is taken off. */
static void add_figures(struct diff_side *side, const struct diff_part *part)
{
    const struct state *state = part->state;
    const struct profile_shared_run *totals = &state->report->totals;
    if (!side->profile->shared_runs_count)
        return;
    double wrong = totals->false_transfers - side->suppressed[part->first_kind + KIND_FALSE].amount;
    double right = totals->true_transfers - side->suppressed[part->first_kind + KIND_TRUE].amount;
    add_figure(side, part, "transfers", wrong + right, KIND_FALSE, 2);
    add_figure(side, part, "false.transfers", wrong, KIND_FALSE, 1);
    add_figure(side, part, "true.transfers", right, KIND_TRUE, 1);
}

const struct analysis_compare sharing_compare = {
    .kinds = kinds,
    .kinds_count = BASE_COUNT(kinds),
    .begin = begin,
    .end = end,
    .findings = add_findings,
    .figures = add_figures,
    .ends = find_ends,
};
