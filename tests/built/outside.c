/* SPDX-License-Identifier: MIT */
/* What measured.c calls that is not instrumented. */
#include <setjmp.h>

#define TIMES10(x)  x x x x x x x x x x
#define MULTIPLY(x) __asm__ volatile("imulq %0, %0\n\t" : "+r"(x));
#define SHORT(x)    TIMES10(TIMES10(TIMES10(MULTIPLY(x))))

long outside_nothing(long x);
long outside_long(long x);
long outside_calls(long (*callback)(long), long x);
void outside_jumps(jmp_buf place);

long outside_long(long x)
{
    SHORT(x) SHORT(x) SHORT(x) return x;
}

long outside_nothing(long x)
{
    return x + 1;
}

long outside_calls(long (*callback)(long), long x)
{
    x = outside_long(x);
    x += callback(x);
    return outside_long(x);
}

void outside_jumps(jmp_buf place)
{
    outside_long(1);
    longjmp(place, 1);
}
