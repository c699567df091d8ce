// SPDX-License-Identifier: MIT
/*
 * Scores. A span within another one loses its time twice, in its own score and in its caller's:
 * `own_ns` is what is left to the caller when what its callees lose is taken off. How much they
 * lose in it is not recorded, but what they took is (within_ns), and what they take at least (their
 * minima, by what the shape says was called).
 */
#include "interference/scoring.h"

#include <math.h>
#include <stdlib.h>

const char *const interference_cause_names[INTERFERENCE_CAUSES] = {
    [INTERFERENCE_UNKNOWN] = "unknown",
    [INTERFERENCE_LOCK] = "lock",
    [INTERFERENCE_CONDITION] = "condition",
    [INTERFERENCE_IMBALANCE] = "imbalance",
    [INTERFERENCE_IO] = "io",
    [INTERFERENCE_ALLOCATOR] = "allocator",
    [INTERFERENCE_PREEMPTION] = "preemption",
    [INTERFERENCE_SHARED] = "shared-data-or-bandwidth",
    [INTERFERENCE_VARYING] = "varying-work",
    [INTERFERENCE_NESTED] = "nested",
    [INTERFERENCE_WAITING] = "idle",
};

/* ---- what spans with a function and a shape take --------------------------------------------- */

struct taking { /* of all keys together */
    uint64_t shape;
    uint32_t function;
    /* Of its time, 0..1: keys whose loss stands in a score of their own, or that are idle */
    double counted;
    double min_ns, mean_ns, asleep_ns, executions; /* asleep: mean */
};

struct takings {
    struct taking *items; /* by function, shape */
    size_t count;
};

static int compare_takings(const void *left, const void *right)
{
    const struct taking *a = left, *b = right;
    if (a->function != b->function)
        return a->function < b->function ? -1 : 1;
    return (a->shape > b->shape) - (a->shape < b->shape);
}

static void merge_takings(struct takings *takings)
{
    size_t to = 0;
    for (size_t i = 0; i < takings->count; i++) {
        struct taking *item = &takings->items[i], *last = to ? &takings->items[to - 1] : NULL;
        if (!last || compare_takings(last, item) != 0) {
            takings->items[to++] = *item;
            continue;
        }
        double executions = last->executions + item->executions;
        last->counted =
            share_of(last->counted * last->mean_ns * last->executions +
                         item->counted * item->mean_ns * item->executions,
                     last->mean_ns * last->executions + item->mean_ns * item->executions);
        last->mean_ns =
            executions > 0
                ? (last->mean_ns * last->executions + item->mean_ns * item->executions) / executions
                : 0;
        last->asleep_ns = share_of(
            last->asleep_ns * last->executions + item->asleep_ns * item->executions, executions);
        last->min_ns = fmin(last->min_ns, item->min_ns);
        last->executions = executions;
    }
    takings->count = to;
}

static bool collect_takings(const struct interference_result *result, struct takings *takings)
{
    const struct interference_input *input = result->input;
    takings->items = calloc(input->spans_count + 1, sizeof *takings->items);
    takings->count = 0;
    if (!takings->items)
        return false;
    for (size_t i = 0; i < input->spans_count; i++) {
        const struct interference_span *span = &input->spans[i];
        const struct interference_score *score = &result->spans[i];
        if (span->flags & (SPANS_SEQUENCE | SPANS_REST))
            continue;
        takings->items[takings->count++] = (struct taking){
            .shape = span->shape,
            .function = span->function,
            .counted = score->state != INTERFERENCE_FEW,
            .min_ns = score->min_ns,
            .mean_ns = score->mean_ns,
            .asleep_ns = share_of(score->asleep_ns, (double)score->count),
            .executions = (double)score->count,
        };
    }
    qsort(takings->items, takings->count, sizeof *takings->items, compare_takings);
    merge_takings(takings);
    return true;
}

static const struct taking *taking_of(const struct takings *takings,
                                      const struct interference_child *child)
{
    const struct taking *items = takings->items;
    size_t at =
        BASE_FIRST(i, takings->count,
                   items[i].function > child->function ||
                       (items[i].function == child->function && items[i].shape >= child->shape));
    return at < takings->count && items[at].function == child->function &&
                   items[at].shape == child->shape
               ? &items[at]
               : NULL;
}

