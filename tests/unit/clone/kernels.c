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

/* What is called, likewise. */
#define LEAF(name, type, ...)                                                                      \
    extern const uint8_t __start_leaf_##name[], __stop_leaf_##name[];                              \
    type name(__VA_ARGS__);                                                                        \
    __attribute__((section("leaf_" #name), WHOLE)) type name(__VA_ARGS__)

#define EACH        for (long i = 0; i < n; i++)
#define ONE         __asm__ volatile("")  /* keeps iterations apart: no vectors, no unrolling */
#define OTHER_ONE   __asm__ volatile("#") /* and two ways apart: no conditional move */
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

/* ---- branches that depend on data --------------------------------------------------------------------------- */

#define ADDS_OR_TAKES_OFF(adds, added)                                                             \
    double sum = 0;                                                                                \
    EACH                                                                                           \
    {                                                                                              \
        if (adds) {                                                                                \
            ONE;                                                                                   \
            sum += added;                                                                          \
        } else {                                                                                   \
            ONE;                                                                                   \
            sum -= 3;                                                                              \
        }                                                                                          \
    }                                                                                              \
    a[0] = sum

KERNEL(chance_half)
{
    ADDS_OR_TAKES_OFF(b[i] < .5, c[i]);
}
KERNEL(chance_most)
{
    ADDS_OR_TAKES_OFF(b[i] < .9, c[i]);
}
KERNEL(chance_period) /* the same each few iterations, if c is */
{
    ADDS_OR_TAKES_OFF(c[i] < 2, b[i]);
}
KERNEL(chance_late) /* it takes long until the outcome is known */
{
    EACH
    {
        if (b[i] * b[i] / c[i] < .1) {
            ONE;
            a[i] = b[i];
        } else {
            OTHER_ONE;
            a[i] = 3;
        }
    }
}
KERNEL(chance_nested)
{
    EACH
    {
        double x = b[i];
        if (x < .5) {
            ONE;
            if (c[i] < 2) {
                ONE;
                x = x * 3;
            } else if (x < .2) {
                ONE;
                x = x + c[i];
            }
        }
        ONE;
        a[i] = x;
    }
}
KERNEL(chance_compress) /* an address depends on outcomes */
{
    long count = 0;
    EACH if (b[i] < .4)
    {
        ONE;
        a[count++] = b[i] + c[i];
    }
}
KERNEL(chance_integers) /* flags of one comparison decide twice */
{
    long less = 0, more = 0;
    EACH
    {
        int64_t x = FROM(int64_t)[i] & 15;
        if (x < 5) {
            ONE;
            less += OTHER(int64_t)[i];
        } else if (x > 5) {
            ONE;
            more ^= OTHER(int64_t)[i];
        }
    }
    INTO(int64_t)[0] = less + more;
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

/* ---- loops whose data are in the first-level cache --------------------------------------------------------- */

#define AGAIN     for (long r = 0; r < n; r++)
#define CHANGED   __asm__ volatile("" : : : "memory") /* what was computed before is not known */
#define EACH_NEAR LOOP for (long i = 0; i < NEAR_ELEMENTS; i++)
#define NEAR(action)                                                                               \
    AGAIN                                                                                          \
    {                                                                                              \
        CHANGED;                                                                                   \
        EACH_NEAR action;                                                                          \
    }

KERNEL(near_scale){NEAR(a[i] = 3 * b[i])} KERNEL(near_triad){
    NEAR(a[i] = b[i] + 3 * c[i])} KERNEL(near_axpy){NEAR(a[i] += 2 * b[i])} KERNEL(near_divide){
    NEAR(a[i] = b[i] / c[i])} KERNEL(near_horner){
    NEAR(a[i] = (((b[i] * .3 + 1) * b[i] + c[i]) * b[i] + 2) * b[i] + .7)} KERNEL(near_stencil){
    NEAR(a[i + 1] = b[i] + 2 * b[i + 1] + b[i + 2])} KERNEL(near_integers){
    NEAR(INTO(int32_t)[i] = FROM(int32_t)[i] * 5 + OTHER(int32_t)[i])} KERNEL(near_dot)
{
    double sum = 0;
    NEAR(sum += b[i] * c[i])
    a[0] = sum;
}

/* ---- not eligible ------------------------------------------------------------------------------------------ */

KERNEL(
    merges) /* the loop ends sooner or later; a compiler would else make one block of both branches */
{
    long i = 0, k = 0;
    while (i < n && k < n)
        if (b[i] < c[k])
            __asm__ volatile("inc %0" : "+r"(i));
        else
            __asm__ volatile("inc %0" : "+r"(k));
    a[0] = (double)i;
}

KERNEL(uncounted) /* what counts is in memory, and addresses follow from outcomes */
{
    __asm__ volatile("mov %1, -16(%%rsp); xor %%r9d, %%r9d\n"
                     "1: mov (%0,%%r9,8), %%r8; test $1, %%r8b; je 2f; xor $1, %%r9d\n"
                     "2: decq -16(%%rsp); jne 1b"
                     :
                     : "r"(b), "r"(n)
                     : "r8", "r9", "memory", "cc");
}

KERNEL(crowded) /* no register is left */
{
    register const double *at __asm__("r12") = b;
    register long count __asm__("r13") = n;
    __asm__ volatile(
        "push %%rbp; push %%rbx; push %%rax; push %%rcx; push %%rdx; push %%rsi; push %%rdi\n"
        "1: mov (%0), %%r8; inc %%rax; inc %%rcx; inc %%rdx; inc %%rbx; inc %%rbp; inc %%r9; inc "
        "%%r10\n"
        "inc %%r11; inc %%r14; inc %%r15; inc %%rsi; inc %%rdi; test $1, %%r8b; je 2f; inc %%r8\n"
        "2: add $8, %0; dec %1; jne 1b\n"
        "pop %%rdi; pop %%rsi; pop %%rdx; pop %%rcx; pop %%rax; pop %%rbx; pop %%rbp"
        : "+r"(at), "+r"(count)
        :
        : "r8", "r9", "r10", "r11", "r14", "r15", "memory", "cc");
}

KERNEL(search)
{
    long i = 0;
    while (i < n && b[i] != -1) {
        ONE;
        i++;
    }
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

/* ---- calls --------------------------------------------------------------------------------------------------- */

LEAF(poly, double, double x)
{
    return ((x * .3 + 1) * x + 3) * x + .2;
}
/* Its registers are its caller's: it pushes and pops them. */
LEAF(saves, double, const double *at, double x)
{
    __asm__ volatile("" ::: "rbx", "rbp", "r12", "r13", "r14", "r15");
    return at[0] * x + at[1];
}
LEAF(frames, double, const double *at, long i)
{
    double kept[6] = {at[0], at[1], at[2]};
    __asm__ volatile("" : : "r"(kept) : "memory");
    return kept[i & 1] + kept[2];
}
LEAF(crowds, double, double x, long a, long b, long c, long d, long e, long f, long g, long h,
     const double *at)
{
    return x * (double)(a + b + c + d + e + f + g * h) + at[0];
}
LEAF(stores, void, double *to, double x, double y)
{
    to[0] = x * y;
}
LEAF(deeper, double, const double *at, double x)
{
    double before = poly(at[0]);
    return before + poly(x);
}
LEAF(passes_on, double, const double *at)
{
    return poly(at[0] + 1);
}
LEAF(chooses, double, const double *at, double x)
{
    if (at[0] < .5) {
        OTHER_ONE;
        return x + 1;
    }
    ONE;
    return x * at[0];
}
LEAF(adds_up, double, const double *at, long n)
{
    double sum = 0;
    for (long i = 0; i < n; i++) {
        sum += at[i];
        ONE;
    }
    return sum;
}
LEAF(goes_down, double, const double *at, long n)
{
    if (n <= 0)
        return at[0];
    double further = goes_down(at + 1, n - 1);
    return further * at[0] + 1;
}
LEAF(looks_at_itself, long, const double *at)
{
    long there;
    __asm__ volatile("cmp %%rsp, %1; sbb %0, %0" : "=r"(there) : "r"(at) : "cc");
    return there;
}

KERNEL(called)
{
    EACH a[i] = poly(b[i]) + c[i];
}
KERNEL(called_masks)
{
    EACH a[i & 511] = poly(b[i & 511]) * c[i & 255];
}
KERNEL(called_twice)
{
    EACH a[i] = poly(b[i]) * poly(c[i]);
}
KERNEL(called_saves)
{
    EACH a[i] = saves(b + i, c[i]);
}
KERNEL(called_frames)
{
    EACH a[i] = frames(b + i, i);
}
KERNEL(called_crowds)
{
    EACH a[i] = crowds(b[i], i, i + 1, 2, 3, 4, 5, n, i, c + i);
}
KERNEL(called_stores)
{
    EACH stores(a + i, b[i], c[i]);
}
KERNEL(called_deeper)
{
    EACH a[i] = deeper(b + i, c[i]);
}
KERNEL(called_passes_on)
{
    EACH a[i] = passes_on(b + i);
}
KERNEL(called_recurrence)
{
    for (long i = 1; i < n; i++)
        a[i] = saves(a + i - 1, b[i]);
}
KERNEL(called_loops)
{
    EACH a[i] = adds_up(b + i, i & 7);
}
KERNEL(called_recurses)
{
    EACH a[i] = goes_down(b + i, i & 3);
}
KERNEL(called_stack)
{
    EACH a[i] = (double)looks_at_itself(b + i);
}
KERNEL(called_pointer)
{
    double (*volatile pointer)(double) = poly;
    EACH a[i] = pointer(b[i]);
}
KERNEL(chance_called)
{
    EACH a[i] = chooses(b + i, c[i]);
}
KERNEL(chance_called_twice)
{
    EACH a[i] = chooses(b + i, c[i]) + chooses(b + i + 1, c[i]);
}

#define OF_LEAF(name)                                                                              \
    {                                                                                              \
        __start_leaf_##name, __stop_leaf_##name                                                    \
    }
const struct leaf leaves[] = {OF_LEAF(poly),      OF_LEAF(saves),          OF_LEAF(frames),
                              OF_LEAF(crowds),    OF_LEAF(stores),         OF_LEAF(deeper),
                              OF_LEAF(passes_on), OF_LEAF(chooses),        OF_LEAF(adds_up),
                              OF_LEAF(goes_down), OF_LEAF(looks_at_itself)};
const unsigned leaf_count = sizeof leaves / sizeof *leaves;

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
    ENTRY(crowded, CLONE_OUTCOMES),
    ENTRY(chase, CLONE_CHASES),
    ENTRY(calls, CLONE_CALLS),
    ENTRY(quotients, CLONE_DIVIDES),
    ENTRY(pushes, CLONE_STACK),
    ENTRY(strings, CLONE_STRING),
    ENTRY(streaming, CLONE_STREAMS_PAST),
    ENTRY(extended, CLONE_X87),
    ENTRY(registers, CLONE_NO_ACCESS),
    ENTRY(switches, CLONE_INDIRECT),
    ENTRY(called, CLONE_ELIGIBLE),
    ENTRY(called_masks, CLONE_ELIGIBLE),
    ENTRY(called_twice, CLONE_ELIGIBLE),
    ENTRY(called_saves, CLONE_ELIGIBLE),
    ENTRY(called_frames, CLONE_ELIGIBLE),
    ENTRY(called_crowds, CLONE_ELIGIBLE),
    ENTRY(called_stores, CLONE_ELIGIBLE),
    ENTRY(called_deeper, CLONE_ELIGIBLE),
    ENTRY(called_passes_on, CLONE_ELIGIBLE),
    ENTRY(called_recurrence, CLONE_ELIGIBLE),
    ENTRY(called_loops, CLONE_CALLEE_LOOPS),
    ENTRY(called_recurses, CLONE_RECURSES),
    ENTRY(called_stack, CLONE_STACK),
    ENTRY(called_pointer, CLONE_CALLS_POINTER),
};
const unsigned kernel_count = sizeof kernels / sizeof *kernels;

#define CHANCE(name, outcomes)                                                                     \
    {                                                                                              \
#name, name, __start_kernel_##name, __stop_kernel_##name, CLONE_ELIGIBLE, outcomes         \
    }

const struct kernel chances[] = {
    CHANCE(chance_half, 1),     CHANCE(chance_most, 1),   CHANCE(chance_period, 1),
    CHANCE(chance_late, 1),     CHANCE(chance_nested, 3), CHANCE(chance_compress, 1),
    CHANCE(chance_integers, 2), CHANCE(chance_called, 1), CHANCE(chance_called_twice, 2),
};
const unsigned chance_count = sizeof chances / sizeof *chances;

const struct kernel ends[] = {
    CHANCE(search, 3),
#ifdef __clang__
    CHANCE(merges, 4), /* tests i < n in both branches */
#else
    CHANCE(merges, 3),
#endif
    CHANCE(uncounted, 2),
};
const unsigned end_count = sizeof ends / sizeof *ends;

const struct kernel nests[] = {
    ENTRY(rows, CLONE_ELIGIBLE),
    ENTRY(triangle, CLONE_ELIGIBLE),
    ENTRY(crossed, CLONE_ELIGIBLE),
};
const unsigned nest_count = sizeof nests / sizeof *nests;

const struct kernel nears[] = {
    ENTRY(near_scale, CLONE_ELIGIBLE),    ENTRY(near_triad, CLONE_ELIGIBLE),
    ENTRY(near_axpy, CLONE_ELIGIBLE),     ENTRY(near_divide, CLONE_ELIGIBLE),
    ENTRY(near_horner, CLONE_ELIGIBLE),   ENTRY(near_stencil, CLONE_ELIGIBLE),
    ENTRY(near_integers, CLONE_ELIGIBLE), ENTRY(near_dot, CLONE_ELIGIBLE),
};
const unsigned near_count = sizeof nears / sizeof *nears;
