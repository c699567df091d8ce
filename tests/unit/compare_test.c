// SPDX-License-Identifier: MIT
/*
 * Two profiles set against each other: what is matched with what, whether chance is distinguished from change
 * (a simulation of recordings of one program, and of a program that changed), limits, suppressions;
 * and hostile names in everything that is printed.
 */
#include "compare/check.h"
#include "compare/diff.h"
#include "profile/profile.h"
#include "show/names.h"
#include "show/report.h"

#include <setjmp.h>
#include <stdarg.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

/* ---- matching -------------------------------------------------------------------------------- */

static struct compare_finding on_line(uint64_t functions, uint32_t line, double amount)
{
    return (struct compare_finding){.functions = {functions, functions},
                                    .exact = {functions << 32 | line, functions},
                                    .lines = {line},
                                    .amount = amount};
}

static void run(const struct compare_finding *before, size_t before_count,
                const struct compare_finding *after, size_t after_count,
                struct compare_change **changes, size_t *count)
{
    struct compare_whole wholes[2][4] = {{{0}}};
    struct compare_side sides[2] = {
        {.findings = before, .count = before_count, .wholes = wholes[0]},
        {.findings = after, .count = after_count, .wholes = wholes[1]}};
    for (size_t i = 0; i < before_count; i++)
        wholes[0][before[i].kind].amount += before[i].amount;
    for (size_t i = 0; i < after_count; i++)
        wholes[1][after[i].kind].amount += after[i].amount;
    assert_int_equal(compare_findings(&sides[0], &sides[1], true, 0.01, changes, count), BASE_OK);
}

/* The finding that `before` is matched with; COMPARE_NONE: none. */
static uint32_t partner(const struct compare_change *changes, size_t count, uint32_t before)
{
    for (size_t i = 0; i < count; i++)
        if (changes[i].before == before)
            return changes[i].after;
    fail();
    return 0;
}

static void equal_lines_go_first(void **state)
{
    const struct compare_finding before[] = {on_line(1, 10, 5), on_line(1, 20, 6)};
    const struct compare_finding after[] = {on_line(1, 12, 5), on_line(1, 20, 6),
                                            on_line(1, 21, 9)};
    struct compare_change *changes;
    size_t count;
    run(before, 2, after, 3, &changes, &count);
    assert_int_equal(count, 3);
    assert_int_equal(partner(changes, count, 1), 1);
    assert_int_equal(partner(changes, count, 0), 0);
    assert_int_equal(changes[0].verdict, COMPARE_APPEARED); /* the largest difference */
    assert_int_equal(changes[0].after, 2);
    for (size_t i = 0; i < count; i++)
        assert_int_equal(changes[i].drifted, changes[i].before == 0);
    free(changes);
}

static void near_lines_are_matched_in_order(void **state)
{
    const struct compare_finding before[] = {on_line(1, 100, 1), on_line(1, 50, 2),
                                             on_line(1, 10, 3), on_line(2, 10, 4)};
    const struct compare_finding after[] = {on_line(1, 104, 1), on_line(1, 13, 3),
                                            on_line(3, 10, 4)};
    struct compare_change *changes;
    size_t count;
    run(before, 4, after, 3, &changes, &count);
    assert_int_equal(count, 5);
    assert_int_equal(partner(changes, count, 0), 0);
    assert_int_equal(partner(changes, count, 1), COMPARE_NONE);
    assert_int_equal(partner(changes, count, 2), 1);
    assert_int_equal(partner(changes, count, 3), COMPARE_NONE); /* other functions */
    free(changes);
}

/* The least sum of distances, against all choices of few among many. */
static void alignment_is_the_best(void **state)
{
    struct base_random random = {7};
    for (unsigned round = 0; round < 200; round++) {
        struct compare_finding before[3], after[7];
        for (uint32_t i = 0; i < 3; i++)
            before[i] = on_line(1, 1000 + (uint32_t)base_random_below(&random, 100) * 2, 1);
        for (uint32_t i = 0; i < 7; i++)
            after[i] = on_line(1, 1001 + (uint32_t)base_random_below(&random, 100) * 2, 1);
        struct compare_change *changes;
        size_t count;
        run(before, 3, after, 7, &changes, &count);
        double sum = 0, best = INFINITY;
        for (uint32_t i = 0; i < 3; i++)
            sum += fabs((double)before[i].lines[0] -
                        (double)after[partner(changes, count, i)].lines[0]);
        for (unsigned a = 0; a < 7 * 7 * 7; a++) {
            unsigned of[3] = {a % 7, a / 7 % 7, a / 49};
            double cost = 0;
            for (unsigned i = 0; i < 3; i++)
                cost += fabs((double)before[i].lines[0] - (double)after[of[i]].lines[0]);
            if (of[0] != of[1] && of[1] != of[2] && of[0] != of[2])
                best = fmin(best, cost);
        }
        assert_float_equal(sum, best, 1e-9);
        free(changes);
    }
}

