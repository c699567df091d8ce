// SPDX-License-Identifier: MIT
/*
 * A recording beside what was computed: which instruction is which reference of the nest, where arrays were, how often the nest was executed;
 * and values of variables from the memory that was touched.
 */
#include "predict/predict.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

/* ---- a product of matrices, by hand ------------------------------------------------------------------------- */

enum { SIDE = 10, LINE = 7, A = 0, B = 1, C = 2, STORE = 3, REFERENCES = 4 };

static void add_loop(struct nest *nest, uint32_t parent, uint32_t slot)
{
    uint32_t child = (uint32_t)nest->nodes_count + 1;
    struct nest_node loop = {.kind = NEST_LOOP,
                             .parent = parent,
                             .first = (uint32_t)nest->children_count,
                             .count = 1,
                             .slot = slot,
                             .lower = nest_constant(nest, 0),
                             .upper = nest_constant(nest, SIDE - 1),
                             .step = 1};
    assert_true(UTIL_PUSH(nest->nodes, nest->nodes_count, nest->nodes_capacity, loop));
    assert_true(UTIL_PUSH(nest->children, nest->children_count, nest->children_capacity, child));
}

static void add_reference(struct nest *nest, uint32_t array, uint32_t column, bool write,
                          const int64_t factors[3])
{
    struct nest_reference reference = {.array = array,
                                       .text = "x",
                                       .file = "product.c",
                                       .line = LINE,
                                       .column = column,
                                       .bytes = 8,
                                       .write = write};
    struct nest_access access = {
        .reference = (uint32_t)nest->references_count, .statement = 3, .bytes_offset = NEST_NONE};
    memcpy(access.affine.factors, factors, 3 * sizeof *factors);
    assert_true(
        UTIL_PUSH(nest->references, nest->references_count, nest->references_capacity, reference));
    assert_true(UTIL_PUSH(nest->accesses, nest->accesses_count, nest->accesses_capacity, access));
}

/* C[i][j] += A[i][k] * B[k][j], rows of B two elements longer. */
static struct nest *product(void)
{
    struct nest *nest = calloc(1, sizeof *nest);
    assert_non_null(nest);
    for (uint32_t i = 0; i < 3; i++)
        add_loop(nest, i ? i - 1 : NEST_NONE, i);
    struct nest_node statement = {.kind = NEST_STATEMENT, .parent = 2, .count = REFERENCES};
    assert_true(UTIL_PUSH(nest->nodes, nest->nodes_count, nest->nodes_capacity, statement));
    for (size_t i = 0; i < 3; i++) {
        struct nest_array array = {.name = i == A ? "A" : i == B ? "B" : "C", .element_bytes = 8};
        assert_true(UTIL_PUSH(nest->arrays, nest->arrays_count, nest->arrays_capacity, array));
    }
    add_reference(nest, A, 20, false, (const int64_t[]){8 * SIDE, 0, 8});
    add_reference(nest, B, 30, false, (const int64_t[]){0, 8, 8 * (SIDE + 2)});
    add_reference(nest, C, 10, false, (const int64_t[]){8 * SIDE, 8, 0});
    add_reference(nest, C, 10, true, (const int64_t[]){8 * SIDE, 8, 0});
    nest_finish(nest);
    nest_place(nest, 4096);
    assert_true(nest_check(nest));
    return nest;
}

/* ---- and its recording ------------------------------------------------------------------------------------------ */

static const struct misses_level level = {4096, 4, 64, "L1"};

static struct profile profile;
static struct profile_frame frames[8];
static struct profile_what_if_site sites[8];
static struct nest *nest;
static struct predict_recording found;

static void begin(void)
{
    profile = (struct profile){.frames = frames, .what_if_sites = sites};
    nest = product();
}

static void end(void)
{
    predict_recording_free(&found);
    nest_free(nest);
}

static void record(uint32_t column, bool store, uint64_t low, uint64_t bytes, uint64_t step)
{
    uint32_t at = (uint32_t)profile.what_if_sites_count++;
    frames[at] = (struct profile_frame){
        .file = "/home/product.c", .line = LINE, .column = column, .address = 0x1000 + 4 * at};
    sites[at] = (struct profile_what_if_site){.frame = at,
                                              .store = store,
                                              .bytes = level.bytes,
                                              .ways = level.ways,
                                              .line_bytes = level.line_bytes,
                                              .accesses = 3 * SIDE * SIDE * SIDE,
                                              .misses = 100 + at,
                                              .moved_bytes = 24 * SIDE * SIDE * SIDE,
                                              .low = low,
                                              .end = low + bytes,
                                              .step = step};
}

enum { ROWS = 8 * SIDE * SIDE, LONGER = 8 * ((SIDE - 1) * (SIDE + 2) + SIDE) };

/* The loads of the product, and its store somewhere. */
static void record_product(uint64_t stored)
{
    record(20, false, 0x70000, ROWS, 8);
    record(10, false, 0x90000, ROWS, 8);
    record(30, false, 0x50000, LONGER, 8 * (SIDE + 2));
    record(10, true, stored, ROWS, 8);
}

static void match(void)
{
    assert_int_equal(predict_match(&profile, &level, nest, &found), BASE_OK);
}

