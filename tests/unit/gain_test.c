// SPDX-License-Identifier: MIT
/* What mending findings would gain, of profiles made by hand, in which every figure is known. */
#include "gain/attach.h"
#include "gain/gain.h"

#include "analysis/analysis.h"
#include "distance/distance.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

enum { HEAVY = 1000 }; /* ticks: intervals are narrow */

/* main calls work, whose lines 10 and 11 lie in a loop and 20 outside of it; line 10 calls memset. */
struct fixture {
    struct profile *profile;
    uint32_t main, work, line10, line11, line20, memset;
};

static uint32_t add(struct profile *profile, uint32_t parent, const char *function, uint32_t line,
                    uint32_t module, uint64_t address)
{
    *profile_add_frames(profile) = (struct profile_frame){.function = function,
                                                          .file = line ? "/x/work.c" : NULL,
                                                          .line = line,
                                                          .module = module,
                                                          .address = address};
    *profile_add_contexts(profile) =
        (struct profile_context){parent, (uint32_t)profile->frames_count - 1};
    return (uint32_t)profile->contexts_count - 1;
}

static void tick(struct profile *profile, uint32_t context, uint64_t ticks)
{
    *profile_add_times(profile) = (struct profile_time){context, 0, ticks, ticks * 1000000};
}

static void pair(struct profile *profile, uint32_t kind, uint32_t first, uint32_t second,
                 double waste, double use)
{
    *profile_add_pairs(profile) = (struct profile_pair){.kind = kind,
                                                        .first = first,
                                                        .second = second,
                                                        .waste_bytes = waste,
                                                        .use_bytes = use,
                                                        .waste_squares = waste,
                                                        .use_squares = use,
                                                        .waste_traps = (uint64_t)waste,
                                                        .use_traps = (uint64_t)use};
}

static void total(struct profile *profile, uint32_t kind)
{
    struct profile_kind sum = {.kind = kind};
    for (size_t i = 0; i < profile->pairs_count; i++) {
        const struct profile_pair *row = &profile->pairs[i];
        if (row->kind != kind)
            continue;
        sum.waste_bytes += row->waste_bytes;
        sum.use_bytes += row->use_bytes;
        sum.waste_squares += row->waste_squares;
        sum.use_squares += row->use_squares;
        sum.waste_traps += row->waste_traps;
        sum.use_traps += row->use_traps;
    }
    *profile_add_kinds(profile) = sum;
}

static int setup(void **state)
{
    static struct fixture fixture;
    struct profile *profile = profile_new();
    fixture = (struct fixture){.profile = profile};
    profile->run = (struct profile_run){.verb = "run",
                                        .engine = "live",
                                        .source = "clock",
                                        .weighting = "cpu-time",
                                        .cpu_s = -1,
                                        .system_s = -1};
    profile_add_modules(profile)->path = "/x/work";
    profile_add_modules(profile)->path = "/lib/x86_64-linux-gnu/libc.so.6";
    *profile_add_loops(profile) = (struct profile_loop){.module = 1, .address = 100};
    fixture.main = add(profile, 0, "main", 1, 1, 1);
    fixture.line10 = add(profile, fixture.main, "work", 10, 1, 100);
    fixture.line11 = add(profile, fixture.main, "work", 11, 1, 200);
    fixture.line20 = add(profile, fixture.main, "work", 20, 1, 300);
    fixture.memset = add(profile, fixture.line10, "memset", 0, 2, 400);
    *profile_add_frame_loops(profile) = (struct profile_frame_loop){2, 1};
    *profile_add_frame_loops(profile) = (struct profile_frame_loop){3, 1};
    *state = &fixture;
    return 0;
}

static int teardown(void **state)
{
    profile_free(((struct fixture *)*state)->profile);
    return 0;
}

struct made {
    struct places places;
    struct source_cache sources;
    struct gain_list list;
};

static void make(struct fixture *fixture, struct made *made)
{
    *made = (struct made){0};
    assert_int_equal(places_make(fixture->profile, true, &made->places), BASE_OK);
    assert_true(gain_make(&made->places, &made->sources, &made->list));
}

static void end(struct made *made)
{
    gain_free(&made->list);
    places_free(&made->places);
    source_free(&made->sources);
}

static uint32_t line_of(const struct fixture *fixture, const struct gain_list *list, size_t index)
{
    return fixture->profile->frames[list->lines.frames[list->items[index].line]].line;
}

/* Half of the time clears memory for line 10, all of it for nothing; a quarter at line 20, a fifth of its loads
   redundant; the loop has three quarters of the time. */
static void gains_are_time_times_waste(void **state)
{
    struct fixture *fixture = *state;
    struct profile *profile = fixture->profile;
    struct made made;
    tick(profile, fixture->memset, 2 * HEAVY);
    tick(profile, fixture->line11, HEAVY);
    tick(profile, fixture->line20, HEAVY);
    pair(profile, PROFILE_DEAD, fixture->memset, fixture->line11, 500, 0);
    pair(profile, PROFILE_LOAD, fixture->line10, fixture->line20, 100, 400);
    *profile_add_traits(profile) = (struct profile_trait){
        PROFILE_LOAD, fixture->line10, fixture->line20, PROFILE_REACH_ITERATION, 0};
    total(profile, PROFILE_DEAD);
    total(profile, PROFILE_LOAD);
    make(fixture, &made);
    assert_int_equal(made.list.strong, 2);
    assert_int_equal(line_of(fixture, &made.list, 0), 10);
    const struct gain_finding *dead = &made.list.items[0], *load = &made.list.items[1];
    assert_float_equal((float)dead->direct, 0.5, 0.002);
    assert_float_equal((float)dead->ceiling, 0.75, 1e-9);
    assert_true(dead->low > GAIN_SURE * 0.47 && dead->low < GAIN_SURE * 0.5);
    assert_true(dead->direct_low > 0.47 && dead->direct_low < 0.5);
    assert_true(dead->direct_high > 0.5 && dead->direct_high < 0.53);
    assert_int_equal(line_of(fixture, &made.list, 1), 20);
    /* twice in one iteration: the load could go */
    assert_float_equal((float)load->direct, 0.25 * 0.2 * GAIN_ACCESS, 0.002);
    assert_float_equal((float)load->ceiling, 1, 1e-9); /* no loop: all of work */
    assert_true(load->low == 0 && load->direct < load->direct_high);
    assert_int_equal(load->ticks, HEAVY);
    end(&made);
}

/* One finding; the larger share of the two counts, once. */
static void one_line_is_one_finding(void **state)
{
    struct fixture *fixture = *state;
    struct profile *profile = fixture->profile;
    struct made made;
    tick(profile, fixture->memset, HEAVY);
    tick(profile, fixture->line20, HEAVY);
    pair(profile, PROFILE_DEAD, fixture->memset, fixture->memset, 320, 80);
    pair(profile, PROFILE_SILENT, fixture->memset, fixture->memset, 450, 50);
    total(profile, PROFILE_DEAD);
    total(profile, PROFILE_SILENT);
    make(fixture, &made);
    assert_int_equal(made.list.count, 1);
    assert_int_equal(made.list.items[0].count, 2);
    /* libc's memset is the line's that calls it */
    assert_int_equal(line_of(fixture, &made.list, 0), 10);
    /* of about as much waste, dead stores come first */
    assert_string_equal(made.list.items[0].symptoms[0].kind, "dead");
    assert_float_equal((float)made.list.items[0].direct, 0.5 * 0.9, 0.002);
    assert_float_equal((float)made.list.items[0].ceiling, 0.5, 1e-9);
    end(&made);
}

