// SPDX-License-Identifier: MIT
/*
 * Scores and causes from figures: every cause by an input that must have it and a neighbour that
 * must not, scores by hand and against the definition, execution by execution.
 */
#include "interference/score.h"

#include <setjmp.h>
#include <stdarg.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

enum { THREADS = 4, FUNCTIONS = 12, SPANS = 16, PARTS = 4, BINS = 64, SAMPLES = 64 };

/* Function f is of class f; the rest is code. */
struct world {
    struct interference_thread threads[THREADS];
    struct interference_function functions[FUNCTIONS];
    struct interference_span spans[SPANS];
    struct interference_part parts[SPANS][PARTS];
    struct interference_bin bins[SPANS][BINS];
    struct interference_sample samples[SPANS][SAMPLES];
    struct interference_child children[SPANS][4];
    struct interference_input input;
    struct interference_result *result;
};

static void begin(struct world *world, size_t threads)
{
    memset(world, 0, sizeof *world);
    for (size_t i = 0; i < threads; i++)
        world->threads[i].duration_ns = 1e9;
    for (uint32_t i = 0; i < SPANS_CLASSES; i++)
        world->functions[i].class = i;
    world->input = (struct interference_input){.threads = world->threads,
                                               .threads_count = threads,
                                               .functions = world->functions,
                                               .functions_count = FUNCTIONS,
                                               .spans = world->spans,
                                               .switches = true};
}

static uint32_t add(struct world *world, uint32_t function)
{
    uint32_t id = (uint32_t)world->input.spans_count++;
    world->spans[id] = (struct interference_span){.function = function,
                                                  .parts = world->parts[id],
                                                  .bins = world->bins[id],
                                                  .samples = world->samples[id],
                                                  .children = world->children[id]};
    return id;
}

/* One part a thread, with executions in two bins: n of `fast` and n of `slow`. */
static struct interference_part *run(struct world *world, uint32_t span, uint32_t thread,
                                     uint64_t n, double fast, double slow)
{
    struct interference_span *figure = &world->spans[span];
    struct interference_part *part = &world->parts[span][figure->parts_count++];
    *part = (struct interference_part){.thread = thread,
                                       .count = 2 * n,
                                       .recorded = 2 * n,
                                       .sum_ns = (double)n * (fast + slow),
                                       .min_ns = fast};
    world->bins[span][0] = (struct interference_bin){fast, fast + 1, n};
    world->bins[span][1] = (struct interference_bin){slow, slow + 1, n};
    figure->bins_count = 2;
    figure->max_ns = fmax(figure->max_ns, slow);
    return part;
}

static void sample(struct world *world, uint32_t span, double ns, uint64_t argument)
{
    world->samples[span][world->spans[span].samples_count++] =
        (struct interference_sample){ns, 10, {argument, 5, 6, 0}};
}

static const struct interference_score *analyse(struct world *world, uint32_t span)
{
    interference_free(world->result);
    world->result = NULL;
    assert_int_equal(interference_analyse(&world->input, &world->result), BASE_OK);
    return &world->result->spans[span];
}

static bool says(const struct world *world, uint32_t span, const char *part)
{
    char sentences[INTERFERENCE_SENTENCES][INTERFERENCE_SENTENCE_BYTES];
    size_t count = interference_evidence(world->result, span, sentences, INTERFERENCE_SENTENCES);
    for (size_t i = 0; i < count; i++)
        if (strstr(sentences[i], part))
            return true;
    return false;
}

static void equal(double value, double expected)
{
    if (fabs(value - expected) > 1e-9 * (1 + fabs(expected)))
        print_error("%.15g instead of %.15g\n", value, expected);
    assert_true(fabs(value - expected) <= 1e-9 * (1 + fabs(expected)));
}

/* ---- what there is no loss in, and what is not known ---- */

/* A lock that only one thread takes. The same with another thread that had it, or with sleep, loses. */
static void a_lock_of_its_own_loses_nothing(void **state)
{
    struct world world;
    begin(&world, 2);
    uint32_t span = add(&world, SPANS_LOCK);
    struct interference_part *part = run(&world, span, 0, 1000, 100, 1000);
    world.spans[span].never_held = true;
    equal(analyse(&world, span)->lost_ns, 0);
    assert_int_equal(world.result->ranked_count, 0);
    part->asleep_ns = 1e5;
    equal(analyse(&world, span)->lost_ns, 9e5);
    part->asleep_ns = 0;
    world.spans[span].never_held = false;
    equal(analyse(&world, span)->lost_ns, 9e5);
    interference_free(world.result);
}

/* Of executions of about a step of ten nanoseconds one was measured as nothing. */
static void no_execution_is_shorter_than_a_step(void **state)
{
    struct world world;
    begin(&world, 2);
    uint32_t span = add(&world, SPANS_CODE);
    run(&world, span, 0, 1000, 0, 15);
    analyse(&world, span);
    assert_true(world.result->spans[span].lost_ns > 0);
    world.input.step_ns = 10;
    analyse(&world, span);
    equal(world.result->spans[span].lost_ns, 0);
    interference_free(world.result);
}

