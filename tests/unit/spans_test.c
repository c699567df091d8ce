// SPDX-License-Identifier: MIT
/*
 * Spans, from the region to the report: regions small enough to work everything out by hand. The
 * symbols are those of a program that does not exist, by the binary_* functions here and in
 * no_code.h.
 */
#include "no_code.h"
#include "spans_fixture.h"
#include "import/import.h"
#include "profile/profile.h"
#include "show/report.h"

#include <setjmp.h>
#include <stdarg.h>
#include <jansson.h>
#include <math.h>
#include <cmocka.h>

/* ---- a program's symbols -------------------------------------------------------------------- */

struct binary {
    int nothing;
};

enum base_status binary_open(const char *path, const struct binary_options *options,
                             struct binary **binary)
{
    static struct binary only;
    *binary = &only;
    return strcmp(path, "/bin/prog") == 0 ? BASE_OK : BASE_NOT_FOUND;
}

size_t binary_build_id(const struct binary *binary, uint8_t id[BINARY_BUILD_ID_BYTES])
{
    return 0;
}

/* 0x11000: main; 0x12000: work; 0x13000: leaf. A line a byte. */
size_t binary_frames(struct binary *binary, uint64_t vaddr, struct binary_frame *frames,
                     size_t capacity)
{
    static const char *const names[] = {"main", "work", "leaf"};
    if (vaddr < 0x11000 || vaddr >= 0x14000)
        return 0;
    const char *name = names[(vaddr >> 12) - 0x11];
    frames[0] = (struct binary_frame){name, name, "/no/such/prog.c", (uint32_t)(vaddr & 0xfff), 1,
                                      0,    false};
    return 1;
}

char *binary_demangle(const char *linkage, bool parameters)
{
    return strcmp(linkage, "_Z4spunv") == 0 ? strdup("spun") : NULL;
}

/* ---- helpers ----------------------------------------------------------------------------------
 */

static struct profile *import_and_read(struct fixture *fixture, const struct import_skip *skips,
                                       size_t skips_count)
{
    char error[512] = "";
    char *command[] = {"./prog", NULL};
    struct import_run run = {.verb = "interference",
                             .engine = "live",
                             .command = command,
                             .exited = true,
                             .wall_s = 10,
                             .cpu_s = 15};
    struct binary_options symbols = {0};
    struct profile *profile = NULL;
    enum base_status status =
        import_spans(fixture->log_path, fixture->file, &run, skips, skips_count, &symbols,
                     fixture->profile_path, NULL, NULL, error, sizeof error);
    if (status != BASE_OK)
        print_error("%s\n", error);
    assert_int_equal(status, BASE_OK);
    status = profile_read(fixture->profile_path, &profile, error, sizeof error);
    if (status != BASE_OK)
        print_error("%s\n", error);
    assert_int_equal(status, BASE_OK);
    return profile;
}

static char *report(struct profile *profile, const struct report_options *options, bool json)
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *out = open_memstream(&text, &bytes);
    assert_int_equal((json ? report_json : report_text)(profile, options, out), BASE_OK);
    fclose(out);
    return text;
}

static json_t *report_object(struct profile *profile, const struct report_options *options)
{
    json_error_t error;
    char *text = report(profile, options, true);
    json_t *root = json_loads(text, JSON_REJECT_DUPLICATES, &error);
    if (!root)
        print_error("%s: %s\n", error.text, text);
    assert_non_null(root);
    free(text);
    return root;
}

static const json_t *span_of(const json_t *root, const char *list, const char *function)
{
    const json_t *spans = json_object_get(json_object_get(root, "interference"), list);
    for (size_t i = 0; i < json_array_size(spans); i++) {
        const json_t *span = json_array_get(spans, i);
        if (strcmp(json_string_value(json_object_get(span, "function")), function) == 0)
            return span;
    }
    return NULL;
}

static double number(const json_t *object, const char *name)
{
    const json_t *value = json_object_get(object, name);
    if (!json_is_number(value))
        print_error("no number '%s'\n", name);
    assert_true(json_is_number(value));
    return json_number_value(value);
}

static void equal(double value, double expected)
{
    if (fabs(value - expected) > 1e-6 * (1 + fabs(expected)))
        print_error("%.12g instead of %.12g\n", value, expected);
    assert_true(fabs(value - expected) <= 1e-6 * (1 + fabs(expected)));
}

static bool is_degraded(const struct profile *profile, const char *part)
{
    for (size_t i = 0; i < profile->degraded_count; i++)
        if (strstr(profile->degraded[i].text, part))
            return true;
    return false;
}

