// SPDX-License-Identifier: MIT
/* Linked with malloc, calloc, realloc and reallocarray wrapped: they fail when a test says so, and
   what they return is filled with FILL, so that nothing is zero by chance. */
#include "util/util.h"

#include <malloc.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

enum { FILL = 0xa5 };

/* Allocations that succeed before the next one fails; negative: none fails. */
static int allowed = -1;

static bool refused(void)
{
    return allowed >= 0 && allowed-- == 0;
}

void *__real_malloc(size_t bytes);
void *__real_calloc(size_t count, size_t bytes);
void *__real_realloc(void *memory, size_t bytes);
void *__wrap_malloc(size_t bytes);
void *__wrap_calloc(size_t count, size_t bytes);
void *__wrap_realloc(void *memory, size_t bytes);
void *__wrap_reallocarray(void *memory, size_t count, size_t bytes);

void *__wrap_malloc(size_t bytes)
{
    void *memory = refused() ? NULL : __real_malloc(bytes);
    return memory ? memset(memory, FILL, bytes) : NULL;
}

void *__wrap_calloc(size_t count, size_t bytes)
{
    return refused() ? NULL : __real_calloc(count, bytes);
}

/* Moves always: a pointer that was kept would be seen by a sanitizer, or read as FILL. */
void *__wrap_realloc(void *memory, size_t bytes)
{
    size_t before = memory ? malloc_usable_size(memory) : 0;
    char *moved = refused() ? NULL : __real_malloc(bytes);
    if (!moved)
        return NULL;
    memset(moved, FILL, bytes);
    if (before)
        memcpy(moved, memory, before < bytes ? before : bytes);
    if (before > 0 && before < bytes)
        memset(moved + before, FILL, bytes - before);
    free(memory);
    return moved;
}

void *__wrap_reallocarray(void *memory, size_t count, size_t bytes)
{
    size_t all;
    return __builtin_mul_overflow(count, bytes, &all) ? NULL : __wrap_realloc(memory, all);
}

/* ---- arrays --------------------------------------------------------------------------------- */

struct item {
    uint64_t number;
    char text[5];
};

static void arrays_hold_what_was_appended(void **state)
{
    struct item *items = NULL;
    size_t capacity = 0, moves = 0, before;
    uint32_t count = 0; /* counts need not be as wide as capacities */
    for (uint32_t i = 0; i < 10000; i++) {
        before = capacity;
        assert_true(UTIL_PUSH(items, count, capacity, (struct item){i, "abc"}));
        moves += capacity != before;
        assert_int_equal(count, i + 1);
        assert_true(capacity >= count);
        assert_true(capacity < 2 * count || capacity == UTIL_ARRAY_FIRST);
    }
    for (uint32_t i = 0; i < count; i++) {
        assert_int_equal(items[i].number, i);
        assert_string_equal(items[i].text, "abc");
    }
    assert_int_equal(moves, 9); /* 64, 128, ... 16384 */
    free(items);
}

static void an_array_grows_to_any_index(void **state)
{
    uint16_t *items = NULL;
    size_t capacity = 0;
    assert_true(UTIL_GROW(items, capacity, 0));
    assert_int_equal(capacity, UTIL_ARRAY_FIRST);
    assert_true(UTIL_GROW(items, capacity, UTIL_ARRAY_FIRST - 1));
    assert_int_equal(capacity, UTIL_ARRAY_FIRST);
    assert_true(UTIL_GROW(items, capacity, UTIL_ARRAY_FIRST));
    assert_int_equal(capacity, 2 * UTIL_ARRAY_FIRST);
    assert_true(UTIL_GROW(items, capacity, 100000));
    assert_int_equal(capacity, 131072);
    items[100000] = 7;
    free(items);
}

/* Whatever was in the memory, and only what is new. */
static void new_items_are_zero_where_that_is_asked(void **state)
{
    uint32_t *items = NULL;
    size_t capacity = 0, filled = 0;
    for (size_t index = 0; index < 5000; index = index * 3 + 1) {
        assert_true(UTIL_GROW_ZEROED(items, capacity, index));
        for (size_t i = 0; i < capacity; i++)
            assert_int_equal(items[i], i < filled ? 0x1234567 : 0);
        for (; filled < capacity; filled++)
            items[filled] = 0x1234567;
    }
    free(items);
    items = NULL;
    capacity = 0;
    assert_true(UTIL_GROW(items, capacity, 0)); /* the fault that the loop above would see */
    assert_int_equal(items[0], FILL * 0x01010101U);
    free(items);
}

