// SPDX-License-Identifier: MIT
/*
 * Go's own table of functions and lines: one made by hand, in both forms, and the same cut off and damaged. Programs of a real
 * compiler are in tests/cli/languages.bats.
 */
#include "binary/pclntab.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { TEXT = 0x401000, BYTES = 400 };

/* Where the parts are. */
enum { NAMES = 72, UNITS = 112, FILES = 128, VALUES = 168, TABLE = 208, RECORDS = 24 };

static void put(uint8_t *bytes, size_t at, size_t width, uint64_t value)
{
    memcpy(bytes + at, &value, width);
}

static void put_record(uint8_t *bytes, size_t at, uint32_t entry, uint32_t name, uint32_t files,
                       uint32_t lines, uint32_t unit)
{
    put(bytes, at, 4, entry);
    put(bytes, at + 4, 4, name);
    put(bytes, at + 20, 4, files);
    put(bytes, at + 24, 4, lines);
    put(bytes, at + 32, 4, unit);
}

/*
 * main.one at 0x00: one.go, lines 10 (8 bytes), 12 (0x80), 7 (the rest). main.two at 0x100: two.go, line 300, and from
 * 0x110 on a file that has no name. Ends at 0x120.
 */
static void make(uint8_t bytes[BYTES], uint32_t magic, uint64_t text)
{
    memset(bytes, 0, BYTES);
    put(bytes, 0, 4, magic);
    put(bytes, 4, 4, 0x08010000);
    put(bytes, 8, 8, 2);
    put(bytes, 16, 8, 2);
    put(bytes, 24, 8, text);
    put(bytes, 32, 8, NAMES);
    put(bytes, 40, 8, UNITS);
    put(bytes, 48, 8, FILES);
    put(bytes, 56, 8, VALUES);
    put(bytes, 64, 8, TABLE);
    strcpy((char *)bytes + NAMES + 1, "main.one");
    strcpy((char *)bytes + NAMES + 10, "main.two");
    put(bytes, UNITS, 4, 0); /* unit 0: one.go; unit 1: two.go, none */
    put(bytes, UNITS + 4, 4, 10);
    put(bytes, UNITS + 8, 4, UINT32_MAX);
    strcpy((char *)bytes + FILES, "/s/one.go");
    strcpy((char *)bytes + FILES + 10, "/s/two.go");
    static const uint8_t values[] = {
        0,                                   /* offset 0 is none */
        2,    0x80, 2,  0,                   /* 1: file 0 for 256 bytes */
        22,   8,    4,  0x80, 1, 9, 0x78, 0, /* 5: lines 10, 12, 7 */
        2,    16,   2,  16,   0,             /* 13: file 0, file 1 */
        0xda, 4,    32, 0,                   /* 18: line 300 */
    };
    memcpy(bytes + VALUES, values, sizeof values);
    put(bytes, TABLE, 4, 0);
    put(bytes, TABLE + 4, 4, RECORDS);
    put(bytes, TABLE + 8, 4, 0x100);
    put(bytes, TABLE + 12, 4, RECORDS + 40);
    put(bytes, TABLE + 16, 4, 0x120);
    put_record(bytes, TABLE + RECORDS, 0, 1, 1, 5, 0);
    put_record(bytes, TABLE + RECORDS + 40, 0x100, 10, 13, 18, 1);
}

static void is_at(const struct pclntab *table, uint64_t offset, const char *function,
                  const char *file, uint32_t line)
{
    struct pclntab_place place;
    assert_true(pclntab_find(table, TEXT + offset, &place));
    assert_string_equal(place.function, function);
    assert_int_equal(place.line, line);
    if (file)
        assert_string_equal(place.file, file);
    else
        assert_null(place.file);
}

