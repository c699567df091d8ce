// SPDX-License-Identifier: MIT
/*
 * Profiles for the tests of the page, written into a directory: of each verb one whose every text
 * is hostile, one with nothing in it, and one with 100,000 contexts.
 *
 *     profiles DIRECTORY
 */
#include "profile/profile.h"

#include <stdio.h>
#include <stdlib.h>

enum { LARGE_CONTEXTS = 100000, LARGE_FUNCTIONS = 2000, LARGE_DEPTH = 40 };

static const char *const hostile[] = {
    "</script><script>window.hacked=1</script>",
    "\"><img src=x onerror=\"window.hacked=2\">",
    "'-window.hacked=3-'",
    "</pre></main><svg onload=window.hacked=4>",
    "<!--<script>window.hacked=5",
    "control\001\033[31m\r\n\tcharacters\177\302\205",
    "turned\342\200\256gnirts\342\201\246\342\200\217\330\234",
    "broken\377\300\200\355\240\200utf-8",
    "__proto__",
    "constructor",
    "${window.hacked=6}{{7*7}}&lt;&amp;",
    "javascript:window.hacked=7",
    "",
};

static const char *text(size_t number)
{
    return hostile[number % BASE_COUNT(hostile)];
}

static struct profile *begin(const char *verb, const char *engine)
{
    struct profile *profile = profile_new();
    if (!profile)
        exit(1);
    profile->run = (struct profile_run){.verb = verb,
                                        .engine = engine,
                                        .weighting = "accesses",
                                        .version = "0.1.0",
                                        .exit_code = 0,
                                        .exit_signal = -1,
                                        .wall_s = 1,
                                        .cpu_s = 1,
                                        .processes = 1,
                                        .threads = 1};
    return profile;
}

static void end(struct profile *profile, const char *directory, const char *name)
{
    char path[4096], error[PROFILE_ERROR_BYTES] = "it is not sound.";
    snprintf(path, sizeof path, "%s/%s.headroom", directory, name);
    if (!profile_check(profile) || profile_write(profile, path, error, sizeof error) != BASE_OK) {
        fprintf(stderr, "profiles: %s: %s\n", name, error);
        exit(1);
    }
    profile_free(profile);
}

/* ---- hostile ----------------------------------------------------------------------------------
 */

/* A chain of all hostile names; returns its innermost context. */
static uint32_t hostile_contexts(struct profile *profile)
{
    for (size_t i = 0; i < BASE_COUNT(hostile); i++) {
        profile_add_modules(profile)->path = text(i);
        profile_add_arguments(profile)->text = text(i);
        profile_add_degraded(profile)->text = text(i);
        *profile_add_frames(profile) =
            (struct profile_frame){.function = text(i),
                                   .file = text(i + 1),
                                   .module = (uint32_t)profile->modules_count - 1,
                                   .line = i % 3 ? 7 : 0,
                                   .flags = i % 2 ? PROFILE_FRAME_INLINED : 0};
        *profile_add_contexts(profile) = (struct profile_context){(uint32_t)i, (uint32_t)i + 1};
    }
    return (uint32_t)profile->contexts_count - 1;
}

/* times: so much more of everything, so that two profiles differ. */
static void hostile_waste(const char *directory, const char *name, unsigned times)
{
    struct profile *profile = begin("waste", "exact");
    uint32_t last = hostile_contexts(profile);
    profile->run.host = text(0);
    for (uint32_t kind = 0; kind < PROFILE_REUSE; kind++) {
        profile_add_kinds(profile)->kind = kind;
        for (uint32_t i = 1; i <= last; i++)
            *profile_add_pairs(profile) = (struct profile_pair){
                .kind = kind, .first = i, .second = last + 1 - i, .waste_bytes = 100.0 * times + i};
    }
    end(profile, directory, name);
}

