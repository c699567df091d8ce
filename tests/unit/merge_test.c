// SPDX-License-Identifier: MIT
/*
 * Merged profiles: shards of processes add up to the profile of all, in whatever order and groups;
 * what cannot be added is refused in a sentence that names both files.
 */
#include "profile/internal.h"
#include "profile/profile.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

/* ---- a universe of findings, of which each process has some ------------------------------------
 */

enum {
    PROCESSES = 6,
    MODULES = 3,
    FRAMES = 12,
    CONTEXTS = 20,
    FUNCTIONS = 4,
    PATHS = 5,
    SPANS = 6
};

struct world {
    uint64_t seed;
    uint32_t first, end; /* its processes */
    struct profile *profile;
    uint32_t modules[MODULES + 1], frames[FRAMES + 1], contexts[CONTEXTS + 1];
    uint32_t functions[FUNCTIONS + 1], paths[FUNCTIONS + 1][PATHS];
};

static uint64_t roll(const struct world *world, uint32_t process, uint32_t what, uint32_t a,
                     uint32_t b)
{
    uint64_t x = base_mix64(world->seed + ((uint64_t)process << 32 | what));
    return base_mix64(x + ((uint64_t)a << 32 | b));
}

/* Sum over the processes of small whole numbers, many of them 0. */
static uint64_t amount(const struct world *world, uint32_t what, uint32_t a, uint32_t b)
{
    uint64_t sum = 0;
    for (uint32_t p = world->first; p < world->end; p++) {
        uint64_t one = roll(world, p, what, a, b) % 32;
        sum += one < 24 ? 0 : one;
    }
    return sum;
}

static const char *name(struct profile *profile, const char *kind, uint32_t number)
{
    char text[64];
    snprintf(text, sizeof text, "%s%u", kind, number);
    return profile_keep(profile, text);
}

static uint32_t module_of(struct world *world, uint32_t number)
{
    if (number && !world->modules[number]) {
        struct profile_module *module = profile_add_modules(world->profile);
        *module = (struct profile_module){.path = "/lib/same", .build_id_bytes = 20};
        module->build_id[0] = (uint8_t)number;
        world->modules[number] = (uint32_t)world->profile->modules_count - 1;
    }
    return world->modules[number];
}

static uint32_t frame_of(struct world *world, uint32_t number)
{
    if (!world->frames[number]) {
        uint32_t module = module_of(world, number % (MODULES + 1));
        struct profile_frame *frame = profile_add_frames(world->profile);
        *frame = (struct profile_frame){.function = name(world->profile, "f", number / 2),
                                        .file = number % 3 ? "a.c" : NULL,
                                        .line = number,
                                        .address = number * 16,
                                        .module = module};
        world->frames[number] = (uint32_t)world->profile->frames_count - 1;
    }
    return world->frames[number];
}

static uint32_t context_of(struct world *world, uint32_t number)
{
    if (number && !world->contexts[number]) {
        uint32_t parent = context_of(world, (uint32_t)(roll(world, 99, 1, number, 0) % number));
        uint32_t frame = frame_of(world, 1 + number % FRAMES);
        *profile_add_contexts(world->profile) = (struct profile_context){parent, frame};
        world->contexts[number] = (uint32_t)world->profile->contexts_count - 1;
    }
    return world->contexts[number];
}

static void add_waste(struct world *world)
{
    struct profile *profile = world->profile;
    *profile_add_kinds(profile) = (struct profile_kind){
        .kind = PROFILE_SILENT, .samples = amount(world, 2, 0, 0), .traps = amount(world, 3, 0, 0)};
    for (uint32_t first = CONTEXTS; first-- > 0;)
        for (uint32_t second = 0; second < CONTEXTS; second += 3) {
            uint64_t waste = amount(world, 4, first, second);
            if (waste == 0)
                continue;
            struct profile_pair *pair = profile_add_pairs(profile);
            *pair = (struct profile_pair){.kind = PROFILE_SILENT,
                                          .waste_bytes = (double)waste,
                                          .first = context_of(world, first),
                                          .second = context_of(world, second)};
            pair->waste_traps = waste;
        }
    for (uint32_t context = 0; context < CONTEXTS; context++)
        if (amount(world, 5, context, 0))
            *profile_add_sampled(profile) = (struct profile_sampled){
                PROFILE_SILENT, context_of(world, context), amount(world, 5, context, 0), 0, 1.0};
    for (size_t i = 0; i < profile->sampled_count; i++)
        profile->sampled[i].weight = (double)profile->sampled[i].samples;
    *profile_add_drops(profile) =
        (struct profile_drop){"kernel", "the tick fell", amount(world, 6, 0, 0)};
    profile->run.stored = amount(world, 7, 0, 0);
    profile->run.attempted = profile->run.stored + profile->drops[0].count;
}

