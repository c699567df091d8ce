// SPDX-License-Identifier: MIT
/*
 * bounds/schedule: loops whose schedules are known, on the table of Skylake; and that no schedule is shorter than the bounds, or than
 * its units have room for, on others and on random ones.
 */
#include "bounds/schedule.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/base.h"

/* CODE(name, "assembly"): its bytes are name ... name_end. */
#define CODE(name, text)                                                                           \
    __asm__(".section .rodata\n" #name ":\n" text "\n" #name "_end:\n.text\n");                    \
    extern const uint8_t name[], name##_end[]

enum { ITERATIONS = 1000 };

struct loop {
    struct bounds_block block;
    struct model *model;
    struct bounds bounds;
    struct bounds_options options;
    struct schedule schedules[SCHEDULE_KINDS];
};

/* Each cycle of each unit has at most a cycle's work: of all together as much as there is. */
static void check_units(const struct loop *loop, const struct schedule *schedule)
{
    const struct model_machine *machine = model_machine(loop->model);
    for (size_t u = 0; u < machine->unit_count; u++)
        assert_true(schedule->work[u] / machine->units[u].copies <= schedule->cycles + 1e-3);
}

/* Nothing begins before what it needs is there. */
static void check_inputs(const struct loop *loop, const struct schedule *schedule)
{
    const struct bounds *bounds = &loop->bounds;
    for (size_t a = 0; a < bounds->arc_count; a++) {
        const struct bounds_arc *arc = &bounds->arcs[a];
        if (arc->dependence != BOUNDS_FLOW || arc->may)
            continue;
        for (uint32_t k = arc->distance; k < schedule->iterations; k++) {
            size_t from = (k - arc->distance) * bounds->vertex_count + arc->from;
            size_t to = k * bounds->vertex_count + arc->to;
            assert_true(schedule->operations[to].end >=
                        schedule->operations[from].end + arc->latency);
        }
    }
}

static void check_path(const struct loop *loop, const struct schedule *schedule)
{
    double path = schedule->path_units + schedule->path_front_end;
    for (size_t i = 0; i < loop->block.count; i++)
        path += schedule->path[i];
    int64_t last = 0;
    for (size_t o = 0; o < schedule->operation_count; o++)
        last = schedule->operations[o].end > last ? schedule->operations[o].end : last;
    assert_true(fabs(path - (double)last / 1000) < 1e-6);
}

static void check(const struct loop *loop)
{
    const struct bounds *bounds = &loop->bounds;
    const double least[SCHEDULE_KINDS] = {
        bounds->recurrence, fmax(bounds->resource, bounds->recurrence), bounds->certified};
    for (unsigned kind = 0; kind < SCHEDULE_KINDS; kind++) {
        const struct schedule *schedule = &loop->schedules[kind];
        /* The first iterations do not wait for what came before them. */
        assert_true(schedule->cycles >=
                    (schedule->iterations - BOUNDS_DISTANCE_MAX - 1) * least[kind] - 1e-3);
        assert_true(schedule->iterations < ITERATIONS ||
                    schedule->iteration >= least[kind] * 0.99 - 0.01);
        check_units(loop, schedule);
        check_inputs(loop, schedule);
        check_path(loop, schedule);
        assert_true(kind == 0 || schedule->cycles >= loop->schedules[0].cycles - 1e-3);
    }
}

static void make_schedules(struct loop *loop)
{
    assert_int_equal(bounds_of(&loop->block, loop->model, &loop->options, &loop->bounds), BASE_OK);
    for (unsigned kind = 0; kind < SCHEDULE_KINDS; kind++)
        assert_int_equal(schedule_of(&loop->block, &loop->bounds, loop->model, &loop->options,
                                     (enum schedule_kind)kind, ITERATIONS, &loop->schedules[kind]),
                         BASE_OK);
    check(loop);
}

/* buffer: slots in place of the machine's; 0: as they are. */
static struct loop schedule_with(const char *machine, const uint8_t *from, const uint8_t *to,
                                 const char *latencies, float buffer)
{
    static struct bounds_latencies by_hand;
    struct loop loop = {.options = {.graph = true, .taken = 1}};
    char why[128];
    size_t bad;
    assert_int_equal(model_open(machine, &loop.model, NULL), BASE_OK);
    if (buffer > 0)
        model_edit(loop.model)->figures[MODEL_REORDER_BUFFER].value = buffer;
    if (latencies) {
        assert_true(bounds_latencies_read(latencies, &by_hand, why, sizeof why));
        loop.options.latencies = &by_hand;
    }
    assert_int_equal(bounds_decode(from, (size_t)(to - from), 0x1000, true, &loop.block, &bad),
                     BASE_OK);
    make_schedules(&loop);
    return loop;
}

static void drop(struct loop *loop)
{
    for (unsigned kind = 0; kind < SCHEDULE_KINDS; kind++)
        schedule_free(&loop->schedules[kind]);
    bounds_free(&loop->bounds);
    bounds_block_free(&loop->block);
    model_close(loop->model);
}

static void expect(const char *name, const uint8_t *from, const uint8_t *to, double data_flow,
                   double infinite, double machine)
{
    struct loop loop = schedule_with("skylake", from, to, NULL, 0);
    char found[96], expected[96];
    snprintf(found, sizeof found, "%s %.2f %.2f %.2f", name, loop.schedules[0].iteration,
             loop.schedules[1].iteration, loop.schedules[2].iteration);
    snprintf(expected, sizeof expected, "%s %.2f %.2f %.2f", name, data_flow, infinite, machine);
    drop(&loop);
    assert_string_equal(found, expected);
}
#define EXPECT(name, ...) expect(#name, name, name##_end, __VA_ARGS__)

CODE(dot,
     "1: movsd (%rdi,%rax,8), %xmm1; mulsd (%rsi,%rax,8), %xmm1; addsd %xmm1, %xmm0; inc %rax\n"
     "cmp %rcx, %rax; jne 1b");
CODE(products, "1: imul $3, %rsi, %rax; imul $5, %rsi, %rbx; dec %rcx; jne 1b");
CODE(apart, "1: imul $3, %rsi, %rax; imul %rax, %rax; jmp 1b");
CODE(before, "1: movsd -8(%rdi), %xmm0; addsd (%rsi), %xmm0; movsd %xmm0, (%rdi); add $8, %rdi\n"
             "add $8, %rsi; cmp %rdx, %rdi; jne 1b");
CODE(chase, "1: mov (%rdi), %rdi; test %rdi, %rdi; jne 1b");
CODE(paper, "1: movsd -8(%rdi), %xmm0; divsd (%rsi), %xmm0; movsd %xmm0, (%rdi); add $8, %rdi\n"
            "add $8, %rsi; cmp %rdx, %rdi; jne 1b");
CODE(chains,
     "1: mov %rsi, %rax; imul %rax, %rax; imul %rax, %rax; imul %rax, %rax; imul %rax, %rax\n"
     "imul %rax, %rax; imul %rax, %rax; imul %rax, %rax; imul %rax, %rax; dec %rcx; jne 1b");
CODE(locks, "1: lock addq %rax, (%rdi); lock addq %rbx, 64(%rdi); lock xaddq %rcx, 128(%rdi)\n"
            "dec %r9; jne 1b");
CODE(nops, "1: nop; nop; nop; nop; nop; nop; nop; jmp 1b");
CODE(stored, "1: mov %rax, (%rdi); mov %rax, 8(%rsi); add $16, %rdi; dec %rcx; jne 1b");

static void loops_have_their_schedules(void **state)
{
    EXPECT(dot, 4, 4, 4);
    EXPECT(products, 1, 2, 2); /* one unit multiplies */
    EXPECT(apart, 0, 2, 2);
    EXPECT(stored, 1, 2, 2); /* one stores */
    EXPECT(nops, 0, 0.5, 2);
}

/* Data flow of iterations that do not depend on each other is as long as one. */
static void data_flow_is_as_long_as_the_path(void **state)
{
    struct loop loop = schedule_with("skylake", apart, apart_end, NULL, 0);
    assert_true(fabs(loop.schedules[SCHEDULE_DATA_FLOW].cycles - 6) < 1e-9);
    drop(&loop);
}

/* What goes round through memory is as long as the bound. */
static void recurrences_are_met(void **state)
{
    struct loop loop = schedule_with("skylake", before, before_end, NULL, 0);
    assert_true(loop.bounds.recurrence > 7);
    for (unsigned kind = 0; kind < SCHEDULE_KINDS; kind++)
        assert_true(fabs(loop.schedules[kind].iteration - loop.bounds.recurrence) < 0.1);
    drop(&loop);
    loop = schedule_with("skylake", chase, chase_end, NULL, 0);
    assert_true(loop.bounds.recurrence >= 4);
    for (unsigned kind = 0; kind < SCHEDULE_KINDS; kind++)
        assert_true(fabs(loop.schedules[kind].iteration - loop.bounds.recurrence) < 0.1);
    drop(&loop);
    loop = schedule_with("skylake", paper, paper_end, "load=2,div=12,store=2", 0);
    for (unsigned kind = 0; kind < SCHEDULE_KINDS; kind++)
        assert_true(fabs(loop.schedules[kind].iteration - 16) < 0.1);
    drop(&loop);
}

/* Chains of 24 cycles, 8 of the multiplier: they overlap if the buffer holds several iterations. */
static void buffer_limits_the_window(void **state)
{
    struct loop loop = schedule_with("skylake", chains, chains_end, NULL, 0);
    assert_true(fabs(loop.schedules[SCHEDULE_INFINITE].iteration - 8) < 0.1);
    assert_true(fabs(loop.schedules[SCHEDULE_MACHINE].iteration - 8) < 0.1);
    drop(&loop);
    loop = schedule_with("skylake", chains, chains_end, NULL, 4);
    assert_true(loop.schedules[SCHEDULE_MACHINE].iteration > 20);
    assert_true(loop.schedules[SCHEDULE_MACHINE].path_buffer > ITERATIONS / 4);
    assert_true(fabs(loop.schedules[SCHEDULE_INFINITE].iteration - 8) < 0.1);
    drop(&loop);
}

/* The bounds hold on every machine. */
static void no_machine_beats_its_bounds(void **state)
{
    static const uint8_t *const codes[][2] = {
        {dot, dot_end},     {products, products_end}, {apart, apart_end},   {before, before_end},
        {chase, chase_end}, {paper, paper_end},       {chains, chains_end}, {stored, stored_end}};
    const struct model_entry *machines;
    size_t count = model_list(&machines);
    for (size_t m = 0; m < count; m++)
        for (size_t c = 0; c < BASE_COUNT(codes); c++) {
            struct loop loop = schedule_with(machines[m].name, codes[c][0], codes[c][1], NULL, 0);
            drop(&loop);
        }
}

/* Random bytes that are code: any mix of forms, known to the model or not. */
static void random_blocks_keep_to_their_bounds(void **state)
{
    struct model *model;
    uint64_t seed = 1;
    unsigned found = 0;
    assert_int_equal(model_open("skylake", &model, NULL), BASE_OK);
    for (unsigned round = 0; round < 3000; round++) {
        uint8_t bytes[24];
        size_t bad;
        for (size_t i = 0; i < sizeof bytes; i++)
            bytes[i] = (uint8_t)(seed = base_mix64(seed));
        struct loop loop = {.model = model, .options = {.graph = true, .taken = 1}};
        if (bounds_decode(bytes, sizeof bytes, 0x1000, false, &loop.block, &bad) == BASE_OK &&
            bounds_of(&loop.block, model, &loop.options, &loop.bounds) == BASE_OK) {
            for (unsigned kind = 0; kind < SCHEDULE_KINDS; kind++)
                assert_int_equal(schedule_of(&loop.block, &loop.bounds, model, &loop.options,
                                             (enum schedule_kind)kind, 60, &loop.schedules[kind]),
                                 BASE_OK);
            check(&loop);
            found++;
        }
        for (unsigned kind = 0; kind < SCHEDULE_KINDS; kind++)
            schedule_free(&loop.schedules[kind]);
        bounds_free(&loop.bounds);
        bounds_block_free(&loop.block);
    }
    assert_true(found > 50);
    model_close(model);
}

static void nowhere(void *context, uint32_t instruction, char *text, size_t bytes)
{
    snprintf(text, bytes, "line %u", instruction);
}

static void schedules_are_printed(void **state)
{
    struct loop loop = schedule_with("skylake", dot, dot_end, NULL, 0);
    struct util_text text = {0};
    assert_true(schedule_print(&loop.block, &loop.bounds, loop.model, &loop.options, ITERATIONS,
                               nowhere, NULL, &text));
    assert_non_null(strstr(text.bytes, "optimistic schedule of 1000 iterations of 6 instructions"));
    assert_non_null(strstr(text.bytes, "4.00  addsd %xmm1, %xmm0  (line 2)\n"));
    assert_non_null(strstr(text.bytes, "load of movsd (%rdi,%rax,8), %xmm1\n"));
    util_text_free(&text);
    drop(&loop);
}

/* Long blocks get fewer iterations; an empty one none. */
static void sizes_are_bounded(void **state)
{
    static uint8_t bytes[BOUNDS_INSTRUCTIONS_MAX * 3];
    struct loop loop = {.options = {.graph = true, .taken = 1}};
    size_t bad;
    assert_int_equal(model_open("skylake", &loop.model, NULL), BASE_OK);
    assert_int_equal(schedule_of(&loop.block, &loop.bounds, loop.model, &loop.options,
                                 SCHEDULE_MACHINE, ITERATIONS, &loop.schedules[0]),
                     BASE_NOT_FOUND);
    for (size_t i = 0; i < sizeof bytes; i += 3)
        memcpy(bytes + i, "\x48\x01\xd8", 3); /* add %rbx, %rax */
    assert_int_equal(bounds_decode(bytes, sizeof bytes, 0x1000, false, &loop.block, &bad), BASE_OK);
    assert_int_equal(bounds_of(&loop.block, loop.model, &loop.options, &loop.bounds), BASE_OK);
    assert_int_equal(schedule_of(&loop.block, &loop.bounds, loop.model, &loop.options,
                                 SCHEDULE_MACHINE, ITERATIONS, &loop.schedules[0]),
                     BASE_OK);
    assert_true(loop.schedules[0].iterations >= 2 && loop.schedules[0].iterations < ITERATIONS);
    assert_true(fabs(loop.schedules[0].iteration - BOUNDS_INSTRUCTIONS_MAX) < 1);
    drop(&loop);
}

/* Two forms of 8 and 9 cycles each, to places of their own: one after the other. */
static void locked_accesses_follow_one_another(void **state)
{
    struct loop loop = schedule_with("skylake", locks, locks_end, NULL, 0);
    for (unsigned kind = 0; kind < SCHEDULE_KINDS; kind++)
        schedule_free(&loop.schedules[kind]);
    bounds_free(&loop.bounds);
    for (size_t i = 0; i < 3; i++) {
        const struct bounds_instruction *instruction = &loop.block.instructions[i];
        struct model_figures figures =
            *model_find(loop.model, instruction->key, instruction->key_bytes);
        figures.throughput = i < 2 ? 8 : 9;
        figures.throughput_source = MODEL_MEASURED;
        figures.busy_count = 0;
        assert_true(model_add(loop.model, instruction->key, &figures));
    }
    assert_true(model_seal(loop.model));
    make_schedules(&loop);
    assert_true(fabs(loop.bounds.certified - 25) < 1e-3);
    assert_true(fabs(loop.schedules[SCHEDULE_MACHINE].iteration - 25) < 0.1);
    drop(&loop);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(locked_accesses_follow_one_another),
        cmocka_unit_test(loops_have_their_schedules),
        cmocka_unit_test(data_flow_is_as_long_as_the_path),
        cmocka_unit_test(recurrences_are_met),
        cmocka_unit_test(buffer_limits_the_window),
        cmocka_unit_test(no_machine_beats_its_bounds),
        cmocka_unit_test(random_blocks_keep_to_their_bounds),
        cmocka_unit_test(schedules_are_printed),
        cmocka_unit_test(sizes_are_bounded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
