// SPDX-License-Identifier: MIT
/* cli: the option table and its parser. What the verbs do is tested from outside, in tests/cli. */
#include "cli/options.h"
#include "cli/verbs.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

enum { WORDS_MAX = 16 };

/* Parses "a b c" as the arguments of verb; returns the first operand's index, or -1. */
static int parse(const char *verb, const char *line, struct settings *settings, char *error)
{
    static char copy[512];
    char *argv[WORDS_MAX + 1] = {(char *)verb};
    int argc = 1, first = -1;
    strcpy(copy, line);
    for (char *word = strtok(copy, " "); word && argc < WORDS_MAX; word = strtok(NULL, " "))
        argv[argc++] = word;
    if (!options_parse(find_verb(verb), argc, argv, settings, &first, error, 512))
        return -1;
    return first;
}

static struct settings parsed(const char *line)
{
    struct settings settings;
    char error[512];
    settings_default(&settings, find_verb("waste"));
    assert_true(parse("waste", line, &settings, error) >= 0);
    return settings;
}

static void test_values(void **state)
{
    struct settings settings = parsed("");
    assert_int_equal(settings.rate, 0); /* adaptive */
    assert_int_equal(settings.follow, 1);
    assert_int_equal(settings.limit, UINT64_MAX);
    assert_true(settings.fp_tolerance == 0.01);
    settings = parsed("--kinds load,dead -r250 --fp-tolerance 5% --no-follow -qo x --seed=18");
    assert_int_equal(settings.kinds, 1 | 4);
    assert_int_equal(settings.rate, 250);
    assert_true(settings.fp_tolerance > 0.0499 && settings.fp_tolerance < 0.0501);
    assert_int_equal(settings.follow, 0);
    assert_int_equal(settings.quiet, 1);
    assert_string_equal(settings.output, "x");
    assert_int_equal(settings.seed, 18);
    assert_int_equal(parsed("--no-follow --follow").follow, 1); /* the last one counts */
    assert_int_equal(parsed("--format=json").format, FORMAT_JSON);
    assert_int_equal(parsed("--source clock").source, SOURCE_CLOCK);
    assert_int_equal(parsed("--limit 0").limit, 0);
}

/* Verbs refuse options of the other engine; the parser only notes them. */
static void test_options_of_one_engine(void **state)
{
    struct settings settings = parsed("--exact --kinds dead");
    assert_int_equal(settings.exact, 1);
    assert_null(settings.live_option);
    assert_null(settings.exact_option);
    assert_string_equal(parsed("--exact --rate 5").live_option, "rate");
    assert_null(parsed("--seed 5 -q").live_option); /* with --exact it draws locations */
    assert_string_equal(parsed("--period 5000 -q").live_option, "period");
    assert_string_equal(parsed("--source clock").live_option, "source");
    settings = parsed("--trace file");
    assert_string_equal(settings.exact_option, "trace");
    assert_string_equal(settings.trace, "file");
}

static void test_reuse(void **state)
{
    struct settings settings;
    char error[512];
    settings_default(&settings, find_verb("waste"));
    assert_int_equal(settings.unit, UNIT_LINE);
    assert_int_equal(settings.stack, 1);
    assert_true(settings.share == 1);
    assert_int_equal(
        parse("reuse", "--exact --unit byte --sample-locations 1% --no-stack x", &settings, error),
        7);
    assert_int_equal(settings.unit, UNIT_BYTE);
    assert_int_equal(settings.stack, 0);
    assert_true(settings.share > 0.0099 && settings.share < 0.0101);
    assert_int_equal(parse("reuse", "--sample-locations 0 x", &settings, error), -1);
    assert_int_equal(parse("reuse", "--unit page x", &settings, error), -1);
    assert_non_null(strstr(error, "byte or word or line"));
    assert_int_equal(parse("reuse", "--rate 5 --access-rate 1.5 x", &settings, error), 5);
    assert_int_equal(settings.rate, 5);
    assert_true(settings.access_rate == 1.5);
    assert_int_equal(parse("reuse", "--access-rate 0 x", &settings, error), -1);
}

static void test_what_if_caches(void **state)
{
    struct settings settings;
    char error[512];
    settings_default(&settings, find_verb("waste"));
    assert_int_equal(parse("reuse", "--what-if-cache 32K,8 --what-if-cache 1M x", &settings, error),
                     5);
    assert_int_equal(settings.caches_count, 2);
    assert_int_equal(settings.caches[0].bytes, 32 << 10);
    assert_int_equal(settings.caches[0].ways, 8);
    assert_int_equal(settings.caches[1].bytes, 1 << 20);
    assert_int_equal(settings.caches[1].ways, 0);
    settings_default(&settings, find_verb("waste"));
    assert_int_equal(parse("reuse", "--what-if-cache 0 x", &settings, error), -1);
    assert_int_equal(parse("reuse", "--what-if-cache 1M,x x", &settings, error), -1);
    assert_int_equal(parse("waste", "--what-if-cache 1M x", &settings, error), -1);
}

