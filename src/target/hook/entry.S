// SPDX-License-Identifier: MIT
/*
 * Stubs, slots and what they share: see hook.h. No register changes on the way but the flags, which no
 * calling convention passes on.
 */
#define FUNCTIONS 1024  /* SPANS_FUNCTIONS   */
#define SLOTS     32768 /* HOOK_SLOTS         */
#define SLOT_SIZE 320   /* sizeof(struct slot) */
#define STUB      64    /* HOOK_STUB_BYTES    */

/* x87, SSE, AVX, AVX-512: what calls pass arguments and results in. */
#define VECTORS 0xe7
#define XSAVE_BYTES 2752 /* of these components, in the standard format (Intel SDM vol. 1, 13.4) */

.macro save
        push    %rax
        .cfi_adjust_cfa_offset 8
        push    %rcx
        .cfi_adjust_cfa_offset 8
        push    %rdx
        .cfi_adjust_cfa_offset 8
        push    %rsi
        .cfi_adjust_cfa_offset 8
        push    %rdi
        .cfi_adjust_cfa_offset 8
        push    %r8
        .cfi_adjust_cfa_offset 8
        push    %r9
        .cfi_adjust_cfa_offset 8
        push    %r10
        .cfi_adjust_cfa_offset 8
        push    %r11
        .cfi_adjust_cfa_offset 8
.endm

.macro restore
        pop     %r11
        .cfi_adjust_cfa_offset -8
        pop     %r10
        .cfi_adjust_cfa_offset -8
        pop     %r9
        .cfi_adjust_cfa_offset -8
        pop     %r8
        .cfi_adjust_cfa_offset -8
        pop     %rdi
        .cfi_adjust_cfa_offset -8
        pop     %rsi
        .cfi_adjust_cfa_offset -8
        pop     %rdx
        .cfi_adjust_cfa_offset -8
        pop     %rcx
        .cfi_adjust_cfa_offset -8
        pop     %rax
        .cfi_adjust_cfa_offset -8
.endm

        .text

/* ---- stubs -------------------------------------------------------------------------------- */

/* One in so many executions goes to hook_enter, the others straight on: hook_countdown. */
        .globl  hook_stubs
        .hidden hook_stubs
        .type   hook_stubs, @function
        .balign STUB
hook_stubs:
        .cfi_startproc
        .set    k, 0
        .rept   FUNCTIONS
        .balign STUB
        endbr64
        push    %rax
        .cfi_adjust_cfa_offset 8
        mov     hook_countdown@gottpoff(%rip), %rax
        mov     %fs:(%rax), %rax
        subl    $1, 4*k(%rax)
        pop     %rax
        .cfi_adjust_cfa_offset -8
        jle     1f
        jmp     *(hook_targets + 8 * k)(%rip)
1:      push    $k
        .cfi_adjust_cfa_offset 8
        jmp     hook_enter
        .cfi_adjust_cfa_offset -8
        .set    k, k + 1
        .endr
        .cfi_endproc
        .size   hook_stubs, . - hook_stubs

        .type   hook_enter, @function
hook_enter:
        .cfi_startproc
        .cfi_def_cfa_offset 16
        save
1:      mov     %rsp, %rdi
        call    hook_enter_c
        cmp     $1, %rax
        jb      2f
        je      3f
        /* The slot's code, in place of the return address, which the activation has. */
        mov     %rax, 80(%rsp)
        restore
        lea     16(%rsp), %rsp
        .cfi_adjust_cfa_offset -16
        jmp     *-8(%rsp)
        .cfi_adjust_cfa_offset 16
        .cfi_adjust_cfa_offset 72
2:      restore
        lea     8(%rsp), %rsp
        .cfi_adjust_cfa_offset -8
        jmp     *-8(%rsp)
        .cfi_adjust_cfa_offset 8
        .cfi_adjust_cfa_offset 72
3:      call    hook_due
        jmp     1b
        .cfi_endproc
        .size   hook_enter, . - hook_enter

/* ---- slots --------------------------------------------------------------------------------- */

/*
 * What returns to a slot leaves the slot's address where it was: hook_leave sees from it which slot it is, and as long as it
 * is there no other thread takes the slot for free (slots.c).
 *
 * The call is reached with the stack as the caller will find it: the return address it pushes lies where the
 * caller's did. For unwinders a slot is a frame of its own between the function and its caller. Its rules, with b = the
 * slot's first byte, pc & -16:
 *   return address: at b + 6 + (the call's displacement, which is at b + 2) + 8: the activation's `ra`
 *   stack pointer:  as it is now, or eight more once the lea is done (pc & 15 == 11)
 *   CFA:            seven less: it must differ from its neighbours', by which unwinders distinguish frames
 */
        .globl  hook_slots
        .hidden hook_slots
        .globl  hook_slots_end
        .hidden hook_slots_end
        .type   hook_slots, @function
        .balign 64
