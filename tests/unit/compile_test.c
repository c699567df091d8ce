// SPDX-License-Identifier: MIT
/* compile: what is read from command lines, response files and drivers' answers. Compilers are run
 * in tests/cli. */
#include "compile/internal.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

/* "a b c" as words; one line at a time. */
static char *const *line(const char *text)
{
    static char copy[1024];
    static struct words words;
    strcpy(copy, text);
    words.count = 0;
    words_split(&words, copy);
    assert_false(words.failed);
    return words.at;
}

static void test_names(void **state)
{
    static const struct {
        const char *name;
        enum compile_family family;
    } cases[] = {
        {"gcc", COMPILE_GNU},
        {"g++", COMPILE_GNU},
        {"gfortran", COMPILE_GNU},
        {"/usr/bin/gcc-12", COMPILE_GNU},
        {"x86_64-linux-gnu-g++-12.2.0", COMPILE_GNU},
        {"./bin/x86_64-linux-gnu-gfortran", COMPILE_GNU},
        {"clang", COMPILE_CLANG},
        {"clang++", COMPILE_CLANG},
        {"clang-14", COMPILE_CLANG},
        {"clang++-14", COMPILE_CLANG},
        {"ccache", COMPILE_PREFIX},
        {"/usr/bin/distcc", COMPILE_PREFIX},
        {"my-ccache", COMPILE_UNKNOWN},
        {"cc", COMPILE_UNKNOWN},
        {"tcc", COMPILE_UNKNOWN},
        {"icc", COMPILE_UNKNOWN},
        {"notgcc", COMPILE_UNKNOWN},
        {"gcc-ar", COMPILE_UNKNOWN},
        {"clang-format-14", COMPILE_UNKNOWN},
        {"gccgo", COMPILE_UNKNOWN},
        {"gcc-", COMPILE_UNKNOWN},
        {"-12", COMPILE_UNKNOWN},
        {"12", COMPILE_UNKNOWN},
        {"", COMPILE_UNKNOWN},
        {"/usr/bin/", COMPILE_UNKNOWN},
    };
    for (size_t i = 0; i < BASE_COUNT(cases); i++)
        if (compile_family(cases[i].name) != cases[i].family)
            fail_msg("%s", cases[i].name);
}

static struct compile_scan scanned(const char *text)
{
    struct compile_scan scan;
    compile_scan(line(text), &scan);
    return scan;
}

static void test_questions(void **state)
{
    static const char *const untouched[] = {
        "-E a.c",
        "-S a.c -o b.s",
        "a.c -S",
        "-MM a.c",
        "-M a.c",
        "-fsyntax-only a.c",
        "-v",
        "--version",
        "a.c --help",
        "--help=target a.c",
        "-print-file-name=x a.c",
        "--print-search-dirs",
        "-dumpmachine",
        "-### a.c",
        "-o a.c", /* its value, no source */
        "-I a.c -include a.h -D X -L . -l m",
        "-x c",
    };
    static const char *const touched[] = {
        "a.c",
        "-c a.c",
        "-x c -",
        "-c -o -S a.c", /* an object of that name */
        "-c a.c -I -E",
        "-MD -MF -M -c a.c",
        "a.o -lm",
        "-c -- -E", /* a source of that name */
        "-Xlinker -S a.o",
        "-DE -c a.c -Wp,-E",
    };
    for (size_t i = 0; i < BASE_COUNT(untouched); i++)
        if (!scanned(untouched[i]).untouched)
            fail_msg("%s", untouched[i]);
    for (size_t i = 0; i < BASE_COUNT(touched); i++)
        if (scanned(touched[i]).untouched)
            fail_msg("%s", touched[i]);
    compile_scan((char *const[]){NULL}, &(struct compile_scan){0});
}

static void test_scan_notes(void **state)
{
    assert_true(scanned("-shared a.c").shared);
    assert_false(scanned("-o -shared a.c").shared);
    assert_false(scanned("-static a.c").shared);
    assert_true(scanned("-wrapper valgrind,-q a.c").wrapped);
    assert_false(scanned("-o -wrapper a.c").wrapped);
    assert_true(scanned("a.c -o").untouched == false); /* a value is missing: gcc reports it */
}

