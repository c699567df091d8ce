// SPDX-License-Identifier: MIT
/*
 * Nests changed in all ways, as what Polly would print of them: executed with values that depend on everything read before, a change that
 * is called legal leaves the same memory, and one that is not leaves another.
 */
#include "polyhedra/change.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#define ARRAYS(text)          "Arrays {\n" text "}\nStatements {\n"
#define ARRAY(name)           "    double " name "[*]; // Element size 8\n"
#define SCALAR(name)          "    double " name "; // Element size 8\n"
#define STATEMENT(name, d, s) name "\nDomain :=\n{ " name d " };\nSchedule :=\n{ " name s " };\n"
#define READ(relation)        "ReadAccess :=\t[Reduction Type: NONE] [Scalar: 0]\n{ " relation " };\n"
#define WRITE(relation)                                                                            \
    "MustWriteAccess :=\t[Reduction Type: NONE] [Scalar: 0]\n{ " relation " };\n"
#define READ_SCALAR(relation)                                                                      \
    "ReadAccess :=\t[Reduction Type: NONE] [Scalar: 1]\n{ " relation " };\n"
#define WRITE_SCALAR(relation)                                                                     \
    "MustWriteAccess :=\t[Reduction Type: NONE] [Scalar: 1]\n{ " relation " };\n"

/* for i: { for j: C = ...; for k: for j: C += A * B; } */
static const char product[] =
    "Function: f\n" ARRAYS(ARRAY("MemRef0") ARRAY("MemRef1") ARRAY("MemRef2"))
        STATEMENT("Stmt0", "[i0, i1] : 0 <= i0 <= 4 and 0 <= i1 <= 5", "[i0, i1] -> [i0, 0, i1, 0]")
            WRITE("Stmt0[i0, i1] -> MemRef0[6i0 + i1]")
                STATEMENT("Stmt1", "[i0, i1, i2] : 0 <= i0 <= 4 and 0 <= i1 <= 3 and 0 <= i2 <= 5",
                          "[i0, i1, i2] -> [i0, 1, i1, i2]")
                    READ("Stmt1[i0, i1, i2] -> MemRef1[4i0 + i1]")
                        READ("Stmt1[i0, i1, i2] -> MemRef2[6i1 + i2]")
                            READ("Stmt1[i0, i1, i2] -> MemRef0[6i0 + i2]")
                                WRITE("Stmt1[i0, i1, i2] -> MemRef0[6i0 + i2]") "}\n";

/* A[i][j] = A[i - 1][j + 1] */
static const char crossed[] = "Function: f\n" ARRAYS(ARRAY("MemRef0"))
    STATEMENT("Stmt0", "[i0, i1] : 0 <= i0 <= 5 and 0 <= i1 <= 5", "[i0, i1] -> [i0, i1]")
        READ("Stmt0[i0, i1] -> MemRef0[8i0 + i1 + 1]")
            WRITE("Stmt0[i0, i1] -> MemRef0[8 + 8i0 + i1]") "}\n";

/* A[i][j] = A[i + 1][j - 1], whose only dependences are read -> write */
static const char ahead[] = "Function: f\n" ARRAYS(ARRAY("MemRef0"))
    STATEMENT("Stmt0", "[i0, i1] : 0 <= i0 <= 5 and 0 <= i1 <= 5", "[i0, i1] -> [i0, i1]")
        READ("Stmt0[i0, i1] -> MemRef0[8 + 8i0 + i1]")
            WRITE("Stmt0[i0, i1] -> MemRef0[1 + 8i0 + i1]") "}\n";

/* A[i + j] = B[i][j], whose only dependences are write -> write */
static const char again[] = "Function: f\n" ARRAYS(ARRAY("MemRef0") ARRAY("MemRef1"))
    STATEMENT("Stmt0", "[i0, i1] : 0 <= i0 <= 5 and 0 <= i1 <= 5", "[i0, i1] -> [i0, i1]")
        READ("Stmt0[i0, i1] -> MemRef1[6i0 + i1]") WRITE("Stmt0[i0, i1] -> MemRef0[i0 + i1]") "}\n";

