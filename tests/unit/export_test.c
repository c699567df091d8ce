// SPDX-License-Identifier: MIT
/*
 * Exports of profiles small enough to write the whole text down, and of hostile ones, which are to
 * stay inside of each format's rules. JSON is read by a library.
 */
#include "export/proto.h"
#include "export/walk.h"

#include <setjmp.h>
#include <stdarg.h>
#include <jansson.h>
#include <stdlib.h>
#include <cmocka.h>

/* ---- profiles -------------------------------------------------------------------------------- */

static struct profile *new_profile(const char *verb)
{
    struct profile *profile = profile_new();
    assert_non_null(profile);
    profile_add_modules(profile)->path = "/bin/prog";
    profile->run.verb = verb;
    profile->run.engine = "exact";
    profile->run.weighting = "accesses";
    profile->run.version = "0.1.0";
    profile_add_arguments(profile)->text = "./prog";
    return profile;
}

static uint32_t context(struct profile *profile, uint32_t parent, const char *function,
                        const char *file, uint32_t line, uint32_t flags)
{
    *profile_add_frames(profile) = (struct profile_frame){.function = function,
                                                          .file = file,
                                                          .line = line,
                                                          .module = 1,
                                                          .address = 16,
                                                          .flags = flags};
    *profile_add_contexts(profile) =
        (struct profile_context){parent, (uint32_t)profile->frames_count - 1};
    return (uint32_t)profile->contexts_count - 1;
}

static void add_pair(struct profile *profile, uint32_t first, uint32_t second, double waste,
                     double use)
{
    *profile_add_pairs(profile) = (struct profile_pair){.kind = PROFILE_DEAD,
                                                        .first = first,
                                                        .second = second,
                                                        .waste_bytes = waste,
                                                        .use_bytes = use};
}

/* main calls f, which stores, and g, which stores over it. */
static struct profile *small_profile(void)
{
    struct profile *profile = new_profile("waste");
    profile_add_kinds(profile)->kind = PROFILE_DEAD;
    uint32_t first = context(profile, context(profile, 0, "main", "a.c", 3, 0), "f", "a.c", 10, 0);
    uint32_t second = context(profile, context(profile, 0, "main", "a.c", 4, 0), "g", "b.c", 20, 0);
    add_pair(profile, first, second, 30, 2);
    add_pair(profile, second, first, 10, 0);
    assert_true(profile_check(profile));
    return profile;
}

/* ---- helpers -------------------------------------------------------------------------------- */

static char *export(const struct profile *profile, enum export_format format, const char *metric,
                    size_t *bytes)
{
    char *text = NULL, error[512] = "";
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    assert_non_null(out);
    assert_int_equal(export_write(profile,
                                  &(struct export_options){.format = format, .metric = metric}, out,
                                  error, sizeof error),
                     BASE_OK);
    fclose(out);
    if (bytes)
        *bytes = size;
    return text;
}

static void expect(struct profile *profile, enum export_format format, const char *metric,
                   const char *expected)
{
    char *text = export(profile, format, metric, NULL);
    assert_string_equal(text, expected);
    free(text);
    profile_free(profile);
}

static json_t *export_json(const struct profile *profile, enum export_format format)
{
    size_t bytes;
    char *text = export(profile, format, NULL, &bytes);
    json_error_t error;
    json_t *json = json_loadb(text, bytes, JSON_REJECT_DUPLICATES, &error);
    if (!json)
        fail_msg("%s at %d: %.200s", error.text, error.position, text);
    free(text);
    return json;
}

/* ---- SARIF ----------------------------------------------------------------------------------- */

static const char *member(json_t *object, const char *name)
{
    return json_string_value(json_object_get(object, name));
}

/* The result at that place of the list; the caller frees *root. */
static json_t *sarif_result(const struct profile *profile, size_t index, json_t **root)
{
    *root = export_json(profile, EXPORT_SARIF);
    json_t *run = json_array_get(json_object_get(*root, "runs"), 0);
    json_t *result = json_array_get(json_object_get(run, "results"), index);
    assert_non_null(result);
    return result;
}