static void add_processes(struct world *world)
{
    struct profile *profile = world->profile;
    for (uint32_t p = world->first; p < world->end; p++) {
        uint32_t id = p - world->first;
        *profile_add_processes(profile) =
            (struct profile_process){id, UINT32_MAX, 100 + p, 0, "/bin/p", p};
        for (uint32_t t = 0; t < 2; t++) {
            *profile_add_threads(profile) =
                (struct profile_thread){t, id, 200 + p, t ? NULL : "p", 5, 6, 7};
            *profile_add_counters(profile) = (struct profile_counter){
                (uint32_t)profile->threads_count - 1, name(profile, "counter", t), p + 1};
        }
        *profile_add_exacts(profile) =
            (struct profile_exact){.process = id, .loads = roll(world, p, 8, 0, 0) % 1000};
        *profile_add_reuses(profile) = (struct profile_reuse){
            .process = id, .unit_bytes = 64, .accesses = p * 10, .share_first = 1, .share_last = 1};
        for (uint32_t bin = 0; bin < 4; bin++)
            *profile_add_bins(profile) =
                (struct profile_bin){id, PROFILE_TIME, bin, bin, bin + 1, p + bin};
        *profile_add_paces(profile) =
            (struct profile_pace){id, 1, 0.5, 2, 0, 0, name(profile, "by ", p)};
    }
    for (uint32_t c = 0; c < CONTEXTS; c++)
        if (amount(world, 9, c, 0))
            *profile_add_reuse_pairs(profile) =
                (struct profile_reuse_pair){context_of(world, c),
                                            context_of(world, CONTEXTS - 1 - c),
                                            amount(world, 9, c, 0),
                                            1,
                                            2,
                                            3,
                                            4,
                                            5};
    for (size_t i = 0; i < profile->reuse_pairs_count; i++) {
        struct profile_reuse_pair *pair = &profile->reuse_pairs[i];
        pair->weight = pair->time = pair->time_squares = (double)pair->count;
        pair->stack = pair->stack_squares = 0;
    }
}

/* Each path runs through two blocks, which are the function's own. */
static void add_path(struct world *world, uint32_t function, uint32_t number, uint64_t count)
{
    struct profile *profile = world->profile;
    *profile_add_paths(profile) =
        (struct profile_path){.function = world->functions[function],
                              .number = number,
                              .count = count,
                              .instructions = count * 7,
                              .cycles = (double)count * 3,
                              .measured = count,
                              .misses = -1,
                              .events = -1,
                              .first_step = (uint32_t)profile->path_steps_count,
                              .steps = 2};
    world->paths[function][number] = (uint32_t)profile->paths_count - 1;
    for (uint32_t s = 0; s < 2; s++)
        profile_add_path_steps(profile)->block =
            (uint32_t)profile->path_blocks_count - 1 - (s + number) % 2;
}

static void add_paths(struct world *world)
{
    struct profile *profile = world->profile;
    for (uint32_t f = 1; f <= FUNCTIONS; f++) {
        uint32_t module = module_of(world, 1 + f % MODULES);
        *profile_add_path_functions(profile) =
            (struct profile_path_function){.function = name(profile, "g", f),
                                           .module = module,
                                           .address = f,
                                           .table_kind = PROFILE_TABLE_ARRAY,
                                           .potential = PATHS};
        world->functions[f] = (uint32_t)profile->path_functions_count - 1;
        for (uint32_t b = 0; b < 2; b++) {
            *profile_add_path_blocks(profile) =
                (struct profile_path_block){world->functions[f],
                                            b,
                                            f * 64 + b,
                                            5,
                                            1,
                                            2,
                                            (uint32_t)profile->path_lines_count,
                                            b};
            if (b)
                *profile_add_path_lines(profile) = (struct profile_path_line){"a.c", NULL, f};
        }
        for (uint32_t n = 0; n < PATHS; n++)
            if (amount(world, 11, f, n))
                add_path(world, f, n, amount(world, 11, f, n));
    }
    for (uint32_t f = 1; f <= FUNCTIONS; f++) {
        *profile_add_vertices(profile) = (struct profile_vertex){.parent = 0,
                                                                 .function = world->functions[f],
                                                                 .site = f,
                                                                 .count = amount(world, 10, f, 0),
                                                                 .call_sites = 2,
                                                                 .instructions = -1,
                                                                 .cycles = -1,
                                                                 .misses = -1};
        for (uint32_t n = 0; n < PATHS; n++)
            if (amount(world, 11, f, n))
                *profile_add_vertex_paths(profile) =
                    (struct profile_vertex_path){(uint32_t)profile->vertices_count - 1,
                                                 world->paths[f][n], amount(world, 11, f, n)};
    }
    *profile_add_path_runs(profile) = (struct profile_path_run){.modes = PROFILE_PATHS};
}

