/* SPDX-License-Identifier: MIT */
/*
 * Functions with calling contexts: long NODE(long (*first)(void *), void *, long (*second)(void *), void *) calls
 * first at call site 0 and second at 1, unless NULL. a ... d: one child for each procedure; s: a slot's
 * children are its own; leaf0 ... leaf49 call nothing; leafp counts its path %rdi in its record, and leafh hashed.
 */
        .include "inserted.inc"
        .text
        .macro  node name, modes
        described \name, \modes, 0, 0, 2
        function \name
        enter   \name
        pushq   %rbx
        .cfi_adjust_cfa_offset 8
        .cfi_offset %rbx, -40
        pushq   %rdx
        .cfi_adjust_cfa_offset 8
        pushq   %rcx
        .cfi_adjust_cfa_offset 8
        subq    $8, %rsp
        .cfi_adjust_cfa_offset 8
        testq   %rdi, %rdi
        je      3f
        leaq    32(%rsp), %rsp
        at_call 0
        leaq    -32(%rsp), %rsp
        movq    %rdi, %rax
        movq    %rsi, %rdi
        call    *%rax
3:      cmpq    $0, 16(%rsp)
        je      4f
        leaq    32(%rsp), %rsp
        at_call 1
        leaq    -32(%rsp), %rsp
        movq    8(%rsp), %rdi
        movq    16(%rsp), %rax
        call    *%rax
4:      addq    $24, %rsp
        .cfi_adjust_cfa_offset -24
        popq    %rbx
        .cfi_adjust_cfa_offset -8
        .cfi_restore %rbx
        leave_
        ret
        end_function \name
        .endm

        .irp    letter, a, b, c, d
        node    node_\letter, CONTEXTS
        .endr
        node    node_s, CONTEXTS+CALL_SITES

        .macro  leaf number
        described leaf\number, CONTEXTS, 0, 0, 0
        function leaf\number
        enter   leaf\number
        leave_
        ret
        end_function leaf\number
        .endm
        .altmacro
        .set    i, 0
        .rept   50
        leaf    %i
        .set    i, i + 1
        .endr
        .noaltmacro

        described leafp, CONTEXTS+PATHS, ARRAY, 4, 0
        function leafp
        enter   leafp
        movq    (%rsp), %r11
        incq    RECORD_BYTES(%r11,%rdi,8)
        leave_
        ret
        end_function leafp

        described leafh, CONTEXTS+PATHS, HASH, HASH_WORDS, 0
        function leafh
        enter   leafh
        movq    (%rsp), %r11
        leaq    RECORD_BYTES(%r11), %r11
        movq    %rdi, %rax
        call    headroom_count_path
        leave_
        ret
        end_function leafh

        .section .rodata
        .globl  leaves
        .hidden leaves
        .section .data.rel.ro, "aw"
        .p2align 3
leaves:
        .irp    tens, , 1, 2, 3, 4
        .irp    ones, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9
        .quad   leaf\tens\ones
        .endr
        .endr

        .section .note.GNU-stack,"",@progbits
