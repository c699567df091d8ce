# SPDX-License-Identifier: MIT
# f has an exception handler within its first five bytes, g one behind them.
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

    function f
    .cfi_startproc
    .cfi_lsda 0x1b, 9f
    mov %edi, %eax
1:  inc %eax
    nop
    nop
    ret
    .cfi_endproc
    end f

    function g
    .cfi_startproc
    .cfi_lsda 0x1b, 8f
    mov %edi, %eax
    inc %eax
    nop
    nop
1:  ret
    .cfi_endproc
    end g

    .section .gcc_except_table,"a",@progbits
9:  .byte 0xff, 0xff, 1, 4, 0, 2, 2, 0
8:  .byte 0xff, 0xff, 1, 4, 0, 2, 6, 0
