// SPDX-License-Identifier: MIT
/* Shapes of control flow and of stack frames, each in a function of its own, and what they
 * computed. */
#include <alloca.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define APART __attribute__((noinline, noclone, noipa))

APART int straight(int a, int b)
{
    return a * 3 + b;
}

APART int diamond(int a)
{
    int r = 1;
    if (a & 1)
        r += a;
    else
        r ^= a * 7;
    if (a & 2)
        r *= 3;
    return r;
}

APART long nested(int n)
{
    long sum = 0;
    for (int i = 0; i < n; i++)
        for (int j = 0; j < i; j++) {
            if ((i ^ j) & 1)
                sum += j;
            else if (i % 3 == 0)
                continue;
            if (sum > 100000)
                return sum;
        }
    return sum;
}

APART int many(int op, int a, int b)
{
    switch (op) {
    case 0: return a + b;
    case 1: return a - b;
    case 2: return a * b;
    case 3: a ^= b; /* fall through */
    case 4: a |= 16; break;
    case 5: return b ? a / b : 0;
    case 6: a = diamond(b); break;
    case 7: a <<= 2; break;
    case 11: return -1;
    default: a = 99;
    }
    return a + op;
}

APART unsigned long fibonacci(unsigned n)
{
    return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2);
}

APART int tail_callee(int a, int b, int c)
{
    return a - 2 * b + c;
}
APART int tail(int a, int b)
{
    if (a > b)
        return tail_callee(b, a, 1);
    return tail_callee(a, b, 2);
}

APART long arguments(long a, long b, long c, long d, long e, long f, long g, long h, int i)
{
    long r = a + 2 * b + 3 * c + 4 * d + 5 * e + 6 * f + 7 * g + 8 * h + 9 * i;
    for (long k = 0; k < g; k++)
        r += straight((int)k, (int)h) ^ (k & 1 ? i : -i);
    return r;
}

struct large {
    long values[12];
};
APART long by_value(struct large x, int n)
{
    long r = 0;
    for (int i = 0; i < n; i++)
        r += x.values[(i * 5) % 12] + straight(i, 1);
    return r;
}
APART long first_of(struct large *x);
APART long first_of(struct large *x)
{
    return x->values[0] + x->values[11];
}
APART long passes_address(struct large x)
{
    return first_of(&x) + 1;
}

APART int sum_of(int n, ...)
{
    va_list list;
    int r = 0;
    va_start(list, n);
    for (int i = 0; i < n; i++)
        r += i % 3 == 2 ? (int)va_arg(list, double) : va_arg(list, int);
    va_end(list);
    return r;
}

APART int dynamic(int n)
{
    int *values = alloca((size_t)n * sizeof *values), r = 0;
    char buffer[n + 3];
    for (int i = 0; i < n; i++)
        values[i] = straight(i, n);
    memset(buffer, n, sizeof buffer);
    for (int i = 0; i < n; i += 2)
        r += values[i] + buffer[i];
    return r;
}

static jmp_buf place;
APART void jumps(int n) /* never returns */
{
    if (n == 0)
        longjmp(place, 3);
    jumps(n - 1);
    puts("not here");
}
APART int returns_twice(int n)
{
    volatile int tries = 0;
    int code = setjmp(place);
    if (code == 0) {
        jumps(n);
    } else if (tries < 3) {
        tries++;
        jumps(n + tries);
    }
    return code * 10 + tries;
}

static volatile int handled;
static void handler(int number)
{
    for (int i = 0; i < number; i++)
        handled += straight(i, 1) & 1;
}
APART int interrupted(int n)
{
    int r = 0;
    for (int i = 0; i < n; i++) {
        if (i % 4 == 1)
            raise(SIGUSR1);
        r += i;
    }
    return r + handled;
}

static int compare(const void *a, const void *b)
{
    int x = *(const int *)a, y = *(const int *)b;
    return x < y ? -1 : x > y;
}
APART int callbacks(int n)
{
    int values[64];
    for (int i = 0; i < 64; i++)
        values[i] = (i * 37 + n) % 64;
    qsort(values, 64, sizeof *values, compare);
    return values[n % 64];
}

APART int indirect(int n)
{
    static int (*const table[])(int, int) = {straight, tail, straight, tail};
    int r = 0;
    for (int i = 0; i < n; i++)
        r += table[(i * 7) & 3](i, n);
    return r;
}

/* Two ways into one loop. */
APART int irreducible(int a, int n)
{
    int r = 0;
    if (a & 1)
        goto second;
first:
    r += 3;
    if (r % 5 == 0)
        r ^= n;
second:
    r += 7;
    if (--n > 0)
        goto first;
    return r;
}

