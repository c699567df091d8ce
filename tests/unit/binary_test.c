// SPDX-License-Identifier: MIT
/*
 * binary: programs compiled here and now, in all the forms that debug
 * information takes, asked for what their source says; unwind tables against
 * libdw's own interpreter; kinds of files.
 *
 * Tests that need a compiler or tool that is missing are skipped and say so.
 */
#include "binary/binary.h"
#include "unwind/unwind.h"

#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <dwarf.h>
#include <elfutils/libdw.h>

#include <cmocka.h>

static char directory[] = "/tmp/headroom-binary-XXXXXX";

static int make_directory(void **state)
{
    return mkdtemp(directory) ? 0 : -1;
}

static int run(const char *format, ...)
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
    return run("command -v %s >/dev/null 2>&1", name) == 0;
}

static const char *path_of(const char *name)
{
    static char path[256];
    snprintf(path, sizeof path, "%s/%s", directory, name);
    return path;
}

static void write_file(const char *name, const void *bytes, size_t count)
{
    FILE *file = fopen(path_of(name), "w");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, count, file), count);
    assert_int_equal(fclose(file), 0);
}

static void write_text(const char *name, const char *text)
{
    write_file(name, text, strlen(text));
}

/* ---- frames ------------------------------------------------------------------------------ */

/* Marks put an address into a section of their own: file order is the order of lines. */
static const char source[] = "#define MARK(name) __asm__ volatile(\".globl mark_\" #name \"\\n"
                             "mark_\" #name \":\" ::: \"memory\")\n" /* 1 */
                             "volatile int sink;\n"                  /* 2 */
                             "static inline __attribute__((always_inline)) void inner(int x)\n"
                             "{\n"                          /* 4 */
                             "    sink = x; MARK(inner);\n" /* 5 */
                             "}\n"                          /* 6 */
                             "static inline __attribute__((always_inline)) void middle(int x)\n"
                             "{\n"                                          /* 8 */
                             "    inner(x + 1);\n"                          /* 9 */
                             "}\n"                                          /* 10 */
                             "__attribute__((noinline)) int outer(int x)\n" /* 11 */
                             "{\n"                                          /* 12 */
                             "    middle(x);\n"                             /* 13 */
                             "    sink = 3; MARK(outer);\n"                 /* 14 */
                             "    return sink;\n"                           /* 15 */
                             "}\n"                                          /* 16 */
                             "int main(int argc, char **argv)\n"            /* 17 */
                             "{\n"                                          /* 18 */
                             "    return outer(argc);\n"                    /* 19 */
                             "}\n";

static void write_source(void)
{
    char fixed[sizeof source];
    /* The macro is one line of the file. */
    char *to = fixed;
    for (const char *from = source; *from; from++)
        *to++ = *from;
    *to = 0;
    write_text("subject.c", fixed);
}

/* Address of a symbol, from the symbol table of an unstripped file. */
static uint64_t address_of(const char *name, const char *symbol)
{
    char command[512];
    char line[256] = "";
    snprintf(command, sizeof command, "nm %s | grep -w '%s' | head -1", path_of(name), symbol);
    FILE *pipe = popen(command, "r");
    assert_non_null(pipe);
    char *got = fgets(line, sizeof line, pipe);
    pclose(pipe);
    assert_non_null(got);
    return strtoull(line, NULL, 16);
}

static struct binary *open_binary(const char *name, const char *debug_root)
{
    struct binary *binary = NULL;
    struct binary_options options = {.debug_root = debug_root};
    assert_int_equal(binary_open(path_of(name), &options, &binary), BASE_OK);
    return binary;
}

static void assert_frame(const struct binary_frame *frame, const char *function, uint32_t line,
                         bool inlined)
{
    char file[256];
    snprintf(file, sizeof file, "%s/subject.c", directory);
    assert_non_null(frame->function);
    assert_string_equal(frame->function, function);
    assert_non_null(frame->file);
    assert_string_equal(frame->file, file);
    assert_int_equal(frame->line, line);
    assert_int_equal(frame->inlined, inlined);
}

/* A mark follows its line's store: one less is an address of that store. */
static void assert_source_frames(const char *name, uint64_t inner, uint64_t outer,
                                 const char *debug_root)
{
    struct binary_frame frames[8];
    struct binary *binary = open_binary(name, debug_root);
    assert_int_equal(binary_detail(binary), BINARY_DETAIL_LINES);
    assert_int_equal(binary_frames(binary, inner - 1, frames, 8), 3);
    assert_frame(&frames[0], "inner", 5, true);
    assert_frame(&frames[1], "middle", 9, true);
    assert_frame(&frames[2], "outer", 13, false);
    assert_string_equal(frames[2].linkage, "outer");
    assert_int_equal(binary_frames(binary, outer - 1, frames, 8), 1);
    assert_frame(&frames[0], "outer", 14, false);
    binary_close(binary);
}

/* marks inside of functions must not be taken for functions: they are labels without size. */
static void every_form_of_debug_information_gives_the_frames(void **state)
{
    static const char *const forms[] = {
        "gcc -O2 -g",
        "gcc -O2 -g -fomit-frame-pointer -no-pie",
        "gcc -O2 -gdwarf-4",
        "gcc -O2 -gdwarf-5 -gz",
        "gcc -O2 -gdwarf-4 -fdebug-types-section -ffunction-sections",
        "gcc -O2 -g -flto",
        "gcc -O1 -g3",
        "gcc -O2 -g -gsplit-dwarf",
        "clang-14 -O2 -g",
        "clang-14 -O1 -gdwarf-4",
        "clang-14 -O2 -g -fuse-ld=lld"};
    write_source();
    for (size_t i = 0; i < BASE_COUNT(forms); i++) {
        if (strncmp(forms[i], "clang", 5) == 0 && !has_tool("clang-14"))
            continue;
        if (run("%s %s/subject.c -o subject 2>/dev/null", forms[i], directory) != 0) {
            print_message("# skipped: %s\n", forms[i]);
            continue;
        }
        print_message("# %s\n", forms[i]);
        assert_source_frames("subject", address_of("subject", "mark_inner"),
                             address_of("subject", "mark_outer"), NULL);
    }
}

static void few_places_keep_the_real_function(void **state)
{
    struct binary_frame frames[3];
    write_source();
    assert_int_equal(run("gcc -O2 -g %s/subject.c -o subject", directory), 0);
    uint64_t inner = address_of("subject", "mark_inner") - 1;
    struct binary *binary = open_binary("subject", NULL);
    memset(frames, 0x55, sizeof frames);
    assert_int_equal(binary_frames(binary, inner, frames, 2), 2);
    assert_frame(&frames[0], "inner", 5, true);
    assert_frame(&frames[1], "outer", 13, false);
    assert_int_equal(binary_frames(binary, inner, frames, 1), 1);
    assert_frame(&frames[0], "outer", 13, false);
    assert_int_equal(binary_frames(binary, inner, frames, 0), 0);
    assert_int_equal(binary_frames(binary, 1, frames, 3), 0);
    assert_int_equal(binary_frames(binary, UINT64_MAX, frames, 3), 0);
    binary_close(binary);
}

static void build_id_text(struct binary *binary, char text[65])
{
    uint8_t id[BINARY_BUILD_ID_BYTES];
    size_t bytes = binary_build_id(binary, id);
    assert_in_range(bytes, 8, BINARY_BUILD_ID_BYTES);
    for (size_t i = 0; i < bytes; i++)
        snprintf(text + 2 * i, 3, "%02x", id[i]);
}

