// SPDX-License-Identifier: MIT
/*
 * Reports of profiles made here: the JSON is parsed by a library and must hold what
 * was put in; the text is compared with what a person should read.
 */
#include "distance/distance.h"
#include "reuse/internal.h"

#include <setjmp.h>
#include <stdarg.h>
#include <jansson.h>
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <utime.h>
#include <unistd.h>
#include <cmocka.h>

/* ---- profiles -------------------------------------------------------------------------------- */

static struct profile *new_profile(void)
{
    struct profile *profile = profile_new();
    assert_non_null(profile);
    profile_add_modules(profile)->path = "/home/u/demo/prog";
    profile->run.verb = "waste";
    profile->run.engine = "live";
    profile->run.source = "clock";
    profile->run.weighting = "cpu-time";
    profile->run.version = "0.1.0";
    profile->run.exit_code = 0;
    profile->run.wall_s = 1.5;
    profile->run.cpu_s = 1.25;
    profile->run.interval_ns = 5000000;
    profile->run.fp_tolerance = 0.01;
    profile->run.processes = profile->run.threads = 1;
    profile_add_arguments(profile)->text = "./prog";
    profile_add_arguments(profile)->text = "two words";
    return profile;
}

static void add_kind(struct profile *profile, uint32_t kind, uint64_t samples)
{
    *profile_add_kinds(profile) = (struct profile_kind){.kind = kind,
                                                        .samples = samples,
                                                        .armed = samples - 10,
                                                        .traps = samples - 20,
                                                        .blind_longest = samples / 100};
    profile->run.attempted += samples;
    profile->run.stored += samples;
}

/* A context below parent; file "" for none. The address differs at every call. */
static uint32_t context(struct profile *profile, uint32_t parent, const char *function,
                        const char *file, uint32_t line, uint32_t flags)
{
    uint64_t address = 0x1000 + profile->frames_count;
    *profile_add_frames(profile) = (struct profile_frame){.function = function,
                                                          .file = file[0] ? file : NULL,
                                                          .line = line,
                                                          .module = 1,
                                                          .address = address,
                                                          .flags = flags};
    *profile_add_contexts(profile) =
        (struct profile_context){parent, (uint32_t)profile->frames_count - 1};
    return (uint32_t)profile->contexts_count - 1;
}

/* `waste` and `use` traps of eight bytes each. */
static struct profile_pair *add_pair(struct profile *profile, uint32_t kind, uint32_t first,
                                     uint32_t second, uint64_t waste, uint64_t use)
{
    struct profile_pair *pair = profile_add_pairs(profile);
    *pair = (struct profile_pair){.kind = kind,
                                  .first = first,
                                  .second = second,
                                  .waste_bytes = 8.0 * (double)waste,
                                  .use_bytes = 8.0 * (double)use,
                                  .waste_squares = 64.0 * (double)waste,
                                  .use_squares = 64.0 * (double)use,
                                  .samples = (double)(waste + use),
                                  .waste_traps = waste,
                                  .use_traps = use};
    return pair;
}

static const char *const main_c = "/home/u/demo/src/main.c";
static const char *const table_h = "/home/u/demo/include/table.h";

/* Figure 2 of the witch paper: pairs in the ratio 50:33:17, half of all stores dead. */
static struct profile *figure_profile(void)
{
    struct profile *profile = new_profile();
    add_kind(profile, PROFILE_DEAD, 1200);
    uint32_t start = context(profile, 0, "_start", "", 0, 0);
    uint32_t libc = context(profile, start, "__libc_start_main@@GLIBC_2.34", "", 0, 0);
    uint32_t top = context(profile, libc, "main", main_c, 50, 0);
    uint32_t work = context(profile, top, "work", main_c, 40, 0);
    uint32_t fill = context(profile, work, "fill", main_c, 20, 0);
    uint32_t clear = context(profile, fill, "memset", "", 0, 0);
    uint32_t put = context(profile, work, "table::put", table_h, 9, PROFILE_FRAME_INLINED);
    uint32_t set = context(profile, work, "set", main_c, 30, 0);
    add_pair(profile, PROFILE_DEAD, clear, put, 500, 0);
    add_pair(profile, PROFILE_DEAD, put, set, 330, 0);
    add_pair(profile, PROFILE_DEAD, set, set, 170, 0);
    add_pair(profile, PROFILE_DEAD, set, clear, 0, 1000);
    profile_total(profile);
    assert_true(profile_check(profile));
    return profile;
}

static char *render(struct profile *profile, const struct report_options *options, bool json)
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *out = open_memstream(&text, &bytes);
    assert_non_null(out);
    enum base_status status =
        json ? report_json(profile, options, out) : report_text(profile, options, out);
    fclose(out);
    assert_int_equal(status, BASE_OK);
    return text;
}

static json_t *parse(struct profile *profile, const struct report_options *options)
{
    char *text = render(profile, options, true);
    json_error_t error;
    json_t *root = json_loads(text, JSON_REJECT_DUPLICATES, &error);
    if (!root)
        print_error("%s at %d: %s\n", error.text, error.position, text);
    assert_non_null(root);
    free(text);
    return root;
}

static json_t *at(json_t *value, const char *path)
{
    char copy[128];
    snprintf(copy, sizeof copy, "%s", path);
    for (char *save, *key = strtok_r(copy, ".", &save); key; key = strtok_r(NULL, ".", &save)) {
        value = key[0] >= '0' && key[0] <= '9' ? json_array_get(value, (size_t)atoi(key))
                                               : json_object_get(value, key);
        if (!value)
            print_error("no %s in %s\n", key, path);
        assert_non_null(value);
    }
    return value;
}

#define NUMBER(root, path) json_number_value(at(root, path))
#define TEXT(root, path)   json_string_value(at(root, path))

/* ---- JSON ------------------------------------------------------------------------------------ */

static void json_holds_what_was_found(void **state)
{
    struct report_options options = {0};
    struct profile *profile = figure_profile();
    json_t *root = parse(profile, &options);
    assert_string_equal(TEXT(root, "schema"), "headroom-report/1");
    assert_string_equal(TEXT(root, "verb"), "waste");
    assert_string_equal(TEXT(root, "engine"), "live");
    assert_string_equal(TEXT(root, "source"), "clock");
    assert_string_equal(TEXT(root, "weighting"), "cpu-time");
    assert_string_equal(TEXT(root, "command.1"), "two words");
    assert_int_equal(NUMBER(root, "exit.code"), 0);
    assert_true(json_is_null(at(root, "exit.signal")));
    assert_float_equal(NUMBER(root, "wall_s"), 1.5, 1e-9);
    assert_int_equal(json_array_size(at(root, "degraded")), 0);
    assert_int_equal(json_object_size(at(root, "waste")), 1);
    assert_float_equal(NUMBER(root, "waste.dead.fraction"), 0.5, 1e-9);
    assert_float_equal(NUMBER(root, "waste.dead.ci95.0"), 0.4781, 1e-3);
    assert_float_equal(NUMBER(root, "waste.dead.ci95.1"), 0.5219, 1e-3);
    assert_true(json_is_false(at(root, "waste.dead.too_few_samples")));
    assert_int_equal(NUMBER(root, "waste.dead.waste_bytes"), 8000);
    assert_int_equal(NUMBER(root, "waste.dead.use_bytes"), 8000);
    assert_int_equal(NUMBER(root, "waste.dead.samples"), 1200);
    assert_int_equal(NUMBER(root, "waste.dead.armed"), 1190);
    assert_int_equal(NUMBER(root, "waste.dead.traps"), 1180);
    assert_float_equal(NUMBER(root, "waste.dead.blindspot_max_share"), 0.01, 1e-9);
    assert_int_equal(json_array_size(at(root, "waste.dead.pairs")), 3);
    assert_float_equal(NUMBER(root, "waste.dead.pairs.0.share"), 0.5, 1e-6);
    assert_float_equal(NUMBER(root, "waste.dead.pairs.1.share"), 0.33, 1e-6);
    assert_float_equal(NUMBER(root, "waste.dead.pairs.2.share"), 0.17, 1e-6);
    assert_true(NUMBER(root, "waste.dead.pairs.1.ci95.0") < 0.33);
    assert_true(NUMBER(root, "waste.dead.pairs.1.ci95.1") > 0.33);
    assert_string_equal(TEXT(root, "waste.dead.pairs.0.first.0.function"), "memset");
    assert_true(json_is_null(at(root, "waste.dead.pairs.0.first.0.file")));
    assert_true(json_is_null(at(root, "waste.dead.pairs.0.first.0.line")));
    assert_string_equal(TEXT(root, "waste.dead.pairs.0.first.1.function"), "fill");
    assert_string_equal(TEXT(root, "waste.dead.pairs.0.first.1.file"), main_c);
    assert_int_equal(NUMBER(root, "waste.dead.pairs.0.first.1.line"), 20);
    assert_true(json_is_true(at(root, "waste.dead.pairs.0.second.0.inlined")));
    assert_string_equal(TEXT(root, "waste.dead.pairs.0.second.0.module"), "/home/u/demo/prog");
    assert_memory_equal(TEXT(root, "waste.dead.pairs.0.second.0.address"), "0x10", 4);
    assert_string_equal(TEXT(root, "modules.0.path"), "/home/u/demo/prog");
    json_decref(root);
    profile_free(profile);
}

static void json_is_limited_and_filtered(void **state)
{
    struct report_options options = {.limit = 1};
    struct profile *profile = figure_profile();
    json_t *root = parse(profile, &options);
    assert_int_equal(json_array_size(at(root, "waste.dead.pairs")), 1);
    assert_int_equal(NUMBER(root, "waste.dead.pairs_total"), 3);
    json_decref(root);
    options.kinds = 1 << PROFILE_LOAD;
    root = parse(profile, &options);
    assert_int_equal(json_object_size(at(root, "waste")), 0);
    json_decref(root);
    profile_free(profile);
}

static void json_without_samples_is_null(void **state)
{
    struct report_options options = {0};
    struct profile *profile = new_profile();
    *profile_add_kinds(profile) = (struct profile_kind){.kind = PROFILE_SILENT};
    profile->run.exit_code = -1;
    profile->run.exit_signal = 11;
    profile->run.wall_s = -1;
    profile->run.source = NULL;
    json_t *root = parse(profile, &options);
    assert_true(json_is_null(at(root, "waste.silent.fraction")));
    assert_true(json_is_null(at(root, "waste.silent.ci95")));
    assert_true(json_is_null(at(root, "waste.silent.blindspot_max_share")));
    assert_true(json_is_null(at(root, "exit.code")));
    assert_int_equal(NUMBER(root, "exit.signal"), 11);
    assert_true(json_is_null(at(root, "wall_s")));
    assert_true(json_is_null(at(root, "source")));
    json_decref(root);
    profile_free(profile);
}

static void json_survives_any_string(void **state)
{
    struct report_options options = {0};
    struct profile *profile = new_profile();
    profile_add_arguments(profile)->text =
        "\xff\xc3(\xed\xa0\x80 \"q\" \\ \x01\t\n \xf0\x9f\x98\x80";
    profile_add_degraded(profile)->text = "\xc3";
    json_t *root = parse(profile, &options);
    assert_string_equal(TEXT(root, "command.2"),
                        "\xef\xbf\xbd\xef\xbf\xbd(\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd \"q\" \\ "
                        "\x01\t\n \xf0\x9f\x98\x80");
    assert_string_equal(TEXT(root, "degraded.0"), "\xef\xbf\xbd");
    json_decref(root);
    profile_free(profile);
}

/* What is a command to some terminal, or turns the direction of writing, stands there as its
 * number. */
static void json_has_nothing_hidden(void **state)
{
    static const char text[] = "\x7f\xc2\x9b"
                               "31m\xd8\x9c\xe2\x80\xae\xe2\x81\xa6\xe2\x82\xac";
    struct report_options options = {0};
    struct profile *profile = new_profile();
    profile_add_arguments(profile)->text = text;
    json_t *root = parse(profile, &options);
    assert_string_equal(TEXT(root, "command.2"), text);
    json_decref(root);
    char *written = NULL;
    size_t bytes = 0;
    FILE *out = open_memstream(&written, &bytes);
    assert_int_equal(report_json(profile, &options, out), BASE_OK);
    fclose(out);
    assert_non_null(strstr(written, "\"\\u007f\\u009b31m\\u061c\\u202e\\u2066\xe2\x82\xac\""));
    free(written);
    profile_free(profile);
}

/* Same lines, other addresses: one pair. Other lines: another. */
static void json_merges_what_reads_the_same(void **state)
{
    struct report_options options = {0};
    struct profile *profile = new_profile();
    add_kind(profile, PROFILE_LOAD, 500);
    uint32_t top = context(profile, 0, "main", main_c, 5, 0);
    uint32_t again = context(profile, 0, "main", main_c, 5, 0);
    uint32_t a = context(profile, top, "f", main_c, 9, 0);
    uint32_t b = context(profile, again, "f", main_c, 9, 0);
    uint32_t c = context(profile, top, "f", main_c, 10, 0);
    uint32_t d = context(profile, top, NULL, "", 0, 0), e = context(profile, top, NULL, "", 0, 0);
    add_pair(profile, PROFILE_LOAD, a, a, 30, 5);
    add_pair(profile, PROFILE_LOAD, b, a, 40, 0);
    add_pair(profile, PROFILE_LOAD, a, c, 20, 0);
    add_pair(profile, PROFILE_LOAD, d, d, 5, 0);
    add_pair(profile, PROFILE_LOAD, e, e, 5, 0);
    profile_total(profile);
    json_t *root = parse(profile, &options);
    assert_int_equal(json_array_size(at(root, "waste.load.pairs")), 4);
    assert_float_equal(NUMBER(root, "waste.load.pairs.0.share"), 0.7, 1e-6);
    assert_int_equal(NUMBER(root, "waste.load.pairs.0.traps"), 75);
    assert_int_equal(NUMBER(root, "waste.load.pairs.0.use_bytes"), 40);
    json_decref(root);
    profile_free(profile);
}

/* A locale of our own making, for none need be installed. */
static bool set_comma_locale(char *directory)
{
    char command[128];
    snprintf(command, sizeof command,
             "localedef -i de_DE -f UTF-8 '%s/de_DE.UTF-8' >/dev/null 2>&1", directory);
    return system(command) == 0 && setenv("LOCPATH", directory, 1) == 0 &&
           setlocale(LC_NUMERIC, "de_DE.UTF-8");
}

static void numbers_do_not_follow_the_locale(void **state)
{
    char directory[] = "/tmp/headroom-locale-XXXXXX", command[64], digits[8];
    assert_non_null(mkdtemp(directory));
    bool set = set_comma_locale(directory);
    snprintf(command, sizeof command, "rm -rf '%s'", directory);
    assert_int_equal(system(command), 0);
    if (!set) {
        /* cmocka's "not ok # SKIP" reads as a failure. */
        print_message("# not tested: localedef made no locale with a decimal comma\n");
        return;
    }
    snprintf(digits, sizeof digits, "%.1f", 0.5);
    assert_string_equal(digits, "0,5");
    struct report_options options = {0};
    struct profile *profile = figure_profile();
    json_t *root = parse(profile, &options);
    assert_float_equal(NUMBER(root, "wall_s"), 1.5, 1e-9);
    json_decref(root);
    profile_free(profile);
    setlocale(LC_NUMERIC, "C");
}

static void a_full_disk_is_told(void **state)
{
    struct report_options options = {0};
    struct profile *profile = figure_profile();
    FILE *out = fopen("/dev/full", "w");
    assert_non_null(out);
    assert_int_equal(report_json(profile, &options, out), BASE_IO);
    fclose(out);
    out = fopen("/dev/full", "w");
    assert_int_equal(report_text(profile, &options, out), BASE_IO);
    fclose(out);
    profile_free(profile);
}

/* ---- text ------------------------------------------------------------------------------------ */

static void text_reads_like_this(void **state)
{
    struct report_options options = {.limit = 2, .width = 100, .profile_path = "my waste.headroom"};
    struct profile *profile = figure_profile();
    profile_add_degraded(profile)->text = "no line information for libc.so.6";
    *profile_add_drops(profile) =
        (struct profile_drop){"kernel", "the tick fell into a system call", 1300};
    profile->run.attempted += 1300;
    char *text = render(profile, &options, false);
    static const char expected[] =
        "headroom waste  ./prog 'two words'\n"
        "  1.50 s, 1.25 s of CPU time, 1 process, 1 thread\n"
        "  engine live, source clock, 200 samples per thread and second of CPU time, weighted by "
        "CPU time\n"
        "\n"
        "                       wasted       95 % interval   samples  followed   decided\n"
        "  dead stores          50.0 %       47.8 – 52.2 %     1,200     1,190     2,000\n"
        "\n"
        "  files are under /home/u/demo/\n"
        "\n"
        "Dead stores  50.0 % of the stores, by CPU time, were overwritten unread\n"
        "\n"
        "  #1  50.0 % of the dead bytes (47 – 53 %)\n"
        "      in main → work (src/main.c:40)\n"
        "      stored        fill  src/main.c:20, in memset\n"
        "      overwritten   table::put (inlined)  include/table.h:9\n"
        "      Memory is cleared and then written before it is read: where that is always so, do "
        "not clear\n"
        "      it, or clear only the part that is not written anyway.\n"
        "\n"
        "  #2  33.0 % of the dead bytes (30 – 36 %)\n"
        "      in main → work (src/main.c:40)\n"
        "      stored        table::put (inlined)  include/table.h:9\n"
        "      overwritten   set  src/main.c:30\n"
        "\n"
        "  1 more, together 17.0 %\n"
        "\n"
        "Limits of this recording\n"
        "  Of 2,500 attempted samples, 1,200 were taken (48 %); dropped: 1,300 × the tick fell "
        "into a system\n"
        "  call.\n"
        "  Longest run of samples that could not be followed: 1.0 % (dead stores) of the "
        "samples.\n"
        "  - no line information for libc.so.6\n"
        "\n"
        "Next\n"
        "  headroom report --kinds dead --limit 0 'my waste.headroom'\n"
        "  headroom view 'my waste.headroom'\n"
        "  headroom report --format json 'my waste.headroom'\n";
    if (strcmp(text, expected) != 0)
        fputs(text, stderr);
    assert_string_equal(text, expected);
    free(text);
    profile_free(profile);
}

static void shows(struct profile *profile, const struct report_options *options, const char *part)
{
    char *text = render(profile, options, false);
    if (!strstr(text, part))
        fprintf(stderr, "missing: %s\nin: %s", part, text);
    assert_non_null(strstr(text, part));
    free(text);
}

static void lacks(struct profile *profile, const struct report_options *options, const char *part)
{
    char *text = render(profile, options, false);
    if (strstr(text, part))
        print_error("unwanted: %s\nin: %s", part, text);
    assert_null(strstr(text, part));
    free(text);
}

