/* SPDX-License-Identifier: MIT */
/*
 * Loops whose reuse distances can be derived on paper. A static program a case, without a C library,
 * that begins at the case's own symbol: every access of the process is one that is written here, none is
 * of a stack. What must be found, and why, is derived above each case; (t, s) is a reuse at time distance t and
 * stack distance s. `loops` says the same as formulas.
 *
 * Registers: r8, r9, r10 count i, j, k.
 */
        .set    WORDS, 1000             /* of a sweep: 125 lines                           */
        .set    ROUNDS, 6
        .set    SIDE, 24                /* of a matrix of words                            */
        .set    ITEMS, 500              /* of an array of two loops                        */

        .macro  element operation, array, row, column
        imul    $SIDE * 8, \row, %rax
        .ifc \operation, load
        mov     \array(%rax, \column, 8), %rcx
        .else
        mov     %rcx, \array(%rax, \column, 8)
        .endif
        .endm

        .macro  next counter, count, loop
        inc     \counter
        cmp     $\count, \counter
        jb      \loop
        .endm

        .macro  sweep
        xor     %r8d, %r8d
1:      mov     a(, %r8, 8), %rcx
        next    %r8, WORDS, 1b
        .endm

        .macro  begin name
        .globl \name
        .type \name, @function
\name:
        .endm

        .macro  finish
        mov     $231, %eax              /* exit_group */
        xor     %edi, %edi
        syscall
        .endm

        .text

/*
 * a b c b a d d a, each on a line of its own: b at 4 (2, 1), a at 5 (4, 2), d at 7 (1, 0), a at 8
 * (3, 1). Loads of single bytes: the same in every unit.
 */
        begin   letters
        .irpc letter, abcbadda
        movb    \letter, %al
        .endr
        finish

/*
 * Accesses of several locations, which use them in ascending order, all at the same time. 8 bytes
 * at 0, 4, 8 and 60 of a line:
 * - Bytes: those at 4 .. 7 and at 8 .. 11 are used by two accesses in turn. Between both uses of each
 *   byte lie the other three of its four: those above it in the first access, those below it in
 *   the second. 8 times (1, 3), 24 first.
 * - Words 0; 0 1; 1; 7 8: 2 times (1, 0), 4 first.
 * - Lines 0; 0; 0; 0 1: 3 times (1, 0), 2 first.
 */
        begin   straddle
        mov     a, %rax
        mov     a + 4, %rax
        mov     a + 8, %rax
        mov     a + 60, %rax
        finish

/*
 * Loads whose values nothing uses: in a register that is loaded again, or zeroed; in flags that the next
 * instruction sets; in part of a register. 10 of one word: 9 times (1, 0), 1 first.
 */
        begin   unused
        mov     a, %rcx
        mov     a, %rcx
        mov     a, %ecx
        xor     %ecx, %ecx
        cmp     a, %rcx
        test    %rdx, a
        add     a, %rcx
        movb    a, %ah
        movq    a, %xmm0
        pxor    %xmm0, %xmm0
        movq    a, %xmm0
        fldl    a
        fstp    %st(0)
        finish

/*
 * M = WORDS words, one after the other, in R = ROUNDS rounds.
 * - Words: between two uses of one lie all others, once each: M (R - 1) times (M, M - 1).
 * - Bytes: all 8 of a word at the same time: 8 M (R - 1) times (M, 8 M - 1).
 * - Lines: 7 of 8 loads are of the line of the load before, M R 7 / 8 times (1, 0); the first of a line
 *   comes M - 7 after the line's last one, with the L = M / 8 other lines in between: L (R - 1)
 *   times (M - 7, L - 1). A cache of L lines misses L times, one of L - 1 lines L R times.
 */
        begin   sweeps
        xor     %r9d, %r9d
2:      sweep
        next    %r9, ROUNDS, 2b
        finish

/*
 * 16 lines at distances of 4096 bytes, in 100 rounds: 1584 times (16, 15). 32 KiB in 64 sets of 8 ways have
 * all of them in one set and miss always; 32 sets of 16 ways, or a single one of 512, miss 16 times.
 */
        begin   conflicts
        xor     %r9d, %r9d