static void separate_files_are_found_and_proven(void **state)
{
    struct binary_frame frames[4];
    char id[65], root[300];
    write_source();
    assert_int_equal(run("gcc -O2 -g %s/subject.c -o full && objcopy --only-keep-debug full "
                         "full.debug && cp full stripped && strip stripped",
                         directory),
                     0);
    uint64_t inner = address_of("full", "mark_inner");
    uint64_t outer = address_of("full", "mark_outer");
    struct binary *binary = open_binary("stripped", NULL);
    assert_int_not_equal(binary_detail(binary), BINARY_DETAIL_LINES);
    build_id_text(binary, id);
    binary_close(binary);

    /* By build-id under the root. */
    snprintf(root, sizeof root, "%s/root", directory);
    assert_int_equal(
        run("mkdir -p root/.build-id/%.2s && cp full.debug root/.build-id/%.2s/%s.debug", id, id,
            id + 2),
        0);
    assert_source_frames("stripped", inner, outer, root);
    binary = open_binary("stripped", root);
    assert_non_null(strstr(binary_debug_file(binary), "/.build-id/"));
    binary_close(binary);

    /* A file of another build under that name is not believed. */
    assert_int_equal(
        run("gcc -O2 -g -DX -Wl,--build-id=0x0102030405060708 %s/subject.c -o other && "
            "cp other root/.build-id/%.2s/%s.debug",
            directory, id, id + 2),
        0);
    binary = open_binary("stripped", root);
    assert_int_not_equal(binary_detail(binary), BINARY_DETAIL_LINES);
    assert_int_equal(binary_frames(binary, inner - 1, frames, 4), 1);
    assert_non_null(strstr(frames[0].function, "stripped@0x"));
    assert_null(frames[0].file);
    binary_close(binary);
}

/* Without build-ids only the checksum proves it. */
static void debug_links_are_followed(void **state)
{
    static const char *const places[] = {".", ".debug", "root/$PWD"};
    char root[300];
    write_source();
    snprintf(root, sizeof root, "%s/root", directory);
    assert_int_equal(
        run("gcc -O2 -g -Wl,--build-id=none %s/subject.c -o plain && rm -rf root .debug "
            "plain.debug && objcopy --only-keep-debug plain kept && cp kept plain.debug && "
            "cp plain linked && strip linked && "
            "objcopy --add-gnu-debuglink=plain.debug linked && rm plain.debug",
            directory),
        0);
    uint64_t inner = address_of("plain", "mark_inner");
    uint64_t outer = address_of("plain", "mark_outer");
    for (size_t i = 0; i < BASE_COUNT(places); i++) {
        assert_int_equal(run("mkdir -p %s && cp kept %s/plain.debug", places[i], places[i]), 0);
        assert_source_frames("linked", inner, outer, root);
        /* One byte more: another file. */
        assert_int_equal(run("printf x >> %s/plain.debug", places[i]), 0);
        struct binary *binary = open_binary("linked", root);
        assert_int_not_equal(binary_detail(binary), BINARY_DETAIL_LINES);
        binary_close(binary);
        assert_int_equal(run("rm %s/plain.debug", places[i]), 0);
    }
}

/* Of an unstripped file; end may be NULL. */
static uint64_t function_of(const char *name, const char *symbol, uint64_t *end)
{
    uint64_t start = address_of(name, symbol), last = 0;
    struct binary *binary = open_binary(name, NULL);
    assert_int_equal(binary_function(binary, start, &start, &last), BASE_OK);
    binary_close(binary);
    if (end)
        *end = last;
    return start;
}

static void less_information_is_said(void **state)
{
    struct binary_frame frame;
    write_source();
    assert_int_equal(run("gcc -O2 %s/subject.c -o bare && "
                         "gcc -O2 -rdynamic %s/subject.c -o exported && strip exported && "
                         "cp bare stripped && strip stripped",
                         directory, directory),
                     0);
    uint64_t outer = address_of("bare", "mark_outer");
    struct binary *binary = open_binary("bare", NULL);
    assert_int_equal(binary_detail(binary), BINARY_DETAIL_SYMBOLS);
    assert_null(binary_debug_file(binary));
    assert_int_equal(binary_frames(binary, outer, &frame, 1), 1);
    assert_string_equal(frame.function, "outer");
    assert_null(frame.file);
    binary_close(binary);

    binary = open_binary("exported", NULL);
    assert_int_equal(binary_detail(binary), BINARY_DETAIL_EXPORTS);
    binary_close(binary);

    /* Everything in one function has one name: that of its first byte. */
    char expected[64];
    uint64_t start = function_of("bare", "outer", NULL), end = 0;
    function_of("bare", "outer", &end);
    snprintf(expected, sizeof expected, "stripped@0x%llx", (unsigned long long)start);
    binary = open_binary("stripped", NULL);
    for (uint64_t at = start; at < end; at += at < outer && outer < end ? outer - at : 1) {
        assert_int_equal(binary_frames(binary, at, &frame, 1), 1);
        assert_string_equal(frame.function, expected);
        assert_null(frame.linkage);
    }
    assert_int_equal(
        binary_frames(binary, end, &frame, 1) == 1 && strcmp(frame.function, expected) == 0, 0);
    /* Stubs are described as one range and are not one function. */
    uint64_t stubs, bytes;
    assert_int_equal(binary_section(binary, ".plt", &stubs, &bytes), BASE_OK);
    assert_int_equal(binary_frames(binary, stubs, &frame, 1), 0);
    binary_close(binary);
}

/* The gap behind the last function of a stripped library is not that function. */
static void symbols_end_where_they_end(void **state)
{
    struct binary_frame frame;
    write_text("asm.s", ".text\n.globl sized\n.type sized,@function\nsized: nop\nlabel: nop\n"
                        ".size sized,.-sized\n.skip 64,0x90\n"
                        ".globl unsized\n.type unsized,@function\nunsized: nop\nnop\n"
                        ".globl later\n.type later,@function\nlater: ret\n.size later,.-later\n");
    assert_int_equal(run("gcc -nostdlib -shared asm.s -o asm.so"), 0);
    uint64_t sized = address_of("asm.so", "sized");
    uint64_t unsized = address_of("asm.so", "unsized");
    struct binary *binary = open_binary("asm.so", NULL);
    assert_int_equal(binary_frames(binary, sized, &frame, 1), 1);
    assert_string_equal(frame.function, "sized");
    assert_int_equal(binary_frames(binary, sized + 1, &frame, 1), 1);
    assert_string_equal(frame.function, "sized"); /* not the label in it */
    assert_int_equal(binary_frames(binary, sized + 2, &frame, 1), 0);
    assert_int_equal(binary_frames(binary, unsized + 1, &frame, 1), 1);
    assert_string_equal(frame.function, "unsized");
    assert_int_equal(binary_frames(binary, unsized + 2, &frame, 1), 1);
    assert_string_equal(frame.function, "later");
    binary_close(binary);
}

static void nested_symbols_do_not_hide_the_outer_one(void **state)
{
    struct binary_frame frame;
    write_text("nest.s",
               ".text\n.globl around\n.type around,@function\naround: nop\n"
               ".globl within\n.type within,@function\nwithin: nop\n.size within,.-within\n"
               "nop\n.size around,.-around\n");
    assert_int_equal(run("gcc -nostdlib -shared nest.s -o nest.so"), 0);
    uint64_t start = address_of("nest.so", "around");
    static const char *const expected[] = {"around", "within", "around"};
    struct binary *binary = open_binary("nest.so", NULL);
    for (size_t i = 0; i < BASE_COUNT(expected); i++) {
        assert_int_equal(binary_frames(binary, start + i, &frame, 1), 1);
        assert_string_equal(frame.function, expected[i]);
    }
    binary_close(binary);
}

/* Their debug information stays behind with addresses from 0 on. */
static void dropped_functions_do_not_claim_code(void **state)
{
    struct binary_frame frames[4];
    write_text("dropped.c", "void dropped(void) { __asm__ volatile(\".skip 65536,0x90\"); }\n");
    write_source();
    assert_int_equal(run("gcc -O2 -g -ffunction-sections -Wl,--gc-sections %s/dropped.c "
                         "%s/subject.c -o subject",
                         directory, directory),
                     0);
    assert_source_frames("subject", address_of("subject", "mark_inner"),
                         address_of("subject", "mark_outer"), NULL);
    struct binary *binary = open_binary("subject", NULL);
    uint64_t start = address_of("subject", "_start");
    assert_int_equal(binary_frames(binary, start, frames, 4), 1);
    assert_string_equal(frames[0].function, "_start");
    assert_null(frames[0].file);
    binary_close(binary);
}