/* ---- one span ----------------------------------------------------------------------------------
 */

/* Evenly spread within a bin, between the span's minimum and maximum. */
static double percentile(const struct interference_span *span, double min_ns, double share)
{
    double wanted, seen = 0, all = 0;
    for (size_t i = 0; i < span->bins_count; i++)
        all += (double)span->bins[i].count;
    wanted = share * all;
    for (size_t i = 0; i < span->bins_count; i++) {
        const struct interference_bin *bin = &span->bins[i];
        if (seen + (double)bin->count < wanted || bin->count == 0) {
            seen += (double)bin->count;
            continue;
        }
        double low = at_least(bin->low_ns, min_ns), high = at_most(bin->high_ns, span->max_ns);
        double value = low + at_least(high - low, 0) * (wanted - seen) / (double)bin->count;
        return at_least(at_most(value, span->max_ns), min_ns);
    }
    return all > 0 ? span->max_ns : min_ns;
}

/*
 * What is left of the loss when a step of the clock is no difference: a share, from the histogram.
 * A duration between two steps is measured as one or the other, so of short executions some always
 * seem slow. And over how many of the executions it is spread.
 */
static void spread_loss(const struct interference_input *input,
                        const struct interference_span *span, struct interference_score *score)
{
    double all = 0, beyond = 0, sum = 0, squares = 0;
    double recorded = share_of((double)score->recorded, (double)score->count);
    for (size_t i = 0; i < span->bins_count; i++) {
        const struct interference_bin *bin = &span->bins[i];
        double value = at_most((bin->low_ns + bin->high_ns) / 2, span->max_ns);
        double lost = at_least(value - score->floor_ns, 0), times = (double)bin->count;
        all += times * lost;
        if (lost <= 1.25 * input->step_ns) /* bins are a quarter of an octave wide */
            continue;
        lost -= input->step_ns;
        beyond += times * lost;
        sum += times * recorded * lost;
        squares += times * recorded * lost * lost;
    }
    score->beyond_step = all > 0 && input->step_ns > 0 ? beyond / all : 1;
    score->slow = squares > 0 ? sum * sum / squares : 0;
}

/* Merged over threads: sums of what was recorded, scaled to all executions thread by thread. */
struct merged {
    double recorded, sum_ns, within_ns;
};

static struct merged merge_parts(const struct interference_result *result,
                                 const struct interference_span *span,
                                 struct interference_score *score)
{
    const struct interference_input *input = result->input;
    struct merged merged = {0};
    bool first = true;
    for (size_t i = 0; i < span->parts_count; i++) {
        const struct interference_part *part = &span->parts[i];
        double scale = part_scale(part) * result->threads[part->thread].fit;
        score->count += part->count;
        score->recorded += part->recorded;
        score->threads_ns += input->threads[part->thread].duration_ns;
        score->working_ns += result->threads[part->thread].working_ns;
        score->self_ns += result->threads[part->thread].fit * part_self(part);
        score->total_ns += scale * part->sum_ns;
        score->asleep_ns += scale * part->asleep_ns;
        score->asleep_within_ns += scale * part->asleep_within_ns;
        /* As seen, not scaled: recording an execution invites preemption, letting one pass does
         * not. */
        score->preempted_ns += part->preempted_ns;
        merged.recorded += (double)part->recorded;
        merged.sum_ns += part->sum_ns;
        merged.within_ns += part->within_ns;
        if (part->recorded && (first || part->min_ns < score->min_ns)) {
            score->min_ns = part->min_ns;
            first = false;
        }
    }
    if (span->flags & SPANS_SEQUENCE) /* its members stand for it */
        score->self_ns = 0;
    score->preempted_ns = at_most(score->preempted_ns, score->threads_ns);
    score->threads = (uint32_t)span->parts_count;
    score->max_ns = at_least(span->max_ns, score->min_ns);
    score->mean_ns = share_of(merged.sum_ns, merged.recorded);
    score->floor_ns = at_least(score->min_ns, input->step_ns);
    spread_loss(input, span, score);
    score->p1_ns = percentile(span, score->min_ns, 0.01);
    score->median_ns = percentile(span, score->min_ns, 0.5);
    score->p99_ns = percentile(span, score->min_ns, 0.99);
    return merged;
}

/* Of executions that were not timed: what the timed ones lost times their number, if that is a matter of many. A handful
   of slow ones, by interrupts or another virtual machine, says nothing of the others. */
