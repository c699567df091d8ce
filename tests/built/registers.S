/* SPDX-License-Identifier: MIT */
/*
 * Calls each stub as inserted code does, with every register filled, and compares: the exit status shows
 * what was changed. Without the C library, so that nothing else can have done it. Also as a program
 * that has no `environ`.
 */
        .include "inserted.inc"
        .bss
        .p2align 5
before: .skip   16 * 8
after:  .skip   16 * 8
vectors: .skip  16 * 32
vectors_after: .skip 16 * 32
control: .skip  8
has_avx: .skip  4
        .data
        .p2align 5
pattern:
        .set    i, 0
        .rept   64
        .quad   0x0123456789abcdef * (i + 1)
        .set    i, i + 1
        .endr

        .text
        described some, CONTEXTS, 0, 0, 1
        function some
        ret
        end_function some
        described table, PATHS, HASH, HASH_WORDS, 0
        function table
        ret
        end_function table

        .macro  each_register operation, place
        \operation %rax, \place+0(%rip)
        \operation %rcx, \place+8(%rip)
        \operation %rdx, \place+16(%rip)
        \operation %rbx, \place+24(%rip)
        \operation %rbp, \place+32(%rip)
        \operation %rsi, \place+40(%rip)
        \operation %rdi, \place+48(%rip)
        \operation %r8, \place+56(%rip)
        \operation %r9, \place+64(%rip)
        \operation %r10, \place+72(%rip)
        \operation %r11, \place+80(%rip)
        \operation %r12, \place+88(%rip)
        \operation %r13, \place+96(%rip)
        \operation %r14, \place+104(%rip)
        \operation %r15, \place+112(%rip)
        \operation %rsp, \place+120(%rip)
        .endm

        .macro  fill
        movq    pattern+256(%rip), %rax
        movq    pattern+264(%rip), %rcx
        movq    pattern+272(%rip), %rdx
        movq    pattern+280(%rip), %rbx
        movq    pattern+288(%rip), %rbp
        movq    pattern+296(%rip), %rsi
        movq    pattern+304(%rip), %rdi
        movq    pattern+312(%rip), %r8
        movq    pattern+320(%rip), %r9
        movq    pattern+328(%rip), %r10
        movq    pattern+336(%rip), %r12
        movq    pattern+344(%rip), %r13
        movq    pattern+352(%rip), %r14
        movq    pattern+360(%rip), %r15
        cmpl    $0, has_avx(%rip)
        je      8f
        .irp    n, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15
        vmovdqu pattern+16*\n(%rip), %ymm\n
        vmovdqu %ymm\n, vectors+32*\n(%rip)
        .endr
        jmp     9f
8:      .irp    n, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15
        movdqu  pattern+16*\n(%rip), %xmm\n
        movdqu  %xmm\n, vectors+32*\n(%rip)
        .endr
9:
        .endm

/* Afterwards: exits with `code` if anything but what `skip` names was changed. */
        .macro  compare code, skip:vararg
        each_register movq, after
        stmxcsr control+4(%rip)
        cmpl    $0, has_avx(%rip)
        je      8f
        .irp    n, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15
        vmovdqu %ymm\n, vectors_after+32*\n(%rip)
        .endr
        jmp     9f
8:      .irp    n, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15
        movdqu  %xmm\n, vectors_after+32*\n(%rip)
        .endr
9:
        .ifnb   \skip
        .irp    at, \skip
        movq    before+\at(%rip), %rax
        movq    %rax, after+\at(%rip)
        .endr
        .endif
        leaq    before(%rip), %rsi
        leaq    after(%rip), %rdi
        movl    $16, %ecx
        movl    $\code, %ebx
        cld
        repe    cmpsq
        jne     failed
        leaq    vectors(%rip), %rsi
        leaq    vectors_after(%rip), %rdi
        movl    $64, %ecx
        movl    $\code+1, %ebx
        repe    cmpsq
        jne     failed
        movl    control(%rip), %eax
        movl    $\code+2, %ebx
        cmpl    control+4(%rip), %eax
        jne     failed
        .endm

        .globl  _start
_start:
        movl    $1, %eax
        cpuid
        andl    $0x18000000, %ecx
        cmpl    $0x18000000, %ecx
        jne     1f
        movl    $1, has_avx(%rip)
1:      leaq    -4096(%rsp), %rsp
        andq    $-64, %rsp
        /* %fs: room for thread-local storage, which the C library would make */
        leaq    2048(%rsp), %rsi
        movq    %rsi, (%rsi)
        movl    $0x1002, %edi
        movl    $158, %eax
        syscall
        stmxcsr control(%rip)

        /* Every alignment of the stack, whose words below are found again in no register. */
        .irp    shift, 0, 1, 8, 13
        leaq    -\shift(%rsp), %rsp
        fill
        movq    pattern+400(%rip), %r11
        each_register movq, before
        call    headroom_thread_begin
        compare 10
        leaq    \shift(%rsp), %rsp
        .endr

        /* A function is entered: its return address lies above that of the call. */
        pushq   $0
        fill
        leaq    map_some(%rip), %r11
        each_register movq, before
        call    headroom_enter
        movl    $20, %ebx
        leaq    map_some(%rip), %rdx
        cmpq    %rdx, (%r11)
        jne     failed
        movq    before+16(%rip), %rdx
        movq    before+24(%rip), %rbx
        compare 21, 80
        popq    %rax

        movl    $3000, %ebp
        movl    %ebp, control+4(%rip)
2:      fill
        movq    count(%rip), %rax
        incq    count(%rip)
        movl    $3000, %ecx             /* each twice: found, too */
        xorl    %edx, %edx
        divl    %ecx
        movq    %rdx, %rax
        leaq    cells_table(%rip), %r11
        movq    %r11, %rcx
        movq    headroom_delta@gottpoff(%rip), %rdx
        addq    %fs:(%rdx), %r11
        movq    count(%rip), %rdx
        each_register movq, before
        testb   $1, %dl
        jne     3f
        call    headroom_count_path
        jmp     4f
3:      call    headroom_count_path_cycles
4:      compare 30, 0, 80
        cmpq    $6000, count(%rip)
        jb      2b
        xorl    %ebx, %ebx
failed: movl    %ebx, %edi
        movl    $231, %eax
        syscall

        .bss
        .p2align 3
count:  .skip   8
        .section .note.GNU-stack,"",@progbits