/* Three slow executions in a thousand that stand for ten thousand: only what was seen counts. */
static void a_handful_stands_for_nothing_else(void **state)
{
    struct world world;
    begin(&world, 2);
    uint32_t span = add(&world, SPANS_CODE);
    struct interference_part *part = run(&world, span, 0, 500, 100, 100);
    part->count = 10000;
    part->sum_ns = 997 * 100 + 3 * 10100.0;
    world.spans[span].bins_count = 2;
    world.bins[span][0] = (struct interference_bin){99.5, 100.5, 9970};
    world.bins[span][1] = (struct interference_bin){10099.5, 10100.5, 30};
    world.spans[span].max_ns = 10101;
    equal(analyse(&world, span)->lost_ns, 30000);
    interference_free(world.result);
}

/* Thread 0 worked for 0.3 s, was preempted for 0.1 s, and slept since. Thread 1 waited for 0.4 s in a poll. */
static void shares_are_of_working_time(void **state)
{
    struct world world;
    begin(&world, 2);
    world.threads[0] = (struct interference_thread){1e9, 1e8, 0, 3e8, false};
    world.threads[1] = (struct interference_thread){1e9, 0, 4e8, 6e8, false};
    uint32_t poll = add(&world, SPANS_IDLE), span = add(&world, SPANS_CODE);
    run(&world, poll, 1, 1, 2e8, 2e8)->asleep_ns = 4e8;
    run(&world, span, 0, 1000, 100, 60100);
    analyse(&world, span);
    equal(world.result->threads[0].working_ns, 3e8);
    equal(world.result->threads[1].working_ns, 6e8);
    equal(world.result->spans[span].sci, 0.2);
    equal(world.result->working_ns, 9e8);
    /* What the kernel noted is not all: then nothing is known of the rest. */
    world.threads[0].switches_lost = true;
    analyse(&world, span);
    equal(world.result->threads[0].working_ns, 9e8);
    interference_free(world.result);
}

/* Of 1 s of CPU time 0.4 s in a span with a score, 0.1 s in one without that it calls, 0.2 s in one without, which
   slept for another 0.1 s. */
static void cpu_time_is_judged_or_not(void **state)
{
    struct world world;
    begin(&world, 2);
    for (int i = 0; i < 2; i++)
        world.threads[i] = (struct interference_thread){1.2e9, 0, 1e8, 1e9, false};
    uint32_t caller = add(&world, SPANS_CODE), callee = add(&world, 9), rare = add(&world, 10);
    run(&world, caller, 0, 1000, 250000, 250000)->within_ns = 1e8;
    run(&world, callee, 0, 50, 1e6, 1e6);
    run(&world, rare, 0, 1, 1.5e8, 1.5e8)->asleep_ns = 1e8;
    world.children[caller][0] = (struct interference_child){9, 1, 0};
    world.spans[caller].children_count = 1;
    analyse(&world, caller);
    equal(world.result->threads[0].judged_ns, 5e8);
    equal(world.result->threads[0].few_ns, 2e8);
    equal(world.result->threads[0].untimed_ns, 3e8);
    equal(world.result->threads[1].untimed_ns, 1e9);
    equal(world.result->cpu_ns, 2e9);
    interference_free(world.result);
}

/* A function that sleeps in a wait that is too rare for a score; one that sleeps in nothing that is hooked. */
static void sleep_in_callees_is_said(void **state)
{
    struct world world;
    begin(&world, 2);
    uint32_t caller = add(&world, SPANS_CODE), wait = add(&world, SPANS_CONDITION);
    struct interference_part *part = run(&world, caller, 0, 1000, 100, 1100);
    part->asleep_ns = 9e5;
    part->asleep_within_ns = 9e5;
    part->within_ns = 9.2e5;
    run(&world, wait, 0, 50, 100, 18000);
    world.children[caller][0] = (struct interference_child){SPANS_CONDITION, 1, 0};
    world.spans[caller].children_count = 1;
    assert_int_equal(analyse(&world, caller)->cause, INTERFERENCE_NESTED);
    assert_true(says(&world, caller, "asleep 90 % of that time, in spans that it calls"));
    assert_false(says(&world, caller, "nothing that is hooked"));
    part->asleep_within_ns = 0;
    assert_int_equal(analyse(&world, caller)->cause, INTERFERENCE_UNKNOWN);
    assert_true(says(&world, caller, "in nothing that is hooked"));
    world.input.sampled = true;
    analyse(&world, caller);
    assert_true(says(&world, caller, "in calls that were not timed, or"));
    interference_free(world.result);
}

/* Of a lock whose executions have scores there is another one that was taken four times: what the first loses is
   its own all the same, and not its caller's too. */
