// SPDX-License-Identifier: MIT
/*
 * Fuzzes the reader of profile files and all that is made of profiles. The input is either a whole
 * file or a list of overwrites of a sound one, so that the fuzzer gets past the header at once.
 * What is read must hold profile_check's promises, and with them reports, exports, pages,
 * differences, limits and merging must do.
 */
#include "compare/compare.h"
#include "export/export.h"
#include "profile/profile.h"
#include "report/report.h"
#include "view/view.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int input_file = -1;
static char input_path[] = "/dev/shm/headroom-fuzz-XXXXXX"; /* SQLite wants a path that resolves */
static char sound_path[] = "/dev/shm/headroom-fuzz-XXXXXX";
static unsigned char *sound;
static size_t sound_bytes;
static FILE *nowhere;

static void require(bool condition)
{
    if (!condition)
        abort();
}

static uint32_t context(struct profile *profile, uint32_t parent, const char *function)
{
    struct profile_frame *frame = profile_add_frames(profile);
    *frame = (struct profile_frame){.function = function, .file = "/x/a.c", .line = 3, .module = 1};
    *profile_add_contexts(profile) =
        (struct profile_context){parent, (uint32_t)profile->frames_count - 1};
    return (uint32_t)profile->contexts_count - 1;
}

static void fill_blocks(struct profile *profile, uint32_t place)
{
    *profile_add_block_functions(profile) =
        (struct profile_block_function){.function = "lock", .class = 1, .key = 1};
    *profile_add_block_functions(profile) =
        (struct profile_block_function){.function = "f(int)", .file = "/x/a.c", .line = 3};
    for (uint32_t i = 0; i < 2; i++)
        *profile_add_block_threads(profile) = (struct profile_block_thread){
            .tid = i, .duration_ns = 1e9, .events = 9, .cost_ns = 5, .owners = 1};
    for (uint32_t i = 0; i < 3; i++) {
        *profile_add_timed_blocks(profile) =
            (struct profile_block){.function = i, .flags = i ? 0 : 2, .max_ns = 5000};
        *profile_add_block_parts(profile) =
            (struct profile_block_part){i, i % 2, 2000, 2000, 4e6, 100, 1e5, 1e4, 1e4};
        *profile_add_block_bins(profile) = (struct profile_block_bin){i, 96, 112, 1500};
        *profile_add_block_bins(profile) = (struct profile_block_bin){i, 4096, 5120, 500};
        *profile_add_block_children(profile) = (struct profile_block_child){i, 1, 2, 0};
        *profile_add_block_stacks(profile) = (struct profile_block_stack){i, place, 5, 1e4};
        *profile_add_block_holders(profile) = (struct profile_block_holder){i, place, 5, 1e4};
        for (uint64_t j = 0; j < 24; j++)
            *profile_add_block_samples(profile) =
                (struct profile_block_sample){i, 1, 100 + 100 * (double)j, j, 5, 5, 5};
    }
    *profile_add_block_skips(profile) = (struct profile_block_skip){"g", "/x/a", "too odd"};
    *profile_add_block_runs(profile) = (struct profile_block_run){0.5, 1e9, 10000, 1, 1, 0, 0, 0};
}

static void fill_paths(struct profile *profile)
{
    *profile_add_path_functions(profile) = (struct profile_path_function){
        .function = "f(int)", .file = "/x/a.c", .module = 1, .table_kind = 1, .blocks = 2};
    *profile_add_path_functions(profile) =
        (struct profile_path_function){.module = 1, .reason = 3, .why = "too odd"};
    *profile_add_path_blocks(profile) = (struct profile_path_block){1, 0, 0x10, 3, 1, 1, 0, 2};
    *profile_add_path_blocks(profile) = (struct profile_path_block){1, 1, 0x20, 3, 1, 1, 2, 0};
    *profile_add_path_lines(profile) = (struct profile_path_line){"/x/a.c", NULL, 3};
    *profile_add_path_lines(profile) = (struct profile_path_line){"/x/a.h", "g", 4};
    *profile_add_paths(profile) = (struct profile_path){.function = 1,
                                                        .count = 9,
                                                        .instructions = 54,
                                                        .loads = 18,
                                                        .stores = 18,
                                                        .cycles = 90,
                                                        .measured = 3,
                                                        .misses = -1,
                                                        .events = -1,
                                                        .steps = 2};
    *profile_add_paths(profile) = (struct profile_path){.function = 1,
                                                        .flags = 6,
                                                        .number = 1,
                                                        .count = 3,
                                                        .instructions = 9,
                                                        .loads = 3,
                                                        .stores = 3,
                                                        .cycles = -1,
                                                        .misses = 7,
                                                        .events = 5,
                                                        .first_step = 2,
                                                        .steps = 1};
    for (uint32_t i = 0; i < 3; i++)
        profile_add_path_steps(profile)->block = i % 2;
    *profile_add_vertices(profile) = (struct profile_vertex){.function = 1,
                                                             .site = UINT32_MAX,
                                                             .count = 9,
                                                             .bytes = 80,
                                                             .call_sites = 1,
                                                             .call_sites_used = 1,
                                                             .call_sites_one_path = 1,
                                                             .instructions = 63,
                                                             .cycles = 97,
                                                             .misses = -1,
                                                             .measured = 2};
    *profile_add_vertices(profile) = (struct profile_vertex){
        .parent = 1, .function = 1, .site_line = 3, .count = 1, .bytes = 80, .call_sites = 1};
    *profile_add_vertex_paths(profile) = (struct profile_vertex_path){1, 0, 9};
    *profile_add_path_runs(profile) = (struct profile_path_run){.modes = 11, .cycles_per_ns = 2};
}