static void has_level(const struct profile *profile, size_t index, const char *level,
                      const char *evidence)
{
    json_t *root, *result = sarif_result(profile, index, &root);
    assert_string_equal(member(result, "level"), level);
    assert_string_equal(member(json_object_get(result, "properties"), "evidence"), evidence);
    json_decref(root);
}

/* f has memory cleared by a header of the system's, g stores into it; the rest is the system's. */
static void test_sarif_is_for_people(void **state)
{
    static const char *const header = "/usr/include/x86_64-linux-gnu/bits/string_fortified.h";
    struct profile *profile = new_profile("waste");
    profile_add_kinds(profile)->kind = PROFILE_DEAD;
    uint32_t f = context(profile, context(profile, 0, "main", "a.c", 3, 0), "f", "a.c", 10, 0);
    uint32_t clear = context(profile, f, "memset", header, 59, PROFILE_FRAME_INLINED);
    uint32_t g = context(profile, context(profile, 0, "main", "a.c", 4, 0), "g", "b.c", 20, 0);
    uint32_t system = context(profile, 0, "helper", header, 7, 0);
    add_pair(profile, clear, g, 90, 0);
    add_pair(profile, system, system, 10, 0);
    json_t *root, *result = sarif_result(profile, 0, &root);
    json_t *at = json_object_get(json_array_get(json_object_get(result, "locations"), 0),
                                 "physicalLocation");
    assert_string_equal(member(json_object_get(at, "artifactLocation"), "uri"), "a.c");
    assert_int_equal(
        json_integer_value(json_object_get(json_object_get(at, "region"), "startLine")), 10);
    assert_string_equal(
        member(json_object_get(result, "message"), "text"),
        "What was stored is overwritten before anything reads it: 90.0 % of the dead bytes, first "
        "in f (a.c:10), then in g (b.c:20). Memory is cleared and then written before it is read: "
        "where that is always so, do not clear it, or clear only the part that is not written "
        "anyway.");
    json_t *advice = json_object_get(json_object_get(result, "properties"), "advice");
    assert_string_equal(member(advice, "id"), "dead.cleared");
    json_decref(root);
    has_level(profile, 0, "error", "exact");
    has_level(profile, 1, "note", "exact"); /* nobody mends the system's */
    profile->run.engine = "live";
    profile->pairs[0].waste_traps = 50;
    has_level(profile, 0, "warning", "strong");
    profile->pairs[0].waste_traps = 3;
    has_level(profile, 0, "note", "weak");
    result = sarif_result(profile, 0, &root);
    assert_non_null(strstr(member(json_object_get(result, "message"), "text"),
                           "then in g (b.c:20); weak evidence: seen 3 times. Memory"));
    json_decref(root);
    profile_free(profile);
}

/* ---- whole texts ---------------------------------------------------------------------------- */

static void test_folded(void **state)
{
    expect(small_profile(), EXPORT_FOLDED, NULL,
           "main;g;[overwrites the unread store of];main;f 30\n"
           "main;f;[overwrites the unread store of];main;g 10\n");
    expect(small_profile(), EXPORT_FOLDED, "dead_use_bytes",
           "main;g;[overwrites the unread store of];main;f 2\n");
}

/* A tick of which no frame is known counts as well, in every format. */
static void test_nowhere(void **state)
{
    struct profile *profile = new_profile("run");
    uint32_t known = context(profile, 0, "main", "a.c", 3, 0);
    *profile_add_times(profile) = (struct profile_time){.context = 0, .ns = 500, .ticks = 1};
    *profile_add_times(profile) = (struct profile_time){.context = known, .ns = 3000, .ticks = 1};
    assert_true(profile_check(profile));
    char *text = export(profile, EXPORT_FOLDED, "cpu_time", NULL);
    assert_string_equal(text, "[not known] 500\nmain 3000\n");
    free(text);
    json_t *page = export_json(profile, EXPORT_SPEEDSCOPE);
    json_t *first = json_array_get(json_object_get(page, "profiles"), 0), *weight;
    double sum = 0;
    size_t i;
    json_array_foreach(json_object_get(first, "weights"), i, weight) sum +=
        json_number_value(weight);
    assert_true(sum == 3500 && json_array_size(json_object_get(first, "samples")) == 2);
    assert_int_equal(json_array_size(json_array_get(json_object_get(first, "samples"), 0)), 1);
    json_decref(page);
    profile_free(profile);
}

