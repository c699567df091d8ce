/* SPDX-License-Identifier: MIT */
/*
 * Markers for `headroom interference`: parts of functions to be timed by themselves.
 *
 *     HEADROOM_BEGIN("take from queue", queue);
 *     ...
 *     HEADROOM_END("take from queue");
 *
 * Nothing needs to be linked. While nothing is recorded a marker costs one instruction that does
 * nothing, and what it takes to compute the key; compilers move no memory accesses across it,
 * arithmetic they may. `headroom interference` finds the markers of a program and of its libraries
 * by a table that they carry, and puts jumps in their places while it records.
 *
 * name   A string literal that names the part for people, without % { | } " and \ . Markers with the
 *        same name belong together, in however many places of the program they are.
 * key    What the work depends on: an integer, a pointer or an enumeration. Executions are only
 *        compared with those that have the same key: a lock or a queue by its address, a transfer
 *        by its size class. 0 if there is nothing of that kind. A thread keeps about a hundred keys
 *        of a name apart; what is more is taken together.
 *
 * Nesting    BEGIN and END are brackets in one function, also recursively. END ends the innermost
 *            execution of its name that this activation of the function, or what was inlined into
 * it, began; what was begun after it and has not ended is dropped. An END without its BEGIN does
 * nothing. Jumps      An execution that is left by an exception, longjmp, return or goto without
 * reaching END is dropped: neither counted nor timed. In C++ a destructor can hold the END, and its
 *            constructor the BEGIN, if both are inlined: __attribute__((always_inline)).
 * Threads    Any thread may use markers, also in signal handlers and before main. What is begun in
 *            one thread cannot be ended in another: both halves are dropped.
 *
 * With -DHEADROOM_DISABLE, and where headroom does not run (other machines than 64-bit x86-64 with
 * ELF, compilers without GNU's assembly), nothing is left of a marker; the key is not evaluated.
 *
 * For C99 and later, C++98 and later. -fPIC, link-time optimisation, --gc-sections and comdat
 * groups are fine: a marker's entry goes when its code goes. The assembler must know the section
 * flag 'o': GNU as 2.35, clang 11.
 */
#ifndef HEADROOM_H
#define HEADROOM_H

#if defined(__x86_64__) && defined(__LP64__) && defined(__ELF__) && defined(__GNUC__)

/* In C++ `headroom_word(key)` would be a cast of the new style. */
typedef unsigned long headroom_word;
#ifdef __cplusplus
#define HEADROOM_WORD(key) headroom_word(key)
#else
#define HEADROOM_WORD(key) ((headroom_word)(key))
#endif

#ifndef HEADROOM_DISABLE

/* Compilers that know `asm inline` do not take the text's length for that of the code. */
#if (defined(__clang__) && __clang_major__ >= 11) || (!defined(__clang__) && __GNUC__ >= 9)
#define HEADROOM_ASM __asm__ __inline__ __volatile__
#else
#define HEADROOM_ASM __asm__ __volatile__
#endif

/*
 * nopl 0(%rax,%rax), five bytes; and in the table: where it is and where its name is (relative to
 * the entry's own words), what it is, 0. 'o' binds the entry to the section of the code, '?' puts
 * it into the group of the code if there is one; for linkers that know neither, the code refers to
 * its entry by a relocation that changes nothing.
 */
#define HEADROOM_MARKER(name, kind)                                                                \
    ".Lheadroom_site%=:\n"                                                                         \
    "\t.byte 0x0f,0x1f,0x44,0x00,0x00\n"                                                           \
    "\t.reloc .Lheadroom_site%=,R_X86_64_NONE,.Lheadroom_entry%=\n"                                \
    "\t.pushsection .rodata.str1.1,\"aMS\",@progbits,1\n"                                          \
    ".Lheadroom_name%=:\n"                                                                         \
    "\t.asciz \"" name "\"\n"                                                                      \
    "\t.popsection\n"                                                                              \
    "\t.pushsection headroom_markers,\"ao?\",@progbits,.Lheadroom_site%=\n"                        \
    "\t.balign 4\n"                                                                                \
    ".Lheadroom_entry%=:\n"                                                                        \
    "\t.long .Lheadroom_site%=-.,.Lheadroom_name%=-.," kind ",0\n"                                 \
    "\t.popsection\n"

#define HEADROOM_BEGIN(name, key)                                                                  \
    do {                                                                                           \
        HEADROOM_ASM(HEADROOM_MARKER(name, "1") : : "D"(HEADROOM_WORD(key)) : "memory", "cc");     \
    } while (0)

#define HEADROOM_END(name)                                                                         \
    do {                                                                                           \
        HEADROOM_ASM(HEADROOM_MARKER(name, "2") : : : "memory", "cc");                             \
    } while (0)

#else
#define HEADROOM_BEGIN(name, key) ((void)sizeof(HEADROOM_WORD(key)))
#define HEADROOM_END(name)        ((void)0)
#endif

#else
#define HEADROOM_BEGIN(name, key) ((void)0)
#define HEADROOM_END(name)        ((void)0)
#endif

#endif
