// SPDX-License-Identifier: MIT
#include "base/base.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <cmocka.h>

static void every_status_has_a_text(void **state)
{
    for (int status = BASE_OK; status <= BASE_BUSY; status++) {
        assert_non_null(base_status_text(status));
        assert_string_not_equal(base_status_text(status), base_status_text(BASE_BUSY + 1));
        for (int other = BASE_OK; other < status; other++)
            assert_string_not_equal(base_status_text(status), base_status_text(other));
    }
}

/* Whoever takes the least by number of bits takes as many as asked, none heavier than one that
   stays by more than the bits say. */
static void the_least_are_taken(void **state)
{
    struct base_random random = {9};
    for (uint64_t wanted = 0; wanted <= 1000; wanted += 125) {
        uint64_t weights[1000], taken = 0, lightest_left = UINT64_MAX, heaviest_taken = 0;
        struct base_least least = {0};
        for (unsigned i = 0; i < 1000; i++) {
            weights[i] = base_random_next(&random) >> base_random_below(&random, 65) % 64;
            base_least_note(&least, weights[i]);
        }
        base_least_choose(&least, wanted);
        for (unsigned i = 0; i < 1000; i++) {
            bool takes = base_least_takes(&least, weights[i]);
            taken += takes;
            if (takes && weights[i] > heaviest_taken)
                heaviest_taken = weights[i];
            if (!takes && weights[i] < lightest_left)
                lightest_left = weights[i];
        }
        assert_int_equal(taken, wanted);
        assert_true(base_bits(heaviest_taken) <= base_bits(lightest_left));
    }
    assert_int_equal(base_bits(0), 0);
    assert_int_equal(base_bits(UINT64_MAX), 64);
}

/* Of equals each third, say, and not the first third of them. */
static void equals_are_taken_evenly(void **state)
{
    struct base_least least = {0};
    unsigned taken = 0;
    for (unsigned i = 0; i < 999; i++)
        base_least_note(&least, 5);
    base_least_choose(&least, 333);
    for (unsigned i = 0; i < 999; i++) {
        taken += base_least_takes(&least, 5);
        assert_in_range(taken, i / 3, i / 3 + 1);
    }
    assert_int_equal(taken, 333);
}

/* A chain 1 <- 2 <- ... <- 100 whose nodes read as their number modulo 80. */
static void recursion_leads_back_to_the_first_call(void **state)
{
    for (uint32_t read = 0; read < 80; read++) {
        uint32_t found = BASE_FOLDED(at, 100, at - 1, at % 80 == read);
        uint32_t expected = read <= 20 && read > 0 ? 80 + read : read;
        if (expected == 0)
            expected = 80;
        /* Of the innermost 64 alone: 37 to 100. */
        assert_int_equal(found, expected >= 37 ? expected : 0);
    }
    assert_int_equal(BASE_FOLDED(at, 0, at - 1, true), 0);
}

/* splitmix64 seeded with 1234567, published with its reference implementation. */
static void random_follows_the_reference(void **state)
{
    const uint64_t expected[] = {UINT64_C(6457827717110365317), UINT64_C(3203168211198807973),
                                 UINT64_C(9817491932198370423), UINT64_C(4593380528125082431),
                                 UINT64_C(16408922859458223821)};
    struct base_random random = {1234567};
    for (unsigned i = 0; i < BASE_COUNT(expected); i++)
        assert_true(base_random_next(&random) == expected[i]);
}

/* Chi-square of bound - 1 degrees below its 99.9 % point, for bounds that do not divide 2^64. */
static void random_below_is_uniform(void **state)
{
    static const struct {
        unsigned bound;
        double limit;
    } table[] = {{2, 10.9}, {3, 13.9}, {7, 22.5}, {10, 27.9}, {61, 99.7}};
    enum { DRAWS = 200000 };
    for (unsigned t = 0; t < BASE_COUNT(table); t++) {
        struct base_random random = {t};
        double counts[64] = {0}, expected = (double)DRAWS / table[t].bound, chi_square = 0;
        for (unsigned i = 0; i < DRAWS; i++) {
            uint64_t drawn = base_random_below(&random, table[t].bound);
            assert_true(drawn < table[t].bound);
            counts[drawn]++;
        }
        for (unsigned i = 0; i < table[t].bound; i++)
            chi_square += (counts[i] - expected) * (counts[i] - expected) / expected;
        assert_true(chi_square < table[t].limit);
    }
    struct base_random random = {1};
    for (unsigned i = 0; i < 1000; i++)
        assert_int_equal(base_random_below(&random, 1), 0);
}

static void random_below_reaches_large_bounds(void **state)
{
    struct base_random random = {3};
    uint64_t largest = 0, smallest = UINT64_MAX;
    for (unsigned i = 0; i < 10000; i++) {
        uint64_t drawn = base_random_below(&random, UINT64_MAX);
        largest = drawn > largest ? drawn : largest;
        smallest = drawn < smallest ? drawn : smallest;
    }
    assert_true(largest > UINT64_MAX - UINT64_MAX / 1000);
    assert_true(smallest < UINT64_MAX / 1000);
}

static void hashes_depend_on_everything(void **state)
{
    const char text[] = "the quick brown fox";
    uint64_t hash = base_hash_bytes(text, sizeof text, 1);
    assert_true(hash == base_hash_bytes(text, sizeof text, 1));
    assert_true(hash != base_hash_bytes(text, sizeof text, 2));
    assert_true(hash != base_hash_bytes(text, sizeof text - 1, 1));
    for (unsigned bit = 0; bit < 8 * sizeof text; bit++) {
        char changed[sizeof text];
        memcpy(changed, text, sizeof text);
        changed[bit / 8] ^= (char)(1 << bit % 8);
        assert_true(hash != base_hash_bytes(changed, sizeof changed, 1));
    }
    assert_true(base_hash_bytes(NULL, 0, 1) != base_hash_bytes(NULL, 0, 2));
}

/* A one-bit change of the input changes about half of the output. */
static void mixing_spreads(void **state)
{
    double changed = 0;
    for (unsigned i = 0; i < 64; i++)
        for (uint64_t x = 1; x <= 100; x++)
            changed += __builtin_popcountll(base_mix64(x) ^ base_mix64(x ^ UINT64_C(1) << i));
    changed /= 64 * 100;
    assert_true(changed > 31 && changed < 33);
}

static void searches_by_halves_find_the_first(void **state)
{
    uint32_t values[20];
    (void)state;
    for (size_t count = 0; count <= BASE_COUNT(values); count++) {
        for (size_t i = 0; i < count; i++)
            values[i] = (uint32_t)(i / 2 * 3); /* 0 0 3 3 6 6 ... */
        for (uint32_t wanted = 0; wanted < 32; wanted++) {
            size_t first = 0;
            while (first < count && values[first] < wanted)
                first++;
            assert_int_equal(BASE_FIRST(i, count, values[i] >= wanted), first);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(searches_by_halves_find_the_first),
        cmocka_unit_test(the_least_are_taken),
        cmocka_unit_test(equals_are_taken_evenly),
        cmocka_unit_test(recursion_leads_back_to_the_first_call),
        cmocka_unit_test(every_status_has_a_text),
        cmocka_unit_test(random_follows_the_reference),
        cmocka_unit_test(random_below_is_uniform),
        cmocka_unit_test(random_below_reaches_large_bounds),
        cmocka_unit_test(hashes_depend_on_everything),
        cmocka_unit_test(mixing_spreads),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("base", tests, NULL, NULL);
}