/* A[i][j] = A[i - 1][j - 1] */
static const char diagonal[] = "Function: f\n" ARRAYS(ARRAY("MemRef0"))
    STATEMENT("Stmt0", "[i0, i1] : 0 <= i0 <= 5 and 0 <= i1 <= 5", "[i0, i1] -> [i0, i1]")
        READ("Stmt0[i0, i1] -> MemRef0[8i0 + i1]")
            WRITE("Stmt0[i0, i1] -> MemRef0[9 + 8i0 + i1]") "}\n";

/* for i: { x[i] = b[i]; for j < i: x[i] -= L[i][j] * x[j]; x[i] /= L[i][i]; } */
static const char solver[] = "Function: f\n" ARRAYS(ARRAY("MemRef0") ARRAY("MemRef1") ARRAY(
    "MemRef2")) STATEMENT("Stmt0", "[i0] : 0 <= i0 <= 6", "[i0] -> [i0, 0, 0]")
    READ("Stmt0[i0] -> MemRef1[i0]") WRITE("Stmt0[i0] -> MemRef0[i0]")
        STATEMENT("Stmt1", "[i0, i1] : 0 <= i0 <= 6 and 0 <= i1 < i0", "[i0, i1] -> [i0, 1, i1]")
            READ("Stmt1[i0, i1] -> MemRef2[7i0 + i1]") READ("Stmt1[i0, i1] -> MemRef0[i1]")
                READ("Stmt1[i0, i1] -> MemRef0[i0]") WRITE("Stmt1[i0, i1] -> MemRef0[i0]")
                    STATEMENT("Stmt2", "[i0] : 0 <= i0 <= 6", "[i0] -> [i0, 2, 0]")
                        READ("Stmt2[i0] -> MemRef2[8i0]") READ("Stmt2[i0] -> MemRef0[i0]")
                            WRITE("Stmt2[i0] -> MemRef0[i0]") "}\n";

/* for t: for i: for j: A[i][j] = A[i - 1][j] + A[i][j - 1] + A[i + 1][j] + A[i][j + 1] */
static const char in_place[] = "Function: f\n" ARRAYS(ARRAY("MemRef0"))
    STATEMENT("Stmt0", "[i0, i1, i2] : 0 <= i0 <= 2 and 1 <= i1 <= 4 and 1 <= i2 <= 4",
              "[i0, i1, i2] -> [i0, i1, i2]") READ("Stmt0[i0, i1, i2] -> MemRef0[6i1 + i2 - 6]")
        READ("Stmt0[i0, i1, i2] -> MemRef0[6i1 + i2 - 1]")
            READ("Stmt0[i0, i1, i2] -> MemRef0[6i1 + i2 + 1]")
                READ("Stmt0[i0, i1, i2] -> MemRef0[6i1 + i2 + 6]")
                    WRITE("Stmt0[i0, i1, i2] -> MemRef0[6i1 + i2]") "}\n";

/* for t: { for i, j: B = A around; for i, j: A = B; } */
static const char alternating[] = "Function: f\n" ARRAYS(ARRAY("MemRef0") ARRAY("MemRef1"))
    STATEMENT("Stmt0", "[i0, i1, i2] : 0 <= i0 <= 2 and 1 <= i1 <= 4 and 1 <= i2 <= 4",
              "[i0, i1, i2] -> [i0, 0, i1, i2]") READ("Stmt0[i0, i1, i2] -> MemRef0[6i1 + i2 - 1]")
        READ("Stmt0[i0, i1, i2] -> MemRef0[6i1 + i2 + 6]")
            WRITE("Stmt0[i0, i1, i2] -> MemRef1[6i1 + i2]")
                STATEMENT("Stmt1", "[i0, i1, i2] : 0 <= i0 <= 2 and 1 <= i1 <= 4 and 1 <= i2 <= 4",
                          "[i0, i1, i2] -> [i0, 1, i1, i2]")
                    READ("Stmt1[i0, i1, i2] -> MemRef1[6i1 + i2]")
                        WRITE("Stmt1[i0, i1, i2] -> MemRef0[6i1 + i2]") "}\n";

