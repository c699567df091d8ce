/* SPDX-License-Identifier: MIT */
/*
 * Answers known to the byte. A static program without a C library: every access
 * of the process is in this file, so that each case states all that the report may say. The first byte
 * of the first argument selects the case: '0' is the first, in the order of the file.
 *
 *     case: NAME [options of headroom waste]
 *       KIND WASTE+USE: FIRST>SECOND BYTES, ...   the kind's sums, and all pairs that waste
 *       fresh LOADED STORED                       bytes without a known former access
 *       kernel LOADED STORED                      bytes by system calls
 *       count LOADS STORES                        accesses, the start's not counted
 *       processes N                               1 if not said
 *
 * Kinds, sums and counts that are not mentioned are zero. FIRST and SECOND are the lines marked
 * "@FIRST" and "@SECOND". `buffer` is zero at first, and nobody's: a first touch is fresh.
 */
        .set number, 0
        .macro begin name
        .text 0
        cmp     $'0' + number, %eax
        je      \name
        .set number, number + 1
        .text 1
        .balign 16
        .type \name, @function
\name:
        .endm

        .macro end name
        jmp     finish
        .size \name, . - \name
        .endm

        .globl _start
        .text 0
        .type _start, @function
_start:
        mov     16(%rsp), %rax
        movzbl  (%rax), %eax
        lea     buffer(%rip), %rdi
        lea     buffer + 1024(%rip), %rsi
        movabs  $0x0123456789abcdef, %rdx

/* ---- the three kinds ------------------------------------------------------------------------ */

/*
 * case: nothing
 */
        begin   nothing
        end     nothing

/*
 * case: two_loops
 *   dead 800+0: a>b 800
 *   silent 0+800:
 *   fresh 0 800
 *   count 0 200
 */
        begin   two_loops
        xor     %ecx, %ecx
1:      mov     %rdx, (%rdi, %rcx, 8)   /* @a */
        inc     %ecx
        cmp     $100, %ecx
        jne     1b
        not     %rdx
        xor     %ecx, %ecx
1:      mov     %rdx, (%rdi, %rcx, 8)   /* @b */
        inc     %ecx
        cmp     $100, %ecx
        jne     1b
        end     two_loops

/*
 * case: half_dead
 *   dead 64+128: c>d 64
 *   silent 0+64:
 *   fresh 128 128
 *   count 16 24
 */
        begin   half_dead
        mov     $16, %ecx
1:      mov     %rdx, -8(%rdi, %rcx, 8) /* @c */
        dec     %ecx
        jnz     1b
        mov     $8, %ecx
1:      mov     %rcx, -8(%rdi, %rcx, 8) /* @d */
        dec     %ecx
        jnz     1b
        mov     $16, %ecx
1:      mov     -8(%rdi, %rcx, 8), %rax
        dec     %ecx
        jnz     1b
        end     half_dead

/*
 * Loads between do not make a silent store less silent, but a dead one a use.
 *
 * case: silent_refill
 *   dead 0+64:
 *   silent 32+0: e>e 32
 *   load 32+0: f>f 32
 *   fresh 32 32
 *   count 8 8
 */
        begin   silent_refill
        mov     $8, %ecx
1:      mov     %ecx, %eax
        and     $3, %eax
        mov     %rdx, (%rdi, %rax, 8)   /* @e */
        mov     (%rdi, %rax, 8), %rbx   /* @f */
        dec     %ecx
        jnz     1b
        end     silent_refill

/*
 * A value changed and changed back between two loads: redundant all the same. Then one that
 * differs.
 *
 * case: load_again
 *   dead 8+24: h>i 8
 *   silent 0+24:
 *   load 8+8: g>g 8
 *   fresh 8 8
 *   count 3 4
 */
        begin   load_again
        mov     %rdx, (%rdi)
        mov     $2, %ecx
1:      mov     (%rdi), %rax            /* @g */
        cmp     $1, %ecx
        je      2f
        movq    $7, (%rdi)              /* @h */
        mov     %rdx, (%rdi)            /* @i */