static void names_are_readable(void **state)
{
    static const struct {
        const char *linkage, *readable;
    } names[] = {
        {"_ZNSt6vectorIiSaIiEE9push_backERKi", "std::vector<int, std::allocator<int> >::push_back"},
        {"_ZN5outer3BoxIiE3sumEi", "outer::Box<int>::sum"},
        {"_Z3fooi.part.0", "foo.part.0"},
        {"_Z3fooi.cold", "foo.cold"},
        {"plain.constprop.0", "plain.constprop.0"},
        {"plain", "plain"},
        {"_ZN4core3fmt5Write9write_fmt17h0123456789abcdefE", "core::fmt::Write::write_fmt"},
        {"_ZN4core3fmt5Write9write_fmt17h0123456789abcdefE.llvm.123",
         "core::fmt::Write::write_fmt"},
        {"_ZN4core3ptr7mut_ptr31_$LT$impl$u20$$BP$mut$u20$T$GT$5write17h8fce7491894bb25eE",
         "core::ptr::mut_ptr::<impl *mut T>::write"},
        {"_ZN1a46_$LT$impl$u20$b..map..HashMap$LT$K$C$V$GT$$GT$2ab17h8d653f218419721dE.cold",
         "a::<impl b::map::HashMap<K,V>>::ab.cold"},
        {"_RNvC6_123foo3bar", "123foo::bar"},
        {"_Znonsense", "_Znonsense"},
    };
    struct binary_frame frame;
    char text[4096] = ".text\n";
    for (size_t i = 0; i < BASE_COUNT(names); i++)
        snprintf(text + strlen(text), sizeof text - strlen(text),
                 ".globl \"%s\"\n.type \"%s\",@function\n\"%s\": ret\n.size \"%s\",.-\"%s\"\n",
                 names[i].linkage, names[i].linkage, names[i].linkage, names[i].linkage,
                 names[i].linkage);
    write_text("names.s", text);
    assert_int_equal(run("gcc -nostdlib -shared names.s -o names.so"), 0);
    uint64_t start = address_of("names.so", names[0].linkage);
    struct binary *binary = open_binary("names.so", NULL);
    for (size_t i = 0; i < BASE_COUNT(names); i++) {
        assert_int_equal(binary_frames(binary, start + i, &frame, 1), 1);
        assert_string_equal(frame.linkage, names[i].linkage);
        assert_string_equal(frame.function, names[i].readable);
    }
    binary_close(binary);
}

