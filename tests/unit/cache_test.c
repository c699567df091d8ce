// SPDX-License-Identifier: MIT
/*
 * Caches against ones that keep the time of each line's last use and search for everything; by
 * hand; and against each other, as the same cache is kept in two ways.
 */
#include "cache/internal.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <cmocka.h>

/* ---- the oracle -------------------------------------------------------------------------- */

struct plain {
    uint32_t sets, ways;
    struct {
        uint64_t used; /* when; 0: empty */
        uint64_t line;
    } * lines;
    uint64_t now, misses;
};

static struct plain plain_new(const struct cache_shape *shape)
{
    uint32_t lines = (uint32_t)(shape->bytes / 64);
    struct plain plain = {.ways = shape->ways ? shape->ways : lines};
    plain.sets = lines / plain.ways;
    plain.lines = calloc(lines, sizeof *plain.lines);
    assert_non_null(plain.lines);
    return plain;
}

static void plain_touch(struct plain *plain, uint64_t line)
{
    size_t start = line % plain->sets * plain->ways, oldest = start;
    plain->now++;
    for (size_t i = start; i < start + plain->ways; i++) {
        if (plain->lines[i].used && plain->lines[i].line == line) {
            plain->lines[i].used = plain->now;
            return;
        }
        if (plain->lines[i].used < plain->lines[oldest].used)
            oldest = i;
    }
    plain->misses++;
    plain->lines[oldest].line = line;
    plain->lines[oldest].used = plain->now;
}

static void plain_access(struct plain *plain, uint64_t address, uint32_t bytes)
{
    for (uint64_t line = address / 64; line <= (address + bytes - 1) / 64; line++)
        plain_touch(plain, line);
}

static void plain_forget(struct plain *plain, uint64_t address, uint64_t bytes)
{
    for (size_t i = 0; i < (size_t)plain->sets * plain->ways; i++)
        if (plain->lines[i].line >= address / 64 &&
            plain->lines[i].line <= (address + bytes - 1) / 64)
            plain->lines[i].used = 0;
}

/* ---- caches ---------------------------------------------------------------------------------- */

static const struct cache_shape shapes[] = {
    {64, 0},         {64, 1},       {128, 2},       {64 * 3, 1},       {64 * 3, 0},
    {64 * 7, 7},     {4096, 1},     {4096, 0},      {64 * 5 * 12, 12}, {32 << 10, 8},
    {48 << 10, 12},  {64 * 77, 11}, {64 * 99, 33},  {64 * 640, 64},    {64 * 1000, 0},
    {64 * 9 * 5, 9}, {1 << 20, 16}, {64 * 4096, 0},
};