static void hostile_reuse(const char *directory, const char *name, unsigned times)
{
    struct profile *profile = begin("reuse", "exact");
    uint32_t last = hostile_contexts(profile);
    *profile_add_reuses(profile) = (struct profile_reuse){.unit_bytes = 64,
                                                          .stack = 1,
                                                          .accesses = 1000,
                                                          .reuses = 900,
                                                          .locations = 100,
                                                          .never_reused = 5,
                                                          .share_first = 1,
                                                          .share_last = 1,
                                                          .kept_accesses = 1000,
                                                          .kept_locations = 100};
    for (uint32_t i = 0; i < 3; i++) /* these bins of headroom's hold one number each */
        *profile_add_bins(profile) = (struct profile_bin){
            .which = i / 2, .bin = i % 2, .lo = i % 2, .hi = i % 2 + 1, .weight = 300};
    for (uint32_t i = 1; i <= last; i++)
        *profile_add_reuse_pairs(profile) = (struct profile_reuse_pair){
            i, last + 1 - i, 10, 10, 1e6 * times * i, 1e11 * i, 1e5 * times * i, 1e9 * i};
    end(profile, directory, name);
}

static void hostile_line(struct profile *profile, uint32_t number, uint32_t last, unsigned times)
{
    *profile_add_shared_lines(profile) =
        (struct profile_shared_line){.object = number % PROFILE_OBJECTS,
                                     .name = text(number),
                                     .context = 1 + number % last,
                                     .thread = number,
                                     .size = 64 * number,
                                     .offset = number % 2 ? 64 : (uint64_t)-8,
                                     .parts = "0 <img src=x onerror=window.hacked=9>\n8 b\n",
                                     .true_transfers = number % 3 * 1e5,
                                     .false_transfers = 1e6 - 1e4 * number};
    for (uint32_t i = 0; i < 3; i++) {
        *profile_add_shared_pairs(profile) =
            (struct profile_shared_pair){.line = number,
                                         .first = 1 + (number + i) % last,
                                         .second = last - (number + i) % last,
                                         .first_kind = 2,
                                         .second_kind = 1 + i,
                                         .is_true = i == 2,
                                         .first_mask = UINT64_C(0xff) << 8 * i,
                                         .second_mask = UINT64_C(0xff) << 8 * (i + i / 2),
                                         .transfers = 3e5 * times};
        *profile_add_shared_users(profile) =
            (struct profile_shared_user){.line = number,
                                         .thread = i,
                                         .read_mask = UINT64_C(0xff00ff) << 8 * i,
                                         .write_mask = UINT64_C(0xff) << 8 * i,
                                         .reads = 10,
                                         .writes = 20};
        *profile_add_shared_fields(profile) =
            (struct profile_shared_field){.line = number,
                                          .byte = 8 * i,
                                          .bytes = 8,
                                          .flags = i,
                                          .path = text(number + i),
                                          .type = text(number + i + 1),
                                          .owner = text(number + 2),
                                          .element = text(number + 3),
                                          .element_bytes = 16};
    }
}

static void hostile_sharing(const char *directory, const char *name, unsigned times)
{
    struct profile *profile = begin("sharing", "exact");
    uint32_t last = hostile_contexts(profile);
    *profile_add_shared_runs(profile) = (struct profile_shared_run){.threads = 3,
                                                                    .instructions = 1000000,
                                                                    .true_transfers = 1e6 * times,
                                                                    .false_transfers = 1e7 * times};
    for (uint32_t i = 0; i < BASE_COUNT(hostile); i++)
        hostile_line(profile, i, last, times);
    for (uint32_t i = 0; i < 9; i++)
        *profile_add_shared_moves(profile) =
            (struct profile_shared_move){i / 3, i % 3, 1e5 * times * (i + 1)};
    end(profile, directory, name);
}