/*
 * main (10 s) and a worker (8 s) contend for a lock: each takes it 10,000 times in 50 ns and 10,000
 * times in 100 µs: lost 999.5 ms a thread. Which of them work calls, 1000 times with 500 µs more
 * each on its own for both threads. A leaf whose duration is its argument. An epoll_wait, a barrier
 * that was waited for too rarely.
 */
enum { LOCK = 1, WORK, LEAF, POLL, BARRIER };
#define KEY UINT64_C(0x7f0012345678)

static void contend(struct fixture *fixture, struct spans_thread *thread, uint32_t log_thread)
{
    struct spans_span *span = fixture_span(thread, LOCK, KEY, 0);
    fixture_run(span, 10000, 100, 1);
    fixture_run(span, 10000, 200000, 1);
    span->asleep = 10000 * 180000;
    span->sleeps = 10000;
    span->stacks_count = 1;
    span->stacks[0] = (struct spans_stack){log_thread, 2, 3, 1999000};
    span->holders[0] = (struct spans_holder){0x500000 + 0x1050, 9000, 1900000000};
    span->holders[1] = (struct spans_holder){0, 1000, 100000000};
}

static void begin(struct fixture *fixture)
{
    *fixture = (struct fixture){0};
    fixture_region(fixture);
    fixture_log(fixture);
    fixture_function(fixture, "pthread_mutex_lock", SPANS_LOCK, SPANS_IMPORT, SPANS_KEY_VALUE, 0);
    fixture_function(fixture, "work", SPANS_CODE, SPANS_PATCHED, 0, 0x12000);
    fixture_function(fixture, "leaf", SPANS_CODE, SPANS_PATCHED, 0, 0x13000);
    fixture_function(fixture, "epoll_wait", SPANS_IDLE, SPANS_IMPORT, 0, 0);
    fixture_function(fixture, "pthread_barrier_wait", SPANS_BARRIER, SPANS_IMPORT, 0, 0);
}

static void two_threads(struct fixture *fixture)
{
    begin(fixture);
    struct fixture_writer writers[2] = {fixture_writer(fixture, 1, 40, "prog"),
                                        fixture_writer(fixture, 1, 41, "worker")};
    fixture_process(&writers[0]);
    for (int i = 0; i < 2; i++) {
        fixture_node(&writers[i], 1, 0, 0x11028);
        fixture_node(&writers[i], 2, 1, 0x1202a);
        fixture_end(fixture, &writers[i]);
    }
    struct spans_thread *main_thread = fixture_thread(fixture, 1, 40, FIXTURE_TICKS);
    struct spans_thread *worker = fixture_thread(fixture, 1, 0, FIXTURE_TICKS / 10 * 8);
    contend(fixture, main_thread, writers[0].writer.thread);
    contend(fixture, worker, writers[1].writer.thread);
    struct spans_span *leaf = fixture_span(worker, LEAF, 0, 0);
    for (uint64_t i = 0; i < 40; i++)
        fixture_run(leaf, 100, 2000 + 1000 * (i % 10), i % 10);
    struct spans_span *poll = fixture_span(main_thread, POLL, 0, 0);
    fixture_run(poll, 5, 800000000, 1);
    struct spans_span *barrier = fixture_span(worker, BARRIER, 0, 0);
    fixture_run(barrier, 999, 100, 1);
    main_thread->events = worker->events = 20000;
    main_thread->cost_ticks = 4000000;
    worker->preempted = 1000000;
}

/* ---- import -------------------------------------------------------------------------------------
 */

static void spans_are_merged_over_threads(void **state)
{
    struct fixture fixture;
    two_threads(&fixture);
    struct profile *profile = import_and_read(&fixture, NULL, 0);
    assert_string_equal(profile->run.verb, "interference");
    assert_int_equal(profile->spans_count, 4);
    assert_int_equal(profile->span_functions_count, 6);
    assert_int_equal(profile->span_threads_count, 2);
    equal(profile->span_runs[0].ns_per_tick, 0.5);
    equal(profile->span_threads[0].duration_ns, 10e9);
    equal(profile->span_threads[1].duration_ns, 8e9);
    equal(profile->span_threads[0].cost_ns, 2e6);
    assert_string_equal(profile->span_threads[0].name, "prog");
    assert_string_equal(profile->span_threads[1].name, "worker"); /* by its stacks */
    const struct profile_span *lock = &profile->spans[0];
    assert_string_equal(profile->span_functions[lock->function].function, "pthread_mutex_lock");
    assert_true(lock->key == KEY);
    assert_int_equal(profile->span_parts_count, 5);
    for (size_t i = 0; i < 2; i++) {
        const struct profile_span_part *part = &profile->span_parts[i];
        assert_true(part->span == 0 && part->thread == i && part->recorded == 20000);
        equal(part->sum_ns, 10000 * 50.0 + 10000 * 1e5);
        equal(part->min_ns, 50);
    }
    assert_false(is_degraded(profile, "no sense"));
    assert_int_equal(profile->run.corrupt_records, 0);
    profile_free(profile);
    fixture_free(&fixture);
}

