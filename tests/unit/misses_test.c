// SPDX-License-Identifier: MIT
/*
 * Walks from every iteration of small nests, made by chance, against every access simulated: the same number of misses to the last one,
 * for each reference and level. Then samples: intervals that hold the truth as often as they say. And nests by hand.
 */
#include "misses/internal.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

/* ---- nests by chance -------------------------------------------------------------------------------------- */

static uint32_t node_add(struct nest *nest, struct nest_node node)
{
    assert_true(UTIL_PUSH(nest->nodes, nest->nodes_count, nest->nodes_capacity, node));
    return (uint32_t)(nest->nodes_count - 1);
}

static void children_reserve(struct nest *nest, uint32_t node, uint32_t count)
{
    nest->nodes[node].first = (uint32_t)nest->children_count;
    nest->nodes[node].count = count;
    for (uint32_t i = 0; i < count; i++)
        assert_true(UTIL_PUSH(nest->children, nest->children_count, nest->children_capacity, 0));
}

static int64_t between(struct base_random *random, int64_t low, int64_t high)
{
    return low + (int64_t)base_random_below(random, (uint64_t)(high - low) + 1);
}

static void statement_fill(struct nest *nest, uint32_t node, uint32_t depth,
                           struct base_random *random)
{
    uint32_t count = (uint32_t)between(random, 1, 4);
    nest->nodes[node].kind = NEST_STATEMENT;
    nest->nodes[node].first = (uint32_t)nest->accesses_count;
    nest->nodes[node].count = count;
    for (uint32_t i = 0; i < count; i++) {
        struct nest_access access = {.reference = (uint32_t)nest->references_count,
                                     .statement = node,
                                     .bytes_offset = NEST_NONE};
        static const int64_t strides[] = {0, 8, 8, -8, 16, 64, 200, 264, 512, 1000, -320};
        access.affine.constant = 8 * between(random, 0, 40) + 40000;
        for (uint32_t slot = 0; slot < depth; slot++)
            access.affine.factors[slot] = strides[base_random_below(random, BASE_COUNT(strides))];
        struct nest_reference reference = {
            .array = (uint32_t)base_random_below(random, 2), .text = "a", .bytes = 8};
        assert_true(UTIL_PUSH(nest->references, nest->references_count, nest->references_capacity,
                              reference));
        assert_true(
            UTIL_PUSH(nest->accesses, nest->accesses_count, nest->accesses_capacity, access));
    }
}

static void loop_bounds(struct nest *nest, struct nest_node *loop, uint32_t depth,
                        struct base_random *random)
{
    uint32_t low = nest_constant(nest, between(random, 0, 2));
    uint32_t high = nest_constant(nest, between(random, 1, depth ? 14 : 9));
    if (depth && base_random_below(random, 3) == 0) { /* a triangle, up or down */
        uint32_t outer = nest_iterator(nest, depth - 1);
        if (base_random_below(random, 2))
            high = nest_binary(nest, NEST_MINIMUM, high, outer);
        else
            low = nest_binary(nest, NEST_ADD, outer, low);
    }
    loop->kind = NEST_LOOP;
    loop->slot = depth;
    loop->lower = low;
    loop->upper = high;
    loop->step = between(random, 1, 3);
}

static uint32_t node_fill(struct nest *nest, uint32_t parent, uint32_t position, uint32_t depth,
                          struct base_random *random)
{
    uint32_t node = node_add(nest, (struct nest_node){.parent = parent, .position = position});
    uint64_t kind = depth == 0 ? 1 : depth == 3 ? 3 : base_random_below(random, 4);
    if (kind == 3) {
        statement_fill(nest, node, depth, random);
    } else if (kind == 0) {
        uint32_t count = (uint32_t)between(random, 1, 3);
        children_reserve(nest, node, count);
        for (uint32_t i = 0; i < count; i++) {
            uint32_t child = node_fill(nest, node, i, depth, random);
            nest->children[nest->nodes[node].first + i] = child;
        }
    } else if (kind == 1) {
        struct nest_node loop = nest->nodes[node];
        loop_bounds(nest, &loop, depth, random);
        nest->nodes[node] = loop;
        children_reserve(nest, node, 1);
        uint32_t child = node_fill(nest, node, 0, depth + 1, random);
        nest->children[nest->nodes[node].first] = child;
    } else {
        uint32_t condition = nest_binary(nest, NEST_LESS, nest_iterator(nest, depth - 1),
                                         nest_constant(nest, between(random, 0, 6)));
        nest->nodes[node].kind = NEST_CONDITION;
        nest->nodes[node].lower = nest->nodes[node].upper = condition;
        children_reserve(nest, node, 1);
        uint32_t child = node_fill(nest, node, 0, depth, random);
        nest->children[nest->nodes[node].first] = child;
    }
    return node;
}