static void a_rare_key_hides_no_other(void **state)
{
    struct world world;
    begin(&world, 2);
    uint32_t lock = add(&world, SPANS_LOCK), rare = add(&world, SPANS_LOCK),
             caller = add(&world, SPANS_CODE);
    run(&world, lock, 0, 1000, 100, 1000);
    world.spans[lock].key = 1;
    run(&world, rare, 1, 2, 100, 100);
    run(&world, caller, 0, 1000, 200, 1100)->within_ns = 1.1e6;
    world.children[caller][0] = (struct interference_child){SPANS_LOCK, 1, 0};
    world.spans[caller].children_count = 1;
    analyse(&world, caller);
    equal(world.result->spans[caller].lost_ns, 9e5);
    assert_true(world.result->spans[caller].own_ns < 1e3);
    interference_free(world.result);
}

/* A sequence of a lock that sleeps says nothing of a processor; nor one of which nothing is known. */
static void sequences_do_not_contradict_their_members(void **state)
{
    struct world world;
    begin(&world, 2);
    uint32_t lock = add(&world, SPANS_LOCK), sequence = add(&world, 0);
    struct interference_part *part = run(&world, lock, 0, 1000, 100, 1000);
    run(&world, sequence, 0, 1000, 1000, 2800);
    world.spans[sequence].flags = SPANS_SEQUENCE;
    world.children[sequence][0] = (struct interference_child){SPANS_LOCK, 1, 0};
    world.spans[sequence].children_count = 1;
    assert_int_equal(analyse(&world, sequence)->cause, INTERFERENCE_UNKNOWN);
    assert_false(says(&world, sequence, "on the CPU"));
    assert_true(says(&world, sequence, "is not recorded"));
    part->asleep_ns = 1.05e6;
    assert_int_equal(analyse(&world, sequence)->cause, INTERFERENCE_NESTED);
    assert_false(says(&world, sequence, "on the CPU"));
    equal(world.result->spans[sequence].self_ns, 0);
    interference_free(world.result);
}

/* Timed executions that stand for all make more than the thread had. */
static void times_fit_into_the_thread(void **state)
{
    struct world world;
    begin(&world, 2);
    uint32_t span = add(&world, SPANS_CODE);
    run(&world, span, 0, 1000, 1e5, 3e5)->count = 20000;
    equal(analyse(&world, span)->total_ns, 4e9);
    world.input.sampled = true;
    analyse(&world, span);
    equal(world.result->spans[span].total_ns, 1e9);
    equal(world.result->spans[span].sci, 0.5);
    interference_free(world.result);
}

/* ---- scores -----------------------------------------------------------------------------------
 */

/* 1000 × 900 ns of 1 s in one thread, of 2 s in both. */
static void scores_follow_the_definition(void **state)
{
    struct world world;
    begin(&world, 2);
    uint32_t span = add(&world, SPANS_LOCK);
    run(&world, span, 0, 1000, 100, 1000);
    const struct interference_score *score = analyse(&world, span);
    assert_int_equal(score->state, INTERFERENCE_SCORED);
    equal(score->lost_ns, 9e5);
    equal(score->sci, 9e-4);
    equal(score->total_ns, 1.1e6);
    equal(score->mean_ns, 550);
    run(&world, span, 1, 1000, 200, 1000);
    score = analyse(&world, span);
    /* The minimum is that of both: the other thread loses 1000 × 100 ns with its fastest, too. */
    equal(score->lost_ns, 9e5 + 1e5 + 9e5);
    equal(score->sci, 1.9e6 / 2e9);
    equal(world.result->threads[1].interference_ns, 1e6);
    interference_free(world.result);
}

static void sampled_executions_stand_for_all(void **state)
{
    struct world world;
    begin(&world, 1);
    uint32_t span = add(&world, SPANS_LOCK);
    struct interference_part *part = run(&world, span, 0, 1000, 100, 1000);
    part->count = 20000;
    part->asleep_ns = 450000;
    const struct interference_score *score = analyse(&world, span);
    equal(score->lost_ns, 9e6);
    equal(score->total_ns, 1.1e7);
    equal(score->asleep_share, 0.5);
    interference_free(world.result);
}

static void few_executions_have_no_score(void **state)
{
    struct world world;
    begin(&world, 1);
    uint32_t span = add(&world, SPANS_LOCK);
    run(&world, span, 0, 499, 100, 1000);
    assert_int_equal(analyse(&world, span)->state, INTERFERENCE_FEW);
    assert_int_equal(world.result->few_count, 1);
    assert_int_equal(world.result->ranked_count, 0);
    equal(world.result->interference_ns, 0);
    world.parts[span][0].count = 1000000; /* what was let pass does not help */
    assert_int_equal(analyse(&world, span)->state, INTERFERENCE_FEW);
    world.spans[span].parts_count = 0;
    run(&world, span, 0, 500, 100, 1000);
    assert_int_equal(analyse(&world, span)->state, INTERFERENCE_SCORED);
    world.input.least = 1001;
    assert_int_equal(analyse(&world, span)->state, INTERFERENCE_FEW);
    world.input.least = 1;
    assert_int_equal(analyse(&world, span)->state, INTERFERENCE_SCORED);
    interference_free(world.result);
}

