/* SPDX-License-Identifier: MIT */
/*
 * The way from inserted code into C: it stands where no call was, so everything but flags must survive, and the
 * stack may have any alignment. C is compiled for general registers only, which leaves vector registers,
 * x87 and their control words alone.
 */
#include "runtime/stubs.h"

        .text

        .macro  entry name
        .globl  \name
        .hidden \name
        .type   \name, @function
        .p2align 4
\name:  .cfi_startproc
        .endm

        .macro  end name
        .cfi_endproc
        .size   \name, . - \name
        .endm

        .macro  save
        pushq   %rbp
        .cfi_def_cfa_offset 16
        .cfi_offset %rbp, -16
        movq    %rsp, %rbp
        .cfi_def_cfa_register %rbp
        pushq   %rax
        pushq   %rcx
        pushq   %rdx
        pushq   %rsi
        pushq   %rdi
        pushq   %r8
        pushq   %r9
        pushq   %r10
        pushq   %r11
        andq    $-16, %rsp
        .endm

        .macro  restore
        leaq    -72(%rbp), %rsp
        popq    %r11
        popq    %r10
        popq    %r9
        popq    %r8
        popq    %rdi
        popq    %rsi
        popq    %rdx
        popq    %rcx
        popq    %rax
        popq    %rbp
        .cfi_def_cfa %rsp, 8
        .endm

/* Nothing in, nothing out. */
        entry   headroom_thread_begin
        save
        call    runtime_begin
        restore
        ret
        end     headroom_thread_begin

/*
 * %r11: entry of the map. Called before the function changed its stack. %r11: its record. What was found lately
 * (struct runtime_thread) is found here as well: interpreters and virtual calls come this way all the time. So is
 * the function's own record, where nothing is recorded; as in context.c.
 */
        .hidden headroom_alone
        .hidden headroom_own
        .hidden headroom_own_bytes
        entry   headroom_enter
        cmpl    $0, headroom_alone(%rip)
        jne     3f
        pushq   %rax
        .cfi_adjust_cfa_offset 8
        pushq   %rcx
        .cfi_adjust_cfa_offset 8
        pushq   %rdx
        .cfi_adjust_cfa_offset 8
        pushq   %rsi
        .cfi_adjust_cfa_offset 8
        movq    headroom_slot@gottpoff(%rip), %rax
        movq    %fs:(%rax), %rax
        testq   %rax, %rax
        je      1f
        movq    (%rax), %rcx
        testq   %rcx, %rcx
        je      1f
        movq    STUBS_RECORD_PARENT(%rcx), %rcx
        testq   %rcx, %rcx
        je      1f
        leaq    STUBS_RECORD_BYTES(%rcx), %rdx
        movq    %rax, %rsi
        subq    %rdx, %rsi
        movl    STUBS_RECORD_SLOTS(%rcx), %edx
        shlq    $3, %rdx
        cmpq    %rdx, %rsi
        jae     1f
        movq    %rax, %rsi
        shrq    $3, %rax
        imulq   $31, %rax, %rax
        movq    %r11, %rdx
        shrq    $2, %rdx
        addq    %rdx, %rax
        movq    %rax, %rdx
        shrq    $10, %rdx
        xorq    %rdx, %rax
        andl    $STUBS_LATELY_MASK, %eax
        shlq    $4, %rax
        movq    runtime_thread@gottpoff(%rip), %rdx
        movq    %fs:(%rdx), %rdx
        testq   %rdx, %rdx
        je      1f
        addq    %rax, %rdx
        cmpq    STUBS_THREAD_LATELY(%rdx), %rcx
        jne     1f
        movq    STUBS_THREAD_LATELY + 8(%rdx), %rdx
        cmpq    %r11, (%rdx)
        jne     1f
        movq    %rdx, (%rsi)
        movq    %rdx, %r11
        popq    %rsi
        .cfi_adjust_cfa_offset -8
        popq    %rdx
        .cfi_adjust_cfa_offset -8
        popq    %rcx
        .cfi_adjust_cfa_offset -8
        popq    %rax
        .cfi_adjust_cfa_offset -8
        ret
        .cfi_adjust_cfa_offset 32
1:      popq    %rsi
        .cfi_adjust_cfa_offset -8
        popq    %rdx
        .cfi_adjust_cfa_offset -8
2:      popq    %rcx
        .cfi_adjust_cfa_offset -8
        popq    %rax
        .cfi_adjust_cfa_offset -8
        .cfi_remember_state
        save
        movq    %r11, %rdi
        leaq    16(%rbp), %rsi
        call    runtime_enter
        movq    %rax, -72(%rbp)
        restore
        ret
        .cfi_restore_state