/* Functions are numbered by whether they were met, as in recordings, and shapes go by numbers. */
static void add_spans(struct world *world)
{
    struct profile *profile = world->profile;
    for (uint32_t p = world->first; p < world->end; p++)
        *profile_add_span_threads(profile) =
            (struct profile_span_thread){.process = p - world->first, .tid = p, .events = p};
    uint32_t leaf = 0;
    for (uint32_t b = 0; b < SPANS; b++) {
        if (b && !amount(world, 12, b, 0))
            continue;
        *profile_add_span_functions(profile) =
            (struct profile_span_function){.function = name(profile, "h", b), .every = 1};
        uint32_t function = (uint32_t)profile->span_functions_count - 1;
        uint32_t span = (uint32_t)profile->spans_count;
        leaf = b ? leaf : function;
        *profile_add_spans(profile) = (struct profile_span){
            .function = function, .shape = b ? 1000 + leaf * 7 + b * 13 + world->first : 0};
        if (b)
            *profile_add_span_children(profile) = (struct profile_span_child){span, leaf, b, 0};
        for (uint32_t p = world->first; p < world->end; p++)
            if (roll(world, p, 12, b, 0) % 32 >= 24 || !b)
                *profile_add_span_parts(profile) =
                    (struct profile_span_part){.span = span,
                                               .thread = p - world->first,
                                               .count = 10,
                                               .recorded = 5,
                                               .sum_ns = 50,
                                               .min_ns = p};
        for (uint32_t i = 0; i < 3; i++)
            if (amount(world, 12, b, 0))
                *profile_add_span_bins(profile) =
                    (struct profile_span_bin){span, i, i + 1, amount(world, 12, b, 0) * (i + 1)};
    }
    *profile_add_span_runs(profile) = (struct profile_span_run){.ns_per_tick = 0.5};
}

/* The profile of processes first .. end - 1, as if recorded in one run. */
static struct profile *build(uint64_t seed, uint32_t first, uint32_t end)
{
    struct world world = {.seed = seed, .first = first, .end = end, .profile = profile_new()};
    assert_non_null(world.profile);
    struct profile_run *run = &world.profile->run;
    *run = (struct profile_run){.verb = "waste",
                                .engine = "live",
                                .source = "clock",
                                .weighting = "cpu-time",
                                .version = "0.1.0",
                                .host = "host",
                                .wall_s = 1,
                                .cpu_s = end - first,
                                .exit_signal = -1,
                                .start_ns = 1000 + first,
                                .interval_ns = 5,
                                .processes = end - first,
                                .threads = 2 * (end - first)};
    add_waste(&world);
    add_processes(&world);
    add_paths(&world);
    add_spans(&world);
    profile_add_arguments(world.profile)->text = "p";
    profile_add_arguments(world.profile)->text = "-x";
    *profile_add_caches(world.profile) = (struct profile_cache){1, 8, 64, 2, 32768};
    *profile_add_what_ifs(world.profile) =
        (struct profile_what_if){32768, 8, 64, 2 * (end - first), end - first};
    assert_true(profile_check(world.profile));
    return world.profile;
}

/* ---- comparing ------------------------------------------------------------------------------- */

static bool same_value(const struct schema_column *column, const char *a, const char *b)
{
    const void *left = a + column->offset, *right = b + column->offset;
    switch (column->type) {
    case SCHEMA_POSITION: return true;
    case SCHEMA_COUNT32: return *(const uint32_t *)left == *(const uint32_t *)right;
    case SCHEMA_COUNT64:
    case SCHEMA_SIGNED:
    case SCHEMA_ADDRESS: return *(const uint64_t *)left == *(const uint64_t *)right;
    case SCHEMA_REAL:
        return fabs(*(const double *)left - *(const double *)right) <=
               1e-12 * fabs(*(const double *)left);
    case SCHEMA_TEXT:
    case SCHEMA_NAME:
        return profile_same_text(*(const char *const *)left, *(const char *const *)right);
    case SCHEMA_BUILD_ID: return memcmp(left, right, PROFILE_BUILD_ID_BYTES) == 0;
    }
    return false;
}

static bool same_rows(const struct schema_table *table, const struct profile *a,
                      const struct profile *b)
{
    struct schema_items left = schema_items(a, table), right = schema_items(b, table);
    if (left.count != right.count)
        return false;
    for (size_t i = table->first; i < left.count; i++)
        for (size_t c = 0; c < table->columns_count; c++)
            if (!same_value(&table->columns[c], left.items + i * table->item_bytes,
                            right.items + i * table->item_bytes))
                return false;
    return true;
}

/* Name of a table that differs, "run", or NULL. */
static const char *difference(const struct profile *a, const struct profile *b, bool origins)
{
    for (size_t i = 0; i < SCHEMA_TABLES; i++)
        if ((origins || schema_tables[i] != &schema_merged) && !same_rows(schema_tables[i], a, b))
            return schema_tables[i]->name;
    for (size_t i = 0; i < schema_run.columns_count; i++)
        if (!same_value(&schema_run.columns[i], (const void *)&a->run, (const void *)&b->run))
            return schema_run.columns[i].name;
    return NULL;
}

