# SPDX-License-Identifier: MIT
# The sections headroom_functions and headroom_markers, with entries that are no good.
    .macro function name
    .p2align 4
    .globl \name
    .type \name, @function
\name:
    .endm
    .macro end name
    .size \name, . - \name
    .endm
    .macro site
    .byte 0x0f, 0x1f, 0x44, 0, 0
    .endm

    .text

    function first
1:  site
    mov $1, %eax
    ret
    end first

    function second
    endbr64
2:  site
3:  site
    mov $1, %eax
4:  site
    ret
    end second

    function third
    endbr64
5:  mov $1, %eax
    ret
    end third

    function fourth
    mov $1, %eax
8:  site
    ret
    end fourth

    function fifth
    endbr64
    .p2align 3,,4
9:  site
    ret
    end fifth

    function sixth
    .skip 40, 0x90
10: site
    jmp 10b + 3
    end sixth

    .section headroom_functions,"a",@progbits
    .long 9b - ., fifth - .
    .long 10b - ., sixth - .
    .long 2b - ., second - .
    .long 1b - ., first - .
    .long 1b - ., first - .         # twice
    .long 5b - ., third - .         # no nop
    .long 8b - ., fourth - .        # not at the entry
    .long 0x7fffff00, first - .     # in nowhere
    .long 1b - .                    # cut off

    .section headroom_markers,"a",@progbits
    .long 4b - ., 7f - ., 2, 0
    .long 3b - ., 6f - ., 1, 0
    .long 5b - ., 6f - ., 1, 0      # no site
    .long 4b - ., 6f - ., 3, 0      # no such kind
    .long 4b - ., 0x7fffff00, 1, 0  # no name

    .section .rodata
6:  .asciz "load"
7:  .asciz "load it"
