// SPDX-License-Identifier: MIT
/*
 * Findings of two profiles that are the same in the source, across rebuilds. Functions' names last,
 * lines drift: within the same functions equal lines go first, and what is left over is aligned so
 * that the lines lie as near as they can without crossing.
 */
#include "compare/compare.h"

#include <math.h>
#include <stdlib.h>

const char *const compare_verdict_names[COMPARE_VERDICTS] = {"same", "appeared", "vanished", "grew",
                                                             "shrank"};

/* Cells of an alignment; beyond that the order of lines alone decides. */
enum { CELLS_MAX = 1 << 20 };

/* Not yet matched; lists of indices into a side's findings. */
struct ordered {
    const struct compare_finding *findings;
    uint32_t *order;
    size_t count;
};

struct matching {
    struct ordered sides[2];
    struct compare_change *changes;
    size_t count;
};

/* ---- order ----------------------------------------------------------------------------------- */

static int compare_words(const uint64_t a[2], const uint64_t b[2])
{
    for (unsigned i = 0; i < 2; i++)
        if (a[i] != b[i])
            return a[i] < b[i] ? -1 : 1;
    return 0;
}

static int compare_group(const struct compare_finding *a, const struct compare_finding *b)
{
    if (a->kind != b->kind)
        return a->kind < b->kind ? -1 : 1;
    return compare_words(a->functions, b->functions);
}

static int compare_exact(const struct compare_finding *a, const struct compare_finding *b)
{
    int order = compare_group(a, b);
    return order ? order : compare_words(a->exact, b->exact);
}

static int compare_lines(const struct compare_finding *a, const struct compare_finding *b)
{
    for (unsigned i = 0; i < COMPARE_LINES; i++)
        if (a->lines[i] != b->lines[i])
            return a->lines[i] < b->lines[i] ? -1 : 1;
    return 0;
}

static int by_exact(const void *left, const void *right, void *context)
{
    const struct compare_finding *findings = context;
    uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
    int order = compare_exact(&findings[a], &findings[b]);
    if (order == 0)
        order = compare_lines(&findings[a], &findings[b]);
    return order ? order : (a > b) - (a < b);
}

static int by_lines(const void *left, const void *right, void *context)
{
    const struct compare_finding *findings = context;
    uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
    int order = compare_group(&findings[a], &findings[b]);
    if (order == 0)
        order = compare_lines(&findings[a], &findings[b]);
    return order ? order : (a > b) - (a < b);
}

static bool order_side(const struct compare_side *side, struct ordered *ordered)
{
    *ordered = (struct ordered){.findings = side->findings, .count = side->count};
    ordered->order = calloc(side->count + 1, sizeof *ordered->order);
    for (size_t i = 0; ordered->order && i < side->count; i++)
        ordered->order[i] = (uint32_t)i;
    return ordered->order != NULL;
}

static void sort(struct ordered *ordered, int (*by)(const void *, const void *, void *))
{
    qsort_r(ordered->order, ordered->count, sizeof *ordered->order, by,
            (void *)(uintptr_t)ordered->findings);
}

/* ---- equal lines ----------------------------------------------------------------------------- */

static void add_change(struct matching *matching, uint32_t before, uint32_t after)
{
    const struct compare_finding *a =
        before == COMPARE_NONE ? NULL : &matching->sides[0].findings[before];
    const struct compare_finding *b =
        after == COMPARE_NONE ? NULL : &matching->sides[1].findings[after];
    matching->changes[matching->count++] =
        (struct compare_change){.kind = a ? a->kind : b->kind,
                                .before = before,
                                .after = after,
                                .drifted = a && b && compare_words(a->exact, b->exact) != 0,
                                .amounts = {a ? a->amount : 0, b ? b->amount : 0}};
}

/* Both sorted by_exact: a merge. The rest is moved to the front. */
static void match_equal(struct matching *matching)
{
    struct ordered *a = &matching->sides[0], *b = &matching->sides[1];
    size_t i = 0, j = 0, kept_a = 0, kept_b = 0;
    while (i < a->count || j < b->count) {
        int order = i == a->count ? 1
                    : j == b->count
                        ? -1
                        : compare_exact(&a->findings[a->order[i]], &b->findings[b->order[j]]);
        if (order == 0)
            add_change(matching, a->order[i++], b->order[j++]);
        else if (order < 0)
            a->order[kept_a++] = a->order[i++];
        else
            b->order[kept_b++] = b->order[j++];
    }
    a->count = kept_a;
    b->count = kept_b;
}

/* ---- near lines ------------------------------------------------------------------------------ */

