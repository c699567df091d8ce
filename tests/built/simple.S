/* SPDX-License-Identifier: MIT */
/* Functions that count: simple_two(i) has two paths, simple_many(path) any number. */
        .include "inserted.inc"
        .text
        described simple_two, PATHS, ARRAY, 2, 0
        function simple_two
        begin
        testl   $1, %edi
        jne     3f
        count   simple_two, 0
        ret
3:      count   simple_two, 1
        ret
        end_function simple_two

        described simple_many, PATHS, HASH, HASH_WORDS, 0
        function simple_many
        begin
        movq    %rdi, %rax
        count_hashed simple_many
        ret
        end_function simple_many

        .section .note.GNU-stack,"",@progbits