static void hostile_paths(const char *directory, const char *name, unsigned times)
{
    struct profile *profile = begin("paths", "built");
    hostile_contexts(profile);
    for (uint32_t i = 0; i < BASE_COUNT(hostile); i++) {
        *profile_add_path_functions(profile) = (struct profile_path_function){.function = text(i),
                                                                              .file = text(i + 1),
                                                                              .module = 1,
                                                                              .line = 5,
                                                                              .table_kind = 1,
                                                                              .blocks = 1,
                                                                              .potential = 4,
                                                                              .potential_log2 = 2};
        *profile_add_path_blocks(profile) = (struct profile_path_block){
            .function = i + 1, .instructions = 3, .first_line = 2 * i, .lines = 2};
        *profile_add_path_lines(profile) = (struct profile_path_line){text(i + 1), NULL, 6 + i};
        *profile_add_path_lines(profile) = (struct profile_path_line){text(i + 1), text(i + 2), 9};
        *profile_add_paths(profile) = (struct profile_path){.function = i + 1,
                                                            .count = 10 + i,
                                                            .instructions = 30 * times + i,
                                                            .cycles = -1,
                                                            .misses = -1,
                                                            .events = -1,
                                                            .first_step = i,
                                                            .steps = 1};
        profile_add_path_steps(profile)->block = i;
        *profile_add_vertices(profile) = (struct profile_vertex){.parent = i,
                                                                 .function = i + 1,
                                                                 .site = UINT32_MAX,
                                                                 .count = 3,
                                                                 .bytes = 40,
                                                                 .instructions = 30,
                                                                 .cycles = -1,
                                                                 .misses = -1};
    }
    *profile_add_path_runs(profile) =
        (struct profile_path_run){.modes = PROFILE_PATHS | PROFILE_CONTEXTS, .event = text(0)};
    end(profile, directory, name);
}

static void hostile_interference(const char *directory, const char *name, unsigned times)
{
    struct profile *profile = begin("interference", "live");
    uint32_t last = hostile_contexts(profile);
    *profile_add_span_threads(profile) = (struct profile_span_thread){
        .tid = 7, .name = text(0), .duration_ns = 1e9, .events = 9, .cost_ns = 5, .owners = 1};
    for (uint32_t i = 0; i < BASE_COUNT(hostile); i++) {
        *profile_add_span_functions(profile) = (struct profile_span_function){
            .function = text(i), .file = text(i + 1), .line = 3, .class = i % 3, .key = i % 2};
        *profile_add_spans(profile) =
            (struct profile_span){.function = i + 1, .key = i, .max_ns = 5000};
        *profile_add_span_parts(profile) =
            (struct profile_span_part){i, 0, 2000, 2000, 4e6 * times, 100, 1e5, 1e4, 1e4};
        *profile_add_span_bins(profile) = (struct profile_span_bin){i, 96, 112, 1500};
        *profile_add_span_bins(profile) = (struct profile_span_bin){i, 4096, 5120, 500};
        *profile_add_span_stacks(profile) = (struct profile_span_stack){i, last, 5, 1e4};
        *profile_add_span_holders(profile) = (struct profile_span_holder){i, last, 5, 1e4};
    }
    *profile_add_span_skips(profile) = (struct profile_span_skip){text(0), text(1), text(2)};
    *profile_add_span_runs(profile) = (struct profile_span_run){0.5, 10, 1e9, 10000, 1, 1, 0, 0, 0};
    end(profile, directory, name);
}

/* ---- with source -------------------------------------------------------------------------------
 */

/* Stored in line 4, overwritten in line 6 of a file that is there; both called from line 8. before:
   the other way round. */
static void with_source(const char *directory, const char *name, bool before)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/kept.c", directory);
    FILE *out = fopen(path, "w");
    if (!out)
        exit(1);
    for (int line = 1; line <= 9; line++)
        fprintf(out, "kept[%d] = 0; // </script><img src=x onerror=window.hacked=%d>\n", line,
                line);
    fclose(out);
    struct profile *profile = begin("waste", "exact");
    profile_add_modules(profile)->path = "/bin/prog";
    profile_add_kinds(profile)->kind = PROFILE_DEAD;
    for (uint32_t i = 0; i < 3; i++) {
        *profile_add_frames(profile) =
            (struct profile_frame){.function = (const char *[]){"caller", "store", "again"}[i],
                                   .file = path,
                                   .module = 1,
                                   .line = (uint32_t[]){8, 4, 6}[i],
                                   .flags = i == 2 ? PROFILE_FRAME_INLINED : 0};
        *profile_add_contexts(profile) = (struct profile_context){i ? 1 : 0, i + 1};
    }
    *profile_add_pairs(profile) = (struct profile_pair){
        .kind = PROFILE_DEAD, .first = before ? 3 : 2, .second = before ? 2 : 3, .waste_bytes = 8};
    end(profile, directory, name);
}

