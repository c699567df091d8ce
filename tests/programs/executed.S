# SPDX-License-Identifier: MIT
# Loops whose executed instructions have schedules that are known, by hand, for Skylake: tests/cli/executed.bats. Numbers of iterations
# are in rdi. Each is entered once. How often a loop of a table's machine waits for what: 5 cycles for a load, 4 if its address was just
# loaded, and 4 from a store to the load of it.
        .text

# Adds to places of which every fourth is the same. Through that place an addition waits for the one four iterations before: 4 cycles
# of forwarding and one of adding, 1.25 an iteration. The index is one of 1024, in order.
        .globl  meets
        .type   meets, @function
meets:
        .cfi_startproc
        xorl    %ecx, %ecx
        leaq    indices(%rip), %r8
        leaq    places(%rip), %r9
1:      movl    %ecx, %edx
        andl    $1023, %edx
        movq    (%r8,%rdx,8), %rsi
        addq    %rdi, (%r9,%rsi,8)
        incq    %rcx
        cmpq    %rdi, %rcx
        jne     1b
        ret
        .cfi_endproc
        .size   meets, . - meets

# Three cycles every other iteration: 1.5.
        .globl  turns
        .type   turns, @function
turns:
        .cfi_startproc
        movl    $1, %eax
1:      testl   $1, %edi
        je      2f
        leaq    1(%rax,%rax,2), %rax
2:      decq    %rdi
        jne     1b
        ret
        .cfi_endproc
        .size   turns, . - turns

# A list of nodes of 8 bytes, one behind the other, round and round: 4 cycles each, and eight of them in a line.
        .globl  chases
        .type   chases, @function
chases:
        .cfi_startproc
        leaq    nodes(%rip), %rax
1:      movq    (%rax), %rax
        decq    %rdi
        jne     1b
        ret
        .cfi_endproc
        .size   chases, . - chases

# The multiplication is a function's: 3 cycles, and its loop another's.
        .globl  calls
        .type   calls, @function
calls:
        .cfi_startproc
        movl    $3, %eax
1:      call    multiply
        decq    %rdi
        jne     1b
        ret
        .cfi_endproc
        .size   calls, . - calls
        .type   multiply, @function
multiply:
        .cfi_startproc
        imulq   %rax, %rax
        ret
        .cfi_endproc
        .size   multiply, . - multiply

        .bss
        .globl  indices, places, nodes
        .p2align 12
indices: .zero  8 * 1024
places: .zero   8 * 1024 * 8
nodes:  .zero   8 * 32768
        .section .note.GNU-stack,"",@progbits
