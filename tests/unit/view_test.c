// SPDX-License-Identifier: MIT
/*
 * The page of a profile small enough to be known: what its data holds, that texts stay texts, and
 * that source lines are quoted only where they should be. The data is unpacked with zlib and read
 * with jansson; what the script makes of it is tested in a browser (tests/browser).
 */
#include "show/source.h"
#include "view/internal.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utime.h>
#include <zlib.h>
#include <cmocka.h>

enum { LINES = 100, BYTES_MAX = 1 << 22 };

static char source[] = "/tmp/headroom-view-XXXXXX";

static uint32_t add_context(struct profile *profile, uint32_t parent, const char *function,
                            const char *file, uint32_t line)
{
    *profile_add_frames(profile) =
        (struct profile_frame){.function = function, .file = file, .line = line, .module = 1};
    *profile_add_contexts(profile) =
        (struct profile_context){parent, (uint32_t)profile->frames_count - 1};
    return (uint32_t)profile->contexts_count - 1;
}

/* main calls <b>&"'; it stores in line 50, which main's line 20 overwrites. */
static struct profile *new_profile(const char *file)
{
    struct profile *profile = profile_new();
    assert_non_null(profile);
    profile->run = (struct profile_run){.verb = "waste",
                                        .engine = "exact",
                                        .weighting = "accesses",
                                        .version = "0.1.0",
                                        .exit_signal = -1};
    profile_add_modules(profile)->path = "/bin/prog";
    profile_add_arguments(profile)->text = "/bin/<b>prog\342\200\256\001";
    profile_add_degraded(profile)->text = "no <i>counters</i>";
    uint32_t root = add_context(profile, 0, "main", file, 20);
    uint32_t leaf = add_context(profile, root, "<b>&\"'", file, 50);
    profile_add_kinds(profile)->kind = PROFILE_DEAD;
    *profile_add_pairs(profile) = (struct profile_pair){
        .kind = PROFILE_DEAD, .first = leaf, .second = root, .waste_bytes = 640};
    profile_total(profile);
    assert_true(profile_check(profile));
    return profile;
}

static char *page_of(struct profile *profile, bool sources, size_t *files)
{
    struct view_options options = {.sources = sources, .profile_path = "x.headroom"};
    char *text = NULL;
    size_t bytes = 0;
    FILE *out = open_memstream(&text, &bytes);
    assert_int_equal(view_write(profile, &options, out, files), BASE_OK);
    fclose(out);
    return text;
}

static int digit(char letter)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const char *at = strchr(digits, letter);
    return letter && at ? (int)(at - digits) : -1;
}

/* head: the end of the tag that the part stands in. */
static json_t *part_of(const char *page, const char *head)
{
    static unsigned char packed[BYTES_MAX], text[BYTES_MAX];
    const char *at = strstr(page, head) + strlen(head);
    size_t count = 0;
    uLongf bytes = sizeof text;
    unsigned bits = 0, have = 0;
    for (; digit(*at) >= 0; at++) {
        bits = bits << 6 | (unsigned)digit(*at);
        have += 6;
        if (have >= 8)
            packed[count++] = (unsigned char)(bits >> (have -= 8));
    }
    assert_int_equal(uncompress(text, &bytes, packed, count), Z_OK);
    json_error_t error;
    json_t *json = json_loadb((const char *)text, bytes, 0, &error);
    assert_non_null(json);
    return json;
}

/* ---- tests
 * ---------------------------------------------------------------------------------------- */

static void texts_stay_texts(void **state)
{
    struct profile *profile = new_profile(NULL);
    size_t files = 9;
    char *page = page_of(profile, true, &files);
    assert_int_equal(files, 0);
    char *end = strstr(page, "id=\"data\"");
    *end = 0;
    assert_null(strstr(page, "/<b>prog"));
    assert_null(strstr(page, "<b>&#38;"));
    assert_null(strstr(page, "<i>"));
    assert_null(strchr(page, 1));
    assert_null(strstr(page, "\342\200\256"));
    assert_non_null(strstr(page, "/bin/&#60;b&#62;prog&#xfffd;&#xfffd;"));
    assert_non_null(strstr(page, "no &#60;i&#62;counters&#60;/i&#62;"));
    assert_non_null(strstr(page, "&#60;b&#62;&#38;&#34;&#39;"));
    free(page);
    profile_free(profile);
}