static void test_csv(void **state)
{
    expect(small_profile(), EXPORT_CSV, NULL,
           "kind,first_function,first_file,first_line,first_module,first_stack,second_function,"
           "second_file,second_line,second_module,second_stack,detail,dead_waste_bytes,"
           "dead_use_bytes\r\n"
           "\"dead-store\",\"f\",\"a.c\",10,\"/bin/prog\",\"f:10 < main:3\",\"g\",\"b.c\",20,"
           "\"/bin/prog\",\"g:20 < main:4\",\"\",30,2\r\n"
           "\"dead-store\",\"g\",\"b.c\",20,\"/bin/prog\",\"g:20 < main:4\",\"f\",\"a.c\",10,"
           "\"/bin/prog\",\"f:10 < main:3\",\"\",10,0\r\n");
}

/* Costs of a call are inclusive: 30 of f and 10 of g go through main's calls, and through those of
 * the first context's main, which is another: no circle. */
static void test_callgrind(void **state)
{
    char *text = NULL;
    struct profile *profile = small_profile();
    text = export(profile, EXPORT_CALLGRIND, "dead_waste_bytes", NULL);
    assert_non_null(strstr(text, "events: dead_waste_bytes\nsummary: 40\n"));
    assert_non_null(strstr(text, ") g\ncalls=1 20\n4 30\n"));
    assert_non_null(strstr(text, ") f\ncalls=1 10\n3 10\n"));
    assert_non_null(strstr(text, ") g [first]\ncalls=1 20\n4 10\n"));
    assert_non_null(strstr(text, ") f [first]\ncalls=1 10\n3 30\n"));
    assert_non_null(strstr(text, "\n10 30\n"));
    free(text);
    profile_free(profile);
}

static void test_recursion_counts_once(void **state)
{
    struct profile *profile = new_profile("waste");
    profile_add_kinds(profile)->kind = PROFILE_DEAD;
    uint32_t at = 0;
    for (unsigned i = 0; i < 5; i++)
        at = context(profile, at, "walk", "a.c", 7, 0);
    add_pair(profile, at, 0, 8, 0);
    char *text = export(profile, EXPORT_CALLGRIND, NULL, NULL);
    char *call = strstr(text, "calls=1 7\n7 8\n");
    assert_non_null(call);
    assert_null(strstr(call + 1, "calls=1 7\n7 8\n"));
    free(text);
    profile_free(profile);
}

/* ---- columns -------------------------------------------------------------------------------- */

static void expect_columns(const struct profile *profile, const struct export_options *options,
                           const char *expected)
{
    struct walk walk;
    char error[512], names[512] = "";
    assert_int_equal(walk_open(&walk, profile, options, error, sizeof error), BASE_OK);
    for (size_t c = 0; c < walk.columns_count; c++) {
        strcat(names, c ? " " : "");
        strcat(names, walk.metrics[walk.columns[c]].name);
    }
    assert_string_equal(names, expected);
    walk_close(&walk);
}

/* Waste before use, each with its largest kind first; how often was sampled only if asked for. */
static void test_largest_metric_first(void **state)
{
    struct profile *profile = new_profile("waste");
    uint32_t f = context(profile, 0, "f", NULL, 0, 0);
    static const double waste[] = {10, 30, 20}, use[] = {7, 8, 900};
    for (uint32_t kind = 0; kind < PROFILE_REUSE; kind++) {
        profile_add_kinds(profile)->kind = kind;
        *profile_add_pairs(profile) = (struct profile_pair){.kind = kind,
                                                            .first = f,
                                                            .second = f,
                                                            .waste_bytes = waste[kind],
                                                            .use_bytes = use[kind],
                                                            .waste_traps = 1};
        *profile_add_sampled(profile) =
            (struct profile_sampled){.kind = kind, .context = f, .samples = 5 + kind};
    }
    expect_columns(profile, &(struct export_options){0},
                   "silent_waste_bytes load_waste_bytes dead_waste_bytes "
                   "load_use_bytes silent_use_bytes dead_use_bytes");
    expect_columns(profile, &(struct export_options){.evidence = true},
                   "silent_waste_bytes load_waste_bytes dead_waste_bytes "
                   "load_use_bytes silent_use_bytes dead_use_bytes "
                   "load_samples silent_samples dead_samples dead_traps silent_traps load_traps");
    expect_columns(profile, &(struct export_options){.metric = "dead_traps"}, "dead_traps");
    profile_free(profile);
}