/* The lower end is of the instructions that waste, not of all that the line does. */
static void lower_ends_are_of_wasted_instructions(void **state)
{
    struct fixture *fixture = *state;
    struct profile *profile = fixture->profile;
    struct made made;
    uint32_t clear = add(profile, fixture->main, "memset", 11, 1, 200);
    uint32_t behind = add(profile, fixture->main, "memset", 11, 1, 215);
    uint32_t far = add(profile, fixture->main, "memset", 11, 1, 216);
    tick(profile, clear, HEAVY);
    tick(profile, fixture->line20, 4 * HEAVY);
    tick(profile, behind, HEAVY);
    tick(profile, far, 4 * HEAVY);
    pair(profile, PROFILE_DEAD, clear, fixture->line10, 1000, 0);
    total(profile, PROFILE_DEAD);
    make(fixture, &made);
    assert_float_equal((float)made.list.items[0].direct, 0.6, 0.005);
    assert_true(made.list.items[0].low > GAIN_SURE * 0.18);
    assert_true(made.list.items[0].low < GAIN_SURE * 0.2);
    end(&made);
}

/* Of loads, those of a search; what is silent is known once it was made. */
static void lower_ends_are_of_work_that_can_go(void **state)
{
    struct fixture *fixture = *state;
    struct profile *profile = fixture->profile;
    struct made made;
    tick(profile, fixture->line10, 5 * HEAVY);
    tick(profile, fixture->line11, 3 * HEAVY);
    tick(profile, fixture->line20, 2 * HEAVY);
    pair(profile, PROFILE_LOAD, fixture->line10, fixture->line10, 1000, 0);
    pair(profile, PROFILE_LOAD, fixture->line11, fixture->line11, 1000, 0);
    pair(profile, PROFILE_SILENT, fixture->line20, fixture->line20, 1000, 0);
    *profile_add_traits(profile) = (struct profile_trait){PROFILE_LOAD, fixture->line11,
                                                          fixture->line11, PROFILE_REACH_SEARCH, 0};
    total(profile, PROFILE_LOAD);
    total(profile, PROFILE_SILENT);
    make(fixture, &made);
    assert_int_equal(line_of(fixture, &made.list, 0), 11);
    assert_float_equal((float)made.list.items[0].direct, 0.3, 0.002);
    assert_true(made.list.items[0].low > GAIN_SURE * 0.28);
    assert_true(made.list.items[0].low < GAIN_SURE * 0.3);
    assert_int_equal(line_of(fixture, &made.list, 1), 20);
    assert_float_equal((float)made.list.items[1].direct, 0.2 * GAIN_ACCESS, 0.002);
    assert_true(made.list.items[1].low == 0);
    /* Nothing says that the algorithm could do without. */
    assert_int_equal(line_of(fixture, &made.list, 2), 10);
    assert_float_equal((float)made.list.items[2].direct, 0.5 * GAIN_INHERENT, 0.002);
    assert_true(made.list.items[2].low == 0);
    end(&made);
}

/* A large gain that is not sure comes before a small one that is, and a sure one before one as large that is not. */
static void the_middle_ranks(void **state)
{
    struct fixture *fixture = *state;
    struct profile *profile = fixture->profile;
    struct made made;
    uint32_t little = add(profile, fixture->main, "memcpy", 30, 1, 500);
    uint32_t clear = add(profile, fixture->main, "memset", 31, 1, 600);
    uint32_t much = add(profile, fixture->main, "memmove", 32, 1, 700);
    tick(profile, little, 2 * HEAVY);
    tick(profile, clear, 2 * HEAVY);
    tick(profile, much, 6 * HEAVY);
    pair(profile, PROFILE_SILENT, little, little, 1000, 0);
    pair(profile, PROFILE_SILENT, much, much, 1000, 0);
    pair(profile, PROFILE_DEAD, clear, clear, 1000, 0);
    total(profile, PROFILE_SILENT);
    total(profile, PROFILE_DEAD);
    make(fixture, &made);
    assert_int_equal(line_of(fixture, &made.list, 0), 32);
    assert_int_equal(line_of(fixture, &made.list, 1), 31);
    assert_int_equal(line_of(fixture, &made.list, 2), 30);
    end(&made);
}

/* A value that could be kept in a register, and a store that could be left out: that goes, the line's other work does not, nor what lies farther
   behind it. */
static void one_access_goes(void **state)
{
    struct fixture *fixture = *state;
    struct profile *profile = fixture->profile;
    struct made made;
    uint32_t far = add(profile, fixture->main, "work", 10, 1, 116);
    tick(profile, fixture->line10, 4 * HEAVY);
    tick(profile, far, 3 * HEAVY);
    tick(profile, fixture->line11, 2 * HEAVY);
    tick(profile, fixture->line20, HEAVY);
    pair(profile, PROFILE_LOAD, fixture->line10, fixture->line10, 1000, 0);
    pair(profile, PROFILE_LOAD, fixture->line20, fixture->line20, 1000, 0);
    pair(profile, PROFILE_DEAD, fixture->line11, fixture->line11, 1000, 0);
    *profile_add_traits(profile) = (struct profile_trait){
        PROFILE_LOAD, fixture->line10, fixture->line10, PROFILE_REACH_INVARIANT, 0};
    total(profile, PROFILE_LOAD);
    total(profile, PROFILE_DEAD);
    make(fixture, &made);
    assert_int_equal(line_of(fixture, &made.list, 0), 10);
    assert_float_equal((float)made.list.items[0].direct, 0.4 * GAIN_ACCESS, 0.002);
    assert_true(made.list.items[0].low == 0);
    assert_int_equal(line_of(fixture, &made.list, 1), 11);
    assert_float_equal((float)made.list.items[1].direct, 0.2 * GAIN_ACCESS, 0.002);
    assert_true(made.list.items[1].low == 0);
    assert_int_equal(line_of(fixture, &made.list, 2), 20);
    assert_float_equal((float)made.list.items[2].direct, 0.1 * GAIN_INHERENT, 0.002);
    end(&made);
}

/* Values that are equal within the tolerance only are no work done twice. */
static void what_is_about_equal_does_not_lead(void **state)
{
    struct fixture *fixture = *state;
    struct profile *profile = fixture->profile;
    struct made made;
    tick(profile, fixture->line10, HEAVY);
    tick(profile, fixture->line11, HEAVY);
    pair(profile, PROFILE_SILENT, fixture->line10, fixture->line10, 500, 0);
    pair(profile, PROFILE_SILENT, fixture->line11, fixture->line11, 500, 0);
    *profile_add_traits(profile) = (struct profile_trait){.kind = PROFILE_SILENT,
                                                          .first = fixture->line10,
                                                          .second = fixture->line10,
                                                          .near_bytes = 500};
    total(profile, PROFILE_SILENT);
    make(fixture, &made);
    assert_int_equal(line_of(fixture, &made.list, 0), 11);
    assert_float_equal((float)made.list.items[0].direct, 0.5 * GAIN_ACCESS, 0.002);
    assert_float_equal((float)made.list.items[1].direct, 0.5 * GAIN_INHERENT, 0.002);
    end(&made);
}