static void few_samples_give_no_digits(void **state)
{
    struct report_options options = {.profile_path = "w.headroom"};
    struct profile *profile = new_profile();
    add_kind(profile, PROFILE_SILENT, 40);
    uint32_t top = context(profile, 0, "main", main_c, 5, 0);
    add_pair(profile, PROFILE_SILENT, top, top, 20, 9);
    profile_total(profile);
    shows(profile, &options, "too few samples for figures (29 decided)");
    shows(profile, &options, "headroom waste --rate 1000 -- ./prog 'two words'");
    lacks(profile, &options, "69.0 %");
    /* At the highest rate the same command would do no better, nor where no rate was asked for. */
    for (uint64_t interval_ns = 1000000;; interval_ns = 0) {
        profile->run.interval_ns = interval_ns;
        shows(profile, &options, "headroom waste --exact -- ./prog 'two words'");
        lacks(profile, &options, "--rate");
        if (!interval_ns)
            break;
    }
    profile->pairs[0].use_traps++;
    profile->pairs[0].use_bytes += 8;
    profile->pairs[0].use_squares += 64;
    profile_total(profile);
    shows(profile, &options, "66.7 %");
    profile_free(profile);
}

static void single_verdicts_are_left_out(void **state)
{
    struct report_options options = {.limit = 10};
    struct profile *profile = new_profile();
    add_kind(profile, PROFILE_DEAD, 400);
    uint32_t a = context(profile, 0, "f", main_c, 5, 0), b = context(profile, 0, "g", main_c, 6, 0);
    add_pair(profile, PROFILE_DEAD, a, a, 1, 50);
    add_pair(profile, PROFILE_DEAD, b, b, 1, 50);
    profile_total(profile);
    shows(profile, &options, "2, all weak, together 100.0 %");
    lacks(profile, &options, "#1");
    options.limit = 0;
    shows(profile, &options, "#2");
    profile_free(profile);
}

/* ---- findings by cause ----------------------------------------------------------------------- */

/* One leaf, called through so many contexts, with so many verdicts in each; and one other place. */
static struct profile *leaf_profile(uint32_t contexts, uint64_t each, uint64_t other)
{
    static char names[64][16];
    struct profile *profile = new_profile();
    add_kind(profile, PROFILE_DEAD, 400);
    uint32_t top = context(profile, 0, "main", main_c, 50, 0);
    for (uint32_t i = 0; i < contexts; i++) {
        snprintf(names[i], sizeof names[i], "caller%u", i);
        uint32_t caller = context(profile, top, names[i], main_c, 100 + i, 0);
        uint32_t leaf = context(profile, caller, "leaf", main_c, 7, 0);
        add_pair(profile, PROFILE_DEAD, leaf, leaf, each, 0);
    }
    uint32_t set = context(profile, top, "set", main_c, 30, 0);
    add_pair(profile, PROFILE_DEAD, set, set, other, 100);
    profile_total(profile);
    assert_true(profile_check(profile));
    return profile;
}

static void a_leaf_in_many_contexts_is_one_finding(void **state)
{
    struct report_options options = {.limit = 10};
    struct profile *profile = leaf_profile(13, 1, 7);
    shows(profile, &options, "#1  65.0 % of the dead bytes");
    shows(profile, &options, ", in 13 contexts\n      both          leaf  main.c:7\n");
    shows(profile, &options, "#2  35.0 % of the dead bytes");
    lacks(profile, &options, "weak");
    lacks(profile, &options, "#3");
    options.by = REPORT_BY_CONTEXT;
    shows(profile, &options, "#1  35.0 % of the dead bytes");
    shows(profile, &options, "13 more, weak, together 65.0 %");
    options.limit = 0;
    shows(profile, &options, "#14  5.0 % of the dead bytes");
    profile_free(profile);
}

static void contexts_with_enough_verdicts_have_shares(void **state)
{
    struct report_options options = {.limit = 10};
    struct profile *profile = leaf_profile(2, 30, 40);
    shows(profile, &options, "#1  60.0 % of the dead bytes");
    shows(profile, &options,
          "      30.0 %        in main → caller0 (main.c:100)\n"
          "      30.0 %        in main → caller1 (main.c:101)\n");
    profile_free(profile);
    profile = leaf_profile(13, 1, 7);
    shows(profile, &options,
          "      as            in main → caller0 (main.c:100)\n"
          "                    12 more contexts\n");
    profile_free(profile);
}

/* An inlined leaf at so many calls of one function. */
static struct profile *unrolled_profile(uint32_t calls, bool called)
{
    struct profile *profile = new_profile();
    add_kind(profile, PROFILE_DEAD, 400);
    uint32_t top = called ? context(profile, 0, "main", main_c, 50, 0) : 0;
    for (uint32_t i = 0; i < calls; i++) {
        uint32_t step = called ? context(profile, top, "run", main_c, 60 + i, 0) : top;
        uint32_t own = context(profile, step, "step", main_c, 9, PROFILE_FRAME_INLINED * called);
        uint32_t leaf =
            called ? context(profile, own, "leaf", main_c, 7, PROFILE_FRAME_INLINED)
                   : context(profile, own, "std::set", "/usr/include/c++/12/set", 7 + i, 0);
        add_pair(profile, PROFILE_DEAD, leaf, leaf, 20, 10);
    }
    profile_total(profile);
    assert_true(profile_check(profile));
    return profile;
}

static size_t count_of(const char *text, const char *what)
{
    size_t count = 0;
    for (; (text = strstr(text, what)) != NULL; text++)
        count++;
    return count;
}

static void contexts_that_read_the_same_are_printed_once(void **state)
{
    struct report_options options = {.limit = 10};
    struct profile *profile = unrolled_profile(5, true);
    char *text = render(profile, &options, false);
    assert_int_equal(count_of(text, "main.c:9"), 1);
    assert_non_null(strstr(text, "      100.0 %       in main → run → step (inlined) (main.c:9) "
                                 "(5 contexts)\n"));
    free(text);
    profile_free(profile);
    profile = unrolled_profile(5, false);
    shows(profile, &options, "in 5 contexts");
    lacks(profile, &options, "without callers");
    lacks(profile, &options, "more contexts");
    profile_free(profile);
}

/* JSON: each context as ever, and the findings beside them. */
static void json_has_findings_beside_contexts(void **state)
{
    struct report_options options = {0};
    struct profile *profile = leaf_profile(13, 1, 7);
    json_t *root = parse(profile, &options);
    assert_int_equal(json_array_size(at(root, "waste.dead.pairs")), 14);
    assert_int_equal(json_array_size(at(root, "waste.dead.findings")), 2);
    assert_float_equal(NUMBER(root, "waste.dead.findings.0.share"), 0.65, 1e-6);
    assert_int_equal(NUMBER(root, "waste.dead.findings.0.traps"), 13);
    assert_string_equal(TEXT(root, "waste.dead.findings.0.by"), "pair");
    assert_true(json_is_false(at(root, "waste.dead.findings.0.weak")));
    assert_int_equal(NUMBER(root, "waste.dead.findings.0.contexts_total"), 13);
    assert_int_equal(json_array_size(at(root, "waste.dead.findings.0.contexts")), 10);
    assert_float_equal(NUMBER(root, "waste.dead.findings.0.contexts.9.share"), 0.05, 1e-6);
    assert_string_equal(TEXT(root, "waste.dead.findings.0.contexts.9.first.1.function"), "caller9");
    json_decref(root);
    options.by = REPORT_BY_PAIR;
    root = parse(profile, &options);
    assert_int_equal(json_array_size(at(root, "waste.dead.pairs")), 2);
    assert_float_equal(NUMBER(root, "waste.dead.pairs.0.share"), 0.65, 1e-6);
    assert_null(json_object_get(at(root, "waste.dead"), "findings"));
    json_decref(root);
    profile_free(profile);
}

/* Lines of one function with two verdicts each: together they are enough, and where they are not,
   they are weak. */
static void weak_pairs_of_a_function_are_one_finding(void **state)
{
    struct report_options options = {.limit = 10};
    struct profile *profile = new_profile();
    add_kind(profile, PROFILE_DEAD, 400);
    uint32_t top = context(profile, 0, "main", main_c, 50, 0);
    for (uint32_t line = 10; line < 16; line++) {
        uint32_t walk = context(profile, top, "walk", main_c, line, 0);
        add_pair(profile, PROFILE_DEAD, walk, top, 2, 0);
    }
    uint32_t set = context(profile, top, "set", main_c, 30, 0);
    add_pair(profile, PROFILE_DEAD, set, set, 24, 100);
    uint32_t get = context(profile, top, "get", main_c, 40, 0);
    add_pair(profile, PROFILE_DEAD, get, get, 2, 0);
    add_pair(profile, PROFILE_DEAD, get, set, 2, 0);
    profile_total(profile);
    shows(profile, &options, "#1  60.0 %");
    shows(profile, &options, "#2  30.0 % of the dead bytes");
    shows(profile, &options,
          ", between 6 pairs of places\n      stored        walk (main.c)\n"
          "      5.0 %         stored in walk (main.c:10), overwritten in main "
          "(main.c:50)\n");
    shows(profile, &options, "3 more pairs");
    shows(profile, &options, "2 more, weak, together 10.0 %");
    lacks(profile, &options, "#3");
    options.by = REPORT_BY_LINE;
    shows(profile, &options, "7 more, weak, together 40.0 %");
    options.by = REPORT_BY_MODULE;
    shows(profile, &options, "#1  100.0 %");
    shows(profile, &options,
          "      stored        /home/u/demo/prog\n"
          "      60.0 %        set\n      30.0 %        walk\n");
    profile_free(profile);
}

/* The line of the program's own that calls into a template library, in however many of its places
   the accesses are. */
static void templates_are_shown_at_the_callers_line(void **state)
{
    static const char string_h[] = "/usr/include/c++/12/bits/basic_string.h";
    struct report_options options = {.limit = 10};
    struct profile *profile = new_profile();
    add_kind(profile, PROFILE_LOAD, 400);
    uint32_t top = context(profile, 0, "main", main_c, 50, 0);
    uint32_t user = context(profile, top, "join", main_c, 12, 0);
    for (uint32_t line = 220; line < 224; line++) {
        uint32_t append = context(profile, user, "std::string::append", string_h, 1400, 0);
        uint32_t data =
            context(profile, append, "std::string::_M_data", string_h, line, PROFILE_FRAME_INLINED);
        add_pair(profile, PROFILE_LOAD, data, data, 10, 0);
    }
    profile_total(profile);
    shows(profile, &options, "#1  100.0 % of the redundant bytes");
    shows(profile, &options, "      both          join  main.c:12, in std::string::append\n");
    lacks(profile, &options, "basic_string.h");
    lacks(profile, &options, "#2");
    options.all_frames = true;
    shows(profile, &options,
          "std::string::_M_data (inlined)  /usr/include/c++/12/bits/basic_string.h:22");
    profile_free(profile);
}

static void what_runs_before_main_is_left_out(void **state)
{
    struct report_options options = {0};
    struct profile *profile = new_profile();
    add_kind(profile, PROFILE_DEAD, 400);
    uint32_t start = context(profile, 0, NULL, "", 0, 0);
    uint32_t libc = context(profile, start, "__libc_start_main_impl", "", 0, 0);
    uint32_t top = context(profile, context(profile, libc, NULL, "", 0, 0), "f", main_c, 7, 0);
    add_pair(profile, PROFILE_DEAD, top, top, 100, 0);
    profile_total(profile);
    shows(profile, &options, "in prog+0x1003\n");
    lacks(profile, &options, "__libc");
    profile_free(profile);
}

static void unequal_weights_count_as_few(void **state)
{
    struct report_options options = {0};
    struct profile *profile = new_profile();
    add_kind(profile, PROFILE_DEAD, 400);
    uint32_t top = context(profile, 0, "main", main_c, 5, 0);
    struct profile_pair *pair = add_pair(profile, PROFILE_DEAD, top, top, 100, 100);
    pair->waste_squares = pair->waste_bytes * pair->waste_bytes / 2; /* two traps carry it all */
    profile_total(profile);
    shows(profile, &options, "too few samples for figures");
    profile_free(profile);
}

static void recursion_is_folded(void **state)
{
    struct report_options options = {0};
    struct profile *profile = new_profile();
    add_kind(profile, PROFILE_DEAD, 400);
    uint32_t at_depth = context(profile, 0, "main", main_c, 5, 0);
    for (unsigned depth = 0; depth < 20; depth++) {
        at_depth = context(profile, at_depth, "sort", main_c, 70, 0);
        uint32_t leaf = context(profile, at_depth, "swap", main_c, 60, 0);
        add_pair(profile, PROFILE_DEAD, leaf, leaf, 5, 0);
    }
    profile_total(profile);
    shows(profile, &options, "#1  100.0 % of the dead bytes (96 – 100 %)");
    shows(profile, &options, "in main → sort (main.c:70)\n");
    lacks(profile, &options, "#2");
    profile_free(profile);
}

static void long_contexts_are_cut(void **state)
{
    struct report_options options = {0};
    struct profile *profile = new_profile();
    char names[30][8];
    add_kind(profile, PROFILE_DEAD, 400);
    uint32_t parent = 0;
    for (unsigned i = 0; i < 15; i++) {
        snprintf(names[i], sizeof names[i], "outer%u", i);
        parent = context(profile, parent, names[i], main_c, i + 1, 0);
    }
    uint32_t left = parent;
    for (unsigned i = 15; i < 30; i++) {
        snprintf(names[i], sizeof names[i], "left%u", i);
        left = context(profile, left, names[i], main_c, i + 1, 0);
    }
    uint32_t right = context(profile, parent, "right", main_c, 99, 0);
    add_pair(profile, PROFILE_DEAD, left, right, 100, 0);
    profile_total(profile);
    shows(profile, &options,
          "in outer0 → outer1 → … 8 more … → outer10 → outer11 → outer12 → outer13 →");
    shows(profile, &options, "← left28");
    shows(profile, &options, "← 9 more callers");
    profile_free(profile);
}

static void hostile_names_do_not_reach_the_terminal(void **state)
{
    struct report_options options = {.profile_path = "a\033[2Jb"};
    struct profile *profile = new_profile();
    add_kind(profile, PROFILE_DEAD, 400);
    uint32_t top = context(profile, 0, "evil\033]0;x\007\xc2\x9b\xff", "/tmp/\033[31m.c", 5, 0);
    add_pair(profile, PROFILE_DEAD, top, top, 100, 0);
    profile->modules[1].path = "\033c";
    profile_add_degraded(profile)->text = "bad\033[1m\nline";
    profile_add_arguments(profile)->text = "\033[5m\xe2\x80\xae";
    *profile_add_drops(profile) = (struct profile_drop){"x", "\033[7m", 1};
    profile->run.attempted++;
    profile->run.source = "\033[8m";
    profile_total(profile);
    char *text = render(profile, &options, false);
    for (const char *c = text; *c; c++)
        assert_true(*c == '\n' || (unsigned char)*c >= 0x20);
    assert_null(strstr(text, "\xe2\x80\xae"));
    assert_null(strstr(text, "\xc2\x9b"));
    free(text);
    profile_free(profile);
}

static void lines_stay_within_the_width(void **state)
{
    static const unsigned widths[] = {60, 80, 100, 160};
    struct profile *profile = figure_profile();
    profile_add_degraded(profile)->text =
        "a long sentence that says at some length what could not be done and why and what would "
        "have to be changed for it to be done and who might do so if asked nicely enough";
    /* A frame, and a finding with every remark, that do not fit into one line of 80 columns. */
    for (size_t i = 0; i < profile->frames_count; i++)
        if (profile->frames[i].flags & PROFILE_FRAME_INLINED)
            profile->frames[i].file = "/home/u/demo/a/folder/in/a/folder/in/a/folder/in/folders.c";
    for (size_t i = 0; i < profile->pairs_count; i++) {
        struct profile_pair *pair = &profile->pairs[i];
        pair->likely_traps = pair->float_traps = pair->waste_traps;
    }
    profile->run.exit_code = -1;
    profile->run.exit_signal = 11;
    for (unsigned w = 1; w < 4; w++) {
        struct report_options options = {.width = widths[w]};
        char *text = render(profile, &options, false);
        for (char *save, *line = strtok_r(text, "\n", &save); line;
             line = strtok_r(NULL, "\n", &save))
            if (name_columns(line) > widths[w])
                fail_msg("more than %u columns: %s", widths[w], line);
        free(text);
    }
    profile_free(profile);
}

static void colours_only_when_asked(void **state)
{
    struct report_options options = {0};
    struct profile *profile = figure_profile();
    lacks(profile, &options, "\033");
    options.color = true;
    shows(profile, &options, "\033[1m");
    profile_free(profile);
}

/* Names are padded and cut by the columns that they take, not by their bytes or characters. */
static void columns_are_those_of_a_terminal(void **state)
{
    static const char wide[] = "計算 e\xcc\x81 ✓"; /* two wide, an accent of its own */
    assert_int_equal(name_columns("plain"), 5);
    assert_int_equal(name_columns("µs – …"), 6);
    assert_int_equal(name_columns(wide), 2 + 2 + 1 + 1 + 0 + 1 + 1);
    assert_int_equal(name_fitting(wide, 0), 0);
    assert_int_equal(name_fitting(wide, 1), 0);
    assert_int_equal(name_fitting(wide, 2), 3);
    assert_int_equal(name_fitting(wide, 3), 3);
    assert_int_equal(name_fitting(wide, 6), 3 + 3 + 1 + 1 + 2);
    assert_int_equal(name_fitting(wide, 100), strlen(wide));
}

static void long_names_are_shortened(void **state)
{
    static const char *const cases[][2] = {
        {"std::vector<std::__cxx11::basic_string<char, std::char_traits<char> >, "
         "std::allocator<int> >::push_back(int const&)",
         "std::vector<…>::push_back "},
        {"plain(int, char const*)", "plain "},
        {"(anonymous namespace)::helper(int)", "(anonymous namespace)::helper "},
        {"matrix::operator()(int, int) const", "matrix::operator() "},
        {"less::operator<(less const&)", "less::operator< "},
        {"ptr<int>::operator->() const", "ptr<int>::operator-> "},
        {"<alloc::vec::Vec<T,A> as core::iter::Extend<T>>::extend",
         "<alloc::vec::V…ore::iter::Extend<…>>::extend"},
        {"a_name_without_any_brackets_that_is_still_much_too_long_to_be_shown_whole",
         "a_name_without…ch_too_long_to_be_shown_whole"},
        {"unbalanced<(((", "unbalanced<((("},
        {"fill.isra.0.cold", "fill  "},
    };
    struct report_options options = {0};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct profile *profile = new_profile();
        add_kind(profile, PROFILE_DEAD, 400);
        uint32_t top = context(profile, 0, cases[i][0], main_c, 5, 0);
        add_pair(profile, PROFILE_DEAD, top, top, 100, 0);
        profile_total(profile);
        shows(profile, &options, cases[i][1]);
        profile_free(profile);
    }
}

/* ---- the exact engine ------------------------------------------------------------------------ */