static void assert_same(const struct profile *a, const struct profile *b, bool origins)
{
    const char *table = difference(a, b, origins);
    if (table)
        fail_msg("they differ in %s", table);
}

/* ---- merging --------------------------------------------------------------------------------- */

static struct profile *begin(struct profile *profile, const char *file)
{
    char error[PROFILE_ERROR_BYTES] = "";
    if (profile_merge_begin(profile, file, error, sizeof error) != BASE_OK)
        fail_msg("%s", error);
    return profile;
}

/* Frees b. */
static struct profile *plus(struct profile *a, struct profile *b)
{
    char error[PROFILE_ERROR_BYTES] = "";
    if (profile_merge(a, "a", b, "b", error, sizeof error) != BASE_OK)
        fail_msg("%s", error);
    assert_true(profile_check(a));
    profile_free(b);
    return a;
}

static struct profile *shard(uint64_t seed, uint32_t process)
{
    static const char *const files[] = {"0.headroom", "1.headroom", "2.headroom",
                                        "3.headroom", "4.headroom", "5.headroom"};
    return begin(build(seed, process, process + 1), files[process]);
}

static void shards_add_up_to_the_whole(void **state)
{
    for (uint64_t seed = 1; seed <= 40; seed++) {
        uint32_t order[PROCESSES] = {0, 1, 2, 3, 4, 5};
        struct base_random random = {seed};
        for (uint32_t i = PROCESSES; i > 1; i--) {
            uint32_t j = (uint32_t)base_random_below(&random, i), kept = order[j];
            order[j] = order[i - 1];
            order[i - 1] = kept;
        }
        struct profile *whole = begin(build(seed, 0, PROCESSES), "whole.headroom");
        struct profile *sum = shard(seed, order[0]);
        for (uint32_t i = 1; i < PROCESSES; i++)
            sum = plus(sum, shard(seed, order[i]));
        assert_int_equal(sum->merged_count, PROCESSES);
        assert_same(sum, whole, false);
        profile_free(sum);
        profile_free(whole);
    }
}

static void a_difference_is_seen(void **state)
{
    struct profile *a = shard(3, 0), *b = shard(3, 0);
    assert_null(difference(a, b, true));
    b->pairs[0].waste_traps++;
    assert_string_equal(difference(a, b, true), "pair");
    b->pairs[0].waste_traps--;
    b->run.threads++;
    assert_string_equal(difference(a, b, true), "threads");
    profile_free(a);
    profile_free(b);
}

static void order_and_groups_do_not_matter(void **state)
{
    for (uint64_t seed = 1; seed <= 20; seed++) {
        struct profile *left = plus(plus(shard(seed, 0), shard(seed, 1)), shard(seed, 2));
        struct profile *right = plus(shard(seed, 0), plus(shard(seed, 1), shard(seed, 2)));
        struct profile *turned = plus(plus(shard(seed, 2), shard(seed, 0)), shard(seed, 1));
        assert_same(left, right, true);
        assert_same(left, turned, true);
        profile_free(left);
        profile_free(right);
        profile_free(turned);
    }
}

static void one_profile_stays_what_it_is(void **state)
{
    struct profile *recorded = build(7, 0, 3);
    profile_total(recorded);
    struct profile *once = begin(build(7, 0, 3), "x"),
                   *twice = begin(begin(build(7, 0, 3), "x"), "y");
    assert_same(once, twice, true);
    assert_string_equal(twice->merged[0].file, "x");
    assert_int_equal(once->merged[0].processes, 3);
    assert_string_equal(once->merged[0].command, "p -x");
#define SAME_COUNT(list, item) assert_int_equal(once->list##_count, recorded->list##_count);
    SAME_COUNT(modules, module)
    SAME_COUNT(frames, frame)
    SAME_COUNT(paths, path)
    SAME_COUNT(spans, span)
    SAME_COUNT(span_parts, span_part)
#undef SAME_COUNT
    assert_true(once->kinds[0].waste_bytes == recorded->kinds[0].waste_bytes);
    profile_free(recorded);
    profile_free(once);
    profile_free(twice);
}

static size_t bytes_of(const struct schema_column *column)
{
    switch (column->type) {
    case SCHEMA_POSITION: return 0;
    case SCHEMA_COUNT32: return 4;
    case SCHEMA_BUILD_ID: return PROFILE_BUILD_ID_BYTES;
    default: return 8;
    }
}

