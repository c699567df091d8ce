// SPDX-License-Identifier: MIT
/*
 * Vector stores of 16, 32 and 64 bytes. A vector counts whole. An area is stored
 * twice for each time that it is loaded. With every store goes one load, of the
 * area or of a spare one and never of what is still on its way to memory, and
 * one loop does it all: every store stands for the same time.
 *
 * case: simd-16 --kinds dead -- 3 16
 *   dead.fraction 0.45..0.55
 *   dead.pair w>w 0.95..1
 * case: simd-32 --kinds dead -- 3 32
 *   dead.fraction 0.45..0.55
 *   dead.pair y>y 0.95..1
 * case: simd-64 --kinds dead -- 3 64
 *   dead.fraction 0.45..0.55
 *   dead.pair z>z 0.95..1
 */
#include "known.h"

/* FAR: not a multiple of 4096, or the processor takes loads for those of stores under way. */
enum { BYTES = 8192, FAR = BYTES / 2 + 1024 };
static unsigned char area[BYTES] __attribute__((aligned(64)));
static unsigned char spare[BYTES] __attribute__((aligned(64)));

typedef void blocks(const unsigned char *from);

__attribute__((noinline)) static void blocks_16(const unsigned char *from)
{
    for (int i = 0; i < BYTES; i += 16) {
        const unsigned char *far = from + (i + FAR) % BYTES;
        __asm__ volatile("movdqa %%xmm0, (%0)" ::"r"(area + i) : "memory"); /* @w */
        __asm__ volatile("movdqa (%0), %%xmm2" ::"r"(far) : "xmm2", "memory");
    }
}

__attribute__((noinline, target("avx"))) static void blocks_32(const unsigned char *from)
{
    for (int i = 0; i < BYTES; i += 32) {
        const unsigned char *far = from + (i + FAR) % BYTES;
        __asm__ volatile("vmovdqa %%ymm0, (%0)" ::"r"(area + i) : "memory"); /* @y */
        __asm__ volatile("vmovdqa (%0), %%ymm2" ::"r"(far) : "xmm2", "memory");
    }
}

__attribute__((noinline, target("avx512f"))) static void blocks_64(const unsigned char *from)
{
    for (int i = 0; i < BYTES; i += 64) {
        const unsigned char *far = from + (i + FAR) % BYTES;
        __asm__ volatile("vmovdqa64 %%zmm0, (%0)" ::"r"(area + i) : "memory"); /* @z */
        __asm__ volatile("vmovdqa64 (%0), %%zmm2" ::"r"(far) : "xmm2", "memory");
    }
}

int main(int argc, char **argv)
{
    double seconds = known_seconds(argc, argv);
    int width = argc > 2 ? atoi(argv[2]) : 16;
    if (width == 32 && !__builtin_cpu_supports("avx"))
        return known_skip("this processor has no AVX");
    if (width == 64 && !__builtin_cpu_supports("avx512f"))
        return known_skip("this processor has no AVX-512");
    blocks *store = width == 64 ? blocks_64 : width == 32 ? blocks_32 : blocks_16;
    while (known_running(seconds)) {
        for (int repeat = 0; repeat < 250; repeat++) {
            store(spare);
            store(area);
        }
    }
    return 0;
}