/* Counts instead of samples. */
static struct profile *exact_profile(void)
{
    struct profile *profile = new_profile();
    profile->run.engine = "exact";
    profile->run.source = NULL;
    profile->run.weighting = "accesses";
    profile->run.interval_ns = 0;
    *profile_add_exacts(profile) = (struct profile_exact){.process = 1,
                                                          .threads = 1,
                                                          .loads = 1234567,
                                                          .stores = 1,
                                                          .load_bytes = 9876536,
                                                          .store_bytes = 8,
                                                          .contexts = 12,
                                                          .ids = 34};
    return profile;
}

static void add_exact_pair(struct profile *profile, uint32_t kind, uint32_t first, uint32_t second,
                           double waste, double use, bool kernel)
{
    *profile_add_pairs(profile) = (struct profile_pair){.kind = kind,
                                                        .first = first,
                                                        .second = second,
                                                        .waste_bytes = waste,
                                                        .use_bytes = use,
                                                        .kernel_traps = kernel};
}

static struct profile *exact_waste(void)
{
    struct profile *profile = exact_profile();
    for (uint32_t kind = 0; kind < PROFILE_KINDS; kind++)
        profile_add_kinds(profile)->kind = kind;
    profile->exacts[0].fresh_store_bytes = 2048;
    profile->exacts[0].kernel_load_bytes = 100;
    uint32_t top = context(profile, 0, "main", main_c, 50, 0);
    uint32_t fill = context(profile, top, "fill", main_c, 20, 0);
    uint32_t read = context(profile, top, "read", main_c, 30, PROFILE_FRAME_KERNEL);
    uint32_t set = context(profile, top, "set", main_c, 40, 0);
    add_exact_pair(profile, PROFILE_DEAD, fill, set, 6e6, 1e6, false);
    add_exact_pair(profile, PROFILE_DEAD, fill, read, 2e6, 0, true);
    add_exact_pair(profile, PROFILE_DEAD, set, fill, 1, 7e6, false);
    add_exact_pair(profile, PROFILE_DEAD, set, set, 0, 7, false);
    add_exact_pair(profile, PROFILE_SILENT, set, set, 0, 70, false);
    profile_total(profile);
    assert_true(profile_check(profile));
    return profile;
}

static void exact_waste_reads_like_this(void **state)
{
    struct report_options options = {.limit = 10, .width = 100, .profile_path = "w.headroom"};
    struct profile *profile = exact_waste();
    char *text = render(profile, &options, false);
    static const char expected[] =
        "headroom waste  ./prog 'two words'\n"
        "  1.50 s, 1.25 s of CPU time, 1 process, 1 thread\n"
        "  engine exact, every access was seen: 1,234,567 loads (9.4 MiB) and 1 store (8 bytes)\n"
        "\n"
        "                       wasted   wasted bytes       of bytes\n"
        "  dead stores          50.0 %        7.6 MiB       15.3 MiB\n"
        "  silent stores         0.0 %        0 bytes       70 bytes\n"
        "  redundant loads           —        0 bytes        0 bytes\n"
        "\n"
        "  files are under /home/u/demo/src/\n"
        "\n"
        "Dead stores  50.0 % of the bytes stored were overwritten unread\n"
        "\n"
        "  #1  75.0 % of the dead bytes: 5.7 MiB\n"
        "      in main (main.c:50)\n"
        "      stored        fill  main.c:20\n"
        "      overwritten   set  main.c:40\n"
        "\n"
        "  #2  25.0 % of the dead bytes: 1.9 MiB\n"
        "      in main (main.c:50)\n"
        "      stored        fill  main.c:20\n"
        "      overwritten   read (by the kernel, in this system call)  main.c:30\n"
        "      The kernel fills this buffer before anything reads what the program stored there: "
        "the first\n"
        "      store can usually be left out.\n"
        "\n"
        "  1 more, together 0.0 %\n"
        "\n"
        "Stores of an unchanged value (silent)  0.0 % of the bytes stored\n"
        "\n"
        "  Nothing was wasted.\n"
        "\n"
        "Redundant loads  nothing to decide: no byte was accessed twice in this way\n"
        "\n"
        "Limits of this recording\n"
        "  Undecided, because no earlier access was seen: 0 bytes loaded, 2.0 KiB stored.\n"
        "  System calls read 100 bytes of the program's memory and wrote 0 bytes.\n"
        "\n"
        "Next\n"
        "  headroom report --kinds dead --limit 0 w.headroom\n"
        "  headroom view w.headroom\n"
        "  headroom report --format json w.headroom\n";
    if (strcmp(text, expected) != 0)
        fputs(text, stderr);
    assert_string_equal(text, expected);
    free(text);
    options.limit = 0;
    shows(profile, &options, "#3  0.0 % of the dead bytes: 1 byte\n");
    lacks(profile, &options, "weak evidence");
    lacks(profile, &options, "#4");
    profile_free(profile);
}

static void exact_json_has_no_intervals(void **state)
{
    struct report_options options = {0};
    struct profile *profile = exact_waste();
    json_t *root = parse(profile, &options);
    assert_string_equal(TEXT(root, "engine"), "exact");
    assert_true(json_is_null(at(root, "source")));
    assert_null(json_object_get(root, "reuse"));
    double fraction = NUMBER(root, "waste.dead.fraction");
    assert_float_equal(fraction, 8000001.0 / 16000008, 1e-6);
    assert_true(NUMBER(root, "waste.dead.ci95.0") == fraction);
    assert_true(NUMBER(root, "waste.dead.ci95.1") == fraction);
    assert_true(json_is_false(at(root, "waste.dead.too_few_samples")));
    assert_true(json_is_null(at(root, "waste.dead.effective_samples")));
    assert_true(json_is_null(at(root, "waste.dead.blindspot_max_share")));
    assert_int_equal(NUMBER(root, "waste.dead.samples"), 0);
    assert_int_equal(json_array_size(at(root, "waste.dead.pairs")), 3);
    assert_int_equal(NUMBER(root, "waste.dead.pairs.0.waste_bytes"), 6000000);
    assert_float_equal(NUMBER(root, "waste.dead.pairs.0.share"), 0.75, 1e-6);
    assert_float_equal(NUMBER(root, "waste.dead.pairs.0.ci95.1"), 0.75, 1e-6);
    assert_true(json_is_true(at(root, "waste.dead.pairs.1.second.0.kernel")));
    assert_float_equal(NUMBER(root, "waste.silent.fraction"), 0, 1e-12);
    assert_true(json_is_null(at(root, "waste.load.fraction")));
    assert_true(json_is_null(at(root, "waste.load.ci95")));
    assert_int_equal(NUMBER(root, "exact.loads"), 1234567);
    assert_int_equal(NUMBER(root, "exact.fresh_store_bytes"), 2048);
    assert_int_equal(NUMBER(root, "exact.contexts"), 12);
    json_decref(root);
    profile_free(profile);
}

/* The same at one location in a hundred: of 400 independent draws, dead stores; of five, silent ones. */
static struct profile *sampled_waste(void)
{
    struct profile *profile = exact_waste();
    *profile_add_waste_samples(profile) =
        (struct profile_waste_sample){.kind = PROFILE_DEAD,
                                      .share = 0.01,
                                      .locations = 400,
                                      .whole_squares = 16000008.0 * 16000008 / 400,
                                      .waste_squares = 1e11};
    *profile_add_waste_samples(profile) = (struct profile_waste_sample){
        .kind = PROFILE_SILENT, .share = 0.01, .locations = 5, .whole_squares = 70 * 70 / 5};
    profile->pairs[0].waste_squares = 1e11;
    profile_total(profile);
    assert_true(profile_check(profile));
    return profile;
}

static void waste_of_a_sample_has_intervals(void **state)
{
    struct report_options options = {.limit = 10, .width = 100, .profile_path = "w.headroom"};
    struct profile *profile = sampled_waste();
    shows(profile, &options, "  engine exact, at 1 % of all locations; about 1,234,567 loads");
    shows(profile, &options,
          "                       wasted       95 % interval   wasted bytes       of bytes\n"
          "  dead stores          50.0 %       45.1 – 54.9 %        7.6 MiB       15.3 MiB\n"
          "  silent stores             —   too few locations        0 bytes       70 bytes\n");
    /* A standard error of sqrt(1e11) of 8 million: 4 %. */
    shows(profile, &options, "  #1  75.0 % of the dead bytes (67 – 82 %): about 5.7 MiB\n");
    shows(profile, &options, "too few locations for figures (5 by weight); follow a larger\n");
    shows(profile, &options, "headroom waste --exact --sample-locations 0.1 -- ./prog 'two words'");
    json_t *root = parse(profile, &options);
    assert_true(NUMBER(root, "waste.dead.sample_locations") == 0.01);
    assert_true(NUMBER(root, "waste.dead.effective_locations") == 400);
    assert_float_equal(NUMBER(root, "waste.dead.ci95.0"), 0.4512, 1e-4);
    assert_float_equal(NUMBER(root, "waste.dead.pairs.0.ci95.0"), 0.666, 2e-3);
    assert_float_equal(NUMBER(root, "waste.dead.pairs.0.ci95.1"), 0.818, 2e-3);
    assert_true(json_is_true(at(root, "waste.silent.too_few_samples")));
    json_decref(root);
    profile_free(profile);
}

/* For programs that take longer than a minute. */
static void long_runs_are_suggested_a_share(void **state)
{
    static const char share[] = "headroom waste --exact --sample-locations 0.01 -- ./prog";
    struct report_options options = {.profile_path = "w.headroom"};
    struct profile *profile = exact_waste();
    lacks(profile, &options, "--sample-locations");
    profile->run.wall_s = 61;
    shows(profile, &options, share);
    profile_free(profile);
    profile = new_profile();
    add_kind(profile, PROFILE_SILENT, 40);
    profile->run.cpu_s = 2; /* with all locations forty times as long */
    profile->run.interval_ns = 1000000;
    shows(profile, &options, share);
    profile_free(profile);
}

/* ---- reuse ----------------------------------------------------------------------------------- */

static void add_bin(struct profile *profile, uint32_t process, uint32_t which, uint64_t distance,
                    double weight)
{
    uint32_t bin = distance_bin(distance);
    *profile_add_bins(profile) = (struct profile_bin){
        process, which, bin, distance_bin_low(bin), distance_bin_low(bin + 1), weight};
}

/* Two processes go round and round over 4000 lines, with three touches of each; one pair of places
   touches a line again immediately, the other a round later. */
static struct profile *reuse_profile(bool stack)
{
    struct profile *profile = exact_profile();
    profile->run.verb = "reuse";
    for (uint32_t process = 1; process < 3; process++) {
        *profile_add_reuses(profile) = (struct profile_reuse){.process = process,
                                                              .unit_bytes = 64,
                                                              .stack = stack,
                                                              .accesses = 604000,
                                                              .reuses = 600000,
                                                              .locations = 4000,
                                                              .never_reused = 1000,
                                                              .share_first = 1,
                                                              .share_last = 1,
                                                              .kept_accesses = 604000,
                                                              .kept_locations = 4000};
        add_bin(profile, process, PROFILE_TIME, 1, 400000);
        add_bin(profile, process, PROFILE_TIME, 11998, 200000);
        if (stack) {
            add_bin(profile, process, PROFILE_STACK, 0, 400000);
            add_bin(profile, process, PROFILE_STACK, 3999, 200000);
        }
    }
    uint32_t top = context(profile, 0, "main", main_c, 50, 0);
    uint32_t first = context(profile, top, "sum", main_c, 20, 0);
    uint32_t again = context(profile, top, "sum", main_c, 21, 0);
    double far = stack ? 3999 : 0;
    *profile_add_reuse_pairs(profile) =
        (struct profile_reuse_pair){first, again, 800000, 800000, 800000, 800000, 0, 0};
    *profile_add_reuse_pairs(profile) = (struct profile_reuse_pair){
        again, first, 400000, 400000, 4799200000, 5.8e13, 4e5 * far, 4e5 * far * far};
    assert_true(profile_check(profile));
    return profile;
}

static void reuse_reads_like_this(void **state)
{
    struct report_options options = {.limit = 10, .width = 100};
    struct profile *profile = reuse_profile(true);
    char *text = render(profile, &options, false);
    static const char expected[] =
        "headroom reuse  ./prog 'two words'\n"
        "  1.50 s, 1.25 s of CPU time, 1 process, 1 thread\n"
        "  engine exact, every access was seen: 1,234,567 loads (9.4 MiB) and 1 store (8 bytes)\n"
        "\n"
        "  files are under /home/u/demo/src/\n"
        "\n"
        "Reuse distances\n"
        "\n"
        "  1,208,000 accesses to 8,000 lines of 64 bytes (500.0 KiB); 2,000 of them never reused\n"
        "\n"
        "  reuses within                  50 %        70 %        80 %        90 %        95 %\n"
        "  time distance, accesses           1      11.1 K      11.4 K      11.7 K      11.8 K\n"
        "  stack distance, lines             0        3866        3942        4018        4057\n"
        "  cache that holds them      64 bytes   241.6 KiB   246.4 KiB   251.2 KiB   253.6 KiB\n"
        "\n"
        "  distance           time                              stack\n"
        "  0                                                   66.7 % ████████████████\n"
        "  1                66.7 % ████████████████\n"
        "  …\n"
        "  2K – 4K                                             33.3 % ████████\n"
        "  4K – 8K\n"
        "  8K – 16K         33.3 % ████████\n"
        "\n"
        "  cache of     misses\n"
        "  4 KiB       33.77 %  ████████████████████████████████████████████████\n"
        "  8 KiB       33.77 %  ████████████████████████████████████████████████\n"
        "  16 KiB      33.77 %  ████████████████████████████████████████████████\n"
        "  32 KiB      33.77 %  ████████████████████████████████████████████████\n"
        "  64 KiB      33.77 %  ████████████████████████████████████████████████\n"
        "  128 KiB     33.77 %  ████████████████████████████████████████████████\n"
        "  256 KiB      0.66 %  █\n"
        "  (fully associative, LRU replacement; first touches included)\n"
        "\n"
        "  Stack distances derived from the time distances alone would agree with these to 100.0 "
        "%.\n"
        "\n"
        "Reuses by place  ordered by the misses they could save in a cache of 32 KiB\n"
        "\n"
        "  #1  100.0 % of the misses, 33.3 % of the reuses; on average 3999 lines (249.9 KiB) and "
        "11.7 K\n"
        "      accesses later\n"
        "      in main (main.c:50)\n"
        "      used          sum  main.c:21\n"
        "      reused        sum  main.c:20\n"
        "      If all of them were near, misses would fall at best from 33.77 to 0.66 % in a cache "
        "of "
        "32 "
        "KiB.\n"
        "\n"
        "  1 more, together 66.7 % of the reuses\n";
    if (strcmp(text, expected) != 0)
        fputs(text, stderr);
    assert_string_equal(text, expected);
    free(text);
    profile_free(profile);
}

static void reuse_without_stack_distances_uses_the_model(void **state)
{
    struct report_options options = {.limit = 10, .width = 100};
    struct profile *profile = reuse_profile(false);
    shows(profile, &options, "stack, by model, lines");
    shows(profile, &options,
          "  2K – 4K                                             33.3 % ████████\n");
    shows(profile, &options, "by the model)");
    shows(profile, &options, "ordered by their time distance");
    shows(profile, &options, "33.3 % of the reuses; 11.7 K accesses later");
    lacks(profile, &options, "would agree");
    profile->reuses[0].share_last = profile->reuses[1].share_last = 0.01;
    shows(profile, &options,
          "Estimated from 1,208,000 accesses to 8,000 lines, 1 % of them, chosen");
    shows(profile, &options, "(100 % at first, fewer");
    json_t *root = parse(profile, &options);
    assert_int_equal(json_array_size(at(root, "reuse.stack")), 0);
    assert_string_equal(TEXT(root, "reuse.miss_ratio_from"), "stack_from_time");
    assert_true(json_is_null(at(root, "reuse.pairs.0.stack_mean")));
    assert_float_equal(NUMBER(root, "reuse.sample_locations_end"), 0.01, 1e-9);
    assert_null(json_object_get(at(root, "reuse"), "stack_agreement"));
    json_decref(root);
    profile_free(profile);
}

/* JSON has no word for infinity: a sum over next to nothing is not known. */
static void reuse_json_has_finite_numbers_only(void **state)
{
    struct report_options options = {0};
    struct profile *profile = reuse_profile(true);
    for (size_t i = 0; i < profile->reuse_pairs_count; i++)
        profile->reuse_pairs[i].weight = 5e-324;
    assert_true(profile_check(profile));
    json_t *root = parse(profile, &options);
    assert_true(json_is_null(at(root, "reuse.pairs.0.time_mean")));
    json_decref(root);
    profile_free(profile);
}

static void reuse_json_holds_what_was_found(void **state)
{
    struct report_options options = {0};
    struct profile *profile = reuse_profile(true);
    json_t *root = parse(profile, &options);
    assert_string_equal(TEXT(root, "verb"), "reuse");
    assert_null(json_object_get(root, "waste"));
    assert_string_equal(TEXT(root, "reuse.unit"), "line");
    assert_int_equal(NUMBER(root, "reuse.unit_bytes"), 64);
    assert_int_equal(NUMBER(root, "reuse.accesses"), 1208000);
    assert_int_equal(NUMBER(root, "reuse.reuses"), 1200000);
    assert_int_equal(NUMBER(root, "reuse.locations"), 8000);
    assert_int_equal(NUMBER(root, "reuse.never_reused"), 2000);
    assert_int_equal(json_array_size(at(root, "reuse.time")), 2);
    assert_int_equal(NUMBER(root, "reuse.time.0.lo"), 1);
    assert_int_equal(NUMBER(root, "reuse.time.0.hi"), 2);
    assert_float_equal(NUMBER(root, "reuse.time.0.share"), 2.0 / 3, 1e-8);
    assert_int_equal(NUMBER(root, "reuse.time.1.lo"), 11264);
    assert_int_equal(NUMBER(root, "reuse.time.1.hi"), 12288);
    assert_int_equal(NUMBER(root, "reuse.stack.0.lo"), 0);
    assert_int_equal(NUMBER(root, "reuse.stack.1.lo"), 3840);
    assert_int_equal(NUMBER(root, "reuse.stack.1.hi"), 4096);
    /* The model runs on each process by itself: it never meets more than 4000 lines. */
    json_t *derived = at(root, "reuse.stack_from_time");
    json_t *last = json_array_get(derived, json_array_size(derived) - 1);
    assert_true(NUMBER(last, "hi") <= 4096 && NUMBER(last, "lo") >= 3072);
    double sum = 0;
    for (size_t i = 0; i < json_array_size(derived); i++)
        sum += NUMBER(json_array_get(derived, i), "share");
    assert_float_equal(sum, 1, 1e-6);
    assert_float_equal(NUMBER(root, "reuse.stack_agreement"), 1, 0.01);
    json_t *ratios = at(root, "reuse.miss_ratio");
    assert_int_equal(json_array_size(ratios), 13); /* 1, 2, ... 4096 lines */
    assert_int_equal(NUMBER(root, "reuse.miss_ratio.0.bytes"), 64);
    assert_float_equal(NUMBER(root, "reuse.miss_ratio.0.ratio"), 408000.0 / 1208000, 1e-8);
    assert_int_equal(NUMBER(root, "reuse.miss_ratio.12.bytes"), 262144);
    assert_float_equal(NUMBER(root, "reuse.miss_ratio.12.ratio"), 8000.0 / 1208000, 1e-8);
    assert_string_equal(TEXT(root, "reuse.miss_ratio_from"), "stack");
    assert_int_equal(json_array_size(at(root, "reuse.pairs")), 2);
    assert_float_equal(NUMBER(root, "reuse.pairs.0.share"), 1.0 / 3, 1e-6);
    assert_float_equal(NUMBER(root, "reuse.pairs.0.far_share"), 1, 1e-9);
    assert_float_equal(NUMBER(root, "reuse.pairs.0.time_mean"), 11998, 1e-6);
    assert_float_equal(NUMBER(root, "reuse.pairs.0.stack_mean"), 3999, 1e-6);
    assert_int_equal(NUMBER(root, "reuse.pairs.0.use.0.line"), 21);
    assert_int_equal(NUMBER(root, "reuse.pairs.0.reuse.0.line"), 20);
    assert_float_equal(NUMBER(root, "reuse.pairs.1.stack_mean"), 0, 1e-9);
    json_decref(root);
    profile_free(profile);
}