/* 1.5 % that is not sure: 0.75 % are expected. 4 %: 2 %. */
static void little_is_slight(void **state)
{
    struct fixture *fixture = *state;
    struct profile *profile = fixture->profile;
    struct made made;
    uint32_t little = add(profile, fixture->main, "memcpy", 30, 1, 500);
    uint32_t more = add(profile, fixture->main, "memmove", 31, 1, 600);
    tick(profile, little, 15 * HEAVY);
    tick(profile, more, 40 * HEAVY);
    tick(profile, fixture->line20, 945 * HEAVY);
    pair(profile, PROFILE_SILENT, little, little, 1000, 0);
    pair(profile, PROFILE_SILENT, more, more, 1000, 0);
    total(profile, PROFILE_SILENT);
    make(fixture, &made);
    assert_int_equal(made.list.strong, 2);
    assert_int_equal(made.list.worth, 1);
    assert_int_equal(line_of(fixture, &made.list, 0), 31);
    assert_false(made.list.items[0].slight);
    assert_true(made.list.items[1].slight);
    end(&made);
}

/* Instructions of one line may lie in different loops: what is around the wasted one counts. */
static void ceilings_are_around_the_access(void **state)
{
    struct fixture *fixture = *state;
    struct profile *profile = fixture->profile;
    struct made made;
    uint32_t outside = add(profile, fixture->main, "work", 10, 1, 500);
    tick(profile, outside, HEAVY);
    tick(profile, fixture->line20, 3 * HEAVY);
    pair(profile, PROFILE_DEAD, outside, fixture->line20, 1000, 0);
    total(profile, PROFILE_DEAD);
    make(fixture, &made);
    assert_int_equal(made.list.strong, 1);
    assert_float_equal((float)made.list.items[0].direct, 0.25 * GAIN_ACCESS, 0.002);
    assert_float_equal((float)made.list.items[0].ceiling, 1, 1e-9);
    end(&made);
}

/* As where a loop's test waits for what the line above it loads. */
static void ticks_behind_an_access_are_its(void **state)
{
    struct fixture *fixture = *state;
    struct profile *profile = fixture->profile;
    struct made made;
    uint32_t test = add(profile, fixture->main, "work", 12, 1, 203);
    uint32_t far = add(profile, fixture->main, "work", 13, 1, 216);
    uint32_t found = add(profile, fixture->main, "work", 14, 1, 103);
    tick(profile, test, 3 * HEAVY);
    tick(profile, far, 4 * HEAVY);
    tick(profile, found, 2 * HEAVY);
    tick(profile, fixture->line10, HEAVY);
    pair(profile, PROFILE_DEAD, fixture->line10, fixture->line10, 1000, 0);
    pair(profile, PROFILE_DEAD, fixture->line11, fixture->line11, 1000, 0);
    pair(profile, PROFILE_SILENT, found, found, 1000, 0);
    total(profile, PROFILE_DEAD);
    total(profile, PROFILE_SILENT);
    make(fixture, &made);
    assert_int_equal(made.list.strong, 3);
    assert_int_equal(line_of(fixture, &made.list, 0), 11);
    assert_float_equal((float)made.list.items[0].direct, 0.3 * GAIN_ACCESS, 0.002);
    assert_int_equal(line_of(fixture, &made.list, 1), 10); /* of one cause with the first */
    assert_float_equal((float)made.list.items[1].direct, 0.1 * GAIN_ACCESS, 0.002);
    assert_int_equal(line_of(fixture, &made.list, 2), 14); /* found there, too: its own */
    assert_float_equal((float)made.list.items[2].direct, 0.2 * GAIN_ACCESS, 0.002);
    end(&made);
}

/* Loads that an outer loop repeats. */
static void what_algorithms_need_does_not_lead(void **state)
{
    struct fixture *fixture = *state;
    struct profile *profile = fixture->profile;
    struct made made;
    tick(profile, fixture->line10, HEAVY);
    tick(profile, fixture->line11, 3 * HEAVY);
    pair(profile, PROFILE_LOAD, fixture->line10, fixture->line10, 500, 0);
    pair(profile, PROFILE_LOAD, fixture->line11, fixture->line11, 500, 0);
    *profile_add_traits(profile) = (struct profile_trait){PROFILE_LOAD, fixture->line10,
                                                          fixture->line10, PROFILE_REACH_SEARCH, 0};
    *profile_add_traits(profile) = (struct profile_trait){PROFILE_LOAD, fixture->line11,
                                                          fixture->line11, PROFILE_REACH_OUTER, 0};
    total(profile, PROFILE_LOAD);
    make(fixture, &made);
    assert_int_equal(line_of(fixture, &made.list, 0), 10);
    assert_float_equal((float)made.list.items[0].direct, 0.25, 0.002);
    assert_float_equal((float)made.list.items[1].direct, 0.75 * GAIN_INHERENT, 0.002);
    assert_true(made.list.items[1].low == 0);
    end(&made);
}

/* Threads that wait for others store what nobody reads: that they might as well not is no work that could go. */
static void waiting_for_others_may_save_nothing(void **state)
{
    struct fixture *fixture = *state;
    struct profile *profile = fixture->profile;
    struct made made;
    profile_add_modules(profile)->path = "/lib/x86_64-linux-gnu/libgomp.so.1";
    uint32_t barrier = add(profile, fixture->line10, "gomp_team_barrier_wait_end", 0, 3, 500);
    tick(profile, barrier, HEAVY);
    pair(profile, PROFILE_DEAD, barrier, barrier, 1000, 0);
    total(profile, PROFILE_DEAD);
    make(fixture, &made);
    assert_int_equal(made.list.strong, 1);
    assert_float_equal((float)made.list.items[0].direct, GAIN_INHERENT, 0.002);
    assert_true(made.list.items[0].low == 0);
    end(&made);
}

/* What the C library does in a function is its caller's affair only where that asks for the same again, or for a
   format to be read. */
static void calls_are_needed_unless_they_format(void **state)
{
    struct fixture *fixture = *state;
    struct profile *profile = fixture->profile;
    struct made made;
    uint32_t allocates = add(profile, fixture->line10, "malloc", 0, 2, 500);
    uint32_t prints = add(profile, fixture->line11, "snprintf", 0, 2, 600);
    uint32_t inside = add(profile, prints, "vfprintf", 0, 2, 700);
    tick(profile, allocates, 3 * HEAVY);
    tick(profile, inside, HEAVY);
    pair(profile, PROFILE_LOAD, allocates, allocates, 1000, 0);
    pair(profile, PROFILE_LOAD, inside, inside, 1000, 0);
    total(profile, PROFILE_LOAD);
    make(fixture, &made);
    assert_int_equal(line_of(fixture, &made.list, 0), 11);
    assert_string_equal(made.list.items[0].symptoms[0].advice.id, "library.format");
    assert_float_equal((float)made.list.items[0].direct, 0.25, 0.002);
    assert_true(made.list.items[0].low == 0);
    assert_int_equal(line_of(fixture, &made.list, 1), 10);
    assert_float_equal((float)made.list.items[1].direct, 0.75 * GAIN_INHERENT, 0.002);
    end(&made);
}

