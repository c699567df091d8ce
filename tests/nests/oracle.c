// SPDX-License-Identifier: MIT
/*
 * Executes a kernel whose loads and stores call functions here (clang's -fsanitize=thread, without its library), and simulates a
 * cache with each: what `locality --exact` is held against. No code is shared with it.
 *
 *     oracle KERNEL BYTES WAYS LINE ADDRESS...      prints accesses and misses
 *
 * The kernel's arrays lie at the addresses, in the order of its parameters.
 */
#include "tsan.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

static uint64_t accesses, misses, line_bytes, ways, sets, *tags;
static char *low, *high;

/* LRU by moving to the front. */
static void accessed(const void *address, const void *code, int write)
{
    (void)code;
    (void)write;
    if ((const char *)address < low || (const char *)address >= high)
        return;
    uint64_t line = (uintptr_t)address / line_bytes, at = 0;
    uint64_t *set = tags + line % sets * ways;
    accesses++;
    while (at < ways && set[at] != line)
        at++;
    misses += at == ways;
    if (at == ways)
        at--;
    memmove(set + 1, set, at * sizeof *set);
    set[0] = line;
}

/* name, parameters that are numbers, arrays in order */
/* clang-format off */ /* it never settles on one form of such a list */
#define KERNELS(X)                                                                                 \
    X(gemm, 2, 3)                                                                                  \
    X(two_mm, 2, 5)                                                                                \
    X(three_mm, 0, 7)                                                                              \
    X(doitgen, 0, 3) X(symm, 2, 3) X(syrk, 2, 2) X(syr2k, 2, 3) X(trmm, 1, 2) X(atax, 0, 4)        \
        X(bicg, 0, 5) X(gemver, 2, 9) X(gesummv, 2, 5) X(mvt, 0, 5) X(cholesky, 0, 1)              \
            X(durbin, 0, 3) X(gramschmidt, 0, 3) X(lu, 0, 1) X(ludcmp, 0, 4) X(trisolv, 0, 3)      \
                X(correlation, 0, 4) X(covariance, 0, 3) X(deriche, 3, 4) X(floyd_warshall, 0, 1)  \
                    X(nussinov, 0, 2) X(adi, 0, 4) X(fdtd_2d, 0, 4) X(heat_3d, 0, 2)               \
                        X(jacobi_1d, 0, 2) X(jacobi_2d, 0, 2) X(seidel_2d, 0, 1)
/* clang-format on */
#define DECLARE(name, numbers, arrays) void name(void);
KERNELS(DECLARE)

/* All arrays as pointers; those that a kernel does not have are not looked at (System V ABI). */
#define ALL a[0], a[1], a[2], a[3], a[4], a[5], a[6], a[7], a[8]
typedef void *P;
static void call(void (*kernel)(void), int numbers, P *a)
{
    if (numbers == 0)
        ((void (*)(P, P, P, P, P, P, P, P, P))kernel)(ALL);
    else if (numbers == 1)
        ((void (*)(double, P, P, P, P, P, P, P, P, P))kernel)(1.5, ALL);
    else if (numbers == 2)
        ((void (*)(double, double, P, P, P, P, P, P, P, P, P))kernel)(1.5, 1.2, ALL);
    else
        ((void (*)(float, P, P, P, P, P, P, P, P, P))kernel)(0.25F, ALL);
}

int main(int argc, char **argv)
{
    P arrays[9] = {0};
    int count = argc - 5;
    if (count < 1 || count > 9)
        return 2;
    line_bytes = strtoull(argv[4], NULL, 0);
    ways = strtoull(argv[3], NULL, 0);
    sets = strtoull(argv[2], NULL, 0) / line_bytes / ways;
    tags = calloc(sets * ways, sizeof *tags);
    for (int i = 0; i < count; i++)
        arrays[i] = (P)(uintptr_t)strtoull(argv[5 + i], NULL, 0);
    low = (char *)((uintptr_t)arrays[0] & ~UINT64_C(4095));
    for (int i = 1; i < count; i++)
        if ((char *)arrays[i] < low)
            low = (char *)((uintptr_t)arrays[i] & ~UINT64_C(4095));
    high = low + (UINT64_C(1) << 31);
    if (mmap(low, (size_t)(high - low), PROT_READ | PROT_WRITE,
             MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE | MAP_NORESERVE, -1, 0) != low)
        return 3;
#define RUN(name, numbers, arrays_count)                                                           \
    if (strcmp(argv[1], #name) == 0)                                                               \
        call(name, numbers, arrays);
    KERNELS(RUN)
    printf("%llu %llu\n", (unsigned long long)accesses, (unsigned long long)misses);
    return 0;
}