2:      dec     %ecx
        jnz     1b
        movq    $7, (%rdi)
        mov     (%rdi), %rax
        end     load_again

/*
 * Instructions that load and store: no store of theirs is dead.
 *
 * case: modify
 *   dead 0+80:
 *   silent 40+32: k>k 32, j>k 8
 *   load 40+40: k>k 32, k>l 8
 *   fresh 8 8
 *   count 11 10
 */
        begin   modify
        mov     $5, %ecx
1:      addq    $1, (%rdi)              /* @j */
        dec     %ecx
        jnz     1b
        mov     $5, %ecx
1:      orq     $0, (%rdi)              /* @k */
        dec     %ecx
        jnz     1b
        mov     (%rdi), %rax            /* @l */
        end     modify

/* ---- parts ---------------------------------------------------------------------------------- */

/*
 * A store of eight bytes, then its halves: the lower as it was, the upper with one byte changed, which
 * makes all four of the element's bytes changed.
 *
 * case: halves
 *   dead 8+9: pa>pb 4, pa>pc 4
 *   silent 4+5: pa>pb 4
 *   load 4+4: pd>pe 4
 *   fresh 8 8
 *   count 3 4
 */
        begin   halves
        mov     %rdx, (%rdi)            /* @pa */
        mov     %edx, (%rdi)            /* @pb */
        movl    $0x01234566, 4(%rdi)    /* @pc */
        mov     (%rdi), %rax            /* @pd */
        mov     (%rdi), %ebx            /* @pe */
        movb    $0x99, 4(%rdi)
        mov     4(%rdi), %ecx
        end     halves

/*
 * Bytes in a store of sixteen, whose elements have eight.
 *
 * case: bytes_in_wide
 *   dead 3+16: qa>qb 1, qa>qc 1, qb>qd 1
 *   silent 2+1: qa>qb 1, qb>qd 1
 *   fresh 16 16
 *   count 1 4
 */
        begin   bytes_in_wide
        movq    %rdx, %xmm0
        punpcklqdq %xmm0, %xmm0
        movdqu  %xmm0, (%rdi)           /* @qa */
        movb    $0x89, 3(%rdi)          /* @qb */
        movb    $0x77, 12(%rdi)         /* @qc */
        movb    $0x89, 3(%rdi)          /* @qd */
        movdqu  (%rdi), %xmm1
        end     bytes_in_wide

/*
 * Over the borders of words, lines and pages. An element that is not aligned is judged in the parts
 * that lie in aligned ones: the second store changes its last byte only, at the start of the next
 * word.
 *
 * case: unaligned
 *   dead 24+0: ra>rb 8, rc>rd 8, re>rf 8
 *   silent 15+9: ra>rb 3, rc>rd 4, re>rf 8
 *   fresh 0 24
 *   count 0 6
 */
        begin   unaligned
        mov     %rdx, 5(%rdi)           /* @ra */
        movabs  $0x0023456789abcdef, %rax
        mov     %rax, 5(%rdi)           /* @rb */
        mov     %rdx, 60(%rdi)          /* @rc */
        mov     %rax, 60(%rdi)          /* @rd */
        mov     %rdx, 4096 - 3(%rdi)    /* @re */
        mov     %rdx, 4096 - 3(%rdi)    /* @rf */
        end     unaligned

/*
 * Two stores that overlap by three bytes, of eight aligned ones.
 *
 * case: overlap
 *   dead 3+13: sa>sb 3
 *   silent 0+3:
 *   load 5+0: sc>sd 5
 *   fresh 13 13
 *   count 3 2
 */
        begin   overlap
        mov     %rdx, (%rdi)            /* @sa */
        movabs  $0x1122334455667788, %rax
        mov     %rax, 5(%rdi)           /* @sb */
        mov     (%rdi), %rax            /* @sc */
        mov     3(%rdi), %rbx           /* @sd */
        mov     11(%rdi), %cx
        end     overlap

/* ---- strings -------------------------------------------------------------------------------- */