/* Durations 100, 101 .. 1099, each 10 times: against the definition for every execution. */
static void the_first_percentile_is_robust(void **state)
{
    struct world world;
    double sum = 0, lost = 0;
    begin(&world, 1);
    uint32_t span = add(&world, SPANS_CODE);
    struct interference_span *figure = &world.spans[span];
    for (int i = 0; i < 50; i++) {
        world.bins[span][i] = (struct interference_bin){100 + 20.0 * i, 120 + 20.0 * i, 200};
        for (int j = 0; j < 20; j++) {
            double ns = 100 + 20.0 * i + j;
            sum += 10 * ns;
            lost += 10 * fmax(0, ns - 110); /* 1 % of 10,000 are below 110 */
        }
    }
    figure->bins_count = 50;
    figure->max_ns = 1099;
    figure->parts_count = 1;
    world.parts[span][0] = (struct interference_part){0, 10000, 10000, sum, 100, 0, 0, 0};
    const struct interference_score *score = analyse(&world, span);
    equal(score->p1_ns, 110);
    equal(score->median_ns, 600);
    equal(score->p99_ns, 1089.5); /* the last bin ends at the maximum */
    assert_true(fabs(score->lost_p1_ns - lost) < 0.001 * lost);
    assert_true(score->sci_p1 < score->sci);
    /* One outlier below changes the score by as much as it is faster, the other one hardly. */
    double before = score->sci, before_p1 = score->sci_p1;
    world.parts[span][0].min_ns = 1;
    world.bins[span][50] = world.bins[span][49];
    memmove(&world.bins[span][1], &world.bins[span][0], 50 * sizeof world.bins[span][0]);
    world.bins[span][0] = (struct interference_bin){0, 2, 1};
    figure->bins_count = 51;
    score = analyse(&world, span);
    assert_true(score->sci > before * 1.15);
    assert_true(fabs(score->sci_p1 - before_p1) < 0.01 * before_p1);
    interference_free(world.result);
}

static void nothing_is_no_loss(void **state)
{
    struct world world;
    begin(&world, 0);
    assert_int_equal(interference_analyse(&world.input, &world.result), BASE_OK);
    equal(world.result->gain, 0);
    interference_free(world.result);
    begin(&world, 1);
    uint32_t span = add(&world, SPANS_CODE); /* no parts, no bins */
    assert_int_equal(analyse(&world, span)->state, INTERFERENCE_FEW);
    run(&world, span, 0, 1000, 100, 100);
    world.threads[0].duration_ns = 0; /* not known */
    assert_int_equal(analyse(&world, span)->state, INTERFERENCE_SCORED);
    equal(world.result->spans[span].sci, 0);
    assert_int_equal(world.result->ranked_count, 0); /* always as fast: nothing lost */
    char sentence[1][INTERFERENCE_SENTENCE_BYTES];
    assert_int_equal(interference_evidence(world.result, span, sentence, 1), 0);
    interference_free(world.result);
}

static void huge_figures_stay_finite(void **state)
{
    struct world world;
    begin(&world, 2);
    for (uint32_t i = 0; i < 2; i++) {
        uint32_t span = add(&world, SPANS_CODE);
        run(&world, span, i, UINT64_C(1) << 49, 1, 1e15);
        world.parts[span][0].within_ns = 1e30;
        world.parts[span][0].asleep_ns = world.parts[span][0].preempted_ns = 1e30;
        for (int s = 0; s < SAMPLES; s++)
            sample(&world, span, 1e15 * s, s % 2 ? UINT64_MAX : 0);
    }
    analyse(&world, 0);
    for (uint32_t i = 0; i < 2; i++) {
        const struct interference_score *score = &world.result->spans[i];
        assert_true(isfinite(score->lost_ns) && isfinite(score->own_ns) && score->own_ns >= 0);
        assert_true(score->sci >= 0 && score->sci <= 1 && score->sci_p1 <= 1);
        assert_true(score->gain >= 0 && score->gain <= 1);
    }
    assert_true(world.result->interference_ns <= world.result->threads_ns);
    interference_free(world.result);
}

/* ---- spans in spans ---------------------------------------------------------------------------
 */

/*
 * work calls lock once: 900 ns of its loss are the lock's, 50 ns its own. In totals the lock's time
 * counts once.
 */
static void callees_are_not_counted_twice(void **state)
{
    struct world world;
    begin(&world, 2);
    uint32_t lock = add(&world, SPANS_LOCK), work = add(&world, FUNCTIONS - 1);
    run(&world, lock, 0, 1000, 100, 1000);
    struct interference_part *part = run(&world, work, 0, 1000, 300, 1250);
    part->within_ns = 1000 * 1100.0;
    world.spans[work].children_count = 1;
    world.children[work][0] = (struct interference_child){SPANS_LOCK, 1, 0};
    const struct interference_score *score = analyse(&world, work);
    equal(score->lost_ns, 950000);
    equal(score->own_ns, 50000);
    assert_int_equal(score->cause, INTERFERENCE_NESTED);
    assert_true(says(&world, work, "95 % of it is lost in spans that it calls"));
    assert_int_equal(world.result->ranked[0], lock);
    equal(world.result->interference_ns, 950000);
    equal(world.result->threads[0].lost_ns[INTERFERENCE_LOCK], 900000);
    equal(world.result->threads[0].lost_ns[INTERFERENCE_NESTED], 50000);
    /* A callee without a score leaves its loss to the caller. */
    world.input.least = 2001;
    analyse(&world, work);
    world.input.least = 2000;
    world.parts[lock][0].recorded = world.parts[lock][0].count = 1999;
    score = analyse(&world, work);
    equal(score->own_ns, 950000);
    interference_free(world.result);
}

