# SPDX-License-Identifier: MIT
# Each function is refused for one reason: patch_test.c has the list.
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

    function short_one
    ret
    end short_one
    .byte 0xb8, 1, 2, 3, 4

    function short_jump
    jmp 1f
2:  mov %edi, %eax
    ret
1:  jmp 2b
    end short_jump

    function falls_out
    nop
    end falls_out
    .byte 0xcc,0xcc,0xcc,0xcc,0xcc,0xcc

    function undecodable_window
    nop
    .byte 0x06
    nop
    nop
    nop
    ret
    end undecodable_window

    function undecodable
    mov $1, %eax
    .byte 0x06
    ret
    end undecodable

    function loops_into
    mov %edi, %eax
1:  dec %eax
    nop
    nop
    jne 1b
    ret
    end loops_into

    function near_into
    mov %edi, %eax
1:  dec %eax
    nop
    .skip 200, 0x90
    jne 1b
    ret
    end near_into

    function other_into
    jmp other_hidden
    end other_into

    function jumped_into
    xor %eax, %eax
    .globl other_hidden
other_hidden: nop
    nop
    nop
    ret
    end jumped_into

    function called_into
    nop
1:  nop
    nop
    nop
    nop
    nop
    cmp $1, %edi
    je 2f
    call 1b
2:  ret
    end called_into

    function counts_into
    mov %edi, %ecx
1:  add $1, %eax
    nop
    loop 1b
    ret
    end counts_into

    function table_into
    mov %rdi, %rax
1:  inc %eax
    nop
    nop
    lea table_1(%rip), %rcx
    movslq (%rcx,%rax,4), %rax
    add %rcx, %rax
    jmp *%rax
2:  ret
    end table_into

    function label_table_into
    mov %rdi, %rax
1:  inc %eax
    nop
    nop
    lea table_2(%rip), %rcx
    lea 3f(%rip), %rdx
    movslq (%rcx,%rax,4), %rax
    add %rdx, %rax
    jmp *%rax
3:  ret
    end label_table_into

    function pointer_into
    mov %rdi, %rax
.Linto: inc %eax
    nop
    nop
    ret
    end pointer_into

    function address_into
    mov %rdi, %rax
1:  inc %eax
    nop
    nop
    lea 1b(%rip), %rcx
    jmp *%rcx
    end address_into

    function loop_whole
    dec %rdi
    lea 4(%rax), %rax
    jne loop_whole
    ret
    end loop_whole

    function loop_endbr
    endbr64
1:  dec %rdi
    lea 4(%rax), %rax
    jne 1b
    ret
    end loop_endbr

    function loop_cold
    dec %rdi
    lea 4(%rax), %rax
    jne loop_cold.cold
    ret
    end loop_cold

    function loop_table
    lea table_3(%rip), %rcx
    movslq (%rcx,%rdi,4), %rax
    add %rcx, %rax
    jmp *%rax
1:  ret
    end loop_table

    function traps
    ud2
    nop
    nop
    nop
    ret
    end traps

    function transaction
    .byte 0xc7, 0xf8, 0, 0, 0, 0
    ret
    end transaction

    function short_call
    call *%rdi
    mov %eax, %eax
    nop
    ret
    end short_call

    function stack_call
    call *0x100(%rsp)
    nop
    nop
    nop
    ret
    end stack_call

    function narrow_operand
    addr32 mov 0x100(%eip), %eax
    ret
    end narrow_operand

    function vfork
    mov $1, %eax
    ret
    end vfork

    function _dl_something
    mov $1, %eax
    ret
    end _dl_something

    function entered_otherwise
    .cfi_startproc
    .cfi_def_cfa_offset 48
    mov $1, %eax
    ret
    .cfi_endproc
    end entered_otherwise

    function signal_frame
    .cfi_startproc
    .cfi_signal_frame
    mov $1, %eax
    ret
    .cfi_endproc
    end signal_frame

    function saved_at_entry
    .cfi_startproc
    .cfi_offset %rbx, -16
    mov $1, %eax
    ret
    .cfi_endproc
    end saved_at_entry
    .p2align 4
    .globl a_label
a_label: mov $1, %eax
    ret
    .p2align 4
    .globl chosen
    .type chosen, @gnu_indirect_function
chosen: lea short_one(%rip), %rax
    ret
    end chosen

    .section .text.unlikely,"ax",@progbits

    function loop_cold.cold
    inc %rdi
    jmp loop_cold
    end loop_cold.cold

    .section .init,"ax",@progbits

    function in_init
    mov $1, %eax
    ret
    end in_init
    .text

    .section .rodata
    .p2align 2
table_1: .long table_into + 3 - table_1, 2f - table_1
table_2: .long label_table_into + 3 - (label_table_into + 0x1f), 0
table_3: .long loop_table - table_3, 2f - table_3
    .text
2:  ret
    .data
    .p2align 3
    .quad .Linto