static void an_array_that_cannot_grow_stays(void **state)
{
    int *items = NULL;
    size_t count = 0, capacity = 0;
    allowed = 0;
    assert_false(UTIL_PUSH(items, count, capacity, 1));
    assert_null(items);
    assert_int_equal(count, 0);
    assert_int_equal(capacity, 0);
    for (int i = 0; i < UTIL_ARRAY_FIRST; i++)
        assert_true(UTIL_PUSH(items, count, capacity, i));
    int *before = items;
    for (unsigned zeroed = 0; zeroed < 2; zeroed++) {
        allowed = 0;
        assert_false(zeroed ? UTIL_GROW_ZEROED(items, capacity, count)
                            : UTIL_PUSH(items, count, capacity, -1));
        assert_ptr_equal(items, before);
        assert_int_equal(count, UTIL_ARRAY_FIRST);
        assert_int_equal(capacity, UTIL_ARRAY_FIRST);
        for (int i = 0; i < UTIL_ARRAY_FIRST; i++)
            assert_int_equal(items[i], i);
    }
    assert_true(UTIL_PUSH(items, count, capacity, UTIL_ARRAY_FIRST));
    assert_int_equal(items[UTIL_ARRAY_FIRST], UTIL_ARRAY_FIRST);
    free(items);
}

/* Neither the number of an item nor the bytes of all may wrap. */
static void an_array_is_refused_what_does_not_fit(void **state)
{
    struct item *items = NULL;
    size_t capacity = 0, wide_bytes = SIZE_MAX / UTIL_ARRAY_FIRST + 2;
    uint32_t last = UINT32_MAX;
    assert_false(UTIL_GROW(items, capacity, last));
    assert_false(UTIL_GROW(items, capacity, SIZE_MAX));
    assert_false(UTIL_GROW_ZEROED(items, capacity, (size_t)UINT32_MAX + 1));
    assert_false(util_grow(&items, &capacity, 0, wide_bytes));
    assert_null(items);
    assert_int_equal(capacity, 0);
}

/* ---- index ---------------------------------------------------------------------------------- */

enum { KEYS = 3000 };

static bool equal_number(const void *items, uint32_t item, const void *key)
{
    return ((const uint64_t *)items)[item] == *(const uint64_t *)key;
}

/* UTIL_NONE for false; an output that was touched then is seen. */
static uint32_t enter(struct util_index *index, uint64_t hash, util_equal *equal, const void *items,
                      const void *key, uint32_t next)
{
    uint32_t item = 0xabcdef;
    bool found = next % 2;
    if (!util_index_enter(index, hash, equal, items, key, next, &item, &found)) {
        assert_int_equal(item, 0xabcdef);
        assert_int_equal(found, next % 2);
        return UTIL_NONE;
    }
    assert_int_equal(found, item != next);
    return item;
}

static uint32_t find(const struct util_index *index, uint64_t hash, util_equal *equal,
                     const void *items, const void *key)
{
    uint32_t item = 0xabcdef;
    if (util_index_find(index, hash, equal, items, key, &item))
        return item;
    assert_int_equal(item, 0xabcdef);
    return UTIL_NONE;
}

/* The number of the key among the first `count`, found by looking at them all. */
static uint32_t oracle(const uint64_t *items, uint32_t count, uint64_t key)
{
    for (uint32_t i = 0; i < count; i++)
        if (items[i] == key)
            return i;
    return UTIL_NONE;
}

/* Keys of a small range, so that many come again; hashes of so few bits that most of them collide;
   and now and then no memory. Against an array that is searched from end to end. */
static void an_index_finds_what_was_entered(void **state)
{
    static const unsigned bits[] = {64, 33, 12, 2, 0};
    for (unsigned round = 0; round < BASE_COUNT(bits); round++) {
        struct base_random random = {round};
        struct util_index index = {0};
        uint64_t items[KEYS];
        uint32_t count = 0, most = bits[round] < 4 ? KEYS / 10 : KEYS, refusals = 0;
        for (unsigned step = 0; step < 2 * most; step++) {
            uint64_t key = base_random_below(&random, most);
            uint64_t hash = bits[round] ? base_mix64(key) >> (64 - bits[round]) : 0;
            uint32_t expected = oracle(items, count, key);
            assert_int_equal(find(&index, hash, equal_number, items, &key), expected);
            allowed = step % 2 ? 0 : -1;
            uint32_t item = enter(&index, hash, equal_number, items, &key, count);
            refusals += allowed < 0 && step % 2;
            allowed = -1;
            if (item == UTIL_NONE) {
                assert_int_equal(find(&index, hash, equal_number, items, &key), expected);
                continue;
            }
            assert_int_equal(item, expected == UTIL_NONE ? count : expected);
            if (item == count)
                items[count++] = key;
            assert_int_equal(index.count, count);
            if (step % 16 == 0)
                assert_true(util_index_check(&index));
        }
        assert_true(count > most / 4);
        assert_true(refusals > 0);
        for (uint32_t i = 0; i < count; i++) {
            uint64_t hash = bits[round] ? base_mix64(items[i]) >> (64 - bits[round]) : 0;
            assert_int_equal(find(&index, hash, equal_number, items, &items[i]), i);
        }
        util_index_clear(&index);
        assert_true(util_index_check(&index));
        assert_int_equal(find(&index, 0, equal_number, items, items), UTIL_NONE);
        util_index_free(&index);
        assert_null(index.slots);
    }
}