/*
 * Some executions of each were timed, seldom the same ones: work slept 800 of the 950 ns that it loses, in no call that was timed
 * meanwhile. It sleeps in a lock and, a quarter as long, in output: four fifths of that are the lock's.
 */
static void sleep_in_untimed_locks_is_the_locks(void **state)
{
    static const uint32_t callers[] = {FUNCTIONS - 1};
    struct world world;
    begin(&world, 2);
    uint32_t lock = add(&world, SPANS_LOCK), work = add(&world, FUNCTIONS - 1),
             output = add(&world, SPANS_IO);
    run(&world, lock, 0, 1000, 100, 140)->asleep_ns = 4000;
    run(&world, output, 0, 1000, 100, 110)->asleep_ns = 1000;
    run(&world, work, 0, 1000, 300, 1250)->asleep_ns = 800000;
    world.spans[lock].callers = world.spans[output].callers = callers;
    world.spans[lock].callers_count = world.spans[output].callers_count = 1;
    const struct interference_score *score = analyse(&world, work);
    equal(score->own_ns, 950000); /* all were timed: it slept elsewhere */
    world.input.sampled = true;
    score = analyse(&world, work);
    equal(score->lost_ns, 950000);
    equal(score->own_ns, 950000 - 640000);
    assert_int_equal(score->cause, INTERFERENCE_NESTED);
    assert_true(says(&world, work, "84 % of that time, in spans that it calls"));
    score = &world.result->spans[lock];
    equal(score->own_ns, 40000 + 640000);
    equal(score->given_ns, 640000);
    assert_int_equal(score->cause, INTERFERENCE_LOCK);
    assert_true(says(&world, lock, "94 % of it is from executions of its callers"));
    assert_int_equal(world.result->ranked[0], lock);
    equal(world.result->threads[0].lost_ns[INTERFERENCE_LOCK], 680000);
    equal(world.result->interference_ns, 950000 + 40000 + 10000);
    /* Nobody is known to call it: the sleep stays where it was seen. */
    world.spans[lock].callers_count = 0;
    equal(analyse(&world, work)->own_ns, 950000);
    interference_free(world.result);
}

/* Where it is not known what was called the callees' part is in proportion to time. */
static void unknown_callees_lose_in_proportion(void **state)
{
    struct world world;
    begin(&world, 2);
    uint32_t work = add(&world, FUNCTIONS - 1);
    run(&world, work, 0, 1000, 300, 700)->within_ns = 250000;
    world.spans[work].flags = SPANS_CHILDREN_CUT;
    const struct interference_score *score = analyse(&world, work);
    equal(score->lost_ns, 400000);
    equal(score->own_ns, 300000);
    interference_free(world.result);
}

static void sequences_do_not_add_to_totals(void **state)
{
    struct world world;
    begin(&world, 2);
    uint32_t lock = add(&world, SPANS_LOCK), sequence = add(&world, 0);
    run(&world, lock, 0, 1000, 100, 1000);
    run(&world, sequence, 0, 1000, 200, 2000);
    world.spans[sequence].flags = SPANS_SEQUENCE;
    const struct interference_score *score = analyse(&world, sequence);
    equal(score->sci, 1.8e-3);
    equal(world.result->interference_ns, 900000);
    assert_int_equal(world.result->ranked_count, 1);
    assert_int_equal(world.result->sequences_count, 1);
    /* Of its loss its members account for all but what lies between them. */
    world.spans[sequence].children_count = 1;
    world.children[sequence][0] = (struct interference_child){SPANS_LOCK, 1, 0};
    equal(analyse(&world, sequence)->own_ns, 900000);
    world.children[sequence][0].count = 2;
    score = analyse(&world, sequence);
    equal(score->own_ns, 0);
    assert_int_equal(score->cause, INTERFERENCE_NESTED);
    assert_true(says(&world, sequence, "in spans that it consists of"));
    interference_free(world.result);
}

static void functions_sum_their_spans(void **state)
{
    struct world world;
    begin(&world, 2);
    uint32_t a = add(&world, SPANS_LOCK), b = add(&world, SPANS_LOCK);
    run(&world, a, 0, 1000, 100, 1000);
    run(&world, b, 0, 1000, 300, 500);
    run(&world, b, 1, 1000, 300, 500);
    analyse(&world, a);
    const struct interference_function_score *function = &world.result->functions[SPANS_LOCK];
    equal(function->lost_ns, 900000 + 2 * 200000);
    equal(function->threads_ns, 2e9); /* each thread once */
    equal(function->sci, 1.3e6 / 2e9);
    equal(function->explained_ns, 4000 * 200.0); /* b is never as fast as a */
    assert_int_equal(function->scored, 2);
    interference_free(world.result);
}