/* ---- by samples --------------------------------------------------------------------------------
 */

/* Line 4 stores what line 6 overwrites, in `traps` of a hundred; one weighs as much as another. */
static void add_seen(struct profile *profile, uint32_t kind, uint32_t first, uint32_t second,
                     unsigned traps, unsigned likely)
{
    *profile_add_pairs(profile) = (struct profile_pair){.kind = kind,
                                                        .first = first,
                                                        .second = second,
                                                        .waste_bytes = traps,
                                                        .waste_squares = traps,
                                                        .waste_traps = traps,
                                                        .likely_traps = likely};
}

/* Of the dead stores 60 % were seen 60 times, half of them with an approximate second line, and 3 %
   three times; all loads are redundant. */
static void samples(const char *directory)
{
    struct profile *profile = begin("waste", "live");
    profile->run.weighting = "cpu-time";
    profile->run.source = "clock";
    profile_add_modules(profile)->path = "/bin/prog";
    for (uint32_t i = 0; i < 2; i++) {
        *profile_add_frames(profile) = (struct profile_frame){.function = i ? "again" : "clear_it",
                                                              .file = "/src/kept.c",
                                                              .module = 1,
                                                              .line = i ? 6 : 4};
        *profile_add_contexts(profile) = (struct profile_context){0, i + 1};
    }
    profile_add_kinds(profile)->kind = PROFILE_DEAD;
    profile_add_kinds(profile)->kind = PROFILE_LOAD;
    add_seen(profile, PROFILE_DEAD, 1, 2, 60, 30);
    add_seen(profile, PROFILE_DEAD, 1, 1, 3, 0);
    *profile_add_pairs(profile) = (struct profile_pair){.kind = PROFILE_DEAD,
                                                        .first = 2,
                                                        .second = 2,
                                                        .use_bytes = 37,
                                                        .use_squares = 37,
                                                        .use_traps = 37};
    add_seen(profile, PROFILE_LOAD, 2, 2, 100, 0);
    profile_total(profile);
    end(profile, directory, "samples");
}

/* ---- what reports say beside a share ------------------------------------------------------------
 */

/* Loads repeated in the same iteration, and those that restore a register; of the silent stores a
   quarter is equal within 1 % only. */
static void remarks(const char *directory)
{
    struct profile *profile = begin("waste", "live");
    profile->run.weighting = "cpu-time";
    profile->run.source = "clock";
    profile->run.fp_tolerance = 0.01;
    profile_add_modules(profile)->path = "/bin/prog";
    for (uint32_t i = 0; i < 2; i++) {
        *profile_add_frames(profile) =
            (struct profile_frame){.function = i ? "restores" : "computes",
                                   .file = "/src/kept.c",
                                   .module = 1,
                                   .line = i ? 6 : 4,
                                   .flags = i ? PROFILE_FRAME_SAVE : 0};
        *profile_add_contexts(profile) = (struct profile_context){0, i + 1};
    }
    profile_add_kinds(profile)->kind = PROFILE_SILENT;
    profile_add_kinds(profile)->kind = PROFILE_LOAD;
    add_seen(profile, PROFILE_SILENT, 1, 1, 80, 0);
    add_seen(profile, PROFILE_LOAD, 1, 1, 60, 0);
    add_seen(profile, PROFILE_LOAD, 2, 2, 40, 0);
    *profile_add_traits(profile) =
        (struct profile_trait){.kind = PROFILE_SILENT, .first = 1, .second = 1, .near_bytes = 20};
    *profile_add_traits(profile) = (struct profile_trait){
        .kind = PROFILE_LOAD, .first = 1, .second = 1, .reach = PROFILE_REACH_ITERATION};
    profile_total(profile);
    end(profile, directory, "remarks");
}

