// SPDX-License-Identifier: MIT
/*
 * Functions whose first bytes are hard to replace: jumps back to the entry or to just behind it,
 * functions of one byte with a neighbour right behind them, entries that begin with calls, jumps,
 * loops, push or int3-like bytes, two entries a byte or two apart, code jumped into from elsewhere;
 * called from two threads for as long as automatic hooking needs.
 */
#include "hooked.h"

/* Each takes rdi and gives rax. */
__asm__(".text\n"
        ".macro function name\n"
        "  .globl \\name\n"
        "  .type \\name, @function\n"
        "\\name:\n"
        ".endm\n"
        ".macro ends name\n"
        "  .size \\name, . - \\name\n"
        ".endm\n"
        /* the loop is the entry */
        "function back_to_entry\n"
        "  dec %rdi\n"
        "  jnz back_to_entry\n"
        "  mov $7, %eax\n"
        "  ret\n"
        "ends back_to_entry\n"
        /* and behind the first instruction, inside of what a jump overwrites */
        "function back_inside\n"
        "  xor %eax, %eax\n"
        "1: inc %rax\n"
        "  dec %rdi\n"
        "  jnz 1b\n"
        "  ret\n"
        "ends back_inside\n"
        /* tiny ones, side by side */
        "function only_ret\n"
        "  ret\n"
        "ends only_ret\n"
        "function three_bytes\n"
        "  mov %edi, %eax\n"
        "  ret\n"
        "ends three_bytes\n"
        "function after_tiny\n"
        "  lea 3(%rdi), %rax\n"
        "  ret\n"
        "ends after_tiny\n"
        "function repz_ret\n"
        "  repz ret\n"
        "ends repz_ret\n"
        /* begins with a call of the next instruction */
        "function begins_with_call\n"
        "  call 1f\n"
        "1: pop %rax\n"
        "  lea begins_with_call(%rip), %rcx\n"
        "  sub %rcx, %rax\n"
        "  add %rdi, %rax\n"
        "  ret\n"
        "ends begins_with_call\n"
        "function begins_with_jump\n"
        "  jmp 1f\n"
        "  ud2\n"
        "1: lea 1(%rdi), %rax\n"
        "  ret\n"
        "ends begins_with_jump\n"
        "function begins_with_condition\n"
        "  test %rdi, %rdi\n"
        "  jz 1f\n"
        "  lea (%rdi,%rdi), %rax\n"
        "  ret\n"
        "1: mov $5, %eax\n"
        "  ret\n"
        "ends begins_with_condition\n"
        "function begins_with_jrcxz\n"
        "  mov %rdi, %rcx\n"
        "  jrcxz 1f\n"
        "  mov $9, %eax\n"
        "  ret\n"
        "1: mov $8, %eax\n"
        "  ret\n"
        "ends begins_with_jrcxz\n"
        "function begins_with_rip\n"
        "  mov constant(%rip), %eax\n"
        "  add %rdi, %rax\n"
        "  ret\n"
        "ends begins_with_rip\n"
        "function begins_with_prefixes\n"
        "  .byte 0x66, 0x66, 0x66, 0x66, 0x2e, 0x0f, 0x1f, 0x84, 0, 0, 2, 0, 0\n"
        "  lea 4(%rdi), %rax\n"
        "  ret\n"
        "ends begins_with_prefixes\n"
        /* two entries, one behind the first instruction of the other */
        "function first_entry\n"
        "  inc %rdi\n"
        "function second_entry\n"
        "  lea (%rdi,%rdi,2), %rax\n"
        "  ret\n"
        "ends second_entry\n"
        "ends first_entry\n"
        /* its second instruction is the target of a jump out of another function, and of a table */
        "function jumped_into\n"
        "  xor %eax, %eax\n"
        "jumped_into_inside:\n"
        "  add %rdi, %rax\n"
        "  inc %rax\n"
        "  ret\n"
        "ends jumped_into\n"
        "function jumps_into\n"
        "  mov $100, %eax\n"
        "  jmp jumped_into_inside\n"
        "ends jumps_into\n"
        "function jumps_by_table\n"
        "  mov $1000, %eax\n"
        "  jmp *table(%rip)\n"
        "ends jumps_by_table\n"
        /* a loop instruction at the very start */
        "function begins_with_loop\n"
        "  mov %edi, %ecx\n"
        "  loop .\n"
        "  mov $6, %eax\n"
        "  ret\n"
        "ends begins_with_loop\n"
        /* a function without a ret: it goes on in the next one */
        "function falls_through\n"
        "  add $10, %rdi\n"
        "  nop\n"
        "ends falls_through\n"
        "function fallen_into\n"
        "  lea 20(%rdi), %rax\n"
        "  ret\n"
        "ends fallen_into\n"
        /* the frame that the hook must not disturb: it returns elsewhere than it was called from */
        "function pops_its_return\n"
        "  pop %rcx\n"
        "  lea 2(%rdi), %rax\n"
        "  jmp *%rcx\n"
        "ends pops_its_return\n"
        "function returns_by_push\n"
        "  mov (%rsp), %rcx\n"
        "  lea 8(%rsp), %rsp\n"
        "  push %rcx\n"
        "  lea 6(%rdi), %rax\n"
        "  ret\n"
        "ends returns_by_push\n"
        ".section .rodata\n"
        "constant: .long 77\n"
        ".data\n"
        ".balign 8\n"
        "table: .quad jumped_into_inside\n"
        ".text\n");