2:      xor     %r8d, %r8d
1:      mov     a(%r8), %rcx
        add     $4096, %r8
        cmp     $16 * 4096, %r8
        jb      1b
        next    %r9, 100, 2b
        finish

/*
 * c += a b by words, n = SIDE, in three orders of the loops; what an iteration touches it touches in this
 * order: a[i][k], b[k][j], c[i][j] loaded, c[i][j] stored. What the innermost loop does not change
 * but c is loaded before it. c stored after it was loaded is n^3 times (1, 0) in each order.
 *
 * ijk, 4 accesses an iteration:
 * - c is loaded after the store of the iteration before, a and b in between: n^2 (n - 1) times
 *   (3, 2). n^2 first.
 * - a[i][k] comes again with the next j, 4 n later. Between: the n - 1 others of the row; the n of
 *   columns j and j + 1 of b, from k on in one and up to k - 1 in the other; c[i][j], and c[i][j + 1]
 *   unless k is 0. (4 n, 2 n) n (n - 1) times, (4 n, 2 n + 1) n (n - 1)^2 times. n^2 first.
 * - b[k][j] comes again with the next i, 4 n^2 later. Between, for each of the n - 1 first i: all n^2 - 1 others of b;
 *   of row i of c those from j on and of row i + 1 those before j, n, and c[i + 1][j] unless k is 0;
 *   row i of a, or what is behind k of it if j is the last column; row i + 1 of a, or of it what is not behind
 *   k if j is the first. n^2 first.
 *   s = n^2 - 1 + n + [k > 0] + (j < n - 1 ? n : n - 1 - k) + (j > 0 ? n : k + 1)
 */
        begin   ijk
        xor     %r8d, %r8d
1:      xor     %r9d, %r9d
2:      xor     %r10d, %r10d
3:      element load, a, %r8, %r10
        element load, b, %r10, %r9
        element load, c, %r8, %r9
        element store, c, %r8, %r9
        next    %r10, SIDE, 3b
        next    %r9, SIDE, 2b
        next    %r8, SIDE, 1b
        finish

/*
 * ikj, 3 accesses an iteration and one before n of them:
 * - a is touched once: n^2 first.
 * - c[i][j] is loaded 3 n after the store with the k before: n of b in between (the rest of row k, the
 *   beginning of row k + 1), the n - 1 others of the row of c, a[i][k + 1]. n^2 (n - 1) times (3 n, 2 n). n^2
 *   first.
 * - b[k][j] comes again with the next i, n (3 n + 1) later: n^2 - 1 others of b; the n of a from
 *   a[i][k + 1] to a[i + 1][k]; row i of c, or from j on if k is the last, and row i + 1 of c, or up to
 *   j - 1 if k is the first. n^2 first.
 *   s = n^2 - 1 + n + (k < n - 1 ? n : n - j) + (k > 0 ? n : j)
 */
        begin   ikj
        xor     %r8d, %r8d
1:      xor     %r10d, %r10d
2:      element load, a, %r8, %r10
        xor     %r9d, %r9d
3:      element load, b, %r10, %r9
        element load, c, %r8, %r9
        element store, c, %r8, %r9
        next    %r9, SIDE, 3b
        next    %r10, SIDE, 2b
        next    %r8, SIDE, 1b
        finish

/*
 * kij, 3 accesses an iteration and one before n of them:
 * - a is touched once: n^2 first.
 * - b[k][j] comes again with the next i, 3 n + 1 later: the n - 1 others of the row; n of c from c[i][j]
 *   to c[i + 1][j - 1]; a[i + 1][k]. n^2 (n - 1) times (3 n + 1, 2 n). n^2 first.
 * - c[i][j] is loaded n (3 n + 1) - 1 after the store with the k before: n^2 - 1 others of c; the n
 *   of a from a[i + 1][k] to a[i][k + 1]; row k of b, or what is behind j if i is the last, and row
 *   k + 1 of b, or up to j if i is the first. n^2 first.
 *   s = n^2 - 1 + n + (i < n - 1 ? n : n - 1 - j) + (i > 0 ? n : j + 1)
 */
        begin   kij
        xor     %r10d, %r10d