/* Two lines of one function of which the same is said gain more together than the line of another that alone gains most. */
static void lines_of_one_cause_stand_together(void **state)
{
    struct fixture *fixture = *state;
    struct profile *profile = fixture->profile;
    struct made made;
    uint32_t other = add(profile, fixture->main, "memset", 30, 1, 500);
    uint32_t memset11 = add(profile, fixture->line11, "memset", 0, 2, 600);
    tick(profile, other, 4 * HEAVY);
    tick(profile, fixture->memset, 3 * HEAVY);
    tick(profile, memset11, 3 * HEAVY);
    pair(profile, PROFILE_DEAD, other, other, 1000, 0);
    pair(profile, PROFILE_DEAD, fixture->memset, fixture->memset, 1000, 0);
    pair(profile, PROFILE_DEAD, memset11, memset11, 1000, 0);
    total(profile, PROFILE_DEAD);
    make(fixture, &made);
    assert_int_equal(made.list.worth, 3);
    assert_int_equal(line_of(fixture, &made.list, 2), 30);
    assert_true(made.list.items[2].direct > made.list.items[0].direct);
    assert_int_equal(made.list.items[0].cause, made.list.items[1].cause);
    end(&made);
}

/* Of a line's loads nine of ten are needed: the tenth is what could go, and what is needed does not lead by being much. */
static void parts_of_a_line_go_by_what_they_are(void **state)
{
    struct fixture *fixture = *state;
    struct profile *profile = fixture->profile;
    struct made made;
    tick(profile, fixture->line10, 9 * HEAVY);
    tick(profile, fixture->line20, HEAVY);
    pair(profile, PROFILE_LOAD, fixture->line10, fixture->line10, 900, 0);
    pair(profile, PROFILE_LOAD, fixture->line20, fixture->line10, 100, 0);
    *profile_add_traits(profile) = (struct profile_trait){
        PROFILE_LOAD, fixture->line20, fixture->line10, PROFILE_REACH_ITERATION, 0};
    total(profile, PROFILE_LOAD);
    make(fixture, &made);
    assert_int_equal(made.list.strong, 1);
    assert_int_equal(made.list.items[0].count, 2);
    assert_float_equal((float)made.list.items[0].needed, 0.9 * 0.9 * GAIN_INHERENT, 0.002);
    assert_float_equal((float)made.list.items[0].direct,
                       0.9 * (0.9 * GAIN_INHERENT + 0.1 * GAIN_ACCESS), 0.002);
    assert_true(made.list.items[0].direct > 2 * GAIN_LEAST);
    assert_true(made.list.items[0].together > GAIN_LEAST);
    end(&made);
}

/* Half of everything, and still what the algorithm needs. */
static void what_is_needed_is_slight(void **state)
{
    struct fixture *fixture = *state;
    struct profile *profile = fixture->profile;
    struct made made;
    tick(profile, fixture->line10, HEAVY);
    pair(profile, PROFILE_LOAD, fixture->line10, fixture->line10, 1000, 0);
    total(profile, PROFILE_LOAD);
    make(fixture, &made);
    assert_int_equal(made.list.strong, 1);
    assert_float_equal((float)made.list.items[0].direct, GAIN_INHERENT, 0.002);
    assert_true(made.list.items[0].slight && made.list.worth == 0);
    end(&made);
}

/* qsort's memcpy is qsort's. */
static void what_a_library_copies_inside_is_its_own(void **state)
{
    struct fixture *fixture = *state;
    struct profile *profile = fixture->profile;
    struct made made;
    uint32_t sorts = add(profile, fixture->line10, "qsort", 0, 2, 500);
    uint32_t inside = add(profile, sorts, "memcpy", 0, 2, 600);
    uint32_t direct = add(profile, fixture->line11, "memcpy", 0, 2, 600);
    tick(profile, inside, 3 * HEAVY);
    tick(profile, direct, HEAVY);
    pair(profile, PROFILE_SILENT, inside, inside, 1000, 0);
    pair(profile, PROFILE_SILENT, direct, direct, 1000, 0);
    total(profile, PROFILE_SILENT);
    make(fixture, &made);
    assert_int_equal(line_of(fixture, &made.list, 0), 11);
    assert_string_equal(made.list.items[0].symptoms[0].advice.id, "silent.copied");
    assert_float_equal((float)made.list.items[0].direct, 0.25, 0.002);
    assert_string_equal(made.list.items[1].symptoms[0].advice.id, "library");
    assert_float_equal((float)made.list.items[1].direct, 0.75 * GAIN_INHERENT, 0.002);
    end(&made);
}

/* 80 % of work's time lies where registers are saved or close behind; of main 10 % do. */
static void functions_that_are_only_called(void **state)
{
    struct fixture *fixture = *state;
    struct profile *profile = fixture->profile;
    struct made made;
    uint32_t saves = add(profile, fixture->main, "work", 9, 1, 50);
    uint32_t behind = add(profile, fixture->main, "work", 9, 1, 65);
    uint32_t far = add(profile, fixture->main, "work", 20, 1, 66);
    uint32_t saves_in_main = add(profile, 0, "main", 3, 1, 900);
    profile->frames[profile->contexts[saves].frame].flags = PROFILE_FRAME_SAVE;
    profile->frames[profile->contexts[saves_in_main].frame].flags = PROFILE_FRAME_RETURN;
    tick(profile, saves, HEAVY);
    tick(profile, behind, 3 * HEAVY);
    tick(profile, far, HEAVY);
    tick(profile, fixture->main, 45 * HEAVY / 10);
    tick(profile, saves_in_main, HEAVY / 2);
    make(fixture, &made);
    assert_int_equal(made.list.count, 1);
    const struct gain_finding *calls = &made.list.items[0];
    assert_int_equal(line_of(fixture, &made.list, 0), 9);
    assert_string_equal(calls->symptoms[0].kind, "calls");
    assert_string_equal(calls->symptoms[0].advice.id, "overhead.calls");
    assert_float_equal((float)calls->symptoms[0].waste.share, 0.8, 1e-6);
    assert_float_equal((float)calls->direct, 0.2, 1e-6);
    assert_float_equal((float)calls->ceiling, 0.5, 1e-6); /* all of work */
    assert_true(calls->low == 0);
    end(&made);
}

/* A file whose time is 60 %, most of it at line 11; what is found in it otherwise the compiler leaves out. */
static void code_without_optimization_is_compiled_first(void **state)
{
    struct fixture *fixture = *state;
    struct profile *profile = fixture->profile;
    struct made made;
    profile->frames[profile->contexts[fixture->line10].frame].flags = PROFILE_FRAME_UNOPTIMIZED;
    profile->frames[profile->contexts[fixture->line11].frame].flags = PROFILE_FRAME_UNOPTIMIZED;
    tick(profile, fixture->line10, 2 * HEAVY);
    tick(profile, fixture->line11, 4 * HEAVY);
    tick(profile, fixture->line20, 4 * HEAVY);
    pair(profile, PROFILE_DEAD, fixture->line10, fixture->line10, 1000, 0);
    pair(profile, PROFILE_DEAD, fixture->line11, fixture->line11, 1000, 0);
    total(profile, PROFILE_DEAD);
    make(fixture, &made);
    assert_int_equal(made.list.count, 2);
    const struct gain_finding *first = &made.list.items[0];
    assert_int_equal(line_of(fixture, &made.list, 0), 11);
    assert_string_equal(first->symptoms[0].kind, "unoptimized");
    assert_float_equal((float)first->symptoms[0].waste.share, 0.6, 1e-6);
    assert_float_equal((float)first->direct, 0.3, 1e-6);
    assert_true(first->low > 0.14 && first->low < 0.15);
    assert_float_equal((float)first->ceiling, 0.75, 0.2);
    assert_true(first->ceiling >= 0.6);
    assert_float_equal((float)made.list.items[1].direct, 0.2 * GAIN_INHERENT, 0.002);
    end(&made);
}