static void exact_verdicts(void **state)
{
    struct compare_finding before[] = {on_line(1, 1, 5), on_line(2, 1, 5), on_line(3, 1, 5),
                                       on_line(4, 1, 5), on_line(5, 1, 5)};
    struct compare_finding after[] = {on_line(1, 1, 5), on_line(2, 1, 6), on_line(3, 1, 4),
                                      on_line(5, 1, 5), on_line(6, 1, 1)};
    static const enum compare_verdict expected[] = {COMPARE_SAME, COMPARE_GREW, COMPARE_SHRANK,
                                                    COMPARE_VANISHED, COMPARE_GREW};
    struct compare_change *changes;
    size_t count, appeared = 0;
    before[4].other = 1;
    after[3].other = 2;
    run(before, 5, after, 5, &changes, &count);
    for (size_t i = 0; i < count; i++) {
        appeared += changes[i].verdict == COMPARE_APPEARED;
        if (changes[i].before != COMPARE_NONE)
            assert_int_equal(changes[i].verdict, expected[changes[i].before]);
    }
    assert_int_equal(count, 6);
    assert_int_equal(appeared, 1);
    free(changes);
}

static void many_with_the_same_functions(void **state)
{
    enum { MANY = 3000 };
    struct compare_finding *findings = calloc(2 * MANY, sizeof *findings);
    struct compare_change *changes;
    size_t count;
    for (uint32_t i = 0; i < MANY; i++) {
        findings[i] = on_line(1, 2 * i, 1);
        findings[MANY + i] = on_line(1, 2 * i + 1, 1);
    }
    run(findings, MANY, findings + MANY, MANY, &changes, &count);
    assert_int_equal(count, MANY);
    for (uint32_t i = 0; i < MANY; i++)
        assert_int_equal(partner(changes, count, i), i);
    free(changes);
    run(findings, MANY, NULL, 0, &changes, &count);
    assert_int_equal(count, MANY);
    free(changes);
    run(NULL, 0, NULL, 0, &changes, &count);
    assert_int_equal(count, 0);
    free(changes);
    free(findings);
}

/* ---- significance ---------------------------------------------------------------------------- */

static void fisher_of_known_tables(void **state)
{
    assert_float_equal(compare_fisher(8, 10, 1, 6), 0.0349650, 1e-6);
    assert_float_equal(compare_fisher(3, 4, 1, 4), 0.4857143, 1e-6); /* the lady tasting tea */
    assert_float_equal(compare_fisher(10, 10, 0, 10), 2 / 184756.0, 1e-9);
    assert_float_equal(compare_fisher(5, 10, 5, 10), 1, 1e-9);
    assert_float_equal(compare_fisher(0, 10, 0, 10), 1, 0);
    assert_float_equal(compare_fisher(1, 0, 0, 0), 1, 0);
    /* where the normal distribution takes over */
    double exact = compare_fisher(9900, 40000, 10090, 40000);
    double normal = compare_fisher(10000, 40400, 10190, 40400);
    assert_true(fabs(exact - normal) < 0.01 && exact > 0.1);
    assert_true(compare_fisher(1e17, 1e18, 2e17, 1e18) < 1e-9);
}

static void holm_of_a_known_example(void **state)
{
    struct compare_change changes[5];
    const double p[] = {0.01, 0.04, 0.03, 0.005, 0.9}, corrected[] = {0.03, 0.06, 0.06, 0.02, 0.9};
    for (unsigned i = 0; i < 5; i++)
        changes[i] = (struct compare_change){.tested = i < 4, .p = p[i], .verdict = COMPARE_GREW};
    assert_int_equal(compare_holm(changes, 5, 0.05), BASE_OK);
    for (unsigned i = 0; i < 5; i++) {
        assert_float_equal(changes[i].p, corrected[i], 1e-9);
        assert_int_equal(changes[i].verdict, corrected[i] <= 0.05 ? COMPARE_GREW : COMPARE_SAME);
    }
}

/* ---- recordings of one program, simulated ------------------------------------------------------
 */

enum { PLACES = 40, SAMPLES = 800, PAIRS = 600 };

static double uniform(struct base_random *random)
{
    return (double)(base_random_next(random) >> 11) * 0x1p-53;
}

/* Traps stand for different numbers of samples: most for few, some for very many. */
static double weight_of(struct base_random *random)
{
    return fmin(60, 1 / sqrt(uniform(random) + 1e-6));
}

/* Shares of the places fall as 1/(rank + 1); a part `moved` of all goes to the place `planted`
 * instead. */
static unsigned place_of(struct base_random *random, double moved, unsigned planted)
{
    if (uniform(random) < moved)
        return planted;
    double sum = 0, harmonic = 0, at = uniform(random);
    for (unsigned i = 0; i < PLACES; i++)
        harmonic += 1.0 / (i + 1);
    for (unsigned i = 0; i < PLACES; i++) {
        sum += 1.0 / (i + 1) / harmonic;
        if (at < sum)
            return i;
    }
    return PLACES - 1;
}