static void test_stops_at_first_operand(void **state)
{
    struct settings settings;
    char error[512];
    settings_default(&settings, find_verb("waste"));
    assert_int_equal(parse("waste", "-q ls -o y --rate 7", &settings, error), 2);
    assert_null(settings.output);
    assert_int_equal(settings.rate, 0);
    assert_int_equal(parse("waste", "-q -- -o y", &settings, error), 3);
    assert_null(settings.output);
    assert_int_equal(parse("waste", "-o y", &settings, error), 3);
}

/* A number behind it is its value, another word is not. */
static void test_optional_value(void **state)
{
    static const struct {
        const char *line;
        int operands;
        uint64_t runs;
    } cases[] = {{"-q ls", 2, 0},
                 {"--repeat ls", 2, 1000},
                 {"--repeat -- 7", 3, 1000},
                 {"--repeat 7 ls", 3, 7},
                 {"--repeat=8 9", 2, 8},
                 {"--repeat 7up", 2, 1000},
                 {"--repeat -q ls", 3, 1000},
                 {"--repeat", 2, 1000}};
    for (size_t i = 0; i < BASE_COUNT(cases); i++) {
        struct settings settings;
        char error[512];
        uint64_t runs;
        settings_default(&settings, find_verb("run"));
        assert_int_equal(parse("run", cases[i].line, &settings, error), cases[i].operands);
        memcpy(&runs, settings.own, sizeof runs); /* the first of struct run_settings */
        assert_int_equal(runs, cases[i].runs);
    }
}

static void refused(const char *line, const char *expected)
{
    struct settings settings, before;
    char error[512] = "";
    memset(&settings, 0x5a, sizeof settings);
    settings_default(&settings, find_verb("waste"));
    before = settings;
    assert_int_equal(parse("waste", line, &settings, error), -1);
    assert_memory_equal(&settings, &before, sizeof settings); /* untouched */
    if (!strstr(error, expected))
        fail_msg("'%s' says '%s', not '%s'", line, error, expected);
}

static void test_refusals(void **state)
{
    refused("--output x --rate 0", "--rate does not take '0': expected a whole number from 1");
    refused("--rate +5", "--rate");
    refused("--rate 5x", "--rate");
    refused("--rate 99999999999999999999999", "--rate");
    refused("--fp-tolerance 101%", "--fp-tolerance");
    refused("--fp-tolerance inf", "--fp-tolerance");
    refused("--fp-tolerance 1%%", "--fp-tolerance");
    refused("--kinds dead,,load", "dead,silent,load");
    refused("--kinds deadly", "dead,silent,load");
    refused("--format yaml", "text or json");
    refused("--no-folow", "did you mean --no-follow?");
    refused("--frobnicate", "there is no option --frobnicate");
    refused("-Z", "there is no option -Z");
    refused("-qZ", "there is no option -Z");
    refused("--quiet=yes", "--quiet takes no value");
    refused("--rate", "--rate needs a value: N");
    refused("-o", "--output needs a value: FILE");
}

/* The parser builds getopt's tables in place: they must hold every verb's options. */
static void check_table(const struct verb *verb)
{
    const struct option_spec *options = verb->options;
    size_t count = options_count(options);
    assert_in_range(count, 1, 48);
    for (size_t i = 0; i < count; i++) {
        const struct option_spec *spec = &options[i];
        assert_true(spec->offset < offsetof(struct settings, own) + verb->own_bytes);
        assert_true((spec->type == OPTION_FLAG) == (spec->argument == NULL));
        assert_true((spec->type == OPTION_CHOICE || spec->type == OPTION_SET) ==
                    (spec->choices != NULL));
        if (spec->type == OPTION_NUMBER || spec->type == OPTION_REAL)
            assert_true(spec->low < spec->high);
        if (spec->help)
            assert_int_equal(spec->help[strlen(spec->help) - 1], '.');
        for (size_t j = 0; j < i; j++) {
            assert_string_not_equal(spec->name, options[j].name);
            assert_true(!spec->letter || spec->letter != options[j].letter);
        }
    }
}

static void test_tables_are_sound(void **state)
{
    size_t count = 0;
    for (; verbs[count]; count++) {
        const struct verb *verb = verbs[count];
        check_table(verb);
        assert_non_null(verb->run);
        assert_ptr_equal(find_verb(verb->name), verb);
        assert_in_range(verb->own_bytes, 0, SETTINGS_OWN_BYTES);
    }
    assert_true(count > 0);
    check_table(&top);
    assert_null(find_verb("frobnicate"));
    assert_null(find_verb(""));
}