static void weak_ones_come_last(void **state)
{
    struct fixture *fixture = *state;
    struct profile *profile = fixture->profile;
    struct made made;
    tick(profile, fixture->line11, HEAVY);
    tick(profile, fixture->line10, HEAVY);
    pair(profile, PROFILE_LOAD, fixture->line20, fixture->line20, 500, 0); /* no tick met it */
    pair(profile, PROFILE_LOAD, fixture->line11, fixture->line10, 2, 400); /* seen twice */
    pair(profile, PROFILE_LOAD, fixture->line10, fixture->line11, 50, 50);
    *profile_add_traits(profile) = (struct profile_trait){
        PROFILE_LOAD, fixture->line10, fixture->line11, PROFILE_REACH_ITERATION, 0};
    total(profile, PROFILE_LOAD);
    make(fixture, &made);
    assert_int_equal(made.list.count, 3);
    assert_int_equal(made.list.strong, 1);
    assert_int_equal(line_of(fixture, &made.list, 0), 11);
    assert_float_equal((float)made.list.items[0].direct, 0.25 * GAIN_ACCESS, 0.002);
    end(&made);
}

/* Ticks are of user mode; gains are shares of all CPU time. */
static void the_kernel_has_its_part(void **state)
{
    struct fixture *fixture = *state;
    struct profile *profile = fixture->profile;
    struct made made;
    profile->run.cpu_s = 10;
    profile->run.system_s = 4;
    tick(profile, fixture->line11, HEAVY);
    pair(profile, PROFILE_DEAD, fixture->line11, fixture->line10, 1000, 0);
    total(profile, PROFILE_DEAD);
    make(fixture, &made);
    assert_float_equal((float)made.list.items[0].direct, 0.6 * GAIN_ACCESS, 0.002);
    assert_float_equal((float)made.list.items[0].ceiling, 0.6, 1e-9);
    end(&made);
}

/* ---- far reuses ---- */

/* Half of all accesses miss the first level and a quarter the second, one access in a nanosecond that does not wait. */
static struct gain_misses misses(double in_order)
{
    return (struct gain_misses){
        .count = 2,
        .levels = {{.wait_ns = 4, .stream_ns = 1}, {.wait_ns = 20, .stream_ns = 2}},
        .avoided = {{0.5, 0.4, 0.6, in_order}, {0.25, 0.2, 0.3, in_order}},
        .pace = 1,
        .pace_low = 0.5,
        .pace_high = 2};
}

static void waits_follow_from_misses(void **state)
{
    struct gain_misses at_random = misses(0), in_order = misses(1), counted = misses(0);
    struct gain_stall stall = gain_stall_of(&at_random);
    assert_float_equal((float)stall.direct, 7.0 / 8, 1e-6); /* 7 ns wait for each that does not */
    assert_float_equal((float)stall.low, 0.4 / 1.4, 1e-6);  /* 0.8 ns, half an access in one */
    assert_float_equal((float)stall.high, 16.8 / 17.8, 1e-6);
    stall = gain_stall_of(&in_order);
    assert_float_equal((float)stall.direct, 1.0 / 2, 1e-6);
    assert_true(stall.low == 0); /* all of it may be hidden */
    at_random.levels[0].stream_ns =
        0; /* streams of the second level take no longer: 16 waits at a time */
    assert_float_equal((float)gain_stall_of(&at_random).low, 0.25F / 1.25F, 1e-6);
    counted.counted = true;
    counted.pace = 0.1;
    stall = gain_stall_of(&counted);
    assert_float_equal((float)stall.direct, 0.7, 1e-6);
    counted.pace = 1;
    assert_float_equal((float)gain_stall_of(&counted).direct, 1, 1e-6);
}

/* What a miss adds; where the machine's figures lack a level, typical ones. */
static void latencies_are_the_machines(void **state)
{
    struct profile *profile = ((struct fixture *)*state)->profile;
    struct gain_misses misses = {.count = 3};
    *profile_add_caches(profile) = (struct profile_cache){.level = 1, .bytes = 32768};
    *profile_add_caches(profile) = (struct profile_cache){.level = 2, .bytes = 1 << 20};
    *profile_add_caches(profile) = (struct profile_cache){.level = 3, .bytes = 1 << 24};
    *profile_add_latencies(profile) = (struct profile_latency){1, 16384, 1.25, 0.5};
    *profile_add_latencies(profile) = (struct profile_latency){2, 1 << 19, 4, 0.75};
    *profile_add_latencies(profile) = (struct profile_latency){0, 1 << 27, 104, 3.75};
    gain_levels(profile, &misses);
    assert_float_equal((float)misses.levels[0].wait_ns, 2.75, 1e-6);
    assert_float_equal((float)misses.levels[0].stream_ns, 0.25, 1e-6);
    assert_float_equal((float)misses.levels[1].wait_ns, 100, 1e-6);
    assert_float_equal((float)misses.levels[1].stream_ns, 3, 1e-6);
    assert_float_equal((float)misses.levels[2].wait_ns, (float)gain_typical_levels[2].wait_ns,
                       1e-6);
}

/* Line 11 uses its lines again `lines` other lines later, nine of ten times; line 20 never. L1 has 512. */
static void add_reuse(struct fixture *fixture, double lines)
{
    struct profile *profile = fixture->profile;
    double weight = 9e5;
    unsigned bin = distance_bin((uint64_t)lines);
    *profile_add_reuses(profile) = (struct profile_reuse){.process = 1,
                                                          .unit_bytes = 64,
                                                          .stack = 1,
                                                          .accesses = 1e6,
                                                          .reuses = weight,
                                                          .locations = 10,
                                                          .share_first = 1,
                                                          .share_last = 1};
    *profile_add_bins(profile) = (struct profile_bin){.process = 1,
                                                      .which = PROFILE_STACK,
                                                      .lo = distance_bin_low(bin),
                                                      .hi = distance_bin_low(bin + 1),
                                                      .weight = weight};
    *profile_add_paces(profile) =
        (struct profile_pace){.process = 1, .accesses_per_ns = 2, .low = 1, .high = 4};
    *profile_add_caches(profile) = (struct profile_cache){.level = 1, .bytes = 32768};
    *profile_add_reuse_pairs(profile) = (struct profile_reuse_pair){
        fixture->line11, fixture->line11,       900, weight, weight * lines, weight * lines * lines,
        weight * lines,  weight * lines * lines};
    *profile_add_sampled(profile) =
        (struct profile_sampled){PROFILE_REUSE, fixture->line11, 1000, 1000, 1000};
    *profile_add_kinds(profile) = (struct profile_kind){.kind = PROFILE_REUSE, .samples = 1000};
}