3:      pushq   %rax
        .cfi_adjust_cfa_offset 8
        pushq   %rcx
        .cfi_adjust_cfa_offset 8
        movslq  STUBS_FUNCTION_TABLE(%r11), %rax
        leaq    STUBS_FUNCTION_TABLE(%r11,%rax), %rax
        cmpq    %r11, (%rax)
        jne     2b
        movq    headroom_slot@gottpoff(%rip), %rcx
        movq    %fs:(%rcx), %rcx
        movq    %rcx, %r11
        subq    headroom_own(%rip), %r11
        cmpq    headroom_own_bytes(%rip), %r11
        jae     4f
        movq    %rax, (%rcx)
4:      movq    %rax, %r11
        popq    %rcx
        .cfi_adjust_cfa_offset -8
        popq    %rax
        .cfi_adjust_cfa_offset -8
        ret
        end     headroom_enter

/*
 * %rax: path, %r11: struct instrumented_hash; neither survives. Nearly always the path is in the table already, and
 * then this finds it: what runtime_count_path does, with few registers to save.
 */
        .macro  count_path name, cycles
        entry   \name
        .cfi_remember_state
        pushq   %rcx
        pushq   %rdx
        pushq   %rsi
        pushq   %r11
        .cfi_def_cfa_offset 40
        movq    (%r11), %rcx            /* next: the table in use */
        testq   %rcx, %rcx
        cmoveq  %r11, %rcx
        movq    16(%rcx), %rsi          /* capacity_mask */
        testq   %rsi, %rsi
        jne     1f
        movl    $255, %esi
1:      incq    %rax
        movq    %rax, %rdx              /* base_mix64 */
        shrq    $30, %rdx
        xorq    %rax, %rdx
        movabsq $0xbf58476d1ce4e5b9, %r11
        imulq   %r11, %rdx
        movq    %rdx, %r11
        shrq    $27, %r11
        xorq    %r11, %rdx
        movabsq $0x94d049bb133111eb, %r11
        imulq   %r11, %rdx
        movq    %rdx, %r11
        shrq    $31, %r11
        xorq    %r11, %rdx
2:      andq    %rsi, %rdx
        movq    %rdx, %r11              /* cells of 32 bytes, from 24 on */
        shlq    $5, %r11
        cmpq    %rax, 24(%rcx,%r11)
        jne     3f
        incq    32(%rcx,%r11)
        .if     \cycles
        movq    16(%rsp), %rdx
        testq   %rdx, %rdx
        je      4f
        addq    %rdx, 40(%rcx,%r11)
        incq    48(%rcx,%r11)
4:
        .endif
        leaq    8(%rsp), %rsp
        popq    %rsi
        popq    %rdx
        popq    %rcx
        .cfi_restore_state
        ret
        .cfi_def_cfa_offset 40
3:      incq    %rdx
        cmpq    $0, 24(%rcx,%r11)
        jne     2b
        popq    %r11
        popq    %rsi
        popq    %rdx
        popq    %rcx
        .cfi_def_cfa_offset 8
        decq    %rax
        save
        movq    %rax, %rdi
        movq    %r11, %rsi
        .if     !\cycles
        xorl    %edx, %edx
        .endif
        call    runtime_count_path
        restore
        ret
        end     \name
        .endm

        count_path headroom_count_path, 0

/* %rdx: cycles of the path, which survive; 0: it was not measured. */
        count_path headroom_count_path_cycles, 1

/*
 * Nothing in, nothing out: how many paths of the thread begin before the next that is measured, 0 to 127. The upper
 * bits of a linear congruential generator of period 2^32: what is measured has no step in common with any loop.
 */
        entry   headroom_sample
        pushq   %rax
        pushq   %rcx
        .cfi_def_cfa_offset 24
        movq    headroom_seed@gottpoff(%rip), %rcx
        imull   $747796405, %fs:(%rcx), %eax
        addl    $1403630843, %eax
        movl    %eax, %fs:(%rcx)
        shrl    $25, %eax
        movq    headroom_countdown@gottpoff(%rip), %rcx
        movl    %eax, %fs:(%rcx)
        popq    %rcx
        popq    %rax
        .cfi_def_cfa_offset 8
        ret
        end     headroom_sample

/*
 * Nothing in. %rax: the time stamp counter, or with headroom_event the count of the event that is recorded; %rdx does
 * not survive.
 */
        .hidden headroom_event
        entry   headroom_read
        cmpl    $0, headroom_event(%rip)
        jne     1f
        rdtsc
        shlq    $32, %rdx
        orq     %rdx, %rax
        ret
1:      save
        call    runtime_read_event
        movq    %rax, -8(%rbp)
        restore
        ret
        end     headroom_read

        .section .note.GNU-stack,"",@progbits