static void places_are_named(void **state)
{
    struct fixture fixture;
    two_threads(&fixture);
    const struct import_skip skips[] = {{"_Z4spunv", "/bin/prog", "its entry is a jump"}};
    struct profile *profile = import_and_read(&fixture, skips, 1);
    /* Both threads' stacks are the same context. */
    assert_int_equal(profile->span_stacks_count, 1);
    assert_int_equal(profile->span_stacks[0].taken, 6);
    uint32_t context = profile->span_stacks[0].context;
    const struct profile_frame *frame = &profile->frames[profile->contexts[context].frame];
    assert_string_equal(frame->function, "work");
    assert_int_equal(frame->line, 0x29); /* of the call, not of the return address */
    frame = &profile->frames[profile->contexts[profile->contexts[context].parent].frame];
    assert_string_equal(frame->function, "main");
    assert_int_equal(profile->span_holders_count, 2);
    frame = &profile->frames[profile->contexts[profile->span_holders[0].context].frame];
    assert_string_equal(frame->function, "main");
    assert_int_equal(frame->line, 0x4f);
    equal(profile->span_holders[0].waited_ns, 1.9e9);
    assert_int_equal(profile->span_holders[0].times, 18000);
    assert_int_equal(profile->span_holders[1].context, 0);
    const struct profile_span_function *leaf = &profile->span_functions[profile->spans[2].function];
    assert_string_equal(leaf->function, "leaf");
    assert_string_equal(leaf->file, "/no/such/prog.c");
    assert_string_equal(profile->span_skips[0].function, "spun");
    assert_string_equal(profile->span_skips[0].why, "its entry is a jump");
    profile_free(profile);
    fixture_free(&fixture);
}

static bool has_leaf(uint32_t often)
{
    struct fixture fixture;
    two_threads(&fixture);
    fixture.region->function[LEAF].often = often;
    struct profile *profile = import_and_read(&fixture, NULL, 0);
    bool found = false;
    for (size_t i = 0; i < profile->spans_count; i++)
        found |= profile->spans[i].function == LEAF;
    profile_free(profile);
    fixture_free(&fixture);
    return found;
}

/* What was timed until its hook was taken away is no part of a whole run. */
static void what_was_unhooked_is_left_out(void **state)
{
    assert_true(has_leaf(SPANS_OFTEN_NOT));
    assert_true(has_leaf(SPANS_OFTEN));
    assert_false(has_leaf(SPANS_OFTEN_UNHOOKED));
}

static void processes_are_merged(void **state)
{
    struct fixture fixture;
    begin(&fixture);
    for (uint32_t process = 1; process <= 2; process++) {
        struct fixture_writer writer = fixture_writer(&fixture, process, 40, "prog");
        fixture_process(&writer);
        fixture_end(&fixture, &writer);
        struct spans_thread *thread = fixture_thread(&fixture, process, 0, FIXTURE_TICKS);
        fixture_run(fixture_span(thread, LOCK, KEY, 0), 1000 * process, 100 * process, 0);
        fixture_run(fixture_span(thread, LOCK, KEY + process, 0), 7, 100, 0);
        fixture_run(fixture_span(thread, LOCK, KEY, 5), 8, 100, 0);
    }
    struct profile *profile = import_and_read(&fixture, NULL, 0);
    assert_int_equal(profile->spans_count, 4); /* key, two other keys, other shape */
    assert_int_equal(profile->span_parts_count, 6);
    assert_int_equal(profile->span_parts[0].count + profile->span_parts[1].count, 3000);
    profile_free(profile);
    fixture_free(&fixture);
}

/* ---- damage -------------------------------------------------------------------------------------
 */

/* What a thread leaves that is killed between two stores: out of step by one execution, and that is
 * put right. */
