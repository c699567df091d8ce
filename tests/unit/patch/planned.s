# SPDX-License-Identifier: MIT
# Functions whose plans patch_test.c knows.
    .macro function name
    .p2align 4
    .globl \name
    .type \name, @function
\name:
    .endm
    .macro end name
    .size \name, . - \name
    .endm

    .text

    function plain
    push %rbp
    mov %rsp, %rbp
    push %rbx
    pop %rbx
    pop %rbp
    ret
    end plain

    function marked
    endbr64
    mov $1, %eax
    ret
    end marked

    function padded
    ret
    end padded
    .byte 0x0f, 0x1f, 0x40, 0
    .p2align 4, 0xcc

    function padded_jump
    jmp 1f
    .p2align 4
1:  mov %edi, %eax
    ret
    end padded_jump

    function calls_last
    sub $8, %rsp
    call plain
    add $8, %rsp
    ret
    end calls_last

    function long_one
    movabs $0x123456789abcdef, %rax
    ret
    end long_one

    function unsafe_tail
    jmp *cell(%rip)
    end unsafe_tail

    function recursive
    sub $8, %rsp
    test %edi, %edi
    je 1f
    dec %edi
    call recursive
1:  add $8, %rsp
    ret
    end recursive
    .globl same
    .type same, @function
    .set same, plain
    .size same, 8
    .p2align 4
    .globl framed_label
framed_label: .cfi_startproc
    mov $1, %eax
    ret
    .cfi_endproc

# The second table is not the first one's: counted from the first it would lead into two_tables.
    function two_tables
    mov %rdi, %rax
    inc %eax
    nop
    lea table_1(%rip), %rcx
    movslq (%rcx,%rax,4), %rax
    add %rcx, %rax
    jmp *%rax
1:  ret
    end two_tables

    function next_table
    lea table_2(%rip), %rcx
    movslq (%rcx,%rdi,4), %rax
    add %rcx, %rax
    jmp *%rax
    end next_table

    .section .rodata
    .p2align 2
table_1: .long 1b - table_1
table_2: .long two_tables + 3 - table_1
    .data
    .p2align 3
cell: .quad plain
