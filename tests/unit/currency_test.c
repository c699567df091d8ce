// SPDX-License-Identifier: MIT
/* What is read from source files, and the classes of a variable by the paths through code that is made here. */
#include "currency/currency.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

/* ---- sources ------------------------------------------------------------------------------------------ */

struct found {
    char text[512];
};

static bool note(void *context, const struct currency_assignment *assignment)
{
    struct found *found = context;
    size_t used = strlen(found->text);
    snprintf(found->text + used, sizeof found->text - used, "%s%u:%s", used ? " " : "",
             assignment->line, assignment->name);
    return true;
}

static void reads(const char *text, const char *expected)
{
    struct found found = {""};
    currency_read(text, strlen(text), note, &found);
    assert_string_equal(found.text, expected);
}

static void test_assignments(void **state)
{
    (void)state;
    reads("void f(void)\n{\n    a = 1;\n    b += a;\n    ++c;\n    d--;\n}\n", "3:a 4:b 5:c 6:d");
    reads("void f(void) {\n a = b, c = d[e];\n x <<= 2; /* twice */\n}\n", "2:a 2:c 3:x");
    reads("void f(void) {\n if (x)\n  a = 1;\n else\n  b = (int)2;\n}\n", "3:a 5:b");
}

static void test_what_is_left_out(void **state)
{
    (void)state;
    reads("int a = 1;\nint b;\n", "");
    reads("void f(void) {\n int a = 1;\n if (x) b = 2;\n c = f(1);\n d = e ? 1 : 2;\n}\n", "");
    reads("void f(void) {\n a = b = 1;\n c == 2;\n *d = 1;\n e->f = 2;\n g[1] = 3;\n h = 1; i = "
          "2;\n}\n",
          "");
    reads("void f(void) {\n /*\n a = 1;\n */\n // b = 2;\n g(\"\n\");\n}\n", "");
    reads("void f(void) {\n for (i = 0;\n  j = 1;\n  k++) ;\n x = 1 +\n  2;\n}\n", "");
    reads("void f(void) {\n#define A \\\n b = 1;\n c = 2;\n}\n", "4:c");
    reads("void f(void) {\n a = 1", "");
}

static void test_what_is_on_a_line(void **state)
{
    static const char text[] = "int a,\n"
                               "    b;\n"
                               "#define A \\\n"
                               "    b = 1;\n"
                               "void f(void)\n"
                               "{ /* a\n"
                               "     comment */\n"
                               "    if (a)\n"
                               "        b = a +\n"
                               "            1\n"
                               "            ; else\n"
                               "        b = 2; // }\n"
                               "    g(\"{\",\n"
                               "      b);\n"
                               "\n"
                               "}";
    static const char expected[] = "bcEEbEEbbcEbbcEEE"; /* and there is no line 17 */
    static const char letters[] = {
        [CURRENCY_LINE_EMPTY] = 'E', [CURRENCY_LINE_CONTINUES] = 'c', [CURRENCY_LINE_BEGINS] = 'b'};
    char found[sizeof expected] = "";
    (void)state;
    for (uint32_t line = 1; line < sizeof expected; line++)
        found[line - 1] = letters[currency_line(text, sizeof text - 1, line)];
    assert_string_equal(found, expected);
}

/* ---- paths ----------------------------------------------------------------------------------------------- */

/*
 * Code from START on, by lines; the variable is at V.
 *   nop: 0x90; mov %eax, v(%rip): 89 05 disp32; mov %eax, (%rbx): 89 03; je +n: 74 n; ret: c3
 */
enum { V = 0x1000, START = 0x100, CODE_MAX = 64 };

struct program {
    uint8_t bytes[CODE_MAX];
    size_t count;
    struct currency_mark marks[16];
    struct currency_span spans[16];
    size_t lines;
};

static void line(struct program *program, uint32_t place)
{
    uint64_t at = START + program->count;
    if (program->lines)
        program->spans[program->lines - 1].end = at;
    program->marks[program->lines] = (struct currency_mark){at, place};
    program->spans[program->lines++] = (struct currency_span){at, at, place};
}

static void add(struct program *program, const void *bytes, size_t count)
{
    memcpy(program->bytes + program->count, bytes, count);
    program->count += count;
    program->spans[program->lines - 1].end = START + program->count;
}

static void nop(struct program *program)
{
    add(program, "\x90", 1);
}

static void store(struct program *program)
{
    uint8_t bytes[6] = {0x89, 0x05};
    int32_t distance = (int32_t)(V - (START + program->count + sizeof bytes));
    memcpy(bytes + 2, &distance, sizeof distance);
    add(program, bytes, sizeof bytes);
}

struct stops {
    struct currency_stop items[16];
    size_t count;
};

static bool take(void *context, const struct currency_stop *stop)
{
    struct stops *stops = context;
    stops->items[stops->count++] = *stop;
    return true;
}