static void *memory_for(const struct cache_shape *shape)
{
    void *memory = mmap(NULL, cache_bytes(shape), PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    assert_true(memory != MAP_FAILED);
    return memory;
}

static void *add(struct cache_bank *bank, const struct cache_shape *shape)
{
    void *memory = memory_for(shape);
    assert_true(cache_shape_valid(shape));
    assert_int_equal(cache_bank_add(bank, shape, memory), BASE_OK);
    return memory;
}

struct step {
    uint64_t address, forget;
    uint32_t bytes;
};

/* By `kind`: at random, round and round, strides of pages, here and there. */
static struct step step_of(unsigned kind, uint64_t i, struct base_random *random, uint64_t lines)
{
    struct step step = {.bytes = 8};
    uint64_t line = base_random_below(random, lines);
    switch (kind) {
    case 0: step.address = line * 64 + base_random_below(random, 64); break;
    case 1: step.address = i % lines * 64; break;
    case 2: step.address = i % lines * 4096; break;
    case 3: step.address = (line + i / 64) * 64 + 60; break;
    default: step.address = base_mix64(line) % (UINT64_C(1) << 37); break;
    }
    if (kind % 2 == 0 && base_random_below(random, 700) == 0)
        step.forget = 1 + base_random_below(random, lines * 32);
    if (i % 5000 == 4999)
        step.forget = UINT64_C(1) << 36;
    return step;
}

enum { KINDS = 5, STEPS = 20000 };

/* fault: at one step another line is used. */
static bool equals_the_oracle(const struct cache_shape *shape, unsigned kind, uint64_t lines,
                              bool fault)
{
    struct cache_bank bank = {0};
    void *memory = add(&bank, shape);
    struct plain plain = plain_new(shape);
    struct base_random random = {kind + lines};
    for (uint64_t i = 0; i < STEPS; i++) {
        struct step step = step_of(kind, i, &random, lines);
        if (step.forget) {
            cache_bank_forget(&bank, step.address, step.forget);
            plain_forget(&plain, step.address, step.forget);
        } else {
            plain_access(&plain, step.address, step.bytes);
            cache_bank_access(&bank, step.address ^ (fault && i == STEPS / 2 ? 64 : 0), step.bytes);
        }
        if (i % 4001 == 0)
            assert_true(cache_check(&bank.caches[0]));
    }
    bool same = plain.misses == bank.caches[0].misses && bank.accesses == plain.now &&
                cache_check(&bank.caches[0]);
    assert_int_equal(munmap(memory, cache_bytes(shape)), 0);
    free(plain.lines);
    return same;
}

/* ---- tests ----------------------------------------------------------------------------------- */

static void caches_equal_the_oracle(void **state)
{
    for (size_t i = 0; i < BASE_COUNT(shapes); i++)
        for (unsigned kind = 0; kind < KINDS; kind++) {
            /* Working sets about as large as the cache, as long as the search takes no time. */
            uint64_t lines = shapes[i].bytes / 64 + shapes[i].bytes / 256 + 1;
            if (lines > 700)
                lines = 700;
            if (!equals_the_oracle(&shapes[i], kind, lines, false))
                fail_msg("%llu bytes, %u ways, kind %u: differs",
                         (unsigned long long)shapes[i].bytes, shapes[i].ways, kind);
        }
}

static void a_planted_fault_is_seen(void **state)
{
    static const struct cache_shape small = {64 * 16, 0}, four = {64 * 16, 4};
    assert_true(equals_the_oracle(&small, 1, 17, false));
    assert_false(equals_the_oracle(&small, 1, 17, true));
    assert_true(equals_the_oracle(&four, 1, 17, false));
    assert_false(equals_the_oracle(&four, 1, 17, true));
}

/* Two sets of two ways; lines 0 2 4 are of set 0. */
static void by_hand(void **state)
{
    static const struct cache_shape two_by_two = {256, 2}, all = {256, 0}, direct = {256, 1};
    static const struct {
        uint64_t line;
        unsigned misses[3]; /* so far: 2 × 2, fully associative, direct */
    } steps[] = {
        {0, {1, 1, 1}}, {2, {2, 2, 2}}, {0, {2, 2, 2}}, {4, {3, 3, 3}}, /* 2 goes; of direct 0 */
        {0, {3, 3, 4}}, {2, {4, 3, 4}}, {1, {5, 4, 5}}, {3, {6, 5, 6}}, /* 4 goes; then all's 4 */
        {1, {6, 5, 6}}, {4, {7, 6, 7}}, {4, {7, 6, 7}}, {0, {8, 7, 8}},
    };
    struct cache_bank bank = {0};
    add(&bank, &two_by_two);
    add(&bank, &all);
    add(&bank, &direct);
    for (size_t i = 0; i < BASE_COUNT(steps); i++) {
        cache_bank_access(&bank, steps[i].line * 64 + 5, 4);
        for (unsigned which = 0; which < 3; which++)
            assert_int_equal(bank.caches[which].misses, steps[i].misses[which]);
    }
    assert_int_equal(bank.accesses, BASE_COUNT(steps));
    cache_bank_access(&bank, 5 * 64 - 1, 66); /* lines 4, 5 and 6 */
    assert_int_equal(bank.accesses, BASE_COUNT(steps) + 3);
    cache_bank_reset_counts(&bank);
    cache_bank_access(&bank, 6 * 64, 1);
    assert_true(bank.accesses == 1 && !bank.caches[0].misses && !bank.caches[1].misses);
}

/* The same cache, as an array and as a list. */
static void few_ways_are_as_many(void **state)
{
    static const struct cache_shape shape = {64 * 24 * 31, 31};
    struct cache_bank bank = {0};
    add(&bank, &shape);
    void *memory = calloc(1, 1 << 20);
    bank.caches[1] = bank.caches[0];
    bank.caches[1].tags = NULL;
    assert_true(cache_many_bytes(&bank.caches[1]) <= 1 << 20);
    cache_many_init(&bank.caches[1], memory);
    bank.count = 2;
    struct base_random random = {3};
    for (uint64_t i = 0; i < 300000; i++) {
        struct step step = step_of(0, i, &random, 1000);
        if (step.forget)
            cache_bank_forget(&bank, step.address, step.forget / 16 + 1);
        else
            cache_bank_access(&bank, step.address, step.bytes);
        assert_true(bank.caches[0].misses == bank.caches[1].misses);
    }
    assert_true(cache_check(&bank.caches[0]) && cache_check(&bank.caches[1]));
    free(memory);
}

/* A sweep over one line more than fit misses always, one over what fits never again. */
static void sizes_hold_what_they_say(void **state)
{
    static const struct cache_shape large[] = {
        {32 << 10, 8}, {1 << 20, 16}, {UINT64_C(33) << 20, 11}, {UINT64_C(33) << 20, 0}};
    for (size_t i = 0; i < BASE_COUNT(large); i++)
        for (unsigned more = 0; more < 2; more++) {
            struct cache_bank bank = {0};
            void *memory = add(&bank, &large[i]);
            uint64_t lines = large[i].bytes / 64;
            /* One more of every set, so that all miss. */
            uint64_t touched = lines + more * bank.caches[0].sets;
            for (unsigned round = 0; round < 3; round++)
                for (uint64_t line = 0; line < touched; line++)
                    cache_bank_access(&bank, line * 64, 8);
            assert_true(bank.accesses == 3 * touched);
            assert_true(bank.caches[0].misses == (more ? 3 : 1) * touched);
            assert_int_equal(munmap(memory, cache_bytes(&large[i])), 0);
        }
}

static void modulo_is_exact(void **state)
{
    struct base_random random = {4};
    for (unsigned i = 0; i < 2000000; i++) {
        uint32_t sets = 1 + (uint32_t)base_random_next(&random) % (i % 2 ? 100 : 1 << 30);
        uint32_t line = (uint32_t)base_random_next(&random);
        struct cache cache = {.sets = sets, .reciprocal = UINT64_MAX / sets + 1};
        if (i % 3 == 0)
            line = line / sets * sets - i % 2;
        assert_true(cache_set_of(&cache, line) == line % sets);
    }
}

static void shapes_are_whole_sets(void **state)
{
    static const struct cache_shape bad[] = {{0, 0},
                                             {0, 1},
                                             {63, 0},
                                             {65, 0},
                                             {64, 2},
                                             {32 << 10, 3},
                                             {1 << 20, 12},
                                             {128, 3},
                                             {CACHE_BYTES_MAX + 64, 0},
                                             {UINT64_MAX - 63, 0},
                                             {64, UINT32_MAX}};
    for (size_t i = 0; i < BASE_COUNT(bad); i++)
        assert_false(cache_shape_valid(&bad[i]));
    for (size_t i = 0; i < BASE_COUNT(shapes); i++)
        assert_true(cache_shape_valid(&shapes[i]));
    struct cache_shape most = {CACHE_BYTES_MAX, 0};
    assert_true(cache_shape_valid(&most));
    struct cache_bank bank = {0};
    for (unsigned i = 0; i < CACHE_MAX; i++)
        assert_int_equal(cache_bank_add(&bank, &most, memory_for(&most)), BASE_OK);
    assert_int_equal(cache_bank_add(&bank, &most, NULL), BASE_NO_MEMORY);
    cache_bank_access(&bank, 0, 8);
    for (unsigned i = 0; i < CACHE_MAX; i++) {
        assert_int_equal(bank.caches[i].misses, 1);
        assert_int_equal(munmap(bank.caches[i].slots, cache_bytes(&most)), 0);
    }
}

/* The set and the low 32 bits of their numbers are alike: lines 256 GiB apart, as Go's heap and a program's data. */
static void far_lines_are_told_apart(const struct cache_shape *shape)
{
    struct cache_bank bank = {0};
    void *memory = add(&bank, shape);
    uint64_t far = (UINT64_C(1) << 32) * 64 * 3;
    for (unsigned turn = 0; turn < 3; turn++) {
        cache_bank_access(&bank, 64, 8);
        cache_bank_access(&bank, far + 64, 8);
    }
    assert_int_equal(bank.accesses, 6);
    assert_int_equal(bank.caches[0].misses, 2);
    cache_bank_forget(&bank, far, 4096);
    cache_bank_access(&bank, 64, 8);
    assert_int_equal(bank.caches[0].misses, 2);
    cache_bank_access(&bank, far + 64, 8);
    assert_int_equal(bank.caches[0].misses, 3);
    assert_true(cache_check(&bank.caches[0]));
    assert_int_equal(munmap(memory, cache_bytes(shape)), 0);
}

static void addresses_above_32_bits_of_lines(void **state)
{
    static const struct cache_shape few = {4096, 2}, many = {8192, 64}, whole = {4096, 0};
    far_lines_are_told_apart(&few);
    far_lines_are_told_apart(&many);
    far_lines_are_told_apart(&whole);
}

static void addresses_at_the_end_are_passed_over(void **state)
{
    static const struct cache_shape shape = {4096, 0};
    struct cache_bank bank = {0};
    void *memory = add(&bank, &shape);
    cache_bank_access(&bank, UINT64_MAX - 3, 8);
    cache_bank_access(&bank, 64, 0);
    assert_int_equal(bank.accesses, 0);
    cache_bank_access(&bank, 0, 1);
    cache_bank_access(&bank, 128, 1);
    assert_int_equal(bank.caches[0].misses, 2);
    cache_bank_forget(&bank, 64, UINT64_MAX);
    cache_bank_forget(&bank, 0, 0);
    cache_bank_access(&bank, 0, 1);
    assert_int_equal(bank.caches[0].misses, 2);
    cache_bank_access(&bank, 128, 1);
    assert_int_equal(bank.caches[0].misses, 3);
    cache_bank_forget(&bank, 191, 1); /* what was touched last */
    cache_bank_access(&bank, 128, 1);
    assert_int_equal(bank.caches[0].misses, 4);
    assert_true(cache_check(&bank.caches[0]));
    assert_int_equal(munmap(memory, cache_bytes(&shape)), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(caches_equal_the_oracle),
        cmocka_unit_test(a_planted_fault_is_seen),
        cmocka_unit_test(by_hand),
        cmocka_unit_test(few_ways_are_as_many),
        cmocka_unit_test(sizes_hold_what_they_say),
        cmocka_unit_test(modulo_is_exact),
        cmocka_unit_test(shapes_are_whole_sets),
        cmocka_unit_test(addresses_above_32_bits_of_lines),
        cmocka_unit_test(addresses_at_the_end_are_passed_over),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