1:      xor     %r8d, %r8d
2:      element load, a, %r8, %r10
        xor     %r9d, %r9d
3:      element load, b, %r10, %r9
        element load, c, %r8, %r9
        element store, c, %r8, %r9
        next    %r9, SIDE, 3b
        next    %r8, SIDE, 2b
        next    %r10, SIDE, 1b
        finish

/*
 * b = f(a) in one loop and c = g(b) in the next, n = ITEMS: a and c are touched once. b[i] is loaded
 * 2 n - 1 after it was stored: the n - 1 - i of a behind i, the n - 1 others of b, the i of c before i. n
 * times (2 n - 1, 2 n - 2).
 */
        begin   apart
        xor     %r8d, %r8d
1:      mov     a(, %r8, 8), %rcx
        mov     %rcx, b(, %r8, 8)
        next    %r8, ITEMS, 1b
        xor     %r8d, %r8d
2:      mov     b(, %r8, 8), %rcx
        mov     %rcx, c(, %r8, 8)
        next    %r8, ITEMS, 2b
        finish

/*
 * Both loops as one: b is loaded as soon as it was stored, n times (1, 0).
 */
        begin   fused
        xor     %r8d, %r8d
1:      mov     a(, %r8, 8), %rcx
        mov     %rcx, b(, %r8, 8)
        mov     b(, %r8, 8), %rcx
        mov     %rcx, c(, %r8, 8)
        next    %r8, ITEMS, 1b
        finish

/* ---- threads --------------------------------------------------------------------------------- */

        .macro  start_thread at
        mov     $56, %eax               /* clone: a thread that clears `alive` at its end */
        mov     $0x250f00, %edi
        mov     $thread_stack, %esi
        xor     %edx, %edx
        mov     $alive, %r10d
        xor     %r8d, %r8d
        syscall
        test    %eax, %eax
        jz      \at
        .endm

        .macro  end_thread
        mov     $60, %eax
        xor     %edi, %edi
        syscall
        .endm

        /* Until the kernel says that the word differs: its looking is no access of the program. */
        .macro  wait_while word, value
9:      mov     $202, %eax              /* futex */
        mov     $\word, %edi
        xor     %esi, %esi
        mov     $\value, %edx
        xor     %r10d, %r10d
        syscall
        cmp     $-11, %eax              /* EAGAIN */
        jne     9b
        .endm

        .macro  hand_over value
        movl    $\value, turn
        mov     $202, %eax
        mov     $turn, %edi
        mov     $1, %esi
        mov     $1, %edx
        syscall
        .endm

/*
 * One thread sweeps over the words, then another one, then the first again: as one that
 * does so three times. 2 M times (M, M - 1).
 */
        begin   in_turn
        sweep
        start_thread 2f
        wait_while alive, 1
        sweep
        finish
2:      sweep
        end_thread

/*
 * Two threads sweep in turn, R times each, and store whose turn it is after each sweep: 2 R times the
 * same M + 1 words in the same order. (2 R - 1) (M + 1) times (M + 1, M).
 */
        begin   alternating
        start_thread 4f
        xor     %r9d, %r9d
3:      sweep
        hand_over 1
        wait_while turn, 1
        next    %r9, ROUNDS, 3b
        finish
4:      xor     %r9d, %r9d
5:      wait_while turn, 0
        sweep
        hand_over 0
        next    %r9, ROUNDS, 5b
        end_thread

        .data
        .balign 64
alive:  .long   1
        .balign 64
turn:   .long   0

        .bss
        .balign 4096
a:      .skip   16 * 4096
b:      .skip   8192
c:      .skip   8192
d:      .skip   64
        .skip   4096
thread_stack:
        .section .note.GNU-stack, "", @progbits
