// SPDX-License-Identifier: MIT
/*
 * binary/fields.h: programs compiled here and now print what lies where, in the words of their source; what DWARF says must
 * read the same. C with gcc and clang, with and without optimization, C++, Fortran, Rust; separate debug files; hostile types.
 *
 * Tests that need a compiler that is missing are skipped and say so.
 */
#include "binary/fields.h"
#include "cfg/cfg.h"

#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static char directory[] = "/tmp/headroom-fields-XXXXXX";

static int make_directory(void **state)
{
    return mkdtemp(directory) && cfg_start() == BASE_OK ? 0 : -1;
}

__attribute__((format(printf, 1, 2))) static int run(const char *format, ...)
{
    char command[4096];
    va_list arguments;
    int length = snprintf(command, sizeof command, "cd %s && ", directory);
    va_start(arguments, format);
    vsnprintf(command + length, sizeof command - (size_t)length, format, arguments);
    va_end(arguments);
    return system(command);
}

static int remove_directory(void **state)
{
    return run("rm -rf %s", directory);
}

static bool has_tool(const char *name)
{
    bool found = run("command -v %s >/dev/null 2>&1", name) == 0;
    if (!found)
        print_message("%s is missing\n", name);
    return found;
}

static void write_text(const char *name, const char *text)
{
    char path[256];
    snprintf(path, sizeof path, "%s/%s", directory, name);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

static struct binary *open_program(const char *name)
{
    char path[256];
    struct binary *binary = NULL;
    struct binary_options options = {.debug_root = "/nonexistent"};
    snprintf(path, sizeof path, "%s/%s", directory, name);
    assert_int_equal(binary_open(path, &options, &binary), BASE_OK);
    return binary;
}

/* ---- what the program says ------------------------------------------------------------------------ */

/*
 * Lines of "v ADDRESS TEXT": a variable; "t OFFSET TEXT": a thread-local one; "f VADDR FROM_CFA TEXT": of a frame; "h RETURN BYTES
 * OFFSET TEXT": in a block of the heap. TEXT is what binary_object_text has to give; "-": nothing may be known.
 */
static void check_line(struct binary *binary, const char *line)
{
    struct binary_object object = {.name = "untouched"};
    char text[512] = "-";
    long long numbers[3] = {0};
    int at = 0;
    bool hands_on = false;
    enum base_status status = BASE_IO;
    if (sscanf(line, "v %lli %n", &numbers[0], &at) == 1)
        status = binary_variable(binary, (uint64_t)numbers[0], 0, &object);
    else if (sscanf(line, "t %lli %n", &numbers[0], &at) == 1)
        status = binary_thread_variable(binary, (uint64_t)numbers[0], 0, &object);
    else if (sscanf(line, "f %lli %lli %n", &numbers[1], &numbers[0], &at) == 2)
        status = binary_frame_variable(binary, (uint64_t)numbers[1], numbers[0], &object);
    else if (sscanf(line, "h %lli %lli %lli %n", &numbers[1], &numbers[2], &numbers[0], &at) == 3)
        status = binary_allocated(binary, (uint64_t)numbers[1], (uint64_t)numbers[2], &object,
                                  &hands_on);
    else
        fail_msg("not understood: %s", line);
    if (status == BASE_OK)
        binary_object_text(binary, &object, (uint64_t)numbers[0] - object.start, text, sizeof text);
    else
        assert_string_equal(object.name, "untouched");
    assert_true(status != BASE_OK || object.guessed == (line[0] == 'h'));
    assert_string_equal(text, line + at);
}

/* How many lines. */
static unsigned check_program(const char *name)
{
    char command[256], line[512];
    unsigned count = 0;
    snprintf(command, sizeof command, "%s/%s", directory, name);
    struct binary *binary = open_program(name);
    FILE *pipe = popen(command, "r");
    assert_non_null(pipe);
    for (; fgets(line, sizeof line, pipe); count++) {
        line[strcspn(line, "\n")] = 0;
        check_line(binary, line);
    }
    assert_int_equal(pclose(pipe), 0);
    binary_close(binary);
    return count;
}

/* ---- C ------------------------------------------------------------------------------------------- */

static const char c_source[] =
    "#include <stdio.h>\n"
    "#include <stdlib.h>\n"
    "#define V(place, more) printf(\"v %p %s%s\\n\", (void *)&place, #place, more)\n"
    "struct counter { unsigned long hits; unsigned char few : 3, many : 5; char tag; };\n"
    "typedef struct { double x, y; } point;\n"
    "struct stats {\n"
    "    int kind;\n"
    "    struct { long a; union { double ratio; long count; }; };\n"
    "    struct counter threads[4];\n"
    "    const point *where; volatile point corners[2];\n"
    "};\n"
    "struct stats stats, several[3];\n"
    "static int grid[3][5];\n"
    "long plain;\n"
    "struct node { struct node *next; long value; };\n"
    "struct node *list; void *unknown; char *bytes;\n"
    "static void *returned;\n"
    "__attribute__((noinline)) void *take(size_t bytes)\n"
    "{\n"
    "    returned = __builtin_return_address(0);\n"
    "    return calloc(1, bytes + 64);\n"
    "}\n"
    "#define H(bytes, offset, words) printf(\"h %p %d %d %s\\n\", returned, (int)(bytes), offset, "
    "words)\n"
    "__attribute__((noinline)) void *hand_on(size_t bytes) { void *made = take(bytes); if (!made) "
    "abort(); return made; }\n"
    "__attribute__((noinline)) static void use(void *p) { __asm__ volatile(\"\" :: \"r\"(p) : "
    "\"memory\"); }\n"
    "__attribute__((noinline)) static void blocks(void)\n"
    "{\n"
    "    struct node *local = take(sizeof *local); use(local);\n"
    "    H(16, 8, \"struct node.value (struct node +8)\");\n"
    "    H(24, 8, \"-\");\n" /* no whole number of them */
    "    struct node *array = take(3 * sizeof *array); use(array); \n"
    "    H(48, 40, \"struct node[2].value (struct node +8)\");\n"
    "    list = take(sizeof *list);\n"
    "    H(16, 0, \"struct node.next (struct node +0)\");\n"
    "    stats.where = take(sizeof(point)); use((void *)stats.where);\n"
    "    H(16, 8, \"point.y (point +8)\");\n"
    "    unknown = take(16);\n"
    "    H(16, 8, \"-\");\n"
    "    bytes = take(16);\n"
    "    H(16, 8, \"-\");\n"
    "    struct node *later = hand_on(sizeof *later); use(later);\n"
    "    H(16, 8, \"-\");\n"
    "}\n"
    "__attribute__((noinline)) static void frame(void)\n"
    "{\n"
    "    struct counter own[2]; long table[3]; char *cfa = __builtin_dwarf_cfa();\n"
    "    use(own); use(table);\n"
    "    extern char mark[];\n"
    "    __asm__ volatile(\".globl mark\\nmark: nop\" ::: \"memory\");\n"
    "    printf(\"f %p %ld own[1].tag (struct counter +9) in frame\\n\", (void *)mark, "
    "(long)(&own[1].tag - cfa));\n"
    "    printf(\"f %p %ld table[2] in frame\\n\", (void *)mark, (long)((char *)&table[2] - "
    "cfa));\n"
    "    printf(\"f %p 0 -\\n\", (void *)mark);\n" /* the caller's */
    "    use(own); use(table);\n"
    "}\n"
    "__attribute__((noinline)) static long counted(void)\n"
    "{\n"
    "    static struct counter calls[2];\n"
    "    printf(\"v %p calls[1].hits (struct counter +0)\\n\", (void *)&calls[1].hits);\n"
    "    return calls[1].hits++;\n"
    "}\n"
    "int main(void)\n"
    "{\n"
    "    V(stats.kind, \" (struct stats +0)\");\n"
    "    V(stats.threads[3].hits, \" (struct counter +0)\");\n"
    "    V(stats.threads[2].tag, \" (struct counter +9)\");\n"
    "    V(several[2].corners[1].y, \" (point +8)\");\n"
    "    V(stats.where, \" (struct stats +88)\");\n"
    "    printf(\"v %p stats.a\\n\", (void *)&stats.a);\n" /* its owner has no name */
    "    printf(\"v %p stats.ratio or stats.count\\n\", (void *)&stats.count);\n"
    "    printf(\"v %p stats.threads[1].few or stats.threads[1].many\\n\", (char "
    "*)&stats.threads[1] + 8);\n"
    "    printf(\"v %p stats (+4)\\n\", (char *)&stats + 4);\n" /* between two fields */
    "    V(grid[2][3], \"\"); V(plain, \"\");\n"
    "    printf(\"v %p -\\n\", (void *)main);\n"
    "    counted(); blocks(); frame();\n"
    "}\n";

static void compile_and_check(const char *command, const char *name, unsigned lines)
{
    if (run("%s", command) != 0)
        fail_msg("%s", command);
    assert_int_equal(check_program(name), lines);
}

enum { C_LINES = 24 };

static void names_what_gcc_compiles(void **state)
{
    if (!has_tool("gcc"))
        skip();
    write_text("c.c", c_source);
    compile_and_check("gcc -g -O0 -no-pie c.c -o c0", "c0", C_LINES);
    compile_and_check("gcc -g -O2 -no-pie c.c -o c2", "c2", C_LINES);
    compile_and_check("gcc -gdwarf-2 -gstrict-dwarf -O0 -no-pie c.c -o d2", "d2", C_LINES);
    compile_and_check("gcc -gdwarf-4 -O2 -no-pie c.c -o d4", "d4", C_LINES);
}

static void names_what_clang_compiles(void **state)
{
    if (!has_tool("clang"))
        skip();
    write_text("c.c", c_source);
    compile_and_check("clang -g -O0 -no-pie c.c -o k0", "k0", C_LINES);
    compile_and_check("clang -g -O1 -no-pie c.c -o k1", "k1", C_LINES);
}

static void reads_separate_debug_files(void **state)
{
    if (!has_tool("gcc") || !has_tool("objcopy"))
        skip();
    write_text("c.c", c_source);
    assert_int_equal(run("gcc -g -O2 -no-pie c.c -o s && objcopy --only-keep-debug s s.debug && "
                         "strip s && objcopy --add-gnu-debuglink=s.debug s"),
                     0);
    assert_int_equal(check_program("s"), C_LINES);
    if (run("gcc -g -gsplit-dwarf -O2 -no-pie c.c -o w") == 0)
        assert_int_equal(check_program("w"), C_LINES);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(names_what_gcc_compiles),
    cmocka_unit_test(names_what_clang_compiles),
    cmocka_unit_test(reads_separate_debug_files),
};

int main(void)
{
    return cmocka_run_group_tests(tests, make_directory, remove_directory);
}
