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

/* ---- C++ ----------------------------------------------------------------------------------------- */

static const char cpp_source[] =
    "#include <cstdio>\n"
    "#include <cstdlib>\n"
    "#include <new>\n"
    "#include <vector>\n"
    "#define V(place, more) std::printf(\"v %p %s%s\\n\", (void *)&place, #place, more)\n"
    "struct base { long inherited; virtual ~base() {} };\n"
    "struct other { int second; };\n"
    "template <typename T> struct box { T kept; T more[2]; static T shared; };\n"
    "template <typename T> T box<T>::shared;\n"
    "namespace ns {\n"
    "struct derived : base, other { char own; box<double> in; static long counted; };\n"
    "long derived::counted;\n"
    "derived one, several[2];\n"
    "thread_local int local;\n"
    "}\n"
    "namespace { long hidden[4]; }\n"
    "struct item { long first, second; };\n"
    "static void *returned; static unsigned long asked;\n"
    "__attribute__((noinline)) void *operator new(std::size_t bytes)\n"
    "{\n"
    "    returned = __builtin_return_address(0); asked = bytes;\n"
    "    return std::malloc(bytes);\n"
    "}\n"
    "void operator delete(void *p) noexcept { std::free(p); }\n"
    "void operator delete(void *p, std::size_t) noexcept { std::free(p); }\n"
    "template <typename T> T box<T>::*none;\n"
    "int main()\n"
    "{\n"
    "    V(ns::one.inherited, \" (base +8)\");\n"
    "    V(ns::one.second, \" (other +0)\");\n"
    "    V(ns::several[1].own, \" (derived +20)\");\n"
    "    V(ns::several[1].in.more[1], \" (box<double> +16)\");\n"
    "    V(ns::derived::counted, \"\"); V(box<int>::shared, \"\");\n"
    "    std::printf(\"v %p (anonymous namespace)::hidden[2]\\n\", (void *)&hidden[2]);\n"
    "    static long calls[3];\n"
    "    std::printf(\"v %p main::calls[1]\\n\", (void *)&calls[1]);\n"
    "    std::vector<item> items(5); __asm__ volatile(\"\" :: \"r\"(items.data()) : \"memory\");\n"
    "    std::printf(\"h %p %lu 56 item[3].second (item +8)\\n\", returned, asked);\n"
    "    item *made = new item; __asm__ volatile(\"\" :: \"r\"(made) : \"memory\");\n"
    "    std::printf(\"h %p %lu 8 item.second (item +8)\\n\", returned, asked);\n"
    "    made->first = calls[1]; ns::local = 1; delete made;\n"
    "}\n";

static void names_cpp(void **state)
{
    if (!has_tool("g++"))
        skip();
    write_text("p.cc", cpp_source);
    compile_and_check("g++ -g -O0 -no-pie p.cc -o p0", "p0", 10);
    compile_and_check("g++ -g -O2 -no-pie p.cc -o p2", "p2", 10);
    if (has_tool("clang++") && run("clang++ -g -O1 -no-pie p.cc -o q1 2>/dev/null") == 0)
        assert_int_equal(check_program("q1"), 10);
}

/* ---- Fortran ------------------------------------------------------------------------------------- */

static const char fortran_source[] =
    "module shared_data\n"
    "  type counter\n"
    "    integer(8) :: hits\n"
    "    real(4) :: ratios(0:2)\n"
    "  end type\n"
    "  type(counter) :: counters(3)\n"
    "  real(8) :: grid(4, -1:5)\n"
    "end module\n"
    "program main\n"
    "  use shared_data\n"
    "  integer(4) :: first\n"
    "  real(8) :: second(3)\n"
    "  common /block/ first, second\n"
    "  first = 1\n"
    "  second(2) = 2\n"
    "  print '(a,i0,a)', 'v ', loc(counters(2)%hits), ' shared_data::counters(2)%hits (counter "
    "+0)'\n"
    "  print '(a,i0,a)', 'v ', loc(counters(3)%ratios(1)), ' shared_data::counters(3)%ratios(1) "
    "(counter +12)'\n"
    "  print '(a,i0,a)', 'v ', loc(grid(2, 0)), ' shared_data::grid(2,0)'\n"
    "  print '(a,i0,a)', 'v ', loc(first), ' /block/ first'\n"
    "  print '(a,i0,a)', 'v ', loc(second(2)), ' /block/ second(2)'\n"
    "end program\n";

static void names_fortran(void **state)
{
    if (!has_tool("gfortran"))
        skip();
    write_text("f.f90", fortran_source);
    compile_and_check("gfortran -w -g -O0 -no-pie f.f90 -o f0", "f0", 5);
    compile_and_check("gfortran -w -g -O1 -no-pie f.f90 -o f1", "f1", 5);
}

/* ---- Rust ---------------------------------------------------------------------------------------- */