/* f<A<int, int>, A<that, that>, ...>: each argument twice as long as the one before it. */
static void names_that_become_too_long_stay_as_they_are(void **state)
{
    enum { DOUBLINGS = 30 };
    static const char digits[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";
    char text[1024] = "_Z1fI1AIiiE";
    for (int i = 0; i < DOUBLINGS; i++)
        snprintf(text + strlen(text), sizeof text - strlen(text), "S0_IS%c_S%c_E", digits[i + 1],
                 digits[i + 1]);
    strcat(text, "Evv");
    char *same = binary_demangle(text, true);
    assert_string_equal(same, text);
    free(same);
    char *shorter = binary_demangle("_Z1fI1AIiiES0_IS1_S1_EEvv", true);
    assert_string_equal(shorter, "void f<A<int, int>, A<A<int, int>, A<int, int> > >()");
    free(shorter);
}

static void functions_that_never_return_are_known_by_name(void **state)
{
    static const char *const final[] = {"exit", "_ZSt9terminatev", "_gfortran_stop_string",
                                        "_ZSt20__throw_length_errorPKc", "_ZSt16__throw_bad_castv"};
    static const char *const others[] = {"",        "exi",   "exits",        "_ZSt4sortv",
                                         "__throw", "_ZSt7", "_ZSt20__throw"};
    (void)state;
    for (size_t i = 0; i < BASE_COUNT(final); i++)
        assert_true(binary_never_returns(final[i], strlen(final[i])));
    for (size_t i = 0; i < BASE_COUNT(others); i++)
        assert_false(binary_never_returns(others[i], strlen(others[i])));
    assert_true(binary_never_returns("exit@plt", strlen("exit")));
}

static void cpp_namespaces_classes_and_lambdas_are_named(void **state)
{
    struct binary_frame frames[8];
    if (!has_tool("g++"))
        skip();
    write_text(
        "names.cpp",
        "volatile int sink;\n"
        "namespace space { struct Box { int value; __attribute__((noinline)) int get(int k) const "
        "{ sink = k; __asm__ volatile(\".globl mark_get\\nmark_get:\"); return value; } }; }\n"
        "int main(int c, char **) { space::Box b{c}; return b.get(c); }\n");
    assert_int_equal(run("g++ -O2 -g names.cpp -o names"), 0);
    uint64_t get = address_of("names", "mark_get");
    struct binary *binary = open_binary("names", NULL);
    size_t count = binary_frames(binary, get - 1, frames, 8);
    assert_int_equal(count, 1);
    assert_string_equal(frames[0].function, "space::Box::get");
    assert_int_equal(frames[0].line, 2);
    binary_close(binary);
}

static void assert_declared(const char *file, const char *symbol, uint32_t line)
{
    struct binary_frame frames[4];
    struct binary *binary = open_binary(file, NULL);
    uint64_t address = address_of(file, symbol);
    assert_true(address);
    assert_true(binary_frames(binary, address, frames, 4) > 0);
    assert_int_equal(frames[0].declared, line); /* only entries of functions say that */
    binary_close(binary);
}

static void functions_in_functions_and_types_are_found(void **state)
{
    write_text("nested.c", "__attribute__((noinline)) static int apply(int (*what)(int), int x)\n"
                           "{ return what(x); }\n"
                           "int main(int count, char **words)\n"
                           "{\n"
                           "    int __attribute__((noinline)) inner(int x)\n"
                           "    { return x * count + (words != 0); }\n"
                           "    return apply(inner, 3);\n"
                           "}\n");
    assert_int_equal(run("gcc -O1 -g -fno-inline nested.c -o nested"), 0);
    assert_declared("nested", "apply", 1);
    assert_declared("nested", "inner.0", 5);
    write_text("nested.cpp", "struct outer {\n"
                             "    __attribute__((noinline)) int method(int x)\n"
                             "    { asm(\"\"); return x + 1; }\n"
                             "};\n"
                             "int main(int count, char **)\n"
                             "{\n"
                             "    struct local {\n"
                             "        static __attribute__((noinline)) int deep(int x)\n"
                             "        { asm(\"\"); return x * 7; }\n"
                             "    };\n"
                             "    return outer().method(count) + local::deep(count);\n"
                             "}\n");
    assert_int_equal(run("g++ -O1 -g nested.cpp -o nested"), 0);
    assert_declared("nested", "_ZN5outer6methodEi", 2);
    assert_declared("nested", "_ZZ4mainEN5local4deepEi", 8);
}

static void code_bytes_are_read(void **state)
{
    uint8_t code[4];
    uint8_t untouched[4096];
    write_text("code.s", ".text\n.globl start\nstart: .byte 1, 2, 3, 4\n");
    assert_int_equal(run("gcc -nostdlib -shared code.s -o code.so"), 0);
    uint64_t start = address_of("code.so", "start");
    struct binary *binary = open_binary("code.so", NULL);
    assert_int_equal(binary_read(binary, start, code, 4), BASE_OK);
    assert_memory_equal(code, "\1\2\3\4", 4);
    assert_int_equal(binary_read(binary, start, untouched, sizeof untouched), BASE_NOT_FOUND);
    assert_int_equal(binary_read(binary, UINT64_MAX, code, 4), BASE_NOT_FOUND);
    binary_close(binary);
}

static void the_vdso_is_a_module(void **state)
{
    struct binary *binary = NULL;
    uint64_t bytes = 0;
    assert_int_equal(binary_open("[vdso]", NULL, &binary), BASE_OK);
    assert_int_not_equal(binary_detail(binary), BINARY_DETAIL_NONE);
    uint8_t magic[4];
    assert_int_equal(binary_read(binary, 0, magic, 4), BASE_OK);
    assert_memory_equal(magic, "\177ELF", 4);
    binary_close(binary);
    int file = memfd_create("table", 0);
    assert_int_equal(binary_compile_unwind("[vdso]", file, &bytes), BASE_OK);
    assert_true(bytes > sizeof(struct unwind_header));
    close(file);
}

/* ---- common parts of debug files ------------------------------------------------------------- */

/* A unit with one function, whose name is in the common file (as dwz leaves it). */
static const char divided[] =
    ".text\n.globl plain\n.type plain,@function\nplain: nop\nret\n.size plain,.-plain\n"
    ".section .debug_abbrev,\"\",@progbits\n.uleb128 1,0x11\n.byte 1\n" /* compile unit */
    ".uleb128 0x11,0x01,0x12,0x07,0,0\n"                                /* low, high    */
    ".uleb128 2,0x2e\n.byte 0\n"                                        /* subprogram   */
    ".uleb128 0x03,0x1f21,0x11,0x01,0x12,0x07,0,0,0\n"                  /* name: strp_alt */
    ".section .debug_info,\"\",@progbits\n.long 2f-1f\n1: .short 4\n.long .debug_abbrev\n.byte 8\n"
    ".uleb128 1\n.quad plain,2\n.uleb128 2\n.long 2\n.quad plain,2\n.byte 0\n2:\n"
    ".section .gnu_debugaltlink,\"\",@progbits\n.asciz \"common.dwz\"\n"
    ".byte 0x11,0x22,0x33,0x44,0x55,0x66,0x77,0x88\n";

static void common_parts_of_debug_files_are_found(void **state)
{
    struct binary_frame frame;
    char root[300];
    write_text("divided.s", divided);
    write_text(
        "common.s",
        ".section .debug_str,\"MS\",@progbits,1\n.asciz \"x\"\n.asciz \"moved\"\n"
        ".section .debug_info,\"\",@progbits\n.long 2f-1f\n1: .short 4\n.long 0\n.byte 8,0\n2:\n");
    assert_int_equal(
        run("gcc -nostdlib -shared divided.s -o divided.so && "
            "gcc -nostdlib -shared -Wl,--build-id=0x1122334455667788 common.s -o common"),
        0);
    uint64_t plain = address_of("divided.so", "plain");
    snprintf(root, sizeof root, "%s/alt", directory);
    /* Beside the debug file, then under the root; then one of another build. */
    static const char *const steps[] = {
        "cp common common.dwz",
        "mkdir -p alt/.build-id/11; mv common.dwz alt/.build-id/11/22334455667788.debug",
        "rm -r alt; gcc -nostdlib -shared -Wl,--build-id=0x99 common.s -o common.dwz"};
    for (size_t i = 0; i < BASE_COUNT(steps); i++) {
        assert_int_equal(run("%s", steps[i]), 0);
        struct binary *binary = open_binary("divided.so", root);
        assert_int_equal(binary_frames(binary, plain, &frame, 1), 1);
        assert_string_equal(frame.function, i < 2 ? "moved" : "plain");
        binary_close(binary);
    }
}

/* ---- files that debug information names ---------------------------------------------------------
 */

/* Split DWARF and common parts are files that libdw opens by itself: FIFOs of their names must not
 * make anybody wait. */
static void files_of_the_names_that_are_needed_need_be_none(void **state)
{
    struct binary_frame frame;
    write_source();
    write_text("divided.s", divided);
    assert_int_equal(
        run("rm -f *.dwo *.dwz; gcc -O2 -g -gsplit-dwarf %s/subject.c -o subject && "
            "ls *.dwo >/dev/null && for file in *.dwo; do rm $file && mkfifo $file; done && "
            "sed 's/^.byte 0x11,.*/.byte 0x11/' divided.s >short.s && mkfifo common.dwz && "
            "gcc -nostdlib -shared short.s -o short.so",
            directory),
        0);
    alarm(120); /* opening one of them would wait for ever */
    struct binary *binary = open_binary("subject", NULL);
    assert_int_equal(binary_frames(binary, address_of("subject", "main"), &frame, 1), 1);
    assert_string_equal(frame.function, "main");
    binary_close(binary);
    binary = open_binary("short.so", NULL);
    assert_int_equal(binary_frames(binary, address_of("short.so", "plain"), &frame, 1), 1);
    assert_string_equal(frame.function, "plain");
    binary_close(binary);
    alarm(0);
    assert_int_equal(run("rm *.dwo *.dwz"), 0);
}

static long peak_kib(void)
{
    struct rusage usage;
    assert_int_equal(getrusage(RUSAGE_SELF, &usage), 0);
    return usage.ru_maxrss;
}

/* Many units whose ranges are all the same list: each would have as many as the list. */
static void shared_ranges_are_bounded_by_the_file(void **state)
{
    enum { COUNT = 3000, KIB_MAX = 150 << 10 };
    struct binary_frame frame;
    FILE *file = fopen(path_of("shared.s"), "w");
    assert_non_null(file);
    fprintf(file,
            ".text\n.globl plain\n.type plain,@function\nplain: .fill %d,1,0x90\nret\n"
            ".size plain,.-plain\n.section .debug_abbrev,\"\",@progbits\n.uleb128 1,0x11\n"
            ".byte 0\n.uleb128 0x55,0x17,0,0,0\n.section .debug_info,\"\",@progbits\n",
            COUNT);
    for (int i = 0; i < COUNT; i++)
        fputs(".long 2f-1f\n1: .short 4\n.long .debug_abbrev\n.byte 8\n.uleb128 1\n.long 0\n2:\n",
              file);
    fputs(".section .debug_ranges,\"\",@progbits\n.quad -1,plain\n", file);
    for (int i = 0; i < COUNT; i++)
        fprintf(file, ".quad %d,%d\n", i, i + 1);
    fputs(".quad 0,0\n", file);
    assert_int_equal(fclose(file), 0);
    assert_int_equal(run("gcc -nostdlib -shared shared.s -o shared.so"), 0);
    struct binary *binary = open_binary("shared.so", NULL);
    long before = peak_kib();
    assert_int_equal(binary_frames(binary, address_of("shared.so", "plain") + 7, &frame, 1), 1);
    assert_string_equal(frame.function, "plain");
    assert_true(peak_kib() - before < KIB_MAX);
    binary_close(binary);
}

static void small_files_do_not_become_large_ones(void **state)
{
    struct binary *binary = NULL;
    write_source();
    assert_int_equal(run("gcc -O2 -g -gz %s/subject.c -o subject && truncate -s 64M zeros && "
                         "objcopy --add-section .debug_zeros=zeros subject large && "
                         "objcopy --compress-debug-sections=zlib large packed && rm zeros",
                         directory),
                     0);
    assert_int_equal(binary_open(path_of("packed"), NULL, &binary), BASE_MALFORMED);
    assert_null(binary);
    assert_int_equal(run("objcopy --compress-debug-sections=zlib-gnu large packed"), 0);
    assert_int_equal(binary_open(path_of("packed"), NULL, &binary), BASE_MALFORMED);
    binary_close(open_binary("subject", NULL));
    assert_int_equal(run("rm large packed"), 0);
}

/* ---- servers ------------------------------------------------------------------------------- */

static void servers_are_asked_only_when_wanted(void **state)
{
    char id[65], value[300];
    struct binary *binary;
    write_source();
    assert_int_equal(run("gcc -O2 -g %s/subject.c -o full && objcopy --only-keep-debug full "
                         "full.debug && cp full stripped && strip stripped",
                         directory),
                     0);
    binary = open_binary("stripped", NULL);
    build_id_text(binary, id);
    binary_close(binary);
    assert_int_equal(
        run("mkdir -p server/buildid/%s && cp full.debug server/buildid/%s/debuginfo", id, id), 0);
    snprintf(value, sizeof value, "file://%s/server", directory);
    setenv("DEBUGINFOD_URLS", value, 1);
    snprintf(value, sizeof value, "%s/cache", directory);
    setenv("DEBUGINFOD_CACHE_PATH", value, 1);

    struct binary_options options = {.debug_root = "/nonexistent"};
    assert_int_equal(binary_open(path_of("stripped"), &options, &binary), BASE_OK);
    assert_int_not_equal(binary_detail(binary), BINARY_DETAIL_LINES);
    binary_close(binary);
    options.debuginfod = true;
    assert_int_equal(binary_open(path_of("stripped"), &options, &binary), BASE_OK);
    enum binary_detail detail = binary_detail(binary);
    binary_close(binary);
    unsetenv("DEBUGINFOD_URLS");
    if (access("/usr/lib/x86_64-linux-gnu/libdebuginfod.so.1", R_OK) != 0)
        skip();
    assert_int_equal(detail, BINARY_DETAIL_LINES);
}

/* Accepts connections (the kernel does) and never says a word. */
static void silent_servers_are_given_up(void **state)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof address;
    struct timespec begun, ended;
    struct binary *binary;
    char value[300];
    int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(listener, (struct sockaddr *)&address, sizeof address), 0);
    assert_int_equal(listen(listener, 5), 0);
    assert_int_equal(getsockname(listener, (struct sockaddr *)&address, &length), 0);
    write_source();
    assert_int_equal(run("gcc -O2 %s/subject.c -o silent && strip silent", directory), 0);
    snprintf(value, sizeof value, "http://127.0.0.1:%d", ntohs(address.sin_port));
    setenv("DEBUGINFOD_URLS", value, 1);
    snprintf(value, sizeof value, "%s/silent-cache", directory);
    setenv("DEBUGINFOD_CACHE_PATH", value, 1);
    struct binary_options options = {.debuginfod = true, .debug_root = "/nonexistent"};
    clock_gettime(CLOCK_MONOTONIC, &begun);
    assert_int_equal(binary_open(path_of("silent"), &options, &binary), BASE_OK);
    clock_gettime(CLOCK_MONOTONIC, &ended);
    binary_close(binary);
    assert_true(ended.tv_sec - begun.tv_sec <= 20);
    begun = ended; /* and never asked again: a program has many modules */
    assert_int_equal(binary_open(path_of("silent"), &options, &binary), BASE_OK);
    clock_gettime(CLOCK_MONOTONIC, &ended);
    binary_close(binary);
    assert_true(ended.tv_sec - begun.tv_sec <= 2);
    unsetenv("DEBUGINFOD_URLS");
    close(listener);
}