/*
 * case: rep_stos
 *   dead 102+0: ta>tb 60, tb>tc 40, tb>td 2
 *   silent 40+62: tb>tc 40
 *   fresh 0 60
 *   count 0 81
 */
        begin   rep_stos
        mov     %rdi, %rsi
        xor     %eax, %eax
        mov     $60, %ecx
        rep stosb                       /* @ta */
        mov     $0x01010101, %eax
        mov     %rsi, %rdi
        mov     $15, %ecx
        rep stosl                       /* @tb */
        movabs  $0x0101010101010101, %rax
        mov     %rsi, %rdi
        mov     $5, %ecx
        rep stosq                       /* @tc */
        xor     %ecx, %ecx
        rep stosb
        mov     $-3, %eax
        stosw                           /* @td */
        end     rep_stos

/*
 * From a to b twice, the second time backwards: loads the same, stores the same.
 *
 * case: rep_movs
 *   dead 48+0: ua>ub 48
 *   silent 48+0: ua>ub 48
 *   load 48+0: ua>ub 48
 *   fresh 48 48
 *   count 54 54
 */
        begin   rep_movs
        mov     $48, %ecx
        rep movsb                       /* @ua */
        lea     -8(%rsi), %rsi
        lea     -8(%rdi), %rdi
        std
        mov     $6, %ecx
        rep movsq                       /* @ub */
        cld
        end     rep_movs

/*
 * Comparisons stop where they find something.
 *
 * case: compares
 *   dead 0+1:
 *   load 13+0: va>vb 6, vb>vc 6, vc>vd 1
 *   fresh 14 1
 *   count 20 1
 */
        begin   compares
        mov     %rdi, %rbx
        movb    $1, 5(%rdi)
        mov     $100, %ecx
        repe cmpsb                      /* @va */
        mov     %rbx, %rdi
        mov     $1, %eax
        repne scasb                     /* @vb */
        mov     %rbx, %rsi
        lodsq                           /* @vc */
        mov     %rbx, %rdi
        mov     5(%rdi), %bl            /* @vd */
        end     compares

/* ---- single instructions -------------------------------------------------------------------- */

/*
 * A locked instruction is one load and one store; a compare-and-swap stores if it succeeds.
 *
 * case: lock
 *   dead 0+49:
 *   silent 24+25: wa>wb 8, wb>wc 8, wf>wg 8
 *   load 25+24: wb>wc 8, wc>wd 8, we>wf 8, wg>wh 1
 *   fresh 16 16
 *   count 8 8
 */
        begin   lock
        movq    $0, (%rdi)
        lock addq $1, (%rdi)            /* @wa */
        xor     %eax, %eax
        lock xaddq %rax, (%rdi)         /* @wb */
        xchg    %rax, (%rdi)            /* @wc */
        mov     $2, %ecx
        lock cmpxchgq %rcx, (%rdi)      /* @wd */
        mov     $5, %eax
        lock cmpxchgq %rcx, (%rdi)      /* @we */
        lock btsq $3, (%rdi)            /* @wf */
        mov     $10, %eax
        mov     $10, %ebx
        xor     %edx, %edx
        xor     %ecx, %ecx
        lock cmpxchg16b (%rdi)          /* @wg */
        lock decb (%rdi)                /* @wh */
        end     lock

/*
 * What names memory, or an emulator needs memory for, and touches none.
 *
 * case: no_access
 */
        begin   no_access
        bt      %rax, %rdx
        bts     %rax, %rdx
        btr     %r9d, %r10d
        btc     %cx, %dx
        lea     8(%rdi), %rax
        nopw    8(%rdi)
        prefetcht0 (%rdi)
        prefetchw (%rdi)
        xor     %eax, %eax
        cpuid
        lfence
        mfence
        end     no_access

/*
 * case: stack
 *   dead 0+56:
 *   silent 8+40: ya>yc 8
 *   load 8+40: yb>yd 8
 *   fresh 16 16
 *   count 8 8
 */
        begin   stack
        mov     %rdx, %rbp
        push    %rdx                    /* @ya */
        pop     %rcx                    /* @yb */
        push    %rdx                    /* @yc */
        pop     %rax                    /* @yd */
        call    1f
        call    1f
        pushq   (%rdi)
        popq    8(%rdi)
        enter   $16, $0
        leave
        pushfq
        popfq
        jmp     2f