/* for i: { s = 0; for j: s += A[i][j]; y[i] = s; } */
static const char carried[] = "Function: f\n" ARRAYS(SCALAR("MemRef0__phi") ARRAY("MemRef1")
                                                         SCALAR("MemRef3__phi") ARRAY("MemRef4"))
    STATEMENT("Stmt0", "[i0] : 0 <= i0 <= 5",
              "[i0] -> [i0, 0, 0]") WRITE_SCALAR("Stmt0[i0] -> MemRef0__phi[]")
        STATEMENT("Stmt1", "[i0, i1] : 0 <= i0 <= 5 and 0 <= i1 <= 5", "[i0, i1] -> [i0, 1, i1]")
            WRITE_SCALAR("Stmt1[i0, i1] -> MemRef0__phi[]")
                READ_SCALAR("Stmt1[i0, i1] -> MemRef0__phi[]")
                    READ("Stmt1[i0, i1] -> MemRef1[6i0 + i1]")
                        WRITE_SCALAR("Stmt1[i0, i1] -> MemRef3__phi[]")
                            STATEMENT("Stmt2", "[i0] : 0 <= i0 <= 5", "[i0] -> [i0, 2, 0]")
                                READ_SCALAR("Stmt2[i0] -> MemRef3__phi[]")
                                    WRITE("Stmt2[i0] -> MemRef4[i0]") "}\n";

/* for i: for j: { s = A[i][j]; B[i][j] = s; }, in two blocks */
static const char within[] =
    "Function: f\n" ARRAYS(SCALAR("MemRef0") ARRAY("MemRef1") ARRAY("MemRef2"))
        STATEMENT("Stmt0", "[i0, i1] : 0 <= i0 <= 5 and 0 <= i1 <= 5", "[i0, i1] -> [i0, i1, 0]")
            READ("Stmt0[i0, i1] -> MemRef1[6i0 + i1]") WRITE_SCALAR("Stmt0[i0, i1] -> MemRef0[]")
                STATEMENT("Stmt1", "[i0, i1] : 0 <= i0 <= 5 and 0 <= i1 <= 5",
                          "[i0, i1] -> [i0, i1, 1]") READ_SCALAR("Stmt1[i0, i1] -> MemRef0[]")
                    WRITE("Stmt1[i0, i1] -> MemRef2[6i0 + i1]") "}\n";

/* ---- reading ------------------------------------------------------------------------------------------------- */

struct fixture {
    struct ir *ir;
    struct polyhedra *polyhedra;
    struct polyhedra_changes *changes;
    const struct polyhedra_group *groups;
    size_t groups_count;
};

static void set_up(struct fixture *fixture, const char *text)
{
    static const char module[] = "define void @f() {\n  ret void\n}\n";
    char error[POLYHEDRA_ERROR_BYTES];
    assert_int_equal(ir_read(module, strlen(module), &fixture->ir), BASE_OK);
    assert_int_equal(polyhedra_read(text, strlen(text), fixture->ir, &fixture->polyhedra, error),
                     BASE_OK);
    assert_int_equal(polyhedra_count(fixture->polyhedra), 1);
    assert_int_equal(polyhedra_changes_begin(fixture->polyhedra, 0, &fixture->changes, error),
                     BASE_OK);
    fixture->groups_count = polyhedra_changes_groups(fixture->changes, &fixture->groups);
}

static void tear_down(struct fixture *fixture)
{
    polyhedra_changes_free(fixture->changes);
    polyhedra_free(fixture->polyhedra);
    ir_free(fixture->ir);
}

/* ---- execution ------------------------------------------------------------------------------------------------- */

enum { CELLS = 512 };

struct memory {
    uint64_t cells[4][CELLS]; /* by array */
    uint64_t executed;        /* accesses */
};

