// SPDX-License-Identifier: MIT
/*
 * What a function finds in registers when it is entered, and what its caller finds there when it
 * has returned: every integer register, every vector register in its full width, masks, the x87
 * stack, MXCSR and the direction flag, the stack pointer and how it is aligned. A compiler that
 * sees both sides (static functions, -fipa-ra) relies on more than the calling convention promises.
 */
#include "hooked.h"

struct state {
    uint64_t integer[16]; /* in the order of their numbers; 4 is rsp */
    uint8_t vector[32][64];
    uint64_t mask[8];
    long double x87[2];
    uint32_t mxcsr;
};

/* Widest that the processor and the system allow: 16, 32, 64. */
unsigned width = 16;

struct state wanted, inside, after;
void call_all(void *function, uint64_t misaligned);
void keeps_all(void), looks(void);

/*
 * call_all loads everything from `wanted`, calls, and stores everything to `after`. looks stores
 * everything to `inside`; keeps_all changes nothing. None of them has a frame that a debugger would
 * know.
 */
__asm__(".text\n"
        ".macro vectors_to place\n"
        "  cmpl $32, width(%rip)\n"
        "  ja 3f\n"
        "  je 2f\n"
        "  .irp n,0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15\n"
        "  movups %xmm\\n, \\place+128+64*\\n(%rip)\n"
        "  .endr\n"
        "  jmp 9f\n"
        "2:\n"
        "  .irp n,0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15\n"
        "  vmovups %ymm\\n, \\place+128+64*\\n(%rip)\n"
        "  .endr\n"
        "  jmp 9f\n"
        "3:\n"
        "  .irp "
        "n,0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31\n"
        "  vmovups %zmm\\n, \\place+128+64*\\n(%rip)\n"
        "  .endr\n"
        "  .irp n,0,1,2,3,4,5,6,7\n"
        "  kmovq %k\\n, \\place+128+2048+8*\\n(%rip)\n"
        "  .endr\n"
        "9:\n"
        ".endm\n"
        ".macro vectors_from place\n"
        "  cmpl $32, width(%rip)\n"
        "  ja 3f\n"
        "  je 2f\n"
        "  .irp n,0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15\n"
        "  movups \\place+128+64*\\n(%rip), %xmm\\n\n"
        "  .endr\n"
        "  jmp 9f\n"
        "2:\n"
        "  .irp n,0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15\n"
        "  vmovups \\place+128+64*\\n(%rip), %ymm\\n\n"
        "  .endr\n"
        "  jmp 9f\n"
        "3:\n"
        "  .irp "
        "n,0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31\n"
        "  vmovups \\place+128+64*\\n(%rip), %zmm\\n\n"
        "  .endr\n"
        "  .irp n,0,1,2,3,4,5,6,7\n"
        "  kmovq \\place+128+2048+8*\\n(%rip), %k\\n\n"
        "  .endr\n"
        "9:\n"
        ".endm\n"
        ".macro integers_to place\n"
        "  mov %rax, \\place(%rip);     mov %rcx, \\place+8(%rip);   mov %rdx, \\place+16(%rip)\n"
        "  mov %rbx, \\place+24(%rip);  mov %rsp, \\place+32(%rip);  mov %rbp, \\place+40(%rip)\n"
        "  mov %rsi, \\place+48(%rip);  mov %rdi, \\place+56(%rip);  mov %r8, \\place+64(%rip)\n"
        "  mov %r9, \\place+72(%rip);   mov %r10, \\place+80(%rip);  mov %r11, \\place+88(%rip)\n"
        "  mov %r12, \\place+96(%rip);  mov %r13, \\place+104(%rip); mov %r14, \\place+112(%rip)\n"
        "  mov %r15, \\place+120(%rip)\n"
        ".endm\n"
        ".macro integers_from place\n"
        "  mov \\place(%rip), %rax;     mov \\place+8(%rip), %rcx;   mov \\place+16(%rip), %rdx\n"
        "  mov \\place+24(%rip), %rbx;  mov \\place+40(%rip), %rbp;  mov \\place+48(%rip), %rsi\n"
        "  mov \\place+56(%rip), %rdi;  mov \\place+64(%rip), %r8;   mov \\place+72(%rip), %r9\n"
        "  mov \\place+80(%rip), %r10;  mov \\place+96(%rip), %r12;  mov \\place+104(%rip), %r13\n"
        "  mov \\place+112(%rip), %r14; mov \\place+120(%rip), %r15\n"
        ".endm\n"
        ".globl call_all; .type call_all, @function\n"
        "call_all:\n"
        "  push %rbx; push %rbp; push %r12; push %r13; push %r14; push %r15\n"
        "  sub $8, %rsp\n"
        "  mov %rsp, saved_stack(%rip)\n"
        "  sub %rsi, %rsp\n"
        "  mov %rdi, callee(%rip)\n"
        "  mov %rsp, wanted+32(%rip)\n"
        "  fldt wanted+128+2048+64+16(%rip)\n"
        "  fldt wanted+128+2048+64(%rip)\n"
        "  vectors_from wanted\n"
        "  integers_from wanted\n"
        "  mov wanted+88(%rip), %r11\n"
        "  call *callee(%rip)\n"
        "  integers_to after\n"
        "  vectors_to after\n"
        "  fstpt after+128+2048+64(%rip)\n"
        "  fstpt after+128+2048+64+16(%rip)\n"
        "  stmxcsr after+128+2048+64+32(%rip)\n"
        "  mov saved_stack(%rip), %rsp\n"
        "  add $8, %rsp\n"
        "  pop %r15; pop %r14; pop %r13; pop %r12; pop %rbp; pop %rbx\n"
        "  cld\n"
        "  ret\n"
        ".size call_all, . - call_all\n"
        ".globl looks; .type looks, @function\n"
        "looks:\n"
        "  integers_to inside\n"
        "  vectors_to inside\n"
        "  fstpt inside+128+2048+64(%rip)\n"
        "  fstpt inside+128+2048+64+16(%rip)\n"
        "  fldt inside+128+2048+64+16(%rip)\n"
        "  fldt inside+128+2048+64(%rip)\n"
        "  stmxcsr inside+128+2048+64+32(%rip)\n"
        "  ret\n"
        ".size looks, . - looks\n"
        ".globl keeps_all; .type keeps_all, @function\n"
        "keeps_all:\n"
        "  nopl 0(%rax)\n"
        "  nopl 0(%rax)\n"
        "  ret\n"
        ".size keeps_all, . - keeps_all\n"
        ".local saved_stack, callee\n"
        ".comm saved_stack, 8, 8\n"
        ".comm callee, 8, 8\n");

