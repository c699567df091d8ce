// SPDX-License-Identifier: MIT
/*
 * Functions of every shape of arguments and results: on the stack, by hidden pointers, in vectors,
 * on the x87 stack, in pairs of registers, variable in number; nested functions with their chain;
 * large frames; what -fipa-ra makes of static ones. Built several times over with other options.
 */
#include "hooked.h"
#include <complex.h>
#include <stdarg.h>

typedef double vector4 __attribute__((vector_size(32)));
typedef float vector8 __attribute__((vector_size(64)));

struct small {
    uint64_t a, b;
};

struct mixed {
    double a;
    uint64_t b;
};

struct large {
    uint64_t values[20];
};

struct odd {
    char bytes[3];
};

HOOKED uint64_t stacked(uint64_t a, uint64_t b, uint64_t c, uint64_t d, uint64_t e, uint64_t f,
                        uint64_t g, uint64_t h, double x, double y, struct large large, uint64_t i,
                        char j)
{
    return a + 2 * b + 3 * c + 4 * d + 5 * e + 6 * f + 7 * g + 8 * h + (uint64_t)x + (uint64_t)y +
           large.values[19] + 9 * i + (uint64_t)j;
}

HOOKED uint64_t variable(int count, ...)
{
    va_list list;
    uint64_t sum = 0;
    va_start(list, count);
    for (int i = 0; i < count; i++)
        sum += i % 2 ? (uint64_t)va_arg(list, double) : va_arg(list, uint64_t);
    va_end(list);
    return sum;
}

HOOKED struct small pair(uint64_t a)
{
    return (struct small){a, a + 1};
}

HOOKED struct mixed both(uint64_t a)
{
    return (struct mixed){(double)a / 2, a + 1};
}

HOOKED struct large by_pointer(uint64_t a)
{
    struct large large;
    for (uint64_t i = 0; i < 20; i++)
        large.values[i] = a + i;
    return large;
}

HOOKED struct odd three(uint64_t a)
{
    return (struct odd){{(char)a, (char)(a + 1), (char)(a + 2)}};
}

HOOKED long double wide(long double a)
{
    return a * 3 + 1;
}

HOOKED double complex turned(double complex a)
{
    return a * I;
}

HOOKED long double complex turned_wide(long double complex a)
{
    return a * I;
}

HOOKED __int128 product(uint64_t a, uint64_t b)
{
    return (__int128)a * b;
}

HOOKED float narrow(float a, bool b, short c)
{
    return b ? a : (float)c;
}

HOOKED __attribute__((target("avx2"))) vector4 quadruple(vector4 a, vector4 b)
{
    return a * b + 1;
}

HOOKED __attribute__((target("avx512f"))) vector8 sixteen(vector8 a)
{
    return a + a;
}

HOOKED __attribute__((target("avx2"))) int with_vectors(uint64_t turn)
{
    double x = (double)turn;
    vector4 result = quadruple((vector4){x, 2, 3, 4}, (vector4){2, x, 2, x});
    return result[0] == 2 * x + 1 && result[1] == 2 * x + 1 && result[2] == 7 &&
           result[3] == 4 * x + 1;
}

HOOKED __attribute__((target("avx512f"))) int with_wide_vectors(uint64_t turn)
{
    vector8 a;
    for (int i = 0; i < 16; i++)
        a[i] = (float)((uint64_t)i + turn % 100);
    a = sixteen(a);
    for (int i = 0; i < 16; i++)
        if (a[i] != 2 * (float)((uint64_t)i + turn % 100))
            return 0;
    return 1;
}

HOOKED uint64_t large_frame(uint64_t a)
{
    volatile char bytes[70000];
    bytes[0] = (char)a;
    bytes[69999] = 1;
    return (uint64_t)(unsigned char)bytes[0] + (uint64_t)bytes[69999];
}

HOOKED uint64_t moving_stack(uint64_t a)
{
    char *bytes = __builtin_alloca(a % 4096 + 16);
    OPAQUE(bytes);
    bytes[0] = 3;
    OPAQUE(bytes);
    return a + (uint64_t)bytes[0];
}