/* ---- what to fix first ---------------------------------------------------------------------------- */

/* Time at line 4 of kept.c, all of it dead stores; and two waits, one called at line 6, the other with hostile names. */
static void waiting(const char *directory)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/kept.c", directory);
    struct profile *profile = begin("run", "live");
    profile->run.weighting = "cpu-time";
    profile->run.source = "clock";
    profile->run.threads = 3;
    profile_add_modules(profile)->path = "/bin/prog";
    *profile_add_frames(profile) =
        (struct profile_frame){.function = "store", .file = path, .module = 1, .line = 4};
    *profile_add_contexts(profile) = (struct profile_context){0, 1};
    *profile_add_times(profile) = (struct profile_time){1, 0, 1000, 1000000000};
    profile_add_kinds(profile)->kind = PROFILE_DEAD;
    add_seen(profile, PROFILE_DEAD, 1, 1, 100, 0);
    *profile_add_waits(profile) = (struct profile_wait){.function = "pthread_mutex_lock",
                                                        .caller = "take",
                                                        .file = path,
                                                        .holder = "hold",
                                                        .cause = "lock",
                                                        .line = 6,
                                                        .count = 1234,
                                                        .lost_ns = 3.21e8,
                                                        .working_ns = 1e9};
    *profile_add_waits(profile) = (struct profile_wait){.function = text(0),
                                                        .caller = text(1),
                                                        .file = text(2),
                                                        .holder = text(3),
                                                        .cause = "io",
                                                        .line = 3,
                                                        .count = 5,
                                                        .lost_ns = 1e8,
                                                        .working_ns = 1e9};
    end(profile, directory, "waiting");
}

/* ---- large -------------------------------------------------------------------------------------
 */

static uint32_t random_below(uint64_t *state, uint32_t most)
{
    *state = *state * UINT64_C(6364136223846793005) + 1442695040888963407;
    return (uint32_t)(*state >> 33) % most;
}

/* Stacks as programs have them: the way down goes on from near where the last one ended. */
static void large(const char *directory)
{
    struct profile *profile = begin("waste", "exact");
    uint32_t path[LARGE_DEPTH] = {0}, depth = 0;
    uint64_t state = 1;
    char name[64];
    profile_add_arguments(profile)->text = "large";
    profile_add_modules(profile)->path = "/usr/bin/large";
    for (uint32_t i = 0; i < LARGE_FUNCTIONS; i++) {
        snprintf(name, sizeof name, "module_%u::function_%u", i % 40, i);
        *profile_add_frames(profile) =
            (struct profile_frame){.function = profile_keep(profile, name),
                                   .file = "/src/large.cpp",
                                   .module = 1,
                                   .line = 1 + 10 * i};
    }
    profile_add_kinds(profile)->kind = PROFILE_DEAD;
    for (uint32_t i = 1; i <= LARGE_CONTEXTS; i++) {
        uint32_t up = random_below(&state, 5) < 3 ? 0 : 1 + random_below(&state, 3);
        depth -= up < depth ? up : depth;
        if (depth == LARGE_DEPTH - 1)
            depth = random_below(&state, LARGE_DEPTH - 1);
        *profile_add_contexts(profile) =
            (struct profile_context){path[depth], 1 + random_below(&state, LARGE_FUNCTIONS)};
        path[++depth] = i;
        *profile_add_pairs(profile) =
            (struct profile_pair){.kind = PROFILE_DEAD,
                                  .first = 1 + random_below(&state, i),
                                  .second = i,
                                  .waste_bytes = (double)(8 + random_below(&state, 1000)) *
                                                 (1 << random_below(&state, 8))};
    }
    end(profile, directory, "large");
}