static void execute_statement(const struct nest *nest, const struct nest_node *node,
                              const int64_t *iterators, struct memory *memory)
{
    uint64_t value = node->count ? nest->accesses[node->first].reference + 1 : 0;
    for (uint32_t i = 0; i < node->count; i++) {
        const struct nest_access *access = &nest->accesses[node->first + i];
        const struct nest_reference *reference = &nest->references[access->reference];
        int64_t at = nest_address(nest, access, iterators) - nest->arrays[reference->array].base;
        assert_true(at >= 0 && at % 8 == 0 && at / 8 < CELLS);
        uint64_t *cell = &memory->cells[reference->array][at / 8];
        if (reference->write)
            *cell = value;
        else
            value = base_mix64(value ^ base_mix64(*cell));
        memory->executed++;
    }
}

static void execute(const struct nest *nest, uint32_t index, int64_t *iterators,
                    struct memory *memory)
{
    const struct nest_node *node = &nest->nodes[index];
    if (node->kind == NEST_STATEMENT) {
        execute_statement(nest, node, iterators, memory);
        return;
    }
    if (node->kind == NEST_CONDITION && !nest_value(nest, node->lower, iterators))
        return;
    int64_t low = 0, high = 0, step = 1;
    if (node->kind == NEST_LOOP) {
        low = nest_value(nest, node->lower, iterators);
        high = nest_value(nest, node->upper, iterators);
        step = node->step;
    }
    for (int64_t i = low; i <= high; i += step) {
        if (node->kind == NEST_LOOP)
            iterators[node->slot] = i;
        for (uint32_t j = 0; j < node->count; j++)
            execute(nest, nest->children[node->first + j], iterators, memory);
    }
}

/* Rows may be longer: cells are then compared where they were. */
static void run(const struct polyhedra_changes *changes, const struct polyhedra_change *change,
                struct memory *memory)
{
    struct nest *nest;
    int64_t iterators[NEST_SLOTS] = {0};
    char error[POLYHEDRA_ERROR_BYTES] = "";
    enum base_status status = polyhedra_changes_nest(changes, change, &nest, error);
    assert_string_equal(error, "");
    assert_int_equal(status, BASE_OK);
    assert_true(nest_check(nest));
    nest_place(nest, 64);
    memory->executed = 0;
    for (size_t i = 0; i < 4; i++)
        for (size_t j = 0; j < CELLS; j++)
            memory->cells[i][j] = base_mix64(i * CELLS + j + 1);
    execute(nest, 0, iterators, memory);
    nest_free(nest);
}

/* ---- all changes -------------------------------------------------------------------------------------------------- */

struct outcome {
    unsigned legal, illegal;
};

static void hold(struct fixture *fixture, const struct polyhedra_change *change,
                 struct outcome *outcome)
{
    static struct memory before, after;
    run(fixture->changes, &(struct polyhedra_change){0}, &before);
    run(fixture->changes, change, &after);
    assert_int_equal(before.executed, after.executed);
    bool same = memcmp(before.cells, after.cells, sizeof before.cells) == 0;
    assert_int_equal(polyhedra_changes_legal(fixture->changes, change), same);
    *(same ? &outcome->legal : &outcome->illegal) += 1;
}

static void hold_tiles(struct fixture *fixture, struct polyhedra_change change, unsigned depth,
                       struct outcome *outcome)
{
    static const int64_t sizes[][3] = {{0, 0, 0}, {2, 2, 2}, {3, 3, 3}, {3, 0, 0}, {0, 2, 3}};
    for (size_t i = 0; i < BASE_COUNT(sizes); i++) {
        for (unsigned loop = change.kept; loop < depth; loop++)
            change.tiles[loop] = sizes[i][loop - change.kept];
        hold(fixture, &change, outcome);
    }
}