/* ---- kinds of files -------------------------------------------------------------------------- */

static void assert_kind(const char *path, enum binary_kind expected)
{
    enum binary_kind kind = 99;
    assert_int_equal(binary_classify(path, &kind, NULL), BASE_OK);
    if (kind != expected)
        print_message("%s: kind %d, not %d\n", path, kind, expected);
    assert_int_equal(kind, expected);
}

static void programs_are_told_apart(void **state)
{
    write_source();
    assert_int_equal(
        run("gcc -O1 subject.c -o dynamic && gcc -O1 -static subject.c -o static && "
            "gcc -O1 -static-pie -fPIE subject.c -o static-pie && "
            "gcc -O1 -no-pie subject.c -o fixed && "
            "gcc -O1 -Wl,-dynamic-linker=/lib/ld-musl-x86_64.so.1 subject.c -o musl && "
            "gcc -O1 -shared -fPIC subject.c -o library.so && gcc -c subject.c -o object.o"),
        0);
    assert_kind(path_of("dynamic"), BINARY_DYNAMIC);
    assert_kind(path_of("fixed"), BINARY_DYNAMIC);
    assert_kind(path_of("static"), BINARY_STATIC);
    assert_kind(path_of("static-pie"), BINARY_STATIC);
    assert_kind(path_of("musl"), BINARY_OTHER_LIBC);
    assert_kind(path_of("library.so"), BINARY_NOT_PROGRAM);
    assert_kind(path_of("object.o"), BINARY_NOT_PROGRAM);
    assert_kind(path_of("subject.c"), BINARY_NOT_PROGRAM);
    assert_kind(directory, BINARY_NOT_PROGRAM);
    assert_kind("/dev/null", BINARY_NOT_PROGRAM);
    write_text("empty", "");
    assert_kind(path_of("empty"), BINARY_NOT_PROGRAM);
    write_text("magic", "\177ELF");
    assert_kind(path_of("magic"), BINARY_NOT_PROGRAM);
}

/* Headers alone: no compiler for these is needed. */
static void assert_header_kind(uint8_t class, uint16_t machine, enum binary_kind expected)
{
    uint8_t bytes[64] = {0x7f, 'E', 'L', 'F', class, ELFDATA2LSB, EV_CURRENT};
    bytes[16] = ET_EXEC;
    memcpy(bytes + 18, &machine, 2);
    bytes[20] = EV_CURRENT;
    bytes[class == ELFCLASS64 ? 52 : 40] = class == ELFCLASS64 ? 64 : 52; /* e_ehsize */
    write_file("header", bytes, sizeof bytes);
    assert_kind(path_of("header"), expected);
}

static void machines_are_told_apart(void **state)
{
    assert_header_kind(ELFCLASS32, EM_386, BINARY_32BIT);
    assert_header_kind(ELFCLASS32, EM_X86_64, BINARY_32BIT);
    assert_header_kind(ELFCLASS64, EM_AARCH64, BINARY_OTHER_MACHINE);
    assert_header_kind(ELFCLASS32, EM_ARM, BINARY_OTHER_MACHINE);
    assert_header_kind(ELFCLASS64, EM_X86_64, BINARY_STATIC);
}

static void go_programs_are_known_by_note_and_section(void **state)
{
    write_source();
    write_text("note.s", ".section .note.go.buildid,\"a\",@note\n.long 4,4,4\n.ascii \"Go\\0\\0\"\n"
                         ".long 1\n.section .note.GNU-stack\n");
    write_text("info.s", ".section .go.buildinfo,\"a\"\n.ascii \"x\"\n.section .note.GNU-stack\n");
    assert_int_equal(run("gcc subject.c note.s -o go-note && gcc subject.c info.s -o go-info"), 0);
    assert_kind(path_of("go-note"), BINARY_GO);
    assert_kind(path_of("go-info"), BINARY_GO);
}

static void set_id_programs_are_known(void **state)
{
    struct stat status;
    write_source();
    assert_int_equal(run("gcc subject.c -o setid && chmod u+s setid"), 0);
    assert_kind(path_of("setid"), BINARY_DYNAMIC); /* to ourselves */
    if (geteuid() != 0)
        skip();
    assert_int_equal(chown(path_of("setid"), 12345, 0), 0);
    assert_int_equal(chmod(path_of("setid"), 04755), 0);
    assert_kind(path_of("setid"), BINARY_SET_ID);
    assert_int_equal(chown(path_of("setid"), 0, 12345), 0);
    assert_int_equal(chmod(path_of("setid"), 02755), 0);
    assert_kind(path_of("setid"), BINARY_SET_ID);
    assert_int_equal(chmod(path_of("setid"), 02745), 0); /* mandatory locking, not an identity */
    assert_kind(path_of("setid"), BINARY_DYNAMIC);
    assert_int_equal(stat(path_of("setid"), &status), 0);
}

static void scripts_name_their_interpreter(void **state)
{
    char interpreter[4096] = "unset";
    enum binary_kind kind;
    char line[400];
    write_text("script", "#! \t/usr/bin/env python3\nprint()\n");
    assert_int_equal(binary_classify(path_of("script"), &kind, interpreter), BASE_OK);
    assert_int_equal(kind, BINARY_SCRIPT);
    assert_string_equal(interpreter, "/usr/bin/env");
    write_text("script", "#!/bin/sh");
    assert_int_equal(binary_classify(path_of("script"), &kind, interpreter), BASE_OK);
    assert_string_equal(interpreter, "/bin/sh");
    assert_kind(path_of("script"), BINARY_SCRIPT);
    write_text("script", "#!   \nx");
    assert_kind(path_of("script"), BINARY_NOT_PROGRAM);
    memset(line, 'x', sizeof line);
    memcpy(line, "#!/", 3);
    write_file("script", line, sizeof line); /* longer than the kernel looks */
    assert_kind(path_of("script"), BINARY_NOT_PROGRAM);
}

