// SPDX-License-Identifier: MIT
/* Perf maps and jitdumps, written here, hostile ones among them. */
#include "binary/jit.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <cmocka.h>

enum { PLACES = 4 };

struct answer {
    struct jit_place places[PLACES];
    struct jit_account account;
    enum base_status status;
};

static const uint64_t addresses[PLACES] = {0x1000, 0x1010, 0x2fff, 0x7f0000000000};

typedef enum base_status reading(int file, const struct jit_limits *limits,
                                 struct jit_place *places, size_t count,
                                 struct jit_account *account);

static struct answer ask(reading *read_file, const struct jit_limits *limits, const void *bytes,
                         size_t count)
{
    struct answer answer = {.account = {0}};
    int file = memfd_create("jit", MFD_CLOEXEC);
    assert_true(file >= 0);
    assert_int_equal(write(file, bytes, count), count);
    assert_int_equal(lseek(file, 0, SEEK_SET), 0);
    for (int i = 0; i < PLACES; i++)
        answer.places[i].address = addresses[i];
    answer.status = read_file(file, limits, answer.places, PLACES, &answer.account);
    close(file);
    return answer;
}

static struct answer ask_map(const char *text)
{
    return ask(jit_read_map, &jit_limits, text, strlen(text));
}

/* Names of the four addresses, "-" for none; the answer is freed. */
static void assert_names(struct answer *answer, const char *wanted)
{
    char names[4 * JIT_NAME_BYTES] = "";
    for (int i = 0; i < PLACES; i++) {
        const char *name = answer->places[i].name;
        strcat(strcat(names, i ? "|" : ""), name ? name : "-");
        free(answer->places[i].name);
        assert_false(answer->places[i].moved);
    }
    assert_string_equal(names, wanted);
}

static void lines_name_their_range(void **state)
{
    struct answer answer = ask_map("1000 10 first\n"
                                   "0x1010 0x1 with blanks: (a, b)\n"
                                   "2FFF\t1\ttabs\r\n"
                                   "7f0000000000 ffffffff too large to be a function\n");
    assert_int_equal(answer.status, BASE_OK);
    assert_int_equal(answer.account.entries, 4);
    assert_false(answer.account.cut);
    assert_int_equal(answer.places[1].start, 0x1010);
    assert_int_equal(answer.places[1].bytes, 1);
    assert_names(&answer, "first|with blanks: (a, b)|tabs|-");
}

static void the_last_of_several_counts(void **state)
{
    struct answer answer = ask_map("1000 2000 old\n1000 100 new\n2f00 100 old\n");
    assert_true(answer.places[0].several);
    assert_true(answer.places[1].several);
    assert_false(answer.places[2].several);
    assert_names(&answer, "new|new|old|-");
}

/* The compiler is still writing it, or was killed. */
static void a_line_without_its_end_is_not_there(void **state)
{
    struct answer answer = ask_map("1000 10 whole\n1010 10 tor");
    assert_names(&answer, "whole|-|-|-");
}

static void what_is_no_entry_is_passed_over(void **state)
{
    struct answer answer = ask_map("\n\n1000\n1000 \n1000 10\n1000 10 \nxyz 10 a\n1000 10q b\n"
                                   "11111111111111111 10 c\nfffffffffffffff0 20 d\n1000 0 e\n"
                                   "-1000 10 f\n2fff 1 good\n");
    assert_names(&answer, "-|-|good|-");
    assert_int_equal(answer.status, BASE_OK);
}

static void long_names_are_cut(void **state)
{
    static char text[3 * JIT_NAME_BYTES];
    memset(text, 'n', sizeof text - 1);
    memcpy(text, "1000 1 ", 7);
    memcpy(text + sizeof text - 12, "\n2fff 1 end\n", 12);
    struct answer answer = ask(jit_read_map, &jit_limits, text, sizeof text);
    assert_int_equal(strlen(answer.places[0].name), JIT_NAME_BYTES - 1);
    assert_string_equal(answer.places[2].name, "end");
    free(answer.places[0].name);
    free(answer.places[2].name);
}

static void limits_end_the_reading(void **state)
{
    static const char text[] = "1000 10 first\n1010 10 second\n2fff 10 third\n";
    struct jit_limits few_bytes = {.bytes = 20, .names = 100};
    struct answer answer = ask(jit_read_map, &few_bytes, text, strlen(text));
    assert_true(answer.account.cut);
    assert_names(&answer, "first|-|-|-");
    struct jit_limits few_names = {.bytes = 1000, .names = 2};
    answer = ask(jit_read_map, &few_names, text, strlen(text));
    assert_true(answer.account.cut);
    assert_names(&answer, "first|second|-|-");
}

/* ---- jitdump --------------------------------------------------------------------------------- */

struct dump {
    unsigned char bytes[4096];
    size_t count;
};

static void add(struct dump *dump, const void *bytes, size_t count)
{
    assert_true(dump->count + count <= sizeof dump->bytes);
    memcpy(dump->bytes + dump->count, bytes, count);
    dump->count += count;
}

static struct dump begin_dump(void)
{
    struct dump dump = {.count = 0};
    uint32_t header[10] = {0x4a695444, 1, 40, 62, 0, 7};
    add(&dump, header, sizeof header);
    return dump;
}