static void torn_spans_are_put_right(void **state)
{
    struct fixture fixture;
    two_threads(&fixture);
    struct spans_thread *thread = fixture_thread(&fixture, 1, 0, FIXTURE_TICKS);
    struct spans_span *span = fixture_span(thread, WORK, 0, 0);
    fixture_run(span, 2000, 100, 0);
    span->recorded++; /* counted, not added up yet; not in count either */
    struct spans_span *fresh = fixture_span(thread, WORK, 1, 0);
    fresh->skipped = 3; /* let pass, none recorded: min is still the largest */
    struct profile *profile = import_and_read(&fixture, NULL, 0);
    assert_int_equal(profile->run.corrupt_records, 0);
    bool found = false;
    for (size_t i = 0; i < profile->span_parts_count; i++) {
        const struct profile_span_part *part = &profile->span_parts[i];
        assert_true(part->min_ns * (double)part->recorded <= part->sum_ns * (1 + 1e-9));
        found |= part->recorded == 2001 && part->count == 2001;
    }
    assert_true(found);
    struct report_options options = {0};
    json_decref(report_object(profile, &options));
    profile_free(profile);
    fixture_free(&fixture);
}

/* A thread that executed nothing that is hooked, ended; and one that lives on. Their CPU times are all of it. */
static void all_threads_have_their_cpu_time(void **state)
{
    struct fixture fixture;
    two_threads(&fixture);
    struct spans_thread *ended = fixture_thread(&fixture, 1, 0, FIXTURE_TICKS / 10 * 3);
    struct spans_thread *lives = fixture_thread(&fixture, 1, 43, FIXTURE_TICKS / 2);
    ended->tid = 42;
    memcpy(ended->name, "sixteen letters!", SPANS_THREAD_NAME); /* without its NUL */
    ended->cpu_ns = 2900000000;
    ended->cpu_now_ns = 1000000000; /* of nobody */
    lives->cpu_now_ns = 4000000000;
    struct profile *profile = import_and_read(&fixture, NULL, 0);
    assert_int_equal(profile->span_threads_count, 4);
    assert_int_equal(profile->run.threads, 4);
    assert_int_equal(profile->span_cpus_count, 4);
    equal(profile->span_cpus[2].cpu_ns, 2.9e9);
    equal(profile->span_cpus[3].cpu_ns, 4e9);
    assert_int_equal(profile->span_threads[2].tid, 42);
    assert_string_equal(profile->span_threads[2].name, "sixteen letters!");
    struct report_options options = {0};
    char *text = report(profile, &options, false);
    const char *first = strstr(text, "100 % of the CPU time lies in ");
    assert_non_null(first);
    assert_true(first < strstr(text, "As far as that can be judged, the threads lost"));
    free(text);
    profile_free(profile);
    fixture_free(&fixture);
}

/* ---- loops, from samples ----------------------------------------------------------------------- */

/* A thread of 4 s of CPU time, half of whose samples are in the loop: half of its windows slow, by three times. */
static struct spans_loop *one_loop(struct fixture *fixture, const char *function)
{
    two_threads(fixture);
    struct spans_thread *thread = fixture_thread(fixture, 1, 0, FIXTURE_TICKS / 2);
    thread->tid = 42;
    thread->cpu_ns = 4000000000;
    struct spans_loops *loops = (void *)(fixture->bytes + fixture->region->next);
    loops->piece.bytes = (sizeof *loops + SPANS_PAGE - 1) / SPANS_PAGE * SPANS_PAGE;
    fixture->region->next += loops->piece.bytes;
    fixture_require(fixture->region->next <= FIXTURE_BYTES);
    loops->threads = 2;
    loops->loops = 1;
    loops->sampled[1] = (struct spans_sampled){1, 42, 1000000000};
    struct spans_loop *loop = &loops->loop[0];
    *loop = (struct spans_loop){.thread = 1, .windows = 8, .ns = 500000000, .forward = 100};
    loop->span.function = fixture_function(fixture, function, SPANS_CODE, SPANS_LOOP, 0, 0x11028);
    loop->span.min = UINT64_MAX;
    fixture_run(&loop->span, 1000, 1000, 0);
    fixture_run(&loop->span, 1000, 3000, 0);
    loops->piece.kind = SPANS_PIECE_LOOPS;
    return loop;
}

static void loops_stand_for_their_share_of_cpu_time(void **state)
{
    struct fixture fixture;
    struct spans_loop *loop = one_loop(&fixture, "spin");
    loop->backward = 1;
    struct profile *profile = import_and_read(&fixture, NULL, 0);
    assert_int_equal(profile->run.corrupt_records, 0);
    assert_int_equal(profile->spans_count, 5);
    bool found = false;
    for (size_t i = 0; i < profile->span_parts_count; i++) {
        const struct profile_span_part *part = &profile->span_parts[i];
        if (part->thread != 2)
            continue;
        found = true;
        assert_int_equal(part->recorded, 2000);
        assert_int_equal(part->count, 2000000);
        equal(part->sum_ns, 2000 * 1000.0); /* of the recorded */
        equal(part->min_ns, 500);
    }
    assert_true(found);
    struct report_options options = {0};
    char *text = report(profile, &options, false);
    assert_non_null(strstr(text, "loop in main  prog.c:40")); /* by what is at its head */
    assert_non_null(strstr(text, "2 s in 1 thread; not hooked"));
    assert_non_null(strstr(text, "2.00 times as long"));
    free(text);
    profile_free(profile);
    fixture_free(&fixture);
}