struct recording {
    struct compare_finding findings[PLACES + 1];
    struct compare_side side;
    struct compare_whole whole;
};

struct simulation {
    uint64_t seed;
    unsigned planted;  /* place                                                           */
    double moved[2];   /* before, after: part of all samples that goes there instead      */
    bool equal;        /* squares as if all samples weighed the same                      */
    unsigned burst;    /* so many samples in a row are of one place                       */
    double dispersion; /* that is given                                                   */
};

/* Only one half of the samples is waste. */
static void record(struct base_random *random, const struct simulation *simulation, unsigned side,
                   struct recording *made)
{
    struct compare_finding all[PLACES + 1] = {{0}}, *place = NULL;
    bool waste = false;
    *made = (struct recording){.side = {.findings = made->findings,
                                        .wholes = &made->whole,
                                        .dispersion = simulation->dispersion}};
    for (unsigned i = 0; i <= PLACES; i++)
        all[i] = on_line(i + 1, 7, 0);
    for (unsigned i = 0; i < SAMPLES; i++) {
        double weight = weight_of(random);
        double square = simulation->equal ? weight : weight * weight;
        if (i % simulation->burst == 0) {
            place = &all[place_of(random, simulation->moved[side], simulation->planted)];
            waste = base_random_below(random, 2);
        }
        made->whole.amount += weight;
        made->whole.squares += square;
        place->amount += waste ? weight : 0;
        place->squares += waste ? square : 0;
    }
    for (unsigned i = 0; i <= PLACES; i++)
        if (all[i].amount > 0)
            made->findings[made->side.count++] = all[i];
}

/* Pairs in which some verdict is not "same"; found: in which the planted place's is the expected
 * one. */
static unsigned alarms(const struct simulation *simulation, enum compare_verdict expected,
                       unsigned *found)
{
    struct base_random random = {simulation->seed};
    unsigned pairs = 0;
    *found = 0;
    for (unsigned i = 0; i < PAIRS; i++) {
        struct recording before, after;
        struct compare_change *changes;
        size_t count;
        bool alarm = false;
        record(&random, simulation, 0, &before);
        record(&random, simulation, 1, &after);
        assert_int_equal(compare_findings(&before.side, &after.side, false, 0.01, &changes, &count),
                         BASE_OK);
        for (size_t c = 0; c < count; c++) {
            const struct compare_finding *finding = changes[c].after == COMPARE_NONE
                                                        ? &before.findings[changes[c].before]
                                                        : &after.findings[changes[c].after];
            alarm = alarm || changes[c].verdict != COMPARE_SAME;
            *found +=
                finding->functions[0] == simulation->planted + 1 && changes[c].verdict == expected;
        }
        pairs += alarm;
        free(changes);
    }
    return pairs;
}

static unsigned false_alarms(bool equal, unsigned burst, double dispersion)
{
    const struct simulation simulation = {
        .seed = 1, .planted = PLACES, .equal = equal, .burst = burst, .dispersion = dispersion};
    unsigned found, seen = alarms(&simulation, COMPARE_APPEARED, &found);
    print_message("# %u of %u pairs with a false alarm\n", seen, PAIRS);
    assert_int_equal(found, 0);
    return seen;
}

static void false_alarms_are_rare(void **state)
{
    assert_true(false_alarms(false, 1, 1) <= PAIRS * 5 / 100);
    /* The simulation would show a test that takes all samples for alike. */
    assert_true(false_alarms(true, 1, 1) > PAIRS * 5 / 100);
}

static void samples_that_come_together(void **state)
{
    assert_true(false_alarms(false, 6, 6) <= PAIRS * 5 / 100);
    assert_true(false_alarms(false, 6, 1) > PAIRS * 5 / 100);
}

static unsigned times_found(unsigned planted, double before, double after, double dispersion,
                            enum compare_verdict expected)
{
    const struct simulation simulation = {.seed = 2,
                                          .planted = planted,
                                          .moved = {before, after},
                                          .burst = 1,
                                          .dispersion = dispersion};
    unsigned found;
    alarms(&simulation, expected, &found);
    return found;
}

static void changes_are_found(void **state)
{
    unsigned most = PAIRS * 95 / 100;
    assert_true(times_found(PLACES, 0, 0.2, 1, COMPARE_APPEARED) > most); /* 10 % of all is waste */
    assert_true(times_found(PLACES, 0, 0.4, 3, COMPARE_APPEARED) > most);
    assert_true(times_found(PLACES, 0.2, 0, 1, COMPARE_VANISHED) > most);
    assert_true(times_found(5, 0, 0.3, 1, COMPARE_GREW) > most); /* from 2 to 16 % */
}

static void a_recording_equals_itself(void **state)
{
    const struct simulation simulation = {.planted = PLACES, .burst = 1};
    struct base_random random = {9};
    struct recording recording;
    struct compare_change *changes;
    size_t count;
    record(&random, &simulation, 0, &recording);
    for (unsigned exact = 0; exact < 2; exact++) {
        assert_int_equal(
            compare_findings(&recording.side, &recording.side, exact, 0.01, &changes, &count),
            BASE_OK);
        assert_int_equal(count, recording.side.count);
        for (size_t i = 0; i < count; i++)
            assert_int_equal(changes[i].verdict, COMPARE_SAME);
        free(changes);
    }
}