static void hold_all(const char *text, struct outcome *outcome)
{
    static const uint8_t orders[6][3] = {{0, 1, 2}, {1, 0, 2}, {0, 2, 1},
                                         {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
    struct fixture fixture;
    *outcome = (struct outcome){0};
    set_up(&fixture, text);
    for (size_t group = 0; group < fixture.groups_count; group++) {
        unsigned depth = fixture.groups[group].depth;
        for (unsigned kept = 0; kept + 2 <= depth; kept++)
            for (unsigned order = 0; order < (depth - kept == 3 ? 6 : 2); order++) {
                struct polyhedra_change change = {.reordered = true, .group = group, .kept = kept};
                for (unsigned i = 0; i < depth - kept; i++)
                    change.order[i] = (uint8_t)(kept + orders[order][i]);
                hold_tiles(&fixture, change, depth, outcome);
            }
    }
    tear_down(&fixture);
}

static void legal_changes_keep_what_is_computed(void **state)
{
    struct outcome outcome;
    hold_all(product, &outcome);
    assert_true(outcome.legal >= 30);
    assert_int_equal(outcome.illegal, 0);
    hold_all(crossed, &outcome);
    assert_true(outcome.illegal >= 5 && outcome.legal > 0);
    hold_all(ahead, &outcome);
    assert_true(outcome.illegal >= 5 && outcome.legal > 0);
    hold_all(again, &outcome);
    assert_true(outcome.illegal >= 5 && outcome.legal > 0);
    hold_all(diagonal, &outcome);
    assert_int_equal(outcome.illegal, 0);
    hold_all(solver, &outcome);
    assert_true(outcome.illegal > 0);
    hold_all(in_place, &outcome);
    assert_true(outcome.illegal > 0 && outcome.legal > 0);
    hold_all(alternating, &outcome);
    assert_true(outcome.illegal > 0 && outcome.legal > 0);
}

/* What a register carries from one iteration to the next has to stay in order; what stays within one does not. */
static void scalars_count(void **state)
{
    struct fixture fixture;
    struct polyhedra_change change = {.reordered = true, .order = {1, 0}};
    set_up(&fixture, carried);
    assert_int_equal(fixture.groups_count, 1);
    assert_int_equal(fixture.groups[0].shared, 1);
    assert_false(polyhedra_changes_legal(fixture.changes, &change));
    tear_down(&fixture);
    set_up(&fixture, within);
    assert_int_equal(fixture.groups_count, 1);
    assert_true(polyhedra_changes_legal(fixture.changes, &change));
    tear_down(&fixture);
}

/* ---- rows ----------------------------------------------------------------------------------------------------------- */

static int64_t last_byte(const struct fixture *fixture, const uint32_t *padding, size_t array)
{
    struct polyhedra_change change = {.padding = padding};
    struct nest *nest;
    char error[POLYHEDRA_ERROR_BYTES];
    assert_int_equal(polyhedra_changes_nest(fixture->changes, &change, &nest, error), BASE_OK);
    int64_t high = nest->arrays[array].high;
    nest_free(nest);
    return high;
}

static void rows_are_found_and_padded(void **state)
{
    struct fixture fixture;
    const uint32_t padding[3] = {2, 0, 5};
    set_up(&fixture, product);
    assert_int_equal(polyhedra_changes_row(fixture.changes, 0), 6);
    assert_int_equal(polyhedra_changes_row(fixture.changes, 1), 4);
    assert_int_equal(polyhedra_changes_row(fixture.changes, 2), 6);
    assert_int_equal(last_byte(&fixture, NULL, 0), 8 * 30);
    assert_int_equal(last_byte(&fixture, padding, 0), 8 * (4 * 8 + 6));
    assert_int_equal(last_byte(&fixture, padding, 1), 8 * 20);
    assert_int_equal(last_byte(&fixture, padding, 2), 8 * (3 * 11 + 6));
    tear_down(&fixture);
    set_up(&fixture, in_place);
    assert_int_equal(polyhedra_changes_row(fixture.changes, 0), 6);
    tear_down(&fixture);
    set_up(&fixture, solver);
    assert_int_equal(polyhedra_changes_row(fixture.changes, 0), 0);
    tear_down(&fixture);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(legal_changes_keep_what_is_computed),
        cmocka_unit_test(scalars_count),
        cmocka_unit_test(rows_are_found_and_padded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
