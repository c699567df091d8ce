// SPDX-License-Identifier: MIT
/*
 * Profile files: what is written is read back; nothing is followed, overwritten or
 * left half-written; damaged, hostile and future files give one sentence.
 */
#include "profile/schema.h"

#include <setjmp.h>
#include <stdarg.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

static char directory[64];

static const char *in_directory(const char *name)
{
    static char paths[16][256];
    static unsigned next;
    char *path = paths[next++ % 16];
    snprintf(path, sizeof paths[0], "%s/%s", directory, name);
    return path;
}

static int make_directory(void **state)
{
    strcpy(directory, "/tmp/headroom-profile-XXXXXX");
    return mkdtemp(directory) ? 0 : -1;
}

static int remove_directory(void **state)
{
    char command[128];
    snprintf(command, sizeof command, "rm -rf '%s'", directory);
    return system(command);
}

static unsigned entries(void)
{
    unsigned count = 0;
    DIR *opened = opendir(directory);
    for (struct dirent *entry; (entry = readdir(opened));)
        count += entry->d_name[0] != '.';
    closedir(opened);
    return count;
}

static uint32_t add_frame(struct profile *profile, const char *function, uint32_t line)
{
    struct profile_frame *frame = profile_add_frames(profile);
    *frame = (struct profile_frame){.function = function,
                                    .file = "/src/a.c",
                                    .line = line,
                                    .module = 1,
                                    .address = 0xffffffffff600000u + line};
    return (uint32_t)profile->frames_count - 1;
}

static uint32_t add_context(struct profile *profile, uint32_t parent, uint32_t frame)
{
    *profile_add_contexts(profile) = (struct profile_context){parent, frame};
    return (uint32_t)profile->contexts_count - 1;
}

static void add_findings(struct profile *profile)
{
    uint32_t outer = add_context(profile, 0, add_frame(profile, "main", 40));
    uint32_t first = add_context(profile, outer, add_frame(profile, "fill", 12));
    uint32_t second = add_context(profile, outer, add_frame(profile, NULL, 0));
    *profile_add_kinds(profile) = (struct profile_kind){
        .kind = PROFILE_DEAD, .samples = 100, .armed = 90, .traps = 80, .blind_longest = 3};
    *profile_add_pairs(profile) = (struct profile_pair){.kind = PROFILE_DEAD,
                                                        .first = first,
                                                        .second = second,
                                                        .waste_bytes = 320.5,
                                                        .waste_squares = 2564,
                                                        .waste_traps = 40,
                                                        .samples = 80,
                                                        .likely_traps = 1};
    *profile_add_pairs(profile) = (struct profile_pair){.kind = PROFILE_DEAD,
                                                        .first = first,
                                                        .second = first,
                                                        .use_bytes = 320.5,
                                                        .use_squares = 2564,
                                                        .use_traps = 40,
                                                        .samples = 80};
    *profile_add_sampled(profile) = (struct profile_sampled){PROFILE_DEAD, first, 100, 90, 100.5};
}

static void add_exact(struct profile *profile)
{
    for (uint32_t process = 1; process < 8; process += 6) {
        *profile_add_exacts(profile) = (struct profile_exact){.process = process,
                                                              .threads = 2,
                                                              .loads = 1000,
                                                              .stores = 2000,
                                                              .load_bytes = 8000,
                                                              .store_bytes = 16000,
                                                              .ids = 5,
                                                              .contexts = 6,
                                                              .instructions = 9000};
        *profile_add_reuses(profile) = (struct profile_reuse){.process = process,
                                                              .unit_bytes = 64,
                                                              .stack = 1,
                                                              .accesses = 1000.5,
                                                              .reuses = 900.25,
                                                              .locations = 100.25,
                                                              .never_reused = 50,
                                                              .share_first = 1,
                                                              .share_last = 1.0 / process,
                                                              .kept_accesses = 1000,
                                                              .kept_locations = 100};
        for (uint32_t which = 0; which < PROFILE_DISTANCES; which++)
            for (uint32_t bin = 3; bin < 6; bin++)
                *profile_add_bins(profile) =
                    (struct profile_bin){process, which, bin, bin * 10, bin * 10 + 10, 0.1 * bin};
    }
    *profile_add_reuse_pairs(profile) = (struct profile_reuse_pair){2, 3, 7, 7.5, 1e9, 1e20, 5, 6};
}

/* What version 3 added. */
static void add_version_3(struct profile *profile)
{
    for (uint32_t process = 1; process < 8; process += 6)
        *profile_add_paces(profile) = (struct profile_pace){.process = process,
                                                            .accesses_per_ns = 1.25,
                                                            .low = 0.5,
                                                            .high = 2.5,
                                                            .trap_ns = 3000,
                                                            .floor_ns = 0.5 * process,
                                                            .calibration = "by the stars"};
    *profile_add_caches(profile) = (struct profile_cache){1, 8, 64, 2, 32768};
    *profile_add_caches(profile) = (struct profile_cache){3, 0, 64, 0, UINT64_C(33) << 20};
    *profile_add_what_ifs(profile) = (struct profile_what_if){32768, 8, 64, 1000, 10};
    *profile_add_what_ifs(profile) = (struct profile_what_if){32768, 0, 64, 1000, 1000};
    *profile_add_loops(profile) =
        (struct profile_loop){0, 1, UINT64_C(0xffffffffff600000), "main", "/src/a.c", 40};
    *profile_add_loops(profile) = (struct profile_loop){1, 1, 0x1234, NULL, NULL, 0};
    *profile_add_frame_loops(profile) = (struct profile_frame_loop){1, 1};
    *profile_add_frame_loops(profile) = (struct profile_frame_loop){3, 2};
}

/* What version 8 added. */
static void add_version_8(struct profile *profile)
{
    *profile_add_traits(profile) = (struct profile_trait){PROFILE_DEAD, 2, 3, 0, 16.5};
    *profile_add_traits(profile) =
        (struct profile_trait){PROFILE_LOAD, 1, 3, PROFILE_REACH_SEARCH, 0};
    *profile_add_traits(profile) =
        (struct profile_trait){PROFILE_LOAD, 2, 1, PROFILE_REACH_CALL, 0};
}

/* What version 4 added: two functions with paths, one left alone; root, main, leaf
 * called by main. */
static void add_version_4(struct profile *profile)
{
    struct profile_path_function whole = {.function = "main",
                                          .file = "/src/a.c",
                                          .address = 0x1000,
                                          .module = 1,
                                          .line = 40,
                                          .table_kind = PROFILE_TABLE_ARRAY,
                                          .blocks = 3,
                                          .call_sites = 1,
                                          .potential = 2,
                                          .potential_log2 = 1};
    *profile_add_path_functions(profile) = whole;
    whole.function = "leaf";
    whole.reason = PROFILE_PATH_TRUNCATED;
    whole.why = "too many paths";
    whole.table_kind = PROFILE_TABLE_HASH;
    whole.potential = 0;
    whole.potential_log2 = 214.5;
    *profile_add_path_functions(profile) = whole;
    *profile_add_path_functions(profile) =
        (struct profile_path_function){.reason = 9, .why = "hand-written", .module = 1};
    *profile_add_path_blocks(profile) = (struct profile_path_block){1, 0, 0x1000, 5, 1, 2, 0, 2};
    *profile_add_path_blocks(profile) = (struct profile_path_block){1, 2, 0x1010, 1, 0, 0, 2, 0};
    *profile_add_path_blocks(profile) = (struct profile_path_block){2, 0, 0x2000, 3, 3, 3, 2, 1};
    *profile_add_path_lines(profile) = (struct profile_path_line){"/src/a.c", NULL, 40};
    *profile_add_path_lines(profile) = (struct profile_path_line){"/src/a.h", "inlined", 7};
    *profile_add_path_lines(profile) = (struct profile_path_line){NULL, NULL, 0};
    *profile_add_paths(profile) =
        (struct profile_path){1, 0, 0, 10, 60, 10, 20, 1.5, 9, -1, -1, 0, 2};
    *profile_add_paths(profile) = (struct profile_path){
        1, PROFILE_PATH_FROM_CUT | PROFILE_PATH_TO_CUT, 1, 7, 35, 7, 14, 0.5, 0, -1, -1, 2, 1};
    *profile_add_paths(profile) = (struct profile_path){
        2, PROFILE_PATH_FROM_ROOT, INT64_MAX, 1, 3, 3, 3, 9e9, 1, -1, -1, 3, 1};
    for (uint32_t i = 0; i < 4; i++)
        profile_add_path_steps(profile)->block = (uint32_t[]){0, 1, 0, 2}[i];
    *profile_add_vertices(profile) = (struct profile_vertex){.site = UINT32_MAX,
                                                             .count = 1,
                                                             .bytes = 88,
                                                             .instructions = -1,
                                                             .cycles = -1,
                                                             .misses = -1};
    *profile_add_vertices(profile) =
        (struct profile_vertex){1, 1, 0, 0, 10, 120, 2, 1, 1, 95, 2, -1, 9};
    *profile_add_vertices(profile) =
        (struct profile_vertex){2, 2, 0, 41, 1, 96, 0, 0, 0, 3, 9e9, -1};
    *profile_add_vertex_paths(profile) = (struct profile_vertex_path){2, 0, 10};
    *profile_add_vertex_paths(profile) = (struct profile_vertex_path){2, 1, 7};
    *profile_add_vertex_paths(profile) = (struct profile_vertex_path){3, 2, 1};
    *profile_add_path_runs(profile) = (struct profile_path_run){
        PROFILE_PATHS | PROFILE_CONTEXTS, 32768, 8, 64, 31.5, 2.5, 0, "cache-misses"};
}