static struct stops find(struct program *program, const uint32_t *assigned, size_t count)
{
    struct cfg *flow;
    struct currency *currency;
    struct stops stops = {.count = 0};
    struct cfg_code code = {.bytes = program->bytes, .count = program->count, .start = START};
    assert_int_equal(cfg_start(), BASE_OK);
    assert_int_equal(cfg_of_code(&code, &flow), BASE_OK);
    struct currency_code question = {.flow = flow,
                                     .bytes = program->bytes,
                                     .marks = program->marks,
                                     .marks_count = program->lines,
                                     .spans = program->spans,
                                     .spans_count = program->lines};
    struct currency_variable variable = {V, 4, assigned, count};
    assert_int_equal(currency_open(&question, &currency), BASE_OK);
    assert_int_equal(currency_find(currency, &variable, take, &stops), BASE_OK);
    currency_close(currency);
    cfg_free(flow);
    return stops;
}

static void test_in_order(void **state)
{
    (void)state;
    struct program program = {0};
    line(&program, 1);
    store(&program);
    line(&program, 2);
    nop(&program);
    add(&program, "\xc3", 1);
    assert_int_equal(find(&program, (uint32_t[]){1}, 1).count, 0);
}

static void test_stale(void **state)
{
    (void)state;
    struct program program = {0};
    line(&program, 1); /* assigns */
    nop(&program);
    line(&program, 2);
    nop(&program);
    program.spans[1].place = 1;
    store(&program); /* of line 1, late */
    line(&program, 3);
    add(&program, "\xc3", 1);
    struct stops stops = find(&program, (uint32_t[]){1}, 1);
    assert_int_equal(stops.count, 1);
    assert_int_equal(stops.items[0].shown, 2);
    assert_int_equal(stops.items[0].assigned, 1);
    assert_int_equal(stops.items[0].class, CURRENCY_STALE);
}

static void test_premature(void **state)
{
    (void)state;
    struct program program = {0};
    line(&program, 1);
    program.spans[0].place = 3;
    store(&program); /* of line 3 */
    line(&program, 2);
    nop(&program);
    line(&program, 3);
    nop(&program);
    line(&program, 4);
    add(&program, "\xc3", 1);
    struct stops stops = find(&program, (uint32_t[]){3}, 1);
    assert_int_equal(stops.count, 2);
    assert_int_equal(stops.items[0].shown, 2);
    assert_int_equal(stops.items[0].class, CURRENCY_PREMATURE);
    assert_int_equal(stops.items[1].shown, 3);
}

/* The store of another line that is never reached: merged with one that is. */
static void test_merged_store(void **state)
{
    (void)state;
    struct program program = {0};
    line(&program, 1);
    program.spans[0].place = 3;
    store(&program);
    line(&program, 2);
    nop(&program);
    add(&program, "\xc3", 1);
    assert_int_equal(find(&program, (uint32_t[]){3}, 1).count, 0);
}

/* The same, where another line assigns in between. */
static void test_other_line_between(void **state)
{
    (void)state;
    struct program program = {0};
    line(&program, 1);
    program.spans[0].place = 3;
    store(&program);
    line(&program, 2);
    store(&program);
    line(&program, 3);
    store(&program);
    line(&program, 4);
    add(&program, "\xc3", 1);
    assert_int_equal(find(&program, (uint32_t[]){2, 3}, 2).count, 0);
}

static void test_suspect_by_pointer(void **state)
{
    (void)state;
    struct program program = {0};
    line(&program, 1);
    nop(&program);
    line(&program, 2);
    add(&program, "\x66\x89\x03", 3); /* two bytes, somewhere */
    line(&program, 3);
    store(&program);
    add(&program, "\xc3", 1);
    struct stops stops = find(&program, (uint32_t[]){1, 3}, 2);
    assert_int_equal(stops.count, 2);
    assert_int_equal(stops.items[0].class, CURRENCY_STALE);
    assert_int_equal(stops.items[1].class, CURRENCY_SUSPECT);
}

static void test_suspect_by_paths(void **state)
{
    (void)state;
    struct program program = {0};
    line(&program, 1);
    add(&program, "\x74\x01", 2); /* over line 2 */
    line(&program, 2);
    nop(&program);
    line(&program, 3);
    nop(&program);
    line(&program, 4);
    store(&program);
    add(&program, "\xc3", 1);
    struct stops stops = find(&program, (uint32_t[]){2, 4}, 2);
    assert_int_equal(stops.count, 2);
    assert_int_equal(stops.items[0].shown, 3);
    assert_int_equal(stops.items[0].class, CURRENCY_SUSPECT);
    assert_false(stops.items[0].early);
}

/* What is called may store it. */
static void test_call_ends_it(void **state)
{
    (void)state;
    struct program program = {0};
    line(&program, 1);
    nop(&program);
    line(&program, 2);
    add(&program, "\xe8\x00\x00\x00\x00", 5);
    line(&program, 3);
    store(&program);
    add(&program, "\xc3", 1);
    struct stops stops = find(&program, (uint32_t[]){1}, 1);
    assert_int_equal(stops.count, 1);
    assert_int_equal(stops.items[0].shown, 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_assignments),
        cmocka_unit_test(test_what_is_left_out),
        cmocka_unit_test(test_what_is_on_a_line),
        cmocka_unit_test(test_in_order),
        cmocka_unit_test(test_stale),
        cmocka_unit_test(test_premature),
        cmocka_unit_test(test_merged_store),
        cmocka_unit_test(test_other_line_between),
        cmocka_unit_test(test_suspect_by_pointer),
        cmocka_unit_test(test_suspect_by_paths),
        cmocka_unit_test(test_call_ends_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