static struct nest *nest_by_chance(struct base_random *random)
{
    struct nest *nest = calloc(1, sizeof *nest);
    assert_non_null(nest);
    for (int i = 0; i < 2; i++) {
        struct nest_array array = {.name = i ? "b" : "a", .element_bytes = 8};
        assert_true(UTIL_PUSH(nest->arrays, nest->arrays_count, nest->arrays_capacity, array));
    }
    node_fill(nest, NEST_NONE, 0, 0, random);
    nest_finish(nest);
    nest_place(nest, 64);
    assert_true(nest_check(nest));
    return nest;
}

/* ---- every point ------------------------------------------------------------------------------------------- */

static const struct misses_level levels[] = {
    {256, 1, 32, "L1"}, {1024, 2, 64, "L2"}, {1536, 4, 64, "L3"}, {6 * 1024, 0, 64, "L4"}};

static struct misses_options exact_options(void)
{
    struct misses_options options = misses_defaults();
    options.levels = levels;
    options.levels_count = BASE_COUNT(levels);
    options.exact = true;
    return options;
}

struct count {
    uint64_t executed, misses[BASE_COUNT(levels)];
};

static void solve_everywhere(const struct nest *nest, struct walker *walker, uint32_t access,
                             struct count *count)
{
    int64_t least[NEST_SLOTS], most[NEST_SLOTS], at[NEST_SLOTS];
    nest_box(nest, nest->accesses[access].statement, least, most);
    memcpy(at, least, sizeof at);
    for (;;) {
        if (nest_contains(nest, nest->accesses[access].statement, at)) {
            count->executed++;
            for (size_t level = 0; level < BASE_COUNT(levels); level++) {
                enum walk_end end = walk_level(walker, level, access, at);
                assert_int_not_equal(end, WALK_CUT);
                if (end == WALK_HIT)
                    break;
                count->misses[level]++;
            }
        }
        uint32_t slot = 0;
        while (slot < nest->slots && ++at[slot] > most[slot]) {
            at[slot] = least[slot];
            slot++;
        }
        if (slot == nest->slots)
            return;
    }
}

static void walks_find_every_miss(void **state)
{
    struct base_random random = {7};
    uint64_t accesses = 0;
    for (int round = 0; round < 120; round++) {
        struct nest *nest = nest_by_chance(&random);
        struct misses_options options = exact_options();
        struct misses_result result;
        struct walker walker;
        assert_int_equal(misses_solve(nest, &options, &result), BASE_OK);
        assert_true(walker_begin(&walker, nest, &options));
        for (uint32_t i = 0; i < nest->accesses_count; i++) {
            struct count count = {0};
            solve_everywhere(nest, &walker, i, &count);
            assert_int_equal(count.executed, result.references[i].accesses);
            for (size_t level = 0; level < BASE_COUNT(levels); level++)
                assert_int_equal(count.misses[level],
                                 (uint64_t)result.references[i].levels[level].misses);
            accesses += count.executed;
        }
        walker_end(&walker);
        misses_free(&result);
        nest_free(nest);
    }
    assert_true(accesses > 2000);
}

/* ---- samples -------------------------------------------------------------------------------------------------- */

/* a[i][j] += b[j][i], of n x n doubles in rows of `row` bytes. */
static struct nest *transposition(int64_t n, int64_t row)
{
    struct nest *nest = calloc(1, sizeof *nest);
    static const char *const names[] = {"b", "a"};
    assert_non_null(nest);
    for (size_t i = 0; i < 2; i++) {
        struct nest_array array = {.name = names[i], .element_bytes = 8};
        assert_true(UTIL_PUSH(nest->arrays, nest->arrays_count, nest->arrays_capacity, array));
    }
    uint32_t parent = NEST_NONE;
    for (uint32_t depth = 0; depth < 3; depth++) {
        struct nest_node node = {.parent = parent};
        if (depth < 2) {
            node.kind = NEST_LOOP;
            node.slot = depth;
            node.lower = nest_constant(nest, 0);
            node.upper = nest_constant(nest, n - 1);
            node.step = 1;
        }
        uint32_t made = node_add(nest, node);
        if (parent != NEST_NONE)
            nest->children[nest->nodes[parent].first] = made;
        if (depth < 2)
            children_reserve(nest, made, 1);
        parent = made;
    }
    nest->nodes[parent].kind = NEST_STATEMENT;
    for (uint32_t i = 0; i < 3; i++) {
        struct nest_reference reference = {
            .array = i ? 1 : 0, .text = names[i ? 1 : 0], .bytes = 8, .write = i == 2};
        struct nest_access access = {
            .reference = i, .statement = parent, .bytes_offset = NEST_NONE};
        access.affine.factors[0] = i ? row : 8;
        access.affine.factors[1] = i ? 8 : row;
        assert_true(UTIL_PUSH(nest->references, nest->references_count, nest->references_capacity,
                              reference));
        assert_true(
            UTIL_PUSH(nest->accesses, nest->accesses_count, nest->accesses_capacity, access));
    }
    nest->nodes[parent].count = 3;
    nest_finish(nest);
    nest_place(nest, 64);
    return nest;
}