static void fill_reuse(struct profile *profile, uint32_t use, uint32_t reuse)
{
    *profile_add_reuses(profile) = (struct profile_reuse){.process = 1,
                                                          .unit_bytes = 64,
                                                          .stack = 1,
                                                          .accesses = 5000,
                                                          .reuses = 4000,
                                                          .locations = 1000,
                                                          .never_reused = 10,
                                                          .share_first = 1,
                                                          .share_last = 1,
                                                          .kept_accesses = 5000,
                                                          .kept_locations = 1000};
    *profile_add_bins(profile) = (struct profile_bin){1, PROFILE_TIME, 9, 512, 1024, 4000};
    *profile_add_bins(profile) = (struct profile_bin){1, PROFILE_STACK, 5, 32, 64, 4000};
    *profile_add_reuse_pairs(profile) =
        (struct profile_reuse_pair){use, reuse, 400, 4000, 3e6, 3e9, 2e5, 2e7};
    *profile_add_caches(profile) =
        (struct profile_cache){.level = 1, .ways = 8, .line_bytes = 64, .bytes = 32768};
    *profile_add_what_ifs(profile) = (struct profile_what_if){32768, 8, 64, 5000, 300};
    *profile_add_loops(profile) =
        (struct profile_loop){.module = 1, .address = 16, .function = "f(int)", .file = "/x/a.c"};
    *profile_add_loops(profile) = (struct profile_loop){.parent = 1, .module = 1, .address = 32};
    *profile_add_frame_loops(profile) = (struct profile_frame_loop){2, 2};
}

static void fill(struct profile *profile)
{
    profile_add_modules(profile)->path = "/x/prog";
    uint32_t outer = context(profile, 0, "main"), first = context(profile, outer, "f(int)");
    uint32_t second = context(profile, outer, NULL);
    *profile_add_kinds(profile) = (struct profile_kind){.kind = PROFILE_DEAD, .samples = 100};
    *profile_add_pairs(profile) = (struct profile_pair){.kind = PROFILE_DEAD,
                                                        .first = first,
                                                        .second = second,
                                                        .waste_bytes = 800,
                                                        .waste_squares = 6400,
                                                        .waste_traps = 100};
    *profile_add_sampled(profile) = (struct profile_sampled){PROFILE_DEAD, first, 100, 100, 100};
    *profile_add_drops(profile) = (struct profile_drop){"kernel", "in a system call", 1};
    *profile_add_processes(profile) = (struct profile_process){.id = 1};
    *profile_add_threads(profile) = (struct profile_thread){.id = 1};
    *profile_add_counters(profile) = (struct profile_counter){0, "hops", 1};
    fill_reuse(profile, first, second);
    fill_paths(profile);
    fill_blocks(profile, first);
    profile_add_arguments(profile)->text = "prog";
    profile_add_degraded(profile)->text = "degraded";
    profile->run.verb = "waste";
    profile->run.engine = "live";
    profile->run.weighting = "cpu-time";
    profile->run.version = "0";
    profile->run.attempted = 101;
    profile->run.stored = 100;
}

static void finish(void)
{
    unlink(input_path);
    unlink(sound_path);
}

static void start(void)
{
    char error[PROFILE_ERROR_BYTES];
    struct profile *profile = profile_new();
    int file = mkstemp(sound_path);
    input_file = mkstemp(input_path);
    nowhere = fopen("/dev/null", "w");
    require(profile && file >= 0 && input_file >= 0 && nowhere && atexit(finish) == 0);
    fill(profile);
    unlink(sound_path); /* else it is kept as .old */
    require(profile_write(profile, sound_path, error, sizeof error) == BASE_OK);
    profile_free(profile);
    close(file);
    file = open(sound_path, O_RDONLY);
    struct stat info;
    require(file >= 0 && fstat(file, &info) == 0);
    sound_bytes = (size_t)info.st_size;
    sound = malloc(sound_bytes);
    require(sound && read(file, sound, sound_bytes) == (ssize_t)sound_bytes);
    close(file);
}

static void put(const void *bytes, size_t count)
{
    require(ftruncate(input_file, 0) == 0 && pwrite(input_file, bytes, count, 0) == (ssize_t)count);
}