/* Many reuses that a small cache holds count less than few that it does not. */
static void near_reuses_come_last(void **state)
{
    struct report_options options = {.limit = 10};
    struct profile *profile = reuse_profile(true);
    struct profile_reuse_pair *pairs = profile->reuse_pairs;
    /* 511 lines are less than 32 KiB. */
    pairs[0].stack = 511.0 * pairs[0].weight * 1e6;
    pairs[0].stack_squares = 511.0 * pairs[0].stack;
    pairs[0].weight *= 1e6;
    json_t *root = parse(profile, &options);
    assert_int_equal(NUMBER(root, "reuse.pairs.0.use.0.line"), 21);
    assert_float_equal(NUMBER(root, "reuse.pairs.0.far_share"), 1, 1e-9);
    assert_true(NUMBER(root, "reuse.pairs.1.far_share") == 0);
    json_decref(root);
    pairs[1].stack = pairs[1].stack_squares = 0;
    shows(profile, &options, "all of them near: any first-level cache holds them");
    shows(profile, &options, "#1  100.0 % of the reuses; on average 511 lines (31.9 KiB)");
    profile_free(profile);
}

/* A forked child reuses what its parent touched first: its distances may exceed its own lines. */
static void forked_children_have_their_parents_locations(void **state)
{
    struct report_options options = {0};
    struct profile *profile = reuse_profile(false);
    *profile_add_processes(profile) = (struct profile_process){.id = 1, .parent = UINT32_MAX};
    *profile_add_processes(profile) = (struct profile_process){.id = 2, .parent = 1, .forked = 1};
    profile->reuses[1].locations = 10;
    profile->reuses[1].accesses = 600010;
    json_t *root = parse(profile, &options);
    json_t *derived = at(root, "reuse.stack_from_time");
    double above = 0;
    for (size_t i = 0; i < json_array_size(derived); i++)
        if (NUMBER(json_array_get(derived, i), "lo") >= 3072)
            above += NUMBER(json_array_get(derived, i), "share");
    assert_float_equal(above, 1.0 / 3, 0.01);
    json_decref(root);
    profile_free(profile);
}

static void odd_reuse_profiles_are_reported(void **state)
{
    struct report_options options = {.limit = 10, .width = 100};
    struct profile *profile = exact_profile();
    profile->run.verb = "reuse";
    shows(profile, &options, "headroom reuse");
    *profile_add_reuses(profile) = (struct profile_reuse){.process = 1,
                                                          .unit_bytes = 1,
                                                          .stack = 1,
                                                          .accesses = 1,
                                                          .locations = 1,
                                                          .never_reused = 1,
                                                          .share_first = 1,
                                                          .share_last = 1};
    shows(profile, &options, "1 byte access to 1 byte; 1 of them never reused");
    shows(profile, &options, "Nothing was used twice.");
    json_t *root = parse(profile, &options);
    assert_int_equal(json_array_size(at(root, "reuse.time")), 0);
    assert_int_equal(json_array_size(at(root, "reuse.miss_ratio")), 1);
    json_decref(root);
    /* The longest distances, the largest weights, bins that are not headroom's, a process without
       a row. */
    profile->reuses[0].accesses = profile->reuses[0].locations = 1e30;
    *profile_add_bins(profile) = (struct profile_bin){1, PROFILE_TIME, 1, 0, INT64_MAX, 1e30};
    *profile_add_bins(profile) =
        (struct profile_bin){1, PROFILE_STACK, 1, INT64_MAX - 1, INT64_MAX, 1e30};
    *profile_add_bins(profile) = (struct profile_bin){9, PROFILE_TIME, 1, 5, 6, 1};
    *profile_add_reuse_pairs(profile) = (struct profile_reuse_pair){0, 0, 1, 0, 1e30, 1e60, 0, 0};
    assert_true(profile_check(profile));
    for (unsigned width = 0; width < 400; width += 60) {
        options.width = width;
        free(render(profile, &options, false));
    }
    json_decref(parse(profile, &options));
    profile_free(profile);
}

static void what_sharing_lacks_is_printed(void **state)
{
    struct report_options options = {.width = 160};
    struct profile *profile = exact_profile();
    profile->run.verb = "sharing";
    for (uint32_t process = 1; process <= 2; process++)
        *profile_add_shared_runs(profile) = (struct profile_shared_run){.process = process,
                                                                        .threads = 2,
                                                                        .exhausted = 1,
                                                                        .evicted = 600,
                                                                        .early = process,
                                                                        .merged = 5};
    shows(profile, &options, "memory for histories ran short: 1,200. What another");
    shows(profile, &options, "lines settled before all threads had come as far: 3. Transfers");
    shows(profile, &options, "transfers, or groups of them, without their places: 10\n");
    shows(profile, &options, "processes in which memory ran out: 2. Accesses are missing\n");
    profile_free(profile);
}

static void lines_fit(struct profile *profile)
{
    for (unsigned width = 60; width <= 160; width += 20) {
        struct report_options options = {.width = width};
        char *text = render(profile, &options, false);
        for (char *save, *line = strtok_r(text, "\n", &save); line;
             line = strtok_r(NULL, "\n", &save)) {
            unsigned columns = 0;
            for (const char *c = line; *c; c++)
                columns += ((unsigned char)*c & 0xc0) != 0x80;
            if (columns > width)
                print_error("%u: %s\n", width, line);
            assert_true(columns <= width);
            assert_true(line[strlen(line) - 1] != ' ');
        }
        free(text);
    }
}

static void waste_and_reuse_share_a_profile(void **state)
{
    struct report_options options = {.limit = 10};
    struct profile *profile = reuse_profile(true);
    profile_add_kinds(profile)->kind = PROFILE_DEAD;
    add_exact_pair(profile, PROFILE_DEAD, 2, 3, 10, 10, false);
    profile_total(profile);
    shows(profile, &options, "Dead stores  50.0 %");
    shows(profile, &options, "Reuse distances\n");
    json_t *root = parse(profile, &options);
    assert_int_equal(NUMBER(root, "waste.dead.waste_bytes"), 10);
    assert_int_equal(NUMBER(root, "reuse.locations"), 8000);
    json_decref(root);
    profile_free(profile);
}

/* ---- source lines and advice ----------------------------------------------------------------- */

static char source_path[64];

static void write_source(const char *text, time_t modified)
{
    FILE *file = fopen(source_path, "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
    struct utimbuf times = {modified, modified};
    assert_int_equal(utime(source_path, &times), 0);
}

static struct profile *advice_profile(uint32_t kind, const char *first, uint32_t first_line,
                                      const char *second, uint32_t second_line)
{
    struct profile *profile = new_profile();
    add_kind(profile, kind, 400);
    profile->run.start_ns = UINT64_C(2000000000000000000);
    uint32_t top = context(profile, 0, "main", main_c, 5, 0);
    uint32_t a = context(profile, top, first, source_path, first_line, 0);
    uint32_t b = context(profile, top, second, source_path, second_line, 0);
    add_pair(profile, kind, a, b, 100, 20);
    profile_total(profile);
    return profile;
}

static void source_lines_are_quoted_unless_newer(void **state)
{
    struct report_options options = {.sources = true};
    strcpy(source_path, "/tmp/headroom-source-XXXXXX");
    close(mkstemp(source_path));
    struct profile *profile = advice_profile(PROFILE_DEAD, "f", 2, "f", 3);
    write_source("one\n\t  buffer[i] = \033[31m0;  \nthree", 1900000000);
    shows(profile, &options, "│ buffer[i] = ?[31m0;\n");
    shows(profile, &options, "│ three\n");
    write_source("one\n\t  buffer[i] = 0;\nthree", 2000000001);
    lacks(profile, &options, "│");
    write_source("one\n\t  buffer[i] = 0;\nthree", 1900000000);
    options.sources = false;
    lacks(profile, &options, "│");
    profile_free(profile);
    options.sources = true;
    profile = advice_profile(PROFILE_DEAD, "f", 200, "f", UINT32_MAX);
    lacks(profile, &options, "│");
    unlink(source_path);
    assert_int_equal(mkfifo(source_path, 0600), 0); /* must not block */
    lacks(profile, &options, "│");
    profile_free(profile);
    unlink(source_path);
}

/* Each line of a file is itself, in whatever order they are asked for. */
static void source_lines_are_found(void **state)
{
    enum { LINES = 1000 };
    struct source_cache sources = {.enabled = true};
    char line[32], expected[32];
    strcpy(source_path, "/tmp/headroom-source-XXXXXX");
    FILE *file = fdopen(mkstemp(source_path), "w");
    assert_non_null(file);
    for (unsigned i = 1; i <= LINES; i++)
        fprintf(file, "%.*sline %u%s", (int)(i % 7), "      ", i, i < LINES ? "\n" : "");
    fclose(file);
    for (uint32_t i = 0; i < LINES; i++) {
        uint32_t number = i * 389 % LINES + 1;
        snprintf(expected, sizeof expected, "line %u", number);
        assert_true(source_line(&sources, source_path, number, line, sizeof line));
        assert_string_equal(line, expected);
    }
    assert_false(source_line(&sources, source_path, LINES + 1, line, sizeof line));
    assert_false(source_line(&sources, source_path, LINES + 100, line, sizeof line));
    assert_false(source_line(&sources, source_path, UINT32_MAX, line, sizeof line));
    assert_false(source_line(&sources, source_path, 0, line, sizeof line));
    source_free(&sources);
    unlink(source_path);
}

/* The first pair's advice in JSON is the one that the text report prints. */
static void advises(struct profile *profile, const struct report_options *options, const char *id,
                    const char *says)
{
    char path[64];
    snprintf(path, sizeof path, "waste.%s.pairs.0.advice",
             profile_kind_names[profile->kinds[0].kind]);
    json_t *root = parse(profile, options), *advice = at(root, path);
    assert_string_equal(json_string_value(json_object_get(advice, "id")), id);
    assert_non_null(strstr(json_string_value(json_object_get(advice, "text")), says));
    assert_string_equal(json_string_value(json_object_get(advice, "evidence")), "strong");
    json_decref(root);
}

/* What was counted is exact, few verdicts are weak, and what has no advice says so. */
static void advice_has_its_evidence(void **state)
{
    struct report_options options = {0};
    struct profile *profile = advice_profile(PROFILE_DEAD, "f", 1, "f", 1);
    uint32_t g = context(profile, 0, "g", main_c, 5, 0);
    uint32_t h = context(profile, 0, "h", main_c, 6, 0);
    add_pair(profile, PROFILE_DEAD, g, g, 4, 0);
    add_pair(profile, PROFILE_DEAD, g, h, 3, 0);
    profile_total(profile);
    json_t *root = parse(profile, &options);
    assert_string_equal(json_string_value(at(root, "waste.dead.pairs.0.advice.evidence")),
                        "strong");
    assert_string_equal(json_string_value(at(root, "waste.dead.pairs.1.advice.evidence")), "weak");
    assert_true(json_is_null(at(root, "waste.dead.pairs.2.advice")));
    json_decref(root);
    profile->run.engine = "exact";
    root = parse(profile, &options);
    assert_string_equal(json_string_value(at(root, "waste.dead.pairs.1.advice.evidence")), "exact");
    json_decref(root);
    profile_free(profile);
}

/* Threads that wait in a loop of OpenMP's runtime must go on loading; who waits does not lead the list. */
static void waiting_is_not_wasted_work(void **state)
{
    struct report_options options = {.limit = 10, .width = 160};
    struct profile *profile = new_profile();
    add_kind(profile, PROFILE_LOAD, 400);
    profile_add_modules(profile)->path = "/usr/lib/x86_64-linux-gnu/libgomp.so.1.0.0";
    uint32_t waits = context(profile, 0, "gomp_barrier_wait", "", 0, 0);
    profile->frames[profile->frames_count - 1].module = 2;
    uint32_t work = context(profile, context(profile, 0, "main", main_c, 5, 0), "f", main_c, 7, 0);
    add_pair(profile, PROFILE_LOAD, waits, waits, 80, 0);
    add_pair(profile, PROFILE_LOAD, work, work, 20, 0);
    *profile_add_traits(profile) =
        (struct profile_trait){PROFILE_LOAD, waits, waits, PROFILE_REACH_INVARIANT, 0};
    profile_total(profile);
    shows(profile, &options, "#1  20.0 % of the redundant bytes");
    shows(profile, &options, "the OpenMP runtime's own code, where threads mostly wait");
    lacks(profile, &options, "load the value once before");
    lacks(profile, &options, "loop-invariant");
    profile->modules[2].path = "/usr/lib/x86_64-linux-gnu/libc.so.6";
    lacks(profile, &options, "load the value once before");
    lacks(profile, &options, "loop-invariant");
    profile_free(profile);
}

/* What happens inside a shared library is nothing for a local variable of its caller, whatever the library's code
   looks like. */
static void library_advice(const struct report_options *options)
{
    static const uint32_t kinds[] = {PROFILE_DEAD, PROFILE_SILENT, PROFILE_LOAD};
    for (size_t i = 0; i < BASE_COUNT(kinds) * 2; i++) {
        struct profile *profile = new_profile();
        bool library = i % 2 == 0;
        uint32_t kind = kinds[i / 2];
        if (library)
            profile_add_modules(profile)->path = "/usr/lib/x86_64-linux-gnu/libc.so.6";
        add_kind(profile, kind, 400);
        uint32_t top = context(profile, 0, "set_value", source_path, 1, 0);
        uint32_t leaf = context(profile, top, "print_fp", source_path, 2, 0);
        profile->frames[profile->frames_count - 1].module = library ? 2 : 1;
        add_pair(profile, kind, leaf, leaf, 100, 0);
        *profile_add_traits(profile) = (struct profile_trait){
            kind, leaf, leaf, kind == PROFILE_LOAD ? PROFILE_REACH_ITERATION : 0, 0};
        profile_total(profile);
        (library ? shows : lacks)(profile, options, "happens inside a library function");
        (!library && kind == PROFILE_LOAD ? shows : lacks)(profile, options, "same loop iteration");
        profile_free(profile);
    }
}

static void advice_follows_the_evidence(void **state)
{
    static const struct {
        uint32_t kind;
        const char *first, *second;
        uint32_t first_line, second_line;
        const char *says, *id;
    } cases[] = {
        {PROFILE_DEAD, "__memset_avx2_unaligned_erms", "g", 1, 2, "Memory is cleared and then",
         "dead.cleared"},
        {PROFILE_DEAD, "f", "g", 3, 2, "Memory is cleared and then",
         "dead.cleared"}, /* memset in the line */
        {PROFILE_DEAD, "memset_like", "memset_like", 1, 2, "Two lines of one function store",
         "dead.same-function"},
        {PROFILE_DEAD, "memcpy", "__memmove_avx", 1, 1, "copied, then overwritten", "dead.copied"},
        {PROFILE_DEAD, "helper", "helper", 4, 4, "start of a function", "dead.saved"},
        {PROFILE_DEAD, "f", "f", 1, 1, "overwrites its own result", "dead.same-line"},
        {PROFILE_DEAD, "f", "f", 7, 7, "fills the same memory again", "dead.rebuilt"},
        {PROFILE_DEAD, "f", "f", 8, 8, "overwrites its own result", "dead.same-line"},
        {PROFILE_DEAD, "f", "f", 2, 1, "Two lines of one function store", "dead.same-function"},
        {PROFILE_DEAD, "__memcpy_avx2", "__memcpy_avx2", 0, 0, "two stores that overlap",
         "library.overlap"},
        {PROFILE_SILENT, "__memset_avx2", "__memset_avx2", 0, 0, "two stores that overlap",
         "library.overlap"},
        {PROFILE_DEAD, "__memset_avx2", "helper", 1, 4, "stack memory went to another call",
         "dead.frame"},
        {PROFILE_SILENT, "f", "f", 2, 2, "refilled although", "silent.same-line"},
        {PROFILE_SILENT, "f", "__libc_calloc", 2, 1, "still holds zeroes", "silent.cleared"},
        {PROFILE_LOAD, "__strcmp_avx2", "__strcmp_avx2", 0, 0, "linear search", "load.compared"},
        {PROFILE_LOAD, "__strlen_avx2", "__rawmemchr_avx2", 0, 0, "scanned for its end",
         "load.scanned"},
        {PROFILE_LOAD, "find", "find", 5, 5, "same links are followed", "load.chain"},
        {PROFILE_LOAD, "find", "size", 5, 5, "same links are followed", "load.chain"},
        {PROFILE_LOAD, "f", "f", 6, 6, "goes over the same unchanged data", "load.walked"},
        {PROFILE_LOAD, "f", "f", 2, 2, "goes over the same unchanged data", "load.walked"},
        {PROFILE_LOAD, "f", "f", 1, 1, "if it is constant in a loop", "load.same-line"},
        {PROFILE_LOAD, "f", "f", 2, 1, "Two lines of one function load", "load.same-function"},
    };
    struct report_options options = {.sources = true, .width = 160};
    strcpy(source_path, "/tmp/headroom-source-XXXXXX");
    close(mkstemp(source_path));
    write_source(
        "a = b;\nsum += b[i];\nmemset(buffer, 0, n);\nstatic int helper(int x)\n"
        "item = item->next;\nfor (i = 0; i < n; i++)\ntable[i] = round;\ntable[i] += part[i];\n",
        1900000000);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct profile *profile = advice_profile(cases[i].kind, cases[i].first, cases[i].first_line,
                                                 cases[i].second, cases[i].second_line);
        shows(profile, &options, cases[i].says);
        advises(profile, &options, cases[i].id, cases[i].says);
        profile_free(profile);
    }
    struct profile *inlined = advice_profile(PROFILE_DEAD, "helper", 4, "helper", 4);
    for (uint32_t i = 0; i < inlined->frames_count; i++)
        if (inlined->frames[i].line == 4)
            inlined->frames[i].flags |= PROFILE_FRAME_INLINED;
    lacks(inlined, &options, "start of a function");
    profile_free(inlined);
    struct profile *lineless = advice_profile(PROFILE_DEAD, "f", 0, "f", 0);
    lacks(lineless, &options, "overwrites its own result");
    profile_free(lineless);
    library_advice(&options);
    struct profile *strangers = advice_profile(PROFILE_DEAD, "f", 2, "g", 1);
    lacks(strangers, &options, "usually");
    profile_free(strangers);
    /* One line, called from two: it is not two lines. */
    struct profile *twice = new_profile();
    add_kind(twice, PROFILE_DEAD, 400);
    uint32_t early = context(twice, 0, "main", main_c, 5, 0);
    uint32_t late = context(twice, 0, "main", main_c, 6, 0);
    add_pair(twice, PROFILE_DEAD, context(twice, early, "f", source_path, 7, 0),
             context(twice, late, "f", source_path, 7, 0), 100, 0);
    profile_total(twice);
    shows(twice, &options, "fills the same memory again");
    lacks(twice, &options, "Two lines of one function");
    profile_free(twice);
    unlink(source_path);
    struct profile *nested = new_profile();
    add_kind(nested, PROFILE_LOAD, 400);
    uint32_t caller = context(nested, 0, "f", main_c, 5, 0);
    uint32_t callee = context(nested, context(nested, 0, "f", main_c, 6, 0), "g", main_c, 9, 0);
    add_pair(nested, PROFILE_LOAD, caller, callee, 100, 0);
    profile_total(nested);
    shows(nested, &options, "pass it on as an argument");
    profile_free(nested);
    /* Addresses alone support nothing. */
    struct profile *profile = new_profile();
    add_kind(profile, PROFILE_DEAD, 400);
    uint32_t top = context(profile, 0, NULL, "", 0, 0);
    add_pair(profile, PROFILE_DEAD, top, top, 100, 0);
    profile_total(profile);
    shows(profile, &options, "prog+0x1001");
    lacks(profile, &options, "overwrites its own result");
    profile_free(profile);
}