/* Begun anew too often; too few windows; timed by a hook, which says more; of a thread that is not known. */
static void loops_that_show_nothing_are_left_out(void **state)
{
    for (int i = 0; i < 4; i++) {
        struct fixture fixture;
        struct spans_loop *loop = one_loop(&fixture, i == 2 ? "leaf" : "spin");
        loop->backward = i == 0 ? 2 : 0;
        loop->windows = i == 1 ? 7 : 8;
        loop->thread = i == 3 ? 0 : 1;
        struct profile *profile = import_and_read(&fixture, NULL, 0);
        assert_int_equal(profile->spans_count, 4);
        assert_int_equal(profile->run.corrupt_records, 0);
        profile_free(profile);
        fixture_free(&fixture);
    }
}

static void damaged_loops_are_noticed(void **state)
{
    for (int i = 0; i < 4; i++) {
        struct fixture fixture;
        struct spans_loop *loop = one_loop(&fixture, "spin");
        if (i == 0)
            loop->thread = UINT32_MAX;
        else if (i == 1)
            loop->span.function = WORK;
        else if (i == 2)
            loop->span.function = UINT32_MAX;
        else
            loop->span.shape = 1;
        struct profile *profile = import_and_read(&fixture, NULL, 0);
        assert_int_equal(profile->spans_count, 4);
        assert_true(is_degraded(profile, "make no sense"));
        profile_free(profile);
        fixture_free(&fixture);
    }
}

/* All of its executions were preempted, so none is the fastest: the mean is, until another thread has one. */
static void what_was_preempted_is_no_minimum(void **state)
{
    struct fixture fixture;
    two_threads(&fixture);
    struct spans_thread *thread = fixture_thread(&fixture, 1, 0, FIXTURE_TICKS);
    struct spans_span *span = fixture_span(thread, LEAF, 5, 0);
    fixture_run(span, 10, 3000, 0);
    span->min = UINT64_MAX;
    span->asleep = 2000;
    span->asleep_within = 5000; /* more than it slept */
    span->within = 10000;
    struct profile *profile = import_and_read(&fixture, NULL, 0);
    const struct profile_span_part *part = &profile->span_parts[profile->span_parts_count - 1];
    assert_int_equal(part->recorded, 10);
    equal(part->min_ns, 1500);
    assert_true(profile->spans[part->span].max_ns < 2000);
    assert_int_equal(profile->span_sleeps_count, 1);
    equal(profile->span_sleeps[0].within_ns, 1000);
    profile_free(profile);
    fixture_free(&fixture);
}

/* Callers: of a few stacks no shares, of stacks without a slow execution none of the loss. */
static void callers_have_shares_if_there_are_any(void **state)
{
    static const struct {
        uint64_t taken, lost;
        const char *says, *does_not;
    } rows[] = {{2, 0, "2 of 4 calls sampled", "% of the loss and"},
                {2, 500, "2 of 4 calls sampled", "% of the loss and"},
                {20, 0, "50 % of the calls sampled", "% of the loss and"},
                {20, 500, "50 % of the loss and 50 % of the calls sampled", "of 40 calls"}};
    for (size_t i = 0; i < BASE_COUNT(rows); i++) {
        struct fixture fixture;
        two_threads(&fixture);
        struct profile *profile = import_and_read(&fixture, NULL, 0);
        uint32_t context = profile->span_stacks[0].context;
        profile->span_stacks[0].taken = rows[i].taken;
        profile->span_stacks[0].lost_ns = (double)rows[i].lost;
        *profile_add_span_stacks(profile) = (struct profile_span_stack){
            0, profile->contexts[context].parent, rows[i].taken, (double)rows[i].lost};
        struct report_options options = {.width = 160};
        char *text = report(profile, &options, false);
        assert_non_null(strstr(text, rows[i].says));
        assert_null(strstr(text, rows[i].does_not));
        free(text);
        profile_free(profile);
        fixture_free(&fixture);
    }
}