/* What version 5 added: a function with two spans, one a sequence, in two threads. */
static void add_version_5(struct profile *profile)
{
    *profile_add_span_functions(profile) = (struct profile_span_function){
        "lock", "/src/lock.c", 7, 1, UINT64_C(0xffffffff80001000), 1, 1, 1, 0, 16};
    for (uint32_t i = 0; i < 2; i++)
        *profile_add_span_threads(profile) = (struct profile_span_thread){
            1, 99 + i, i ? NULL : "prog", 1, 16, 1e9, 2e6, 3e5, 4e4, 5, 6, 7, 8, 9, 10};
    *profile_add_spans(profile) = (struct profile_span){1, 0, UINT64_MAX, 5, 1e3, 1, 2e9, 3, 4};
    *profile_add_spans(profile) =
        (struct profile_span){0, PROFILE_SPAN_SEQUENCE, 0, 9, 2e3, 1, 2e9, 0, 0};
    for (uint32_t i = 0; i < 3; i++)
        *profile_add_span_parts(profile) =
            (struct profile_span_part){i / 2, i % 2, 2000, 1000, 1e6, 0.5, 1e5, 10, 20};
    for (uint32_t i = 0; i < 3; i++)
        *profile_add_span_bins(profile) =
            (struct profile_span_bin){i / 2, 8.5 * i, 8.5 * i + 8.5, 100};
    *profile_add_span_children(profile) = (struct profile_span_child){1, 1, 3, UINT64_MAX};
    *profile_add_span_stacks(profile) = (struct profile_span_stack){0, 2, 10, 1e5};
    *profile_add_span_stacks(profile) = (struct profile_span_stack){1, 2, 10, 1e5};
    *profile_add_span_holders(profile) = (struct profile_span_holder){0, 0, 10, 1e5};
    *profile_add_span_holders(profile) = (struct profile_span_holder){1, 2, 10, 1e5};
    *profile_add_span_samples(profile) =
        (struct profile_span_sample){0, 16, 12.5, 1, UINT64_MAX, 3, 4};
    *profile_add_span_samples(profile) = (struct profile_span_sample){1, 16, 12.5, 1, 2, 3, 4};
    *profile_add_span_skips(profile) = (struct profile_span_skip){"spun", NULL, "a jump"};
    *profile_add_span_runs(profile) = (struct profile_span_run){0.5, 10, 1e9, 10000, 1, 1, 1, 2, 3};
}

static struct profile *small_profile(void)
{
    struct profile *profile = profile_new();
    assert_non_null(profile);
    struct profile_module *module = profile_add_modules(profile);
    module->path = "/bin/prog";
    module->detail = PROFILE_DETAIL_LINES;
    module->build_id_bytes = 20;
    memset(module->build_id, 0xab, 20);
    add_findings(profile);
    add_exact(profile);
    add_version_3(profile);
    add_version_4(profile);
    add_version_5(profile);
    add_version_8(profile);
    *profile_add_drops(profile) = (struct profile_drop){"kernel", "the tick fell", 7};
    *profile_add_processes(profile) =
        (struct profile_process){1, UINT32_MAX, 99, 0, "/bin/prog", 5};
    *profile_add_threads(profile) = (struct profile_thread){1, 1, 99, "prog", 1000, 107, 100};
    *profile_add_counters(profile) = (struct profile_counter){0, "hops", 4};
    profile_add_arguments(profile)->text = "prog";
    profile_add_arguments(profile)->text = "\xff weird 'arg'";
    profile_add_degraded(profile)->text = "something was degraded";
    profile->run.verb = "waste";
    profile->run.engine = "live";
    profile->run.source = "clock";
    profile->run.weighting = "cpu-time";
    profile->run.version = "0.1.0";
    profile->run.exit_code = 3;
    profile->run.wall_s = 1.25;
    profile->run.cpu_s = 1;
    profile->run.fp_tolerance = 0.01;
    profile->run.attempted = 107;
    profile->run.stored = 100;
    profile->run.processes = profile->run.threads = 1;
    assert_true(profile_check(profile));
    return profile;
}

static void write_small(const char *path)
{
    char error[PROFILE_ERROR_BYTES];
    struct profile *profile = small_profile();
    assert_int_equal(profile_write(profile, path, error, sizeof error), BASE_OK);
    profile_free(profile);
}

/* The status of reading path; a success is freed. */
static enum base_status try_read(const char *path, char *error)
{
    struct profile *profile = NULL;
    error[0] = 0;
    enum base_status status = profile_read(path, &profile, error, PROFILE_ERROR_BYTES);
    if (status == BASE_OK)
        assert_true(profile_check(profile));
    else
        assert_null(profile);
    profile_free(profile);
    return status;
}

static void one_sentence(const char *error)
{
    size_t bytes = strlen(error);
    assert_true(bytes > 10 && bytes < PROFILE_ERROR_BYTES);
    assert_int_equal(error[bytes - 1], '.');
    assert_null(strchr(error, '\n'));
}

/* ---- writing and reading ------------------------------------------------------------------ */

static void same_text(const char *a, const char *b)
{
    if (!a || !b)
        assert_true(a == b);
    else
        assert_string_equal(a, b);
}

static void same_version_5(const struct profile *got, const struct profile *wrote)
{
    const struct profile_span_function *function = &got->span_functions[1];
    const struct profile_span_thread *thread = &got->span_threads[1];
    assert_int_equal(got->span_functions_count, wrote->span_functions_count);
    assert_true(function->address == UINT64_C(0xffffffff80001000) && function->every == 16);
    assert_string_equal(function->function, "lock");
    assert_true(thread->name == NULL && thread->tid == 100 && thread->duration_ns == 1e9);
    assert_true(thread->cost_ns == 2e6 && thread->preempted_ns == 3e5 && thread->asleep_ns == 4e4);
    assert_true(thread->preemptions == 5 && thread->sleeps == 6 && thread->events == 7);
    assert_true(thread->skipped == 8 && thread->unhooked == 9 && thread->switches_lost == 10);
    assert_int_equal(got->spans_count, 2);
    assert_true(got->spans[0].key == UINT64_MAX && got->spans[0].last_ns == 2e9);
    assert_int_equal(got->span_parts_count, 3);
    assert_true(got->span_parts[2].recorded == 1000 && got->span_parts[2].min_ns == 0.5);
    assert_true(got->span_bins_count == 3 && got->span_bins[1].high_ns == 17);
    assert_true(got->span_children[0].shape == UINT64_MAX && got->span_children[0].times == 3);
    assert_true(got->span_stacks[1].context == 2 && got->span_holders[1].waited_ns == 1e5);
    assert_true(got->span_samples[0].argument1 == UINT64_MAX && got->span_samples[0].ns == 12.5);
    assert_string_equal(got->span_skips[0].why, "a jump");
    assert_true(got->span_runs[0].ns_per_tick == 0.5 && got->span_runs[0].no_areas == 3);
}