/* One heavy sample in a place that nobody else knows is one sample. */
static void one_heavy_sample_is_luck(void **state)
{
    struct compare_finding before[] = {on_line(1, 1, 500)},
                           after[] = {on_line(1, 1, 500), on_line(2, 1, 200)};
    before[0].squares = after[0].squares = 500;
    after[1].squares = 200 * 200;
    const struct compare_whole wholes[2] = {{1000, 1000}, {1200, 1000 + 200 * 200}};
    struct compare_side sides[2] = {{before, 1, .wholes = &wholes[0]},
                                    {after, 2, .wholes = &wholes[1]}};
    struct compare_change *changes;
    size_t count;
    assert_int_equal(compare_findings(&sides[0], &sides[1], false, 0.01, &changes, &count),
                     BASE_OK);
    for (size_t i = 0; i < count; i++)
        if (changes[i].before == COMPARE_NONE)
            assert_int_equal(changes[i].verdict, COMPARE_SAME);
    free(changes);
}

/* ---- limits and suppressions -------------------------------------------------------------------
 */

static void limits_are_understood(void **state)
{
    struct compare_limit limits[COMPARE_LIMITS];
    size_t count = 0;
    char error[COMPARE_ERROR_BYTES];
    assert_true(compare_limits_parse("waste.dead.fraction=5%,reuse.miss@32K=+10%,waste.bytes=64K,"
                                     "cpu_s=+1.5,waste.load.fraction=+1%,"
                                     "waste.load.fraction=+1pt",
                                     limits, &count, error));
    assert_int_equal(count, 6);
    assert_float_equal(compare_limit_allows(&limits[4], 0.5), 0.505, 1e-12); /* relative */
    assert_float_equal(compare_limit_allows(&limits[5], 0.5), 0.51, 1e-12);  /* absolute */
    assert_string_equal(limits[0].metric, "waste.dead.fraction");
    assert_float_equal(compare_limit_allows(&limits[0], 99), 0.05, 1e-12);
    assert_string_equal(limits[1].metric, "reuse.miss@32K");
    assert_float_equal(compare_limit_allows(&limits[1], 0.5), 0.55, 1e-12);
    assert_float_equal(compare_limit_allows(&limits[2], 0), 65536, 0);
    assert_float_equal(compare_limit_allows(&limits[3], 2), 3.5, 1e-12);
}

static void malformed_limits_are_told(void **state)
{
    static const char *const wrong[] = {
        "",         ",",     "x",     "=5",      "x=",      "x=+",     "x=-5",  "x=5%%",
        "x=5Q",     "x=nan", "x=inf", "x=1e999", "x=0x10",  "x= 5",    "x=++5", "x=5,y",
        "x=1,,y=2", "x=1pt", "x=+1p", "x=+pt",   "x=+1ptt", "x=+0x1pt"};
    for (size_t i = 0; i < BASE_COUNT(wrong); i++) {
        struct compare_limit limits[COMPARE_LIMITS];
        size_t count = 77;
        char error[COMPARE_ERROR_BYTES] = "";
        if (compare_limits_parse(wrong[i], limits, &count, error))
            fail_msg("'%s' was taken", wrong[i]);
        assert_int_equal(count, 77);
        assert_true(error[0]);
    }
}

static void sizes(void **state)
{
    uint64_t bytes = 7;
    assert_true(compare_size_parse("32K", &bytes) && bytes == 32768);
    assert_true(compare_size_parse("1.5M", &bytes) && bytes == 3 << 19);
    assert_true(compare_size_parse("100", &bytes) && bytes == 100);
    assert_false(compare_size_parse("", &bytes) || compare_size_parse("5%", &bytes) ||
                 compare_size_parse("0", &bytes) || compare_size_parse("1e30", &bytes) ||
                 compare_size_parse("K", &bytes));
    assert_int_equal(bytes, 100);
}

static bool is_in(void *context, unsigned side, const char *pattern)
{
    const char *const *names = context;
    return strcmp(names[side], pattern) == 0;
}

static void suppressions_are_read_and_used(void **state)
{
    struct compare_suppressions list = {0};
    char error[COMPARE_ERROR_BYTES];
    const char *const ab[] = {"a", "b"}, *const ba[] = {"b", "a"}, *const cd[] = {"c", "d"};
    assert_int_equal(compare_suppressions_parse("# remark\n\na -> b -- on purpose\n"
                                                "  c -- because -- of this  \r\n",
                                                &list, error),
                     BASE_OK);
    assert_int_equal(list.count, 2);
    assert_int_equal(list.items[0].line, 3);
    assert_string_equal(list.items[1].reason, "because -- of this");
    assert_ptr_equal(compare_suppressed(&list, is_in, (void *)(uintptr_t)ab), &list.items[0]);
    assert_null(compare_suppressed(&list, is_in, (void *)(uintptr_t)ba));
    assert_ptr_equal(compare_suppressed(&list, is_in, (void *)(uintptr_t)cd), &list.items[1]);
    assert_int_equal(list.items[0].uses, 1);
    compare_suppressions_free(&list);
}