/* Each must be noticed, leave the other thread's spans alone, and go through the reports. */
static void nonsense_is_left_out(void **state)
{
    static const struct {
        size_t offset, bytes;
        uint64_t value;
    } plants[] = {
#define PLANT(member, value)                                                                       \
    {offsetof(struct spans_span, member), sizeof((struct spans_span *)0)->member, value}
        PLANT(function, 0),
        PLANT(function, 6),
        PLANT(function, 1024),
        PLANT(function, UINT32_MAX),
        PLANT(flags, SPANS_SEQUENCE), /* of a function */
        PLANT(flags, 8),
        PLANT(skipped, UINT64_MAX),
        PLANT(recorded, UINT64_MAX),
        PLANT(sum, UINT64_MAX - 100), /* less than nothing */
        PLANT(max, UINT64_MAX),
        PLANT(within, UINT64_MAX),
        PLANT(preempted, UINT64_MAX),
        PLANT(asleep, UINT64_MAX),
        PLANT(sleeps, UINT64_MAX),
#undef PLANT
    };
    for (size_t i = 0; i < BASE_COUNT(plants); i++) {
        struct fixture fixture;
        two_threads(&fixture);
        struct spans_thread *thread = fixture_thread(&fixture, 1, 0, FIXTURE_TICKS);
        struct spans_span *span = fixture_span(thread, WORK, 0, 0);
        fixture_run(span, 2000, 100, 0);
        memcpy((char *)span + plants[i].offset, &plants[i].value, plants[i].bytes);
        struct profile *profile = import_and_read(&fixture, NULL, 0);
        if (profile->spans_count != 4 || !is_degraded(profile, "make no sense"))
            print_error("plant %zu was not noticed\n", i);
        assert_int_equal(profile->spans_count, 4);
        assert_true(is_degraded(profile, "make no sense"));
        struct report_options options = {0};
        json_decref(report_object(profile, &options));
        free(report(profile, &options, false));
        profile_free(profile);
        fixture_free(&fixture);
    }
}

/* Counts of parts that do not fit, addresses and contexts that are not there. */
static void parts_of_spans_are_bounded(void **state)
{
    struct fixture fixture;
    two_threads(&fixture);
    struct spans_thread *thread = fixture_thread(&fixture, 1, 0, FIXTURE_TICKS);
    struct spans_span *span = fixture_span(thread, WORK, 0, 77);
    fixture_run(span, 2000, 100, 0);
    span->children_count = span->stacks_count = span->samples_count = UINT32_MAX;
    span->children[0] = (struct spans_child){LEAF, 3, 0};
    span->children[1] = (struct spans_child){1023, 3, 0};
    span->stacks[0] = (struct spans_stack){99, 99, 1, 1};
    span->stacks[1] = (struct spans_stack){1, 2, UINT64_MAX, 1};
    span->holders[0] = (struct spans_holder){UINT64_MAX, 1, 1};
    span->holders[1] = (struct spans_holder){1, UINT64_MAX, 1};
    span->samples[5].ticks = UINT64_MAX;
    thread->spans = UINT32_MAX;
    struct profile *profile = import_and_read(&fixture, NULL, 0);
    assert_true(is_degraded(profile, "make no sense"));
    assert_int_equal(profile->spans_count, 5);
    assert_int_equal(profile->span_children_count, 1);
    assert_int_equal(profile->span_stacks_count, 1);
    assert_int_equal(profile->span_samples_count, 2 * 8 + 48 + SPANS_SAMPLES - 1 + 4 + 4);
    struct report_options options = {0};
    json_decref(report_object(profile, &options));
    profile_free(profile);
    fixture_free(&fixture);
}

static void damaged_heads_are_survived(void **state)
{
    for (int i = 0; i < 6; i++) {
        struct fixture fixture;
        two_threads(&fixture);
        struct spans_region *region = fixture.region;
        switch (i) {
        case 0: region->magic = 5; break;
        case 1: region->functions = UINT32_MAX; break;
        case 2: region->ticks_end = region->ns_end = 0; break;
        case 3: region->ns_end = UINT64_MAX; break;
        case 4:
            memset(region->function[LOCK].name, 'x', SPANS_NAME);
            region->function[LOCK].class = region->function[LOCK].key = 255;
            break;
        case 5: /* a piece that does not say how large it is hides itself, and no other */
            ((struct spans_piece *)(fixture.bytes +
                                    (sizeof *region + SPANS_PAGE - 1) / SPANS_PAGE * SPANS_PAGE))
                ->bytes = 100;
        }
        struct profile *profile = import_and_read(&fixture, NULL, 0);
        assert_int_equal(profile->spans_count, i == 5 ? 3 : 4);
        assert_int_equal(is_degraded(profile, "make no sense"), i < 2);
        assert_int_equal(is_degraded(profile, "times are in ticks"), i == 2 || i == 3);
        struct report_options options = {0};
        json_decref(report_object(profile, &options));
        profile_free(profile);
        fixture_free(&fixture);
    }
}