static void column_holds_together(const struct schema_table *table, size_t c)
{
    const struct schema_column *column = &table->columns[c];
    assert_int_equal(column->bytes, bytes_of(column));
    assert_true(column->type != SCHEMA_POSITION || c == 0);
    assert_true(column->type == SCHEMA_COUNT32 || column->reference == SCHEMA_NO_REFERENCE);
    assert_int_equal(column->reference == SCHEMA_PARENT, column->target == table);
    if (column->reference == SCHEMA_RANGE)
        assert_true(column->target->owner == table && column[1].type == SCHEMA_COUNT32);
    else if (column->target &&
             table->merging != SCHEMA_PARTS) /* settled before: ids in keys are final */
        assert_true(column->target->index <= table->index);
    switch (column->rule) {
    case SCHEMA_SUM:
        assert_true(column->type == SCHEMA_COUNT32 || column->type == SCHEMA_COUNT64 ||
                    column->type == SCHEMA_REAL);
        break;
    case SCHEMA_SUM_KNOWN: assert_true(column->type == SCHEMA_REAL && column->low < 0); break;
    case SCHEMA_EARLIER: assert_int_equal(column->type, SCHEMA_COUNT64); break;
    case SCHEMA_AGREED: assert_true(schema_is_text(column) && column->null); break;
    case SCHEMA_UNION: assert_int_equal(column->type, SCHEMA_ADDRESS); break;
    case SCHEMA_FOLDED: assert_non_null(table->fold); break;
    default: break;
    }
}

static void declarations_hold_together(void **state)
{
    for (size_t t = 0; t < SCHEMA_TABLES; t++) {
        const struct schema_table *table = schema_tables[t];
        const struct schema_column *columns = table->columns;
        assert_int_equal(table->index, t);
        assert_true(table->since >= 1 && table->since <= PROFILE_VERSION);
        assert_true(columns[0].type == SCHEMA_POSITION || columns[0].rule == SCHEMA_KEY);
        assert_int_equal(table->merging == SCHEMA_TREE, columns[1].reference == SCHEMA_PARENT);
        bool parts = table->merging == SCHEMA_PARTS || table->merging == SCHEMA_SAME_PARTS;
        assert_int_equal(parts, table->owner != NULL);
        assert_true(table->order != SCHEMA_GROUPED || columns[0].type == SCHEMA_POSITION);
        for (size_t c = 0; c < table->columns_count; c++)
            column_holds_together(table, c);
    }
    for (size_t c = 0; c < schema_run.columns_count; c++)
        column_holds_together(&schema_run, c);
}

/* Of `run`, which has most of the rules; b is added to a. */
static struct profile_run combined(struct profile_run a, struct profile_run b)
{
    struct profile none = {0};
    a.verb = b.verb = "waste";
    a.engine = b.engine = a.weighting = b.weighting = "x";
    assert_true(merge_combine(&none, &schema_run, &a, &b));
    return a;
}

static void rules_do_what_they_say(void **state)
{
    struct profile_run few = {.start_ns = 5, .registers = 2, .wall_s = 3, .cpu_s = -1, .host = "h"};
    struct profile_run many = {.start_ns = 9, .registers = 4, .wall_s = 4, .cpu_s = 7, .host = "i"};
    struct profile_run unknown = {.start_ns = 0, .threads = INT64_MAX};
    struct profile_run one = {.threads = 1};
    for (unsigned turned = 0; turned < 2; turned++) {
        struct profile_run sum = turned ? combined(many, few) : combined(few, many);
        assert_int_equal(sum.start_ns, 5);
        assert_int_equal(sum.registers, 2);
        assert_true(sum.wall_s == 4 && sum.cpu_s == 7);
        assert_null(sum.host);
        assert_int_equal((turned ? combined(unknown, few) : combined(few, unknown)).start_ns, 5);
    }
    assert_string_equal(combined(few, few).host, "h");
    assert_int_equal(combined(unknown, one).threads, INT64_MAX);
    struct profile_run other = {.verb = "reuse"}, own = {.verb = "waste"};
    struct profile none = {0};
    assert_false(merge_combine(&none, &schema_run, &own, &other));
    struct profile_shared_user user = {.write_mask = 5}, more = {.write_mask = 6};
    assert_true(merge_combine(&none, &schema_shared_users, &user, &more));
    assert_int_equal(user.write_mask, 7);
}

static void single_rows_become_one(void **state)
{
    struct profile *a = build(2, 0, 1), *b = build(2, 1, 2);
    a->path_runs[0].lost_pieces = 3;
    b->path_runs[0].lost_pieces = 4;
    a->span_runs[0].wall_ns = 1e6;
    b->span_runs[0].wall_ns = 1e9;
    a->span_runs[0].switches = b->span_runs[0].automatic = 1;
    struct profile *sum = plus(begin(a, "a"), begin(b, "b"));
    assert_int_equal(sum->path_runs_count, 1);
    assert_int_equal(sum->path_runs[0].lost_pieces, 7);
    assert_int_equal(sum->span_runs_count, 1);
    assert_true(sum->span_runs[0].wall_ns == 1e9 && sum->span_runs[0].ns_per_tick == 0.5);
    assert_true(sum->span_runs[0].switches == 0 && sum->span_runs[0].automatic == 1);
    profile_free(sum);
}

