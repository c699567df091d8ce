# SPDX-License-Identifier: MIT
# A marker in a function that uses the red zone.
    .macro function name
    .p2align 4
    .globl \name
    .type \name, @function
\name:
    .endm
    .macro end name
    .size \name, . - \name
    .endm
    .macro site
    .byte 0x0f, 0x1f, 0x44, 0, 0
    .endm

    .text

    function marked
    mov %rsi, -8(%rsp)
    mov %rsi, -120(%rsp)
1:  site
    mov -8(%rsp), %rax
    add -120(%rsp), %rax
    ret
    end marked

    .section headroom_markers,"a",@progbits
    .long 1b - ., 6f - ., 1, 0

    .section .rodata
6:  .asciz "m"