static void tree_and_metrics(void **state)
{
    struct profile *profile = new_profile(NULL);
    size_t files;
    char *page = page_of(profile, false, &files);
    json_t *data = part_of(page, "id=\"data\">"), *tree = part_of(page, "id=\"tree\">");
    assert_non_null(strstr(page, " data-views=\"summary pairs tree\" id=\"tree\">"));
    const char *name;
    json_t *frames = json_object_get(tree, "frames"), *metrics = json_object_get(tree, "metrics");
    assert_int_equal(json_array_size(frames), 2);
    name = json_string_value(json_array_get(json_array_get(frames, 1), 0));
    assert_string_equal(name, "<b>&\"'");
    json_t *up = json_object_get(tree, "up");
    assert_int_equal(json_array_size(up), 2);
    assert_int_equal(json_integer_value(json_array_get(up, 0)), 1);
    assert_int_equal(json_integer_value(json_array_get(up, 1)), 1);
    assert_int_equal(json_array_size(metrics), 2);
    for (size_t i = 0; i < 2;
         i++) { /* where it overwrites: main, node 1; where it is lost: node 2 */
        json_t *metric = json_array_get(metrics, i);
        assert_int_equal(json_array_size(json_object_get(metric, "nodes")), 1);
        assert_int_equal(json_integer_value(json_array_get(json_object_get(metric, "nodes"), 0)),
                         1 + i);
        assert_int_equal(json_integer_value(json_array_get(json_object_get(metric, "values"), 0)),
                         640);
    }
    assert_null(json_object_get(data, "sources"));
    json_decref(tree);
    json_decref(data);
    free(page);
    profile_free(profile);
}

static void quoted_lines(void **state)
{
    struct profile *profile = new_profile(source);
    size_t files = 0;
    profile->run.start_ns = UINT64_C(2000000000) * 1000000000;
    char *page = page_of(profile, true, &files);
    json_t *data = part_of(page, "id=\"data\">"), *all = json_object_get(data, "sources");
    assert_int_equal(files, 1);
    assert_int_equal(json_array_size(all), 1);
    json_t *lines = json_object_get(json_array_get(all, 0), "lines");
    /* 8..32 and 38..62 */
    assert_int_equal(json_array_size(lines), 50);
    json_t *line = json_array_get(lines, 12);
    assert_int_equal(json_integer_value(json_array_get(line, 0)), 20);
    assert_string_equal(json_string_value(json_array_get(line, 1)), "\tline 20 </script>");
    assert_int_equal(json_integer_value(json_array_get(json_array_get(lines, 25), 0)), 38);
    json_decref(data);
    free(page);
    profile_free(profile);
}

/* A file that was changed since would show lines that never ran; a directory has none. */
static void lines_not_quoted(void **state)
{
    size_t files = 9;
    struct profile *profile = new_profile(source);
    profile->run.start_ns = 1000000000;
    free(page_of(profile, true, &files));
    assert_int_equal(files, 0);
    profile_free(profile);
    static const char *const paths[] = {"/tmp", "/dev/zero", "relative.c", "/no/such.c"};
    for (size_t i = 0; i < BASE_COUNT(paths); i++) {
        profile = new_profile(paths[i]);
        free(page_of(profile, true, &files));
        assert_int_equal(files, 0);
        profile_free(profile);
    }
}

/* What is no file is not even opened: that alone may do something. */
static void nothing_but_files_is_opened(void **state)
{
    char fifo[] = "/tmp/headroom-fifo-XXXXXX", told[256];
    size_t bytes;
    close(mkstemp(fifo));
    int watch = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
    assert_true(inotify_add_watch(watch, fifo, IN_OPEN) >= 0);
    int opened = source_open(fifo, 0, &bytes);
    assert_int_equal(opened, -1); /* it is empty */
    assert_true(read(watch, told, sizeof told) > 0);
    close(watch);
    unlink(fifo);
    assert_int_equal(mkfifo(fifo, 0600), 0);
    watch = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
    assert_true(inotify_add_watch(watch, fifo, IN_OPEN) >= 0);
    assert_int_equal(source_open(fifo, 0, &bytes), -1);
    assert_true(read(watch, told, sizeof told) < 0 && errno == EAGAIN);
    close(watch);
    unlink(fifo);
}