static void split(const char *text, const char *const *expected)
{
    char copy[256];
    struct words words = {0};
    size_t i = 0;
    strcpy(copy, text);
    words_split(&words, copy);
    for (; expected[i] && i < words.count; i++)
        assert_string_equal(words.at[i], expected[i]);
    assert_null(expected[i]);
    assert_int_equal(words.count, i);
    free(words.at);
}

/* As libiberty's buildargv. */
static void test_splitting(void **state)
{
    split("", (const char *const[]){NULL});
    split(" \n\t ", (const char *const[]){NULL});
    split("a b\nc\t d ", (const char *const[]){"a", "b", "c", "d", NULL});
    split("'a b' \"c d\" e'f 'g", (const char *const[]){"a b", "c d", "ef g", NULL});
    split("\"it's\" 'say \"x\"'", (const char *const[]){"it's", "say \"x\"", NULL});
    split("a\\ b \\\" \"\\\\\" '\\''", (const char *const[]){"a b", "\"", "\\", "'", NULL});
    split("'' x \"\"", (const char *const[]){"", "x", "", NULL});
    split("'open x", (const char *const[]){"open x", NULL});
}

static void write_file(const char *name, const char *text)
{
    FILE *file = fopen(name, "w");
    assert_non_null(file);
    fputs(text, file);
    assert_int_equal(fclose(file), 0);
}

static void expand(char *const *arguments, const char *expected)
{
    struct words words = {0}, texts = {0};
    char all[256] = "";
    words_expand(&words, arguments, &texts);
    for (size_t i = 0; i < words.count; i++)
        sprintf(all + strlen(all), "[%s]", words.at[i]);
    assert_string_equal(all, expected);
    words_free_all(&texts);
    free(words.at);
}

static void test_response_files(void **state)
{
    char folder[] = "/tmp/compile-test-XXXXXX", before[4096];
    assert_non_null(getcwd(before, sizeof before));
    assert_non_null(mkdtemp(folder));
    assert_int_equal(chdir(folder), 0);
    write_file("one", "-c 'a b.c'\n@two");
    write_file("two", "-O2");
    write_file("self", "x @self");
    write_file("empty", "");
    expand((char *const[]){"gcc", "@one", "-g", NULL}, "[gcc][-c][a b.c][-O2][-g]");
    expand((char *const[]){"@none", "@", "@empty", NULL}, "[@none][@]");
    struct words words = {0}, texts = {0};
    words_expand(&words, (char *const[]){"@self", NULL}, &texts); /* ends */
    assert_true(words.count > 1 && words.count < 100);
    words_free_all(&texts);
    free(words.at);
    assert_int_equal(system("rm -f one two self empty"), 0);
    assert_int_equal(chdir(before), 0);
    assert_int_equal(rmdir(folder), 0);
}