/* ---- gain ------------------------------------------------------------------------------------ */

/* The thread that needs most decides; one that waits idly for it does not. */
static void gains_are_bounded_by_the_slowest_thread(void **state)
{
    struct world world;
    begin(&world, 3);
    uint32_t lock = add(&world, SPANS_LOCK), join = add(&world, SPANS_IDLE);
    run(&world, lock, 0, 1000, 100, 400100); /* 0.4 s of 1 s */
    run(&world, lock, 1, 1000, 100, 100100); /* 0.1 s */
    run(&world, join, 2, 1, 1, 899999999);   /* 0.9 s of waiting */
    const struct interference_score *score = analyse(&world, lock);
    equal(score->gain, 0.1);
    equal(world.result->gain, 0.1);
    assert_int_equal(world.result->spans[join].state, INTERFERENCE_IDLE);
    assert_int_equal(world.result->idle_count, 1);
    equal(world.result->threads[2].lost_ns[INTERFERENCE_WAITING], 9e8);
    equal(world.result->threads[2].interference_ns, 0);
    world.threads[1].duration_ns = 0.5e9;
    score = analyse(&world, lock);
    equal(score->gain, 0.4);
    interference_free(world.result);
}

/* ---- causes ---------------------------------------------------------------------------------- */

static enum interference_cause cause_of(uint32_t function, size_t threads)
{
    struct world world;
    begin(&world, threads);
    uint32_t span = add(&world, function);
    run(&world, span, 0, 1000, 100, 1000);
    enum interference_cause cause = analyse(&world, span)->cause;
    interference_free(world.result);
    return cause;
}

static void classes_tell_causes(void **state)
{
    assert_int_equal(cause_of(SPANS_LOCK, 2), INTERFERENCE_LOCK);
    assert_int_equal(cause_of(SPANS_UNLOCK, 2), INTERFERENCE_LOCK);
    assert_int_equal(cause_of(SPANS_CONDITION, 2), INTERFERENCE_CONDITION);
    assert_int_equal(cause_of(SPANS_BARRIER, 2), INTERFERENCE_IMBALANCE);
    assert_int_equal(cause_of(SPANS_IO, 2), INTERFERENCE_IO);
    assert_int_equal(cause_of(SPANS_ALLOCATOR, 2), INTERFERENCE_ALLOCATOR);
    assert_int_equal(cause_of(SPANS_IDLE, 2), INTERFERENCE_WAITING);
    assert_int_equal(cause_of(SPANS_CODE, 2), INTERFERENCE_SHARED);
    /* Nothing is shared by a single thread. */
    assert_int_equal(cause_of(SPANS_CODE, 1), INTERFERENCE_UNKNOWN);
}

static void locks_tell_whether_one_slept(void **state)
{
    struct world world;
    begin(&world, 2);
    uint32_t span = add(&world, SPANS_LOCK);
    struct interference_part *part = run(&world, span, 0, 1000, 100, 1000);
    analyse(&world, span);
    assert_true(says(&world, span, "hardly ever slept: it spun"));
    part->asleep_ns = 600000;
    analyse(&world, span);
    assert_true(says(&world, span, "The thread was asleep 67 % of that time; otherwise it spun"));
    part->asleep_ns = 900000;
    analyse(&world, span);
    assert_true(says(&world, span, "asleep nearly all"));
    world.input.switches = false;
    analyse(&world, span);
    assert_true(says(&world, span, "unknown: context switches were not recorded"));
    assert_false(says(&world, span, "asleep nearly all"));
    interference_free(world.result);
}

static void barriers_tell_who_is_late(void **state)
{
    struct world world;
    begin(&world, 2);
    uint32_t span = add(&world, SPANS_BARRIER);
    run(&world, span, 0, 1000, 100, 400000);
    run(&world, span, 1, 1000, 100, 10000);
    analyse(&world, span);
    assert_true(says(&world, span, "Thread 1 spends 40 % of its time here, thread 2 1 %"));
    world.parts[span][1] = world.parts[span][0];
    world.parts[span][1].thread = 1;
    analyse(&world, span);
    assert_true(says(&world, span, "All threads spend about the same share"));
    interference_free(world.result);
}

/* Beside, never in it. */
static void preemption_is_told_apart(void **state)
{
    struct world world;
    begin(&world, 2);
    uint32_t span = add(&world, SPANS_CODE);
    struct interference_part *part = run(&world, span, 0, 1000, 100, 1000);
    part->preempted_ns = 899999;
    assert_int_equal(analyse(&world, span)->cause, INTERFERENCE_SHARED);
    equal(world.result->spans[span].lost_ns, 900000);
    part->preempted_ns = 900000;
    assert_int_equal(analyse(&world, span)->cause, INTERFERENCE_PREEMPTION);
    assert_true(says(&world, span, "slow around preemptions"));
    equal(world.result->spans[span].lost_ns, 900000);
    world.input.switches = false;
    assert_int_equal(analyse(&world, span)->cause, INTERFERENCE_SHARED);
    world.input.switches = true;
    world.threads[1].preempted_ns = 0.5e9;
    uint32_t lock = add(&world, SPANS_LOCK);
    run(&world, lock, 0, 1000, 100, 1000);
    analyse(&world, span);
    equal(world.result->preempted_ns, 0.5e9);
    assert_true(says(&world, lock, "preempted 25 % of their time"));
    interference_free(world.result);
}