#ifndef __clang__
/* The nested one finds its frame by r10. */
HOOKED uint64_t with_nested(uint64_t a)
{
    uint64_t sum = 0;
    __attribute__((noinline, noclone)) void add(uint64_t b)
    {
        sum += a * b;
    }
    for (uint64_t i = 0; i < 5; i++)
        add(i);
    return sum;
}
#else
HOOKED uint64_t with_nested(uint64_t a)
{
    return 10 * a;
}
#endif

/* Uses few registers, so that its caller keeps values in those that it need not save. */
HOOKED uint64_t frugal(uint64_t a)
{
    __asm__ volatile("" : "+r"(a));
    return a + 1;
}

HOOKED double relies_on_frugal(uint64_t a, double x, double y)
{
    uint64_t b = a * 3, c = a * 5, d = a * 7, e = a ^ 9, f = a + 11;
    double u = x * 2, v = y * 3, w = x + y;
    uint64_t sum = frugal(a);
    OPAQUE(b);
    OPAQUE(c);
    sum += frugal(b) + c + d + e + f;
    return (double)sum + u * v * w;
}

static int wrong;

static void expect(const char *what, bool is_right)
{
    if (!is_right && wrong++ < 20)
        say("wrong: %s\n", what);
}

HOOKED void check_integers(uint64_t i)
{
    struct large large = by_pointer(i);
    uint64_t sum = i * 36 + 168 + i + 19 + 9 + 'x' + 3 + 4;
    expect("stack", stacked(i, i + 1, i + 2, i + 3, i + 4, i + 5, i + 6, i + 7, 3.5, 4.5, large, 1,
                            'x') == sum);
    expect("variable", variable(7, i, 2.0, i, 4.0, i, 6.0, i) == 4 * i + 12);
    expect("more variable",
           variable(12, i, 1.0, i, 1.0, i, 1.0, i, 1.0, i, 1.0, i, 1.0) == 6 * i + 6);
    struct small small = pair(i);
    expect("pair", small.a == i && small.b == i + 1);
    struct odd odd = three(i);
    expect("odd", odd.bytes[2] == (char)(i + 2));
    expect("product", product(i, UINT64_MAX) == (__int128)i * UINT64_MAX);
    expect("frame", large_frame(i) == (i & 255) + 1 && moving_stack(i) == i + 3);
    expect("nested", with_nested(i) == 10 * i);
}

HOOKED void check_others(uint64_t i)
{
    struct mixed mixed = both(i);
    expect("mixed", mixed.a == (double)i / 2 && mixed.b == i + 1);
    expect("x87", wide((long double)i) == (long double)i * 3 + 1);
    double complex turn = turned((double)i + 2 * I);
    expect("complex", creal(turn) == -2 && cimag(turn) == (double)i);
    long double complex wide_turn = turned_wide((long double)i + 2 * I);
    expect("x87 complex", creall(wide_turn) == -2 && cimagl(wide_turn) == (long double)i);
    expect("narrow", narrow(1.5f, i & 1, 7) == (i & 1 ? 1.5f : 7));
    if (__builtin_cpu_supports("avx2"))
        expect("vectors", with_vectors(i));
    if (__builtin_cpu_supports("avx512f"))
        expect("wide vectors", with_wide_vectors(i));
    double sum = (double)(i + 1 + i * 3 + 1 + i * 5 + i * 7 + (i ^ 9) + i + 11);
    expect("kept", relies_on_frugal(i, 2, 3) == sum + 4 * 9 * 5);
}

static uint64_t rounds;

static void *run(void *unused)
{
    for (uint64_t i = 0; i < rounds; i++) {
        check_integers(i);
        check_others(i);
    }
    return unused;
}

int main(int argc, char **argv)
{
    pthread_t thread;
    rounds = amount(argc, argv, 100000);
    must(pthread_create(&thread, NULL, run, NULL) == 0);
    run(NULL);
    must(pthread_join(thread, NULL) == 0);
    say("wrong %d\n", wrong);
    return 0;
}