static void suppressions_need_reasons(void **state)
{
    static const char *const wrong[] = {"a\n", "ok -- fine\na --\n", "a -- \n", " -- why\n",
                                        "a -> -- why\n"};
    for (size_t i = 0; i < BASE_COUNT(wrong); i++) {
        struct compare_suppressions list = {.count = 9};
        char error[COMPARE_ERROR_BYTES] = "";
        assert_int_equal(compare_suppressions_parse(wrong[i], &list, error), BASE_MALFORMED);
        assert_non_null(strstr(error, i == 1 ? "line 2" : "line 1"));
        assert_int_equal(list.count, 9);
    }
}

/* ---- profiles -------------------------------------------------------------------------------- */

static const char evil[] = "evil\n::error::\033[31m|`<b>\"\\\xff%";

static uint32_t add_place(struct profile *profile, uint32_t parent, const char *function,
                          const char *file, uint32_t line)
{
    *profile_add_frames(profile) = (struct profile_frame){
        .function = function, .file = file, .line = line, .address = 0x1000 + line, .module = 1};
    *profile_add_contexts(profile) =
        (struct profile_context){parent, (uint32_t)profile->frames_count - 1};
    return (uint32_t)profile->contexts_count - 1;
}

/* main calls two functions; `shift`: lines that were added above them. */
static struct profile *new_profile(uint32_t shift, double waste, const char *function)
{
    struct profile *profile = profile_new();
    profile_add_modules(profile)->path = "/home/u/prog";
    uint32_t root = add_place(profile, 0, "main", "/home/u/src/a.c", 10 + shift);
    uint32_t first = add_place(profile, root, function, "/home/u/src/a,:%.c", 20 + shift);
    uint32_t second = add_place(profile, root, "user", "/home/u/src/a.c", 30 + shift);
    *profile_add_pairs(profile) = (struct profile_pair){
        .kind = PROFILE_DEAD, .first = first, .second = second, .waste_bytes = waste};
    *profile_add_pairs(profile) = (struct profile_pair){.kind = PROFILE_DEAD,
                                                        .first = second,
                                                        .second = first,
                                                        .waste_bytes = 100,
                                                        .use_bytes = 900};
    profile_add_kinds(profile)->kind = PROFILE_DEAD;
    profile->run = (struct profile_run){.verb = "waste",
                                        .engine = "exact",
                                        .weighting = "accesses",
                                        .version = "0.1.0",
                                        .exit_signal = -1,
                                        .wall_s = 1,
                                        .cpu_s = 1,
                                        .processes = 1,
                                        .threads = 1};
    profile_total(profile);
    assert_true(profile_check(profile));
    return profile;
}

static json_t *diff_of(struct profile *before, struct profile *after, size_t *text_bytes)
{
    const struct diff_options options = {.width = 80, .level = 0.01, .names = {"a", "b"}};
    char *text = NULL;
    size_t bytes = 0;
    FILE *out = open_memstream(&text, &bytes);
    assert_int_equal(diff_text(before, after, &options, out), BASE_OK);
    fclose(out);
    assert_null(strchr(text, '\033'));
    *text_bytes = bytes;
    for (char *save, *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save))
        if (name_columns(line) > 80)
            fail_msg("more than 80 columns: %s", line);
    free(text);
    out = open_memstream(&text, &bytes);
    assert_int_equal(diff_json(before, after, &options, out), BASE_OK);
    fclose(out);
    json_t *json = json_loads(text, 0, NULL);
    assert_non_null(json);
    free(text);
    return json;
}

static size_t changes_of(json_t *json)
{
    return json_array_size(json_object_get(json, "changes"));
}

static void moved_lines_are_no_change(void **state)
{
    struct profile *before = new_profile(0, 500, evil), *after = new_profile(3, 500, evil);
    size_t bytes;
    json_t *json = diff_of(before, before, &bytes);
    assert_int_equal(changes_of(json), 0);
    json_decref(json);
    json = diff_of(before, after, &bytes);
    assert_int_equal(changes_of(json), 0);
    json_decref(json);
    profile_free(after);
    after = new_profile(3, 600, evil);
    json = diff_of(before, after, &bytes);
    assert_int_equal(changes_of(json), 2); /* the pair, and all waste */
    json_decref(json);
    profile_free(after);
    after = new_profile(0, 500, "renamed");
    json = diff_of(before, after, &bytes);
    assert_int_equal(changes_of(json), 4); /* two vanished, two appeared */
    json_decref(json);
    profile_free(before);
    profile_free(after);
}