/* Half of the time is behind the access, at another line; whatever misses cost, they cost no more. */
static void waits_are_bounded_by_the_time_there(void **state)
{
    struct fixture *fixture = *state;
    struct profile *profile = fixture->profile;
    struct made made;
    uint32_t behind = add(profile, fixture->main, "work", 12, 1, 205);
    tick(profile, behind, HEAVY);
    tick(profile, fixture->line20, HEAVY);
    add_reuse(fixture, 100000);
    make(fixture, &made);
    assert_int_equal(made.list.strong, 1);
    const struct gain_finding *finding = &made.list.items[0];
    assert_int_equal(line_of(fixture, &made.list, 0), 11);
    assert_string_equal(finding->symptoms[0].kind, "reuse");
    assert_float_equal((float)finding->symptoms[0].waste.share, 0.9, 0.02);
    assert_true(finding->symptoms[0].stall.direct > 0.7);
    /* Without a transformation that would help, it counts as next to nothing. */
    assert_float_equal((float)finding->direct, 0.5 * GAIN_INHERENT, 1e-4);
    assert_true(finding->low == 0 && finding->direct_high > 0.5 && finding->direct_high < 0.53);
    assert_int_equal(finding->ticks, HEAVY);
    end(&made);
}

/* Two of five accesses lose their lines, which are walked in order: of a nanosecond's accesses they take 0.4, less than half of the time that
   is spent there, so that the loop is busy with something else; of ten times as many accesses they take most of it. */
static void streams_hide_behind_arithmetic(void **state)
{
    struct fixture *fixture = *state;
    struct profile *profile = fixture->profile;
    struct made made;
    tick(profile, fixture->line11, HEAVY);
    add_reuse(fixture, 100000);
    profile->reuse_pairs[0].weight = profile->bins[0].weight = 4e5;
    make(fixture, &made);
    const struct gain_stall *stall = &made.list.items[0].symptoms[0].stall;
    assert_float_equal((float)stall->direct, 0.4 / 1.4, 0.02);
    assert_true(stall->streams == stall->direct);
    assert_true(made.list.items[0].direct == 0);
    end(&made);
    profile->paces[0] =
        (struct profile_pace){.process = 1, .accesses_per_ns = 20, .low = 10, .high = 40};
    make(fixture, &made);
    stall = &made.list.items[0].symptoms[0].stall;
    assert_float_equal((float)stall->streams, 4.0 / 5, 0.02);
    assert_float_equal((float)made.list.items[0].direct, stall->direct * GAIN_INHERENT, 1e-6);
    end(&made);
}

/* Lines 11 and 20 lose their data: without the one, the other need not wait. Line 10, in the loop of line 11, loses none. */
static void who_empties_caches_costs_others_time(void **state)
{
    struct fixture *fixture = *state;
    struct profile *profile = fixture->profile;
    double weight = 4e5, lines = 100000;
    struct made made;
    tick(profile, fixture->main, 4 * HEAVY);
    tick(profile, fixture->line10, HEAVY);
    tick(profile, fixture->line11, 3 * HEAVY);
    tick(profile, fixture->line20, 2 * HEAVY);
    add_reuse(fixture, lines);
    *profile_add_reuse_pairs(profile) = (struct profile_reuse_pair){
        fixture->line20, fixture->line20,       400, weight, weight * lines, weight * lines * lines,
        weight * lines,  weight * lines * lines};
    *profile_add_sampled(profile) =
        (struct profile_sampled){PROFILE_REUSE, fixture->line20, 1000, 1000, 1000};
    pair(profile, PROFILE_DEAD, fixture->line10, fixture->line10, 1000, 0);
    total(profile, PROFILE_DEAD);
    make(fixture, &made);
    assert_int_equal(made.list.strong, 3);
    for (size_t i = 0; i < made.list.strong; i++)
        if (line_of(fixture, &made.list, i) == 11)
            assert_float_equal((float)made.list.items[i].ceiling, 0.6, 1e-4);
        else if (line_of(fixture, &made.list, i) == 10)
            assert_float_equal((float)made.list.items[i].ceiling, 0.4, 1e-4);
    end(&made);
}

static void what_caches_hold_is_no_finding(void **state)
{
    struct fixture *fixture = *state;
    struct made made;
    tick(fixture->profile, fixture->line11, HEAVY);
    add_reuse(fixture, 400);
    make(fixture, &made);
    assert_int_equal(made.list.count, 0);
    end(&made);
}

static void of_nothing_nothing_is_gained(void **state)
{
    struct made made;
    make(*state, &made);
    assert_int_equal(made.list.count, 0);
    end(&made);
}

/* The same code, whose modules and frames have other numbers, under the exact engine: 30 of 100 bytes that line 10 stores
   are dead, by memset, and all of another module's line 11. */
static struct profile *make_exact(void)
{
    struct profile *exact = profile_new();
    exact->run = (struct profile_run){
        .verb = "waste", .engine = "exact", .weighting = "accesses", .cpu_s = -1, .system_s = -1};
    profile_add_modules(exact)->path = "/x/other";
    profile_add_modules(exact)->path = "/lib/x86_64-linux-gnu/libc.so.6";
    profile_add_modules(exact)->path = "/x/work";
    uint32_t other = add(exact, 0, "work", 11, 1, 200);
    uint32_t main = add(exact, 0, "main", 1, 3, 1), line10 = add(exact, main, "work", 10, 3, 104);
    uint32_t cleared = add(exact, line10, "memset", 0, 2, 400);
    pair(exact, PROFILE_DEAD, cleared, cleared, 30, 0);
    pair(exact, PROFILE_DEAD, cleared, line10, 0, 70);
    pair(exact, PROFILE_DEAD, other, other, 50, 0);
    total(exact, PROFILE_DEAD);
    return exact;
}

static void test_counts_are_attached(void **state)
{
    struct fixture *fixture = *state;
    struct made made;
    struct profile *exact = make_exact();
    tick(fixture->profile, fixture->memset, HEAVY);
    tick(fixture->profile, fixture->line11, HEAVY);
    pair(fixture->profile, PROFILE_DEAD, fixture->memset, fixture->memset, 2,
         0); /* two samples: weak */
    pair(fixture->profile, PROFILE_DEAD, fixture->line11, fixture->line11, 100, 0);
    total(fixture->profile, PROFILE_DEAD);
    assert_true(gain_attach(exact, fixture->profile));
    profile_free(exact);
    assert_int_equal(fixture->profile->counted_count, 1);
    const struct profile_counted *counted = &fixture->profile->counted[0];
    assert_int_equal(counted->kind, PROFILE_DEAD);
    assert_int_equal(fixture->profile->frames[counted->frame].line, 10);
    assert_true(counted->waste_bytes == 30 && counted->use_bytes == 70);

    make(fixture, &made);
    assert_int_equal(made.list.count, 2);
    for (size_t i = 0; i < made.list.count; i++) {
        const struct gain_finding *finding = &made.list.items[i];
        const struct gain_symptom *symptom = &finding->symptoms[0];
        bool ten = fixture->profile->frames[made.list.lines.frames[finding->line]].line == 10;
        assert_int_equal(symptom->counted, ten);
        assert_false(finding->weak);
        if (!ten)
            continue;
        assert_true(symptom->waste.share == 0.3 && symptom->waste.low == 0.3 &&
                    symptom->waste.high == 0.3);
        assert_float_equal(finding->direct, 0.5 * 0.3 * symptom->part, 1e-9);
    }
    end(&made);

    /* Again, in place of what there was. */
    exact = make_exact();
    assert_true(gain_attach(exact, fixture->profile));
    assert_int_equal(fixture->profile->counted_count, 1);
    profile_free(exact);
}

