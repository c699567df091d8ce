// SPDX-License-Identifier: MIT
/*
 * Fuzzes the reader of profile files and all that is made of profiles. The input is either a whole
 * file or a list of overwrites of a sound one, a recording's or a merged one, so that the fuzzer
 * gets past the header.
 * What is read must hold profile_check's promises, and with them reports, exports, pages,
 * differences, limits and merging must do.
 */
#include "sound_profile.h"

#include "compare/check.h"
#include "compare/diff.h"
#include "export/export.h"
#include "show/report.h"
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
static unsigned char *sound[2]; /* a recording's; merged */
static size_t sound_bytes[2];
static FILE *nowhere;

static void finish(void)
{
    unlink(input_path);
    unlink(sound_path);
}

/* Written to sound_path, and kept as bytes. */
static void make_sound(const struct profile *profile, int number)
{
    char error[PROFILE_ERROR_BYTES];
    struct stat info;
    unlink(sound_path); /* else it is kept as .old */
    require(profile_write(profile, sound_path, error, sizeof error) == BASE_OK);
    int file = open(sound_path, O_RDONLY);
    require(file >= 0 && fstat(file, &info) == 0);
    sound_bytes[number] = (size_t)info.st_size;
    sound[number] = malloc(sound_bytes[number]);
    require(sound[number] && read(file, sound[number], sound_bytes[number]) == info.st_size);
    close(file);
}

/* The recording's is written last: it is the one to compare and to merge with. */
static void start(void)
{
    struct profile *profile = profile_new(), *merged = profile_new();
    int file = mkstemp(sound_path);
    input_file = mkstemp(input_path);
    nowhere = fopen("/dev/null", "w");
    require(profile && merged && file >= 0 && input_file >= 0 && nowhere && atexit(finish) == 0);
    close(file);
    sound_profile_fill(merged);
    sound_profile_merge(merged);
    make_sound(merged, 1);
    sound_profile_fill(profile);
    make_sound(profile, 0);
    profile_free(profile);
    profile_free(merged);
}

static void put(const void *bytes, size_t count)
{
    require(ftruncate(input_file, 0) == 0 && pwrite(input_file, bytes, count, 0) == (ssize_t)count);
}

/* Each overwrite: 3 bytes of place, 1 of value. */
static void put_overwritten(int number, const uint8_t *data, size_t size)
{
    size_t bytes = sound_bytes[number];
    unsigned char *copy = malloc(bytes);
    require(copy != NULL);
    memcpy(copy, sound[number], bytes);
    for (; size >= 4; data += 4, size -= 4)
        copy[((size_t)data[0] | (size_t)data[1] << 8 | (size_t)data[2] << 16) % bytes] = data[3];
    put(copy, bytes);
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
    if (diff_comparable(before, profile, error, sizeof error) == BASE_OK)
        options.before = before;
    require(view_write(profile, &options, nowhere, &files) == BASE_OK);
    profile_free(before);
}

static void diff(struct profile *profile)
{
    char error[512];
    struct profile *before = read_sound(profile->run.verb);
    struct diff_options options = {.level = 0.05, .names = {"a", "b"}};
    if (diff_comparable(before, profile, error, sizeof error) == BASE_OK) {
        require(diff_text(before, profile, &options, nowhere) == BASE_OK);
        require(diff_json(before, profile, &options, nowhere) == BASE_OK);
    }
    profile_free(before);
}

static void check(struct profile *profile)
{
    static const char *const texts[] = {"waste.dead.fraction=5%", "reuse.miss@32K=+10%",
                                        "paths.instructions=+1%", "interference.share=1%"};
    char clause[COMPARE_ERROR_BYTES], error[512];
    struct profile *before = read_sound(profile->run.verb);
    if (diff_comparable(before, profile, error, sizeof error) != BASE_OK)
        goto done;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct compare_limit limits[COMPARE_LIMITS];
        struct check_options options = {
            .limits = limits, .level = 0.05, .names = {"a", "b"}, .root = "/x"};
        struct check *made = NULL;
        require(compare_limits_parse(texts[i], limits, &options.limits_count, clause));
        if (check_make(before, profile, &options, &made, error, sizeof error) != BASE_OK)
            continue;
        require(check_text(made, false, false, 100, nowhere) == BASE_OK &&
                check_github(made, nowhere) == BASE_OK &&
                check_markdown(made, nowhere) == BASE_OK && check_sarif(made, nowhere) == BASE_OK);
        check_free(made);
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
        put_overwritten(data[1] / 5 % 2, data + 2, size - 2);
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