/* One line that two functions write; `turned`: the other one's context came first. */
static struct profile *sharing_profile(bool turned)
{
    struct profile *profile = new_profile(0, 0, "f");
    uint32_t ends[2];
    profile->run.verb = "sharing";
    profile->pairs_count = profile->kinds_count = 0;
    for (unsigned i = 0; i < 2; i++) {
        unsigned which = i ^ turned;
        ends[which] =
            add_place(profile, 1, which ? "right" : "left", "/home/u/src/a.c", 40 + which);
    }
    *profile_add_shared_runs(profile) =
        (struct profile_shared_run){.threads = 2, .instructions = 1000, .false_transfers = 2000};
    *profile_add_shared_lines(profile) = (struct profile_shared_line){
        .object = PROFILE_OBJECT_GLOBAL, .name = "x", .size = 64, .false_transfers = 2000};
    for (unsigned i = 0; i < 2; i++)
        *profile_add_shared_pairs(profile) = (struct profile_shared_pair){.first = ends[i],
                                                                          .second = ends[!i],
                                                                          .first_kind = 2,
                                                                          .second_kind = 2,
                                                                          .transfers = 1000};
    return profile;
}

static void order_of_contexts_is_no_change(void **state)
{
    struct profile *before = sharing_profile(false), *after = sharing_profile(true);
    size_t bytes;
    json_t *json = diff_of(before, after, &bytes);
    assert_int_equal(changes_of(json), 0);
    json_decref(json);
    after->shared_pairs[0].transfers = 2000;
    json = diff_of(before, after, &bytes);
    assert_int_equal(changes_of(json), 1);
    json_decref(json);
    profile_free(before);
    profile_free(after);
}

static void empty_profiles(void **state)
{
    struct profile *profile = new_profile(0, 0, NULL);
    size_t bytes;
    profile->pairs_count = 0;
    profile_total(profile);
    json_t *json = diff_of(profile, profile, &bytes);
    assert_int_equal(changes_of(json), 0);
    json_decref(json);
    profile_free(profile);
}

static void what_cannot_be_compared(void **state)
{
    struct profile *before = new_profile(0, 500, "f"), *after = new_profile(0, 500, "f");
    char error[PROFILE_ERROR_BYTES] = "";
    assert_int_equal(diff_comparable(before, after, error, sizeof error), BASE_OK);
    after->run.engine = "live";
    assert_int_equal(diff_comparable(before, after, error, sizeof error), BASE_UNSUPPORTED);
    assert_non_null(strstr(error, "'exact'"));
    after->run.engine = "exact";
    after->run.verb = "reuse";
    assert_int_equal(diff_comparable(before, after, error, sizeof error), BASE_UNSUPPORTED);
    after->run.verb = "waste";
    after->run.fp_tolerance = 0.5;
    assert_int_equal(diff_comparable(before, after, error, sizeof error), BASE_UNSUPPORTED);
    after->run.fp_tolerance = 0;
    after->kinds[0].kind = PROFILE_LOAD;
    assert_int_equal(diff_comparable(before, after, error, sizeof error), BASE_UNSUPPORTED);
    profile_free(before);
    profile_free(after);
}

typedef enum base_status printer(const struct check *check, FILE *out);

static char *printed(const struct check *check, printer *print)
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *out = open_memstream(&text, &bytes);
    assert_int_equal(print(check, out), BASE_OK);
    fclose(out);
    return text;
}

static enum base_status as_text(const struct check *check, FILE *out)
{
    return check_text(check, false, false, 80, out);
}

static size_t count_lines(const char *text)
{
    size_t lines = 0;
    for (; *text; text++)
        lines += *text == '\n';
    return lines;
}

/* Nothing in a name gets out of its place. */
static void hostile_names_in_checks(void **state)
{
    struct profile *profile = new_profile(0, 500, evil);
    struct compare_limit limits[COMPARE_LIMITS];
    struct check_options options = {
        .limits = limits, .level = 0.01, .names = {NULL, "p"}, .root = "/home/u"};
    struct check *check;
    char error[COMPARE_ERROR_BYTES];
    assert_true(
        compare_limits_parse("waste.dead.fraction=5%", limits, &options.limits_count, error));
    assert_int_equal(check_make(NULL, profile, &options, &check, error, sizeof error), BASE_OK);
    assert_int_equal(check_exceeded(check), 1);
    char *text = printed(check, check_github);
    assert_int_equal(count_lines(text), 3); /* the limit and two findings */
    assert_non_null(strstr(text, "\n::error file=src/a%2C%3A%25.c,line=20,title="));
    assert_null(strchr(text, '\033'));
    free(text);
    text = printed(check, check_sarif);
    json_t *json = json_loads(text, 0, NULL);
    assert_non_null(json);
    json_t *results = json_object_get(json_array_get(json_object_get(json, "runs"), 0), "results");
    assert_int_equal(json_array_size(results), 3);
    json_t *related = json_object_get(json_array_get(results, 1), "relatedLocations");
    assert_int_equal(json_array_size(related), 1);
    assert_non_null(strstr(text, "\"uri\":\"src/a,%3A%25.c\""));
    json_decref(json);
    free(text);
    text = printed(check, check_markdown);
    assert_null(strchr(text, '\033'));
    assert_null(strstr(text, "<b>"));
    assert_null(strstr(text, "|`"));
    free(text);
    text = printed(check, as_text);
    assert_null(strchr(text, '\033'));
    free(text);
    check_free(check);
    profile_free(profile);
}