/* Under the exact engine every access of line 11 that uses something again misses L1, as far as samples say but nine in ten. */
static struct profile *make_distances(uint64_t followed_one_in)
{
    struct profile *exact = profile_new();
    exact->run = (struct profile_run){
        .verb = "reuse", .engine = "exact", .weighting = "accesses", .cpu_s = -1, .system_s = -1};
    profile_add_modules(exact)->path = "/x/work";
    struct fixture there = {.profile = exact};
    there.main = add(exact, 0, "main", 1, 1, 1);
    there.line11 = add(exact, there.main, "work", 11, 1, 204);
    add_reuse(&there, 100000);
    exact->paces_count = exact->sampled_count = exact->kinds_count = 0;
    exact->reuse_pairs[0].count = (uint64_t)9e5 / followed_one_in;
    return exact;
}

static void misses_are_attached(void **state)
{
    struct fixture *fixture = *state;
    struct made made;
    tick(fixture->profile, fixture->line11, HEAVY);
    add_reuse(fixture, 100000);
    fixture->profile->reuse_pairs[0].count = 2; /* weak */
    for (uint64_t one_in = 1; one_in <= 64; one_in += 63) {
        struct profile *exact = make_distances(one_in);
        assert_true(gain_attach_misses(exact, fixture->profile));
        profile_free(exact);
        assert_int_equal(fixture->profile->missed_count, 1);
        const struct profile_missed *row = &fixture->profile->missed[0];
        assert_int_equal(fixture->profile->frames[row->frame].line, 11);
        assert_true(row->bytes == 32768 && row->accesses == 9e5 && row->whole == 1e6);
        assert_float_equal((float)(row->missing / row->accesses), 1, 1e-6);

        make(fixture, &made);
        assert_int_equal(made.list.count, 1);
        const struct gain_finding *finding = &made.list.items[0];
        const struct gain_symptom *symptom = &finding->symptoms[0];
        assert_true(symptom->counted && !finding->weak && symptom->one_in == one_in);
        assert_true(symptom->waste.share == 1 && symptom->waste.low == 1);
        end(&made);
    }
    /* Of caches that the machine of the samples has not, nothing is known. */
    fixture->profile->missed[0].bytes++;
    make(fixture, &made);
    assert_true(!made.list.items[0].symptoms[0].counted && made.list.items[0].weak);
    end(&made);
}

/* Samples met 40 times on a line that line 11 writes in two threads, which takes 40 % of the CPU time; once on another one. */
static void sharing_that_was_sampled_bounds_what_is_gained(void **state)
{
    struct fixture *fixture = *state;
    struct profile *profile = fixture->profile;
    struct made made;
    tick(profile, fixture->line11, 3 * HEAVY);
    tick(profile, fixture->main, HEAVY);
    profile->run.cpu_s = 10;
    double all_ns = profile->run.cpu_s * 1e9;
    *profile_add_shared_watches(profile) =
        (struct profile_shared_watch){.samples = 1000, .met = 41};
    *profile_add_shared_runs(profile) =
        (struct profile_shared_run){.threads = 2, .false_transfers = 41};
    for (uint32_t i = 0; i < 2; i++) {
        double weight = i ? 1 : 40;
        *profile_add_shared_lines(profile) =
            (struct profile_shared_line){.object = PROFILE_OBJECT_GLOBAL,
                                         .name = i ? "rare" : "counters",
                                         .false_transfers = weight};
        *profile_add_shared_pairs(profile) =
            (struct profile_shared_pair){.line = i,
                                         .first = i ? fixture->line20 : fixture->line11,
                                         .second = i ? fixture->line20 : fixture->line11,
                                         .first_kind = 2,
                                         .second_kind = 2,
                                         .first_mask = 0xff,
                                         .second_mask = 0xff00,
                                         .transfers = weight};
        *profile_add_shared_seens(profile) =
            (struct profile_shared_seen){.line = i,
                                         .samples = i ? 20 : 400,
                                         .cpu_ns = (i ? 0.02 : 0.4) * all_ns,
                                         .false_traps = (uint64_t)weight,
                                         .false_squares = weight};
    }
    make(fixture, &made);
    assert_int_equal(made.list.count, 1); /* once may be luck */
    const struct gain_finding *finding = &made.list.items[0];
    const struct gain_symptom *symptom = &finding->symptoms[0];
    assert_int_equal(line_of(fixture, &made.list, 0), 11);
    assert_string_equal(symptom->kind, "sharing");
    assert_string_equal(symptom->what, "false sharing");
    assert_string_equal(symptom->object.text, "counters");
    assert_string_equal(symptom->object.class, "false");
    assert_true(!symptom->counted && symptom->seen == 40);
    double user = gain_user_share(profile);
    assert_float_equal((float)finding->direct, 0.2F, 1e-3);
    assert_true(finding->low == 0 && finding->direct_low == 0);
    assert_true(finding->direct_high > 0.4 && finding->direct_high < 0.46);
    assert_true(finding->ceiling > 0.4 && finding->ceiling < 0.46 && user > 0);
    assert_string_equal(symptom->advice.id, "sharing.apart");
    end(&made);

    /* A library's code, called there, and memory of its own: nobody can pad that. The same code and a variable of the program: that can be. */
    profile_add_modules(profile)->path = "/lib/x86_64-linux-gnu/libgomp.so.1";
    uint32_t inside = add(profile, fixture->line11, "GOMP_parallel", 0,
                          (uint32_t)profile->modules_count - 1, 900);
    profile->shared_pairs[0].first = profile->shared_pairs[0].second = inside;
    make(fixture, &made);
    assert_string_equal(made.list.items[0].symptoms[0].advice.id, "sharing.apart");
    end(&made);
    profile->shared_lines[0].object = PROFILE_OBJECT_THREAD;
    make(fixture, &made);
    assert_int_equal(line_of(fixture, &made.list, 0), 11);
    assert_string_equal(made.list.items[0].symptoms[0].advice.id, "sharing.runtime");
    end(&made);

    profile->shared_lines[0].object = PROFILE_OBJECT_HEAP;
    profile->frames[profile->contexts[inside].frame].function = "___pthread_mutex_lock";
    make(fixture, &made); /* two locks, a thread each: they can be kept apart */
    assert_string_equal(made.list.items[0].symptoms[0].advice.id, "sharing.blocks");
    end(&made);
    /* Half of it the same word: one lock. */
    *profile_add_shared_pairs(profile) = profile->shared_pairs[0];
    struct profile_shared_pair *same = &profile->shared_pairs[profile->shared_pairs_count - 1];
    same->is_true = 1;
    same->second_mask = same->first_mask;
    profile->shared_lines[0].true_transfers = profile->shared_lines[0].false_transfers;
    make(fixture, &made);
    assert_string_equal(made.list.items[0].symptoms[0].advice.id, "sharing.library-lock");
    assert_string_equal(made.list.items[0].symptoms[0].what, "true sharing");
    end(&made);
    profile->shared_lines[0].true_transfers = 0;
    profile->shared_pairs_count--;
    profile->shared_pairs[0].second = fixture->line11;
    make(fixture, &made);
    assert_string_equal(made.list.items[0].symptoms[0].advice.id, "sharing.blocks");
    end(&made);
}