static void same_version_4(const struct profile *got, const struct profile *wrote)
{
    for (size_t i = 1; i < wrote->path_functions_count; i++) {
        const struct profile_path_function *a = &got->path_functions[i];
        const struct profile_path_function *b = &wrote->path_functions[i];
        same_text(a->function, b->function);
        same_text(a->file, b->file);
        same_text(a->why, b->why);
        assert_memory_equal(&a->blocks, &b->blocks,
                            sizeof *a - offsetof(struct profile_path_function, blocks));
        assert_true(a->address == b->address && a->module == b->module && a->line == b->line &&
                    a->table_kind == b->table_kind && a->reason == b->reason);
    }
    for (size_t i = 0; i < wrote->path_lines_count; i++) {
        same_text(got->path_lines[i].file, wrote->path_lines[i].file);
        same_text(got->path_lines[i].function, wrote->path_lines[i].function);
        assert_int_equal(got->path_lines[i].line, wrote->path_lines[i].line);
    }
#define SAME(list)                                                                                 \
    assert_memory_equal(got->list, wrote->list, wrote->list##_count * sizeof *got->list)
    SAME(path_blocks);
    SAME(paths);
    SAME(path_steps);
    SAME(vertices);
    for (size_t i = 0; i < wrote->vertex_paths_count; i++)
        assert_memory_equal(&got->vertex_paths[i], &wrote->vertex_paths[i],
                            sizeof got->vertex_paths[i]);
    assert_true(got->path_runs[0].cycles_per_read == 31.5 && got->path_runs[0].modes == 3);
    assert_true(got->path_runs[0].cache_bytes == 32768 && got->path_runs[0].cycles_per_ns == 2.5);
    assert_string_equal(got->path_runs[0].event, "cache-misses");
}

static void reads_back_what_was_written(void **state)
{
    char error[PROFILE_ERROR_BYTES];
    struct profile *wrote = small_profile(), *got = NULL;
    const char *path = in_directory("plain.headroom");
    assert_int_equal(profile_write(wrote, path, error, sizeof error), BASE_OK);
    assert_int_equal(profile_read(path, &got, error, sizeof error), BASE_OK);
#define SAME_COUNT(list, item) assert_int_equal(got->list##_count, wrote->list##_count);
    PROFILE_LISTS(SAME_COUNT)
    for (size_t i = 1; i < wrote->frames_count; i++) {
        same_text(got->frames[i].function, wrote->frames[i].function);
        same_text(got->frames[i].file, wrote->frames[i].file);
        assert_true(got->frames[i].address == wrote->frames[i].address);
        assert_int_equal(got->frames[i].line, wrote->frames[i].line);
    }
    for (size_t i = 1; i < wrote->contexts_count; i++)
        assert_memory_equal(&got->contexts[i], &wrote->contexts[i], sizeof got->contexts[i]);
    /* Pairs come back in the order of their key. */
    assert_true(got->pairs[1].waste_bytes == 320.5 && got->pairs[1].likely_traps == 1);
    assert_true(got->kinds[0].waste_bytes == 320.5 && got->kinds[0].use_bytes == 320.5);
    assert_int_equal(got->kinds[0].blind_longest, 3);
    assert_memory_equal(&got->sampled[0], &wrote->sampled[0], sizeof got->sampled[0]);
    assert_memory_equal(got->modules[1].build_id, wrote->modules[1].build_id, 20);
    assert_string_equal(got->arguments[1].text, "\xff weird 'arg'");
    assert_string_equal(got->counters[0].name, "hops");
    assert_string_equal(got->drops[0].reason, "kernel");
    assert_null(got->run.host);
    assert_true(got->run.wall_s == 1.25 && got->run.fp_tolerance == 0.01);
    for (size_t i = 0; i < 2; i++) {
        assert_memory_equal(&got->exacts[i], &wrote->exacts[i], sizeof got->exacts[i]);
        assert_memory_equal(&got->reuses[i], &wrote->reuses[i], sizeof got->reuses[i]);
    }
    for (size_t i = 0; i < wrote->bins_count; i++)
        assert_memory_equal(&got->bins[i], &wrote->bins[i], sizeof got->bins[i]);
    assert_memory_equal(got->reuse_pairs, wrote->reuse_pairs, sizeof got->reuse_pairs[0]);
    for (size_t i = 0; i < 2; i++) {
        assert_string_equal(got->paces[i].calibration, "by the stars");
        assert_memory_equal(&got->paces[i], &wrote->paces[i],
                            offsetof(struct profile_pace, calibration));
        assert_memory_equal(&got->caches[i], &wrote->caches[i], sizeof got->caches[i]);
        assert_memory_equal(&got->what_ifs[i], &wrote->what_ifs[i], sizeof got->what_ifs[i]);
        assert_memory_equal(&got->frame_loops[i], &wrote->frame_loops[i],
                            sizeof got->frame_loops[i]);
        const struct profile_loop *loop = &got->loops[1 + i], *other = &wrote->loops[1 + i];
        same_text(loop->function, other->function);
        same_text(loop->file, other->file);
        assert_true(loop->parent == other->parent && loop->module == other->module &&
                    loop->address == other->address && loop->line == other->line);
    }
    assert_memory_equal(got->traits, wrote->traits, 3 * sizeof got->traits[0]);
    struct profile_pair known = {.kind = PROFILE_LOAD, .first = 2, .second = 1};
    assert_int_equal(profile_trait_of(got, &known)->reach, PROFILE_REACH_CALL);
    known.second = 2;
    assert_null(profile_trait_of(got, &known));
    same_version_4(got, wrote);
    same_version_5(got, wrote);
    struct profile_reuse total = profile_reuse_total(got);
    assert_true(total.accesses == 2001 && total.locations == 200.5 && total.stack == 1);
    assert_true(total.share_first == 1 && total.share_last == 1.0 / 7 && total.unit_bytes == 64);
    assert_true(profile_exact_total(got).stores == 4000 && profile_exact_total(got).threads == 4);
    assert_int_equal(got->run.exit_code, 3);
    assert_int_equal(got->run.exit_signal, -1);
    profile_free(got);
    profile_free(wrote);
}

static void is_private_and_keeps_the_previous(void **state)
{
    struct stat info;
    const char *path = in_directory("kept.headroom"), *old = in_directory("kept.headroom.old");
    mode_t before = umask(0);
    write_small(path);
    umask(before);
    assert_int_equal(stat(path, &info), 0);
    assert_int_equal(info.st_mode & 07777, 0600);
    ino_t first = info.st_ino;
    assert_int_equal(stat(old, &info), -1);
    write_small(path);
    assert_int_equal(stat(old, &info), 0);
    assert_int_equal(info.st_ino, first);
    unsigned count = entries();
    write_small(path);
    assert_int_equal(entries(), count); /* no temporary file stays */
}

static void odd_names_work(void **state)
{
    char error[PROFILE_ERROR_BYTES];
    const char *path = in_directory("a b?c#d%20'\".headroom");
    write_small(path);
    assert_int_equal(try_read(path, error), BASE_OK);
}

static void refuses_links_and_other_files(void **state)
{
    char error[PROFILE_ERROR_BYTES];
    struct stat info;
    struct profile *profile = small_profile();
    const char *target = in_directory("target"), *link = in_directory("link");
    assert_int_equal(symlink(target, link), 0);
    assert_int_equal(profile_write(profile, link, error, sizeof error), BASE_DENIED);
    one_sentence(error);
    assert_int_equal(profile_output_check(link, error, sizeof error), BASE_DENIED);
    assert_int_equal(lstat(target, &info), -1);
    assert_int_equal(lstat(link, &info), 0);
    assert_true(S_ISLNK(info.st_mode));
    assert_int_equal(profile_write(profile, directory, error, sizeof error), BASE_DENIED);
    one_sentence(error);
    assert_int_equal(profile_write(profile, "/dev/null", error, sizeof error), BASE_DENIED);
    one_sentence(error);
    assert_int_equal(profile_write(profile, in_directory("none/x"), error, sizeof error),
                     BASE_NOT_FOUND);
    one_sentence(error);
    assert_int_equal(profile_write(profile, "", error, sizeof error), BASE_NOT_FOUND);
    one_sentence(error);
    /* A link in place of the previous profile's name is replaced, not followed. */
    const char *path = in_directory("linked-old"), *old = in_directory("linked-old.old");
    assert_int_equal(symlink(target, old), 0);
    write_small(path);
    write_small(path);
    assert_int_equal(lstat(target, &info), -1);
    assert_int_equal(lstat(old, &info), 0);
    assert_true(S_ISREG(info.st_mode));
    profile_free(profile);
}

static void output_check_leaves_nothing(void **state)
{
    char error[PROFILE_ERROR_BYTES];
    unsigned count = entries();
    assert_int_equal(profile_output_check(in_directory("new"), error, sizeof error), BASE_OK);
    assert_int_equal(entries(), count);
}

/* Some 500 KiB. */
static struct profile *large_profile(void)
{
    struct profile *profile = small_profile();
    char name[2000];
    memset(name, 'x', sizeof name);
    name[sizeof name - 1] = 0;
    for (uint32_t i = 0; i < 200; i++) {
        snprintf(name, 8, "%07u", i);
        name[7] = 'x';
        add_frame(profile, profile_keep(profile, name), i);
    }
    return profile;
}

static void full_disk_leaves_what_was_there(void **state)
{
    char error[PROFILE_ERROR_BYTES];
    const char *mounted = in_directory("small"), *path = in_directory("small/p.headroom");
    assert_int_equal(mkdir(mounted, 0700), 0);
    if (geteuid() != 0 || mount("none", mounted, "tmpfs", 0, "size=640k") != 0) {
        /* cmocka's "not ok # SKIP" reads as a failure. */
        print_message("# not tested: not allowed to mount a small file system\n");
        return;
    }
    write_small(path);
    struct profile *profile = large_profile();
    enum base_status status = profile_write(profile, path, error, sizeof error);
    enum base_status old = try_read(path, (char[PROFILE_ERROR_BYTES]){0});
    char listing[256];
    snprintf(listing, sizeof listing, "test \"$(ls -A '%s')\" = p.headroom", mounted);
    int leftover = system(listing);
    umount(mounted);
    profile_free(profile);
    assert_int_equal(status, BASE_IO);
    one_sentence(error);
    assert_non_null(strstr(error, "no space left"));
    assert_int_equal(old, BASE_OK);
    assert_int_equal(leftover, 0);
}

/* A chain of contexts that deep, all of one frame. */
static struct profile *deep_profile(uint32_t depth)
{
    struct profile *profile = small_profile();
    uint32_t frame = add_frame(profile, "chain", 1), context = 0;
    for (uint32_t i = 0; i < depth; i++)
        context = add_context(profile, context, frame);
    return profile;
}

static void contexts_deeper_than_any_recording_are_refused(void **state)
{
    char error[PROFILE_ERROR_BYTES];
    const char *path = in_directory("deep.headroom");
    for (uint32_t over = 0; over < 2; over++) {
        struct profile *profile = deep_profile(PROFILE_DEPTH_MAX + over);
        assert_int_equal(profile_depth(profile), PROFILE_DEPTH_MAX + over);
        assert_int_equal(profile_write(profile, path, error, sizeof error), BASE_OK);
        profile_free(profile);
        assert_int_equal(try_read(path, error), over ? BASE_TOO_LARGE : BASE_OK);
    }
    one_sentence(error);
    assert_non_null(strstr(error, "more than 2048 frames deep"));
    unlink(path);
    unlink(in_directory("deep.headroom.old"));
}

/* What is merged cannot be much larger than what it is made of. */
static void more_than_was_read_is_not_written(void **state)
{
    char error[PROFILE_ERROR_BYTES];
    const char *path = in_directory("grown.headroom");
    struct profile *profile = large_profile();
    write_small(path);
    unsigned count = entries();
    for (uint32_t i = 0; i < 100000; i++)
        add_context(profile, 0, 1);
    profile->file_bytes = 1000;
    assert_int_equal(profile_write(profile, path, error, sizeof error), BASE_TOO_LARGE);
    one_sentence(error);
    assert_non_null(strstr(error, "four times as large"));
    assert_int_equal(entries(), count);
    assert_int_equal(try_read(path, error), BASE_OK);
    profile->file_bytes = 1 << 20;
    assert_int_equal(profile_write(profile, path, error, sizeof error), BASE_OK);
    profile_free(profile);
}

static void limited_file_size_leaves_what_was_there(void **state)
{
    char error[PROFILE_ERROR_BYTES];
    const char *path = in_directory("limited.headroom");
    struct rlimit before, limit;
    struct profile *profile = large_profile();
    write_small(path);
    unsigned count = entries();
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    limit = (struct rlimit){100 << 10, before.rlim_max};
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
    enum base_status status = profile_write(profile, path, error, sizeof error);
    setrlimit(RLIMIT_FSIZE, &before);
    signal(SIGXFSZ, SIG_DFL);
    profile_free(profile);
    assert_int_equal(status, BASE_IO);
    one_sentence(error);
    assert_int_equal(entries(), count);
    assert_int_equal(try_read(path, error), BASE_OK);
}

static void unwritable_directory_is_told(void **state)
{
    const char *locked = in_directory("locked");
    assert_int_equal(mkdir(locked, 0500), 0);
    const char *path = in_directory("locked/p");
    pid_t child = fork();
    if (child == 0) {
        char error[PROFILE_ERROR_BYTES] = "";
        if (geteuid() == 0 && (setgid(65534) != 0 || setuid(65534) != 0))
            _exit(2);
        _exit(profile_output_check(path, error, sizeof error) == BASE_DENIED && error[0] ? 0 : 1);
    }
    int status = -1;
    waitpid(child, &status, 0);
    assert_int_equal(status, 0);
}

/* ---- inconsistent profiles ------------------------------------------------------------------ */

static void check_sees_every_fault(void **state)
{
    struct profile *profile = small_profile();
#define PLANT(place, value)                                                                        \
    do {                                                                                           \
        __typeof__(place) right = place;                                                           \
        place = value;                                                                             \
        assert_false(profile_check(profile));                                                      \
        place = right;                                                                             \
        assert_true(profile_check(profile));                                                       \
    } while (0)
    PLANT(profile->contexts[2].parent, 2);
    PLANT(profile->contexts[2].parent, 7);
    PLANT(profile->contexts[2].frame, 0);
    PLANT(profile->contexts[2].frame, 1000);
    PLANT(profile->frames[1].module, 2);
    PLANT(profile->modules[1].detail, PROFILE_DETAILS);
    PLANT(profile->modules[1].build_id_bytes, 33);
    PLANT(profile->modules[1].path, NULL);
    PLANT(profile->pairs[0].kind, PROFILE_SILENT);
    PLANT(profile->pairs[0].kind, 77);
    PLANT(profile->pairs[0].first, 1000);
    PLANT(profile->pairs[0].second, 1000);
    PLANT(profile->pairs[0].waste_bytes, NAN);
    PLANT(profile->pairs[0].use_bytes, -1);
    PLANT(profile->pairs[0].waste_squares, INFINITY);
    PLANT(profile->pairs[0].waste_traps, UINT64_MAX);
    PLANT(profile->sampled[0].context, 1000);
    PLANT(profile->sampled[0].weight, NAN);
    PLANT(profile->kinds[0].kind, PROFILE_KINDS);
    PLANT(profile->kinds[0].samples, UINT64_MAX);
    PLANT(profile->counters[0].thread, 1);
    PLANT(profile->counters[0].name, NULL);
    PLANT(profile->arguments[0].text, NULL);
    PLANT(profile->degraded[0].text, NULL);
    PLANT(profile->drops[0].count, 8);
    PLANT(profile->exacts[1].process, 1);
    PLANT(profile->exacts[0].kernel_store_bytes, UINT64_MAX);
    PLANT(profile->reuses[1].process, 1);
    PLANT(profile->reuses[0].unit_bytes, 0);
    PLANT(profile->reuses[0].unit_bytes, 48);
    PLANT(profile->reuses[1].unit_bytes, 8);
    PLANT(profile->reuses[0].stack, 2);
    PLANT(profile->reuses[0].locations, NAN);
    PLANT(profile->reuses[0].share_last, 0);
    PLANT(profile->reuses[0].share_first, 1.5);
    PLANT(profile->reuses[0].kept_locations, UINT64_MAX);
    PLANT(profile->bins[0].which, 3);
    PLANT(profile->bins[0].which, 1);
    PLANT(profile->bins[0].process, 9);
    PLANT(profile->bins[1].bin, 3);
    PLANT(profile->bins[1].lo, 39);
    PLANT(profile->bins[1].hi, 40);
    PLANT(profile->bins[17].hi, UINT64_MAX);
    PLANT(profile->bins[0].weight, INFINITY);
    PLANT(profile->reuse_pairs[0].use, 4);
    PLANT(profile->reuse_pairs[0].reuse, 4);
    PLANT(profile->reuse_pairs[0].count, UINT64_MAX);
    PLANT(profile->reuse_pairs[0].weight, -1);
    PLANT(profile->reuse_pairs[0].time, NAN);
    PLANT(profile->reuse_pairs[0].time_squares, INFINITY);
    PLANT(profile->reuse_pairs[0].stack_squares, -1);
    PLANT(profile->paces[1].process, 1);
    PLANT(profile->paces[0].process, 3);
    PLANT(profile->paces[1].process, 8);
    PLANT(profile->paces[0].calibration, NULL);
    PLANT(profile->paces[0].accesses_per_ns, 0.25);
    PLANT(profile->paces[0].accesses_per_ns, 3);
    PLANT(profile->paces[0].accesses_per_ns, NAN);
    PLANT(profile->paces[0].low, 0);
    PLANT(profile->paces[0].high, INFINITY);
    PLANT(profile->paces[0].trap_ns, -1);
    PLANT(profile->paces[0].floor_ns, NAN);
    PLANT(profile->caches[0].bytes, 0);
    PLANT(profile->caches[1].bytes, 16384);
    PLANT(profile->caches[1].bytes, UINT64_MAX);
    PLANT(profile->caches[0].level, 0);
    PLANT(profile->caches[0].level, 10);
    PLANT(profile->what_ifs[0].bytes, 0);
    PLANT(profile->what_ifs[0].bytes, UINT64_MAX);
    PLANT(profile->what_ifs[0].line_bytes, 0);
    PLANT(profile->what_ifs[0].misses, 1001);
    PLANT(profile->what_ifs[0].accesses, UINT64_MAX);
    PLANT(profile->loops[1].parent, 1);
    PLANT(profile->loops[2].parent, 5);
    PLANT(profile->loops[2].module, 9);
    PLANT(profile->frame_loops[0].frame, 99);
    PLANT(profile->frame_loops[1].frame, 1);
    PLANT(profile->frame_loops[0].loop, 3);
    PLANT(profile->traits[0].reach, PROFILE_REACHES);
    PLANT(profile->traits[0].first, 99);
    PLANT(profile->traits[0].kind, PROFILE_LOAD);
    PLANT(profile->traits[0].near_bytes, -1);
    PLANT(profile->loops_count, 0);
    PLANT(profile->span_functions_count, 0);
    PLANT(profile->span_functions[1].function, NULL);
    PLANT(profile->span_functions[1].module, 2);
    PLANT(profile->span_functions[1].class, 256);
    PLANT(profile->span_threads[0].duration_ns, NAN);
    PLANT(profile->span_threads[1].cost_ns, -1);
    PLANT(profile->span_threads[1].events, UINT64_MAX);
    PLANT(profile->span_threads_count, 1);
    PLANT(profile->spans[0].function, 2);
    PLANT(profile->spans[0].function, 0);
    PLANT(profile->spans[1].function, 1);
    PLANT(profile->spans[0].max_ns, INFINITY);
    PLANT(profile->spans[0].sleeps, UINT64_MAX);
    PLANT(profile->spans_count, 1);
    PLANT(profile->span_parts[0].span, 2);
    PLANT(profile->span_parts[0].span, 1);
    PLANT(profile->span_parts[1].thread, 0);
    PLANT(profile->span_parts[1].thread, 2);
    PLANT(profile->span_parts[0].recorded, 2001);
    PLANT(profile->span_parts[0].count, UINT64_MAX);
    PLANT(profile->span_parts[0].sum_ns, -1);
    PLANT(profile->span_parts[0].within_ns, NAN);
    PLANT(profile->span_bins[0].span, 1);
    PLANT(profile->span_bins[2].span, 2);
    PLANT(profile->span_bins[1].low_ns, 8);
    PLANT(profile->span_bins[1].high_ns, 8);
    PLANT(profile->span_bins[0].count, UINT64_MAX);
    PLANT(profile->span_children[0].function, 0);
    PLANT(profile->span_children[0].function, 2);
    PLANT(profile->span_children[0].span, 2);
    PLANT(profile->span_stacks[0].span, 2);
    PLANT(profile->span_stacks[1].span, 3);
    PLANT(profile->span_stacks[1].context, 1000);
    PLANT(profile->span_stacks[1].lost_ns, NAN);
    PLANT(profile->span_holders[0].span, 2);
    PLANT(profile->span_holders[1].context, 1000);
    PLANT(profile->span_holders[1].times, UINT64_MAX);
    PLANT(profile->span_samples[0].span, 2);
    PLANT(profile->span_samples[1].ns, -1);
    PLANT(profile->span_skips[0].function, NULL);
    PLANT(profile->span_skips[0].why, NULL);
    PLANT(profile->span_runs[0].ns_per_tick, NAN);
    PLANT(profile->span_runs[0].no_areas, UINT64_MAX);
    PLANT(profile->path_functions_count, 0);
    PLANT(profile->path_functions[1].module, 2);
    PLANT(profile->path_functions[1].table_kind, PROFILE_TABLES);
    PLANT(profile->path_functions[1].reason, PROFILE_PATH_REASONS);
    PLANT(profile->path_functions[2].why, NULL);
    PLANT(profile->path_functions[1].potential, UINT64_MAX);
    PLANT(profile->path_functions[2].potential_log2, NAN);
    PLANT(profile->path_functions[2].potential_log2, -1);
    PLANT(profile->path_blocks[0].function, 0);
    PLANT(profile->path_blocks[2].function, 4);
    PLANT(profile->path_blocks[2].function, 1);
    PLANT(profile->path_blocks[1].block, 0);
    PLANT(profile->path_blocks[0].lines, 1);
    PLANT(profile->path_blocks[1].first_line, 0);
    PLANT(profile->path_blocks[2].lines, UINT32_MAX);
    PLANT(profile->path_lines_count, 2);
    PLANT(profile->path_lines_count, 4);
    PLANT(profile->paths[0].function, 0);
    PLANT(profile->paths[2].function, 4);
    PLANT(profile->paths[0].function, 2);
    PLANT(profile->paths[1].number, 0);
    PLANT(profile->paths[2].number, UINT64_MAX);
    PLANT(profile->paths[0].flags, 8);
    PLANT(profile->paths[0].flags, PROFILE_PATH_FROM_ROOT | PROFILE_PATH_FROM_CUT);
    PLANT(profile->paths[0].count, 0);
    PLANT(profile->paths[0].count, UINT64_MAX);
    PLANT(profile->paths[0].instructions, UINT64_MAX);
    PLANT(profile->paths[0].cycles, NAN);
    PLANT(profile->paths[0].measured, 11);
    PLANT(profile->paths[0].misses, INFINITY);
    PLANT(profile->paths[0].events, 1e31);
    PLANT(profile->paths[0].steps, 0);
    PLANT(profile->paths[0].steps, 1);
    PLANT(profile->paths[1].first_step, 0);
    PLANT(profile->paths[2].steps, UINT32_MAX);
    PLANT(profile->path_steps[0].block, 2);
    PLANT(profile->path_steps[3].block, 3);
    PLANT(profile->path_steps_count, 3);
    PLANT(profile->path_steps_count, 5);
    PLANT(profile->vertices_count, 0);
    PLANT(profile->vertices[2].parent, 2);
    PLANT(profile->vertices[2].parent, 9);
    PLANT(profile->vertices[1].function, 4);
    PLANT(profile->vertices[2].function, 2);
    PLANT(profile->vertices[2].count, UINT64_MAX);
    PLANT(profile->vertices[2].call_sites_used, 3);
    PLANT(profile->vertices[2].call_sites_one_path, 2);
    PLANT(profile->vertices[3].cycles, NAN);
    PLANT(profile->vertices[3].measured, UINT64_MAX);
    PLANT(profile->vertices[3].misses, INFINITY);
    PLANT(profile->vertices[3].instructions, 1e31);
    PLANT(profile->vertex_paths[0].vertex, 0);
    PLANT(profile->vertex_paths[2].vertex, 4);
    PLANT(profile->vertex_paths[2].path, 3);
    PLANT(profile->vertex_paths[2].path, 1);
    PLANT(profile->vertex_paths[1].path, 0);
    PLANT(profile->vertex_paths[0].count, UINT64_MAX);
    PLANT(profile->path_runs[0].modes, PROFILE_PATH_MODES + 1);
    PLANT(profile->path_runs[0].cache_bytes, UINT64_MAX);
    PLANT(profile->path_runs[0].lost_pieces, UINT64_MAX);
    PLANT(profile->path_runs[0].cycles_per_read, -1);
    PLANT(profile->path_runs[0].cycles_per_ns, NAN);
    PLANT(profile->pairs[0].kind, PROFILE_REUSE);
    PLANT(profile->run.attempted, 106);
    PLANT(profile->run.stored, UINT64_MAX);
    PLANT(profile->run.verb, NULL);
    PLANT(profile->run.wall_s, NAN);
    PLANT(profile->run.exit_code, 256);
    char error[PROFILE_ERROR_BYTES];
    profile->run.attempted = 0;
    assert_int_equal(profile_write(profile, in_directory("wrong"), error, sizeof error),
                     BASE_MALFORMED);
    one_sentence(error);
    profile_free(profile);
}

/* ---- hostile files --------------------------------------------------------------------------- */

static void edit(const char *path, const char *sql)
{
    sqlite3 *db;
    char *message = NULL;
    assert_int_equal(sqlite3_open_v2(path, &db, SQLITE_OPEN_READWRITE, NULL), SQLITE_OK);
    int result = sqlite3_exec(db, sql, NULL, NULL, &message);
    if (result != SQLITE_OK)
        print_error("%s: %s\n", sql, message);
    assert_int_equal(result, SQLITE_OK);
    sqlite3_close(db);
}

static void edited_files_are_refused(void **state)
{
    static const char *const edits[] = {
        "UPDATE context SET parent = 3 WHERE id = 2",
        "UPDATE context SET parent = id WHERE id = 3",
        "UPDATE context SET frame = 99 WHERE id = 1",
        "UPDATE context SET id = 9 WHERE id = 3",
        "UPDATE frame SET module = 5",
        "UPDATE frame SET function = 77 WHERE id = 1",
        "UPDATE frame SET line = 'abc'",
        "UPDATE frame SET line = -1",
        "UPDATE frame SET line = 4294967296",
        "UPDATE module SET detail = 9",
        "UPDATE module SET build_id = zeroblob(100)",
        "UPDATE module SET path = x'00ff'",
        "UPDATE module SET path = 'a' || char(0) || 'b'",
        "UPDATE pair SET waste_bytes = 9e999",
        "UPDATE pair SET waste_bytes = -1",
        "UPDATE pair SET waste_bytes = 'much'",
        "UPDATE pair SET kind = 2",
        "UPDATE pair SET waste_traps = 9223372036854775807",
        "UPDATE kind SET samples = 9223372036854775807",
        "UPDATE dropped SET count = 6",
        "UPDATE thread_counter SET thread = 3",
        "UPDATE run SET value = NULL WHERE key = 'verb'",
        "UPDATE run SET value = 'x' WHERE key = 'wall_s'",
        "DELETE FROM run WHERE key = 'engine'",
        "UPDATE name SET text = zeroblob(10) WHERE id = 1",
        "DELETE FROM name",
        "DROP TABLE sampled",
        "UPDATE exact SET loads = -1",
        "UPDATE exact SET process = 4294967296 WHERE process = 7",
        "UPDATE reuse SET unit_bytes = 65 WHERE process = 7",
        "UPDATE reuse SET share_last = 0",
        "UPDATE reuse SET accesses = 'many'",
        "UPDATE histogram SET lo = hi",
        "UPDATE histogram SET which = 3 WHERE which = 1",
        "UPDATE histogram SET weight = 9e999",
        "UPDATE histogram SET lo = 0 WHERE bin = 5",
        "UPDATE reuse_pair SET use = 77",
        "UPDATE pace SET accesses_per_ns = 9 WHERE process = 1",
        "UPDATE pace SET low = 0",
        "UPDATE pace SET calibration = x'00ff'",
        "UPDATE pace SET process = 4294967296 WHERE process = 7",
        "UPDATE cache SET level = 0",
        "UPDATE cache SET bytes = -1",
        "UPDATE cache SET bytes = 1 WHERE position = 1",
        "UPDATE what_if SET misses = accesses + 1",
        "UPDATE what_if SET bytes = 0",
        "UPDATE loop SET parent = id",
        "UPDATE loop SET module = 2",
        "UPDATE loop SET function = 77",
        "UPDATE loop SET id = 9 WHERE id = 2",
        "DELETE FROM loop",
        "UPDATE frame_loop SET loop = 3",
        "UPDATE frame_loop SET frame = 99 WHERE frame = 3",
        "UPDATE pair SET kind = 3",
        "UPDATE pair_trait SET reach = 7",
        "UPDATE pair_trait SET second = 99",
        "UPDATE path_function SET why = NULL WHERE id = 3",
        "UPDATE path_function SET module = 2",
        "UPDATE path_function SET function = 77 WHERE id = 1",
        "DELETE FROM path_function",
        "UPDATE path_block SET function = 9 WHERE id = 2",
        "UPDATE path_block SET lines = 4294967295",
        "UPDATE path_block SET block = 2 WHERE id = 0",
        "DELETE FROM path_line WHERE id = 2",
        "INSERT INTO path_line VALUES(3, NULL, NULL, 1)",
        "UPDATE path SET first_step = 0",
        "UPDATE path SET steps = 4294967295 WHERE id = 2",
        "UPDATE path SET count = 0",
        "UPDATE path SET number = -1 WHERE id = 0",
        "UPDATE path SET function = 2 WHERE id = 0",
        "UPDATE path SET cycles = 9e999",
        "UPDATE path_step SET block = 3",
        "DELETE FROM path_step WHERE id = 3",
        "UPDATE vertex SET parent = id",
        "UPDATE vertex SET function = 99 WHERE id = 1",
        "UPDATE vertex_path SET path = 2 WHERE path = 1",
        "UPDATE vertex_path SET vertex = 9 WHERE vertex = 3",
        "UPDATE path_run SET modes = 64",
        "INSERT INTO path_run SELECT 1, modes, 0, 0, 0, 0, 0, 0, NULL FROM path_run",
        "DROP TABLE vertex",
        "DROP TABLE frame_loop",
        "UPDATE reuse_pair SET time_squares = -1",
        "CREATE TABLE extra(x)",
        "CREATE VIEW v AS SELECT 1",
        "CREATE INDEX i ON pair(first)",
        "CREATE TRIGGER t AFTER INSERT ON run BEGIN SELECT 1; END",
        "DROP TABLE argument; CREATE VIEW argument AS SELECT 0 AS position, 'x' AS text",
        "DROP TABLE context; CREATE TABLE context(id, parent, frame)",
        "PRAGMA application_id = 5",
        "PRAGMA user_version = 0",
        "PRAGMA user_version = -5",
    };
    char error[PROFILE_ERROR_BYTES];
    for (size_t i = 0; i < sizeof edits / sizeof edits[0]; i++) {
        const char *path = in_directory("edited.headroom");
        write_small(path);
        edit(path, edits[i]);
        enum base_status status = try_read(path, error);
        if (status != BASE_MALFORMED)
            print_error("%s\n", edits[i]);
        assert_int_equal(status, BASE_MALFORMED);
        one_sentence(error);
    }
}

static void harmless_edits_are_read(void **state)
{
    char error[PROFILE_ERROR_BYTES];
    const char *path = in_directory("harmless.headroom");
    write_small(path);
    edit(path, "INSERT INTO run VALUES('a key of the future', 5); UPDATE frame SET line = 13");
    assert_int_equal(try_read(path, error), BASE_OK);
    edit(path, "VACUUM");
    assert_int_equal(try_read(path, error), BASE_OK);
}

static void newer_files_are_told(void **state)
{
    char error[PROFILE_ERROR_BYTES];
    const char *path = in_directory("newer.headroom");
    char future[64];
    snprintf(future, sizeof future, "PRAGMA user_version = %d; CREATE TABLE future(x)",
             PROFILE_VERSION + 1);
    write_small(path);
    edit(path, future);
    assert_int_equal(try_read(path, error), BASE_TOO_NEW);
    one_sentence(error);
    assert_non_null(strstr(error, "newer headroom"));
}

/* A file of version 1, as the headroom of that time wrote it. */
static const char version_1[] =
    "CREATE TABLE name(id INTEGER PRIMARY KEY, text TEXT NOT NULL);"
    "INSERT INTO name VALUES(1,'main');"
    "INSERT INTO name VALUES(2,'/src/a.c');"
    "INSERT INTO name VALUES(3,'fill');"
    "INSERT INTO name VALUES(4,'hops');"
    "CREATE TABLE run(key TEXT PRIMARY KEY, value) WITHOUT ROWID;"
    "INSERT INTO run VALUES('attempted',107);"
    "INSERT INTO run VALUES('corrupt_records',0);"
    "INSERT INTO run VALUES('cpu',NULL);"
    "INSERT INTO run VALUES('cpu_s',1.0);"
    "INSERT INTO run VALUES('engine','live');"
    "INSERT INTO run VALUES('exit_code',3);"
    "INSERT INTO run VALUES('exit_signal',-1);"
    "INSERT INTO run VALUES('fp_tolerance',0.010000000000000000208);"
    "INSERT INTO run VALUES('handler_ns',0);"
    "INSERT INTO run VALUES('host',NULL);"
    "INSERT INTO run VALUES('interval_ns',0);"
    "INSERT INTO run VALUES('kernel',NULL);"
    "INSERT INTO run VALUES('lost_processes',0);"
    "INSERT INTO run VALUES('lost_threads',0);"
    "INSERT INTO run VALUES('period',0);"
    "INSERT INTO run VALUES('processes',1);"
    "INSERT INTO run VALUES('registers',0);"
    "INSERT INTO run VALUES('source','clock');"
    "INSERT INTO run VALUES('start_ns',0);"
    "INSERT INTO run VALUES('stored',100);"
    "INSERT INTO run VALUES('threads',1);"
    "INSERT INTO run VALUES('verb','waste');"
    "INSERT INTO run VALUES('version','0.1.0');"
    "INSERT INTO run VALUES('wall_s',1.25);"
    "INSERT INTO run VALUES('watch_kernel',0);"
    "INSERT INTO run VALUES('weighting','cpu-time');"
    "CREATE TABLE module(id INTEGER PRIMARY KEY, path TEXT NOT NULL, build_id BLOB, detail "
    "INTEGER NOT NULL);"
    "INSERT INTO module VALUES(1,'/bin/prog',X'abababababababababababababababababababab',0)"
    ";"
    "CREATE TABLE frame(id INTEGER PRIMARY KEY, function INTEGER, file INTEGER, line "
    "INTEGER NOT NULL, column INTEGER NOT NULL, module INTEGER NOT NULL, address INTEGER "
    "NOT NULL, flags INTEGER NOT NULL);"
    "INSERT INTO frame VALUES(1,1,2,40,0,1,-10485720,0);"
    "INSERT INTO frame VALUES(2,3,2,12,0,1,-10485748,0);"
    "INSERT INTO frame VALUES(3,NULL,2,0,0,1,-10485760,0);"
    "CREATE TABLE context(id INTEGER PRIMARY KEY, parent INTEGER NOT NULL, frame INTEGER "
    "NOT NULL);"
    "INSERT INTO context VALUES(1,0,1);"
    "INSERT INTO context VALUES(2,1,2);"
    "INSERT INTO context VALUES(3,1,3);"
    "CREATE TABLE kind(kind INTEGER PRIMARY KEY, samples INTEGER NOT NULL, armed INTEGER "
    "NOT NULL, traps INTEGER NOT NULL, ignored INTEGER NOT NULL, evicted INTEGER NOT NULL, "
    "abandoned INTEGER NOT NULL, blind_longest INTEGER NOT NULL);"
    "INSERT INTO kind VALUES(0,100,90,80,0,0,0,3);"
    "CREATE TABLE pair(kind INTEGER NOT NULL, first INTEGER NOT NULL, second INTEGER NOT "
    "NULL, waste_bytes REAL NOT NULL, use_bytes REAL NOT NULL, waste_squares REAL NOT "
    "NULL, use_squares REAL NOT NULL, samples REAL NOT NULL, waste_traps INTEGER NOT NULL, "
    "use_traps INTEGER NOT NULL, kernel_traps INTEGER NOT NULL, likely_traps INTEGER NOT "
    "NULL, float_traps INTEGER NOT NULL, PRIMARY KEY(kind, first, second)) WITHOUT ROWID;"
    "INSERT INTO pair VALUES(0,2,2,0.0,320.49999999999999999,0.0,2564.0,80.0,0,40,0,0,0);"
    "INSERT INTO pair VALUES(0,2,3,320.49999999999999999,0.0,2564.0,0.0,80.0,40,0,0,1,0);"
    "CREATE TABLE sampled(kind INTEGER NOT NULL, context INTEGER NOT NULL, samples INTEGER "
    "NOT NULL, armed INTEGER NOT NULL, weight REAL NOT NULL, PRIMARY KEY(kind, context)) "
    "WITHOUT ROWID;"
    "INSERT INTO sampled VALUES(0,2,100,90,100.49999999999999999);"
    "CREATE TABLE dropped(position INTEGER PRIMARY KEY, reason TEXT NOT NULL, meaning TEXT "
    "NOT NULL, count INTEGER NOT NULL);"
    "INSERT INTO dropped VALUES(0,'kernel','the tick fell',7);"
    "CREATE TABLE process(position INTEGER PRIMARY KEY, id INTEGER NOT NULL, parent "
    "INTEGER NOT NULL, pid INTEGER NOT NULL, forked INTEGER NOT NULL, exe TEXT, start_ns "
    "INTEGER NOT NULL);"
    "INSERT INTO process VALUES(0,1,4294967295,99,0,'/bin/prog',5);"
    "CREATE TABLE thread(position INTEGER PRIMARY KEY, id INTEGER NOT NULL, process "
    "INTEGER NOT NULL, tid INTEGER NOT NULL, name TEXT, cpu_ns INTEGER NOT NULL, attempted "
    "INTEGER NOT NULL, stored INTEGER NOT NULL);"
    "INSERT INTO thread VALUES(0,1,1,99,'prog',1000,107,100);"
    "CREATE TABLE thread_counter(position INTEGER PRIMARY KEY, thread INTEGER NOT NULL, "
    "name INTEGER NOT NULL, value INTEGER NOT NULL);"
    "INSERT INTO thread_counter VALUES(0,0,4,4);"
    "CREATE TABLE argument(position INTEGER PRIMARY KEY, text TEXT NOT NULL);"
    "INSERT INTO argument VALUES(0,'prog');"
    "INSERT INTO argument VALUES(1,'\377 weird ''arg''');"
    "CREATE TABLE degraded(position INTEGER PRIMARY KEY, text TEXT NOT NULL);"
    "INSERT INTO degraded VALUES(0,'something was degraded');";

static void files_of_version_1_are_read(void **state)
{
    char error[PROFILE_ERROR_BYTES];
    const char *path = in_directory("version-1.headroom");
    struct profile *got = NULL, *small = small_profile();
    sqlite3 *db;
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    sqlite3_close(db);
    edit(path, "PRAGMA application_id = 0x48445246; PRAGMA user_version = 1");
    edit(path, version_1);
    assert_int_equal(profile_read(path, &got, error, sizeof error), BASE_OK);
    assert_int_equal(got->exacts_count + got->reuses_count + got->bins_count, 0);
    assert_int_equal(got->reuse_pairs_count, 0);
    assert_int_equal(got->contexts_count, small->contexts_count);
    assert_int_equal(got->pairs_count, 2);
    assert_true(got->pairs[1].waste_bytes == 320.5 && got->run.wall_s == 1.25);
    assert_string_equal(got->arguments[1].text, "\xff weird 'arg'");
    assert_true(profile_reuse_total(got).unit_bytes == 0);
    /* Written again it is of this version. */
    assert_int_equal(profile_write(got, path, error, sizeof error), BASE_OK);
    assert_int_equal(try_read(path, error), BASE_OK);
    profile_free(got);
    profile_free(small);
    /* A table of version 2 has no place in a file of version 1, nor may one be missing later. */
    const char *mixed = in_directory("mixed.headroom");
    write_small(mixed);
    edit(mixed, "PRAGMA user_version = 1");
    assert_int_equal(try_read(mixed, error), BASE_MALFORMED);
    write_small(mixed);
    edit(mixed, "DROP TABLE histogram");
    assert_int_equal(try_read(mixed, error), BASE_MALFORMED);
}

/* What version 2 added: such a file is one of version 1 with these tables at its end. */
static const char version_2[] =
    "CREATE TABLE exact(process INTEGER PRIMARY KEY, threads INTEGER NOT NULL, loads INTEGER NOT "
    "NULL, stores INTEGER NOT NULL, load_bytes INTEGER NOT NULL, store_bytes INTEGER NOT NULL, "
    "fresh_load_bytes INTEGER NOT NULL, fresh_store_bytes INTEGER NOT NULL, kernel_load_bytes "
    "INTEGER NOT NULL, kernel_store_bytes INTEGER NOT NULL, ids INTEGER NOT NULL, contexts "
    "INTEGER NOT NULL, instructions INTEGER NOT NULL);"
    "INSERT INTO exact VALUES(1,2,1000,2000,8000,16000,0,0,0,0,5,6,9000);"
    "INSERT INTO exact VALUES(7,2,1000,2000,8000,16000,0,0,0,0,5,6,9000);"
    "CREATE TABLE reuse(process INTEGER PRIMARY KEY, unit_bytes INTEGER NOT NULL, stack INTEGER "
    "NOT NULL, accesses REAL NOT NULL, reuses REAL NOT NULL, locations REAL NOT NULL, "
    "never_reused REAL NOT NULL, share_first REAL NOT NULL, share_last REAL NOT NULL, "
    "kept_accesses INTEGER NOT NULL, kept_locations INTEGER NOT NULL);"
    "INSERT INTO reuse VALUES(1,64,1,1000.5,900.25,100.25,50.0,1.0,1.0,1000,100);"
    "INSERT INTO reuse VALUES(7,64,1,1000.5,900.25,100.25,50.0,1.0,0.25,1000,100);"
    "CREATE TABLE histogram(process INTEGER NOT NULL, which INTEGER NOT NULL, bin INTEGER NOT "
    "NULL, lo INTEGER NOT NULL, hi INTEGER NOT NULL, weight REAL NOT NULL, PRIMARY KEY(process, "
    "which, bin)) WITHOUT ROWID;"
    "INSERT INTO histogram VALUES(1,0,3,30,40,0.25);"
    "INSERT INTO histogram VALUES(1,1,3,30,40,0.25);"
    "INSERT INTO histogram VALUES(7,0,4,40,50,0.5);"
    "CREATE TABLE reuse_pair(use INTEGER NOT NULL, reuse INTEGER NOT NULL, count INTEGER NOT "
    "NULL, weight REAL NOT NULL, time REAL NOT NULL, time_squares REAL NOT NULL, stack REAL NOT "
    "NULL, stack_squares REAL NOT NULL, PRIMARY KEY(use, reuse)) WITHOUT ROWID;"
    "INSERT INTO reuse_pair VALUES(2,3,7,7.5,1.0e+09,1.0e+20,5.0,6.0);";

static void files_of_version_2_are_read(void **state)
{
    char error[PROFILE_ERROR_BYTES];
    const char *path = in_directory("version-2.headroom");
    struct profile *got = NULL;
    sqlite3 *db;
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    sqlite3_close(db);
    edit(path, "PRAGMA application_id = 0x48445246; PRAGMA user_version = 2");
    edit(path, version_1);
    edit(path, version_2);
    assert_int_equal(profile_read(path, &got, error, sizeof error), BASE_OK);
    assert_true(got->exacts_count == 2 && got->reuses_count == 2 && got->bins_count == 3);
    assert_true(got->exacts[1].stores == 2000 && got->bins[2].hi == 50);
    assert_true(got->reuses[1].share_last == 0.25 && got->reuse_pairs[0].time == 1e9);
    assert_int_equal(got->paces_count + got->caches_count + got->what_ifs_count, 0);
    assert_int_equal(got->loops_count, 1);
    assert_int_equal(got->frame_loops_count, 0);
    assert_int_equal(profile_write(got, path, error, sizeof error), BASE_OK);
    profile_free(got);
    /* Now it is of this version, and nothing of it may be missing. */
    assert_int_equal(try_read(path, error), BASE_OK);
    edit(path, "DROP TABLE pace");
    assert_int_equal(try_read(path, error), BASE_MALFORMED);
    edit(path, "PRAGMA user_version = 2");
    assert_int_equal(try_read(path, error), BASE_MALFORMED);
}

/* What version 3 added to version 2. */
static const char version_3[] =
    "CREATE TABLE pace(process INTEGER PRIMARY KEY, accesses_per_ns REAL NOT NULL, low REAL NOT "
    "NULL, high REAL NOT NULL, trap_ns REAL NOT NULL, floor_ns REAL NOT NULL, calibration TEXT NOT "
    "NULL);"
    "INSERT INTO pace VALUES(1,1.25,0.5,2.5,3000.0,0.5,'by the stars');"
    "CREATE TABLE cache(position INTEGER PRIMARY KEY, level INTEGER NOT NULL, ways INTEGER NOT "
    "NULL, line_bytes INTEGER NOT NULL, sharers INTEGER NOT NULL, bytes INTEGER NOT NULL);"
    "INSERT INTO cache VALUES(0,1,8,64,2,32768);"
    "CREATE TABLE what_if(position INTEGER PRIMARY KEY, bytes INTEGER NOT NULL, ways INTEGER NOT "
    "NULL, line_bytes INTEGER NOT NULL, accesses INTEGER NOT NULL, misses INTEGER NOT NULL);"
    "INSERT INTO what_if VALUES(0,32768,8,64,1000,10);"
    "CREATE TABLE loop(id INTEGER PRIMARY KEY, parent INTEGER NOT NULL, module INTEGER NOT NULL, "
    "address INTEGER NOT NULL, function INTEGER, file INTEGER, line INTEGER NOT NULL);"
    "INSERT INTO loop VALUES(1,0,1,-10485760,1,2,40);"
    "CREATE TABLE frame_loop(frame INTEGER PRIMARY KEY, loop INTEGER NOT NULL);"
    "INSERT INTO frame_loop VALUES(1,1);";

static void files_of_version_3_are_read(void **state)
{
    char error[PROFILE_ERROR_BYTES];
    const char *path = in_directory("version-3.headroom");
    struct profile *got = NULL;
    sqlite3 *db;
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    sqlite3_close(db);
    edit(path, "PRAGMA application_id = 0x48445246; PRAGMA user_version = 3");
    edit(path, version_1);
    edit(path, version_2);
    edit(path, version_3);
    assert_int_equal(profile_read(path, &got, error, sizeof error), BASE_OK);
    assert_true(got->paces_count == 1 && got->loops_count == 2 && got->frame_loops_count == 1);
    assert_true(got->caches[0].bytes == 32768 && got->what_ifs[0].misses == 10);
    assert_true(got->path_functions_count == 1 && got->vertices_count == 1);
    assert_int_equal(got->paths_count + got->path_blocks_count + got->path_runs_count, 0);
    assert_int_equal(profile_write(got, path, error, sizeof error), BASE_OK);
    profile_free(got);
    assert_int_equal(try_read(path, error), BASE_OK);
    edit(path, "DROP TABLE path_run");
    assert_int_equal(try_read(path, error), BASE_MALFORMED);
    edit(path, "PRAGMA user_version = 3");
    assert_int_equal(try_read(path, error), BASE_MALFORMED);
}

/* What version 4 added to version 3. */
static const char version_4[] =
    "CREATE TABLE path_function(id INTEGER PRIMARY KEY, function INTEGER, file INTEGER, "
    "address INTEGER NOT NULL, module INTEGER NOT NULL, line INTEGER NOT NULL, table_kind "
    "INTEGER NOT NULL, reason INTEGER NOT NULL, why INTEGER, blocks INTEGER NOT NULL, "
    "call_sites INTEGER NOT NULL, inline_assembly INTEGER NOT NULL, potential INTEGER NOT "
    "NULL, potential_log2 REAL NOT NULL);"
    "INSERT INTO path_function VALUES(1,1,2,4096,1,40,1,0,NULL,2,0,0,2,1.0);"
    "CREATE TABLE path_block(id INTEGER PRIMARY KEY, function INTEGER NOT NULL, block "
    "INTEGER NOT NULL, address INTEGER NOT NULL, instructions INTEGER NOT NULL, loads "
    "INTEGER NOT NULL, stores INTEGER NOT NULL, first_line INTEGER NOT NULL, lines "
    "INTEGER NOT NULL);"
    "CREATE TABLE path_line(id INTEGER PRIMARY KEY, file INTEGER, function INTEGER, line "
    "INTEGER NOT NULL);"
    "CREATE TABLE path(id INTEGER PRIMARY KEY, function INTEGER NOT NULL, flags INTEGER "
    "NOT NULL, number INTEGER NOT NULL, count INTEGER NOT NULL, instructions INTEGER NOT "
    "NULL, loads INTEGER NOT NULL, stores INTEGER NOT NULL, cycles REAL NOT NULL, "
    "measured INTEGER NOT NULL, misses REAL NOT NULL, events REAL NOT NULL, first_step "
    "INTEGER NOT NULL, steps INTEGER NOT NULL);"
    "CREATE TABLE path_step(id INTEGER PRIMARY KEY, block INTEGER NOT NULL);"
    "CREATE TABLE vertex(id INTEGER PRIMARY KEY, parent INTEGER NOT NULL, function "
    "INTEGER NOT NULL, site INTEGER NOT NULL, site_line INTEGER NOT NULL, count INTEGER "
    "NOT NULL, bytes INTEGER NOT NULL, call_sites INTEGER NOT NULL, call_sites_used "
    "INTEGER NOT NULL, call_sites_one_path INTEGER NOT NULL, instructions REAL NOT NULL, "
    "cycles REAL NOT NULL, misses REAL NOT NULL, measured INTEGER NOT NULL);"
    "CREATE TABLE vertex_path(vertex INTEGER NOT NULL, path INTEGER NOT NULL, count "
    "INTEGER NOT NULL, PRIMARY KEY(vertex, path)) WITHOUT ROWID;"
    "CREATE TABLE path_run(position INTEGER PRIMARY KEY, modes INTEGER NOT NULL, "
    "cache_bytes INTEGER NOT NULL, cache_ways INTEGER NOT NULL, cache_line INTEGER NOT "
    "NULL, cycles_per_read REAL NOT NULL, cycles_per_ns REAL NOT NULL, lost_pieces "
    "INTEGER NOT NULL, event TEXT);"
    "INSERT INTO path_run VALUES(0,3,32768,8,64,31.5,2.5,0,NULL);";

static void files_of_version_4_are_read(void **state)
{
    char error[PROFILE_ERROR_BYTES];
    const char *path = in_directory("version-4.headroom");
    struct profile *got = NULL;
    sqlite3 *db;
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    sqlite3_close(db);
    edit(path, "PRAGMA application_id = 0x48445246; PRAGMA user_version = 4");
    edit(path, version_1);
    edit(path, version_2);
    edit(path, version_3);
    edit(path, version_4);
    assert_int_equal(profile_read(path, &got, error, sizeof error), BASE_OK);
    assert_true(got->path_functions_count == 2 && got->path_runs_count == 1);
    assert_true(got->span_functions_count == 1 && got->spans_count == 0);
    assert_int_equal(got->span_runs_count + got->span_threads_count, 0);
    assert_int_equal(profile_write(got, path, error, sizeof error), BASE_OK);
    profile_free(got);
    assert_int_equal(try_read(path, error), BASE_OK);
    edit(path, "DROP TABLE block_run");
    assert_int_equal(try_read(path, error), BASE_MALFORMED);
    edit(path, "PRAGMA user_version = 4");
    assert_int_equal(try_read(path, error), BASE_MALFORMED);
}

/* The file without the tables that came after the version. */
static void drop_newer(const char *path, int version)
{
    char sql[128];
    for (size_t t = 0; t < SCHEMA_TABLES; t++) {
        snprintf(sql, sizeof sql, "DROP TABLE %s", schema_tables[t]->name);
        if (schema_tables[t]->since > version)
            edit(path, sql);
    }
    edit(path, "VACUUM");
}

static void files_of_version_5_are_read(void **state)
{
    char error[PROFILE_ERROR_BYTES];
    const char *path = in_directory("version-5.headroom");
    struct profile *got = NULL;
    write_small(path);
    edit(path, "PRAGMA user_version = 5");
    assert_int_equal(try_read(path, error), BASE_MALFORMED);
    drop_newer(path, 5);
    assert_int_equal(profile_read(path, &got, error, sizeof error), BASE_OK);
    assert_true(got->span_functions_count == 2 && got->merged_count == 0);
    profile_free(got);
    edit(path, "PRAGMA user_version = 6");
    assert_int_equal(try_read(path, error), BASE_MALFORMED);
}

static void other_files_are_no_profiles(void **state)
{
    char error[PROFILE_ERROR_BYTES];
    assert_int_equal(try_read(in_directory("missing"), error), BASE_NOT_FOUND);
    one_sentence(error);
    assert_int_equal(try_read(directory, error), BASE_IO);
    one_sentence(error);
    assert_int_equal(try_read("/dev/zero", error), BASE_IO);
    one_sentence(error);
    assert_int_equal(try_read("/proc/self/status", error), BASE_MALFORMED);
    one_sentence(error);
    const char *fifo = in_directory("fifo");
    assert_int_equal(mkfifo(fifo, 0600), 0);
    assert_int_equal(try_read(fifo, error), BASE_IO);
    one_sentence(error);
}

static void journals_beside_are_ignored(void **state)
{
    char error[PROFILE_ERROR_BYTES];
    const char *path = in_directory("journal.headroom");
    write_small(path);
    FILE *journal = fopen(in_directory("journal.headroom-journal"), "w");
    static const unsigned char head[28] = {0xd9, 0xd5, 0x05, 0xf9, 0x20, 0xa1,
                                           0x63, 0xd7, 0,    0,    0,    1};
    fwrite(head, 1, sizeof head, journal);
    fclose(journal);
    assert_int_equal(try_read(path, error), BASE_OK);
    struct stat info;
    assert_int_equal(stat(in_directory("journal.headroom-journal"), &info), 0);
}

static unsigned char *slurp(const char *path, size_t *bytes)
{
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    fseek(file, 0, SEEK_END);
    *bytes = (size_t)ftell(file);
    rewind(file);
    unsigned char *content = malloc(*bytes);
    assert_int_equal(fread(content, 1, *bytes, file), *bytes);
    fclose(file);
    return content;
}

static void spill(const char *path, const unsigned char *content, size_t bytes)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fwrite(content, 1, bytes, file);
    fclose(file);
}

