// SPDX-License-Identifier: MIT
/*
 * bounds/executed: what was executed, by hand, with schedules that are known, on the table of Skylake: a load of an address that was just loaded takes 4 cycles, any
 * other 5, forwarding what was stored 4, failing to do so 13 (as the table has it), an addition 1.
 */
#include "bounds/executed.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#define CODE(name, text)                                                                           \
    __asm__(".section .rodata\n" #name ":\n" text "\n" #name "_end:\n.text\n");                    \
    extern const uint8_t name[], name##_end[]

CODE(chase, "1: mov (%rdi), %rdi; test %rdi, %rdi; jne 1b");
CODE(bump, "1: add %rbx, (%rdi,%rsi,8); inc %rsi; jne 1b");
CODE(halves, "movl %eax, (%rdi); movl %edx, 4(%rdi); mov (%rdi), %rcx");
CODE(ways, "1: test $1, %dl; je 2f; lea 1(%rax,%rax,2), %rax; 2: dec %rdx; jne 1b");
CODE(called, "1: call 2f; dec %rcx; jne 1b; 2: imul %rax, %rax; ret");
CODE(copies, "rep movsb; mov (%rdx), %rax");
CODE(sums, "1: add (%rdi), %rax; add $8, %rdi; dec %rcx; jne 1b");

struct run {
    struct bounds_block code;
    struct executed executed;
    struct model *model;
    struct bounds_latencies latencies;
    bool by_hand;
};

static struct run begin(const uint8_t *from, const uint8_t *to, const char *latencies)
{
    struct run run = {0};
    char why[128];
    size_t bad;
    assert_int_equal(model_open("skylake", &run.model, NULL), BASE_OK);
    assert_int_equal(bounds_decode(from, (size_t)(to - from), 0x1000, true, &run.code, &bad),
                     BASE_OK);
    run.by_hand = latencies != NULL;
    if (latencies)
        assert_true(bounds_latencies_read(latencies, &run.latencies, why, sizeof why));
    return run;
}
#define BEGIN(name) begin(name, name##_end, NULL)

static void drop(struct run *run)
{
    bounds_block_free(&run->code);
    executed_free(&run->executed);
    model_close(run->model);
}

static void step(struct run *run, size_t instruction)
{
    assert_int_equal(executed_add(&run->executed, &run->code.instructions[instruction]), BASE_OK);
}

static void touch(struct run *run, uint64_t address, uint16_t bytes, bool store)
{
    assert_true(executed_access(
        &run->executed,
        &(struct executed_access){.address = address, .bytes = bytes, .store = store}));
}

/* Nothing begins before what it needs is there. */
static void check_inputs(const struct executed_graph *graph, const struct schedule *schedule)
{
    for (size_t a = 0; a < graph->bounds.arc_count; a++) {
        const struct bounds_arc *arc = &graph->bounds.arcs[a];
        assert_int_equal(arc->distance, 0);
        assert_true(arc->from < arc->to);
        assert_true(schedule->operations[arc->to].end >=
                    schedule->operations[arc->from].end + arc->latency +
                        (arc->memory ? 0 : graph->waits[arc->to]));
    }
}

struct answer {
    double cycles[SCHEDULE_KINDS];
    uint32_t misses;
};

static struct answer schedule_all(const struct run *run, enum executed_memory memory, float miss)
{
    struct executed_latencies latencies = {.levels = 2, .cycles = {0, miss}};
    struct executed_graph graph;
    struct answer answer = {0};
    int32_t *waits = executed_waits(&run->executed, memory, &latencies, 4, NULL);
    assert_non_null(waits);
    assert_int_equal(executed_depend(&run->executed, run->model,
                                     run->by_hand ? &run->latencies : NULL, waits, &graph),
                     BASE_OK);
    free(waits);
    for (unsigned kind = 0; kind < SCHEDULE_KINDS; kind++) {
        struct schedule schedule;
        assert_int_equal(executed_schedule(&graph, (enum schedule_kind)kind, &schedule), BASE_OK);
        check_inputs(&graph, &schedule);
        answer.cycles[kind] = schedule.cycles;
        assert_true(kind == 0 || schedule.cycles >= answer.cycles[0] - 1e-6);
        schedule_free(&schedule);
    }
    answer.misses = graph.misses;
    executed_graph_free(&graph);
    return answer;
}

static void expect_data_flow(const struct run *run, double cycles)
{
    struct answer answer = schedule_all(run, EXECUTED_UNIFORM, 0);
    if (fabs(answer.cycles[SCHEDULE_DATA_FLOW] - cycles) > 1e-6)
        fail_msg("%.3f cycles, not %.3f", answer.cycles[SCHEDULE_DATA_FLOW], cycles);
}

/* Nodes of 8 bytes one behind the other: eight a line. */
static struct run chase_nodes(unsigned count, uint64_t first)
{
    struct run run = BEGIN(chase);
    for (unsigned i = 0; i < count; i++) {
        step(&run, 0);
        touch(&run, first + 8ULL * i, 8, false);
        step(&run, 1);
        step(&run, 2);
    }
    return run;
}

/* 5 for the first, 4 for each of the others, and a cycle of the last comparison. */
static void chases_take_their_loads(void **state)
{
    struct run run = chase_nodes(64, 0x10000);
    expect_data_flow(&run, 5 + 63 * 4 + 1);
    struct answer answer = schedule_all(&run, EXECUTED_UNIFORM, 0);
    assert_true(fabs(answer.cycles[SCHEDULE_MACHINE] - 258) <= 1);
    drop(&run);
}

/* One in eight takes 100 cycles in place of 4; what begins in the midst of a line misses once more. */
static void first_touches_miss(void **state)
{
    struct run run = chase_nodes(64, 0x10000);
    struct answer answer = schedule_all(&run, EXECUTED_COMPULSORY, 100);
    assert_int_equal(answer.misses, 8);
    assert_true(fabs(answer.cycles[SCHEDULE_DATA_FLOW] - (101 + 7 * 100 + 56 * 4 + 1)) < 1e-6);
    drop(&run);
    run = chase_nodes(64, 0x10020);
    assert_int_equal(schedule_all(&run, EXECUTED_COMPULSORY, 100).misses, 9);
    drop(&run);
    /* What was stored is forwarded, and its line is there. */
    run = BEGIN(bump);
    for (unsigned i = 0; i < 16; i++) {
        step(&run, 0);
        touch(&run, 0x10000 + 8 * (i / 2), 8, false);
        touch(&run, 0x10000 + 8 * (i / 2), 8, true);
    }
    assert_int_equal(schedule_all(&run, EXECUTED_COMPULSORY, 100).misses, 1);
    drop(&run);
}

/* A cache says which loads miss. */
static void levels_have_their_latencies(void **state)
{
    struct run run = chase_nodes(10, 0x10000);
    run.executed.accesses[3].level = 1;
    run.executed.accesses[7].level = 4; /* beyond those that there are: the last */
    struct answer answer = schedule_all(&run, EXECUTED_CACHES, 54);
    assert_int_equal(answer.misses, 2);
    assert_true(fabs(answer.cycles[SCHEDULE_DATA_FLOW] - (5 + 9 * 4 + 1 + 2 * 50)) < 1e-6);
    drop(&run);
}

/* Many loads miss at the same time, where nothing but the sum waits for them: 64 additions behind the first miss. */
static void misses_overlap(void **state)
{
    struct run run = BEGIN(sums);
    for (unsigned i = 0; i < 64; i++) {
        step(&run, 0);
        touch(&run, 0x20000 + 8ULL * i, 8, false);
        for (size_t k = 1; k < 4; k++)
            step(&run, k);
    }
    /* rdi is there at cycle i, the sum behind load i another 64 - i cycles later. */
    struct answer hit = schedule_all(&run, EXECUTED_UNIFORM, 0);
    assert_true(fabs(hit.cycles[SCHEDULE_DATA_FLOW] - (5 + 64)) < 1e-6);
    struct answer miss = schedule_all(&run, EXECUTED_COMPULSORY, 204);
    assert_int_equal(miss.misses, 8);
    assert_true(fabs(miss.cycles[SCHEDULE_DATA_FLOW] - (205 + 64)) < 1e-6);
    /* 4 slots an iteration: a buffer of 224 holds 56 of the 64. */
    assert_true(miss.cycles[SCHEDULE_MACHINE] > miss.cycles[SCHEDULE_INFINITE]);
    drop(&run);
}

/* Every fourth addition is to the place of the one before: a link of 4 + 1 cycles behind the first one's 5 + 1. */
static void only_what_meets_depends(void **state)
{
    struct run run = BEGIN(bump);
    for (unsigned i = 0; i < 64; i++) {
        uint64_t at = 0x30000 + 64ULL * (i % 4 == 3 ? 0 : i + 1);
        step(&run, 0);
        touch(&run, at, 8, false);
        touch(&run, at, 8, true);
    }
    double link = 4 + 1;
    struct answer answer = schedule_all(&run, EXECUTED_UNIFORM, 0);
    double found = answer.cycles[SCHEDULE_DATA_FLOW];
    drop(&run);
    run = BEGIN(bump);
    for (unsigned i = 0; i < 64; i++) {
        step(&run, 0);
        touch(&run, 0x30000 + 64ULL * i, 8, false);
        touch(&run, 0x30000 + 64ULL * i, 8, true);
    }
    double alone = schedule_all(&run, EXECUTED_UNIFORM, 0).cycles[SCHEDULE_DATA_FLOW];
    drop(&run);
    if (fabs(found - (alone + 15 * link)) > 1e-6)
        fail_msg("%.3f cycles, alone %.3f", found, alone);
}

/* Two stores, one load of both: it waits until they are in the cache. */
static void halves_are_not_forwarded(void **state)
{
    struct run run = BEGIN(halves);
    step(&run, 0);
    touch(&run, 0x1000, 4, true);
    step(&run, 1);
    touch(&run, 0x1004, 4, true);
    step(&run, 2);
    touch(&run, 0x1000, 8, false);
    double failed = schedule_all(&run, EXECUTED_UNIFORM, 0).cycles[SCHEDULE_DATA_FLOW];
    const struct model_figure *figure = &model_machine(run.model)->figures[MODEL_FORWARD_FAILED];
    assert_true(failed >= figure->value);
    drop(&run);
    run = BEGIN(halves);
    step(&run, 0);
    touch(&run, 0x1000, 4, true);
    step(&run, 1);
    touch(&run, 0x2004, 4, true);
    step(&run, 2);
    touch(&run, 0x2008, 8, false);
    expect_data_flow(&run, 5);
    drop(&run);
}

/* Three cycles every other time. */
static void branches_go_where_they_went(void **state)
{
    struct run run = BEGIN(ways);
    for (unsigned i = 0; i < 100; i++) {
        step(&run, 0);
        step(&run, 1);
        if (i & 1)
            step(&run, 2);
        step(&run, 3);
        step(&run, 4);
    }
    expect_data_flow(&run, 150);
    drop(&run);
}

/* What a function computes is there for the next call of it. */
static void calls_are_followed(void **state)
{
    struct run run = BEGIN(called);
    for (unsigned i = 0; i < 20; i++) {
        step(&run, 0);
        touch(&run, 0x7000, 8, true);
        step(&run, 3);
        step(&run, 4);
        touch(&run, 0x7000, 8, false);
        step(&run, 1);
        step(&run, 2);
    }
    expect_data_flow(&run, 20 * 3);
    drop(&run);
}

/* A string instruction is one, however often it is repeated, and all its stores are its own. */
static void strings_are_one_instruction(void **state)
{
    struct run run = BEGIN(copies);
    for (unsigned i = 0; i < 40; i++) {
        step(&run, 0);
        touch(&run, 0x8000 + i, 1, false);
        touch(&run, 0x9000 + i, 1, true);
    }
    step(&run, 1);
    touch(&run, 0x9010, 8, false);
    assert_int_equal(run.executed.block.count, 2);
    assert_int_equal(run.executed.access_count, 81);
    struct executed_graph graph;
    unsigned memory = 0;
    assert_int_equal(executed_depend(&run.executed, run.model, NULL, NULL, &graph), BASE_OK);
    for (size_t a = 0; a < graph.bounds.arc_count; a++) {
        memory += graph.bounds.arcs[a].memory;
        assert_true(!graph.bounds.arcs[a].memory || !graph.bounds.arcs[a].failed);
    }
    assert_int_equal(memory, 1);
    executed_graph_free(&graph);
    drop(&run);
}

/* A taken branch a cycle at most, and four slots. */
static void front_ends_take_their_time(void **state)
{
    struct run run = BEGIN(ways);
    for (unsigned i = 0; i < 100; i++) { /* two taken branches each: test and je, dec and jne */
        step(&run, 0);
        step(&run, 1);
        step(&run, 3);
        step(&run, 4);
    }
    struct answer answer = schedule_all(&run, EXECUTED_UNIFORM, 0);
    if (fabs(answer.cycles[SCHEDULE_MACHINE] - 200) > 3)
        fail_msg("%.3f cycles", answer.cycles[SCHEDULE_MACHINE]);
    drop(&run);
}

static void latencies_given_by_hand_hold(void **state)
{
    struct run run = begin(chase, chase_end, "load=7");
    for (unsigned i = 0; i < 10; i++) {
        step(&run, 0);
        touch(&run, 0x10000 + 8ULL * i, 8, false);
    }
    expect_data_flow(&run, 70);
    drop(&run);
}

static void windows_are_bounded(void **state)
{
    struct run run = BEGIN(chase);
    struct executed_graph graph;
    assert_int_equal(executed_depend(&run.executed, run.model, NULL, NULL, &graph), BASE_NOT_FOUND);
    for (unsigned i = 0; i < EXECUTED_INSTRUCTIONS_MAX; i++)
        step(&run, i % 3);
    assert_int_equal(executed_add(&run.executed, &run.code.instructions[0]), BASE_TOO_LARGE);
    schedule_all(&run, EXECUTED_UNIFORM, 0); /* loads without accesses */
    drop(&run);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(chases_take_their_loads),
        cmocka_unit_test(first_touches_miss),
        cmocka_unit_test(levels_have_their_latencies),
        cmocka_unit_test(misses_overlap),
        cmocka_unit_test(only_what_meets_depends),
        cmocka_unit_test(halves_are_not_forwarded),
        cmocka_unit_test(branches_go_where_they_went),
        cmocka_unit_test(calls_are_followed),
        cmocka_unit_test(strings_are_one_instruction),
        cmocka_unit_test(front_ends_take_their_time),
        cmocka_unit_test(latencies_given_by_hand_hold),
        cmocka_unit_test(windows_are_bounded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
