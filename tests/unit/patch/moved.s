# SPDX-License-Identifier: MIT
# Functions of two numbers whose first instructions must be moved with care.
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

    function reads
    mov value(%rip), %rax
    add %rdi, %rax
    ret
    end reads

    function writes
    movl $77, value(%rip)
    mov value(%rip), %eax
    movl $5, value(%rip)
    ret
    end writes

    function compares
    cmpl $3, value(%rip)
    setg %al
    movzx %al, %eax
    ret
    end compares

    function vectors
    movups many(%rip), %xmm0
    vpaddd many(%rip), %xmm0, %xmm0
    vmovd %xmm0, %eax
    ret
    end vectors

    function address
    lea value(%rip), %rax
    sub %rdi, %rdi
    mov (%rax,%rdi), %rax
    ret
    end address

    function short_branch
    test %edi, %edi
    je 1f
    mov $1, %eax
    ret
1:  mov $2, %eax
    ret
    end short_branch

    function two_branches
    test %edi, %edi
    js 1f
    jp 2f
    mov $1, %eax
    ret
1:  mov $2, %eax
    ret
2:  mov $3, %eax
    ret
    end two_branches

    function near_branch
    cmp $5, %edi
    ja 1f
    mov $1, %eax
    ret
    .skip 300, 0x90
1:  mov $2, %eax
    ret
    end near_branch

    function first_branch
    mov %edi, %ecx
    jrcxz 1f
    nop
    lea 3(%rcx), %eax
    ret
1:  mov $9, %eax
    ret
    end first_branch

    function narrow_count
    mov %edi, %ecx
    jecxz 1f
    nop
    lea 3(%rcx), %eax
    ret
1:  mov $9, %eax
    ret
    end narrow_count

    function loop_once
    mov %edi, %ecx
    loop 1f
    nop
    mov $4, %eax
    ret
1:  lea 1(%rcx), %eax
    ret
    end loop_once

    function jumps
    jmp 1f
    .p2align 5
    mov $1, %eax
1:  mov $2, %eax
    ret
    end jumps

    function tail
    jmp reads
    end tail

    function tail_cell
    jmp *cell(%rip)
    end tail_cell

    function callee
    mov (%rsp), %rax
    ret
    end callee

    function calls_first
    call callee
    ret
    end calls_first

    function calls_second
    sub $8, %rsp
    call callee
    add $8, %rsp
    ret
    end calls_second

    function calls_cell
    call *cell_2(%rip)
    ret
    end calls_cell

    function calls_register
    lea callee(%rip), %rax
    mov %rax, %rcx
    ret
    end calls_register

    function calls_pointer
    nop
    nop
    call *8(%rsi)
    ret
    end calls_pointer

    function returns_early
    mov %edi, %eax
    ret
    end returns_early

    function endbr
    endbr64
    mov $6, %eax
    ret
    end endbr

    function eight_nops
    nop
    nop
    nop
    nop
    nop
    nop
    nop
    nop
    mov $7, %eax
    ret
    end eight_nops

    function fills_stack
    push %rdi
    pop %rax
    push %rsi
    pop %rcx
    add %rcx, %rax
    ret
    end fills_stack
    .data
    .p2align 4
many: .long 1, 2, 3, 4
value: .quad 5
cell: .quad reads
cell_2: .quad callee