/* Where nothing was decided, how much was sampled is all there is. */
static void test_evidence_alone(void **state)
{
    struct profile *profile = new_profile("waste");
    profile_add_kinds(profile)->kind = PROFILE_DEAD;
    *profile_add_sampled(profile) = (struct profile_sampled){
        .kind = PROFILE_DEAD, .context = context(profile, 0, "f", NULL, 0, 0), .samples = 5};
    expect_columns(profile, &(struct export_options){0}, "dead_samples");
    profile_free(profile);
}

/* What is far comes first, not what is frequent. */
static void test_distance_before_reuses(void **state)
{
    struct profile *profile = new_profile("reuse");
    uint32_t f = context(profile, 0, "f", NULL, 0, 0);
    profile_add_kinds(profile)->kind = PROFILE_REUSE;
    *profile_add_reuse_pairs(profile) = (struct profile_reuse_pair){
        .use = f, .reuse = f, .count = 4, .weight = 4000, .time = 90, .stack = 80};
    expect_columns(profile, &(struct export_options){0}, "time_distance stack_distance reuses");
    profile_free(profile);
}

/* Weights of samples are no bytes: of a million of what was decided, 30, 10 and 2 of 42. */
static void test_samples_are_shares(void **state)
{
    struct profile *profile = small_profile();
    profile->run.engine = "live";
    profile->run.weighting = "cpu-time";
    expect_columns(profile, &(struct export_options){0}, "dead_waste_ppm dead_use_ppm");
    char *text = export(profile, EXPORT_FOLDED, "dead_use_ppm", NULL);
    assert_string_equal(text, "main;g;[overwrites the unread store of];main;f 47619\n");
    free(text);
    expect(profile, EXPORT_FOLDED, NULL,
           "main;g;[overwrites the unread store of];main;f 714286\n"
           "main;f;[overwrites the unread store of];main;g 238095\n");
}

/* ---- values --------------------------------------------------------------------------------- */

static void test_sums_are_rounded_not_items(void **state)
{
    struct profile *profile = new_profile("waste");
    profile_add_kinds(profile)->kind = PROFILE_DEAD;
    uint32_t f = context(profile, 0, "f", NULL, 0, 0);
    for (unsigned i = 0; i < 100; i++)
        add_pair(profile, f, f, 1.0 / 3, 0);
    struct walk walk;
    char error[512];
    assert_int_equal(walk_open(&walk, profile, &(struct export_options){0}, error, sizeof error),
                     BASE_OK);
    uint64_t sum = 0;
    for (size_t i = 0; i < walk.samples_count; i++)
        sum += walk_value(&walk, &walk.samples[i], 0);
    assert_int_equal(sum, 33);
    assert_int_equal(walk.metrics[0].total, 33);
    walk_close(&walk);
    profile_free(profile);
}

static void test_too_large_sums_stay_numbers(void **state)
{
    struct profile *profile = new_profile("waste");
    profile_add_kinds(profile)->kind = PROFILE_DEAD;
    uint32_t f = context(profile, 0, "f", NULL, 0, 0);
    add_pair(profile, f, f, 1e30, 0);
    add_pair(profile, f, f, 1e30, 0);
    expect(profile, EXPORT_FOLDED, NULL,
           "f;[overwrites the unread store of];f 4000000000000000000\n");
}