/* Whoever said how many there will be can enter and find them all when there is no memory. */
static void a_reserved_index_allocates_no_more(void **state)
{
    static const uint32_t counts[] = {1, 31, 32, 33, 1000, 1024};
    for (unsigned round = 0; round < BASE_COUNT(counts); round++) {
        struct util_index index = {0};
        uint64_t items[1024];
        allowed = 0;
        assert_false(util_index_reserve(&index, counts[round]));
        assert_false(util_index_reserve(&index, (size_t)UTIL_ITEMS_MAX + 1));
        assert_true(util_index_check(&index) && !index.slots);
        assert_true(util_index_reserve(&index, counts[round]));
        for (unsigned twice = 0; twice < 2; twice++)
            for (uint32_t i = 0; i < counts[round]; i++) {
                items[i] = i;
                allowed = 0;
                assert_int_equal(
                    enter(&index, base_mix64(i), equal_number, items, &items[i], twice ? 1024 : i),
                    i);
                assert_int_equal(allowed, 0);
            }
        assert_true(util_index_check(&index));
        allowed = -1;
        util_index_free(&index);
    }
}

/* Hashes that differ in their high half alone must not all begin at one slot. */
static unsigned compared;

static bool equal_counted(const void *items, uint32_t item, const void *key)
{
    compared++;
    return equal_number(items, item, key);
}

static void all_bits_of_a_hash_count(void **state)
{
    struct util_index index = {0};
    uint64_t items[1000];
    compared = 0;
    for (uint32_t i = 0; i < 1000; i++) {
        items[i] = i;
        assert_int_equal(enter(&index, (uint64_t)i << 32, equal_counted, items, &items[i], i), i);
    }
    assert_int_equal(compared, 0);
    util_index_free(&index);
}

static void a_damaged_index_is_noticed(void **state)
{
    uint64_t items[40];
    struct util_index index = {0};
    for (uint32_t i = 0; i < 20; i++) {
        items[i] = i;
        assert_int_equal(enter(&index, 5, equal_number, items, &items[i], i), i);
    }
    assert_true(util_index_check(&index));
    struct util_slot kept = index.slots[7];
    index.slots[7].item = 0; /* a hole in the way of those behind it */
    assert_false(util_index_check(&index));
    index.count--;
    assert_false(util_index_check(&index));
    index.count++;
    index.slots[7] = index.slots[8]; /* one item twice */
    assert_false(util_index_check(&index));
    index.slots[7] = kept;
    index.slots[7].hash = 9; /* where its hash does not lead to */
    assert_false(util_index_check(&index));
    index.slots[7] = kept;
    index.count++;
    assert_false(util_index_check(&index));
    index.count--;
    assert_true(util_index_check(&index));
    util_index_free(&index);
}

/* ---- strings --------------------------------------------------------------------------------- */

static uint32_t add(struct util_strings *strings, const char *text, size_t bytes)
{
    uint32_t number = 0xabcdef;
    if (util_strings_add(strings, text, bytes, &number))
        return number;
    assert_int_equal(number, 0xabcdef);
    return UTIL_NONE;
}

static uint32_t find_text(const struct util_strings *strings, const char *text, size_t bytes)
{
    uint32_t number = 0xabcdef;
    if (util_strings_find(strings, text, bytes, &number))
        return number;
    assert_int_equal(number, 0xabcdef);
    return UTIL_NONE;
}

/* Texts that are prefixes of each other, in memory that changes afterwards. */
static uint32_t add_text(struct util_strings *strings, unsigned number)
{
    char text[32];
    int bytes = snprintf(text, sizeof text, "%s%u", number % 3 ? "name" : "", number / 3);
    uint32_t added = add(strings, text, (size_t)bytes);
    memset(text, 'x', sizeof text);
    return added;
}