static double extrapolated(double scale, const struct interference_score *score)
{
    static const double handful = 8, many = 64;
    double known = at_least(at_most((score->slow - handful) / (many - handful), 1), 0);
    return 1 + at_least(scale - 1, 0) * known;
}

double interference_lost_in(const struct interference_result *result,
                            const struct interference_part *part,
                            const struct interference_score *score)
{
    double lost = at_least(part->sum_ns - (double)part->recorded * score->floor_ns, 0);
    double given = score->given_ns * share_of((double)part->count, (double)score->count);
    return result->threads[part->thread].fit * extrapolated(part_scale(part), score) * lost *
               score->beyond_step +
           given;
}

/* Σ max(0, d - p1). The hundredth below p1 is taken to be half-way between it and the minimum. */
static double lost_beyond_p1(const struct interference_score *score, const struct merged *merged)
{
    double below = 0.01 * merged->recorded;
    double sum = merged->sum_ns - below * (score->min_ns + score->p1_ns) / 2;
    double lost = sum - (merged->recorded - below) * score->p1_ns;
    return at_least(lost, 0) * share_of((double)score->count, merged->recorded);
}

/* A lock that one thread alone takes, and never sleeps for: what it takes longer at times is no waiting for anybody. */
static bool is_uncontended(const struct interference_input *input,
                           const struct interference_span *span,
                           const struct interference_score *score)
{
    uint32_t class =
        span->flags & SPANS_SEQUENCE ? SPANS_CODE : input->functions[span->function].class;
    return (class == SPANS_LOCK || class == SPANS_UNLOCK) && span->parts_count == 1 &&
           span->never_held && input->switches && score->asleep_ns <= 0;
}

static void score_span(const struct interference_result *result,
                       const struct interference_span *span, struct interference_score *score)
{
    const struct interference_input *input = result->input;
    struct merged merged = merge_parts(result, span, score);
    uint64_t least = input->least ? input->least : INTERFERENCE_LEAST;
    bool sequence = span->flags & SPANS_SEQUENCE;
    if (!sequence && input->functions[span->function].class == SPANS_IDLE) {
        score->state = INTERFERENCE_IDLE;
        score->cause = INTERFERENCE_WAITING;
        return;
    }
    if (score->recorded < least) {
        score->state = INTERFERENCE_FEW;
        return;
    }
    if (is_uncontended(input, span, score))
        return;
    for (size_t i = 0; i < span->parts_count; i++)
        score->lost_ns += interference_lost_in(result, &span->parts[i], score);
    /* Executions within one another, as of recursive functions, lose the same time more than once.
     */
    score->lost_ns = at_most(score->lost_ns, score->working_ns);
    score->own_ns = score->lost_ns;
    score->sci = at_most(share_of(score->lost_ns, score->working_ns), 1);
    score->lost_p1_ns = at_most(lost_beyond_p1(score, &merged), score->lost_ns);
    score->sci_p1 = at_most(share_of(score->lost_p1_ns, score->working_ns), 1);
}

/* What the children of one execution take, by the means and minima of their functions with these
 * shapes. */
struct children {
    double least_ns, usual_ns, few_ns, asleep_ns;
    double counted_ns, counted_loss_ns; /* those with scores of their own */
};

static struct children sum_children(const struct takings *takings,
                                    const struct interference_span *span)
{
    struct children sum = {0};
    for (size_t i = 0; i < span->children_count; i++) {
        const struct taking *taking = taking_of(takings, &span->children[i]);
        double times = span->children[i].count;
        if (!taking)
            continue;
        sum.least_ns += times * taking->min_ns;
        sum.usual_ns += times * taking->mean_ns;
        sum.asleep_ns += times * taking->asleep_ns;
        sum.few_ns += times * taking->mean_ns * (1 - taking->counted);
        sum.counted_ns += times * taking->mean_ns * taking->counted;
        sum.counted_loss_ns +=
            times * taking->counted * at_least(taking->mean_ns - taking->min_ns, 0);
    }
    return sum;
}