static void test_refusals(void **state)
{
    static const struct {
        const char *step, *about;
    } refused[] = {
        {"cc1 -quiet a.c -flto -o a.s", "-flto"},
        {"cc1 a.c -flto=auto", "-flto"},
        {"cc1 a.c -fno-lto -flto", "-flto"},
        {"cc1 a.c -m32", "64-bit"},
        {"cc1 a.c -mx32", "64-bit"},
        {"cc1 a.c -p", "-pg"},
        {"cc1 a.c -fprofile-arcs -ftest-coverage", "--coverage"},
        {"cc1 a.c -fprofile-generate=/tmp/x", "-fprofile-generate"},
        {"cc1 a.c -masm=intel", "-masm=intel"},
        {"cc1 a.c -mcmodel=large", "-mcmodel=large"},
        {"cc1 a.c -fsplit-stack", "-fsplit-stack"},
        {"clang -cc1 -triple i386-pc-linux-gnu -emit-obj", "64-bit"},
        {"clang -cc1 -triple aarch64-unknown-linux-gnu", "64-bit"},
        {"clang -cc1 -triple x86_64-apple-darwin", "64-bit"},
        {"clang -cc1 -triple x86_64-pc-linux-gnux32", "64-bit"},
        {"clang -cc1 -triple x86_64-pc-linux-gnu -pg", "-pg"},
        {"clang -cc1 -triple x86_64-pc-linux-gnu -fprofile-instrument=clang", "-fprofile-generate"},
        {"clang -cc1 -mllvm -x86-asm-syntax=intel", "-masm=intel"},
        {"clang -cc1 -split-dwarf-file a.dwo", "-gsplit-dwarf"},
    };
    static const char *const taken[] = {
        "cc1 -quiet a.c -O2 -g -o a.s",
        "cc1 a.c -flto -fno-lto",
        "cc1 a.c -m32 -m64",
        "cc1 a.c -masm=intel -masm=att",
        "cc1 a.c -gsplit-dwarf -fprofile-use=x -fPIC",
        "cc1 a.c -fsanitize=address",
        "clang -cc1 -triple x86_64-pc-linux-gnu -fprofile-instrument-use-path=x -emit-obj",
        "clang -cc1 -triple x86_64-unknown-linux-musl",
    };
    for (size_t i = 0; i < BASE_COUNT(refused); i++) {
        const char *sentence = compile_refusal(line(refused[i].step));
        if (!sentence || !strstr(sentence, refused[i].about))
            fail_msg("%s: %s", refused[i].step, sentence ? sentence : "taken");
    }
    for (size_t i = 0; i < BASE_COUNT(taken); i++)
        if (compile_refusal(line(taken[i])))
            fail_msg("%s: %s", taken[i], compile_refusal(line(taken[i])));
}

static void test_placement(void **state)
{
    assert_int_equal(compile_placement(line("cc1 a.c")), COMPILE_PLACED_ANYWHERE);
    assert_int_equal(compile_placement(line("cc1 a.c -fPIC")), COMPILE_PLACED_SHARED);
    assert_int_equal(compile_placement(line("cc1 a.c -fpic -fPIE")), COMPILE_PLACED_ANYWHERE);
    assert_int_equal(compile_placement(line("cc1 a.c -fPIE -fpic")), COMPILE_PLACED_SHARED);
    assert_int_equal(compile_placement(line("cc1 a.c -fPIC -fno-pic")), COMPILE_PLACED_LOW);
    assert_int_equal(compile_placement(line("cc1 a.c -fno-pie")), COMPILE_PLACED_LOW);
    assert_int_equal(compile_placement(line("clang -cc1 -mrelocation-model static")),
                     COMPILE_PLACED_LOW);
    assert_int_equal(compile_placement(line("clang -cc1 -mrelocation-model pic -pic-level 2")),
                     COMPILE_PLACED_SHARED);
    assert_int_equal(
        compile_placement(line("clang -cc1 -mrelocation-model pic -pic-level 2 -pic-is-pie")),
        COMPILE_PLACED_ANYWHERE);
}

static void test_kinds(void **state)
{
    assert_int_equal(compile_kind(line("/usr/lib/gcc/x86_64-linux-gnu/12/cc1 a.c")), STEP_COMPILE);
    assert_int_equal(compile_kind(line("cc1plus a.cc")), STEP_COMPILE);
    assert_int_equal(compile_kind(line("f951 a.f")), STEP_COMPILE);
    assert_int_equal(compile_kind(line("/x/clang -cc1 a.c")), STEP_COMPILE);
    assert_int_equal(compile_kind(line("/x/clang -cc1as a.s")), STEP_ASSEMBLE);
    assert_int_equal(compile_kind(line("as --64")), STEP_ASSEMBLE);
    assert_int_equal(compile_kind(line("/bin/x86_64-linux-gnu-as --64")), STEP_ASSEMBLE);
    assert_int_equal(compile_kind(line("/x/collect2 -o a")), STEP_LINK);
    assert_int_equal(compile_kind(line("/usr/bin/ld.lld -o a")), STEP_LINK);
    assert_int_equal(compile_kind(line("objcopy --extract-dwo a.o")), STEP_OTHER);
    assert_int_equal(compile_kind(line("class x")), STEP_OTHER);
    assert_int_equal(compile_kind(line("lto-wrapper")), STEP_OTHER);
    assert_int_equal(compile_kind((char *const[]){NULL}), STEP_OTHER);
}