static void functions_and_lines_are_found(void **state)
{
    static const uint32_t magics[] = {0xfffffff0, 0xfffffff1};
    uint8_t bytes[BYTES];
    struct pclntab table;
    struct pclntab_place place;
    for (size_t i = 0; i < BASE_COUNT(magics) * 2; i++) {
        /* The address of the text is in the table, or known from elsewhere. */
        make(bytes, magics[i / 2], i % 2 ? 0 : TEXT);
        assert_int_equal(pclntab_read(bytes, BYTES, i % 2 ? TEXT : 0, &table), BASE_OK);
        is_at(&table, 0, "main.one", "/s/one.go", 10);
        is_at(&table, 7, "main.one", "/s/one.go", 10);
        is_at(&table, 8, "main.one", "/s/one.go", 12);
        is_at(&table, 0x87, "main.one", "/s/one.go", 12);
        is_at(&table, 0x88, "main.one", "/s/one.go", 7);
        is_at(&table, 0xff, "main.one", "/s/one.go", 7);
        is_at(&table, 0x100, "main.two", "/s/two.go", 300);
        is_at(&table, 0x110, "main.two", NULL, 0);
        is_at(&table, 0x11f, "main.two", NULL, 0);
        assert_false(pclntab_find(&table, TEXT + 0x120, &place));
        assert_false(pclntab_find(&table, TEXT - 1, &place));
        assert_false(pclntab_find(&table, UINT64_MAX, &place));
    }
}

static void other_forms_are_not_read(void **state)
{
    uint8_t bytes[BYTES];
    struct pclntab table = {.count = 7};
    make(bytes, 0xfffffffa, TEXT); /* Go 1.16 */
    assert_int_equal(pclntab_read(bytes, BYTES, 0, &table), BASE_UNSUPPORTED);
    make(bytes, 0xfffffff1, TEXT);
    bytes[7] = 4; /* pointers of 32 bits */
    assert_int_equal(pclntab_read(bytes, BYTES, 0, &table), BASE_UNSUPPORTED);
    make(bytes, 0xfffffff1, TEXT);
    put(bytes, 8, 8, UINT64_MAX / 8); /* more functions than there are bytes */
    assert_int_equal(pclntab_read(bytes, BYTES, 0, &table), BASE_UNSUPPORTED);
    assert_int_equal(table.count, 7); /* untouched */
}

/* All that a table answers lies in its bytes. */
static void ask_all(const uint8_t *bytes, size_t count)
{
    struct pclntab table;
    if (pclntab_read(bytes, count, TEXT, &table) != BASE_OK)
        return;
    for (uint64_t offset = 0; offset < 0x140; offset += 3) {
        struct pclntab_place place;
        if (!pclntab_find(&table, table.text + offset, &place))
            continue;
        const uint8_t *name = (const uint8_t *)place.function;
        assert_true(name >= bytes && name + strlen(place.function) < bytes + count);
        const uint8_t *file = (const uint8_t *)place.file;
        assert_true(!file || (file >= bytes && file + strlen(place.file) < bytes + count));
    }
}

/* In memory of just that size, so that sanitizers and guard pages see what is read beyond. */
static void damage_does_no_harm(void **state)
{
    uint8_t whole[BYTES];
    struct base_random random = {16};
    make(whole, 0xfffffff0, TEXT);
    for (size_t count = 0; count <= BYTES; count++) {
        uint8_t *cut = malloc(count + 1);
        assert_non_null(cut);
        memcpy(cut, whole, count);
        ask_all(cut, count);
        free(cut);
    }
    for (unsigned i = 0; i < 20000; i++) {
        uint8_t *damaged = malloc(BYTES);
        assert_non_null(damaged);
        memcpy(damaged, whole, BYTES);
        for (unsigned j = 0; j <= i % 4; j++)
            damaged[8 + base_random_below(&random, BYTES - 8)] = (uint8_t)base_random_next(&random);
        ask_all(damaged, BYTES);
        free(damaged);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(functions_and_lines_are_found),
        cmocka_unit_test(other_forms_are_not_read),
        cmocka_unit_test(damage_does_no_harm),
    };
    return cmocka_run_group_tests_name("pclntab", tests, NULL, NULL);
}