1:      ret
2:
        end     stack

/*
 * case: simd
 *   dead 48+36: za>zb 16, zb>zc 16, zh>zi 16
 *   silent 73+0: za>zb 16, zb>zc 16, zc>ze 8, zc>zh 16, zh>zi 16, ze>zj 1
 *   load 12+0: zd>zf 8, zd>zg 4
 *   fresh 32 32
 *   count 3 7
 */
        begin   simd
        vpxor   %ymm0, %ymm0, %ymm0
        movaps  %xmm0, (%rdi)           /* @za */
        movaps  %xmm0, (%rdi)           /* @zb */
        vmovdqu %ymm0, (%rdi)           /* @zc */
        vmovdqu (%rdi), %ymm1           /* @zd */
        movlps  %xmm1, (%rdi)           /* @ze */
        movhps  8(%rdi), %xmm1          /* @zf */
        movss   (%rdi), %xmm1           /* @zg */
        movntdq %xmm0, 16(%rdi)         /* @zh */
        vextracti128 $1, %ymm0, 16(%rdi) /* @zi */
        pextrb  $0, %xmm0, (%rdi)       /* @zj */
        end     simd

/*
 * Four of eight elements; each of them counts as an access. An empty mask touches nothing, not even
 * an address that is not there.
 *
 * case: masked
 *   dead 16+16: aa>ab 16
 *   silent 32+0: aa>ab 16, ab>ad 16
 *   fresh 16 16
 *   count 4 10
 */
        begin   masked
        vpxor   %ymm0, %ymm0, %ymm0
        vpxor   %ymm3, %ymm3, %ymm3
        vpcmpeqd %xmm2, %xmm2, %xmm2
        vmaskmovps %ymm0, %ymm2, (%rdi) /* @aa */
        vmaskmovps %ymm0, %ymm2, (%rdi) /* @ab */
        vmaskmovps (%rdi), %ymm2, %ymm1
        vpmaskmovq %ymm0, %ymm2, (%rdi) /* @ad */
        vmaskmovps %ymm0, %ymm3, 8
        vmaskmovps 8, %ymm3, %ymm1
        end     masked

/*
 * A long straight piece of them: as much code as an engine ever has to add to.
 *
 * case: dense
 *   dead 3168+0: ac>ac 3168
 *   silent 3168+0: ac>ac 3168
 *   fresh 0 32
 *   count 0 800
 */
        begin   dense
        vpxor   %ymm0, %ymm0, %ymm0
        vpcmpeqd %ymm2, %ymm2, %ymm2
        .rept   100
        vmaskmovps %ymm0, %ymm2, (%rdi) /* @ac */
        .endr
        end     dense

/*
 * The same four bytes four times.
 *
 * case: gather
 *   load 12+0: ha>ha 12
 *   fresh 4 0
 *   count 4 0
 */
        begin   gather
        vpcmpeqd %xmm2, %xmm2, %xmm2
        vmovdqa %xmm2, %xmm1
        vpgatherdd %xmm2, 64(%rdi, %xmm1, 4), %xmm0 /* @ha */
        end     gather

/*
 * case: x87
 *   dead 10+30: ba>bb 10
 *   silent 10+10: ba>bb 10
 *   load 10+10: bc>bd 10
 *   fresh 20 32
 *   count 5 7
 */
        begin   x87
        fld1
        fstpt   (%rdi)                  /* @ba */
        fld1
        fstpt   (%rdi)                  /* @bb */
        fldt    (%rdi)                  /* @bc */
        fldt    (%rdi)                  /* @bd */
        faddp
        fstpt   (%rdi)
        fldt    (%rdi)
        fstl    16(%rdi)
        fsts    24(%rdi)
        fistpll 32(%rdi)
        fildll  32(%rdi)
        fnstcw  40(%rdi)
        fldcw   40(%rdi)
        end     x87