static void test_documents(void **state)
{
    static const char *const known[] = {"man", "man:waste", "bash", "zsh", "fish"};
    char *text = NULL;
    size_t bytes;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        FILE *out = open_memstream(&text, &bytes);
        assert_true(generate_document(known[i], out));
        fclose(out);
        assert_true(bytes > 500);
        free(text);
    }
    FILE *out = open_memstream(&text, &bytes);
    assert_false(generate_document("man:frobnicate", out));
    assert_false(generate_document("tcsh", out));
    fclose(out);
    assert_int_equal(bytes, 0);
    free(text);
}

/* ---- limits ---------------------------------------------------------------------------------- */

struct writing {
    size_t bytes, calls;
    enum base_status status;
};

static enum base_status write_xs(void *context, FILE *out)
{
    struct writing *writing = context;
    writing->calls++;
    for (size_t i = 0; i < writing->bytes; i += 1024)
        fprintf(out, "%1023d\n", 0);
    return writing->status != BASE_OK         ? writing->status
           : fflush(out) == 0 && !ferror(out) ? BASE_OK
                                              : BASE_IO;
}

/* All or nothing, in one go or, when it is much, in two. */
static void test_output_is_whole(void **state)
{
    enum { MIB = 1 << 20 };
    static const struct {
        struct writing writing;
        size_t most_bytes, written_bytes, calls;
        enum base_status status;
    } cases[] = {
        {{.bytes = 0}, 0, 0, 1, BASE_OK},
        {{.bytes = MIB}, MIB, MIB, 1, BASE_OK},
        {{.bytes = MIB + 1024}, MIB, 0, 1, BASE_TOO_LARGE},
        {{.bytes = 16 * MIB}, 64 * MIB, 16 * MIB, 1, BASE_OK},
        {{.bytes = 17 * MIB}, 64 * MIB, 17 * MIB, 2, BASE_OK},
        {{.bytes = 65 * MIB}, 64 * MIB, 0, 1, BASE_TOO_LARGE},
        {{.bytes = MIB, .status = BASE_NO_MEMORY}, 2 * MIB, 0, 1, BASE_NO_MEMORY},
    };
    for (size_t i = 0; i < BASE_COUNT(cases); i++) {
        struct writing writing = cases[i].writing;
        FILE *out = tmpfile();
        assert_int_equal(output_whole(write_xs, &writing, out, cases[i].most_bytes),
                         cases[i].status);
        assert_int_equal(writing.calls, cases[i].calls);
        assert_int_equal(ftell(out), cases[i].written_bytes);
        fclose(out);
    }
    FILE *full = fopen("/dev/full", "w");
    struct writing writing = {.bytes = 1024};
    assert_int_equal(output_whole(write_xs, &writing, full, MIB), BASE_IO);
    assert_int_equal(errno, ENOSPC);
    fclose(full);
    assert_int_equal(output_most_bytes(0), 64 * MIB);
    assert_int_equal(output_most_bytes(MIB), (64 + 512) * MIB);
}

/* A child that goes on and on ends, with one sentence, and what it was writing is gone. */
static void test_time_has_an_end(void **state)
{
    char directory[] = "/tmp/headroom-cli-XXXXXX", target[64], said[512] = "";
    int ends[2], status;
    assert_non_null(mkdtemp(directory));
    snprintf(target, sizeof target, "%s/page", directory);
    assert_int_equal(pipe(ends), 0);
    pid_t child = fork();
    if (child == 0) {
        struct replacement file;
        dup2(ends[1], STDERR_FILENO);
        if (!replace_begin(&file, target))
            _exit(99);
        time_limit_start(1);
        for (volatile unsigned long spins = 0;; spins++)
            ;
    }
    close(ends[1]);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == READER_FAILED);
    assert_true(read(ends[0], said, sizeof said - 1) > 0);
    close(ends[0]);
    assert_int_equal(strncmp(said, "headroom: gave up after 1 s of CPU time", 39), 0);
    assert_ptr_equal(strchr(said, '\n'), said + strlen(said) - 1);
    assert_int_equal(rmdir(directory), 0);
    assert_int_equal(time_limit_seconds(0, NULL), 60);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_values),
        cmocka_unit_test(test_stops_at_first_operand),
        cmocka_unit_test(test_options_of_one_engine),
        cmocka_unit_test(test_reuse),
        cmocka_unit_test(test_what_if_caches),
        cmocka_unit_test(test_optional_value),
        cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_tables_are_sound),
        cmocka_unit_test(test_documents),
        cmocka_unit_test(test_output_is_whole),
        cmocka_unit_test(test_time_has_an_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