/* ---- files and reports on them ----------------------------------------------------------------
 */

static void origins_are_kept_in_files(void **state)
{
    char path[] = "/tmp/headroom-merge-XXXXXX", old[64], error[PROFILE_ERROR_BYTES];
    struct profile *got = NULL;
    close(mkstemp(path));
    unlink(path);
    struct profile *sum = plus(shard(5, 1), shard(5, 0));
    assert_int_equal(profile_write(sum, path, error, sizeof error), BASE_OK);
    assert_int_equal(profile_read(path, &got, error, sizeof error), BASE_OK);
    assert_same(got, sum, true);
    got = plus(begin(got, path), shard(5, 2));
    assert_int_equal(got->merged_count, 3);
    assert_string_equal(got->merged[0].file, "0.headroom");
    assert_string_equal(got->merged[2].file, "2.headroom");
    assert_int_equal(profile_write(got, path, error, sizeof error), BASE_OK);
    snprintf(old, sizeof old, "%s.old", path);
    unlink(path);
    unlink(old);
    profile_free(sum);
    profile_free(got);
}

/* Each process is some recording's. */
static void processes_without_origin_are_damage(void **state)
{
    struct profile *sum = plus(shard(5, 1), shard(5, 0));
    assert_true(profile_check(sum));
    sum->merged[1].processes = 0;
    assert_false(profile_check(sum));
    sum->merged[1].processes = UINT32_MAX;
    assert_false(profile_check(sum));
    sum->merged[1].processes = 1;
    sum->processes[0].parent = 2;
    assert_false(profile_check(sum));
    sum->processes[0].parent = UINT32_MAX;
    sum->merged[0].file = NULL;
    assert_false(profile_check(sum));
    profile_free(sum);
}

static void latencies_are_the_first_ones(void **state)
{
    struct profile *a = shard(2, 0), *b = shard(2, 1), *c = build(2, 2, 3);
    *profile_add_latencies(a) = (struct profile_latency){1, 16384, 1.25, 0.5};
    *profile_add_latencies(b) = (struct profile_latency){1, 16384, 1.5, 0.5};
    *profile_add_latencies(c) = (struct profile_latency){1, 16384, 9, 0.5};
    a = plus(a, b);
    assert_int_equal(a->latencies_count, 1);
    assert_true(a->latencies[0].chase_ns == 1.25);
    c->caches[0].bytes *= 2;
    a = plus(a, begin(c, "c"));
    assert_int_equal(a->latencies_count, 0);
    profile_free(a);
}

static void runs_are_told_together(void **state)
{
    struct profile *a = shard(2, 0), *b = shard(2, 1), *c = build(2, 2, 3);
    c->run.exit_code = 9;
    c->run.wall_s = 30;
    c->run.host = "elsewhere";
    c->arguments[1].text = "-y";
    c->caches[0].bytes *= 2;
    profile_add_degraded(c)->text = "c was degraded";
    a = plus(plus(a, begin(c, "c")), b);
    assert_int_equal(a->run.exit_code, 9);
    assert_true(a->run.wall_s == 30 && a->run.cpu_s == 3);
    assert_null(a->run.host);
    assert_int_equal(a->arguments_count + a->caches_count, 0);
    assert_int_equal(a->degraded_count, 2);
    assert_string_equal(a->merged[2].host, "elsewhere");
    assert_string_equal(a->merged[2].command, "p -y");
    assert_int_equal(a->run.start_ns, 1000);
    for (uint32_t i = 0; i < 3; i++)
        assert_int_equal(a->processes[i].id, i);
    profile_free(a);
}

/* ---- refusals -------------------------------------------------------------------------------- */

enum {
    VERB,
    ENGINE,
    SOURCE,
    WEIGHTING,
    INTERVAL,
    TOLERANCE,
    KINDS,
    UNIT,
    STACK,
    CACHES,
    MODES,
    CACHE,
    EVENT,
    REFUSALS
};

static void change(struct profile *profile, int what)
{
    switch (what) {
    case VERB: profile->run.verb = "reuse\n"; break;
    case ENGINE: profile->run.engine = "exact"; break;
    case SOURCE: profile->run.source = NULL; break;
    case WEIGHTING: profile->run.weighting = "accesses"; break;
    case INTERVAL: profile->run.interval_ns = 6; break;
    case TOLERANCE: profile->run.fp_tolerance = 0.5; break;
    case KINDS: profile_add_kinds(profile)->kind = PROFILE_DEAD; break;
    case UNIT: profile->reuses[0].unit_bytes = 8; break;
    case STACK: profile->reuses[0].stack = 1; break;
    case CACHES: profile->what_ifs[0].ways = 0; break;
    case MODES: profile->path_runs[0].modes |= PROFILE_CYCLES; break;
    case CACHE: profile->path_runs[0].cache_bytes = 4096; break;
    case EVENT: profile->path_runs[0].event = "cycles"; break;
    }
}