static void sleep_in_code_is_said(void **state)
{
    struct world world;
    begin(&world, 2);
    uint32_t span = add(&world, SPANS_CODE);
    run(&world, span, 0, 1000, 100, 1000)->asleep_ns = 450001;
    assert_int_equal(analyse(&world, span)->cause, INTERFERENCE_UNKNOWN);
    assert_true(says(&world, span, "in nothing that is hooked"));
    interference_free(world.result);
}

/* ---- varying work ---------------------------------------------------------------------------- */

/* Durations 100 .. 1000, as in the samples. */
static uint32_t varying(struct world *world, uint32_t function)
{
    begin(world, 2);
    uint32_t span = add(world, function);
    run(world, span, 0, 1000, 100, 1000);
    return span;
}

static void work_follows_an_argument(void **state)
{
    struct world world;
    uint32_t span = varying(&world, SPANS_CODE);
    for (uint64_t i = 0; i < 48; i++)
        sample(&world, span, 100 + 900.0 / 47 * (double)i, i);
    const struct interference_score *score = analyse(&world, span);
    assert_int_equal(score->cause, INTERFERENCE_VARYING);
    equal(score->relation.spearman, 1);
    assert_int_equal(score->relation.value, 0);
    assert_true(score->relation.explained > 0.8);
    assert_int_equal(world.result->varying_count, 1);
    assert_int_equal(world.result->ranked_count, 0);
    equal(world.result->interference_ns, 0);
    assert_true(says(&world, span, "grows with argument 0 (Spearman +1.00 over 48 samples)"));
    /* I/O by its size is no interference either, a lock is one all the same. */
    world.spans[span].function = SPANS_IO;
    assert_int_equal(analyse(&world, span)->cause, INTERFERENCE_VARYING);
    world.spans[span].function = SPANS_LOCK;
    assert_int_equal(analyse(&world, span)->cause, INTERFERENCE_LOCK);
    interference_free(world.result);
}

static void work_follows_the_result(void **state)
{
    struct world world;
    uint32_t span = varying(&world, SPANS_IO);
    for (int64_t i = 0; i < 48; i++) {
        sample(&world, span, 1000 - 900.0 / 47 * (double)i, 7);
        world.samples[span][i].value[INTERFERENCE_RESULT] = (uint64_t)(i - 24); /* -24 .. 23 */
    }
    const struct interference_score *score = analyse(&world, span);
    assert_int_equal(score->cause, INTERFERENCE_VARYING);
    equal(score->relation.spearman, -1);
    assert_int_equal(score->relation.value, INTERFERENCE_RESULT);
    assert_true(says(&world, span, "shrinks with the result"));
    interference_free(world.result);
}

/* No order in it, but each value has its own duration: a kind of work. */
static void work_depends_on_kinds(void **state)
{
    static const double ns[] = {500, 100, 1000, 300};
    struct world world;
    uint32_t span = varying(&world, SPANS_CODE);
    for (uint64_t i = 0; i < 48; i++)
        sample(&world, span, ns[i % 4] + (double)(i % 5), i % 4);
    const struct interference_score *score = analyse(&world, span);
    assert_int_equal(score->cause, INTERFERENCE_VARYING);
    assert_true(fabs(score->relation.spearman) < 0.7);
    assert_true(score->relation.equal);
    interference_free(world.result);
}

/* The paper's write of small buffers: the size differs, the time does not go with it. */
static void arguments_that_explain_nothing_are_no_work(void **state)
{
    struct world world;
    uint32_t span = varying(&world, SPANS_CODE);
    for (uint64_t i = 0; i < 48; i++)
        sample(&world, span, i * 7 % 48 < 24 ? 100 + (double)(i % 3) : 1000 + (double)(i % 5),
               base_mix64(i + 1));
    assert_int_equal(analyse(&world, span)->cause, INTERFERENCE_SHARED);
    assert_true(says(&world, span, "Without hardware counters these are not distinguished"));
    interference_free(world.result);
}

/* Fast executions follow the size perfectly; the loss is in rare slow ones that the samples missed.
 */
static void a_correlation_is_not_enough(void **state)
{
    struct world world;
    uint32_t span = varying(&world, SPANS_CODE);
    for (uint64_t i = 0; i < 48; i++)
        sample(&world, span, 100 + (double)i, i);
    const struct interference_score *score = analyse(&world, span);
    equal(score->relation.spearman, 1);
    assert_true(score->relation.explained < 0.1);
    assert_int_equal(score->cause, INTERFERENCE_SHARED);
    interference_free(world.result);
}