/* Takes off what its callees lose, as far as they have scores of their own. */
static void take_off_callees(const struct interference_result *result,
                             const struct takings *takings, const struct interference_span *span,
                             struct interference_score *score)
{
    struct children children = sum_children(takings, span);
    double within = 0, executions = (double)score->count, theirs;
    for (size_t i = 0; i < span->parts_count; i++)
        within += part_scale(&span->parts[i]) * result->threads[span->parts[i].thread].fit *
                  span->parts[i].within_ns;
    if (span->flags & SPANS_SEQUENCE) {
        theirs = executions * children.counted_loss_ns;
        /* Not recorded; at least what its members slept. */
        score->asleep_ns = score->asleep_within_ns =
            at_most(executions * children.asleep_ns, score->total_ns);
    } else if (span->flags & (SPANS_REST | SPANS_CHILDREN_CUT) || !(children.usual_ns > 0)) {
        /* Which ones it called is not known whole: they lose as much of their time as the span
         * does of its. */
        theirs = at_most(score->lost_ns * share_of(within, score->total_ns), within);
    } else {
        theirs = at_most((within - executions * children.least_ns) *
                             share_of(children.counted_ns, children.usual_ns),
                         within);
    }
    score->own_ns -= at_least(at_most(theirs, score->lost_ns), 0);
}

/* ---- the whole ----------------------------------------------------------------------------------
 */

static bool scores_of_functions(struct interference_result *result)
{
    const struct interference_input *input = result->input;
    uint32_t *seen = calloc(input->threads_count + 1, sizeof *seen);
    uint32_t *first = calloc(input->functions_count + 1, sizeof *first); /* span + 1 */
    uint32_t *next = calloc(input->spans_count + 1, sizeof *next);
    bool good = seen && first && next;
    for (size_t i = input->spans_count; good && i-- > 0;) {
        const struct interference_span *span = &input->spans[i];
        if (span->flags & SPANS_SEQUENCE || result->spans[i].state == INTERFERENCE_IDLE)
            continue;
        next[i] = first[span->function];
        first[span->function] = (uint32_t)i + 1;
    }
    for (size_t f = 0; good && f < input->functions_count; f++) {
        struct interference_function_score *function = &result->functions[f];
        double min = INFINITY;
        for (uint32_t b = first[f]; b; b = next[b - 1]) {
            const struct interference_score *score = &result->spans[b - 1];
            if (score->state != INTERFERENCE_SCORED) {
                function->few++;
                continue;
            }
            function->scored++;
            function->lost_ns += score->lost_ns;
            function->own_ns += score->own_ns;
            min = fmin(min, score->min_ns);
            for (size_t p = 0; p < input->spans[b - 1].parts_count; p++) {
                uint32_t thread = input->spans[b - 1].parts[p].thread;
                if (seen[thread] != f + 1)
                    function->threads_ns += result->threads[thread].working_ns;
                seen[thread] = (uint32_t)f + 1;
            }
        }
        for (uint32_t b = first[f]; b; b = next[b - 1]) {
            const struct interference_score *score = &result->spans[b - 1];
            if (score->state == INTERFERENCE_SCORED)
                function->explained_ns += (double)score->count * (score->min_ns - min);
        }
        function->sci = at_most(share_of(function->lost_ns, function->threads_ns), 1);
    }
    free(seen);
    free(first);
    free(next);
    return good;
}

static bool is_interference(enum interference_cause cause)
{
    return cause != INTERFERENCE_VARYING && cause != INTERFERENCE_WAITING;
}

/* What is shared out over threads: of sequences nothing, their members stand for them. */
static void totals_of_threads(struct interference_result *result)
{
    const struct interference_input *input = result->input;
    for (size_t i = 0; i < input->spans_count; i++) {
        const struct interference_span *span = &input->spans[i];
        const struct interference_score *score = &result->spans[i];
        if (span->flags & SPANS_SEQUENCE || score->state == INTERFERENCE_FEW)
            continue;
        double own = share_of(score->own_ns, score->lost_ns);
        for (size_t p = 0; p < span->parts_count; p++) {
            const struct interference_part *part = &span->parts[p];
            result->threads[part->thread].lost_ns[score->cause] +=
                score->state == INTERFERENCE_IDLE ? part_scale(part) * part->sum_ns
                                                  : own * interference_lost_in(result, part, score);
        }
    }
    for (size_t t = 0; t < input->threads_count; t++) {
        struct interference_thread_score *thread = &result->threads[t];
        double duration = input->threads[t].duration_ns;
        for (unsigned c = 0; c < INTERFERENCE_CAUSES; c++) {
            thread->lost_ns[c] = at_most(thread->lost_ns[c], duration);
            result->lost_ns[c] += thread->lost_ns[c];
            if (is_interference((enum interference_cause)c))
                thread->interference_ns += thread->lost_ns[c];
        }
        thread->interference_ns = at_most(thread->interference_ns, thread->working_ns);
        result->working_ns += thread->working_ns;
        result->interference_ns += thread->interference_ns;
        result->threads_ns += duration;
        result->preempted_ns += at_most(input->threads[t].preempted_ns, duration);
    }
}