/* Two lines with known users: tests/browser/run.mjs says what is to be seen. */
static void shared_use(struct profile *profile, uint32_t line, uint32_t thread, uint64_t reads,
                       uint64_t writes)
{
    *profile_add_shared_users(profile) = (struct profile_shared_user){.line = line,
                                                                      .thread = thread,
                                                                      .read_mask = reads,
                                                                      .write_mask = writes,
                                                                      .reads = 1,
                                                                      .writes = 1};
}

static void shared(const char *directory)
{
    enum { STORE = 1, CLEAR };
    struct profile *profile = begin("sharing", "exact");
    char file[4096];
    snprintf(file, sizeof file, "%s/kept.c", directory);
    const char *const functions[] = {"store", "clear"};
    const uint64_t first = 0xff, second = UINT64_C(0xff) << 16;
    for (uint32_t i = 0; i < 2; i++) {
        *profile_add_frames(profile) = (struct profile_frame){
            .function = functions[i], .file = profile_keep(profile, file), .line = 4 + 2 * i};
        *profile_add_contexts(profile) = (struct profile_context){.frame = i + 1};
    }
    *profile_add_shared_runs(profile) = (struct profile_shared_run){
        .threads = 5, .instructions = 1000000, .true_transfers = 1e5, .false_transfers = 3e5};
    *profile_add_shared_lines(profile) = (struct profile_shared_line){
        .object = PROFILE_OBJECT_GLOBAL, .name = "counters", .false_transfers = 3e5};
    *profile_add_shared_lines(profile) = (struct profile_shared_line){
        .object = PROFILE_OBJECT_HEAP, .context = STORE, .size = 128, .true_transfers = 1e5};
    shared_use(profile, 0, 1, 0, first);
    shared_use(profile, 0, 2, second, second);
    shared_use(profile, 0, 3, first | second, 0);
    shared_use(profile, 0, 4, first | second, 0);
    shared_use(profile, 1, 1, first, first);
    shared_use(profile, 1, 2, first, first);
    for (uint32_t i = 0; i < 2; i++)
        *profile_add_shared_fields(profile) =
            (struct profile_shared_field){.byte = 16 * i,
                                          .bytes = 8,
                                          .path = i ? "counters[1].hits" : "counters[0].hits",
                                          .type = "int",
                                          .owner = "struct counter",
                                          .element = "struct counter",
                                          .element_bytes = 16};
    *profile_add_shared_pairs(profile) =
        (struct profile_shared_pair){0, STORE, CLEAR, 2, 2, 0, first, second, 2e5};
    *profile_add_shared_pairs(profile) =
        (struct profile_shared_pair){0, STORE, STORE, 2, 1, 1, first, first, 1e5};
    *profile_add_shared_pairs(profile) =
        (struct profile_shared_pair){1, STORE, CLEAR, 3, 3, 1, first, first, 1e5};
    *profile_add_shared_moves(profile) = (struct profile_shared_move){1, 2, 2e5};
    *profile_add_shared_moves(profile) = (struct profile_shared_move){2, 1, 1e5};
    end(profile, directory, "shared");
}

int main(int count, char **arguments)
{
    if (count != 2) {
        fputs("usage: profiles DIRECTORY\n", stderr);
        return 2;
    }
    hostile_waste(arguments[1], "hostile-waste", 1);
    hostile_reuse(arguments[1], "hostile-reuse", 1);
    hostile_paths(arguments[1], "hostile-paths", 1);
    hostile_sharing(arguments[1], "hostile-sharing", 1);
    hostile_interference(arguments[1], "hostile-interference", 1);
    hostile_waste(arguments[1], "before-waste", 3);
    hostile_reuse(arguments[1], "before-reuse", 3);
    hostile_paths(arguments[1], "before-paths", 3);
    hostile_sharing(arguments[1], "before-sharing", 3);
    hostile_interference(arguments[1], "before-interference", 3);
    end(begin("waste", "live"), arguments[1], "empty");
    with_source(arguments[1], "source", false);
    with_source(arguments[1], "before-source", true);
    samples(arguments[1]);
    remarks(arguments[1]);
    waiting(arguments[1]);
    shared(arguments[1]);
    large(arguments[1]);
    return 0;
}