/* 256 MiB are gone through for lines to quote: 32 of the largest files that are quoted at all. */
static void files_read_are_bounded(void **state)
{
    enum { FILES = 40, BYTES = 8 << 20 };
    char directory[] = "/tmp/headroom-view-XXXXXX", path[FILES][64];
    size_t files = 0;
    assert_non_null(mkdtemp(directory));
    struct profile *profile = new_profile(NULL);
    for (unsigned i = 0; i < FILES; i++) {
        snprintf(path[i], sizeof path[i], "%s/%u.c", directory, i);
        assert_int_equal(close(open(path[i], O_CREAT | O_WRONLY | O_CLOEXEC, 0600)), 0);
        assert_int_equal(truncate(path[i], BYTES), 0);
        add_context(profile, 0, "f", path[i], 100);
    }
    free(page_of(profile, true, &files));
    assert_int_equal(files, 32);
    for (unsigned i = 0; i < FILES; i++)
        unlink(path[i]);
    rmdir(directory);
    profile_free(profile);
}

/* Findings with contexts that make more than a page may hold: there are fewer of them in it. */
static void findings_give_way(void **state)
{
    enum { DEPTH = 2000, PAIRS = 150 }; /* more would have too small shares to stand alone */
    struct profile *profile = new_profile(NULL);
    unsigned shown = 0;
    size_t files;
    uint32_t context = 0;
    char *name = malloc(501);
    memset(name, 'n', 500);
    name[500] = 0;
    context = add_context(profile, 0, name, NULL, 1);
    uint32_t frame = (uint32_t)profile->frames_count - 1;
    for (uint32_t i = 0; i < DEPTH; i++) {
        *profile_add_contexts(profile) = (struct profile_context){context, frame};
        context = (uint32_t)profile->contexts_count - 1;
        if (i < DEPTH - PAIRS)
            continue;
        /* Lines of their own: findings of one line are one. */
        uint32_t leaf = add_context(profile, context, name, "/src/a.c", i);
        *profile_add_pairs(profile) = (struct profile_pair){
            .kind = PROFILE_DEAD, .first = leaf, .second = leaf, .waste_bytes = 64};
    }
    profile_total(profile);
    assert_true(profile_check(profile));
    struct view_options options = {.limit = PAIRS, .shown = &shown};
    FILE *out = tmpfile();
    assert_int_equal(view_write(profile, &options, out, &files), BASE_OK);
    /* Of 150, 75, 37, 18: each has four times a context of at least 1850 frames of 600 bytes. */
    assert_int_equal(shown, 18);
    fclose(out);
    free(name);
    profile_free(profile);
}

static void empty_profile(void **state)
{
    struct profile *profile = profile_new();
    size_t files;
    profile->run = (struct profile_run){
        .verb = "paths", .engine = "built", .weighting = "accesses", .version = "0.1.0"};
    char *page = page_of(profile, true, &files);
    json_t *data = part_of(page, "id=\"data\">");
    json_t *tree = part_of(page, "id=\"tree\">");
    assert_int_equal(json_array_size(json_object_get(tree, "metrics")), 0);
    assert_non_null(strstr(page, " data-views=\"summary paths\" id=\"tree\">"));
    json_decref(tree);
    json_decref(data);
    free(page);
    profile_free(profile);
}

static void full_disk(void **state)
{
    struct profile *profile = new_profile(NULL);
    struct view_options options = {.limit = 1};
    size_t files = 9;
    FILE *out = fopen("/dev/full", "w");
    if (!out)
        skip();
    assert_int_equal(view_write(profile, &options, out, &files), BASE_IO);
    assert_int_equal(files, 9);
    fclose(out);
    profile_free(profile);
}

static int write_source(void **state)
{
    int descriptor = mkstemp(source);
    FILE *out = descriptor >= 0 ? fdopen(descriptor, "w") : NULL;
    if (!out)
        return -1;
    for (int i = 1; i <= LINES; i++)
        fprintf(out, "\tline %d </script>\n", i);
    fclose(out);
    struct utimbuf times = {1000000000, 1000000000};
    return utime(source, &times);
}

static int remove_source(void **state)
{
    return unlink(source);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(texts_stay_texts),
        cmocka_unit_test(tree_and_metrics),
        cmocka_unit_test(quoted_lines),
        cmocka_unit_test(lines_not_quoted),
        cmocka_unit_test(empty_profile),
        cmocka_unit_test(full_disk),
        cmocka_unit_test(nothing_but_files_is_opened),
        cmocka_unit_test(files_read_are_bounded),
        cmocka_unit_test(findings_give_way),
    };
    return cmocka_run_group_tests(tests, write_source, remove_source);
}