/*
 * The program lasts as long as the thread that needs most, idle waits left out: its time, not
 * theirs, is what is gained.
 */
struct needs {
    double *needed_ns;                   /* by thread */
    uint32_t *order;                     /* threads, those that need most first */
    const struct interference_span **by; /* by thread: the last span that it was found in */
};

static int compare_needs(const void *left, const void *right, void *context)
{
    const struct needs *needs = context;
    uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
    double x = needs->needed_ns[a], y = needs->needed_ns[b];
    return x != y ? (x < y) - (x > y) : (a > b) - (a < b);
}

static bool find_needs(const struct interference_result *result, struct needs *needs)
{
    size_t count = result->input->threads_count;
    needs->needed_ns = calloc(count + 1, sizeof *needs->needed_ns);
    needs->order = calloc(count + 1, sizeof *needs->order);
    needs->by = calloc(count + 1, sizeof *needs->by);
    if (!needs->needed_ns || !needs->order || !needs->by)
        return false;
    for (uint32_t t = 0; t < count; t++) {
        needs->order[t] = t;
        needs->needed_ns[t] = result->threads[t].working_ns;
    }
    qsort_r(needs->order, count, sizeof *needs->order, compare_needs, needs);
    return true;
}

/* All threads but those of the span need what they needed before. */
static double gain_of_span(const struct interference_result *result,
                           const struct interference_span *span,
                           const struct interference_score *score, struct needs *needs)
{
    size_t count = result->input->threads_count, other = 0;
    double after = 0, before = count ? needs->needed_ns[needs->order[0]] : 0;
    for (size_t p = 0; p < span->parts_count; p++) {
        uint32_t thread = span->parts[p].thread;
        needs->by[thread] = span;
        after = fmax(after, at_least(needs->needed_ns[thread] -
                                         interference_lost_in(result, &span->parts[p], score),
                                     0));
    }
    while (other < count && needs->by[needs->order[other]] == span)
        other++;
    if (other < count)
        after = fmax(after, needs->needed_ns[needs->order[other]]);
    return before > 0 ? 1 - after / before : 0;
}

static double gain_of_all(const struct interference_result *result, const struct needs *needs)
{
    size_t count = result->input->threads_count;
    double after = 0, before = count ? needs->needed_ns[needs->order[0]] : 0;
    for (size_t t = 0; t < count; t++)
        after = fmax(after, needs->needed_ns[t] - result->threads[t].interference_ns);
    return before > 0 ? 1 - after / before : 0;
}

static bool gains(struct interference_result *result)
{
    const struct interference_input *input = result->input;
    struct needs needs = {0};
    bool good = find_needs(result, &needs);
    for (size_t i = 0; good && i < input->spans_count; i++)
        if (result->spans[i].state == INTERFERENCE_SCORED)
            result->spans[i].gain =
                gain_of_span(result, &input->spans[i], &result->spans[i], &needs);
    if (good)
        result->gain = gain_of_all(result, &needs);
    free(needs.needed_ns);
    free(needs.order);
    free(needs.by);
    return good;
}

/* ---- order --------------------------------------------------------------------------------------
 */

static int compare_doubles(double a, double b)
{
    return (a < b) - (a > b); /* the largest first */
}

static int compare_lost(const void *left, const void *right, void *context)
{
    const struct interference_result *result = context;
    uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
    int order = compare_doubles(result->spans[a].own_ns, result->spans[b].own_ns);
    order = order ? order : compare_doubles(result->spans[a].lost_ns, result->spans[b].lost_ns);
    return order ? order : (a > b) - (a < b);
}