/* Two threads write two words of one line: 900 transfers between line 11 and the like at another line, 80, of 1000 in all; the
   hundred others are between other lines of code. */
static struct profile *make_transfers(void)
{
    struct profile *exact = profile_new();
    exact->run = (struct profile_run){
        .verb = "sharing", .engine = "exact", .weighting = "accesses", .cpu_s = -1, .system_s = -1};
    profile_add_modules(exact)->path = "/x/work";
    uint32_t main = add(exact, 0, "main", 1, 1, 1);
    uint32_t line11 = add(exact, main, "work", 11, 1, 204);
    uint32_t line80 = add(exact, main, "other", 80, 1, 800);
    *profile_add_shared_runs(exact) = (struct profile_shared_run){.process = 0,
                                                                  .threads = 3,
                                                                  .instructions = 100000,
                                                                  .false_transfers = 1000,
                                                                  .unlisted = 100};
    *profile_add_shared_lines(exact) = (struct profile_shared_line){
        .object = PROFILE_OBJECT_GLOBAL, .name = "words", .size = 16, .false_transfers = 900};
    *profile_add_shared_pairs(exact) = (struct profile_shared_pair){.first = line11,
                                                                    .second = line80,
                                                                    .first_kind = 2,
                                                                    .second_kind = 2,
                                                                    .first_mask = 0xff,
                                                                    .second_mask = 0xff00,
                                                                    .transfers = 450};
    *profile_add_shared_pairs(exact) = (struct profile_shared_pair){.first = line80,
                                                                    .second = line11,
                                                                    .first_kind = 2,
                                                                    .second_kind = 2,
                                                                    .first_mask = 0xff00,
                                                                    .second_mask = 0xff,
                                                                    .transfers = 450};
    return exact;
}

static void transfers_are_attached(void **state)
{
    struct fixture *fixture = *state;
    struct made made;
    tick(fixture->profile, fixture->line11, 3 * HEAVY);
    tick(fixture->profile, fixture->main, HEAVY);
    for (int again = 0; again < 2; again++) {
        struct profile *exact = make_transfers();
        assert_true(gain_attach_transfers(exact, fixture->profile));
        profile_free(exact);
    }
    assert_int_equal(fixture->profile->transfers_count, 1);
    const struct profile_transfer *row = &fixture->profile->transfers[0];
    const struct profile_context *first = &fixture->profile->contexts[row->first];
    assert_int_equal(fixture->profile->frames[first->frame].address, 204);
    assert_int_equal(first->parent, fixture->main); /* as the one that has time is called */
    const struct profile_context *second = &fixture->profile->contexts[row->second];
    assert_int_equal(fixture->profile->frames[second->frame].line, 80);
    assert_int_equal(second->parent, 0); /* unknown before: without its callers */
    assert_string_equal(row->object, "words");
    assert_string_equal(row->cause, "sharing.apart");
    assert_true(row->transfers == 900 && row->whole == 1000 && row->instructions == 100000);

    make(fixture, &made);
    assert_int_equal(made.list.count, 2);
    const struct gain_finding *finding = &made.list.items[0];
    const struct gain_symptom *symptom = &finding->symptoms[0];
    assert_int_equal(line_of(fixture, &made.list, 0), 11);
    assert_string_equal(symptom->kind, "sharing");
    assert_string_equal(symptom->what, "false sharing");
    assert_true(symptom->counted && symptom->first == row->first && symptom->second == row->second);
    assert_float_equal((float)symptom->waste.share, 0.45F, 1e-6);
    /* 450 × 100 of 100,000 + 1000 × 100 instructions; at most all of the line's time, at least nothing. */
    assert_float_equal((float)finding->direct, 0.225F, 1e-6);
    assert_true(finding->low == 0 && finding->direct_low == 0 && finding->direct_high > 0.75);
    assert_true(made.list.items[1].weak); /* no tick met the other line */
    end(&made);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(gains_are_time_times_waste, setup, teardown),
        cmocka_unit_test_setup_teardown(one_line_is_one_finding, setup, teardown),
        cmocka_unit_test_setup_teardown(lower_ends_are_of_wasted_instructions, setup, teardown),
        cmocka_unit_test_setup_teardown(lower_ends_are_of_work_that_can_go, setup, teardown),
        cmocka_unit_test_setup_teardown(the_middle_ranks, setup, teardown),
        cmocka_unit_test_setup_teardown(one_access_goes, setup, teardown),
        cmocka_unit_test_setup_teardown(what_is_about_equal_does_not_lead, setup, teardown),
        cmocka_unit_test_setup_teardown(little_is_slight, setup, teardown),
        cmocka_unit_test_setup_teardown(ceilings_are_around_the_access, setup, teardown),
        cmocka_unit_test_setup_teardown(ticks_behind_an_access_are_its, setup, teardown),
        cmocka_unit_test_setup_teardown(what_algorithms_need_does_not_lead, setup, teardown),
        cmocka_unit_test_setup_teardown(waiting_for_others_may_save_nothing, setup, teardown),
        cmocka_unit_test_setup_teardown(calls_are_needed_unless_they_format, setup, teardown),
        cmocka_unit_test_setup_teardown(lines_of_one_cause_stand_together, setup, teardown),
        cmocka_unit_test_setup_teardown(parts_of_a_line_go_by_what_they_are, setup, teardown),
        cmocka_unit_test_setup_teardown(what_is_needed_is_slight, setup, teardown),
        cmocka_unit_test_setup_teardown(what_a_library_copies_inside_is_its_own, setup, teardown),
        cmocka_unit_test_setup_teardown(functions_that_are_only_called, setup, teardown),
        cmocka_unit_test_setup_teardown(code_without_optimization_is_compiled_first, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(weak_ones_come_last, setup, teardown),
        cmocka_unit_test_setup_teardown(the_kernel_has_its_part, setup, teardown),
        cmocka_unit_test(waits_follow_from_misses),
        cmocka_unit_test_setup_teardown(latencies_are_the_machines, setup, teardown),
        cmocka_unit_test_setup_teardown(waits_are_bounded_by_the_time_there, setup, teardown),
        cmocka_unit_test_setup_teardown(streams_hide_behind_arithmetic, setup, teardown),
        cmocka_unit_test_setup_teardown(who_empties_caches_costs_others_time, setup, teardown),
        cmocka_unit_test_setup_teardown(what_caches_hold_is_no_finding, setup, teardown),
        cmocka_unit_test_setup_teardown(of_nothing_nothing_is_gained, setup, teardown),
        cmocka_unit_test_setup_teardown(test_counts_are_attached, setup, teardown),
        cmocka_unit_test_setup_teardown(misses_are_attached, setup, teardown),
        cmocka_unit_test_setup_teardown(transfers_are_attached, setup, teardown),
        cmocka_unit_test_setup_teardown(sharing_that_was_sampled_bounds_what_is_gained, setup,
                                        teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