static void missing_regions_are_told(void **state)
{
    char error[512] = "";
    struct fixture fixture;
    two_threads(&fixture);
    struct import_run run = {.verb = "interference", .engine = "live"};
    struct binary_options symbols = {0};
    assert_int_equal(ftruncate(fixture.file, 4096), 0);
    assert_int_equal(import_spans(fixture.log_path, fixture.file, &run, NULL, 0, &symbols,
                                  fixture.profile_path, NULL, NULL, error, sizeof error),
                     BASE_IO);
    assert_string_equal(error, "cannot read the recorded times: it is not there.");
    /* The log alone has nothing in it. */
    assert_int_equal(import_log(fixture.log_path, NULL, &symbols, fixture.profile_path, NULL, NULL,
                                error, sizeof error),
                     BASE_UNSUPPORTED);
    assert_non_null(strstr(error, "what is left of a recording by 'headroom interference'"));
    assert_int_equal(access(fixture.profile_path, F_OK), -1);
    fixture_free(&fixture);
}

/* ---- reports ------------------------------------------------------------------------------------
 */

/* Lost: 2 × (10,000 × 99,950 ns) = 1.999 s of 18 s. */
static void scores_are_those_worked_out_by_hand(void **state)
{
    struct fixture fixture;
    two_threads(&fixture);
    struct profile *profile = import_and_read(&fixture, NULL, 0);
    struct report_options options = {0};
    json_t *root = report_object(profile, &options);
    const json_t *lock = span_of(root, "blocks", "pthread_mutex_lock");
    assert_non_null(lock);
    /* Of main's 10 s two are an idle wait, of the worker's 8 s it was preempted for half a millisecond. */
    equal(number(lock, "sci"), 1.999 / 15.9995);
    equal(number(lock, "lost_ns"), 1.999e9);
    equal(number(lock, "count"), 40000);
    equal(number(lock, "min_ns"), 50);
    equal(number(lock, "max_ns"), 1e5);
    equal(number(lock, "total_ns"), 2.001e9);
    assert_true(number(lock, "p99_ns") > 8e4 && number(lock, "p99_ns") <= 1e5);
    assert_true(number(lock, "p1_ns") >= 50 && number(lock, "p1_ns") < 60);
    assert_string_equal(json_string_value(json_object_get(lock, "cause")), "lock");
    assert_string_equal(json_string_value(json_object_get(lock, "key")), "lock 0x7f0012345678");
    const json_t *threads = json_object_get(lock, "threads");
    equal(number(json_array_get(threads, 0), "sci"), 0.9995 / 8);
    equal(number(json_array_get(threads, 1), "sci"), 0.9995 / 7.9995);
    assert_int_equal(json_array_size(json_object_get(lock, "stacks")), 1);
    assert_int_equal(json_array_size(json_object_get(lock, "histogram")), 2);
    /* 4000 executions, 1 to 5.5 µs: 9 ms of the worker's 8 s, that follow the argument. */
    const json_t *leaf = span_of(root, "blocks", "leaf");
    assert_non_null(leaf);
    equal(number(leaf, "sci"), 0.009 / 7.9995);
    assert_string_equal(json_string_value(json_object_get(leaf, "cause")), "varying-work");
    const json_t *idle = span_of(root, "idle", "epoll_wait");
    assert_non_null(idle);
    equal(number(idle, "total_ns"), 2e9);
    assert_non_null(span_of(root, "unscored", "pthread_barrier_wait"));
    assert_null(span_of(root, "blocks", "epoll_wait"));
    assert_null(span_of(root, "blocks", "pthread_barrier_wait"));
    const json_t *whole = json_object_get(root, "interference");
    equal(number(whole, "threads_ns"), 18e9);
    equal(number(whole, "lost_ns"), 1.999e9);
    /* main needs 8 s without its idle waits, as the worker: 0.9995 of them are gained. */
    equal(number(whole, "gain"), 0.9995 / 8);
    json_decref(root);
    profile_free(profile);
    fixture_free(&fixture);
}