/* What the program has called is what it can change: not memchr, which fgets calls. */
static void advice_is_for_what_is_called(void **state)
{
    static const struct {
        uint32_t kind;
        const char *called, *leaf, *id;
    } cases[] = {
        {PROFILE_LOAD, NULL, "__memchr_avx2", "load.compared"},
        {PROFILE_LOAD, "_IO_fgets", "__memchr_avx2", "library"},
        {PROFILE_SILENT, NULL, "__memset_avx2", "silent.cleared"},
        {PROFILE_SILENT, "__libc_calloc", "__memset_avx2", "silent.cleared"},
        {PROFILE_SILENT, "GOMP_parallel", "__memset_avx2", "library"},
        {PROFILE_DEAD, "GOMP_parallel", "__memset_avx2", "library"},
    };
    struct report_options options = {0};
    for (size_t i = 0; i < BASE_COUNT(cases); i++) {
        struct profile *profile = new_profile();
        uint32_t at = context(profile, 0, "main", main_c, 5, 0);
        add_kind(profile, cases[i].kind, 400);
        profile_add_modules(profile)->path = "/usr/lib/x86_64-linux-gnu/libc.so.6";
        if (cases[i].called) {
            at = context(profile, at, cases[i].called, "", 0, 0);
            profile->frames[profile->frames_count - 1].module = 2;
        }
        at = context(profile, at, cases[i].leaf, "", 0, 0);
        profile->frames[profile->frames_count - 1].module = 2;
        add_pair(profile, cases[i].kind, at, at, 100, 0);
        profile_total(profile);
        advises(profile, &options, cases[i].id, "");
        profile_free(profile);
    }
    /* A function that calls itself stores the same at one line: these are not two places. */
    struct profile *profile = new_profile();
    add_kind(profile, PROFILE_SILENT, 400);
    uint32_t outer = context(profile, 0, "bind", main_c, 20, 0);
    uint32_t inner =
        context(profile, context(profile, 0, "bind", main_c, 25, 0), "bind", main_c, 20, 0);
    add_pair(profile, PROFILE_SILENT, outer, inner, 100, 0);
    profile_total(profile);
    advises(profile, &options, "silent.same-line", "The line writes values");
    profile_free(profile);
}

/* A value loaded twice by a function of f: of a library's, or of a header's, inlined into f. */
static struct profile *twice_loaded(uint32_t flags)
{
    struct profile *profile = new_profile();
    add_kind(profile, PROFILE_LOAD, 400);
    uint32_t f = context(profile, context(profile, 0, "main", main_c, 5, 0), "f", main_c, 20, 0);
    uint32_t leaf = context(profile, f, "format", "/usr/include/format.h", 30, flags);
    struct profile_pair *pair = add_pair(profile, PROFILE_LOAD, leaf, leaf, 100, 0);
    *profile_add_traits(profile) =
        (struct profile_trait){PROFILE_LOAD, pair->first, pair->second, PROFILE_REACH_ITERATION, 0};
    profile_total(profile);
    return profile;
}

/* A local variable keeps nothing for a library function, nor for calls from different places. */
static void advice_is_for_own_code_and_one_call(void **state)
{
    struct report_options options = {0};
    struct profile *profile = twice_loaded(PROFILE_FRAME_INLINED);
    shows(profile, &options, "keep it in a local variable");
    profile_free(profile);
    profile = twice_loaded(0);
    lacks(profile, &options, "local variable");
    advises(profile, &options, "library", "inside a library function");
    profile_free(profile);
    for (uint32_t kind = PROFILE_DEAD; kind <= PROFILE_LOAD; kind += PROFILE_LOAD - PROFILE_DEAD) {
        profile = new_profile();
        add_kind(profile, kind, 400);
        uint32_t early = context(profile, 0, "main", main_c, 5, 0);
        uint32_t late = context(profile, 0, "main", main_c, 6, 0);
        add_pair(profile, kind, context(profile, early, "f", main_c, 20, 0),
                 context(profile, late, "f", main_c, 21, 0), 100, 0);
        profile_total(profile);
        lacks(profile, &options, "Two lines of one function");
        profile_free(profile);
    }
}

/* ---- caches and estimates -------------------------------------------------------------------- */

static void add_cache(struct profile *profile, uint32_t level, uint64_t bytes)
{
    *profile_add_caches(profile) = (struct profile_cache){
        .level = level, .ways = 8, .line_bytes = 64, .sharers = level == 3 ? 2 : 1, .bytes = bytes};
}

/* A cache whose size is no power of two lies between its neighbours: 3840 lines have hit what 4000
   lines apart is missed, for distances within [3840, 4096) are taken as uniform. */
static void caches_of_the_machine_are_marked(void **state)
{
    struct report_options options = {.limit = 10, .width = 100};
    struct profile *profile = reuse_profile(true);
    add_cache(profile, 1, 48 << 10);
    add_cache(profile, 2, 3968 * 64);
    add_cache(profile, 3, 33 << 20);
    assert_true(profile_check(profile));
    shows(profile, &options, "\n  32 KiB      33.77 %  ██████");
    shows(profile, &options, "██ ← L1\n  64 KiB      33.77 %");
    shows(profile, &options, "\n  248 KiB     17.22 %  ████████████████████████▌ ← L2\n  256 KiB ");
    shows(profile, &options, "█ ← L3\n  (fully associative");
    shows(profile, &options,
          "Of the accesses, 33.77 % miss this machine's L1 (48 KiB), 17.22 % miss L2 (248 KiB), "
          "0.66 % miss\n  L3 (33 MiB); 0.66 % are first touches, which miss in every cache.");
    json_t *root = parse(profile, &options);
    assert_int_equal(json_array_size(at(root, "reuse.caches")), 3);
    assert_int_equal(NUMBER(root, "reuse.caches.0.level"), 1);
    assert_int_equal(NUMBER(root, "reuse.caches.0.bytes"), 48 << 10);
    assert_int_equal(NUMBER(root, "reuse.caches.0.ways"), 8);
    assert_int_equal(NUMBER(root, "reuse.caches.0.line_bytes"), 64);
    assert_int_equal(NUMBER(root, "reuse.caches.2.sharers"), 2);
    assert_float_equal(NUMBER(root, "reuse.caches.0.miss_ratio"), 408000.0 / 1208000, 1e-8);
    assert_float_equal(NUMBER(root, "reuse.caches.1.miss_ratio"), 208000.0 / 1208000, 1e-8);
    assert_float_equal(NUMBER(root, "reuse.caches.2.miss_ratio"), 8000.0 / 1208000, 1e-8);
    assert_null(json_object_get(at(root, "reuse.caches.0"), "low"));
    assert_null(json_object_get(at(root, "reuse.miss_ratio.0"), "low"));
    assert_null(json_object_get(at(root, "reuse"), "pace"));
    assert_null(json_object_get(at(root, "reuse"), "elapsed_ns"));
    json_decref(root);
    profile_free(profile);
}

static void without_caches_nothing_is_marked(void **state)
{
    struct report_options options = {.limit = 10, .width = 100};
    struct profile *profile = reuse_profile(true);
    lacks(profile, &options, "←");
    lacks(profile, &options, "this machine's");
    json_t *root = parse(profile, &options);
    assert_int_equal(json_array_size(at(root, "reuse.caches")), 0);
    assert_int_equal(NUMBER(root, "reuse.ranked_beyond_bytes"), 32 << 10);
    json_decref(root);
    profile_free(profile);
}

/* Misses count in every cache of the machine. */
static void order_goes_by_the_misses_to_save(void **state)
{
    struct report_options options = {.limit = 10, .width = 100};
    struct profile *profile = reuse_profile(true);
    add_cache(profile, 1, 32 << 10);
    add_cache(profile, 2, 128 << 10);
    add_cache(profile, 3, 192 << 10);
    shows(profile, &options, "ordered by the misses they could save in L1, L2 and L3\n");
    shows(
        profile, &options,
        "If all of them were near, misses would fall at best from 33.77 to 0.66 % in L1 (32 KiB), "
        "from\n      33.77 to 0.66 % in L2 (128 KiB), from 33.77 to 0.66 % in L3 (192 KiB).");
    /* One row for each size. */
    lacks(profile, &options,
          "  32 KiB      33.77 %  ████████████████████████████████████████████████\n");
    shows(profile, &options, "██ ← L1\n  64 KiB ");
    json_t *root = parse(profile, &options);
    assert_int_equal(NUMBER(root, "reuse.ranked_beyond_bytes"), 32 << 10);
    assert_float_equal(NUMBER(root, "reuse.pairs.0.far_share"), 1, 1e-9);
    assert_int_equal(json_array_size(at(root, "reuse.pairs.0.saves")), 3);
    assert_int_equal(NUMBER(root, "reuse.pairs.0.saves.1.bytes"), 128 << 10);
    assert_float_equal(NUMBER(root, "reuse.pairs.0.saves.1.ratio"), 408.0 / 1208, 1e-8);
    assert_float_equal(NUMBER(root, "reuse.pairs.0.saves.1.ratio_without"), 8.0 / 1208, 1e-8);
    assert_float_equal(NUMBER(root, "reuse.pairs.0.saves.2.ratio_without"), 8.0 / 1208, 1e-8);
    assert_float_equal(NUMBER(root, "reuse.pairs.1.saves.0.ratio_without"), 408.0 / 1208, 1e-8);
    assert_true(json_is_false(at(root, "reuse.pairs.0.once")));
    json_decref(root);
    profile_free(profile);
}

/* Reuses at 16000 lines against 400000 at 3999, which miss L1 alone: however far away they are, what
   counts is how many misses there are to save. */
static void far_ones_do_not_make_the_order(void **state)
{
    struct report_options options = {.limit = 10, .width = 100};
    struct profile *profile = reuse_profile(true);
    struct profile_reuse_pair *rare = &profile->reuse_pairs[0];
    add_cache(profile, 1, 32 << 10);
    add_cache(profile, 2, 512 << 10);
    for (unsigned i = 0; i < 2; i++) {
        double weight = i == 0 ? 40000 : 400000; /* each misses both */
        rare->weight = weight;
        rare->stack = 16000 * weight;
        rare->stack_squares = 16000 * rare->stack;
        profile->bins_count = 1;
        add_bin(profile, 1, PROFILE_TIME, 11998, 400000);
        add_bin(profile, 1, PROFILE_STACK, 0, 1000000);
        add_bin(profile, 1, PROFILE_STACK, 3999, 400000);
        add_bin(profile, 1, PROFILE_STACK, 16000, weight);
        json_t *root = parse(profile, &options);
        assert_int_equal(NUMBER(root, "reuse.pairs.0.use.0.line"), i == 0 ? 21 : 20);
        json_decref(root);
    }
    profile_free(profile);
}

static void simulated_caches_stand_beside_the_curve(void **state)
{
    struct report_options options = {.limit = 10, .width = 100};
    struct profile *profile = reuse_profile(true);
    *profile_add_what_ifs(profile) = (struct profile_what_if){32 << 10, 8, 64, 1208000, 410416};
    *profile_add_what_ifs(profile) = (struct profile_what_if){1 << 20, 0, 64, 1208000, 8000};
    *profile_add_what_ifs(profile) = (struct profile_what_if){1 << 10, 1, 32, 0, 0};
    assert_true(profile_check(profile));
    shows(profile, &options,
          "  simulated cache                 misses  by the curve\n"
          "  32 KiB, 8 ways                 33.97 %       33.77 %    +0.20 points\n"
          "  1 MiB, fully associative        0.66 %        0.66 %    +0.00 points\n"
          "  1 KiB, 1 way                    0.00 %\n");
    json_t *root = parse(profile, &options);
    assert_int_equal(NUMBER(root, "reuse.what_if.0.bytes"), 32 << 10);
    assert_int_equal(NUMBER(root, "reuse.what_if.0.ways"), 8);
    assert_int_equal(NUMBER(root, "reuse.what_if.0.line_bytes"), 64);
    assert_int_equal(NUMBER(root, "reuse.what_if.0.accesses"), 1208000);
    assert_int_equal(NUMBER(root, "reuse.what_if.0.misses"), 410416);
    assert_float_equal(NUMBER(root, "reuse.what_if.0.ratio"), 410416.0 / 1208000, 1e-8);
    assert_float_equal(NUMBER(root, "reuse.what_if.0.curve_ratio"), 408000.0 / 1208000, 1e-8);
    assert_true(json_is_null(at(root, "reuse.what_if.2.curve_ratio")));
    json_decref(root);
    profile->what_ifs_count = 1;
    profile->reuses[0].unit_bytes = profile->reuses[1].unit_bytes = 8;
    shows(profile, &options, "the curve counts other locations and cannot be compared");
    lacks(profile, &options, "points");
    profile_free(profile);
}

/* One process whose accesses were not counted. A third of the reuses come 10 µs later, the others
   immediately. */
static struct profile *live_profile(void)
{
    struct profile *profile = new_profile();
    profile->run.verb = "reuse";
    *profile_add_reuses(profile) = (struct profile_reuse){.process = 1,
                                                          .unit_bytes = 64,
                                                          .accesses = 6040000,
                                                          .reuses = 6000000,
                                                          .locations = 40000,
                                                          .never_reused = 1000,
                                                          .share_first = 1,
                                                          .share_last = 1,
                                                          .kept_accesses = 700};
    add_kind(profile, PROFILE_REUSE, 700);
    add_bin(profile, 1, PROFILE_TIME, 1, 4000000);
    add_bin(profile, 1, PROFILE_TIME, 12000, 2000000);
    add_bin(profile, 1, PROFILE_ELAPSED, 10000, 2000000);
    *profile_add_paces(profile) = (struct profile_pace){
        .process = 1,
        .accesses_per_ns = 1.2,
        .low = 0.4,
        .high = 3.6,
        .trap_ns = 3400,
        .floor_ns = 150,
        .calibration = "from 25 programs, \033[31mby mix",
    };
    uint32_t top = context(profile, 0, "main", main_c, 50, 0);
    uint32_t sum = context(profile, top, "sum", main_c, 20, 0);
    *profile_add_reuse_pairs(profile) =
        (struct profile_reuse_pair){sum, sum, 400, 4000000, 4000000, 4000000, 0, 0};
    *profile_add_reuse_pairs(profile) =
        (struct profile_reuse_pair){top, sum, 200, 2000000, 2.4e10, 2.88e14, 8e9, 3.2e13};
    add_cache(profile, 1, 32 << 10);
    add_cache(profile, 2, 1 << 20);
    assert_true(profile_check(profile));
    return profile;
}

static void estimates_are_called_so(void **state)
{
    struct report_options options = {.limit = 10, .width = 100};
    struct profile *profile = live_profile();
    lacks(profile, &options, "every access was seen");
    shows(profile, &options,
          "about 6000 K accesses to about 40 K lines of 64 bytes (2 MiB); about 1000 of them "
          "never");
    shows(profile, &options, "Estimated from 700 samples.");
    shows(profile, &options, "at about 1.2 accesses per nanosecond (0.4 – 3.6, from 25 programs,");
    shows(profile, &options, "?[31mby mix)");
    shows(profile, &options, "Times below 150 ns are not distinguished; 3.4 µs were subtracted");
    shows(profile, &options, "Reuse by another\n  thread is not seen.");
    shows(profile, &options, "A watchpoint covers part of a line:");
    shows(
        profile, &options,
        "  CPU time                    <150 ns      9.3 µs      9.6 µs      9.9 µs       10 µs\n");
    shows(profile, &options, "  accesses, estimated               1 ");
    shows(profile, &options, "  CPU time         reuses\n  below 200 ns       67 % ███");
    shows(profile, &options, "  …\n  5 – 10 µs ");
    shows(profile, &options, "\n  cache of     misses     90 % interval\n");
    shows(profile, &options,
          "not the model's own, nor reuse of a line through bytes that were not\n");
    shows(profile, &options, "followed: misses may be fewer. –: too wide for a figure)");
    shows(profile, &options, "Of the accesses, about 34 % (");
    shows(profile, &options,
          "about 100 % of the misses, 33 % of the reuses (30 – 37 %); on average about 4000 lines "
          "(300\n      KiB) and about 10 K accesses later\n");
    shows(profile, &options, "misses would fall at best from about 34 to 1 % in L1 (32 KiB).");
    /* 4000 lines at 1.2 accesses a nanosecond are 1333 at 0.4 and 12000 at 3.6. */
    shows(profile, &options, "  128 KiB           –          1 – 3");
    lacks(profile, &options, "time distance");
    lacks(profile, &options, "treat these figures with caution");
    lacks(profile, &options, "Dead stores");
    lacks(profile, &options, "95 % interval");
    profile_free(profile);
}