static void unreadable_files_are_errors(void **state)
{
    enum binary_kind kind = 42;
    struct binary *binary = NULL;
    uint64_t bytes = 42;
    assert_int_equal(binary_classify("/nonexistent/file", &kind, NULL), BASE_NOT_FOUND);
    assert_int_equal(kind, 42);
    assert_int_equal(binary_open("/nonexistent/file", NULL, &binary), BASE_NOT_FOUND);
    assert_int_equal(binary_open("/etc/passwd", NULL, &binary), BASE_MALFORMED);
    assert_int_equal(binary_open("/dev/null", NULL, &binary), BASE_MALFORMED);
    assert_null(binary);
    assert_int_equal(binary_compile_unwind("/etc/passwd", -1, &bytes), BASE_MALFORMED);
    /* A FIFO must not make anybody wait. */
    assert_int_equal(mkfifo(path_of("fifo"), 0600), 0);
    assert_kind(path_of("fifo"), BINARY_NOT_PROGRAM);
    assert_int_equal(binary_open(path_of("fifo"), NULL, &binary), BASE_MALFORMED);
    /* A full disk. */
    int full = open("/dev/full", O_WRONLY);
    assert_int_equal(binary_compile_unwind("[vdso]", full, &bytes), BASE_IO);
    assert_int_equal(bytes, 42);
    close(full);
}

/* ---- unwind tables --------------------------------------------------------------------------- */

static void load_table(const char *path, struct unwind_table *table)
{
    uint64_t bytes;
    struct timespec begun, ended;
    int file = memfd_create("table", 0);
    clock_gettime(CLOCK_MONOTONIC, &begun);
    assert_int_equal(binary_compile_unwind(path, file, &bytes), BASE_OK);
    clock_gettime(CLOCK_MONOTONIC, &ended);
    struct stat status;
    assert_int_equal(fstat(file, &status), 0);
    assert_int_equal(status.st_size, bytes);
    void *memory = mmap(NULL, bytes, PROT_READ, MAP_SHARED, file, 0);
    assert_ptr_not_equal(memory, MAP_FAILED);
    assert_int_equal(unwind_table_open(memory, bytes, true, table), BASE_OK);
    close(file);
    for (uint32_t i = 1; i < table->header.range_count; i++) /* equal neighbours are one range */
        assert_true(table->range_rows[i] != table->range_rows[i - 1]);
    print_message("# %s: %u ranges, %u rows, %.1f ms\n", path, table->header.range_count,
                  table->header.row_count,
                  (double)(ended.tv_sec - begun.tv_sec) * 1e3 +
                      (double)(ended.tv_nsec - begun.tv_nsec) / 1e6);
}

/* An invented machine state: every register and every word of memory has a value of its own. */
static uint64_t invented_register(unsigned number)
{
    return base_mix64(number + 1) >> 16;
}

static uint64_t invented_word(uint64_t address)
{
    return base_mix64(address ^ UINT64_C(0x5555555555555555)) >> 16;
}

static const uint8_t encoding_of[17] = {0, 2, 1, 3, 6, 7, 5, 4, 8, 9, 10, 11, 12, 13, 14, 15, 16};

/* Evaluates what libdw says; false for operations that do not occur. */
static bool evaluate(const Dwarf_Op *ops, size_t count, uint64_t ip, uint64_t cfa, uint64_t *result)
{
    uint64_t stack[16] = {0};
    size_t depth = 0;
    for (size_t i = 0; i < count && depth < 14; i++) {
        uint8_t atom = ops[i].atom;
        if (atom >= DW_OP_lit0 && atom <= DW_OP_lit31) {
            stack[depth++] = atom - DW_OP_lit0;
        } else if (atom >= DW_OP_breg0 && atom <= DW_OP_breg15) {
            stack[depth++] = invented_register(encoding_of[atom - DW_OP_breg0]) + ops[i].number;
        } else if (atom == DW_OP_breg16) {
            stack[depth++] = ip + ops[i].number;
        } else if (atom == DW_OP_bregx) {
            stack[depth++] = invented_register(encoding_of[ops[i].number]) + ops[i].number2;
        } else if (atom == DW_OP_call_frame_cfa) {
            stack[depth++] = cfa;
        } else if (atom == DW_OP_plus_uconst && depth) {
            stack[depth - 1] += ops[i].number;
        } else if (atom == DW_OP_deref && depth) {
            stack[depth - 1] = invented_word(stack[depth - 1]);
        } else if (depth >= 2) {
            uint64_t top = stack[--depth];
            uint64_t *next = &stack[depth - 1];
            switch (atom) {
            case DW_OP_plus: *next += top; break;
            case DW_OP_and: *next &= top; break;
            case DW_OP_shl: *next <<= top; break;
            case DW_OP_ge: *next = (int64_t)*next >= (int64_t)top; break;
            default: return false;
            }
        } else {
            return false;
        }
    }
    *result = depth ? stack[depth - 1] : 0;
    return depth == 1;
}

static bool our_cfa(const struct unwind_row *row, uint64_t ip, uint64_t *cfa)
{
    uint64_t address = invented_register(row->cfa_register) + (uint64_t)(int64_t)row->cfa_offset;
    switch (row->cfa) {
    case UNWIND_CFA_REGISTER: *cfa = address; return true;
    case UNWIND_CFA_DEREF:
        *cfa = invented_word(address) + (uint64_t)(int64_t)row->cfa_addend;
        return true;
    case UNWIND_CFA_PLT:
        *cfa = address + ((int64_t)(ip & 15) >= row->cfa_addend ? 8 : 0);
        return true;
    default: return false;
    }
}

struct tally {
    unsigned compared, unknown, special;
};

static void compare_saved(Dwarf_Frame *frame, const struct unwind_row *row, int saved, uint64_t ip,
                          uint64_t cfa)
{
    static const int columns[UNWIND_SAVED] = {3, 6, 12, 13, 14, 15};
    Dwarf_Op memory[3];
    Dwarf_Op *ops;
    size_t count;
    uint64_t slot;
    uint8_t place = row->place[saved];
    assert_int_equal(dwarf_frame_register(frame, columns[saved], memory, &ops, &count), 0);
    if (count == 0) {
        /* ops is NULL for the same value; else undefined or never mentioned, which the ABI
           makes the same value: libdw does not distinguish them. */
        if (!ops)
            assert_int_equal(UNWIND_PLACE_RULE(place), UNWIND_SAME);
        else
            assert_true(UNWIND_PLACE_RULE(place) == UNWIND_SAME ||
                        UNWIND_PLACE_RULE(place) == UNWIND_LOST);
        return;
    }
    if (UNWIND_PLACE_RULE(place) == UNWIND_LOST)
        return; /* gives up more than libdw: allowed, counted by nobody who needs it */
    assert_true(evaluate(ops, count, ip, cfa, &slot));
    uint64_t ours = UNWIND_PLACE_RULE(place) == UNWIND_AT_CFA
                        ? cfa
                        : invented_register(UNWIND_PLACE_BASE(place));
    assert_int_not_equal(UNWIND_PLACE_RULE(place), UNWIND_SAME);
    assert_int_equal(ours + (uint64_t)(int64_t)row->offset[saved], slot);
}

static void compare_row(Dwarf_CFI *cfi, uint64_t bias, const struct unwind_table *table,
                        uint64_t vaddr, struct tally *tally)
{
    struct unwind_row row;
    Dwarf_Frame *frame = NULL;
    Dwarf_Op *ops;
    size_t count;
    uint64_t cfa, theirs;
    assert_true(unwind_table_find(table, vaddr, &row));
    int found = dwarf_cfi_addrframe(cfi, vaddr - bias, &frame);
    if (row.cfa == UNWIND_CFA_UNKNOWN) {
        tally->unknown += found == 0;
        free(frame);
        return;
    }
    if (found != 0) /* linkage tables that only we know */
        return;
    bool signal_frame;
    Dwarf_Addr start, end;
    dwarf_frame_info(frame, &start, &end, &signal_frame);
    assert_true(vaddr >= start && vaddr < end);
    if (!our_cfa(&row, vaddr, &cfa)) {
        tally->special++;
        assert_true(signal_frame || row.cfa == UNWIND_CFA_END);
    } else {
        assert_int_equal(dwarf_frame_cfa(frame, &ops, &count), 0);
        assert_true(evaluate(ops, count, vaddr, 0, &theirs));
        assert_int_equal(cfa, theirs);
        for (int i = 0; i < UNWIND_SAVED; i++)
            compare_saved(frame, &row, i, vaddr, cfa);
        tally->compared++;
    }
    free(frame);
}