hook_slots:
        .cfi_startproc simple
        /* DW_CFA_def_cfa_expression: breg7 -7; breg16 0; lit15; and; lit11; eq; lit3; shl; plus */
        .cfi_escape 0x0f, 11, 0x77, 0x79, 0x80, 0x00, 0x3f, 0x1a, 0x3b, 0x29, 0x33, 0x24, 0x22
        /* DW_CFA_val_expression rsp: breg7 0; breg16 0; lit15; and; lit11; eq; lit3; shl; plus */
        .cfi_escape 0x16, 7, 11, 0x77, 0x00, 0x80, 0x00, 0x3f, 0x1a, 0x3b, 0x29, 0x33, 0x24, 0x22
        /* DW_CFA_expression ra: breg16 0; const1s -16; and; dup; plus_uconst 2; deref_size 4; const1u 32; shl;
           const1u 32; shra; plus; plus_uconst 14 */
        .cfi_escape 0x10, 16, 19, 0x80, 0x00, 0x09, 0xf0, 0x1a, 0x12, 0x23, 0x02, 0x94, 0x04, 0x08, 0x20, 0x24, 0x08, 0x20, 0x26, 0x22, 0x23, 0x0e
        .set    i, 0
        .rept   SLOTS
        .byte   0xff, 0x15                      /* call *target(%rip)  */
        .long   hook_slot + i * SLOT_SIZE - . - 4
        .byte   0x48, 0x8d, 0x64, 0x24, 0xf8    /* lea -8(%rsp), %rsp  */
        .byte   0xe9                            /* jmp hook_leave      */
        .long   hook_leave - . - 4
        .set    i, i + 1
        .endr
        .cfi_endproc
hook_slots_end:
        .size   hook_slots, . - hook_slots

        .type   hook_leave, @function
hook_leave:
        .cfi_startproc
        .cfi_undefined rip
        save
0:      mov     %rsp, %rdi
        call    hook_leave_c
        test    %rax, %rax
        jz      3f
        mov     %rax, 72(%rsp)
        mov     hook_self@gottpoff(%rip), %rcx
        mov     %fs:(%rcx), %rcx
        test    %rcx, %rcx
        jz      1f
        cmpl    $0, 16(%rcx)
        jne     2f
1:      restore
        ret
        .cfi_adjust_cfa_offset 72
2:      call    hook_due
        jmp     1b
3:      call    hook_due
        jmp     0b
        .cfi_endproc
        .size   hook_leave, . - hook_leave

/* ---- due work -------------------------------------------------------------------------------- */

/* On a stack of ours: the program's may be a coroutine's few kilobytes. */
        .type   hook_due, @function
hook_due:
        .cfi_startproc
        push    %rbx
        .cfi_adjust_cfa_offset 8
        .cfi_rel_offset rbx, 0
        push    %rbp
        .cfi_adjust_cfa_offset 8
        .cfi_rel_offset rbp, 0
        push    %r12
        push    %r13
        push    %r14
        push    %r15
        .cfi_adjust_cfa_offset 32
        mov     %rsp, %rbp
        .cfi_def_cfa_register rbp
        mov     hook_self@gottpoff(%rip), %rcx
        mov     %fs:(%rcx), %rcx
        mov     (%rcx), %rsp
        sub     $XSAVE_BYTES, %rsp
        and     $-64, %rsp
        /* The header must be zero but for what xsave writes there. */
        xor     %eax, %eax
        mov     %rax, 512(%rsp)
        mov     %rax, 520(%rsp)
        mov     %rax, 528(%rsp)
        mov     %rax, 536(%rsp)
        mov     %rax, 544(%rsp)
        mov     %rax, 552(%rsp)
        mov     %rax, 560(%rsp)
        mov     %rax, 568(%rsp)
        mov     $VECTORS, %eax
        xor     %edx, %edx
        xsave64 (%rsp)
        cld
        mov     %rbp, %rdi
        mov     %rsp, %rbx
        call    hook_due_c
        mov     $VECTORS, %eax
        xor     %edx, %edx
        xrstor64 (%rbx)
        mov     %rbp, %rsp
        .cfi_def_cfa_register rsp
        pop     %r15
        pop     %r14
        pop     %r13
        pop     %r12
        .cfi_adjust_cfa_offset -32
        pop     %rbp
        .cfi_adjust_cfa_offset -8
        pop     %rbx
        .cfi_adjust_cfa_offset -8
        /* Only now: a handler of the program that interrupts us must not come here and use the same stack. */
        mov     hook_self@gottpoff(%rip), %rcx
        mov     %fs:(%rcx), %rcx
        movq    $0, 8(%rcx)
        ret
        .cfi_endproc
        .size   hook_due, . - hook_due

/* ---- markers, and calls that the compiler put in ------------------------------------------------- */

/* Markers come behind `push $k; call`, key in rdi, below a red zone that was passed over (spans.h). */
/* above: bytes from what is saved to the stack pointer of the code that is marked, which lies above all frames that this code
   calls: what is begun there is inside. */
.macro  entry name visibility above
        .globl  \name
        \visibility \name
        .type   \name, @function
\name:
        .cfi_startproc
        endbr64
        save
        mov     80(%rsp), %rcx  /* what is above the return address: k */
        mov     32(%rsp), %rdi  /* as it was */
        mov     %rdi, %rsi
        lea     \above(%rsp), %rdx
        push    %rbx
        .cfi_adjust_cfa_offset 8
        mov     %rsp, %rbx
        and     $-16, %rsp
        call    \name\()_c
        mov     %rbx, %rsp
        pop     %rbx
        .cfi_adjust_cfa_offset -8
        mov     hook_self@gottpoff(%rip), %rcx
        mov     %fs:(%rcx), %rcx
        test    %rcx, %rcx
        jz      1f
        cmpl    $0, 16(%rcx)
        je      1f
        call    hook_due
1:      restore
        ret
        .cfi_endproc
        .size   \name, . - \name
.endm
        entry   hook_marker_begin .hidden 72+8+8+128
        entry   hook_marker_end .hidden 72+8+8+128
        entry   hook_called_enter .hidden 72+8
        entry   hook_called_leave .hidden 72+8

        /* -finstrument-functions: libc's do nothing. */
        .globl  __cyg_profile_func_enter
        .set    __cyg_profile_func_enter, hook_called_enter
        .globl  __cyg_profile_func_exit
        .set    __cyg_profile_func_exit, hook_called_leave

        .section .note.GNU-stack, "", @progbits
