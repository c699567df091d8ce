# SPDX-License-Identifier: MIT
# A loop with places for markers: two ways in, the second by a conditional jump, and two ways out. Flags and the red zone are used across them.
    .text
    .p2align 4
    .globl looped
    .type looped, @function
looped:
    mov %rsi, -8(%rsp)
    xor %eax, %eax
    test %rdi, %rdi
    jle 9f
    cmp $100, %rdi
    stc
    jg 2f
    lea 1000(%rax), %rax
    stc
2:  adc $0, %rax
    lea (%rax,%rdi), %rax
    cmp $7, %rdi
    je 8f
    dec %rdi
    stc
    jne 2b
    lea 10000(%rax), %rax
    adc -8(%rsp), %rax
    ret
8:  lea 20000(%rax), %rax
9:  ret
    .size looped, . - looped