/* --min-executions and --key change what is said of the same file. */
static void files_are_analysed_anew(void **state)
{
    struct fixture fixture;
    two_threads(&fixture);
    struct profile *profile = import_and_read(&fixture, NULL, 0);
    struct report_options options = {.least_executions = 999};
    json_t *root = report_object(profile, &options);
    assert_null(span_of(root, "unscored", "pthread_barrier_wait"));
    json_decref(root);
    options = (struct report_options){.least_executions = 4001};
    root = report_object(profile, &options);
    assert_non_null(span_of(root, "unscored", "leaf"));
    json_decref(root);
    const char *keys[] = {"leaf:0", "leaf:1", "nothing:0"};
    options = (struct report_options){.keys = keys, .keys_count = 3};
    root = report_object(profile, &options);
    const json_t *rekeyed = json_object_get(span_of(root, "blocks", "leaf"), "rekeyed");
    assert_int_equal(json_array_size(rekeyed), 2);
    equal(number(json_array_get(rekeyed, 0), "sci"), 0);
    equal(number(json_array_get(rekeyed, 1), "sci"), 0.009 / 8); /* always 5: nothing changes */
    equal(number(json_array_get(rekeyed, 1), "groups"), 1);
    json_decref(root);
    char *text = report(profile, &options, false);
    assert_non_null(strstr(text, "No span with a score has the key 'nothing:0'"));
    assert_null(strstr(text, "has the key 'leaf"));
    free(text);
    profile_free(profile);
    fixture_free(&fixture);
}

static void people_are_told_first_what_matters(void **state)
{
    struct fixture fixture;
    two_threads(&fixture);
    const struct import_skip skips[] = {{"spun", "/bin/prog", "its entry is a jump"}};
    struct profile *profile = import_and_read(&fixture, skips, 1);
    struct report_options options = {.limit = 10, .width = 100};
    char *text = report(profile, &options, false);
    if (getenv("SHOW"))
        puts(text);
    static const char *const order[] = {
        "The threads lost 12.5 % of their working time to interference: 2 s of 16 s.",
        "locks",
        "#1  12.5 %",
        "Spans that lose time",
        "pthread_mutex_lock, lock 0x7f0012345678",
        "40,000 executions in 2 threads",
        "executions  ",
        "time lost   ",
        "called        work  prog.c:41",
        "← main  prog.c:39",
        "held by       main (prog.c:79), for 95 % of the waiting (18,000 times)",
        "cause         lock. The thread was asleep 90 % of that time",
        "Varying work",
        "grows with argument 0",
        "Idle waits",
        "epoll_wait",
        "Not hooked",
        "spun in prog: its entry is a jump",
        "Cost of recording",
    };
    const char *at = text;
    for (size_t i = 0; i < BASE_COUNT(order); i++) {
        const char *found = strstr(at, order[i]);
        if (!found)
            print_error("'%s' is missing in\n%s", order[i], text);
        assert_non_null(found);
        at = found;
    }
    free(text);
    for (unsigned width = 60; width <= 160; width += 10) {
        options.width = width;
        options.ascii = width == 70;
        free(report(profile, &options, false));
    }
    profile_free(profile);
    fixture_free(&fixture);
}

static void nothing_is_reported_as_nothing(void **state)
{
    struct fixture fixture;
    begin(&fixture);
    struct fixture_writer writer = fixture_writer(&fixture, 1, 40, "prog");
    fixture_process(&writer);
    fixture_end(&fixture, &writer);
    struct profile *profile = import_and_read(&fixture, NULL, 0);
    assert_true(is_degraded(profile, "no thread executed anything that was hooked"));
    struct report_options options = {0};
    json_decref(report_object(profile, &options));
    char *text = report(profile, &options, false);
    assert_non_null(strstr(text, "no thread executed anything that was hooked"));
    free(text);
    profile_free(profile);
    fixture_free(&fixture);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(spans_are_merged_over_threads),
        cmocka_unit_test(places_are_named),
        cmocka_unit_test(what_was_unhooked_is_left_out),
        cmocka_unit_test(processes_are_merged),
        cmocka_unit_test(torn_spans_are_put_right),
        cmocka_unit_test(all_threads_have_their_cpu_time),
        cmocka_unit_test(loops_stand_for_their_share_of_cpu_time),
        cmocka_unit_test(loops_that_show_nothing_are_left_out),
        cmocka_unit_test(damaged_loops_are_noticed),
        cmocka_unit_test(what_was_preempted_is_no_minimum),
        cmocka_unit_test(callers_have_shares_if_there_are_any),
        cmocka_unit_test(nonsense_is_left_out),
        cmocka_unit_test(parts_of_spans_are_bounded),
        cmocka_unit_test(damaged_heads_are_survived),
        cmocka_unit_test(missing_regions_are_told),
        cmocka_unit_test(scores_are_those_worked_out_by_hand),
        cmocka_unit_test(files_are_analysed_anew),
        cmocka_unit_test(people_are_told_first_what_matters),
        cmocka_unit_test(nothing_is_reported_as_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
