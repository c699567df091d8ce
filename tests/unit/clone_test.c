// SPDX-License-Identifier: MIT
/*
 * clone: clones of real loops, as compilers make them, run in place of the loops: they make as many iterations, leave by the same exit,
 * write no memory of the program, and what cannot be cloned has its reason.
 */
#include "clone/internal.h"
#include "clone/runner.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

enum { COUNT = 2048, LOOPS = 8 };

static struct model *model;
static double *arrays[4]; /* a, b, c, and a as the kernel leaves it alone */

static int start(void **state)
{
    if (cfg_start() != BASE_OK || model_open("zen3", &model, NULL) != BASE_OK)
        return -1;
    for (unsigned i = 0; i < 4; i++)
        arrays[i] = aligned_alloc(64, (COUNT + 64) * sizeof **arrays);
    return 0;
}

static int stop(void **state)
{
    model_close(model);
    for (unsigned i = 0; i < 4; i++)
        free(arrays[i]);
    return 0;
}

static void set_arrays(void)
{
    for (unsigned i = 0; i < COUNT + 64; i++) {
        arrays[0][i] = 1 + i % 3;
        arrays[1][i] = 1 + i % 7;
        arrays[2][i] = .5 + i % 5;
    }
}

static uint64_t look(void *context)
{
    return base_hash_bytes(arrays[0], COUNT * sizeof **arrays, 1) ^
           base_hash_bytes(arrays[1], COUNT * sizeof **arrays, 2);
}

/* Registers that address memory, and the counter: those whose values the clone has as well. */
static uint32_t followed(const struct wire_clone *made)
{
    uint32_t registers = made->step ? 1U << made->counter : 0;
    for (uint32_t i = 0; i < made->fills; i++) {
        const struct wire_clone_fill *fill = &wire_clone_fills(made)[i];
        registers |= fill->base >= 0 ? 1U << fill->base : 0;
        registers |= fill->index >= 0 ? 1U << fill->index : 0;
    }
    return registers;
}

/* What the kernel does by itself, and with a clone or its loop's twin in between. */
static void run_with(const struct kernel *kernel, const struct runner_loop *loop, int what,
                     struct runner_seen *seen)
{
    struct runner_call call = {
        arrays[0] + 8, arrays[1] + 8, arrays[2] + 8, COUNT - 3, what == RUN_CLONE ? 3 : 1,
        what,          look,          NULL};
    set_arrays();
    kernel->run(call.a, call.b, call.c, call.n);
    memcpy(arrays[3], arrays[0], COUNT * sizeof **arrays);
    set_arrays();
    runner_run(kernel, loop, &call, seen);
    assert_memory_equal(arrays[3], arrays[0], COUNT * sizeof **arrays);
}

static void run_loop(const struct kernel *kernel, const struct runner_loop *loop, bool *moved)
{
    struct runner_seen seen, twin;
    run_with(kernel, loop, RUN_CLONE, &seen);
    run_with(kernel, loop, RUN_TWIN, &twin);
    assert_int_equal(seen.entered, twin.entered);
    if (!seen.entered)
        return;
    assert_true(seen.filled);
    assert_true(seen.before == seen.after);
    assert_true(seen.cloned_exit == seen.original_exit);
    assert_true(twin.cloned_exit == seen.original_exit);
    uint32_t registers = followed(loop->clone.made);
    for (unsigned r = 0; r < BASE_GENERAL_REGISTERS; r++) {
        /* What the kernel does not use is what its callers have left. */
        if (r != BASE_RSP && twin.head[r] == seen.head[r])
            assert_true(twin.cloned[r] == seen.original[r]);
        if (registers >> r & 1) {
            assert_true(seen.cloned[r] == seen.original[r]);
            *moved |= seen.head[r] != seen.original[r];
        }
    }
}

/* The loop, executed as a copy, begins at the place in a line of code that it has in the program. */
static void lies_as_before(const struct runner_loop *loop, const struct clone_copy *copy)
{
    const struct cfg *flow = loop->flow;
    uint64_t first = UINT64_MAX;
    bool found = false;
    for (uint32_t b = 0; b < flow->blocks_count; b++)
        if (flow->blocks[b].loop == loop->loop && flow->blocks[b].start < first)
            first = flow->blocks[b].start;
    for (size_t p = 0; p < copy->place_count; p++)
        found |= copy->places[p].address == first && copy->places[p].at % 64 == first % 64;
    assert_true(found);
}