/* What would be saved is less than the digits that samples support: of 34 % they tell no tenths. */
static void savings_that_do_not_show_are_left_out(void **state)
{
    struct report_options options = {.limit = 0, .width = 100};
    struct profile *profile = live_profile();
    uint32_t top = context(profile, 0, "main", main_c, 51, 0);
    *profile_add_reuse_pairs(profile) =
        (struct profile_reuse_pair){top, top, 100, 6000, 7.2e7, 8.64e11, 2.4e7, 9.6e10};
    assert_true(profile_check(profile));
    shows(profile, &options, "  #3  ");
    shows(profile, &options, "misses would fall at best from about 34 to 1 % in L1 (32 KiB).");
    lacks(profile, &options, "34 to 34 %");
    profile_free(profile);
}

/* Waits that were timed stand beside the findings, with what helps once for each cause in a row. */
static void waits_stand_beside_findings(void **state)
{
    struct report_options options = {.limit = 0, .width = 100};
    struct profile *profile = new_profile();
    profile->run.verb = "run";
    profile->run.threads = 2;
    lacks(profile, &options, "Waiting");
    *profile_add_waits(profile) = (struct profile_wait){.function = "pthread_mutex_lock",
                                                        .caller = "take",
                                                        .file = main_c,
                                                        .line = 12,
                                                        .holder = "keep",
                                                        .cause = "lock",
                                                        .count = 500,
                                                        .lost_ns = 3e8,
                                                        .working_ns = 2e9};
    *profile_add_waits(profile) = (struct profile_wait){
        .function = "sem_wait", .cause = "lock", .count = 5, .lost_ns = 1e8, .working_ns = 2e9};
    assert_true(profile_check(profile));
    shows(profile, &options,
          "  15.0 % of the threads' time (300 ms) in pthread_mutex_lock, called by take\n"
          "      (/home/u/demo/src/main.c:12); held most by keep\n"
          "      Hold the lock for a shorter time");
    shows(profile, &options,
          "locks of their own.\n\n  5.0 % of the threads' time (100 ms) in sem_wait\n\n");
    profile_free(profile);
}

/* No figure without its evidence: what matters is how many samples there are, not at which rate. */
static void few_samples_of_reuse_are_told(void **state)
{
    struct report_options options = {.limit = 10, .width = 100, .profile_path = "p"};
    struct profile *profile = live_profile();
    lacks(profile, &options, "Too few samples");
    profile->reuse_pairs[0].count = 20;
    profile->reuse_pairs[1].count = 4;
    shows(profile, &options,
          "Too few samples for figures of distances and misses; use --exact --sample-locations "
          "0.01, which\n");
    shows(profile, &options,
          "headroom reuse --exact --sample-locations 0.01 -- ./prog 'two words'\n");
    lacks(profile, &options, "cache of     misses");
    lacks(profile, &options, "reuses within");
    lacks(profile, &options, "miss this machine's");
    lacks(profile, &options, "at best");
    lacks(profile, &options, "accesses later");
    lacks(profile, &options, "--rate");
    json_t *root = parse(profile, &options);
    assert_true(json_is_true(at(root, "reuse.too_few_samples")));
    json_decref(root);
    options.limit = 0;
    shows(profile, &options, "; weak evidence: seen 4 times");
    options.limit = 10;
    profile->reuse_pairs[1].count = 20;
    shows(profile, &options, "#1  20 – 50 % of the reuses; seen 20 times\n");
    profile_free(profile);
}

static void estimates_have_bands(void **state)
{
    struct report_options options = {0};
    struct profile *profile = live_profile();
    json_t *root = parse(profile, &options);
    assert_null(json_object_get(root, "waste"));
    assert_int_equal(NUMBER(root, "reuse.samples"), 700);
    assert_int_equal(NUMBER(root, "reuse.armed"), 690);
    assert_float_equal(NUMBER(root, "reuse.pace.accesses_per_ns"), 1.2, 1e-9);
    assert_float_equal(NUMBER(root, "reuse.pace.low"), 0.4, 1e-9);
    assert_float_equal(NUMBER(root, "reuse.pace.high"), 3.6, 1e-9);
    assert_float_equal(NUMBER(root, "reuse.pace.trap_ns"), 3400, 1e-9);
    assert_float_equal(NUMBER(root, "reuse.pace.floor_ns"), 150, 1e-9);
    assert_non_null(strstr(TEXT(root, "reuse.pace.calibration"), "from 25 programs"));
    assert_int_equal(json_array_size(at(root, "reuse.elapsed_ns")), 1);
    assert_int_equal(NUMBER(root, "reuse.elapsed_ns.0.lo"), 9216);
    /* Of all reuses: those that were predicted have no time. */
    assert_float_equal(NUMBER(root, "reuse.elapsed_ns.0.share"), 1.0 / 3, 1e-8);
    json_t *ratios = at(root, "reuse.miss_ratio");
    double narrowest = 1, widest = 0;
    for (size_t i = 0; i < json_array_size(ratios); i++) {
        json_t *one = json_array_get(ratios, i);
        double ratio = NUMBER(one, "ratio"), low = NUMBER(one, "low"), high = NUMBER(one, "high");
        assert_true(0 <= low && low <= ratio && ratio <= high && high <= 1);
        narrowest = fmin(narrowest, high - low);
        widest = fmax(widest, high - low);
    }
    /* 4000 lines at 1.2 accesses a nanosecond are 12000 at 3.6, and 1333 at 0.4. */
    assert_int_equal(NUMBER(root, "reuse.miss_ratio.12.bytes"), 256 << 10);
    assert_true(NUMBER(root, "reuse.miss_ratio.12.high") > 0.3); /* 256 KiB */
    assert_true(NUMBER(root, "reuse.miss_ratio.12.ratio") < 0.01);
    assert_true(NUMBER(root, "reuse.miss_ratio.11.low") < 0.01); /* 128 KiB */
    assert_true(NUMBER(root, "reuse.miss_ratio.11.ratio") > 0.3);
    /* Where the pace does not matter there is chance; where it does, all of the far reuses. */
    assert_true(narrowest < 0.08 && narrowest > 0.005);
    assert_true(widest > 0.33);
    assert_true(NUMBER(root, "reuse.caches.0.low") < NUMBER(root, "reuse.caches.0.miss_ratio"));
    assert_true(NUMBER(root, "reuse.caches.0.high") > NUMBER(root, "reuse.caches.0.miss_ratio"));
    assert_true(NUMBER(root, "reuse.pairs.0.ci95.0") < 1.0 / 3);
    assert_true(NUMBER(root, "reuse.pairs.0.ci95.1") > 1.0 / 3);
    assert_float_equal(NUMBER(root, "reuse.pairs.0.stack_mean"), 4000, 1e-6);
    json_decref(root);
    /* What was found by looking ahead does not hang on the pace: 150 accesses stay
     * below the floor. */
    profile->bins[0].bin = distance_bin(150);
    profile->bins[0].lo = distance_bin_low(profile->bins[0].bin);
    profile->bins[0].hi = distance_bin_low(profile->bins[0].bin + 1);
    root = parse(profile, &options);
    assert_true(NUMBER(root, "reuse.miss_ratio.8.high") < 0.5); /* 256 lines */
    json_decref(root);
    /* Counted distances have the band of chance alone, and no pace. */
    profile->paces_count = 0;
    profile->bins_count--;
    root = parse(profile, &options);
    assert_null(json_object_get(at(root, "reuse"), "pace"));
    assert_null(json_object_get(at(root, "reuse"), "elapsed_ns"));
    ratios = at(root, "reuse.miss_ratio");
    for (size_t i = 0; i < json_array_size(ratios); i++)
        assert_true(NUMBER(json_array_get(ratios, i), "high") -
                        NUMBER(json_array_get(ratios, i), "low") <
                    0.08);
    json_decref(root);
    struct report_options text = {.width = 100};
    shows(profile, &text, "Estimated from 700 samples. Reuse by another");
    shows(profile, &text, "  time distance, accesses ");
    lacks(profile, &text, "nanosecond");
    profile_free(profile);
}

/* Two processes: the pace of both together, weighted by their CPU time. */
static void paces_are_added_up(void **state)
{
    struct report_options options = {0};
    struct profile *profile = live_profile();
    *profile_add_reuses(profile) = profile->reuses[0];
    profile->reuses[1].process = 2;
    profile->reuses[1].accesses *= 2; /* at twice the pace: the same time */
    *profile_add_paces(profile) = (struct profile_pace){.process = 2,
                                                        .accesses_per_ns = 2.4,
                                                        .low = 2,
                                                        .high = 4.4,
                                                        .trap_ns = 5,
                                                        .floor_ns = 200,
                                                        .calibration = "second"};
    json_t *root = parse(profile, &options);
    assert_float_equal(NUMBER(root, "reuse.pace.accesses_per_ns"), 1.8, 1e-9);
    assert_float_equal(NUMBER(root, "reuse.pace.low"), 1.2, 1e-9);
    assert_float_equal(NUMBER(root, "reuse.pace.high"), 4, 1e-9);
    assert_float_equal(NUMBER(root, "reuse.pace.trap_ns"), 3400, 1e-9);
    assert_float_equal(NUMBER(root, "reuse.pace.floor_ns"), 200, 1e-9);
    json_decref(root);
    profile_free(profile);
}

static void papers_have_their_own_bins(void **state)
{
    struct report_options options = {.limit = 10, .width = 100, .paper_bins = true};
    struct profile *profile = reuse_profile(true);
    shows(profile, &options,
          "  distance           time                              stack\n"
          "  0 – 4K           66.7 % ████████████████           100.0 % ████████████████████████\n"
          "  4K – 8K\n"
          "  8K – 16K         33.3 % ████████\n");
    json_t *root = parse(profile, &options);
    assert_int_equal(json_array_size(at(root, "reuse.time")), 2);
    assert_int_equal(NUMBER(root, "reuse.time.0.lo"), 0);
    assert_int_equal(NUMBER(root, "reuse.time.0.hi"), 4096);
    assert_float_equal(NUMBER(root, "reuse.time.0.share"), 2.0 / 3, 1e-8);
    assert_int_equal(NUMBER(root, "reuse.time.1.lo"), 8192);
    assert_int_equal(NUMBER(root, "reuse.time.1.hi"), 16384);
    assert_int_equal(json_array_size(at(root, "reuse.stack")), 1);
    assert_int_equal(NUMBER(root, "reuse.stack.0.hi"), 4096);
    json_decref(root);
    profile_free(profile);
    profile = live_profile();
    shows(profile, &options,
          "  CPU time, ns     reuses\n"
          "  0 – 4K             67 % ████████████████████████████████\n"
          "  4K – 8K\n"
          "  8K – 16K           33 % ████████████████\n");
    root = parse(profile, &options);
    assert_int_equal(NUMBER(root, "reuse.elapsed_ns.0.lo"), 8192);
    json_decref(root);
    profile_free(profile);
}

static void paper_bins_are_the_papers(void **state)
{
    for (unsigned bin = 0; bin < DISTANCE_BINS; bin++) {
        uint64_t low = distance_bin_low(bin);
        unsigned paper = figures_paper_bin(bin);
        assert_true(paper < FIGURES_PAPER_BINS);
        assert_true(low >= figures_paper_low(paper));
        assert_true(paper + 1 == FIGURES_PAPER_BINS || low < figures_paper_low(paper + 1));
    }
    assert_int_equal(figures_paper_low(0), 0);
    assert_int_equal(figures_paper_low(1), 4096);
    assert_int_equal(figures_paper_low(19), 1 << 30); /* the 20th and last of the paper */
}

static void reuse_lines_stay_within_the_width(void **state)
{
    struct profile *profile = reuse_profile(true);
    lines_fit(profile);
    add_cache(profile, 1, 48 << 10);
    add_cache(profile, 2, 1280 << 10);
    add_cache(profile, 3, 33 << 20);
    *profile_add_what_ifs(profile) = (struct profile_what_if){33 << 20, 12, 64, 1208000, 410416};
    lines_fit(profile);
    profile_free(profile);
    profile = live_profile();
    lines_fit(profile);
    profile->reuses[0].unit_bytes = 1;
    profile->reuses[0].accesses = profile->reuses[0].locations = 1e15;
    lines_fit(profile);
    profile_free(profile);
}

/* Where locations were sampled there are no stack distances below 1 / share: what the model says
   there is not held against it. */
static void agreement_is_as_fine_as_the_distances(void **state)
{
    struct report_options options = {0};
    struct profile *profile = reuse_profile(true);
    for (size_t i = 0; i < profile->bins_count; i++)
        if (profile->bins[i].which == PROFILE_TIME && profile->bins[i].lo == 1)
            profile->bins[i] = (struct profile_bin){
                profile->bins[i].process, PROFILE_TIME, distance_bin(40), 40, 44, 400000};
    json_t *root = parse(profile, &options);
    assert_true(NUMBER(root, "reuse.stack_agreement") < 0.5);
    json_decref(root);
    profile->reuses[0].share_last = profile->reuses[1].share_last = 1.0 / 64;
    root = parse(profile, &options);
    assert_true(NUMBER(root, "reuse.stack_agreement") > 0.95);
    json_decref(root);
    profile_free(profile);
}

static void ascii_keeps_the_columns(void **state)
{
    struct report_options options = {.limit = 10, .width = 80};
    struct profile *profiles[] = {figure_profile(), reuse_profile(true), live_profile()};
    profiles[2]->paces[0].calibration = "as others";
    for (size_t i = 0; i < 3; i++) {
        options.ascii = false;
        char *text = render(profiles[i], &options, false);
        options.ascii = true;
        char *ascii = render(profiles[i], &options, false);
        assert_int_equal(strlen(ascii), name_columns(text));
        for (const char *c = ascii; *c; c++)
            assert_true(*c > 0 && *c != '?');
        free(text);
        free(ascii);
        profiles[i]->arguments[0].text = "\xc3\xa9t\xc3\xa9";
        shows(profiles[i], &options, "  ?t? ");
        profile_free(profiles[i]);
    }
    FILE *out = fopen("/dev/full", "w");
    struct profile *profile = figure_profile();
    assert_int_equal(report_text(profile, &options, out), BASE_IO);
    fclose(out);
    profile_free(profile);
}

/* ---- what a pair could save ------------------------------------------------------------------ */

static void sum_up(const double *distances, unsigned count, struct reuse_pair *pair)
{
    *pair = (struct reuse_pair){.weight = count};
    for (unsigned i = 0; i < count; i++) {
        pair->stack += distances[i];
        pair->stack_squares += distances[i] * distances[i];
    }
}

/* The bound holds for any part of any histogram, at any cache. */
static void savings_are_bounds(void **state)
{
    struct reuse_figures *figures = calloc(1, sizeof *figures);
    double distances[64];
    uint64_t random = 7;
    unsigned sharp = 0;
    assert_non_null(figures);
    for (unsigned round = 0; round < 2000; round++) {
        struct reuse_pair pair;
        figures->totals = (struct profile_reuse){.unit_bytes = 64, .stack = 1};
        memset(figures->stack, 0, sizeof figures->stack);
        double spread = 1 + (double)(base_mix64(++random) % 4);
        for (unsigned i = 0; i < 64; i++) {
            double uniform = (double)(base_mix64(++random) % 1000003) / 1000003;
            distances[i] = floor(exp(3 + spread * 4 * (uniform - 0.5)) * (i % 3 ? 1 : 30));
            figures->stack[distance_bin((uint64_t)distances[i])] += 1;
        }
        unsigned count = 1 + (unsigned)(base_mix64(++random) % 64);
        sum_up(distances, count, &pair);
        for (double cache = 1; cache < 1e6; cache *= 1.7) {
            double truth = 0, bound = figures_beyond(figures, &pair, cache * 64);
            for (unsigned i = 0; i < count; i++)
                truth += distances[i] >= cache;
            /* within a bin its distances are taken as uniform */
            double unsure = figures->stack[distance_bin((uint64_t)cache)];
            if (bound < truth - unsure - 1e-6)
                print_error("cache %g: %g of %u, bound %g\n", cache, truth, count, bound);
            assert_true(bound >= truth - unsure - 1e-6 && bound <= pair.weight);
            sharp += bound < 0.9 * pair.weight && truth > 0 && bound < 1.5 * truth + unsure;
        }
    }
    assert_true(sharp > 5000); /* it says something */
    free(figures);
}

/* Near ones and far ones with nothing between: exact, whatever else the program does. */
static void mixtures_are_seen_through(void **state)
{
    struct reuse_figures *figures = calloc(1, sizeof *figures);
    struct reuse_pair pair = {.weight = 800, .stack = 100 * 3840.0};
    assert_non_null(figures);
    pair.stack_squares = 100 * 3840.0 * 3840.0;
    figures->totals = (struct profile_reuse){.unit_bytes = 64, .stack = 1};
    figures->stack[0] = 5000;
    figures->stack[distance_bin(3840)] = 700;
    figures->misses = 300;
    assert_float_equal(figures_beyond(figures, &pair, 512 * 64), 100, 1e-6);
    assert_float_equal(figures_beyond(figures, &pair, 4096 * 64), 0, 1e-6);
    assert_float_equal(figures_ratio_without(figures, &pair, 512 * 64), 900.0 / 6000, 1e-9);
    pair = (struct reuse_pair){.weight = 0};
    assert_float_equal(figures_beyond(figures, &pair, 512 * 64), 0, 1e-9);
    free(figures);
}

/* ---- transformations ------------------------------------------------------------------------- */