static void intervals_hold_the_truth(void **state)
{
    static const struct misses_level level = {4096, 4, 64, "L1"};
    struct misses_options options = misses_defaults();
    unsigned cases = 0, held = 0;
    options.levels = &level;
    options.levels_count = 1;
    options.half_width = 0.02;
    for (int64_t n = 90; n < 140; n += 3) {
        struct nest *nest = transposition(n, 8 * n + 8 * (n % 5));
        struct misses_result truth, sampled;
        options.exact = true;
        assert_int_equal(misses_solve(nest, &options, &truth), BASE_OK);
        options.exact = false;
        options.exact_below = 0;
        for (options.seed = 1; options.seed <= 40; options.seed++) {
            assert_int_equal(misses_solve(nest, &options, &sampled), BASE_OK);
            for (size_t i = 0; i < 2; i++) {
                const struct misses_figure *figure = &sampled.references[i].levels[0];
                double exact = truth.references[i].levels[0].misses;
                if (exact <= 0)
                    continue;
                cases++;
                held += exact >= figure->low && exact <= figure->high;
            }
            misses_free(&sampled);
        }
        misses_free(&truth);
        nest_free(nest);
    }
    assert_true(cases >= 1000);
    assert_true(held >= 0.94 * cases);
    assert_true(held <= 0.985 * cases); /* nor are they wider than they need be */
}

static void results_do_not_depend_on_threads(void **state)
{
    struct nest *nest = transposition(500, 4096);
    struct misses_options options = misses_defaults();
    struct misses_result results[2];
    options.levels = levels;
    options.levels_count = 2;
    options.exact_below = 0;
    for (unsigned i = 0; i < 2; i++) {
        options.threads = 1 + 3 * i;
        assert_int_equal(misses_solve(nest, &options, &results[i]), BASE_OK);
    }
    for (size_t i = 0; i < 3; i++)
        for (size_t j = 0; j < 2; j++)
            assert_true(results[0].references[i].levels[j].misses ==
                        results[1].references[i].levels[j].misses);
    misses_free(&results[0]);
    misses_free(&results[1]);
    nest_free(nest);
}

/* Rows of 4096 bytes meet in two sets of 32 KiB with 8 ways; rows that are a line longer do not. */
static void conflicts_are_no_capacity_misses(void **state)
{
    static const struct misses_level level = {32768, 8, 64, "L1"};
    struct misses_options options = misses_defaults();
    options.levels = &level;
    options.levels_count = 1;
    options.exact_below = 0;
    for (int padded = 0; padded < 2; padded++) {
        struct nest *nest = transposition(256, padded ? 4096 + 64 : 4096);
        struct misses_result result;
        assert_int_equal(misses_solve(nest, &options, &result), BASE_OK);
        const struct misses_figure *figure = &result.references[0].levels[0];
        double ratio = figure->misses / (double)result.references[0].accesses;
        assert_true(padded ? ratio < 0.2 : ratio > 0.98);
        if (!padded) {
            assert_true(figure->conflict > 0.8 * figure->misses);
            assert_int_equal(result.pairs[0].reference, 0);
            assert_int_equal(result.pairs[0].by, 0);
        }
        misses_free(&result);
        nest_free(nest);
    }
}