static void a_text_is_kept_once(void **state)
{
    enum { TEXTS = 6000 };
    struct util_strings strings = {0};
    uint32_t *numbers = malloc(TEXTS * sizeof *numbers);
    const char **texts = malloc(TEXTS * sizeof *texts);
    struct base_random random = {3};
    memset(numbers, 0xff, TEXTS * sizeof *numbers);
    for (unsigned step = 0; step < 2 * TEXTS; step++) {
        unsigned number = (unsigned)base_random_below(&random, TEXTS) / 3 * 3 + step % 2;
        size_t before = strings.count;
        allowed = step % 5 ? -1 : 0;
        uint32_t added = add_text(&strings, number);
        allowed = -1;
        if (added == UTIL_NONE) {
            assert_int_equal(strings.count, before);
            assert_int_equal(numbers[number], UTIL_NONE);
            continue;
        }
        assert_int_equal(added, numbers[number] == UTIL_NONE ? before : numbers[number]);
        assert_int_equal(strings.count, before + (added == before));
        if (added == before) {
            numbers[number] = added;
            texts[added] = strings.texts[added];
        }
        if (step % 1000 == 0)
            assert_true(util_strings_check(&strings));
    }
    assert_true(util_strings_check(&strings));
    for (unsigned number = 0; number < TEXTS; number += number % 3 ? 2 : 1) {
        char text[32];
        snprintf(text, sizeof text, "%s%u", number % 3 ? "name" : "", number / 3);
        assert_int_equal(find_text(&strings, text, strlen(text)), numbers[number]);
        if (numbers[number] == UTIL_NONE)
            continue;
        assert_string_equal(strings.texts[numbers[number]], text);
        assert_ptr_equal(strings.texts[numbers[number]], texts[numbers[number]]); /* never moved */
    }
    util_strings_free(&strings);
    free(numbers);
    free(texts);
}

static void texts_of_any_length_are_kept(void **state)
{
    enum { LONG = 200000 };
    struct util_strings strings = {0};
    char *text = malloc(LONG);
    memset(text, 'a', LONG);
    assert_int_equal(add(&strings, "", 0), 0);
    assert_int_equal(add(&strings, text, LONG), 1);
    assert_int_equal(add(&strings, text, LONG - 1), 2);
    assert_int_equal(add(&strings, "a", 1), 3);
    assert_int_equal(add(&strings, "ab", 1), 3); /* of its bytes the first */
    assert_int_equal(add(&strings, text, LONG), 1);
    assert_int_equal(add(&strings, "", 0), 0);
    assert_int_equal(strlen(strings.texts[1]), LONG);
    assert_int_equal(strlen(strings.texts[2]), LONG - 1);
    assert_true(util_strings_check(&strings));
    util_strings_free(&strings);
    /* One begins as the other does, and all that the index has of their hashes is the same. */
    assert_int_equal(add(&strings, "xumyaaa", 7), 0);
    assert_int_equal(add(&strings, "x", 1), 1);
    assert_int_equal(add(&strings, "xumyaaa", 7), 0);
    util_strings_free(&strings);
    /* Around the end of a block, where a sanitizer sees one byte too many. */
    for (unsigned gap = 0; gap < 3; gap++) {
        assert_int_equal(add(&strings, text, (1 << 16) - 8 - gap), 0);
        assert_int_equal(add(&strings, "1234567", 7), 1);
        assert_true(util_strings_check(&strings));
        util_strings_free(&strings);
    }
    free(text);
}

/* The block, the array and the index are allocated one after the other: each may fail, and then the
   same text can be added later. */
static void each_failure_to_keep_a_text_leaves_all_as_it_was(void **state)
{
    struct util_strings strings = {0};
    for (int failing = 0; failing < 3; failing++) {
        allowed = failing;
        assert_int_equal(add(&strings, "text", 4), UTIL_NONE);
        allowed = -1;
        assert_int_equal(strings.count, 0);
        assert_int_equal(find_text(&strings, "text", 4), UTIL_NONE);
        assert_true(util_strings_check(&strings));
        util_strings_free(&strings);
    }
    assert_int_equal(add(&strings, "text", 4), 0);
    util_strings_free(&strings);
}

static void damaged_strings_are_noticed(void **state)
{
    struct util_strings strings = {0};
    for (unsigned i = 0; i < 10; i++)
        add_text(&strings, 3 * i);
    assert_true(util_strings_check(&strings));
    const char *kept = strings.texts[4];
    strings.texts[4] = strings.texts[5];
    assert_false(util_strings_check(&strings));
    strings.texts[4] = kept;
    strings.count--;
    assert_false(util_strings_check(&strings));
    strings.count++;
    assert_true(util_strings_check(&strings));
    util_strings_free(&strings);
}

