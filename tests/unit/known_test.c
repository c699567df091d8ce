// SPDX-License-Identifier: MIT
/*
 * known: textbook kernels whose cycles an iteration on Skylake, and on some other machines, are published or follow from their
 * manuals: the tables of room model through the formulas of room bounds.
 */
#include "bounds/bounds.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

/* CODE(name, "assembly"): its bytes are name ... name_end. */
#define CODE(name, text)                                                                           \
    __asm__(".section .rodata\n" #name ":\n" text "\n" #name "_end:\n.text\n");                    \
    extern const uint8_t name[], name##_end[]

CODE(triad, "1: vmovupd (%rdi,%rax), %ymm1; vfmadd213pd (%rsi,%rax), %ymm2, %ymm1\n"
            "vmovupd %ymm1, (%rdx,%rax); add $32, %rax; cmp %rcx, %rax; jne 1b");
CODE(dot, "1: movsd (%rdi,%rax,8), %xmm1; vfmadd231sd (%rsi,%rax,8), %xmm1, %xmm0; inc %rax; cmp "
          "%rcx, %rax; jne 1b");
CODE(sum, "1: addsd (%rdi,%rax,8), %xmm0; inc %rax; cmp %rcx, %rax; jne 1b");
CODE(divisions, "1: vdivsd %xmm1, %xmm2, %xmm3; dec %rcx; jne 1b");
CODE(division_chain, "1: divsd %xmm1, %xmm0; dec %rcx; jne 1b");
CODE(horner,
     "1: mulsd %xmm1, %xmm0; addsd (%rdi), %xmm0; mulsd %xmm1, %xmm0; addsd 8(%rdi), %xmm0\n"
     "add $16, %rdi; cmp %rsi, %rdi; jne 1b");
CODE(jacobi, "1: vmovupd (%rsi), %ymm1; vaddpd 16(%rsi), %ymm1, %ymm1\n"
             "vaddpd (%rdi), %ymm1, %ymm1; vaddpd (%r8), %ymm1, %ymm1; vmulpd %ymm7, %ymm1, %ymm1\n"
             "vmovupd %ymm1, (%rsi,%rdx); add $32, %rsi; cmp %rcx, %rsi; jne 1b");
CODE(kahan, "1: movsd (%rdi), %xmm1; subsd %xmm2, %xmm1; movapd %xmm0, %xmm3; addsd %xmm1, %xmm3\n"
            "movapd %xmm3, %xmm2; subsd %xmm0, %xmm2; subsd %xmm1, %xmm2; movapd %xmm3, %xmm0\n"
            "add $8, %rdi; cmp %rsi, %rdi; jne 1b");
CODE(chase, "1: mov (%rax), %rax; dec %rcx; jne 1b");
CODE(generator, "1: imul %rbx, %rax; add %rdx, %rax; dec %rcx; jne 1b");
CODE(stack, "push %rax; push %rbx; push %rcx; pop %rcx; pop %rbx; pop %rax");
CODE(nothing, "nop; nop; nop; nop; nop; nop; nop; nop");
CODE(four_loads, "mov (%rdi), %eax; mov 8(%rdi), %ebx; mov 16(%rdi), %ecx; mov 24(%rdi), %edx");
CODE(zeroes, "xor %eax, %eax; xor %ebx, %ebx; add %rbx, %rax; add %rcx, %rdx");
CODE(simple_stores, "mov %rax, (%rdi); mov %rax, 8(%rdi)");
CODE(long_immediate, "add $0x1234, %ax");

struct known {
    const char *machine, *name;
    const uint8_t *code, *end;
    bool unrolled;
    double cycles;
};

static double predicted(const struct known *known)
{
    struct util_text why = {0};
    struct model *model = NULL;
    struct bounds_block block = {0};
    struct bounds bounds;
    size_t bad;
    const struct bounds_options options = {.unrolled = known->unrolled, .taken = !known->unrolled};
    assert_int_equal(model_open(known->machine, &model, &why), BASE_OK);
    assert_int_equal(
        bounds_decode(known->code, (size_t)(known->end - known->code), 0, false, &block, &bad),
        BASE_OK);
    assert_int_equal(bounds_of(&block, model, &options, &bounds), BASE_OK);
    assert_int_equal(bounds.unknown, 0);
    assert_true(bounds.certified <= bounds.predicted + 1e-9);
    double cycles = bounds.predicted;
    bounds_free(&bounds);
    bounds_block_free(&block);
    model_close(model);
    return cycles;
}

#define LOOP(machine, name, cycles)                                                                \
    {                                                                                              \
        machine, #name, name, name##_end, false, cycles                                            \
    }
#define UNROLLED(machine, name, cycles)                                                            \
    {                                                                                              \
        machine, #name, name, name##_end, true, cycles                                             \
    }

static void known_answers(void **state)
{
    const struct known all[] = {
        LOOP("skylake", triad, 1.5),
        LOOP("skylake", dot, 4),
        LOOP("skylake", sum, 4),
        LOOP("skylake", divisions, 4),
        LOOP("skylake", division_chain, 13),
        LOOP("skylake", horner, 16),
        LOOP("skylake", jacobi, 2.5),
        LOOP("skylake", kahan, 16),
        LOOP("skylake", chase, 4),
        LOOP("skylake", generator, 4),
        UNROLLED("skylake", stack, 4), /* rax through memory */
        UNROLLED("skylake", nothing, 2),
        UNROLLED("skylake", four_loads, 2),
        UNROLLED("skylake", simple_stores, 2),
        LOOP("haswell", sum, 3),
        LOOP("haswell", dot, 5),
        LOOP("haswell", triad, 1.5),
        LOOP("ivy-bridge", sum, 3),
        LOOP("icelake", triad, 1),
        LOOP("icelake", dot, 4),
        UNROLLED("icelake", simple_stores, 1),
        LOOP("sapphire-rapids", divisions, 4),
        LOOP("alder-lake", divisions, 4),
        LOOP("zen2", sum, 3),
        LOOP("zen2", dot, 5),
        LOOP("zen3", dot, 4),
        LOOP("zen4", generator, 4),
    };
    bool good = true;
    for (size_t i = 0; i < BASE_COUNT(all); i++) {
        double cycles = predicted(&all[i]);
        if (fabs(cycles - all[i].cycles) < 0.01)
            continue;
        print_error("%s on %s: %f cycles, not %g\n", all[i].name, all[i].machine, cycles,
                    all[i].cycles);
        good = false;
    }
    assert_true(good);
}

/* Four slots, of which two are zeroed without a unit: the front end alone. */
static void front_ends(void **state)
{
    const struct known zeroed = UNROLLED("skylake", zeroes, 1),
                       stalled = UNROLLED("skylake", long_immediate, 3);
    assert_true(predicted(&zeroed) < 1.5);
    assert_true(predicted(&stalled) >= stalled.cycles);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(known_answers),
                                       cmocka_unit_test(front_ends)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