static double apart(const struct compare_finding *a, const struct compare_finding *b)
{
    double sum = 0;
    for (unsigned i = 0; i < COMPARE_LINES; i++)
        sum += fabs((double)a->lines[i] - (double)b->lines[i]);
    return sum;
}

/* Few of one side, many of the other, both in order of lines. */
struct alignment {
    const struct compare_finding *few, *many;
    const uint32_t *few_order, *many_order;
    size_t few_count, many_count;
    uint32_t *partner; /* of each of the few: index into many_order */
};

/* Each of the few gets one of the many, in order, at the least sum of distances. costs[j]: of the
   first i of the few among the first j of the many. */
static bool align(const struct alignment *alignment)
{
    size_t rows = alignment->few_count, columns = alignment->many_count;
    uint8_t *taken = calloc(rows * columns, 1);
    double *costs = calloc(2 * (columns + 1), sizeof *costs);
    bool good = taken && costs;
    double *above = costs, *here = costs + columns + 1;
    for (size_t i = 0; good && i < rows; i++) {
        here[i] = INFINITY;
        for (size_t j = i; j < columns; j++) {
            double with = above[j] + apart(&alignment->few[alignment->few_order[i]],
                                           &alignment->many[alignment->many_order[j]]);
            taken[i * columns + j] = with < here[j];
            here[j + 1] = with < here[j] ? with : here[j];
        }
        double *swapped = above;
        above = here;
        here = swapped;
    }
    for (size_t i = rows, j = columns; good && i-- > 0;) {
        while (j > i + 1 && !taken[i * columns + j - 1])
            j--;
        alignment->partner[i] = (uint32_t)--j;
    }
    free(taken);
    free(costs);
    return good;
}

/* One group: [from, to) of each side's order. */
static bool match_group(struct matching *matching, const size_t from[2], const size_t to[2])
{
    const struct ordered *sides = matching->sides;
    unsigned few = to[0] - from[0] <= to[1] - from[1] ? 0 : 1, many = 1 - few;
    struct alignment alignment = {
        .few = sides[few].findings,
        .many = sides[many].findings,
        .few_order = sides[few].order + from[few],
        .many_order = sides[many].order + from[many],
        .few_count = to[few] - from[few],
        .many_count = to[many] - from[many],
    };
    alignment.partner = calloc(alignment.few_count + 1, sizeof *alignment.partner);
    bool good = alignment.partner != NULL;
    for (size_t i = 0; good && i < alignment.few_count; i++)
        alignment.partner[i] = (uint32_t)i;
    if (good && alignment.few_count && alignment.many_count <= CELLS_MAX / alignment.few_count)
        good = align(&alignment);
    for (size_t i = 0, j = 0; good && j < alignment.many_count; j++) {
        bool matched = i < alignment.few_count && alignment.partner[i] == j;
        uint32_t pair[2] = {COMPARE_NONE, COMPARE_NONE};
        pair[many] = alignment.many_order[j];
        if (matched)
            pair[few] = alignment.few_order[i++];
        add_change(matching, pair[0], pair[1]);
    }
    free(alignment.partner);
    return good;
}

/* Both sorted by_lines. */
static bool match_near(struct matching *matching)
{
    const struct ordered *sides = matching->sides;
    size_t from[2] = {0, 0};
    while (from[0] < sides[0].count || from[1] < sides[1].count) {
        size_t to[2] = {from[0], from[1]};
        const struct compare_finding *first = NULL;
        for (unsigned s = 0; s < 2; s++)
            if (from[s] < sides[s].count) {
                const struct compare_finding *here = &sides[s].findings[sides[s].order[from[s]]];
                first = !first || compare_group(here, first) < 0 ? here : first;
            }
        for (unsigned s = 0; s < 2; s++)
            while (to[s] < sides[s].count &&
                   compare_group(&sides[s].findings[sides[s].order[to[s]]], first) == 0)
                to[s]++;
        if (!match_group(matching, from, to))
            return false;
        from[0] = to[0];
        from[1] = to[1];
    }
    return true;
}

/* ---- verdicts -------------------------------------------------------------------------------- */

static double weight_of_one(double squares, double amount)
{
    return amount > 0 ? squares / amount : 0;
}

/*
 * Samples do not weigh the same. What a share is made of, and the rest, are each divided by what
 * one of their samples weighs (Σw²/Σw, of both profiles together, else a share would seem to change
 * where only the weights do): effective numbers of samples, as Kish's for the whole. A finding that
 * one heavy sample made is one sample so, whatever the others weigh.
 */