/* At the start and the end of ranges, at most `limit` of them, evenly taken. */
static void compare_with_libdw(const char *path, unsigned limit)
{
    struct unwind_table table;
    struct tally tally = {0};
    load_table(path, &table);
    int file = open(path, O_RDONLY);
    assert_true(file >= 0);
    elf_version(EV_CURRENT);
    Elf *elf = elf_begin(file, ELF_C_READ, NULL);
    Dwarf_CFI *cfi = dwarf_getcfi_elf(elf);
    assert_non_null(cfi);
    uint32_t ranges = table.header.range_count;
    uint32_t stride = ranges / limit + 1;
    for (uint32_t i = 0; i < ranges; i += stride) {
        uint64_t end = i + 1 < ranges ? table.header.base_vaddr + table.starts[i + 1]
                                      : table.header.limit_vaddr;
        compare_row(cfi, 0, &table, table.header.base_vaddr + table.starts[i], &tally);
        compare_row(cfi, 0, &table, end - 1, &tally);
    }
    dwarf_cfi_end(cfi);
    elf_end(elf);
    close(file);
    print_message("# compared %u, special %u, given up %u\n", tally.compared, tally.special,
                  tally.unknown);
    assert_true(tally.compared > 100);
    /* Hand-written code in the middle of longjmp and vfork; a per cent would be too many. */
    assert_true(tally.unknown <= 1 + tally.compared / 100);
}

static void tables_agree_with_libdw(void **state)
{
    static const char *const files[] = {
        "/lib/x86_64-linux-gnu/libc.so.6", "/lib64/ld-linux-x86-64.so.2",
        "/usr/lib/x86_64-linux-gnu/libstdc++.so.6", "/usr/lib/x86_64-linux-gnu/libcrypto.so.3",
        "/proc/self/exe"};
    for (size_t i = 0; i < BASE_COUNT(files); i++)
        if (access(files[i], R_OK) == 0)
            compare_with_libdw(files[i], 4000);
}

/* The instruction that returns from a handler, and the one before (return addresses less one). */
static void the_signal_trampoline_is_known(void **state)
{
    struct unwind_table table;
    unsigned found = 0;
    load_table("/lib/x86_64-linux-gnu/libc.so.6", &table);
    for (uint32_t i = 0; i < table.header.range_count; i++) {
        const struct unwind_row *row = &table.rows[table.range_rows[i]];
        if (row->cfa != UNWIND_CFA_SIGNAL)
            continue;
        found++;
        assert_int_equal(row->cfa_offset, 40);
    }
    assert_int_equal(found, 1);
}

static void assert_row_at(const char *name, const char *symbol, uint64_t offset, int cfa,
                          int cfa_offset)
{
    struct unwind_table table;
    struct unwind_row row;
    uint64_t start = address_of(name, symbol);
    load_table(path_of(name), &table);
    assert_true(unwind_table_find(&table, start + offset, &row));
    assert_int_equal(row.cfa, cfa);
    assert_int_equal(row.cfa_offset, cfa_offset);
}

static void code_without_information_is_unknown(void **state)
{
    write_text("gap.s",
               ".text\n.globl first\nfirst: .cfi_startproc\npush %rax\n"
               ".cfi_def_cfa_offset 16\npop %rax\n.cfi_def_cfa_offset 8\nret\n.cfi_endproc\n"
               ".globl gap\ngap: nop\nret\n"
               ".globl huge\nhuge: .cfi_startproc\nsub $0x12345678,%rsp\n"
               ".cfi_def_cfa_offset 0x12345680\nnop\nret\n.cfi_endproc\n"
               ".globl outermost\noutermost: .cfi_startproc\n.cfi_undefined rip\nnop\n"
               ".cfi_endproc\n");
    assert_int_equal(run("gcc -nostdlib -shared gap.s -o gap.so"), 0);
    assert_row_at("gap.so", "first", 0, UNWIND_CFA_REGISTER, 8);
    assert_row_at("gap.so", "first", 1, UNWIND_CFA_REGISTER, 16);
    assert_row_at("gap.so", "first", 2, UNWIND_CFA_REGISTER, 8);
    assert_row_at("gap.so", "gap", 0, UNWIND_CFA_UNKNOWN, 0);
    assert_row_at("gap.so", "gap", 1, UNWIND_CFA_UNKNOWN, 0);
    assert_row_at("gap.so", "huge", 7, UNWIND_CFA_REGISTER, 0x12345680);
    assert_row_at("gap.so", "outermost", 0, UNWIND_CFA_END, 0);
    struct unwind_table table;
    uint64_t first = address_of("gap.so", "first");
    uint64_t huge = address_of("gap.so", "huge");
    load_table(path_of("gap.so"), &table);
    uint64_t end;
    assert_int_equal(unwind_table_function(&table, first + 2, &end), first);
    assert_int_equal(unwind_table_function(&table, huge + 3, &end), huge);
}

/* Parts compiled without tables for exceptions have them for debuggers. */
static void debug_frame_fills_in(void **state)
{
    write_source();
    assert_int_equal(
        run("gcc -O2 -g -fno-asynchronous-unwind-tables -fno-exceptions -c subject.c -o quiet.o && "
            "gcc quiet.o -o quiet && objcopy --compress-debug-sections quiet packed"),
        0);
    assert_row_at("quiet", "outer", 0, UNWIND_CFA_REGISTER, 8);
    assert_row_at("packed", "outer", 0, UNWIND_CFA_REGISTER, 8);
    assert_int_equal(run("strip quiet -o bare"), 0);
    struct unwind_table table;
    struct unwind_row row;
    load_table(path_of("bare"), &table);
    assert_true(!unwind_table_find(&table, address_of("quiet", "outer"), &row) ||
                row.cfa == UNWIND_CFA_UNKNOWN);
}

/* Each of many entries would run what the common one says: no compiler says that much. */
static void endless_common_entries_are_left_out(void **state)
{
    static const char form[] =
        "printf '.text\\n.globl plain\\nplain: .fill 64,1,0x90\\n"
        ".section .debug_frame,\"\",@progbits\\nc: .long 2f-1f\\n1: .long -1\\n.byte 1\\n"
        ".asciz \"%s\"\\n.uleb128 1\\n.sleb128 -8\\n.byte 16,0x0c,7,8,0x90,1\\n"
        ".fill %d,2,0x0b0a\\n.balign 8\\n2:\\n.long 2f-1f\\n1: .long c\\n.quad plain,64\\n"
        ".balign 8\\n2:\\n' >common.s && gcc -nostdlib -shared common.s -o common.so";
    uint64_t bytes = 0;
    int output = memfd_create("table", MFD_CLOEXEC);
    assert_int_equal(run(form, "", 8), 0);
    assert_int_equal(binary_compile_unwind(path_of("common.so"), output, &bytes), BASE_OK);
    assert_int_equal(run(form, "", 5000), 0);
    assert_int_equal(binary_compile_unwind(path_of("common.so"), output, &bytes), BASE_NOT_FOUND);
    close(output);
}

static void section_headers_are_not_needed(void **state)
{
    struct unwind_table with, without;
    write_source();
    assert_int_equal(run("gcc -O2 subject.c -o whole && cp whole headless"), 0);
    int file = open(path_of("headless"), O_RDWR);
    static const uint8_t zeros[8];
    assert_int_equal(pwrite(file, zeros, 8, 40), 8); /* e_shoff            */
    assert_int_equal(pwrite(file, zeros, 4, 60), 4); /* e_shnum, e_shstrndx */
    close(file);
    load_table(path_of("whole"), &with);
    load_table(path_of("headless"), &without);
    struct unwind_row a, b;
    uint64_t outer = address_of("whole", "outer");
    assert_true(unwind_table_find(&with, outer, &a));
    assert_true(unwind_table_find(&without, outer, &b));
    assert_memory_equal(&a, &b, sizeof a);
    assert_int_equal(with.header.function_count, without.header.function_count);
}

