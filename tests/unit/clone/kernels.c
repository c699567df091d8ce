// SPDX-License-Identifier: MIT
#include "kernels.h"

#include "clone/clone.h"

#include <math.h>
#include <stddef.h>

/* clang does not clone, and does not know the word; it makes one block of short loops. */
#ifdef __clang__
#define WHOLE noinline
#define LOOP  _Pragma("clang loop unroll(disable) vectorize(disable)")
#else
#define WHOLE noinline, noclone
#define LOOP
#endif

/* A function in a section of its own, whose ends the linker knows. */
#define KERNEL(name)                                                                               \
    extern const uint8_t __start_kernel_##name[], __stop_kernel_##name[];                          \
    kernel_function name;                                                                          \
    __attribute__((section("kernel_" #name), WHOLE)) void name(                                    \
        double *restrict a, const double *restrict b, const double *restrict c, long n)

#define EACH        for (long i = 0; i < n; i++)
#define ONE         __asm__ volatile("") /* keeps iterations apart: no vectors, no unrolling */
#define INTO(type)  ((type *)a)
#define FROM(type)  ((const type *)b)
#define OTHER(type) ((const type *)c)

/* ---- eligible --------------------------------------------------------------------------------------- */

KERNEL(scale)
{
    EACH a[i] = 3 * b[i];
}
KERNEL(add)
{
    EACH a[i] = b[i] + c[i];
}
KERNEL(triad)
{
    EACH a[i] = b[i] + 3 * c[i];
}
KERNEL(axpy)
{
    EACH a[i] += 2 * b[i];
}
KERNEL(divide)
{
    EACH a[i] = b[i] / c[i];
}
KERNEL(roots)
{
    EACH a[i] = sqrt(b[i]);
}
KERNEL(stencil)
{
    for (long i = 1; i < n - 1; i++)
        a[i] = b[i - 1] + 2 * b[i] + b[i + 1];
}
KERNEL(horner)
{
    EACH a[i] = (((b[i] * .3 + 1) * b[i] + c[i]) * b[i] + 2) * b[i] + .7;
}
KERNEL(integers)
{
    EACH INTO(int32_t)[i] = FROM(int32_t)[i] * 5 + OTHER(int32_t)[i];
}
KERNEL(bytes)
{
    EACH INTO(uint8_t)[i] = FROM(uint8_t)[i] ^ OTHER(uint8_t)[i];
}
KERNEL(widen)
{
    EACH a[i] = FROM(float)[i];
}
KERNEL(numbers)
{
    EACH INTO(int64_t)[i] = i * i;
}

KERNEL(complexes)
{
    for (long i = 0; i + 1 < n; i += 2) {
        double real = b[i] * c[i] - b[i + 1] * c[i + 1];
        double imaginary = b[i] * c[i + 1] + b[i + 1] * c[i];
        a[i] = real;
        a[i + 1] = imaginary;
    }
}

KERNEL(sum)
{
    double sum = 0;
    EACH sum += b[i];
    a[0] = sum;
}

KERNEL(dot)
{
    double sum = 0;
    EACH sum += b[i] * c[i];
    a[0] = sum;
}

KERNEL(largest)
{
    double most = 0;
    EACH most = b[i] > most ? b[i] : most;
    a[0] = most;
}

KERNEL(single)
{
    EACH
    {
        ONE;
        a[i] = b[i] + 3 * c[i];
    }
}
KERNEL(updates)
{
    EACH
    {
        ONE;
        INTO(int64_t)[i] += FROM(int64_t)[i];
    }
} /* add %rax, (%rdi) */

KERNEL(sparse) /* loads at addresses that are loaded */
{
    double sum = 0;
    EACH sum += b[OTHER(int64_t)[i] & 1023];
    a[0] = sum;
}

KERNEL(turns) /* a branch that depends on the index alone */
{
    EACH
    {
        ONE;
        if (i & 4)
            a[i] = b[i] * c[i];
        else
            a[i] = b[i] / 3;
    }
}

/* ---- eligible as they are written here ------------------------------------------------------------------ */

KERNEL(recurrence) /* through memory, from each iteration to the next: it stays */
{
    __asm__ volatile("1: movsd -8(%0), %%xmm0; mulsd %3, %%xmm0; addsd (%1), %%xmm0\n"
                     "movsd %%xmm0, (%0); add $8, %0; add $8, %1; dec %2; jne 1b"
                     : "+r"(a), "+r"(b), "+r"(n)
                     : "x"(.5)
                     : "xmm0", "memory");
}

KERNEL(further) /* the same, from each iteration to the one after the next two */
{
    __asm__ volatile(
        "1: movsd -24(%0), %%xmm0; mulsd %3, %%xmm0; divsd %3, %%xmm0; addsd (%1), %%xmm0\n"
        "movsd %%xmm0, (%0); add $8, %0; add $8, %1; dec %2; jne 1b"
        : "+r"(a), "+r"(b), "+r"(n)
        : "x"(.5)
        : "xmm0", "memory");
}

KERNEL(spilled) /* the counter is in memory, and an address is a constant of the program */
{
    static const double factor = 1.5;
    __asm__ volatile(
        "mov %2, -16(%%rsp)\n"
        "1: movsd (%1), %%xmm0; mulsd %4, %%xmm0; addsd (%3), %%xmm0; movsd %%xmm0, (%0)\n"
        "add $8, %0; add $8, %1; add $8, %3; decq -16(%%rsp); jne 1b"
        : "+r"(a), "+r"(b), "+r"(n), "+r"(c)
        : "m"(factor)
        : "xmm0", "memory");
}

KERNEL(carries) /* the carry goes from iteration to iteration, and into the first */
{
    __asm__ volatile("stc\n"
                     "1: mov (%1), %%r8; adc (%3), %%r8; mov %%r8, (%0)\n"
                     "lea 8(%0), %0; lea 8(%1), %1; lea 8(%3), %3; dec %2; jne 1b"
                     : "+r"(a), "+r"(b), "+r"(n), "+r"(c)
                     :
                     : "r8", "memory");
}

/* ---- loops in loops ---------------------------------------------------------------------------------------- */

enum { ROW = 40 };

KERNEL(rows)
{
    for (long r = 0; r < n / ROW; r++)
        LOOP for (long i = 0; i < ROW; i++) a[r * ROW + i] = a[r * ROW + i] * .5 + b[i] * c[r];
}

KERNEL(
    triangle) /* a way around the inner loop, two loops in one, and a call in the middle of it all */
{
    double sum = 0;
    for (long r = 0; r < n / ROW; r++) {
        if (r & 1)
            continue;
        for (long i = 0; i < r; i++)
            sum += b[i] * c[r + i];
        for (long i = r; i < 2 * r; i++) {
            ONE;
            a[i] += sum;
        }
        if (r == 20)
            sum = cos(sum);
    }
}

/* Flags, rax and rdx go into the inner loop and come out of it. */
KERNEL(crossed)
{
    __asm__ volatile(
        "xor %%eax, %%eax; mov $7, %%edx; mov %2, %%r8\n"
        "1: mov $0, %%ecx; mov $13, %%r10d; bt $0, %%r8\n"
        "2: mov (%1,%%rcx,8), %%r9; adc %%r9, %%rax; lea 1(%%rcx), %%rcx; dec %%r10d; jnz 2b\n"
        "adc %%rdx, %%rdx; mov %%rax, (%0,%%r8,8); add %%rdx, (%0,%%r8,8)\n"
        "dec %%r8; jnz 1b"
        : "+r"(a), "+r"(b)
        : "r"(n)
        : "rax", "rcx", "rdx", "r8", "r9", "r10", "memory", "cc");
}

/* ---- not eligible ------------------------------------------------------------------------------------------ */

KERNEL(search)
{
    long i = 0;
    while (i < n && b[i] != -1)
        i++;
    a[0] = (double)i;
}

KERNEL(chase)
{
    const double *const *at = (const double *const *)c;
    EACH at = (const double *const *)*at;
    a[0] = (double)(uintptr_t)at;
}

KERNEL(calls)
{
    EACH a[i] = sin(b[i]);
}

KERNEL(quotients)
{
    EACH
    {
        ONE;
        INTO(int64_t)[i] = FROM(int64_t)[i] / (OTHER(int64_t)[i] | 1);
    }
}

KERNEL(pushes)
{
    __asm__ volatile(
        "lea -256(%%rsp), %%rsp; 1: push %0; pop %%r8; dec %0; jne 1b; lea 256(%%rsp), %%rsp"
        : "+r"(n)
        :
        : "r8", "memory");
}

KERNEL(strings)
{
    __asm__ volatile("1: movsq; dec %2; jne 1b" : "+D"(a), "+S"(b), "+r"(n) : : "memory");
}

KERNEL(streaming)
{
    __asm__ volatile("1: movnti %1, (%0); add $8, %0; dec %1; jne 1b"
                     : "+r"(a), "+r"(n)
                     :
                     : "memory");
}

KERNEL(extended)
{
    EACH a[i] = (double)((long double)b[i] + c[i]);
}

KERNEL(registers)
{
    unsigned long x = 1;
    EACH
    {
        x = x * 3 + 1;
        __asm__ volatile("" : "+r"(x));
    }
    a[0] = (double)x;
}

KERNEL(switches)
{
    EACH
    {
        double x = b[i];
        switch (OTHER(uint8_t)[i]) {
        case 0: x = x * 3 + c[i]; break;
        case 1: x = x / 3; break;
        case 2: x = x - c[i]; break;
        case 3: x = x * x; break;
        case 4: x = x + 17; break;
        case 5: x = x / c[i]; break;
        case 6: a[i] = 3; break;
        }
        a[i] += x;
    }
}

#define ENTRY(name, reason)                                                                        \
    {                                                                                              \
#name, name, __start_kernel_##name, __stop_kernel_##name, reason                           \
    }

const struct kernel kernels[] = {
    ENTRY(scale, CLONE_ELIGIBLE),
    ENTRY(add, CLONE_ELIGIBLE),
    ENTRY(triad, CLONE_ELIGIBLE),
    ENTRY(axpy, CLONE_ELIGIBLE),
    ENTRY(divide, CLONE_ELIGIBLE),
    ENTRY(roots, CLONE_ELIGIBLE),
    ENTRY(stencil, CLONE_ELIGIBLE),
    ENTRY(horner, CLONE_ELIGIBLE),
    ENTRY(integers, CLONE_ELIGIBLE),
    ENTRY(bytes, CLONE_ELIGIBLE),
    ENTRY(widen, CLONE_ELIGIBLE),
    ENTRY(numbers, CLONE_ELIGIBLE),
    ENTRY(complexes, CLONE_ELIGIBLE),
    ENTRY(sum, CLONE_ELIGIBLE),
    ENTRY(dot, CLONE_ELIGIBLE),
    ENTRY(largest, CLONE_ELIGIBLE),
    ENTRY(single, CLONE_ELIGIBLE),
    ENTRY(updates, CLONE_ELIGIBLE),
    ENTRY(sparse, CLONE_ELIGIBLE),
    ENTRY(turns, CLONE_ELIGIBLE),
    ENTRY(recurrence, CLONE_ELIGIBLE),
    ENTRY(further, CLONE_ELIGIBLE),
    ENTRY(spilled, CLONE_ELIGIBLE),
    ENTRY(carries, CLONE_ELIGIBLE),
    ENTRY(search, CLONE_BRANCH),
    ENTRY(chase, CLONE_RECURRENCE_LOST),
    ENTRY(calls, CLONE_CALLS),
    ENTRY(quotients, CLONE_DIVIDES),
    ENTRY(pushes, CLONE_STACK),
    ENTRY(strings, CLONE_STRING),
    ENTRY(streaming, CLONE_STREAMS_PAST),
    ENTRY(extended, CLONE_X87),
    ENTRY(registers, CLONE_NO_ACCESS),
    ENTRY(switches, CLONE_INDIRECT),
};
const unsigned kernel_count = sizeof kernels / sizeof *kernels;

const struct kernel nests[] = {
    ENTRY(rows, CLONE_ELIGIBLE),
    ENTRY(triangle, CLONE_ELIGIBLE),
    ENTRY(crossed, CLONE_ELIGIBLE),
};
const unsigned nest_count = sizeof nests / sizeof *nests;