/* ---- floating point ------------------------------------------------------------------------- */

/*
 * Half a per cent is within the tolerance, two are not. Integers are as they are, and whole
 * vectors are moved without saying what they hold: eight bytes each.
 *
 * case: tolerance
 *   dead 48+32: ca>cb 8, cb>cc 8, cd>ce 4, ce>cf 4, cg>ch 8, ci>cj 16
 *   silent 28+36: ca>cb 8, cd>ce 4, ci>cj 8, cj>cl 8
 *   load 12+4: ck>cm 12
 *   fresh 16 36
 *   count 2 11
 *
 * case: tolerance_none --fp-tolerance 0
 *   dead 48+32: ca>cb 8, cb>cc 8, cd>ce 4, ce>cf 4, cg>ch 8, ci>cj 16
 *   silent 16+48: ci>cj 8, cj>cl 8
 *   load 8+8: ck>cm 8
 *   fresh 16 36
 *   count 2 11
 */
        .macro  float bits, to
        mov     $\bits, %eax
        movd    %eax, \to
        .endm
        .set    hundred, 0x42c80000     /* 100 */
        .set    near, 0x42c90000        /* 100.5 */
        .set    away, 0x42cc0000        /* 102 */
        begin   tolerance
        float   hundred, %xmm0
        float   near, %xmm1
        float   away, %xmm2
        cvtss2sd %xmm0, %xmm3
        cvtss2sd %xmm1, %xmm4
        cvtss2sd %xmm2, %xmm5
        movsd   %xmm3, (%rdi)           /* @ca */
        movsd   %xmm4, (%rdi)           /* @cb */
        movsd   %xmm5, (%rdi)           /* @cc */
        movss   %xmm0, 8(%rdi)          /* @cd */
        movss   %xmm1, 8(%rdi)          /* @ce */
        movss   %xmm2, 8(%rdi)          /* @cf */
        movq    $10000, 16(%rdi)        /* @cg */
        movq    $10050, 16(%rdi)        /* @ch */
        shufps  $0, %xmm0, %xmm0
        movaps  %xmm0, %xmm1
        mov     $near, %eax
        pinsrd  $2, %eax, %xmm1
        mov     $away, %eax
        pinsrd  $3, %eax, %xmm1
        pshufd  $0xee, %xmm1, %xmm6
        movaps  %xmm0, 32(%rdi)         /* @ci 100, 100, 100, 100 */
        movaps  %xmm1, 32(%rdi)         /* @cj 100, 100, 100.5, 102 */
        addps   32(%rdi), %xmm7         /* @ck */
        movaps  %xmm6, 32(%rdi)         /* @cl 100.5, 102, 100.5, 102 */
        addps   32(%rdi), %xmm8         /* @cm */
        end     tolerance

/* ---- the kernel ----------------------------------------------------------------------------- */

/*
 * What write(2) sends is used. Its loads are not judged: nothing was loaded there before.
 *
 * case: write
 *   dead 0+64:
 *   silent 0+64:
 *   fresh 64 64
 *   kernel 64 0
 *   count 0 16
 */
        begin   write
        mov     $8, %ecx
1:      mov     %rdx, -8(%rdi, %rcx, 8)
        dec     %ecx
        jnz     1b
        mov     %rdx, %rbx
        mov     %rdi, %rsi
        mov     $1, %edi
        mov     $64, %edx
        mov     $1, %eax
        syscall
        mov     $8, %ecx
1:      mov     %rcx, -8(%rsi, %rcx, 8)
        dec     %ecx
        jnz     1b
        end     write

/*
 * read(2) overwrites what was stored, here with the same. Then its own bytes: the kernel's stores are
 * no former access, what overwrites or loads them is not judged.
 *
 * case: read <xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx
 *   dead 32+0: da>db 32
 *   silent 32+0: da>db 32
 *   fresh 32 96
 *   kernel 0 64
 *   count 4 8
 */
        begin   read
        movabs  $0x7878787878787878, %rdx
        mov     $4, %ecx