static void add_load(struct dump *dump, uint64_t start, uint64_t bytes, uint64_t index,
                     const char *name)
{
    uint32_t head[4] = {0, (uint32_t)(16 + 40 + strlen(name) + 1 + 4)}, ids[2] = {7, 7};
    uint64_t load[4] = {start, start, bytes, index};
    add(dump, head, sizeof head);
    add(dump, ids, sizeof ids);
    add(dump, load, sizeof load);
    add(dump, name, strlen(name) + 1);
    add(dump, "\x90\x90\x90\xc3", 4);
}

static void add_move(struct dump *dump, uint64_t from, uint64_t to, uint64_t bytes, uint64_t index)
{
    uint32_t head[4] = {1, 16 + 48}, ids[2] = {7, 7};
    uint64_t move[5] = {to, from, to, bytes, index};
    add(dump, head, sizeof head);
    add(dump, ids, sizeof ids);
    add(dump, move, sizeof move);
}

static struct answer ask_dump(const struct dump *dump)
{
    return ask(jit_read_dump, &jit_limits, dump->bytes, dump->count);
}

static void records_name_their_range(void **state)
{
    struct dump dump = begin_dump();
    uint32_t debug[8] = {2, 32}, close[4] = {3, 16};
    add_load(&dump, 0x1000, 0x10, 1, "first");
    add(&dump, debug, sizeof debug);
    add_load(&dump, 0x2ff0, 0x10, 2, "second");
    add(&dump, close, sizeof close);
    add_load(&dump, 0x1010, 0x10, 3, "behind the end");
    struct answer answer = ask_dump(&dump);
    assert_int_equal(answer.status, BASE_OK);
    assert_int_equal(answer.account.entries, 2);
    assert_names(&answer, "first|-|second|-");
}

static void moved_functions_keep_their_names(void **state)
{
    struct dump dump = begin_dump();
    add_load(&dump, 0x500000, 0x100, 9, "moved");
    add_load(&dump, 0x1000, 0x10, 8, "overwritten");
    add_move(&dump, 0x500000, 0x1000, 0x100, 9);
    add_move(&dump, 0x600000, 0x2fff, 0x10, 1234);
    struct answer answer = ask_dump(&dump);
    assert_true(answer.places[0].several);
    assert_names(&answer, "moved|moved|-|-");
}

static void what_stands_there_after_a_move_counts(void **state)
{
    struct dump dump = begin_dump();
    add_load(&dump, 0x500000, 0x100, 9, "moved");
    add_move(&dump, 0x500000, 0x1000, 0x100, 9);
    add_load(&dump, 0x1000, 0x10, 8, "later");
    struct answer answer = ask_dump(&dump);
    assert_names(&answer, "later|moved|-|-");
}

static void only_dumps_of_this_machine_are_read(void **state)
{
    struct dump dump = begin_dump();
    add_load(&dump, 0x1000, 0x10, 1, "first");
    for (size_t at = 0; at < 16; at += 4) { /* magic, version, size, machine */
        struct dump broken = dump;
        broken.bytes[at] ^= 0x40;
        if (at == 8)
            broken.bytes[at] = 3;
        struct answer answer = ask_dump(&broken);
        assert_int_equal(answer.status, BASE_MALFORMED);
        assert_names(&answer, "-|-|-|-");
    }
}

/* Cut anywhere, as the file of a killed program is, whole records count and others do not. */
static void a_torn_record_is_not_there(void **state)
{
    struct dump dump = begin_dump();
    add_load(&dump, 0x1000, 0x10, 1, "first");
    size_t whole = dump.count;
    add_load(&dump, 0x2ff0, 0x10, 2, "second");
    for (size_t cut = whole; cut < dump.count; cut++) {
        struct dump torn = dump;
        torn.count = cut;
        struct answer answer = ask_dump(&torn);
        assert_int_equal(answer.status, BASE_OK);
        assert_names(&answer, "first|-|-|-");
    }
}

static void sizes_that_lie_are_no_names(void **state)
{
    struct dump dump = begin_dump();
    uint32_t lie[4] = {0, 16 + 40 + 4}, ids[2] = {7, 7}, none[4] = {0, 4};
    uint64_t load[4] = {0x1000, 0x1000, 0x10, 1};
    add(&dump, lie, sizeof lie);
    add(&dump, ids, sizeof ids);
    add(&dump, load, sizeof load);
    add(&dump, "name", 4); /* without its 0 */
    add_load(&dump, 0x2fff, 1, 2, "good");
    add(&dump, none, sizeof none);
    struct answer answer = ask_dump(&dump);
    assert_names(&answer, "-|-|good|-");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_name_their_range),
        cmocka_unit_test(the_last_of_several_counts),
        cmocka_unit_test(a_line_without_its_end_is_not_there),
        cmocka_unit_test(what_is_no_entry_is_passed_over),
        cmocka_unit_test(long_names_are_cut),
        cmocka_unit_test(limits_end_the_reading),
        cmocka_unit_test(records_name_their_range),
        cmocka_unit_test(moved_functions_keep_their_names),
        cmocka_unit_test(what_stands_there_after_a_move_counts),
        cmocka_unit_test(only_dumps_of_this_machine_are_read),
        cmocka_unit_test(a_torn_record_is_not_there),
        cmocka_unit_test(sizes_that_lie_are_no_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