static void what_differs_is_refused(void **state)
{
    static const char *const said[REFUSALS] = {
        "verbs",      "engines", "sources", "weighted", "spaced",    "tolerances", "kinds",
        "64 and 8 b", "stack",   "caches",  "count",    "simulated", "events"};
    for (int what = 0; what < REFUSALS; what++) {
        char error[PROFILE_ERROR_BYTES] = "";
        struct profile *a = shard(4, 0), *before = shard(4, 0), *b = build(4, 1, 2);
        change(b, what);
        begin(b, "b");
        assert_int_equal(profile_merge(a, "one", b, "two", error, sizeof error), BASE_UNSUPPORTED);
        assert_same(a, before, true);
        assert_non_null(strstr(error, "'one'"));
        assert_non_null(strstr(error, "'two'"));
        assert_non_null(strstr(error, said[what]));
        assert_int_equal(error[strlen(error) - 1], '.');
        assert_null(strchr(error, '\n'));
        profile_free(a);
        profile_free(before);
        profile_free(b);
    }
}

/* A path's number means other blocks: programs that claim to be one. */
static void different_code_is_refused(void **state)
{
    char error[PROFILE_ERROR_BYTES] = "";
    struct profile *a = shard(1, 0), *b = build(1, 0, 1);
    assert_true(b->paths_count > 0);
    uint32_t *steps[] = {&b->path_steps[0].block, &b->path_steps[1].block};
    uint32_t kept = *steps[0];
    *steps[0] = *steps[1];
    *steps[1] = kept;
    begin(b, "b");
    assert_int_equal(profile_merge(a, "one", b, "two", error, sizeof error), BASE_MALFORMED);
    assert_non_null(strstr(error, "table path"));
    profile_free(a);
    profile_free(b);
}

static void counts_beyond_measure_are_refused(void **state)
{
    char error[PROFILE_ERROR_BYTES] = "";
    struct profile *a = shard(6, 0), *b = build(6, 1, 2);
    b->kinds[0].armed = a->kinds[0].armed = UINT64_C(1) << 50;
    begin(b, "b");
    assert_int_equal(profile_merge(a, "one", b, "two", error, sizeof error), BASE_MALFORMED);
    assert_non_null(strstr(error, "more than a profile can"));
    profile_free(a);
    profile_free(b);
}

/* ---- single rules ---------------------------------------------------------------------------- */

/* Of a path measured now and then the mean of all measured executions stands for all. */
static void measured_cycles_stand_for_all(void **state)
{
    struct profile *parts[2];
    for (uint32_t i = 0; i < 2; i++) {
        parts[i] = build(1, 0, 1);
        assert_true(parts[i]->paths_count > 0);
        struct profile_path *path = &parts[i]->paths[0];
        path->count = i ? 300 : 100;
        path->measured = i ? 1 : 3;
        path->cycles = i ? 300 * 50 : 100 * 10;
        path->events = i ? -1 : 20;
        path->misses = i ? -1 : 5;
        begin(parts[i], "x");
    }
    const struct profile_path *path = &plus(parts[0], parts[1])->paths[0];
    assert_int_equal(path->count, 400);
    assert_true(fabs(path->cycles - 400 * (3 * 10 + 50) / 4.0) < 1e-9);
    assert_true(fabs(path->events - 400 * 20 / 100.0) < 1e-9);
    assert_true(path->misses == 5);
    profile_free(parts[0]);
}

static struct profile *with_ticks(uint32_t process, double ns_per_tick, uint32_t bins)
{
    struct profile *profile = build(8, process, process + 1);
    profile->span_bins_count = 0;
    profile->span_runs[0].ns_per_tick = ns_per_tick;
    for (uint32_t i = 0; i < bins; i++)
        *profile_add_span_bins(profile) =
            (struct profile_span_bin){0, i * ns_per_tick, (i + 1) * ns_per_tick, i + 1};
    assert_true(profile_check(profile));
    return begin(profile, "x");
}

static void bins_of_different_ticks_fit(void **state)
{
    struct profile *a = with_ticks(0, 0.4, 300), *b = with_ticks(1, 0.41, 300);
    struct profile *c = with_ticks(2, 0.4, 300), *d = with_ticks(0, 0.4, 300);
    struct profile *e = with_ticks(1, 0.41, 300), *f = with_ticks(2, 0.4, 300);
    a = plus(plus(a, b), c);
    d = plus(plus(d, f), e);
    assert_same(a, d, true);
    uint64_t count = 0;
    for (size_t i = 0; i < a->span_bins_count; i++)
        count += a->span_bins[i].count;
    assert_int_equal(count, 3 * 300 * 301 / 2);
    assert_true(a->span_bins_count < 250 && a->span_runs[0].ns_per_tick == 0);
    profile_free(a);
    profile_free(d);
}