static void truncated_files_are_refused(void **state)
{
    char error[PROFILE_ERROR_BYTES];
    const char *path = in_directory("whole.headroom"), *cut = in_directory("cut.headroom");
    size_t bytes;
    write_small(path);
    unsigned char *content = slurp(path, &bytes);
    for (size_t left = 0; left < bytes; left += left < 200 ? 13 : 1021) {
        spill(cut, content, left);
        assert_int_equal(try_read(cut, error), BASE_MALFORMED);
        one_sentence(error);
    }
    free(content);
}

/* Flips that hit the payload may go unnoticed; none may crash, hang or give an unchecked profile
   (try_read checks it). */
static void flipped_bits_never_crash(void **state)
{
    char error[PROFILE_ERROR_BYTES];
    const char *path = in_directory("flip.headroom"), *bad = in_directory("flipped.headroom");
    struct base_random random = {42};
    size_t bytes, refused = 0;
    enum { ROUNDS = 3000 };
    write_small(path);
    unsigned char *content = slurp(path, &bytes), *copy = malloc(bytes);
    for (unsigned round = 0; round < ROUNDS; round++) {
        memcpy(copy, content, bytes);
        for (uint64_t flips = 1 + base_random_below(&random, 8); flips; flips--) {
            /* Most of a small file is empty: half of the flips go where page headers
             * and cells are. */
            size_t at = (size_t)base_random_below(&random, bytes);
            if (base_random_below(&random, 2))
                at =
                    at / 4096 * 4096 + (base_random_below(&random, 2) ? at % 128 : 4095 - at % 256);
            copy[at < bytes ? at : 0] ^= (unsigned char)(1U << base_random_below(&random, 8));
        }
        spill(bad, copy, bytes);
        refused += try_read(bad, error) != BASE_OK;
    }
    assert_true(refused > ROUNDS / 4); /* the flips did hit something */
    free(content);
    free(copy);
}