1:      mov     %rdx, -8(%rdi, %rcx, 8) /* @da */
        dec     %ecx
        jnz     1b
        mov     %rdi, %rsi
        xor     %edi, %edi
        mov     $32, %edx
        xor     %eax, %eax
        syscall                         /* @db */
        xor     %eax, %eax
        syscall
        mov     $4, %ecx
1:      mov     -8(%rsi, %rcx, 8), %rax
        dec     %ecx
        jnz     1b
        mov     $4, %ecx
1:      mov     %rcx, -8(%rsi, %rcx, 8)
        dec     %ecx
        jnz     1b
        end     read

/*
 * Twice the same buffer: what a call finds there is not what the one before found.
 *
 * case: read_again <aaaaaaaabbbbbbbb
 *   dead 16+0: ea>eb 8, ec>ed 8
 *   silent 8+8: ec>ed 8
 *   fresh 0 16
 *   kernel 0 16
 *   count 0 2
 */
        begin   read_again
        movabs  $0x6262626262626262, %rbx
        mov     %rdi, %rsi
        mov     $8, %edx
        xor     %edi, %edi
        mov     %rbx, (%rsi)            /* @ea */
        xor     %eax, %eax
        syscall                         /* @eb */
        mov     %rbx, (%rsi)            /* @ec */
        xor     %eax, %eax
        syscall                         /* @ed */
        end     read_again

/*
 * case: pipe
 *   dead 8+0: fa>fb 8
 *   silent 0+8:
 *   fresh 8 8
 *   kernel 0 8
 *   count 2 1
 */
        begin   pipe
        mov     %rdx, (%rdi)            /* @fa */
        mov     %rdi, %rbx
        mov     $22, %eax
        syscall                         /* @fb */
        mov     (%rbx), %ecx
        mov     4(%rbx), %edx
        end     pipe

/*
 * Two buffers and the list that names them.
 *
 * case: writev
 *   dead 0+56:
 *   fresh 56 56
 *   kernel 56 0
 *   count 0 7
 */
        begin   writev
        mov     %rdx, (%rdi)
        mov     %rdx, 8(%rdi)
        mov     %rdx, 512(%rdi)
        mov     %rdi, (%rsi)
        movq    $16, 8(%rsi)
        lea     512(%rdi), %rax
        mov     %rax, 16(%rsi)
        movq    $8, 24(%rsi)
        mov     $1, %edi
        mov     $2, %edx
        mov     $20, %eax
        syscall
        end     writev

/*
 * The kernel stores what there is to store, not what there is room for: "/" and its end. The text of
 * a name is loaded.
 *
 * case: names
 *   dead 2+6: ga>gb 2
 *   silent 0+2:
 *   fresh 10 152
 *   kernel 2 146
 *   count 1 1
 */
        begin   names
        mov     %rdx, (%rdi)            /* @ga */
        mov     $64, %esi
        mov     $79, %eax
        syscall                         /* @gb */
        mov     (%rdi), %rbx
        lea     64(%rdi), %rsi
        lea     root(%rip), %rdi
        mov     $4, %eax
        syscall
        end     names
root:   .asciz  "/"

/* ---- memory that comes and goes ------------------------------------------------------------- */

        .set    elsewhere, 0x20000000
        .set    farther, 0x21000000
        .macro  map at
        mov     $9, %eax
        mov     $\at, %edi
        mov     $4096, %esi
        mov     $3, %edx                /* to read and write */
        mov     $0x32, %r10d            /* private, anonymous, fixed */
        mov     $-1, %r8
        xor     %r9d, %r9d
        syscall
        .endm

/*
 * No pairs across munmap, nor across another mapping on top.
 *
 * case: map
 *   fresh 8 32
 *   count 1 4
 */
        begin   map
        map     elsewhere
        mov     %rdx, elsewhere
        mov     $11, %eax
        syscall
        map     elsewhere
        mov     elsewhere, %rbx
        mov     %rdx, elsewhere + 8
        map     elsewhere
        mov     %rdx, elsewhere + 8
        mov     %rdx, elsewhere + 16
        end     map