/* A span that calls itself, as only a file made by hand says. */
static void circles_of_shapes_end(void **state)
{
    struct profile *profile = build(9, 0, 1);
    profile->span_children_count = 0;
    profile->spans[0].shape = 77;
    for (uint32_t i = 0; i < 40; i++)
        *profile_add_span_children(profile) = (struct profile_span_child){
            .span = 0, .function = profile->spans[0].function, .times = 1, .shape = 77};
    assert_true(profile_check(profile));
    begin(profile, "x");
    profile_free(profile);
}

static void deep_trees_are_merged(void **state)
{
    struct profile *sum = NULL;
    for (uint32_t p = 0; p < 2; p++) {
        struct profile *profile = build(10, p, p + 1);
        for (uint32_t i = 0; i < 20000; i++)
            *profile_add_contexts(profile) =
                (struct profile_context){i ? (uint32_t)profile->contexts_count - 2 : 0, 1 + i % 2};
        begin(profile, "deep");
        sum = sum ? plus(sum, profile) : profile;
    }
    assert_true(sum->contexts_count >= 20000 && sum->contexts_count < 60000);
    profile_free(sum);
}

/* Sets some number or text of some row to something odd. */
static void spoil(struct profile *profile, struct base_random *random)
{
    static const uint64_t odd[] = {
        0,         1,         2, 3, 7, 255, 4096, UINT32_MAX - 1, UINT32_MAX, UINT64_C(1) << 50,
        INT64_MAX, UINT64_MAX};
    static const char *const texts[] = {NULL, "", "\n\t\x01", "f1", "\xff\xfe"};
    const struct schema_table *table = schema_tables[base_random_below(random, SCHEMA_TABLES)];
    const struct schema_column *column =
        &table->columns[base_random_below(random, table->columns_count)];
    struct schema_items items = schema_items(profile, table);
    if (items.count == table->first)
        return;
    size_t row = table->first + base_random_below(random, items.count - table->first);
    void *value = items.items + row * table->item_bytes + column->offset;
    uint64_t number = odd[base_random_below(random, BASE_COUNT(odd))];
    if (column->type == SCHEMA_COUNT32)
        *(uint32_t *)value = (uint32_t)number;
    else if (column->type == SCHEMA_REAL)
        *(double *)value = (double)number;
    else if (column->type == SCHEMA_TEXT || column->type == SCHEMA_NAME)
        *(const char **)value = texts[base_random_below(random, BASE_COUNT(texts))];
    else if (column->type != SCHEMA_POSITION && column->type != SCHEMA_BUILD_ID)
        *(uint64_t *)value = number;
}

/* Whatever a file may hold: merged to something that a file may hold, or refused in a sentence. */
static void odd_profiles_do_no_harm(void **state)
{
    struct base_random random = {1};
    unsigned merged = 0, refused = 0;
    for (unsigned i = 0; i < 3000; i++) {
        char error[PROFILE_ERROR_BYTES] = "";
        struct profile *a = build(i % 5, 0, 2), *b = build(i % 5, 2, 4);
        for (uint64_t left = 1 + base_random_below(&random, 4); left > 0; left--)
            spoil(i % 2 ? a : b, &random);
        if (profile_check(a) && profile_check(b)) {
            bool good = profile_merge_begin(a, "a", error, sizeof error) == BASE_OK &&
                        profile_merge_begin(b, "b", error, sizeof error) == BASE_OK &&
                        profile_merge(a, "a", b, "b", error, sizeof error) == BASE_OK;
            assert_true(good ? profile_check(a) : error[0] && error[strlen(error) - 1] == '.');
            merged += good;
            refused += !good;
        }
        profile_free(a);
        profile_free(b);
    }
    assert_true(merged > 500 && refused > 20);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shards_add_up_to_the_whole),
        cmocka_unit_test(a_difference_is_seen),
        cmocka_unit_test(order_and_groups_do_not_matter),
        cmocka_unit_test(one_profile_stays_what_it_is),
        cmocka_unit_test(declarations_hold_together),
        cmocka_unit_test(rules_do_what_they_say),
        cmocka_unit_test(single_rows_become_one),
        cmocka_unit_test(origins_are_kept_in_files),
        cmocka_unit_test(processes_without_origin_are_damage),
        cmocka_unit_test(latencies_are_the_first_ones),
        cmocka_unit_test(runs_are_told_together),
        cmocka_unit_test(what_differs_is_refused),
        cmocka_unit_test(different_code_is_refused),
        cmocka_unit_test(counts_beyond_measure_are_refused),
        cmocka_unit_test(measured_cycles_stand_for_all),
        cmocka_unit_test(bins_of_different_ticks_fit),
        cmocka_unit_test(circles_of_shapes_end),
        cmocka_unit_test(deep_trees_are_merged),
        cmocka_unit_test(odd_profiles_do_no_harm),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