static const char rust_source[] =
    "use std::sync::atomic::AtomicU64;\n"
    "pub struct Counter { pub hits: AtomicU64, pub pair: (u64, u64) }\n"
    "pub mod inner { pub static mut COUNTERS: [super::Counter; 2] = [const { super::Counter { "
    "hits: super::AtomicU64::new(0), pair: (0, 0) } }; 2]; }\n"
    "pub enum Shape { Circle(u64), Square { side: u64, more: u64 } }\n"
    "pub static mut SHAPE: Shape = Shape::Square { side: 1, more: 2 };\n"
    "fn main() { unsafe {\n"
    "    println!(\"v {:?} r::inner::COUNTERS[1].pair.1 ((u64, u64) +8)\", &raw const "
    "inner::COUNTERS[1].pair.1);\n"
    "    if let Shape::Square { more, .. } = &*(&raw const SHAPE) {\n"
    "        println!(\"v {:?} r::SHAPE.Square.more (Square +16)\", more as *const u64); }\n"
    "    if let Shape::Circle(n) = &*(&raw const SHAPE) { println!(\"{}\", n); }\n"
    "} }\n";

static void names_rust(void **state)
{
    if (!has_tool("rustc"))
        skip();
    write_text("r.rs", rust_source);
    compile_and_check("rustc -g -A warnings -C relocation-model=static r.rs -o r", "r", 2);
}

/* ---- hostile types ------------------------------------------------------------------------------- */

static const char hostile_source[] =
    "__thread int thread_first = 1; __thread struct { int a, b; } thread_second = {1, 2};\n"
    "struct big { char bytes[1 << 20]; } many[1024];\n"
    "union { struct { int a, b; } pair; long whole; } both[1 << 10];\n"
    "int main(void) { return both[0].pair.a + many[3].bytes[5] + thread_first + thread_second.b; "
    "}\n";

/* Every byte of the debug information changed in turn, as a fuzzer would: answers may be wrong, or none; nothing else. */
static void damaged_types_do_no_harm(void **state)
{
    struct stat info;
    char path[256];
    if (!has_tool("gcc") || !has_tool("objcopy"))
        skip();
    write_text("h.c", hostile_source);
    assert_int_equal(
        run("gcc -g -O0 -no-pie h.c -o h && objcopy -O binary --only-section=.debug_info "
            "--set-section-flags "
            ".debug_info=alloc h h.info && nm h | grep -w both | cut -d' ' -f1 > h.address"),
        0);
    snprintf(path, sizeof path, "%s/h.info", directory);
    assert_int_equal(stat(path, &info), 0);
    char *bytes = malloc((size_t)info.st_size), line[32] = "";
    FILE *file = fopen(path, "r");
    assert_int_equal(fread(bytes, 1, (size_t)info.st_size, file), info.st_size);
    fclose(file);
    snprintf(path, sizeof path, "%s/h.address", directory);
    file = fopen(path, "r");
    assert_non_null(fgets(line, sizeof line, file));
    fclose(file);
    uint64_t both = strtoull(line, NULL, 16);
    for (off_t i = 0; i < info.st_size; i += 3) {
        struct binary_object object;
        struct binary_field fields[8];
        bool hands_on;
        char kept = bytes[i];
        bytes[i] = (char)(i % 2 ? 0xff : kept + 1);
        snprintf(path, sizeof path, "%s/h.info", directory);
        file = fopen(path, "w");
        fwrite(bytes, 1, (size_t)info.st_size, file);
        fclose(file);
        bytes[i] = kept;
        assert_int_equal(run("objcopy --update-section .debug_info=h.info h h2 2>/dev/null"), 0);
        struct binary *binary = open_program("h2");
        if (binary_variable(binary, both + 8, 0, &object) == BASE_OK)
            assert_in_range(binary_fields(binary, &object, 0, UINT64_MAX, fields, 8), 0, 8);
        binary_thread_variable(binary, 4, 0, &object);
        binary_frame_variable(binary, 0x401110, -8, &object);
        binary_allocated(binary, 0x401115, 16, &object, &hands_on);
        binary_close(binary);
    }
    free(bytes);
}

static void names_thread_local_variables(void **state)
{
    char text[128];
    struct binary_object object;
    if (!has_tool("gcc"))
        skip();
    write_text("h.c", hostile_source);
    assert_int_equal(run("gcc -g -O1 -no-pie h.c -o t"), 0);
    struct binary *binary = open_program("t");
    unsigned seen = 0;
    for (uint64_t offset = 0; offset < 12; offset += 4) {
        assert_int_equal(binary_thread_variable(binary, offset, 0, &object), BASE_OK);
        binary_object_text(binary, &object, offset - object.start, text, sizeof text);
        seen += strcmp(text, "thread_first") == 0 ? 1 : 0;
        seen += strcmp(text, "thread_second.a") == 0 ? 2 : 0;
        seen += strcmp(text, "thread_second.b") == 0 ? 4 : 0;
    }
    assert_int_equal(seen, 7);
    assert_int_equal(binary_thread_variable(binary, 1 << 20, 0, &object), BASE_NOT_FOUND);
    binary_close(binary);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(names_what_gcc_compiles),
    cmocka_unit_test(names_what_clang_compiles),
    cmocka_unit_test(reads_separate_debug_files),
    cmocka_unit_test(names_thread_local_variables),
    cmocka_unit_test(names_cpp),
    cmocka_unit_test(names_fortran),
    cmocka_unit_test(names_rust),
    cmocka_unit_test(damaged_types_do_no_harm),
};

int main(void)
{
    return cmocka_run_group_tests(tests, make_directory, remove_directory);
}
