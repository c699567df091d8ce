/* SPDX-License-Identifier: MIT */
/* Paths whose times are known: chains of multiplications, each waiting for the one before. */
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>

#define APART       __attribute__((noinline, noclone))
#define TIMES10(x)  x x x x x x x x x x
#define MULTIPLY(x) __asm__ volatile("imulq %0, %0\n\t" : "+r"(x));
#define SHORT(x)    TIMES10(TIMES10(TIMES10(MULTIPLY(x))))
#define LONG(x)     SHORT(x) SHORT(x) SHORT(x)

/* outside.c: not instrumented */
long outside_nothing(long x);
long outside_long(long x);
long outside_calls(long (*callback)(long), long x);
void outside_jumps(jmp_buf place);

long catches(long x); /* measured.cpp */

APART long two_ways(long x, int way)
{
    if (way) {
        LONG(x)
    } else {
        SHORT(x)
    }
    return x;
}

APART long only_calls(long x)
{
    return two_ways(x, 1) + two_ways(x, 1) + 1;
}

APART long only_calls_outside(long x)
{
    return outside_long(x) + outside_long(x) + 1;
}

APART long calls_nothing(long x)
{
    TIMES10(x = outside_nothing(x);)
    TIMES10(x = outside_nothing(x);)
    return x;
}

APART long around_calls(long x)
{
    SHORT(x)
    x += outside_long(x);
    SHORT(x)
    x += two_ways(x, 1);
    SHORT(x)
    return x;
}

APART long callback(long x)
{
    SHORT(x)
    return x;
}

APART long calls_back(long x)
{
    return outside_calls(callback, x) + 1;
}

/* Its second path begins where longjmp leads to. */
APART long returns_twice(long x)
{
    static jmp_buf place;
    volatile long kept = x;
    if (setjmp(place) == 0) {
        kept = outside_long(kept);
        outside_jumps(place);
    }
    x = kept;
    SHORT(x)
    return x;
}

/* It does not come to rest over lines of macros. */
/* clang-format off */
/* 2^17 paths, in a hash table. */
APART long many_paths(long x, unsigned bits)
{
    for (int unused = 0; unused < 1; unused++)
        SHORT(x)
#define BIT(n)                                                                                     \
    if (bits & 1u << n)                                                                            \
        x += n;                                                                                    \
    else                                                                                           \
        x ^= n;                                                                                    \
    __asm__ volatile("" : "+r"(x));
    BIT(0) BIT(1) BIT(2) BIT(3) BIT(4) BIT(5) BIT(6) BIT(7) BIT(8)
    BIT(9) BIT(10) BIT(11) BIT(12) BIT(13) BIT(14) BIT(15) BIT(16)
    return x;
}
/* clang-format on */

/* Two paths that take turns, `half` rounds each: a sample that kept step with them
 * would see one. */
#define TAKES_TURNS(name, half)                                                                    \
    APART long name(long x, long n)                                                                \
    {                                                                                              \
        for (long i = 0; i < n; i++) {                                                             \
            if (i / half % 2) {                                                                    \
                LONG(x)                                                                            \
            } else {                                                                               \
                SHORT(x)                                                                           \
            }                                                                                      \
        }                                                                                          \
        return x;                                                                                  \
    }
TAKES_TURNS(turns_of_2, 1)
TAKES_TURNS(turns_of_32, 16)
TAKES_TURNS(turns_of_64, 32)

APART long empty_loop(long n)
{
    for (long i = 0; i < n; i++)
        __asm__ volatile("" : "+r"(i));
    return n;
}

/* The argument: how often two_ways is called, and then nothing else; two thousand times take
   some milliseconds. */
int main(int count, char **arguments)
{
    long sum = 0, only = count > 1 ? atol(arguments[1]) : 0;
    for (long i = 0; i < only; i++)
        sum += two_ways(i, i & 1);
    for (int i = 0; i < 4000 && !only; i++) {
        sum += two_ways(i, 0) + two_ways(i, 1) + only_calls(i) + only_calls_outside(i);
        sum += around_calls(i) + calls_back(i) + returns_twice(i) + many_paths(i, (unsigned)i % 8);
        sum += catches(i) + calls_nothing(i);
    }
    if (!only)
        sum += turns_of_2(1, 19200) + turns_of_32(1, 19200) + turns_of_64(1, 19200);
    sum += empty_loop(only ? 0 : 40000);
    printf("%ld\n", sum);
    return 0;
}