static void test_wrong_metric(void **state)
{
    struct profile *profile = small_profile();
    char error[512] = "";
    assert_int_equal(
        export_write(profile, &(struct export_options){.format = EXPORT_FOLDED, .metric = "frobs"},
                     stderr, error, sizeof error),
        BASE_NOT_FOUND);
    assert_string_equal(error, "the profile has no metric 'frobs'; it has: dead_waste_bytes, "
                               "dead_use_bytes.");
    profile_free(profile);
}

static void test_write_error(void **state)
{
    struct profile *profile = small_profile();
    char error[512] = "";
    FILE *full = fopen("/dev/full", "w");
    assert_non_null(full);
    assert_int_equal(export_write(profile, &(struct export_options){.format = EXPORT_CSV}, full,
                                  error, sizeof error),
                     BASE_IO);
    assert_non_null(strstr(error, "cannot be written"));
    fclose(full);
    profile_free(profile);
}

/* ---- hostile profiles ----------------------------------------------------------------------- */

enum { DEEP = 5000, LONG = 9000 };

static struct profile *hostile_profile(void)
{
    static char long_name[LONG + 1];
    memset(long_name, 'x', LONG);
    struct profile *profile = new_profile("waste");
    profile_add_kinds(profile)->kind = PROFILE_DEAD;
    profile->modules[1].path = "/tmp/a\n\"b\\c\xff";
    uint32_t evil = context(profile, 0, "a;b\r\n\"q\"\\ \x01\x7f\xff\xed\xa0\x80 12",
                            "x\ny%\"\xff.c", UINT32_MAX, PROFILE_FRAME_INLINED);
    uint32_t formula = context(profile, evil, "=1+cmd|' /C calc'!A0", "@f", 1,
                               PROFILE_FRAME_INLINED | PROFILE_FRAME_KERNEL);
    uint32_t lengthy = context(profile, formula, long_name, "", 0, PROFILE_FRAME_INCOMPLETE);
    uint32_t nameless = context(profile, lengthy, NULL, NULL, 0, 0);
    uint32_t empty = context(profile, nameless, "", NULL, 0, 0), deep = empty;
    for (unsigned i = 0; i < DEEP; i++)
        deep = context(profile, deep, "(1) deep", "d.c", i, 0);
    uint32_t all[] = {0, evil, formula, lengthy, nameless, empty, deep};
    for (size_t a = 0; a < BASE_COUNT(all); a++)
        for (size_t b = 0; b < BASE_COUNT(all); b++)
            add_pair(profile, all[a], all[b], 1, 1);
    assert_true(profile_check(profile));
    return profile;
}

enum { HOSTILE_TOTAL = 49 };

static void test_hostile_json(void **state)
{
    struct profile *profile = hostile_profile();
    json_t *speedscope = export_json(profile, EXPORT_SPEEDSCOPE);
    json_t *weights =
        json_object_get(json_array_get(json_object_get(speedscope, "profiles"), 0), "weights");
    assert_int_equal(json_array_size(weights), HOSTILE_TOTAL);
    json_decref(speedscope);
    json_t *firefox = export_json(profile, EXPORT_FIREFOX);
    assert_int_equal(json_array_size(json_object_get(firefox, "threads")), 2);
    json_decref(firefox);
    json_t *sarif = export_json(profile, EXPORT_SARIF);
    json_t *run = json_array_get(json_object_get(sarif, "runs"), 0);
    json_t *results = json_object_get(run, "results"), *result;
    size_t index;
    json_int_t sum = 0;
    json_array_foreach(results, index, result) sum +=
        json_integer_value(json_object_get(json_object_get(result, "properties"), "value"));
    assert_int_equal(sum, HOSTILE_TOTAL);
    json_decref(sarif);
    profile_free(profile);
}

static void test_hostile_folded(void **state)
{
    struct profile *profile = hostile_profile();
    char *text = export(profile, EXPORT_FOLDED, NULL, NULL);
    unsigned sum = 0, lines = 0;
    for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n"), lines++) {
        for (char *at = line; *at; at++)
            assert_true((unsigned char)*at >= 0x20);
        sum += (unsigned)strtoul(strrchr(line, ' '), NULL, 10);
    }
    assert_int_equal(lines, HOSTILE_TOTAL);
    assert_int_equal(sum, HOSTILE_TOTAL);
    free(text);
    profile_free(profile);
}