static void limits_of_growth(void **state)
{
    struct profile *before = new_profile(0, 500, "f"), *after = new_profile(3, 600, "f");
    struct compare_limit limits[COMPARE_LIMITS];
    struct check_options options = {.limits = limits, .level = 0.01, .names = {"a", "b"}};
    static const struct {
        const char *limit;
        double minimum;
        size_t exceeded;
    } cases[] = {
        {"waste.bytes=+10%", 0, 1},      {"waste.bytes=+20%", 0, 0},  {"waste.bytes=+99", 0, 1},
        {"waste.bytes=+100", 0, 0},      {"waste.bytes=+10%", 50, 0}, {"waste.bytes=+10%", 40, 1},
        {"waste.dead.fraction=0", 0, 1}, {"cpu_s=1", 0, 0},
    };
    for (size_t i = 0; i < BASE_COUNT(cases); i++) {
        struct check *check;
        char error[COMPARE_ERROR_BYTES];
        assert_true(compare_limits_parse(cases[i].limit, limits, &options.limits_count, error));
        options.minimum = cases[i].minimum;
        assert_int_equal(check_make(before, after, &options, &check, error, sizeof error), BASE_OK);
        assert_int_equal(check_exceeded(check), cases[i].exceeded);
        check_free(check);
    }
    profile_free(before);
    profile_free(after);
}

/* A profile of so many traps, each of one sample. */
static struct profile *sampled_profile_of(uint64_t waste, uint64_t use)
{
    struct profile *profile = new_profile(0, 500, "f");
    profile->run.engine = "live";
    for (size_t i = 0; i < profile->pairs_count; i++) {
        struct profile_pair *pair = &profile->pairs[i];
        *pair = (struct profile_pair){.kind = pair->kind,
                                      .first = pair->first,
                                      .second = pair->second,
                                      .waste_bytes = (double)waste,
                                      .use_bytes = (double)use,
                                      .waste_squares = (double)waste,
                                      .use_squares = (double)use,
                                      .waste_traps = waste,
                                      .use_traps = use};
    }
    profile_total(profile);
    assert_true(profile_check(profile));
    return profile;
}

static struct profile *sampled_profile(uint64_t traps)
{
    return sampled_profile_of(traps, traps);
}

/* Of proportions the interval of the difference is Newcombe's, whose paper has this example: 56 of
   70 against 48 of 80 differ by 0.2, 95 % 0.0524 to 0.3339. */
static void differences_have_intervals(void **state)
{
    struct compare_limit limit = {.growth = true};
    struct profile_share a = profile_share(56, 70, 70), b = profile_share(48, 80, 80);
    struct compare_estimate value = {a.share, a.low, a.high}, baseline = {b.share, b.low, b.high};
    struct compare_estimate excess = compare_limit_excess(&limit, &value, &baseline);
    assert_float_equal(excess.value, 0.2, 1e-12);
    assert_float_equal(excess.low, 0.0524, 0.00005);
    assert_float_equal(excess.high, 0.3339, 0.00005);
    limit = (struct compare_limit){.value = 0.75};
    excess = compare_limit_excess(&limit, &value, &baseline);
    assert_float_equal(excess.low, a.low - 0.75, 1e-12);
    assert_float_equal(excess.high, a.high - 0.75, 1e-12);
}