static int compare_total(const void *left, const void *right, void *context)
{
    const struct interference_result *result = context;
    uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
    int order = compare_doubles(result->spans[a].total_ns, result->spans[b].total_ns);
    return order ? order : (a > b) - (a < b);
}

static int compare_self(const void *left, const void *right, void *context)
{
    const struct interference_result *result = context;
    uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
    int order = compare_doubles(result->spans[a].self_ns, result->spans[b].self_ns);
    return order ? order : (a > b) - (a < b);
}

static bool order_spans(struct interference_result *result)
{
    size_t count = result->input->spans_count;
    enum { RANKED, VARYING, SEQUENCES, FEW, IDLE };
    uint32_t **lists[] = {&result->ranked, &result->varying, &result->sequences, &result->few,
                          &result->idle};
    size_t *counts[] = {&result->ranked_count, &result->varying_count, &result->sequences_count,
                        &result->few_count, &result->idle_count};
    for (size_t l = 0; l < BASE_COUNT(lists); l++)
        if (!(*lists[l] = calloc(count + 1, sizeof **lists[l])))
            return false;
    for (uint32_t i = 0; i < count; i++) {
        const struct interference_score *score = &result->spans[i];
        bool sequence = result->input->spans[i].flags & SPANS_SEQUENCE;
        size_t list = score->state == INTERFERENCE_IDLE      ? IDLE
                      : score->state == INTERFERENCE_FEW     ? FEW
                      : sequence                             ? SEQUENCES
                      : score->cause == INTERFERENCE_VARYING ? VARYING
                                                             : RANKED;
        if (list < FEW && !(score->lost_ns > 0))
            continue;
        (*lists[list])[(*counts[list])++] = i;
    }
    for (size_t l = 0; l < BASE_COUNT(lists); l++)
        qsort_r(*lists[l], *counts[l], sizeof **lists[l],
                l < FEW    ? compare_lost
                : l == FEW ? compare_self
                           : compare_total,
                result);
    return true;
}

static bool judge(struct interference_result *result, const struct takings *takings)
{
    const struct interference_input *input = result->input;
    double *few_within = calloc(input->spans_count + 1, sizeof *few_within);
    for (size_t i = 0; few_within && i < input->spans_count; i++) {
        struct children children = sum_children(takings, &input->spans[i]);
        few_within[i] = share_of(children.few_ns, children.usual_ns);
    }
    if (few_within)
        judged_times(result, few_within);
    free(few_within);
    return few_within != NULL;
}

static bool analyse(struct interference_result *result)
{
    const struct interference_input *input = result->input;
    struct takings takings = {0};
    bool good;
    working_times(result);
    fit_times(result);
    for (size_t i = 0; i < input->spans_count; i++)
        score_span(result, &input->spans[i], &result->spans[i]);
    good = collect_takings(result, &takings);
    for (size_t i = 0; good && i < input->spans_count; i++)
        if (result->spans[i].state == INTERFERENCE_SCORED)
            take_off_callees(result, &takings, &input->spans[i], &result->spans[i]);
    if (good)
        give_waits_to_locks(result);
    for (size_t i = 0; good && i < input->spans_count; i++)
        if (result->spans[i].state == INTERFERENCE_SCORED)
            good = find_cause(result, &input->spans[i], &result->spans[i]);
    good = good && judge(result, &takings);
    free(takings.items);
    if (!good || !scores_of_functions(result))
        return false;
    totals_of_threads(result);
    return gains(result) && order_spans(result);
}

enum base_status interference_analyse(const struct interference_input *input,
                                      struct interference_result **result)
{
    struct interference_result *made = calloc(1, sizeof *made);
    bool good = made != NULL;
    if (good) {
        made->input = input;
        made->spans = calloc(input->spans_count + 1, sizeof *made->spans);
        made->threads = calloc(input->threads_count + 1, sizeof *made->threads);
        made->functions = calloc(input->functions_count + 1, sizeof *made->functions);
        good = made->spans && made->threads && made->functions && analyse(made);
    }
    if (!good) {
        interference_free(made);
        return BASE_NO_MEMORY;
    }
    *result = made;
    return BASE_OK;
}

void interference_free(struct interference_result *result)
{
    if (!result)
        return;
    free(result->spans);
    free(result->threads);
    free(result->functions);
    free(result->ranked);
    free(result->varying);
    free(result->sequences);
    free(result->few);
    free(result->idle);
    free(result);
}