/* One line end a row, and no cell that a spreadsheet would take for a formula. */
static void test_hostile_csv(void **state)
{
    struct profile *profile = hostile_profile();
    size_t bytes, rows = 0;
    char *text = export(profile, EXPORT_CSV, NULL, &bytes);
    for (size_t i = 0; i + 1 < bytes; i++) {
        rows += text[i] == '\n';
        assert_true((unsigned char)text[i] >= 0x20 || text[i] == '\r' || text[i] == '\n');
        assert_true(text[i] != '"' || !text[i + 1] || !strchr("=+-@", text[i + 1]));
    }
    assert_non_null(strstr(text, "\"'=1+cmd"));
    assert_non_null(strstr(text, "\"'@f\""));
    assert_int_equal(rows + 1, HOSTILE_TOTAL + 1);
    free(text);
    profile_free(profile);
}

static void test_hostile_others(void **state)
{
    struct profile *profile = hostile_profile();
    size_t bytes;
    char *text = export(profile, EXPORT_CALLGRIND, NULL, &bytes);
    for (size_t i = 0; i < bytes; i++)
        assert_true((unsigned char)text[i] >= 0x20 || text[i] == '\n');
    assert_non_null(strstr(text, "\nsummary: 49 49\n"));
    free(text);
    text = export(profile, EXPORT_PPROF, NULL, &bytes);
    assert_memory_equal(text, "\x1f\x8b", 2);
    free(text);
    profile_free(profile);
}

/* Outer callers are left out of deep stacks, with a word. */
static void test_deep_stack(void **state)
{
    struct profile *profile = hostile_profile();
    struct walk walk;
    char error[512];
    uint32_t *places = calloc(WALK_STACK, sizeof *places);
    assert_int_equal(walk_open(&walk, profile, &(struct export_options){0}, error, sizeof error),
                     BASE_OK);
    size_t inner, depth = walk_stack(&walk, &walk.samples[walk.samples_count - 1], places, &inner);
    assert_int_equal(inner, WALK_DEPTH + 2);
    assert_int_equal(depth, 2 * (WALK_DEPTH + 1) + 1);
    assert_string_equal(walk_name(&walk, places[0]), "[outer callers left out]");
    assert_string_equal(walk_name(&walk, places[depth - 1]), "(1) deep");
    walk_close(&walk);
    free(places);
    profile_free(profile);
}

static void test_nothing_found(void **state)
{
    static const char *const verbs[] = {"waste", "reuse", "paths", "interference"};
    for (size_t v = 0; v < BASE_COUNT(verbs); v++) {
        struct profile *profile = new_profile(verbs[v]);
        profile_add_kinds(profile)->kind = v ? PROFILE_REUSE : PROFILE_DEAD;
        for (unsigned format = 0; format < EXPORT_FORMATS; format++)
            free(export(profile, (enum export_format)format, NULL, NULL));
        profile_free(profile);
    }
    struct profile *profile = new_profile("other");
    char error[512];
    assert_int_equal(export_write(profile, &(struct export_options){.format = EXPORT_CSV}, stderr,
                                  error, sizeof error),
                     BASE_NOT_FOUND);
    profile_free(profile);
}