static void few_samples_tell_nothing(void **state)
{
    struct world world;
    uint32_t span = varying(&world, SPANS_CODE);
    for (uint64_t i = 0; i < 23; i++)
        sample(&world, span, 100 + 900.0 / 22 * (double)i, i);
    assert_int_equal(analyse(&world, span)->cause, INTERFERENCE_SHARED);
    assert_false(world.result->spans[span].related);
    sample(&world, span, 1000, 23);
    assert_int_equal(analyse(&world, span)->cause, INTERFERENCE_VARYING);
    interference_free(world.result);
}

/* Exponential durations, arguments at random: of many such spans hardly any is called varying
 * work. */
static void noise_is_no_work(void **state)
{
    uint64_t seed = 1;
    unsigned wrong = 0;
    for (int round = 0; round < 500; round++) {
        struct world world;
        uint32_t span = varying(&world, SPANS_CODE);
        for (int i = 0; i < 48; i++) {
            seed = base_mix64(seed + 1);
            double ns = 100 - 450 * log(((double)(seed >> 12) + 1) / 0x1p52);
            seed = base_mix64(seed + 1);
            sample(&world, span, ns, round % 2 ? seed % 6 : seed);
        }
        wrong += analyse(&world, span)->cause == INTERFERENCE_VARYING;
        interference_free(world.result);
    }
    assert_true(wrong <= 2);
}

/* ---- other keys ------------------------------------------------------------------------------ */

static void samples_are_regrouped(void **state)
{
    struct interference_sample samples[24] = {{0}};
    struct interference_regrouped regrouped;
    struct interference_group groups[2];
    for (uint64_t i = 0; i < 24; i++) /* value 0: 100, 110, ..; 1: 1000; others once each */
        samples[i] = (struct interference_sample){i < 10 ? 100 + 10 * (double)i : 1000,
                                                  2,
                                                  {0,
                                                   i < 10   ? 0
                                                   : i < 20 ? 1
                                                            : i,
                                                   0, 0}};
    assert_int_equal(interference_regroup(samples, 24, 1, &regrouped, groups, 2), BASE_OK);
    assert_int_equal(regrouped.groups, 2);
    assert_int_equal(regrouped.samples, 20);
    equal(regrouped.kept, 450.0 / (450 + 10 * 900));
    assert_int_equal(groups[0].samples, 10);
    equal(groups[0].min_ns + groups[1].min_ns, 1100);
    equal(groups[0].mean_ns + groups[1].mean_ns, 1145);
    assert_int_equal(interference_regroup(samples, 24, 0, &regrouped, groups, 1), BASE_OK);
    assert_int_equal(regrouped.groups, 1);
    equal(regrouped.kept, 1);
    assert_int_equal(interference_regroup(samples, 0, 0, &regrouped, NULL, 0), BASE_OK);
    assert_int_equal(regrouped.samples, 0);
    assert_int_equal(interference_regroup(samples + 20, 4, 1, &regrouped, NULL, 0), BASE_OK);
    assert_int_equal(regrouped.samples, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_lock_of_its_own_loses_nothing),
        cmocka_unit_test(no_execution_is_shorter_than_a_step),
        cmocka_unit_test(a_handful_stands_for_nothing_else),
        cmocka_unit_test(shares_are_of_working_time),
        cmocka_unit_test(cpu_time_is_judged_or_not),
        cmocka_unit_test(sleep_in_callees_is_said),
        cmocka_unit_test(sequences_do_not_contradict_their_members),
        cmocka_unit_test(a_rare_key_hides_no_other),
        cmocka_unit_test(times_fit_into_the_thread),
        cmocka_unit_test(scores_follow_the_definition),
        cmocka_unit_test(sampled_executions_stand_for_all),
        cmocka_unit_test(few_executions_have_no_score),
        cmocka_unit_test(the_first_percentile_is_robust),
        cmocka_unit_test(nothing_is_no_loss),
        cmocka_unit_test(huge_figures_stay_finite),
        cmocka_unit_test(callees_are_not_counted_twice),
        cmocka_unit_test(sleep_in_untimed_locks_is_the_locks),
        cmocka_unit_test(unknown_callees_lose_in_proportion),
        cmocka_unit_test(sequences_do_not_add_to_totals),
        cmocka_unit_test(functions_sum_their_spans),
        cmocka_unit_test(gains_are_bounded_by_the_slowest_thread),
        cmocka_unit_test(classes_tell_causes),
        cmocka_unit_test(locks_tell_whether_one_slept),
        cmocka_unit_test(barriers_tell_who_is_late),
        cmocka_unit_test(preemption_is_told_apart),
        cmocka_unit_test(sleep_in_code_is_said),
        cmocka_unit_test(work_follows_an_argument),
        cmocka_unit_test(work_follows_the_result),
        cmocka_unit_test(work_depends_on_kinds),
        cmocka_unit_test(arguments_that_explain_nothing_are_no_work),
        cmocka_unit_test(a_correlation_is_not_enough),
        cmocka_unit_test(few_samples_tell_nothing),
        cmocka_unit_test(noise_is_no_work),
        cmocka_unit_test(samples_are_regrouped),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