static void linkage_tables_without_information_are_known(void **state)
{
    struct unwind_table table;
    struct unwind_row row;
    if (!has_tool("ld.lld-14") && !has_tool("ld.lld"))
        skip();
    write_text("calls.c", "int puts(const char *);\nint main(void) { return puts(\"x\"); }\n");
    if (run("gcc -O2 -fuse-ld=lld -Wl,-z,lazy calls.c -o lld 2>/dev/null") != 0)
        skip();
    char command[512], line[128] = "";
    snprintf(command, sizeof command,
             "readelf -SW %s | awk '$2==\".plt\"||$3==\".plt\"{for(i=1;i<=NF;i++)"
             "if($i==\"PROGBITS\")print $(i+1)}'",
             path_of("lld"));
    FILE *pipe = popen(command, "r");
    assert_non_null(fgets(line, sizeof line, pipe));
    pclose(pipe);
    uint64_t start = strtoull(line, NULL, 16);
    load_table(path_of("lld"), &table);
    assert_true(unwind_table_find(&table, start, &row));
    assert_int_equal(row.cfa_offset, 16);
    assert_true(unwind_table_find(&table, start + 6, &row));
    assert_int_equal(row.cfa_offset, 24);
    assert_true(unwind_table_find(&table, start + 16, &row));
    assert_int_equal(row.cfa, UNWIND_CFA_PLT);
}

/* Address at which a disassembler sees a stub of that name, 0. */
static uint64_t stub_of(const char *program, const char *name)
{
    char command[512], line[128] = "";
    snprintf(command, sizeof command, "objdump -d %s | awk '$2==\"<%s@plt>:\"{print $1}'",
             path_of(program), name);
    FILE *pipe = popen(command, "r");
    assert_non_null(pipe);
    if (!fgets(line, sizeof line, pipe))
        line[0] = 0;
    pclose(pipe);
    return strtoull(line, NULL, 16);
}

static void check_stubs(const char *options)
{
    static const char *const called[] = {"puts", "strtod"};
    struct binary_frame frames[4];
    assert_int_equal(run("gcc -O2 %s -o stubs stubs.c", options), 0);
    assert_int_equal(run("strip stubs"), 0);
    struct binary *binary = open_binary("stubs", NULL);
    for (size_t i = 0; i < BASE_COUNT(called); i++) {
        char wanted[32];
        uint64_t start = stub_of("stubs", called[i]);
        snprintf(wanted, sizeof wanted, "%s@plt", called[i]);
        assert_int_not_equal(start, 0);
        assert_int_equal(binary_frames(binary, start, frames, 4), 1);
        assert_string_equal(frames[0].function, wanted);
        assert_int_equal(binary_frames(binary, start + 6, frames, 4), 1);
        assert_string_equal(frames[0].function, wanted);
    }
    /* What all of them share has no name. */
    uint64_t vaddr, bytes;
    assert_int_equal(binary_section(binary, ".plt", &vaddr, &bytes), BASE_OK);
    assert_int_equal(binary_frames(binary, vaddr, frames, 4), 0);
    binary_close(binary);
}

static void stubs_have_the_names_of_what_they_call(void **state)
{
    if (!has_tool("objdump") || !has_tool("gcc"))
        skip();
    write_text("stubs.c",
               "#include <stdio.h>\n#include <stdlib.h>\n"
               "int main(int c, char **v) { double (*f)(const char *, char **) = strtod;\n"
               "__asm__ volatile(\"\" : \"+r\"(f));\n"
               "return puts(v[0]) + (int)f(v[0], 0) + (int)strtod(v[c - 1], 0); }\n");
    check_stubs("-Wl,-z,lazy");
    check_stubs("-fcf-protection -Wl,-z,lazy -Wl,-z,ibtplt");
}

static void large_programs_compile_in_time(void **state)
{
    static const char *const files[] = {"/usr/lib/llvm-14/lib/libLLVM-14.so.1", "/usr/bin/node",
                                        "/usr/bin/gdb"};
    for (size_t i = 0; i < BASE_COUNT(files); i++) {
        struct unwind_table table;
        if (access(files[i], R_OK) == 0)
            load_table(files[i], &table); /* prints the time: too noisy to be a criterion */
    }
}

/* ---- hostile files --------------------------------------------------------------------------- */

static void try_everything(const char *path)
{
    enum binary_kind kind;
    struct binary *binary;
    uint64_t bytes;
    char interpreter[4096];
    binary_classify(path, &kind, interpreter);
    int file = memfd_create("table", 0);
    if (binary_compile_unwind(path, file, &bytes) == BASE_OK) {
        struct unwind_table table;
        void *memory = mmap(NULL, bytes, PROT_READ, MAP_SHARED, file, 0);
        assert_int_equal(unwind_table_open(memory, bytes, true, &table), BASE_OK);
        munmap(memory, bytes);
    }
    close(file);
    struct binary_options options = {.debug_root = "/nonexistent"};
    if (binary_open(path, &options, &binary) != BASE_OK)
        return;
    struct binary_frame frames[8];
    for (uint64_t vaddr = 0x1000; vaddr < 0x1400; vaddr += 8)
        for (size_t i = binary_frames(binary, vaddr, frames, 8); i > 0; i--)
            assert_true(!frames[i - 1].function || strlen(frames[i - 1].function) < 1000000);
    binary_close(binary);
}

static void truncated_and_damaged_files_do_no_harm(void **state)
{
    static uint8_t bytes[1 << 20], damaged[1 << 20];
    struct base_random random = {42};
    write_source();
    assert_int_equal(run("gcc -O2 -g %s/subject.c -o subject", directory), 0);
    FILE *file = fopen(path_of("subject"), "r");
    size_t count = fread(bytes, 1, sizeof bytes, file);
    fclose(file);
    assert_in_range(count, 1000, sizeof bytes - 1);
    for (int i = 0; i < 60; i++) {
        write_file("damaged", bytes, base_random_below(&random, count));
        try_everything(path_of("damaged"));
    }
    for (int i = 0; i < 300; i++) {
        memcpy(damaged, bytes, count);
        for (int j = 0; j < 8; j++)
            damaged[base_random_below(&random, count)] = (uint8_t)base_random_next(&random);
        write_file("damaged", damaged, count);
        try_everything(path_of("damaged"));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_form_of_debug_information_gives_the_frames),
        cmocka_unit_test(few_places_keep_the_real_function),
        cmocka_unit_test(separate_files_are_found_and_proven),
        cmocka_unit_test(debug_links_are_followed),
        cmocka_unit_test(less_information_is_said),
        cmocka_unit_test(symbols_end_where_they_end),
        cmocka_unit_test(nested_symbols_do_not_hide_the_outer_one),
        cmocka_unit_test(dropped_functions_do_not_claim_code),
        cmocka_unit_test(names_are_readable),
        cmocka_unit_test(functions_that_never_return_are_known_by_name),
        cmocka_unit_test(cpp_namespaces_classes_and_lambdas_are_named),
        cmocka_unit_test(functions_in_functions_and_types_are_found),
        cmocka_unit_test(code_bytes_are_read),
        cmocka_unit_test(the_vdso_is_a_module),
        cmocka_unit_test(common_parts_of_debug_files_are_found),
        cmocka_unit_test(files_of_the_names_that_are_needed_need_be_none),
        cmocka_unit_test(shared_ranges_are_bounded_by_the_file),
        cmocka_unit_test(endless_common_entries_are_left_out),
        cmocka_unit_test(names_that_become_too_long_stay_as_they_are),
        cmocka_unit_test(small_files_do_not_become_large_ones),
        cmocka_unit_test(servers_are_asked_only_when_wanted),
        cmocka_unit_test(silent_servers_are_given_up),
        cmocka_unit_test(programs_are_told_apart),
        cmocka_unit_test(machines_are_told_apart),
        cmocka_unit_test(go_programs_are_known_by_note_and_section),
        cmocka_unit_test(set_id_programs_are_known),
        cmocka_unit_test(scripts_name_their_interpreter),
        cmocka_unit_test(unreadable_files_are_errors),
        cmocka_unit_test(tables_agree_with_libdw),
        cmocka_unit_test(the_signal_trampoline_is_known),
        cmocka_unit_test(code_without_information_is_unknown),
        cmocka_unit_test(debug_frame_fills_in),
        cmocka_unit_test(section_headers_are_not_needed),
        cmocka_unit_test(linkage_tables_without_information_are_known),
        cmocka_unit_test(stubs_have_the_names_of_what_they_call),
        cmocka_unit_test(large_programs_compile_in_time),
        cmocka_unit_test(truncated_and_damaged_files_do_no_harm),
    };
    return cmocka_run_group_tests(tests, make_directory, remove_directory);
}