/* No recording has all of that, but a file may. */
static void test_everything_in_one(void **state)
{
    static const char *const verbs[] = {"reuse", "paths", "interference"};
    for (size_t v = 0; v < BASE_COUNT(verbs); v++) {
        struct profile *profile = new_profile(verbs[v]);
        uint32_t f = context(profile, 0, "f", NULL, 0, 0);
        for (uint32_t kind = 0; kind < PROFILE_KINDS; kind++) {
            profile_add_kinds(profile)->kind = kind;
            *profile_add_sampled(profile) =
                (struct profile_sampled){.kind = kind, .context = f, .samples = 1};
        }
        for (uint32_t kind = 0; kind < PROFILE_REUSE; kind++)
            *profile_add_pairs(profile) = (struct profile_pair){
                .kind = kind, .first = f, .waste_bytes = 1, .use_bytes = 1, .use_traps = 1};
        *profile_add_reuse_pairs(profile) = (struct profile_reuse_pair){
            .use = f, .reuse = f, .count = 1, .weight = 1, .time = 1, .stack = 1};
        profile_add_path_functions(profile)->function = "f";
        *profile_add_vertices(profile) = (struct profile_vertex){
            .function = 1, .count = 1, .instructions = 1, .cycles = 1, .misses = 1};
        struct walk walk;
        char error[512];
        assert_int_equal(
            walk_open(&walk, profile, &(struct export_options){0}, error, sizeof error), BASE_OK);
        /* Of each kind of waste two, of reuse three. */
        unsigned contexts = strcmp(verbs[v], "paths") == 0 ? 4 : 0;
        assert_int_equal(walk.columns_count, 3 * 2 + 3 + contexts);
        walk_close(&walk);
        assert_int_equal(walk_open(&walk, profile, &(struct export_options){.evidence = true},
                                   error, sizeof error),
                         BASE_OK);
        assert_int_equal(walk.columns_count, 3 * 4 + 5 + contexts);
        walk_close(&walk);
        for (unsigned format = 0; format < EXPORT_FORMATS; format++)
            free(export(profile, (enum export_format)format, NULL, NULL));
        profile_free(profile);
    }
}

/* ---- parts ---------------------------------------------------------------------------------- */

static void test_proto(void **state)
{
    struct util_text proto = {0}, inner = {0};
    proto_number(&proto, 1, 0);
    assert_int_equal(proto.count, 0);
    proto_number(&proto, 1, 150);
    proto_bytes(&inner, 2, "hi", 2);
    proto_message(&proto, 16, &inner);
    proto_varint(&proto, UINT64_MAX);
    static const unsigned char expected[] = {0x08, 0x96, 0x01, 0x82, 0x01, 0x04, 0x12,
                                             0x02, 'h',  'i',  0xff, 0xff, 0xff, 0xff,
                                             0xff, 0xff, 0xff, 0xff, 0xff, 0x01};
    assert_int_equal(proto.count, sizeof expected);
    assert_memory_equal(proto.bytes, expected, sizeof expected);
    util_text_free(&proto);
    util_text_free(&inner);
}

static void test_numbers(void **state)
{
    struct numbered numbered = {.bytes = sizeof(uint64_t)};
    enum { MANY = 10000 };
    for (unsigned round = 0; round < 2; round++)
        for (uint64_t i = 0; i < MANY; i++) {
            uint64_t item = i * i;
            assert_int_equal(numbered_id(&numbered, &item), i);
        }
    assert_int_equal(numbered.count, MANY);
    numbered_free(&numbered);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_folded),
        cmocka_unit_test(test_sarif_is_for_people),
        cmocka_unit_test(test_nowhere),
        cmocka_unit_test(test_csv),
        cmocka_unit_test(test_callgrind),
        cmocka_unit_test(test_recursion_counts_once),
        cmocka_unit_test(test_largest_metric_first),
        cmocka_unit_test(test_evidence_alone),
        cmocka_unit_test(test_distance_before_reuses),
        cmocka_unit_test(test_samples_are_shares),
        cmocka_unit_test(test_sums_are_rounded_not_items),
        cmocka_unit_test(test_too_large_sums_stay_numbers),
        cmocka_unit_test(test_wrong_metric),
        cmocka_unit_test(test_write_error),
        cmocka_unit_test(test_hostile_json),
        cmocka_unit_test(test_hostile_folded),
        cmocka_unit_test(test_hostile_csv),
        cmocka_unit_test(test_hostile_others),
        cmocka_unit_test(test_deep_stack),
        cmocka_unit_test(test_nothing_found),
        cmocka_unit_test(test_everything_in_one),
        cmocka_unit_test(test_proto),
        cmocka_unit_test(test_numbers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