static const char *const integers[16] = {"rax", "rcx", "rdx", "rbx", "rsp", "rbp", "rsi", "rdi",
                                         "r8",  "r9",  "r10", "r11", "r12", "r13", "r14", "r15"};

static int told;

static void differs(const char *side, const char *what, unsigned number)
{
    if (told++ < 20)
        say("%s: %s %u\n", side, what, number);
}

static void compare(const char *side, const struct state *seen, uint64_t stack)
{
    for (unsigned i = 0; i < 16; i++)
        if (seen->integer[i] != (i == 4 ? stack : wanted.integer[i]))
            differs(side, integers[i], i);
    for (unsigned i = 0; i < (width == 64 ? 32 : 16); i++)
        if (memcmp(seen->vector[i], wanted.vector[i], width) != 0)
            differs(side, "vector", i);
    for (unsigned i = 0; width == 64 && i < 8; i++)
        if (seen->mask[i] != wanted.mask[i])
            differs(side, "mask", i);
    for (unsigned i = 0; i < 2; i++)
        if (seen->x87[i] != wanted.x87[i])
            differs(side, "x87", i);
    if (seen->mxcsr != wanted.mxcsr)
        differs(side, "mxcsr", 0);
}

static uint64_t draw(void)
{
    static uint64_t random = 88172645463325252u;
    random ^= random << 13;
    random ^= random >> 7;
    return random ^= random << 17;
}

static void make_state(void)
{
    for (unsigned i = 0; i < 16; i++)
        wanted.integer[i] = draw();
    for (unsigned i = 0; i < sizeof wanted.vector; i++)
        ((uint8_t *)wanted.vector)[i] = (uint8_t)(draw() >> 32);
    for (unsigned i = 0; i < 8; i++)
        wanted.mask[i] = draw();
    wanted.x87[0] = (long double)draw();
    wanted.x87[1] = (long double)draw() / 3;
}

int main(int argc, char **argv)
{
    uint64_t rounds = amount(argc, argv, 50000);
    if (__builtin_cpu_supports("avx"))
        width = 32;
    if (__builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512f"))
        width = 64;
    wanted.mxcsr = __builtin_ia32_stmxcsr();
    for (uint64_t i = 0; i < rounds; i++) {
        make_state();
        call_all((void *)looks, i % 3 ? 0 : 8);
        compare("entered", &inside, wanted.integer[4] - 8);
        compare("returned", &after, wanted.integer[4]);
        call_all((void *)keeps_all, i % 5 ? 0 : 8);
        compare("kept", &after, wanted.integer[4]);
    }
    say("differences %d\n", told);
    return 0;
}
