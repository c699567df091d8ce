// SPDX-License-Identifier: MIT
/*
 * Executes one kernel of tests/unit/clone again and again: kernel NAME ELEMENTS SECONDS. Prints the least cycles that an
 * execution took, for each element, and a hash of what it has computed.
 */
#include "clone/kernels.h"

#include "base/base.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <x86intrin.h>

static double now_s(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* Ticks of the time stamp counter that a cycle takes: rotations wait for one another. */
static double ticks_a_cycle(void)
{
    enum { ROUNDS = 2000, EACH = 8 };
    double least = 1e30;
    for (int i = 0; i < 50; i++) {
        uint64_t start = __rdtsc(), value = 1, rounds = ROUNDS;
        __asm__ volatile("1: rol %0; rol %0; rol %0; rol %0; rol %0; rol %0; rol %0; rol %0\n"
                         "dec %1; jne 1b"
                         : "+r"(value), "+r"(rounds));
        double ticks = (double)(__rdtsc() - start) / (ROUNDS * EACH);
        least = ticks < least ? ticks : least;
    }
    return least;
}

static const struct kernel *find(const char *name)
{
    for (unsigned k = 0; k < kernel_count; k++)
        if (strcmp(kernels[k].name, name) == 0)
            return &kernels[k];
    return NULL;
}

int main(int argc, char **argv)
{
    const struct kernel *kernel = argc == 4 ? find(argv[1]) : NULL;
    size_t count = argc == 4 ? strtoul(argv[2], NULL, 10) : 0;
    double *arrays[3], seconds = argc == 4 ? strtod(argv[3], NULL) : 0, least = 1e30;
    if (argc == 2 && strcmp(argv[1], "--list") == 0)
        for (unsigned k = 0; k < kernel_count; k++)
            if (kernels[k].reason == 0)
                puts(kernels[k].name);
    if (!kernel || !count)
        return argc == 2 ? 0 : 2;
    for (unsigned i = 0; i < 3; i++) {
        /* Not all at the same place of their pages. */
        arrays[i] = (double *)((char *)aligned_alloc(4096, (count * 8 + 16384) & ~(size_t)4095) +
                               4096 + 320 * i);
        for (size_t e = 0; e < count; e++)
            arrays[i][e] = 1 + (double)(e % (3 + 2 * i));
    }
    double cycle = ticks_a_cycle(), until = now_s() + seconds;
    uint64_t runs = 0;
    while (now_s() < until || runs < 3)
        for (unsigned i = 0; i < (count < 10000 ? 1000 : 1); i++, runs++) {
            uint64_t start = __rdtsc();
            kernel->run(arrays[0], arrays[1], arrays[2], (long)count);
            double ticks = (double)(__rdtsc() - start);
            least = ticks < least ? ticks : least;
        }
    printf("%.4f\n", least / cycle / (double)count);
    return 0;
}
