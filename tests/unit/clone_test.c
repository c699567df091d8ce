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

static void call_with(const struct kernel *kernel, const struct runner_loop *loop,
                      const struct runner_call *call, struct runner_seen *seen)
{
    set_arrays();
    kernel->run(call->a, call->b, call->c, call->n);
    memcpy(arrays[3], arrays[0], COUNT * sizeof **arrays);
    set_arrays();
    runner_run(kernel, loop, call, seen);
    assert_memory_equal(arrays[3], arrays[0], COUNT * sizeof **arrays);
}

/* What the kernel does by itself, and with a clone or its loop's twin in between. */
static void run_with(const struct kernel *kernel, const struct runner_loop *loop, int what,
                     struct runner_seen *seen)
{
    struct runner_call call = {.a = arrays[0] + 8,
                               .b = arrays[1] + 8,
                               .c = arrays[2] + 8,
                               .n = COUNT - 3,
                               .repeat = what == RUN_CLONE ? 3 : 1,
                               .what = what,
                               .look = look};
    call_with(kernel, loop, &call, seen);
}

static void run_variant(const struct kernel *kernel, const struct runner_loop *loop,
                        enum clone_variant variant, unsigned repeat, struct runner_seen *seen)
{
    struct runner_call call = {.a = arrays[0] + 8,
                               .b = arrays[1] + 8,
                               .c = arrays[2] + 8,
                               .n = COUNT - 3,
                               .repeat = repeat,
                               .variant = variant,
                               .what = RUN_CLONE,
                               .look = look};
    call_with(kernel, loop, &call, seen);
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

/* The loop, executed as a copy, begins at the place in a line of code that it has in the program, or a line, where it would be in more. */
static void lies_as_before(const struct runner_loop *loop, const struct clone_copy *copy)
{
    const struct cfg *flow = loop->flow;
    uint64_t first = UINT64_MAX;
    bool found = false;
    for (uint32_t b = 0; b < flow->blocks_count; b++)
        if (flow->blocks[b].loop == loop->loop && flow->blocks[b].start < first)
            first = flow->blocks[b].start;
    for (size_t p = 0; p < copy->place_count; p++)
        found |= copy->places[p].address == first &&
                 (copy->places[p].at % 64 == first % 64 || copy->places[p].at % 64 == 0);
    assert_true(found);
}

static unsigned
    branches_moved_back; /* where operands got longer, and the branch lies as before all the same */

/* Of a clone of one block: its branch is at the place in a line of code that it has in the program, or its first instruction, or that begins a line. */
static void closes_as_before(const struct runner_loop *loop)
{
    const struct wire_clone *made = loop->clone.made;
    const struct cfg *flow = loop->flow;
    const struct cfg_block *block = flow->blocks;
    struct bounds_block original = {0}, here = {0};
    uint8_t *code = malloc(made->code_bytes);
    unsigned blocks = 0, branches = 0;
    size_t bad, first = SIZE_MAX, last = 0;
    for (uint32_t b = 0; b < flow->blocks_count; b++)
        if (flow->blocks[b].loop == loop->loop && ++blocks)
            block = &flow->blocks[b];
    wire_clone_place(made, 0x10000, 0, 0, code);
    assert_int_equal(bounds_decode(code + made->loop_start, made->loop_end - made->loop_start,
                                   made->loop_start, false, &here, &bad),
                     BASE_OK);
    assert_int_equal(bounds_decode((const uint8_t *)(uintptr_t)block->start,
                                   (size_t)(block->end - block->start), block->start, false,
                                   &original, &bad),
                     BASE_OK);
    uint64_t closes = original.instructions[original.count - 1].address;
    for (size_t i = 0; i < here.count; i++)
        if (here.instructions[i].branches && ++branches) {
            last = here.instructions[i].address;
            first = i + 1 < original.count ? SIZE_MAX
                                           : here.instructions[i + 1 - original.count].address;
        }
    if (blocks == 1 && branches == 1 && here.count >= original.count && first != SIZE_MAX) {
        bool same = last % 64 == closes % 64, starts = first % 64 == block->start % 64;
        assert_true(same || starts || first % 64 == 0);
        branches_moved_back += same && !starts;
    }
    bounds_block_free(&original);
    bounds_block_free(&here);
    free(code);
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
        closes_as_before(&loops[l]);
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
    assert_true(branches_moved_back > 0);
}

static const struct kernel *kernel_named(const char *name)
{
    unsigned k = 0;
    while (strcmp(kernels[k].name, name) != 0)
        k++;
    return &kernels[k];
}

/* ---- variants ------------------------------------------------------------------------------------------- */

/* What the clone's code does between its time stamps: how often it has a word in it. */
static unsigned count_in(const struct wire_clone *made, const char *word)
{
    struct bounds_block block = {0};
    uint8_t *code = malloc(made->code_bytes);
    unsigned found = 0;
    size_t bad;
    wire_clone_place(made, 0x10000, 0, 0, code);
    assert_int_equal(bounds_decode(code + made->loop_start, made->loop_end - made->loop_start,
                                   made->loop_start, true, &block, &bad),
                     BASE_OK);
    for (size_t i = 0; i < block.count; i++)
        found += strstr(block.instructions[i].text, word) != NULL;
    bounds_block_free(&block);
    free(code);
    return found;
}

/* Addresses of the yard, likewise. */
static unsigned accesses_in(const struct wire_clone *made)
{
    unsigned found = 0;
    for (uint32_t i = 0; i < made->fixups; i++)
        found += wire_clone_fixups(made)[i].at >= made->loop_start &&
                 wire_clone_fixups(made)[i].at < made->loop_end;
    return found;
}

static void each_variant(const struct kernel *kernel, const struct runner_loop *loop,
                         enum clone_variant variant)
{
    const struct wire_clone *made = loop->clone.variants[variant];
    struct runner_seen seen, twin;
    assert_true(wire_clone_check(made, made->bytes));
    run_with(kernel, loop, RUN_TWIN, &twin);
    run_variant(kernel, loop, variant, 3, &seen);
    assert_int_equal(seen.entered, twin.entered);
    if (!seen.entered)
        return;
    assert_true(seen.filled && seen.before == seen.after);
    assert_true(seen.cloned_exit == seen.original_exit);
    if (made->step && seen.cloned[made->counter] != seen.original[made->counter])
        print_error("%s, %s\n", kernel->name, clone_variant_id(variant));
    if (made->step)
        assert_true(seen.cloned[made->counter] == seen.original[made->counter]);
}

/* Those that cannot be had say why, and no others. */
static void variants_make_as_many_iterations(void **state)
{
    unsigned made[CLONE_VARIANTS] = {0};
    for (unsigned k = 0; k < kernel_count; k++) {
        struct runner_loop loops[LOOPS];
        unsigned count = runner_loops(&kernels[k], model, loops, LOOPS);
        for (unsigned l = 0; l < count; l++) {
            for (unsigned v = CLONE_L2; v < CLONE_VARIANTS && loops[l].clone.made; v++) {
                bool lacks = loops[l].clone.lacks[v] != CLONE_LACKS_NOTHING;
                assert_true(lacks == !loops[l].clone.variants[v]);
                if (lacks)
                    print_message("# %s, %s: %s\n", kernels[k].name,
                                  clone_variant_id((enum clone_variant)v),
                                  clone_lack_text((enum clone_lack)loops[l].clone.lacks[v]));
                else
                    each_variant(&kernels[k], &loops[l], (enum clone_variant)v);
                made[v] += !lacks;
            }
            runner_loop_end(&loops[l]);
        }
    }
    for (unsigned v = CLONE_L2; v < CLONE_VARIANTS; v++)
        assert_true(made[v] >= 20);
}

/* The loop with most instructions, which a compiler has made vectors of. */
static struct runner_loop main_loop(const char *name)
{
    struct runner_loop loops[LOOPS], kept = {0};
    unsigned count = runner_loops(kernel_named(name), model, loops, LOOPS);
    for (unsigned l = 0; l < count; l++)
        if (loops[l].clone.made &&
            (!kept.flow || loops[l].clone.instructions > kept.clone.instructions)) {
            if (kept.flow)
                runner_loop_end(&kept);
            kept = loops[l];
        } else {
            runner_loop_end(&loops[l]);
        }
    assert_non_null(kept.flow);
    return kept;
}

static void loops_have_all_variants(void **state)
{
    static const char *const names[] = {"triad",   "axpy",       "divide", "horner",
                                        "stencil", "recurrence", "further"};
    for (unsigned k = 0; k < BASE_COUNT(names); k++) {
        struct runner_loop loop = main_loop(names[k]);
        for (unsigned v = CLONE_L2; v < CLONE_VARIANTS; v++)
            assert_non_null(loop.clone.variants[v]);
        runner_loop_end(&loop);
    }
}

static void loads_and_stores_have_no_arithmetic(void **state)
{
    struct runner_loop loop = main_loop("horner");
    assert_true(count_in(loop.clone.made, "mul") >= 3);
    assert_int_equal(count_in(loop.clone.variants[CLONE_LS], "mul"), 0);
    assert_int_equal(count_in(loop.clone.variants[CLONE_LS], "adds"), 0);
    assert_int_equal(accesses_in(loop.clone.variants[CLONE_LS]), loop.clone.operands);
    runner_loop_end(&loop);
}

static void arithmetic_has_no_loads_and_stores(void **state)
{
    static const char *const names[] = {"horner", "divide", "triad", "single"};
    for (unsigned k = 0; k < BASE_COUNT(names); k++) {
        struct runner_loop loop = main_loop(names[k]);
        assert_int_equal(accesses_in(loop.clone.variants[CLONE_FP]), 0);
        runner_loop_end(&loop);
    }
    struct runner_loop loop = main_loop("divide");
    assert_int_equal(count_in(loop.clone.variants[CLONE_FP], "div"),
                     count_in(loop.clone.made, "div"));
    runner_loop_end(&loop);
}

/* Runs of it pass all lines that a stream's buffer has, and nothing beside them; loads find what the program has at first. */
static void walks_pass_all_lines(void **state)
{
    static const unsigned levels[] = {CLONE_L2, CLONE_L3};
    struct runner_loop loop = main_loop("numbers");
    for (unsigned i = 0; i < BASE_COUNT(levels); i++) {
        const struct wire_clone *made = loop.clone.variants[levels[i]];
        struct runner_seen seen;
        uint32_t untouched = 0, bytes = levels[i] == CLONE_L2 ? RUNNER_L2_BYTES : RUNNER_L3_BYTES;
        run_variant(kernel_named("numbers"), &loop, (enum clone_variant)levels[i], 200, &seen);
        assert_true(seen.laps > 0);
        for (uint32_t b = 0; b < made->walk_bytes; b += 64)
            untouched += runner_buffers()[b + 1] == 0x5a && runner_buffers()[b + 9] == 0x5a;
        /* a stream's buffer is so many steps, and a step may be some hundred bytes */
        assert_in_range(made->walk_bytes - untouched * 64, bytes - 2048, bytes + 4096);
    }
    runner_loop_end(&loop);
    loop = main_loop("single");
    assert_int_equal(loop.clone.variants[CLONE_L2]->walks, 2);
    runner_loop_end(&loop);
}

/* ---- recurrences --------------------------------------------------------------------------------------- */

/* Made step by step as clone_of does, but between lines and code `plant` has its way. */
static enum clone_reason reason_with(const char *name, void (*plant)(struct body *body))
{
    struct runner_loop loop;
    struct clone out = {0};
    struct emitted emitted = {0};
    assert_int_equal(runner_loops(kernel_named(name), model, &loop, 1), 1);
    struct clone_request request = {
        .flow = loop.flow, .code = &loop.code, .loop = loop.loop, .model = model};
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

/* From the first entry of an inner loop to the end of the kernel, or to where the nest is left for a call. How many loops have a counter. */
static unsigned each_nest(const struct kernel *kernel)
{
    struct runner_loop loops[LOOPS];
    unsigned count = runner_loops(kernel, model, loops, LOOPS), nests_run = 0, counted = 0;
    for (unsigned l = 0; l < count; l++) {
        struct runner_seen seen;
        const struct wire_clone *code = loops[l].clone.nest.code;
        if (code) {
            assert_true(wire_clone_check(code, code->bytes));
            assert_true(loops[l].clone.nest_loop != loops[l].loop);
            lies_as_before(&loops[l], &loops[l].clone.nest);
            run_with(kernel, &loops[l], RUN_NEST, &seen);
            assert_true(seen.entered && seen.executions > 4);
            if (code->step) { /* else it has no counter: compilers differ */
                assert_true(seen.progress && seen.progress % code->step == 0);
                assert_true(seen.progress / code->step >= (int64_t)seen.executions);
                counted++;
            }
            nests_run++;
        }
        runner_loop_end(&loops[l]);
    }
    assert_true(nests_run > 0);
    return counted;
}

static void nests_are_what_the_program_has(void **state)
{
    for (unsigned k = 0; k < nest_count; k++)
        assert_true(each_nest(&nests[k]) > 0);
    unsigned counted = 0;
    for (unsigned k = 0; k < near_count; k++)
        counted += each_nest(&nears[k]) > 0;
    assert_true(counted > near_count / 2);
}

/* ---- outcomes ------------------------------------------------------------------------------------------- */

static uint64_t next_random(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return *state >> 33;
}

static unsigned planted; /* where b is -1; 0: nowhere */

static void run_chance(const struct kernel *kernel, const struct runner_loop *loop,
                       const struct runner_call *what, struct runner_seen *seen)
{
    struct runner_call call = *what;
    call.a = arrays[0] + 8;
    call.b = arrays[1] + 8;
    call.c = arrays[2] + 8;
    call.n = COUNT - 3;
    call.look = look;
    call.repeat = call.repeat ? call.repeat : 1;
    uint64_t state = 1;
    for (int alone = 1; alone >= 0; alone--) {
        set_arrays();
        for (unsigned i = 0; i < COUNT; i++)
            arrays[1][i] = (double)next_random(&state) * 0x1p-31;
        if (planted)
            arrays[1][8 + planted] = -1;
        state = 1;
        if (alone) {
            kernel->run(call.a, call.b, call.c, call.n);
            memcpy(arrays[3], arrays[0], COUNT * sizeof **arrays);
        } else {
            runner_run(kernel, loop, &call, seen);
        }
    }
    assert_memory_equal(arrays[3], arrays[0], COUNT * sizeof **arrays);
}

/* With the outcomes of the same execution a clone comes to the same end: so do those of these registers that the loop changes. */
static bool comes_to_the_same(const struct runner_seen *seen, uint32_t registers)
{
    bool same = seen->cloned_exit == seen->original_exit;
    for (unsigned r = 0; r < BASE_GENERAL_REGISTERS; r++)
        if (registers >> r & 1 && seen->head[r] != seen->original[r])
            same &= seen->cloned[r] == seen->original[r];
    return same;
}

static void each_chance(const struct kernel *kernel, const struct runner_loop *loop)
{
    struct runner_seen twin, recorded, seen;
    assert_int_equal(loop->clone.reason, CLONE_ELIGIBLE);
    assert_int_equal(loop->clone.outcomes, kernel->outcomes);
    assert_true(wire_clone_check(loop->clone.made, loop->clone.made->bytes));
    run_chance(kernel, loop, &(struct runner_call){.what = RUN_TWIN}, &twin);
    run_chance(kernel, loop, &(struct runner_call){.what = RUN_RECORDER}, &recorded);
    assert_true(recorded.entered && recorded.cloned_exit == twin.cloned_exit);
    assert_memory_equal(recorded.cloned, twin.cloned, sizeof twin.cloned);
    assert_in_range(recorded.recorded, COUNT - 5, COUNT);
    for (int twice = 0; twice < 2; twice++) {
        run_chance(kernel, loop, &(struct runner_call){.twice = twice}, &seen);
        assert_true(seen.entered && seen.filled && seen.before == seen.after);
        assert_true(comes_to_the_same(&seen, followed(loop->clone.made)));
        for (unsigned r = 0; r < BASE_GENERAL_REGISTERS; r++)
            if (r != BASE_RSP && twin.head[r] == seen.head[r])
                assert_true(twin.cloned[r] == seen.original[r]);
        run_chance(kernel, loop, &(struct runner_call){.twice = twice, .repeat = 30}, &seen);
        assert_true(seen.before == seen.after && seen.cloned_exit == seen.original_exit);
        assert_true(seen.cloned[loop->clone.made->counter] ==
                    seen.original[loop->clone.made->counter]);
    }
    for (unsigned v = CLONE_L2; v < CLONE_VARIANTS; v++)
        if (loop->clone.variants[v]) {
            run_chance(kernel, loop, &(struct runner_call){.variant = v}, &seen);
            assert_true(seen.before == seen.after && seen.cloned_exit == seen.original_exit);
        } else {
            print_message("# %s, %s: %s\n", kernel->name, clone_variant_id((enum clone_variant)v),
                          clone_lack_text((enum clone_lack)loop->clone.lacks[v]));
        }
}

/* Runs end where there are no more outcomes, and none follows. */
static void ends_with_its_outcomes(const struct kernel *kernel, const struct runner_loop *loop)
{
    const struct wire_clone *made = loop->clone.made;
    struct runner_seen seen;
    run_chance(kernel, loop, &(struct runner_call){.repeat = 5, .outcomes = 3 * (COUNT - 3) + 100},
               &seen);
    assert_true(seen.lapped);
    assert_int_equal(seen.left, 1);
    int64_t turns = (int64_t)(seen.cloned[made->counter] - seen.head[made->counter]) / made->step;
    assert_int_equal(turns, 100);
}

static void outcomes_are_recorded_and_replayed(void **state)
{
    for (unsigned k = 0; k < chance_count; k++) {
        struct runner_loop loop;
        assert_int_equal(runner_loops(&chances[k], model, &loop, 1), 1);
        if (loop.clone.reason || loop.clone.outcomes != chances[k].outcomes)
            print_error("%s: %s, %u\n", chances[k].name, clone_reason_text(loop.clone.reason),
                        loop.clone.outcomes);
        each_chance(&chances[k], &loop);
        ends_with_its_outcomes(&chances[k], &loop);
        runner_loop_end(&loop);
    }
}

static void replays_an_end(const struct kernel *kernel, const struct runner_loop *loop)
{
    struct runner_seen twin, recorded, seen;
    uint32_t counts = followed(loop->clone.made);
    assert_true(loop->clone.made->ends && loop->clone.twice->ends);
    run_chance(kernel, loop, &(struct runner_call){.what = RUN_TWIN}, &twin);
    run_chance(kernel, loop, &(struct runner_call){.what = RUN_RECORDER}, &recorded);
    assert_true(recorded.cloned_exit == twin.cloned_exit && recorded.recorded > 20);
    assert_memory_equal(recorded.cloned, twin.cloned, sizeof twin.cloned);
    for (int twice = 0; twice < 2; twice++) {
        run_chance(kernel, loop, &(struct runner_call){.twice = twice, .repeat = 3}, &seen);
        assert_true(seen.before == seen.after && !seen.lapped && !seen.left);
        assert_true(comes_to_the_same(&seen, counts));
    }
    run_chance(kernel, loop,
               &(struct runner_call){.repeat = 5, .outcomes = 7 * recorded.recorded / 2}, &seen);
    assert_true(seen.lapped && seen.left == 1);
}

/* Runs end where the recorded execution did, whatever counters say and data are; wherever that is. */
static void ends_are_replayed(void **state)
{
    static const unsigned places[] = {0, COUNT / 2, 30};
    for (unsigned k = 0; k < end_count; k++)
        for (unsigned p = 0; p < sizeof places / sizeof *places; p++) {
            struct runner_loop loop;
            planted = places[p];
            assert_int_equal(runner_loops(&ends[k], model, &loop, 1), 1);
            if (loop.clone.reason || loop.clone.outcomes != ends[k].outcomes)
                fail_msg("%s: %s, %u", ends[k].name, clone_reason_text(loop.clone.reason),
                         loop.clone.outcomes);
            replays_an_end(&ends[k], &loop);
            runner_loop_end(&loop);
        }
    planted = 0;
}

/* What ends elsewhere is seen. */
static void a_wrong_end_is_seen(void **state)
{
    struct runner_loop loop;
    struct runner_seen recorded, seen;
    planted = COUNT / 2;
    assert_int_equal(runner_loops(&ends[0], model, &loop, 1), 1);
    run_chance(&ends[0], &loop, &(struct runner_call){.what = RUN_RECORDER}, &recorded);
    run_chance(&ends[0], &loop, &(struct runner_call){.flip = 10}, &seen);
    assert_false(comes_to_the_same(&seen, followed(loop.clone.made)));
    runner_loop_end(&loop);
    planted = 0;
}

/* Where an address depends on outcomes, one that is wrong shows. */
static void a_wrong_outcome_is_seen(void **state)
{
    struct runner_loop loop;
    const struct kernel *kernel = chances;
    while (strcmp(kernel->name, "chance_compress") != 0)
        kernel++;
    assert_int_equal(runner_loops(kernel, model, &loop, 1), 1);
    for (uint32_t flip = 0; flip <= COUNT - 3; flip += flip ? 131 : 1) {
        struct runner_seen seen;
        run_chance(kernel, &loop, &(struct runner_call){.what = RUN_RECORDER}, &seen);
        run_chance(kernel, &loop, &(struct runner_call){.flip = flip}, &seen);
        assert_true(comes_to_the_same(&seen, UINT32_MAX) == !flip);
    }
    runner_loop_end(&loop);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kernels_are_cloned_or_have_a_reason),
        cmocka_unit_test(variants_make_as_many_iterations),
        cmocka_unit_test(loops_have_all_variants),
        cmocka_unit_test(loads_and_stores_have_no_arithmetic),
        cmocka_unit_test(arithmetic_has_no_loads_and_stores),
        cmocka_unit_test(walks_pass_all_lines),
        cmocka_unit_test(recurrences_made_or_lost_are_refused),
        cmocka_unit_test(nests_are_what_the_program_has),
        cmocka_unit_test(outcomes_are_recorded_and_replayed),
        cmocka_unit_test(ends_are_replayed),
        cmocka_unit_test(a_wrong_end_is_seen),
        cmocka_unit_test(a_wrong_outcome_is_seen),
    };
    return cmocka_run_group_tests_name("clone", tests, start, stop);
}
