/* SPDX-License-Identifier: MIT */
/*
 * Paths known on paper. A static program without a C library; labels are its blocks. What
 * `headroom paths --exact` must find:
 *
 *     path COUNT [from cut|root:] LABEL... cut|exit
 *     context COUNT FUNCTION<CALLER<...      activations, callers up to the root; _start left out
 *
 * A repeated instruction is one, however often it repeats.
 */
        .macro begin name
        .globl \name
        .type \name, @function
\name:
        .endm
        .macro end name
        .size \name, . - \name
        .endm

        .bss
        .balign 64
buffer: .zero 4096

        .text
        begin _start
        call    diamond
        call    nested
        call    choose
        mov     $4, %edi
        call    factorial
        call    one
        call    one
        call    fill
        call    mutual
        call    by_pointer
        call    finish
        hlt
        end _start

/* Ten times, alternating; the first time even.
     path 1 diamond d_head d_even d_join cut
     path 4 from cut: d_head d_odd d_join cut
     path 4 from cut: d_head d_even d_join cut
     path 1 from cut: d_head d_odd d_join d_end exit
     context 1 diamond */
        begin diamond
        xor     %eax, %eax
        mov     $10, %ecx
d_head: test    $1, %cl
        jz      d_even
d_odd:  inc     %eax
        jmp     d_join
d_even: dec     %eax
d_join: dec     %ecx
        jnz     d_head
d_end:  ret
        end diamond

/* Three times four.
     path 1 nested n_outer n_inner cut
     path 2 from cut: n_outer n_inner cut
     path 6 from cut: n_inner cut
     path 2 from cut: n_inner n_next cut
     path 1 from cut: n_inner n_next n_end exit
     context 1 nested */
        begin nested
        mov     $3, %edx
n_outer:
        mov     $4, %ecx
n_inner:
        dec     %ecx
        jnz     n_inner
n_next: dec     %edx
        jnz     n_outer
n_end:  ret
        end nested

/* A table; 0 to 5, of which 4 and 5 are beyond it, and 2 runs on into 3.
     path 1 choose c_head c_jump c_0 c_join cut
     path 1 from cut: c_head c_jump c_1 c_join cut
     path 1 from cut: c_head c_jump c_2 c_3 c_join cut
     path 1 from cut: c_head c_jump c_3 c_join cut
     path 1 from cut: c_head c_default c_join cut
     path 1 from cut: c_head c_default c_join c_end exit
     context 1 choose */
        begin choose
        xor     %ecx, %ecx
c_head: cmp     $3, %ecx
        ja      c_default
c_jump: mov     %ecx, %eax
        lea     table(%rip), %rdx
        movslq  (%rdx, %rax, 4), %rax
        add     %rdx, %rax
        jmp     *%rax
c_0:    inc     %esi
        jmp     c_join
c_1:    dec     %esi
        jmp     c_join
c_2:    add     $2, %esi
c_3:    add     $3, %esi
        jmp     c_join
c_default:
        xor     %esi, %esi
c_join: inc     %ecx
        cmp     $6, %ecx
        jne     c_head
c_end:  ret
        end choose

/* Recursion leads back to the same context.
     path 3 factorial f_more exit
     path 1 factorial f_last exit
     context 4 factorial */
        begin factorial
        cmp     $1, %edi
        je      f_last
f_more: push    %rdi
        dec     %edi
        call    factorial
        pop     %rdi
        imul    %edi, %eax
        ret
f_last: mov     $1, %eax
        ret
        end factorial

/* A tail call: `two` stands beside `one`.
     path 2 one exit
     path 2 two exit
     context 2 one
     context 2 two */
        begin one
        inc     %eax
        jmp     two
        end one
        begin two
        inc     %eax
        ret
        end two

/* A block that repeats an instruction and itself.
     path 1 fill fi_again cut
     path 1 from cut: fi_again cut
     path 1 from cut: fi_again fi_end exit
     context 1 fill */
        begin fill
        mov     $3, %edx
        mov     $700, %ecx
        lea     buffer(%rip), %rdi
        xor     %eax, %eax
fi_again:
        rep stosb
        mov     $7, %ecx
        dec     %edx
        jnz     fi_again
fi_end: ret
        end fill

/* even and odd call one another: two contexts, whatever the depth.
     path 1 mutual exit
     path 3 even e_more exit
     path 2 odd o_more o_call exit
     path 1 odd o_last exit
     context 1 mutual
     context 3 even<mutual
     context 3 odd<even<mutual */
        begin mutual
        mov     $5, %edi
        call    even
        ret
        end mutual
        begin even
        test    %edi, %edi
        jz      e_last
e_more: dec     %edi
        call    odd
        ret
e_last: ret
        end even
        begin odd
        test    %edi, %edi
        jz      o_last
o_more: dec     %edi
        jz      o_last
o_call: call    even
        ret
o_last: ret
        end odd

/* Calls through pointers, from a loop.
     path 1 by_pointer p_call cut
     path 2 from cut: p_call cut
     path 1 from cut: p_call p_end exit
     path 4 called exit
     context 1 by_pointer
     context 4 called<by_pointer */
        begin by_pointer
        mov     $4, %ebx
p_call: lea     called(%rip), %rax
        call    *%rax
        dec     %ebx
        jnz     p_call
p_end:  ret
        end by_pointer
        begin called
        inc     %esi
        ret
        end called

/* Does not return: the path is over before the call. That of the function which ends the process is never over.
     path 1 _start exit
     path 1 finish exit
     context 1 finish
     context 1 stop<finish */
        begin finish
        call    stop
        end finish
        begin stop
        mov     $231, %eax
        xor     %edi, %edi
        syscall
        hlt
        end stop

        .section .rodata
        .balign 4
table:  .long   c_0 - table, c_1 - table, c_2 - table, c_3 - table
        .section .note.GNU-stack, "", @progbits