static void test_shares(struct compare_change *change, const double squares[2],
                        const struct compare_whole wholes[2], double dispersion)
{
    const double *in = change->amounts;
    double out[2], out_squares = 0, hits[2], draws[2];
    for (unsigned s = 0; s < 2; s++) {
        out[s] = fmax(0, wholes[s].amount - in[s]);
        out_squares += fmax(0, wholes[s].squares - squares[s]);
    }
    double one_in = weight_of_one(squares[0] + squares[1], in[0] + in[1]);
    double one_out = weight_of_one(out_squares, out[0] + out[1]);
    if (!(one_in > 0))
        return;
    for (unsigned s = 0; s < 2; s++) {
        hits[s] = in[s] / one_in / dispersion;
        draws[s] = hits[s] + (one_out > 0 ? out[s] / one_out / dispersion : 0);
    }
    if (hits[0] + hits[1] < COMPARE_LEAST || draws[0] < 1 || draws[1] < 1)
        return;
    change->tested = true;
    change->p = compare_fisher(hits[0], draws[0], hits[1], draws[1]);
}

static enum compare_verdict verdict_of(const struct compare_change *change, const double values[2])
{
    if (values[0] == values[1])
        return COMPARE_SAME;
    if (change->amounts[0] <= 0 && change->amounts[1] > 0)
        return COMPARE_APPEARED;
    if (change->amounts[1] <= 0 && change->amounts[0] > 0)
        return COMPARE_VANISHED;
    return values[0] < values[1] ? COMPARE_GREW : COMPARE_SHRANK;
}

static void judge(struct compare_change *change, const struct compare_side *const sides[2],
                  bool exact)
{
    double squares[2] = {0, 0}, others[2] = {0, 0};
    const uint32_t index[2] = {change->before, change->after};
    struct compare_whole wholes[2];
    for (unsigned s = 0; s < 2; s++) {
        wholes[s] = sides[s]->wholes[change->kind];
        change->shares[s] =
            wholes[s].amount > 0 ? fmin(1, change->amounts[s] / wholes[s].amount) : 0;
        if (index[s] == COMPARE_NONE)
            continue;
        squares[s] = sides[s]->findings[index[s]].squares;
        others[s] = sides[s]->findings[index[s]].other;
    }
    if (!exact) {
        change->verdict = verdict_of(change, change->shares);
        test_shares(change, squares, wholes,
                    fmax(1, fmax(sides[0]->dispersion, sides[1]->dispersion)));
        return;
    }
    change->verdict = verdict_of(change, change->amounts);
    if (change->verdict == COMPARE_SAME)
        change->verdict = verdict_of(change, others);
    change->tested = true;
    change->p = change->verdict == COMPARE_SAME;
}

static int by_difference(const void *left, const void *right, void *context)
{
    const struct compare_change *a = left, *b = right;
    bool exact = *(bool *)context;
    const double *of_a = exact ? a->amounts : a->shares, *of_b = exact ? b->amounts : b->shares;
    double by_a = fabs(of_a[1] - of_a[0]), by_b = fabs(of_b[1] - of_b[0]);
    if (a->kind != b->kind)
        return a->kind < b->kind ? -1 : 1;
    if (by_a != by_b)
        return by_a > by_b ? -1 : 1;
    if (a->after != b->after)
        return a->after < b->after ? -1 : 1;
    return (a->before > b->before) - (a->before < b->before);
}

enum base_status compare_findings(const struct compare_side *before,
                                  const struct compare_side *after, bool exact, double level,
                                  struct compare_change **changes, size_t *count)
{
    const struct compare_side *const sides[2] = {before, after};
    struct matching matching = {0};
    matching.changes = calloc(before->count + after->count + 1, sizeof *matching.changes);
    bool good = matching.changes && order_side(before, &matching.sides[0]) &&
                order_side(after, &matching.sides[1]);
    if (good) {
        for (unsigned s = 0; s < 2; s++)
            sort(&matching.sides[s], by_exact);
        match_equal(&matching);
        for (unsigned s = 0; s < 2; s++)
            sort(&matching.sides[s], by_lines);
        good = match_near(&matching);
    }
    for (size_t i = 0; good && i < matching.count; i++)
        judge(&matching.changes[i], sides, exact);
    if (good && !exact)
        good = compare_holm(matching.changes, matching.count, level) == BASE_OK;
    free(matching.sides[0].order);
    free(matching.sides[1].order);
    if (!good) {
        free(matching.changes);
        return BASE_NO_MEMORY;
    }
    qsort_r(matching.changes, matching.count, sizeof *matching.changes, by_difference, &exact);
    *changes = matching.changes;
    *count = matching.count;
    return BASE_OK;
}
