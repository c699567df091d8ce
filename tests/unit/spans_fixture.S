# SPDX-License-Identifier: MIT
# A library that is loaded while a program runs: fixture_add(x) = x + 1.
        .text
        .globl fixture_add
        .type fixture_add, @function
fixture_add:
        .cfi_startproc
        push %rbp
        .cfi_def_cfa_offset 16
        mov %rsp, %rbp
        call fixture_help
        pop %rbp
        .cfi_def_cfa_offset 8
        ret
        .cfi_endproc
        .size fixture_add, . - fixture_add
        .type fixture_help, @function
fixture_help:
        .cfi_startproc
        lea 1(%rdi), %rax
        ret
        .cfi_endproc
        .size fixture_help, . - fixture_help
        .section .note.GNU-stack, "", @progbits
