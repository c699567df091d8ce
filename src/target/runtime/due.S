/* SPDX-License-Identifier: MIT */
/*
 * With access counters only: what modules that do not count are linked without.
 */
        .text

/*
 * The way into C from where an access is due. On the stack: see INSTRUMENTED_DUE_EACH; taken off. Everything but
 * flags survives.
 */
        .globl  headroom_access_due
        .hidden headroom_access_due
        .type   headroom_access_due, @function
        .p2align 4
headroom_access_due:
        .cfi_startproc
        .cfi_def_cfa_offset 16
        pushq   %r15
        pushq   %r14
        pushq   %r13
        pushq   %r12
        pushq   %r11
        pushq   %r10
        pushq   %r9
        pushq   %r8
        pushq   %rdi
        pushq   %rsi
        pushq   %rbp
        pushq   %rsp
        pushq   %rbx
        pushq   %rdx
        pushq   %rcx
        pushq   %rax
        .cfi_def_cfa_offset 144
        .cfi_offset %rbp, -104
        movq    %rsp, %rbp
        .cfi_def_cfa_register %rbp
        leaq    144(%rbp), %rax         /* the program's */
        movq    %rax, 32(%rbp)
        andq    $-16, %rsp
        movq    %rbp, %rdi
        movq    128(%rbp), %rsi         /* where it goes on */
        movq    136(%rbp), %rdx
        call    runtime_access_due
        movq    %rbp, %rsp
        .cfi_def_cfa_register %rsp
        popq    %rax
        popq    %rcx
        popq    %rdx
        popq    %rbx
        leaq    8(%rsp), %rsp
        popq    %rbp
        popq    %rsi
        popq    %rdi
        popq    %r8
        popq    %r9
        popq    %r10
        popq    %r11
        popq    %r12
        popq    %r13
        popq    %r14
        popq    %r15
        .cfi_def_cfa_offset 16
        ret     $8
        .cfi_endproc
        .size   headroom_access_due, . - headroom_access_due

/* By which the agent knows modules whose accesses are counted. */
        .section .note.headroom,"a",@note
        .balign 4
        .long   2f - 1f, 0, 1           /* INSTRUMENTED_NOTE_COUNT */
1:      .asciz  "headroom"
2:      .balign 4

        .section .note.GNU-stack,"",@progbits