static void transformations_need_their_evidence(void **state)
{
    static const struct {
        struct transform_facts facts;
        enum transform_kind kind;
    } cases[] = {
#define FACTS(...)                                                                                 \
    {                                                                                              \
        .far = true, .ancestor = true, __VA_ARGS__                                                 \
    }
#define LOOPS(...) .loop_sources = {__VA_ARGS__}
        /* each rule, and its near misses */
        {FACTS(.use_walks = 1, .reuse_walks = 1, .forward = true), TRANSFORM_FUSION},
        {{.use_walks = 1, .reuse_walks = 1, .forward = true}, TRANSFORM_NONE}, /* near */
        {FACTS(.use_walks = 1, .reuse_walks = 1), TRANSFORM_FUSION},
        {{.far = true, .use_walks = 1, .reuse_walks = 1}, TRANSFORM_NONE}, /* strangers */
        {FACTS(.use_walks = 1, .forward = true), TRANSFORM_NONE},
        {FACTS(.reuse_walks = 1, .forward = true), TRANSFORM_NONE},
        {FACTS(.use_walks = 1, .reuse_walks = 1, .shared = 1), TRANSFORM_NONE},
        {FACTS(.use_walks = 1, .reuse_walks = 1, .backward = true), TRANSFORM_NONE},
        {FACTS(.use_walks = 1, .reuse_walks = 1, .forward = true, .shared = 2, .shared_here = 2),
         TRANSFORM_FUSION},
        {FACTS(.use_walks = 1, .reuse_walks = 1, .forward = true, .use_called = true,
               .reuse_called = true),
         TRANSFORM_BLOCKING},
        {FACTS(.use_walks = 1, .reuse_walks = 1, .forward = true, .reuse_called = true),
         TRANSFORM_BLOCKING},
        {FACTS(.use_walks = 1, .reuse_walks = 1, .forward = true, .reuse_called = true,
               .use_source = "node = node->left;", .reuse_source = "node = node->left;"),
         TRANSFORM_NONE},
        {FACTS(.use_walks = 1, .reuse_walks = 1, .forward = true,
               .reuse_source = "for (p = all; p; p = p->next)"),
         TRANSFORM_FUSION},
        {FACTS(.use_walks = 1, .reuse_walks = 1, .backward = true, .shared = 1, .shared_here = 1),
         TRANSFORM_TIME_TILING},
        {FACTS(.use_walks = 2, .reuse_walks = 2, .forward = true), TRANSFORM_FUSION},
        {FACTS(.use_walks = 2, .reuse_walks = 1, .forward = true), TRANSFORM_NONE},
        {FACTS(.use_walks = 2, .reuse_walks = 2, .forward = true, .use_called = true),
         TRANSFORM_BLOCKING},
        {FACTS(.use_walks = 2, .reuse_walks = 1, .forward = true, .use_called = true),
         TRANSFORM_NONE},
        {FACTS(.use_walks = 1, .reuse_walks = 2, .backward = true, .shared = 1, .shared_here = 1),
         TRANSFORM_NONE},
        {FACTS(.shared = 2, .shared_here = 2), TRANSFORM_TILING},
        {{.shared = 2, .shared_here = 2}, TRANSFORM_NONE},
        {FACTS(.shared = 1, .shared_here = 1), TRANSFORM_NONE},
        {FACTS(.shared = 0), TRANSFORM_NONE},
        {FACTS(.shared = 2, .shared_here = 1), TRANSFORM_BATCHING},
        {FACTS(.shared = 2, .shared_here = 1, LOOPS("do {", NULL)), TRANSFORM_NONE},
        {FACTS(.shared = 2, .shared_here = 1, .library = true), TRANSFORM_NONE},
        {FACTS(.shared = 2, .shared_here = 2, .library = true), TRANSFORM_NONE},
        {FACTS(.shared = 2, .shared_here = 2, LOOPS("vmcase(OP_CALL) {", "for (;;) {")),
         TRANSFORM_NONE},
        {FACTS(.shared = 2, .shared_here = 2, LOOPS("do { x = y; } while (x);", NULL)),
         TRANSFORM_NONE},
        /* the access must go by what the loop counts */
        {FACTS(.shared = 2, .shared_here = 1, .use_source = "h->prev[hpos] = h->head[h->val];",
               .reuse_source = "h->prev[hpos] = h->head[h->val];",
               LOOPS("for (i = 0; i < n; i++) {", NULL)),
         TRANSFORM_NONE},
        {FACTS(.shared = 2, .shared_here = 2, .use_source = "return table[l];",
               .reuse_source = "return table[l];",
               LOOPS("for (k = 3; k <= kend; k++) {", "for (i = 0; i < n; i++)")),
         TRANSFORM_NONE},
        {FACTS(.shared = 2, .shared_here = 1, .use_source = "sum += table[i];",
               .reuse_source = "sum += table[i];", LOOPS("for (i = 0; i < n; i++) {", NULL),
               .calling_source = "for (q = 0; q < queries; q++)"),
         TRANSFORM_BATCHING},
        {FACTS(.shared = 2, .shared_here = 1, .use_source = "mark(node[i]);",
               .reuse_source = "mark(node[i]);", LOOPS("for (i = 0; i < n; i++) {", NULL),
               .calling_source = "while (g->gray)"),
         TRANSFORM_NONE},
        {FACTS(.shared = 2, .shared_here = 2, LOOPS("  do 20 j = 1, n", NULL)), TRANSFORM_TILING},
        {FACTS(.shared = 2, .shared_here = 2, LOOPS("DO I = 1, N", NULL)), TRANSFORM_TILING},
        {FACTS(.shared = 2, .shared_here = 2, LOOPS("for (auto &x : all)", NULL)),
         TRANSFORM_TILING},
        {FACTS(.shared = 3, .shared_here = 2), TRANSFORM_TILING},
        /* along memory, in what a larger cache holds: loads are saved, not waiting */
        {FACTS(.shared = 2, .shared_here = 2, .in_order = true, .cached = true),
         TRANSFORM_UNROLL_AND_JAM},
        {FACTS(.shared = 2, .shared_here = 2, .in_order = true), TRANSFORM_TILING},
        {FACTS(.shared = 2, .shared_here = 2, .cached = true), TRANSFORM_TILING},
        {FACTS(.shared = 4, .shared_here = 3, .in_order = true, .cached = true,
               .reuse_source = "C(I,J) = C(I,J) + TEMP*A(I,L)",
               LOOPS("DO 70 I = 1,M", "DO 80 L = 1,K", "DO 90 J = 1,N")),
         TRANSFORM_UNROLL_AND_JAM},
        {FACTS(.shared = 2, .shared_here = 2, .in_order = true, .cached = true,
               .reuse_source = "y[i] += m[i][j] * x[j];",
               LOOPS("for (j = 0; j < n; j++)", "for (i = 0; i < n; i++)")),
         TRANSFORM_UNROLL_AND_JAM},
        /* all of it goes on to other elements with every iteration: the caller comes back to them */
        {FACTS(.shared = 2, .shared_here = 2, .in_order = true, .reuse_source = "sum += m[i][j];",
               LOOPS("for (j = 0; j < n; j++)", "for (i = 0; i < n; i++)")),
         TRANSFORM_NONE},
        {FACTS(.shared = 3, .shared_here = 2, .in_order = true, .cached = true,
               .reuse_source = "sum += m[i * n + j] * (a[i][j] + 1);",
               LOOPS("for (j = 0; j < n; j++)", "for (i = 0; i < n; i++)")),
         TRANSFORM_BATCHING},
        {FACTS(.shared = 3, .shared_here = 2, .in_order = true, .reuse_source = "sum += m[i][j];",
               LOOPS("for (j = 0; j < n; j++)", "for (i = 0; i < n; i++)"),
               .calling_source = "while (changed)"),
         TRANSFORM_NONE},
        {FACTS(.shared = 2, .shared_here = 2, .in_order = true, .reuse_source = "S = S + A(I,J)",
               LOOPS("DO 10 I = 1, N", "DO J = 1, N")),
         TRANSFORM_NONE},
        {FACTS(.shared = 2, .shared_here = 2, .in_order = true, .reuse_source = "sum += m[i][j",
               LOOPS("for (j = 0; j < n; j++)", "for (i = 0; i < n; i++)")),
         TRANSFORM_TILING},
        {FACTS(.shared = 4, .shared_here = 4, .in_order = true, .reuse_source = "sum += m[i][j];",
               LOOPS("for (j = 0; j < n; j++)", "for (i = 0; i < n; i++)", "for (;;)")),
         TRANSFORM_TILING},
        {FACTS(.shared = 2, .shared_here = 2, .use_walks = 1), TRANSFORM_NONE},
        {FACTS(.recursive = true), TRANSFORM_RECURSION},
        {FACTS(.recursive = true, .use_walks = 1, .reuse_walks = 1, .forward = true),
         TRANSFORM_RECURSION},
        {{.recursive = true}, TRANSFORM_NONE},
        {FACTS(.shared = 1, .shared_here = 1, .reuse_source = "sum += rank[column[e]];"),
         TRANSFORM_REORDERING},
        {FACTS(.shared = 2, .shared_here = 2, .use_source = "x[index[i] + 1] = 0;"),
         TRANSFORM_REORDERING},
        {FACTS(.shared = 2, .shared_here = 2, .use_source = "entry = entry->next;"),
         TRANSFORM_REORDERING},
        {FACTS(.shared = 2, .shared_here = 2,
               .reuse_source = "for (node=head; node != NULL; node=node->next)"),
         TRANSFORM_REORDERING},
        {FACTS(.shared = 2, .shared_here = 2, .use_source = "last_entry = entry->next;"),
         TRANSFORM_TILING},
        {FACTS(.shared = 2, .shared_here = 2, .use_source = "if (entry == entry->next)"),
         TRANSFORM_TILING},
        {FACTS(.reuse_source = "sum += rank[column[e]];"), TRANSFORM_NONE},
        {FACTS(.shared = 1, .shared_here = 1, .reuse_source = "sum += rank[e] + column[e];"),
         TRANSFORM_NONE},
        {FACTS(.shared = 1, .shared_here = 1, .reuse_source = "sum += rank[column[e"),
         TRANSFORM_NONE},
        /* interchange: the inner loop's variable selects the row, the outer one's the element */
        {FACTS(.shared = 3, .shared_here = 3, .reuse_source = "sum += a[i][k] * b[k][j];",
               LOOPS("for (int k = 0; k < N; k++)", "for (int j = 0; j < N; j++) {")),
         TRANSFORM_INTERCHANGE},
        {FACTS(.shared = 3, .shared_here = 3, .reuse_source = "c[i][j] += a[i][k] * b[k][j];",
               LOOPS("for (j = 0; j < n; ++j)", "for (k = 0; k < n; ++k)")),
         TRANSFORM_TILING},
        {FACTS(.shared = 2, .shared_here = 2, .reuse_source = "sum += m[row * width + column];",
               LOOPS("for (row = 0; row < n; row++)", "for (column = 0; column < n; column++)")),
         TRANSFORM_INTERCHANGE},
        {FACTS(.shared = 2, .shared_here = 2, .reuse_source = "sum += m[row * width + column];",
               LOOPS("for (column = 0; column < n; column++)", "for (row = 0; row < n; row++)")),
         TRANSFORM_TILING},
        {FACTS(.shared = 2, .shared_here = 2, .reuse_source = "total += table[i][j]",
               LOOPS("for i in 0..n {", "for j in 0..n {")),
         TRANSFORM_INTERCHANGE},
        {FACTS(.shared = 2, .shared_here = 2, .reuse_source = "s += t[x][y][z];",
               LOOPS("for (y = 0; y < n; y += 2)", "for (z = 0; z < n; z++)")),
         TRANSFORM_INTERCHANGE},
        /* not the next loop, the one around it */
        {FACTS(.shared = 3, .shared_here = 3, .reuse_source = "c[i][j] += a[i][k] * b[k][j];",
               LOOPS("for (i = 0; i < n; i++)", "for (k = 0; k < n; k++)",
                     "for (j = 0; j < n; j++)")),
         TRANSFORM_INTERCHANGE},
        /* a transposition: whichever is inner, one array is walked by rows */
        {FACTS(.shared = 2, .shared_here = 2, .reuse_source = "b[j][i] = a[i][j];",
               LOOPS("for (j = 0; j < n; j++)", "for (i = 0; i < n; i++)")),
         TRANSFORM_TILING},
        /* the outer loop does not step along the row */
        {FACTS(.shared = 2, .shared_here = 2, .reuse_source = "sum += b[k][0];",
               LOOPS("for (k = 0; k < n; k++)", "for (j = 0; j < n; j++)")),
         TRANSFORM_TILING},
        /* one loop of this function only: the lines of others do not count */
        {FACTS(.shared = 2, .shared_here = 1, .reuse_source = "sum += b[k][j];",
               LOOPS("for (k = 0; k < n; k++)", NULL)),
         TRANSFORM_BATCHING},
        {FACTS(.shared = 2, .shared_here = 2, .reuse_source = "sum += b[k][j];",
               LOOPS("while (k < n)", "for (j = 0; j < n; j++)")),
         TRANSFORM_NONE},
        {FACTS(.shared = 2, .shared_here = 2, .reuse_source = "sum += b[kk][jj];",
               LOOPS("for (k = 0; k < n; k++)", "for (j = 0; j < n; j++)")),
         TRANSFORM_TILING}, /* the use's line is not known */
        {FACTS(.shared = 2, .shared_here = 2,
               LOOPS("for (k = 0; k < n; k++)", "for (j = 0; j < n; j++)")),
         TRANSFORM_TILING},
        /* strange lines */
        {FACTS(.shared = 2, .shared_here = 2, .reuse_source = "[[[]]][", LOOPS("for (;;)", "for")),
         TRANSFORM_REORDERING},
        {FACTS(.shared = 2, .shared_here = 2, .reuse_source = "", LOOPS("for (;", "for(;;++")),
         TRANSFORM_NONE},
        /* searches go their own way each time: a tree's, a chain's, one without a bound; and rounds until it is done */
        {FACTS(.shared = 2, .shared_here = 2, .reuse_source = "totals[name] += price;",
               LOOPS("while (__x != 0)", "for (auto item : items)")),
         TRANSFORM_NONE},
        {FACTS(.shared = 3, .shared_here = 3,
               LOOPS("fnextself(spintet);", "for (j = 0; j < 3; j++) {",
                     "for (i = 0; i < n; i++)")),
         TRANSFORM_NONE},
        {FACTS(.shared = 2, .shared_here = 2,
               LOOPS("while (p->left >> 1)", "for (i = 0; i < n; i++)")),
         TRANSFORM_NONE},
        {FACTS(.shared = 2, .shared_here = 2, LOOPS("for (i = 0; i < n; i++)", "while (changed)")),
         TRANSFORM_NONE},
        {FACTS(.shared = 2, .shared_here = 2, LOOPS("b = sum(a, 2)", "call fill(a)")),
         TRANSFORM_NONE},
        {FACTS(.shared = 2, .shared_here = 1, LOOPS("while (node != end)", NULL)), TRANSFORM_NONE},
        /* these count */
        {FACTS(.shared = 2, .shared_here = 2, LOOPS("DO 50 I = 1,M", "do l = 1, k")),
         TRANSFORM_TILING},
        {FACTS(.shared = 2, .shared_here = 2,
               LOOPS("for (auto item : items)", "for (at = first; at < end; at++)")),
         TRANSFORM_TILING},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct transform found = transform_for(&cases[i].facts);
        if (found.kind != cases[i].kind)
            print_error("case %zu: %s, not %d: %s\n", i, found.name, cases[i].kind,
                        cases[i].facts.loop_sources[0]);
        assert_int_equal(found.kind, cases[i].kind);
        assert_int_equal(found.name == NULL, cases[i].kind == TRANSFORM_NONE);
        assert_int_equal(found.text == NULL, cases[i].kind == TRANSFORM_NONE);
    }
}

/* ---- loops ----------------------------------------------------------------------------------- */

static uint32_t add_loop(struct profile *profile, uint32_t parent, const char *function,
                         uint32_t line)
{
    uint64_t address = 0x2000 + profile->loops_count;
    *profile_add_loops(profile) = (struct profile_loop){.parent = parent,
                                                        .module = 1,
                                                        .address = address,
                                                        .function = function,
                                                        .file = main_c,
                                                        .line = line};
    return (uint32_t)profile->loops_count - 1;
}

/* Contexts must be given in the order of their frames. */
static void in_loop(struct profile *profile, uint32_t context, uint32_t loop)
{
    *profile_add_frame_loops(profile) =
        (struct profile_frame_loop){profile->contexts[context].frame, loop};
}

static void far_pair(struct profile *profile, uint32_t use, uint32_t reuse)
{
    *profile_add_reuse_pairs(profile) = (struct profile_reuse_pair){
        use, reuse, 400000, 400000, 4799200000, 5.8e13, 4e5 * 3999, 4e5 * 3999.0 * 3999};
}

/* A profile without pairs. */
static struct profile *loop_profile(void)
{
    struct profile *profile = reuse_profile(true);
    profile->reuse_pairs_count = 0;
    return profile;
}

static void suggests(struct profile *profile, const char *kind)
{
    struct report_options options = {0};
    assert_true(profile_check(profile));
    json_t *root = parse(profile, &options);
    json_t *found = at(root, "reuse.pairs.0.suggestion");
    if (!kind)
        assert_true(json_is_null(found));
    else
        assert_string_equal(TEXT(found, "kind"), kind);
    json_decref(root);
}

/* for (49) { for (19) use(20); for (29) reuse(30); } */
static void loops_of_one_function_are_told_apart(void **state)
{
    struct report_options options = {.limit = 10, .width = 100};
    struct profile *profile = loop_profile();
    uint32_t rounds = add_loop(profile, 0, "work", 49);
    uint32_t first = add_loop(profile, rounds, "work", 19);
    uint32_t second = add_loop(profile, rounds, "work", 29);
    uint32_t top = context(profile, 0, "main", main_c, 60, 0);
    uint32_t use = context(profile, top, "work", main_c, 20, 0);
    uint32_t reuse = context(profile, top, "work", main_c, 30, 0);
    in_loop(profile, use, first);
    in_loop(profile, reuse, second);
    far_pair(profile, use, reuse);
    shows(profile, &options,
          "      in main (main.c:60)\n"
          "      both in       the loop at main.c:49\n"
          "      used          work  main.c:20\n"
          "                    in the loop at main.c:19\n"
          "      reused        work  main.c:30\n"
          "                    in the loop at main.c:29\n"
          "      If all of them were near, misses");
    lacks(profile, &options, "paths part");
    shows(profile, &options, "Fusion: two loops of one function go over the same data");
    json_t *root = parse(profile, &options);
    assert_string_equal(TEXT(root, "reuse.pairs.0.ancestor.function"), "work");
    assert_int_equal(NUMBER(root, "reuse.pairs.0.ancestor.use_line"), 20);
    assert_int_equal(NUMBER(root, "reuse.pairs.0.ancestor.reuse_line"), 30);
    assert_int_equal(json_array_size(at(root, "reuse.pairs.0.loops.shared")), 1);
    assert_int_equal(NUMBER(root, "reuse.pairs.0.loops.shared.0.line"), 49);
    assert_string_equal(TEXT(root, "reuse.pairs.0.loops.use.0.file"), main_c);
    assert_string_equal(TEXT(root, "reuse.pairs.0.loops.use.0.function"), "work");
    assert_string_equal(TEXT(root, "reuse.pairs.0.loops.use.0.module"), "/home/u/demo/prog");
    assert_memory_equal(TEXT(root, "reuse.pairs.0.loops.use.0.address"), "0x20", 4);
    assert_int_equal(NUMBER(root, "reuse.pairs.0.loops.reuse.0.line"), 29);
    assert_string_equal(TEXT(root, "reuse.pairs.0.suggestion.kind"), "fusion");
    json_decref(root);
    /* The other way round it is the next round. */
    profile->reuse_pairs[0].use = reuse;
    profile->reuse_pairs[0].reuse = use;
    suggests(profile, "time tiling");
    shows(profile, &options,
          "Time tiling: the reuse comes in the next iteration of the loop around both");
    /* The remainder of a vectorised loop reads as the loop itself: no second loop. */
    profile->loops[second].line = 19;
    suggests(profile, "tiling");
    profile->loops[second].line = 29;
    /* What begins the program is no ancestor. */
    profile->frames[profile->contexts[use].frame].function = "__libc_start_main@@GLIBC_2.34";
    profile->frames[profile->contexts[reuse].frame].function = "__libc_start_main@@GLIBC_2.34";
    suggests(profile, NULL);
    profile->frames[profile->contexts[use].frame].function = "work";
    profile->frames[profile->contexts[reuse].frame].function = "work";
    suggests(profile, "time tiling");
    /* Too few to show. */
    struct profile_reuse_pair all = profile->reuse_pairs[0];
    profile->reuse_pairs[0].weight = 400;
    profile->reuse_pairs[0].stack = 400 * 3999.0;
    profile->reuse_pairs[0].stack_squares = 400 * 3999.0 * 3999;
    suggests(profile, NULL);
    profile->reuse_pairs[0] = all;
    /* Near reuses need nothing. */
    profile->reuse_pairs[0].stack = profile->reuse_pairs[0].stack_squares = 4e5;
    suggests(profile, NULL);
    profile_free(profile);
}