/* Not even a rounding error's: limits of 0 hold. */
static void full_associativity_has_no_conflicts(void **state)
{
    static const struct misses_level level = {4096, 0, 64, "L1"};
    struct nest *nest = transposition(90, 8 * 91);
    struct misses_options options = misses_defaults();
    options.levels = &level;
    options.levels_count = 1;
    options.half_width = 0.02;
    options.exact_below = 0;
    for (options.seed = 1; options.seed <= 40; options.seed++) {
        struct misses_result result;
        assert_int_equal(misses_solve(nest, &options, &result), BASE_OK);
        assert_true(result.totals[0].misses > 0 && result.totals[0].capacity > 0);
        assert_true(result.totals[0].conflict == 0);
        misses_free(&result);
    }
    nest_free(nest);
}

static void first_touches_are_cold(void **state)
{
    static const struct misses_level level = {32768, 8, 64, "L1"};
    struct nest *nest = transposition(512, 4096);
    struct misses_options options = misses_defaults();
    struct misses_result exact, sampled;
    options.levels = &level;
    options.levels_count = 1;
    options.exact = true;
    assert_int_equal(misses_solve(nest, &options, &exact), BASE_OK);
    options.exact = false;
    options.exact_below = 0;
    assert_int_equal(misses_solve(nest, &options, &sampled), BASE_OK);
    for (size_t i = 0; i < 2; i++) {
        double difference =
            sampled.references[i].levels[0].cold - exact.references[i].levels[0].cold;
        assert_true(difference * difference < 0.0016 * (double)exact.references[i].accesses *
                                                  (double)exact.references[i].accesses);
    }
    assert_true(exact.references[0].levels[0].cold == 512 * 64);
    misses_free(&exact);
    misses_free(&sampled);
    nest_free(nest);
}

static void caches_have_whole_sets(void **state)
{
    assert_true(misses_level_valid(&(struct misses_level){32768, 8, 64, ""}));
    assert_true(misses_level_valid(&(struct misses_level){49152, 12, 64, ""}));
    assert_true(misses_level_valid(&(struct misses_level){4096, 0, 64, ""}));
    assert_false(misses_level_valid(&(struct misses_level){4096, 3, 64, ""}));
    assert_false(misses_level_valid(&(struct misses_level){4096, 8, 48, ""}));
    assert_false(misses_level_valid(&(struct misses_level){0, 0, 64, ""}));
    assert_false(misses_level_valid(&(struct misses_level){100, 0, 64, ""}));
}

/* ---- returns to a set ------------------------------------------------------------------------------------------ */

static int64_t count_steps(const struct geometry *geometry, int64_t offset, int64_t stride,
                           int64_t most)
{
    for (int64_t i = 0; i < most; i++)
        if (modulo(offset + i * stride, geometry->span) < (int64_t)geometry->line_bytes)
            return i;
    return most;
}

/* Looked up and searched for, with spans that are powers of two, one that is none, and one of too many places. */
static void returns_are_those_that_steps_find(void **state)
{
    static const struct geometry geometries[] = {{32, 8, 1, 256},
                                                 {64, 1, 4, 64},
                                                 {64, 64, 8, 4096},
                                                 {64, 24, 4, 1536},
                                                 {64, 4096, 8, 262144}};
    static const int64_t strides[] = {0,     8,    -8,   4,      1,     -3,   64,
                                      72,    -64,  128,  4096,   -4096, 8800, 9600,
                                      -9600, 8192, 1536, 262144, 300000};
    struct base_random random = {7};
    uint64_t looked_up = 0, searched = 0;
    for (size_t i = 0; i < BASE_COUNT(geometries) * BASE_COUNT(strides); i++) {
        const struct geometry *geometry = &geometries[i / BASE_COUNT(strides)];
        struct returns returns;
        assert_true(returns_make(&returns, geometry, strides[i % BASE_COUNT(strides)]));
        for (int j = 0; j < 200; j++) {
            int64_t offset = between(&random, -100000, 1000000), most = between(&random, 1, 3000);
            int64_t found = returns_after(&returns, geometry, offset, most);
            assert_int_equal(found, count_steps(geometry, offset, returns.stride, most));
            assert_int_equal(found, returns_search(&returns, geometry, offset, most));
            *(returns.iterations ? &looked_up : &searched) += 1;
        }
        free(returns.iterations);
    }
    assert_true(looked_up > 5000 && searched > 3000);
    (void)state;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(returns_are_those_that_steps_find),
        cmocka_unit_test(walks_find_every_miss),
        cmocka_unit_test(intervals_hold_the_truth),
        cmocka_unit_test(results_do_not_depend_on_threads),
        cmocka_unit_test(conflicts_are_no_capacity_misses),
        cmocka_unit_test(full_associativity_has_no_conflicts),
        cmocka_unit_test(first_touches_are_cold),
        cmocka_unit_test(caches_have_whole_sets),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
