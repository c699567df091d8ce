// SPDX-License-Identifier: MIT
/*
 * Everything that a signal must leave alone, checked in long loops: general and
 * vector registers, both floating-point control words, flags with the direction
 * flag set, the red zone, errno.
 */
#include "torture.h"
#include <fenv.h>
#include <immintrin.h>

enum { ROUNDS = 300, TURNS = 100000 };

/* Counts down with stores while all other registers hold known values. */
static int check_general(void)
{
    uint64_t bad;
    static volatile uint64_t place[2];
    __asm__ volatile("xor %%eax, %%eax\n\t"
                     "mov $0x1111, %%ebx\n\tmov $0x2222, %%esi\n\tmov $0x3333, %%edi\n\t"
                     "mov $0x4444, %%r8d\n\tmov $0x5555, %%r9d\n\tmov $0x6666, %%r10d\n\t"
                     "mov $0x7777, %%r11d\n\tmov %1, %%ecx\n\tstd\n"
                     "1:\tmovq %%rcx, (%2)\n\tmovq %%rcx, (%2)\n\tmovq %%rcx, -64(%%rsp)\n\t"
                     "cmp %%rcx, -64(%%rsp)\n\tjne 2f\n\tdec %%ecx\n\tjnz 1b\n\t"
                     "pushfq\n\tpop %%rdx\n\ttest $0x400, %%edx\n\tjz 2f\n\t"
                     "cmp $0x1111, %%ebx\n\tjne 2f\n\tcmp $0x2222, %%esi\n\tjne 2f\n\t"
                     "cmp $0x3333, %%edi\n\tjne 2f\n\tcmp $0x4444, %%r8d\n\tjne 2f\n\t"
                     "cmp $0x5555, %%r9d\n\tjne 2f\n\tcmp $0x6666, %%r10d\n\tjne 2f\n\t"
                     "cmp $0x7777, %%r11d\n\tje 3f\n"
                     "2:\tmov $1, %%eax\n3:\tcld"
                     : "=&a"(bad)
                     : "i"(TURNS), "r"(place)
                     : "rbx", "rcx", "rdx", "rsi", "rdi", "r8", "r9", "r10", "r11", "memory", "cc");
    return (int)bad;
}

__attribute__((target("avx512f"))) static int check_wide(void)
{
    static volatile uint64_t place;
    __m512i before = _mm512_set1_epi64(0x123456789abcdef), after;
    uint64_t turns = TURNS;
    __asm__ volatile("vmovdqa64 %2, %%zmm7\n\tvmovdqa64 %2, %%zmm29\n"
                     "1:\tmovq %1, %3\n\tmovq %1, %3\n\tdec %1\n\tjnz 1b\n\t"
                     "vpandq %%zmm7, %%zmm29, %0"
                     : "=v"(after), "+r"(turns)
                     : "v"(before), "m"(place)
                     : "xmm7", "xmm29", "memory", "cc");
    return _mm512_cmpneq_epi64_mask(before, after) != 0;
}

__attribute__((target("avx"))) static int check_vector(void)
{
    static volatile uint64_t place;
    __m256d before = _mm256_set1_pd(1.25), after;
    uint64_t turns = TURNS;
    __asm__ volatile("vmovapd %2, %%ymm7\n\tvmovapd %2, %%ymm15\n"
                     "1:\tmovq %1, %3\n\tmovq %1, %3\n\tdec %1\n\tjnz 1b\n\t"
                     "vandpd %%ymm7, %%ymm15, %0"
                     : "=x"(after), "+r"(turns)
                     : "x"(before), "m"(place)
                     : "xmm7", "xmm15", "memory", "cc");
    return _mm256_movemask_pd(_mm256_cmp_pd(before, after, _CMP_NEQ_UQ)) != 0;
}

int main(void)
{
    int general = 0, vector = 0, wide = 0, control = 0, error = 0;
    fesetround(FE_UPWARD);
    _mm_setcsr(_mm_getcsr() | 0x8000);
    unsigned mxcsr = _mm_getcsr() & ~0x3fu;
    uint16_t x87;
    __asm__ volatile("fnstcw %0" : "=m"(x87));
    for (int i = 0; i < ROUNDS; i++) {
        uint16_t now;
        errno = 1000 + i;
        general += check_general();
        vector += __builtin_cpu_supports("avx") ? check_vector() : 0;
        wide += __builtin_cpu_supports("avx512f") ? check_wide() : 0;
        error += errno != 1000 + i;
        __asm__ volatile("fnstcw %0" : "=m"(now));
        control += now != x87 || (_mm_getcsr() & ~0x3fu) != mxcsr;
    }
    say("bad: general %d, vector %d, wide %d, control %d, errno %d\n", general, vector, wide,
        control, error);
    return 0;
}