typedef uint64_t odd(uint64_t);
odd back_to_entry, back_inside, only_ret, three_bytes, after_tiny, repz_ret, begins_with_call,
    begins_with_jump, begins_with_condition, begins_with_jrcxz, begins_with_rip,
    begins_with_prefixes, first_entry, second_entry, jumped_into, jumps_into, jumps_by_table,
    begins_with_loop, falls_through, fallen_into, pops_its_return, returns_by_push;

static uint64_t milliseconds;
static volatile int wrong;

static void expect(const char *what, uint64_t seen, uint64_t wanted)
{
    if (seen != wanted && wrong++ < 10)
        say("%s: %llu instead of %llu\n", what, (unsigned long long)seen,
            (unsigned long long)wanted);
}

#define EXPECT(function, argument, wanted) expect(#function, function(argument), wanted)

static void once(uint64_t i)
{
    EXPECT(back_to_entry, i % 9 + 1, 7);
    EXPECT(back_inside, i % 9 + 1, i % 9 + 1);
    only_ret(i);
    repz_ret(i);
    EXPECT(three_bytes, i % 1000, i % 1000);
    EXPECT(after_tiny, i, i + 3);
    EXPECT(begins_with_call, i, i + 5);
    EXPECT(begins_with_jump, i, i + 1);
    EXPECT(begins_with_condition, i % 3, i % 3 ? i % 3 * 2 : 5);
    EXPECT(begins_with_jrcxz, i % 2, i % 2 ? 9 : 8);
    EXPECT(begins_with_rip, i, i + 77);
    EXPECT(begins_with_prefixes, i, i + 4);
    EXPECT(first_entry, i, (i + 1) * 3);
    EXPECT(second_entry, i, i * 3);
    EXPECT(jumped_into, i, i + 1);
    EXPECT(jumps_into, i, i + 101);
    EXPECT(jumps_by_table, i, i + 1001);
    EXPECT(begins_with_loop, i % 9 + 1, 6);
    EXPECT(falls_through, i, i + 30);
    EXPECT(fallen_into, i, i + 20);
    EXPECT(pops_its_return, i, i + 2);
    EXPECT(returns_by_push, i, i + 6);
}

static uint64_t cpu_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

static void *run(void *unused)
{
    for (uint64_t i = 0; i % 1024 || cpu_ms() < milliseconds; i++)
        once(i);
    return unused;
}

int main(int argc, char **argv)
{
    pthread_t thread;
    milliseconds = amount(argc, argv, 1500);
    must(pthread_create(&thread, NULL, run, NULL) == 0);
    run(NULL);
    must(pthread_join(thread, NULL) == 0);
    say("wrong %d\n", wrong);
    return 0;
}