/* ---- statistics ------------------------------------------------------------------------------ */

static void shares_have_wilson_intervals(void **state)
{
    /* 50 of 100 equal weights: Wilson's interval is 0.4038..0.5962. */
    struct profile_share share = profile_share(50, 100, 100);
    assert_true(share.known);
    assert_float_equal(share.share, 0.5, 1e-12);
    assert_float_equal(share.low, 0.40383, 1e-4);
    assert_float_equal(share.high, 0.59617, 1e-4);
    /* 0 of 10: 0..0.2775 */
    share = profile_share(0, 10, 10);
    assert_float_equal(share.low, 0, 1e-12);
    assert_float_equal(share.high, 0.27753, 1e-4);
    /* One weight of 100 beside 100 of 1 carries little information. */
    share = profile_share(100, 200, 100 * 100 + 100);
    assert_float_equal(share.effective, 40000.0 / 10100, 1e-9);
    assert_true(share.high - share.low > 0.5);
    assert_false(profile_share(0, 0, 0).known);
    share = profile_share(100, 100, 100);
    assert_true(share.high == 1 && share.low < 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_back_what_was_written),
        cmocka_unit_test(is_private_and_keeps_the_previous),
        cmocka_unit_test(odd_names_work),
        cmocka_unit_test(refuses_links_and_other_files),
        cmocka_unit_test(output_check_leaves_nothing),
        cmocka_unit_test(full_disk_leaves_what_was_there),
        cmocka_unit_test(contexts_deeper_than_any_recording_are_refused),
        cmocka_unit_test(more_than_was_read_is_not_written),
        cmocka_unit_test(limited_file_size_leaves_what_was_there),
        cmocka_unit_test(unwritable_directory_is_told),
        cmocka_unit_test(check_sees_every_fault),
        cmocka_unit_test(edited_files_are_refused),
        cmocka_unit_test(harmless_edits_are_read),
        cmocka_unit_test(newer_files_are_told),
        cmocka_unit_test(files_of_version_1_are_read),
        cmocka_unit_test(files_of_version_2_are_read),
        cmocka_unit_test(files_of_version_3_are_read),
        cmocka_unit_test(files_of_version_4_are_read),
        cmocka_unit_test(files_of_version_5_are_read),
        cmocka_unit_test(other_files_are_no_profiles),
        cmocka_unit_test(journals_beside_are_ignored),
        cmocka_unit_test(truncated_files_are_refused),
        cmocka_unit_test(flipped_bits_never_crash),
        cmocka_unit_test(shares_have_wilson_intervals),
    };
    return cmocka_run_group_tests(tests, make_directory, remove_directory);
}