/* Each overwrite: 3 bytes of place, 1 of value. */
static void put_overwritten(const uint8_t *data, size_t size)
{
    unsigned char *copy = malloc(sound_bytes);
    require(copy != NULL);
    memcpy(copy, sound, sound_bytes);
    for (; size >= 4; data += 4, size -= 4)
        copy[((size_t)data[0] | (size_t)data[1] << 8 | (size_t)data[2] << 16) % sound_bytes] =
            data[3];
    put(copy, sound_bytes);
    free(copy);
}

/* ---- what profiles are used for ----------------------------------------------------------------
 */

static struct profile *read_sound(const char *verb)
{
    char error[PROFILE_ERROR_BYTES];
    struct profile *profile = NULL;
    require(profile_read(sound_path, &profile, error, sizeof error) == BASE_OK);
    profile->run.verb = verb;
    return profile;
}

static void report(struct profile *profile)
{
    static const char *const keys[] = {"lock:0", "f(int):result"};
    struct report_options options = {.profile_path = "p", .keys = keys, .keys_count = 2};
    require(report_text(profile, &options, nowhere) == BASE_OK);
    require(report_json(profile, &options, nowhere) == BASE_OK);
}

static void export(struct profile *profile)
{
    char error[512];
    for (int format = 0; format < EXPORT_FORMATS; format++) {
        struct export_options options = {.format = (enum export_format)format};
        require(export_write(profile, &options, nowhere, error, sizeof error) == BASE_OK);
    }
}

static void view(struct profile *profile)
{
    char error[512];
    struct profile *before = read_sound(profile->run.verb);
    struct view_options options = {.profile_path = "p", .before_path = "b", .level = 0.05};
    size_t files = 0;
    if (report_comparable(before, profile, error, sizeof error) == BASE_OK)
        options.before = before;
    require(view_write(profile, &options, nowhere, &files) == BASE_OK);
    profile_free(before);
}

static void diff(struct profile *profile)
{
    char error[512];
    struct profile *before = read_sound(profile->run.verb);
    struct report_diff_options options = {.level = 0.05, .names = {"a", "b"}};
    if (report_comparable(before, profile, error, sizeof error) == BASE_OK) {
        require(report_diff_text(before, profile, &options, nowhere) == BASE_OK);
        require(report_diff_json(before, profile, &options, nowhere) == BASE_OK);
    }
    profile_free(before);
}

static void check(struct profile *profile)
{
    static const char *const texts[] = {"waste.dead.fraction=5%", "reuse.miss@32K=+10%",
                                        "paths.instructions=+1%", "interference.share=1%"};
    char clause[COMPARE_ERROR_BYTES], error[512];
    struct profile *before = read_sound(profile->run.verb);
    if (report_comparable(before, profile, error, sizeof error) != BASE_OK)
        goto done;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct compare_limit limits[COMPARE_LIMITS];
        struct report_check_options options = {
            .limits = limits, .level = 0.05, .names = {"a", "b"}, .root = "/x"};
        struct report_check *made = NULL;
        require(compare_limits_parse(texts[i], limits, &options.limits_count, clause));
        if (report_check_make(before, profile, &options, &made, error, sizeof error) != BASE_OK)
            continue;
        require(report_check_text(made, false, false, 100, nowhere) == BASE_OK &&
                report_check_github(made, nowhere) == BASE_OK &&
                report_check_markdown(made, nowhere) == BASE_OK &&
                report_check_sarif(made, nowhere) == BASE_OK);
        report_check_free(made);
    }
done:
    profile_free(before);
}

/* What was merged must be as good as what was read. */
static void merge(struct profile *profile)
{
    char error[PROFILE_ERROR_BYTES];
    struct profile *other = read_sound(profile->run.verb);
    require(profile_merge_begin(other, "a", error, sizeof error) == BASE_OK);
    if (profile_merge_begin(profile, "b", error, sizeof error) == BASE_OK) {
        if (profile_merge(other, "a", profile, "b", error, sizeof error) == BASE_OK) {
            require(profile_check(other));
            report(other);
        } else {
            require(error[0]);
        }
    }
    profile_free(other);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static void (*const uses[])(struct profile *) = {report, export, view, diff, check, merge};
    static const char *const verbs[] = {NULL, "waste", "reuse", "paths", "interference"};
    char error[PROFILE_ERROR_BYTES] = "";
    struct profile *profile = NULL;
    if (input_file < 0)
        start();
    if (size < 2)
        return 0;
    if (data[0] & 1)
        put_overwritten(data + 2, size - 2);
    else
        put(data + 2, size - 2);
    if (profile_read(input_path, &profile, error, sizeof error) != BASE_OK) {
        require(profile == NULL && error[0]);
        return 0;
    }
    require(profile_check(profile));
    const char *verb = verbs[data[1] % 5];
    if (verb) /* most lists are read for their own verb only */
        profile->run.verb = verb;
    uses[data[0] / 2 % 6](profile);
    profile_free(profile);
    return 0;
}
