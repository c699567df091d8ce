/* SPDX-License-Identifier: MIT */
/* A shared library's functions, with NAME: NAME_call(callee, argument) is a context with one call site, NAME_two
   has two paths. */
        .include "inserted.inc"
        .text
        .macro  library name
        described \name\()_call, CONTEXTS, 0, 0, 1
        function \name\()_call
        enter   \name\()_call
        at_call 0
        movq    %rdi, %rax
        movq    %rsi, %rdi
        call    *%rax
        leave_
        ret
        end_function \name\()_call

        described \name\()_two, PATHS, ARRAY, 2, 0
        function \name\()_two
        begin
        testl   $1, %edi
        jne     3f
        count   \name\()_two, 0
        ret
3:      count   \name\()_two, 1
        ret
        end_function \name\()_two
        .endm
        library NAME
        .section .note.GNU-stack,"",@progbits