/* What lies within the interval is neither held nor exceeded. */
static void intervals_decide(void **state)
{
    static const struct {
        uint64_t before[2], after[2]; /* waste and use, of each of two pairs */
        const char *limit;
        size_t exceeded, undecided;
    } cases[] = {
        {{0, 0}, {1, 3}, "waste.dead.fraction=5%", 1, 0}, /* 2 of 8: 7.1 to 59.1 % */
        {{0, 0}, {1, 3}, "waste.dead.fraction=10%", 0, 1},
        {{0, 0}, {1, 3}, "waste.dead.fraction=30%", 0, 1},
        {{0, 0}, {1, 3}, "waste.dead.fraction=60%", 0, 0},
        {{0, 0}, {0, 0}, "waste.dead.fraction=10%", 0, 1}, /* nothing was decided */
        {{100, 100}, {110, 90}, "waste.dead.fraction=+1%", 0, 1},
        {{100, 100}, {110, 90}, "waste.dead.fraction=+1pt", 0, 1},
        {{100, 100}, {110, 90}, "waste.dead.fraction=+20pt", 0, 0},
        {{100, 100}, {180, 20}, "waste.dead.fraction=+1pt", 1, 0},
        {{100, 100}, {20, 180}, "waste.dead.fraction=+1%", 0, 0},
        /* 10 to 20 % doubles, which is 10 points */
        {{100, 900}, {200, 800}, "waste.dead.fraction=+20%", 1, 0},
        {{100, 900}, {200, 800}, "waste.dead.fraction=+20pt", 0, 0},
    };
    for (size_t i = 0; i < BASE_COUNT(cases); i++) {
        struct profile *before = sampled_profile_of(cases[i].before[0], cases[i].before[1]);
        struct profile *after = sampled_profile_of(cases[i].after[0], cases[i].after[1]);
        struct compare_limit limits[COMPARE_LIMITS];
        struct check_options options = {.limits = limits, .level = 0.01, .names = {"a", "b"}};
        struct check *check;
        char error[COMPARE_ERROR_BYTES];
        bool growth = cases[i].before[1] > 0;
        assert_true(compare_limits_parse(cases[i].limit, limits, &options.limits_count, error));
        assert_int_equal(
            check_make(growth ? before : NULL, after, &options, &check, error, sizeof error),
            BASE_OK);
        if (check_exceeded(check) != cases[i].exceeded ||
            check_undecided(check) != cases[i].undecided)
            fail_msg("case %zu, %s: %zu exceeded, %zu undecided", i, cases[i].limit,
                     check_exceeded(check), check_undecided(check));
        char *text = printed(check, as_text);
        assert_int_equal(strstr(text, "UNDECIDED, an estimate: ") != NULL, cases[i].undecided);
        free(text);
        check_free(check);
        profile_free(before);
        profile_free(after);
    }
}

/* Points are of percentages. */
static void points_of_bytes_mean_nothing(void **state)
{
    struct profile *before = new_profile(0, 500, "f"), *after = new_profile(3, 600, "f");
    struct compare_limit limits[COMPARE_LIMITS];
    struct check_options options = {.limits = limits, .level = 0.01, .names = {"a", "b"}};
    struct check *check = NULL;
    char error[COMPARE_ERROR_BYTES];
    assert_true(compare_limits_parse("waste.bytes=+1pt", limits, &options.limits_count, error));
    assert_int_equal(check_make(before, after, &options, &check, error, sizeof error),
                     BASE_NOT_FOUND);
    assert_null(check);
    assert_non_null(strstr(error, "write waste.bytes=+N%"));
    profile_free(before);
    profile_free(after);
}

static void few_samples_are_told(void **state)
{
    for (uint64_t traps = 2; traps <= 200; traps *= 100) {
        struct profile *profile = sampled_profile(traps), *same = sampled_profile(traps);
        struct compare_limit limits[COMPARE_LIMITS];
        struct check_options options = {.limits = limits, .level = 0.01, .names = {"a", "b"}};
        struct check *check;
        char error[COMPARE_ERROR_BYTES];
        size_t bytes;
        json_t *json = diff_of(profile, same, &bytes);
        json_t *figure = json_array_get(json_object_get(json, "figures"), 0);
        assert_string_equal(json_string_value(json_object_get(figure, "name")),
                            "waste.dead.fraction");
        assert_int_equal(
            json_is_true(json_object_get(json_object_get(figure, "after"), "too_few_samples")),
            traps == 2);
        json_decref(json);
        assert_true(
            compare_limits_parse("waste.dead.fraction=5%", limits, &options.limits_count, error));
        assert_int_equal(check_make(NULL, profile, &options, &check, error, sizeof error), BASE_OK);
        char *text = printed(check, as_text);
        assert_int_equal(strstr(text, "rests on too few samples") != NULL, traps == 2);
        free(text);
        check_free(check);
        profile_free(profile);
        profile_free(same);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equal_lines_go_first),
        cmocka_unit_test(near_lines_are_matched_in_order),
        cmocka_unit_test(alignment_is_the_best),
        cmocka_unit_test(exact_verdicts),
        cmocka_unit_test(many_with_the_same_functions),
        cmocka_unit_test(fisher_of_known_tables),
        cmocka_unit_test(holm_of_a_known_example),
        cmocka_unit_test(false_alarms_are_rare),
        cmocka_unit_test(samples_that_come_together),
        cmocka_unit_test(changes_are_found),
        cmocka_unit_test(a_recording_equals_itself),
        cmocka_unit_test(one_heavy_sample_is_luck),
        cmocka_unit_test(limits_are_understood),
        cmocka_unit_test(malformed_limits_are_told),
        cmocka_unit_test(sizes),
        cmocka_unit_test(suppressions_are_read_and_used),
        cmocka_unit_test(suppressions_need_reasons),
        cmocka_unit_test(moved_lines_are_no_change),
        cmocka_unit_test(order_of_contexts_is_no_change),
        cmocka_unit_test(empty_profiles),
        cmocka_unit_test(what_cannot_be_compared),
        cmocka_unit_test(hostile_names_in_checks),
        cmocka_unit_test(limits_of_growth),
        cmocka_unit_test(few_samples_are_told),
        cmocka_unit_test(differences_have_intervals),
        cmocka_unit_test(intervals_decide),
        cmocka_unit_test(points_of_bytes_mean_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