/* ---- text ------------------------------------------------------------------------------------ */

static void a_text_is_what_was_added(void **state)
{
    enum { MOST = 100000 };
    char *expected = malloc(MOST);
    size_t count = 0;
    struct util_text text = {0};
    struct base_random random = {11};
    while (count < MOST - 300) {
        char part[260];
        size_t bytes = (size_t)base_random_below(&random, 200);
        memset(part, (int)('a' + bytes % 26), bytes);
        part[bytes] = 0;
        if (bytes % 2) {
            assert_true(util_text_add(&text, part, bytes));
            count += (size_t)sprintf(expected + count, "%s", part);
        } else {
            assert_true(util_text_print(&text, "%s %zu\n", part, count));
            count += (size_t)sprintf(expected + count, "%s %zu\n", part, count);
        }
        assert_int_equal(text.count, count);
        assert_true(text.count < text.capacity);
        assert_int_equal(text.bytes[text.count], 0);
    }
    assert_string_equal(text.bytes, expected);
    util_text_free(&text);
    assert_null(text.bytes);
    free(expected);
}

static void bytes_may_be_written_into_reserved_room(void **state)
{
    struct util_text text = {0};
    assert_true(util_text_add(&text, "a\0b", 3));
    assert_true(util_text_reserve(&text, 1000));
    assert_true(text.capacity - text.count > 1000);
    memset(text.bytes + text.count, 'c', 1000);
    text.count += 1000;
    text.bytes[text.count] = 0;
    assert_true(util_text_add(&text, NULL, 0));
    assert_memory_equal(text.bytes, "a\0bcc", 5);
    assert_int_equal(text.count, 1003);
    util_text_free(&text);
    assert_true(util_text_add(&text, "", 0)); /* an empty text is one, too */
    assert_string_equal(text.bytes, "");
    util_text_free(&text);
    assert_true(util_text_reserve(&text, 10));
    assert_string_equal(text.bytes, "");
    size_t before = text.capacity;
    for (size_t more = before - 1; more <= before; more++) {
        assert_true(util_text_reserve(&text, more)); /* with the 0 behind them */
        assert_true(more == before ? text.capacity > before : text.capacity == before);
    }
    util_text_free(&text);
}

static void a_text_that_failed_stays_failed(void **state)
{
    struct util_text text = {0};
    allowed = 0;
    assert_false(util_text_add(&text, "never", 5));
    assert_true(text.failed);
    assert_null(text.bytes);
    util_text_free(&text);
    assert_false(text.failed);
    for (unsigned how = 0; how < 4; how++) {
        assert_true(util_text_print(&text, "%d and", 17));
        size_t many = text.capacity;
        allowed = 0;
        if (how == 0)
            assert_false(util_text_print(&text, "%*d", (int)many, 1));
        else if (how == 1)
            assert_false(util_text_reserve(&text, many));
        else
            assert_false(util_text_reserve(&text, SIZE_MAX - (how == 2)));
        allowed = -1;
        assert_true(text.failed);
        assert_string_equal(text.bytes, "17 and");
        assert_false(util_text_add(&text, "x", 1)); /* though there is room for it */
        assert_false(util_text_print(&text, "x"));
        assert_string_equal(text.bytes, "17 and");
        assert_int_equal(text.count, 6);
        util_text_free(&text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(arrays_hold_what_was_appended),
        cmocka_unit_test(an_array_grows_to_any_index),
        cmocka_unit_test(new_items_are_zero_where_that_is_asked),
        cmocka_unit_test(an_array_that_cannot_grow_stays),
        cmocka_unit_test(an_array_is_refused_what_does_not_fit),
        cmocka_unit_test(an_index_finds_what_was_entered),
        cmocka_unit_test(a_reserved_index_allocates_no_more),
        cmocka_unit_test(all_bits_of_a_hash_count),
        cmocka_unit_test(a_damaged_index_is_noticed),
        cmocka_unit_test(a_text_is_kept_once),
        cmocka_unit_test(texts_of_any_length_are_kept),
        cmocka_unit_test(each_failure_to_keep_a_text_leaves_all_as_it_was),
        cmocka_unit_test(damaged_strings_are_noticed),
        cmocka_unit_test(a_text_is_what_was_added),
        cmocka_unit_test(bytes_may_be_written_into_reserved_room),
        cmocka_unit_test(a_text_that_failed_stays_failed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