/* A transformation is for misses: there is none where these are not known. */
static void few_samples_suggest_nothing(void **state)
{
    struct profile *profile = live_profile();
    uint32_t outer = add_loop(profile, 0, "sum", 18), inner = add_loop(profile, outer, "sum", 19);
    uint32_t sum = profile->reuse_pairs[0].use;
    in_loop(profile, sum, inner);
    profile->reuse_pairs[1].use = sum;
    profile->reuse_pairs[0].use = profile->contexts[sum].parent;
    suggests(profile, "tiling");
    profile->reuse_pairs[0].count = profile->reuse_pairs[1].count = 20;
    suggests(profile, NULL);
    profile_free(profile);
}

/* What parts are of must be what the heading counts. */
static void parts_of_few_samples_are_of_the_reuses(void **state)
{
    struct report_options options = {.limit = 10, .width = 160};
    struct profile *profile = live_profile();
    uint32_t top = profile->reuse_pairs[1].use;
    uint32_t far = context(profile, top, "sum", main_c, 30, 0);
    uint32_t middle = context(profile, top, "sum", main_c, 31, 0);
    profile->reuse_pairs[0] =
        (struct profile_reuse_pair){far, far, 4, 1000000, 6e10, 3.6e15, 2e10, 4e14};
    profile->reuse_pairs[1] =
        (struct profile_reuse_pair){middle, middle, 4, 3000000, 3.6e10, 4.3e14, 1.2e10, 4.8e13};
    shows(profile, &options, "\n      75.0 %        used in sum (main.c:31)");
    shows(profile, &options, "\n      25.0 %        used in sum (main.c:30)");
    profile_free(profile);
}

/* for (49) { produce(); consume(); }, with a loop each */
static void calls_from_one_loop_part_there(void **state)
{
    struct report_options options = {.limit = 10, .width = 100};
    struct profile *profile = loop_profile();
    uint32_t rounds = add_loop(profile, 0, "main", 49);
    uint32_t first = add_loop(profile, 0, "produce", 19);
    uint32_t second = add_loop(profile, 0, "consume", 29);
    uint32_t produces = context(profile, 0, "main", main_c, 50, 0);
    uint32_t use = context(profile, produces, "produce", main_c, 20, 0);
    uint32_t consumes = context(profile, 0, "main", main_c, 51, 0);
    uint32_t reuse = context(profile, consumes, "consume", main_c, 30, 0);
    in_loop(profile, produces, rounds);
    in_loop(profile, use, first);
    in_loop(profile, consumes, rounds);
    in_loop(profile, reuse, second);
    far_pair(profile, use, reuse);
    suggests(profile, "blocking");
    shows(profile, &options,
          "      paths part in main, at main.c:50 and main.c:51\n"
          "      both in       the loop at main.c:49 in main\n"
          "      used          produce  main.c:20\n"
          "                    in the loop at main.c:19\n"
          "                    ← main  main.c:50\n");
    json_t *root = parse(profile, &options);
    assert_string_equal(TEXT(root, "reuse.pairs.0.ancestor.function"), "main");
    assert_int_equal(NUMBER(root, "reuse.pairs.0.ancestor.use_line"), 50);
    assert_int_equal(NUMBER(root, "reuse.pairs.0.ancestor.reuse_line"), 51);
    json_decref(root);
    /* The same call again, in the next round. */
    profile->reuse_pairs[0].use = reuse;
    suggests(profile, "batching");
    shows(profile, &options, "in the loop at main.c:29, inside the loop at main.c:49 in main\n");
    profile->loops[second].file = "/usr/include/list.h";
    suggests(profile, NULL);
    /* A loop without a place, or without anything. */
    profile->loops[second].file = NULL;
    shows(profile, &options, "in a loop in consume, inside the loop at main.c:49");
    profile->loops[second].function = NULL;
    shows(profile, &options, "in a loop in prog+0x2003, inside");
    profile->frame_loops_count = 0;
    suggests(profile, NULL);
    profile_free(profile);
}

/* Inlined functions have their loops in one nest with those of the function around. */
static void inlined_loops_count_once(void **state)
{
    struct profile *profile = loop_profile();
    uint32_t outer = add_loop(profile, 0, "main", 49);
    uint32_t inner = add_loop(profile, outer, "sum", 19);
    uint32_t top = context(profile, 0, "main", main_c, 50, 0);
    uint32_t sum = context(profile, top, "sum", main_c, 20, PROFILE_FRAME_INLINED);
    in_loop(profile, top, inner); /* the same instruction */
    in_loop(profile, sum, inner);
    far_pair(profile, sum, sum);
    struct report_options options = {.limit = 10, .width = 100};
    json_t *root = parse(profile, &options);
    assert_int_equal(json_array_size(at(root, "reuse.pairs.0.loops.shared")), 2);
    assert_int_equal(NUMBER(root, "reuse.pairs.0.loops.shared.0.line"), 19);
    assert_int_equal(NUMBER(root, "reuse.pairs.0.loops.shared.1.line"), 49);
    json_decref(root);
    suggests(profile, "tiling");
    /* Along memory, in what the largest cache holds. */
    add_cache(profile, 1, 32 << 10);
    add_cache(profile, 3, 8 << 20);
    suggests(profile, "tiling");
    profile->frames[profile->contexts[sum].frame].flags |= PROFILE_FRAME_IN_ORDER;
    suggests(profile, "unroll and jam");
    shows(profile, &options, "Unroll and jam: the innermost loop goes along memory in order");
    profile->caches[profile->caches_count - 1].bytes = 200000;
    suggests(profile, "tiling");
    profile_free(profile);
}

/* Loops of one function, of which one came by inlining: the nest outside is shared, no more. */
static void inlined_and_own_loops_part(void **state)
{
    struct report_options options = {.limit = 10, .width = 100};
    struct profile *profile = loop_profile();
    uint32_t outer = add_loop(profile, 0, "f", 49);
    uint32_t inner = add_loop(profile, outer, "g", 19);
    uint32_t other = add_loop(profile, outer, "f", 59);
    uint32_t call = context(profile, 0, "f", main_c, 50, 0);
    uint32_t use = context(profile, call, "g", main_c, 20, PROFILE_FRAME_INLINED);
    uint32_t reuse = context(profile, 0, "f", main_c, 60, 0);
    in_loop(profile, call, inner);
    in_loop(profile, use, inner);
    in_loop(profile, reuse, other);
    far_pair(profile, use, reuse);
    json_t *root = parse(profile, &options);
    assert_int_equal(json_array_size(at(root, "reuse.pairs.0.loops.shared")), 1);
    assert_int_equal(NUMBER(root, "reuse.pairs.0.loops.shared.0.line"), 49);
    assert_int_equal(json_array_size(at(root, "reuse.pairs.0.loops.use")), 1);
    assert_int_equal(NUMBER(root, "reuse.pairs.0.loops.use.0.line"), 19);
    assert_int_equal(json_array_size(at(root, "reuse.pairs.0.loops.reuse")), 1);
    assert_int_equal(NUMBER(root, "reuse.pairs.0.loops.reuse.0.line"), 59);
    json_decref(root);
    suggests(profile, "blocking");
    profile_free(profile);
}

/* Two calls of one function: its loop is run twice, and is not around both. */
static void two_calls_share_no_loop_below(void **state)
{
    struct report_options options = {.limit = 10, .width = 100};
    struct profile *profile = loop_profile();
    uint32_t loop = add_loop(profile, 0, "scan", 19);
    uint32_t first = context(profile, 0, "main", main_c, 50, 0);
    uint32_t use = context(profile, first, "scan", main_c, 20, 0);
    uint32_t second = context(profile, 0, "main", main_c, 51, 0);
    uint32_t reuse = context(profile, second, "scan", main_c, 20, 0);
    in_loop(profile, use, loop);
    in_loop(profile, reuse, loop);
    far_pair(profile, use, reuse);
    json_t *root = parse(profile, &options);
    assert_int_equal(json_array_size(at(root, "reuse.pairs.0.loops.shared")), 0);
    assert_int_equal(json_array_size(at(root, "reuse.pairs.0.loops.use")), 1);
    assert_int_equal(json_array_size(at(root, "reuse.pairs.0.loops.reuse")), 1);
    json_decref(root);
    suggests(profile, "blocking");
    profile_free(profile);
}

static void recursion_is_seen(void **state)
{
    struct profile *profile = loop_profile();
    uint32_t loop = add_loop(profile, 0, "sort", 19);
    uint32_t top = context(profile, 0, "main", main_c, 50, 0);
    uint32_t use = context(profile, top, "sort", main_c, 20, 0);
    uint32_t call = context(profile, top, "sort", main_c, 25, 0);
    uint32_t reuse = context(profile, call, "sort", main_c, 20, 0);
    in_loop(profile, use, loop);
    in_loop(profile, reuse, loop);
    far_pair(profile, use, reuse);
    suggests(profile, "recursive blocking");
    profile->reuse_pairs[0].use = reuse;
    profile->reuse_pairs[0].reuse = use;
    suggests(profile, "recursive blocking");
    profile_free(profile);
}

static void library_functions_walk_too(void **state)
{
    struct profile *profile = loop_profile();
    uint32_t clears = context(profile, 0, "main", main_c, 50, 0);
    uint32_t use = context(profile, clears, "__memset_avx2_unaligned_erms", "", 0, 0);
    uint32_t reuse = context(profile, 0, "main", main_c, 60, 0);
    uint32_t loop = add_loop(profile, 0, "main", 59);
    in_loop(profile, reuse, loop);
    far_pair(profile, use, reuse);
    suggests(profile, "blocking");
    profile->frames[profile->contexts[use].frame].function = "settle";
    suggests(profile, NULL);
    profile_free(profile);
}

/* Interchange rests on the source; JSON and text must see the same. */
static void source_lines_tell_interchange(void **state)
{
    struct report_options options = {.limit = 10, .width = 100, .sources = true};
    struct profile *profile = loop_profile();
    strcpy(source_path, "/tmp/headroom-source-XXXXXX");
    close(mkstemp(source_path));
    write_source("for (int j = 0; j < n; j++) {\n  for (int k = 0; k < n; k++)\n"
                 "    sum += a[i][k] * b[k][j];\n",
                 1900000000);
    profile->run.start_ns = UINT64_C(2000000000000000000);
    uint32_t outer = add_loop(profile, 0, "f", 1);
    uint32_t inner = add_loop(profile, outer, "f", 2);
    profile->loops[outer].file = profile->loops[inner].file = source_path;
    uint32_t place = context(profile, 0, "f", source_path, 3, 0);
    in_loop(profile, place, inner);
    far_pair(profile, place, place);
    shows(profile, &options, "│ sum += a[i][k] * b[k][j];\n");
    shows(profile, &options, "Interchange: the innermost loop steps");
    json_t *root = parse(profile, &options);
    assert_string_equal(TEXT(root, "reuse.pairs.0.suggestion.kind"), "interchange");
    json_decref(root);
    suggests(profile, "tiling"); /* without sources */
    unlink(source_path);
    profile_free(profile);
}

/* All that profile_check allows. */
static void odd_loops_and_caches_are_reported(void **state)
{
    struct profile *profile = live_profile();
    uint32_t deep = 0, leaf = 0, loop = 0;
    for (unsigned i = 0; i < 100; i++)
        loop = add_loop(profile, loop, i % 3 ? "f" : NULL, i % 5);
    *profile_add_loops(profile) = (struct profile_loop){.parent = loop};
    for (unsigned i = 0; i < 5000; i++)
        deep = context(profile, deep, "f", main_c, 1 + i % 2, i % 7 ? 0 : PROFILE_FRAME_INLINED);
    for (uint32_t frame = 0; frame < profile->frames_count; frame++)
        *profile_add_frame_loops(profile) = (struct profile_frame_loop){
            frame, (uint32_t)(base_mix64(frame) % profile->loops_count)};
    leaf = context(profile, 1, NULL, "", 0, 0);
    far_pair(profile, deep, deep - 1);
    far_pair(profile, deep - 3000, deep - 2999);
    far_pair(profile, leaf, deep - 4000);
    far_pair(profile, 0, leaf);
    profile->caches_count = 0;
    for (unsigned i = 1; i < 10; i++)
        *profile_add_caches(profile) = (struct profile_cache){
            .level = i, .sharers = UINT32_MAX, .bytes = UINT64_C(1) << 5 * i};
    profile->paces[0] = (struct profile_pace){1, 1e-30, 1e-30, 1e30, 1e30, 1e30, ""};
    *profile_add_what_ifs(profile) = (struct profile_what_if){1, UINT32_MAX, UINT32_MAX, 1, 1};
    assert_true(profile_check(profile));
    for (unsigned width = 0; width < 400; width += 60) {
        struct report_options options = {.width = width, .paper_bins = width % 120};
        free(render(profile, &options, false));
        json_decref(parse(profile, &options));
    }
    profile->paces[0].accesses_per_ns = 1e30;
    profile->paces[0].floor_ns = 0;
    profile->kinds[0].samples = 0;
    struct report_options options = {0};
    free(render(profile, &options, false));
    json_decref(parse(profile, &options));
    profile_free(profile);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(json_holds_what_was_found),
        cmocka_unit_test(json_is_limited_and_filtered),
        cmocka_unit_test(json_without_samples_is_null),
        cmocka_unit_test(json_survives_any_string),
        cmocka_unit_test(json_has_nothing_hidden),
        cmocka_unit_test(json_merges_what_reads_the_same),
        cmocka_unit_test(numbers_do_not_follow_the_locale),
        cmocka_unit_test(a_full_disk_is_told),
        cmocka_unit_test(text_reads_like_this),
        cmocka_unit_test(few_samples_give_no_digits),
        cmocka_unit_test(single_verdicts_are_left_out),
        cmocka_unit_test(a_leaf_in_many_contexts_is_one_finding),
        cmocka_unit_test(contexts_with_enough_verdicts_have_shares),
        cmocka_unit_test(contexts_that_read_the_same_are_printed_once),
        cmocka_unit_test(json_has_findings_beside_contexts),
        cmocka_unit_test(weak_pairs_of_a_function_are_one_finding),
        cmocka_unit_test(templates_are_shown_at_the_callers_line),
        cmocka_unit_test(what_runs_before_main_is_left_out),
        cmocka_unit_test(unequal_weights_count_as_few),
        cmocka_unit_test(recursion_is_folded),
        cmocka_unit_test(long_contexts_are_cut),
        cmocka_unit_test(hostile_names_do_not_reach_the_terminal),
        cmocka_unit_test(lines_stay_within_the_width),
        cmocka_unit_test(colours_only_when_asked),
        cmocka_unit_test(columns_are_those_of_a_terminal),
        cmocka_unit_test(long_names_are_shortened),
        cmocka_unit_test(exact_waste_reads_like_this),
        cmocka_unit_test(exact_json_has_no_intervals),
        cmocka_unit_test(waste_of_a_sample_has_intervals),
        cmocka_unit_test(long_runs_are_suggested_a_share),
        cmocka_unit_test(reuse_reads_like_this),
        cmocka_unit_test(reuse_without_stack_distances_uses_the_model),
        cmocka_unit_test(reuse_json_has_finite_numbers_only),
        cmocka_unit_test(reuse_json_holds_what_was_found),
        cmocka_unit_test(near_reuses_come_last),
        cmocka_unit_test(forked_children_have_their_parents_locations),
        cmocka_unit_test(odd_reuse_profiles_are_reported),
        cmocka_unit_test(what_sharing_lacks_is_printed),
        cmocka_unit_test(reuse_lines_stay_within_the_width),
        cmocka_unit_test(waste_and_reuse_share_a_profile),
        cmocka_unit_test(source_lines_are_quoted_unless_newer),
        cmocka_unit_test(source_lines_are_found),
        cmocka_unit_test(advice_follows_the_evidence),
        cmocka_unit_test(few_samples_suggest_nothing),
        cmocka_unit_test(parts_of_few_samples_are_of_the_reuses),
        cmocka_unit_test(advice_is_for_own_code_and_one_call),
        cmocka_unit_test(advice_is_for_what_is_called),
        cmocka_unit_test(advice_has_its_evidence),
        cmocka_unit_test(waiting_is_not_wasted_work),
        cmocka_unit_test(caches_of_the_machine_are_marked),
        cmocka_unit_test(without_caches_nothing_is_marked),
        cmocka_unit_test(order_goes_by_the_misses_to_save),
        cmocka_unit_test(far_ones_do_not_make_the_order),
        cmocka_unit_test(simulated_caches_stand_beside_the_curve),
        cmocka_unit_test(estimates_are_called_so),
        cmocka_unit_test(savings_that_do_not_show_are_left_out),
        cmocka_unit_test(waits_stand_beside_findings),
        cmocka_unit_test(few_samples_of_reuse_are_told),
        cmocka_unit_test(estimates_have_bands),
        cmocka_unit_test(paces_are_added_up),
        cmocka_unit_test(papers_have_their_own_bins),
        cmocka_unit_test(paper_bins_are_the_papers),
        cmocka_unit_test(agreement_is_as_fine_as_the_distances),
        cmocka_unit_test(ascii_keeps_the_columns),
        cmocka_unit_test(savings_are_bounds),
        cmocka_unit_test(mixtures_are_seen_through),
        cmocka_unit_test(transformations_need_their_evidence),
        cmocka_unit_test(loops_of_one_function_are_told_apart),
        cmocka_unit_test(calls_from_one_loop_part_there),
        cmocka_unit_test(inlined_loops_count_once),
        cmocka_unit_test(inlined_and_own_loops_part),
        cmocka_unit_test(two_calls_share_no_loop_below),
        cmocka_unit_test(recursion_is_seen),
        cmocka_unit_test(library_functions_walk_too),
        cmocka_unit_test(source_lines_tell_interchange),
        cmocka_unit_test(odd_loops_and_caches_are_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