/* Data below the stack pointer, all registers in use. */
APART unsigned busy(unsigned a, unsigned b, unsigned c, unsigned d, unsigned e, unsigned f)
{
    unsigned t[16];
    for (int i = 0; i < 16; i++)
        t[i] = a * (unsigned)i + b;
    for (unsigned i = 0; i < 40; i++) {
        a = (a << 3 | a >> 29) + t[i & 15];
        b ^= c + (a & 1 ? d : e);
        c = (c << 7 | c >> 25) ^ f;
        d += t[(b >> 4) & 15] * a;
        e -= d ^ b;
        f = f * 5 + (c > d ? a : b);
        if (f & 64)
            t[f & 15] ^= e;
        else if (e & 3)
            t[e & 15] += a + b + c;
    }
    return a ^ b ^ c ^ d ^ e ^ f ^ t[3];
}

APART int with_assembly(int a)
{
    int r = 0;
    for (int i = 0; i < a; i++) {
        int low;
        __asm__("leal (%1,%1,2), %0\n\taddl $1, %0" : "=r"(low) : "r"(i) : "cc");
        __asm__ volatile("testl %1, %1\n\tje 1f\n\taddl $2, %0\n1:"
                         : "+r"(r)
                         : "r"(low & 1)
                         : "cc");
        r += low;
    }
    return r;
}

APART int with_nested(int n)
{
    int total = 0;
#ifndef __clang__
    auto void add(int k);
    void add(int k)
    {
        if (k & 1)
            total += k;
        else
            total -= straight(k, n);
    }
    for (int i = 0; i < n; i++)
        add(i);
#endif
    return total;
}

__attribute__((cold, noinline)) static int complain(int code)
{
    fprintf(stderr, "complaint %d\n", code);
    return code;
}
APART int rarely(int a)
{
    int r = 0;
    for (int i = 0; i < a; i++) {
        if (__builtin_expect(i == 77, 0)) {
            r += complain(i);
            if (r & 1)
                r += 5;
        }
        r += i & 3;
    }
    return r;
}

APART double floats(int n)
{
    double r = 0, x[8] = {1, 2, 3, 4, 5, 6, 7, 8};
    for (int i = 0; i < n; i++) {
        double y = x[i & 7] * 0.5 + r;
        r = y > 10 ? y - 9.25 : y;
    }
    return r;
}

APART void leaves(int code)
{
    if (code == 3)
        exit(code);
    printf("leaves %d\n", code);
}

/* Reads no floating-point arguments: its register save area has no vector registers. */
APART long numbers(int count, ...)
{
    va_list list, again;
    long sum = 0;
    va_start(list, count);
    va_copy(again, list);
    for (int i = 0; i < count; i++)
        sum = 3 * sum + va_arg(list, int);
    for (int i = 0; i < count; i += 2)
        sum += va_arg(again, int);
    va_end(again);
    va_end(list);
    return sum;
}

APART int first_number(int which, ...)
{
    va_list list;
    int number = which;
    if (which & 1) {
        va_start(list, which);
        number += va_arg(list, int);
        va_end(list);
    }
    return number;
}

/* Passes on the address of its argument, and nothing of its own. */
APART long only_address(struct large large, int n)
{
    long sum = 0;
    for (int i = 0; i < n; i++)
        sum += passes_address(large) % (i + 7);
    return sum + (n > 3 ? first_of(&large) : 0);
}

int main(void)
{
    struct large large;
    for (int i = 0; i < 12; i++)
        large.values[i] = i * i;
    signal(SIGUSR1, handler);
    long total = 0;
    for (int i = 0; i < 50; i++)
        total += diamond(i) + many(i % 13, i, i / 3) + straight(i, total & 7);
    printf("%ld %ld %lu\n", total, nested(40), fibonacci(12));
    printf("%d %d\n", tail(1, 2), tail(5, 2));
    printf("%ld %ld %ld\n", arguments(1, 2, 3, 4, 5, 6, 7, 8, 9), by_value(large, 9),
           passes_address(large));
    printf("%d %d %d\n", sum_of(5, 1, 2, 3.5, 4, 5), sum_of(0),
           sum_of(9, 1, 2, 3.0, 4, 5, 6.0, 7, 8, 9.0));
    printf("%ld %ld %ld\n", numbers(9, 1, 2, 3, 4, 5, 6, 7, 8, 9), numbers(3, 7, 8, 9), numbers(0));
    printf("%d %d %ld\n", first_number(3, 4), first_number(2, 4), only_address(large, 9));
    printf("%d %d\n", dynamic(7), dynamic(20));
    printf("%d\n", returns_twice(4));
    printf("%d\n", interrupted(20));
    printf("%d %d\n", callbacks(3), callbacks(40));
    printf("%d\n", indirect(30));
    printf("%d %d\n", irreducible(0, 20), irreducible(1, 20));
    printf("%u\n", busy(1, 2, 3, 4, 5, 6));
    printf("%d %d\n", with_assembly(20), with_nested(20));
    printf("%d\n", rarely(100));
    printf("%.6f\n", floats(100));
    leaves(1);
    fflush(stdout);
    leaves(3);
    return 0;
}