static void test_driver_answers(void **state)
{
    char text[] =
        "clang version 14\nTarget: x86_64-pc-linux-gnu\n"
        " \"/bin/clang\" \"-cc1\" \"-D\" \"A=\\\"x y\\\"\" \"a\\\\b\" \"\\$HOME\" \"two\nlines\"\n"
        "clang: warning: argument unused\n"
        " (in-process)\n"
        " \"/usr/bin/ld\" \"-o\" \"\"";
    static const char *const first[] = {"/bin/clang", "-cc1",  "-D",        "A=\"x y\"",
                                        "a\\b",       "$HOME", "two\nlines"};
    struct compile_jobs jobs = {0};
    struct words others = {0};
    compile_jobs_parse(&jobs, text, &others);
    assert_false(jobs.failed);
    assert_int_equal(jobs.count, 2);
    assert_int_equal(jobs.at[0].count, BASE_COUNT(first));
    for (size_t i = 0; i < BASE_COUNT(first); i++)
        assert_string_equal(jobs.at[0].at[i], first[i]);
    assert_int_equal(jobs.at[1].count, 3);
    assert_string_equal(jobs.at[1].at[2], "");
    assert_int_equal(others.count, 4);
    assert_string_equal(others.at[2], "clang: warning: argument unused");
    free(jobs.at[0].at);
    free(jobs.at[1].at);
    free(jobs.at);
    free(others.at);
}

static int prepared(struct compile_work *work, const char *step, char *text)
{
    struct words ready;
    int code = compile_prepare(work, line(step), &ready);
    *text = 0;
    for (size_t i = 0; !code && i < ready.count; i++)
        sprintf(text + strlen(text), "%s%s", i ? " " : "", ready.at[i]);
    free(ready.at);
    return code;
}

/* Steps of two runs of gcc that make x.s of a.c, with and without modes. */
static void test_steps(void **state)
{
    char error[COMPILE_ERROR_BYTES], text[1024];
    for (uint32_t modes = 0; modes <= INSTRUMENTED_PATHS; modes++) {
        struct compile_work work = {.error = error};
        struct compile_request request = {.modes = modes};
        assert_int_equal(compile_state_create(&request, false, &work), BASE_OK);
        assert_int_equal(prepared(&work, "cc1 -E -lang-asm h.S -o h.s", text), 0);
        assert_string_equal(text, "cc1 -E -lang-asm h.S -o h.s");
        assert_int_equal(prepared(&work, "cc1 a.c -dumpbase a.c -o /nowhere/x.s", text), 0);
        assert_string_equal(text, modes ? "cc1 a.c -dumpbase a.c -o /nowhere/x.s -fno-ipa-ra"
                                        : "cc1 a.c -dumpbase a.c -o /nowhere/x.s");
        /* not compiled: left alone */
        assert_int_equal(prepared(&work, "as --64 -o h.o h.s", text), 0);
        assert_string_equal(text, "as --64 -o h.o h.s");
        assert_int_equal(prepared(&work, "as -o /nowhere/x.s h.s", text), 0);
        /* for another machine */
        assert_int_equal(prepared(&work, "aarch64-linux-gnu-as -o a.o /nowhere/x.s", text),
                         COMPILE_REFUSED);
        assert_string_equal(error, compile_other_machine);
        assert_int_equal(prepared(&work, "as --64 -o a.o /nowhere/x.s", text), COMPILE_REFUSED);
        assert_non_null(strstr(error, "cannot read"));
        assert_int_equal(prepared(&work, "cc1 b.c -flto -o y.s", text), COMPILE_REFUSED);
        assert_non_null(strstr(error, "-flto"));
        /* no runtime: not needed */
        assert_int_equal(prepared(&work, "collect2 -r -o p.o a.o", text), 0);
        assert_string_equal(text, "collect2 -r -o p.o a.o");
        close(work.file);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_names),          cmocka_unit_test(test_questions),
        cmocka_unit_test(test_scan_notes),     cmocka_unit_test(test_splitting),
        cmocka_unit_test(test_response_files), cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_placement),      cmocka_unit_test(test_kinds),
        cmocka_unit_test(test_driver_answers), cmocka_unit_test(test_steps),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
