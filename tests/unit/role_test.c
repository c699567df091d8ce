// SPDX-License-Identifier: MIT
/*
 * role: functions in assembly whose accesses are for what their labels say. Each answer has a neighbour that differs
 * in the one thing the answer rests on, and must not get it.
 */
#include "cfg/cfg.h"
#include "role/role.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

/* Never executed. */
#define FUNCTION(name, code)                                                                       \
    __asm__(".pushsection .text\n.globl " #name "\n" #name ":\n" code ".globl " #name              \
            "_end\n" #name "_end:\n.popsection\n");                                                \
    extern const uint8_t name[], name##_end[]
#define MARK(name)    ".globl at_" #name "\nat_" #name ": "
#define DECLARE(name) extern const uint8_t at_##name[]
#define PUSH_ALL                                                                                   \
    "push %rbp\n push %rbx\n push %r12\n push %r13\n push %r14\n push %r15\n sub $64, %rsp\n"
#define POP_ALL                                                                                    \
    "add $64, %rsp\n pop %r15\n pop %r14\n pop %r13\n pop %r12\n pop %rbx\n pop %rbp\n ret\n"

static struct role_function *look(const uint8_t *start, const uint8_t *end, struct cfg **flow)
{
    struct role_function *function = NULL;
    struct cfg_code code = {
        .bytes = start, .count = (size_t)(end - start), .start = (uint64_t)(uintptr_t)start};
    assert_int_equal(cfg_of_code(&code, flow), BASE_OK);
    assert_int_equal(role_of_function(*flow, start, code.count, &function), BASE_OK);
    return function;
}

static void done(struct role_function *function, struct cfg *flow)
{
    role_free(function);
    cfg_free(flow);
}

#define AT(name) ((uint64_t)(uintptr_t)at_##name)

/* ---- registers saved --------------------------------------------------------------------------- */

FUNCTION(
    saving,
    MARK(save) "push %rbx\n sub $16, %rsp\n" MARK(
        move_save) "mov %r12, 8(%rsp)\n"
                   "mov %rdi, %rbx\n" MARK(
                       argument) "push %rbx\n call 1f\n pop %rax\n"
                                 "1: mov %rax, %r12\n" MARK(other) "mov %r12, (%rsp)\n" MARK(
                                     move_restore) "mov 8(%rsp), %r12\n add $16, %rsp\n" MARK(restore) "pop %rbx\n ret\n");
DECLARE(save);
DECLARE(move_save);
DECLARE(argument);
DECLARE(other);
DECLARE(move_restore);
DECLARE(restore);

FUNCTION(framed,
         MARK(frame) "push %rbp\n mov %rsp, %rbp\n mov %rdi, %rax\n" MARK(leave) "leave\n ret\n");
DECLARE(frame);
DECLARE(leave);

static void saved_registers_are_known(void **state)
{
    struct cfg *flow;
    struct role_function *function = look(saving, saving_end, &flow);
    assert_int_equal(role_of(function, AT(save), true), ROLE_SAVE);
    assert_int_equal(role_of(function, AT(move_save), true), ROLE_SAVE);
    assert_int_equal(role_of(function, AT(argument), true), ROLE_UNKNOWN);
    assert_int_equal(role_of(function, AT(other), true), ROLE_UNKNOWN);
    assert_int_equal(role_of(function, AT(restore), false), ROLE_SAVE);
    done(function, flow);
    function = look(framed, framed_end, &flow);
    assert_int_equal(role_of(function, AT(frame), true), ROLE_SAVE);
    assert_int_equal(role_of(function, AT(leave), false), ROLE_SAVE);
    done(function, flow);
}

/* ---- spills ------------------------------------------------------------------------------------ */

FUNCTION(pressed,
         PUSH_ALL MARK(spill) "mov %rdi, 8(%rsp)\n" MARK(
             constant) "movq $1, 16(%rsp)\n mov 16(%rsp), "
                       "%rax\n" MARK(
                           only_stored) "mov %rsi, "
                                        "24(%rsp)"
                                        "\n" MARK(taken) "mov"
                                                         " %"
                                                         "rsi"
                                                         ", "
                                                         "40("
                                                         "%rs"
                                                         "p)"
                                                         "\n "
                                                         "mov"
                                                         " 40"
                                                         "(%"
                                                         "rsp"
                                                         "), "
                                                         "%rd"
                                                         "x\n"
                                                         " le"
                                                         "a "
                                                         "32("
                                                         "%rs"
                                                         "p),"
                                                         " %"
                                                         "rdi"
                                                         "\n "
                                                         "cal"
                                                         "l "
                                                         "1f"
                                                         "\n1"
                                                         ":"
                                                         "\n" MARK(
                                                             reload) "add 8(%rsp), %rax\n" POP_ALL);
DECLARE(spill);
DECLARE(constant);
DECLARE(only_stored);
DECLARE(taken);
DECLARE(reload);

/* As code looks that is not optimised: nothing is short. */
FUNCTION(relaxed,
         "push %rbp\n mov %rsp, %rbp\n" MARK(variable) "mov %rdi, -8(%rbp)\n"
                                                       "mov -8(%rbp), %rax\n pop %rbp\n ret\n");
DECLARE(variable);

/* A variable without a register that begins as a constant. */
FUNCTION(counting,
         PUSH_ALL MARK(zeroed) "movl $0, 8(%rsp)\n"
                               "1: mov 8(%rsp), %eax\n add %edi, %eax\n" MARK(
                                   counted) "mov %eax, 8(%rsp)\n dec %esi\n jne 1b\n" POP_ALL);
DECLARE(zeroed);
DECLARE(counted);

static void spilled_values_are_known(void **state)
{
    struct cfg *flow;
    struct role_function *function = look(pressed, pressed_end, &flow);
    assert_int_equal(role_of(function, AT(spill), true), ROLE_SPILL);
    assert_int_equal(role_of(function, AT(reload), false), ROLE_SPILL);
    assert_int_equal(role_of(function, AT(constant), true), ROLE_UNKNOWN);
    assert_int_equal(role_of(function, AT(only_stored), true), ROLE_UNKNOWN);
    assert_int_equal(role_of(function, AT(taken), true), ROLE_UNKNOWN);
    done(function, flow);
    function = look(counting, counting_end, &flow);
    assert_int_equal(role_of(function, AT(zeroed), true), ROLE_SPILL);
    assert_int_equal(role_of(function, AT(counted), true), ROLE_SPILL);
    done(function, flow);
    function = look(relaxed, relaxed_end, &flow);
    assert_int_equal(role_of(function, AT(variable), true), ROLE_UNKNOWN);
    done(function, flow);
}

/* `enter` names the stack pointer, and keeps its value nowhere. */
FUNCTION(entering, PUSH_ALL "test %rdi, %rdi\n je 2f\n" MARK(
                       put_by) "mov %rsi, 8(%rsp)\n call 3f\n mov 8(%rsp), %rax\n" POP_ALL
                               "2: enter $16, $0\n ud2\n 3: ret\n");
DECLARE(put_by);

static void enter_takes_no_address(void **state)
{
    struct cfg *flow;
    struct role_function *function = look(entering, entering_end, &flow);
    assert_int_equal(role_of(function, AT(put_by), true), ROLE_SPILL);
    done(function, flow);
}

/* ---- updates ----------------------------------------------------------------------------------- */

FUNCTION(adding,
         "xor %eax, %eax\n"
         "1: movsd (%rsi,%rax,8), %xmm0\n mulsd %xmm1, %xmm0\n addsd (%rdi,%rax,8), "
         "%xmm0\n" MARK(sum) "movsd %xmm0, (%rdi,%rax,8)\n"
                             "movsd (%rsi,%rax,8), %xmm2\n mulsd %xmm1, %xmm2\n" MARK(other_array) "movsd %xmm2, (%rdx,%rax,8)\n" MARK(
                                 in_memory) "addl $1, (%rcx)\n" MARK(exchange) "xchg %r8, "
                                                                               "(%r9)\n"
                                                                               "add $1, %rax\n "
                                                                               "cmp %rax, "
                                                                               "%r10\n jne 1b\n "
                                                                               "ret\n");
DECLARE(sum);
DECLARE(other_array);
DECLARE(in_memory);
DECLARE(exchange);

/* The load was by another base, which has moved since; and the sum is in a register all the time. */
FUNCTION(
    moving,
    MARK(moved_load) "1: movsd (%rdi), %xmm0\n add $8, %rdi\n addsd %xmm1, %xmm0\n" MARK(
        moved) "movsd %xmm0, -8(%rdi)\n" MARK(next) "movsd %xmm0, (%rdi)\n"
                                                    "addsd %xmm0, %xmm3\n" MARK(
                                                        total) "movsd %xmm3, (%rdx)\n"
                                                               "cmp %rdi, %rsi\n jne 1b\n ret\n");
DECLARE(moved_load);
DECLARE(moved);
DECLARE(total);
DECLARE(next);

/* Nothing is made from the values: one that does not change is stored in each round, one is stored back. */
FUNCTION(keeping, "1: mov (%rsi), %rax\n" MARK(kept) "mov %rbp, 176(%rdi)\n" MARK(
                      back) "mov %rax, (%rsi)\n"
                            "mov (%rdx), %rcx\n mov %rcx, %r8\n lea 1(%r8), %r9\n" MARK(
                                raised) "mov %r9, (%rdx)\n"
                                        "dec %r10\n jne 1b\n ret\n");
DECLARE(kept);
DECLARE(back);
DECLARE(raised);

static void moves_are_no_updates(void **state)
{
    struct cfg *flow;
    struct role_function *function = look(keeping, keeping_end, &flow);
    assert_false(role_updates(function, AT(kept)));
    assert_false(role_updates(function, AT(back)));
    assert_true(role_updates(function, AT(raised)));
    done(function, flow);
}

static void updates_are_known(void **state)
{
    struct cfg *flow;
    struct role_function *function = look(adding, adding_end, &flow);
    assert_true(role_updates(function, AT(sum)));
    assert_false(role_updates(function, AT(other_array)));
    assert_true(role_updates(function, AT(in_memory)));
    assert_false(role_updates(function, AT(exchange)));
    done(function, flow);
    function = look(moving, moving_end, &flow);
    assert_true(role_updates(function, AT(moved)));
    assert_true(role_updates(function, AT(total)));
    assert_true(role_is_updated(function, AT(moved_load)));
    done(function, flow);
}

/* ---- how loads repeat -------------------------------------------------------------------------- */

FUNCTION(walking, "2: xor %eax, %eax\n"
                  "1:" MARK(walk) "mov (%rdi,%rax,8), %rdx\n" MARK(
                      fixed) "mov (%rsi), %rcx\n"
                             "mov %rdx, (%r8,%rax,8)\n" MARK(again) "mov (%rdi,%rax,8), %r9\n" MARK(
                                 ahead) "mov 8(%rdi,%rax,8), %r11\n"
                                        "add $1, %rax\n cmp $100, %rax\n jne 1b\n"
                                        "dec %r10\n jne 2b\n ret\n");
DECLARE(walk);
DECLARE(fixed);
DECLARE(again);
DECLARE(ahead);

FUNCTION(seeking, "1:" MARK(key) "cmp %rsi, (%rdi)\n je 2f\n" MARK(
                      link) "mov 8(%rdi), %rdi\n"
                            "test %rdi, %rdi\n jne 1b\n2: ret\n");
DECLARE(key);
DECLARE(link);

FUNCTION(rotated, "jmp 2f\n1: cmp %rsi, 8(%rdi)\n je 3f\n" MARK(
                      rotated_link) "mov (%rdi), %rdi\n"
                                    "2: test %rdi, %rdi\n jne 1b\n3: ret\n");
DECLARE(rotated_link);

/* a chain that is left behind a second comparison, of what lies out of the way of the first */
FUNCTION(chained, "1:" MARK(chained_hash) "cmp %esi, 16(%rbx)\n jne 2f\n"
                                          "cmp %rdx, 24(%rbx)\n je 3f\n"
                                          "2:" MARK(chained_link) "mov (%rbx), %rbx\n"
                                                                  "test %rbx, %rbx\n jne 1b\n"
                                                                  "3: ret\n");
DECLARE(chained_hash);
DECLARE(chained_link);

/* the next entry passes through a register that calls use, too */
FUNCTION(calling, "jmp 2f\n1:" MARK(called_link) "mov (%r15), %rax\n mov %r15, %rbp\n"
                                                 "test %rax, %rax\n je 3f\n mov %rax, %r15\n"
                                                 "2:" MARK(called_hash) "cmp %r14d, 24(%r15)\n"
                                                                        "jne 1b\n mov 16(%r15), "
                                                                        "%rax\n lea 12(%rax), "
                                                                        "%rdi\n call calling\n"
                                                                        "test %eax, %eax\n jne "
                                                                        "1b\n3: ret\n");
DECLARE(called_link);
DECLARE(called_hash);

/* what the call returns is where it goes on: that may be anywhere */
FUNCTION(generating, "1:" MARK(generated) "cmp %r14d, 24(%r15)\n je 3f\n mov %r15, %rdi\n"
                                          "call calling\n mov %rax, %r15\n jmp 1b\n3: ret\n");
DECLARE(generated);

/* elements by a counter, keys behind their pointers */
FUNCTION(listed, "1:" MARK(listed_item) "mov (%rdi,%rax,8), %rdx\n" MARK(
                     listed_key) "cmp %esi, (%rdx)\n je 2f\n"
                                 "add $1, %rax\n cmp %rcx, %rax\n jne 1b\n2: ret\n");
DECLARE(listed_item);
DECLARE(listed_key);

/* state = state->next[classes[*text++]], until it is final */
FUNCTION(
    automaton,
    "1: movzbl (%rdi), %eax\n add $1, %rdi\n" MARK(state_class) "movzbl (%r8,%rax), %eax\n" MARK(
        state_next) "mov 8(%rdx,%rax,8), %rdx\n" MARK(state_final) "cmpl $0, (%rdx)\n je 1b\n "
                                                                   "ret\n");
DECLARE(state_class);
DECLARE(state_next);
DECLARE(state_final);

/* until values[names[i]] is zero: what that is changes */
FUNCTION(looking_up, "1:" MARK(name) "mov (%rdi,%rcx,4), %eax\n" MARK(
                         value) "cmpb $0, (%rdx,%rax)\n je 2f\n"
                                "add $1, %rcx\n cmp %rsi, %rcx\n jne 1b\n2: ret\n");
DECLARE(name);
DECLARE(value);

/* marks all of a list */
FUNCTION(marking, "1: movl $1, 16(%rdi)\n" MARK(marked) "mov (%rdi), %rdi\n"
                                                        "test %rdi, %rdi\n jne 1b\n ret\n");
DECLARE(marked);

/* the sum of a list */
FUNCTION(summing, "1: add 8(%rdi), %rax\n" MARK(summed) "mov (%rdi), %rdi\n"
                                                        "test %rdi, %rdi\n jne 1b\n ret\n");
DECLARE(summed);

/* the same in two parts and with a count */
FUNCTION(adding_up,
         "xor %ebp, %ebp\n1: mov 8(%rdi), %eax\n test %eax, %eax\n jne 2f\n add $1, %ebp\n"
         "2: add %eax, %ebp\n mov 16(%rdi), %eax\n add %eax, %ebp\n" MARK(
             added_up) "mov (%rdi), %rdi\n test %rdi, %rdi\n jne 1b\n ret\n");
DECLARE(added_up);

/* the greatest element before the first zero */
FUNCTION(choosing, "1:" MARK(chosen) "mov (%rdi,%rcx,8), %rdx\n cmp %rax, %rdx\n cmovg %rdx, %rax\n"
                                     "add $1, %rcx\n test %rdx, %rdx\n jne 1b\n ret\n");
DECLARE(chosen);

/* the length of a list: gone through only to count */
FUNCTION(measuring, "1: add $1, %eax\n" MARK(measured) "mov (%rdi), %rdi\n"
                                                       "test %rdi, %rdi\n jne 1b\n ret\n");
DECLARE(measured);

FUNCTION(waiting, "1: pause\n" MARK(flag) "mov (%rdi), %eax\n test %eax, %eax\n je 1b\n ret\n");
DECLARE(flag);

FUNCTION(once, "xor %eax, %eax\n1:" MARK(in_call) "add (%rdi,%rax,8), %rdx\n add $1, %rax\n"
                                                  "cmp %rsi, %rax\n jne 1b\n ret\n");
DECLARE(in_call);

static void repeated_loads_are_known(void **state)
{
    struct cfg *flow;
    struct role_function *function = look(walking, walking_end, &flow);
    assert_int_equal(role_reach(function, AT(walk), AT(walk)), ROLE_OUTER);
    assert_int_equal(role_reach(function, AT(fixed), AT(fixed)), ROLE_INVARIANT);
    assert_int_equal(role_reach(function, AT(walk), AT(again)), ROLE_ITERATION);
    assert_int_equal(role_reach(function, AT(ahead), AT(walk)), ROLE_PREVIOUS);
    assert_int_equal(role_reach(function, AT(walk), AT(ahead)), ROLE_NO_REACH);
    assert_int_equal(role_reach(function, AT(fixed), AT(walk)), ROLE_NO_REACH);
    done(function, flow);
    function = look(seeking, seeking_end, &flow);
    assert_int_equal(role_reach(function, AT(key), AT(key)), ROLE_SEARCH);
    assert_int_equal(role_reach(function, AT(link), AT(link)), ROLE_SEARCH);
    done(function, flow);
    function = look(rotated, rotated_end, &flow);
    assert_int_equal(role_reach(function, AT(rotated_link), AT(rotated_link)), ROLE_SEARCH);
    done(function, flow);
    function = look(chained, chained_end, &flow);
    assert_int_equal(role_reach(function, AT(chained_hash), AT(chained_hash)), ROLE_SEARCH);
    assert_int_equal(role_reach(function, AT(chained_link), AT(chained_link)), ROLE_SEARCH);
    done(function, flow);
    function = look(calling, calling_end, &flow);
    assert_int_equal(role_reach(function, AT(called_link), AT(called_link)), ROLE_SEARCH);
    assert_int_equal(role_reach(function, AT(called_hash), AT(called_hash)), ROLE_SEARCH);
    done(function, flow);
    function = look(listed, listed_end, &flow);
    assert_int_equal(role_reach(function, AT(listed_item), AT(listed_item)), ROLE_SEARCH);
    assert_int_equal(role_reach(function, AT(listed_key), AT(listed_key)), ROLE_SEARCH);
    done(function, flow);
    function = look(waiting, waiting_end, &flow);
    assert_int_equal(role_reach(function, AT(flag), AT(flag)), ROLE_NO_REACH);
    done(function, flow);
    function = look(once, once_end, &flow);
    assert_int_equal(role_reach(function, AT(in_call), AT(in_call)), ROLE_CALL);
    done(function, flow);
}

FUNCTION(
    columns,
    "xor %eax, %eax\n1:" MARK(down) "addsd (%rdi,%rax), %xmm0\n" MARK(
        element) "addsd (%rsi,%rdx,8), %xmm0\n" MARK(downward) "movaps %xmm0, (%r8)\n"
                                                               "add $16384, %rax\n inc %edx\n sub "
                                                               "$16, %r8\n cmp $100, %edx\n"
                                                               "jne 1b\n" MARK(
                                                                   outside) "mov %rax, (%rdi)\n "
                                                                            "ret\n");
DECLARE(down);
DECLARE(element);
DECLARE(downward);
DECLARE(outside);

static void strides_are_known(void **state)
{
    struct cfg *flow;
    int64_t stride = 77;
    struct role_function *function = look(columns, columns_end, &flow);
    assert_true(role_stride(function, AT(down), &stride));
    assert_int_equal(stride, 16384);
    assert_true(role_stride(function, AT(element), &stride));
    assert_int_equal(stride, 8);
    assert_true(role_stride(function, AT(downward), &stride));
    assert_int_equal(stride, -16);
    assert_false(role_stride(function, AT(outside), &stride));
    assert_false(role_stride(function, AT(down) + 1, &stride));
    done(function, flow);
    function = look(walking, walking_end, &flow);
    assert_true(role_stride(function, AT(fixed), &stride));
    assert_int_equal(stride, 0);
    done(function, flow);
    stride = 77;
    function = look(seeking, seeking_end, &flow);
    assert_false(role_stride(function, AT(link), &stride));
    assert_int_equal(stride, 77);
    done(function, flow);
}

FUNCTION(asserting, "xor %eax, %eax\n1:" MARK(
                        asserted) "cmp %rsi, (%rdi,%rax,8)\n jne 2f\n"
                                  "add $1, %rax\n cmp $100, %rax\n jne 1b\n ret\n2: ud2\n");
DECLARE(asserted);

static void assertions_are_no_searches(void **state)
{
    struct cfg *flow;
    struct role_function *function = look(asserting, asserting_end, &flow);
    assert_int_equal(role_reach(function, AT(asserted), AT(asserted)), ROLE_CALL);
    done(function, flow);
}

/* A sum over rows as gcc compiles it: both loops have one head. */
FUNCTION(rows, "lea 0x1000(%rdi), %rcx\n mov %rdi, %rax\n lea 0x101000(%rdi), %rsi\n"
               "mov %rcx, %rdx\n1:" MARK(
                   row) "addsd (%rax), %xmm0\n"
                        "add $16, %rax\n" MARK(
                            row_too) "addsd -8(%rax), %xmm0\n cmp %rdx, %rax\n jne 1b\n"
                                     "add $0x1000, %rdx\n mov %rcx, %rax\n cmp %rsi, %rdx\n je 2f\n"
                                     "add $0x1000, %rcx\n jmp 1b\n2: ret\n");
DECLARE(row);
DECLARE(row_too);

static void loops_with_one_head_are_two(void **state)
{
    struct cfg *flow;
    int64_t stride = 0;
    struct role_function *function = look(rows, rows_end, &flow);
    assert_int_equal(role_reach(function, AT(row), AT(row)), ROLE_OUTER);
    assert_int_equal(role_reach(function, AT(row_too), AT(row_too)), ROLE_OUTER);
    assert_true(role_stride(function, AT(row_too), &stride));
    assert_int_equal(stride, 16);
    done(function, flow);
}

/* Loops that go on by what they load and that no index could stand for. */
static void not_all_that_ends_by_data_searches(void **state)
{
    struct cfg *flow;
    struct role_function *function = look(automaton, automaton_end, &flow);
    assert_int_not_equal(role_reach(function, AT(state_class), AT(state_class)), ROLE_SEARCH);
    assert_int_not_equal(role_reach(function, AT(state_next), AT(state_next)), ROLE_SEARCH);
    assert_int_not_equal(role_reach(function, AT(state_final), AT(state_final)), ROLE_SEARCH);
    done(function, flow);
    function = look(looking_up, looking_up_end, &flow);
    assert_int_equal(role_reach(function, AT(name), AT(name)), ROLE_CALL);
    assert_int_equal(role_reach(function, AT(value), AT(value)), ROLE_NO_REACH);
    done(function, flow);
    function = look(summing, summing_end, &flow);
    assert_int_equal(role_reach(function, AT(summed), AT(summed)), ROLE_NO_REACH);
    done(function, flow);
    function = look(adding_up, adding_up_end, &flow);
    assert_int_equal(role_reach(function, AT(added_up), AT(added_up)), ROLE_NO_REACH);
    done(function, flow);
    function = look(choosing, choosing_end, &flow);
    assert_int_equal(role_reach(function, AT(chosen), AT(chosen)), ROLE_CALL);
    done(function, flow);
    function = look(measuring, measuring_end, &flow);
    assert_int_equal(role_reach(function, AT(measured), AT(measured)), ROLE_SEARCH);
    done(function, flow);
    function = look(generating, generating_end, &flow);
    assert_int_equal(role_reach(function, AT(generated), AT(generated)), ROLE_NO_REACH);
    done(function, flow);
    function = look(marking, marking_end, &flow);
    assert_int_equal(role_reach(function, AT(marked), AT(marked)), ROLE_NO_REACH);
    done(function, flow);
}

/* Any bytes give answers. */
static void noise_is_no_harm(void **state)
{
    struct base_random random = {7};
    uint8_t bytes[512];
    for (unsigned turn = 0; turn < 2000; turn++) {
        struct cfg *flow;
        struct role_function *function;
        for (size_t i = 0; i < sizeof bytes; i++)
            bytes[i] = (uint8_t)base_random_next(&random);
        struct cfg_code code = {.bytes = bytes, .count = sizeof bytes, .start = 4096};
        assert_int_equal(cfg_of_code(&code, &flow), BASE_OK);
        if (role_of_function(flow, bytes, sizeof bytes, &function) != BASE_OK) {
            cfg_free(flow);
            continue;
        }
        for (uint64_t at = 4096; at < 4096 + sizeof bytes; at++) {
            role_of(function, at, turn & 1);
            role_updates(function, at);
            role_is_updated(function, at);
            role_stride(function, at, &(int64_t){0});
            role_reach(function, at, 4096 + base_random_below(&random, sizeof bytes));
        }
        done(function, flow);
    }
}

static int start(void **state)
{
    return cfg_start() == BASE_OK ? 0 : -1;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(saved_registers_are_known),
        cmocka_unit_test(spilled_values_are_known),
        cmocka_unit_test(updates_are_known),
        cmocka_unit_test(moves_are_no_updates),
        cmocka_unit_test(enter_takes_no_address),
        cmocka_unit_test(repeated_loads_are_known),
        cmocka_unit_test(not_all_that_ends_by_data_searches),
        cmocka_unit_test(strides_are_known),
        cmocka_unit_test(loops_with_one_head_are_two),
        cmocka_unit_test(assertions_are_no_searches),
        cmocka_unit_test(noise_is_no_harm),
    };
    return cmocka_run_group_tests(tests, start, NULL);
}