static void each_kernel(const struct kernel *kernel)
{
    struct runner_loop loops[LOOPS];
    unsigned count = runner_loops(kernel, model, loops, LOOPS);
    bool expected = false, moved = false;
    assert_true(count > 0);
    for (unsigned l = 0; l < count; l++) {
        const struct clone *clone = &loops[l].clone;
        expected |= clone->reason == kernel->reason;
        if (clone->reason != CLONE_ELIGIBLE) {
            assert_null(clone->made);
            continue;
        }
        assert_true(wire_clone_check(clone->made, clone->made->bytes));
        lies_as_before(&loops[l], &clone->twin);
        run_loop(kernel, &loops[l], &moved);
    }
    if (!expected)
        print_error("%s: %s\n", kernel->name, clone_reason_text(loops[0].clone.reason));
    assert_true(expected);
    assert_true(moved || kernel->reason != CLONE_ELIGIBLE);
    for (unsigned l = 0; l < count; l++)
        runner_loop_end(&loops[l]);
}

static void kernels_are_cloned_or_have_a_reason(void **state)
{
    for (unsigned k = 0; k < kernel_count; k++)
        each_kernel(&kernels[k]);
}

/* ---- recurrences --------------------------------------------------------------------------------------- */

static const struct kernel *kernel_named(const char *name)
{
    unsigned k = 0;
    while (strcmp(kernels[k].name, name) != 0)
        k++;
    return &kernels[k];
}

/* Made step by step as clone_of does, but between lines and code `plant` has its way. */
static enum clone_reason reason_with(const char *name, void (*plant)(struct body *body))
{
    struct runner_loop loop;
    struct clone out = {0};
    struct emitted emitted = {0};
    assert_int_equal(runner_loops(kernel_named(name), model, &loop, 1), 1);
    struct clone_request request = {loop.flow, &loop.code, loop.loop, model};
    struct body *body = calloc(1, sizeof *body);
    *body = (struct body){.request = &request, .out = &out};
    assert_true(body_collect(body) && data_is_apart(body) && ways_find(body) &&
                compare_begin(body));
    body->copies = 1;
    assert_true(lines_assign(body));
    plant(body);
    assert_true(emit_clone(body, &emitted));
    bool kept = compare_end(body, &emitted);
    assert_true(kept == (out.reason == CLONE_ELIGIBLE));
    free(emitted.starts);
    free(emitted.clone);
    body_free(body);
    free(body);
    runner_loop_end(&loop);
    return out.reason;
}

static void leave(struct body *body)
{
    assert_true(body->operand_count >= 2);
}

/* What is loaded is what was stored an iteration ago. */
static void link_all(struct body *body)
{
    for (size_t o = 0; o < body->operand_count; o++)
        body->operands[o].at[0] = 0;
}

static void part_all(struct body *body)
{
    for (size_t o = 0; o < body->operand_count; o++)
        body->operands[o].at[0] = (uint16_t)(WIRE_CLONE_LINE * o);
}

static void recurrences_made_or_lost_are_refused(void **state)
{
    assert_int_equal(reason_with("single", leave), CLONE_ELIGIBLE);
    assert_int_equal(reason_with("single", link_all), CLONE_RECURRENCE_MADE);
    assert_int_equal(reason_with("recurrence", leave), CLONE_ELIGIBLE);
    assert_int_equal(reason_with("recurrence", part_all), CLONE_RECURRENCE_LOST);
}

/* ---- nests --------------------------------------------------------------------------------------------- */

/* From the first entry of an inner loop to the end of the kernel, or to where the nest is left for a call. */
static void each_nest(const struct kernel *kernel)
{
    struct runner_loop loops[LOOPS];
    unsigned count = runner_loops(kernel, model, loops, LOOPS), nests_run = 0;
    for (unsigned l = 0; l < count; l++) {
        struct runner_seen seen;
        const struct wire_clone *code = loops[l].clone.nest.code;
        if (code) {
            assert_true(wire_clone_check(code, code->bytes));
            assert_true(loops[l].clone.nest_loop != loops[l].loop);
            lies_as_before(&loops[l], &loops[l].clone.nest);
            run_with(kernel, &loops[l], RUN_NEST, &seen);
            assert_true(seen.entered && seen.executions > 4);
            assert_true(seen.progress && seen.progress % code->step == 0);
            assert_true(seen.progress / code->step >= (int64_t)seen.executions);
            nests_run++;
        }
        runner_loop_end(&loops[l]);
    }
    assert_true(nests_run > 0);
}

static void nests_are_what_the_program_has(void **state)
{
    for (unsigned k = 0; k < nest_count; k++)
        each_nest(&nests[k]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kernels_are_cloned_or_have_a_reason),
        cmocka_unit_test(recurrences_made_or_lost_are_refused),
        cmocka_unit_test(nests_are_what_the_program_has),
    };
    return cmocka_run_group_tests_name("clone", tests, start, stop);
}