/*
 * Moved memory begins anew, and so does what is mapped in its old place.
 *
 * case: remap
 *   fresh 16 24
 *   count 2 3
 */
        begin   remap
        map     elsewhere
        mov     %rdx, elsewhere
        mov     $25, %eax
        mov     $4096, %edx
        mov     $3, %r10d               /* may move, to */
        mov     $farther, %r8d
        syscall
        mov     farther, %rbx
        mov     %rdx, farther
        map     elsewhere
        mov     elsewhere, %rbx
        mov     %rdx, elsewhere
        end     remap

/*
 * case: break
 *   fresh 0 16
 *   count 0 2
 */
        begin   break
        xor     %edi, %edi
        mov     $12, %eax
        syscall
        lea     0x10000(%rax), %rbx
        mov     $2, %ebp
1:      mov     %rbx, %rdi
        mov     $12, %eax
        syscall
        mov     %rdx, -64(%rbx)
        lea     -0x10000(%rbx), %rdi
        mov     $12, %eax
        syscall
        dec     %ebp
        jnz     1b
        end     break

/* ---- processes ------------------------------------------------------------------------------ */

/*
 * What the parent stored before is known in the child, and counted in the parent only.
 *
 * case: fork
 *   dead 24+0: ia>ib 8, ib>ic 8, ib>id 8
 *   silent 0+24:
 *   fresh 0 8
 *   count 0 4
 *   processes 2
 */
        begin   fork
        mov     %rdi, %rbx
        movq    $1, (%rbx)              /* @ia */
        movq    $2, (%rbx)              /* @ib */
        mov     $57, %eax
        syscall
        test    %eax, %eax
        jz      1f
        mov     $-1, %rdi
        xor     %esi, %esi
        xor     %edx, %edx
        xor     %r10d, %r10d
        mov     $61, %eax
        syscall
        movq    $4, (%rbx)              /* @id */
        jmp     2f
1:      movq    $3, (%rbx)              /* @ic */
2:
        end     fork

/* ---- code that changes ---------------------------------------------------------------------- */

/*
 * One place holds three codes, one after the other: store eight bytes, store four, load eight. That code is
 * executed is no load: what wrote it is dead when it is overwritten.
 *
 * case: rewrite
 *   dead 12+32: ja>jb 4, jb>jc 4, ?>? 4
 *   silent 4+24: ?>? 4
 *   load 0+16:
 *   fresh 16 20
 *   count 4 8
 */
        begin   rewrite
        mov     %rdi, %rbp
        mov     %rdx, %rbx
        mov     $9, %eax
        xor     %edi, %edi
        mov     $4096, %esi
        mov     $7, %edx                /* to read, write and execute */
        mov     $0x22, %r10d
        mov     $-1, %r8
        xor     %r9d, %r9d
        syscall
        mov     %rax, %r12
        mov     %rbx, %rdx
        mov     %rbp, %rdi
        movl    $0xc3178948, (%r12)     /* @ja mov %rdx, (%rdi); ret */
        call    *%r12
        movl    $0x90c31789, (%r12)     /* @jb mov %edx, (%rdi); ret */
        call    *%r12
        movl    $0xc3178b48, (%r12)     /* @jc mov (%rdi), %rdx; ret */
        call    *%r12
        end     rewrite

/* ---- values that nothing uses ----------------------------------------------------------------- */

/*
 * A load is one even if its register is loaded again, or zeroed: no translation may drop it.
 *
 * case: unused
 *   load 16+0: ka>kb 8, kb>kc 8
 *   fresh 8 0
 *   count 3 0
 */
        begin   unused
        mov     (%rdi), %rcx            /* @ka */
        mov     (%rdi), %rcx            /* @kb */
        mov     (%rdi), %rcx            /* @kc */
        xor     %ecx, %ecx
        end     unused

        .text 0
        mov     $99, %edi               /* no such case */
        jmp     1f
        .text 1
finish: xor     %edi, %edi
1:      mov     $60, %eax
        syscall

        .bss
        .balign 4096
buffer: .skip   3 * 4096
        .section .note.GNU-stack, "", @progbits