/* A and C have the same length and steps: which is which follows from their order. B has others; there is one store. */
static void instructions_are_found(void **state)
{
    begin();
    record_product(0x90000);
    match();
    static const uint64_t misses[REFERENCES] = {100, 102, 101, 103};
    for (size_t i = 0; i < REFERENCES; i++) {
        assert_true(found.references[i].known);
        assert_int_equal(found.references[i].misses, misses[i]);
    }
    assert_int_equal(nest->arrays[A].base, 0x70000);
    assert_int_equal(nest->arrays[B].base, 0x50000);
    assert_int_equal(nest->arrays[C].base, 0x90000);
    struct misses_reference references[REFERENCES] = {{.accesses = SIDE * SIDE * SIDE},
                                                      {.accesses = SIDE * SIDE * SIDE},
                                                      {.accesses = SIDE * SIDE * SIDE},
                                                      {.accesses = SIDE * SIDE * SIDE}};
    struct misses_result result = {.references = references, .count = REFERENCES};
    predict_executions(nest, &result, &found);
    assert_true(found.executions == 3);
    end();
    (void)state;
}

/* Another size, other steps, another cache, another line: none of them is a reference of the nest. */
static void others_are_not(void **state)
{
    for (int i = 0; i < 4; i++) {
        begin();
        record(30, false, 0x50000, LONGER + (i == 0 ? 8 : 0), 8 * (SIDE + (i == 1 ? 3 : 2)));
        sites[0].ways += i == 2;
        frames[0].line += i == 3;
        int64_t base = nest->arrays[B].base;
        match();
        assert_false(found.references[B].known);
        assert_int_equal(nest->arrays[B].base, base);
        end();
    }
    (void)state;
}

/* A load and a store of C that lie apart are not of one array. */
static void arrays_have_one_place(void **state)
{
    begin();
    record_product(0xa0000);
    match();
    assert_true(found.references[A].known && found.references[B].known);
    assert_false(found.references[C].known || found.references[STORE].known);
    end();
    (void)state;
}

/* A body that the compiler has twice, for even and odd iterations, and vectors of four. */
static void copies_of_a_body_are_one(void **state)
{
    begin();
    record(30, false, 0x50000, LONGER - 8 * (SIDE + 2), 16 * (SIDE + 2));
    record(30, false, 0x50000 + 8 * (SIDE + 2), LONGER - 8 * (SIDE + 2), 16 * (SIDE + 2));
    match();
    assert_true(found.references[B].known);
    assert_int_equal(found.references[B].misses, 100 + 101);
    assert_int_equal(nest->arrays[B].base, 0x50000);
    end();
    (void)state;
}

/* ---- values ---------------------------------------------------------------------------------------------------------- */

struct formula {
    int64_t n, m;    /* what was recorded */
    bool constant;   /* m has no effect */
    unsigned trials; /* made */
};

static bool needs(void *context, const struct predict_value *values, size_t count, char *name)
{
    static const char *const names[] = {"n", "m"};
    (void)context;
    for (size_t i = 0; i < count; i++)
        assert_string_equal(values[i].name, names[i]);
    if (count < BASE_COUNT(names))
        strcpy(name, names[count]);
    return count < BASE_COUNT(names);
}

static size_t gauges_of(void *context, const struct predict_value *values, size_t count,
                        struct predict_gauge *gauges, size_t most)
{
    struct formula *formula = context;
    int64_t n = values[0].value, m = formula->constant ? 1 : values[1].value;
    assert_true(count == 2 && most >= 2);
    formula->trials++;
    gauges[0] = (struct predict_gauge){3, false, 8 * n * n - 16 * n,
                                       8 * formula->n * formula->n - 16 * formula->n};
    gauges[1] =
        (struct predict_gauge){4, true, 8 * m + 40, 8 * (formula->constant ? 1 : formula->m) + 40};
    return 2;
}

static void values_fit_the_memory(void **state)
{
    static const int64_t sizes[] = {12, 25, 47, 48, 49, 1000, 65537};
    for (size_t i = 0; i < BASE_COUNT(sizes); i++) {
        struct formula formula = {.n = sizes[i], .m = 7 * sizes[i] + 1};
        struct predict_value values[PREDICT_VALUES];
        const struct predict_trial trial = {needs, gauges_of, &formula};
        assert_int_equal(predict_find_values(&trial, values), 2);
        assert_true(values[0].found && values[1].found);
        assert_int_equal(values[0].value, formula.n);
        assert_int_equal(values[1].value, formula.m);
        assert_true(formula.trials < 30);
    }
    (void)state;
}

static void values_without_effect_stay_unknown(void **state)
{
    struct formula formula = {.n = 100, .m = 30, .constant = true};
    struct predict_value values[PREDICT_VALUES];
    const struct predict_trial trial = {needs, gauges_of, &formula};
    assert_int_equal(predict_find_values(&trial, values), 2);
    assert_true(values[0].found && !values[1].found);
    assert_int_equal(values[0].value, 100);
    (void)state;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(instructions_are_found),
        cmocka_unit_test(others_are_not),
        cmocka_unit_test(arrays_have_one_place),
        cmocka_unit_test(copies_of_a_body_are_one),
        cmocka_unit_test(values_fit_the_memory),
        cmocka_unit_test(values_without_effect_stay_unknown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
